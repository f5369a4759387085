/* Reads vertex types and their code; compute sets: the variables that they touch, their vertices
 * and the state of these; and the lists of variables of exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_readers.h"

/* ---- Lists of variables ---- */

/* Reserves `count` more variables in the list that is being filled; end_list sets its end. */
static bool reserve_variables(popliner_profile *p, size_t count) {
    return pl_arrays_grow(&p->arrays, &p->list_variable, p->num_list_variables + count,
                          sizeof *p->list_variable);
}

static void end_list(popliner_profile *p) {
    if (!pl_arrays_grow(&p->arrays, &p->list_start, p->num_lists + 2, sizeof *p->list_start))
        return;
    p->list_start[0] = 0;
    p->list_start[++p->num_lists] = p->num_list_variables;
}

/* Adds the list of a compute set, from a column of the current row. */
static void read_list(pl_rows *rows, int column, pl_reading *r) {
    popliner_profile *p = r->profile;
    pl_database *database = rows->database;
    size_t size_bytes;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    pl_runs runs = pl_runs_begin(blob, size_bytes);
    uint64_t id = 0;
    uint64_t difference;
    uint64_t length;
    uint64_t room_left = p->num_variables; /* a list names no variable twice */
    int more;
    while ((more = pl_runs_next(&runs, &difference, &length)) > 0) {
        if (length > room_left)
            pl_rows_fail(rows, column, "names more variables than there are");
        else if (!reserve_variables(p, (size_t)length))
            pl_outcome_fail_memory(&database->outcome, "the variables of compute sets");
        if (!pl_database_is_well(database))
            return;
        room_left -= length;
        for (uint64_t i = 0; i < length; i++) {
            id += difference;
            uint32_t variable = pl_id_map_find(&r->ids[PL_TABLE_VARIABLES], id);
            if (variable == PL_NONE) {
                pl_rows_fail(rows, column,
                             "names variable %llu, which table vars_info does not have",
                             (unsigned long long)id);
                return;
            }
            p->list_variable[p->num_list_variables++] = variable;
        }
    }
    if (more < 0)
        pl_rows_fail(rows, column, "is damaged: it ends inside a number or a run");
    end_list(p);
    if (!pl_reading_has(r, true))
        return;
    /* a run of a few bytes may name all variables, in each of many lists */
    pl_database_take_bytes(database, "the variables of compute sets",
                           p->num_list_variables - p->list_start[p->num_lists - 1],
                           sizeof *p->list_variable);
}

/* The state of reading the lists of exchanges. A piece of the table has consecutive lists. */
typedef struct exchanges {
    popliner_profile *profile;
    const pl_id_map *ids; /* [PL_NUM_TABLES] */
    uint64_t *start;      /* of each piece: the place of its first variable */
} exchanges;

/* Counts the rows of each target, and makes a list of as many places, in the order of their ids. */
static void count_exchange_lists(pl_reading *r) {
    popliner_profile *p = r->profile;
    pl_id_map *targets = &r->ids[PL_TABLE_REGIONS];
    sqlite3_stmt *statement = NULL;
    bool memory = true;
    int code = sqlite3_prepare_v2(
        r->database.sqlite, "SELECT id, count(*) FROM exchange_regions GROUP BY id ORDER BY id", -1,
        &statement, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        const int64_t id = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
        if (id < 0 || sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
            continue; /* reading the rows will fail */
        memory = memory && pl_id_map_add(targets, (uint64_t)id, p->num_lists);
        p->num_list_variables += (size_t)sqlite3_column_int64(statement, 1);
        end_list(p);
    }
    if (code != SQLITE_DONE)
        pl_database_fail(&r->database, "reading exchange_regions");
    sqlite3_finalize(statement);
    reserve_variables(p, 0);
    pl_reading_has(r, memory);
    pl_id_map_sort(targets);
}

static void take_region(void *user, pl_rows *rows, size_t piece, size_t row) {
    const exchanges *e = user;
    int64_t values[2];
    if (!pl_rows_plain_numbers(rows, 2, values) || values[0] < 0 || values[1] < 0)
        for (int i = 0; i < 2; i++)
            values[i] = (int64_t)pl_rows_number(rows, i, INT64_MAX);
    const uint32_t variable = pl_id_map_find(&e->ids[PL_TABLE_VARIABLES], (uint64_t)values[1]);
    const uint32_t list = pl_id_map_find(&e->ids[PL_TABLE_REGIONS], (uint64_t)values[0]);
    if (variable == PL_NONE)
        pl_rows_fail(rows, 1, "is %llu, which table vars_info does not have",
                     (unsigned long long)values[1]);
    if (!pl_database_is_well(rows->database))
        return;
    if (list != PL_NONE && row == 0)
        e->start[piece] = e->profile->list_start[list];
    const uint64_t place = e->start[piece] + row;
    if (list == PL_NONE || place < e->profile->list_start[list] ||
        place >= e->profile->list_start[list + 1])
        pl_rows_fail(rows, 0, "has more rows than were counted; the file is damaged");
    else
        e->profile->list_variable[place] = variable;
}

/* Adds one list for each exchange target, from millions of rows. */
static void read_exchange_lists(pl_reading *r) {
    pl_outcome *outcome = &r->database.outcome;
    popliner_profile *p = r->profile;
    exchanges e = {.profile = p, .ids = r->ids};
    pl_scan scan = {.database = &r->database,
                    .progress = &r->progress,
                    .table = &pl_tables[PL_TABLE_REGIONS],
                    .key = "id",
                    .min_keys = 8,
                    .take = take_region,
                    .user = &e};
    const size_t first = p->num_list_variables;
    size_t num_rows = 0;
    pl_scan_open(&scan);
    if (scan.found && pl_database_is_well(&r->database))
        count_exchange_lists(r);
    e.start = pl_reading_new(r, scan.num_pieces, sizeof *e.start);
    if (pl_database_is_well(&r->database))
        pl_scan_run(&scan);
    for (size_t i = 0; i < scan.num_pieces; i++)
        num_rows += scan.pieces[i].num_rows;
    if (num_rows != p->num_list_variables - first)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT,
                        "%s: table exchange_regions has fewer rows than were counted; the file is "
                        "damaged",
                        r->database.path);
    pl_scan_close(&scan);
}

/* ---- Compute sets ---- */

static void read_instances(pl_reading *r) {
    enum { SET, TYPE, INSTANCES };
    popliner_profile *p = r->profile;
    uint32_t *starts = pl_arrays_new(&p->arrays, p->num_compute_sets + 1, sizeof *starts);
    uint32_t current = 0; /* the compute set whose vertices are being read */
    p->compute_set_vertices_start = starts;
    if (!pl_reading_has(r, true))
        return;
    pl_table_rows t = pl_table_open(r, PL_TABLE_VERTICES);
    while (pl_table_next(&t)) {
        const uint64_t size_bytes = p->vertex_type_size_bytes[t.values[TYPE]];
        if (!pl_profile_vertices_fit(p, p->compute_set_vertex_instances[t.place], size_bytes))
            pl_rows_fail(&t.rows, INSTANCES,
                         "holds more vertices of %llu bytes than a tile can have",
                         (unsigned long long)size_bytes);
        /* both tables are read in the order of their ids */
        assert(t.values[SET] >= current);
        while (current < t.values[SET])
            starts[++current] = (uint32_t)t.place;
    }
    while (current < p->num_compute_sets)
        starts[++current] = (uint32_t)p->num_compute_set_vertices;
}

void pl_profile_read_compute_sets(pl_reading *r) {
    enum { VARIABLES = 1, CYCLES };
    pl_table_read(r, PL_TABLE_VERTEX_TYPES);
    pl_table_read(r, PL_TABLE_VERTEX_CODE);
    pl_table_rows t = pl_table_open(r, PL_TABLE_COMPUTE_SETS);
    while (pl_table_next(&t)) {
        read_list(&t.rows, VARIABLES, r);
        if (pl_reading_grow(r, &r->set_cycles, t.place + 1, sizeof *r->set_cycles))
            r->set_cycles[t.place] = pl_reading_cycles(r, &t.rows, CYCLES);
    }
    read_instances(r);
    r->profile->num_compute_set_states = r->profile->num_compute_sets;
    if (pl_table_read(r, PL_TABLE_STATE) == 0)
        r->profile->num_compute_set_states = 0;
    read_exchange_lists(r);
}
