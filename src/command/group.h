/* Several reports of one model, whose units are those of any of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_GROUP_H
#define PL_COMMAND_GROUP_H

#include "command/request.h"
#include "command/run_files.h"

/* The parts of a chain: its layers, and what is before and after them. */
enum { PART_LAYERS = 1, NUM_PARTS = 3 };

/* One of the reports. */
typedef struct member {
    const char *name;
    session session;
    const popliner_chain *chain;
    size_t parts[NUM_PARTS + 1]; /* where each begins; last the number of units */
    size_t *units; /* [units of the group]: its own for each, SIZE_MAX where it has none */
    popliner_profile_info info;
    popliner_costs *costs; /* of it alone, for whoever measures them */
} member;

/* Zero-initialise; free with group_free, also after an error. */
typedef struct group {
    report_names names;
    member *members; /* [names.count], as of the next two */
    bool *are_training;
    popliner_certificate **evaluations; /* of the split */
    size_t tightest; /* the member whose limit is taken: with --reserve gaps the least */
    /* The units of any chain: the layers, which all have, and the units before and after them. */
    unit_list units;
    /* A split: [num_stages + 1] the first unit of each stage, and the number of units. */
    size_t *bounds;
    size_t num_stages; /* 0: none */
} group;

/* Reads the reports that --report asks for. *can is whether there is something to split in each;
 * if not, that is a soft failure. Errors: those of reading; USAGE for reports that cannot have one
 * split. */
popliner_status group_open(group *g, session *s, bool *can, popliner_error *error);
void group_free(group *g);

/* The member's own units of a stage, its empty ends left out; SIZE_MAX if it has none of them. */
typedef struct own_units {
    size_t first;
    size_t last;
} own_units;
own_units group_own_units(const member *m, size_t first, size_t last);

#endif
