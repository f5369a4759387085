/* The chain of units: where operations and steps belong, by the rules and by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "made_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory/chain_data.h"
#include "memory/intervals.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/operations.h"
#include "profile/profile_data.h"
#include "tables/sections.h"
#include "test_data.h"

/* ---- The rules, by brute force -------------------------------------------------------------- */

/* Marks the variables that the programs of an operation touch, with or without host copies. */
static void mark_touched(const golden_case *c, size_t operation, bool with_copies, bool *touched) {
    const popliner_profile *p = c->profile;
    const popliner_operation *o = pl_operation_at(c->operations, operation);
    for (size_t k = 0; k < o->num_programs; k++) {
        uint32_t program = o->programs[k];
        if (!with_copies && p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID)
            continue;
        for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
             l++) {
            uint32_t list = p->program_list[l];
            for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                touched[p->list_variable[v]] = true;
        }
    }
}

/* The place that has most bytes of the operation's variables, in 256ths and parted equally between
 * the places of a variable; SIZE_MAX if none has any.
 * belongs[place * num_variables + variable] tells where they belong. */
static size_t place_most_touched(const golden_case *c, size_t operation, const bool *belongs,
                                 size_t num_places) {
    size_t num_variables = c->profile->num_variables;
    bool *touched = calloc(num_variables + 1, sizeof *touched);
    assert_non_null(touched);
    mark_touched(c, operation, true, touched);
    size_t best = SIZE_MAX;
    uint64_t most_bytes = 0;
    for (size_t place = 0; place < num_places; place++) {
        uint64_t bytes = 0;
        for (size_t v = 0; v < num_variables; v++) {
            uint64_t places = 0;
            for (size_t other = 0; touched[v] && other < num_places; other++)
                places += belongs[other * num_variables + v];
            if (touched[v] && belongs[place * num_variables + v])
                bytes += (uint64_t)c->profile->variable_size_bytes[v] * 256 / places;
        }
        if (bytes > most_bytes) {
            best = place;
            most_bytes = bytes;
        }
    }
    free(touched);
    return best;
}

/* A layer that was only guessed from what follows does not count. */
static size_t sure_layer(const pl_layers *layers, size_t operation) {
    bool guessed =
        strcmp(pl_layer_at(layers, operation)->note, "deduced_from_following_operation") == 0;
    return guessed ? 0 : pl_layer_at(layers, operation)->unit;
}

/* Where each operation belongs in the full model: its layer, 0 for the head, num_units of the
 * layers for the tail. */
static size_t *expect_places(const golden_case *c, const pl_layers *layers) {
    size_t num_units = pl_layers_num_units(layers);
    size_t num_variables = c->profile->num_variables;
    size_t count = pl_operations_count(c->operations);
    size_t first_step = SIZE_MAX;
    size_t last_step = 0;
    bool *belongs = calloc((num_units + 1) * num_variables + 1, sizeof *belongs);
    size_t *place = calloc(count + 1, sizeof *place);
    assert_true(belongs != NULL && place != NULL);
    for (size_t i = 0; i < count; i++) {
        size_t layer = sure_layer(layers, i);
        const popliner_operation *o = pl_operation_at(c->operations, i);
        if (layer == 0)
            continue;
        mark_touched(c, i, true, belongs + layer * num_variables);
        first_step = o->first_step < first_step ? o->first_step : first_step;
        last_step = o->last_step > last_step ? o->last_step : last_step;
    }
    for (size_t i = 0; i < count; i++) {
        const popliner_operation *o = pl_operation_at(c->operations, i);
        place[i] = sure_layer(layers, i);
        if (place[i] > 0)
            continue;
        if (first_step != SIZE_MAX && o->last_step >= first_step) {
            size_t most = place_most_touched(c, i, belongs, num_units + 1);
            if (o->first_step > last_step && (most == SIZE_MAX || most == num_units - 1))
                place[i] = num_units;
            else if (most != SIZE_MAX)
                place[i] = most;
            else
                place[i] = i == 0 ? 0 : place[i - 1];
        }
        mark_touched(c, i, false, belongs + place[i] * num_variables);
    }
    free(belongs);
    return place;
}

/* Every unit lists its operations, in their order; every step has the operation that it runs for,
 * or the one that ran last. */
static void assert_lists(const golden_case *c, const pl_chain *chain) {
    size_t num_units = pl_chain_num_units(chain);
    size_t count = pl_operations_count(c->operations);
    size_t place = 0;
    assert_int_equal(chain->num_operations, count);
    for (size_t unit = 0; unit < num_units; unit++) {
        assert_int_equal(chain->unit_operations_start[unit], place);
        for (size_t i = 0; i < count; i++) {
            if (pl_chain_unit_of(chain, i) == unit)
                assert_int_equal(chain->unit_operation[place++], i);
        }
        assert_int_equal(pl_chain_has_operations(chain, unit),
                         place > chain->unit_operations_start[unit]);
    }
    assert_int_equal(chain->unit_operations_start[num_units], place);
    assert_int_equal(place, count);
    size_t num_steps = c->operations->num_steps;
    assert_int_equal(chain->num_steps, num_steps);
    const uint32_t *runs_for = c->operations->step_operation;
    uint32_t expected = PL_NONE;
    for (size_t step = num_steps; step-- > 0;) /* the first of all, for what comes before it */
        expected = runs_for[step] == PL_NONE ? expected : runs_for[step];
    for (size_t step = 0; step < num_steps; step++) {
        expected = runs_for[step] == PL_NONE ? expected : runs_for[step];
        assert_int_equal(chain->operation_of_step[step], expected);
    }
}

static void assert_ends(const pl_chain *chain, size_t num_units, size_t num_operations) {
    assert_int_equal(chain->told.num_units, num_units);
    assert_int_equal(chain->told.num_operations, num_operations);
    assert_int_equal(chain->told.num_steps, chain->operations->num_steps);
    assert_ptr_equal(chain->told.unit_kinds, chain->kind);
    assert_ptr_equal(chain->told.unit_labels, chain->labels);
    assert_ptr_equal(chain->told.unit_of_operation, chain->unit_of_operation);
    assert_ptr_equal(chain->told.operation_of_step, chain->operation_of_step);
}

static void check_layers(const golden_case *c, pl_layers *layers) {
    size_t num_units = pl_layers_num_units(layers);
    size_t count = pl_operations_count(c->operations);

    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    assert_int_equal(chain->model, POPLINER_MEMORY_MODEL_POPLINER);
    assert_int_equal(pl_chain_num_units(chain), num_units);
    assert_int_equal(chain->kind[0], POPLINER_UNIT_UNLAYERED);
    assert_null(pl_chain_layer_name(chain, 0));
    for (size_t unit = 1; unit < num_units; unit++) {
        assert_int_equal(chain->kind[unit], POPLINER_UNIT_LAYER);
        assert_string_equal(pl_chain_layer_name(chain, unit), pl_layers_name(layers, unit));
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pl_chain_unit_of(chain, i), pl_layer_at(layers, i)->unit);
    assert_lists(c, chain);
    assert_ends(chain, num_units, count);
    pl_chain_free(chain);

    size_t *place = expect_places(c, layers);
    bool has_head = num_units == 1;
    bool has_tail = false;
    for (size_t i = 0; i < count; i++) {
        has_head = has_head || place[i] == 0;
        has_tail = has_tail || place[i] == num_units;
    }
    chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(chain->model, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(pl_chain_num_units(chain), num_units - 1 + has_head + has_tail);
    size_t unit = 0;
    if (has_head) {
        assert_int_equal(chain->kind[unit], POPLINER_UNIT_HEAD);
        assert_null(pl_chain_layer_name(chain, unit++));
    }
    for (size_t layer = 1; layer < num_units; layer++) {
        assert_int_equal(chain->kind[unit], POPLINER_UNIT_LAYER);
        assert_string_equal(pl_chain_layer_name(chain, unit++), pl_layers_name(layers, layer));
    }
    if (has_tail) {
        assert_int_equal(chain->kind[unit], POPLINER_UNIT_TAIL);
        assert_null(pl_chain_layer_name(chain, unit));
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pl_chain_unit_of(chain, i), place[i] - (has_head ? 0 : 1));
    assert_lists(c, chain);
    pl_chain_free(chain);
    free(place);
    pl_layers_free(layers);
}

static void check_golden(const golden_case *c) {
    const char *const regexes[] = {NULL,   golden_regex,     golden_two_groups, golden_every_op,
                                   "(.)$", golden_no_layers, "(Layer1)",        "(embed\\w*)"};
    for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++) {
        check_layers(c, assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_STEPS));
        check_layers(c, assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_NATURAL));
    }
    uint64_t random = 43;
    for (size_t num_layers = 0; num_layers < 30; num_layers += 7)
        check_layers(c, assign_at_random(c, num_layers, &random));
}

static void places_operations_and_steps_by_the_rules(void **state) {
    (void)state;
    golden_for_each(check_golden);
}

static void places_those_of_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    uint64_t random = 47;
    check_layers(&c, assign_layers(&c, "of Set (\\d+)", POPLINER_LAYER_ORDER_STEPS));
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));
    check_layers(&c, assign_at_random(&c, 5, &random));
    golden_free(&c);
}

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

/* ---- The table ----------------------------------------------------------------------------- */

static const char with_unit[] = "Layer\tNote\tFull name\tVertex state\tVertex code\tExchange code\t"
                                "Control code\tVariables\tUnit\t\n";
static const char without_unit[] = "Layer\tNote\tFull name\tVertex state\tVertex code\t"
                                   "Exchange code\tControl code\tVariables\t\n";

/* The table of operations; the caller frees it. */
static char *operations_table(const golden_case *c, const pl_layers *layers,
                              popliner_memory_model model) {
    pl_chain *chain = make_chain(c, layers, model);
    pl_stage_meter *meter;
    pl_text text = {0};
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    const pl_section_source source = {
        .operations = c->operations, .layers = layers, .chain = chain, .meter = meter};
    assert_int_equal(pl_report_operations(&source, '\t', &text, NULL), POPLINER_OK);
    assert_false(text.failed);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    return text.data;
}

/* The field in place `column` of a row, of `size` characters. */
static const char *field_of(const char *row, size_t column, size_t *size) {
    for (; column > 0; column--)
        row += strcspn(row, "\t\n") + 1;
    *size = strcspn(row, "\t\n");
    return row;
}

static void assert_field(const char *row, size_t column, const char *expected) {
    size_t size;
    const char *field = field_of(row, column, &size);
    if (size != strlen(expected) || strncmp(field, expected, size) != 0)
        fail_msg("column %zu is not '%s' in: %.200s", column, expected, row);
}

/* By default a Call is in the layer of what follows it. The full model places it by the variables
 * that it touches, and its table tells where. */
static void places_guessed_calls_by_what_they_touch(void **state) {
    const char *directory = *state;
    golden_case c;
    make_profile(directory,
                 "--framework popart --training --outline --layers 4 --tiles 8 --seed 103");
    golden_load_directory(&c, directory);
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));

    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    size_t tail = pl_layers_num_units(layers);
    size_t *place = expect_places(&c, layers);
    char *table = operations_table(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    char *original = operations_table(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    assert_int_equal(strncmp(table, with_unit, strlen(with_unit)), 0);
    assert_int_equal(strncmp(original, without_unit, strlen(without_unit)), 0);
    const char *row = table + strlen(with_unit);
    size_t num_moved = 0;
    for (size_t i = 0; i < pl_operations_count(c.operations); i++) {
        const popliner_layer_finding *layer = pl_layer_at(layers, i);
        const char *name = pl_operation_at(c.operations, i)->name;
        row += *row == '\n'; /* before each change of layer */
        assert_field(row, 0, layer->name == NULL ? "None" : layer->name);
        assert_field(row, 1, layer->note);
        assert_field(row, 2, name);
        assert_field(row, 8,
                     place[i] == 0      ? "Head"
                     : place[i] == tail ? "Tail"
                                        : pl_layers_name(layers, place[i]));
        num_moved += layer->unit > 0 && place[i] != layer->unit;
        if (strcmp(name, "Call(313)") == 0) {
            assert_field(row, 0, "3");
            assert_field(row, 1, "deduced_from_following_operation");
            assert_field(row, 8, "0");
        }
        row = strchr(row, '\n') + 1;
    }
    assert_string_equal(row, "");
    assert_non_null(strstr(table, "\tCall(313)\t"));
    assert_true(num_moved > 0);
    free(original);
    free(table);
    free(place);
    pl_layers_free(layers);
    golden_free(&c);
}

/* ---- By hand -------------------------------------------------------------------------------- */

enum { MADE_OPERATIONS = 10, MADE_STEPS = 12 };

/* The arrays of a model whose operation i has program i, which touches the variables of list i. */
typedef struct made_model {
    popliner_profile profile;
    pl_operations operations;
    uint32_t name[MADE_OPERATIONS];
    uint32_t first_step[MADE_OPERATIONS];
    uint32_t last_step[MADE_OPERATIONS];
    uint32_t step_operation[MADE_STEPS];
    uint32_t list_variable[14];
    popliner_operation items[MADE_OPERATIONS];
} made_model;

static golden_case make_model(made_model *m) {
    enum { NONE = 15, ONE = 1, TWO = 8 };
    static char strings[] = "\0layer1\0layer2\0none";
    static uint32_t inputs[MADE_OPERATIONS];
    static uint64_t contexts[MADE_OPERATIONS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static uint8_t tensors[MADE_OPERATIONS];
    static uint32_t numbers[MADE_OPERATIONS + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    /* of the variables 1 and 3 are layer 1's, 2 and 3 layer 2's, 0 and 4 of no layer */
    static uint64_t list_start[MADE_OPERATIONS + 1] = {0, 1, 3, 5, 7, 8, 8, 11, 12, 13, 14};
    static uint32_t sizes[] = {1000, 60, 61, 7, 2000};
    static uint32_t compute_sets[MADE_OPERATIONS];
    static uint8_t types[MADE_OPERATIONS]; /* POPLINER_PROGRAM_OTHER */
    memset(compute_sets, 0xff, sizeof compute_sets);
    *m = (made_model){
        .name = {NONE, ONE, NONE, TWO, NONE, NONE, NONE, NONE, NONE, TWO},
        .first_step = {0, 2, 3, 4, 5, 6, 7, 8, 0, 10},
        .last_step = {1, 2, 3, 4, 5, 6, 7, 8, 11, 10},
        .step_operation = {0, PL_NONE, 1, 2, 3, 4, 5, 6, 7, PL_NONE, 9, 8},
        .list_variable = {0, 1, 3, 1, 2, 2, 3, 3, 1, 0, 4, 0, 4, 3},
    };
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
        .name = m->name,
        .inputs = inputs,
        .debug_context = contexts,
        .is_tensor = tensors,
        .first_step = m->first_step,
        .last_step = m->last_step,
        .programs_start = numbers,
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
    check_layers(c, layers);
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
    m.first_step[7] = 11;
    m.last_step[7] = 11;
    assert_units(&c, all, 3, units); /* but they are the head's */
    m.list_variable[11] = 2;         /* instead of 0: the last layer's */
    static const size_t with_tail[] = {0, 1, 2, 2, 1, 1, 0, 3, 0, 2};
    assert_units(&c, all, 4, with_tail);
    m.first_step[7] = 10; /* not after it */
    static const size_t in_layer_2[] = {0, 1, 2, 2, 1, 1, 0, 2, 0, 2};
    assert_units(&c, all, 3, in_layer_2);

    /* after the last layer, with bytes that belong nowhere: then they are the tail's */
    m.first_step[7] = 11;
    m.list_variable[10] = 0; /* instead of 4: operation 6 leaves those alone */
    m.list_variable[11] = 4;
    static const size_t tail_of_two[] = {0, 1, 2, 2, 1, 1, 0, 3, 3, 2};
    assert_units(&c, all, 4, tail_of_two);

    /* at the first layer's first step: not before it, and nothing is before it in the list */
    make_model(&m);
    m.last_step[0] = 2;
    assert_units(&c, all, 3, units);
    m.list_variable[0] =
        2; /* instead of 0: layer 2's, so it is in the middle, and there is no head */
    static const size_t in_the_middle[] = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1};
    assert_units(&c, all + 1, 2, in_the_middle);
    m.last_step[0] = 1; /* but the head is what ends before, whatever it touches; then the 61 bytes
                           are half the head's, and operation 2 is layer 1's */
    static const size_t head_of_one[] = {0, 1, 1, 2, 1, 1, 1, 1, 1, 2};
    assert_units(&c, all, 3, head_of_one);
    m.list_variable[0] = 0;
    m.name[0] = 1; /* "layer1": no head at all */
    static const size_t no_head[] = {0, 0, 1, 1, 0, 0, 0, 0, 0, 1};
    assert_units(&c, all + 1, 2, no_head);
    m.first_step[7] = 12;
    m.last_step[7] = 12;
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
    check_layers(&c, layers);
}

static void has_one_empty_unit_without_operations(void **state) {
    (void)state;
    made_model m;
    golden_case c = make_model(&m);
    m.operations.count = 0;
    m.operations.num_programs = 0;
    memset(m.step_operation, 0xff, sizeof m.step_operation);
    for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
         model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
        pl_chain *chain = make_chain(&c, layers, model);
        assert_int_equal(pl_chain_num_units(chain), 1);
        assert_int_equal(chain->kind[0], model == POPLINER_MEMORY_MODEL_FULL
                                             ? POPLINER_UNIT_HEAD
                                             : POPLINER_UNIT_UNLAYERED);
        assert_false(pl_chain_has_operations(chain, 0));
        assert_null(pl_chain_layer_name(chain, 0));
        for (size_t step = 0; step < MADE_STEPS; step++)
            assert_int_equal(chain->operation_of_step[step], PL_NONE);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
    m.operations.num_steps = 0; /* and no step either */
    m.profile.num_steps = 0;
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));
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
        cmocka_unit_test(places_operations_and_steps_by_the_rules),
        cmocka_unit_test(places_those_of_the_real_profile),
        cmocka_unit_test(finds_heads_and_tails_in_the_golden_cases),
        cmocka_unit_test(knows_what_leads_out_of_the_profile),
        IN_DIRECTORY(places_guessed_calls_by_what_they_touch),
        cmocka_unit_test(keeps_every_rule),
        cmocka_unit_test(gives_steps_to_the_operation_before),
        cmocka_unit_test(has_only_a_head_without_layers),
        cmocka_unit_test(has_one_empty_unit_without_operations),
        cmocka_unit_test(refuses_a_model_that_there_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
