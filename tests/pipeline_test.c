/* The copies that a pipeline keeps, against a simulation of its schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "costs/pipeline.h"
#include "popliner/pipeline.h"

/* Stage k of S runs the forward pass of micro-batch m at time p m + k, and its backward pass at
 * time p m + 2 (S - 1) - k + (p - 1): with pace p = 1 all passes of all stages at one time, with
 * p = 2 forward and backward passes in turn. How many micro-batches it is between the two with,
 * at most, at one time, that of the pass itself among them. */
static size_t kept_at_once(size_t num_stages, size_t stage, size_t pace) {
    size_t most = 0;
    for (size_t now = 0; now < 16 * num_stages; now++) {
        size_t kept = 0;
        for (size_t batch = 0; batch <= now; batch++)
            kept += pace * batch + stage <= now &&
                    now <= pace * batch + 2 * (num_stages - 1) - stage + pace - 1;
        most = kept > most ? kept : most;
    }
    return most;
}

static void keeps_what_the_schedule_needs(void **state) {
    (void)state;
    popliner_pipeline training = {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_NONE, 16};
    for (size_t num_stages = 1; num_stages <= 16; num_stages++)
        for (size_t stage = 0; stage < num_stages; stage++) {
            size_t copies = pl_pipeline_copies(&training, num_stages - stage);
            /* the last stage runs forward and backward as one: nothing beside what it works on */
            if (stage + 1 == num_stages)
                assert_int_equal(copies, 0);
            else
                assert_int_equal(copies, kept_at_once(num_stages, stage, 1));
        }
    training.recompute = POPLINER_RECOMPUTE_FULL;
    assert_int_equal(pl_pipeline_copies(&training, 4), 7);
}

/* TensorFlow has a queue between the passes of a stage, in which the micro-batch that is being
 * worked on is not. */
static void keeps_what_tensorflow_queues(void **state) {
    (void)state;
    popliner_pipeline grouped = {POPLINER_SCHEDULE_TF_GROUPED, POPLINER_RECOMPUTE_NONE, 16};
    popliner_pipeline interleaved = {POPLINER_SCHEDULE_TF_INTERLEAVED, POPLINER_RECOMPUTE_NONE, 16};
    for (size_t num_stages = 1; num_stages <= 16; num_stages++)
        for (size_t stage = 0; stage < num_stages; stage++) {
            assert_int_equal(pl_pipeline_copies(&grouped, num_stages - stage),
                             kept_at_once(num_stages, stage, 1) - 1);
            assert_int_equal(pl_pipeline_copies(&interleaved, num_stages - stage),
                             kept_at_once(num_stages, stage, 2) - 1);
        }
    /* by hand, from pipeline_fifo_inserter.cc: 2 and 1 times the 3 stages behind it */
    assert_int_equal(pl_pipeline_copies(&grouped, 4), 6);
    assert_int_equal(pl_pipeline_copies(&interleaved, 4), 3);
}

static void keeps_nothing_otherwise(void **state) {
    (void)state;
    static const popliner_schedule others[] = {POPLINER_SCHEDULE_NONE, POPLINER_SCHEDULE_INFERENCE,
                                               POPLINER_SCHEDULE_SEQUENTIAL,
                                               (popliner_schedule)100};
    for (size_t i = 0; i < 4; i++) {
        popliner_pipeline other = {others[i], POPLINER_RECOMPUTE_NONE, 16};
        assert_int_equal(pl_pipeline_copies(&other, 4), 0);
        assert_false(pl_schedule_keeps(others[i]));
    }
    /* in the words of --schedule */
    assert_string_equal(pl_schedule_name(POPLINER_SCHEDULE_INFERENCE), "inference");
    assert_string_equal(pl_schedule_name(POPLINER_SCHEDULE_SEQUENTIAL), "sequential");
    assert_null(pl_schedule_name((popliner_schedule)100));
}

/* What is measured for one schedule has to serve all. */
static void none_keeps_more_than_the_most(void **state) {
    (void)state;
    popliner_pipeline most = {PL_SCHEDULE_OF_MOST_COPIES, POPLINER_RECOMPUTE_NONE, 16};
    for (int schedule = 0; pl_schedule_name((popliner_schedule)schedule) != NULL; schedule++)
        for (size_t stages = 1; stages <= 16; stages++) {
            popliner_pipeline other = {(popliner_schedule)schedule, POPLINER_RECOMPUTE_NONE, 16};
            assert_true(pl_pipeline_copies(&other, stages) <= pl_pipeline_copies(&most, stages));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_the_schedule_needs),
        cmocka_unit_test(keeps_what_tensorflow_queues),
        cmocka_unit_test(keeps_nothing_otherwise),
        cmocka_unit_test(none_keeps_more_than_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
