/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "command/progress.h"
#include "command/words.h"
#include "popliner/utilities.h"

void log_begin(log_state *log, popliner_level least_level) {
    *log = (log_state){.least_level = least_level,
                       .is_coloured = terminal_of(STDERR_FILENO).has_colour};
}

/* ---- warnings that wait ---- */

/* A stream in memory; NULL: warnings do not wait. */
static struct {
    FILE *file;
    char *text;
    size_t length;
} held;

void log_hold(void) {
    if (held.file == NULL)
        held.file = open_memstream(&held.text, &held.length);
}

void log_release(void) {
    if (held.file == NULL)
        return;
    (void)fclose(held.file); /* memory, which it completes */
    held.file = NULL;
    progress_erase();
    (void)fflush(stdout);
    fputs(held.text == NULL ? "" : held.text, stderr);
    free(held.text);
    held.text = NULL;
}

/* ---- lines ---- */

size_t log_prefix(const log_state *log, char prefix[LOG_PREFIX_SIZE], popliner_level level,
                  time_t now) {
    static const char *const words[] = {
        [POPLINER_LEVEL_DEBUG] = "debug: ",
        [POPLINER_LEVEL_INFO] = "",
        [POPLINER_LEVEL_WARNING] = "warning: ",
        [POPLINER_LEVEL_ERROR] = "error: ",
    };
    static const char *const colours[] = {
        [POPLINER_LEVEL_DEBUG] = "",
        [POPLINER_LEVEL_INFO] = "",
        [POPLINER_LEVEL_WARNING] = "\x1b[1;33m",
        [POPLINER_LEVEL_ERROR] = "\x1b[1;31m",
    };
    static const char *const names[] = {
        [POPLINER_LEVEL_DEBUG] = "DEBUG",
        [POPLINER_LEVEL_INFO] = "INFO",
        [POPLINER_LEVEL_WARNING] = "WARNING",
        [POPLINER_LEVEL_ERROR] = "ERROR",
    };
    char clock_text[16] = "";
    struct tm local;
    if (isatty(STDERR_FILENO) == 1) {
        const char *colour = log->is_coloured ? colours[level] : "";
        snprintf(prefix, LOG_PREFIX_SIZE, "%s%s%s", colour, words[level],
                 *colour == '\0' ? "" : "\x1b[0m");
        return strlen(words[level]);
    }
    if (localtime_r(&now, &local) != NULL)
        strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    return (size_t)snprintf(prefix, LOG_PREFIX_SIZE, "%s %-7s ", clock_text, names[level]);
}

/* Adds a text without what would break the line or what a terminal obeys: names come from files. */
static void add_printable(words_line *line, const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        words_line_add(line, shown);
    }
}

/* Whether standard output shows what messages of this level say. */
static bool is_on_screen(const log_state *log, popliner_level level) {
    return level == POPLINER_LEVEL_INFO && log->least_level == POPLINER_LEVEL_INFO &&
           isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

/* Writes a text and ends the line: names come from files. */
static void end_line(const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        fputs(shown, stderr);
    }
    fputc('\n', stderr);
}

void log_unbroken(const log_state *log, popliner_level level, const char *head, const char *text) {
    char prefix[LOG_PREFIX_SIZE];
    if (log->is_mute || level < log->least_level || is_on_screen(log, level))
        return;
    log_prefix(log, prefix, level, time(NULL));
    progress_erase();
    fprintf(stderr, "%s%s", prefix, head);
    end_line(text);
}

void log_for_terminal(const log_state *log, const char *done, const char *what, const char *path) {
    if (!is_on_screen(log, POPLINER_LEVEL_INFO))
        return;
    fprintf(stderr, "%s %s: ", done, what);
    end_line(path);
}

static void on_message(void *user, popliner_level level, const char *text) {
    const log_state *log = user;
    char prefix[LOG_PREFIX_SIZE];
    const terminal shown = terminal_of(STDERR_FILENO);
    words_line line = {.columns = shown.is_terminal && shown.width < WORDS_LINE_COLUMNS
                                      ? shown.width
                                      : WORDS_LINE_COLUMNS,
                       .keeps_names = log->least_level == POPLINER_LEVEL_DEBUG};
    if (level < log->least_level || is_on_screen(log, level))
        return;
    if (level == POPLINER_LEVEL_DEBUG) { /* details, some of them in columns */
        log_unbroken(log, level, "", text);
        return;
    }
    if (level == POPLINER_LEVEL_ERROR)
        log_release();
    FILE *file = level == POPLINER_LEVEL_WARNING && held.file != NULL ? held.file : stderr;
    line.indent = log_prefix(log, prefix, level, time(NULL));
    if (file == stderr)
        progress_erase();
    fputs(prefix, file);
    if (log->about != NULL) {
        add_printable(&line, log->about);
        words_line_add(&line, ": ");
    }
    add_printable(&line, text);
    words_line_write(&line, file);
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
    char text[8000];
    va_list arguments;
    if (log->is_mute)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    on_message(log, level, text);
}

void log_took(log_state *log, const char *what, double seconds) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    log_message(log, POPLINER_LEVEL_DEBUG, "%s: %.2f s, peak memory %ld MiB", what, seconds,
                usage.ru_maxrss / 1024);
}

void log_step(log_state *log, const char *what, double start_seconds) {
    log_took(log, what, progress_seconds() - start_seconds);
}
