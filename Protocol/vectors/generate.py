#!/usr/bin/env python3
"""Write the test vectors of the Inkling protocol and example.md, or compare them with the files.

    python3 generate.py                  writes all files
    python3 generate.py --check [TEXTS]  exits with 1 if a file differs, or if a case names a
                                         clause that the texts lack

TEXTS is the folder of the protocol's texts, one folder up unless given. The script needs the packages
`cryptography` and `noiseprotocol` (0.3.1).
"""

import json
import pathlib
import re
import sys

import cases
import epochs
import example
import links
import sealed_cases
import talk_cases
import timelines

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "example.md"
FILES = {
    "derivations": lambda: cases.derivations() | talk_cases.talks(), "datagrams": cases.datagrams,
    "frames": lambda: cases.frames() | talk_cases.invites(),
    "handshake": sealed_cases.handshakes, "sealed": sealed_cases.sealed, "replay": sealed_cases.replays,
    "epochs": epochs.tables, "timelines": timelines.timelines, "links": links.timelines,
}


def text_of(value):
    """A file as text: each case has a line."""
    arrays = [f"  {json.dumps(name)}: [\n" + ",\n".join(f"    {json.dumps(case)}" for case in cases) + "\n  ]"
              for name, cases in value.items()]
    return "{\n" + ",\n".join(arrays) + "\n}\n"


def objects(value):
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def problems(texts, folder):
    defined = set()
    for path in folder.glob("*.md"):
        defined |= set(re.findall(r"^- \[([A-Z]-\d+)\]", path.read_text("utf-8"), re.MULTILINE))
    if not defined:
        print(f"skipped: {folder.name} holds no clauses to compare with", file=sys.stderr)
    for name, text in texts.items():
        path = HERE / f"{name}.json"
        if not path.exists() or path.read_text("utf-8") != text:
            yield f"{path.name} differs from the script's output"
        named = [entry for entry in objects(json.loads(text)) if "clauses" in entry]
        for entry in named:
            if sum(other["name"] == entry["name"] for other in named) > 1:
                yield f"{path.name}: two cases have the name '{entry['name']}'"
            for clause in set(entry["clauses"]) - defined if defined else ():
                yield f"{path.name}: '{entry['name']}' names {clause}, and no text has this clause"


def main(arguments):
    if arguments[:1] not in ([], ["--check"]) or len(arguments) > 2:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    texts = {name: text_of(make()) for name, make in FILES.items()}
    conversation = example.text(*(json.loads(texts[name]) for name in ("derivations", "handshake")))
    if not arguments:
        EXAMPLE.write_text(conversation, "utf-8")
        for name, text in texts.items():
            (HERE / f"{name}.json").write_text(text, "utf-8")
        return 0
    found = list(problems(texts, pathlib.Path(arguments[1]) if arguments[1:] else HERE.parent))
    if not EXAMPLE.exists() or EXAMPLE.read_text("utf-8") != conversation:
        found.append("example.md differs from the script's output")
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
