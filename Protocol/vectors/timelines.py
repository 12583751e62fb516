"""Models of the typing rules at the sender and the receiver, and the cases of `timelines.json`."""

import unicodedata

from cases import case

IDLE_STOP, EXPIRY, START_INTERVAL, COPIES, BEAT = 2_900, 3_000, 500, (30, 120), 500
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]


def visible(scalar):
    return (not scalar.isspace() and unicodedata.category(scalar) not in ("Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp")
            and not any(low <= ord(scalar) <= high for low, high in IGNORABLE))


def counts(text):
    return not text.startswith("/") and any(map(visible, text))


class Sender:
    """The frames of one node to one peer in one chat: typing frames, heartbeats while typing and those of T-21."""

    def __init__(self):
        self.text, self.announced, self.away = "", False, False
        self.idle_at = self.start_at = self.beat_at = self.last_start = None
        self.copies, self.seen = [], []

    def send(self, at, frame, **extra):
        self.seen.append({"at": at, "frame": frame, "typing": self.announced, "away": self.away, **extra})

    def edge(self, at, on, **extra):
        self.announced, self.copies, self.beat_at = on, [at + delay for delay in COPIES], at + BEAT if on else None
        self.last_start = at if on else self.last_start
        self.send(at, "typing", copy=False, **extra)

    def stop(self, at, **extra):
        self.idle_at = self.start_at = None
        if self.announced:
            self.edge(at, False, **extra)
        elif extra:
            self.send(at, "typing", copy=False, **extra)

    def run(self, now):
        while due := [at for at in (self.idle_at, self.start_at, self.beat_at, *self.copies[:1]) if at is not None and at <= now]:
            at = min(due)
            assert due.count(at) == 1, "the order of two deadlines is open"
            if at == self.idle_at:
                self.stop(at)
            elif at == self.start_at:
                self.start_at = None
                self.edge(at, True)
            elif at == self.beat_at:
                self.beat_at += BEAT
                self.send(at, "heartbeat")
            else:
                self.copies.pop(0)
                self.send(at, "typing", copy=True)

    def compose(self, at, text):
        if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", self.text):
            return
        self.text = text
        if not counts(text):
            return self.stop(at)
        self.idle_at = at + IDLE_STOP
        if self.announced or self.start_at is not None:
            return
        if self.last_start is None or at >= self.last_start + START_INTERVAL:
            self.edge(at, True)
        else:
            self.start_at = self.last_start + START_INTERVAL

    def input(self, entry):
        at, do = entry["at"], entry["do"]
        if do == "compose":
            self.compose(at, entry["text"])
        elif do == "send":
            self.text = ""
            self.stop(at, **{"with": "record"})
        elif self.away != (do == "away"):
            self.away = do == "away"
            if self.away and self.announced:
                return self.stop(at)
            if self.away:
                self.start_at = self.idle_at = None
            self.send(at, "heartbeat")


class Receiver:
    """The typing state that one node shows of one peer."""

    def __init__(self):
        self.shown, self.expires_at, self.is_over = False, None, False
        self.marked, self.newest, self.tokens, self.tokens_at, self.seen = set(), -1, 10.0, 0, []

    def show(self, at, shown):
        self.seen += [{"at": at, "shown": shown}] if shown != self.shown else []
        self.shown, self.expires_at = shown, at + EXPIRY if shown else None

    def run(self, now):
        if self.expires_at is not None and self.expires_at <= now:
            self.show(self.expires_at, False)

    def input(self, entry):
        at = entry["at"]
        if self.is_over:
            return
        if entry["do"] != "status":
            self.is_over = True
            return self.show(at, False)
        counter = entry["counter"]
        if counter in self.marked or max(self.marked, default=0) - counter >= 1_024:
            return
        self.marked.add(counter)
        if counter < self.newest:
            return
        self.newest = counter
        if entry["typing"] and not self.shown:
            self.tokens, self.tokens_at = min(10, self.tokens + (at - self.tokens_at) / 100), at
            if self.tokens < 1:
                return
            self.tokens -= 1
        self.show(at, entry["typing"])


def edits(text):
    """Inputs of a sender: `at:text`, or `at!send`, `at!away`, `at!back`, with a stroke between two."""
    for word in text.split("|"):
        at, _, value = word.partition("!" if "!" in word else ":")
        yield {"at": int(at), "do": value} if "!" in word else {"at": int(at), "do": "compose", "text": value}


def statuses(text):
    """Inputs of a receiver: `at:counter+` for typing, `at:counter-` for not typing, `at!bye`, `at!block`."""
    for word in text.split():
        at, _, value = word.partition("!" if "!" in word else ":")
        yield ({"at": int(at), "do": value} if "!" in word else
               {"at": int(at), "do": "status", "counter": int(value[:-1]), "typing": value[-1] == "+"})


# name, clauses, end, inputs, and the instants of typing frames, with b those of heartbeats
SENDER = [
    ("a start, its copies, heartbeats, and a stop 2.9 s after the edit", "T-5 T-6 T-8 T-9", 4_000, "0:h",
     "0 30 120 500b 1000b 1500b 2000b 2500b 2900 2930 3020"),
    ("further edits put off the end", "T-3 T-8 T-9", 5_500, "0:h|400:he|1000:hel|2050:hell",
     "0 30 120 500b 1000b 1500b 2000b 2500b 3000b 3500b 4000b 4500b 4950 4980 5070"),
    ("an equal text does not count as an edit", "T-4", 3_000, "0:h|2000:h", "0 30 120 500b 1000b 1500b 2000b 2500b 2900 2930"),
    ("a canonically equivalent text does not count either", "T-4", 3_000, "0:caf\u00e9|2000:cafe\u0301",
     "0 30 120 500b 1000b 1500b 2000b 2500b 2900 2930"),
    ("blanks and a command begin nothing", "T-3", 2_000, "0: |100: \t|200:\u00a0\u3000\n|300:\u200b\u00ad|400:/|500:/help me", ""),
    ("a visible character behind blanks begins typing", "T-3", 900, "0:  |700:  x", "700 730 820"),
    ("an edit to a command stops", "T-10", 800, "0:x|600:/x", "0 30 120 500b 600 630 720"),
    ("an edit of a command to a text starts", "T-3", 800, "0:/x|600:x", "600 630 720"),
    ("an edit to no text stops", "T-10", 800, "0:h|600:", "0 30 120 500b 600 630 720"),
    ("an edit to blanks stops", "T-10", 800, "0:h|600: ", "0 30 120 500b 600 630 720"),
    ("a stop cancels the copies of its start", "T-7", 400, "0:h|50:", "0 30 50 80 170"),
    ("a second start waits for 500 ms", "T-5 T-8", 1_200, "0:h|100:|200:a", "0 30 100 130 220 500 530 620 1000b"),
    ("a start that is due ends before its time", "T-5 T-10", 900, "0:h|100:|200:a|300:", "0 30 100 130 220"),
    ("copies of a stop go out before a start that is due", "T-5 T-7", 700, "0:h|390:|400:a", "0 30 120 390 420 500 530 620"),
    ("a second start after 500 ms goes out at once", "T-5", 900, "0:h|200:|500:a", "0 30 120 200 230 320 500 530 620"),
    ("24 edits in 2 s start at most twice a second", "T-5", 2_000, "|".join(f"{i * 80}:{'x' * (i % 2 == 0)}" for i in range(24)),
     "0 30 80 110 200 500 530 560 590 680 1000 1030 1040 1070 1160 1500 1520 1550 1640"),
    ("a record carries the stop", "T-10 M-9", 900, "0:h|300:hi|600!send", "0 30 120 500b 600 630 720"),
    ("a record without typing makes no copies", "M-9", 400, "100!send", "100"),
    ("a record drops a start that is due", "T-10 M-9", 900, "0:h|100!send|200:a|300!send", "0 30 100 130 220 300"),
    ("typing after a record", "T-3 T-10", 1_100, "0:h|600!send|900:n", "0 30 120 500b 600 630 720 900 930 1020"),
    ("away ends typing in its stop", "T-10 T-21", 1_300, "0:h|1100!away", "0 30 120 500b 1000b 1100 1130 1220"),
    ("away without typing goes out in a heartbeat", "T-21", 900, "100!away|700!back", "100b 700b"),
    ("away drops a start that is due", "T-10 T-21", 900, "0:h|150:|200:a|310!away", "0 30 120 150 180 270 310b"),
    ("the copies of a stop carry a later away", "T-7 T-21", 900, "0:h|200:|250!away", "0 30 120 200 230 250b 320"),
    ("an edit while away begins typing", "T-3 T-21", 1_200, "0!away|600:h", "0b 600 630 720 1100b"),
    ("a return while typing goes out in a heartbeat", "T-8 T-21", 1_700, "0!away|600:h|1250!back", "0b 600 630 720 1100b 1250b 1600b")]

RECEIVER = [
    ("typing ends 3.0 s after its status", "T-14 T-15", 6_000, "0:5+", "0 3000"),
    ("copies and heartbeats put off the end", "T-15", 8_000, "0:1+ 30:2+ 120:3+ 500:4+ 1000:5+", "0 4000"),
    ("five lost heartbeats end nothing", "T-15", 8_000, "0:1+ 2999:8+", "0 5999"),
    ("a status after the end shows typing again", "T-15", 8_000, "0:1+ 3001:50+", "0 3000 3001 6001"),
    ("a status at the end comes after the end", "T-15 T-18", 8_000, "0:1+ 3000:2+", "0 3000 3000 6000"),
    ("a stop ends typing at once", "T-14", 2_000, "0:1+ 700:2-", "0 700"),
    ("a start behind its stop shows nothing", "T-13", 5_000, "10:2- 20:1+", ""),
    ("a late start revives no stopped typing", "T-13", 5_000, "0:1+ 600:4- 610:2+ 620:3+", "0 600"),
    ("a late start does not put off the end", "T-13 T-15", 5_000, "0:1+ 100:9+ 2000:4+", "0 3100"),
    ("a late start after the end shows nothing", "T-13 T-15", 8_000, "0:7+ 3500:6+", "0 3000"),
    ("a late stop does not end a newer start", "T-13", 5_000, "0:1+ 100:3+ 110:2-", "0 3100"),
    ("repeated datagrams do not put off the end", "W-22 T-15", 6_000, "0:1+ 1000:1+ 2000:1+", "0 3000"),
    ("a repeated start after the stop shows nothing", "W-22", 5_000, "0:1+ 500:2- 600:1+", "0 500"),
    ("a status outside the window shows nothing", "W-22", 5_000, "0:2000- 100:976+", ""),
    ("each start and stop shows", "T-14", 5_000, "0:1+ 500:2- 900:3+ 1300:4-", "0 500 900 1300"),
    ("a bye ends typing", "T-14 L-34", 5_000, "0:1+ 400!bye 410:2+", "0 400"),
    ("a block ends typing, and later starts show nothing", "T-14 L-36", 6_000, "0:1+ 800!block 900:2+ 1400:3+", "0 800"),
    ("an eleventh start within a second does not show, and the next does", "T-16", 5_000,
     " ".join(f"{2 * i}:{2 * i}+ {2 * i + 1}:{2 * i + 1}-" for i in range(11)) + " 500:100+", " ".join(map(str, range(20))) + " 500 3500")]

TEXTS = [("a letter", "h", True), ("no character", "", False), ("blanks", " \t\n\u00a0\u3000", False), ("a slash", "/", False),
         ("a command", "/help", False), ("a slash behind a blank", " /", True), ("a zero-width space", "\u200b\u00ad", False),
         ("a Hangul filler", "\u3164", False), ("a variation selector", "\ufe0f", False), ("a combining accent", "\u0301", True),
         ("a private-use character", "\ue000", True), ("a noncharacter", "\uffff", False), ("an emoji", "\U0001f44b", True)]


def timeline(model, row, parse):
    name, clauses, until, text, times = row
    inputs = list(parse(text))
    for entry in inputs:
        model.run(entry["at"])
        model.input(entry)
    model.run(until)
    assert [f"{e['at']}{'b' * (e.get('frame') == 'heartbeat')}" for e in model.seen] == times.split(), (name, model.seen)
    return case(name, clauses, until=until, inputs=inputs, expect=model.seen)


def intervals():
    rows = []
    for links in (1, 50, 51, 100, 101, 200, 300, 301, 1_024):
        units = max(10, -(-links // 5))
        rows.append({"links": links, "interval": units, "idle": [units * 75, units * 100], "typing": min(1_500, max(500, links * 5))})
    return [case("the intervals of a node with this many links", "T-8 T-11 T-23 T-24", rows=rows)]


def timelines():
    return {"texts": [case(f"a draft of {n}", "T-3", text=t, counts=c) for n, t, c in TEXTS],
            "sender": [timeline(Sender(), row, edits) for row in SENDER],
            "receiver": [timeline(Receiver(), row, statuses) for row in RECEIVER], "intervals": intervals()}


assert all(counts(text) == value for _, text, value in TEXTS)
