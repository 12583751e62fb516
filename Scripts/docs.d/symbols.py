"""symbols.py SYMBOL_GRAPH...: names each public symbol that has no documentation, and each that throws and does not say
what. Exits with 1 if there is one."""

import json
import sys


def location(symbol):
    """FILE:LINE of a symbol; None for what the compiler wrote, such as `init(rawValue:)`."""
    place = symbol.get("location")
    if not place:
        return None
    path = place["uri"].removeprefix("file://")
    return f"{path[path.rfind('/Sources/') + 1:]}:{place['position']['line'] + 1}"


def complaint(symbol):
    """Returns the fault of a symbol's documentation, or None."""
    lines = [line["text"].strip() for line in symbol.get("docComment", {}).get("lines", [])]
    if not any(lines):
        return "is not documented"
    declaration = [fragment["spelling"] for fragment in symbol.get("declarationFragments", [])]
    if "throws" in declaration and not any(line.startswith(("- Throws:", "- throws:")) for line in lines):
        return "throws, and does not say what"
    return None


def main():
    seen = 0
    complaints = set()
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            symbols = json.load(file)["symbols"]
        for symbol in symbols:
            place = location(symbol)
            if not place:
                continue
            seen += 1
            missing = complaint(symbol)
            if missing:
                complaints.add(f"{place}: {'.'.join(symbol['pathComponents'])} {missing}")
    if not seen:
        sys.exit("there is no public symbol at all")
    for line in sorted(complaints):
        print(line, file=sys.stderr)
    print(f"{seen} public symbols, {len(complaints)} with complaints")
    sys.exit(1 if complaints else 0)


main()
