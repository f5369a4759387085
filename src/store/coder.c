/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/coder.h"

#include <assert.h>
#include <string.h>

#include "base/packed.h"

static uint64_t read_number(pl_coder *c, uint64_t max) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->text.length; shift += 7) {
        const uint8_t byte = (uint8_t)c->text.data[c->at++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80 && number <= max)
            return number;
        if (byte < 0x80)
            break;
    }
    c->is_damaged = true;
    c->at = c->text.length;
    return 0;
}

void pl_code(pl_coder *c, uint64_t *number, uint64_t max) {
    assert(c->is_reading || *number <= max);
    if (c->is_reading)
        *number = read_number(c, max);
    else
        pl_packed_group(&c->text, *number);
    c->is_short = c->is_short || c->text.failed;
}

void pl_code_place(pl_coder *c, uint32_t *number, uint64_t max) {
    uint64_t wide = *number;
    pl_code(c, &wide, max);
    *number = (uint32_t)wide;
}

void pl_code_count(pl_coder *c, size_t *count) {
    uint64_t wide = *count;
    pl_code(c, &wide, c->is_reading ? c->text.length - c->at : SIZE_MAX);
    *count = (size_t)wide;
}

void pl_code_flag(pl_coder *c, bool *flag) {
    uint64_t wide = *flag;
    pl_code(c, &wide, 1);
    *flag = wide != 0;
}

const char *pl_code_text(pl_coder *c, const char *text) {
    if (!c->is_reading) {
        pl_text_append(&c->text, text, strlen(text) + 1);
        c->is_short = c->is_short || c->text.failed;
        return text;
    }
    const char *begin = c->at == c->text.length ? "" : c->text.data + c->at;
    const char *end = c->at == c->text.length ? NULL : memchr(begin, '\0', c->text.length - c->at);
    c->is_damaged = c->is_damaged || end == NULL;
    c->at = end == NULL ? c->text.length : c->at + (size_t)(end - begin) + 1;
    return end == NULL ? "" : begin;
}
