/* The list of operations: the one PopLiner finds in the golden cases, and what they do not have:
 * calls in called functions, calls that tell nothing of what they replace, and programs that come
 * from no framework.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <string.h>

#include "model/operations.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"

/* ---- The golden cases ----------------------------------------------------------------------- */

static void assert_number(const char *what, size_t actual, const json_t *object, const char *key) {
    json_int_t expected = json_integer_value(json_object_get(object, key));
    if ((json_int_t)actual != expected)
        fail_msg("%s: %s is %zu instead of %lld", what, key, actual, (long long)expected);
}

static void check_operations(const golden_case *c) {
    json_t *file = golden_json(c, "operations.json");
    json_t *list = json_object_get(file, "operations");
    assert_true(json_array_size(list) > 0);
    assert_int_equal(pl_operations_count(c->operations), json_array_size(list));
    assert_int_equal(pl_operations_count(c->operations), json_array_size(list));
    assert_true(c->operations->of_framework != 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const popliner_operation *actual = pl_operation_at(c->operations, i);
        const json_t *expected = json_array_get(list, i);
        assert_string_equal(actual->name, json_string_value(json_object_get(expected, "name")));
        assert_number(actual->name, actual->debug_context, expected, "context");
        assert_number(actual->name, actual->num_programs, expected, "programs");
        assert_number(actual->name, actual->first_step, expected, "first_step");
        assert_number(actual->name, actual->last_step, expected, "last_step");
        assert_int_equal(actual->is_tensor, json_is_true(json_object_get(expected, "is_tensor")));
        for (size_t k = 1; k < actual->num_programs; k++)
            assert_true(actual->programs[k - 1] < actual->programs[k]);
    }
    json_decref(file);
}

static void finds_popliners_operations(void **state) {
    (void)state;
    golden_for_each(check_operations);
}

/* Every step with an operation is a step of a program that the operation owns. */
static void check_steps(const golden_case *c) {
    const pl_operations *operations = c->operations;
    assert_int_equal(operations->num_steps, c->profile->num_steps);
    for (size_t step = 0; step < operations->num_steps; step++) {
        uint32_t place = operations->step_operation[step];
        if (place == PL_NONE)
            continue;
        const popliner_operation *operation = pl_operation_at(operations, place);
        bool owns = false;
        for (size_t k = 0; k < operation->num_programs; k++)
            owns = owns || operation->programs[k] == c->profile->step_program[step];
        assert_true(owns);
        assert_true(step >= operation->first_step && step <= operation->last_step);
    }
}

static void knows_the_operation_of_each_step(void **state) {
    (void)state;
    golden_for_each(check_steps);
}

/* ---- Made by hand --------------------------------------------------------------------------- */

enum { MOST = 32 };

/* Contexts 1, 2, ... and programs 0, 1, ..., with just what operations are found by. */
typedef struct model {
    pl_debug_info info;
    pl_debug_context contexts[MOST];
    pl_debug_details details[MOST];
    uint64_t outlined[MOST];
    uint64_t replaced[MOST];
    char strings[1000];

    popliner_profile profile;
    uint8_t type[MOST];
    uint64_t debug_context[MOST];
    uint32_t program_name[MOST];
    uint32_t compute_set[MOST];
    uint32_t step_program[MOST];
    uint32_t step_parent[MOST];
    uint32_t compute_set_name[MOST];
    size_t strings_length;
} model;

/* One text serves the profile and the debug information. */
static uint32_t add_string(model *m, const char *text) {
    if (*text == '\0')
        return 0;
    uint32_t string = (uint32_t)m->strings_length;
    assert_true(m->strings_length + strlen(text) < sizeof m->strings);
    strcpy(m->strings + m->strings_length, text);
    m->strings_length += strlen(text) + 1;
    return string;
}

static void begin(model *m) {
    *m = (model){.strings_length = 1};
    m->info = (pl_debug_info){
        .string_bytes = m->strings,
        .contexts = m->contexts,
        .ids = {.first_id = 1},
        .details = m->details,
        .outlined_ids = m->outlined,
        .replaced_ids = m->replaced,
    };
    m->profile = (popliner_profile){
        .strings = m->strings,
        .program_type = m->type,
        .program_debug_context = m->debug_context,
        .program_name = m->program_name,
        .program_compute_set = m->compute_set,
        .step_program = m->step_program,
        .step_parent = m->step_parent,
        .compute_set_name = m->compute_set_name,
    };
}

/* Returns the id of a new context. */
static uint64_t add_context(model *m, uint64_t parent, bool is_operation,
                            pl_debug_details details) {
    size_t place = m->info.num_contexts++;
    m->info.ids.count++;
    assert_true(place < MOST);
    m->contexts[place] = (pl_debug_context){
        .id = place + 1,
        .parent_id = parent,
        .name = PL_NONE,
        .details = (uint32_t)place,
        .layer = is_operation ? PL_DEBUG_LAYER_OPERATIONS : PL_DEBUG_LAYER_OTHER,
    };
    m->details[place] = details;
    m->info.num_details++;
    return place + 1;
}

/* An operation as PopART describes it: its own context under one that has its name. */
static uint64_t add_operation(model *m, const char *name) {
    uint64_t parent =
        add_context(m, 0, false, (pl_debug_details){.operation_name = add_string(m, name)});
    return add_context(m, parent, true, (pl_debug_details){.operation_name = 0});
}

/* A Call, which has no name; add_replacement says what it replaces. */
static uint64_t add_call(model *m, const char *instance) {
    return add_context(m, 0, true,
                       (pl_debug_details){.is_call = true,
                                          .instance_id = add_string(m, instance),
                                          .first_outlined = m->info.num_outlined});
}

static void add_replacement(model *m, uint64_t call, uint64_t outlined, uint64_t replaced) {
    size_t place = m->info.num_outlined++;
    assert_true(place < MOST);
    m->outlined[place] = outlined;
    m->replaced[place] = replaced;
    m->details[call - 1].num_outlined++;
    assert_int_equal(m->details[call - 1].first_outlined + m->details[call - 1].num_outlined,
                     place + 1);
}

static uint32_t add_program(model *m, popliner_program_type type, uint64_t debug_context) {
    uint32_t program = (uint32_t)m->profile.num_programs++;
    assert_true(program < MOST);
    m->type[program] = (uint8_t)type;
    m->debug_context[program] = debug_context;
    m->compute_set[program] = PL_NONE;
    return program;
}

static uint32_t add_step(model *m, uint32_t program, uint32_t parent) {
    uint32_t step = (uint32_t)m->profile.num_steps++;
    assert_true(step < MOST);
    m->step_program[step] = program;
    m->step_parent[step] = parent;
    return step;
}

static pl_operations *find(model *m, const pl_debug_info *info) {
    pl_operations *operations;
    popliner_error error = {.message = ""};
    pl_debug_resolve(&m->info);
    if (pl_operations_find(&m->profile, info, &operations, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    assert_true(pl_operations_check(operations, &m->profile));
    return operations;
}

static void assert_operation(const pl_operations *operations, size_t index, const char *name,
                             uint64_t debug_context, size_t first_step, size_t last_step) {
    assert_true(index < pl_operations_count(operations));
    const popliner_operation *operation = pl_operation_at(operations, index);
    assert_string_equal(operation->name, name);
    assert_int_equal(operation->debug_context, debug_context);
    assert_int_equal(operation->first_step, first_step);
    assert_int_equal(operation->last_step, last_step);
}

static void assert_programs(const pl_operations *operations, size_t index, size_t count,
                            const uint32_t *programs) {
    const popliner_operation *operation = pl_operation_at(operations, index);
    assert_int_equal(operation->num_programs, count);
    assert_memory_equal(operation->programs, programs, count * sizeof *programs);
}

static void names_an_operation_for_every_call(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint64_t shared = add_operation(&m, "layer0/mul");
    uint64_t second = add_operation(&m, "layer1/mul");
    uint64_t call0 = add_call(&m, "10");
    add_replacement(&m, call0, shared, shared);
    uint64_t call1 = add_call(&m, "11");
    add_replacement(&m, call1, shared, second);
    uint32_t call0_program = add_program(&m, POPLINER_PROGRAM_CALL, call0);
    uint32_t call1_program = add_program(&m, POPLINER_PROGRAM_CALL, call1);
    uint32_t body = add_program(&m, POPLINER_PROGRAM_ON_TILE_EXECUTE, shared);
    add_step(&m, body, add_step(&m, call0_program, PL_NONE)); /* steps 0 and 1 */
    add_step(&m, body, add_step(&m, call1_program, PL_NONE)); /* steps 2 and 3 */
    pl_operations *operations = find(&m, &m.info);
    assert_int_equal(pl_operations_count(operations), 4);
    assert_operation(operations, 0, "Call(10)", call0, 0, 3);
    assert_operation(operations, 1, "layer0/mul", shared, 1, 3);
    assert_operation(operations, 2, "Call(11)", call1, 1, 3);
    assert_operation(operations, 3, "layer1/mul", shared, 1, 3);
    assert_programs(operations, 0, 2, (uint32_t[]){call0_program, body});
    assert_programs(operations, 1, 1, (uint32_t[]){body});
    assert_programs(operations, 2, 2, (uint32_t[]){call1_program, body});
    const uint32_t of_steps[] = {0, 1, 2, 3};
    assert_memory_equal(operations->step_operation, of_steps, sizeof of_steps);
    pl_operations_free(operations);
}

static void composes_names_from_the_inner_call_to_the_outer(void **state) {
    (void)state;
    model m;
    begin(&m);
    /* An operation is outlined twice: first two places of one layer share it, then two layers
     * share that layer's body. The inner calls stand in the outer body, so what they replace
     * are operations of the outer body, and the outer calls replace these. */
    uint64_t a0 = add_operation(&m, "layer0/first"); /* owns the programs */
    uint64_t b0 = add_operation(&m, "layer0/second");
    uint64_t a1 = add_operation(&m, "layer1/first");
    uint64_t b1 = add_operation(&m, "layer1/second");
    uint64_t inner_a = add_call(&m, "1");
    add_replacement(&m, inner_a, a0, a0);
    uint64_t inner_b = add_call(&m, "2");
    add_replacement(&m, inner_b, a0, b0);
    uint64_t outer0 = add_call(&m, "3");
    add_replacement(&m, outer0, a0, a0);
    add_replacement(&m, outer0, b0, b0);
    uint64_t outer1 = add_call(&m, "4");
    add_replacement(&m, outer1, a0, a1);
    add_replacement(&m, outer1, b0, b1);
    uint32_t outer0_program = add_program(&m, POPLINER_PROGRAM_CALL, outer0);
    uint32_t outer1_program = add_program(&m, POPLINER_PROGRAM_CALL, outer1);
    uint32_t inner_a_program = add_program(&m, POPLINER_PROGRAM_CALL, inner_a);
    uint32_t inner_b_program = add_program(&m, POPLINER_PROGRAM_CALL, inner_b);
    uint32_t sequence = add_program(&m, POPLINER_PROGRAM_OTHER, 0);
    uint32_t body = add_program(&m, POPLINER_PROGRAM_ON_TILE_EXECUTE, a0);
    for (int i = 0; i < 2; i++) {
        uint32_t outer = add_step(&m, i == 0 ? outer0_program : outer1_program, PL_NONE);
        uint32_t inside = add_step(&m, sequence, outer);
        add_step(&m, body, add_step(&m, inner_a_program, inside));
        add_step(&m, body, add_step(&m, inner_b_program, inside));
    }
    pl_operations *operations = find(&m, &m.info);
    static const char *const names[] = {"Call(3)",      "Call(1)",       "layer0/first",
                                        "Call(2)",      "layer0/second", "Call(4)",
                                        "layer1/first", "layer1/second"};
    assert_int_equal(pl_operations_count(operations), 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(pl_operation_at(operations, i)->name, names[i]);
    assert_operation(operations, 0, "Call(3)", outer0, 0, 11);
    assert_operation(operations, 2, "layer0/first", a0, 3, 11);
    assert_operation(operations, 3, "Call(2)", inner_b, 3, 11);
    assert_operation(operations, 7, "layer1/second", a0, 3, 11);
    /* an outer call owns all below it that has an operation, an inner one its body */
    assert_programs(operations, 0, 5,
                    (uint32_t[]){outer0_program, inner_a_program, inner_b_program, sequence, body});
    assert_programs(operations, 1, 2, (uint32_t[]){inner_a_program, body});
    assert_programs(operations, 7, 1, (uint32_t[]){body});
    pl_operations_free(operations);
}

static void keeps_the_name_in_calls_that_replace_nothing(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint64_t shared = add_operation(&m, "function/mul");
    uint64_t call = add_call(&m, "");
    uint64_t dangling = add_call(&m, "7");
    add_replacement(&m, dangling, shared, 999); /* not in the file */
    uint32_t call_program = add_program(&m, POPLINER_PROGRAM_CALL, call);
    uint32_t dangling_program = add_program(&m, POPLINER_PROGRAM_CALL, dangling);
    uint32_t bare_program = add_program(&m, POPLINER_PROGRAM_CALL, 0);
    uint32_t body = add_program(&m, POPLINER_PROGRAM_ON_TILE_EXECUTE, shared);
    add_step(&m, body, add_step(&m, call_program, PL_NONE));
    add_step(&m, body, add_step(&m, dangling_program, PL_NONE));
    add_step(&m, body, add_step(&m, bare_program, PL_NONE));
    pl_operations *operations = find(&m, &m.info);
    assert_int_equal(pl_operations_count(operations), 3);
    assert_operation(operations, 0, "Call", call, 0, 5);
    assert_operation(operations, 1, "function/mul", shared, 1, 5);
    assert_operation(operations, 2, "Call(7)", dangling, 1, 5);
    pl_operations_free(operations);
}

static void names_what_has_no_name(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint32_t tensor = add_string(&m, "weights");
    uint32_t instance = add_string(&m, "42");
    uint32_t call = add_string(&m, "Call");
    uint32_t mul = add_string(&m, "mul");
    const pl_debug_details all[] = {
        {.tensor_id = tensor},
        {.tensor_id = tensor, .instance_id = instance},
        {.instance_id = instance},
        {.operation_name = 0},
        {.operation_name = call, .tensor_id = tensor},
        {.operation_name = mul, .tensor_id = tensor, .instance_id = instance},
    };
    static const char *const names[] = {"Tensor/weights", "Tensor(42)/weights", "Anonymous(42)",
                                        "Anonymous",      "Call/weights",       "mul"};
    static const bool tensors[] = {true, true, false, false, true, false};
    for (size_t i = 0; i < 6; i++)
        add_step(
            &m, add_program(&m, POPLINER_PROGRAM_ON_TILE_EXECUTE, add_context(&m, 0, true, all[i])),
            PL_NONE);
    pl_operations *operations = find(&m, &m.info);
    assert_int_equal(pl_operations_count(operations), 6);
    for (size_t i = 0; i < 6; i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        assert_string_equal(operation->name, names[i]);
        assert_int_equal(operation->is_tensor, tensors[i]);
    }
    pl_operations_free(operations);
}

static void takes_the_nearest_operation_context(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint64_t outer = add_operation(&m, "outer");
    uint64_t inner = add_context(&m, outer, true, (pl_debug_details){.instance_id = 0});
    uint64_t below = add_context(&m, inner, false, (pl_debug_details){.instance_id = 0});
    uint64_t nowhere = add_context(&m, 0, false, (pl_debug_details){.instance_id = 0});
    uint64_t circle = add_context(&m, 0, false, (pl_debug_details){.instance_id = 0});
    uint64_t other = add_context(&m, circle, false, (pl_debug_details){.instance_id = 0});
    m.contexts[circle - 1].parent_id = other;
    uint32_t programs[6];
    const uint64_t contexts[] = {outer, below, nowhere, circle, 0, 12345};
    for (size_t i = 0; i < 6; i++)
        add_step(&m, programs[i] = add_program(&m, POPLINER_PROGRAM_OTHER, contexts[i]), PL_NONE);
    pl_operations *operations = find(&m, &m.info);
    assert_int_equal(pl_operations_count(operations), 2);
    assert_operation(operations, 0, "outer", outer, 0, 0);
    /* its name is that of the first context above that has one */
    assert_operation(operations, 1, "outer", inner, 1, 1);
    const uint32_t of_steps[] = {0, 1, PL_NONE, PL_NONE, PL_NONE, PL_NONE};
    assert_memory_equal(operations->step_operation, of_steps, sizeof of_steps);
    pl_operations_free(operations);
}

static void drops_operations_whose_programs_never_run(void **state) {
    (void)state;
    model m;
    begin(&m);
    uint64_t never = add_operation(&m, "never");
    uint64_t runs = add_operation(&m, "runs");
    add_program(&m, POPLINER_PROGRAM_OTHER, never);
    uint32_t second = add_program(&m, POPLINER_PROGRAM_OTHER, runs);
    add_step(&m, second, PL_NONE);
    add_step(&m, second, PL_NONE);
    pl_operations *operations = find(&m, &m.info);
    assert_int_equal(pl_operations_count(operations), 1);
    assert_operation(operations, 0, "runs", runs, 0, 1);
    assert_programs(operations, 0, 1, &second);
    pl_operations_free(operations);
}

static void groups_by_debug_id_without_a_framework(void **state) {
    (void)state;
    model m;
    begin(&m);
    m.compute_set_name[0] = add_string(&m, "Of Set 1/Add");
    const uint64_t ids[] = {77, 5, 77, 0, 9, 5};
    for (size_t i = 0; i < 6; i++)
        add_step(&m, add_program(&m, POPLINER_PROGRAM_ON_TILE_EXECUTE, ids[i]), PL_NONE);
    m.program_name[2] = add_string(&m, "second of 77");
    m.program_name[5] = add_string(&m, "second of 5");
    m.compute_set[1] = 0; /* the first of 5 has no name, but its compute set has one */
    for (int with_info = 0; with_info < 2; with_info++) {
        /* debug information in which no context is an operation changes nothing */
        pl_operations *operations = find(&m, with_info ? &m.info : NULL);
        assert_false(operations->of_framework != 0);
        assert_int_equal(pl_operations_count(operations), 3);
        assert_operation(operations, 0, "second of 77", 77, 0, 2);
        assert_operation(operations, 1, "Of Set 1/Add", 5, 1, 5);
        assert_operation(operations, 2, "Anonymous", 9, 4, 4);
        assert_programs(operations, 0, 2, (uint32_t[]){0, 2});
        assert_programs(operations, 1, 2, (uint32_t[]){1, 5});
        const uint32_t of_steps[] = {0, 1, 0, PL_NONE, 2, 1};
        assert_memory_equal(operations->step_operation, of_steps, sizeof of_steps);
        pl_operations_free(operations);
        add_context(&m, 0, false, (pl_debug_details){.instance_id = 0});
    }
}

static void finds_nothing_where_nothing_has_a_debug_id(void **state) {
    (void)state;
    model m;
    begin(&m);
    pl_operations *operations = find(&m, NULL);
    assert_int_equal(pl_operations_count(operations), 0);
    pl_operations_free(operations);
    add_step(&m, add_program(&m, POPLINER_PROGRAM_OTHER, 0), PL_NONE);
    operations = find(&m, NULL);
    assert_int_equal(pl_operations_count(operations), 0);
    assert_int_equal(operations->step_operation[0], PL_NONE);
    pl_operations_free(operations);
}

/* ---- The real profile ----------------------------------------------------------------------- */

static void lists_the_debug_ids_of_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    const popliner_profile *p = c.profile;
    assert_false(c.operations->of_framework != 0);
    /* by brute force: the ids in the order of their first steps */
    size_t count = 0;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint64_t id = p->program_debug_context[p->step_program[step]];
        bool known = id == 0;
        for (size_t before = 0; before < step && !known; before++)
            known = p->program_debug_context[p->step_program[before]] == id;
        if (known)
            continue;
        assert_true(count < pl_operations_count(c.operations));
        const popliner_operation *operation = pl_operation_at(c.operations, count++);
        assert_int_equal(operation->debug_context, id);
        assert_int_equal(operation->first_step, step);
        const char *name = "";
        size_t num_programs = 0;
        for (size_t program = 0; program < p->num_programs; program++) {
            if (p->program_debug_context[program] != id)
                continue;
            bool runs = false;
            for (size_t s = 0; s < p->num_steps; s++)
                runs = runs || p->step_program[s] == program;
            num_programs += runs;
        }
        assert_int_equal(operation->num_programs, num_programs);
        for (size_t k = 0; k < operation->num_programs && *name == '\0'; k++) {
            uint32_t program = operation->programs[k];
            uint32_t set = p->program_compute_set[program];
            name = pl_profile_string(p, p->program_name[program]);
            if (*name == '\0' && set != PL_NONE)
                name = pl_profile_string(p, p->compute_set_name[set]);
        }
        assert_string_equal(operation->name, *name != '\0' ? name : "Anonymous");
    }
    assert_int_equal(pl_operations_count(c.operations), count);
    assert_true(count > 10);
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_popliners_operations),
        cmocka_unit_test(knows_the_operation_of_each_step),
        cmocka_unit_test(names_an_operation_for_every_call),
        cmocka_unit_test(composes_names_from_the_inner_call_to_the_outer),
        cmocka_unit_test(keeps_the_name_in_calls_that_replace_nothing),
        cmocka_unit_test(names_what_has_no_name),
        cmocka_unit_test(takes_the_nearest_operation_context),
        cmocka_unit_test(drops_operations_whose_programs_never_run),
        cmocka_unit_test(groups_by_debug_id_without_a_framework),
        cmocka_unit_test(finds_nothing_where_nothing_has_a_debug_id),
        cmocka_unit_test(lists_the_debug_ids_of_the_real_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
