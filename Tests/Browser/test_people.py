"""People: presence, verification, names that look alike, and the user's own state."""

from selenium.webdriver.common.keys import Keys

from people import TestWithPeople


class PresenceTests(TestWithPeople):
    def test_somebody_who_leaves_is_greyed_and_kept(self):
        self.carol_joins()
        self.alice.page.wait_for_person("Carol")
        self.carol.drop_front_end()
        self.alice.page.wait_for_person("Carol", "ast seen")
        self.assertEqual(self.alice.page.text("#people-count"), "1 here, 1 offline")
        row = next(row for row in self.alice.page.people() if "Carol" in row["text"])
        self.assertNotIn("Active now", row["text"])
        colours = self.alice.page.script("""
            return [...document.querySelectorAll('#people .name')].map(
              (name) => [name.textContent, getComputedStyle(name).color + getComputedStyle(name.closest('li')).opacity
                + getComputedStyle(name.closest('button')).opacity]);""")
        self.assertEqual(len({colour for _, colour in colours}), 2, colours)
        self.carol_joins()
        self.alice.page.wait_for_person("Carol")

    def test_away_shows_for_others_and_in_the_own_tabs(self):
        second = self.alice.open()
        second.click("#you")
        second.click("#away")
        self.bob.page.wait_for_person("Alice", "Away")
        second.close_dialog()
        second.wait_for(lambda: "Away" in second.text("#you-state"), "the second tab says so")
        self.alice.page.show()
        self.alice.page.wait_for(lambda: "Away" in self.alice.page.text("#you-state"), "the first tab says so")
        self.alice.page.click("#you")
        self.alice.page.click("#away")
        self.alice.page.close_dialog()
        self.bob.page.wait_for_person("Alice")

    def rename(self, name):
        self.alice.page.click("#you")
        field = self.alice.page.one("#name")
        field.clear()
        field.send_keys(name + Keys.ENTER)

    def test_a_name_that_is_refused_says_why(self):
        self.rename("x" * 65)
        self.alice.page.wait_for(lambda: self.alice.page.text("#name-note"), "the reason")
        self.alice.page.close_dialog()
        self.assertEqual(self.alice.page.text("#you-name"), "Alice")

    def test_a_name_that_others_see_otherwise_says_so(self):
        page = self.alice.page
        self.rename("Alice \u2713")
        page.wait_for(lambda: page.text("#name-note"), "the other form")
        page.wait_for(lambda: page.text("#you-name") != "Alice", "the name at the top")
        shown = page.text("#you-name")
        self.assertRegex(shown, r"^Alice ~[a-z2-7]{4}$")
        self.assertEqual(page.text("#name-note"), f"Others see you as \u2068{shown}\u2069.")
        page.close_dialog()


class VerificationTests(TestWithPeople):
    def test_two_people_compare_and_verify(self):
        for person, other in (self.alice, "Bob"), (self.bob, "Alice"):
            person.page.person(other)
        own = self.alice.page.text("#own-id")
        self.assertRegex(own, r"^[a-z2-7]{4}( [a-z2-7]{4}){3}$")
        self.assertEqual(own, self.bob.page.text("#person-id"))
        self.assertEqual(self.alice.page.text("#person-id"), self.bob.page.text("#own-id"))
        self.alice.page.wait_for(lambda: len(self.alice.page.all("#fingerprint li")) == 12, "the fingerprint")
        self.bob.page.wait_for(lambda: len(self.bob.page.all("#fingerprint li")) == 12, "the fingerprint")
        self.assertEqual(self.alice.page.text("#fingerprint"), self.bob.page.text("#fingerprint"))
        self.alice.page.click("#match")
        self.alice.page.wait_for(lambda: self.alice.page.text("#person-state").startswith("Verified"), "the state")
        self.alice.page.close_dialog()
        self.bob.page.click("#no-match")
        self.bob.page.wait_for(lambda: self.bob.page.text("#person-note"), "the warning")
        self.bob.page.close_dialog()
        self.alice.page.wait_for(lambda: self.shields(self.alice) == ["Bob"], "Bob's shield")
        self.assertEqual(self.shields(self.bob), [])
        # The shield stands outside of the box that the name has for itself.
        self.assertEqual(self.alice.page.all("#people bdi .shield"), [])
        self.bob.page.send("It is me")
        self.alice.page.wait_for_text("It is me")
        self.assertTrue(self.alice.page.all("#conversation .by .shield"))
        self.unverify()

    def test_enter_twice_on_a_person_decides_nothing(self):
        page = self.alice.page

        def press(key):
            self.alice.browser.driver.switch_to.active_element.send_keys(key)

        page.script("[...document.querySelectorAll('#people button')].find((one) => one.textContent.includes('Bob')).focus()")
        press(Keys.ENTER)
        page.wait_for(lambda: page.one("#dialog-person").is_displayed(), "what is known of the person")
        page.wait_for(lambda: len(page.all("#fingerprint li")) == 12, "the fingerprint")
        press(Keys.ENTER)
        press(Keys.SPACE)
        self.assertTrue(page.text("#person-state").startswith("Not verified"))
        page.close_dialog()
        self.assertEqual(self.shields(self.alice), [])

    def shields(self, person):
        return person.page.script("return [...document.querySelectorAll('#people > li')].filter("
                                  "(row) => row.querySelector('.shield')).map((row) => row.querySelector('.name').textContent)")

    def unverify(self):
        self.alice.page.person("Bob")
        self.alice.page.click("#no-match")
        self.alice.page.wait_for(lambda: "Not verified" in self.alice.page.text("#person-state"), "no longer verified")
        self.alice.page.close_dialog()
        self.alice.page.wait_for(lambda: self.shields(self.alice) == [], "no shield")

    def test_a_name_like_that_of_a_verified_person_brings_a_warning(self):
        bob = next(one for one in self.alice.front_end.ask(do="who", chat=self.chat)["peers"] if one["name"] == "Bob")
        self.alice.front_end.ask(do="verify", key=bob["key"])
        self.addCleanup(lambda: self.alice.front_end.ask(do="unverify", key=bob["key"]))
        self.carol_joins("B\u043eb")  # with a Cyrillic letter
        self.alice.page.wait_for(
            lambda: any("Not the Bob you verified" in row["text"] for row in self.alice.page.people()),
            lambda: f"the warning: {self.alice.page.people()}")
        warned, = (row for row in self.alice.page.people() if "Not the Bob" in row["text"])
        self.assertRegex(warned["text"], r"~[a-z2-7]{4}")
        self.assertFalse(warned["verified"])

    def test_a_known_name_with_another_key_brings_a_warning_in_the_conversation(self):
        bob = next(one for one in self.alice.front_end.ask(do="who", chat=self.chat)["peers"] if one["name"] == "Bob")
        self.alice.front_end.ask(do="verify", key=bob["key"])
        self.addCleanup(lambda: self.alice.front_end.ask(do="unverify", key=bob["key"]))
        self.carol_joins("Bob")
        self.alice.page.wait_for(lambda: "the key is different" in self.alice.page.text("#conversation"), "the warning")
        self.alice.page.click("#conversation .alert button")
        self.alice.page.wait_for(lambda: self.alice.page.one("#dialog-person").is_displayed(), "what to compare")
        self.alice.page.close_dialog()

    def test_blocked_people_vanish_until_they_are_unblocked(self):
        carol = self.carol_joins()
        self.alice.page.wait_for_person("Carol")
        self.alice.page.person("Carol")
        self.alice.page.click("#block")
        self.alice.page.click("#ask-yes")
        self.alice.page.wait_for(lambda: self.alice.page.text("#block") == "Unblock", "Carol is blocked")
        carol.ask(do="send", text="Do you hear me?", chat=self.chat)
        self.bob.page.wait_for_text("Do you hear me?")
        self.assertEqual(self.alice.page.texts(), [])
        self.alice.page.click("#block")
        self.alice.page.wait_for(lambda: self.alice.page.text("#block") == "Block", "Carol is no longer blocked")
        self.alice.page.close_dialog()
        self.alice.page.wait_for_person("Carol")

    def test_muted_people_are_not_shown_and_know_nothing_of_it(self):
        carol = self.carol_joins()
        self.alice.page.wait_for_person("Carol")
        self.alice.page.person("Carol")
        self.alice.page.click("#mute")
        self.alice.page.close_dialog()
        sent = carol.ask(do="send", text="Do you hear me?", chat=self.chat)
        carol.wait_for(lambda line: line["on"] == "delivered" and line["message"] == sent["message"], "delivery")
        carol.say(do="compose", text="Well?", chat=self.chat)
        self.bob.page.wait_for_typing("Carol is typing")
        self.assertEqual((self.alice.page.texts(), self.alice.page.typing()), ([], ""))
        self.alice.page.wait_for_person("Carol", "muted")
        self.alice.page.person("Carol")
        self.alice.page.click("#mute")
        self.alice.page.close_dialog()
        self.alice.page.wait_for_typing("Carol is typing")
        carol.ask(do="send", text="Now?", chat=self.chat)
        self.alice.page.wait_for_text("Now?")
