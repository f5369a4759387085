/* Graphs of layers or operators: their units, and the chain of the units.
 *
 * Nodes that must stay together are one unit; so are nodes that depend on each other in a circle.
 * Forward edges order the units. Backward edges mirror them, so they do not order units that have a
 * forward node. A unit of backward nodes alone is placed where its forward node would be: its
 * backward edges to other units count in the other direction. (These are the artificial forward
 * nodes of Tarnawski et al., createArtificialForwardNodes in their program.)
 *
 * A chain has the units by number or breadth first. Each of ten orders was the best one on some of
 * 58 instances of published graphs (Tarnawski et al.); on all of them, one of these two was.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_UNIT_GRAPH_H
#define PL_COSTS_UNIT_GRAPH_H

#include "base/growth.h"

#include "popliner/costs.h"

/* ---- The graph ------------------------------------------------------------------------------- */

typedef struct pl_graph_node {
    const char *name;
    int64_t number;
    uint32_t group; /* the first node that must stay with it; its own index if there is none */
    bool is_backward;
    uint64_t cycles;
    uint64_t forward_cycles; /* of these, where the graph has backward passes */
    uint64_t memory_bytes;
    uint64_t traffic; /* bytes or time, counted once over each cut that one of its edges crosses */
    bool is_input;    /* while it is read: it seems to provide only the inputs */
} pl_graph_node;

typedef struct pl_graph_edge {
    uint32_t from;
    uint32_t to;
} pl_graph_edge;

/* Zero-initialise; free `arrays`. */
typedef struct pl_layer_graph {
    pl_graph_node *nodes;
    size_t num_nodes;
    pl_graph_edge *edges;
    size_t num_edges;
    /* True if a stage spends cycles on the traffic of each node that has an edge over its
     * border. */
    bool traffic_takes_cycles;
    bool has_passes;       /* forward and backward */
    bool is_of_parameters; /* these are the memory of its nodes */
    pl_arrays arrays;      /* own all, with the names */
} pl_layer_graph;

/* Append. False when memory is short. */
bool pl_layer_graph_add_node(pl_layer_graph *graph, pl_graph_node node);
bool pl_layer_graph_add_edge(pl_layer_graph *graph, size_t from, size_t to);

/* ---- Its units ------------------------------------------------------------------------------- */

/* Zero-initialise; free `arrays`. Units are numbered in topological order: next is
 * the ready unit with the first node, forward nodes before backward ones, then by number. */
typedef struct pl_unit_graph {
    size_t num_units;
    uint32_t *unit_of_node;
    uint32_t *first_node; /* of each unit */
    uint64_t *cycles;
    uint64_t *memory_bytes;
    /* The units that must come after unit u: followers[followers_from[u]] ...
     * followers[followers_from[u + 1] - 1], some maybe twice. */
    uint32_t *followers_from;
    uint32_t *followers;
    /* A net is what one node sends to other units: its unit and theirs, distinct, ascending, are
     * net_units[nets_from[i]] ... net_units[nets_from[i + 1] - 1]. */
    size_t num_nets;
    uint32_t *nets_from;
    uint32_t *net_units;
    uint64_t *net_traffic;
    pl_arrays arrays; /* which own all of these */
} pl_unit_graph;

/* Finds the units. False when memory is short; free *units then also. O((nodes + edges) * log). */
bool pl_unit_graph_find(pl_unit_graph *units, const pl_layer_graph *graph);

/* Sets place[num_units] to the place of each unit in the chain: next is the unit that became ready
 * first, of equal ones the first by number. False when memory is short. O(followers * log). */
bool pl_unit_graph_places(const pl_unit_graph *units, uint32_t *place);

/* ---- A file's graph -------------------------------------------------------------------------- */

/* Findings about the whole graph, for one question: see solve/down_sets.h. */
typedef struct pl_graph_claim {
    uint64_t question; /* 0: nothing was */
    bool is_proven;    /* as of popliner_plan */
    bool is_bound_known;
    uint64_t bound;
    size_t num_down_sets;
} pl_graph_claim;

/* The graph of a file, of which the table is one chain. */
typedef struct pl_graph_chain {
    const pl_layer_graph *graph; /* that of the file that was read, like the units */
    const pl_unit_graph *units;
    uint32_t *place; /* [units] in this chain; owned by the file */
    pl_graph_claim claim;
} pl_graph_chain;

#endif
