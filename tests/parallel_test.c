/* Tasks on several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <pthread.h>
#include <string.h>

#include "base/bounds.h"
#include "base/threads.h"

enum { MOST_TASKS = 1000, MOST_WORKERS = 9 };

typedef struct record {
    pthread_t caller;
    int times[MOST_TASKS];
    int running[MOST_WORKERS]; /* each is touched by one worker alone */
    size_t fails_from;         /* of these tasks every third fails */
    int num_side_tasks;
    bool wrong_thread;
} record;

static bool do_task(void *user, size_t worker, size_t i) {
    record *r = user;
    r->times[i]++;
    r->running[worker]++;
    if ((worker == 0) != (pthread_equal(pthread_self(), r->caller) != 0))
        r->wrong_thread = true;
    return i < r->fails_from || (i - r->fails_from) % 3 != 0;
}

static void do_side_task(void *user) {
    record *r = user;
    r->num_side_tasks++;
    if (!pthread_equal(pthread_self(), r->caller))
        r->wrong_thread = true;
}

static size_t run(record *r, size_t num_threads, size_t count, size_t fails_from,
                  bool has_side_task) {
    *r = (record){.caller = pthread_self(), .fails_from = fails_from};
    const pl_parallel work = {.num_threads = num_threads,
                              .count = count,
                              .task = do_task,
                              .side_task = has_side_task ? do_side_task : NULL,
                              .user = r};
    return pl_parallel_run(&work);
}

static void does_every_task_once(void **state) {
    (void)state;
    static record r;
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, MOST_TASKS};
    for (size_t threads = 1; threads < MOST_WORKERS; threads++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            for (int has_side_task = 0; has_side_task < 2; has_side_task++) {
                size_t count = counts[k];
                assert_int_equal(run(&r, threads, count, MOST_TASKS, has_side_task == 1), count);
                for (size_t i = 0; i < MOST_TASKS; i++)
                    assert_int_equal(r.times[i], i < count ? 1 : 0);
                assert_int_equal(r.num_side_tasks, has_side_task);
                assert_false(r.wrong_thread);
                int done = 0;
                for (size_t worker = 0; worker < MOST_WORKERS; worker++) {
                    done += r.running[worker];
                    assert_true(worker < threads || r.running[worker] == 0);
                }
                assert_int_equal(done, count);
            }
        }
    }
}

/* The first one that fails is the same for every number of threads, and all before it are done. */
static void tells_the_first_failure(void **state) {
    (void)state;
    static record r;
    for (size_t threads = 1; threads < MOST_WORKERS; threads++) {
        for (size_t first = 0; first < 100; first++) {
            assert_int_equal(run(&r, threads, 100, first, first % 2 == 0), first);
            for (size_t i = 0; i <= first; i++)
                assert_int_equal(r.times[i], 1);
            for (size_t i = first + 1; i < MOST_TASKS; i++)
                assert_true(r.times[i] <= 1);
            /* others were at most begun before it failed */
            assert_true(threads > 1 || r.times[first + 1] == 0);
        }
    }
}

static void knows_the_machine(void **state) {
    (void)state;
    assert_in_range(pl_machine_processors(), 1, 1 << 20);
    assert_true(pl_machine_memory_bytes() > 1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_every_task_once),
        cmocka_unit_test(tells_the_first_failure),
        cmocka_unit_test(knows_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
