#!/usr/bin/env python3
"""--recompute auto where stages share IPUs, with other questions drawn beside it.

    shared_choices_test.py POPLINER MKPROFILE

Each answer for a file of costs or a profile is that of plain_solver.py: every split with every
choice.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import random
import sys
import tempfile

import cases
import option_pairs_test as pairs

MAPS = ("--device-map, shared", "--device-map, uneven", "--device-map interleaved:V",
        "--device-map v", "--schedule interleaved")
# At most one of each line is asked beside, with this probability.
GROUPS = (
    (0.6, ["--objective"] * 4 + ["--objective balance"] * 2 + ["--pareto"] * 2 +
     ["--objective headroom"]),
    (0.35, ["--mem-per-tile"] * 3 + ["--mem-per-tile I="] * 2 + ["--mem-per-tile A..B"]),
    (0.35, ["--schedule", "--schedule RULE", "--schedule gpipe", "--schedule zero-bubble",
            "--schedule NAME:LIST", "--micro-batches"]),
    (0.35, ["--require layers:A..", "--require layers:..B", "--require cut", "--require no-cut",
            "--require together", "--require place"]),
    (0.35, ["--slack"]), (0.35, ["--ipu-speed"]), (0.35, ["--bandwidth", "--bandwidth I-J"]),
    (0.35, ["--reserve BYTES", "--reserve PERCENT"]), (0.35, ["--format json", "--format tsv"]),
    (0.07, ["--num-ipus A..B"]), (0.07, ["--evaluate"]), (0.1, ["--solver ilp"]),
)


def drawn(seed):
    rng = random.Random(seed)
    labels = ["--recompute auto", rng.choice(MAPS)]
    labels += [rng.choice(group) for chance, group in GROUPS if rng.random() < chance]
    # a list is for a number of stages, which the refusal of a range says in more than 100 columns;
    # a given split has one, which is compared with the largest map when its names are known
    return tuple(label for label in labels if label != "--num-ipus A..B" or
                 not {"--schedule NAME:LIST", "--evaluate"} & set(labels))


def main():
    counts = {pairs.COSTS: cases.chosen(60, 400, 2000), pairs.PROFILE: cases.chosen(5, 60, 1000)}
    with tempfile.TemporaryDirectory() as scratch:
        tester = pairs.Tester(*sys.argv[1:3], scratch)
        for kind, count in counts.items():
            for seed in range(count):
                tester.check(kind, drawn(seed), seed)
        # a front within a map of one stage each, whose copies depend on their number
        for seed in range(counts[pairs.COSTS] // 10):
            tester.check(pairs.COSTS, ("--recompute auto", "--device-map", "--pareto",
                                       "--schedule zero-bubble"), seed)
    print(f"{tester.num_problems} answers are wrong; {tester.counts}")
    sys.exit(tester.num_problems > 0 or tester.counts["answered"] < sum(counts.values()) // 2)


if __name__ == "__main__":
    main()
