"""Plain SVG, for light and dark pages: boxes, arrows and wrapped text in one type, on a background of their own."""

import html
import math
import re

SIZE = 13  # of all text, in pixels
LINE = 16  # from one line of text to the next
MARGIN = 14
WIDTH = 0.56  # of a character, as a share of its size: what is left free for it

STYLE = f"""
  text {{ font: {SIZE}px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; fill: #1f2328; }}
  .strong {{ font-weight: bold; }}
  .faint {{ fill: #59636e; }}
  .middle {{ text-anchor: middle; }}
  .end {{ text-anchor: end; }}
  .page {{ fill: #ffffff; }}
  .box {{ fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5; }}
  .plain {{ fill: #f6f8fa; stroke: #59636e; stroke-width: 1.2; }}
  .maybe {{ fill: none; stroke: #59636e; stroke-width: 1.2; stroke-dasharray: 4 3; }}
  .group {{ fill: none; stroke: #59636e; stroke-width: 1.2; stroke-dasharray: 6 4; }}
  .line {{ fill: none; stroke: #424a53; stroke-width: 1.4; }}
  .tick {{ stroke: #59636e; stroke-width: 1; }}
  .dot, .tip {{ fill: #424a53; }}
  .ring {{ fill: none; stroke: #424a53; stroke-width: 1.4; }}
  .shown {{ fill: #aceebb; stroke: #1a7f37; stroke-width: 1.2; }}
  .doubt {{ fill: #fae17d; stroke: #9a6700; stroke-width: 1.2; }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #e6edf3; }}
    .faint {{ fill: #9198a1; }}
    .page {{ fill: #0d1117; }}
    .box {{ fill: #0c2d6b; stroke: #58a6ff; }}
    .plain {{ fill: #161b22; stroke: #9198a1; }}
    .maybe, .group {{ stroke: #9198a1; }}
    .line, .ring {{ stroke: #b1bac4; }}
    .tick {{ stroke: #9198a1; }}
    .dot, .tip {{ fill: #b1bac4; }}
    .shown {{ fill: #033a16; stroke: #3fb950; }}
    .doubt {{ fill: #4b2900; stroke: #d29922; }}
  }}"""


def width(text):
    """The greatest width of a line of text, in pixels."""
    return len(text) * SIZE * WIDTH


def wrapped(text, columns):
    """The lines of a text, none longer than `columns` characters unless a word is. What is in parentheses stays together
    where it fits."""
    lines = [""]
    words = [part if len(part) <= columns else part.split() for part in re.findall(r"\([^)]*\)[.,;]?|\S+", text)]
    for word in [word for part in words for word in ([part] if isinstance(part, str) else part)]:
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) > columns and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Picture:
    """A picture under construction. Text that would lie on other text, or on a box that is not its own, is one of `faults`."""

    def __init__(self, name, title, description):
        self.name = name
        self.title = title
        self.description = description
        self.parts = []
        self.taken = []
        self.faults = []
        self.lines = []
        self.left = self.top = math.inf
        self.right = self.bottom = -math.inf

    def add(self, part):
        self.parts.append("  " + part)

    def reach(self, x, y):
        """The picture is as large as what is in it, and a margin."""
        self.left, self.right = min(self.left, x), max(self.right, x)
        self.top, self.bottom = min(self.top, y), max(self.bottom, y)

    def claim(self, what, left, top, right, bottom):
        for other, other_left, other_top, other_right, other_bottom in self.taken:
            if left < other_right and other_left < right and top < other_bottom and other_top < bottom:
                self.faults.append(f"{self.name}: “{what}” lies on “{other}”")
        self.taken.append((what, left, top, right, bottom))
        self.reach(left, top)
        self.reach(right, bottom)

    def text(self, x, y, lines, anchor="middle", kind="", owned=False):
        """Lines of text around the height `y`; `owned` if they lie on a box that was claimed for them."""
        lines = [lines] if isinstance(lines, str) else lines
        top = y - len(lines) * LINE / 2
        widest = max(width(line) for line in lines)
        left = {"start": x, "middle": x - widest / 2, "end": x - widest}[anchor]
        if not owned:
            self.claim(" ".join(lines), left, top, left + widest, top + len(lines) * LINE)
        classes = " ".join(filter(None, [{"middle": "middle", "end": "end"}.get(anchor, ""), kind]))
        for index, line in enumerate(lines):
            base = top + index * LINE + LINE * 0.76
            named = f' class="{classes}"' if classes else ""
            self.add(f'<text{named} x="{number(x)}" y="{number(base)}">{html.escape(line, quote=False)}</text>')

    def box(self, left, top, wide, high, kind="box", radius=0, what=None):
        if what:
            self.claim(what, left, top, left + wide, top + high)
        self.reach(left, top)
        self.reach(left + wide, top + high)
        rounded = f' rx="{number(radius)}"' if radius else ""
        self.add(
            f'<rect class="{kind}" x="{number(left)}" y="{number(top)}" width="{number(wide)}" height="{number(high)}"{rounded}/>'
        )

    def circle(self, x, y, radius, kind):
        self.reach(x - radius, y - radius)
        self.reach(x + radius, y + radius)
        self.add(f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>')

    def path(self, data, points, tip=True, kind="line"):
        for x, y in points:
            self.reach(x, y)
        self.lines += zip(points, points[1:])
        marker = ' marker-end="url(#tip)"' if tip else ""
        self.add(f'<path class="{kind}" d="{data}"{marker}/>')

    def frame(self, left, top, wide, high):
        """A dashed frame around several boxes."""
        self.box(left, top, wide, high, kind="group", radius=10)
        corners = [(left, top), (left + wide, top), (left + wide, top + high), (left, top + high), (left, top)]
        self.lines += zip(corners, corners[1:])

    def crossed(self):
        """The texts and boxes that a line crosses."""
        for what, left, top, right, bottom in self.taken:
            for (x1, y1), (x2, y2) in self.lines:
                steps = max(int(abs(x2 - x1) + abs(y2 - y1)) // 2, 1)
                points = ((x1 + (x2 - x1) * step / steps, y1 + (y2 - y1) * step / steps) for step in range(steps + 1))
                if any(left + 1 < x < right - 1 and top + 1 < y < bottom - 1 for x, y in points):
                    yield f"{self.name}: a line crosses “{what}”"
                    break

    def svg(self):
        wide, high = self.right - self.left + 2 * MARGIN, self.bottom - self.top + 2 * MARGIN
        left, top = number(self.left - MARGIN), number(self.top - MARGIN)
        title, description = html.escape(self.title, quote=False), html.escape(self.description, quote=False)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(wide)}" height="{number(high)}" '
            f'viewBox="{left} {top} {number(wide)} {number(high)}" role="img" aria-labelledby="title description">\n'
            f'  <title id="title">{title}</title>\n  <desc id="description">{description}</desc>\n'
            f"  <style>{STYLE}\n  </style>\n"
            '  <defs>\n    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="10" markerHeight="10" '
            'markerUnits="userSpaceOnUse" orient="auto">\n      <path class="tip" d="M0 1 L10 5 L0 9 z"/>\n    </marker>\n  </defs>\n'
            f'  <rect class="page" x="{left}" y="{top}" width="{number(wide)}" height="{number(high)}" rx="6"/>\n'
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"
