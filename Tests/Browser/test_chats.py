"""Chats: new ones, private ones, invites, and what is refused."""

from selenium.webdriver.common.keys import Keys

from people import TestWithPeople


class ChatTests(TestWithPeople):
    joined = False

    def join_by_invite(self, page, invite):
        page.click("#join-invite")
        page.one("#join-text").clear()
        page.one("#join-text").send_keys(invite)
        page.click("#join-form .main")

    def make_private(self):
        """Alice's private chat; returns its invite."""
        page = self.alice.page
        page.open_chat(self.chat, private=True)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), "the invite")
        invite = page.script("return document.getElementById('invite-text').value")
        self.assertRegex(invite, r"^inkling:")
        return invite

    def test_people_of_a_private_chat_join_by_its_invite(self):
        invite = self.make_private()
        page = self.alice.page
        self.assertEqual(page.all("#invite-qr svg"), [])
        page.click("#invite-show")
        page.wait_for(lambda: page.all("#invite-qr svg path"), "the QR code")
        page.close_dialog()
        self.join_by_invite(self.bob.page, invite)
        self.bob.page.wait_for(lambda: self.bob.page.title() == self.chat, lambda: f"joined: {self.bob.page.text('#join-note')}")
        self.assertIn("Private", self.bob.page.text("#subtitle"))
        page.wait_for_person("Bob")
        self.bob.page.send("A secret")
        page.wait_for_text("A secret")

    def test_a_private_chat_is_not_the_open_one_of_its_name(self):
        self.make_private()
        self.alice.page.close_dialog()
        self.bob.page.open_chat(self.chat)
        self.bob.page.send("Is anybody here?")
        self.bob.page.wait_for_outcome("Is anybody here?", "Nobody was here")
        self.assertEqual(self.alice.page.texts(), [])

    def test_an_invite_that_is_none_says_so(self):
        for invite in "inkling:nonsense", "hello", "inkling://" + "x" * 300:
            with self.subTest(invite[:20]):
                self.join_by_invite(self.alice.page, invite)
                self.alice.page.wait_for(lambda: self.alice.page.text("#join-note"), "the reason")
                self.assertTrue(self.alice.page.one("#dialog-join").is_displayed())
                self.alice.page.close_dialog()

    def test_a_name_that_no_chat_can_have_says_so(self):
        for name in "x" * 65, "a\u202eb":
            with self.subTest(name[:20]):
                self.alice.page.new_chat(name)
                self.alice.page.wait_for(lambda: self.alice.page.text("#join-note"), "the reason")
                self.alice.page.close_dialog()
        self.assertEqual(self.alice.page.chats(), [])

    def test_an_open_chat_with_the_name_of_a_private_one_asks_first(self):
        self.make_private()
        page = self.alice.page
        page.close_dialog()
        page.click("#leave")
        page.click("#ask-yes")
        page.wait_for(lambda: page.chats() == [], "Alice has left")
        page.new_chat(self.chat)
        page.wait_for(lambda: "private chat" in page.text("#ask-text"), "the question")
        page.click("#dialog-ask .close")
        page.close_dialog()
        self.assertEqual(page.chats(), [])
        page.new_chat(self.chat)
        page.click("#ask-yes")
        page.wait_for(lambda: page.title() == self.chat, "the open chat")

    def test_a_draft_is_there_after_a_reload_and_does_not_count_as_typing(self):
        page, bob = self.alice.page, self.bob.page
        page.open_chat(self.chat)
        bob.open_chat(self.chat)
        page.wait_for_person("Bob")
        page.type("half a sente")
        bob.wait_for_typing("Alice is typing")
        page.reload()
        page.wait_for(lambda: page.draft() == "half a sente", lambda: f"the draft, not {page.draft()!r}")
        bob.wait_for_typing("")
        page.type("nce\ue007")
        bob.wait_for_text("half a sentence")
        page.reload()
        page.wait_for_text("half a sentence")
        self.assertEqual(page.draft(), "")

    def test_an_empty_chat_says_who_can_come_and_how(self):
        self.alice.page.open_chat(self.chat)
        self.alice.page.wait_for(lambda: "join by exactly this name" in self.alice.page.text("#empty"), "the words")
        self.assertIn("reaches only people who are here", self.alice.page.text("#empty"))
        self.alice.page.wait_for(lambda: "does not look for other computers" in self.alice.page.text("#empty"),
                                 "what discovery says", 8)

    def test_a_command_of_the_prompt_is_no_message(self):
        self.alice.page.open_chat(self.chat)
        self.alice.page.send("/invite")
        self.alice.page.wait_for(self.alice.page.hint, "the reason")
        self.assertEqual((self.alice.page.texts(), self.alice.page.draft()), ([], "/invite"))
        self.assertIn("press Invite others", self.alice.page.hint())
        self.alice.page.clear()
        self.alice.page.send("//invite")
        self.alice.page.wait_for_text("/invite")


class KeyboardTests(TestWithPeople):
    """Everything by keys alone: these tests send keys to the element that has the focus, and nothing else."""

    joined = False

    def press(self, *keys):
        for key in keys:
            self.alice.browser.driver.switch_to.active_element.send_keys(key)

    def focus(self):
        return self.alice.page.script("return document.activeElement.id || document.activeElement.dataset.user"
                                      " || document.activeElement.dataset.chat || document.activeElement.className")

    def tab_to(self, wanted, key=Keys.TAB):
        """Presses Tab until an element has the focus, which must be visible."""
        for _ in range(40):
            if self.focus() == wanted:
                break
            self.press(key)
        else:
            self.fail(f"Tab does not reach {wanted}; it is at {self.focus()}")
        outline = self.alice.page.script("const style = getComputedStyle(document.activeElement);"
                                         "return style.outlineStyle + style.outlineWidth + style.boxShadow")
        self.assertNotIn(outline, ("none0pxnone", "none3pxnone"), f"no visible focus on {wanted}")

    def test_keys_alone_join_write_search_verify_and_leave(self):
        page = self.alice.page
        self.bob.page.open_chat(self.chat)
        page.script("document.activeElement.blur()")
        self.tab_to("new-chat")
        self.press(Keys.ENTER)
        page.wait_for(lambda: self.focus() == "join-text", "the field for the name has the focus")
        self.press(self.chat + Keys.ENTER)
        page.wait_for(lambda: page.title() == self.chat, "the chat is open")
        page.wait_for(lambda: self.focus() == "draft", "the field for messages has the focus")
        page.wait_for_person("Bob")
        self.press("Tea?" + Keys.ENTER)
        self.bob.page.wait_for_text("Tea?")
        self.bob.page.send("Yes")
        page.wait_for_text("Yes")
        self.tab_to("search-open", Keys.SHIFT + Keys.TAB)
        self.press(Keys.ENTER, "yes")
        page.wait_for(lambda: page.all("#conversation .hit"), "the match")
        self.press(Keys.ESCAPE)
        page.wait_for(lambda: self.focus() in ("search-open", "draft"), lambda: f"the focus is back, not at {self.focus()}")
        bob = page.script("return document.querySelector('#people [data-user]').dataset.user")
        self.tab_to(bob)
        self.press(Keys.ENTER)
        page.wait_for(lambda: page.one("#dialog-person").is_displayed(), "what is known of Bob")
        self.tab_to("match")
        self.press(Keys.SPACE)
        page.wait_for(lambda: page.text("#person-state").startswith("Verified"), "Bob is verified")
        self.tab_to("no-match")
        self.press(Keys.SPACE)
        page.wait_for(lambda: page.text("#person-state").startswith("Not verified"), "Bob is no longer verified")
        self.press(Keys.ESCAPE)
        page.wait_for(lambda: self.focus() == bob, lambda: f"the focus is back at Bob, not at {self.focus()}")
        self.tab_to("leave", Keys.SHIFT + Keys.TAB)
        self.press(Keys.ENTER)
        page.wait_for(lambda: page.one("#dialog-ask").is_displayed(), "the question")
        self.tab_to("ask-yes")
        self.press(Keys.ENTER)
        page.wait_for(lambda: page.chats() == [], "Alice has left")

    def test_keys_alone_choose_a_chat_and_read_above(self):
        page = self.alice.page
        page.open_chat(self.chat)
        page.open_chat(self.chat + "-other")
        self.tab_to("conversation", Keys.SHIFT + Keys.TAB)
        self.tab_to(self.chat + "-other", Keys.SHIFT + Keys.TAB)
        self.press(Keys.ARROW_UP)
        self.assertEqual(self.focus(), self.chat)
        self.press(Keys.ENTER)
        page.wait_for(lambda: page.title() == self.chat, "the chat is open")
