"""What axe-core finds, narrow and large windows, and announcements."""

import os
import pathlib
import time

from people import TestWithPeople


class Accessibility:
    """What tests of Alice's page need for axe-core and other windows. A base beside `TestWithPeople`."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.reset)
        self.world = None  # where axe-core runs

    def reset(self):
        self.alice.browser.command("Emulation.clearDeviceMetricsOverride")
        self.alice.browser.command("Emulation.setEmulatedMedia", features=[])

    def resize(self, width, height=700, scale=1):
        self.alice.browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                                   deviceScaleFactor=scale, mobile=False)

    def scheme(self, name):
        self.alice.browser.command("Emulation.setEmulatedMedia",
                                   features=[{"name": "prefers-color-scheme", "value": name}])

    def violations(self, place="document"):
        """What axe-core finds there, in a world of its own beside the page's scripts."""
        browser = self.alice.browser
        if self.world is None:
            frame = browser.command("Page.getFrameTree")["frameTree"]["frame"]["id"]
            self.world = browser.command("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
            source = pathlib.Path(os.environ["INKLING_AXE"]).read_text(encoding="utf-8")
            browser.command("Runtime.evaluate", expression=source + ";0", contextId=self.world)
        answer = browser.command("Runtime.evaluate", contextId=self.world, awaitPromise=True, returnByValue=True,
                                 expression="axe.run(" + place + """, {resultTypes: ['violations']}).then(
            ({violations}) => violations.flatMap(({id, nodes}) => nodes.map(
              (node) => `${id}: ${node.html.slice(0, 120)}: ${node.failureSummary}`)))""")
        if "exceptionDetails" in answer:
            self.fail(answer["exceptionDetails"])
        return answer["result"]["value"]

    def check(self, name, place="document"):
        with self.subTest(name):
            self.assertEqual(self.violations(place), [])

    @property
    def has_axe(self):
        return os.path.exists(os.environ.get("INKLING_AXE", ""))


class AccessibilityTests(Accessibility, TestWithPeople):
    def setUp(self):
        super().setUp()
        page = self.alice.page
        page.send("See https://example.org")
        page.wait_for_outcome("See https://example.org", "Delivered")
        self.bob.page.send("Thank you, Alice")
        page.wait_for_text("Thank you, Alice")

    def test_axe_finds_nothing(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        page = self.alice.page
        for scheme in "light", "dark":
            self.scheme(scheme)
            self.check(f"{scheme}, nobody types")
            self.bob.page.type("T")
            page.wait_for_typing("Bob is typing")
            self.check(f"{scheme}, Bob types")
            for opener, dialog in (("#you", "name"), ("#new-chat", "join"),
                                   ("#invite-open", "invite"), ("#people [data-user]", "person"), ("#leave", "ask")):
                page.click(opener)
                page.wait_for(lambda: page.one(f"#dialog-{dialog}").is_displayed(), f"the dialog {dialog}")
                self.check(f"{scheme}, {dialog}", "'dialog[open]'")
                page.close_dialog()
            self.bob.page.clear()

    def test_axe_finds_nothing_in_a_narrow_window(self):
        if not self.has_axe:
            self.skipTest("axe-core is not installed")
        self.resize(320)
        for scheme in "light", "dark":
            self.scheme(scheme)
            for view in "chat", "people", "list":
                if view == "people":
                    self.alice.page.click("main [data-to='people']")
                elif view == "list":
                    self.alice.page.click("#people-pane [data-to='chat']")
                    self.alice.page.click("main [data-to='list']")
                self.check(f"{scheme}, {view}")
            self.alice.page.choose(self.chat)

    def test_nothing_is_cut_off_at_320_pixels_or_with_large_text(self):
        for width, height, name in (320, 500, "narrow"), (550, 380, "zoomed to 200 %"):
            with self.subTest(name):
                self.resize(width, height)
                sizes = self.alice.page.script(
                    "return [document.documentElement.scrollWidth, innerWidth, document.documentElement.scrollHeight,"
                    " innerHeight]")
                self.assertLessEqual(sizes[0], sizes[1])
                self.assertLessEqual(sizes[2], sizes[3])
                for selector in "#draft", "#send", "main [data-to='list']", "main [data-to='people']", "#conversation":
                    self.assertTrue(self.alice.page.one(selector).is_displayed(), selector)
                self.alice.page.type("x")
                box = self.alice.page.script("const {top, bottom} = document.getElementById('send')"
                                             ".getBoundingClientRect(); return [top, bottom, innerHeight]")
                self.assertLessEqual(box[1], box[2])
                self.alice.page.clear()

    def test_who_types_is_announced_at_most_every_two_seconds(self):
        # Bob's message has just made an announcement.
        self.alice.page.wait_for(
            lambda: self.alice.page.script("return document.getElementById('announce').textContent === ''"),
            "the end of the announcement about Bob")
        self.alice.page.script("""
            window.announced = [];
            new MutationObserver(() => window.announced.push(
              [performance.now(), document.getElementById('announce').textContent]))
              .observe(document.getElementById('announce'), {childList: true, characterData: true, subtree: true});""")
        carol = self.carol_joins()
        for text in "a", "", "b", "", "c", "", "d":
            carol.say(do="compose", text=text, chat=self.chat)
            time.sleep(0.3)
        self.alice.page.wait_for(lambda: len(self.announced()) >= 2, "two announcements")
        times = [moment for moment, _ in self.announced()]
        self.assertTrue(all(later - earlier > 1_900 for earlier, later in zip(times, times[1:])), times)
        self.assertEqual(self.announced()[0][1], "Carol is typing", self.announced())
        log = self.alice.page.one("#conversation")
        self.assertEqual((log.get_attribute("role"), log.get_attribute("aria-live")), ("log", "polite"))

    def announced(self):
        return self.alice.page.script("return window.announced")
