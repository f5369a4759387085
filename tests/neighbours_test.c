/* Splits near a known one: of short chains that are all, so the best of them is found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/shared/shared.h"

#include <math.h>
#include <string.h>

enum { NUM_INSTANCES = 1000 };

static const pl_stop never = {.deadline_seconds = INFINITY};

static pl_shared_search ask(const shared_instance *in, const pl_stop *stop, pl_shared *shared) {
    return (pl_shared_search){.problem = &in->problem, .stop = stop, .shared = shared};
}

static pl_split earliest(const every_split *e) {
    pl_split split = {0};
    for (size_t stage = 0; stage < e->in->options.num_mapped_stages; ++stage)
        assert_true(pl_split_append(&split, e->earliest[stage]));
    return split;
}

/* What the split in first_units has of an objective, and the least that any split has. */
static void read_values(every_split *e, popliner_objective objective, uint64_t *value,
                        uint64_t *least) {
    uint64_t cut_bytes;
    assert_true(is_split_fine(e, &cut_bytes));
    const uint64_t values[] = {e->peak_bytes, e->cycles, cut_bytes, 0, e->spread};
    const uint64_t fewest[] = {e->smallest_bytes, e->fewest_cycles, e->fewest_bytes, 0,
                               e->least_spread};
    *value = values[objective];
    *least = fewest[objective];
}

/* From the earliest cuts, however bad they are; in half of the chains the spread is limited. */
static void finds_the_best_of_short_chains(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_checked = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        if (!test_takes_case(seed, 47))
            continue;
        draw_shared_instance(&in, seed);
        in.filter.spread_is_of_cycles = seed / 16 % 2 == 0;
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        if (e.num_splits > 0 && seed / 32 % 2 == 0) {
            in.filter.max_spread = e.least_spread + seed / 64 % 3 * 2;
            e = try_every_split(&in, in.options.mem_per_tile);
        }
        pl_shared shared = {0};
        const pl_shared_search search = ask(&in, &never, &shared);
        for (int objective = 0; e.num_splits > 0 && objective < POPLINER_OBJECTIVE_HEADROOM;
             ++objective) {
            uint64_t value;
            uint64_t least;
            pl_split split = earliest(&e);
            assert_int_equal(pl_neighbours_improve(&search, &in.filter,
                                                   (popliner_objective)objective, 60.0, false,
                                                   &split, NULL),
                             POPLINER_OK);
            memcpy(e.first_units, split.first_units, split.num_stages * sizeof *e.first_units);
            read_values(&e, (popliner_objective)objective, &value, &least);
            assert_int_equal(value, least);
            ++num_checked;
            pl_split_clear(&split);
        }
        pl_shared_free(&shared);
        discard_shared_instance(&in);
    }
    print_message("%zu checked\n", num_checked);
    assert_true(num_checked > 0);
}

/* Without time, and when it is to stop, the split stays. With an empty one nothing happens. */
static void ends_in_time(void **state) {
    (void)state;
    static shared_instance in;
    size_t none = 0;
    const pl_stop at_once = {
        .deadline_seconds = INFINITY, .should_stop = test_stop_after, .user = &none};
    draw_shared_instance(&in, 0);
    every_split e = try_every_split(&in, in.options.mem_per_tile);
    assert_true(e.num_splits > 0);
    pl_shared shared = {0};
    for (int is_stopped = 0; is_stopped < 2; ++is_stopped) {
        pl_split split = earliest(&e);
        const pl_shared_search search = ask(&in, is_stopped ? &at_once : &never, &shared);
        assert_int_equal(pl_neighbours_improve(&search, &in.filter, POPLINER_OBJECTIVE_MEMORY,
                                               is_stopped ? 60.0 : 0.0, true, &split, NULL),
                         POPLINER_OK);
        assert_memory_equal(split.first_units, e.earliest,
                            split.num_stages * sizeof *split.first_units);
        pl_split_clear(&split);
        assert_int_equal(pl_neighbours_improve(&search, &in.filter, POPLINER_OBJECTIVE_MEMORY, 60.0,
                                               true, &split, NULL),
                         POPLINER_OK);
        assert_int_equal(split.num_stages, 0);
    }
    pl_shared_free(&shared);
    discard_shared_instance(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_of_short_chains),
        cmocka_unit_test(ends_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
