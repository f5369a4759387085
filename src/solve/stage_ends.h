/* Where a stage may end that begins with a unit.
 *
 * If needs never shrink, these ends are a window: those that the stage is large enough for, to
 * those that it is not too large for; and neither bound falls from one unit to the next, so two
 * pointers find them all. Else there is a mark for each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STAGE_ENDS_H
#define PL_SOLVE_STAGE_ENDS_H

#include "solve/problem.h"

/* An end is the unit behind the last one. Zero-initialise; free with pl_stage_ends_free. */
typedef struct pl_stage_ends {
    bool is_ordered; /* no marks: every end in a window may be one, if it may be a cut */
    size_t *from;    /* [units] the least one; owned, like all of these */
    size_t *to;      /* [units] behind the largest; not above `from` if there is none */
    /* Marks of the ends of a unit: those from `from` on begin at ok[row[unit]]. */
    size_t *row;
    uint8_t *ok;
    size_t capacity;
} pl_stage_ends;

/* Units that stages may begin with: first ... last. */
typedef struct pl_begin_range {
    size_t first;
    size_t last;
} pl_begin_range;

/* Finds those of the units of a range, again if they were found before. `within`, unless it is
 * NULL, has all of them and perhaps more, which saves looking elsewhere. Errors: MEMORY. O(n) if
 * needs never shrink; else O(n^2), or the windows of `within`. */
popliner_status pl_stage_ends_find(pl_stage_ends *ends, const pl_stage_rule *rule,
                                   pl_begin_range range, const pl_stage_ends *within,
                                   popliner_error *error);
void pl_stage_ends_free(pl_stage_ends *ends);

/* Whether that takes O(n) for this rule. */
bool pl_stage_rule_is_ordered(const pl_stage_rule *rule);

/* The rule without what may be less for a longer interval: the cycles of the costs where they may,
 * and what cuts take on links. It allows whatever the rule does, and is ordered if peaks never
 * shrink. */
pl_stage_rule pl_stage_rule_outer(const pl_stage_rule *rule);

/* For ordered rules, whatever may be a cut: no end of a stage that begins with the unit, or before
 * it, is larger: O(log n); no stage that ends there, or behind it, begins with a smaller unit:
 * O(units between). */
size_t pl_stage_rule_last_end(const pl_stage_rule *rule, size_t first_unit);
size_t pl_stage_rule_first_begin(const pl_stage_rule *rule, size_t end_unit);

#endif
