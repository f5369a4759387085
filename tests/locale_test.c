/* Numbers look the same, whatever locale the program that uses the library has chosen.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/report.h"
#include "popliner/screen.h"
#include "popliner/solver.h"
#include "solve/options.h"
#include "tables/sections.h"
#include "test_data.h"

/* Locales with a comma, and with a sign of two bytes, made for the test by localedef. */
static const struct {
    const char *source;
    const char *name;
    const char *point;
} locales[] = {{"de_DE", "de_DE.UTF-8", ","}, {"ps_AF", "ps_AF.UTF-8", "\xd9\xab"}};
enum { NUM_LOCALES = sizeof locales / sizeof *locales };

/* Chooses a locale; false, with a message, if this machine cannot make it. */
static bool choose(const char *directory, size_t i) {
    char command[500];
    snprintf(command, sizeof command, "localedef -c -i %s -f UTF-8 --no-archive %s/%s 2>&1",
             locales[i].source, directory, locales[i].name);
    FILE *localedef = popen(command, "r");
    if (localedef != NULL)
        pclose(localedef);
    setenv("LOCPATH", directory, 1);
    bool is_chosen = setlocale(LC_ALL, locales[i].name) != NULL;
    unsetenv("LOCPATH");
    if (!is_chosen)
        print_message("Skipped: localedef cannot make the locale %s\n", locales[i].name);
    return is_chosen;
}

/* Adds a text that was made, and frees it. */
static void add_text(pl_text *all, popliner_status status, char **text) {
    assert_int_equal(status, POPLINER_OK);
    pl_text_format(all, "%s\n", *text);
    free(*text);
}

static void add_certificate(pl_text *all, popliner_costs *costs) {
    static const char *const names[] = {"a", "b", "c"};
    static const popliner_certificate_form forms[] = {
        POPLINER_CERTIFICATE_CSV, POPLINER_CERTIFICATE_TEXT, POPLINER_CERTIFICATE_JSON};
    static const uint64_t value = 2;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_certificate *certificate;
    char *text = NULL;
    options.num_ipus = 2;
    options.slack_percent = 12.5;
    assert_int_equal(popliner_solve(costs, &options, &input.plan, NULL), POPLINER_OK);
    input.costs = costs;
    input.options = &options;
    input.unit_names = names;
    input.time_unit = "ms";
    input.cycles_per_time_unit = 1000000000;
    input.cuts_per_unit = 8;
    assert_int_equal(popliner_certificate_create(&input, &certificate, NULL), POPLINER_OK);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add_text(all, popliner_certificate_text(certificate, forms[i], &text, NULL), &text);
    const popliner_plan *plan = certificate->plan;
    sweep.what = "num-ipus";
    sweep.values = &value;
    sweep.plans = &plan;
    sweep.num_values = 1;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    table.sweep = &sweep;
    add_text(all, popliner_report_splits(&table, &input, POPLINER_FORMAT_CSV, &text, NULL), &text);
    popliner_certificate_free(certificate);
}

static void add_reports(pl_text *all, const golden_case *c) {
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_meter *meter;
    pl_diagnosis diagnosis = {0};
    char *text = NULL;
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    const popliner_interval all_units = {0, SIZE_MAX, 1};
    assert_int_equal(pl_diagnose(meter, false, &all_units, &diagnosis, NULL), POPLINER_OK);
    assert_int_equal(pl_option_names_take(NULL, &diagnosis.option_names, NULL), POPLINER_OK);
    const popliner_diagnosis *told = (popliner_diagnosis *)&diagnosis;
    const popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    add_text(all, popliner_report_diagnosis(told, POPLINER_FORMAT_JSON, &text, NULL), &text);
    add_text(all, popliner_screen_diagnosis(told, 2.5, "", &screen, &text, NULL), &text);
    pl_diagnosis_clear(&diagnosis);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void add_messages(pl_text *all, const popliner_costs *costs, const char *directory) {
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_plan *plan;
    popliner_costs_file *file;
    popliner_error error;
    options.slack_percent = -0.5;
    assert_int_equal(popliner_solve(costs, &options, &plan, &error), POPLINER_ERROR_USAGE);
    pl_text_format(all, "%s\n", error.message);
    char *path = test_path(directory, "wrong.json");
    static const char wrong[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": "
                                "[{\"name\": \"a\", \"cycles\": -2.25}]}";
    test_write_bytes(path, wrong, strlen(wrong));
    assert_int_equal(popliner_costs_file_read(path, NULL, 0, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    pl_text_format(all, "%s\n", error.message);
    free(path);
}

static void add_program(pl_text *all, const popliner_costs *costs, const char *directory,
                        popliner_program_format format) {
    static const popliner_objective cycles = POPLINER_OBJECTIVE_CYCLES;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    options.num_ipus = 2;
    options.objectives = &cycles;
    options.num_objectives = 1;
    char *path = test_path(directory, "program");
    size_t size;
    assert_int_equal(popliner_solver_write(costs, &options, NULL, format, path, NULL), POPLINER_OK);
    uint8_t *bytes = test_read_bytes(path, &size);
    pl_text_append(all, (const char *)bytes, size);
    free(bytes);
    free(path);
}

/* All that has numbers with digits behind the point in it, read and written. */
static char *tell_everything(const char *directory) {
    static const char costs_json[] =
        "{\"format\": \"popliner-costs\", \"version\": 1, \"time_unit\": \"ms\", \"units\": ["
        "{\"name\": \"a\", \"memory\": 1e2, \"cycles\": 2.25},"
        "{\"name\": \"b\", \"memory\": 200, \"cycles\": 0.5},"
        "{\"name\": \"c\", \"memory\": 300, \"cycles\": 1.125}], \"cuts\": [20, 33]}";
    static const char graph[] = "node1 -- Input -- forward_compute_time=1.5, "
                                "backward_compute_time=0.25, activation_size=1.0, "
                                "parameter_size=2.0\n"
                                "node2 -- a -- forward_compute_time=1.125, "
                                "backward_compute_time=1, activation_size=1, parameter_size=1\n"
                                "\tnode1 -- node2\n";
    golden_case c = made_whole_case();
    pl_text all = {0};
    popliner_costs_file *file;
    char *path = test_path(directory, "costs.json");
    test_write_bytes(path, costs_json, strlen(costs_json));
    assert_int_equal(popliner_costs_file_read(path, NULL, 0, NULL, &file, NULL), POPLINER_OK);
    popliner_costs *costs = file->costs;
    add_certificate(&all, costs);
    add_reports(&all, &c);
    add_messages(&all, costs, directory);
    for (int format = 0; format < 2 && test_has_glpk(); format++)
        add_program(&all, costs, directory, (popliner_program_format)format);
    popliner_costs_file_free(file);
    test_write_bytes(path, graph, strlen(graph));
    assert_int_equal(popliner_costs_file_read(path, NULL, 0, NULL, &file, NULL), POPLINER_OK);
    pl_text_format(&all, "%llu", (unsigned long long)popliner_costs_cycles(file->costs, 0, 0));
    popliner_costs_file_free(file);
    free(path);
    assert_false(all.failed);
    return all.data;
}

static void numbers_are_the_same_in_every_locale(void **state) {
    size_t num_chosen = 0;
    char *plain = tell_everything(*state);
    /* by hand: 2.25 and 0.5 ms, an eighth of 33, and what was given */
    assert_non_null(strstr(plain, "0,0,a,b,300,2.750000,4.125000"));
    assert_non_null(strstr(plain, "\"slack_percent\": 12.5"));
    assert_non_null(strstr(plain, "slack_percent: -0.5"));
    assert_non_null(strstr(plain, "-2.25 is negative"));
    for (size_t i = 0; i < NUM_LOCALES; i++) {
        if (!test_takes_case(i, 2) || !choose(*state, i))
            continue;
        num_chosen++;
        assert_string_equal(localeconv()->decimal_point, locales[i].point);
        char *told = tell_everything(*state);
        /* nor does the library leave another one behind */
        assert_string_equal(localeconv()->decimal_point, locales[i].point);
        setlocale(LC_ALL, "C");
        assert_string_equal(told, plain);
        free(told);
    }
    free(plain);
    if (num_chosen == 0)
        test_skip("localedef makes no locale");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(numbers_are_the_same_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
