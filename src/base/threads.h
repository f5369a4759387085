/* Threads of the library: many tasks on several threads, a function on one of its own, and turns of
 * the caller's threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_THREADS_H
#define PL_BASE_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bounds.h"
#include "popliner/error.h"

/* ---- Many tasks ------------------------------------------------------------------------------ */

/* What is to be done: task(user, worker, i) for every i < count. Worker 0 is the calling thread; no
 * two tasks run at the same time for one worker. */
typedef struct pl_parallel {
    size_t num_threads; /* at least 1; the calling one is among them */
    size_t count;
    bool (*task)(void *user, size_t worker, size_t i); /* false when it failed */
    /* or NULL: run first by the calling thread, beside the tasks */
    void (*side_task)(void *user);
    void *user;
    pl_bounds *bounds; /* or NULL; the calling thread asks while it works, and while it waits */
} pl_parallel;

/* Runs the tasks in the order of their numbers, as far as several threads keep an order. Behind a
 * task that failed no further one is begun, but all before it are finished. Returns the smallest
 * number of those that failed, so that it is the same for any number of threads, or `count`. Once
 * the bounds are over no further task is begun either, and the first of these counts as failed,
 * though no task has said so. Where the system gives fewer threads, the others do the work. */
size_t pl_parallel_run(const pl_parallel *work);

/* ---- A thread of its own --------------------------------------------------------------------- */

/* A function on a thread of its own, for the sake of libraries that keep state per thread. The
 * calling thread waits for it meanwhile, and answers its questions. Zero-initialise but for the
 * first three members. */
typedef struct pl_own_thread {
    void (*work)(void *user);   /* on the thread of its own */
    bool (*answer)(void *user); /* on the calling thread, whenever the work asks */
    void *user;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    enum { PL_OWN_THREAD_WORKS, PL_OWN_THREAD_ASKS, PL_OWN_THREAD_IS_DONE } state;
    bool reply;
} pl_own_thread;

/* Starts a thread for thread->work and returns when the thread has ended. Signals to the process
 * stay with the other threads, and the calling thread cannot be cancelled meanwhile. False, and
 * nothing was done, if the system gives no thread. */
bool pl_own_thread_run(pl_own_thread *thread);

/* What thread->answer says; for the work alone. About as long as two switches of threads take. */
bool pl_own_thread_ask(pl_own_thread *thread);

/* ---- Turns ----------------------------------------------------------------------------------- */

/* Whose turn it is. Begin with pl_turn_begin, end with pl_turn_end. */
typedef struct pl_turn {
    pthread_mutex_t lock;       /* recursive: a thread that has the turn may take it again */
    atomic_long process;        /* whose threads count as users */
    atomic_uint_fast64_t users; /* calls that have the turn or wait for it */
} pl_turn;

/* Makes the turn. False if the system gives no lock. */
bool pl_turn_begin(pl_turn *turn);

/* Frees what the turn holds; nobody may have it. */
void pl_turn_end(pl_turn *turn);

/* Returns whether this process was forked while a thread had the turn or waited for it. The thread
 * is not in this process, what it worked with may be half changed, and it never leaves. */
bool pl_turn_is_lost(const pl_turn *turn);

/* Waits until no other thread has the turn, and takes it; pair each with pl_turn_leave. `what`
 * names the thing in messages, for example "the analysis". Errors: USAGE if the turn is lost. */
popliner_status pl_turn_take(pl_turn *turn, const char *what, popliner_error *error);
void pl_turn_leave(pl_turn *turn);

#endif
