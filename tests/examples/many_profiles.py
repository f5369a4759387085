"""Splits many profiles at the same time, each in a thread of its own.

    many_profiles.py REPORT...

SPDX-License-Identifier: GPL-3.0-or-later
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import popliner


def split(path):
    try:
        with popliner.read(path) as analysis:
            return analysis.solve(num_ipus=2).line()
    except popliner.Error as error:
        return str(error)


def main():
    paths = sys.argv[1:]
    with ThreadPoolExecutor(max(len(paths), 1)) as pool:
        for path, line in zip(paths, pool.map(split, paths)):
            print(f"{path}: {line}")


main()
