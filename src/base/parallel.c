/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct crew {
    const pl_parallel *work;
    pthread_mutex_t lock; /* of what follows */
    size_t next;
    size_t first_failed;
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
        if (!work->task(work->user, worker, i)) {
            pthread_mutex_lock(&c->lock);
            if (i < c->first_failed)
                c->first_failed = i;
            pthread_mutex_unlock(&c->lock);
        }
    }
}

static void *help(void *argument) {
    helper *h = argument;
    do_tasks(h->crew, h->worker);
    return NULL;
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
    for (; helpers != NULL && num_helpers < max_helpers; num_helpers++) {
        helper *h = &helpers[num_helpers];
        *h = (helper){.crew = &c, .worker = num_helpers + 1};
        if (pthread_create(&h->thread, NULL, help, h) != 0)
            break;
    }
    if (work->side_task != NULL)
        work->side_task(work->user);
    do_tasks(&c, 0);
    for (size_t i = 0; i < num_helpers; i++)
        pthread_join(helpers[i].thread, NULL);
    pthread_mutex_destroy(&c.lock);
    free(helpers);
    return c.first_failed;
}
