"""schema.py TRANSCRIPT...: checks JSON lines with Protocol/driver.schema.json, from files that `inkling-conformance run
--transcript` wrote. Each line from a program has to fit, and have no member that the schema lacks. So does each line to a
program have to fit, unless the program refused the line by an `error`. Needs the package jsonschema."""

import collections
import json
import pathlib
import sys

import jsonschema

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "Protocol/driver.schema.json").read_text("utf-8"))
MOST = 20  # faults to print


def close(schema):
    """Forbids members that the schema lacks, at each depth."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        close(value)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) and "type" in schema:
        schema.setdefault("additionalProperties", False)


# Counters are the implementation's own, and both sides ignore unknown members of requests.
for name, definition in SCHEMA["$defs"].items():
    if not name.startswith("in-") and name != "out-stats":
        close(definition)


def validators(direction, member):
    """For each kind of line in a direction, by the word of its member: its validator."""
    found = {}
    for entry in SCHEMA["$defs"][direction]["oneOf"]:
        members = SCHEMA["$defs"][entry["$ref"].rpartition("/")[2]]["properties"]
        found[members[member]["const"]] = jsonschema.Draft202012Validator({**entry, "$defs": SCHEMA["$defs"]})
    return found


def fault(line, kinds, member):
    """The reason why a line does not fit, or none; and the word of its kind."""
    try:
        value = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}", None
    kind = value.get(member) if isinstance(value, dict) else None
    if kind not in kinds:
        return f"the schema has no line with {member}: {kind!r}", kind
    error = next(kinds[kind].iter_errors(value), None)
    return f"{error.json_path}: {error.message[:200]}" if error else None, kind


def check(path, kinds):
    """Yields each fault of a transcript, and counts the lines of each kind in `seen`."""
    refused, numbers, rows = set(), collections.Counter(), []
    for row in path.read_bytes().splitlines():
        test, program, way, line = row.split(b" ", 3)
        place = test.decode(), program.decode()
        numbers[place] += way == b">"
        rows.append((place, numbers[place], way == b"<", line))
        if way == b"<" and b'"error"' in line and isinstance(value := json.loads(line), dict) and value["on"] == "error":
            refused.add((place, value.get("line")))
    for place, number, is_output, line in rows:
        if is_output or line.strip() and (place, number) not in refused:
            member = "on" if is_output else "do"
            reason, kind = fault(line, kinds[member], member)
            seen[member, kind] += 1
            if reason:
                what = "a line from" if is_output else f"line {number} to"
                yield f"{path.stem}, {place[0]}, {what} program {place[1]}: {reason}\n    {line[:300].decode(errors='replace')}"


jsonschema.Draft202012Validator.check_schema(SCHEMA)
seen = collections.Counter()
kinds = {"on": validators("output", "on"), "do": validators("input", "do")}
faults = [each for path in sys.argv[1:] for each in check(pathlib.Path(path), kinds)]
for each in faults[:MOST]:
    print(each)
if len(faults) > MOST:
    print(f"{len(faults) - MOST} more lines don't fit")
if not any(member == "on" for member, _ in seen):
    faults.append("")
    print("no line of a program came")
unseen = ", ".join(f"{member}: {kind}" for member in kinds for kind in kinds[member] if not seen[member, kind])
print(f"{seen.total():,} lines, {len(faults)} that don't fit driver.schema.json; no line has {unseen or 'another kind'}")
sys.exit(bool(faults))
