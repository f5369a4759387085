/* Stages and replicas of made profiles, against every split with every number of replicas. What an
 * IPU needs and trains is measured for it alone, stage by stage, with the accumulators of its
 * parameters; only cycles come from the table of costs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"
#include "popliner/analysis.h"
#include "test_data.h"

enum { MOST_UNITS = 8, MOST_IPUS = 4, MOST_MEASURED = 20000 };

/* The measured stages on an IPU, in a pipeline of num_stages stages. */
typedef struct measured {
    size_t num_stages;
    uint64_t micro_batches;
    size_t count;
    popliner_interval stages[MOST_UNITS];
    uint64_t peak_bytes;
    uint64_t parameter_bytes;
} measured;

/* One table for each number of stages and micro-batches: recomputation also takes cycles. */
enum { MOST_TABLES = 256 };
typedef struct table {
    size_t num_stages;
    uint64_t micro_batches;
    popliner_costs *costs;
} table;

typedef struct question {
    popliner_analysis *analysis;
    size_t num_units;
    const popliner_costs *costs; /* of cycles without that, and of what is no stage */
    table tables[MOST_TABLES];
    size_t num_tables;
    popliner_request request;
    popliner_solver_options solver;
    popliner_replicas_options options;
    bool follows; /* copies follow the pipeline */
    measured *known;
    size_t num_known;
} question;

static void assert_ok(popliner_status status, const popliner_error *error) {
    if (status != POPLINER_OK)
        fail_msg("%s", error->message);
}

/* The request for a pipeline of num_stages stages and micro_batches. */
static popliner_request request_of(const question *q, size_t num_stages, uint64_t micro_batches) {
    popliner_request request = q->request;
    if (q->follows) {
        request.copies.num_stages = num_stages;
        request.copies.num_ipus = num_stages / q->options.chunks;
        request.copies.num_micro_batches = (size_t)micro_batches;
    }
    return request;
}

/* The costs that have the cycles of such a pipeline. */
static const popliner_costs *find_costs(question *q, size_t num_stages, uint64_t micro_batches) {
    popliner_error error = {.message = ""};
    if (q->request.recompute != POPLINER_RECOMPUTE_FULL)
        return q->costs;
    for (size_t i = 0; i < q->num_tables; i++)
        if (q->tables[i].num_stages == num_stages && q->tables[i].micro_batches == micro_batches)
            return q->tables[i].costs;
    assert_true(q->num_tables < MOST_TABLES);
    table *t = &q->tables[q->num_tables++];
    *t = (table){num_stages, micro_batches, NULL};
    popliner_request request = request_of(q, num_stages, micro_batches);
    popliner_solver_options solver = q->solver;
    solver.num_ipus = num_stages;
    request.solver = &solver;
    assert_ok(popliner_analysis_costs(q->analysis, &request, &t->costs, &error), &error);
    return t->costs;
}

static void forget_costs(question *q) {
    for (size_t i = 0; i < q->num_tables; i++)
        popliner_costs_free(q->tables[i].costs);
    q->num_tables = 0;
}

/* Measures the stages of an IPU by themselves. */
static void measure(const question *q, measured *m) {
    popliner_error error = {.message = ""};
    popliner_request request = request_of(q, m->num_stages, m->micro_batches);
    popliner_stage_detail detail;
    assert_ok(popliner_analysis_measure_stages(q->analysis, &request, m->stages, m->count, &detail,
                                               NULL, &error),
              &error);
    m->peak_bytes = detail.need_bytes[request.need];
    /* in a pipeline that keeps nothing, accumulators of a byte for each byte of parameters */
    request = (popliner_request)POPLINER_REQUEST_INIT;
    request.schedule = POPLINER_SCHEDULE_SEQUENTIAL;
    request.accumulators = POPLINER_ACCUMULATORS_FP16;
    request.effects = 0;
    assert_ok(popliner_analysis_measure_stages(q->analysis, &request, m->stages, m->count, &detail,
                                               NULL, &error),
              &error);
    bool adds_up = q->request.schedule != POPLINER_SCHEDULE_INFERENCE;
    m->parameter_bytes = adds_up ? detail.part_bytes[POPLINER_PART_ACCUMULATORS] : 0;
}

static const measured *find_measured(question *q, const measured *wanted) {
    for (size_t i = 0; i < q->num_known; i++) {
        const measured *m = &q->known[i];
        if (m->num_stages == wanted->num_stages && m->count == wanted->count &&
            (!q->follows || m->micro_batches == wanted->micro_batches) &&
            memcmp(m->stages, wanted->stages, m->count * sizeof *m->stages) == 0)
            return m;
    }
    assert_true(q->num_known < MOST_MEASURED);
    q->known[q->num_known] = *wanted;
    measure(q, &q->known[q->num_known]);
    return &q->known[q->num_known++];
}

typedef struct value {
    uint64_t batches; /* of a step */
    uint64_t step;
    size_t ipus;
} value;

/* A split, as bits of the units that stages begin with, on so many IPUs. */
typedef struct split {
    unsigned begins;
    size_t num_ipus;
    uint64_t micro_batches;
    uint64_t cycles; /* of the slowest IPU, here and below of the one that has most */
    uint64_t parameter_bytes;
    uint64_t peak_bytes;
} split;

/* Finds what the split has. False if it has another number of stages, or one that is none. */
static bool evaluate(question *q, split *s) {
    popliner_interval stages[MOST_UNITS];
    size_t num_stages = s->num_ipus * q->options.chunks;
    size_t count = 0;
    for (size_t u = 0; u < q->num_units; u++) {
        if (u == 0 || (s->begins >> u & 1) != 0)
            stages[count++] = (popliner_interval){u, u, 0};
        stages[count - 1].last_unit = u;
    }
    s->cycles = s->parameter_bytes = s->peak_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        stages[i].stages_to_end = count - i;
        if (popliner_costs_peak(q->costs, stages[i].first_unit, stages[i].last_unit, 1) ==
            POPLINER_PEAK_FORBIDDEN)
            return false;
    }
    for (size_t ipu = 0; count == num_stages && ipu < s->num_ipus; ipu++) {
        measured wanted = {.num_stages = count, .micro_batches = s->micro_batches};
        uint64_t cycles = 0;
        for (size_t i = ipu; i < count; i += s->num_ipus) {
            cycles += popliner_costs_cycles(find_costs(q, count, s->micro_batches),
                                            stages[i].first_unit, stages[i].last_unit);
            wanted.stages[wanted.count++] = stages[i];
        }
        const measured *m = find_measured(q, &wanted);
        s->cycles = cycles > s->cycles ? cycles : s->cycles;
        s->parameter_bytes =
            m->parameter_bytes > s->parameter_bytes ? m->parameter_bytes : s->parameter_bytes;
        s->peak_bytes = m->peak_bytes > s->peak_bytes ? m->peak_bytes : s->peak_bytes;
    }
    return count == num_stages;
}

static uint64_t ratio_up(uint64_t above, uint64_t below) {
    return above / below + (above % below > 0);
}

static bool is_better(value a, value b) {
    uint64_t left = a.batches * b.step;
    uint64_t right = b.batches * a.step;
    return b.batches == 0 ? a.batches > 0
                          : left > right || (a.batches > 0 && left == right && a.ipus < b.ipus);
}

/* The best split on so many IPUs, and how little its fullest tile can be. */
static value best_of(question *q, size_t num_ipus, uint64_t *least_bytes) {
    const popliner_replicas_options *o = &q->options;
    value best = {0};
    *least_bytes = UINT64_MAX;
    for (size_t r = 1; r * num_ipus <= o->total_ipus; r++) {
        uint64_t batches = o->micro_batches > 0 ? o->micro_batches : o->batch / r;
        if (o->micro_batches == 0 && o->batch % r > 0)
            continue;
        for (unsigned begins = 0; begins < 1u << q->num_units; begins += 2) {
            split s = {begins, num_ipus, batches, 0, 0, 0};
            if (!evaluate(q, &s))
                continue;
            *least_bytes = s.peak_bytes < *least_bytes ? s.peak_bytes : *least_bytes;
            if (s.peak_bytes > q->solver.mem_per_tile)
                continue;
            uint64_t reduce = o->bandwidth_bytes == 0
                                  ? 0
                                  : ratio_up(2 * (r - 1) * s.parameter_bytes * o->bandwidth_cycles,
                                             r * o->bandwidth_bytes);
            uint64_t pipeline =
                ratio_up((o->chunks * batches + num_ipus - 1) * s.cycles, o->chunks);
            value own = {r * batches, pipeline + reduce, r * num_ipus};
            if (is_better(own, best))
                best = own;
        }
    }
    return best;
}

/* candidates that have a pipeline, and those that are not proven, over all questions */
static size_t num_found;
static size_t num_open;

static void check_candidate(question *q, const popliner_replicas_candidate *c, value expected) {
    const uint64_t batches = c->num_replicas * c->micro_batches;
    /* a slower split may have fewer parameters to reduce */
    assert_true(c->is_proven || q->options.bandwidth_bytes > 0);
    assert_int_equal(c->num_replicas > 0, expected.batches > 0);
    if (c->num_replicas == 0)
        return;
    if (c->is_proven)
        assert_int_equal(batches * expected.step, expected.batches * c->step_cycles);
    else
        assert_true((double)expected.batches * (double)c->step_cycles <=
                    (1.000001 + c->gap) * (double)batches * (double)expected.step);
    num_found++;
    num_open += !c->is_proven;
    split s = {0, c->num_ipus, c->micro_batches, 0, 0, 0};
    const popliner_plan *plan = c->plan;
    for (size_t i = 0; i < plan->num_stages; i++)
        s.begins |= 1u << plan->stages[i].first_unit;
    assert_true(evaluate(q, &s));
    assert_int_equal(c->cycles, s.cycles);
    assert_int_equal(c->parameter_bytes, s.parameter_bytes);
    assert_int_equal(plan->peak_bytes, s.peak_bytes);
    for (size_t i = 0; c->stage_parameter_bytes != NULL && i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        measured wanted = {
            .num_stages = q->options.chunks, .micro_batches = c->micro_batches, .count = 1};
        wanted.stages[0] = (popliner_interval){stage->first_unit, stage->last_unit, 1};
        assert_int_equal(c->stage_parameter_bytes[i], find_measured(q, &wanted)->parameter_bytes);
    }
}

/* Counts over all questions. */
static size_t num_fitting;
static size_t num_reasons;
static size_t num_reduced;

/* Asks, and asks again with as much memory as the reason says. */
static void check(question *q) {
    popliner_error error = {.message = ""};
    popliner_replicas *replicas;
    uint64_t least_bytes = UINT64_MAX;
    size_t closest = SIZE_MAX;
    value best = {0};
    size_t best_ipus = 0;
    assert_ok(
        popliner_analysis_solve_replicas(q->analysis, &q->request, &q->options, &replicas, &error),
        &error);
    size_t most = q->num_units / q->options.chunks;
    most = q->options.total_ipus < most ? q->options.total_ipus : most;
    assert_int_equal(replicas->num_candidates, most);
    for (size_t ipus = 1; ipus <= most; ipus++) {
        const popliner_replicas_candidate *c = &replicas->candidates[ipus - 1];
        uint64_t own_bytes;
        value expected = best_of(q, ipus, &own_bytes);
        check_candidate(q, c, expected);
        num_reduced += c->reduce_cycles > 0;
        if (is_better(expected, best)) {
            best = expected;
            best_ipus = ipus;
        }
        closest = own_bytes < least_bytes ? ipus - 1 : closest;
        least_bytes = own_bytes < least_bytes ? own_bytes : least_bytes;
    }
    if (best.batches == 0 || replicas->is_proven)
        assert_int_equal(replicas->best, best.batches == 0 ? SIZE_MAX : best_ipus - 1);
    num_fitting += best.batches > 0;
    assert_int_equal(replicas->reason == NULL, best.batches > 0);
    if (replicas->reason != NULL) {
        const popliner_plan *reason = replicas->reason;
        num_reasons++;
        assert_int_equal(replicas->closest, closest);
        assert_int_equal(reason->status, POPLINER_PLAN_INFEASIBLE);
        assert_int_equal(reason->peak_bytes, least_bytes);
        assert_int_equal(reason->infeasibility.enough_bytes, least_bytes);
    }
    popliner_replicas_free(replicas);
}

/* ---- what is asked -------------------------------------------------------------------------- */

static void draw(question *q, uint64_t *random) {
    static const popliner_schedule schedules[] = {
        POPLINER_SCHEDULE_NONE,           POPLINER_SCHEDULE_INFERENCE,
        POPLINER_SCHEDULE_POPART,         POPLINER_SCHEDULE_TF_GROUPED,
        POPLINER_SCHEDULE_TF_INTERLEAVED, POPLINER_SCHEDULE_SEQUENTIAL};
    static const char *const rules[] = {"1f1b",        "gpipe",  "zero-bubble",
                                        "interleaved", "1f1b+1", "0,1,..."};
    popliner_replicas_options *o = &q->options;
    q->request = (popliner_request)POPLINER_REQUEST_INIT;
    q->solver = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    *o = (popliner_replicas_options)POPLINER_REPLICAS_OPTIONS_INIT;
    q->num_known = 0;
    forget_costs(q);
    q->request.solver = &q->solver;
    o->total_ipus = 1 + test_below(random, MOST_IPUS);
    o->chunks = 1 + (test_below(random, 3) == 0);
    o->micro_batches = 1 + test_below(random, 6);
    if (test_below(random, 2) == 0) {
        o->batch = 12 * o->micro_batches;
        o->micro_batches = 0;
    }
    o->bandwidth_bytes = test_below(random, 3);
    o->bandwidth_cycles = 1 + test_below(random, 400);
    if (test_below(random, 2) == 0) {
        q->request.schedule = schedules[test_below(random, 6)];
    } else {
        popliner_copies *copies = &q->request.copies;
        assert_int_equal(popliner_copies_parse(rules[test_below(random, 6)], copies, NULL),
                         POPLINER_OK);
        copies->num_stages = 2 * o->chunks; /* no more than to make sense */
        copies->num_ipus = 2;
        copies->num_micro_batches = 1;
    }
    q->follows = q->request.copies.rule != POPLINER_COPIES_OF_SCHEDULE &&
                 q->request.copies.rule != POPLINER_COPIES_LIST;
    if (test_below(random, 4) == 0 && q->request.copies.rule != POPLINER_COPIES_OF_SCHEDULE)
        q->request.recompute = POPLINER_RECOMPUTE_FULL;
    q->request.need = (popliner_need)test_below(random, POPLINER_NUM_NEEDS);
}

/* Limits of memory: none, one that some splits keep, and one that none does. */
static void ask_with_limits(question *q, uint64_t *random) {
    uint64_t least_bytes = UINT64_MAX;
    uint64_t most_bytes = 0;
    size_t most = q->num_units / q->options.chunks;
    most = q->options.total_ipus < most ? q->options.total_ipus : most;
    q->solver.mem_per_tile = UINT64_MAX - 1;
    check(q);
    for (size_t ipus = 1; ipus <= most; ipus++) {
        uint64_t bytes;
        best_of(q, ipus, &bytes);
        least_bytes = bytes < least_bytes ? bytes : least_bytes;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    q->solver.mem_per_tile = least_bytes + test_below(random, most_bytes - least_bytes + 1);
    check(q);
    q->solver.mem_per_tile = least_bytes - 1 - test_below(random, least_bytes / 2);
    check(q);
}

static void ask_about(const char *directory, size_t num_questions, uint64_t *random) {
    popliner_error error = {.message = ""};
    question *q = calloc(1, sizeof *q);
    const popliner_chain *chain;
    popliner_costs *costs;
    assert_non_null(q);
    q->known = calloc(MOST_MEASURED, sizeof *q->known);
    assert_non_null(q->known);
    assert_ok(popliner_analysis_read(directory, NULL, NULL, &q->analysis, &error), &error);
    assert_ok(popliner_analysis_chain(q->analysis, POPLINER_MEMORY_MODEL_FULL, &chain, &error),
              &error);
    q->num_units = chain->num_units;
    assert_in_range(q->num_units, 4, MOST_UNITS);
    assert_ok(popliner_analysis_costs(q->analysis, NULL, &costs, &error), &error);
    q->costs = costs;
    for (size_t i = 0; i < num_questions; i++) {
        draw(q, random);
        ask_with_limits(q, random);
    }
    forget_costs(q);
    popliner_costs_free(costs);
    popliner_analysis_free(q->analysis);
    free(q->known);
    free(q);
}

/* The step of stages that choose on one IPU is unknown, and PopLiner's memory model has no
 * parameters: there, all operations in no layer are one unit, which seemed to train what layers
 * have. */
static void some_requests_are_refused(void **state) {
    char *directory = test_path(*state, "made");
    popliner_analysis *analysis;
    popliner_replicas *replicas;
    popliner_error error = {.message = ""};
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_replicas_options options = POPLINER_REPLICAS_OPTIONS_INIT;
    request.schedule = POPLINER_SCHEDULE_POPART;
    request.recompute = POPLINER_RECOMPUTE_AUTO;
    make_profile(directory, "--tiles 4 --hidden 16 --sequence 8 --vocabulary 60 --training "
                            "--layers 2 --execution");
    assert_ok(popliner_analysis_read(directory, NULL, NULL, &analysis, &error), &error);
    options.total_ipus = options.chunks = 2;
    options.micro_batches = 1;
    assert_int_equal(
        popliner_analysis_solve_replicas(analysis, &request, &options, &replicas, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "total_ipus: 2 stages on an IPU choose"));
    assert_null(replicas);
    request.recompute = POPLINER_RECOMPUTE_NONE;
    request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
    options.chunks = 1;
    options.bandwidth_bytes = options.bandwidth_cycles = 1;
    assert_int_equal(
        popliner_analysis_solve_replicas(analysis, &request, &options, &replicas, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "bandwidth_bytes: PopLiner's memory model"));
    options.bandwidth_bytes = 0;
    assert_ok(popliner_analysis_solve_replicas(analysis, &request, &options, &replicas, &error),
              &error);
    assert_int_equal(replicas->candidates[0].parameter_bytes, 0);
    popliner_replicas_free(replicas);
    popliner_analysis_free(analysis);
    free(directory);
}

static void every_split_of_made_profiles(void **state) {
    static const char *const models[] = {
        "--training --layers 4 --skips 1",
        "--framework tensorflow --training --outline --layers 4",
        "--inference --layers 4",
        "--framework poptorch --training --accumulate --layers 3",
        "--training --outline --layers 5",
        "--framework tensorflow --inference --skips 1 --layers 5",
        "--framework tensorflow --training --layers 5",
    };
    uint64_t random = 41;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *directory = test_path(*state, "made");
        if (test_takes_case(i, 6)) {
            make_profile(directory,
                         "--tiles 4 --hidden 16 --sequence 8 --vocabulary 60 --execution %s",
                         models[i]);
            ask_about(directory, test_chosen(2, 10, 30), &random);
        }
        free(directory);
    }
    assert_true(num_fitting > 0);
    assert_true(num_reasons > 0);
    assert_true(num_reduced > 0);
    assert_true(num_open < num_found / 4 + 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(some_requests_are_refused),
        IN_DIRECTORY(every_split_of_made_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
