/* Tables that are already text: aligns their columns.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sheet.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_COLUMNS = 512 }; /* that are aligned: more than any table for people has */

/* ---- Fields ---------------------------------------------------------------------------------- */

/* A field of a line: [length] bytes, the end of which is a delimiter or the end of the line. */
typedef struct field {
    const char *bytes;
    size_t length;
    bool is_last;
} field;

static field field_at(const char *line, char delimiter) {
    const char ends[] = {delimiter, '\n', '\0'};
    const size_t length = strcspn(line, ends);
    return (field){line, length, line[length] != delimiter};
}

static size_t count_fields(const char *line, char delimiter) {
    size_t count = 1;
    for (; *line != '\0' && *line != '\n'; line++)
        count += *line == delimiter;
    return count;
}

static const char *next_line(const char *line) {
    const char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

/* Whether a field is a number, perhaps with a sign and a fraction. */
static bool is_number(const field *f) {
    const char *digits = "0123456789";
    const size_t sign = f->length > 0 && *f->bytes == '-';
    const size_t whole = sign + strspn(f->bytes + sign, digits);
    if (whole == sign || whole >= f->length)
        return whole > sign;
    return f->bytes[whole] == '.' &&
           whole + 1 + strspn(f->bytes + whole + 1, digits) == f->length && f->length > whole + 1;
}

/* ---- Aligned --------------------------------------------------------------------------------- */

typedef struct column {
    size_t width;
    bool is_text;
    bool is_id; /* without commas */
} column;

/* How many digits come before the point; 0 if that is too few or too many for commas. */
static size_t digits_to_part(const field *f, const column *c) {
    enum { LEAST = 4, MOST = 18 };
    const size_t sign = f->length > 0 && *f->bytes == '-';
    const size_t digits = strspn(f->bytes + sign, "0123456789");
    return c->is_text || c->is_id || digits < LEAST || digits > MOST ? 0 : digits;
}

static void add_blanks(pl_text *text, size_t count) {
    while (count-- > 0)
        pl_text_append(text, " ", 1);
}

static void add_number(pl_text *text, const field *f, size_t digits) {
    const size_t sign = *f->bytes == '-';
    pl_text_append(text, f->bytes, sign);
    for (size_t i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0)
            pl_text_append(text, ",", 1);
        pl_text_append(text, f->bytes + sign + i, 1);
    }
    pl_text_append(text, f->bytes + sign + digits, f->length - sign - digits);
}

/* Sets the widths and kinds of the columns of the table whose names are in `line`. Returns the end
 * of the table. */
static const char *measure(const char *line, char delimiter, column *columns) {
    const size_t count = count_fields(line, delimiter);
    const char *const names = line;
    const char *end = line;
    memset(columns, 0, MOST_COLUMNS * sizeof *columns);
    for (; *line != '\0'; line = next_line(line)) {
        const size_t own = count_fields(line, delimiter);
        const bool follows = end != line; /* an empty line comes before it */
        if (*line == '\n')
            continue;
        if (own == 1 || (follows && own != count && own + 1 != count))
            break;
        const char *at = line;
        for (size_t i = 0; i < own && i < MOST_COLUMNS; i++) {
            const field f = field_at(at, delimiter);
            static const char id[] = "debug_context";
            if (line == names)
                columns[i].is_id = f.length == strlen(id) && memcmp(at, id, f.length) == 0;
            else
                columns[i].is_text = columns[i].is_text || (f.length > 0 && !is_number(&f));
            const size_t digits = line == names ? 0 : digits_to_part(&f, &columns[i]);
            const size_t width =
                pl_text_width(f.bytes, f.length) + (digits == 0 ? 0 : (digits - 1) / 3);
            columns[i].width = width > columns[i].width ? width : columns[i].width;
            at += f.length + 1;
        }
        end = next_line(line);
    }
    return end;
}

static void add_line(pl_text *text, const char *line, bool is_names, char delimiter,
                     const column *columns) {
    const size_t begin = text->length;
    bool is_last = *line == '\n';
    for (size_t i = 0; !is_last && i < MOST_COLUMNS; i++) {
        const field f = field_at(line, delimiter);
        const size_t digits = is_names ? 0 : digits_to_part(&f, &columns[i]);
        const size_t width =
            pl_text_width(f.bytes, f.length) + (digits == 0 ? 0 : (digits - 1) / 3);
        const size_t blanks = columns[i].width > width ? columns[i].width - width : 0;
        add_blanks(text, (i > 0 ? 2 : 0) + (columns[i].is_text ? 0 : blanks));
        add_number(text, &f, digits);
        add_blanks(text, columns[i].is_text ? blanks : 0);
        line += f.length + 1;
        is_last = f.is_last;
    }
    while (!text->failed && text->length > begin && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
    pl_text_append(text, "\n", 1);
}

void pl_columns_align(pl_text *text, char delimiter) {
    pl_text aligned = {0};
    column *columns = calloc(MOST_COLUMNS, sizeof *columns);
    text->failed = text->failed || columns == NULL;
    const char *line = text->failed || text->data == NULL ? "" : text->data;
    pl_text_add(&aligned, "");
    while (*line != '\0') {
        const char *const names = line;
        const bool is_table = count_fields(line, delimiter) > 1;
        const char *end = is_table ? measure(line, delimiter, columns) : next_line(line);
        for (; line < end; line = next_line(line))
            if (is_table)
                add_line(&aligned, line, line == names, delimiter, columns);
            else
                pl_text_append(&aligned, line, (size_t)(end - line));
    }
    free(columns);
    aligned.failed = aligned.failed || text->failed;
    free(text->data);
    *text = aligned;
}
