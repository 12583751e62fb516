"""The page of `inkling web` in a browser, as a door."""

from selenium.webdriver.common.keys import Keys

import harness
import lan
from browser import Browser
from doors import SHOWN, Door
from lan import until
from page import Page

CARDS = "return [...document.querySelectorAll('#invitations .card')]"


class PatientPage(Page):
    """A page whose waits end by the limit of the cell."""

    def wait_for(self, condition, what, timeout=harness.TIMEOUT):
        return super().wait_for(condition, what, min(timeout, lan.cell.patience))


class PageDoor(Door):
    name = "Wim"
    keeps = True
    cannot = {"enter_silently": "Use the setting `privacy.send-typing`.",
              "prepare": "The page enters a private chat when it makes its invite.",
              "mistype": "The user chooses from the lists.", "invite_wrongly": "The user chooses from the lists."}

    browser = None  # for all persons, one after the other

    def __init__(self):
        super().__init__()
        if PageDoor.browser is None:
            PageDoor.browser = Browser("doors")
        self.server = harness.PageServer(self.user, self.person.state)
        self.browser.addresses.add(f"{self.server.host}:{self.server.port}")
        self.page = PatientPage(self.browser, self.browser.driver.current_window_handle)
        self.browser.driver.get(self.server.first)
        self.page.wait_up()
        self.is_open = True

    def show(self):
        if not self.is_open:
            self.browser.driver.get(self.server.address())
            self.page.wait_up()
            self.is_open = True

    def enter(self, chat):
        self.show()
        self.page.open_chat(chat)

    def enter_by_invite(self, chat, invite):
        self.show()
        self.page.click("#join-invite")
        self.page.one("#join-text").clear()
        self.page.one("#join-text").send_keys(invite, Keys.ENTER)
        self.wait_open(chat)

    def enter_by_file(self, chat, file):
        self.show()
        self.page.click("#join-invite")
        self.page.one("#join-file").send_keys(str(file))
        self.page.wait_for(lambda: self.page.script("return document.getElementById('join-text').value"), "the file is read")
        self.page.click("#join-form .main")
        self.wait_open(chat)

    def wait_open(self, chat):
        self.page.wait_for(lambda: self.page.title() == chat,
                           lambda: f"{chat} is open, not {self.page.title()!r} {self.page.text('#join-note')!r}")

    def make(self, chat):
        self.show()
        self.page.open_chat(chat, private=True)
        self.page.wait_for(lambda: self.page.one("#dialog-invite").is_displayed(), "the invite")
        invite = self.page.script("return document.getElementById('invite-text').value")
        self.page.close_dialog()
        return invite

    def open(self, chat):
        self.show()
        if self.page.title() != chat:
            self.page.choose(chat)

    def leave(self, chat):
        self.open(chat)
        self.page.click("#leave")
        self.page.click("#ask-yes")
        self.page.wait_for(lambda: chat not in self.listed(), f"{chat} is left")

    def listed(self):
        return self.page.script("return [...document.querySelectorAll('#chats .name')].map((name) => name.textContent)")

    def type(self, chat, text):
        self.open(chat)
        self.page.type(text)

    def counted(self):
        return self.page.chats()

    def counts(self, chat):
        return any({chat, "1", "unread"} <= set(row.split("\n")) for row in self.counted())

    def echoes(self, text):
        return text in self.page.texts()

    def mentions(self, _):
        return self.page.all("#conversation .mention")

    def own_presence(self):
        return {"Active": "online", "Away": "away"}.get(self.page.text("#you-state"))

    def reload(self, chat):
        self.page.reload()
        self.open(chat)

    def draft(self):
        return self.page.draft()

    def submit(self, text):
        self.page.type(Keys.ENTER)

    def send(self, chat, text):
        self.open(chat)
        self.page.send(text)

    def shows(self, text):
        self.page.wait_for_text(text)

    def outcome(self, text, kind):
        self.page.wait_for_outcome(text, {"delivered": "Delivered", "nobody": "Nobody", "waiting": "aiting for"}[kind])

    def sees(self, chat, name, presence="online"):
        self.open(chat)
        self.page.wait_for_person(name, SHOWN[presence])

    def rename(self, name):
        shown = self.shown_name(name)
        assert shown == name, f"the page shows the name {shown!r}"

    def shown_name(self, name):
        self.show()
        before = self.page.text("#you-name")
        self.page.click("#you")
        self.page.one("#name").clear()
        self.page.one("#name").send_keys(name + Keys.ENTER)
        self.page.wait_for(lambda: self.page.text("#you-name") != before, "another own name")
        # The dialog stays open to say that others see the name otherwise.
        self.page.wait_for(lambda: self.page.text("#name-note") or not self.page.all("#dialog-name[open]"), "the end")
        if self.page.all("#dialog-name[open]"):
            self.page.close_dialog()
        self.person.name = name
        return self.page.text("#you-name")

    def away(self):
        self.press_away("Away")

    def back(self):
        self.press_away("Active")

    def press_away(self, word):
        self.show()
        self.page.click("#you")
        self.page.click("#away")
        self.page.close_dialog()
        self.page.wait_for(lambda: word in self.page.text("#you-state"), word)

    def on_person(self, chat, name, *buttons):
        """Opens what the page says of a person, and presses buttons there."""
        self.open(chat)
        self.page.person(name)
        for button in buttons:
            self.page.click(button)

    def verify(self, chat, name):
        self.on_person(chat, name, "#match")
        self.page.close_dialog()

    def sees_verified(self, chat, name):
        self.open(chat)
        self.page.wait_for(lambda: any(one["verified"] and name in one["text"] for one in self.page.people()),
                           f"{name} is verified")

    def block(self, chat, name):
        self.on_person(chat, name, "#block", "#ask-yes")
        self.close_when("Unblock")

    def unblock(self, chat, name):
        self.on_person(chat, name, "#block")
        self.close_when("Block")

    def close_when(self, word):
        self.page.wait_for(lambda: self.page.text("#block") == word, f"the button {word}")
        self.page.close_dialog()

    def talk(self, chat, name):
        self.on_person(chat, name, "#talk")
        self.wait_open(f"@{name}")
        return f"@{name}"

    def remove(self, chat, name):
        self.on_person(chat, name, "#remove", "#ask-yes")
        self.page.wait_for(lambda: not self.page.all("dialog[open]"), "the dialogs are closed")

    def hand_over(self, chat, name):
        self.on_person(chat, name, "#hand-over", "#ask-yes")
        self.page.wait_for(lambda: not self.page.all("dialog[open]"), "the dialogs are closed")

    def history(self, chat, on):
        self.open(chat)
        self.page.click("#options")
        self.page.click("#history")
        if not on:
            self.page.click("#ask-yes")
        until(lambda: self.person.chats()[chat]["history"] == on, f"the history is {on}")
        self.page.wait_for(lambda: self.page.one("#history").is_selected() == on, f"the switch is {on}")
        self.page.close_dialog()

    def find(self, chat, text):
        """How many messages of the chat have that text."""
        self.open(chat)
        self.page.click("#search-open")
        self.page.one("#search").send_keys(text)
        self.page.wait_for(lambda: self.page.text("#search-count"), "the count")
        found = self.page.text("#search-count")
        self.page.click("#search-open")
        return 0 if found == "Not found" else int(found.rpartition(" of ")[2])

    def waits(self, chat, text):
        """Waits until the list of what waits has a text, and returns it."""
        self.row_of_waiting(text)
        self.page.close_dialog()
        return text

    def row_of_waiting(self, text):
        self.page.click("#waits")
        return self.page.wait_for(lambda: next(row for row in self.page.all("#waiting > li") if text in row.text),
                                  f"{text} is listed")

    def forget(self, chat, text):
        self.row_of_waiting(text).find_element("tag name", "button").click()
        self.page.wait_for(lambda: not any(text in row.text for row in self.page.all("#waiting > li")), f"{text} is gone")
        self.page.close_dialog()

    def invite_person(self, chat, name, to):
        self.on_person(chat, name)
        self.page.script("const list = document.getElementById('invite-chat'); list.value = "
                         "[...list.options].find((one) => one.text === arguments[0]).value;", to)
        self.page.click("#invite-send")
        self.page.click("#ask-yes")
        self.page.wait_for(lambda: f"{name} is invited to {to}" in self.page.text("#conversation"), "the invitation")

    def press_on_card(self, to, word):
        def press():
            words = f"invites you to {to}" if to else "talk"
            card = next(one for one in self.page.script(CARDS) if words in one.text)
            next(one for one in card.find_elements("tag name", "button") if one.text == word).click()
            return True
        self.page.wait_for(press, lambda: f"the card of {to}: {[one.text for one in self.page.script(CARDS)]}")

    def accept(self, to):
        self.press_on_card(to, "Accept")
        self.wait_open(to)

    def decline(self, to):
        self.press_on_card(to, "Decline")

    def quit(self):
        if self.is_open:
            self.browser.driver.get("about:blank")
            self.is_open = False

    def kill_node(self):
        self.quit()
        super().kill_node()

    def stop(self):
        self.browser.driver.get("about:blank")
        self.server.stop()
        super().stop()

    def reset(self):
        super().reset()
        self.quit()
        if faults := self.browser.faults():
            raise AssertionError(faults)
