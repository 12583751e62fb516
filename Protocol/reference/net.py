"""What the host knows of addresses and networks (L-24, L-40, L-78). IPv4 on Linux; elsewhere a guess."""

import ipaddress
import os
import socket
import struct
import time
from typing import Optional

from admission import HOST
from session import Address

LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")
ROUTE_CHANGES = 0x10 | 0x40             # RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE
LOWEST, HIGHEST = ipaddress.IPv4Address("1.0.0.0"), ipaddress.IPv4Address("223.255.255.255")


class HostNetwork:
    """The on-link networks of this host, and its own addresses."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._owners: dict[Address, tuple[float, bool]] = {}
        self._state = self._read()

    def _read(self) -> tuple[frozenset[ipaddress.IPv4Network], frozenset[str]]:
        return _routes(), _own_addresses()

    def refresh(self) -> bool:
        """Returns whether something changed."""
        former, self._state = self._state, self._read()
        return former != self._state

    def is_on_link(self, address: Address) -> bool:
        host = ipaddress.IPv4Address(address[0])
        return any(host in network for network in self._state[0])

    def _is_local(self, address: Address) -> bool:
        return address[0] in self._state[1] or ipaddress.IPv4Address(address[0]) in LOOPBACK

    def is_own(self, address: Address) -> bool:
        return address[1] == self.port and self._is_local(address)

    def is_unicast(self, address: Address) -> bool:
        return LOWEST <= ipaddress.IPv4Address(address[0]) <= HIGHEST and address[1] != 0

    def source(self, address: Address) -> Optional[str]:
        """L-78; an answer of the system holds for a second."""
        if not self._is_local(address):
            return address[0]
        now = time.monotonic()
        asked, is_own_users = self._owners.get(address, (now - 1, False))
        if now - asked >= 1:
            self._owners = {a: known for a, known in self._owners.items() if now - known[0] < 1}
            is_own_users = _is_own_users(address[1])
            self._owners[address] = now, is_own_users
        return None if is_own_users else HOST


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return list(file)
    except OSError:
        return []


def _routes() -> frozenset[ipaddress.IPv4Network]:
    networks = {LOOPBACK}
    lines = _lines("/proc/net/route")
    for line in lines[1:]:
        fields = line.split()
        destination, gateway, mask = (int(fields[i], 16) for i in (1, 2, 7))
        if gateway == 0 and mask:
            host, bits = (socket.inet_ntoa(struct.pack("=I", number)) for number in (destination, mask))
            networks.add(ipaddress.IPv4Network(f"{host}/{bits}", strict=False))
    return frozenset(networks if lines else networks | {ipaddress.IPv4Network(n) for n in PRIVATE})


def _own_addresses() -> frozenset[str]:
    own, last = set(), ""
    for line in _lines("/proc/net/fib_trie"):
        if "|--" in line:
            last = line.split()[1]
        elif "/32 host LOCAL" in line:
            own.add(last)
    return frozenset(own)


def _is_own_users(port: int) -> bool:
    lines = _lines("/proc/net/udp")[1:] + _lines("/proc/net/udp6")[1:]
    users = {int(f[7]) for f in map(str.split, lines) if int(f[1].rsplit(":", 1)[1], 16) == port}
    return users == {os.getuid()}


def watch_changes() -> Optional[socket.socket]:
    """A socket that becomes readable when addresses or routes change, where there is such a thing."""
    try:
        watcher = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        watcher.bind((0, ROUTE_CHANGES))
        return watcher
    except (AttributeError, OSError):
        return None
