"""Reads the hostile texts and names from the tables of the tests in Swift, so that both have the same."""

import ast
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
ESCAPE = re.compile(r'\\(?:u\{([0-9A-Fa-f]+)\}|(.))', re.S)
PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def unescaped(text):
    """Returns the value of a Swift literal's inside."""
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else PLAIN_ESCAPES.get(found[2], found[2]), text)


def value(node):
    """Returns the value of a table's expression: literals, sums, lists, and `times(text, count)`."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return [value(part) for part in node.elts]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return value(node.left) + value(node.right)
    if isinstance(node, ast.Call) and node.func.id == "times":
        text, count = map(value, node.args)
        return text * count
    if isinstance(node, ast.Call) and node.func.id == "decoded":
        return bytes(value(node.args[0])).decode(errors="replace")
    raise ValueError(ast.dump(node))


def python(source):
    """Returns a Swift expression of the tables in Python's form."""
    source = LITERAL.sub(lambda found: repr(unescaped(found[0][1:-1])), source)
    return re.sub(r"String\(decoding: (\[[^]]*\]), as: UTF8\.self\)", r"decoded(\1)", source)


def bracketed(source, start):
    """Returns the list that begins at `start`, whose brackets in literals don't count."""
    depth = 0
    for found in re.finditer(LITERAL.pattern + r"|[][]", source[start:]):
        depth += {"[": 1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return source[start:start + found.end()]
    raise ValueError("a list without an end")


def hostile_texts():
    """Returns the texts of HostileTexts.swift by name."""
    source = (TESTS / "InklingConsoleTests/HostileTexts.swift").read_text()
    texts = {}
    for found in re.finditer(r"\brows\(\[", source):
        table = ast.parse(python(bracketed(source, found.end() - 1)), mode="eval").body
        texts.update(value(table))
    for found in re.finditer(r'\beach\(\s*"(\w+)",\s*', source):
        values = source[found.end():source.index("{", found.end())]
        values = re.sub(r"Array\((\w+)\.\.\.(\w+)\)",
                        lambda ends: str(list(range(int(ends[1], 16), int(ends[2], 16) + 1))), values)
        for number in value(ast.parse(values.strip().removesuffix(")").strip(), mode="eval").body):
            texts[f"{found[1]} U+{number:X}"] = f"Bo{chr(number)}b"
    return texts


def dressed_names(table):
    """Returns a table's names of DressedNames.swift, and how the prompt shows them without a suffix."""
    source = (TESTS / "InklingTextTests/DressedNames.swift").read_text()
    block = re.search(rf'static let {table} = """\n(.*?)\n +"""', source, re.S)[1]
    entries = [entry for line in block.split("\n") for entry in line.removeprefix(" " * 8).split(" || ")]
    names = [unescaped(entry).split(" => ") for entry in entries]
    return {name[0]: name[-1] for name in names}
