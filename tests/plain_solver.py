"""A second implementation of what --solve answers: every split is looked at.

It is written from docs/costs.md, docs/certificate.md and docs/internals/memory-models.md. Costs are
a Costs (a file of costs in popliner's own format) or anything else that has `names`, `is_layer` and
`split`. Numbers are whole, or fractions; cycles are counted in parts of a time unit.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import functools
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import plain_step

RULES = ("1f1b", "gpipe", "interleaved", *plain_step.WITH_WEIGHTS)


def decimal(number):
    """What is written, not the nearest double."""
    return Fraction(str(number))


@dataclass
class Request:
    """What is asked, by the names of the options. Limits are what is left after the reserve."""
    num_ipus: int = 16
    device_map: list = None
    memory: int = None
    memories: dict = field(default_factory=dict)
    speeds: dict = field(default_factory=dict)
    bandwidth: Fraction = None
    links: dict = field(default_factory=dict)  # by frozenset of two devices
    min_layers: int = 1
    max_layers: int = None
    cut_after: set = field(default_factory=set)  # units by number
    no_cut_after: set = field(default_factory=set)
    together: list = field(default_factory=list)
    place: list = field(default_factory=list)  # (unit, device)
    objectives: tuple = ("memory", "traffic")
    slack: Fraction = Fraction(0)
    schedule: str = "none"
    copies: object = None  # a rule's name; or a list of numbers, and whether it goes on
    more_copies: int = 0
    micro_batches: int = None
    recompute: str = "none"
    has_replicas: bool = False  # stages have them, of num_ipus devices
    replica_bandwidth: Fraction = None

    def limit(self, device):
        return self.memories.get(device, self.memory)

    def trains(self):
        return self.copies is not None or self.schedule != "inference"

    def carries(self, a, b):
        """The bandwidth between two devices, or None; on one device a cut takes no time."""
        return None if a == b else self.links.get(frozenset((a, b)), self.bandwidth)


@dataclass
class Stage:
    """One stage of a split; `memory` is what its device needs with all its stages."""
    first: int
    end: int
    device: int
    memory: int
    cycles: int
    cut: int
    link: int = 0
    parameters: int = 0
    limit: int = None  # of its device
    replicas: int = None
    plain: Fraction = Fraction(0)  # its cycles at speed 1, without links
    forward: int = None  # of them, at its speed and with links; None: not known
    recomputed: int = 0  # of them


@dataclass
class Split:
    cuts: tuple
    stages: list

    def by_device(self, value):
        """The sum over the stages of each device."""
        sums = {}
        for stage in self.stages:
            sums[stage.device] = sums.get(stage.device, 0) + value(stage)
        return sums

    def value(self, name, has_cycles_before=False):
        cycles = self.by_device(lambda stage: stage.cycles).values()
        memory = [stage.memory for stage in self.stages]
        spread = cycles if has_cycles_before else memory
        if name == "headroom":  # the least free memory; more is better
            return -max(0, min(stage.limit - stage.memory for stage in self.stages))
        replicas = [stage.replicas for stage in self.stages]
        if replicas[0] is not None:  # transfers take place meanwhile
            cycles = [max(stage.cycles, stage.link) for stage in self.stages]
        return {"memory": max(memory), "cycles": max(cycles),
                "traffic": sum(stage.cut for stage in self.stages),
                "ipus": sum(replicas) if replicas[0] is not None else
                        len({stage.device for stage in self.stages}),
                "balance": max(spread) - min(spread)}[name]

    def shares(self):
        """Whether a device has several stages."""
        return len({stage.device for stage in self.stages}) < len(self.stages)

    def rank(self):
        """What decides between splits that are as good."""
        few = [] if self.stages[0].replicas is None else self.values(("ipus", "traffic"))
        return few, self.cuts, [by_cycles(self, stage) for stage in self.stages]

    def values(self, objectives):
        return [self.value(name, "cycles" in objectives[:i]) for i, name in enumerate(objectives)]


def completed(objectives, has_map, first="memory"):
    """The list that counts: where it begins with balance and no device map says how many stages
    there are, what people look at first comes before it (docs/costs.md)."""
    if has_map or objectives[:1] not in (["balance"], ("balance",)):
        return list(objectives)
    return [first, *(name for name in objectives if name != first)]


def copies_of(request, stage, num_stages):
    """The copies that a stage keeps, or None where a list has no number for it."""
    behind = num_stages - 1 - stage
    if request.copies is None:
        if behind == 0:
            return 0
        return {"popart": 2 * behind + 1, "training": 2 * behind + 1, "tf-grouped": 2 * behind,
                "tf-interleaved": behind}.get(request.schedule, 0)
    if request.copies not in RULES:
        numbers, goes_on = request.copies
        if behind < len(numbers):
            return numbers[behind]
        if not goes_on:
            return None
        step = numbers[-1] - numbers[-2] if len(numbers) > 1 else 0
        return numbers[-1] + step * (behind - len(numbers) + 1)
    held = moments_of(request.copies, request.micro_batches, tuple(range(num_stages)))[stage]
    return max(sum(own[stage]) for own in held) - 1 + request.more_copies


def takes_turns(rule, devices):
    """Whether stages take turns on their devices, each of which has several: they go round these,
    or form a V that the rule is for."""
    count, own = len(devices or ()), len(set(devices or ()))
    if rule not in ("1f1b", "gpipe", "interleaved", "zero-bubble", *plain_step.IN_V) or \
            count == own:
        return False
    is_v = count == 2 * own > 2 and all(devices[k] == devices[-1 - k] for k in range(own))
    return count % own == 0 and all(devices[k] == devices[k % own] for k in range(count)) or (
        is_v and rule in ("gpipe", *plain_step.WITH_WEIGHTS))


@functools.lru_cache(1000)
def moments_of(rule, micro_batches, devices):
    """Of each device what it holds at each pass, by stage: the micro-batches whose forward pass has
    run, and those that the pass that runs has computed, or recomputed, or that wait for a pass of
    the weights. Of any number of micro-batches: four for each device."""
    count, own = len(devices), len(set(devices))
    is_v = devices[0] == devices[-1] and own > 1
    last = "AW" if rule in plain_step.WITH_WEIGHTS else "B"
    found = {}
    for device, passes in zip(devices, plain_step.lists_of(
            rule, count, own, micro_batches or 4 * own, is_v=is_v)):
        held = {k: [0, 0] for k in range(count) if devices[k] == device}
        found[device] = []
        for kind, _, stage in passes:
            held[stage][0] -= kind in "AB"
            held[stage][1] += kind != "W"
            found[device].append({k: tuple(own) for k, own in held.items()})
            held[stage][0] += kind == "F"
            held[stage][1] -= kind in "F" + last
    return found


def stores(request):
    """Whether the copies of the schedule are not all 0; else nothing is recomputed."""
    if request.copies in RULES:
        return request.more_copies > 0 or request.micro_batches != 1
    return request.copies is None or any(request.copies[0])


def trained(request, units):
    """The parameters whose gradients replicas add up."""
    return sum(u.get("parameters", 0) for u in units) if request.trains() else 0


class Costs:
    """A file of costs in popliner's own format."""

    def __init__(self, document):
        self.units = document["units"]
        self.names = [unit["name"] for unit in self.units]
        self.is_layer = [unit.get("layer", True) for unit in self.units]
        regions = document.get("regions", ["memory"])
        self.num_regions = len(regions)
        self.capacities = [r.get("capacity") if isinstance(r, dict) else None for r in regions]
        self.shared = [({self.names.index(name) for name in own["units"]},
                        self.by_region(own["memory"])) for own in document.get("shared", [])]
        gaps = len(self.units) - 1
        self.cuts = [0, *document.get("cuts", [0] * gaps), 0]
        self.cut_cycles = [decimal(c) for c in [0, *document.get("cut_cycles", [0] * gaps), 0]]
        self.are_alone = any("recomputed" in unit for unit in self.units)
        for unit in self.units:
            if "forward" in unit:
                unit.setdefault("cycles", decimal(unit["forward"]) + decimal(unit["backward"]))
                unit.setdefault("recompute_cycles", unit["forward"] if "inputs" in unit else 0)
        self.has_passes = any("forward" in unit for unit in self.units)
        times = [decimal(u.get(key, 0)) for unit in self.units
                 for u in [unit, *unit.get("variants", [])]
                 for key in ("cycles", "recompute_cycles")]
        self.scale = 1 if all(t.denominator == 1 for t in times + self.cut_cycles) else 10 ** 9

    def by_region(self, value):
        return list(value) if isinstance(value, list) else [value] * self.num_regions

    def sum(self, units, key):
        return [sum(own) for own in zip([0] * self.num_regions,
                                        *(self.by_region(unit.get(key, 0)) for unit in units))]

    def waits(self, request):
        """Whether what is recomputed, of a stage or of each unit alone, stays for a pass of the
        weights."""
        return request.copies in plain_step.WITH_WEIGHTS and (
            request.recompute != "none" or self.are_alone)

    def stays(self, request, units):
        """What units recompute alone and that stays."""
        return self.sum(units if self.waits(request) else [], "recomputed")

    def once(self, request, held):
        """What a device with these units has once: what they share, and the largest workspace, of
        the first region."""
        own = [self.units[u] for u in held]
        return [m for units, m in self.shared if units & held] + [
            [max(u.get("workspace", 0) - self.stays(request, [u])[0] for u in own),
             *[0] * (self.num_regions - 1)]]

    def usual(self, request, first, end, copies, way, sets=0, has_set=True):
        """Bytes of each region without what is shared, and time, of a stage that keeps so many
        copies, of which `sets` were recomputed; way: "none", "full", or the variant of each unit
        (-1: as it is)."""
        units = self.units[first:end]
        if way not in ("none", "full"):
            units = [u if v < 0 else {**u, **u["variants"][v]} for u, v in zip(units, way)]
        kept = self.sum(units[:1], "inputs") if way == "full" else self.sum(units, "stash")
        # what a stage recomputed is inputs and stash; no unit has less of that than without
        own = self.units[first:end]
        parts = [(kept, self.sum(own, "stash"))] if way == "full" else [
            (self.sum([a], "stash"), self.sum([b], "stash")) for a, b in zip(units, own)]
        again = [sum(region) for region in zip(*(map(max, *part) for part in parts))]
        beside = self.stays(request, own)
        again = list(map(max, map(sum, zip(self.sum(own, "stash"), beside)), again)) \
            if self.are_alone else again
        # what is under way besides "memory" is stored whole, even if it was recomputed
        whole = request.more_copies if way == "full" and request.copies in RULES else 0
        copies -= whole
        if whole and not has_set:  # it runs no pass: that one is stored like the others
            copies, whole = copies + 1, whole - 1
        if self.waits(request) and way != "full":
            sets += max(0, request.more_copies - (not has_set))
        sets = min(sets, copies)
        lacks = request.more_copies == 0  # and "memory" has a stash alone
        memory = [m + (copies - sets) * k + sets * a + whole * (s + b) + lacks * b for m, k, a, s, b
                  in zip(self.sum(units, "memory"), kept, again, self.sum(units, "stash"), beside)]
        backward = "" if request.trains() else "backward"
        time = sum(decimal(u.get("cycles", 0)) - decimal(u.get(backward, 0)) for u in units)
        time += self.cut_cycles[first] + self.cut_cycles[end]
        if way == "full" and (copies > 0 or end < len(self.units)) and stores(request):
            time += sum(decimal(u.get("recompute_cycles", 0)) for u in units)
        return memory, time

    def ways(self, request, first, end):
        if request.recompute != "auto":
            return ["full" if request.recompute == "full" else "none"]
        own = itertools.product(*(range(-1, len(u.get("variants", [])))
                                  for u in self.units[first:end]))
        return list(own) + (["full"] if any("inputs" in u for u in self.units) else [])

    def split(self, request, cuts):
        """The stages between these cuts, each a Split with other choices; none where a region is
        too small for them or copies are not told."""
        edges = [0, *cuts, len(self.units)]
        count = len(edges) - 1
        devices = request.device_map or range(count)
        held_by = functools.partial(moments_of, request.copies, request.micro_batches)
        moments = held_by(tuple(devices)) if takes_turns(request.copies, devices) else None
        alone = held_by(tuple(range(count))) if self.waits(request) and moments is None else None
        own_ways = []
        for k, (first, end) in enumerate(zip(edges, edges[1:])):
            copies = copies_of(request, k, count) if moments is None else \
                request.more_copies - 1 + max(sum(held[k]) for held in moments[devices[k]])
            if copies is None:
                return
            sets = copies if self.waits(request) else 0
            if alone is not None and self.num_regions == 1:
                sets = max(held[k][1] for held in alone[k]) - 1  # and as many at one moment
                assert copies == max(sum(held[k]) for held in alone[k] if held[k][1] == sets + 1) \
                    - 1 + request.more_copies
            own_ways.append([(self.usual(request, first, end, copies, way, sets), way)
                             for way in self.ways(request, first, end)])
        for ways in itertools.product(*own_ways):
            loads = self.loads(request, edges, devices, [way for way, _ in ways])
            for device in moments or ():
                loads[device] = self.load_together(request, edges, devices, device,
                                                   moments[device], [own for _, own in ways])
            if all(c is None or b <= c for own in loads.values()
                   for b, c in zip(own, self.capacities)):
                yield Split(tuple(cuts), self.stages(request, edges, devices,
                                                     [way for way, _ in ways], loads))

    def replicated(self, request, cuts):
        """The stages between these cuts with any replicas, each a Split."""
        edges = [0, *cuts, len(self.units)]
        carries = request.carries(0, 1)
        for replicas in itertools.product(range(1, request.num_ipus + 1), repeat=len(cuts) + 1):
            if sum(replicas) > request.num_ipus:
                continue
            stages = []
            for k, (first, end, own) in enumerate(zip(edges, edges[1:], replicas)):
                behind = math.ceil(Fraction(sum(replicas[k + 1:]), own))
                copies = copies_of(request, 0, behind + 1)
                if copies is None:
                    break
                loads, time = self.usual(request, first, end, copies, request.recompute)
                parts = [loads, *self.once(request, set(range(first, end)))]
                memory = [sum(bytes_) for bytes_ in zip(*parts)]
                if any(c is not None and b > c for b, c in zip(memory, self.capacities)):
                    break
                weights = trained(request, self.units[first:end])
                time = math.ceil(time * self.scale / own)
                if request.replica_bandwidth is not None:
                    time = max(time, math.ceil(2 * (own - 1) * weights * self.scale /
                                               (own * request.replica_bandwidth)))
                stages.append(Stage(
                    first, end, sum(replicas[:k]), max(memory), time, self.cuts[end],
                    math.ceil(self.cuts[end] * self.scale / carries) if carries else 0,
                    weights, replicas=own))
            else:
                yield Split(tuple(cuts), stages)

    def loads(self, request, edges, devices, ways, of=None):
        """Bytes of each region of each device."""
        loads = {}
        for device in of or set(devices):
            own = [k for k in range(len(ways)) if devices[k] == device]
            held = {u for k in own for u in range(edges[k], edges[k + 1])}
            parts = [ways[k][0] for k in own] + self.once(request, held)
            loads[device] = [sum(bytes_) for bytes_ in zip(*parts)]
        return loads

    def load_together(self, request, edges, devices, device, moments, own_ways):
        """The same of a device whose stages hold their most at different moments."""
        most = [0] * self.num_regions
        for held in moments:
            ways = [(None, None)] * (len(edges) - 1)
            for k, (kept, sets) in held.items():
                copies = kept + sets - 1 + request.more_copies
                if kept + sets == 0:  # nor what "memory" has of one, nor a further one
                    copies = max(request.more_copies - 1, 0)
                ways[k] = self.usual(request, edges[k], edges[k + 1], copies, own_ways[k],
                                     max(0, sets - 1), sets > 0)
            own = self.loads(request, edges, devices, ways, {device})[device]
            most = list(map(max, most, own))
        return most

    def stages(self, request, edges, devices, ways, loads):
        stages, link = [], 0
        for k, (_, time) in enumerate(ways):
            before, link, end = link, 0, edges[k + 1]
            if k + 1 < len(ways):
                carries = request.carries(devices[k], devices[k + 1])
                link = math.ceil(self.cuts[end] * self.scale / carries) if carries else 0
            speed = request.speeds.get(devices[k], 1)
            stages.append(Stage(edges[k], end, devices[k], max(loads[devices[k]]),
                                math.ceil(time * self.scale / speed) + before + link,
                                self.cuts[end], link,
                                trained(request, self.units[edges[k]:end]),
                                plain=time))
            units, scale = self.units[edges[k]:end], self.scale
            own = sum(decimal(u.get("cycles", 0)) for u in units) * scale
            cuts = (self.cut_cycles[edges[k]] + self.cut_cycles[end]) * scale
            forward = sum(decimal(u["forward"]) for u in units) * scale if self.has_passes \
                else own // 3
            stages[-1].forward = math.ceil((forward + cuts // 2) / Fraction(speed)) + \
                (before + link) // 2
            stages[-1].recomputed = max(0, math.ceil(time * scale / speed) -
                                        math.ceil((own + cuts) / Fraction(speed)))
        return stages


def is_allowed(costs, request, cuts):
    """Whether the constraints allow these cuts (numbers of the units behind them)."""
    count = len(costs.names)
    edges = [0, *cuts, count]
    if request.device_map is not None:
        devices = request.device_map
        if len(devices) != len(edges) - 1:
            return False
    else:
        devices = range(len(edges) - 1)
        if len(devices) > request.num_ipus:
            return False
    layers = [sum(costs.is_layer[a:b]) for a, b in zip(edges, edges[1:])]
    if min(layers) < request.min_layers or max(layers) > (request.max_layers or count):
        return False
    if not all(u + 1 in cuts or u + 1 == count for u in request.cut_after):
        return False
    if any(u + 1 in cuts for u in request.no_cut_after):
        return False
    on = [devices[k] for k in range(len(devices)) for _ in range(edges[k], edges[k + 1])]
    return all(on[a] == on[b] for a, b in request.together) and \
        all(on[u] == d for u, d in request.place)


def splits(costs, request):
    """Every split that the constraints allow, whatever the memory."""
    count = len(costs.names)
    for number in range(count):
        for cuts in itertools.combinations(range(1, count), number):
            if is_allowed(costs, request, cuts):
                for split in (costs.replicated if request.has_replicas else costs.split)(
                        request, cuts):
                    for stage in split.stages:
                        stage.limit = request.limit(stage.device)
                    yield split


def fits(request, split):
    return all(request.limit(s.device) is None or s.memory <= request.limit(s.device)
               for s in split.stages)


def above(request, split):
    """The most that a device needs above its limit, which one exceeds."""
    return max(s.memory - request.limit(s.device) for s in split.stages
               if request.limit(s.device) is not None)


def by_cycles(split, stage):
    """What a stage, or the stages of a device, choose: the fewest cycles, then the least memory."""
    return sum(other.cycles for other in split.stages if other.device == stage.device), stage.memory


def by_memory(split, stage):
    return stage.memory, by_cycles(split, stage)


def settled(found, key):
    """Of each split those whose devices have the least of all choices that are left."""
    least = {}
    for split in found:
        for stage in split.stages:
            own = key(split, stage)
            least[split.cuts, stage.device] = min(own, least.get((split.cuts, stage.device), own))
    return [split for split in found
            if all(key(split, stage) == least[split.cuts, stage.device]
                   for stage in split.stages)]


def best_of(found, objectives, slack=0, told=None):
    """The best split, its values, and the smallest value of each objective within those before it;
    None if there is none. Of equal splits that with the cuts `told`, else with the earliest
    ones."""
    found = [(split.values(objectives), split) for split in found]
    if not found:
        return None
    bounds = []
    for i in range(len(objectives)):
        bounds.append(min(values[i] for values, _ in found))
        most = bounds[i]
        if i + 1 < len(objectives):
            most += math.floor(abs(bounds[i]) * slack / 100)
        found = [f for f in found if f[0][i] <= most]
    values, split = min(found, key=lambda f: (f[1].cuts != told, f[1].rank()))
    return split, values, bounds


def solve(costs, request, told=None):
    """Whether something fits, and the best split or best effort as best_of has it. Where stages
    share devices, equally good splits may be answered: `told` are the cuts of the answer."""
    found = list(splits(costs, request))
    fitting = [split for split in found if fits(request, split)]
    if fitting:
        return True, best_of(fitting, request.objectives, request.slack, told)
    if request.has_replicas:  # the reasons are those of one device for each stage
        return solve(costs, Request(**{**vars(request), "has_replicas": False}))
    if not found:
        return False, None
    least = min(above(request, split) for split in found)
    found = [split for split in found if above(request, split) == least]
    effort = best_of(settled(found, by_memory) if request.recompute == "auto" else found, (),
                     told=told)
    return False, (effort[0], effort[0].values(request.objectives), None)


def front_of(costs, request):
    """All best compromises of the first two objectives, from the smallest first value on."""
    fitting = [split for split in splits(costs, request) if fits(request, split)]
    points = []
    by_first = sorted({tuple(split.values(request.objectives[:2])) for split in fitting})
    for point in by_first:
        if not points or point[1] < points[-1][1][1]:
            own = [s for s in fitting if tuple(s.values(request.objectives[:2])) == point]
            points.append(best_of(own, request.objectives))
    return points


def step_of(request, split, num_ipus):
    """The time of a step, of whose units' undivided cycles a third is forward; None if no order is
    known."""
    rule, ahead = request.copies, None
    if request.copies is None:
        rule = request.schedule
    elif request.copies not in RULES:
        plain = Request(**{**vars(request), "more_copies": 0})
        rule, count = "list", len(split.stages)
        if copies_of(plain, 0, count) is None:
            return None
        ahead = lambda d: copies_of(plain, count - 1 - d, count)
    devices = [stage.device for stage in split.stages]
    lists = plain_step.lists_of(rule, len(devices), num_ipus, request.micro_batches, ahead,
                                devices == devices[::-1] and len(devices) == 2 * num_ipus > 2)
    if lists is None:
        return None
    cost = []
    for before, stage in zip([None, *split.stages], split.stages):
        links = stage.link + (before.link if before else 0)
        forward = (stage.cycles - links) // 3 + links // 2 if stage.forward is None \
            else stage.forward
        forward = stage.cycles if rule == "inference" else min(forward, stage.cycles)
        back = stage.cycles - forward
        is_split = rule in plain_step.WITH_WEIGHTS
        weights = (back - min(stage.recomputed, back)) // 2 if is_split else 0
        cost.append({"F": forward, "B": back - weights, "W": weights})
    return plain_step.longest_path(lists, cost, len(split.stages) - 1)


def check_throughput(own, found, throughput):
    """What is told has the throughput, and the best of those that were found at most its gap more.
    True if it has the best one."""
    best = max(-f[0][0] for f in found)
    gap, is_best = float(own["gap"]), throughput == best
    assert is_best or (own["status"] == "feasible" and
                       float(best / throughput) <= (1 + gap) * (1 + 1e-3 * (gap > 0))), (own, best)
    assert is_best or gap > 0, own
    return is_best


def pipelines_of(costs, request, total, chunks, batch, micro_batch_size, bandwidth, num_ipus,
                 cuts=None):
    """--total-ipus: for a number of IPUs of a pipeline all (rank, step, replicas, micro-batches,
    split), where a rank is (throughput, fewest IPUs, objectives, earliest cuts)."""
    found = []
    objectives = tuple(name for name in request.objectives if name != "throughput")
    for replicas in range(1, total // num_ipus + 1):
        batches = request.micro_batches
        if batch is not None:
            if batch % (replicas * micro_batch_size):
                continue
            batches = batch // (replicas * micro_batch_size)
        own = Request(**{**vars(request), "micro_batches": batches,
                         "device_map": list(range(num_ipus)) * chunks if chunks != "v" else
                         [*range(num_ipus), *reversed(range(num_ipus))]})
        for split in splits(costs, own):
            if not fits(own, split) or cuts not in (None, split.cuts):
                continue
            cycles = split.value("cycles")
            weight = max(split.by_device(lambda stage: stage.parameters).values())
            step = step_of(own, split, num_ipus)
            if step is None:
                step = math.ceil((batches + Fraction(num_ipus - 1, 2 if chunks == "v" else chunks))
                                 * cycles)
            if bandwidth is not None:
                step += math.ceil(Fraction(2 * (replicas - 1) * weight, replicas) *
                                  costs.scale / bandwidth)
            throughput = Fraction(replicas * batches, step) if step else math.inf
            found.append(((-throughput, replicas * num_ipus, split.values(objectives), split.cuts),
                          step, replicas, batches, split))
    return found


def greedy(costs, request):
    """PopLiner's algorithm: whether it has placed all units, and the stages of its last attempt.
    Stages are filled one after another, with as many units as keep the peak within the target."""
    count = len(costs.names)

    def peak(first, end):
        split = next(costs.split(request, [cut for cut in (first, end) if 0 < cut < count]))
        return next(stage.memory for stage in split.stages if stage.first == first)

    for least, percent in itertools.product((3, 2, 1), (50, 60, 70, 80, 90, 100)):
        stages, first = [], 0
        while first < count and len(stages) < request.num_ipus:
            end = first + (least if count - first >= least else 1)
            if peak(first, end) * 100 > request.memory * percent:
                break
            while end < count and peak(first, end + 1) * 100 <= request.memory * percent:
                end += 1
            stages.append(Stage(first, end, len(stages), peak(first, end), 0, 0))
            first = end
        if first == count:
            break
    return first == count, (Split(tuple(s.first for s in stages[1:]), stages), None, None)
