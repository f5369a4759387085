/* Standard error: the log, warnings and errors, a line each, with -v details and timings; and on a
 * terminal below it the progress, what the process is doing and how far that has come.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LOG_H
#define PL_COMMAND_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "popliner/error.h"

typedef struct log_state {
    popliner_level least_level; /* messages below it are dropped */
    bool is_mute;               /* drops messages of the command, but not those of the library */
    const char *about;          /* the file that messages are about, before each; NULL: not said */
    bool is_coloured;           /* on a terminal */
    bool is_original;           /* as that of PopLiner 1.0.0: time and level before each message */
} log_state;

/* Begins a log whose words "error:" and "warning:" have a colour where the terminal has colours. */
void log_begin(log_state *log, popliner_level least_level);

/* Writes one formatted message, of which at most 8000 bytes, unless the command is mute. */
void log_message(log_state *log, popliner_level level, const char *format, ...);

/* Writes a message of two parts, however long, also of the library. */
void log_whole(const log_state *log, popliner_level level, const char *head, const char *text);

/* Writes, for -v, how long `what` took, and the process's peak memory. */
void log_took(log_state *log, const char *what, double seconds);

/* Writes a text without what would break the line or what a terminal obeys, as names come from
 * files; the signs of `kept` stay. */
void log_printable(const char *text, const char *kept, FILE *file);

/* ---- Progress ----
 *
 * Its line belongs to the process: there is one. It appears after 0.3 s, is written at most ten
 * times a second, and has at most 99 columns. Only one thread may call these functions. */

/* Begins: time counts from here. Without `is_shown` there is no line, ever. */
void progress_begin(bool is_shown);

/* Says which file is read next. */
void progress_reads(const char *path);

/* popliner_listener.progress. */
void progress_task(const char *task, uint64_t done, uint64_t total);

/* Begins solving, which may take max_seconds (0: any time), and ends it. */
void progress_solves(double max_seconds);
void progress_has_solved(void);

/* Writes the line again if it is time to: call it as often as you like. */
void progress_tick(void);

/* Seconds of a clock that never goes back. */
double progress_seconds(void);

/* Takes the line off the terminal, before something else is written and at the end. */
void progress_erase(void);

/* ---- Terminals ---- */

typedef struct terminal {
    bool is_ascii;   /* the locale is not UTF-8, or TERM is dumb */
    bool has_colour; /* a terminal that is not dumb, and NO_COLOR is not set */
    size_t width;    /* in columns: COLUMNS, or that of the terminal, or 80; from 40 to 1000 */
} terminal;

/* Describes the terminal that a file descriptor leads to, as it is now: its width may change. */
terminal terminal_of(int file);

#endif
