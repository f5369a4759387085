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
#include "memory/passes.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
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
                uint64_t factor = pl_wants_accumulators(&pipeline, true)
                                      ? pl_accumulator_factor(&pipeline, has != 0)
                                      : 0;
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
    assert_int_equal(pl_stage_detail_measure(meter, &pipeline, &stage, 1, &detail, NULL),
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
    popliner_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
    popliner_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    size_t num_units = popliner_chain_num_units(chain);
    size_t num_layers = 0;
    char last_pattern[100];
    snprintf(last_pattern, sizeof last_pattern, layer_pattern, "3");
    uint64_t accumulators_of_last = bytes_like(sqlite, "Accum!_!_!_", last_pattern) +
                                    bytes_like(sqlite, "Accum!_!_!_", tail_pattern);
    assert_int_equal(accumulators_of_last > 0, has_accumulators);
    assert_int_equal(pl_has_accumulators(c.profile), has_accumulators);
    assert_int_equal(pl_stage_meter_create(chain, &meter, NULL), POPLINER_OK);
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
        const popliner_chain_unit *own = popliner_chain_unit_at(chain, unit);
        if (own->kind != POPLINER_UNIT_LAYER)
            continue;
        snprintf(pattern, sizeof pattern, layer_pattern, own->label);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulators_are_known_by_name),
        cmocka_unit_test(every_name_is_looked_at),
        cmocka_unit_test(factors_are_those_of_the_table),
        IN_DIRECTORY(parameters_are_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
