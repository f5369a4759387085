"""The order of the passes of a step, as the papers describe it, and how long they take.

SPDX-License-Identifier: GPL-3.0-or-later
"""

# the rules whose gradients of weights have passes of their own, and those for stages in a V alone
WITH_WEIGHTS = ("zero-bubble", "zb-h2", "v-half", "v-min", "dualpipev")
IN_V = ("v-half", "v-min", "dualpipev")


def list_1f1b(s, num_stages, num_micro, ahead):
    """So many forward passes, then one forward and one backward, then the rest backward
    (PipeDream)."""
    warm = min(ahead(num_stages - 1 - s), num_micro)
    order = [("F", m, s) for m in range(warm)]
    for m in range(num_micro - warm):
        order += [("F", warm + m, s), ("B", m, s)]
    return order + [("B", m, s) for m in range(num_micro - warm, num_micro)]


def list_gpipe(stages, num_micro):
    """All forward passes, then all backward passes (Huang et al., 2019); of several stages, those
    of one stage before the next (Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022)."""
    return [("F", m, s) for s in stages for m in range(num_micro)] + [
        ("B", m, s) for s in reversed(stages) for m in range(num_micro)]


def rounds_of(num_devices, num_micro):
    """Micro-batches of each round, the last of which may have fewer: as few as Megatron-LM accepts,
    where all have at least as many as there are devices; of fewer micro-batches one round. If
    rounds can be equal, those of PyTorch."""
    return next(size for size in range(min(num_devices, num_micro), num_micro + 1)
                if num_micro % size == 0 or num_micro % size >= num_devices)


def list_interleaved(d, num_devices, num_micro, chunks, hops=2):
    """Narayanan et al., 2021, with rounds of n micro-batches (there n = P), the last of which may
    have fewer (get_schedule_table of Megatron-LM): a round goes through all chunks, before the next
    one; 2 (P - d - 1) + (V - 1) n forward passes come first."""
    size = rounds_of(num_devices, num_micro)
    turns = [(chunk, micro) for first in range(0, num_micro, size) for chunk in range(chunks)
             for micro in range(first, min(first + size, num_micro))]
    count = len(turns)
    warm = min(count, hops * (num_devices - d - 1) + (chunks - 1) * size)

    def turn(k, forward):
        chunk, micro = turns[k]
        return ("F" if forward else "B", micro,
                (chunk if forward else chunks - 1 - chunk) * num_devices + d)

    order = [turn(k, True) for k in range(warm)]
    for k in range(count - warm):
        order += [turn(warm + k, True), turn(k, False)]
    return order + [turn(k, False) for k in range(count - warm, count)]


def list_halves(whole, late):
    """The gradient of the weights of a micro-batch comes after that of the inputs of the one so
    many later (ZB-H1 of Qi et al., 2023: the stage's number)."""
    order, halves = [], []
    for kind, micro, stage in whole:
        order.append((kind, micro, stage))
        if kind == "B":
            halves.append(("W", micro, stage))
            if len(halves) > late:
                order.append(halves.pop(0))
    return order + halves


def list_zero_bubble_v(d, num_devices, num_micro):
    """ZBV (Qi et al., 2024), by its rules instead of its phases: the first 2 P - 1 - d passes
    forward in the way down, then both ways; P in all come back before the first gradient of the way
    down. Weights follow at once, but for d passes at the end."""
    ways = {0: d, 1: 2 * num_devices - 1 - d}
    most = max(num_micro, 2 * num_devices - 1)
    order = []
    done = {(kind, way): 0 for kind in "FBW" for way in ways}

    def run(kind, way):
        order.append((kind, done[kind, way], ways[way]))
        done[kind, way] += 1

    while done["F", 0] < 2 * (num_devices - d) - 1:
        run("F", 0)
    while done["F", 1] < most:
        is_early = done["F", 1] < num_devices
        if not is_early:
            if done["F", 0] < most:
                run("F", 0)
            run("B", 0)
            run("W", 0)
        run("F", 1)
        if is_early and done["F", 0] < 2 * num_devices - 1 - d:
            run("F", 0)
        else:
            run("B", 1)
            run("W", 1)
    for _ in range(d):
        run("B", 0)
        run("B", 1)
    while done["B", 0] < most:
        run("B", 0)
        run("W", 0)
    for way in (1, 0):
        while done["W", way] < most:
            run("W", way)
    return [it for it in order if it[1] < num_micro]


def list_blocks(rule, d, num_devices, num_micro):
    """V-Half and V-Min (Qi et al., Pipeline Parallelism with Controllable Memory, 2024): a block of
    six steps is repeated. From stage to stage it takes one step, in V-Half two away from device 0
    and where the backward passes turn; all of one device must fit into the six steps, so the
    backward passes begin some later for some numbers of devices. The gradients of weights take the
    first free steps."""
    down, late = {"v-half": (2, {0: 3}.get(num_devices % 2, 0)),
                  "v-min": (1, {0: 2}.get(num_devices % 3, 0))}[rule]
    steps, now = {}, 0
    for kind in "FB":
        for stage in range(2 * num_devices):  # in the order in which the micro-batch meets them
            own = stage if kind == "F" else 2 * num_devices - 1 - stage
            if min(own, 2 * num_devices - 1 - own) == d:
                steps[kind, own] = now
            now += down if stage < num_devices - (kind == "F") else 1
        now += late
    ways = (d, 2 * num_devices - 1 - d)
    for stage in reversed(ways):
        free = [t for t in range(steps["B", stage] + 1, steps["B", stage] + 7)
                if all((t - other) % 6 for other in steps.values())]
        steps["W", stage] = free[0]
    grid = {step + 6 * m: (kind, m, stage) for (kind, stage), step in steps.items()
            for m in range(num_micro)}
    assert len(grid) == 6 * num_micro
    return [grid[step] for step in sorted(grid)]


def list_dualpipe_v(d, num_devices, num_micro):
    """DualPipeV as its authors run it (deepseek-ai/DualPipe, dualpipev.py: steps 1 to 8), with the
    queue of the gradients of weights that wait. "A": a backward pass with those of the weights."""
    ways = (d, 2 * num_devices - 1 - d)
    order, waiting, done = [], [], {}

    def run(kind, way):
        passes = done.setdefault((kind if kind == "F" else "B", way), [])
        passes.append(None)
        order.append((kind, len(passes) - 1, ways[way]))
        if kind == "B":
            waiting.append(("W", len(passes) - 1, ways[way]))

    after = num_devices - d - 1
    for _ in range(2 * after):
        run("F", 0)
    for _ in range(d + 1):
        run("F", 0)
        run("F", 1)
    for _ in range(after):
        run("B", 1)
        order.append(waiting.pop(0))
        run("F", 1)
    for i in range(num_micro - 2 * num_devices + d + 1 + after):
        if i < num_micro - 2 * num_devices + d + 1:
            run("F", 0)
        run("A", 1)
        run("F", 1)
        run("A", 0)
    is_apart = False
    for i in range(d + 1):
        is_apart = is_apart or (i == (d + 1) // 2 and d % 2 == 1)
        run("B" if is_apart else "A", 1)
        is_apart = is_apart or (i == (d + 1) // 2 and d % 2 == 0)
        run("B" if is_apart else "A", 0)
    for _ in range(after):
        order.append(waiting.pop(0))
        run("B", 0)
    return order + waiting


def longest_path(lists, cost, last):
    """When the last pass ends, if each begins as soon as it can."""
    ends = {}
    before = {}

    def took(own):
        return cost[own[2]][own[0]] + (cost[own[2]]["W"] if own in whole else 0)

    whole = {("B", *it[1:]) for order in lists for it in order if it[0] == "A"}
    for order in lists:
        order = [("B", *it[1:]) if it[0] == "A" else it for it in order]
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
            ends[own] = took(own)
    changed = True
    while changed:
        changed = False
        for own, needs in before.items():
            end = max((ends[it] for it in needs), default=0) + took(own)
            if end > ends[own]:
                ends[own], changed = end, True
    return max(ends.values())


def lists_of(rule, num_stages, num_devices, num_micro, ahead=None, is_v=False):
    """The list of each device's passes; `ahead(d)` forward passes come first with d devices after
    this one, by default those of the rule. None where no paper has the order."""
    chunks = num_stages // num_devices
    if rule in IN_V and (not is_v or (rule == "dualpipev" and num_micro < 2 * num_devices)):
        return None
    if rule in IN_V:
        return [list_dualpipe_v(d, num_devices, num_micro) if rule == "dualpipev" else
                list_blocks(rule, d, num_devices, num_micro) for d in range(num_devices)]
    if is_v and rule == "zero-bubble":
        return [list_zero_bubble_v(d, num_devices, num_micro) for d in range(num_devices)]
    if rule in ("gpipe", "inference"):
        own = [list_gpipe([d, 2 * num_devices - 1 - d] if is_v else
                          range(d, num_stages, num_devices), num_micro) for d in range(num_devices)]
        return own if rule == "gpipe" else [[it for it in order if it[0] == "F"] for order in own]
    if is_v:
        return None
    if chunks > 1 or rule == "interleaved":
        if rule not in ("none", "1f1b", "interleaved", "zero-bubble"):
            return None
        return [list_interleaved(d, num_devices, num_micro, chunks) if rule != "zero-bubble" else
                list_halves(list_interleaved(d, num_devices, num_micro, chunks, 1), d)
                for d in range(num_devices)]
    if rule in ("zero-bubble", "zb-h2"):
        each = 2 if rule == "zb-h2" else 1  # Qi et al., 2023: passes for each device after, before
        return [list_halves(list_1f1b(s, num_stages, num_micro, lambda d: each * d), each * s)
                for s in range(num_stages)]
    ahead = ahead or {"popart": lambda d: 2 * d, "training": lambda d: 2 * d,
                      "tf-grouped": lambda d: 2 * d, "sequential": lambda d: 0}.get(
                          rule, lambda d: d)
    return [list_1f1b(s, num_stages, num_micro, ahead) for s in range(num_stages)]
