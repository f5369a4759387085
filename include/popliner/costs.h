/* popliner: what the stages of a chain would cost.
 *
 * A model is a chain of units 0 ... n-1 (in popliner: what is in no layer, then the layers). A
 * stage is an interval of it. Its cost is not the sum of its units' costs, because neighbours share
 * code and variables and because the peak of live memory is a maximum over time; so the table
 * holds its numbers for every interval. The solver reads nothing but this table: anything that can
 * fill it can be solved.
 *
 * Every table has peaks and cuts. Cycles, and the peaks of stages that share an IPU, are added by
 * those who know them.
 *
 * Threads: any number of threads may read and solve one table at once, also a table of a file or
 * of an analysis. Meanwhile none may change or free it. Functions that the caller gave for a
 * table are called by every thread that solves it, possibly by several at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_COSTS_H
#define POPLINER_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peak of an interval that must not be a stage, whatever the limit (for example one without
 * any operation). */
#define POPLINER_PEAK_FORBIDDEN UINT64_MAX

/* The largest number that an IPU has, in whatever names one. */
#define POPLINER_MAX_IPU 65535

/* The memory of one IPU that has not the same as the others, in bytes on each tile. */
typedef struct popliner_ipu_limit {
    size_t ipu;
    uint64_t bytes;
} popliner_ipu_limit;

/* An IPU that is slower or faster than the others: the speed of those is POPLINER_SPEED_ONE. In
 * millionths, so that nothing is rounded but the cycles. */
typedef struct popliner_ipu_speed {
    size_t ipu;
    uint64_t millionths; /* from POPLINER_LEAST_SPEED to POPLINER_MOST_SPEED */
} popliner_ipu_speed;
enum {
    POPLINER_SPEED_ONE = 1000000,
    POPLINER_LEAST_SPEED = POPLINER_SPEED_ONE / 1000,
    POPLINER_MOST_SPEED = POPLINER_SPEED_ONE * 1000,
};

/* What a link between two IPUs carries: so many bytes (at least 1) in so many cycles (at least 1).
 * 0 of both: what is carried takes no time. */
typedef struct popliner_bandwidth {
    uint64_t bytes;
    uint64_t cycles;
} popliner_bandwidth;

/* What a link carries in a second where nothing is said of it, as in the cycles of a profile. A Mk2
 * IPU has ten IPU-Links of together 320 GB/s (Graphcore's description of the GC200); two of them
 * lead to the next IPU: the 512 Gb/s of IPU-Link that the data sheet of the Bow-2000 gives
 * (docs.graphcore.ai/projects/bow-2000-datasheet). */
#define POPLINER_LINK_BYTES_PER_SECOND UINT64_C(64000000000)

/* A link that has not the bandwidth of the others, between two different IPUs, in any order. */
typedef struct popliner_ipu_link {
    size_t first_ipu;
    size_t second_ipu;
    popliner_bandwidth bandwidth;
} popliner_ipu_link;

/* Owned by the caller that created it; free with popliner_costs_free. */
typedef struct popliner_costs popliner_costs;

/* Makes the table of a chain of `num_units` units (at least 1), in which every interval has peak 0
 * and every cut costs 0 bytes. In a pipeline an early stage keeps more activations than a late one:
 * then there are peaks for each place in it, and `max_stages` is how many stages there may be. It
 * is 1 where a stage costs the same wherever it stands.
 * Takes 4 * num_units * (num_units + 1) * max_stages bytes. (Those of a file for a pipeline take
 * twice as much as for one stage, however long it may be; more where regions compete.) Errors:
 * USAGE for 0 units or stages, MEMORY. */
popliner_status popliner_costs_create(size_t num_units, size_t max_stages, popliner_costs **costs,
                                      popliner_error *error);
void popliner_costs_free(popliner_costs *costs);

size_t popliner_costs_num_units(const popliner_costs *costs);

/* Sets which units count for the min_units and max_units of a stage: counted_units[num_units], 0
 * for units that do not count, such as the head and the tail of a chain. NULL: all count, as in a
 * new table. Copied. A solver's options may have other marks. Tables of an analysis or a file count
 * their layers. Errors: MEMORY. O(num_units). */
popliner_status popliner_costs_set_counted_units(popliner_costs *costs,
                                                 const uint8_t *counted_units,
                                                 popliner_error *error);

/* Returns these marks, [num_units], as long as the table lives or others are set; NULL if all units
 * count. O(1). */
const uint8_t *popliner_costs_counted_units(const popliner_costs *costs);

/* Checks that the costs are those of a pipeline with this schedule, recomputation and copies,
 * before something is said of them that is not so. Tables of files that say what stages keep, and
 * of analyses, know what they were made for; any other table is for any pipeline. Errors: USAGE,
 * with what the costs were made for. O(num_units). */
popliner_status popliner_costs_check_pipeline(const popliner_costs *costs,
                                              const popliner_pipeline *pipeline,
                                              popliner_error *error);

/* Setters end in USAGE, and change nothing, where there is no such interval, cut or place in a
 * pipeline. Getters then return POPLINER_PEAK_FORBIDDEN for a peak, and 0 for cycles and cuts. */

/* The largest memory, in bytes, that a tile needs at any moment for the stage of the units
 * first_unit ... last_unit, both included; first_unit <= last_unit < num_units. `stages_to_end`
 * counts the stages that are still to come and the stage itself: 1 for the last one. It is at most
 * the max_stages of the table; if that is 1, any peak that is asked for is that of the last stage.
 * A stage further from the end never needs less. Costs whose copies follow the split, as those of
 * POPLINER_COPIES_ZERO_BUBBLE do, are set and asked for by the number of all stages instead. O(1);
 * but the first peak that is set of a file's costs for a pipeline makes them as large as if they
 * had been made here. Errors: also MEMORY. */
popliner_status popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                                        size_t stages_to_end, uint64_t peak_bytes,
                                        popliner_error *error);
uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                             size_t stages_to_end);

/* What it costs to cut the chain before `unit`, in bytes, 1 <= unit < num_units. O(1). */
popliner_status popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes,
                                       popliner_error *error);
uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit);

/* Asked for the peak of the stage first_unit ... last_unit. *peak_bytes is POPLINER_PEAK_FORBIDDEN
 * until it is set. On failure the function returns its status and tells why in *error, which is
 * there even if the library's caller gave none; without a message it gets one. Any number that is
 * no popliner_status ends in USAGE. */
typedef popliner_status (*popliner_peak_function)(void *user, size_t first_unit, size_t last_unit,
                                                  uint64_t *peak_bytes, popliner_error *error);

/* Fills the peaks of the last stage by asking `peak` for every interval, those that begin with unit
 * 0 first, each row from the shortest to the longest. A longer interval never needs less: once one
 * needs more than max_bytes, it and the longer ones with the same first unit are
 * POPLINER_PEAK_FORBIDDEN, and not asked for. Errors: those of `peak`. */
popliner_status popliner_costs_fill_peaks(popliner_costs *costs, popliner_peak_function peak,
                                          void *user, uint64_t max_bytes, popliner_error *error);

/* The most that an interval may have. */
#define POPLINER_MAX_CYCLES (UINT64_MAX / 4096)

/* What an IPU is busy with a stage for, what it sends and receives included, in any unit of time. A
 * longer interval may have fewer, where it sends less. The first that are set make the table have
 * cycles, 0 for every other interval, and take as much memory as the peaks of one place. O(1) but
 * for that. Errors of setting: USAGE also for more than POPLINER_MAX_CYCLES, MEMORY. */
popliner_status popliner_costs_set_cycles(popliner_costs *costs, size_t first_unit,
                                          size_t last_unit, uint64_t cycles, popliner_error *error);
uint64_t popliner_costs_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit);
bool popliner_costs_has_cycles(const popliner_costs *costs);

/* A stage and where it stands. */
typedef struct popliner_interval {
    size_t first_unit;
    size_t last_unit;
    size_t stages_to_end;
} popliner_interval;

/* The peak of several stages (at least 2, ascending) that share one IPU, its code and its
 * variables. As for single stages, stages_to_end is at most what the table knows. It must not be
 * less than the peak of one of them. Answers as a popliner_peak_function does. */
typedef popliner_status (*popliner_shared_peak_function)(void *user,
                                                         const popliner_interval *stages,
                                                         size_t num_stages, uint64_t *peak_bytes,
                                                         popliner_error *error);

/* Who knows them. `user` stays the caller's. Without (or with NULL), the peaks of stages on one IPU
 * are added up, which is never too little. `never_shrinks` promises that they do not become less
 * when a stage grows, be it towards the front; that saves the solver from trying every pair. */
void popliner_costs_set_shared_peak(popliner_costs *costs, popliner_shared_peak_function peak,
                                    void *user, bool never_shrinks);

/* ---- costs from a file ----
 *
 * The solver needs only a table of costs. Four formats fill one:
 *   - popliner's own JSON, an object with "format": "popliner-costs" (docs/costs.md);
 *   - a table of layers as CSV, whose first row has the column "name" (docs/costs.md);
 *   - graphs of layers or operators as JSON, an object with "nodes" and "edges", as published with
 *     "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020);
 *   - PipeDream's profiles, text with lines "node1 -- what it is -- forward_compute_time=..., ...".
 * A graph is made a chain: its nodes in topological order, those that have to stay together as one
 * unit. Of several orders it is the one with the fastest split. */

/* A file that was read. Owned by the caller that read it; free with popliner_costs_file_free. */
typedef struct popliner_costs_file popliner_costs_file;

/* Reads the file at `path`, in whichever of the formats it is written; or, if `text` is not NULL,
 * what is in memory already: `length` bytes and a NUL behind them, which errors call `path`. Neither
 * is kept.
 *
 * `pipeline` (NULL for none) matters to popliner's own format if it schedules training for several
 * stages and the file says what a stage stashes ("stash", or "inputs" if it recomputes all): then
 * the table has peaks for up to pipeline->max_stages stages to the end (0 or SIZE_MAX: for as many
 * as there are units), for 2 at least, but not for more than there are units. Solving for more is
 * refused. Of the orders of a graph, the best one for up to pipeline->max_stages stages is taken
 * (0 or SIZE_MAX: for as many as the file has IPUs, or 16). It is not kept.
 *
 * Cycles: the table has them if the file speaks of time; see time_unit below. They may be fewer for
 * a longer interval where a cut costs time that the longer one does not need.
 * Peaks: a stage's memory; POPLINER_PEAK_FORBIDDEN over the capacity of a region or if the file
 * lists its intervals but not this one. Stages that share an IPU have the peak of all their units
 * together, or the sum of their peaks if the file lists its intervals.
 *
 * On success *file is the caller's; else it is NULL. Errors: INPUT, with the file, the place in it
 * and the remedy, when it cannot be read, has none of the formats, breaks the rules of its format,
 * or has more than 16384 units; MEMORY; STOPPED by pipeline->should_stop, which is not asked while
 * the bytes are read and JSON is parsed. Cost: O(bytes) and, for n units, O(n^2) times the number
 * of regions. */
popliner_status popliner_costs_file_read(const char *path, const char *text, size_t length,
                                         const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error);
void popliner_costs_file_free(popliner_costs_file *file);

/* What a file says. */
typedef struct popliner_costs_file_info {
    /* The table. The caller may change it; it may ask the file for shared peaks. */
    popliner_costs *costs;
    const char *const *unit_names; /* one per unit of the costs */
    /* One mark per unit, 0 for those that are no layer and 1 for the others; NULL if all are
     * layers. */
    const uint8_t *counted_units;

    bool is_graph; /* of which the time is what people look at first */
    /* What the file's times are in: what it says, "ms" for PipeDream's profiles, "units" for the
     * other graphs, else "cycles". */
    const char *time_unit;
    /* The table's cycles are the file's time times this, rounded for each number of the file: 1 if
     * they are all whole in popliner's own format, else 1000000000. */
    uint64_t cycles_per_time_unit;
    /* The same for cuts: 1 where they are bytes; those of a JSON graph, whose edges cost time, too,
     * are in the time unit. */
    uint64_t cuts_per_unit;

    /* How many IPUs the file speaks of, and how many bytes a tile (or whatever it calls its devices
     * and their memory) may use; 0 if it does not say. */
    size_t num_ipus;
    uint64_t bytes_per_tile;
    /* The limits of IPUs that differ from that of the others, ascending by IPU. */
    const popliner_ipu_limit *ipu_limits;
    size_t num_ipu_limits;

    /* In which order a graph's units make the chain, in words; NULL if they have no other order, or
     * the file is no graph. What is proven of the costs is proven of this order alone: see
     * popliner/certificate.h. */
    const char *unit_order;
    /* Whether the file says what the stages of a training pipeline keep: a "stash", or "inputs" if
     * it was read for a pipeline that recomputes all. Graphs do not. If it says so, but was read
     * for a pipeline that keeps nothing, none of that is in the costs. */
    bool has_kept;

    /* [units]: whose gradients replicas add up, in bytes; NULL if the file has none. */
    const uint64_t *parameter_bytes;

    /* The speeds of IPUs that differ from that of the others, ascending by IPU. */
    const popliner_ipu_speed *ipu_speeds;
    size_t num_ipu_speeds;

    /* The bandwidth of the links between IPUs, in the table's cycles; 0 of both if the file does
     * not say. And the links that differ, ascending by their smaller IPU, then the larger one. */
    popliner_bandwidth link_bandwidth;
    const popliner_ipu_link *ipu_links;
    size_t num_ipu_links;
} popliner_costs_file_info;

/* All that is handed out lives as long as the file. O(1). */
const popliner_costs_file_info *popliner_costs_file_get_info(const popliner_costs_file *file);

#ifdef __cplusplus
}
#endif

#endif
