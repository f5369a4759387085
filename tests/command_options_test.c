/* What the command says of options before and while it works with them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COSTS PROJECT_DIRECTORY "/data/costs/additive.json"
#define STASH PROJECT_DIRECTORY "/data/costs/regions.json"

static command_run run;

/* ---- Wrong values --------------------------------------------------------------------------- */

/* Whether a profile is there does not matter to what is wrong without it. */
static void refuses_wrong_values_before_anything_is_read(void **state) {
    (void)state;
    static const struct {
        const char *arguments[4];
        const char *part;
    } cases[] = {
        {{"--objective", "memory,size"}, "--objective memory,size: expected some of memory, "},
        {{"--objective", "memory,memory"}, "each once"},
        {{"--objective", ","}, "--objective ,: expected"},
        {{"--pareto", "memory"}, "--pareto memory: a compromise is between two objectives, like "},
        {{"--pareto", "memory,size"}, "--pareto memory,size: expected some of memory, "},
        {{"--pareto", "memory,ipus,memory"}, "each once"},
        {{"--pareto", "throughput,memory"}, "--pareto throughput,memory: the throughput is that "},
        {{"--pareto", "memory,time"}, "each once, separated by commas; did you mean cycles?"},
        {{"--objective", "devices"}, "did you mean ipus?"},
        {{"--num-ipus", "four"}, "--num-ipus four: expected a number, like 4, or a range, like "},
        {{"--num-ipus", "4..3"}, "--num-ipus 4..3: expected a number"},
        {{"--mem-per-tile", "1..1000000:1"}, "more than 10000 values"},
        {{"--num-ipus", "1..3", "--mem-per-tile", "1K..2K"},
         "a range of --mem-per-tile: not with a range of --num-ipus, which already solves more "
         "than once"},
        {{"--device-map", "0,1,"},
         "--device-map 0,1,: expected interleaved:V, v, any, replicas, or the IPU "},
        {{"--device-map", "0,65536"}, "--device-map 0,65536: expected"},
        {{"--device-map", "interleaved"}, "--device-map interleaved: expected"},
        {{"--device-map", "interleved:2"}, "interleved is unknown; did you mean interleaved?"},
        {{"--device-map", "interleaved:0"}, "--device-map interleaved:0: expected a number from 1"},
        {{"--device-map", "interleaved:2"},
         "--device-map interleaved:2: on how many IPUs? Give --num-ipus"},
        {{"--device-map", "v"}, "--device-map v: on how many IPUs? Give --num-ipus"},
        {{"--device-map", "interleaved:40000", "--num-ipus", "2"},
         "--device-map interleaved:40000: 40000 stages on each of 2 IPUs are more than 65536"},
        {{"--device-map", "0,1,0", "--num-ipus", "1..2"},
         "--num-ipus: not with a list of --device-map"},
        {{"--mem-per-tile", "1,2"}, "--mem-per-tile 1,2: has two values for all of them"},
        {{"--mem-per-tile", "0=1,0=2"}, "--mem-per-tile 0=1,0=2: IPU 0 has a limit already"},
        {{"--mem-per-tile", "0..2=1,1=2"}, "IPU 1 has a limit already"},
        {{"--mem-per-tile", "0:100"}, "--mem-per-tile 0:100: expected bytes, like 600K or 624KiB"},
        {{"--mem-per-tile", "2..1=5"}, "--mem-per-tile 2..1=5: expected bytes"},
        {{"--ipu-speed", "0=2,x"}, "--ipu-speed 0=2,x: expected speeds from"},
        {{"--ipu-speed", "0=0"}, "--ipu-speed 0=0: expected speeds from 0.001 to 1000"},
        {{"--ipu-speed", "0=-1"}, "--ipu-speed 0=-1: expected"},
        {{"--ipu-speed", "0=0.0009"}, "--ipu-speed 0=0.0009: expected"},
        {{"--ipu-speed", "0=1000.000001"}, "--ipu-speed 0=1000.000001: expected"},
        {{"--ipu-speed", "0=1.0000001"}, "--ipu-speed 0=1.0000001: expected"},
        {{"--ipu-speed", "0=1."}, "--ipu-speed 0=1.: expected"},
        {{"--ipu-speed", "0=1,"}, "--ipu-speed 0=1,: expected"},
        {{"--ipu-speed", "0=1,0=1"}, "--ipu-speed 0=1,0=1: IPU 0 has a speed already"},
        {{"--bandwidth", "x"}, "--bandwidth x: expected bytes in a cycle, like 64 or 34.6"},
        {{"--bandwidth", "0"}, "--bandwidth 0: expected bytes"},
        {{"--bandwidth", "0.0"}, "--bandwidth 0.0: expected bytes"},
        {{"--bandwidth", "-1"}, "--bandwidth -1: expected bytes"},
        {{"--bandwidth", "1."}, "--bandwidth 1.: expected bytes"},
        {{"--bandwidth", "0-1"}, "--bandwidth 0-1: expected bytes"},
        {{"--bandwidth", "0-1="}, "--bandwidth 0-1=: expected bytes"},
        {{"--bandwidth", "1-1=4"}, "--bandwidth 1-1=4: expected bytes"},
        {{"--bandwidth", "0-1=4,"}, "--bandwidth 0-1=4,: expected bytes"},
        {{"--bandwidth", "0.1234567891"}, "--bandwidth 0.1234567891: expected bytes"},
        {{"--bandwidth", "4,5"}, "--bandwidth 4,5: has two values for all of them"},
        {{"--bandwidth", "0-1=4,1-0=5"}, "the link of IPUs 1 and 0 has a bandwidth already"},
        {{"--require", "place:3"}, "--require place:3: expected LAYER=IPU, like place:3=0,5=1"},
        {{"--require", "place:3:1"}, "place:3:1: expected LAYER=IPU; did you mean place:3=1?"},
        {{"--require", "place:0=0,3"}, "--require place:0=0,3: expected LAYER=IPU"},
        {{"--require", "place:0=0,3=1,"}, "expected the name of a layer before and after each ','"},
        {{"--require", "place:3=first"}, "--require place:3=first: expected LAYER=IPU"},
        {{"--require", "place:0=0", "--require", "place:3="}, "--require place:3=: expected"},
        {{"--require", "together:3"},
         "expected the names of two layers or more, like together:0,5"},
        {{"--require", "cut:"}, "--require cut:: expected a rule: cut:3, no-cut:3, together:1,3, "},
        {{"--require", "3"}, "--require 3: expected a rule: cut:3"},
        {{"--require", "togther:3,4"}, "togther is unknown; did you mean together?"},
        {{"--require", "layers:2..x"}, "expected layers:A..B, like layers:1..4, layers:2.. or "},
        {{"--require", "layers:.."}, "--require layers:..: expected layers:A..B"},
        {{"--require", "layers:3..2"}, "--require layers:3..2: expected layers:A..B"},
        {{"--require", "layers:..0"}, "--require layers:..0: expected layers:A..B"},
        {{"--layer-name-regex", "a("}, "--layer-name-regex: invalid pattern 'a(': "},
        {{"--inputs-regex-layer-0", "[a"}, "--inputs-regex-layer-0: invalid pattern '[a': "},
    };
    const char *missing = in_scratch("missing.pop");
    const char *stored = in_scratch("stored");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!test_takes_case(i, 3))
            continue;
        const char *const *a = cases[i].arguments;
        RUN(&run, missing, "--solve", a[0], a[1], a[2], a[3]);
        assert_refused(&run, 2, cases[i].part);
        RUN(&run, CASE_PROFILE, "--save-to-file", stored, "--solve", a[0], a[1], a[2], a[3]);
        assert_refused(&run, 2, cases[i].part);
    }
    assert_holds(in_scratch(""), "");
    /* right ones are not in the way */
    RUN(&run, missing, "--solve", "--objective", "ipus,memory", "--require", "together:0,1",
        "--require", "place:a\\=b=0", "--mem-per-tile", "0=1,3=5", "--ipu-speed",
        "0=0.001,3=2,1=1000", "--layer-name-regex", "x(\\d)", "--bandwidth",
        "64K,0-1=34.6,5-4=0.000000001");
    assert_refused(&run, 3, "missing.pop: no such file");
}

static void refuses_wrong_values_before_costs_are_read(void **state) {
    (void)state;
    const char *missing = in_scratch("missing.json");
    RUN(&run, missing, "--solve", "--objective", "size");
    assert_refused(&run, 2, "--objective size: expected");
    RUN(&run, missing, "--solve", "--num-ipus", "1..3x");
    assert_refused(&run, 2, "--num-ipus 1..3x: expected");
}

/* ---- What an action ignores ----------------------------------------------------------------- */

/* Every option that is not for every run, and the actions that use it. Whether a profile is there
 * does not matter. */
static const struct {
    const char *option;
    const char *value;
    const char *actions;    /* that use it */
    bool is_only_warned_of; /* by actions that PopLiner 1.0.0 had: it ignored the option there */
} uses[] = {
    {"--num-ipus", "2", "--solve --evaluate", true},
    {"--mem-per-tile", "600K", "--solve --evaluate", true},
    {"--reserve", "5%", "--solve --evaluate", false},
    {"--schedule", "popart", "--solve --evaluate", false},
    {"--recompute", "none", "--solve --evaluate", false},
    {"--schedule", "1f1b", "--solve --evaluate", false},
    {"--effects", "accumulators", "--solve --evaluate", false},
    {"--effects", "layout,passing,buffers", "--solve --evaluate", false},
    {"--need", "expected", "--solve --evaluate", false},
    {"--memory-model", "full",
     "--solve --evaluate --diagnose --memory-totals --operation-breakdown --layer-breakdown "
     "--save-to-file",
     false},
    {"--layers", "0..0", "--diagnose", false},
    {"--layers", "only:all", "--diagnose", false},
    {"--solver", "ilp", "--solve", false},
    {"--objective", "memory", "--solve", false},
    {"--slack", "1", "--solve", false},
    {"--device-map", "0", "--solve --evaluate", false},
    {"--device-map", "interleaved:1", "--solve --evaluate", false},
    {"--device-map", "v", "--solve --evaluate", false},
    {"--mem-per-tile", "0=1K", "--solve --evaluate", true},
    {"--ipu-speed", "0=2", "--solve", false},
    {"--bandwidth", "64", "--solve", false},
    {"--pareto", "memory,ipus", "--solve", false},
    {"--require", "layers:1..", "--solve", false},
    {"--require", "layers:..1", "--solve", false},
    {"--require", "cut:0", "--solve", false},
    {"--require", "no-cut:0", "--solve", false},
    {"--require", "together:0,1", "--solve", false},
    {"--require", "place:0=0", "--solve", false},
    /* how it is read, and what is for every run */
    {"--layer-name-regex", "x", NULL, false},
    {"--inputs-regex-layer-0", "x", NULL, false},
    {"--layer-order", "natural", NULL, false},
    {"--load-from-file", NULL, NULL, false},
    {"--threads", "1", NULL, false},
    {"--quiet", NULL, NULL, false},
    {"--verbose", NULL, NULL, false},
};

static void refuses_options_that_no_action_uses(void **state) {
    (void)state;
    const struct {
        const char *name;
        const char *value;
        bool is_new; /* PopLiner 1.0.0 did not have it */
    } actions[] = {
        {"--solve", NULL, false},
        {"--evaluate", "whole", true},
        {"--diagnose", NULL, true},
        {"--memory-totals", NULL, false},
        {"--operation-breakdown", NULL, false},
        {"--layer-breakdown", NULL, false},
        {"--memory-affinity", NULL, false},
        {"--interlayer-communication", NULL, false},
        {"--save-to-file", in_scratch("stored"), false},
    };
    enum { NUM_ACTIONS = sizeof actions / sizeof *actions };
    const char *missing = in_scratch("missing.pop");
    char message[100];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        for (size_t k = 0; k < NUM_ACTIONS; k++) {
            if (!test_takes_case(i + k, 12))
                continue;
            const char *arguments[7] = {missing, uses[i].option};
            bool is_used =
                uses[i].actions == NULL || strstr(uses[i].actions, actions[k].name) != NULL;
            size_t count = 2;
            if (uses[i].value != NULL)
                arguments[count++] = uses[i].value;
            bool is_of_ipus = uses[i].value != NULL && (strncmp(uses[i].value, "inter", 5) == 0 ||
                                                        strcmp(uses[i].value, "v") == 0);
            if (is_used && is_of_ipus)
                arguments[count++] = "--num-ipus=2";
            arguments[count++] = actions[k].name;
            arguments[count] = actions[k].value;
            run_command(&run, arguments);
            if (is_used) {
                assert_int_equal(run.status, 3);
                assert_contains(run.err, "missing.pop: no such file");
            } else if (uses[i].is_only_warned_of && !actions[k].is_new) {
                assert_int_equal(run.status, 3);
                snprintf(message, sizeof message, "WARNING %s does nothing here: ", uses[i].option);
                assert_contains(run.err, message);
            } else {
                snprintf(message, sizeof message, "%s: not used by %s; it is for --",
                         uses[i].option, actions[k].name);
                assert_refused(&run, 2, message);
            }
        }
    /* one that uses it is enough */
    RUN(&run, missing, "--solve", "--diagnose", "--layers=0..0", "--solver=ilp");
    assert_refused(&run, 3, "missing.pop: no such file");
    RUN(&run, missing, "--layers=0", "--memory-totals", "--evaluate=0", "--layer-breakdown");
    assert_refused(&run, 2,
                   "--layers: not used by --evaluate, --memory-totals and --layer-breakdown; it is "
                   "for --diagnose\n");
    RUN(&run, missing, "--memory-totals", "--format=json", "--memory-model=popliner");
    assert_refused(&run, 2, "--memory-model: not used by --memory-totals --format json");
}

/* The number of IPUs is that of a given split, too. */
static void refuses_splits_over_more_ipus_than_there_are(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "-q", "--evaluate=0,1", "--num-ipus=2");
    assert_refused(&run, 2, "--evaluate 0,1: has 3 stages, more than --num-ipus 2");
    RUN(&run, COSTS, "-q", "--evaluate=embedding,block 1", "--total-ipus=2", "--micro-batches=4");
    assert_refused(&run, 2, "--evaluate embedding,block 1: has 3 stages, more than --total-ipus 2");
    RUN(&run, CASE_PROFILE, "-q", "--evaluate=0,1");
    assert_int_equal(run.status, 0);
    char *expected = strdup(run.out);
    RUN(&run, CASE_PROFILE, "-q", "--evaluate=0,1", "--num-ipus=3");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, expected);
    free(expected);
}

/* A page of costs is refused before anything is solved or written. */
static void refuses_pages_of_costs(void **state) {
    (void)state;
    static const char *const page = "--output=page=page.html";
    char text[401 * 8 + 32] = "name,memory\n";
    for (size_t i = 0; i < 401; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "l%zu,1\n", i);
    const char *file = in_scratch("costs");
    test_write_bytes(file, text, strlen(text));
    RUN_FROM(&run, in_scratch(""), file, "--solve", page);
    assert_refused(
        &run, 2, "--output page: a page has at most 400 units, but the costs have 401; join some");
    RUN_FROM(&run, in_scratch(""), STASH, "--solve", page);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_contains(run.err,
                    "--output page: a page has no number for the stage a to d, which the ");
    RUN_FROM(&run, in_scratch(""), STASH, "--solve", page, "--total-ipus=4", "--micro-batches=2");
    assert_refused(&run, 2, "--output page: not with --total-ipus of a file of costs");
    RUN_FROM(&run, in_scratch(""), COSTS, "--solve", page, "--recompute=auto");
    assert_refused(&run, 2, "--recompute auto: not with --output page");
    static const char graph[] =
        "{\"nodes\": [{\"id\": 0, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}, "
        "{\"id\": 1, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}, "
        "{\"id\": 2, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}], "
        "\"edges\": [{\"sourceId\": 0, \"destId\": 2, \"cost\": 1}]}";
    test_write_bytes(file, graph, strlen(graph));
    RUN_FROM(&run, in_scratch(""), file, "--solve", page);
    assert_refused(&run, 2, "--output page: the graph is no chain with bytes on its cuts; give a ");
    assert_int_equal(access(in_scratch("page.html"), F_OK), -1);
}

static void tells_what_costs_leave_no_use_for(void **state) {
    (void)state;
    static const char unlimited[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": "
                                    "[{\"name\": \"a\", \"memory\": 7}]}";
    static const char graph[] = "node1 -- A -- forward_compute_time=1.0, "
                                "backward_compute_time=2.0, activation_size=8.0, "
                                "parameter_size=4.0\n";
    const char *file = in_scratch("costs");
    test_write_bytes(file, unlimited, strlen(unlimited));
    RUN(&run, file, "--solve", "--output", "trace=trace.json");
    assert_refused(&run, 2, "--output trace: is for profiles, not for a file of costs");
    RUN(&run, file, "--evaluate", "whole", "--slack=3");
    assert_refused(&run, 2,
                   "--slack: not with --evaluate of a file of costs, whose cuts are fixed");
    RUN(&run, file, "-q", "--evaluate", "whole");
    assert_string_equal(run.out, "stage\tipu\tfrom\tto\tmemory\tcycles\tcut\n"
                                 "0\t0\ta\ta\t7\t0\t0\n");
    RUN(&run, file, "-q");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "group\tname\tvalue\ncount\tunits\t1\ncount\tlayers\t1\n"
                                 "memory\twhole_bytes\t7\n");
    RUN(&run, file, "-q", "--format", "text");
    assert_contains(run.out, "All units together need 7 bytes; there is no limit.\n");
    RUN(&run, COSTS, "-q", "--format", "text");
    assert_contains(run.out, "on one device: all units together need ");
    RUN(&run, file, "--solve", "--fail-on=growth=5%");
    assert_refused(&run, 2, "--fail-on growth: needs --compare");
    RUN(&run, file, "--solve", "--threads=2");
    assert_refused(&run, 2, "--threads: not with a file of costs, as it is for profiles");
    RUN(&run, file, "-q", "--solve", "--reserve=1");
    assert_refused(&run, 2, "--reserve: the costs have no limit of memory ");
    RUN(&run, file, "-q", "--solve", "--reserve=1", "--num-ipus=1..2");
    assert_refused(&run, 2, "--reserve: the costs have no limit of memory ");
    static const char *const limits[] = {"--mem-per-tile=8..9,0=8"};
    for (size_t i = 0; i < 3; i++) {
        RUN(&run, file, "-q", "--solve", "--reserve=1", limits[i]);
        assert_int_equal(run.status, 0);
    }
    RUN(&run, file, "--solve", "--schedule=popart");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "WARNING --schedule popart: the costs have no stash ");
    RUN(&run, file, "--solve", "--schedule=inference");
    assert_lacks(run.err, "WARNING");
    test_write_bytes(file, graph, strlen(graph));
    RUN(&run, file, "--solve", "--schedule=popart");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "WARNING --schedule popart: a graph has no stash, ");
    RUN(&run, STASH, "--solve", "--schedule=popart");
    assert_lacks(run.err, "WARNING");
    RUN(&run, STASH, "--solve", "--schedule=popart", "--recompute=full");
    assert_lacks(run.err, "WARNING");
}

/* Whichever order is best for so many stages, and the times as they were. */
static void tells_the_order_of_a_graph(void **state) {
    (void)state;
    static const char graph[] =
        "{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 8.229}, {\"id\": 2, \"fpgaLatency\": 1},"
        " {\"id\": 3, \"fpgaLatency\": 8.229}, {\"id\": 4, \"fpgaLatency\": 1}], \"edges\": ["
        "{\"sourceId\": 1, \"destId\": 3, \"cost\": 9},"
        "{\"sourceId\": 2, \"destId\": 4, \"cost\": 9}]}";
    const char *file = in_scratch("costs");
    test_write_bytes(file, graph, strlen(graph));
    RUN(&run, file, "--solve", "--num-ipus=2", "--format=json");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\"value\": 16.458,");
    assert_contains(run.out, "\"order\": \"depth first\",");
    assert_contains(run.out, "\"proven\": true,");
    assert_contains(run.err, "INFO    Proven optimal of all contiguous partitions of the graph: "
                             "slowest IPU 16.458000");
    RUN(&run, file, "--solve", "--num-ipus=2", "--format=json", "--slack=0.5");
    assert_contains(run.out, "\"proven\": false,");
    assert_contains(run.err, "INFO    The units make a chain depth first; another order may "
                             "be better.");
    assert_contains(run.err, "INFO    Proven optimal of this order: slowest IPU ");
    RUN(&run, file, "--solve", "--num-ipus=1", "--format=json");
    assert_contains(run.out, "\"value\": 18.458,");
    assert_contains(run.out, "\"order\": \"by number\",");
    RUN(&run, file, "--solve", "--num-ipus=1..2", "--format=json");
    assert_contains(run.out, "\"order\": \"depth first\",");
    assert_contains(run.err, "WARNING The units make a chain depth first;");
}

/* A graph with another order, and one without. */
static void claims_nothing_of_other_orders(void **state) {
    (void)state;
    static const char graph[] =
        "{\"maxSizePerFPGA\": 10, \"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"size\": 4}, "
        "{\"id\": 2, \"fpgaLatency\": 1, \"size\": 6},"
        " {\"id\": 3, \"fpgaLatency\": 1, \"size\": 6}, {\"id\": 4, \"fpgaLatency\": 1, \"size\": "
        "4}], \"edges\": ["
        "{\"sourceId\": 1, \"destId\": 3, \"cost\": 1}, {\"sourceId\": 2, \"destId\": 4, \"cost\": "
        "1}%s]}";
    char text[sizeof graph + 200];
    const char *file = in_scratch("costs");
    snprintf(text, sizeof text, graph, ", {\"sourceId\": 1, \"destId\": 2, \"cost\": 1}");
    test_write_bytes(file, text, strlen(text));
    RUN(&run, file, "--solve", "--num-ipus=1", "--format=json");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "\"order\": \"");
    assert_contains(run.err, "WARNING No contiguous partition of the graph over 1 device fits.");
    snprintf(text, sizeof text, graph,
             ", {\"sourceId\": 1, \"destId\": 2, \"cost\": 1}, {\"sourceId\": 2, \"destId\": 3, "
             "\"cost\": 1},"
             " {\"sourceId\": 3, \"destId\": 4, \"cost\": 1}");
    test_write_bytes(file, text, strlen(text));
    RUN(&run, file, "--solve", "--num-ipus=1", "--format=json");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "\"order\": null,");
    assert_contains(run.err, "WARNING No split over 1 device fits.");
}

/* ---- Mistyped names ------------------------------------------------------------------------- */

static void names_the_nearest_option(void **state) {
    (void)state;
    static const struct {
        const char *argument;
        const char *message;
    } cases[] = {
        {"--slove", "--slove: unknown option; did you mean --solve?\n"},   /* exchanged */
        {"--sole", "--sole: unknown option; did you mean --solve?\n"},     /* left out */
        {"--ssolve", "--ssolve: unknown option; did you mean --solve?\n"}, /* put in */
        {"--solwe", "--solwe: unknown option; did you mean --solve?\n"},   /* replaced */
        {"--SOLVE", "--SOLVE: unknown option; did you mean --solve?\n"},   /* case */
        {"-solve", "-solve: unknown option; did you mean --solve?\n"},     /* one dash */
        {"--solver2=ilp", "--solver2=ilp: unknown option; did you mean --solver?\n"},
        {"--num-ipu=3", "--num-ipu=3: unknown option; did you mean --num-ipus?\n"},
        {"--layer-breakdonw", "did you mean --layer-breakdown?\n"},
        {"--memory_afinity", "did you mean --memory-affinity?\n"},
        /* nothing is near enough to be meant */
        {"--so", "--so: unknown option; see popliner --help\n"},
        {"--save", "--save: unknown option; see popliner --help\n"},
        {"--frobnicate", "--frobnicate: unknown option; see popliner --help\n"},
        {"-x", "-x: unknown option; see popliner --help\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RUN(&run, cases[i].argument, CASE_PROFILE);
        assert_refused(&run, 2, cases[i].message);
    }
}

/* Two values of an option that has one: the last one counts, and the user is told. Said again, or
 * of those that may be repeated, it is no mistake. */
static void warns_of_two_values(void **state) {
    (void)state;
    static const struct {
        const char *arguments[4];
        const char *message;
    } cases[] = {
        {{"--num-ipus", "3", "--num-ipus", "4"}, "--num-ipus was given twice: 4 counts, not 3.\n"},
        {{"--num-ipus=3", "--num-ipus=4"}, "--num-ipus was given twice: 4 counts, not 3.\n"},
        {{"--objective", "memory", "--objective=cycles"},
         "--objective was given twice: cycles counts, not memory.\n"},
        {{"--solver", "dp", "--solver", "ilp"}, "--solver was given twice: ilp counts, not dp.\n"},
        {{"--mem-per-tile", "600K", "--mem-per-tile", "1M"},
         "--mem-per-tile was given twice: 1M counts, not 600K.\n"},
        {{"--slack=1", "--slack=2"}, "--slack was given twice: 2 counts, not 1.\n"},
        {{"--reserve=1%", "--reserve=gaps"}, "--reserve was given twice: gaps counts, not 1%.\n"},
        {{"--effects=none", "--effects=all"}, "--effects was given twice: all counts, not none.\n"},
        {{"--ipu-speed=0=2", "--ipu-speed=0=3"},
         "--ipu-speed was given twice: 0=3 counts, not 0=2.\n"},
        {{"--time-limit=1", "--time-limit=9"}, "--time-limit was given twice: 9 counts, not 1.\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[8] = {CASE_PROFILE, "--solve"};
        for (size_t k = 0; k < 4 && cases[i].arguments[k] != NULL; k++)
            arguments[2 + k] = cases[i].arguments[k];
        run_command(&run, arguments);
        assert_non_null(strstr(run.err, cases[i].message));
    }
    RUN(&run, CASE_PROFILE, "-q", "--solve", "--num-ipus", "1", "--num-ipus", "2", "--output=plan",
        "--format=tsv");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "\n1\t1\t")); /* the second stage is on IPU 1 */
    RUN(&run, CASE_PROFILE, "-q", "-q", "--solve", "--solve", "--num-ipus", "3", "--num-ipus=3",
        "--require=cut:0,1", "--mem-per-tile=1M", "--mem-per-tile=1M");
    assert_int_equal(run.status, 0);
    assert_null(strstr(run.err, "twice"));
}

static void names_the_nearest_value(void **state) {
    (void)state;
    static const struct {
        const char *arguments[2];
        const char *message;
    } cases[] = {
        {{"--format", "jsn"}, "--format jsn: jsn is unknown; did you mean json?\n"},
        {{"--format", "CSV"}, "CSV is unknown; did you mean csv?\n"},
        {{"--solver", "poplner"}, "poplner is unknown; did you mean popliner?\n"},
        {{"--memory-model", "poplinr"}, "poplinr is unknown; did you mean popliner?\n"},
        {{"--schedule", "popat"}, "popat is unknown; did you mean popart?\n"},
        {{"--recompute", "ful"}, "ful is unknown; did you mean full?\n"},
        {{"--effects", "layuot"}, "--effects layuot: layuot is unknown; did you mean layout?\n"},
        {{"--effects", "layout,bufers"}, "bufers is unknown; did you mean buffers?\n"},
        {{"--effects", "layout,none"}, "--effects layout,none: none is given alone\n"},
        {{"--effects", "layout,"}, "expected all, none, or some of layout, passing, buffers, acc"},
        {{"--effects", "layoutlayoutlayout"}, "expected all, none, or some of layout, passing"},
        {{"--effects", "accumulators=fp61"}, "expected accumulators, accumulators=fp16 or acc"},
        {{"--effects", "layout=fp16"}, "--effects layout=fp16: layout has no value\n"},
        {{"--need", "atmost"}, "atmost is unknown; did you mean at-most?\n"},
        {{"--layer-order", "step"}, "step is unknown; did you mean steps?\n"},
        {{"--objective", "memroy"}, "separated by commas; did you mean memory?\n"},
        {{"--objective", "memory,cycle,ipus"}, "separated by commas; did you mean cycles?\n"},
        {{"--objective", "memory,memory"}, "separated by commas\n"},
        {{"--objective", "speed"}, "separated by commas\n"},
        {{"--solver", "simplex"}, "expected one of auto, ilp, dp, popliner\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RUN(&run, CASE_PROFILE, "--solve", cases[i].arguments[0], cases[i].arguments[1]);
        assert_refused(&run, 2, cases[i].message);
    }
}

/* Only the full model knows effects, and the greedy algorithm does not use it. */
static void effects_are_of_the_full_model(void **state) {
    (void)state;
    static const char *const options[] = {"--effects=layout,accumulators", "--need=expected"};
    RUN(&run, CASE_PROFILE, "--solve", "--memory-model=popliner", "--total-ipus=2",
        "--micro-batches=2", "--bandwidth=replicas=1");
    assert_refused(&run, 2, "--bandwidth replicas: not with --memory-model popliner");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        RUN(&run, CASE_PROFILE, "--solve", "--memory-model=popliner", options[i]);
        assert_refused(&run, 2, ": not with --memory-model popliner, which");
        RUN(&run, CASE_PROFILE, "--solve", "--solver=popliner", options[i]);
        assert_int_equal(run.status, 2);
        assert_string_equal(run.out, "");
        RUN(&run, PROJECT_DIRECTORY "/data/costs/additive.json", "--solve", options[i]);
        assert_int_equal(run.status, 2);
        assert_string_equal(run.out, "");
    }
}

/* The layers are called Layer0 to Layer3 here. */
static void names_the_nearest_layer(void **state) {
    (void)state;
    static const struct {
        const char *arguments[3];
        const char *message;
    } cases[] = {
        {{"--solve", "--require", "cut:Lyaer1"},
         "--require cut:Lyaer1: no layer Lyaer1; did you mean Layer1?\n"},
        {{"--solve", "--require", "no-cut:layer2"}, "did you mean Layer2?\n"},
        {{"--solve", "--require", "cut:head"}, "did you mean Head?\n"},
        {{"--solve", "--require", "place:Leyer3=1"},
         "--require place:Leyer3=1: no layer Leyer3; did you mean Layer3?\n"},
        {{"--solve", "--require", "place:Layer0=0,Leyer3=1,Layer2=1"},
         "Leyer3=1,Layer2=1: no layer Leyer3; did you mean Layer3?\n"},
        {{"--solve", "--require", "together:Layr0,Layer1"},
         "no layer Layr0; did you mean Layer0?\n"},
        {{"--solve", "--require", "together:Layer0,Laier1"},
         "no layer Laier1; did you mean Layer1?\n"},
        {{"--evaluate=Layer0,Laye2", NULL}, "no layer Laye2; did you mean Layer2?\n"},
        {{"--diagnose", "--layers", "Layer0..Layre2"}, "no layer Layre2; did you mean Layer2?\n"},
        {{"--diagnose", "--layers", "Layer2..Layer0"},
         "ends before it begins; expected A..B, like 2..5\n"},
        {{"--solve", "--require", "cut:encoder"},
         "; there are Head, Layer0, Layer1, Layer2, Layer3, Tail\n"},
        {{"--evaluate=encoder", NULL},
         "no layer encoder; there are Head, Layer0, Layer1, Layer2, Layer3, Tail\n"},
        /* a number is wrong, not mistyped */
        {{"--solve", "--require", "cut:100"},
         "; there are Head, Layer0, Layer1, Layer2, Layer3, Tail\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].arguments;
        RUN(&run, CASE_PROFILE, "-q", "--layer-name-regex=Layer\\d", a[0], a[1], a[2]);
        assert_refused(&run, 2, cases[i].message);
    }
}

/* A list is what its members are one by one, and so in the answer; names may look like lists. */
static void takes_lists_of_places(void **state) {
    (void)state;
    static const char costs[] =
        "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [{\"name\": \"a\"}, "
        "{\"name\": \"b=0,a\"}, {\"name\": \"c,d\"}, {\"name\": \"e\"}]}";
    static const struct {
        const char *list;
        const char *members[4];
    } cases[] = {
        {"a=0,c\\,d=1", {"--require=place:a=0", "--require=place:c\\,d=1"}},
        {"a=0,b=0\\,a=1,e=3",
         {"--require=place:a=0", "--require=place:b\\=0\\,a=1", "--require=place:e=3"}},
        {"b=0\\,a=1,a=0", {"--require=place:b=0\\,a=1", "--require=place:a=0"}},
    };
    const char *file = in_scratch("costs");
    test_write_bytes(file, costs, strlen(costs));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *m = cases[i].members;
        RUN(&run, file, "--solve", "--num-ipus=4", "--format=json", "-q", m[0], m[1], m[2]);
        assert_int_equal(run.status, 0);
        char *expected = strdup(run.out);
        char rule[60];
        snprintf(rule, sizeof rule, "--require=place:%s", cases[i].list);
        RUN(&run, file, "--solve", "--num-ipus=4", "--format=json", "-q", rule);
        assert_int_equal(run.status, 0);
        assert_string_equal(run.out, expected);
        free(expected);
    }
    RUN(&run, file, "--solve", "-q", "--require=place:a=0,x=1");
    assert_refused(&run, 2, "--require place:a=0,x=1: no layer x; there are a, b=0,a, c,d, e");
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=3", "--require=place:1=0,2=1,3=2",
        "--output=plan", "--format=csv", "-q");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\n0,0,Head,1,");
    assert_contains(run.out, "\n1,1,2,2,");
    assert_contains(run.out, "\n2,2,3,Tail,");
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

/* Whether the limit that an evaluation tells is so many bytes. */
static void assert_limit(const char *bytes) {
    char part[100];
    assert_int_equal(run.status >= 0 && run.status <= 1, 1);
    snprintf(part, sizeof part, " the limit of %s\n", bytes);
    assert_contains(run.out, part);
}

static void takes_sizes_with_units(void **state) {
    (void)state;
    static const struct {
        const char *size;
        const char *bytes;
    } cases[] = {
        {"638976", "638976"},
        {"624KiB", "638976"},
        {"624K", "624000"},
        {"638.976K", "638976"},
        {"1.5M", "1500000"},
        {"0.5MiB", "524288"},
        {"00.50MiB", "524288"},
        {"2MiB", "2097152"},
        {"3G", "3000000000"},
        {"1.000000001G", "1000000001"},
        {"1.25GiB", "1342177280"},
        {"0.0009765625KiB", "1"},
        {"7.0", "7"},
        {"1.5 GB", "1500000000"},
        {"4GB", "4000000000"},
        {"640kB", "640000"},
        {"1 MiB", "1048576"},
        {"9223372036854775.807K", "9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!test_takes_case(i, 3))
            continue;
        RUN(&run, CASE_PROFILE, "-q", "--evaluate=whole", "--mem-per-tile", cases[i].size);
        assert_limit(cases[i].bytes);
    }
    RUN(&run, CASE_PROFILE, "-q", "--evaluate=whole", "--mem-per-tile=600K", "--reserve=1.5KiB");
    assert_limit("598464");
    RUN(&run, CASE_PROFILE, "-q", "--evaluate=whole", "--mem-per-tile=600K", "--reserve=0");
    assert_limit("600000");
}

static void takes_sizes_of_single_ipus_and_sweeps(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "-q", "--solve", "--num-ipus=2", "--format=json",
        "--mem-per-tile=1=0.2M,0=200KiB");
    assert_contains(run.out, "\"1\": 200000");
    assert_contains(run.out, "\"0\": 204800");
    RUN(&run, CASE_PROFILE, "-q", "--solve", "--num-ipus=2", "--mem-per-tile", "200K..0.3M:50KiB",
        "--format=csv");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "mem-per-tile,status,");
    assert_contains(run.out, "\n200000,");
    assert_contains(run.out, "\n251200,");
    assert_lacks(run.out, "\n302400,");
}

static void refuses_what_is_no_size(void **state) {
    (void)state;
    static const char *const sizes[] = {"1k",
                                        "1KBs",
                                        "1kib",
                                        "1Ki",
                                        "1  K",
                                        "K",
                                        ".5M",
                                        "1.M",
                                        "1.5.5",
                                        "1K5",
                                        "0K",
                                        "1.5",
                                        "1.0001K",
                                        "0.3KiB",
                                        "-1K",
                                        "1e3K",
                                        "0x1K",
                                        "9223372036854775808",
                                        "9223372036854775.808K",
                                        "8589934592GiB",
                                        "99999999999999999999G"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char limits[100];
        char sweep[100];
        if (!test_takes_case(i, 3))
            continue;
        const size_t digits = strspn(sizes[i], "0123456789");
        const bool has_unit = *sizes[i] != '0' && digits == 1 &&
                              isalpha((unsigned char)sizes[i][1]) &&
                              strpbrk(sizes[i] + 1, "0123456789") == NULL;
        RUN(&run, "missing.pop", "--solve", "--mem-per-tile", sizes[i]);
        assert_refused(&run, 2,
                       has_unit                 ? "write 1K (1,000 bytes) or 1KiB (1,024)"
                       : strlen(sizes[i]) == 19 ? "expected at most 9223372036854775807 bytes"
                                                : "expected bytes, like 600K or 624KiB");
        if (strcmp(sizes[i], "0K") != 0) {
            snprintf(limits, sizeof limits, "0=1M,1=%s", sizes[i]);
            RUN(&run, "missing.pop", "--solve", "--mem-per-tile", limits);
            assert_refused(&run, 2, "expected bytes, like 600K or 624KiB, also 0=600K");
            RUN(&run, "missing.pop", "--solve", "--reserve", sizes[i]);
            assert_refused(&run, 2,
                           has_unit ? "write 1K (1,000 bytes) or 1KiB (1,024)"
                                    : "like 60000 or 60K, a percentage, like 5%, or gaps");
        }
        snprintf(sweep, sizeof sweep, "1..%s", sizes[i]);
        RUN(&run, "missing.pop", "--solve", "--mem-per-tile", sweep);
        assert_refused(&run, 2, "or a range 400K..600K:50K");
    }
    /* numbers that are no sizes have no units */
    RUN(&run, "missing.pop", "--solve", "--num-ipus=1K");
    assert_refused(&run, 2, "--num-ipus 1K: expected a number, like 4");
    RUN(&run, "missing.pop", "--solve", "--num-ipus=1..1K");
    assert_refused(&run, 2, "--num-ipus 1..1K: expected a number");
    RUN(&run, "--help", "mem-per-tile");
    assert_contains(run.out, "KB, MB, GB: powers of 1000");
}

/* ---- Standard input ------------------------------------------------------------------------- */

static void reads_costs_from_standard_input(void **state) {
    (void)state;
    static const char graph[] = "node1 -- A -- forward_compute_time=1.0, "
                                "backward_compute_time=2.0, activation_size=8.0, "
                                "parameter_size=4.0\n"
                                "node2 -- B -- forward_compute_time=1.0, "
                                "backward_compute_time=2.0, activation_size=8.0, "
                                "parameter_size=4.0\n"
                                "\tnode1 -- node2\n";
    const char *graph_path = in_scratch("graph.txt");
    const char *const paths[] = {COSTS, graph_path};
    test_write_bytes(graph_path, graph, strlen(graph));
    for (size_t i = 0; i < 2; i++) {
        RUN(&run, paths[i], "--solve", "--num-ipus=3", "-q");
        assert_int_equal(run.status, 0);
        char *expected = strdup(run.out);
        RUN_FROM(&run, paths[i], "-", "--solve", "--num-ipus=3", "-q");
        assert_int_equal(run.status, 0);
        assert_string_equal(run.out, expected);
        RUN_FROM(&run, paths[i], "-", "--solve", "--num-ipus=3", "-q");
        assert_string_equal(run.out, expected);
        free(expected);
    }
}

static void refuses_what_is_wrong_on_standard_input(void **state) {
    (void)state;
    const char *file = in_scratch("costs");
    test_write_bytes(file, "{\"format\":\n}", 13);
    RUN_FROM(&run, file, "-", "--solve");
    assert_refused(&run, 3, "ERROR   standard input: line 2, column 1: ");
    test_write_bytes(file, "", 0);
    RUN_FROM(&run, file, "-", "--solve");
    assert_refused(&run, 3, "ERROR   standard input: not a cost file; expected ");
    RUN_FROM(&run, in_scratch(""), "-", "--solve");
    assert_refused(&run, 3, "ERROR   standard input: cannot be read: Is a directory");
    RUN_FROM(&run, "/dev/zero", "-", "--solve");
    assert_refused(&run, 3, "standard input: is longer than 256 MiB; give the name of a file");
    RUN_FROM(&run, COSTS, "-", "--num-ipus=1..2", "--device-map=interleaved:2",
             "--schedule=interleaved");
    assert_int_equal(run.status, 2);
    assert_contains(run.err,
                    "standard input: with --schedule interleaved the costs are read again");
    /* what is read must not be overwritten, whatever it is called */
    copy_file(COSTS, file, SIZE_MAX);
    RUN_FROM(&run, file, "-", "--solve", "--num-ipus=2", "--output", output_into("lp", file));
    assert_refused(&run, 2, "would overwrite the file of costs that is read");
}

/* ---- Formats -------------------------------------------------------------------------------- */

/* The table of a split has the numbers of the same answer as JSON. */
static void prints_splits_as_tables(void **state) {
    (void)state;
    static const struct {
        const char *format;
        char delimiter;
    } formats[] = {{"csv", ','}, {"tsv", '\t'}};
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=3", "--format=json", "-q");
    assert_int_equal(run.status, 0);
    json_t *answer = json_loads(run.out, 0, NULL);
    json_t *stages = json_object_get(answer, "stages");
    assert_int_equal(json_array_size(stages), 3);
    for (size_t f = 0; f < 2; f++) {
        char header[] = "stage,ipu,from,to,memory,cycles,cut,";
        for (char *c = header; *c != '\0'; c++)
            *c = *c == ',' ? formats[f].delimiter : *c;
        RUN(&run, CASE_PROFILE, "--output=plan", "--num-ipus=3", "--format", formats[f].format,
            "-q");
        assert_int_equal(run.status, 0);
        assert_int_equal(strncmp(run.out, header, strlen(header)), 0);
        const char *line = strchr(run.out, '\n') + 1;
        size_t place;
        json_t *stage;
        json_array_foreach(stages, place, stage) {
            const json_t *from = json_object_get(stage, "layer_from");
            const json_t *memory = json_object_get(stage, "mem");
            bool is_last = place + 1 == json_array_size(stages);
            char expected[200];
            const char d = formats[f].delimiter;
            /* the profile tells no cycles, so that column is empty */
            assert_true(json_is_null(json_object_get(stage, "cycles")));
            snprintf(expected, sizeof expected, "%zu%c%zu%c%s%c%s%c%lld%c%c%lld%c", place, d, place,
                     d, json_is_null(from) ? "Head" : json_string_value(from), d,
                     is_last ? "Tail" : json_string_value(json_object_get(stage, "layer_to")), d,
                     (long long)json_integer_value(json_object_get(memory, "max_tile_mem")), d, d,
                     (long long)json_integer_value(json_object_get(stage, "cut_bytes")), d);
            assert_int_equal(strncmp(line, expected, strlen(expected)), 0);
            line = strchr(line, '\n') + 1;
        }
        assert_string_equal(line, "");
    }
    json_decref(answer);
    /* what was not calculated is empty, not 0 */
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=1", "--solver=popliner", "--output=plan",
        "--format=csv", "-q");
    assert_contains(run.out, "\n0,0,None,3,");
    assert_contains(run.out, ",,,638976,");
}

static void refuses_formats_that_an_action_has_not(void **state) {
    (void)state;
    static const struct {
        const char *arguments[4];
        const char *part;
    } cases[] = {
        {{"--diagnose", "--format=csv"},
         "--format csv: --diagnose prints text or json; its table is --output diagnosis\n"},
        {{"--diagnose", "--format=tsv"}, "--format tsv: --diagnose prints text or json"},
        {{"--evaluate=whole", "--format=csv"}, "--format csv: --evaluate prints text or json"},
        {{"--evaluate=whole", "--layer-breakdown", "--format=tsv"},
         "--evaluate prints text or json"},
        {{"--solve", "--memory-totals", "--format=json"},
         "a document of its own; print one of them\n"},
        {{"--output=optimum", "--format=csv"}, "--output optimum, which has a format of its own\n"},
        {{"--output=answer", "--format=csv"}, "not for --output answer, which has json alone\n"},
        {{"--output=answer=x.csv"}, "--output answer=x.csv: answer has json alone\n"},
        {{"--solve", "--format=plot"}, "Give --output tiles, liveness or plan\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].arguments;
        RUN(&run, "missing.pop", a[0], a[1], a[2], a[3]);
        assert_refused(&run, 2, cases[i].part);
    }
    RUN(&run, CASE_PROFILE, "--evaluate=whole", "--layer-breakdown", "-q");
    assert_int_equal(run.status, 0);
}

/* Of a value that is longer than a message the middle is left out. */
static void says_what_helps_behind_a_long_value(void **state) {
    (void)state;
    char value[1500];
    char path[1600];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    RUN(&run, CASE_PROFILE, "-q", "--solve", "--evaluate", value);
    assert_refused(&run, 2, "; there are Head, 0 to 3, Tail\n");
    assert_non_null(strstr(run.err, " [...] xxx"));
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus", value);
    assert_refused(&run, 2, "xxx: expected a number, like 4");
    snprintf(path, sizeof path, "/tmp/%s", value);
    RUN(&run, "--config", path);
    assert_refused(&run, 3, "xxx: cannot be read: File name too long\n");
    /* what the command adds to a message of the library */
    memset(value, '\0', sizeof value);
    snprintf(value, sizeof value, "%s", in_scratch(""));
    for (size_t length = strlen(value); length < 990; length += 2)
        strcat(value, "./");
    strcat(value, "stored");
    copy_file(CASE_PROFILE, in_scratch("stored"), SIZE_MAX);
    RUN(&run, value, "--load-from-file", "--solve");
    assert_refused(&run, 3, "; only files written by --output analysis=FILE can be loaded\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(refuses_wrong_values_before_anything_is_read),
        SCRATCH_TEST(refuses_wrong_values_before_costs_are_read),
        SCRATCH_TEST(refuses_options_that_no_action_uses),
        SCRATCH_TEST(refuses_splits_over_more_ipus_than_there_are),
        SCRATCH_TEST(refuses_pages_of_costs),
        SCRATCH_TEST(tells_what_costs_leave_no_use_for),
        SCRATCH_TEST(tells_the_order_of_a_graph),
        SCRATCH_TEST(claims_nothing_of_other_orders),
        SCRATCH_TEST(names_the_nearest_option),
        SCRATCH_TEST(warns_of_two_values),
        SCRATCH_TEST(names_the_nearest_value),
        cmocka_unit_test(effects_are_of_the_full_model),
        SCRATCH_TEST(names_the_nearest_layer),
        SCRATCH_TEST(takes_lists_of_places),
        SCRATCH_TEST(says_what_helps_behind_a_long_value),
        SCRATCH_TEST(takes_sizes_with_units),
        SCRATCH_TEST(takes_sizes_of_single_ipus_and_sweeps),
        SCRATCH_TEST(refuses_what_is_no_size),
        SCRATCH_TEST(reads_costs_from_standard_input),
        SCRATCH_TEST(refuses_what_is_wrong_on_standard_input),
        SCRATCH_TEST(prints_splits_as_tables),
        SCRATCH_TEST(refuses_formats_that_an_action_has_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
