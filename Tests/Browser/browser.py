"""Chromium under the tests' control, each with its own profile, and what its log must not show."""

import json
import os
import pathlib
import shutil
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service

import harness

# Chromium sends no requests of its own with these, so its log has those of the pages alone.
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-default-apps",
         "--disable-extensions", "--disable-sync", "--disable-client-side-phishing-detection", "--no-first-run",
         "--no-default-browser-check", "--metrics-recording-only", "--no-pings", "--disable-breakpad",
         "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication"]
OWN_SCHEMES = ("data:", "about:", "chrome:", "chrome-untrusted:", "devtools:")


class Browser(harness.Running):
    """A Chromium with one window and any number of tabs."""

    def __init__(self, name, size=(1100, 760), executable="chromium"):
        self.name = name
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which(executable) or ""
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={harness.work() / f'profile-{name}'}", f"--window-size={size[0]},{size[1]}",
                     *QUIET]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        for argument in arguments:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        driver = shutil.which("chromedriver")
        if not driver or not options.binary_location:
            raise AssertionError("chromium or chromedriver is not installed")
        service = Service(driver, log_path=str(harness.work() / f"driver-{name}.log"))
        self.driver = webdriver.Chrome(service=service, options=options)
        self.addresses = set()  # origins that its pages may use
        self.messages = []  # of the browser's log
        super().__init__()

    def end(self):
        try:
            self.driver.quit()
        except WebDriverException:
            self.driver.service.stop()

    def signal(self, number):
        """Sends a signal to all processes of Chromium, but not to its driver."""
        left = [self.driver.service.process.pid]
        while left:
            for task in pathlib.Path(f"/proc/{left.pop()}/task").glob("*/children"):
                children = [int(word) for word in task.read_text().split()]
                for child in children:
                    os.kill(child, number)
                left += children

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def command(self, name, **parameters):
        """A command of Chromium's own interface."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def tab(self):
        """Opens a tab in front of the others, and returns it."""
        self.driver.switch_to.new_window("tab")
        return self.driver.current_window_handle

    def go_to(self, tab):
        """Shows a tab; those behind it are hidden."""
        self.driver.switch_to.window(tab)

    def close_tab(self, tab, then):
        self.go_to(tab)
        self.driver.close()
        self.go_to(then)

    def faults(self):
        """The requests to foreign addresses, and the log's errors, since the last call."""
        found = []
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            parameters = event["params"]
            url = None
            if event["method"] == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
            elif event["method"] == "Network.webSocketCreated":
                url = parameters["url"]
            if url and not url.startswith(OWN_SCHEMES) and not self.is_own(url):
                found.append(f"{self.name}: a request to {url}")
        for entry in self.driver.get_log("browser"):
            self.messages.append(entry["message"])
            if entry["message"].startswith("chrome"):
                continue
            if "Content Security Policy" in entry["message"] or "TrustedHTML" in entry["message"] \
                    or "Uncaught" in entry["message"]:
                found.append(f"{self.name}: {entry['message']}")
        return found

    def is_own(self, url):
        return any(url.startswith(prefix + address + "/") or url == prefix + address
                   for address in self.addresses for prefix in ("http://", "ws://"))


def slept(seconds):
    """For tests that prove that nothing happens: there is no condition to wait for."""
    time.sleep(seconds)
