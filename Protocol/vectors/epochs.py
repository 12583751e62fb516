"""The decisions of L-58 to L-69 and L-95 as functions, and the tables of `epochs.json` made with them.

A link is a dictionary of its `state` (up, suspect, down) and its pair of epochs, `own` and `peer`.
"""

from itertools import product

from cases import case

STATES = ("up", "suspect", "down")


def answer(link, key_epoch, epoch):
    """Decides on an initiation with `epoch`, whose run is that of `link`."""
    if link and epoch < link["peer"]:
        return {"decision": "drop"}
    return {"decision": "answer", "epoch": link["own"] if link and epoch == link["peer"] else key_epoch}


def named(link, down_links, key_epoch):
    """Returns the epoch of an initiation for `link`, or else of an opening; `down_links` begins with the newest."""
    return link["own"] if link else down_links[0]["own"] if down_links else key_epoch


def join(link, own, peer):
    """Decides on a joining session of a pair of epochs, whose run is that of `link`."""
    if link is None:
        return {"decision": "make", "pair": [own, peer]}
    if own < link["own"] or peer < link["peer"]:
        return {"decision": "drop"}
    return {"decision": "join" if (own, peer) == (link["own"], link["peer"]) else "replace", "pair": [own, peer]}


def response(link, key_epoch, own, peer, is_second):
    """Decides on a response with the epoch `peer` to an initiation with `own`; `is_second`: caused by L-65 or L-66."""
    present = link["own"] if link else key_epoch
    if own != present:
        return {"decision": "drop"} if is_second else {"decision": "handshake", "epoch": present}
    if link and link["state"] == "down" and peer < link["peer"]:
        return {"decision": "forget"}
    return join(link, own, peer)


def links(own=4, peer=7):
    return [{"state": state, "own": own, "peer": peer} for state in STATES]


def rows(decide, **values):
    """A row for each combination of values, with the decision."""
    return [{**dict(zip(values, chosen)), "result": decide(*chosen)} for chosen in product(*values.values())]


def suspecting(state):
    """The other link of the key when a new link is made (L-31); a down link stays down."""
    return "down" if state == "down" else "suspect"


class Counter:
    """The epochs of one node, with a counter for each chat (L-59, L-60)."""

    def __init__(self, start):
        self.start, self.values, self.epochs = start, {}, {}

    def apply(self, do, chat, key):
        value = self.values.setdefault(chat, self.start)
        if do == "forget":
            if value == 2**32 - 1:
                return {"newRun": True}
            self.values[chat] = self.epochs[chat, key] = value + 1
        elif do == "drop":
            self.epochs.pop((chat, key), None)
            return {}
        return {"epoch": self.epochs.setdefault((chat, key), value)}


COUNTERS = [
    ("one key", 0, "deal:a:A forget:a:A deal:a:A forget:a:A"),
    ("keys share the counter", 0, "deal:a:A deal:a:B forget:a:A forget:a:B deal:a:A deal:a:C"),
    ("each chat has a counter of its own", 0, "deal:a:A deal:b:A forget:a:A deal:b:A forget:b:A deal:a:A"),
    ("a replaced state leaves the epoch", 0, "deal:a:A replace:a:A deal:a:A forget:a:A"),
    ("a dropped epoch comes back no lower", 0, "deal:a:A forget:a:A forget:a:B drop:a:A deal:a:A"),
    ("the last value", 2**32 - 2, "deal:a:A forget:a:A forget:a:A")]


def counters():
    cases = []
    for name, start, text in COUNTERS:
        counter = Counter(start)
        steps = [{"do": do, "chat": chat, "key": key, "result": counter.apply(do, chat, key)}
                 for do, chat, key in (word.split(":") for word in text.split())]
        cases.append(case(f"the counter: {name}", "L-59 L-60 L-69", counter=start, steps=steps))
    return cases


def tables():
    down, older = links()[2], {"state": "down", "own": 2, "peer": 9}
    return {
        "answers": [
            case("an initiation of a run without a link", "L-62",
                 rows=rows(answer, link=[None], keyEpoch=[0, 6], epoch=[0, 7, 2**32 - 1])),
            case("an initiation of a link's run", "L-62 L-63", rows=rows(answer, link=links(), keyEpoch=[4, 6], epoch=[0, 6, 7, 8]))],
        "initiations": [
            case("an initiation for a link", "L-64", rows=rows(named, link=links(), downLinks=[[], [older]], keyEpoch=[4, 6])),
            case("the initiation of an opening", "L-64",
                 rows=rows(named, link=[None], downLinks=[[], [down], [down, older]], keyEpoch=[4, 6]))],
        "responses": [
            case("a response of a run without a link", "L-66", rows=rows(
                response, link=[None], keyEpoch=[6], named=[0, 5, 6], epoch=[0, 7], isSecond=[False, True])),
            case("a response of a link's run to the link's own epoch", "L-68 L-69 L-95", rows=rows(
                response, link=links(), keyEpoch=[4, 6], named=[4], epoch=[0, 6, 7, 8], isSecond=[False])),
            case("a response of a link's run to another epoch", "L-65", rows=rows(
                response, link=links(), keyEpoch=[6], named=[3, 5, 6], epoch=[6, 7, 8], isSecond=[False, True]))],
        "joins": [
            case("the first datagram on a session of a run without a link", "L-67 L-68",
                 rows=rows(join, link=[None], own=[0, 6], peer=[0, 7])),
            case("the first datagram on a session of a link's run", "L-67 L-68 L-69", rows=rows(
                join, link=links(), own=[3, 4, 5], peer=[6, 7, 8]))],
        "others": [case("a new link of a key beside a link of another run", "L-31 L-61", rows=rows(suspecting, state=STATES))],
        "counters": counters(),
    }
