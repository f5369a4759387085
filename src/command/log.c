/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "command/progress.h"
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

size_t log_columns(const char *text) {
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* Writes what a line begins with. */
static void write_prefix(const log_state *log, popliner_level level, FILE *file) {
    static const struct {
        const char *word;
        const char *colour;
        const char *original;
    } levels[] = {
        [POPLINER_LEVEL_DEBUG] = {"debug: ", "", "DEBUG"},
        [POPLINER_LEVEL_INFO] = {"", "", "INFO"},
        [POPLINER_LEVEL_WARNING] = {"warning: ", "\x1b[1;33m", "WARNING"},
        [POPLINER_LEVEL_ERROR] = {"error: ", "\x1b[1;31m", "ERROR"},
    };
    char clock_text[16] = "";
    struct tm local;
    const char *colour = log->is_coloured ? levels[level].colour : "";
    if (!log->is_original) {
        fprintf(file, "%s%s%s", colour, levels[level].word, *colour == '\0' ? "" : "\x1b[0m");
        return;
    }
    const time_t now = time(NULL);
    if (localtime_r(&now, &local) != NULL)
        strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    fprintf(file, "%s %-7s ", clock_text, levels[level].original);
}

/* Writes a text without what would break the line or what a terminal obeys: names come from files.
 */
static void write_printable(const char *text, FILE *file) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        fputs(shown, file);
    }
}

/* Writes two texts as one line. */
static void write_line(const log_state *log, popliner_level level, const char *head,
                       const char *text) {
    if (level < log->least_level)
        return;
    if (level == POPLINER_LEVEL_ERROR)
        log_release();
    FILE *file = level == POPLINER_LEVEL_WARNING && held.file != NULL ? held.file : stderr;
    if (file == stderr)
        progress_erase();
    write_prefix(log, level, file);
    if (log->about != NULL && level > POPLINER_LEVEL_DEBUG) {
        write_printable(log->about, file);
        fputs(": ", file);
    }
    write_printable(head, file);
    write_printable(text, file);
    fputc('\n', file);
}

void log_whole(const log_state *log, popliner_level level, const char *head, const char *text) {
    if (!log->is_mute)
        write_line(log, level, head, text);
}

void log_library(const log_state *log, popliner_level level, const char *text) {
    write_line(log, level, "", text);
}

void log_message(log_state *log, popliner_level level, const char *format, ...) {
    char text[8000];
    va_list arguments;
    if (log->is_mute)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_library(log, level, text);
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
