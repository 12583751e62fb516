"""Screens of terminals over time as one SVG that moves by CSS alone, and stands still for whoever prefers that.

Each row of each screen is in it once, however often it shows, with the times at which it does.
"""

import re
import unicodedata
from html import escape

SIZE, CELL, LINE = 13, 7.8, 18  # of the letters, in pixels: their size, their width, and a row's height
EDGE, BAR, GAP = 14, 30, 16  # around the rows, above them, and between two terminals
STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre;
           fill: #1f2328 }
    .title { font-family: system-ui, sans-serif; font-weight: 600; text-anchor: middle }
    .bold { font-weight: 700 } .dim { fill: #656d76 } .cursor { fill: #1f2328; fill-opacity: 0.45 }
    .terminal { fill: #ffffff; stroke: #d0d7de } .bar { fill: #f0f2f5 }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 } .dim { fill: #9198a1 } .cursor { fill: #e6edf3 }
        .terminal { fill: #0d1117; stroke: #3d444d } .bar { fill: #1c2129 }
    }
    .m { opacity: 0 } .m.still { opacity: 1 }
"""


def width(text):
    """Returns the number of cells of a text."""
    cells = 0
    for character in text:
        if not unicodedata.combining(character):
            cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def runs(rows):
    """For each row with escape sequences its (column, text, classes). A row begins with the style in which the one
    before ends. No text has blanks at its ends, or two in a row, which not all programs show."""
    styles = frozenset()
    for row in rows:
        texts, column = [], 0
        for piece in re.split(r"(\x1b\[[0-9;]*m)", row):
            if piece.startswith("\x1b"):
                for code in (piece[2:-1] or "0").split(";"):
                    if code in ("", "0", "22"):
                        styles = frozenset()
                    styles |= {"1": {"bold"}, "2": {"dim"}}.get(code, set())
            else:
                for words in re.finditer(r"\S+(?: \S+)*", piece):
                    texts.append((column + width(piece[:words.start()]), words[0], " ".join(sorted(styles))))
                column += width(piece)
        yield tuple(texts)


def spans(frames, duration):
    """What shows when: (terminal, kind, row, content) → [(from, until)] in seconds."""
    shown = {}
    for index, (start, screens) in enumerate(frames):
        end = frames[index + 1][0] if index + 1 < len(frames) else duration
        for terminal, (rows, cursor) in enumerate(screens):
            things = [(terminal, "row", number, texts) for number, texts in enumerate(runs(rows)) if texts]
            for thing in things + [(terminal, "cursor", cursor[1], cursor[0])]:
                times = shown.setdefault(thing, [])
                if times and times[-1][1] == start:
                    times[-1] = (times[-1][0], end)
                else:
                    times.append((start, end))
    return shown


def keyframes(name, times, duration):
    """The animation that shows something at these times and at no others."""
    steps = {} if times[0][0] == 0 else {0: 0}
    for start, end in times:
        steps[start] = 1
        if end < duration:
            steps[end] = 0
    text = "".join(f"{100 * at / duration:.4g}%{{opacity:{value}}}" for at, value in sorted(steps.items()))
    return f"@keyframes {name}{{{text}}}"


def last(svg):
    """The texts that show in the end, times of day left out."""
    names = set(re.findall(r"@keyframes (\w+)\{[^@]*opacity:1\}\}", svg))
    rows = [row for name, row in re.findall(r'animation-name:(\w+)">(.*)</g>', svg) if name in names]
    return [re.sub(r"\d\d:\d\d", "", re.sub(r"<[^>]*>", " ", row)).split() for row in rows if "<text" in row]


def draw(frames, duration, still, columns, rows, titles, description):
    """`frames` are (seconds, screens), and a screen is (its rows, (column, row) of its cursor). The screens of the time
    `still` show where nothing moves."""
    wide, high = columns * CELL + 2 * EDGE, BAR + rows * LINE + 2 * EDGE
    body, names = [], {}
    for index, title in enumerate(titles):
        x = index * (wide + GAP)
        body.append(
            f'<rect x="{x + 0.5:.1f}" y="0.5" width="{wide - 1:.1f}" height="{high - 1}" rx="8" class="terminal"/>'
            f'<path d="M{x + 1:.1f} {BAR}v-22a7 7 0 0 1 7-7h{wide - 16:.1f}a7 7 0 0 1 7 7v22z" class="bar"/>'
            f'<text x="{x + wide / 2:.1f}" y="20" class="title">{escape(title)}</text>')
    for (terminal, kind, number, content), times in spans(frames, duration).items():
        left, top = terminal * (wide + GAP) + EDGE, BAR + EDGE + number * LINE
        if kind == "cursor":
            drawn = (f'<rect x="{left + content * CELL:.1f}" y="{top}" width="{CELL}" height="{LINE}" '
                     'class="cursor"/>')
        else:
            drawn = "".join(
                f'<text x="{left + column * CELL:.1f}" y="{top + 13}" textLength="{width(text) * CELL:.1f}"'
                + (f' class="{classes}"' if classes else "") + f">{escape(text, quote=False)}</text>"
                for column, text, classes in content)
        if times != [(0, duration)]:
            name = names.setdefault(tuple(times), f"k{len(names)}")
            shows = any(start <= still < end for start, end in times)
            drawn = f'<g class="m{" still" * shows}" style="animation-name:{name}">{drawn}</g>'
        body.append(drawn)
    animations = [keyframes(name, times, duration) for times, name in names.items()]
    total = len(titles) * (wide + GAP) - GAP
    moving = f".m {{ animation: {duration:.2f}s step-end infinite }}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {high}" role="img">',
        f"<title>{' and '.join(titles)}, in two terminals</title>", f"<desc>{escape(description)}</desc>",
        "<style>" + STYLE, f"@media (prefers-reduced-motion: no-preference) {{ {moving} }}", *animations, "</style>",
        *body, "</svg>"]
    return "\n".join(parts) + "\n"
