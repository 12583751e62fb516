"""examples.py FOLDER: writes the examples in Swift of the documentation into FOLDER, each as NAME-N/main.swift to be
compiled. In an article, a block that begins with `import` begins an example, and the later blocks continue the example. In
the other documents, each block that begins with `import` is an example."""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```swift\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def write(place, example):
    place.mkdir(parents=True)
    (place / "main.swift").write_text(example, encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    articles = sorted(pathlib.Path("Sources").glob("*/*/*.docc/*.md"))
    count = 0
    for article in articles:
        examples = []
        for block in blocks(article):
            if block.startswith("import "):
                examples.append(block)
            elif examples:
                examples[-1] += block
            else:
                sys.exit(f"{article}: the first example begins without an import")
        for number, example in enumerate(examples, 1):
            write(folder / f"{article.stem}-{number}", example)
            count += 1
    for document in map(pathlib.Path, ["README.md", "Documentation/embedding.md"]):
        examples = [block for block in blocks(document) if block.startswith("import ")]
        if not examples:
            sys.exit(f"{document}: there is no example")
        for number, example in enumerate(examples, 1):
            write(folder / f"{document.stem}-{number}", example)
            count += 1
    print(f"{count} examples")


main()
