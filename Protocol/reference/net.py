"""What the host says of its own addresses and networks (L-24, L-40). IPv4 on Linux; elsewhere a guess."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import time
from typing import Optional

from session import Address

LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")
RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE = 0x10, 0x40
OTHER_USERS = "other users of this host"


class Networks:
    """The on-link networks of this host, and its own addresses."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._owners: dict[Address, tuple[float, bool]] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Says whether something changed."""
        state = (self._routes(), self._own())
        changed = state != getattr(self, "_state", state)
        self._state = state
        self.on_link, self.own = state
        return changed

    @staticmethod
    def _routes() -> frozenset[ipaddress.IPv4Network]:
        networks = {LOOPBACK}
        try:
            with open("/proc/net/route", encoding="ascii") as table:
                for line in list(table)[1:]:
                    fields = line.split()
                    destination, gateway, mask = (int(fields[i], 16) for i in (1, 2, 7))
                    if gateway == 0 and mask:
                        host, bits = (socket.inet_ntoa(struct.pack("=I", n)) for n in (destination, mask))
                        networks.add(ipaddress.IPv4Network(f"{host}/{bits}", strict=False))
        except OSError:
            networks |= {ipaddress.IPv4Network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")}
        return frozenset(networks)

    @staticmethod
    def _own() -> frozenset[str]:
        own = set()
        last = ""
        try:
            with open("/proc/net/fib_trie", encoding="ascii") as trie:
                for line in trie:
                    if "|--" in line:
                        last = line.split()[1]
                    elif "/32 host LOCAL" in line:
                        own.add(last)
        except OSError:
            own = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        return frozenset(own)

    def is_on_link(self, address: Address) -> bool:
        host = ipaddress.ip_address(address[0])
        return any(host in network for network in self.on_link)

    def is_own(self, address: Address) -> bool:
        """An address of this node with its own port."""
        return address[1] == self.port and (address[0] in self.own or ipaddress.ip_address(address[0]) in LOOPBACK)

    def source(self, address: Address) -> Optional[str]:
        """What shares are counted by (L-10, L-52, L-53). IPv4 alone, so on-link or not is the same."""
        if address[0] in self.own or ipaddress.ip_address(address[0]) in LOOPBACK:
            return None if self._is_own_users(address) else OTHER_USERS
        return address[0]

    def _is_own_users(self, address: Address) -> bool:
        """Whether a socket of this node's user is at an address of this host. An answer holds for a second."""
        now = time.monotonic()
        asked, answer = self._owners.get(address, (now - 1, False))
        if now - asked >= 1:
            answer = _is_own_users(address)
            self._owners = {a: known for a, known in self._owners.items() if now - known[0] < 1}
            self._owners[address] = (now, answer)
        return answer

    @staticmethod
    def is_unicast(address: Address) -> bool:
        host = ipaddress.ip_address(address[0])
        return not (host.is_multicast or host.is_unspecified or address[0] == "255.255.255.255") and address[1] != 0


def _is_own_users(address: Address) -> bool:
    """Whether all UDP sockets with that port are this user's, and one of them is bound to the address or to all."""
    host = "%08X" % struct.unpack("=I", socket.inet_aton(address[0]))
    bound = {"0" * 8, host, "0" * 32, "0" * 16 + "FFFF0000" + host}
    users, is_bound = set(), False
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in list(lines)[1:]:
                    fields = line.split()
                    where, port = fields[1].split(":")
                    if int(port, 16) == address[1]:
                        users.add(int(fields[7]))
                        is_bound = is_bound or where in bound
        except OSError:
            continue
    return is_bound and users == {os.getuid()}


def watch_changes() -> Optional[socket.socket]:
    """A socket that becomes readable when addresses or routes change; None where there is no such thing."""
    try:
        watcher = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        watcher.bind((0, RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE))
        return watcher
    except (AttributeError, OSError):
        return None
