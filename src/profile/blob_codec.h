/* The four encodings of numbers in the blobs of profile.pop, read and written.
 *
 *   varint       base 128, most significant group first; the last byte of a number has bit 7 set
 *   varint list  varints one after another until the blob ends
 *   RLE          a varint list read as runs: a header h, then h/2 literal values if h is odd, or
 *                one value that is repeated h/2 times if h is even
 *   diff RLE     RLE of the differences of ascending numbers, the first to 0
 *
 * Decoders accept any bytes: they return false if the blob ends inside a number or a run, a number
 * does not fit 64 bits, or the count differs from the expected one. A blob without bytes may be
 * NULL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_BLOB_CODEC_H
#define PL_PROFILE_BLOB_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the end of a blob. Adding even 0 to NULL would be undefined. */
static inline const uint8_t *pl_blob_end(const uint8_t *blob, size_t size) {
    return size > 0 ? blob + size : blob;
}

/* Reads one varint at *cursor, which must not be past `end`, and moves *cursor past it. */
static inline bool pl_varint_read(const uint8_t **cursor, const uint8_t *end, uint64_t *value) {
    uint64_t number = 0;
    for (const uint8_t *at = *cursor; at < end; at++) {
        if (number > UINT64_MAX >> 7)
            return false;
        number = number << 7 | (*at & 0x7f);
        if (*at & 0x80) {
            *cursor = at + 1;
            *value = number;
            return true;
        }
    }
    return false;
}

/* Counts the numbers of a varint list without decoding them. O(bytes). */
bool pl_varint_list_count(const uint8_t *blob, size_t size, size_t *count);

/* True if a varint list is `count` zeros, at least one. O(bytes). */
bool pl_varint_list_is_zero(const uint8_t *blob, size_t size, size_t count);

/* Decodes a varint list of exactly `count` numbers into values[count]. */
bool pl_varint_list_read(const uint8_t *blob, size_t size, uint64_t *values, size_t count);

/* An iteration over the runs of an RLE blob, in constant memory whatever the blob expands to.
 * pl_runs_begin starts one. */
typedef struct pl_runs {
    const uint8_t *cursor;
    const uint8_t *end;
    uint64_t literals_left; /* remaining single values of the current run */
} pl_runs;

static inline pl_runs pl_runs_begin(const uint8_t *blob, size_t size) {
    return (pl_runs){.cursor = blob, .end = pl_blob_end(blob, size), .literals_left = 0};
}

/* Gets the next run: *value repeated *length times (1 for each literal). Returns 1 for a run, 0 at
 * the end, -1 for a damaged blob. Never returns a run of length 0. */
static inline int pl_runs_next(pl_runs *runs, uint64_t *value, uint64_t *length) {
    while (runs->literals_left == 0) {
        if (runs->cursor == runs->end)
            return 0;
        uint64_t header;
        if (!pl_varint_read(&runs->cursor, runs->end, &header))
            return -1;
        if ((header & 1) != 0) {
            runs->literals_left = header >> 1;
        } else {
            if (!pl_varint_read(&runs->cursor, runs->end, value))
                return -1;
            *length = header >> 1;
            if (*length > 0)
                return 1;
        }
    }
    if (!pl_varint_read(&runs->cursor, runs->end, value))
        return -1;
    runs->literals_left--;
    *length = 1;
    return 1;
}

/* Decodes an RLE blob that must expand to exactly `count` numbers. */
bool pl_rle_read(const uint8_t *blob, size_t size, uint64_t *values, size_t count);

/* Growing bytes for the encoders; zero-initialise, free `data`; `failed` if memory ran short. */
typedef struct pl_blob {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
} pl_blob;

void pl_varint_write(pl_blob *blob, uint64_t value);
void pl_varint_list_write(pl_blob *blob, const uint64_t *values, size_t count);

/* Three or more equal values become a run, all others literals. */
void pl_rle_write(pl_blob *blob, const uint64_t *values, size_t count);

#endif
