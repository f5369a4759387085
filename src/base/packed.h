/* Columns of numbers in few characters, for pages that hold many of them: the difference of each
 * number to the one before it, its sign in the lowest bit, in groups of seven bits (LEB128), all of
 * it as base64. src/page/model.js reads them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PACKED_H
#define PL_BASE_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/json_writer.h"

/* Zero-initialise; pl_packed_end frees what it owns. */
typedef struct pl_packed {
    pl_text bytes;
    uint64_t last;
} pl_packed;

/* Adds one number, of any size, in groups of seven bits. */
void pl_packed_group(pl_text *bytes, uint64_t value);

/* The next number, at most 2^52: twice as much is exact in JavaScript. */
void pl_packed_number(pl_packed *packed, uint64_t number);

/* The next number, given by its difference to the one before; a column of such numbers, all within
 * 2^52, may go below zero. */
void pl_packed_difference(pl_packed *packed, int64_t difference);

/* The next entry of a column where some are missing: such a column holds each number plus one. */
void pl_packed_missing(pl_packed *packed);

/* Adds the column to a text, within quotes, and empties it. If memory ran short, text->failed. */
void pl_packed_end(pl_packed *packed, pl_text *text);

/* The same as a value of a document, and for numbers that are all there; null without them. */
void pl_put_packed(pl_json *json, const char *key, pl_packed *packed);
void pl_put_packed_numbers(pl_json *json, const char *key, const uint64_t *numbers, size_t count);

/* Adds 1 to PL_PACKED_BLOCK numbers, each at most 2^52: the width in bits of what they are above
 * the least of them, that in groups of seven bits, and, unless the width is 0, each of them in so
 * many bits, from the lowest bit of the first byte on. All stand for so many times 2^shift. */
enum { PL_PACKED_BLOCK = 32 };
void pl_packed_block(pl_text *bytes, const uint64_t *numbers, size_t count, unsigned shift);

#endif
