/* Regular expressions: PCRE2 with UTF and Unicode properties, compiled just in time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_REGEX_H
#define PL_MODEL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/growth.h"
#include "popliner/error.h"

typedef struct pl_regex pl_regex;

/* Compiles `pattern`; `option` is what messages call it. Free with pl_regex_free. Errors: USAGE
 * with the offset of the mistake, MEMORY. */
popliner_status pl_regex_compile(const char *pattern, const char *option, pl_regex **regex,
                                 popliner_error *error);
void pl_regex_free(pl_regex *regex);

/* Told each match's result: its captured groups one after another, or all of it if the pattern has
 * no group. Valid during the call. False stops for lack of memory. */
typedef bool (*pl_regex_result)(void *user, const char *result);

/* Finds all matches in `text` that do not overlap, from left to right. Errors: USAGE when a match
 * takes too many steps, MEMORY. */
popliner_status pl_regex_find_all(pl_regex *regex, const char *text, size_t length,
                                  pl_regex_result result, void *user, popliner_error *error);

/* Whether the pattern matches anywhere in `text`. Errors as above. */
popliner_status pl_regex_matches(pl_regex *regex, const char *text, size_t length, bool *matches,
                                 popliner_error *error);

/* The same, and where the first match is in `text`: from *begin to *end, which is not before it. */
popliner_status pl_regex_locate(pl_regex *regex, const char *text, size_t length, bool *matches,
                                size_t *begin, size_t *end, popliner_error *error);

#endif
