/* Names from files in texts that people read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PRINTABLE_H
#define PL_BASE_PRINTABLE_H

#include "base/growth.h"

/* Adds a text as popliner_printable_take shows it, but for the characters of `kept`. */
void pl_text_add_printable(pl_text *text, const char *value, const char *kept);

/* Does so with a text that is done: its line ends and tabs remain. */
void pl_text_make_printable(pl_text *text);

#endif
