#!/usr/bin/env python3
"""A driven node of version 2: `python3 main.py CHAT`, with the arguments of J-12."""

import argparse
import json
import os
import random
import selectors
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, Optional

from driver import Driver, KeptChats, Lines
from keys import chat_name, secret_from_text
from limits import MAX_NAME, REKEY, S
from moves import Moves
from net import HostNetwork, watch_changes
from node import Node
from noise import KeyPair
from session import Address

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)       # T-18
READS, BUFFER = 64, 4 << 20
IP_PKTINFO, IP_RECVTTL, IP_TTL = 8, 12, 2                           # Linux


def now() -> int:
    return time.clock_gettime_ns(CLOCK) // 1_000


class Parser(argparse.ArgumentParser):
    """J-11: exit status 64."""

    def error(self, message: str) -> NoReturn:
        fail(64, f"{message}. {' '.join(self.format_usage().split())}")


def read_arguments(words: list[str]) -> argparse.Namespace:
    """J-12, and `--rekey`, which shortens L-37 for tests."""
    parser = Parser(prog="main.py", allow_abbrev=False, add_help=False)
    parser.add_argument("chat", type=chat_name, metavar="CHAT")
    parser.add_argument("--secret", type=secret_from_text)
    parser.add_argument("--name", type=name_of_user)
    parser.add_argument("--port", type=port, default=0)
    parser.add_argument("--peer", type=peer, action="append", default=[], metavar="HOST:PORT", dest="peers")
    parser.add_argument("--state-dir", type=Path)
    parser.add_argument("--no-discovery", action="store_true")
    parser.add_argument("--rekey", type=lambda text: int(text) * S, default=REKEY, metavar="SECONDS")
    return parser.parse_args(words)


def name_of_user(text: str) -> str:
    if not 1 <= len(text.encode()) <= MAX_NAME:
        raise ValueError(text)
    return text


def port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise ValueError(text)
    return int(text)


def peer(text: str) -> tuple[str, int]:
    host, _, number = text.rpartition(":")
    if not host or port(number) == 0:
        raise ValueError(text)
    return host, port(number)


def identity(directory: Optional[Path]) -> KeyPair:
    """S-2: kept in the state directory; without one, new each time."""
    private = os.urandom(32)
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / "identity"
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(private)
        except FileExistsError:
            private = path.read_bytes()
            if len(private) != 32:
                raise OSError(f"{path} does not hold a private key") from None
    return KeyPair(private)


def write_whole(path: Path, document: Any) -> bool:
    """Replaces a file completely or not at all."""
    new = path.with_suffix(".new")
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
        return True
    except OSError:
        return False


def kept_chats(directory: Optional[Path]) -> KeptChats:
    """The secret chats in the state directory; none without one. A file that can't be read stays as it is."""
    if directory is None:
        return KeptChats()
    path = directory / "kept.json"
    try:
        return KeptChats(json.loads(path.read_text()) if path.exists() else [], lambda chats: write_whole(path, chats))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"main.py: {path}: {error}", file=sys.stderr)
        return KeptChats(write=lambda _: False)


class MovesFile:
    """What the node keeps of moves, in the state directory. A file that it can't read gets another name."""

    def __init__(self, directory: Optional[Path]) -> None:
        self._path = None if directory is None else directory / "moves.json"

    def restore(self, node: Node) -> None:
        moves, departures = Moves(self._write), []
        try:
            if self._path is not None and self._path.exists():
                departures = moves.read(json.loads(self._path.read_text()))
        except (OSError, ValueError) as error:
            print(f"main.py: {self._path}: {error}", file=sys.stderr)
            self._put_aside()
        node.moving.moves = moves
        node.moving.restore(departures, time.time())

    def _put_aside(self) -> None:
        try:
            assert self._path is not None
            self._path.rename(self._path.with_suffix(".unreadable"))
        except OSError:
            pass

    def _write(self, document: dict[str, Any]) -> bool:
        return self._path is None or write_whole(self._path, document)


class Loop:
    """One thread: the socket, signals, the node's deadlines, and its user's lines."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        keys = identity(arguments.state_dir)
        peers: list[Address] = [socket.getaddrinfo(*peer, socket.AF_INET, socket.SOCK_DGRAM)[0][4]  # type: ignore
                                for peer in arguments.peers]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self._socket.setsockopt(socket.SOL_SOCKET, option, BUFFER)
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)          # L-56
        if sys.platform == "linux":
            self._socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
            self._socket.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        self._socket.bind(("0.0.0.0", arguments.port))
        self._socket.setblocking(False)
        self._net = HostNetwork(self._socket.getsockname()[1])
        self._node = Node(keys, arguments.name or "", now(), random.SystemRandom(), self._net, arguments.rekey)
        self._node.peers = peers
        MovesFile(arguments.state_dir).restore(self._node)
        self._driver = Driver(self._node, self._net.port, arguments.state_dir is None, self._write,
                              kept_chats(arguments.state_dir))
        self._driver.ready(arguments.chat)
        self._driver.current = self._driver.join(arguments.chat, arguments.secret)
        self._lines, self._is_signalled = Lines(), False

    @staticmethod
    def _write(data: bytes) -> None:
        while data:
            data = data[os.write(1, data):]

    def _signal(self, *_: object) -> None:
        self._is_signalled = True

    def run(self) -> None:
        selector = selectors.DefaultSelector()
        wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signal)
        watcher = watch_changes()
        for readable in (self._socket, wake, 0, *([watcher] if watcher is not None else [])):
            try:
                selector.register(readable, selectors.EVENT_READ)
            except PermissionError:                                             # a file as standard input
                self._read_lines()
        self._flush()
        while not self._is_signalled and not self._driver.wants_to_quit:
            wait = 0 if self._node.context.is_late else max(0, self._node.next_deadline() - now()) / S
            ready = {key.fileobj for key, _ in selector.select(wait)}
            self._node.advance(now())
            self._read_socket()
            if 0 in ready:
                self._read_lines()
            if watcher is not None and watcher in ready:
                self._read_changes(watcher)
            self._flush()
        self._quit()

    def _read_socket(self) -> None:
        for _ in range(READS):
            try:
                data, extra, _, source = self._socket.recvmsg(2_048, 256)
            except BlockingIOError:
                return self._node.socket_empty(now())
            except OSError:
                continue                                                        # an ICMP error (L-29)
            facts: dict[int, Any] = {kind: value for level, kind, value in extra if level == socket.IPPROTO_IP}
            via = facts[IP_PKTINFO][8:12] if IP_PKTINFO in facts else None
            hop_limit = int.from_bytes(facts[IP_TTL][:4], sys.byteorder) if IP_TTL in facts else None
            self._node.datagram(now(), data, source, via, hop_limit)
            self._flush()
        self._node.context.pacer.socket_read()

    def _read_lines(self) -> None:
        data = os.read(0, 65_536)
        for line in self._lines.feed(data) if data else self._lines.end():
            if not self._driver.wants_to_quit:
                self._node.advance(now())
                self._driver.read(line)
                self._flush()
        if not data:
            self._driver.wants_to_quit = True                                   # J-10

    def _read_changes(self, watcher: socket.socket) -> None:
        try:
            while watcher.recv(65_536):
                pass
        except OSError:
            pass
        if self._net.refresh():
            self._node.network_changed()

    def _flush(self) -> None:
        """L-50: an answer leaves from the address that the datagram was sent to."""
        for output in self._node.take_datagrams():
            extra = []
            if output.via is not None:
                extra = [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("=I4s4s", 0, output.via, output.via))]
            try:
                self._socket.sendmsg([output.data], extra, 0, output.address)
            except OSError:
                pass                                                            # as if it were lost
        self._driver.flush()

    def _quit(self) -> None:
        """J-10: the byes and their copies, then the end."""
        self._node.advance(now())
        end = self._node.quit()
        while now() <= end:
            self._flush()
            time.sleep(0.005)
            self._node.advance(now())
        self._node.advance(now())
        self._flush()


def fail(status: int, text: str) -> NoReturn:
    print(f"main.py: {text}", file=sys.stderr)
    sys.exit(status)


def main() -> None:
    arguments = read_arguments(sys.argv[1:])
    try:
        loop = Loop(arguments)
    except OSError as error:
        fail(1, str(error))
    try:
        loop.run()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
