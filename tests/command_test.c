/* The command as a user meets it: its options, its inputs, its log and its output.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* terminals */

#include "command_run.h"
#include "popliner/popliner.h"

#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static command_run run;

static const char *const actions[] = {
    "--memory-totals",   "--operation-breakdown",      "--layer-breakdown",
    "--memory-affinity", "--interlayer-communication", "--solve",
};
enum { NUM_ACTIONS = sizeof actions / sizeof *actions };

/* What the original printed for the case that most tests use. */
static void assert_printed(const char *golden_name) {
    char path[500];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", CASE_DIRECTORY, golden_name);
    uint8_t *expected = test_read_bytes(path, &size);
    assert_int_equal(run.out_size, size);
    assert_memory_equal(run.out, expected, size);
    free(expected);
}

/* ---- Help ----------------------------------------------------------------------------------- */

/* The whole of it fits a small terminal. */
static void help_has_33_lines(void **state) {
    (void)state;
    static const char *const parts[] = {"Usage: popliner INPUT [options]\n",
                                        "\nExamples:\n",
                                        "\nWhat to do:\n",
                                        "\nMost used:\n",
                                        "  --solve ",
                                        "  -n, --num-ipus N ",
                                        "exit-status"};
    size_t num_lines = 0;
    RUN(&run, "--help");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    for (const char *line = run.out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 80);
        num_lines++;
    }
    assert_int_equal(num_lines, 33);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_contains(run.out, parts[i]);
    char *help = strdup(run.out);
    RUN(&run, "-h");
    assert_string_equal(run.out, help);
    RUN(&run, "--solve", "no-such-file", "--help");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, help);
    RUN(&run, "--help", "-q");
    assert_string_equal(run.out, help);
    free(help);
    RUN(&run, "--help", "pareto");
    help = strdup(run.out);
    assert_contains(help, "  --pareto A,B,...\n");
    RUN(&run, "--help", "--pareto");
    assert_string_equal(run.out, help);
    free(help);
}

static void help_has_topics_options_and_outputs(void **state) {
    (void)state;
    static const struct {
        const char *topic;
        const char *parts[5];
    } topics[] = {
        {"all",
         {"\nSolving:\n", "\nPopLiner 1.0.0:\n  --memory-totals\n", "(default: 0%)",
          "--interlayer-communication\n", "1  no split fits"}},
        {"profiles", {"POPLAR_ENGINE_OPTIONS", "POPART_POPLINER_OUTLINER_REGEX", "\nExample:\n"}},
        {"constraints", {"--require RULE\n", "cut:L,...", "--device-map MAP\n"}},
        {"layers", {"(?:^|\\/)(?:[L|l]ayer|blocks|encoder)[\\/_\\.]?(\\d+)", "Embedding_Dict"}},
        {"exit-status", {"2  wrong usage\n", "no layer was found", "4  an internal error"}},
        {"frameworks", {"        megatron ", "--modules NAME,...\n"}},
        {"need", {"at-most ", "Used by --solve, --evaluate and --output page\n", "Topics: memory"}},
        {"num-ipus", {"-n, --num-ipus N|A..B\n", "(default: the fewest", "1..8 "}},
        {"mem-per-tile", {"638,976 bytes; also MiB, GiB: powers of 1024\n"}},
        {"tiles", {"--output tiles\n"}},
    };
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        RUN(&run, "--help", topics[i].topic);
        assert_int_equal(run.status, 0);
        for (size_t k = 0; k < 5 && topics[i].parts[k] != NULL; k++)
            assert_contains(run.out, topics[i].parts[k]);
    }
    RUN(&run, "--help", "sovling");
    assert_refused(&run, 2, "--help sovling: no such topic; did you mean solving?");
    RUN(&run, "--help=nothing");
    assert_refused(&run, 2, "--help nothing: no such topic; --help lists them");
}

static void version_is_one_line(void **state) {
    (void)state;
    char expected[100];
    snprintf(expected, sizeof expected, "popliner %s\n", popliner_version());
    RUN(&run, "--version");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, expected);
    assert_string_equal(run.err, "");
}

/* ---- Options -------------------------------------------------------------------------------- */

static const char *const value_options[] = {
    "--num-ipus",     "--mem-per-tile",         "--solver", "--memory-model", "--layer-name-regex",
    "--save-to-file", "--inputs-regex-layer-0", "--format", "--layer-order",
};
enum { NUM_VALUE_OPTIONS = sizeof value_options / sizeof *value_options };

static void refuses_options_without_their_value(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_VALUE_OPTIONS; i++) {
        const char *name = value_options[i];
        char needs_value[100];
        char with_equals[100];
        snprintf(needs_value, sizeof needs_value, "%s needs a value: ", name);
        snprintf(with_equals, sizeof with_equals, "%s=", name);
        RUN(&run, CASE_PROFILE, "--solve", name);
        assert_refused(&run, 2, needs_value);
        RUN(&run, CASE_PROFILE, name, "--solve");
        assert_refused(&run, 2, needs_value);
        RUN(&run, CASE_PROFILE, "--solve", name, "-q");
        assert_refused(&run, 2, needs_value);
        if (strcmp(name, "--mem-per-tile") == 0)
            continue; /* an empty list clears it */
        RUN(&run, CASE_PROFILE, "--solve", name, "");
        assert_refused(&run, 2, needs_value);
        RUN(&run, CASE_PROFILE, "--solve", with_equals);
        assert_refused(&run, 2, needs_value);
    }
}

static void refuses_values_that_make_no_sense(void **state) {
    (void)state;
    static const char *const numbers[] = {
        "0", "-1", "abc",   "1.5", " 3", "3 ",   "+3", "0x10", "1e3",
        "-", "--", "3,000", "000", "1k", "\xc2", "\t", "1\n2", "99999999999999999999"};
    static const char *const choices[] = {"abc",     "0", "TSV",  "csv ",
                                          "tsv|csv", "|", "gree", "ilpx"};
    for (size_t i = 0; i < NUM_VALUE_OPTIONS; i++) {
        const char *name = value_options[i];
        bool is_number = strcmp(name, "--num-ipus") == 0 || strcmp(name, "--mem-per-tile") == 0;
        const char *const *values = is_number ? numbers : choices;
        size_t count = (is_number ? sizeof numbers : sizeof choices) / sizeof(char *);
        if (strstr(name, "regex") != NULL || strcmp(name, "--save-to-file") == 0)
            continue; /* any text may be one */
        for (size_t k = 0; k < count; k++) {
            char both[100];
            if (!test_takes_case(k, 5))
                continue;
            snprintf(both, sizeof both, "%s=%s", name, values[k]);
            RUN(&run, CASE_PROFILE, "--solve", name, values[k]);
            assert_refused(&run, 2, name);
            RUN(&run, CASE_PROFILE, "--solve", both);
            assert_refused(&run, 2, name);
        }
    }
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus", "1000001");
    assert_refused(&run, 2, "--num-ipus 1000001: expected a number from 1 to 1000000");
    RUN(&run, CASE_PROFILE, "--solve", "--mem-per-tile", "9223372036854775808");
    assert_refused(&run, 2, "expected at most 9223372036854775807 bytes");
    RUN(&run, CASE_PROFILE, "--solve", "--solver", "simplex");
    assert_refused(&run, 2, "--solver simplex: expected one of auto, ilp, dp, popliner");
    RUN(&run, CASE_PROFILE, "--solve", "--memory-model", "half");
    assert_refused(&run, 2, "--memory-model half: expected one of full, popliner");
}

static void refuses_wrong_regexes(void **state) {
    (void)state;
    static const char *const names[] = {"--layer-name-regex", "--inputs-regex-layer-0"};
    for (size_t i = 0; i < 2; i++) {
        RUN(&run, CASE_PROFILE, "--layer-breakdown", names[i], "a(");
        assert_refused(&run, 2, "missing closing parenthesis at offset 2");
        assert_contains(run.err, names[i]);
        RUN(&run, CASE_PROFILE, "--layer-breakdown", names[i], "[a");
        assert_refused(&run, 2, "at offset 2");
        RUN(&run, CASE_PROFILE, "--layer-breakdown", names[i], "a\xff");
        assert_refused(&run, 2, "at offset 1");
        /* exponentially many ways to match: given up on, not waited for */
        RUN(&run, CASE_PROFILE, "--layer-breakdown", names[i],
            "^(([a-zA-Z/0-9_]|[A-Z/a-z_])+)+[!?]$");
        if (i == 0)
            assert_refused(&run, 2, "use a simpler pattern");
    }
}

static void refuses_wrong_usage(void **state) {
    (void)state;
    static const struct {
        const char *arguments[6];
        const char *part;
    } cases[] = {
        {{NULL}, "no input: give a profile, "},
        {{"--solve"}, "no input: give a profile, "},
        {{"--solve", "--"}, "no input: give a profile, "},
        {{"--solve", ""}, "an empty file name"},
        {{"--solve", CASE_PROFILE, ""}, "an empty file name"},
        {{CASE_PROFILE, "--num-ipus", "2"}, "--num-ipus: not used by the overview; it is for --"},
        {{"--solve", CASE_PROFILE, CASE_DEBUG, "third"}, "'third': a third file"},
        {{"--solve", CASE_PROFILE, "--load-from-file", CASE_DEBUG}, "needs no debug information"},
        {{"--solv", CASE_PROFILE}, "--solv: unknown option; did you mean --solve?"},
        {{"--solvee", CASE_PROFILE}, "--solvee: unknown option"},
        {{"--Solve", CASE_PROFILE}, "--Solve: unknown option"},
        {{"-solve", CASE_PROFILE}, "-solve: unknown option"},
        {{"-s", CASE_PROFILE}, "-s: unknown option"},
        {{"-qv", CASE_PROFILE}, "-qv: unknown option"},
        {{"--=1", CASE_PROFILE}, "--=1: unknown option"},
        {{"-=", CASE_PROFILE}, "-=: unknown option"},
        {{"--solve=1", CASE_PROFILE}, "--solve takes no value"},
        {{"--solve=", CASE_PROFILE}, "--solve takes no value"},
        {{"--quiet=yes", CASE_PROFILE}, "--quiet takes no value"},
        {{"--load-from-file=x", CASE_PROFILE}, "--load-from-file takes no value"},
        {{"--un\nknown", CASE_PROFILE}, "--un\\nknown: unknown option"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_command(&run, cases[i].arguments);
        assert_refused(&run, 2, cases[i].part);
    }
}

static void takes_values_behind_a_blank_or_an_equals_sign(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--format", "csv");
    assert_int_equal(run.status, 0);
    assert_printed("layer-breakdown.csv");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--format=csv");
    assert_printed("layer-breakdown.csv");
    RUN(&run, CASE_PROFILE, "--operation-breakdown", "--layer-name-regex=^(.)");
    assert_printed("operation-breakdown-every-op.tsv");
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2", "--mem-per-tile=158192", "--solver=popliner",
        "--memory-model=popliner", "--layer-order=natural");
    assert_printed("solve-N2-M158192.json");
    /* a value may hold an equals sign, or look like an option behind one */
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--layer-name-regex=(?=L)Layer(\\d)");
    assert_printed("layer-breakdown.tsv");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--layer-name-regex=--solve");
    assert_int_equal(run.status, 0);
    /* in either form twice */
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--format=csv", "--format", "csv");
    assert_printed("layer-breakdown.csv");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--format=tsv", "--format", "csv");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.err, "--format was given twice: csv counts, not tsv."));
}

static void takes_options_before_behind_and_between_files(void **state) {
    (void)state;
    RUN(&run, "--layer-breakdown", CASE_PROFILE, CASE_DEBUG, "-q");
    assert_printed("layer-breakdown.tsv");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", CASE_DEBUG);
    assert_printed("layer-breakdown.tsv");
    RUN(&run, "--layer-breakdown", "--", CASE_PROFILE, CASE_DEBUG);
    assert_printed("layer-breakdown.tsv");
}

/* ---- Profiles ------------------------------------------------------------------------------- */

static void refuses_what_is_no_profile(void **state) {
    (void)state;
    const char *file = in_scratch("file.pop");
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "file.pop: no such file or directory");
    RUN(&run, in_scratch("no/such\nplace"), "--solve");
    assert_refused(&run, 3, "no/such\\nplace: no such file or directory");
    test_write_bytes(file, "", 0);
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "file.pop: is empty, expected a Poplar profile");
    test_write_bytes(file, "hello\n", 6);
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "file.pop: is not an SQLite database, expected a Poplar profile");
    test_write_bytes(file, "{\"profile\": [1, 2]}\n", 20);
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "expected a Poplar profile");
    RUN(&run, CASE_DEBUG, CASE_PROFILE, "--solve");
    assert_refused(&run, 3, "debug.cbor: is not an SQLite database");
    RUN(&run, in_scratch(""), "--solve");
    assert_refused(&run, 3, ": no profile.pop here");
    make_directory(in_scratch("report"));
    make_directory(in_scratch("report/training"));
    make_directory(in_scratch("report/inference"));
    test_write_bytes(in_scratch("report/training/profile.pop"), "x", 1);
    test_write_bytes(in_scratch("report/inference/profile.pop"), "x", 1);
    RUN(&run, in_scratch("report"), "--solve");
    assert_refused(&run, 3,
                   "report: no profile.pop here; found inference/ and training/; pass "
                   "one of them, or add --report NAME,... or --report all\n");
    RUN(&run, in_scratch("report"));
    assert_refused(&run, 3, "pass one of them, or add --report all --solve to split all\n");
    /* the second file is looked for before the first is read */
    RUN(&run, "/dev/null", "none.cbor", "--solve");
    assert_refused(&run, 3, "none.cbor: no such file or directory");
    RUN(&run, "/dev/null", "--solve");
    assert_refused(&run, 3, "/dev/null: ");
    remove(file);
    change_database(file, "CREATE TABLE people (name TEXT); INSERT INTO people VALUES ('Ada')");
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "but not a Poplar profile");
    assert_holds(in_scratch(""), "file.pop report");
}

static void refuses_profiles_of_other_kinds(void **state) {
    (void)state;
    const char *file = in_scratch("profile.pop");
    copy_file(CASE_PROFILE, file, SIZE_MAX);
    change_database(file, "UPDATE version_info SET major = 4");
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "version 4.8.0; only versions 3.x are supported");
    change_database(file, "UPDATE version_info SET major = 3; DELETE FROM vars_info");
    RUN(&run, file, "--solve");
    assert_refused(&run, 3, "autoReport.outputLoweredVars");
    change_database(file, "DROP TABLE programs");
    RUN(&run, file, "--solve");
    assert_int_equal(run.status, 3);
}

/* Nothing can be told of a profile without lowered variables, whatever is asked. */
static void refuses_every_action_without_lowered_variables(void **state) {
    (void)state;
    static const char *const asked[][3] = {
        {"--solve", NULL},
        {"--evaluate", "whole"},
        {"--diagnose", NULL},
        {"--memory-totals", NULL},
        {"--operation-breakdown", NULL},
        {"--layer-breakdown", NULL},
        {"--memory-affinity", NULL},
        {"--interlayer-communication", NULL},
        {"--output", "summary"},
        {"--output", "tiles"},
        {"--output", "tiles", "--format=plot"},
        {"--compare", CASE_PROFILE},
        {"--output", "tiles=none.csv"},
        {"--output", "trace=none.json"},
        {"--output", "page=none.html"},
        {"--save-to-file", "none.popliner"},
    };
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), SIZE_MAX);
    change_database(in_scratch("profile.pop"), "DELETE FROM vars_info");
    test_write_bytes(in_scratch("vars.capnp"), "x", 1);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        char value[5000];
        const char *given = asked[i][1];
        const char *name = given == NULL ? NULL : strstr(given, "none.");
        if (name != NULL) { /* a file, in the folder of the test */
            snprintf(value, sizeof value, "%.*s%s", (int)(name - given), given, in_scratch(name));
            given = value;
        }
        RUN(&run, in_scratch("profile.pop"), asked[i][0], given, asked[i][2]);
        assert_refused(&run, 3,
                       "has no lowered variables (table vars_info); compile again with the engine "
                       "option autoReport.outputLoweredVars set to true");
        assert_contains(run.err, "popliner does not read vars.capnp");
        if (name != NULL)
            assert_int_equal(access(in_scratch(name), F_OK), -1);
    }
}

static void warns_of_several_ipus_and_replicas(void **state) {
    (void)state;
    const char *file = in_scratch("profile.pop");
    copy_file(CASE_PROFILE, file, SIZE_MAX);
    change_database(file, "UPDATE target_info SET num_ipus = 2, num_replicas = 2");
    RUN(&run, file, CASE_DEBUG, "--layer-breakdown", "-q");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "The profile has 2 IPUs");
    assert_contains(run.err, "The profile has 2 replicas");
    assert_is_log(&run);
    assert_printed("layer-breakdown.tsv");
}

static void refuses_cut_off_profiles(void **state) {
    (void)state;
    const char *file = in_scratch("profile.pop");
    struct stat info;
    assert_int_equal(stat(CASE_PROFILE, &info), 0);
    for (size_t part = 0; part < 16; part++) {
        size_t size = part == 0 ? 60 : (size_t)info.st_size / 16 * part;
        copy_file(CASE_PROFILE, file, size);
        RUN(&run, file, CASE_DEBUG, "--layer-breakdown");
        assert_refused(&run, 3, "profile.pop: ");
    }
    assert_holds(in_scratch(""), "profile.pop");
}

static void survives_damaged_profiles(void **state) {
    (void)state;
    enum { STRIDE = 70001, DAMAGE = 200 };
    const char *file = in_scratch("profile.pop");
    size_t size;
    uint8_t *bytes = test_read_bytes(CASE_PROFILE, &size);
    uint8_t kept[DAMAGE];
    for (size_t offset = 0; offset + DAMAGE < size; offset += STRIDE) {
        memcpy(kept, bytes + offset, DAMAGE);
        memset(bytes + offset, 0xa5, DAMAGE);
        test_write_bytes(file, bytes, size);
        memcpy(bytes + offset, kept, DAMAGE);
        RUN(&run, file, CASE_DEBUG, "--solve", "--operation-breakdown");
        /* what is hit may be of no importance */
        if (run.status == 0)
            assert_is_log(&run);
        else
            assert_refused(&run, 3, "profile.pop");
    }
    free(bytes);
}

/* ---- Debug information ---------------------------------------------------------------------- */

static void finds_debug_information(void **state) {
    (void)state;
    make_directory(in_scratch("run"));
    make_directory(in_scratch("run/training"));
    copy_file(CASE_PROFILE, in_scratch("run/training/profile.pop"), SIZE_MAX);
    copy_file(CASE_DEBUG, in_scratch("run/debug.cbor"), SIZE_MAX);
    /* one directory up, the profile or its directory given */
    RUN(&run, in_scratch("run/training/profile.pop"), "--operation-breakdown", "-q");
    assert_string_equal(run.err, "");
    assert_printed("operation-breakdown.tsv");
    RUN(&run, in_scratch("run/training"), "--operation-breakdown", "-q");
    assert_printed("operation-breakdown.tsv");
    RUN(&run, in_scratch("run/training/"), "--operation-breakdown", "-q");
    assert_printed("operation-breakdown.tsv");
    /* what lies beside it goes first */
    test_write_bytes(in_scratch("run/debug.cbor"), "text", 4);
    copy_file(CASE_DEBUG, in_scratch("run/training/debug.cbor"), SIZE_MAX);
    RUN(&run, in_scratch("run/training"), "--operation-breakdown", "-q");
    assert_string_equal(run.err, "");
    assert_printed("operation-breakdown.tsv");
    /* what is given goes before all */
    RUN(&run, in_scratch("run/training"), in_scratch("run/debug.cbor"), "--operation-breakdown");
    assert_refused(&run, 3, "run/debug.cbor: is not debug information");
    RUN(&run, in_scratch("run/training/profile.pop"), CASE_DEBUG, "--operation-breakdown", "-q");
    assert_printed("operation-breakdown.tsv");
}

static void refuses_what_is_no_debug_information(void **state) {
    (void)state;
    const char *file = in_scratch("debug.cbor");
    RUN(&run, CASE_PROFILE, file, "--solve");
    assert_refused(&run, 3, "debug.cbor: no such file or directory");
    test_write_bytes(file, "", 0);
    RUN(&run, CASE_PROFILE, file, "--solve");
    assert_refused(&run, 3, "debug.cbor: is empty, expected debug information");
    test_write_bytes(file, "hello\n", 6);
    RUN(&run, CASE_PROFILE, file, "--solve");
    assert_refused(&run, 3, "debug.cbor: is not debug information");
    test_write_bytes(file, "{\"contexts\": []}", 16);
    RUN(&run, CASE_PROFILE, file, "--solve");
    assert_refused(&run, 3, "JSON");
    RUN(&run, CASE_PROFILE, CASE_PROFILE, "--solve");
    assert_refused(&run, 3, "profile.pop: is not debug information");
    RUN(&run, CASE_PROFILE, CASE_DIRECTORY, "--solve");
    assert_refused(
        &run, 3,
        "is not a regular file, expected debug information; for two reports use --compare ");
}

static void works_without_debug_information(void **state) {
    (void)state;
    make_directory(in_scratch("run"));
    copy_file(CASE_PROFILE, in_scratch("run/profile.pop"), SIZE_MAX);
    for (size_t i = 0; i < NUM_ACTIONS; i++) {
        RUN(&run, in_scratch("run"), actions[i], "-q");
        assert_int_equal(run.status, 0);
        assert_is_log(&run);
        assert_contains(run.err, "WARNING No debug.cbor was found");
        assert_true(run.out_size > 50);
    }
    RUN(&run, in_scratch("run"), "--layer-breakdown", "-q");
    assert_contains(run.out, "\n3\t");
}

static void works_with_cut_off_debug_information(void **state) {
    (void)state;
    const char *file = in_scratch("debug.cbor");
    static const size_t sizes[] = {1, 5, 100, 1000, 20000, 80000, 160000, 160352};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        copy_file(CASE_DEBUG, file, sizes[i]);
        RUN(&run, CASE_PROFILE, file, "--layer-breakdown", "--operation-breakdown", "--solve",
            "-q");
        /* the first layer's name may be in what is left */
        bool has_layers = strstr(run.out, "\n0\t") != NULL;
        assert_int_equal(run.status, has_layers ? 0 : 1);
        assert_true(has_layers == (strstr(run.err, "No layer was found") == NULL));
        assert_is_log(&run);
        assert_contains(run.err, "WARNING ");
        assert_contains(run.err, "debug.cbor: was cut off after ");
        assert_contains(run.out, "\nNone\t");
    }
}

/* ---- Log ------------------------------------------------------------------------------------ */

static void logs_on_standard_error_alone(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--layer-breakdown");
    assert_printed("layer-breakdown.tsv");
    assert_is_log(&run);
    assert_contains(run.err, " INFO    Layers found for 91% of operations\n");
    assert_lacks(run.err, "DEBUG");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "-v");
    assert_printed("layer-breakdown.tsv");
    assert_is_log(&run);
}

static void quiet_leaves_warnings_and_errors(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "-q");
    assert_string_equal(run.err, "");
    assert_printed("layer-breakdown.tsv");
    RUN(&run, CASE_PROFILE, "--solve", "--quiet", "--num-ipus=6", "--mem-per-tile=94476",
        "--solver=popliner");
    assert_printed("solve-N6-M94476.json");
    assert_is_log(&run);
    assert_contains(run.err, "WARNING Used 4 IPUs instead of the 6 requested.\n");
    assert_lacks(run.err, "INFO");
    /* of quiet and verbose the last one counts; either can be taken back */
    static const char *const quiet[][3] = {
        {"-v", "-q"}, {"-q"}, {"-q", "-v", "--quiet"}, {"-q", "--no-verbose"}};
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        RUN(&run, CASE_PROFILE, "--layer-breakdown", quiet[i][0], quiet[i][1], quiet[i][2]);
        assert_string_equal(run.err, "");
    }
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "-q", "--no-quiet");
    assert_contains(run.err, " INFO ");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "-q", "-v");
    assert_contains(run.err, " DEBUG ");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--no-layer-breakdown=x");
    assert_refused(&run, 2, "--no-layer-breakdown takes no value");
    RUN(&run, in_scratch("missing"), "--solve", "-q");
    assert_refused(&run, 3, "missing: no such file");
}

static void verbose_tells_steps_with_time_and_memory(void **state) {
    (void)state;
    static const char *const steps[] = {
        "Reading the profile and the debug information",
        "Finding the operations",
        "Finding the layers",
        "Measuring all stages",
        "Solving",
        "Total",
    };
    RUN(&run, CASE_PROFILE, "--solve", "--verbose");
    assert_int_equal(run.status, 0);
    assert_is_log(&run);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char begin[100];
        snprintf(begin, sizeof begin, "DEBUG   %s: ", steps[i]);
        const char *place = strstr(run.err, begin);
        double seconds = -1;
        long mebibytes = -1;
        assert_non_null(place);
        assert_int_equal(
            sscanf(place + strlen(begin), "%lf s, peak memory %ld MiB", &seconds, &mebibytes), 2);
        assert_true(seconds >= 0 && seconds < 100);
        assert_true(mebibytes > 0 && mebibytes < 100000);
    }
    assert_contains(run.err, "8573 lowered variables");
    assert_contains(run.err, " 84 operations\n");
    /* standard output holds the JSON alone */
    assert_int_equal(run.out[0], '[');
}

static void shows_no_progress_of_what_is_quick(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--solve", "-v");
    assert_lacks(run.err, "\r");
    assert_lacks(run.err, "[#");
    RUN_ON_TERMINAL(&run, CASE_PROFILE, "--solve");
    assert_int_equal(run.status, 0);
    assert_int_equal(run.out[0], '[');
    /* nor there of what is over at once; tests/log_test.c looks at the bar itself */
    assert_lacks(run.err, "[#");
    assert_lacks(run.err, "left");
    RUN_ON_TERMINAL(&run, CASE_PROFILE, "--solve", "-q");
    assert_lacks(run.err, "%");
}

/* ---- Output --------------------------------------------------------------------------------- */

static void several_actions_print_one_after_another(void **state) {
    (void)state;
    static char expected[1 << 18];
    size_t size = 0;
    for (size_t i = 0; i < NUM_ACTIONS; i++) {
        RUN(&run, CASE_PROFILE, actions[i], "--num-ipus=3");
        assert_int_equal(run.status, 0);
        assert_true(size + run.out_size < sizeof expected);
        memcpy(expected + size, run.out, run.out_size + 1);
        size += run.out_size;
    }
    /* in the same order, whatever the order of the options */
    RUN(&run, CASE_PROFILE, actions[5], actions[3], actions[1], actions[0], actions[2], actions[4],
        "--num-ipus=3");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, expected);
}

/* The stages as JSON; checks that they have all the keys of the original, and no others but those
 * of the full memory model. */
static json_t *parse_stages(bool is_full) {
    static const char *const keys[] = {
        "total_mem",     "max_tile_mem", "variables",   "vertex_code", "vertex_state",
        "exchange_code", "control_code", "unexplained", "layout",      "unexplained_always_live"};
    size_t num_keys = is_full ? 10 : 7;
    json_error_t error;
    json_t *stages = json_loadb(run.out, run.out_size, JSON_REJECT_DUPLICATES, &error);
    size_t place;
    json_t *stage;
    assert_true(json_is_array(stages));
    json_array_foreach(stages, place, stage) {
        json_t *memory = json_object_get(stage, "mem");
        json_int_t parts = 0;
        assert_int_equal(json_object_size(stage), is_full ? 5 : 3);
        if (is_full) {
            /* the units at the ends are in the stages at the ends, and have no layer's name */
            const json_t *head = json_object_get(stage, "head");
            const json_t *tail = json_object_get(stage, "tail");
            assert_true(json_is_boolean(head) && json_is_boolean(tail));
            assert_true(place == 0 || json_is_false(head));
            assert_true(place + 1 == json_array_size(stages) || json_is_false(tail));
            assert_true(json_is_true(head) || json_is_true(tail) ||
                        json_is_string(json_object_get(stage, "layer_from")));
        }
        assert_non_null(json_object_get(stage, "layer_from"));
        assert_non_null(json_object_get(stage, "layer_to"));
        assert_int_equal(json_object_size(memory), num_keys);
        for (size_t i = 0; i < num_keys; i++) {
            json_t *value = json_object_get(memory, keys[i]);
            assert_true(json_is_integer(value));
            parts += i >= 2 && i < 9 ? json_integer_value(value) : 0;
        }
        assert_int_equal(json_integer_value(json_object_get(memory, "total_mem")), parts);
    }
    return stages;
}

static const char *text_of(const json_t *stages, size_t place, const char *key) {
    return json_string_value(json_object_get(json_array_get(stages, place), key));
}

static void splits_are_json(void **state) {
    (void)state;
    static const char *const solvers[] = {"auto", "ilp", "dp", "popliner"};
    for (size_t i = 0; i < 4; i++) {
        if (i == 1 && !test_has_glpk())
            continue;
        RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=4", "--mem-per-tile=94476",
            "--memory-model=popliner", "--solver", solvers[i]);
        assert_int_equal(run.status, 0);
        json_t *stages = parse_stages(false);
        assert_int_equal(json_array_size(stages), 4);
        assert_true(json_is_null(json_object_get(json_array_get(stages, 0), "layer_from")));
        assert_string_equal(text_of(stages, 0, "layer_to"), "0");
        assert_string_equal(text_of(stages, 3, "layer_from"), "3");
        assert_string_equal(text_of(stages, 3, "layer_to"), "3");
        json_decref(stages);
    }
    /* bytes of a character that the regex cut apart do not break it */
    RUN(&run, CASE_PROFILE, "--solve", "--layer-name-regex=(.)\"?$", "--mem-per-tile=99999999");
    json_decref(parse_stages(true));
    RUN(&run, CASE_PROFILE, "--solve", "--layer-name-regex=(.)\"?$", "--mem-per-tile=99999999",
        "--memory-model=popliner");
    json_decref(parse_stages(false));
}

/* The full model is what --solve counts by, and its answer tells of what no layer has. */
static void solves_in_the_full_model(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=1", "--memory-model=full");
    assert_int_equal(run.status, 0);
    char *whole = strdup(run.out);
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=1");
    assert_string_equal(run.out, whole);
    free(whole);
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=1", "--effects=accumulators");
    /* on one IPU head and tail are in the one stage, which ends with the last layer */
    json_t *stages = parse_stages(true);
    assert_int_equal(json_array_size(stages), 1);
    const json_t *stage = json_array_get(stages, 0);
    assert_true(json_is_true(json_object_get(stage, "head")));
    assert_true(json_is_true(json_object_get(stage, "tail")));
    assert_true(json_is_null(json_object_get(stage, "layer_from")));
    assert_string_equal(text_of(stages, 0, "layer_to"), "3");
    assert_contains(run.err, "SUCCESS: [ Head 0 1 2 3 Tail ]");
    /* to the byte what the compiler counts */
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(CASE_PROFILE, &database, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database,
                                        "SELECT sum(always_live_bytes + not_always_live_max_bytes),"
                                        " max(always_live_bytes + not_always_live_max_bytes) FROM "
                                        "memory_by_tile",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const json_t *memory = json_object_get(stage, "mem");
    assert_int_equal(json_integer_value(json_object_get(memory, "total_mem")),
                     sqlite3_column_int64(statement, 0));
    assert_int_equal(json_integer_value(json_object_get(memory, "max_tile_mem")),
                     sqlite3_column_int64(statement, 1));
    sqlite3_finalize(statement);
    sqlite3_close(database);
    json_decref(stages);
    /* several stages: one begins with the head, one ends with the tail, all have the unexplained */
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=3");
    stages = parse_stages(true);
    size_t last = json_array_size(stages) - 1;
    assert_true(last > 0);
    assert_true(json_is_true(json_object_get(json_array_get(stages, 0), "head")));
    assert_true(json_is_true(json_object_get(json_array_get(stages, last), "tail")));
    assert_string_equal(text_of(stages, last, "layer_to"), "3");
    const json_t *first = json_object_get(json_array_get(stages, 0), "mem");
    for (size_t i = 1; i <= last; i++) {
        memory = json_object_get(json_array_get(stages, i), "mem");
        assert_true(json_equal(json_object_get(first, "unexplained"),
                               json_object_get(memory, "unexplained")));
        assert_true(json_equal(json_object_get(first, "unexplained_always_live"),
                               json_object_get(memory, "unexplained_always_live")));
    }
    json_decref(stages);
}

static void counts_layers_in_the_full_model(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--memory-model=popliner");
    assert_printed("layer-breakdown.tsv");
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--memory-model=full");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\tTotal (MB)\tUnexplained\t\nHead\t");
    assert_contains(run.out, "\nTail\t");
    assert_lacks(run.out, "None");
    size_t num_rows = 0;
    const char *line = run.out;
    for (; *line != '\0' && *line != '\n'; line = strchr(line, '\n') + 1) {
        size_t num_tabs = 0;
        for (const char *c = line; *c != '\n'; c++)
            num_tabs += *c == '\t';
        assert_int_equal(num_tabs, num_rows == 0 ? 8 : 7); /* every row has all columns */
        num_rows++;
    }
    assert_int_equal(num_rows, 1 + 6); /* four layers between head and tail */
    assert_string_equal(line, "\n");
}

static void no_split_is_status_1_with_the_best_effort(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2", "--mem-per-tile=2197",
        "--memory-model=popliner");
    assert_int_equal(run.status, 1);
    assert_is_log(&run);
    assert_contains(run.err, "INFO    FAILURE: Unable to fit model on IPUs.");
    assert_lacks(run.err, "SUCCESS");
    assert_lacks(run.err, "Proven");
    json_t *stages = parse_stages(false); /* the best without the limit */
    assert_int_equal(json_array_size(stages), 2);
    assert_string_equal(text_of(stages, 1, "layer_to"), "3");
    json_decref(stages);
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2", "--mem-per-tile=54928", "--solver=popliner");
    assert_int_equal(run.status, 1);
    stages = parse_stages(false); /* what the last attempt placed */
    assert_int_equal(json_array_size(stages), 1);
    json_decref(stages);
    /* what was asked for besides is printed all the same */
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--solve", "--mem-per-tile=1");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "Total (MB)");
}

/* Without a layer there is nothing to choose from; what may be layers is told instead. */
static void no_layer_is_status_1_with_what_may_be_layers(void **state) {
    (void)state;
    static const char *const actions_on_layers[] = {"--solve", "--evaluate=Head"};
    for (size_t i = 0; i < 2; i++) {
        RUN(&run, CASE_PROFILE, actions_on_layers[i], "--layer-name-regex=nothing(\\d)", "-q");
        assert_int_equal(run.status, 1);
        assert_is_log(&run);
        assert_string_equal(run.out, "");
        assert_contains(run.err, "ERROR   No layer was found, so there is nothing to split: ");
        /* as in operation-breakdown.tsv */
        assert_contains(run.err, "The first operations are 'Anonymous', "
                                 "'Layer0/Attention/Z/Mask/Less', ");
        assert_contains(run.err, "--layer-name-regex '(?:^|[/.])Layer(\\d+)' would find 4 layers");
    }
    RUN(&run, CASE_PROFILE, "--solve", "--layer-name-regex=(?:^|[/.])Layer(\\d+)", "-q");
    assert_int_equal(run.status, 0);
    /* tables are as before, and come first */
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--layer-name-regex=nothing(\\d)", "-q");
    assert_int_equal(run.status, 0);
    char *table = strdup(run.out);
    RUN(&run, CASE_PROFILE, "--layer-breakdown", "--solve", "--layer-name-regex=nothing(\\d)",
        "-q");
    assert_int_equal(run.status, 1);
    assert_string_equal(run.out, table);
    free(table);
    /* one IPU needs no layers, nor does the whole model, nor did the original */
    RUN(&run, CASE_PROFILE, "--solve", "--layer-name-regex=nothing(\\d)", "--num-ipus=1");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "SUCCESS: [ Head ]");
    RUN(&run, CASE_PROFILE, "--evaluate=whole", "--layer-name-regex=nothing(\\d)", "-q");
    assert_int_equal(run.status, 0);
    RUN(&run, CASE_PROFILE, "--solve", "--layer-name-regex=nothing(\\d)", "--solver=popliner",
        "-q");
    assert_int_equal(run.status, 0);
    /* of a stored analysis, too */
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q");
    RUN(&run, in_scratch("stored"), "--load-from-file", "--solve",
        "--layer-name-regex=nothing(\\d)", "-q");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "would find 4 layers");
    RUN(&run, "--help", "exit-status");
    assert_contains(run.out, "no layer was found");
}

static void warns_when_ipus_are_left_over(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=7");
    assert_int_equal(run.status, 0);
    json_t *stages = parse_stages(true);
    char warning[100];
    assert_true(json_array_size(stages) < 7);
    snprintf(warning, sizeof warning, "WARNING Used %zu IPUs instead of the 7 requested.",
             json_array_size(stages));
    assert_contains(run.err, warning);
    json_decref(stages);
    /* one is told as one, and that there are few is no news to those who asked for it */
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2", "--objective=traffic", "-q");
    assert_contains(run.err, "WARNING Used 1 IPU instead of the 2 requested.\n");
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2", "--objective=traffic,ipus", "-q");
    assert_lacks(run.err, "instead of");
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=2");
    assert_lacks(run.err, "instead of");
}

static void takes_the_limit_from_the_profile(void **state) {
    (void)state;
    const char *file = in_scratch("profile.pop");
    copy_file(CASE_PROFILE, file, SIZE_MAX);
    change_database(file, "UPDATE target_info SET bytes_per_tile = 109856");
    RUN(&run, file, CASE_DEBUG, "--solve", "--solver=popliner", "--num-ipus=3");
    assert_printed("solve-N3-M109856.json");
}

static void lost_output_is_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_ACTIONS; i++) {
        const char *ipus = strcmp(actions[i], "--solve") == 0 ? "--num-ipus=2" : NULL;
        RUN_INTO(&run, "/dev/full", CASE_PROFILE, actions[i], "-q", ipus);
        assert_refused(&run, 3, "standard output cannot be written: No space left on device");
        RUN_INTO(&run, NULL, CASE_PROFILE, actions[i], "-q", ipus);
        assert_refused(&run, 3, "standard output cannot be written: Bad file descriptor");
    }
    RUN_INTO(&run, "/dev/full", "--help");
    assert_refused(&run, 3, "standard output cannot be written");
    RUN_INTO(&run, NULL, "--version");
    assert_refused(&run, 3, "standard output cannot be written");
}

static void leaves_the_profile_as_it_is(void **state) {
    (void)state;
    make_directory(in_scratch("run"));
    const char *profile = in_scratch("run/profile.pop");
    const char *debug = in_scratch("run/debug.cbor");
    copy_file(CASE_PROFILE, profile, SIZE_MAX);
    copy_file(CASE_DEBUG, debug, SIZE_MAX);
    assert_int_equal(chmod(profile, 0444), 0);
    assert_int_equal(chmod(debug, 0444), 0);
    assert_int_equal(chmod(in_scratch("run"), 0555), 0);
    uint64_t profile_hash = hash_file(profile);
    uint64_t debug_hash = hash_file(debug);
    struct stat before;
    struct stat after;
    assert_int_equal(stat(profile, &before), 0);
    RUN(&run, in_scratch("run"), actions[0], actions[1], actions[2], actions[3], actions[4],
        actions[5], "--save-to-file", in_scratch("stored"), "-q");
    assert_int_equal(chmod(in_scratch("run"), 0755), 0);
    assert_int_equal(run.status, 0);
    assert_int_equal(stat(profile, &after), 0);
    assert_int_equal(after.st_mtime, before.st_mtime);
    assert_int_equal(after.st_size, before.st_size);
    assert_true(hash_file(profile) == profile_hash);
    assert_true(hash_file(debug) == debug_hash);
    assert_holds(in_scratch("run"), "debug.cbor profile.pop");
    assert_holds(in_scratch(""), "run stored");
}

/* ---- Names that a terminal would obey ------------------------------------------------------- */

/* Whether the text holds ESC, DEL, C1 as UTF-8, a byte that is no ASCII otherwise, or what turns
 * the direction: of what make_hostile wrote. */
static bool is_obeyed(const char *text) {
    return strpbrk(text, "\x1b\x7f") != NULL || strstr(text, "\xc2\x9b") != NULL ||
           strstr(text, "\xe2\x80\xae") != NULL;
}

static void assert_not_obeyed(const char *what, const command_run *r) {
    if (is_obeyed(r->out) || is_obeyed(r->err))
        fail_msg("%s: a terminal would obey: %s%s", what, r->out, r->err);
}

/* A report whose operations, variables and vertex types have such names. */
static void make_hostile(void) {
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), SIZE_MAX);
    change_database(
        in_scratch("profile.pop"),
        "UPDATE vars_string_table SET string = string || char(27, 91, 127, 155, 8238, 10);"
        "UPDATE vertex_types SET name = char(27, 127, 155, 8238) || name;"
        "UPDATE string_table SET string = char(27, 127, 155, 8238) || string");
    size_t size;
    size_t num_found = 0;
    uint8_t *bytes = test_read_bytes(CASE_DEBUG, &size);
    for (size_t i = 0; i + 6 < size; i++)
        if (memcmp(bytes + i, "MatMul", 6) == 0) {
            memcpy(bytes + i, "\x1b[31m\n", 6);
            num_found++;
        }
    assert_true(num_found > 0);
    test_write_bytes(in_scratch("debug.cbor"), bytes, size);
    free(bytes);
}

static void names_are_no_orders_for_a_terminal(void **state) {
    (void)state;
    static const char *const ours[] = {"--solve", "--diagnose", "--output=variables",
                                       "--output=operations", "--output=diagnosis"};
    static const char *const formats[] = {"--format=tsv", "--format=csv", "--format=json",
                                          "--format=text"};
    make_hostile();
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        RUN(&run, in_scratch(""), ours[i], "-v");
        assert_int_equal(run.status, 0);
        assert_not_obeyed(ours[i], &run);
        for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
            RUN(&run, in_scratch(""), ours[i], formats[k], "-v");
            assert_not_obeyed(ours[i], &run);
        }
    }
    RUN(&run, in_scratch(""), "--output", "tiles", "--format", "plot");
    assert_not_obeyed("--format plot", &run);
    RUN(&run, in_scratch(""), "--evaluate", "1", "-v");
    assert_not_obeyed("--evaluate", &run);
    /* names of units, and of files and regexes in messages */
    static const char costs[] = "name,memory,time\n\xc2\x9bm,10,1\n\xe2\x80\xaex,20,2\n";
    test_write_bytes(in_scratch("costs.csv"), costs, sizeof costs - 1);
    RUN(&run, in_scratch("costs.csv"), "--solve", "--num-ipus=2", "-v");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\\u009bm\t\\u009bm");
    assert_not_obeyed("costs", &run);
    for (size_t k = 0; k < 3; k++) {
        RUN(&run, in_scratch("costs.csv"), "--solve", "--num-ipus=2", formats[k]);
        assert_int_equal(run.status, 0);
        assert_not_obeyed(formats[k], &run);
    }
    RUN(&run, in_scratch("\x1b[31m\xc2\x9b\xe2\x80\xae\x9b\n"), "--solve");
    assert_refused(&run, 3, "\\u001b[31m\\u009b\\u202e\\x9b\\n: no such file");
    assert_not_obeyed("a path", &run);
}

/* The original's tables hold the bytes, but not on a terminal. */
static void tables_of_the_original_keep_their_bytes(void **state) {
    (void)state;
    static char shown[1 << 16];
    make_hostile();
    RUN(&run, in_scratch(""), "-q", "--operation-breakdown");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\x1b[31m\n");
    int screen = posix_openpt(O_RDWR | O_NOCTTY);
    if (screen < 0 || grantpt(screen) != 0 || unlockpt(screen) != 0)
        skip(); /* no terminals here */
    int kept = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    RUN_INTO(&run, ptsname(screen), in_scratch(""), "-q", "--operation-breakdown");
    assert_int_equal(run.status, 0);
    assert_int_equal(fcntl(screen, F_SETFL, O_NONBLOCK), 0);
    size_t length = 0;
    for (ssize_t count; length + 1 < sizeof shown &&
                        (count = read(screen, shown + length, sizeof shown - 1 - length)) > 0;)
        length += (size_t)count;
    shown[length] = '\0';
    close(kept);
    close(screen);
    assert_contains(shown, "\\u001b[31m");
    assert_contains(shown, "  Vertex state  ");
    assert_false(is_obeyed(shown));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(help_has_33_lines),
        SCRATCH_TEST(help_has_topics_options_and_outputs),
        SCRATCH_TEST(version_is_one_line),
        SCRATCH_TEST(refuses_options_without_their_value),
        SCRATCH_TEST(refuses_values_that_make_no_sense),
        SCRATCH_TEST(refuses_wrong_regexes),
        SCRATCH_TEST(refuses_wrong_usage),
        SCRATCH_TEST(takes_values_behind_a_blank_or_an_equals_sign),
        SCRATCH_TEST(takes_options_before_behind_and_between_files),
        SCRATCH_TEST(refuses_what_is_no_profile),
        SCRATCH_TEST(refuses_profiles_of_other_kinds),
        SCRATCH_TEST(refuses_every_action_without_lowered_variables),
        SCRATCH_TEST(warns_of_several_ipus_and_replicas),
        SCRATCH_TEST(refuses_cut_off_profiles),
        SCRATCH_TEST(survives_damaged_profiles),
        SCRATCH_TEST(finds_debug_information),
        SCRATCH_TEST(refuses_what_is_no_debug_information),
        SCRATCH_TEST(works_without_debug_information),
        SCRATCH_TEST(works_with_cut_off_debug_information),
        SCRATCH_TEST(logs_on_standard_error_alone),
        SCRATCH_TEST(quiet_leaves_warnings_and_errors),
        SCRATCH_TEST(verbose_tells_steps_with_time_and_memory),
        SCRATCH_TEST(shows_no_progress_of_what_is_quick),
        SCRATCH_TEST(several_actions_print_one_after_another),
        SCRATCH_TEST(splits_are_json),
        SCRATCH_TEST(solves_in_the_full_model),
        SCRATCH_TEST(counts_layers_in_the_full_model),
        SCRATCH_TEST(no_split_is_status_1_with_the_best_effort),
        SCRATCH_TEST(no_layer_is_status_1_with_what_may_be_layers),
        SCRATCH_TEST(warns_when_ipus_are_left_over),
        SCRATCH_TEST(takes_the_limit_from_the_profile),
        SCRATCH_TEST(lost_output_is_an_error),
        SCRATCH_TEST(leaves_the_profile_as_it_is),
        SCRATCH_TEST(names_are_no_orders_for_a_terminal),
        SCRATCH_TEST(tables_of_the_original_keep_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
