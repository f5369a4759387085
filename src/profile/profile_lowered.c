/* Reads the lowered variables: millions of rows, read in pieces by several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "profile/profile_readers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/threads.h"

enum {
    BIT_ALLOCATED = 1,
    BIT_EXECUTABLE = 8,
};

enum {
    VAR_ID,
    TILE,
    SIZE_BYTES,
    EQUIVALENCE_CLASS,
    UNLOWERED_VAR_ID,
    OFFSET,
    CATEGORY,
    BITSET,
    ALIGNMENT,
    ELEMENT_CONSTRAINTS,
};

/* Consecutive rows, which one thread takes. Each possible row has a place in the profile's arrays,
 * [place, end_place), which is its rowid minus the lowest one. */
typedef struct piece {
    const struct lowered *of;
    size_t place;
    size_t end_place;
    size_t num_rows;
    uint64_t last_id;
    bool is_odd; /* the ids are not those of variables in order */
    /* The lists of element_constraints of data that is not always live, which may be millions: how
     * many rows after the one before, then each number plus 1, and 0. */
    pl_blob lists;
    size_t last_row;
} piece;

/* The state of reading. In nearly every file the ids are the row numbers, without a gap, and the
 * variables of a tile follow those of the tile before: then each row has its place at once. If not,
 * the table is read again, as a whole in that order. */
typedef struct lowered {
    pl_reading *reading;
    popliner_profile *profile;
    pl_database *database; /* each thread uses one of its connections */
    bool is_whole;         /* there is one piece, whose rows have places in their order */
    const char *order;     /* SQL: of the whole table */
    int64_t lowest;        /* rowid, unless it is whole */
    size_t num_places;     /* capacity of the profile's arrays */
    piece *pieces;
    size_t num_pieces;
    atomic_size_t num_done;
    uint32_t *tile;   /* of each variable */
    pl_arrays arrays; /* own these */
} lowered;

/* Returns how a variable is placed. An alignment that is no power of two, which no file has, counts
 * as the next smaller one. */
static uint8_t placing_of(uint64_t alignment, uint64_t bits) {
    unsigned placing = 0;
    while (alignment >> placing > 1 && placing < PL_PLACING_ALIGNMENT)
        placing++;
    placing |= (bits & BIT_EXECUTABLE) != 0 ? PL_PLACING_EXECUTABLE : 0;
    return (uint8_t)placing;
}

/* Finds the row of another table, which must exist. */
static uint32_t find_row(pl_rows *rows, int column, const pl_id_map *ids, pl_table_number of,
                         uint64_t id) {
    const uint32_t index = pl_id_map_find(&ids[of], id);
    if (index == PL_NONE)
        pl_rows_fail(rows, column, "is %llu, which table %s does not have", (unsigned long long)id,
                     pl_tables[of].name);
    return index;
}

/* Stores a row of vars_info at `i`; returns its id. */
static uint64_t read_variable(pl_rows *rows, const lowered *l, size_t i) {
    popliner_profile *p = l->profile;
    const pl_id_map *ids = l->reading->ids;
    uint64_t alignment = 1;
    const uint64_t id = pl_rows_number(rows, VAR_ID, INT64_MAX);
    l->tile[i] = (uint32_t)pl_rows_number(rows, TILE, p->target.num_tiles - 1);
    const uint64_t bits = pl_rows_number_or(rows, BITSET, INT64_MAX, BIT_ALLOCATED);
    p->variable_size_bytes[i] = 0;
    p->variable_offset[i] = 0;
    p->variable_class[i] = 0;
    p->variable_category[i] = 0; /* the nameless one of files without a table of categories */
    p->variable_placing[i] = 0;
    p->variable_unlowered[i] = PL_NONE;
    if ((bits & BIT_ALLOCATED) == 0)
        return id;
    p->variable_size_bytes[i] = (uint32_t)pl_rows_number(rows, SIZE_BYTES, UINT32_MAX);
    const uint64_t class_id = pl_rows_number(rows, EQUIVALENCE_CLASS, INT64_MAX);
    const uint64_t unlowered = pl_rows_number_or(rows, UNLOWERED_VAR_ID, INT64_MAX, UINT64_MAX);
    p->variable_offset[i] = (uint32_t)pl_rows_number_or(rows, OFFSET, UINT32_MAX, 0);
    const uint64_t category = pl_rows_number_or(rows, CATEGORY, INT64_MAX, UINT64_MAX);
    pl_rows_find_number(rows, ALIGNMENT, &alignment);
    p->variable_placing[i] = placing_of(alignment, bits);
    p->variable_class[i] = find_row(rows, EQUIVALENCE_CLASS, ids, PL_TABLE_CLASSES, class_id);
    if (category != UINT64_MAX && ids[PL_TABLE_CATEGORIES].count > 0)
        p->variable_category[i] =
            (uint8_t)find_row(rows, CATEGORY, ids, PL_TABLE_CATEGORIES, category);
    if (unlowered != UINT64_MAX)
        p->variable_unlowered[i] = pl_id_map_find(&ids[PL_TABLE_UNLOWERED], unlowered);
    return id;
}

/* ---- Constraints ---- */

/* True for data that is always live, or that is not. */
static bool is_data(const popliner_profile *p, uint64_t variable, bool is_always_live) {
    return (p->variable_placing[variable] & PL_PLACING_EXECUTABLE) == 0 &&
           (p->class_always_live[p->variable_class[variable]] != 0) == is_always_live;
}

/* Reads a list, and returns whether it names data of the variable's tile that is always live. */
static bool lies_apart(const popliner_profile *p, uint32_t variable, const uint8_t **at,
                       const uint8_t *end) {
    const uint64_t *start = &p->tile_variables_start[pl_profile_tile_of(p, variable)];
    uint64_t number = 0;
    bool found = false;
    while (pl_varint_read(at, end, &number) && number > 0)
        found = found || (number <= start[1] - start[0] && is_data(p, start[0] + number - 1, true));
    return found;
}

/* Lists the variables that lie apart, once all are known. */
static void find_apart(const lowered *l) {
    popliner_profile *p = l->profile;
    uint64_t first = 0; /* variable of the piece */
    for (size_t i = 0; !p->arrays.failed && i < l->num_pieces; i++) {
        const pl_blob *lists = &l->pieces[i].lists;
        const uint8_t *at = lists->data;
        const uint8_t *end = pl_blob_end(at, lists->size);
        uint64_t rows = 0;
        p->arrays.failed = lists->failed;
        for (uint64_t variable = first; !p->arrays.failed && pl_varint_read(&at, end, &rows);) {
            variable += rows;
            if (lies_apart(p, (uint32_t)variable, &at, end) &&
                pl_arrays_grow(&p->arrays, &p->apart_variable, p->num_apart + 1, sizeof(uint32_t)))
                p->apart_variable[p->num_apart++] = (uint32_t)variable;
        }
        first += l->pieces[i].num_rows;
    }
}

/* Keeps the constraints of a row; a list that is damaged counts up to where it is. */
static void keep_constraints(pl_rows *rows, size_t row, piece *c) {
    size_t size_bytes = 0;
    uint64_t place = 0;
    const uint8_t *blob = pl_rows_blob(rows, ELEMENT_CONSTRAINTS, &size_bytes);
    const uint8_t *end = pl_blob_end(blob, size_bytes);
    pl_varint_write(&c->lists, row - c->last_row);
    while (blob < end && pl_varint_read(&blob, end, &place) && place < PL_NONE)
        pl_varint_write(&c->lists, place + 1);
    pl_varint_write(&c->lists, 0);
    c->last_row = row;
}

/* ---- Pieces ---- */

static void take_variable(void *user, pl_rows *rows) {
    piece *own = user;
    const lowered *l = own->of;
    const size_t row = rows->row - 1;
    const size_t place = own->place + row;
    if (place >= own->end_place) {
        pl_outcome_fail(
            &rows->database->outcome, POPLINER_ERROR_INPUT,
            "%s: grew while it was being read; read it again when no program writes it any more",
            rows->database->path);
        return;
    }
    const uint64_t id = read_variable(rows, l, place);
    if (!pl_database_is_well(rows->database))
        return;
    if (is_data(l->profile, place, false) && !pl_rows_is_null(rows, ELEMENT_CONSTRAINTS))
        keep_constraints(rows, row, own);
    if (!l->is_whole)
        own->is_odd = own->is_odd || id != (uint64_t)l->lowest + place;
    else if (!pl_id_map_add(&l->reading->ids[PL_TABLE_VARIABLES], id, place))
        pl_outcome_fail_memory(&rows->database->outcome, "the lowered variables");
    else
        own->is_odd =
            own->is_odd || (place > 0 && l->tile[place] == l->tile[place - 1] && id < own->last_id);
    own->last_id = id;
}

static void read_piece(const lowered *l, pl_database *database, piece *own) {
    pl_rows rows = {.database = database, .table = &pl_tables[PL_TABLE_VARIABLES]};
    char range[100];
    snprintf(range, sizeof range, "WHERE rowid >= %lld AND rowid < %lld",
             (long long)l->lowest + (long long)own->place,
             (long long)l->lowest + (long long)own->end_place);
    pl_rows_each(&rows, l->is_whole ? l->order : range, take_variable, own);
    own->num_rows = rows.row;
}

static pl_database *connection_of(const lowered *l, size_t worker) {
    assert(worker <= l->database->num_helpers);
    return worker == 0 ? l->database : &l->database->helpers[worker - 1];
}

static bool do_piece(void *user, size_t worker, size_t i) {
    enum { PERCENT = 80 }; /* of the time of reading, as measured with 7.8 million variables */
    lowered *l = user;
    pl_database *database = connection_of(l, worker);
    read_piece(l, database, &l->pieces[i]);
    if (!pl_database_is_well(database))
        return false;
    const size_t num_done = atomic_fetch_add(&l->num_done, 1) + 1;
    if (worker == 0)
        pl_reading_tell(l->reading, PERCENT * num_done / l->num_pieces);
    return true;
}

static void read_debug_info(void *user) {
    pl_reading *r = ((const lowered *)user)->reading;
    r->debug_status = pl_debug_info_read(r->options->bounds, r->debug_path, r->options->listener,
                                         &r->debug_info, &r->debug_error);
}

static size_t count_rows_read(const lowered *l) {
    size_t num_rows = 0;
    for (size_t i = 0; i < l->num_pieces; i++)
        num_rows += l->pieces[i].num_rows;
    return num_rows;
}

/* Reads the table again, as a whole. */
static void read_whole(lowered *l, const char *order) {
    for (size_t i = 0; i < l->num_pieces; i++)
        free(l->pieces[i].lists.data);
    pl_id_map_free(&l->reading->ids[PL_TABLE_VARIABLES]);
    l->is_whole = true;
    l->order = order;
    l->num_pieces = 1;
    l->pieces[0] = (piece){.of = l, .end_place = l->num_places};
    /* SQLite checks a page once, and what is wrong with it would be found at another row */
    sqlite3_db_release_memory(l->database->sqlite);
    read_piece(l, l->database, &l->pieces[0]);
}

/* Reads the pieces, and the debug information meanwhile. After a failure reads again as a whole:
 * for the error of the first row that fails, in the table's order. What went wrong only once has
 * no row. */
static void read_pieces(lowered *l) {
    pl_database *database = l->database;
    const pl_outcome before = database->outcome;
    const pl_parallel work = {.num_threads = database->num_helpers + 1,
                              .count = l->num_pieces,
                              .task = do_piece,
                              .side_task = l->reading->debug_path == NULL ? NULL : read_debug_info,
                              .user = l,
                              .bounds = database->bounds};
    bool was_of_memory = false;
    for (size_t i = 0; i < work.num_threads; i++)
        connection_of(l, i)->outcome = (pl_outcome){.error = NULL};
    const bool is_read = pl_parallel_run(&work) == l->num_pieces;
    for (size_t i = 0; i < work.num_threads; i++)
        was_of_memory =
            was_of_memory || connection_of(l, i)->outcome.status == POPLINER_ERROR_MEMORY;
    database->outcome = before;
    if (is_read)
        return;
    if (pl_bounds_are_over(database->bounds))
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_STOPPED,
                        "%s: reading table vars_info was stopped after %zu rows", database->path,
                        count_rows_read(l));
    else if (was_of_memory)
        pl_outcome_fail_memory(&database->outcome, "a table");
    else
        read_whole(l, "");
    pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                    "%s: table vars_info could not be read once", database->path);
}

/* True if all rows that were read are at their places. */
static bool are_in_order(const lowered *l, size_t num_rows) {
    bool is_odd = num_rows < l->num_places;
    for (size_t i = 0; i < l->num_pieces; i++)
        is_odd = is_odd || l->pieces[i].is_odd;
    for (size_t i = 1; !is_odd && i < num_rows; i++)
        is_odd = l->tile[i] < l->tile[i - 1];
    return !is_odd;
}

/* Fails if a table that is read as a whole has fewer rows than were counted. */
static void check_end(const lowered *l) {
    const size_t num_rows = count_rows_read(l);
    if (l->is_whole && num_rows < l->num_places)
        pl_outcome_fail(&l->database->outcome, POPLINER_ERROR_INPUT,
                        "%s: table vars_info ends after %zu of %zu rows; the file is damaged",
                        l->database->path, num_rows, l->num_places);
}

/* ---- The table ---- */

/* Sets the lowest and the highest rowid; false if there is none: a table may be without it. */
static bool find_bounds(lowered *l, int64_t *highest) {
    static const char first[] = "SELECT rowid FROM vars_info ORDER BY rowid LIMIT 1";
    static const char last[] = "SELECT rowid FROM vars_info ORDER BY rowid DESC LIMIT 1";
    const pl_outcome before = l->database->outcome;
    l->database->outcome.error = NULL; /* reading all rows reports damage */
    const bool found = pl_database_ask(l->database, first, NULL, "", &l->lowest) &&
                       pl_database_ask(l->database, last, NULL, "", highest);
    l->database->outcome = before;
    return found;
}

/* Divides the table into pieces, if the rowids are dense enough to be array indices: a row takes
 * more than 4 bytes of the file. If not, counts its rows. The pieces do not depend on the number of
 * threads: small enough that threads finish together and progress moves, large enough that the cost
 * of finding the start of a piece is negligible. */
static void find_places(lowered *l, bool found) {
    enum { MAX_PIECES = 256, LEAST_ROWS = 1 << 12 };
    pl_outcome *outcome = &l->database->outcome;
    const char *path = l->database->path;
    int64_t highest = 0;
    int64_t count = 0;
    l->is_whole = !found || !find_bounds(l, &highest) || l->lowest < 0 ||
                  highest - l->lowest >= l->database->state.st_size / 4;
    if (!l->is_whole)
        count = highest - l->lowest + 1;
    else if (found)
        pl_database_ask(l->database, "SELECT count(*) FROM vars_info", NULL,
                        "counting the rows of a table", &count);
    if (count == 0)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT,
                        "%s: has no lowered variables (table vars_info); compile again with the "
                        "engine option autoReport.outputLoweredVars set to true%s",
                        path,
                        pl_is_beside(path, "vars.capnp")
                            ? " (popliner does not read vars.capnp, whose format is not public)"
                            : "");
    if (count >= PL_NONE)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: table vars_info has too many rows",
                        path);
    const size_t places = (size_t)count;
    const size_t rows = l->is_whole ? places : pl_more(places / MAX_PIECES + 1, LEAST_ROWS);
    l->order = "";
    l->num_places = places;
    l->pieces = pl_arrays_new(&l->arrays, MAX_PIECES, sizeof *l->pieces);
    for (size_t place = 0; pl_reading_has(l->reading, l->pieces != NULL) && place < places;
         place += rows)
        l->pieces[l->num_pieces++] =
            (piece){.of = l, .place = place, .end_place = pl_fewer(place + rows, places)};
}

/* Rejects a profile that the memory cannot hold before the machine swaps, or other programs are
 * killed. */
static void check_memory(pl_database *database, size_t num_variables) {
    /* A tenth less than runs of the whole command were measured to take, so that nothing is
     * rejected that would fit. */
    enum { BYTES_PER_VARIABLE = 20 };
    char what[80];
    snprintf(what, sizeof what, "%zu lowered variables and what uses them", num_variables);
    pl_database_take_bytes(database, what, num_variables, BYTES_PER_VARIABLE);
}

void pl_profile_sum_up_pieces(popliner_profile *p) {
    memset(p->unlowered_size_bytes, 0, p->num_unlowered * sizeof *p->unlowered_size_bytes);
    memset(p->unlowered_num_pieces, 0, p->num_unlowered * sizeof *p->unlowered_num_pieces);
    for (size_t i = 0; i < p->num_variables; i++) {
        uint32_t unlowered = p->variable_unlowered[i];
        if (unlowered != PL_NONE) {
            p->unlowered_size_bytes[unlowered] += p->variable_size_bytes[i];
            p->unlowered_num_pieces[unlowered]++;
        }
    }
}

/* Counts the variables by tile. */
static void count_by_tile(popliner_profile *p, const uint32_t *tile) {
    const size_t num_tiles = p->target.num_tiles;
    p->tile_variables_start = pl_arrays_new(&p->arrays, num_tiles + 1, sizeof(uint64_t));
    if (p->arrays.failed)
        return;
    for (size_t i = 0; i < p->num_variables; i++)
        p->tile_variables_start[tile[i] + 1]++;
    for (size_t i = 0; i < num_tiles; i++)
        p->tile_variables_start[i + 1] += p->tile_variables_start[i];
}

/* Reads the rows, and what follows from all of them. */
static void read_variables(lowered *l) {
    pl_database *database = l->database;
    popliner_profile *p = l->profile;
    pl_id_map *ids = &l->reading->ids[PL_TABLE_VARIABLES];
    l->tile = pl_arrays_new(&l->arrays, l->num_places, sizeof *l->tile);
    p->num_variables = l->num_places; /* until the number is known */
    pl_profile_allocate(p, &p->num_variables);
    if (!pl_reading_has(l->reading, !l->arrays.failed))
        return;
    read_pieces(l);
    check_end(l);
    const size_t num_rows = count_rows_read(l);
    if (pl_database_is_well(database) && !are_in_order(l, num_rows)) {
        l->num_places = num_rows;
        read_whole(l, "ORDER BY tile, var_id");
        check_end(l);
    }
    if (!pl_database_is_well(database))
        return;
    p->num_variables = num_rows;
    if (!l->is_whole)
        *ids = (pl_id_map){.first_id = (uint64_t)l->lowest, .count = num_rows};
    count_by_tile(p, l->tile);
    find_apart(l);
    if (pl_reading_has(l->reading, true))
        pl_profile_sum_up_pieces(p);
    pl_id_map_sort(ids);
}

void pl_profile_read_lowered(pl_reading *r) {
    lowered l = {.reading = r, .profile = r->profile, .database = &r->database};
    pl_rows rows = pl_rows_open(&r->database, &pl_tables[PL_TABLE_VARIABLES]);
    find_places(&l, rows.statement != NULL);
    pl_rows_close(&rows);
    check_memory(&r->database, l.num_places);
    if (pl_database_is_well(&r->database))
        read_variables(&l);
    for (size_t i = 0; i < l.num_pieces; i++)
        free(l.pieces[i].lists.data);
    pl_arrays_free(&l.arrays);
}
