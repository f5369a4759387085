/* popliner: costs from a file instead of a profile.
 *
 * The solver needs only a table of costs. Three formats fill one:
 *   - popliner's own JSON, an object with "format": "popliner-costs" (docs/costs.md);
 *   - graphs of layers or operators as JSON, an object with "nodes" and "edges", as published with
 *     "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020);
 *   - PipeDream's profiles, text with lines "node1 -- what it is -- forward_compute_time=..., ...".
 * A graph is made a chain: its nodes in topological order, those that have to stay together as one
 * unit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_COSTS_FILE_H
#define POPLINER_COSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file says: the costs, the names of the units, and the devices if it knows them. Immutable
 * once read, but for its costs. Owned by the caller that read it; free with
 * popliner_costs_file_free. */
typedef struct popliner_costs_file popliner_costs_file;

/* Reads the file at `path`, in whichever of the formats it is written.
 *
 * `pipeline` (NULL for none) matters to popliner's own format only, if it schedules training for
 * several stages and the file says what a stage stashes ("stash", or "inputs" if it recomputes all):
 * then the table has peaks for up to pipeline->most_stages stages to the end, but not for more than
 * there are units. It is not kept.
 *
 * Cycles: the table has them if the file speaks of time; see popliner_costs_file_time_unit. They may
 * be fewer for a longer interval where a cut costs time that the longer one does not need.
 * Peaks: a stage's memory; POPLINER_PEAK_FORBIDDEN over the capacity of a region or if the file
 * lists its intervals but not this one. Stages that share an IPU have the peak of all their units
 * together, or the sum of their peaks if the file lists its intervals.
 *
 * On success *file is the caller's; else it is NULL. Errors: INPUT, with the file, the place in it
 * and the remedy, when it cannot be read, has none of the formats, breaks the rules of its format, or
 * has more than 16384 units; MEMORY.
 * Cost: O(bytes) and, for n units, O(n^2) times the number of regions and of stages to the end. */
popliner_status popliner_costs_file_read(const char *path, const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error);

/* The same for a text that is in memory already: `length` bytes and a NUL behind them. `name` is what
 * errors call it. Neither is kept. */
popliner_status popliner_costs_file_parse(const char *text, size_t length, const char *name,
                                          const popliner_pipeline *pipeline,
                                          popliner_costs_file **file, popliner_error *error);
void popliner_costs_file_free(popliner_costs_file *file);

/* The table. Borrowed: it lives as long as the file, which it may ask for shared peaks. */
popliner_costs *popliner_costs_file_costs(const popliner_costs_file *file);

/* The name of a unit, 0 <= unit < number of units of the costs. Borrowed. */
const char *popliner_costs_file_unit_name(const popliner_costs_file *file, size_t unit);

/* One mark per unit, 0 for those that are no layer and 1 for the others; NULL if all are layers.
 * Borrowed. */
const uint8_t *popliner_costs_file_counted_units(const popliner_costs_file *file);

/* What the file's times are in: what it says, "ms" for PipeDream's profiles, "units" for the other
 * graphs, else "cycles". Borrowed. */
const char *popliner_costs_file_time_unit(const popliner_costs_file *file);

/* The table's cycles are the file's time times this, rounded for each number of the file: 1 if they
 * are all whole in popliner's own format, else 1000000000. */
uint64_t popliner_costs_file_cycles_per_time_unit(const popliner_costs_file *file);

/* The same for cuts: 1 where they are bytes; those of a JSON graph, whose edges cost time, too, are in
 * the time unit. */
uint64_t popliner_costs_file_cuts_per_unit(const popliner_costs_file *file);

/* How many IPUs the file speaks of, and how many bytes a tile (or whatever it calls its devices and
 * their memory) may use; 0 if it does not say. */
size_t popliner_costs_file_num_ipus(const popliner_costs_file *file);
uint64_t popliner_costs_file_bytes_per_tile(const popliner_costs_file *file);

/* The limits of IPUs that differ from that of the others, ascending by IPU;
 * 0 <= i < popliner_costs_file_num_ipu_limits. */
size_t popliner_costs_file_num_ipu_limits(const popliner_costs_file *file);
popliner_ipu_limit popliner_costs_file_ipu_limit(const popliner_costs_file *file, size_t i);

/* Whether the file is a graph, of which the time is what people look at first. */
bool popliner_costs_file_is_graph(const popliner_costs_file *file);

#ifdef __cplusplus
}
#endif

#endif
