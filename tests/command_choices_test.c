/* What the command chooses beside the cuts, and what it takes for it: copies by place, what is
 * recomputed, numbers of stages and replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"

#include <stdio.h>
#include <string.h>

#include "json_schema.h"

#define SAMPLE_DIRECTORY PROJECT_DIRECTORY "/data/sample"
#define TRAINING_DIRECTORY GOLDEN_DIRECTORY "popart-train"
#define REGIONS PROJECT_DIRECTORY "/data/costs/regions.json"

static command_run run;

/* ---- Copies --------------------------------------------------------------------------------- */

/* Two ways to ask for the same have the same stages, whatever they are called. Copies of one's own
 * count for each need, those of popart one fewer at least. */
static void forget_least(json_t *answer) {
    size_t i;
    json_t *stage;
    json_object_del(json_object_get(answer, "totals"), "step"); /* where micro-batches are told */
    json_array_foreach(json_object_get(answer, "stages"), i, stage) {
        json_t *mem = json_object_get(stage, "mem");
        json_object_del(json_object_get(stage, "needs"), "at_least_bytes");
        if (json_integer_value(json_object_get(mem, "stash")) == 0) /* it may not be there */
            json_object_del(mem, "stash");
    }
}

static void assert_same_stages(const char *const *these, const char *const *others) {
    json_t *a = run_json(&run, 0, these);
    json_t *b = run_json(&run, 0, others);
    forget_least(a);
    forget_least(b);
    assert_true(json_equal(json_object_get(a, "stages"), json_object_get(b, "stages")));
    assert_true(json_equal(json_object_get(a, "totals"), json_object_get(b, "totals")));
    json_decref(a);
    json_decref(b);
}
#define ASSERT_SAME_STAGES(these, ...)                                                             \
    assert_same_stages(these, (const char *const[]){__VA_ARGS__, NULL})
#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void copies_of_a_profile_are_those_of_schedules(void **state) {
    (void)state;
    ASSERT_SAME_STAGES(ARGUMENTS(TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule", "popart"),
                       TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule", "popart:0,3,5,...");
    ASSERT_SAME_STAGES(ARGUMENTS(TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule",
                                 "tf-interleaved", "--recompute", "full"),
                       TRAINING_DIRECTORY, "--num-ipus", "3", "--recompute", "full", "--schedule",
                       "1f1b");
    ASSERT_SAME_STAGES(
        ARGUMENTS(TRAINING_DIRECTORY, "--device-map", "0,1,0", "--schedule", "tf-interleaved"),
        TRAINING_DIRECTORY, "--device-map", "0,1,0", "--schedule", "none:0,1,2");
    ASSERT_SAME_STAGES(ARGUMENTS(TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule", "sequential"),
                       TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule", "gpipe",
                       "--micro-batches", "1");
    /* more than any schedule keeps */
    ASSERT_SAME_STAGES(ARGUMENTS(TRAINING_DIRECTORY, "--num-ipus", "2", "--schedule", "none:20",
                                 "--mem-per-tile", "10M"),
                       TRAINING_DIRECTORY, "--num-ipus", "2", "--schedule", "gpipe",
                       "--micro-batches", "21", "--mem-per-tile", "10M");
}

/* A stored analysis is measured anew where it has not as many copies. */
static void copies_of_a_stored_analysis_are_the_same(void **state) {
    (void)state;
    static const char *const copies[] = {"1f1b", "none:0,3,5,...", "none:40"};
    const char *file = in_scratch("stored");
    RUN(&run, TRAINING_DIRECTORY, "-q", "--save-to-file", file);
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < 3; i++)
        ASSERT_SAME_STAGES(ARGUMENTS(file, "--load-from-file", "--num-ipus", "3", "--schedule",
                                     copies[i], "--mem-per-tile", "10M"),
                           TRAINING_DIRECTORY, "--num-ipus", "3", "--schedule", copies[i],
                           "--mem-per-tile", "10M");
}

/* Of regions.json: tile 0 of a + b and c + d, tile 1 likewise, and what they keep. */
static void copies_of_a_file_are_counted(void **state) {
    (void)state;
    json_t *answer =
        RUN_JSON(&run, 0, REGIONS, "--num-ipus", "2", "--require", "cut:b", "--require", "no-cut:a",
                 "--schedule", "none:1,4", "--mem-per-tile", "10K");
    /* b alone shares 70 and 30; d or a alone 25: 395 + 18 * 4 = 467 and 405 + 4 * 4 = 421;
     * 305 + 10 and 805 + 20 */
    assert_int_equal(NUMBER_AT(answer, "stages", "0", "mem", "max_tile_mem"), 467);
    assert_int_equal(NUMBER_AT(answer, "stages", "1", "mem", "max_tile_mem"), 825);
    assert_int_equal(NUMBER_AT(answer, "options", "copies", "0"), 1);
    assert_int_equal(NUMBER_AT(answer, "options", "copies", "1"), 4);
    json_decref(answer);
    answer = RUN_JSON(&run, 0, REGIONS, "--mem-per-tile", "10K");
    assert_true(json_is_null(JSON_AT(answer, "options", "copies")));
    json_decref(answer);
    /* a list is for no more stages than it has */
    answer = RUN_JSON(&run, 0, REGIONS, "--schedule", "none:1,4", "--mem-per-tile", "10K");
    assert_int_equal(NUMBER_AT(answer, "options", "num_ipus"), 2);
    json_decref(answer);
}

static void copies_that_lack_something_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *arguments[8];
        const char *message;
    } cases[] = {
        {{"--schedule", "none:1f1c"}, "--schedule none:1f1c: expected 1f1b, gpipe"},
        {{"--schedule", "gpipe"},
         "--schedule gpipe: every micro-batch of a step is kept; give --micro"},
        {{"--schedule", "interleaved", "--num-ipus", "4"},
         "--schedule interleaved: needs a --device-map with as many stages"},
        {{"--schedule", "interleaved", "--device-map", "0,1,0"},
         "needs a --device-map with as many stages"},
        {{"--schedule", "none:0,1", "--num-ipus", "3"},
         "is for 2 stages, but up to 3 stages are requested"},
        {{"--schedule", "none:0,1", "--device-map", "0,1,0"},
         "is for 2 stages, but 3 stages are requested"},
        {{"--schedule", "1f1b:0"},
         "--schedule 1f1b:0: 1f1b takes no copies; write 1f1b+N, or none:N"},
        {{"--schedule", "inference:0,1"}, "needs a --schedule that keeps activations, like popart"},
        {{"--schedule", "1f1b", "--solver", "popliner"}, "--schedule: not with --solver popliner"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[12] = {NULL};
        bool is_greedy = i + 1 == sizeof cases / sizeof *cases;
        size_t count = 0;
        arguments[count++] = is_greedy ? TRAINING_DIRECTORY : REGIONS;
        arguments[count++] = "--solve";
        for (size_t k = 0; cases[i].arguments[k] != NULL; k++)
            arguments[count++] = cases[i].arguments[k];
        arguments[count] = NULL;
        run_command(&run, arguments);
        assert_refused(&run, 2, cases[i].message);
    }
    RUN(&run, TRAINING_DIRECTORY, "-q", "--evaluate", "0,1", "--schedule", "none:0,1");
    assert_refused(&run, 2, "is for 2 stages, but --evaluate 0,1 has 3");
    RUN(&run, TRAINING_DIRECTORY, "-q", "--evaluate", "0,1", "--schedule", "zero-bubble");
    assert_int_equal(run.status, 0);
    /* a profile without training stores nothing, however many stages there are */
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "--device-map", "0,1,2", "--schedule",
        "zero-bubble");
    assert_int_equal(run.status, 0);
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--solve", "-n", "1", "--device-map", "interleaved:3",
        "--schedule", "interleaved");
    assert_int_equal(run.status, 0);
}

/* ---- What is recomputed --------------------------------------------------------------------- */

#define LAYER(name, cycles)                                                                        \
    "{\"name\": \"" name "\", \"memory\": 100, \"cycles\": " cycles ", \"stash\": 40, "            \
    "\"inputs\": 5, \"recompute_cycles\": 33, \"variants\": [{\"name\": \"half\", \"stash\": 20, " \
    "\"cycles\": 115.5}]}"

static const char *four_layers(void) {
    const char *path = in_scratch("layers.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(
        "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [" LAYER(
            "a",
            "100") ", " LAYER("b",
                              "90") ", " LAYER("c",
                                               "110") ", " LAYER("d",
                                                                 "100.5") "], \"cuts\": [1, 2, 3]}",
        file);
    fclose(file);
    return path;
}

/* Two stages a b and c d: the last one holds what it recomputed of both micro-batches, of 80 bytes
 * each, until their weight passes; with 1f1b only the first one keeps the inputs of one more. */
static void what_is_recomputed_stays_for_the_weights(void **state) {
    static const struct {
        const char *schedule;
        const char *recompute;
        int memory;
    } cases[] = {{"zero-bubble+1", "none", 360}, {"zero-bubble+1", "full", 360},
                 {"zero-bubble+1", "auto", 360}, {"zero-bubble", "full", 280},
                 {"zero-bubble", "auto", 280},   {"1f1b+1", "full", 285}};
    (void)state;
    const char *path = four_layers();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *answer =
            RUN_JSON(&run, 0, path, "--num-ipus", "2", "--require", "cut:b", "--recompute",
                     cases[i].recompute, "--schedule", cases[i].schedule);
        assert_int_equal(NUMBER_AT(answer, "totals", "memory"), cases[i].memory);
        json_decref(answer);
    }
    RUN(&run, "-q", path, "--solve", "--num-ipus", "2", "--require", "cut:b", "--recompute", "auto",
        "--schedule", "zero-bubble+1", "--mem-per-tile", "359");
    assert_int_equal(run.status, 1);
    static const char *const ways[] = {"none", "standard", "full"};
    double bytes[3];
    for (size_t i = 0; i < 3; i++) {
        json_t *answer =
            RUN_JSON(&run, 0, TRAINING_DIRECTORY, "--num-ipus", "3", "--require", "cut:0,1",
                     "--recompute", ways[i], "--schedule", "zero-bubble", "--mem-per-tile", "1G");
        bytes[i] = (double)NUMBER_AT(answer, "totals", "memory");
        json_decref(answer);
    }
    assert_true(bytes[1] >= bytes[0] && bytes[2] >= bytes[0]);
}

/* Two stages a b and c d, y copies y stages from the end. With 310 bytes the first one has 110 for
 * two copies: 40 at most, which is both halves; the second may be as it is. With 280 the first one
 * is the same, with 270 it has to recompute all. */
static void stages_choose_what_they_recompute(void **state) {
    (void)state;
    const char *path = four_layers();
    RUN(&run, "-q", path, "--solve", "--num-ipus", "2", "--recompute", "auto", "--schedule",
        "none:1,2", "--objective", "cycles", "--mem-per-tile", "310");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "stage\tipu\tfrom\tto\tmemory\tcycles\tcut\trecompute\n"
                                 "0\t0\ta\tb\t280\t231.000000\t2\ta=half,b=half\n"
                                 "1\t1\tc\td\t280\t210.500000\t0\tnone\n");
    json_t *answer = RUN_JSON(&run, 0, path, "--num-ipus", "2", "--recompute", "auto", "--schedule",
                              "none:1,2", "--objective", "memory,cycles");
    assert_int_equal(NUMBER_AT(answer, "totals", "memory"), 210);
    assert_string_equal(json_string_value(JSON_AT(answer, "stages", "0", "recompute")), "full");
    assert_string_equal(json_string_value(JSON_AT(answer, "options", "recompute")), "auto");
    json_decref(answer);
    answer = RUN_JSON(&run, 0, path, "--num-ipus", "2", "--recompute", "auto", "--schedule",
                      "none:1,2", "--objective", "cycles", "--mem-per-tile", "270..310:40");
    static const char *const chosen[] = {"full", "a=half,b=half"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(JSON_AT(answer, "results"), i);
        assert_string_equal(json_string_value(JSON_AT(row, "stages", "0", "recompute")), chosen[i]);
        assert_true(json_number_value(JSON_AT(row, "objectives", "0", "value")) ==
                    (i == 0 ? 256 : 231));
    }
    json_decref(answer);
    /* all or nothing for all: 256 and 276.5 cycles */
    answer = RUN_JSON(&run, 0, path, "--num-ipus", "2", "--recompute", "full", "--schedule",
                      "none:1,2", "--mem-per-tile", "270", "--objective", "cycles");
    assert_true(json_number_value(JSON_AT(answer, "totals", "cycles")) == 276.5);
    json_decref(answer);
    RUN(&run, "-q", path, "--solve", "--num-ipus", "2", "--recompute", "auto", "--schedule",
        "none:1,2", "--mem-per-tile", "200");
    assert_int_equal(run.status, 1);

    static const struct {
        const char *arguments[4];
        const char *message;
    } cases[] = {
        {{"--objective", "cycles,balance"},
         "--objective cycles,balance: not with --recompute auto, which chooses without it"},
        {{"--pareto", "memory,balance"}, "--pareto balance: not with --recompute auto"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RUN(&run, path, "-q", "--solve", "--recompute", "auto", cases[i].arguments[0],
            cases[i].arguments[1]);
        assert_refused(&run, 2, cases[i].message);
    }
    RUN(&run, TRAINING_DIRECTORY, "--solve", "--recompute", "auto");
    assert_refused(&run, 2,
                   "--recompute auto: needs a --schedule that keeps activations, like popart");
    RUN(&run, path, "--solve", "--recompute", "auto:none,full");
    assert_refused(&run, 2,
                   "--recompute auto:none,full: not with a file of costs, which says what to");
    RUN(&run, path, "--solve", "--objective", "headroom");
    assert_refused(&run, 2,
                   "--objective headroom: headroom needs a limit of each IPU; give --mem-per-tile");
    RUN(&run, path, "--solve", "--objective", "throughput,headroom", "--total-ipus=2",
        "--micro-batches=2", "--mem-per-tile=1M");
    assert_refused(&run, 2, "--objective throughput,headroom: headroom is not with --total-ipus");
    static const struct {
        const char *action;
        const char *recompute;
        const char *message;
    } of_profiles[] = {
        {"--solve", "auto", "the profile has no cycles of computing, so what recomputing costs"},
        {"--solve", "auto:standard,full", "the profile has no cycles of computing"},
        {"--solve", "auto:none,fulls", "expected one of none, standard, full, auto"},
        {"--solve", "none,full", "one for each stage is for --evaluate alone"},
        {"--evaluate=0", "auto",
         "the profile has no cycles of computing, so what recomputing costs"},
        {"--evaluate=0", "none,full,full", "is for 3 stages, but --evaluate 0 has 2"},
        {"--evaluate=0", "none,auto", "expected one of none, standard, full, auto"},
    };
    for (size_t i = 0; i < sizeof of_profiles / sizeof *of_profiles; i++) {
        RUN(&run, TRAINING_DIRECTORY, "-q", of_profiles[i].action, "--recompute",
            of_profiles[i].recompute, "--schedule", "popart");
        assert_refused(&run, 2, of_profiles[i].message);
    }
    RUN(&run, REGIONS, "--solve", "--recompute", "auto");
    assert_refused(&run, 3, "stages choose how they recompute for one region");
}

/* Each stage of a given split may be told what it recomputes: it needs what it needs with that. */
static void given_stages_recompute_what_is_said(void **state) {
    static const char *const ways[] = {"none", "full", "none,full", "full,none"};
    json_t *answers[4];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        RUN(&run, TRAINING_DIRECTORY, "-q", "--evaluate", "0", "--schedule", "popart:1,2",
            "--recompute", ways[i], "--format", "json");
        assert_int_equal(run.status, 0);
        answers[i] = json_loads(run.out, 0, NULL);
        assert_non_null(answers[i]);
    }
    assert_null(json_object_get(JSON_AT(answers[0], "0"), "recompute"));
    assert_string_equal(json_string_value(JSON_AT(answers[2], "1", "recompute")), "full");
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 2; i < 4; i++) {
            const char *place = stage == 0 ? "0" : "1";
            const json_t *same = answers[(i == 2) == (stage == 0) ? 0 : 1];
            const json_t *other = answers[(i == 2) == (stage == 0) ? 1 : 0];
            assert_true(NUMBER_AT(answers[i], place, "tile_bytes") ==
                        NUMBER_AT(same, place, "tile_bytes"));
            assert_true(NUMBER_AT(answers[i], place, "tile_bytes") !=
                        NUMBER_AT(other, place, "tile_bytes"));
        }
    for (size_t i = 0; i < 4; i++)
        json_decref(answers[i]);
}

/* ---- Replicas ------------------------------------------------------------------------------- */

#define PIPELINE                                                                                   \
    "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["                                \
    "{\"name\": \"a\", \"memory\": 100, \"cycles\": 100, \"stash\": 10, \"parameters\": 60},"      \
    "{\"name\": \"b\", \"memory\": 100, \"cycles\": 90, \"stash\": 10, \"parameters\": 60},"       \
    "{\"name\": \"c\", \"memory\": 100, \"cycles\": 110, \"stash\": 10, \"parameters\": 60},"      \
    "{\"name\": \"d\", \"memory\": 100, \"cycles\": 100.5, \"stash\": 10, \"parameters\": 60}]}"

static const char *write_pipeline(void) {
    const char *path = in_scratch("pipeline.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(PIPELINE, file);
    fclose(file);
    return path;
}

/* By hand: one stage takes 400.5, two 210.5, three 190 (a b | c | d) and four 110 cycles. The steps
 * are those of plain_solver.py. */
static void replicas_are_chosen_with_stages(void **state) {
    (void)state;
    const char *path = write_pipeline();
    RUN(&run, "-q", path, "--solve", "--total-ipus", "4", "--batch", "8");
    assert_int_equal(run.status, 0);
    assert_string_equal(
        run.out, "stages\treplicas\tipus\tstatus\tbest\tmicro_batches\tparameters\tcycles\t"
                 "pipeline_cycles\tall_reduce\tstep_cycles\tthroughput\tidle_share\tgap\tsplit\n"
                 "1\t4\t4\toptimal\tyes\t2\t240\t400.500000\t801.000000\t0.000000\t801.000000\t"
                 "0.00998751561\t0.0000\t0.0000\t[ a b c d ]\n"
                 "2\t2\t4\toptimal\tno\t4\t120\t210.500000\t1032.000000\t0.000000\t1032.000000\t"
                 "0.00775193798\t0.2238\t0.0000\t[ a b | c d ]\n"
                 "3\t1\t3\toptimal\tno\t8\t120\t190.000000\t1603.833333\t0.000000\t1603.833333\t"
                 "0.00498804946\t0.3341\t0.0000\t[ a b | c | d ]\n"
                 "4\t1\t4\toptimal\tno\t8\t60\t110.000000\t1161.000000\t0.000000\t1161.000000\t"
                 "0.00689061154\t0.3101\t0.0000\t[ a | b | c | d ]\n");
    /* 2 * 3 / 4 * 240 bytes at 0.8 in a cycle: 450; 2 * 1 / 2 * 120 at 0.8: 150 */
    RUN(&run, "-q", path, "--solve", "--total-ipus", "4", "--batch", "16/2", "--bandwidth",
        "replicas=0.8", "--format", "json");
    assert_int_equal(run.status, 0);
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("replicas", answer, complaint))
        fail_msg("%s", complaint);
    assert_int_equal(NUMBER_AT(answer, "best"), 3);
    static const char *const places[] = {"0", "1"};
    static const double reduce_cycles[] = {450, 150};
    for (size_t i = 0; i < 2; i++)
        assert_true(json_number_value(JSON_AT(answer, "candidates", places[i],
                                              "all_reduce_cycles")) == reduce_cycles[i]);
    json_decref(answer);
    /* copies follow the micro-batches: 200 + 7 * 20 of GPipe are too much, 100 + 7 * 10 are not */
    RUN(&run, "-q", path, "--solve", "--total-ipus", "4", "--batch", "8", "--schedule", "gpipe",
        "--mem-per-tile", "250", "--format", "csv", "--objective", "throughput,memory");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\n1,0,0,infeasible,no,,,,,,,,,,\n");
    assert_contains(run.out, "\n4,1,4,optimal,yes,8,60,");
}

/* By hand: four stages need 100 bytes each, two 200, and one 400; the throughputs are above. */
static void a_range_of_memory_has_the_best_replicas(void **state) {
    (void)state;
    const char *path = write_pipeline();
    RUN(&run, "-q", path, "--total-ipus", "4", "--batch", "8", "--mem-per-tile", "50..450:100");
    assert_int_equal(run.status, 0);
    assert_string_equal(
        run.out, "mem-per-tile\tstages\treplicas\tipus\tstatus\tmicro_batches\tparameters\tcycles\t"
                 "pipeline_cycles\tall_reduce\tstep_cycles\tthroughput\tidle_share\tgap\tsplit\n"
                 "50\t0\t0\t0\tinfeasible\t\t\t\t\t\t\t\t\t\t\n"
                 "150\t4\t1\t4\toptimal\t8\t60\t110.000000\t1161.000000\t0.000000\t1161.000000\t"
                 "0.00689061154\t0.3101\t0.0000\t[ a | b | c | d ]\n"
                 "250\t2\t2\t4\toptimal\t4\t120\t210.500000\t1032.000000\t0.000000\t1032.000000\t"
                 "0.00775193798\t0.2238\t0.0000\t[ a b | c d ]\n"
                 "350\t2\t2\t4\toptimal\t4\t120\t210.500000\t1032.000000\t0.000000\t1032.000000\t"
                 "0.00775193798\t0.2238\t0.0000\t[ a b | c d ]\n"
                 "450\t1\t4\t4\toptimal\t2\t240\t400.500000\t801.000000\t0.000000\t801.000000\t"
                 "0.00998751561\t0.0000\t0.0000\t[ a b c d ]\n");
    RUN(&run, "-q", path, "--total-ipus", "4", "--batch", "8", "--mem-per-tile", "50..450:100",
        "--format", "text");
    assert_contains(run.out, "The first that fits: --mem-per-tile 150.\n");
    assert_contains(run.out, "\n>   150        4          1  1,161 ");
    RUN(&run, "-q", path, "--total-ipus", "4", "--batch", "8", "--mem-per-tile", "50..450:100",
        "--format", "json");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("sweep_of_replicas", answer, complaint))
        fail_msg("%s", complaint);
    assert_true(json_is_null(JSON_AT(answer, "results", "0", "best")));
    assert_int_equal(NUMBER_AT(answer, "results", "1", "best", "stages"), 4);
    json_decref(answer);
    RUN(&run, "-q", path, "--total-ipus", "4", "--batch", "8", "--mem-per-tile", "50..90:20");
    assert_int_equal(run.status, 1);
    RUN(&run, "-q", SAMPLE_DIRECTORY, "--total-ipus", "4", "--batch", "8", "--mem-per-tile",
        "20000..60000:20000", "--format", "json");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\"value\": 60000,");
}

/* By hand, as above: three stages have as much memory as two, and less throughput. */
static void a_front_has_the_best_replicas_for_less_memory(void **state) {
    (void)state;
    const char *path = write_pipeline();
    RUN(&run, path, "--total-ipus", "4", "--batch", "8", "--pareto", "throughput,memory");
    assert_int_equal(run.status, 0);
    assert_string_equal(
        run.out, "memory\tstages\treplicas\tipus\tstatus\tmicro_batches\tparameters\tcycles\t"
                 "pipeline_cycles\tall_reduce\tstep_cycles\tthroughput\tidle_share\tgap\tsplit\n"
                 "400\t1\t4\t4\toptimal\t2\t240\t400.500000\t801.000000\t0.000000\t801.000000\t"
                 "0.00998751561\t0.0000\t0.0000\t[ a b c d ]\n"
                 "200\t2\t2\t4\toptimal\t4\t120\t210.500000\t1032.000000\t0.000000\t1032.000000\t"
                 "0.00775193798\t0.2238\t0.0000\t[ a b | c d ]\n"
                 "100\t4\t1\t4\toptimal\t8\t60\t110.000000\t1161.000000\t0.000000\t1161.000000\t"
                 "0.00689061154\t0.3101\t0.0000\t[ a | b | c | d ]\n");
    assert_contains(run.err, "SUCCESS: 3 Pareto-optimal splits of throughput and memory. Proven: ");
    RUN(&run, "-q", path, "--total-ipus", "4", "--batch", "8", "--pareto", "throughput,memory",
        "--format", "json");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("pareto_of_replicas", answer, complaint))
        fail_msg("%s", complaint);
    assert_true(json_is_true(JSON_AT(answer, "complete")));
    assert_int_equal(NUMBER_AT(answer, "results", "2", "memory"), 100);
    json_decref(answer);
    RUN(&run, path, "--total-ipus", "4", "--batch", "8", "--pareto", "throughput,memory",
        "--mem-per-tile", "50");
    assert_int_equal(run.status, 1);
    assert_true(strchr(run.out, '\n') == NULL || strchr(run.out, '\n')[1] == '\0');
    assert_contains(run.err, "It would fit with --mem-per-tile 100.");
    static const char *const others[] = {"memory,throughput", "throughput", "memory,cycles",
                                         "throughput,traffic"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        RUN(&run, path, "--total-ipus", "4", "--batch", "8", "--pareto", others[i]);
        assert_int_equal(run.status, 2);
        assert_contains(run.err,
                        ": with --total-ipus the first one is throughput; give throughput,memory");
    }
}

/* By hand, with two chunks on each of S IPUs: the slowest of them takes 210 or 400.5; the
 * steps are those of plain_solver.py. */
static void replicas_may_be_interleaved(void **state) {
    (void)state;
    const char *path = write_pipeline();
    RUN(&run, "-q", path, "--solve", "--total-ipus", "2", "--batch", "2", "--device-map",
        "interleaved:2", "--bandwidth", "replicas=2", "--format", "csv", "--schedule",
        "interleaved");
    assert_int_equal(run.status, 0);
    /* 2 * 1 / 2 * 240 at 2 in a cycle: 120 */
    assert_contains(run.out, "\n1,2,2,optimal,no,1,240,400.500000,400.500000,120.000000,"
                             "520.500000,");
    assert_contains(run.out, "\n2,1,2,optimal,yes,2,120,210.000000,511.000000,0.000000,511.000000,"
                             "0.00391389432,0.2162,0.0000,[ a | b | c | d ]\n");
    RUN(&run, "-q", path, "--solve", "--total-ipus", "2", "--batch", "2", "--device-map",
        "interleaved:5");
    assert_int_equal(run.status, 1);
    assert_contains(run.err,
                    "--device-map interleaved:5: there are only 4 units for the stages of an IPU.");
}

/* What the log names as enough is enough, and one byte or IPU less is not. */
static void why_no_replica_fits_is_told(void **state) {
    (void)state;
    const char *path = write_pipeline();
    RUN(&run, path, "--solve", "--total-ipus", "2", "--batch", "8", "--mem-per-tile", "190");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "FAILURE: Unable to fit model on IPUs, with any number of stages.");
    assert_contains(run.err, "A pipeline on 2 IPUs comes closest: what follows is of it.");
    assert_contains(run.err, "It would fit with --mem-per-tile 200, "
                             "or with --total-ipus 4.");
    RUN(&run, "-q", path, "--solve", "--total-ipus", "2", "--batch", "8", "--mem-per-tile", "200");
    assert_int_equal(run.status, 0);
    for (int i = 0; i < 2; i++) {
        RUN(&run, "-q", path, "--solve", "--total-ipus", i == 0 ? "3" : "4", "--batch", "8",
            "--mem-per-tile", "190");
        assert_int_equal(run.status, i == 0 ? 1 : 0);
    }
    RUN(&run, path, "--solve", "--total-ipus", "4", "--num-ipus", "2", "--batch", "8",
        "--mem-per-tile", "190");
    assert_contains(run.err, ", or with --num-ipus 4.");
    RUN(&run, path, "--solve", "--total-ipus", "2", "--batch", "8", "--mem-per-tile", "190",
        "--device-map", "interleaved:2", "--format", "json");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "No split over these 2 devices fits.");
    assert_contains(run.err, "It would fit with --total-ipus 4 instead of device-map.");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("replicas", answer, complaint))
        fail_msg("%s", complaint);
    assert_int_equal(NUMBER_AT(answer, "closest"), 1);
    assert_int_equal(NUMBER_AT(answer, "infeasibility", "enough_mem_per_tile"), 200);
    json_decref(answer);
    RUN(&run, path, "--solve", "--total-ipus", "4", "--batch", "8", "--require", "cut:a",
        "--require", "together:a,b");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "contradiction between require cut:a, require together:a,b.");
}

/* The sample does not train: nothing is added up. */
static void replicas_of_a_profile_are_chosen(void **state) {
    (void)state;
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "3", "--batch", "6", "--bandwidth",
        "replicas=8", "--format", "json");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "the profile trains no parameters, so the all-reduce takes no time.");
    assert_contains(run.err, "SUCCESS: 3 pipelines on 1 IPU each: 6 micro-batches in ");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("replicas", answer, complaint))
        fail_msg("%s", complaint);
    /* each split costs what it costs by itself */
    for (size_t i = 0; i < 3; i++) {
        json_t *alone = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--device-map",
                                 i == 0   ? "0"
                                 : i == 1 ? "0,1"
                                          : "0,1,2",
                                 "--objective", "cycles,memory,traffic");
        const json_t *candidate = json_array_get(json_object_get(answer, "candidates"), i);
        const json_t *stages = json_object_get(alone, "stages");
        for (size_t k = 0; k <= i; k++) {
            const json_t *own = json_array_get(json_object_get(candidate, "split"), k);
            const json_t *stage = json_array_get(stages, k);
            assert_int_equal(json_integer_value(json_object_get(own, "cycles")),
                             json_integer_value(json_object_get(stage, "cycles")));
            assert_int_equal(
                json_integer_value(json_object_get(own, "max_tile_mem")),
                json_integer_value(json_object_get(json_object_get(stage, "mem"), "max_tile_mem")));
        }
        json_decref(alone);
    }
    json_decref(answer);
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "3", "--micro-batches", "6",
        "--mem-per-tile", "20K");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "A pipeline on 3 IPUs comes closest: what follows is of it.");
    assert_contains(run.err, "It would fit with --mem-per-tile 28017.");
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "3", "--micro-batches", "6", "-q",
        "--mem-per-tile", "28017");
    assert_int_equal(run.status, 0);
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "3", "--micro-batches", "6", "-q",
        "--mem-per-tile", "28016");
    assert_int_equal(run.status, 1);
}

/* Interleaved, and with copies by micro-batches, also without the variables at hand. */
static void replicas_of_a_stored_analysis_are_the_same(void **state) {
    (void)state;
    static const char *const ways[][5] = {
        {"--micro-batches=4"},
        {"--batch=4", "--schedule=1f1b+1"},
        {"--batch=4", "--schedule=gpipe", "--device-map=interleaved:2"}};
    const char *file = in_scratch("stored");
    RUN(&run, SAMPLE_DIRECTORY, "-q", "--save-to-file", file);
    for (size_t i = 0; i < 3; i++) {
        const char *arguments[12] = {"", "-q", "--solve", "--total-ipus=4",
                                     "--bandwidth=replicas=3"};
        for (size_t k = 0; ways[i][k] != NULL; k++)
            arguments[5 + k] = ways[i][k];
        arguments[0] = SAMPLE_DIRECTORY;
        run_command(&run, arguments);
        assert_int_equal(run.status, 0);
        char *expected = strdup(run.out);
        assert_non_null(expected);
        size_t count = 5;
        while (arguments[count] != NULL)
            count++;
        arguments[0] = file;
        arguments[count] = "--load-from-file";
        run_command(&run, arguments);
        assert_int_equal(run.status, 0);
        assert_string_equal(run.out, expected);
        free(expected);
    }
}

static void replicas_that_lack_something_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *arguments[9];
        const char *message;
    } cases[] = {
        {{"--total-ipus", "4"}, "--total-ipus: needs --micro-batches or --batch, of each"},
        {{"--total-ipus", "4", "--batch", "4", "--micro-batches", "2"},
         "--micro-batches: not with --batch"},
        {{"--batch", "4"}, "--batch: needs --total-ipus"},
        {{"--bandwidth", "replicas=4"}, "--bandwidth replicas: needs --total-ipus"},
        {{"--total-ipus", "4", "--batch", "4", "--num-ipus", "1..2"},
         "a range of --num-ipus: not with --total-ipus"},
        {{"--total-ipus", "4", "--batch", "4", "--device-map", "0,1"},
         "--total-ipus: not with a list of --device-map"},
        {{"--total-ipus", "4", "--batch", "5/2"}, "is no multiple of"},
        {{"--total-ipus", "4", "--micro-batches", "5", "--batch", "/2"},
         "--batch /2: expected samples"},
        {{"--total-ipus", "4", "--batch", "4", "--bandwidth", "replicas=0.0"},
         "expected bytes in a cycle"},
        {{"--total-ipus", "4", "--batch", "4", "--bandwidth", "replicas=1.2.3"},
         "expected bytes in a cycle"},
        {{"--total-ipus", "4", "--batch", "4", "--objective", "memory"}, "first one is throughput"},
        {{"--objective", "throughput"}, "give --total-ipus, and the throughput first"},
        {{"--total-ipus", "4", "--batch", "4", "--device-map", "v"},
         "--total-ipus: not with --device-map v"},
        {{"--total-ipus", "4", "--batch", "4", "--schedule", "interleaved"},
         "needs a --device-map with as many stages"},
        {{"--total-ipus", "4", "--batch", "4", "--schedule", "none:0,1", "--device-map",
          "interleaved:3"},
         "is for 2 stages, but --device-map interleaved:3 has as many on one IPU"},
        {{"--total-ipus", "4", "--batch", "4", "--device-map", "interleaved:2", "--solver", "dp"},
         "--solver dp: not with --device-map interleaved:2, whose stages share IPUs"},
    };
    const char *path = write_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[12] = {path, "--solve"};
        for (size_t k = 0; cases[i].arguments[k] != NULL; k++)
            arguments[2 + k] = cases[i].arguments[k];
        run_command(&run, arguments);
        assert_refused(&run, 2, cases[i].message);
    }
    RUN(&run, TRAINING_DIRECTORY, "-q", "--solve", "--total-ipus", "4", "--batch", "4");
    assert_refused(&run, 2, "--total-ipus: the profile has no cycles of computing; compile with");
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "4", "--batch", "4",
        "--solver=popliner");
    assert_refused(&run, 2, "--total-ipus: not with --solver popliner");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_profile_are_those_of_schedules),
        SCRATCH_TEST(copies_of_a_stored_analysis_are_the_same),
        cmocka_unit_test(copies_of_a_file_are_counted),
        SCRATCH_TEST(what_is_recomputed_stays_for_the_weights),
        cmocka_unit_test(copies_that_lack_something_are_refused),
        SCRATCH_TEST(stages_choose_what_they_recompute),
        cmocka_unit_test(given_stages_recompute_what_is_said),
        SCRATCH_TEST(replicas_are_chosen_with_stages),
        SCRATCH_TEST(replicas_may_be_interleaved),
        SCRATCH_TEST(why_no_replica_fits_is_told),
        cmocka_unit_test(replicas_of_a_profile_are_chosen),
        SCRATCH_TEST(a_range_of_memory_has_the_best_replicas),
        SCRATCH_TEST(a_front_has_the_best_replicas_for_less_memory),
        SCRATCH_TEST(replicas_of_a_stored_analysis_are_the_same),
        SCRATCH_TEST(replicas_that_lack_something_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
