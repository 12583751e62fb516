"""Writes captures of given datagrams, and reads tshark's output for a capture."""

import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
INFO = ["-T", "fields", "-e", "_ws.col.Info"]


def ip_header(source, destination, protocol, length):
    addresses = bytes((10, 0, *source[0])) + bytes((10, 0, *destination[0]))
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, protocol, 0) + addresses


def ip_packet(source, destination, payload):
    udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + payload
    return ip_header(source, destination, 17, len(udp)) + udp


def pcap_header():
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


class Capture:
    """A capture to write: datagrams in the order in which they are added, 10 ms apart, and `pause` seconds later."""

    def __init__(self):
        self.packets = []
        self.pause = 0

    def add(self, source, destination, payload, snap_length=None):
        """Returns the number of its frame. An end is (last two numbers of the address, port)."""
        return self.add_ip(ip_packet(source, destination, payload), snap_length)

    def add_quoted(self, source, destination, payload):
        """The same, as the destination quotes it in an ICMP error."""
        quote = ip_packet(source, destination, payload)
        icmp = struct.pack(">BBHI", 3, 3, 0, 0) + quote
        return self.add_ip(ip_header(destination, source, 1, len(icmp)) + icmp)

    def add_ip(self, packet, snap_length=None):
        ethernet = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + packet
        time = 10_000 * len(self.packets) + 1_000_000 * self.pause
        self.packets.append((time, ethernet[: snap_length or len(ethernet)], len(ethernet)))
        return len(self.packets)

    def records(self):
        """Each packet as a pcap file holds it."""
        for time, packet, length in self.packets:
            seconds, microseconds = divmod(time, 1_000_000)
            yield struct.pack("<IIII", 1_700_000_000 + seconds, microseconds, len(packet), length) + packet

    def write(self, path):
        path.write_bytes(pcap_header() + b"".join(self.records()))


def dns_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def dns_record(name, kind, data):
    """A PTR (12) or TXT (16) record."""
    data = dns_name(data) if kind == 12 else data
    return dns_name(name) + struct.pack(">HHIH", kind, 1, 120, len(data)) + data


def dns_response(records):
    return struct.pack(">HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


class Field:
    def __init__(self, element):
        self.show = element.get("show")
        self.value = element.get("value") or ""


class Packet:
    """One frame in tshark's output: the fields of Inkling in their order, with those of its own tree."""

    def __init__(self, element):
        protocols = {proto.get("name"): proto for proto in element.findall("proto")}
        self.inkling = protocols.get("inkling")
        own = [proto for proto in element.findall("proto") if proto.get("name") in ("inkling", "inkling_discovery")]
        self.udp = protocols.get("udp")
        self.is_quoted = "icmp" in protocols
        self.fields = {}
        for field in (one for proto in own for one in proto.iter("field")):
            self.fields.setdefault(field.get("name"), []).append(Field(field))
        self.lua_error = next((field.get("showname") for field in element.iter("field")
                               if field.get("name") == "_ws.lua.error"), None)

    def all(self, name):
        return self.fields.get("inkling." + name, [])

    def shown(self, name):
        return [field.show for field in self.all(name)]

    def number(self, name):
        """The value of the field that occurs once, or None."""
        numbers = [int(show, 0) for show in self.shown(name)]
        return numbers[0] if len(numbers) == 1 else None

    def hex(self, name):
        return [field.value for field in self.all(name)]

    def errors(self):
        return sorted(name.removeprefix("inkling.error.") for name in self.fields if name.startswith("inkling.error."))

    def notes(self):
        return sorted(name.removeprefix("inkling.note.") for name in self.fields if name.startswith("inkling.note."))


def command_of(path, arguments, preferences):
    options = [word for name, value in preferences.items() for word in ("-o", f"inkling.{name}:{value}")]
    return ["tshark", "-n", "-X", f"lua_script:{HERE / 'inkling.lua'}", "-r", str(path), *options, *arguments]


def tshark(path, arguments, preferences):
    result = subprocess.run(command_of(path, arguments, preferences), capture_output=True, timeout=60)
    messages = result.stderr.decode()
    if result.returncode != 0 or "Lua" in messages:
        sys.exit(f"tshark ended with {result.returncode}: {messages}")
    return result.stdout


def dissected(path, *arguments, **preferences):
    """All packets of a capture."""
    # With two passes, a frame also shows what came after it.
    output = tshark(path, ["-2", "-T", "pdml", *arguments], preferences)
    # tshark writes the characters of texts as they are; XML lacks some.
    text = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", output.decode("utf-8", "replace"))
    packets = [Packet(element) for element in ElementTree.fromstring(text).findall("packet")]
    for number, packet in enumerate(packets, 1):
        if packet.lua_error:
            sys.exit(f"{path.name}, frame {number}: {packet.lua_error}")
    return packets


def shown(path, number, **preferences):
    """The lines of tshark for Inkling in one packet."""
    lines = tshark(path, ["-2", "-O", "inkling", "-Y", f"frame.number == {number}"], preferences).decode().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Inkling"))
    return [line for line in lines[first:] if line]


def infos(path, **preferences):
    """The column Info of all packets."""
    return tshark(path, INFO, preferences).decode().splitlines()


def infos_while(records, before_each, **preferences):
    """The same, of packets that come one after the other; `before_each` is called with the number of each."""
    with subprocess.Popen(command_of("-", ["-l", *INFO], preferences), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        process.stdin.write(pcap_header())
        lines = []
        for number, record in enumerate(records):
            before_each(number)
            process.stdin.write(record)
            process.stdin.flush()
            lines.append(process.stdout.readline().decode().rstrip("\n"))
        process.stdin.close()
    return lines
