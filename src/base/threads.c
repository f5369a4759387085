/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/threads.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/failure.h"

/* ---- Many tasks ------------------------------------------------------------------------------ */

typedef struct crew {
    const pl_parallel *work;
    pthread_mutex_t lock; /* of the members below */
    pthread_cond_t helper_ended;
    size_t next;
    size_t first_failed;
    size_t num_at_work; /* helpers */
} crew;

typedef struct helper {
    crew *crew;
    size_t worker;
    pthread_t thread;
} helper;

static void do_tasks(crew *c, size_t worker) {
    const pl_parallel *work = c->work;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        size_t i = c->next < c->first_failed ? c->next++ : work->count;
        pthread_mutex_unlock(&c->lock);
        if (i >= work->count)
            return;
        bool is_over = worker == 0 ? pl_bounds_ask(work->bounds) : pl_bounds_are_over(work->bounds);
        if (is_over || !work->task(work->user, worker, i)) {
            pthread_mutex_lock(&c->lock);
            if (i < c->first_failed)
                c->first_failed = i;
            pthread_mutex_unlock(&c->lock);
        }
    }
}

static void *help(void *argument) {
    helper *h = argument;
    crew *c = h->crew;
    do_tasks(c, h->worker);
    pthread_mutex_lock(&c->lock);
    c->num_at_work--;
    pthread_cond_signal(&c->helper_ended);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Waits for the helpers and polls the caller, which no other thread may do. */
static void watch_helpers(crew *c) {
    enum { MILLISECONDS = 20, NANOSECONDS_EACH = 1000000, SECOND = 1000000000 };
    while (!pl_bounds_ask(c->work->bounds)) {
        struct timespec until;
        timespec_get(&until, TIME_UTC);
        until.tv_nsec += (long)MILLISECONDS * NANOSECONDS_EACH;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        pthread_mutex_lock(&c->lock);
        if (c->num_at_work > 0)
            pthread_cond_timedwait(&c->helper_ended, &c->lock, &until);
        bool is_done = c->num_at_work == 0;
        pthread_mutex_unlock(&c->lock);
        if (is_done)
            return;
    }
}

size_t pl_parallel_run(const pl_parallel *work) {
    crew c = {.work = work, .first_failed = work->count};
    /* the calling thread needs no task while it runs `side_task` */
    size_t useful = work->count + (work->side_task != NULL && work->count > 0);
    size_t num_threads = work->num_threads < useful ? work->num_threads : useful;
    size_t max_helpers = num_threads > 1 ? num_threads - 1 : 0;
    size_t num_helpers = 0;
    helper *helpers = max_helpers == 0 ? NULL : calloc(max_helpers, sizeof *helpers);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.helper_ended, NULL);
    if (pl_bounds_ask(work->bounds)) /* helpers may be done before this thread has a task */
        c.first_failed = 0;
    for (; helpers != NULL && num_helpers < max_helpers; num_helpers++) {
        helper *h = &helpers[num_helpers];
        *h = (helper){.crew = &c, .worker = num_helpers + 1};
        pthread_mutex_lock(&c.lock);
        bool is_there = pthread_create(&h->thread, NULL, help, h) == 0;
        c.num_at_work += is_there;
        pthread_mutex_unlock(&c.lock);
        if (!is_there)
            break;
    }
    if (work->side_task != NULL)
        work->side_task(work->user);
    do_tasks(&c, 0);
    if (work->bounds != NULL && work->bounds->should_stop != NULL)
        watch_helpers(&c);
    for (size_t i = 0; i < num_helpers; i++)
        pthread_join(helpers[i].thread, NULL);
    pthread_cond_destroy(&c.helper_ended);
    pthread_mutex_destroy(&c.lock);
    free(helpers);
    return c.first_failed;
}

/* ---- A separate thread ----------------------------------------------------------------------- */

bool pl_own_thread_ask(pl_own_thread *thread) {
    pthread_mutex_lock(&thread->lock);
    thread->state = PL_OWN_THREAD_ASKS;
    pthread_cond_signal(&thread->changed);
    while (thread->state == PL_OWN_THREAD_ASKS)
        pthread_cond_wait(&thread->changed, &thread->lock);
    bool reply = thread->reply;
    pthread_mutex_unlock(&thread->lock);
    return reply;
}

static void *begin(void *argument) {
    pl_own_thread *thread = argument;
    thread->work(thread->user);
    pthread_mutex_lock(&thread->lock);
    thread->state = PL_OWN_THREAD_IS_DONE;
    pthread_cond_signal(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    return NULL;
}

/* Starts the thread with all signals blocked except those of its own faults. */
static bool start(pl_own_thread *thread, pthread_t *id) {
    static const int own_mistakes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_mistakes / sizeof *own_mistakes; i++)
        sigdelset(&blocked, own_mistakes[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool is_started = pthread_create(id, NULL, begin, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* Answers until the work is done. */
static void attend(pl_own_thread *thread) {
    pthread_mutex_lock(&thread->lock);
    while (thread->state != PL_OWN_THREAD_IS_DONE) {
        if (thread->state == PL_OWN_THREAD_WORKS) {
            pthread_cond_wait(&thread->changed, &thread->lock);
            continue;
        }
        /* the thread waits meanwhile, so nothing changes */
        pthread_mutex_unlock(&thread->lock);
        bool reply = thread->answer(thread->user);
        pthread_mutex_lock(&thread->lock);
        thread->reply = reply;
        thread->state = PL_OWN_THREAD_WORKS;
        pthread_cond_signal(&thread->changed);
    }
    pthread_mutex_unlock(&thread->lock);
}

bool pl_own_thread_run(pl_own_thread *thread) {
    pthread_t id;
    int cancel_state;
    bool is_started = false;
    if (pthread_mutex_init(&thread->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&thread->changed, NULL) != 0)
        goto without_condition;
    /* cancelling this thread would free the memory that the work uses */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    thread->state = PL_OWN_THREAD_WORKS;
    is_started = start(thread, &id);
    if (is_started) {
        attend(thread);
        pthread_join(id, NULL);
    }
    pthread_setcancelstate(cancel_state, NULL);
    pthread_cond_destroy(&thread->changed);
without_condition:
    pthread_mutex_destroy(&thread->lock);
    return is_started;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

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
    /* this order is right even if a fork comes between the steps: users belong to that process, and
     * the owner of the lock is a user */
    atomic_store(&turn->process, (long)getpid());
    atomic_fetch_add(&turn->users, 1);
    pthread_mutex_lock(&turn->lock);
    return POPLINER_OK;
}

void pl_turn_leave(pl_turn *turn) {
    pthread_mutex_unlock(&turn->lock);
    atomic_fetch_sub(&turn->users, 1);
}
