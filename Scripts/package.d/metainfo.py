"""Makes the description of Inkling for software centres, in the format of AppStream.

metainfo.py DATE [ADDRESSES]    prints inkling.metainfo.xml with the releases of CHANGELOG.md, of which the first is of
                                that day, and with the addresses of the file `addresses`, or of another one
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
CHANGES = HERE.parents[1] / "CHANGELOG.md"
# A version, and the day of its release. The newest version has no day yet.
HEADING = re.compile(r"## (\d\S*)(?: \((\d{4}-\d\d-\d\d)\))?")
# The picture in .pictures, with its description.
PICTURE = ("web.png", "The chats in a browser: Bob is typing")


def addresses(file: pathlib.Path) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in file.read_text().splitlines() if line and line[0] != "#")


def releases(changes: str, today: str) -> list[tuple[str, str, list[str]]]:
    """Of each version its day, and the paragraphs above the first list."""
    result, is_above = [], False
    for line in changes.splitlines():
        if heading := HEADING.fullmatch(line):
            day = heading[2] or (today if not result else sys.exit(f"CHANGELOG.md has no day at {line}"))
            result.append((heading[1], day, []))
            is_above = True
        elif line.startswith(("#", "- ", "For ")):
            is_above = False
        elif is_above and line:
            result[-1][2].append(line)
    return result or sys.exit("CHANGELOG.md has no versions")


def add_paragraph(parent: ET.Element, text: str) -> None:
    """Adds plain text, of which the parts in backticks are code."""
    paragraph = ET.SubElement(parent, "p")
    paragraph.text, *rest = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split("`")
    for code, after in zip(rest[::2], rest[1::2], strict=True):
        element = ET.SubElement(paragraph, "code")
        element.text, element.tail = code, after


def main(today: str, file: str = str(HERE / "addresses")) -> None:
    root = ET.parse(HERE / "inkling.metainfo.xml").getroot()
    known = addresses(pathlib.Path(file))
    if "homepage" in known:
        ET.SubElement(root, "url", type="homepage").text = known["homepage"]
    if "pictures" in known:
        picture = ET.SubElement(ET.SubElement(root, "screenshots"), "screenshot", type="default")
        ET.SubElement(picture, "caption").text = PICTURE[1]
        ET.SubElement(picture, "image").text = known["pictures"].rstrip("/") + "/" + PICTURE[0]
    list_of_releases = ET.SubElement(root, "releases")
    for version, day, paragraphs in releases(CHANGES.read_text(), today):
        release = ET.SubElement(list_of_releases, "release", version=version, date=day)
        if paragraphs:
            description = ET.SubElement(release, "description")
            for text in paragraphs:
                add_paragraph(description, text)
    ET.indent(root)
    print('<?xml version="1.0" encoding="UTF-8"?>')
    print(ET.tostring(root, encoding="unicode"))


main(*sys.argv[1:])
