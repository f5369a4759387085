/* What is asked of the solver, wrong in every way: each entry refuses it by name, and none crashes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include "popliner/certificate.h"
#include "popliner/emit.h"
#include "popliner/replicas.h"
#include "popliner/report.h"
#include "popliner/solver.h"
#include "popliner/utilities.h"
#include "solve/objective.h"
#include "solve/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_UNITS = 5 };

static const char *const unit_names[] = {"head", "0", "1", "2", "tail", "more", "units", "here"};

static popliner_costs *make_costs(size_t num_units, bool with_cycles) {
    popliner_costs *costs = NULL;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < num_units; ++first)
        for (size_t last = first; last < num_units; ++last) {
            size_t size = last - first + 1;
            popliner_costs_set_peak(costs, first, last, 1, 10 * size + first, NULL);
            if (with_cycles)
                popliner_costs_set_cycles(costs, first, last, 7 * size + last, NULL);
        }
    for (size_t unit = 1; unit < num_units; ++unit)
        popliner_costs_set_cut(costs, unit, 3 * unit, NULL);
    return costs;
}

/* ---- each entry ---- */

static popliner_status by_solve(const popliner_costs *costs, const popliner_solver_options *o,
                                popliner_error *error) {
    popliner_plan *plan = NULL;
    popliner_status status = popliner_solve(costs, o, &plan, error);
    assert_true((status == POPLINER_OK) == (plan != NULL));
    popliner_plan_free(plan);
    return status;
}

static popliner_status by_pareto(const popliner_costs *costs, const popliner_solver_options *o,
                                 popliner_error *error) {
    popliner_pareto *pareto = NULL;
    popliner_status status = popliner_pareto_solve(costs, o, &pareto, error);
    popliner_pareto_free(pareto);
    return status;
}

static popliner_status by_replicas(const popliner_costs *costs, const popliner_solver_options *o,
                                   popliner_error *error) {
    popliner_replicas *replicas = NULL;
    popliner_replicas_options options = POPLINER_REPLICAS_OPTIONS_INIT;
    options.solver = o;
    options.total_ipus = 4;
    options.micro_batches = 2;
    popliner_status status = popliner_replicas_solve(costs, &options, &replicas, error);
    popliner_replicas_free(replicas);
    return status;
}

static popliner_status by_ways(const popliner_costs *costs, const popliner_solver_options *o,
                               popliner_error *error) {
    const popliner_costs *ways[] = {costs, costs};
    static const char *const names[] = {"none", "full"};
    popliner_plan *plan = NULL;
    popliner_status status = popliner_variants_solve_costs(ways, names, 2, o, &plan, error);
    popliner_plan_free(plan);
    return status;
}

static popliner_status by_program(const popliner_costs *costs, const popliner_solver_options *o,
                                  popliner_error *error) {
    return popliner_solver_write(costs, o, NULL, POPLINER_PROGRAM_LP, "/dev/null", error);
}

/* A certificate of a good plan, with these options. */
static popliner_status by_certificate(const popliner_costs *costs, const popliner_solver_options *o,
                                      popliner_error *error) {
    popliner_certificate *certificate = NULL;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    assert_int_equal(popliner_solve(costs, NULL, &input.plan, NULL), POPLINER_OK);
    popliner_plan *plan = input.plan;
    input.costs = costs;
    input.options = o;
    input.unit_names = unit_names;
    popliner_status status = popliner_certificate_create(&input, &certificate, error);
    if (status != POPLINER_OK)
        popliner_plan_free(plan);
    for (int form = 0; status == POPLINER_OK && form <= POPLINER_CERTIFICATE_CSV; ++form) {
        char *text = NULL;
        assert_int_equal(
            popliner_certificate_text(certificate, (popliner_certificate_form)form, &text, NULL),
            POPLINER_OK);
        free(text);
    }
    popliner_certificate_free(certificate);
    return status;
}

static popliner_status by_report(const popliner_costs *costs, const popliner_solver_options *o,
                                 popliner_error *error) {
    popliner_plan *plan = NULL;
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    uint64_t value = 1;
    char *text = NULL;
    assert_int_equal(popliner_solve(costs, NULL, &plan, NULL), POPLINER_OK);
    const popliner_plan *const plans[] = {plan};
    sweep.what = "value";
    sweep.values = &value;
    sweep.plans = plans;
    sweep.num_values = 1;
    input.costs = costs;
    input.options = o;
    input.unit_names = unit_names;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    table.sweep = &sweep;
    popliner_status status =
        popliner_report_splits(&table, &input, POPLINER_FORMAT_JSON, &text, error);
    free(text);
    popliner_plan_free(plan);
    return status;
}

typedef popliner_status (*entry)(const popliner_costs *costs, const popliner_solver_options *o,
                                 popliner_error *error);
static const entry entries[] = {by_solve,   by_pareto,      by_replicas, by_ways,
                                by_program, by_certificate, by_report};
enum { NUM_ENTRIES = sizeof entries / sizeof *entries };

/* ---- one fault at a time ---- */

static popliner_objective objectives[] = {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_MEMORY};
static popliner_objective no_objective[] = {(popliner_objective)77};
static popliner_objective negative[] = {POPLINER_OBJECTIVE_MEMORY, (popliner_objective)-1};
static popliner_constraint far_pair[] = {{.unit = 0, .second_unit = NUM_UNITS}};
static popliner_constraint same_pairs[] = {{.unit = 1, .second_unit = 2},
                                           {.unit = 2, .second_unit = 1}};
static popliner_constraint far_unit[] = {{.unit = NUM_UNITS, .ipu = 0}};
static popliner_constraint far_ipu[] = {{.unit = 0, .ipu = POPLINER_MAX_IPU + 1}};
static popliner_constraint same_unit[] = {{.unit = 1, .ipu = 0}, {.unit = 1, .ipu = 1}};
static popliner_ipu_value same_limits[] = {{1, 100}, {0, 100}, {1, 200}};
static popliner_ipu_value far_limit[] = {{SIZE_MAX, 100}};
static popliner_ipu_value same_speeds[] = {{1, 1000000}, {1, 2000000}};
static popliner_ipu_value far_speed[] = {{SIZE_MAX, 1000000}};
static popliner_ipu_value no_speed[] = {{0, 0}};
static popliner_ipu_link same_links[] = {{0, 1, 1, 1}, {1, 0, 1, 1}};
static popliner_ipu_link far_link[] = {{0, SIZE_MAX, 1, 1}};
static popliner_ipu_link own_link[] = {{2, 2, 1, 1}};
static popliner_ipu_link half_link[] = {{0, 1, 1, 0}};
static size_t far_map[] = {SIZE_MAX};
static popliner_cut_rule no_rule[NUM_UNITS] = {POPLINER_CUT_FREE, (popliner_cut_rule)9};

static void set_fault(popliner_solver_options *o, size_t fault, const char **name) {
    static const char *const names[] = {"objectives: memory",
                                        "objectives: 77 is not",
                                        "objectives: -1 is not",
                                        "objectives: NULL",
                                        "pairs: unit 5",
                                        "pairs: units 1 and 2",
                                        "pairs: NULL",
                                        "placements: unit 5",
                                        "placements: IPU",
                                        "placements: unit 1",
                                        "mem_per_tile: IPU 1",
                                        "mem_per_tile: IPU",
                                        "ipu_speeds: IPU 1",
                                        "ipu_speeds: IPU",
                                        "ipu_speeds: IPU 0: 0 millionths",
                                        "ipu_links: IPUs 0 and 1",
                                        "ipu_links: IPU",
                                        "ipu_links: IPU 2",
                                        "ipu_links: 1 bytes",
                                        "device_map: IPU",
                                        "device_map: NULL",
                                        "device_map: 65537 stages",
                                        "cut_rules: unit 1 has 9,",
                                        "method: 55 is not",
                                        "time_limit_seconds: -1",
                                        "slack_percent: -1",
                                        "link_bandwidth: 0 bytes"};
    static const popliner_solver_options faults[] = {
        {.objectives = objectives, .num_objectives = 2},
        {.objectives = no_objective, .num_objectives = 1},
        {.objectives = negative, .num_objectives = 2},
        {.num_objectives = 3},
        {.pairs = far_pair, .num_pairs = 1},
        {.pairs = same_pairs, .num_pairs = 2},
        {.num_pairs = 2},
        {.placements = far_unit, .num_placements = 1},
        {.placements = far_ipu, .num_placements = 1},
        {.placements = same_unit, .num_placements = 2},
        {.ipu_limits = same_limits, .num_ipu_limits = 3},
        {.ipu_limits = far_limit, .num_ipu_limits = 1},
        {.ipu_speeds = same_speeds, .num_ipu_speeds = 2},
        {.ipu_speeds = far_speed, .num_ipu_speeds = 1},
        {.ipu_speeds = no_speed, .num_ipu_speeds = 1},
        {.ipu_links = same_links, .num_ipu_links = 2},
        {.ipu_links = far_link, .num_ipu_links = 1},
        {.ipu_links = own_link, .num_ipu_links = 1},
        {.ipu_links = half_link, .num_ipu_links = 1},
        {.device_map = far_map, .num_mapped_stages = 1},
        {.num_mapped_stages = 1},
        {.device_map = far_map, .num_mapped_stages = POPLINER_MAX_IPU + 2},
        {.cut_rules = no_rule},
        {.method = (popliner_method)55},
        {.time_limit_seconds = -1.0},
        {.slack_percent = -1.0},
        {.link_bandwidth = {.cycles = 1}},
    };
    enum { NUM_FAULTS = sizeof faults / sizeof *faults };
    assert_int_equal(NUM_FAULTS, sizeof names / sizeof *names);
    *name = NULL;
    if (fault == NUM_FAULTS)
        return;
    *name = names[fault];
    *o = faults[fault];
    o->struct_size = sizeof *o;
    o->mem_per_tile = POPLINER_TARGET_BYTES;
    o->num_ipus = 3;
}

static void refuses_each_fault_by_name_at_each_entry(void **state) {
    (void)state;
    popliner_costs *costs = make_costs(NUM_UNITS, true);
    const char *name = "";
    for (size_t fault = 0; name != NULL; ++fault)
        for (size_t i = 0; i < NUM_ENTRIES; ++i) {
            popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
            popliner_error error = {.message = ""};
            set_fault(&o, fault, &name);
            if (name == NULL)
                break;
            bool is_mapped = o.num_mapped_stages > 0 || o.slack_percent != 0.0;
            popliner_status status = entries[i](costs, &o, &error);
            assert_int_equal(status, POPLINER_ERROR_USAGE);
            /* replicas have no map and no slack */
            if (strstr(error.message, name) == NULL && !(entries[i] == by_replicas && is_mapped))
                fail_msg("entry %zu: %s: %s", i, name, error.message);
            if (o.method == POPLINER_METHOD_AUTO && entries[i] == by_solve) {
                o.method = POPLINER_METHOD_GREEDY;
                assert_int_equal(by_solve(costs, &o, NULL), POPLINER_ERROR_USAGE);
            }
        }
    popliner_costs_free(costs);
}

/* What the costs do not have is refused by name. */
static void refuses_what_the_costs_do_not_have(void **state) {
    (void)state;
    popliner_costs *costs = make_costs(NUM_UNITS, false);
    static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
    static const popliner_ipu_value speeds[] = {{0, 2000000}};
    popliner_solver_options faults[3];
    static const char *const names[] = {"objectives: cycles", "ipu_speeds: ", "link_bandwidth: "};
    for (size_t i = 0; i < 3; ++i)
        faults[i] = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    faults[0].objectives = cycles;
    faults[0].num_objectives = 1;
    faults[1].ipu_speeds = speeds;
    faults[1].num_ipu_speeds = 1;
    faults[2].link_bandwidth = (popliner_ipu_link){.bytes = 1, .cycles = 1};
    for (size_t i = 0; i < 3; ++i) {
        static const entry by[] = {by_solve, by_pareto, by_ways, by_program};
        for (size_t k = 0; k < 4; ++k) {
            popliner_error error = {.message = ""};
            assert_int_equal(by[k](costs, &faults[i], &error), POPLINER_ERROR_USAGE);
            assert_non_null(strstr(error.message, names[i]));
        }
    }
    popliner_costs_free(costs);
}

/* A plan whose units the costs do not have. */
static void refuses_a_plan_of_other_costs(void **state) {
    (void)state;
    popliner_costs *costs = make_costs(NUM_UNITS, true);
    popliner_costs *larger = make_costs(NUM_UNITS + 2, true);
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_certificate *certificate = NULL;
    popliner_error error;
    assert_int_equal(popliner_solve(larger, NULL, &input.plan, NULL), POPLINER_OK);
    input.costs = costs;
    input.unit_names = unit_names;
    assert_int_equal(popliner_certificate_create(&input, &certificate, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "7 units"));
    popliner_plan_free(input.plan);
    popliner_costs_free(costs);
    popliner_costs_free(larger);
}

static void has_no_names_of_what_there_is_not(void **state) {
    (void)state;
    static const int far[] = {-1, 1000, 1 << 30};
    for (size_t i = 0; i < 3; ++i) {
        assert_null(pl_objective_name((popliner_objective)far[i]));
        assert_null(pl_proof_name((popliner_proof)far[i]));
    }
    assert_null(pl_objective_name(POPLINER_NUM_OBJECTIVES));
    assert_null(popliner_name_of(POPLINER_NAMED_MEANING, POPLINER_NUM_OBJECTIVES));
    for (size_t i = 0; i < POPLINER_NUM_OBJECTIVES; ++i)
        assert_non_null(popliner_name_of(POPLINER_NAMED_MEANING, i));
    assert_null(pl_proof_name(POPLINER_NUM_PROOFS));
}

/* ---- anything at all ---- */

typedef struct hostile {
    uint64_t seed;
    popliner_objective objectives[7];
    popliner_constraint pairs[3];
    popliner_constraint placements[3];
    popliner_ipu_value limits[3];
    popliner_ipu_value speeds[3];
    popliner_ipu_link links[3];
    size_t map[6];
    popliner_cut_rule rules[NUM_UNITS];
    uint8_t counted[NUM_UNITS];
    popliner_solver_options options;
} hostile;

static uint64_t draw(hostile *h) {
    h->seed ^= h->seed << 13;
    h->seed ^= h->seed >> 7;
    h->seed ^= h->seed << 17;
    return h->seed * UINT64_C(0x2545F4914F6CDD1D) >> 16;
}

static uint64_t below(hostile *h, uint64_t limit) {
    return draw(h) % limit;
}

/* A number that mostly makes sense; now and then one that does not. */
static size_t number(hostile *h, size_t limit) {
    static const size_t odd[] = {
        SIZE_MAX,        SIZE_MAX - 1, (size_t)1 << 63, INT64_MAX, POPLINER_MAX_IPU + 1, UINT32_MAX,
        (size_t)1 << 32, 1000};
    return below(h, 12) == 0 ? odd[below(h, sizeof odd / sizeof *odd)] : below(h, limit + 1);
}

static void draw_lists(hostile *h) {
    popliner_solver_options *o = &h->options;
    o->num_objectives = below(h, 3) == 0 ? below(h, 8) : below(h, 3);
    for (size_t i = 0; i < 7; ++i)
        h->objectives[i] =
            (popliner_objective)(below(h, 20) == 0 ? (int)draw(h) : (int)below(h, 5));
    o->num_pairs = below(h, 4) == 0 ? 1 + below(h, 3) : 0;
    o->num_placements = below(h, 4) == 0 ? 1 + below(h, 3) : 0;
    o->num_ipu_limits = below(h, 4) == 0 ? 1 + below(h, 3) : 0;
    o->num_ipu_speeds = below(h, 6) == 0 ? 1 + below(h, 3) : 0;
    o->num_ipu_links = below(h, 6) == 0 ? 1 + below(h, 3) : 0;
    for (size_t i = 0; i < 3; ++i) {
        h->pairs[i] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                            .unit = number(h, NUM_UNITS),
                                            .second_unit = number(h, NUM_UNITS)};
        h->placements[i] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PLACEMENT,
                                                 .unit = number(h, NUM_UNITS),
                                                 .ipu = number(h, 4)};
        h->limits[i] = (popliner_ipu_value){number(h, 4), number(h, 60)};
        h->speeds[i] = (popliner_ipu_value){number(h, 4), number(h, 3000000)};
        h->links[i] = (popliner_ipu_link){number(h, 4), number(h, 4), number(h, 9), number(h, 9)};
    }
    o->objectives = h->objectives;
    o->pairs = h->pairs;
    o->placements = h->placements;
    o->ipu_limits = h->limits;
    o->ipu_speeds = h->speeds;
    o->ipu_links = h->links;
}

static void draw_options(hostile *h) {
    popliner_solver_options *o = &h->options;
    *o = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    draw_lists(h);
    o->method = (popliner_method)(below(h, 15) == 0 ? (int)draw(h) : (int)below(h, 3));
    o->num_ipus = number(h, 6);
    o->mem_per_tile = below(h, 2) == 0 ? number(h, 80) : POPLINER_TARGET_BYTES;
    o->min_units = below(h, 3) == 0 ? number(h, 3) : 0;
    o->max_units = below(h, 3) == 0 ? number(h, 4) : 0;
    o->num_mapped_stages = below(h, 3) == 0 ? below(h, 7) : 0;
    for (size_t i = 0; i < 6; ++i)
        h->map[i] = number(h, 2);
    o->device_map = h->map;
    for (size_t unit = 0; unit < NUM_UNITS; ++unit) {
        h->rules[unit] = (popliner_cut_rule)(below(h, 60) == 0 ? (int)draw(h) : (int)below(h, 3));
        h->counted[unit] = (uint8_t)below(h, 2);
    }
    o->cut_rules = below(h, 3) == 0 ? h->rules : NULL;
    o->counted_units = below(h, 2) == 0 ? h->counted : NULL;
    o->slack_percent = below(h, 20) == 0 ? NAN : below(h, 4) == 0 ? 10.0 : 0.0;
    o->without_reasons = below(h, 2) == 0;
    o->reserve_bytes = number(h, 40);
    o->reserve_percent_hundredths = number(h, 10001);
    o->max_ipu_weight = draw(h);
}

static void answers_any_request(void **state) {
    (void)state;
    enum { NUM_REQUESTS = 3000 };
    popliner_costs *costs[] = {make_costs(NUM_UNITS, true), make_costs(NUM_UNITS, false)};
    hostile h = {.seed = 2026};
    size_t num_answered = 0;
    for (size_t i = 0; i < NUM_REQUESTS; ++i) {
        draw_options(&h);
        popliner_error error = {.message = ""};
        popliner_status status =
            entries[i % NUM_ENTRIES](costs[below(&h, 4) == 0], &h.options, &error);
        num_answered += status == POPLINER_OK;
        if (status == POPLINER_OK)
            continue;
        if (status != POPLINER_ERROR_USAGE || error.message[0] == '\0')
            fail_msg("request %zu, entry %zu: status %d: %s", i, i % NUM_ENTRIES, (int)status,
                     error.message);
    }
    assert_true(num_answered > NUM_REQUESTS / 20);
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_each_fault_by_name_at_each_entry),
        cmocka_unit_test(refuses_what_the_costs_do_not_have),
        cmocka_unit_test(refuses_a_plan_of_other_costs),
        cmocka_unit_test(has_no_names_of_what_there_is_not),
        cmocka_unit_test(answers_any_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
