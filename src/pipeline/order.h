/* The order of passes on each device of a pipeline.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PIPELINE_ORDER_H
#define PL_PIPELINE_ORDER_H

#include "popliner/pipeline.h"

typedef enum pl_pass_kind {
    PL_PASS_FORWARD,
    PL_PASS_BACKWARD, /* all of it, or for the gradients of inputs, if those of weights are apart */
    PL_PASS_WEIGHTS,
    PL_NUM_PASS_KINDS,
} pl_pass_kind;

typedef struct pl_pass {
    pl_pass_kind kind;
    size_t stage;
    size_t micro_batch;
    bool is_last; /* of its micro-batch in its stage; with the gradients of weights if backward */
} pl_pass;

/* The orders of all devices. Stage s runs on device s modulo num_devices; in a V, the stages of a
 * device are d and 2 * num_devices - 1 - d. */
typedef struct pl_order {
    const popliner_pipeline *pipeline;
    size_t num_devices;
    size_t num_chunks;        /* stages of a device; 2 in a V */
    size_t num_micro_batches; /* at least 1, also where the pipeline's number is unknown */
    size_t round;             /* see pl_copies_round */
    bool is_v;
} pl_order;

/* Returns the orders of a pipeline; only num_chunks > 1 asks whether it is a V. O(1). */
pl_order pl_order_of(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks,
                     bool is_v);

/* Returns the orders of copies that take turns on IPUs, of so many micro-batches that more of them
 * change nothing in what stages hold. */
pl_order pl_order_of_copies(const popliner_pipeline *pipeline);

/* Returns the order of stages whose IPUs they go round, or there and back; without devices if they
 * do neither. The IPU of each stage is `stride` bytes after that of the stage before. O(num_stages
 * * IPUs). */
pl_order pl_order_of_map(const popliner_pipeline *pipeline, const size_t *first_ipu, size_t stride,
                         size_t num_stages);

/* Returns how many IPUs stages go round, or if it says so there and back; 0 if they do neither. The
 * other arguments are as above. */
size_t pl_order_shape(const size_t *first_ipu, size_t stride, size_t num_stages, bool *is_v);

/* Returns why there is no order for these devices and chunks, static text; NULL if there is. O(1).
 */
const char *pl_order_obstacle(const pl_order *order);

/* Returns what users call the order, static text. */
const char *pl_order_name(const pl_order *order);

/* Returns the device of a stage. O(1). */
size_t pl_order_device(const pl_order *order, size_t stage);

enum { PL_MAX_PHRASES = 12 };

/* Passes of a device that are repeated: two letters each, of the kind (F, B, W; A: a backward pass
 * with the gradients of weights) and of the chunk (0 or 1; a dot: the chunks take turns by rounds;
 * a tilde: one pass of each, where the first one is that of the device's parity). */
typedef struct pl_phrase {
    size_t times;
    const char *passes;
} pl_phrase;

/* A walk through the passes of a device. */
typedef struct pl_order_walk {
    const pl_order *order;
    size_t device;
    pl_phrase phrases[PL_MAX_PHRASES];
    size_t phrase; /* the current one, how often it has run, and its next letter */
    size_t time;
    size_t letter;
    size_t done[PL_NUM_PASS_KINDS][2]; /* passes so far: of all chunks, or of either in a V */
    size_t num_by_parity[PL_NUM_PASS_KINDS];
    size_t steps[PL_NUM_PASS_KINDS][2]; /* of a block, which has no phrases */
    size_t step;                        /* of blocks, or in the passes that were given */
} pl_order_walk;

/* Begins with the first pass of a device. The order must stay; it has no obstacle. O(1). */
pl_order_walk pl_order_begin(const pl_order *order, size_t device);

/* Gets the next pass; false at the end. O(1). */
bool pl_order_next(pl_order_walk *walk, pl_pass *pass);

/* Runs the next pass of a device; false if one that it waits for has not run. */
typedef bool pl_order_function(void *user, size_t device, const pl_pass *pass);

/* Runs the passes of all devices, as far as none waits for itself. Errors: MEMORY. O(passes). */
popliner_status pl_order_run(const pl_order *order, pl_order_function *run, void *user,
                             popliner_error *error);

#endif
