/* Numbers as few bytes: 7 bits of a number in each, the lowest first, with the top bit while more
 * follow (LEB128). A coder writes them or reads them, so that one function describes both.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_CODER_H
#define PL_STORE_CODER_H

#include "base/growth.h"

/* Zero-initialise. To read, set is_reading, `bytes` and their length. The caller owns the bytes. */
typedef struct pl_coder {
    bool is_reading;
    bool is_damaged; /* what was read is out of range, or ends early; 0 is read from then on */
    bool is_short;   /* of memory */
    pl_text text;    /* the bytes */
    size_t at;       /* the next byte to read */
} pl_coder;

/* Write *number, or set it to the next one, which must be at most `max`. */
void pl_code(pl_coder *coder, uint64_t *number, uint64_t max);
void pl_code_place(pl_coder *coder, uint32_t *number, uint64_t max);

/* Like pl_code, for the number of items that follow, each of at least one byte. */
void pl_code_count(pl_coder *coder, size_t *count);

void pl_code_flag(pl_coder *coder, bool *flag);

/* Writes a text, or returns one that ends in the bytes. */
const char *pl_code_text(pl_coder *coder, const char *text);

/* True unless something failed. */
static inline bool pl_coder_is_well(const pl_coder *coder) {
    return !coder->is_damaged && !coder->is_short;
}

#endif
