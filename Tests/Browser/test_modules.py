"""The page's modules of texts and of QR codes, in Chromium. A server of Inkling makes one of the modules."""

import collections
import datetime
import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unicodedata
import unittest
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import harness
import scripted
import swift_texts

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Sources/Program/InklingWeb/Page"
USER = "mallorymallory22"
ZONE = "Europe/Berlin"

# Default_Ignorable_Code_Point of Unicode, without the joiners and the variation selector of emoji.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
PILES = "\u1160-\u11ff\ud7b0-\ud7ff\uff9e\uff9f\u200c\u200d"


def is_piled(character):
    return unicodedata.category(character).startswith("M") or re.match(f"[{PILES}]", character) is not None


def harm(text, keeps=""):
    """Returns why a text that the page shows could do harm, or None. It can have the control characters `keeps`."""
    if re.fullmatch("[ -~]*", text):
        return None
    piled = 0
    for before, character in zip(" " + text, text):
        number = ord(character)
        category = unicodedata.category(character)
        if category in ("Cc", "Co", "Cs", "Zl", "Zp") and character not in keeps:
            return f"U+{number:X} of category {category}"
        if number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF or 0xFFF9 <= number <= 0xFFFB:
            return f"U+{number:X}, which is no character"
        if INVISIBLE.match(character):
            return f"the invisible U+{number:X}"
        if character in "\u200c\u200d\ufe0f" and before.isascii() and not before.isdigit() and before not in "#*":
            return f"U+{number:X} after {before!r}"
        piled = piled + 1 if is_piled(character) else 0
        if piled > 3:
            return f"{piled} marks on one character"
        if piled and before in keeps:
            return "a mark without a base"
    return "a mark without a base" if text and is_piled(text[0]) else None


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the page's folder, and an empty page that imports its modules."""

    extensions_map = {".js": "text/javascript", "": "application/octet-stream"}

    made = {"/": ("text/html", b"<!doctype html><title>Modules</title>")}

    def do_GET(self):
        if self.path not in self.made:
            return super().do_GET()
        kind, content = self.made[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class ModuleCase(unittest.TestCase):
    """Tests in one browser for all, which has the empty page."""

    browser = None

    @classmethod
    def call(cls, module, function, calls):
        """Returns what a module's function returns for each list of arguments, or the name of the error."""
        return cls.run_script("""
            const module = await import(`/${given[0]}`);
            return given[2].map((each) => {
              try { return module[given[1]](...each); } catch (error) { return error.name; }
            });""", module, function, calls)

    @classmethod
    def run_script(cls, script, *given):
        answer = cls.browser.execute_async_script(
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            "(async () => {" + script + "})()"
            ".then((value) => done({ value }), (error) => done({ error: `${error}` }));",
            *given)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def check_table(self, function, table):
        """Checks rows of arguments and the expected result."""
        rows = [(row if isinstance(row, tuple) else (row,), expected) for row, expected in table]
        results = self.call("text.js", function, [list(row) for row, _ in rows])
        for (row, expected), result in zip(rows, results, strict=True):
            with self.subTest(row):
                self.assertEqual(result, expected)


def names_module():
    """The module that the program makes of its list of signs and words."""
    state = harness.work() / "modules"
    daemon = scripted.ScriptedDaemon(state, {})
    unittest.addModuleCleanup(daemon.stop)
    server = harness.PageServer("modules", state)
    unittest.addModuleCleanup(server.stop)
    with urllib.request.urlopen(f"{server.origin}/names.js", timeout=harness.TIMEOUT) as answer:
        return answer.read()


def setUpModule():
    Handler.made["/names.js"] = ("text/javascript", names_module())
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        raise AssertionError("chromium or chromedriver is not installed")
    folder = tempfile.TemporaryDirectory(prefix="inkling-modules-")
    unittest.addModuleCleanup(folder.cleanup)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(PAGE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for cleanup in (server.server_close, thread.join, server.shutdown):
        unittest.addModuleCleanup(cleanup)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--no-first-run", f"--user-data-dir={folder.name}/profile",
                     *(["--no-sandbox"] if os.getuid() == 0 else [])):
        options.add_argument(argument)
    service = Service(driver, log_path=f"{folder.name}/driver.log", env={**os.environ, "TZ": ZONE, "LANGUAGE": "en"})
    ModuleCase.browser = webdriver.Chrome(service=service, options=options)
    unittest.addModuleCleanup(ModuleCase.browser.quit)
    ModuleCase.browser.get(f"http://127.0.0.1:{server.server_address[1]}/")


class HostileTextTests(ModuleCase):
    """The list of hostile texts of the prompt's tests, each alone and around a name."""

    @classmethod
    def setUpClass(cls):
        cls.texts = [
            text for hostile in swift_texts.hostile_texts().values()
            for text in [hostile, *(["Bob" + hostile, hostile + "Bob", hostile * 2] if len(hostile) < 2_000 else [])]]

    def results(self, function, *arguments):
        return zip(self.texts, self.call("text.js", function, [[text, *arguments] for text in self.texts]), strict=True)

    def test_the_list_is_the_whole_list(self):
        texts = swift_texts.hostile_texts()
        self.assertGreater(len(texts), 480)
        self.assertEqual(texts["clear screen"], "\x1b[2J")
        self.assertEqual(texts["control U+9F"], "Bo\x9fb")
        self.assertEqual(texts["invisible U+110BD"], "Bo\U000110bdb")
        self.assertEqual(len(texts["64 KiB of marks"]), 32_768)

    def test_lines_have_nothing_harmful_and_stay_as_they_are(self):
        results = list(self.results("lines"))
        for text, safe in results:
            self.assertIsNone(harm(safe, keeps="\n\t"), repr(text[:80]))
        safe = [safe for _, safe in results]
        self.assertEqual(self.call("text.js", "lines", [[text] for text in safe]), safe)

    def test_plain_texts_have_one_line_and_their_length(self):
        for text, safe in self.results("plain"):
            self.assertIsNone(harm(safe), repr(text[:80]))
            self.assertNotRegex(safe, r"^\s|\s\s|\s$|[^\S ]", repr(text[:80]))
        for text, safe in self.results("plain", 20):
            self.assertIsNone(harm(safe), repr(text[:80]))
            self.assertLessEqual(len(safe), 20 * 16 + 1, repr(text[:80]))

    def test_isolated_texts_have_no_other_control_of_direction(self):
        for text, safe in self.results("isolate"):
            self.assertTrue(safe.startswith("\u2068") and safe.endswith("\u2069"), repr(text[:80]))
            self.assertNotRegex(safe[1:-1], "[\u202a-\u202e\u2066-\u2069\n\r\x1c-\x1e\x85\u2029]", repr(text[:80]))

    def test_pieces_without_links_are_the_safe_lines(self):
        expected = dict(self.results("lines"))
        for text, pieces in self.results("pieces"):
            if not any("href" in piece for piece in pieces):
                self.assertEqual("".join(piece["text"] for piece in pieces), expected[text], repr(text[:80]))

    def test_labels_are_harmless_and_end_with_the_user_id_beside_namesakes(self):
        people = [[{"user": USER, "name": text, "namesakes": ["bobbobbobbobbob2"]}] for text in self.texts]
        for text, shown in zip(self.texts, self.call("text.js", "label", people), strict=True):
            self.assertIsNone(harm(shown), repr(text[:80]))
            self.assertTrue(shown == USER or shown.endswith(" ~mall"), f"{text[:80]!r} as {shown!r}")

    def test_all_of_them_together_take_under_two_seconds(self):
        took = self.run_script("""
            const { pieces, plain, label, typing, isCommand, spoken, deed } = await import("/text.js");
            const start = performance.now();
            for (const text of given[0]) {
              pieces(text); plain(text, 64); isCommand(text); spoken(text); deed(text);
              typing([label({ user: "mallorymallory22", name: text })]);
            }
            return performance.now() - start;""", self.texts)
        self.assertLess(took, 2_000)


class TextTests(ModuleCase):
    def test_messages(self):
        self.check_table("lines", [
            ("plain", "plain"), ("", ""), (None, ""), ("a\r\nb\rc\x85d\u2028e\u2029f\ng", "a\nb\nc\nd\ne\nf\ng"),
            ("\r\n\r\n", "\n\n"), ("\n\r", "\n\n"), ("\x1b[31m", "\\x1b[31m"),
            ("\0\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
            ("a\tb", "a\tb"), ("  a  b ", "  a  b "), ("a\u202eb\u200fc", "abc"), ("a\u200bb\ufeffc\u00add", "abcd"),
            ("👨‍👩‍👧 ❤\ufe0f", "👨‍👩‍👧 ❤\ufe0f"), ("🏳\ufe0f‍🌈👁\ufe0f‍🗨\ufe0f👩🏽‍🚀", "🏳\ufe0f‍🌈👁\ufe0f‍🗨\ufe0f👩🏽‍🚀"),
            ("می\u200cخواهم", "می\u200cخواهم"), ("क\u094d\u200dष", "क\u094d\u200dष"),
            ("Bo\u200db Bo\u200cb", "Bob Bob"),
            ("Bo\ufe0fb", "Bob"), ("1\ufe0f\u20e3 1\ufe0f2", "1\ufe0f\u20e3 12"), ("علي\u200c", "علي"),
            ("\ue000\uffff\u0378", "\ufffd\ufffd\ufffd"), ("a" + "\u0301" * 9, "a" + "\u0301" * 3),
            ("👍🏽🏽🏽", "👍🏽"), ("a🏽 🏽1🏽", "a 1"), ("\u1100\u1161\u11a8", "\u1100\u1161\u11a8"),
            ("가" + "\u11a8" * 9, "가" + "\u11a8" * 3), ("ｶ" + "\uff9e" * 9, "ｶ" + "\uff9e" * 3),
            ("\u0301a", "a"), ("a\n\u0301b", "a\nb"), ("日本 e\u0301 नमस्ते", "日本 e\u0301 नमस्ते"),
        ])

    def test_a_lone_half_of_a_pair_is_replaced(self):
        safe = self.run_script('return (await import("/text.js")).lines("a\\ud800b\\udc00")')
        self.assertEqual(safe, "a\ufffdb\ufffd")

    def test_one_line(self):
        self.check_table("plain", [
            ("  Alice \u00a0\u3000 B.  ", "Alice B."), ("a\r\nb\nc\u2028d\te", "a b c d e"), ("Al \u0301x", "Al x"),
            (("x" * 32, 32), "x" * 32), (("x" * 33, 32), "x" * 32 + "…"), (("a bc", 2), "a…"), ((None, 5), ""),
            (("👨‍👩‍👧" * 6, 5), "👨‍👩‍👧" * 5 + "…"), (("e\u0301" * 6, 5), "e\u0301" * 5 + "…"),
            (("日" * 6, 5), "日" * 5 + "…"),
        ])

    def test_a_word_is_found_as_the_prompt_finds_it(self):
        edge = r"[\p{L}\p{M}\p{N}_]"
        self.check_table("has", [
            (("Hi Zoe\u0308!", "Zo\u00eb", edge), True), (("hi ZO\u00cb", "Zoe\u0308", edge), True),
            (("Zo\u00eb3", "Zo\u00eb", edge), False), (("Zo\u00ebs", "Zo\u00eb", edge), False),
            (("_Zo\u00eb", "Zo\u00eb", edge), False), (("\uff3ao\u00eb", "Zo\u00eb", edge), True),
            (("a.b", "a.b", edge), True), (("axb", "a.b", edge), False), (("Zo\u00eb3", "zo\u00eb"), True),
        ])

    def test_isolates(self):
        self.check_table("isolate", [
            ("Bob", "\u2068Bob\u2069"), ("", "\u2068\u2069"), ("\u2069a\u2068b", "\u2068ab\u2069"),
            ("\u202ea\u202c\u2066b", "\u2068ab\u2069"), ("a\nb", "\u2068ab\u2069"), ("דוד", "\u2068דוד\u2069"),
        ])

    def test_links(self):
        def link(text, href=None):
            return {"text": text, "href": href or text}

        def plain(text):
            return [{"text": text}]

        self.check_table("pieces", [
            ("", []), ("hi", plain("hi")),
            ("http://a.example/", [link("http://a.example/")]),
            ("http://a.example", [link("http://a.example", "http://a.example/")]),
            ("see (https://a.example/b(c)). ok",
             [{"text": "see ("}, link("https://a.example/b(c)"), {"text": "). ok"}]),
            ("https://a.example/x?y=1&z#q!", [link("https://a.example/x?y=1&z#q"), {"text": "!"}]),
            ("[http://a.example/x]", [{"text": "["}, link("http://a.example/x"), {"text": "]"}]),
            ("「http://a.example/x」", [{"text": "「"}, link("http://a.example/x"), {"text": "」"}]),
            ("“http://a.example/x”", [{"text": "“"}, link("http://a.example/x"), {"text": "”"}]),
            ("<http://a.example/x>", [{"text": "<"}, link("http://a.example/x"), {"text": ">"}]),
            ("a http://a.example/1, http://b.example/2", [
                {"text": "a "}, link("http://a.example/1"), {"text": ", "}, link("http://b.example/2")]),
            ("HTTP://A.Example/B", [link("http://a.example/B")]),
            ("http://[::1]:8080/x", [link("http://[::1]:8080/x")]),
            ("http://a.example/ä", [link("http://a.example/ä", "http://a.example/%C3%A4")]),
            # A host shows as it is, however it is written.
            ("https://BÜCHER.example/x", [link("https://xn--bcher-kva.example/x")]),
            ("https://аpple.example/", [link("https://xn--pple-43d.example/")]),
            ("http://a。example/", [link("http://a.example/")]), ("http://ａ.example/", [link("http://a.example/")]),
            ("http://0x7f.1/", [link("http://127.0.0.1/")]), ("http://2130706433/", [link("http://127.0.0.1/")]),
            ("http://a.exam\u200bple/", [link("http://a.example/")]),
            ("http://%61.example/", [link("http://a.example/")]),
            ("https://a.example:443/", [link("https://a.example/")]),
            # These are no links.
            *((text, plain(text)) for text in (
                "http://", "http:///x", "http://.", "http:a.example", "http://u:p@a.example/", "http://@a.example/",
                "http://a.example@b.example", "http://a.example\\@b.example/", "http://%zz/", "http://a%00/",
                "http://a.example＠b.example/", "http://a.example：80：80/", "http://[::1/", "http://a:99999/",
                "javascript:alert(1)", "data:text/html,x", "ftp://a.example/", "xhttp://a.example/",
                "mailto:a@b.example",
                "file:///etc/passwd", "//a.example/", "www.a.example", "ｈttp://a.example/", "http;//a.example/")),
        ])

    def test_links_in_hostile_surroundings_lose_no_text(self):
        for around in ("\u202e", "(" * 1_000, ")" * 1_000, "." * 100_000, "http://a " * 7_000):
            text = around + "http://a.example/x " + around
            (pieces,), (safe,) = (self.call("text.js", function, [[text]]) for function in ("pieces", "lines"))
            self.assertEqual("".join(piece["text"] for piece in pieces), safe)
            for piece in pieces:
                self.assertRegex(piece.get("href", "http://"), "^https?://")

    def test_labels(self):
        def person(name, **members):
            return {"user": USER, "name": name, **members}

        beside = {"namesakes": ["nfxg62dfoj3xs2lk"]}
        self.check_table("label", [
            (person("Bob"), "Bob"), (person("Bob", verified=True), "Bob"), (person("Bob", namesakes=[]), "Bob"),
            (person("Bob", **beside), "Bob ~mall"), (person("Bob", verified=True, **beside), "Bob"),
            (person("Bob", namesakes=["malloryxallory22"]), "Bob ~mallorym"),
            (person("Bob", namesakes=[USER]), f"Bob ~{USER}"),
            (person(""), USER), (person("🦊"), USER), (person("\u200b"), USER), (person(None), USER),
            ({"user": USER}, USER),
            (person(" Al\u202eice  B "), "Alice B"), (person("O’Neill"), "O’Neill"),
            (person("日本太郎"), "日本太郎"), (person("Zoe ❤"), "Zoe ❤"), (person("7"), "7"),
            # No name shows a mark of the program.
            *((person(name, verified=verified), "Bob ~mall") for verified in (False, True) for name in (
                "Bob ✓", "Bob ✅", "✔ Bob", "Bob ✔\ufe0f", "Bob ☑", "Bob √", "Bob 🛡", "Bob 🛡\ufe0f", "Bob ⛨", "B🛡ob✓")),
            (person("✓ 🛡"), USER),
            # These could be taken for other people, or for what the program says.
            *((person(name), f"{name} ~mall") for name in (
                "Bob ~abcd", "You", "someone", "Bob (verified)", "Bob, Charlie", "Bob: hi", "Bob 🔒",
                "Bob 🔏", "Bob 🔰", "Bob 🔑", "Bob ⚔", "Bob ⚠", "Bob ★", "Bob 🟢", "Bob'", "Nobody", "Blocked",
                "nfxg62dfoj3xs2lk", "Zoe nfxg62dfoj3xs2lk", "ｎｆｘｇ６２ｄｆｏｊ３ｘｓ２ｌｋ", "“Zoe”", "* Bob has left",
                "Bob is typing", "Active now, away")),
            # The user ID tells apart names that differ only where they are cut.
            (person("Bob " * 10), "Bob " * 7 + "Bob… ~mall"),
        ])

    def test_names_that_are_only_names_have_no_suffix(self):
        names = swift_texts.dressed_names("othersNever")
        self.assertGreater(len(names), 90)
        people = [[{"user": USER, "name": name}] for name in names]
        marked = [name for name, label in zip(names, self.call("text.js", "label", people)) if label != name]
        self.assertEqual(marked, [])

    def test_no_dressed_name_shows_a_mark_or_goes_without_the_user_id(self):
        names = {**swift_texts.dressed_names("alikeAlways"), **swift_texts.dressed_names("othersAlways")}
        people = [[{"user": USER, "name": name, "namesakes": ["bobbobbobbobbob2"]}] for name in names]
        for name, label in zip(names, self.call("text.js", "label", people), strict=True):
            with self.subTest(name):
                self.assertRegex(label, f"^{USER}$| ~mall$")
                self.assertNotRegex(label, "[✓✔✅☑√🗸ꪜ🛡⛨⛊⍻]")

    def test_typing(self):
        self.check_table("typing", [
            ([], ""), (["Alice"], "Alice is typing"), (["Alice", "Bob"], "Alice and Bob are typing"),
            (["Alice", "Bob", "Charlie"], "Alice, Bob, and Charlie are typing"),
            (["Alice", "Bob", "Charlie", "Dora"], "Alice, Bob, and 2 others are typing"),
            (["Alice", "Bob", *"CDEFGHIJKL"], "Alice, Bob, and 10 others are typing"),
            (["Bob", "Alice"], "Bob and Alice are typing"), ([""], "Someone is typing"),
            (["Alice", ""], "Alice and Someone are typing"), (["Fifteen letters"], "Fifteen letters is typing"),
            (["Sixteen letters!"], "Sixteen letters... is typing"),
            (["Sixteen letters! ~mall"], "Sixteen letters... ~mall is typing"),
            (["Bob ~abcd ~mall"], "Bob ~abcd ~mall is typing"),
            (["e\u0301" * 15], "e\u0301" * 15 + " is typing"),
            (["דוד", "Bob"], "\u2068דוד\u2069 and \u2068Bob\u2069 are typing"),
        ])

    def test_commands_and_messages(self):
        table = [
            # draft, whether it is a command, what it sends, the action in what it sends
            ("", False, "", None), ("hi", False, "hi", None), (" /who", False, " /who", None), ("/", True, "/", None),
            ("/who", True, "/who", None), ("//", False, "/", None), ("//who", False, "/who", None),
            ("///", False, "//", None),
            ("/me", True, "/me", None), ("/me ", True, "/me ", None), ("/me waves", False, "/me waves", "waves"),
            ("/me waves\nagain", False, "/me waves\nagain", "waves\nagain"), ("/meow", True, "/meow", None),
            ("hi /me waves", False, "hi /me waves", None),
        ]
        self.check_table("isCommand", [(draft, command) for draft, command, _, _ in table])
        self.check_table("spoken", [(draft, sent) for draft, _, sent, _ in table])
        self.check_table("deed", [(sent, deed) for _, _, sent, deed in table])

    def test_user_ids_in_groups(self):
        self.check_table("groups", [(USER, "mall orym allo ry22"), ("", ""), ("abcde", "abcd e"), ("abcd", "abcd")])

    def test_times_are_local(self):
        summer, winter = (datetime.datetime(2026, month, 5, 7, 5, tzinfo=datetime.timezone.utc).timestamp()
                          for month in (7, 1))
        self.check_table("clock", [(summer, "09:05"), (winter, "08:05"), (winter + 0.999999, "08:05")])
        # 30 March 2026, 00:30 in Berlin, a day after the clocks went forward.
        now = datetime.datetime(2026, 3, 29, 22, 30, tzinfo=datetime.timezone.utc).timestamp()
        hour = 3_600
        self.check_table("day", [
            ((now, now), "Today"), ((now - 1_799, now), "Today"), ((now - 1_801, now), "Yesterday"),
            ((now - 23 * hour, now), "Yesterday"), ((now + 23 * hour, now), "Today"),
        ])
        for seconds, parts in ((now - 24 * hour, ("Saturday", "28", "March", "2026")),
                               (now + 24 * hour, ("Tuesday", "31", "March", "2026"))):
            (shown,) = self.call("text.js", "day", [[seconds, now]])
            self.assertEqual(tuple(re.findall(r"\w+", shown)), parts)

    def test_ages(self):
        now = datetime.datetime(2026, 3, 5, 11, tzinfo=datetime.timezone.utc).timestamp()
        hour, day = 3_600, 86_400
        self.check_table("ago", [
            ((now - age, now), text) for age, text in (
                (0, "just now"), (-5, "just now"), (59.9, "just now"), (60, "1 minute ago"), (119, "1 minute ago"),
                (300, "5 minutes ago"), (hour - 1, "59 minutes ago"), (hour, "1 hour ago"), (5 * hour, "5 hours ago"),
                (13 * hour, "yesterday"), (day, "yesterday"), (2 * day, "2 days ago"), (40 * day, "40 days ago"),
                # The clock was ahead then.
                (-59, "just now"), (-60, "recently"), (-2 * hour, "recently"), (-40 * day, "recently"))])
        (shown,) = self.call("text.js", "ago", [[datetime.datetime.now().timestamp() - 300]])
        self.assertEqual(shown, "5 minutes ago")


class OrderTests(ModuleCase):
    """The order of messages is that of their arrival, whatever their times (R52)."""

    def texts(self, *steps):
        """Returns the texts of a chat after these steps of the model, in their order."""
        self.browser.refresh()  # for modules without chats
        return self.run_script("""
            const model = await import("/model.js"), {apply} = await import("/lines.js"), {hooks} = await import("/hooks.js");
            Object.assign(hooks, {arrived() {}, ready() {}, render() {}});
            const from = {user: "bobbobbobbobbob2", name: "Bob"};
            const last = (text, at, entry) => ({text, at, from, entry, message: +text});
            apply({on: "ready", user: "alicealicealicea", name: "Alice", at: 1});
            apply({on: "status", since: 5, chats: [{chat: "c", unread: 0}], at: 1});
            for (const [step, ...more] of given[0]) {
              if (step === "message") apply({on: step, chat: "c", ...last(...more)});
              else if (step === "messages") apply({on: step, chat: "c", at: 1, messages: more.map((one) => last(...one))});
              else if (step === "since") apply({on: "status", since: more[0], chats: [{chat: "c", unread: 0}], at: 1});
              else if (step === "own") model.compose(model.model.chats.get("c"), ...more);
              else model.disconnect();
            }
            return model.model.chats.get("c").messages.map((one) => one.text);""", steps)

    def test_a_clock_that_steps_back_moves_no_message(self):
        for step in (0.001, 4, 7_200, 2e8):
            self.assertEqual(self.texts(["message", "1", 1e9], ["message", "2", 1e9 - step], ["message", "3", 1e9 + 1],
                                        ["message", "4", 1e9 + 1 - step]), ["1", "2", "3", "4"])

    def test_recent_messages_stay_in_the_order_of_the_daemon(self):
        self.assertEqual(self.texts(["messages", ["1", 50], ["2", 20], ["3", 90], ["4", 21]]), ["1", "2", "3", "4"])

    def test_recent_messages_come_before_those_that_came_in_between(self):
        self.assertEqual(self.texts(["message", "3", 10], ["message", "4", 5],
                                    ["messages", ["1", 50], ["2", 20], ["3", 10], ["4", 5]]), ["1", "2", "3", "4"])

    def test_missed_messages_take_their_places_after_a_reconnection(self):
        self.assertEqual(self.texts(["message", "1", 90], ["message", "2", 80], ["lost"], ["message", "5", 9],
                                    ["messages", ["2", 80], ["3", 70], ["4", 1], ["5", 9]]), ["1", "2", "3", "4", "5"])
        self.assertEqual(self.texts(["message", "1", 90], ["lost"], ["message", "5", 9],
                                    ["messages", ["3", 70], ["4", 1], ["5", 9]]), ["1", "3", "4", "5"])

    def test_a_message_of_an_earlier_run_keeps_no_later_one_of_its_number_out(self):
        self.assertEqual(self.texts(["messages", ["1", 2, 7], ["1", 50, 8]], ["message", "2", 60]), ["1", "1", "2"])
        self.assertEqual(self.texts(["messages", ["1", 2, 7]], ["message", "1", 60]), ["1", "1"])

    def test_a_message_that_is_shown_already_stays_one_after_a_restart_of_the_daemon(self):
        self.assertEqual(self.texts(["message", "1", 50], ["message", "2", 51], ["lost"], ["since", 60],
                                    ["messages", ["1", 50, 7], ["2", 51, 8]], ["message", "1", 61]), ["1", "2", "1"])

    def test_a_message_that_is_being_sent_is_the_last_one(self):
        self.assertEqual(self.texts(["message", "1", 90], ["lost"], ["own", "me", 95], ["messages", ["1", 90], ["2", 99]]),
                         ["1", "2", "me"])


class QRTests(ModuleCase):
    """Codes for each version, read by a decoder of others."""

    # The bytes that fit into each version at level M, by the standard.
    CAPACITIES = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287]

    @classmethod
    def setUpClass(cls):
        letters = [chr(33 + (i * 37 + i // 94) % 94) for i in range(500)]
        lengths = [length for capacity in cls.CAPACITIES for length in (capacity - 11, capacity - 1, capacity)]
        cls.texts = ["".join(letters[:length]) for length in [1, *lengths]]
        cls.texts += ["Grüße an 日本語 😀", "Grüße, " * 30, "~" * 100, "0" * 251, "https://a.example/?q=%20"]
        cls.texts += [f"inkling:{'%C3%BC' * 32}#{'abcdefghijklmnopqrstuvwxyz'}@{'A1b-' * 10}A1w"]  # the longest invite
        cls.codes = cls.call("qr.js", "qr", [[text] for text in cls.texts])

    def test_each_code_has_the_smallest_version(self):
        versions = collections.Counter()
        for text, rows in zip(self.texts, self.codes, strict=True):
            length = len(text.encode())
            version = next(number for number, most in enumerate(self.CAPACITIES, 1) if length <= most)
            versions[version] += 1
            self.assertEqual(len(rows), 17 + 4 * version, length)
            self.assertTrue(all(len(row) == len(rows) and {*row} <= {True, False} for row in rows), length)
        self.assertEqual(sorted(versions), list(range(1, 13)))

    def test_the_longest_text_is_287_bytes(self):
        self.assertEqual(self.call("qr.js", "qr", [["x" * 288], ["é" * 144], ["x" * 65_536]]), ["RangeError"] * 3)
        (empty,) = self.call("qr.js", "qr", [[""]])
        self.assertEqual(len(empty), 21)

    def test_the_codes_are_those_that_decoders_have_read(self):
        # zbar read these codes, and python-qrcode drew the same ones with mask 0. So this test needs no decoder.
        drawn = "\n".join("".join("01"[module] for module in row) for rows in self.codes for row in rows)
        self.assertEqual(hashlib.sha256(drawn.encode()).hexdigest(),
                         "9a84acbbf9c671677dc5794b5ae499e72398553f8caf59bdad480b9bceabe01b")

    @unittest.skipUnless(shutil.which("zbarimg"), "zbarimg, of zbar-tools, is not installed")
    def test_zbar_reads_each_code(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, rows in enumerate(self.codes):
                path = pathlib.Path(folder, f"{number:03}.pbm")
                path.write_text(bitmap(rows, scale=4, margin=4))
                paths.append(path.name)
            result = subprocess.run(
                ["zbarimg", "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable", "-Sbinary", *paths],
                cwd=folder, capture_output=True, timeout=60, check=True)
        self.assertEqual(result.stdout.decode(), "".join(self.texts))

    def test_a_code_takes_under_a_second(self):
        took = self.run_script("""
            const { qr } = await import("/qr.js");
            const start = performance.now();
            qr("x".repeat(287));
            return performance.now() - start;""")
        self.assertLess(took, 1_000)


def bitmap(rows, scale, margin):
    """Returns a code as a picture in the format PBM."""
    side = len(rows) + 2 * margin
    blank = [False] * side
    framed = [blank] * margin + [[False] * margin + row + [False] * margin for row in rows] + [blank] * margin
    lines = [" ".join("01"[module] for module in row for _ in range(scale)) for row in framed for _ in range(scale)]
    return f"P1 {side * scale} {side * scale}\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    unittest.main()
