"""clauses.py: compares the specification in Protocol/ with itself, the tests and the code.
- The words MUST and SHOULD stand only in the first sentence of a list item that begins with a number, as `[W-3]`.
- A clause of the protocol has at most 45 words. README.md has an index of the clauses that are not in the first text of
  their letter.
- The texts give each number once. A test, a conformance case, a vector, or the suite's list of clauses that no case can
  see names the number. Each number that is named anywhere exists.
- Each limit in Limits.swift and DaemonLimits.swift names its clause. daemon.md has the limits of the daemon, of the
  JSON lines and of known people in a row of that clause. LimitsTests compares limits.md with Limits.swift.
- Each test, case, attack and mutant that the texts on security name exists.
- The vectors equal the output of their script, and fit their schema. Without the Python packages of the script, the check
  leaves this out, and says so."""

import importlib.util
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Scripts/protocol.d"))

import texts

CASES = "Sources/Proof/InklingConformance/Cases"
# The most words of a clause of the protocol.
LONGEST = 45
KEY_WORD = re.compile(r"(?<![A-Za-z])(MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED)(?![A-Za-z])")
NUMBER = re.compile(r"(?<![A-Za-z0-9-])[A-Z]-\d+(?![0-9A-Za-z-])")
# The files with limits. In the first two each limit names its clause.
LIMITS = [
    "Sources/Protocol/InklingWire/Limits.swift",
    "Sources/Service/InklingService/Service/DaemonLimits.swift",
    "Sources/Service/InklingService/JSON/JSONRequest.swift",
    "Sources/Service/InklingService/Vocabulary/Requests.swift",
    "Sources/Service/InklingService/JSON/Syntax/LineSplitter.swift",
    "Sources/Node/Inkling/KnownPeers/KnownPeersLimits.swift",
]


def contents(*places):
    """The text of each file in these folders, by its name."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (ROOT / name).read_text(errors="replace") for name in names if (ROOT / name).is_file()}


def blocks(text):
    """Each paragraph, list item and table row of a text, as (line, words). Fenced blocks are left out."""
    words, start, fenced = [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = line.strip()
        is_fence = line.startswith("```")
        fenced ^= is_fence
        ends = fenced or is_fence or not line or line.startswith("#")
        if words and (ends or re.match(r"([-*+]|\d+\.)\s|\|", line)):
            yield start, " ".join(words)
            words = []
        if not ends:
            start = start if words else number
            words.append(line)


def sentences():
    for path in sorted(texts.FOLDER.glob("*.md")):
        if path.name == "coverage.md":  # the conformance suite's table
            continue
        for line, words in blocks(path.read_text()):
            if words.startswith("The key words ") or not KEY_WORD.search(words):
                continue
            rule = re.match(r"- \[[A-Z]+-\d+\] (.*)", words)
            if not rule:
                yield f"Protocol/{path.name}:{line}: a rule without a number: {words}"
                continue
            end = re.search(r"[.?!]\)? (?=[A-Z`*])", rule[1])
            if end and KEY_WORD.search(rule[1], end.end()):
                yield f"Protocol/{path.name}:{line}: a second rule under one number: {rule[1][end.end():]}"


def lengths():
    for path in sorted(texts.FOLDER.glob("*.md")):
        for line, words in blocks(path.read_text()):
            rule = re.match(r"- \[([A-Z]+-\d+)\] (.*)", words)
            if rule and rule[1][0] not in "AJ" and (count := len(rule[2].split())) > LONGEST:
                yield f"Protocol/{path.name}:{line}: {rule[1]} has {count} words, and {LONGEST} are allowed"


def index():
    """The index in README.md against the texts."""
    text = (texts.FOLDER / "README.md").read_text()
    for name, letters in (("protection.md", "LDM"), ("daemon.md", "JA")):
        found = re.search(rf"^\|\[{name}\]\({name}\)\|[^|]*\|([^|]*)\|", text, re.MULTILINE)
        ranges = re.findall(r"([A-Z])-(\d+)(?: to [A-Z]-(\d+))?", found[1] if found else "")
        listed = {f"{letter}-{n}" for letter, first, last in ranges for n in range(int(first), int(last or first) + 1)}
        there = {*re.findall(rf"^- \[([{letters}]-\d+)\]", (texts.FOLDER / name).read_text(), re.MULTILINE)}
        yield from (f"README.md lists {number} in {name}, which lacks it" for number in sorted(listed - there))
        yield from (f"README.md does not list {number} in {name}" for number in sorted(there - listed))


def numbers():
    given = texts.clauses()
    if not given:
        yield "Protocol/ gives no number at all"
    yield from (f"{number} is given twice" for number in sorted({*given}) if given.count(number) > 1)
    proofs = contents("Tests", "Protocol/vectors", CASES, "Sources/Proof/InklingConformance/Specification/Specification.swift")
    proved = {number for text in proofs.values() for number in NUMBER.findall(text)}
    yield from (f"{number} is named by no test, case or vector" for number in given if number not in proved)
    letters = {number[0] for number in given}
    named = contents("Sources", "Tests", "Protocol", "Documentation", "Scripts/*.d/*", "Benchmarks", "*.md")
    for name, text in named.items():
        for number in sorted({*NUMBER.findall(text)} - {*given}):
            if number[0] in letters and name != "CHANGELOG.md":
                yield f"{number} does not exist, but is named in {name}"


def rows():
    """The numbers of each row in daemon.md by its clauses: (clauses, numbers), in milliseconds too if with a unit."""
    for table in texts.tables("daemon.md"):
        for _, value, clauses, *_ in (row for row in table if len(row) > 2):
            value = re.sub(r"(?<=\d),(?=\d{3})", "", re.sub(r"2\^53 [−-] 1", "9007199254740991", value))
            value = re.sub(r"(\d+) ([KM])iB", lambda size: str(int(size[1]) << {"K": 10, "M": 20}[size[2]]), value)
            found = re.findall(r"\d+(?:\.\d+)?", value)
            if re.search(r"\d s(?![a-z])", value):
                found += [f"{round(float(number) * 1000)}ms" for number in found]
            yield re.findall(r"[A-Z]-\d+", clauses), found


def constants(path):
    """Each constant of a file: (its name, its clauses, its value). A comment can say that it is in milliseconds."""
    pattern = r"((?:^[ \t]*///.*\n)*).*static let (\w+)[^=\n]*= *(\[[^]]*\]|.*)"
    for note, name, value in re.findall(pattern, path.read_text(), re.MULTILINE):
        unit = "milliseconds" * ("in milliseconds" in note)
        yield f"{path.stem}.{name}", re.findall(r"[A-Z]-\d+", note), f"{unit}({value})" if unit else value


def value_of(text):
    """The value of a Swift expression, a duration in milliseconds; None if the expression has no value."""
    text = text.replace("_", "").split("//")[0].strip()
    unit = "ms" * text.startswith("milliseconds(")
    text = text.removeprefix("milliseconds")
    return f"{eval(text)}{unit}" if re.fullmatch(r"[0-9 +*<()-]+", text) else None


def limits():
    listed = [*rows()]
    for path in (path for pattern in LIMITS for path in sorted(ROOT.glob(pattern))):
        for name, clauses, text in constants(path):
            if not clauses and re.match(r"(Daemon)?Limits", name):
                yield f"{name} names no clause"
            clauses = {clause for clause in clauses if clause[0] in "AJ"}
            known = [number for row, found in listed if clauses & {*row} for number in found]
            if clauses and (value := value_of(text)) is not None and value not in known:
                yield f"{name} is {text}: daemon.md has no {value} in a row of {' '.join(sorted(clauses))}"
    code = "".join(contents("Sources/Protocol", "Sources/Node", "Sources/Service", "Sources/Program").values())
    for name, _, _ in constants(ROOT / "Sources/Protocol/InklingWire/Limits.swift"):
        if not re.search(rf"\b{name}\b", code):
            yield f"{name} is used nowhere: the code has another limit, or none"


def claims():
    """`Suite.function` is a test, `name` an attack or a mutant of the simulator, and L-12.1 a case of the suite."""
    cases = "".join(contents(CASES).values())
    tests = contents("Tests").values()
    simulator = "".join(contents("Sources/Proof/InklingSimulator", "Tests/InklingMutantTests/Mutants").values())
    proofs = {name.strip("`") for text in ("security.md", "../Documentation/security.md")
              for table in texts.tables(text) if table[0][0] == "claim"
              for row in table for name in re.findall(r"`[^`]+`|[A-Z]-\d+\.\d+", row[2])}
    if not proofs:
        yield "no text on security names a proof"
    for name in sorted(proofs):
        suite, _, function = name.rpartition(".")
        if re.match(r"[A-Z]-", name):
            exists = re.search(rf'Case\(\s*"{re.escape(name)}"', cases)
        elif suite:
            exists = any(re.search(rf"\b(struct|extension|class) {suite}\b", text) and
                         re.search(rf"\bfunc {re.escape(function)}(?!\w)", text) for text in tests)
        else:
            exists = re.search(rf"\bcase .*{name}\b|^ *{name}\b", simulator, re.MULTILINE)
        if not exists:
            yield f"a text on security names {name}, which does not exist"


def mutants():
    """Mutants that can't be planted. `Scripts/test --all` builds them."""
    sources = {path.name: path.read_text() for folder in ("Protocol/InklingCore", "Proof/InklingSimulator")
               for path in ROOT.glob(f"Sources/{folder}/**/*.swift")}
    file = mutant = ""
    for line in (ROOT / "Tests/InklingMutantTests/Mutants/mutants.txt").read_text().splitlines():
        word, _, text = line.partition(" ")
        if word == "mutant":
            mutant = text
        elif word == "file":
            file = text
        elif word == "from" and (count := sources.get(file, "").count(text)) != 1:
            yield f"mutant {mutant}: not one, but {count} places in {file} read {text}"


def copies():
    """Vectors that differ from what their script makes."""
    if not all(importlib.util.find_spec(module) for module in ("cryptography", "noise")):
        print("skipped: making the vectors again needs python3 with cryptography and noiseprotocol", file=sys.stderr)
        return
    command = [sys.executable, "Protocol/vectors/generate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith("skipped: "):
            print(line, file=sys.stderr)
        else:
            yield line


faults = [fault for check in (sentences, lengths, index, numbers, claims, limits, mutants, copies) for fault in check()]
print("\n".join(faults)
      or f"clauses: {len(texts.clauses())} rules, each numbered, named by a test, and as the code has it")
sys.exit(bool(faults))
