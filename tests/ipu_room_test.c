/* How much IPUs can hold: never less than any split shows, and enough to rule limits out that
 * stages by themselves would not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/shared/shared.h"

#include <math.h>
#include <stdio.h>

enum { NUM_INSTANCES = 4000, MOST_STEPS = 30 };

static const pl_stop never = {.deadline_seconds = INFINITY};
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
        assert_true(pl_room_held(room, &in->filter.limits, stage) >= weight);
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
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        pl_room room = {0};
        assert_int_equal(pl_room_create(&room, &in.problem, NULL), POPLINER_OK);
        assert_true(room.is_known);
        if (e.num_splits > 0) {
            bool is_impossible = true;
            ++num_checked;
            check_split(&room, &in, e.earliest);
            in.filter.limits.max_peak_bytes = e.smallest_bytes;
            assert_int_equal(
                pl_room_rule_out(&room, &in.filter.limits, &effort, &is_impossible, NULL),
                POPLINER_OK);
            assert_false(is_impossible);
            in.filter.limits.max_peak_bytes = UINT64_MAX;
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
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        uint64_t most = in.options.mem_per_tile;
        most = most < e.smallest_bytes + 9 ? most : e.smallest_bytes + 9;
        for (uint64_t limit = e.smallest_bytes; e.num_splits > 0 && limit <= most; limit += 4) {
            every_split f = try_every_split(&in, limit);
            in.filter.limits.max_peak_bytes = limit;
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
        in.filter.limits.max_peak_bytes = own_bytes / NUM_IPUS + code_bytes / 2;
        pl_room room = {0};
        assert_int_equal(pl_room_create(&room, &in.problem, NULL), POPLINER_OK);
        assert_int_equal(pl_room_rule_out(&room, &in.filter.limits, &effort, &is_impossible, NULL),
                         POPLINER_OK);
        num_ruled_out += is_impossible;
        in.filter.limits.max_peak_bytes = own_bytes / NUM_IPUS + code_bytes + 60;
        assert_int_equal(pl_room_rule_out(&room, &in.filter.limits, &effort, &is_impossible, NULL),
                         POPLINER_OK);
        assert_false(is_impossible);
        pl_room_free(&room);
        discard_shared_instance(&in);
    }
    print_message("%zu of 8 ruled out\n", num_ruled_out);
    assert_true(num_ruled_out > 3);
}

/* ---- costs of a file ---- */

enum { FILE_UNITS = 8, FILE_STAGES = 4 };

static unsigned draw(uint64_t *random, unsigned limit) {
    *random = test_random(*random);
    return (unsigned)(*random >> 24) % limit;
}

/* Two regions, what units share, and what a pipeline keeps. */
static popliner_costs_file *draw_file(uint64_t *random, const popliner_pipeline *pipeline) {
    char text[4096];
    size_t length = 0;
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
#define PUT(...) (length += (size_t)snprintf(text + length, sizeof text - length, __VA_ARGS__))
#define DRAW(limit) draw(random, (limit))
    PUT("{\"format\": \"popliner-costs\", \"version\": 1, \"regions\": [\"a\", \"b\"], "
        "\"units\": [");
    for (size_t unit = 0; unit < FILE_UNITS; ++unit)
        PUT("%s{\"name\": \"u%zu\", \"memory\": [%u, %u], \"stash\": [%u, 1], \"inputs\": [%u, 2]}",
            unit > 0 ? ", " : "", unit, DRAW(20), DRAW(20), DRAW(5), DRAW(5));
    PUT("], \"shared\": [");
    for (size_t item = 0; item < 3; ++item) {
        PUT("%s{\"units\": [\"u%zu\"", item > 0 ? ", " : "", item);
        for (size_t unit = item + 1; unit < FILE_UNITS; ++unit)
            if (DRAW(3) == 0)
                PUT(", \"u%zu\"", unit);
        PUT("], \"memory\": [%u, %u]}", DRAW(30), DRAW(30));
    }
    PUT("]}");
    if (popliner_costs_file_read("drawn", text, length, pipeline, &file, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return file;
}

/* The IPUs of all splits on 0,1,0,1, within their own largest. */
static void check_file(const pl_problem *problem, pl_room *room, uint64_t *random) {
    pl_filter filter = pl_filter_of_limits(problem);
    size_t first_units[FILE_STAGES + 1] = {0};
    first_units[FILE_STAGES] = FILE_UNITS;
    for (size_t unit = 0; unit < FILE_UNITS; ++unit)
        room->weights[unit] = (double)draw(random, 20);
    for (size_t a = 1; a < FILE_UNITS; ++a)
        for (size_t b = a + 1; b < FILE_UNITS; ++b)
            for (size_t c = b + 1; c < FILE_UNITS; ++c) {
                first_units[1] = a;
                first_units[2] = b;
                first_units[3] = c;
                for (size_t ipu = 0; ipu < 2; ++ipu) {
                    popliner_interval together[2];
                    double weight = 0.0;
                    for (size_t k = 0; k < 2; ++k) {
                        size_t stage = ipu + 2 * k;
                        together[k] = (popliner_interval){
                            first_units[stage], first_units[stage + 1] - 1, FILE_STAGES - stage};
                        for (size_t unit = together[k].first_unit; unit <= together[k].last_unit;
                             ++unit)
                            weight += room->weights[unit];
                    }
                    assert_int_equal(pl_costs_shared_peak(problem->costs, together, 2,
                                                          &filter.limits.max_peak_bytes, NULL),
                                     POPLINER_OK);
                    assert_true(pl_room_held(room, &filter.limits, ipu) >= weight);
                }
            }
}

static void holds_what_files_say(void **state) {
    (void)state;
    static const size_t device_map[FILE_STAGES] = {0, 1, 0, 1};
    uint64_t random = 7;
    for (size_t i = 0; i < 60; ++i) {
        popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                      .recompute = i % 3 == 2 ? POPLINER_RECOMPUTE_FULL
                                                              : POPLINER_RECOMPUTE_NONE,
                                      .max_stages = FILE_STAGES};
        popliner_costs_file *file = draw_file(&random, i % 3 == 0 ? NULL : &pipeline);
        popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
        pl_problem problem = {0};
        pl_room room = {0};
        options.device_map = device_map;
        options.num_mapped_stages = FILE_STAGES;
        assert_int_equal(pl_problem_create(&problem, file->costs, &options, NULL, NULL),
                         POPLINER_OK);
        assert_int_equal(pl_room_create(&room, &problem, NULL), POPLINER_OK);
        assert_true(room.is_known);
        assert_int_equal(room.num_kinds, i % 3 == 0 ? 1 : 2);
        check_file(&problem, &room, &random);
        pl_room_free(&room);
        pl_problem_free(&problem);
        popliner_costs_file_free(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_splits_have),
        cmocka_unit_test(holds_any_weights),
        cmocka_unit_test(rules_out_what_is_too_small),
        cmocka_unit_test(holds_what_files_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
