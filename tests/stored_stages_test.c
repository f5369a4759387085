/* Measured stages in a stored analysis: found again for the same question, for no other, and
 * refused when anything in them has changed; and an analysis of which the variables are not loaded.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "plain_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>
#include <xxhash.h>

#include "costs/costs.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/intervals.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "profile/profile_data.h"
#include "same_detail.h"
#include "solve/plan.h"
#include "store/store.h"
#include "tables/sections.h"
#include "test_data.h"

enum { PLACES = 4, PLAIN = 2, NUM_MEASURED };

/* A case that trains, its layers, and its stages as they were stored. */
typedef struct stored_case {
    golden_case c;
    pl_layers *layers;
    pl_measured_stages measured[NUM_MEASURED]; /* without effects: by recompute; of no pipeline */
    popliner_costs *costs[NUM_MEASURED];       /* measured without details, for PLACES */
    char *path;
    uint8_t *bytes; /* of the file */
    size_t size;
} stored_case;

static popliner_profile_info info_of(const popliner_profile *profile) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    assert_int_equal(popliner_profile_get_info(profile, &info, NULL), POPLINER_OK);
    return info;
}

/* The place of the stages that serve a pipeline. */
static size_t place_of(const popliner_pipeline *pipeline) {
    return pipeline->schedule == POPLINER_SCHEDULE_POPART ? (size_t)pipeline->recompute : PLAIN;
}

static void measure(stored_case *s, const pl_chain *chain, size_t place) {
    pl_interval_options options = PL_INTERVAL_OPTIONS_INIT;
    bool trains = place != PLAIN;
    options.pipeline = (popliner_pipeline){
        .schedule = trains ? POPLINER_SCHEDULE_POPART : POPLINER_SCHEDULE_NONE,
        .recompute = trains ? (popliner_recompute)place : POPLINER_RECOMPUTE_NONE,
        .max_stages = 1};
    options.with_cycles = true;
    /* of pipelines of any length, whatever most_stages are */
    assert_int_equal(pl_intervals_measure(chain, &options, NULL, &s->measured[place].details, NULL),
                     POPLINER_OK);
    options.pipeline.max_stages = PLACES;
    assert_int_equal(pl_intervals_measure(chain, &options, &s->costs[place], NULL, NULL),
                     POPLINER_OK);
    assert_int_equal(s->costs[place]->max_stages_to_end, trains ? PLACES : 1);
}

static void begin(stored_case *s, void **state) {
    memset(s, 0, sizeof *s);
    golden_load(&s->c, "popart-train");
    s->layers = assign_layers(&s->c, NULL, POPLINER_LAYER_ORDER_STEPS);
    s->path = test_path(*state, "stored");
    pl_chain *chain = make_chain(&s->c, s->layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(POPLINER_RECOMPUTE_STANDARD, 1); /* the second that is stored */
    for (size_t place = 0; place < NUM_MEASURED; place++) {
        measure(s, chain, place);
        s->measured[place].chain = chain;
    }
    assert_int_equal(pl_stored_analysis_save(s->c.profile, s->c.operations, s->measured,
                                             NUM_MEASURED, NULL, s->path, NULL),
                     POPLINER_OK);
    s->bytes = test_read_bytes(s->path, &s->size);
}

static void end(stored_case *s) {
    for (size_t place = 0; place < NUM_MEASURED; place++) {
        if (place > 0)
            s->measured[place].chain = NULL; /* it is that of all */
        pl_measured_stages_clear(&s->measured[place]);
        popliner_costs_free(s->costs[place]);
    }
    pl_layers_free(s->layers);
    golden_free(&s->c);
    free(s->bytes);
    free(s->path);
}

/* The stages for this question, or zero ones. */
static pl_measured_stages find(pl_stored_analysis *analysis, const pl_layers *layers,
                               popliner_memory_model model, popliner_schedule schedule,
                               popliner_recompute recompute) {
    pl_measured_stages found;
    popliner_pipeline pipeline = {.schedule = schedule, .recompute = recompute, .max_stages = 2};
    const pl_wanted_stages wanted = {layers, model, &pipeline, NULL};
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL), POPLINER_OK);
    return found;
}

static void assert_same_details(const stored_case *s, const pl_measured_stages *found,
                                const popliner_costs *costs, const pl_stored_analysis *analysis,
                                const popliner_pipeline *pipeline, popliner_interval stage) {
    popliner_stage_detail a = pl_stage_details_get(s->measured[place_of(pipeline)].details,
                                                   s->c.profile, pipeline, &stage);
    popliner_stage_detail b =
        pl_stage_details_get(found->details, analysis->profile, pipeline, &stage);
    assert_same_detail(&a, &b);
    assert_int_equal(a.tile_bytes, popliner_costs_peak(costs, stage.first_unit, stage.last_unit,
                                                       stage.stages_to_end));
    assert_int_equal(a.tile_bytes,
                     popliner_costs_peak(s->costs[place_of(pipeline)], stage.first_unit,
                                         stage.last_unit, stage.stages_to_end));
}

/* ---- finding -------------------------------------------------------------------------------- */

static void finds_what_was_stored(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    begin(&s, state);
    const pl_chain *chain = s.measured[0].chain;
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    for (int schedule = 0; schedule <= POPLINER_SCHEDULE_POPART; schedule++) {
        for (int recompute = 0; recompute < 2; recompute++) {
            popliner_pipeline pipeline = {.schedule = (popliner_schedule)schedule,
                                          .recompute = (popliner_recompute)recompute,
                                          .max_stages = PLACES};
            pl_measured_stages found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL,
                                            pipeline.schedule, pipeline.recompute);
            bool trains = schedule == POPLINER_SCHEDULE_POPART;
            size_t place = place_of(&pipeline);
            popliner_costs *costs;
            assert_non_null(found.chain);
            assert_true(pl_details_serve(&found.details->key, &pipeline));
            assert_int_equal(pl_stage_details_costs(found.details, found.chain, &pipeline,
                                                    POPLINER_NEED_EXPECTED, &costs, NULL),
                             POPLINER_OK);
            assert_int_equal(costs->max_stages_to_end, trains ? PLACES : 1);
            size_t num_units = pl_chain_num_units(chain);
            assert_int_equal(pl_chain_num_units(found.chain), num_units);
            for (size_t first = 0; first < num_units; first++) {
                assert_int_equal(found.chain->kind[first], chain->kind[first]);
                assert_string_equal(found.chain->labels[first], chain->labels[first]);
                if (first > 0)
                    assert_int_equal(popliner_costs_cut(costs, first),
                                     popliner_costs_cut(s.costs[place], first));
                for (size_t last = first; last < num_units; last++) {
                    assert_int_equal(popliner_costs_cycles(costs, first, last),
                                     popliner_costs_cycles(s.costs[place], first, last));
                    for (size_t to_end = 1; to_end <= (trains ? PLACES : 1); to_end++)
                        assert_same_details(&s, &found, costs, analysis, &pipeline,
                                            (popliner_interval){first, last, to_end});
                }
            }
            for (size_t i = 0; i < pl_operations_count(s.c.operations); i++)
                assert_int_equal(pl_chain_unit_of(found.chain, i), pl_chain_unit_of(chain, i));
            size_t num_steps = info_of(s.c.profile).num_steps;
            for (size_t step = 0; step < num_steps; step++)
                assert_int_equal(pl_chain_operation_at(found.chain, step),
                                 pl_chain_operation_at(chain, step));
            popliner_costs_free(costs);
            pl_measured_stages_clear(&found);
        }
    }
    pl_stored_analysis_close(analysis);
    end(&s);
}

/* A table from the details may have as many stages as there are units, and no more. It is the same
 * as if it was measured for the schedule, whichever of those in cycles it is. */
static void makes_tables_of_any_length(void **state) {
    stored_case s;
    begin(&s, state);
    size_t num_units = pl_chain_num_units(s.measured[0].chain);
    assert_true(num_units >= PLACES);
    static const popliner_schedule schedules[] = {POPLINER_SCHEDULE_POPART,
                                                  POPLINER_SCHEDULE_TF_GROUPED};
    for (size_t i = 0; i < 2 * (num_units + 1); i++) {
        size_t most_stages = i / 2 + 1;
        popliner_pipeline pipeline = {.schedule = schedules[i % 2],
                                      .recompute = POPLINER_RECOMPUTE_NONE,
                                      .max_stages = most_stages};
        pl_interval_options options = PL_INTERVAL_OPTIONS_INIT;
        popliner_costs *costs;
        popliner_costs *expected;
        options.pipeline = pipeline;
        assert_int_equal(pl_stage_details_costs(s.measured[0].details, s.measured[0].chain,
                                                &pipeline, POPLINER_NEED_EXPECTED, &costs, NULL),
                         POPLINER_OK);
        assert_int_equal(pl_intervals_measure(s.measured[0].chain, &options, &expected, NULL, NULL),
                         POPLINER_OK);
        size_t num_places = costs->max_stages_to_end;
        assert_int_equal(num_places, most_stages < num_units ? most_stages : num_units);
        assert_int_equal(expected->max_stages_to_end, num_places);
        for (size_t first = 0; first < num_units; first++)
            for (size_t last = first; last < num_units; last++)
                for (size_t to_end = 1; to_end <= num_places; to_end++)
                    assert_int_equal(popliner_costs_peak(costs, first, last, to_end),
                                     popliner_costs_peak(expected, first, last, to_end));
        popliner_costs_free(costs);
        popliner_costs_free(expected);
    }
    end(&s);
}

/* Whether two assignments give every operation the same unit. */
static bool assigns_alike(const golden_case *c, const pl_layers *a, const pl_layers *b) {
    for (size_t i = 0; i < pl_operations_count(c->operations); i++)
        if (pl_layer_at(a, i)->unit != pl_layer_at(b, i)->unit)
            return false;
    return true;
}

static void finds_nothing_for_other_questions(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    uint64_t random = 67;
    begin(&s, state);
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    pl_measured_stages found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_POPLINER,
                                    POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE);
    assert_null(found.chain);
    pl_layers *const others[] = {
        assign_layers(&s.c, golden_every_op, POPLINER_LAYER_ORDER_STEPS),
        assign_layers(&s.c, golden_no_layers, POPLINER_LAYER_ORDER_STEPS),
        assign_at_random(&s.c, pl_layers_num_units(s.layers) - 1, &random),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(assigns_alike(&s.c, others[i], s.layers));
        found = find(analysis, others[i], POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_NONE,
                     POPLINER_RECOMPUTE_NONE);
        assert_null(found.chain);
        assert_null(found.details);
        pl_layers_free(others[i]);
    }
    pl_stored_analysis_close(analysis);

    /* one way of recomputing does not tell of the other */
    assert_int_equal(
        pl_stored_analysis_save(s.c.profile, s.c.operations, s.measured, 1, NULL, s.path, NULL),
        POPLINER_OK);
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_POPART,
                 POPLINER_RECOMPUTE_FULL);
    assert_null(found.chain);
    /* nor of a stage that is in no pipeline: what it may need at most is another number */
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_INFERENCE,
                 POPLINER_RECOMPUTE_NONE);
    assert_null(found.chain);
    popliner_pipeline other = {.schedule = POPLINER_SCHEDULE_POPART, .max_stages = 2};
    const pl_wanted_stages wanted = {s.layers, POPLINER_MEMORY_MODEL_FULL, &other, NULL};
    for (other.effects = 1; other.effects <= POPLINER_EFFECTS_ALL; other.effects++) {
        assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL),
                         POPLINER_OK);
        assert_null(found.chain);
    }
    other.effects = 0;
    other.accumulators = POPLINER_ACCUMULATORS_FP16;
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL), POPLINER_OK);
    assert_null(found.chain);
    /* what keeps as much needs the same, except for the number of copies */
    const popliner_pipeline before = other;
    other.accumulators = POPLINER_ACCUMULATORS_NONE;
    assert_int_equal(popliner_copies_parse("1f1b", &other.copies, NULL), POPLINER_OK);
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL), POPLINER_OK);
    assert_non_null(found.chain);
    other = before;
    pl_measured_stages_clear(&found);
    /* but PopART alone frees what it keeps */
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_TF_GROUPED,
                 POPLINER_RECOMPUTE_NONE);
    assert_null(found.chain);
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_TF_INTERLEAVED,
                 POPLINER_RECOMPUTE_NONE);
    assert_null(found.chain);
    pl_stored_analysis_close(analysis);

    /* where nothing is kept it does not matter what is recomputed, nor what is accumulated */
    assert_int_equal(pl_stored_analysis_save(s.c.profile, s.c.operations, &s.measured[PLAIN], 1,
                                             NULL, s.path, NULL),
                     POPLINER_OK);
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_INFERENCE,
                 POPLINER_RECOMPUTE_FULL);
    assert_non_null(found.chain);
    pl_measured_stages_clear(&found);
    other.schedule = POPLINER_SCHEDULE_INFERENCE;
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL), POPLINER_OK);
    assert_non_null(found.chain);
    pl_measured_stages_clear(&found);
    found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_POPART,
                 POPLINER_RECOMPUTE_NONE);
    assert_null(found.chain);
    pl_stored_analysis_close(analysis);
    end(&s);
}

/* The stages were measured for another chain. */
static void refuses_stages_of_another_chain(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    pl_chain *chain;
    pl_measured_stages found;
    popliner_error error = {.message = ""};
    begin(&s, state);
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_NONE, .max_stages = 2};
    pl_wanted_stages wanted = {s.layers, POPLINER_MEMORY_MODEL_FULL, &pipeline, NULL};
    assert_int_equal(pl_chain_create(s.c.profile, s.c.operations, s.layers,
                                     POPLINER_MEMORY_MODEL_FULL, &chain, NULL),
                     POPLINER_OK);
    wanted.chain = chain;
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL), POPLINER_OK);
    assert_non_null(found.chain);
    pl_measured_stages_clear(&found);
    /* an operation in another unit, a unit of another kind, a unit less */
    uint32_t *unit = &chain->unit_of_operation[0];
    for (int round = 0; round < 3; round++) {
        *unit ^= round == 0;
        chain->kind[0] += (popliner_unit_kind)(round == 1);
        chain->num_units -= round == 2;
        assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, &error),
                         POPLINER_ERROR_INPUT);
        assert_non_null(strstr(error.message, s.path));
        assert_null(found.chain);
        *unit ^= round == 0;
        chain->kind[0] -= (popliner_unit_kind)(round == 1);
        chain->num_units += round == 2;
    }
    pl_stored_analysis_close(analysis);
    pl_chain_free(chain);
    end(&s);
}

/* Nothing is measured for some lengths of pipelines alone, so costs would be of too few stages. */
static void refuses_stages_of_short_pipelines_alone(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    pl_measured_stages found;
    begin(&s, state);
    size_t *max_stages = &s.measured[POPLINER_RECOMPUTE_NONE].details->key.pipeline.max_stages;
    assert_int_equal(*max_stages, s.measured[0].chain->num_units);
    assert_true(*max_stages > 2);
    *max_stages = 2;
    assert_int_equal(pl_stored_analysis_save(s.c.profile, s.c.operations, s.measured, NUM_MEASURED,
                                             NULL, s.path, NULL),
                     POPLINER_OK);
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART, .max_stages = 2};
    const pl_wanted_stages wanted = {s.layers, POPLINER_MEMORY_MODEL_FULL, &pipeline, NULL};
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    assert_int_equal(pl_stored_analysis_find_stages(analysis, &wanted, &found, NULL),
                     POPLINER_ERROR_INPUT);
    assert_null(found.chain);
    pl_stored_analysis_close(analysis);
    end(&s);
}

/* ---- without variables ---------------------------------------------------------------------- */

/* Asserts that a function refuses to work without variables, and says what to do. */
static void assert_needs_variables(popliner_status status, const popliner_error *error) {
    if (status != POPLINER_ERROR_USAGE)
        fail_msg("status %d: %s", (int)status, error->message);
    assert_int_equal(status, POPLINER_ERROR_USAGE);
    assert_int_equal(error->status, POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error->message, "popliner_analysis_load_rest"));
}

static void what_needs_variables_asks_for_them(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    popliner_error error = {.message = ""};
    begin(&s, state);
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    const popliner_profile *p = analysis->profile;
    const pl_operations *o = analysis->operations;
    popliner_profile_info info = info_of(p);
    size_t num_tiles = p->target.num_tiles;
    assert_int_equal(info.num_variables, 0);
    assert_int_equal(info.num_steps, info_of(s.c.profile).num_steps);

    pl_chain *chain;
    pl_stage_meter *meter;
    popliner_costs *costs;
    pl_sharing sharing = {0};
    char *text;
    uint64_t bytes[2];
    uint64_t *steps_bytes = calloc(info.num_steps, sizeof *steps_bytes);
    popliner_peak *peaks = calloc(num_tiles, sizeof *peaks);
    assert_true(steps_bytes != NULL && peaks != NULL);
    assert_needs_variables(
        pl_chain_create(p, o, s.layers, POPLINER_MEMORY_MODEL_FULL, &chain, &error), &error);
    /* PopLiner's chain needs none */
    assert_int_equal(
        pl_chain_create(p, o, s.layers, POPLINER_MEMORY_MODEL_POPLINER, &chain, &error),
        POPLINER_OK);
    assert_needs_variables(pl_stage_meter_create(chain, 0, &meter, &error), &error);
    assert_needs_variables(pl_intervals_measure(chain, NULL, &costs, NULL, &error), &error);
    pl_chain_free(chain);
    assert_needs_variables(pl_sharing_measure(p, o, s.layers, NULL, &sharing, &error), &error);
    assert_needs_variables(popliner_liveness_peaks(p, NULL, 0, info.num_steps, peaks, &error),
                           &error);
    assert_needs_variables(
        popliner_liveness_by_step(p, 0, NULL, 0, info.num_steps, steps_bytes, &error), &error);
    assert_needs_variables(popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, info.num_steps,
                                                     steps_bytes, &error),
                           &error);
    assert_needs_variables(popliner_liveness_extent(p, 0, NULL, &bytes[0], &bytes[1], &error),
                           &error);
    popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
    assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_TILE, num_tiles - 1, &memory, NULL),
                     POPLINER_OK);
    assert_int_equal(memory.first_variable, memory.end_variable); /* none */
    assert_needs_variables(pl_report_tiles(p, POPLINER_FORMAT_TSV, &text, &error), &error);
    assert_needs_variables(pl_stored_analysis_save(p, o, NULL, 0, NULL, s.path, &error), &error);

    /* and has them afterwards */
    assert_int_equal(pl_stored_analysis_load_variables(analysis, NULL, &error), POPLINER_OK);
    assert_int_equal(info_of(p).num_variables, info_of(s.c.profile).num_variables);
    assert_int_equal(pl_chain_create(p, o, s.layers, POPLINER_MEMORY_MODEL_FULL, &chain, &error),
                     POPLINER_OK);
    pl_chain_free(chain);
    assert_int_equal(pl_stored_analysis_load_variables(analysis, NULL, &error), POPLINER_OK);
    pl_stored_analysis_close(analysis);
    free(steps_bytes);
    free(peaks);
    end(&s);
}

static void change(const char *path, const char *sql) {
    sqlite3 *sqlite;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(sqlite) > 0);
    sqlite3_close(sqlite);
}

static void stays_usable_when_variables_are_damaged(void **state) {
    stored_case s;
    pl_stored_analysis *analysis;
    popliner_error error = {.message = ""};
    begin(&s, state);
    /* the last array of all, so that the others have been loaded */
    change(s.path, "UPDATE arrays SET bytes = zeroblob(length(bytes)) "
                   "WHERE name = 'tile_variables_start'");
    assert_int_equal(pl_stored_analysis_open(s.path, &analysis, NULL), POPLINER_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(pl_stored_analysis_load_variables(analysis, NULL, &error),
                         POPLINER_ERROR_INPUT);
        assert_non_null(strstr(error.message, "tile_variables_start"));
        assert_int_equal(info_of(analysis->profile).num_variables, 0);
    }
    pl_measured_stages found = find(analysis, s.layers, POPLINER_MEMORY_MODEL_FULL,
                                    POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE);
    assert_non_null(found.chain);
    pl_measured_stages_clear(&found);
    pl_stored_analysis_close(analysis);
    end(&s);
}

/* ---- damage --------------------------------------------------------------------------------- */

static const char *const arrays[] = {
    "settings",    "layer_key",   "unit_kind",  "unit_layer",     "unit_of_operation",
    "cuts_bytes",  "cycles",      "stage_sums", "expected_first", "expected_tiles",
    "least_first", "least_tiles", "most_first", "most_tiles",     "largest_variables"};

enum { NUM_ARRAYS = sizeof arrays / sizeof *arrays };

/* The status of looking for plain stages in the file. */
static popliner_status look(const stored_case *s, pl_measured_stages *found,
                            popliner_error *error) {
    pl_stored_analysis *analysis;
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_NONE,
                                  .max_stages = 3};
    assert_int_equal(pl_stored_analysis_open(s->path, &analysis, error), POPLINER_OK);
    const pl_wanted_stages wanted = {s->layers, POPLINER_MEMORY_MODEL_FULL, &pipeline, NULL};
    popliner_status status = pl_stored_analysis_find_stages(analysis, &wanted, found, error);
    /* nothing leads out of the profile, and whatever it is, it can be solved and told */
    if (status == POPLINER_OK && found->chain != NULL) {
        popliner_plan plan = {0};
        popliner_costs *costs;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.num_ipus = 3;
        assert_int_equal(pl_stage_details_costs(found->details, found->chain, &pipeline,
                                                POPLINER_NEED_EXPECTED, &costs, error),
                         POPLINER_OK);
        assert_int_equal(pl_solve(costs, &options, &plan, error), POPLINER_OK);
        pl_plan_clear(&plan);
        popliner_costs_free(costs);
        for (size_t first = 0; first < pl_chain_num_units(found->chain); first++) {
            for (size_t place = 1; place <= PLACES; place++) {
                popliner_interval stage = {first, pl_chain_num_units(found->chain) - 1, place};
                popliner_stage_detail d =
                    pl_stage_details_get(found->details, analysis->profile, &pipeline, &stage);
                for (size_t i = 0; i < d.num_variables; i++)
                    assert_true(strlen(d.variables[i].name) + strlen(d.variables[i].category) <
                                1000);
            }
        }
    }
    pl_stored_analysis_close(analysis);
    return status;
}

static void refuses_damaged_stages(void **state) {
    static const char *const changes[] = {
        "DELETE FROM arrays WHERE name = 'stages/0/%s'",
        "UPDATE arrays SET num_bytes = num_bytes - 4 WHERE name = 'stages/0/%s'",
        "UPDATE arrays SET checksum = checksum + 1 WHERE name = 'stages/0/%s'",
        "UPDATE arrays SET bytes = zeroblob(length(bytes)) WHERE name = 'stages/0/%s'",
        "UPDATE arrays SET bytes = x'00', num_bytes = 1 WHERE name = 'stages/0/%s'",
    };
    stored_case s;
    begin(&s, state);
    for (size_t i = 0; i < NUM_ARRAYS; i++) {
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
            char sql[300];
            pl_measured_stages found;
            popliner_error error = {.message = ""};
            snprintf(sql, sizeof sql, changes[k], arrays[i]);
            test_rewrite_bytes(s.path, s.bytes, s.size);
            change(s.path, sql);
            popliner_status status = look(&s, &found, &error);
            /* nothing is left of nothing */
            bool is_empty =
                strcmp(arrays[i], "cycles") == 0 && !popliner_costs_has_cycles(s.costs[0]);
            if (is_empty && k == 3) {
                assert_int_equal(status, POPLINER_OK);
                pl_measured_stages_clear(&found);
                continue;
            }
            /* without its beginning it is not there at all, and so are the others after it */
            if (i == 0 && k == 0) {
                assert_int_equal(status, POPLINER_OK);
                assert_null(found.chain);
                continue;
            }
            if (status != POPLINER_ERROR_INPUT)
                fail_msg("%s: status %d", sql, (int)status);
            assert_non_null(strstr(error.message, s.path));
            assert_non_null(strstr(error.message, "damaged"));
            assert_null(found.chain);
        }
    }
    end(&s);
}

/* Whatever the arrays hold, if it comes with its checksum, it is refused or harmless. */
static void survives_stages_made_up_with_their_checksum(void **state) {
    stored_case s;
    uint64_t random = 71;
    size_t num_taken = 0;
    size_t num_found = 0;
    begin(&s, state);
    for (size_t i = 0; i < NUM_ARRAYS; i++) {
        for (int round = 0; round < 16; round++) {
            char name[100];
            sqlite3 *sqlite;
            sqlite3_stmt *select;
            sqlite3_stmt *update;
            snprintf(name, sizeof name, "stages/0/%s", arrays[i]);
            if (!test_takes_case((size_t)round, 7))
                continue;
            num_taken++;
            test_rewrite_bytes(s.path, s.bytes, s.size);
            assert_int_equal(sqlite3_open(s.path, &sqlite), SQLITE_OK);
            assert_int_equal(sqlite3_prepare_v2(sqlite, "SELECT bytes FROM arrays WHERE name = ?1",
                                                -1, &select, NULL),
                             SQLITE_OK);
            sqlite3_bind_text(select, 1, name, -1, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(select), SQLITE_ROW);
            size_t size = (size_t)sqlite3_column_bytes(select, 0);
            uint8_t *bytes = malloc(size + 1);
            assert_non_null(bytes);
            if (size > 0)
                memcpy(bytes, sqlite3_column_blob(select, 0), size);
            sqlite3_finalize(select);
            for (size_t k = 0; k < size; k++) {
                random = test_random(random);
                if (round == 0)
                    bytes[k] = 0xff;
                else if (random >> 58 == 0)
                    bytes[k] = (uint8_t)(random >> 40) & (round % 2 ? 3 : 0xff);
            }
            if (round >= 14) /* of another length */
                size = round == 14 ? size / 2 / 8 * 8 : 0;
            const uint64_t place[] = {XXH3_64bits(name, strlen(name)), 0, size};
            uint64_t checksum = XXH3_64bits_withSeed(bytes, size, XXH3_64bits(place, sizeof place));
            assert_int_equal(sqlite3_prepare_v2(sqlite,
                                                "UPDATE arrays SET bytes = ?2, checksum = ?3, "
                                                "num_bytes = ?4 WHERE name = ?1",
                                                -1, &update, NULL),
                             SQLITE_OK);
            sqlite3_bind_text(update, 1, name, -1, SQLITE_STATIC);
            sqlite3_bind_blob(update, 2, bytes, (int)size, SQLITE_STATIC);
            sqlite3_bind_int64(update, 3, (sqlite3_int64)checksum);
            sqlite3_bind_int64(update, 4, (sqlite3_int64)size);
            assert_int_equal(sqlite3_step(update), SQLITE_DONE);
            sqlite3_finalize(update);
            sqlite3_close(sqlite);
            free(bytes);
            pl_measured_stages found;
            popliner_error error = {.message = ""};
            popliner_status status = look(&s, &found, &error);
            assert_true(status == POPLINER_OK || status == POPLINER_ERROR_INPUT);
            num_found += found.chain != NULL;
            pl_measured_stages_clear(&found);
        }
    }
    assert_true(num_found > num_taken / 24 && num_found < num_taken);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(finds_what_was_stored),
        IN_DIRECTORY(makes_tables_of_any_length),
        IN_DIRECTORY(finds_nothing_for_other_questions),
        IN_DIRECTORY(refuses_stages_of_another_chain),
        IN_DIRECTORY(refuses_stages_of_short_pipelines_alone),
        IN_DIRECTORY(what_needs_variables_asks_for_them),
        IN_DIRECTORY(stays_usable_when_variables_are_damaged),
        IN_DIRECTORY(refuses_damaged_stages),
        IN_DIRECTORY(survives_stages_made_up_with_their_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
