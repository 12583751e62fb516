"""Inkling in WeeChat: who is typing, and messages, on the local network without a server.

Copy this file into ~/.local/share/weechat/python/autoload, and enter `/script load inkling.py`. The script attaches to
`inkling daemon`, or to a prompt of yours, by a socket that only you can open (Protocol/api.md). Until one runs, the
script waits. `/help inkling` lists the commands. WeeChat logs no messages to its files. Two options:

  /set plugins.var.python.inkling.socket PATH  names the daemon's socket, if it is not in the usual place
  /set plugins.var.python.inkling.bar off      leaves out the line that says who is typing, the bar item `inkling`

Needs WeeChat 3.8 with its plugin for Python (3.9), and nothing else.
"""

import base64
import json
import os
import re
import socket
import time
import unicodedata

import weechat

NAME, INTERFACE, SWITCH = "inkling", 1, {"on": True, "off": False}
BACKLOG, KEPT = 50, 1000  # messages that a buffer begins with, and that the script knows again
LINES, NAME_LENGTH, SUFFIX = 100, 32, 4  # of a message; characters of a name, and of the user ID behind it
QUIET, OK = "no_highlight,notify_none", weechat.WEECHAT_RC_OK
REASONS = {"bye": "left", "quit": "you left", "left": "you left", "silence": "out of reach", "will": "quit",
           "stalled": "did not answer", "full": "too many links", "lost-state": "lost", "removed": "removed you",
           "replaced": "restarted", "given-up": "given up", "no-room": "no room"}
# Signs without a shape, which Unicode does not count as such; and signs like the mark of a verified person.
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
MARKS = "√∛∜℣⎷⍻☑⛉⛊⛨✅✓✔ꚝ𐄂🗸🗹🛡🮱"


def safe(text, line=True):
    """A text of others as text alone. Control characters, and so all codes of WeeChat, show as escapes like \\x19."""
    shown, marks = "", 0
    for c in text.replace("\r\n", "\n"):
        kind = unicodedata.category(c)
        marks = marks + 1 if kind[0] == "M" or c in "\u200c\u200d" else 0
        if c in "\n\r\x85\u2028\u2029":
            c = "\\x0a" if line else "\n"
        elif kind == "Cc":
            c = "    " if c == "\t" and not line else f"\\x{ord(c):02x}"
        elif (marks > 4 or c in FILLERS or 0xFE00 <= ord(c) < 0xFE0F + line or ord(c) >= 0xE0000
              or kind == "Cf" and (line or not marks)):
            c = ""  # among them all signs that reverse the text around them
        elif kind in ("Cs", "Co", "Cn"):
            c = "\ufffd"
        shown += c
    return shown


def safe_name(name):
    """A name as shown, and whether it can stand alone."""
    shown = "".join(c for c in safe(unicodedata.normalize("NFC", name)) if c not in MARKS)
    shown = " ".join(shown.split())[:NAME_LENGTH].strip()
    if not re.search(r"\w", shown):
        return "Someone", False
    plain = re.fullmatch(r"(?i)(?!.*\band\b)[^\W_][\w.'’-]*( [\w.'’-]+){0,3}", shown)
    return shown, bool(plain) and shown == name and likeness(name) not in ("you", "someone", "nobody", NAME)


def likeness(name):
    """The letters and digits of a name, by which this script compares names."""
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


def listed(words, more=3):
    words = words[:more] + ([f"{len(words) - more} more"] if len(words) > more else [])
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def clock(at):
    return time.strftime("%H:%M" if abs(time.time() - at) < 80000 else "%Y-%m-%d %H:%M", time.localtime(at))


def show(buffer, prefix, text, tags=QUIET, at=0.0, after=""):
    *lines, last = text.split("\n", LINES)
    for line in [*lines, (f"({last.count(chr(10)) + 1} more lines)" if len(lines) == LINES else last) + after]:
        weechat.prnt_date_tags(buffer, int(at), tags, f"{prefix}\t{line}")
        prefix = ""


def tell(buffer, text, tags=QUIET, prefix="network"):
    show(buffer, weechat.prefix(prefix).strip(), text, tags)


def set_up(buffer, **properties):
    for name, value in properties.items() if buffer else ():
        weechat.buffer_set(buffer, name, value)


class Message:
    """An own message, and its outcomes so far."""

    def __init__(self, chat, to, tag, unknown):
        self.chat, self.to, self.tag, self.unknown, self.outcomes = chat, to, tag, unknown, {}

    def mark(self):
        delivered, waiting, failed = (
            [self.chat.label(user) + f" ({REASONS.get(why, why)})" * bool(why) for user, (found, why)
             in self.outcomes.items() if found == kind] for kind in ("delivered", "waiting", "failed"))
        count, some = len(delivered), f", delivered to {len(delivered)} of {self.to}" * bool(delivered)
        color, words = next((color, words) for holds, color, words in (
            (failed, "red", f"may not have reached {listed(failed)}{some}"),
            (waiting, "yellow", f"waiting for {listed(waiting)}{some}"),
            (not self.to, "red", "nobody was here"),
            (count == self.to, "darkgray", "delivered" if self.to == 1 else f"to all {self.to}"),
            (self.unknown, "red", f"not known whether it arrived{some}"),
            (True, "darkgray", f"{count} of {self.to} have it" if count else "on its way")) if holds)
        return f"  {weechat.color(color)}({words})"

    def update(self):
        """Shows the outcomes behind the message, if its line is still there."""
        buffer, lines, line, data = map(weechat.hdata_get, ("buffer", "lines", "line", "line_data"))
        at = weechat.hdata_pointer(lines, weechat.hdata_pointer(buffer, self.chat.shown(), "own_lines"), "last_line")
        for _ in range(KEPT):
            found = weechat.hdata_pointer(line, at, "data") if at else ""
            tags = range(weechat.hdata_get_var_array_size(data, found, "tags_array") if found else 0)
            if self.tag in (weechat.hdata_string(data, found, f"{tag}|tags_array") for tag in tags):
                text = weechat.hdata_string(data, found, "message").rpartition("  ")[0]
                return weechat.hdata_update(data, found, {"message": text + self.mark()})
            at = weechat.hdata_pointer(line, at, "prev_line") if at else ""


class Chat:
    """A chat of the daemon, and its buffer if it has one."""

    def __init__(self, name):
        self.name, self.buffer, self.joined, self.loading, self.draft = name, "", False, False, ""
        self.invite = self.secret = self.talk = self.removing = None
        self.people, self.alike = {}, {}  # by user ID, also people who left; sets of user IDs by likeness
        self.nicks, self.typing = {}, []  # what the nicklist shows; the labels of who types
        self.messages = {}  # those in the buffer

    def shown(self):
        """The buffer, which is made if there is none."""
        if self.buffer:
            return self.buffer
        title = safe(self.name)
        while not self.buffer:
            self.buffer, title = weechat.buffer_new(f"{NAME}.{title}", "call", "entered", "call", "closed"), title + "'"
        for group in "0|here", "1|away":
            weechat.nicklist_add_group(self.buffer, "", group, "weechat.color.nicklist_group", 1)
        self.describe(), self.load()
        for user in self.people:
            self.enlist(user)
        return self.buffer

    def describe(self):
        kind = "you two alone" if self.talk else "private" if self.invite else "open: all on the network can read it"
        own = safe_name(inkling.name)[0]
        set_up(self.buffer, title=f"{safe(self.name)} ({kind})" + " is not connected" * (not self.joined),
               short_name=safe(self.name), nicklist="1", input_multiline="1", localvar_set_nick=own,
               localvar_set_type="private" if self.talk else "channel", localvar_set_no_log="1",
               highlight_words="" if re.search("[,*$]", own) else own)

    def met(self, person):
        """Notes what a line says of a person."""
        user, person = person["user"], {"name": (person.get("names") or [""])[0], **person}
        former, namesakes = self.people.get(user, person), {*person.get("namesakes", ())}
        if former["name"] != person["name"]:
            for same in self.same(user, former["name"]):
                same.discard(user)
            inkling.doubtful.discard(user)
        self.people[user] = {"presence": "offline", **former, **person}
        # The line of one of two names the other. Now the names of both mislead.
        inkling.doubtful |= namesakes | ({user} if namesakes else set())
        for same in self.same(user, person["name"]):
            same.add(user)
            namesakes |= same if len(same) == 2 else {user}
        for other in namesakes:
            self.enlist(other)

    def same(self, user, name):
        """The people whose names are like this one, and those of them with the same piece of their user IDs."""
        return [self.alike.setdefault(likeness(name) + piece, set()) for piece in ("", "~" + user[:SUFFIX])]

    def label(self, user, name="", mark=True):
        """A name, a piece of the user ID if the name could mislead, and a mark if the user verified the person."""
        person = self.people.get(user) or {"name": name}
        (shown, clear), verified = safe_name(person["name"]), person.get("verified")
        alike, twin = (len(same) > (user in same) for same in self.same(user, person["name"]))
        if person.get("namesake", {}).get("verified") if verified else (
                alike or user in inkling.doubtful or likeness(shown) == likeness(inkling.name)) or not clear:
            shown += " ~" + (user if twin else user[:SUFFIX])
        return shown + " ✓" * bool(mark and verified)

    def enlist(self, user):
        """Brings a person's line in the nicklist up to date."""
        person, former, nick = self.people.get(user), self.nicks.pop(user, None), None
        if self.buffer and person and self.joined and person["presence"] != "offline":
            nick = self.nicks[user] = self.label(user, mark=False), person["presence"], person.get("verified")
        if former and former != nick:
            weechat.nicklist_remove_nick(self.buffer, weechat.nicklist_search_nick(self.buffer, "", former[0]))
        if nick and former != nick:
            group, color = ("1|away", "weechat.color.nicklist_away") if nick[1] == "away" else (
                "0|here", weechat.info_get("nick_color_name", user))
            group = weechat.nicklist_search_group(self.buffer, "", group)
            weechat.nicklist_add_nick(self.buffer, group, nick[0], color, "✓" if nick[2] else " ", "lightgreen", 1)

    def find(self, text):
        """The user IDs of the people whom a text means: by label, user ID, name, or the piece in a label."""
        piece = text.rpartition("~")[2] if "~" in text else ""
        return [user for user in self.people if text in (user, self.label(user, mark=False))] or [
            user for user, one in self.people.items() if safe_name(one["name"])[0].casefold() == text.casefold()
            or len(piece) >= SUFFIX and user.startswith(piece)]

    def peer(self, line):
        user, why = line["user"], line["why"]
        before, former = self.people.get(user, {"presence": "offline"}), self.label(user)
        self.met(line)
        was, there = before["presence"] != "offline", line["presence"] != "offline"
        if was != there and self.buffer:
            text = "is here" if there else "has left" if why == "bye" else f"has left ({REASONS.get(why, why)})"
            tags = "notify_highlight" if why == "removed" else QUIET
            tell(self.buffer, f"{self.label(user)} {text}", tags, "join" if there else "quit")
        elif there and before["name"] != line["name"] and self.buffer:
            tell(self.buffer, f"{former} is now called {self.label(user)}")

    def types(self, line):
        labels = [self.label(one["user"], one["name"]) for one in line["users"]]
        for label in {*labels} ^ {*self.typing} if self.buffer else ():
            weechat.hook_signal_send("typing_set_nick", weechat.WEECHAT_HOOK_SIGNAL_STRING, ";".join(
                [self.buffer, "typing" if label in labels else "off", label.replace(";", ",")]))
        self.typing = labels
        weechat.bar_item_update(NAME)

    def message(self, line, old=False):
        """Shows a message, unless the buffer has it. An old one is an entry of `messages`."""
        own, run, user, after = "sent" in line, inkling.run(line["at"]), line["from"]["user"], ""
        text = safe(line["text"], line=False)
        key = own, line["sent" if own else "message"], run or line["at"]  # numbers begin again with each daemon
        is_new, tags = key not in self.messages, f"{NAME}_message,nick_{user},"
        tag = f"{NAME}_own_{int(run or line['at'])}_{key[1]}"
        message = self.messages.setdefault(key, Message(self, line.get("to"), tag, not run))
        for kind in "delivered", "waiting":
            message.outcomes.update({one: (kind, "") for one in line.get(kind, ())})
        message.outcomes.update({one["user"]: ("failed", one["why"]) for one in line.get("failed", ())})
        if not is_new:
            return message.update() if own else None
        if own:
            prefix, after = weechat.color("chat_nick_self") + safe_name(inkling.name)[0], message.mark()
            tags += f"{message.tag},self_msg,{QUIET}"
        else:
            prefix = weechat.info_get("nick_color", user) + self.label(user, line["from"]["name"])
            tags += QUIET if old and "unread" not in line else "notify_private" if self.talk else "notify_message"
            if line["at"] - line.get("written", line["at"]) > 60:
                after = f"  {weechat.color('darkgray')}(written {clock(line['written'])})"
        if len(self.messages) > KEPT:
            del self.messages[next(iter(self.messages))]
        if text.startswith("/me "):  # an action
            prefix, text = weechat.prefix("action").strip(), f"{prefix}{weechat.color('reset')} {text[4:]}"
        show(self.shown(), prefix, text, tags, line["at"], after)

    def load(self):
        """Asks for the last messages, also those that came while WeeChat was not there, and until the answer."""
        def loaded(answer):
            self.loading = False
            for line in answer["messages"]:
                self.message(line, old=True)
        self.loading = self.joined
        inkling.ask(loaded, do="messages", chat=self.name, count=BACKLOG)

    def disconnected(self):
        self.joined, self.loading, self.typing, self.draft = False, False, [], ""
        for user, person in self.people.items():
            person["presence"] = "offline"
            self.enlist(user)
        for (own, _, _), message in self.messages.items():
            if own and len(message.outcomes) < message.to:
                message.unknown = True
                message.update()
        if self.buffer:
            weechat.hook_signal_send("typing_reset_buffer", weechat.WEECHAT_HOOK_SIGNAL_POINTER, self.buffer)
            tell(self.buffer, "Not connected", prefix="quit")
        self.describe()


class Inkling:
    """The connection to the daemon, and its chats."""

    def __init__(self):
        self.socket, self.hook, self.out, self.input = None, "", bytearray(), b""
        self.name, self.user, self.key, self.away, self.ready = "", None, "", False, False
        self.chats, self.kept = {}, set()  # the names of those in which the daemon stays
        self.buffer, self.doubtful = "", set()  # for what belongs to no chat; user IDs with names that resemble others
        self.runs, self.awaited, self.number = set(), {}, 0  # when the daemons of this session began; requests
        self.open, self.ending, self.trouble, self.reported = None, False, "Not connected yet", False

    def chat_of(self, buffer):
        return next((chat for chat in self.chats.values() if chat.buffer == buffer != ""), None)

    def run(self, at):
        """When the daemon began that wrote a line; 0 if that is not known."""
        return max((began for began in self.runs if began <= at), default=0)

    def connect(self):
        folders = (os.environ.get("XDG_RUNTIME_DIR"), f"/run/user/{os.getuid()}",
                   os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"))
        given = os.path.expanduser(weechat.config_get_plugin("socket"))
        for path in [given] if given else [f"{folder}/inkling/socket" for folder in folders if folder]:
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            if connection.connect_ex(path) == 0:
                self.socket, self.hook = connection, weechat.hook_fd(connection.fileno(), 1, 0, 0, "call", "tick")
                return
        self.fail("Inkling does not run. To start it: inkling daemon")

    def fail(self, text):
        if not self.reported:
            tell(self.buffer, f"{text}. This script connects by itself as soon as that is possible", prefix="error")
        self.trouble, self.reported = text, True
        weechat.bar_item_update(NAME)

    def close(self, text):
        weechat.unhook(self.hook)
        self.socket.close()
        self.socket, self.ready, self.open, self.input = None, False, None, b""
        for _, request, buffer in self.awaited.values():
            if request["do"] == "send":
                tell(buffer, f"Not known whether this was sent: {safe(request['text'])}", prefix="error")
        self.out.clear(), self.awaited.clear()
        for chat in self.chats.values():
            chat.disconnected()
        self.fail(text)

    def ask(self, then=None, buffer=None, **request):
        """Sends a request. `then` gets its answer, and an error shows in the buffer."""
        if self.socket is not None:
            self.number += 1
            self.awaited[self.number] = then, request, buffer
            self.out += json.dumps({**request, "id": self.number}).encode() + b"\n"
            self.flush()

    def flush(self):
        """Writes what the socket takes. The rest follows when the daemon writes, or after a second."""
        try:
            while self.out:
                del self.out[:self.socket.send(self.out[:1 << 16])]
        except OSError:
            pass  # the end of the connection shows at the next reading

    def read(self):
        try:
            content = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            content = b""
        if not content:
            return self.close(self.trouble or "Inkling has ended")
        *lines, self.input = (self.input + content).split(b"\n")
        for line in lines:
            if self.socket is not None:
                self.handle(json.loads(line))

    def handle(self, line):
        """Takes a line. Other kinds of lines and members are of a later version."""
        kind, chat = line["on"], self.chats.get(line.get("chat"))
        if "id" in line:
            then, request, buffer = self.awaited.pop(line["id"])
            if kind == "error":
                unsure = line["code"] in ("private-name", "open-name", "similar-name", "names-unknown")
                text = safe(line["text"]) + f": {safe(request.get('text', ''))}" * (request["do"] == "send")
                text += f". To do so all the same: /inkling {request['do']} -confirm …" * unsure
                tell(buffer or self.buffer, text, prefix="error")
            elif then is not None:
                then(line)
        elif kind == "ready":
            self.begin(line)
        elif kind == "error":
            self.trouble = "Inkling was stopped" if line["code"] == "stopped" else safe(line["text"])  # it ends
        elif kind == "self":
            self.name, self.away = line["name"], line["away"]
            for other in self.chats.values():
                other.describe()
            weechat.bar_item_update(NAME)
        elif kind == "notice":
            self.notice(line, chat)
        elif chat and kind in ("peer", "typing"):
            (chat.peer if kind == "peer" else chat.types)(line)
        elif chat and kind == "missed":
            tell(chat.shown(), f"{line['messages']} messages were left out", "notify_message")
        elif chat and kind == "message":
            if chat.shown() and not chat.loading:
                chat.message(line)
            if "unread" in line:
                self.ask(do="read", chat=chat.name)
        elif chat and kind in ("delivered", "failed", "waiting"):
            if message := chat.messages.get((True, line.get("message"), self.run(line["at"]))):
                message.outcomes[line["user"]] = kind, line.get("why", "")
                message.update()
            elif "entry" in line:  # of a text that waited since an earlier run of the daemon
                words = "reached" if kind == "delivered" else "may not have reached"
                tell(chat.shown(), f"A message that waited {words} {chat.label(line['user'])}")

    def begin(self, line):
        if line.get("interface") != INTERFACE:
            return self.close("This script needs another version of Inkling")
        for name in [*self.chats] if self.user != line["user"] else ():  # another identity
            self.drop(name)
        self.name, self.user, self.key, self.away, self.ready = line["name"], line["user"], line["key"], False, True
        self.trouble, self.reported = "", False
        tell(self.buffer, f"Connected to Inkling {safe(line['version'])} as {safe_name(self.name)[0]}")
        self.ask(self.started, do="status")

    def started(self, status):
        """Joins the kept chats, and those that were joined before."""
        self.runs.add(status["since"])
        self.kept = {one["chat"] for one in status["chats"] if one["kept"]}
        for name, chat in self.chats.items():
            if name not in self.kept:
                self.enter(None, do="join", **({"invite": chat.invite, "keep": True} if chat.invite else {
                    "chat": name, "secret": chat.secret, "keep": True} if chat.secret else {"chat": name}))
        for name in self.kept:
            self.enter(None, do="join", chat=name)

    def enter(self, command, **request):
        """Joins a chat, perhaps by a command. The user then wants to see it."""
        def entered(answer):
            name = answer["chat"]
            is_new, chat = name not in self.chats, self.chats.setdefault(name, Chat(name))
            chat.joined, chat.invite, chat.secret, chat.talk = True, *map(answer.get, ("invite", "secret", "with"))
            for person in [*chat.people.values(), *answer["peers"]]:
                chat.met(person)
            if chat.buffer:
                chat.describe(), chat.load()
            if is_new or command:
                set_up(chat.shown(), **({"display": "1"} if command else {}))
            self.ask(lambda who: [chat.met(person) for person in who["peers"]], do="who", chat=name)
            self.visited()
        self.ask(entered, command and command.buffer, **request, **(command.more if command else {}), open=False)

    def drop(self, name):
        chat = self.chats.pop(name, None)
        if chat and chat.buffer:
            weechat.buffer_close(chat.buffer)

    def invited(self, line):
        who = (self.chats.get(line["chat"]) or Chat("")).label(line["user"], line["name"])
        what = f"invites you to {safe(line['to'])}" if "to" in line else "wants to talk with you alone"
        return f"{who} {what}: /inkling accept {line['invitation']} or /inkling decline {line['invitation']}"

    def notice(self, line, chat):
        code, text, tags = line["code"], safe(line["text"]), "notify_message" if chat else QUIET
        if code == "invited":
            text, tags = self.invited(line), "notify_private"
        elif code == "key-changed":
            self.doubtful, tags = self.doubtful | {line["user"], line["known"]}, "notify_highlight"
        elif code == "moved" and chat:
            chat.invite = line["invite"]
        if code not in ("invitation-over", "open-chat", "reachable-on-link"):  # the title says the second one
            tell(chat.buffer if chat and chat.buffer else self.buffer, text, tags)

    def tick(self, _):
        if self.socket is None:
            return self.connect()
        self.flush(), self.read()

    def entered(self, buffer, text):
        """The user has entered a message. WeeChat has emptied the input field before, which ended the typing."""
        chat = self.chat_of(buffer)
        if chat is None or not chat.joined:
            tell(buffer, f"Not sent: this {'chat is not connected' if chat else 'buffer is no chat'}", prefix="error")
            return set_up(buffer if chat else "", input=text, input_pos=str(len(text)))
        self.ask(lambda answer: chat.message(
            {"at": answer["at"], "from": {"user": self.user, "name": self.name}, "sent": answer["message"],
             "to": answer["to"], "text": text}), buffer, do="send", chat=chat.name, text=text)

    def edited(self, signal, buffer):
        """Each key in the current chat is an edit. Its text stays with the daemon."""
        chat = self.chat_of(buffer)
        if chat and chat.joined and chat.name == self.open:
            text = weechat.buffer_get_string(buffer, "input")
            text = text[-10000:] if weechat.string_input_for_buffer(text) else ""  # else a command
            if text != chat.draft:
                chat.draft = text
                self.ask(do="compose", chat=chat.name, text=text)

    def visited(self, *_):
        """Makes the chat of the current buffer the current chat, and none if that is no chat."""
        chat = self.chat_of(weechat.current_buffer())
        name = chat.name if chat and chat.joined else None
        if self.ready and name != self.open:
            if self.open in self.chats:
                self.chats[self.open].draft = ""  # `open` ends it
            self.open = name
            for do in ("open", "read") if name else ("open",):
                self.ask(do=do, **({"chat": name} if name else {}))
        weechat.bar_item_update(NAME)

    def closed(self, buffer):
        chat, self.buffer = self.chat_of(buffer), "" if buffer == self.buffer else self.buffer
        if chat and not self.ending:
            chat.buffer = ""
            chat.nicks.clear(), chat.messages.clear()
            if chat.invite or chat.secret or chat.name in self.kept:
                return tell(self.buffer, f"You stay in {safe(chat.name)}. To leave it: /inkling leave NAME")
            del self.chats[chat.name]
            self.ask(do="leave", chat=chat.name)

    def command(self, buffer, arguments):
        word, _, text = (arguments.strip() or "status").partition(" ")
        try:
            if word not in COMMANDS or not self.ready:
                raise RuntimeError(self.trouble if word in COMMANDS else f"Unknown: {word}. To see all: /help inkling")
            more = {"confirm": True} if text.startswith("-confirm ") else {}
            COMMANDS[word][0](Command(buffer, more), text.removeprefix("-confirm ").strip())
        except RuntimeError as refusal:
            tell(buffer, safe(str(refusal)), prefix="error")

    def bar(self, item, window, buffer, extra):
        names = getattr(self.chat_of(buffer or weechat.current_buffer()), "typing", [])
        if names:
            return f"{listed(names, 2)} {'is' if len(names) == 1 else 'are'} typing…"
        away = "You are away. To be back: /inkling back" * self.away
        return away if self.ready else weechat.color("red") + self.trouble


class Command:
    def __init__(self, buffer, more):
        self.buffer, self.chat, self.more = buffer, inkling.chat_of(buffer), more

    def ask(self, then, **request):
        """Sends a request. `then` gets the answer, or is what to say when it has come."""
        inkling.ask((lambda answer: tell(self.buffer, then)) if isinstance(then, str) else then, self.buffer, **request)

    def list(self, member, line, **request):
        self.ask(lambda answer: tell(self.buffer, "\n".join(map(line, answer[member])) or f"No {member}"), **request)

    def here(self):
        if not self.chat or not self.chat.joined:
            raise RuntimeError("This works in the buffer of a chat. To join one: /inkling join NAME")
        return {"chat": self.chat.name}

    def named(self, text):
        return next((name for name in inkling.chats if text == safe(name)), text) or self.here()["chat"]

    def person(self, text):
        """The chat in which somebody is, their user ID, and what is known of them."""
        for chats in [self.chat] if self.chat else [], inkling.chats.values():
            found = {user: chat for chat in chats for user in chat.find(text.removesuffix(" ok"))}
            if len(found) > 1:
                labels = [chat.label(user) for user, chat in found.items()]
                raise RuntimeError(f"Several people have this name: {listed(labels, 10)}")
            for user, chat in found.items():
                return chat, user, chat.people[user]
        raise RuntimeError(f"Nobody here is called {text}" if text else "Name somebody")

    def join(self, text):
        chat = inkling.chats.get(text)
        if chat and chat.joined:
            return set_up(chat.shown(), display="1")
        inkling.enter(self, do="join", **(
            {"invite": text, "keep": True} if text.lower().startswith("inkling:") else {"chat": text}))

    def invite(self, text):
        words = text.split(" ")
        for index in range(1, len(words)):
            name = self.named(" ".join(words[index:]))
            if name in inkling.chats:
                chat, user, person = self.person(" ".join(words[:index]))
                return self.ask(f"{chat.label(user)} is invited", do="invite", chat=name, key=person["key"])
        name = self.named(text)
        if name not in inkling.chats:
            # A private chat begins as an invite: its name, 128 random bits, and its owner's key.
            secret, quoted = base64.b32encode(os.urandom(16)), "".join(f"%{byte:02X}" for byte in name.encode())
            secret = secret.decode().rstrip("=").lower()
            self.join(f"inkling:{quoted}#{secret}@{inkling.key}")
        self.ask(lambda answer: tell(inkling.chats[name].buffer or self.buffer, "To join: /inkling join "
                                     + answer.get("invite", safe(name))), do="invite", chat=name)

    def invitation(self, text):
        number, _, name = text.partition(" ")
        return {"invitation": self.number(number, "invitations"), **({"chat": name} if name else {})}

    def number(self, text, command):
        if not text.isdecimal():
            raise RuntimeError(f"Give a number. To see all: /inkling {command}")
        return int(text)

    def remove(self, text):
        here, (chat, user, gone) = self.here(), self.person(text)
        def decide(who):
            others = {one["key"]: chat.label(one["user"], one["name"]) for one in who["peers"]
                      if one["user"] != user and not one["blocked"]}
            if text.endswith(" ok") and chat.removing == (user, {*others}):
                return self.ask(None, do="move", **here, keys=sorted(others), removed=[gone["key"]])
            chat.removing = user, {*others}
            tell(self.buffer, f"The chat moves to a new secret, which {chat.label(user)} does not get. With you move: "
                 f"{listed([*others.values()], 1000) or 'nobody'}\nTo do so: /inkling remove {text} ok")
        self.ask(decide, do="who", **here)

    def verify(self, text):
        chat, user, person = self.person(text)
        if text.endswith(" ok"):
            return self.decide(text, "verify", "verified", True)
        self.ask(lambda answer: tell(self.buffer, f"Compare with {chat.label(user)}:\n{' '.join(answer['groups'])}\n"
                                     f"If theirs is the same: /inkling verify {chat.label(user, mark=False)} ok"),
                 do="fingerprint", key=person["key"])

    def decide(self, text, do, member, value):
        chat, user, person = self.person(text)
        if do == "block" and person.get("verified") and not text.endswith(" ok"):
            raise RuntimeError(f"You have verified them. To block them: /inkling block {text} ok")
        def done(_):
            for one in inkling.chats.values():
                if user in one.people:
                    one.met({**one.people[user], member: value})
            tell(self.buffer, f"{chat.label(user, mark=False)} is {'now' if value else 'no longer'} {member}")
        self.ask(done, do=do, key=person["key"])

    def people(self, text):
        chat, do, member = (self.chat, "who", "peers") if self.chat else (Chat(""), "people", "people")
        def line(one):
            chat.met(one)
            seen = f"last seen {clock(one['lastSeen'])}" if "lastSeen" in one else one.get("presence", "")
            return f"{chat.label(one['user'])}: {seen}, {one['user']}" + ", blocked" * one["blocked"]
        self.list(member, line, do=do, **({"chat": chat.name} if self.chat else {}))


COMMANDS = {  # with their arguments and help
    "join": (Command.join, "[-confirm] NAME or INVITE", "joins a chat or shows it; a private one stays yours"),
    "leave": (lambda here, text: here.ask(lambda _: inkling.drop(here.named(text)), do="leave", chat=here.named(text)),
              "[NAME]", "leaves a chat for good; coming back to a private one takes its invite"),
    "talk": (lambda here, text: inkling.enter(here, do="talk", key=here.person(text)[2]["key"], keep=True),
             "[-confirm] PERSON", "opens a chat for the two of you alone"),
    "invite": (Command.invite, "[PERSON] [NAME]", "shows a chat's invite, makes a private chat, or invites to one"),
    "accept": (lambda here, text: inkling.enter(here, do="accept", keep=True, **here.invitation(text)),
               "[-confirm] NUMBER [NAME]", "joins the chat of an invitation, perhaps under your own name for it"),
    "decline": (lambda here, text: here.ask("Declined", do="decline", **here.invitation(text)),
                "NUMBER", "ends an invitation; its sender does not notice"),
    "invitations": (lambda here, _: here.list("invitations", inkling.invited, do="invitations"),
                    "", "lists the open invitations"),
    "remove": (Command.remove, "PERSON [ok]", "moves a private chat of yours to a new secret, without that person"),
    "verify": (Command.verify, "PERSON [ok]", "shows the digits to compare; with ok, they were the same"),
    "unverify": (lambda here, text: here.decide(text, "unverify", "verified", False), "PERSON", "undoes verify"),
    "block": (lambda here, text: here.decide(text, "block", "blocked", True),
              "PERSON [ok]", "hides the two of you from each other, for good"),
    "unblock": (lambda here, text: here.decide(text, "unblock", "blocked", False), "PERSON", "undoes block"),
    "people": (Command.people, "", "lists the people of this chat or, elsewhere, all that you know"),
    "nick": (lambda here, text: here.ask("Others see it", do="nick", name=text), "NICK", "changes your name"),
    "away": (lambda here, _: here.ask("You are away", do="away"), "", "tells the others that you are away"),
    "back": (lambda here, _: here.ask("You are back", do="back"), "", "tells the others that you are there"),
    "history": (lambda here, text: here.ask(f"history: {text}", do="history", **here.here(), on=SWITCH.get(text)),
                "on or off", "keeps the messages of a private chat on your computer, or removes them"),
    "find": (lambda here, text: here.list("messages", lambda one: (
        f"{clock(one['at'])} {here.chat.label(one['from']['user'], one['from']['name'])}: {safe(one['text'])}"),
        do="messages", **here.here(), text=text, count=LINES), "TEXT", "finds messages of the chat"),
    "hold": (lambda here, text: here.ask(f"hold: {text}", do="hold", **here.here(), on=SWITCH.get(text)),
             "on or off", "lets messages wait for people who are offline, or gives up those that wait"),
    "waiting": (lambda here, _: here.list("waiting", lambda one: (
        f"{one['entry']}: since {clock(one['at'])} in {safe(one['chat'])} for {safe_name(one['name'])[0]} "
        f"~{one['user'][:SUFFIX]}: {safe(one['text'])[:60]}"), do="waiting"), "", "lists the messages that wait"),
    "forget": (lambda here, text: here.ask("Given up", do="forget", **(
        {"entry": here.number(text, "waiting")} if text != "all" else {})),
               "NUMBER or all", "gives up a message that waits, by its number in waiting"),
    "chats": (lambda here, _: here.list("chats", lambda one: (
        f"{safe(one['chat'])}: {'private' if one['secret'] else 'open'}, {one['present']} here, {one['unread']} unread"
        + ", history" * one["history"] + ", hold" * one["hold"]), do="chats"), "", "lists your chats"),
    "status": (lambda here, _: here.ask(lambda one: tell(here.buffer, (
        f"Inkling {safe(one['version'])} since {clock(one['since'])}, as {safe_name(one['name'])[0]} ({one['user']})"
        + ", away" * one["away"])), do="status"), "", "says what this script is attached to"),
}


def call(method, *arguments):
    """What WeeChat calls, which knows functions alone."""
    answer = getattr(inkling, method)(*arguments)
    return OK if answer is None else answer


def unload():
    """The end of the connection ends drafts, and takes this script out of the chats."""
    inkling.ending = True
    if inkling.socket is not None:
        inkling.socket.close()
    if bar := weechat.bar_search(NAME):
        weechat.bar_remove(bar)
    return OK


inkling = Inkling()
if weechat.register(NAME, "Inkling", "0.3.0", "Apache-2.0", "Who types, and messages, without a server", "unload", ""):
    usage, texts, words = zip(*((f"{name} {arguments}", f"{name:>12}: {text}", f"{name} %(nicks)")
                                for name, (_, arguments, text) in COMMANDS.items()))
    weechat.hook_command(NAME, "Inkling: who is typing, and messages, on the local network", " || ".join(usage),
                         "\n".join(texts), " || ".join(words), "call", "command")
    for signal, method in ("input_text_changed", "edited"), ("buffer_switch", "visited"), ("window_switch", "visited"):
        weechat.hook_signal(signal, "call", method)
    weechat.bar_item_new(f"(extra){NAME}", "call", "bar")
    if weechat.config_get_plugin("bar") != "off":
        weechat.bar_new(NAME, "off", "400", "window", "${buffer.local_variables.script_name} == inkling", "bottom",
                        "horizontal", "vertical", "1", "0", "default", "cyan", "default", "default", "off", NAME)
    weechat.hook_timer(1000, 0, 0, "call", "tick")  # milliseconds
    inkling.buffer = weechat.buffer_new(NAME, "call", "entered", "call", "closed")
    set_up(inkling.buffer, title="Inkling: /help inkling", localvar_set_type="server", localvar_set_no_log="1")
    inkling.connect()
