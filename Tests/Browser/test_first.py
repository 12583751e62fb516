"""The first minutes of somebody who has only the page: a name, a chat, an invite, and a second person."""

import json
import os
import pathlib
import pwd

from selenium.webdriver.common.keys import Keys

import harness
from browser import Browser
from people import Person, TestWithPeople
from test_accessibility import Accessibility

LOGIN = pwd.getpwuid(os.getuid()).pw_name


def arguments():
    """The arguments of all programs."""
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes()
        except OSError:
            pass  # the program has ended


class TestWithNewcomer(TestWithPeople):
    """Dora has never chosen a name: her daemon took her login name."""

    joined = False

    def setUp(self):
        super().setUp()
        self.browser = Browser(f"newcomer-{self.chat}")
        self.addCleanup(self.browser.stop)
        self.addCleanup(self.check_newcomer)
        self.dora = Person(LOGIN, harness.free_port(), [self.alice.port, self.bob.port, self.carol.port], self.browser,
                           harness.work() / f"newcomer-{self.chat}")
        self.addCleanup(self.dora.stop)
        self.dora.serve()
        self.page = self.dora.open(self.dora.server.first)

    def check_newcomer(self):
        self.assertEqual(self.browser.faults(), [])

    def is_asked(self, page):
        return page.one("#first-form").is_displayed()

    def choose_name(self, name):
        self.page.wait_for(lambda: self.is_asked(self.page), "the question for the name")
        self.page.one("#first-name").send_keys(Keys.CONTROL + "a" + Keys.NULL, name, Keys.ENTER)
        self.page.wait_for(lambda: self.page.one("#choices").is_displayed(), lambda: f"the choices: {self.page.text('#first-note')}")

    def wait_for_title(self, page, title):
        page.wait_for(lambda: page.title() == title, lambda: f"{title!r} is open, not {page.title()!r}: {page.text('#join-note')!r}")

    def make_private(self):
        """A chat for a few; returns its invite, with the dialog still open."""
        page = self.page
        page.click("#choose-few")
        page.wait_for(lambda: "whom you invite" in page.text("#join-words"), "the page says who can read along")
        page.one("#join-text").send_keys(self.chat, Keys.ENTER)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), lambda: f"the invite: {page.text('#join-note')}")
        return page.script("return document.getElementById('invite-text').value")

    def restart_server(self):
        self.dora.server.stop()
        self.dora.serve()
        self.browser.driver.get(self.dora.server.first)
        self.page.wait_up()


class FirstTests(TestWithNewcomer):
    def test_the_name_is_asked_for_once(self):
        page = self.page
        page.wait_for(lambda: self.is_asked(page), "the question for the name")
        self.assertEqual(page.script("return document.getElementById('first-name').value"), LOGIN)
        self.assertFalse(page.one("#choices").is_displayed())
        page.reload()
        page.wait_for(lambda: self.is_asked(page), "the question again, without an answer")
        self.choose_name("Dora")
        self.assertEqual(self.dora.front_end.ask(do="identity")["name"], "Dora")
        page.wait_for(lambda: page.text("#you-name") == "Dora", "the new name")
        page.reload()
        page.wait_for(lambda: page.one("#choices").is_displayed(), "the choices at once")
        second = self.dora.open()
        second.wait_for(lambda: second.one("#choices").is_displayed(), "the choices in a second tab")
        self.browser.close_tab(second.tab, page.tab)
        # A daemon with the login name is no reason to ask again.
        self.dora.restart_daemon()
        self.restart_server()
        page.wait_for(lambda: page.one("#choices").is_displayed(), "the choices after a new start")
        page.wait_for(lambda: page.text("#you-name") == LOGIN, "the name of the daemon")

    def test_the_proposed_name_is_an_answer_too(self):
        self.page.wait_for(lambda: self.is_asked(self.page), "the question for the name")
        self.browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.page.wait_for(lambda: self.page.one("#choices").is_displayed(), "the choices")
        self.restart_server()
        self.page.wait_for(lambda: self.page.one("#choices").is_displayed(), "the choices after a new start")

    def test_a_name_that_is_refused_says_why(self):
        self.page.wait_for(lambda: self.is_asked(self.page), "the question for the name")
        self.page.one("#first-name").send_keys("x" * 65, Keys.ENTER)
        self.page.wait_for(lambda: self.page.text("#first-note"), "the reason")
        self.assertTrue(self.is_asked(self.page))

    def test_the_settings_or_another_name_answer_for_the_user(self):
        self.assertFalse(self.is_asked(self.alice.page))
        self.assertTrue(self.alice.page.one("#choices").is_displayed())

    def test_a_chat_for_a_few_its_invite_and_a_second_person(self):
        self.choose_name("Dora")
        invite, bob = self.make_private(), self.bob.page
        self.page.close_dialog()
        bob.click("#choose-invite")
        bob.wait_for(lambda: "with this invite" in bob.text("#join-words"), "the page says who can read along")
        bob.one("#join-text").send_keys(invite, Keys.ENTER)
        self.wait_for_title(bob, self.chat)
        self.page.wait_for_person("Bob")
        bob.send("Hello Dora")
        self.page.wait_for_text("Hello Dora")
        self.page.send("Hello Bob")
        bob.wait_for_text("Hello Bob")

    def test_the_file_of_an_invite_is_saved_and_leads_into_the_chat(self):
        folder = harness.work() / f"saved-{self.chat}"
        folder.mkdir()
        self.browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self.choose_name("Dora")
        invite, bob = self.make_private(), self.bob.page
        self.page.click("#invite-save")
        file = folder / f"{self.chat}.invite"
        harness.wait(lambda: file.exists() and file.read_text() == invite + "\n", "the file of the invite")
        bob.click("#choose-invite")
        bob.one("#join-file").send_keys(str(file))
        bob.wait_for(lambda: bob.script("return document.getElementById('join-text').value") == invite, "the file is read")
        bob.one("#join-text").send_keys(Keys.ENTER)
        self.wait_for_title(bob, self.chat)
        self.page.wait_for_person("Bob")

    def test_a_file_that_is_no_invite_says_so(self):
        page = self.bob.page
        for size in 40, 5000:
            file = harness.work() / f"other-{self.chat}-{size}"
            file.write_text("x" * size)
            page.click("#choose-invite")
            page.one("#join-file").send_keys(str(file))
            if size < 4096:
                page.wait_for(lambda: page.script("return document.getElementById('join-text').value"), "the file is read")
                page.one("#join-text").send_keys(Keys.ENTER)
            page.wait_for(lambda: page.text("#join-note"), "the reason")
            page.close_dialog()
        self.assertEqual(page.chats(), [])

    def test_the_lobby_says_how_many_are_there(self):
        self.bob.page.click("#choose-lobby")
        self.wait_for_title(self.bob.page, "lobby")
        self.choose_name("Dora")
        self.assertIn("You see who is there as soon as you join", self.page.text("#lobby-words"))
        self.page.click("#choose-lobby")
        self.wait_for_title(self.page, "lobby")
        self.page.wait_for(lambda: "1 person is here" in self.page.text("#subtitle"), lambda: self.page.text("#subtitle"))
        second = self.dora.open()
        second.wait_for(lambda: second.title() == "lobby", "the lobby is open in a second tab")
        second.script("document.querySelector('#chat .back').click()")
        second.wait_for(lambda: "1 person is there" in second.text("#lobby-words"), lambda: second.text("#lobby-words"))
        self.assertEqual(second.text("#welcome-words"), "In your chats now: \u2068Bob\u2069.")

    def test_somebody_who_is_here_gets_the_invite_by_a_press(self):
        self.bob.page.open_chat(f"{self.chat}-hall")
        self.choose_name("Dora")
        self.page.open_chat(f"{self.chat}-hall")
        self.page.wait_for_person("Bob")
        self.page.click("#new-chat")
        self.page.one("#join-private").click()
        self.page.one("#join-text").send_keys(self.chat, Keys.ENTER)
        self.page.wait_for(lambda: "Bob" in self.page.text("#invite-here"), "Bob can be invited")
        self.page.click("#invite-here button")
        self.page.wait_for(lambda: "not verified" in self.page.text("#ask-text"), "the question")
        self.page.click("#ask-yes")
        self.page.wait_for(lambda: "Bob is invited" in self.page.text("#invite-note"), "the invitation is sent")
        self.page.close_dialog()
        self.bob.page.click("#invitations .card .main")
        self.wait_for_title(self.bob.page, self.chat)
        self.page.wait_for_person("Bob")
        self.page.click("#invite-open")
        self.page.wait_for(lambda: self.page.one("#dialog-invite").is_displayed(), "the invite")
        self.assertFalse(self.page.one("#here").is_displayed(), "Bob is here already")

    def test_keys_go_into_the_message_after_a_press_on_close(self):
        self.choose_name("Dora")
        self.make_private()
        self.page.click("#dialog-invite .close")
        self.page.wait_for(lambda: not self.page.all("dialog[open]"), "the dialog is closed")
        self.browser.driver.switch_to.active_element.send_keys("Hello")
        self.assertEqual(self.page.draft(), "Hello")

    def test_a_new_page_opens_the_chat_that_a_page_showed_last(self):
        self.choose_name("Dora")
        for name in f"{self.chat}-one", f"{self.chat}-two":
            self.page.open_chat(name)
        self.page.choose(f"{self.chat}-one")
        second = self.dora.open()
        self.wait_for_title(second, f"{self.chat}-one")
        self.assertEqual(len(second.chats()), 2)
        self.browser.close_tab(second.tab, self.page.tab)
        self.restart_server()
        self.wait_for_title(self.page, f"{self.chat}-one")
        kept = json.loads((self.dora.state / "page.json").read_text())
        self.assertEqual(kept, {"named": 1, "shown": f"{self.chat}-one"})
        self.assertEqual(pathlib.Path(self.dora.state / "page.json").stat().st_mode & 0o777, 0o600)
        # A chat that the user has left opens no more.
        self.page.click("#leave")
        self.page.click("#ask-yes")
        self.page.wait_for(lambda: len(self.page.chats()) == 1, "the chat is left")
        second = self.dora.open()
        second.wait_for(lambda: second.chats(), "the other chat")
        self.assertEqual(second.title(), "")

    def test_a_damaged_file_of_the_page_costs_one_question(self):
        self.choose_name("Dora")
        self.dora.front_end.ask(do="nick", name=LOGIN)
        self.dora.server.stop()
        (self.dora.state / "page.json").write_text("{\"named\":")
        self.dora.serve()
        self.browser.driver.get(self.dora.server.first)
        self.page.wait_up()
        self.choose_name("Dora")
        harness.wait(lambda: json.loads((self.dora.state / "page.json").read_text()) == {"named": 1}, "the file is whole")

    def test_an_empty_private_chat_says_what_becomes_of_a_message(self):
        self.choose_name("Dora")
        invite = self.make_private()
        self.page.close_dialog()
        self.page.wait_for(lambda: "reaches nobody" in self.page.text("#empty-text"), lambda: self.page.text("#empty-text"))
        bob = self.bob.front_end
        bob.ask(do="join", invite=invite)
        self.page.wait_for_person("Bob")
        self.assertNotIn("wait", self.page.text("#empty-text"))
        self.bob.daemon.kill()
        self.bob.drop_front_end()
        self.page.wait_for_person("Bob", "ast seen")
        self.page.wait_for(lambda: "for up to 7 days" in self.page.text("#empty-text"), lambda: self.page.text("#empty-text"))
        self.page.send("For later")
        self.page.wait_for_outcome("For later", "Waiting for Bob")

    def test_the_page_finds_out_why_nobody_is_there(self):
        self.choose_name("Dora")
        self.page.click("#choose-lobby")
        self.page.wait_for(lambda: self.page.one("#examine").is_displayed(), "the button", 8)
        self.page.click("#examine")
        self.page.wait_for(lambda: "Looking for the reason" in self.page.text("#examine"), "the page is at work")
        # Other users can read the arguments of a program.
        self.page.wait_for(lambda: any(b"\0doctor\0" in line for line in arguments()), "the doctor")
        self.assertFalse([line for line in arguments() if b"\0doctor\0" in line and b"lobby" in line])
        self.page.wait_for(lambda: self.page.text("#empty-found"), "what the check finds", 60)
        self.assertIn("To tell the other person", self.page.text("#empty-found"))
        self.assertRegex(self.page.text("#empty-mend"), "can mend it with: .*dbus|avahi")

    def test_an_option_as_a_chats_name_is_a_name(self):
        self.choose_name("Dora")
        self.page.open_chat("--help")
        self.page.wait_for(lambda: self.page.one("#examine").is_displayed(), "the button", 8)
        self.page.click("#examine")
        self.page.wait_for(lambda: "To tell the other person" in self.page.text("#empty-found"), "what the check finds", 60)


class FirstKeyboardTests(TestWithNewcomer):
    def press(self, *keys):
        for key in keys:
            self.browser.driver.switch_to.active_element.send_keys(key)

    def focus(self):
        return self.page.script("return document.activeElement.id || document.activeElement.className")

    def tab_to(self, wanted):
        for _ in range(40):
            if self.focus() == wanted:
                break
            self.press(Keys.TAB)
        else:
            self.fail(f"Tab does not reach {wanted}; it is at {self.focus()}")

    def test_keys_alone_lead_to_a_second_person(self):
        page, bob = self.page, self.bob.page
        page.wait_for(lambda: self.focus() == "first-name", "the field for the name has the focus")
        self.press(Keys.CONTROL + "a" + Keys.NULL, "Dora" + Keys.ENTER)
        page.wait_for(lambda: self.focus() == "choose-lobby", "the first choice has the focus")
        self.tab_to("choose-few")
        self.press(Keys.ENTER)
        page.wait_for(lambda: self.focus() == "join-text", "the field for the chat's name has the focus")
        self.press(self.chat + Keys.ENTER)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), "the invite")
        invite = page.script("return document.getElementById('invite-text').value")
        self.press(Keys.ESCAPE)
        page.wait_for(lambda: not page.all("dialog[open]"), "the dialog is closed")
        bob.click("#choose-invite")
        bob.one("#join-text").send_keys(invite, Keys.ENTER)
        page.wait_for_person("Bob")
        page.script("document.activeElement.blur()")
        self.tab_to("draft")
        self.press("Hello Bob" + Keys.ENTER)
        bob.wait_for_text("Hello Bob")


class FirstAccessibilityTests(Accessibility, TestWithNewcomer):
    def setUp(self):
        super().setUp()
        # The base looks at Alice's page.
        self.addCleanup(setattr, self, "alice", self.alice)
        self.alice, self.dora.page = self.dora, self.page

    def look(self, name, *places):
        for width in 1100, 320:
            self.resize(width)
            for scheme in "light", "dark":
                self.scheme(scheme)
                self.check(f"{name}, {width} px, {scheme}", *places)
            sizes = self.page.script("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(*sizes, f"{name}, {width} px")
            self.assertEqual(self.page.script("""return [...document.querySelectorAll('dialog[open], #welcome')].filter(
                (one) => one.scrollWidth > one.clientWidth).map(({id}) => id)"""), [], f"{name}, {width} px")
        self.reset()

    def test_axe_finds_nothing_in_the_first_minutes(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        page = self.page
        page.wait_for(lambda: self.is_asked(page), "the question for the name")
        self.look("name")
        self.choose_name("Dora")
        self.look("choices")
        page.click("#choose-invite")
        self.look("an invite", "'dialog[open]'")
        page.close_dialog()
        page.click("#choose-few")
        self.look("a chat for a few", "'dialog[open]'")
        page.close_dialog()
        self.make_private()
        self.look("the invite", "'dialog[open]'")
        page.close_dialog()
        page.wait_for(lambda: page.one("#examine").is_displayed(), "the button", 8)
        self.look("nobody is there")
        page.click("#options")
        page.wait_for(lambda: page.one("#dialog-options").is_displayed(), "the options")
        self.look("options", "'dialog[open]'")
        page.close_dialog()
        page.click("#you")
        self.look("you", "'dialog[open]'")
