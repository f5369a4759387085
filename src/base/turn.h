/* Turns of threads that work with one thing, and what a fork leaves of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_TURN_H
#define PL_BASE_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "popliner/error.h"

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
