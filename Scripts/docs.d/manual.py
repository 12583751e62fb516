"""manual.py PROGRAM OUTPUT [DATE]: makes the manual pages, and the program's completions for bash, zsh and fish, in the
folder OUTPUT. The program describes its commands and options. Documentation/using.md has all other texts, and *.1.in,
beside this file, the frame. DATE is YYYY-MM-DD, today if it is missing."""

import datetime
import json
import pathlib
import re
import subprocess
import sys

# The options that many commands share are explained once. Each group is that of an option, with what it is called.
GROUPS = {"--secret": "chat options", "--name": "node options", "--attach": "daemon options"}
EVERYWHERE = {"--help", "--version"}
USING = pathlib.Path(__file__).parents[2] / "Documentation/using.md"
# Sections of using.md that the page has no room or no use for. The program describes its commands itself.
LEFT_OUT = {"From a clone", "A session", "Look-alikes and strangers", "Commands"}
MARKUP = re.compile(r"`([^`]+)`|\*([^*]+)\*|\[([^]]+)\]\((https:[^)]*)?[^)]*\)")
EXAMPLE = re.compile(r"(inkling|sudo|make) ")
DEFAULT = re.compile(r" \(default: (.*)\)\.$", re.DOTALL)


def escaped(text, literal=False):
    """Text for man(7). Quotes that are to be copied from what is literal stay straight."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    if literal:
        text = text.replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{escaped(text, literal=True)}\\fP"


def italic(text):
    return f"\\fI{escaped(text, literal=True)}\\fP"


def inline(text):
    """A paragraph of Markdown. Links to other texts become plain words."""

    def marked(found):
        code, emphasis, words, address = found.groups()
        if code:
            return "\\fB" + code.replace("'", "\\(aq") + "\\fP"
        return f"\\fI{emphasis}\\fP" if emphasis else words + (f" ({address})" if address else "")

    return MARKUP.sub(marked, escaped(text))


def example(text):
    lines = escaped(text, literal=True).replace("\n\n", "\n\\&\n")
    return f".PP\n.RS 4\n.EX\n{lines}\n.EE\n.RE"


def block(text):
    """A block of Markdown between blank lines. A table becomes a list, with its first column as terms."""
    if text.startswith("```"):
        return example(text.split("\n", 1)[1].removesuffix("\n```"))
    if text.startswith("#"):
        return f".SS {escaped(text.lstrip('# '))}"
    if text.startswith("|"):
        rows = [row.strip("| ").split(" | ", 1) for row in text.split("\n")[2:]]
        return "\n".join(f".TP\n{inline(term)}\n{inline(meaning)}" for term, meaning in rows)
    if text.startswith("- "):
        return "\n".join(f".IP \\(bu 2\n{inline(item)}" for item in text[2:].split("\n- "))
    return f".PP\n{inline(text)}"


def sections():
    """The title and the text for man(7) of each section of using.md, and at first those of the introduction."""
    for section in USING.read_text(encoding="utf-8").removeprefix("# ").split("\n## "):
        title, text = section.split("\n", 1)
        blocks = map(block, re.findall(r"```(?s:.*?)\n```|.+(?:\n.+)*", text))
        yield title, "\n".join(blocks).removeprefix(".PP\n")


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def negated(sentence):
    """Describes the form of a flag with --no-, from the description of the flag."""
    return "Do not " + sentence[:1].lower() + sentence[1:]


def spelled(name):
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def spellings(argument):
    return [spelled(name) for name in argument.get("names", [])]


def is_shown(item):
    return item.get("shouldDisplay", True)


class Command:
    """A command without subcommands."""

    def __init__(self, info):
        self.info = info
        self.path = " ".join(info.get("superCommands", []) + [info["commandName"]])
        arguments = [a for a in info.get("arguments", []) if is_shown(a)]
        self.operands = [a for a in arguments if a["kind"] == "positional"]
        self.options = [a for a in arguments if a["kind"] != "positional" and not EVERYWHERE & set(spellings(a))]

    def title(self):
        parts = [bold(self.path)]
        for operand in self.operands:
            name = italic(operand["valueName"])
            parts.append(f"[{name}]" if operand.get("isOptional") else name)
        return " ".join(parts)


def commands(info):
    """Returns the commands that do something, and their parents that have an explanation."""
    for inner in info.get("subcommands", []):
        if is_shown(inner) and inner["commandName"] != "help":
            yield Command(inner), [c for c in inner.get("subcommands", []) if c["commandName"] != "help"]
            yield from commands(inner)


def discussion(text):
    """Prose, and examples that stay lines of their own."""
    for paragraph in filter(None, re.split(r"\n\s*\n", text.strip())):
        if EXAMPLE.match(paragraph):
            yield example(paragraph)
        else:
            yield f".PP\n{escaped(paragraph)}"


def described(argument, abstract, names):
    """Describes an option or an argument, its values and its default."""
    match = DEFAULT.search(abstract)
    default = match and match[1]
    sentences = [escaped(abstract[: match.start()] + "." if match else abstract)]
    values = argument.get("allValues")
    if values:
        sentences.append(f"One of {', '.join(map(bold, values))}.")
    default = default or argument.get("defaultValue")
    if default and default in names:
        sentences.append("This is the default.")
    elif default and not default.startswith("--"):
        sentences.append(f"Default: {escaped(default)}.")
    if argument.get("discussion"):
        sentences.append(escaped(argument["discussion"]))
    return " ".join(sentences)


def inverted(options):
    """The names of flags that have a form with --no-, for which the parser has the same words."""
    words = {name: option["abstract"] for option in options if option["kind"] == "flag" for name in spellings(option)}
    return {name for name, text in words.items() if words.get(name.replace("--", "--no-", 1)) == text}


def option_items(options):
    pairs = inverted(options)
    seen = set()
    for option in options:
        names = [name for name in spellings(option) if name not in seen]
        seen.update(names)
        opposites = [name for name in names if name.replace("--no-", "--", 1) in pairs and name not in pairs]
        for some, abstract in (
            ([name for name in names if name not in opposites], option["abstract"]),
            (opposites, negated(option["abstract"])),
        ):
            if some:
                value = f" {italic(option['valueName'])}" if option["kind"] == "option" else ""
                yield f".TP\n{', '.join(map(bold, some))}{value}\n{described(option, abstract, some)}"


def operand_items(operands):
    for operand in operands:
        yield f".TP\n{italic(operand['valueName'])}\n{described(operand, operand['abstract'], [])}"


class Page:
    def __init__(self, info, date, version):
        self.info = info
        self.commands = list(commands(info))
        users = {}
        for command, _ in self.commands:
            for option in command.options:
                users.setdefault(self.key(option), []).append(command.path)
        self.groups = {}
        grouped = set()
        for name, title in GROUPS.items():
            paths = max((paths for key, paths in users.items() if name in key[0]), key=len, default=None)
            if not paths:
                sys.exit(f"no command has the option {name}")
            keys = [key for key, others in users.items() if set(paths) <= set(others) and key not in grouped]
            grouped.update(keys)
            self.groups[title] = (paths, keys)
        sentence = info["abstract"].rstrip(".")
        (_, description), *others = sections()
        if missing := LEFT_OUT - {title for title, _ in others}:
            sys.exit(f"using.md lacks the section {min(missing)}")
        self.texts = {
            "@DESCRIPTION@": description,
            "@SECTIONS@": "\n".join(f".SH {title.upper()}\n{text}" for title, text in others if title not in LEFT_OUT),
            "@DATE@": date,
            "@VERSION@": version,
            "@NAME@": escaped(sentence[:1].lower() + sentence[1:]),
            "@SYNOPSIS@": self.synopsis(),
            "@EXAMPLES@": "\n".join(discussion(info["discussion"])),
            "@COMMANDS@": "\n".join(self.described_commands()),
            "@OPTIONS@": "\n".join(self.shared_options()),
        }

    @staticmethod
    def key(option):
        return (tuple(spellings(option)), option["abstract"])

    def synopsis(self):
        lines = [c.title() + (f" [{italic('options')}]" if c.options else "") for c, inner in self.commands if not inner]
        return "\n.br\n".join(lines)

    def described_commands(self):
        for command, inner in self.commands:
            yield f".SS {command.title()}"
            yield escaped(command.info["abstract"])
            yield from discussion(command.info.get("discussion", ""))
            if inner:
                continue
            yield from operand_items(command.operands)
            groups = {title: keys for title, (paths, keys) in self.groups.items() if command.path in paths}
            shared = {key for keys in groups.values() for key in keys}
            yield from option_items([o for o in command.options if self.key(o) not in shared])
            if groups:
                yield f".PP\nIt also takes the {listed(list(groups))}; see\n.BR OPTIONS ."

    def shared_options(self):
        options = {self.key(o): o for command, _ in self.commands for o in command.options}
        for title, (paths, keys) in self.groups.items():
            names = [bold(path.split(" ", 1)[1]) for path in paths]
            yield f".SS {title.capitalize()}\nFor {listed(names)}."
            yield from option_items([options[key] for key in keys])
        yield ".SS Options of all commands"
        general = [o for o in self.info["arguments"] if EVERYWHERE & set(spellings(o))]
        yield from option_items(general)

    def text(self, template):
        for word, text in self.texts.items():
            template = template.replace(word, text)
        lines = [line for line in template.split("\n") if line and not line.startswith('.\\"')]
        left = [line for line in lines if re.search(r"@[A-Z]+@", line)]
        if left:
            sys.exit(f"nothing is known that could take the place of {left[0]}")
        return "\n".join(lines) + "\n"


def with_opposites(script, pairs):
    """Completions with correct descriptions of flags with --no-."""

    def fixed(match):
        return match[1] + negated(match[2])

    for name in pairs:
        opposite = re.escape(name.replace("--", "no-", 1))
        script = re.sub(rf"(--{opposite}\[)(\w+)", fixed, script)
        script = re.sub(rf"(-l '?{opposite}'? -d ')(\w+)", fixed, script)
    return script


def main():
    program, output = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2])
    date = sys.argv[3] if len(sys.argv) > 3 else datetime.date.today().isoformat()

    def said(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    info = json.loads(said("--experimental-dump-help"))["command"]
    page = Page(info, date, said("--version").strip())
    output.mkdir(parents=True, exist_ok=True)
    for template in sorted(pathlib.Path(__file__).parent.glob("*.1.in")):
        (output / template.stem).write_text(page.text(template.read_text(encoding="utf-8")), encoding="utf-8")
    pairs = inverted([option for command, _ in page.commands for option in command.options])
    for shell in ("bash", "zsh", "fish"):
        script = with_opposites(said("--generate-completion-script", shell), pairs)
        (output / f"inkling.{shell}").write_text(script, encoding="utf-8")


if __name__ == "__main__":
    main()
