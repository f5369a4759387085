/* Writes a JSON document, value by value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_WRITER_H
#define PL_BASE_JSON_WRITER_H

#include "base/growth.h"

enum { PL_JSON_DEPTH = 16 };

typedef enum pl_json_style {
    PL_JSON_INDENTED, /* like Python's json */
    PL_JSON_SPACED,   /* a blank after commas and colons */
    PL_JSON_COMPACT,  /* like SPACED without blanks, for pages */
} pl_json_style;

/* The document that is being written; numbers have as few digits as identify them. Begin with
 * {.text = TEXT}. If memory runs short, sets text->failed. */
typedef struct pl_json {
    pl_text *text;
    pl_json_style style;
    bool is_on_line; /* the next value begins a line: see pl_put_line */
    bool has_items;  /* the innermost object or list is not empty */
    size_t depth;
    char ends[PL_JSON_DEPTH]; /* closing characters of the open objects and lists */
} pl_json;

/* Begins an object, '{', or a list, '['. In all functions, `key` is the value's key in its object;
 * NULL in a list, and for the document itself. */
void pl_put_open(pl_json *json, const char *key, char begin);

/* Likewise, but null if it is not there, and returns whether it is. */
bool pl_put_open_if(pl_json *json, bool is_there, const char *key, char begin);

/* Ends the innermost object or list; after the outermost ends the line if the style is INDENTED. */
void pl_put_close(pl_json *json);

/* Starts a new line before the next value, in the styles without indentation. */
void pl_put_line(pl_json *json);

/* Begins a value whose text the caller appends. */
void pl_put_value(pl_json *json, const char *key);

void pl_put_null(pl_json *json, const char *key);
void pl_put_flag(pl_json *json, const char *key, bool value);
void pl_put_number(pl_json *json, const char *key, uint64_t value);
void pl_put_signed(pl_json *json, const char *key, int64_t value);
void pl_put_real(pl_json *json, const char *key, double value); /* not finite: null */
void pl_put_known(pl_json *json, const char *key, bool is_known, uint64_t value); /* or null */

/* Like pl_quote_json; NULL: null. */
void pl_put_text(pl_json *json, const char *key, const char *value);
/* Lists; NULL: null. */
void pl_put_numbers(pl_json *json, const char *key, const size_t *values, size_t count);
void pl_put_texts(pl_json *json, const char *key, const char *const *values, size_t count);

#endif
