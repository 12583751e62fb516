"""Charts as SVG, and one of times: a row for each measure, with its median as a full dot and 99 of 100 as a ring."""

from html import escape
from math import ceil, floor, log10

# No variables, which not all programs that show SVG know.
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 15px }
    .group { font-weight: 600 }
    .dim { fill: #656d76; font-size: 12px }
    .middle { text-anchor: middle }
    .value { font-variant-numeric: tabular-nums; text-anchor: end }
    .paper, .ring.own, .ring.other { fill: #ffffff }
    .grid { stroke: #d8dee4; stroke-width: 1 }
    .minor { stroke-opacity: 0.45 }
    .span, .ring { stroke-width: 2 }
    .own { stroke: #0969da; fill: #0969da }
    .other { stroke: #8250df; fill: #8250df }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        .dim { fill: #9198a1 }
        .paper, .ring.own, .ring.other { fill: #0d1117 }
        .grid { stroke: #2f353d }
        .own { stroke: #58a6ff; fill: #58a6ff }
        .other { stroke: #bc8cff; fill: #bc8cff }
    }
"""
WIDTH, LEFT, RIGHT = 940, 345, 745  # the plot is between LEFT and RIGHT
ROW, HEAD = 24, 34
MEDIAN, HIGH = 832, 924  # where the columns of figures end


def page(title, subtitle, height, body, style=""):
    """A whole chart."""
    content = "\n".join(body)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
            f"<title>{escape(title)}</title>\n<desc>{escape(subtitle)}</desc>\n<style>{STYLE}{style}</style>\n"
            f'<rect width="{WIDTH}" height="{height}" class="paper"/>\n'
            f'<text x="16" y="28" class="title">{escape(title)}</text>\n'
            f'<text x="16" y="48" class="dim">{escape(subtitle)}</text>\n{content}\n</svg>\n')


def time_text(microseconds):
    """Three digits, with a unit."""
    value, unit = (microseconds, "µs") if microseconds < 1000 else (microseconds / 1000, "ms")
    return f"{value:.{max(0, 2 - floor(log10(max(value, 1))))}f} {unit}"


def draw(title, subtitle, groups):
    """`groups` are (title, rows), and a row is (label, median, 99 of 100, is Inkling), in microseconds."""
    values = [value for _, rows in groups for row in rows for value in row[1:3]]
    low, high = floor(log10(max(1, min(values)))), ceil(log10(max(values)))
    high = max(high, low + 1)

    def x(value):
        return LEFT + (log10(max(value, 10**low)) - low) / (high - low) * (RIGHT - LEFT)

    body = []

    def text(position, line, content, kind=""):
        body.append(f'<text x="{position:.1f}" y="{line:.1f}" class="{kind}">{escape(content)}</text>')

    height = 96 + sum(HEAD + ROW * len(rows) for _, rows in groups)
    for power in range(low, high + 1):
        for step in range(1, 10 if power < high else 2):
            position = x(step * 10**power)
            kind = "grid" if step == 1 else "grid minor"
            body.append(f'<line x1="{position:.1f}" x2="{position:.1f}" y1="64" y2="{height - 34}" class="{kind}"/>')
        unit = ["µs", "ms", "s"][min(power // 3, 2)]
        text(x(10**power), height - 16, f"{10**power // 1000 ** min(power // 3, 2)} {unit}", "dim middle")
    text(MEDIAN, 60, "● median", "dim value")
    text(HIGH, 60, "○ 99 of 100", "dim value")
    line = 66
    for name, rows in groups:
        line += HEAD
        text(16, line - 10, name, "group")
        for label, median, most, is_own in rows:
            kind = "own" if is_own else "other"
            center = line + ROW / 2 - 4
            text(28, center + 4, label)
            body.append(
                f'<line x1="{x(median):.1f}" x2="{x(most):.1f}" y1="{center}" y2="{center}" class="span {kind}"/>'
                f'<circle cx="{x(most):.1f}" cy="{center}" r="4.5" class="{kind} ring"/>'
                f'<circle cx="{x(median):.1f}" cy="{center}" r="5" class="{kind}"/>')
            text(MEDIAN, center + 4, time_text(median), "value")
            text(HIGH, center + 4, time_text(most), "value")
            line += ROW
    return page(title, subtitle, height, body)


def bars(title, subtitle, kinds, rows):
    """A bar for each row of (label, parts), each part with the shade of its kind, and the sum behind."""
    body, longest = [], max(sum(parts) for _, parts in rows)
    shades = [1 - 0.85 * index / (len(kinds) - 1) for index in range(len(kinds))]
    place = 16
    for kind, shade in zip(kinds, shades):
        body.append(f'<rect x="{place}" y="64" width="12" height="12" class="fill" opacity="{shade:.2f}"/>'
                    f'<text x="{place + 18}" y="75" class="dim">{escape(kind)}</text>')
        place += 46 + 7 * len(kind)
    for index, (label, parts) in enumerate(rows):
        line, start = 96 + index * 32, LEFT - 80
        body.append(f'<text x="16" y="{line + 15}">{escape(label)}</text>')
        for part, shade in zip(parts, shades):
            width = part / longest * (HIGH - LEFT)
            body.append(f'<rect x="{start:.1f}" y="{line}" width="{width:.1f}" height="20" class="fill" '
                        f'opacity="{shade:.2f}"/>')
            start += width
        body.append(f'<text x="{HIGH}" y="{line + 15}" class="value">{sum(parts):,}</text>')
    return page(title, subtitle, 104 + 32 * len(rows), body, "\n    .fill { fill: #0969da }")
