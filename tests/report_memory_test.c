/* Reports with too little memory: whole, or not at all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "plain_options.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/changes.h"
#include "popliner/report.h"
#include "popliner/screen.h"
#include "profile/profile_data.h"
#include "scarce_memory.h"
#include "solve/options.h"
#include "tables/sections.h"

enum { NUM_UNITS = 4 };

/* Everything that reports tell of: the model made by hand, and a plan of its units. */
typedef struct subject {
    golden_case c;
    pl_layers *layers;
    pl_chain *chain;
    pl_stage_meter *meter;
    popliner_plan_stage stages[2];
    popliner_plan_stage whole;
    popliner_plan plan;
    popliner_solver_options options;
    popliner_costs *costs;
    pl_certificate_input input;
    popliner_certificate_input names;
} subject;

/* A name in UTF-8, one that is none, and one that needs an escape. */
static const char *const unit_names[NUM_UNITS] = {("\xc3\x84u\xc3\x9f"
                                                   "eres"),
                                                  "cut \xc3", "\"third\"", "Tail"};

static subject s;

static int begin(void **state) {
    (void)state;
    static const popliner_constraint pair = {.unit = 0, .second_unit = 1};
    static const popliner_constraint placement = {.unit = 1, .ipu = 0};
    static const popliner_ipu_value limit = {1, 1 << 20};
    static const popliner_cut_rule rules[NUM_UNITS] = {POPLINER_CUT_FREE, POPLINER_CUT_FORBIDDEN,
                                                       POPLINER_CUT_REQUIRED};
    static popliner_constraint constraints[] = {
        {.kind = POPLINER_CONSTRAINT_REQUIRED_CUT, .unit = 1},
        {.kind = POPLINER_CONSTRAINT_PAIR, .unit = 1, .second_unit = 2}};
    static popliner_remedy remedies[] = {
        {.kind = POPLINER_REMEDY_IPU_LIMIT, .ipu = 1, .bytes = 9},
        {.kind = POPLINER_REMEDY_CONSTRAINT,
         .constraint = {.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = 1},
         .number = 2}};
    s = (subject){.c = made_whole_case()};
    s.c.profile->tile_total_bytes[0] = 2000;
    s.c.profile->tile_not_always_live_peak_bytes[0] = 1510;
    s.c.profile->tile_always_live_bytes[0] = 90;
    s.layers = assign_layers(&s.c, NULL, POPLINER_LAYER_ORDER_STEPS);
    s.chain = make_chain(&s.c, s.layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(pl_chain_num_units(s.chain), NUM_UNITS);
    assert_int_equal(pl_stage_meter_create(s.chain, 0, &s.meter, NULL), POPLINER_OK);
    s.stages[0] = (popliner_plan_stage){0, 1, 0, 0, 5, 70, 0, 0};
    s.stages[1] = (popliner_plan_stage){2, 3, 1, 0, 7, 0, 0, 0};
    for (size_t i = 0; i < 2; i++) {
        popliner_interval stage = {s.stages[i].first_unit, s.stages[i].last_unit, 2 - i};
        popliner_stage_detail detail;
        assert_int_equal(pl_stage_measure(s.meter, NULL, &stage, 1, NULL, &detail, NULL),
                         POPLINER_OK);
        s.stages[i].peak_bytes = detail.tile_bytes;
    }
    s.whole = (popliner_plan_stage){.last_unit = NUM_UNITS - 1, .cycles = 7};
    popliner_interval whole = {0, NUM_UNITS - 1, 1};
    popliner_stage_detail detail;
    assert_int_equal(pl_stage_measure(s.meter, NULL, &whole, 1, NULL, &detail, NULL), POPLINER_OK);
    s.whole.peak_bytes = detail.tile_bytes;
    s.plan = (popliner_plan){.status = POPLINER_PLAN_INFEASIBLE,
                             .stages = s.stages,
                             .num_stages = 2,
                             .cycles = 7,
                             .cut_bytes = 70,
                             .num_ipus = 2,
                             .num_values = 2,
                             .values = {{POPLINER_OBJECTIVE_MEMORY, 2000, 0, POPLINER_PROOF_NONE},
                                        {POPLINER_OBJECTIVE_TRAFFIC, 70, 0, POPLINER_PROOF_NONE}},
                             .infeasibility = {.obstacle = POPLINER_OBSTACLE_CONSTRAINTS,
                                               .constraints = constraints,
                                               .num_constraints = 2,
                                               .remedies = remedies,
                                               .num_remedies = 2,
                                               .left_out = constraints,
                                               .num_left_out = 2}};
    s.options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    s.options.pairs = &pair;
    s.options.num_pairs = 1;
    s.options.placements = &placement;
    s.options.num_placements = 1;
    s.options.ipu_limits = &limit;
    s.options.num_ipu_limits = 1;
    s.options.cut_rules = rules;
    s.input = (pl_certificate_input){.options = &s.options,
                                     .num_units = NUM_UNITS,
                                     .unit_names = unit_names,
                                     .time_unit = "ms",
                                     .cycles_per_time_unit = 2,
                                     .cuts_per_unit = 1,
                                     .has_cycles = true,
                                     .chain = s.chain,
                                     .meter = s.meter};
    assert_int_equal(pl_option_names_take(NULL, &s.input.option_names, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_create(NUM_UNITS, 1, &s.costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_set_cycles(s.costs, 0, 0, 0, NULL), POPLINER_OK);
    s.names = (popliner_certificate_input)POPLINER_CERTIFICATE_INPUT_INIT;
    s.names.costs = s.costs;
    s.names.options = &s.options;
    s.names.unit_names = unit_names;
    s.names.time_unit = "ms";
    s.names.cycles_per_time_unit = 2;
    return 0;
}

static int end(void **state) {
    (void)state;
    popliner_costs_free(s.costs);
    pl_stage_meter_free(s.meter);
    pl_chain_free(s.chain);
    pl_layers_free(s.layers);
    return 0;
}

/* ---- tasks ---- */

static popliner_status make_diagnosis(void *user, char **text, popliner_error *error) {
    const popliner_interval all = {0, SIZE_MAX, 1};
    pl_diagnosis diagnosis = {0};
    popliner_status status = pl_diagnose(s.meter, false, &all, &diagnosis, error);
    diagnosis.option_names = s.input.option_names;
    const popliner_diagnosis *told = (popliner_diagnosis *)&diagnosis;
    const popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    if (status == POPLINER_OK)
        status = *(popliner_format *)user == POPLINER_FORMAT_JSON
                     ? popliner_report_diagnosis(told, POPLINER_FORMAT_JSON, text, error)
                     : popliner_screen_diagnosis(told, 5, "", &screen, text, error);
    pl_diagnosis_clear(&diagnosis);
    return status;
}

/* A certificate of the plan, which it does not own: free it with free_certificate. */
static popliner_status create_certificate(popliner_certificate **certificate,
                                          popliner_error *error) {
    popliner_plan plan = s.plan;
    return pl_certificate_create(&s.input, false, &plan, NULL, certificate, error);
}

static void free_certificate(popliner_certificate *certificate) {
    if (certificate != NULL)
        ((pl_certificate *)certificate)->plan = (popliner_plan){0};
    popliner_certificate_free(certificate);
}

static popliner_status make_evaluation(void *user, char **text, popliner_error *error) {
    (void)user;
    popliner_certificate *certificate;
    s.options.mem_per_tile = 2000;
    popliner_status status = create_certificate(&certificate, error);
    if (status == POPLINER_OK)
        status = popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, text, error);
    free_certificate(certificate);
    return status;
}

/* The same twice, as two reports. */
static popliner_status make_together(void *user, char **text, popliner_error *error) {
    static const char *const names[] = {"training", "inference"};
    static const char *const units[] = {"first", "last"};
    static const bool are_training[] = {true, false};
    popliner_certificate *certificate;
    popliner_together together = POPLINER_TOGETHER_INIT;
    popliner_status status = create_certificate(&certificate, error);
    const popliner_certificate *const evaluations[] = {certificate, certificate};
    together.names = names;
    together.are_training = are_training;
    together.evaluations = evaluations;
    together.num_reports = 2;
    together.first_units = units;
    together.last_units = units;
    together.num_stages = s.plan.num_stages;
    together.answer = certificate;
    assert_true(together.num_stages <= sizeof units / sizeof *units);
    if (status == POPLINER_OK)
        status = popliner_report_together(&together, *(popliner_format *)user, text, error);
    free_certificate(certificate);
    return status;
}

/* What is not of one split is refused. */
static void refuses_different_splits(void **state) {
    (void)state;
    static const char *const name = "a";
    static const bool is_training = true;
    popliner_certificate *certificate;
    popliner_error error = {.message = ""};
    popliner_together together = POPLINER_TOGETHER_INIT;
    char *text = NULL;
    assert_int_equal(create_certificate(&certificate, NULL), POPLINER_OK);
    const popliner_certificate *const evaluation = certificate;
    const char *const units[] = {"a", "b", "c", "d", "e", "f"};
    together.names = &name;
    together.are_training = &is_training;
    together.evaluations = &evaluation;
    together.num_reports = 1;
    together.first_units = units;
    together.last_units = units;
    together.num_stages = s.plan.num_stages + 1;
    assert_int_equal(popliner_report_together(&together, POPLINER_FORMAT_TSV, &text, &error),
                     POPLINER_ERROR_USAGE);
    assert_null(text);
    assert_non_null(strstr(error.message, "evaluation 0 of several reports has"));
    together.struct_size = 0;
    assert_int_equal(popliner_report_together(&together, POPLINER_FORMAT_TSV, &text, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_report_together(NULL, POPLINER_FORMAT_TSV, &text, &error),
                     POPLINER_OK);
    assert_string_equal(text, "stage\tipu\tfrom\tto\tlimit\tfits\n");
    free(text);
    free_certificate(certificate);
}

static popliner_status make_sweep(void *user, char **text, popliner_error *error) {
    static const uint64_t value = 4;
    const popliner_plan *plan = &s.plan;
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    sweep.what = "num-ipus";
    sweep.values = &value;
    sweep.plans = &plan;
    sweep.num_values = 1;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    table.sweep = &sweep;
    return popliner_report_splits(&table, &s.names, *(popliner_format *)user, text, error);
}

/* With the search for them. */
static popliner_status make_best_compromises(void *user, char **text, popliner_error *error) {
    popliner_pareto *pareto = NULL;
    popliner_solver_options options = s.options;
    options.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING; /* GLPK would do without */
    popliner_status status = popliner_pareto_solve(s.costs, &options, &pareto, error);
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    table.pareto = pareto;
    if (status == POPLINER_OK)
        status = popliner_report_splits(&table, &s.names, *(popliner_format *)user, text, error);
    popliner_pareto_free(pareto);
    return status;
}

static popliner_status make_certificate(void *user, char **text, popliner_error *error) {
    popliner_certificate *certificate;
    popliner_status status = create_certificate(&certificate, error);
    if (status == POPLINER_OK)
        status =
            popliner_certificate_text(certificate, *(popliner_certificate_form *)user, text, error);
    free_certificate(certificate);
    return status;
}

static popliner_status make_table(pl_table_writer *write, const pl_sharing *pairs, char **text,
                                  popliner_error *error) {
    const pl_section_source source = {
        .profile = s.c.profile, .chain = s.chain, .meter = s.meter, .pairs = pairs};
    pl_text made = {0};
    const popliner_status status = write(&source, ',', &made, error);
    return pl_text_finish(&made, status, text, error);
}

static popliner_status make_totals(void *user, char **text, popliner_error *error) {
    (void)user;
    return make_table(pl_report_memory_totals, NULL, text, error);
}

static popliner_status make_layers(void *user, char **text, popliner_error *error) {
    (void)user;
    return make_table(pl_report_layers, NULL, text, error);
}

static popliner_status make_operations(void *user, char **text, popliner_error *error) {
    (void)user;
    return make_table(pl_report_operations, NULL, text, error);
}

static popliner_status make_square(void *user, char **text, popliner_error *error) {
    pl_sharing sharing = {0};
    popliner_status status = pl_sharing_measure(s.chain, &sharing, error);
    if (status == POPLINER_OK)
        status =
            make_table(*(popliner_table *)user == POPLINER_TABLE_AFFINITY ? pl_report_affinity
                                                                          : pl_report_communication,
                       &sharing, text, error);
    pl_sharing_clear(&sharing);
    return status;
}

/* The plan of two stages, and now one stage of everything. */
static popliner_status make_changes(void *user, char **text, popliner_error *error) {
    popliner_analysis analysis = {.listener = POPLINER_LISTENER_INIT,
                                  .profile = s.c.profile,
                                  .operations = s.c.operations,
                                  .layers = s.layers};
    popliner_changes_input input = POPLINER_CHANGES_INPUT_INIT;
    popliner_certificate *before = NULL;
    popliner_certificate *now = NULL;
    popliner_changes *changes = NULL;
    assert_true(pl_analysis_make_lock(&analysis.lock));
    analysis.models[POPLINER_MEMORY_MODEL_FULL].chain = s.chain;
    analysis.models[POPLINER_MEMORY_MODEL_FULL].meter = s.meter;
    *text = NULL;
    popliner_status status = create_certificate(&before, error);
    s.plan.num_stages = 1;
    s.plan.stages = &s.whole;
    if (status == POPLINER_OK)
        status = create_certificate(&now, error);
    s.plan.num_stages = 2;
    s.plan.stages = s.stages;
    input.before = input.now = &analysis;
    input.before_certificate = before;
    input.now_certificate = now;
    if (status == POPLINER_OK)
        status = popliner_changes_create(&input, &changes, error);
    const popliner_format format = *(popliner_format *)user;
    const popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    if (status == POPLINER_OK)
        status = format > POPLINER_FORMAT_JSON
                     ? popliner_screen_changes(changes, "", &screen, text, error)
                     : popliner_changes_text(changes, format, text, error);
    popliner_changes_free(changes);
    free_certificate(before);
    free_certificate(now);
    pthread_mutex_destroy(&analysis.lock);
    return status;
}

/* ---- tests ---- */

/* In each format, and on a screen. */
static void changes(void **state) {
    (void)state;
    for (popliner_format format = POPLINER_FORMAT_TSV; format <= POPLINER_FORMAT_JSON + 1; format++)
        assert_true(scarce_memory_check("the changes", make_changes, &format) > 0);
}

static void reports_in_every_format(void **state) {
    (void)state;
    static const struct {
        const char *what;
        scarce_memory_task make;
    } reports[] = {{"the diagnosis", make_diagnosis},
                   {"the evaluation", make_evaluation},
                   {"several reports", make_together},
                   {"the sweep", make_sweep},
                   {"the best compromises", make_best_compromises}};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        for (popliner_format format = POPLINER_FORMAT_TSV; format <= POPLINER_FORMAT_JSON; format++)
            assert_true(scarce_memory_check(reports[i].what, reports[i].make, &format) > 0);
    }
}

/* The variables of the model are control code, which is nobody's. */
static void diagnoses_of_code(void **state) {
    (void)state;
    s.c.profile->category[0] = PL_CATEGORY_CONTROL_CODE;
    for (popliner_format format = POPLINER_FORMAT_TSV; format <= POPLINER_FORMAT_JSON; format++) {
        char *text = NULL;
        assert_true(scarce_memory_check("the diagnosis", make_diagnosis, &format) > 0);
        assert_int_equal(make_diagnosis(&format, &text, NULL), POPLINER_OK);
        assert_non_null(strstr(text, pl_missing_reason_text(PL_MISSING_COMPILER)));
        free(text);
    }
    s.c.profile->category[0] = PL_CATEGORY_VARIABLE;
}

static void reports_of_the_model(void **state) {
    (void)state;
    scarce_memory_check("the totals", make_totals, NULL);
    scarce_memory_check("the layers", make_layers, NULL);
    scarce_memory_check("the operations", make_operations, NULL);
    for (popliner_table table = POPLINER_TABLE_AFFINITY; table <= POPLINER_TABLE_COMMUNICATION;
         table++)
        scarce_memory_check("the square", make_square, &table);
}

static void certificates(void **state) {
    (void)state;
    static const popliner_obstacle obstacles[] = {POPLINER_OBSTACLE_CONSTRAINTS,
                                                  POPLINER_OBSTACLE_CAPACITY};
    for (popliner_certificate_form form = POPLINER_CERTIFICATE_TEXT;
         form <= POPLINER_CERTIFICATE_CSV; form++) {
        for (size_t k = 0; k < sizeof obstacles / sizeof *obstacles; k++) {
            s.plan.infeasibility.obstacle = obstacles[k];
            assert_true(scarce_memory_check("the certificate", make_certificate, &form) > 0);
        }
    }
}

/* What is no UTF-8 keeps its ASCII part; the rest is not touched. */
static void names_are_whole(void **state) {
    (void)state;
    char *text = NULL;
    popliner_certificate_form form = POPLINER_CERTIFICATE_JSON;
    assert_int_equal(make_certificate(&form, &text, NULL), POPLINER_OK);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    const json_t *options = json_object_get(document, "options");
    assert_string_equal(json_string_value(json_array_get(json_object_get(options, "cut_after"), 0)),
                        "cut \xef\xbf\xbd");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(options, "no_cut_after"), 0)),
        unit_names[0]);
    json_decref(document);
    free(text);
}

int main(void) {
    scarce_memory_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_in_every_format, begin, end),
        cmocka_unit_test_setup_teardown(diagnoses_of_code, begin, end),
        cmocka_unit_test_setup_teardown(reports_of_the_model, begin, end),
        cmocka_unit_test_setup_teardown(certificates, begin, end),
        cmocka_unit_test_setup_teardown(changes, begin, end),
        cmocka_unit_test_setup_teardown(refuses_different_splits, begin, end),
        cmocka_unit_test_setup_teardown(names_are_whole, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
