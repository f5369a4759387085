/* What a certificate says of contradictions and remedies, in whose words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"
#include "test_data.h"

#include "answer/certificate_data.h"
#include "popliner/certificate.h"
#include "solve/plan.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const unit_names[] = {"A", "B", "C"};
static const uint8_t counted_units[] = {0, 1, 1};

/* One of each kind. */
static const popliner_constraint every_kind[] = {
    {.kind = POPLINER_CONSTRAINT_NUM_IPUS, .number = 3},
    {.kind = POPLINER_CONSTRAINT_DEVICE_MAP, .number = 4},
    {.kind = POPLINER_CONSTRAINT_MIN_UNITS, .number = 5},
    {.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = 6},
    {.kind = POPLINER_CONSTRAINT_REQUIRED_CUT, .unit = 0},
    {.kind = POPLINER_CONSTRAINT_FORBIDDEN_CUT, .unit = 1},
    {.kind = POPLINER_CONSTRAINT_PAIR, .unit = 1, .second_unit = 2},
    {.kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = 2, .ipu = 7},
};
enum { NUM_KINDS = sizeof every_kind / sizeof *every_kind };

/* Where no memory of all devices is known to be needed. */
#define NOTHING_FITS "Does not fit on 16 devices. Proven: every split is above a limit.\n"

static const char *const by_field[] = {
    "num_ipus 3",    "device_map of 4 stages", "require layers:5..",   "require layers:..6",
    "require cut:A", "require no-cut:B",       "require together:B,C", "require place:C=7"};

static const popliner_option_names own_names = {
    .struct_size = sizeof own_names,
    .num_ipus = "-n",
    .mem_per_tile = "-m",
    .reserve = "-r",
    .constraints = {[POPLINER_CONSTRAINT_REQUIRED_CUT] = "cut"}};

/* One of each kind, and one more. */
static const popliner_remedy every_remedy[] = {
    {.kind = POPLINER_REMEDY_IPU_LIMIT, .ipu = 3, .bytes = 700},
    {.kind = POPLINER_REMEDY_EVERY_LIMIT, .bytes = 40},
    {.kind = POPLINER_REMEDY_CONSTRAINT,
     .constraint = {.kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = 2, .ipu = 7}},
    {.kind = POPLINER_REMEDY_CONSTRAINT,
     .constraint = {.kind = POPLINER_CONSTRAINT_MIN_UNITS, .number = 5},
     .number = 2},
    {.kind = POPLINER_REMEDY_WITHOUT_MAP, .number = 9},
    {.kind = POPLINER_REMEDY_IPU_LIMIT, .ipu = 4, .bytes = 800},
    {.kind = POPLINER_REMEDY_IPU_LIMIT, .ipu = 5, .bytes = 900}};
enum { NUM_REMEDIES = sizeof every_remedy / sizeof *every_remedy };

/* A plan for which there is no split; `why` tells of the first num_constraints of every_kind, of
 * which the plan owns copies. */
static popliner_plan *plan_without_split(const popliner_infeasibility *why) {
    popliner_plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->status = POPLINER_PLAN_INFEASIBLE;
    plan->infeasibility = *why;
    plan->infeasibility.constraints = malloc(sizeof every_kind);
    assert_non_null(plan->infeasibility.constraints);
    memcpy(plan->infeasibility.constraints, every_kind, sizeof every_kind);
    plan->infeasibility.left_out = malloc(sizeof every_kind);
    assert_non_null(plan->infeasibility.left_out);
    memcpy(plan->infeasibility.left_out, every_kind + NUM_KINDS - 2, 2 * sizeof *every_kind);
    plan->infeasibility.remedies = malloc(sizeof every_remedy);
    assert_non_null(plan->infeasibility.remedies);
    memcpy(plan->infeasibility.remedies, every_remedy, sizeof every_remedy);
    return plan;
}

/* What the options of the certificates keep free. */
static uint64_t reserve[2]; /* bytes and hundredths of a percent */

static popliner_certificate *certificate_of(const popliner_infeasibility *why,
                                            const popliner_option_names *names) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.reserve_bytes = reserve[0];
    options.reserve_percent_hundredths = reserve[1];
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_certificate *certificate = NULL;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
    options.counted_units = counted_units;
    input.plan = plan_without_split(why);
    input.costs = costs;
    input.options = &options;
    input.unit_names = unit_names;
    input.time_unit = "cycles";
    input.cycles_per_time_unit = 1;
    input.cuts_per_unit = 1;
    input.option_names = names;
    assert_int_equal(popliner_certificate_create(&input, &certificate, NULL), POPLINER_OK);
    popliner_costs_free(costs);
    return certificate;
}

static void assert_text(const popliner_infeasibility *why, const popliner_option_names *names,
                        const char *expected) {
    popliner_certificate *certificate = certificate_of(why, names);
    char *text = NULL;
    assert_int_equal(popliner_certificate_text(certificate, POPLINER_CERTIFICATE_TEXT, &text, NULL),
                     POPLINER_OK);
    assert_string_equal(text, expected);
    free(text);
    popliner_certificate_free(certificate);
}

static void assert_constraints(const popliner_infeasibility *why,
                               const popliner_option_names *names, const char *const *expected,
                               size_t count) {
    popliner_certificate *certificate = certificate_of(why, names);
    char *text = NULL;
    assert_int_equal(popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, &text, NULL),
                     POPLINER_OK);
    json_t *json = json_loads(text, 0, NULL);
    const json_t *list = json_object_get(json_object_get(json, "infeasibility"), "constraints");
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; ++i)
        assert_string_equal(json_string_value(json_array_get(list, i)), expected[i]);
    json_decref(json);
    free(text);
    popliner_certificate_free(certificate);
}

static void words_every_constraint(void **state) {
    (void)state;
    popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_CONSTRAINTS,
                                  .num_constraints = NUM_KINDS,
                                  .has_all_remedies = true};
    assert_int_equal(NUM_KINDS, POPLINER_NUM_CONSTRAINT_KINDS);
    assert_constraints(&why, NULL, by_field, NUM_KINDS);
    const char *own[NUM_KINDS];
    memcpy(own, by_field, sizeof own);
    own[POPLINER_CONSTRAINT_REQUIRED_CUT] = "cut A";
    assert_constraints(&why, &own_names, own, NUM_KINDS);
    why.num_constraints = 2;
    assert_text(&why, NULL,
                "No split is possible: two constraints contradict each other.\n"
                "Constraints: num_ipus 3, device_map of 4 stages.\n");
    why.num_constraints = 1;
    assert_text(&why, NULL,
                "No split is possible: a constraint cannot be met (3 units, 2 of them layers).\n"
                "Constraints: num_ipus 3.\n");
}

static void words_costs_that_forbid_all(void **state) {
    (void)state;
    static const char *const costs[] = {"the costs themselves, which forbid every split"};
    static const char *const both[] = {"num_ipus 3",
                                       "the costs, which forbid every split that is left"};
    popliner_infeasibility why = {
        .obstacle = POPLINER_OBSTACLE_CONSTRAINTS, .has_all_remedies = true, .needs_costs = true};
    assert_constraints(&why, NULL, costs, 1);
    assert_text(&why, NULL,
                "No split is possible: a constraint cannot be met (3 units, 2 of them layers).\n"
                "Constraints: the costs themselves, which forbid every split.\n");
    why.num_constraints = 1;
    assert_constraints(&why, NULL, both, 2);
    assert_text(&why, NULL,
                "No split is possible: two constraints contradict each other.\n"
                "Constraints: num_ipus 3, the costs, which forbid every split that is left.\n");
}

static void words_remedies(void **state) {
    (void)state;
    popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_CAPACITY,
                                  .enough_stages = 20,
                                  .enough_bytes = 5000,
                                  .has_all_remedies = true};
    assert_text(&why, NULL,
                NOTHING_FITS "It would fit with mem_per_tile 5000, or with num_ipus 20.\n");
    assert_text(&why, &own_names, NOTHING_FITS "It would fit with -m 5000, or with -n 20.\n");
    why.enough_bytes = 0;
    assert_text(&why, &own_names, NOTHING_FITS "It would fit with -n 20.\n");
    why.enough_stages = 0;
    assert_text(&why, &own_names, NOTHING_FITS "More devices would not help.\n");
}

/* One IPU, and at most six are told; the JSON has all. */
static void words_changes(void **state) {
    (void)state;
    popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_CAPACITY,
                                  .enough_stages = 20,
                                  .num_remedies = NUM_REMEDIES,
                                  .has_all_remedies = true};
    assert_text(&why, NULL,
                NOTHING_FITS "It would fit with num_ipus 20.\n"
                             "It would fit with mem_per_tile 3=700.\n"
                             "It would fit with 40 bytes more on every device.\n"
                             "It would fit without require place:C=7.\n"
                             "It would fit with require layers:2..\n"
                             "It would fit with num_ipus 9 and without device_map.\n"
                             "The JSON has 2 more changes that would be enough.\n");
    why.num_remedies = 1;
    assert_text(&why, &own_names,
                NOTHING_FITS "It would fit with -n 20.\n"
                             "It would fit with -m 3=700.\n");
    why.num_remedies = 0;
    why.num_left_out = 2;
    why.has_all_remedies = false;
    assert_text(&why, NULL,
                NOTHING_FITS
                "It would fit with num_ipus 20.\n"
                "It would fit without require together:B,C, require place:C=7 together; one of "
                "them alone is not enough.\nThere may be other changes: not all were tried.\n");
    why.num_remedies = NUM_REMEDIES;
    popliner_certificate *certificate = certificate_of(&why, NULL);
    char *text = NULL;
    assert_int_equal(popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, &text, NULL),
                     POPLINER_OK);
    json_t *json = json_loads(text, 0, NULL);
    const json_t *told = json_object_get(json, "infeasibility");
    json_t *expected = json_loads(
        "{\"reason\": \"capacity\", \"enough_num_ipus\": 20, \"enough_mem_per_tile\": null,"
        " \"needed_mem_per_tile\": null,"
        " \"remedies\": [{\"change\": \"ipu_limit\", \"ipu\": 3, \"bytes\": 700},"
        " {\"change\": \"every_limit\", \"more_bytes\": 40},"
        " {\"change\": \"constraint\", \"constraint\": \"require place:C=7\", \"number\": null},"
        " {\"change\": \"constraint\", \"constraint\": \"require layers:5..\", \"number\": 2},"
        " {\"change\": \"without_device_map\", \"num_ipus\": 9},"
        " {\"change\": \"ipu_limit\", \"ipu\": 4, \"bytes\": 800},"
        " {\"change\": \"ipu_limit\", \"ipu\": 5, \"bytes\": 900}],"
        " \"left_out_together\": [\"require together:B,C\", \"require place:C=7\"],"
        " \"has_all_remedies\": false}",
        0, NULL);
    assert_non_null(expected);
    assert_true(json_equal(told, expected));
    json_decref(expected);
    json_decref(json);
    free(text);
    popliner_certificate_free(certificate);
}

/* What has to be given is told with what is kept free of it. */
static void words_what_is_kept_free(void **state) {
    (void)state;
    const popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_CAPACITY,
                                        .enough_stages = 20,
                                        .enough_bytes = 5000,
                                        .num_remedies = 2,
                                        .has_all_remedies = true};
    reserve[0] = 100;
    reserve[1] = 0;
    assert_text(&why, NULL,
                NOTHING_FITS
                "It would fit with mem_per_tile 5100 (of which reserve keeps 100 free), or "
                "with num_ipus 20.\n"
                "It would fit with mem_per_tile 3=800 (of which reserve keeps 100 free).\n"
                "It would fit with 40 bytes more on every device.\n");
    reserve[0] = 0;
    reserve[1] = 5000;
    assert_text(
        &why, &own_names,
        NOTHING_FITS
        "It would fit with -m 9999 (of which -r keeps 4999 free), or with -n 20.\n"
        "It would fit with -m 3=1399 (of which -r keeps 699 free).\n"
        "It would fit with 40 bytes more on every device in addition to what -r keeps free.\n");
    reserve[0] = 0;
    reserve[1] = 10000;
    assert_text(
        &why, &own_names,
        NOTHING_FITS
        "It would fit with -m 5000 (plus what -r keeps free), or with -n 20.\n"
        "It would fit with -m 3=700 (plus what -r keeps free).\n"
        "It would fit with 40 bytes more on every device in addition to what -r keeps free.\n");
    reserve[0] = 0;
    reserve[1] = 0;
}

/* Which IPU would do is told of a unit that is kept off it. */
static void words_a_unit_out_of_place(void **state) {
    (void)state;
    const popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_PLACE,
                                        .unit = 1,
                                        .unit_bytes = 30,
                                        .limit_bytes = 20,
                                        .fitting_ipu = 2,
                                        .enough_stages = 3,
                                        .has_all_remedies = true};
    assert_text(&why, NULL,
                "Does not fit: B alone needs 30 bytes. Proven: no device that may hold it has more "
                "than 20. It would fit on device 2, but the order of the chain or a constraint "
                "forbids that.\nIt would fit with num_ipus 3.\n");
}

/* All messages, or those that no listener got when they were created. */
static void messages_come_through_a_listener(void **state) {
    (void)state;
    const popliner_infeasibility why = {.obstacle = POPLINER_OBSTACLE_CONSTRAINTS};
    popliner_certificate *certificate = certificate_of(&why, NULL);
    test_told told;
    popliner_listener listener = test_listen(&told);
    listener.struct_size = sizeof listener;
    assert_int_equal(popliner_certificate_tell(certificate, true, &listener, NULL), POPLINER_OK);
    const size_t own = told.messages[POPLINER_LEVEL_WARNING];
    assert_true(own > 0);
    assert_int_equal(
        popliner_certificate_add_message(certificate, POPLINER_LEVEL_ERROR, "By the caller.", NULL),
        POPLINER_OK);
    pl_messages_add(&((pl_certificate *)certificate)->messages, POPLINER_LEVEL_WARNING, "Heard.",
                    true);
    for (int all = 0; all < 2; all++) {
        memset(&told, 0, sizeof told);
        assert_int_equal(popliner_certificate_tell(certificate, all != 0, &listener, NULL),
                         POPLINER_OK);
        assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], own + (size_t)all);
        assert_int_equal(told.messages[POPLINER_LEVEL_ERROR], 1);
        assert_string_equal(told.last[POPLINER_LEVEL_ERROR], "By the caller.");
    }
    assert_int_equal(popliner_certificate_tell(certificate, true, NULL, NULL), POPLINER_OK);
    listener.struct_size = 0;
    assert_int_equal(popliner_certificate_tell(certificate, true, &listener, NULL),
                     POPLINER_ERROR_USAGE);
    popliner_certificate_free(certificate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_every_constraint),
        cmocka_unit_test(words_costs_that_forbid_all),
        cmocka_unit_test(words_remedies),
        cmocka_unit_test(words_changes),
        cmocka_unit_test(words_what_is_kept_free),
        cmocka_unit_test(words_a_unit_out_of_place),
        cmocka_unit_test(messages_come_through_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
