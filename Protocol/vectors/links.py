"""Models of a link's states, of its sender and of its receiver, and the cases of `links.json`."""

from dataclasses import dataclass

from cases import case, heartbeat, record, small, typing, unknown

COPIES, WINDOW, AHEAD = (0, 30, 120), 1_024, 16


class States:
    """One link from the moment that its first session joins; the session is complete."""

    def __init__(self):
        self.seen, self.now, self.state, self.down_at, self.up_at, self.up_for = [], 0, "down", 0, 0, 0
        self.marked, self.newest_status, self.interval, self.tokens, self.last_unheard = set(), -1, 1_000, {}, -10_000
        self.evidence_at = self.last_ping = self.next_ping = self.spent = self.join_ping_at = 0
        self.is_shown, self.unheard_copies = False, []

    def send(self, *frames, **extra):
        self.seen.append({"at": self.now, "frames": list(frames), **extra})

    def change(self, state, **extra):
        was_online, self.state = self.is_online(), state
        self.seen.append({"at": self.now, "state": state, **extra})
        if self.is_online() != was_online:
            self.seen.append({"at": self.now, "presence": "online" if self.is_online() else "offline"})

    def is_online(self):
        return self.is_shown and self.state in ("up", "suspect")

    def status(self):
        return heartbeat(unheard=self.state == "down")

    def send_ping(self, *beside):
        token, self.last_ping = f"t{len(self.tokens) + 1}", self.now
        self.tokens[token] = self.now
        self.send(*beside, small("ping", token))

    def deadlines(self):
        if self.state == "down":
            yield self.down_at + 60_000, lambda: self.change("forgotten", why="silence")
            if self.join_ping_at < 3_000:
                yield self.join_ping_at, self.join_ping
            if self.unheard_copies:
                yield self.unheard_copies[0], lambda: (self.unheard_copies.pop(0), self.send(self.status()))
        elif self.state == "up":
            yield self.evidence_at + self.interval * 7 // 4, lambda: self.suspect(0)
        elif self.state == "suspect":
            yield self.next_ping, self.go_down if self.spent == 10 else self.suspicion_ping
        if self.state in ("up", "suspect") and not self.is_shown:
            yield self.up_at + 10_000, self.leave

    def join_ping(self):
        self.join_ping_at += 250
        self.send_ping(self.status())

    def run(self, until):
        while due := [entry for entry in self.deadlines() if entry[0] <= until]:
            self.now, act = min(due, key=lambda entry: entry[0])
            act()
        self.now = until

    def suspect(self, spent):
        self.change("suspect")
        self.spent = spent
        self.suspicion_ping()

    def suspicion_ping(self):
        self.spent, self.next_ping = self.spent + 1, self.now + 125
        self.send_ping()

    def go_down(self):
        self.up_for += self.now - self.up_at
        if self.up_for < 10_000:
            return self.change("forgotten", why="silence")
        self.down_at, self.unheard_copies = self.now, [self.now + delay for delay in COPIES]
        self.change("down")

    def leave(self):
        self.change("forgotten", why="silence")
        for delay in COPIES:
            self.seen.append({"at": self.now + delay, "frames": [small("bye", "quit")]})

    def input(self, entry):
        counter, frames = entry["counter"], {frame["type"]: frame for frame in entry["frames"]}
        newest = max(self.marked, default=-1)
        if self.state == "forgotten" or counter in self.marked or newest - counter >= WINDOW:
            return
        self.marked.add(counter)
        status = frames.get("heartbeat") or frames.get("typing")
        is_unheard, token = bool(status and status["unheard"]), frames.get("pong", {}).get("token")
        is_awaited = self.now - self.tokens.get(token, -3_000) < 3_000
        if is_awaited:
            self.tokens[token] = -3_000
        counts = self.state != "down" or is_awaited
        if counts and status and not is_unheard and counter > self.newest_status:
            self.interval = max(10, status["interval"]) * 100 if "interval" in status else self.interval
        if status:
            self.newest_status = max(counter, self.newest_status)
        if "ping" in frames:
            self.send(self.status(), small("pong", frames["ping"]["token"]))
        if counts and counter > newest and (not is_unheard or is_awaited):
            self.evidence_at = self.now
            if self.state == "suspect":
                self.change("up")
        if self.state == "down" and is_awaited:
            self.up_at, self.evidence_at, self.join_ping_at = self.now, self.now, 3_000
            self.change("up")
        if counts and frames.get("record", {}).get("number") == 0 and not self.is_shown:
            self.is_shown = True
            self.seen.append({"at": self.now, "presence": "online"})
        if "bye" in frames:
            return self.change("forgotten", why="bye")
        if self.state == "down" and self.now - self.last_ping >= 125:
            self.send_ping(self.status())
        if self.state == "up" and is_unheard and not is_awaited and counter > newest \
                and self.now - self.last_unheard >= 10_000 and self.now - self.up_at >= 3_000:
            self.last_unheard = self.now
            self.suspect(5)


@dataclass
class Record:
    message: int
    number: int | None = None
    state: str = "queued"
    transmissions: int = 0
    order: int = 0
    sent_at: int = 0


class Sender:
    """The records of one direction on an up link, whose record 0 was acknowledged at time 0 without a sample."""

    def __init__(self, is_on_link):
        self.rto, self.least, self.most = (250, 200, 1_000) if is_on_link else (1_000, 1_000, 60_000)
        self.smooth, self.variation, self.window, self.recover, self.orders, self.acked_orders = None, 0, 4, 0, 0, []
        self.seen, self.now, self.records, self.next, self.acked, self.newest_ack = [], 0, [], 1, 1, -1
        self.timer_at = self.stall_from = self.down_at = self.forward = None
        self.messages, self.begun_at, self.is_over = 0, {}, False

    def deadlines(self):
        if self.down_at is None and not self.is_over:
            if self.timer_at is not None:
                yield self.timer_at, self.time_out
            if self.stall_from is not None:
                yield self.stall_from + 30_000, self.stall
            if self.records and self.records[0].message in self.begun_at:
                yield self.begun_at[self.records[0].message] + 60_000, self.stall

    run = States.run

    def in_flight(self):
        return [entry for entry in self.records if entry.state == "in flight"]

    def fill(self):
        for entry in self.records if self.down_at is None and self.forward is None else []:
            number = self.next if entry.number is None else entry.number
            if entry.state == "queued" and len(self.in_flight()) < self.window and number < self.acked + AHEAD:
                self.transmit(entry)

    def transmit(self, entry):
        if entry.number is None:
            entry.number, self.next = self.next, self.next + 1
        self.orders += 1
        entry.state, entry.order, entry.sent_at, entry.transmissions = "in flight", self.orders, self.now, entry.transmissions + 1
        self.begun_at.setdefault(entry.message, self.now)
        self.timer_at = self.now + self.rto if self.timer_at is None else self.timer_at
        self.stall_from = self.now if self.stall_from is None else self.stall_from
        self.seen.append({"at": self.now, "record": entry.number})

    def time_out(self):
        self.rto, self.window, self.timer_at = min(self.most, self.rto * 2), 1, None
        if self.forward is not None:
            return self.send_forward()
        for entry in self.in_flight():
            entry.state = "queued"
        self.fill()

    def stall(self):
        for message in dict.fromkeys(entry.message for entry in self.records):
            self.seen.append({"at": self.now, "message": message, "outcome": "stalled"})
        self.records, self.stall_from = [], self.now
        if self.forward is None:
            self.forward = self.next = self.next + 1
            self.send_forward()

    def send_forward(self):
        self.timer_at = self.now + self.rto
        self.seen.append({"at": self.now, "forward": self.forward})

    def sample(self, time):
        self.variation = time / 2 if self.smooth is None else self.variation * 3 / 4 + abs(self.smooth - time) / 4
        self.smooth = time if self.smooth is None else self.smooth * 7 / 8 + time / 8
        rto = min(self.most, max(self.least, self.smooth + max(1, 4 * self.variation)))
        assert rto == int(rto), "a timeline needs whole milliseconds"
        self.rto = int(rto)

    def input(self, entry):
        if entry["do"] == "send":
            self.messages += 1
            self.records += [Record(self.messages) for _ in range(entry["records"])]
        elif entry["do"] == "down":
            self.down_at, self.timer_at = self.now, None
            for waiting in self.records:
                waiting.state = "queued"
        elif entry["do"] == "up":
            pause, self.down_at, self.window, self.recover = self.now - self.down_at, None, 4, 0
            self.stall_from = None if self.stall_from is None else self.stall_from + pause
            self.begun_at = {message: at + pause for message, at in self.begun_at.items()}
        elif not self.is_over:
            self.acknowledge(entry["next"], entry["bitmap"], entry["counter"])
        self.fill()

    def acknowledge(self, following, bitmap, counter):
        is_newest, self.newest_ack = counter > self.newest_ack, max(counter, self.newest_ack)
        if not self.acked <= following <= self.next:
            if is_newest:
                self.is_over, self.records = True, []
                self.seen.append({"at": self.now, "state": "forgotten"})
            return
        self.acked = following
        done = [entry for entry in self.records if entry.number is not None and entry.number < following]
        self.records = self.records[len(done):]
        fresh = [entry for entry in done if entry.state != "held"]
        for entry in self.records if is_newest else []:
            is_named = entry.number is not None and entry.number > following and bool(bitmap >> entry.number - following - 1 & 1)
            fresh += [entry] if is_named and entry.state != "held" else []
            entry.state = "held" if is_named else "in flight" if entry.state == "held" else entry.state
        last = max(fresh, key=lambda entry: entry.order, default=None)
        if last and last.transmissions == 1:
            self.sample(self.now - last.sent_at)
        if self.forward == following:
            self.forward = self.timer_at = self.stall_from = None
        if done:
            self.window, self.stall_from = min(16, self.window + 1), self.now
            self.timer_at = self.now + self.rto
            self.acked_orders += [entry.order for entry in done]
        arrived = self.acked_orders + [entry.order for entry in self.records if entry.state == "held"]
        for entry in self.in_flight():
            if sum(order > entry.order for order in arrived) >= 3:
                if following >= self.recover:
                    self.window, self.recover = max(1, self.window // 2), self.next
                self.transmit(entry)
        left = {entry.message for entry in self.records}
        for message in dict.fromkeys(entry.message for entry in done if entry.message not in left):
            self.seen.append({"at": self.now, "message": message, "outcome": "delivered"})
        self.fill()
        if not self.in_flight() and self.forward is None:
            self.timer_at = self.stall_from = None


class Receiver:
    """The records of the other direction, after record 0."""

    def __init__(self):
        self.seen, self.expected, self.held, self.text = [], 1, {}, None

    def run(self, until):
        self.now = until

    def input(self, entry):
        frame = entry["frame"]
        if frame["type"] == "forward" and frame["next"] > self.expected:
            self.expected, self.text = frame["next"], None
            self.held = {number: other for number, other in self.held.items() if number >= self.expected}
        elif frame["type"] == "record" and self.expected <= frame["number"] < self.expected + AHEAD:
            self.held.setdefault(frame["number"], frame)
        while self.expected in self.held:
            self.take(self.held.pop(self.expected))
            self.expected += 1
        self.seen.append({"at": self.now, "ack": self.expected, "bitmap": sum(1 << n - self.expected - 1 for n in self.held)})

    def take(self, frame):
        if frame["recordType"] != 0:
            return
        if frame["first"] and self.text is not None:
            self.text = None
            return
        if frame["first"] or self.text is not None:
            self.text = ("" if frame["first"] else self.text) + bytes.fromhex(frame["body"]).decode()
            if frame["last"]:
                self.seen.append({"at": self.now, "text": self.text})
                self.text = None


# The inputs of the peer, under its next counter unless one is given

def peer(*datagrams):
    inputs = []
    for at, *frames in datagrams:
        counter = frames.pop() if isinstance(frames[-1], int) else max([-1, *(entry["counter"] for entry in inputs)]) + 1
        inputs.append({"at": at, "counter": counter, "frames": frames})
    return inputs


def acks(text):
    """Inputs of a sender: `at:send=records`, `at:down`, `at:up`, `at:ack=next/bitmap#counter`."""
    inputs = []
    for word in text.split():
        at, do = word.split(":")
        do, _, value = do.partition("=")
        entry = {"at": int(at), "do": do}
        if do == "send":
            entry["records"] = int(value)
        elif do == "ack":
            value, _, counter = value.partition("#")
            following, _, bitmap = value.partition("/")
            entry |= {"counter": int(counter or at), "next": int(following), "bitmap": int(bitmap or "0", 2)}
        inputs.append(entry)
    return inputs


def records(text):
    """Inputs of a receiver, 10 ms apart: `Fnumber`, or number, flags (= both, < first, - none, > last, ? unknown type) and text."""
    for index, word in enumerate(text.split()):
        if word[0] == "F":
            frame = small("forward", int(word[1:]))
        else:
            sign = next(c for c in word if not c.isdigit())
            number, body = word.split(sign)
            frame = record(int(number), body, sign in "=<", sign in "=>", 14 if sign == "?" else 0)
        yield {"at": index * 10, "frame": frame}


BEAT, UNHEARD, LONG_BEAT, BYE = heartbeat(), heartbeat(unheard=True), heartbeat(interval=110), small("bye", "quit")
JOIN = [(20, UNHEARD, small("ping", 1), small("pong", "t1")), (30, typing(), record(0, "Peer", kind=1))]
# Up for over 10 s, with the last evidence at 11.0 s.
LASTING = [*JOIN, (40, LONG_BEAT), (11_000, BEAT)]
SILENCE = "20 up, 30 online, 12750 suspect, 14000 down, 14000 offline"

# name, clauses, end, datagrams of the peer, states
STATES = [
    ("an awaited pong brings a new link up, and record 0 shows it", "L-74 L-80 L-85 L-28 L-111 T-28", 1_500, JOIN, "20 up, 30 online"),
    ("a heartbeat beside the awaited pong counts", "L-111 W-30 T-12", 9_000,
     [(20, heartbeat(interval=50), small("ping", 1), small("pong", "t1")), JOIN[1]], "20 up, 30 online, 8780 suspect"),
    ("a status on a down link counts as the highest", "T-13 L-71 L-80", 1_900,
     [(20, BEAT, 50), (30, heartbeat(interval=255), small("pong", "t1"), 40)], "30 up, 1780 suspect"),
    ("a new link without a pong is forgotten after 60 s", "L-74 L-83", 60_000, [], "60000 forgotten"),
    ("other datagrams on a down link draw a ping each 125 ms, and an old token counts for nothing", "L-71 L-80", 5_300,
     [(3_500, UNHEARD, small("ping", 7)), (3_600, BEAT), (3_625, BEAT), (5_000, UNHEARD, small("pong", "t1")),
      (5_100, UNHEARD, small("pong", "t15"))],
     "5100 up"),
    ("a pong of a token that nobody sent brings nothing up", "L-28 L-80", 900, [(140, UNHEARD, small("pong", 65_535))], ""),
    ("silence makes a link suspect, and ten pings later down", "L-26 L-27 L-44", 14_500, LASTING, SILENCE),
    ("evidence ends a suspicion", "L-27", 4_950, [*JOIN, (40, BEAT), (2_000, BEAT), (4_900, BEAT)],
     "20 up, 30 online, 1790 suspect, 2000 up, 3750 suspect, 4900 up"),
    ("a suspect link goes down at the instant of late evidence", "L-27 T-18", 14_500, [*LASTING, (14_000, BEAT)], SILENCE),
    ("a datagram below the highest counter does not count as evidence", "L-23", 1_800, [*JOIN, (40, BEAT, 50), (1_500, BEAT, 20)],
     "20 up, 30 online, 1790 suspect"),
    ("a link that was up for less than 10 s is forgotten when it goes down", "L-84", 3_500, [*JOIN, (40, BEAT)],
     "20 up, 30 online, 1790 suspect, 3040 forgotten, 3040 offline"),
    ("a held back heartbeat brings no down link up, and the pong of its ping does", "L-71 L-80", 15_500,
     [*LASTING, (14_500, BEAT), (14_600, UNHEARD, small("pong", "t12")), (14_610, BEAT)], SILENCE + ", 14600 up, 14600 online"),
    ("a pong of the suspicion brings a down link up", "L-80", 14_600, [*LASTING, (14_100, UNHEARD, small("pong", "t11"))],
     SILENCE + ", 14100 up, 14100 online"),
    ("a pong of a ping 3 s ago is not awaited", "L-80", 16_000, [*LASTING, (15_750, UNHEARD, small("pong", "t2"))], SILENCE),
    ("a link that is down for 60 s is forgotten", "L-83", 75_000, LASTING, SILENCE + ", 74000 forgotten"),
    ("an unheard heartbeat makes a link suspect with five pings spent", "L-45 L-44", 12_000, [*JOIN, (40, LONG_BEAT), (11_000, UNHEARD)],
     "20 up, 30 online, 11000 suspect, 11625 down, 11625 offline"),
    ("an unheard heartbeat with an awaited pong is evidence", "L-45", 2_500, [*JOIN, (40, BEAT), (1_900, UNHEARD, small("pong", "t2"))],
     "20 up, 30 online, 1790 suspect, 1900 up"),
    ("a second pong of one ping is not awaited", "L-80 L-45", 5_460,
     [*JOIN, (40, BEAT), (1_000, BEAT), (2_000, BEAT), (3_000, BEAT), (4_860, UNHEARD, small("pong", "t2")),
      (4_910, UNHEARD, small("pong", "t2"))],
     "20 up, 30 online, 4750 suspect, 4860 up, 4910 suspect"),
    ("a second unheard heartbeat counts after 10 s", "L-45", 14_150,
     [*JOIN, (40, LONG_BEAT), (4_000, UNHEARD), (4_100, LONG_BEAT), (5_000, UNHEARD), (14_000, UNHEARD), (14_100, LONG_BEAT)],
     "20 up, 30 online, 4000 suspect, 4100 up, 14000 suspect, 14100 up"),
    ("an unheard heartbeat within 3 s of coming up changes nothing", "L-45 L-74", 3_500, [*JOIN, (40, LONG_BEAT), (3_019, UNHEARD)],
     "20 up, 30 online"),
    ("an unheard heartbeat below the highest counter changes nothing", "L-45", 4_500,
     [*JOIN, (40, LONG_BEAT, 50), (4_000, UNHEARD, 40)], "20 up, 30 online"),
    ("a link without the peer's name ends 10 s after it came up", "L-86 L-32", 11_000, [JOIN[0], (30, heartbeat(interval=255))],
     "20 up, 10020 forgotten"),
    ("an interval below 10 counts as 10", "T-12 L-26", 1_800, [*JOIN, (40, heartbeat(interval=0))], "20 up, 30 online, 1790 suspect"),
    ("the longest interval", "T-12 L-26", 44_700, [*JOIN, (40, heartbeat(interval=255))], "20 up, 30 online, 44665 suspect"),
    ("the interval of an older heartbeat does not count", "T-12 T-13", 1_800, [*JOIN, (40, BEAT, 50), (50, heartbeat(interval=255), 49)],
     "20 up, 30 online, 1790 suspect"),
    ("before the first heartbeat the interval is 1 s", "L-26", 1_800, JOIN, "20 up, 30 online, 1780 suspect"),
    ("a bye ends a link behind the pong of its ping", "L-34 W-30", 600, [*JOIN, (500, BYE, small("ping", 9)), (510, BEAT)],
     "20 up, 30 online, 500 forgotten, 500 offline"),
    ("a bye below the highest counter ends a link", "L-34", 600, [*JOIN, (100, LONG_BEAT, 90), (500, BYE, 80)],
     "20 up, 30 online, 500 forgotten, 500 offline"),
    ("a bye under a marked counter ends nothing", "L-34 W-22", 600, [*JOIN, (100, LONG_BEAT, 90), (500, BYE, 90)], "20 up, 30 online"),
    ("a bye ends a down link", "L-34 L-71", 15_500, [*LASTING, (15_000, BYE)], SILENCE + ", 15000 forgotten"),
    ("frames of an unknown type change nothing", "W-26 X-3", 600, [*JOIN, (500, BEAT, unknown(0x5A, b"abc"), small("ping", 9))],
     "20 up, 30 online")]

# name, clauses, on-link, end, inputs, and the transmissions: r record, f forward, d delivered, s stalled
SENDER = [
    ("the window is 4 and grows by 1 with each ack of something new", "M-34 M-17", True, 100,
     "0:send=12 20:ack=2 40:ack=5 60:ack=11 80:ack=13",
     "0r1 0r2 0r3 0r4 20r5 20r6 40r7 40r8 40r9 40r10 60r11 60r12 80d1"),
    ("an ack of nothing new leaves the window", "M-34", True, 100, "0:send=6 20:ack=2 30:ack=2 40:ack=2", "0r1 0r2 0r3 0r4 20r5 20r6"),
    ("no record goes out 16 above the lowest unacknowledged one", "M-10 M-12 M-35", True, 190,
     "0:send=20 10:ack=1/111 " + " ".join(f"{20 + 10 * i}:ack=1/{'1' * (4 + i)}" for i in range(12)) + " 180:ack=17",
     "0r1 0r2 0r3 0r4 10r1 10r5 20r6 30r7 40r1 40r8 50r9 60r10 70r1 70r11 80r12 90r13 100r1 100r14 110r15 120r16 130r1 "
     "180r17 180r18 180r19"),
    ("the timer begins at 250 ms, and doubles to 1 s until a sample", "M-11 M-32 M-33", True, 6_000,
     "0:send=1 2800:ack=2 3000:send=1 4100:ack=3 4200:send=1 4300:ack=4 4400:send=1",
     "0r1 250r1 750r1 1750r1 2750r1 2800d1 3000r2 4000r2 4100d2 4200r3 4300d3 4400r4 4700r4 5300r4"),
    ("off-link the timer begins at 1 s and doubles", "M-11", False, 16_000, "0:send=1", "0r1 1000r1 3000r1 7000r1 15000r1"),
    ("the timer follows the samples", "M-11 M-32 M-99", True, 2_300, "0:send=1 100:ack=2 1000:send=1 1100:ack=3 2000:send=1",
     "0r1 100d1 1000r2 1100d2 2000r3 2250r3"),
    ("the timer is at least 200 ms", "M-11", True, 700, "0:send=1 20:ack=2 100:send=1", "0r1 20d1 100r2 300r2 700r2"),
    ("a record sent twice gives no sample", "M-32 M-99", True, 2_500, "0:send=1 280:ack=2 400:send=1 1300:ack=3 1400:send=1",
     "0r1 250r1 280d1 400r2 900r2 1300d2 1400r3 2400r3"),
    ("an ack of something new starts the timer again", "M-32", True, 500, "0:send=2 100:ack=2", "0r1 0r2 400r2"),
    ("three later records named send a record again", "M-12 M-35", True, 100,
     "0:send=8 20:ack=1/1 25:ack=1/11 30:ack=1/111 50:ack=5/1 60:ack=9",
     "0r1 0r2 0r3 0r4 20r5 25r6 30r1 50r7 50r8 60d1"),
    ("the timer sends the lowest record again, and the others as the window allows", "M-33 M-35", True, 400,
     "0:send=4 300:ack=2 320:ack=4 340:ack=5", "0r1 0r2 0r3 0r4 250r1 300r2 300r3 320r4 340d1"),
    ("a named record does not go out again", "M-33 M-31", True, 300, "0:send=3 20:ack=1/10 270:ack=2/1 290:ack=4",
     "0r1 0r2 0r3 250r1 270r2 290d1"),
    ("a name counts until a newer ack lacks it", "M-31 M-33", True, 300, "0:send=2 20:ack=1/1 40:ack=1 270:ack=2", "0r1 0r2 250r1 270r2"),
    ("the bitmap of an older ack does not count", "M-31", True, 300, "0:send=2 20:ack=1 40:ack=1/1#10 270:ack=2", "0r1 0r2 250r1 270r2"),
    ("a link that comes up sends again from the lowest record", "M-29 M-34", True, 5_100,
     "0:send=6 100:down 2000:send=1 5000:up 5020:ack=5 5040:ack=8",
     "0r1 0r2 0r3 0r4 5000r1 5000r2 5000r3 5000r4 5020r5 5020r6 5020r7 5040d1 5040d2"),
    ("30 s without an ack fail all messages, and new records wait for the ack of a forward", "M-19 M-37", True, 34_100,
     "0:send=1 100:send=1 31500:send=1 32500:ack=4 32520:ack=5 33000:send=1 33020:ack=6",
     "0r1 100r2 250r1 750r1 " + " ".join(f"{i}750r1" for i in range(1, 30)) + " 30000s1 30000s2 30000f4 31000f4 32000f4 "
     "32500r4 32520d3 33000r5 33020d4"),
    ("a message that is unfinished after 60 s fails", "M-19", False, 60_000, "0:send=8 20000:ack=2 40000:ack=3",
     "0r1 0r2 0r3 0r4 1000r1 3000r1 7000r1 15000r1 20000r2 20000r3 36000r2 40000r3 40000r4 "
     "60000s1 60000f6"),
    ("the times of stalling stand still while the link is down", "M-19", False, 70_000, "0:send=1 1500:down 41500:up",
     "0r1 1000r1 41500r1 43500r1 47500r1 55500r1 70000s1 70000f3"),
    ("the newest ack beyond the sent records ends the link", "L-94", True, 300, "0:send=2 20:ack=4", "0r1 0r2 20x"),
    ("the newest ack that goes back ends the link", "L-94", True, 300, "0:send=2 20:ack=3 40:ack=2", "0r1 0r2 20d1 40x"),
    ("an older ack that goes back changes nothing", "L-94", True, 300, "0:send=2 20:ack=3 40:ack=2#10", "0r1 0r2 20d1")]

# name, clauses, inputs, texts
RECEIVER = [
    ("records in order", "M-2 M-15", "1=a 2=b", "a b"), ("another order, and repeats", "M-2 M-16", "2=b 1=a 1=a 2=b 3=c", "a b c"),
    ("15 above is held, 16 above is not", "M-16", "16=x 17=y 2=b 1=a", "a b"),
    ("several parts", "M-1", "1<One 2-two 3>three", "Onetwothree"),
    ("parts in another order", "M-2", "3>c 1<a 2-b", "abc"), ("a first record within a message", "M-23", "1<a 2<b 3>c 4=d", "d"),
    ("a single record within a message", "M-23", "1<a 2=b 3=c", "c"), ("parts without a first one", "M-23", "1-a 2>b 3=c", "c"),
    ("an unknown record type within a message", "M-26", "1<a 2?x 3>b", "ab"),
    ("a forward within a message", "M-38", "1<a F3 3>b 4=c", "c"),
    ("a forward drops the held records below", "M-38", "3=x 5=y F4 4=z", "z y"), ("a forward up to a held record", "M-38", "3=x F3", "x"),
    ("a forward that is not above", "M-38", "1=a F1 F2", "a"), ("records below a forward", "M-16 M-38", "F4 1=a 3=c 4=d", "d")]


def play(model, name, clauses, until, inputs, mark, expected, **fields):
    inputs = list(inputs)
    for entry in inputs:
        model.run(entry["at"])
        model.input(entry)
    model.run(until)
    marks = [mark(entry) for entry in model.seen if mark(entry)]
    assert marks == expected, (name, marks)
    return case(name, clauses, **fields, until=until, inputs=inputs, expect=model.seen)


def sender_mark(entry):
    if "message" in entry:
        return f"{entry['at']}{entry['outcome'][0]}{entry['message']}"
    return f"{entry['at']}" + (f"r{entry['record']}" if "record" in entry else f"f{entry['forward']}" if "forward" in entry else "x")


def state_mark(entry):
    return f"{entry['at']} {entry.get('state') or entry.get('presence')}" if "frames" not in entry else None


def timelines():
    return {
        "states": [play(States(), n, c, u, peer(*d), state_mark, e.split(", ") if e else []) for n, c, u, d, e in STATES],
        "sender": [play(Sender(o), n, c, u, acks(i), sender_mark, e.split(), onLink=o) for n, c, o, u, i, e in SENDER],
        "receiver": [play(Receiver(), n, c, 1_000, records(i), lambda entry: entry.get("text"), e.split()) for n, c, i, e in RECEIVER]}
