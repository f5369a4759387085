/* The log on standard error: warnings and errors, a line each; with -v details and timings.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LOG_H
#define PL_COMMAND_LOG_H

#include <stddef.h>
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

/* Returns how many columns a printable UTF-8 text takes. */
size_t log_columns(const char *text);

#endif
