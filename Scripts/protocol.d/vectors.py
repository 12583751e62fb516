"""vectors.py [--check]: writes into the conformance suite those vectors of Protocol/vectors/ that can test a running
program."""

import base64
import json

import generated
import texts

LINES = ["// Made by Scripts/protocol vectors from the files in Protocol/vectors/. Don't edit it.",
         "// swift-format-ignore-file", "", "extension Vector {"]


def read(name):
    return json.loads(texts.read(f"vectors/{name}.json"))


def text(value):
    return value.encode("utf-8").hex()


def bit(value):
    return "1" if value else "0"


def listed(name, doc, cases, *fields):
    if len(LINES) > 4:
        LINES.append("")
    LINES.extend([f"    /// {doc}", f'    static let {name} = Vector.list(#"""'])
    for case in cases:
        values = [",".join(case["clauses"]), case["name"]] + [str(field(case)) for field in fields]
        assert not any("|" in value or "\n" in value or '"#' in value for value in values), values
        LINES.append("        " + "|".join(values))
    LINES.append('        """#)')


def chat(case):
    of = case["chat"]
    return "open:" + text(of["open"]) if "open" in of else f'secret:{of["secret"]}:{of.get("owner", "")}'


def sender_input(entry):
    words = [str(entry["at"]), entry["do"]]
    return ":".join(words + ([text(entry["text"])] if "text" in entry else []))


# Typing frames: time, typing, away, c for a copy, m before a record. Heartbeats come with an h.
def sender_expectation(entry):
    flags = ("h" if entry["frame"] == "heartbeat" else "") + ("c" if entry.get("copy") else "")
    return f'{entry["at"]}:{bit(entry["typing"])}:{bit(entry["away"])}:{flags}' + ("m" if entry.get("with") else "")


def receiver_input(entry):
    if entry["do"] == "status":
        return f'{entry["at"]}:status:{entry["counter"]}:{bit(entry["typing"])}'
    return f'{entry["at"]}:{entry["do"]}'


def frame(entry):
    kind = entry["type"]
    if kind in ("heartbeat", "typing"):
        bits = bit(entry["typing"]) + bit(entry["away"]) + bit(entry["unheard"])
        return f'{kind},{bits}' + (f',{entry["interval"]}' if kind == "heartbeat" else "")
    if kind == "record":
        flags = bit(entry["first"]) + bit(entry["last"])
        return f'record,{entry["number"]},{entry["recordType"]},{flags},{entry["body"]}'
    if kind == "ack":
        return f'ack,{entry["next"]},{entry["bitmap"]}'
    if kind == "unknown":
        return "unknown,0"
    return f'{kind},' + str(entry.get("token", entry.get("next", entry.get("reason"))))


def state_input(entry):
    return f'{entry["at"]}:{entry["counter"]}:' + "+".join(frame(one) for one in entry["frames"])


# The kinds of frames, "unheard" for an unheard heartbeat alone, or the presence; other states are not seen.
def state_expectation(entry):
    if "frames" in entry:
        kinds = [one["type"] for one in entry["frames"]]
        words = ["unheard"] if kinds == ["heartbeat"] else [kind for kind in kinds if kind != "heartbeat"]
    else:
        words = [entry["presence"]] if "presence" in entry else ["state"]
    return f'{entry["at"]}:' + "+".join(words)


def record_expectation(entry):
    if "text" in entry:
        return f'{entry["at"]}:text:{text(entry["text"])}'
    return f'{entry["at"]}:ack:{entry["ack"]}:{entry["bitmap"]}'


def entries(name, form):
    return lambda case: ";".join(form(entry) for entry in case[name])


data = read("derivations")
get = lambda field: lambda case: case[field]
name = lambda case: text(case["chatName"])
listed("chats", "Chat, pre-shared key, prologue key.", data["chats"], chat, get("psk"), get("prologueKey"))
listed("chatNames", "Name as hex of its UTF-8, the same after normalisation.", data["chatNames"], name, get("bytes"))
listed("invalidChatNames", "Name as hex of its UTF-8.", data["invalidChatNames"], name)
listed("secrets", "Text, bytes.", data["secrets"], get("text"), get("bytes"))
listed("invalidSecrets", "Text as hex of its UTF-8.", data["invalidSecrets"], lambda case: text(case["text"]))
listed(
    "invites", "Text and name as hex of their UTF-8, secret, owner.", data["invites"], lambda case: text(case["text"]),
    name, get("secret"), lambda case: case["owner"] or "")
listed("invalidInvites", "Text as hex of its UTF-8.", data["invalidInvites"], lambda case: text(case["text"]))
listed(
    "invalidKeys", "The bytes of keys that are well-formed in text, but not valid.",
    [case for case in data["invalidKeys"] if case["error"] == "key"],
    lambda case: base64.urlsafe_b64decode(case["text"] + "=").hex())
listed("userIDs", "Public key, user ID.", data["userIDs"], get("publicKey"), get("userID"))
listed(
    "serviceRecords", "Chat, nonce, TXT record, public key; empty if it is refused.",
    data["serviceRecords"] + data["invalidServiceRecords"], chat, get("nonce"), get("bytes"),
    lambda case: case.get("publicKey", ""))
listed("successors", "Body.", data["successors"], get("body"))
listed("invalidSuccessors", "Body.", data["invalidSuccessors"], get("body"))
listed("invalidTalks", "Keys with which nobody has a talk.", data["invalidTalks"], get("publicKey"))

data = read("datagrams")
listed("datagrams", "Bytes.", data["valid"], get("bytes"))
listed("invalidDatagrams", "Bytes.", data["invalid"], get("bytes"))

data = read("frames")
listed("frames", "Plaintext.", data["valid"], get("bytes"))
listed("invalidFrames", "Plaintext, error.", data["invalid"], get("bytes"), get("error"))
listed("names", "Body, display name as hex of its UTF-8.", data["names"], get("body"),
       lambda case: text(case["displayName"]))
listed("inviteRecords", "Sender, body, what a receiver takes.", data["invites"], get("sender"), get("body"), get("takes"))

data = read("handshake")
pairs = {}
for case in data["valid"]:
    for side in (case["initiator"], case["responder"]):
        pairs.setdefault(side["staticPublic"], dict(case, staticPrivate=side["staticPrivate"]))
identities = [dict(case, name=f"the identity {key}", key=key) for key, case in sorted(pairs.items())]
listed("identities", "Public key, private key.", identities, get("key"), get("staticPrivate"))
refused = [case for case in data["invalid"] if "initiation" in case]
listed("invalidInitiations", "Bytes, error.", refused, get("initiation"), get("error"))
listed(
    "lowOrderKeys", "Keys of low order.",
    [case for case in refused if "ephemeral key of low order" in case["name"]],
    lambda case: case["initiation"][26:90])
listed(
    "invalidResponses", "Bytes, error.", [case for case in data["invalid"] if "response" in case],
    get("response"), get("error"))

data = read("sealed")
listed("invalidSealed", "Key, bytes, error.", data["invalid"], get("key"), get("bytes"), get("error"))

step = lambda entry: f'{entry["session"]}:{entry["counter"]}:{entry["datagram"]}:{entry["outcome"]}'
listed(
    "replays", "Steps: session, counter, datagram, outcome.", read("replay")["sequences"], entries("steps", step))

data = read("timelines")
listed("texts", "Text as hex of its UTF-8, whether it counts.", data["texts"], lambda case: text(case["text"]),
       lambda case: bit(case["counts"]))
listed(
    "senderTimelines", "End, inputs (time:command[:text]), frames (time:typing:away:flags).", data["sender"],
    get("until"), entries("inputs", sender_input), entries("expect", sender_expectation))
listed(
    "receiverTimelines", "End, inputs (time:command[:counter:typing]), changes (time:shown).",
    data["receiver"], get("until"), entries("inputs", receiver_input),
    entries("expect", lambda entry: f'{entry["at"]}:{bit(entry["shown"])}'))

data = read("links")
listed(
    "stateTimelines", "End, inputs (time:counter:frames), expectations (time:kinds).", data["states"],
    get("until"), entries("inputs", state_input), entries("expect", state_expectation))
listed(
    "recordTimelines", "End, inputs (time:frame), expectations (time:ack:next:bitmap, time:text:hex).",
    data["receiver"], get("until"), entries("inputs", lambda entry: f'{entry["at"]}:{frame(entry["frame"])}'),
    entries("expect", record_expectation))
LINES.append("}\n")
generated.save("Sources/Proof/InklingConformance/Vectors/ListedVectors.swift", "\n".join(LINES), "vectors")
