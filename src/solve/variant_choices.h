/* Stages choose variants of their units: whether there is a choice within limits of bytes and
 * cycles, and the best one of the stages of an IPU.
 *
 * Choices grow unit by unit, and those are kept that no other beats (Nemhauser and Ullmann,
 * Management Science 15, 1969). Where a unit may choose in part, steps from variant to variant that
 * save the most bytes for a cycle come first (Dantzig, Operations Research 5, 1957): this bounds
 * what a stage needs, and whole steps are a good choice. A choice that may be the best has about
 * the price of a cycle of the step at which parts would begin (Lagrange).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_VARIANT_CHOICES_H
#define PL_SOLVE_VARIANT_CHOICES_H

#include "costs/variants.h"

/* ---- the best choice of an IPU --------------------------------------------------------------- */

/* The stages of an IPU, and the limits of what they choose. */
typedef struct pl_variant_question {
    const pl_choices *of;            /* of variants */
    const popliner_interval *stages; /* [count], ascending */
    size_t count;
    bool has_moments; /* the IPU needs the most of its moments, if they are known */
    uint64_t speed;   /* of the IPU, in millionths */
    pl_variant_limits limits;
    bool by_cycles; /* the fewest cycles, then the smallest peak; else the smallest peak */
} pl_variant_question;

/* Scratch of the choices. Zero-initialise; free with pl_frontier_free. */
typedef struct pl_frontier {
    pl_arrays arrays; /* own the others */
    const pl_variant_question *question;
    pl_variant_stage *stages;  /* [stages] */
    pl_variant *sums;          /* [stages]: of what was picked */
    size_t num_moments;        /* that count so far */
    size_t *moments;           /* [num_moments] */
    size_t num_all;            /* moments of the IPU */
    pl_variant_counts *counts; /* [stages * num_all] */
    size_t num_amounts;        /* bytes at each moment, then maybe the cycles of each stage */
    size_t width;              /* of a row: cycles, where it comes from, and amounts */
    uint64_t *items; /* [num_items]: rows of each variant of each unit, and of each whole stage */
    size_t num_items;
    uint64_t *rows; /* [count]: choices of all units so far, those of the last at the end */
    size_t count;
    size_t current; /* where the rows of the last unit begin */
    uint64_t *rest; /* [units + 1]: rows of what the units from here on take at least */
    uint64_t *most; /* a row: the limits */
    uint64_t cycle_weight;
    uint64_t byte_weight;
    struct pl_variant_step *steps;
    size_t *taken;  /* [units]: steps */
    size_t *picked; /* [units]: variants; all units of a stage may be recomputed */
} pl_frontier;

void pl_frontier_free(pl_frontier *frontier);

/* Finds the best choice within the limits: peak_bytes and cycles are those of the IPU. Unless they
 * are NULL, also sets cycles[count] to those of each stage, and appends the names of what they
 * choose to texts[count]: "none", "full", or "u=NAME,..." for the units that have a variant. Of
 * equal choices it is that in which the first stage has the fewest cycles, then the second, ...
 * Errors: MEMORY; INPUT for more than 2^22 choices that may be part of the best. */
popliner_status pl_frontier_choose(pl_frontier *frontier, const pl_variant_question *question,
                                   pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                   popliner_error *error);

/* ---- whether there is a choice --------------------------------------------------------------- */

/* Bounds of the stages of choices. Not for several threads. */
typedef struct pl_choice_bounds pl_choice_bounds;

/* Borrows the choices. With has_moments, stages of variants have what they need at one moment of
 * their IPU, if that is known. Free with pl_choice_bounds_free. Errors: MEMORY. O(n), or O(n^2) for
 * ways, in pipelines of max_stages. */
popliner_status pl_choice_bounds_create(const pl_choices *choices, size_t num_units,
                                        size_t max_stages, bool has_moments,
                                        pl_choice_bounds **bounds, popliner_error *error);
void pl_choice_bounds_free(pl_choice_bounds *bounds);

/* Returns a lower bound of the smallest peak within the limits; POPLINER_PEAK_FORBIDDEN if there is
 * none. Exact, unless cycles are limited and units have variants: then parts of variants count, and
 * the stage should be longer than that of the last call. O(variants); O(ways). */
uint64_t pl_choice_bounds_least(pl_choice_bounds *bounds, const popliner_interval *stage,
                                const pl_variant_limits *limits);

/* Returns whether a stage has a choice within the limits: mostly by the bound, or by whole steps.
 * Failures are kept: see pl_choice_bounds_failure. */
bool pl_choice_bounds_allow(pl_choice_bounds *bounds, const popliner_interval *stage,
                            const pl_variant_limits *limits);

/* True if neither a stage nor one that contains it has a choice within the limits.
 * O(1); O(ways). */
bool pl_choice_bounds_is_over(pl_choice_bounds *bounds, const popliner_interval *stage,
                              const pl_variant_limits *limits);

/* Returns the fewest cycles of a stage, with its cuts. O(1); O(ways). */
uint64_t pl_choice_bounds_cycles(const pl_choice_bounds *bounds, const popliner_interval *stage);

/* Returns the first failure so far, after which nothing else is of use. Errors: those of
 * pl_frontier_choose. */
popliner_status pl_choice_bounds_failure(const pl_choice_bounds *bounds, popliner_error *error);

/* ---- ways ---- */

/* Chooses of the ways of a stage what has the smallest peak within the limits; `by_cycles`: the
 * fewest cycles, then the smallest peak; of equal ones the first. */
pl_variant_choice pl_ways_choose(const pl_ways *ways, const popliner_interval *stage,
                                 const pl_variant_limits *limits, bool by_cycles, size_t *way);

#endif
