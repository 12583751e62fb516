#!/bin/sh
# Scripts/check-clauses: compares the specification in Protocol/ with itself, the tests and the code.
# - The words MUST and SHOULD stand only in the first sentence of a list item that begins with a number, as `[W-3]`.
# - The texts give each number once. A test, a conformance case, a vector, or the suite's list of clauses that no case
#   can see names the number. Each number that is named anywhere exists.
# - Each limit in Limits.swift and DaemonLimits.swift names its clause. api.md has the limits of the daemon, of the JSON
#   lines and of known people in a row of that clause. LimitsTests compares limits.md with Limits.swift.
# - Each test, case, attack and mutant that the texts on security name exists.
# - The conformance suite quotes the clauses and the vectors word for word.
# - The vectors equal the output of their script, and fit their schema. Without the Python packages of the script, the
#   check leaves this out, and says so.
set -eu
cd "$(dirname -- "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Prints each paragraph, list item and table row of the texts in a folder as one line: file, line, text. Fenced blocks
# and the conformance suite's table are left out.
blocks() {
    awk '
        function flush() { if (text != "") print file "\t" start "\t" text; text = "" }
        FNR == 1 { flush(); fenced = 0 }
        /^[ \t]*```/ { flush(); fenced = !fenced; next }
        fenced { next }
        /^[ \t]*$/ || /^#/ { flush(); next }
        /^[ \t]*([-*+]|[0-9]+\.)[ \t]/ || /^\|/ { flush() }
        { line = $0; sub(/^[ \t]+/, "", line)
          if (text == "") { file = FILENAME; start = FNR; text = line } else text = text " " line }
        END { flush() }' $(find "$1" -maxdepth 1 -name '*.md' ! -name coverage.md | sort)
}

check_sentences() {
    awk -F '\t' '
        function has_key_word(text) { return text ~ /(^|[^A-Za-z])(MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED)([^A-Za-z]|$)/ }
        $3 ~ /^The key words / || !has_key_word($3) { next }
        $3 !~ /^- \[[A-Z]+-[0-9]+\] / { print $1 ":" $2 ": a rule without a number: " $3; next }
        {   rest = $3
            sub(/^- \[[A-Z]+-[0-9]+\] /, "", rest)
            while (match(rest, /[.?!]\)? [A-Z`*]/)) {
                rest = substr(rest, RSTART + RLENGTH - 1)
                if (has_key_word(rest)) { print $1 ":" $2 ": a second rule under one number: " rest; break }
            }
        }' "$1"
}

check_numbers() {
    sort -t- -k1,1 -k2,2n "$work/given" | uniq -d | sed 's/$/ is given twice/'
    [ -s "$work/given" ] || { echo "Protocol/ gives no number at all"; return; }
    named Tests Protocol/vectors Sources/Proof/InklingConformance/Cases Sources/Proof/InklingConformance/Clauses/Unseen.swift \
        >"$work/proved"
    comm -23 "$work/all" "$work/proved" | sort -t- -k1,1 -k2,2n | sed 's/$/ is named by no test, case or vector/'
    letters=$(sed 's/-.*//' "$work/all" | sort -u | tr -d '\n')
    named Sources Tests Protocol Documentation Scripts/*.d ./*.md | grep "^[$letters]-" | comm -13 "$work/all" - |
        while read -r number; do
            places=$(grep -rlwF --exclude=CHANGELOG.md -- "$number" Sources Tests Protocol Documentation Scripts/*.d \
                ./*.md | tr '\n' ' ')
            echo "$number does not exist, but is named in $places"
        done
}

# All numbers that these files and the files in these folders name.
named() {
    grep -rhoIE --exclude=CHANGELOG.md '(^|[^A-Za-z0-9-])[A-Z]-[0-9]+([^0-9A-Za-z-]|$)' "$@" |
        grep -oE '[A-Z]-[0-9]+' | sort -u
}

# Prints "clause number…" for each row of a table in api.md whose third column has clauses. The numbers are all those
# of its value, also in milliseconds if they have a unit.
rows() {
    awk -F '|' '
        /^\|/ && NF >= 5 {
            text = $3
            while (match(text, /[0-9],[0-9][0-9][0-9]/)) text = substr(text, 1, RSTART) substr(text, RSTART + 2)
            gsub(/2\^53 (−|-) 1/, "9007199254740991", text)
            while (match(text, /[0-9]+ [KM]iB/)) {
                bytes = substr(text, RSTART, RLENGTH)
                size = bytes * (bytes ~ /K/ ? 1024 : 1048576)
                text = substr(text, 1, RSTART - 1) size substr(text, RSTART + RLENGTH)
            }
            numbers = ""
            copy = text
            while (match(copy, /[0-9]+(\.[0-9]+)?/)) {
                number = substr(copy, RSTART, RLENGTH)
                copy = substr(copy, RSTART + RLENGTH)
                numbers = numbers " " number
                if (text ~ /[0-9] s([^a-z]|$)/) numbers = numbers " " sprintf("%dms", number * 1000 + 0.5)
            }
            clauses = $4
            while (match(clauses, /[A-Z]-[0-9]+/)) {
                print substr(clauses, RSTART, RLENGTH) numbers
                clauses = substr(clauses, RSTART + RLENGTH)
            }
        }' Protocol/api.md
}

# Prints "name|clauses|value" for each constant of these files, with the lines of a value joined. If the comment says
# milliseconds, the value is that duration.
constants() {
    awk '
        /^[ \t]*\/\/\// { note = note " " $0; next }
        /static let/ { line = $0; sub(/.*static let /, "", line); open = 1 }
        open && !/static let/ { line = line " " $0 }
        open && (line !~ /\[[^]]*$/ || line ~ /\]$/) {
            name = line; sub(/[^A-Za-z0-9].*/, "", name)
            value = line; sub(/^[^=]*= */, "", value)
            if (note ~ /in milliseconds/) { gsub(/_/, "", value); value = "milliseconds(" value ")" }
            clauses = ""
            while (match(note, /[A-Z]-[0-9]+/)) {
                clauses = clauses " " substr(note, RSTART, RLENGTH)
                note = substr(note, RSTART + RLENGTH)
            }
            file = FILENAME; sub(/.*\//, "", file); sub(/\.swift$/, "", file)
            print file "." name "|" clauses "|" value
            open = 0
        }
        !open { note = "" }' "$@"
}

# The files with limits. In the first two each limit names its clause.
limits="
    Sources/Protocol/InklingWire/Limits*.swift
    Sources/Program/InklingControl/Daemon/DaemonLimits.swift
    Sources/Program/InklingControl/JSON/JSONCommand.swift
    Sources/Program/InklingControl/JSON/JSONFields.swift
    Sources/Program/InklingControl/JSON/Syntax/LineSplitter.swift
    Sources/Node/Inkling/KnownPeers/KnownPeersLimits.swift"

check_limits() {
    rows >"$work/rows"
    # shellcheck disable=SC2086 # files
    constants $limits | while IFS='|' read -r name clauses value; do
        case $name in
            Limits* | DaemonLimits.*) [ -n "$clauses" ] || echo "$name names no clause" ;;
        esac
        known=
        for clause in $clauses; do
            case $clause in [AJ]-*) ;; *) continue ;; esac
            known="$known $(grep "^$clause " "$work/rows" | cut -d ' ' -f 2- | tr '\n' ' ')"
        done
        case $clauses in *[AJ]-*) ;; *) continue ;; esac
        for number in $(numbers "$value"); do
            case " $known " in
                *" $number "*) ;;
                *) echo "$name is $value: api.md has no $number in a row of$clauses" ;;
            esac
        done
    done
}

# Prints the value of a Swift expression, a duration in milliseconds; nothing if the expression has no value.
numbers() {
    text=$(printf '%s' "$1" | sed -e 's/_//g' -e 's|//.*||')
    case $text in
        milliseconds\(*\)) echo "$text" | sed 's/milliseconds(\(.*\))/\1ms/' ;;
        *[!0-9\ +*\<\(\)-]*) ;;
        *) echo "$(($text))" ;;
    esac
}

# Checks the proofs of the claims in both texts on security. `Suite.function` is a test, `name` an attack or a mutant
# of the simulator, and a number such as L-12.1 a case of the suite.
check_claims() {
    sed -n '/^|claim|/,/^$/p' Protocol/security.md Documentation/security.md | cut -d '|' -f 4 | grep -oE '`[^`]+`|[A-Z]-[0-9]+\.[0-9]+' |
        tr -d '`' | sort -u >"$work/proofs"
    [ -s "$work/proofs" ] || echo "no text on security names a proof"
    while read -r name; do
        case $name in
            [A-Z]-*) grep -rqF "Case(\"$name\"" Sources/Proof/InklingConformance/Cases ;;
            *.*) grep -rlwE "(struct|extension|class) ${name%.*}" Tests | xargs grep -qwF -- "func ${name#*.}" ;;
            *) grep -rqwE "case .*$name|^ *$name,?" Sources/Proof/InklingSimulator Tests/InklingSimulatorTests/Mutants ;;
        esac || echo "a text on security names $name, which does not exist"
    done <"$work/proofs"
}

# The numbers of the rules in a file of blocks.
numbers_given() { sed -n 's/^[^\t]*\t[0-9]*\t- \[\([A-Z]*-[0-9]*\)\] .*/\1/p' "$1" | sort; }

check_vectors() {
    if ! python3 -c 'import cryptography, noise' >/dev/null 2>&1; then
        echo "skipped: making the vectors again needs python3 with cryptography and noiseprotocol" >&2
        return
    fi
    PYTHONDONTWRITEBYTECODE=1 python3 Protocol/vectors/generate.py --check 2>&1 |
        awk '/^skipped: / { print > "/dev/stderr"; next } { print }'
}

blocks Protocol >"$work/blocks"
numbers_given "$work/blocks" >"$work/given"
sort -u "$work/given" >"$work/all"
{
    check_sentences "$work/blocks"
    check_numbers
    check_claims
    check_limits
    check_vectors
    Scripts/make-clauses --check 2>&1 || :
    Scripts/make-vectors --check 2>&1 || :
} >"$work/found"
[ ! -s "$work/found" ] || { cat "$work/found"; exit 1; }
echo "clauses: $(wc -l <"$work/given") rules, each numbered, named by a test, and as the code has it"
