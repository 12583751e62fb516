"""What Inkling keeps: the history of a chat and its search, messages that wait, and the place of a reader."""

import harness
import scripted
from people import TestWithPeople
from test_accessibility import Accessibility
from test_modules import harm
from test_removals import ScriptedRemovals

FIRST_IN_SIGHT = """
const log = document.getElementById('conversation'), {top} = log.getBoundingClientRect();
const row = [...log.querySelectorAll('article')].find((row) => row.getBoundingClientRect().bottom > top);
return row.textContent + ' ' + Math.round(row.getBoundingClientRect().top - top);"""

IS_TOLD = """
const log = document.getElementById('conversation'), {top} = log.getBoundingClientRect();
const row = [...log.children].find((row) => row.getBoundingClientRect().bottom > top);
const isAtEnd = document.getElementById('more').hidden, {text} = JSON.parse(window.places.at(-1) ?? '{"text": null}');
return isAtEnd ? text === '' : text?.split(' ')[0] === row.dataset.message;"""
WATCH_PLACES = """
const {send} = WebSocket.prototype;
window.places = [];
WebSocket.prototype.send = function(text) {
  if (JSON.parse(text).kind === 'places') window.places.push(text);
  send.call(this, text);
};"""


class TestWithPrivateChat(TestWithPeople):
    """Alice's private chat, with Bob at a front end of his daemon."""

    joined = False

    def setUp(self):
        super().setUp()
        self.page = self.alice.page
        self.page.open_chat(self.chat, private=True)
        self.page.wait_for(lambda: self.page.one("#dialog-invite").is_displayed(), "the invite")
        self.invite = self.page.script("return document.getElementById('invite-text').value")
        self.page.close_dialog()
        self.bob_joins()

    def bob_joins(self):
        self.bob.front_end.ask(do="join", invite=self.invite, keep=True)
        self.page.wait_for_person("Bob")
        harness.wait(lambda: any(one["name"] == "Alice" and one["presence"] != "offline" for one in
                                 self.bob.front_end.ask(do="who", chat=self.chat)["peers"]), "Bob sees Alice")

    def bob_says(self, *texts):
        for text in texts:
            sent = self.bob.front_end.ask(do="send", chat=self.chat, text=text)
        self.bob.front_end.wait_for(
            lambda line: line["on"] == "delivered" and line["message"] == sent["message"], f"delivery of {text}")

    def bob_ends(self):
        self.bob.drop_front_end()
        self.bob.daemon.stop()
        self.page.wait_for_person("Bob", "ast seen")

    def status(self):
        return next(one for one in self.alice.front_end.ask(do="chats")["chats"] if one["chat"] == self.chat)

    def show_options(self):
        self.page.click("#options")
        self.page.wait_for(lambda: self.page.one("#dialog-options").is_displayed(), "the options")

    def wait_for_place(self):
        """Waits until the server has the present place. The answer to a later request proves it."""
        self.page.wait_for(lambda: self.page.script(IS_TOLD), "the page tells its place")
        self.show_options()
        self.page.close_dialog()

    def keep_history(self):
        self.show_options()
        self.page.click("#history")
        harness.wait(lambda: self.status()["history"], "the history is on")
        self.page.close_dialog()

    def search(self, text):
        self.page.click("#search-open")
        self.page.one("#search").send_keys(text)

    def wait_for_hit(self, text):
        self.page.wait_for(lambda: [text in hit.text for hit in self.page.all("#conversation .hit")] == [True],
                           lambda: f"{text} is marked: {self.page.text('#search-count')}")


class HistoryTests(TestWithPrivateChat):
    def test_history_is_switched_on_searched_and_ended(self):
        page = self.page
        self.show_options()
        self.assertFalse(page.one("#history").is_selected())
        page.close_dialog()
        self.keep_history()
        self.bob_says("Cake is ready", "Tea too")
        page.wait_for_text("Tea too")
        self.alice.restart_daemon()
        page.wait_for_person("Bob")
        page.reload()
        page.wait_for(lambda: page.texts() == ["Cake is ready", "Tea too"], lambda: f"the history: {page.texts()}")
        self.search("cake")
        self.wait_for_hit("Cake")
        self.show_options()
        self.assertTrue(page.one("#history").is_selected())
        page.click("#history")
        page.wait_for(lambda: "Remove the kept messages" in page.text("#ask-text"), "the question")
        page.click("#dialog-ask .close")
        page.wait_for(lambda: page.one("#history").is_selected(), "the history goes on")
        self.assertTrue(self.status()["history"])
        page.click("#history")
        page.click("#ask-yes")
        harness.wait(lambda: not self.status()["history"], "the history is off")
        self.assertEqual(self.alice.front_end.ask(do="messages", chat=self.chat, text="cake")["messages"], [])

    def test_an_open_chat_has_no_history(self):
        self.page.open_chat(f"{self.chat}-open")
        self.show_options()
        self.assertFalse(self.page.one("#history").is_displayed())
        self.assertIn("not kept", self.page.text("#options-about"))

    def test_search_and_scrolling_reach_what_the_page_has_not_loaded(self):
        page = self.page
        self.keep_history()
        for start in range(0, 500, 50):
            self.bob_says(*(f"Message {number}{' needle' if number in (7, 120) else ''}" for number in range(start, start + 50)))
        self.alice.restart_daemon()
        page.wait_for_person("Bob")
        page.reload()
        page.wait_for_text("Message 499")
        page.script(WATCH_PLACES)
        self.search("needle")
        self.wait_for_hit("Message 120 needle")
        self.assertEqual(page.text("#search-count"), "1 of 2")
        page.one("#search").send_keys("\ue007")
        self.wait_for_hit("Message 7 needle")
        self.assertEqual(page.text("#search-count"), "2 of 2")
        hit = page.script("const {top, bottom} = document.querySelector('.hit').getBoundingClientRect(),"
                          " log = document.getElementById('conversation').getBoundingClientRect();"
                          "return top >= log.top && bottom <= log.bottom")
        self.assertTrue(hit, "the match is in sight")
        # A reload comes back to this place, which is above what the page loads first.
        before = page.script(FIRST_IN_SIGHT)
        self.wait_for_place()
        page.reload()
        page.wait_for(lambda: page.script(FIRST_IN_SIGHT) == before, lambda: f"{before!r}: {page.script(FIRST_IN_SIGHT)!r}")
        page.script(WATCH_PLACES)
        page.click("#more")
        page.wait_for(lambda: not page.one("#more").is_displayed(), "the end")
        self.wait_for_place()
        page.reload()
        page.wait_for_text("Message 499")
        self.assertNotIn("Message 7 needle", page.texts())
        def is_at_beginning():
            page.script("document.getElementById('conversation').scrollTop = 0")
            return "Message 0" in page.texts()
        page.wait_for(is_at_beginning, lambda: f"the first message, not {page.texts()[:1]}")
        texts = page.texts()
        self.assertEqual(texts[:3], ["Message 0", "Message 1", "Message 2"])
        self.assertEqual(len(set(texts)), len(texts))


class RefusalTests(ScriptedRemovals):
    def test_a_refused_choice_says_why_and_shows_the_present_state(self):
        page = self.page
        for do in "history", "hold":
            self.daemon.errors[do] = f"The disk is full, says {do}."
            page.click("#options")
            page.wait_for(lambda: page.one("#dialog-options").is_displayed(), "the options")
            page.click(f"#{do}")
            page.wait_for(lambda: do in page.text("#options-note"), "the reason")
            page.wait_for(lambda: not page.one(f"#{do}").is_selected(), "the switch is off")
            page.close_dialog()

    def test_a_text_that_can_not_be_given_up_says_why(self):
        page = self.page
        self.daemon.waiting = [{"entry": 7, "chat": "team", "user": scripted.user(1), "name": "Bob", "key": scripted.key(1),
                                "text": "<b>Later</b>", "at": 1.0}]
        self.daemon.errors["forget"] = "The disk is full."
        page.reload()
        page.wait_for(lambda: page.text("#waits") == "1 message waits", lambda: page.text("#waits"))
        page.click("#waits")
        page.wait_for(lambda: "<b>Later</b>" in page.text("#waiting"), "the text")
        page.click("#waiting button")
        page.wait_for(lambda: "The disk is full." in page.text("#waiting-note"), "the reason")
        self.assertEqual(len(page.all("#waiting > li")), 1)
        page.close_dialog()

    def test_hostile_names_and_texts_stay_text_in_each_list(self):
        page = self.page
        hostile = "<img src=x onerror=alert(1)>\u202e\u0007 Bob \u2713\n\u200b\x1b[2J"
        self.daemon.waiting = [{"entry": 7, "chat": hostile, "user": scripted.user(9), "name": hostile, "key": scripted.key(9),
                                "text": hostile, "at": 1.0}]
        self.daemon.people = [scripted.person(9, hostile, "offline")]
        page.reload()
        page.click("#waits")
        page.wait_for(lambda: page.all("#waiting > li"), "the text")
        shown = [page.script("return document.getElementById('waiting').textContent")]
        page.close_dialog()
        page.click("#you")
        page.click("#show-blocked")
        page.wait_for(lambda: page.all("#blocked > li"), "the person")
        shown.append(page.script("return document.getElementById('blocked').textContent"))
        page.close_dialog_in_front()
        page.close_dialog()
        for text in shown:
            self.assertIn("<img", text)
            self.assertIsNone(harm(text))
        self.assertEqual(page.all("dialog img"), [])


class WaitingTests(TestWithPrivateChat):
    def rows(self):
        return self.page.script("return [...document.querySelectorAll('#waiting > li')].map((row) => row.innerText)")

    def test_what_waits_is_listed_and_given_up(self):
        page = self.page
        self.assertFalse(page.one("#waits").is_displayed())
        self.bob_ends()
        for text in "First", "Second", "Third":
            page.send(text)
            page.wait_for_outcome(text, "Waiting for Bob")
        page.wait_for(lambda: page.text("#waits") == "3 messages wait", lambda: page.text("#waits"))
        page.click("#waits")
        page.wait_for(lambda: [row.split("\n")[0] for row in self.rows()] == ["First", "Second", "Third"], self.rows)
        self.assertIn(f"For Bob in {self.chat}", self.rows()[0])
        page.click("#waiting > li:nth-child(2) button")
        page.wait_for(lambda: [row.split("\n")[0] for row in self.rows()] == ["First", "Third"], self.rows)
        page.wait_for_outcome("Second", "May not have reached Bob")
        page.click("#forget-all")
        page.click("#ask-yes")
        page.wait_for(lambda: self.rows() == [], self.rows)
        self.assertIn("No message waits", page.text("#waiting-none"))
        page.close_dialog()
        self.assertFalse(page.one("#waits").is_displayed())
        self.assertEqual(self.alice.front_end.ask(do="waiting")["waiting"], [])
        page.one("#conversation .outcome button").click()
        page.wait_for_outcome("First", "Waiting for Bob")

    def test_what_waited_over_a_restart_shows_its_delivery(self):
        page = self.page
        self.bob_ends()
        page.send("Later")
        page.wait_for_outcome("Later", "Waiting for Bob")
        self.alice.restart_daemon()
        page.wait_for(lambda: page.banner() == "", "the page is connected again")
        page.wait_for_outcome("Later", "Waiting for Bob")
        self.bob.restart_daemon()
        page.wait_for_outcome("Later", "Delivered")
        page.wait_for(lambda: not page.one("#waits").is_displayed(), "nothing waits")

    def test_messages_of_a_chat_need_not_wait(self):
        page = self.page
        self.show_options()
        self.assertTrue(page.one("#hold").is_selected())
        page.click("#hold")
        harness.wait(lambda: not self.status()["hold"], "nothing waits in the chat")
        page.close_dialog()
        self.bob_ends()
        page.wait_for(lambda: "don't wait" in page.text("#empty-text"), lambda: page.text("#empty-text"))
        page.send("For nobody")
        page.wait_for_outcome("For nobody", "Nobody was here")
        self.show_options()
        page.click("#hold")
        harness.wait(lambda: self.status()["hold"], "messages wait again")
        page.close_dialog()
        page.send("For Bob")
        page.wait_for_outcome("For Bob", "Waiting for Bob")
        self.show_options()
        page.click("#hold")
        page.wait_for(lambda: "1 message waits in this chat" in page.text("#ask-text"), "the question")
        page.click("#ask-yes")
        page.wait_for_outcome("For Bob", "May not have reached Bob")


class PlaceTests(TestWithPrivateChat):
    def test_a_reload_keeps_the_place_in_the_conversation(self):
        page = self.page
        self.bob_says(*(f"Message {number}\nof two lines" for number in range(60)))
        page.wait_for(lambda: "Message 59\nof two lines" in page.texts(), "the last message")
        page.reload()
        page.wait_for(lambda: "Message 59\nof two lines" in page.texts(), "the last message")
        self.assertFalse(page.one("#more").is_displayed(), "a page at the end stays there")
        page.script(WATCH_PLACES)
        page.script("document.getElementById('conversation').scrollTop = 700")
        page.type("half a sente")
        page.wait_for(lambda: page.one("#more").is_displayed(), "the button to the end")
        before = page.script(FIRST_IN_SIGHT)
        self.wait_for_place()
        page.reload()
        page.wait_for(lambda: page.script(FIRST_IN_SIGHT) == before, lambda: f"{before!r}: {page.script(FIRST_IN_SIGHT)!r}")
        self.assertEqual(page.draft(), "half a sente")
        kept = page.script("return [sessionStorage.length, localStorage.length, document.cookie]")
        self.assertEqual(kept, [1, 0, ""])
        self.assertEqual([file.name for file in self.alice.state.rglob("*") if file.is_file()
                          and b"half a sente" in file.read_bytes()], [])
        # Another chat, or another tab, has its own place.
        second = self.alice.open()
        second.wait_for(lambda: "Message 59\nof two lines" in second.texts(), "the last message")
        self.assertFalse(second.one("#more").is_displayed())


class KeepingAccessibilityTests(Accessibility, TestWithPrivateChat):
    def test_axe_finds_nothing_in_options_and_lists(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        page = self.page
        self.bob_ends()
        page.send("Later " + "and later " * 30)
        page.wait_for(lambda: page.one("#waits").is_displayed(), "what waits")
        for width in 1100, 320:
            self.resize(width)
            for scheme in "light", "dark":
                self.scheme(scheme)
                self.show_options()
                self.check(f"options, {width}, {scheme}", "'dialog[open]'")
                page.click("#options-waiting")
                page.wait_for(lambda: page.all("#waiting > li"), "what waits")
                self.check(f"waiting, {width}, {scheme}", "'#dialog-waiting'")
                self.assertEqual(page.script("return [...document.querySelectorAll('dialog[open]')].filter("
                                             "(one) => one.scrollWidth > one.clientWidth).length"), 0)
                page.close_dialog_in_front()
                page.close_dialog()
