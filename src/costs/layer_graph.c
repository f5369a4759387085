/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/layer_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "costs/costs.h"
#include "costs/interval_sums.h"

bool pl_layer_graph_add_node(pl_layer_graph *graph, pl_graph_node node) {
    if (graph->num_nodes >= PL_NONE || node.name == NULL ||
        !pl_grow(&graph->nodes, &graph->nodes_capacity, graph->num_nodes + 1, sizeof node)) {
        free(node.name);
        return false;
    }
    graph->nodes[graph->num_nodes++] = node;
    return true;
}

bool pl_layer_graph_add_edge(pl_layer_graph *graph, size_t from, size_t to) {
    if (!pl_grow(&graph->edges, &graph->edges_capacity, graph->num_edges + 1, sizeof *graph->edges))
        return false;
    graph->edges[graph->num_edges++] = (pl_graph_edge){(uint32_t)from, (uint32_t)to};
    return true;
}

void pl_layer_graph_free(pl_layer_graph *graph) {
    for (size_t i = 0; i < graph->num_nodes; ++i)
        free(graph->nodes[i].name);
    free(graph->nodes);
    free(graph->edges);
    *graph = (pl_layer_graph){0};
}

/* ---- The chain ------------------------------------------------------------------------------ */

/* What is known while the units are found. Arrays are by node; groups and components go by the
 * number of one of their nodes. */
typedef struct ordering {
    const pl_layer_graph *graph;
    uint32_t *rank;           /* place in the order of preference */
    uint32_t *node_of_rank;   /* the other way round */
    uint8_t *has_forward;     /* of a group */
    uint32_t *followers_from; /* [num_nodes + 1] into `followers`, of a group or component */
    uint32_t *followers;      /* [num_edges] */
    uint32_t *component;      /* of a group; of a node, once they are known */
    uint32_t *best_rank;      /* of a component */
    uint32_t *waits_for;      /* of a component: edges from what is not placed yet */
    uint32_t *unit_of_node;
    uint32_t *work[4]; /* scratch */
    size_t num_units;
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
    preference *all = pl_new_array(count, sizeof *all);
    if (all == NULL)
        return false;
    for (size_t i = 0; i < count; ++i)
        all[i] = (preference){&o->graph->nodes[i], (uint32_t)i};
    qsort(all, count, sizeof *all, compare_preferences);
    for (size_t i = 0; i < count; ++i) {
        o->node_of_rank[i] = all[i].index;
        o->rank[all[i].index] = (uint32_t)i;
    }
    free(all);
    return true;
}

/* Whether an edge says which of two units comes first. */
static bool orders(const ordering *o, pl_graph_edge edge) {
    const pl_graph_node *from = &o->graph->nodes[edge.from];
    const pl_graph_node *to = &o->graph->nodes[edge.to];
    if (!from->is_backward && !to->is_backward)
        return true;
    return !o->has_forward[from->group] && !o->has_forward[to->group];
}

/* Lists whom each group (or component, in `of_node`) has to come before. */
static void list_followers(ordering *o, const uint32_t *of_node) {
    const pl_layer_graph *graph = o->graph;
    memset(o->followers_from, 0, (graph->num_nodes + 1) * sizeof *o->followers_from);
    for (size_t pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < graph->num_edges; ++i) {
            uint32_t from = of_node[graph->edges[i].from];
            uint32_t to = of_node[graph->edges[i].to];
            if (from == to || !orders(o, graph->edges[i]))
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

/* Tarjan's strongly connected components of the groups, without recursion. */
static void find_components(ordering *o) {
    size_t count = o->graph->num_nodes;
    uint32_t *found_at = o->work[0]; /* 0: not yet */
    uint32_t *lowest = o->work[1];
    uint32_t *open = o->work[2]; /* found, without a component yet */
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

/* A heap of ranks, the smallest on top. */
static void push(uint32_t *heap, size_t *count, uint32_t rank) {
    size_t at = (*count)++;
    for (; at > 0 && heap[(at - 1) / 2] > rank; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = rank;
}

static uint32_t pop(uint32_t *heap, size_t *count) {
    uint32_t top = heap[0];
    uint32_t last = heap[--*count];
    size_t at = 0;
    for (size_t child = 1; child < *count; child = 2 * at + 1) {
        if (child + 1 < *count && heap[child + 1] < heap[child])
            ++child;
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* Numbers the components as units, in topological order. The rank of the first node of each unit
 * ends up in work[0]. */
static void place_components(ordering *o) {
    size_t count = o->graph->num_nodes;
    uint32_t *first_rank = o->work[0];
    uint32_t *heap = o->work[1];
    uint32_t *unit_of_component = o->work[2];
    size_t num_ready = 0;
    memset(o->waits_for, 0, count * sizeof *o->waits_for);
    for (size_t i = count; i-- > 0;) /* the best one is written last */
        o->best_rank[o->component[o->node_of_rank[i]]] = (uint32_t)i;
    for (size_t i = 0; i < o->followers_from[count]; ++i)
        ++o->waits_for[o->followers[i]];
    for (size_t i = 0; i < count; ++i)
        if (o->component[i] == i && o->waits_for[i] == 0)
            push(heap, &num_ready, o->best_rank[i]);
    while (num_ready > 0) {
        uint32_t rank = pop(heap, &num_ready);
        uint32_t component = o->component[o->node_of_rank[rank]];
        first_rank[o->num_units] = rank;
        unit_of_component[component] = (uint32_t)o->num_units++;
        for (size_t i = o->followers_from[component]; i < o->followers_from[component + 1]; ++i)
            if (--o->waits_for[o->followers[i]] == 0)
                push(heap, &num_ready, o->best_rank[o->followers[i]]);
    }
    for (size_t i = 0; i < count; ++i)
        o->unit_of_node[i] = unit_of_component[o->component[i]];
}

static void free_ordering(ordering *o) {
    free(o->rank);
    free(o->node_of_rank);
    free(o->has_forward);
    free(o->followers_from);
    free(o->followers);
    free(o->component);
    free(o->best_rank);
    free(o->waits_for);
    free(o->unit_of_node);
    for (size_t i = 0; i < 4; ++i)
        free(o->work[i]);
}

/* Finds unit_of_node, num_units and the first nodes' ranks; false when memory is short. */
static bool order_nodes(ordering *o) {
    const pl_layer_graph *graph = o->graph;
    size_t count = graph->num_nodes;
    uint32_t **by_node[] = {&o->rank,         &o->node_of_rank, &o->component, &o->best_rank,
                            &o->waits_for,    &o->work[0],      &o->work[1],   &o->work[2],
                            &o->unit_of_node, &o->work[3]};
    for (size_t i = 0; i < sizeof by_node / sizeof *by_node; ++i) {
        *by_node[i] = pl_new_array(count, sizeof(uint32_t));
        if (*by_node[i] == NULL)
            return false;
    }
    o->has_forward = pl_new_array(count, 1);
    o->followers_from = pl_new_array(count + 1, sizeof *o->followers_from);
    o->followers = pl_new_array(graph->num_edges, sizeof *o->followers);
    if (o->has_forward == NULL || o->followers_from == NULL || o->followers == NULL ||
        !rank_nodes(o))
        return false;

    uint32_t *group = o->unit_of_node; /* not known before the end */
    for (size_t i = 0; i < count; ++i) {
        group[i] = graph->nodes[i].group;
        if (!graph->nodes[i].is_backward)
            o->has_forward[group[i]] = 1;
    }
    list_followers(o, group);
    find_components(o);
    for (size_t i = 0; i < count; ++i) /* a group's first node is its lowest, so it is ready */
        o->component[i] = o->component[group[i]];
    list_followers(o, o->component);
    place_components(o);
    return true;
}

/* ---- Its costs ------------------------------------------------------------------------------ */

typedef struct amounts {
    pl_interval_sums sums; /* 0: cycles, 1: bytes */
    uint64_t *of_units;    /* [2 * num_units] */
    uint64_t *cut_changes; /* [num_units + 1] */
    uint32_t *targets_from;
    uint32_t *targets; /* the units that the edges of each node lead to */
    size_t *ends;      /* the units of one node's edges */
} amounts;

static int compare_units(const void *left, const void *right) {
    const size_t *a = left;
    const size_t *b = right;
    return (*a > *b) - (*a < *b);
}

/* The traffic of a node: over which cuts, and for which intervals. */
static bool add_traffic(amounts *a, const ordering *o, size_t node) {
    uint64_t traffic = o->graph->nodes[node].traffic;
    size_t num_ends = 0;
    size_t num_distinct = 0;
    if (traffic == 0)
        return true;
    a->ends[num_ends++] = o->unit_of_node[node];
    for (size_t i = a->targets_from[node]; i < a->targets_from[node + 1]; ++i)
        a->ends[num_ends++] = a->targets[i];
    qsort(a->ends, num_ends, sizeof *a->ends, compare_units);
    for (size_t i = 0; i < num_ends; ++i)
        if (i == 0 || a->ends[i] != a->ends[i - 1])
            a->ends[num_distinct++] = a->ends[i];
    /* every edge begins at the node, so one of them crosses each cut between the outermost ends */
    a->cut_changes[a->ends[0] + 1] += traffic;
    a->cut_changes[a->ends[num_distinct - 1] + 1] -= traffic;
    return !o->graph->traffic_takes_cycles ||
           pl_interval_sums_add_parted(&a->sums, a->ends, num_distinct, (uint64_t[]){traffic, 0});
}

static bool gather_amounts(amounts *a, const ordering *o) {
    const pl_layer_graph *graph = o->graph;
    a->of_units = pl_new_array(2 * o->num_units, sizeof *a->of_units);
    a->cut_changes = pl_new_array(o->num_units + 1, sizeof *a->cut_changes);
    a->targets_from = pl_new_array(graph->num_nodes + 1, sizeof *a->targets_from);
    a->targets = pl_new_array(graph->num_edges, sizeof *a->targets);
    a->ends = pl_new_array(graph->num_edges + 1, sizeof *a->ends);
    if (!pl_interval_sums_init(&a->sums, o->num_units, 2) || a->of_units == NULL ||
        a->cut_changes == NULL || a->targets_from == NULL || a->targets == NULL || a->ends == NULL)
        return false;

    for (size_t i = 0; i < graph->num_edges; ++i)
        ++a->targets_from[graph->edges[i].from];
    for (size_t i = 0; i < graph->num_nodes; ++i)
        a->targets_from[i + 1] += a->targets_from[i];
    for (size_t i = 0; i < graph->num_edges; ++i)
        a->targets[--a->targets_from[graph->edges[i].from]] = o->unit_of_node[graph->edges[i].to];

    for (size_t i = 0; i < graph->num_nodes; ++i) {
        a->of_units[2 * o->unit_of_node[i]] += graph->nodes[i].cycles;
        a->of_units[2 * o->unit_of_node[i] + 1] += graph->nodes[i].memory_bytes;
        if (!add_traffic(a, o, i))
            return false;
    }
    for (size_t unit = 0; unit < o->num_units; ++unit)
        if (!pl_interval_sums_add(&a->sums, &unit, 1, &a->of_units[2 * unit]))
            return false;
    return true;
}

static void free_amounts(amounts *a) {
    pl_interval_sums_free(&a->sums);
    free(a->of_units);
    free(a->cut_changes);
    free(a->targets_from);
    free(a->targets);
    free(a->ends);
}

static void fill_table(popliner_costs *costs, amounts *a) {
    size_t num_units = popliner_costs_num_units(costs);
    uint64_t cut = a->cut_changes[0];
    for (size_t unit = 1; unit < num_units; ++unit) {
        cut += a->cut_changes[unit];
        pl_costs_set_cut(costs, unit, cut);
    }
    for (size_t first = 0; first < num_units; ++first) {
        pl_interval_sums_begin(&a->sums);
        for (size_t last = first; last < num_units; ++last) {
            const uint64_t *totals = pl_interval_sums_extend(&a->sums);
            pl_costs_set_cycles(costs, first, last, totals[0]);
            pl_costs_set_peak(costs, first, last, 1, totals[1]);
        }
    }
}

popliner_status pl_layer_graph_fill(const pl_layer_graph *graph, const char *path,
                                    popliner_costs_file *file, popliner_error *error) {
    ordering o = {.graph = graph};
    amounts a = {0};
    popliner_status status = POPLINER_OK;
    if (graph->num_nodes == 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: the graph has no nodes", path);
    if (graph->num_edges >= PL_NONE || !order_nodes(&o)) {
        status = pl_fail_memory(error, "the order of the graph's nodes");
        goto cleanup;
    }
    if (o.num_units > PL_MAX_UNITS) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: the graph makes a chain of %zu units, but %d are the most that can "
                         "be split; join some of its nodes",
                         path, o.num_units, PL_MAX_UNITS);
        goto cleanup;
    }
    file->names = pl_new_array(o.num_units, sizeof *file->names);
    if (file->names == NULL || !gather_amounts(&a, &o)) {
        status = pl_fail_memory(error, "the costs of the graph");
        goto cleanup;
    }
    for (size_t unit = 0; unit < o.num_units; ++unit) {
        const char *name = graph->nodes[o.node_of_rank[o.work[0][unit]]].name;
        file->names[unit] = pl_copy_string(name, strlen(name));
        if (file->names[unit] == NULL) {
            status = pl_fail_memory(error, "the names of the units");
            goto cleanup;
        }
        file->num_names = unit + 1;
    }
    status = popliner_costs_create(o.num_units, 1, &file->costs, error);
    if (status == POPLINER_OK)
        status = pl_costs_add_cycles(file->costs, error);
    if (status == POPLINER_OK)
        fill_table(file->costs, &a);

cleanup:
    free_amounts(&a);
    free_ordering(&o);
    return status;
}
