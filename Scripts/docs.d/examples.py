"""examples.py FOLDER: writes the examples in Swift of the documentation into FOLDER, each as NAME-N/main.swift to be
compiled. In an article, a block that begins with `import` begins an example, and the later blocks continue the example. In
the other documents, each block that begins with `import` is an example."""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```swift\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(path):
    """The examples of a text. An article's later blocks continue the example before them."""
    found = []
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        if block.startswith("import "):
            found.append(block)
        elif path.parent.suffix == ".docc":
            if not found:
                sys.exit(f"{path}: the first example begins without an import")
            found[-1] += block
    return found


def main():
    count = 0
    documents = [pathlib.Path("README.md"), pathlib.Path("Documentation/embedding.md")]
    for path in [*sorted(pathlib.Path("Sources").glob("*/*/*.docc/*.md")), *documents]:
        found = examples(path)
        if not found and path in documents:
            sys.exit(f"{path}: there is no example")
        for number, example in enumerate(found, 1):
            place = pathlib.Path(sys.argv[1]) / f"{path.stem}-{number}"
            place.mkdir(parents=True)
            (place / "main.swift").write_text(example, encoding="utf-8")
        count += len(found)
    print(f"{count} examples")


main()
