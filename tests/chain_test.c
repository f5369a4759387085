/* The chain of units: where operations and steps belong, by hand. memory_model_test.py has the
 * rules again, for golden, made and real profiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "test_data.h"

/* ---- Golden cases --------------------------------------------------------------------------- */

/* A model with a head in which the golden cases have it, or the test would be of nothing. */
static void finds_heads_and_tails_in_the_golden_cases(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-inf");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    size_t last = pl_chain_num_units(chain) - 1;
    assert_int_equal(chain->kind[0], POPLINER_UNIT_HEAD);
    assert_int_equal(chain->kind[last], POPLINER_UNIT_TAIL);
    for (size_t i = 0; i < pl_operations_count(c.operations); i++) {
        const popliner_operation *o = pl_operation_at(c.operations, i);
        for (size_t k = 0; k < pl_operations_count(c.operations); k++) {
            const popliner_operation *other = pl_operation_at(c.operations, k);
            if (pl_layer_at(layers, k)->unit == 0)
                continue;
            if (pl_chain_unit_of(chain, i) == 0)
                assert_true(o->last_step < other->first_step);
            if (pl_chain_unit_of(chain, i) == last)
                assert_true(o->first_step > other->last_step);
        }
    }
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* ---- By hand -------------------------------------------------------------------------------- */

enum { MADE_OPERATIONS = 10, MADE_STEPS = 12 };

/* The arrays of a model whose operation i has program i, which touches the variables of list i. */
typedef struct made_model {
    popliner_profile profile;
    pl_operations operations;
    pl_operation_row rows[MADE_OPERATIONS + 1];
    uint32_t step_operation[MADE_STEPS];
    uint32_t list_variable[14];
    popliner_operation items[MADE_OPERATIONS];
} made_model;

static golden_case make_model(made_model *m) {
    enum { NONE = 15, ONE = 1, TWO = 8 };
    static char strings[] = "\0layer1\0layer2\0none";
    static const uint32_t names[] = {NONE, ONE, NONE, TWO, NONE, NONE, NONE, NONE, NONE, TWO};
    static const uint32_t first_steps[] = {0, 2, 3, 4, 5, 6, 7, 8, 0, 10};
    static const uint32_t last_steps[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 10};
    static uint32_t numbers[MADE_OPERATIONS + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    /* of the variables 1 and 3 are layer 1's, 2 and 3 layer 2's, 0 and 4 of no layer */
    static uint64_t list_start[MADE_OPERATIONS + 1] = {0, 1, 3, 5, 7, 8, 8, 11, 12, 13, 14};
    static uint32_t sizes[] = {1000, 60, 61, 7, 2000};
    static uint32_t compute_sets[MADE_OPERATIONS];
    static uint8_t types[MADE_OPERATIONS]; /* POPLINER_PROGRAM_OTHER */
    memset(compute_sets, 0xff, sizeof compute_sets);
    *m = (made_model){
        .step_operation = {0, PL_NONE, 1, 2, 3, 4, 5, 6, 7, PL_NONE, 9, 8},
        .list_variable = {0, 1, 3, 1, 2, 2, 3, 3, 1, 0, 4, 0, 4, 3},
    };
    for (uint32_t i = 0; i < MADE_OPERATIONS; i++)
        m->rows[i] = (pl_operation_row){i + 1, 0, names[i], 0, first_steps[i], last_steps[i], i, 0};
    m->rows[MADE_OPERATIONS].programs_start = MADE_OPERATIONS;
    m->profile = (popliner_profile){
        .target = {.num_tiles = 1},
        .strings = strings,
        .strings_length = 1,
        .num_programs = MADE_OPERATIONS,
        .program_type = types,
        .program_compute_set = compute_sets,
        .program_lists_start = numbers,
        .num_program_lists = MADE_OPERATIONS,
        .program_list = numbers,
        .num_lists = MADE_OPERATIONS,
        .list_start = list_start,
        .num_list_variables = sizeof m->list_variable / sizeof *m->list_variable,
        .list_variable = m->list_variable,
        .num_steps = MADE_STEPS,
        .num_variables = sizeof sizes / sizeof *sizes,
        .variable_size_bytes = sizes,
    };
    m->operations = (pl_operations){
        .count = MADE_OPERATIONS,
        .of_framework = 1,
        .strings = strings,
        .strings_length = sizeof strings,
        .rows = m->rows,
        .num_programs = MADE_OPERATIONS,
        .program = numbers,
        .num_steps = MADE_STEPS,
        .step_operation = m->step_operation,
        .items = m->items,
    };
    pl_operations_complete(&m->operations);
    return (golden_case){"made by hand", &m->profile, NULL, &m->operations};
}

static void assert_units(const golden_case *c, const popliner_unit_kind *kinds, size_t num_units,
                         const size_t *units) {
    pl_operations_complete(c->operations); /* some were changed since */
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(pl_chain_num_units(chain), num_units);
    for (size_t unit = 0; unit < num_units; unit++)
        assert_int_equal(chain->kind[unit], kinds[unit]);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        if (pl_chain_unit_of(chain, i) != units[i])
            fail_msg("operation %zu is in unit %zu", i, pl_chain_unit_of(chain, i));
    }
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void keeps_every_rule(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    static const popliner_unit_kind all[] = {POPLINER_UNIT_HEAD, POPLINER_UNIT_LAYER,
                                             POPLINER_UNIT_LAYER, POPLINER_UNIT_TAIL};
    /* Operation 0 ends before layer 1 begins, at step 2: so its 1000 bytes belong to the head. 2
     * touches 60 bytes of layer 1's and 61 of layer 2's; 4 the 7 bytes of both; 5 nothing; 6 the
     * 60, which are both layers' by now, and those of the head; 7 those of the head, 8 what 6
     * touches. No tail: layer 2 ends at step 10. */
    static const size_t units[] = {0, 1, 2, 2, 1, 1, 0, 0, 0, 2};
    assert_units(&c, all, 3, units);

    /* after the last layer, with bytes of its own */
    m.rows[7].first_step = 11;
    m.rows[7].last_step = 11;
    assert_units(&c, all, 3, units); /* but they are the head's */
    m.list_variable[11] = 2;         /* instead of 0: the last layer's */
    static const size_t with_tail[] = {0, 1, 2, 2, 1, 1, 0, 3, 0, 2};
    assert_units(&c, all, 4, with_tail);
    m.rows[7].first_step = 10; /* not after it */
    static const size_t in_layer_2[] = {0, 1, 2, 2, 1, 1, 0, 2, 0, 2};
    assert_units(&c, all, 3, in_layer_2);

    /* after the last layer, with bytes that belong nowhere: then they are the tail's */
    m.rows[7].first_step = 11;
    m.list_variable[10] = 0; /* instead of 4: operation 6 leaves those alone */
    m.list_variable[11] = 4;
    static const size_t tail_of_two[] = {0, 1, 2, 2, 1, 1, 0, 3, 3, 2};
    assert_units(&c, all, 4, tail_of_two);

    /* at the first layer's first step: not before it, and nothing is before it in the list */
    make_model(&m);
    m.rows[0].last_step = 2;
    assert_units(&c, all, 3, units);
    m.list_variable[0] =
        2; /* instead of 0: layer 2's, so it is in the middle, and there is no head */
    static const size_t in_the_middle[] = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1};
    assert_units(&c, all + 1, 2, in_the_middle);
    m.rows[0].last_step =
        1; /* but the head is what ends before, whatever it touches; then the 61 bytes
                           are half the head's, and operation 2 is layer 1's */
    static const size_t head_of_one[] = {0, 1, 1, 2, 1, 1, 1, 1, 1, 2};
    assert_units(&c, all, 3, head_of_one);
    m.list_variable[0] = 0;
    m.rows[0].name = 1; /* "layer1": no head at all */
    static const size_t no_head[] = {0, 0, 1, 1, 0, 0, 0, 0, 0, 1};
    assert_units(&c, all + 1, 2, no_head);
    m.rows[7].first_step = 12;
    m.rows[7].last_step = 12;
    m.list_variable[11] = 2;
    static const size_t tail_alone[] = {0, 0, 1, 1, 0, 0, 0, 2, 0, 1};
    assert_units(&c, all + 1, 3, tail_alone);
}

static void gives_steps_to_the_operation_before(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    static const uint32_t owners[] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 9, 8};
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    for (size_t step = 0; step < MADE_STEPS; step++)
        assert_int_equal(chain->operation_of_step[step], owners[step]);
    pl_chain_free(chain);
    /* before the first of them: the first one's */
    m.step_operation[0] = PL_NONE;
    chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    for (size_t step = 0; step < MADE_STEPS; step++)
        assert_int_equal(chain->operation_of_step[step], step < 2 ? 1 : owners[step]);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void has_only_a_head_without_layers(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    pl_layers *layers = assign_layers(&c, golden_no_layers, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(pl_chain_num_units(chain), 1);
    assert_int_equal(chain->kind[0], POPLINER_UNIT_HEAD);
    assert_true(pl_chain_has_operations(chain, 0));
    for (size_t i = 0; i < MADE_OPERATIONS; i++)
        assert_int_equal(pl_chain_unit_of(chain, i), 0);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void has_one_empty_unit_without_operations(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    m.operations.count = 0;
    m.operations.num_programs = 0;
    memset(m.step_operation, 0xff, sizeof m.step_operation);
    for (int round = 0; round < 4; round++) {
        popliner_memory_model model =
            round % 2 == 0 ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL;
        if (round == 2) /* and no step either */
            m.operations.num_steps = m.profile.num_steps = 0;
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
        pl_chain *chain = make_chain(&c, layers, model);
        assert_int_equal(pl_chain_num_units(chain), 1);
        assert_int_equal(chain->kind[0], model == POPLINER_MEMORY_MODEL_FULL
                                             ? POPLINER_UNIT_HEAD
                                             : POPLINER_UNIT_UNLAYERED);
        assert_false(pl_chain_has_operations(chain, 0));
        assert_null(pl_chain_layer_name(chain, 0));
        for (size_t step = 0; step < m.profile.num_steps; step++)
            assert_int_equal(chain->operation_of_step[step], PL_NONE);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
    pl_chain_free(NULL);
}

static void refuses_a_model_that_there_is_not(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = NULL;
    popliner_error error;
    popliner_memory_model model = (popliner_memory_model)(POPLINER_MEMORY_MODEL_FULL + 1);
    assert_int_equal(pl_chain_create(c.profile, c.operations, layers, model, &chain, &error),
                     POPLINER_ERROR_USAGE);
    assert_null(chain);
    pl_layers_free(layers);
}

/* What a file may say of the last unit, operation and interval is looked at, too. */
static void knows_what_leads_out_of_the_profile(void **state) {
    (void)state;
    golden_case c;
    bool is_right = true;
    char *sample = test_project_file("data/sample");
    golden_load_directory(&c, sample);
    free(sample);
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    const size_t num_units = pl_chain_num_units(chain);
    pl_stage_details *details;
    assert_int_equal(
        measure_all_stages(chain, 0, NULL, POPLINER_NEED_EXPECTED, NULL, &details, NULL),
        POPLINER_OK);
    assert_true(pl_details_check(details, num_units, c.profile));
    assert_true(details->variables[0].count > 0);
    details->variables[0].count = POPLINER_DETAIL_VARIABLES + 1;
    assert_false(pl_details_check(details, num_units, c.profile));
    pl_stage_details_free(details);
    uint32_t *unit = &chain->unit_of_operation[chain->num_operations - 1];
    const uint32_t kept = *unit;
    *unit = (uint32_t)num_units;
    pl_chain_complete(chain, c.profile, c.operations, layers, &is_right, NULL);
    assert_false(is_right);
    *unit = kept;
    is_right = true;
    chain->kind[num_units - 1] = POPLINER_UNIT_TAIL + 1;
    pl_chain_complete(chain, c.profile, c.operations, layers, &is_right, NULL);
    assert_false(is_right);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_heads_and_tails_in_the_golden_cases),
        cmocka_unit_test(knows_what_leads_out_of_the_profile),
        cmocka_unit_test(keeps_every_rule),
        cmocka_unit_test(gives_steps_to_the_operation_before),
        cmocka_unit_test(has_only_a_head_without_layers),
        cmocka_unit_test(has_one_empty_unit_without_operations),
        cmocka_unit_test(refuses_a_model_that_there_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
