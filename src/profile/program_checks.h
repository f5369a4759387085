/* Whether the programs of a profile agree with each other and with the variables: relations 9, 10,
 * 12 (exchanges), 13 and 19 to 21 of docs/profile-format.md, section 15.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROGRAM_CHECKS_H
#define PL_PROFILE_PROGRAM_CHECKS_H

#include "popliner/diagnosis.h"
#include "profile/check_tally.h"
#include "profile/profile_data.h"
#include "profile/profile_tile_sums.h"

/* Checks the relations of programs and compute sets, and with pl_exchange_checks_find those of
 * exchanges. `sums` is NULL where the file does not tell categories; tallies[] is by
 * popliner_relation. Errors: INPUT, MEMORY; a breach is none.
 * O((programs + exchanges) * tiles + variables of the lists). */
popliner_status pl_program_checks_find(const pl_database *database, const popliner_profile *profile,
                                       const pl_profile_ids *ids, const pl_tile_sums *sums,
                                       pl_tally *tallies, popliner_error *error);

/* What the lists of compute sets and exchanges are checked with: they name data alone, which lives
 * when the program runs. */
typedef struct pl_list_checks {
    const popliner_profile *profile;
    bool *is_never_named; /* by category */
    uint32_t *step;       /* by list: the first of a program that has it, or PL_NONE */
    uint32_t *seen;       /* by class: the list that it was looked at for, plus 1 */
    size_t every;         /* of long lists only every so-many-th variable is looked at */
} pl_list_checks;

/* Checks a list, and adds the sizes of its variables to by_tile[num_tiles] unless that is NULL.
 * O(its variables). */
void pl_list_check(const pl_list_checks *checks, uint32_t list, pl_tally *tally, uint64_t *by_tile);

/* Likewise for the code of exchanges and what they send. The text of regions is read for so many of
 * the exchanges, spread over the file, as take no time to speak of: for all of a small file. */
popliner_status pl_exchange_checks_find(const pl_database *database, const pl_list_checks *lists,
                                        const pl_profile_ids *ids, const pl_tile_sums *sums,
                                        pl_tally *tallies, popliner_error *error);

#endif
