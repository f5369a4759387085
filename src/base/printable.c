/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "popliner/printable.h"

const char *popliner_printable_take(const char *text, char shown[POPLINER_PRINTABLE_SIZE]) {
    static const char named[] = "\n\r\t";
    uint32_t c = 0;
    size_t length = pl_utf8_decode(text, &c);
    if (length == 0) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\x%02x", (unsigned)(unsigned char)*text);
        return text + 1;
    }
    if (c < 0x80 && c != 0 && strchr(named, (int)c) != NULL) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\%c", "nrt"[strchr(named, (int)c) - named]);
    } else if (pl_utf8_is_control(c)) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\u%04x", (unsigned)(c & 0xffff));
    } else {
        memcpy(shown, text, length);
        shown[length] = '\0';
    }
    return text + length;
}

void pl_text_add_printable(pl_text *text, const char *value, const char *kept) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*value != '\0') {
        const char *next = popliner_printable_take(value, shown);
        if (strchr(kept, *value) != NULL)
            pl_text_append(text, value, 1);
        else
            pl_text_add(text, shown);
        value = next;
    }
}

/* Whether nothing in the text is shown as something else. */
static bool is_printable(const char *text) {
    while (*text != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(text, &c);
        if (length == 0 || (pl_utf8_is_control(c) && c != '\n' && c != '\t'))
            return false;
        text += length;
    }
    return true;
}

void pl_text_make_printable(pl_text *text) {
    pl_text shown = {0};
    if (text->failed || text->data == NULL || is_printable(text->data))
        return;
    pl_text_add_printable(&shown, text->data, "\n\t");
    free(text->data);
    *text = shown;
}
