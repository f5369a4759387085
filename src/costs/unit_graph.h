/* The units of a graph of layers or operators, and which of them has to come first.
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

#include "costs/layer_graph.h"

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

#endif
