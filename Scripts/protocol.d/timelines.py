"""Times as pictures: a peer that falls silent, and a user who types. The times come from limits.md."""

import svg
import texts

LEFT = 190
SECOND = 190  # pixels


class Line:
    """A picture along the time, with one lane below the other."""

    def __init__(self, name, title, description, begin, end):
        self.picture = svg.Picture(name, title, description)
        self.begin, self.end = begin, end
        self.top = 0

    def x(self, time):
        return LEFT + (time - self.begin) * SECOND

    def lane(self, label, high=40):
        self.top += high
        self.picture.text(LEFT - 16, self.top, svg.wrapped(label, 22), anchor="end")
        return self.top

    def ticks(self, y, times, tall=14, kind="tick"):
        for time in times:
            x = svg.number(self.x(time))
            self.picture.add(
                f'<path class="line" d="M{x} {svg.number(y - tall / 2)} L{x} {svg.number(y + tall / 2)}"/>'
            )
            self.picture.reach(self.x(time), y)

    def bar(self, y, begin, end, kind, label):
        self.picture.box(self.x(begin), y - 11, (end - begin) * SECOND, 22, kind=kind, radius=4)
        if label:
            self.picture.text((self.x(begin) + self.x(end)) / 2, y, label, owned=True, kind="on")

    def mark(self, time, y, lines, anchor="middle"):
        self.picture.text(self.x(time), y, lines, anchor=anchor, kind="faint")

    def axis(self):
        self.top += 34
        y = self.top
        self.picture.path(
            f"M{svg.number(self.x(self.begin))} {y} L{svg.number(self.x(self.end))} {y}",
            [(self.x(self.begin), y), (self.x(self.end), y)],
        )
        second = 0
        while second <= self.end:
            self.ticks(y, [second], tall=8)
            self.picture.text(self.x(second), y + 16, f"{second} s", kind="faint")
            second += 1


def silence():
    factor = texts.numbers(texts.limit("suspicion"))[0]
    count, step = texts.numbers(texts.limit("pings"))[:2]
    step /= 1_000
    idle = texts.numbers(texts.limit("idle interval"))[0]
    suspect = factor * idle
    down = suspect + count * step
    line = Line(
        "silence",
        "A peer that falls silent",
        f"With heartbeats every {idle:g} s: {suspect:g} s after the last evidence the link becomes suspect, {count:g} pings go out "
        f"{step * 1000:g} ms apart, and {down:.1f} s after the last evidence the link goes down.",
        -1,
        down + 0.6,
    )
    y = line.lane("evidence", 20)
    line.ticks(y, [-0.85, 0])
    line.mark(0.04, y, "the last one", anchor="start")
    y = line.lane("own pings")
    line.ticks(y, [suspect + step * index for index in range(int(count))])
    line.mark(suspect - 0.05, y, f"{count:g} pings, {step * 1000:g} ms apart (L-26)", anchor="end")
    y = line.lane("the link")
    line.bar(y, -1, suspect, "shown", "up")
    line.bar(y, suspect, down, "doubt", "suspect")
    line.mark(down + 0.05, y, "down (L-27)", anchor="start")
    y = line.lane("the user sees")
    line.bar(y, -1, down, "shown", "online")
    line.mark(down + 0.05, y, "offline", anchor="start")
    line.axis()
    return line.picture


def typing():
    start = texts.numbers(texts.limit("typing heartbeat"))[0] / 1_000
    copies = [value / 1_000 for value in texts.numbers(texts.limit("copies of edges, byes, unheard"))]
    expiry, idle = texts.numbers(texts.limit("typing expiry; idle stop"))
    edits = [0, 0.25, 0.45, 0.8, 1.1]
    stop = edits[-1] + idle
    beats = [start * index for index in range(1, int(stop / start) + 1) if start * index < stop]
    cut = beats[2]
    line = Line(
        "typing",
        "A user who types",
        f"The start goes out at the first edit and has copies after {copies[0] * 1000:g} and {copies[1] * 1000:g} ms; heartbeats "
        f"follow every {start * 1000:g} ms; the stop comes {idle:g} s after the last edit, with copies as well. A peer that hears "
        f"nothing more ends the typing {expiry:.1f} s after the last heartbeat that came.",
        0,
        5,
    )
    y = line.lane("edits", 20)
    line.ticks(y, edits)
    line.mark(edits[-1] + 0.06, y, f"the last one: typing ends {idle:g} s later (T-9)", anchor="start")
    y = line.lane("sent: start, stop, and their copies (T-6)")
    line.ticks(y, [0, *copies, stop, *(stop + copy for copy in copies)])
    line.mark(copies[-1] + 0.06, y, "start", anchor="start")
    line.mark(stop - 0.06, y, "stop", anchor="end")
    y = line.lane("sent: heartbeats (T-8)")
    line.ticks(y, beats)
    y = line.lane("a peer shows")
    line.bar(y, 0, stop, "shown", "typing")
    y = line.lane(f"a peer that hears nothing after {cut:g} s")
    line.bar(y, 0, cut + expiry, "shown", "typing")
    line.mark(cut + expiry + 0.06, y, "T-15", anchor="start")
    line.axis()
    return line.picture


def pictures():
    yield silence()
    yield typing()
