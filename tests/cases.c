/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* what processes have used */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Of a processor, for the cases of a test in the quick run. */
static const double BUDGET_SECONDS = 0.3;

typedef enum chosen_cases { QUICK, FULL, NIGHTLY, NUM_CHOICES } chosen_cases;

static const char *const choices[NUM_CHOICES] = {"--cases=quick", "--cases=full",
                                                 "--cases=nightly"};

static chosen_cases chosen = QUICK;
static const char *replayed_kind;
static uint64_t replayed_seed;
static size_t num_taken;
static size_t num_left;
static bool was_short;

bool test_choose_cases(int num_arguments, char **arguments) {
    if (num_arguments == 2) {
        replayed_kind = arguments[0];
        replayed_seed = strtoull(arguments[1], NULL, 10);
        return true;
    }
    for (chosen_cases choice = QUICK; num_arguments == 1 && choice < NUM_CHOICES; choice++) {
        if (strcmp(arguments[0], choices[choice]) == 0) {
            chosen = choice;
            return true;
        }
    }
    return num_arguments == 0;
}

bool test_takes_all(void) {
    static bool is_told = false;
    if (chosen >= FULL)
        return true;
    if (!is_told)
        printf("[  QUICK   ] not all cases\n");
    is_told = true;
    return false;
}

static double seconds_of(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* Whether the budget has room for this case: the less is left, the fewer of all are taken, by a
 * fixed order that looks random. So kinds that come late have their share. */
static bool is_within_budget(size_t index) {
    const char *given = getenv("POPLINER_TEST_SECONDS");
    const double budget = given == NULL ? BUDGET_SECONDS : atof(given);
    const double left = 1 - (seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN)) / budget;
    const uint64_t mixed = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mixed >> 32) / 4294967296.0 < left;
}

static bool is_of_run(size_t index, size_t every) {
    /* the first of `every`, not every n-th: kinds that take turns stay in the same proportion */
    if (chosen == FULL && every > 3)
        return index % every < 2;
    if (chosen >= FULL)
        return true;
    if (index == 0 || (index % every == 0 && is_within_budget(index)))
        return true;
    was_short = was_short || index % every == 0;
    return test_takes_all();
}

bool test_takes_case(size_t index, size_t every) {
    const bool is_taken = is_of_run(index, every);
    *(is_taken ? &num_taken : &num_left) += 1;
    return is_taken;
}

bool test_was_short(void) {
    return was_short;
}

void test_report_cases(void) {
    if (num_taken + num_left > 0)
        printf("[  CASES   ] %zu taken, %zu left\n", num_taken, num_left);
}

size_t test_chosen(size_t quick, size_t full, size_t nightly) {
    return chosen == NIGHTLY ? nightly : test_takes_all() ? full : quick;
}

bool test_replays(const char *kind, uint64_t *seed) {
    if (replayed_kind == NULL || strcmp(replayed_kind, kind) != 0)
        return false;
    *seed = replayed_seed;
    return true;
}
