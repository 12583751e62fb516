"""Measures the page of `inkling web` in a real Chromium: the program that `Scripts/benchmark web` runs in namespaces of its
own. Standard output gets one table in Markdown, with the goal of each measure."""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests/Browser"))

import footprint
import harness
import scripted
from page import Page
from people import Person
from table import most

FLOOD = 3_000  # messages, one each millisecond
# The time of a key in one page and of its frame in another: both browsers count from the clock of this host.
NOW = "performance.timeOrigin + performance.now()"
WATCH_KEY = """
document.getElementById('draft').addEventListener('keydown', (event) => {
  window.pressed = performance.timeOrigin + event.timeStamp;
});"""
WATCH_DOTS = f"""
const line = document.getElementById('typing-text');
window.shown = () => new Promise((resolve) => {{
  const watcher = new MutationObserver(() => {{
    if (!line.textContent) return;
    watcher.disconnect();
    requestAnimationFrame(() => resolve({NOW}));
  }});
  watcher.observe(line, {{childList: true, characterData: true, subtree: true}});
}});"""
# How long the page takes to show a key: from the event to the frame after it.
WATCH_ANSWERS = """
window.answers = [];
document.getElementById('draft').addEventListener('keydown', (event) => {
  requestAnimationFrame(() => setTimeout(() => window.answers.push(performance.now() - event.timeStamp)));
});"""
WATCH_START = f"""
const watcher = new MutationObserver(() => {{
  const name = document.getElementById('you-name')?.textContent;
  if (!name || name === '…') return;
  watcher.disconnect();
  requestAnimationFrame(() => {{ window.shownAt = {NOW}; }});
}});
watcher.observe(document, {{childList: true, characterData: true, subtree: true}});"""


def press(browser, key, text=None):
    """A key by Chromium's own interface, which is quicker than the driver's."""
    code = 8 if key == "Backspace" else ord(key.upper())
    browser.command("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, text=text or "",
                    windowsVirtualKeyCode=code)
    browser.command("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


class Web:
    def __init__(self, presses, starts):
        from browser import Browser
        self.presses, self.starts = presses, starts
        alice, bob = harness.free_port(), harness.free_port()
        self.alice = Person("Alice", alice, [bob], Browser("alice"))
        self.bob = Person("Bob", bob, [alice], Browser("bob"))
        for person in self.alice, self.bob:
            person.serve()
            person.page = person.open(person.server.first)
            person.page.open_chat("kitchen")
        self.alice.page.wait_for_person("Bob")
        self.bob.page.wait_for_person("Alice")
        self.rows = []

    def add(self, measure, goal, value, unit):
        self.rows.append((measure, f"{value:.1f} {unit}", f"≤ {goal} {unit}", "yes" if value <= goal else "**no**"))

    def typing(self):
        """A key pressed in Alice's page, and the frame in which Bob's page has the dots."""
        self.alice.page.one("#draft").click()
        self.alice.page.script(WATCH_KEY)
        self.bob.page.script(WATCH_DOTS)
        driver = self.bob.browser.driver
        values = []
        for _ in range(self.presses):
            self.bob.page.script("window.next = window.shown()")
            press(self.alice.browser, "a", "a")
            shown = driver.execute_async_script("window.next.then(arguments[0])")
            values.append(shown - self.alice.page.script("return window.pressed"))
            press(self.alice.browser, "Backspace")
            self.bob.page.wait_for_typing("")
            time.sleep(0.5)  # a node announces at most two starts a second
        self.add(f"key in one page → dots in a frame of the other, median of {len(values)}", 20,
                 statistics.median(values), "ms")
        self.add("the same, 99 of 100", 60, most(values), "ms")

    def flood(self):
        """Keys while messages come as fast as no person reads them."""
        state = harness.work() / "flood"
        bob = scripted.person(1, "Bob")
        daemon = scripted.ScriptedDaemon(state, {"kitchen": {"people": [bob], "messages": []}})
        server = harness.PageServer("flood", state)
        self.alice.browser.addresses.add(f"{server.host}:{server.port}")
        page = Page(self.alice.browser, self.alice.browser.tab())
        self.alice.browser.driver.get(server.first)
        page.wait_up()
        page.choose("kitchen")
        page.one("#draft").click()
        page.script(WATCH_ANSWERS)
        began = time.monotonic()
        sent = keys = 0
        while sent < FLOOD:
            due = min(FLOOD, int((time.monotonic() - began) * 1000) + 1)
            for number in range(sent, due):
                daemon.say(on="message", chat="kitchen", **scripted.message(number, bob, f"message {number}"))
            sent = due
            if (time.monotonic() - began) * 20 > keys:
                press(self.alice.browser, "a", "a")
                keys += 1
        page.wait_for_text(f"message {FLOOD - 1}")
        took = time.monotonic() - began
        answers = page.script("return window.answers")
        self.add(f"longest of {len(answers)} keys → frame, during {FLOOD:,} messages in 3 s", 100, max(answers), "ms")
        self.add("first of these messages → the last one shows", 3.5, took, "s")
        server.stop()
        daemon.stop()
        self.alice.browser.close_tab(page.tab, self.alice.page.tab)

    def start(self):
        """From the start of `inkling web` to a frame of the page with the user's name."""
        browser = self.bob.browser
        self.bob.server.stop()
        browser.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH_START)
        values = []
        for _ in range(self.starts):
            began = time.time()
            self.bob.serve()
            browser.driver.get(self.bob.server.first)
            shown = self.bob.page.wait_for(lambda: self.bob.page.script("return window.shownAt ?? null"), "the page")
            values.append(shown / 1000 - began)
            self.bob.server.stop()
        self.add(f"`inkling web` → the page shows, median of {len(values)}", 1, statistics.median(values), "s")

    def memory(self):
        """The page server with one page, beside `inkling watch`: both are front ends of one daemon."""
        watch = harness.Process("watch", [
            harness.PROGRAM, "watch", "kitchen", "--no-config", "--attach", "--state-dir", self.alice.state])
        harness.wait(lambda: watch.check() is None and footprint.status(watch.process.pid, "VmRSS") > 1000, "watch runs")
        time.sleep(1)
        for name, label in ("VmRSS", "resident"), ("RssAnon", "of it, not of files"):
            own, other = (footprint.status(one.process.pid, name) / 1024 for one in (self.alice.server, watch))
            text = f"{own:.1f} MiB, and {other:.1f} MiB of `inkling watch`"
            if name == "VmRSS":
                self.rows.append((f"memory of the page server, {label}", text, "≤ 4 MiB more",
                                  "yes" if own - other <= 4 else "**no**"))
            else:
                self.rows.append((f"memory of the page server, {label}", text, "", ""))
        watch.stop()

    def table(self):
        lines = ["| measure | value | goal | met |", "| --- | ---: | ---: | --- |"]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in self.rows)])


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark web", description="Measure the page of `inkling web` in a real Chromium, and print one table.",
        epilog="The first two measures take about a minute for each 100 presses. Close what else runs.")
    parser.add_argument("--presses", metavar="N", type=int, default=200, help="so many keys (200)")
    parser.add_argument("--starts", metavar="N", type=int, default=10, help="so many starts of the page server (10)")
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    options = parser.parse_args()
    if os.environ.get("INKLING_NAMESPACE") != "yes":
        return  # the options were checked
    before = os.getloadavg()[0]
    try:
        web = Web(options.presses, options.starts)
        web.typing()
        web.memory()
        web.flood()
        web.start()
    finally:
        harness.stop_all()
    version = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout.split(" built")[0].strip()
    print(f"{os.cpu_count()} processors, {version}; load {before:.1f} before and {os.getloadavg()[0]:.1f} after.\n")
    print(web.table())
    sys.exit(1 if options.check and any("no" in row[3] for row in web.rows) else 0)


if __name__ == "__main__":
    main()
