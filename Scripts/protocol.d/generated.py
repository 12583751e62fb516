"""Files that a part of Scripts/protocol writes, or compares with --check."""

import sys

import texts


def save(name, content, part):
    """Writes a file. With --check, the program fails instead if the file has another content."""
    path = texts.FOLDER.parent / name
    if sys.argv[1:] == ["--check"]:
        if path.read_text(encoding="utf-8") != content:
            sys.exit(f"{name} differs from what its sources say: run Scripts/protocol {part}")
    elif sys.argv[1:]:
        print(f"usage: Scripts/protocol {part} [--check]", file=sys.stderr)
        sys.exit(64)
    else:
        path.write_text(content, encoding="utf-8")
