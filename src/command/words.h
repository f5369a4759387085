/* Texts that people read on a terminal or in a log.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_WORDS_H
#define PL_COMMAND_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how many columns a printable UTF-8 text takes. */
size_t words_columns(const char *text);

/* Writes a text that takes exactly `columns`: its middle left out, or blanks added. What a terminal
 * would obey is made printable. With is_ascii, characters outside ASCII become '?'. */
void words_fit(char *result, size_t size, const char *text, size_t columns, bool is_ascii);

/* Writes "512,308". */
enum { WORDS_NUMBER_SIZE = 28 };
void words_number(char result[WORDS_NUMBER_SIZE], uint64_t number);

#endif
