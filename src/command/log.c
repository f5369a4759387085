/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "command/progress.h"
#include "popliner/utilities.h"

void log_begin(log_state *log, popliner_level least_level) {
    *log = (log_state){.least_level = least_level,
                       .is_coloured = terminal_of(STDERR_FILENO).has_colour};
}

/* ---- lines ---- */

size_t log_columns(const char *text) {
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

static void write_prefix(const log_state *log, popliner_level level) {
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
        fprintf(stderr, "%s%s%s", colour, levels[level].word, *colour == '\0' ? "" : "\x1b[0m");
        return;
    }
    const time_t now = time(NULL);
    if (localtime_r(&now, &local) != NULL)
        strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    fprintf(stderr, "%s %-7s ", clock_text, levels[level].original);
}

void log_printable(const char *text, const char *kept, FILE *file) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        const bool is_kept = strchr(kept, *text) != NULL;
        const char *next = popliner_printable_take(text, shown);
        fprintf(file, "%.*s", is_kept ? 1 : (int)sizeof shown, is_kept ? text : shown);
        text = next;
    }
}

void log_whole(const log_state *log, popliner_level level, const char *head, const char *text) {
    if (level < log->least_level)
        return;
    progress_erase();
    write_prefix(log, level);
    if (log->about != NULL && level > POPLINER_LEVEL_DEBUG) {
        log_printable(log->about, "", stderr);
        fputs(": ", stderr);
    }
    log_printable(head, "", stderr);
    log_printable(text, "", stderr);
    fputc('\n', stderr);
}

void log_message(log_state *log, popliner_level level, const char *format, ...) {
    char text[8000];
    va_list arguments;
    if (log->is_mute)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_whole(log, level, "", text);
}

void log_took(log_state *log, const char *what, double seconds) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    log_message(log, POPLINER_LEVEL_DEBUG, "%s: %.2f s, peak memory %ld MiB", what, seconds,
                usage.ru_maxrss / 1024);
}
