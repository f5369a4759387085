/* NULL for options stands for the defaults everywhere, and NULL for an error is no error.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/solver.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "solve/plan.h"
#include "stored.h"
#include "tables/sections.h"
#include "test_data.h"

static popliner_costs *make_costs(void) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 3; first++)
        for (size_t last = first; last < 3; last++)
            popliner_costs_set_peak(costs, first, last, 1, 100 * (last - first + 1) + first, NULL);
    popliner_costs_set_cut(costs, 1, 7, NULL);
    popliner_costs_set_cut(costs, 2, 5, NULL);
    return costs;
}

static void layers(void **state) {
    (void)state;
    golden_case c = made_case();
    const pl_layer_options given = {0};
    pl_layers *with;
    pl_layers *without;
    assert_int_equal(pl_layers_assign(c.profile, c.operations, &given, &with, NULL), POPLINER_OK);
    assert_int_equal(pl_layers_assign(c.profile, c.operations, NULL, &without, NULL), POPLINER_OK);
    /* "layer1" and "layer2", and what is in none */
    assert_int_equal(pl_layers_num_units(without), 3);
    for (size_t i = 0; i < pl_operations_count(c.operations); i++)
        assert_int_equal(pl_layer_at(without, i)->unit, pl_layer_at(with, i)->unit);
    pl_layers_free(with);
    pl_layers_free(without);
}

static popliner_analysis *read_sample(void) {
    char *path = test_project_file("data/sample/profile.pop");
    popliner_analysis *analysis;
    assert_int_equal(popliner_analysis_read(path, NULL, NULL, &analysis, NULL), POPLINER_OK);
    free(path);
    return analysis;
}

/* SIZE_MAX is the last unit. */
static void diagnosis(void **state) {
    (void)state;
    popliner_analysis *analysis = read_sample();
    const popliner_chain *chain;
    popliner_diagnosis *with;
    popliner_diagnosis *without;
    assert_int_equal(popliner_analysis_chain(analysis, POPLINER_MEMORY_MODEL_FULL, &chain, NULL),
                     POPLINER_OK);
    assert_int_equal(popliner_analysis_diagnose(analysis, POPLINER_MEMORY_MODEL_FULL, false, 0,
                                                chain->num_units - 1, &with, NULL),
                     POPLINER_OK);
    assert_int_equal(popliner_analysis_diagnose(analysis, POPLINER_MEMORY_MODEL_FULL, false, 0,
                                                SIZE_MAX, &without, NULL),
                     POPLINER_OK);
    assert_int_equal(without->model, POPLINER_MEMORY_MODEL_FULL);
    assert_false(without->layer_operations_only);
    assert_true(without->truth_bytes > 0);
    assert_int_equal(without->truth_bytes, with->truth_bytes);
    assert_int_equal(without->explained_bytes, with->explained_bytes);
    popliner_diagnosis_free(with);
    popliner_diagnosis_free(without);
    popliner_analysis_free(analysis);
}

/* Three stages, each with one unit: the default is 16 stages of any size and the smallest peak. */
static void assert_default_plan(popliner_plan *plan) {
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->num_stages, 3);
    assert_int_equal(plan->peak_bytes, 102);
    assert_int_equal(plan->cut_bytes, 12);
    popliner_plan_free(plan);
}

static popliner_status ask_peak(void *user, size_t first_unit, size_t last_unit,
                                uint64_t *peak_bytes, popliner_error *error) {
    (void)error;
    *peak_bytes = popliner_costs_peak(user, first_unit, last_unit, 1);
    return POPLINER_OK;
}

static void solving(void **state) {
    const popliner_solver_options given = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_costs *costs = make_costs();
    popliner_plan *plan;
    popliner_plan greedy = {0};
    assert_int_equal(popliner_solve(costs, &given, &plan, NULL), POPLINER_OK);
    assert_default_plan(plan);
    assert_int_equal(popliner_solve(costs, NULL, &plan, NULL), POPLINER_OK);
    assert_default_plan(plan);
    assert_int_equal(pl_solve_greedily(3, ask_peak, costs, NULL, &greedy, NULL), POPLINER_OK);
    assert_int_equal(greedy.status, POPLINER_PLAN_FEASIBLE);
    assert_int_equal(greedy.num_stages, 1); /* at least three units in each, and all fit */
    pl_plan_clear(&greedy);

    char *paths[] = {test_path(*state, "with"), test_path(*state, "without")};
    size_t sizes[2] = {0};
    uint8_t *bytes[2] = {NULL};
    for (size_t i = 0; i < 2 && test_has_glpk(); i++) {
        assert_int_equal(popliner_solver_write(costs, i == 0 ? &given : NULL, NULL,
                                               POPLINER_PROGRAM_LP, paths[i], NULL),
                         POPLINER_OK);
        bytes[i] = test_read_bytes(paths[i], &sizes[i]);
    }
    assert_int_equal(sizes[0], sizes[1]);
    if (test_has_glpk())
        assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    for (size_t i = 0; i < 2; i++) {
        free(paths[i]);
        free(bytes[i]);
    }
    popliner_costs_free(costs);
}

/* Asserts that the text holds `part`, and frees it. */
static void assert_holds(char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' lacks '%s'", text, part);
    free(text);
}

static char *text_of(const popliner_certificate *certificate, popliner_certificate_form form) {
    char *text = NULL;
    assert_int_equal(popliner_certificate_text(certificate, form, &text, NULL), POPLINER_OK);
    return text;
}

static void certificates(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const uint64_t value = 16;
    popliner_costs *costs = make_costs();
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_certificate *certificate;
    assert_int_equal(popliner_costs_set_cycles(costs, 0, 0, 0, NULL), POPLINER_OK);
    assert_int_equal(popliner_solve(costs, NULL, &input.plan, NULL), POPLINER_OK);
    /* no options, no time unit, and no numbers by which to divide */
    input.costs = costs;
    input.unit_names = names;
    assert_int_equal(popliner_certificate_create(&input, &certificate, NULL), POPLINER_OK);
    char *text = text_of(certificate, POPLINER_CERTIFICATE_JSON);
    assert_non_null(strstr(text, "\"num_ipus\": 16"));
    assert_holds(text, "\"time_unit\": \"cycles\"");
    assert_holds(text_of(certificate, POPLINER_CERTIFICATE_CSV),
                 "stage,ipu,from,to,memory,cycles,cut,limit_bytes,headroom_bytes,verdict\r\n"
                 "0,0,a,a,100,0,7,,,fits\r\n");
    const popliner_plan *plan = certificate->plan;
    sweep.what = "num-ipus";
    sweep.values = &value;
    sweep.plans = &plan;
    sweep.num_values = 1;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    table.sweep = &sweep;
    assert_int_equal(popliner_report_splits(&table, &input, POPLINER_FORMAT_CSV, &text, NULL),
                     POPLINER_OK);
    assert_holds(text, "num-ipus,status,memory,traffic,used,split\r\n16,optimal,102,12,3,");
    popliner_pareto *pareto;
    assert_int_equal(popliner_pareto_solve(costs, NULL, &pareto, NULL), POPLINER_OK);
    table.sweep = NULL;
    table.pareto = pareto;
    assert_int_equal(popliner_report_splits(&table, &input, POPLINER_FORMAT_CSV, &text, NULL),
                     POPLINER_OK);
    assert_holds(text, "status,memory,traffic,used,split\r\noptimal,102,12,3,");
    popliner_pareto_free(pareto);
    popliner_certificate_free(certificate);
    popliner_costs_free(costs);
}

/* Every function that can fail does without an error to write into. */
static void errors(void **state) {
    golden_case c = made_whole_case();
    char *missing = test_path(*state, "missing/file");
    const pl_layer_options bad_regex = {.name_regex = "("};
    pl_layers *of = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, of, POPLINER_MEMORY_MODEL_FULL);
    popliner_costs *costs = make_costs();
    popliner_profile *profile;
    pl_debug_info *info;
    pl_operations *operations;
    popliner_analysis *analysis;
    pl_stored_analysis *stored;
    popliner_costs_file *file;
    pl_layers *no_layers;
    pl_stage_meter *meter;
    pl_diagnosis diagnosis = {0};
    popliner_diagnosis *made;
    popliner_plan plan = {0};
    assert_int_equal(pl_read_files(missing, NULL, NULL, &profile, NULL, NULL),
                     POPLINER_ERROR_INPUT);
    assert_int_equal(pl_debug_info_read(NULL, missing, NULL, &info, NULL), POPLINER_ERROR_INPUT);
    assert_int_equal(pl_read_files(missing, missing, NULL, &profile, &info, NULL),
                     POPLINER_ERROR_INPUT);
    assert_int_equal(popliner_analysis_read(missing, NULL, NULL, &analysis, NULL),
                     POPLINER_ERROR_INPUT);
    assert_int_equal(popliner_analysis_load(missing, NULL, &analysis, NULL), POPLINER_ERROR_INPUT);
    assert_int_equal(load_stored(missing, &profile, &operations, NULL), POPLINER_ERROR_INPUT);
    assert_int_equal(pl_stored_analysis_open(missing, &stored, NULL), POPLINER_ERROR_INPUT);
    assert_int_equal(save_stored(c.profile, c.operations, missing, NULL), POPLINER_ERROR_OUTPUT);
    assert_int_equal(popliner_costs_file_read(missing, NULL, 0, NULL, &file, NULL),
                     POPLINER_ERROR_INPUT);
    assert_int_equal(pl_layers_assign(c.profile, c.operations, &bad_regex, &no_layers, NULL),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    const popliner_interval no_units = {9, 9, 1};
    assert_int_equal(pl_diagnose(meter, false, &no_units, &diagnosis, NULL), POPLINER_ERROR_USAGE);
    analysis = read_sample();
    assert_int_equal(
        popliner_analysis_diagnose(analysis, POPLINER_MEMORY_MODEL_FULL, false, 9, 9, &made, NULL),
        POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, missing, NULL),
                     POPLINER_ERROR_OUTPUT);
    popliner_analysis_free(analysis);
    assert_int_equal(pl_solve_greedily(0, ask_peak, costs, NULL, &plan, NULL),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_solver_write(costs, NULL, NULL, POPLINER_PROGRAM_MPS, missing, NULL),
                     test_has_glpk() ? POPLINER_ERROR_OUTPUT : POPLINER_ERROR_USAGE);
    c.profile->lacks_variables = true;
    assert_int_equal(measure_all_stages(chain, 0, NULL, POPLINER_NEED_EXPECTED, NULL, NULL, NULL),
                     POPLINER_ERROR_USAGE);
    c.profile->lacks_variables = false;
    pl_stage_meter_free(meter);
    popliner_costs_free(costs);
    pl_chain_free(chain);
    pl_layers_free(of);
    free(missing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),       cmocka_unit_test(diagnosis), IN_DIRECTORY(solving),
        cmocka_unit_test(certificates), IN_DIRECTORY(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
