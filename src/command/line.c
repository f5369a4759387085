/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/line.h"

#include <stdlib.h>
#include <string.h>

void line_add(line *l, const char *text) {
    const size_t length = strlen(text);
    char *grown = l->failed ? NULL : realloc(l->text, l->length + length + 1);
    if (grown == NULL) {
        l->failed = true;
        return;
    }
    l->text = grown;
    memcpy(l->text + l->length, text, length + 1);
    l->length += length;
}
