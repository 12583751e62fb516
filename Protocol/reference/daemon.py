#!/usr/bin/env python3
"""A daemon (api.md): `python3 daemon.py`, with the arguments of J-12 but for CHAT and --secret."""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import socket
import stat
import struct
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

from driver import Lines, Output
from hub import Event, FrontEnd, Hub, Names, size_of
from limits import MAX_BACKLOG, READER_PATIENCE, WAITING_EXTRA
from names import secret_from_text, secret_to_text
from node import Arguments, Loop, main, now

USAGE = "usage: daemon.py [--name NAME] [--port PORT] [--peer HOST:PORT]... [--state-dir DIR] [--no-discovery]"
READ_SIZE = 65_536
WHYS = {
    "other-user": "this daemon is another user's", "state-in-use": "another node holds the state directory",
    "too-many-front-ends": "this daemon has 64 front ends", "too-slow": "this front end does not read",
    "stopped": "the daemon ends",
}


def last_line(code: str) -> bytes:
    """A-17."""
    event = {"on": "error", "at": round(time.time(), 6), "code": code, "text": WHYS[code]}
    return json.dumps(event).encode() + b"\n"


class QueuedOutput(Output):
    """Lines that wait until the connection takes them. While some wait, the latest state takes the place of others."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(lambda data: None)
        self.connection = connection
        self.partial = b""
        self.queue: list[tuple[Optional[tuple[str, ...]], bytes, int]] = []
        self.size = 0
        self.idle_since: Optional[int] = None

    @staticmethod
    def _key(event: Event) -> Optional[tuple[str, ...]]:
        """J-7, A-29: what replaces what."""
        kind = event["on"]
        if kind == "peer":
            return kind, event["chat"], event["user"]
        if kind == "typing":
            return kind, event["chat"]
        return (kind, event["code"], event.get("chat", "")) if kind == "notice" else None

    def emit(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        key = self._key(event)
        if key is not None:
            self.queue = [entry for entry in self.queue if entry[0] != key]
        counted = size_of(event) if event["on"] == "message" else (
            WAITING_EXTRA if event["on"] in ("delivered", "failed") else 0)
        line = json.dumps({"on": event["on"], "at": round(time.time(), 6), **event}, ensure_ascii=False)
        self.queue.append((key, line.encode() + b"\n", counted))
        self.size += counted
        self.flush()

    def flush(self) -> None:
        """Writes what the connection takes."""
        while self.partial or self.queue:
            if not self.partial:
                _, self.partial, counted = self.queue.pop(0)
                self.size -= counted
            try:
                written = self.connection.send(self.partial)
            except BlockingIOError:
                self.idle_since = now() if self.idle_since is None else self.idle_since
                return
            except OSError:
                self.partial, self.queue = b"", []
                return
            self.partial, self.idle_since = self.partial[written:], None

    def is_too_slow(self) -> bool:
        """A-29."""
        return self.size > MAX_BACKLOG or (self.idle_since is not None and now() - self.idle_since >= READER_PATIENCE)

    def end(self, code: str) -> None:
        """The last line, if it can be written, and the end."""
        self.queue = [] if code == "too-slow" else self.queue
        self.queue.append((None, last_line(code), 0))
        self.flush()
        self.connection.close()


class Connection:
    """A front end and its socket."""

    def __init__(self, hub: Hub, connection: socket.socket, port: int) -> None:
        self.socket, self.lines = connection, Lines()
        self.output = QueuedOutput(connection)
        self.front_end = FrontEnd(hub, self.output, port)


class StateLock:
    """A-14: one node for a state directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, stat.S_IRUSR | stat.S_IWUSR)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise OSError(f"another node holds {directory}") from None


def default_state() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "inkling-reference"


def socket_path(arguments: Arguments, state: Path) -> Path:
    """A-11."""
    runtime, own = os.environ.get("XDG_RUNTIME_DIR"), Path(f"/run/user/{os.geteuid()}")
    if arguments.state_dir is not None:
        return state / "socket"
    if runtime:
        return Path(runtime) / "inkling/socket"
    return (own / "inkling" if own.is_dir() and own.stat().st_uid == os.geteuid() else state) / "socket"


def listen(path: Path) -> socket.socket:
    """A-11, A-12, A-14."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    status = path.parent.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise OSError(f"others can write in {path.parent}")
    listener = socket.socket(socket.AF_UNIX)
    probe = socket.socket(socket.AF_UNIX)
    try:
        probe.connect(str(path))
        raise OSError(f"somebody listens at {path}")
    except ConnectionRefusedError:
        path.unlink()
    except FileNotFoundError:
        pass
    finally:
        probe.close()
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(64)
    return listener


def handed_over() -> Optional[socket.socket]:
    """The socket of a service manager."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    return socket.socket(fileno=3)


class Daemon(Loop):
    """The node's loop, with front ends in place of standard input."""

    def __init__(self, arguments: Arguments) -> None:
        state = arguments.state_dir or default_state()
        self._listener = handed_over()
        self._lock = self._take_state(state)
        self._path = socket_path(arguments, state)
        if self._listener is None:
            self._listener = listen(self._path)
        self._listener.setblocking(False)
        self._state, arguments.state_dir = state, state
        self._connections: dict[socket.socket, Connection] = {}
        super().__init__(arguments)

    def _take_state(self, state: Path) -> StateLock:
        """Waits for it where a service manager has the socket: it tries again for each who comes."""
        while True:
            try:
                return StateLock(state)
            except OSError:
                if self._listener is None:
                    raise
                connection, _ = self._listener.accept()
                try:
                    return StateLock(state)
                except OSError:
                    connection.sendall(last_line("state-in-use"))
                    connection.close()

    # The node's loop

    def _begin(self, arguments: Arguments) -> None:
        status = self._state.stat()
        self.hub = Hub(self.node, f"{status.st_dev}:{status.st_ino}", self._keep, Names(self._state / "names"))
        assert self._listener is not None
        self.selector.register(self._listener, selectors.EVENT_READ)
        self.hub.begin(self._kept())

    def _emit(self, event: dict[str, Any]) -> None:
        self.hub.emit(event)

    def _wait(self) -> float:
        slow = any(c.output.idle_since is not None for c in self._connections.values())
        return min(super()._wait(), 0.5) if slow else super()._wait()

    def _read(self, ready: set[object]) -> None:
        if self._listener in ready:
            self._accept()
        for connection in list(self._connections.values()):
            if connection.socket in ready:
                connection.output.flush()
                self._take(connection)
        for connection in list(self._connections.values()):
            if connection.output.is_too_slow():
                self._drop(connection, "too-slow")
            elif connection.socket in self._connections:
                waits = bool(connection.output.partial)
                self.selector.modify(connection.socket, selectors.EVENT_WRITE if waits else selectors.EVENT_READ)

    def _is_over(self) -> bool:
        return self.signalled or self.hub.wants_to_stop

    def _quit(self) -> None:
        self.hub.is_ending = True
        end = self.node.quit()
        for connection in list(self._connections.values()):
            self._drop(connection, "stopped")
        if self._path.exists():
            self._path.unlink()
        while now() <= end:
            time.sleep(0.005)
            self.node.advance(now())

    # Front ends

    def _accept(self) -> None:
        assert self._listener is not None
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid() or not self.hub.has_room():
            QueuedOutput(connection).end("other-user" if user != os.geteuid() else "too-many-front-ends")
            return
        attached = Connection(self.hub, connection, self.net.port)
        self._connections[connection] = attached
        self.hub.front_ends.append(attached.front_end)
        self.selector.register(connection, selectors.EVENT_READ)
        attached.front_end.greet()
        if self.hub.away_by_word:
            self.hub.tell_user([attached.front_end])

    def _take(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            return self._drop(connection)
        for line in connection.lines.feed(data) if data else connection.lines.end():
            if not connection.front_end.wants_to_quit and not self.hub.wants_to_stop:
                self.node.advance(now())
                connection.front_end.read(line)
        if not data or connection.front_end.wants_to_quit:
            self._drop(connection)

    def _drop(self, connection: Connection, code: Optional[str] = None) -> None:
        del self._connections[connection.socket]
        self.selector.unregister(connection.socket)
        if code is not None:
            connection.output.end(code)
        else:
            connection.output.flush()
            connection.socket.close()
        self.hub.detach(connection.front_end)

    # Kept chats

    def _kept(self) -> dict[str, Optional[bytes]]:
        try:
            chats = json.loads((self._state / "chats").read_text("utf-8"))
        except FileNotFoundError:
            return {}
        return {name: secret and secret_from_text(secret) for name, secret in chats.items()}

    def _keep(self, chats: dict[str, Optional[bytes]]) -> None:
        text = json.dumps({name: secret and secret_to_text(secret) for name, secret in chats.items()})
        # A new file has the mode 0600.
        with tempfile.NamedTemporaryFile("w", dir=self._state, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, self._state / "chats")


if __name__ == "__main__":
    main(Daemon, USAGE, needs_chat=False)
