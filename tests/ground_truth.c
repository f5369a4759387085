/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ground_truth.h"

#include "profile/blob_codec.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORY_LIMIT = 64 };

typedef struct range {
    size_t from;
    size_t to;
} range;

typedef struct liveness_class {
    bool is_always_live;
    range *ranges;
    size_t range_count;
} liveness_class;

typedef struct profile {
    sqlite3 *db;
    char *why;
    size_t why_size;
    size_t tile_count;
    size_t step_count;
    liveness_class *classes; /* by id */
    size_t class_count;      /* largest id + 1 */
    uint64_t *live_bytes;    /* of what is not always live, by step, on all tiles */
    char category_names[CATEGORY_LIMIT][64];
    uint64_t *category_bytes; /* by category, then tile */
} profile;

typedef struct variable {
    uint64_t id;
    uint64_t size;
    uint64_t offset;
    uint64_t alignment;
    size_t category;
    size_t class_id;
} variable;

/* The allocated variables of one tile. */
typedef struct tile_variables {
    variable *items;
    size_t count;
    size_t capacity;
} tile_variables;

static bool wrong(profile *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->why, p->why_size, format, arguments);
    va_end(arguments);
    return false;
}

/* Memory of a test; short memory ends the program. */
static void *room(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        abort();
    return memory;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static sqlite3_stmt *query(profile *p, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(p->db, sql, -1, &statement, NULL) != SQLITE_OK)
        wrong(p, "%s: %s", sql, sqlite3_errmsg(p->db));
    return statement;
}

static bool next_row(sqlite3_stmt *statement) {
    return statement != NULL && sqlite3_step(statement) == SQLITE_ROW;
}

static uint64_t number(sqlite3_stmt *statement, int column) {
    return (uint64_t)sqlite3_column_int64(statement, column);
}

static bool one_number(profile *p, const char *sql, uint64_t *value) {
    sqlite3_stmt *statement = query(p, sql);
    bool found = next_row(statement);
    if (found)
        *value = number(statement, 0);
    else if (statement != NULL)
        wrong(p, "%s gives nothing", sql);
    sqlite3_finalize(statement);
    return found;
}

static bool blob_of_tiles(profile *p, sqlite3_stmt *statement, int column, bool is_rle,
                          uint64_t *values) {
    const void *blob = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    bool good = is_rle ? pl_rle_read(blob, size, values, p->tile_count)
                       : pl_varint_list_read(blob, size, values, p->tile_count);
    if (!good)
        return wrong(p, "%s: column %s is no array by tile", sqlite3_sql(statement),
                     sqlite3_column_name(statement, column));
    return true;
}

static bool read_classes(profile *p) {
    uint64_t largest = 0;
    uint64_t largest_with_steps = 0;
    if (!one_number(p, "SELECT ifnull(max(id),0) FROM eq_classes", &largest) ||
        !one_number(p, "SELECT ifnull(max(eq_class_id),0) FROM eq_class_step", &largest_with_steps))
        return false;
    if (largest_with_steps > largest)
        return wrong(p, "class %llu has steps but does not exist",
                     (unsigned long long)largest_with_steps);
    p->class_count = (size_t)largest + 1;
    p->classes = room(p->class_count, sizeof *p->classes);
    sqlite3_stmt *statement = query(p, "SELECT id, is_always_live FROM eq_classes");
    while (next_row(statement))
        p->classes[number(statement, 0)].is_always_live = number(statement, 1) != 0;
    sqlite3_finalize(statement);
    statement = query(p, "SELECT eq_class_id, count(*) FROM eq_class_step GROUP BY 1");
    while (next_row(statement))
        p->classes[number(statement, 0)].ranges = room(number(statement, 1), sizeof(range));
    sqlite3_finalize(statement);
    bool good = true;
    statement = query(p, "SELECT eq_class_id, step_id_from, step_id_to FROM eq_class_step");
    while (good && next_row(statement)) {
        liveness_class *owner = &p->classes[number(statement, 0)];
        range added = {.from = number(statement, 1), .to = number(statement, 2)};
        if (added.from >= added.to || added.to > p->step_count)
            good = wrong(p, "class %llu is live from step %zu to %zu of %zu",
                         (unsigned long long)number(statement, 0), added.from, added.to,
                         p->step_count);
        owner->ranges[owner->range_count++] = added;
    }
    sqlite3_finalize(statement);
    return good;
}

static bool begin(profile *p, sqlite3 *db, char *why, size_t why_size) {
    *p = (profile){.db = db, .why = why, .why_size = why_size};
    why[0] = '\0';
    uint64_t tiles = 0;
    uint64_t steps = 0;
    if (!one_number(p, "SELECT num_tiles FROM target_info", &tiles) ||
        !one_number(p, "SELECT count(*) FROM depth_first_steps", &steps))
        return false;
    p->tile_count = (size_t)tiles;
    p->step_count = (size_t)steps;
    p->live_bytes = room(p->step_count, sizeof *p->live_bytes);
    p->category_bytes = room(CATEGORY_LIMIT * p->tile_count, sizeof *p->category_bytes);
    bool good = true;
    sqlite3_stmt *statement = query(p, "SELECT id, name FROM var_categories");
    while (good && next_row(statement)) {
        if (number(statement, 0) >= CATEGORY_LIMIT)
            good = wrong(p, "too many categories");
        else
            snprintf(p->category_names[number(statement, 0)], sizeof p->category_names[0], "%s",
                     (const char *)sqlite3_column_text(statement, 1));
    }
    sqlite3_finalize(statement);
    return good && read_classes(p);
}

static void end(profile *p) {
    for (size_t i = 0; p->classes != NULL && i < p->class_count; i++)
        free(p->classes[i].ranges);
    free(p->classes);
    free(p->live_bytes);
    free(p->category_bytes);
}

/* The variables of the tile; `statement` walks over all of them in the order of tiles, and stands
 * on the first that is not read yet. */
static bool read_tile(profile *p, sqlite3_stmt *statement, bool *has_row, size_t tile,
                      tile_variables *variables) {
    variables->count = 0;
    while (*has_row && number(statement, 0) == tile) {
        variable read = {.id = number(statement, 1),
                         .size = number(statement, 2),
                         .offset = number(statement, 3),
                         .alignment = number(statement, 4),
                         .category = (size_t)number(statement, 5),
                         .class_id = (size_t)number(statement, 6)};
        bool is_allocated = (number(statement, 7) & 1) != 0;
        *has_row = next_row(statement);
        if (!is_allocated)
            continue;
        if (read.class_id >= p->class_count || read.category >= CATEGORY_LIMIT)
            return wrong(p, "variable %llu has class %zu and category %zu, which do not exist",
                         (unsigned long long)read.id, read.class_id, read.category);
        if (variables->count == variables->capacity) {
            variables->capacity = variables->capacity * 2 + 64;
            variable *grown = realloc(variables->items, variables->capacity * sizeof *grown);
            if (grown == NULL)
                abort();
            variables->items = grown;
        }
        variables->items[variables->count++] = read;
    }
    return true;
}

static sqlite3_stmt *all_variables(profile *p) {
    return query(p, "SELECT tile, var_id, size_bytes, offset, alignment, category, "
                    "equivalence_class, bitset FROM vars_info ORDER BY tile, var_id");
}

/* ---- Relations 1 to 4 ----------------------------------------------------------------------- */

/* The expected facts of one tile. */
typedef struct tile_truth {
    uint64_t total;
    uint64_t including_gaps;
    uint64_t always_live;
    uint64_t peak;
    uint64_t overlapped[CATEGORY_LIMIT];
    uint64_t non_overlapped[CATEGORY_LIMIT];
} tile_truth;

static void find_truth(profile *p, const tile_variables *variables, tile_truth *truth) {
    *truth = (tile_truth){.total = 0};
    uint64_t *live = room(p->step_count, sizeof *live);
    for (size_t i = 0; i < variables->count; i++) {
        const variable *v = &variables->items[i];
        const liveness_class *life = &p->classes[v->class_id];
        if (v->offset + v->size > truth->including_gaps)
            truth->including_gaps = v->offset + v->size;
        if (life->is_always_live) {
            truth->always_live += v->size;
            continue;
        }
        for (size_t k = 0; k < life->range_count; k++) {
            for (size_t step = life->ranges[k].from; step < life->ranges[k].to; step++)
                live[step] += v->size;
        }
    }
    for (size_t step = 0; step < p->step_count; step++) {
        p->live_bytes[step] += live[step];
        if (live[step] > truth->peak)
            truth->peak = live[step];
    }
    free(live);
    uint16_t *users = room((size_t)truth->including_gaps, sizeof *users); /* by address */
    for (size_t i = 0; i < variables->count; i++) {
        const variable *v = &variables->items[i];
        for (uint64_t address = v->offset; address < v->offset + v->size; address++) {
            truth->total += users[address] == 0;
            users[address] = users[address] < 2 ? users[address] + 1 : 2;
        }
    }
    for (size_t i = 0; i < variables->count; i++) {
        const variable *v = &variables->items[i];
        for (uint64_t address = v->offset; address < v->offset + v->size; address++) {
            if (users[address] > 1)
                truth->overlapped[v->category]++;
            else
                truth->non_overlapped[v->category]++;
        }
    }
    free(users);
}

static bool check_tile(profile *p, sqlite3_stmt *statement, size_t tile, const tile_truth *truth) {
    if (!next_row(statement) || number(statement, 0) != tile)
        return wrong(p, "memory_by_tile has no row of tile %zu", tile);
    const struct {
        const char *name;
        uint64_t expected;
    } columns[] = {{"total", truth->total},
                   {"total_including_gaps", truth->including_gaps},
                   {"always_live_bytes", truth->always_live},
                   {"not_always_live_max_bytes", truth->peak}};
    for (int i = 0; i < 4; i++) {
        if (number(statement, i + 1) != columns[i].expected)
            return wrong(p, "tile %zu: %s is %llu, found %llu", tile, columns[i].name,
                         (unsigned long long)number(statement, i + 1),
                         (unsigned long long)columns[i].expected);
    }
    return true;
}

static bool check_categories(profile *p, const uint64_t *overlapped,
                             const uint64_t *non_overlapped) {
    static const char *const columns[] = {"overlapped", "non_overlapped"};
    bool good = true;
    uint64_t *sum = room(p->tile_count, sizeof *sum);
    uint64_t *part = room(p->tile_count, sizeof *part);
    for (size_t category = 0; good && category < CATEGORY_LIMIT; category++) {
        if (p->category_names[category][0] == '\0')
            continue;
        for (int which = 0; good && which < 2; which++) {
            char sql[400];
            snprintf(sql, sizeof sql,
                     "SELECT interleaved_%s, non_interleaved_%s, overflowed_%s "
                     "FROM memory_by_category WHERE category_id = '%s'",
                     columns[which], columns[which], columns[which], p->category_names[category]);
            sqlite3_stmt *statement = query(p, sql);
            good = next_row(statement) ||
                   wrong(p, "memory_by_category lacks %s", p->category_names[category]);
            memset(sum, 0, p->tile_count * sizeof *sum);
            for (int column = 0; good && column < 3; column++) {
                good = blob_of_tiles(p, statement, column, false, part);
                for (size_t tile = 0; good && tile < p->tile_count; tile++)
                    sum[tile] += part[tile];
            }
            sqlite3_finalize(statement);
            const uint64_t *found =
                (which == 0 ? overlapped : non_overlapped) + category * p->tile_count;
            for (size_t tile = 0; good && tile < p->tile_count; tile++) {
                p->category_bytes[category * p->tile_count + tile] += sum[tile];
                if (sum[tile] != found[tile])
                    good = wrong(p, "tile %zu: %s %s is %llu, found %llu", tile,
                                 p->category_names[category], columns[which],
                                 (unsigned long long)sum[tile], (unsigned long long)found[tile]);
            }
        }
    }
    free(sum);
    free(part);
    return good;
}

static bool check_tiles(profile *p) {
    uint64_t *overlapped = room(CATEGORY_LIMIT * p->tile_count, sizeof *overlapped);
    uint64_t *non_overlapped = room(CATEGORY_LIMIT * p->tile_count, sizeof *non_overlapped);
    tile_variables variables = {.items = NULL};
    sqlite3_stmt *rows = all_variables(p);
    sqlite3_stmt *memory = query(p, "SELECT tile, total, total_including_gaps, always_live_bytes, "
                                    "not_always_live_max_bytes FROM memory_by_tile ORDER BY tile");
    bool has_row = next_row(rows);
    bool good = rows != NULL && memory != NULL;
    for (size_t tile = 0; good && tile < p->tile_count; tile++) {
        tile_truth truth;
        good = read_tile(p, rows, &has_row, tile, &variables);
        if (!good)
            break;
        find_truth(p, &variables, &truth);
        good = check_tile(p, memory, tile, &truth);
        for (size_t category = 0; category < CATEGORY_LIMIT; category++) {
            overlapped[category * p->tile_count + tile] = truth.overlapped[category];
            non_overlapped[category * p->tile_count + tile] = truth.non_overlapped[category];
        }
    }
    if (good && has_row)
        good = wrong(p, "a variable lies on tile %llu, which does not exist",
                     (unsigned long long)number(rows, 0));
    sqlite3_finalize(rows);
    sqlite3_finalize(memory);
    good = good && check_categories(p, overlapped, non_overlapped);
    free(variables.items);
    free(overlapped);
    free(non_overlapped);
    return good;
}

/* ---- Relation 5 ----------------------------------------------------------------------------- */

static bool check_steps_of(profile *p, const char *condition) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT step_id, delta_bytes FROM memory_not_always_live_by_step_and_ipu "
             "WHERE ipu IS %s ORDER BY step_id",
             condition);
    int64_t *changes = room(p->step_count + 1, sizeof *changes);
    bool good = true;
    sqlite3_stmt *statement = query(p, sql);
    while (good && next_row(statement)) {
        if (number(statement, 0) > p->step_count)
            good = wrong(p, "memory changes at step %llu, which does not exist",
                         (unsigned long long)number(statement, 0));
        else
            changes[number(statement, 0)] += sqlite3_column_int64(statement, 1);
    }
    sqlite3_finalize(statement);
    int64_t sum = 0;
    for (size_t step = 0; good && step < p->step_count; step++) {
        sum += changes[step];
        if ((uint64_t)sum != p->live_bytes[step])
            good = wrong(p, "step %zu: the changes sum up to %lld, found %llu", step,
                         (long long)sum, (unsigned long long)p->live_bytes[step]);
    }
    free(changes);
    return good;
}

/* ---- Relations 6 and 7 ---------------------------------------------------------------------- */

static bool check_instances(profile *p, uint64_t compute_set, uint64_t vertex_type,
                            uint64_t expected) {
    uint64_t *instances = room(p->tile_count, sizeof *instances);
    sqlite3_stmt *statement = query(p, "SELECT instances_by_tile FROM vertex_instances "
                                       "WHERE compute_set = ? AND vertex_type = ?");
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)compute_set);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)vertex_type);
    bool good = next_row(statement) && blob_of_tiles(p, statement, 0, true, instances);
    uint64_t sum = 0;
    for (size_t tile = 0; good && tile < p->tile_count; tile++)
        sum += instances[tile];
    if (!good || sum != expected)
        good = wrong(p, "compute set %llu: %llu vertices of type %llu, found %llu",
                     (unsigned long long)compute_set, (unsigned long long)expected,
                     (unsigned long long)vertex_type, (unsigned long long)sum);
    sqlite3_finalize(statement);
    free(instances);
    return good;
}

static bool check_graph(profile *p) {
    uint64_t sets = 0;
    uint64_t edges = 0;
    uint64_t vertices = 0;
    bool good = true;
    sqlite3_stmt *statement =
        query(p, "SELECT compute_set, vertex_types, vertex_counts, edge_count FROM compute_sets");
    while (good && next_row(statement)) {
        size_t type_count = 0;
        size_t count_count = 0;
        const void *types_blob = sqlite3_column_blob(statement, 1);
        size_t types_size = (size_t)sqlite3_column_bytes(statement, 1);
        const void *counts_blob = sqlite3_column_blob(statement, 2);
        size_t counts_size = (size_t)sqlite3_column_bytes(statement, 2);
        good = pl_varint_list_count(types_blob, types_size, &type_count) &&
               pl_varint_list_count(counts_blob, counts_size, &count_count) &&
               type_count == count_count;
        uint64_t *types = room(type_count, sizeof *types);
        uint64_t *counts = room(type_count, sizeof *counts);
        good = good && pl_varint_list_read(types_blob, types_size, types, type_count) &&
               pl_varint_list_read(counts_blob, counts_size, counts, type_count);
        if (!good)
            wrong(p, "the vertices of compute set %llu cannot be read",
                  (unsigned long long)number(statement, 0));
        for (size_t i = 0; good && i < type_count; i++) {
            good = check_instances(p, number(statement, 0), types[i], counts[i]);
            vertices += counts[i];
        }
        edges += number(statement, 3);
        sets++;
        free(types);
        free(counts);
    }
    sqlite3_finalize(statement);
    uint64_t variables = 0;
    good = good && one_number(p, "SELECT count(*) FROM vars_info", &variables);
    const struct {
        const char *column;
        uint64_t found;
    } figures[] = {{"num_compute_sets", sets},
                   {"num_edges", edges},
                   {"num_vars", variables},
                   {"num_vertices", vertices}};
    for (size_t i = 0; good && i < 4; i++) {
        char sql[100];
        uint64_t told = 0;
        snprintf(sql, sizeof sql, "SELECT %s FROM graph_info", figures[i].column);
        good = one_number(p, sql, &told);
        if (good && told != figures[i].found)
            good = wrong(p, "%s is %llu, found %llu", figures[i].column, (unsigned long long)told,
                         (unsigned long long)figures[i].found);
    }
    return good;
}

/* The sum by tile of a column over all rows of a table. */
static bool sum_column(profile *p, const char *table, const char *column, bool is_rle,
                       uint64_t *sum) {
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT %s FROM %s", column, table);
    uint64_t *part = room(p->tile_count, sizeof *part);
    bool good = true;
    sqlite3_stmt *statement = query(p, sql);
    while (good && next_row(statement)) {
        good = blob_of_tiles(p, statement, 0, is_rle, part);
        for (size_t tile = 0; good && tile < p->tile_count; tile++)
            sum[tile] += part[tile];
    }
    sqlite3_finalize(statement);
    free(part);
    return good;
}

static void add_category(const profile *p, const char *name, uint64_t *sum) {
    for (size_t category = 0; category < CATEGORY_LIMIT; category++) {
        if (strcmp(p->category_names[category], name) != 0)
            continue;
        for (size_t tile = 0; tile < p->tile_count; tile++)
            sum[tile] += p->category_bytes[category * p->tile_count + tile];
    }
}

static bool same_by_tile(profile *p, const char *what, const uint64_t *left,
                         const uint64_t *right) {
    for (size_t tile = 0; tile < p->tile_count; tile++) {
        if (left[tile] != right[tile])
            return wrong(p, "tile %zu: %s is %llu here and %llu there", tile, what,
                         (unsigned long long)left[tile], (unsigned long long)right[tile]);
    }
    return true;
}

static bool check_vertices(profile *p) {
    static const char *const columns[] = {"copy_ptr_bytes", "edge_ptr_bytes", "vertex_data_bytes",
                                          "padding_bytes", "descriptor_bytes"};
    uint64_t *by_type = room(p->tile_count, sizeof *by_type);
    uint64_t *by_set = room(p->tile_count, sizeof *by_set);
    uint64_t *state = room(p->tile_count, sizeof *state);
    uint64_t *descriptors = room(p->tile_count, sizeof *descriptors);
    uint64_t *categories = room(p->tile_count, sizeof *categories);
    bool good = true;
    for (int i = 0; good && i < 5; i++) {
        memset(by_type, 0, p->tile_count * sizeof *by_type);
        memset(by_set, 0, p->tile_count * sizeof *by_set);
        good = sum_column(p, "memory_by_vertex_type", columns[i], false, by_type) &&
               sum_column(p, "memory_by_compute_set", columns[i], true, by_set) &&
               same_by_tile(p, columns[i], by_type, by_set);
        for (size_t tile = 0; tile < p->tile_count; tile++) {
            state[tile] += i < 3 ? by_type[tile] : 0;
            descriptors[tile] += i == 4 ? by_type[tile] : 0;
        }
    }
    add_category(p, "vertexInstanceState", categories);
    add_category(p, "vertexFieldData", categories);
    good = good && same_by_tile(p, "the state of vertices", state, categories);
    memset(categories, 0, p->tile_count * sizeof *categories);
    add_category(p, "copyDescriptor", categories);
    good = good && same_by_tile(p, "the descriptors of copies", descriptors, categories);
    free(by_type);
    free(by_set);
    free(state);
    free(descriptors);
    free(categories);
    return good;
}

/* ---- Relation 8 ----------------------------------------------------------------------------- */

typedef struct walk {
    profile *profile;
    sqlite3_stmt *program; /* children and the called function's program, by program */
    sqlite3_stmt *steps;
    size_t step;
} walk;

static bool check_step(walk *w, uint64_t program, bool has_parent, uint64_t parent);

static bool check_children(walk *w, uint64_t program, uint64_t step) {
    sqlite3_bind_int64(w->program, 1, (sqlite3_int64)program);
    if (!next_row(w->program)) {
        sqlite3_reset(w->program);
        return wrong(w->profile, "program %llu does not exist", (unsigned long long)program);
    }
    size_t count = 0;
    const void *blob = sqlite3_column_blob(w->program, 0);
    size_t size = (size_t)sqlite3_column_bytes(w->program, 0);
    bool good = pl_varint_list_count(blob, size, &count);
    bool has_callee = sqlite3_column_type(w->program, 1) != SQLITE_NULL;
    uint64_t *children = room(count + 1, sizeof *children);
    good = good && pl_varint_list_read(blob, size, children, count);
    if (has_callee)
        children[count++] = number(w->program, 1);
    sqlite3_reset(w->program);
    if (!good)
        wrong(w->profile, "the children of program %llu cannot be read",
              (unsigned long long)program);
    for (size_t i = 0; good && i < count; i++)
        good = check_step(w, children[i], true, step);
    free(children);
    return good;
}

static bool check_step(walk *w, uint64_t program, bool has_parent, uint64_t parent) {
    size_t step = w->step++;
    bool good = next_row(w->steps) && number(w->steps, 0) == step &&
                number(w->steps, 1) == program &&
                (sqlite3_column_type(w->steps, 2) != SQLITE_NULL) == has_parent &&
                (!has_parent || number(w->steps, 2) == parent);
    if (!good)
        return wrong(w->profile, "step %zu should be program %llu below step %llu", step,
                     (unsigned long long)program, (unsigned long long)parent);
    return check_children(w, program, step);
}

static bool check_walk(profile *p) {
    walk w = {.profile = p};
    w.program = query(p, "SELECT p.children, (SELECT f.program FROM function_programs f JOIN "
                         "program_type_call c ON f.id = c.function_id WHERE c.id = "
                         "p.variant_index AND p.variant = (SELECT id FROM program_types WHERE "
                         "name = 'Call')) FROM programs p WHERE p.id = ? AND "
                         "p.compilation_step_id IS NULL");
    w.steps = query(p, "SELECT id, program_id, parent_step_id FROM depth_first_steps ORDER BY id");
    sqlite3_stmt *roots = query(p, "SELECT program FROM control_programs ORDER BY id");
    bool good = w.program != NULL && w.steps != NULL && roots != NULL;
    while (good && next_row(roots))
        good = check_step(&w, number(roots, 0), false, 0);
    if (good && w.step != p->step_count)
        good = wrong(p, "the walk has %zu steps, the table %zu", w.step, p->step_count);
    sqlite3_finalize(roots);
    sqlite3_finalize(w.program);
    sqlite3_finalize(w.steps);
    return good;
}

bool ground_truth_holds(sqlite3 *db, char *why, size_t why_size) {
    profile p;
    bool good = begin(&p, db, why, why_size) && check_tiles(&p) && check_steps_of(&p, "NULL") &&
                check_steps_of(&p, "0") && check_graph(&p) && check_vertices(&p) && check_walk(&p);
    end(&p);
    return good;
}

/* ---- Addresses and lives -------------------------------------------------------------------- */

static bool meet(const liveness_class *a, const liveness_class *b) {
    for (size_t i = 0; i < a->range_count; i++) {
        for (size_t k = 0; k < b->range_count; k++) {
            if (a->ranges[i].from < b->ranges[k].to && b->ranges[k].from < a->ranges[i].to)
                return true;
        }
    }
    return false;
}

static int by_offset(const void *left, const void *right) {
    const variable *a = left;
    const variable *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool check_apart(profile *p, size_t tile, tile_variables *variables) {
    qsort(variables->items, variables->count, sizeof *variables->items, by_offset);
    for (size_t i = 0; i < variables->count; i++) {
        const variable *v = &variables->items[i];
        if (v->alignment == 0 || v->offset % v->alignment != 0)
            return wrong(p, "tile %zu: variable %llu at %llu is not aligned", tile,
                         (unsigned long long)v->id, (unsigned long long)v->offset);
        for (size_t k = i + 1; k < variables->count; k++) {
            const variable *other = &variables->items[k];
            if (other->offset >= v->offset + v->size)
                break;
            if (other->size > 0 && meet(&p->classes[v->class_id], &p->classes[other->class_id]))
                return wrong(p, "tile %zu: variables %llu and %llu share addresses and steps", tile,
                             (unsigned long long)v->id, (unsigned long long)other->id);
        }
    }
    return true;
}

bool lives_keep_apart(sqlite3 *db, char *why, size_t why_size) {
    profile p;
    bool good = begin(&p, db, why, why_size);
    tile_variables variables = {.items = NULL};
    sqlite3_stmt *rows = good ? all_variables(&p) : NULL;
    bool has_row = next_row(rows);
    for (size_t tile = 0; good && tile < p.tile_count; tile++)
        good = read_tile(&p, rows, &has_row, tile, &variables) && check_apart(&p, tile, &variables);
    sqlite3_finalize(rows);
    free(variables.items);
    end(&p);
    return good;
}

/* ---- References ----------------------------------------------------------------------------- */

/* A query that must find nothing. */
static bool finds_nothing(profile *p, const char *sql, const char *complaint) {
    uint64_t count = 1;
    if (!one_number(p, sql, &count))
        return false;
    return count == 0 || wrong(p, "%llu %s", (unsigned long long)count, complaint);
}

static bool check_var_ids(profile *p) {
    uint64_t limit = 0;
    bool good = one_number(p, "SELECT count(*) FROM vars_info", &limit);
    sqlite3_stmt *statement = query(p, "SELECT compute_set, var_ids_diff_rle FROM compute_sets");
    while (good && next_row(statement)) {
        pl_runs runs = pl_runs_begin(sqlite3_column_blob(statement, 1),
                                     (size_t)sqlite3_column_bytes(statement, 1));
        uint64_t id = 0;
        uint64_t difference = 0;
        uint64_t length = 0;
        int more;
        bool is_first = true;
        while (good && (more = pl_runs_next(&runs, &difference, &length)) != 0) {
            if (more < 0 || (!is_first && difference == 0))
                good = wrong(p, "the variables of compute set %llu do not ascend",
                             (unsigned long long)number(statement, 0));
            id += difference * length;
            is_first = false;
            if (good && id >= limit)
                good = wrong(p, "compute set %llu uses variable %llu of %llu",
                             (unsigned long long)number(statement, 0), (unsigned long long)id,
                             (unsigned long long)limit);
        }
    }
    sqlite3_finalize(statement);
    return good;
}

bool references_exist(sqlite3 *db, char *why, size_t why_size) {
    static const char *const checks[][2] = {
        {"SELECT count(*) <> ifnull(max(var_id), -1) + 1 FROM vars_info",
         "time: the ids of variables have gaps"},
        {"SELECT count(*) FROM vars_info WHERE name_base_id NOT IN (SELECT id FROM "
         "vars_string_table)",
         "variables without a name"},
        {"SELECT count(*) FROM vars_info WHERE unlowered_var_id IS NOT NULL AND "
         "unlowered_var_id NOT IN (SELECT id FROM unlowered_vars)",
         "variables without their origin"},
        {"SELECT count(*) FROM exchange_regions WHERE var_id NOT IN (SELECT var_id FROM "
         "vars_info) OR id NOT IN (SELECT id FROM exchange_target)",
         "regions of nothing"},
        {"SELECT count(*) FROM program_type_on_tile_execute WHERE compute_set NOT IN (SELECT "
         "compute_set FROM compute_sets)",
         "programs execute a compute set that does not exist"},
        {"SELECT count(*) FROM program_type_do_exchange WHERE source_regions_id NOT IN (SELECT "
         "id FROM exchange_target) OR destination_regions_id NOT IN (SELECT id FROM "
         "exchange_target)",
         "exchanges without regions"},
        {"SELECT count(*) FROM vertex_instances WHERE vertex_type NOT IN (SELECT id FROM "
         "vertex_types)",
         "vertices without a type"},
        {"SELECT count(*) FROM programs p JOIN program_types t ON t.id = p.variant WHERE t.name = "
         "'OnTileExecute' AND variant_index NOT IN (SELECT id FROM program_type_on_tile_execute)",
         "OnTileExecute programs without a row of their type"},
        {"SELECT count(*) FROM programs p JOIN program_types t ON t.id = p.variant WHERE t.name = "
         "'DoExchange' AND variant_index NOT IN (SELECT id FROM program_type_do_exchange)",
         "DoExchange programs without a row of their type"},
        {"SELECT count(*) FROM programs p JOIN program_types t ON t.id = p.variant WHERE t.name = "
         "'StreamCopyMid' AND variant_index NOT IN (SELECT id FROM program_type_stream_copy_mid)",
         "StreamCopyMid programs without a row of their type"},
        {"SELECT count(*) FROM programs p JOIN program_types t ON t.id = p.variant WHERE t.name = "
         "'Call' AND variant_index NOT IN (SELECT id FROM program_type_call)",
         "Call programs without a row of their type"},
    };
    profile p;
    bool good = begin(&p, db, why, why_size);
    for (size_t i = 0; good && i < sizeof checks / sizeof checks[0]; i++)
        good = finds_nothing(&p, checks[i][0], checks[i][1]);
    good = good && check_var_ids(&p);
    end(&p);
    return good;
}
