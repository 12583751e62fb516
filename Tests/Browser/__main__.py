"""python3 Tests/Browser [--events FILE] [--pictures FOLDER] [-k TEXT]...: runs the tests in a real browser, prints each
with its time, and closes with their count. `--events` appends the events that Scripts/test.d/summary.py reads. With `-k`
only those tests run whose name contains one of these texts."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import runner


def main():
    arguments = runner.parser(HERE, __doc__)
    arguments.add_argument("--pictures", type=pathlib.Path, help="only store screenshots of the page in this folder")
    options = arguments.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
        os.environ["INKLING_PICTURES"] = str(options.pictures.resolve())
        options.k.append("test_pictures")
    runner.run(HERE, arguments, options)


main()
