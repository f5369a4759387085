/* Who counts a variable: the units that touch it, and those that it passes through on its way from
 * one of them to another. docs/internals/memory-models.md has the rule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PASSING_H
#define PL_MEMORY_PASSING_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/passes.h"
#include "memory/unit_sets.h"
#include "memory/unit_usage.h"

/* For each set of a pl_pass_usage, the units that count a variable of that set; as
 * sets of `sets`, whose units are those of the chain. */
typedef struct pl_passing {
    pl_unit_sets sets;
    uint32_t *touching; /* [usage sets]: at any step, if nothing passes */
    uint32_t *forward;  /* [usage sets]: before the turn */
    uint32_t *backward; /* [usage sets]: from the turn on, unless it was kept until then */
} pl_passing;

/* Finds them out; nothing passes unless `passes_through`. Zero-initialise before, free with
 * pl_passing_free, also after an error. Errors: MEMORY. O(units * sets). */
popliner_status pl_passing_find(pl_passing *passing, const pl_pass_usage *usage,
                                bool passes_through, popliner_error *error);
void pl_passing_free(pl_passing *passing);

/* Whether a variable passes through one of the units first_unit ... last_unit, not to say that they
 * do not touch it, at steps before the turn or from it on. It was kept if pl_class_crosses the
 * turn. O(1). */
static inline bool pl_passes_forward(const pl_pass_bounds *bounds, size_t first_unit,
                                     size_t last_unit) {
    if (bounds->first_forward == PL_NO_UNIT)
        return false;
    size_t first = (size_t)bounds->first_forward + 1;
    size_t end = bounds->last_forward;
    return (first > first_unit ? first : first_unit) < (end <= last_unit ? end : last_unit + 1);
}

static inline bool pl_passes_backward(const pl_pass_bounds *bounds, bool was_kept,
                                      size_t first_unit, size_t last_unit) {
    const pl_pass_bounds as_forward = {bounds->first_backward, bounds->last_backward, PL_NO_UNIT,
                                       PL_NO_UNIT};
    return !was_kept && pl_passes_forward(&as_forward, first_unit, last_unit);
}

#endif
