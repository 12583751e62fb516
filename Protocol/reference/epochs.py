"""The decisions about whose state it is (L-58 to L-69, L-95); a link has `own_epoch`, `peer_epoch`, `is_down`."""

from typing import Any, Optional, Sequence

from limits import LAST_EPOCH

MAKE, JOIN, REPLACE, DROP, FORGET, HANDSHAKE = "make", "join", "replace", "drop", "forget", "handshake"


class EpochsUsedUp(Exception):
    """L-60: the chat takes a new run, as at a start."""


class EpochCounter:
    """The epoch counter of a chat, and the epochs of its keys (L-59, L-60)."""

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._epochs: dict[bytes, int] = {}

    def of(self, key: bytes) -> int:
        return self._epochs.setdefault(key, self.value)

    def advance(self, key: bytes) -> None:
        """A link with the key was forgotten."""
        if self.value == LAST_EPOCH:
            raise EpochsUsedUp
        self.value += 1
        self._epochs[key] = self.value

    def drop(self, key: bytes) -> None:
        """The key has no link, handshake or session any more."""
        self._epochs.pop(key, None)


def epoch_to_answer(link: Optional[Any], key_epoch: int, epoch: int) -> Optional[int]:
    """Returns the epoch for the response to an initiation of the link's run, or None to drop it (L-62, L-63)."""
    if link is None or epoch > link.peer_epoch:
        return key_epoch
    return link.own_epoch if epoch == link.peer_epoch else None


def epoch_to_name(link: Optional[Any], down_links: Sequence[Any], key_epoch: int) -> int:
    """Returns the epoch of an initiation for a link or, without one, of an opening (L-64); newest links first."""
    if link is not None:
        return link.own_epoch
    return down_links[0].own_epoch if down_links else key_epoch


def decide_on_joining(link: Optional[Any], own: int, peer: int) -> str:
    """Decides on a session with a pair of epochs whose run is the link's (L-68)."""
    if link is None:
        return MAKE
    if own < link.own_epoch or peer < link.peer_epoch:
        return DROP
    return JOIN if (own, peer) == (link.own_epoch, link.peer_epoch) else REPLACE


def decide_on_response(link: Optional[Any], key_epoch: int, named: int, peer: int,
                       caused_handshake: bool) -> tuple[str, int]:
    """Decides on a response to an initiation that named an epoch (L-65, L-66, L-68, L-95).

    The number is the epoch that a handshake names.
    """
    present = link.own_epoch if link is not None else key_epoch
    if named != present:
        return (DROP if caused_handshake else HANDSHAKE), present
    if link is not None and link.is_down and peer < link.peer_epoch:
        return FORGET, 0
    return decide_on_joining(link, named, peer), 0
