"""Splits a profile over some IPUs and prints where to cut.

    split_profile.py REPORT NUM_IPUS

SPDX-License-Identifier: GPL-3.0-or-later
"""

import sys

import popliner


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: split_profile.py REPORT NUM_IPUS")
    try:
        with popliner.read(sys.argv[1]) as analysis:
            answer = analysis.solve(num_ipus=int(sys.argv[2]))
            print(answer.line())
            print(answer.text(), end="")
    except popliner.Error as error:
        sys.exit(f"split_profile.py: {error}")


main()
