/* Each action of the command, and each kind of file that it writes, once: so that all of it runs
 * where the tests run with sanitizers, which tests that start the command otherwise do not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"
#include "made_profile.h"

#include <stdlib.h>

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
    EXPECT(0, "{", NULL, CASE_DIRECTORY, "--section", "tiles", "--format", "json");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--plot", "tiles");
    EXPECT(0, "\n", NULL, CASE_DIRECTORY, "--plot", "liveness");
    EXPECT(0, "{", NULL, CASE_DIRECTORY, "--diagnose", "--format", "json");
}

static void profiles_are_split(void **state) {
    (void)state;
    const char *page = in_scratch("page.html");
    const char *trace = in_scratch("trace.json");
    const char *stored = in_scratch("stored");
    const char *program = in_scratch("program.lp");
    EXPECT(0, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--solver", "greedy");
    EXPECT(0, "[", page, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--html", page);
    EXPECT(0, "[", trace, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--trace", trace);
    EXPECT(0, "[", program, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--write-lp", program);
    EXPECT(0, "", stored, CASE_DIRECTORY, "--save-to-file", stored);
    EXPECT(0, "{", NULL, stored, "--load-from-file", "--solve", "--num-ipus", "2", "--emit",
           "json");
    EXPECT(1, "[", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--mem-per-tile", "1000");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--solve", "--sweep", "num-ipus=1..2");
    EXPECT(0, "\t", NULL, CASE_DIRECTORY, "--solve", "--num-ipus", "2", "--pareto",
           "memory,traffic");
    EXPECT(0, "", NULL, CASE_DIRECTORY, "--compare", CASE_DIRECTORY);
}

static void files_of_costs_are_split(void **state) {
    (void)state;
    EXPECT(0, "\t", NULL, "--costs", COSTS "additive.json", "--solve");
    EXPECT(0, "\t", NULL, "--costs", COSTS "regions.json", "--solve", "--num-ipus", "3");
    EXPECT(0, "\t", NULL, "--costs", COSTS "intervals.json", "--solve");
}

static void training_is_evaluated(void **state) {
    (void)state;
    const char *whole = in_scratch("whole");
    const char *compiled = in_scratch("compiled");
    make_profile(whole, MADE "--framework popart");
    make_profile(compiled, MADE "--framework popart --pipeline '0|2'");
    EXPECT(0, "\n", NULL, whole, "--evaluate", "0|2", "--schedule", "popart");
    EXPECT(0, "\n", NULL, whole, "--evaluate", "0|2", "--schedule", "popart", "--calibrate",
           compiled);
    EXPECT(0, "\n", NULL, whole, "--solve", "--num-ipus", "2", "--schedule", "popart",
           "--recompute", "auto");
    EXPECT(0, "\n", NULL, whole, "--solve", "--num-ipus", "2", "--total-ipus", "4", "--batch", "8",
           "--schedule", "popart");
}

static void several_reports_are_split_together(void **state) {
    (void)state;
    const char *directory = in_scratch("reports");
    make_directory(directory);
    make_profile(in_scratch("reports/training"), MADE);
    make_profile(in_scratch("reports/inference"),
                 "--quiet --layers 4 --tiles 9 --hidden 32 --sequence 16 --vocabulary 200");
    EXPECT(0, "\n", NULL, directory, "--report", "all", "--solve", "--num-ipus", "2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(tables_are_printed),
        SCRATCH_TEST(profiles_are_split),
        SCRATCH_TEST(files_of_costs_are_split),
        SCRATCH_TEST(training_is_evaluated),
        SCRATCH_TEST(several_reports_are_split_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
