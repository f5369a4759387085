/* Recomputation that each stage chooses: variants of units, which a stage combines, each with its
 * memory, stash and cycles; or ways of all its units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_VARIANTS_H
#define PL_COSTS_VARIANTS_H

#include "base/growth.h"
#include "costs/triangle.h"
#include "pipeline/pipeline.h"
#include "popliner/costs.h"

/* ---- Variants -------------------------------------------------------------------------------- */

typedef struct pl_variant {
    uint64_t memory_bytes;
    uint64_t stash_bytes;   /* of a micro-batch that waits for its backward pass */
    uint64_t set_bytes;     /* of one that waits for its weights, also what was recomputed */
    uint64_t running_bytes; /* of one that runs, which the memory may have */
    uint64_t cycles;
    const char *name; /* NULL in the choice of a stage, whose numbers are sums */
} pl_variant;

/* Owns nothing: its arrays are those of the file. */
typedef struct pl_variants {
    size_t num_units;
    pl_variant *items;
    size_t count;
    /* [units + 1]: where the variants of each unit begin. The first one is the unit unchanged. */
    size_t *first;
    /* [units]: stored instead of the stash if a stage recomputes all its units */
    uint64_t *inputs_bytes;
    uint64_t *recompute_cycles; /* [units]: the cycles that this adds */
    bool has_full;              /* true if a stage may recompute all its units */
    uint64_t *cut_cycles;       /* [units + 1], by the unit after the cut */
    pl_arrival *arrivals;       /* by unit: memory that a stage needs once for several */
    size_t num_arrivals;
    /* Returns the memory that units of stages on one IPU share; NULL: none. */
    uint64_t (*shared_bytes)(const void *user, const popliner_interval *stages, size_t num_stages);
    const void *user;
    const struct pl_moments *moments; /* of the IPUs; NULL: each stage has its most */
    bool has_working_set;             /* its memory includes one of each stage */
    uint64_t capacity_bytes;
    popliner_pipeline pipeline;
    size_t max_stages; /* the number of places that differ */
} pl_variants;

/* The limits that stages choose within, and what: the fewest cycles, then the smallest peak; or
 * else the smallest peak. */
typedef struct pl_choice_wish {
    uint64_t max_cycles;
    uint64_t max_bytes;
    bool by_cycles;
} pl_choice_wish;

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

/* Returns the place in choices of stage `stage` of num_stages; places follow the split or not. */
size_t pl_choices_place(const pl_choices *choices, bool follows_split, size_t num_stages,
                        size_t stage);

/* Makes a table choose between itself and others: costs[count], of which it is the first and
 * becomes the owner, also on failure. The names are static. Errors: MEMORY. */
popliner_status pl_ways_join(popliner_costs *const *costs, const char *const *names, size_t count,
                             popliner_error *error);

/* Frees what pl_ways_join has made for a table; its own costs are not. */
void pl_ways_part(popliner_costs *costs);

#endif
