#!/bin/sh
# Scripts/make-clauses: writes the numbered rules of Protocol/ into the conformance suite, which quotes them. A rule is
# the whole list item, with its lists and paragraphs. If the item names "the table below", the rule includes the rows of
# the next table.
# Scripts/make-clauses --check: fails if the suite's quotes differ from the texts.
set -eu
cd "$(dirname -- "$0")/.."
file=Sources/Proof/InklingConformance/Clauses/Listed.swift

make() {
    cat <<'EOF'
// Made by Scripts/make-clauses from the texts in Protocol/. Don't edit it.
// swift-format-ignore-file

extension Clause {
    /// The numbered rules in the order of their texts.
    static let listed: [Clause] = [
EOF
    for text in wire links typing messages discovery protection security registry api; do
        awk '
            # A line feed in a raw string literal of Swift.
            BEGIN { feed = "\\#n" }
            # Several clauses can name one table.
            function add_row(row) { for (number in awaiting) entries[number] = entries[number] feed row }
            function end_table() { for (number in awaiting) delete awaiting[number] }
            function close_entry() {
                if (open && entries[count] ~ /the table below/) awaiting[count]
                open = 0
            }
            /^[ \t]*```/ { close_entry(); fenced = !fenced; next }
            fenced { next }
            !/^\|/ && in_table { in_table = 0; end_table() }
            /^\|/ {
                close_entry()
                in_table = 1
                if ($0 !~ /^[| :-]+$/) add_row($0)
                next
            }
            /^[ \t]*$/ { apart = 1; next }
            { line = $0; is_inner = sub(/^[ \t]+/, "", line); is_item = line ~ /^([-*+]|[0-9]+\.)[ \t]/ }
            /^#/ || !is_inner && (is_item || apart) { close_entry() }
            /^- \[[A-Z]+-[0-9]+\] / { entries[++count] = $0; open = 1; apart = 0; next }
            open { entries[count] = entries[count] (is_item || apart ? feed : " ") line }
            { apart = 0 }
            END {
                close_entry()
                if (in_table) end_table()
                for (number = 1; number <= count; number++) {
                    entry = entries[number]
                    name = substr(entry, 4, index(entry, "]") - 4)
                    if (number in awaiting) { print name " names a table that does not follow" >"/dev/stderr"; exit 1 }
                    sub(/^- \[[A-Z]+-[0-9]+\] /, "", entry)
                    level = entry ~ /(^|[^A-Za-z])MUST([^A-Za-z]|$)/ ? "must" : "should"
                    printf "        Clause(number: \"%s\", level: .%s, text: #\"%s\"#),\n", name, level, entry
                }
            }' "Protocol/$text.md"
    done
    printf '    ]\n}\n'
}

if [ "${1-}" = --check ]; then
    make | cmp -s - "$file" || { echo "$file is not what Protocol/ says: run Scripts/make-clauses" >&2; exit 1; }
else
    make >"$file"
fi
