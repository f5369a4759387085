/* The costs of every stage of a chain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_INTERVALS_H
#define PL_MEMORY_INTERVALS_H

#include "memory/interval_inputs.h"
#include "memory/stage_details.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* Sets *train to whether the layers of the chain train, see popliner_analysis_is_training. Errors:
 * MEMORY. O(steps). */
popliner_status pl_intervals_are_training(const pl_chain *chain, bool *train,
                                          popliner_error *error);

/* Fills a table of costs for the chain, in its memory model, and tables of the results of
 * pl_stage_detail_measure for every interval, in every position of pipelines of any length. The
 * caller frees *costs and *details. `costs` or `details` may be NULL if not wanted, and `options`
 * for PL_INTERVAL_OPTIONS_INIT.
 *
 *   peak     The largest need of a tile in pl_stage_measure_ipu for the interval, in the last
 *            position of the pipeline. In the full model, where a longer interval never needs less
 *            on any tile before buffers are added, those above max_bytes are
 *            POPLINER_PEAK_FORBIDDEN and not measured further, unless details are requested, which
 *            are of all intervals: max_bytes is then ignored. In PopLiner's model a longer interval
 *            may end earlier (see popliner/stage.h), so that max_bytes is ignored. Unit 0 alone is
 *            forbidden as a stage if it has no operations.
 *   cut      The bytes of all lowered variables, not always-live, that are carried over the cut:
 *            operations on both sides touch the variable in the same pass, forward or backward, and
 *            it is live when the unit after the cut begins its forward pass, or the unit before the
 *            cut its backward pass, and also at the step before, so that it existed already. What
 *            was carried forward and stays does not count again backward. (In the full model with
 *            its rule for host copies, see popliner/stage.h.)
 *            The passes meet at the turn, the first step at which the last layer computes or
 *            exchanges. An operation that begins before it is forward, else backward; operations
 *            of the last layer and of units after it are both. Without training everything is
 *            forward.
 *   peak     With more than one stage to the end only if the pipeline and the profile train, for up
 *            to pipeline.max_stages stages, but not more than there are units: as above, further
 *            from the end. With full recomputation a stage that grows to the left may need less,
 *            as it then has other inputs.
 *   cycles   Only with_cycles, and if the profile has those of computing
 *            (pl_profile_cycles_source is ESTIMATED or MEASURED): the sum, over the liveness steps
 *            that run for an operation of the interval, of the cycles of their programs, times the
 *            counts of the Repeats around them; for a choice between programs, the one with the
 *            most computing. Also the transfer time of the two cuts of the interval, forward and
 *            backward. So an interval may have fewer cycles than a part of it with larger cuts.
 *
 * Errors: USAGE if the variables are not loaded; MEMORY; STOPPED. Cost: two passes over the
 * variables that programs touch, then for each tile O(variables + steps + units * (segments + parts
 * * log segments) + units^2), shared among the threads. A part is a live range of a variable from
 * the first to the last step of units that do not touch it (in PopLiner's model, any live range),
 * once for all variables that the same units touch; segments are the steps between the ends of
 * parts and of units. Each thread takes O(units^2 + steps + parts + sets of units * their units)
 * bytes; see pl_stage_details_size. Only the calling thread calls the listener. */
popliner_status pl_intervals_measure(const pl_chain *chain, const pl_interval_options *options,
                                     popliner_costs **costs, pl_stage_details **details,
                                     popliner_error *error);

/* Subtracts the transfer time of cuts on a link of PL_LINK_BYTES_PER_SECOND from the cycles of a
 * table, for callers with other bandwidths. O(n^2). */
void pl_intervals_leave_out_links(popliner_costs *costs, uint64_t clock_hz);

/* The arguments of pl_intervals_shared_peak. */
typedef struct pl_shared_stages {
    pl_stage_meter *meter; /* not owned; measures another stage each time */
    popliner_pipeline pipeline;
    popliner_need need;
} pl_shared_stages;

/* A popliner_shared_peak_function; `user` is a pl_shared_stages. Computes the largest need of a
 * tile in pl_stage_measure_ipu; for one stage it equals the peak of pl_intervals_measure. Errors:
 * MEMORY. Cost: that of measuring a stage. */
popliner_status pl_intervals_shared_peak(void *user, const popliner_interval *stages,
                                         size_t num_stages, uint64_t *peak_bytes,
                                         popliner_error *error);

#endif
