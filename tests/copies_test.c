/* The copies that stages keep by their place: rules against simulations of the schedules that they
 * are of, and how they are written.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/moments.h"
#include "pipeline/pipeline.h"
#include "popliner/costs.h"
#include "popliner/pipeline.h"

/* The work of a device, in order: passes of micro-batches of its chunks. */
typedef enum kind { FORWARD, BACKWARD, WEIGHTS } kind;
typedef struct action {
    kind pass;
    size_t chunk;
} action;
enum { MAX_ACTIONS = 4096 };
typedef struct program {
    action actions[MAX_ACTIONS];
    size_t count;
} program;

static void add(program *p, kind pass, size_t chunk) {
    assert_true(p->count < MAX_ACTIONS);
    p->actions[p->count++] = (action){pass, chunk};
}

/* The most micro-batches that have begun in a chunk and not ended: with their passes of weights
 * where there are such, else backward. */
static size_t most_under_way(const program *p, size_t chunk) {
    size_t begun = 0;
    size_t ended = 0;
    size_t most = 0;
    bool has_weights = false;
    for (size_t i = 0; i < p->count; i++)
        has_weights = has_weights || p->actions[i].pass == WEIGHTS;
    for (size_t i = 0; i < p->count; i++) {
        if (p->actions[i].chunk != chunk)
            continue;
        begun += p->actions[i].pass == FORWARD;
        ended += p->actions[i].pass == (has_weights ? WEIGHTS : BACKWARD);
        most = begun - ended > most ? begun - ended : most;
    }
    return most;
}

static size_t min(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One stage: so many forward passes before the first backward one, then one of each in turn. A pass
 * of weights follows each backward one but the first `late` ones, whose passes come at the end. */
static void run_in_turn(program *p, size_t num_batches, size_t warm_up, bool has_weights,
                        size_t late) {
    size_t forward = 0;
    size_t weights = 0;
    p->count = 0;
    for (; forward < min(warm_up, num_batches); forward++)
        add(p, FORWARD, 0);
    for (size_t backward = 1; backward <= num_batches; backward++) {
        if (forward < num_batches) {
            add(p, FORWARD, 0);
            forward++;
        }
        add(p, BACKWARD, 0);
        if (has_weights && backward > late) {
            add(p, WEIGHTS, 0);
            weights++;
        }
    }
    for (; has_weights && weights < num_batches; weights++)
        add(p, WEIGHTS, 0);
}

static void check_rule(popliner_copies_rule rule, size_t num_stages, size_t num_ipus,
                       size_t batches, size_t stages_to_end, size_t under_way) {
    for (size_t more = 0; more < 3; more++) {
        popliner_copies copies = {.rule = rule,
                                  .more = more,
                                  .num_stages = num_stages,
                                  .num_ipus = num_ipus,
                                  .num_micro_batches = batches};
        assert_int_equal(popliner_copies_check(&copies, NULL), POPLINER_OK);
        assert_int_equal(popliner_copies_at(&copies, stages_to_end), under_way - 1 + more);
    }
}

/* PyTorch's Schedule1F1B: S - k forward passes before the first backward one; ScheduleGPipe: all of
 * them; ScheduleInterleavedZeroBubble with one stage of each rank k: S - k - 1 before the first
 * turn, and the weights of the first k micro-batches late; ZB-H2 of Qi et al., 2023: both twice. */
static void straight_rules_are_those_of_their_schedules(void **state) {
    (void)state;
    program *p = malloc(sizeof *p);
    assert_non_null(p);
    for (size_t num_stages = 1; num_stages <= 9; num_stages++)
        for (size_t batches = 1; batches <= 24; batches++)
            for (size_t rank = 0; rank < num_stages; rank++) {
                size_t to_end = num_stages - rank;
                run_in_turn(p, batches, to_end - 1, false, 0);
                check_rule(POPLINER_COPIES_1F1B, num_stages, 0, batches, to_end,
                           most_under_way(p, 0));
                run_in_turn(p, batches, batches, false, 0);
                check_rule(POPLINER_COPIES_GPIPE, num_stages, 0, batches, to_end,
                           most_under_way(p, 0));
                run_in_turn(p, batches, to_end - 1, true, rank);
                check_rule(POPLINER_COPIES_ZERO_BUBBLE, num_stages, 0, batches, to_end,
                           most_under_way(p, 0));
                run_in_turn(p, batches, 2 * (to_end - 1), true, 2 * rank);
                check_rule(POPLINER_COPIES_ZB_H2, num_stages, 0, batches, to_end,
                           most_under_way(p, 0));
            }
    free(p);
}

/* One IPU of several chunks: forward passes go through groups of `round` micro-batches, chunk by
 * chunk, and backward passes the other way. */
static void run_interleaved(program *p, size_t num_chunks, size_t batches, size_t round,
                            size_t warm_up, size_t late) {
    size_t turn_chunk[MAX_ACTIONS];
    size_t turns = 0;
    for (size_t first = 0; first < batches; first += round)
        for (size_t chunk = 0; chunk < num_chunks; chunk++)
            for (size_t i = first; i < min(first + round, batches); i++)
                turn_chunk[turns++] = chunk;
    p->count = 0;
    for (size_t turn = 0; turn < turns + warm_up + (late < SIZE_MAX ? late : 0); turn++) {
        if (turn < turns)
            add(p, FORWARD, turn_chunk[turn]);
        if (turn >= warm_up && turn < turns + warm_up)
            add(p, BACKWARD, num_chunks - 1 - turn_chunk[turn - warm_up]);
        if (late < SIZE_MAX && turn >= warm_up + late)
            add(p, WEIGHTS, num_chunks - 1 - turn_chunk[turn - warm_up - late]);
    }
}

/* The most micro-batches that are under way in all chunks at one moment. */
static size_t most_together(const program *p, kind last) {
    size_t under_way = 0;
    size_t most = 0;
    for (size_t i = 0; i < p->count; i++) {
        under_way += p->actions[i].pass == FORWARD;
        under_way -= p->actions[i].pass == last;
        most = under_way > most ? under_way : most;
    }
    return most;
}

/* Of an IPU with equal chunks: those that are under way together. */
static void check_moments(const program *p, const popliner_copies *copies, size_t rank) {
    const popliner_pipeline pipeline = {.copies = *copies};
    pl_moments moments;
    size_t count = 0;
    size_t most = 0;
    assert_true(
        pl_moments_create(&moments, &pipeline, rank % 2 == 0 ? 0 : copies->num_stages - rank));
    const pl_held *own = pl_moments_of(&moments, copies->num_stages - rank, &count);
    for (size_t chunk = 0; chunk < moments.num_chunks; chunk++)
        most += own[chunk].kept;
    assert_int_equal(
        most, most_together(p, copies->rule == POPLINER_COPIES_ZERO_BUBBLE ? WEIGHTS : BACKWARD));
    for (size_t chunk = 0; chunk < moments.num_chunks; chunk++) {
        uint32_t largest = 0;
        for (size_t i = 0; i < count; i++)
            largest = largest > own[i * moments.num_chunks + chunk].kept
                          ? largest
                          : own[i * moments.num_chunks + chunk].kept;
        assert_int_equal(largest, most_under_way(p, chunk));
    }
    pl_moments_free(&moments);
}

/* The rule counts what is under way in each chunk. */
static void check_chunks(const program *p, popliner_copies_rule rule, size_t num_chunks,
                         size_t num_ipus, size_t batches, size_t rank) {
    for (size_t chunk = 0; chunk < num_chunks; chunk++) {
        const size_t to_end = num_chunks * num_ipus - (chunk * num_ipus + rank);
        check_rule(rule, num_chunks * num_ipus, num_ipus, batches, to_end,
                   most_under_way(p, chunk));
        if (rank == 0 && chunk == 0) /* the first stage is that of any place before it */
            check_rule(rule, num_chunks * num_ipus, num_ipus, batches, SIZE_MAX,
                       most_under_way(p, chunk));
    }
    if (num_chunks > 1)
        check_moments(p,
                      &(popliner_copies){.rule = rule,
                                         .more = 1,
                                         .num_stages = num_chunks * num_ipus,
                                         .num_ipus = num_ipus,
                                         .num_micro_batches = batches},
                      rank);
}

/* PyTorch's ScheduleInterleaved1F1B and ScheduleInterleavedZeroBubble, whose micro-batches are
 * divided into as many equal rounds of at least P as there can be; and the rounds of Megatron-LM's
 * get_schedule_table, whose last one may be shorter, though not shorter than P
 * (forward_backward_pipelining_with_interleaving). */
static void interleaved_rules_are_those_of_their_schedules(void **state) {
    (void)state;
    program *p = malloc(sizeof *p);
    assert_non_null(p);
    for (size_t num_ipus = 1; num_ipus <= 6; num_ipus++)
        for (size_t num_chunks = 1; num_chunks <= 4; num_chunks++)
            for (size_t batches = 1; batches <= 6 * num_ipus; batches++)
                for (size_t rank = 0; rank < num_ipus; rank++) {
                    const size_t after = num_ipus - 1 - rank;
                    const size_t num_rounds = batches < num_ipus ? 1 : batches / num_ipus;
                    size_t round = batches / num_rounds;
                    if (batches % num_rounds > 0)
                        round = num_ipus;
                    while (batches % round > 0 && batches % round < num_ipus)
                        round++;
                    const size_t before = (num_chunks - 1) * round;
                    run_interleaved(p, num_chunks, batches, round, 2 * after + before, SIZE_MAX);
                    check_chunks(p, POPLINER_COPIES_INTERLEAVED, num_chunks, num_ipus, batches,
                                 rank);
                    if (num_chunks == 1)
                        continue;
                    run_interleaved(p, num_chunks, batches, round, after + before, rank);
                    check_chunks(p, POPLINER_COPIES_ZERO_BUBBLE, num_chunks, num_ipus, batches,
                                 rank);
                }
    free(p);
}

/* The published memory of schedules in a V, in chunks, of enough micro-batches: the fullest IPU of
 * V-Half has P div 2 + 1 micro-batches, of V-Min (P + 4) div 3 (Qi et al., 2024, and its space on
 * Hugging Face); each of DualPipeV 2 P + 1 chunks (its README). No chunk exceeds its rule at any
 * moment, and each reaches it. plain_solver.py has second orders. */
static void rules_for_a_v_are_those_of_their_papers(void **state) {
    (void)state;
    for (size_t p = 2; p <= 16; p++)
        for (size_t batches = 1; batches <= 4 * p; batches += p)
            for (int rule = POPLINER_COPIES_V_HALF; rule <= POPLINER_COPIES_DUALPIPE_V; rule++) {
                const popliner_pipeline pipeline = {.copies = {.rule = (popliner_copies_rule)rule,
                                                               .num_micro_batches = batches,
                                                               .num_stages = 2 * p,
                                                               .num_ipus = p,
                                                               .is_v = true}};
                const size_t told[] = {p / 2 + 1, (p + 4) / 3, p};
                const bool is_dual = rule == POPLINER_COPIES_DUALPIPE_V;
                size_t fullest = 0;
                pl_moments moments;
                /* as its authors do, DualPipeV is refused for fewer */
                assert_int_equal(popliner_copies_check(&pipeline.copies, NULL),
                                 is_dual && batches < 2 * p ? POPLINER_ERROR_USAGE : POPLINER_OK);
                if (is_dual && batches < 2 * p)
                    continue;
                assert_true(pl_moments_create(&moments, &pipeline, 0));
                assert_non_null(moments.first);
                for (size_t to_end = 1; to_end <= 2 * p; to_end++) {
                    size_t count = 0;
                    uint32_t largest = 0;
                    const pl_held *own = pl_moments_of(&moments, to_end, &count);
                    for (size_t i = 0; i < count; i++) {
                        const pl_held *now = own + 2 * i;
                        const uint32_t chunk = now[pl_moments_chunk(&moments, to_end)].kept;
                        const size_t together = now[0].kept + now[1].kept;
                        largest = chunk > largest ? chunk : largest;
                        fullest = together > fullest ? together : fullest;
                    }
                    assert_int_equal(popliner_copies_at(&pipeline.copies, to_end) + 1, largest);
                }
                if (batches >= 2 * p)
                    assert_int_equal(fullest, 2 * told[rule - POPLINER_COPIES_V_HALF] + is_dual);
                pl_moments_free(&moments);
            }
}

/* 1F1B on IPUs that stages go round is interleaved; on others each stage has its own place. */
static void maps_set_the_numbers(void **state) {
    (void)state;
    static const struct {
        size_t map[6];
        size_t num_stages;
        size_t num_ipus;
        bool is_interleaved;
        bool is_v;
    } cases[] = {
        {{0, 1, 2, 0, 1, 2}, 6, 3, true, false},
        {{4, 1, 4, 1, 4, 1}, 6, 2, true, false},
        {{0, 0}, 2, 1, true, false},
        {{0, 1, 2, 3}, 4, 4, false, false},
        {{0, 1, 2, 2, 1, 0}, 6, 3, false, true},
        {{0, 1, 0}, 3, 0, false, false},
        {{0, 0, 1, 1}, 4, 0, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int rule = POPLINER_COPIES_1F1B; rule < POPLINER_NUM_COPIES_RULES; rule++) {
            popliner_copies copies = {.rule = (popliner_copies_rule)rule};
            popliner_copies_set_map(&copies, cases[i].map, cases[i].num_stages);
            assert_int_equal(copies.num_stages, cases[i].num_stages);
            assert_int_equal(copies.num_ipus, cases[i].num_ipus);
            assert_int_equal(copies.is_v, cases[i].is_v);
            assert_int_equal(copies.rule, rule);
            if (rule == POPLINER_COPIES_1F1B)
                assert_int_equal(pl_copies_take_turns(&copies), cases[i].is_interleaved);
        }
}

static popliner_copies parsed(const char *text) {
    popliner_copies copies;
    popliner_error error;
    if (popliner_copies_parse(text, &copies, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return copies;
}

static void lists_are_taken_as_they_are(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t copies[6];
        size_t max_stages;
    } cases[] = {
        {"1,2,3,5", {1, 2, 3, 5, 5, 5}, 4},
        {"0,1,...", {0, 1, 2, 3, 4, 5}, SIZE_MAX},
        {"1,2,...", {1, 2, 3, 4, 5, 6}, SIZE_MAX},    /* Piper's A * y */
        {"0,3,5,...", {0, 3, 5, 7, 9, 11}, SIZE_MAX}, /* PopART's */
        {"4", {4, 4, 4, 4, 4, 4}, SIZE_MAX},
        {"4,...", {4, 4, 4, 4, 4, 4}, SIZE_MAX},
        {"0,0", {0, 0, 0, 0, 0, 0}, 2},
        {"7,9,9,...", {7, 9, 9, 9, 9, 9}, SIZE_MAX},
        {"1f1b", {0, 1, 2, 3, 4, 5}, SIZE_MAX},
        {"1f1b+2", {2, 3, 4, 5, 6, 7}, SIZE_MAX},
        {"32768", {32768, 32768, 32768, 32768, 32768, 32768}, SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        popliner_copies copies = parsed(cases[i].text);
        assert_int_equal(popliner_copies_check(&copies, NULL), POPLINER_OK);
        assert_int_equal(popliner_copies_max_stages(&copies), cases[i].max_stages);
        for (size_t place = 0; place < 6; place++)
            assert_int_equal(popliner_copies_at(&copies, place + 1), cases[i].copies[place]);
    }
    popliner_copies steep = parsed("0,30000,...");
    assert_int_equal(popliner_copies_at(&steep, 3), POPLINER_MAX_COPIES);
    assert_int_equal(popliner_copies_at(&steep, SIZE_MAX), POPLINER_MAX_COPIES);
    popliner_copies gpipe = parsed("gpipe+32768");
    gpipe.num_micro_batches = SIZE_MAX;
    assert_int_equal(popliner_copies_at(&gpipe, 1), POPLINER_MAX_COPIES);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",       "1f1c",
                                        "1F1B",   "1f1b+",
                                        "1f1b+x", "1f1b+1,2",
                                        ",1",     "1,",
                                        "1,,2",   "...",
                                        "1,2...", "1,...,2",
                                        "-1",     "1, 2",
                                        "2,1",    "0,1,0,...",
                                        "32769",  "schedule",
                                        "list",   "+1",
                                        "1.5",    "99999999999999999999999"};
    popliner_copies copies;
    popliner_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "copies %s: ", texts[i]);
        assert_int_equal(popliner_copies_parse(texts[i], &copies, &error), POPLINER_ERROR_USAGE);
        assert_memory_equal(error.message, begin, strlen(begin));
    }
    char *long_list = malloc(2 * (POPLINER_MAX_LISTED_COPIES + 1));
    assert_non_null(long_list);
    for (size_t i = 0; i <= POPLINER_MAX_LISTED_COPIES; i++)
        memcpy(long_list + 2 * i, i < POPLINER_MAX_LISTED_COPIES ? "3," : "3", 2);
    assert_int_equal(popliner_copies_parse(long_list, &copies, &error), POPLINER_ERROR_USAGE);
    free(long_list);

    const popliner_copies wrong[] = {
        {.rule = POPLINER_NUM_COPIES_RULES},
        {.rule = POPLINER_COPIES_LIST},
        {.rule = POPLINER_COPIES_LIST, .listed = {2, 1}, .num_listed = 2},
        {.rule = POPLINER_COPIES_LIST, .num_listed = POPLINER_MAX_LISTED_COPIES + 1},
        {.rule = POPLINER_COPIES_GPIPE},
        {.rule = POPLINER_COPIES_INTERLEAVED},
        {.rule = POPLINER_COPIES_INTERLEAVED, .num_stages = 4},
        {.rule = POPLINER_COPIES_INTERLEAVED, .num_stages = 4, .num_ipus = 3},
        {.rule = POPLINER_COPIES_INTERLEAVED, .num_stages = 4, .num_ipus = 2, .is_v = true},
        {.rule = POPLINER_COPIES_ZERO_BUBBLE, .num_stages = 4, .num_ipus = 3},
        {.rule = POPLINER_COPIES_V_MIN, .num_stages = 4, .num_ipus = 2},
        {.rule = POPLINER_COPIES_DUALPIPE_V},
        {.rule = POPLINER_COPIES_V_HALF, .num_stages = 4, .is_v = true},
        {.rule = POPLINER_COPIES_V_HALF, .num_stages = 4, .num_ipus = 4, .is_v = true},
        {.rule = POPLINER_COPIES_ZERO_BUBBLE, .num_stages = 6, .num_ipus = 2, .is_v = true},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(popliner_copies_check(&wrong[i], &error), POPLINER_ERROR_USAGE);
    /* zero-bubble needs no number of stages */
    const popliner_copies any = {
        .rule = POPLINER_COPIES_ZERO_BUBBLE, .num_micro_batches = 3, .more = 1};
    assert_int_equal(popliner_copies_check(&any, &error), POPLINER_OK);
    assert_int_equal(popliner_copies_max_stages(&any), SIZE_MAX);
    for (size_t stages = 1; stages < 6; stages++)
        assert_int_equal(popliner_copies_at(&any, stages), stages < 3 ? stages : 3);
    assert_string_equal(pl_copies_rule_name(POPLINER_COPIES_ZERO_BUBBLE), "zero-bubble");
    assert_null(pl_copies_rule_name(POPLINER_NUM_COPIES_RULES));
}

/* They take the place of the schedule's, for every need, and never fall with the distance. */
static void pipelines_have_copies_of_their_own(void **state) {
    (void)state;
    static const char *const texts[] = {"1f1b",        "gpipe",   "zero-bubble+1",
                                        "interleaved", "1,2,3,5", "0,1,..."};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int schedule = 0; pl_schedule_name((popliner_schedule)schedule) != NULL; schedule++) {
            popliner_pipeline pipeline = {.schedule = (popliner_schedule)schedule,
                                          .effects = POPLINER_EFFECTS_ALL,
                                          .copies = parsed(texts[i])};
            pipeline.copies.num_micro_batches = 5;
            pipeline.copies.num_stages = 8;
            pipeline.copies.num_ipus = 4;
            bool is_inference = schedule == POPLINER_SCHEDULE_INFERENCE;
            assert_int_equal(pl_pipeline_check(&pipeline, NULL),
                             is_inference ? POPLINER_ERROR_USAGE : POPLINER_OK);
            assert_true(pl_pipeline_keeps(&pipeline));
            assert_int_not_equal(pl_pipeline_kind(&pipeline), PL_SCHEDULE_PLAIN);
            for (size_t to_end = 1; to_end < 20; to_end++)
                for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
                    size_t copies = pl_pipeline_copies_for(&pipeline, (popliner_need)need, to_end);
                    assert_int_equal(copies, popliner_copies_at(&pipeline.copies, to_end));
                    assert_true(copies <=
                                pl_pipeline_copies_for(&pipeline, (popliner_need)need, to_end + 1));
                }
        }
}

/* Files of costs: memory + copies * stash in each place, also of what shares an IPU. Recomputing
 * keeps inputs instead, but the micro-batches of "+N" are under way with their stash. */
static void files_of_costs_take_them(void **state) {
    (void)state;
    static const char text[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["
                               "{\"name\": \"a\", \"memory\": 100, \"stash\": 7, \"inputs\": 3},"
                               "{\"name\": \"b\", \"memory\": 50, \"stash\": 11, \"inputs\": 2},"
                               "{\"name\": \"c\", \"memory\": 20, \"stash\": 13, \"inputs\": 1},"
                               "{\"name\": \"d\", \"memory\": 10, \"stash\": 17, \"inputs\": 4}]}";
    static const uint64_t memory[] = {100, 50, 20, 10};
    static const uint64_t stash[] = {7, 11, 13, 17};
    static const uint64_t inputs[] = {3, 2, 1, 4};
    static const char *const texts[] = {"1,2,3,5", "0,1,...", "4", "gpipe+1", "1f1b"};
    /* the last stage keeps some even if it is the only one */
    for (size_t most = 1; most != 0; most = most == 1 ? SIZE_MAX : 0)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (int recompute = 0; recompute < 2; recompute++) {
                popliner_pipeline pipeline = {.recompute = recompute == 0 ? POPLINER_RECOMPUTE_NONE
                                                                          : POPLINER_RECOMPUTE_FULL,
                                              .max_stages = most,
                                              .copies = parsed(texts[i])};
                popliner_costs_file *file = NULL;
                pipeline.copies.num_micro_batches = 3;
                assert_int_equal(
                    popliner_costs_file_read("a text", text, strlen(text), &pipeline, &file, NULL),
                    POPLINER_OK);
                const popliner_costs *costs = file->costs;
                for (size_t to_end = 1; to_end <= (most == 1 ? 1 : 4); to_end++)
                    for (size_t first = 0; first < 4; first++) {
                        uint64_t sum_memory = 0;
                        uint64_t sum_stash = 0;
                        for (size_t last = first; last < 4; last++) {
                            sum_memory += memory[last];
                            sum_stash += stash[last];
                            uint64_t copies = popliner_copies_at(&pipeline.copies, to_end);
                            uint64_t whole = recompute == 0                  ? copies
                                             : strchr(texts[i], '+') != NULL ? 1
                                                                             : 0;
                            assert_int_equal(popliner_costs_peak(costs, first, last, to_end),
                                             sum_memory + whole * sum_stash +
                                                 (copies - whole) * inputs[first]);
                        }
                    }
                popliner_costs_file_free(file);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_rules_are_those_of_their_schedules),
        cmocka_unit_test(interleaved_rules_are_those_of_their_schedules),
        cmocka_unit_test(rules_for_a_v_are_those_of_their_papers),
        cmocka_unit_test(maps_set_the_numbers),
        cmocka_unit_test(lists_are_taken_as_they_are),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(pipelines_have_copies_of_their_own),
        cmocka_unit_test(files_of_costs_take_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
