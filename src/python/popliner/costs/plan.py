"""The split of a model that holds the longest context.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict

from .._calling import instance
from ..plans import Answer
from .table import MAX_BYTES, Table


def _grown(table: Table, tokens: int) -> Table:
    """The table with the caches of so many more tokens in its memory."""
    units = [dataclasses.replace(unit, kv=0, kv_tokens=None, memory=unit.memory + unit.kv * min(
        tokens, tokens if unit.kv_tokens is None else unit.kv_tokens)) for unit in table.units]
    return dataclasses.replace(table, units=units)


def longest(table: Table, **members: Any) -> Answer:
    """The split whose devices all hold the caches of most further tokens: headroom_tokens of the
    answer, which is exact. `members` are those of a request, like num_ipus and mem_per_tile. If
    nothing fits, or no cache grows, it is the answer of solve."""
    costs = instance(table, Table, "the table").costs()
    best = costs.solve(**members)
    if not best.fits or best.headroom_tokens is None:
        return best
    quick: Dict[str, Any] = {**members, "without_second_proof": True, "without_reasons": True}
    fitting, too_many = best.headroom_tokens, MAX_BYTES // sum(unit.kv for unit in table.units) + 1
    while too_many - fitting > 1:
        tokens = (fitting + too_many) // 2
        found = _grown(table, tokens).costs().solve(**quick)
        if not found.fits:
            too_many = tokens
            continue
        best = costs.evaluate(found.first_units, **members)
        fitting = max(tokens, best.headroom_tokens or too_many)
    return best
