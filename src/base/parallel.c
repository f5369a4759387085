/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct crew {
    const pl_parallel *work;
    pthread_mutex_t lock; /* of what follows */
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

/* Waits for the helpers, and asks meanwhile: nobody else may ask the caller. */
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
    /* the calling thread needs no task of its own while it is busy with `side_task` */
    size_t useful = work->count + (work->side_task != NULL && work->count > 0);
    size_t num_threads = work->num_threads < useful ? work->num_threads : useful;
    size_t max_helpers = num_threads > 1 ? num_threads - 1 : 0;
    size_t num_helpers = 0;
    helper *helpers = max_helpers == 0 ? NULL : calloc(max_helpers, sizeof *helpers);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.helper_ended, NULL);
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
