/* Texts that come from files: their characters, as data, and as people read them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_TEXT_H
#define PL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "popliner/error.h"

/* ---- Characters ------------------------------------------------------------------------------ */

/* The character at the beginning of a NUL-terminated text that is not empty, and of how many bytes
 * it is, 1 to 4. 0 where there is no valid one (overlong forms, surrogates and what is above
 * U+10FFFF are none): then one byte is to be skipped. */
size_t pl_utf8_decode(const char *text, uint32_t *character);

/* Whether a terminal may do something else than show the character: C0, DEL, C1, line and paragraph
 * separators, and what turns the direction of the text around it. */
bool pl_utf8_is_control(uint32_t character);

/* ---- As data --------------------------------------------------------------------------------- */

/* What stands for bytes that are no valid UTF-8: U+FFFD. */
#define PL_REPLACEMENT "\xef\xbf\xbd"

/* Adds a text as a JSON string, within quotes. Characters that a terminal would obey are escaped;
 * invalid bytes are replaced. */
void pl_quote_json(pl_text *text, const char *value);

/* ---- For people ------------------------------------------------------------------------------ */

/* Adds a text as popliner_printable_take shows it, but for the characters of `kept`. */
void pl_text_add_printable(pl_text *text, const char *value, const char *kept);

/* Does so with a text that is done: its line ends and tabs remain. */
void pl_text_make_printable(pl_text *text);

/* Hands the text over to *result, unless memory ran short or `status` is a failure already; then it
 * is freed. Returns the status. */
popliner_status pl_text_finish(pl_text *text, popliner_status status, char **result,
                               popliner_error *error);

/* The same for a text that people read: no name in it reaches a terminal as more than text. */
popliner_status pl_text_finish_printable(pl_text *text, popliner_status status, char **result,
                                         popliner_error *error);

#endif
