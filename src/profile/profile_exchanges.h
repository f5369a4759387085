/* What the exchanges hold and which lists of variables they touch, by the ids that programs know
 * them by.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_EXCHANGES_H
#define PL_PROFILE_PROFILE_EXCHANGES_H

#include "profile/profile_data.h"

/* A row of a program type's own table: exchange code and up to two lists of variables. */
typedef struct pl_exchange {
    pl_series code;
    uint32_t lists[2]; /* PL_NONE: none */
} pl_exchange;

/* The exchanges of one such table. */
typedef struct pl_exchange_table {
    pl_id_map ids; /* to places in `entries` */
    pl_exchange *entries;
    size_t count;
    size_t capacity;
} pl_exchange_table;

/* The lists of the host exchanges of one direction, sorted by the StreamCopyMid that they belong
 * to. */
typedef struct pl_host_lists {
    pl_id_entry *entries; /* id: StreamCopyMid, index: list */
    size_t count;
    size_t capacity;
} pl_host_lists;

/* Zero-initialise; free with pl_exchanges_free. */
typedef struct pl_exchanges {
    pl_exchange_table do_exchanges;
    pl_exchange_table global_exchanges;
    pl_exchange_table code_copies;
    pl_host_lists from_host;
    pl_host_lists to_host;
} pl_exchanges;

/* Reads the tables of exchanges, all of them optional, behind the lists of variables. Of several
 * rows of one id the first counts. Errors: INPUT, MEMORY. */
popliner_status pl_exchanges_read(const pl_database *database, popliner_profile *profile,
                                  const pl_profile_ids *ids, pl_exchanges *exchanges,
                                  popliner_error *error);

void pl_exchanges_free(pl_exchanges *exchanges);

/* The exchange with this id, or NULL. O(log exchanges). */
const pl_exchange *pl_exchange_find(const pl_exchange_table *table, uint64_t id);

/* Reads the lists of one direction, from host_exchange_from_host or host_exchange_to_host; the
 * caller frees entries. Errors: INPUT, MEMORY. */
popliner_status pl_host_lists_read(const pl_database *database, const char *table,
                                   const pl_profile_ids *ids, pl_host_lists *lists,
                                   popliner_error *error);

/* The place of the first list of a StreamCopyMid, or of what comes behind where they would be.
 * O(log lists). */
size_t pl_host_lists_find(const pl_host_lists *lists, uint64_t id);

#endif
