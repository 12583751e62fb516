"""Data about a process from /proc."""

import os
import re
from pathlib import Path


def status(process, name):
    """Returns the number of that name in /proc/PROCESS/status; sizes are in KiB."""
    return int(re.search(rf"^{name}:\s*(\d+)", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def children(process):
    return [int(child) for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()]


def threads(process):
    return sorted(int(task.name) for task in Path(f"/proc/{process}/task").iterdir())


def mappings(process):
    """(begin, end, is executable, file) of each."""
    found = []
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        addresses, rights, _, _, _, *name = line.split(maxsplit=5)
        begin, end = (int(address, 16) for address in addresses.split("-"))
        found.append((begin, end, "x" in rights, os.path.basename(name[0]) if name else ""))
    return found


def threads_of_library(process, name):
    """How many threads a library whose file is called so has started: those whose first function is in it. It is the
    first address of code, seen from the far end of the thread's stack, that is not in the C library."""
    maps = mappings(process)
    code = [(begin, end, file) for begin, end, is_code, file in maps if is_code]
    count = 0
    for thread in threads(process):
        if thread == process:
            continue
        words = Path(f"/proc/{process}/task/{thread}/syscall").read_text().split()
        if len(words) < 3:
            continue
        pointer = int(words[-2], 16)
        stack_end = next((end for begin, end, _, _ in maps if begin <= pointer < end), pointer)
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(pointer)
            content = memory.read(stack_end - pointer)
        for offset in range(len(content) // 8 * 8 - 8, -1, -8):
            address = int.from_bytes(content[offset:offset + 8], "little")
            file = next((file for begin, end, file in code if begin <= address < end), None)
            if file and not file.startswith(("libc.", "libc-", "ld-", "[", "libpthread")):
                count += file.startswith(name)
                break
    return count
