/* From a graph of layers or operators to a chain and its costs.
 *
 * Nodes that have to stay together are one unit, and so are nodes that depend on each other in a
 * circle. The units come in topological order of the forward nodes, of those that are ready always
 * the one with the first node: forward nodes before backward ones, then by number. What flows
 * backward follows the same path the other way, and does not order units that have a forward node;
 * units of backward nodes alone come last, in their own topological order.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_LAYER_GRAPH_H
#define PL_COSTS_LAYER_GRAPH_H

#include "costs/costs_file_data.h"

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

/* Fills the costs and names of *file. Each sum of an amount over all nodes must be within its
 * limit: POPLINER_MOST_CYCLES (for cycles and, if it takes any, traffic together), PL_MAX_BYTES.
 * Errors: INPUT when there are no nodes or too many units; MEMORY. O(units^2 + edges log edges). */
popliner_status pl_layer_graph_fill(const pl_layer_graph *graph, const char *path,
                                    popliner_costs_file *file, popliner_error *error);

void pl_layer_graph_free(pl_layer_graph *graph);

#endif
