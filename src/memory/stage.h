/* Measures the memory of single stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_H
#define PL_MEMORY_STAGE_H

#include "memory/memory_model.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* Frees the arrays; zero-initialise the memory before it is first measured. */
void pl_stage_memory_clear(popliner_stage_memory *memory);

struct pl_stage_meter;

/* Return the sum of an array over the tiles, and its largest item. */
uint64_t pl_tiles_sum(const uint64_t *bytes, size_t num_tiles);
uint64_t pl_tiles_max(const uint64_t *bytes, size_t num_tiles);

/* Returns the code on a tile of the stage that was measured last, by group: what its programs
 * explain, and the unattributed part. O(1). */
uint64_t pl_stage_code_bytes(const struct pl_stage_meter *meter,
                             const popliner_stage_memory *memory, int group, size_t tile);

struct pl_pass_usage;

/* Measures stages of one profile, reusing its work space: not for several threads at once. Refers
 * to the chain that it was made from, and to what that refers to. Owned by the caller; free with
 * pl_stage_meter_free. */
typedef struct pl_stage_meter pl_stage_meter;

/* Creates a meter. Errors: USAGE if the variables are not loaded; MEMORY. Takes 5 to 6 bytes per
 * lowered variable, and one per vertex type and tile. */
popliner_status pl_stage_meter_create(const pl_chain *chain, pl_stage_meter **meter,
                                      popliner_error *error);
void pl_stage_meter_free(pl_stage_meter *meter);

/* Sets *usage to the units that touch each variable in each pass, computed on the first call; valid
 * as long as the meter. Errors: MEMORY. Cost: that of pl_pass_usage_find, the first time. */
popliner_status pl_stage_meter_pass_usage(pl_stage_meter *meter, const struct pl_pass_usage **usage,
                                          popliner_error *error);

/* Makes the meter repeat a quirk of PopLiner, which its greedy solver can depend on: the peak of
 * the variables is remembered by the set of variables alone, so a later stage with equal variables
 * but other steps gets the peak of the earlier one. Off at first; false drops the remembered
 * peaks. */
void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers);

/* Measures the stage of the given operations, in ascending order, into *memory, whose arrays are
 * created or reused. Each program of the operations counts once. popliner/stage.h says what counts.
 *
 * Errors: MEMORY. Cost: O(touched variables + tiles * (steps + programs)). */
popliner_status pl_stage_measure(pl_stage_meter *meter, const size_t *operations,
                                 size_t num_operations, popliner_stage_memory *memory,
                                 popliner_error *error);

/* Like pl_stage_measure, for all operations of the units first_unit ... last_unit, both
 * included. */
popliner_status pl_stage_measure_units(pl_stage_meter *meter, size_t first_unit, size_t last_unit,
                                       popliner_stage_memory *memory, popliner_error *error);

/* Sets by_tile_bytes[num_tiles] to one copy of what the stage first_unit ... last_unit must store
 * of a micro-batch until its backward pass. It consists of lowered variables, not always-live:
 *
 *   NONE  those that its forward and its backward operations touch and that are live at the turn
 *   FULL  those that its forward operations touch, that units before it touch forward or a copy
 *         from the host fills, and that are live when its first unit begins its forward pass
 *   STANDARD  those of NONE and of FULL, and those that its forward operations and forward
 *         operations of units after it touch and that are live when the unit after it begins its
 *         forward pass
 *
 * A variable counts as live at such a step only if it is also live at the step before;
 * pl_intervals_measure defines the passes. In PopLiner's model operations in no layer do not count
 * in a stage. All 0 for a profile that does not train. Does not change the stage that was measured
 * last. Errors: MEMORY. Cost: O(variables), and O(steps) the first time. */
popliner_status pl_stage_measure_stash(pl_stage_meter *meter, popliner_recompute recompute,
                                       size_t first_unit, size_t last_unit, uint64_t *by_tile_bytes,
                                       popliner_error *error);

/* Measures stages on one IPU, whose units must not overlap, with what they store in a pipeline
 * (NULL: nothing, and no effects), in the number of copies for the position of each. They become
 * the stage that was measured last. In PopLiner's model the steps of several stages end with the
 * last step of any operation, so that they never need less than one of them, nor less than before
 * one has grown. Errors and cost: those of pl_stage_measure, and of pl_stage_measure_stash for each
 * stage. */
popliner_status pl_stage_measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                     const popliner_interval *stages, size_t num_stages,
                                     popliner_stage_memory *memory, popliner_error *error);

/* Sets part_bytes to the parts of the stage that was measured last, over all tiles. */
void pl_stage_sum_parts(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                        uint64_t part_bytes[POPLINER_NUM_PARTS]);

/* Returns the bytes, over all tiles, of the variables that operations of the stage measured last
 * touch, that are always-live and of the category "variable": its parameters, but also the
 * optimizer's state and anything else that outlives a run. In PopLiner's model only those of
 * operations in layers. The profile has no element types, so the number of parameters is unknown.
 * O(variables of the stage). */
uint64_t pl_stage_parameter_bytes(const pl_stage_meter *meter);

/* Lists the largest data variables of the stage that was measured last, on `tile`, that are live at
 * `step`: at most max_count of them into largest[], by size, then by number. Returns their number.
 * In the full model also variables that no operation touches, or that pass through. O(variables of
 * the tile * max_count). */
size_t pl_stage_largest_variables(const pl_stage_meter *meter, size_t tile, size_t step,
                                  popliner_stage_variable *largest, size_t max_count);

/* ---- Trained parameters ---- */

/* Parameters that one set of units uses, which count once wherever some of these units are
 * together. */
typedef struct pl_trained_set {
    uint32_t set; /* of units, from pl_parameter_units */
    uint64_t bytes;
} pl_trained_set;

/* Zero-initialise; free with pl_trained_parameters_free. */
typedef struct pl_trained_parameters {
    const struct pl_unit_sets *sets; /* the meter's */
    size_t num_units;
    pl_trained_set *used; /* [num_used] */
    size_t num_used;
    uint64_t *interval_bytes; /* in the order of costs/triangle.h */
} pl_trained_parameters;

/* Finds the trained parameters of the profile, none if it does not train, by the rule of
 * pl_parameter_units. They refer to the meter. Errors: MEMORY. Cost: O(variables + units^2 + units
 * of the sets), and that of pl_stage_meter_pass_usage. */
popliner_status pl_trained_parameters_find(pl_trained_parameters *trained, pl_stage_meter *meter,
                                           popliner_error *error);
void pl_trained_parameters_free(pl_trained_parameters *trained);

/* A popliner_weight_function, `user` is a pl_trained_parameters: the bytes over all tiles of an IPU
 * with these stages. O(1) for one stage, else O(sets * (units + stages)). */
uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages);

/* ---- Several stages on one IPU, from sums that are found once for all of them ---- */

/* The sums of all tiles, by the sets of units that count them. For one thread at a time. */
typedef struct pl_ipu_tiles pl_ipu_tiles;

/* Finds the sums for pipelines like this one, in the full model, on num_threads (0: one per
 * processor). They refer to the meter, which must live as long. Free with pl_ipu_tiles_free.
 * Errors: MEMORY. Cost: two passes over the variables, and O((vertex types + sets) * tiles). */
popliner_status pl_ipu_tiles_create(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                    size_t num_threads, pl_ipu_tiles **tiles,
                                    popliner_error *error);
void pl_ipu_tiles_free(pl_ipu_tiles *tiles);

/* True if the sums hold for a pipeline: copies and the calibration may differ. */
bool pl_ipu_tiles_serve(const pl_ipu_tiles *tiles, const popliner_pipeline *pipeline);

/* Returns the largest need of a tile in pl_stage_measure_ipu for at least two stages. Cost: O(sets
 * of units + tiles * (sets and segments of a tile, see pl_tile_meter)). */
uint64_t pl_ipu_tiles_peak(pl_ipu_tiles *tiles, const popliner_pipeline *pipeline,
                           popliner_need need, const popliner_interval *stages, size_t num_stages);

#endif
