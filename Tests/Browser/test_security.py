"""Who gets in, and what the page tells a server that cannot prove itself."""

import json
import os
import subprocess

from selenium.common.exceptions import WebDriverException

import harness
import impostor
from browser import slept
from harness import wait
from page import Page
from people import TestWithPeople

OTHER_USER = 65534


class AccessTests(TestWithPeople):
    joined = False

    def fresh_tab(self, address):
        """A tab of Alice's browser at an address, without waiting for a connection."""
        page = Page(self.alice.browser, self.alice.browser.tab())
        try:
            self.alice.browser.driver.get(address)
        except WebDriverException:
            pass  # a refused address is an error page
        return page

    def test_a_ticket_works_once_and_open_pages_tell_of_a_second_use(self):
        address = self.alice.server.address()
        first = self.fresh_tab(address)
        first.wait_up()
        self.assertEqual(self.alice.browser.driver.current_url, f"{self.alice.server.origin}/")
        second = self.fresh_tab(address)
        second.wait_for(lambda: "fresh address" in second.banner(), "the second page says why")
        first.show()
        first.wait_for(lambda: "was refused" in first.text("body"), "the first page tells of it")

    def test_without_a_ticket_the_page_asks_for_a_fresh_address(self):
        page = self.fresh_tab(self.alice.server.origin + "/")
        page.wait_for(lambda: "fresh address" in page.banner(), "the page says so")
        self.assertEqual(page.chats(), [])

    def test_the_key_is_nowhere_but_in_session_storage(self):
        page = self.alice.page
        kept = page.script("return [document.cookie, localStorage.length, sessionStorage.length, location.href]")
        self.assertEqual(kept, ["", 0, 1, f"{self.alice.server.origin}/"])
        key = page.script("return sessionStorage[sessionStorage.key(0)]")
        self.assertRegex(key, r"^[\w-]{43}$")
        self.assertNotIn(key, page.script("return JSON.stringify(history.state) + document.documentElement.outerHTML"))
        self.assertEqual(page.script("return navigator.serviceWorker.getRegistrations().then((all) => all.length)"), 0)
        self.assertEqual(self.alice.browser.command("Page.getNavigationHistory")["entries"][-1]["url"],
                         f"{self.alice.server.origin}/")

    def host(self):
        return f"{self.alice.server.host}:{self.alice.server.port}"

    def test_a_page_of_another_origin_gets_nothing(self):
        other = impostor.Impostor(harness.LOOPBACK, pages={
            "/": ("<!doctype html><title>other</title><link rel=icon href='data:,'><iframe src='%s/'></iframe>"
                  % self.alice.server.origin, "text/html")})
        self.addCleanup(other.stop)
        self.alice.browser.addresses.add(f"{harness.LOOPBACK}:{other.port}")
        page = self.fresh_tab(other.origin + "/")
        opened = self.alice.browser.driver.execute_async_script(
            """const done = arguments[1];
            const socket = new WebSocket(`ws://${arguments[0]}/socket`);
            socket.onopen = () => done('open');
            socket.onerror = () => done('refused');""", self.host())
        self.assertEqual(opened, "refused")
        read = self.alice.browser.driver.execute_async_script(
            """const done = arguments[1];
            const tries = ['/', '/main.js'].map((path) => fetch(`http://${arguments[0]}${path}`)
              .then((answer) => answer.text(), () => 'refused'));
            Promise.all(tries).then(done);""", self.host())
        self.assertEqual(read, ["refused", "refused"])
        framed = page.script("try { return window.frames[0].document.body.textContent } catch { return 'refused' }")
        self.assertEqual(framed, "refused")
        self.alice.browser.driver.switch_to.frame(0)
        self.assertEqual(self.alice.browser.driver.find_elements("id", "draft"), [])
        self.alice.browser.driver.switch_to.default_content()
        self.allowed = ["frame-ancestors"]

    def test_an_open_page_of_another_origin_has_no_handle_on_the_page(self):
        other = impostor.Impostor(harness.LOOPBACK, pages={
            "/": ("<!doctype html><title>other</title><link rel=icon href='data:,'>", "text/html")})
        self.addCleanup(other.stop)
        self.alice.browser.addresses.add(f"{harness.LOOPBACK}:{other.port}")
        page = self.fresh_tab(other.origin + "/")
        before = set(self.alice.browser.driver.window_handles)
        page.script("window.other = window.open(arguments[0])", self.alice.server.origin + "/")
        wait(lambda: set(self.alice.browser.driver.window_handles) - before, "the opened tab")
        wait(lambda: page.script("return window.other.closed"), "the opener has no handle on it")

    def test_another_user_of_the_host_is_refused_as_root(self):
        if os.getuid() != 0:
            self.skipTest("only root can act as another user")
        program = f"""
import socket
try:
    with socket.create_connection(("{self.alice.server.host}", {self.alice.server.port}), 5) as connection:
        connection.settimeout(5)
        connection.sendall(b"GET / HTTP/1.1\\r\\nHost: {self.host()}\\r\\n\\r\\n")
        print(connection.recv(100))
except (BrokenPipeError, ConnectionResetError):
    print(b"")
"""
        done = subprocess.run(
            ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups", "/usr/bin/python3", "-c",
             program], capture_output=True, text=True, timeout=20)
        self.assertNotIn("200 OK", done.stdout)
        self.assertEqual((done.returncode, "<!doctype" in done.stdout), (0, False), done.stderr)

    def test_a_ninth_page_is_refused_and_the_others_stay(self):
        pages = [self.alice.open() for _ in range(7)]
        ninth = self.fresh_tab(self.alice.server.address())
        ninth.wait_for(lambda: "Eight pages" in ninth.banner() or "another tab" in ninth.banner(), "the ninth says why")
        self.alice.browser.close_tab(pages[-1].tab, ninth.tab)
        ninth.click("#banner-action")
        ninth.wait_up()
        pages[0].show()
        self.assertTrue(pages[0].is_up())


class TakeoverTests(TestWithPeople):
    """Another program binds the address of a server that has ended."""

    def setUp(self):
        super().setUp()
        self.alice.page.type("A draft that stays")
        self.bob.page.wait_for_typing("Alice is typing")

    def take_over(self, answer):
        """Kills the server, and starts another program at its address, which the page finds."""
        server = self.alice.server
        server.kill()
        self.alice.page.wait_for(self.alice.page.banner, "the page says that the server does not answer")
        self.assertEqual(self.alice.page.draft(), "A draft that stays")
        other = wait(lambda: impostor.Impostor(server.host, server.port, answer=answer), "the address is free")
        self.addCleanup(other.stop)
        wait(lambda: other.messages, "the page tries again")
        return other

    def check_hello(self, other, is_last=True):
        """The page has sent nothing but the first message of its handshake."""
        for message in other.messages:
            hello = json.loads(message)
            self.assertEqual(set(hello), {"web", "key", "id", "nonce"}, message)
            self.assertEqual((hello["web"], hello["key"], len(hello["id"])), (1, "session", 16))
        self.assertFalse([request for request in other.requests if "/socket" not in request], "the page loaded something")
        self.assertEqual(self.alice.page.draft(), "A draft that stays")

    def test_the_page_keeps_its_draft_when_the_server_ends(self):
        self.alice.server.stop()
        self.alice.page.wait_for(lambda: "page server ended" in self.alice.page.banner(), "the page says so")
        # The server's address never returns.
        self.assertNotIn("tries again", self.alice.page.banner())
        self.bob.page.wait_for_typing("", timeout=3)
        self.assertEqual(self.alice.page.draft(), "A draft that stays")
        self.alice.page.type("!")
        self.assertEqual(self.alice.page.draft(), "A draft that stays!")

    def test_a_server_without_proof_gets_only_the_hello(self):
        other = self.take_over(impostor.without_proof)
        self.alice.page.wait_for(lambda: "nother program" in self.alice.page.banner(), "the page says so")
        count = len(other.messages)
        self.alice.page.type("?")
        self.alice.page.script("document.getElementById('draft').value = arguments[0]", "A draft that stays")
        slept(2.5)  # longer than the page's pause between its tries
        self.assertEqual(len(other.messages), count)
        self.check_hello(other)

    def test_a_server_with_a_wrong_proof_gets_only_the_hello(self):
        for answer in impostor.with_wrong_proof, impostor.with_echoed_proof:
            with self.subTest(answer.__name__):
                other = self.take_over(answer)
                self.alice.page.wait_for(lambda: "nother program" in self.alice.page.banner(), "the page says so")
                self.check_hello(other)
                other.stop()
                self.alice.serve()
                self.alice.browser.driver.get(self.alice.server.first)
                self.alice.page.wait_up()
                self.alice.page.choose(self.chat)
                self.alice.page.type("A draft that stays")

    def test_a_silent_server_gets_only_the_hello(self):
        other = self.take_over(None)
        self.check_hello(other)
        self.assertFalse(self.alice.page.is_up())

    def test_a_service_worker_of_the_same_port_does_not_reach_the_page(self):
        """A worker that an earlier program left on 127.0.0.1 and the server's port."""
        port = self.alice.server.port
        worker = ("self.addEventListener('install', () => self.skipWaiting());"
                  "self.addEventListener('fetch', (event) => event.respondWith(new Response('stolen')));")
        other = impostor.Impostor(harness.LOOPBACK, port, pages={
            "/": ("<!doctype html><title>left</title><link rel=icon href='data:,'>", "text/html"),
            "/worker.js": (worker, "text/javascript")})
        self.addCleanup(other.stop)
        address = f"{harness.LOOPBACK}:{port}"
        self.alice.browser.addresses.add(address)
        tab = self.alice.browser.tab()
        self.alice.browser.driver.get(f"http://{address}/")
        ready = self.alice.browser.driver.execute_async_script(
            "const done = arguments[0]; localStorage.key = '1';"
            "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)"
            ".then(() => done('ready'), (error) => done(String(error)))")
        self.assertEqual(ready, "ready")
        self.alice.browser.driver.get(f"http://{address}/")
        wait(lambda: "stolen" in self.alice.browser.driver.page_source, "the worker answers at its own origin")
        self.alice.browser.driver.get(self.alice.server.address())
        page = Page(self.alice.browser, tab)
        page.wait_up()
        self.assertEqual(page.script("return [localStorage.length, navigator.serviceWorker.controller]"), [0, None])
