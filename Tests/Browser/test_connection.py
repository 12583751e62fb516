"""The daemon and the page server end and come back."""

import signal
import time

from people import TestWithPeople


class DaemonTests(TestWithPeople):
    def setUp(self):
        super().setUp()
        self.alice.page.send("Before")
        self.alice.page.wait_for_outcome("Before", "Delivered")
        self.alice.page.type("A draft")
        self.alice.drop_front_end()

    def test_a_lost_daemon_shows_within_a_second_and_the_page_comes_back_by_itself(self):
        began = time.monotonic()
        self.alice.daemon.kill()
        self.alice.page.wait_for(lambda: "Inkling is not running" in self.alice.page.banner(), "the banner")
        self.assertLess(time.monotonic() - began, 1.5)
        self.alice.page.type("!\ue007")
        self.assertEqual(self.alice.page.draft(), "A draft!")
        self.bob.page.wait_for_person("Alice", "ast seen")
        self.bob.page.wait_for_typing("")
        self.alice.restart_daemon()
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")
        self.alice.page.wait_for_person("Bob")
        self.assertEqual((self.alice.page.title(), self.alice.page.draft()), (self.chat, "A draft!"))
        self.assertIn("Before", self.alice.page.texts())
        self.alice.page.type("\ue007")
        self.bob.page.wait_for_text("A draft!")
        self.alice.page.wait_for_outcome("A draft!", "Delivered")

    def test_a_press_starts_the_daemon_again(self):
        self.alice.daemon.kill()
        self.alice.page.wait_for(lambda: "Start again" in self.alice.page.banner(), "the button")
        self.alice.page.click("#banner-action")
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")
        self.assertEqual(self.alice.page.script("return document.activeElement.id"), "draft")
        # The tests' own daemon takes the place of the one that the server began, whose options differ.
        self.alice.front_end.say(do="stop")
        self.alice.drop_front_end()
        self.alice.page.wait_for(self.alice.page.banner, "the banner")
        self.alice.restart_daemon()
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")

    def test_a_stopped_daemon_comes_back(self):
        self.alice.daemon.stop()
        self.alice.page.wait_for(lambda: "Inkling is not running" in self.alice.page.banner(), "the banner")
        self.alice.restart_daemon()
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")
        self.alice.page.wait_for_person("Bob")

    def test_a_chat_chosen_without_a_daemon_leaves_no_words_behind(self):
        """The banner says already that Inkling is not running."""
        page = self.alice.page
        page.clear()
        page.open_chat(f"{self.chat}-other")
        page.script("""
            window.hints = [];
            const hint = document.getElementById('hint');
            new MutationObserver(() => window.hints.push(hint.textContent)).observe(hint, {childList: true});""")
        self.alice.daemon.kill()
        page.wait_for(page.banner, "the banner")
        page.choose(self.chat)
        self.alice.restart_daemon()
        page.wait_for(lambda: not page.banner(), "the banner is gone")
        page.wait_for_person("Bob")
        self.assertEqual([hint for hint in page.script("return window.hints") if hint], [])

    def test_what_a_start_says_of_its_files_shows_in_the_chats(self):
        """The daemon says it before the page knows any chat."""
        self.alice.daemon.stop()
        database = self.alice.state / "state.db"
        content = bytearray(database.read_bytes())
        content[-2000:] = b"x" * 2000
        database.write_bytes(content)
        self.alice.restart_daemon()
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")
        # A page that knows no chat yet gets it too.
        self.alice.page.reload()
        self.alice.page.wait_for(lambda: "state.db was damaged" in self.alice.page.text("#conversation"), "the remark")
        self.assertEqual(self.alice.page.text("#conversation").count("state.db was damaged"), 1)

    def test_a_send_without_an_answer_is_not_known_and_never_repeated(self):
        self.alice.daemon.signal(signal.SIGSTOP)
        self.alice.page.type("\ue007")
        self.alice.page.wait_for_outcome("A draft", "Sending")
        self.alice.daemon.kill()
        self.alice.page.wait_for_outcome("A draft", "Not known")
        self.alice.restart_daemon()
        self.alice.page.wait_for(lambda: not self.alice.page.banner(), "the banner is gone")
        self.alice.page.wait_for_person("Bob")
        self.alice.page.send("After")
        self.bob.page.wait_for_text("After")
        self.assertNotIn("A draft", self.bob.page.texts())

    def test_the_page_cannot_stop_the_daemon(self):
        """The page has no button for it, so the test writes to the page's own connection."""
        self.alice.page.script("""
            const {send} = WebSocket.prototype;
            WebSocket.prototype.send = function (text) {
              WebSocket.prototype.send = send;
              this.addEventListener('message', ({data}) => {
                if (JSON.parse(data).id === 'stop') window.answer = JSON.parse(data);
              });
              this.send(text);
              this.send('{"do":"stop","id":"stop"}');
            };""")
        self.alice.page.type("!")
        answer = self.alice.page.wait_for(lambda: self.alice.page.script("return window.answer"), "the answer")
        self.assertEqual((answer["on"], answer["code"]), ("error", "inkling-web-refused"))
        self.alice.page.type("\ue007")
        self.bob.page.wait_for_text("A draft!")
