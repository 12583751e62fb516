"""Makes links of the texts in a folder that lead to files which are not there plain words, and leaves out such pictures.

links.py FOLDER            changes the texts in FOLDER
links.py --check FOLDER    names the links that lead nowhere, and fails if there are any
"""

import pathlib
import re
import sys

# A picture or a link to a file: its text, the file, and the place in it.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()#\s:]+)(?:#[^()\s]*)?\)")


def leads_nowhere(text: pathlib.Path, link: re.Match[str]) -> bool:
    return not (text.parent / link[3]).exists()


def lines(text: pathlib.Path) -> list[tuple[str, bool]]:
    """Of each line whether it can have links: not in a block of code."""
    result, in_code = [], False
    for line in text.read_text().splitlines(keepends=True):
        is_fence = line.lstrip().startswith("```")
        in_code ^= is_fence
        result.append((line, not in_code and not is_fence))
    return result


def dead(text: pathlib.Path) -> list[str]:
    return [link[3] for line, counts in lines(text) if counts
            for link in LINK.finditer(line) if leads_nowhere(text, link)]


def changed(text: pathlib.Path) -> str:
    result = []
    for line, counts in lines(text):
        if not counts:
            result.append(line)
            continue
        new = LINK.sub(lambda link: link[0] if not leads_nowhere(text, link) else "" if link[1] else link[2], line)
        if new.strip() or not line.strip():
            result.append(new)
        elif result and not result[-1].strip():
            result.pop()  # The picture stood alone between two blank lines.
    return "".join(result)


def main() -> int:
    *flags, folder = sys.argv[1:]
    texts = sorted(pathlib.Path(folder).rglob("*.md"))
    if not texts:
        print(f"there are no texts in {folder}", file=sys.stderr)
        return 1
    if flags == ["--check"]:
        complaints = [f"{text}: {file}" for text in texts for file in dead(text)]
        for complaint in complaints:
            print("leads nowhere: " + complaint, file=sys.stderr)
        return 1 if complaints else 0
    for text in texts:
        new = changed(text)
        if new != text.read_text():
            text.write_text(new)
    return 0


sys.exit(main())
