/* Random chains whose stages share IPUs, and every split of them. What stages on one IPU need
 * together is told by a function, half of which also tells the parts that add up, and what units
 * share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_SHARED_INSTANCE_H
#define PL_TESTS_SHARED_INSTANCE_H

#include "solve/problem.h"
#include "solve/shared/shared.h"

enum { MOST_UNITS = 60, MOST_STAGES = 6, NUM_TYPES = 6 };

typedef struct shared_instance {
    uint64_t random;
    size_t num_units;
    uint64_t own_bytes[MOST_UNITS];
    unsigned types[MOST_UNITS];
    uint64_t code_bytes[NUM_TYPES];
    uint64_t cycles[MOST_UNITS];
    uint64_t pair_cycles; /* of each two units of a stage */
    size_t device_map[MOST_STAGES];
    popliner_cut_rule cut_rules[MOST_UNITS];
    popliner_constraint pair;
    popliner_ipu_value speed; /* of one IPU, in a third of them */
    popliner_ipu_link link;   /* in half of those with bandwidths */
    popliner_costs *costs;
    popliner_solver_options options;
    pl_problem problem;
    pl_filter filter;
    size_t num_calls; /* for shared peaks */
    bool knows_parts;
} shared_instance;

/* Draws one. Must stay where it is; free with discard_shared_instance. */
void draw_shared_instance(shared_instance *in, uint64_t seed);
void discard_shared_instance(shared_instance *in);

/* The same on the IPUs 0,1,2,0,1,2 with so many units and no constraint, and more memory than they
 * need; without the problem. */
void draw_long_shared_chain(shared_instance *in, size_t num_units);

/* The costs alone, for in->num_units. */
void make_shared_costs(shared_instance *in);

/* The splits within the filter, and no IPU above the limit. */
typedef struct every_split {
    const shared_instance *in;
    uint64_t limit_bytes;
    size_t first_units[MOST_STAGES];
    size_t num_splits;       /* within everything */
    uint64_t fewest_bytes;   /* of cuts */
    uint64_t smallest_bytes; /* of the largest IPU */
    uint64_t fewest_cycles;  /* of the slowest IPU */
    uint64_t least_spread;
    size_t earliest[MOST_STAGES];
    uint64_t peak_bytes; /* of the split in first_units */
    uint64_t cycles;
    uint64_t spread; /* as in->filter has it */
} every_split;

every_split try_every_split(const shared_instance *in, uint64_t limit_bytes);

/* Whether the split in first_units is within everything; *cut_bytes is what it costs. */
bool is_split_fine(every_split *e, uint64_t *cut_bytes);

#endif
