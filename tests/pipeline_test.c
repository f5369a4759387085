/* The copies that a pipeline keeps, against a simulation of its schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdbool.h>

#include "pipeline/pipeline.h"
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
    popliner_pipeline training = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_NONE,
                                  .max_stages = 16};
    for (size_t num_stages = 1; num_stages <= 16; num_stages++)
        for (size_t stage = 0; stage < num_stages; stage++) {
            size_t copies = pl_pipeline_copies(&training, num_stages - stage);
            /* the last stage runs forward and backward as one: nothing besides what it works on */
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
    popliner_pipeline grouped = {.schedule = POPLINER_SCHEDULE_TF_GROUPED,
                                 .recompute = POPLINER_RECOMPUTE_NONE,
                                 .max_stages = 16};
    popliner_pipeline interleaved = {.schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
                                     .recompute = POPLINER_RECOMPUTE_NONE,
                                     .max_stages = 16};
    for (size_t num_stages = 1; num_stages <= 16; num_stages++)
        for (size_t stage = 0; stage < num_stages; stage++) {
            assert_int_equal(pl_pipeline_copies(&grouped, num_stages - stage),
                             kept_at_once(num_stages, stage, 1) - 1);
            assert_int_equal(pl_pipeline_copies(&interleaved, num_stages - stage),
                             kept_at_once(num_stages, stage, 2) - 1);
        }
    /* by hand, from pipeline_fifo_inserter.cc: 2 and 1 times the 3 stages after it */
    assert_int_equal(pl_pipeline_copies(&grouped, 4), 6);
    assert_int_equal(pl_pipeline_copies(&interleaved, 4), 3);
}

static void keeps_nothing_otherwise(void **state) {
    (void)state;
    static const popliner_schedule others[] = {POPLINER_SCHEDULE_NONE, POPLINER_SCHEDULE_INFERENCE,
                                               POPLINER_SCHEDULE_SEQUENTIAL,
                                               (popliner_schedule)100};
    for (size_t i = 0; i < 4; i++) {
        popliner_pipeline other = {
            .schedule = others[i], .recompute = POPLINER_RECOMPUTE_NONE, .max_stages = 16};
        assert_int_equal(pl_pipeline_copies(&other, 4), 0);
        assert_false(pl_pipeline_keeps(&other));
    }
    /* in the words of --schedule */
    assert_string_equal(pl_schedule_name(POPLINER_SCHEDULE_INFERENCE), "inference");
    assert_string_equal(pl_schedule_name(POPLINER_SCHEDULE_SEQUENTIAL), "sequential");
    assert_null(pl_schedule_name((popliner_schedule)100));
}

/* With an effect, the copies by hand from docs/internals/memory-models.md: for 1, 2, 3 and 4 stages
 * to the end, d is 0, 1, 2 and 3. */
static const struct {
    popliner_schedule schedule;
    size_t plain[4];
    size_t buffered[4];
    size_t least[4];
} by_hand[] = {
    {POPLINER_SCHEDULE_NONE, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {POPLINER_SCHEDULE_INFERENCE, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    /* 2 d + 1 except for the last, which runs both passes as one */
    {POPLINER_SCHEDULE_POPART, {0, 3, 5, 7}, {0, 3, 5, 7}, {0, 2, 4, 6}},
    /* 2 d; and what the backward program reads, also of the last */
    {POPLINER_SCHEDULE_TF_GROUPED, {0, 2, 4, 6}, {1, 3, 5, 7}, {0, 2, 4, 6}},
    {POPLINER_SCHEDULE_TF_INTERLEAVED, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}},
    {POPLINER_SCHEDULE_SEQUENTIAL, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {(popliner_schedule)100, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
};

enum { NUM_BY_HAND = sizeof by_hand / sizeof *by_hand };

static void every_need_has_its_copies(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_BY_HAND; i++)
        for (unsigned effects = 0; effects <= POPLINER_EFFECTS_ALL; effects++)
            for (size_t d = 0; d < 4; d++) {
                popliner_pipeline pipeline = {.schedule = by_hand[i].schedule,
                                              .max_stages = 1 + d % 2, /* which do not matter */
                                              .effects = effects};
                size_t plain = by_hand[i].plain[d];
                size_t buffered = by_hand[i].buffered[d];
                size_t expected = (effects & POPLINER_EFFECT_BUFFERS) != 0 ? buffered : plain;
                assert_int_equal(pl_pipeline_copies(&pipeline, d + 1), expected);
                assert_int_equal(pl_pipeline_copies_for(&pipeline, POPLINER_NEED_EXPECTED, d + 1),
                                 expected);
                assert_int_equal(pl_pipeline_copies_for(&pipeline, POPLINER_NEED_LEAST, d + 1),
                                 by_hand[i].least[d]);
                assert_int_equal(pl_pipeline_frees_originals(&pipeline, POPLINER_NEED_EXPECTED),
                                 i == 2 && (effects & POPLINER_EFFECT_BUFFERS) != 0);
                assert_int_equal(pl_pipeline_frees_originals(&pipeline, POPLINER_NEED_MOST),
                                 i == 2);
                assert_false(pl_pipeline_frees_originals(&pipeline, POPLINER_NEED_LEAST));
                pipeline.recompute = POPLINER_RECOMPUTE_FULL; /* there are no originals */
                assert_false(pl_pipeline_frees_originals(&pipeline, POPLINER_NEED_EXPECTED));
                assert_false(pl_pipeline_frees_originals(&pipeline, POPLINER_NEED_MOST));
                assert_int_equal(pl_pipeline_copies_for(&pipeline, POPLINER_NEED_MOST, d + 1),
                                 plain > buffered ? plain : buffered);
            }
}

/* Measurements with details must serve all schedules: as many copies as the most of any, and no
 * more. */
static void knows_the_most_copies_of_any(void **state) {
    (void)state;
    static const size_t most[4] = {1, 3, 5, 7};
    for (size_t d = 0; d < 4; d++)
        assert_int_equal(pl_most_copies(d + 1), most[d]);
    for (size_t stages = 1; stages <= 16; stages++) {
        size_t found = 0;
        for (int schedule = 0; pl_schedule_name((popliner_schedule)schedule) != NULL; schedule++) {
            popliner_pipeline pipeline = {.schedule = (popliner_schedule)schedule};
            size_t copies = pl_pipeline_copies_for(&pipeline, POPLINER_NEED_MOST, stages);
            found = copies > found ? copies : found;
        }
        assert_int_equal(pl_most_copies(stages), found);
    }
}

static void knows_kinds_of_schedules(void **state) {
    (void)state;
    static const pl_schedule_kind kinds[NUM_BY_HAND] = {
        PL_SCHEDULE_PLAIN,     PL_SCHEDULE_PLAIN,     PL_SCHEDULE_IN_CYCLES, PL_SCHEDULE_IN_CYCLES,
        PL_SCHEDULE_IN_SLICES, PL_SCHEDULE_IN_SLICES, PL_SCHEDULE_PLAIN};
    for (size_t i = 0; i < NUM_BY_HAND; i++)
        assert_int_equal(pl_pipeline_kind(&(popliner_pipeline){.schedule = by_hand[i].schedule}),
                         kinds[i]);
}

/* A stage may need less when it grows if it recomputes or hands something on; if what operations
 * explain is requested; or at most, as what is added may make its tiles more even. */
static void knows_where_a_stage_may_shrink(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_BY_HAND; i++)
        for (unsigned effects = 0; effects <= POPLINER_EFFECTS_ALL; effects++)
            for (int recompute = 0; recompute <= POPLINER_RECOMPUTE_FULL; recompute++) {
                popliner_pipeline pipeline = {.schedule = by_hand[i].schedule,
                                              .recompute = (popliner_recompute)recompute,
                                              .max_stages = 4,
                                              .effects = effects};
                bool is_plain = recompute == POPLINER_RECOMPUTE_NONE;
                bool hands_on = i == 2 || i == 3; /* popart and tf-grouped */
                bool counts = (effects & POPLINER_EFFECT_BUFFERS) != 0;
                assert_int_equal(pl_pipeline_never_shrinks(&pipeline, POPLINER_NEED_EXPECTED),
                                 is_plain && !(hands_on && counts));
                assert_false(pl_pipeline_never_shrinks(&pipeline, POPLINER_NEED_MOST));
                assert_false(pl_pipeline_never_shrinks(&pipeline, POPLINER_NEED_LEAST));
            }
}

/* In the words of --effects, and of the enums. */
static void names_what_can_be_chosen(void **state) {
    (void)state;
    assert_string_equal(pl_accumulators_name(POPLINER_ACCUMULATORS_NONE), "none");
    assert_string_equal(pl_accumulators_name(POPLINER_ACCUMULATORS_FP16), "fp16");
    assert_string_equal(pl_accumulators_name(POPLINER_ACCUMULATORS_FP32), "fp32");
    assert_string_equal(pl_accumulators_name(POPLINER_ACCUMULATORS_AUTO), "auto");
    assert_null(pl_accumulators_name((popliner_accumulators)4));
    unsigned all = 0;
    for (size_t i = 0; pl_effect_name(i) != NULL; i++)
        all |= 1u << i;
    assert_int_equal(all, POPLINER_EFFECTS_ALL);
    for (size_t i = 0; i < 3; i++) {
        static const popliner_effect effects[] = {POPLINER_EFFECT_LAYOUT, POPLINER_EFFECT_PASSING,
                                                  POPLINER_EFFECT_BUFFERS};
        static const char *const names[] = {"layout", "passing", "buffers"};
        assert_int_equal(effects[i], 1u << i);
        assert_string_equal(pl_effect_name(i), names[i]);
    }
    assert_null(pl_effect_name(3));
    assert_null(pl_effect_name(SIZE_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_the_schedule_needs),
        cmocka_unit_test(keeps_what_tensorflow_queues),
        cmocka_unit_test(keeps_nothing_otherwise),
        cmocka_unit_test(every_need_has_its_copies),
        cmocka_unit_test(knows_the_most_copies_of_any),
        cmocka_unit_test(knows_kinds_of_schedules),
        cmocka_unit_test(knows_where_a_stage_may_shrink),
        cmocka_unit_test(names_what_can_be_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
