#!/usr/bin/env python3
"""show.py WORDS: prints the test vectors whose name contains the words, or that name this clause, in many lines."""

import json
import pathlib
import sys

words = " ".join(sys.argv[1:])
if not words:
    sys.exit(__doc__)
found = False
for path in sorted(pathlib.Path(__file__).resolve().parent.glob("*.json")):
    arrays = json.loads(path.read_text("utf-8"))
    for name, cases in arrays.items():
        for case in cases:
            if words in case["name"] or words in case["clauses"]:
                found = True
                print(f"{path.name}, {name}: {json.dumps(case, indent=2, ensure_ascii=False)}")
sys.exit(not found)
