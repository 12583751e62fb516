"""Invitations to private chats, and talks of two people."""

from selenium.webdriver.common.keys import Keys

import harness
import scripted
from page import Page
from people import TestWithPeople
from test_accessibility import Accessibility

CARDS = "return [...document.querySelectorAll('#invitations .card')].map((card) => card.textContent)"


class TestWithInvitations(TestWithPeople):
    """Alice and Bob are in an open chat. Alice has a private chat too, `secrets`."""

    def setUp(self):
        super().setUp()
        self.secrets = f"{self.chat} secrets"
        self.addCleanup(self.both, self.decline_all)

    @staticmethod
    def decline_all(person):
        for one in person.front_end.ask(do="invitations")["invitations"]:
            person.front_end.ask(do="decline", invitation=one["invitation"])

    def make_private(self):
        page = self.alice.page
        page.open_chat(self.secrets, private=True)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), "the invite")
        page.close_dialog()
        page.choose(self.chat)
        page.wait_for_person("Bob")

    def key_of(self, name, person):
        return next(one for one in person.front_end.ask(do="who", chat=self.chat)["peers"] if one["name"] == name)["key"]

    def verify(self, person, name):
        key = self.key_of(name, person)
        person.front_end.ask(do="verify", key=key)
        self.addCleanup(lambda: person.front_end.ask(do="unverify", key=key))

    def user_id(self, person):
        user = person.front_end.ask(do="identity")["user"]
        return " ".join(user[place:place + 4] for place in range(0, 16, 4))

    def cards(self, person):
        return person.page.script(CARDS)

    def wait_for_card(self, person, *words):
        person.page.wait_for(lambda: all(word in self.cards(person)[0] for word in words),
                             lambda: f"a card with {words}: {self.cards(person)}")

    def wait_for_no_card(self, person):
        person.page.wait_for(lambda: self.cards(person) == [], "no card")

    def invite(self, yes=True):
        """Alice invites Bob, whom she has not verified."""
        page = self.alice.page
        page.person("Bob")
        page.click("#invite-send")
        page.wait_for(lambda: page.one("#dialog-ask").is_displayed(), "the question")
        page.click("#ask-yes" if yes else "#dialog-ask .close")

    def press_on_card(self, person, word):
        person.page.click(f"#invitations .card button{'.main' if word == 'Accept' else ':not(.main)'}")

    def wait_for_remark(self, person, words):
        person.page.wait_for(lambda: words in person.page.text("#conversation"), words)

    def wait_for_title(self, person, title):
        person.page.wait_for(lambda: person.page.title() == title, lambda: f"{title!r} is open: {person.page.title()!r}")


class InvitationTests(TestWithInvitations):
    def test_a_chat_that_looks_like_another_private_one_is_joined_only_after_a_question(self):
        page, own = self.bob.page, self.secrets
        self.own = own
        page.open_chat(own, private=True)
        page.wait_for(lambda: page.one("#dialog-invite").is_displayed(), "the invite")
        invite = page.script("return document.getElementById('invite-text').value")
        page.close_dialog()
        page.choose(self.chat)
        self.secrets = own.replace("e", "\u0435")  # Cyrillic
        self.make_private()
        self.invite()
        self.wait_for_card(self.bob, "Alice", f"invites you to {self.secrets}")
        self.press_on_card(self.bob, "Accept")
        self.wait_for_question(yes=False)
        page.wait_for(lambda: page.text("#join-title") == "Your own name for this chat", "another name")
        page.close_dialog()
        self.assertNotIn(self.secrets, self.chats_of_bob())
        self.press_on_card(self.bob, "Accept")
        self.wait_for_question(yes=True)
        self.wait_for_title(self.bob, self.secrets)
        # The same holds for an invite as text.
        name, rest = invite.removeprefix("inkling:").split("#")
        page.click("#join-invite")
        page.one("#join-text").send_keys(f"inkling:{name}%20#b{rest[1:]}", Keys.ENTER)
        self.wait_for_question(yes=False)
        self.assertNotIn(f"{own} ", self.chats_of_bob())
        # A name of the user's own ends the doubt.
        page.wait_for(lambda: page.text("#join-title") == "Your own name for this chat", "another name")
        page.one("#join-text").send_keys(f"another {own}", Keys.ENTER)
        self.wait_for_title(self.bob, f"another {own}")

    def wait_for_question(self, yes):
        page = self.bob.page
        page.wait_for(lambda: page.text("#ask-text").endswith(f'looks like "{self.secrets}", another private chat of yours.')
                      or page.text("#ask-text").endswith(f'looks like "{self.own}", another private chat of yours.'),
                      lambda: f"the question, not {page.text('#ask-text')!r}")
        page.click("#ask-yes" if yes else "#dialog-ask .close")
        page.wait_for(lambda: not page.one("#dialog-ask").is_displayed(), "the answer")

    def chats_of_bob(self):
        return [chat["chat"] for chat in self.bob.front_end.ask(do="chats")["chats"]]

    def test_an_unverified_person_needs_a_second_yes(self):
        self.make_private()
        page = self.alice.page
        page.person("Bob")
        page.click("#invite-send")
        page.wait_for(lambda: self.user_id(self.bob) in page.text("#ask-text"), "the question has the user ID")
        self.assertIn("for good", page.text("#ask-text"))
        page.click("#dialog-ask .close")
        page.close_dialog()
        self.bob.page.send("Nothing came")
        page.wait_for_text("Nothing came")
        self.assertEqual(self.cards(self.bob), [])
        self.assertNotIn("invited", page.text("#conversation"))
        self.verify(self.alice, "Bob")
        page.reload()
        page.choose(self.chat)
        page.wait_for(lambda: page.all("#people .shield"), "Bob is verified")
        page.person("Bob")
        page.click("#invite-send")
        self.wait_for_card(self.bob, self.secrets)

    def test_only_private_chats_without_the_person_can_be_chosen(self):
        page = self.alice.page
        page.person("Bob")
        self.assertFalse(page.one("#invite-to").is_displayed())
        page.close_dialog()
        self.make_private()
        page.person("Bob")
        self.assertEqual([option.text for option in page.all("#invite-chat option")], [self.secrets])
        page.click("#invite-send")
        page.click("#ask-yes")
        self.wait_for_card(self.bob, self.secrets)
        self.press_on_card(self.bob, "Accept")
        self.wait_for_title(self.bob, self.secrets)
        page.choose(self.secrets)
        page.wait_for_person("Bob")
        page.choose(self.chat)
        page.person("Bob")
        self.assertFalse(page.one("#invite-to").is_displayed())
        page.close_dialog()

    def test_an_invitation_that_fails_says_so(self):
        self.make_private()
        self.bob.daemon.signal(harness.signal.SIGSTOP)
        self.addCleanup(self.bob.daemon.signal, harness.signal.SIGCONT)
        self.invite()
        self.wait_for_remark(self.alice, f"Bob is invited to {self.secrets}")
        self.alice.page.wait_for(
            lambda: f"The invitation to {self.secrets} may not have reached Bob" in self.alice.page.text("#conversation"),
            "the failure", 60)

    def test_an_invite_to_somebody_who_has_left_says_why(self):
        self.make_private()
        page = self.alice.page
        page.person("Bob")
        self.bob.page.click("#leave")
        self.bob.page.click("#ask-yes")
        page.wait_for_person("Bob", "ast seen")
        page.click("#invite-send")
        page.click("#ask-yes")
        page.wait_for(lambda: page.text("#person-note"), "the reason")
        self.assertNotIn("invited", page.text("#conversation"))
        page.close_dialog()

    def test_an_invitation_is_there_after_a_reload_and_in_each_tab(self):
        self.make_private()
        self.invite()
        self.wait_for_card(self.bob, self.secrets)
        self.bob.page.reload()
        self.wait_for_card(self.bob, "Alice", self.secrets)
        second = self.bob.open()
        second.wait_for(lambda: len(second.script(CARDS)) == 1, "the card in the second tab")
        second.click("#invitations .card button:not(.main)")
        second.wait_for(lambda: second.script(CARDS) == [], "no card in the second tab")
        self.bob.page.show()
        self.wait_for_no_card(self.bob)

    def test_invitations_end_with_the_daemon(self):
        self.make_private()
        self.invite()
        self.wait_for_card(self.bob, self.secrets)
        self.bob.restart_daemon()
        self.bob.page.wait_for_person("Alice")
        self.wait_for_no_card(self.bob)

    def test_a_card_leaves_the_focus_and_the_draft(self):
        self.make_private()
        self.bob.page.type("I was just")
        self.invite()
        self.wait_for_card(self.bob, self.secrets)
        self.bob.browser.driver.switch_to.active_element.send_keys(" writing", Keys.ENTER)
        self.bob.page.wait_for_outcome("I was just writing", "Delivered")
        self.assertEqual(len(self.cards(self.bob)), 1)

    def test_a_taken_name_needs_one_of_the_users_own(self):
        self.make_private()
        self.bob.page.open_chat(self.secrets)
        self.bob.page.choose(self.chat)
        self.invite()
        self.wait_for_card(self.bob, self.secrets)
        self.press_on_card(self.bob, "Accept")
        page = self.bob.page
        page.wait_for(lambda: page.one("#join-text").is_displayed(), "the field for a name")
        self.assertIn("already in a chat", page.text("#join-note"))
        self.assertEqual(len(self.cards(self.bob)), 1)
        page.one("#join-text").send_keys("work", Keys.ENTER)
        self.wait_for_title(self.bob, "work")
        self.wait_for_no_card(self.bob)
        page.wait_for_person("Alice")

    def test_a_name_like_an_open_chats_asks_and_takes_another(self):
        self.make_private()
        page = self.bob.page
        page.open_chat(self.secrets)
        page.click("#leave")
        page.click("#ask-yes")
        page.wait_for(lambda: not any(self.secrets in row for row in page.chats()), "Bob has left")
        page.choose(self.chat)
        page.wait_for_person("Alice")
        self.invite()
        self.wait_for_card(self.bob, self.secrets)
        self.press_on_card(self.bob, "Accept")
        page.wait_for(lambda: "open chat of yours" in page.text("#ask-text"), "the question")
        page.click("#dialog-ask .close")
        page.wait_for(lambda: page.one("#join-text").is_displayed(), "the field for a name")
        page.one("#join-text").send_keys("work", Keys.ENTER)
        self.wait_for_title(self.bob, "work")
        self.wait_for_no_card(self.bob)

    def test_a_verified_person_has_a_shield_in_place_of_the_user_id(self):
        self.verify(self.bob, "Alice")
        self.make_private()
        self.invite()
        self.wait_for_card(self.bob, "Alice invites you")
        self.assertEqual(len(self.bob.page.all("#invitations .shield")), 1)
        self.assertEqual(self.bob.page.all("#invitations bdi .shield"), [])

    def test_muted_people_invite_in_vain(self):
        page = self.bob.page
        page.person("Alice")
        page.click("#mute")
        page.close_dialog()
        self.make_private()
        self.invite()
        harness.wait(lambda: self.bob.front_end.ask(do="invitations")["invitations"], "the invitation")
        self.bob.front_end.ask(do="nick", name="Robert")
        page.wait_for(lambda: page.text("#you-name") == "Robert", "a later event")
        self.assertEqual(self.cards(self.bob), [])


class TalkTests(TestWithInvitations):
    def talk(self, person, name):
        person.page.person(name)
        person.page.click("#talk")

    def test_two_people_talk_alone(self):
        self.talk(self.alice, "Bob")
        self.wait_for_title(self.alice, "@Bob")
        self.assertIn("Only you two can join", self.alice.page.text("#subtitle"))
        self.assertFalse(self.alice.page.one("#invite-open").is_displayed())
        self.wait_for_card(self.bob, "Alice", "asks to talk with you alone")
        self.press_on_card(self.bob, "Accept")
        self.wait_for_title(self.bob, "@Alice")
        self.wait_for_no_card(self.bob)
        self.assertIn("Only you two can join", self.bob.page.text("#subtitle"))
        self.alice.page.wait_for_person("Bob")
        self.bob.page.send("Only for you")
        self.alice.page.wait_for_text("Only for you")
        self.alice.page.person("Bob")
        self.assertFalse(self.alice.page.one("#talk").is_displayed())
        self.alice.page.close_dialog()
        self.alice.page.choose(self.chat)
        self.assertTrue(self.alice.page.one("#invite-open").is_displayed())
        self.assertNotIn("Only for you", self.alice.page.texts())

    def test_both_ask_and_meet_in_one_talk(self):
        self.talk(self.alice, "Bob")
        self.wait_for_card(self.bob, "asks to talk")
        self.talk(self.bob, "Alice")
        self.wait_for_title(self.bob, "@Alice")
        self.wait_for_no_card(self.bob)
        self.bob.page.wait_for_person("Alice")
        self.bob.page.send("Both")
        self.alice.page.wait_for_text("Both")

    def test_a_second_time_leads_to_the_same_talk(self):
        self.talk(self.alice, "Bob")
        self.wait_for_title(self.alice, "@Bob")
        self.alice.page.send("Hello?")
        self.alice.page.choose(self.chat)
        self.talk(self.alice, "Bob")
        self.wait_for_title(self.alice, "@Bob")
        self.alice.page.wait_for_text("Hello?")
        self.assertEqual(len(self.alice.page.chats()), 2)

    def test_a_talk_is_one_after_a_reload(self):
        self.talk(self.alice, "Bob")
        self.wait_for_title(self.alice, "@Bob")
        self.alice.page.reload()
        self.wait_for_title(self.alice, "@Bob")
        self.alice.page.wait_for(lambda: "Only you two" in self.alice.page.text("#subtitle"), "the header says so")
        self.assertFalse(self.alice.page.one("#invite-open").is_displayed())
        self.alice.page.click("#leave")
        self.alice.page.wait_for(lambda: "@Bob" in self.alice.page.text("#ask-text"), "the question")
        self.assertNotIn("invite", self.alice.page.text("#ask-text"))
        self.alice.page.click("#ask-yes")
        self.alice.page.wait_for(lambda: len(self.alice.page.chats()) == 1, "Alice has left")


class KeyboardInvitationTests(TestWithInvitations):
    def focus(self, person):
        return person.page.script("return document.activeElement.id || document.activeElement.dataset.user"
                                  " || document.activeElement.textContent")

    def tab_to(self, person, *wanted, key=Keys.TAB):
        active = person.browser.driver.switch_to
        for _ in range(40):
            if self.focus(person) in wanted:
                return active.active_element
            active.active_element.send_keys(key)
        self.fail(f"Tab does not reach {wanted}; it is at {self.focus(person)}")

    def test_keys_alone_invite_accept_and_talk(self):
        self.make_private()
        bob = self.alice.page.script("return document.querySelector('#people [data-user]').dataset.user")
        alice = self.bob.page.script("return document.querySelector('#people [data-user]').dataset.user")
        self.tab_to(self.alice, bob).send_keys(Keys.ENTER)
        self.tab_to(self.alice, "invite-chat")
        self.tab_to(self.alice, "invite-send").send_keys(Keys.ENTER)
        self.tab_to(self.alice, "ask-yes").send_keys(Keys.ENTER)
        self.wait_for_card(self.bob, self.secrets)
        self.tab_to(self.bob, "Accept", key=Keys.SHIFT + Keys.TAB).send_keys(Keys.ENTER)
        self.wait_for_title(self.bob, self.secrets)
        self.bob.page.choose(self.chat)
        self.tab_to(self.bob, alice).send_keys(Keys.ENTER)
        self.tab_to(self.bob, "talk").send_keys(Keys.ENTER)
        self.wait_for_title(self.bob, "@Alice")
        self.wait_for_card(self.alice, "asks to talk")
        self.tab_to(self.alice, "Decline", key=Keys.SHIFT + Keys.TAB).send_keys(Keys.ENTER)
        self.wait_for_no_card(self.alice)


class AccessibleInvitationTests(Accessibility, TestWithInvitations):
    def test_axe_finds_nothing_in_cards_and_talks(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        self.verify(self.alice, "Bob")
        page = self.alice.page
        self.make_private()
        self.bob.front_end.ask(do="join", chat=f"{self.chat} team", secret="a" * 26)
        self.bob.front_end.ask(do="invite", chat=f"{self.chat} team", key=self.key_of("Alice", self.bob))
        self.bob.front_end.ask(do="talk", key=self.key_of("Alice", self.bob), open=False)
        page.wait_for(lambda: len(self.cards(self.alice)) == 2, "two cards")
        for scheme in "light", "dark":
            self.scheme(scheme)
            for width in 1100, 320:
                self.resize(width)
                self.check(f"{scheme}, {width}, cards")
                wide, window = page.script("return [document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide, window)
                for selector in "#draft", "#send", "#invitations .main":
                    self.assertTrue(page.one(selector).is_displayed(), selector)
            self.resize(1100)
            page.person("Bob")
            self.check(f"{scheme}, person", "'dialog[open]'")
            page.close_dialog()
        self.press_on_card(self.alice, "Decline")
        page.wait_for(lambda: len(self.cards(self.alice)) == 1, "one card")
        self.press_on_card(self.alice, "Accept")
        self.wait_for_title(self.alice, "@Bob")
        self.check("talk")


class HostileInvitationTests(TestWithPeople):
    joined = False

    def test_hostile_names_stay_text(self):
        names = ["<script>window.owned = 1</script>", "<img src=x onerror='window.owned=1'>", "Bob\u202eecila", "x" * 64,
                 "\u200b", "Z" + "\u0300\u0316" * 15, "Bob invites you to team"]
        state = harness.work() / "scripted"
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [], "messages": []}})
        self.addCleanup(daemon.stop)
        server = harness.PageServer("scripted", state)
        self.addCleanup(server.stop)
        self.alice.browser.addresses.add(f"{server.host}:{server.port}")
        page = Page(self.alice.browser, self.alice.browser.tab())
        self.alice.browser.driver.get(server.first)
        page.wait_up()
        for number, name in enumerate(names, 1):
            daemon.say(on="notice", code="invited", text=name, invitation=number, user=scripted.user(number), name=name,
                       key=scripted.key(number), verified=False, chat="kitchen", to=name)
        page.wait_for(lambda: len(page.script(CARDS)) == len(names), lambda: f"the cards: {page.script(CARDS)}")
        shown = page.script("""
            const cards = [...document.querySelectorAll('#invitations .card')];
            return {elements: [...new Set(cards.flatMap((card) => [...card.querySelectorAll('*')]).map((one) => one.localName))],
              names: cards.map((card) => card.querySelector('bdi').textContent), owned: window.owned ?? null,
              texts: cards.map((card) => card.textContent), wide: document.documentElement.scrollWidth - innerWidth,
              tall: document.getElementById('invitations').offsetHeight / innerHeight};""")
        self.assertEqual(sorted(shown["elements"]), ["bdi", "button", "p"])
        self.assertIsNone(shown["owned"])
        self.assertLessEqual(shown["wide"], 0)
        self.assertLess(shown["tall"], 0.5)
        self.assertEqual(shown["names"][4], scripted.user(5))
        self.assertRegex(shown["names"][0], r"^<script>window.* ~")
        for text in shown["texts"]:
            self.assertNotIn("\u202e", text)
            self.assertRegex(text, r"\(not verified, [a-z2-7]{4}( [a-z2-7]{4}){3}\)")
        daemon.say(on="notice", code="invitation-over", text="", invitation=1, why="replaced")
        page.wait_for(lambda: len(page.script(CARDS)) == len(names) - 1, "a card less")
        page.choose("kitchen")
        page.click("#invitations .card button:not(.main)")
        harness.wait(lambda: [one for one in daemon.requests if one["do"] == "decline"], "the request")
        self.assertEqual([one["invitation"] for one in daemon.requests if one["do"] == "decline"], [2])
