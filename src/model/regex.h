/* Regular expressions: PCRE2 with UTF and Unicode properties, compiled just in time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_REGEX_H
#define PL_MODEL_REGEX_H

#include "base/growth.h"
#include "popliner/error.h"

typedef struct pl_regex pl_regex;

/* Compiles `pattern`; `option` names it in messages. Free with pl_regex_free. Errors: USAGE with
 * the offset of the mistake, MEMORY. */
popliner_status pl_regex_compile(const char *pattern, const char *option, pl_regex **regex,
                                 popliner_error *error);
void pl_regex_free(pl_regex *regex);

/* Receives the result of a match: its captured groups concatenated, or all of it if the pattern has
 * no group. Valid during the call. False if memory is short, which ends the search. */
typedef bool (*pl_regex_result)(void *user, const char *result);

/* Finds all matches in `text` that do not overlap, from left to right. Errors: USAGE if a match
 * takes too many steps, MEMORY. */
popliner_status pl_regex_find_all(pl_regex *regex, const char *text, size_t length,
                                  pl_regex_result result, void *user, popliner_error *error);

/* Sets *matches to whether the pattern matches anywhere in `text`, and *begin (may be NULL) to
 * where the first match begins. Errors: those of pl_regex_find_all. */
popliner_status pl_regex_matches(pl_regex *regex, const char *text, size_t length, bool *matches,
                                 size_t *begin, popliner_error *error);

/* True if the pattern captures groups. */
bool pl_regex_has_groups(const pl_regex *regex);

#endif
