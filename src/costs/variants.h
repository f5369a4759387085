/* Recomputation that each stage chooses: variants of units, which a stage combines, or of listed
 * intervals; each with its memory, stash and cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_VARIANTS_H
#define PL_COSTS_VARIANTS_H

#include "base/growth.h"
#include "costs/triangle.h"
#include "popliner/costs.h"
#include "popliner/pipeline.h"

/* ---- Variants -------------------------------------------------------------------------------- */

typedef struct pl_variant {
    uint64_t memory_bytes;
    uint64_t stash_bytes;
    uint64_t cycles;
    char *name; /* owned */
} pl_variant;

/* Zero-initialise; free with pl_variants_free. It owns items and arrivals. */
typedef struct pl_variants {
    size_t num_units;
    bool is_listed; /* of intervals; else of units */
    pl_variant *items;
    size_t count;
    size_t capacity;
    /* Where the variants of each unit, or of each interval in the order of costs/triangle.h, begin:
     * [their number + 1]. The first variant of a unit is the unit unchanged. */
    size_t *first;
    /* [units]: stored instead of the stash if a stage recomputes all its units */
    uint64_t *inputs_bytes;
    uint64_t *recompute_cycles; /* [units]: the cycles that this adds */
    bool has_full;              /* true if a stage may recompute all its units */
    uint64_t *cut_cycles;       /* [units + 1], by the unit after the cut */
    pl_arrival *arrivals;       /* by unit: memory that a stage needs once for several */
    size_t num_arrivals;
    size_t arrivals_capacity;
    /* Returns the memory that units of stages on one IPU share; NULL: none. */
    uint64_t (*shared_bytes)(const void *user, const popliner_interval *stages, size_t num_stages);
    const void *user;
    uint64_t capacity_bytes;
    popliner_pipeline pipeline;
    size_t max_stages; /* the number of places that differ */
} pl_variants;

void pl_variants_free(pl_variants *variants);

/* Adds a variant with a name of `length` characters. False when memory is short. */
bool pl_variants_add(pl_variants *variants, pl_variant variant, const char *name, size_t length);

/* The places of a table that differ in more than their copies: in the cycles of a stage there. */
typedef struct pl_variant_kinds {
    size_t count;
    const size_t *to_end; /* [count]: the place in the pipeline, of which the copies are */
    /* Sets *cycles to the most that the units first_unit ... end_unit - 1 may have at a place, from
     * 1 on, with no end more than with num_units; false if they may not be a stage there. */
    bool (*most_cycles)(const void *user, size_t place, size_t first_unit, size_t end_unit,
                        uint64_t *cycles);
    const void *user;
} pl_variant_kinds;

/* The limits that stages choose within. should_stop and kinds may be NULL. */
typedef struct pl_variant_limits {
    uint64_t max_cycles;
    uint64_t max_bytes;
    bool (*should_stop)(void *user);
    void *user;
    const pl_variant_kinds *kinds; /* of a table; in place of max_cycles */
} pl_variant_limits;

/* Replaces the bound of a stage in such a table by its smallest peak, also for stages of the same
 * numbers and copies. Sets *is_changed to true if the bound was lower. Errors: those of
 * pl_choices_choose. */
popliner_status pl_variants_refine(const pl_variants *variants, const popliner_interval *stage,
                                   const pl_variant_limits *limits, popliner_costs *costs,
                                   bool *is_changed, popliner_error *error);

/* The variants that a stage chooses, and their costs. */
typedef struct pl_variant_choice {
    bool exists;
    uint64_t peak_bytes;
    uint64_t cycles;
} pl_variant_choice;

/* True if a choice has a smaller peak than another; `by_cycles`: fewer cycles, then a smaller
 * peak. */
bool pl_variant_choice_is_better(const pl_variant_choice *own, const pl_variant_choice *other,
                                 bool by_cycles);

/* The cycles of a choice, and its bytes without what units share. */
typedef struct pl_variant_point {
    uint64_t cycles;
    uint64_t bytes;
} pl_variant_point;

/* Sorts points by their cycles, and drops those that another beats in both. Returns how many are
 * left. */
size_t pl_variant_points_keep(pl_variant_point *points, size_t count);

/* Appends the choices of a stage that no other beats in both to a growing array, from the fewest
 * cycles on. Errors: MEMORY; INPUT for more than 2^22 choices. */
popliner_status pl_variants_points(const pl_variants *variants, const popliner_interval *stage,
                                   pl_variant_point **points, size_t *count, size_t *capacity,
                                   popliner_error *error);

/* Returns the fewest cycles of a unit; and a lower bound of the cycles of the slowest of at most
 * num_ipus IPUs. */
uint64_t pl_variants_fewest_cycles(const pl_variants *variants, size_t unit);
uint64_t pl_variants_least_cycles(const pl_variants *variants, size_t num_ipus);

/* ---- Ways ------------------------------------------------------------------------------------ */

/* Ways of running stages that each have their own table of costs, for example of a profile with and
 * without recomputation. Each stage may choose any. */

/* Borrowed. All tables are of one chain; all have cycles, or none has. */
typedef struct pl_ways {
    const popliner_costs *const *costs; /* [count]; the cuts are those of the first */
    const char *const *names;           /* [count] */
    size_t count;
} pl_ways;

/* ---- Choices --------------------------------------------------------------------------------- */

/* The choices of the stages of a table of costs. */
typedef struct pl_choices {
    const pl_variants *variants;   /* NULL: ways */
    const char *const *unit_names; /* [units], of variants */
    pl_ways ways;                  /* of which the table itself is the first */
} pl_choices;

/* True if stages choose from the same memory at these places of a pipeline. */
bool pl_choices_store_the_same(const pl_choices *choices, size_t place, size_t other);

/* Makes a table of the smallest peaks of stages within max_cycles, with the cuts of `like`, for at
 * most the first max_stages places from the end. For variants of units, peaks are lower bounds,
 * unless cycles are not limited: parts of variants count. Forbids stages that have no such peak or
 * need more than max_bytes, which ways ignore, so that an interval is forbidden in all places or in
 * none. *costs is NULL if should_stop returned true. Errors: MEMORY. O(n^2 * places *
 * log(variants)), or * ways. */
popliner_status pl_choices_costs(const pl_choices *choices, const popliner_costs *like,
                                 size_t max_stages, const pl_variant_limits *limits,
                                 popliner_costs **costs, popliner_error *error);

/* Chooses for a stage alone on its IPU what has the smallest peak within the limits; `by_cycles`:
 * the fewest cycles, then the smallest peak; of equal ones the first. Appends its name to `text`
 * (may be NULL): that of a way or of an interval's variant, "none", "full", or "u=NAME,..." for the
 * units that have a variant. Errors: MEMORY; INPUT for more than 2^22 points that may be part of
 * the best choice. */
popliner_status pl_choices_choose(const pl_choices *choices, const popliner_interval *stage,
                                  const pl_variant_limits *limits, bool by_cycles,
                                  pl_variant_choice *choice, pl_text *text, popliner_error *error);

/* Makes a table choose between itself and others: costs[count], of which it is the first and
 * becomes the owner, also on failure. The names are static. Errors: MEMORY. */
popliner_status pl_ways_join(popliner_costs *const *costs, const char *const *names, size_t count,
                             popliner_error *error);

/* Frees what pl_ways_join has made for a table; its own costs are not. */
void pl_ways_part(popliner_costs *costs);

#endif
