"""Names and texts that mean harm, and floods: they stay text, in their place."""

import re
import time

from selenium.webdriver.common.keys import Keys

import harness
import scripted
from page import Page
from people import TestWithPeople

MARKUP = [
    "<script>window.owned = 1</script>", "<img src=x onerror='window.owned=1'>", "<svg onload=window.owned=1>",
    "</p></article><b id=draft>bold</b>", "<style>*{display:none}</style>", "<iframe srcdoc='<script>owned=1'></iframe>",
    "&lt;b&gt; &amp;lt; &#60;b&#62;", "<!-- ", "]]>", "javascript:window.owned=1", "<a href='javascript:owned=1'>x</a>",
    "https://example.org/\"onmouseover=\"window.owned=1", "https://example.org/'><b>x", "data:text/html,<b>x",
    "http://user:password@example.org/", "https://example.org\\@evil.example/", "https://\u202emoc.example.org/",
    "${window.owned = 1}", "{{constructor.constructor('owned=1')()}}", "__proto__", "constructor", "toString",
    "[x](javascript:owned=1)", "<math><mi//xlink:href='data:x,<script>owned=1</script>'>", "\u0000<b>", "<b\u2028>",
]
# Characters that turn text around or that nobody sees. The page shows none of them.
FORBIDDEN = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
                       "\ufeff\U000e0000-\U000e0fff]")
STRUCTURE = """
const places = [...document.querySelectorAll('#conversation .text, #people .name, #chats .name, #chats .preview, '
  + '#typing-text, #title, #person-name, #conversation .by, #you-name')];
const log = document.getElementById('conversation');
const edge = log.getBoundingClientRect();
return {
  elements: [...new Set(places.flatMap((place) => [...place.querySelectorAll('*')]).map((one) => one.localName))],
  scripts: document.scripts.length, frames: window.frames.length, owned: window.owned ?? null,
  drafts: document.querySelectorAll('#draft').length,
  styles: document.styleSheets.length, inline: document.querySelectorAll('[onclick], [onload], [onerror], [onmouseover], [srcdoc]').length,
  texts: places.map((place) => place.textContent),
  title: document.title,
  wide: log.scrollWidth - log.clientWidth, page: document.documentElement.scrollWidth - innerWidth,
  schemes: [...new Set([...document.links].map((link) => link.protocol))],
};
"""
# Where a text's ink could leave its row: marks stack above and below it.
CLIPPED = """
return [...document.querySelectorAll('#conversation .text')].filter((text) => {
  for (let place = text; place.id !== 'conversation'; place = place.parentElement) {
    const {overflowY, contain} = getComputedStyle(place);
    if (['hidden', 'clip'].includes(overflowY) || /paint|content|strict/.test(contain)) return false;
  }
  return true;
}).length;
"""


def hostile_texts():
    """The rows of HostileTexts.swift that are one literal each."""
    source = (harness.ROOT / "Tests/InklingConsoleTests/HostileTexts.swift").read_text(encoding="utf-8")
    found = []
    for literal in re.findall(r'\(\s*"(?:[^"\\]|\\.)*",\s*"((?:[^"\\]|\\.)*)"\s*\)', source):
        text = re.sub(r"\\u\{([0-9A-Fa-f]+)\}", lambda match: chr(int(match[1], 16)), literal)
        for escape, sign in {"\\n": "\n", "\\r": "\r", "\\t": "\t", '\\"': '"', "\\\\": "\\"}.items():
            text = text.replace(escape, sign)
        found.append(text)
    for code in [*range(0x20), *range(0x7f, 0xa0), 0xad, 0x61c, 0x200b, 0x200e, 0x202e, 0x2066, 0xfeff, 0xe0041]:
        found.append(f"Bo{chr(code)}b")
    found += ["Z" + "\u0300\u0316\u0334" * 200, "x" * 65_536, "\u65e5" * 21_845, "a" + "\u0301" * 32_767,
              "\u200b" * 21_845, "Bob: fake\n" * 300, "\U0001f469\u200d" * 300]
    return [text for text in found if text]


class HostileTests(TestWithPeople):
    def check(self, page, count=None):
        shown = page.script(STRUCTURE)
        self.assertLessEqual(set(shown["elements"]), {"a", "mark", "svg", "use", "bdi", "span", "i", "small"})
        self.assertEqual((shown["scripts"], shown["frames"], shown["owned"], shown["drafts"], shown["styles"],
                          shown["inline"]), (1, 0, None, 1, 1, 0))
        self.assertLessEqual(set(shown["schemes"]), {"http:", "https:"})
        self.assertLessEqual(shown["wide"], 0, "a text makes the conversation wider than its place")
        self.assertLessEqual(shown["page"], 0, "a text makes the page wider than the window")
        for text in shown["texts"]:
            self.assertNotRegex(text, FORBIDDEN)
        self.assertEqual(page.script(CLIPPED), 0, "marks can leave the row")

    def test_hostile_messages_stay_text(self):
        texts = MARKUP + hostile_texts()
        self.assertGreater(len(texts), 250)
        carol = self.carol_joins()
        page = self.alice.page
        for text in texts:
            sent = carol.ask(do="send", text=text, chat=self.chat)
            for _ in range(sent["to"]):
                carol.wait_for(lambda line: line["on"] == "delivered" and line["message"] == sent["message"], "delivery")
        carol.ask(do="send", text="That was all", chat=self.chat)
        page.wait_for_text("That was all", timeout=30)
        self.check(page)
        log = page.one("#conversation")
        page.wait_for(lambda: log.send_keys(Keys.HOME) or MARKUP[0] in page.texts(), "the first message, as it was sent")
        for text in MARKUP[:6]:
            self.assertIn(text, page.texts())
        self.check(page)
        self.assertEqual(page.script("return window.owned ?? null"), None)

    def test_hostile_names_stay_text_in_their_box(self):
        state = harness.work() / "scripted"
        names = [text for text in MARKUP + hostile_texts() if len(text.encode()) <= 64]
        people = [scripted.person(number, name) for number, name in enumerate(names, 1)]
        messages = [scripted.message(number, one, "Hello") for number, one in enumerate(people, 1)]
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": people, "messages": messages},
                                                 "<b>x</b>": {"people": [], "messages": []}})
        self.addCleanup(daemon.stop)
        page, server = self.open_scripted(state)
        self.addCleanup(server.stop)
        page.choose("kitchen")
        page.wait_for(lambda: len(page.people()) == len(people), f"{len(people)} people")
        self.check(page)
        for count in 1, 2, 3, 7:
            for start in range(0, len(people), max(1, len(people) // 12)):
                users = [{"user": one["user"], "name": one["name"]} for one in people[start:start + count]]
                daemon.say(on="typing", chat="kitchen", users=users, text="")
            page.wait_for(page.typing, "who types")
            self.check(page)
        page.choose("<b>x</b>")
        self.check(page)
        isolates = page.browser.driver.title
        self.assertEqual(isolates.count("\u2068"), isolates.count("\u2069"))

    def open_scripted(self, state):
        server = harness.PageServer("scripted", state)
        self.alice.browser.addresses.add(f"{server.host}:{server.port}")
        page = Page(self.alice.browser, self.alice.browser.tab())
        self.alice.browser.driver.get(server.first)
        page.wait_up()
        return page, server

    def test_days_and_people_of_the_past(self):
        state = harness.work() / "scripted"
        now, day = time.time(), 86_400
        bob = scripted.person(1, "Bob", "offline", lastSeen=now - 3 * day)
        eve = scripted.person(2, "Eve", "offline", lastSeen=now - 130)
        messages = [scripted.message(number, bob, f"message {number}", now - age)
                    for number, age in enumerate((400 * day, 2 * day, 2 * day - 1, 0.5), 1)]
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [bob, eve], "messages": messages}})
        self.addCleanup(daemon.stop)
        page, server = self.open_scripted(state)
        self.addCleanup(server.stop)
        page.choose("kitchen")
        page.wait_for_text("message 4")
        days = page.script("return [...document.querySelectorAll('#conversation .day')].map((day) => day.textContent)")
        self.assertGreaterEqual(len(days), 3)
        self.assertLessEqual(len(days), 4)
        self.assertEqual(days[-1], "Today")
        self.assertRegex(days[0], r"\d{4}")
        page.wait_for_person("Bob", "3 days ago")
        page.wait_for_person("Eve", "2 minutes ago")

    def test_a_clock_that_is_set_right_moves_no_message_and_nobody_was_there_just_now(self):
        state = harness.work() / "scripted"
        now = time.time()
        bob = scripted.person(1, "Bob", "offline", lastSeen=now + 7_200)
        messages = [scripted.message(number, bob, f"message {number}", at)
                    for number, at in enumerate((now - 60, now + 7_200, now - 50), 1)]
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [bob], "messages": messages}})
        self.addCleanup(daemon.stop)
        page, server = self.open_scripted(state)
        self.addCleanup(server.stop)
        page.choose("kitchen")
        page.wait_for_text("message 3")
        for number, at in enumerate((now, now - 4, now - 86_400), 4):
            daemon.say(on="message", chat="kitchen", **scripted.message(number, bob, f"message {number}", at))
        page.wait_for_text("message 6")
        self.assertEqual(page.texts(), [f"message {number}" for number in range(1, 7)])
        page.wait_for_person("Bob", "Last seen recently")

    def test_ten_thousand_messages_scroll(self):
        state = harness.work() / "scripted"
        bob = scripted.person(1, "Bob")
        messages = [scripted.message(number, bob, f"message {number}") for number in range(1, 201)]
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [bob], "messages": messages}})
        self.addCleanup(daemon.stop)
        page, server = self.open_scripted(state)
        self.addCleanup(server.stop)
        page.choose("kitchen")
        page.wait_for_text("message 200")
        for number in range(201, 10_001):
            daemon.say(on="message", chat="kitchen", **scripted.message(number, bob, f"message {number}"))
        page.wait_for_text("message 10000", timeout=30)
        self.assertLess(page.script("return document.querySelectorAll('#conversation *').length"), 12_000)
        log = page.one("#conversation")
        page.script("arguments[0].focus()", log)
        for _ in range(3):
            oldest = page.texts()[0]
            page.wait_for(lambda: log.send_keys(Keys.HOME) or page.texts()[0] != oldest, "older messages")
        page.one("#search-open").click()
        page.one("#search").send_keys("message 7000")
        page.wait_for_text("message 7000")
        page.one("#search").send_keys(Keys.ESCAPE)
        page.click("#more")
        page.wait_for_text("message 10000")

    def test_three_thousand_messages_in_three_seconds_are_all_there(self):
        state = harness.work() / "scripted"
        bob = scripted.person(1, "Bob")
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [bob], "messages": []}})
        self.addCleanup(daemon.stop)
        page, server = self.open_scripted(state)
        self.addCleanup(server.stop)
        page.choose("kitchen")
        began = time.monotonic()
        for number in range(3_000):
            daemon.say(on="message", chat="kitchen", **scripted.message(number, bob, f"message {number}"))
            if number % 500 == 499:
                self.assertEqual(page.script("return 1 + 1"), 2)
            time.sleep(max(0, began + number / 1000 - time.monotonic()))
        page.type("still here")
        self.assertEqual(page.draft(), "still here")
        page.wait_for_text("message 2999", timeout=20)
        page.one("#search-open").click()
        page.one("#search").send_keys("message")
        page.wait_for(lambda: "of 3000" in page.text("#search-count"), lambda: f"all are there: {page.text('#search-count')}")
