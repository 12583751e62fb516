"""The results as one table in Markdown."""

from dataclasses import dataclass
from math import ceil, floor, log10
from statistics import median


def most(values):
    """Returns the value that 99 of 100 do not exceed."""
    return sorted(values)[ceil(len(values) * 0.99) - 1]


def time_text(microseconds):
    """Three digits, with a unit."""
    value, unit = (microseconds, "µs") if microseconds < 1000 else (microseconds / 1000, "ms")
    return f"{value:.{max(0, 2 - floor(log10(max(value, 1))))}f} {unit}"


@dataclass
class Row:
    """A line of the table: times in microseconds, or one text."""

    group: str
    label: str
    values: list | None = None
    text: str = ""


class Table:
    """The results, group by group."""

    def __init__(self):
        self.rows = []
        self.notes = []

    def times(self, group, label, values):
        if values:
            self.rows.append(Row(group, label, values=values))

    def text(self, group, label, text):
        self.rows.append(Row(group, label, text=text))

    def groups(self):
        names = list(dict.fromkeys(row.group for row in self.rows))
        return [(name, [row for row in self.rows if row.group == name]) for name in names]

    def markdown(self, conditions):
        lines = [conditions, ""]
        lines.append("| measure | median | × UDP | × MQTT | 99 of 100 | × UDP | × MQTT | samples |")
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name, rows in self.groups():
            lines.append(f"| **{name}** | | | | | | | |")
            bases = [next((row.values for row in rows if row.label.startswith(base)), None) for base in ("UDP", "MQTT")]
            for row in rows:
                if row.values is None:
                    lines.append(f"| {row.label} | {row.text} | | | | | | |")
                    continue
                cells = []
                for measure in median, most:
                    value = measure(row.values)
                    cells.append(time_text(value))
                    cells += [f"{value / measure(base):.2f}" if base else "" for base in bases]
                lines.append(f"| {row.label} | {' | '.join(cells)} | {len(row.values)} |")
        return "\n".join(lines + [""] * bool(self.notes) + [f"- {note}" for note in self.notes]) + "\n"
