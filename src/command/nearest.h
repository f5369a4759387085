/* The known name that is nearest to a mistyped one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_NEAREST_H
#define PL_COMMAND_NEAREST_H

#include <stddef.h>

/* Begin with nearest_begin, then offer the known names. */
typedef struct nearest {
    const char *text; /* not NUL-terminated, like `best` */
    size_t length;
    const char *best; /* NULL: none is near enough */
    size_t best_length;
    size_t too_far; /* the distance from which on a name is not kept */
} nearest;

nearest nearest_begin(const char *text, size_t length);

/* Keeps the name if it is nearer than those before: few characters have to be put in, left out,
 * exchanged for another or with their neighbour; at most one for every three that the text has, and
 * no more than three. Upper and lower case are the same. A number is near to no other: it is wrong,
 * not mistyped. O(length of the name times that of the text) where the lengths are similar, else
 * O(1). */
void nearest_offer(nearest *n, const char *name, size_t length);

/* Offers each of the names that a separator stands between. */
void nearest_offer_list(nearest *n, const char *names, char separator);

/* "; did you mean --solve?" with "--" as prefix, or `otherwise` if nothing is near. Valid until the
 * memory `hint` is used again. */
enum { NEAREST_HINT_BYTES = 160 };
const char *nearest_hint(const nearest *n, const char *prefix, const char *otherwise,
                         char hint[NEAREST_HINT_BYTES]);

#endif
