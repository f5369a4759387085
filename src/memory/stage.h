/* The memory of the stages of a chain: of single ones, and of several on one IPU.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_H
#define PL_MEMORY_STAGE_H

#include "base/bounds.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* Frees the arrays; zero-initialise the memory before it is first measured. */
void pl_stage_memory_clear(popliner_stage_memory *memory);

/* Return the sum of an array over the tiles, and its largest item. */
uint64_t pl_tiles_sum(const uint64_t *bytes, size_t num_tiles);
uint64_t pl_tiles_max(const uint64_t *bytes, size_t num_tiles);

struct pl_pass_usage;

/* Measures stages of one profile, from digests that it makes once: not for several threads at once.
 * Refers to the chain that it was made from, and to what that refers to. Owned by the caller; free
 * with pl_stage_meter_free. */
typedef struct pl_stage_meter pl_stage_meter;

/* Creates a meter that makes its digests on num_threads (0: one per processor). Errors: USAGE if
 * the variables are not loaded; MEMORY. */
popliner_status pl_stage_meter_create(const pl_chain *chain, size_t num_threads,
                                      pl_stage_meter **meter, popliner_error *error);
void pl_stage_meter_free(pl_stage_meter *meter);

/* Returns the units that touch each variable in each pass, which live as long as the meter. */
const struct pl_pass_usage *pl_stage_meter_pass_usage(const pl_stage_meter *meter);

/* True if the profile has accumulators: see pl_has_accumulators. */
bool pl_stage_meter_has_accumulators(const pl_stage_meter *meter);

/* See pl_popliner_meter_remember_peaks; nothing in the full model. */
void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers);

/* Measures stages on one IPU, whose units must not overlap, in a pipeline (NULL: none, and no
 * effects), with what they store in the number of copies for the position of each, into *memory,
 * whose arrays are created or reused. popliner/stage.h says what counts.
 *
 * Each copy of what a stage stores is rounded up on its own, and then multiplied.
 *
 * Errors: MEMORY. Cost: that of making a digest, for the first pipeline of its kind; then O(lists
 * of all tiles). In PopLiner's model O(touched variables + tiles * (steps + vertex types)). */
popliner_status pl_stage_measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                     const popliner_interval *stages, size_t num_stages,
                                     popliner_stage_memory *memory, popliner_error *error);

/* Measures the stage of any operations, in ascending order; only in PopLiner's model. Errors:
 * MEMORY. */
popliner_status pl_stage_measure_operations(pl_stage_meter *meter, const size_t *operations,
                                            size_t num_operations, popliner_stage_memory *memory,
                                            popliner_error *error);

/* Returns the code on a tile of a stage that was measured, by group: what its programs explain, and
 * the unattributed part. O(1). */
uint64_t pl_stage_code_bytes(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                             int group, size_t tile);

/* Sets *peak_bytes to the largest need of a tile in pl_stage_measure_ipu. */
popliner_status pl_stage_measure_peak(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      popliner_need need, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error);

/* Sets *detail to the sums of `memory` over all tiles, and its fullest tile: parts but parameters,
 * the total, estimates, `tile`, tile_bytes. */
void pl_stage_sum(const popliner_stage_memory *memory, popliner_stage_detail *detail);

/* Sets *detail to the sums of `memory`, which was measured for these stages. Errors: MEMORY. Cost:
 * O(variables of the fullest tile * log). */
popliner_status pl_stage_detail_of(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                   const popliner_interval *stages, size_t num_stages,
                                   const popliner_stage_memory *memory,
                                   popliner_stage_detail *detail, popliner_error *error);

/* Measures stages on one IPU, in a pipeline (NULL: none), and sums up. Errors and cost: those of
 * pl_stage_measure_ipu and pl_stage_detail_of. */
popliner_status pl_stage_detail_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        popliner_stage_detail *detail, popliner_error *error);

/* Measures every operation separately and sets *sums, [operations], which the caller frees: parts
 * and total over all tiles. Operations of one debug context all have the result of the first, as in
 * PopLiner. Reports progress to the listener. Errors: MEMORY. Cost: one pass over the variables,
 * and that of pl_stage_measure_ipu for each context. */
popliner_status pl_operation_sums_measure(const struct pl_operations *operations,
                                          pl_stage_meter *meter, const popliner_listener *listener,
                                          popliner_stage_detail **sums, popliner_error *error);

#endif
