#!/usr/bin/env python3
"""A driven node: `python3 node.py CHAT`, with the arguments of J-12."""

from __future__ import annotations

import os
import random
import selectors
import signal
import socket
import stat
import struct
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, Optional, Type

from core import Node
from driver import Driver, Lines, Output
from handshake import KeyPair
from limits import MAX_NAME, S
from names import TextError, entered_chat_name, secret_from_text
from net import Networks, watch_changes
from session import Address

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # T-18
READS = 64          # datagrams read in one go
BUFFER = 4 << 20
# Tells and names the own address of a datagram. Python 3.11 has no name for it; other systems than Linux differ.
IP_PKTINFO = 8 if sys.platform == "linux" else None
USAGE = "usage: node.py CHAT [--secret SECRET] [--name NAME] [--port PORT] [--peer HOST:PORT]... " \
        "[--state-dir DIR] [--no-discovery]"
WITH_VALUE = ("--secret", "--name", "--port", "--peer", "--state-dir")


def now() -> int:
    return time.clock_gettime_ns(CLOCK) // 1000


class UsageError(Exception):
    """J-11: exit status 64."""


class Arguments:
    """J-12."""

    def __init__(self, words: list[str], needs_chat: bool = True) -> None:
        self.secret: Optional[bytes] = None
        self.name, self.port, self.chat = "", 0, ""
        self.state_dir: Optional[Path] = None
        self.peers: list[tuple[str, int]] = []
        chat: Optional[str] = None
        given: set[str] = set()
        rest = iter(words)
        for word in rest:
            option = word if word.startswith("--") else "CHAT"
            if option in given and option != "--peer":
                raise UsageError(f"{option} is given twice")
            given.add(option)
            if option == "CHAT":
                chat = word
            elif option in WITH_VALUE:
                value = next(rest, None)
                if value is None:
                    raise UsageError(f"{option} needs a value")
                self._take(option, value)
            elif option != "--no-discovery":
                raise UsageError(f"there is no option {option}")
        if not needs_chat:
            if given & {"CHAT", "--secret"}:
                raise UsageError("a daemon is told of its chats by its front ends")
            return
        if chat is None:
            raise UsageError("CHAT is missing")
        try:
            self.chat = entered_chat_name(chat)
        except TextError:
            raise UsageError("CHAT is not a chat name") from None

    def _take(self, option: str, value: str) -> None:
        if option == "--secret":
            try:
                self.secret = secret_from_text(value)
            except TextError:
                raise UsageError("--secret is not a chat secret") from None
        elif option == "--name":
            try:
                if not 1 <= len(value.encode()) <= MAX_NAME:
                    raise UsageError("--name takes 1 to 64 bytes")
            except UnicodeEncodeError:
                raise UsageError("--name is not valid UTF-8") from None
            self.name = value
        elif option == "--port":
            self.port = self._port(value)
        elif option == "--state-dir":
            self.state_dir = Path(value)
        else:
            host, colon, port = value.rpartition(":")
            if not colon or not host:
                raise UsageError("--peer is not HOST:PORT")
            if self._port(port) == 0:
                raise UsageError("--peer needs a port from 1 on")
            self.peers.append((host, self._port(port)))

    @staticmethod
    def _port(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) > 65535:
            raise UsageError(f"{text} is not a port")
        return int(text)


def identity(directory: Optional[Path]) -> KeyPair:
    """J-12: kept in the state directory, readable by its user alone (S-2); without one, new each time."""
    if directory is None:
        return KeyPair(os.urandom(32))
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / "identity"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        private = path.read_bytes()
        if len(private) != 32:
            raise OSError(f"{path} does not hold a private key") from None
        return KeyPair(private)
    private = os.urandom(32)
    with os.fdopen(file, "wb") as out:
        out.write(private)
    return KeyPair(private)


class Loop:
    """One thread: the socket, signals, the node's timers, and what it is told."""

    def __init__(self, arguments: Arguments) -> None:
        self.selector = selectors.SelectSelector()
        keys = identity(arguments.state_dir)
        peers = [self._resolve(host, port) for host, port in arguments.peers]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self.socket.setsockopt(socket.SOL_SOCKET, option, BUFFER)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)  # L-56
        if IP_PKTINFO is not None:
            self.socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        # Whom the datagram that is being taken came from, and the own address that it was sent to (L-50)
        self.answering: Optional[tuple[Address, bytes]] = None
        self.socket.bind(("0.0.0.0", arguments.port))
        self.socket.setblocking(False)
        self.net = Networks(self.socket.getsockname()[1])
        self.signalled = False
        self.node = Node(keys, arguments.name, os.urandom(8), now(), random.SystemRandom(), self.net,
                         self._send, self._emit)
        self._begin(arguments)
        for peer in peers:
            self.node.add_peer(peer)

    # What a daemon does in another way

    def _begin(self, arguments: Arguments) -> None:
        self.output, self.lines = Output(self._write), Lines()
        self.driver = Driver(self.node, self.output, arguments.state_dir is None)
        self.driver.ready(self.net.port, arguments.chat)
        self.driver.open = self.node.join(arguments.chat, arguments.secret)
        self.selector.register(0, selectors.EVENT_READ)

    def _emit(self, event: dict[str, Any]) -> None:
        self.output.emit(event)

    def _read(self, ready: set[object]) -> None:
        if 0 in ready:
            self._read_input()

    def _is_over(self) -> bool:
        return self.signalled or self.driver.wants_to_quit

    # What both do

    @staticmethod
    def _resolve(host: str, port: int) -> Address:
        return socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]  # type: ignore[return-value]

    @staticmethod
    def _write(data: bytes) -> None:
        while data:
            data = data[os.write(1, data):]

    def _send(self, address: Address, data: bytes) -> None:
        extra = []
        if IP_PKTINFO is not None and self.answering is not None and self.answering[0] == address:
            own = self.answering[1]
            extra = [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("=I4s4s", 0, own, own))]
        try:
            self.socket.sendmsg([data], extra, 0, address)
        except OSError:
            pass  # like a datagram that was lost (L-29)

    def _signal(self, *_: object) -> None:
        self.signalled = True

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signal)
        wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        self.selector.register(self.socket, selectors.EVENT_READ)
        self.selector.register(wake, selectors.EVENT_READ)
        watcher = watch_changes()
        if watcher is not None:
            self.selector.register(watcher, selectors.EVENT_READ)
        while not self._is_over():
            ready: set[object] = {key.fileobj for key, _ in self.selector.select(self._wait())}
            self.node.advance(now())
            self._read_socket()
            self._read(ready)
            if watcher in ready and watcher is not None:
                self._network(watcher)
        self._quit()

    def _wait(self) -> float:
        due = self.node.timers.next_due()
        return 0 if self.node.late or due is None else max(0, due - now()) / S

    def _read_socket(self) -> None:
        for _ in range(READS):
            try:
                data, extra, _, source = self.socket.recvmsg(2048, 256)
            except BlockingIOError:
                self.node.socket_empty()
                break
            except OSError:
                continue  # L-29: an ICMP error
            own = [value[8:12] for level, kind, value in extra if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO)]
            self.answering = (source, own[0]) if own else None
            self.node.datagram(now(), data, source)
            self.answering = None
        self.node.reads_done()

    def _read_input(self) -> None:
        data = os.read(0, 65536)
        self._commands(self.lines.feed(data) if data else self.lines.end())
        if not data:
            self.driver.wants_to_quit = True  # J-10

    def _commands(self, lines: list[Optional[bytes]]) -> None:
        for line in lines:
            if not self.driver.wants_to_quit:
                self.node.advance(now())
                self.driver.read(line)

    def _network(self, watcher: socket.socket) -> None:
        while True:
            try:
                watcher.recv(65536)
            except OSError:
                break
        if self.net.refresh():
            self.node.network_changed()

    def _quit(self) -> None:
        """J-10: the byes and their copies, then the end."""
        end = self.node.quit()
        while now() <= end:
            time.sleep(max(0, (self.node.timers.next_due() or end) - now()) / S + 0.0005)
            self.node.advance(now())


def fail(status: int, text: str) -> NoReturn:
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(status)


def main(loop_type: Type[Loop] = Loop, usage: str = USAGE, needs_chat: bool = True) -> None:
    try:
        arguments = Arguments(sys.argv[1:], needs_chat)
    except UsageError as error:
        fail(64, f"{error}. {usage}")
    try:
        loop = loop_type(arguments)
    except OSError as error:
        fail(1, str(error))
    try:
        loop.run()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
