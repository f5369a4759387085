/* Reads the lowered variables: millions of rows, read in pieces by several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "profile/profile_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    NUM_PLAIN_COLUMNS = ELEMENT_CONSTRAINTS, /* those before it hold numbers */
};

/* The lists of element_constraints of data that is not always live, in the rows of a piece, which
 * may be millions: how many rows after the one before, then each number plus 1, and 0. */
typedef struct piece_rows {
    pl_blob lists;
    size_t last_row;
    uint64_t last_id;
    bool is_odd; /* the ids are not those of variables in order */
} piece_rows;

/* The state of reading pieces. In nearly every file the ids are the row numbers, without a gap, and
 * the variables of a tile follow those of the tile before: then each row has its place at once. If
 * not, the table is read again, as one piece in that order. */
typedef struct lowered {
    popliner_profile *profile;
    pl_id_map *ids; /* [PL_NUM_TABLES] */
    pl_scan scan;
    size_t num_places;  /* capacity of the profile's arrays */
    piece_rows *pieces; /* by piece */
    uint32_t *tile;     /* of each variable */
    pl_arrays arrays;   /* own these */
} lowered;

/* Counts the rows of a table; 0 if the table does not exist. */
static uint64_t count_rows(pl_database *database, const char *table) {
    char sql[100];
    int64_t number = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", table);
    if (pl_database_has_table(database, table))
        pl_database_ask(database, sql, NULL, "counting the rows of a table", &number);
    return (uint64_t)number;
}

/* Returns how a variable is placed. An alignment that is no power of two, which no file has, counts
 * as the next smaller one. */
static uint8_t placing_of(int64_t alignment, int64_t bits) {
    unsigned placing = 0;
    while (alignment >> placing > 1 && placing < PL_PLACING_ALIGNMENT)
        placing++;
    placing |= (bits & BIT_EXECUTABLE) != 0 ? PL_PLACING_EXECUTABLE : 0;
    return (uint8_t)placing;
}

/* Reads the numbers of a row that is not like nearly all, with -1 for NULL where that is valid.
 * Those of a variable that was not allocated are undefined. */
static void read_odd_numbers(pl_rows *rows, size_t num_tiles, int64_t *values) {
    uint64_t alignment = 1;
    values[VAR_ID] = (int64_t)pl_rows_number(rows, VAR_ID, INT64_MAX);
    values[TILE] = (int64_t)pl_rows_number(rows, TILE, num_tiles - 1);
    values[BITSET] = (int64_t)pl_rows_number_or(rows, BITSET, INT64_MAX, BIT_ALLOCATED);
    if ((values[BITSET] & BIT_ALLOCATED) == 0)
        return;
    values[SIZE_BYTES] = (int64_t)pl_rows_number(rows, SIZE_BYTES, UINT32_MAX);
    values[EQUIVALENCE_CLASS] = (int64_t)pl_rows_number(rows, EQUIVALENCE_CLASS, INT64_MAX);
    values[UNLOWERED_VAR_ID] =
        (int64_t)pl_rows_number_or(rows, UNLOWERED_VAR_ID, INT64_MAX, UINT64_MAX);
    values[OFFSET] = (int64_t)pl_rows_number_or(rows, OFFSET, UINT32_MAX, 0);
    values[CATEGORY] = (int64_t)pl_rows_number_or(rows, CATEGORY, INT64_MAX, UINT64_MAX);
    pl_rows_find_number(rows, ALIGNMENT, &alignment);
    values[ALIGNMENT] = (int64_t)alignment;
}

/* Finds the row of another table, which must exist. */
static uint32_t find_row(pl_rows *rows, int column, const pl_id_map *ids, pl_table_number of,
                         int64_t id) {
    const uint32_t index = pl_id_map_find(&ids[of], (uint64_t)id);
    if (index == PL_NONE)
        pl_rows_fail(rows, column, "is %lld, which table %s does not have", (long long)id,
                     pl_tables[of].name);
    return index;
}

/* Stores a row of vars_info at `i`; returns its id. */
static uint64_t read_variable(pl_rows *rows, const lowered *l, size_t i) {
    popliner_profile *p = l->profile;
    const pl_id_map *ids = l->ids;
    int64_t values[NUM_PLAIN_COLUMNS];
    uint32_t class_index = 0;
    uint32_t category = 0; /* the nameless one of files without a table of categories */
    uint32_t unlowered = PL_NONE;
    if (!pl_rows_plain_numbers(rows, NUM_PLAIN_COLUMNS, values) || values[VAR_ID] < 0 ||
        (uint64_t)values[TILE] >= p->target.num_tiles ||
        (uint64_t)values[SIZE_BYTES] > UINT32_MAX || (uint64_t)values[OFFSET] > UINT32_MAX ||
        values[EQUIVALENCE_CLASS] < 0 || values[BITSET] < 0)
        read_odd_numbers(rows, p->target.num_tiles, values);
    const bool is_allocated = (values[BITSET] & BIT_ALLOCATED) != 0;
    if (is_allocated) {
        class_index =
            find_row(rows, EQUIVALENCE_CLASS, ids, PL_TABLE_CLASSES, values[EQUIVALENCE_CLASS]);
        if (values[CATEGORY] >= 0 && ids[PL_TABLE_CATEGORIES].count > 0)
            category = find_row(rows, CATEGORY, ids, PL_TABLE_CATEGORIES, values[CATEGORY]);
        if (values[UNLOWERED_VAR_ID] >= 0)
            unlowered =
                pl_id_map_find(&ids[PL_TABLE_UNLOWERED], (uint64_t)values[UNLOWERED_VAR_ID]);
    }
    l->tile[i] = (uint32_t)values[TILE];
    p->variable_size_bytes[i] = is_allocated ? (uint32_t)values[SIZE_BYTES] : 0;
    p->variable_offset[i] = is_allocated ? (uint32_t)values[OFFSET] : 0;
    p->variable_class[i] = class_index;
    p->variable_category[i] = (uint8_t)category;
    p->variable_placing[i] = is_allocated ? placing_of(values[ALIGNMENT], values[BITSET]) : 0;
    p->variable_unlowered[i] = unlowered;
    return (uint64_t)values[VAR_ID];
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
static void find_apart(lowered *l) {
    popliner_profile *p = l->profile;
    uint64_t first = 0; /* variable of the piece */
    for (size_t piece = 0; !p->arrays.failed && piece < l->scan.num_pieces; piece++) {
        const pl_blob *lists = &l->pieces[piece].lists;
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
        first += l->scan.pieces[piece].num_rows;
    }
}

/* Keeps the constraints of a row; a list that is damaged counts up to where it is. */
static void keep_constraints(pl_rows *rows, size_t row, piece_rows *c) {
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

/* Return the places of a piece's rows: earlier pieces have a place for each possible key. */
static size_t first_place(const pl_scan *scan, size_t piece) {
    return scan->is_open ? 0 : (size_t)(scan->pieces[piece].first - scan->lowest);
}

static size_t end_place(const lowered *l, size_t piece) {
    const pl_scan *scan = &l->scan;
    return scan->is_open ? l->num_places : (size_t)(scan->pieces[piece].end - scan->lowest);
}

static void take_variable(void *user, pl_rows *rows, size_t piece, size_t row) {
    lowered *l = user;
    piece_rows *own = &l->pieces[piece];
    const size_t place = first_place(&l->scan, piece) + row;
    if (place >= end_place(l, piece)) {
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
    if (!l->scan.is_open)
        own->is_odd = own->is_odd || id != (uint64_t)l->scan.lowest + place;
    else if (!pl_id_map_add(&l->ids[PL_TABLE_VARIABLES], id, place))
        pl_outcome_fail_memory(&rows->database->outcome, "the lowered variables");
    else
        own->is_odd =
            own->is_odd || (place > 0 && l->tile[place] == l->tile[place - 1] && id < own->last_id);
    own->last_id = id;
}

/* Reads the pieces once; returns the number of rows. */
static size_t read_pieces(lowered *l) {
    size_t num_rows = 0;
    l->pieces = pl_arrays_new(&l->arrays, l->scan.num_pieces, sizeof *l->pieces);
    if (pl_outcome_has(&l->scan.database->outcome, !l->arrays.failed, "the lowered variables"))
        pl_scan_run(&l->scan);
    for (size_t i = 0; i < l->scan.num_pieces; i++)
        num_rows += l->scan.pieces[i].num_rows;
    if (l->scan.is_open && num_rows < l->num_places)
        pl_outcome_fail(&l->scan.database->outcome, POPLINER_ERROR_INPUT,
                        "%s: table vars_info ends after %zu of %zu rows; the file is damaged",
                        l->scan.database->path, num_rows, l->num_places);
    return num_rows;
}

static void free_pieces(lowered *l) {
    for (size_t i = 0; l->pieces != NULL && i < l->scan.num_pieces; i++)
        free(l->pieces[i].lists.data);
    l->pieces = NULL;
}

/* True if all rows that were read are at their places. */
static bool are_in_order(const lowered *l, size_t num_rows) {
    bool is_odd = num_rows < l->num_places;
    for (size_t i = 0; i < l->scan.num_pieces; i++)
        is_odd = is_odd || l->pieces[i].is_odd;
    for (size_t i = 1; !is_odd && i < num_rows; i++)
        is_odd = l->tile[i] < l->tile[i - 1];
    return !is_odd;
}

/* Reads the rows again, in order. */
static void read_in_order(lowered *l, size_t num_rows) {
    pl_table table = *l->scan.table;
    const pl_table *const as_is = l->scan.table;
    free_pieces(l);
    pl_id_map_free(&l->ids[PL_TABLE_VARIABLES]);
    pl_scan_do_not_cut(&l->scan);
    table.tail = "ORDER BY tile, var_id";
    l->scan.table = &table;
    l->scan.side_task = NULL;
    l->scan.progress = NULL; /* which has arrived at the end of this table */
    l->num_places = num_rows;
    read_pieces(l);
    l->scan.table = as_is;
}

/* Decides whether the keys are dense enough to be array indices: a row takes more than 4 bytes of
 * the file. If not, the table is one piece and its rows are counted. Returns the number of indices.
 */
static size_t find_places(pl_scan *scan) {
    pl_outcome *outcome = &scan->database->outcome;
    const char *path = scan->database->path;
    struct stat info = {0};
    uint64_t count = 0;
    if (scan->found && !scan->is_open && stat(path, &info) == 0 &&
        scan->highest - scan->lowest < info.st_size / 4) {
        count = (uint64_t)(scan->highest - scan->lowest) + 1;
    } else if (pl_database_is_well(scan->database)) {
        if (scan->found)
            pl_scan_do_not_cut(scan);
        count = count_rows(scan->database, "vars_info");
    }
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
    return (size_t)count;
}

/* Rejects a profile that the memory cannot hold before the machine swaps, or other programs are
 * killed. */
static void check_memory(pl_database *database, size_t num_variables) {
    /* A tenth less than runs of the whole command were measured to take, so that nothing is
     * rejected that would fit. */
    enum { BYTES_PER_VARIABLE = 20, BYTES_PER_REGION = 4 };
    char what[80];
    const pl_outcome before = database->outcome;
    database->outcome.error = NULL; /* the reader of that table reports damage */
    uint64_t num_regions = count_rows(database, "exchange_regions");
    database->outcome = before;
    snprintf(what, sizeof what, "%zu lowered variables and what uses them", num_variables);
    pl_database_take_bytes(database, what, 1,
                           num_variables * (uint64_t)BYTES_PER_VARIABLE +
                               num_regions * BYTES_PER_REGION);
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
    pl_database *database = l->scan.database;
    popliner_profile *p = l->profile;
    pl_id_map *ids = &l->ids[PL_TABLE_VARIABLES];
    l->tile = pl_arrays_new(&l->arrays, l->num_places, sizeof *l->tile);
    p->num_variables = l->num_places; /* until the number is known */
    pl_profile_allocate(p, &p->num_variables);
    l->arrays.failed = l->arrays.failed || p->arrays.failed;
    const size_t num_rows = read_pieces(l);
    if (pl_database_is_well(database) && !are_in_order(l, num_rows))
        read_in_order(l, num_rows);
    if (!pl_database_is_well(database))
        return;
    p->num_variables = num_rows;
    p->arrays.failed =
        p->arrays.failed ||
        (!l->scan.is_open && !pl_id_map_add_run(ids, (uint64_t)l->scan.lowest, 0, num_rows));
    count_by_tile(p, l->tile);
    find_apart(l);
    if (pl_outcome_has(&database->outcome, !p->arrays.failed, "the lowered variables"))
        pl_profile_sum_up_pieces(p);
    pl_id_map_sort(ids);
}

void pl_profile_read_lowered(pl_reading *r) {
    lowered l = {.profile = r->profile,
                 .ids = r->ids,
                 .scan = {.database = &r->database,
                          .table = &pl_tables[PL_TABLE_VARIABLES],
                          .key = "rowid",
                          .min_keys = 1 << 12,
                          .progress = &r->progress,
                          .take = take_variable,
                          .side_task = r->side_task}};
    l.scan.user = &l;
    pl_scan_open(&l.scan);
    l.num_places = find_places(&l.scan);
    check_memory(&r->database, l.num_places);
    if (pl_database_is_well(&r->database))
        read_variables(&l);
    free_pieces(&l);
    pl_arrays_free(&l.arrays);
    pl_scan_close(&l.scan);
}
