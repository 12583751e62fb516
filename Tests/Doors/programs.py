"""Programs that speak JSON lines, as doors."""

import harness
import lan
from doors import Door, Prompt
from lan import ended, until


class JSONAttached(Door, lan.Lines):
    """A program on the socket of a daemon."""

    name = "Leo"
    keeps = True
    in_code = "A program decides by itself what it shows and what counts as typing."
    cannot = {"type_action": in_code, "mistype": in_code, "mentions": in_code,
              "shown_name": in_code, "enter_silently": "A program that shows no typing sends no drafts.",
              "reload": Prompt.no_reload}

    def __init__(self):
        super().__init__()
        self.lines = None

    def ask(self, **request):
        if self.lines is None:
            self.lines = harness.FrontEnd(self.person.state)
        return self.lines.ask(**request)

    keep = {"keep": True}

    def enter(self, chat):
        self.joined(self.ask(do="join", chat=chat, **self.keep))

    def joined(self, answer):
        self.ask(do="open", chat=answer["chat"])

    def enter_by_invite(self, chat, invite):
        self.joined(self.ask(do="join", invite=invite, **self.keep))

    def enter_by_file(self, chat, file):
        self.enter_by_invite(chat, file.read_text(encoding="utf-8").strip())

    def prepare(self, chat):
        return self.person.command("invite", chat).split()[0]

    def make(self, chat):
        invite = self.prepare(chat)
        self.enter_by_invite(chat, invite)
        return invite

    def open(self, chat):
        if chat not in [one["chat"] for one in self.ask(do="chats")["chats"]] or self.lines.ready.get("new", True):
            self.lines.ready["new"] = False
            return self.enter(chat)
        self.ask(do="open", chat=chat)

    def leave(self, chat):
        self.ask(do="leave", chat=chat)

    def listed(self):
        return [one["chat"] for one in self.ask(do="chats")["chats"]]

    def type(self, chat, text):
        self.ask(do="compose", chat=chat, text=text)

    def invite_wrongly(self, chat, name, to):
        key, self.lines.number = self.key(chat, name), self.lines.number + 1
        self.lines.say(do="invite", chat=to, key=key, id=self.lines.number)
        self.lines.wait_for(lambda line: line.get("code") == "unknown-chat", "the error", lan.cell.patience)

    def counted(self):
        return {one["chat"]: one["unread"] for one in self.ask(do="chats")["chats"]}

    def counts(self, chat):
        if self.has_daemon:
            return self.counted()[chat] == 1
        self.ask(do="status")  # reads all lines before its answer
        return any(line["on"] == "message" and line["chat"] == chat for line in self.lines.lines)

    def echoes(self, text):
        return self.sent["on"] == "sent"

    def own_presence(self):
        return "away" if self.ask(do="status")["away"] else "online"

    def submit(self, text):
        self.ask(do="send", text=text)

    def send(self, chat, text):
        self.sent = self.ask(do="send", chat=chat, text=text)

    def shows(self, text):
        self.lines.wait_for(lambda line: line["on"] == "message" and line["text"] == text, f"the message {text!r}",
                            lan.cell.patience)

    def outcome(self, text, kind):
        if kind == "nobody":
            if self.sent["to"] != 0:
                raise AssertionError(f"{text!r} goes to somebody: {self.sent}")
            return
        self.lines.wait_for(lambda line: line["on"] == kind and line.get("message") == self.sent["message"],
                            f"{text!r} is {kind}", lan.cell.patience)

    def key(self, chat, name):
        return self.sees(chat, name)["key"]

    def rename(self, name):
        self.ask(do="nick", name=name)
        self.person.name = name

    def away(self):
        self.ask(do="away")

    def back(self):
        self.ask(do="back")

    def verify(self, chat, name):
        self.ask(do="verify", key=self.key(chat, name))

    def sees_verified(self, chat, name):
        until(lambda: self.peer(chat, name)["verified"], f"{name} is verified")

    def block(self, chat, name):
        self.blocked = self.key(chat, name)
        self.ask(do="block", key=self.blocked)

    def unblock(self, chat, name):
        self.ask(do="unblock", key=self.blocked)

    def invite_person(self, chat, name, to):
        self.ask(do="invite", chat=to, key=self.key(chat, name))

    def invitation(self, to):
        return until(lambda: next((one["invitation"] for one in self.ask(do="invitations")["invitations"]
                                   if one.get("to") == to), None), f"the invitation to {to}")

    def accept(self, to):
        self.joined(self.ask(do="accept", invitation=self.invitation(to), **self.keep))

    def decline(self, to):
        self.ask(do="decline", invitation=self.invitation(to))

    def talk(self, chat, name):
        answer = self.ask(do="talk", key=self.key(chat, name), **self.keep)
        self.joined(answer)
        return answer["chat"]

    def remove(self, chat, name):
        peers = self.ask(do="who", chat=chat)["peers"]
        self.ask(do="move", chat=chat, keys=[one["key"] for one in peers if one["name"] != name],
                 removed=[one["key"] for one in peers if one["name"] == name])

    def hand_over(self, chat, name):
        keys = [one["key"] for one in self.ask(do="who", chat=chat)["peers"]]
        self.ask(do="move", chat=chat, keys=keys, owner=self.key(chat, name))

    def history(self, chat, on):
        self.ask(do="history", chat=chat, on=on)

    def find(self, chat, text):
        return len(self.ask(do="messages", chat=chat, text=text)["messages"])

    def waits(self, chat, text):
        return until(lambda: next((one["entry"] for one in self.ask(do="waiting", chat=chat)["waiting"]
                                   if one["text"] == text), None), f"{text!r} waits")

    def forget(self, chat, number):
        self.ask(do="forget", entry=number)

    def read(self, chat):
        self.ask(do="read", chat=chat)

    def quit(self):
        if self.lines is not None:
            self.lines.ask(do="quit")
            self.close()

    def close(self):
        if self.lines is not None:
            self.lines.stop()
            self.lines = None

    def reset(self):
        super().reset()
        self.quit()
        self.person.reset()


class JSONAlone(JSONAttached):
    """A program that starts its own node."""

    name = "Jo"
    has_daemon = False
    serves = False
    keeps = False
    no_service = "A driven node serves its program alone, and keeps no messages on disk."
    keep = {}
    cannot = {**JSONAttached.cannot, "wait": no_service, "history": no_service,
              "beside": no_service}

    def __init__(self):
        super().__init__()
        self.process = None

    def begin(self, chat, *options):
        if (settings := self.person.home / ".config/inkling/config.toml").exists():
            options += "--config", settings
        self.process, self.lines = self.person.driven(chat, "--name", self.user, *options)
        self.lines.ready["new"] = False
        self.lines.ask(do="status")

    def enter(self, chat):
        if self.lines is None:
            return self.begin(chat)
        super().enter(chat)

    def enter_by_invite(self, chat, invite):
        if self.lines is None:
            return self.begin(None, "--invite", invite)
        super().enter_by_invite(chat, invite)

    def enter_by_file(self, chat, file):
        self.quit()
        self.begin(None, "--invite-file", file)

    def open(self, chat):
        if self.lines is None:
            return self.begin(chat)
        self.ask(do="open", chat=chat)

    def make(self, chat):
        if self.lines is None:
            self.begin(lan.fresh("hall"))
        return super().make(chat)

    def quit(self):
        if self.lines is not None:
            self.lines.ask(do="quit")
            ended(self.process)
            self.close()

    def kill_node(self):
        self.process.kill()
        self.process.wait()
        self.close()

    def reset(self):
        if self.person.name != self.person.first_name:
            if self.lines is None:
                self.begin(lan.fresh("hall"))
            self.rename(self.person.first_name)
        if self.lines is not None:
            self.quit()
