"""Servers that are not Inkling's: one that takes over its address, and one with pages of another origin."""

import base64
import hashlib
import json
import socket
import struct
import threading

import harness

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocket:
    """The server's end of a WebSocket, for short text messages."""

    def __init__(self, connection, unread):
        self.connection = connection
        self.unread = unread

    def exactly(self, count):
        while len(self.unread) < count:
            content = self.connection.recv(1 << 16)
            if not content:
                raise ConnectionError("the page closed the connection")
            self.unread += content
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def receive(self):
        """The next text message; None when the page closes."""
        while True:
            first, second = self.exactly(2)
            length = second & 127
            if length == 126:
                length, = struct.unpack("!H", self.exactly(2))
            elif length == 127:
                length, = struct.unpack("!Q", self.exactly(8))
            mask = self.exactly(4) if second & 128 else bytes(4)
            content = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.exactly(length)))
            if first & 15 == 8:
                return None
            if first & 15 == 1:
                return content.decode()

    def send(self, text):
        content = text.encode()
        size = bytes([len(content)]) if len(content) < 126 else b"\x7e" + struct.pack("!H", len(content))
        self.connection.sendall(b"\x81" + size + content)


class Impostor(harness.Running):
    """An HTTP server that records all requests, and all messages of each WebSocket. `answer` gets the WebSocket and the
    page's first message. `pages` has the content and further headers of each path."""

    def __init__(self, host, port=0, answer=None, pages=None):
        self.answer = answer
        self.pages = pages or {}
        self.requests = []
        self.messages = []
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((host, port))
        except OSError:
            self.socket.close()
            raise
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        self.origin = f"http://{host}:{self.port}"
        self.connections = []
        super().__init__()
        threading.Thread(target=self.accept, daemon=True).start()

    def end(self):
        for connection in [self.socket, *self.connections]:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
            connection.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                content = connection.recv(1 << 16)
                if not content:
                    return
                head += content
            head, unread = head.split(b"\r\n\r\n", 1)
            first, *lines = head.decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            path = first.split(" ")[1]
            self.requests.append(first)
            if fields.get("upgrade", "").lower() == "websocket":
                self.talk(connection, unread, fields["sec-websocket-key"])
            else:
                self.deliver(connection, path)
        except OSError:
            pass  # the page closed the connection, or the test ends
        finally:
            connection.close()

    def deliver(self, connection, path):
        content, kind, *more = self.pages.get(path, ("", "text/plain"))
        status = "200 OK" if path in self.pages else "404 Not Found"
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content.encode())}",
                "Connection: close", *more]
        connection.sendall("\r\n".join([*head, "", content]).encode())

    def talk(self, connection, unread, key):
        accept = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
        connection.sendall(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())
        page = WebSocket(connection, unread)
        while (text := page.receive()) is not None:
            self.messages.append(text)
            if self.answer:
                self.answer(page, text)


def encoded(content):
    """Base64url without padding, as in the handshake."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def without_proof(page, _):
    """Answers as if the handshake were over."""
    page.send('{"web":1}')
    page.send('{"on":"ready","at":1,"user":"aaaaaaaaaaaaaaaa","name":"Alice","port":1,"version":"0","interface":1,'
              '"state":"1:1","key":"' + encoded(bytes(32)) + '"}')


def with_wrong_proof(page, _):
    page.send(json.dumps({"web": 1, "nonce": encoded(bytes(range(32))), "proof": encoded(bytes(32))}))


def with_echoed_proof(page, text):
    """Uses the page's own bytes as nonce and proof."""
    nonce = json.loads(text).get("nonce", "")
    page.send(json.dumps({"web": 1, "nonce": nonce, "proof": nonce}))
