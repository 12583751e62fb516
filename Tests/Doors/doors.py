"""The doors of the program, which are the columns of the table. Each has the same acts as methods. `cannot` names the
acts that a door leaves out on purpose, with the reason."""

import json
import os
import re
import signal
import subprocess

import lan
from lan import PROGRAM, Person, until
from terminal import Terminal


SHOWN = {"online": "Active now", "offline": "ast seen"}  # what the prompt and the page say of a person


class Door:
    """A way for one person to use their node. `has_daemon` is whether that node is a daemon."""

    has_daemon = True
    serves = True  # whether other programs of the user can use the door's node
    keeps = False  # whether a daemon stays in an open chat after the user has left the door
    stays = True  # whether the door shows later what becomes of a text
    presence = ["online"]  # how others see the user in an open chat of the door
    cannot = {}

    def __init__(self):
        self.person = Person(self.name, self.has_daemon)

    @property
    def user(self):
        """The name under which others see the user."""
        return self.person.name

    def lists(self):
        """The chats that the user sees at each door of the node: {door: names}."""
        found = {type(self).__name__: self.listed()}
        if self.has_daemon:
            found["chats"] = [one["chat"] for one in json.loads(self.person.command("chats", "--json"))["chats"]]
            found["JSON lines"] = list(self.person.chats())
        return found

    def has_chat(self, chat, has=True):
        """Waits until each door lists a chat, or none does."""
        until(lambda: all((chat in names) == has for names in self.lists().values()),
              lambda: f"{chat} {'is' if has else 'is not'} in all of {self.lists()}")

    def prompt_opens(self, chat):
        """A further prompt of the same user opens a chat by its name alone."""
        terminal = Terminal(self.person.home, self.person.environment)
        try:
            terminal.enter(f"{PROGRAM} chat {chat}")
            terminal.wait(f"the chat {chat}", lambda: terminal.last().startswith(chat + " ("))
            return terminal.answer("/quit", r"^\$$")
        finally:
            terminal.stop()

    def settings(self, text):
        """Writes the settings, and starts the node again."""
        self.quit()
        self.person.settings(text)
        if self.has_daemon:
            self.person.stop()
            self.person.start()

    def kill_node(self):
        """Kills the node, and starts the daemon again if the node was one."""
        self.close()
        self.person.kill()
        self.person.start()

    def read(self, chat):
        """Marks a chat as read, at a door that does not do so when it shows the chat."""

    def close(self):
        """Drops what a killed daemon has ended."""

    def stop(self):
        """Ends all programs of the door."""
        self.close()
        self.person.stop()

    def reset(self):
        """Leaves the door as the next row expects it."""
        if self.person.name != self.person.first_name:
            self.rename(self.person.first_name)
        self.person.reset()


class Prompt(Door):
    """The prompt alone, which is its own node."""

    name = "Pia"
    has_daemon = False
    presence_at_change = "The prompt says it when `/away` or `/back` changes it."
    no_reload = "Only a page can be loaded again."
    cannot = {"own_presence": presence_at_change, "reload": no_reload}

    def __init__(self):
        super().__init__()
        self.terminal = Terminal(self.person.home, self.person.environment)
        self.is_open = False

    def run(self, options):
        self.terminal.enter(f"{PROGRAM} chat {options}")
        self.is_open = True

    def begin(self, chat, options):
        self.run(f"{options} --name {self.user}" if not self.has_daemon else options)
        self.wait_open(chat)

    def wait_open(self, chat):
        self.terminal.wait(f"the chat {chat}", lambda: re.match(re.escape(chat) + r"( \(.*)?>", self.terminal.last()))

    def enter(self, chat):
        if not self.is_open:
            return self.begin(chat, chat)
        self.terminal.enter(f"/join {chat}")
        self.wait_open(chat)

    def enter_silently(self, chat):
        self.quit()
        self.begin(chat, f"{chat} --no-send-typing")

    def enter_by_invite(self, chat, invite):
        if not self.is_open:
            return self.begin(chat, invite)
        self.terminal.enter(f"/join {invite}")
        self.wait_open(chat)

    def enter_by_file(self, chat, file):
        self.quit()
        self.begin(chat, f"--invite-file {file}")

    def prepare(self, chat):
        """Makes the invite of a private chat."""
        if not self.is_open:
            self.enter(lan.fresh("hall"))
        return self.terminal.answer(f"/invite {chat}", r"^inkling:\S+$")[0]

    def make(self, chat):
        invite = self.prepare(chat)
        self.enter_by_invite(chat, invite)
        return invite

    def open(self, chat):
        """Opens a chat that the user is in."""
        if not self.is_open:
            return self.begin(chat, chat)
        self.terminal.enter(f"/open {chat}")
        self.wait_open(chat)

    def leave(self, chat):
        self.terminal.enter(f"/leave {chat}")
        self.terminal.wait(f"no {chat}", lambda: not self.terminal.last().startswith(chat + " ("))

    def listed(self):
        if not self.is_open:
            return []
        self.terminal.answer("/chats", r"^\* (1 |- |You are not in a chat)")
        shown = self.terminal.text().rpartition("\n* 1 ")
        return re.findall(r"^\* \d+ ([^\s:]+)", "* 1 " + shown[2], re.M) if shown[1] else []

    def type(self, chat, text):
        """Begins a message."""
        self.terminal.tmux("send-keys", "-l", "--", text)

    def mistype(self, chat):
        """What the door shows to a chat that is not there."""
        return self.terminal.answer(f"/open {chat}", r"^! .*")[0]

    def invite_wrongly(self, chat, name, to):
        self.open(chat)
        self.terminal.answer(f"/invite {name} {to}", rf"^! .*{to}")

    def counted(self):
        return self.terminal.last()

    def counts(self, chat):
        return re.search(r"\[.* 1\]|\[1 unread\]", self.counted())

    def echoes(self, text):
        """Whether the door shows an own text."""
        return f"You: {text}" in self.terminal.text()

    def mentions(self, name):
        """Whether the door marks a message as one for a user whose name begins so."""
        return self.terminal.is_bold(name)

    def submit(self, text):
        """Sends the message that the user has typed."""
        self.terminal.press("Enter")

    def send(self, chat, text):
        self.open(chat)
        self.terminal.enter(text)

    def shows(self, text):
        """Waits for a text of somebody else in the open chat."""
        self.terminal.wait_for(text)

    def outcome(self, text, kind):
        """Waits for what becomes of an own message: delivered, nobody or waiting."""
        words = {"delivered": "delivered|Delivered to", "waiting": "[Ww]aiting for", "nobody": "[Nn]obody"}[kind]
        self.terminal.wait(f"{text!r} as {kind}", lambda: re.search(
            rf"^You: {re.escape(text)} .*\(.*({words})|^\* Delivered.*{re.escape(text)}" if kind == "delivered" else
            rf"^You: {re.escape(text)} .*\(.*({words})|^. .*{words}", self.terminal.text(), re.M))

    def sees(self, chat, name, presence="online"):
        self.open(chat)
        word = SHOWN[presence]
        self.terminal.answer("/who", rf"^\* {re.escape(name)}.*{word}")

    def rename(self, name):
        self.terminal.answer(f"/nick {name}", f"Others see you as {re.escape(name)} from now on")
        self.person.name = name

    def shown_name(self, name):
        """Changes the user's name, and returns the name that the door shows then."""
        self.person.name = name
        return self.terminal.answer(f"/nick {name}", r"Others see you as (.*) from now on")[1]

    def away(self):
        self.terminal.answer("/away", "Others see that you are away")

    def back(self):
        self.terminal.answer("/back", "You are back")

    def verify(self, chat, name):
        self.open(chat)
        self.terminal.answer(f"/verify {name}", rf"type: /verify {name} ok")
        self.terminal.answer(f"/verify {name} ok", rf"{name} is now verified")

    def sees_verified(self, chat, name):
        self.sees(chat, f"{name} ✓")

    def block(self, chat, name):
        self.open(chat)
        self.terminal.answer(f"/block {name} ok", rf"{name}.* is blocked")

    def unblock(self, chat, name):
        self.terminal.answer(f"/unblock {name}", rf"{name}.* is no longer blocked")

    def invite_person(self, chat, name, to):
        self.open(chat)
        user = self.terminal.answer(f"/invite {name} {to}", rf"/invite ([a-z2-7]{{16}}) {to}")[1]
        self.terminal.answer(f"/invite {user} {to}", rf"{name}.* is invited to {to}")

    def invitation(self, to):
        """Waits for an invitation to a chat, or for a wish to talk."""
        what = rf"invites you to {re.escape(to)}," if to else "asks to talk with you alone"
        return self.terminal.wait(f"the invitation to {to}", lambda: re.findall(
            rf"{what}.*/accept (\d+)", self.terminal.text()) or None)[-1]

    def accept(self, to):
        self.terminal.enter(f"/accept {self.invitation(to)}")
        self.wait_open(to)

    def decline(self, to):
        self.terminal.answer(f"/decline {self.invitation(to)}", "You have declined invitation")

    def talk(self, chat, name):
        self.open(chat)
        self.terminal.enter(f"/talk {name}")
        self.wait_open(f"@{name}")
        return f"@{name}"

    def remove(self, chat, name):
        self.open(chat)
        self.terminal.answer(f"/remove {name}", rf"To do so: /remove {name} ok")
        self.terminal.answer(f"/remove {name} ok", rf"{name} is removed from {chat}")

    def hand_over(self, chat, name):
        self.open(chat)
        user = self.terminal.answer(f"/owner {name}", r"/owner ([a-z2-7]{16})$")[1]
        self.terminal.answer(f"/owner {user}", rf"To do so: /owner (\S+) ok")
        self.terminal.answer(f"/owner {user} ok", rf"{name}.* owns {chat} now")

    def history(self, chat, on):
        self.open(chat)
        if on:
            self.terminal.answer("/history on", "From now on, the messages of this chat are kept")
        else:
            self.terminal.answer("/history off", "To do so: /history off ok")
            self.terminal.answer("/history off ok", "No message of this chat is kept any more")

    def find(self, chat, text):
        """How many messages of the chat have that text."""
        self.open(chat)
        found = self.terminal.answer(f"/find {text}", rf'^. (No|\d+) messages? (with|has|have).*{text}"')
        return 0 if found[1] == "No" else int(found[1])

    def waits(self, chat, text):
        """Waits until the list of what waits has a text, and returns its number."""
        self.open(chat)
        return self.terminal.answer("/waiting", rf"^\* (\d+) .*{re.escape(text)}")[1]

    def forget(self, chat, number):
        self.terminal.answer(f"/forget {number}", r"given up|Given up")

    def quit(self):
        if self.is_open:
            if not self.has_daemon:
                self.person.close()
            self.terminal.answer("/quit", r"^\$$")
            self.is_open = False
            self.terminal.enter("clear; tmux clear-history")
            self.terminal.wait("the shell", lambda: self.terminal.rows() == ["$"])

    def kill_node(self):
        shell = self.terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            process = int(children.read().split()[0])
        with open(f"/proc/{process}/cmdline", encoding="utf-8") as command:
            assert command.read().startswith(f"{PROGRAM}\0"), f"process {process} is not the prompt"
        os.kill(process, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{process}"), "the prompt has ended")
        self.close()

    def close(self):
        if not self.has_daemon:
            self.person.close()
        if self.is_open:
            self.is_open = False
            self.terminal.stop()
            self.terminal = Terminal(self.person.home, self.person.environment)

    def reset(self):
        if not self.is_open and not self.has_daemon:
            return
        if self.person.name != self.person.first_name:
            if not self.is_open:
                self.enter(lan.fresh("hall"))
            self.rename(self.person.first_name)
        self.quit()
        if self.has_daemon:
            self.person.reset()


class AttachedPrompt(Prompt):
    """A prompt on the node of a daemon."""

    name = "Ada"
    has_daemon = True
    cannot = {"own_presence": Prompt.presence_at_change, "reload": Prompt.no_reload}

    def kill_node(self):
        self.close()
        Door.kill_node(self)


class Commands(Door):
    """`inkling join`, `send`, `chats` and the like."""

    name = "Kim"
    keeps = True
    stays = False
    presence = ["online", "away"]
    at_prompt = "Scripts need no such command: use the prompt, the page or JSON lines."
    reading = "`inkling watch --messages` prints messages and leaves them unread."
    cannot = {**dict.fromkeys(["rename", "away", "verify", "block", "invite_person", "accept", "talk", "remove",
                               "hand_over", "history", "wait", "type", "type_action", "invite_wrongly", "enter_silently",
                               "shown_name", "mentions"], at_prompt),
              "read": reading, "echoes": "`inkling send` prints the outcome alone.",
              "own_presence": at_prompt, "reload": Prompt.no_reload}

    def enter(self, chat):
        self.person.command("join", chat)

    def enter_by_invite(self, chat, invite):
        self.person.command("join", invite)

    def enter_by_file(self, chat, file):
        self.person.command("join", "--invite-file", file)

    def prepare(self, chat):
        return self.person.command("invite", chat).split()[0]

    def make(self, chat):
        invite = self.prepare(chat)
        self.person.command("join", invite)
        return invite

    def mistype(self, chat):
        """What the door shows to a chat that is not there."""
        done = subprocess.run([PROGRAM, "leave", chat], capture_output=True, text=True, env=self.person.environment)
        return done.stdout + done.stderr

    def counted(self):
        return self.person.command("chats")

    def counts(self, chat):
        return re.search(rf"^{chat}\b.* 1 unread", self.counted(), re.M)

    def open(self, chat):
        self.person.command("peers", chat)

    def leave(self, chat):
        self.person.command("leave", chat)

    def listed(self):
        return re.findall(r"^([^\s:]+)", self.person.command("chats"), re.M)

    def send(self, chat, text):
        self.sent = self.person.command("send", chat, text, status=None)

    def outcome(self, text, kind):
        word = {"delivered": "Delivered", "nobody": "obody", "waiting": "aiting"}[kind]
        if word not in self.sent:
            raise AssertionError(f"`inkling send` printed {self.sent!r}, not {word}")

    def sees(self, chat, name, presence="online"):
        def people():
            return json.loads(self.person.command("peers", chat, "--all", "--json", "--wait", 1))["peers"]
        until(lambda: any(one["name"] == name and one["presence"] == presence for one in people()),
              lambda: f"{name} is {presence} in {people()}")

    def quit(self):
        """A command has ended already."""
