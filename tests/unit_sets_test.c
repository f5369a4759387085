/* Sets of units: the same as sets of bits, each distinct one kept once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "memory/account.h"
#include "memory/chain_data.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "profile/profile_data.h"

static uint64_t units_of(const pl_unit_usage *usage, uint32_t operations) {
    const uint32_t set = usage->units_of_set[operations];
    assert_true(usage->num_units <= 64 && set < usage->sets.count);
    return *pl_bits_at(&usage->sets, set);
}

/* Sets of operations descend, and none is kept twice, in use or not. */
static void assert_sets(const pl_linked_sets *sets) {
    assert_int_equal(sets->last[0], PL_NONE);
    for (uint32_t a = 1; a < sets->count; a++) {
        assert_true(sets->rest[a] < a);
        assert_true(sets->rest[a] == 0 || sets->last[sets->rest[a]] < sets->last[a]);
        for (uint32_t b = 0; b < a; b++)
            assert_true(sets->rest[a] != sets->rest[b] || sets->last[a] != sets->last[b]);
    }
}

/* Variables that copies from or to the host touch, and that nothing else does, or something
 * does. */
static struct {
    size_t only_copied;
    size_t also_computed_on;
} met;

/* The units that use a program, compute set or variable, straight from the operations; unit_of
 * gives the unit of each operation. With an account, copies from and to the host do not count
 * for what anything else touches. */
static void assert_usage(const golden_case *c, const pl_unit_usage *usage, const uint32_t *unit_of,
                         bool has_account) {
    const popliner_profile *p = c->profile;
    uint64_t *programs = calloc(p->num_programs, sizeof *programs);
    uint64_t *compute_sets = calloc(p->num_compute_sets, sizeof *compute_sets);
    uint64_t *variables = calloc(p->num_variables, sizeof *variables);
    uint64_t *copied = calloc(p->num_variables, sizeof *copied);
    assert_true(programs != NULL && compute_sets != NULL && variables != NULL && copied != NULL);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, i);
        uint64_t unit = (uint64_t)1 << unit_of[i];
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            programs[program] |= unit;
            if (p->program_compute_set[program] != PL_NONE)
                compute_sets[p->program_compute_set[program]] |= unit;
            for (uint32_t l = p->program_lists_start[program];
                 l < p->program_lists_start[program + 1]; l++) {
                uint32_t list = p->program_list[l];
                bool is_copy = p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID;
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                    *(is_copy ? copied + p->list_variable[v] : variables + p->list_variable[v]) |=
                        unit;
            }
        }
    }
    for (size_t i = 0; i < p->num_programs; i++)
        assert_int_equal(units_of(usage, usage->by_operation->program_set[i]), programs[i]);
    for (size_t i = 0; i < p->num_compute_sets; i++)
        assert_int_equal(units_of(usage, usage->by_operation->compute_set_set[i]), compute_sets[i]);
    for (size_t i = 0; i < p->num_variables; i++) {
        met.only_copied += copied[i] != 0 && variables[i] == 0;
        met.also_computed_on += copied[i] != 0 && variables[i] != 0;
        if (!has_account || variables[i] == 0)
            variables[i] |= copied[i];
        assert_int_equal(units_of(usage, usage->by_operation->variable_set[i]), variables[i]);
    }
    free(copied);
    free(programs);
    free(compute_sets);
    free(variables);
}

static void check_usage(const golden_case *c) {
    size_t count = pl_operations_count(c->operations);
    uint32_t *unit_of = calloc(count, sizeof *unit_of);
    assert_non_null(unit_of);
    uint64_t random = 3;
    for (size_t num_layers = 0; num_layers < 60; num_layers += 11) {
        pl_layers *layers = assign_at_random(c, num_layers, &random);
        for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
             model <= POPLINER_MEMORY_MODEL_FULL; model++) {
            pl_chain *chain = make_chain(c, layers, model);
            for (size_t i = 0; i < count; i++)
                unit_of[i] = (uint32_t)pl_chain_unit_of(chain, i);
            assert_sets(&chain->usage->sets);
            pl_arrays own = {0};
            for (int has_account = 0; has_account < 2; has_account++) {
                pl_unit_usage usage = {0};
                pl_unit_usage_find(&usage, &own, chain->usage, unit_of, pl_chain_num_units(chain),
                                   has_account != 0 && pl_chain_is_full(chain));
                assert_false(own.failed);
                assert_int_equal(usage.num_units, pl_chain_num_units(chain));
                assert_usage(c, &usage, unit_of,
                             has_account != 0 && model == POPLINER_MEMORY_MODEL_FULL);
            }
            pl_arrays_free(&own);
            pl_chain_free(chain);
        }
        pl_layers_free(layers);
    }
    free(unit_of);
}

/* Like check_usage, if every second program copies from the host: data that nothing else touches
 * is rare. */
static void check_usage_with_copies(const golden_case *c) {
    const popliner_profile *p = c->profile;
    uint8_t *types = malloc(p->num_programs);
    assert_non_null(types);
    memcpy(types, p->program_type, p->num_programs);
    for (size_t i = 0; i < p->num_programs; i += 2)
        p->program_type[i] = POPLINER_PROGRAM_STREAM_COPY_MID;
    check_usage(c);
    memcpy(p->program_type, types, p->num_programs);
    free(types);
}

static void knows_the_units_of_programs_and_variables(void **state) {
    (void)state;
    golden_for_each(check_usage);
    golden_for_each(check_usage_with_copies);
    assert_true(met.only_copied > 0 && met.also_computed_on > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_units_of_programs_and_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
