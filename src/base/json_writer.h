/* Writes a JSON document into a text, value by value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_WRITER_H
#define PL_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"

enum { PL_JSON_DEPTH = 16 };

typedef enum pl_json_style {
    PL_JSON_INDENTED, /* as Python's json does, ASCII alone */
    PL_JSON_SPACED,   /* a blank behind commas and colons; texts as pl_quote_json has them */
    PL_JSON_COMPACT,  /* the same without blanks, for pages */
} pl_json_style;

/* Where a document is written, numbers with as few digits as say which they are. Begin with
 * {.text = TEXT}. Without memory, text->failed. */
typedef struct pl_json {
    pl_text *text;
    pl_json_style style;
    bool is_on_line; /* the next value is: see pl_put_line */
    bool has_items;  /* what is open has some already */
    size_t depth;
    char ends[PL_JSON_DEPTH]; /* of what is open */
} pl_json;

/* Begins an object, '{', or a list, '['. Here and below, `key` is that of the value in its object;
 * NULL in a list, and for the document itself. */
void pl_put_open(pl_json *json, const char *key, char begin);

/* Ends the innermost one; behind the outermost the line ends, if all are indented. */
void pl_put_close(pl_json *json);

/* Where lines are not indented: the next value begins one. */
void pl_put_line(pl_json *json);

/* Begins a value that the caller adds to the text by itself. */
void pl_put_value(pl_json *json, const char *key);

void pl_put_null(pl_json *json, const char *key);
void pl_put_flag(pl_json *json, const char *key, bool value);
void pl_put_number(pl_json *json, const char *key, uint64_t value);
void pl_put_signed(pl_json *json, const char *key, int64_t value);
void pl_put_real(pl_json *json, const char *key, double value);    /* finite */
void pl_put_index(pl_json *json, const char *key, size_t value);   /* SIZE_MAX: null */
void pl_put_count(pl_json *json, const char *key, uint64_t value); /* 0: null */

/* NULL: null. One that is no valid UTF-8 (a regex cut a character apart) keeps its ASCII part. */
void pl_put_text(pl_json *json, const char *key, const char *value);
/* Lists; of no numbers (NULL): null. */
void pl_put_numbers(pl_json *json, const char *key, const size_t *values, size_t count);
void pl_put_texts(pl_json *json, const char *key, const char *const *values, size_t count);

#endif
