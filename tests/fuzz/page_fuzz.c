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
#include "costs/triangle.h"
#include "memory/stage_details.h"
#include "page/page_data.h"

enum { MOST_NUMBERS = 128, MOST_UNITS = 4, MOST_TILES = 4 };
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

/* ---- what stages need on tiles ---- */

static uint64_t *column_of(pl_tile_need *need, int column) {
    return column == 0 ? &need->bytes : column == 1 ? &need->freed_bytes : &need->copy_bytes;
}

/* Reads a column into needs[num_tiles][stages of num_units]. */
static void read_column(const char *text, size_t length, int column, size_t num_units,
                        size_t num_tiles, pl_tile_need *needs) {
    const size_t num_stages = pl_triangle_size(num_units);
    int64_t surplus[MOST_UNITS * MOST_UNITS] = {0};
    uint8_t *bytes = malloc(length);
    size_t at = 0;
    FUZZ_CHECK(bytes != NULL);
    const size_t num_bytes = decode_base85(text, length, bytes);
    FUZZ_CHECK(num_bytes != SIZE_MAX);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_tile_need *own = needs + tile * num_stages;
        for (size_t i = 0; i < num_stages; i++)
            surplus[i] += take_difference(bytes, num_bytes, &at);
        for (size_t units = 1; units <= num_units; units++)
            for (size_t first = 0; first + units <= num_units; first++) {
                const size_t last = first + units - 1;
                const size_t place = pl_triangle_place(num_units, first, last);
                uint64_t expected = 0;
                if (units > 1)
                    expected =
                        *column_of(&own[place - 1], column) +
                        *column_of(&own[pl_triangle_place(num_units, first + 1, last)], column);
                if (units > 2)
                    expected -=
                        *column_of(&own[pl_triangle_place(num_units, first + 1, last - 1)], column);
                *column_of(&own[place], column) = expected + (uint64_t)surplus[place];
            }
    }
    FUZZ_CHECK(at == num_bytes);
    free(bytes);
}

static void check_needs(fuzz_input *input) {
    static const char *const names[] = {"{\"bytes\":", ",\"freed_bytes\":", ",\"copy_bytes\":"};
    const size_t num_units = 1 + fuzz_byte(input) % MOST_UNITS;
    const size_t num_tiles = 1 + fuzz_byte(input) % MOST_TILES;
    const size_t count = num_tiles * pl_triangle_size(num_units);
    pl_tile_need *needs = calloc(count, sizeof *needs);
    pl_tile_need *read = calloc(count, sizeof *read);
    pl_stage_details details = {.num_units = num_units, .tile_needs = needs};
    popliner_error error = {.message = ""};
    pl_text text = {0};
    FUZZ_CHECK(needs != NULL && read != NULL);
    for (size_t i = 0; i < count && input->left > 0; i++)
        for (int column = 0; column < 3; column++)
            *column_of(&needs[i], column) = fuzz_number(input) % (most >> 8);
    FUZZ_CHECK(pl_page_add_tile_needs(&text, &details, num_tiles, SIZE_MAX, &error) == POPLINER_OK);
    FUZZ_CHECK(!text.failed && strlen(text.data) == text.length);
    const char *at = text.data;
    for (int column = 0; column < 3; column++) {
        FUZZ_CHECK(strncmp(at, names[column], strlen(names[column])) == 0);
        at += strlen(names[column]);
        const bool is_null = strncmp(at, "null", 4) == 0;
        const size_t length = is_null ? 4 : 2 + strcspn(at + 1, "\"");
        if (!is_null)
            read_column(at, length, column, num_units, num_tiles, read);
        at += length;
    }
    FUZZ_CHECK(strcmp(at, "}") == 0);
    FUZZ_CHECK(memcmp(needs, read, count * sizeof *needs) == 0);
    /* the same, if there is room for less */
    pl_text none = {0};
    FUZZ_CHECK(pl_page_add_tile_needs(&none, &details, num_tiles, text.length - 1, &error) ==
                   POPLINER_OK &&
               strcmp(none.data, "null") == 0);
    free(none.data);
    free(text.data);
    free(needs);
    free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    const unsigned how = fuzz_byte(&input) % 6;
    uint64_t plain[MOST_NUMBERS];
    int64_t numbers[MOST_NUMBERS];
    size_t count = 0;
    pl_text text = {0};
    pl_packed packed = {0};
    int64_t last = 0;
    if (how >= 3) {
        if (how == 3)
            check_groups(&input);
        else if (how == 4)
            check_block(&input);
        else
            check_needs(&input);
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
        pl_put_packed_numbers(&(pl_json){.text = &text, .style = PL_JSON_COMPACT}, NULL, plain,
                              count);
    else
        pl_packed_end(&packed, &text);
    FUZZ_CHECK(packed.bytes.data == NULL && packed.bytes.length == 0);
    check_column(&text, numbers, count);
    free(text.data);
    return 0;
}
