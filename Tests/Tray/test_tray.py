"""The icon and its notifications, with a real session bus, real daemons, and a desktop of the tests' own."""

import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import threading
import time
import unicodedata
import unittest

import dbus.lowlevel

import harness
from desktop import Desktop, Icon, Loop

TRAY = str(pathlib.Path(harness.PROGRAM).with_name("inkling-tray"))
# A program under which the tray runs, such as a profiler.
UNDER = os.environ.get("INKLING_TRAY_UNDER", "").split()
NAME = "invalid.inkling.Tray"
MEMORY = 6 << 10  # KiB
IDLE = 10  # seconds
INLINE = ["body", "body-markup", "actions", "inline-reply"]
HOSTILE = "<b>bold</b> <img src=http://x/> & \u202eevil\u202c \x1b[31m \u2066x\u2069 \u200f end"

port_of = {}


class Person:
    """Somebody with a daemon, whose peers are the others of these tests."""

    def __init__(self, name):
        self.name = name
        port_of.setdefault(name, harness.free_port())
        self.home = harness.work() / name.lower()
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.state = self.home / "state"
        self.daemon = self.lines = None
        self.chats = []

    def start(self):
        others = [port for name, port in port_of.items() if name != self.name]
        self.daemon = harness.Daemon(self.name, port_of[self.name], others, self.state)
        self.lines = harness.FrontEnd(self.state)
        for chat in self.chats:
            self.stays(chat)
        return self

    def stop(self):
        self.close()
        if self.daemon:
            self.daemon.stop()

    def close(self):
        if self.lines:
            self.lines.stop()
            self.lines = None

    def ask(self, **request):
        return self.lines.ask(**request)

    def stays(self, chat, **more):
        """Is in a chat without showing it, also after a restart."""
        self.chats = [*dict.fromkeys([*self.chats, chat])]
        return self.ask(do="join", chat=chat, open=False, keep=True, **more)

    def leaves(self, chat):
        self.chats.remove(chat)
        self.ask(do="leave", chat=chat)

    def sees(self, chat, name, presence="online"):
        harness.wait(
            lambda: any(one["name"] == name and one["presence"] == presence
                        for one in self.ask(do="who", chat=chat)["peers"]),
            f"{self.name} sees {name} as {presence} in {chat}")

    def unread(self, chat):
        return next(one["unread"] for one in self.ask(do="chats")["chats"] if one["chat"] == chat)

    def reads(self, chat):
        self.ask(do="open", chat=chat)
        self.ask(do="read", chat=chat)
        self.ask(do="open")


class Tray(harness.Process):
    def __init__(self, desktop, state, *options, program=TRAY):
        self.desktop = desktop
        super().__init__("tray", [*UNDER, program, "--state-dir", state, *options], environment(desktop))

    @property
    def icon(self):
        return Icon(self.desktop, harness.wait(lambda: self.desktop.hand.get_name_owner(NAME), "the tray has its name"))

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


def environment(desktop):
    return {**harness.environment_of_programs(), "DBUS_SESSION_BUS_ADDRESS": desktop.address}


class Sleeper:
    """An icon to which nothing happens, beside the other tests, after it has shown what it can."""

    def __init__(self, loop, owner, friend):
        self.desktop = Desktop(loop)
        self.desktop.begin_panel()
        self.desktop.begin_notifications(*INLINE)
        self.tray = Tray(self.desktop, owner.state)
        icon = self.tray.icon
        icon.waits("Inkling: online")
        friend.ask(do="send", chat="pantry", text="Something to show")
        harness.wait(lambda: self.tray.check() or self.desktop.server.shown, "the notification shows")
        icon.waits("Inkling: online, 1 unread message")
        icon.items()
        owner.reads("pantry")
        icon.waits("Inkling: online")
        time.sleep(0.5)
        self.trace = harness.work() / "trace"
        self.tracer = harness.Process("strace", ["strace", "-f", "-o", self.trace, "-p", self.tray.process.pid])
        harness.wait(lambda: "attached" in self.tracer.output, "strace is attached")
        self.began = time.monotonic()

    def rest(self):
        """Waits until the program has slept long enough. Returns its memory."""
        time.sleep(max(0, self.began + IDLE - time.monotonic()))
        memory = self.tray.memory()
        self.tracer.signal(signal.SIGINT)
        self.tracer.process.wait(harness.TIMEOUT)
        calls = [line for line in self.trace.read_text().splitlines() if "strace:" not in line and "+++" not in line]
        # The tracer shows the call in which the program sleeps.
        if len(calls) > 1:
            raise AssertionError("the program does not sleep: " + "\n".join(calls[:20]))
        return memory


class TrayTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.loop = Loop()
        for name in "Alice", "Bob", "Carol":
            port_of[name] = harness.free_port()
        cls.alice, cls.bob, carol = (Person(name).start() for name in list(port_of))
        # Nodes need a few seconds to meet in a chat, and do that in all at once.
        cls.alice.stays("team", secret="s" * 25 + "a")
        cls.bob.stays("team", secret="s" * 25 + "a")
        chats = [(carol, "pantry"), (cls.alice, "kitchen"), (cls.alice, "cellar")]
        for person, chat in chats:
            person.stays(chat)
            cls.bob.stays(chat)
        for person, chat in [*chats, (cls.alice, "team")]:
            person.sees(chat, "Bob", "away")
            cls.bob.sees(chat, person.name, "away")
        cls.sleeper = Sleeper(cls.loop, carol, cls.bob)

    @classmethod
    def tearDownClass(cls):
        harness.stop_all()

    def setUp(self):
        self.desktop = Desktop(self.loop)
        self.addCleanup(self.desktop.stop)

    def begin(self, *options, abilities=INLINE, panel=True, program=TRAY):
        """A desktop with the icon of Alice, who has read everything."""
        for chat in self.alice.ask(do="chats")["chats"]:
            if chat["unread"]:
                self.alice.reads(chat["chat"])
        if panel:
            self.desktop.begin_panel()
        if abilities is not None:
            self.desktop.begin_notifications(*abilities)
        self.tray = Tray(self.desktop, self.alice.state, *options, program=program)
        self.addCleanup(self.tray.stop)
        icon = self.tray.icon
        icon.waits("Inkling: online")
        return icon

    def shown(self, count=1, since=0):
        """Waits for that many notifications, and returns the last."""
        harness.wait(lambda: len(self.desktop.server.shown) >= since + count, "a notification shows")
        return self.desktop.server.shown[-1]

    def says(self, text, chat="kitchen", sender=None):
        return (sender or self.bob).ask(do="send", chat=chat, text=text)

    # The icon.

    def test_the_count_of_unread_messages_rises_and_falls(self):
        icon = self.begin()
        usual = icon.properties
        self.assertEqual((usual["Id"], usual["Category"], usual["Status"], usual["IconName"], usual["ItemIsMenu"]),
                         ("inkling", "Communications", "Active", "inkling", False))
        harness.wait(lambda: self.desktop.watcher.items, "the icon registers")
        service, sender = self.desktop.watcher.items[0]
        self.assertEqual(self.desktop.hand.get_name_owner(service), sender)
        calm = icon.picture()
        self.says("one")
        icon.waits("Inkling: online, 1 unread message")
        one = icon.picture()
        self.assertEqual((icon.properties["Status"], icon.properties["IconName"]), ("NeedsAttention", ""))
        self.says("two")
        icon.waits("Inkling: online, 2 unread messages")
        self.assertEqual(len({calm, one, icon.picture()}), 3, "each number has a picture")
        self.assertIn("kitchen (2)", icon.items())
        self.alice.reads("kitchen")
        icon.waits("Inkling: online")
        self.assertEqual((icon.properties["Status"], icon.picture()), ("Active", calm))
        self.assertIn("kitchen", icon.items())

    def test_a_panel_that_comes_late_gets_the_icon_and_notifications_work_without_one(self):
        self.begin(panel=False)
        harness.wait(lambda: "no panel of this session shows icons" in self.tray.output, "the tray says so")
        self.says("without a panel")
        self.assertIn("without a panel", self.shown()["body"])
        for _ in range(2):
            self.desktop.begin_panel()
            harness.wait(lambda: self.desktop.watcher.items, "the icon registers at the late panel")
            self.desktop.end_panel()
        self.assertEqual(self.tray.output.count("no panel"), 1, self.tray.output)

    def test_the_menu_says_away_and_back_to_the_others(self):
        icon = self.begin()
        self.alice.ask(do="open", chat="kitchen")  # else she is away by herself
        self.bob.sees("kitchen", "Alice")
        grey = icon.picture()
        icon.choose("Away")
        icon.waits("Inkling: away")
        self.bob.sees("kitchen", "Alice", "away")
        self.assertNotEqual(icon.picture(), grey)
        icon.choose("Back")
        icon.waits("Inkling: online")
        self.bob.sees("kitchen", "Alice")
        self.alice.ask(do="open")

    def test_quit_ends_the_program_and_its_notifications(self):
        icon = self.begin()
        self.says("before the end")
        number = self.shown()["number"]
        icon.choose("Quit")
        self.assertEqual(self.tray.process.wait(harness.TIMEOUT), 0)
        harness.wait(lambda: number in self.desktop.server.closed, "the notification closes")

    def test_a_second_start_says_that_one_runs(self):
        self.begin()
        done = subprocess.run([TRAY, "--state-dir", self.alice.state], env=environment(self.desktop), text=True,
                              capture_output=True, timeout=harness.TIMEOUT)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "inkling tray: it runs already\n"))
        self.tray.check()

    def test_without_a_session_bus_the_program_says_why(self):
        done = subprocess.run([TRAY], env={**environment(self.desktop), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none"},
                              text=True, capture_output=True, timeout=harness.TIMEOUT)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^inkling tray: no session bus can be used \(.+\); start it in a desktop session\n$")

    # Notifications.

    def test_a_notification_has_the_chat_the_sender_and_the_text_of_an_open_chat(self):
        self.begin()
        self.says("Is the kettle on?")
        shown = self.shown()
        self.assertEqual((shown["title"], shown["body"]), ("kitchen", "\u2068Bob\u2069: Is the kettle on?"))
        self.assertEqual(shown["actions"], ["default", "Open", "inline-reply", "Reply"])
        self.assertEqual((shown["icon"], shown["hints"]["desktop-entry"]), ("inkling", "inkling"))
        time.sleep(2)
        self.says("/me waves")
        again = self.shown(2)
        self.assertEqual(again["replaces"], shown["number"], "a chat has one notification")
        self.assertEqual(again["body"], "\u2068Bob\u2069 *waves*\n(2 unread messages)")
        self.alice.reads("kitchen")
        harness.wait(lambda: shown["number"] in self.desktop.server.closed, "reading removes the notification")

    def test_the_text_of_a_private_chat_shows_only_if_the_user_wants_that(self):
        for options, body in ([], "\u2068Bob\u2069 wrote to you."), (["--show-texts"], "\u2068Bob\u2069: my secret"):
            with self.subTest(options=options):
                self.begin(*options)
                self.says("my secret", "team")
                shown = self.shown()
                self.assertEqual((shown["title"], shown["body"]), ("team", body))
                self.tray.stop()
                self.desktop.stop()
                self.desktop = Desktop(self.loop)
                self.addCleanup(self.desktop.stop)

    def test_a_reply_arrives_in_the_chat(self):
        self.begin()
        self.says("Tea?")
        number = self.shown()["number"]
        self.desktop.signal("NotificationReplied", number, "Yes, \"please\" \\ \u00e9\n\U0001f375")
        line = self.bob.lines.wait_for(lambda line: line["on"] == "message" and "please" in line["text"], "the reply")
        self.assertEqual((line["chat"], line["text"]), ("kitchen", "Yes, \"please\" \\ \u00e9\n\U0001f375"))
        self.desktop.signal("NotificationReplied", number, "/quit")
        refused = self.shown(2)
        self.assertEqual((refused["title"], refused["actions"]),
                         ("Your reply in kitchen was not sent", ["default", "Open"]))
        self.desktop.signal("NotificationReplied", number, "/me waves")
        self.bob.lines.wait_for(lambda line: line["on"] == "message" and line["text"] == "/me waves", "an action")
        self.desktop.signal("NotificationReplied", number, "//slash")
        self.bob.lines.wait_for(lambda line: line["on"] == "message" and line["text"] == "/slash", "two slashes")

    def test_a_reply_that_reaches_nobody_is_reported(self):
        self.begin()
        self.says("Bye", "cellar")
        number = self.shown()["number"]
        self.bob.leaves("cellar")
        harness.wait(lambda: not any(one["presence"] != "offline"
                                     for one in self.alice.ask(do="who", chat="cellar")["peers"]), "Bob has left")
        self.desktop.signal("NotificationReplied", number, "wait")
        self.assertIn("Nobody is there now", self.shown(2)["body"])
        self.alice.leaves("cellar")

    def test_a_server_without_replies_gets_a_button_and_one_without_markup_plain_text(self):
        self.begin(abilities=["body", "actions"])
        self.says("<b>&</b>")
        shown = self.shown()
        self.assertEqual(shown["actions"], ["default", "Open"])
        self.assertEqual(shown["body"], "\u2068Bob\u2069: <b>&</b>")

    def test_the_first_message_starts_a_server_that_the_session_has(self):
        shown = self.desktop.install_notifications()
        self.begin(abilities=None)
        self.says("who shows this?")
        harness.wait(lambda: shown.exists() and "who shows this?" in shown.read_text(), "the started server shows it")
        self.assertNotIn("no program of this session shows notifications", self.tray.output)

    def test_without_a_server_of_notifications_the_program_says_so_once(self):
        icon = self.begin(abilities=None)
        self.says("one")
        icon.waits("Inkling: online, 1 unread message")
        harness.wait(lambda: "no program of this session shows notifications" in self.tray.output, "the tray says so")
        time.sleep(2)
        self.says("two")
        icon.waits("Inkling: online, 2 unread messages")
        self.assertEqual(self.tray.output.count("no program"), 1, self.tray.output)

    def test_another_server_of_notifications_takes_over(self):
        self.begin(abilities=["body"])
        self.says("first")
        self.assertEqual(self.shown()["actions"], [])
        self.desktop.end_notifications()
        self.desktop.begin_notifications(*INLINE)
        time.sleep(2)
        self.says("second")
        shown = self.shown()
        self.assertEqual((shown["replaces"], shown["actions"][2:]), (0, ["inline-reply", "Reply"]))

    def test_a_signal_of_another_program_is_no_reply(self):
        self.begin()
        self.says("Hello")
        number = self.shown()["number"]
        impostor, _ = self.desktop.begin(lambda connection: connection)

        def forge():
            message = dbus.lowlevel.SignalMessage(
                "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "NotificationReplied")
            message.set_destination(NAME)
            message.append(number, "forged", signature="us")
            impostor.send_message(message)

        self.loop.run(forge)
        self.desktop.signal("NotificationReplied", number, "real")
        line = self.bob.lines.wait_for(lambda line: line["on"] == "message" and line["text"] in ("forged", "real"), "one")
        self.assertEqual(line["text"], "real")

    def test_no_notification_comes_for_a_chat_that_another_front_end_shows(self):
        icon = self.begin()
        self.alice.ask(do="open", chat="kitchen")
        self.says("She sees this")
        self.alice.lines.wait_for(lambda line: line["on"] == "message" and line["text"] == "She sees this", "it")
        self.alice.ask(do="open")
        time.sleep(0.3)
        self.says("She does not see this")
        self.assertIn("does not", self.shown()["body"])
        self.assertEqual(len(self.desktop.server.shown), 1)
        icon.waits("Inkling: online, 1 unread message")

    def test_a_flood_makes_few_notifications(self):
        icon = self.begin()
        began = time.monotonic()
        for number in range(40):
            self.bob.lines.say(do="send", chat="kitchen", text=f"flood {number}")
        icon.waits("Inkling: online, 40 unread messages")
        harness.wait(lambda: "flood 39" in self.desktop.server.shown[-1]["body"], "the last message shows")
        self.assertLessEqual(len(self.desktop.server.shown), 2 + (time.monotonic() - began) / 2)

    def test_an_invitation_is_a_notification(self):
        invited = self.bob.ask(do="join", chat="attic", secret="t" * 25 + "a", open=False)
        self.begin()
        alice = next(one for one in self.bob.ask(do="who", chat="kitchen")["peers"] if one["name"] == "Alice")
        self.bob.ask(do="invite", chat="attic", key=alice["key"])
        shown = self.shown()
        self.assertEqual(shown["title"], "Invitation")
        self.assertRegex(shown["body"], r"^\u2068Bob ~\w{4}\u2069 invites you to a private chat\.$")
        self.alice.ask(do="decline", invitation=1)
        self.bob.ask(do="leave", chat="attic")
        self.assertTrue(invited)

    def test_names_and_texts_of_others_are_text(self):
        self.alice.stays("a_b <i>&\u05d0")
        mallory = Person("Mallory")
        mallory.start()
        self.addCleanup(mallory.stop)
        for person in mallory, self.alice:
            person.ask(do="block", user="aaaaaaaaaaaaaaaa")  # an answer, so that both nodes run
        mallory.ask(do="nick", name="Bob<b>\u2713\u202e")
        mallory.stays("a_b <i>&\u05d0")
        mallory.sees("a_b <i>&\u05d0", "Alice", "away")
        icon = self.begin()
        self.says(HOSTILE, "a_b <i>&\u05d0", mallory)
        shown = self.shown()
        self.assertEqual(shown["title"], "a_b <i>&\u05d0")
        body = shown["body"]
        self.assertNotRegex(body, r"<|>|&(?!(amp|lt|gt|quot|#39);)")
        self.assertIn(r"\x1b[31m", body)
        allowed = {"\u2068", "\u2069", "\n"}
        harmful = [char for char in body + shown["title"]
                   if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in allowed]
        self.assertEqual(harmful, [])
        self.assertEqual(body.count("\u2068"), body.count("\u2069"))
        self.assertRegex(body, r"^\u2068&quot;?Bob.* ~\w{4}&?\w*;?\u2069: |^\u2068Bob.* ~\w{4}\u2069: ")
        labels = [label for label in icon.items() if "a__b" in label]
        self.assertEqual(labels, ["\u2068a__b <i>&\u05d0\u2069 (1)"])
        self.assertNotIn("a_b", str(icon.properties["ToolTip"]), "a tip can have markup, so it has no text of others")
        self.alice.leaves("a_b <i>&\u05d0")

    # The daemon.

    def test_the_icon_follows_the_daemon_and_starts_it(self):
        icon = self.begin()
        self.alice.stop()
        icon.waits("Inkling: not running")
        self.assertEqual([label for label in icon.items() if not label.startswith("-")], ["Start Inkling", "Quit"])
        time.sleep(6.5)  # The icon no longer looks for another daemon, and sleeps.
        self.alice.start()
        icon.waits("Inkling: online")
        self.bob.sees("kitchen", "Alice", "away")
        self.says("after the restart")
        self.assertIn("after the restart", self.shown()["body"])
        self.alice.close()
        self.alice.daemon.kill()
        icon.waits("Inkling: not running")
        icon.click()
        icon.waits("Inkling: online")
        status = subprocess.run([harness.PROGRAM, "status", "--state-dir", self.alice.state], capture_output=True,
                                text=True, env=harness.environment_of_programs(), timeout=harness.TIMEOUT)
        self.assertEqual(status.returncode, 0, status.stderr)
        stopped = subprocess.run([harness.PROGRAM, "stop", "--state-dir", self.alice.state], capture_output=True,
                                 text=True, env=harness.environment_of_programs(), timeout=harness.TIMEOUT)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.end_children()
        icon.waits("Inkling: not running")
        self.alice.start()
        icon.waits("Inkling: online")

    def end_children(self):
        """Ends the page's server, which the tray started."""
        pid = self.tray.process.pid
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGTERM)

    def test_the_icon_attaches_to_a_prompt_that_runs_inkling(self):
        icon = self.begin()
        self.alice.stop()
        icon.waits("Inkling: not running")
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(harness.PROGRAM, ["inkling", "chat", "kitchen", "--no-config", "--no-discovery", "--name", "Alice",
                                        "--state-dir", str(self.alice.state)],
                      {**harness.environment_of_programs(), "TERM": "xterm"})
        drain = threading.Thread(target=self.drain, args=(terminal,), daemon=True)
        drain.start()
        icon.waits("Inkling: online")
        self.assertIn("kitchen", icon.items())
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        icon.waits("Inkling: not running")
        self.alice.start()
        icon.waits("Inkling: online")

    @staticmethod
    def drain(terminal):
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:
            pass

    def test_open_starts_inkling_beside_the_program_and_reports_its_failure(self):
        folder = harness.work() / "beside"
        folder.mkdir()
        copy = shutil.copy(TRAY, folder / "inkling-tray")
        program = folder / "inkling"
        program.write_text(f"#!/bin/sh\necho \"$@\" >>{folder}/words\nexit 3\n")
        program.chmod(0o755)
        icon = self.begin(program=copy)
        self.says("Click me")
        self.desktop.signal("ActionInvoked", self.shown()["number"], "default")
        words = folder / "words"
        harness.wait(words.exists, "the program starts")
        self.assertEqual(words.read_text(), f"web --state-dir {self.alice.state}\n")
        self.assertEqual(self.shown(2)["title"], "Inkling can't be opened")
        program.unlink()
        icon.choose("Open")
        self.assertEqual(self.shown(3)["title"], "Inkling can't be opened")

    # Cost.

    def test_the_program_is_small_and_sleeps(self):
        memory = self.sleeper.rest()
        print(f"         resident: {memory} KiB", flush=True)
        self.assertLessEqual(memory, MEMORY)

    def test_the_program_stays_small_while_something_is_unread(self):
        icon = self.begin()
        self.says("For later")
        self.shown()
        icon.waits("Inkling: online, 1 unread message")
        harness.wait(lambda: self.tray.memory() <= MEMORY, lambda: f"the program shrinks, from {self.tray.memory()} KiB")

    # The command.

    def test_the_command_runs_the_program_and_switches_the_autostart(self):
        home = harness.work() / "home of the command"
        home.mkdir()
        own = {**environment(self.desktop), "HOME": str(home)}
        run = lambda *words: subprocess.run([harness.PROGRAM, "tray", *words], env=own, text=True, capture_output=True,
                                            timeout=harness.TIMEOUT)
        entry = home / ".config/autostart/inkling-tray.desktop"
        for _ in range(2):
            self.assertEqual(run("--autostart", "on").returncode, 0)
        self.assertIn(f'Exec="{os.path.realpath(harness.PROGRAM)}" "tray"\n', entry.read_text())
        for _ in range(2):
            self.assertEqual(run("--autostart", "off").returncode, 0)
        self.assertFalse(entry.exists())
        (home / ".config/inkling").mkdir()
        (home / ".config/inkling/config.toml").write_text("[notifications]\nshow-texts = true\n")
        tray = harness.Process("command", [harness.PROGRAM, "tray"], own)
        self.addCleanup(tray.stop)
        icon = Icon(self.desktop, harness.wait(lambda: self.desktop.hand.get_name_owner(NAME), "the tray has its name"))
        icon.waits("Inkling: not running")
        words = pathlib.Path(f"/proc/{tray.process.pid}/cmdline").read_bytes()
        self.assertEqual(words, b"inkling-tray\0--show-texts\0")
