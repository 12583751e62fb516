"""Typing in one page, as the other page shows it."""

import time

from selenium.webdriver.common.keys import Keys

from people import TestWithPeople
from harness import wait

DOTS = """
return [...document.querySelectorAll('#typing .dots i')].map((dot) => ({
  animations: dot.getAnimations().filter((animation) => animation.playState === 'running').length,
  shown: dot.checkVisibility(), width: dot.getBoundingClientRect().width}));
"""
PLACES = """
return ['conversation', 'composer', 'draft', 'people', 'chats'].map((id) => {
  const {x, y, width, height} = document.getElementById(id).getBoundingClientRect();
  return [id, x, y, width, height].join(' ');
});
"""


class TypingTests(TestWithPeople):
    def begin(self):
        self.alice.page.type("Tea")
        self.bob.page.wait_for_typing("Alice is typing")

    def test_dots_and_name_show_until_the_field_is_empty(self):
        self.begin()
        dots = self.bob.page.script(DOTS)
        self.assertEqual([dot["shown"] for dot in dots], [True] * 3)
        self.assertGreater(dots[0]["width"], 1)
        self.alice.page.clear()
        self.bob.page.wait_for_typing("", timeout=2)

    def test_dots_end_before_the_message_shows(self):
        self.begin()
        self.bob.page.script("""
            window.both = false;
            window.watcher = new MutationObserver(() => {
              const typing = document.getElementById('typing');
              const isThere = document.getElementById('conversation').textContent.includes('Tea is ready');
              window.both ||= isThere && document.getElementById('typing-text').textContent.includes('Alice');
            });
            window.watcher.observe(document.body, {subtree: true, childList: true, characterData: true});""")
        self.alice.page.send(" is ready")
        self.bob.page.wait_for_text("Tea is ready")
        self.bob.page.wait_for_typing("", timeout=2)
        self.assertFalse(self.bob.page.script("window.watcher.disconnect(); return window.both"))
        self.assertEqual(self.alice.page.draft(), "")

    def test_dots_end_within_3_s_of_the_last_edit(self):
        self.begin()
        began = time.monotonic()
        self.bob.page.wait_for_typing("", timeout=4)
        self.assertGreater(time.monotonic() - began, 1.5)
        self.assertEqual(self.alice.page.draft(), "Tea")

    def test_dots_end_soon_when_the_writer_goes_to_another_tab(self):
        self.begin()
        tab = self.alice.browser.tab()
        self.bob.page.wait_for_typing("", timeout=4)
        self.alice.browser.close_tab(tab, self.alice.page.tab)
        self.assertEqual(self.alice.page.draft(), "Tea")
        self.alice.page.type("!")
        self.bob.page.wait_for_typing("Alice is typing")

    def test_dots_end_when_the_writer_opens_another_chat(self):
        self.begin()
        self.alice.page.open_chat(self.chat + "-other")
        self.bob.page.wait_for_typing("", timeout=2)

    def test_closing_the_tab_ends_typing_at_once(self):
        second = self.alice.open()
        second.choose(self.chat)
        second.type("Tea")
        self.bob.page.wait_for_typing("Alice is typing")
        began = time.monotonic()
        self.alice.browser.close_tab(second.tab, self.alice.page.tab)
        self.bob.page.wait_for_typing("")
        self.assertLess(time.monotonic() - began, 1)

    def test_a_reload_ends_typing(self):
        self.begin()
        self.alice.browser.driver.refresh()
        self.bob.page.wait_for_typing("", timeout=2)
        self.alice.page.wait_up()

    def test_two_people_are_named_the_latest_first(self):
        carol = self.carol_joins()
        self.alice.page.type("T")
        self.bob.page.wait_for_typing("Alice is typing")
        carol.say(do="compose", text="Me too")
        self.bob.page.wait_for_typing("Carol and Alice are typing")
        self.alice.page.clear()
        self.bob.page.wait_for_typing("Carol is typing")

    def test_nobody_sees_dots_of_their_own(self):
        self.begin()
        self.assertEqual(self.alice.page.typing(), "")

    def test_the_line_has_its_place_before_and_while_somebody_types(self):
        before = self.bob.page.script(PLACES)
        self.begin()
        self.assertEqual(self.bob.page.script(PLACES), before)

    def test_the_dots_move_unless_the_system_reduces_motion(self):
        self.begin()
        self.assertGreater(sum(dot["animations"] for dot in self.bob.page.script(DOTS)), 0)
        self.bob.browser.command("Emulation.setEmulatedMedia",
                                 features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        self.addCleanup(self.bob.browser.command, "Emulation.setEmulatedMedia", features=[])
        self.alice.page.type(" again")
        self.bob.page.wait_for_typing("Alice is typing")
        dots = self.bob.page.script(DOTS)
        self.assertEqual([dot["animations"] for dot in dots], [0, 0, 0])
        self.assertEqual([dot["shown"] for dot in dots], [True] * 3)

    def test_the_list_of_chats_shows_where_somebody_types(self):
        self.bob.page.open_chat(self.chat + "-other")
        self.begin_elsewhere()
        self.bob.page.wait_for(lambda: any(self.chat in row and "typing" in row for row in self.bob.page.chats()),
                               lambda: f"the list says so: {self.bob.page.chats()}")

    def begin_elsewhere(self):
        self.alice.page.type("Tea")

    def test_a_composition_with_an_input_method_sends_nothing(self):
        page = self.alice.page
        page.one("#draft").click()
        self.alice.browser.command("Input.imeSetComposition", text="にほ", selectionStart=2, selectionEnd=2)
        self.bob.page.wait_for_typing("Alice is typing")
        # During a composition an input method takes Enter: the browser reports the key 229.
        self.alice.browser.command("Input.dispatchKeyEvent", type="rawKeyDown", key="Enter", code="Enter",
                                   windowsVirtualKeyCode=229)
        self.assertEqual(page.texts(), [])
        self.alice.browser.command("Input.insertText", text="日本")
        wait(lambda: page.draft() == "日本", lambda: f"the composed text is in the field: {page.draft()!r}")
        page.type(Keys.ENTER)
        self.bob.page.wait_for_text("日本")
