/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/threads.h"

#include <stdlib.h>
#include <time.h>

/* ---- Many tasks ------------------------------------------------------------------------------ */

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

size_t pl_parallel_run(const pl_parallel *work) {
    crew c = {.work = work};
    /* the calling thread needs no task while it runs `side_task` */
    size_t useful = work->count + (work->side_task != NULL && work->count > 0);
    size_t num_threads = work->num_threads < useful ? work->num_threads : useful;
    size_t max_helpers = num_threads > 1 ? num_threads - 1 : 0;
    size_t num_helpers = 0;
    helper *helpers = max_helpers == 0 ? NULL : calloc(max_helpers, sizeof *helpers);
    sem_init(&c.helper_ended, 0, 0);
    /* helpers may be done before this thread has a task */
    atomic_init(&c.first_failed, pl_bounds_ask(work->bounds) ? 0 : work->count);
    for (; helpers != NULL && num_helpers < max_helpers; num_helpers++) {
        helper *h = &helpers[num_helpers];
        *h = (helper){.crew = &c, .worker = num_helpers + 1};
        if (pthread_create(&h->thread, NULL, help, h) != 0)
            break;
    }
    if (work->side_task != NULL)
        work->side_task(work->user);
    do_tasks(&c, 0);
    if (work->bounds != NULL && work->bounds->should_stop != NULL)
        watch_helpers(&c, num_helpers);
    for (size_t i = 0; i < num_helpers; i++)
        pthread_join(helpers[i].thread, NULL);
    sem_destroy(&c.helper_ended);
    free(helpers);
    return atomic_load(&c.first_failed);
}

/* ---- A separate thread ----------------------------------------------------------------------- */

static void wait_for(sem_t *event) {
    while (sem_wait(event) != 0) /* a signal came */
        continue;
}

bool pl_own_thread_ask(pl_own_thread *thread) {
    sem_post(&thread->asks);
    wait_for(&thread->has_reply);
    return thread->reply;
}

static void *begin(void *argument) {
    pl_own_thread *thread = argument;
    thread->work(thread->user);
    thread->is_done = true;
    sem_post(&thread->asks);
    return NULL;
}

void pl_signals_block(sigset_t *before) {
    static const int own_mistakes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_mistakes / sizeof *own_mistakes; i++)
        sigdelset(&blocked, own_mistakes[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/* Starts the thread, which gets no signals. */
static bool start(pl_own_thread *thread, pthread_t *id) {
    sigset_t before;
    pl_signals_block(&before);
    bool is_started = pthread_create(id, NULL, begin, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

bool pl_own_thread_run(pl_own_thread *thread) {
    pthread_t id;
    int cancel_state;
    /* cancelling this thread would free the memory that the work uses */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    sem_init(&thread->asks, 0, 0);
    sem_init(&thread->has_reply, 0, 0);
    const bool is_started = start(thread, &id);
    for (; is_started; sem_post(&thread->has_reply)) {
        wait_for(&thread->asks);
        if (thread->is_done)
            break;
        thread->reply = thread->answer(thread->user);
    }
    if (is_started)
        pthread_join(id, NULL);
    sem_destroy(&thread->has_reply);
    sem_destroy(&thread->asks);
    pthread_setcancelstate(cancel_state, NULL);
    return is_started;
}
