"""Datagrams between two nodes, from the top to the bottom: the conversation of the README, and records with their acks. The
sizes come from wire.md."""

import textwrap

import svg
import texts

LEFT, RIGHT, STEP, SLANT = 290, 750, 46, 12
FORTH, BACK, LOST, NOTE = "forth", "back", "lost", "note"


def sizes():
    """The bytes of each datagram and frame of a fixed size, by its name."""
    return {
        title.split(" 0x")[0].strip(): int(texts.numbers(total)[0])
        for block in texts.layouts("wire.md")
        for title, _, total in block
    }


def sealed(*frames):
    """The bytes of a sealed datagram with these frames."""
    return texts.numbers(texts.limit("sealed datagram"))[0] - sizes()["bye"] + sum(frames)


def wrapped(text):
    return textwrap.wrap(text, 34, break_on_hyphens=False)


def sequence(name, title, names, steps):
    """Each step: which way it goes, its words, its size or None, and what it means at either end."""
    words = {FORTH: f"{names[0]} to {names[1]}: ", LOST: f"{names[0]} to {names[1]}, lost: ", BACK: f"{names[1]} to {names[0]}: "}
    said = "; ".join(words.get(way, "") + what for way, what, *_ in steps)
    picture = svg.Picture(name, title, f"A sequence of datagrams. {said}.")
    bottom = 40 + STEP * len(steps)
    for x, person in ((LEFT, names[0]), (RIGHT, names[1])):
        picture.box(x - 60, 0, 120, 28, person)
        picture.text(x, 14, person, kind="strong", owned=True)
        picture.line(x, 28, x, bottom, tip=False)
    for index, (way, what, size, at_left, at_right) in enumerate(steps):
        y = 62 + index * STEP
        label = what + (f" ({size:g} bytes)" if size else "")
        if way == NOTE:
            picture.text((LEFT + RIGHT) / 2, y, label, kind="faint")
        else:
            begin, end = (RIGHT - 4, LEFT + 4) if way == BACK else (LEFT + 4, RIGHT - 4)
            if way == LOST:
                end = begin + (end - begin) * 3 / 4
            picture.line(begin, y, end, y + SLANT)
            if way == LOST:
                picture.text(end + 12, y + SLANT, "✕", kind="strong")
            picture.text((LEFT + RIGHT) / 2, y - 11, label)
        first, second = (SLANT, 0) if way == BACK else (0, SLANT)
        if at_left:
            picture.text(LEFT - 12, y + first, wrapped(at_left), anchor="end", kind="faint")
        if at_right:
            picture.text(RIGHT + 12, y + second, wrapped(at_right), anchor="start", kind="faint")
    return picture


def conversation():
    size = sizes()
    beat, typing, record, ack = size["heartbeat"], size["typing"], size["record"], size["ack"]
    steps = [
        (NOTE, "multicast DNS: instance names, sealed keys, ports", None, "knows Bob's key (D-4)", "knows Alice's key (D-4)"),
        (FORTH, "initiation: run, epoch", size["initiation"], "attempt (L-4)", "check fits, opens (L-8)"),
        (BACK, "response: index, run, epoch", size["response"], "link made, down (L-67)", "session unconfirmed (L-12)"),
        (FORTH, "unheard heartbeat, ping a", sealed(beat, size["ping"]), None, "link made, down (L-67)"),
        (BACK, "unheard heartbeat, ping b", sealed(beat, size["ping"]), None, None),
        (BACK, "unheard heartbeat, pong a", sealed(beat, size["pong"]), "link up (L-80)", None),
        (FORTH, "unheard heartbeat, pong b", sealed(beat, size["pong"]), None, "link up (L-80)"),
        (FORTH, "heartbeat; then record 0, name: Alice", None, "(L-82)", "Alice is online (L-85)"),
        (BACK, "heartbeat; then ack 1, record 0, name: Bob", None, "Bob is online (L-85)", "(L-82)"),
        (FORTH, "ack 1", sealed(ack), None, None),
        (FORTH, "typing, again after 30 and 120 ms", sealed(typing), "Alice types (T-6)", "Alice is typing (T-14)"),
        (FORTH, "heartbeat: typing, each 500 ms", sealed(beat), "(T-8)", None),
        (FORTH, "not typing; record 1, text: Hello", sealed(typing, record, 5), "Alice sends (M-9)", "typing ends, then Hello shows"),
        (BACK, "ack 2", sealed(ack), "delivered (M-17)", None),
        (LOST, "heartbeat, each 0.75 to 1 s", sealed(beat), "a cable is pulled", "1.75 s later: suspect (L-26)"),
        (LOST, "ten pings, handshakes", None, "3.0 s: Bob is offline (L-27)", "3.0 s: Alice is offline (L-27)"),
        (NOTE, "Alice writes: Back? It waits (M-29)", None, None, None),
        (FORTH, "initiation: the same epochs", size["initiation"], "the cable is in again", None),
        (BACK, "response, then pings and pongs", size["response"], "link up: same state (L-68)", "link up: same state (L-68)"),
        (FORTH, "not typing; record 2, text: Back?", sealed(typing, record, 5), None, "Back? shows, once"),
        (BACK, "ack 3", sealed(ack), "delivered", None),
        (FORTH, "last will: bye 3", sealed(size["bye"]), "Alice's node is killed (L-33)", "Alice is offline at once (L-34)"),
    ]
    return sequence("conversation", "A conversation", ("Alice", "Bob"), steps)


def records():
    size = sizes()
    ack = sealed(size["ack"])
    steps = [
        (FORTH, "record 4", None, "the window is 4 (M-34)", None),
        (LOST, "record 5", None, None, None),
        (FORTH, "record 6", None, None, "held (M-16)"),
        (FORTH, "record 7", None, None, "held"),
        (BACK, "ack 5", ack, "window 5", None),
        (BACK, "ack 5, bitmap 1: 6 is held", ack, "6 needs no repeat (M-31)", None),
        (BACK, "ack 5, bitmap 11: 6, 7 are held", ack, None, None),
        (FORTH, "record 8", None, None, "held"),
        (BACK, "ack 5, bitmap 111", ack, "three later ones are named (M-12)", None),
        (FORTH, "record 5 again", None, "the window halves (M-35)", "5 to 8 are delivered (M-2)"),
        (BACK, "ack 9", ack, "nothing is in flight", None),
    ]
    return sequence("records", "Records and acks", ("sender", "receiver"), steps)
