"""The texts of the specification, and the values that figures and checks take from them."""

import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Protocol"


def read(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def clauses():
    """The numbers of all clauses, each as often as a text gives it."""
    return [number for path in sorted(FOLDER.glob("*.md"))
            for number in re.findall(r"^- \[([A-Z]+-\d+)\] ", path.read_text(encoding="utf-8"), re.MULTILINE)]


def tables(name):
    """The tables of a text, each as rows of cells, the head first."""
    found, rows = [], []
    for line in read(name).splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            found.append([row for row in rows if not all(set(cell) <= set("-: ") for cell in row)])
            rows = []
    return found


def layouts(name):
    """The byte layouts of a text: blocks whose lines read `name 0x11 | field | … | size`. Each as a list of
    (title, fields, size)."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", read(name), re.MULTILINE | re.DOTALL):
        lines = [line for line in block.splitlines() if "|" in line]
        if lines and len(lines) == len(block.splitlines()):
            # An optional field at the end has no bar after it.
            split = [[part.strip() for part in re.sub(r"\]  +", "] | ", line).split("|")] for line in lines]
            found.append([(parts[0], parts[1:-1], parts[-1]) for parts in split])
    return found


def limit(row):
    """The value of a row of the tables in limits.md, by its name."""
    for table in tables("limits.md"):
        for cells in table:
            if cells[0] == row:
                return cells[1]
    raise SystemExit(f"limits.md has no row “{row}”")


def numbers(text):
    """All numbers in a text, without the commas of thousands."""
    return [float(match.replace(",", "")) for match in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]
