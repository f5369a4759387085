/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command/log.h"
#include "command/values.h"
#include "popliner/utilities.h"

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
        columns += log_columns(shown);
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
    const size_t columns = log_columns(text);
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
    const bool is_terminal = isatty(file) == 1;
    return (terminal){
        .is_terminal = is_terminal,
        .is_ascii = is_dumb || !is_utf8(),
        .has_colour = is_terminal && name != NULL && !is_dumb && variable("NO_COLOR") == NULL,
        .width = find_width(file),
    };
}
