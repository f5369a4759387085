/* The progress bar: a rate and the time left, of what lasts longer than a second.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command/log.h"

/* Standard error goes into a file while `tell` runs; returns what was written. */
static char *written(const char *directory, void (*tell)(log_state *log)) {
    char *path = test_path(directory, "err");
    size_t size = 0;
    log_state log;
    log_begin(&log, POPLINER_LEVEL_INFO, true);
    log.shows_progress = true; /* a file is no terminal */
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(kept >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    tell(&log);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(file);
    char *text = (char *)test_read_bytes(path, &size);
    text = realloc(text, size + 1);
    text[size] = '\0';
    free(path);
    return text;
}

static void wait_seconds(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void tell_short_task(log_state *log) {
    popliner_listener listener = log_listener(log);
    for (uint64_t done = 0; done <= 100; done++)
        listener.progress(log, "Quick", done, 100);
}

static void short_tasks_have_no_bar(void **state) {
    char *text = written(*state, tell_short_task);
    assert_string_equal(text, "");
    free(text);
}

static void tell_long_tasks(log_state *log) {
    popliner_listener listener = log_listener(log);
    listener.progress(log, "Long", 0, 40000000);
    wait_seconds(1.1);
    listener.progress(log, "Long", 10000000, 40000000);
    listener.progress(log, "Long", 40000000, 40000000);
    /* the same again begins anew */
    listener.progress(log, "Long", 1, 4);
    listener.progress(log, "Long", 4, 4);
}

static void long_tasks_have_rate_and_time_left(void **state) {
    char *text = written(*state, tell_long_tasks);
    double rate = 0;
    unsigned seconds = 0;
    int end = 0;
    assert_int_equal(sscanf(text,
                            "\rLong                         [#####               ]  25%% %lf "
                            "M/s, %u s left%n",
                            &rate, &seconds, &end),
                     2);
    assert_true(rate > 0.5 && rate < 9.2); /* however long the wait was in the end */
    assert_true(seconds >= 4 && seconds < 60);
    assert_true(end > 0 && end < 80); /* fits the narrowest terminals */
    /* gone when the task is over */
    assert_int_equal(text[end], '\r');
    assert_int_equal(strspn(text + end + 1, " "), end - 1);
    assert_string_equal(text + 2 * end, "\r");
    free(text);
}

static void tell_waiting(log_state *log) {
    double start = log_seconds();
    log_waiting(log, "Solving", start, 0, " (advice)"); /* perhaps over soon */
    log_waiting(log, "Solving", start - 12, 0, " (advice)");
    log_waiting(log, "Solving", start - 13, 0, " (advice)"); /* too soon after the last one */
    wait_seconds(0.3);
    log_waiting(log, "Solving", start - 20, 60, " (advice)");
    log_message(log, POPLINER_LEVEL_INFO, "Done");
}

static void what_cannot_tell_its_progress_tells_its_time(void **state) {
    char *text = written(*state, tell_waiting);
    const char *shown = "\rSolving for 12 s (advice)\rSolving for 20 s, at most 40 s left";
    if (strncmp(text, shown, strlen(shown)) != 0)
        fail_msg("'%s'", text);
    /* the line is taken off before anything else is written */
    const char *message = strstr(text, "INFO    Done\n");
    const char *blank = strrchr(text, '\r');
    assert_true(message != NULL && blank != NULL && blank < message);
    assert_null(strchr(text + strlen(shown), 'S'));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(short_tasks_have_no_bar),
        IN_DIRECTORY(long_tasks_have_rate_and_time_left),
        IN_DIRECTORY(what_cannot_tell_its_progress_tells_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
