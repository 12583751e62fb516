"""python3 Tests/Tray [--events FILE] [-k TEXT]...: runs the tests of the icon and its notifications, prints each with
its time, and closes with their count. With `-k` only those tests run whose name contains one of these texts."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Browser")]

import runner
import test_tray

arguments = runner.parser(HERE, __doc__)
options = arguments.parse_args()
if not os.access(test_tray.TRAY, os.X_OK):
    arguments.error(f"the program {test_tray.TRAY} is missing: build first, with Scripts/test")
runner.run(HERE, arguments, options)
