#!/usr/bin/env python3
"""tools/compare_outputs/former.py gives each of the 78 options that popliner had its form of today.
What they do is in tests/cli/former.cli and the tests of each.

    former_options_test.py SOURCE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import sys

# former forms and today's; those that are no others are left out
FORMS = (
    ("--solver=greedy", "--solver=popliner"),
    ("--section=plan", "--output=plan"),
    ("--emit=optimum", "--output=optimum"),
    ("--html=@", "--output=page=@"),
    ("--plot=plan", "--output=plan --format=plot"),
    ("--trace=@", "--output=trace=@"),
    ("--write-lp=@", "--output=lp=@"),
    ("--write-mps=@", "--output=mps=@"),
    ("--max-growth=0", "--fail-on=growth=0"),
    ("--ipu-mem-per-tile=1=400000", "--mem-per-tile=1=400000"),
    ("--link-bandwidth=64", "--bandwidth=64"),
    ("--replica-bandwidth=8", "--bandwidth=replicas=8"),
    ("--sweep=num-ipus=1..3", "--num-ipus=1..3"),
    ("--min-layers=2", "--require=layers:2.."),
    ("--max-layers=1", "--require=layers:..1"),
    ("--cut-after=1", "--require=cut:1"),
    ("--no-cut-after=0", "--require=no-cut:0"),
    ("--together=1,2", "--require=together:1,2"),
    ("--place=2=1", "--require=place:2=1"),
    ("--interleave=2", "--device-map=interleaved:2"),
    ("--v-shape", "--device-map=v"),
    ("--schedule=training", "--schedule=popart"),
    ("--copies=2", "--schedule=none:2"),
    ("--effects=passing", "--effects=passing,accumulators"),
    ("--accumulators=fp32", "--effects=layout,passing,buffers,accumulators=fp32"),
    ("--risk=low", "--need=at-most"),
    ("--batch=12 --micro-batch-size=3", "--batch=12/3"),
    ("--calibrate=@", "--compiled=@"),
    ("--layers=1-2", "--layers=1..2"),
    ("--layer-operations-only", "--layers=only:all"),
    ("--tolerance=100%", "--fail-on=unexplained=100%"),
    ("--strict", "--fail-on=contradiction"),
    ("--layer-path=net.blocks", "--modules=net.blocks.{}"),
    ("--layer-path=net --head-modules=embed", "--modules=embed,net.{}"),
    ("--layer-path=net --tail-modules=norm", "--modules=net.{},norm"),
)


def main():
    sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[1]), "tools"))
    from compare_outputs import former  # pylint: disable=import-outside-toplevel
    for before, today in FORMS:
        made = former.translate(before.split())
        if not set(today.split()) <= set(made):
            sys.exit(f"{before}: {made}, not {today}")
    renamed = {before.split()[-1].partition("=")[0][2:] for before, _ in FORMS}
    same = (former.FLAGS | former.VALUED) - renamed - {"help", "version", "costs"}
    for name in sorted(same):
        before = [f"--{name}" + ("=1" if name in former.VALUED else "")]
        made = former.translate(before)
        if before != [] and not any(word.startswith(f"--{name}") for word in made):
            sys.exit(f"--{name}: {made}")
    if len(same) + len(renamed) != 74:
        sys.exit(f"{len(same)} + {len(renamed)} options")


if __name__ == "__main__":
    main()
