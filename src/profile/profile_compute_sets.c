/* Reads vertex types and their code; compute sets: the variables that they touch, their vertices
 * and the state of these; and the lists of variables of exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

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

/* The state of reading the lists of exchanges. */
typedef struct exchange_lists {
    pl_reading *reading;
    uint64_t last_id; /* of an exchange target */
} exchange_lists;

/* Adds a variable to the list of its target. */
static void take_region(void *user, pl_rows *rows) {
    exchange_lists *e = user;
    pl_reading *r = e->reading;
    popliner_profile *p = r->profile;
    const uint64_t id = pl_rows_number(rows, 0, INT64_MAX);
    const uint64_t variable_id = pl_rows_number(rows, 1, INT64_MAX);
    const uint32_t variable = pl_id_map_find(&r->ids[PL_TABLE_VARIABLES], variable_id);
    const bool is_next = rows->row == 1 || id != e->last_id;
    if (variable == PL_NONE)
        pl_rows_fail(rows, 1, "is %llu, which table vars_info does not have",
                     (unsigned long long)variable_id);
    else if (rows->row > 1 && id < e->last_id)
        pl_rows_fail(rows, 0, "is not in its order; the file is damaged");
    if (is_next && rows->row > 1)
        end_list(p);
    if (!pl_reading_has(r, !is_next || pl_id_map_add(&r->ids[PL_TABLE_REGIONS], id, p->num_lists)))
        return;
    e->last_id = id;
    if (reserve_variables(p, 1))
        p->list_variable[p->num_list_variables++] = variable;
}

/* Adds one list for each exchange target, in the order of their ids. */
static void read_exchange_lists(pl_reading *r) {
    const pl_table *table = &pl_tables[PL_TABLE_REGIONS];
    pl_rows rows = {.database = &r->database, .table = table};
    exchange_lists e = {.reading = r};
    pl_rows_each(&rows, table->tail, take_region, &e);
    if (rows.row > 0)
        end_list(r->profile);
    reserve_variables(r->profile, 0);
    pl_reading_has(r, true);
    pl_id_map_sort(&r->ids[PL_TABLE_REGIONS]);
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
