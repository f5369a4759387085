/* The columns of numbers in pages: any numbers are packed, and unpacked by a second decoder that
 * does what src/show/page/model.js does.
 *
 *   1 byte: which encoder; numbers, each of as many bytes as the one before them says
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "show/packed.h"

enum { MOST_NUMBERS = 128 };
static const uint64_t most = UINT64_C(1) << 52;

/* The bytes of base64 in quotes; SIZE_MAX if it is none. */
static size_t decode_base64(const char *text, size_t length, uint8_t *bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;
    uint32_t group = 0;
    unsigned bits = 0;
    if (length < 2 || text[0] != '"' || text[length - 1] != '"' || length % 4 != 2)
        return SIZE_MAX;
    for (size_t i = 1; i + 1 < length && text[i] != '='; i++) {
        const char *digit = strchr(digits, text[i]);
        if (digit == NULL || *digit == '\0')
            return SIZE_MAX;
        group = group << 6 | (uint32_t)(digit - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[count++] = (uint8_t)(group >> bits);
        }
    }
    return (group & ((1u << bits) - 1)) == 0 ? count : SIZE_MAX;
}

/* The next number in groups of seven bits. */
static uint64_t take_group(const uint8_t *bytes, size_t count, size_t *at) {
    uint64_t number = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        FUZZ_CHECK(*at < count && shift < 64);
        byte = bytes[(*at)++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    FUZZ_CHECK(byte != 0 || shift == 7); /* no longer than need be */
    return number;
}

/* Differences, with the sign in the lowest bit. */
static int64_t take_difference(const uint8_t *bytes, size_t count, size_t *at) {
    const uint64_t group = take_group(bytes, count, at);
    return group % 2 == 0 ? (int64_t)(group / 2) : -(int64_t)(group / 2) - 1;
}

static void check_column(const pl_text *text, const int64_t *numbers, size_t count) {
    uint8_t *bytes = malloc(text->length);
    size_t at = 0;
    int64_t last = 0;
    FUZZ_CHECK(!text->failed && bytes != NULL && strlen(text->data) == text->length);
    const size_t num_bytes = decode_base64(text->data, text->length, bytes);
    FUZZ_CHECK(num_bytes != SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        last += take_difference(bytes, num_bytes, &at);
        FUZZ_CHECK(last == numbers[i]);
    }
    FUZZ_CHECK(at == num_bytes);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    const unsigned how = fuzz_byte(&input) % 4;
    uint64_t plain[MOST_NUMBERS];
    int64_t numbers[MOST_NUMBERS];
    size_t count = 0;
    pl_text text = {0};
    pl_packed packed = {0};
    int64_t last = 0;
    if (how == 3) {
        for (; count < MOST_NUMBERS && input.left > 0; count++)
            pl_packed_group(&text, plain[count] = fuzz_number(&input));
        FUZZ_CHECK(!text.failed);
        size_t at = 0;
        for (size_t i = 0; i < count; i++)
            FUZZ_CHECK(take_group((const uint8_t *)text.data, text.length, &at) == plain[i]);
        FUZZ_CHECK(at == text.length);
        free(text.data);
        return 0;
    }
    for (; count < MOST_NUMBERS && input.left > 0; count++) {
        const bool is_negative = how == 2 && fuzz_byte(&input) % 2 == 1;
        plain[count] = fuzz_number(&input) % (most + 1);
        numbers[count] = is_negative ? -(int64_t)plain[count] : (int64_t)plain[count];
        if (how == 1 && plain[count] == 0) {
            pl_packed_missing(&packed);
        } else if (how == 1) {
            pl_packed_number(&packed, plain[count]);
        } else if (how == 2) {
            pl_packed_difference(&packed, numbers[count] - last);
            last = numbers[count];
        }
    }
    if (how == 0)
        pl_packed_add(&text, plain, count);
    else
        pl_packed_end(&packed, &text);
    FUZZ_CHECK(packed.bytes.data == NULL && packed.bytes.length == 0);
    check_column(&text, numbers, count);
    free(text.data);
    return 0;
}
