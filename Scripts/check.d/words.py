"""words.py: finds sentences in comments and documents that are too long, use a banned word, or have a clause whose
subject is not a concrete noun. words.txt allows each target a number of them, which only shrinks. Fails where the
numbers differ.
words.py TARGET...: prints each place in these targets.
words.py --write: writes smaller numbers into the list."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("words.txt")
# Plainer words exist for these.
BANNED = re.compile(
    r"\b((is|are|was|were) (told|said)\b|comes? of\b|go(es)? on\b|sees? to it|of (its|their) own accord|anew\b|lest\b"
    r"|whether [^.;:]* or no\b|is nobody's|gives? way|holds? good|on its own account|by and by|ere\b|thereof\b|wherein\b)", re.I)
# A clause whose subject is no concrete noun.
VERB = r"(is|are|was|were|has|had|have|does|do|did|can|could|may|might|must|will|would|should|need|[a-z]+s)"
SUBJECT = re.compile(
    r"(?:^|[.;:?!] )(who|whoever|what|whatever|whichever|that which)\b(?= [a-z'’])"
    r"|(?:^|[.;:?!] |, (?:and|but|or|so|as|since|because|if|when|while|before|after|until) )(it|that|this|one)(?= " + VERB + r"\b)"
    r"|\b(whoever|whatever)\b(?= [a-z'’])", re.I)
LONGEST = 25


def comments(path, text):
    """The prose of a file, as paragraphs: (line, text)."""
    is_text = path.suffix == ".md"
    mark = re.compile(r"\s*(?:///|//) ?(.*)" if path.suffix == ".swift" else r"\s*# ?(.*)")
    block, start, is_fenced = [], 1, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if is_text:
            is_fence = line.startswith("```")
            is_fenced ^= is_fence
            words = line.strip()
            if is_fenced or is_fence or line.startswith(("|", "#", "    ", "<", "![")):
                words = ""
        else:
            found = mark.match(line)
            words = found[1].strip() if found else ""
        item = re.match(r"([-*]|\d+\.) " if is_text else r"- ", words)
        if not words or item or words.startswith("#"):
            yield start, " ".join(block)
            block, words = [], words[item.end():] if item else words
        if words:
            start = start if block else number
            block.append(words)


def faults(text):
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^(Parameters?|Returns?|Throws)( [a-z]+)?: ", "", text)
    for found in BANNED.finditer(text):
        yield found[0]
    for found in SUBJECT.finditer(text):
        yield found[0].strip(" .:;?!,") + " …"
    for sentence in re.split(r"(?<=[.?!]) ", text):
        count = len(sentence.split())
        if count > LONGEST:
            yield f"{count} words"


def target(path):
    parts = path.parts
    if parts[0] == "Sources":
        return parts[2]
    return parts[min(len(parts) - 1, parts[0] == "Tests")]


def places():
    """Each fault as (target, file:line, fault, paragraph)."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        path = pathlib.Path(name)
        is_script = path.parts[0] in ("Scripts", ".ci", "Benchmarks") and not path.suffix
        is_prose = path.suffix in (".swift", ".md", ".py") or is_script
        if name == "CHANGELOG.md" or not is_prose or not (ROOT / path).is_file():
            continue
        for line, paragraph in comments(path, (ROOT / path).read_text()):
            for fault in faults(paragraph):
                yield target(path), f"{name}:{line}", fault, paragraph


def main(arguments):
    counts = collections.Counter(place[0] for place in places())
    allowed = {name: int(count) for name, count in (line.split() for line in LIST.read_text().splitlines())}
    if arguments == ["--write"]:
        left = {name: min(count, counts[name]) for name, count in allowed.items()}
        LIST.write_text("".join(f"{name} {count}\n" for name, count in sorted(left.items()) if count))
    elif arguments:
        for name, place, fault, paragraph in places():
            if name in arguments:
                print(f"{place}: {fault}: {paragraph[:120]}")
    else:
        failed = [name for name in sorted(counts | allowed) if counts[name] != allowed.get(name, 0)]
        for name in failed:
            print(f"{name}: {counts[name]} sentences, and {allowed.get(name, 0)} are allowed: Scripts/check words {name}")
        if failed:
            print("If there are fewer than before: Scripts/check words --write")
            sys.exit(1)
        print(f"words: {sum(counts.values())} sentences to be mended, as allowed")


main(sys.argv[1:])
