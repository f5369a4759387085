/* popliner: what a pipeline adds to the memory of its stages.
 *
 * While later stages work on earlier micro-batches, a stage that trains has to keep the activations
 * of each until its backward pass comes: every activation that lives from the forward to the
 * backward pass of the stage, with full recomputation of the stage's inputs only. How many copies
 * it keeps depends on the schedule and on d, the number of stages behind it. The last stage keeps
 * none: its forward and backward pass run as one, and its only copy is the activation itself, which
 * is counted anyway.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PIPELINE_H
#define POPLINER_PIPELINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* By the names that their users know. */
typedef enum popliner_schedule {
    POPLINER_SCHEDULE_NONE,      /* stages as they are */
    POPLINER_SCHEDULE_INFERENCE, /* nothing is kept for later */
    POPLINER_SCHEDULE_POPART,    /* 2 d + 1 copies: the stash of PopART's pipeline.cpp */
    /* of TensorFlow for the IPU (pipeline_fifo_inserter.cc): */
    POPLINER_SCHEDULE_TF_GROUPED,     /* 2 d copies */
    POPLINER_SCHEDULE_TF_INTERLEAVED, /* d copies */
    POPLINER_SCHEDULE_SEQUENTIAL,     /* one stage at a time: no copies */
} popliner_schedule;

typedef enum popliner_recompute {
    POPLINER_RECOMPUTE_NONE, /* what lives from the forward to the backward pass is stashed */
    /* and what comes from other IPUs or goes to them, too, which nothing can recompute: PopART's
     * standard, for a profile that was compiled with recomputation */
    POPLINER_RECOMPUTE_STANDARD,
    /* only the inputs of a stage are: what comes from earlier stages, and from the host */
    POPLINER_RECOMPUTE_FULL,
} popliner_recompute;

typedef struct popliner_pipeline {
    popliner_schedule schedule;
    popliner_recompute recompute;
    size_t max_stages; /* that are to be known; at least 1 */
} popliner_pipeline;

#ifdef __cplusplus
}
#endif

#endif
