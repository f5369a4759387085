/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/packed.h"

#include <stdlib.h>

void pl_packed_group(pl_text *bytes, uint64_t value) {
    char group[10];
    size_t length = 0;
    do {
        unsigned low = (unsigned)(value & 0x7f);
        value >>= 7;
        group[length++] = (char)(value > 0 ? low | 0x80 : low);
    } while (value > 0);
    pl_text_append(bytes, group, length);
}

void pl_packed_number(pl_packed *packed, uint64_t number) {
    bool is_less = number < packed->last;
    uint64_t difference = is_less ? packed->last - number : number - packed->last;
    pl_packed_group(&packed->bytes, 2 * difference - is_less);
    packed->last = number;
}

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "!#$%&()*+-;,=>?@^_`{|}~";

/* Encodes four bytes as five characters: RFC 1924, with ',' for '<', which would end a script. Of a
 * shorter last group as many are left out. */
static void add_base85(pl_text *text, const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i += 4) {
        const size_t count = length - i < 4 ? length - i : 4;
        uint32_t group = 0;
        char chars[5];
        for (size_t k = 0; k < 4; k++)
            group = group << 8 | (k < count ? bytes[i + k] : 0u);
        for (size_t k = 5; k-- > 0; group /= 85)
            chars[k] = digits[group % 85];
        pl_text_append(text, chars, count + 1);
    }
}

void pl_packed_end(pl_packed *packed, pl_text *text) {
    pl_text_add(text, "\"");
    if (packed->bytes.length > 0)
        add_base85(text, (const unsigned char *)packed->bytes.data, packed->bytes.length);
    pl_text_add(text, "\"");
    text->failed = text->failed || packed->bytes.failed;
    free(packed->bytes.data);
    *packed = (pl_packed){0};
}

void pl_put_packed(pl_json *json, const char *key, pl_packed *packed) {
    pl_put_value(json, key);
    pl_packed_end(packed, json->text);
}

void pl_put_packed_numbers(pl_json *json, const char *key, const uint64_t *numbers, size_t count) {
    pl_packed packed = {0};
    if (numbers == NULL) {
        pl_put_null(json, key);
        return;
    }
    for (size_t i = 0; i < count; i++)
        pl_packed_number(&packed, numbers[i]);
    pl_put_packed(json, key, &packed);
}

pl_packed_reader pl_packed_read(const char *text) {
    pl_packed_reader reader = {.text = text};
    for (unsigned char i = 0; digits[i] != '\0'; i++)
        reader.digits[(unsigned char)digits[i]] = i;
    return reader;
}

static bool next_byte(pl_packed_reader *r, unsigned char *byte) {
    if (r->next == r->num_bytes) {
        uint32_t group = 0;
        size_t count = 0;
        for (size_t k = 0; k < 5; k++) {
            const bool is_there = *r->text != '\0';
            group = 85 * group + (is_there ? r->digits[*r->text & 0x7f] : 84u);
            r->text += is_there;
            count += is_there;
        }
        for (size_t k = 4; k-- > 0; group >>= 8)
            r->bytes[k] = (unsigned char)(group & 0xff);
        r->num_bytes = count > 1 ? count - 1 : 0;
        r->next = 0;
    }
    *byte = r->bytes[r->next];
    return r->next < r->num_bytes && ++r->next > 0;
}

bool pl_packed_next(pl_packed_reader *r, uint64_t *number) {
    unsigned char byte;
    uint64_t value = 0;
    unsigned shift = 0;
    if (!next_byte(r, &byte))
        return false;
    do {
        value |= (uint64_t)(byte & 0x7fu) << shift;
        shift += 7;
    } while (byte >= 0x80 && shift < 64 && next_byte(r, &byte));
    r->last += value % 2 == 0 ? value / 2 : 0 - (value / 2 + 1);
    *number = r->last;
    return true;
}

void pl_packed_block(pl_text *text, const uint64_t *numbers, size_t count, unsigned shift) {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    least >>= shift;
    most >>= shift;
    unsigned width = 0;
    while ((most - least) >> width != 0)
        width++;
    char bytes[PL_PACKED_BLOCK * 8];
    bytes[0] = (char)width;
    pl_text_append(text, bytes, 1);
    pl_packed_group(text, least);
    if (width == 0)
        return;
    size_t length = 0;
    unsigned waiting = 0; /* bits */
    unsigned byte = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = (numbers[i] >> shift) - least;
        for (unsigned left = width; left > 0;) {
            unsigned taken = left < 8 - waiting ? left : 8 - waiting;
            byte |= (unsigned)(value & ((1u << taken) - 1)) << waiting;
            value >>= taken;
            left -= taken;
            waiting += taken;
            if (waiting == 8) {
                bytes[length++] = (char)byte;
                byte = 0;
                waiting = 0;
            }
        }
    }
    if (waiting > 0)
        bytes[length++] = (char)byte;
    pl_text_append(text, bytes, length);
}
