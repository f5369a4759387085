"""Prints of a profile what Graphcore's tutorial on libpva does: compute sets, tiles, the version of
Poplar, the cycles of the first executed step, and which compute sets have several vertices.

    profile_tour.py profile.pop

SPDX-License-Identifier: GPL-3.0-or-later
"""

import sys

import popliner


def main():
    if len(sys.argv) != 2:
        sys.exit("Usage: profile_tour.py profile.pop")
    with popliner.read(sys.argv[1]) as analysis:
        profile = analysis.profile
        print(f"Number of compute sets: {profile.info.num_compute_sets}")
        print(f"Number of tiles: {profile.info.num_tiles}")
        print(f"Version of Poplar: {profile.info.poplar_version}")
        steps = profile.execution_steps
        print(f"Cycles of the first step: {steps[0].cycles if steps else 'none'}")
        for number, _ in profile.walk("on-tile-execute"):
            program = profile.programs[number]
            compute_set = profile.compute_sets[program.compute_set]
            if compute_set.num_vertices > 1:
                print(f"{program.name}: {compute_set.num_vertices} vertices")


main()
