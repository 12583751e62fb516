"""python3 Tests/WeeChat [--events FILE] [-k TEXT]...: tries Protocol/examples/weechat/inkling.py in a real WeeChat,
prints each test with its time, and closes with their count. `--events` appends the events that
Scripts/test.d/summary.py reads. With `-k` only those tests run whose name contains one of these texts."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Doors"), str(HERE.parent / "Browser")]

import runner

arguments = runner.parser(HERE, __doc__)
runner.run(HERE, arguments, arguments.parse_args())
