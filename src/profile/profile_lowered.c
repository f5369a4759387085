/* Reads the lowered variables: millions of rows, read in pieces by several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "profile/profile_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/numbers.h"

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

/* A piece, whose other columns are in the arrays of the profile. */
typedef struct piece_rows {
    uint64_t *ids; /* NULL while the ids are the row numbers */
    /* The lists of element_constraints of data that is not always live, in the rows of a piece, of
     * which there may be millions: how many rows after the one before, then each number plus 1, and
     * 0. */
    pl_blob lists;
    size_t last_row;
} piece_rows;

/* The state of reading pieces. */
typedef struct lowered {
    popliner_profile *profile;
    const pl_id_map *ids; /* [PL_NUM_TABLES] */
    const pl_scan *scan;
    size_t num_places;   /* capacity of the profile's arrays */
    piece_rows *pieces;  /* by piece */
    uint32_t *tile;      /* of each variable, until they are sorted by tile */
    uint32_t *new_place; /* of each variable, by tile; NULL: they were sorted */
    pl_arrays arrays;    /* own these; failed also if the profile or the ids lack memory */
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
static uint8_t placing_of(uint64_t alignment, uint64_t bits) {
    unsigned placing = 0;
    while (alignment >> placing > 1 && placing < PL_PLACING_ALIGNMENT)
        placing++;
    placing |= (bits & BIT_EXECUTABLE) != 0 ? PL_PLACING_EXECUTABLE : 0;
    return (uint8_t)placing;
}

/* Stores a row of vars_info at `i`, if it is like nearly all rows. False if read_variable must
 * handle it, which then overwrites everything that was stored. */
static bool put_plain_variable(const int64_t *values, const lowered *l, size_t i) {
    popliner_profile *p = l->profile;
    const pl_id_map *ids = l->ids;
    uint32_t class_index =
        pl_id_map_find(&ids[PL_TABLE_CLASSES], (uint64_t)values[EQUIVALENCE_CLASS]);
    uint32_t category = pl_id_map_find(&ids[PL_TABLE_CATEGORIES], (uint64_t)values[CATEGORY]);
    if (values[VAR_ID] < 0 || (uint64_t)values[TILE] >= p->target.num_tiles ||
        (uint64_t)values[SIZE_BYTES] > UINT32_MAX || (uint64_t)values[OFFSET] > UINT32_MAX ||
        values[BITSET] < 0 || (values[BITSET] & BIT_ALLOCATED) == 0 || class_index == PL_NONE ||
        category == PL_NONE)
        return false;
    l->tile[i] = (uint32_t)values[TILE];
    p->variable_size_bytes[i] = (uint32_t)values[SIZE_BYTES];
    p->variable_offset[i] = (uint32_t)values[OFFSET];
    p->variable_class[i] = class_index;
    p->variable_category[i] = (uint8_t)category;
    p->variable_placing[i] = placing_of(values[ALIGNMENT] < 0 ? 1 : (uint64_t)values[ALIGNMENT],
                                        (uint64_t)values[BITSET]);
    p->variable_unlowered[i] =
        values[UNLOWERED_VAR_ID] < 0
            ? PL_NONE
            : pl_id_map_find(&ids[PL_TABLE_UNLOWERED], (uint64_t)values[UNLOWERED_VAR_ID]);
    return true;
}

/* Stores a row of vars_info at `i`, whatever it holds; returns its id. */
static uint64_t read_variable(pl_rows *rows, const lowered *l, size_t i) {
    popliner_profile *profile = l->profile;
    const pl_id_map *ids = l->ids;
    uint64_t alignment = 1;
    uint64_t id = pl_rows_number(rows, VAR_ID, INT64_MAX);
    l->tile[i] = (uint32_t)pl_rows_number(rows, TILE, profile->target.num_tiles - 1);
    uint64_t bits = pl_rows_number_or(rows, BITSET, INT64_MAX, BIT_ALLOCATED);
    profile->variable_unlowered[i] = PL_NONE;
    if ((bits & BIT_ALLOCATED) == 0)
        return id; /* the other columns are undefined */

    uint64_t size_bytes = pl_rows_number(rows, SIZE_BYTES, UINT32_MAX);
    uint64_t class_id = pl_rows_number(rows, EQUIVALENCE_CLASS, INT64_MAX);
    uint64_t unlowered_id = pl_rows_number_or(rows, UNLOWERED_VAR_ID, INT64_MAX, UINT64_MAX);
    uint64_t offset = pl_rows_number_or(rows, OFFSET, UINT32_MAX, 0);
    uint64_t category_id = pl_rows_number_or(rows, CATEGORY, INT64_MAX, UINT64_MAX);
    uint32_t class_index = pl_id_map_find(&ids[PL_TABLE_CLASSES], class_id);
    if (class_index == PL_NONE)
        pl_rows_fail(rows, EQUIVALENCE_CLASS, "is %llu, which table eq_classes does not have",
                     (unsigned long long)class_id);
    uint32_t category = 0; /* the nameless one of files without a table of categories */
    if (category_id != UINT64_MAX && ids[PL_TABLE_CATEGORIES].count > 0)
        category = pl_id_map_find(&ids[PL_TABLE_CATEGORIES], category_id);
    if (category == PL_NONE)
        pl_rows_fail(rows, CATEGORY, "is %llu, which table var_categories does not have",
                     (unsigned long long)category_id);
    profile->variable_size_bytes[i] = (uint32_t)size_bytes;
    profile->variable_offset[i] = (uint32_t)offset;
    profile->variable_class[i] = class_index;
    profile->variable_category[i] = (uint8_t)category;
    pl_rows_find_number(rows, ALIGNMENT, &alignment);
    profile->variable_placing[i] = placing_of(alignment, bits);
    if (unlowered_id != UINT64_MAX)
        profile->variable_unlowered[i] = pl_id_map_find(&ids[PL_TABLE_UNLOWERED], unlowered_id);
    return id;
}

/* Moves the items of an array to their new positions; `sorted` is space for them. */
static void reorder(const lowered *l, const pl_field *field, char *sorted) {
    const size_t count = l->profile->num_variables;
    const size_t size = field->item_size;
    char *items = pl_field_items(field);
    for (size_t i = 0; i < count; i++)
        memcpy(sorted + l->new_place[i] * size, items + i * size, size);
    memcpy(items, sorted, count * size);
}

/* True if the file has the variables by tile, and those of a tile in the order of their ids, as all
 * known files do; `ids` are not sorted yet. */
static bool are_sorted(const lowered *l, const pl_id_map *ids) {
    for (size_t i = 1; i < l->profile->num_variables; i++) {
        if (l->tile[i] < l->tile[i - 1] || (ids->entries != NULL && l->tile[i] == l->tile[i - 1] &&
                                            ids->entries[i].id < ids->entries[i - 1].id))
            return false;
    }
    return true;
}

/* Finds the new place of each variable: by tile, then by id. */
static void find_places_by_tile(lowered *l, const pl_id_map *ids) {
    const popliner_profile *p = l->profile;
    uint64_t *next =
        pl_arrays_copy(&l->arrays, p->tile_variables_start, p->target.num_tiles, sizeof *next);
    pl_id_entry *by_id = pl_arrays_new(&l->arrays, p->num_variables, sizeof *by_id);
    l->new_place = pl_arrays_new(&l->arrays, p->num_variables, sizeof *l->new_place);
    if (l->arrays.failed)
        return;
    for (size_t i = 0; i < p->num_variables; i++)
        by_id[i] = ids->entries != NULL ? ids->entries[i] : (pl_id_entry){i, (uint32_t)i};
    qsort(by_id, p->num_variables, sizeof *by_id, pl_id_entry_compare);
    for (size_t i = 0; i < p->num_variables; i++)
        l->new_place[by_id[i].index] = (uint32_t)next[l->tile[by_id[i].index]]++;
}

/* Sorts the lowered variables by tile, and those of a tile by id, and counts them by tile. */
static void sort_by_tile(lowered *l, pl_id_map *ids) {
    popliner_profile *p = l->profile;
    const size_t num_tiles = p->target.num_tiles;
    pl_field fields[PL_MAX_FIELDS];
    p->tile_variables_start = pl_arrays_new(&p->arrays, num_tiles + 1, sizeof(uint64_t));
    l->arrays.failed = l->arrays.failed || p->arrays.failed;
    if (l->arrays.failed)
        return;
    for (size_t i = 0; i < p->num_variables; i++)
        p->tile_variables_start[l->tile[i] + 1]++;
    for (size_t tile = 0; tile < num_tiles; tile++)
        p->tile_variables_start[tile + 1] += p->tile_variables_start[tile];
    if (are_sorted(l, ids))
        return;
    find_places_by_tile(l, ids);
    char *sorted = pl_arrays_new(&l->arrays, p->num_variables, sizeof(uint32_t));
    for (size_t i = pl_profile_fields_by(p, &p->num_variables, fields);
         !l->arrays.failed && i-- > 0;)
        reorder(l, &fields[i], sorted);
    l->arrays.failed = l->arrays.failed || !pl_id_map_renumber(ids, l->new_place);
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

/* Lists the variables that lie apart, once they are sorted. */
static void find_apart(lowered *l) {
    popliner_profile *p = l->profile;
    size_t first = 0; /* variable of the piece */
    for (size_t piece = 0; !l->arrays.failed && piece < l->scan->num_pieces; piece++) {
        const pl_blob *lists = &l->pieces[piece].lists;
        const uint8_t *at = lists->data;
        const uint8_t *end = pl_blob_end(at, lists->size);
        uint64_t rows = 0;
        l->arrays.failed = lists->failed;
        for (size_t row = first; !l->arrays.failed && pl_varint_read(&at, end, &rows);) {
            row += (size_t)rows;
            const uint32_t variable = l->new_place == NULL ? (uint32_t)row : l->new_place[row];
            if (!lies_apart(p, variable, &at, end))
                continue;
            if (pl_arrays_grow(&p->arrays, &p->apart_variable, p->num_apart + 1, sizeof(uint32_t)))
                p->apart_variable[p->num_apart++] = variable;
        }
        first += l->scan->pieces[piece].num_rows;
    }
    if (l->new_place != NULL && p->num_apart > 0)
        qsort(p->apart_variable, p->num_apart, sizeof *p->apart_variable, pl_compare_places);
}

/* Returns the index of a piece's first row: earlier pieces have an index for each possible key. */
static size_t first_place(const pl_scan *scan, size_t piece) {
    return scan->is_open ? 0 : (size_t)(scan->pieces[piece].first - scan->lowest);
}

static size_t end_place(const lowered *l, size_t piece) {
    const pl_piece *p = &l->scan->pieces[piece];
    return l->scan->is_open ? l->num_places : (size_t)(p->end - l->scan->lowest);
}

static uint64_t usual_id(const pl_scan *scan, size_t piece, size_t row) {
    return (scan->is_open ? 0 : (uint64_t)scan->pieces[piece].first) + row;
}

/* Stores the id of the row-th variable of a piece. */
static bool keep_id(lowered *l, size_t piece, size_t row, uint64_t id) {
    uint64_t *ids = l->pieces[piece].ids;
    if (ids == NULL) {
        if (id == usual_id(l->scan, piece, row))
            return true;
        ids = pl_new_array(end_place(l, piece) - first_place(l->scan, piece), sizeof *ids);
        if (ids == NULL)
            return false;
        for (size_t i = 0; i < row; i++)
            ids[i] = usual_id(l->scan, piece, i);
        l->pieces[piece].ids = ids;
    }
    ids[row] = id;
    return true;
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

static void take_variable(void *user, pl_rows *rows, size_t piece, size_t row) {
    lowered *l = user;
    size_t place = first_place(l->scan, piece) + row;
    uint64_t id = 0;
    int64_t values[NUM_PLAIN_COLUMNS];
    if (place >= end_place(l, piece)) {
        pl_outcome_fail(
            &rows->database->outcome, POPLINER_ERROR_INPUT,
            "%s: grew while it was being read; read it again when no program writes it any more",
            rows->database->path);
        return;
    }
    if (pl_rows_plain_numbers(rows, NUM_PLAIN_COLUMNS, values) &&
        put_plain_variable(values, l, place))
        id = (uint64_t)values[VAR_ID];
    else
        id = read_variable(rows, l, place);
    if (pl_database_is_well(rows->database) && is_data(l->profile, place, false) &&
        !pl_rows_is_null(rows, ELEMENT_CONSTRAINTS))
        keep_constraints(rows, row, &l->pieces[piece]);
    if (!keep_id(l, piece, row, id))
        pl_outcome_fail_memory(&rows->database->outcome, "the lowered variables");
}

/* Moves `count` items of all arrays down to `to`. */
static void move_variables(const lowered *l, size_t to, size_t from, size_t count) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_fields_by(l->profile, &l->profile->num_variables, fields);
    memmove(l->tile + to, l->tile + from, count * sizeof *l->tile);
    for (size_t i = 0; i < num_fields; i++) {
        char *items = pl_field_items(&fields[i]);
        size_t size = fields[i].item_size;
        memmove(items + to * size, items + from * size, count * size);
    }
}

/* Closes the gaps of missing keys, and numbers the variables. */
static void join_pieces(lowered *l, pl_id_map *ids) {
    popliner_profile *p = l->profile;
    bool memory = true;
    p->num_variables = 0;
    for (size_t piece = 0; memory && piece < l->scan->num_pieces; piece++) {
        const size_t count = l->scan->pieces[piece].num_rows;
        const size_t from = first_place(l->scan, piece);
        const uint64_t *own = l->pieces[piece].ids;
        if (from != p->num_variables)
            move_variables(l, p->num_variables, from, count);
        if (own == NULL)
            memory = pl_id_map_add_run(ids, usual_id(l->scan, piece, 0), p->num_variables, count);
        for (size_t i = 0; memory && own != NULL && i < count; i++)
            memory = pl_id_map_add(ids, own[i], p->num_variables + i);
        p->num_variables += count;
    }
    l->arrays.failed = !memory;
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

/* Reads the pieces, and makes the arrays of them. */
static void read_pieces(lowered *l, pl_scan *scan, pl_id_map *ids) {
    static const char what[] = "the lowered variables";
    pl_database *database = scan->database;
    popliner_profile *p = l->profile;
    l->pieces = pl_arrays_new(&l->arrays, scan->num_pieces, sizeof *l->pieces);
    l->tile = pl_arrays_new(&l->arrays, l->num_places, sizeof *l->tile);
    p->num_variables = l->num_places; /* until the number is known */
    pl_profile_allocate(p, &p->num_variables);
    l->arrays.failed = l->arrays.failed || p->arrays.failed;
    if (pl_outcome_has(&database->outcome, !l->arrays.failed, what))
        pl_scan_run(scan);
    if (scan->is_open && scan->pieces[0].num_rows < l->num_places)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: table vars_info ends after %zu of %zu rows; the file is damaged",
                        database->path, scan->pieces[0].num_rows, l->num_places);
    if (!pl_database_is_well(database))
        return;
    join_pieces(l, ids);
    sort_by_tile(l, ids);
    find_apart(l);
    if (pl_outcome_has(&database->outcome, !l->arrays.failed && !p->arrays.failed, what))
        pl_profile_sum_up_pieces(p);
    pl_id_map_sort(ids);
}

void pl_profile_read_lowered(pl_reading *r) {
    lowered l = {.profile = r->profile, .ids = r->ids};
    pl_scan scan = {.database = &r->database,
                    .table = &pl_tables[PL_TABLE_VARIABLES],
                    .key = "rowid",
                    .min_keys = 1 << 12,
                    .progress = &r->progress,
                    .take = take_variable,
                    .side_task = r->side_task,
                    .user = &l};
    l.scan = &scan;
    pl_scan_open(&scan);
    l.num_places = find_places(&scan);
    check_memory(&r->database, l.num_places);
    if (pl_database_is_well(&r->database))
        read_pieces(&l, &scan, &r->ids[PL_TABLE_VARIABLES]);
    for (size_t i = 0; l.pieces != NULL && i < scan.num_pieces; i++) {
        free(l.pieces[i].ids);
        free(l.pieces[i].lists.data);
    }
    pl_arrays_free(&l.arrays);
    pl_scan_close(&scan);
}
