"""Pictures of the page, with `--pictures FOLDER` alone."""

import os
import pathlib
import unittest

from people import TestWithPeople

SIZES = {"web": (1060, 600, "light"), "web-dark": (1060, 600, "dark"), "web-narrow": (320, 640, "light"),
         "web-narrow-dark": (320, 640, "dark")}


class PictureTests(TestWithPeople):
    joined = False

    def test_pictures(self):
        page, self.chat = self.alice.page, "kitchen"
        carol = self.carol.front_end
        for person in self.alice, self.bob:
            person.page.open_chat("garden")
        for person in self.alice, self.bob:
            person.page.open_chat("kitchen")
        carol.ask(do="join", chat="garden", open=False)
        carol.ask(do="join", chat="kitchen")
        page.wait_for_person("Bob")
        page.wait_for_person("Carol")
        bob = next(one for one in self.alice.front_end.ask(do="who", chat="kitchen")["peers"] if one["name"] == "Bob")
        self.alice.front_end.ask(do="verify", key=bob["key"])
        self.addCleanup(lambda: self.alice.front_end.ask(do="unverify", key=bob["key"]))
        self.bob.page.send("Hi Alice! Is the kettle on?")
        page.wait_for_text("Hi Alice! Is the kettle on?")
        page.send("Yes, come over")
        page.wait_for_outcome("Yes, come over", "Delivered")
        carol.ask(do="send", text="/me brings cake", chat="kitchen")
        page.wait_for_text("brings cake")
        carol.ask(do="send", text="Alice, the recipe: https://example.org/cake", chat="kitchen")
        page.send("Thank you!")
        page.wait_for_outcome("Thank you!", "Delivered to all 2")
        carol.ask(do="send", text="Who waters the tomatoes?", chat="garden")
        page.reload()
        page.choose("kitchen")
        page.wait_for(lambda: any("1" in row.split("\n") for row in page.chats()), "the unread message")
        folder = pathlib.Path(os.environ["INKLING_PICTURES"])
        browser = self.alice.browser
        for name, (width, height, scheme) in SIZES.items():
            browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                            mobile=False)
            browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.bob.page.type("Bring")
            page.wait_for(lambda: "Bob is typing" in page.typing(), "Bob types")
            (folder / f"{name}.png").write_bytes(browser.driver.get_screenshot_as_png())
        browser.command("Emulation.clearDeviceMetricsOverride")
        browser.command("Emulation.setEmulatedMedia", features=[])


def load_tests(loader, tests, pattern):
    """No test without the option."""
    return tests if "INKLING_PICTURES" in os.environ else unittest.TestSuite()
