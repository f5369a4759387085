/* Texts that people read on a terminal or in a log.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_WORDS_H
#define PL_COMMAND_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns how many columns a printable UTF-8 text takes. */
size_t words_columns(const char *text);

/* Writes a text that takes exactly `columns`: its middle left out, or blanks added. What a terminal
 * would obey is made printable. With is_ascii, characters outside ASCII become '?'. */
void words_fit(char *result, size_t size, const char *text, size_t columns, bool is_ascii);

/* Writes "512,308". */
enum { WORDS_NUMBER_SIZE = 28 };
void words_number(char result[WORDS_NUMBER_SIZE], uint64_t number);

/* ---- Lines of a log ---- */

enum { WORDS_LINE_COLUMNS = 100 };

/* A message. Zero-initialise, set the first three, add its text, and write it. */
typedef struct words_line {
    size_t columns;   /* that a line may have: 40 to WORDS_LINE_COLUMNS */
    size_t indent;    /* those before the message */
    bool keeps_names; /* none is shortened */
    bool is_full;
    size_t length;
    char text[8000];
} words_line;

/* Adds printable text; "..." stands for what is too long for a message. */
void words_line_add(words_line *line, const char *text);

/* Writes the message and a line end. If it is too long, long names lose their middle, and if that
 * is not enough it goes on in further lines, which are indented. */
void words_line_write(words_line *line, FILE *file);

#endif
