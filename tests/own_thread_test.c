/* A function on a thread of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "refused_threads.h"
#include "test.h"

#include "base/threads.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct record {
    pl_own_thread thread;
    pthread_t caller;
    size_t num_questions;
    size_t num_answers;
    size_t num_yes;
    bool has_worked;
    bool worked_elsewhere;
    bool answered_elsewhere;
} record;

/* Every third answer is yes. */
static bool answer(void *user) {
    record *r = user;
    r->answered_elsewhere = r->answered_elsewhere || pthread_equal(pthread_self(), r->caller) == 0;
    return ++r->num_answers % 3 == 0;
}

static void ask(void *user) {
    record *r = user;
    r->has_worked = true;
    r->worked_elsewhere = pthread_equal(pthread_self(), r->caller) == 0;
    for (size_t i = 0; i < r->num_questions; ++i)
        r->num_yes += pl_own_thread_ask(&r->thread);
}

static record new_record(void (*work)(void *), size_t num_questions) {
    record r = {.caller = pthread_self(), .num_questions = num_questions};
    r.thread.work = work;
    r.thread.answer = answer;
    return r;
}

static void every_question_is_answered_by_the_caller(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        record r = new_record(ask, counts[i]);
        r.thread.user = &r;
        assert_true(pl_own_thread_run(&r.thread));
        assert_true(r.has_worked && r.worked_elsewhere);
        assert_false(r.answered_elsewhere);
        assert_int_equal(r.num_answers, counts[i]);
        assert_int_equal(r.num_yes, counts[i] / 3);
    }
}

static void does_nothing_without_a_thread(void **state) {
    (void)state;
    record r = new_record(ask, 1);
    r.thread.user = &r;
    refuses_threads = true;
    bool is_done = pl_own_thread_run(&r.thread);
    refuses_threads = false;
    assert_false(is_done || r.has_worked);
    assert_int_equal(r.num_answers, 0);
}

static volatile sig_atomic_t num_signals;
static pthread_t signalled_thread;

static void on_signal(int number) {
    (void)number;
    signalled_thread = pthread_self();
    num_signals++;
}

static void signal_and_ask(void *user) {
    kill(getpid(), SIGUSR1);
    ask(user);
}

static void signals_stay_with_the_caller(void **state) {
    (void)state;
    struct sigaction action;
    struct sigaction before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, &before);
    record r = new_record(signal_and_ask, 1);
    r.thread.user = &r;
    num_signals = 0;
    assert_true(pl_own_thread_run(&r.thread));
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(num_signals, 1);
    assert_true(pthread_equal(signalled_thread, pthread_self()) != 0);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(sigismember(&blocked, SIGUSR1), 0);
}

/* ---- a calling thread that is cancelled meanwhile ---- */

typedef struct cancelled {
    record record;
    bool has_returned;
} cancelled;

static void cancel_and_ask(void *user) {
    record *r = user;
    pthread_cancel(r->caller);
    ask(user);
}

static void *run_and_go_on(void *argument) {
    cancelled *c = argument;
    c->record = new_record(cancel_and_ask, 100);
    c->record.thread.user = &c->record;
    c->has_returned = pl_own_thread_run(&c->record.thread);
    pthread_testcancel();
    return NULL;
}

static void cancelling_waits_for_the_work(void **state) {
    (void)state;
    static cancelled c;
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, run_and_go_on, &c), 0);
    pthread_join(thread, &result);
    assert_true(c.has_returned);
    assert_int_equal(c.record.num_answers, 100);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question_is_answered_by_the_caller),
        cmocka_unit_test(does_nothing_without_a_thread),
        cmocka_unit_test(signals_stay_with_the_caller),
        cmocka_unit_test(cancelling_waits_for_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
