"""symbols.py SYMBOL_GRAPH...: names each public symbol that has no documentation, and each that throws and does not say
what. Exits with 1 if there is one."""

import json
import pathlib
import sys


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
    # The compiler wrote symbols without a location, such as `init(rawValue:)`.
    symbols = [symbol for path in sys.argv[1:]
               for symbol in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["symbols"] if "location" in symbol]
    if not symbols:
        sys.exit("there is no public symbol at all")
    complaints = set()
    for symbol in symbols:
        if fault := complaint(symbol):
            place = symbol["location"]
            path = place["uri"][place["uri"].rfind("/Sources/") + 1:]
            complaints.add(f"{path}:{place['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])} {fault}")
    for line in sorted(complaints):
        print(line, file=sys.stderr)
    print(f"{len(symbols)} public symbols, {len(complaints)} with complaints")
    sys.exit(1 if complaints else 0)


main()
