"""The byte layouts of wire.md: the sizes of the fields have to add up to the size of the datagram or frame."""

import re

import texts


def bounds(text, is_first):
    """The least and greatest size of a field, None if it has none: `sender index 4`, `[cookie 16]`, `encrypted frames 2 to
    1,175`, `body`, or `21`, which is the first byte itself."""
    found = re.fullmatch(r".*? (\d[\d,]*)(?: to (\d[\d,]*))?", text.strip("[]"))
    if is_first or text == "type":
        return 1, 1
    if not found:
        return None
    return int(found[1].replace(",", "")), int((found[2] or found[1]).replace(",", ""))


def check():
    for layout in texts.layouts("wire.md"):
        for title, fields, size in layout:
            found = [(text.startswith("["), bounds(text, place == 0)) for place, text in enumerate(fields)]
            fixed = [field for is_optional, field in found if field and not is_optional]
            low, high = sum(field[0] for field in fixed), sum(field[1] for field in fixed)
            whole = high + sum(field[1] for is_optional, field in found if field and is_optional)
            expected = {low, high, whole} if all(field for _, field in found) else {low}
            stated = {int(value) for value in texts.numbers(re.sub(r"\+.*", "", size))}
            if stated != expected:
                raise SystemExit(f"wire.md: the fields of {title} add up to {sorted(expected)}, and not to {size}")
