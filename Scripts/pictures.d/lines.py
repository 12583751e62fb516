"""A chart of lines as SVG: panels side by side, each with its own axes."""

from html import escape
from math import ceil, floor, log10

from chart import WIDTH, page

LEFT, RIGHT, GAP = 58, 24, 22
TOP, HEIGHT, BOTTOM = 124, 200, 46
LINES = """
    .line { fill: none; stroke-width: 2 }
    .line.own, .line.other { fill: none }
    .label.own, .label.other { stroke: none }
    .end { text-anchor: end }
"""


def steps(low, high):
    """Round numbers from low to high, some five of them."""
    rough = (high - low) / 5
    unit = 10 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    first = ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, floor(high / step + 1e-9) + 1)]


def number(value):
    return f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


def panel(left, width, title, across, low, high, series):
    """One panel: `series` are (label, is the first kind, points), and `across` says what the horizontal axis has."""
    body = []
    right, bottom = left + width - RIGHT, TOP + HEIGHT
    left += LEFT
    farthest = max(x for _, _, points in series for x, _ in points)

    def place(x, y):
        return left + x / farthest * (right - left), bottom - (y - low) / (high - low) * HEIGHT

    def text(x, y, content, kind):
        body.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(content)}</text>')

    text(left - LEFT + 16, TOP - 42, title, "group")
    for index, (label, is_own, _) in enumerate(series):
        text(left - LEFT + 16 + index * 110, TOP - 20, f"● {label}", f"label {'own' if is_own else 'other'}")
    for value in steps(low, high):
        _, y = place(0, value)
        body.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        text(left - 8, y + 4, number(value), "dim end")
    for value in steps(0, farthest):
        x, _ = place(value, low)
        text(x, bottom + 18, number(value), "dim middle")
    text((left + right) / 2, bottom + 36, across, "dim middle")
    for _, is_own, points in series:
        kind = "own" if is_own else "other"
        places = [place(x, y) for x, y in points]
        body.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" class="line {kind}"/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{kind}"/>' for x, y in places]
    return body


def draw(title, subtitle, across, panels):
    """`panels` are (title, low, high, series)."""
    width = (WIDTH - GAP * (len(panels) - 1)) / len(panels)
    body = []
    for index, (name, low, high, series) in enumerate(panels):
        body += panel(index * (width + GAP), width, name, across, low, high, series)
    return page(title, subtitle, TOP + HEIGHT + BOTTOM, body, LINES)
