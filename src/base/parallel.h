/* One task for each of many numbers, on several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PARALLEL_H
#define PL_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bounds.h"

/* What is to be done: task(user, worker, i) for every i < count. Worker 0 is the calling thread; no
 * two tasks run at the same time for one worker. */
typedef struct pl_parallel {
    size_t num_threads; /* at least 1; the calling one is among them */
    size_t count;
    bool (*task)(void *user, size_t worker, size_t i); /* false when it failed */
    void (*side_task)(void *user); /* or NULL: run first by the calling thread, beside the tasks */
    void *user;
    pl_bounds *bounds; /* or NULL; the calling thread asks while it works, and while it waits */
} pl_parallel;

/* Runs the tasks in the order of their numbers, as far as several threads keep an order. Behind a
 * task that failed no further one is begun, but all before it are finished. Returns the smallest
 * number of those that failed, so that it is the same for any number of threads, or `count`. Once
 * the bounds are over no further task is begun either, and the first of these counts as failed,
 * though no task has said so. Where the system gives fewer threads, the others do the work. */
size_t pl_parallel_run(const pl_parallel *work);

#endif
