"""The table of doors as a document."""

HEAD = """# The table of doors

The same act has the same effect behind each door of Inkling. `Tests/Doors` does each act behind each door, on one LAN, and \
`Scripts/test.d/doors --all --table` makes this page from its cells. *Same* marks a cell in which the act has the effect of \
its row. A number names the reason for a difference. A letter names a fault."""


def text(rows, columns, cells):
    reasons, faults, lines = [], [], []

    def mark(row, column):
        kind, words = cells.get((row.name, column), ("", ""))
        if kind == "purpose":
            if words not in reasons:
                reasons.append(words)
            return str(reasons.index(words) + 1)
        if kind == "fault":
            faults.append(f"{row.act}, {column}: {words}")
            return f"fault {len(faults)}"
        return {"passed": "same", "failed": "**fails**", "skipped": "not tried"}.get(kind, "")

    for row in rows:
        lines.append(f"| {row.act} | {row.effect} | " + " | ".join(mark(row, column) for column in columns) + " |")
    return "\n".join([
        HEAD, "", "| act | effect | " + " | ".join(columns) + " |", "|" + " --- |" * (len(columns) + 2), *lines, "",
        "## Differences on purpose", "", *(f"{number}. {reason}" for number, reason in enumerate(reasons, 1)), "",
        "## Known faults", "", *(f"{number}. {fault}" for number, fault in enumerate(faults, 1))])
