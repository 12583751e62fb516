"""Messages and their outcomes."""

import signal

from selenium.webdriver.common.keys import Keys

from harness import TIMEOUT
from people import TestWithPeople


class MessageTests(TestWithPeople):
    def test_shift_enter_breaks_the_line(self):
        self.alice.page.type("one" + Keys.SHIFT + Keys.ENTER + Keys.NULL + "two")
        self.assertEqual(self.alice.page.draft(), "one\ntwo")
        self.alice.page.type(Keys.ENTER)
        self.bob.page.wait_for_text("one\ntwo")

    def test_a_deed_stands_beside_the_name(self):
        self.alice.page.send("/me pours tea")
        self.bob.page.wait_for_text("pours tea")
        deed = self.bob.page.messages()[-1]
        self.assertIn("Alice", deed["shown"])
        self.assertNotIn("/me", deed["shown"])
        for person in self.alice, self.bob:
            row = next(row for row in person.page.chats() if self.chat in row)
            self.assertIn("\u2068Alice\u2069 pours tea", row)

    def test_links_open_in_a_new_tab_without_a_referrer(self):
        self.alice.page.send("see https://example.org/a?b=c#d and http://[::1]:80/x. not javascript:alert(1)")
        self.bob.page.wait_for(lambda: self.bob.page.texts(), "the message")
        links = self.bob.page.all("#conversation .text a")
        self.assertEqual([link.get_attribute("href") for link in links],
                         ["https://example.org/a?b=c#d", "http://[::1]/x"])
        for link in links:
            self.assertEqual(set(link.get_attribute("rel").split()), {"noopener", "noreferrer"})
            self.assertEqual(link.get_attribute("target"), "_blank")

    def test_a_link_shows_the_ascii_form_of_its_host(self):
        self.alice.page.send("https://аpple.example/x and https://apple.example@evil.example/")
        self.bob.page.wait_for(lambda: self.bob.page.texts(), "the message")
        shown = self.bob.page.messages()[-1]["shown"]
        links = self.bob.page.script(
            "return [...document.querySelectorAll('#conversation .text a')].map((a) => a.href + ' ' + a.textContent)")
        self.assertTrue(any("xn--" in link.split(" ", 1)[1] or "xn--" in shown for link in links), links)
        self.assertFalse(any("apple.example@evil" in link.split(" ")[0] for link in links), links)

    def test_a_day_begins_with_a_line(self):
        self.alice.page.send("Hello")
        self.bob.page.wait_for_text("Hello")
        days = self.bob.page.script(
            "return [...document.querySelectorAll('#conversation .day')].map((day) => day.textContent)")
        self.assertEqual(len(days), 1, days)
        self.assertTrue(days[0])
        self.alice.page.send("Hello again")
        self.bob.page.wait_for_text("Hello again")
        self.assertEqual(len(self.bob.page.all("#conversation .day")), 1)

    def test_a_long_text_is_folded_until_its_button_is_pressed(self):
        text = "\n".join(f"line {number}" for number in range(60))
        self.alice.page.put(text)
        self.alice.page.type(Keys.ENTER)
        self.bob.page.wait_for(lambda: self.bob.page.texts(), "the message")
        self.assertIn("line 5", self.bob.page.texts()[-1])
        self.assertNotIn("line 59", self.bob.page.texts()[-1])
        self.bob.page.click("#conversation .all")
        self.bob.page.wait_for_text(text)

    def test_a_message_of_65_536_bytes_arrives_and_a_longer_one_stays_in_the_field(self):
        text = "0123456789abcdef" * 4096
        self.alice.page.put(text)
        self.alice.page.type(Keys.ENTER)
        self.bob.page.click("#conversation .all")
        self.bob.page.wait_for_text(text)
        self.alice.page.wait_for(lambda: self.alice.page.draft() == "", "the field is empty")
        # 65,537 bytes in fewer letters.
        text = "é" * 32_768 + "!"
        self.alice.page.put(text)
        self.alice.page.type(Keys.ENTER)
        self.alice.page.wait_for(lambda: "65" in self.alice.page.hint(), "the page says that the text is too long")
        self.assertEqual(self.alice.page.draft(), text)
        self.assertEqual(len(self.alice.page.messages()), 1)
        self.alice.page.clear()

    def test_reload_keeps_the_conversation_and_its_outcomes(self):
        self.alice.page.send("Before")
        self.alice.page.wait_for_outcome("Before", "Delivered")
        self.bob.page.send("Answer")
        self.alice.page.wait_for_text("Answer")
        self.alice.page.reload()
        self.alice.page.wait_for(lambda: self.alice.page.chats(), "the chats")
        if self.alice.page.title() != self.chat:
            self.alice.page.choose(self.chat)
        self.alice.page.wait_for(lambda: self.alice.page.texts() == ["Before", "Answer"], "the conversation")
        self.alice.page.wait_for_outcome("Before", "Delivered")
        self.alice.page.send("After")
        self.bob.page.wait_for_text("After")
        self.assertEqual(self.alice.page.texts(), ["Before", "Answer", "After"])

    def test_two_tabs_show_the_same_messages_and_outcomes(self):
        self.alice.page.send("From the first")
        self.alice.page.wait_for_outcome("From the first", "Delivered")
        second = self.alice.open()
        second.choose(self.chat)
        second.wait_for_outcome("From the first", "Delivered")
        second.send("From the second")
        second.wait_for_outcome("From the second", "Delivered")
        self.alice.page.show()
        self.alice.page.wait_for_outcome("From the second", "Delivered")
        self.assertEqual(self.alice.page.texts(), ["From the first", "From the second"])

    def test_messages_wait_for_a_hidden_tab_below_a_marker(self):
        tab = self.bob.browser.tab()
        self.alice.page.wait_for_person("Bob", "Away")
        self.alice.page.send("While you were out")
        self.alice.page.wait_for_outcome("While you were out", "Delivered")
        
        self.bob.browser.close_tab(tab, self.bob.page.tab)
        self.bob.page.wait_for_text("While you were out")
        self.bob.page.wait_for(lambda: self.bob.page.text("#unread"), "the marker of unread messages")
        self.assertEqual(self.bob.page.texts(), ["While you were out"])
        self.alice.page.wait_for_person("Bob")

    def test_a_browser_that_was_asleep_shows_what_came_meanwhile(self):
        self.bob.browser.signal(signal.SIGSTOP)
        self.addCleanup(self.bob.browser.signal, signal.SIGCONT)
        for number in range(20):
            self.alice.page.send(f"Message {number}")
        self.alice.page.wait_for_outcome("Message 19", "Delivered")
        self.bob.browser.signal(signal.SIGCONT)
        self.bob.page.wait_for_text("Message 19")
        self.assertEqual(self.bob.page.texts(), [f"Message {number}" for number in range(20)])

    def test_unread_messages_are_counted_in_list_and_title(self):
        self.bob.page.open_chat(self.chat + "-other")
        # The daemon shows the other chat too, once it has answered this.
        self.bob.page.send("Is anybody here?")
        self.bob.page.wait_for_outcome("Is anybody here?", "Nobody was here")
        for number in 1, 2:
            self.alice.page.send(f"Unread {number}")
        self.bob.page.wait_for(lambda: any(row.split("\n")[1] == self.chat and "2" in row.split("\n")[3:]
                                           for row in self.bob.page.chats()), lambda: f"the count: {self.bob.page.chats()}")
        self.bob.page.wait_for(lambda: "(2)" in self.bob.browser.driver.title, "the title has the count")
        self.bob.page.choose(self.chat)
        self.bob.page.wait_for_text("Unread 2")
        self.bob.page.wait_for(lambda: "(2)" not in self.bob.browser.driver.title, "the title has no count")

    def test_the_former_chat_is_closed_before_another_is_joined(self):
        page, other = self.bob.page, self.chat + "-other"
        page.open_chat(other)
        page.choose(self.chat)
        self.bob.browser.driver.refresh()
        page.wait_for(lambda: page.title() == self.chat, "the chat is open again")
        page.script("""
            const {send} = WebSocket.prototype;
            window.requests = [];
            WebSocket.prototype.send = function(text) {
              window.requests.push(JSON.parse(text));
              send.call(this, text);
            };
            window.forget = () => Object.assign(WebSocket.prototype, {send});""")
        self.addCleanup(page.script, "window.forget()")
        page.choose(other)
        requests = [(one["do"], one.get("chat")) for one in page.script("return window.requests")
                    if one["do"] in ("open", "join")]
        self.assertEqual(requests, [("open", None), ("join", other), ("open", other)])

    def test_search_finds_a_message_in_the_chat(self):
        for text in "Milk", "Sugar", "Tea":
            self.alice.page.send(text)
        self.alice.page.wait_for_outcome("Tea", "Delivered")
        self.alice.page.click("#search-open")
        self.alice.page.one("#search").send_keys("suga")
        self.alice.page.wait_for(
            lambda: ["Sugar" in hit.text for hit in self.alice.page.all("#conversation .hit")] == [True], "the match is marked")
        self.alice.page.one("#search").send_keys(Keys.ESCAPE)
        self.alice.page.wait_for(lambda: not self.alice.page.all("#conversation .hit"), "nothing is marked")

    def test_the_page_does_not_scroll_while_the_user_reads_above(self):
        carol = self.carol_joins()
        for number in range(60):
            sent = carol.ask(do="send", text=f"Message {number}\nof two lines", chat=self.chat)
        for _ in range(sent["to"]):
            carol.wait_for(lambda line: line["on"] == "delivered" and line["message"] == sent["message"], "delivery")
        page = self.bob.page
        page.wait_for(lambda: "Message 59\nof two lines" in page.texts(),
                      lambda: f"the last message, after {page.texts()[-1:]} of {len(page.texts())}, {page.text('#more')!r}")
        page.script("document.getElementById('conversation').scrollTop = 100")
        page.wait_for(lambda: page.one("#more").is_displayed(), "the button to the end")
        before = self.first_in_sight()
        carol.ask(do="send", text="And one more", chat=self.chat)
        page.wait_for(lambda: "1 new" in page.text("#more"), lambda: f"the count of new messages, not {page.text('#more')}")
        self.assertEqual(self.first_in_sight(), before)
        page.click("#more")
        page.wait_for(lambda: page.script("const log = document.getElementById('conversation');"
                                          "return log.scrollHeight - log.scrollTop - log.clientHeight < 4"), "the end")

    def first_in_sight(self):
        return self.bob.page.script("""
            const log = document.getElementById('conversation');
            const {top} = log.getBoundingClientRect();
            const row = [...log.querySelectorAll('article')].find((row) => row.getBoundingClientRect().bottom > top);
            return row.textContent + ' ' + (row.getBoundingClientRect().top - top);""")

    def test_a_pasted_picture_is_refused_with_a_reason(self):
        self.alice.page.one("#draft").click()
        self.alice.page.script("""
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(8)], 'a.png', {type: 'image/png'}));
            document.getElementById('draft').dispatchEvent(
              new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));""")
        self.alice.page.wait_for(lambda: "icture" in self.alice.page.hint(), "the reason")

    def test_a_message_to_a_stopped_node_fails_and_goes_out_again_on_a_press(self):
        page = self.alice.page
        # Dave's daemon takes nothing and dies: nobody knows whether he has the message.
        carol = self.carol_joins()
        del carol
        page.wait_for_person("Carol")
        self.carol.daemon.signal(signal.SIGSTOP)
        page.send("Are you there?")
        self.carol.drop_front_end()
        self.carol.daemon.kill()
        page.wait_for_outcome("Are you there?", "May not have reached Carol", timeout=30)
        self.carol.restart_daemon()
        self.carol_joins()
        page.wait_for_person("Carol")
        page.one("#conversation .outcome button").click()
        page.wait_for(lambda: page.texts().count("Are you there?") >= 1 and "Delivered" in page.outcome("Are you there?"),
                      lambda: f"delivered at last: {page.messages()}")
        self.carol.front_end.wait_for(
            lambda line: line["on"] == "message" and line.get("text") == "Are you there?", "the message", TIMEOUT)
