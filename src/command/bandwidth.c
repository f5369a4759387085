/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/bandwidth.h"

#include <stddef.h>
#include <string.h>

#include "popliner/sizes.h"

const char *bandwidth_take(const char *text, uint64_t *bytes, uint64_t *times) {
    enum { MOST_CHARACTERS = 18, MOST_DIGITS = 9 };
    const char *end = popliner_size_take(text, bytes);
    size_t before = strspn(text, "0123456789");
    size_t behind = text[before] == '.' ? strspn(text + before + 1, "0123456789") : 0;
    *times = 1;
    if (end != NULL)
        return *bytes > 0 ? end : NULL;
    end = text + before + 1 + behind;
    if (before == 0 || behind == 0 || behind > MOST_DIGITS || end - text > MOST_CHARACTERS)
        return NULL;
    *bytes = 0;
    for (const char *c = text; c < end; c++)
        *bytes = *c == '.' ? *bytes : 10 * *bytes + (uint64_t)(*c - '0');
    for (size_t i = 0; i < behind; i++)
        *times *= 10;
    return *bytes > 0 ? end : NULL;
}
