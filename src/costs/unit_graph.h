/* Graphs of layers or operators: their units, and which of them has to come first.
 *
 * Nodes that have to stay together are one unit, and so are nodes that depend on each other in a
 * circle. What flows forward orders the units. What flows backward follows the same path the other
 * way, and does not order units that have a forward node. A unit of backward nodes alone, an
 * orphan, has its place where its forward node would be: what flows backward between it and any
 * other unit orders the two the other way round (the artificial forward nodes of Tarnawski et al.,
 * createArtificialForwardNodes of their program).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_UNIT_GRAPH_H
#define PL_COSTS_UNIT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The graph ------------------------------------------------------------------------------- */

typedef struct pl_graph_node {
    char *name; /* owned by the graph */
    int64_t number;
    uint32_t group; /* the first node with which it has to stay together; its own index if none */
    bool is_backward;
    uint64_t cycles;
    uint64_t memory_bytes;
    uint64_t traffic; /* once over each cut that one of its edges crosses, either way */
} pl_graph_node;

typedef struct pl_graph_edge {
    uint32_t from;
    uint32_t to;
} pl_graph_edge;

/* Zero-initialise; free with pl_layer_graph_free. */
typedef struct pl_layer_graph {
    pl_graph_node *nodes;
    size_t num_nodes;
    size_t nodes_capacity;
    pl_graph_edge *edges;
    size_t num_edges;
    size_t edges_capacity;
    /* Whether a stage is busy with the traffic of nodes with an edge over its border, each once. */
    bool traffic_takes_cycles;
} pl_layer_graph;

/* Append; false when memory is short. The graph takes the node's name, then, too. */
bool pl_layer_graph_add_node(pl_layer_graph *graph, pl_graph_node node);
bool pl_layer_graph_add_edge(pl_layer_graph *graph, size_t from, size_t to);

void pl_layer_graph_free(pl_layer_graph *graph);

/* ---- Its units ------------------------------------------------------------------------------- */

/* Zero-initialise; free with pl_unit_graph_free. Units are numbered in topological order: of those
 * that are ready, the one with the first node; forward nodes before backward ones, then by number.
 */
typedef struct pl_unit_graph {
    size_t num_units;
    uint32_t *unit_of_node;
    uint32_t *first_node; /* of each unit */
    uint64_t *cycles;
    uint64_t *memory_bytes;
    /* Which units have to come behind unit u: followers[followers_from[u]] and what is behind it
     * up to followers_from[u + 1], some maybe twice. */
    uint32_t *followers_from;
    uint32_t *followers;
    /* A net is what a node sends, to one unit or more others: the units that it leads to and that
     * of the node, distinct, ascending, from net_units[nets_from[i]] up to nets_from[i + 1]. */
    size_t num_nets;
    uint32_t *nets_from;
    uint32_t *net_units;
    uint64_t *net_traffic;
} pl_unit_graph;

/* False when memory is short; free it then, too. O(nodes + edges, times their logarithm). */
bool pl_unit_graph_find(pl_unit_graph *units, const pl_layer_graph *graph);
void pl_unit_graph_free(pl_unit_graph *units);

/* ---- Their orders ---------------------------------------------------------------------------- */

/* Chains of the units of a graph, in several topological orders: which of them cuts best shows only
 * when all are tried. */

/* Which of the units that are ready comes next; of equal ones, the first by number. Each order also
 * from the end: from the last unit to the first, among the units of which all followers are placed,
 * of equal ones the last by number. */
typedef enum pl_unit_order {
    PL_ORDER_NUMBER,          /* the first by number: as the units are numbered */
    PL_ORDER_NUMBER_FROM_END, /* each order is followed by itself from the end */
    PL_ORDER_DEPTH,           /* the one that is ready since last */
    PL_ORDER_DEPTH_FROM_END,
    PL_ORDER_BREADTH, /* the one that is ready since first */
    PL_ORDER_BREADTH_FROM_END,
    PL_ORDER_PATH, /* the one with the least cycles on the heaviest path up to it */
    PL_ORDER_PATH_FROM_END,
    PL_ORDER_TRAFFIC, /* the one behind which a cut is cheapest */
    PL_ORDER_TRAFFIC_FROM_END,
    PL_NUM_UNIT_ORDERS,
} pl_unit_order;

/* In words. */
const char *pl_unit_order_name(pl_unit_order order);

/* Sets place[num_units] of each unit in the chain. False when memory is short. O(units times those
 * that are ready; for traffic, times their nets). */
bool pl_unit_order_make(const pl_unit_graph *units, pl_unit_order order, uint32_t *place);

#endif
