"""Byte diagrams: one row for each datagram or frame, from the blocks of wire.md. Sizes have to add up."""

import re

import svg
import texts

HIGH = 34
ROW = 74
LEFT = 150


class Field:
    """A field as its text names it: `sender index 4`, `[cookie 16]`, `encrypted frames, 2 to 1,175`, `name` or `11`, which
    is the first byte itself."""

    def __init__(self, text, is_first):
        self.is_optional = text.startswith("[")
        text = text.strip("[]")
        found = re.fullmatch(r"(.*?),? (\d[\d,]*)(?: to (\d[\d,]*))?", text)
        if is_first:
            self.name, self.low, self.high = (f"0x{text}" if re.fullmatch("[0-9a-f]{2}", text) else text), 1, 1
        elif found:
            self.name = found[1]
            self.low = int(found[2].replace(",", ""))
            self.high = int((found[3] or found[2]).replace(",", ""))
        else:
            self.name, self.low, self.high = text, None, None

    @property
    def size(self):
        if self.low is None:
            return "the rest" if "end" in self.name else "any"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"

    @property
    def shown(self):
        return self.name.removesuffix(" to the end of the datagram")

    @property
    def wide(self):
        bytes_ = 40 if self.low is None else max(self.high if self.high < 200 else 110, 1)
        return max(34 + bytes_ * 1.7, svg.width(self.shown) + 14, svg.width(self.size) + 10)


def check(title, fields, size):
    """The sizes of the fields, added up, are what the last column says."""
    fixed = [field for field in fields if field.low is not None and not field.is_optional]
    low, high = sum(field.low for field in fixed), sum(field.high for field in fixed)
    whole = high + sum(field.high for field in fields if field.is_optional)
    stated = [int(value) for value in texts.numbers(re.sub(r"\+.*", "", size))]
    expected = {low, high, whole} if all(field.low is not None for field in fields) else {low}
    if set(stated) != expected:
        raise SystemExit(f"wire.md: the fields of {title} add up to {sorted(expected)}, and not to {size}")


def draw(name, title, description, rows):
    picture = svg.Picture(name, title, description)
    for index, (heading, texts_, size) in enumerate(rows):
        fields = [Field(text, place == 0) for place, text in enumerate(texts_)]
        check(heading, fields, size)
        top = 16 + index * ROW
        named, _, code = heading.partition(" 0x")
        if " to " in heading:
            named, code = "extension", heading.split("0x", 1)[1]
        picture.text(16, top + HIGH / 2 - svg.LINE / 2, named.strip(), anchor="start", kind="strong")
        fixed, _, rest = size.partition(" + ")
        told = f"{fixed} bytes" + (f" + {rest}" if rest else "")
        picture.text(16, top + HIGH / 2 + svg.LINE / 2, told, anchor="start", kind="faint")
        left = LEFT
        for field in fields:
            kind = "maybe" if field.is_optional else "box" if field is fields[0] else "plain"
            picture.box(left, top, field.wide, HIGH, kind=kind)
            label = field.shown if field is not fields[0] or "type" in field.name else field.name
            picture.text(left + field.wide / 2, top + HIGH / 2, label, kind="strong" if field is fields[0] else "")
            picture.text(left + field.wide / 2, top + HIGH + svg.LINE / 2 + 2, field.size, kind="faint")
            left += field.wide
    return picture


def pictures():
    datagrams, frames = texts.layouts("wire.md")
    legend = (
        "Each row is one kind, from left to right in the order of its bytes; below each field is its size in bytes."
    )
    yield draw(
        "datagrams", "The six kinds of datagrams", f"{legend} A field with a dashed frame is optional.", datagrams
    )
    yield draw("frames", "The frames of a sealed datagram", legend, frames)
