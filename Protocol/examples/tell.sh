#!/bin/sh
# Sends each line of standard input to a chat, as a message of its own, and says how many people got it:
#
#     tail -n 0 -f build.log | grep --line-buffered error | ./tell.sh kitchen [OPTION OF inkling chat...]
#
# It starts one `inkling chat --json` for all lines, a person with the name of this machine, and speaks JSON lines with
# it (Protocol/api.md). Exit status: 0 if everybody who was there got everything. Needs jq, to write and read JSON.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 CHAT [OPTION OF inkling chat...]" >&2; exit 64; }
for program in inkling jq; do
    command -v "$program" >/dev/null || { echo "$0: $program is needed" >&2; exit 1; }
done

# Two named pipes: what we write goes out at 3, and what inkling writes comes in at 4.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkfifo "$work/requests" "$work/events"

# Each event as one line of the words that this script goes by. What others wrote is text and nothing else: jq makes
# JSON of it and reads it from JSON, and nothing of it is ever run.
words='
    if .on == "sent" then "sent \(.to)"
    elif .on == "peer" then "peer \(.presence)"
    elif .on == "notice" or .on == "error" then "\(.on) \(.text | gsub("[[:cntrl:]]"; " "))"
    else .on end'
# An identity apart from yours, which stays the same.
state=${XDG_STATE_HOME:-$HOME/.local/state}/inkling-tell
inkling chat "$@" --json --name "$(uname -n)" --state-dir "$state" <"$work/requests" |
    jq --unbuffered -r "$words" >"$work/events" &
exec 3>"$work/requests" 4<"$work/events"

# next: the next event; ends this script if inkling has ended.
next() {
    IFS= read -r event <&4 || { echo "$0: inkling has ended" >&2; exit 1; }
    case $event in notice* | error*) printf '%s\n' "$event" >&2 ;; esac
}

# Waits for somebody else to be there.
event=
until [ "$event" = "peer online" ] || [ "$event" = "peer away" ]; do next; done

lost=0
while IFS= read -r line || [ -n "$line" ]; do
    [ -n "$line" ] || continue
    jq -cn --arg text "$line" '{do: "send", text: $text}' >&3
    # One "sent" with the number of people, or one "error"; then for each of them "delivered" or "failed".
    left=-1 got=0 people=0
    while [ "$left" -ne 0 ]; do
        next
        case $event in
            sent*) left=${event#sent } people=$left ;;
            error*) left=0 ;;
            delivered) left=$((left - 1)) got=$((got + 1)) ;;
            failed) left=$((left - 1)) ;;
        esac
    done
    printf '%s\n' "$got of $people: $line"
    [ "$got" -eq "$people" ] && [ "$people" -gt 0 ] || lost=1
done

# The end of its input ends inkling, which says goodbye.
exec 3>&-
wait
exit "$lost"
