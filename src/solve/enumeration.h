/* All splits where stages share IPUs and constraints leave few: each is looked at.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_ENUMERATION_H
#define PL_SOLVE_ENUMERATION_H

#include "solve/plan.h"
#include "solve/stop.h"

/* More splits than this are not listed. */
#define PL_MAX_ENUMERATED_SPLITS 1000000

/* More loads of IPUs with several stages are not measured one by one where the costs ask somebody
 * for each: that may take milliseconds, and other searches ask far less often. */
#define PL_MAX_ASKED_LOADS 4000

/* Zero-initialise; free with pl_enumeration_free. A load is what an IPU holds: all of its stages.
 * It is measured when that first matters, and once. */
typedef struct pl_enumeration {
    const pl_problem *problem;
    const pl_stop *stop;
    pl_limits limits; /* what they leave out is not listed */
    bool is_tried;
    bool is_listed; /* all splits are */

    size_t num_stages;
    size_t *first_stages;  /* [IPUs]: the first stage of each; owned, like all arrays */
    uint64_t *limit_bytes; /* [IPUs]: by the limits, when it was listed */
    size_t num_ipus;

    uint32_t *first_units; /* [count][stages], the earliest cuts first */
    uint32_t *loads;       /* [count][IPUs] */
    uint64_t *cut_bytes;   /* [count] */
    size_t count;

    uint32_t *split_of_load; /* [loads]: one that has it, which tells its stages */
    uint32_t *ipu_of_load;   /* [loads] */
    uint64_t *load_bytes;    /* [loads]: its peak; until it is measured, what it is at least */
    uint64_t *load_cycles;   /* [loads] */
    uint8_t *is_measured;    /* [loads] */
    size_t num_loads;
    size_t load_capacity;
} pl_enumeration;

void pl_enumeration_free(pl_enumeration *enumeration);

/* How many splits the limits leave, pairs of units and what stages need together not looked at; at
 * most one more than PL_MAX_ENUMERATED_SPLITS. Of a problem whose stages share IPUs. Errors:
 * MEMORY. O(n^2 * stages). */
popliner_status pl_enumeration_count(const pl_problem *problem, const pl_limits *limits,
                                     size_t *count, popliner_error *error);

/* Lists the splits that the limits leave, unless these are too many, or were before, or a list
 * that is there serves it. *is_stopped becomes true, and nothing is listed, if that is wanted.
 * Errors: MEMORY. */
popliner_status pl_enumeration_list(pl_enumeration *enumeration, const pl_problem *problem,
                                    const pl_limits *limits, const pl_stop *stop, bool *is_stopped,
                                    popliner_error *error);

/* True if the list has all splits within these limits: they leave out all that the listed ones
 * leave out. */
bool pl_enumeration_serves(const pl_enumeration *enumeration, const pl_limits *limits);

/* Finds the split within the filter that has least of an objective, or any for
 * POPLINER_NUM_OBJECTIVES; of several the one with the earliest cuts. *split must be empty, and
 * stays so if there is none. *is_stopped becomes true if that is wanted; the split may then not be
 * the best. Errors: MEMORY, those of shared peaks. O(splits * IPUs). */
popliner_status pl_enumeration_find(pl_enumeration *enumeration, const pl_filter *filter,
                                    popliner_objective objective, pl_split *split, bool *is_stopped,
                                    popliner_error *error);

#endif
