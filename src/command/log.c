/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "command/values.h"
#include "popliner/utilities.h"

void log_begin(log_state *log, popliner_level least_level) {
    *log = (log_state){.least_level = least_level,
                       .is_coloured = terminal_of(STDERR_FILENO).has_colour};
}

/* ---- lines ---- */

static size_t num_columns(const char *text) {
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

/* ---- progress ---- */

static const double SECONDS_TO_APPEAR = 0.3;
static const double SECONDS_BETWEEN = 0.1;

enum { MOST_COLUMNS = 99 };

static struct {
    bool is_shown;
    char name[80]; /* of the file that is read */
    char task[80]; /* of the library; "": there is nothing to show */
    uint64_t done; /* of the task */
    uint64_t total;
    double start_seconds; /* of the process */
    double solving_seconds;
    double max_seconds;
    double written_seconds;
    size_t columns; /* of what is on the terminal; 0: nothing */
} line;

double progress_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void progress_begin(bool is_shown) {
    memset(&line, 0, sizeof line);
    line.is_shown = is_shown && isatty(STDERR_FILENO) == 1;
    line.start_seconds = progress_seconds();
}

void progress_reads(const char *path) {
    const char *slash = strrchr(path, '/');
    snprintf(line.name, sizeof line.name, "%s",
             slash != NULL && slash[1] != '\0' ? slash + 1 : path);
}

void progress_task(const char *task, uint64_t done, uint64_t total) {
    snprintf(line.task, sizeof line.task, "%s", task);
    line.done = done;
    line.total = total;
    progress_tick();
}

void progress_solves(double max_seconds) {
    line.solving_seconds = progress_seconds();
    line.max_seconds = max_seconds;
    progress_task("Solving", 0, 0);
}

void progress_has_solved(void) {
    *line.task = '\0';
}

/* ---- the line ---- */

/* "Reading profile.pop 38 %", of the task. What a terminal would obey is made printable. */
static void write_work(char *text, size_t size, size_t width) {
    enum { PERCENT_COLUMNS = 5 };
    const double percent = line.total == 0 ? 0 : 100 * (double)line.done / (double)line.total;
    const bool reads = strncmp(line.task, "Reading", 7) == 0;
    char shown[POPLINER_PRINTABLE_SIZE];
    size_t length = (size_t)snprintf(text, size, "%s", reads ? "Reading " : line.task);
    size_t columns = length + PERCENT_COLUMNS;
    for (const char *name = reads ? line.name : ""; *name != '\0';) {
        name = popliner_printable_take(name, shown);
        columns += num_columns(shown);
        if (columns > width)
            break;
        length += (size_t)snprintf(text + length, size - length, "%s", shown);
    }
    snprintf(text + length, size - length, " %.0f %%", percent < 99 ? percent : 99);
}

/* "Solving 12 s  best 512,308 bytes, at least 498,440  Ctrl-C: take the best" */
static void write_solving(char *text, size_t size, size_t width) {
    static const char advice[] = "  Ctrl-C: take the best";
    char limit[40] = "";
    char best[100] = "";
    if (line.max_seconds > 0)
        snprintf(limit, sizeof limit, " of %.0f", line.max_seconds);
    if (line.total > 0 && strcmp(line.task, "Solving for memory") == 0)
        snprintf(best, sizeof best, "  best %s bytes, at least %s", grouped(line.total).text,
                 grouped(line.done).text);
    else if (line.done > 0)
        snprintf(best, sizeof best, "  best is at most %.1f %% above the bound",
                 100 * (double)(line.total - line.done) / (double)line.done);
    int length = snprintf(text, size, "Solving %lu%s s",
                          (unsigned long)(progress_seconds() - line.solving_seconds), limit);
    if ((size_t)length + strlen(best) <= width)
        length += snprintf(text + length, size - (size_t)length, "%s", best);
    if ((size_t)length + strlen(advice) <= width)
        snprintf(text + length, size - (size_t)length, "%s", advice);
}

void progress_tick(void) {
    char text[16 * MOST_COLUMNS];
    const double now = progress_seconds();
    const bool is_solving = strncmp(line.task, "Solving", 7) == 0;
    /* solving is mostly over at once */
    const double start = is_solving ? line.solving_seconds : line.start_seconds;
    if (!line.is_shown || *line.task == '\0' || now - start < SECONDS_TO_APPEAR ||
        now - line.written_seconds < SECONDS_BETWEEN)
        return;
    line.written_seconds = now;
    const size_t most = terminal_of(STDERR_FILENO).width - 1;
    const size_t width = most < MOST_COLUMNS ? most : MOST_COLUMNS;
    if (is_solving)
        write_solving(text, sizeof text, width);
    else
        write_work(text, sizeof text, width);
    const size_t columns = num_columns(text);
    const size_t rest = line.columns > columns ? line.columns - columns : 0;
    fprintf(stderr, "\r%s%*s", text, (int)rest, "");
    line.columns = columns + rest;
}

void progress_erase(void) {
    if (line.columns > 0)
        fprintf(stderr, "\r%*s\r", (int)line.columns, "");
    line.columns = 0;
}

/* ---- Terminals ---- */

/* The value of a variable of the environment; NULL also if it is empty. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

/* The first of these is the locale of characters (POSIX.1-2017, 8.2). */
static bool is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; locale == NULL && i < sizeof names / sizeof *names; i++)
        locale = variable(names[i]);
    const char *encoding = locale == NULL ? NULL : strchr(locale, '.');
    return encoding != NULL &&
           (strncasecmp(encoding, ".UTF-8", 6) == 0 || strncasecmp(encoding, ".utf8", 5) == 0);
}

static size_t find_width(int file) {
    enum { USUAL = 80, MIN = 40, MAX = 1000 };
    struct winsize size;
    size_t width = USUAL;
    const char *columns = variable("COLUMNS");
    if (columns != NULL && strtoul(columns, NULL, 10) > 0)
        width = (size_t)strtoul(columns, NULL, 10);
    else if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    return width < MIN ? MIN : width > MAX ? MAX : width;
}

terminal terminal_of(int file) {
    const char *name = variable("TERM");
    const bool is_dumb = name != NULL && strcmp(name, "dumb") == 0;
    return (terminal){
        .is_ascii = is_dumb || !is_utf8(),
        .has_colour = isatty(file) == 1 && name != NULL && !is_dumb && variable("NO_COLOR") == NULL,
        .width = find_width(file),
    };
}
