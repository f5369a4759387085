/* A line of text that grows.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LINE_H
#define PL_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; free `text`, which is NULL before something is added. */
typedef struct line {
    char *text;
    size_t length; /* bytes without the NUL */
    bool failed;   /* memory was short, after which adding does nothing */
} line;

void line_add(line *l, const char *text);

#endif
