/* Shows on the last line of the terminal what the process is doing and how far that has come.
 *
 * The line belongs to the process: there is one. It is on standard error, appears after 0.3 s, is
 * written at most ten times a second, and has at most 99 columns. Only one thread may call these
 * functions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_PROGRESS_H
#define PL_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    bool is_terminal; /* else a file or a pipe */
    bool is_ascii;    /* the locale is not UTF-8, or TERM is dumb */
    bool has_colour;  /* a terminal that is not dumb, and NO_COLOR is not set */
    size_t width;     /* in columns: COLUMNS, or that of the terminal, or 80; from 40 to 1000 */
} terminal;

/* Describes the terminal that a file descriptor leads to, as it is now: its width may change. */
terminal terminal_of(int file);

#endif
