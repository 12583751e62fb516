"""arrows.py: fails if an import in Sources or a dependency in Package.swift is not in the table below. A target without
I/O fails too if it uses a clock, output, or randomness that no caller passed in.
arrows.py --self-test: plants each arrow that the table lacks, and more, in a copy. Fails if a violation is not found."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# target: its allowed dependencies and imports. A target without I/O (marked *) may import nothing else; the others may
# also import the system's modules. With FoundationEssentials the conformance suite reads Protocol/. The floors are in the
# order of Package.swift. Foundation needs an entry: the library adds 50 MB, and no program that ships uses it.
TABLE = """
CSodium:
CUTF8Proc:
InklingWire*: CSodium CUTF8Proc
InklingCore*: InklingWire

CDNSSD:
CProcess:
CSQLite:
InklingModel*: InklingWire CUTF8Proc
Inkling: InklingWire InklingCore InklingModel CDNSSD CProcess CSQLite CUTF8Proc NIOCore NIOPosix Logging

InklingService: Inkling InklingModel NIOCore NIOPosix

CTOML:
InklingText*: InklingModel CUTF8Proc
InklingConsole*: InklingModel InklingText
InklingWeb: Inkling InklingService InklingModel InklingText InklingWire NIOCore NIOHTTP1 NIOPosix NIOWebSocket
InklingCLI: Inkling InklingService InklingConsole InklingModel InklingText InklingWeb ArgumentParser Logging NIOCore NIOPosix CProcess CTOML
InklingProgram: InklingCLI ArgumentParser
InklingLastWill:
CDesktop:
InklingTray: CDesktop CUTF8Proc InklingModel

SeededRandom*:
ProcessSupport:
InklingSimulator*: InklingWire InklingCore SeededRandom
InklingSimulatorCLI: InklingSimulator ArgumentParser Foundation
InklingConformance*: InklingWire SeededRandom FoundationEssentials
InklingConformanceCLI: InklingConformance CDNSSD ProcessSupport ArgumentParser Foundation

InklingExampleEmbed: Inkling InklingText Logging
InklingBenchmark: Inkling Logging
InklingExampleAttach: InklingText NIOCore NIOPosix Foundation

MutatedSimulator: InklingWire SeededRandom
MutantsPlugin: plant-mutants
plant-mutants:
"""
ROWS = [line.split(":") for line in TABLE.splitlines() if line]
PURE = {target.rstrip("*") for target, _ in ROWS if target.endswith("*")}
ALLOWED = {target.rstrip("*"): set(modules.split()) for target, modules in ROWS}
SYSTEM = {"Dispatch", "FoundationEssentials", "Glibc", "Musl", "Swift", "Synchronization"}

IMPORT = re.compile(
    r"(?:^|;)\s*(?:(?:@\w+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+)*import\s+"
    r"(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(\w+)")
IMPURE = re.compile(
    r"ContinuousClock|SuspendingClock|SystemRandomNumberGenerator|Date\(|\bDispatchTime|Task\.sleep"
    r"|\b(clock_gettime|gettimeofday|mach_absolute_time|time|getrandom|getentropy|arc4random\w*|drand48|rand|random)\("
    r"|\.random\((in:|\))|\.(randomElement|shuffle|shuffled)\(\)|PrivateKey\(\)|SymmetricKey\(size:|Nonce\(\)"
    r"|(?<![\w.])(print|debugPrint|dump|Logger|fputs|write)\(")


def impure(line):
    """Whether a line is impure. Comments and strings don't count. `.random(in:using:)` names its randomness."""
    line = re.sub(r'"[^"]*"', '""', line.replace('\\"', ""))
    return IMPURE.search(re.sub(r"\.random\(in:.*using:", "", line.split("//")[0]))


def imports_of(target):
    """The modules that a target may import."""
    return ALLOWED.get(target, set()) | (set() if target in PURE else SYSTEM)


# The names beside Package.swift. SwiftPM writes Package.resolved.
TOP = {"Package.swift", "Package.resolved", "Sources", "Tests", "Protocol", "Benchmarks", "Documentation", "Scripts",
       "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}


def check_target(root, target):
    """One line for each violation in the target's files."""
    allowed = imports_of(target)
    for path in sorted(root.glob(f"Sources/*/{target}/**/*.swift")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"{path.relative_to(root)}:{number}"
            for module in IMPORT.findall(line.split("//")[0]):
                if module not in allowed:
                    yield f"{place}: {target} may not import {module}"
            if target in PURE and impure(line):
                yield f"{place}: {line} (a target without I/O has no clock, randomness or output of its own)"


def check_package(root):
    """One line for each dependency in Package.swift that is not in the table."""
    dumped = subprocess.run(["swift", "package", "--package-path", root, "dump-package"], stdout=subprocess.PIPE)
    if dumped.returncode:
        yield "Package.swift: cannot be read: see above"
        return
    for target in json.loads(dumped.stdout)["targets"]:
        name = target["name"]
        if target["type"] == "test":
            continue
        if name not in ALLOWED:
            yield f"Package.swift: the target {name} is not in the table"
            continue
        for dependency in target["dependencies"]:
            (product, *_), = dependency.values()
            if product not in ALLOWED[name]:
                yield f"Package.swift: {name} may not depend on {product}"


def check(root):
    yield from check_top(root)
    yield from check_package(root)
    for folder in sorted(root.glob("Sources/*/*/")):
        yield from check_target(root, folder.name)
        if folder.parent.name not in ("Proof", "Examples") and "Foundation" in ALLOWED.get(folder.name, ()):
            yield f"the table: {folder.name} ships, and has Foundation"


# Lines that a target without I/O must not have: ways to write an import, clocks, randomness, and output.
PLANTED = """
import NIOCore; let port = 0
@preconcurrency import Foundation
@_spi(Tests) import Inkling
public import struct Foundation.Date
package import Inkling
import Glibc
let now = ContinuousClock.now
let now = SuspendingClock().now
var generator = SystemRandomNumberGenerator()
let index = UInt32.random(in: 0...9)
let first = [1, 2].shuffled().first
let key = Curve25519.KeyAgreement.PrivateKey()
let key = SymmetricKey(size: .bits256)
func wait() async throws { try await Task.sleep(for: .seconds(1)) }
func show() { print("a line") }
""".strip().splitlines()


def check_top(root):
    yield from (f"{entry.name}: no such name belongs beside Package.swift" for entry in sorted(root.iterdir())
                if entry.name not in TOP and not entry.name.startswith("."))


def self_test(copy):
    """The planted violations that the check does not find."""
    (copy / "Planted").touch()
    if not any(line.startswith("Planted: ") for line in check_top(copy)):
        yield "Planted"
    shutil.copytree(ROOT / "Sources", copy / "Sources")
    modules = {*ALLOWED, *set().union(*ALLOWED.values())}
    for folder in sorted(copy.glob("Sources/*/*/")):
        target = folder.name
        lines = [f"import {module}" for module in sorted(modules - imports_of(target))]
        lines += PLANTED if target in PURE else []
        planted = folder / "Planted.swift"
        planted.write_text("\n".join(lines))
        found = {line.split(": ")[0] for line in check_target(copy, target)}
        yield from (f"{target}: {line}" for number, line in enumerate(lines, 1)
                    if f"{planted.relative_to(copy)}:{number}" not in found)
    # A shim has no dependencies at all.
    arrows = [(target, module) for target in ALLOWED if target.startswith("Inkling")
              for module in ALLOWED if module not in ALLOWED[target]]
    append = 'for target in package.targets where target.name == "%s" { target.dependencies.append("%s") }\n'
    package = (ROOT / "Package.swift").read_text() + "".join(append % arrow for arrow in arrows)
    (copy / "Package.swift").write_text(package)
    found = {*check_package(copy)}
    yield from (f"Package.swift: {target} on {module}" for target, module in arrows
                if f"Package.swift: {target} may not depend on {module}" not in found)


def main(arguments):
    if arguments not in ([], ["--self-test"]):
        print("usage: Scripts/check arrows [--self-test]", file=sys.stderr)
        return 64
    if arguments:
        with tempfile.TemporaryDirectory() as copy:
            faults = [f"not found: {fault}" for fault in self_test(pathlib.Path(copy))]
    else:
        faults = [*check(ROOT)]
    print("\n".join(faults) or f"arrows: {'each planted violation is found' if arguments else 'as the table says'}")
    return bool(faults)


sys.exit(main(sys.argv[1:]))
