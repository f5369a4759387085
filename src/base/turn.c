/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/turn.h"

#include "base/failure.h"

#include <unistd.h>

bool pl_turn_begin(pl_turn *turn) {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    bool is_made = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                   pthread_mutex_init(&turn->lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    atomic_init(&turn->process, 0);
    atomic_init(&turn->users, 0);
    return is_made;
}

void pl_turn_end(pl_turn *turn) {
    pthread_mutex_destroy(&turn->lock);
}

bool pl_turn_is_lost(const pl_turn *turn) {
    return atomic_load(&turn->users) > 0 && atomic_load(&turn->process) != (long)getpid();
}

popliner_status pl_turn_take(pl_turn *turn, const char *what, popliner_error *error) {
    if (pl_turn_is_lost(turn))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s was in use when this process was forked; make another one here, or fork "
                       "while no thread uses it",
                       what);
    /* in this order, which no fork between the steps makes wrong: users are of that process, and
     * whoever has the lock is a user */
    atomic_store(&turn->process, (long)getpid());
    atomic_fetch_add(&turn->users, 1);
    pthread_mutex_lock(&turn->lock);
    return POPLINER_OK;
}

void pl_turn_leave(pl_turn *turn) {
    pthread_mutex_unlock(&turn->lock);
    atomic_fetch_sub(&turn->users, 1);
}
