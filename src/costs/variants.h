/* Recomputation that each stage chooses: variants of units, which a stage combines, each with its
 * memory, stash and cycles; or ways of all its units.
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
    uint64_t stash_bytes;   /* of a micro-batch that waits for its backward pass */
    uint64_t set_bytes;     /* of one that waits for its weights, also what was recomputed */
    uint64_t running_bytes; /* of one that runs, which the memory may have */
    uint64_t cycles;
    char *name; /* owned; NULL in the choice of a stage, whose numbers are sums */
} pl_variant;

/* Zero-initialise; free with pl_variants_free. It owns items and arrivals. */
typedef struct pl_variants {
    size_t num_units;
    pl_variant *items;
    size_t count;
    size_t capacity;
    /* [units + 1]: where the variants of each unit begin. The first one is the unit unchanged. */
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
    const struct pl_moments *moments; /* of the IPUs; NULL: each stage has its most */
    bool has_working_set;             /* its memory includes one of each stage */
    uint64_t capacity_bytes;
    popliner_pipeline pipeline;
    size_t max_stages; /* the number of places that differ */
} pl_variants;

void pl_variants_free(pl_variants *variants);

/* Adds a variant with a name of `length` characters. False when memory is short. */
bool pl_variants_add(pl_variants *variants, pl_variant variant, const char *name, size_t length);

/* The limits that stages choose within. */
typedef struct pl_variant_limits {
    uint64_t max_cycles;
    uint64_t max_bytes;
} pl_variant_limits;

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

/* Returns the number of moments of the IPU of a stage at this place; 1: each stage has its most. */
size_t pl_variants_num_moments(const pl_variants *variants, size_t place);

/* Returns the bytes of a choice of a stage at such a moment, without what units share. O(1). */
uint64_t pl_variants_bytes(const pl_variants *variants, const pl_variant *choice, size_t place,
                           size_t moment);

/* Appends the choices of a stage that no other beats, in cycles and at each moment, to a growing
 * array, from the fewest cycles on. Errors: MEMORY; INPUT for more than 2^22 choices. */
popliner_status pl_variants_choices(const pl_variants *variants, const popliner_interval *stage,
                                    pl_variant **choices, size_t *count, size_t *capacity,
                                    popliner_error *error);

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

/* Appends the name of a choice of pl_variants_choices, as pl_choices_choose has it. Errors: the
 * same. */
popliner_status pl_variants_name(const pl_choices *choices, const popliner_interval *stage,
                                 const pl_variant *choice, pl_text *text, popliner_error *error);

/* Returns the place in choices of stage `stage` of num_stages; places follow the split or not. */
size_t pl_choices_place(const pl_choices *choices, bool follows_split, size_t num_stages,
                        size_t stage);

/* True if stages choose from the same memory at these places of a pipeline. */
bool pl_choices_store_the_same(const pl_choices *choices, size_t place, size_t other);

/* Chooses for a stage alone on its IPU what has the smallest peak within the limits; `by_cycles`:
 * the fewest cycles, then the smallest peak; of equal ones the first. Appends its name to `text`
 * (may be NULL): that of a way, "none", "full", or "u=NAME,..." for the
 * units that have a variant. Errors: MEMORY; INPUT for more than 2^22 points that may be part of
 * the best choice. */
popliner_status pl_choices_choose(const pl_choices *choices, const popliner_interval *stage,
                                  const pl_variant_limits *limits, bool by_cycles,
                                  pl_variant_choice *choice, pl_text *text, popliner_error *error);

/* Knowledge of the stages of choices, without choosing: lower bounds, and the smallest peaks
 * that were found because bounds were not enough. Not for several threads. */
typedef struct pl_choice_bounds pl_choice_bounds;

/* Borrows the choices. With at_one_moment, stages of variants have what they need at one moment of
 * their IPU, if that is known, which adds up to no more than what they need together.
 * Free with pl_choice_bounds_free. Errors: MEMORY. O(n), or O(n^2) for
 * ways, in pipelines of max_stages. */
popliner_status pl_choice_bounds_create(const pl_choices *choices, size_t num_units,
                                        size_t max_stages, bool at_one_moment,
                                        pl_choice_bounds **bounds, popliner_error *error);
void pl_choice_bounds_free(pl_choice_bounds *bounds);

/* Returns a lower bound of the smallest peak within the limits; POPLINER_PEAK_FORBIDDEN if there is
 * none. Exact, unless cycles are limited and units have variants: then parts of variants count, and
 * the stage should be one unit longer than that of the last call. O(log(variants)), else O(units *
 * log(variants)); O(ways). */
uint64_t pl_choice_bounds_least(pl_choice_bounds *bounds, const popliner_interval *stage,
                                const pl_variant_limits *limits);

/* True if neither a stage nor one that contains it has a choice within the limits.
 * O(1); O(ways). */
bool pl_choice_bounds_is_over(pl_choice_bounds *bounds, const popliner_interval *stage,
                              const pl_variant_limits *limits);

/* Returns the fewest cycles of a stage, with its cuts. O(1); O(ways). */
uint64_t pl_choice_bounds_cycles(pl_choice_bounds *bounds, const popliner_interval *stage);

/* Replaces the bound of a stage by the smallest peak within max_cycles. *peak_bytes becomes that.
 * Errors: those of pl_choices_choose. */
popliner_status pl_choice_bounds_refine(pl_choice_bounds *bounds, const popliner_interval *stage,
                                        uint64_t max_cycles, uint64_t *peak_bytes,
                                        popliner_error *error);

/* True if memory was short: then bounds are of no use. */
bool pl_choice_bounds_have_failed(const pl_choice_bounds *bounds);

/* Makes a table choose between itself and others: costs[count], of which it is the first and
 * becomes the owner, also on failure. The names are static. Errors: MEMORY. */
popliner_status pl_ways_join(popliner_costs *const *costs, const char *const *names, size_t count,
                             popliner_error *error);

/* Frees what pl_ways_join has made for a table; its own costs are not. */
void pl_ways_part(popliner_costs *costs);

#endif
