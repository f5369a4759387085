/* A task that does not run on the calling thread.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "refused_threads.h"
#include "test.h"

#include "base/threads.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct record {
    pthread_t caller;
    size_t answers_until; /* the answer to this question is that the work must end */
    size_t num_answers;
    bool signals; /* the work sends a signal to the process, or cancels its caller */
    bool cancels;
    bool has_worked;
    bool worked_elsewhere;
    bool answered_elsewhere;
    pl_bounds bounds;
} record;

static bool answer(void *user) {
    record *r = user;
    r->answered_elsewhere = r->answered_elsewhere || pthread_equal(pthread_self(), r->caller) == 0;
    return ++r->num_answers >= r->answers_until;
}

/* Works until it must end. */
static bool work(void *user, size_t worker, size_t i) {
    const struct timespec pause = {0, 1000000};
    record *r = user;
    r->has_worked = true;
    r->worked_elsewhere = worker == 1 && i == 0 && pthread_equal(pthread_self(), r->caller) == 0;
    if (r->signals)
        kill(getpid(), SIGUSR1);
    if (r->cancels)
        pthread_cancel(r->caller);
    while (!pl_bounds_are_over(&r->bounds))
        nanosleep(&pause, NULL);
    return true;
}

/* True if the work was done. */
static bool run(record *r) {
    const pl_parallel task = {.num_threads = 2,
                              .count = 1,
                              .task = work,
                              .user = r,
                              .bounds = &r->bounds,
                              .is_apart = true};
    r->caller = pthread_self();
    r->bounds.should_stop = answer;
    r->bounds.user = r;
    return pl_parallel_run(&task) == 1;
}

static void the_caller_answers_what_another_thread_asks(void **state) {
    (void)state;
    for (size_t count = 2; count < 5; ++count) {
        record r = {.answers_until = count};
        assert_true(run(&r));
        assert_true(r.has_worked && r.worked_elsewhere);
        assert_false(r.answered_elsewhere);
        assert_int_equal(r.num_answers, count);
    }
    record r = {.answers_until = 1}; /* before it begins */
    assert_false(run(&r) || r.has_worked);
}

static void does_nothing_without_a_thread(void **state) {
    (void)state;
    record r = {.answers_until = 2};
    refuses_threads = true;
    const bool is_done = run(&r);
    refuses_threads = false;
    assert_false(is_done || r.has_worked);
}

static volatile sig_atomic_t num_signals;
static pthread_t signalled_thread;

static void on_signal(int number) {
    (void)number;
    signalled_thread = pthread_self();
    num_signals++;
}

static void signals_stay_with_the_caller(void **state) {
    (void)state;
    struct sigaction action;
    struct sigaction before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, &before);
    record r = {.answers_until = 2, .signals = true};
    num_signals = 0;
    assert_true(run(&r));
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(num_signals, 1);
    assert_true(pthread_equal(signalled_thread, pthread_self()) != 0);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(sigismember(&blocked, SIGUSR1), 0);
}

/* ---- a calling thread that is cancelled meanwhile ---- */

static void *run_and_go_on(void *argument) {
    bool *has_returned = argument;
    record r = {.answers_until = 5, .cancels = true};
    *has_returned = run(&r) && r.num_answers == 5;
    pthread_testcancel();
    return NULL;
}

static void cancelling_waits_for_the_work(void **state) {
    (void)state;
    bool has_returned = false;
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, run_and_go_on, &has_returned), 0);
    pthread_join(thread, &result);
    assert_true(has_returned);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_answers_what_another_thread_asks),
        cmocka_unit_test(does_nothing_without_a_thread),
        cmocka_unit_test(signals_stay_with_the_caller),
        cmocka_unit_test(cancelling_waits_for_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
