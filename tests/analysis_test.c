/* The analysis as a program that embeds the library meets it: what it answers is what brute force
 * and single measurements say, whatever was asked before, and also when it was stored and loaded.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "golden_case.h"
#include "plain_options.h"
#include "test_data.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/analysis.h"
#include "popliner/changes.h"
#include "popliner/page.h"
#include "popliner/report.h"
#include "popliner/screen.h"
#include "popliner/utilities.h"
#include "profile/profile_data.h"
#include "solve/plan.h"

static const popliner_memory_model models[] = {POPLINER_MEMORY_MODEL_POPLINER,
                                               POPLINER_MEMORY_MODEL_FULL};

static void check(popliner_status status, const popliner_error *error) {
    if (status != POPLINER_OK)
        fail_msg("%s", error->message);
}

static void assert_usage(popliner_status status, const popliner_error *error) {
    assert_int_equal(status, POPLINER_ERROR_USAGE);
    assert_int_equal(error->status, POPLINER_ERROR_USAGE);
    test_assert_sentence(error->message);
}

/* Reads the profile and the debug information that a golden case is made of. */
static popliner_analysis *read_case(const char *name) {
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    char *path = test_golden_file(name, "profile.pop");
    assert_non_null(path);
    check(popliner_analysis_read(path, NULL, NULL, &analysis, &error), &error);
    free(path);
    return analysis;
}

static popliner_analysis *read_sample(void) {
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    char *path = test_project_file("data/sample/profile.pop");
    check(popliner_analysis_read(path, NULL, NULL, &analysis, &error), &error);
    free(path);
    return analysis;
}

static const popliner_chain *chain_of(popliner_analysis *analysis, popliner_memory_model model) {
    const popliner_chain *chain = NULL;
    popliner_error error = {.message = ""};
    check(popliner_analysis_chain(analysis, model, &chain, &error), &error);
    return chain;
}

/* ---- solving ---- */

static size_t num_solved;

/* The analysis' own table, whose marks are the layers, gives the same split without another word.
 */
static void check_own_table(popliner_analysis *analysis, const popliner_request *request,
                            const popliner_plan *expected) {
    popliner_costs *costs = NULL;
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    popliner_solver_options options = *request->solver;
    check(popliner_analysis_costs(analysis, request, &costs, &error), &error);
    if (options.mem_per_tile == POPLINER_TARGET_BYTES)
        options.mem_per_tile = popliner_analysis_profile(analysis)->target.bytes_per_tile;
    check(popliner_solve(costs, &options, &plan, &error), &error);
    assert_int_equal(plan->num_stages, expected->num_stages);
    assert_int_equal(plan->peak_bytes, expected->peak_bytes);
    for (size_t i = 0; i < plan->num_stages; i++)
        assert_int_equal(plan->stages[i].first_unit, expected->stages[i].first_unit);
    popliner_plan_free(plan);
    popliner_costs_free(costs);
}

/* The answer for a request, against brute force over a table that was measured by itself. */
static void check_answer(popliner_analysis *analysis, const popliner_costs *costs,
                         const popliner_request *request) {
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    check(popliner_analysis_solve(analysis, request, &certificate, &error), &error);
    popliner_solver_options options = *request->solver;
    check_own_table(analysis, request, certificate->plan);
    uint8_t counted[MOST_BRUTE_UNITS];
    const popliner_chain *chain = chain_of(analysis, request->memory_model);
    for (size_t unit = 0; unit < chain->num_units; unit++)
        counted[unit] = chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
    options.counted_units = counted;
    if (options.mem_per_tile == POPLINER_TARGET_BYTES)
        options.mem_per_tile = popliner_analysis_profile(analysis)->target.bytes_per_tile;
    brute_answer expected = brute_force(costs, &options);
    assert_plan_is(certificate->plan, &expected);
    popliner_certificate_free(certificate);
    num_solved++;
}

/* A limit that the best split just keeps. */
static uint64_t best_peak(const popliner_costs *costs, size_t num_ipus) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = num_ipus;
    return brute_force(costs, &options).split.values[POPLINER_OBJECTIVE_MEMORY];
}

static void check_solving(const golden_case *c) {
    popliner_analysis *analysis = read_case(c->name);
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    popliner_error error = {.message = ""};
    for (size_t i = 0; i < 2; i++) {
        pl_chain *chain = make_chain(c, layers, models[i]);
        popliner_costs *costs = NULL;
        popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                      .recompute = POPLINER_RECOMPUTE_NONE,
                                      .max_stages = MOST_BRUTE_UNITS};
        if (models[i] == POPLINER_MEMORY_MODEL_FULL) {
            pipeline.effects = POPLINER_EFFECTS_ALL;
            pipeline.accumulators = POPLINER_ACCUMULATORS_AUTO;
        }
        check(measure_all_stages(chain, 0, &pipeline, POPLINER_NEED_EXPECTED, &costs, NULL, &error),
              &error);
        if (popliner_costs_num_units(costs) <= MOST_BRUTE_UNITS) {
            popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
            popliner_request request = POPLINER_REQUEST_INIT;
            request.memory_model = models[i];
            request.schedule = POPLINER_SCHEDULE_POPART;
            request.solver = &options;
            for (options.num_ipus = 1; options.num_ipus <= 4;
                 options.num_ipus += test_takes_all() ? 1 : 2) {
                uint64_t best_bytes = best_peak(costs, options.num_ipus);
                const uint64_t limits[] = {POPLINER_TARGET_BYTES, best_bytes, best_bytes - 1, 0};
                for (size_t k = 0; k < 4; k++) {
                    options.mem_per_tile = limits[k];
                    options.min_units = k == 1 ? 1 : 0;
                    check_answer(analysis, costs, &request);
                }
            }
        }
        popliner_costs_free(costs);
        pl_chain_free(chain);
    }
    pl_layers_free(layers);
    popliner_analysis_free(analysis);
}

static void solves_what_brute_force_finds(void **state) {
    (void)state;
    golden_for_each(check_solving);
    assert_true(num_solved >= (test_takes_all() ? 50 : 25));
}

/* Every split of a chain, given by the bits of `number`. */
static size_t list_cuts(size_t num_units, size_t number, size_t *first_units) {
    size_t num_cuts = 0;
    for (size_t unit = 1; unit < num_units; unit++)
        if ((number >> (unit - 1) & 1) != 0)
            first_units[num_cuts++] = unit;
    return num_cuts;
}

/* Evaluations agree with single measurements, and no evaluated split is better than the solved
 * one. */
static void check_evaluating(popliner_analysis *analysis, popliner_memory_model model) {
    enum { NUM_IPUS = 3 };
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    size_t first_units[16];
    size_t num_units = chain_of(analysis, model)->num_units;
    uint64_t best_bytes = UINT64_MAX;
    assert_in_range(num_units, 2, 12);
    options.num_ipus = NUM_IPUS;
    request.memory_model = model;
    request.solver = &options;
    for (size_t number = 0; number < (size_t)1 << (num_units - 1); number++) {
        size_t num_cuts = list_cuts(num_units, number, first_units);
        check(popliner_analysis_evaluate(analysis, &request, first_units, num_cuts, &certificate,
                                         &error),
              &error);
        const popliner_plan *plan = certificate->plan;
        uint64_t largest = 0;
        assert_int_equal(plan->num_stages, num_cuts + 1);
        for (size_t i = 0; i < plan->num_stages; i++) {
            popliner_stage_memory *memory = NULL;
            popliner_stage_detail detail;
            popliner_interval stage = {plan->stages[i].first_unit, plan->stages[i].last_unit,
                                       plan->num_stages - i};
            check(popliner_analysis_measure_stages(analysis, &request, &stage, 1, &detail, &memory,
                                                   &error),
                  &error);
            uint64_t bytes =
                test_tiles_max(memory->need_bytes[POPLINER_NEED_EXPECTED], memory->num_tiles);
            assert_int_equal(detail.tile_bytes, bytes);
            popliner_stage_memory_free(memory);
            assert_int_equal(plan->stages[i].peak_bytes, bytes);
            assert_int_equal(certificate->details[i].tile_bytes, bytes);
            largest = bytes > largest ? bytes : largest;
        }
        assert_int_equal(plan->peak_bytes, largest);
        /* what has no operation must not be a stage */
        bool is_stage = pl_chain_has_operations((const pl_chain *)chain_of(analysis, model), 0) ||
                        num_cuts == 0 || first_units[0] > 1;
        if (is_stage && num_cuts < NUM_IPUS && largest < best_bytes)
            best_bytes = largest;
        popliner_certificate_free(certificate);
    }
    check(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
    assert_int_equal(certificate->plan->peak_bytes, best_bytes);
    popliner_certificate_free(certificate);
}

static void evaluates_what_it_measures(void **state) {
    popliner_analysis *analysis = read_sample();
    (void)state;
    for (size_t i = 0; i < 2; i++)
        check_evaluating(analysis, models[i]);
    popliner_analysis_free(analysis);
}

/* Stages on one IPU are measured together, and its own limit counts. */
static void evaluates_stages_on_one_ipu(void **state) {
    popliner_analysis *analysis = read_sample();
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    const size_t first_units[] = {1, 2};
    const size_t device_map[] = {0, 1, 0};
    size_t num_units = chain_of(analysis, POPLINER_MEMORY_MODEL_FULL)->num_units;
    const popliner_interval shared[] = {{0, 0, 3}, {2, num_units - 1, 1}};
    popliner_stage_detail detail;
    (void)state;
    check(popliner_analysis_measure_stages(analysis, NULL, shared, 2, &detail, NULL, &error),
          &error);
    uint64_t needed_bytes = detail.tile_bytes;
    popliner_ipu_value limit = {0, needed_bytes};
    options.device_map = device_map;
    options.num_mapped_stages = 3;
    options.ipu_limits = &limit;
    options.num_ipu_limits = 1;
    request.solver = &options;
    for (int is_too_little = 0; is_too_little < 2; is_too_little++) {
        limit.value -= (uint64_t)is_too_little;
        check(popliner_analysis_evaluate(analysis, &request, first_units, 2, &certificate, &error),
              &error);
        const popliner_plan *plan = certificate->plan;
        assert_int_equal(plan->num_ipus, 2);
        assert_int_equal(plan->stages[0].peak_bytes, needed_bytes);
        assert_int_equal(plan->stages[2].peak_bytes, needed_bytes);
        assert_int_equal(plan->status,
                         is_too_little != 0 ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_FEASIBLE);
        popliner_certificate_free(certificate);
    }
    assert_usage(
        popliner_analysis_evaluate(analysis, &request, first_units, 1, &certificate, &error),
        &error);
    assert_null(certificate);
    popliner_analysis_free(analysis);
}

/* Whatever shows a certificate together with an analysis. */
static void only_shows_its_own_certificates(void **state) {
    popliner_analysis *own = read_sample();
    popliner_analysis *other = read_sample();
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_page_options page = POPLINER_PAGE_OPTIONS_INIT;
    popliner_changes_input sides = POPLINER_CHANGES_INPUT_INIT;
    popliner_certificate *of_other = NULL;
    popliner_certificate *of_model = NULL;
    popliner_changes *changes = NULL;
    char *text = NULL;
    popliner_error error = {.message = ""};
    (void)state;
    check(popliner_analysis_evaluate(other, NULL, NULL, 0, &of_other, &error), &error);
    const popliner_memory_model model = POPLINER_MEMORY_MODEL_FULL;
    assert_usage(popliner_section_text(own, POPLINER_SECTION_PLAN, model, of_other,
                                       POPLINER_FORMAT_CSV, &text, &error),
                 &error);
    assert_usage(popliner_plot_text(own, POPLINER_PLOT_PLAN, model, of_other, NULL, &text, &error),
                 &error);
    assert_usage(popliner_trace_text(own, model, of_other, &text, &error), &error);
    assert_usage(popliner_screen_overview(own, of_other, NULL, 0, NULL, &text, &error), &error);
    page.certificate = of_other;
    assert_usage(popliner_page_text(own, &page, &text, &error), &error);
    sides.before = sides.now = own;
    sides.before_certificate = sides.now_certificate = of_other;
    assert_usage(popliner_changes_create(&sides, &changes, &error), &error);
    /* its last unit is past the end of the other model's chain */
    check(popliner_analysis_evaluate(own, NULL, NULL, 0, &of_model, &error), &error);
    request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
    page.request = &request;
    page.certificate = of_model;
    assert_usage(popliner_page_text(own, &page, &text, &error), &error);
    assert_string_equal(error.message, "the plan has the memory model full, the page "
                                       "popliner; use one model");
    popliner_certificate_free(of_model);
    popliner_certificate_free(of_other);
    popliner_analysis_free(other);
    popliner_analysis_free(own);
}

/* ---- the order of questions ---- */

enum { NUM_QUESTIONS = 7, NUM_STORED = 4 }; /* the first ones need no variables */

/* The memory of the stages that begin or end the chain, the longest ones first. */
static char *measure_all(popliner_analysis *analysis, const popliner_request *request) {
    enum { ROOM = 100000 };
    popliner_stage_detail detail;
    popliner_error error = {.message = ""};
    size_t num_units = chain_of(analysis, request->memory_model)->num_units;
    size_t length = 0;
    char *text = calloc(1, ROOM);
    assert_non_null(text);
    for (size_t first = num_units; first-- > 0;)
        for (size_t last = num_units; last-- > first;) {
            if (first > 0 && last + 1 < num_units)
                continue;
            popliner_interval stage = {first, last, 1};
            check(popliner_analysis_measure_stages(analysis, request, &stage, 1, &detail, NULL,
                                                   &error),
                  &error);
            length += (size_t)snprintf(text + length, ROOM - length, "%llu ",
                                       (unsigned long long)detail.total_bytes);
            assert_in_range(length, 1, ROOM - 100);
        }
    return text;
}

/* Asks one question and returns the answer as text. */
static char *ask(popliner_analysis *analysis, size_t question) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_certificate *certificate = NULL;
    popliner_diagnosis *diagnosis = NULL;
    popliner_error error = {.message = ""};
    char *text = NULL;
    options.num_ipus = 3;
    request.solver = &options;
    switch (question) {
    case 0: /* the best split */
    case 1: /* the best of a pipeline */
        request.schedule = question == 0 ? POPLINER_SCHEDULE_NONE : POPLINER_SCHEDULE_POPART;
        request.recompute = POPLINER_RECOMPUTE_FULL;
        check(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
        break;
    case 2: /* nothing fits */
        options.mem_per_tile = 1;
        check(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
        break;
    case 5: /* the original's algorithm */
        options.method = POPLINER_METHOD_GREEDY;
        request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
        check(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
        break;
    case 4: /* the stages that the original's algorithm tries, in its memory model */
        request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
        return measure_all(analysis, &request);
    case 3: /* a given split */
        check(popliner_analysis_evaluate(analysis, &request, (size_t[]){1, 2}, 2, &certificate,
                                         &error),
              &error);
        break;
    case 6: /* a diagnosis */
        check(popliner_analysis_diagnose(analysis, POPLINER_MEMORY_MODEL_FULL, false, 0, SIZE_MAX,
                                         &diagnosis, &error),
              &error);
        /* a loaded analysis has no debug information, and so no paths */
        check(popliner_report_diagnosis(diagnosis, POPLINER_FORMAT_JSON, &text, &error), &error);
        popliner_diagnosis_free(diagnosis);
        return text;
    default:
        fail();
    }
    check(popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, &text, &error), &error);
    popliner_certificate_free(certificate);
    return text;
}

/* Stores the answer to each question when it is the first one. */
static void ask_each_first(popliner_analysis *(*open)(const void *), const void *user,
                           char *answers[NUM_QUESTIONS], size_t count) {
    for (size_t i = 0; i < count; i++) {
        popliner_analysis *analysis = open(user);
        answers[i] = ask(analysis, i);
        popliner_analysis_free(analysis);
    }
}

/* Asks all questions in some order, some of them twice, and compares. */
static void check_order(popliner_analysis *analysis, char *answers[NUM_QUESTIONS], size_t count,
                        uint64_t *random) {
    for (size_t i = 0; i < 2 * count; i++) {
        size_t question = i < count ? (i + *random) % count : test_below(random, count);
        char *answer = ask(analysis, question);
        assert_string_equal(answer, answers[question]);
        free(answer);
    }
}

static popliner_analysis *open_case(const void *name) {
    return read_case(name);
}

static void check_orders(const golden_case *c) {
    char *answers[NUM_QUESTIONS];
    uint64_t random = strlen(c->name);
    ask_each_first(open_case, c->name, answers, NUM_QUESTIONS);
    for (size_t i = 0; i < 2; i++) {
        if (!test_takes_case(i, 2))
            continue;
        popliner_analysis *analysis = read_case(c->name);
        check_order(analysis, answers, NUM_QUESTIONS, &random);
        popliner_analysis_free(analysis);
    }
    for (size_t i = 0; i < NUM_QUESTIONS; i++)
        free(answers[i]);
}

static void the_order_of_questions_does_not_matter(void **state) {
    (void)state;
    golden_for_each(check_orders);
}

/* ---- storing ---- */

static popliner_analysis *load(const void *path) {
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    check(popliner_analysis_load(path, NULL, &analysis, &error), &error);
    return analysis;
}

static void loads_what_it_stored(void **state) {
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    size_t count = test_golden_cases(names);
    popliner_error error = {.message = ""};
    char *path = test_path(*state, "stored");
    uint64_t random = 1;
    for (size_t i = 0; i < count; i += 2) {
        char *answers[NUM_QUESTIONS];
        char *loaded[NUM_QUESTIONS];
        ask_each_first(open_case, names[i], answers, NUM_STORED);
        popliner_analysis *analysis = read_case(names[i]);
        check(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, path, &error), &error);
        check_order(analysis, answers, NUM_STORED, &random); /* storing changes nothing */
        popliner_analysis_free(analysis);
        ask_each_first(load, path, loaded, NUM_STORED);
        analysis = load(path);
        check_order(analysis, answers, NUM_STORED, &random);
        check(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, path, &error), &error);
        popliner_analysis_free(analysis);
        analysis = load(path);
        check_order(analysis, answers, NUM_STORED, &random);
        popliner_analysis_free(analysis);
        for (size_t k = 0; k < NUM_STORED; k++) {
            assert_string_equal(loaded[k], answers[k]);
            free(loaded[k]);
            free(answers[k]);
        }
    }
    free(path);
}

/* The text of a table, to be freed. */
static char *table_of(popliner_analysis *analysis, popliner_table table,
                      popliner_memory_model model, popliner_format format) {
    popliner_error error = {.message = ""};
    char *text = NULL;
    check(popliner_report_table(analysis, table, model, format, &text, &error), &error);
    return text;
}

/* The tables of pairs of layers hold the numbers that are to be had without text. */
static void tells_pairs_of_layers(void **state) {
    popliner_analysis *analysis = read_sample();
    popliner_error error = {.message = ""};
    const pl_sharing *pairs = NULL;
    (void)state;
    check(pl_analysis_pair_layers(analysis, POPLINER_MEMORY_MODEL_FULL, &pairs, &error), &error);
    size_t n = pairs->num_layers;
    assert_true(n > 1);
    for (popliner_table table = POPLINER_TABLE_AFFINITY; table <= POPLINER_TABLE_COMMUNICATION;
         table++) {
        const uint64_t *bytes =
            table == POPLINER_TABLE_AFFINITY ? pairs->affinity_bytes : pairs->communication_bytes;
        char *text = table_of(analysis, table, POPLINER_MEMORY_MODEL_FULL, POPLINER_FORMAT_CSV);
        char *rest = text + strcspn(text, "\n") + 1; /* after the header */
        for (size_t i = 0; i < n; i++) {
            const char *name = pl_layers_name(analysis->layers, i + 1);
            assert_int_equal(strncmp(rest, name, strlen(name)), 0);
            rest += strlen(name);
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(*rest, ',');
                assert_int_equal(strtoull(rest + 1, &rest, 10), bytes[i * n + j]);
            }
            assert_int_equal(*rest++, '\n');
        }
        assert_int_equal(*rest, '\0');
        free(text);
    }
    popliner_analysis_free(analysis);
}

static void refuses_tables_that_there_are_not(void **state) {
    static const struct {
        popliner_table table;
        popliner_memory_model model;
        popliner_format format;
        const char *says;
    } bad[] = {
        {(popliner_table)5, POPLINER_MEMORY_MODEL_FULL, POPLINER_FORMAT_TSV, "unknown table 5"},
        {(popliner_table)-1, POPLINER_MEMORY_MODEL_FULL, POPLINER_FORMAT_TSV, "unknown table -1"},
        {POPLINER_TABLE_LAYERS, POPLINER_MEMORY_MODEL_FULL, (popliner_format)4, "unknown format 4"},
        {POPLINER_TABLE_LAYERS, (popliner_memory_model)2, POPLINER_FORMAT_TSV, "memory model 2"},
        {POPLINER_TABLE_OPERATIONS, (popliner_memory_model)2, POPLINER_FORMAT_CSV,
         "memory model 2"},
        {POPLINER_TABLE_MEMORY_TOTALS, POPLINER_MEMORY_MODEL_FULL, POPLINER_FORMAT_JSON, "JSON"},
    };
    popliner_analysis *analysis = read_sample();
    popliner_error error = {.message = ""};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char nothing[] = "";
        char *text = nothing;
        assert_usage(popliner_report_table(analysis, bad[i].table, bad[i].model, bad[i].format,
                                           &text, &error),
                     &error);
        assert_non_null(strstr(error.message, bad[i].says));
        assert_null(text);
    }
    /* these look at no memory model */
    free(table_of(analysis, POPLINER_TABLE_MEMORY_TOTALS, (popliner_memory_model)2,
                  POPLINER_FORMAT_TSV));
    popliner_analysis_free(analysis);
}

/* ---- certificates ---- */

/* A certificate tells of its plan, and of a table of costs where it was chosen by one. */
static void tells_what_a_certificate_holds(void **state) {
    popliner_analysis *analysis = read_sample();
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    size_t num_units = chain_of(analysis, POPLINER_MEMORY_MODEL_FULL)->num_units;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_request request = POPLINER_REQUEST_INIT;
        options.num_ipus = 2;
        options.method = i == 1 ? POPLINER_METHOD_GREEDY : POPLINER_METHOD_AUTO;
        request.solver = &options;
        if (i < 2)
            check(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
        else
            check(popliner_analysis_evaluate(analysis, &request, NULL, 0, &certificate, &error),
                  &error);
        size_t num_stages = certificate->plan->num_stages;
        uint64_t tile_bytes = 0;
        uint64_t unexplained_bytes = 0;
        if (i < 2)
            assert_int_equal(popliner_costs_num_units(certificate->costs), num_units);
        else
            assert_null(certificate->costs);
        for (size_t k = 0; k < num_stages; k++) {
            const popliner_stage_detail *d = &certificate->details[k];
            if (d->tile_bytes > tile_bytes ||
                (d->tile_bytes == tile_bytes && d->tile_unexplained_bytes > unexplained_bytes)) {
                tile_bytes = d->tile_bytes;
                unexplained_bytes = d->tile_unexplained_bytes;
            }
        }
        assert_int_equal(certificate->plan->peak_bytes, tile_bytes);
        assert_true(unexplained_bytes > 0);
        assert_true(certificate->unexplained_share ==
                    (double)unexplained_bytes / (double)tile_bytes);
        popliner_certificate_free(certificate);
    }
    popliner_analysis_free(analysis);
}

/* ---- diagnoses ---- */

/* Walks what is missing and returns its bytes. */
static uint64_t missing_bytes(const pl_missing_variable *missing, size_t count) {
    uint64_t bytes = 0;
    uint64_t last_bytes = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        assert_true(missing[i].size_bytes <= last_bytes && missing[i].num_reasons > 0);
        assert_true(*pl_missing_reason_text(missing[i].reasons[0]) != '\0');
        last_bytes = missing[i].size_bytes;
        bytes += missing[i].size_bytes;
    }
    return bytes;
}

static void tells_what_is_missing(void **state) {
    popliner_analysis *analysis = read_sample();
    popliner_diagnosis *diagnosis = NULL;
    popliner_error error = {.message = ""};
    uint64_t truth_bytes = 0;
    uint64_t explained_bytes = 0;
    (void)state;
    check(popliner_analysis_diagnose(analysis, POPLINER_MEMORY_MODEL_FULL, false, 0, SIZE_MAX,
                                     &diagnosis, &error),
          &error);
    const pl_diagnosis *d = (const pl_diagnosis *)diagnosis;
    assert_int_equal(missing_bytes(d->missing_here.items, d->missing_here.count),
                     diagnosis->truth_bytes - diagnosis->explained_bytes);
    for (size_t i = 0; i < d->num_categories; i++) {
        truth_bytes += d->categories[i].truth_bytes;
        explained_bytes += d->categories[i].explained_bytes;
    }
    assert_int_equal(missing_bytes(d->missing_everywhere.items, d->missing_everywhere.count),
                     truth_bytes - explained_bytes);
    assert_int_equal(diagnosis->num_contradictions, 0);
    popliner_diagnosis_free(diagnosis);
    popliner_analysis_free(analysis);
}

/* ---- what makes no sense ---- */

static void refuses_what_makes_no_sense(void **state) {
    popliner_analysis *analysis = read_sample();
    popliner_error error = {.message = ""};
    popliner_certificate *certificate = NULL;
    popliner_costs *costs = NULL;
    popliner_stage_detail detail;
    popliner_stage_memory *memory = NULL;
    popliner_request bad[6] = {POPLINER_REQUEST_INIT, POPLINER_REQUEST_INIT, POPLINER_REQUEST_INIT,
                               POPLINER_REQUEST_INIT, POPLINER_REQUEST_INIT, POPLINER_REQUEST_INIT};
    size_t num_units = chain_of(analysis, POPLINER_MEMORY_MODEL_FULL)->num_units;
    (void)state;
    bad[0].struct_size = 0;
    bad[1].struct_size = sizeof bad[1] + 1;
    bad[2].memory_model = (popliner_memory_model)7;
    bad[3].schedule = (popliner_schedule)(POPLINER_SCHEDULE_SEQUENTIAL + 1);
    bad[4].recompute = (popliner_recompute)(POPLINER_RECOMPUTE_AUTO + 1);
    bad[5].memory_model = (popliner_memory_model)-1;
    for (size_t i = 0; i < 6; i++) {
        assert_usage(popliner_analysis_solve(analysis, &bad[i], &certificate, &error), &error);
        assert_null(certificate);
        assert_usage(popliner_analysis_costs(analysis, &bad[i], &costs, &error), &error);
        assert_null(costs);
        assert_usage(popliner_analysis_prepare(analysis, &bad[i], false, &error), &error);
        assert_int_equal(popliner_analysis_evaluate(analysis, &bad[i], NULL, 0, &certificate, NULL),
                         POPLINER_ERROR_USAGE);
    }
    /* stages choose, or are told */
    const popliner_recompute told = POPLINER_RECOMPUTE_FULL;
    bad[4].recompute = POPLINER_RECOMPUTE_AUTO;
    bad[4].stage_recomputes = &told;
    bad[4].num_stage_recomputes = 1;
    assert_usage(popliner_analysis_evaluate(analysis, &bad[4], NULL, 0, &certificate, &error),
                 &error);
    const popliner_interval whole = {0, num_units - 1, 1};
    bad[4].stage_recomputes = NULL;
    assert_usage(
        popliner_analysis_measure_stages(analysis, &bad[4], &whole, 1, &detail, &memory, &error),
        &error);
    bad[4].recompute_ways = 8;
    assert_usage(popliner_analysis_solve(analysis, &bad[4], &certificate, &error), &error);
    const size_t bad_cuts[][2] = {{0, 1}, {2, 2}, {2, 1}, {1, num_units}};
    for (size_t i = 0; i < 4; i++)
        assert_usage(
            popliner_analysis_evaluate(analysis, NULL, bad_cuts[i], 2, &certificate, &error),
            &error);
    const popliner_interval bad_stages[][2] = {{{0, num_units, 1}, {0, 0, 1}},
                                               {{2, 1, 1}, {3, 3, 1}},
                                               {{0, 1, 1}, {1, 1, 1}},
                                               {{0, 0, 0}, {1, 1, 1}}};
    for (size_t i = 0; i < 4; i++)
        assert_usage(popliner_analysis_measure_stages(analysis, NULL, bad_stages[i], 2, &detail,
                                                      &memory, &error),
                     &error);
    assert_null(memory);
    popliner_solver_options bad_options = PLAIN_SOLVER_OPTIONS;
    popliner_request request = POPLINER_REQUEST_INIT;
    request.solver = &bad_options;
    bad_options.struct_size = 3;
    assert_usage(popliner_analysis_solve(analysis, &request, &certificate, &error), &error);
    popliner_diagnosis *diagnosis = NULL;
    for (size_t i = 0; i < 3; i++) {
        const popliner_memory_model model = i == 0 ? 2 : POPLINER_MEMORY_MODEL_FULL;
        assert_usage(popliner_analysis_diagnose(analysis, model, false, i == 0 ? 0 : num_units / i,
                                                i == 2 ? 0 : SIZE_MAX, &diagnosis, &error),
                     &error);
        assert_null(diagnosis);
    }
    assert_usage(popliner_analysis_store(analysis, (popliner_memory_model)2, "x", &error), &error);
    popliner_analysis_free(analysis);
    popliner_analysis_free(NULL);
}

/* A program that was compiled with an older header has shorter options. */
static void takes_shorter_options(void **state) {
    popliner_analysis_options options;
    popliner_analysis *analysis = NULL;
    const popliner_layer_finding *layers;
    size_t count;
    popliner_error error = {.message = ""};
    char *path = test_project_file("data/sample/profile.pop");
    (void)state;
    memset(&options, 0xff, sizeof options); /* what is after struct_size must be ignored */
    options.struct_size = offsetof(popliner_analysis_options, first_layer_regex);
    options.layer_name_regex = "nothing(x)";
    check(popliner_analysis_read(path, NULL, &options, &analysis, &error), &error);
    check(popliner_analysis_layers(analysis, &layers, &count, &error), &error);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(layers[i].unit, 0);
    assert_int_equal(chain_of(analysis, POPLINER_MEMORY_MODEL_FULL)->num_units, 1);
    popliner_analysis_free(analysis);
    const size_t bad_sizes[] = {0, sizeof(size_t) - 1, sizeof options + 1};
    for (size_t i = 0; i < 3; i++) {
        options.struct_size = bad_sizes[i];
        assert_usage(popliner_analysis_read(path, NULL, &options, &analysis, &error), &error);
        assert_null(analysis);
        assert_usage(popliner_analysis_load(path, &options, &analysis, &error), &error);
    }
    assert_non_null(strstr(error.message, "POPLINER_ANALYSIS_OPTIONS_INIT"));
    free(path);
}

/* Also for the solver: what is past the end has its default. */
static void takes_shorter_solver_options(void **state) {
    popliner_solver_options options;
    popliner_costs *costs = NULL;
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    (void)state;
    check(popliner_costs_create(3, 1, &costs, &error), &error);
    check(popliner_costs_set_peak(costs, 0, 2, 1, 10, &error), &error);
    memset(&options, 0xff, sizeof options);
    options.struct_size = offsetof(popliner_solver_options, slack_percent);
    options.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
    options.objectives = NULL;
    options.num_objectives = 0;
    check(popliner_solve(costs, &options, &plan, &error), &error);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->num_stages, 2);
    assert_int_equal(plan->num_values, 2);
    assert_int_equal(plan->stages[0].last_unit, 0);
    assert_int_equal(plan->values[0].value, 0);
    assert_int_equal(plan->num_stages, 2);
    assert_int_equal(plan->num_values, 2);
    assert_int_equal(plan->infeasibility.obstacle, POPLINER_OBSTACLE_NONE);
    popliner_plan_free(plan);
    options.struct_size = 0;
    assert_usage(popliner_solve(costs, &options, &plan, &error), &error);
    assert_null(plan);
    /* greedily, at 50 % of what there is */
    options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    options.method = POPLINER_METHOD_GREEDY;
    options.mem_per_tile = 20;
    check(popliner_solve(costs, &options, &plan, &error), &error);
    assert_int_equal(plan->num_stages, 1);
    popliner_plan_free(plan);
    check(popliner_solve(costs, NULL, &plan, &error), &error);
    popliner_plan_free(plan);
    popliner_plan_free(NULL);
    popliner_costs_free(costs);
}

/* A regex that is wrong is reported when the layers are requested; what needs none works. */
static void tells_wrong_regexes(void **state) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *analysis = NULL;
    const popliner_layer_finding *layers;
    const popliner_operation *operations;
    size_t count;
    popliner_certificate *certificate;
    popliner_error error = {.message = ""};
    char *path = test_project_file("data/sample/profile.pop");
    (void)state;
    options.layer_name_regex = "(";
    check(popliner_analysis_read(path, NULL, &options, &analysis, &error), &error);
    assert_usage(popliner_analysis_layers(analysis, &layers, &count, &error), &error);
    assert_null(layers);
    assert_int_equal(count, 0);
    /* the text leads to the field */
    assert_ptr_equal(strstr(error.message, "layer_name_regex: "), error.message);
    assert_usage(popliner_analysis_solve(analysis, NULL, &certificate, &error), &error);
    check(popliner_analysis_operations(analysis, &operations, &count, &error), &error);
    assert_true(count > 0);
    popliner_analysis_free(analysis);
    free(path);
}

static void tells_of_files_that_are_none(void **state) {
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    char *found[2];
    char *sample = test_project_file("data/sample/profile.pop");
    char *directory = test_project_file("data/sample");
    assert_int_equal(popliner_analysis_read(*state, NULL, NULL, &analysis, &error),
                     POPLINER_ERROR_INPUT);
    assert_null(analysis);
    assert_int_equal(popliner_analysis_load(sample, NULL, &analysis, &error), POPLINER_ERROR_INPUT);
    assert_null(analysis);
    check(popliner_analysis_locate(directory, NULL, &found[0], &found[1], &error), &error);
    assert_string_equal(found[0], sample);
    assert_non_null(strstr(found[1], "data/sample/debug.cbor"));
    free(found[0]);
    free(found[1]);
    free(sample);
    free(directory);
}

/* ---- listeners and threads ---- */

typedef struct steps {
    size_t count;
    char last[64];
} steps;

static void on_step(void *user, const char *task, double seconds) {
    steps *told = user;
    assert_true(seconds >= 0 && seconds < 1000);
    told->count++;
    snprintf(told->last, sizeof told->last, "%s", task);
}

static void tells_the_listener_of_its_steps(void **state) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *analysis = NULL;
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    char *path = test_project_file("data/sample/profile.pop");
    steps told = {0};
    (void)state;
    {
        popliner_listener listener = POPLINER_LISTENER_INIT;
        listener.user = &told;
        listener.step = on_step;
        options.listener = &listener; /* which is copied */
        check(popliner_analysis_read(path, NULL, &options, &analysis, &error), &error);
        memset(&listener, 0xff, sizeof listener);
    }
    assert_int_equal(told.count, 1);
    check(popliner_analysis_solve(analysis, NULL, &certificate, &error), &error);
    assert_string_equal(told.last, "Solving");
    /* operations, layers, memory model, stages, solving */
    assert_int_equal(told.count, 6);
    popliner_certificate_free(certificate);
    popliner_analysis_free(analysis);
    free(path);
}

static void *solve_in_thread(void *user) {
    char **text = user;
    popliner_analysis *analysis = NULL;
    popliner_certificate *certificate = NULL;
    char *path = test_project_file("data/sample/profile.pop");
    if (popliner_analysis_read(path, NULL, NULL, &analysis, NULL) == POPLINER_OK &&
        popliner_analysis_solve(analysis, NULL, &certificate, NULL) == POPLINER_OK)
        popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, text, NULL);
    popliner_certificate_free(certificate);
    popliner_analysis_free(analysis);
    free(path);
    return NULL;
}

static void many_analyses_work_at_once(void **state) {
    enum { NUM_THREADS = 4 };
    pthread_t threads[NUM_THREADS];
    char *texts[NUM_THREADS] = {NULL};
    (void)state;
    for (size_t i = 0; i < NUM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, solve_in_thread, &texts[i]), 0);
    for (size_t i = 0; i < NUM_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < NUM_THREADS; i++) {
        assert_non_null(texts[i]);
        assert_string_equal(texts[i], texts[0]);
    }
    for (size_t i = 0; i < NUM_THREADS; i++)
        free(texts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_what_brute_force_finds),
        cmocka_unit_test(evaluates_what_it_measures),
        cmocka_unit_test(evaluates_stages_on_one_ipu),
        cmocka_unit_test(only_shows_its_own_certificates),
        cmocka_unit_test(the_order_of_questions_does_not_matter),
        IN_DIRECTORY(loads_what_it_stored),
        cmocka_unit_test(tells_pairs_of_layers),
        cmocka_unit_test(refuses_tables_that_there_are_not),
        cmocka_unit_test(tells_what_a_certificate_holds),
        cmocka_unit_test(tells_what_is_missing),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(takes_shorter_options),
        cmocka_unit_test(takes_shorter_solver_options),
        cmocka_unit_test(tells_wrong_regexes),
        IN_DIRECTORY(tells_of_files_that_are_none),
        cmocka_unit_test(tells_the_listener_of_its_steps),
        cmocka_unit_test(many_analyses_work_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
