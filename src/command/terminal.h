/* Describes what a terminal, or a pipe, can show.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_TERMINAL_H
#define PL_COMMAND_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct terminal {
    bool is_terminal; /* else a file or a pipe */
    bool is_ascii;    /* the locale is not UTF-8, or TERM is dumb */
    bool has_colour;  /* a terminal that is not dumb, and NO_COLOR is not set */
    size_t width;     /* in columns: COLUMNS, or that of the terminal, or 80; from 40 to 1000 */
} terminal;

/* Describes the terminal that a file descriptor leads to, as it is now: its width may change. */
terminal terminal_of(int file);

#endif
