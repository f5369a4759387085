/* Windows of values against every split of a made-up list: the smallest spread is found, in few
 * steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "solve/problem.h"

#include <stdbool.h>

enum { MOST_SPLITS = 40 };

/* The smallest and the largest value of each split. */
typedef struct splits {
    uint64_t min[MOST_SPLITS];
    uint64_t max[MOST_SPLITS];
    size_t count;
} splits;

static splits draw_splits(uint64_t *random, uint64_t range, uint64_t base) {
    splits s = {.count = 1 + test_below(random, MOST_SPLITS)};
    for (size_t i = 0; i < s.count; ++i) {
        s.min[i] = base + test_below(random, range);
        s.max[i] = s.min[i] + test_below(random, range);
    }
    return s;
}

/* Any split within the filter, by what is asked first; the count of the list if there is none. */
static size_t find(const splits *s, const pl_limits *limits, uint64_t *random) {
    size_t from = test_below(random, s->count);
    for (size_t k = 0; k < s->count; ++k) {
        size_t i = (from + k) % s->count;
        if (s->min[i] >= limits->min_peak_bytes && s->max[i] <= limits->max_peak_bytes)
            return i;
    }
    return s->count;
}

static void finds_the_smallest_spread(void **state) {
    (void)state;
    static const uint64_t ranges[] = {1, 3, 50, 1000000};
    static const uint64_t bases[] = {0, 7, (uint64_t)1 << 50, UINT64_MAX - 2000001};
    uint64_t random = 3;
    for (size_t round = 0; round < 4000; ++round) {
        splits s = draw_splits(&random, ranges[round % 4], bases[round / 4 % 4]);
        uint64_t expected = UINT64_MAX;
        uint64_t best = UINT64_MAX;
        size_t num_steps = 0;
        for (size_t i = 0; i < s.count; ++i)
            if (s.max[i] - s.min[i] < expected)
                expected = s.max[i] - s.min[i];
        for (pl_windows w = PL_WINDOWS_INIT; !w.is_over && best > 0; ++num_steps) {
            const pl_filter filter = {.limits = {.max_peak_bytes = UINT64_MAX - 1}};
            const pl_limits limits = pl_windows_limits(&w, best - 1, &filter);
            size_t i = find(&s, &limits, &random);
            if (i == s.count) {
                pl_windows_skip(&w, best - 1);
                continue;
            }
            if (s.max[i] - s.min[i] < best)
                best = s.max[i] - s.min[i];
            else
                pl_windows_narrow(&w, best - 1, s.max[i]);
        }
        assert_true(best == expected);
        assert_true(num_steps < 3000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_smallest_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
