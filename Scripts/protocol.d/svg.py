"""Plain SVG, for light and dark pages: boxes, arrows and wrapped text, on a background of their own."""

import html
import math

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
  .line {{ fill: none; stroke: #424a53; stroke-width: 1.4; }}
  .tip {{ fill: #424a53; }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #e6edf3; }}
    .faint {{ fill: #9198a1; }}
    .page {{ fill: #0d1117; }}
    .box {{ fill: #0c2d6b; stroke: #58a6ff; }}
    .line {{ stroke: #b1bac4; }}
    .tip {{ fill: #b1bac4; }}
  }}"""


def width(text):
    """The greatest width of a line of text, in pixels."""
    return len(text) * SIZE * WIDTH


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

    def box(self, left, top, wide, high, what):
        self.claim(what, left, top, left + wide, top + high)
        place = f'x="{number(left)}" y="{number(top)}" width="{number(wide)}" height="{number(high)}"'
        self.add(f'<rect class="box" {place} rx="8"/>')

    def line(self, x1, y1, x2, y2, tip=True):
        self.reach(x1, y1)
        self.reach(x2, y2)
        marker = ' marker-end="url(#tip)"' if tip else ""
        self.add(f'<path class="line" d="M{number(x1)} {number(y1)} L{number(x2)} {number(y2)}"{marker}/>')

    def svg(self):
        left, top = number(self.left - MARGIN), number(self.top - MARGIN)
        wide, high = number(self.right - self.left + 2 * MARGIN), number(self.bottom - self.top + 2 * MARGIN)
        title, description = html.escape(self.title, quote=False), html.escape(self.description, quote=False)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
            f'viewBox="{left} {top} {wide} {high}" role="img" aria-labelledby="title description">\n'
            f'  <title id="title">{title}</title>\n  <desc id="description">{description}</desc>\n'
            f"  <style>{STYLE}\n  </style>\n"
            '  <defs>\n    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="10" markerHeight="10" '
            'markerUnits="userSpaceOnUse" orient="auto">\n      <path class="tip" d="M0 1 L10 5 L0 9 z"/>\n    </marker>\n  </defs>\n'
            f'  <rect class="page" x="{left}" y="{top}" width="{wide}" height="{high}" rx="6"/>\n'
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"
