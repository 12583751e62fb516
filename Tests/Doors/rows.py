"""The rows of the table. Each is a function over a door, Bob, and a third person, Carol, with the same expectation for
each door. A row says where it differs on purpose, and where it does not hold yet."""

import inspect

from lan import fresh, until

ROWS = []


class Row:
    def __init__(self, run, act, effect, needs, purpose, faults, slow):
        self.run = run
        self.name = run.__name__
        self.act = act
        self.effect = effect
        self.needs = needs  # acts that the door must have
        self.purpose = purpose  # reasons, by door
        self.faults = faults  # by door: what the user sees today, and words of the error by which the cell fails
        self.slow = slow  # doors whose cell runs with --all alone
        self.wants_carol = len(inspect.signature(run).parameters) > 2


def row(act, effect, needs=(), purpose={}, faults={}, slow=()):
    def add(run):
        ROWS.append(Row(run, act, effect, needs, purpose, faults, slow))
        return run
    return add


@row("begin an open chat", "the others there see the user, and each door lists the chat")
def begin_open(door, bob):
    chat = fresh("kitchen")
    bob.joins(chat)
    door.enter(chat)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.has_chat(chat)


@row("begin a private chat", "the user owns it, others join by its invite, and each door lists the chat")
def begin_private(door, bob):
    chat = fresh("team")
    invite = door.make(chat)
    bob.joins(chat, invite=invite)
    there = bob.sees(chat, door.user)
    assert bob.chats()[chat]["owner"] == there["key"], f"another owner than {there['key']}: {bob.chats()[chat]}"
    door.sees(chat, "Bob")
    door.has_chat(chat)


@row("join by the text of an invite", "the others there see the user, and each door lists the chat")
def join_by_text(door, bob):
    chat = fresh("team")
    door.enter_by_invite(chat, bob.makes(chat))
    bob.sees(chat, door.user)
    door.has_chat(chat)


@row("join by the file of an invite", "the others there see the user, and each door lists the chat",
     needs=["enter_by_file"])
def join_by_file(door, bob):
    chat = fresh("team")
    file = door.person.home / f"{chat}.invite"
    file.write_text(bob.makes(chat) + "\n", encoding="utf-8")
    file.chmod(0o600)
    door.enter_by_file(chat, file)
    bob.sees(chat, door.user)
    door.has_chat(chat)


@row("write to somebody who is there", "they read it once, and the user learns that it was delivered")
def write_to_present(door, bob):
    chat = fresh("kitchen")
    bob.joins(chat)
    door.enter(chat)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.send(chat, f"tea in {chat}")
    bob.reads(chat, f"tea in {chat}")
    door.outcome(f"tea in {chat}", "delivered")
    assert bob.texts(chat) == [f"tea in {chat}"], bob.texts(chat)
