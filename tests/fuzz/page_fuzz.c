/* The numbers in pages: any are packed, and unpacked by a second decoder that does what the scripts
 * of src/page do.
 *
 *   1 byte: which encoder; numbers, each of as many bytes as the one before them says
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/packed.h"

enum { MOST_NUMBERS = 128 };
static const uint64_t most = UINT64_C(1) << 52;

/* The bytes of base85 in quotes; SIZE_MAX if it is none. A last group lacks as many characters as
 * bytes: the rest counts as the largest digit. */
static size_t decode_base85(const char *text, size_t length, uint8_t *bytes) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "!#$%&()*+-;,=>?@^_`{|}~";
    size_t count = 0;
    if (length < 2 || text[0] != '"' || text[length - 1] != '"' || length % 5 == 3)
        return SIZE_MAX;
    for (size_t i = 1; i + 1 < length; i += 5) {
        const size_t num_digits = length - 1 - i < 5 ? length - 1 - i : 5;
        uint64_t group = 0;
        for (size_t k = 0; k < 5; k++) {
            const char *digit = k < num_digits ? strchr(digits, text[i + k]) : digits + 84;
            if (digit == NULL || *digit == '\0')
                return SIZE_MAX;
            group = 85 * group + (uint64_t)(digit - digits);
        }
        if (group > UINT32_MAX)
            return SIZE_MAX;
        for (size_t k = 0; k + 1 < num_digits; k++)
            bytes[count++] = (uint8_t)(group >> (24 - 8 * k));
    }
    return count;
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
    const size_t num_bytes = decode_base85(text->data, text->length, bytes);
    FUZZ_CHECK(num_bytes != SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        last += take_difference(bytes, num_bytes, &at);
        FUZZ_CHECK(last == numbers[i]);
    }
    FUZZ_CHECK(at == num_bytes);
    free(bytes);
    /* as the module of a page reads it, without the quotes */
    text->data[text->length - 1] = '\0';
    pl_packed_reader reader = pl_packed_read(text->data + 1);
    uint64_t number;
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(pl_packed_next(&reader, &number) && (int64_t)number == numbers[i]);
    FUZZ_CHECK(!pl_packed_next(&reader, &number));
}

static void check_groups(fuzz_input *input) {
    uint64_t plain[MOST_NUMBERS];
    pl_text text = {0};
    size_t count = 0;
    size_t at = 0;
    for (; count < MOST_NUMBERS && input->left > 0; count++)
        pl_packed_group(&text, plain[count] = fuzz_number(input));
    FUZZ_CHECK(!text.failed);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(take_group((const uint8_t *)text.data, text.length, &at) == plain[i]);
    FUZZ_CHECK(at == text.length);
    free(text.data);
}

static void check_block(fuzz_input *input) {
    uint64_t numbers[PL_PACKED_BLOCK] = {0};
    pl_text text = {0};
    size_t count = 0;
    size_t at = 1;
    const unsigned shift = fuzz_byte(input) % 32;
    for (; count == 0 || (count < PL_PACKED_BLOCK && input->left > 0); count++)
        numbers[count] = fuzz_number(input) % (most + 1);
    pl_packed_block(&text, numbers, count, shift);
    FUZZ_CHECK(!text.failed);
    const uint8_t *bytes = (const uint8_t *)text.data;
    const unsigned width = bytes[0];
    const uint64_t least = take_group(bytes, text.length, &at);
    FUZZ_CHECK(text.length == at + (count * width + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = 0;
        for (unsigned bit = 0; bit < width; bit++) {
            const size_t place = i * width + bit;
            number |= (uint64_t)(bytes[at + place / 8] >> place % 8 & 1) << bit;
        }
        FUZZ_CHECK(least + number == numbers[i] >> shift);
    }
    free(text.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    const unsigned how = fuzz_byte(&input) % 4;
    uint64_t plain[MOST_NUMBERS];
    int64_t numbers[MOST_NUMBERS];
    size_t count = 0;
    pl_text text = {0};
    pl_packed packed = {0};
    if (how >= 2) {
        if (how == 2)
            check_groups(&input);
        else
            check_block(&input);
        return 0;
    }
    for (; count < MOST_NUMBERS && input.left > 0; count++) {
        plain[count] = fuzz_number(&input) % (most + 1);
        numbers[count] = (int64_t)plain[count];
        if (how == 1)
            pl_packed_number(&packed, plain[count]);
    }
    if (how == 0)
        pl_put_packed_numbers(&(pl_json){.text = &text, .style = PL_JSON_COMPACT}, NULL, plain,
                              count);
    else
        pl_packed_end(&packed, &text);
    FUZZ_CHECK(packed.bytes.data == NULL && packed.bytes.length == 0);
    check_column(&text, numbers, count);
    free(text.data);
    return 0;
}
