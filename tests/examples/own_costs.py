"""Splits a chain whose costs this program knows itself; no profile is needed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import popliner

# A made-up model: what each layer takes on the fullest tile, and what neighbours share.
LAYER_BYTES = [400, 300, 300, 500, 200, 300]
SHARED_BYTES = 50


def stage_peak(first_layer, last_layer):
    """Called for each stage that the solver may choose. A longer stage must not need less."""
    return SHARED_BYTES + sum(size - SHARED_BYTES
                              for size in LAYER_BYTES[first_layer:last_layer + 1])


costs = popliner.Costs(len(LAYER_BYTES))
costs.fill_peaks(stage_peak)
for stage in costs.solve(num_ipus=3, mem_per_tile=1000).stages:
    print(f"IPU {stage.ipu}: layers {stage.first_unit} to {stage.last_unit}, "
          f"{stage.peak_bytes} bytes")
