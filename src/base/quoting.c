/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/quoting.h"

#include <stdbool.h>

#include "base/utf8.h"

/* A character that cannot stand for itself in JSON. */
static void add_escaped_json(pl_text *text, uint32_t c) {
    if (c == '"' || c == '\\')
        pl_text_format(text, "\\%c", (int)c);
    else
        pl_text_format(text, "\\u%04x", (unsigned)c);
}

static bool is_plain_in_json(uint32_t c) {
    return c != '"' && c != '\\' && !pl_utf8_is_control(c);
}

void pl_quote_json(pl_text *text, const char *value) {
    pl_text_add(text, "\"");
    while (*value != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(value, &c);
        if (length == 0)
            pl_text_add(text, PL_REPLACEMENT);
        else if (is_plain_in_json(c))
            pl_text_append(text, value, length);
        else
            add_escaped_json(text, c);
        value += length == 0 ? 1 : length;
    }
    pl_text_add(text, "\"");
}
