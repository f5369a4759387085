/* The command's --solve with all its options, end to end. What is expected comes from brute force
 * over what --evaluate says of single stages, from tables calculated here, or from a second run.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"

#ifdef TEST_WITH_GLPK
#include <glpk.h>
#endif
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema.h"

#define SAMPLE_DIRECTORY PROJECT_DIRECTORY "/data/sample"
#define TRAINING_DIRECTORY GOLDEN_DIRECTORY "popart-train"
#define ADDITIVE PROJECT_DIRECTORY "/data/costs/additive.json"
#define REGIONS PROJECT_DIRECTORY "/data/costs/regions.json"
#define INTERVALS PROJECT_DIRECTORY "/data/costs/intervals.json"

static command_run run;

/* Of the sample: Head, the layers 0 to 3, Tail. */
enum { HEAD, LAYER_0, LAYER_1, LAYER_2, LAYER_3, TAIL, NUM_SAMPLE_UNITS };
static subject sample;

static int measure_sample(void **state) {
    (void)state;
    measure_subject(&sample, SAMPLE_DIRECTORY, POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE,
                    true);
    return sample.num_units == NUM_SAMPLE_UNITS ? 0 : -1;
}

static int free_sample(void **state) {
    (void)state;
    free_subject(&sample);
    return 0;
}

/* ---- Objectives ----------------------------------------------------------------------------- */

static const char *const lists[] = {
    "memory",         "cycles",         "traffic",        "ipus",
    "balance",        "memory,traffic", "cycles,traffic", "cycles,balance",
    "memory,balance", "traffic,memory", "ipus,memory",    "memory,ipus,traffic",
    "ipus,cycles",    "cycles,memory",  "balance,cycles", "cycles,memory,ipus,balance,traffic",
};
enum { NUM_LISTS = sizeof lists / sizeof *lists };

static void finds_the_best_of_each_objective(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_LISTS; i++)
        for (size_t ipus = 0; ipus <= 3; ipus += 3) {
            asked a;
            ask(&a, &sample);
            ask_objectives(&a, lists[i]);
            if (ipus > 0)
                ask_ipus(&a, ipus);
            expect_best(&a);
        }
}

static void gives_away_what_slack_allows(void **state) {
    (void)state;
    static const unsigned percents[] = {0, 1, 5, 25, 60, 100};
    static const char *const pairs[] = {"memory,traffic", "memory,ipus,traffic", "cycles,traffic"};
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            asked a;
            ask(&a, &sample);
            ask_objectives(&a, pairs[k]);
            ask_slack(&a, percents[i]);
            expect_best(&a);
        }
}

/* ---- Limits and constraints ----------------------------------------------------------------- */

static void keeps_to_memory(void **state) {
    (void)state;
    /* from the whole model down to less than its largest layer */
    for (uint64_t bytes = 48000; bytes >= 24000; bytes -= 3000)
        for (size_t ipus = 1; ipus <= 5; ipus += 2) {
            asked a;
            ask(&a, &sample);
            ask_objectives(&a, "ipus,traffic");
            ask_ipus(&a, ipus);
            ask_memory(&a, bytes);
            expect_best(&a);
        }
}

static void keeps_to_the_memory_of_single_ipus(void **state) {
    (void)state;
    asked a;
    ask(&a, &sample);
    ask_ipus(&a, 3);
    ask_ipu_memory(&a, 0, 27000);
    expect_best(&a);
    ask_ipu_memory(&a, 1, 26000);
    expect_best(&a);
    ask_memory(&a, 30000);
    expect_best(&a);
    ask_reserve(&a, 500);
    expect_best(&a);
    ask(&a, &sample);
    ask_ipu_memory(&a, 1, 28000);
    ask_ipus(&a, 2);
    expect_best(&a);
}

/* Of a profile the cycles have 64 GB/s on each link, at a clock of 1.85 GHz, until links are told
 * of: then two cuts are rounded up one by one. */
static void links_of_profiles_are_told_anew(void **state) {
    (void)state;
    static const char *const words[] = {"--bandwidth=1000000000", "--bandwidth=0-1=0.5",
                                        "--bandwidth=2,1-2=0.25"};
    static const double usual = 64.0 / 1.85;
    static const double bandwidths[][2] = {{1e9, 1e9}, {0.5, 64.0 / 1.85}, {2, 0.25}};
    json_t *before = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--objective=cycles", "--num-ipus=3",
                              "--require=cut:0,2");
    for (size_t i = 0; i < 3; i++) {
        json_t *after = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--objective=cycles", "--num-ipus=3",
                                 "--require=cut:0,2", words[i]);
        int64_t expected[3];
        int64_t cut_bytes[4] = {0};
        for (size_t k = 0; k < 3; k++) {
            const json_t *stage = json_array_get(JSON_AT(before, "stages"), k);
            cut_bytes[k + 1] = (int64_t)NUMBER_AT(stage, "cut_bytes");
            expected[k] = (int64_t)NUMBER_AT(stage, "cycles");
            expected[k] -= (int64_t)ceil((double)(cut_bytes[k] + cut_bytes[k + 1]) / usual);
            expected[k] += k > 0 ? (int64_t)ceil((double)cut_bytes[k] / bandwidths[i][k - 1]) : 0;
            expected[k] += k < 2 ? (int64_t)ceil((double)cut_bytes[k + 1] / bandwidths[i][k]) : 0;
        }
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(NUMBER_AT(json_array_get(JSON_AT(after, "stages"), k), "cycles"),
                             expected[k]);
        json_decref(after);
    }
    json_decref(before);
}

static void keeps_to_numbers_of_layers(void **state) {
    (void)state;
    for (size_t least = 0; least <= 5; least++)
        for (size_t most = 0; most <= 3; most++) {
            asked a;
            ask(&a, &sample);
            ask_ipus(&a, 4);
            ask_least_layers(&a, least);
            if (most > 0)
                ask_most_layers(&a, most);
            expect_best(&a);
        }
}

static void keeps_to_cuts(void **state) {
    (void)state;
    for (size_t unit = HEAD; unit < TAIL; unit++) {
        asked a;
        ask(&a, &sample);
        ask_ipus(&a, 3);
        ask_cut(&a, unit, POPLINER_CUT_REQUIRED);
        expect_best(&a);
        ask_cut(&a, (unit + 2) % TAIL, POPLINER_CUT_FORBIDDEN);
        expect_best(&a);
        ask(&a, &sample);
        ask_cut(&a, unit, POPLINER_CUT_FORBIDDEN);
        expect_best(&a);
    }
}

static void keeps_layers_together(void **state) {
    (void)state;
    for (size_t first = HEAD; first <= TAIL; first++)
        for (size_t second = HEAD; second <= TAIL; second += 2) {
            asked a;
            ask(&a, &sample);
            ask_together(&a, first, second);
            expect_best(&a);
        }
    asked a;
    ask(&a, &sample);
    ask_together(&a, LAYER_0, LAYER_2);
    ask_cut(&a, LAYER_1, POPLINER_CUT_REQUIRED);
    expect_best(&a);
}

static void places_layers(void **state) {
    (void)state;
    for (size_t unit = HEAD; unit <= TAIL; unit++)
        for (size_t ipu = 0; ipu < 3; ipu++) {
            asked a;
            ask(&a, &sample);
            ask_ipus(&a, 3);
            ask_place(&a, unit, ipu);
            expect_best(&a);
        }
    asked a;
    ask(&a, &sample);
    ask_place(&a, LAYER_1, 0);
    ask_place(&a, TAIL, 1);
    expect_best(&a);
    ask_place(&a, LAYER_1, 1); /* on two IPUs */
    expect_best(&a);
}

/* ---- Device maps ---------------------------------------------------------------------------- */

static void follows_device_maps(void **state) {
    (void)state;
    /* where stages share an IPU, they follow each other: what they need then is known */
    static const char *const maps[] = {"0",           "0,1",     "3,1,2",   "0,0",
                                       "0,0,1",       "1,0,0",   "0,0,1,1", "0,0,0,0,0,0",
                                       "5,4,3,2,1,0", "0,1,1,1", "0,0,0,1", "2,2,7,7,7"};
    static const char *const objectives[] = {"memory,traffic", "cycles,traffic", "traffic",
                                             "ipus",           "balance",        "cycles,balance"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (size_t k = 0; k < sizeof objectives / sizeof *objectives; k++) {
            asked a;
            ask(&a, &sample);
            ask_map(&a, maps[i]);
            ask_objectives(&a, objectives[k]);
            expect_best(&a);
            if (k > 1)
                continue;
            ask_memory(&a, 34000);
            expect_best(&a);
            ask_together(&a, LAYER_0, LAYER_3);
            expect_best(&a);
        }
}

static uint64_t evaluated_tile(const char *split, const char *stage) {
    RUN(&run, SAMPLE_DIRECTORY, "--evaluate", split, "--format", "json");
    assert_int_equal(run.status, 0);
    json_t *stages = json_loads(run.out, 0, NULL);
    uint64_t bytes = NUMBER_AT(stages, stage, "tile_bytes");
    json_decref(stages);
    return bytes;
}

static void stages_on_one_ipu_need_their_union(void **state) {
    (void)state;
    /* the cuts are given, so the stages are: [Head 0] [1 2] on IPU 0, [3 Tail] on IPU 1 */
    json_t *answer =
        RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--device-map", "0,0,1", "--require", "cut:0,2");
    uint64_t bytes = evaluated_tile("2", "0");
    assert_int_equal(NUMBER_AT(answer, "stages", "0", "mem", "max_tile_mem"), bytes);
    assert_int_equal(NUMBER_AT(answer, "stages", "1", "mem", "max_tile_mem"), bytes);
    assert_int_equal(NUMBER_AT(answer, "stages", "2", "mem", "max_tile_mem"),
                     evaluated_tile("2", "1"));
    assert_int_equal(NUMBER_AT(answer, "totals", "ipus"), 2);
    json_decref(answer);
    /* [Head 0] and [3 Tail] are less than everything, more than each, and not more than both */
    answer = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--device-map", "0,1,0", "--require", "cut:0,2");
    bytes = NUMBER_AT(answer, "stages", "0", "mem", "max_tile_mem");
    uint64_t first = evaluated_tile("0|2", "0");
    uint64_t last = evaluated_tile("0|2", "2");
    assert_int_equal(NUMBER_AT(answer, "stages", "2", "mem", "max_tile_mem"), bytes);
    assert_true(bytes > first && bytes > last && bytes <= first + last);
    assert_true(bytes < evaluated_tile("whole", "0"));
    assert_int_equal(NUMBER_AT(answer, "stages", "1", "mem", "max_tile_mem"),
                     evaluated_tile("0|2", "1"));
    json_decref(answer);
}

/* ---- Anything at once ----------------------------------------------------------------------- */

static uint64_t random_state = 20;

/* A number below `count`. */
static size_t draw(size_t count) {
    random_state = test_random(random_state);
    return (size_t)((random_state >> 33) % count);
}

static void ask_anything(asked *a, const subject *s, bool has_map) {
    size_t n = s->num_units;
    uint64_t whole = popliner_costs_peak(s->costs, 0, n - 1, 1);
    bool has_cycles = popliner_costs_has_cycles(s->costs);
    ask(a, s);
    const char *list = lists[draw(NUM_LISTS)];
    if (has_cycles || strstr(list, "cycles") == NULL)
        ask_objectives(a, list);
    if (draw(3) == 0)
        ask_slack(a, (unsigned)draw(40));
    if (has_map) {
        static const char *const maps[] = {"0,1", "0,0,1", "0,1,1", "2,1,0"};
        ask_map(a, maps[draw(4)]);
    } else if (draw(4) > 0) {
        ask_ipus(a, 1 + draw(n));
    }
    if (whole < POPLINER_PEAK_FORBIDDEN && draw(2) == 0)
        ask_memory(a, whole / 2 + draw((size_t)whole));
    if (draw(4) == 0)
        ask_ipu_memory(a, draw(3),
                       whole < POPLINER_PEAK_FORBIDDEN ? whole / 2 + draw((size_t)whole)
                                                       : 100 + draw(900));
    if (draw(4) == 0)
        ask_most_layers(a, 1 + draw(3));
    if (draw(6) == 0)
        ask_least_layers(a, draw(3));
    for (size_t i = draw(3); i > 0; i--) {
        size_t unit = draw(n - 1);
        if (a->cuts[unit + 1] == POPLINER_CUT_FREE)
            ask_cut(a, unit, draw(2) == 0 ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN);
    }
    if (draw(3) == 0)
        ask_together(a, draw(n), draw(n));
    if (draw(3) == 0)
        ask_place(a, draw(n), draw(3));
}

static void answers_any_question_as_brute_force_does(void **state) {
    (void)state;
    for (size_t i = 0; i < 70; i++) {
        asked a;
        ask_anything(&a, &sample, i % 4 == 3);
        expect_best(&a);
    }
}

static void is_right_for_every_golden_case(void **state) {
    (void)state;
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    size_t count = test_golden_cases(names);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        char directory[500];
        subject s;
        snprintf(directory, sizeof directory, "%s%s", GOLDEN_DIRECTORY, names[i]);
        if (strcmp(names[i], "poptorch-inf") == 0)
            continue; /* 13 units: too many runs */
        if (!test_takes_case(i, 6))
            continue;
        measure_subject(&s, directory, POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE, true);
        for (size_t k = 0; k < 4; k++) {
            asked a;
            ask_anything(&a, &s, false);
            expect_best(&a);
        }
        free_subject(&s);
    }
}

/* ---- Pipelines ------------------------------------------------------------------------------ */

/* The plain model of a stage. */
#define PLAIN "--effects", "none"

static uint64_t stash_of_first(const char *last_layer, const char *map, const char *effects,
                               size_t *num_stages) {
    char rule[40];
    snprintf(rule, sizeof rule, "cut:%s", last_layer);
    json_t *answer =
        RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--schedule", "popart", "--device-map", map,
                 "--require", rule, "--effects", effects, "--mem-per-tile", "999999");
    uint64_t bytes = NUMBER_AT(answer, "stages", "0", "mem", "stash");
    *num_stages = json_array_size(JSON_AT(answer, "stages"));
    json_decref(answer);
    return bytes;
}

static void training_keeps_activations(void **state) {
    (void)state;
    /* Head and layer 0 as the first of 2 and of 3 stages: 3 and 5 copies of the same */
    size_t few = 0;
    size_t many = 0;
    uint64_t bytes_of_few = stash_of_first("0", "0,1", "none", &few);
    uint64_t bytes_of_many = stash_of_first("0", "0,1,2", "none", &many);
    assert_int_equal(few, 2);
    assert_int_equal(many, 3);
    assert_true(bytes_of_few > 0);
    assert_int_equal(bytes_of_few * 5, bytes_of_many * 3);
    /* the tensors themselves are not live between stash and restore, however many copies there
     * are */
    uint64_t fewer_bytes = stash_of_first("0", "0,1", "buffers", &few);
    uint64_t less_bytes = stash_of_first("0", "0,1,2", "buffers", &many);
    assert_true(fewer_bytes <= bytes_of_few);
    assert_int_equal(bytes_of_few - fewer_bytes, bytes_of_many - less_bytes);
    assert_true((bytes_of_few - fewer_bytes) * 3 <= bytes_of_few);

    /* stage by stage: what is kept comes on top of what the stage is without */
    json_t *plain = RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--device-map", "0,1,2", "--require",
                             "cut:0,1", PLAIN);
    json_t *kept = RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--device-map", "0,1,2", "--require",
                            "cut:0,1", "--schedule", "popart", PLAIN);
    json_t *inputs = RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--device-map", "0,1,2", "--require",
                              "cut:0,1", "--schedule", "popart", "--recompute", "full", PLAIN);
    json_t *inference = RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--device-map", "0,1,2", "--require",
                                 "cut:0,1", "--schedule", "inference", PLAIN);
    assert_true(json_equal(JSON_AT(plain, "stages"), JSON_AT(inference, "stages")));
    static const char *const stages[] = {"0", "1", "2"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *own = JSON_AT(plain, "stages", stages[i]);
        const json_t *more = JSON_AT(kept, "stages", stages[i]);
        const json_t *less = JSON_AT(inputs, "stages", stages[i]);
        uint64_t stash = NUMBER_AT(more, "mem", "stash");
        assert_null(json_object_get(json_object_get(own, "mem"), "stash"));
        assert_int_equal(NUMBER_AT(more, "mem", "total_mem"),
                         NUMBER_AT(own, "mem", "total_mem") + stash);
        assert_true(NUMBER_AT(more, "peak", "bytes") >= NUMBER_AT(own, "peak", "bytes"));
        assert_true(NUMBER_AT(less, "mem", "stash") <= stash);
        assert_true(NUMBER_AT(less, "peak", "bytes") <= NUMBER_AT(more, "peak", "bytes"));
        /* the last stage's forward and backward pass are one */
        assert_int_equal(stash == 0, i == 2);
        assert_int_equal(NUMBER_AT(more, "peak", "stash_bytes") % (2 * (uint64_t)(3 - i) - 1), 0);
    }
    json_decref(plain);
    json_decref(kept);
    json_decref(inputs);
    json_decref(inference);
}

static void training_splits_are_best(void **state) {
    (void)state;
    static const struct {
        popliner_recompute recompute;
        bool with_effects;
        uint64_t most_bytes; /* that are asked for */
        uint64_t least_bytes;
    } cases[] = {
        {POPLINER_RECOMPUTE_NONE, false, 280000, 120000},
        /* with so much every unit fits: what one needs in a place that it cannot have is not to be
         * found out by --evaluate */
        {POPLINER_RECOMPUTE_NONE, true, 440000, 240000},
        {POPLINER_RECOMPUTE_STANDARD, false, 280000, 120000},
        {POPLINER_RECOMPUTE_FULL, false, 280000, 120000},
        {POPLINER_RECOMPUTE_FULL, true, 440000, 240000},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        subject s;
        if (k > 0 && !test_takes_all())
            continue;
        measure_subject(&s, TRAINING_DIRECTORY, POPLINER_SCHEDULE_POPART, cases[k].recompute,
                        cases[k].with_effects);
        for (size_t ipus = 1; ipus <= 4; ipus++)
            for (uint64_t bytes = cases[k].most_bytes; bytes >= cases[k].least_bytes;
                 bytes -= 40000) {
                asked a;
                ask(&a, &s);
                ask_ipus(&a, ipus);
                ask_memory(&a, bytes);
                expect_best(&a);
            }
        for (size_t i = 0; i < 8 && !cases[k].with_effects; i++) {
            asked a;
            ask_anything(&a, &s, false);
            expect_best(&a);
        }
        free_subject(&s);
    }
    /* the log shows the numbers of the plan */
    RUN(&run, TRAINING_DIRECTORY, "-v", "--solve", "--schedule", "popart", "--num-ipus", "3",
        "--require", "cut:0,1");
    char *solved = strdup(run.err);
    RUN(&run, TRAINING_DIRECTORY, "--evaluate", "0,1", "--schedule", "popart");
    assert_int_equal(run.status, 0);
    char *place = NULL;
    for (char *line = strtok_r(run.out, "\n", &place);
         line != NULL && strncmp(line, "Memory", 6) != 0; line = strtok_r(NULL, "\n", &place))
        assert_contains(solved, line);
    free(solved);
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--schedule", "popart");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "--schedule popart: the profile has no backward pass");
}

static void tells_how_much_a_unit_keeps(void **state) {
    (void)state;
    /* with a device map layer 0 is no further from the end than second, and may not be last */
    json_t *answer = RUN_JSON(&run, 1, TRAINING_DIRECTORY, "--schedule", "popart", "--device-map",
                              "0,1,2", "--mem-per-tile", "60000");
    const json_t *why = JSON_AT(answer, "infeasibility");
    assert_string_equal(json_string_value(JSON_AT(why, "reason")), "layer");
    assert_int_equal(NUMBER_AT(why, "peak", "bytes"), NUMBER_AT(why, "needs_bytes"));
    assert_true(NUMBER_AT(why, "peak", "stash_bytes") > 0);
    json_decref(answer);
}

/* ---- Costs from files ----------------------------------------------------------------------- */

static void add_unit(subject *s, const char *name, bool is_layer) {
    s->counted[s->num_units] = is_layer;
    snprintf(s->names[s->num_units++], MOST_NAME, "%s", name);
}

/* data/costs/additive.json: everything adds up, and each of both stages beside a cut pays for
 * it. */
static void calculate_additive(subject *s) {
    static const uint64_t memory[] = {4096, 300000, 200000, 200000, 250000};
    static const uint64_t millionths[] = {250000, 1500000, 3000000, 3000000, 2125000};
    static const uint64_t cuts[] = {0, 1024, 65536, 65536, 65536};
    static const uint64_t cut_millionths[] = {0, 0, 500000, 500000, 500000, 0};
    *s = (subject){.arguments = {ADDITIVE},
                   .cycles_per_time_unit = 1000000000,
                   .num_ipus = 3,
                   .memory_bytes = 638976,
                   .ipu_limits = {{0, 500000}},
                   .num_ipu_limits = 1};
    add_unit(s, "input", false);
    add_unit(s, "embedding", true);
    add_unit(s, "block 1", true);
    add_unit(s, "block 2", true);
    add_unit(s, "head", true);
    assert_int_equal(popliner_costs_create(5, 1, &s->costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 5; first++) {
        uint64_t bytes = 0;
        uint64_t time = cut_millionths[first];
        if (first > 0)
            popliner_costs_set_cut(s->costs, first, cuts[first], NULL);
        for (size_t last = first; last < 5; last++) {
            bytes += memory[last];
            time += millionths[last];
            popliner_costs_set_peak(s->costs, first, last, 1, bytes, NULL);
            popliner_costs_set_cycles(s->costs, first, last,
                                      (time + cut_millionths[last + 1]) * 1000, NULL);
        }
    }
}

/* What stages of data/costs/regions.json need together, by the rules of docs/costs.md. */
static uint64_t regions_peak(const popliner_interval *stages, size_t num_stages, bool trains,
                             bool recomputes) {
    static const uint64_t memory[4][2] = {{100, 50}, {200, 300}, {200, 350}, {10, 400}};
    static const uint64_t stash[4][2] = {{8, 4}, {10, 0}, {10, 20}, {0, 0}};
    static const uint64_t inputs[4][2] = {{2, 2}, {3, 6}, {4, 5}, {0, 0}};
    static const uint64_t capacity[2] = {UINT64_MAX, 1000};
    uint64_t most = 0;
    for (size_t tile = 0; tile < 2; tile++) {
        bool holds[4] = {false};
        uint64_t bytes = 0;
        for (size_t i = 0; i < num_stages; i++) {
            const popliner_interval *stage = &stages[i];
            uint64_t copies = trains && stage->stages_to_end > 1 ? 2 * stage->stages_to_end - 1 : 0;
            if (recomputes)
                bytes += copies * inputs[stage->first_unit][tile];
            for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
                holds[unit] = true;
                bytes += memory[unit][tile] + (recomputes ? 0 : copies * stash[unit][tile]);
            }
        }
        bytes += holds[1] || holds[2] ? (tile == 0 ? 70 : 30) : 0;
        bytes += holds[3] || holds[0] ? 25 : 0;
        if (bytes > capacity[tile])
            return POPLINER_PEAK_FORBIDDEN;
        most = bytes > most ? bytes : most;
    }
    return most;
}

typedef struct regions_pipeline {
    bool trains;
    bool recomputes;
} regions_pipeline;

static popliner_status regions_shared(void *user, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error) {
    (void)error;
    const regions_pipeline *p = user;
    *peak_bytes = regions_peak(stages, num_stages, p->trains, p->recomputes);
    return POPLINER_OK;
}

static void calculate_regions(subject *s, regions_pipeline *p) {
    static const uint64_t cycles[] = {10, 20, 20, 5};
    static const uint64_t cuts[] = {0, 16, 32, 8};
    *s = (subject){.arguments = {REGIONS}, .cycles_per_time_unit = 1};
    if (p->trains) {
        s->pipeline[0] = "--schedule";
        s->pipeline[1] = "popart";
        s->pipeline[2] = p->recomputes ? "--recompute" : NULL;
        s->pipeline[3] = "full";
    }
    add_unit(s, "a", true);
    add_unit(s, "b", true);
    add_unit(s, "c", true);
    add_unit(s, "d", true);
    assert_int_equal(popliner_costs_create(4, p->trains ? 4 : 1, &s->costs, NULL), POPLINER_OK);
    popliner_costs_set_shared_peak(s->costs, regions_shared, p, !p->recomputes);
    for (size_t first = 0; first < 4; first++) {
        uint64_t time = 0;
        if (first > 0)
            popliner_costs_set_cut(s->costs, first, cuts[first], NULL);
        for (size_t last = first; last < 4; last++) {
            time += cycles[last];
            popliner_costs_set_cycles(s->costs, first, last, time, NULL);
            for (size_t to_end = 1; to_end <= (p->trains ? 4 : 1); to_end++) {
                popliner_interval stage = {first, last, to_end};
                popliner_costs_set_peak(s->costs, first, last, to_end,
                                        regions_peak(&stage, 1, p->trains, p->recomputes), NULL);
            }
        }
    }
}

/* data/costs/intervals.json: what is listed is possible, nothing else. */
static void calculate_intervals(subject *s) {
    *s = (subject){
        .arguments = {INTERVALS}, .cycles_per_time_unit = 1, .num_ipus = 2, .memory_bytes = 64};
    add_unit(s, "a", true);
    add_unit(s, "b", true);
    add_unit(s, "c", true);
    assert_int_equal(popliner_costs_create(3, 1, &s->costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 3; first++)
        for (size_t last = first; last < 3; last++)
            popliner_costs_set_peak(s->costs, first, last, 1, POPLINER_PEAK_FORBIDDEN, NULL);
    static const uint64_t listed[][4] = {
        {0, 0, 40, 7}, {0, 1, 60, 11}, {1, 2, 50, 9}, {2, 2, 30, 4}};
    for (size_t i = 0; i < 4; i++) {
        popliner_costs_set_peak(s->costs, listed[i][0], listed[i][1], 1, listed[i][2], NULL);
        popliner_costs_set_cycles(s->costs, listed[i][0], listed[i][1], listed[i][3], NULL);
    }
    popliner_costs_set_cut(s->costs, 1, 10, NULL);
    popliner_costs_set_cut(s->costs, 2, 20, NULL);
}

static void ask_file(const subject *s, size_t count, const char *const *maps) {
    for (size_t i = 0; i < NUM_LISTS; i++) {
        asked a;
        ask(&a, s);
        ask_objectives(&a, lists[i]);
        expect_best(&a);
    }
    for (size_t i = 0; i < count; i++) {
        asked a;
        ask_anything(&a, s, false);
        expect_best(&a);
    }
    for (; *maps != NULL; maps++)
        for (size_t i = 0; i < 6; i++) {
            asked a;
            ask(&a, s);
            ask_map(&a, *maps);
            ask_objectives(&a, lists[draw(NUM_LISTS)]);
            if (draw(2) == 0)
                ask_memory(&a, 400 + draw(300));
            else if (draw(3) == 0)
                ask_together(&a, draw(s->num_units), draw(s->num_units));
            if (draw(3) == 0)
                ask_place(&a, draw(s->num_units), draw(2));
            expect_best(&a);
        }
}

static void answers_for_files_as_brute_force_does(void **state) {
    (void)state;
    static const char *const no_maps[] = {NULL};
    static const char *const few_maps[] = {"0,1", "1,0", "0,0", "0,1,0", NULL};
    static const char *const maps[] = {"0,1",   "0,0",     "0,1,0",   "0,1,1",
                                       "1,0,1", "0,1,0,1", "0,1,1,0", NULL};
    subject s;
    calculate_additive(&s);
    ask_file(&s, 12, few_maps);
    free_subject(&s);
    calculate_intervals(&s);
    ask_file(&s, 12, few_maps);
    free_subject(&s);
    for (unsigned i = 0; i < 3; i++) {
        regions_pipeline p = {i > 0, i == 2};
        calculate_regions(&s, &p);
        ask_file(&s, 12, i == 0 ? maps : i == 1 ? few_maps : no_maps);
        free_subject(&s);
    }
}

/* Published graphs: the throughput graph must be solved at least as well as by equal shares, and
 * nothing is better than the average. */
static void solves_published_graphs(void **state) {
    (void)state;
    char *graph = test_shared_file(
        "dnn-partitioning/throughput-inputs/OperatorGraphs/bert_l-3_inference.json");
    char *text =
        test_shared_file("pipedream/profiler/image_classification/profiles/nasnetalarge/graph.txt");
    if (graph == NULL || text == NULL) {
        free(graph);
        free(text);
        test_skip("its data is in ../shared alone");
    }
    const char *const files[] = {graph, text};
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = RUN_JSON(&run, 0, files[i], "--num-ipus", "4");
        json_t *whole = RUN_JSON(&run, 0, files[i], "--num-ipus", "1");
        assert_string_equal(json_string_value(JSON_AT(answer, "objectives", "0", "name")),
                            "cycles");
        assert_string_equal(json_string_value(JSON_AT(answer, "time_unit")),
                            i == 0 ? "units" : "ms");
        double best = json_real_value(JSON_AT(answer, "totals", "cycles"));
        double all = json_real_value(JSON_AT(whole, "totals", "cycles"));
        assert_true(best < all && best >= all / 4 - 1e-6);
        /* giving the answer as constraints leaves nothing else */
        const json_t *stages = JSON_AT(answer, "stages");
        const char *arguments[20] = {files[i], "--num-ipus", "4", "--objective", "ipus"};
        char rules[5][80];
        size_t count = 5;
        for (size_t k = 0; k + 1 < json_array_size(stages); k++) {
            snprintf(rules[k], sizeof rules[k], "--require=cut:%s",
                     json_string_value(json_object_get(json_array_get(stages, k), "layer_to")));
            arguments[count++] = rules[k];
        }
        arguments[count] = NULL;
        json_t *again = run_json(&run, 0, arguments);
        assert_true(json_equal(JSON_AT(again, "totals"), JSON_AT(answer, "totals")));
        json_decref(again);
        json_decref(answer);
        json_decref(whole);
    }
    free(graph);
    free(text);
}

#define LAYER_GRAPHS "dnn-partitioning/throughput-inputs/LayerGraphs/"
#define LATENCY_GRAPHS "dnn-partitioning/latency-inputs/LayerGraphs/"
#define PIPEDREAM_GRAPHS "pipedream/profiler/"

/* A published graph, and whether integer programs alone are asked for each list of objectives:
 * Always or Never, for it takes them long. Always, they are also the second proof, but for those
 * that are asked Only alone. */
static const struct published_graph {
    const char *file;
    const char *num_ipus;
    const char *when;
} published_graphs[] = {
    {LAYER_GRAPHS "bert24_inference.json", "6", "AAA"},
    {LAYER_GRAPHS "bert24_training.json", "6", "AAA"},
    {LAYER_GRAPHS "gnmt_inference.json", "6", "AAO"},
    {LAYER_GRAPHS "gnmt_training.json", "6", "ANO"},
    {LATENCY_GRAPHS "bert24_inference.json", "1", "AAA"},
    {LATENCY_GRAPHS "bert24_inference.json", "2", "AAA"},
    {LATENCY_GRAPHS "bert24_inference.json", "3", "AAA"},
    {LATENCY_GRAPHS "bert24_inference.json", "4", "AAA"},
    {LATENCY_GRAPHS "bert24_inference.json", "5", "AAA"},
    {LATENCY_GRAPHS "gnmt_inference.json", "4", "AAA"},
    {LATENCY_GRAPHS "gnmt_inference.json", "5", "AAA"},
    {LATENCY_GRAPHS "gnmt_inference.json", "6", "AAO"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/alexnet/graph.txt", "4", "AAA"},
    {PIPEDREAM_GRAPHS "translation/profiles/gnmt/graph.txt", "4", "AAA"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/resnet50/graph.txt", "2", "AAA"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/resnet50/graph.txt", "4", "AAA"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/resnet50/graph.txt", "8", "AAA"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/resnet50/graph.txt", "16", "AAN"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/nasnetalarge/graph.txt", "2", "NNN"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/nasnetalarge/graph.txt", "4", "NNN"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/nasnetalarge/graph.txt", "8", "NNN"},
    {PIPEDREAM_GRAPHS "image_classification/profiles/nasnetalarge/graph.txt", "16", "NNN"},
};

/* All solvers: the same answer but for what proved it. */
static void check_all_solvers(const struct published_graph *graph, const char *path,
                              const char *objectives, size_t num_solvers, const char *graph_proof) {
    static const char *const solvers[] = {"auto", "dp", "ilp"};
    const char *const proofs[] = {graph_proof, "dynamic_program", "integer_program"};
    json_t *first = NULL;
    for (size_t k = 0; k < num_solvers; k++) {
        RUN(&run, path, "-q", "--solve", "--format", "json", "--num-ipus", graph->num_ipus,
            "--objective", objectives, "--solver", solvers[k]);
        json_t *answer = json_loads(run.out, 0, NULL);
        assert_non_null(answer);
        assert_true(json_is_string(JSON_AT(answer, "proof")));
        const char *proof = json_string_value(JSON_AT(answer, "proof"));
        if (proofs[k] != NULL)
            assert_string_equal(proof, proofs[k]);
        else /* whether GLPK confirms it depends on the size of its programs */
            assert_true(strcmp(proof, "dynamic_program") == 0 ||
                        strcmp(proof, "both_programs") == 0);
        first = k == 0 ? json_incref(answer) : first;
        assert_true(json_equal(JSON_AT(first, "totals"), JSON_AT(answer, "totals")));
        assert_true(json_equal(JSON_AT(first, "stages"), JSON_AT(answer, "stages")));
        assert_true(json_equal(JSON_AT(first, "status"), JSON_AT(answer, "status")));
        json_decref(answer);
    }
    json_decref(first);
}

static void solvers_agree_on_published_graphs(void **state) {
    (void)state;
    static const char *const objectives[] = {"cycles,ipus", "cycles,traffic", "memory,traffic"};
    size_t num_solved = 0;
    for (size_t i = 0; i < sizeof published_graphs / sizeof *published_graphs; i++) {
        const struct published_graph *graph = &published_graphs[i];
        char *path = test_shared_file(graph->file);
        for (size_t k = 0; path != NULL && k < 3; k++) {
            char when = graph->when[k];
            if (!test_takes_case(3 * i + k, 25))
                continue;
            check_all_solvers(graph, path, objectives[k], when != 'N' && test_has_glpk() ? 3 : 2,
                              when == 'N'                      ? NULL
                              : when == 'A' && test_has_glpk() ? "both_programs"
                                                               : "dynamic_program");
            num_solved++;
        }
        free(path);
    }
    if (num_solved == 0)
        test_skip("its data is in ../shared alone");
}

/* ---- When nothing fits ---------------------------------------------------------------------- */

static void says_why_nothing_fits(void **state) {
    (void)state;
    char expected[300];
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--evaluate", "Head,0", "--format", "json");
    json_t *stages = json_loads(run.out, 0, NULL);
    uint64_t bytes = NUMBER_AT(stages, "1", "tile_bytes");
    snprintf(expected, sizeof expected,
             "Layer 0 alone needs %" PRIu64 " bytes on a tile; its IPUs have 20000 at most.\n",
             bytes);
    char peak[100];
    snprintf(peak, sizeof peak, "Its peak is on tile %" PRIu64 " at step %" PRIu64 ", Layer0/",
             NUMBER_AT(stages, "1", "tile"), NUMBER_AT(stages, "1", "step"));
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "--mem-per-tile", "20000", "--require",
        "layers:0..");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, expected);
    assert_contains(run.err, peak);
    /* the three largest variables there */
    for (size_t i = 0; i < 3; i++) {
        const json_t *v = json_array_get(JSON_AT(stages, "1", "largest_variables"), i);
        snprintf(expected, sizeof expected, "%" PRIu64 " bytes of it: %s %s.\n",
                 NUMBER_AT(v, "size_bytes"), json_string_value(json_object_get(v, "category")),
                 json_string_value(json_object_get(v, "name")));
        assert_contains(run.err, expected);
    }
    snprintf(expected, sizeof expected, "It would fit with --mem-per-tile %" PRIu64, bytes);
    assert_contains(run.err, expected);
    assert_contains(run.err, "More IPUs would not help.\n");
    json_decref(stages);
}

/* Where IPUs differ, the one that is too small is told; and what the costs themselves forbid. */
static void says_what_forbids_a_split(void **state) {
    (void)state;
    uint64_t bytes = evaluated_tile("1", "0");
    char expected[200];
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "--num-ipus=3", "--require=place:1=0",
        "--mem-per-tile=28000,0=27500");
    assert_int_equal(run.status, 1);
    snprintf(expected, sizeof expected,
             "The best effort needs %" PRIu64 " bytes on IPU 0, %" PRIu64
             " above its limit of 27500.\n",
             bytes, bytes - 27500);
    assert_contains(run.err, expected);
}

/* The number behind "It would fit with --mem-per-tile". */
static uint64_t told_to_be_enough(void) {
    static const char words[] = "It would fit with --mem-per-tile ";
    const char *place = strstr(run.err, words);
    assert_non_null(place);
    return strtoull(place + strlen(words), NULL, 10);
}

/* What the log says is enough is enough with the same reserve, and no byte less is. */
static void what_is_enough_holds_the_reserve(void **state) {
    (void)state;
    static const char *const reserves[] = {"0", "1", "12345", "7%", "33.33%", "99.99%", "gaps"};
    for (size_t i = 0; i < sizeof reserves / sizeof *reserves; i++) {
        char memory[30];
        if (!test_takes_case(i, 3))
            continue;
        RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "--num-ipus=2", "--reserve", reserves[i],
            "--mem-per-tile=20000");
        assert_int_equal(run.status, 1);
        uint64_t enough = told_to_be_enough();
        for (uint64_t less = 0; less < 2; less++) {
            snprintf(memory, sizeof memory, "%" PRIu64, enough - less);
            RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "--num-ipus=2", "--reserve", reserves[i],
                "--mem-per-tile", memory);
            assert_int_equal(run.status, less);
        }
    }
}

/* ---- An IPU fewer --------------------------------------------------------------------------- */

/* Told from the answer without the rule: of 195,730 bytes a stage of Head alone saves 18 %. */
static void tells_when_an_ipu_without_a_layer_saves_much(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *ipus;
        bool is_told;
    } cases[] = {
        {"tensorflow-train", "3", true},
        {"tensorflow-train", "2", false},
        {"popart-inf", "3", false},
        {"tensorflow-train", "1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[300];
        char expected[200];
        uint64_t bytes[2];
        size_t ipus = 0;
        snprintf(path, sizeof path, "%s%s", GOLDEN_DIRECTORY, cases[i].name);
        for (size_t least = 0; least < 2; least++) {
            json_t *answer = RUN_JSON(&run, 0, path, "--num-ipus", cases[i].ipus, "--require",
                                      least == 0 ? "layers:0.." : "layers:1..");
            bytes[least] = NUMBER_AT(answer, "totals", "memory");
            ipus = least == 0 ? NUMBER_AT(answer, "totals", "ipus") : ipus;
            json_decref(answer);
            assert_lacks(run.err, "With --require layers:0.."); /* they said what they want */
        }
        double percent = 100.0 * (double)(bytes[1] - bytes[0]) / (double)bytes[1];
        assert_int_equal(percent >= 5, cases[i].is_told);
        snprintf(expected, sizeof expected,
                 "INFO    With --require layers:0.. the peak is %" PRIu64
                 " bytes per tile on %zu IPUs, %.1f %% less.\n",
                 bytes[0], ipus, percent);
        char *out = NULL;
        for (size_t quiet = 0; quiet < 2; quiet++) {
            RUN(&run, path, "--solve", "--num-ipus", cases[i].ipus, quiet > 0 ? "-q" : NULL);
            assert_int_equal(run.status, 0);
            if (quiet == 0 && cases[i].is_told)
                assert_contains(run.err, expected);
            else
                assert_lacks(run.err, "With --require layers:0..");
            if (quiet == 0)
                out = strdup(run.out);
        }
        assert_string_equal(run.out, out);
        free(out);
    }
}

/* What the log has to say of an answer, from one for an IPU fewer. */
static void expect_remark(const char *const *arguments) {
    const char *all[20];
    char number[30];
    char expected[200];
    char change[60] = "less than 0.1 % more";
    size_t count = 0;
    for (size_t i = 0; arguments[i] != NULL; i++)
        if (strcmp(arguments[i], "--num-ipus") == 0)
            i++; /* another number takes its place */
        else
            all[count++] = arguments[i];
    json_t *answer = run_json(&run, 0, arguments);
    char *log = strdup(run.err);
    uint64_t bytes = NUMBER_AT(answer, "totals", "memory");
    size_t used = NUMBER_AT(answer, "totals", "ipus");
    json_decref(answer);
    if (used == 1) {
        assert_lacks(log, "instead of 1 ");
        free(log);
        return;
    }
    snprintf(number, sizeof number, "%zu", used - 1);
    all[count++] = "--num-ipus";
    all[count++] = number;
    all[count++] = "--solve";
    all[count++] = "--format=json";
    all[count] = NULL;
    run_command(&run, all);
    answer = json_loads(run.out, 0, NULL);
    uint64_t more = NUMBER_AT(answer, "totals", "memory") - bytes;
    double percent = 100.0 * (double)more / (double)bytes;
    if (more == 0)
        strcpy(change, "no more");
    else if (percent >= 0.05)
        snprintf(change, sizeof change, "%.1f %% more", percent);
    snprintf(expected, sizeof expected,
             "With %zu IPU%s instead of %zu the peak is %" PRIu64 " bytes per tile, %s.\n",
             used - 1, used == 2 ? "" : "s", used, bytes + more, change);
    if (run.status == 0 && percent < 1) {
        assert_contains(log, expected);
    } else {
        assert_lacks(log, "the peak is");
    }
    json_decref(answer);
    free(log);
}

static void tells_when_an_ipu_fewer_costs_little(void **state) {
    (void)state;
    static const char *const counts[] = {"1", "2", "3", "4", "5", "6"};
    for (size_t i = 0; i < 6; i++)
        for (size_t least = 0; least < 2; least++) {
            const char *const with_layers[] = {CASE_PROFILE, CASE_DEBUG,   "--num-ipus", counts[i],
                                               "--require",  "layers:1..", NULL};
            const char *const without[] = {CASE_PROFILE, CASE_DEBUG,   "--num-ipus", counts[i],
                                           "--require",  "layers:0..", NULL};
            expect_remark(least > 0 ? with_layers : without);
        }
}

/* ---- Sweeps --------------------------------------------------------------------------------- */

/* Whether a row of many has the values of an answer of its own, which may be proven twice. */
static bool has_values_of(const json_t *row, const json_t *answer) {
    json_t *values = json_deep_copy(JSON_AT(answer, "objectives"));
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_t *own = json_array_get(values, i);
        const char *proof = json_string_value(JSON_AT(own, "proof"));
        if (proof != NULL && strcmp(proof, "both_programs") == 0)
            json_object_set_new(own, "proof", json_string("dynamic_program"));
    }
    bool are_equal = json_equal(values, JSON_AT(row, "objectives")) != 0;
    json_decref(values);
    return are_equal;
}

/* Compares a row of a sweep with a run of its own. */
static void check_row(const json_t *row, const char *name, const char *const *others) {
    const char *arguments[20];
    char value[30];
    size_t count = 0;
    for (; others[count] != NULL; count++)
        arguments[count] = others[count];
    snprintf(value, sizeof value, "%" PRIu64, NUMBER_AT(row, "value"));
    arguments[count++] = name;
    arguments[count++] = value;
    arguments[count] = NULL;
    const char *status = json_string_value(JSON_AT(row, "status"));
    json_t *answer = run_json(&run, strcmp(status, "infeasible") == 0 ? 1 : 0, arguments);
    assert_string_equal(json_string_value(JSON_AT(answer, "status")), status);
    assert_true(has_values_of(row, answer));
    assert_true(json_equal(JSON_AT(answer, "totals", "ipus"), JSON_AT(row, "used")));
    const json_t *stages = JSON_AT(answer, "stages");
    assert_int_equal(json_array_size(JSON_AT(row, "stages")), json_array_size(stages));
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *own = json_array_get(stages, i);
        const json_t *told = json_array_get(JSON_AT(row, "stages"), i);
        const char *from = json_string_value(json_object_get(own, "layer_from"));
        assert_true(json_equal(json_object_get(own, "ipu"), json_object_get(told, "ipu")));
        assert_string_equal(json_string_value(json_object_get(told, "from")),
                            from == NULL ? "Head" : from);
    }
    json_decref(answer);
}

static void sweeps_are_runs_of_their_own(void **state) {
    (void)state;
    static const char *const others[] = {SAMPLE_DIRECTORY, "--reserve",   "1000",
                                         "--objective",    "ipus,memory", NULL};
    json_t *sweep = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--reserve", "1000", "--objective",
                             "ipus,memory", "--mem-per-tile", "27000..36000:3000");
    assert_string_equal(json_string_value(JSON_AT(sweep, "sweep")), "mem-per-tile");
    const json_t *rows = JSON_AT(sweep, "results");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(NUMBER_AT(json_array_get(rows, i), "value"), 27000 + 3000 * i);
        check_row(json_array_get(rows, i), "--mem-per-tile", others);
    }
    json_decref(sweep);
    static const char *const training[] = {
        TRAINING_DIRECTORY, "--schedule", "popart", "--mem-per-tile", "200000", PLAIN, NULL};
    sweep = RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--schedule", "popart", "--mem-per-tile",
                     "200000", PLAIN, "--num-ipus", "1..5");
    rows = JSON_AT(sweep, "results");
    assert_int_equal(json_array_size(rows), 5);
    for (size_t i = 0; i < 5; i++)
        check_row(json_array_get(rows, i), "--num-ipus", training);
    json_decref(sweep);
}

/* ---- Best compromises ----------------------------------------------------------------------- */

/* Each point is what --solve finds with less memory than the point before needs; with less than the
 * last one needs it finds nothing. */
static void check_points(const char *list, const char *const *others) {
    const char *arguments[24];
    char memory[30] = "1G";
    size_t count = 0;
    for (; others[count] != NULL; count++)
        arguments[count] = others[count];
    arguments[count] = "--pareto";
    arguments[count + 1] = list;
    arguments[count + 2] = "--mem-per-tile";
    arguments[count + 3] = memory;
    arguments[count + 4] = NULL;
    json_t *points = run_json(&run, 0, arguments);
    assert_contains(run.err, " Pareto-optimal splits of ");
    assert_contains(run.err, "Proven: these are all.\n");
    const json_t *rows = JSON_AT(points, "results");
    assert_true(json_is_true(JSON_AT(points, "complete")));
    assert_true(json_array_size(rows) > 1);
    arguments[count] = "--objective";
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *answer = run_json(&run, 0, arguments);
        assert_true(json_equal(JSON_AT(answer, "status"), JSON_AT(row, "status")));
        assert_true(has_values_of(row, answer));
        assert_true(json_equal(JSON_AT(answer, "totals", "ipus"), JSON_AT(row, "used")));
        assert_int_equal(json_array_size(JSON_AT(answer, "stages")),
                         json_array_size(JSON_AT(row, "stages")));
        snprintf(memory, sizeof memory, "%" PRIu64, NUMBER_AT(answer, "totals", "memory") - 1);
        json_decref(answer);
    }
    json_decref(run_json(&run, 1, arguments));
    json_decref(points);
}

static void best_compromises_are_runs_of_their_own(void **state) {
    (void)state;
    check_points("ipus,memory", (const char *const[]){SAMPLE_DIRECTORY, NULL});
    check_points("traffic,memory,ipus",
                 (const char *const[]){TRAINING_DIRECTORY, "--schedule", "popart", PLAIN, NULL});
    check_points("traffic,memory",
                 (const char *const[]){SAMPLE_DIRECTORY, "--device-map", "0,1,0,1", "--require",
                                       "layers:0..", NULL});
    check_points("traffic,memory", (const char *const[]){REGIONS, NULL});
}

/* ---- Written programs ----------------------------------------------------------------------- */

#ifdef TEST_WITH_GLPK
static double solve_file(const char *path, bool is_mps) {
    glp_prob *program = glp_create_prob();
    glp_iocp options;
    glp_term_out(GLP_OFF);
    assert_int_equal(is_mps ? glp_read_mps(program, GLP_MPS_FILE, NULL, path)
                            : glp_read_lp(program, NULL, path),
                     0);
    glp_init_iocp(&options);
    options.presolve = GLP_ON;
    options.msg_lev = GLP_MSG_OFF;
    assert_int_equal(glp_intopt(program, &options), 0);
    assert_int_equal(glp_mip_status(program), GLP_OPT);
    double value = glp_mip_obj_val(program);
    glp_delete_prob(program);
    glp_free_env();
    return value;
}
#else
static double solve_file(const char *path, bool is_mps) {
    fail_msg("no GLPK for %s (%d)", path, is_mps);
    return 0.0;
}
#endif

/* cmocka's own comparison takes floats, of which the costs in bytes and cycles need more digits. */
static void assert_near(double number, double expected, double tolerance) {
    if (!(fabs(number - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", number, tolerance, expected);
}

static void written_programs_have_the_same_optimum(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    static const char *const objectives[] = {"memory", "cycles", "traffic", "ipus"};
    static const char *const questions[][10] = {
        {SAMPLE_DIRECTORY, "--num-ipus", "3", NULL},
        {SAMPLE_DIRECTORY, "--mem-per-tile", "28000", "--require", "cut:0", NULL},
        {SAMPLE_DIRECTORY, "--device-map", "0,1,2", NULL},
        {REGIONS, "--num-ipus", "3", NULL},
        {INTERVALS, NULL},
    };
    char *lp = strdup(in_scratch("program.lp"));
    char *mps = strdup(in_scratch("program.mps"));
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        for (size_t k = 0; k < sizeof objectives / sizeof *objectives; k++) {
            const char *arguments[20];
            size_t count = 0;
            if (!test_takes_case(4 * i + k, 3))
                continue;
            for (; questions[i][count] != NULL; count++)
                arguments[count] = questions[i][count];
            const char *const more[] = {
                "--objective", objectives[k],           "--output", output_into("lp", lp),
                "--output",    output_into("mps", mps), NULL};
            memcpy(arguments + count, more, sizeof more);
            json_t *answer = run_json(&run, 0, arguments);
            double value = (double)NUMBER_AT(answer, "objectives", "0", "value");
            assert_near(solve_file(lp, false), value, 1e-6 * value + 1e-6);
            assert_near(solve_file(mps, true), value, 1e-6 * value + 1e-6);
            json_decref(answer);
        }
    /* each stage of another size of IPU has costs of its own; times are in billionths of a
     * millisecond there */
    static const char *const maps[][3] = {{NULL}, {"--device-map", "0,1,2", NULL}};
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = RUN_JSON(&run, 0, ADDITIVE, "--objective", "cycles", "--output",
                                  output_into("lp", lp), maps[i][0], maps[i][1]);
        assert_near(solve_file(lp, false) / 1e9,
                    json_real_value(JSON_AT(answer, "totals", "cycles")), 1e-6);
        json_decref(answer);
    }
    free(lp);
    free(mps);
}

/* ---- Stopping ------------------------------------------------------------------------------- */

enum { NUM_BIG_UNITS = 6000, NUM_LONG_UNITS = 100, MOST_BIG_IPUS = 12 };

/* Writes a file of costs that takes long to be solved: a longer stage may have fewer cycles. */
static void write_big(const char *path, size_t num_units, uint64_t memory[NUM_BIG_UNITS]) {
    json_t *units = json_array();
    json_t *cut_cycles = json_array();
    for (size_t i = 0; i < num_units; i++) {
        char name[30];
        snprintf(name, sizeof name, "u%zu", i);
        memory[i] = 100 + draw(99900);
        json_array_append_new(
            units, json_pack("{s:s, s:I}", "name", name, "memory", (json_int_t)memory[i]));
        if (i > 0)
            json_array_append_new(cut_cycles, json_integer((json_int_t)draw(1000)));
    }
    json_t *file = json_pack("{s:s, s:i, s:o, s:o}", "format", "popliner-costs", "version", 1,
                             "units", units, "cut_cycles", cut_cycles);
    assert_int_equal(json_dump_file(file, path, 0), 0);
    json_decref(file);
}

/* A stopped answer is a split within the limits whose numbers are its own, with a bound. */
static void check_stopped(const json_t *answer, size_t num_ipus, size_t num_units,
                          const uint64_t *memory) {
    const json_t *stages = JSON_AT(answer, "stages");
    uint64_t bytes[MOST_BIG_IPUS] = {0};
    size_t unit = 0;
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    assert_string_equal(json_string_value(JSON_AT(answer, "status")), "feasible");
    assert_true(json_is_true(JSON_AT(answer, "stopped")));
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        uint64_t *sum = &bytes[NUMBER_AT(stage, "ipu")];
        for (size_t k = 0; k < json_array_size(JSON_AT(stage, "layers")); k++)
            *sum += memory[unit++];
    }
    assert_int_equal(unit, num_units);
    for (size_t i = 0; i < json_array_size(stages); i++)
        assert_int_equal(NUMBER_AT(json_array_get(stages, i), "mem", "max_tile_mem"),
                         bytes[NUMBER_AT(json_array_get(stages, i), "ipu")]);
    for (size_t ipu = 0; ipu < num_ipus; ipu++) {
        most = bytes[ipu] > most ? bytes[ipu] : most;
        least = bytes[ipu] < least ? bytes[ipu] : least;
    }
    assert_int_equal(NUMBER_AT(answer, "totals", "memory"), most);
    assert_int_equal(NUMBER_AT(answer, "totals", "balance"), most - least);
    const json_t *objective = JSON_AT(answer, "objectives", "0");
    const char *name = json_string_value(JSON_AT(objective, "name"));
    assert_int_equal(NUMBER_AT(objective, "value"),
                     strcmp(name, "balance") == 0 ? most - least : most);
    assert_true(NUMBER_AT(objective, "bound") <= NUMBER_AT(objective, "value"));
}

static void stops_when_interrupted(void **state) {
    (void)state;
    /* the spread by the dynamic program, window by window; shared IPUs by sweeps */
    static const struct {
        const char *objective;
        const char *map;
        size_t num_ipus;
        size_t num_units;
        int signal_number;
    } cases[] = {{"balance,cycles", "0,1,2,3,4,5,6,7,8,9,10,11", 12, NUM_BIG_UNITS, SIGINT},
                 {"memory", "0,1,2,3,0,1,2,3,0,1,2,3", 4, NUM_LONG_UNITS, SIGTERM}};
    static uint64_t memory[NUM_BIG_UNITS];
    char complaint[SCHEMA_COMPLAINT_SIZE];
    char *path = strdup(in_scratch("big.json"));
    for (size_t i = 0; i < 2; i++) {
        if (!test_takes_case(i, 2))
            continue;
        write_big(path, cases[i].num_units, memory);
        const char *const arguments[] = {
            path,           "--solve",    "--objective", cases[i].objective,
            "--device-map", cases[i].map, "--format",    "json",
            "-v",           NULL};
        run_command_interrupted(&run, cases[i].signal_number, "Reading the costs", 1, arguments);
        assert_int_equal(run.status, 0);
        json_t *answer = json_loads(run.out, 0, NULL);
        assert_true(certificate_schema_accepts("answer", answer, complaint));
        check_stopped(answer, cases[i].num_ipus, cases[i].num_units, memory);
        assert_contains(run.err, "Stopped before the proof: ");
        json_decref(answer);
    }
    free(path);
}

/* What is known of the best compromises by then: those of the fewest IPUs. */
static void tells_the_compromises_that_are_known(void **state) {
    (void)state;
    static uint64_t memory[NUM_BIG_UNITS];
    char complaint[SCHEMA_COMPLAINT_SIZE];
    const char *path = in_scratch("big.json");
    write_big(path, NUM_BIG_UNITS, memory);
    const char *const arguments[] = {path,   "--solve",  "--pareto", "ipus,memory", "--num-ipus",
                                     "1500", "--format", "json",     "-v",          NULL};
    run_command_interrupted(&run, SIGINT, "Reading the costs", 0.1, arguments);
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "WARNING Stopped: there may be more than these ");
    json_t *answer = json_loads(run.out, 0, NULL);
    assert_true(certificate_schema_accepts("pareto", answer, complaint));
    assert_true(json_is_false(JSON_AT(answer, "complete")));
    const json_t *rows = JSON_AT(answer, "results");
    uint64_t most_bytes = UINT64_MAX;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool is_last = i + 1 == json_array_size(rows);
        uint64_t bytes = NUMBER_AT(row, "objectives", "1", "value");
        if (!is_last)
            assert_string_equal(json_string_value(JSON_AT(row, "status")), "optimal");
        assert_true(bytes < most_bytes);
        assert_true(NUMBER_AT(row, "used") >= i + 1);
        most_bytes = bytes;
    }
    json_decref(answer);
}

static void stops_when_time_is_up(void **state) {
    (void)state;
    static uint64_t memory[NUM_BIG_UNITS];
    const char *path = in_scratch("big.json");
    write_big(path, NUM_LONG_UNITS, memory);
    json_t *answer = RUN_JSON(&run, 0, path, "--objective", "memory,traffic",
                              "--device-map=interleaved:3", "--num-ipus=4", "--time-limit=0.5");
    check_stopped(answer, 4, NUM_LONG_UNITS, memory);
    assert_true(json_real_value(JSON_AT(answer, "options", "time_limit_seconds")) == 0.5);
    json_decref(answer);
    answer = RUN_JSON(&run, 1, path, "--num-ipus", "12", "--time-limit", "0.000001");
    assert_string_equal(json_string_value(JSON_AT(answer, "infeasibility", "reason")), "unknown");
    assert_int_equal(json_array_size(JSON_AT(answer, "stages")), 0);
    assert_contains(run.err, "Stopped before any split within the limits was found.\n");
    json_decref(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_of_each_objective),
        cmocka_unit_test(gives_away_what_slack_allows),
        cmocka_unit_test(keeps_to_memory),
        cmocka_unit_test(keeps_to_the_memory_of_single_ipus),
        SCRATCH_TEST(links_of_profiles_are_told_anew),
        cmocka_unit_test(keeps_to_numbers_of_layers),
        cmocka_unit_test(keeps_to_cuts),
        cmocka_unit_test(keeps_layers_together),
        cmocka_unit_test(places_layers),
        cmocka_unit_test(follows_device_maps),
        cmocka_unit_test(stages_on_one_ipu_need_their_union),
        cmocka_unit_test(answers_any_question_as_brute_force_does),
        cmocka_unit_test(is_right_for_every_golden_case),
        cmocka_unit_test(training_keeps_activations),
        cmocka_unit_test(training_splits_are_best),
        cmocka_unit_test(tells_how_much_a_unit_keeps),
        cmocka_unit_test(answers_for_files_as_brute_force_does),
        cmocka_unit_test(solves_published_graphs),
        cmocka_unit_test(solvers_agree_on_published_graphs),
        cmocka_unit_test(says_why_nothing_fits),
        cmocka_unit_test(tells_when_an_ipu_without_a_layer_saves_much),
        SCRATCH_TEST(says_what_forbids_a_split),
        cmocka_unit_test(what_is_enough_holds_the_reserve),
        SCRATCH_TEST(tells_when_an_ipu_fewer_costs_little),
        cmocka_unit_test(sweeps_are_runs_of_their_own),
        cmocka_unit_test(best_compromises_are_runs_of_their_own),
        SCRATCH_TEST(written_programs_have_the_same_optimum),
        SCRATCH_TEST(stops_when_interrupted),
        SCRATCH_TEST(tells_the_compromises_that_are_known),
        SCRATCH_TEST(stops_when_time_is_up),
    };
    return cmocka_run_group_tests(tests, measure_sample, free_sample);
}
