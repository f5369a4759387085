/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "command/progress.h"
#include "popliner/utilities.h"

void log_begin(log_state *log, popliner_level least_level) {
    *log = (log_state){.least_level = least_level};
}

/* Names from files may hold line ends, which would break the log's one line per message, and
 * sequences that a terminal obeys. */
static void write_printable(const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        fputs(shown, stderr);
    }
}

static void on_message(void *user, popliner_level level, const char *text) {
    static const char *const names[] = {
        [POPLINER_LEVEL_DEBUG] = "DEBUG",
        [POPLINER_LEVEL_INFO] = "INFO",
        [POPLINER_LEVEL_WARNING] = "WARNING",
        [POPLINER_LEVEL_ERROR] = "ERROR",
    };
    log_state *log = user;
    if (level < log->least_level)
        return;
    char clock_text[16] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL)
        strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    progress_erase();
    fprintf(stderr, "%s %-7s ", clock_text, names[level]);
    if (log->about != NULL) {
        write_printable(log->about);
        fputs(": ", stderr);
    }
    write_printable(text);
    fputc('\n', stderr);
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    (void)user;
    progress_task(task, done, total);
}

popliner_listener log_listener(log_state *log) {
    popliner_listener listener = POPLINER_LISTENER_INIT;
    listener.user = log;
    listener.message = on_message;
    listener.progress = on_progress;
    return listener;
}

void log_message(log_state *log, popliner_level level, const char *format, ...) {
    char short_text[4000];
    va_list arguments;
    va_list again;
    if (log->is_mute)
        return;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(short_text, sizeof short_text, format, arguments);
    /* the split of a model of many layers makes a long line */
    size_t size = length < 0 ? 0 : (size_t)length + 1;
    char *long_text = size > sizeof short_text ? malloc(size) : NULL;
    if (long_text != NULL)
        vsnprintf(long_text, size, format, again);
    on_message(log, level, long_text != NULL ? long_text : short_text);
    free(long_text);
    va_end(again);
    va_end(arguments);
}

double log_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void log_took(log_state *log, const char *what, double seconds) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    log_message(log, POPLINER_LEVEL_DEBUG, "%s: %.2f s, peak memory %ld MiB", what, seconds,
                usage.ru_maxrss / 1024);
}

void log_step(log_state *log, const char *what, double start_seconds) {
    log_took(log, what, log_seconds() - start_seconds);
}
