/* The blob encodings: the byte strings of the format note, round trips, and damaged blobs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "profile/blob_codec.h"

#include <stdlib.h>
#include <string.h>

static void reads_the_documented_numbers(void **state) {
    (void)state;
    const uint8_t bytes[] = {0x80, 0x81, 0x16, 0xfe};
    uint64_t values[3];
    size_t count;
    assert_true(pl_varint_list_count(bytes, sizeof bytes, &count));
    assert_int_equal(count, 3);
    assert_true(pl_varint_list_read(bytes, sizeof bytes, values, 3));
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 1);
    assert_int_equal(values[2], 2942); /* 0x16 * 128 + 0x7e */
}

static void reads_literals_and_repeats(void **state) {
    (void)state;
    /* header 7 = 3 literals: 5 6 7; header 8 = four times 9 */
    const uint8_t bytes[] = {0x87, 0x85, 0x86, 0x87, 0x88, 0x89};
    const uint64_t expected[] = {5, 6, 7, 9, 9, 9, 9};
    uint64_t values[7];
    assert_true(pl_rle_read(bytes, sizeof bytes, values, 7));
    assert_memory_equal(values, expected, sizeof expected);
    assert_false(pl_rle_read(bytes, sizeof bytes, values, 6));
    uint64_t more[8];
    assert_false(pl_rle_read(bytes, sizeof bytes, more, 8));
}

static void refuses_damaged_blobs(void **state) {
    (void)state;
    uint64_t values[4];
    size_t count;
    const uint8_t unfinished[] = {0x81, 0x16};
    assert_false(pl_varint_list_count(unfinished, sizeof unfinished, &count));
    assert_false(pl_varint_list_read(unfinished, sizeof unfinished, values, 2));
    const uint8_t repeat_without_value[] = {0x84};
    assert_false(pl_rle_read(repeat_without_value, sizeof repeat_without_value, values, 2));
    const uint8_t literals_missing[] = {0x85, 0x81};
    assert_false(pl_rle_read(literals_missing, sizeof literals_missing, values, 2));
    uint8_t too_large[11];
    memset(too_large, 0x7f, sizeof too_large);
    too_large[10] = 0xff;
    const uint8_t *cursor = too_large;
    assert_false(pl_varint_read(&cursor, too_large + sizeof too_large, values));
    /* a repeat of 2^62 must not be expanded past the count */
    pl_blob huge = {0};
    pl_varint_write(&huge, (uint64_t)1 << 63);
    pl_varint_write(&huge, 1);
    assert_false(pl_rle_read(huge.data, huge.size, values, 4));
    free(huge.data);
}

static void writes_what_it_reads(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t round = 0; round < 500; round++) {
        uint64_t values[200];
        size_t count = round % 200;
        for (size_t i = 0; i < count; i++) {
            random = test_random(random);
            values[i] = random >> 33 & (random & 16 ? 3 : 0xffffffff);
            if (i > 0 && (random & 3) != 0)
                values[i] = values[i - 1];
        }
        values[0] = round == 7 ? UINT64_MAX : values[0];
        pl_blob blob = {0};
        uint64_t back[200];
        pl_rle_write(&blob, values, count);
        assert_true(pl_rle_read(blob.data, blob.size, back, count));
        if (count > 0)
            assert_memory_equal(back, values, count * sizeof values[0]);
        blob.size = 0;
        pl_varint_list_write(&blob, values, count);
        assert_true(pl_varint_list_read(blob.data, blob.size, back, count));
        if (count > 0)
            assert_memory_equal(back, values, count * sizeof values[0]);
        free(blob.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_documented_numbers),
        cmocka_unit_test(reads_literals_and_repeats),
        cmocka_unit_test(refuses_damaged_blobs),
        cmocka_unit_test(writes_what_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
