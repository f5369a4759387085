/* Values of options as people write them, and the words in which wrong ones are refused.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_VALUES_H
#define PL_COMMAND_VALUES_H

#include "popliner/error.h"

/* Fills *error and returns its status. */
popliner_status fail(popliner_error *error, popliner_status status, const char *format, ...);

/* Fail for wrong usage, and for lack of memory: "not enough memory for WHAT". */
popliner_status fail_usage(popliner_error *error, const char *format, ...);
popliner_status fail_memory(popliner_error *error, const char *what);
#ifdef __clang_analyzer__
/* It sees one file at a time. */
#define fail(error, status, ...) ((void)fail(error, status, __VA_ARGS__), (status))
#define fail_usage(error, ...) ((void)fail_usage(error, __VA_ARGS__), POPLINER_ERROR_USAGE)
#define fail_memory(error, what) ((void)fail_memory(error, what), POPLINER_ERROR_MEMORY)
#endif

/* Returns the status of a call from this function if it is a failure. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const popliner_status tried = (call);                                                      \
        if (tried != POPLINER_OK)                                                                  \
            return tried;                                                                          \
    } while (0)

/* A line of text that grows. Zero-initialise; free `text`, which is NULL before something is
 * added. */
typedef struct growing_text {
    char *text;
    size_t length; /* bytes without the NUL */
    bool failed;   /* memory was short, after which adding does nothing */
} growing_text;

void text_add(growing_text *l, const char *text);

/* Appends a copy of the item to an array of *count, whose pointer is at `items`, and counts it;
 * false without memory. */
bool list_add(void *items, size_t *count, const void *item, size_t size);

/* Whether a text, `length` characters, is the name; whether one ends so. */
bool name_is(const char *name, const char *text, size_t length);
bool text_ends_with(const char *text, const char *end);

/* "DIRECTORY/NAME", or NULL without memory. The caller frees it. */
char *path_join(const char *directory, const char *name);

/* ---- the nearest name ---- */

/* Begin with nearest_begin, then offer the known names. */
typedef struct nearest {
    const char *text; /* not NUL-terminated, like `best` */
    size_t length;
    const char *best; /* NULL: none is near enough */
    size_t best_length;
    size_t distance; /* of it: popliner_misspelling */
} nearest;

nearest nearest_begin(const char *text, size_t length);

/* Keeps the name if the text is likelier to be a misspelling of it than of those before. */
void nearest_offer(nearest *n, const char *name, size_t length);

/* The end of a message about a wrong value. */
typedef struct value_hint {
    char text[200];
} value_hint;

/* "; did you mean --solve?" with "--" as prefix, or `otherwise` if nothing is near. */
value_hint nearest_hint(const nearest *n, const char *prefix, const char *otherwise);

/* Names the nearest of all that there are, or else lists them: "; there are Head, 0, ... Tail". */
value_hint names_hint(const char *const *names, size_t count, const char *name, size_t length);

/* ---- names in values ---- */

/* The signs between the parts of a value. '\\' before one, or before itself, makes it a part of a
 * name. */
#define VALUE_SIGNS ",=:.-|\\"

/* How many characters come before the first of the signs that is not part of a name. */
size_t value_span(const char *text, const char *signs);

/* Whether a part of a value, without the '\\' before signs, is the name. */
bool value_is(const char *text, size_t length, const char *name);

/* Writes that part, with a NUL, to memory for length + 1 characters; returns the end, after the
 * NUL. */
char *value_copy(const char *text, size_t length, char *to);

/* ---- numbers ---- */

/* Reads the whole number that a text begins with; *end is what follows. False if there is none, or
 * it is above `most`. */
bool number_take(const char *text, uint64_t most, uint64_t *number, const char **end);

/* ---- ranges ---- */

/* Numbers of IPUs or sizes in steps from the first to the last; zeros: none. */
typedef struct value_range {
    bool of_ipus;
    uint64_t first;
    uint64_t last; /* included */
    uint64_t step; /* 0: 15 equal ones, but for rounding, so that the last value is there */
} value_range;

/* Reads "A..B", and ":STEP" if wanted; without a step memory goes in 15 steps to B. Returns what
 * follows; NULL for anything else. */
const char *range_take(const char *text, bool of_ipus, value_range *range);

/* How many values a range has; SIZE_MAX for more than a table may have rows. */
enum { MAX_ROWS = 10000 };
size_t range_count(const value_range *range);

/* Returns value i of a range. */
uint64_t range_value(const value_range *range, size_t i);

/* "512,308" */
enum { GROUPED_SIZE = 28 };
typedef struct grouped_number {
    char text[GROUPED_SIZE];
} grouped_number;
grouped_number grouped(uint64_t number);

#endif
