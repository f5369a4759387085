/* popliner: memory that a pipeline, and compiling stages separately, add to stages.
 *
 * While later stages work on earlier micro-batches, a stage that trains must store the activations
 * of each micro-batch until its backward pass: every activation that lives from the forward to the
 * backward pass of the stage, or with full recomputation only the stage's inputs. The number of
 * stored copies depends on the schedule and on d, the number of stages after the stage. The last
 * stage stores no copy: its backward pass follows its forward pass, and the activations themselves
 * are counted anyway.
 *
 * docs/internals/memory-models.md has the rule of each effect, and its sources.
 *
 * Threads: the functions use only their arguments, so any number of threads may call them at once.
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

/* ---- Copies of activations ----
 *
 * The number of copies of its activations that a stage stores, by its position in the pipeline: the
 * number of micro-batches whose activations it stores in addition to the one that it is working on.
 * d is the number of stages after the stage, 0 for the last one.
 *
 * docs/schedules.md has the sources of the rules. */

/* With M micro-batches in a step, S stages and P IPUs. Each rule gives the largest number of
 * micro-batches in flight at one time, including the one that the stage is working on. The number
 * of copies is one less. */
typedef enum popliner_copies_rule {
    /* that of popliner_schedule; other members are ignored, except num_micro_batches for the time
     * of a step */
    POPLINER_COPIES_OF_SCHEDULE,
    POPLINER_COPIES_LIST,  /* the caller's own numbers of copies */
    POPLINER_COPIES_1F1B,  /* min(d + 1, M) */
    POPLINER_COPIES_GPIPE, /* M */
    /* min(S, M): including those that wait for the weight gradient (ZB-H1, ZB1P); where stages go
     * round, as INTERLEAVED with t = P + 2 (V - 1 - c) R; in a V (ZBV) min(d + 1, M) */
    POPLINER_COPIES_ZERO_BUBBLE,
    /* interleaved 1F1B, S = V * P chunks, in rounds of R micro-batches, of which the last one may
     * be shorter: R is the least from P on that leaves no round with fewer than P; P for any M, M
     * if that is less. Chunk c of IPU p has those of t = 2 (P - 1 - p) + 1 + 2 (V - 1 - c) R
     * consecutive turns, of which it has R in every V * R: min(R * (t div V R) + min(t mod V R, R),
     * M), and up to R - 1 more next to a last round that is shorter. 1F1B is this where stages go
     * round the IPUs. */
    POPLINER_COPIES_INTERLEAVED,
    POPLINER_COPIES_ZB_H2, /* min(2 S - 1, M): ZB-H2, ZB2P */
    /* For stages in a V alone. V_HALF and V_MIN of Qi et al., 2024: of a stage whose micro-batches
     * come every 6 passes and take t passes from the first one to that of the weights,
     * min(ceil(t / 6), M); an IPU holds about P / 2 and P / 3 whole ones. */
    POPLINER_COPIES_V_HALF,
    POPLINER_COPIES_V_MIN,
    POPLINER_COPIES_DUALPIPE_V, /* min(d + 1, M), of at least 2 P micro-batches (DeepSeek) */
    POPLINER_COPIES_ORDER,      /* those of the passes of `order` */
    POPLINER_NUM_COPIES_RULES,
} popliner_copies_rule;

enum { POPLINER_MAX_LISTED_COPIES = 64 };

/* The most copies that a stage stores; larger numbers are lowered to it. */
#define POPLINER_MAX_COPIES 32768

/* An order of passes from a file: stages go round the IPUs, or form a V. */
typedef struct popliner_order {
    size_t num_stages;
    size_t num_ipus;
    size_t num_micro_batches;
    bool is_v;
    bool has_weights; /* the gradients of weights have passes of their own */
} popliner_order;

/* Reads an order as PyTorch's CSV of schedules: a row for each IPU, whose cells are stage, pass (F:
 * forward, B: backward, or I without the gradients of weights, which are W) and micro-batch, like
 * "0F0,0B0"; an empty cell is nothing. If `text` is NULL, it reads the file. popliner_order_free
 * frees *order. Errors: INPUT, naming path, row, column and remedy, if a pass is missing, twice, or
 * waits for itself, or if the file cannot be read; MEMORY. O(passes * IPUs). */
popliner_status popliner_order_read(const char *path, const char *text, size_t length,
                                    popliner_order **order, popliner_error *error);
void popliner_order_free(popliner_order *order);

/* All 0, as in POPLINER_COPIES_UNSET: the copies of the schedule. */
typedef struct popliner_copies {
    popliner_copies_rule rule;
    /* added to each number of the rule: 1 if the stage's memory contains no set of activations */
    size_t more;
    /* of a step in one pipeline; 0: unlimited, but GPIPE needs a number */
    size_t num_micro_batches;
    /* INTERLEAVED needs it, and rules for a V do. ZERO_BUBBLE and ZB_H2 need it only to measure
     * single stages or to look up copies (0: unlimited); costs use the number of stages of each
     * split instead. */
    size_t num_stages;
    /* The IPUs that the stages go round, or there and back, for all rules but LIST and GPIPE. A
     * divisor of num_stages; 0 if they do neither. */
    size_t num_ipus;
    bool is_v; /* true: stages k and num_stages - 1 - k are on IPU k */
    /* for LIST: the copies of the last stage, of the one before it, ...; never descending */
    uint32_t listed[POPLINER_MAX_LISTED_COPIES];
    size_t num_listed;
    /* true: each stage before the listed ones has as many more as the last listed one has more than
     * the one before it. False: there are no such stages, but a single number holds for all
     * stages */
    bool goes_on;
    /* For ORDER, which must outlive costs and what is solved with them. Its numbers of stages, IPUs
     * and micro-batches must be those above. */
    const popliner_order *order;
} popliner_copies;

#define POPLINER_COPIES_UNSET                                                                      \
    { POPLINER_COPIES_OF_SCHEDULE, 0, 0, 0, 0, false, {0}, 0, false, NULL }

/* Parses the name of a rule ("1f1b", or "1f1b+1" for one more in each position), or a list of
 * numbers ("0,1,2,3"), which may end with ",..." to continue ("0,1,..." is 1F1B, "1,2,..." Piper's
 * A * y). A single number holds for every stage. Other members that the rule needs stay 0. Errors:
 * USAGE, a sentence that begins with "copies TEXT", with the remedy. */
popliner_status popliner_copies_parse(const char *text, popliner_copies *copies,
                                      popliner_error *error);

/* Checks that the rule has all that it needs, and that lists do not descend. Errors: USAGE. */
popliner_status popliner_copies_check(const popliner_copies *copies, popliner_error *error);

/* Sets num_stages, num_ipus and is_v to those of a device map (device_map[num_stages]: the IPU of
 * each stage). O(num_stages^2). */
void popliner_copies_set_map(popliner_copies *copies, const size_t *device_map, size_t num_stages);

/* Returns the number of copies of a stage, where stages_to_end (at least 1) counts the stage and
 * those after it. `copies` must pass popliner_copies_check and not be OF_SCHEDULE. After the end of
 * a list: its last number. For ZERO_BUBBLE and ZB_H2 without num_stages, stages_to_end is the
 * number of all stages, here and in costs. O(1); where stages take turns on IPUs, O(passes of an
 * IPU in four rounds), and for ORDER O(all passes of an IPU). */
size_t popliner_copies_at(const popliner_copies *copies, size_t stages_to_end);

/* Returns the length of the longest pipeline that the copies are defined for; SIZE_MAX for any.
 * O(1). */
size_t popliner_copies_max_stages(const popliner_copies *copies);

/* ---- Schedules and effects ---- */

/* Schedules, as their frameworks call them. */
typedef enum popliner_schedule {
    POPLINER_SCHEDULE_NONE,      /* stages without a pipeline */
    POPLINER_SCHEDULE_INFERENCE, /* no activations are stored */
    POPLINER_SCHEDULE_POPART,    /* 2 d + 1 copies: the stash in PopART's pipeline.cpp */
    /* TensorFlow for the IPU (pipeline_fifo_inserter.cc): */
    POPLINER_SCHEDULE_TF_GROUPED,     /* 2 d copies */
    POPLINER_SCHEDULE_TF_INTERLEAVED, /* d copies */
    POPLINER_SCHEDULE_SEQUENTIAL,     /* one stage at a time: no copies */
} popliner_schedule;

typedef enum popliner_recompute {
    POPLINER_RECOMPUTE_NONE, /* stores what lives from the forward to the backward pass */
    /* also stores what comes from other IPUs or goes to them, which cannot be recomputed: PopART's
     * standard, for a profile that was compiled with recomputation */
    POPLINER_RECOMPUTE_STANDARD,
    /* stores only the inputs of a stage: data from earlier stages and from the host */
    POPLINER_RECOMPUTE_FULL,
    /* chosen for each stage: see popliner_analysis_solve and popliner/solver.h */
    POPLINER_RECOMPUTE_AUTO,
} popliner_recompute;

/* Memory that a compiler adds to a stage that is compiled separately: a set of bits. Only the full
 * memory model has them. */
typedef enum popliner_effect {
    POPLINER_EFFECT_LAYOUT = 1,  /* layout overhead, as in the profile */
    POPLINER_EFFECT_PASSING = 2, /* tensors for a later stage pass through this IPU */
    /* what a stage sends or receives stays for a cycle of the pipeline; PopART frees what it has
     * stashed; grouped TensorFlow has one more copy */
    POPLINER_EFFECT_BUFFERS = 4,
} popliner_effect;

#define POPLINER_EFFECTS_ALL 7u

/* Accumulators of gradients, for the parameters of a stage of a training pipeline. */
typedef enum popliner_accumulators {
    POPLINER_ACCUMULATORS_NONE, /* none in addition to those of the profile */
    POPLINER_ACCUMULATORS_FP16, /* as many bytes as the parameters, if these have two bytes each */
    POPLINER_ACCUMULATORS_FP32, /* twice as many */
    POPLINER_ACCUMULATORS_AUTO, /* FP16, but none if the profile has accumulators */
} popliner_accumulators;

/* Estimates of the memory of a stage. */
typedef enum popliner_need {
    POPLINER_NEED_EXPECTED, /* by the memory model, with the chosen effects */
    POPLINER_NEED_LEAST,    /* attributed memory, and what the compiler always adds */
    POPLINER_NEED_MOST,     /* with all copies, and what plans and mappings vary */
    POPLINER_NUM_NEEDS,
} popliner_need;

/* sigma, the unit of margins, as a share of the expected memory: about how far the peak memory of a
 * stage varies when only planning and mapping change. */
#define POPLINER_SPREAD 0.034

typedef struct popliner_pipeline {
    popliner_schedule schedule;
    popliner_recompute recompute;
    size_t max_stages; /* the longest pipeline that costs are needed for; at least 1 */
    /* popliner_effect; this and the next one are ignored for costs from a file */
    unsigned effects;
    popliner_accumulators accumulators;
    /* Overrides the copies of the schedule, unless OF_SCHEDULE; not for INFERENCE. With the
     * schedule NONE a stage trains, and what it sends leaves before its other pass runs. */
    popliner_copies copies;
    /* Returns true to end reading a file of costs with STOPPED. The reading thread polls it some
     * fifty times a second. NULL: never. Not kept. */
    bool (*should_stop)(void *user);
    void *should_stop_user;
    /* The data-parallel pipelines that divide what the units of a file of costs have "sharded";
     * 0 is 1. */
    size_t num_replicas;
    /* Which sizes of a file of costs count: MOST are what it says that they may be at most, not
     * LEAST. */
    popliner_need need;
} popliner_pipeline;

#ifdef __cplusplus
}
#endif

#endif
