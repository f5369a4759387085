/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void log_begin(log_state *log, popliner_level least_level, bool shows_progress) {
    *log = (log_state){.least_level = least_level,
                       .shows_progress = shows_progress && isatty(STDERR_FILENO)};
}

/* Takes the progress bar off the line, so that something else can be written. */
static void erase_bar(log_state *log) {
    if (log->bar_width > 0)
        fprintf(stderr, "\r%*s\r", (int)log->bar_width, "");
    log->bar_width = 0;
}

/* Names from files may hold line ends, which would break the log's one line per message, and
 * sequences that a terminal obeys. */
static void write_printable(const char *text) {
    static const char controls[] = "\001\002\003\004\005\006\a\b\t\n\v\f\r\016\017"
                                   "\020\021\022\023\024\025\026\027"
                                   "\030\031\032\033\034\035\036\037\177";
    while (*text != '\0') {
        size_t length = strcspn(text, controls);
        fwrite(text, 1, length, stderr);
        text += length;
        if (*text != '\0') {
            fputc('?', stderr);
            text++;
        }
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
    erase_bar(log);
    fprintf(stderr, "%s %-7s ", clock_text, names[level]);
    write_printable(text);
    fputc('\n', stderr);
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    enum { BAR = 30 };
    log_state *log = user;
    if (!log->shows_progress || total == 0)
        return;
    if (done >= total) {
        erase_bar(log);
        return;
    }
    int filled = (int)((double)done / (double)total * BAR);
    char bar[BAR + 1];
    memset(bar, ' ', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = '\0';
    int width = fprintf(stderr, "\r%-28.28s [%s] %3d%%", task, bar,
                        (int)((double)done / (double)total * 100));
    log->bar_width = width > 0 ? (size_t)width : 0;
}

popliner_listener log_listener(log_state *log) {
    return (popliner_listener){.user = log, .message = on_message, .progress = on_progress};
}

void log_message(log_state *log, popliner_level level, const char *format, ...) {
    char short_text[4000];
    va_list arguments;
    va_list again;
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

void log_step(log_state *log, const char *what, double start_seconds) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    log_message(log, POPLINER_LEVEL_DEBUG, "%s: %.2f s, peak memory %ld MiB", what,
                log_seconds() - start_seconds, usage.ru_maxrss / 1024);
}
