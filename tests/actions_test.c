/* Each action of the command, and each kind of file that it writes, once: so that all of it runs
 * where the tests run with sanitizers, which tests that start the command otherwise do not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"
#include "made_profile.h"
#include "popliner/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COSTS PROJECT_DIRECTORY "/data/costs/"
#define MADE "--quiet --layers 4 --tiles 9 --hidden 32 --sequence 16 --vocabulary 200 --training "

static command_run run;

/* Runs the command, which ends with this status, and prints something that has `part` in it, and
 * writes the file, unless that is NULL. */
static void expect(int status, const char *part, const char *written,
                   const char *const *arguments) {
    run_command(&run, arguments);
    if (run.status != status)
        fail_msg("exit status %d instead of %d: %s", run.status, status, run.err);
    assert_contains(run.out, part);
    if (written != NULL)
        free(test_read_bytes(written, &(size_t){0}));
}
#define EXPECT(status, part, written, ...)                                                         \
    expect(status, part, written, (const char *const[]){__VA_ARGS__, NULL})

static void tables_are_printed(void **state) {
    (void)state;
    EXPECT(0, "--solve", NULL, "--help");
    EXPECT(0, "popliner ", NULL, "--version");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--memory-totals");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--operation-breakdown");
    EXPECT(0, ",", NULL, CASE_DIRECTORY, "--layer-breakdown", "--format", "csv");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--memory-affinity");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--interlayer-communication");
    EXPECT(0, "{", NULL, CASE_DIRECTORY, "--output", "tiles", "--format", "json");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--output", "tiles", "--format", "plot");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--output", "liveness", "--format", "plot");
    EXPECT(0, "{", NULL, CASE_DIRECTORY, "--diagnose", "--format", "json");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--diagnose", "--layers", "0..1");
    EXPECT(1, "", NULL, CASE_DIRECTORY, "--solve", "--layer-name-regex", "nothing(\\d+)");
    run_command_on_terminal(&run, (const char *const[]){CASE_DIRECTORY, "--solve", NULL});
    assert_int_equal(run.status, 0);
}

/* What a program wrote that ran the model: what it measured. */
static void what_ran_is_read(void **state) {
    (void)state;
    const char *ran = in_scratch("ran");
    const char *stored = in_scratch("stored");
    const char *page = in_scratch("page.html");
    const char *trace = in_scratch("trace.json");
    char table[600];
    snprintf(table, sizeof table, "execution=%s", in_scratch("execution.csv"));
    make_profile(ran,
                 "--layers 2 --tiles 4 --hidden 32 --sequence 16 --vocabulary 200 --execution");
    EXPECT(0, "a", NULL, ran, "--output", "summary", "--output", table);
    EXPECT(0, "{", page, ran, "--output", "execution", "--format", "json", "--output",
           output_into("page", page), "--output", output_into("trace", trace));
    EXPECT(0, "", stored, ran, "--save-to-file", stored);
    EXPECT(0, "a", NULL, stored, "--load-from-file", "--output", "summary");
    EXPECT(0, "\t", NULL, ran, "--output", "advice", "--format", "tsv");
}

static void profiles_are_split(void **state) {
    (void)state;
    const char *page = in_scratch("page.html");
    const char *trace = in_scratch("trace.json");
    const char *stored = in_scratch("stored");
    const char *program = in_scratch("program.lp");
    EXPECT(0, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--solver", "popliner", "-o",
           "popliner");
    EXPECT(0, "[", page, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--output",
           output_into("page", page), "-o", "popliner");
    EXPECT(0, "[", trace, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--output",
           output_into("trace", trace), "-o", "popliner");
    EXPECT(0, "[", program, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--output",
           output_into("lp", program), "-o", "popliner");
    EXPECT(0, "", stored, CASE_DIRECTORY, "--save-to-file", stored);
    EXPECT(0, "{", NULL, stored, "--load-from-file", "--solve", "--num-ipus", "2", "--output",
           "pipeline");
    EXPECT(1, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--mem-per-tile", "1000",
           "-o", "popliner");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "1..2");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--pareto",
           "memory,traffic");
}

/* Why nothing fits, why no split is possible, and what is wrong with a request. */
static void reasons_are_told(void **state) {
    (void)state;
    EXPECT(1, "{", NULL, CASE_DIRECTORY, "--solve", "--format", "json", "--require", "cut:0",
           "--require", "together:0,1");
    EXPECT(1, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--require", "place:0=1,1=0",
           "-o", "popliner");
    EXPECT(1, "{", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--mem-per-tile", "0=1000",
           "--format", "json");
    EXPECT(1, "[", NULL, CASE_DIRECTORY, "--solve", "--mem-per-tile", "1000", "--objective", "ipus",
           "--slack", "5", "-o", "popliner");
    EXPECT(1, "m", NULL, CASE_DIRECTORY, "--solve", "--mem-per-tile", "1000..3000:1000");
    EXPECT(1, "", NULL, CASE_DIRECTORY, "--diagnose", "--memory-model", "popliner", "--fail-on",
           "unexplained=0%");
    EXPECT(1, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "1", "--mem-per-tile", "20000",
           "-o", "popliner");
    EXPECT(2, "", NULL, CASE_DIRECTORY, "--evaluate", "0", "--num-ipus", "1");
    EXPECT(2, "", NULL, CASE_DIRECTORY, "--solve", "--pareto", "memory,cycles");
}

/* Stages on IPUs in other orders, and rules of cuts. */
static void places_are_chosen(void **state) {
    (void)state;
    const char *page = in_scratch("page.html");
    EXPECT(0, "[", page, CASE_DIRECTORY, "--solve", "--device-map", "v", "--num-ipus", "2",
           "--require", "no-cut:0", "--require", "layers:0..", "--output",
           output_into("page", page), "-o", "popliner");
    EXPECT(0, "[", page, CASE_DIRECTORY, "--solve", "--num-ipus", "3", "--require", "cut:0",
           "--require", "no-cut:1", "--require", "place:0=0", "--output", output_into("page", page),
           "-o", "popliner");
    EXPECT(0, "[", NULL, CASE_DIRECTORY, "--evaluate", "0,1", "--device-map", "0,1,0", "--format",
           "json");
    EXPECT(0, "[", page, CASE_DIRECTORY, "--solve", "--require", "together:0,1", "--schedule",
           "popart", "--output", output_into("page", page), "-o", "popliner");
    EXPECT(0, "stage", NULL, CASE_DIRECTORY, "--evaluate", "0,1", "--device-map", "0,1,0");
    EXPECT(0, "f", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--output", "torch",
           "--modules", "a,b,model.layers.{}");
    EXPECT(0, "", NULL, CASE_DIRECTORY, "--output", "plan", "--format", "plot", "--evaluate", "0",
           "--output", "trace=/dev/stdout", "--time-limit", "1000", "--max-memory", "64G");
}

/* With a profile whose layers, tiles and vertices are others. */
static void profiles_are_compared(void **state) {
    (void)state;
    static const char *const formats[] = {"tsv", "csv", "json"};
    const char *page = in_scratch("page.html");
    const char *other = in_scratch("other");
    make_profile(other, "--quiet --layers 5 --tiles 16 --hidden 48 --sequence 16 --vocabulary 200");
    EXPECT(0, "", NULL, CASE_DIRECTORY, "--compare", CASE_DIRECTORY);
    EXPECT(0, "", page, CASE_DIRECTORY, "--compare", other, "--output", output_into("page", page));
    EXPECT(3, "", NULL, CASE_DIRECTORY, "--compare", GOLDEN_DIRECTORY "tensorflow-inf");
    for (size_t i = 0; i < 3; i++)
        EXPECT(1, "", NULL, other, "--compare", CASE_DIRECTORY, "--solve", "--num-ipus", "2",
               "--format", formats[i], "--fail-on",
               "growth=0%,growth.layers=0%,growth.tiles=0%,growth.stages=0%,growth.cycles=0%");
    EXPECT(1, "", NULL, CASE_DIRECTORY, "--compare", other, "--fail-on", "growth=0%");
    EXPECT(0, "", page, CASE_DIRECTORY, "--compare", other, "--evaluate", "0", "--output",
           output_into("page", page));
    EXPECT(0, "", NULL, CASE_DIRECTORY, "--compare", other, "--layer-name-regex", "no(\\d+)");
}

static void files_of_costs_are_split(void **state) {
    (void)state;
    EXPECT(0, "\t", NULL, COSTS "additive.json", "--solve", "--format", "tsv");
    EXPECT(0, "\t", NULL, COSTS "regions.json", "--solve", "--num-ipus", "3", "--format", "tsv");
    EXPECT(0, "{", NULL, COSTS "additive.json", "--solve", "--format", "json", "--total-ipus", "4",
           "--batch", "8", "--ipu-speed", "0=0.5");
    EXPECT(0, "\t", NULL, COSTS "additive.json", "--total-ipus", "4", "--batch", "8",
           "--mem-per-tile", "400K..640K:80K", "--schedule", "1f1b", "--format", "tsv");
    EXPECT(0, "{", NULL, COSTS "additive.json", "--solve", "--format", "json", "--bandwidth",
           "64,0-1=0.5", "--num-ipus", "4");
    run_command_from(&run, COSTS "additive.json", (const char *const[]){"-", "--solve", NULL});
    assert_int_equal(run.status, 0);
}

static void training_is_evaluated(void **state) {
    (void)state;
    const char *whole = in_scratch("whole");
    const char *compiled = in_scratch("compiled");
    const char *page = in_scratch("page.html");
    make_profile(whole, MADE "--framework popart");
    make_profile(compiled, MADE "--framework popart --pipeline '0|2'");
    EXPECT(0, "\n", NULL, whole, "--evaluate", "0,2", "--schedule", "popart");
    EXPECT(0, "\n", NULL, whole, "--evaluate", "0,2", "--schedule", "popart", "--compiled",
           compiled);
    EXPECT(0, "\n", NULL, whole, "--solve", "--num-ipus", "2", "--schedule", "popart",
           "--recompute", "auto");
    EXPECT(0, "[", NULL, whole, "--solve", "--num-ipus", "2", "--bandwidth", "64", "--objective",
           "cycles", "-o", "popliner");
    EXPECT(0, "\n", NULL, whole, "--solve", "--num-ipus", "2", "--total-ipus", "4", "--batch", "8",
           "--schedule", "popart");
    EXPECT(0, "{", NULL, whole, "--solve", "--num-ipus", "2", "--total-ipus", "4", "--batch", "8",
           "--schedule", "popart", "--format", "json");
    for (int i = 0; i < 2; i++)
        EXPECT(0, i == 0 ? "{" : "\n", NULL, whole, "--total-ipus", "4", "--batch", "8",
               "--schedule", "popart", "--mem-per-tile", "20K..620K:200K", "--format",
               i == 0 ? "json" : "text");
    EXPECT(0, "{", NULL, whole, "--evaluate", "0,2", "--schedule", "popart", "--recompute",
           "full,none,none", "--format", "json");
    EXPECT(0, "{", page, whole, "--evaluate", "0,2", "--schedule", "popart", "--recompute", "full",
           "--format", "json", "--output", output_into("page", page));
}

static void several_reports_are_split_together(void **state) {
    (void)state;
    const char *directory = in_scratch("reports");
    const char *page = in_scratch("page.html");
    make_directory(directory);
    make_profile(in_scratch("reports/training"), MADE);
    make_profile(in_scratch("reports/inference"),
                 "--quiet --layers 4 --tiles 9 --hidden 32 --sequence 16 --vocabulary 200");
    EXPECT(0, "\n", NULL, directory, "--report", "all", "--solve", "--num-ipus", "2");
    EXPECT(0, "{", NULL, directory, "--report", "all", "--solve", "--num-ipus", "2", "--objective",
           "cycles", "--format", "json");
    EXPECT(0, "\n", NULL, directory, "--report", "all", "--evaluate", "0");
    EXPECT(0, "[", page, directory, "--report", "training", "--solve", "--output",
           output_into("page", page), "-o", "popliner");
    EXPECT(0, "[", NULL, directory, "--report", "training", "--solve", "--num-ipus", "2",
           "--schedule", "none:1,2,3", "-o", "popliner");
    EXPECT(1, "{", NULL, directory, "--report", "training", "--solve", "--total-ipus", "4",
           "--batch", "8", "--schedule", "popart", "--format", "json", "--mem-per-tile", "30K");
    EXPECT(2, "", NULL, directory, "--report", "none", "--solve");
    EXPECT(3, "", NULL, directory, "--solve");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(tables_are_printed),
        SCRATCH_TEST(what_ran_is_read),
        SCRATCH_TEST(profiles_are_split),
        SCRATCH_TEST(reasons_are_told),
        SCRATCH_TEST(places_are_chosen),
        SCRATCH_TEST(profiles_are_compared),
        SCRATCH_TEST(files_of_costs_are_split),
        SCRATCH_TEST(training_is_evaluated),
        SCRATCH_TEST(several_reports_are_split_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
