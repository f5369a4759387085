#!/usr/bin/env python3
"""Several options of --solve and --evaluate at once: what the pairs of option_pairs_test.py leave
out, drawn by a seed.

    several_options_test.py POPLINER MKPROFILE [KIND SEED]

Each answer for a file of costs or a profile is that of plain_solver.py: every split, with every
choice of its stages and all numbers of replicas.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import random
import sys
import tempfile

import cases
import option_pairs_test as pairs

MAPS = ["--device-map, shared", "--device-map, uneven", "--device-map interleaved:V",
        "--device-map v", "--schedule interleaved"]
SCHEDULES = ["--schedule", "--schedule RULE", "--schedule gpipe", "--schedule zero-bubble",
             "--schedule NAME:LIST", "--micro-batches"]
OBJECTIVES = ["--objective"] * 4 + ["--objective balance"] * 2 + ["--pareto"] * 2 + \
    ["--objective headroom"]
# What is asked in any case, by turns: one of each list; and what is never asked beside it.
QUESTIONS = (
    ([["--recompute auto"], MAPS], ["--solver", "--num-ipus"]),
    ([["--total-ipus", "--batch", "--batch N/SIZE", "--pareto throughput",
       "--objective throughput"],
      ["--bandwidth replicas", "--recompute full", "--recompute auto", "--schedule inference",
       "--schedule sequential", "--schedule interleaved", *SCHEDULES]],
     ["--objective", "--pareto", "--num-ipus", "--evaluate"]),
    ([["--evaluate"], ["--objective"] * 4 + MAPS + SCHEDULES],
     ["--pareto", "--require", "--slack", "--num-ipus", "--mem-per-tile A..B", "--solver"]),
    ([["--device-map"], ["--pareto", "--mem-per-tile A..B", "--objective cycles,balance"]],
     ["--objective", "--pareto", "--num-ipus", "--evaluate"]),
    ([["--device-map replicas"], ["--objective"] * 2 + SCHEDULES],
     ["--slack", "--ipu-speed", "--mem-per-tile I=", "--objective ", "--pareto", "--solver",
      "--evaluate", "--num-ipus"]),
)
# At most one of each line is asked beside, with this probability.
GROUPS = (
    (0.6, OBJECTIVES), (0.35, ["--mem-per-tile"] * 3 + ["--mem-per-tile I="] * 2 +
                        ["--mem-per-tile A..B"]),
    (0.35, SCHEDULES),
    (0.35, ["--require layers:A..", "--require layers:..B", "--require cut", "--require no-cut",
            "--require together", "--require place"]),
    (0.35, ["--slack"]), (0.35, ["--ipu-speed"]), (0.35, ["--bandwidth", "--bandwidth I-J"]),
    (0.35, ["--reserve BYTES", "--reserve PERCENT"]), (0.35, ["--format json", "--format tsv"]),
    (0.07, ["--num-ipus A..B"]), (0.07, ["--evaluate"]), (0.1, ["--solver ilp"]),
)


def drawn(seed):
    rng = random.Random(seed)
    question, never = QUESTIONS[seed % len(QUESTIONS)]
    labels = [rng.choice(own) for own in question]
    beside = [rng.choice(group) for chance, group in GROUPS if rng.random() < chance]
    labels += [own for own in beside if not own.startswith(tuple(never))]
    return tuple(dict.fromkeys(labels))


def main():
    counts = {pairs.COSTS: (150, 1000, 10000), pairs.PROFILE: (10, 100, 1500)}
    answered = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        tester = pairs.Tester(*sys.argv[1:3], scratch)
        tester.tell_alone = lambda kind, _, seed: cases.tell_alone(*sys.argv[1:3], kind, str(seed))
        cases_of = [(kind, seed) for kind, own in counts.items()
                    for seed in range(cases.chosen(*own))]
        if len(sys.argv) > 3:
            cases_of = [(sys.argv[3], int(sys.argv[4]))]
        for kind, seed in cases.within_budget(cases_of):
            before = tester.counts["answered"]
            tester.check(kind, drawn(seed), seed)
            answered[seed % len(QUESTIONS)] += tester.counts["answered"] - before
    print(f"{tester.num_problems} answers are wrong; {tester.counts}, {dict(answered)}")
    sys.exit(tester.num_problems > 0 or not cases.is_enough(
        len(sys.argv) > 3 or min(answered[i] for i in range(len(QUESTIONS))) >= 5))


if __name__ == "__main__":
    main()
