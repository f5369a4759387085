/* Random instances of what the solvers are asked. Peaks are made of parts that add up, parts that
 * several units use and parts of which the largest counts, so they are as costs.h wants them.
 * Values are few, so that most instances have ties.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_RANDOM_INSTANCE_H
#define PL_TESTS_RANDOM_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/solver.h"

enum {
    MOST_RANDOM_UNITS = 9,
    NUM_RANDOM_THINGS = 6,
    MOST_RANDOM_ENTRIES = 4,
    MOST_RANDOM_STAGES = 5
};

/* What an instance has. */
enum {
    MEMORY_LIMIT = 1 << 0,
    IPU_LIMITS = 1 << 1,
    SLACK = 1 << 2,
    CUT_RULES = 1 << 3,
    NUM_UNITS = 1 << 4,
    COUNTED_UNITS = 1 << 5,
    PAIRS = 1 << 6,
    PLACEMENTS = 1 << 7,
    PIPELINE = 1 << 8,
    DEVICE_MAP = 1 << 9, /* without sharing */
    SHARED_IPUS = 1 << 10,
    TIGHT = 1 << 11,         /* limits that cannot be met */
    CONTRADICTING = 1 << 12, /* constraints that are drawn without a split in mind */
    FRACTIONS = 1 << 13,     /* numbers in billionths, with digits behind the point; never drawn */
    UNORDERED = 1 << 14,     /* some longer intervals need less, in bytes or cycles or both */
    SPEEDS = 1 << 15,        /* of IPUs; costs have cycles */
    SHRINKING_CYCLES = 1 << 16, /* some longer intervals take fewer cycles; bytes never shrink */
    LINKS = 1 << 17,            /* between IPUs, with bandwidths of their own; as with SPEEDS */
    CAPACITY = 1 << 18,         /* what needs more on one IPU is forbidden there; not drawn */
    HEADROOM = 1 << 19,         /* among the objectives; needs MEMORY_LIMIT; never drawn */
    CONSTRAINTS = CUT_RULES | NUM_UNITS | COUNTED_UNITS | PAIRS | PLACEMENTS,
};

/* What the peak of a set of units is made of. */
typedef struct instance_parts {
    uint64_t base_bytes;                     /* of every stage */
    uint64_t own_bytes[MOST_RANDOM_UNITS];   /* these add up */
    uint64_t live_bytes[MOST_RANDOM_UNITS];  /* of these the largest counts */
    uint64_t stash_bytes[MOST_RANDOM_UNITS]; /* once for each stage to come */
    uint64_t thing_bytes[NUM_RANDOM_THINGS]; /* once for all units that use it */
    unsigned things[MOST_RANDOM_UNITS];      /* by unit: bit t for thing t */
    bool is_first_forbidden;                 /* unit 0 is no stage of its own */
    uint64_t capacity_bytes;                 /* of an IPU */
} instance_parts;

/* Where the options point to, and what the numbers are made of. */
typedef struct instance {
    uint64_t random;
    size_t num_units;
    instance_parts parts;
    popliner_costs *costs;
    bool is_shared_peak_known;
    popliner_solver_options options;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_ipu_value ipu_limits[MOST_RANDOM_ENTRIES];
    popliner_ipu_value ipu_speeds[MOST_RANDOM_ENTRIES];
    popliner_ipu_link ipu_links[MOST_RANDOM_ENTRIES];
    popliner_cut_rule cut_rules[MOST_RANDOM_UNITS];
    uint8_t counted_units[MOST_RANDOM_UNITS];
    popliner_constraint pairs[MOST_RANDOM_ENTRIES];
    popliner_constraint placements[MOST_RANDOM_ENTRIES];
    size_t device_map[MOST_RANDOM_STAGES];
    /* A split that the constraints allow, if they are to: the stage of each unit. */
    bool follows_split;
    size_t stage_of[MOST_RANDOM_UNITS];
} instance;

/* What is drawn. */
typedef struct instance_wish {
    unsigned always;    /* what it has */
    unsigned sometimes; /* each with two chances of five */
    size_t fewest_objectives;
    size_t most_objectives;
} instance_wish;

/* The instance of a number; numbers that follow each other have all lists of so many objectives in
 * turn. Must stay where it is, as it is pointed to; free with free_instance. */
void draw_instance(const instance_wish *wish, uint64_t seed, instance *in);
void free_instance(instance *in);

/* Whether the device map puts several stages on one IPU. */
bool has_shared_ipus(const popliner_solver_options *options);

/* As text that looks like C, among the errors. */
void print_instance(const instance *in);

#endif
