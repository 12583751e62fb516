"""confusables.py [--check]: writes the table of look-alike letters, the skeletons of Unicode UTS 39 that ICU has, as
Swift. The programs need no ICU."""

import ctypes
import ctypes.util
import re
import sys
import textwrap

import texts

HEAD = """\
// Made by Scripts/protocol confusables from ICU {icu} (uspoof_getSkeleton, every code point), Unicode {unicode}.
// Data: https://www.unicode.org/Public/security/, under the Unicode License. Do not edit.

extension Skeleton {{
    /// {count} code points by the text that they can be taken for (UTS 39), in hexadecimal: `TARGET= SOURCE ...`.
    /// Code points that NFKC or NFD changes are not listed.
    static let confusables: StaticString = \"\"\"
{table}
        \"\"\"
}}
"""
IGNORABLE = 5  # UCHAR_DEFAULT_IGNORABLE_CODE_POINT

LIBRARIES = [ctypes.util.find_library(name) for name in ("icuuc", "icui18n")]
if not all(LIBRARIES):
    sys.exit("confusables: ICU is missing: install libicu-dev")
COMMON, SPOOF = map(ctypes.CDLL, LIBRARIES)
MAJOR = re.search(r"\.so\.(\d+)", LIBRARIES[0])[1]  # a part of each function's name


def call(library, name, *arguments, result=ctypes.c_int):
    """The result of a function of ICU, which takes an error code last."""
    function = getattr(library, f"{name}_{MAJOR}")
    function.restype = result
    error = ctypes.c_int(0)
    found = function(*arguments, ctypes.byref(error))
    if error.value > 0:
        sys.exit(f"confusables: {name} fails with {error.value}")
    return found


def version(name):
    numbers = (ctypes.c_uint8 * 4)()
    getattr(COMMON, f"{name}_{MAJOR}")(numbers)
    return f"{numbers[0]}.{numbers[1]}"


def skeletons():
    """The sources of each target. The program applies both normal forms before it uses the table."""
    def instance(library, name):
        return ctypes.c_void_p(call(library, name, result=ctypes.c_void_p))

    forms = [instance(COMMON, "unorm2_getNFDInstance"), instance(COMMON, "unorm2_getNFKCInstance")]
    checker = instance(SPOOF, "uspoof_open")
    ignorable = getattr(COMMON, f"u_hasBinaryProperty_{MAJOR}")
    buffer = ctypes.create_string_buffer(256)
    found = {}
    for scalar in range(0x110000):
        if 0xD800 <= scalar <= 0xDFFF or ignorable(scalar, IGNORABLE) & 0xFF:
            continue
        source = chr(scalar).encode("utf-16-le")
        length = len(source) // 2
        if not all(call(COMMON, "unorm2_isNormalized", form, source, length) & 0xFF for form in forms):
            continue
        size = call(SPOOF, "uspoof_getSkeleton", checker, 0, source, length, buffer, 128)
        if buffer.raw[:2 * size] != source:
            found.setdefault(buffer.raw[:2 * size].decode("utf-16-le"), []).append(scalar)
    return found


found = skeletons()
words = []
for target, sources in sorted(found.items()):
    words += ["+".join(f"{ord(each):X}" for each in target) + "=", *(f"{source:X}" for source in sources)]
table = textwrap.fill(" ".join(words), 120, initial_indent=" " * 8, subsequent_indent=" " * 8)
count = sum(map(len, found.values()))
text = HEAD.format(icu=version("u_getVersion"), unicode=version("u_getUnicodeVersion"), count=count, table=table)
path = texts.FOLDER.parent / "Sources/Node/InklingModel/Confusables.swift"
if sys.argv[1:] == ["--check"]:
    if path.read_text(encoding="utf-8") != text:
        sys.exit("Confusables.swift differs from ICU's table: run Scripts/protocol confusables")
elif sys.argv[1:]:
    sys.exit("usage: Scripts/protocol confusables [--check]")
else:
    path.write_text(text, encoding="utf-8")
