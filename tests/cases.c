/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum chosen_cases { QUICK, FULL, NIGHTLY, NUM_CHOICES } chosen_cases;

static const char *const choices[NUM_CHOICES] = {"--cases=quick", "--cases=full",
                                                 "--cases=nightly"};

static chosen_cases chosen = QUICK;
static const char *replayed_kind;
static uint64_t replayed_seed;

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

bool test_takes_case(size_t index, size_t every) {
    /* the first of `every`, not every n-th: kinds that take turns stay in the same proportion */
    if (chosen == FULL && every > 3)
        return index % every < 2;
    return index % every == 0 || test_takes_all();
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
