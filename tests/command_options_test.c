/* What the command says of options before and while it works with them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

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
        {{"--sweep", "num-ipus=3"}, "--sweep num-ipus=3: expected num-ipus=A..B or "},
        {{"--sweep", "num-ipus=4..3"}, "--sweep num-ipus=4..3: expected"},
        {{"--sweep", "mem-per-tile=1..1000000:1"}, "more than 10000 values"},
        {{"--device-map", "0,1,"}, "--device-map 0,1,: expected the IPU of each stage"},
        {{"--device-map", "0,65536"}, "--device-map 0,65536: expected"},
        {{"--ipu-mem-per-tile", "0=1,1"}, "--ipu-mem-per-tile 0=1,1: expected IPUs and bytes"},
        {{"--ipu-mem-per-tile", "0:100"}, "--ipu-mem-per-tile 0:100: expected"},
        {{"--place", "3"}, "--place 3: expected a layer and its IPU, like 3=0"},
        {{"--place", "3=first"}, "--place 3=first: expected"},
        {{"--place", "0=0", "--place", "3="}, "--place 3=: expected"},
        {{"--together", "3"}, "--together 3: expected the names of two layers, like 0,5"},
        {{"--layer-name-regex", "a("}, "--layer-name-regex: invalid pattern 'a(': "},
        {{"--inputs-regex-layer-0", "[a"}, "--inputs-regex-layer-0: invalid pattern '[a': "},
    };
    const char *missing = in_scratch("missing.pop");
    const char *stored = in_scratch("stored");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].arguments;
        RUN(&run, missing, "--solve", a[0], a[1], a[2], a[3]);
        assert_refused(&run, 2, cases[i].part);
        RUN(&run, CASE_PROFILE, "--save-to-file", stored, "--solve", a[0], a[1], a[2], a[3]);
        assert_refused(&run, 2, cases[i].part);
    }
    assert_holds(in_scratch(""), "");
    /* right ones are not in the way */
    RUN(&run, missing, "--solve", "--objective", "ipus,memory", "--place", "a=b=0", "--together",
        "0,1", "--ipu-mem-per-tile", "0=1,3=5", "--layer-name-regex", "x(\\d)");
    assert_refused(&run, 3, "missing.pop: cannot be read");
}

static void refuses_wrong_values_before_costs_are_read(void **state) {
    (void)state;
    const char *missing = in_scratch("missing.json");
    RUN(&run, "--costs", missing, "--solve", "--objective", "size");
    assert_refused(&run, 2, "--objective size: expected");
    RUN(&run, "--costs", missing, "--solve", "--sweep", "ipus=1..3");
    assert_refused(&run, 2, "--sweep ipus=1..3: expected");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(refuses_wrong_values_before_anything_is_read),
        SCRATCH_TEST(refuses_wrong_values_before_costs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
