/* Stored analyses: loaded as they were stored, and refused when anything in them has changed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "stored.h"
#include "test_data.h"
#include "whole_walk.h"

/* ---- Comparing ------------------------------------------------------------------------------ */

static size_t list_fields(const popliner_profile *profile, const pl_operations *operations,
                          pl_field *fields) {
    /* only read through */
    size_t count = pl_profile_fields((popliner_profile *)profile, PL_FIELDS_ALL, NULL, fields);
    count -= pl_profile_fields((popliner_profile *)profile, PL_FIELDS_OF_VARIABLES, NULL,
                               fields + count);
    return count + pl_operations_fields((pl_operations *)operations, fields + count);
}

static size_t size_of(const pl_field *field) {
    return (*field->count + field->extra_items) * field->item_size;
}

/* The name of what differs, or NULL. */
static const char *difference(const popliner_profile *p, const pl_operations *o,
                              const popliner_profile *other_p, const pl_operations *other_o) {
    pl_field fields[2 * PL_MAX_FIELDS];
    pl_field other_fields[2 * PL_MAX_FIELDS];
    size_t count = list_fields(p, o, fields);
    assert_int_equal(list_fields(other_p, other_o, other_fields), count);
    const pl_target *a = &p->target;
    const pl_target *b = &other_p->target;
    if (a->num_tiles != b->num_tiles || a->clock_hz != b->clock_hz || a->num_ipus != b->num_ipus ||
        a->num_replicas != b->num_replicas || a->bytes_per_tile != b->bytes_per_tile ||
        a->tiles_per_ipu != b->tiles_per_ipu || a->ipus_per_replica != b->ipus_per_replica ||
        strcmp(a->architecture, b->architecture) != 0 || strcmp(a->type, b->type) != 0 ||
        memcmp(&a->format_major, &b->format_major, sizeof *a - offsetof(pl_target, format_major)) !=
            0)
        return "target";
    if (o->of_framework != other_o->of_framework)
        return "of_framework";
    for (size_t i = 0; i < count; i++) {
        if (*fields[i].count != *other_fields[i].count)
            return fields[i].name;
        size_t size = size_of(&fields[i]);
        if (size > 0 &&
            memcmp(pl_field_items(&fields[i]), pl_field_items(&other_fields[i]), size) != 0)
            return fields[i].name;
    }
    return NULL;
}

static void save(const golden_case *c, const char *path) {
    popliner_error error = {.message = ""};
    if (save_stored(c->profile, c->operations, path, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
}

/* Loads a file that may be damaged: it is refused, or holds the same as the case. Returns whether
 * it was loaded. */
static bool loads(const golden_case *c, const char *path, const char *how) {
    popliner_profile *profile;
    pl_operations *operations;
    popliner_error error = {.message = ""};
    popliner_status status = load_stored(path, &profile, &operations, &error);
    if (status != POPLINER_OK) {
        assert_null(profile);
        assert_null(operations);
        if (status != POPLINER_ERROR_INPUT || error.status != status)
            fail_msg("%s: refused with status %d: %s", how, (int)status, error.message);
        assert_non_null(strstr(error.message, path));
        return false;
    }
    const char *differs = difference(c->profile, c->operations, profile, operations);
    pl_profile_free(profile);
    pl_operations_free(operations);
    if (differs != NULL)
        fail_msg("%s: loaded with another %s", how, differs);
    return true;
}

static void assert_refused(const golden_case *c, const char *path, const char *how) {
    if (loads(c, path, how))
        fail_msg("%s: loaded", how);
}

/* Asserts that `path` is refused with a message that contains `reason`. */
static void assert_reason(const char *path, const char *reason) {
    popliner_profile *profile;
    pl_operations *operations;
    popliner_error error = {.message = ""};
    assert_int_equal(load_stored(path, &profile, &operations, &error), POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, path));
    if (strstr(error.message, reason) == NULL)
        fail_msg("'%s' does not tell that it %s", error.message, reason);
}

/* ---- A model as small as can be ------------------------------------------------------------- */

static void *items_of(const pl_field *fields, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return pl_field_items(&fields[i]);
    }
    fail_msg("no field %s", name);
    return NULL;
}

#define SET(type, name, ...)                                                                       \
    memcpy(items_of(fields, count, name), (const type[]){__VA_ARGS__},                             \
           sizeof((const type[]){__VA_ARGS__}))

/* Two programs, each of which touches its tile's variable; something in every array, so that every
 * byte of the file matters. */
static void make_tiny(golden_case *c) {
    popliner_profile *p = calloc(1, sizeof *p);
    pl_operations *o = calloc(1, sizeof *o);
    assert_true(p != NULL && o != NULL);
    *c = (golden_case){"tiny", p, NULL, o};
    p->target = (pl_target){2, 1, 1, 638976, 1850000000, "ipu2", "IPU", 2, 1, .format_major = 3};
    p->strings_length = 12;
    p->series_length = 2;
    p->num_options = p->num_program_children = p->num_runs = p->num_execution_steps = 1;
    p->num_execution_ipus = p->num_absences = 1;
    p->num_category_parts = PL_NUM_CATEGORY_PARTS;
    p->num_checks = PL_NUM_RELATIONS;
    p->num_vertex_types = p->num_compute_sets = p->num_compute_set_vertices = 1;
    p->num_compute_set_states = 1;
    p->num_timed_programs = 2;
    p->num_lists = p->num_programs = p->num_program_lists = p->num_steps = 2;
    p->num_list_variables = 3;
    p->num_classes = p->num_ranges = p->num_variables = p->num_apart = 2;
    p->num_elements = 1;
    p->num_unlowered = p->num_categories = p->num_fed_lists = 1;
    o->count = 1;
    o->of_framework = 1;
    o->strings_length = 8;
    o->num_programs = o->num_reasons = o->num_steps = 2;
    pl_field fields[2 * PL_MAX_FIELDS];
    const size_t num_fields = pl_profile_fields(p, PL_FIELDS_ALL, NULL, fields);
    const size_t count = num_fields + pl_operations_fields(o, fields + num_fields);
    pl_fields_allocate(&p->arrays, fields, num_fields);
    pl_fields_allocate(&o->arrays, fields + num_fields, count - num_fields);
    assert_false(p->arrays.failed || o->arrays.failed);
    const pl_series series = {0, 2};
    memcpy(p->strings, "\0weight\0IPU", 12);
    memcpy(p->series_bytes, "\x84\x83", 2); /* 3 on both tiles */
    *p->vertex_type_code = *p->compute_set_vertex_instances = series;
    *p->compute_set_state = p->category_memory[1] = series;
    p->target.poplar_text = 8;
    p->target.num_vertices = 6;
    SET(uint32_t, "option_name", 8);
    SET(uint32_t, "program_children_start", 0, 1, 1);
    SET(uint32_t, "program_child", 1);
    SET(uint32_t, "program_called", PL_NONE, 0);
    SET(uint64_t, "run_first_step", 0, 1);
    SET(uint64_t, "execution_ipus_start", 0, 1);
    SET(uint64_t, "execution_cycles", 500);
    SET(double, "execution_tile_balance", 0.5);
    SET(uint64_t, "vertex_type_size_bytes", 12);
    SET(uint32_t, "compute_set_vertices_start", 0, 1);
    SET(uint64_t, "list_start", 0, 1, 3);
    SET(uint32_t, "list_variable", 0, 0, 1);
    SET(uint8_t, "program_type", POPLINER_PROGRAM_ON_TILE_EXECUTE, POPLINER_PROGRAM_OTHER);
    SET(uint64_t, "program_debug_context", 7, 7);
    SET(uint32_t, "program_compute_set", 0, PL_NONE);
    SET(uint32_t, "program_lists_start", 0, 1, 2);
    SET(uint64_t, "program_cycles", 500, 0);
    SET(uint8_t, "program_cycles_source", POPLINER_CYCLES_ESTIMATED, POPLINER_CYCLES_NONE);
    SET(uint32_t, "program_repeats", 1, 1);
    SET(uint32_t, "program_list", 0, 1);
    SET(uint32_t, "fed_list", 1);
    SET(uint32_t, "step_program", 0, 1);
    SET(uint32_t, "step_parent", PL_NONE, 0);
    SET(uint32_t, "class_ranges_start", 0, 1, 2);
    SET(uint32_t, "range_first_step", 0, 1);
    SET(uint32_t, "range_end_step", 2, 2);
    SET(uint32_t, "unlowered_name", 1);
    SET(uint32_t, "variable_size_bytes", 64, 32);
    SET(uint32_t, "variable_offset", 1024, 2048);
    SET(uint32_t, "variable_class", 0, 1);
    SET(uint32_t, "variable_unlowered", 0, PL_NONE);
    SET(uint64_t, "tile_variables_start", 0, 1, 2);
    SET(uint64_t, "tile_total_bytes", 64, 32);
    p->checks[POPLINER_RELATION_STEPS] = (pl_check){2, 1, 32, 8};
    memcpy(o->strings, "layer1", 7);
    o->rows[0] = (pl_operation_row){.debug_context = 7, .inputs = 6, .last_step = 1};
    o->rows[1].programs_start = 2;
    SET(uint32_t, "operation_program", 0, 1);
    assert_int_equal(pl_profile_check(p, "tiny", NULL), POPLINER_OK);
    assert_true(pl_operations_check(o, p));
}

/* ---- What is stored is loaded --------------------------------------------------------------- */

static char *directory; /* of the current test */

static void check_round_trip(const golden_case *c) {
    char *path = test_path(directory, "stored");
    save(c, path);
    assert_true(loads(c, path, c->name));
    free(path);
}

static void loads_what_was_stored(void **state) {
    directory = *state;
    golden_for_each(check_round_trip);
}

static void stores_models_without_operations_or_framework(void **state) {
    directory = *state;
    golden_case c;
    make_tiny(&c);
    check_round_trip(&c);
    golden_free(&c);

    golden_load(&c, "popart-inf");
    for (int round = 0; round < 2; round++) {
        pl_operations_free(c.operations);
        assert_int_equal(pl_operations_find(c.profile, NULL, &c.operations, NULL), POPLINER_OK);
        assert_int_equal(c.operations->count == 0, round == 1);
        check_round_trip(&c);
        /* the second time nothing belongs to anything */
        for (size_t i = 0; i < c.profile->num_programs; i++)
            c.profile->program_debug_context[i] = 0;
    }
    golden_free(&c);
}

static void stores_the_real_profile(void **state) {
    golden_case c;
    directory = *state;
    real_load(&c);
    check_round_trip(&c);
    golden_free(&c);
}

/* ---- Damage --------------------------------------------------------------------------------- */

/* The largest array of the tiny model. */
enum { MAX_BYTES = 1024 };

/* A stored analysis of the tiny model, and another file to damage. */
typedef struct damage {
    golden_case c;
    char *path;
    uint8_t *bytes;
    size_t size;
} damage;

static void begin_damage(damage *d, void **state) {
    make_tiny(&d->c);
    d->path = test_path(*state, "damaged");
    save(&d->c, d->path);
    d->bytes = test_read_bytes(d->path, &d->size);
}

static void end_damage(damage *d) {
    golden_free(&d->c);
    free(d->path);
    free(d->bytes);
}

/* Replaces the bytes of one array. */
static void put_array(const damage *d, const char *name, const void *bytes, size_t size) {
    assert_true(stored_replace(d->path, name, bytes == NULL ? "" : bytes, size));
}

/* Replaces an array in a file that is otherwise sound. */
static void replace_array(const damage *d, const char *name, const void *bytes, size_t size) {
    test_rewrite_bytes(d->path, d->bytes, d->size);
    put_array(d, name, bytes, size);
}

static void refuses_missing_and_resized_arrays(void **state) {
    damage d;
    pl_field fields[2 * PL_MAX_FIELDS];
    begin_damage(&d, state);
    size_t count = list_fields(d.c.profile, d.c.operations, fields);
    fields[count++] = (pl_field){.name = "target", .item_size = 1, .count = &d.size};
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[MAX_BYTES + 1] = {0};
        if (!test_takes_case(i, 5))
            continue;
        test_rewrite_bytes(d.path, d.bytes, d.size);
        assert_true(stored_replace(d.path, fields[i].name, NULL, 0));
        assert_refused(&d.c, d.path, fields[i].name);
        const size_t size = i + 1 == count ? 8 : size_of(&fields[i]);
        assert_true(size < MAX_BYTES);
        if (fields[i].item_size > 1 || i + 1 == count) {
            replace_array(&d, fields[i].name, bytes, size + 1);
            assert_refused(&d.c, d.path, fields[i].name);
        }
    }
    end_damage(&d);
}

/* Whatever an array holds, if it comes with its checksum, it is found to be wrong, or harmless. */
static void survives_arrays_made_up_with_their_checksum(void **state) {
    damage d;
    pl_field fields[2 * PL_MAX_FIELDS];
    begin_damage(&d, state);
    size_t count = list_fields(d.c.profile, d.c.operations, fields);
    uint64_t random = 53;
    for (size_t i = 0; i < count; i++) {
        for (int round = 0; round < 20; round++) {
            size_t size = size_of(&fields[i]);
            uint8_t bytes[MAX_BYTES];
            if (!test_takes_case((size_t)round, 9))
                continue;
            memcpy(bytes, pl_field_items(&fields[i]), size);
            for (size_t k = 0; k < size; k++) {
                random = test_random(random);
                if (round == 0)
                    bytes[k] = 0xff;
                else if (round == 1)
                    bytes[k] = (k + 1) % fields[i].item_size == 0 ? 0x7f : 0xff;
                else if (random >> 61 == 0)
                    bytes[k] = (uint8_t)(random >> 40) & (round % 2 ? 3 : 0xff);
            }
            replace_array(&d, fields[i].name, bytes, size);
            golden_case c = {.name = fields[i].name};
            popliner_error error;
            if (load_stored(d.path, &c.profile, &c.operations, &error) != POPLINER_OK) {
                assert_int_equal(error.status, POPLINER_ERROR_INPUT);
                continue;
            }
            whole_walk(c.profile);
            pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
            pl_layers_free(layers);
            golden_free(&c);
        }
    }
    end_damage(&d);
}

/* Reading joins those that overlap or touch, and leaves out the empty ones. */
static void refuses_live_ranges_that_reading_would_join(void **state) {
    const uint32_t starts[] = {0, 2, 2}; /* both ranges are of the first class */
    static const uint32_t firsts[][2] = {{0, 1}, {0, 2}, {2, 2}};
    static const uint32_t ends[][2] = {{1, 2}, {1, 2}, {2, 2}};
    damage d;
    begin_damage(&d, state);
    replace_array(&d, "class_ranges_start", starts, sizeof starts);
    assert_reason(d.path, "its live ranges are inconsistent");
    for (size_t i = 0; i < 3; i++) {
        put_array(&d, "range_first_step", firsts[i], sizeof firsts[i]);
        put_array(&d, "range_end_step", ends[i], sizeof ends[i]);
        assert_reason(d.path, "its live ranges are inconsistent");
    }
    const uint32_t descending[] = {0, 3, 2}; /* at the end */
    replace_array(&d, "class_ranges_start", descending, sizeof descending);
    assert_reason(d.path, "its equivalence classes are inconsistent");
    end_damage(&d);
}

/* One that is said to be another program would count for some answers and not for others. */
static void refuses_compute_sets_of_other_programs(void **state) {
    damage d;
    begin_damage(&d, state);
    popliner_profile *profile;
    pl_operations *operations;
    assert_int_equal(load_stored(d.path, &profile, &operations, NULL), POPLINER_OK);
    const size_t count = profile->num_programs;
    size_t changed = count;
    uint8_t *types = malloc(count);
    assert_non_null(types);
    for (size_t i = 0; i < count; i++) {
        types[i] = profile->program_type[i];
        if (changed == count && profile->program_compute_set[i] != PL_NONE)
            changed = i;
    }
    assert_true(changed < count);
    pl_profile_free(profile);
    pl_operations_free(operations);
    types[changed] = POPLINER_PROGRAM_STREAM_COPY_MID;
    replace_array(&d, "program_type", types, count);
    assert_reason(d.path, "its programs are inconsistent");
    free(types);
    end_damage(&d);
}

static void refuses_balances_that_are_none(void **state) {
    const double wrong[] = {NAN, INFINITY, -INFINITY, -0.5, 1.5};
    damage d;
    begin_damage(&d, state);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        replace_array(&d, "execution_tile_balance", &wrong[i], sizeof *wrong);
        assert_reason(d.path, "its runs and executed steps are inconsistent");
    }
    end_damage(&d);
}

/* Replaces the categories of the tiny model by so many nameless ones, with their checksum. */
static void replace_categories(const damage *d, size_t num_categories) {
    size_t size = num_categories * sizeof(pl_string);
    pl_string *names = calloc(num_categories, sizeof *names);
    pl_series *series = calloc(num_categories, sizeof *series);
    assert_true(names != NULL && series != NULL);
    replace_array(d, "category_name", names, size);
    put_array(d, "category", names, num_categories); /* also zeros: none is known */
    put_array(d, "category_memory", NULL, 0);
    put_array(d, "category_variables", series, num_categories * sizeof *series);
    put_array(d, "category_always_live", series, num_categories * sizeof *series);
    free(series);
    free(names);
}

/* A variable has one byte for its category, and some arrays have an item for each such number. */
static void refuses_more_categories_than_a_byte_can_tell(void **state) {
    damage d;
    begin_damage(&d, state);
    replace_categories(&d, 257);
    assert_reason(d.path, "categories");
    replace_categories(&d, 100000);
    assert_reason(d.path, "categories");
    end_damage(&d);
}

/* Reports have words for each reason, and none for other numbers. */
static void refuses_reasons_that_there_are_not(void **state) {
    damage d;
    begin_damage(&d, state);
    replace_array(&d, "program_reason", (const uint8_t[]){0, PL_NUM_MISSING_REASONS}, 2);
    assert_reason(d.path, "the operations");
    end_damage(&d);
}

/* Whatever byte of the file is another, or missing: its checksum tells. */
static void refuses_any_other_byte_and_length(void **state) {
    damage d;
    begin_damage(&d, state);
    for (size_t i = 0; i < d.size; i++) {
        char how[100];
        if (!test_takes_case(i, 60))
            continue;
        snprintf(how, sizeof how, "byte %zu of %zu", i, d.size);
        d.bytes[i] ^= (uint8_t)(1u << i % 8);
        test_rewrite_bytes(d.path, d.bytes, d.size);
        assert_refused(&d.c, d.path, how);
        d.bytes[i] ^= (uint8_t)(1u << i % 8);
        test_rewrite_bytes(d.path, d.bytes, i);
        assert_refused(&d.c, d.path, how);
    }
    test_rewrite_bytes(d.path, d.bytes, d.size);
    assert_true(loads(&d.c, d.path, "undamaged"));
    end_damage(&d);
}

/* Names and lengths that are made up, with their checksum: what is said to be there is there. */
static void survives_parts_of_any_length(void **state) {
    damage d;
    uint64_t random = 59;
    begin_damage(&d, state);
    for (size_t i = 0; i < 4000; i++) {
        pl_text file = {0};
        if (!test_takes_case(i, 20))
            continue;
        pl_text_append(&file, (const char *)d.bytes, d.size);
        for (int k = 0; k < 3; k++) {
            random = test_random(random);
            file.data[STORED_HEADER + (random >> 20) % (d.size - STORED_HEADER)] =
                (char)(random >> 50 & (k == 0 ? 0xff : 3));
        }
        file.length -= i % 3 == 0 ? (size_t)(random >> 20) % (d.size - STORED_HEADER) : 0;
        assert_int_equal(pl_archive_write(&file, d.path, NULL), POPLINER_OK);
        golden_case c = {.name = "made up"};
        popliner_error error;
        if (load_stored(d.path, &c.profile, &c.operations, &error) != POPLINER_OK) {
            assert_int_equal(error.status, POPLINER_ERROR_INPUT);
            continue;
        }
        whole_walk(c.profile);
        golden_free(&c);
    }
    end_damage(&d);
}

/* ---- Other files ---------------------------------------------------------------------------- */

static void refuses_files_of_other_kinds(void **state) {
    char *path = test_path(*state, "other");
    assert_reason(path, "no such file or directory");
    assert_reason(*state, "is a directory");
    test_write_bytes(path, "", 0);
    assert_reason(path, "is empty");
    test_write_bytes(path, "layer\t0\t1\n", 10);
    assert_reason(path, "is not a stored analysis");
    free(path);
    char *profile = test_golden_file("popart-inf", "profile.pop");
    if (profile != NULL)
        assert_reason(profile, "is not a stored analysis");
    free(profile);
}

static void refuses_other_versions(void **state) {
    damage d;
    begin_damage(&d, state);
    const uint64_t version = 99;
    memcpy(d.bytes + 16, &version, sizeof version);
    test_rewrite_bytes(d.path, d.bytes, d.size);
    assert_reason(d.path, "has format 99");
    end_damage(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(loads_what_was_stored),
        IN_DIRECTORY(stores_models_without_operations_or_framework),
        IN_DIRECTORY(stores_the_real_profile),
        IN_DIRECTORY(refuses_missing_and_resized_arrays),
        IN_DIRECTORY(refuses_live_ranges_that_reading_would_join),
        IN_DIRECTORY(refuses_compute_sets_of_other_programs),
        IN_DIRECTORY(refuses_balances_that_are_none),
        IN_DIRECTORY(survives_arrays_made_up_with_their_checksum),
        IN_DIRECTORY(refuses_more_categories_than_a_byte_can_tell),
        IN_DIRECTORY(refuses_reasons_that_there_are_not),
        IN_DIRECTORY(refuses_any_other_byte_and_length),
        IN_DIRECTORY(survives_parts_of_any_length),
        IN_DIRECTORY(refuses_files_of_other_kinds),
        IN_DIRECTORY(refuses_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
