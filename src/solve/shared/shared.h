/* Solving where stages share IPUs: measured stages, bounds, and searches.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SHARED_SHARED_H
#define PL_SOLVE_SHARED_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/keys.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"
#include "solve/choosing.h"
#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"
#include "solve/stop.h"

/* ---- measured stages ---- */

/* The needs of stages on one IPU that were measured, found again by their units: a table of at most
 * about 100 MB. Part of pl_shared. */
typedef struct pl_measured_need {
    uint64_t peak_bytes;
    uint64_t cycles; /* of stages that choose */
} pl_measured_need;

typedef struct pl_measured {
    pl_keys keys;            /* the units of the stages, and the IPU if it matters */
    pl_measured_need *needs; /* [keys.count] */
    pl_arrays arrays;        /* own both */
} pl_measured;

/* All that is known of stages on one IPU. Zero-initialise; free with pl_shared_free. */
typedef struct pl_shared {
    pl_measured measured;
    pl_wish wish;              /* of stages that choose: all that is known is for it */
    uint64_t *least_bytes;     /* [stages]: triangles of pl_least_load; NULL until first needed */
    uint64_t least_max_cycles; /* for which they hold, where stages choose */
    /* The work so far: about ten nanoseconds each, but the same on every machine. Searches end by
     * it, so that an answer does not depend on the time. */
    uint64_t work;
} pl_shared;

/* The work of measuring the stages of an IPU: a sum, or a call of a function that is not quick. */
enum { PL_WORK_OF_SUM = 64, PL_WORK_OF_CALL = 10000 };

void pl_shared_free(pl_shared *shared);

/* Sets *load to that of an IPU, and counts the work. together[count], ascending, are all of its
 * stages, which choose by the wish. Calls the shared-peak function only for stages that were not
 * measured. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_shared_measure(pl_shared *shared, const pl_problem *problem, const pl_wish *wish,
                                  const popliner_interval *together, size_t count, pl_load *load,
                                  popliner_error *error);

/* Returns pl_least_load of MEMORY for all stages and intervals. NULL when memory is short. The
 * first call takes O(stages * units^2). */
const uint64_t *pl_shared_least_bytes(pl_shared *shared, const pl_problem *problem,
                                      const pl_limits *limits);

/* A search for the best split of a problem whose stages share IPUs. The limits are passed
 * separately, as a pl_filter or as pl_limits. Owns nothing. */
typedef struct pl_shared_search {
    const pl_problem *problem;
    const pl_stop *stop;
    uint64_t most_work; /* a search ends when shared->work is this */
    pl_shared *shared;  /* the cache of measured stages */
} pl_shared_search;

/* ---- device sweep ---- */

/* Finds a split one IPU after another: exact. Fast if few cuts are between finished and further
 * IPUs, as with two stages on each. */

typedef enum pl_sweep_end {
    PL_SWEEP_DONE,
    PL_SWEEP_GAVE_UP, /* too many places of cuts, or too much work */
    PL_SWEEP_STOPPED,
} pl_sweep_end;

/* Finds any split within the filter where stages share IPUs. *split must be empty, and stays empty
 * if there is none, or if the sweep was not done. With a limit on the spread it sweeps once for
 * each block of smallest values (see pl_windows). Errors: MEMORY, those of the shared peaks. Cost:
 * the number of places that the cuts at the border of the finished IPUs can have (about units^3 for
 * two stages on each IPU, far fewer near the optimum), times the splits of the next IPU. */
popliner_status pl_device_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_sweep_end *how, popliner_error *error);

/* ---- first answer ---- */

/* Finds a good split without proof: improves a few simple splits by moving cuts, with measured
 * peaks. */

/* The request to pl_first_answer. */
typedef struct pl_first_answer_wish {
    popliner_objective objective; /* the objective to minimise */
    const pl_split *hint;         /* to start from, with as many stages as the map; or NULL */
    size_t num_kicks; /* how often the best split is changed at random and improved again */
} pl_first_answer_wish;

/* Finds a split within the filter that is small in the objective, and even where that decides
 * nothing. Starts from *split, which is empty or within the filter; from cuts after equal numbers
 * of units, and after equal parts of their needs; and from the hint. The result is at least as good
 * as each of these. *split stays empty if no split within the filter was found, which proves
 * nothing. Ends early if asked->stop requests it. Errors: MEMORY, those of the shared peaks. Cost:
 * O(stages^2) tries for each improvement, each with a measurement of the IPUs that it changes. */
popliner_status pl_first_answer(const pl_shared_search *asked, const pl_filter *filter,
                                const pl_first_answer_wish *wish, pl_split *split,
                                popliner_error *error);

/* ---- shared bounds ---- */

/* Returns a lower bound of what an IPU needs for one of its stages within the limits; the sum over
 * its stages is at most what it needs for all. For the objectives MEMORY and CYCLES. */
uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const pl_limits *limits, const popliner_interval *stage,
                       size_t num_stages_on_ipu);

/* Returns the number of stages on the IPU of a stage. */
size_t pl_num_on_ipu(const pl_problem *problem, size_t stage);

/* Finds a lower bound of the objective for splits within the filter. The bound is at most `known`
 * (UINT64_MAX: none); it is `known` only if no split is better. For MEMORY, CYCLES and TRAFFIC; 0
 * for other objectives. Errors: MEMORY.
 *
 * TRAFFIC: each stage as if it had its own IPU, by the dynamic program, whose split *hint becomes:
 * a good one to begin with. It must be empty, and stays so else: then the mean of the IPUs, and the
 * number of units that fit on an IPU, whichever they are, by pl_least_load of their stages: all
 * IPUs together must hold the chain. Exact for equal layers. */
popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, uint64_t *bound,
                                     pl_split *hint, popliner_error *error);

#endif
