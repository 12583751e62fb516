"""The table of doors as a document, from the marks of the rows, which the cells prove."""

HEAD = """# The table of doors

The same act has the same effect behind each door of Inkling. `Tests/Doors` does each act behind each door, on one LAN.
[Tests](testing.md#behind-each-door) says more. `Scripts/test.d/doors --table` writes this page.

*Same* marks a cell in which the act has the effect of its row. *R* and a number name the reason for a difference."""

FAULTS = ["", "## Known faults", "", "*F* and a number name a fault, which the suite expects until somebody mends it.", "",
          "| | what the user sees today |", "| --- | --- |"]


def number(list, item):
    if item not in list:
        list.append(item)
    return list.index(item) + 1


def text(rows, doors):
    """`doors` has the class of each column."""
    reasons, faults = [], []

    def mark(row, column):
        reason = next((doors[column].cannot[act] for act in row.needs if act in doors[column].cannot), None)
        marks = []
        if reason := reason or row.purpose.get(column):
            marks.append(f"R{number(reasons, reason)}")
        if column in row.faults:
            marks.append(f"F{number(faults, row.faults[column][0])}")
        return ", ".join(marks) or "same"

    lines = [f"| {row.act} | {row.effect} | " + " | ".join(mark(row, column) for column in doors) + " |" for row in rows]
    return "\n".join([
        HEAD, "", "| act | effect | " + " | ".join(doors) + " |", "|" + " --- |" * (len(doors) + 2), *lines, "",
        "## Reasons", "", "| | |", "| --- | --- |", *(f"| R{place} | {reason} |" for place, reason in enumerate(reasons, 1)),
        *(FAULTS if faults else []), *(f"| F{place} | {fault} |" for place, fault in enumerate(faults, 1)), ""])
