"""Removing a member of a private chat: the question, the move, and people who come too late."""

from selenium.webdriver.common.keys import Keys

import harness
import scripted
from page import Page
from people import TestWithPeople
from test_accessibility import Accessibility
from test_invitations import CARDS

PEOPLE = "return [...document.querySelectorAll('#people > li .name')].map((name) => name.textContent)"
LISTED = "return [...document.querySelectorAll('#ask-list > li')].map((row) => row.textContent)"


class ScriptedRemovals(TestWithPeople):
    """Alice's second page shows a scripted daemon. Alice is `key(0)` there, and owns `team` with Bob, Carol and Dave."""

    joined = False
    owner = 0

    def setUp(self):
        super().setUp()
        self.people = [scripted.person(1, "Bob"), scripted.person(2, "Carol", "offline", lastSeen=1.0),
                       scripted.person(3, "Dave", verified=True)]
        team = {"people": self.people, "messages": [], "owner": scripted.key(self.owner)}
        state = harness.work() / "scripted"
        self.daemon = scripted.ScriptedDaemon(
            state, {"team": team, "kitchen": {"people": self.people, "messages": []}})
        self.addCleanup(self.daemon.stop)
        server = harness.PageServer("scripted", state)
        self.addCleanup(server.stop)
        self.alice.browser.addresses.add(f"{server.host}:{server.port}")
        self.page = Page(self.alice.browser, self.alice.browser.tab())
        self.alice.browser.driver.get(server.first)
        self.page.wait_up()
        self.page.choose("team")
        self.page.wait_for_person("Bob")

    def requests(self, do):
        return [request for request in self.daemon.requests if request["do"] == do]

    def wait_for_request(self, do):
        request = harness.wait(lambda: self.requests(do), f"the request {do}")[0]
        return {name: value for name, value in request.items() if name not in ("do", "id")}

    def ask_to_remove(self):
        self.page.person("Bob")
        self.page.click("#remove")
        self.page.wait_for(lambda: self.page.one("#dialog-ask").is_displayed(), "the question")

    def moved(self, owner, name="team"):
        # Later answers of the daemon have the new owner too.
        self.daemon.chats.get(name, {})["owner"] = scripted.key(owner)
        self.daemon.say(on="notice", code="moved", text=f'"{name}" has moved to a new secret.', chat=name,
                        owner=scripted.key(owner), invite=f"inkling:{name}#{'a' * 26}@{scripted.key(owner)}")

    def newcomer(self, number, name=None, chat="team", **more):
        more |= {"name": name} if name is not None else {}
        self.daemon.say(on="notice", code="newcomer", text="Somebody looks for a chat.", chat=chat,
                        user=scripted.user(number), key=scripted.key(number), **more)

    def cards(self):
        return self.page.script(CARDS)

    def wait_for_cards(self, count):
        self.page.wait_for(lambda: len(self.cards()) == count, lambda: f"{count} cards: {self.cards()}")


class OwnerTests(ScriptedRemovals):
    def test_the_question_lists_who_moves_and_the_request_has_just_these(self):
        self.ask_to_remove()
        text = self.page.text("#ask-text")
        for word in "team", "new secret", "Bob", "stays behind":
            self.assertIn(word, text)
        groups = " ".join([scripted.user(2)[:4]] * 4)
        self.assertEqual(self.page.script(LISTED), ["Dave", f"Carol (not verified, {groups})"])
        self.assertEqual(len(self.page.all("#ask-list li:first-child .shield")), 1)
        self.assertEqual(self.page.text("#ask-yes"), "Remove Bob")
        self.assertEqual(self.page.text("#dialog-ask .close"), "Cancel")
        self.page.click("#ask-yes")
        self.assertEqual(self.wait_for_request("move"), {
            "chat": "team", "keys": [scripted.key(3), scripted.key(2)], "removed": [scripted.key(1)]})
        self.page.wait_for(lambda: not self.page.all("dialog[open]"), "the dialogs are closed")

    def test_keys_alone_remove(self):
        active = self.alice.browser.driver.switch_to
        self.page.row("#people button", "Bob").send_keys(Keys.ENTER)
        self.page.wait_for(lambda: self.page.one("#dialog-person").is_displayed(), "the person")
        for _ in range(20):
            if active.active_element.get_attribute("id") == "remove":
                break
            active.active_element.send_keys(Keys.TAB)
        active.active_element.send_keys(Keys.ENTER)
        self.page.wait_for(lambda: active.active_element.get_attribute("id") == "ask-list", "the list has the focus")
        active.active_element.send_keys(Keys.TAB)
        self.assertEqual(active.active_element.text, "Cancel")
        active.active_element.send_keys(Keys.TAB)
        active.active_element.send_keys(Keys.ENTER)
        self.assertEqual(self.wait_for_request("move")["removed"], [scripted.key(1)])

    def test_cancel_moves_nothing(self):
        self.ask_to_remove()
        self.page.click("#dialog-ask .close")
        self.page.wait_for(lambda: not self.page.one("#dialog-ask").is_displayed(), "no question")
        self.page.close_dialog()
        self.page.send("Nothing has moved")
        self.page.wait_for_text("Nothing has moved")
        self.assertEqual(self.requests("move"), [])

    def test_a_later_question_has_no_list(self):
        self.ask_to_remove()
        self.page.click("#dialog-ask .close")
        self.page.close_dialog()
        self.page.click("#leave")
        self.page.wait_for(lambda: self.page.one("#dialog-ask").is_displayed(), "the question")
        self.assertEqual(self.page.script(LISTED), [])
        self.assertFalse(self.page.one("#ask-list").is_displayed())

    def test_a_refused_move_says_why(self):
        self.daemon.errors["move"] = "The state directory can't be written."
        self.ask_to_remove()
        self.page.click("#ask-yes")
        self.page.wait_for(lambda: "can't be written" in self.page.text("#person-note"), "the reason")
        self.assertTrue(self.page.one("#dialog-person").is_displayed())

    def test_only_the_owner_of_a_private_chat_removes(self):
        self.page.choose("kitchen")
        self.page.person("Bob")
        self.assertFalse(self.page.one("#remove").is_displayed())
        self.page.close_dialog()
        self.page.choose("team")
        self.moved(1)
        self.page.wait_for(lambda: "Its owner is Bob" in self.page.text("#conversation"), "the notice")
        self.page.person("Carol")
        self.assertFalse(self.page.one("#remove").is_displayed())

    def test_after_a_move_the_list_has_who_moved(self):
        self.daemon.chats["team"]["people"] = self.people[1:]
        self.moved(0)
        self.page.wait_for(lambda: "team has moved to a new secret. You own it." in self.page.text("#conversation"),
                           "the notice")
        self.page.wait_for(lambda: self.page.script(PEOPLE) == ["Dave", "Carol"],
                           lambda: f"the people: {self.page.script(PEOPLE)}")
        self.page.person("Dave")
        self.assertTrue(self.page.one("#remove").is_displayed())
        self.page.close_dialog()
        self.moved(0)
        self.page.wait_for(lambda: self.page.text("#conversation").count("You own it") == 2, "each move has its line")


class MemberTests(ScriptedRemovals):
    owner = 1

    def test_a_member_learns_of_the_move_and_its_owner(self):
        self.page.person("Carol")
        self.assertFalse(self.page.one("#remove").is_displayed())
        self.assertFalse(self.page.one("#invite-to").is_displayed())
        self.page.close_dialog()
        self.page.type("I was just")
        self.moved(9)
        self.page.wait_for(lambda: "Its owner is somebody whom you have not met." in self.page.text("#conversation"),
                           "the notice")
        self.moved(0)
        self.page.wait_for(lambda: "You own it" in self.page.text("#conversation"), "the second notice")
        self.assertEqual(self.page.draft(), "I was just")
        self.page.person("Carol")
        self.assertTrue(self.page.one("#remove").is_displayed())


class NewcomerTests(ScriptedRemovals):
    def test_a_newcomer_is_let_in_or_dismissed(self):
        self.newcomer(4, "Erin")
        self.newcomer(5)
        self.newcomer(4, "Erin")
        self.wait_for_cards(2)
        groups = " ".join([scripted.user(4)[:4]] * 4)
        self.assertIn(f"Erin (not verified, {groups}) looks for team, which has moved without them.", self.cards()[0])
        self.assertIn(scripted.user(5), self.cards()[1])
        self.page.wait_for(lambda: self.page.script("return document.title").startswith("(2)"), "the title counts them")
        self.page.click("#invitations .card button.main")
        self.assertEqual(self.wait_for_request("admit"), {"chat": "team", "key": scripted.key(4)})
        self.wait_for_cards(1)
        self.page.click("#invitations .card button:not(.main)")
        self.wait_for_cards(0)
        self.assertEqual(len(self.requests("admit")), 1)

    def test_a_newcomer_who_looks_like_somebody_is_told_apart(self):
        bob = self.people[0]
        namesake = {"user": bob["user"], "names": ["Bob"], "verified": True}
        self.newcomer(4, "Bоb ✓", verified=False, namesakes=[bob["user"]], namesake=namesake)
        self.newcomer(5, "Erin", verified=True)
        self.wait_for_cards(2)
        groups, suffix = " ".join([scripted.user(4)[:4]] * 4), scripted.user(4)[:4]
        self.assertIn(f"Bоb ~{suffix} (not verified, {groups}) looks for team, which has moved without them.",
                      self.cards()[0])
        self.assertIn("Not the Bob you verified", self.cards()[0])
        self.assertNotIn("✓", self.cards()[0])
        self.assertIn("Erin looks for team", self.cards()[1])
        shields = self.page.script(
            "return [...document.querySelectorAll('#invitations .card')].map((card) => !!card.querySelector('.shield'))")
        self.assertEqual(shields, [False, True])

    def test_a_newcomer_who_follows_in_another_way_has_no_card(self):
        self.newcomer(4, "Erin")
        self.wait_for_cards(1)
        self.daemon.say(on="peer", chat="team", why="hello", **scripted.person(4, "Erin"))
        self.wait_for_cards(0)

    def test_a_newcomer_who_cannot_follow_keeps_the_card_with_the_reason(self):
        self.daemon.errors["admit"] = "Erin was removed."
        self.newcomer(4, "Erin")
        self.wait_for_cards(1)
        self.page.click("#invitations .card button.main")
        self.page.wait_for(lambda: self.page.text("#invitations .bad") == "Erin was removed.", "the reason")
        self.assertEqual(len(self.cards()), 1)

    def test_muted_people_come_in_vain(self):
        self.page.person("Bob")
        self.page.click("#mute")
        self.page.close_dialog()
        self.newcomer(1, "Bob")
        self.newcomer(4, "Erin")
        self.wait_for_cards(1)
        self.assertIn("Erin", self.cards()[0])

    def test_hostile_names_stay_text(self):
        names = ["<img src=x onerror='window.owned=1'>", "Bob\u202eecila", "Z" + "\u0300\u0316" * 15, "x" * 64]
        for number, name in enumerate(names, 4):
            self.newcomer(number, name, chat=name)
        self.wait_for_cards(len(names))
        shown = self.page.script("""
            const cards = [...document.querySelectorAll('#invitations .card')];
            return {elements: [...new Set(cards.flatMap((card) => [...card.querySelectorAll('*')]).map((one) => one.localName))],
              owned: window.owned ?? null, texts: cards.map((card) => card.textContent),
              wide: document.documentElement.scrollWidth - innerWidth};""")
        self.assertEqual(sorted(shown["elements"]), ["bdi", "button", "p"])
        self.assertEqual((shown["owned"], shown["wide"] <= 0), (None, True))
        for text in shown["texts"]:
            self.assertNotIn("\u202e", text)


class AccessibleRemovalTests(Accessibility, ScriptedRemovals):
    def test_axe_finds_nothing_in_the_question_and_the_card(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        many = [scripted.person(number, f"Member {number}") for number in range(10, 60)]
        for one in many:
            self.daemon.say(on="peer", chat="team", why="hello", **one)
        self.newcomer(4, "Erin")
        self.wait_for_cards(1)
        self.page.wait_for_person("Member 59")
        self.ask_to_remove()
        self.assertTrue(self.page.one("#ask-yes").is_displayed())
        for scheme in "light", "dark":
            self.scheme(scheme)
            for width in 1100, 320:
                self.resize(width)
                self.check(f"{scheme}, {width}, question", "'dialog[open]'")
                wide, window = self.page.script("return [document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide, window)
        self.resize(1100)
        self.page.click("#dialog-ask .close")
        self.page.close_dialog()
        self.check("card")
