/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_exchanges.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"

/* While a table is read; `exchanges` or `host_lists` is what it fills. */
typedef struct reader {
    popliner_profile *profile;
    const pl_profile_ids *ids;
    pl_exchange_table *exchanges;
    pl_host_lists *host_lists;
} reader;

/* The list of the variables in a column of the current row, or PL_NONE. */
static popliner_status read_list(const reader *r, pl_rows *rows, int column, uint32_t *list,
                                 popliner_error *error) {
    uint64_t regions = 0;
    popliner_status status =
        pl_rows_number_or(rows, column, INT64_MAX, UINT64_MAX, &regions, error);
    *list = status != POPLINER_OK || regions == UINT64_MAX
                ? PL_NONE
                : pl_id_map_find(&r->ids->exchange_targets, regions);
    return status;
}

static popliner_status take_exchange(void *user, pl_rows *rows, popliner_error *error) {
    const reader *r = user;
    pl_exchange_table *exchanges = r->exchanges;
    uint64_t id = 0;
    pl_exchange entry = {.lists = {PL_NONE, PL_NONE}};
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_series(r->profile, rows, 1, &entry.code, error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 2, &entry.lists[0], error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 3, &entry.lists[1], error);
    if (status != POPLINER_OK)
        return status;
    if (!pl_grow(&exchanges->entries, &exchanges->capacity, exchanges->count + 1, sizeof entry) ||
        !pl_id_map_add(&exchanges->ids, id, exchanges->count))
        return pl_fail_memory(error, "the exchanges");
    exchanges->entries[exchanges->count++] = entry;
    return POPLINER_OK;
}

/* Columns that the table does not have are named "-". */
static popliner_status read_exchanges(const pl_database *database, const char *name,
                                      const pl_column columns[4], reader *r,
                                      pl_exchange_table *exchanges, popliner_error *error) {
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 4, ""};
    r->exchanges = exchanges;
    popliner_status status = pl_table_read(database, &table, take_exchange, r, error);
    pl_id_map_sort(&exchanges->ids);
    return status;
}

static popliner_status take_host_exchange(void *user, pl_rows *rows, popliner_error *error) {
    const reader *r = user;
    pl_host_lists *host = r->host_lists;
    uint64_t id = 0;
    uint32_t list = PL_NONE;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 1, &list, error);
    if (status != POPLINER_OK || list == PL_NONE)
        return status;
    if (!pl_grow(&host->entries, &host->capacity, host->count + 1, sizeof *host->entries))
        return pl_fail_memory(error, "the host exchanges");
    host->entries[host->count++] = (pl_id_entry){id, list};
    return POPLINER_OK;
}

popliner_status pl_host_lists_read(const pl_database *database, const char *name,
                                   const pl_profile_ids *ids, pl_host_lists *host,
                                   popliner_error *error) {
    static const pl_column columns[] = {{"stream_copy_mid_id", true}, {"regions_id", false}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    reader r = {.ids = ids, .host_lists = host};
    popliner_status status = pl_table_read(database, &table, take_host_exchange, &r, error);
    if (status == POPLINER_OK && host->count > 0)
        qsort(host->entries, host->count, sizeof *host->entries, pl_id_entry_compare);
    return status;
}

popliner_status pl_exchanges_read(const pl_database *database, popliner_profile *profile,
                                  const pl_profile_ids *ids, pl_exchanges *exchanges,
                                  popliner_error *error) {
    static const pl_column do_exchange[] = {{"id", true},
                                            {"code_bytes_by_tile_rle", false},
                                            {"source_regions_id", false},
                                            {"destination_regions_id", false}};
    static const pl_column global_exchange[] = {{"id", true},
                                                {"-", false},
                                                {"source_regions_id", false},
                                                {"destination_regions_id", false}};
    static const pl_column code_copy[] = {
        {"id", true}, {"-", false}, {"-", false}, {"destination_regions_id", false}};
    reader r = {.profile = profile, .ids = ids};
    popliner_status status = read_exchanges(database, "program_type_do_exchange", do_exchange, &r,
                                            &exchanges->do_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, "program_type_global_exchange", global_exchange, &r,
                                &exchanges->global_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, "program_type_code_copy", code_copy, &r,
                                &exchanges->code_copies, error);
    if (status == POPLINER_OK)
        status = pl_host_lists_read(database, "host_exchange_from_host", ids, &exchanges->from_host,
                                    error);
    if (status == POPLINER_OK)
        status =
            pl_host_lists_read(database, "host_exchange_to_host", ids, &exchanges->to_host, error);
    return status;
}

static void free_table(pl_exchange_table *table) {
    pl_id_map_free(&table->ids);
    free(table->entries);
}

void pl_exchanges_free(pl_exchanges *exchanges) {
    free_table(&exchanges->do_exchanges);
    free_table(&exchanges->global_exchanges);
    free_table(&exchanges->code_copies);
    free(exchanges->from_host.entries);
    free(exchanges->to_host.entries);
    *exchanges = (pl_exchanges){0};
}

const pl_exchange *pl_exchange_find(const pl_exchange_table *table, uint64_t id) {
    uint32_t place = pl_id_map_find(&table->ids, id);
    return place == PL_NONE ? NULL : &table->entries[place];
}

size_t pl_host_lists_find(const pl_host_lists *lists, uint64_t id) {
    return pl_id_entries_place(lists->entries, lists->count, id);
}
