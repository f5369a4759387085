/* Arguments from a file are as good as those of the command line.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COSTS PROJECT_DIRECTORY "/data/costs/additive.json"

static command_run run;

static const char *write_arguments(const char *text) {
    const char *path = in_scratch("options");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return path;
}

static void takes_more_constraints_than_a_line_has_room_for(void **state) {
    (void)state;
    enum { NUM_UNITS = 3000 };
    char *costs = malloc((size_t)NUM_UNITS * 64);
    char *text = malloc((size_t)NUM_UNITS * 32);
    char *c = costs + sprintf(costs, "{\"format\": \"popliner-costs\", \"version\": 1, "
                                     "\"units\": [");
    char *t = text + sprintf(text, "--solve --num-ipus 2 --require no-cut:");
    for (int i = 0; i < NUM_UNITS; i++) {
        c += sprintf(c, "%s{\"name\": \"u%d\", \"memory\": 1}", i == 0 ? "" : ", ", i);
        if (i != 1000 && i + 1 < NUM_UNITS)
            t += sprintf(t, "%su%d", i == 0 ? "" : ",", i);
    }
    strcpy(c, "]}");
    char path[1000];
    snprintf(path, sizeof path, "@%s", write_arguments(text));
    const char *costs_path = in_scratch("costs.json");
    FILE *file = fopen(costs_path, "wb");
    assert_non_null(file);
    fputs(costs, file);
    assert_int_equal(fclose(file), 0);
    RUN(&run, costs_path, path, "--format", "csv");
    assert_int_equal(run.status, 0);
    /* all units but one may not be cut after: 1001 before that cut, and the rest */
    assert_contains(run.out, "0,0,u0,u1000,1001,");
    assert_contains(run.out, "1,1,u1001,u2999,1999,");
    free(costs);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(takes_more_constraints_than_a_line_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
