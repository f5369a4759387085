/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/blob_codec.h"

#include <string.h>

#include "base/growth.h"

bool pl_varint_list_count(const uint8_t *blob, size_t size, size_t *count) {
    size_t numbers = 0;
    for (size_t i = 0; i < size; i++)
        numbers += blob[i] >> 7;
    *count = numbers;
    return size == 0 || (blob[size - 1] & 0x80) != 0;
}

bool pl_varint_list_is_zero(const uint8_t *blob, size_t size, size_t count) {
    return count > 0 && size == count && blob[0] == 0x80 && memcmp(blob, blob + 1, size - 1) == 0;
}

bool pl_varint_list_read(const uint8_t *blob, size_t size, uint64_t *values, size_t count) {
    const uint8_t *cursor = blob;
    const uint8_t *end = pl_blob_end(blob, size);
    for (size_t i = 0; i < count; i++) {
        if (!pl_varint_read(&cursor, end, &values[i]))
            return false;
    }
    return cursor == end;
}

bool pl_rle_read(const uint8_t *blob, size_t size, uint64_t *values, size_t count) {
    pl_runs runs = pl_runs_begin(blob, size);
    size_t filled = 0;
    uint64_t value;
    uint64_t length;
    int more;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
        if (length > count - filled)
            return false;
        for (uint64_t i = 0; i < length; i++)
            values[filled++] = value;
    }
    return more == 0 && filled == count;
}

void pl_varint_write(pl_blob *blob, uint64_t value) {
    if (blob->failed || !pl_grow(&blob->data, &blob->capacity, blob->size + 10, 1)) {
        blob->failed = true;
        return;
    }
    int groups = 1;
    for (uint64_t rest = value >> 7; rest > 0; rest >>= 7)
        groups++;
    for (int group = groups - 1; group >= 0; group--) {
        uint8_t bits = (uint8_t)(value >> (7 * group) & 0x7f);
        blob->data[blob->size++] = group == 0 ? (uint8_t)(bits | 0x80) : bits;
    }
}

void pl_varint_list_write(pl_blob *blob, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_varint_write(blob, values[i]);
}

void pl_rle_write(pl_blob *blob, const uint64_t *values, size_t count) {
    size_t literal_start = 0;
    size_t i = 0;
    while (i <= count) {
        size_t run = 0;
        while (i + run < count && values[i + run] == values[i])
            run++;
        if (run >= 3 || i == count) {
            if (i > literal_start) {
                pl_varint_write(blob, (uint64_t)(i - literal_start) << 1 | 1);
                pl_varint_list_write(blob, values + literal_start, i - literal_start);
            }
            if (i == count)
                break;
            pl_varint_write(blob, (uint64_t)run << 1);
            pl_varint_write(blob, values[i]);
            literal_start = i + run;
        }
        i += run;
    }
}
