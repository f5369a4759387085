/* How much IPUs can hold: never less than any split shows, and enough to rule limits out that
 * stages by themselves would not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/ipu_room.h"

#include <math.h>
#include <string.h>

enum { NUM_INSTANCES = 4000, MOST_STEPS = 30 };

static const pl_stop never = {INFINITY, NULL, NULL};
static const pl_room_effort effort = {MOST_STEPS, INFINITY, &never};

/* Whether each IPU holds what this split gives it, within its limit. */
static void check_split(pl_room *room, const shared_instance *in, const size_t *first_units) {
    size_t num_stages = in->options.num_mapped_stages;
    for (size_t stage = 0; stage < num_stages; ++stage) {
        double weight = 0.0;
        if (in->problem.first_on_ipu[stage] != stage)
            continue;
        for (size_t other = stage; other < num_stages; ++other) {
            size_t end = other + 1 < num_stages ? first_units[other + 1] : in->num_units;
            if (in->problem.first_on_ipu[other] != stage)
                continue;
            for (size_t unit = first_units[other]; unit < end; ++unit)
                weight += room->weights[unit];
        }
        assert_true(pl_room_held(room, &in->filter, stage) >= weight);
    }
}

/* For weights of its own and for those it finds, at the smallest largest IPU and at the limit. */
static void holds_what_splits_have(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_checked = 0;
    for (uint64_t seed = 1; seed < NUM_INSTANCES; seed += 2) {
        if (!test_takes_case(seed / 2, 4))
            continue;
        draw_shared_instance(&in, seed);
        every_split e = try_every_split(&in, in.options.max_stage_bytes);
        pl_room room = {0};
        assert_int_equal(pl_room_create(&room, &in.problem, NULL), POPLINER_OK);
        assert_true(room.is_known);
        if (e.num_splits > 0) {
            bool is_impossible = true;
            ++num_checked;
            check_split(&room, &in, e.earliest);
            in.filter.max_peak_bytes = e.smallest_bytes;
            assert_int_equal(pl_room_rule_out(&room, &in.filter, &effort, &is_impossible, NULL),
                             POPLINER_OK);
            assert_false(is_impossible);
            in.filter.max_peak_bytes = UINT64_MAX;
            check_split(&room, &in, e.earliest);
        }
        pl_room_free(&room);
        discard_shared_instance(&in);
    }
    print_message("%zu checked\n", num_checked);
    assert_true(num_checked > 0);
}

/* Weights at random: every split that is within a limit is held within it. */
static void holds_any_weights(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_checked = 0;
    for (uint64_t seed = 1; seed < NUM_INSTANCES; seed += 2) {
        if (!test_takes_case(seed / 2, 4))
            continue;
        draw_shared_instance(&in, seed);
        pl_room room = {0};
        assert_int_equal(pl_room_create(&room, &in.problem, NULL), POPLINER_OK);
        for (size_t unit = 0; unit < in.num_units; ++unit) {
            in.random = test_random(in.random);
            room.weights[unit] = (double)(in.random >> 40 & 15);
        }
        every_split e = try_every_split(&in, in.options.max_stage_bytes);
        uint64_t most = in.options.max_stage_bytes;
        most = most < e.smallest_bytes + 9 ? most : e.smallest_bytes + 9;
        for (uint64_t limit = e.smallest_bytes; e.num_splits > 0 && limit <= most; limit += 4) {
            every_split f = try_every_split(&in, limit);
            in.filter.max_peak_bytes = limit;
            check_split(&room, &in, f.earliest);
            ++num_checked;
        }
        pl_room_free(&room);
        discard_shared_instance(&in);
    }
    assert_true(num_checked > 0);
}

/* On long chains, limits that are below the best by little are ruled out; the bound of stages by
 * themselves, with a third of their code, is far from that. */
static void rules_out_what_is_too_small(void **state) {
    (void)state;
    static shared_instance in;
    enum { NUM_UNITS = 48, NUM_IPUS = 3 };
    size_t num_ruled_out = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
        bool is_impossible = false;
        uint64_t own_bytes = 0;
        uint64_t code_bytes = 0;
        in = (shared_instance){.random = seed, .knows_parts = true, .num_units = NUM_UNITS};
        make_shared_costs(&in);
        for (size_t stage = 0; stage < MOST_STAGES; ++stage)
            in.device_map[stage] = stage % NUM_IPUS;
        in.options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
        in.options.device_map = in.device_map;
        in.options.num_mapped_stages = MOST_STAGES;
        assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL, NULL),
                         POPLINER_OK);
        for (size_t unit = 0; unit < NUM_UNITS; ++unit)
            own_bytes += in.own_bytes[unit];
        for (size_t type = 0; type < NUM_TYPES; ++type)
            code_bytes += in.code_bytes[type];
        in.filter = pl_filter_of_limits(&in.problem);
        in.filter.max_peak_bytes = own_bytes / NUM_IPUS + code_bytes / 2;
        pl_room room = {0};
        assert_int_equal(pl_room_create(&room, &in.problem, NULL), POPLINER_OK);
        assert_int_equal(pl_room_rule_out(&room, &in.filter, &effort, &is_impossible, NULL),
                         POPLINER_OK);
        num_ruled_out += is_impossible;
        in.filter.max_peak_bytes = own_bytes / NUM_IPUS + code_bytes + 60;
        assert_int_equal(pl_room_rule_out(&room, &in.filter, &effort, &is_impossible, NULL),
                         POPLINER_OK);
        assert_false(is_impossible);
        pl_room_free(&room);
        discard_shared_instance(&in);
    }
    print_message("%zu of 8 ruled out\n", num_ruled_out);
    assert_true(num_ruled_out > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_splits_have),
        cmocka_unit_test(holds_any_weights),
        cmocka_unit_test(rules_out_what_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
