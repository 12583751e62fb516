"""seeds.py DECODER FOLDER: writes the vectors and the handwritten seeds of a decoder as the fuzzer's first files."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "Tests/Fuzz/Seeds"


def vectors(member, *files):
    """The strings of all members of that name in files of vectors, as bytes."""
    text = "".join((ROOT / f"Protocol/vectors/{file}.json").read_text(encoding="utf-8") for file in files)
    return [value.encode() for value in sorted({*re.findall(rf'"{member}": "([^"\\]*)"', text)})]


def unhex(values):
    return [bytes.fromhex(value.decode()) for value in values]


def seeds(decoder):
    match decoder:
        case "datagrams":
            handshakes = [value for value in vectors("[a-zA-Z]*", "handshake")
                          if re.fullmatch(rb"2[1-6][0-9a-f]{40,}", value)]
            return unhex(vectors("bytes", "datagrams", "sealed") + handshakes)
        case "frames":
            return unhex(vectors("bytes", "frames") + vectors("plaintext", "sealed"))
        case "records":
            return unhex(vectors("bytes", "derivations")) + vectors("text", "derivations")
        case "invites":
            written = (SEEDS / "invites.txt").read_bytes().splitlines()
            return vectors("text", "derivations") + vectors("chatName", "derivations") + written
        case "json-lines":
            return (SEEDS / "json-lines.txt").read_bytes().splitlines()
        case "settings":
            return [path.read_bytes() for path in sorted((SEEDS / "settings").glob("*.toml"))]


folder = pathlib.Path(sys.argv[2])
for number, seed in enumerate(seeds(sys.argv[1])):
    (folder / str(number)).write_bytes(seed)
