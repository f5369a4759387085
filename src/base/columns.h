/* Turns a table whose columns a delimiter separates into one for people, or into JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_COLUMNS_H
#define PL_BASE_COLUMNS_H

#include <stddef.h>

#include "base/growth.h"

/* Aligns the columns of `text`, which `delimiter` separates: texts to the left, numbers to the
 * right and with commas between thousands, two blanks between columns. Lines without a delimiter
 * stay unchanged. A new table, whose first line has the names, begins after such a line, and after an
 * empty line if the number of columns changes. O(length of the text). */
void pl_columns_align(pl_text *text, char delimiter);

/* The name of a table, and its columns of numbers. */
typedef struct pl_columns_shape {
    const char *name;
    size_t first_number;
    size_t end_number; /* the column after the last one; SIZE_MAX: all after first_number */
} pl_columns_shape;

/* Replaces `text` by {"section": NAME, "rows": [...]}, with an object for each row below the line
 * of names. Texts may hold line ends, except for the last text of a row. O(length of the text). */
void pl_columns_to_json(pl_text *text, char delimiter, const pl_columns_shape *shape);

#endif
