"""examples.py FOLDER: writes the examples in Swift of the documentation into FOLDER, each as NAME-N/main.swift to be
compiled. A block that begins with `import` begins an example, and the blocks after it in the same text go on with it. The
examples of the README have to be in one of the articles, word for word."""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```swift\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def main():
    folder = pathlib.Path(sys.argv[1])
    articles = sorted(pathlib.Path("Sources").glob("*/*/*.docc/*.md"))
    written = set()
    count = 0
    for article in articles:
        examples = []
        for block in blocks(article):
            written.add(block)
            if block.startswith("import "):
                examples.append(block)
            elif examples:
                examples[-1] += block
            else:
                sys.exit(f"{article}: the first example begins without an import")
        for number, example in enumerate(examples, 1):
            place = folder / f"{article.stem}-{number}"
            place.mkdir(parents=True)
            (place / "main.swift").write_text(example, encoding="utf-8")
            count += 1
    for block in blocks(pathlib.Path("README.md")):
        if block.startswith("import ") and block not in written:
            sys.exit("README.md: an example is not in any article, or is different there:\n\n" + block)
    if not count:
        sys.exit("there is no example at all")
    print(f"{count} examples")


main()
