/* Reads the JSON that JavaScript gives to the module.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_WASM_JSON_TOKENS_H
#define PL_WASM_JSON_TOKENS_H

#include "base/growth.h"

/* A value; those within it follow it. */
typedef struct pl_json_token {
    char kind;        /* its first character, '0' for any number */
    const char *name; /* of a member of an object, else NULL */
    const char *text; /* a text; numbers and words go on after their end */
    size_t size;      /* values: this one and all within it */
} pl_json_token;

/* Returns the value in a list or an object after one of them, NULL for the first; NULL at the
 * end. */
static inline const pl_json_token *pl_json_token_next(const pl_json_token *within,
                                                      const pl_json_token *before) {
    const pl_json_token *const next = before == NULL ? within + 1 : before + before->size;
    return next < within + within->size ? next : NULL;
}

/* Reads what JSON.stringify wrote, of which texts are unescaped in place. */
const pl_json_token *pl_json_tokens_read(pl_arrays *arrays, char *json);

/* Returns a member of an object; NULL if it has none of this name, or it is null. */
const pl_json_token *pl_json_token_member(const pl_json_token *object, const char *name);

/* Reads a whole number. */
bool pl_json_token_number(const pl_json_token *value, uint64_t *number);

/* Reads a list of whole numbers, which the arrays then own; NULL if it is anything else, or memory
 * is short. */
const uint64_t *pl_json_token_numbers(pl_arrays *arrays, const pl_json_token *list, size_t *count);

#endif
