/* Checks of exchanges: their code, and what they send and receive.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of regions whose text is parsed: about a hundredth of a second. */
enum { MOST_REGIONS = 1 << 13 };

/* Columns of both tables; the last three are only of exchanges between tiles. */
enum { ID, SENT, RECEIVED, CODE, SOURCE, DESTINATION, NUM_COLUMNS };

typedef struct checker {
    pl_reading *reading;
    pl_database *database;
    const popliner_profile *profile;
    pl_tally *exchanges;
    const pl_list_checks *lists;
    uint8_t *is_seen;  /* by list: a list of several exchanges counts only for the first */
    uint64_t *list_id; /* by list: exchange_target.id */
    /* of the current row; [num_tiles] each, like `found`, `code_bytes` and `num_with_code` */
    uint64_t *by_tile[CODE + 1];
    uint64_t *found;
    uint64_t *code_bytes;    /* of all exchanges */
    uint64_t *num_with_code; /* number of exchanges */
    bool code_is_recorded;
    bool has_lists[2][2]; /* of exchanges and of host copies: sent, received */

    sqlite3_stmt *regions; /* of one target; NULL: the text of regions is not parsed */
    size_t stride;         /* the text of every stride-th side is parsed */
    size_t num_sides;
    size_t regions_left;
} checker;

/* ---- Regions ---- */

static bool read_decimal(const char **text, uint64_t *number) {
    const char *begin = *text;
    *number = 0;
    for (; **text >= '0' && **text <= '9' && *number < UINT32_MAX; (*text)++)
        *number = *number * 10 + (uint64_t)(**text - '0');
    return *text > begin;
}

/* Adds up "[0,12),[12,24)" and sets *end to the largest end; false for any other text. */
static bool read_regions(const char *text, uint64_t *bytes, uint64_t *end) {
    *bytes = *end = 0;
    for (;; text++) {
        uint64_t first;
        uint64_t until;
        if (*text++ != '[' || !read_decimal(&text, &first) || *text++ != ',' ||
            !read_decimal(&text, &until) || *text++ != ')' || until < first)
            return false;
        *bytes += until - first;
        *end = until > *end ? until : *end;
        if (*text != ',')
            return *text == '\0';
    }
}

/* Adds the bytes of a list's regions by tile, from their text. */
static void add_exactly(checker *c, uint32_t list) {
    const popliner_profile *p = c->profile;
    int code = sqlite3_reset(c->regions);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(c->regions, 1, (sqlite3_int64)c->list_id[list]);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(c->regions);
        if (code != SQLITE_ROW)
            break;
        uint32_t variable = pl_id_map_find(&c->reading->ids[PL_TABLE_VARIABLES],
                                           (uint64_t)sqlite3_column_int64(c->regions, 0));
        const char *text = (const char *)sqlite3_column_text(c->regions, 1);
        uint64_t bytes;
        uint64_t end;
        if (variable == PL_NONE)
            continue; /* the file cannot have changed */
        size_t tile = pl_profile_tile_of(p, variable);
        if (text == NULL || !read_regions(text, &bytes, &end)) {
            pl_tally_note_tile(c->exchanges, 0, "regions that cannot be read on", tile);
            continue;
        }
        if (end > p->variable_size_bytes[variable])
            pl_tally_note_tile(c->exchanges, end - p->variable_size_bytes[variable],
                               "regions beyond their variable on", tile);
        c->found[tile] += bytes;
    }
    if (code != SQLITE_DONE)
        pl_database_fail(c->database, "reading exchange_regions");
}

/* ---- relation 13 ---- */

/* Checks what the current row sends, or receives, by its lists. For regions that are not parsed,
 * adds up the sizes of their variables, an upper bound. */
static void check_side(checker *c, int column, const pl_id_entry *lists, size_t num_lists) {
    const popliner_profile *p = c->profile;
    size_t num_variables = 0;
    bool is_seen = false;
    for (size_t i = 0; i < num_lists; i++) {
        const uint32_t list = lists[i].index;
        is_seen = is_seen || c->is_seen[list] != 0;
        c->is_seen[list] = 1;
        num_variables += (size_t)(p->list_start[list + 1] - p->list_start[list]);
    }
    if (is_seen)
        return;
    bool is_exact =
        c->regions != NULL && c->num_sides++ % c->stride == 0 && num_variables <= c->regions_left;
    if (!is_exact && num_lists > 0 && c->num_sides % c->lists->every != 0)
        return;
    c->regions_left -= is_exact ? num_variables : 0;
    memset(c->found, 0, p->target.num_tiles * sizeof *c->found);
    for (size_t i = 0; i < num_lists; i++) {
        pl_list_check(c->lists, lists[i].index, c->exchanges, is_exact ? NULL : c->found);
        if (is_exact)
            add_exactly(c, lists[i].index);
    }
    pl_tally_compare_tiles(c->exchanges, is_exact ? PL_EQUAL : PL_BOUNDED, c->by_tile[column],
                           c->found, p->target.num_tiles,
                           column == SENT ? "bytes sent by" : "bytes received by");
}

/* Checks that exactly the tiles that send or receive have code. */
static void check_code(checker *c, const bool *is_recorded) {
    if (!is_recorded[CODE])
        return;
    c->code_is_recorded = true;
    for (size_t tile = 0; tile < c->profile->target.num_tiles; tile++) {
        uint64_t code = c->by_tile[CODE][tile];
        bool takes_part = c->by_tile[SENT][tile] > 0 || c->by_tile[RECEIVED][tile] > 0;
        c->code_bytes[tile] += code;
        c->num_with_code[tile] += code > 0;
        if (is_recorded[SENT] && is_recorded[RECEIVED] && takes_part != (code > 0))
            pl_tally_note_tile(c->exchanges, takes_part ? 1 : code,
                               takes_part ? "no code on" : "only code on", tile);
    }
}

/* Checks a row of exchanges, or of host copies, of which the lists of all rows are consecutive. */
static void check_row(checker *c, pl_table_rows *t, bool is_host) {
    const uint64_t id = t->values[ID];
    bool is_recorded[NUM_COLUMNS] = {false};
    for (int i = SENT; i <= (is_host ? RECEIVED : CODE); i++) {
        memset(c->by_tile[i], 0, c->profile->target.num_tiles * sizeof *c->by_tile[i]);
        is_recorded[i] = pl_tally_add_column(c->exchanges, t, i, c->by_tile[i]);
    }
    pl_tally_begin(c->exchanges, is_host ? "host copy" : "exchange", id);
    check_code(c, is_recorded);
    for (int i = 0; i < 2; i++) {
        const pl_host_lists *host = &c->reading->host[i];
        const pl_id_entry own = {id, (uint32_t)t->values[SOURCE + i]};
        const pl_id_entry *lists = &own;
        size_t count = own.index != PL_NONE;
        if (!is_recorded[SENT + i] || !c->has_lists[is_host][i])
            continue;
        if (is_host) {
            const size_t first = pl_id_entries_place(host->entries, host->count, id);
            lists = host->count > 0 ? host->entries + first : lists;
            for (count = 0; first + count < host->count && lists[count].id == id;)
                count++;
        }
        check_side(c, SENT + i, lists, count);
    }
}

/* ---- All checks ---- */

/* Prepares to parse the text of regions, if the file has it. */
static void open_regions(checker *c) {
    const popliner_profile *p = c->profile;
    if (!pl_database_has_column(c->database, "exchange_regions", "regions") ||
        c->reading->ids[PL_TABLE_REGIONS].count == 0)
        return;
    uint64_t num_regions = p->num_list_variables - p->list_start[p->num_compute_sets];
    c->stride = (size_t)(num_regions / MOST_REGIONS) + 1;
    c->regions_left = MOST_REGIONS;
    if (sqlite3_prepare_v2(c->database->sqlite,
                           "SELECT var_id, regions FROM exchange_regions WHERE id = ?1 "
                           "ORDER BY var_id",
                           -1, &c->regions, NULL) != SQLITE_OK)
        pl_database_fail(c->database, "reading exchange_regions");
}

/* If a table or column is missing, nothing records what is sent or received; the missing table has
 * its own warning. */
static void find_tables(checker *c) {
    static const char *const columns[2][2][2] = {
        {{"program_type_do_exchange", "source_regions_id"},
         {"program_type_do_exchange", "destination_regions_id"}},
        {{"host_exchange_to_host", "regions_id"}, {"host_exchange_from_host", "regions_id"}}};
    if (!pl_database_has_table(c->database, "exchange_regions"))
        return;
    for (int i = 0; i < 4; i++)
        c->has_lists[i / 2][i % 2] =
            pl_database_has_column(c->database, columns[i / 2][i % 2][0], columns[i / 2][i % 2][1]);
    open_regions(c);
}

static void begin(checker *c) {
    const popliner_profile *p = c->profile;
    const pl_id_map *targets = &c->reading->ids[PL_TABLE_REGIONS];
    size_t num_tiles = p->target.num_tiles;
    for (int i = SENT; i <= CODE; i++)
        c->by_tile[i] = pl_reading_new(c->reading, num_tiles, sizeof(uint64_t));
    c->found = pl_reading_new(c->reading, num_tiles, sizeof *c->found);
    c->code_bytes = pl_reading_new(c->reading, num_tiles, sizeof *c->code_bytes);
    c->num_with_code = pl_reading_new(c->reading, num_tiles, sizeof *c->num_with_code);
    c->is_seen = pl_reading_new(c->reading, p->num_lists, 1);
    c->list_id = pl_reading_new(c->reading, p->num_lists, sizeof *c->list_id);
    if (!pl_database_is_well(c->database))
        return;
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->entries == NULL)
            c->list_id[i] = targets->first_id + i;
        else
            c->list_id[targets->entries[i].index] = targets->entries[i].id;
    }
    find_tables(c);
}

void pl_exchange_checks_find(pl_reading *r, const pl_list_checks *lists, const pl_tile_sums *sums,
                             pl_tally *tallies) {
    checker c = {.reading = r,
                 .database = &r->database,
                 .profile = lists->profile,
                 .lists = lists,
                 .exchanges = &tallies[POPLINER_RELATION_EXCHANGES]};
    begin(&c);
    for (int is_host = 0; is_host < 2; is_host++) {
        pl_table_rows t =
            pl_table_open(r, is_host ? PL_TABLE_CHECKED_HOST_COPIES : PL_TABLE_CHECKED_EXCHANGES);
        while (pl_table_next(&t))
            if (!is_host || t.values[ID] != UINT64_MAX)
                check_row(&c, &t, is_host);
    }
    if (pl_database_is_well(c.database) && c.code_is_recorded && sums != NULL) {
        /* the rest is proportional to the exchanges of a tile in the real file, and may be equal on
         * every tile for other writers */
        const size_t num_tiles = c.profile->target.num_tiles;
        memset(c.found, 0, num_tiles * sizeof *c.found);
        pl_tile_sums_add_category(c.profile, sums, PL_CATEGORY_INTERNAL_EXCHANGE_CODE, c.found);
        pl_tally_compare_rest(&tallies[POPLINER_RELATION_EXCHANGE_CODE], r, c.code_bytes, c.found,
                              c.num_with_code, "more than internalExchangeCode");
    }
    sqlite3_finalize(c.regions);
}
