"""Notifications of the browser. A class of the test's own stands for the browser's, which a test can't see."""

import harness
from people import TestWithPeople

STAND_IN = """
window.notes = [];
window.Notification = class {
  static permission = %s;
  static requestPermission() { return Promise.resolve(this.permission = %s); }
  constructor(title, {body, tag}) { window.notes.push([title, body, tag]); window.note = this; }
  close() {}
};"""


class NotificationTests(TestWithPeople):
    def install(self, before, after="granted"):
        """Gives each later page of Alice's a browser that answers so."""
        script = STAND_IN % (f"'{before}'", f"'{after}'")
        number = self.alice.browser.command("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        self.addCleanup(self.alice.browser.command, "Page.removeScriptToEvaluateOnNewDocument", identifier=number)
        self.addCleanup(self.switch_off)
        self.alice.page.reload()
        self.alice.page.wait_for_person("Bob")

    def switch(self, name):
        page = self.alice.page
        page.click("#you")
        page.click(f"#{name}")
        page.wait_for(lambda: page.one(f"#{name}").is_selected(), f"{name} is on: {page.text('#notify-words')}")
        page.close_dialog()

    def switch_off(self):
        page = self.alice.page
        page.show()
        page.click("#you")
        if page.one("#notify").is_selected():
            page.click("#notify")
            page.wait_for(lambda: not page.one("#notify").is_selected(), "notifications are off")
        page.close_dialog()

    def notes(self):
        return self.alice.page.script("return window.notes")

    def while_hidden(self, act):
        # Otherwise Bob could still see her away from before, while the page is not hidden yet.
        self.bob.page.wait_for_person("Alice", "Active")
        tab = self.alice.browser.tab()
        self.bob.page.wait_for_person("Alice", "Away")
        act()
        self.alice.browser.close_tab(tab, self.alice.page.tab)

    def bob_writes(self, text):
        self.bob.page.send(text)
        self.bob.page.wait_for_outcome(text, "Delivered")

    def test_nothing_is_shown_before_the_user_wants_it(self):
        self.install("granted")
        self.while_hidden(lambda: self.bob_writes("Psst"))
        self.alice.page.wait_for_text("Psst")
        self.assertEqual(self.notes(), [])

    def test_a_hidden_page_shows_who_wrote_and_a_press_opens_the_chat(self):
        page, other = self.alice.page, f"{self.chat}-other"
        self.install("granted")
        self.switch("notify")
        self.bob_writes("In sight")
        page.wait_for_text("In sight")
        self.assertEqual(self.notes(), [])
        self.while_hidden(lambda: self.bob_writes("<b>Tea</b> is ready"))
        page.wait_for(lambda: self.notes(), "a notification")
        self.assertEqual(self.notes(), [[f"\u2068Bob\u2069 in \u2068{self.chat}\u2069", "<b>Tea</b> is ready", self.chat]])
        self.while_hidden(lambda: self.bob.page.send("/me pours it"))
        page.wait_for(lambda: len(self.notes()) > 1, "a second notification")
        self.assertEqual(self.notes()[1][1], "pours it")
        page.open_chat(other)
        page.script("window.note.onclick()")
        page.wait_for(lambda: page.title() == self.chat, "the chat is open")
        # A reload keeps the choice.
        page.reload()
        page.click("#you")
        page.wait_for(lambda: page.one("#notify").is_selected(), "the choice")
        page.close_dialog()
        self.switch_off()
        self.while_hidden(lambda: self.bob_writes("Psst"))
        page.wait_for_text("Psst")
        self.assertEqual(self.notes(), [])

    def test_the_text_of_a_private_chat_shows_only_if_wanted(self):
        page, private = self.alice.page, f"{self.chat}-private"
        self.install("default")
        self.switch("notify")
        page.open_chat(private, private=True)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), "the invite")
        invite = page.script("return document.getElementById('invite-text').value")
        page.close_dialog()
        self.bob.page.click("#join-invite")
        self.bob.page.one("#join-text").send_keys(invite, "\ue007")
        page.wait_for_person("Bob")
        self.while_hidden(lambda: self.bob_writes("A secret"))
        page.wait_for(lambda: len(self.notes()) == 1, "a notification")
        self.assertNotIn("secret", str(self.notes()))
        self.switch("notify-text")
        self.while_hidden(lambda: self.bob_writes("Another secret"))
        page.wait_for(lambda: len(self.notes()) == 2, "a second notification")
        self.assertEqual(self.notes()[1][1], "Another secret")

    def test_the_icon_starts_at_each_login_until_it_is_switched_off(self):
        page, entry = self.alice.page, harness.work() / ".config/autostart/inkling-tray.desktop"
        page.click("#you")
        self.assertFalse(page.one("#icon-on").is_selected())
        page.click("#icon-on")
        page.wait_for(entry.exists, "the entry")
        self.assertIn(f"{self.alice.state}", entry.read_text())
        page.close_dialog()
        page.reload()
        page.click("#you")
        page.wait_for(lambda: page.one("#icon-on").is_selected(), "the choice")
        page.click("#icon-on")
        page.wait_for(lambda: not entry.exists(), "the end of the entry")
        # Where a file lies in the place of its folder, the page says so.
        entry.parent.rmdir()
        entry.parent.write_text("")
        page.click("#icon-on")
        page.wait_for(lambda: "can't be written" in page.text("#icon-fault"), "what went wrong")
        page.wait_for(lambda: not page.one("#icon-on").is_selected(), "it is off")
        entry.parent.unlink()
        page.click("#icon-on")
        page.wait_for(lambda: page.one("#icon-on").is_selected() and not page.text("#icon-fault"), "it is on")
        page.click("#icon-on")
        page.wait_for(lambda: not entry.exists(), "the end of the entry")
        page.close_dialog()

    def test_a_browser_that_refuses_says_so(self):
        page = self.alice.page
        self.install("default", "denied")
        page.click("#you")
        page.click("#notify")
        page.wait_for(lambda: "does not let the page notify" in page.text("#notify-words"), "the reason")
        self.assertFalse(page.one("#notify").is_selected())
        self.assertFalse(page.one("#notify").is_enabled())
        page.close_dialog()
