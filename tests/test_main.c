/* A program that holds the tests of several concepts, and runs those of one:
 *
 *     PROGRAM CONCEPT [--cases=quick|full|nightly | TEST | KIND SEED]
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "concepts.h"
#include "test.h"

#include <sqlite3.h>

static int fail_usage(const char *program) {
    fprintf(stderr, "Usage: %s CONCEPT [--cases=quick|full|nightly | TEST | KIND SEED]\nConcepts:",
            program);
    for (const test_concept *concept = test_concepts; concept->name != NULL; concept ++)
        fprintf(stderr, " %s", concept->name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int num_arguments, char **arguments) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* what nobody asks for, with a lock each time */
    if (num_arguments == 3 && *arguments[2] != '-') { /* the name of one test, which may have '*' */
        cmocka_set_test_filter(arguments[2]);
        num_arguments = 2;
    }
    if (num_arguments < 2 || !test_choose_cases(num_arguments - 2, arguments + 2))
        return fail_usage(arguments[0]);
    for (const test_concept *concept = test_concepts; concept->name != NULL; concept ++) {
        if (strcmp(concept->name, arguments[1]) != 0)
            continue;
        const int failed = concept->run();
        test_report_cases();
        return failed;
    }
    return fail_usage(arguments[0]);
}
