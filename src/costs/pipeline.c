/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/pipeline.h"

/* A stage keeps `each` copies for every stage behind it, and `more` if there is any. */
typedef struct schedule {
    const char *name;
    size_t each;
    size_t more;
} schedule;

static const schedule schedules[] = {
    [POPLINER_SCHEDULE_NONE] = {"none", 0, 0},
    [POPLINER_SCHEDULE_INFERENCE] = {"inference", 0, 0},
    [POPLINER_SCHEDULE_POPART] = {"popart", 2, 1},
    [POPLINER_SCHEDULE_TF_GROUPED] = {"tf-grouped", 2, 0},
    [POPLINER_SCHEDULE_TF_INTERLEAVED] = {"tf-interleaved", 1, 0},
    [POPLINER_SCHEDULE_SEQUENTIAL] = {"sequential", 0, 0},
};

static const schedule *find(popliner_schedule number) {
    return (size_t)number < sizeof schedules / sizeof *schedules ? &schedules[number] : NULL;
}

size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end) {
    const schedule *s = find(pipeline->schedule);
    if (s == NULL || stages_to_end <= 1)
        return 0;
    return s->each * (stages_to_end - 1) + s->more;
}

bool pl_schedule_keeps(popliner_schedule number) {
    const schedule *s = find(number);
    return s != NULL && s->each > 0;
}

const char *pl_schedule_name(popliner_schedule number) {
    const schedule *s = find(number);
    return s == NULL ? NULL : s->name;
}

const char *pl_recompute_name(popliner_recompute recompute) {
    static const char *const names[] = {
        [POPLINER_RECOMPUTE_NONE] = "none",
        [POPLINER_RECOMPUTE_STANDARD] = "standard",
        [POPLINER_RECOMPUTE_FULL] = "full",
    };
    return (size_t)recompute < sizeof names / sizeof *names ? names[recompute] : NULL;
}
