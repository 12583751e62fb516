"""The rows of the table. Each is a function over a door, Bob, and perhaps Carol, with one expectation for all doors. A row
names the cells that differ on purpose, and those that fail today."""

import inspect

from lan import fresh, until

ROWS = []


class Row:
    def __init__(self, run, act, effect, needs, purpose, faults, slow):
        self.run = run
        self.name = run.__name__
        self.act = act
        self.effect = effect
        self.needs = needs  # methods of the door
        self.purpose = purpose  # reasons, by door, of cells that the function expects to differ
        self.faults = faults  # by door: what the user sees today, and words of the error by which the cell fails
        self.slow = slow  # doors whose cell runs with --all alone
        self.wants_carol = len(inspect.signature(run).parameters) > 2


def row(act, effect, needs=(), purpose={}, faults={}, slow=()):
    def add(run):
        ROWS.append(Row(run, act, effect, needs, purpose, faults, slow))
        return run
    return add


def meet(door, bob, word="hall"):
    """An open chat with Bob; returns its name."""
    chat = fresh(word)
    bob.joins(chat, keep=True)
    door.enter(chat)
    bob.sees(chat, door.user, *door.presence)
    door.sees(chat, "Bob")
    return chat


def meet_privately(door, bob):
    """A private chat of Bob's; returns its name and its invite."""
    chat = fresh("team")
    invite = bob.makes(chat)
    door.enter_by_invite(chat, invite)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    return chat, invite


def invited(door, bob):
    """A private chat to which Bob invites the user."""
    hall, team = meet(door, bob), fresh("team")
    bob.makes(team)
    bob.ask(do="invite", chat=team, key=bob.sees(hall, door.user)["key"])
    return team


def talking(door, bob):
    """A talk that the user begins; returns its names at the user's node and at Bob's."""
    chat = door.talk(meet(door, bob), "Bob")
    theirs = bob.ask(do="accept", invitation=bob.invitation(door.user)["invitation"])["chat"]
    bob.sees(theirs, door.user)
    return chat, theirs


def nobody_reads(person, chat, text):
    assert text not in person.texts(chat), f"{person.name} reads {text!r}"


def check_no_typing(bob, chat):
    """No typing has come before the answer to the last request."""
    typed = [line for line in bob.front_end.lines if line["on"] == "typing" and line["chat"] == chat]
    assert not typed, f"Bob sees typing: {typed}"


def check_stay(door, bob, chat, theirs=None):
    """After the user has left the door, a daemon's node stays in a chat, and another node leaves."""
    if door.has_daemon:
        assert chat in door.person.chats(), f"the daemon has left {chat}: {list(door.person.chats())}"
        bob.sees(theirs or chat, door.user)
    else:
        bob.sees(theirs or chat, door.user, "offline")


def quit_and_come_back(door, bob, chat, theirs):
    door.quit()
    check_stay(door, bob, chat, theirs)
    door.open(chat)
    bob.sees(theirs, door.user, *door.presence)


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
    if door.has_daemon:
        door.prompt_opens(chat)


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


@row("accept an invitation", "the user is in the chat, and each door lists the chat", needs=["accept"])
def accept(door, bob):
    team = invited(door, bob)
    door.accept(team)
    bob.sees(team, door.user)
    door.has_chat(team)


@row("decline an invitation", "the user joins nothing, and no door shows the invitation any more", needs=["accept"])
def decline(door, bob):
    team = invited(door, bob)
    door.decline(team)
    door.has_chat(team, False)
    if door.serves:
        until(lambda: not door.person.ask(do="invitations")["invitations"], "no invitation is open")
    assert bob.peer(team, door.user) is None, "Bob sees the user in the chat"


@row("invite somebody", "they see the invitation, and meet the user in the chat", needs=["invite_person"])
def invite(door, bob):
    team = fresh("team")
    door.make(team)
    hall = meet(door, bob)
    door.invite_person(hall, "Bob", team)
    invitation = bob.invitation(door.user)
    assert invitation["to"] == team, invitation
    bob.ask(do="accept", invitation=invitation["invitation"])
    bob.sees(team, door.user)


@row("talk with somebody alone", "they see the wish, both are in one chat, and each door lists the chat",
     needs=["talk"])
def talk(door, bob):
    chat, theirs = talking(door, bob)
    door.sees(chat, "Bob")
    door.send(chat, "for you alone")
    bob.reads(theirs, "for you alone")
    door.has_chat(chat)


@row("leave a chat", "the others see that the user has left, and no door lists the chat")
def leave(door, bob):
    chat, _ = meet_privately(door, bob)
    door.leave(chat)
    bob.sees(chat, door.user, "offline")
    door.has_chat(chat, False)


@row("quit in a private chat and come back", "a daemon stays in the chat until the user leaves it; the chat's name "
     "alone opens it again")
def quit_private(door, bob):
    chat, _ = meet_privately(door, bob)
    quit_and_come_back(door, bob, chat, chat)


@row("quit in a chat of an invitation and come back", "as in a private chat", needs=["accept"])
def quit_accepted(door, bob):
    team = invited(door, bob)
    door.accept(team)
    bob.sees(team, door.user)
    quit_and_come_back(door, bob, team, team)


@row("quit in a talk and come back", "as in a private chat", needs=["talk"])
def quit_talk(door, bob):
    quit_and_come_back(door, bob, *talking(door, bob))


@row("quit in an open chat and come back", "the others see that the user has left, and is back")
def quit_open(door, bob):
    chat = meet(door, bob)
    door.quit()
    if door.keeps:
        check_stay(door, bob, chat)
    else:
        bob.sees(chat, door.user, "offline")
    door.open(chat)
    bob.sees(chat, door.user, *door.presence)


@row("quit, and stay away", "a daemon's node shows the user as away after 5 s",
     purpose={"prompt alone": "Without a daemon, the node ends with the door.",
              "JSON alone": "Without a daemon, the node ends with the door."}, slow=["prompt, attached", "page"])
def away_after_quit(door, bob):
    chat, _ = meet_privately(door, bob)
    if door.has_daemon:
        door.person.command("join", chat)
    door.quit()
    bob.sees(chat, door.user, "away" if door.has_daemon else "offline")


@row("kill -9 of the node, and come back", "the others see that the user has left, and then the same person again; a "
     "daemon is in the private chat again by itself")
def kill(door, bob):
    chat, _ = meet_privately(door, bob)
    key = bob.peer(chat, door.user)["key"]
    door.kill_node()
    if door.has_daemon:
        check_stay(door, bob, chat)
    else:
        bob.sees(chat, door.user, "offline")
    door.open(chat)
    assert bob.sees(chat, door.user, *door.presence)["key"] == key, "another identity"


@row("write to somebody who is offline", "the text waits, they read it when they are back, and the user learns of both",
     purpose={"JSON alone": "A driven node's text reaches only people who are there, and the door says so.",
              "commands": "`inkling send` ends when the text waits; a prompt shows what becomes of it."})
def write_to_offline(door, bob):
    chat, _ = meet_privately(door, bob)
    text = f"later in {chat}"
    bob.stop()
    try:
        door.sees(chat, "Bob", "offline")
        door.send(chat, text)
        door.outcome(text, "waiting" if door.serves else "nobody")
        if door.serves:
            waiting = door.person.ask(do="waiting")["waiting"]
            assert [one["text"] for one in waiting] == [text], waiting
    finally:
        bob.start()
    if door.serves:
        bob.reads(chat, text)
        if door.stays:
            door.outcome(text, "delivered")
        until(lambda: not door.person.ask(do="waiting")["waiting"], "nothing waits any more")


@row("list what waits, and forget it", "they never read it, and no door lists it any more", needs=["wait"])
def forget(door, bob):
    chat, _ = meet_privately(door, bob)
    bob.stop()
    try:
        door.sees(chat, "Bob", "offline")
        door.send(chat, f"never in {chat}")
        door.outcome(f"never in {chat}", "waiting")
        door.forget(chat, door.waits(chat, f"never in {chat}"))
        until(lambda: not door.person.ask(do="waiting")["waiting"], "nothing waits any more")
    finally:
        bob.start()
    bob.joins(chat)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.send(chat, f"now in {chat}")
    bob.reads(chat, f"now in {chat}")
    nobody_reads(bob, chat, f"never in {chat}")


@row("read the unread", "the user reads once what came while nobody looked, and each door then counts none as unread",
     needs=["read"])
def read(door, bob):
    chat, invite = meet_privately(door, bob)
    if door.has_daemon:
        door.person.command("join", chat)
    door.quit()
    check_stay(door, bob, chat)
    bob.writes(chat, f"while away in {chat}")
    if door.has_daemon:
        until(lambda: door.person.chats()[chat]["unread"] == 1, "the message is unread")
    door.enter_by_invite(chat, invite)
    door.shows(f"while away in {chat}")
    door.read(chat)
    if door.has_daemon:
        until(lambda: door.person.chats()[chat]["unread"] == 0, "the message is read")


@row("use a command beside the door", "it sends as the same person, who does not come or go for it",
     needs=["beside"])
def beside(door, bob):
    chat, _ = meet_privately(door, bob)
    key, text = bob.peer(chat, door.user)["key"], f"from a command in {chat}"
    door.person.command("send", chat, text)
    bob.reads(chat, text)
    there = bob.sees(chat, door.user, *door.presence)
    assert there["key"] == key, "another identity"
    assert [peer["name"] for peer in bob.ask(do="who", chat=chat)["peers"]] == [door.user], "a second node"


@row("change one's name", "the others and each door show the new name", needs=["rename"])
def rename(door, bob):
    chat, name = meet(door, bob), f"{door.user}bel"
    door.rename(name)
    bob.sees(chat, name)
    if door.serves:
        assert door.person.ask(do="identity")["name"] == name, door.person.ask(do="identity")


@row("change one's name, then kill -9", "the new name holds", needs=["rename"])
def rename_and_kill(door, bob):
    chat, name = meet(door, bob), f"{door.user}bel"
    door.rename(name)
    door.kill_node()
    door.enter(chat)
    bob.sees(chat, name, *door.presence)


@row("be away, and back", "the others see it, and so does each door", needs=["away"])
def away(door, bob):
    chat = meet(door, bob)
    door.away()
    bob.sees(chat, door.user, "away")
    if door.serves:
        assert door.person.ask(do="status")["away"], "the daemon does not know"
    door.back()
    bob.sees(chat, door.user, *door.presence)
    if door.serves:
        assert not door.person.ask(do="status")["away"], "the daemon does not know"


@row("type", "the others see that the user types, until the text is sent", needs=["type"])
def typing(door, bob):
    chat = meet(door, bob)
    door.type(chat, f"tea in {chat}")
    bob.typing(chat, door.user)
    door.submit(f"tea in {chat}")
    bob.typing(chat)
    bob.reads(chat, f"tea in {chat}")


@row("switch off in the settings that others see typing", "the others see no typing, and then the text", needs=["type"])
def silent_typing(door, bob):
    door.settings("[privacy]\nsend-typing = false\n")
    try:
        chat = meet(door, bob)
        door.type(chat, f"tea in {chat}")
        door.submit(f"tea in {chat}")
        bob.reads(chat, f"tea in {chat}")
        check_no_typing(bob, chat)
    finally:
        door.settings("")


@row("chat with `--no-send-typing`", "the others see no typing, and then the text", needs=["enter_silently"])
def silent_chat(door, bob):
    chat = fresh("hall")
    bob.joins(chat)
    door.enter_silently(chat)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.type(chat, f"tea in {chat}")
    door.submit(f"tea in {chat}")
    bob.reads(chat, f"tea in {chat}")
    check_no_typing(bob, chat)


@row("take a name with a sign that never shows, such as a check mark", "the door shows the name that the others see",
     needs=["shown_name"])
def marked_name(door, bob):
    chat, name = meet(door, bob), f"{door.user}bel"
    shown = door.shown_name(f"{name} ✓")
    bob.sees(chat, f"{name} ✓")  # the name as it was sent, before a door makes it safe to show
    # With a piece of the user ID, as others see a name that had a sign.
    assert shown.split(" ~")[0] == name, f"the door shows {shown!r}, and the others see {name}"


@row("remove a member", "the removed member learns it, and reads no more; the others go on", needs=["remove"])
def remove(door, bob, carol):
    chat = fresh("team")
    invite = door.make(chat)
    for one in bob, carol:
        one.joins(chat, invite=invite, keep=True)
        one.sees(chat, door.user)
        door.sees(chat, one.name)
    door.remove(chat, "Bob")
    bob.learns_removal(chat)
    bob.sees(chat, door.user, "offline")
    until(lambda: carol.ask(do="invite", chat=chat)["invite"] != invite, "Carol's node has followed")
    carol.sees(chat, door.user)
    door.sees(chat, "Carol")
    door.send(chat, f"without Bob in {chat}")
    carol.reads(chat, f"without Bob in {chat}")
    door.outcome(f"without Bob in {chat}", "delivered")
    nobody_reads(bob, chat, f"without Bob in {chat}")
    door.has_chat(chat)


@row("hand a chat over", "the other owns the chat, and meets the user there", needs=["hand_over"])
def hand_over(door, bob):
    chat = fresh("team")
    bob.joins(chat, invite=door.make(chat), keep=True)
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.hand_over(chat, "Bob")
    until(lambda: bob.chats()[chat]["owner"] == bob.ask(do="identity")["key"], "Bob owns the chat")
    bob.sees(chat, door.user)
    door.has_chat(chat)


@row("join by an invite from before a move", "it leads to the present chat, if the user's node has followed")
def old_invite(door, bob):
    chat, invite = meet_privately(door, bob)
    key = bob.peer(chat, door.user)["key"]
    bob.ask(do="move", chat=chat, keys=[key])
    bob.sees(chat, door.user)
    door.sees(chat, "Bob")
    door.quit()
    door.enter_by_invite(chat, invite)
    bob.sees(chat, door.user, *door.presence)


@row("verify somebody", "each door shows that they are verified", needs=["verify"])
def verify(door, bob):
    chat = meet(door, bob)
    door.verify(chat, "Bob")
    door.sees_verified(chat, "Bob")
    if door.serves:
        assert door.person.peer(chat, "Bob")["verified"], door.person.peer(chat, "Bob")


@row("block somebody, write, and unblock", "they see the user as gone until the end, and read nothing", needs=["block"])
def block(door, bob):
    chat = meet(door, bob)
    door.block(chat, "Bob")
    bob.sees(chat, door.user, "offline")
    door.send(chat, f"not for Bob in {chat}")
    door.outcome(f"not for Bob in {chat}", "nobody")
    door.unblock(chat, "Bob")
    bob.sees(chat, door.user)
    nobody_reads(bob, chat, f"not for Bob in {chat}")


@row("keep the history, find, and end it", "what was said is found after a restart, until the history ends",
     needs=["history"])
def history(door, bob):
    chat, _ = meet_privately(door, bob)
    door.person.command("join", chat)
    door.history(chat, True)
    bob.writes(chat, f"cake in {chat}")
    door.shows(f"cake in {chat}")
    until(lambda: door.person.ask(do="messages", chat=chat, text="cake")["messages"], "the message is kept")
    door.kill_node()
    door.open(chat)
    found = door.find(chat, "cake")
    assert found == 1, f"{found} found"
    door.history(chat, False)
    assert not door.person.chats()[chat]["history"], "the history is on"
    left = door.person.ask(do="messages", chat=chat, text="cake")["messages"]
    assert not left, left


@row("make an invite, and join by the chat's name", "the user is in the private chat", needs=["prepare"])
def name_of_invite(door, bob):
    chat = fresh("team")
    bob.joins(chat, invite=door.prepare(chat))
    door.enter(chat)
    bob.sees(chat, door.user)
    door.has_chat(chat)


@row("invite somebody to a chat that is not there", "nothing is made, and the user learns why",
     needs=["invite_wrongly"])
def invite_wrongly(door, bob):
    hall = meet(door, bob)
    door.invite_wrongly(hall, "Bob", fresh("nothing"))


@row("mistype the name of a chat", "the door proposes the nearest", needs=["mistype"])
def mistype(door, bob):
    chat = meet(door, bob, "kitchen")
    shown = door.mistype(chat.replace("kitchen", "kichten"))
    assert chat in shown, f"the door shows {shown!r}, not {chat}"


@row("get a message in a chat that is not open", "the door counts it as unread at once", needs=["counts"])
def unread_elsewhere(door, bob):
    first = meet(door, bob)
    other = fresh("garden")
    bob.joins(other)
    if door.has_daemon:
        door.person.command("join", other)
    else:
        door.enter(other)
        door.open(first)
    bob.sees(other, door.user)
    bob.writes(other, f"look into {other}")
    until(lambda: door.counts(other), lambda: f"one is unread in {other}: {door.counted()}")


@row("read one's own name in another Unicode form", "the door marks the message as one for the user",
     needs=["rename", "mentions"])
def mention(door, bob):
    chat = meet(door, bob)
    door.rename("Zo\u00eb")
    bob.sees(chat, door.user)
    bob.writes(chat, "look, Zoe\u0308")
    until(lambda: door.mentions("Zo"), "the message is marked")


@row("write at once after opening a chat", "the door shows the text at once, also before anybody is there",
     needs=["echoes"])
def echo(door, bob):
    chat, text = fresh("team"), "hurry"
    door.make(chat)
    door.send(chat, text)
    until(lambda: door.echoes(text), f"the door shows {text!r}", 1)


@row("write an action such as `/me waves`", "the others see no typing, and then the action", needs=["type_action"])
def action(door, bob):
    chat = meet(door, bob)
    door.type(chat, "/me waves")
    door.submit("/me waves")
    bob.reads(chat, "/me waves")
    check_no_typing(bob, chat)


@row("see one's own presence", "the door shows what the others see", needs=["own_presence"])
def own_presence(door, bob):
    chat = meet(door, bob)
    assert door.own_presence() == "online", f"the door says {door.own_presence()}, and Bob sees online"
    door.quit()
    door.open(chat)
    bob.sees(chat, door.user, "online")
    assert door.own_presence() == "online", f"the door says {door.own_presence()}, and Bob sees online"


@row("load the page again while a text is begun", "the text is still there", needs=["reload"])
def reload(door, bob):
    chat = meet(door, bob)
    door.type(chat, "half a sente")
    door.reload(chat)
    assert door.draft() == "half a sente", f"the draft is {door.draft()!r}"
