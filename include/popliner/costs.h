/* popliner: the costs of the stages of a chain.
 *
 * A model is a chain of units 0 ... n-1 (in popliner: operations outside layers, then the layers).
 * A stage is an interval of the chain. Its cost is not the sum of its units' costs: neighbours
 * share code and variables, and the peak of live memory is a maximum over time. So the table holds
 * a number for every interval. The solver reads only this table, so it solves whatever can fill
 * one.
 *
 * Every table has peaks and cuts. Cycles, and the peaks of stages on one IPU, are optional.
 *
 * Threads: any number of threads may read and solve one table at once, also a table of a file or of
 * an analysis. Meanwhile no thread may change or free it. Every thread that solves a table calls
 * the functions that the caller set for it, possibly at the same time.
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

/* The peak of an interval that must not be a stage, whatever the limit (for example one without any
 * operation). */
#define POPLINER_PEAK_FORBIDDEN UINT64_MAX

/* The largest number of an IPU, wherever one is given. */
#define POPLINER_MAX_IPU 65535

/* A number of an IPU that differs from the default: its memory limit in bytes on each tile, or its
 * speed in millionths, from POPLINER_LEAST_SPEED to POPLINER_MOST_SPEED. Speeds are integers, so
 * that only cycles are rounded. */
typedef struct popliner_ipu_value {
    size_t ipu;
    uint64_t value;
} popliner_ipu_value;
enum {
    POPLINER_SPEED_ONE = 1000000,
    POPLINER_LEAST_SPEED = POPLINER_SPEED_ONE / 1000,
    POPLINER_MOST_SPEED = POPLINER_SPEED_ONE * 1000,
};

/* The default bandwidth of a link, as in the cycles of a profile. A Mk2 IPU has ten IPU-Links of
 * together 320 GB/s (Graphcore's description of the GC200); two of them lead to the next IPU: the
 * 512 Gb/s of IPU-Link in the data sheet of the Bow-2000
 * (docs.graphcore.ai/projects/bow-2000-datasheet). */
#define POPLINER_LINK_BYTES_PER_SECOND UINT64_C(64000000000)

/* The bandwidth of the link between two different IPUs, in any order: `bytes` (at least 1) in
 * `cycles` (at least 1) units of time of the costs: cycles, unless their file has another unit.
 * Where it is that of all other links, the IPUs are ignored, and both numbers may be 0: transfers
 * take no time. */
typedef struct popliner_ipu_link {
    size_t first_ipu;
    size_t second_ipu;
    uint64_t bytes;
    uint64_t cycles;
} popliner_ipu_link;

/* Owned by the caller that created it; free with popliner_costs_free. */
typedef struct popliner_costs popliner_costs;

/* Creates the table of a chain of `num_units` units (at least 1), in which every interval has peak
 * 0 and every cut costs 0 bytes. In a pipeline an early stage stores more activations than a late
 * one: then each interval has a peak for each position in the pipeline, and `max_stages` is the
 * largest number of stages. Pass 1 if a stage costs the same in every position. Takes 4 * num_units
 * * (num_units + 1) * max_stages bytes. (The table of a costs file takes O(num_units)
 * bytes if its units add up; else, for a pipeline, twice as much as for one stage, however many
 * stages there may be, and more if regions compete.) Errors: USAGE for 0 units or stages,
 * MEMORY. */
popliner_status popliner_costs_create(size_t num_units, size_t max_stages, popliner_costs **costs,
                                      popliner_error *error);

/* Frees a table. NULL is fine. */
void popliner_costs_free(popliner_costs *costs);

/* Returns the number of units of the chain. O(1). */
size_t popliner_costs_num_units(const popliner_costs *costs);

/* Sets the pipeline that the table is for: popliner_costs_check_pipeline then accepts that pipeline
 * alone. If its copies depend on the number of stages (POPLINER_COPIES_ZERO_BUBBLE), positions are
 * numbers of stages from then on; see popliner_costs_set_peak. If they are those of several stages
 * on each IPU, the solvers accept its device map alone. Errors: USAGE for an invalid pipeline.
 * O(1). */
popliner_status popliner_costs_set_pipeline(popliner_costs *costs,
                                            const popliner_pipeline *pipeline,
                                            popliner_error *error);

/* Checks that the costs are for a pipeline with this schedule, recomputation and copies, so that no
 * answer claims otherwise. Tables of analyses, and of files that say what stages store, are for one
 * pipeline; any other table is for any pipeline. Errors: USAGE, with the pipeline that the costs
 * are for. O(num_units). */
popliner_status popliner_costs_check_pipeline(const popliner_costs *costs,
                                              const popliner_pipeline *pipeline,
                                              popliner_error *error);

/* Setters fail with USAGE, and change nothing, for an interval, cut or position that the table does
 * not have. Getters then return POPLINER_PEAK_FORBIDDEN for a peak, and 0 for cycles and cuts. */

/* Sets the peak memory per tile, in bytes, of the stage of the units first_unit ... last_unit, both
 * included; first_unit <= last_unit < num_units. `stages_to_end` counts the stage itself and those
 * after it: 1 for the last one, and at most max_stages of the table. If max_stages is 1, every
 * position has the peak of the last stage. A stage further from the end never needs less. For costs
 * whose copies depend on the split, like those of POPLINER_COPIES_ZERO_BUBBLE, stages_to_end is the
 * number of all stages instead; if stages recompute all, popliner_costs_peak is then that of the
 * last stage, which needs most. O(1); but the first peak that is set in a file's costs for a
 * pipeline expands them to the size of popliner_costs_create. Errors: also MEMORY. */
popliner_status popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                                        size_t stages_to_end, uint64_t peak_bytes,
                                        popliner_error *error);

/* Returns that peak. O(1). */
uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                             size_t stages_to_end);

/* Sets the cost of a cut before `unit`, in bytes, 1 <= unit < num_units. O(1). */
popliner_status popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes,
                                       popliner_error *error);

/* Returns the cost of a cut before `unit`, in bytes. O(1). */
uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit);

/* Computes the peak of the stage first_unit ... last_unit. *peak_bytes is POPLINER_PEAK_FORBIDDEN
 * until the function sets it. On failure the function returns a status and describes the failure in
 * *error, which is never NULL; the library adds a message if the function leaves none. A number
 * that is no popliner_status becomes USAGE. */
typedef popliner_status (*popliner_peak_function)(void *user, size_t first_unit, size_t last_unit,
                                                  uint64_t *peak_bytes, popliner_error *error);

/* Fills the peaks of the last stage by calling `peak` for every interval: those that begin with
 * unit 0 first, each row from the shortest to the longest. A longer interval never needs less: once
 * one exceeds max_bytes, it and the longer ones with the same first unit become
 * POPLINER_PEAK_FORBIDDEN without a call. Errors: those of `peak`. */
popliner_status popliner_costs_fill_peaks(popliner_costs *costs, popliner_peak_function peak,
                                          void *user, uint64_t max_bytes, popliner_error *error);

/* The most cycles that an interval may have. */
#define POPLINER_MAX_CYCLES (UINT64_MAX / 4096)

/* Sets the time that an IPU is busy with a stage, including its transfers, in any unit of time. A
 * longer interval may take less time if it sends less. The first call adds cycles to the table, 0
 * for every other interval, which takes as much memory as the peaks of one position. Later calls
 * are O(1). Errors: also USAGE for more than POPLINER_MAX_CYCLES; MEMORY. */
popliner_status popliner_costs_set_cycles(popliner_costs *costs, size_t first_unit,
                                          size_t last_unit, uint64_t cycles, popliner_error *error);

/* Returns the cycles of a stage; 0 without cycles. O(1). */
uint64_t popliner_costs_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit);

/* True if the table has cycles. O(1). */
bool popliner_costs_has_cycles(const popliner_costs *costs);

/* The numbers of a table. */
typedef enum popliner_costs_of {
    POPLINER_COSTS_OF_PEAKS,
    POPLINER_COSTS_OF_CYCLES,
    POPLINER_COSTS_OF_CUTS,
    POPLINER_COSTS_OF_KV,        /* what another token takes in the cache of a unit */
    POPLINER_COSTS_OF_KV_TOKENS, /* by how many tokens that grows; UINT64_MAX: any number */
} popliner_costs_of;

/* Set, or fill an array with, all numbers of one kind: num_units rows of num_units numbers, where
 * the row is the first unit of a stage and the column the last one. Setting ignores numbers before
 * the diagonal; getting sets these to POPLINER_PEAK_FORBIDDEN for peaks and to 0 for cycles. Cuts
 * are num_units numbers, by the unit after the cut; the first one is ignored, and 0. Those of KV
 * are num_units numbers, too, 0 and UINT64_MAX if they were never set. Peaks are those of one
 * position, stages_to_end; others ignore it. Setting changes nothing if it fails. Errors as for
 * single numbers, and USAGE for an unknown kind. O(num_units^2), and O(num_units) for cuts and
 * KV. */
popliner_status popliner_costs_set_all(popliner_costs *costs, popliner_costs_of kind,
                                       size_t stages_to_end, const uint64_t *values,
                                       popliner_error *error);
popliner_status popliner_costs_get_all(const popliner_costs *costs, popliner_costs_of kind,
                                       size_t stages_to_end, uint64_t *values,
                                       popliner_error *error);

/* A stage and its position in the pipeline. */
typedef struct popliner_interval {
    size_t first_unit;
    size_t last_unit;
    size_t stages_to_end;
} popliner_interval;

/* Computes the peak of several stages (at least 2, ascending) that share one IPU, its code and its
 * variables. As for single stages, stages_to_end is at most the max_stages of the table. The result
 * must not be less than the peak of any of the stages. Results and errors as for
 * popliner_peak_function. */
typedef popliner_status (*popliner_shared_peak_function)(void *user,
                                                         const popliner_interval *stages,
                                                         size_t num_stages, uint64_t *peak_bytes,
                                                         popliner_error *error);

/* Sets the function for the peaks of stages on one IPU. `user` stays the caller's. Without a
 * function (or with NULL) their peaks are added up, which is never too little. `never_shrinks`
 * promises that the peak does not decrease when a stage grows at either end, so that the solver
 * need not try every pair. */
void popliner_costs_set_shared_peak(popliner_costs *costs, popliner_shared_peak_function peak,
                                    void *user, bool never_shrinks);

/* ---- Costs from a file ----
 *
 * Four formats fill a table:
 *   - popliner's own JSON, an object with "format": "popliner-costs" (docs/costs.md);
 *   - a table of layers as CSV, whose first row has the column "name" (docs/costs.md);
 *   - graphs of layers or operators as JSON, an object with "nodes" and "edges", as published with
 *     "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020);
 *   - PipeDream's profiles, lines "node1 -- description -- forward_compute_time=..., ...".
 *
 * A graph becomes a chain: its nodes in topological order, nodes that must stay together as one
 * unit. Of several orders, popliner takes the one with the fastest split. */

/* The contents of a costs file. Owned by the caller that read it, who changes nothing but the
 * costs; free with popliner_costs_file_free. Later versions may append members. */
typedef struct popliner_costs_file {
    /* The table. The caller may change it. It refers to the file for shared peaks. */
    popliner_costs *costs;
    const char *const *unit_names; /* one per unit of the costs */
    /* One mark per unit, 1 for layers and 0 for other units; NULL if all are layers. */
    const uint8_t *counted_units;

    bool is_graph;    /* users look at its time first */
    bool has_sharded; /* units have memory that replicas divide: popliner_pipeline's num_replicas */
    /* The unit of the file's times: the one that the file names, "ms" for PipeDream's profiles,
     * "units" for other graphs, else "cycles". */
    const char *time_unit;
    /* The table's cycles are the file's times multiplied by this and rounded: 1 if all are whole in
     * popliner's own format, else 1000000000. */
    uint64_t cycles_per_time_unit;
    /* The factor of cuts: 1 if they are bytes. The cuts of a JSON graph whose edges cost time are
     * in the time unit. */
    uint64_t cuts_per_unit;

    /* The number of IPUs in the file, and the memory of a tile (or of a device, if the file has
     * devices) in bytes; 0 if the file does not say. */
    size_t num_ipus;
    uint64_t bytes_per_tile;
    /* The limits of IPUs that differ from bytes_per_tile, ascending by IPU. */
    const popliner_ipu_value *ipu_limits;
    size_t num_ipu_limits;

    /* Describes the order in which a graph's units form the chain; NULL if it is the only order, or
     * the file is no graph. Proofs hold for this order alone: see popliner/certificate.h. */
    const char *unit_order;
    /* True if the file says what the stages of a training pipeline store: a "stash", or "inputs" if
     * it was read for a pipeline that recomputes all. Graphs do not. If true, and the file was read
     * for a pipeline that stores nothing, the costs contain none of it. */
    bool has_kept;

    /* [units]: bytes of parameters whose gradients replicas add up; NULL if the file has none, or
     * if it was read for inference. */
    const uint64_t *parameter_bytes;

    /* The speeds of IPUs that differ from POPLINER_SPEED_ONE, ascending by IPU. */
    const popliner_ipu_value *ipu_speeds;
    size_t num_ipu_speeds;

    /* The bandwidth of the links between IPUs, in units of time; both 0 if the file does not
     * say. And the links that differ, ascending by their smaller IPU, then the larger one. */
    popliner_ipu_link link_bandwidth;
    const popliner_ipu_link *ipu_links;
    size_t num_ipu_links;

    /* In words with a full stop, what a device needs besides and no peak has, by the file, and the
     * inputs that stages recompute from if no unit has any; NULL: nothing known. Answers have
     * it. */
    const char *not_counted;
    uint64_t samples; /* of a micro-batch; 0 if the file does not say */
} popliner_costs_file;

/* Reads the file at `path` ("-": standard input) in any of the formats. If `text` is not NULL,
 * reads `text` instead: `length` bytes and a terminating NUL, which errors call `path`. Keeps
 * neither.
 *
 * `pipeline` (NULL for none) matters to popliner's own format if it schedules training for several
 * stages and the file says what a stage stores ("stash", or "inputs" with full recomputation). Then
 * the table has peaks for up to pipeline->max_stages stages to the end (0 or SIZE_MAX: the number
 * of units), but at least 2 and at most the number of units; solving for more stages is rejected.
 * For a graph, popliner takes the best order for up to pipeline->max_stages stages (0 or SIZE_MAX:
 * the number of IPUs in the file, or 16). For inference the backward passes that a file tells from
 * forward ones take no time. Does not keep `pipeline`.
 *
 * Cycles: the table has them if the file has times; see time_unit below. A longer interval may have
 * fewer, if the time of a cut falls inside it. Peaks: a stage's memory; POPLINER_PEAK_FORBIDDEN
 * above the capacity of a region, or for an interval that a file which lists its intervals does not
 * list. Stages on one IPU have the peak of all their units together, or the sum of their peaks if
 * the file lists its intervals.
 *
 * On success the caller owns *file; else it is NULL. Errors: INPUT, with the file, the position and
 * the remedy, for a file that cannot be read, has none of the formats, breaks the rules of its
 * format, or has more than 16384 units; USAGE for a `need` that it does not have, and for a
 * pipeline whose copies do not pass popliner_copies_check; MEMORY; STOPPED by
 * pipeline->should_stop, which is not polled while the bytes are read and JSON is parsed. Cost:
 * O(bytes) and, for n units, O(n^2) times the number of regions. */
popliner_status popliner_costs_file_read(const char *path, const char *text, size_t length,
                                         const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error);

/* Frees a file and its table. NULL is fine. */
void popliner_costs_file_free(popliner_costs_file *file);

#ifdef __cplusplus
}
#endif

#endif
