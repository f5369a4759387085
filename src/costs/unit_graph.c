/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/unit_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/id_map.h"
#include "base/numbers.h"

/* ---- The graph ------------------------------------------------------------------------------- */

bool pl_layer_graph_add_node(pl_layer_graph *graph, pl_graph_node node) {
    if (graph->num_nodes >= PL_NONE || node.name == NULL ||
        !pl_arrays_grow(&graph->arrays, &graph->nodes, graph->num_nodes + 1, sizeof node))
        return false;
    graph->nodes[graph->num_nodes++] = node;
    return true;
}

bool pl_layer_graph_add_edge(pl_layer_graph *graph, size_t from, size_t to) {
    if (!pl_arrays_grow(&graph->arrays, &graph->edges, graph->num_edges + 1, sizeof *graph->edges))
        return false;
    graph->edges[graph->num_edges++] = (pl_graph_edge){(uint32_t)from, (uint32_t)to};
    return true;
}

/* ---- Its units ------------------------------------------------------------------------------- */

/* State while the units are found. Arrays are by node. Groups and components are numbered by one of
 * their nodes. */
typedef struct ordering {
    const pl_layer_graph *graph;
    uint32_t *rank;           /* of a node: its place in the order of preference */
    uint32_t *node_of_rank;   /* inverse of rank */
    uint8_t *has_forward;     /* of a group */
    uint32_t *followers_from; /* [num_nodes + 1], index into `followers` by group or component */
    uint32_t *followers;      /* [num_edges] */
    uint32_t *component;      /* of a group; at the end of a node */
    uint32_t *best_rank;      /* of a component */
    uint32_t *waits_for;      /* of a component: edges from components that are not placed yet */
    uint32_t *work[4];        /* scratch */
    pl_arrays arrays;         /* of these */
    pl_unit_graph *units;     /* the result */
} ordering;

typedef struct preference {
    const pl_graph_node *node;
    uint32_t index;
} preference;

static int compare_preferences(const void *left, const void *right) {
    const preference *a = left;
    const preference *b = right;
    if (a->node->is_backward != b->node->is_backward)
        return a->node->is_backward ? 1 : -1;
    if (a->node->number != b->node->number)
        return a->node->number < b->node->number ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static bool rank_nodes(ordering *o) {
    size_t count = o->graph->num_nodes;
    preference *all = pl_arrays_new(&o->arrays, count, sizeof *all);
    if (all == NULL)
        return false;
    for (size_t i = 0; i < count; ++i)
        all[i] = (preference){&o->graph->nodes[i], (uint32_t)i};
    qsort(all, count, sizeof *all, compare_preferences);
    for (size_t i = 0; i < count; ++i) {
        o->node_of_rank[i] = all[i].index;
        o->rank[all[i].index] = (uint32_t)i;
    }
    return true;
}

/* Returns which end of an edge must come first: `from`, `to`, or PL_NONE if neither has to. An edge
 * between two backward nodes, not both of units with forward nodes, counts as an edge in the other
 * direction between artificial forward nodes. */
static uint32_t first_end(const ordering *o, pl_graph_edge edge) {
    const pl_graph_node *from = &o->graph->nodes[edge.from];
    const pl_graph_node *to = &o->graph->nodes[edge.to];
    if (!from->is_backward && !to->is_backward)
        return edge.from;
    if (!from->is_backward || !to->is_backward)
        return PL_NONE;
    return o->has_forward[from->group] && o->has_forward[to->group] ? PL_NONE : edge.to;
}

/* Lists, for each group (or component, or unit, in `of_node`), those that must come after it. */
static void list_followers(ordering *o, const uint32_t *of_node) {
    const pl_layer_graph *graph = o->graph;
    memset(o->followers_from, 0, (graph->num_nodes + 1) * sizeof *o->followers_from);
    for (size_t pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < graph->num_edges; ++i) {
            pl_graph_edge edge = graph->edges[i];
            uint32_t first = first_end(o, edge);
            uint32_t from = of_node[first == edge.to ? edge.to : edge.from];
            uint32_t to = of_node[first == edge.to ? edge.from : edge.to];
            if (first == PL_NONE || from == to)
                continue;
            if (pass == 0)
                ++o->followers_from[from];
            else
                o->followers[--o->followers_from[from]] = to;
        }
        /* ends, which the second pass counts down to the beginnings */
        for (size_t i = 0; pass == 0 && i < graph->num_nodes; ++i)
            o->followers_from[i + 1] += o->followers_from[i];
    }
}

/* Tarjan's algorithm for strongly connected components, of the groups, without recursion. */
static void find_components(ordering *o) {
    size_t count = o->graph->num_nodes;
    uint32_t *found_at = o->work[0]; /* 0: not yet */
    uint32_t *lowest = o->work[1];
    uint32_t *open = o->work[2]; /* found, not yet in a component */
    uint32_t *path = o->work[3];
    uint32_t *next_follower = o->waits_for; /* not in use before the units are placed */
    uint32_t num_found = 0;
    size_t num_open = 0;
    for (size_t i = 0; i < count; ++i)
        o->component[i] = PL_NONE;
    for (size_t root = 0; root < count; ++root) {
        if (o->graph->nodes[root].group != root || found_at[root] != 0)
            continue;
        size_t depth = 0;
        path[depth++] = (uint32_t)root;
        while (depth > 0) {
            uint32_t at = path[depth - 1];
            if (found_at[at] == 0) {
                found_at[at] = lowest[at] = ++num_found;
                next_follower[at] = o->followers_from[at];
                open[num_open++] = at;
            }
            if (next_follower[at] < o->followers_from[at + 1]) {
                uint32_t to = o->followers[next_follower[at]++];
                if (found_at[to] == 0)
                    path[depth++] = to;
                else if (o->component[to] == PL_NONE && found_at[to] < lowest[at])
                    lowest[at] = found_at[to];
                continue;
            }
            if (lowest[at] == found_at[at]) {
                do
                    o->component[open[--num_open]] = at;
                while (open[num_open] != at);
            }
            --depth;
            if (depth > 0 && lowest[at] < lowest[path[depth - 1]])
                lowest[path[depth - 1]] = lowest[at];
        }
    }
}

/* Numbers the components as units, in topological order. */
static void place_components(ordering *o) {
    size_t count = o->graph->num_nodes;
    pl_unit_graph *units = o->units;
    uint8_t *is_ready = (uint8_t *)o->work[1]; /* of a rank */
    uint32_t *unit_of_component = o->work[2];
    size_t rank = 0; /* of the first unit that may be ready */
    memset(o->waits_for, 0, count * sizeof *o->waits_for);
    memset(is_ready, 0, count);
    for (size_t i = count; i-- > 0;) /* the best rank is written last */
        o->best_rank[o->component[o->node_of_rank[i]]] = (uint32_t)i;
    for (size_t i = 0; i < o->followers_from[count]; ++i)
        ++o->waits_for[o->followers[i]];
    for (size_t i = 0; i < count; ++i)
        is_ready[o->best_rank[i]] |= o->component[i] == i && o->waits_for[i] == 0;
    for (const uint8_t *next; (next = memchr(is_ready + rank, 1, count - rank)) != NULL;) {
        rank = (size_t)(next - is_ready);
        uint32_t component = o->component[o->node_of_rank[rank]];
        units->first_node[units->num_units] = o->node_of_rank[rank];
        unit_of_component[component] = (uint32_t)units->num_units++;
        is_ready[rank] = 0;
        for (size_t i = o->followers_from[component]; i < o->followers_from[component + 1]; ++i) {
            const uint32_t best = o->best_rank[o->followers[i]];
            is_ready[best] = --o->waits_for[o->followers[i]] == 0;
            rank = is_ready[best] ? pl_fewer(rank, best) : rank;
        }
    }
    for (size_t i = 0; i < count; ++i)
        units->unit_of_node[i] = unit_of_component[o->component[i]];
}

/* Finds the units and their followers. False when memory is short. */
static bool order_nodes(ordering *o) {
    const pl_layer_graph *graph = o->graph;
    pl_unit_graph *units = o->units;
    size_t count = graph->num_nodes;
    uint32_t **by_node[] = {&o->rank,      &o->node_of_rank, &o->component,
                            &o->best_rank, &o->waits_for,    &o->work[0],
                            &o->work[1],   &o->work[2],      &o->work[3]};
    for (size_t i = 0; i < sizeof by_node / sizeof *by_node; ++i)
        *by_node[i] = pl_arrays_new(&o->arrays, count, sizeof(uint32_t));
    o->has_forward = pl_arrays_new(&o->arrays, count, 1);
    units->unit_of_node = pl_arrays_new(&units->arrays, count, sizeof(uint32_t));
    units->first_node = pl_arrays_new(&units->arrays, count, sizeof(uint32_t));
    units->followers_from = pl_arrays_new(&units->arrays, count + 1, sizeof(uint32_t));
    units->followers = pl_arrays_new(&units->arrays, graph->num_edges, sizeof(uint32_t));
    o->followers_from = units->followers_from;
    o->followers = units->followers;
    if (o->arrays.failed || units->arrays.failed || !rank_nodes(o))
        return false;

    uint32_t *group = units->unit_of_node; /* borrowed: it is filled at the end */
    for (size_t i = 0; i < count; ++i) {
        group[i] = graph->nodes[i].group;
        if (!graph->nodes[i].is_backward)
            o->has_forward[group[i]] = 1;
    }
    list_followers(o, group);
    find_components(o);
    /* a group's first node has the lowest index, so its component is known */
    for (size_t i = 0; i < count; ++i)
        o->component[i] = o->component[group[i]];
    list_followers(o, o->component);
    place_components(o);
    list_followers(o, units->unit_of_node);
    return true;
}

/* ---- What they cost ------------------------------------------------------------------------- */

/* Lists the targets of edges by source: those of node i begin at targets[targets_from[i]]. */
static void list_targets(const pl_layer_graph *graph, uint32_t *targets_from, uint32_t *targets) {
    for (size_t i = 0; i < graph->num_edges; ++i)
        ++targets_from[graph->edges[i].from];
    for (size_t i = 0; i < graph->num_nodes; ++i)
        targets_from[i + 1] += targets_from[i];
    for (size_t i = 0; i < graph->num_edges; ++i)
        targets[--targets_from[graph->edges[i].from]] = graph->edges[i].to;
}

/* Adds the net of a node, unless it is within one unit. */
static void add_net(pl_unit_graph *units, const pl_layer_graph *graph, size_t node,
                    const uint32_t *targets, size_t num_targets) {
    uint32_t *ends = units->net_units + units->nets_from[units->num_nets];
    size_t num_ends = 0;
    size_t num_distinct = 0;
    ends[num_ends++] = units->unit_of_node[node];
    for (size_t i = 0; i < num_targets; ++i)
        ends[num_ends++] = units->unit_of_node[targets[i]];
    qsort(ends, num_ends, sizeof *ends, pl_compare_places);
    for (size_t i = 0; i < num_ends; ++i)
        if (i == 0 || ends[i] != ends[num_distinct - 1])
            ends[num_distinct++] = ends[i];
    if (num_distinct < 2 || graph->nodes[node].traffic == 0)
        return;
    units->net_traffic[units->num_nets] = graph->nodes[node].traffic;
    units->nets_from[units->num_nets + 1] =
        units->nets_from[units->num_nets] + (uint32_t)num_distinct;
    ++units->num_nets;
}

static bool add_costs(pl_unit_graph *units, const pl_layer_graph *graph) {
    size_t num_nodes = graph->num_nodes;
    pl_arrays *own = &units->arrays;
    pl_arrays scratch = {0};
    uint32_t *targets_from = pl_arrays_new(&scratch, num_nodes + 1, sizeof *targets_from);
    uint32_t *targets = pl_arrays_new(&scratch, graph->num_edges, sizeof *targets);
    units->cycles = pl_arrays_new(own, units->num_units, sizeof *units->cycles);
    units->memory_bytes = pl_arrays_new(own, units->num_units, sizeof *units->memory_bytes);
    units->nets_from = pl_arrays_new(own, num_nodes + 1, sizeof *units->nets_from);
    units->net_units = pl_arrays_new(own, num_nodes + graph->num_edges, sizeof(uint32_t));
    units->net_traffic = pl_arrays_new(own, num_nodes, sizeof *units->net_traffic);
    bool done = !scratch.failed && !own->failed;
    if (done)
        list_targets(graph, targets_from, targets);
    for (size_t i = 0; done && i < num_nodes; ++i) {
        units->cycles[units->unit_of_node[i]] += graph->nodes[i].cycles;
        units->memory_bytes[units->unit_of_node[i]] += graph->nodes[i].memory_bytes;
        add_net(units, graph, i, targets + targets_from[i], targets_from[i + 1] - targets_from[i]);
    }
    pl_arrays_free(&scratch);
    return done;
}

bool pl_unit_graph_find(pl_unit_graph *units, const pl_layer_graph *graph) {
    ordering o = {.graph = graph, .units = units};
    bool done = order_nodes(&o);
    pl_arrays_free(&o.arrays);
    return done && add_costs(units, graph);
}

/* ---- Their chain ----------------------------------------------------------------------------- */

bool pl_unit_graph_places(const pl_unit_graph *units, uint32_t *place) {
    pl_arrays arrays = {0};
    uint32_t *waits_for = pl_arrays_new(&arrays, units->num_units, sizeof *waits_for);
    uint32_t *queue = pl_arrays_new(&arrays, units->num_units, sizeof *queue);
    size_t num_ready = 0;
    for (size_t i = 0; !arrays.failed && i < units->followers_from[units->num_units]; ++i)
        ++waits_for[units->followers[i]];
    for (size_t unit = 0; !arrays.failed && unit < units->num_units; ++unit)
        if (waits_for[unit] == 0)
            queue[num_ready++] = (uint32_t)unit;
    for (size_t i = 0; i < num_ready; ++i) {
        const uint32_t unit = queue[i];
        const size_t num_before = num_ready;
        place[unit] = (uint32_t)i;
        for (size_t k = units->followers_from[unit]; k < units->followers_from[unit + 1]; ++k)
            if (--waits_for[units->followers[k]] == 0)
                queue[num_ready++] = units->followers[k];
        qsort(queue + num_before, num_ready - num_before, sizeof *queue, pl_compare_places);
    }
    const bool done = !arrays.failed;
    pl_arrays_free(&arrays);
    return done;
}
