/* The log on standard error: messages with time and level; on a terminal the level alone, and no
 * INFO while standard output is one, which shows that then.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LOG_H
#define PL_COMMAND_LOG_H

#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "popliner/error.h"

typedef struct log_state {
    popliner_level least_level; /* messages below it are dropped */
    bool is_mute;               /* drops messages of the command, but not those of the library */
    const char *about;          /* the file that messages are about, before each; NULL: not said */
    bool is_coloured;           /* on a terminal */
} log_state;

/* Begins a log whose words "error:" and "warning:" have a colour where the terminal has colours. */
void log_begin(log_state *log, popliner_level least_level);

/* Returns a listener that writes into `log`, which must outlive it, and shows progress. */
popliner_listener log_listener(log_state *log);

/* Writes what a line begins with, which is of the time `now`, and returns how many columns that
 * takes. */
enum { LOG_PREFIX_SIZE = 40 };
size_t log_prefix(const log_state *log, char prefix[LOG_PREFIX_SIZE], popliner_level level,
                  time_t now);

/* Writes a message of two parts as one line, however long, as PopLiner 1.0.0 does. */
void log_unbroken(const log_state *log, popliner_level level, const char *head, const char *text);

/* Writes one formatted message in lines of at most 100 columns. */
void log_message(log_state *log, popliner_level level, const char *format, ...);

/* Keeps warnings until log_release or an error, so that they follow the answer on a terminal. */
void log_hold(void);
void log_release(void);

/* Writes "Wrote the page: page.html", only where messages of level INFO are left out. */
void log_for_terminal(const log_state *log, const char *done, const char *what, const char *path);

/* Writes, for -v, how long `what` took, or took since `start_seconds`, and the process's peak
 * memory. */
void log_took(log_state *log, const char *what, double seconds);
void log_step(log_state *log, const char *what, double start_seconds);

/* ---- one line ---- */

/* Returns how many columns a printable UTF-8 text takes. */
size_t log_columns(const char *text);

enum { LOG_COLUMNS = 100 };

/* A message. Zero-initialise, set the first three, add its text, and write it. */
typedef struct log_line {
    size_t columns;   /* that a line may have: 40 to LOG_COLUMNS */
    size_t indent;    /* those before the message */
    bool keeps_names; /* none is shortened */
    bool is_full;
    size_t length;
    char text[8000];
} log_line;

/* Adds printable text; "..." stands for what is too long for a message. */
void log_line_add(log_line *line, const char *text);

/* Writes the message and a line end. If it is too long, long names lose their middle, and if that
 * is not enough it goes on in further lines, which are indented. */
void log_line_write(log_line *line, FILE *file);

#endif
