/* The split as an integer program: one binary variable per interval that may be a stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTERVAL_PROGRAM_H
#define PL_SOLVE_INTERVAL_PROGRAM_H

#include "solve/glpk_support.h"
#include "solve/plan.h"

/* What a program found. Zero-initialise; free with pl_split_clear(&answer.split). */
typedef struct pl_program_answer {
    pl_split split;       /* the best found, within the limits asked for; empty: none */
    uint64_t value_bytes; /* its objective, computed from the table in integers */
    bool proven;          /* nothing is better; with an empty split: there is none */
    bool out_of_time;     /* GLPK met its deadline */
} pl_program_answer;

/* Splits into at most max_stages stages, none with a peak above peak_limit_bytes
 * (< POPLINER_PEAK_FORBIDDEN), and makes the largest peak of a stage as small as possible. No peak
 * below bound_bytes is known to be possible (0 if nothing is known): reaching it ends the search.
 * Errors: MEMORY, INTERNAL. */
popliner_status pl_program_smallest_peak(const popliner_costs *costs, size_t max_stages,
                                         uint64_t peak_limit_bytes, uint64_t bound_bytes,
                                         const pl_glpk_limits *limits, pl_program_answer *answer,
                                         popliner_error *error);

/* Splits into at most max_stages stages, none with a peak above peak_limit_bytes, and makes the sum
 * of the cut bytes as small as possible. Intervals that are in no split, of however many stages,
 * with at most cut_limit_bytes (< PL_MOST_CUT_BYTES) are left out: the answer is meant to be within
 * that limit. A sum of bound_bytes, below which nothing is known to be possible, ends the search.
 * Without such a bound many splits of equal value may end it unproven. Errors: MEMORY, INTERNAL. */
popliner_status pl_program_fewest_cut_bytes(const popliner_costs *costs, size_t max_stages,
                                            uint64_t peak_limit_bytes, uint64_t cut_limit_bytes,
                                            uint64_t bound_bytes, const pl_glpk_limits *limits,
                                            pl_program_answer *answer, popliner_error *error);

#endif
