/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/own_thread.h"

#include <signal.h>
#include <stddef.h>

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

/* Starts the thread, which inherits that all signals are blocked but those of its own mistakes. */
static bool start(pl_own_thread *thread, pthread_t *id) {
    static const int own_mistakes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_mistakes / sizeof *own_mistakes; ++i)
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
    /* a thread that is cancelled takes with it the memory that its work is in */
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
