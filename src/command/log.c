/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* ---- one line ---- */

static bool begins_character(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t log_columns(const char *text) {
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += begins_character(*text);
    return columns;
}

void log_line_add(log_line *line, const char *text) {
    static const char too_long[] = "...";
    size_t length = strlen(text);
    const size_t room = sizeof line->text - sizeof too_long;
    if (line->is_full)
        return;
    line->is_full = length > room - line->length;
    if (line->is_full) {
        text = too_long;
        length = sizeof too_long - 1;
    }
    memcpy(line->text + line->length, text, length + 1);
    line->length += length;
}

/* Columns of the first `length` bytes. */
static size_t columns_of(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += begins_character(text[i]);
    return columns;
}

/* Whether a word is a name that may be shortened: a path of a model, not the subject of a message,
 * an option, or a pattern. */
static bool is_name(const char *word, size_t length) {
    return memchr(word, '/', length) != NULL && memchr(word, '\\', length) == NULL &&
           memchr(word, '=', length) == NULL && word[length - 1] != ':' && word[0] != '-';
}

/* Whether a word is NAME='VALUE', which a reader pastes into a shell: half of it would do harm. */
static bool is_to_paste(const char *word, size_t length) {
    const char *sign = memchr(word, '=', length);
    return sign != NULL && sign + 1 < word + length && sign[1] == '\'';
}

/* The longest name, or the longest word that may be shortened; its length is 0 if there is none. */
static char *longest_word(char *text, bool is_of_names, size_t *length) {
    char *longest = text;
    size_t most = 0;
    *length = 0;
    for (char *word = text; *word != '\0'; word += strspn(word, " ")) {
        const size_t bytes = strcspn(word, " ");
        if (columns_of(word, bytes) > most &&
            (is_of_names ? is_name(word, bytes) : !is_to_paste(word, bytes))) {
            longest = word;
            *length = bytes;
            most = columns_of(word, bytes);
        }
        word += bytes;
    }
    return longest;
}

/* Leaves the middle out of a word, so that it takes so many columns. */
static void shorten(log_line *line, char *word, size_t length, size_t columns) {
    static const char left_out[] = "...";
    const size_t kept = columns - (sizeof left_out - 1);
    char *tail = word + length;
    char *head = word;
    for (size_t i = 0; i < kept - kept / 2; i++)
        do
            tail--;
        while (!begins_character(*tail));
    for (size_t i = 0; i < kept / 2; i++)
        do
            head++;
        while (!begins_character(*head));
    memcpy(head, left_out, sizeof left_out - 1);
    memmove(head + sizeof left_out - 1, tail, strlen(tail) + 1);
    line->length = strlen(line->text);
}

/* Shortens names, the longest first, until the message is one line; leaves it as it is if it cannot
 * be. */
static void shorten_names(log_line *line, size_t columns) {
    enum { LEAST_COLUMNS = 24 };
    log_line copy = *line;
    while (columns_of(copy.text, copy.length) > columns) {
        size_t length;
        char *name = longest_word(copy.text, true, &length);
        const size_t wide = columns_of(name, length);
        const size_t over = columns_of(copy.text, copy.length) - columns;
        if (wide <= LEAST_COLUMNS)
            return;
        /* in turn, so that two long ones both keep most */
        const size_t step = over < 8 ? over : 8;
        shorten(&copy, name, length, wide - step > LEAST_COLUMNS ? wide - step : LEAST_COLUMNS);
    }
    *line = copy;
}

void log_line_write(log_line *line, FILE *file) {
    const size_t columns = line->columns - line->indent;
    if (!line->keeps_names) {
        size_t length;
        shorten_names(line, columns);
        for (char *word;
             word = longest_word(line->text, false, &length), columns_of(word, length) > columns;)
            shorten(line, word, length, columns);
    }
    const char *text = line->text;
    for (bool is_first = true; is_first || *text != '\0'; is_first = false) {
        size_t end = strlen(text);
        if (columns_of(text, end) > columns) {
            size_t next = strcspn(text, " ");
            end = next;
            while (text[next] != '\0' && columns_of(text, next) <= columns) {
                end = next;
                next += 1 + strcspn(text + next + 1, " ");
            }
        }
        fprintf(file, "%*s%.*s\n", is_first ? 0 : (int)line->indent, "", (int)end, text);
        text += end + strspn(text + end, " ");
    }
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
static void add_printable(log_line *line, const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        log_line_add(line, shown);
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
    log_line line = {.columns =
                         shown.is_terminal && shown.width < LOG_COLUMNS ? shown.width : LOG_COLUMNS,
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
        log_line_add(&line, ": ");
    }
    add_printable(&line, text);
    log_line_write(&line, file);
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
