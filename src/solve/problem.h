/* The costs, options and constraints of a solve, prepared for searching.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PROBLEM_H
#define PL_SOLVE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "popliner/solver.h"
#include "solve/constraint.h"
#include "solve/ipus.h"
#include "solve/objective.h"

/* The choices of its stages: solve/choosing.h. */
typedef struct pl_chooser pl_chooser;

/* Zero-initialise; free with pl_problem_free. Borrows the costs and options. */
typedef struct pl_problem {
    const popliner_costs *costs;
    const popliner_solver_options *options;
    pl_chooser *chooser; /* owned; NULL: the costs are those of all stages */
    size_t num_units;

    /* The allowed numbers of stages; with a device map only its own number. */
    size_t min_stages;
    size_t max_stages; /* at most num_units; less than min_stages if nothing is possible */
    bool is_mapped;
    size_t num_ipus; /* of the device map */
    bool is_shared;  /* some IPU has several stages */
    size_t most_stages_of_ipu;

    bool depends_on_ipu; /* which intervals a stage may be depends on its IPU */
    bool depends_on_end; /* ... on the number of stages after it */
    bool follows_split;  /* ... on the number of all stages */
    size_t num_places;   /* that the costs know, from the end */

    pl_cost_order order; /* empty if stages share IPUs or choose */

    /* The cuts and sizes that are allowed, in any place. */
    uint8_t *may_cut; /* [units + 1] by the unit after the cut; 1 at both ends of the chain */
    /* [units] the smallest and the largest end of a stage that begins with the unit; an end is one
     * past the last unit. Both ascend with the unit. */
    size_t *min_end;
    size_t *max_end;
    /* With a device map: the first stage on the IPU of each stage. */
    size_t *first_on_ipu;
    pl_arrays arrays;             /* own the arrays above */
    pl_links links;               /* for the first max_stages places */
    uint64_t largest_limit_bytes; /* of an IPU that may be used */
} pl_problem;

/* Prepares the constraints. Errors: MEMORY. O(n^2 + n * constraints). */
popliner_status pl_problem_create(pl_problem *problem, const popliner_costs *costs,
                                  const popliner_solver_options *options, popliner_error *error);

/* Checks that each IPU has a limit if the objectives need one. Errors: USAGE. */
popliner_status pl_problem_check_limits(const pl_problem *problem, popliner_error *error);

/* Checks what follows from the options and the costs together. Errors: USAGE. */
popliner_status pl_problem_check(const pl_problem *problem, popliner_error *error);

void pl_problem_free(pl_problem *problem);

/* True if the weight of these stages on one IPU is allowed. */
bool pl_options_allow_weight(const popliner_solver_options *options,
                             const popliner_interval *stages, size_t num_stages);

/* Returns the stages_to_end that the costs have for stage `stage` of num_stages. */
size_t pl_problem_place(const pl_problem *problem, size_t num_stages, size_t stage);

/* Returns the peak of an interval at such a place; the smallest of its choices. */
uint64_t pl_problem_peak(const pl_problem *problem, size_t first_unit, size_t last_unit,
                         size_t place);

/* Sets *peak_bytes to the peak of stages[count] on one IPU, which do not choose, of num_stages;
 * POPLINER_PEAK_FORBIDDEN if their weight is not allowed. Errors: those of the shared peaks. */
popliner_status pl_problem_shared_peak(const pl_problem *problem, const popliner_interval *stages,
                                       size_t count, size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error);

/* Returns the IPU of a stage. */
size_t pl_problem_ipu(const pl_problem *problem, size_t stage);

/* Returns the cycles of the interval as this stage (the fewest of its choices), at the speed of its
 * IPU and with the time of its cuts; pl_problem_busy_cycles if at speed 1 and without cuts they are
 * `cycles`. O(speeds). */
uint64_t pl_problem_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                           size_t last_unit);
uint64_t pl_problem_busy_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                                size_t last_unit, uint64_t cycles);

/* Returns how far the limit of an IPU is below the largest limit. O(limits). */
uint64_t pl_problem_lack(const pl_problem *problem, size_t ipu);

/* Returns the largest lack of the IPUs of a device map, below which no shortfall is; 0 without a
 * map. O(stages * limits). */
uint64_t pl_problem_largest_lack(const pl_problem *problem);

/* Returns the load of the IPU of a stage with this peak and these cycles. O(limits). */
pl_load pl_problem_load(const pl_problem *problem, size_t stage, uint64_t peak_bytes,
                        uint64_t cycles);

/* Returns the number of pairs whose units are on different IPUs, in a split whose stages begin with
 * first_units[num_stages]. O(pairs * stages). */
size_t pl_problem_broken_pairs(const pl_problem *problem, const size_t *first_units,
                               size_t num_stages);

/* Returns the filter with the limits of the options, all that it reads, and no others. */
pl_filter pl_filter_of_limits(void);

/* Returns the filter without limits of memory: it excludes only forbidden peaks. */
pl_filter pl_filter_without_memory(void);

/* Returns the largest allowed peak of an IPU. */
uint64_t pl_limits_peak(const pl_problem *problem, const pl_limits *limits, size_t ipu);

#endif
