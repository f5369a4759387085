/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/plain_locale.h"

/* At least the length of the longest text or number of the document, as it is written. */
static size_t longest_token(const char *bytes, size_t length) {
    size_t longest = 0;
    size_t start = 0;
    bool in_text = false;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            in_text = !in_text;
        else if (in_text && bytes[i] == '\\')
            i++;
        else if (!in_text && strchr(" \t\r\n,:[]{}", bytes[i]) != NULL)
            start = i + 1;
        if (i + 1 > start + longest)
            longest = i + 1 - start;
    }
    return longest;
}

/* Whether jansson says that memory is short; it says nothing at all where making a value failed. */
static bool is_of_memory(const json_error_t *failure) {
    return failure->line < 0 || json_error_code(failure) == json_error_out_of_memory;
}

/* jansson keeps a text or number in a buffer while it reads it. Where memory is too short to
 * lengthen that buffer, it leaves bytes out, and goes on. Only a longer text or number than all
 * before it needs that. So the document is parsed as `["xxx...", document]`, in which the first
 * text is as long as any other: if it is whole, so are they. *is_whole tells. */
static json_t *parse_in_frame(const char *bytes, size_t length, bool *is_whole,
                              json_error_t *failure) {
    size_t padding = longest_token(bytes, length);
    pl_text text = {0};
    json_t *root = NULL;
    *is_whole = false;
    *failure = (json_error_t){.line = -1};
    pl_text_add(&text, "[\"");
    for (size_t i = 0; i < padding; i++)
        pl_text_add(&text, "x");
    pl_text_add(&text, "\",");
    pl_text_append(&text, bytes, length);
    pl_text_add(&text, "]");
    json_t *frame =
        text.failed ? NULL : json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, failure);
    free(text.data);
    if (json_array_size(frame) > 2) {
        failure->line = 0; /* there is memory, but the document goes on behind its end: "{}, {}" */
    } else if (json_array_size(frame) == 2) {
        *is_whole = json_string_length(json_array_get(frame, 0)) == padding;
        root = json_incref(json_array_get(frame, 1));
    }
    json_decref(frame);
    return root;
}

static popliner_status parse(const char *bytes, size_t length, const char *path, json_t **root,
                             popliner_error *error) {
    json_error_t failure;
    bool is_whole;
    *root = parse_in_frame(bytes, length, &is_whole, &failure);
    if (*root != NULL && is_whole)
        return POPLINER_OK;
    bool is_memory = *root != NULL || is_of_memory(&failure);
    bool is_too_deep = json_error_code(&failure) == json_error_stack_overflow;
    json_decref(*root);
    *root = NULL;
    /* without the frame, for the right place and words; a text that could not be kept looks like a
     * mistake in the document the first time, but not twice */
    if (!is_memory && !is_too_deep) {
        json_t *plain = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &failure);
        is_memory = plain != NULL || is_of_memory(&failure);
        json_decref(plain);
    }
    if (is_memory)
        return pl_fail_memory(error, "the JSON document");
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: line %d, column %d: %s", path, failure.line,
                   failure.column, failure.text);
}

popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error) {
    pl_plain_locale locale = pl_plain_locale_enter(); /* jansson knows no comma of several bytes */
    popliner_status status = parse(bytes, length, path, root, error);
    pl_plain_locale_leave(&locale);
    return status;
}
