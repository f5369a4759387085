/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/threads.h"

#include <stdlib.h>
#include <time.h>

typedef struct crew {
    const pl_parallel *work;
    atomic_size_t next;
    atomic_size_t first_failed;
    sem_t helper_ended;
} crew;

typedef struct helper {
    crew *crew;
    size_t worker;
    pthread_t thread;
} helper;

static void do_tasks(crew *c, size_t worker) {
    const pl_parallel *work = c->work;
    for (;;) {
        const size_t i = atomic_fetch_add(&c->next, 1);
        size_t first_failed = atomic_load(&c->first_failed);
        if (i >= first_failed)
            return;
        bool is_over = worker == 0 ? pl_bounds_ask(work->bounds) : pl_bounds_are_over(work->bounds);
        if (!is_over && work->task(work->user, worker, i))
            continue;
        while (i < first_failed &&
               !atomic_compare_exchange_weak(&c->first_failed, &first_failed, i))
            continue;
    }
}

static void *help(void *argument) {
    helper *h = argument;
    do_tasks(h->crew, h->worker);
    sem_post(&h->crew->helper_ended);
    return NULL;
}

/* Waits for the helpers and polls the caller, which no other thread may do. */
static void watch_helpers(crew *c, size_t num_helpers) {
    enum { MILLISECONDS = 20, NANOSECONDS_EACH = 1000000, SECOND = 1000000000 };
    for (size_t num_ended = 0; num_ended < num_helpers && !pl_bounds_ask(c->work->bounds);) {
        struct timespec until;
        timespec_get(&until, TIME_UTC);
        until.tv_nsec += (long)MILLISECONDS * NANOSECONDS_EACH;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        num_ended += sem_timedwait(&c->helper_ended, &until) == 0;
    }
}

void pl_signals_block(sigset_t *before) {
    static const int own_mistakes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_mistakes / sizeof *own_mistakes; i++)
        sigdelset(&blocked, own_mistakes[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

size_t pl_parallel_run(const pl_parallel *work) {
    crew c = {.work = work};
    /* the calling thread needs no task while it runs `side_task` */
    size_t useful = work->count + ((work->side_task != NULL || work->is_apart) && work->count > 0);
    size_t num_threads = work->num_threads < useful ? work->num_threads : useful;
    size_t max_helpers = num_threads > 1 ? num_threads - 1 : 0;
    size_t num_helpers = 0;
    helper *helpers = max_helpers == 0 ? NULL : calloc(max_helpers, sizeof *helpers);
    sigset_t signals;
    int cancel_state;
    /* cancelling this thread would free the memory that the work uses */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pl_signals_block(&signals); /* of the helpers */
    sem_init(&c.helper_ended, 0, 0);
    /* helpers may be done before this thread has a task */
    atomic_init(&c.first_failed, pl_bounds_ask(work->bounds) ? 0 : work->count);
    for (; helpers != NULL && num_helpers < max_helpers; num_helpers++) {
        helper *h = &helpers[num_helpers];
        *h = (helper){.crew = &c, .worker = num_helpers + 1};
        if (pthread_create(&h->thread, NULL, help, h) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    if (work->side_task != NULL)
        work->side_task(work->user);
    if (!work->is_apart)
        do_tasks(&c, 0);
    else if (num_helpers == 0)
        atomic_store(&c.first_failed, 0);
    if (work->bounds != NULL && work->bounds->should_stop != NULL)
        watch_helpers(&c, num_helpers);
    for (size_t i = 0; i < num_helpers; i++)
        pthread_join(helpers[i].thread, NULL);
    sem_destroy(&c.helper_ended);
    free(helpers);
    pthread_setcancelstate(cancel_state, NULL);
    return atomic_load(&c.first_failed);
}
