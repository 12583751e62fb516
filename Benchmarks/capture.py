"""The datagrams on loopback, with the kernel's time of each."""

import socket
import struct

ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35


class Capture:
    """A capture of the UDP datagrams of IPv4 on loopback."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.socket.bind(("lo", ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setblocking(False)

    def datagrams(self):
        """(source port, destination port, nanoseconds since 1970, bytes of payload) of each datagram since the last
        call."""
        found = []
        while True:
            try:
                packet, ancillary, _, _ = self.socket.recvmsg(2048, 256)
            except BlockingIOError:
                return found
            header = (packet[0] & 15) * 4
            if packet[9] != socket.IPPROTO_UDP:
                continue
            source, destination, length = struct.unpack_from("!HHH", packet, header)
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("qq", content[:16])
                    found.append((source, destination, seconds * 1_000_000_000 + nanoseconds, length - 8))
