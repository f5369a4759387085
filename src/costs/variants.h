/* Ways of recomputing that stages may choose from, each with its memory, stash and cycles: of each
 * unit, so that a stage has all their combinations, or of each listed interval.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_VARIANTS_H
#define PL_COSTS_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "popliner/costs.h"
#include "popliner/pipeline.h"

/* ---- Variants -------------------------------------------------------------------------------- */

typedef struct pl_variant {
    uint64_t memory_bytes;
    uint64_t stash_bytes;
    uint64_t cycles;
    char *name; /* owned */
} pl_variant;

/* Memory that a stage needs once for several units: arrives at a unit of a stage that begins behind
 * the one before it. */
typedef struct pl_variant_arrival {
    size_t unit;
    size_t begins_behind; /* the stage; SIZE_MAX: anywhere */
    uint64_t bytes;
} pl_variant_arrival;

/* Zero-initialise; free with pl_variants_free. All arrays are owned. */
typedef struct pl_variants {
    size_t num_units;
    bool is_listed; /* of intervals, else of units */
    pl_variant *items;
    size_t count;
    size_t capacity;
    /* where those of each unit, or interval in the order of costs/triangle.h, begin: [those + 1];
     * the first of a unit is the unit as it is */
    size_t *first;
    uint64_t *inputs_bytes;     /* [units]: kept instead by a stage that recomputes all its units */
    uint64_t *recompute_cycles; /* [units]: what that costs */
    bool has_full;              /* a stage may do that */
    uint64_t *cut_cycles;       /* [units + 1], by the unit behind the cut */
    pl_variant_arrival *arrivals; /* by unit */
    size_t num_arrivals;
    size_t arrivals_capacity;
    uint64_t capacity_bytes;
    popliner_pipeline pipeline;
    size_t max_stages; /* places that differ */
} pl_variants;

void pl_variants_free(pl_variants *variants);

/* Adds one with a name of `length` characters. False when memory is short. */
bool pl_variants_add(pl_variants *variants, pl_variant variant, const char *name, size_t length);

/* Within what stages choose, and whether to go on: should_stop may be NULL. */
typedef struct pl_variant_limits {
    uint64_t max_cycles;
    uint64_t max_bytes;
    bool (*should_stop)(void *user);
    void *user;
} pl_variant_limits;

/* Makes a table of the least peaks of stages within max_cycles, with the cuts of `like`; no stage
 * is possible that has none, or needs more than max_bytes. *costs is NULL if it was to stop.
 * Errors: MEMORY; INPUT for more than 2^22 compromises of one stage.
 * O(n^2 * places * compromises). */
popliner_status pl_variants_costs(const pl_variants *variants, const popliner_costs *like,
                                  const pl_variant_limits *limits, popliner_costs **costs,
                                  popliner_error *error);

/* What a stage chooses. */
typedef struct pl_variant_choice {
    bool exists;
    uint64_t peak_bytes;
    uint64_t cycles;
} pl_variant_choice;

/* The choice with the fewest cycles, then the least peak, within max_bytes. `text` (may be NULL)
 * gets it in words: "none", "full", the name of the interval's, or "u=NAME,..." for units that are
 * not as they are. Errors: as above. */
popliner_status pl_variants_choose(const pl_variants *variants, const popliner_interval *stage,
                                   uint64_t max_bytes, const char *const *unit_names,
                                   pl_variant_choice *choice, pl_text *text, popliner_error *error);

/* ---- Ways ------------------------------------------------------------------------------------ */

/* Ways of running stages that each have a table of costs of their own, of which a stage may choose
 * any: what a profile would cost with one and with another way of recomputing. */

/* Borrowed. All tables are of the same chain, and have cycles or have none. */
typedef struct pl_ways {
    const popliner_costs *const *costs; /* [count]; the cuts are those of the first */
    const char *const *names;           /* [count] */
    size_t count;
} pl_ways;

/* Errors: USAGE if they do not belong together, or if there are none. */
popliner_status pl_ways_check(const pl_ways *ways, popliner_error *error);

/* As pl_variants_costs, for the first max_stages places from the end at most; max_bytes is not
 * looked at, so an interval is forbidden in all places or in none. Errors: MEMORY. O(n^2 * places *
 * ways). */
popliner_status pl_ways_costs(const pl_ways *ways, size_t max_stages,
                              const pl_variant_limits *limits, popliner_costs **costs,
                              popliner_error *error);

/* As pl_variants_choose; of equal ways the first. Returns the way; `count` if none is within
 * max_bytes. O(ways). */
size_t pl_ways_choose(const pl_ways *ways, const popliner_interval *stage, uint64_t max_bytes,
                      pl_variant_choice *choice);

#endif
