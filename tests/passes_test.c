/* The passes of a training in the costs of intervals: what trains, cycles against the simple
 * evaluation, and what the costs leave out when a limit is given. tests/memory_model.py has the
 * memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "made_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/passes.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "naive_passes.h"
#include "pipeline/pipeline.h"
#include "popliner/stage.h"
#include "profile/profile_data.h"
#include "test_data.h"
#include "test_sql.h"

/* Where profiles are made; NULL in tests that make none. */
static char *scratch;

static popliner_costs *measure(const golden_case *c, const pl_chain *chain) {
    popliner_costs *costs;
    popliner_error error = {.message = ""};
    if (measure_all_stages(chain, 0, NULL, POPLINER_NEED_EXPECTED, &costs, NULL, &error) !=
        POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    return costs;
}

/* The cycles of all stages, NULL if there are none; over links, these have no transfers. */
static const uint64_t *cycles_of(pl_arrays *arrays, const pl_chain *chain,
                                 const popliner_costs *costs, bool has_links) {
    pl_passes passes = {0};
    pl_passes_find(&passes, arrays, chain);
    if (pl_profile_cycles_source(chain->profile) < POPLINER_CYCLES_ESTIMATED)
        return NULL;
    const pl_unit_cycles units = pl_unit_cycles_find(arrays, chain, &passes);
    return pl_stage_cycles_find(arrays, chain, &units, NULL, has_links ? NULL : costs->cuts_bytes);
}

/* A profile of popliner-mkprofile. */
static void make_model(golden_case *c, const char *name, const char *options) {
    char *path = test_path(scratch, name);
    make_profile(path, "--tiles 8 --hidden 32 --sequence 16 --vocabulary 200 %s", options);
    golden_load_directory(c, path);
    c->name = name;
    free(path);
}

/* Calls `check` for chains of several kinds over the operations of a case. */
static void for_each_chain(const golden_case *c,
                           void (*check)(const golden_case *c, const pl_chain *chain)) {
    static const char *const regexes[] = {NULL, golden_two_groups, "(.)$"};
    uint64_t random = 53;
    for (size_t i = 0; i < 5; i++) {
        if (!test_takes_case(i, 5))
            continue;
        pl_layers *layers = i < 3 ? assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_STEPS)
                                  : assign_at_random(c, 2 * i - 3, &random);
        for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
             model <= POPLINER_MEMORY_MODEL_FULL; model++) {
            pl_chain *chain = make_chain(c, layers, model);
            check(c, chain);
            pl_chain_free(chain);
        }
        pl_layers_free(layers);
    }
}

/* ---- Pipelines ------------------------------------------------------------------------------ */

/* The golden cases that train, as their names tell. */
static bool is_training(const golden_case *c) {
    return strstr(c->name, "train") != NULL;
}

/* A model that is one stage gets nothing from outside except for the data that the file lists
 * for copies from the host, without parameters. The host copies it after the model has begun. */
static void keeps_what_the_host_feeds(void **state) {
    scratch = *state;
    golden_case c;
    make_model(&c, "fed", "--layers 3 --training");
    char *path = test_path(scratch, "fed/profile.pop");
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    uint64_t fed_bytes =
        test_ask(sqlite, "SELECT sum(size_bytes) FROM vars_info v JOIN eq_classes c ON "
                         "c.id = v.equivalence_class WHERE NOT c.is_always_live AND v.var_id IN "
                         "(SELECT r.var_id FROM exchange_regions r JOIN host_exchange_from_host h "
                         "ON h.regions_id = r.id)");
    assert_true(fed_bytes > 0);
    sqlite3_close(sqlite);
    free(path);
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    size_t num_tiles = c.profile->target.num_tiles;
    uint64_t *stash = test_new_array(num_tiles, sizeof *stash);
    pl_stage_meter *meter;
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    measure_stash(meter, POPLINER_RECOMPUTE_FULL, 0, pl_chain_num_units(chain) - 1, stash);
    assert_int_equal(test_tiles_sum(stash, num_tiles), fed_bytes);
    pl_stage_meter_free(meter);
    free(stash);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* With layers as the default finds them a profile trains if it says so. */
static void check_training(const golden_case *c) {
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
         model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        pl_chain *chain = make_chain(c, layers, model);
        pl_arrays arrays = {0};
        pl_passes passes = {0};
        pl_passes_find(&passes, &arrays, chain);
        assert_int_equal(passes.is_training, is_training(c));
        pl_arrays_free(&arrays);
        pl_chain_free(chain);
    }
    pl_layers_free(layers);
}

static void tells_training_from_inference(void **state) {
    (void)state;
    golden_for_each(check_training);
}

/* ---- Cuts ----------------------------------------------------------------------------------- */

/* The cuts of the chain of the full model, in the order of the layers. */
static size_t cuts_of(const char *name, const char *options, uint64_t cuts[20]) {
    golden_case c;
    make_model(&c, name, options);
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    popliner_costs *costs = measure(&c, chain);
    size_t count = 0;
    for (size_t unit = 1; unit < pl_chain_num_units(chain); unit++) {
        if (chain->kind[unit] == POPLINER_UNIT_LAYER &&
            chain->kind[unit - 1] == POPLINER_UNIT_LAYER)
            cuts[count++] = popliner_costs_cut(costs, unit);
    }
    popliner_costs_free(costs);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
    return count;
}

/* Equal, but for how unevenly the generator spreads each tensor over the tiles. */
static void assert_about(uint64_t actual, uint64_t expected) {
    assert_true(actual > expected - expected / 50 && actual < expected + expected / 50);
}

/* Functions do not change what the layers of a model send: an activation, and in training its
 * gradient. */
static void outlining_changes_no_cut(void **state) {
    enum { NUM_LAYERS = 5 };
    uint64_t cuts[4][20];
    scratch = *state;
    static const char *const options[4] = {
        "--layers 5 --inference --no-outline", "--layers 5 --inference --outline",
        "--layers 5 --training --no-outline", "--layers 5 --training --outline"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cuts_of("outlining", options[i], cuts[i]), NUM_LAYERS - 1);
    for (size_t i = 0; i < NUM_LAYERS - 1; i++) {
        assert_true(cuts[0][i] > 0);
        assert_about(cuts[1][i], cuts[0][i]);
        assert_about(cuts[2][i], 2 * cuts[0][i]);
        assert_about(cuts[3][i], 2 * cuts[0][i]);
    }
}

/* ---- Cycles --------------------------------------------------------------------------------- */

static void check_cycles(const golden_case *c, const pl_chain *chain) {
    naive_passes n;
    naive_begin(&n, c, chain);
    popliner_costs *costs = measure(c, chain);
    pl_arrays arrays = {0};
    for (int has_links = 0; has_links < 2; has_links++) {
        const uint64_t *cycles = cycles_of(&arrays, chain, costs, has_links != 0);
        assert_non_null(cycles);
        for (size_t first = 0; first < n.num_units; first++) {
            for (size_t last = first; last < n.num_units && last < first + 6; last++) {
                uint64_t cut = first > 0 ? popliner_costs_cut(costs, first) : 0;
                cut += last + 1 < n.num_units ? popliner_costs_cut(costs, last + 1) : 0;
                const double seconds = (double)cut / (double)POPLINER_LINK_BYTES_PER_SECOND;
                uint64_t on_link = (uint64_t)ceil(seconds * (double)c->profile->target.clock_hz);
                assert_int_equal(cycles[pl_triangle_place(n.num_units, first, last)],
                                 naive_cycles(&n, first, last) + (has_links != 0 ? 0 : on_link));
            }
        }
    }
    pl_arrays_free(&arrays);
    popliner_costs_free(costs);
    naive_end(&n);
}

/* The compute sets of the golden cases have no estimates: here they get some. */
static void estimate_computing(const golden_case *c) {
    popliner_profile *p = c->profile;
    uint64_t random = 61;
    assert_int_equal(p->num_timed_programs, p->num_programs);
    for (size_t i = 0; i < p->num_programs; i++) {
        random = test_random(random);
        if (p->program_type[i] != POPLINER_PROGRAM_ON_TILE_EXECUTE || random >> 61 == 0)
            continue;
        p->program_cycles[i] = random >> 44;
        p->program_cycles_source[i] = POPLINER_CYCLES_ESTIMATED;
    }
    const size_t last = p->num_steps - 1; /* it computes, too */
    for (size_t step = 0; step < last; step++)
        if (p->program_cycles[p->step_program[step]] > 0 &&
            c->operations->step_operation[step] != PL_NONE) {
            p->step_program[last] = p->step_program[step];
            c->operations->step_operation[last] = c->operations->step_operation[step];
        }
}

/* Every sequence around computing becomes a switch, whose branches compute as often as each other
 * where they are single steps: the first one runs. */
static void let_branches_tie(const golden_case *c) {
    popliner_profile *p = c->profile;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint8_t *type = &p->program_type[p->step_program[step]];
        if (*type == POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH)
            *type = POPLINER_PROGRAM_SEQUENCE;
    }
    for (size_t step = 0; step < p->num_steps; step++)
        if (p->program_type[p->step_program[step]] == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            p->program_type[p->step_program[p->step_parent[step]]] =
                POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH;
}

static void check_golden_cycles(const golden_case *c) {
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    popliner_costs *costs = measure(c, chain);
    pl_arrays arrays = {0};
    /* exchanges alone say nothing of how busy an IPU is */
    assert_null(cycles_of(&arrays, chain, costs, false));
    pl_arrays_free(&arrays);
    popliner_costs_free(costs);
    pl_chain_free(chain);
    pl_layers_free(layers);
    estimate_computing(c);
    for_each_chain(c, check_cycles);
    let_branches_tie(c);
    for_each_chain(c, check_cycles);
}

static void counts_cycles(void **state) {
    (void)state;
    golden_for_each(check_golden_cycles);
}

/* As they are written: every layer of the same model takes about as long, and training takes twice
 * the time or more. */
static void layers_alike_take_alike(void **state) {
    scratch = *state;
    uint64_t total[2] = {0};
    for (int training = 0; training < 2; training++) {
        golden_case c;
        make_model(&c, "alike", training ? "--layers 4 --training" : "--layers 4 --inference");
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        const size_t num_units = pl_chain_num_units(chain);
        popliner_costs *costs = measure(&c, chain);
        pl_arrays arrays = {0};
        const uint64_t *cycles = cycles_of(&arrays, chain, costs, false);
        assert_non_null(cycles);
        size_t middle = SIZE_MAX; /* a layer between others */
        for (size_t unit = 1; unit + 1 < num_units; unit++) {
            if (chain->kind[unit - 1] == POPLINER_UNIT_LAYER &&
                chain->kind[unit + 1] == POPLINER_UNIT_LAYER)
                middle = unit;
        }
        assert_true(middle != SIZE_MAX);
        total[training] = cycles[pl_triangle_place(num_units, middle, middle)];
        uint64_t before = cycles[pl_triangle_place(num_units, middle - 1, middle - 1)];
        assert_true(total[training] > before / 2 && total[training] < 2 * before);
        pl_arrays_free(&arrays);
        popliner_costs_free(costs);
        pl_chain_free(chain);
        pl_layers_free(layers);
        golden_free(&c);
    }
    assert_true(total[1] > 2 * total[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_training_from_inference), IN_DIRECTORY(keeps_what_the_host_feeds),
        IN_DIRECTORY(outlining_changes_no_cut),          cmocka_unit_test(counts_cycles),
        IN_DIRECTORY(layers_alike_take_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
