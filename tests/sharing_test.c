/* What layers share, by brute force. golden_test.py has PopLiner's tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "diagnosis/diagnosis.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

static void measure_into(const golden_case *c, const pl_layers *layers, pl_sharing *sharing) {
    popliner_error error = {.message = ""};
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    if (pl_sharing_measure(chain, sharing, &error) != POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    assert_int_equal(sharing->num_layers, pl_layers_num_units(layers) - 1);
    pl_chain_free(chain);
}

static pl_sharing measure(const golden_case *c, const pl_layers *layers) {
    pl_sharing sharing = {0};
    measure_into(c, layers, &sharing);
    return sharing;
}

/* ---- Brute force ---------------------------------------------------------------------------- */

enum { MOST_UNITS = 64 };

/* What touches each variable, and whom each step belongs to: bit u for unit u. */
typedef struct owners {
    uint64_t *of_variable;
    uint64_t *of_program;
} owners;

static owners find_owners(const golden_case *c, const pl_layers *layers) {
    const popliner_profile *p = c->profile;
    owners found = {calloc(p->num_variables + 1, sizeof(uint64_t)),
                    calloc(p->num_programs + 1, sizeof(uint64_t))};
    assert_true(found.of_variable != NULL && found.of_program != NULL);
    assert_true(pl_layers_num_units(layers) <= MOST_UNITS);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, i);
        uint64_t unit = (uint64_t)1 << pl_layer_at(layers, i)->unit;
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            found.of_program[program] |= unit;
            for (uint32_t l = p->program_lists_start[program];
                 l < p->program_lists_start[program + 1]; l++) {
                uint32_t list = p->program_list[l];
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                    found.of_variable[p->list_variable[v]] |= unit;
            }
        }
    }
    return found;
}

static bool has(uint64_t units, size_t layer) {
    return (units >> (layer + 1) & 1) != 0;
}

/* Whether a live range of the class begins in layer i and ends in layer j. */
static bool passes(const popliner_profile *p, const owners *found, uint32_t class_index, size_t i,
                   size_t j) {
    for (uint32_t r = p->class_ranges_start[class_index];
         r < p->class_ranges_start[class_index + 1]; r++) {
        uint32_t first = p->range_first_step[r];
        uint32_t end = p->range_end_step[r];
        if (first < end && has(found->of_program[p->step_program[first]], i) &&
            has(found->of_program[p->step_program[end - 1]], j))
            return true;
    }
    return false;
}

static void check_by_brute_force(const golden_case *c, pl_layers *layers) {
    const popliner_profile *p = c->profile;
    pl_sharing sharing = measure(c, layers);
    owners found = find_owners(c, layers);
    size_t n = sharing.num_layers;
    uint64_t *affinity = calloc(n * n + 1, sizeof *affinity);
    uint64_t *communication = calloc(n * n + 1, sizeof *communication);
    assert_true(affinity != NULL && communication != NULL);
    for (size_t v = 0; v < p->num_variables; v++) {
        uint64_t units = found.of_variable[v];
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; has(units, i) && j < n; j++) {
                if (!has(units, j))
                    continue;
                affinity[i * n + j] += p->variable_size_bytes[v];
                if (passes(p, &found, p->variable_class[v], i, j))
                    communication[i * n + j] += p->variable_size_bytes[v];
            }
        }
    }
    assert_true(same_numbers("affinity", sharing.affinity_bytes, affinity, n * n));
    /* where functions are called a program does not tell at which call it ran */
    if (!golden_has_calls(c))
        assert_true(
            same_numbers("communication", sharing.communication_bytes, communication, n * n));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            assert_int_equal(sharing.affinity_bytes[i * n + j], sharing.affinity_bytes[j * n + i]);
            assert_true(sharing.communication_bytes[i * n + j] <=
                        sharing.affinity_bytes[i * n + j]);
        }
    }
    free(affinity);
    free(communication);
    free(found.of_variable);
    free(found.of_program);
    pl_sharing_clear(&sharing);
    pl_layers_free(layers);
}

static void check_case(const golden_case *c) {
    static const char *const regexes[] = {NULL, golden_regex, golden_two_groups, "(.)$"};
    uint64_t random = 41;
    for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++) {
        check_by_brute_force(c, assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_STEPS));
        check_by_brute_force(c, assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_NATURAL));
    }
    for (size_t num_layers = 0; num_layers < MOST_UNITS; num_layers += 9)
        check_by_brute_force(c, assign_at_random(c, num_layers, &random));
}

static void agrees_with_brute_force(void **state) {
    (void)state;
    golden_for_each(check_case);
}

/* ---- Calls, by hand ------------------------------------------------------------------------- */

/* Calls of layers 1 and 2 run the same body, in which a variable goes live and dies: each layer
 * hands it to itself alone, although the one program belongs to both. Another variable lives from
 * the body in the first call to the body in the second. */
static void tells_the_calls_of_a_function_apart(void **state) {
    (void)state;
    enum { CALL_1, CALL_2, BODY };
    popliner_profile p = {
        .target = {.num_tiles = 1},
        .strings = (char[]){""},
        .strings_length = 1,
        .num_programs = 3,
        .program_type =
            (uint8_t[]){POPLINER_PROGRAM_CALL, POPLINER_PROGRAM_CALL, POPLINER_PROGRAM_OTHER},
        .program_compute_set = (uint32_t[]){PL_NONE, PL_NONE, PL_NONE},
        .program_lists_start = (uint32_t[]){0, 0, 0, 1},
        .num_program_lists = 1,
        .program_list = (uint32_t[]){0},
        .num_lists = 1,
        .list_start = (uint64_t[]){0, 2},
        .num_list_variables = 2,
        .list_variable = (uint32_t[]){0, 1},
        .num_steps = 4,
        .step_program = (uint32_t[]){CALL_1, BODY, CALL_2, BODY},
        .step_parent = (uint32_t[]){PL_NONE, 0, PL_NONE, 2},
        .num_classes = 2,
        .class_always_live = (uint8_t[]){0, 0},
        .class_ranges_start = (uint32_t[]){0, 2, 3},
        .num_ranges = 3,
        .range_first_step = (uint32_t[]){1, 3, 1},
        .range_end_step = (uint32_t[]){2, 4, 4},
        .num_variables = 2,
        .variable_size_bytes = (uint32_t[]){8, 100},
        .variable_class = (uint32_t[]){0, 1},
        .variable_unlowered = (uint32_t[]){PL_NONE, PL_NONE},
        .tile_variables_start = (uint64_t[]){0, 2},
    };
    static char strings[] = "\0layer1\0layer2";
    popliner_operation items[4];
    pl_operations operations = {
        .count = 4,
        .of_framework = 1,
        .strings = strings,
        .strings_length = sizeof strings,
        .rows = (pl_operation_row[]){{1, 0, 1, 0, 0, 3, 0, 0},
                                     {2, 0, 1, 0, 1, 3, 2, 0},
                                     {3, 0, 8, 0, 1, 3, 3, 0},
                                     {2, 0, 8, 0, 1, 3, 5, 0},
                                     {.programs_start = 6}},
        .num_programs = 6,
        .program = (uint32_t[]){CALL_1, BODY, BODY, CALL_2, BODY, BODY},
        .num_steps = 4,
        .step_operation = (uint32_t[]){0, 1, 2, 3},
        .items = items,
    };
    pl_operations_complete(&operations);
    const golden_case made = {"made by hand", &p, NULL, &operations};
    pl_layers *layers = assign_layers(&made, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_sharing sharing = measure(&made, layers);
    const uint64_t affinity[] = {108, 108, 108, 108};
    const uint64_t communication[] = {8, 100, 0, 8};
    assert_true(same_numbers("affinity", sharing.affinity_bytes, affinity, 4));
    assert_true(same_numbers("communication", sharing.communication_bytes, communication, 4));
    /* the same again, into the same tables */
    measure_into(&made, layers, &sharing);
    assert_true(same_numbers("affinity", sharing.affinity_bytes, affinity, 4));
    assert_true(same_numbers("communication", sharing.communication_bytes, communication, 4));
    pl_sharing_clear(&sharing);
    pl_layers_free(layers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_brute_force),
        cmocka_unit_test(tells_the_calls_of_a_function_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
