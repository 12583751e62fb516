"""seeds.py DECODER FOLDER: writes the vectors and the handwritten seeds of a decoder as the fuzzer's first files."""

import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "Tests/Fuzz/Seeds"


def vectors(member, *files):
    """The strings of all members of that name in files of vectors, as bytes."""
    text = "".join((ROOT / f"Protocol/vectors/{file}.json").read_text(encoding="utf-8") for file in files)
    return [value.encode() for value in sorted({*re.findall(rf'"{member}": "([^"\\]*)"', text)})]


def unhex(values):
    return [bytes.fromhex(value.decode()) for value in values]


def texts():
    """Records of texts on disk, with usual and with impossible numbers and times."""
    key = bytes([1, 2]) + bytes([7] * 30)
    most = 2**64 - 1
    records = []
    for number, written, at in [(1, 1_700_000_000_000, 1_700_000_000.5), (most, most, float("inf")),
                                (0, 2**63, float("nan")), (64, 0, -1e300), (most - 1, 1, 1e300)]:
        name = key + struct.pack(">3Q", 7, number, written)
        text = name + struct.pack(">dH", at, 3) + b"Zo\xc3Tea is ready"
        records += [bytes([1]) + struct.pack(">Q", number) + text, bytes([2]) + name, bytes([3]) + text,
                    bytes([4]) + name, bytes([5]) + key + struct.pack(">6Q", 7, number, most, 8, 1, 0),
                    bytes([6]) + struct.pack(">Q", number), bytes([7]) + key + b"\1"]
    sized = [struct.pack(">H", len(record)) + record for record in records]
    return sized + [b"".join(sized), b"".join(sized[:7])]


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
        case "texts":
            return texts()
        case "settings":
            return [path.read_bytes() for path in sorted((SEEDS / "settings").glob("*.toml"))]


folder = pathlib.Path(sys.argv[2])
for number, seed in enumerate(seeds(sys.argv[1])):
    (folder / str(number)).write_bytes(seed)
