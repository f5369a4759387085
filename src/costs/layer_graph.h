/* From a graph of layers or operators to a chain and its costs.
 *
 * The nodes become units (unit_graph.h), and these a chain. Of several orders (unit_orders.h) it is
 * the one of which the best split has the least cycles in its slowest stage.
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

/* Fills the costs and names of *file and, where several orders were tried, which one it has. They
 * are tried where traffic takes cycles and there are at most 4096 units, for splits into up to
 * `max_stages` stages (SIZE_MAX: as many as file->info has IPUs, or 16 if it has none) of at most
 * file->info.bytes_per_tile bytes, if it has that. Each sum of an amount over all nodes must be
 * within its limit: POPLINER_MAX_CYCLES (for cycles and, if it takes any, traffic together),
 * PL_MAX_BYTES. Errors: INPUT when there are no nodes or too many units; MEMORY.
 * O(units^2 + edges log edges), for each order. */
popliner_status pl_layer_graph_fill(const pl_layer_graph *graph, const char *path,
                                    size_t max_stages, popliner_costs_file *file,
                                    popliner_error *error);

void pl_layer_graph_free(pl_layer_graph *graph);

#endif
