/* Parameters and the accumulators of their gradients: names and factors by hand, and bytes by what
 * SQL finds of the weights in profiles of made models.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "made_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/parameters.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "test_data.h"
#include "test_sql.h"

static const popliner_schedule schedules[] = {
    POPLINER_SCHEDULE_NONE,       POPLINER_SCHEDULE_INFERENCE,      POPLINER_SCHEDULE_POPART,
    POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_TF_INTERLEAVED, POPLINER_SCHEDULE_SEQUENTIAL};

enum { NUM_SCHEDULES = sizeof schedules / sizeof *schedules, FIRST_TO_TRAIN = 2 };

/* ---- By name -------------------------------------------------------------------------------- */

/* A profile of one variable of the category, of an unlowered variable of that name or of none. */
typedef struct one_variable {
    popliner_profile profile;
    char strings[100];
    pl_string unlowered_name[1];
    uint32_t unlowered[1];
    uint32_t variable_class[1];
    uint8_t always_live[1];
    uint8_t variable_category[1];
    uint8_t category[1];
} one_variable;

static const popliner_profile *make_one(one_variable *one, const char *name, bool is_always_live,
                                        uint8_t category) {
    *one = (one_variable){.unlowered_name = {1},
                          .unlowered = {name == NULL ? PL_NONE : 0},
                          .always_live = {is_always_live},
                          .category = {category}};
    if (name != NULL)
        snprintf(one->strings + 1, sizeof one->strings - 1, "%s", name);
    one->profile = (popliner_profile){
        .strings = one->strings,
        .strings_length = sizeof one->strings,
        .num_variables = 1,
        .variable_unlowered = one->unlowered,
        .variable_class = one->variable_class,
        .class_always_live = one->always_live,
        .variable_category = one->variable_category,
        .category = one->category,
        .num_unlowered = 1,
        .unlowered_name = one->unlowered_name,
    };
    return &one->profile;
}

static void accumulators_are_known_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool is_accumulator;
    } cases[] = {
        {"Accum___Layer0/FF/1/W", true},
        {"accum", true},
        {"layer/GradientACCUMulatorCreate.3", true},
        {"aaccum", true}, /* a beginning that does not lead anywhere */
        {"xaccuAccUm", true},
        {"Accl1___Layer0/FF/1/W", false}, /* a momentum */
        {"Layer0/FF/1/W", false},
        {"accu", false},
        {"a c c u m", false},
        {"acc/um", false},
        {"", false},
        {NULL, false},
    };
    one_variable one;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            pl_has_accumulators(make_one(&one, cases[i].name, true, PL_CATEGORY_VARIABLE)),
            cases[i].is_accumulator);
        /* what comes and goes, or is no variable of the model, is none */
        assert_false(
            pl_has_accumulators(make_one(&one, cases[i].name, false, PL_CATEGORY_VARIABLE)));
        assert_false(pl_has_accumulators(make_one(&one, cases[i].name, true, PL_CATEGORY_OTHER)));
    }
    make_one(&one, "Accum___W", true, PL_CATEGORY_VARIABLE);
    one.profile.num_variables = 0;
    assert_false(pl_has_accumulators(&one.profile));
}

/* Names that recur, with others between them. */
static void every_name_is_looked_at(void **state) {
    (void)state;
    enum { COUNT = 9 };
    char strings[] = "\0W\0Accum___W\0V";
    pl_string names[] = {1, 3, 13};
    uint8_t always_live[] = {1, 0};
    uint8_t categories[] = {PL_CATEGORY_VARIABLE};
    for (size_t place = 0; place <= COUNT; place++)
        for (uint32_t class_index = 0; class_index < 2; class_index++) {
            uint32_t unlowered[COUNT] = {0, 0, 2, PL_NONE, 0, 2, 2, 1, 0};
            uint32_t classes[COUNT] = {0};
            uint8_t variable_categories[COUNT] = {0};
            classes[7] = 1; /* of the same name, but not always live */
            if (place < COUNT) {
                unlowered[place] = 1;
                classes[place] = class_index;
            }
            popliner_profile p = {
                .strings = strings,
                .strings_length = sizeof strings,
                .num_variables = COUNT,
                .variable_unlowered = unlowered,
                .variable_class = classes,
                .class_always_live = always_live,
                .variable_category = variable_categories,
                .category = categories,
                .num_unlowered = 3,
                .unlowered_name = names,
            };
            assert_int_equal(pl_has_accumulators(&p), place < COUNT && class_index == 0);
        }
}

/* ---- By schedule ---------------------------------------------------------------------------- */

static void factors_are_those_of_the_table(void **state) {
    (void)state;
    /* docs/internals/memory-models.md: none, fp16, fp32, auto */
    static const uint64_t without[] = {0, 1, 2, 1};
    static const uint64_t with[] = {0, 1, 2, 0};
    for (int has = 0; has < 2; has++)
        for (size_t i = 0; i < NUM_SCHEDULES; i++)
            for (int a = 0; a <= POPLINER_ACCUMULATORS_AUTO; a++) {
                popliner_pipeline pipeline = {.schedule = schedules[i],
                                              .max_stages = 2,
                                              .effects = (unsigned)a,
                                              .accumulators = (popliner_accumulators)a};
                uint64_t factor = pl_accumulator_factor(&pipeline, has != 0);
                uint64_t expected = has ? with[a] : without[a];
                assert_int_equal(factor, i < FIRST_TO_TRAIN ? 0 : expected);
                /* a profile that does not train has no gradients */
                assert_false(pl_wants_accumulators(&pipeline, false));
            }
}

/* ---- By bytes ------------------------------------------------------------------------------- */

static uint64_t accumulators_of(pl_stage_meter *meter, size_t first, size_t last,
                                popliner_schedule schedule, popliner_accumulators accumulators) {
    const popliner_pipeline pipeline = {
        .schedule = schedule, .max_stages = 2, .accumulators = accumulators};
    const popliner_interval stage = {first, last, 1};
    popliner_stage_detail detail;
    assert_int_equal(pl_stage_measure(meter, &pipeline, &stage, 1, NULL, &detail, NULL),
                     POPLINER_OK);
    return detail.part_bytes[POPLINER_PART_ACCUMULATORS];
}

/* The bytes of always-live variables of the model whose names are like `pattern` and have the
 * prefix, or with NULL are weights that are trained, so that the optimizer keeps something of the
 * same name with the prefix Accl1___. Accumulators have the prefix Accum___. */
static uint64_t bytes_like(sqlite3 *sqlite, const char *prefix, const char *pattern) {
    char sql[700];
    snprintf(sql, sizeof sql,
             "SELECT coalesce(sum(v.size_bytes), 0) FROM vars_info v"
             " JOIN unlowered_vars u ON u.id = v.unlowered_var_id"
             " JOIN var_categories c ON c.id = v.category"
             " JOIN eq_classes e ON e.id = v.equivalence_class"
             " WHERE e.is_always_live AND c.name = 'variable' AND u.name LIKE '%s%s' ESCAPE '!'%s",
             prefix == NULL ? "" : prefix, pattern,
             prefix != NULL ? ""
                            : " AND EXISTS (SELECT 1 FROM unlowered_vars o"
                              " WHERE o.name = 'Accl1___' || u.name)");
    return test_ask(sqlite, sql);
}

static uint64_t weights_like(sqlite3 *sqlite, const char *pattern) {
    return bytes_like(sqlite, NULL, pattern);
}

/* The last layer's gradients are accumulated before any other layer works backward, so that its
 * accumulators, if the profile has some, pass for parameters. */
static void assert_either(uint64_t actual, uint64_t without, uint64_t with) {
    if (actual != without)
        assert_int_equal(actual, with);
}

static void check_model(void **state, const char *options, const char *layer_pattern,
                        const char *head_pattern, const char *tail_pattern, bool has_accumulators) {
    char *directory = test_path(*state, "made");
    golden_case c;
    pl_stage_meter *meter;
    make_profile(directory,
                 "--layers 4 --tiles 4 --hidden 16 --sequence 8 --vocabulary 60 --training %s",
                 options);
    golden_load_directory(&c, directory);
    c.name = options;
    char *path = test_path(directory, "profile.pop");
    sqlite3 *sqlite = test_open_to_write(path);
    test_run_sql(sqlite, "CREATE INDEX by_name ON unlowered_vars(name)");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    size_t num_units = pl_chain_num_units(chain);
    size_t num_layers = 0;
    char last_pattern[100];
    snprintf(last_pattern, sizeof last_pattern, layer_pattern, "3");
    uint64_t accumulators_of_last = bytes_like(sqlite, "Accum!_!_!_", last_pattern) +
                                    bytes_like(sqlite, "Accum!_!_!_", tail_pattern);
    assert_int_equal(accumulators_of_last > 0, has_accumulators);
    assert_int_equal(pl_has_accumulators(c.profile), has_accumulators);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    for (size_t i = 0; i < NUM_SCHEDULES; i++) {
        uint64_t all = i < FIRST_TO_TRAIN ? 0 : weights_like(sqlite, "%");
        assert_true(i < FIRST_TO_TRAIN || all > 1000);
        uint64_t more = i < FIRST_TO_TRAIN ? 0 : accumulators_of_last;
        const uint64_t without[] = {0, all, 2 * all, has_accumulators ? 0 : all};
        const uint64_t with[] = {0, all + more, 2 * (all + more), has_accumulators ? 0 : all};
        for (int a = 0; a <= POPLINER_ACCUMULATORS_AUTO; a++)
            assert_either(
                accumulators_of(meter, 0, num_units - 1, schedules[i], (popliner_accumulators)a),
                without[a], with[a]);
    }
    for (size_t unit = 0; unit < num_units; unit++) {
        char pattern[100];
        if (chain->kind[unit] != POPLINER_UNIT_LAYER)
            continue;
        snprintf(pattern, sizeof pattern, layer_pattern, chain->labels[unit]);
        uint64_t bytes = weights_like(sqlite, pattern);
        assert_true(bytes > 100);
        /* a regex counts some operations to the outer layers that the generator keeps beside all */
        bool is_first = num_layers == 0;
        bool is_last = num_layers == 3;
        bytes += is_first ? weights_like(sqlite, head_pattern) : 0;
        bytes += is_last ? weights_like(sqlite, tail_pattern) : 0;
        uint64_t found = accumulators_of(meter, is_first ? 0 : unit, is_last ? num_units - 1 : unit,
                                         POPLINER_SCHEDULE_SEQUENTIAL, POPLINER_ACCUMULATORS_FP16);
        assert_either(found, bytes, bytes + (is_last ? accumulators_of_last : 0));
        num_layers++;
    }
    assert_int_equal(num_layers, 4);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    sqlite3_close(sqlite);
    golden_free(&c);
    free(path);
    free(directory);
}

static void parameters_are_the_weights(void **state) {
    check_model(state, "--framework popart", "Layer%s/%%", "Embedding/%", "Squad/%", false);
    if (test_takes_all()) {
        check_model(state, "--framework popart --outline --accumulate", "Layer%s/%%", "Embedding/%",
                    "Squad/%", true);
        check_model(state, "--framework poptorch", "bert.encoder.layer.%s.%%", "bert.embeddings.%",
                    "cls.%", false);
    }
    check_model(state, "--framework tensorflow --accumulate", "%%/blocks!_%s/%%", "%/stem/%",
                "%head/%", true);
}

/* ---- When gradients are complete ------------------------------------------------------------ */

/* A training by hand: step 0 is forward and of layer 0; steps 1, the turn, and 2 are of layer 1;
 * the others are of layer 0. */
enum { NUM_STEPS = 8, NUM_VARIABLES = 6, PROBE = 5, BYTES = 1000, PROBE_BYTES = 10000 };

/* `w` and `m` are always live and of the category `variable`, `c` is always live, and code; A and B
 * come and go. H: the program is a copy to the host. */
static const char letters[] = "wmcAB";

typedef struct by_hand {
    const char *touched[NUM_STEPS];
    const char *operations; /* of each step */
    const char *live[2];    /* of A and B: for each step the number of a range, or none */
    const char *counted[2]; /* with accumulators */
} by_hand;

static const by_hand trainings[] = {
    /* an update takes a gradient */
    {{"w", "w", "", "A", "", "wA", "", ""},
     "01234567",
     {"...000..", "........"},
     {"...#....", "........"}},
    /* a momentum takes it first, then the update */
    {{"w", "w", "", "A", "", "mA", "wA", ""},
     "01234567",
     {"...0000.", "........"},
     {"...#....", "........"}},
    /* only the momentum takes it; what is between that and the update is none */
    {{"w", "w", "", "A", "mAB", "wB", "", ""},
     "01234567",
     {"...00...", "....00.."},
     {"...#....", "....##.."}},
    /* the sum of two */
    {{"w", "w", "A", "", "A", "", "wA", ""},
     "01234567",
     {"..00000.", "........"},
     {"..###...", "........"}},
    /* A is the gradient of inputs, by a product with parameters: that is no update */
    {{"w", "w", "wA", "AB", "", "wB", "", ""},
     "01234567",
     {"..0000..", "...000.."},
     {"..####..", "...#...."}},
    /* what changes a parameter is no update if something needs its other result later */
    {{"w", "w", "", "A", "wAB", "B", "", ""},
     "01234567",
     {"...0000.", "....00.."},
     {"...####.", "....##.."}},
    /* also the last of all */
    {{"w", "w", "", "", "", "A", "wAB", "B"},
     "01234567",
     {".....00.", "......00"},
     {".....##.", "......##"}},
    /* and then neither is an earlier one that has something in common with it */
    {{"w", "w", "A", "wA", "wAB", "B", "", ""},
     "01234567",
     {"..0000..", "....00.."},
     {"..####..", "....##.."}},
    /* a temporary of a function that both call: later ranges stay as they are */
    {{"w", "w", "", "A", "", "wA", "", ""},
     "01234567",
     {"00.11.23", "........"},
     {"##.#..##", "........"}},
    {{"w", "w", "", "A", "", "wA", "", ""},
     "01234567",
     {"00111112", "........"},
     {"####...#", "........"}},
    /* such a temporary of the forward pass, too */
    {{"wA", "w", "", "A", "", "wA", "", ""},
     "01234567",
     {"000000..", "........"},
     {"######..", "........"}},
    /* nothing but updates touches it */
    {{"w", "w", "", "", "wA", "wA", "", ""},
     "01234567",
     {"...0000.", "........"},
     {"...####.", "........"}},
    /* code is no parameter */
    {{"w", "w", "", "A", "", "cA", "", ""},
     "01234567",
     {"...0000.", "........"},
     {"...####.", "........"}},
    /* of the last layer, from the turn on */
    {{"w", "A", "wA", "", "", "", "", ""},
     "01234567",
     {".0000...", "........"},
     {".#......", "........"}},
    /* a copy to the host later */
    {{"w", "w", "", "A", "", "wA", "HA", ""},
     "01234567",
     {"...0000.", "........"},
     {"...#....", "........"}},
    /* what makes it runs again, before or after the update */
    {{"w", "w", "", "A", "", "", "wA", ""},
     "01234356",
     {"...00000", "........"},
     {"...###..", "........"}},
    {{"w", "w", "", "A", "", "wA", "", ""},
     "01234536",
     {"...0000.", "........"},
     {"...####.", "........"}},
};

enum { NUM_TRAININGS = sizeof trainings / sizeof *trainings };

/* The arrays of a training; the program of each step is its own. */
typedef struct hand_arrays {
    uint32_t number[NUM_VARIABLES + NUM_STEPS];
    uint32_t zero[NUM_VARIABLES + NUM_STEPS];
    uint64_t zero_bytes[NUM_STEPS];
    uint32_t none[NUM_STEPS];
    pl_series no_code[NUM_STEPS];
    uint8_t program_type[NUM_STEPS];
    uint64_t context[NUM_STEPS];
    uint32_t list_variable[NUM_STEPS * NUM_VARIABLES];
    uint64_t list_start[NUM_STEPS + 1];
    uint32_t range_first_step[2 * NUM_STEPS + 1];
    uint32_t range_end_step[2 * NUM_STEPS + 1];
    uint32_t ranges_start[NUM_VARIABLES + 1];
    uint32_t size_bytes[NUM_VARIABLES];
    uint64_t tile_variables[2];
    uint8_t placing[NUM_VARIABLES];
    pl_operation_row rows[NUM_STEPS + 1];
    uint32_t program[NUM_STEPS];
    uint32_t step_operation[NUM_STEPS];
    popliner_operation items[NUM_STEPS];
    popliner_profile profile;
    pl_operations operations;
} hand_arrays;

static void fill_variables(const by_hand *training, hand_arrays *a) {
    uint32_t count = 0;
    for (size_t v = 0; v < NUM_VARIABLES; v++) {
        const char *live = v == 3 || v == 4 ? training->live[v - 3] : "........";
        a->ranges_start[v] = count;
        for (uint32_t step = 0; step < NUM_STEPS; step++) {
            if (live[step] == '.')
                continue;
            if (step == 0 || live[step] != live[step - 1])
                a->range_first_step[count++] = step;
            a->range_end_step[count - 1] = step + 1;
        }
    }
    a->ranges_start[NUM_VARIABLES] = count + 1; /* the last one is of the probe */
    a->tile_variables[1] = NUM_VARIABLES;
}

static void fill_steps(const by_hand *training, hand_arrays *a) {
    uint32_t num_programs = 0;
    uint64_t num_touched = 0;
    for (uint32_t step = 0; step < NUM_STEPS; step++) {
        a->none[step] = PL_NONE;
        a->context[step] = step + 1;
        a->program_type[step] = POPLINER_PROGRAM_DO_EXCHANGE;
        a->step_operation[step] = (uint32_t)(training->operations[step] - '0');
        for (const char *letter = training->touched[step]; *letter != '\0'; letter++)
            if (*letter == 'H')
                a->program_type[step] = POPLINER_PROGRAM_STREAM_COPY_MID;
            else
                a->list_variable[num_touched++] = (uint32_t)(strchr(letters, *letter) - letters);
        a->list_start[step + 1] = num_touched;
    }
    for (uint32_t i = 0; i < NUM_STEPS; i++) {
        pl_operation_row *row = &a->rows[i];
        *row = (pl_operation_row){.debug_context = i + 1, .programs_start = num_programs};
        for (uint32_t step = 0; step < NUM_STEPS; step++)
            if (a->step_operation[step] == i) {
                a->operations.count = i + 1;
                row->first_step = num_programs == row->programs_start ? step : row->first_step;
                row->last_step = step;
                a->program[num_programs++] = step;
            }
        row->name = row->first_step == 1 || row->first_step == 2 ? 8 : 1;
        row[1].programs_start = num_programs;
    }
}

static golden_case make_by_hand(const by_hand *training, hand_arrays *a) {
    static char strings[] = "\0variable\0vertexCode";
    static char names[] = "\0layer0\0layer1";
    static pl_string category_names[] = {1, 10};
    static uint8_t categories[] = {PL_CATEGORY_VARIABLE, PL_CATEGORY_VERTEX_CODE};
    static uint8_t variable_categories[NUM_VARIABLES] = {0, 0, 1, 0, 0, 0};
    static uint8_t always_live[NUM_VARIABLES] = {1, 1, 1, 0, 0, 0};
    *a = (hand_arrays){0};
    for (uint32_t i = 0; i < NUM_VARIABLES + NUM_STEPS; i++)
        a->number[i] = i;
    a->profile = (popliner_profile){
        .target = {.num_tiles = 1, .num_ipus = 1, .num_replicas = 1, .bytes_per_tile = 638976},
        .strings = strings,
        .strings_length = sizeof strings,
        .num_lists = NUM_STEPS,
        .list_start = a->list_start,
        .list_variable = a->list_variable,
        .num_programs = NUM_STEPS,
        .program_type = a->program_type,
        .program_children_start = a->zero,
        .program_debug_context = a->context,
        .program_name = a->zero,
        .program_compute_set = a->none,
        .program_control_code = a->no_code,
        .program_exchange_code = a->no_code,
        .program_lists_start = a->number,
        .num_program_lists = NUM_STEPS,
        .program_list = a->number,
        .num_steps = NUM_STEPS,
        .step_program = a->number,
        .step_parent = a->none,
        .num_classes = NUM_VARIABLES,
        .class_always_live = always_live,
        .class_ranges_start = a->ranges_start,
        .range_first_step = a->range_first_step,
        .range_end_step = a->range_end_step,
        .num_categories = 2,
        .category_name = category_names,
        .category = categories,
        .num_variables = NUM_VARIABLES,
        .variable_size_bytes = a->size_bytes,
        .variable_offset = a->zero,
        .variable_class = a->number,
        .variable_unlowered = a->none,
        .variable_category = variable_categories,
        .variable_placing = a->placing,
        .tile_variables_start = a->tile_variables,
        .tile_total_bytes = a->zero_bytes,
        .tile_total_including_gaps_bytes = a->zero_bytes,
        .tile_always_live_bytes = a->zero_bytes,
        .tile_not_always_live_peak_bytes = a->zero_bytes,
    };
    a->operations = (pl_operations){
        .of_framework = 1,
        .strings = names,
        .strings_length = sizeof names,
        .rows = a->rows,
        .num_programs = NUM_STEPS,
        .program = a->program,
        .num_steps = NUM_STEPS,
        .step_operation = a->step_operation,
        .items = a->items,
    };
    fill_variables(training, a);
    a->profile.num_ranges = a->ranges_start[NUM_VARIABLES];
    fill_steps(training, a);
    a->profile.num_list_variables = a->list_start[NUM_STEPS];
    pl_operations_complete(&a->operations);
    return (golden_case){"by hand", &a->profile, NULL, &a->operations};
}

/* Whether a variable counts at a step of the stage that is everything. So much more lives then, the
 * probe, that the peak is there. */
static bool counts(const pl_chain *chain, hand_arrays *a, popliner_accumulators accumulators,
                   size_t variable, uint32_t step) {
    const popliner_pipeline pipeline = {
        .schedule = POPLINER_SCHEDULE_SEQUENTIAL, .max_stages = 2, .accumulators = accumulators};
    const popliner_interval stage = {0, pl_chain_num_units(chain) - 1, 1};
    popliner_stage_detail detail;
    pl_stage_meter *meter;
    memset(a->size_bytes, 0, sizeof a->size_bytes);
    a->size_bytes[variable] = BYTES;
    a->size_bytes[PROBE] = PROBE_BYTES;
    a->range_first_step[a->profile.num_ranges - 1] = step;
    a->range_end_step[a->profile.num_ranges - 1] = step + 1;
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    assert_int_equal(pl_stage_measure(meter, &pipeline, &stage, 1, NULL, &detail, NULL),
                     POPLINER_OK);
    pl_stage_meter_free(meter);
    bool does = detail.need_bytes[POPLINER_NEED_LEAST] != 0;
    assert_int_equal(detail.step, step);
    /* no operation touches the probe, so that the least does without it */
    assert_int_equal(detail.need_bytes[POPLINER_NEED_LEAST], does ? BYTES * 850 / 1000 : 0);
    assert_int_equal(detail.need_bytes[POPLINER_NEED_EXPECTED], PROBE_BYTES + (does ? BYTES : 0));
    /* of one tile, which does not deviate: 2 % more, and 13.5 %, each rounded up */
    const uint64_t all = PROBE_BYTES + (does ? BYTES : 0);
    const uint64_t most = (all * 1020 + 999) / 1000;
    assert_int_equal(detail.need_bytes[POPLINER_NEED_MOST], (most * 1135 + 999) / 1000);
    return does;
}

static void gradients_count_until_they_are_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_TRAININGS; i++) {
        static hand_arrays arrays;
        const by_hand *training = &trainings[i];
        golden_case c = make_by_hand(training, &arrays);
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        for (uint32_t step = 0; step < NUM_STEPS; step++)
            for (size_t k = 0; k < 2; k++) {
                bool expected = training->counted[k][step] == '#';
                bool is_live = training->live[k][step] != '.';
                if (counts(chain, &arrays, POPLINER_ACCUMULATORS_FP16, 3 + k, step) != expected)
                    fail_msg("training %zu: %c counts at step %u, or does not", i, letters[3 + k],
                             step);
                assert_int_equal(counts(chain, &arrays, POPLINER_ACCUMULATORS_NONE, 3 + k, step),
                                 is_live);
            }
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
}

/* Also with a meter that has measured a stage with accumulators. */
static void without_a_pipeline_everything_counts(void **state) {
    (void)state;
    static hand_arrays arrays;
    golden_case c = make_by_hand(&trainings[0], &arrays);
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_SEQUENTIAL,
                                        .max_stages = 2,
                                        .accumulators = POPLINER_ACCUMULATORS_FP16};
    const popliner_interval stage = {0, 1, 1};
    popliner_stage_memory memory = {0};
    pl_stage_meter *meter;
    arrays.size_bytes[3] = BYTES; /* a gradient, of steps 3 ... 5, complete after 3 */
    arrays.range_first_step[arrays.profile.num_ranges - 1] = 4;
    arrays.range_end_step[arrays.profile.num_ranges - 1] = 5;
    arrays.size_bytes[PROBE] = PROBE_BYTES;
    assert_int_equal(pl_chain_num_units(chain), 2);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(
            pl_stage_measure(meter, NULL, &(popliner_interval){0, 1, 1}, 1, &memory, NULL, NULL),
            POPLINER_OK);
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0], PROBE_BYTES + BYTES);
        assert_int_equal(pl_stage_measure(meter, &pipeline, &stage, 1, &memory, NULL, NULL),
                         POPLINER_OK);
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0], PROBE_BYTES);
    }
    pl_stage_memory_clear(&memory);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulators_are_known_by_name),
        cmocka_unit_test(every_name_is_looked_at),
        cmocka_unit_test(factors_are_those_of_the_table),
        IN_DIRECTORY(parameters_are_the_weights),
        cmocka_unit_test(gradients_count_until_they_are_complete),
        cmocka_unit_test(without_a_pipeline_everything_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
