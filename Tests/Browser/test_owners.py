"""Owners of private chats, and the list of blocked people."""

import harness
from test_accessibility import Accessibility
from test_keeping import TestWithPrivateChat


class OwnerTests(TestWithPrivateChat):
    def key(self, person):
        return person.front_end.ask(do="identity")["key"]

    def owner(self, person, chat):
        return next(one.get("owner") for one in person.front_end.ask(do="chats")["chats"] if one["chat"] == chat)

    def test_the_owner_hands_a_chat_over(self):
        page = self.page
        self.show_options()
        self.assertIn("You own it", page.text("#options-about"))
        page.close_dialog()
        page.person("Bob")
        page.click("#hand-over")
        page.wait_for(lambda: "belongs to" in page.text("#ask-text"), "the question")
        listed = page.text("#ask-list")
        self.assertIn("Bob (not verified, ", listed)
        page.click("#dialog-ask .close")
        self.assertEqual(self.owner(self.bob, self.chat), self.key(self.alice))
        page.click("#hand-over")
        page.click("#ask-yes")
        harness.wait(lambda: self.owner(self.bob, self.chat) == self.key(self.bob), "Bob owns the chat")
        page.wait_for(lambda: "Its owner is Bob" in page.text("#conversation"), "the page says so")
        page.wait_for_person("Bob")
        page.person("Bob")
        page.wait_for(lambda: not page.one("#hand-over").is_displayed() and not page.one("#remove").is_displayed(),
                      "only the owner hands over and removes")
        page.close_dialog()
        self.show_options()
        self.assertIn("Its owner is Bob", page.text("#options-about"))
        self.assertFalse(page.one("#own").is_displayed())

    def test_a_chat_without_an_owner_leads_to_one_of_the_users_own(self):
        page, free = self.page, f"{self.chat}-free"
        invite = f"inkling:{free}#{'b' * 25}a"
        self.bob.front_end.ask(do="join", invite=invite, keep=True)
        page.click("#join-invite")
        page.one("#join-text").send_keys(invite, "\ue007")
        page.wait_for(lambda: page.title() == free, lambda: f"{free}: {page.text('#join-note')}")
        page.wait_for_person("Bob")
        self.show_options()
        self.assertIn("no owner", page.text("#options-about"))
        page.click("#own")
        page.wait_for(lambda: f"{free} 2" in page.text("#ask-text"), "the question")
        self.assertIn("Bob", page.text("#ask-list"))
        page.click("#ask-yes")
        page.wait_for(lambda: page.title() == f"{free} 2", lambda: f"the new chat: {page.text('#options-note')}")
        self.bob.page.wait_for(lambda: f"{free} 2" in self.bob.page.text("#invitations"), "Bob's card")
        self.bob.page.click("#invitations .card .main")
        page.wait_for_person("Bob")
        self.assertEqual(self.owner(self.bob, f"{free} 2"), self.key(self.alice))


class BlockedTests(Accessibility, TestWithPrivateChat):
    def rows(self):
        return self.page.script("return [...document.querySelectorAll('#blocked > li')].map((row) => row.innerText)")

    def test_blocked_people_are_listed_and_unblocked(self):
        page = self.page
        page.person("Bob")
        page.click("#block")
        page.click("#ask-yes")
        page.wait_for(lambda: page.text("#block") == "Unblock", "Bob is blocked")
        page.close_dialog()
        page.click("#you")
        page.click("#show-blocked")
        page.wait_for(lambda: len(self.rows()) == 1 and "Bob" in self.rows()[0], self.rows)
        if self.has_axe:
            for width in 1100, 320:
                self.resize(width)
                for scheme in "light", "dark":
                    self.scheme(scheme)
                    self.check(f"{width}, {scheme}", "'#dialog-blocked'")
            self.reset()
        page.click("#blocked button")
        page.wait_for(lambda: self.rows() == [] and "blocked nobody" in page.text("#blocked-none"), self.rows)
        page.close_dialog_in_front()
        page.close_dialog()
        page.wait_for_person("Bob")
