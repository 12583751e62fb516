"""document.py OUTPUT: joins the texts of the specification into one page of HTML that needs no other file: with contents,
its figures, and a link from each mention of a clause to the clause. A link that leads nowhere is an error."""

import base64
import html
import pathlib
import re
import sys

from markdown_it import MarkdownIt

import texts

CLAUSE = re.compile(r"\b[A-Z]-\d+\b")
FOLDERS = ["vectors/README.md", "reference/README.md", "wireshark/README.md"]

STYLE = """
  :root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --page: #ffffff; --line: #d1d9e0; --soft: #f6f8fa;
    --link: #0969da; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9198a1; --page: #0d1117; --line: #3d444d;
    --soft: #161b22; --link: #58a6ff; } }
  body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 "Helvetica Neue", Helvetica, Arial,
    "Liberation Sans", sans-serif; display: flex; }
  nav { position: sticky; top: 0; align-self: flex-start; box-sizing: border-box; flex: none; width: 17rem; height: 100vh;
    overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); font-size: 14px; }
  nav ol { list-style: none; margin: 0; padding: 0; }
  nav ol ol { padding-left: 1rem; margin-bottom: .4rem; }
  nav summary { cursor: pointer; }
  main { min-width: 0; max-width: 56rem; padding: 1.5rem 3rem 6rem; }
  section + section { border-top: 1px solid var(--line); margin-top: 4rem; padding-top: 1rem; }
  a { color: var(--link); text-decoration: none; }
  a:hover { text-decoration: underline; }
  nav a { color: inherit; }
  h1, h2, h3, h4 { line-height: 1.25; }
  code, pre { font: 14px/1.45 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
  code { background: var(--soft); padding: .1em .3em; border-radius: 4px; }
  pre { background: var(--soft); padding: 1rem; overflow-x: auto; border-radius: 6px; }
  pre code { padding: 0; background: none; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 14px; }
  th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
  th { background: var(--soft); }
  img { max-width: 100%; height: auto; }
  .clause { font-weight: bold; }
  :target { background: color-mix(in srgb, var(--link) 18%, transparent); }
  @media (max-width: 60rem) { body { display: block; } nav { position: static; width: auto; height: auto; border: 0; }
    main { padding: 1rem; } }
  @media print { nav { display: none; } main { max-width: none; } pre { white-space: pre-wrap; } }"""


def slug(text):
    """The anchor of a heading, as repositories on the web make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def order():
    """The texts, in the order of the table in the README, which comes first."""
    rows = re.findall(r"^\|\[.*", texts.read("README.md"), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"\]\(([\w/]+\.md)\)", row)]
    there = {path.name for path in texts.FOLDER.glob("*.md")} | set(FOLDERS)
    missing = there - {"README.md"} - set(listed)
    if missing:
        sys.exit(f"Protocol/README.md does not list {', '.join(sorted(missing))}")
    return ["README.md", *listed]


def section(name):
    """The anchor of a text: `wire`, `vectors` for vectors/README.md, `protocol` for the README."""
    return {"README.md": "protocol"}.get(name, name.removesuffix("/README.md").removesuffix(".md"))


class Document:
    def __init__(self):
        self.markdown = MarkdownIt("commonmark").enable("table")
        self.names = order()
        self.clauses = {*texts.clauses()}
        self.anchors = set()
        self.links = []
        self.contents = []

    def anchor(self, name):
        if name in self.anchors:
            sys.exit(f"two places have the anchor {name}")
        self.anchors.add(name)
        return name

    def target(self, name, href):
        """The target of a link within the page, or None if the target is not in the page."""
        if re.match(r"[a-z]+:", href):
            return href
        path, _, fragment = href.partition("#")
        whole = pathlib.PurePosixPath(name).parent / path if path else pathlib.PurePosixPath(name)
        parts = []
        for part in whole.parts:
            parts = parts[:-1] if part == ".." and parts else parts + [part]
        whole = "/".join(parts)
        if whole in self.names:
            place = section(whole) + (f"-{fragment}" if fragment else "")
            self.links.append((name, place))
            return f"#{place}"
        if not (texts.FOLDER / whole).exists():
            sys.exit(f"Protocol/{name}: there is no {href}")
        return None

    def picture(self, name, source):
        path = texts.FOLDER / pathlib.PurePosixPath(name).parent / source
        if not path.exists():
            sys.exit(f"Protocol/{name}: there is no {source}")
        kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
        return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"

    def inline(self, name, tokens, begins_item):
        """The HTML of a run of text, its clauses linked."""
        out, in_link, closes = [], 0, []
        for index, token in enumerate(tokens):
            if token.type == "link_open":
                place = self.target(name, token.attrGet("href"))
                out.append(f'<a href="{html.escape(place)}">' if place else "<span>")
                closes.append("</a>" if place else "</span>")
                in_link += 1
            elif token.type == "link_close":
                out.append(closes.pop())
                in_link -= 1
            elif token.type == "image":
                out.append(f'<img alt="{html.escape(token.content)}" src="{self.picture(name, token.attrGet("src"))}">')
            elif token.type == "text":
                text = token.content
                own = re.match(r"\[([A-Z]+-\d+)\] ", text) if begins_item and index == 0 else None
                if own:
                    place = self.anchor(own[1])
                    out.append(f'<a class="clause" id="{place}" href="#{place}">{place}</a> ')
                    text = text[own.end() :]
                out.append(html.escape(text, quote=False) if in_link else self.linked(text))
            else:
                out.append(self.markdown.renderer.renderInline([token], self.markdown.options, {}))
        return "".join(out)

    def linked(self, text):
        return CLAUSE.sub(
            lambda found: f'<a href="#{found[0]}">{found[0]}</a>' if found[0] in self.clauses else found[0],
            html.escape(text, quote=False),
        )

    def text(self, name):
        """The HTML of one text."""
        tokens = self.markdown.parse(texts.read(name))
        prefix, entries, out = section(name), [], []
        begins_item = False
        seen = {}
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                title = tokens[index + 1].content
                label = slug(title)
                seen[label] = seen.get(label, -1) + 1
                label += f"-{seen[label]}" if seen[label] else ""
                place = prefix if token.tag == "h1" else f"{prefix}-{label}"
                entries.append((token.tag, self.anchor(place), title.replace("`", "")))
                out.append(f'<{token.tag} id="{place}">')
            elif token.type == "inline":
                out.append(self.inline(name, token.children, begins_item))
                begins_item = False
            elif token.type == "table_open":
                out.append('<div class="wide"><table>')
            elif token.type == "table_close":
                out.append("</table></div>")
            else:
                begins_item = begins_item and token.type == "paragraph_open" or token.type == "list_item_open"
                out.append(self.markdown.renderer.render([token], self.markdown.options, {}))
        self.contents.append(entries)
        return f"<section>\n{''.join(out)}</section>\n"

    def navigation(self):
        rows = []
        for entries in self.contents:
            (_, place, title), *others = entries
            inner = "".join(
                f'<li><a href="#{html.escape(where)}">{html.escape(what)}</a></li>'
                for tag, where, what in others
                if tag == "h2"
            )
            link = f'<a href="#{place}">{html.escape(title)}</a>'
            rows.append(
                f"<li><details><summary>{link}</summary><ol>{inner}</ol></details></li>"
                if inner
                else f"<li>{link}</li>"
            )
        return f"<nav><ol>\n{chr(10).join(rows)}\n</ol></nav>"

    def html(self):
        body = "".join(self.text(name) for name in self.names)
        for name, place in self.links:
            if place not in self.anchors:
                sys.exit(f"Protocol/{name}: a link leads to #{place}, which is nowhere")
        if self.clauses - self.anchors:
            sys.exit(f"these clauses have no anchor: {sorted(self.clauses - self.anchors)}")
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>The Inkling protocol</title>\n'
            f"<style>{STYLE}\n</style>\n</head>\n<body>\n{self.navigation()}\n<main>\n{body}</main>\n</body>\n</html>\n"
        )


def main():
    document = Document()
    page = document.html()
    pathlib.Path(sys.argv[1]).write_text(page, encoding="utf-8")
    mentions = len(re.findall(r'href="#[A-Z]-\d+"', page)) - len(document.clauses)
    print(
        f"{len(document.names)} texts, {len(document.clauses)} clauses, {mentions} links to them, {len(document.links)} other links"
    )


main()
