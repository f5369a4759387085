/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "test_data.h"

const char golden_regex[] =
    "(Embedding|Layer\\d+/(?:Attention|FF)|CLS|embeddings|encoder/(?:layer_)?\\d+/"
    "(?:attention|intermediate|output)|cls)";
const char golden_two_groups[] = "(Layer|layer_|encoder/)(\\d+)";
const char golden_every_op[] = "^(.)";
const char golden_no_layers[] = "nothing(\\d+)";

static void load(golden_case *c, const char *name, char *profile, char *debug) {
    popliner_error error = {.message = ""};
    *c = (golden_case){.name = name};
    if (pl_read_files(profile, NULL, NULL, &c->profile, NULL, &error) != POPLINER_OK ||
        pl_debug_info_read(NULL, debug, NULL, &c->info, &error) != POPLINER_OK ||
        pl_operations_find(c->profile, c->info, &c->operations, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(profile);
    free(debug);
}

void golden_load(golden_case *c, const char *name) {
    char *profile = test_golden_file(name, "profile.pop");
    char *debug = test_golden_file(name, "debug.cbor");
    assert_true(profile != NULL && debug != NULL);
    load(c, name, profile, debug);
}

void golden_load_directory(golden_case *c, const char *directory) {
    load(c, directory, test_path(directory, "profile.pop"), test_path(directory, "debug.cbor"));
}

void golden_free(golden_case *c) {
    pl_operations_free(c->operations);
    pl_debug_info_free(c->info);
    pl_profile_free(c->profile);
    *c = (golden_case){0};
}

static void load_and_check(void *user, const test_golden_files *files) {
    void (*const *check)(const golden_case *c) = user;
    golden_case c;
    golden_load(&c, files->name);
    (*check)(&c);
    golden_free(&c);
}

void golden_for_each(void (*check)(const golden_case *c)) {
    test_each_golden_case(load_and_check, &check);
}

bool golden_has_calls(const golden_case *c) {
    return strstr(c->name, "outline") != NULL;
}

void real_load(golden_case *c) {
    char *profile = test_firehose_file("profile.pop");
    char *debug = test_firehose_file("debug.cbor");
    if (profile == NULL || debug == NULL) {
        free(profile);
        free(debug);
        test_skip("its data is in ../shared alone");
    }
    load(c, "firehose", profile, debug);
}

/* One number for the one tile, as RLE: one literal, less than 128. */
#define NUMBER(value) 0x83, 0x80 | (value)

golden_case made_case(void) {
    /* series i begins at byte 2 * i and holds numbers[i] */
    enum { ONE, TWO, THREE, CODE_A, CODE_B, CODE_C, CODE_D, CONTROL, PARENT_CONTROL, EXCHANGE };
    static uint8_t numbers[] = {NUMBER(1), NUMBER(2), NUMBER(3), NUMBER(100), NUMBER(30),
                                NUMBER(5), NUMBER(6), NUMBER(9), NUMBER(50),  NUMBER(11)};
#define SERIES(number)                                                                             \
    { 2 * (number), 2 }
    static char strings[] = "\0v\0w\0variable";
    static pl_string type_names[] = {1, 1, 3, 3};
    static uint64_t type_sizes[] = {4, 8, 4, 4}; /* A and B are twins, C and D the same */
    static pl_series type_code[] = {SERIES(CODE_A), SERIES(CODE_B), SERIES(CODE_C), SERIES(CODE_D)};
    static pl_string set_names[] = {0, 0};
    static uint32_t set_vertices[] = {0, 2, 4};
    static uint32_t set_types[] = {0, 3, 1, 2}; /* A and D, B and C */
    static pl_series set_instances[] = {SERIES(THREE), SERIES(ONE), SERIES(TWO), SERIES(ONE)};
    /* program i is that of operation i, at step i */
    static uint8_t types[] = {POPLINER_PROGRAM_OTHER, POPLINER_PROGRAM_ON_TILE_EXECUTE,
                              POPLINER_PROGRAM_OTHER, POPLINER_PROGRAM_ON_TILE_EXECUTE,
                              POPLINER_PROGRAM_DO_EXCHANGE};
    static uint32_t children_start[] = {0, 0, 0, 1, 1, 1};
    static uint32_t children[] = {3};
    static uint64_t contexts[] = {1, 2, 3, 4, 5};
    static pl_string program_names[] = {0, 0, 0, 0, 0};
    static uint32_t compute_sets[] = {PL_NONE, 0, PL_NONE, 1, PL_NONE};
    static pl_series control[] = {{0, 0}, {0, 0}, SERIES(PARENT_CONTROL), {0, 0}, SERIES(CONTROL)};
    static pl_series exchange[] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, SERIES(EXCHANGE)};
    static uint32_t lists_start[] = {0, 1, 2, 2, 3, 3};
    static uint32_t lists[] = {0, 1, 2};
    static uint64_t list_start[] = {0, 1, 4, 5};
    static uint32_t list_variables[] = {4, 0, 1, 2, 3};
    static uint32_t step_programs[] = {0, 1, 2, 3, 4};
    static uint32_t step_parents[] = {PL_NONE, PL_NONE, PL_NONE, PL_NONE, PL_NONE};
    static uint8_t always_live[] = {0, 0, 0, 0, 1};
    static uint32_t ranges_start[] = {0, 1, 2, 3, 5, 6};
    static uint32_t first_steps[] = {0, 1, 4, 0, 3, 0};
    static uint32_t end_steps[] = {1, 3, 5, 1, 4, 5};
    static uint32_t variable_sizes[] = {1000, 10, 500, 7, 90};
    static uint32_t variable_classes[] = {0, 1, 2, 3, 4};
    static uint32_t unlowered[] = {PL_NONE, PL_NONE, PL_NONE, PL_NONE, PL_NONE};
    static uint64_t tile_variables[] = {0, 5};
    static pl_string category_names[] = {5};
    static uint8_t variable_categories[] = {0, 0, 0, 0, 0};
    static uint8_t placing[] = {0, 0, 0, 0, 0}; /* no code */
    static uint8_t known_categories[] = {PL_CATEGORY_VARIABLE};
    /* of the tile: 90 always live and 1007 at step 0; 20 bytes fragment, and nobody uses 40 */
    static uint64_t always_live_bytes[] = {90};
    static uint64_t peak_bytes[] = {1007};
    static uint64_t total_bytes[] = {1117};
    static uint64_t end_bytes[] = {1157};
    static uint32_t offsets[] = {0, 1000, 1010, 1510, 1517};
    static popliner_profile profile = {
        .target = {.num_tiles = 1, .num_ipus = 1, .num_replicas = 1, .bytes_per_tile = 638976},
        .strings = strings,
        .strings_length = sizeof strings,
        .series_bytes = numbers,
        .series_length = sizeof numbers,
        .num_vertex_types = 4,
        .vertex_type_name = type_names,
        .vertex_type_size_bytes = type_sizes,
        .vertex_type_code = type_code,
        .num_compute_sets = 2,
        .compute_set_name = set_names,
        .compute_set_vertices_start = set_vertices,
        .num_compute_set_vertices = 4,
        .compute_set_vertex_type = set_types,
        .compute_set_vertex_instances = set_instances,
        .num_lists = 3,
        .list_start = list_start,
        .num_list_variables = 5,
        .list_variable = list_variables,
        .num_programs = 5,
        .program_type = types,
        .program_children_start = children_start,
        .num_program_children = 1,
        .program_child = children,
        .program_debug_context = contexts,
        .program_name = program_names,
        .program_compute_set = compute_sets,
        .program_control_code = control,
        .program_exchange_code = exchange,
        .program_lists_start = lists_start,
        .num_program_lists = 3,
        .program_list = lists,
        .num_steps = 5,
        .step_program = step_programs,
        .step_parent = step_parents,
        .num_classes = 5,
        .class_always_live = always_live,
        .class_ranges_start = ranges_start,
        .num_ranges = 6,
        .range_first_step = first_steps,
        .range_end_step = end_steps,
        .num_categories = 1,
        .category_name = category_names,
        .category = known_categories,
        .num_variables = 5,
        .variable_size_bytes = variable_sizes,
        .variable_offset = offsets,
        .variable_class = variable_classes,
        .variable_unlowered = unlowered,
        .variable_category = variable_categories,
        .variable_placing = placing,
        .tile_variables_start = tile_variables,
        .tile_total_bytes = total_bytes,
        .tile_total_including_gaps_bytes = end_bytes,
        .tile_always_live_bytes = always_live_bytes,
        .tile_not_always_live_peak_bytes = peak_bytes,
    };
    static char names[] = "\0layer1\0layer2\0none";
    static uint32_t steps[] = {0, 1, 2, 3, 4};
    static pl_operation_row rows[6];
    static const uint32_t operation_names[] = {15, 1, 15, 8, 15};
    for (uint32_t i = 0; i < 5; i++)
        rows[i] = (pl_operation_row){contexts[i], 0, operation_names[i], 0, i, i, i, 0};
    rows[5].programs_start = 5;
    static popliner_operation items[5];
    static pl_operations operations = {
        .count = 5,
        .of_framework = 1,
        .strings = names,
        .strings_length = sizeof names,
        .rows = rows,
        .num_programs = 5,
        .program = steps,
        .num_steps = 5,
        .step_operation = steps,
        .items = items,
    };
    pl_operations_complete(&operations);
    return (golden_case){"made by hand", &profile, NULL, &operations};
}

static void add_missing_arrays(pl_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (pl_field_items(&fields[i]) != NULL)
            continue;
        void *items = calloc(*fields[i].count + fields[i].extra_items + 1, fields[i].item_size);
        assert_non_null(items);
        pl_field_set_items(&fields[i], items);
    }
}

golden_case made_whole_case(void) {
    pl_field fields[PL_MAX_FIELDS];
    golden_case c = made_case();
    c.operations->num_reasons = c.profile->num_programs;
    add_missing_arrays(fields, pl_profile_fields(c.profile, PL_FIELDS_ALL, NULL, fields));
    add_missing_arrays(fields, pl_operations_fields(c.operations, fields));
    return c;
}

json_t *golden_json(const golden_case *c, const char *file) {
    char *path = test_golden_file(c->name, file);
    assert_non_null(path);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (json == NULL)
        fail_msg("%s: %s", path, error.text);
    free(path);
    return json;
}

char *golden_text(const golden_case *c, const char *file) {
    char *path = test_golden_file(c->name, file);
    assert_non_null(path);
    size_t size;
    char *text = (char *)test_read_bytes(path, &size); /* has room for one byte more */
    text[size] = '\0';
    free(path);
    return text;
}

pl_layers *assign_layers(const golden_case *c, const char *regex, popliner_layer_order order) {
    popliner_error error = {.message = ""};
    pl_layers *layers = NULL;
    const pl_layer_options options = {.name_regex = regex, .order = order};
    if (pl_layers_assign(c->profile, c->operations, &options, &layers, &error) != POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    return layers;
}

size_t unit_of_name(const pl_layers *layers, const char *name) {
    if (name == NULL)
        return 0;
    for (size_t unit = 1; unit < pl_layers_num_units(layers); unit++) {
        if (strcmp(pl_layers_name(layers, unit), name) == 0)
            return unit;
    }
    fail_msg("no layer is called %s", name);
    return 0;
}

pl_layers *assign_at_random(const golden_case *c, size_t num_layers, uint64_t *random) {
    /* the same operations with names that say the layer, and without inputs */
    pl_operations renamed = *c->operations;
    pl_text strings = {0};
    renamed.arrays = (pl_arrays){0};
    renamed.rows = pl_arrays_copy(&renamed.arrays, c->operations->rows, renamed.count + 1,
                                  sizeof *renamed.rows);
    assert_false(renamed.arrays.failed);
    pl_text_append(&strings, "", 1);
    for (size_t i = 0; i < renamed.count; i++) {
        *random = test_random(*random);
        size_t unit = (size_t)(*random >> 33) % (num_layers + 1);
        renamed.rows[i].name = (uint32_t)strings.length;
        renamed.rows[i].inputs = 0;
        renamed.rows[i].is_tensor = false;
        if (unit > 0)
            pl_text_format(&strings, "%zu", unit);
        pl_text_append(&strings, "", 1);
    }
    renamed.strings = strings.data;
    renamed.strings_length = strings.length;
    renamed.items = NULL;
    pl_operations_complete(&renamed);
    const golden_case other = {c->name, c->profile, c->info, &renamed};
    pl_layers *layers = assign_layers(&other, "\\d+", POPLINER_LAYER_ORDER_STEPS);
    free(strings.data);
    pl_arrays_free(&renamed.arrays);
    return layers;
}

void spoil_code(golden_case *c, uint64_t *random) {
    popliner_profile *p = c->profile;
    for (size_t i = 0; i < p->num_variables; i++) {
        const char *category = pl_profile_string(p, p->category_name[p->variable_category[i]]);
        bool is_code =
            strcmp(category, "vertexCode") == 0 || strcmp(category, "vertexInstanceState") == 0 ||
            strcmp(category, "vertexFieldData") == 0 ||
            strcmp(category, "internalExchangeCode") == 0 || strcmp(category, "controlCode") == 0;
        if (!is_code || !p->class_always_live[p->variable_class[i]])
            continue;
        *random = test_random(*random);
        p->variable_size_bytes[i] = (uint32_t)(p->variable_size_bytes[i] * (*random >> 62) / 2);
    }
    for (size_t i = 0; i < p->num_list_variables; i++) {
        *random = test_random(*random);
        if (*random >> 60 == 0)
            p->list_variable[i] = (uint32_t)((*random >> 20 & UINT32_MAX) % p->num_variables);
    }
    uint32_t before = PL_NONE;
    for (size_t i = 0; i < p->num_programs; i++) {
        uint32_t compute_set = p->program_compute_set[i];
        *random = test_random(*random);
        if (compute_set != PL_NONE && before != PL_NONE && *random >> 62 == 0)
            p->program_compute_set[i] = before;
        before = compute_set == PL_NONE ? before : compute_set;
    }
}

pl_chain *make_chain(const golden_case *c, const pl_layers *layers, popliner_memory_model model) {
    popliner_error error = {.message = ""};
    pl_chain *chain = NULL;
    if (pl_chain_create(c->profile, c->operations, layers, model, &chain, &error) != POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    return chain;
}

pl_chain *make_chain_of_units(const golden_case *c, const pl_layers *layers,
                              popliner_memory_model model, const popliner_unit_kind *kinds,
                              size_t num_units, const uint32_t *unit_of_operation) {
    const size_t count = pl_operations_count(c->operations);
    pl_chain *chain = test_new_array(1, sizeof *chain);
    bool is_right = false;
    chain->model = model;
    chain->num_units = num_units;
    chain->num_operations = count;
    chain->kind = pl_arrays_copy(&chain->arrays, kinds, num_units, sizeof *kinds);
    chain->layer = pl_arrays_new(&chain->arrays, num_units, sizeof *chain->layer);
    chain->unit_of_operation =
        pl_arrays_copy(&chain->arrays, unit_of_operation, count, sizeof *unit_of_operation);
    assert_false(chain->arrays.failed);
    assert_int_equal(pl_chain_complete(chain, c->profile, c->operations, layers, &is_right, NULL),
                     POPLINER_OK);
    assert_true(is_right);
    chain->usage = pl_arrays_new(&chain->arrays, 1, sizeof *chain->usage);
    pl_operation_usage_find(chain->usage, &chain->arrays, c->profile, c->operations);
    assert_false(chain->arrays.failed);
    return chain;
}

pl_chain *make_chain_of_operations(const golden_case *c, const pl_layers *layers) {
    const size_t count = pl_operations_count(c->operations);
    if (count == 0)
        return make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    popliner_unit_kind *kinds = test_new_array(count, sizeof *kinds);
    uint32_t *unit_of = test_new_array(count, sizeof *unit_of);
    for (size_t i = 0; i < count; i++) {
        kinds[i] = POPLINER_UNIT_LAYER;
        unit_of[i] = (uint32_t)i;
    }
    pl_chain *chain =
        make_chain_of_units(c, layers, POPLINER_MEMORY_MODEL_FULL, kinds, count, unit_of);
    free(kinds);
    free(unit_of);
    return chain;
}

popliner_status measure_all_stages(const pl_chain *chain, size_t num_threads,
                                   const popliner_pipeline *pipeline, popliner_need need,
                                   popliner_costs **costs, pl_stage_details **details,
                                   popliner_error *error) {
    static const popliner_pipeline none = {.max_stages = 1};
    const pl_interval_options options = {.pipeline = pipeline == NULL ? none : *pipeline,
                                         .needs = details == NULL ? 1u << need : 0};
    pl_stage_details *found = NULL;
    pl_stage_meter *meter = NULL;
    popliner_status status = pl_stage_meter_create(chain, num_threads, &meter, error);
    if (status == POPLINER_OK)
        status = pl_intervals_measure(meter, &options, &found, error);
    if (status == POPLINER_OK && details != NULL)
        status = pl_stage_details_find_variables(found, meter, error);
    if (status == POPLINER_OK && costs != NULL)
        status = pl_stage_details_costs(found, chain, &options.pipeline, need, costs, error);
    pl_stage_meter_free(meter);
    if (status == POPLINER_OK && details != NULL)
        *details = found;
    else
        pl_stage_details_free(found);
    return status;
}

void measure_operations(pl_stage_meter *meter, const size_t *units, size_t count,
                        popliner_stage_memory *memory) {
    popliner_interval *stages = test_new_array(count, sizeof *stages);
    for (size_t i = 0; i < count; i++)
        stages[i] = (popliner_interval){units[i], units[i], 1};
    assert_int_equal(pl_stage_measure(meter, NULL, stages, count, memory, NULL, NULL), POPLINER_OK);
    free(stages);
}

void measure_stash(pl_stage_meter *meter, popliner_recompute recompute, size_t first_unit,
                   size_t last_unit, uint64_t *stash) {
    /* one copy in the second stage from the end */
    const popliner_pipeline pipeline = {
        .schedule = POPLINER_SCHEDULE_TF_INTERLEAVED, .recompute = recompute, .max_stages = 2};
    const popliner_interval stage = {first_unit, last_unit, 2};
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_measure(meter, &pipeline, &stage, 1, &memory, NULL, NULL),
                     POPLINER_OK);
    memcpy(stash, memory.part_bytes[POPLINER_PART_STASH], memory.num_tiles * sizeof *stash);
    pl_stage_memory_clear(&memory);
}

bool same_numbers(const char *what, const uint64_t *actual, const uint64_t *expected,
                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (actual[i] != expected[i]) {
            print_error("%s: place %zu is %llu instead of %llu\n", what, i,
                        (unsigned long long)actual[i], (unsigned long long)expected[i]);
            return false;
        }
    }
    return true;
}

uint64_t test_tiles_sum(const uint64_t *bytes, size_t num_tiles) {
    uint64_t sum = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sum += bytes[tile];
    return sum;
}

uint64_t test_tiles_max(const uint64_t *bytes, size_t num_tiles) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        largest = bytes[tile] > largest ? bytes[tile] : largest;
    return largest;
}
