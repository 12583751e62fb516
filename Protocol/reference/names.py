"""Names and keys as text, and what is derived from them (W-2 to W-11)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import unicodedata
from typing import Optional

from limits import MAX_CHAT_NAME

FIELD_PRIME = 2**255 - 19
BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
BASE32 = re.compile(r"[a-z2-7]*")
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
NO_CATEGORY_OF_NAMES = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
# Format characters that Unicode got after version 14, which Python 3.11 knows.
LATER_CF = range(0x13439, 0x13440)


class TextError(ValueError):
    """A text that is not what it should be; `code` is the word that the vectors use."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def chat_name(text: str) -> str:
    """W-2: a chat's name, brought into NFC; refuses any other."""
    name = unicodedata.normalize("NFC", text)
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise TextError("surrogate") from None
    if not 1 <= size <= MAX_CHAT_NAME:
        raise TextError("length")
    for character in name:
        hidden = unicodedata.category(character) in NO_CATEGORY_OF_NAMES or ord(character) in LATER_CF
        if hidden and character != " ":
            raise TextError("character")
    return name


def entered_chat_name(text: str) -> str:
    """W-11: where people may enter a name, an invite is not taken for one."""
    if text[:8].lower() == "inkling:":
        raise TextError("invite")
    return chat_name(text)


def key_is_valid(key: bytes) -> bool:
    """W-3: canonical, and not zero."""
    return 0 < int.from_bytes(key, "little") < FIELD_PRIME


def user_id(key: bytes) -> str:
    """W-5."""
    return base64.b32encode(hashlib.sha256(key).digest()[:10]).decode().lower()


def key_to_text(key: bytes) -> str:
    """W-6."""
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


def key_from_text(text: str) -> bytes:
    """W-6 and W-3."""
    if len(text) != 43:
        raise TextError("length")
    if not BASE64URL.fullmatch(text):
        raise TextError("alphabet")
    key = base64.urlsafe_b64decode(text + "=")
    if key_to_text(key) != text:
        raise TextError("spareBits")
    if not key_is_valid(key):
        raise TextError("key")
    return key


def secret_to_text(secret: bytes) -> str:
    """W-7."""
    return base64.b32encode(secret).decode().lower().rstrip("=")


def secret_from_text(text: str) -> bytes:
    """W-7: nothing but 26 characters of lower-case base32, so never a passphrase."""
    if len(text) != 26:
        raise TextError("length")
    if not BASE32.fullmatch(text):
        raise TextError("alphabet")
    secret = base64.b32decode(text.upper() + "======")
    if secret_to_text(secret) != text:
        raise TextError("spareBits")
    return secret


def labelled_hash(label: str, data: bytes) -> bytes:
    return hashlib.sha256(label.encode() + b"\0" + data).digest()


def kdf(secret: bytes, salt: bytes, label: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) with 32 bytes of output; its info is the label alone."""
    extracted = hmac.digest(salt or bytes(32), secret, "sha256")
    return hmac.digest(extracted, label.encode() + b"\1", "sha256")


def chat_keys(name: str, secret: Optional[bytes]) -> tuple[bytes, bytes]:
    """W-8, W-9: the tag and the pre-shared key of a chat; `secret` is None for an open one."""
    if secret is None:
        data = name.encode()
        return labelled_hash("inkling/1 open chat tag", data)[:8], labelled_hash("inkling/1 open chat psk", data)
    return labelled_hash("inkling/1 secret chat tag", secret)[:8], kdf(secret, b"", "inkling/1 secret chat psk")


def key_mask(secret: bytes, nonce: bytes) -> bytes:
    return kdf(secret, nonce, "inkling/1 key mask")


def masked(key: bytes, secret: Optional[bytes], nonce: bytes) -> bytes:
    """W-10: a key as published, and back again; in an open chat it stays as it is."""
    if secret is None:
        return key
    return bytes(a ^ b for a, b in zip(key, key_mask(secret, nonce)))


def invite(name: str, secret: bytes) -> str:
    """W-11."""
    escaped = "".join(chr(b) if b in UNRESERVED else f"%{b:02X}" for b in name.encode())
    return f"inkling:{escaped}#{secret_to_text(secret)}"


def read_invite(text: str) -> tuple[str, bytes]:
    """W-11: the name and the secret of an invite."""
    if text[:8].lower() != "inkling:":
        raise TextError("prefix")
    escaped, hash_sign, secret = text[8:].partition("#")
    if not hash_sign:
        raise TextError("secret")
    if not re.fullmatch(r"(?:[^%]|%[0-9A-Fa-f]{2})*", escaped, re.DOTALL):
        raise TextError("escape")
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), escaped.encode())
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise TextError("utf-8") from None
    return chat_name(name), secret_from_text(secret)
