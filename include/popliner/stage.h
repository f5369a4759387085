/* popliner: the memory of one stage, tile by tile.
 *
 * A stage is a set of operations that run together on one IPU. How its memory is counted depends on
 * the memory model of the chain, see popliner/chain.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_STAGE_H
#define POPLINER_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes by tile, each array with num_tiles items. Zero-initialise before the first use; free with
 * popliner_stage_memory_clear. */
typedef struct popliner_stage_memory {
    size_t num_tiles;
    uint64_t *variables_bytes; /* data: at the step of the stage where most of it is live */
    uint64_t *vertex_code_bytes;
    uint64_t *vertex_state_bytes;
    uint64_t *exchange_code_bytes;
    uint64_t *control_code_bytes;
    uint64_t *unexplained_bytes; /* always live, of no operation: 0 in PopLiner's model */
    uint64_t *total_bytes;       /* the sum of these six */
    uint64_t *peak_step;         /* no bytes: the first step at which variables_bytes are live */
} popliner_stage_memory;

void popliner_stage_memory_clear(popliner_stage_memory *memory);

/* The sum of one of the arrays over the tiles, and its largest item. */
uint64_t popliner_sum_of_tiles(const uint64_t *bytes, size_t num_tiles);
uint64_t popliner_largest_of_tiles(const uint64_t *bytes, size_t num_tiles);

/* Measures stages of one profile, reusing its work space: not for several threads at once. Refers
 * to the profile, operations and chain that it was made from. Owned by the caller; free with
 * popliner_stage_meter_free. */
typedef struct popliner_stage_meter popliner_stage_meter;

/* Errors: USAGE if the variables are not loaded; MEMORY. Takes 8 to 9 bytes per lowered variable,
 * and one per vertex type and tile. */
popliner_status popliner_stage_meter_create(const popliner_profile *profile,
                                            const popliner_operations *operations,
                                            const popliner_chain *chain,
                                            popliner_stage_meter **meter, popliner_error *error);
void popliner_stage_meter_free(popliner_stage_meter *meter);

/* Lets the meter repeat a quirk of PopLiner, which its greedy solver can depend on: the peak of the
 * variables is remembered by the set of variables alone, so a later stage with the same variables
 * but other steps gets the peak of the earlier one. Off at first. */
void popliner_stage_meter_remember_peaks(popliner_stage_meter *meter);

/* Ends that, and forgets them. */
void popliner_stage_meter_forget_peaks(popliner_stage_meter *meter);

/* Measures the stage of the given operations, in ascending order, into *memory, whose arrays are
 * made or reused. Each program of the operations counts once.
 *
 * PopLiner's model, from its source, quirks included:
 *   vertex code    once per vertex type (name and size) with an instance on the tile; its bytes are
 *                  those of the last type of that name
 *   vertex state   instances times the type's size, for every program that executes them
 *   exchange code  of the DoExchange programs
 *   control code   of the programs without children
 *   variables      those that operations in a layer touch, at the step in [first, last] where most
 *                  bytes are live; first is the first step of the first operation in a layer (of
 * the first operation, if none is), last is the last step of the last operation
 *
 * The full model:
 *   vertex code    once per vertex type with an instance on the tile
 *   vertex state   what the compiler tells of each compute set, else instances times the type's
 *                  size; once per compute set
 *   exchange code, control code  as above
 *                  each of these four at most what the compiler counts of it on the tile
 *   variables      the always-live data that its operations touch, and, at the stage's own step
 *                  where most bytes are live, the other data that they touch and the data that no
 *                  operation touches; its own steps are those of its operations, see
 *                  popliner_chain_create
 *                  A copy from or to the host does not touch what other programs of operations
 *                  touch: each stage copies its own data.
 *   unexplained    everything always live that no operation explains, in every stage
 * So all operations together have, on every tile, always_live_bytes + not_always_live_peak_bytes of
 * the compiler's account.
 *
 * Errors: MEMORY. Cost: O(touched variables + tiles * (steps + programs)). */
popliner_status popliner_stage_measure(popliner_stage_meter *meter, const size_t *operations,
                                       size_t num_operations, popliner_stage_memory *memory,
                                       popliner_error *error);

/* The same for all operations of the units first_unit ... last_unit, both included. */
popliner_status popliner_stage_measure_units(popliner_stage_meter *meter, size_t first_unit,
                                             size_t last_unit, popliner_stage_memory *memory,
                                             popliner_error *error);

/* The same for all operations of several stages that share an IPU; only their units matter, which
 * must not overlap. Where these are one stage, it is popliner_stage_measure_units. In PopLiner's
 * model the steps of several end with the last one of any operation, so that they never need less
 * than one of them, nor than they did before one has grown. */
popliner_status popliner_stage_measure_shared(popliner_stage_meter *meter,
                                              const popliner_interval *stages, size_t num_stages,
                                              popliner_stage_memory *memory, popliner_error *error);

/* The bytes by tile of one copy of what the stage first_unit ... last_unit has to keep of a
 * micro-batch until its backward pass comes, into by_tile_bytes[num_tiles]: of the lowered
 * variables, not always live,
 *   NONE  those that its forward and its backward operations touch and that are live at the turn
 *   FULL  those that forward operations of units before it and of its own touch and that are live
 *         when its first unit begins its forward pass
 * both times with the step before. popliner_intervals_measure tells what these mean. In PopLiner's
 * model operations in no layer do not count in a stage. All 0 for a profile that does not train. It
 * does not change which stage was measured last. Errors: MEMORY. Cost: O(variables), and O(steps)
 * the first time. */
popliner_status popliner_stage_measure_stash(popliner_stage_meter *meter,
                                             popliner_recompute recompute, size_t first_unit,
                                             size_t last_unit, uint64_t *by_tile_bytes,
                                             popliner_error *error);

/* What several stages on one IPU keep for a pipeline (NULL: nothing), each so many copies of its
 * stash as its place asks for, into kept_bytes[num_tiles]. Like popliner_stage_measure_stash, whose
 * errors and costs it has for each stage. */
popliner_status popliner_stage_measure_kept(popliner_stage_meter *meter,
                                            const popliner_pipeline *pipeline,
                                            const popliner_interval *stages, size_t num_stages,
                                            uint64_t *kept_bytes, popliner_error *error);

/* The bytes, over all tiles, of the variables that operations of the stage measured last touch, that
 * are always live and whose category is "variable": its parameters, but also the optimizer's state
 * and whatever else outlives a run. In PopLiner's model those of operations in layers. The profile
 * tells no type of an element, so the number of parameters follows only if it is known otherwise.
 * O(variables). */
uint64_t popliner_stage_parameter_bytes(const popliner_stage_meter *meter);

/* A variable of a stage, see popliner/liveness.h for what belongs to the number. The texts live as
 * long as the profile. */
typedef struct popliner_stage_variable {
    size_t variable;
    uint64_t size_bytes;
    const char *name; /* "" if it has none */
    const char *category;
} popliner_stage_variable;

/* The largest data variables of the stage that was measured last, on `tile`, that are live at
 * `step`: at most `most` of them into largest[], by size, then by number. Returns how many. In the
 * full model these include what no operation touches. O(variables of the tile * most). */
size_t popliner_stage_largest_variables(const popliner_stage_meter *meter, size_t tile, size_t step,
                                        popliner_stage_variable *largest, size_t most);

#ifdef __cplusplus
}
#endif

#endif
