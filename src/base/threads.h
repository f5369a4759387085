/* Threads of the library: tasks on several threads, and a function on its own thread.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_THREADS_H
#define PL_BASE_THREADS_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/bounds.h"

/* ---- Many tasks ------------------------------------------------------------------------------ */

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
} pl_parallel;

/* Starts the tasks in ascending order. After a task has failed, starts no further one, but finishes
 * all before it. Returns the smallest number of a failed task, which is the same for any number of
 * threads, or `count`. If the bounds stop the work, no further task starts either, and the first
 * one not started counts as failed, without an error of its own. Works with fewer threads if the
 * system provides fewer. */
size_t pl_parallel_run(const pl_parallel *work);

/* ---- A separate thread ----------------------------------------------------------------------- */

/* A function on its own thread, for libraries that keep state per thread. The calling thread waits
 * for it, and answers its requests. Zero-initialise all but the first three members. */
typedef struct pl_own_thread {
    void (*work)(void *user);   /* runs on the new thread */
    bool (*answer)(void *user); /* runs on the calling thread, for each request of the work */
    void *user;

    sem_t asks; /* or is done */
    sem_t has_reply;
    bool is_done;
    bool reply;
} pl_own_thread;

/* Starts a thread for thread->work and returns when the thread has ended. The other threads receive
 * the signals of the process, and the calling thread cannot be cancelled meanwhile. False, with
 * nothing done, if the system provides no thread. */
bool pl_own_thread_run(pl_own_thread *thread);

/* Blocks all signals but those of this thread's own faults, which handlers of others report; sets
 * *before to the mask that it had. */
void pl_signals_block(sigset_t *before);

/* Returns the result of thread->answer; only for the work. Takes about as long as two switches of
 * threads. */
bool pl_own_thread_ask(pl_own_thread *thread);

#endif
