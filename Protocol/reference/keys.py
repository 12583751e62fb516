"""Names, keys and secrets as text, and all that is derived from them (W-2 to W-11, W-33 to W-37, D-3, D-5, D-6, D-21).

Python 3.11 knows Unicode 14.0, the texts mean 17.0: format characters assigned since are listed in LATER_FORMATS.
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from typing import Optional

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from limits import MAX_CHAT_NAME, MAX_NAME, MAX_TXT_READ
from wire import decode_utf8

FIELD_PRIME = 2**255 - 19
BASE32, BASE64URL = re.compile("[a-z2-7]*"), re.compile("[A-Za-z0-9_-]*")
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
REFUSED_CATEGORIES = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
LATER_FORMATS = range(0x13439, 0x13440)
SCHEME = "inkling:"


class TextError(ValueError):
    """A text that is refused, with the word of the vectors."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def base32(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str, characters: int, is_base32: bool) -> bytes:
    if len(text) != characters:
        raise TextError("length")
    if not (BASE32 if is_base32 else BASE64URL).fullmatch(text):
        raise TextError("alphabet")
    padded = text + "=" * (-len(text) % (8 if is_base32 else 4))
    data = base64.b32decode(padded.upper()) if is_base32 else base64.urlsafe_b64decode(padded)
    if (base32(data) if is_base32 else base64url(data)) != text:
        raise TextError("spareBits")
    return data


def chat_name(text: str) -> str:
    """Returns the name in NFC, or refuses it (W-2, W-35)."""
    name = unicodedata.normalize("NFC", text)
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise TextError("surrogate") from None
    if not 1 <= size <= MAX_CHAT_NAME:
        raise TextError("length")
    for character in name:
        hidden = unicodedata.category(character) in REFUSED_CATEGORIES or ord(character) in LATER_FORMATS
        if hidden and character != " ":
            raise TextError("character")
    if name[:len(SCHEME)].lower() == SCHEME:
        raise TextError("invite")
    return name


def display_name(body: bytes) -> str:
    """M-25: of a name record."""
    return (decode_utf8(body) or "") if len(body) <= MAX_NAME else ""


def key_is_valid(key: bytes) -> bool:
    """W-3."""
    return 0 < int.from_bytes(key, "little") < FIELD_PRIME


def user_id(key: bytes) -> str:
    """W-5."""
    return base32(hashlib.sha256(key).digest()[:10])


def key_from_text(text: str) -> bytes:
    """W-6."""
    key = _decoded(text, 43, is_base32=False)
    if not key_is_valid(key):
        raise TextError("key")
    return key


def secret_from_text(text: str) -> bytes:
    """W-7."""
    return _decoded(text, 26, is_base32=True)


def fingerprint(one: bytes, other: bytes) -> str:
    """The 60 digits that two people compare."""
    pair = b"inkling fingerprint 1 pair" + b"".join(sorted((one, other)))
    return f"{int.from_bytes(hashlib.sha256(pair).digest(), 'big') % 10**60:060}"


def talk_secret(shared: bytes, one: bytes, other: bytes) -> bytes:
    """W-41: of the X25519 result of two keys, which is not zero (W-4)."""
    return kdf(shared, b"".join(sorted((one, other))), "inkling/2 talk")[:16]


def write_invite(name: str, secret: bytes, owner: bytes = b"") -> str:
    """W-11."""
    escaped = "".join(chr(b) if b in UNRESERVED else f"%{b:02X}" for b in name.encode())
    return f"{SCHEME}{escaped}#{base32(secret)}" + (f"@{base64url(owner)}" if owner else "")


def read_invite(text: str) -> tuple[str, bytes, bytes]:
    """Returns name, secret and owner's key, which is empty without an owner (W-34)."""
    if text[:len(SCHEME)].lower() != SCHEME:
        raise TextError("scheme")
    escaped, hash_sign, rest = text[len(SCHEME):].partition("#")
    secret, at_sign, owner = rest.partition("@")
    if not hash_sign or not re.fullmatch("(?:[^%]|%[0-9A-Fa-f]{2})*", escaped, re.DOTALL):
        raise TextError("form")
    try:
        raw = escaped.encode()
    except UnicodeEncodeError:
        raise TextError("form") from None
    name = decode_utf8(re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), raw))
    if name is None:
        raise TextError("name")
    return chat_name(name), secret_from_text(secret), key_from_text(owner) if at_sign else b""


def read_successor(body: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """Returns seed, owner's key and removed keys (M-89)."""
    if len(body) < 50:
        raise TextError("length")
    count = int.from_bytes(body[48:50], "big")
    if count > 32:
        raise TextError("count")
    if len(body) != 50 + 32 * count:
        raise TextError("length")
    owner, removed = body[16:48], [body[at:at + 32] for at in range(50, len(body), 32)]
    if not all(map(key_is_valid, [owner, *removed])):
        raise TextError("key")
    if owner in removed:
        raise TextError("ownerRemoved")
    return body[:16], owner, removed


def kdf(key: bytes, salt: bytes, label: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) with the label as info and 32 bytes of output."""
    extracted = hmac.digest(salt or bytes(32), key, "sha256")
    return hmac.digest(extracted, label.encode() + b"\1", "sha256")


def check(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")[:8]


class ChatKeys:
    """The keys of a chat; a chat without a secret is open (W-8, W-9, W-36)."""

    def __init__(self, name: str, secret: Optional[bytes] = None, owner: bytes = b"") -> None:
        if secret is None:
            self.chat_key = hashlib.sha256(b"inkling/2 open chat\0" + name.encode()).digest()
        else:
            self.chat_key = kdf(secret, owner, "inkling/2 secret chat")
        labels = ("psk", "prologue", "seal", "check initiation", "check ask", "check name")
        self.psk, self.prologue_key, self.seal_key, self.initiation_key, self.ask_key, self.name_key = (
            kdf(self.chat_key, b"", f"inkling/2 {label}") for label in labels)

    def successor_secret(self, body: bytes) -> bytes:
        """W-42: the secret of the chat that follows this one by a successor with this body."""
        return kdf(self.chat_key, body, "inkling/2 successor")[:16]

    def prologue(self, index: int) -> bytes:
        """W-17."""
        return b"inkling/2\0\x21" + index.to_bytes(4, "big") + self.prologue_key

    def initiation_check(self, index: int, noise: bytes) -> bytes:
        return check(self.initiation_key, b"\x21" + index.to_bytes(4, "big") + noise)

    def ask_check(self, token: bytes) -> bytes:
        return check(self.ask_key, token)

    def _cipher(self, nonce: bytes, token: Optional[bytes]) -> ChaCha20Poly1305:
        use = "instance" if token is None else "tell"
        return ChaCha20Poly1305(kdf(self.seal_key, (token or b"") + nonce, f"inkling/2 {use}"))

    def seal_static(self, key: bytes, nonce: bytes, token: Optional[bytes] = None) -> bytes:
        """Returns an instance key, or with a token a tell key (W-10)."""
        return self._cipher(nonce, token).encrypt(bytes(12), key, b"")

    def open_static(self, sealed: bytes, nonce: bytes, token: Optional[bytes] = None) -> bytes:
        try:
            key = self._cipher(nonce, token).decrypt(bytes(12), sealed, b"")
        except InvalidTag:
            raise TextError("seal") from None
        if not key_is_valid(key):
            raise TextError("key")                                  # W-3
        return key

    def instance_name(self, nonce: bytes) -> str:
        """D-2."""
        return base32(nonce + check(self.name_key, nonce))

    def read_instance_name(self, text: str) -> bytes:
        """Returns the nonce of a name of this chat (D-21)."""
        data = _decoded(re.sub("[A-Z]", lambda match: match[0].lower(), text[:26]), 26, is_base32=True)
        if not hmac.compare_digest(check(self.name_key, data[:8]), data[8:]):
            raise TextError("check")
        return data[:8]

    def service_record(self, key: bytes, nonce: bytes) -> bytes:
        """The TXT record of an instance (D-3)."""
        strings = (b"txtvers=2", b"k=" + base64url(self.seal_static(key, nonce)).encode())
        return b"".join(bytes([len(string)]) + string for string in strings)

    def read_service_record(self, data: bytes, nonce: bytes) -> bytes:
        """Returns the static key of an instance (D-5, D-6)."""
        values = _txt_values(data)
        if values.get(b"txtvers") != b"2":
            raise TextError("version")
        text = decode_utf8(values.get(b"k", b""))
        try:
            sealed = _decoded(text or "", 64, is_base32=False)
        except TextError:
            raise TextError("text") from None
        return self.open_static(sealed, nonce)


def _txt_values(data: bytes) -> dict[bytes, bytes]:
    """The first value of each key, in lower case (D-6)."""
    if len(data) > MAX_TXT_READ:
        raise TextError("length")
    values: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        string = data[at + 1:at + 1 + data[at]]
        if len(string) < data[at]:
            raise TextError("format")
        name, _, value = string.partition(b"=")
        if name:
            values.setdefault(name.lower(), value)
        at += 1 + len(string)
    return values
