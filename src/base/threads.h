/* Tasks on several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_THREADS_H
#define PL_BASE_THREADS_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/bounds.h"

/* Work: task(user, worker, i) for every i < count. Worker 0 is the calling thread; each worker runs
 * one task at a time. */
typedef struct pl_parallel {
    size_t num_threads; /* at least 1, including the calling one */
    size_t count;
    bool (*task)(void *user, size_t worker, size_t i); /* false if it failed */
    /* or NULL: the calling thread runs it first, while others run tasks */
    void (*side_task)(void *user);
    void *user;
    pl_bounds *bounds; /* or NULL; the calling thread polls it while it works and while it waits */
    bool is_apart; /* for libraries that keep state per thread: the calling thread runs no task */
} pl_parallel;

/* Starts the tasks in ascending order. After a task has failed, starts no further one, but finishes
 * all before it. Returns the smallest number of a failed task, which is the same for any number of
 * threads, or `count`. If the bounds stop the work, no further task starts either, and the first
 * one not started counts as failed, without an error of its own. Works with fewer threads if the
 * system provides fewer; tasks that are apart, with no other one, do not start. The calling thread
 * receives the signals of the process, and cannot be cancelled meanwhile. */
size_t pl_parallel_run(const pl_parallel *work);

/* Blocks all signals but those of this thread's own faults, which handlers of others report; sets
 * *before to the mask that it had. */
void pl_signals_block(sigset_t *before);

#endif
