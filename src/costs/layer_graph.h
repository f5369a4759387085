/* From a graph of layers or operators to a chain and its costs.
 *
 * The nodes become units, and these a chain. Of several orders (all in unit_graph.h) it is the one
 * of which the best split has the least cycles in its slowest stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_LAYER_GRAPH_H
#define PL_COSTS_LAYER_GRAPH_H

#include "costs/costs_file_data.h"
#include "costs/unit_graph.h"

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

#endif
