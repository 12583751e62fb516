"""A small model of one node's links: which session sends (L-21, L-34, L-43), and which streams its hellos name.

It follows the inputs of a timeline, and holds each expected datagram against what it knows at that moment.
"""

CROSSING, SESSION_LIFETIME, REMEMBERED, OLDER_SESSIONS = 5_000, 7_200_000, 8, 3


class Stream:
    """A stream of the node: it gets its name when a hello first shows it."""

    def __init__(self):
        self.name, self.is_used = None, False


class Session:
    def __init__(self, name, side, created):
        self.name, self.side, self.created = name, side, created
        self.is_complete, self.is_over = side == "node", False
        self.link, self.rank, self.hello_counter, self.heard = None, 0, -1, created
        self.counter, self.stream, self.presumed = 0, Stream(), None


class Link:
    def __init__(self, run, session, stream):
        self.run, self.sending, self.older = run, session, []
        self.stream, self.named, self.is_held = stream, [stream], False
        self.held, self.next, self.given_up = 0, 0, []
        self.interval, self.hello_rank, self.heard = 1_000, 0, session.heard


def chosen(row, joining, sending, own_side_is_smaller):
    """The session that a row of the table of L-21 names."""
    later = joining if joining.created >= sending.created else sending
    smaller = "node" if own_side_is_smaller else "peer"
    return {
        1: joining, 2: later, 3: later, 4: sending,
        5: joining if joining.side == smaller else sending,
    }[row]


def fitting_row(joining, sending, is_foreign, link, now):
    """The first row of the table of L-21 that fits."""
    gap = abs(joining.created - sending.created)
    is_in_use = link.is_held and now - sending.heard < link.interval
    if sending.is_over:
        return 1
    if joining.side == sending.side or gap >= CROSSING:
        return 2
    if gap >= link.interval and link.is_held and is_foreign:
        return 3
    if joining.created < sending.created and now - joining.created >= link.interval and is_in_use:
        return 4
    return 5


class Model:
    def __init__(self, name, is_smaller):
        self.name, self.is_smaller = name, is_smaller
        self.sessions, self.links, self.rows, self.names, self.ranks = {}, [], [], {}, 0

    def fail(self, text):
        raise AssertionError(f"links: '{self.name}': {text}")

    def rank(self, session):
        self.ranks += 2
        session.rank = self.ranks

    # Inputs

    def input(self, entry):
        at, do = entry["at"], entry["do"]
        if do == "initiation":
            self.sessions.setdefault(entry["session"], Session(entry["session"], "peer", at))
        elif do == "response":
            self.sessions[entry["session"]] = session = Session(entry["session"], "node", at)
            self.complete(session)
        elif do == "sleep":
            for session in self.sessions.values():
                session.is_over |= entry["until"] - session.created >= SESSION_LIFETIME
        elif do == "sealed":
            self.sealed(self.sessions[entry["session"]], entry, at)

    def complete(self, session):
        session.is_complete = True
        self.rank(session)
        session.presumed = max(self.links, key=lambda link: link.heard, default=None)

    def sealed(self, session, entry, at):
        counter = entry.get("counter", session.counter)
        session.counter += "counter" not in entry
        if session.is_over or "plaintext" in entry:
            return
        if not session.is_complete:
            self.complete(session)
        before, session.heard = session.heard, at
        frames = {frame["type"]: frame for frame in entry["frames"]}
        if session.link:
            session.link.heard = at
        if "hello" in frames:
            self.hello(session, frames["hello"], counter, at)
        if session.link:
            session.link.heard = at
            self.frames(session, frames, at)
        if "bye" in frames:
            self.bye(session, before, frames["bye"]["reason"])

    def frames(self, session, frames, at):
        link = session.link
        if "heartbeat" in frames and session is link.sending:
            link.interval = max(1_000, 100 * frames["heartbeat"]["interval"])
        if "heartbeat" in frames or "typing" in frames:
            self.settle(session, at)
        if "message" in frames and frames["message"]["stream"] == link.held:
            link.next += frames["message"]["record"] == link.next

    def hello(self, session, hello, counter, at):
        if counter <= session.hello_counter:
            return
        is_first, session.hello_counter = session.link is None, counter
        held = self.names.get(hello["held"], hello["held"])
        if isinstance(held, str):
            self.fail(f"the peer holds {held}, which nothing named before {at}")
        if is_first:
            self.bind(session, hello, held, at)
        else:
            self.settle(session, at)
        link = session.link
        if session.rank < link.hello_rank:
            return
        link.hello_rank, link.is_held = session.rank, held is link.stream
        if not link.is_held and link.stream.is_used:
            link.stream = Stream()
        self.name_stream(link)
        if hello["stream"] != link.held and (held == 0 or held in link.named) and hello["stream"] not in link.given_up:
            link.given_up += [link.held] if link.next else []
            link.held, link.next = hello["stream"], 0

    def name_stream(self, link):
        if link.stream not in link.named:
            link.named = link.named[1 - REMEMBERED:] + [link.stream]

    def bind(self, session, hello, held, at):
        link = next((link for link in self.links if link.run == hello["run"]), None)
        if link is None:
            link = Link(hello["run"], session, Stream() if session.presumed else session.stream)
            self.links.append(link)
            for other in self.sessions.values():
                if other.link is None and other.is_complete and not other.presumed and other is not session:
                    other.presumed = link
                    link.named.append(other.stream)
        elif link.sending is not session:
            row = fitting_row(session, link.sending, held not in link.named, link, at)
            self.rows.append(row)
            if chosen(row, session, link.sending, self.is_smaller) is session:
                self.take(session, link, keeps_rank=session.rank > link.sending.rank)
            else:
                session.rank = min(session.rank, link.sending.rank - 1)
                link.older.insert(0, session)
            for dropped in link.older[:-OLDER_SESSIONS]:
                dropped.is_over = True
            link.older = link.older[-OLDER_SESSIONS:]
        session.link = link

    def take(self, session, link, keeps_rank=False):
        if not keeps_rank:
            self.rank(session)
        link.older = [other for other in link.older if other is not session]
        link.older += [] if link.sending.is_over else [link.sending]
        link.sending, link.is_held = session, False

    def settle(self, session, at):
        link = session.link
        patience = 300 if link.sending.hello_counter < 0 else link.interval * 7 // 4
        if session is not link.sending and not self.is_smaller and at - link.sending.heard >= patience:
            self.take(session, link)

    def bye(self, session, before, reason):
        link = session.link
        others = [] if link is None else [
            other for other in [*link.older, link.sending] if other is not session and other.hello_counter >= 0]
        if link and not any(other.rank > session.rank or other.heard > before for other in others):
            if reason != "unheard":
                self.links.remove(link)
                for other in [*link.older, link.sending]:
                    other.is_over = True
            return
        session.is_over = True
        if link and link.sending is session:
            self.take(max(others, key=lambda other: other.heard), link)
        elif link:
            link.older.remove(session)

    # Expected datagrams

    def expected(self, entry):
        if entry["kind"] == "initiation":
            known = self.names.setdefault("initiations", [])
            if entry["initiation"] not in known:
                known.append(entry["initiation"])
                if entry["initiation"] != f"i{len(known)}":
                    self.fail(f"{entry['initiation']} is out of turn")
        if entry["kind"] != "sealed":
            return
        session = self.sessions.get(entry["session"]) or self.fail(f"nothing began {entry['session']}")
        frames = {frame["type"]: frame for frame in entry["frames"]}
        if "bye" in frames:
            return
        if not session.is_complete or session.is_over:
            self.fail(f"{entry['session']} is not there at {entry['at']}")
        if session.link and session.link.sending is not session:
            self.fail(f"{entry['session']} only receives at {entry['at']}")
        if not session.link and "hello" not in frames:
            self.fail(f"{entry['session']} has no hello at {entry['at']}")
        if "hello" in frames and "stream" in frames["hello"]:
            self.check(frames["hello"], session, entry["at"])
        if "message" in frames:
            session.link.stream.is_used = True
            if not session.link.is_held:
                self.fail(f"a message goes out at {entry['at']} before its stream is held")

    def check(self, hello, session, at):
        link = session.link or session.presumed
        stream = link.stream if link else session.stream
        if stream.name is None and hello["stream"] not in self.names:
            if hello["stream"] != f"s{1 + sum(name != 'initiations' for name in self.names)}":
                self.fail(f"{hello['stream']} is out of turn")
            stream.name = hello["stream"]
            self.names[stream.name] = stream
        held = (link.held, link.next) if link else (0, 0)
        if (stream.name, *held) != (hello["stream"], hello["held"], hello["next"]):
            self.fail(f"at {at} the hello is {(stream.name, *held)}, not {hello}")


def first(entry):
    return entry["at"][0] if isinstance(entry["at"], list) else entry["at"]


def timeline(row):
    """The case of a row of `links.TIMELINES`, checked."""
    name, clauses, key, until, inputs, datagrams, events = row
    datagrams = sorted(datagrams, key=first)
    model = Model(name, key == "smaller")
    for listed in (inputs, events):
        if [entry["at"] for entry in listed] != sorted(entry["at"] for entry in listed):
            model.fail("its times do not grow")
    if max(map(first, [*inputs, *datagrams, *events])) > until:
        model.fail("it ends too early")
    both = [(first(entry), index, entry) for index, listed in enumerate((inputs, datagrams)) for entry in listed]
    for _, index, entry in sorted(both, key=lambda item: item[:2]):
        (model.expected if index else model.input)(entry)
    rows = [int(number) for number in name.split(":")[0].split() if number.isdigit()] if name.startswith("row") else []
    if rows and model.rows != rows:
        model.fail(f"the rows that decide are {model.rows}")
    return {"name": name, "clauses": clauses, "key": key, "inputs": inputs, "datagrams": datagrams, "events": events,
            "until": until}
