/* Checks of the totals of tiles, categories, steps and vertices; runs the checks of other files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/checks.h"

/* ---- The compiler's tables ---- */

enum { NUM_KINDS = 3 }; /* of memory: all tables have their columns in this order */
static const char *const kind_names[NUM_KINDS] = {"non_interleaved", "interleaved", "overflowed"};

enum { TILE, TOTAL, WITH_GAPS, ALWAYS, NOT_ALWAYS, FIRST_KIND, NUM_TILE_COLUMNS = 8 };
enum { NUM_STATE_PARTS = 5, CODE = NUM_STATE_PARTS, NUM_VERTEX_PARTS };
static const char *const part_names[NUM_VERTEX_PARTS] = {"vertex_data_bytes", "copy_ptr_bytes",
                                                         "edge_ptr_bytes",    "descriptor_bytes",
                                                         "padding_bytes",     "code_bytes"};
enum { VERTEX_DATA, COPY_POINTERS, EDGE_POINTERS, DESCRIPTORS };

typedef struct checker {
    pl_reading *reading;
    pl_database *database;
    const popliner_profile *profile;
    pl_tile_sums sums;
    pl_tally tallies[PL_NUM_RELATIONS];

    const uint64_t *by_tile[NUM_TILE_COLUMNS]; /* [num_tiles]; 0 for NULL. TILE has no array */
    const bool *is_told;                       /* [NUM_TILE_COLUMNS]: some row has a number */

    /* bytes by tile, of vertex types and of compute sets */
    uint64_t *of_types[NUM_VERTEX_PARTS];
    uint64_t *of_sets[NUM_STATE_PARTS];
    bool types_tell[NUM_VERTEX_PARTS];
    bool sets_tell[NUM_STATE_PARTS];

    uint64_t *instance_bytes;  /* by tile: vertices times the size of their type */
    uint64_t *entry_instances; /* by entry of compute_set_vertex_type: sum over all tiles */
    uint64_t *type_instances;  /* by vertex type, for one compute set: recorded minus found */

    int64_t *step_change[2]; /* for all IPUs at once, and the sum over IPUs */
    bool step_is_told[2];
    pl_arrays arrays; /* own them all */
} checker;

static bool allocate(checker *c) {
    const popliner_profile *p = c->profile;
    const size_t num_tiles = p->target.num_tiles;
    const uint64_t *const by_tile[NUM_TILE_COLUMNS] = {
        [TOTAL] = p->tile_total_bytes,
        [WITH_GAPS] = p->tile_total_including_gaps_bytes,
        [ALWAYS] = p->tile_always_live_bytes,
        [NOT_ALWAYS] = p->tile_not_always_live_peak_bytes,
        [FIRST_KIND] = p->tile_non_interleaved_bytes,
        [FIRST_KIND + 1] = p->tile_interleaved_bytes,
        [FIRST_KIND + 2] = p->tile_overflowed_bytes,
    };
    memcpy(c->by_tile, by_tile, sizeof by_tile);
    c->is_told = c->reading->tile_is_told;
    for (int i = 0; i < NUM_VERTEX_PARTS; i++)
        c->of_types[i] = pl_arrays_new(&c->arrays, num_tiles, sizeof(uint64_t));
    for (int i = 0; i < NUM_STATE_PARTS; i++)
        c->of_sets[i] = pl_arrays_new(&c->arrays, num_tiles, sizeof(uint64_t));
    for (int i = 0; i < 2; i++)
        c->step_change[i] = pl_arrays_new(&c->arrays, p->num_steps, sizeof(int64_t));
    c->instance_bytes = pl_arrays_new(&c->arrays, num_tiles, sizeof(uint64_t));
    c->entry_instances = pl_arrays_new(&c->arrays, p->num_compute_set_vertices, sizeof(uint64_t));
    c->type_instances = pl_arrays_new(&c->arrays, p->num_vertex_types, sizeof(uint64_t));
    return !c->arrays.failed;
}

/* Returns memory for numbers, or NULL after a failure. */
static void *new_numbers(const checker *c, size_t count) {
    void *numbers = pl_new_array(count, sizeof(uint64_t));
    pl_outcome_has(&c->database->outcome, numbers != NULL, "the checks of the profile");
    return numbers;
}

static void free_checker(checker *c) {
    pl_arrays_free(&c->arrays);
    pl_tile_sums_free(&c->sums);
}

/* Adds one number per tile from a list; false, with some of them added, if the blob holds something
 * else. */
static bool add_list(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile) {
    const uint8_t *end = blob + size;
    uint64_t value;
    if (size == num_tiles && blob[0] == 0x80 && memcmp(blob, blob + 1, size - 1) == 0)
        return true; /* all 0, as most lists are */
    for (size_t tile = 0; tile < num_tiles; tile++) {
        if (!pl_varint_read(&blob, end, &value))
            return false;
        by_tile[tile] += value;
    }
    return blob == end;
}

/* Adds the blobs of a row, one part of memory each, by tile; tells[] notes which parts are
 * recorded. */
static void take_parts(checker *c, pl_rows *rows, int num_parts,
                       bool (*add)(const uint8_t *, size_t, size_t, uint64_t *), bool *tells,
                       uint64_t *const *by_tile) {
    for (int i = 0; i < num_parts; i++) {
        size_t size;
        const uint8_t *blob = pl_rows_blob(rows, i, &size);
        tells[i] = tells[i] || !pl_rows_is_null(rows, i);
        if (size > 0 && !add(blob, size, c->profile->target.num_tiles, by_tile[i]))
            pl_tally_note_damage(&c->tallies[POPLINER_RELATION_VERTEX_MEMORY], rows, i);
    }
}

static void read_vertex_memory(checker *c) {
    pl_table_rows types = pl_table_open(c->reading, PL_TABLE_CHECKED_VERTEX_TYPES);
    while (pl_table_next(&types))
        take_parts(c, &types.rows, NUM_VERTEX_PARTS, add_list, c->types_tell, c->of_types);
    pl_table_rows sets = pl_table_open(c->reading, PL_TABLE_CHECKED_STATE);
    while (pl_table_next(&sets))
        take_parts(c, &sets.rows, NUM_STATE_PARTS, pl_tally_add_runs, c->sets_tell, c->of_sets);
}

/* Adds up the vertices, which were read before. */
static void count_instances(checker *c) {
    const popliner_profile *p = c->profile;
    for (size_t i = 0; i < p->num_compute_set_vertices; i++) {
        pl_series instances = p->compute_set_vertex_instances[i];
        c->entry_instances[i] = pl_series_sum(p, instances);
        pl_series_add(p, instances, p->vertex_type_size_bytes[p->compute_set_vertex_type[i]],
                      c->instance_bytes);
    }
}

static void read_steps(checker *c) {
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_STEP_MEMORY);
    while (pl_table_next(&t)) {
        const pl_rows *rows = &t.rows;
        int is_of_ipu = !pl_rows_is_null(rows, 2);
        int64_t step = pl_rows_integer(rows, 0);
        int64_t change = pl_rows_integer(rows, 1);
        c->step_is_told[is_of_ipu] = true;
        if (step >= 0 && (uint64_t)step < c->profile->num_steps) {
            c->step_change[is_of_ipu][step] =
                (int64_t)((uint64_t)c->step_change[is_of_ipu][step] + (uint64_t)change);
        } else {
            pl_tally *tally = &c->tallies[POPLINER_RELATION_STEPS];
            pl_tally_begin(tally, "row", rows->row);
            pl_tally_note(tally, change < 0 ? 0 - (uint64_t)change : (uint64_t)change,
                          "no such step", "");
        }
    }
}

/* ---- Relations 1 to 4 ---- */

static void check_tiles(checker *c, bool has_offsets) {
    const pl_tile_sums *s = &c->sums;
    for (size_t tile = 0; tile < c->profile->target.num_tiles; tile++) {
        if (c->is_told[ALWAYS]) {
            pl_tally *t = &c->tallies[POPLINER_RELATION_ALWAYS_LIVE];
            pl_tally_begin(t, "tile", tile);
            pl_tally_compare(t, c->by_tile[ALWAYS][tile], s->always_live_bytes[tile], "", "");
        }
        if (c->is_told[NOT_ALWAYS]) {
            pl_tally *t = &c->tallies[POPLINER_RELATION_NOT_ALWAYS_LIVE];
            pl_tally_begin(t, "tile", tile);
            pl_tally_compare(t, c->by_tile[NOT_ALWAYS][tile], s->not_always_live_bytes[tile], "",
                             "");
        }
        if (!c->is_told[TOTAL])
            continue;
        pl_tally *t = &c->tallies[POPLINER_RELATION_LAYOUT];
        pl_tally_begin(t, "tile", tile);
        if (has_offsets)
            pl_tally_compare(t, c->by_tile[TOTAL][tile], s->covered_bytes[tile], "total", "");
        if (has_offsets && c->is_told[WITH_GAPS])
            pl_tally_compare(t, c->by_tile[WITH_GAPS][tile], s->end[tile], "total_including_gaps",
                             "");
        /* how the kinds of memory add up if there are several is unknown */
        if (c->is_told[FIRST_KIND] && c->by_tile[FIRST_KIND + 1][tile] == 0 &&
            c->by_tile[FIRST_KIND + 2][tile] == 0)
            pl_tally_compare(t, c->by_tile[FIRST_KIND][tile], c->by_tile[TOTAL][tile],
                             kind_names[0], "");
    }
}

/* Compares the account of a category on a tile with its variables there. */
static void check_category(checker *c, size_t category, size_t tile, bool has_offsets,
                           uint64_t alone_bytes, uint64_t shared_bytes) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_CATEGORIES];
    const char *name = pl_profile_string(p, p->category_name[category]);
    size_t item = category * p->target.num_tiles + tile;
    if (has_offsets) {
        pl_tally_compare(t, alone_bytes, c->sums.alone_bytes[item], name, "non_overlapped");
        pl_tally_compare(t, shared_bytes, c->sums.shared_bytes[item], name, "overlapped");
    } else {
        pl_tally_compare(t, alone_bytes + shared_bytes,
                         c->sums.alone_bytes[item] + c->sums.shared_bytes[item], name, "");
    }
}

static void check_categories(checker *c, bool has_offsets) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_CATEGORIES];
    size_t num_tiles = p->target.num_tiles;
    size_t num_items = p->num_categories * num_tiles;
    uint64_t *alone = new_numbers(c, 2 * num_items + NUM_KINDS * num_tiles);
    if (alone == NULL)
        return;
    uint64_t *shared = alone + num_items;
    uint64_t *kinds = shared + num_items;
    for (size_t category = 0; category < p->num_categories; category++) {
        for (size_t kind = 0; kind < NUM_KINDS; kind++) {
            const pl_series *parts =
                p->category_memory + category * PL_NUM_CATEGORY_PARTS + 2 * kind;
            pl_series_add(p, parts[0], 1, alone + category * num_tiles);
            pl_series_add(p, parts[1], 1, shared + category * num_tiles);
            pl_series_add(p, parts[0], 1, kinds + kind * num_tiles);
            pl_series_add(p, parts[1], 1, kinds + kind * num_tiles);
        }
    }
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_tally_begin(t, "tile", tile);
        for (size_t category = 0; category < p->num_categories; category++)
            check_category(c, category, tile, has_offsets, alone[category * num_tiles + tile],
                           shared[category * num_tiles + tile]);
        for (size_t kind = 0; kind < NUM_KINDS; kind++) {
            uint64_t told = c->by_tile[FIRST_KIND + kind][tile];
            uint64_t found = kinds[kind * num_tiles + tile];
            if (c->is_told[FIRST_KIND + kind] && (told == 0) != (found == 0))
                pl_tally_compare(t, told, found, kind_names[kind], "");
        }
    }
    free(alone);
}

/* ---- Relation 5 ---- */

static void check_steps(checker *c) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_STEPS];
    if (!c->step_is_told[0] && !c->step_is_told[1])
        return;
    uint64_t *change = new_numbers(c, p->num_steps + 1); /* modulo 2^64 */
    if (change == NULL)
        return;
    for (size_t i = 0; i < p->num_classes; i++) {
        for (uint32_t k = p->class_ranges_start[i];
             !p->class_always_live[i] && k < p->class_ranges_start[i + 1]; k++) {
            change[p->range_first_step[k]] += c->sums.class_bytes[i];
            change[p->range_end_step[k]] -= c->sums.class_bytes[i];
        }
    }
    uint64_t found = 0;
    uint64_t told[2] = {0};
    for (size_t step = 0; step < p->num_steps; step++) {
        pl_tally_begin(t, "step", step);
        found += change[step];
        for (int i = 0; i < 2; i++) {
            told[i] += (uint64_t)c->step_change[i][step];
            if (!c->step_is_told[i] || told[i] == found)
                continue;
            uint64_t difference = told[i] - found; /* may be negative */
            pl_tally_note(t, difference > INT64_MAX ? 0 - difference : difference,
                          i == 0 ? "" : "sum over IPUs", "");
        }
    }
    free(change);
}

/* ---- Relation 6 ---- */

/* Notes the difference of a type, once. */
static void settle_type(checker *c, uint32_t type) {
    uint64_t difference = c->type_instances[type];
    c->type_instances[type] = 0;
    if (difference != 0)
        pl_tally_note(&c->tallies[POPLINER_RELATION_VERTEX_COUNTS],
                      difference > INT64_MAX ? 0 - difference : difference, "", "");
}

/* Compares the counts of a compute set with its vertices. */
static void check_counts_of(checker *c, pl_rows *rows) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_VERTEX_COUNTS];
    uint64_t id = pl_rows_number(rows, 0, INT64_MAX);
    uint32_t set = pl_id_map_find(&c->reading->ids[PL_TABLE_COMPUTE_SETS], id);
    if (set == PL_NONE || pl_rows_is_null(rows, 1) || pl_rows_is_null(rows, 2))
        return;
    uint32_t first = p->compute_set_vertices_start[set];
    uint32_t end = p->compute_set_vertices_start[set + 1];
    size_t sizes[2];
    const uint8_t *types = pl_rows_blob(rows, 1, &sizes[0]);
    const uint8_t *types_end = types + sizes[0];
    const uint8_t *counts = pl_rows_blob(rows, 2, &sizes[1]);
    const uint8_t *counts_end = counts + sizes[1];
    pl_tally_begin(t, "compute set", id);
    for (uint32_t i = first; i < end; i++) /* modulo 2^64, like the recorded count */
        c->type_instances[p->compute_set_vertex_type[i]] -= c->entry_instances[i];
    uint64_t type_id;
    uint64_t count;
    while (pl_varint_read(&types, types_end, &type_id) &&
           pl_varint_read(&counts, counts_end, &count)) {
        uint32_t type = pl_id_map_find(&c->reading->ids[PL_TABLE_VERTEX_TYPES], type_id);
        if (type == PL_NONE)
            pl_tally_note(t, count, "", "");
        else
            c->type_instances[type] += count;
    }
    if (types != types_end || counts != counts_end)
        pl_tally_note(t, 0, "vertex_counts", "and vertex_types are of different lengths");
    for (uint32_t i = first; i < end; i++)
        settle_type(c, p->compute_set_vertex_type[i]);
    types = types_end - sizes[0];
    while (pl_varint_read(&types, types_end, &type_id)) {
        uint32_t type = pl_id_map_find(&c->reading->ids[PL_TABLE_VERTEX_TYPES], type_id);
        if (type != PL_NONE)
            settle_type(c, type);
    }
}

static void check_counts(checker *c) {
    if (c->profile->num_compute_set_vertices == 0)
        return;
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_CHECKED_COUNTS);
    while (pl_table_next(&t))
        check_counts_of(c, &t.rows);
}

static void check_totals(checker *c) {
    enum { VERTICES, EDGES, VARIABLES, SETS, NUM_TOTALS };
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_TOTALS];
    uint64_t found[NUM_TOTALS] = {
        [VARIABLES] = p->num_variables,
        [SETS] = p->num_compute_sets,
    };
    const bool has[NUM_TOTALS] = {
        [VERTICES] = pl_database_has_table(c->database, "vertex_instances"),
        [EDGES] = pl_database_has_column(c->database, "compute_sets", "edge_count"),
        [VARIABLES] = true,
        [SETS] = true,
    };
    for (size_t i = 0; i < p->num_compute_set_vertices; i++)
        found[VERTICES] += c->entry_instances[i];
    for (size_t i = 0; i < p->num_compute_sets; i++)
        found[EDGES] += p->compute_set_num_edges[i];
    for (int i = 0; i < NUM_TOTALS; i++) {
        const uint64_t told = c->reading->graph[i];
        if (!has[i] || told == UINT64_MAX)
            continue;
        pl_tally_begin(t, NULL, 0);
        pl_tally_compare(t, told, found[i], pl_tables[PL_TABLE_GRAPH].columns[i].name, "");
    }
}

/* ---- Relations 7, 8, 11 and 12 ---- */

static void check_vertex_memory(checker *c) {
    pl_tally *t = &c->tallies[POPLINER_RELATION_VERTEX_MEMORY];
    bool any = false;
    for (int i = 0; i < NUM_STATE_PARTS; i++)
        any = any || (c->types_tell[i] && c->sets_tell[i]);
    for (size_t tile = 0; any && tile < c->profile->target.num_tiles; tile++) {
        pl_tally_begin(t, "tile", tile);
        for (int i = 0; i < NUM_STATE_PARTS; i++) {
            if (c->types_tell[i] && c->sets_tell[i])
                pl_tally_compare(t, c->of_types[i][tile], c->of_sets[i][tile], part_names[i], "");
        }
    }
}

static void check_vertex_state(checker *c) {
    pl_tally *t = &c->tallies[POPLINER_RELATION_VERTEX_STATE];
    bool tells_state =
        c->types_tell[VERTEX_DATA] && c->types_tell[COPY_POINTERS] && c->types_tell[EDGE_POINTERS];
    bool has_instances = c->profile->num_compute_set_vertices > 0;
    for (size_t tile = 0; tile < c->profile->target.num_tiles; tile++) {
        uint64_t instances =
            pl_tile_sums_of_category(c->profile, &c->sums, PL_CATEGORY_VERTEX_INSTANCE_STATE, tile);
        uint64_t fields =
            pl_tile_sums_of_category(c->profile, &c->sums, PL_CATEGORY_VERTEX_FIELD_DATA, tile);
        if (!tells_state && !c->types_tell[DESCRIPTORS] && !has_instances)
            return;
        pl_tally_begin(t, "tile", tile);
        if (tells_state)
            pl_tally_compare(t,
                             c->of_types[VERTEX_DATA][tile] + c->of_types[COPY_POINTERS][tile] +
                                 c->of_types[EDGE_POINTERS][tile],
                             instances + fields, "data and pointers", "");
        if (c->types_tell[DESCRIPTORS])
            pl_tally_compare(
                t, c->of_types[DESCRIPTORS][tile],
                pl_tile_sums_of_category(c->profile, &c->sums, PL_CATEGORY_COPY_DESCRIPTOR, tile),
                part_names[DESCRIPTORS], "");
        if (has_instances)
            pl_tally_compare(t, c->instance_bytes[tile], instances, "sizes of vertices", "");
    }
}

/* Checks that the code that belongs to no vertex type has the same size on every tile. */
static void check_vertex_code(checker *c) {
    pl_tally *t = &c->tallies[POPLINER_RELATION_VERTEX_CODE];
    size_t num_tiles = c->profile->target.num_tiles;
    int64_t *rest = c->types_tell[CODE] ? new_numbers(c, 2 * num_tiles) : NULL;
    if (rest == NULL)
        return;
    int64_t *sorted = rest + num_tiles;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sorted[tile] = rest[tile] =
            (int64_t)(pl_tile_sums_of_category(c->profile, &c->sums, PL_CATEGORY_VERTEX_CODE,
                                               tile) -
                      c->of_types[CODE][tile]);
    int64_t usual = pl_most_frequent(sorted, num_tiles);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_tally_begin(t, "tile", tile);
        if (rest[tile] < 0)
            pl_tally_note(t, 0 - (uint64_t)rest[tile], "more than vertexCode", "");
        else if (rest[tile] != usual)
            pl_tally_compare(t, (uint64_t)rest[tile], usual < 0 ? 0 : (uint64_t)usual, "", "");
    }
    free(rest);
}

/* ---- All checks ---- */

/* Reads the data that the relations need in addition to the profile. */
static void read_tables(checker *c) {
    read_vertex_memory(c);
    read_steps(c);
    count_instances(c);
}

static void check_all(checker *c) {
    const popliner_profile *p = c->profile;
    const bool has_offsets = pl_database_has_column(c->database, "vars_info", "offset");
    const bool has_categories = pl_database_has_column(c->database, "vars_info", "category") &&
                                p->category[0] != PL_CATEGORY_NAMELESS;
    check_tiles(c, has_offsets);
    if (has_categories && p->num_category_parts > 0)
        check_categories(c, has_offsets);
    check_steps(c);
    check_counts(c);
    check_totals(c);
    check_vertex_memory(c);
    if (has_categories) {
        check_vertex_state(c);
        check_vertex_code(c);
    }
    pl_program_checks_find(c->reading, has_categories ? &c->sums : NULL, c->tallies);
}

/* Stores the results of the relations in the profile; false if memory is short. */
static bool keep(const checker *c, popliner_profile *p) {
    p->checks = pl_new_array(PL_NUM_RELATIONS, sizeof *p->checks);
    p->tile_peak = pl_new_array(p->target.num_tiles, sizeof *p->tile_peak);
    bool memory = p->checks != NULL && p->tile_peak != NULL;
    p->num_checks = PL_NUM_RELATIONS;
    for (size_t tile = 0; memory && tile < p->target.num_tiles; tile++)
        p->tile_peak[tile] =
            (popliner_peak){c->sums.always_live_bytes[tile], c->sums.not_always_live_bytes[tile],
                            c->sums.peak_step[tile]};
    for (size_t i = 0; memory && i < PL_NUM_RELATIONS; i++)
        memory = pl_tally_keep(&c->tallies[i], p, (popliner_relation)i);
    return memory;
}

void pl_profile_find_checks(pl_reading *reading) {
    static const char what[] = "the checks of the profile";
    pl_database *database = &reading->database;
    popliner_profile *profile = reading->profile;
    checker c = {.reading = reading, .database = database, .profile = profile};
    /* two pairs of tables by category and tile */
    pl_database_take_bytes(database, "the bytes of each category on each tile",
                           (uint64_t)profile->num_categories * profile->target.num_tiles,
                           4 * sizeof(uint64_t));
    if (pl_database_is_well(database) &&
        pl_outcome_has(
            &database->outcome,
            allocate(&c) && pl_tile_sums_find(profile, database->num_helpers + 1, &c.sums), what)) {
        read_tables(&c);
        check_all(&c);
        if (pl_database_is_well(database))
            pl_outcome_has(&database->outcome, keep(&c, profile), what);
    }
    free_checker(&c);
}
