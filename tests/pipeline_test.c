/* The copies that a pipeline keeps, against a simulation of its schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "costs/pipeline.h"
#include "popliner/pipeline.h"

/* Stage k of S runs the forward pass of micro-batch m at time m + k, and its backward pass at time
 * m + 2 (S - 1) - k. How many micro-batches it is between the two with, at most, at one time. */
static size_t kept_at_once(size_t num_stages, size_t stage) {
    size_t most = 0;
    for (size_t now = 0; now < 8 * num_stages; now++) {
        size_t kept = 0;
        for (size_t batch = 0; batch <= now; batch++)
            kept += batch + stage <= now && now <= batch + 2 * (num_stages - 1) - stage;
        most = kept > most ? kept : most;
    }
    return most;
}

static void keeps_what_the_schedule_needs(void **state) {
    (void)state;
    popliner_pipeline training = {POPLINER_SCHEDULE_TRAINING, POPLINER_RECOMPUTE_NONE, 16};
    for (size_t num_stages = 1; num_stages <= 16; num_stages++)
        for (size_t stage = 0; stage < num_stages; stage++) {
            size_t copies = pl_pipeline_copies(&training, num_stages - stage);
            /* the last stage runs forward and backward as one: nothing beside what it works on */
            if (stage + 1 == num_stages)
                assert_int_equal(copies, 0);
            else
                assert_int_equal(copies, kept_at_once(num_stages, stage));
        }
    training.recompute = POPLINER_RECOMPUTE_FULL;
    assert_int_equal(pl_pipeline_copies(&training, 4), 7);
}

static void keeps_nothing_without_training(void **state) {
    (void)state;
    popliner_pipeline other = {POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE, 16};
    assert_int_equal(pl_pipeline_copies(&other, 4), 0);
    other.schedule = POPLINER_SCHEDULE_INFERENCE;
    assert_int_equal(pl_pipeline_copies(&other, 4), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_the_schedule_needs),
        cmocka_unit_test(keeps_nothing_without_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
