/* The blob encodings: any bytes, as each kind of blob, against a second decoder that is as plain as
 * the format's description; what was read is written, and read again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile_data.h"

enum { MOST_VALUES = 2048 };

/* A number of the list at *at; false if it ends too early or is too large. */
static bool plain_number(const uint8_t *blob, size_t size, size_t *at, uint64_t *number) {
    *number = 0;
    while (*at < size) {
        const uint8_t byte = blob[(*at)++];
        if (*number >= UINT64_C(1) << 57)
            return false;
        *number = *number * 128 + byte % 128;
        if (byte >= 128)
            return true;
    }
    return false;
}

/* The numbers of a list; SIZE_MAX if it is damaged. At most MOST_VALUES are kept. */
static size_t plain_list(const uint8_t *blob, size_t size, uint64_t *values) {
    size_t count = 0;
    for (size_t at = 0; at < size; count++) {
        uint64_t number;
        if (!plain_number(blob, size, &at, &number))
            return SIZE_MAX;
        if (count < MOST_VALUES)
            values[count] = number;
    }
    return count;
}

/* The same of an RLE blob. One with more than MOST_VALUES is *long. */
static size_t plain_rle(const uint8_t *blob, size_t size, uint64_t *values, bool *is_long) {
    size_t count = 0;
    *is_long = false;
    for (size_t at = 0; at < size;) {
        uint64_t header;
        uint64_t number = 0;
        if (!plain_number(blob, size, &at, &header))
            return SIZE_MAX;
        const bool is_literal = header % 2 == 1;
        if (!is_literal && !plain_number(blob, size, &at, &number))
            return SIZE_MAX;
        for (uint64_t i = 0; i < header / 2; i++) {
            if (is_literal && !plain_number(blob, size, &at, &number))
                return SIZE_MAX;
            *is_long = *is_long || count == MOST_VALUES;
            if (!*is_long)
                values[count++] = number;
            else if (!is_literal)
                break;
        }
    }
    return count;
}

static bool same(const uint64_t *values, const uint64_t *others, size_t count) {
    return count == 0 || memcmp(values, others, count * sizeof *values) == 0;
}

static void check_list(const uint8_t *blob, size_t size) {
    uint64_t expected[MOST_VALUES];
    uint64_t values[MOST_VALUES];
    const size_t length = plain_list(blob, size, expected);
    size_t count = SIZE_MAX;
    const bool ends = pl_varint_list_count(blob, size, &count);
    FUZZ_CHECK(ends == (size == 0 || blob[size - 1] >= 128));
    FUZZ_CHECK(count <= size);
    if (count > MOST_VALUES)
        return;
    const bool is_list = pl_varint_list_read(blob, size, values, count);
    FUZZ_CHECK(is_list == (length == count));
    FUZZ_CHECK(!pl_varint_list_read(blob, size, values, count + 1 < MOST_VALUES ? count + 1 : 0) ||
               size == 0);
    if (!is_list)
        return;
    FUZZ_CHECK(pl_varint_list_read(blob, size, values, count));
    FUZZ_CHECK(same(values, expected, count));
    pl_blob written = {0};
    pl_varint_list_write(&written, values, count);
    FUZZ_CHECK(!written.failed && written.size <= size);
    FUZZ_CHECK(pl_varint_list_read(written.data, written.size, values, count));
    FUZZ_CHECK(same(values, expected, count));
    free(written.data);
}

/* Numbers by tile, of which the series is `rle`. */
static void check_series(const pl_blob *rle, const uint64_t *values, size_t count) {
    popliner_profile *profile = calloc(1, sizeof *profile);
    uint64_t by_tile[MOST_VALUES] = {0};
    uint64_t sum = 0;
    size_t num_seen = 0;
    size_t first;
    size_t end;
    FUZZ_CHECK(profile != NULL);
    const pl_series series = pl_profile_add_series(profile, rle->data, rle->size);
    FUZZ_CHECK(!profile->arrays.failed);
    profile->target.num_tiles = MOST_VALUES;
    pl_series_add(profile, series, 3, by_tile);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(by_tile[i] == 3 * values[i]);
        sum += values[i];
    }
    FUZZ_CHECK(pl_series_sum(profile, series) == sum);
    pl_tile_runs walk = pl_tile_runs_of(profile, series);
    while (pl_tile_runs_next(&walk, &first, &end)) {
        FUZZ_CHECK(first < end && end <= count);
        for (; num_seen < first; num_seen++)
            FUZZ_CHECK(values[num_seen] == 0);
        for (; num_seen < end; num_seen++)
            FUZZ_CHECK(values[num_seen] == values[first] && values[first] > 0);
    }
    for (; num_seen < count; num_seen++)
        FUZZ_CHECK(values[num_seen] == 0);
    pl_profile_free(profile);
}

static void check_rle(const uint8_t *blob, size_t size) {
    uint64_t expected[MOST_VALUES];
    uint64_t values[MOST_VALUES];
    bool is_long;
    const size_t count = plain_rle(blob, size, expected, &is_long);
    pl_runs runs = pl_runs_begin(blob, size);
    uint64_t value;
    uint64_t length;
    size_t at = 0;
    int more;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
        FUZZ_CHECK(length > 0);
        for (uint64_t i = 0; count != SIZE_MAX && i < length && at < count; i++)
            FUZZ_CHECK(expected[at++] == value);
    }
    FUZZ_CHECK((more < 0) == (count == SIZE_MAX));
    if (is_long)
        FUZZ_CHECK(!pl_rle_read(blob, size, values, MOST_VALUES));
    if (count == SIZE_MAX || is_long)
        return;
    FUZZ_CHECK(at == count);
    FUZZ_CHECK(pl_rle_read(blob, size, values, count));
    FUZZ_CHECK(same(values, expected, count));
    FUZZ_CHECK(count == 0 || !pl_rle_read(blob, size, values, count - 1));
    FUZZ_CHECK(count == MOST_VALUES || !pl_rle_read(blob, size, values, count + 1));
    pl_blob written = {0};
    pl_rle_write(&written, expected, count);
    FUZZ_CHECK(!written.failed && pl_rle_read(written.data, written.size, values, count));
    FUZZ_CHECK(same(values, expected, count));
    check_series(&written, expected, count);
    free(written.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_list(data, size);
    check_rle(data, size);
    return 0;
}
