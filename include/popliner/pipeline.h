/* popliner: what a pipeline, and compiling a stage by itself, add to the memory of stages.
 *
 * While later stages work on earlier micro-batches, a stage that trains has to keep the activations
 * of each until its backward pass comes: every activation that lives from the forward to the
 * backward pass of the stage, with full recomputation of the stage's inputs only. How many copies
 * it keeps depends on the schedule and on d, the number of stages behind it. The last stage keeps
 * none: its forward and backward pass run as one, and its only copy is the activation itself, which
 * is counted anyway.
 *
 * docs/internals/memory-models.md has the rule of each effect, and its sources.
 *
 * Threads: the functions use their arguments alone, so any number of threads may call them at
 * once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PIPELINE_H
#define POPLINER_PIPELINE_H

#include "popliner/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Copies of activations ---- *
 *
 * How many copies of its activations a stage keeps, by its place in the pipeline.
 *
 * A stage that trains has to keep the activations of each micro-batch from its forward to its
 * backward pass. One set of them is part of the stage's own memory; what counts here are those
 * beside it. The number depends on d, how many stages are behind the stage: 0 for the last one.
 *
 * docs/internals/memory-models.md has the sources of the rules. */

/* With M micro-batches in a step, S stages and P IPUs. The rules count micro-batches that are
 * under way at most at one time, the stage's own among them: copies are one fewer. */
typedef enum popliner_copies_rule {
    POPLINER_COPIES_OF_SCHEDULE, /* what popliner_schedule says; other members mean nothing */
    POPLINER_COPIES_LIST,        /* the caller's own numbers, of copies */
    POPLINER_COPIES_1F1B,        /* min(d + 1, M) */
    POPLINER_COPIES_GPIPE,       /* M */
    /* min(S, M): also those that wait for the pass of their weights (ZB-H1, ZB1P) */
    POPLINER_COPIES_ZERO_BUBBLE,
    /* interleaved 1F1B, S = V * P chunks: those of 2 d + 1 turns in a row, of which a chunk has P
     * in every S: min(P * (2 d + 1 div S) + min(2 d + 1 mod S, P), M) */
    POPLINER_COPIES_INTERLEAVED,
    POPLINER_NUM_COPIES_RULES,
} popliner_copies_rule;

enum { POPLINER_MAX_LISTED_COPIES = 64 };

/* No stage keeps more: larger numbers are taken for it. */
#define POPLINER_MAX_COPIES 32768

/* All 0, as POPLINER_COPIES_UNSET has it: the schedule says it. */
typedef struct popliner_copies {
    popliner_copies_rule rule;
    /* what a rule adds to each of its numbers: 1 where memory has no set of activations itself */
    size_t more;
    size_t num_micro_batches; /* of a step in one pipeline; 0: any number, not with GPIPE */
    /* Of INTERLEAVED. Of ZERO_BUBBLE only where single stages are measured, or copies looked up: 0
     * for any number. Costs are for as many stages as a split has, whatever this is. */
    size_t num_stages;
    size_t num_ipus; /* of INTERLEAVED, a divisor of num_stages */
    /* of LIST: the copies of the last stage, of the one before it, ...; never fewer than before */
    uint32_t listed[POPLINER_MAX_LISTED_COPIES];
    size_t num_listed;
    /* stages further away have as many more, each, as the last listed one has more than the one
     * before it; else there are no such stages, but that a single number holds for all */
    bool goes_on;
} popliner_copies;

#define POPLINER_COPIES_UNSET                                                                      \
    { POPLINER_COPIES_OF_SCHEDULE, 0, 0, 0, 0, {0}, 0, false }

/* Reads the name of a rule ("1f1b", or "1f1b+1" for one more in each place), or a list of numbers
 * ("0,1,2,3"), which ends with ",..." if it goes on ("0,1,..." is 1F1B, "1,2,..." Piper's A * y).
 * A single number holds for every stage.
 * What the rule needs beside it stays 0. Errors: USAGE, a sentence that begins with "copies TEXT",
 * with the remedy. */
popliner_status popliner_copies_parse(const char *text, popliner_copies *copies,
                                      popliner_error *error);

/* Whether the rule has all that it needs, and lists rise. Errors: USAGE. */
popliner_status popliner_copies_check(const popliner_copies *copies, popliner_error *error);

/* How many copies a stage keeps when so many stages, it among them, are still to come (at least 1).
 * Of copies that were checked and are not OF_SCHEDULE. Past the end of a list: its last. Of
 * ZERO_BUBBLE without num_stages, whose copies follow the split, wherever they and costs are asked
 * for stages_to_end that is the number of all its stages. O(1). */
size_t popliner_copies_at(const popliner_copies *copies, size_t stages_to_end);

/* The longest pipeline that they are known for; SIZE_MAX for any. O(1). */
size_t popliner_copies_max_stages(const popliner_copies *copies);

/* ---- What a pipeline adds ---- */

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
    /* each stage chooses: see popliner_analysis_solve and popliner/solver.h */
    POPLINER_RECOMPUTE_AUTO,
} popliner_recompute;

/* What a compiler adds to a stage that is compiled by itself: a set of bits. Only the full memory
 * model knows them. */
typedef enum popliner_effect {
    POPLINER_EFFECT_LAYOUT = 1,  /* memory that the layout leaves unused, as in the profile */
    POPLINER_EFFECT_PASSING = 2, /* tensors that skip a stage pass through its IPU */
    /* what a stage hands on, or is handed, stays as long as a cycle of the pipeline; PopART frees
     * what it has stashed; grouped TensorFlow has a copy more */
    POPLINER_EFFECT_BUFFERS = 4,
} popliner_effect;

#define POPLINER_EFFECTS_ALL 7u

/* Accumulators of gradients, that a stage of a pipeline that trains has for its parameters. */
typedef enum popliner_accumulators {
    POPLINER_ACCUMULATORS_NONE, /* beyond those of the profile, here and below */
    POPLINER_ACCUMULATORS_FP16, /* as many bytes as the parameters, if these have two each */
    POPLINER_ACCUMULATORS_FP32, /* twice as many */
    POPLINER_ACCUMULATORS_AUTO, /* FP16, but none where the profile has some */
} popliner_accumulators;

/* What is known of the memory that a stage will need: three numbers. */
typedef enum popliner_need {
    POPLINER_NEED_EXPECTED, /* by the memory model, with the effects that were chosen */
    POPLINER_NEED_LEAST,    /* what operations explain, and what the compiler always adds */
    POPLINER_NEED_MOST,     /* with the worst layout, all copies, and three spreads more */
    POPLINER_NUM_NEEDS,
} popliner_need;

/* By how much the largest tile of a stage changes (sigma) when its planning and mapping do and
 * nothing else does, as a share: the largest of docs/benchmarks.md. */
#define POPLINER_SPREAD 0.034

/* What is predicted times these. */
typedef struct popliner_scales {
    uint64_t code_per_million; /* of vertices, their state, exchange and control */
    uint64_t data_per_million; /* of all else that is live */
    uint64_t layout_per_million;
} popliner_scales;

/* What compiled pipelines were found to need beside what is predicted: popliner/changes.h.
 * All 0 for none; else all but the layouts are at least 1. Only the full memory model knows it. */
typedef struct popliner_calibration {
    popliner_scales earlier; /* for a stage with others behind it */
    popliner_scales last;    /* for one that ends with the last unit */
} popliner_calibration;

/* The largest scale. */
#define POPLINER_MAX_PER_MILLION 100000000

typedef struct popliner_pipeline {
    popliner_schedule schedule;
    popliner_recompute recompute;
    size_t max_stages; /* that are to be known; at least 1 */
    unsigned effects;  /* popliner_effect; of costs from a file this and the next mean nothing */
    popliner_accumulators accumulators;
    popliner_calibration calibration; /* nor does this */
    /* Instead of what the schedule says, but OF_SCHEDULE; not for INFERENCE. With the schedule NONE
     * a stage trains, and what is sent leaves before the other pass runs. */
    popliner_copies copies;
    /* Asked some fifty times a second while a file of costs is read: true ends that with STOPPED.
     * NULL: never. Called by the reading thread alone, and not kept. */
    bool (*should_stop)(void *user);
    void *should_stop_user;
} popliner_pipeline;

#ifdef __cplusplus
}
#endif

#endif
