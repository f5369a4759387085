/* The relations between series by tile and by step, as rows; and those of vertices and totals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <stdlib.h>

#include "base/numbers.h"

#define OF(name, comparison) .relation = POPLINER_RELATION_##name, .how = PL_##comparison

/* Columns of memory_by_vertex_type; memory_by_compute_set has all but the last. */
enum { DATA, COPIES, EDGES, DESCRIPTORS, PADDING, CODE, NUM_PARTS };

/* Columns of PL_TABLE_TILES; the last are the kinds of memory. */
enum { TOTAL = 1, WITH_GAPS, ALWAYS, NOT_ALWAYS, KINDS, NUM_KINDS = 3 };

/* ---- Series by tile ---- */

/* Returns a column of what the compiler reports. */
static const uint64_t *told(const pl_checks *c, int column) {
    uint64_t most;
    const pl_field field = pl_profile_field(c->reading->profile,
                                            pl_tables[PL_TABLE_TILES].columns[column].into, &most);
    return c->reading->tile_is_recorded[column] ? pl_field_items(&field) : NULL;
}

/* Returns the bytes of the variables of a category. */
static uint64_t *variables_of(const pl_checks *c, pl_category category) {
    return c->has_categories ? c->variables + category * c->num_tiles : NULL;
}

/* Returns a new series; NULL if it is unknown. */
static uint64_t *known(const pl_checks *c, bool is_known) {
    return is_known ? pl_checks_new(c, c->num_tiles) : NULL;
}

/* Stores the bytes of each category, and adds them up for those that are known. */
static void sum_categories(pl_checks *c) {
    popliner_profile *p = c->reading->profile;
    for (size_t i = 0; i < p->num_categories; i++) {
        const uint64_t *bytes = c->sums.category_bytes + i * c->num_tiles;
        const uint64_t *always = c->sums.category_always_bytes + i * c->num_tiles;
        uint64_t *sum = c->variables + p->category[i] * c->num_tiles;
        p->category_variables[i] = pl_profile_add_numbers(p, bytes, c->num_tiles);
        p->category_always_live[i] = pl_profile_add_numbers(p, always, c->num_tiles);
        for (size_t tile = 0; tile < c->num_tiles; tile++)
            sum[tile] += bytes[tile];
    }
}

/* Adds up the parts of vertex memory in all rows of a table; one that no row has stays NULL. */
static void add_parts(pl_checks *c, pl_table_number number, uint64_t **parts) {
    pl_tally *tally = &c->tallies[POPLINER_RELATION_VERTEX_MEMORY];
    pl_table_rows t = pl_table_open(c->reading, number);
    while (pl_table_next(&t)) {
        for (size_t i = 0; i < t.num_columns; i++) {
            if (parts[i] == NULL && !pl_rows_is_null(&t.rows, (int)i))
                parts[i] = pl_checks_new(c, c->num_tiles);
            if (parts[i] != NULL)
                pl_tally_add_column(tally, &t, (int)i, parts[i]);
        }
    }
}

/* Returns the most frequent number, the smallest of several; 0 for none. Sorts them. */
static uint64_t most_frequent(uint64_t *numbers, size_t count) {
    size_t most = 0;
    uint64_t number = 0;
    qsort(numbers, count, sizeof *numbers, pl_compare_numbers);
    for (size_t i = 0, start = 0; i < count; i++) {
        start = numbers[i] != numbers[start] ? i : start;
        if (i - start + 1 > most) {
            most = i - start + 1;
            number = numbers[i];
        }
    }
    return number;
}

/* The sums without what is recorded, and what these rests should be: the most frequent multiple of
 * the weights, which are 1 if NULL. A tile that has less than is recorded counts as right, since
 * another row reports it. */
typedef struct rests {
    uint64_t *found;
    uint64_t *expected;
    size_t num_right;
} rests;

static rests find_rests(const pl_checks *c, const uint64_t *recorded, const uint64_t *sums,
                        const uint64_t *weights) {
    rests r = {pl_checks_new(c, c->num_tiles), pl_checks_new(c, c->num_tiles), 0};
    uint64_t *shares = r.found; /* until these are known */
    size_t count = 0;
    if (recorded == NULL || sums == NULL || !pl_database_is_well(c->database))
        return (rests){0};
    for (size_t tile = 0; tile < c->num_tiles; tile++) {
        const uint64_t weight = weights != NULL ? weights[tile] : 1;
        if (sums[tile] >= recorded[tile] && weight > 0)
            shares[count++] = (sums[tile] - recorded[tile]) / weight;
    }
    const uint64_t share = most_frequent(shares, count);
    for (size_t tile = 0; tile < c->num_tiles; tile++) {
        const uint64_t rest = sums[tile] - recorded[tile];
        r.expected[tile] = share * (weights != NULL ? weights[tile] : 1);
        r.found[tile] = sums[tile] >= recorded[tile] ? rest : r.expected[tile];
        r.num_right += rest == r.expected[tile];
    }
    return r;
}

/* ---- Relations by tile ---- */

static void check_tiles(pl_checks *c) {
    const popliner_profile *p = c->profile;
    uint64_t *types[NUM_PARTS] = {0};
    uint64_t *sets[NUM_PARTS] = {0};
    const uint64_t *state = variables_of(c, PL_CATEGORY_VERTEX_INSTANCE_STATE);
    const uint64_t *descriptors = variables_of(c, PL_CATEGORY_COPY_DESCRIPTOR);
    const uint64_t *code = variables_of(c, PL_CATEGORY_VERTEX_CODE);
    const uint64_t *control_code = variables_of(c, PL_CATEGORY_CONTROL_CODE);
    const uint64_t *exchange_code = variables_of(c, PL_CATEGORY_INTERNAL_EXCHANGE_CODE);
    add_parts(c, PL_TABLE_CHECKED_VERTEX_TYPES, types);
    add_parts(c, PL_TABLE_CHECKED_STATE, sets);
    const uint64_t *covered = c->has_offsets ? c->sums.covered_bytes : NULL;
    const uint64_t *end = c->has_offsets ? c->sums.end : NULL;
    uint64_t *only_kind = known(c, told(c, TOTAL) != NULL);
    uint64_t *data = known(c, types[DATA] != NULL && types[COPIES] != NULL && types[EDGES] != NULL);
    uint64_t *data_found = known(c, c->has_categories);
    uint64_t *sizes = known(c, p->num_compute_set_vertices > 0);
    const rests of_types = find_rests(c, types[CODE], code, NULL);
    /* proportional to the exchanges of a tile in the real file, maybe equal for other writers */
    const rests same = find_rests(c, c->exchange_code, exchange_code, NULL);
    const rests each = find_rests(c, c->exchange_code, exchange_code, c->num_with_code);
    const rests of_exchanges = each.num_right >= same.num_right ? each : same;
    for (size_t tile = 0; pl_database_is_well(c->database) && tile < c->num_tiles; tile++) {
        /* how the kinds of memory add up if there are several is unknown */
        if (only_kind != NULL)
            only_kind[tile] = p->tile_interleaved_bytes[tile] + p->tile_overflowed_bytes[tile] == 0
                                  ? p->tile_total_bytes[tile]
                                  : p->tile_non_interleaved_bytes[tile];
        if (data != NULL)
            data[tile] = types[DATA][tile] + types[COPIES][tile] + types[EDGES][tile];
        if (data_found != NULL)
            data_found[tile] = state[tile] + variables_of(c, PL_CATEGORY_VERTEX_FIELD_DATA)[tile];
    }
    for (size_t i = 0; sizes != NULL && i < p->num_compute_set_vertices; i++)
        pl_series_add(p, p->compute_set_vertex_instances[i],
                      p->vertex_type_size_bytes[p->compute_set_vertex_type[i]], sizes);
    const pl_compared rows[] = {
        {OF(ALWAYS_LIVE, EQUAL), told(c, ALWAYS), c->sums.always_live_bytes, ""},
        {OF(NOT_ALWAYS_LIVE, EQUAL), told(c, NOT_ALWAYS), c->sums.not_always_live_bytes, ""},
        {OF(LAYOUT, EQUAL), told(c, TOTAL), covered, "total"},
        {OF(LAYOUT, EQUAL), told(c, WITH_GAPS), end, "total_including_gaps"},
        {OF(LAYOUT, EQUAL), told(c, KINDS), only_kind, "non_interleaved"},
        {OF(VERTEX_MEMORY, EQUAL), types[DATA], sets[DATA], "vertex_data_bytes"},
        {OF(VERTEX_MEMORY, EQUAL), types[COPIES], sets[COPIES], "copy_ptr_bytes"},
        {OF(VERTEX_MEMORY, EQUAL), types[EDGES], sets[EDGES], "edge_ptr_bytes"},
        {OF(VERTEX_MEMORY, EQUAL), types[DESCRIPTORS], sets[DESCRIPTORS], "descriptor_bytes"},
        {OF(VERTEX_MEMORY, EQUAL), types[PADDING], sets[PADDING], "padding_bytes"},
        {OF(VERTEX_STATE, EQUAL), data, data_found, "data and pointers"},
        {OF(VERTEX_STATE, EQUAL), types[DESCRIPTORS], descriptors, "descriptor_bytes"},
        {OF(VERTEX_STATE, EQUAL), sizes, state, "sizes of vertices"},
        {OF(VERTEX_CODE, AT_MOST), types[CODE], code, "more than vertexCode"},
        {OF(VERTEX_CODE, EQUAL), of_types.found, of_types.expected, ""},
        {OF(CONTROL_CODE, AT_MOST), c->root_code, control_code, "more than controlCode"},
        {OF(EXCHANGE_CODE, AT_MOST), c->exchange_code, exchange_code,
         "more than internalExchangeCode"},
        {OF(EXCHANGE_CODE, EQUAL), of_exchanges.found, of_exchanges.expected, ""},
    };
    if (pl_database_is_well(c->database))
        pl_compare_all(c->tallies, "tile", c->num_tiles, rows, sizeof rows / sizeof *rows);
}

/* Compares the bytes of each category, what variables share apart if that is known, and the kinds
 * of memory. */
static void check_categories(pl_checks *c) {
    const popliner_profile *p = c->profile;
    const size_t num_sums = 2 * p->num_categories; /* not shared, shared */
    pl_compared *rows = pl_reading_new(c->reading, num_sums + NUM_KINDS, sizeof *rows);
    uint64_t *kinds = pl_checks_new(c, NUM_KINDS * c->num_tiles);
    uint64_t *recorded = pl_checks_new(c, num_sums * c->num_tiles);
    if (!pl_database_is_well(c->database))
        return;
    for (size_t i = 0; c->has_offsets && i < p->num_categories * c->num_tiles; i++)
        c->sums.category_bytes[i] -= c->sums.shared_bytes[i];
    for (size_t i = 0; i < num_sums; i++) {
        const bool is_shared = i % 2 == 1;
        uint64_t *sum = recorded + (c->has_offsets ? i : i - i % 2) * c->num_tiles;
        for (size_t kind = 0; kind < NUM_KINDS; kind++) {
            const pl_series part =
                p->category_memory[i / 2 * PL_NUM_CATEGORY_PARTS + 2 * kind + i % 2];
            pl_series_add(p, part, 1, sum);
            pl_series_add(p, part, 1, kinds + kind * c->num_tiles);
        }
        rows[i] = (pl_compared){OF(CATEGORIES, EQUAL), c->has_offsets || !is_shared ? sum : NULL,
                                (is_shared ? c->sums.shared_bytes : c->sums.category_bytes) +
                                    i / 2 * c->num_tiles,
                                pl_profile_string(p, p->category_name[i / 2]),
                                !c->has_offsets ? NULL
                                : is_shared     ? "overlapped"
                                                : "non_overlapped"};
    }
    for (size_t kind = 0; kind < NUM_KINDS; kind++)
        rows[num_sums + kind] = (pl_compared){
            OF(CATEGORIES, BOTH_OR_NONE), told(c, KINDS + (int)kind), kinds + kind * c->num_tiles,
            pl_tables[PL_TABLE_TILES].columns[KINDS + kind].name};
    pl_compare_all(c->tallies, "tile", c->num_tiles, rows, num_sums + NUM_KINDS);
}

/* ---- Relation 5 ---- */

static void check_steps(pl_checks *c) {
    enum { STEP, CHANGE, IPU };
    const popliner_profile *p = c->profile;
    pl_tally *tally = &c->tallies[POPLINER_RELATION_STEPS];
    uint64_t *recorded[2] = {0}; /* of all IPUs, and the sum over the IPUs; modulo 2^64 */
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_STEP_MEMORY);
    while (pl_table_next(&t)) {
        const uint64_t step = (uint64_t)pl_rows_integer(&t.rows, STEP);
        const uint64_t change = (uint64_t)pl_rows_integer(&t.rows, CHANGE);
        uint64_t **by_step = &recorded[!pl_rows_is_null(&t.rows, IPU)];
        *by_step = *by_step == NULL ? pl_checks_new(c, p->num_steps) : *by_step;
        if (*by_step != NULL && step < p->num_steps) {
            (*by_step)[step] += change;
            continue;
        }
        pl_tally_begin(tally, "row", t.rows.row);
        if (change != 0)
            pl_tally_note(tally, pl_tally_difference(change, 0), "no such step");
    }
    if (!pl_database_is_well(c->database))
        return;
    for (size_t i = 0; i < 2; i++)
        for (size_t step = 1; recorded[i] != NULL && step < p->num_steps; step++)
            recorded[i][step] += recorded[i][step - 1];
    const pl_compared rows[] = {
        {OF(STEPS, EQUAL), recorded[0], c->sums.step_bytes, ""},
        {OF(STEPS, EQUAL), recorded[1], c->sums.step_bytes, "sum over IPUs"}};
    pl_compare_all(c->tallies, "step", p->num_steps, rows, 2);
}

/* ---- Relation 6 ---- */

static void check_totals(pl_checks *c) {
    enum { VERTICES, EDGES_OF_SETS, VARIABLES, COMPUTE_SETS, NUM_TOTALS };
    const popliner_profile *p = c->profile;
    uint64_t found[NUM_TOTALS] = {0, 0, p->num_variables, p->num_compute_sets};
    const bool is_known[NUM_TOTALS] = {
        pl_database_has_table(c->database, "vertex_instances"),
        pl_database_has_column(c->database, "compute_sets", "edge_count"), true, true};
    for (size_t i = 0; i < p->num_compute_set_vertices; i++)
        found[VERTICES] += pl_series_sum(p, p->compute_set_vertex_instances[i]);
    for (size_t i = 0; i < p->num_compute_sets; i++)
        found[EDGES_OF_SETS] += p->compute_set_num_edges[i];
    for (size_t i = 0; i < NUM_TOTALS; i++) {
        const uint64_t *recorded = &c->reading->graph[i];
        const pl_compared row = {OF(TOTALS, EQUAL), recorded, &found[i],
                                 pl_tables[PL_TABLE_GRAPH].columns[i].name};
        pl_compare_all(c->tallies, NULL, *recorded != UINT64_MAX && is_known[i] ? 1 : 0, &row, 1);
    }
}

/* Notes the difference of a type, once. */
static void settle_type(pl_tally *tally, uint64_t *difference) {
    if (*difference != 0)
        pl_tally_note(tally, pl_tally_difference(*difference, 0), "");
    *difference = 0;
}

/* Compares the counts of a compute set with its vertices. differences[] is by vertex type, recorded
 * minus found modulo 2^64; 0 between compute sets. */
static void check_counts_of(pl_checks *c, pl_rows *rows, uint64_t *differences) {
    enum { ID, TYPES, COUNTS };
    const popliner_profile *p = c->profile;
    const pl_id_map *type_ids = &c->reading->ids[PL_TABLE_VERTEX_TYPES];
    pl_tally *tally = &c->tallies[POPLINER_RELATION_VERTEX_COUNTS];
    const uint64_t id = pl_rows_number(rows, ID, INT64_MAX);
    const uint32_t set = pl_id_map_find(&c->reading->ids[PL_TABLE_COMPUTE_SETS], id);
    if (set == PL_NONE || pl_rows_is_null(rows, TYPES) || pl_rows_is_null(rows, COUNTS))
        return;
    const uint32_t first = p->compute_set_vertices_start[set];
    const uint32_t end = p->compute_set_vertices_start[set + 1];
    size_t sizes[2];
    const uint8_t *types = pl_rows_blob(rows, TYPES, &sizes[0]);
    const uint8_t *types_end = types + sizes[0];
    const uint8_t *counts = pl_rows_blob(rows, COUNTS, &sizes[1]);
    const uint8_t *counts_end = counts + sizes[1];
    uint64_t type_id;
    uint64_t count;
    pl_tally_begin(tally, "compute set", id);
    for (uint32_t i = first; i < end; i++)
        differences[p->compute_set_vertex_type[i]] -=
            pl_series_sum(p, p->compute_set_vertex_instances[i]);
    while (pl_varint_read(&types, types_end, &type_id) &&
           pl_varint_read(&counts, counts_end, &count)) {
        const uint32_t type = pl_id_map_find(type_ids, type_id);
        if (type == PL_NONE)
            pl_tally_note(tally, count, "");
        else
            differences[type] += count;
    }
    if (types != types_end || counts != counts_end)
        pl_tally_note(tally, 0, "vertex_counts and vertex_types are of different lengths");
    for (uint32_t i = first; i < end; i++)
        settle_type(tally, &differences[p->compute_set_vertex_type[i]]);
    for (types = types_end - sizes[0]; pl_varint_read(&types, types_end, &type_id);) {
        const uint32_t type = pl_id_map_find(type_ids, type_id);
        if (type != PL_NONE)
            settle_type(tally, &differences[type]);
    }
}

static void check_counts(pl_checks *c) {
    uint64_t *differences = pl_checks_new(c, c->profile->num_vertex_types);
    if (differences == NULL || c->profile->num_compute_set_vertices == 0)
        return;
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_CHECKED_COUNTS);
    while (pl_table_next(&t))
        check_counts_of(c, &t.rows, differences);
}

/* ---- All relations ---- */

void pl_profile_find_checks(pl_reading *reading) {
    pl_database *database = &reading->database;
    popliner_profile *p = reading->profile;
    pl_checks c = {.reading = reading,
                   .database = database,
                   .profile = p,
                   .num_tiles = p->target.num_tiles,
                   .has_offsets = pl_database_has_column(database, "vars_info", "offset"),
                   .has_categories = pl_database_has_column(database, "vars_info", "category") &&
                                     p->category[0] != PL_CATEGORY_NAMELESS};
    /* five tables by category and tile, two of them of what the file has */
    pl_database_take_bytes(database, "the bytes of each category on each tile",
                           (uint64_t)p->num_categories * c.num_tiles, 5 * sizeof(uint64_t));
    c.variables = pl_checks_new(&c, PL_NUM_CATEGORIES * c.num_tiles);
    if (pl_database_is_well(database))
        pl_tile_sums_find(p, database->num_helpers + 1, &c.sums);
    if (pl_reading_has(reading, !c.sums.arrays.failed)) {
        sum_categories(&c);
        pl_checks_of_programs(&c);
        check_tiles(&c);
        if (c.has_categories && p->num_category_parts > 0)
            check_categories(&c);
        check_steps(&c);
        check_totals(&c);
        check_counts(&c);
    }
    p->num_checks = PL_NUM_RELATIONS;
    pl_profile_allocate(p, &p->num_checks);
    for (size_t i = 0; pl_reading_has(reading, true) && i < PL_NUM_RELATIONS; i++)
        pl_tally_keep(&c.tallies[i], p, (popliner_relation)i);
    pl_arrays_free(&c.sums.arrays);
}
