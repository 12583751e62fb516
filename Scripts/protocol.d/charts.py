"""State charts, from figures/charts.json: states and transitions, with their places."""

import json
import math
import re

import svg
import texts

HIGH = 36
ROUND = 12


class State:
    def __init__(self, name, place):
        self.name = name
        self.x, self.y = place
        self.is_end = name in ("begin", "end")
        self.wide = 14 if self.is_end else max(svg.width(name) + 36, 96)
        self.high = 14 if self.is_end else HIGH

    def border(self, x, y):
        """Where the line from the middle to (x, y) leaves the state."""
        dx, dy = x - self.x, y - self.y
        if self.is_end:
            length = math.hypot(dx, dy) or 1
            return self.x + dx / length * 9, self.y + dy / length * 9
        scale = min(self.wide / 2 / abs(dx) if dx else math.inf, self.high / 2 / abs(dy) if dy else math.inf)
        return self.x + dx * scale, self.y + dy * scale

    def side(self, text):
        """A place on the border: `left`, `right`, `top` or `bottom`, and how far from its middle, as `left+8`."""
        name, offset = re.fullmatch(r"(left|right|top|bottom)([+-]\d+)?", text).groups()
        offset = int(offset or 0)
        return {
            "left": (self.x - self.wide / 2, self.y + offset),
            "right": (self.x + self.wide / 2, self.y + offset),
            "top": (self.x + offset, self.y - self.high / 2),
            "bottom": (self.x + offset, self.y + self.high / 2),
        }[name]


class Group(State):
    """States that have a transition in common, in one frame."""

    def __init__(self, members, states, margin):
        inner = [states[name] for name in members]
        left, right = min(s.x - s.wide / 2 for s in inner) - margin[0], max(s.x + s.wide / 2 for s in inner) + margin[2]
        top, bottom = min(s.y - s.high / 2 for s in inner) - margin[1], max(s.y + s.high / 2 for s in inner) + margin[3]
        self.members = members
        self.x, self.y, self.wide, self.high, self.is_end = (
            (left + right) / 2,
            (top + bottom) / 2,
            right - left,
            bottom - top,
            False,
        )


def rounded(points):
    """A path along the points, with round corners."""
    data = f"M{svg.number(points[0][0])} {svg.number(points[0][1])}"
    for before, at, after in zip(points, points[1:], points[2:]):

        def towards(other):
            length = math.dist(at, other)
            share = min(ROUND, length / 2) / length
            return at[0] + (other[0] - at[0]) * share, at[1] + (other[1] - at[1]) * share

        (x1, y1), (x2, y2) = towards(before), towards(after)
        data += f" L{svg.number(x1)} {svg.number(y1)} Q{svg.number(at[0])} {svg.number(at[1])} {svg.number(x2)} {svg.number(y2)}"
    return data + f" L{svg.number(points[-1][0])} {svg.number(points[-1][1])}"


def draw_transition(picture, states, one):
    begin, finish = states[one["from"]], states[one["to"]]
    via = [tuple(point) for point in one.get("via", [])]
    start = begin.side(one["out"]) if "out" in one else begin.border(*(via[0] if via else (finish.x, finish.y)))
    end = finish.side(one["in"]) if "in" in one else finish.border(*(via[-1] if via else (begin.x, begin.y)))
    picture.path(rounded([start, *via, end]), [start, *via, end])


def draw(name, chart):
    states = {state: State(state, place) for state, place in chart["states"].items()}
    told = "; ".join(
        f"{one['from']} to {one['to']}" + (f": {one['label']}" if one.get("label") else "")
        for one in chart["transitions"]
    )
    picture = svg.Picture(name, chart["title"], f"A state chart. {told}.")
    for group, frame in chart.get("groups", {}).items():
        states[group] = Group(frame["members"], states, frame["margin"])
        shape = states[group]
        picture.frame(shape.x - shape.wide / 2, shape.y - shape.high / 2, shape.wide, shape.high)
    for one in chart["transitions"]:
        draw_transition(picture, states, one)
    for state in states.values():
        left, top = state.x - state.wide / 2, state.y - state.high / 2
        if isinstance(state, Group):
            continue
        if state.is_end:
            picture.circle(state.x, state.y, 5, "dot")
            if state.name == "end":
                picture.circle(state.x, state.y, 8, "ring")
            continue
        picture.box(left, top, state.wide, state.high, radius=8, what=state.name)
        picture.text(state.x, state.y, state.name, kind="strong", owned=True)
    for one in chart["transitions"]:
        if one.get("label"):
            x, y, anchor = one["at"]
            picture.text(x, y, svg.wrapped(one["label"], one.get("columns", 24)), anchor=anchor)
    picture.faults += picture.crossed()
    return picture


def pictures():
    for name, chart in json.loads(texts.read("figures/charts.json")).items():
        yield draw(name, chart)
