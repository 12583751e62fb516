"""Models of the sender's and the receiver's typing rules, and the timelines run through them."""

import unicodedata

IDLE_STOP, EXPIRY, START_INTERVAL, COPIES = 2_900, 3_000, 500, (30, 120)
WINDOW, STARTS_PER_SECOND = 1_024, 10
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]


def visible(scalar):
    return (
        not scalar.isspace()
        and unicodedata.category(scalar) not in ("Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp")
        and not any(low <= ord(scalar) <= high for low, high in IGNORABLE)
    )


def counts_as_typing(text):
    return not text.startswith("/") and any(visible(scalar) for scalar in text)


class Sender:
    """What one node announces to one peer in one chat. Times in milliseconds."""

    def __init__(self):
        self.text = ""
        self.idle_at = None       # when composing ends by itself; None while not composing
        self.start_at = None      # when the start that is due may be announced
        self.announced = False
        self.last_start = None
        self.copies = []
        self.frames = []

    def edge(self, at, typing, **extra):
        self.announced = typing
        self.copies = [at + delay for delay in COPIES]
        self.frames.append({"at": at, "frame": "typing", "typing": typing, "copy": False, **extra})

    def start(self, at):
        self.start_at, self.last_start = None, at
        self.edge(at, True)

    def stop(self, at, **extra):
        self.idle_at = self.start_at = None
        if self.announced:
            self.edge(at, False, **extra)
        elif extra:
            self.frames.append({"at": at, "frame": "typing", "typing": False, "copy": False, **extra})

    def run(self, now):
        while True:
            due = [at for at in (self.idle_at, self.start_at, *self.copies[:1]) if at is not None]
            if not due or min(due) > now:
                return
            at = min(due)
            if at == self.idle_at:
                self.stop(at)
            elif at == self.start_at:
                self.start(at)
            else:
                self.copies.pop(0)
                self.frames.append({"at": at, "frame": "typing", "typing": self.announced, "copy": True})

    def compose(self, at, text):
        if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", self.text):
            return
        self.text = text
        if not counts_as_typing(text):
            return self.stop(at)
        self.idle_at = at + IDLE_STOP
        if self.announced or self.start_at is not None:
            return
        earliest = at if self.last_start is None else max(at, self.last_start + START_INTERVAL)
        if earliest == at:
            self.start(at)
        else:
            self.start_at = earliest

    def input(self, entry):
        at = entry["at"]
        self.run(at)
        if entry["do"] == "compose":
            self.compose(at, entry["text"])
        elif entry["do"] == "send":
            self.text = ""
            self.stop(at, **{"with": "message"})
        else:
            self.stop(at)


class Receiver:
    """Whether one node shows one peer as typing, over one session."""

    def __init__(self):
        self.shown, self.expires_at, self.gone = False, None, False
        self.seen, self.highest, self.last_status = set(), -1, -1
        self.tokens, self.tokens_at = float(STARTS_PER_SECOND), 0
        self.changes = []

    def show(self, at, shown):
        if shown != self.shown:
            self.shown = shown
            self.changes.append({"at": at, "shown": shown})

    def run(self, now):
        if self.expires_at is not None and self.expires_at <= now:
            at, self.expires_at = self.expires_at, None
            self.show(at, False)

    def end(self, at):
        self.gone, self.expires_at = True, None
        self.show(at, False)

    def status(self, at, counter, typing):
        if counter in self.seen or self.highest - counter >= WINDOW:
            return
        self.seen.add(counter)
        self.highest = max(self.highest, counter)
        if counter <= self.last_status:
            return
        self.last_status = counter
        if not typing:
            self.expires_at = None
            return self.show(at, False)
        if not self.shown:
            refill = (at - self.tokens_at) * STARTS_PER_SECOND / 1_000
            self.tokens, self.tokens_at = min(STARTS_PER_SECOND, self.tokens + refill), at
            if self.tokens < 1:
                return
            self.tokens -= 1
        self.expires_at = at + EXPIRY
        self.show(at, True)

    def input(self, entry):
        at = entry["at"]
        self.run(at)
        if self.gone:
            return
        if entry.get("bye") or entry.get("block"):
            self.end(at)
        else:
            self.status(at, entry["counter"], entry["typing"])


def compose(at, text):
    return {"at": at, "do": "compose", "text": text}


def send(at):
    return {"at": at, "do": "send"}


def away(at):
    return {"at": at, "do": "away"}


def got(at, counter, typing):
    return {"at": at, "counter": counter, "typing": typing}


SENDER = [
    ("the first visible character is announced at once, with two copies, and ends 2.9 s after the last edit",
     ["T-3", "T-6", "T-8", "T-9"], 4_000, [compose(0, "h")], [0, 30, 120, 2_900, 2_930, 3_020]),
    ("further edits send no typing frame and put off the end", ["T-8", "T-9"], 6_000,
     [compose(0, "h"), compose(400, "he"), compose(1_000, "hel"), compose(2_000, "hell")],
     [0, 30, 120, 4_900, 4_930, 5_020]),
    ("composing the text that is there already is no edit", ["T-4", "T-9"], 4_000,
     [compose(0, "h"), compose(2_000, "h")], [0, 30, 120, 2_900, 2_930, 3_020]),
    ("composing canonically equivalent text is no edit", ["T-4", "T-9"], 4_000,
     [compose(0, "caf\u00e9"), compose(2_000, "cafe\u0301")], [0, 30, 120, 2_900, 2_930, 3_020]),
    ("an edit 1 ms before the end keeps typing, and one after it begins anew", ["T-9"], 10_000,
     [compose(0, "h"), compose(2_899, "he"), compose(6_000, "hel")],
     [0, 30, 120, 5_799, 5_829, 5_919, 6_000, 6_030, 6_120, 8_900, 8_930, 9_020]),
    ("blanks alone never start", ["T-3"], 2_000,
     [compose(0, " "), compose(100, " \t"), compose(200, "\u00a0\u3000\n")], []),
    ("characters that show nothing never start", ["T-3"], 2_000,
     [compose(0, "\u200b"), compose(100, "\u200b\u00ad"), compose(200, "\u3164"), compose(300, "\ufeff\u2060")], []),
    ("a visible character after blanks starts", ["T-3"], 2_000, [compose(0, "  "), compose(700, "  x")],
     [700, 730, 820]),
    ("a command never starts", ["T-3"], 2_000, [compose(0, "/"), compose(100, "/he"), compose(200, "/help me")], []),
    ("a slash after a blank is no command", ["T-3"], 1_000, [compose(0, " /")], [0, 30, 120]),
    ("a command that is made a message starts", ["T-3"], 1_500, [compose(0, "/x"), compose(600, "x")],
     [600, 630, 720]),
    ("a message that is made a command stops", ["T-3", "T-10"], 1_500, [compose(0, "x"), compose(600, "/x")],
     [0, 30, 120, 600, 630, 720]),
    ("empty text stops at once", ["T-10"], 1_500, [compose(0, "h"), compose(600, "")], [0, 30, 120, 600, 630, 720]),
    ("blank text stops at once", ["T-10"], 1_500, [compose(0, "h"), compose(600, "  ")], [0, 30, 120, 600, 630, 720]),
    ("a stop cancels the copies of the start, and its own carry the stop", ["T-6", "T-7"], 1_000,
     [compose(0, "h"), compose(50, "")], [0, 30, 50, 80, 170]),
    ("a restart within 500 ms of the start is announced when those are over", ["T-5", "T-6"], 4_000,
     [compose(0, "h"), compose(100, ""), compose(200, "a")],
     [0, 30, 100, 130, 220, 500, 530, 620, 3_100, 3_130, 3_220]),
    ("a restart that is over before it was due is never announced", ["T-5"], 2_000,
     [compose(0, "h"), compose(100, ""), compose(200, "a"), compose(300, "")], [0, 30, 100, 130, 220]),
    ("copies of the stop before a start that is due still say stopped", ["T-5", "T-7"], 1_000,
     [compose(0, "h"), compose(390, ""), compose(400, "a")], [0, 30, 120, 390, 420, 500, 530, 620]),
    ("a restart 500 ms after the start is announced at once", ["T-5"], 1_000,
     [compose(0, "h"), compose(200, ""), compose(500, "a")], [0, 30, 120, 200, 230, 320, 500, 530, 620]),
    ("twenty-four edits in two seconds make at most two starts a second", ["T-5"], 2_800,
     [compose(i * 80, "x" if i % 2 == 0 else "") for i in range(24)],
     [0, 30, 80, 110, 200, 500, 530, 560, 590, 680, 1_000, 1_030, 1_040, 1_070, 1_160, 1_500, 1_520, 1_550, 1_640]),
    ("sending ends typing in the datagram of the message", ["T-10", "M-9"], 2_000,
     [compose(0, "h"), compose(300, "hi"), send(600)], [0, 30, 120, 600, 630, 720]),
    ("sending without typing carries the state, and makes no copies", ["M-9"], 1_000, [send(100)], [100]),
    ("sending before a start that is due drops the start", ["T-5", "T-10"], 2_000,
     [compose(0, "h"), send(100), compose(200, "a"), send(300)], [0, 30, 100, 130, 220, 300]),
    ("typing goes on after sending", ["T-3", "T-10"], 2_000, [compose(0, "h"), send(600), compose(900, "n")],
     [0, 30, 120, 600, 630, 720, 900, 930, 1_020]),
    ("going away ends typing at once", ["T-10"], 2_000, [compose(0, "h"), away(1_000)],
     [0, 30, 120, 1_000, 1_030, 1_120]),
    ("going away before a start that is due drops the start", ["T-5", "T-10"], 2_000,
     [compose(0, "h"), compose(150, ""), compose(200, "a"), away(300)], [0, 30, 120, 150, 180, 270]),
]

RECEIVER = [
    ("typing is shown at once and ends 3.0 s after the last status that said so", ["T-14", "T-15"], 6_000,
     [got(0, 5, True)], [0, 3_000]),
    ("copies and heartbeats put off the end", ["T-15"], 8_000,
     [got(0, 1, True), got(30, 2, True), got(120, 3, True), got(500, 4, True), got(1_000, 5, True)], [0, 4_000]),
    ("six lost statuses in a row end nothing", ["T-15"], 8_000, [got(0, 1, True), got(2_999, 8, True)], [0, 5_999]),
    ("a status that says typing after the end shows it anew", ["T-15"], 8_000,
     [got(0, 1, True), got(3_001, 50, True)], [0, 3_000, 3_001, 6_001]),
    ("a stop is shown at once", ["T-14"], 2_000, [got(0, 1, True), got(700, 2, False)], [0, 700]),
    ("a start that comes after its stop shows nothing", ["T-13"], 5_000, [got(10, 2, False), got(20, 1, True)], []),
    ("a late start does not revive a stopped status", ["T-13"], 5_000,
     [got(0, 1, True), got(600, 4, False), got(610, 2, True), got(620, 3, True)], [0, 600]),
    ("a late start does not put off the end", ["T-13", "T-15"], 5_000,
     [got(0, 1, True), got(100, 9, True), got(2_000, 4, True)], [0, 3_100]),
    ("a late status does not revive one that has ended by time", ["T-13", "T-15"], 8_000,
     [got(0, 7, True), got(3_500, 6, True)], [0, 3_000]),
    ("a late stop does not end a newer start", ["T-13"], 5_000,
     [got(0, 1, True), got(100, 3, True), got(110, 2, False)], [0, 3_100]),
    ("a doubled status is dropped", ["W-22", "T-15"], 6_000,
     [got(0, 1, True), got(1_000, 1, True), got(2_000, 1, True)], [0, 3_000]),
    ("a doubled start after the stop shows nothing", ["W-22", "T-13"], 5_000,
     [got(0, 1, True), got(500, 2, False), got(600, 1, True)], [0, 500]),
    ("a status of a counter that is too old is dropped", ["W-22", "T-13"], 6_000,
     [got(0, 2_000, False), got(100, 976, True)], []),
    ("stopping and starting is shown each time", ["T-14"], 5_000,
     [got(0, 1, True), got(500, 2, False), got(900, 3, True), got(1_300, 4, False)], [0, 500, 900, 1_300]),
    ("a bye ends typing at once", ["T-14", "L-34"], 5_000, [got(0, 1, True), {"at": 400, "bye": True}], [0, 400]),
    ("a status after the bye shows nothing", ["L-34"], 5_000,
     [got(0, 1, True), {"at": 400, "bye": True}, got(410, 2, True)], [0, 400]),
    ("blocking ends typing at once and shows nothing from then on", ["T-14", "L-36"], 6_000,
     [got(0, 1, True), {"at": 800, "block": True}, got(900, 2, True), got(1_400, 3, True)], [0, 800]),
    ("of more than ten starts in a second the surplus is dropped, and stops never are", ["T-16"], 4_500,
     [got(2 * i, 1 + 2 * i, True) for i in range(11)] + [got(2 * i + 1, 2 + 2 * i, False) for i in range(11)]
     + [got(500, 100, True)],
     [at for i in range(10) for at in (2 * i, 2 * i + 1)] + [500, 3_500]),
]


def timeline(model, row, key):
    name, clauses, until, inputs, times = row
    inputs = sorted(inputs, key=lambda entry: entry["at"])
    for entry in inputs:
        model.input(entry)
    model.run(until)
    expect = getattr(model, key)
    assert [entry["at"] for entry in expect] == times, (name, expect)
    return {"name": name, "clauses": clauses, "inputs": inputs, "expect": expect, "until": until}


def timelines():
    return {
        "sender": [timeline(Sender(), row, "frames") for row in SENDER],
        "receiver": [timeline(Receiver(), row, "changes") for row in RECEIVER],
    }
