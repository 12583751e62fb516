"""The script for WeeChat: Alice uses WeeChat; Bob, and another Bob, have daemons."""

import re
import signal
import time
import unittest

import harness
from lan import fresh, until
from terminal import Terminal
from weechat import Headless, Node, WeeChat

alice = bob = other = window = None
HOSTILE = "\x1b[31mred\x1b[0m \x19F05blue\x1a\x01bold ${info:version} \u202eesrever\u202c \x9b31m \u2066in\x07 end"
SHOWN = r"\x1b[31mred\x1b[0m \x19F05blue\x1a\x01bold ${info:version} esrever \x9b31m in\x07 end"


def setUpModule():
    global alice, bob, other, window
    ports = [harness.free_port() for _ in range(3)]
    alice, bob, other = (Node(name, port, [peer for peer in ports if peer != port])
                         for name, port in zip(("Alice", "Bob", "Bob"), ports))
    window = WeeChat(alice.state / "socket")


class Test(unittest.TestCase):
    def setUp(self):
        self.chat = fresh("chat")
        window.press("Escape")
        window.clear()

    def join(self, *others, chat=None):
        """Others and Alice join a chat."""
        for one in others:
            one.ask(do="join", chat=chat or self.chat, open=False)
            one.ask(do="open", chat=chat or self.chat)
        window.enter(f"/inkling join {chat or self.chat}")
        window.wait("the chat", lambda: f":inkling.{chat or self.chat}" in window.status())
        for one in others:
            one.sees(chat or self.chat, "Alice", "online")
        window.wait("the others", lambda: sum("Bob" in row for row in window.people()) == len(others))

    def private(self, *others, chat=None):
        """Alice makes a private chat, which the others join."""
        chat = chat or self.chat
        window.enter(f"/inkling invite {chat}")
        window.wait("the chat", lambda: f":inkling.{chat}" in window.status())
        invite = alice.ask(do="invite", chat=chat)["invite"]
        for one in others:
            one.ask(do="join", invite=invite, keep=True, open=False)
            one.ask(do="open", chat=chat)
            one.sees(chat, "Alice", "online")
        window.wait("the others", lambda: sum("Bob" in row for row in window.people()) == len(others))

    def leave(self, *people):
        for one in people:
            one.ask(do="leave", chat=self.chat)

    def tearDown(self):
        for one in alice, bob, other:
            for chat in one.ask(do="chats")["chats"]:
                if one is not alice:
                    one.ask(do="leave", chat=chat["chat"])
        window.clear()


class Messages(Test):
    def test_go_both_ways(self):
        self.join(bob)
        window.enter("Tea is ready.")
        bob.reads(self.chat, "Tea is ready.")
        self.assertRegex(window.says("Tea is ready."), r"Alice \| Tea is ready\.  \(.*\)")
        window.wait("the outcome", lambda: "(delivered)" in window.row("Tea is ready."))
        bob.ask(do="send", chat=self.chat, text="On my way\nwith biscuits")
        self.assertRegex(window.says("On my way"), r"Bob.* \| On my way")
        self.assertRegex(window.says("with biscuits"), r"^ +\| with biscuits")
        alice.ask(do="join", chat=self.chat)
        alice.ask(do="send", chat=self.chat, text="from another front end")
        window.wait("the own message", lambda: re.search(r"Alice \|.*\(delivered\)", window.row("another front end")))

    def test_show_their_outcomes(self):
        self.join(bob, other)
        window.enter("for two")
        window.wait("both", lambda: "(to all 2)" in window.row("for two"))
        self.leave(other)
        window.says("has left")
        bob.daemon.signal(signal.SIGSTOP)
        window.enter("slow")
        window.wait("nothing yet", lambda: "(on its way)" in window.row("slow"))
        bob.daemon.signal(signal.SIGCONT)
        window.wait("the end", lambda: "(delivered)" in window.row("slow"))
        bob.daemon.signal(signal.SIGSTOP)
        window.enter("lost")
        window.wait("nothing yet", lambda: "(on its way)" in window.row("lost"))
        window.enter("/inkling block Bob " + bob.label())
        window.wait("the end", lambda: re.search(r"\(may not have reached Bob ~\w+ \(blocked\)\)", window.row("lost")))
        bob.daemon.signal(signal.SIGCONT)
        window.enter("/inkling unblock Bob " + bob.label())
        window.says("no longer blocked")
        self.leave(bob)
        window.wait("nobody", lambda: not any("Bob" in row for row in window.people()))
        window.enter("to nobody")
        window.wait("nobody", lambda: "(nobody was here)" in window.row("to nobody"))

    def test_wait_for_people_who_are_offline(self):
        self.private(bob)
        bob.stop()
        window.says("has left")
        window.enter("See you")
        window.wait("who", lambda: re.search(r"\(waiting for Bob.*\)", window.row("See you")))
        window.enter("/inkling waiting")
        number = re.search(r"(\d+): since", window.says(": since"))[1]
        window.enter(f"/inkling forget {number}")
        window.wait("the end", lambda: "given up" in window.row("(may not have reached"))
        window.enter("Once more")
        window.wait("who", lambda: "(waiting for" in window.row("Once more"))
        bob.start()
        window.wait("the end", lambda: "(delivered)" in window.row("Once more"))

    def test_that_are_unread_and_earlier_ones_show_at_opening(self):
        self.private(bob)
        window.enter("/inkling history on")
        window.says("history: on")
        bob.ask(do="send", chat=self.chat, text="an earlier one")
        window.says("an earlier one")
        window.enter("/script unload inkling.py")
        until(lambda: alice.ask(do="status")["frontEnds"] == 1, "the script detaches")
        bob.ask(do="send", chat=self.chat, text="an unread one")
        until(lambda: self.unread() == 1, "it is unread")
        window.enter("/script load inkling.py")
        window.wait("the mark of unread messages", lambda: re.search(r"\[H: .*\d", window.status()))
        self.assertEqual(self.unread(), 1)
        window.open(self.chat)
        self.assertTrue(window.says("an earlier one"))
        window.says("an unread one")
        until(lambda: self.unread() == 0, "it is read")
        self.assertEqual(window.text().count("an unread one"), 1)
        window.open("inkling")
        bob.ask(do="send", chat=self.chat, text="one in another buffer")
        until(lambda: self.unread() == 1, "it is unread")
        window.open(self.chat)
        window.says("one in another buffer")
        until(lambda: self.unread() == 0, "it is read")
        window.enter("/inkling find EARLIER")
        self.assertRegex(window.says("-- | "), r"\d\d:\d\d Bob.*: an earlier one")

    def unread(self):
        return next(one["unread"] for one in alice.ask(do="chats")["chats"] if one["chat"] == self.chat)

    def test_and_names_of_hostile_people_are_text(self):
        self.join(bob)
        bob.ask(do="nick", name="B\u202eob\u2069 ${info:version}")
        window.says("is now called")
        bob.ask(do="send", chat=self.chat, text=HOSTILE + "\nAlice | I agree\n\u2028\x85\r\n.")
        window.says(SHOWN)
        # Only this script's own colors are on the screen: red would be 31, blue 34.
        row = next(row for row in window.tmux("capture-pane", "-p", "-e").split("\n") if "F05blue" in row)
        text = row[row.index(r"\x1b"):row.index("end")]
        self.assertNotIn("\x1b", text)
        self.assertRegex(window.says("I agree"), r"^ +\| Alice \| I agree")
        self.assertRegex(window.row("F05blue"), r"^ *Bob \$\{info.version\} ~\w{4} \|")
        self.assertTrue(any("${info:version}" in row or "${info" in row for row in window.people()))
        bob.ask(do="compose", chat=self.chat, text="x")
        window.wait("the name in the bar", lambda: "${info" in window.bar() and "is typing" in window.bar())
        bob.ask(do="nick", name="\u202e\u200b")
        window.says("is now called Someone ~")
        bob.ask(do="nick", name="Alice")
        window.says(f"is now called Alice {bob.label()}")
        bob.ask(do="nick", name="Bob ✓")
        window.says(f"is now called Bob {bob.label()}")
        bob.ask(do="nick", name="Bob")
        chat = "${info:version} ${color:red}x"
        self.join(bob, chat=chat)
        self.assertTrue(window.rows()[0].startswith(chat), window.rows()[0])
        self.assertIn(f"inkling.{chat}", window.status())
        window.enter("/set buflist.look.enabled on")
        window.wait("the list of buffers", lambda: any(f".{chat}" in row for row in window.rows()) or any(
            row.strip().startswith(tuple("123456789")) and chat in row for row in window.rows()))
        window.enter("/set buflist.look.enabled off")


class Typing(Test):
    def test_follows_each_key_and_ends_with_the_line(self):
        self.join(bob)
        for end in "C-u", "Enter", "buffer":
            with self.subTest(end=end):
                window.tmux("send-keys", "-l", "--", "Bring")
                bob.types(self.chat, "Alice")
                began = time.monotonic()
                for key in " milk":  # each key keeps it alive
                    window.tmux("send-keys", "-l", "--", key)
                    time.sleep(0.7 if end == "C-u" else 0)
                if end == "C-u":
                    bob.ask(do="status")  # reads all lines before its answer
                    self.assertFalse([line for line in bob.front_end.lines if line["on"] == "typing"])
                    self.assertGreater(time.monotonic() - began, 3.0)
                if end == "buffer":
                    window.press("M-1")
                else:
                    window.press(end)
                bob.types(self.chat, within=1)
                if end == "Enter":
                    bob.reads(self.chat, "Bring milk")
        window.open(self.chat)
        window.wait("the text", lambda: "Bring milk" in window.rows()[-1] or "Bring milk" in window.status())
        window.tmux("send-keys", "-l", "--", "!")
        bob.types(self.chat, "Alice")
        window.clear()
        bob.types(self.chat, within=1)

    def test_of_a_command_does_not_show(self):
        self.join(bob)
        window.enter("/set weechat.look.command_chars !")
        for command in "/inkling people", "!inkling people":
            window.tmux("send-keys", "-l", "--", command)
            window.wait("the command", lambda: command in window.rows()[-1])
            time.sleep(0.3)
            window.clear()
        window.enter("/unset weechat.look.command_chars")
        bob.ask(do="status")  # reads all lines before its answer
        self.assertFalse([line for line in bob.front_end.lines if line["on"] == "typing" and line["chat"] == self.chat])
        window.tmux("send-keys", "-l", "--", "x")
        bob.types(self.chat, "Alice")

    def test_of_others_shows(self):
        self.join(bob)
        window.enter("/set typing.look.enabled_nicks on")
        bob.ask(do="compose", chat=self.chat, text="x")
        window.wait("who types", lambda: re.match(r"Bob.* is typing…$", window.bar()))
        window.wait("WeeChat's own item", lambda: re.search(r"\[.*Typing: Bob", window.status()))
        bob.ask(do="compose", chat=self.chat, text="")
        window.wait("nobody", lambda: window.bar() == "")
        window.wait("nobody in WeeChat's own item", lambda: "Typing" not in window.status())


class People(Test):
    def test_are_listed_with_their_presence(self):
        self.join(bob)
        bob.ask(do="away")
        window.wait("Bob as away", lambda: self.place("Bob") > self.place("away"))
        bob.ask(do="back")
        window.wait("Bob as here", lambda: self.place("here") < self.place("Bob") < self.place("away"))
        window.enter("/inkling verify Bob " + bob.label())
        groups = alice.ask(do="fingerprint", key=bob.key)["groups"]
        window.says(" ".join(groups))
        window.enter(f"/inkling verify Bob {bob.label()} ok")
        window.wait("the mark", lambda: "✓Bob" in window.people())
        bob.ask(do="send", chat=self.chat, text="It is me")
        self.assertIn("Bob ✓ |", window.says("It is me"))
        window.enter("/inkling unverify Bob")
        window.wait("no mark", lambda: not any("✓" in row for row in window.people()))
        self.leave(bob)
        window.wait("nobody", lambda: not any("Bob" in row for row in window.people()))

    def place(self, text):
        return next(index for index, row in enumerate(window.people()) if text in row)

    def test_of_one_name_are_told_apart(self):
        self.join(bob, other)
        window.wait("both", lambda: {f"Bob {bob.label()}", f"Bob {other.label()}"} <= {*window.people()})
        for one in bob, other:
            one.ask(do="send", chat=self.chat, text=f"I am {one.label()}")
            self.assertIn(f"Bob {one.label()} |", window.says(f"| I am {one.label()}"))
        window.enter("/inkling verify Bob")
        self.assertIn(bob.label(), window.says("Several people have this name"))
        window.enter(f"/inkling block {other.label()}")
        until(lambda: [one["user"] for one in alice.ask(do="people", blocked=True)["people"]]
              == [other.front_end.ready["user"]], "just this one is blocked")
        window.enter(f"/inkling unblock {other.label()}")
        until(lambda: not alice.ask(do="people", blocked=True)["people"], "nobody is blocked")

    def test_are_invited_and_invite(self):
        self.join(bob)
        team = fresh("team")
        window.enter(f"/inkling invite {team}")
        window.says("To join: /inkling join inkling:")
        window.open(self.chat)
        window.enter(f"/inkling invite {bob.label()} {team}")
        invited = bob.front_end.wait_for(lambda line: line.get("code") == "invited", "the invitation")
        self.assertEqual(invited["to"], team)
        bob.ask(do="accept", invitation=invited["invitation"], keep=True)
        bob.sees(team, "Alice")
        window.enter(f"/inkling talk {bob.label()}")
        window.wait("the talk", lambda: ":inkling.@Bob" in window.status())
        knock = bob.front_end.wait_for(lambda line: line.get("code") == "invited", "the knock")
        bob.ask(do="decline", invitation=knock["invitation"])
        window.open(self.chat)
        club = fresh("club")
        secret = "a" * 26
        bob.ask(do="join", invite=f"inkling:{club}#{secret}@{bob.key}", keep=True)
        asked = []
        for answer in "decline", "accept":
            bob.ask(do="invite", chat=club, key=alice.key)
            asked = window.wait("the invitation", lambda before=len(asked): [*dict.fromkeys(re.findall(
                rf"Bob.* invites you to {club}: /inkling accept (\d+)", window.text()))][before:])
            window.enter(f"/inkling {answer} {asked[-1]}")
            window.wait("the answer", lambda: f":inkling.{club}" in window.status() if answer == "accept" else
                        "Declined" in window.text())
        bob.sees(club, "Alice")
        window.open(team)
        window.enter(f"/inkling remove Bob {bob.label()}")
        window.says("With you move: nobody")
        window.enter(f"/inkling remove Bob {bob.label()} ok")
        bob.front_end.wait_for(lambda line: line["on"] == "peer" and line["why"] == "removed", "the removal")
        window.says("has moved to a new secret")


class Connection(Test):
    def test_comes_back_by_itself(self):
        team = fresh("team")
        self.private(bob, chat=team)
        window.enter("/inkling history on")
        window.says("history: on")
        window.enter("in the history")
        window.wait("the outcome", lambda: "(delivered)" in window.row("in the history"))
        self.join(bob)
        window.enter("before")
        bob.reads(self.chat, "before")
        bob.daemon.signal(signal.SIGSTOP)
        window.enter("on the way")
        window.wait("nothing yet", lambda: "(on its way)" in window.row("on the way"))
        alice.kill()
        window.wait("that nothing is known", lambda: "(not known whether it arrived)" in window.row("on the way"))
        bob.daemon.signal(signal.SIGCONT)
        window.wait("why", lambda: "Inkling does not run" in window.bar())
        window.enter("unsent")
        window.says("Not sent: this chat is not connected")
        self.assertIn("unsent", window.status())
        window.clear()
        alice.start()
        window.wait("the chat", lambda: self.listed() and window.bar() == "")
        bob.sees(self.chat, "Alice", "online")
        window.enter("after")
        bob.reads(self.chat, "after")
        self.assertEqual(window.text().count("| Not connected"), 1)
        window.open(team)
        bob.sees(team, "Alice", "online")
        bob.ask(do="send", chat=team, text="welcome back")
        window.says("welcome back")
        self.assertEqual(window.text().count("in the history"), 1)
        alice.stop()
        window.wait("why", lambda: "Inkling does not run" in window.bar())
        window.open("inkling")
        window.says("Inkling was stopped. This script connects by itself")
        # A prompt takes the place of the daemon, and ends.
        prompt = Terminal(window.home, window.environment)
        prompt.enter(f"{harness.PROGRAM} chat {fresh('chat')} --no-config --name Alice --no-discovery --port {alice.port}"
                     f" --state-dir {alice.state} --peer 127.0.0.1:{bob.port}")
        window.wait("the connection", lambda: window.bar() == "")
        window.open(self.chat)
        bob.sees(self.chat, "Alice", "online")
        window.enter("by a prompt")
        bob.reads(self.chat, "by a prompt")
        prompt.enter("/quit")
        window.wait("why", lambda: "Inkling" in window.bar())
        alice.start()
        prompt.stop()
        window.wait("the chat", lambda: self.listed() and window.bar() == "")

    def listed(self):
        return any("Bob" in row for row in window.people())

    def test_ends_without_a_trace(self):
        self.join(bob)
        window.tmux("send-keys", "-l", "--", "half a sen")
        bob.types(self.chat, "Alice")
        window.press("M-1")
        bob.types(self.chat, within=1)
        window.open(self.chat)
        window.tmux("send-keys", "-l", "--", "t")
        bob.types(self.chat, "Alice")
        # Another way to the command than the input field.
        window.pipe().write_text("core.weechat */script unload inkling.py\n")
        bob.types(self.chat, within=1)
        bob.front_end.wait_for(lambda line: line["on"] == "peer" and line["chat"] == self.chat
                               and line["presence"] == "offline", "Alice leaves")
        until(lambda: alice.ask(do="status")["frontEnds"] == 1, "the script detaches")
        window.wait("no buffer", lambda: ":inkling" not in window.status())
        window.enter("/bar list")
        window.says("List of bars")
        self.assertFalse([row for row in window.rows() if re.search(r"inkling: ", row)])
        window.enter("/script load inkling.py")
        window.open("inkling")
        window.wait_for("Connected to Inkling")

    def test_works_without_a_terminal(self):
        bob.ask(do="join", chat=self.chat)
        headless = Headless(alice.state / "socket")
        # Until WeeChat has attached, it refuses the command.
        until(lambda: headless.enter("core.weechat", f"/inkling join {self.chat}") or bob.peer(self.chat, "Alice"),
              "Bob sees Alice")
        headless.enter(f"python.inkling.{self.chat}", "/input insert half")
        bob.types(self.chat, "Alice")
        headless.enter(f"python.inkling.{self.chat}", "/input delete_line")
        bob.types(self.chat, within=1)
        headless.enter(f"python.inkling.{self.chat}", "Hello from nowhere")
        bob.reads(self.chat, "Hello from nowhere")
        headless.stop()
        until(lambda: alice.ask(do="status")["frontEnds"] == 2, "WeeChat detaches")


if __name__ == "__main__":
    unittest.main()
