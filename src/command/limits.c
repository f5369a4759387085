/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/limits.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "command/log.h"
#include "command/session.h"

/* Limits for --solve are often short, since they were made for the solver alone: what it solves has
 * to be read before. */
static const double LEAST_SECONDS_TO_SOLVE = 5;

/* The library asks within this time of its end, where it does ask. */
enum { SECONDS_TO_ANSWER = 2 };

/* What the sanitizers of compilers map is more than any limit. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_SANITIZER 1
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

static struct {
    double max_seconds; /* of the work; 0: any */
    double worked_seconds;
    double since_seconds; /* when it went on; means nothing in a pause */
    int num_pauses;
    char last_words[128]; /* made ready, as a handler of signals cannot */
    size_t length;
} work;

static double seconds_left(void) {
    double worked = work.worked_seconds;
    if (work.num_pauses == 0)
        worked += log_seconds() - work.since_seconds;
    return work.max_seconds - worked;
}

static void on_alarm(int number) {
    (void)number;
    const ssize_t written = write(STDERR_FILENO, work.last_words, work.length);
    (void)written; /* if nobody hears it, the end is the same */
    _exit(1);
}

/* What does not ask is ended. The log tells when that will be. */
static void set_alarm(void) {
    char clock_text[16] = "";
    unsigned seconds = (unsigned)fmin(ceil(fmax(seconds_left(), 0)), 1e8) + SECONDS_TO_ANSWER;
    time_t then = time(NULL) + (time_t)seconds;
    struct tm local;
    if (localtime_r(&then, &local) != NULL)
        strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    int length = snprintf(work.last_words, sizeof work.last_words,
                          "%s ERROR   --time-limit: the work was not done after %g s; give it more "
                          "time\n",
                          clock_text, work.max_seconds);
    work.length = length > 0 && (size_t)length < sizeof work.last_words ? (size_t)length : 0;
    alarm(seconds);
}

static void limit_memory(uint64_t max_bytes) {
#ifdef RLIMIT_DATA
    struct rlimit limit;
    if (HAS_SANITIZER || max_bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY || max_bytes < limit.rlim_cur) {
        limit.rlim_cur = (rlim_t)max_bytes;
        setrlimit(RLIMIT_DATA, &limit);
    }
#else
    (void)max_bytes;
#endif
}

void limits_begin(const options *o) {
    struct sigaction action;
    limit_memory(o->max_memory_bytes);
    work.max_seconds = o->time_limit_seconds;
    work.worked_seconds = 0;
    work.since_seconds = log_seconds();
    if (work.max_seconds <= 0)
        return;
    if (o->solve && work.max_seconds < LEAST_SECONDS_TO_SOLVE)
        work.max_seconds = LEAST_SECONDS_TO_SOLVE;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    set_alarm();
}

void limits_pause(void) {
    if (work.num_pauses++ > 0)
        return;
    work.worked_seconds += log_seconds() - work.since_seconds;
    if (work.max_seconds > 0)
        alarm(0);
}

void limits_resume(void) {
    if (--work.num_pauses > 0)
        return;
    work.since_seconds = log_seconds();
    if (work.max_seconds > 0)
        set_alarm();
}

bool limits_are_over(void *user) {
    (void)user;
    return work.max_seconds > 0 && seconds_left() <= 0;
}

void limits_name_option(const options *o, popliner_error *error) {
    const popliner_error told = *error;
    if (told.status == POPLINER_ERROR_STOPPED)
        session_fail(error, told.status, "%s: --time-limit, %g s, is over; give it more time",
                     told.message, work.max_seconds);
    else if (told.status == POPLINER_ERROR_MEMORY && o->max_memory_bytes > 0)
        session_fail(error, told.status, "%s; --max-memory allows %llu bytes", told.message,
                     (unsigned long long)o->max_memory_bytes);
}
