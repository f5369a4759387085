/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/pipeline.h"

#include "base/failure.h"
#include "base/numbers.h"

/* A stage stores `each` copies for every stage after it, and `more` in addition if there is any;
 * with buffers `more_buffered` instead, and the last stage `last_buffered`. */
typedef struct schedule {
    const char *name;
    pl_schedule_kind kind;
    size_t each;
    size_t more;
    size_t more_buffered;
    size_t last_buffered;
} schedule;

static const schedule schedules[] = {
    [POPLINER_SCHEDULE_NONE] = {"none", PL_SCHEDULE_PLAIN, 0, 0, 0, 0},
    [POPLINER_SCHEDULE_INFERENCE] = {"inference", PL_SCHEDULE_PLAIN, 0, 0, 0, 0},
    [POPLINER_SCHEDULE_POPART] = {"popart", PL_SCHEDULE_IN_CYCLES, 2, 1, 1, 0},
    [POPLINER_SCHEDULE_TF_GROUPED] = {"tf-grouped", PL_SCHEDULE_IN_CYCLES, 2, 0, 1, 1},
    [POPLINER_SCHEDULE_TF_INTERLEAVED] = {"tf-interleaved", PL_SCHEDULE_IN_SLICES, 1, 0, 0, 0},
    [POPLINER_SCHEDULE_SEQUENTIAL] = {"sequential", PL_SCHEDULE_IN_SLICES, 0, 0, 0, 0},
};

static const schedule *find(popliner_schedule number) {
    return (size_t)number < sizeof schedules / sizeof *schedules ? &schedules[number] : NULL;
}

static size_t count_copies(const schedule *s, bool with_buffers, size_t stages_to_end) {
    if (stages_to_end <= 1)
        return with_buffers ? s->last_buffered : 0;
    return s->each * (stages_to_end - 1) + (with_buffers ? s->more_buffered : s->more);
}

bool pl_pipeline_has_own_copies(const popliner_pipeline *pipeline) {
    return pipeline->copies.rule != POPLINER_COPIES_OF_SCHEDULE;
}

bool pl_pipeline_keeps(const popliner_pipeline *pipeline) {
    const schedule *s = find(pipeline->schedule);
    return pl_pipeline_has_own_copies(pipeline) || (s != NULL && s->each > 0);
}

popliner_pipeline pl_pipeline_of_any_split(const popliner_pipeline *pipeline) {
    popliner_pipeline own = *pipeline;
    if (pl_copies_count_all(&own.copies))
        own.copies.num_stages = 0;
    return own;
}

bool pl_pipeline_follows_split(const popliner_pipeline *pipeline) {
    return pl_copies_count_all(&pipeline->copies) && pipeline->copies.num_stages == 0;
}

size_t pl_pipeline_place(const popliner_pipeline *pipeline, size_t num_stages, size_t stage) {
    return pl_pipeline_follows_split(pipeline) ? num_stages : num_stages - stage;
}

bool pl_pipeline_recomputes(const popliner_pipeline *pipeline, bool is_first, bool is_last) {
    /* a last stage that is not the first one is one of at least two */
    size_t num_stages = is_first ? 1 : 2;
    if (pipeline->recompute != POPLINER_RECOMPUTE_FULL || !pl_pipeline_keeps(pipeline))
        return false;
    if (pl_pipeline_has_own_copies(pipeline) &&
        popliner_copies_at(&pipeline->copies, SIZE_MAX) == 0)
        return false;
    return !is_last || (pl_pipeline_has_own_copies(pipeline) &&
                        pl_pipeline_copies(
                            pipeline, pl_pipeline_place(pipeline, num_stages, num_stages - 1)) > 0);
}

bool pl_pipeline_holds_recomputed(const popliner_pipeline *pipeline) {
    return pipeline->recompute != POPLINER_RECOMPUTE_NONE &&
           pl_copies_have_weights(&pipeline->copies);
}

pl_held pl_held_of_copies(size_t copies, size_t place, size_t late) {
    const size_t num_stages = place % PL_PLACES;
    const size_t before = num_stages - 1 - pl_fewer(place / PL_PLACES, num_stages - 1);
    const size_t sets = pl_fewer(late * before, copies); /* and one in the memory */
    return (pl_held){(uint32_t)(copies - sets), (uint32_t)sets};
}

pl_held pl_pipeline_held(const popliner_pipeline *pipeline, size_t place) {
    if (!pl_pipeline_holds_recomputed(pipeline))
        return (pl_held){(uint32_t)pl_pipeline_copies(pipeline, place), 0};
    if (!pl_pipeline_follows_split(pipeline))
        return (pl_held){0, (uint32_t)pl_pipeline_copies(pipeline, place)};
    return pl_held_of_copies(pl_pipeline_copies(pipeline, place % PL_PLACES), place,
                             pl_copies_late(&pipeline->copies));
}

popliner_recompute pl_pipeline_stored(const popliner_pipeline *pipeline) {
    /* STANDARD stores activations, as NONE, and inputs, as FULL */
    return pl_pipeline_holds_recomputed(pipeline) ? POPLINER_RECOMPUTE_STANDARD
                                                  : pipeline->recompute;
}

size_t pl_pipeline_copies_for(const popliner_pipeline *pipeline, popliner_need need,
                              size_t stages_to_end) {
    const schedule *s = find(pipeline->schedule);
    if (pl_pipeline_has_own_copies(pipeline))
        return popliner_copies_at(&pipeline->copies, stages_to_end);
    if (s == NULL)
        return 0;
    size_t with = count_copies(s, true, stages_to_end);
    size_t without = count_copies(s, false, stages_to_end);
    if (need == POPLINER_NEED_LEAST)
        return stages_to_end <= 1 ? 0 : s->each * (stages_to_end - 1);
    if (need == POPLINER_NEED_MOST)
        return with > without ? with : without;
    return (pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0 ? with : without;
}

size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end) {
    return pl_pipeline_copies_for(pipeline, POPLINER_NEED_EXPECTED, stages_to_end);
}

bool pl_pipeline_frees_originals(const popliner_pipeline *pipeline, popliner_need need) {
    return pipeline->schedule == POPLINER_SCHEDULE_POPART &&
           pipeline->recompute == POPLINER_RECOMPUTE_NONE &&
           (need == POPLINER_NEED_MOST ||
            (need == POPLINER_NEED_EXPECTED && (pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0));
}

size_t pl_most_copies(size_t stages_to_end) {
    size_t most = 0;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        size_t with = count_copies(&schedules[i], true, stages_to_end);
        size_t without = count_copies(&schedules[i], false, stages_to_end);
        most = with > most ? with : most;
        most = without > most ? without : most;
    }
    return most;
}

pl_schedule_kind pl_pipeline_kind(const popliner_pipeline *pipeline) {
    const schedule *s = find(pipeline->schedule);
    pl_schedule_kind kind = s == NULL ? PL_SCHEDULE_PLAIN : s->kind;
    return kind == PL_SCHEDULE_PLAIN && pl_pipeline_has_own_copies(pipeline) ? PL_SCHEDULE_IN_SLICES
                                                                             : kind;
}

popliner_status pl_pipeline_check(const popliner_pipeline *pipeline, popliner_error *error) {
    if (find(pipeline->schedule) == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown schedule %d", (int)pipeline->schedule);
    if (pl_recompute_name(pipeline->recompute) == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown recomputation %d",
                       (int)pipeline->recompute);
    if (!pl_pipeline_has_own_copies(pipeline))
        return POPLINER_OK;
    if (pipeline->schedule == POPLINER_SCHEDULE_INFERENCE)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies: the schedule inference keeps no copies; leave out copies, or "
                       "choose another schedule");
    return popliner_copies_check(&pipeline->copies, error);
}

bool pl_pipeline_never_shrinks(const popliner_pipeline *pipeline, popliner_need need) {
    bool has_buffers = pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES &&
                       (pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0;
    return pipeline->recompute == POPLINER_RECOMPUTE_NONE && !has_buffers &&
           need == POPLINER_NEED_EXPECTED;
}

const char *pl_schedule_name(size_t number) {
    const schedule *s = find((popliner_schedule)number);
    return s == NULL ? NULL : s->name;
}

const char *pl_recompute_name(size_t recompute) {
    static const char *const names[] = {
        [POPLINER_RECOMPUTE_NONE] = "none",
        [POPLINER_RECOMPUTE_STANDARD] = "standard",
        [POPLINER_RECOMPUTE_FULL] = "full",
        [POPLINER_RECOMPUTE_AUTO] = "auto",
    };
    return recompute < sizeof names / sizeof *names ? names[recompute] : NULL;
}

const char *pl_accumulators_name(size_t accumulators) {
    static const char *const names[] = {
        [POPLINER_ACCUMULATORS_NONE] = "none",
        [POPLINER_ACCUMULATORS_FP16] = "fp16",
        [POPLINER_ACCUMULATORS_FP32] = "fp32",
        [POPLINER_ACCUMULATORS_AUTO] = "auto",
    };
    return accumulators < sizeof names / sizeof *names ? names[accumulators] : NULL;
}

const char *pl_effect_name(size_t i) {
    static const char *const names[] = {"layout", "passing", "buffers"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}
