#!/usr/bin/env python3
"""Operator graphs and their chains against a second implementation: units by reachability, orders
by their words in docs/costs.md, splits by enumeration, loads node by node on the graph itself.

    operator_graphs_test.py POPLINER [GRAPHS...]

The small graphs are random ones that train, with backward nodes that have no forward node. The
large one is made up; GRAPHS are published ones, which are left out if they are not there.
The full run takes many times as many.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import fractions
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases


# ---- units, by reachability ----

def mates(nodes):
    """Which nodes are of a unit that has a forward node, by index, before circles are joined."""
    forward = {n["colorClass"] for n in nodes if not n["isBackwardNode"] and "colorClass" in n}
    return [not n["isBackwardNode"] or n.get("colorClass") in forward for n in nodes]


def ordered_pairs(graph):
    """(before, behind) of indices, for each edge that orders its ends."""
    nodes, index = graph["nodes"], {n["id"]: i for i, n in enumerate(graph["nodes"])}
    has_mate = mates(nodes)
    for edge in graph["edges"]:
        a, b = index[edge["sourceId"]], index[edge["destId"]]
        backward = nodes[a]["isBackwardNode"] + nodes[b]["isBackwardNode"]
        if backward == 0:
            yield a, b
        elif backward == 2 and not (has_mate[a] and has_mate[b]):
            yield b, a


def find_units(graph):
    """The units as lists of node indices in the order by number, and who comes before whom."""
    nodes = graph["nodes"]
    count = len(nodes)
    behind = [set() for _ in range(count)]
    for a, b in ordered_pairs(graph):
        behind[a].add(b)
    by_colour = {}
    for i, node in enumerate(nodes):
        if "colorClass" in node:
            by_colour.setdefault(node["colorClass"], []).append(i)
    for same in by_colour.values():
        for a, b in itertools.permutations(same, 2):
            behind[a].add(b)

    def reach(i):
        seen, waiting = set(), [i]
        while waiting:
            for k in behind[waiting.pop()]:
                if k not in seen:
                    seen.add(k)
                    waiting.append(k)
        return seen

    reached = [reach(i) for i in range(count)]
    rank = lambda i: (nodes[i]["isBackwardNode"], nodes[i]["id"])
    units, placed = [], set()
    left = {tuple(sorted([i] + [k for k in reached[i] if i in reached[k] and k != i]))
            for i in range(count)}
    while left:
        ready = [u for u in left
                 if all(i in placed or i in u for i in range(count)
                        if any(k in reached[i] for k in u))]
        unit = min(ready, key=lambda u: min(map(rank, u)))
        left.remove(unit)
        placed.update(unit)
        units.append(sorted(unit, key=rank))
    unit_of = {i: u for u, unit in enumerate(units) for i in unit}
    pairs = {(unit_of[a], unit_of[b]) for a, b in ordered_pairs(graph)}
    return units, {(a, b) for a, b in pairs if a != b}


# ---- numbers, exact ----

def billionths(number):
    return int(fractions.Fraction(str(number)) * 10 ** 9)


def load(graph, inside):
    """The load of a stage that holds the nodes of these ids."""
    total = sum(billionths(n["fpgaLatency"]) for n in graph["nodes"] if n["id"] in inside)
    crossing = {}
    for e in graph["edges"]:
        if (e["sourceId"] in inside) != (e["destId"] in inside):
            crossing[e["sourceId"]] = billionths(e["cost"])
    return total + sum(crossing.values())


def size(graph, inside):
    return sum(n["size"] for n in graph["nodes"] if n["id"] in inside)


# ---- orders ----

def breadth_first(units, pairs):
    """The units breadth first, as numbers of units."""
    chain, since = [], {}
    while len(chain) < len(units):
        ready = [u for u in range(len(units)) if u not in chain
                 and all(a in chain for a, b in pairs if b == u)]
        for u in ready:
            since.setdefault(u, len(chain))
        chain.append(min(ready, key=lambda u: (since[u], u)))
    return chain


def best_split(graph, units, chain, most_stages, limit):
    """The smallest largest load of all splits of a chain; None if none fits."""
    nodes = graph["nodes"]
    values = {}
    for first, end in itertools.combinations(range(len(chain) + 1), 2):
        inside = {nodes[i]["id"] for u in chain[first:end] for i in units[u]}
        values[first, end] = load(graph, inside) if size(graph, inside) <= limit else None
    best = None
    for num_cuts in range(min(most_stages, len(chain))):
        for cuts in itertools.combinations(range(1, len(chain)), num_cuts):
            ends = (0,) + cuts + (len(chain),)
            loads = [values[pair] for pair in zip(ends, ends[1:])]
            if None not in loads and (best is None or max(loads) < best):
                best = max(loads)
    return best


# ---- popliner ----

def solve(popliner, path, *options):
    run = subprocess.run([popliner, path, "--solve", "--format", "json", *options],
                         capture_output=True, encoding="utf-8")
    assert run.returncode in (0, 1), run.stderr
    answer = json.loads(run.stdout)
    found = re.search(r"chain (.*); another order may be better", run.stderr)
    is_proven = "sweep" not in answer and answer["graph"] is not None and answer["graph"]["proven"]
    assert is_proven or answer["order"] == (found and found.group(1)), run.stderr
    return answer, answer["order"]


def has_other_order(num_units, pairs):
    """Whether at some place two units are ready."""
    placed = set()
    while len(placed) < num_units:
        ready = [unit for unit in range(num_units) if unit not in placed and
                 all(before in placed for before, after in pairs if after == unit)]
        if len(ready) > 1:
            return True
        placed.update(ready)
    return False


def check_answer(graph, units, answer):
    """That the stages obey the order of the graph and cost what they are said to; the largest."""
    nodes = graph["nodes"]
    stage_of = {}
    by_name = {nodes[unit[0]]["name"]: unit for unit in units}
    for k, stage in enumerate(answer["stages"]):
        names = set()
        for name in stage["layers"]:
            for i in by_name.pop(name):
                stage_of[i] = k
                names.add(nodes[i]["name"])
        assert set(stage.get("nodes", names)) == names, stage
    assert not by_name and len(stage_of) == len(nodes)
    for a, b in ordered_pairs(graph):
        assert stage_of[a] <= stage_of[b], (nodes[a], nodes[b])
    loads = []
    for k in range(len(answer["stages"])):
        inside = {nodes[i]["id"] for i, stage in stage_of.items() if stage == k}
        assert size(graph, inside) <= graph["maxSizePerFPGA"]
        loads.append(load(graph, inside))
    return max(loads)


# ---- graphs ----

def add_node(graph, latency, is_backward, colour=None, bytes=0):
    node = {"id": len(graph["nodes"]), "name": f"n{len(graph['nodes'])}", "size": bytes,
            "fpgaLatency": latency, "isBackwardNode": is_backward}
    if colour is not None:
        node["colorClass"] = colour
    graph["nodes"].append(node)
    return node["id"]


def add_edge(graph, a, b, cost):
    graph["edges"].append({"sourceId": a, "destId": b, "cost": cost})


def random_graph(r):
    graph = {"nodes": [], "edges": [], "maxFPGAs": r.randint(1, 4),
             "maxSizePerFPGA": r.choice([300, 500, 1000])}
    num_layers, num_orphans = r.randint(1, 5), r.randint(0, 4)
    latency = lambda: r.choice([0, 1, r.randint(1, 9999) / 1000])
    bytes = lambda: r.choice([0, r.randint(1, 300)])
    for i in range(num_layers):
        add_node(graph, latency(), False, r.choice([i, i, None]), bytes())
    backward = list(range(num_layers)) + [r.choice([None, 100, 101]) for _ in range(num_orphans)]
    r.shuffle(backward)
    for colour in backward:
        add_node(graph, latency(), True, colour, bytes())
    cost = {n["id"]: r.choice([0, r.randint(1, 3000) / 1000]) for n in graph["nodes"]}
    for _ in range(r.randint(0, 4 * num_layers)):
        a, b = r.sample(range(len(graph["nodes"])), 2)
        if graph["nodes"][a]["isBackwardNode"] and not graph["nodes"][b]["isBackwardNode"]:
            a, b = b, a
        if graph["nodes"][b]["isBackwardNode"] == graph["nodes"][a]["isBackwardNode"]:
            a, b = min(a, b), max(a, b)
        add_edge(graph, a, b, cost[a])
    return graph


def deep_graph(num_layers, num_stages):
    """A transformer, more or less: in each layer four forward nodes with a backward one each, and a
    sum of gradients that has no forward node."""
    graph = {"nodes": [], "edges": [], "maxFPGAs": num_stages, "maxSizePerFPGA": 10 ** 12}
    forward = [add_node(graph, 1 + i % 3, False, i, 1000) for i in range(4 * num_layers)]
    for a, b in zip(forward, forward[1:]):
        add_edge(graph, a, b, 0.5)
    for a, b in zip(forward[::4], forward[4::4]):
        add_edge(graph, a, b, 0.5)
    backward = {}
    total = None
    for i in reversed(range(4 * num_layers)):
        backward[i] = add_node(graph, 2 + i % 3, True, i)
        add_edge(graph, forward[i], backward[i], 0.5)
        if i + 1 in backward and i % 4 != 3:
            add_edge(graph, backward[i + 1], backward[i], 0.5)
        if i % 4 == 3 and total is not None:
            add_edge(graph, total, backward[i], 0.5)
        if i % 4 == 0:
            total = add_node(graph, 0.75, True)
            add_edge(graph, backward[i], total, 0.5)
            add_edge(graph, backward[i + 1], total, 0.5)
    return graph


def with_forward_nodes(graph):
    """The same with artificial forward nodes for backward ones that have none, and their edges
    mirrored: what the graph's authors do."""
    graph = json.loads(json.dumps(graph))
    nodes = graph["nodes"]
    has_mate = mates(nodes)
    forward, colours, next_id = {}, 10 ** 6, max(n["id"] for n in nodes) + 1
    for i in range(len(nodes)):
        if has_mate[i]:
            continue
        if "colorClass" not in nodes[i]:
            nodes[i]["colorClass"] = colours = colours + 1
        if nodes[i]["colorClass"] not in forward:
            forward[nodes[i]["colorClass"]] = next_id
            nodes.append({"id": next_id, "name": f"artificial{next_id}", "fpgaLatency": 0,
                          "size": 0, "isBackwardNode": False, "colorClass": nodes[i]["colorClass"]})
            next_id += 1
    of_colour = {n["colorClass"]: n["id"] for n in reversed(nodes)
                 if not n["isBackwardNode"] and "colorClass" in n}
    by_id = {n["id"]: n for n in nodes}
    for e in list(graph["edges"]):
        a, b = by_id[e["sourceId"]], by_id[e["destId"]]
        if a["isBackwardNode"] and b["isBackwardNode"] and (
                a["colorClass"] in forward or b["colorClass"] in forward):
            graph["edges"].append({"sourceId": of_colour[b["colorClass"]],
                                   "destId": of_colour[a["colorClass"]], "cost": 0})
    return graph


def write(directory, graph):
    path = os.path.join(directory, "graph.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)
    return path


# ---- tests ----

def check_small(popliner, directory, seed):
    """One random graph: the chain, the order that is told, its split."""
    r = random.Random(seed)
    graph = random_graph(r)
    units, pairs = find_units(graph)
    asked = r.choice([None, r.randint(1, 5)])
    stages = asked if asked is not None else graph["maxFPGAs"]
    best, named = None, "by number"
    for name, chain in (("by number", range(len(units))),
                        ("breadth first", breadth_first(units, pairs))):
        value = best_split(graph, units, list(chain), stages, graph["maxSizePerFPGA"])
        if value is not None and (best is None or value < best):
            best, named = value, name
    options = [] if asked is None else ["--num-ipus", str(asked)]
    # a range of numbers of IPUs has the better chain, for as many as the file says
    graph["maxFPGAs"] = stages
    swept, order = solve(popliner, write(directory, graph), "--num-ipus", f"{stages}..{stages}")
    chain = swept["results"][0]
    is_free = has_other_order(len(units), pairs)
    assert (order is not None) == is_free, (seed, order)
    assert chain["status"] == ("infeasible" if best is None else "optimal"), (seed, swept)
    if best is not None:
        assert order == named or not is_free, (seed, order, named)
        assert billionths(chain["objectives"][0]["value"]) == best, (seed, swept, best)
    answer, _ = solve(popliner, write(directory, graph), *options)
    assert is_free == (answer["graph"] is not None), (seed, answer)
    assert best is None or answer["status"] == "optimal", (seed, answer)
    if answer["status"] != "optimal":
        return order
    value = check_answer(graph, units, answer)
    assert billionths(answer["objectives"][0]["value"]) == value, (seed, answer, value)
    assert best is None or (value <= best if is_free else value == best), (seed, answer, best)
    return order


def check_like_authors(popliner, directory, path):
    """A graph that trains: its split is worth what is told, and hardly more than with artificial
    nodes in the file."""
    with open(path, encoding="utf-8") as file:
        graph = json.load(file, parse_float=str)
    for part in graph["nodes"] + graph["edges"]:
        for key in ("fpgaLatency", "cost"):
            if key in part:
                part[key] = f"{float(part[key]):.9f}"
        part["size"] = float(part.get("size", 0))
    for node in graph["nodes"]:
        if node.get("colorClass", 0) is None:
            del node["colorClass"]
    graph["maxSizePerFPGA"] = float(graph["maxSizePerFPGA"])
    answer, order = solve(popliner, path)
    value = check_answer(graph, find_units(graph)[0], answer)
    told = billionths(answer["objectives"][0]["value"])
    assert abs(value - told) <= len(graph["nodes"]), (value, told)
    for part in graph["nodes"] + graph["edges"]:
        for key in ("fpgaLatency", "cost"):
            if key in part:
                part[key] = float(part[key])
    mirrored, _ = solve(popliner, write(directory, with_forward_nodes(graph)))
    other = mirrored["objectives"][0]["value"]
    assert told <= 1.01 * billionths(other), (path, told, other)
    print(f"{os.path.basename(path)}: {told / 1e9:.6f} {order}; artificial nodes {other:.6f}")


def main():
    popliner, graphs = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as directory:
        orders = {}
        for seed in cases.seeds(80, 400, 1500):
            order = check_small(popliner, directory, seed)
            orders[order] = orders.get(order, 0) + 1
        print(f"small graphs: {orders}")
        assert cases.is_enough(len(orders) > 2)

        graph = deep_graph(40, 8)
        path = os.path.join(directory, "deep.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)
        check_like_authors(popliner, directory, path)
        value = solve(popliner, path)[0]["objectives"][0]["value"]
        average = sum(n["fpgaLatency"] for n in graph["nodes"]) / graph["maxFPGAs"]
        assert value < 1.1 * average, (value, average)

        for path in graphs:
            if os.path.exists(path):
                check_like_authors(popliner, directory, path)
            else:
                print(f"missing: {path}")


main()
