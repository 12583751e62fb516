"""page.py: fails if a file of the page of `inkling web` could let a text of a peer escape, or needs more than itself:
- a sink for markup, code or addresses, storage, a worker, or a request other than the page's one WebSocket;
- a script or style inside of index.html, or a URL of another origin;
- more than 100,000 bytes in all, or more than 11,000 of qr.js and text.js;
- an ID in a script that index.html lacks;
- modules that import each other in a circle;
- a request of the API, or the kind or code of a line, outside of lines.js.
page.py --self-test: plants each of these in a copy. Fails if a violation is not found."""

import graphlib
import pathlib
import re
import shutil
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Sources/Program/InklingWeb/Page"
MOST = 100_000
MOST_OF = {("qr.js", "text.js"): 11_000}

# Words that no script of the page has: sinks for markup and code, storage, workers, and ways to send or to go elsewhere.
WORDS = """
    innerHTML outerHTML insertAdjacentHTML setHTML setHTMLUnsafe parseHTMLUnsafe DOMParser createContextualFragment
    XSLTProcessor createHTMLDocument eval Function srcdoc cssText insertRule adoptedStyleSheets
    cookie cookieStore localStorage indexedDB caches getDirectory
    Worker SharedWorker serviceWorker Worklet BroadcastChannel postMessage
    fetch XMLHttpRequest sendBeacon EventSource WebTransport RTCPeerConnection importScripts
    pushState navigation domain execCommand formAction src
""".split()
# Patterns that no script has, each with a line for the self-test.
SCRIPT = [(rf"\b{word}\b", f"place.{word}(text);") for word in WORDS] + [
    (r"document\.write", "document.writeln(text);"),
    (r"\bimport\s*\(", "const more = await import(text);"),
    (r"set(Timeout|Interval)\s*\(\s*[\"'`]", 'setTimeout("alert(1)", 5);'),
    (r"javascript:|\bdata:|\bblob:", "const address = `javascript:${text}`;"),
    (r"\blocation\s*=(?!=)", "location = text;"),
    (r"location\.\w+\s*=(?!=)", "location.href = text;"),
    (r"location\.(assign|replace|reload)", "location.assign(text);"),
    (r"window\.open", "window.open(text);"),
    (r"\.style\b(?!\.setProperty\()", "place.style.color = text;"),
    (r"setAttribute(NS)?\(\s*[\"'`]", 'place.setAttribute("onclick", text);'),
    (r"createElement\(\s*[\"'`]", 'document.createElement("script");'),
    (r"\.action\s*=", "form.action = text;"),
]
# Patterns of requests, and of the kinds and codes of lines: only lines.js has them.
LINE = [
    (r"\bdo\s*:", 'ask({do: "leave", chat});'),
    (r"[\"'`]do[\"'`]", 'line["do"] = "leave";'),
    (r"\.(do|on|code)\b", 'if (line.on === "error") close();'),
    (r"[{,]\s*on\b[^}]*}\s*(=[^=>]|\))", 'const {on, text} = await joined;'),
]
# The link that saves a file of plain text.
SAVED = r'el\("a", \{href, download: name\}\)\.click\(\);$|revokeObjectURL\(href\)'
# A line of a script with one of these words must also match the pattern beside it.
ONLY = [
    ("href", r"`#\$\{name\}`|https\?.*noopener noreferrer|^\S.*=> pieces|text\.js|createObjectURL|" + SAVED, "anchor.href = text;"),
    ("createObjectURL", r'URL\.createObjectURL\(new Blob\(\[text\], \{type: "text/plain"\}\)\);$', "place.createObjectURL(text);"),
    ("download", SAVED, "anchor.download = text;"),
    ("sessionStorage", r'sessionStorage\.(getItem\("inkling"\)|setItem\("inkling", key\))', 'sessionStorage.setItem("draft", text);'),
    ("WebSocket", r"new WebSocket\(`ws://\$\{location\.host\}/socket`\)", "new WebSocket(text);"),
    ("from", r'^(?!import).*|^import .* from "\./[a-z]+\.js";$', 'import { a } from "/a/b.js";'),
]
MARKUP = [
    (r"<script(?! type=\"module\" src=\"/main\.js\"></script>)", "<script>alert(1)</script>"),
    (r"<style|\sstyle\s*=", '<p style="color: red">'),
    (r"\son\w+\s*=", '<p onclick="alert(1)">'),
    (r"<(iframe|frame|object|embed|base|applet|portal|foreignObject)\b|http-equiv|\saction\s*=", "<iframe></iframe>"),
    (r"(src|href)\s*=\s*(?!\"(/[\w.]+|#[\w-]+)\")", '<link rel="stylesheet" href="//example.org/a.css">'),
]
STYLE = [(r"url\(|@import|image-set|expression\(|src\(", "p { background: url(/a.svg); }")]
ADDRESS = re.compile(r"\b(?:https?|wss?|ftp)://(?!\$\{location\.host\}/socket`|www\.w3\.org/2000/svg\")")
FOREIGN = "// https://example.org/"


def rules(name):
    """The patterns for a file by its name, each with a violation."""
    if name.endswith(".js"):
        return SCRIPT if name == "lines.js" else SCRIPT + LINE
    return STYLE if name.endswith(".css") else MARKUP


def check(page):
    """One line for each violation in a folder of the page."""
    files = sorted(page.iterdir())
    texts = {path.name: path.read_text() for path in files if path.is_file()}
    for path in files:
        if path.suffix not in (".html", ".css", ".svg", ".js"):
            yield f"{path.name}: the server has no media type for this file"
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            place = f"{name}:{number}"
            for pattern, _ in rules(name):
                if re.search(pattern, line):
                    yield f"{place}: {pattern}: {line.strip()}"
            for word, allowed, _ in ONLY if name.endswith(".js") else ():
                if re.search(rf"\b{word}\b", line) and not re.search(allowed, line) and (word, name) != ("href", "text.js"):
                    yield f"{place}: {word} is used in another way: {line.strip()}"
            if ADDRESS.search(line):
                yield f"{place}: an address of another origin: {line.strip()}"
    yield from sizes(page, texts)
    yield from names(texts)
    yield from circles(texts)


def sizes(page, texts):
    bytes_of = {name: (page / name).stat().st_size for name in texts}
    for some, most in [(tuple(bytes_of), MOST), *MOST_OF.items()]:
        total = sum(bytes_of.get(name, 0) for name in some)
        if total > most:
            yield f"{total} bytes, of at most {most}: {' '.join(some)}"


def names(texts):
    """Scripts find elements by ID, and nothing but this check compares them with index.html."""
    given = re.findall(r'\bid="?([\w-]+)', texts.get("index.html", ""))
    yield from (f"index.html: the ID {name} is given twice" for name in sorted({*given}) if given.count(name) > 1)
    for script, text in texts.items():
        for name in re.findall(r'(?:\$|\bwrite)\("([\w-]+)"', text) if script.endswith(".js") else ():
            if name not in given:
                yield f"{script}: index.html has no ID {name}"


def circles(texts):
    imports = {name: re.findall(r'\b(?:from|import) "\./(\w+\.js)"', text) for name, text in texts.items()}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        yield f"modules import each other in a circle: {' '.join(error.args[1])}"


def self_test(copy):
    """The planted violations that the check does not find."""
    def is_found(name, violation, text=None):
        path = copy / name
        before = path.read_text() if path.exists() else None
        path.write_text((before or "") + (text or f"\n{violation}\n"))
        count = len(violation.splitlines()) and sum(1 for fault in check(copy) if violation.strip() in fault)
        if before is None:
            path.unlink()
        else:
            path.write_text(before)
        return count > 0

    planted = [("main.js", violation) for _, violation in SCRIPT + LINE] + [("main.js", violation) for *_, violation in ONLY]
    planted += [(name, violation) for name in ("index.html", "icon.svg") for _, violation in MARKUP]
    planted += [("style.css", violation) for _, violation in STYLE]
    planted += [(name, FOREIGN) for name in ("main.js", "index.html", "style.css", "icon.svg")]
    yield from (f"{name}: {violation}" for name, violation in planted if not is_found(name, violation))
    yield from (f"{name} with {MOST} bytes more" for name in ("main.js", "style.css")
                if not is_found(name, f"of at most {MOST}", "\n" * MOST))
    for some, most in MOST_OF.items():
        if not is_found(some[0], f"of at most {most}", "\n" * most):
            yield f"{some[0]} with {most} bytes more"
    for name, violation, text in [
        ("main.js", "index.html has no ID nowhere", '\n$("nowhere");\n'),
        ("index.html", "the ID draft is given twice", '\n<p id="draft">\n'),
        ("index.html", "the ID draft is given twice", "\n<p id=draft>\n"),
        *(("dom.js", "in a circle: ", f'\n{violation} "./log.js";\n') for violation in ("import", "export * from")),
        ("page.wasm", "page.wasm: the server has no media type", "\n"),
    ]:
        if not is_found(name, violation, text):
            yield violation


def main(arguments):
    if arguments not in ([], ["--self-test"]):
        print("usage: Scripts/check page [--self-test]", file=sys.stderr)
        return 64
    if arguments:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "Page"
            shutil.copytree(PAGE, copy)
            faults = [f"not found: {fault}" for fault in self_test(copy)]
    else:
        faults = [*check(PAGE)]
    total = sum(path.stat().st_size for path in PAGE.iterdir())
    print("\n".join(faults)
          or f"page: {'each planted violation is found' if arguments else f'{total} bytes, without a sink for a text of a peer'}")
    return bool(faults)


sys.exit(main(sys.argv[1:]))
