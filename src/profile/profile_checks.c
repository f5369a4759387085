/* The relations between numbers by tile, by step, and totals, as rows; and the checks of vertices.
 * Runs the checks of other files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/checks.h"

/* Columns of memory_by_vertex_type; memory_by_compute_set has all but the last. */
enum { NUM_STATE_PARTS = 5, NUM_VERTEX_PARTS };

enum { NUM_KINDS = 3, NUM_TOTALS = 4 }; /* of memory; of PL_TABLE_GRAPH */

/* Numbers by tile, up to NUM_TILE_SERIES; by step; and single ones. The compiler reports those that
 * the first names of a group say, the others are sums of what the profile lists. */
typedef enum series {
    TOTAL, /* columns of PL_TABLE_TILES, in their order */
    WITH_GAPS,
    ALWAYS,
    NOT_ALWAYS,
    KINDS, /* of memory, NUM_KINDS of them */
    COVERED = KINDS + NUM_KINDS,
    END,
    SUM_ALWAYS,
    SUM_NOT_ALWAYS,
    ONLY_KIND, /* the total where a tile has one kind of memory, else that kind */
    TYPES,     /* the parts of vertex memory, over vertex types */
    CODE = TYPES + NUM_STATE_PARTS,
    SETS,                                /* and over compute sets */
    TYPE_STATE = SETS + NUM_STATE_PARTS, /* data and pointers */
    SUM_STATE,
    SUM_INSTANCES,
    VERTEX_SIZES, /* vertices times the size of their type */
    SUM_DESCRIPTORS,
    SUM_VERTEX_CODE,
    STEP_ALL,
    STEP_IPUS, /* the sum over IPUs */
    SUM_STEP,
    GRAPH,
    SUM_GRAPH = GRAPH + NUM_TOTALS,
    NUM_SERIES = SUM_GRAPH + NUM_TOTALS
} series;

static const struct {
    popliner_relation relation;
    pl_comparison how;
    series recorded;
    series found;
    const char *what;
} relations[] = {
    {POPLINER_RELATION_ALWAYS_LIVE, PL_EQUAL, ALWAYS, SUM_ALWAYS, ""},
    {POPLINER_RELATION_NOT_ALWAYS_LIVE, PL_EQUAL, NOT_ALWAYS, SUM_NOT_ALWAYS, ""},
    {POPLINER_RELATION_LAYOUT, PL_EQUAL, TOTAL, COVERED, "total"},
    {POPLINER_RELATION_LAYOUT, PL_EQUAL, WITH_GAPS, END, "total_including_gaps"},
    {POPLINER_RELATION_LAYOUT, PL_EQUAL, KINDS, ONLY_KIND, "non_interleaved"},
    {POPLINER_RELATION_STEPS, PL_EQUAL, STEP_ALL, SUM_STEP, ""},
    {POPLINER_RELATION_STEPS, PL_EQUAL, STEP_IPUS, SUM_STEP, "sum over IPUs"},
    {POPLINER_RELATION_TOTALS, PL_EQUAL, GRAPH, SUM_GRAPH, "num_vertices"},
    {POPLINER_RELATION_TOTALS, PL_EQUAL, GRAPH + 1, SUM_GRAPH + 1, "num_edges"},
    {POPLINER_RELATION_TOTALS, PL_EQUAL, GRAPH + 2, SUM_GRAPH + 2, "num_vars"},
    {POPLINER_RELATION_TOTALS, PL_EQUAL, GRAPH + 3, SUM_GRAPH + 3, "num_compute_sets"},
    {POPLINER_RELATION_VERTEX_MEMORY, PL_EQUAL, TYPES, SETS, "vertex_data_bytes"},
    {POPLINER_RELATION_VERTEX_MEMORY, PL_EQUAL, TYPES + 1, SETS + 1, "copy_ptr_bytes"},
    {POPLINER_RELATION_VERTEX_MEMORY, PL_EQUAL, TYPES + 2, SETS + 2, "edge_ptr_bytes"},
    {POPLINER_RELATION_VERTEX_MEMORY, PL_EQUAL, TYPES + 3, SETS + 3, "descriptor_bytes"},
    {POPLINER_RELATION_VERTEX_MEMORY, PL_EQUAL, TYPES + 4, SETS + 4, "padding_bytes"},
    {POPLINER_RELATION_VERTEX_STATE, PL_EQUAL, TYPE_STATE, SUM_STATE, "data and pointers"},
    {POPLINER_RELATION_VERTEX_STATE, PL_EQUAL, TYPES + 3, SUM_DESCRIPTORS, "descriptor_bytes"},
    {POPLINER_RELATION_VERTEX_STATE, PL_EQUAL, VERTEX_SIZES, SUM_INSTANCES, "sizes of vertices"},
};

enum { NUM_ROWS = sizeof relations / sizeof *relations };

typedef struct checker {
    pl_reading *reading;
    pl_database *database;
    const popliner_profile *profile;
    pl_tile_sums sums;
    pl_tally tallies[PL_NUM_RELATIONS];
    uint64_t *series[NUM_SERIES]; /* NULL: unknown */
    uint64_t *entry_instances;    /* by entry of compute_set_vertex_type: sum over all tiles */
    uint64_t *type_instances;     /* by vertex type, for one compute set: recorded minus found */
} checker;

static uint64_t *new_numbers(const checker *c, size_t count) {
    return pl_reading_new(c->reading, count, sizeof(uint64_t));
}

/* ---- What the compiler reports ---- */

static void take_tiles(checker *c) {
    const popliner_profile *p = c->profile;
    uint64_t *const of_tiles[] = {
        p->tile_total_bytes,           p->tile_total_including_gaps_bytes,
        p->tile_always_live_bytes,     p->tile_not_always_live_peak_bytes,
        p->tile_non_interleaved_bytes, p->tile_interleaved_bytes,
        p->tile_overflowed_bytes,
    };
    uint64_t *const *kinds = &of_tiles[KINDS];
    for (size_t i = 0; i < sizeof of_tiles / sizeof *of_tiles; i++)
        if (c->reading->tile_is_recorded[i + 1])
            c->series[TOTAL + i] = of_tiles[i];
    uint64_t *only = new_numbers(c, p->target.num_tiles);
    /* how the kinds of memory add up if there are several is unknown */
    for (size_t tile = 0; only != NULL && tile < p->target.num_tiles; tile++)
        only[tile] =
            kinds[1][tile] == 0 && kinds[2][tile] == 0 ? of_tiles[TOTAL][tile] : kinds[0][tile];
    c->series[ONLY_KIND] = c->series[TOTAL] == NULL ? NULL : only;
}

/* Adds the parts of vertex memory in all rows of a table, by tile. */
static void add_parts(checker *c, pl_table_number number, uint64_t **parts) {
    pl_tally *tally = &c->tallies[POPLINER_RELATION_VERTEX_MEMORY];
    pl_table_rows t = pl_table_open(c->reading, number);
    while (pl_table_next(&t)) {
        for (size_t i = 0; i < t.num_columns; i++) {
            if (parts[i] == NULL && !pl_rows_is_null(&t.rows, (int)i))
                parts[i] = new_numbers(c, c->profile->target.num_tiles);
            if (parts[i] != NULL)
                pl_tally_add_column(tally, &t, (int)i, parts[i]);
        }
    }
}

static void read_vertex_memory(checker *c) {
    add_parts(c, PL_TABLE_CHECKED_VERTEX_TYPES, &c->series[TYPES]);
    add_parts(c, PL_TABLE_CHECKED_STATE, &c->series[SETS]);
    uint64_t *const *parts = &c->series[TYPES];
    if (parts[0] == NULL || parts[1] == NULL || parts[2] == NULL)
        return;
    uint64_t *state = c->series[TYPE_STATE] = new_numbers(c, c->profile->target.num_tiles);
    for (size_t tile = 0; state != NULL && tile < c->profile->target.num_tiles; tile++)
        state[tile] = parts[0][tile] + parts[1][tile] + parts[2][tile];
}

/* Reads the changes by step, and adds them up. */
static void read_steps(checker *c) {
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_STEP_MEMORY);
    const size_t num_steps = c->profile->num_steps;
    while (pl_table_next(&t)) {
        const pl_rows *rows = &t.rows;
        const int64_t step = pl_rows_integer(rows, 0);
        const uint64_t change = (uint64_t)pl_rows_integer(rows, 1); /* modulo 2^64 */
        uint64_t **by_step = &c->series[pl_rows_is_null(rows, 2) ? STEP_ALL : STEP_IPUS];
        if (*by_step == NULL && (*by_step = new_numbers(c, num_steps)) == NULL)
            continue;
        if (step >= 0 && (uint64_t)step < num_steps) {
            (*by_step)[step] += change;
            continue;
        }
        pl_tally *tally = &c->tallies[POPLINER_RELATION_STEPS];
        pl_tally_begin(tally, "row", rows->row);
        pl_tally_compare(tally, change, 0, "no such step", "");
    }
    for (int i = STEP_ALL; i <= STEP_IPUS; i++)
        for (size_t step = 1; c->series[i] != NULL && step < num_steps; step++)
            c->series[i][step] += c->series[i][step - 1];
}

/* ---- Sums of what the profile lists ---- */

static void count_instances(checker *c) {
    const popliner_profile *p = c->profile;
    c->entry_instances = new_numbers(c, p->num_compute_set_vertices);
    c->type_instances = new_numbers(c, p->num_vertex_types);
    uint64_t *sizes = new_numbers(c, p->target.num_tiles);
    for (size_t i = 0; pl_database_is_well(c->database) && i < p->num_compute_set_vertices; i++) {
        pl_series instances = p->compute_set_vertex_instances[i];
        c->entry_instances[i] = pl_series_sum(p, instances);
        pl_series_add(p, instances, p->vertex_type_size_bytes[p->compute_set_vertex_type[i]],
                      sizes);
    }
    c->series[VERTEX_SIZES] = p->num_compute_set_vertices == 0 ? NULL : sizes;
}

static void sum_steps(checker *c) {
    const popliner_profile *p = c->profile;
    uint64_t *sum = new_numbers(c, p->num_steps + 1); /* modulo 2^64 */
    if (sum == NULL)
        return;
    for (size_t i = 0; i < p->num_classes; i++) {
        for (uint32_t k = p->class_ranges_start[i];
             !p->class_always_live[i] && k < p->class_ranges_start[i + 1]; k++) {
            sum[p->range_first_step[k]] += c->sums.class_bytes[i];
            sum[p->range_end_step[k]] -= c->sums.class_bytes[i];
        }
    }
    for (size_t step = 1; step < p->num_steps; step++)
        sum[step] += sum[step - 1];
    c->series[SUM_STEP] = sum;
}

static void sum_totals(checker *c) {
    enum { VERTICES, EDGES, VARIABLES, COMPUTE_SETS };
    const popliner_profile *p = c->profile;
    uint64_t *found = new_numbers(c, NUM_TOTALS);
    if (!pl_database_is_well(c->database))
        return;
    const bool has[NUM_TOTALS] = {
        [VERTICES] = pl_database_has_table(c->database, "vertex_instances"),
        [EDGES] = pl_database_has_column(c->database, "compute_sets", "edge_count"),
        [VARIABLES] = true,
        [COMPUTE_SETS] = true,
    };
    for (size_t i = 0; i < p->num_compute_set_vertices; i++)
        found[VERTICES] += c->entry_instances[i];
    for (size_t i = 0; i < p->num_compute_sets; i++)
        found[EDGES] += p->compute_set_num_edges[i];
    found[VARIABLES] = p->num_variables;
    found[COMPUTE_SETS] = p->num_compute_sets;
    for (size_t i = 0; i < NUM_TOTALS; i++) {
        c->series[GRAPH + i] = c->reading->graph[i] == UINT64_MAX ? NULL : &c->reading->graph[i];
        c->series[SUM_GRAPH + i] = has[i] ? &found[i] : NULL;
    }
}

static void sum_categories(checker *c) {
    static const struct {
        series sum;
        pl_category category;
    } sums[] = {
        {SUM_STATE, PL_CATEGORY_VERTEX_INSTANCE_STATE},
        {SUM_STATE, PL_CATEGORY_VERTEX_FIELD_DATA},
        {SUM_INSTANCES, PL_CATEGORY_VERTEX_INSTANCE_STATE},
        {SUM_DESCRIPTORS, PL_CATEGORY_COPY_DESCRIPTOR},
        {SUM_VERTEX_CODE, PL_CATEGORY_VERTEX_CODE},
    };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        uint64_t **sum = &c->series[sums[i].sum];
        if (*sum == NULL && (*sum = new_numbers(c, c->profile->target.num_tiles)) == NULL)
            return;
        pl_tile_sums_add_category(c->profile, &c->sums, sums[i].category, *sum);
    }
}

/* ---- Relation 6 ---- */

/* Notes the difference of a type, once. */
static void settle_type(checker *c, uint32_t type) {
    pl_tally_compare(&c->tallies[POPLINER_RELATION_VERTEX_COUNTS], c->type_instances[type], 0, "",
                     "");
    c->type_instances[type] = 0;
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

/* ---- Relations ---- */

/* Checks relation 4. */
static void check_categories(checker *c, bool has_offsets) {
    static const char *const names[NUM_KINDS] = {"non_interleaved", "interleaved", "overflowed"};
    const popliner_profile *p = c->profile;
    const size_t num_tiles = p->target.num_tiles;
    const size_t num_rows = 2 * p->num_categories + NUM_KINDS;
    pl_compared *compared = pl_reading_new(c->reading, num_rows, sizeof *compared);
    uint64_t *recorded = new_numbers(c, num_rows * num_tiles);
    if (compared == NULL || recorded == NULL)
        return;
    /* for each category the bytes alone and shared, or their sums; then the kinds of memory */
    uint64_t *const kinds = recorded + 2 * p->num_categories * num_tiles;
    for (size_t i = 0; i < p->num_categories; i++) {
        const char *name = pl_profile_string(p, p->category_name[i]);
        uint64_t *alone = recorded + 2 * i * num_tiles;
        uint64_t *shared = has_offsets ? alone + num_tiles : alone;
        uint64_t *alone_found = c->sums.alone_bytes + i * num_tiles;
        const uint64_t *shared_found = c->sums.shared_bytes + i * num_tiles;
        /* without offsets it is unknown what is shared */
        for (size_t tile = 0; !has_offsets && tile < num_tiles; tile++)
            alone_found[tile] += shared_found[tile];
        for (size_t kind = 0; kind < NUM_KINDS; kind++) {
            const pl_series *parts = p->category_memory + i * PL_NUM_CATEGORY_PARTS + 2 * kind;
            pl_series_add(p, parts[0], 1, alone);
            pl_series_add(p, parts[1], 1, shared);
            pl_series_add(p, parts[0], 1, kinds + kind * num_tiles);
            pl_series_add(p, parts[1], 1, kinds + kind * num_tiles);
        }
        compared[2 * i] =
            (pl_compared){PL_EQUAL, alone, alone_found, name, has_offsets ? "non_overlapped" : ""};
        if (has_offsets)
            compared[2 * i + 1] = (pl_compared){PL_EQUAL, shared, shared_found, name, "overlapped"};
    }
    for (size_t kind = 0; kind < NUM_KINDS; kind++)
        compared[2 * p->num_categories + kind] = (pl_compared){
            PL_BOTH_OR_NONE, c->series[KINDS + kind], kinds + kind * num_tiles, names[kind], ""};
    pl_tally_compare_all(&c->tallies[POPLINER_RELATION_CATEGORIES], "tile", num_tiles, compared,
                         num_rows);
}

static void check_rows(checker *c) {
    const popliner_profile *p = c->profile;
    for (size_t i = 0, end = 0; i < NUM_ROWS; i = end) {
        const popliner_relation relation = relations[i].relation;
        const bool are_totals = relation == POPLINER_RELATION_TOTALS; /* each is a place */
        pl_compared compared[NUM_ROWS];
        while (end < NUM_ROWS && relations[end].relation == relation && (end == i || !are_totals)) {
            compared[end - i] =
                (pl_compared){relations[end].how, c->series[relations[end].recorded],
                              c->series[relations[end].found], relations[end].what, ""};
            end++;
        }
        pl_tally_compare_all(&c->tallies[relation],
                             are_totals                            ? NULL
                             : relation == POPLINER_RELATION_STEPS ? "step"
                                                                   : "tile",
                             are_totals                            ? 1
                             : relation == POPLINER_RELATION_STEPS ? p->num_steps
                                                                   : p->target.num_tiles,
                             compared, end - i);
    }
}

static void check_all(checker *c) {
    const popliner_profile *p = c->profile;
    const bool has_offsets = pl_database_has_column(c->database, "vars_info", "offset");
    const bool has_categories = pl_database_has_column(c->database, "vars_info", "category") &&
                                p->category[0] != PL_CATEGORY_NAMELESS;
    take_tiles(c);
    read_vertex_memory(c);
    read_steps(c);
    count_instances(c);
    sum_steps(c);
    sum_totals(c);
    c->series[SUM_ALWAYS] = c->sums.always_live_bytes;
    c->series[SUM_NOT_ALWAYS] = c->sums.not_always_live_bytes;
    c->series[COVERED] = has_offsets ? c->sums.covered_bytes : NULL;
    c->series[END] = has_offsets ? c->sums.end : NULL;
    if (has_categories)
        sum_categories(c);
    if (!pl_database_is_well(c->database))
        return;
    pl_program_checks_find(c->reading, has_categories ? &c->sums : NULL, c->tallies);
    check_rows(c);
    if (c->series[CODE] != NULL && c->series[SUM_VERTEX_CODE] != NULL)
        pl_tally_compare_rest(&c->tallies[POPLINER_RELATION_VERTEX_CODE], c->reading,
                              c->series[CODE], c->series[SUM_VERTEX_CODE], NULL,
                              "more than vertexCode");
    if (has_categories && p->num_category_parts > 0)
        check_categories(c, has_offsets);
    check_counts(c);
}

/* Stores the bytes of each category. */
static void keep_categories(checker *c, popliner_profile *p) {
    const size_t num_tiles = p->target.num_tiles;
    uint64_t *bytes = new_numbers(c, num_tiles);
    for (size_t i = 0; bytes != NULL && i < p->num_categories; i++) {
        for (size_t tile = 0; tile < num_tiles; tile++)
            bytes[tile] = c->sums.alone_bytes[i * num_tiles + tile] +
                          c->sums.shared_bytes[i * num_tiles + tile];
        p->category_variables[i] = pl_profile_add_numbers(p, bytes, num_tiles);
        p->category_always_live[i] =
            pl_profile_add_numbers(p, c->sums.category_always_bytes + i * num_tiles, num_tiles);
    }
}

/* Stores the results of the relations in the profile. */
static void keep(const checker *c, popliner_profile *p) {
    p->num_checks = PL_NUM_RELATIONS;
    pl_profile_allocate(p, &p->num_checks);
    p->tile_peak = pl_arrays_new(&p->arrays, p->target.num_tiles, sizeof *p->tile_peak);
    for (size_t tile = 0; !p->arrays.failed && tile < p->target.num_tiles; tile++)
        p->tile_peak[tile] =
            (popliner_peak){c->sums.always_live_bytes[tile], c->sums.not_always_live_bytes[tile],
                            c->sums.peak_step[tile]};
    for (size_t i = 0; !p->arrays.failed && i < PL_NUM_RELATIONS; i++)
        pl_tally_keep(&c->tallies[i], p, (popliner_relation)i);
}

void pl_profile_find_checks(pl_reading *reading) {
    pl_database *database = &reading->database;
    popliner_profile *profile = reading->profile;
    checker c = {.reading = reading, .database = database, .profile = profile};
    /* five tables by category and tile, two of them of what the file has */
    pl_database_take_bytes(database, "the bytes of each category on each tile",
                           (uint64_t)profile->num_categories * profile->target.num_tiles,
                           5 * sizeof(uint64_t));
    if (pl_database_is_well(database))
        pl_tile_sums_find(profile, database->num_helpers + 1, &c.sums);
    if (pl_reading_has(reading, !c.sums.arrays.failed)) {
        keep_categories(&c, profile);
        check_all(&c);
        if (pl_database_is_well(database))
            keep(&c, profile);
    }
    pl_tile_sums_free(&c.sums);
}
