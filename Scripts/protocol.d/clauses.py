"""clauses.py [--check]: writes the numbered rules of Protocol/ into the conformance suite, which quotes them. A rule is
the whole list item, with its lists and paragraphs. If the item names "the table below", the rule includes the rows of
the next table."""

import re
import sys

import generated
import texts

FEED = r"\#n"  # a line feed in a raw string literal of Swift
HEAD = """\
// Made by Scripts/protocol clauses from the texts in Protocol/. Don't edit it.
// swift-format-ignore-file

extension Clause {
    /// The numbered rules in the order of their texts.
    static let listed: [Clause] = [
"""


class Rule:
    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.awaits_table = False

    def close(self):
        self.awaits_table = "the table below" in self.text


def rules(name):
    """The rules of a text."""
    found, rule = [], None
    fenced = in_table = apart = False
    for line in texts.read(f"{name}.md").splitlines():
        fences = line.lstrip().startswith("```")
        if rule and (fences or line.startswith("|")):
            rule.close()
            rule = None
        fenced ^= fences
        if fenced or fences:
            continue
        if line.startswith("|"):
            in_table = True
            if not re.fullmatch(r"[| :-]+", line):
                for each in found:
                    each.text += FEED + line if each.awaits_table else ""
            continue
        if in_table:
            in_table = False
            for each in found:
                each.awaits_table = False
        text = line.lstrip()
        if not text:
            apart = True
            continue
        is_item = re.match(r"([-*+]|\d+\.)\s", text)
        if rule and (line.startswith("#") or text == line and (is_item or apart)):
            rule.close()
            rule = None
        begins = re.match(r"- \[([A-Z]+-\d+)\] ", line)
        if begins:
            rule = Rule(begins[1], line[begins.end():])
            found.append(rule)
        elif rule:
            rule.text += (FEED if is_item or apart else " ") + text
        apart = False
    if rule:
        rule.close()
    for each in found:
        if each.awaits_table and not in_table:
            sys.exit(f"{each.number} names a table that does not follow")
    return found


def listing():
    lines = []
    for name in "wire links typing messages discovery protection security registry api".split():
        for rule in rules(name):
            level = "must" if re.search(r"(?<![A-Za-z])MUST(?![A-Za-z])", rule.text) else "should"
            lines.append(f'        Clause(number: "{rule.number}", level: .{level}, text: #"{rule.text}"#),\n')
    return HEAD + "".join(lines) + "    ]\n}\n"


if __name__ == "__main__":
    generated.save("Sources/Proof/InklingConformance/Clauses/Listed.swift", listing(), "clauses")
