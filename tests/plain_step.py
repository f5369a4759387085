"""The order of the passes of a step, as the papers describe it, and how long they take.

SPDX-License-Identifier: GPL-3.0-or-later
"""


def list_1f1b(s, num_stages, num_micro, ahead):
    """So many forward passes, then one forward and one backward, then the rest backward (PipeDream)."""
    warm = min(ahead(num_stages - 1 - s), num_micro)
    order = [("F", m, s) for m in range(warm)]
    for m in range(num_micro - warm):
        order += [("F", warm + m, s), ("B", m, s)]
    return order + [("B", m, s) for m in range(num_micro - warm, num_micro)]


def list_gpipe(d, num_devices, num_micro, chunks):
    """All forward passes, then all backward passes (Huang et al., 2019); of several stages, those
    of a group of micro-batches through one stage before the next."""
    turns = [(group + i, c * num_devices + d) for group in range(0, num_micro, num_devices)
             for c in range(chunks) for i in range(min(num_devices, num_micro - group))]
    back = [(group + i, c * num_devices + d) for group in range(0, num_micro, num_devices)
            for c in reversed(range(chunks)) for i in range(min(num_devices, num_micro - group))]
    return [("F", *it) for it in turns] + [("B", *it) for it in back]


def list_interleaved(d, num_devices, num_micro, chunks):
    """Narayanan et al., 2021: turn k is of chunk (k mod P V) div P; 2 (P - d - 1) + (V - 1) P
    forward passes come first."""
    count = num_micro * chunks
    warm = min(count, 2 * (num_devices - d - 1) + (chunks - 1) * num_devices)

    def turn(k, forward):
        chunk = k % (num_devices * chunks) // num_devices
        micro = k // (num_devices * chunks) * num_devices + k % num_devices
        return ("F" if forward else "B", micro,
                (chunk if forward else chunks - 1 - chunk) * num_devices + d)

    order = [turn(k, True) for k in range(warm)]
    for k in range(count - warm):
        order += [turn(warm + k, True), turn(k, False)]
    return order + [turn(k, False) for k in range(count - warm, count)]


def list_zero_bubble(s, num_stages, num_micro):
    """ZB-H1 (Qi et al., 2023): 1F1B, but the gradient of the weights of a micro-batch comes after
    that of the inputs of the one s later, so that all stages hold as many micro-batches."""
    order, halves = [], []
    for kind, micro, stage in list_1f1b(s, num_stages, num_micro, lambda d: d):
        order.append((kind, micro, stage))
        if kind == "B":
            halves.append(("W", micro, stage))
            if len(halves) > s:
                order.append(halves.pop(0))
    return order + halves


def longest_path(lists, cost, last):
    """When the last pass ends, if each begins as soon as it can."""
    ends = {}
    before = {}
    for order in lists:
        for earlier, own in zip([None] + order, order):
            kind, micro, stage = own
            needs = [] if earlier is None else [earlier]
            if kind == "F" and stage > 0:
                needs.append(("F", micro, stage - 1))
            if kind == "B":
                needs.append(("F", micro, stage))
                if stage < last:
                    needs.append(("B", micro, stage + 1))
            before[own] = needs
            ends[own] = cost[stage][kind]
    changed = True
    while changed:
        changed = False
        for own, needs in before.items():
            end = max((ends[it] for it in needs), default=0) + cost[own[2]][own[0]]
            if end > ends[own]:
                ends[own], changed = end, True
    return max(ends.values())


def lists_of(rule, num_stages, num_devices, num_micro, ahead=None):
    """The list of each device's passes; `ahead(d)` forward passes come first with d devices after
    this one, by default those of the rule. None where no paper has the order."""
    chunks = num_stages // num_devices
    if rule == "inference":
        if chunks == 1:
            return [[("F", m, s) for m in range(num_micro)] for s in range(num_stages)]
        return [[it for it in list_gpipe(d, num_devices, num_micro, chunks) if it[0] == "F"]
                for d in range(num_devices)]
    if rule == "gpipe":
        return [list_gpipe(d, num_devices, num_micro, chunks) for d in range(num_devices)]
    if chunks > 1:
        if rule not in ("none", "1f1b", "interleaved") or num_micro % num_devices:
            return None
        return [list_interleaved(d, num_devices, num_micro, chunks) for d in range(num_devices)]
    if rule == "zero-bubble":
        return [list_zero_bubble(s, num_stages, num_micro) for s in range(num_stages)]
    ahead = ahead or {"popart": lambda d: 2 * d, "training": lambda d: 2 * d,
                      "tf-grouped": lambda d: 2 * d, "sequential": lambda d: 0}.get(
                          rule, lambda d: d)
    return [list_1f1b(s, num_stages, num_micro, ahead) for s in range(num_stages)]
