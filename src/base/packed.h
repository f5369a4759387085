/* Compact columns of numbers, for pages that hold many of them: the difference of each number to
 * the one before it, its sign in the lowest bit, in groups of seven bits (LEB128), all of it as
 * base85. src/page/start.js and model.js also read them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PACKED_H
#define PL_BASE_PACKED_H

#include "base/growth.h"
#include "base/json_writer.h"

/* Zero-initialise; pl_packed_end frees what it owns. */
typedef struct pl_packed {
    pl_text bytes;
    uint64_t last;
} pl_packed;

/* Appends one number, of any size, in groups of seven bits. */
void pl_packed_group(pl_text *bytes, uint64_t value);

/* Appends a number of at most 2^52, so that twice the number is exact in JavaScript. A column with
 * missing entries holds each number plus one, and 0 for those. */
void pl_packed_number(pl_packed *packed, uint64_t number);

/* Appends the column to a text, in quotes, and empties it. If memory ran short, sets
 * text->failed. */
void pl_packed_end(pl_packed *packed, pl_text *text);

/* Write a column as a value of a document; the second one for numbers without missing entries, null
 * for NULL. */
void pl_put_packed(pl_json *json, const char *key, pl_packed *packed);
void pl_put_packed_numbers(pl_json *json, const char *key, const uint64_t *numbers, size_t count);

/* Reads what was written so. */
typedef struct pl_packed_reader {
    const char *text; /* what is left of it */
    unsigned char digits[128];
    unsigned char bytes[4]; /* the last group */
    size_t num_bytes;
    size_t next; /* byte of these */
    uint64_t last;
} pl_packed_reader;

pl_packed_reader pl_packed_read(const char *text);

/* Reads the next number; false at the end. */
bool pl_packed_next(pl_packed_reader *reader, uint64_t *number);

/* Appends 1 to PL_PACKED_BLOCK numbers, each at most 2^52 and shifted right by `shift` bits: the
 * width in bits of the largest difference to the smallest of them, the smallest in groups of seven
 * bits, and, unless the width is 0, each difference in that width, from the lowest bit of the first
 * byte on. */
enum { PL_PACKED_BLOCK = 32 };
void pl_packed_block(pl_text *bytes, const uint64_t *numbers, size_t count, unsigned shift);

#endif
