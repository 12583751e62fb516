"""The page as a person sees and uses it. Only this file knows the names of the page's elements."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import harness
from harness import wait

MESSAGES = """
return [...document.querySelectorAll('#conversation article')].map((row) => ({
  text: row.querySelector('.text')?.textContent, own: row.classList.contains('own'),
  by: row.querySelector('.by')?.textContent ?? '', outcome: row.querySelector('.outcome')?.textContent ?? '',
  shown: row.textContent}));
"""
PEOPLE = """
return [...document.querySelectorAll('#people > li')].map((row) => ({
  text: row.textContent, label: row.innerText, offline: row.matches('.offline'),
  verified: !!row.querySelector('.shield'), warned: !!row.querySelector('.bad')}));
"""
TYPING = """
const line = document.getElementById('typing');
const style = getComputedStyle(line);
return line.hidden || style.visibility === 'hidden' || style.opacity === '0' || !line.checkVisibility()
  ? '' : document.getElementById('typing-text').textContent;
"""


class Page:
    """A tab of a person's browser."""

    def __init__(self, browser, tab):
        self.browser = browser
        self.tab = tab

    # MARK: Reading

    def show(self):
        self.browser.go_to(self.tab)

    def script(self, text, *arguments):
        return self.browser.script(text, *arguments)

    def one(self, selector):
        return self.browser.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """What a reader sees of an element: nothing of a hidden one."""
        return self.script(
            "const found = document.querySelector(arguments[0]);"
            "return found && found.checkVisibility() ? found.textContent.trim() : ''", selector)

    def typing(self):
        """The sentence that names the people who type, without dots; empty when nobody types."""
        return self.script(TYPING)

    def messages(self):
        return self.script(MESSAGES)

    def texts(self):
        return [message["text"] for message in self.messages()]

    def people(self):
        return self.script(PEOPLE)

    def chats(self):
        return self.script("return [...document.querySelectorAll('#chats > li')].map((row) => row.innerText)")

    def title(self):
        return self.text("#title")

    def draft(self):
        return self.script("return document.getElementById('draft').value")

    def banner(self):
        return self.text("#banner")

    def hint(self):
        return self.text("#hint")

    def is_up(self):
        return self.script("return document.getElementById('banner')?.checkVisibility() === false"
                           " && document.getElementById('you-name').textContent !== ''")

    # MARK: Waiting

    def wait_for(self, condition, what, timeout=harness.TIMEOUT):
        return wait(condition, lambda: f"{self.browser.name}: {what() if callable(what) else what}", timeout)

    def wait_up(self, timeout=harness.TIMEOUT):
        try:
            self.wait_for(self.is_up, "the page is connected", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}; banner: {self.banner()}; log: {self.log()}") from None

    def log(self):
        self.browser.faults()
        return self.browser.messages[-5:]

    def wait_for_text(self, text, timeout=harness.TIMEOUT):
        self.wait_for(lambda: text in self.texts(), f"the message {text[:60]!r}", timeout)

    def wait_for_typing(self, text, timeout=harness.TIMEOUT):
        self.wait_for(lambda: self.typing() == text, lambda: f"typing is {text!r}, not {self.typing()!r}", timeout)

    def wait_for_person(self, name, word="Active now"):
        self.wait_for(lambda: any(name in person["text"] and word in person["text"] for person in self.people()),
                      lambda: f"{name} is {word}: {[one['text'] for one in self.people()]}")

    def outcome(self, text):
        """What the page says of the latest own message of that text."""
        found = [message["outcome"] for message in self.messages() if message["own"] and message["text"] == text]
        return found[-1] if found else None

    def wait_for_outcome(self, text, words, timeout=harness.TIMEOUT):
        self.wait_for(lambda: words in (self.outcome(text) or ""),
                      lambda: f"{text[:60]!r} is {words!r}: {self.messages()[-3:]}", timeout)

    # MARK: Acting

    def click(self, selector):
        self.wait_for(lambda: self.one(selector).click() is None, f"{selector} can be clicked")

    def type(self, text):
        """Types into the field of the draft."""
        self.one("#draft").send_keys(text)

    def clear(self):
        self.one("#draft").send_keys(Keys.CONTROL + "a" + Keys.NULL, Keys.BACKSPACE)

    def send(self, text):
        self.type(text + Keys.ENTER)

    def put(self, text):
        """Inserts a text at once, as a paste does."""
        self.one("#draft").click()
        self.browser.command("Input.insertText", text=text)

    def new_chat(self, name, private=False):
        self.click("#new-chat")
        field = self.one("#join-text")
        field.clear()
        field.send_keys(name)
        if private:
            self.one("#join-private").click()
        self.click("#join-form .main")

    def open_chat(self, name, private=False):
        """Joins a chat, and waits until the page shows it."""
        self.new_chat(name, private)
        self.wait_for(lambda: self.title() == name, lambda: f"the chat {name} is open: {self.text('#join-note')}")

    def choose(self, name):
        """Chooses a chat in the list."""
        self.wait_for(lambda: self.row("#chats button", name).click() is None, f"{name} is in the list")
        self.wait_for(lambda: self.title() == name, f"the chat {name} is open")

    def row(self, selector, name):
        """The button with that name in a list."""
        return self.script("return [...document.querySelectorAll(arguments[0])].find("
                           "(row) => row.querySelector('.name').textContent === arguments[1])", selector, name)

    def close_dialog(self):
        self.browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.wait_for(lambda: not self.all("dialog[open]"), "the dialog is closed")

    def close_dialog_in_front(self):
        """Closes one of two dialogs."""
        count = len(self.all("dialog[open]"))
        self.browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.wait_for(lambda: len(self.all("dialog[open]")) == count - 1, "the dialog in front is closed")

    def person(self, name):
        """Opens what the page says of a person."""
        self.wait_for(lambda: self.row("#people button", name).click() is None, f"{name} is in the list")
        self.wait_for(lambda: self.one("#dialog-person").is_displayed(), "what is known of the person")

    def reload(self):
        self.browser.driver.refresh()
        self.wait_up()
