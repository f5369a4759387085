/* The memory that compiling stages separately adds, for every interval and for several on one IPU:
 * measured at once, and measured separately. tests/memory_model.py has the rules again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "made_profile.h"

#include <stdlib.h>

#include "costs/costs.h"
#include "memory/chain_data.h"
#include "memory/parameters.h"
#include "memory/passes.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "same_detail.h"
#include "test_data.h"

enum { NUM_SCHEDULES = POPLINER_SCHEDULE_SEQUENTIAL + 1 };

static const unsigned effect_sets[] = {0, POPLINER_EFFECT_LAYOUT, POPLINER_EFFECT_PASSING,
                                       POPLINER_EFFECT_BUFFERS, POPLINER_EFFECTS_ALL};

enum { NUM_EFFECT_SETS = sizeof effect_sets / sizeof *effect_sets };

/* Stages at random, of which two or three share an IPU: their peaks. */
static void assert_shared(size_t num_units, pl_stage_meter *meter,
                          const popliner_pipeline *pipeline, uint64_t *random) {
    enum { MOST_STAGES = 3 };
    popliner_stage_memory memory = {0};
    for (int round = 0; round < 8; round++) {
        popliner_interval stages[MOST_STAGES];
        size_t count = 0;
        for (size_t unit = test_below(random, 3); unit < num_units && count < MOST_STAGES;
             unit += 1 + test_below(random, 2)) {
            const size_t last = unit + test_below(random, num_units - unit) / 2;
            stages[count++] = (popliner_interval){unit, last, 1 + test_below(random, 4)};
            unit = last;
        }
        if (count < 2)
            continue;
        assert_int_equal(pl_stage_measure(meter, pipeline, stages, count, &memory, NULL, NULL),
                         POPLINER_OK);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
            uint64_t peak_bytes;
            assert_int_equal(pl_stage_measure_peak(meter, pipeline, (popliner_need)need, stages,
                                                   count, &peak_bytes, NULL),
                             POPLINER_OK);
            assert_int_equal(peak_bytes, test_tiles_max(memory.need_bytes[need], memory.num_tiles));
        }
    }
    pl_stage_memory_clear(&memory);
}

/* ---- At once -------------------------------------------------------------------------------- */

/* All tables and details of a chain in a pipeline, against each stage by itself. */
static void check_pipeline(const golden_case *c, const pl_chain *chain,
                           const popliner_pipeline *pipeline, uint64_t *random) {
    const size_t num_units = pl_chain_num_units(chain);
    pl_arrays arrays = {0};
    pl_passes passes = {0};
    popliner_costs *costs[POPLINER_NUM_NEEDS];
    popliner_costs *from_details[POPLINER_NUM_NEEDS];
    pl_stage_details *details = NULL;
    pl_stage_meter *meter;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        if (need == 0)
            assert_int_equal(measure_all_stages(chain, 1, pipeline, POPLINER_NEED_EXPECTED, NULL,
                                                &details, NULL),
                             POPLINER_OK);
        assert_int_equal(measure_all_stages(chain, 1 + (size_t)need, pipeline, (popliner_need)need,
                                            &costs[need], NULL, NULL),
                         POPLINER_OK);
        assert_true(pl_details_serve(&details->key, pipeline) || num_units == 1);
        assert_int_equal(pl_stage_details_costs(details, chain, pipeline, (popliner_need)need,
                                                &from_details[need], NULL),
                         POPLINER_OK);
    }
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    size_t most = costs[0]->max_stages_to_end;
    pl_passes_find(&passes, &arrays, chain);
    bool keeps = passes.is_training && pl_pipeline_keeps(pipeline);
    pl_arrays_free(&arrays);
    assert_int_equal(most, !keeps                             ? 1
                           : pipeline->max_stages < num_units ? pipeline->max_stages
                                                              : num_units);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        assert_int_equal(costs[need]->max_stages_to_end, most);
        assert_int_equal(from_details[need]->max_stages_to_end, most);
    }
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            if (num_units > 8 && test_below(random, 16) != 0)
                continue; /* a sixteenth of the many will do */
            for (size_t to_end = 1; to_end <= most; to_end++) {
                const popliner_interval stage = {first, last, to_end};
                popliner_stage_detail own;
                assert_int_equal(pl_stage_measure(meter, pipeline, &stage, 1, NULL, &own, NULL),
                                 POPLINER_OK);
                popliner_stage_detail got =
                    pl_stage_details_get(details, c->profile, pipeline, &stage);
                assert_same_detail(&got, &own);
                for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
                    uint64_t peak = popliner_costs_peak(costs[need], first, last, to_end);
                    assert_true(peak == own.need_bytes[need] || peak == POPLINER_PEAK_FORBIDDEN);
                    assert_true(popliner_costs_peak(from_details[need], first, last, to_end) ==
                                peak);
                    assert_true(peak != POPLINER_PEAK_FORBIDDEN || last == 0);
                }
            }
        }
    assert_shared(num_units, meter, pipeline, random);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        popliner_costs_free(costs[need]);
        popliner_costs_free(from_details[need]);
    }
    pl_stage_details_free(details);
    pl_stage_meter_free(meter);
}

/* One pipeline of so many in the quick run, and of a tenth of that in the nightly run: all would
 * take an hour. */
static void check_chain(const golden_case *c, const pl_chain *chain, size_t every,
                        uint64_t *random) {
    static size_t number = 0;
    for (int schedule = 0; schedule < NUM_SCHEDULES; schedule++)
        for (int recompute = 0; recompute <= POPLINER_RECOMPUTE_FULL; recompute++)
            for (size_t effects = 0; effects < NUM_EFFECT_SETS; effects++)
                for (int wide = 0; wide < 2; wide++) {
                    const popliner_pipeline pipeline = {
                        .schedule = (popliner_schedule)schedule,
                        .recompute = (popliner_recompute)recompute,
                        .max_stages = 3,
                        .effects = effect_sets[effects],
                        .accumulators =
                            wide != 0 ? POPLINER_ACCUMULATORS_FP32 : POPLINER_ACCUMULATORS_NONE,
                    };
                    const size_t step = test_chosen(every, every / 2, every / 10);
                    if (number % step == 0 && test_takes_case(number / step, 1))
                        check_pipeline(c, chain, &pipeline, random);
                    number++;
                }
}

static void check_golden(const golden_case *c) {
    uint64_t random = 83;
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    check_chain(c, chain, 67, &random);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void golden_cases_agree(void **state) {
    (void)state;
    golden_for_each(check_golden);
}

static void layers_at_random_agree(void **state) {
    (void)state;
    golden_case c;
    uint64_t random = 89;
    golden_load(&c, "popart-train");
    for (size_t i = 0; i < (test_takes_all() ? 6 : 2); i++) {
        pl_layers *layers = assign_at_random(&c, 3 + i, &random);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 71, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
    golden_free(&c);
}

static void the_model_made_by_hand_agrees(void **state) {
    (void)state;
    golden_case c = made_case();
    uint64_t random = 97;
    for (size_t i = 0; i < 40; i++) {
        pl_layers *layers = assign_at_random(&c, 1 + i % 5, &random);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 13, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
}

static void made_models_agree(void **state) {
    static const char *const models[] = {
        "--training --skips 2 --layers 5",
        "--training --outline --layers 4",
        "--inference --skips 2 --layers 5",
        "--framework tensorflow --training --skips 1 --layers 4",
        "--framework tensorflow --training --outline --layers 4",
        "--training --accumulate --layers 4",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!test_takes_case(i, 2))
            continue;
        char *directory = test_path(*state, "made");
        golden_case c;
        uint64_t random = 101 + i;
        make_profile(directory, "--tiles 4 --hidden 16 --sequence 8 --vocabulary 60 %s", models[i]);
        golden_load_directory(&c, directory);
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 43, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
        golden_free(&c);
        free(directory);
    }
}

/* With one micro-batch no stage stores copies: what was found for it must not serve more. */
static void digests_serve_pipelines_that_store_more(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-train");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    const popliner_interval two[] = {{1, 1, 3}, {3, 3, 1}};
    popliner_pipeline pipeline = {.max_stages = 3, .effects = POPLINER_EFFECTS_ALL};
    popliner_stage_detail details[2][3];
    assert_int_equal(popliner_copies_parse("1f1b", &pipeline.copies, NULL), POPLINER_OK);
    for (int order = 0; order < 2; order++) {
        pl_stage_meter *meter;
        assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
        for (size_t i = 0; i < 3; i++) {
            const size_t k = order == 0 ? i : 2 - i;
            pipeline.copies.num_micro_batches = k + 1;
            assert_int_equal(
                pl_stage_measure(meter, &pipeline, two, 2, NULL, &details[order][k], NULL),
                POPLINER_OK);
        }
        pl_stage_meter_free(meter);
    }
    for (size_t k = 0; k < 3; k++)
        assert_same_detail(&details[0][k], &details[1][k]);
    assert_int_equal(details[0][0].part_bytes[POPLINER_PART_STASH], 0);
    assert_true(details[0][1].part_bytes[POPLINER_PART_STASH] > 0);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* PopLiner's model knows no effects: all needs are one. */
static void popliners_model_has_one_need(void **state) {
    (void)state;
    golden_case c;
    pl_stage_meter *meter;
    golden_load(&c, "popart-train");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    const popliner_interval stage = {1, 2, 2};
    popliner_stage_detail details[2];
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    for (size_t i = 0; i < 2; i++) {
        popliner_pipeline pipeline = {
            .schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
            .max_stages = 3,
            .effects = i == 0 ? 0 : POPLINER_EFFECT_LAYOUT | POPLINER_EFFECT_PASSING};
        assert_int_equal(pl_stage_measure(meter, &pipeline, &stage, 1, NULL, &details[i], NULL),
                         POPLINER_OK);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
            assert_int_equal(details[i].need_bytes[need], details[0].tile_bytes);
    }
    assert_same_detail(&details[0], &details[1]);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases_agree),
        cmocka_unit_test(layers_at_random_agree),
        cmocka_unit_test(the_model_made_by_hand_agrees),
        IN_DIRECTORY(made_models_agree),
        cmocka_unit_test(digests_serve_pipelines_that_store_more),
        cmocka_unit_test(popliners_model_has_one_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
