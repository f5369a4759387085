/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "popliner/utilities.h"

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
    erase_bar(log);
    fprintf(stderr, "%s %-7s ", clock_text, names[level]);
    if (log->about != NULL) {
        write_printable(log->about);
        fputs(": ", stderr);
    }
    write_printable(text);
    fputc('\n', stderr);
}

/* "950", "12.3 k", "4.56 M": three digits of a rate. */
static void write_rate(char *text, size_t size, double rate) {
    static const char *const units[] = {"", " k", " M", " G"};
    size_t unit = 0;
    for (; rate >= 999.5 && unit < 3; unit++)
        rate /= 1000;
    int decimals = unit == 0 || rate >= 99.95 ? 0 : rate >= 9.995 ? 1 : 2;
    snprintf(text, size, "%.*f%s", decimals, rate, units[unit]);
}

static void write_duration(char *text, size_t size, double seconds) {
    unsigned long whole = seconds < 359999 ? (unsigned long)seconds + 1 : 359999;
    if (whole < 60)
        snprintf(text, size, "%lu s", whole);
    else if (whole < 3600)
        snprintf(text, size, "%lu:%02lu min", whole / 60, whole % 60);
    else
        snprintf(text, size, "%lu:%02lu h", whole / 3600, whole / 60 % 60);
}

/* Pads what was just printed over a longer line. */
static void finish_bar(log_state *log, int width) {
    size_t visible = width > 1 ? (size_t)width - 1 : 0;
    if (visible < log->bar_width) /* the rest of a longer one */
        fprintf(stderr, "%*s", (int)(log->bar_width - visible), "");
    else
        log->bar_width = visible;
}

void log_waiting(log_state *log, const char *task, double start_seconds, double max_seconds,
                 const char *advice) {
    double now = log_seconds();
    /* so that both, as whole seconds, add up to the limit */
    double left = max_seconds - (double)(unsigned long)(now - start_seconds) - 0.001;
    char left_text[24];
    if (!log->shows_progress || now - start_seconds < 1 || now - log->waiting_seconds < 0.25)
        return;
    log->waiting_seconds = now;
    write_duration(left_text, sizeof left_text, left > 0 ? left : 0);
    finish_bar(log, fprintf(stderr, "\r%s for %.0f s%s%s%s", task, now - start_seconds,
                            max_seconds > 0 ? ", at most " : "", max_seconds > 0 ? left_text : "",
                            max_seconds > 0 ? " left" : advice));
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    enum { BAR = 20 };
    log_state *log = user;
    if (!log->shows_progress || total == 0)
        return;
    double now = log_seconds();
    if (strncmp(log->task, task, sizeof log->task - 1) != 0 || done < log->task_done) {
        snprintf(log->task, sizeof log->task, "%s", task);
        log->task_start_seconds = now;
        log->task_first_done = done;
    }
    log->task_done = done;
    double elapsed = now - log->task_start_seconds;
    if (done >= total) {
        erase_bar(log);
        *log->task = '\0'; /* the next one of this name begins anew */
        return;
    }
    if (elapsed < 1 || done == log->task_first_done)
        return; /* perhaps over soon, or nothing is known about the rest */
    double rate = (double)(done - log->task_first_done) / elapsed;
    int filled = (int)((double)done / (double)total * BAR);
    char bar[BAR + 1];
    char rate_text[24];
    char left_text[24];
    memset(bar, ' ', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = '\0';
    write_rate(rate_text, sizeof rate_text, rate);
    write_duration(left_text, sizeof left_text, (double)(total - done) / rate);
    finish_bar(log, fprintf(stderr, "\r%-28.28s [%s] %3d%% %s/s, %s left", task, bar,
                            (int)((double)done / (double)total * 100), rate_text, left_text));
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
