/* Characters of texts that come from files: not all of them are valid, or meant for reading.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_UTF8_H
#define PL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at the beginning of a NUL-terminated text that is not empty, and of how many bytes
 * it is, 1 to 4. 0 where there is no valid one (overlong forms, surrogates and what is above
 * U+10FFFF are none): then one byte is to be skipped. */
size_t pl_utf8_decode(const char *text, uint32_t *character);

/* Whether a terminal may do something else than show the character: C0, DEL, C1, line and paragraph
 * separators, and what turns the direction of the text around it. */
bool pl_utf8_is_control(uint32_t character);

#endif
