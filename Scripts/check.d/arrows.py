#!/bin/sh
# Scripts/check-arrows: fails if an import in Sources or a dependency in Package.swift is not in the table below.
# A target without I/O fails too if it uses a clock, output, or randomness that no caller passed in.
# Scripts/check-arrows --self-test: plants one violation after another in a copy, and fails if one is not found.
set -eu
directory=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

# target: its allowed dependencies and imports. A target without I/O (marked *) may import nothing else; the others may
# also import the system's modules. The floors are in the order of Package.swift. Foundation needs an entry: the library
# adds 50 MB, and no program that ships uses it.
table='
CUTF8Proc:
InklingWire*: Crypto CUTF8Proc
InklingCore*: InklingWire

CDNSSD:
CProcess:
InklingModel*: InklingWire CUTF8Proc
Inkling: InklingWire InklingCore InklingModel CDNSSD CProcess CUTF8Proc Crypto NIOCore NIOPosix Logging

CTOML:
InklingText*: InklingModel CUTF8Proc
InklingConsole*: InklingModel InklingText
InklingControl: Inkling InklingModel NIOCore NIOPosix
InklingCLI: Inkling InklingControl InklingConsole InklingModel InklingText ArgumentParser Logging NIOCore NIOPosix CProcess CTOML
InklingProgram: InklingCLI ArgumentParser
InklingLastWill:

InklingSimulator*: InklingWire InklingCore
InklingSimulatorCLI: InklingSimulator ArgumentParser Foundation
InklingConformance*: InklingWire Crypto
InklingConformanceCLI: InklingConformance CDNSSD ArgumentParser Foundation
InklingAttackCLI: InklingWire ArgumentParser Foundation

InklingExampleEmbed: Inkling InklingText Logging
InklingExampleAttach: InklingText NIOCore NIOPosix Foundation

InklingTestSupport: InklingSimulator
MutatedSimulator: InklingWire
MutantsPlugin: plant-mutants
plant-mutants:
'
system='Dispatch FoundationEssentials Glibc Musl Swift Synchronization'

# Extended regular expressions; a mention in a comment or in a string does not count.
impure='ContinuousClock|SuspendingClock|SystemRandomNumberGenerator|Date\(|(^|[^[:alnum:]_])DispatchTime'
impure="$impure"'|(^|[^[:alnum:]_])(clock_gettime|gettimeofday|mach_absolute_time|time|getrandom|getentropy|arc4random[_a-z]*|drand48|rand|random)\('
impure="$impure"'|\.random\((in:|\))|\.(randomElement|shuffle|shuffled)\(\)'
impure="$impure"'|PrivateKey\(\)|SymmetricKey\(size:|Nonce\(\)'
impure="$impure"'|Task\.sleep|(^|[^[:alnum:]_.])(print|debugPrint|dump|Logger|fputs|write)\('

allowed() { printf '%s\n' "$table" | sed -n "s/^$1[*]\{0,1\}:[ ]*//p"; }
is_listed() { printf '%s\n' "$table" | grep -Eq "^$1[*]?:"; }
is_pure() { printf '%s\n' "$table" | grep -q "^$1[*]:"; }

# contains WORD WORDS
contains() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }

# Prints "target dependency" for each dependency of a target that is not a test. `dump-package` sorts its output and
# prints one value a line.
dependencies() {
    package=$(swift package --package-path "$1" dump-package) || return 1
    printf '%s\n' "$package" | awk '
        /^  "targets" : \[/ { inside = 1 }
        !inside { next }
        /^    \{/ { count = 0 }
        /^          "(byName|product|target)" : \[/ { expected = 1; next }
        expected { gsub(/[ ",]/, ""); found[++count] = $0; expected = 0 }
        /^      "name" : / { gsub(/[ ",]/, ""); sub(/^name:/, ""); name = $0 }
        /^      "type" : / && !/"test"/ { print name; for (i = 1; i <= count; i++) print name, found[i] }'
}

# Prints "file:line module" for each import of the files named on standard input.
imports() {
    awk '
        function modules(text) {
            sub(/\/\/.*/, "", text)
            statements = split(text, statement, ";")
            for (i = 1; i <= statements; i++) {
                text = statement[i]
                while (sub(/^[ \t]*(@[A-Za-z_]+(\([^)]*\))?|public|package|internal|fileprivate|private)[ \t]+/, "", text)) {}
                if (text !~ /^[ \t]*import[ \t]/) continue
                sub(/^[ \t]*import[ \t]+((struct|class|enum|protocol|typealias|func|let|var|actor)[ \t]+)?/, "", text)
                sub(/[^A-Za-z0-9_].*/, "", text)
                print file ":" number, text
            }
        }
        { file = $0
          number = 0
          while ((getline line < file) > 0) { number++; modules(line) }
          close(file) }'
}

# Prints "file:line: text" for each impure line of the files named on standard input. Comments and strings don't count.
# `.random(in:using:)` is pure: the call names its source of randomness.
impurities() {
    impure=$impure awk '
        { file = $0
          number = 0
          while ((getline line < file) > 0) {
              number++
              gsub(/\\"/, "", line)
              gsub(/"[^"]*"/, "\"\"", line)
              sub(/\/\/.*/, "", line)
              gsub(/\.random\(in:.*using:/, "", line)
              if (line ~ ENVIRON["impure"]) print file ":" number ":" line
          }
          close(file) }'
}

# check_package FOLDER: prints one line for each dependency in Package.swift that is not in the table.
check_package() {
    edges=$(dependencies "$1") || edges=
    [ -n "$edges" ] || echo "Package.swift: cannot be read"
    printf '%s\n' "$edges" | while read -r target dependency; do
        [ -n "$target" ] || continue
        if ! is_listed "$target"; then
            echo "Package.swift: the target $target is not in the table"
        elif [ -n "$dependency" ] && ! contains "$dependency" "$(allowed "$target")"; then
            echo "Package.swift: $target may not depend on $dependency"
        fi
    done | sort -u
}

# check_target FOLDER TARGET: prints one line for each violation in the target's files.
check_target() {
    modules=$(allowed "$2")
    is_pure "$2" || modules="$modules $system"
    find "$1"/Sources/*/"$2" -name '*.swift' | sort | imports | while read -r place module; do
        contains "$module" "$modules" || echo "${place#"$1"/}: $2 may not import $module"
    done
    if is_pure "$2"; then
        find "$1"/Sources/*/"$2" -name '*.swift' | sort | impurities | while read -r line; do
            echo "${line#"$1"/} (a target without I/O has no clock, randomness or output of its own)"
        done
    fi
}

# check FOLDER: prints one line for each violation.
check() {
    check_package "$1"
    for folder in "$1"/Sources/*/*/; do check_target "$1" "$(basename "$folder")"; done
}

copy=
trap '[ -z "$copy" ] || rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM

# plant TARGET TEXT: writes TEXT into a new file of the target, and expects a violation in that file.
plant() {
    planted=$(echo "$copy"/Sources/*/"$1")/Planted.swift
    printf '%s\n' "$2" >"$planted"
    expect "$1: $2" "${planted#"$copy"/}:1" "$(check_target "$copy" "$1")"
    rm "$planted"
}

# depend TARGET DEPENDENCY: adds the dependency to the package, and expects a violation.
depend() {
    cp "$directory/Package.swift" "$copy/Package.swift"
    printf '\nfor target in package.targets where target.name == "%s" { target.dependencies.append("%s") }\n' "$1" "$2" \
        >>"$copy/Package.swift"
    expect "Package.swift: $1 on $2" "Package.swift: $1 may not depend on $2" "$(check_package "$copy")"
}

# expect WHAT WORDS VIOLATIONS: fails unless a violation contains these words.
expect() {
    case $3 in
        *"$2"*) echo "found: $1" ;;
        *)
            echo "not found: $1"
            echo x >>"$copy/missed"
            ;;
    esac
}

self_test() {
    copy=$(mktemp -d)
    cp -R "$directory/Package.swift" "$directory/Sources" "$copy"
    violations=$(check "$copy")
    [ -z "$violations" ] || { printf '%s\n' "$violations"; exit 1; }

    plant InklingWire 'import Foundation'
    plant InklingWire 'import InklingCore'
    plant InklingWire 'import NIOCore; let port = 0'
    plant InklingCore 'import Foundation'
    plant InklingCore '@preconcurrency import Foundation'
    plant InklingCore 'public import struct Foundation.Date'
    plant InklingCore 'package import Inkling'
    plant InklingCore 'import Glibc'
    plant InklingConsole 'import Logging'
    plant InklingConsole '@_spi(Tests) import InklingWire'
    plant InklingSimulator 'import Inkling'
    plant Inkling 'import InklingConsole'
    plant InklingConformance 'import InklingCore'
    plant Inkling 'import CTOML'
    plant Inkling 'import Foundation'
    plant InklingControl 'public import Foundation'
    plant InklingCLI 'import struct Foundation.Data'
    plant InklingProgram 'import Foundation'
    plant InklingProgram 'import Inkling'
    plant InklingCore 'import Crypto'
    plant InklingCLI 'import CDNSSD'
    plant InklingModel 'import Foundation'
    plant InklingModel 'import InklingCore'
    plant InklingText 'import Foundation'
    plant InklingText 'import InklingConsole'
    plant InklingControl 'import InklingText'
    plant Inkling 'import InklingText'
    plant InklingCLI 'import Crypto'
    plant InklingExampleAttach 'import InklingControl'
    plant InklingExampleEmbed 'import Foundation'

    plant InklingCore 'let now = ContinuousClock.now'
    plant InklingCore 'let now = SuspendingClock().now'
    plant InklingCore 'var generator = SystemRandomNumberGenerator()'
    plant InklingCore 'let index = UInt32.random(in: 0...9)'
    plant InklingCore 'let first = [1, 2].shuffled().first'
    plant InklingWire 'let key = Curve25519.KeyAgreement.PrivateKey()'
    plant InklingWire 'let key = SymmetricKey(size: .bits256)'
    plant InklingConsole 'func wait() async throws { try await Task.sleep(for: .seconds(1)) }'
    plant InklingModel 'let generator = SystemRandomNumberGenerator()'
    plant InklingText 'func show() { print("a line") }'
    plant InklingConsole 'func show() { print("a line") }'

    depend InklingWire InklingCore
    depend InklingCore CDNSSD
    depend InklingConsole Inkling
    depend InklingModel InklingCore
    depend InklingText Inkling
    depend InklingCLI InklingCore
    depend InklingAttackCLI InklingCore
    depend InklingExampleEmbed InklingCore

    [ ! -f "$copy/missed" ] || { echo "check-arrows misses some of what was planted"; exit 1; }
    echo "check-arrows found all that was planted"
}

case ${1-} in
    '')
        violations=$(check "$directory")
        [ -z "$violations" ] || { printf '%s\n' "$violations"; exit 1; }
        echo "arrows: as the table says"
        ;;
    --self-test) self_test ;;
    *)
        echo "usage: Scripts/check-arrows [--self-test]" >&2
        exit 64
        ;;
esac
