/* Several reports of one model that are split together, and the units that they have in common.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REPORT_GROUP_H
#define PL_COMMAND_REPORT_GROUP_H

#include "command/report_names.h"
#include "command/request.h"

/* One of the reports. */
typedef struct member {
    const char *name;
    session session;
    const popliner_chain *chain;
    size_t *units; /* [units of the group]: its own for each, SIZE_MAX where it has none */
    popliner_profile_info info;
    bool is_training;
    popliner_costs *costs;            /* of it alone, for whoever measures them */
    popliner_certificate *evaluation; /* the same */
} member;

/* Zero-initialise; free with group_free, also after an error. */
typedef struct group {
    report_names names;
    member *members; /* [names.count] */
    size_t tightest; /* the member whose limit is taken: with --reserve gaps the least */
    /* What is in any chain: the layers, which all have, and what comes before and behind them. */
    unit_list units;
} group;

/* Reads the reports of --report, and finds out whether they can have one split: they have the same
 * layers in the same order, and tiles of the same size. *can is false, which is a soft failure,
 * where there is nothing to split. Errors: USAGE for reports that cannot; those of reading. */
popliner_status group_open(group *g, session *s, bool *can, popliner_error *error);

void group_free(group *g);

/* What a member has of the units first to last; false if that is nothing. */
bool group_own_interval(const member *m, size_t first, size_t last, size_t *own_first,
                        size_t *own_last);

#endif
