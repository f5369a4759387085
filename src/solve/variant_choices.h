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

/* Finds choices of a chain. Not for several threads. */
typedef struct pl_variant_search pl_variant_search;

/* Borrows the choices, which are of variants. With has_moments, stages have what they need at one
 * moment of their IPU, if that is known. Free with pl_variant_search_free. Errors: MEMORY. O(n). */
popliner_status pl_variant_search_create(const pl_choices *choices, size_t num_units,
                                         bool has_moments, pl_variant_search **search,
                                         popliner_error *error);
void pl_variant_search_free(pl_variant_search *search);

/* Returns the work of all calls so far: how many choices of beginnings they compared. */
uint64_t pl_variant_search_work(const pl_variant_search *search);

/* ---- whether a stage has a choice ---- */

/* Returns a lower bound of the smallest peak within the limits; POPLINER_PEAK_FORBIDDEN if there is
 * none. Exact, unless cycles are limited: then parts of variants count. The stage should be longer
 * than that of the last call: O(variants of the units that are new). */
uint64_t pl_variant_search_least(pl_variant_search *search, const popliner_interval *stage,
                                 const pl_choice_wish *wish);

/* Sets *is_allowed to whether a stage has a choice within the limits: mostly by the bound, or by
 * whole steps. Errors: those of pl_variant_search_choose. */
popliner_status pl_variant_search_allow(pl_variant_search *search, const popliner_interval *stage,
                                        const pl_choice_wish *wish, bool *is_allowed,
                                        popliner_error *error);

/* True if neither a stage nor one that contains it has a choice within the limits. As
 * pl_variant_search_least. */
bool pl_variant_search_is_over(pl_variant_search *search, const popliner_interval *stage,
                               const pl_choice_wish *wish);

/* Returns the fewest cycles of a stage, with its cuts. O(1). */
uint64_t pl_variant_search_cycles(const pl_variant_search *search, const popliner_interval *stage);

/* ---- the best choice of an IPU ---- */

/* The stages of an IPU, and the limits of what they choose. */
typedef struct pl_variant_question {
    const popliner_interval *stages; /* [count], ascending */
    size_t count;
    uint64_t speed; /* of the IPU, in millionths */
    pl_choice_wish wish;
} pl_variant_question;

/* Finds the best choice within the limits: peak_bytes and cycles are those of the IPU. Unless they
 * are NULL, also sets cycles[count] to those of each stage, and appends the names of what they
 * choose to texts[count]: "none", "full", or "u=NAME,..." for the units that have a variant.
 * Errors: MEMORY; INPUT for more than 2^22 choices that may be part of the best. */
popliner_status pl_variant_search_choose(pl_variant_search *search,
                                         const pl_variant_question *question,
                                         pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                         popliner_error *error);

#endif
