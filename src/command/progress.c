/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/progress.h"

#include <inttypes.h>
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

/* The weights are shares of the time that profiles of 2 to 8 million variables took to be split, in
 * percent: reading 85, preparing 5, measuring 10; a page takes a third of that more. */
static const struct {
    const char *label;
    unsigned weight;
    const char *task; /* of the library */
} phases[NUM_PHASES] = {
    [PHASE_READING] = {"Reading", 85, "Reading the profile"},
    [PHASE_STORING] = {"Storing", 20, "Storing the analysis"},
    [PHASE_PREPARING] = {"Preparing", 5, "Preparing the memory model"},
    [PHASE_OPERATIONS] = {"Measuring operations", 10, "Measuring the operations"},
    [PHASE_STAGES] = {"Measuring stages", 10, "Measuring all stages"},
    [PHASE_SOLVING] = {"Solving", 0, "Solving for "}, /* and an objective */
    [PHASE_PAGE] = {"Writing the page", 33, "Making the page"},
};

static const double SECONDS_TO_APPEAR = 0.3;
static const double SECONDS_BETWEEN = 0.1;
static const double SECONDS_TO_ESTIMATE = 1;

enum { MOST_COLUMNS = 99, LABEL_COLUMNS = 20 };

static struct {
    bool is_shown;
    unsigned phases;
    size_t num_files;
    size_t file; /* number of the one that is read, from 1 */
    char name[80];
    double start_seconds;
    double written_seconds;
    size_t columns; /* of what is on the terminal; 0: nothing */

    bool has_begun; /* some phase has */
    progress_phase phase;
    uint64_t done; /* of the phase */
    uint64_t total;
    double share; /* of all work; never falls */
    double solving_seconds;
    double max_seconds;
    bool is_of_bytes; /* what is solved for */
} line;

double progress_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void progress_begin(bool is_shown, unsigned expected, size_t num_files) {
    memset(&line, 0, sizeof line);
    line.is_shown = is_shown && isatty(STDERR_FILENO) == 1;
    line.phases = expected;
    line.num_files = num_files;
    line.start_seconds = progress_seconds();
}

void progress_expects_files(size_t num_files) {
    line.num_files = num_files > line.num_files ? num_files : line.num_files;
}

void progress_reads(const char *path) {
    const char *slash = strrchr(path, '/');
    snprintf(line.name, sizeof line.name, "%s",
             slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    line.file++;
}

/* ---- how far ---- */

/* The part of the current phase that is done. */
static double part_done(void) {
    const double part = line.total == 0 ? 0 : (double)line.done / (double)line.total;
    if (line.phase != PHASE_READING || line.file == 0)
        return part;
    const double files = ((double)(line.file - 1) + part) / (double)line.num_files;
    return files < 1 ? files : 1;
}

static void update_share(void) {
    double before = 0;
    double all = 0;
    for (int i = 0; i < NUM_PHASES; i++) {
        const double weight = (line.phases >> i & 1) != 0 ? phases[i].weight : 0;
        all += weight;
        before += i < (int)line.phase                               ? weight
                  : i == (int)line.phase && i != (int)PHASE_SOLVING ? weight * part_done()
                                                                    : 0;
    }
    if (all > 0 && before / all > line.share)
        line.share = before / all;
}

static void enter(progress_phase phase) {
    line.has_begun = true;
    line.phase = phase;
    line.phases |= 1u << phase;
    line.done = line.total = 0;
}

void progress_makes_page(void) {
    enter(PHASE_PAGE);
}

void progress_solves(double max_seconds) {
    enter(PHASE_SOLVING);
    line.solving_seconds = progress_seconds();
    line.max_seconds = max_seconds;
    line.is_of_bytes = false;
}

void progress_has_solved(void) {
    progress_task(phases[PHASE_STAGES].task, 1, 1);
}

void progress_task(const char *task, uint64_t done, uint64_t total) {
    progress_phase phase = PHASE_READING;
    while (phase < NUM_PHASES && strncmp(task, phases[phase].task, strlen(phases[phase].task)) != 0)
        phase++;
    const bool is_in_page = line.has_begun && line.phase == PHASE_PAGE;
    if (phase == NUM_PHASES || (is_in_page && phase != PHASE_PAGE)) {
        progress_tick();
        return;
    }
    if (!line.has_begun || phase != line.phase)
        enter(phase);
    line.is_of_bytes = phase == PHASE_SOLVING && strcmp(task, "Solving for memory") == 0;
    line.done = done;
    line.total = total;
    update_share();
    progress_tick();
}

/* ---- the line ---- */

/* "14 s", "2:05 min", "1:02 h". */
static void write_time(char *text, size_t size, double seconds) {
    const unsigned long whole = seconds < 359999 ? (unsigned long)seconds + 1 : 359999;
    if (whole < 60)
        snprintf(text, size, "%lu s", whole);
    else if (whole < 3600)
        snprintf(text, size, "%lu:%02lu min", whole / 60, whole % 60);
    else
        snprintf(text, size, "%lu:%02lu h", whole / 3600, whole / 60 % 60);
}

/* "  14 s left", once there is something to go by. */
static void write_left(char *text, size_t size) {
    char time[24];
    const double elapsed = progress_seconds() - line.start_seconds;
    *text = '\0';
    if (elapsed < SECONDS_TO_ESTIMATE || line.share < 0.01)
        return;
    write_time(time, sizeof time, elapsed * (1 - line.share) / line.share);
    snprintf(text, size, "  %s left", time);
}

/* A bar of `width` columns. */
static void write_bar(char *text, size_t size, size_t width, bool is_ascii) {
    const size_t halves = (size_t)(line.share * (double)width * 2);
    size_t length = 0;
    for (size_t i = 0; i < width && length + 4 < size; i++) {
        const char *cell = 2 * i + 1 < halves    ? is_ascii ? "=" : "\u2501"
                           : 2 * i + 1 == halves ? is_ascii ? " " : "\u2578"
                                                 : " ";
        length += (size_t)snprintf(text + length, size - length, "%s", cell);
    }
}

/* Writes the beginning of a text in exactly `columns`. What a terminal would obey is made
 * printable. */
static void fit(char *result, size_t size, const char *text, size_t columns) {
    char shown[POPLINER_PRINTABLE_SIZE];
    size_t length = 0;
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        if (log_columns(shown) > columns || length + strlen(shown) >= size)
            break;
        columns -= log_columns(shown);
        length += (size_t)snprintf(result + length, size - length, "%s", shown);
    }
    snprintf(result + length, size - length, "%*s", (int)columns, "");
}

/* "Reading profile.pop  ━━━━━━╸        38 %  14 s left" */
static void write_work(char *text, size_t size, const terminal *shown, size_t width) {
    enum { TAKEN = LABEL_COLUMNS + 6 + 12 + 2, WITH_BAR = 50 };
    char label[128];
    char name[4 * LABEL_COLUMNS + 1];
    char bar[4 * MOST_COLUMNS] = "";
    char left[40];
    snprintf(label, sizeof label, "%s %s", phases[line.phase].label,
             line.phase == PHASE_READING ? line.name : "");
    fit(name, sizeof name, label, LABEL_COLUMNS);
    write_left(left, sizeof left);
    if (width >= WITH_BAR)
        write_bar(bar, sizeof bar, width - TAKEN, shown->is_ascii);
    snprintf(text, size, "%s  %s%4.0f %%%s", name, bar,
             line.share * 100 < 99 ? line.share * 100 : 99, left);
}

/* "Solving 12 s  best 512,308 bytes, at least 498,440  Ctrl-C: take the best" */
static void write_solving(char *text, size_t size, size_t width) {
    static const char advice[] = "  Ctrl-C: take the best";
    char limit[40] = "";
    char best[100] = "";
    if (line.max_seconds > 0)
        snprintf(limit, sizeof limit, " of %.0f", line.max_seconds);
    const grouped_number most = grouped(line.total);
    if (line.is_of_bytes && line.done > 0)
        snprintf(best, sizeof best, "  best %s bytes, at least %s", most.text,
                 grouped(line.done).text);
    else if (line.is_of_bytes && line.total > 0)
        snprintf(best, sizeof best, "  best %s bytes", most.text);
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
    /* solving is mostly over at once */
    const double start = line.phase == PHASE_SOLVING ? line.solving_seconds : line.start_seconds;
    if (!line.is_shown || !line.has_begun || now - start < SECONDS_TO_APPEAR ||
        now - line.written_seconds < SECONDS_BETWEEN)
        return;
    line.written_seconds = now;
    const terminal shown = terminal_of(STDERR_FILENO);
    const size_t width = shown.width - 1 < MOST_COLUMNS ? shown.width - 1 : MOST_COLUMNS;
    if (line.phase == PHASE_SOLVING)
        write_solving(text, sizeof text, width);
    else
        write_work(text, sizeof text, &shown, width);
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
