/* What stages of a profile recompute: cycles from the definition, and the best choices against
 * every split with every choice of none, standard and full.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "plain_options.h"

#include <stdlib.h>
#include <string.h>

#include "made_profile.h"
#include "naive_passes.h"
#include "popliner/analysis.h"
#include "test_data.h"

enum { MOST_UNITS = 7, NUM_WAYS = 3, ALL_WAYS = 7 };

static char *scratch;

static void check(popliner_status status, const popliner_error *error) {
    if (status != POPLINER_OK)
        fail_msg("%s", error->message);
}

/* A profile, and its costs in one pipeline with each way of recomputing. */
typedef struct subject {
    char *directory;
    popliner_analysis *analysis;
    popliner_request request;
    popliner_solver_options options;
    const popliner_chain *chain;
    size_t num_units;
    popliner_costs *costs[NUM_WAYS];
} subject;

static void read_subject(subject *s, const char *name, const char *options) {
    popliner_error error = {.message = ""};
    *s = (subject){.directory = test_path(scratch, name)};
    make_profile(s->directory, "--training --tiles 4 --hidden 16 --sequence 8 --vocabulary 60 %s",
                 options);
    check(popliner_analysis_read(s->directory, NULL, NULL, &s->analysis, &error), &error);
    check(popliner_analysis_chain(s->analysis, POPLINER_MEMORY_MODEL_FULL, &s->chain, &error),
          &error);
    s->num_units = s->chain->num_units;
    assert_in_range(s->num_units, 3, MOST_UNITS);
    s->request = (popliner_request)POPLINER_REQUEST_INIT;
    s->request.schedule = POPLINER_SCHEDULE_POPART;
    s->options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    s->options.num_ipus = s->num_units;
}

static void measure(subject *s) {
    popliner_error error = {.message = ""};
    popliner_request request = s->request;
    request.solver = &s->options;
    for (int way = 0; way < NUM_WAYS; way++) {
        popliner_costs_free(s->costs[way]);
        request.recompute = (popliner_recompute)way;
        check(popliner_analysis_costs(s->analysis, &request, &s->costs[way], &error), &error);
    }
}

static void free_subject(subject *s) {
    for (int way = 0; way < NUM_WAYS; way++)
        popliner_costs_free(s->costs[way]);
    popliner_analysis_free(s->analysis);
    free(s->directory);
}

/* ---- cycles --------------------------------------------------------------------------------- */

/* Full recomputation takes the forward pass once more, but for the last stage; and nothing needs
 * less by keeping more, but at most, where it may make the tiles more even. */
static void check_costs(const subject *s, const naive_passes *n, bool last_recomputes) {
    for (size_t first = 0; first < s->num_units; first++) {
        uint64_t forward = 0;
        for (size_t last = first; last < s->num_units; last++) {
            uint64_t none = popliner_costs_cycles(s->costs[0], first, last);
            forward += naive_forward_cycles(n, last);
            bool recomputes = last_recomputes || last + 1 < s->num_units;
            assert_true(popliner_costs_cycles(s->costs[1], first, last) == none);
            assert_true(popliner_costs_cycles(s->costs[2], first, last) ==
                        none + (recomputes ? forward : 0));
            for (size_t to_end = 1; to_end <= s->num_units && s->request.need != POPLINER_NEED_MOST;
                 to_end++)
                assert_true(popliner_costs_peak(s->costs[1], first, last, to_end) >=
                            popliner_costs_peak(s->costs[0], first, last, to_end));
        }
        assert_true(forward > 0);
    }
}

static const struct {
    const char *name;
    const char *options;
} made[] = {
    {"popart", "--framework popart --layers 4 --seed 5"},
    {"outline", "--framework popart --layers 4 --outline --skips 1 --seed 6"},
    {"tensorflow", "--framework tensorflow --layers 3 --outline --seed 7"},
    {"executed", "--framework poptorch --layers 3 --accumulate --execution --seed 8"},
};
enum { NUM_MADE = sizeof made / sizeof *made };

static void recomputing_takes_the_forward_pass(void **state) {
    scratch = *state;
    for (size_t i = 0; i < NUM_MADE; i++) {
        subject s;
        golden_case c;
        naive_passes n;
        if (!test_takes_case(i, 4))
            continue;
        read_subject(&s, made[i].name, made[i].options);
        golden_load_directory(&c, s.directory);
        naive_begin(&n, &c, (const pl_chain *)s.chain);
        assert_true(n.trains);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
            s.request.need = (popliner_need)need;
            measure(&s);
            check_costs(&s, &n, false);
        }
        /* whoever keeps copies in the last stage, too, recomputes there */
        check(popliner_copies_parse("1,2,...", &s.request.copies, NULL), NULL);
        measure(&s);
        check_costs(&s, &n, true);
        check(popliner_copies_parse("0,1,...", &s.request.copies, NULL), NULL);
        measure(&s);
        check_costs(&s, &n, false);
        naive_end(&n);
        golden_free(&c);
        free_subject(&s);
    }
}

/* ---- every split with every choice ---------------------------------------------------------- */

typedef struct answer {
    bool exists;
    size_t num_stages;
    size_t first[MOST_UNITS + 1]; /* and the end */
    popliner_recompute ways[MOST_UNITS];
    uint64_t of[POPLINER_NUM_OBJECTIVES];
} answer;

/* One split, with one choice of each stage; false if it is not of the ways, or above the limit. */
static bool take(const subject *s, unsigned begins, size_t choices, unsigned ways, answer *a) {
    *a = (answer){.exists = true};
    for (size_t unit = 0; unit < s->num_units; unit++)
        if (unit == 0 || (begins >> unit & 1) != 0) {
            a->first[a->num_stages++] = unit;
            a->of[POPLINER_OBJECTIVE_TRAFFIC] +=
                unit == 0 ? 0 : popliner_costs_cut(s->costs[0], unit);
        }
    a->first[a->num_stages] = s->num_units;
    a->of[POPLINER_OBJECTIVE_IPUS] = a->num_stages;
    if (a->num_stages > s->options.num_ipus)
        return false;
    for (size_t i = 0; i < a->num_stages; i++, choices /= NUM_WAYS) {
        popliner_recompute way = (popliner_recompute)(choices % NUM_WAYS);
        const popliner_costs *costs = s->costs[way];
        uint64_t peak =
            popliner_costs_peak(costs, a->first[i], a->first[i + 1] - 1, a->num_stages - i);
        uint64_t cycles = popliner_costs_cycles(costs, a->first[i], a->first[i + 1] - 1);
        if ((ways >> way & 1) == 0 || peak > s->options.mem_per_tile)
            return false;
        a->ways[i] = way;
        if (peak > a->of[POPLINER_OBJECTIVE_MEMORY])
            a->of[POPLINER_OBJECTIVE_MEMORY] = peak;
        if (cycles > a->of[POPLINER_OBJECTIVE_CYCLES])
            a->of[POPLINER_OBJECTIVE_CYCLES] = cycles;
    }
    return true;
}

static bool is_better(const popliner_solver_options *o, const answer *a, const answer *b) {
    for (size_t i = 0; b->exists && i < o->num_objectives; i++)
        if (a->of[o->objectives[i]] != b->of[o->objectives[i]])
            return a->of[o->objectives[i]] < b->of[o->objectives[i]];
    return !b->exists;
}

static answer best_of_all(const subject *s, unsigned ways) {
    answer best = {.exists = false};
    for (unsigned begins = 0; begins < 1u << s->num_units; begins += 2) {
        size_t num_choices = NUM_WAYS;
        for (unsigned rest = begins; rest > 0; rest &= rest - 1)
            num_choices *= NUM_WAYS;
        for (size_t choices = 0; choices < num_choices; choices++) {
            answer own;
            if (take(s, begins, choices, ways, &own) && is_better(&s->options, &own, &best))
                best = own;
        }
    }
    return best;
}

/* What the certificate says in its JSON. */
static json_t *json_of(const popliner_certificate *certificate) {
    char *text = NULL;
    check(popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, &text, NULL), NULL);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

/* Each stage of the answer has the numbers of its choice, also when it is measured by itself. */
static void check_stages(const subject *s, const popliner_certificate *certificate) {
    static const char *const names[] = {"none", "standard", "full"};
    popliner_error error = {.message = ""};
    json_t *json = json_of(certificate);
    const popliner_plan *plan = certificate->plan;
    size_t num_stages = plan->num_stages;
    popliner_recompute ways[MOST_UNITS];
    size_t cuts[MOST_UNITS];
    for (size_t i = 0; i < num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        const char *name = json_string_value(
            json_object_get(json_array_get(json_object_get(json, "stages"), i), "recompute"));
        ways[i] = POPLINER_RECOMPUTE_AUTO;
        for (int way = 0; way < NUM_WAYS; way++)
            if (strcmp(names[way], name) == 0)
                ways[i] = (popliner_recompute)way;
        assert_int_not_equal(ways[i], POPLINER_RECOMPUTE_AUTO);
        const popliner_costs *costs = s->costs[ways[i]];
        assert_true(stage->peak_bytes == popliner_costs_peak(costs, stage->first_unit,
                                                             stage->last_unit, num_stages - i));
        assert_true(stage->cycles ==
                    popliner_costs_cycles(costs, stage->first_unit, stage->last_unit));
        cuts[i] = stage->last_unit + 1;
    }
    popliner_request request = s->request;
    popliner_certificate *evaluated = NULL;
    request.solver = &s->options;
    request.recompute = POPLINER_RECOMPUTE_NONE;
    request.stage_recomputes = ways;
    request.num_stage_recomputes = num_stages;
    check(
        popliner_analysis_evaluate(s->analysis, &request, cuts, num_stages - 1, &evaluated, &error),
        &error);
    for (size_t i = 0; i < num_stages; i++)
        assert_true(evaluated->plan->stages[i].peak_bytes == plan->stages[i].peak_bytes);
    popliner_certificate_free(evaluated);
    json_decref(json);
}

/* By what was chosen: none alone, a mixture, or nothing fits. */
static size_t num_answers[3];

static void check_answer(const subject *s, unsigned ways) {
    popliner_request request = s->request;
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    request.solver = &s->options;
    request.recompute = POPLINER_RECOMPUTE_AUTO;
    request.recompute_ways = ways;
    answer best = best_of_all(s, ways == 0 ? ALL_WAYS : ways);
    check(popliner_analysis_solve(s->analysis, &request, &certificate, &error), &error);
    const popliner_plan *plan = certificate->plan;
    assert_int_equal(plan->status, best.exists ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_INFEASIBLE);
    bool is_plain = true;
    for (size_t i = 0; best.exists && i < s->options.num_objectives; i++) {
        assert_true(plan->values[i].value == best.of[s->options.objectives[i]]);
        assert_true(plan->values[i].bound == best.of[s->options.objectives[i]]);
    }
    for (size_t i = 0; best.exists && i < best.num_stages; i++)
        is_plain = is_plain && best.ways[i] == POPLINER_RECOMPUTE_NONE;
    num_answers[best.exists ? !is_plain : 2]++;
    if (plan->num_stages > 0)
        check_stages(s, certificate);
    popliner_certificate_free(certificate);
}

static const popliner_objective objectives[][3] = {
    {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC},
    {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC},
    {POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_IPUS},
    {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES},
};

static void check_limits(subject *s, unsigned ways) {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (size_t unit = 0; unit < s->num_units; unit++)
        for (int way = 0; way < NUM_WAYS; way++) {
            uint64_t alone = popliner_costs_peak(s->costs[way], unit, unit, 1);
            uint64_t far = popliner_costs_peak(s->costs[way], unit, unit, s->num_units);
            least = alone < least ? alone : least;
            most = far > most ? far : most;
        }
    for (size_t k = 0; k < sizeof objectives / sizeof *objectives; k++)
        for (size_t limit = 0; limit < 5; limit++) {
            s->options.objectives = objectives[k];
            s->options.num_objectives = 1 + (k + limit) % 3;
            s->options.num_ipus = limit % 2 == 0 ? s->num_units : s->num_units - 2;
            s->options.mem_per_tile =
                limit == 0 ? UINT64_MAX - 1 : least + (most - least) * (limit - 1) / 3;
            check_answer(s, ways);
        }
    s->options.objectives = NULL;
    s->options.num_objectives = 0;
    s->options.num_ipus = s->num_units;
    s->options.mem_per_tile = POPLINER_TARGET_BYTES;
}

static void no_split_with_any_choices_is_better(void **state) {
    static const popliner_schedule schedules[] = {
        POPLINER_SCHEDULE_POPART, POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_TF_INTERLEAVED};
    scratch = *state;
    memset(num_answers, 0, sizeof num_answers);
    size_t num_taken = 0;
    for (size_t i = 0; i < NUM_MADE; i++) {
        subject s;
        if (!test_takes_case(i, 4))
            continue;
        num_taken++;
        read_subject(&s, made[i].name, made[i].options);
        s.request.schedule = schedules[i % 3];
        s.request.need = (popliner_need)(i % POPLINER_NUM_NEEDS);
        s.request.effects = i % 2 == 0 ? POPLINER_EFFECTS_ALL : 0;
        measure(&s);
        check_limits(&s, 0);
        check_limits(&s, i % 2 == 0
                             ? 1u << POPLINER_RECOMPUTE_STANDARD
                             : 1u << POPLINER_RECOMPUTE_STANDARD | 1u << POPLINER_RECOMPUTE_FULL);
        if (i == 0) {
            s.request.schedule = POPLINER_SCHEDULE_NONE;
            check(popliner_copies_parse("1f1b+1", &s.request.copies, NULL), NULL);
            measure(&s);
            check_limits(&s, 0);
        }
        free_subject(&s);
    }
    assert_true(NUM_MADE * num_answers[0] > 5 * num_taken);
    assert_true(NUM_MADE * num_answers[1] > 20 * num_taken);
    assert_true(NUM_MADE * num_answers[2] > 3 * num_taken);
}

/* ---- stored, and refused -------------------------------------------------------------------- */

/* An analysis that was stored chooses the same, without its variables. */
static void a_stored_analysis_chooses_the_same(void **state) {
    popliner_error error = {.message = ""};
    popliner_analysis *loaded = NULL;
    subject s;
    scratch = *state;
    read_subject(&s, made[0].name, made[0].options);
    char *path = test_path(scratch, "stored");
    check(popliner_analysis_store(s.analysis, POPLINER_MEMORY_MODEL_FULL, path, &error), &error);
    check(popliner_analysis_load(path, NULL, &loaded, &error), &error);
    s.request.recompute = POPLINER_RECOMPUTE_AUTO;
    s.request.solver = &s.options;
    s.options.objectives = objectives[0];
    s.options.num_objectives = 3;
    for (size_t limit = 0; limit < 3; limit++) {
        popliner_certificate *answers[2] = {NULL, NULL};
        static const uint64_t limits[] = {638976, 1000, 60000};
        s.options.mem_per_tile = limits[limit];
        check(popliner_analysis_solve(s.analysis, &s.request, &answers[0], &error), &error);
        check(popliner_analysis_solve(loaded, &s.request, &answers[1], &error), &error);
        json_t *both[2] = {json_of(answers[0]), json_of(answers[1])};
        assert_true(json_equal(both[0], both[1]));
        for (size_t k = 0; k < 2; k++) {
            json_decref(both[k]);
            popliner_certificate_free(answers[k]);
        }
    }
    /* and none of it made the variables be read */
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    check(popliner_profile_get_info(popliner_analysis_profile(loaded), &info, &error), &error);
    assert_int_equal(info.num_variables, 0);
    popliner_analysis_free(loaded);
    free(path);
    free_subject(&s);
}

static void assert_refused(const subject *s, const char *word) {
    popliner_certificate *certificate = NULL;
    popliner_error error = {.message = ""};
    assert_int_equal(popliner_analysis_solve(s->analysis, &s->request, &certificate, &error),
                     POPLINER_ERROR_USAGE);
    assert_null(certificate);
    if (strstr(error.message, word) == NULL)
        fail_msg("'%s' is not in: %s", word, error.message);
}

static void refuses_what_cannot_be_chosen(void **state) {
    static const popliner_objective balance[] = {POPLINER_OBJECTIVE_CYCLES,
                                                 POPLINER_OBJECTIVE_BALANCE};
    static const size_t map[] = {0, 1, 0};
    popliner_error error = {.message = ""};
    popliner_certificate *certificate = NULL;
    subject s;
    scratch = *state;
    read_subject(&s, made[0].name, made[0].options);
    s.request.solver = &s.options;
    s.request.recompute = POPLINER_RECOMPUTE_AUTO;
    s.options.objectives = balance;
    s.options.num_objectives = 2;
    assert_refused(&s, "balance");
    s.options.num_objectives = 0;
    s.options.objectives = NULL;
    s.options.device_map = map;
    s.options.num_mapped_stages = 3;
    /* stages on one IPU that were given differently */
    popliner_recompute ways[] = {POPLINER_RECOMPUTE_FULL, POPLINER_RECOMPUTE_FULL,
                                 POPLINER_RECOMPUTE_NONE};
    const size_t cuts[] = {1, 2};
    s.request.recompute = POPLINER_RECOMPUTE_NONE;
    s.request.stage_recomputes = ways;
    s.request.num_stage_recomputes = 3;
    assert_int_equal(
        popliner_analysis_evaluate(s.analysis, &s.request, cuts, 2, &certificate, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "on one IPU"));
    ways[2] = POPLINER_RECOMPUTE_FULL;
    check(popliner_analysis_evaluate(s.analysis, &s.request, cuts, 2, &certificate, &error),
          &error);
    popliner_certificate_free(certificate);
    s.options.num_mapped_stages = 0;
    ways[2] = POPLINER_RECOMPUTE_AUTO;
    assert_int_equal(
        popliner_analysis_evaluate(s.analysis, &s.request, cuts, 2, &certificate, &error),
        POPLINER_ERROR_USAGE);
    s.request.num_stage_recomputes = 2;
    assert_int_equal(
        popliner_analysis_evaluate(s.analysis, &s.request, cuts, 2, &certificate, &error),
        POPLINER_ERROR_USAGE);
    free_subject(&s);
}

/* The step of stages that choose on one IPU is unknown, and PopLiner's memory model has no
 * parameters: there, all operations in no layer are one unit, which seemed to train what layers
 * have. */
static void some_replicas_are_refused(void **state) {
    popliner_replicas *replicas;
    popliner_error error = {.message = ""};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    subject s;
    scratch = *state;
    read_subject(&s, "executed", made[3].options);
    s.request.recompute = POPLINER_RECOMPUTE_AUTO;
    o.total_ipus = o.chunks = 2;
    o.micro_batches = 1;
    assert_int_equal(
        popliner_analysis_solve_replicas(s.analysis, &s.request, &o, &replicas, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "total_ipus: 2 stages on an IPU choose"));
    assert_null(replicas);
    s.request.recompute = POPLINER_RECOMPUTE_NONE;
    s.request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
    o.chunks = 1;
    o.bandwidth_bytes = o.bandwidth_cycles = 1;
    assert_int_equal(
        popliner_analysis_solve_replicas(s.analysis, &s.request, &o, &replicas, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "bandwidth_bytes: PopLiner's memory model"));
    o.bandwidth_bytes = 0;
    check(popliner_analysis_solve_replicas(s.analysis, &s.request, &o, &replicas, &error), &error);
    assert_int_equal(replicas->candidates[0].parameter_bytes, 0);
    popliner_replicas_free(replicas);
    free_subject(&s);
}

/* The golden cases that train were compiled without estimates of cycles. */
static void a_profile_without_cycles_says_so(void **state) {
    popliner_error error = {.message = ""};
    char *path = test_golden_file("popart-train", "profile.pop");
    subject s = {.num_units = 0};
    (void)state;
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    check(popliner_analysis_read(path, NULL, NULL, &s.analysis, &error), &error);
    s.request = (popliner_request)POPLINER_REQUEST_INIT;
    s.request.schedule = POPLINER_SCHEDULE_POPART;
    s.request.recompute = POPLINER_RECOMPUTE_AUTO;
    assert_refused(&s, "no cycles of computing; compile with");
    popliner_analysis_free(s.analysis);
    free(path);
}

#define IN_DIRECTORY(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, test_begin_directory, test_end_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(recomputing_takes_the_forward_pass),
        IN_DIRECTORY(no_split_with_any_choices_is_better),
        IN_DIRECTORY(a_stored_analysis_chooses_the_same),
        IN_DIRECTORY(refuses_what_cannot_be_chosen),
        IN_DIRECTORY(some_replicas_are_refused),
        cmocka_unit_test(a_profile_without_cycles_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
