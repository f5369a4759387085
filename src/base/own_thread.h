/* A function on a thread of its own, for the sake of libraries that keep state per thread. The
 * calling thread waits for it meanwhile, and answers its questions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_OWN_THREAD_H
#define PL_BASE_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Zero-initialise but for the first three members. */
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

#endif
