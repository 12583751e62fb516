#!/usr/bin/env python3
"""Write the test vectors of the Inkling protocol, or compare them with what is there.

    python3 generate.py           writes all files
    python3 generate.py --check   exits with 1 if a file differs or does not fit its schema, a case names a
                                  clause that the texts don't have, the worked example shows bytes that no
                                  vector has, or a line of JSON in api.md does not fit its schema

Needs the packages `cryptography` and `noiseprotocol` (0.3.1), and for the schemas `jsonschema`.
"""

import json
import pathlib
import re
import sys

import cases
import links
import sealed_cases
import timelines

try:
    from jsonschema import Draft202012Validator, exceptions
except ImportError:
    Draft202012Validator = None

HERE = pathlib.Path(__file__).resolve().parent
FILES = {
    "derivations.json": cases.derivations,
    "datagrams.json": cases.datagrams,
    "frames.json": cases.frames,
    "handshake.json": sealed_cases.handshakes,
    "sealed.json": sealed_cases.sealed,
    "replay.json": sealed_cases.replays,
    "timelines.json": timelines.timelines,
    "links.json": links.timelines,
}


def text_of(value):
    """A file as text; timelines of links, which are long, have an input or a datagram a line."""
    if "timelines" not in value:
        return json.dumps(value, indent=2) + "\n"
    lists = ("inputs", "datagrams", "events")
    cases = []
    for entry in value["timelines"]:
        rows = [f"      {json.dumps(key)}: {json.dumps(item)}" for key, item in entry.items() if key not in lists]
        for key in lists:
            lines = ",\n".join(f"        {json.dumps(item)}" for item in entry[key])
            rows.append(f'      "{key}": [\n{lines}\n      ]' if lines else f'      "{key}": []')
        cases.append("    {\n" + ",\n".join(rows) + "\n    }")
    return '{\n  "timelines": [\n' + ",\n".join(cases) + "\n  ]\n}\n"


def objects(value):
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def unfit(texts):
    """What in the files does not fit vectors.schema.json, and what is wrong with the schemas themselves."""
    if Draft202012Validator is None:
        print("skipped: comparing the files with their schema needs python3 with jsonschema", file=sys.stderr)
        return
    for path in (HERE / "vectors.schema.json", HERE.parent / "driver.schema.json"):
        try:
            Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))
        except exceptions.SchemaError as error:
            yield f"{path.name} is not a valid schema: {error.message[:200]}"
            return
    yield from unfit_lines(HERE.parent / "api.md")
    schema = json.loads((HERE / "vectors.schema.json").read_text("utf-8"))
    described = {entry["$ref"].removeprefix("#/$defs/") + ".json" for entry in schema["oneOf"]}
    if described != set(texts):
        yield f"vectors.schema.json describes {sorted(described)}, and the script writes {sorted(texts)}"
    for name, text in texts.items():
        part = {"$ref": f"#/$defs/{name.removesuffix('.json')}", "$defs": schema["$defs"]}
        for error in Draft202012Validator(part).iter_errors(json.loads(text)):
            error = exceptions.best_match([error])
            yield f"{name} does not fit its schema at {error.json_path}: {error.message[:200]}"


def unfit_lines(text):
    """The lines of JSON in a text that don't fit driver.schema.json in their direction: `> ` in, `< ` out."""
    definitions = json.loads((HERE.parent / "driver.schema.json").read_text("utf-8"))["$defs"]
    directions = {
        sign: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})
        for sign, name in ((">", "input"), ("<", "output"))
    }
    blocks = re.findall(r"^```jsonl\n(.*?)^```", text.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    if not lines:
        yield f"{text.name} has no lines of JSON"
    for line in lines:
        try:
            (sign, value) = re.fullmatch(r"([<>]) (.*)", line).groups()
            error = exceptions.best_match(directions[sign].iter_errors(json.loads(value)))
        except (AttributeError, ValueError) as mistake:
            error = mistake
        if error:
            yield f"{text.name}: {line[:80]}… does not fit driver.schema.json: {str(error)[:200]}"


def problems(texts):
    defined = set()
    for path in HERE.parent.glob("*.md"):
        defined |= set(re.findall(r"^- \[([A-Z]-\d+)\]", path.read_text("utf-8"), re.MULTILINE))
    for name, text in texts.items():
        if not (HERE / name).exists() or (HERE / name).read_text("utf-8") != text:
            yield f"{name} differs from what the script writes"
        named = set()
        for entry in objects(json.loads(text)):
            if "clauses" not in entry:
                continue
            if entry["name"] in named:
                yield f"{name}: two cases are named '{entry['name']}'"
            named.add(entry["name"])
            for clause in set(entry["clauses"]) - defined:
                yield f"{name}: '{entry['name']}' names the clause {clause}, which no text has"
    example = HERE.parent / "example.md"
    everything = "".join(texts.values())
    for block in re.findall(r"```hex\n(.*?)```", example.read_text("utf-8") if example.exists() else "", re.DOTALL):
        shown = re.sub(r"\s+", "", block)
        if shown not in everything:
            yield f"example.md shows {shown[:32]}…, which is in no vector"
    yield from unfit(texts)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 64
    texts = {name: text_of(make()) for name, make in FILES.items()}
    if not arguments:
        for name, text in texts.items():
            (HERE / name).write_text(text, "utf-8")
    found = list(problems(texts))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
