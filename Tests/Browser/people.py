"""People of the tests: a daemon each, perhaps a page server and a browser. All tests share the first ones."""

import concurrent.futures
import itertools
import unittest

import harness
from browser import Browser
from page import Page

numbers = itertools.count(1)


class Person:
    """Somebody with a daemon, who knows the ports of the others."""

    def __init__(self, name, port, peers, browser=None, state=None):
        self.name = name
        self.port = port
        self.peers = peers
        self.state = state or harness.work() / name.lower()
        self.daemon = harness.Daemon(name, port, peers, self.state)
        self.server = None
        self.browser = browser
        self._front_end = None

    @property
    def front_end(self):
        """A front end of the daemon, for what a test needs beside the page."""
        if self._front_end is None:
            self._front_end = harness.FrontEnd(self.state)
        return self._front_end

    def drop_front_end(self):
        if self._front_end is not None:
            self._front_end.stop()
            self._front_end = None

    def serve(self):
        self.server = harness.PageServer(self.name, self.state)
        self.browser.addresses.add(self.server.host + f":{self.server.port}")

    def open(self, address=None):
        """A page of this person in a new tab in front."""
        page = Page(self.browser, self.browser.tab())
        self.browser.driver.get(address or self.server.address())
        page.wait_up()
        return page

    def recover(self):
        """Brings back the daemon, the name and the server that a test changed."""
        if self.daemon.process.poll() is not None:
            self.restart_daemon()
        if self.front_end.ask(do="identity")["name"] != self.name:
            self.front_end.ask(do="nick", name=self.name)
        self.drop_front_end()
        if self.server is None:
            return
        if self.server.process.poll() is not None:
            self.server.stop()
            self.serve()
        self.page.show()
        if not self.browser.driver.current_url.startswith(self.server.origin):
            self.browser.driver.get(self.server.address())
            self.page.wait_up()

    def restart_daemon(self):
        self.drop_front_end()
        self.daemon.stop()
        self.daemon = harness.Daemon(self.name, self.port, self.peers, self.state)

    def stop(self):
        self.drop_front_end()
        for process in (self.server, self.daemon):
            if process is not None:
                process.stop()

    def forget_chats(self):
        """Ends the keeping of all chats."""
        for chat in self.front_end.ask(do="chats")["chats"]:
            if chat["kept"]:
                self.front_end.ask(do="leave", chat=chat["chat"])
        self.drop_front_end()


class Company:
    """Alice and Bob with a browser each, and Carol, who has none."""

    def __init__(self):
        alice, bob, carol = harness.free_port(), harness.free_port(), harness.free_port()
        self.alice = Person("Alice", alice, [bob, carol], Browser("alice"))
        self.bob = Person("Bob", bob, [alice, carol], Browser("bob"))
        self.carol = Person("Carol", carol, [alice, bob])
        for person in self.alice, self.bob:
            person.serve()
            person.page = person.open(person.server.first)


_company = None


def company():
    global _company
    if _company is None:
        try:
            _company = Company()
        except BaseException:
            forget_company()
            raise
    return _company


def forget_company():
    """Ends these people: the next test gets new ones."""
    global _company
    _company = None
    harness.stop_all()


class TestWithPeople(unittest.TestCase):
    """A test with the shared people, in a chat of its own. After it, no log of a browser may show a fault."""

    joined = True  # whether both pages are in the test's chat from the start

    def setUp(self):
        self.company = company()
        self.alice, self.bob, self.carol = self.company.alice, self.company.bob, self.company.carol
        self.chat = f"chat-{next(numbers)}"
        self.allowed = []  # what this test's faults may begin with
        self.addCleanup(self.check_logs)
        self.addCleanup(self.restore)
        self.both(lambda person: person.page.show())
        if self.joined:
            self.both(lambda person: person.page.open_chat(self.chat))
            self.both(lambda person: person.page.wait_for_person("Bob" if person is self.alice else "Alice"))

    def both(self, act):
        """Does the same for Alice and for Bob, at once."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(act, (self.alice, self.bob)))

    def restore(self):
        """Leaves the pages as a next test expects them: connected, in no chat, alone in their browser."""
        try:
            self.both(self.close_tabs)
            for person in self.alice, self.bob, self.carol:
                person.recover()
            self.both(self.restore_page)
            self.carol.drop_front_end()
        except BaseException:
            forget_company()
            raise

    @staticmethod
    def close_tabs(person):
        for tab in person.browser.driver.window_handles:
            if tab != person.page.tab:
                person.browser.close_tab(tab, person.page.tab)

    @staticmethod
    def restore_page(person):
        person.forget_chats()
        person.page.reload()

    def check_logs(self):
        if _company is not self.company:
            return  # these people have ended
        faults = [fault for person in (self.alice, self.bob) for fault in person.browser.faults()
                  if not any(allowed in fault for allowed in self.allowed)]
        self.assertEqual(faults, [])

    def carol_joins(self, name="Carol"):
        """Carol's front end, in the test's chat. Carol sees everybody who is there, so her messages go to all."""
        front_end = self.carol.front_end
        if name != "Carol":
            front_end.ask(do="nick", name=name)
        front_end.ask(do="join", chat=self.chat)
        there = {person.name for person in (self.alice, self.bob)
                 if any(one["chat"] == self.chat for one in person.front_end.ask(do="chats")["chats"])}
        harness.wait(lambda: there <= {one["name"] for one in front_end.ask(do="who", chat=self.chat)["peers"]
                                       if one["presence"] != "offline"}, f"Carol sees {there}")
        return front_end
