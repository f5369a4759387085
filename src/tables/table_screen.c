/* A table for people: aligned, and as wide as the screen.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/screen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/layout.h"
#include "base/numbers.h"
#include "base/text.h"
#include "memory/parts.h"

/* Texts are shortened to these numbers of characters before details, then other columns, are left
 * out. */
enum { LEAST_NAME = 16, MOST_NAME = 32, MOST_ROWS = 40 };

typedef struct column {
    const char *name; /* [name_length], with '_' between its words */
    size_t name_length;
    size_t width; /* of the values, then what its name has */
    bool is_text;
    bool is_id;    /* without commas */
    bool is_fact;  /* names a fact of the summary, with '_' between its words */
    bool is_mixed; /* has numbers and texts */
    bool is_left_out;
} column;

/* A table of tab-separated values. */
typedef struct table {
    const char *rows; /* after the line of names */
    column *columns;
    size_t num_columns;
    char **values; /* [num_values]: as they are shown */
    size_t num_values;
    size_t num_lines; /* of the head: words of names are below each other */
    pl_arrays arrays; /* own these */
} table;

/* ---- reading ---- */

static size_t field_length(const char *field) {
    return strcspn(field, "\t\n");
}

/* The next field of the row, or the next row. */
static const char *after(const char *field, size_t length) {
    return field + length + (field[length] != '\0');
}

static bool is_number(const char *field, size_t length) {
    const char *const digits = "0123456789";
    const size_t sign = length > 0 && *field == '-';
    size_t end = sign + strspn(field + sign, digits);
    if (end > sign && end < length && field[end] == '.')
        end += 1 + strspn(field + end + 1, digits);
    return end > sign && end == length;
}

static bool is_named(const column *c, const char *name) {
    return strlen(name) == c->name_length && memcmp(name, c->name, c->name_length) == 0;
}

/* People read of the fullest tile. */
static void rename_tiles(column *c) {
    static const char *const names[][2] = {{"largest_tile", "fullest_tile"},
                                           {"largest_tile_bytes", "fullest_tile_bytes"},
                                           {"largest_tile_live_bytes", "fullest_tile_live_bytes"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_named(c, names[i][0]))
            c->name = names[i][1]; /* as long */
}

/* Adds "largest_tile" as "fullest tile". */
static void add_fact(pl_text *text, const char *field, size_t length) {
    static const char largest[] = "largest_tile";
    const size_t size = sizeof largest - 1;
    const bool is_of_tile = length >= size && memcmp(field, largest, size) == 0;
    pl_text_add(text, is_of_tile ? "fullest tile" : "");
    for (size_t i = is_of_tile ? size : 0; i < length; i++)
        pl_text_append(text, field[i] == '_' ? " " : field + i, 1);
}

/* Reads "-10.89" in any locale. */
static double decimal_of(const char *field, size_t length) {
    double whole = 0;
    double divisor = 0;
    for (size_t i = 0; i < length; i++) {
        if (field[i] >= '0' && field[i] <= '9') {
            whole = 10 * whole + (field[i] - '0');
            divisor *= 10;
        }
        divisor = field[i] == '.' ? 1 : divisor;
    }
    return (*field == '-' ? -whole : whole) / (divisor > 0 ? divisor : 1);
}

/* Adds the value of a field: a number with commas between thousands, and decimals as far as three
 * digits show them. */
static void add_value(pl_text *text, const column *c, const char *field, size_t length) {
    const size_t sign = length > 0 && *field == '-';
    const size_t digits = strspn(field + sign, "0123456789");
    pl_text_add(text, "");
    const bool is_one = c->is_mixed && is_number(field, length) && (*field != '0' || length == 1);
    if (c->is_fact) {
        add_fact(text, field, length);
        return;
    }
    if ((c->is_text && !is_one) || c->is_id || digits == 0 || digits > 18) {
        pl_text_append(text, field, length);
        return;
    }
    if (sign + digits < length && length - sign > 4) { /* more than three digits and a point */
        pl_text_add_significant(text, decimal_of(field, length));
        return;
    }
    pl_text_append(text, field, sign);
    pl_text_add(text, PL_GROUPED(strtoull(field + sign, NULL, 10)));
    pl_text_append(text, field + sign + digits, length - sign - digits);
}

/* How wide a name is that is broken into two lines at most. */
static size_t width_of_name(const column *c) {
    size_t least = c->name_length;
    for (size_t i = 0; i < c->name_length; i++) {
        const size_t rest = c->name_length - i - 1;
        const size_t longer = i > rest ? i : rest;
        if (c->name[i] == '_' && longer < least)
            least = longer;
    }
    return least;
}

/* Reads the names and which columns are texts. */
static void read_table(const char *text, table *t) {
    t->num_columns = 1;
    for (const char *c = text; *c != '\0' && *c != '\n'; c++)
        t->num_columns += *c == '\t';
    t->columns = pl_arrays_new(&t->arrays, t->num_columns, sizeof *t->columns);
    for (size_t i = 0; !t->arrays.failed && i < t->num_columns; i++) {
        column *c = &t->columns[i];
        c->name = text;
        c->name_length = field_length(text);
        c->is_id = is_named(c, "debug_context");
        c->is_mixed = is_named(c, "value");
        c->is_fact = is_named(&t->columns[0], "group") && i <= 1;
        rename_tiles(c);
        text = after(text, c->name_length);
    }
    t->rows = text;
    for (; !t->arrays.failed && *text != '\0'; t->num_values++) {
        column *c = &t->columns[t->num_values % t->num_columns];
        const size_t length = field_length(text);
        c->is_text = c->is_text || (length > 0 && !is_number(text, length));
        text = after(text, length);
    }
}

/* Makes the values, and measures them. */
static void make_values(table *t) {
    const char *text = t->rows;
    t->values = pl_arrays_new(&t->arrays, t->num_values, sizeof *t->values);
    for (size_t i = 0; !t->arrays.failed && i < t->num_values; i++) {
        column *c = &t->columns[i % t->num_columns];
        const size_t length = field_length(text);
        pl_text value = {0};
        add_value(&value, c, text, length);
        t->values[i] = value.failed ? NULL : pl_arrays_text(&t->arrays, value.data);
        t->arrays.failed = t->arrays.failed || value.failed;
        const size_t width = t->arrays.failed ? 0 : pl_layout_width_of(value.data);
        c->width = width > c->width ? width : c->width;
        free(value.data);
        text = after(text, length);
    }
}

/* ---- the largest row first ---- */

/* Which tables have it, by which column, and the sentence about it. */
static const struct ranking {
    const char *name; /* the column that names a row */
    const char *by;
    const char *what;
    const char *verb;
    const char *end;
} rankings[] = {
    {"unit", "fullest_tile_bytes", "Layer ", " is the largest: it needs ",
     " bytes on its fullest tile. All bytes here are without layout, what compiling a stage alone "
     "adds and what a pipeline stores, which an evaluation counts."},
    {"tile", "live_bytes", "Tile ", " is the fullest: it has ", " bytes, without gaps."},
};

typedef struct ranked {
    uint64_t value;
    size_t row;
} ranked;

static int compare_ranked(const void *left, const void *right) {
    const ranked *a = left;
    const ranked *b = right;
    return a->value != b->value ? (a->value < b->value) - (a->value > b->value)
                                : (a->row > b->row) - (a->row < b->row);
}

/* The place of a column; num_columns: there is none. */
static size_t place_of(const table *t, const char *name) {
    size_t place = 0;
    while (place < t->num_columns && !is_named(&t->columns[place], name))
        place++;
    return place;
}

/* Puts the largest row first if the table is one of those; makes the sentence, and returns true. */
static bool rank(table *t, pl_text *sentence) {
    const struct ranking *own = rankings;
    const struct ranking *const end = own + sizeof rankings / sizeof *rankings;
    while (own < end &&
           (place_of(t, own->name) == t->num_columns || place_of(t, own->by) == t->num_columns))
        own++;
    const size_t num_rows = t->num_values / t->num_columns;
    if (own == end || num_rows == 0)
        return false;
    const size_t by = place_of(t, own->by);
    const size_t kind = place_of(t, "kind");
    ranked *rows = pl_arrays_new(&t->arrays, num_rows, sizeof *rows);
    char **values = pl_arrays_new(&t->arrays, t->num_values, sizeof *values);
    const char *field = t->rows;
    for (size_t i = 0; !t->arrays.failed && i < t->num_values; i++) {
        if (i % t->num_columns == by)
            rows[i / t->num_columns] = (ranked){strtoull(field, NULL, 10), i / t->num_columns};
        field = after(field, field_length(field));
    }
    if (t->arrays.failed)
        return false;
    qsort(rows, num_rows, sizeof *rows, compare_ranked);
    for (size_t i = 0; i < t->num_values; i++)
        values[i] = t->values[rows[i / t->num_columns].row * t->num_columns + i % t->num_columns];
    t->values = values;
    pl_text_format(sentence, "%s%s%s%s%s",
                   kind == t->num_columns || strcmp(values[kind], "layer") == 0 ? own->what : "",
                   values[place_of(t, own->name)], own->verb, values[by], own->end);
    return true;
}

/* ---- fitting ---- */

/* Details, which are left out first. */
static bool is_detail(const column *c) {
    static const char *const details[] = {
        "index",     "kind",        "parent", "parent_step",   "debug_context", "debug_path",
        "inputs",    "rule",        "called", "cycles_source", "first_step",    "last_step",
        "num_steps", "num_repeats", "used",   "headroom_bytes"};
    static const char categories[] = "category_";
    bool found =
        c->name_length > strlen(categories) && memcmp(c->name, categories, strlen(categories)) == 0;
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        found = found || is_named(c, details[i]);
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        found = found || (!pl_part_is_within(part) && is_named(c, pl_parts[part].column));
    return found;
}

/* The width of a column whose texts are shortened to `least` characters. */
static size_t least_width(const column *c, size_t least) {
    const size_t name = width_of_name(c);
    const size_t own = c->is_text && c->width > least ? least : c->width;
    return c->is_left_out ? 0 : name > own ? name : own;
}

static size_t width_of_all(const table *t, size_t mark, size_t least) {
    size_t width = mark;
    for (size_t i = 0; i < t->num_columns; i++)
        width += t->columns[i].is_left_out ? 0 : least_width(&t->columns[i], least) + 2;
    return width < 2 ? 0 : width - 2;
}

/* Leaves out columns from the right, as far as that is necessary. */
static size_t leave_out(table *t, size_t mark, size_t screen, size_t least, bool only_details) {
    size_t count = 0;
    for (size_t i = t->num_columns; i-- > 1 && width_of_all(t, mark, least) > screen;) {
        column *c = &t->columns[i];
        if (c->is_left_out || (only_details && !is_detail(c)))
            continue;
        c->is_left_out = true;
        count++;
    }
    return count;
}

/* Makes the table fit the screen, and gives names the room that remains; the grid shortens texts.
 * Returns how many columns are left out. */
static size_t fit(table *t, size_t mark, size_t screen) {
    size_t count = leave_out(t, mark, screen, MOST_NAME, true);
    count += leave_out(t, mark, screen, LEAST_NAME, false);
    const size_t all = width_of_all(t, mark, SIZE_MAX);
    size_t room = all < screen ? screen - all : 0;
    for (size_t i = 0; i < t->num_columns; i++) {
        column *c = &t->columns[i];
        const size_t own = least_width(c, all <= screen ? SIZE_MAX : LEAST_NAME);
        const size_t whole = least_width(c, SIZE_MAX);
        const size_t more = c->name_length > whole ? c->name_length - whole : 0;
        c->width = more > 0 && more <= room ? c->name_length : own;
        room -= more <= room ? more : 0;
    }
    return count;
}

/* ---- writing ---- */

/* Adds line `line` of a name that is broken between words, as few lines as its width allows.
 * Returns the number of its lines. */
static size_t add_name(pl_text *text, const column *c, size_t line) {
    size_t num_lines = 0;
    for (size_t at = 0; at < c->name_length; num_lines++) {
        size_t end = at;
        for (size_t next = at; next < c->name_length;) {
            size_t to = next;
            while (to < c->name_length && c->name[to] != '_')
                to++;
            if (to - at > c->width && end > at)
                break;
            end = to;
            next = to + 1;
        }
        if (num_lines == line)
            pl_text_append(text, c->name + at, end - at);
        at = end + 1;
    }
    return num_lines;
}

static void write_head(table *t, pl_grid *grid, bool has_mark) {
    for (size_t i = 0; i < t->num_columns; i++) {
        pl_text none = {0};
        const size_t own =
            t->columns[i].is_left_out ? 0 : add_name(&none, &t->columns[i], SIZE_MAX);
        t->num_lines = own > t->num_lines ? own : t->num_lines;
        free(none.data);
    }
    for (size_t line = 0; line < t->num_lines; line++) {
        if (has_mark)
            pl_grid_text(grid, "");
        for (size_t i = 0; i < t->num_columns; i++) {
            pl_text name = {0};
            pl_text_add(&name, "");
            const size_t own = add_name(&name, &t->columns[i], SIZE_MAX);
            if (!t->columns[i].is_left_out && line + own >= t->num_lines)
                add_name(&name, &t->columns[i], line + own - t->num_lines);
            if (t->columns[i].is_left_out)
                free(name.data);
            else
                pl_grid_made(grid, name);
        }
    }
}

static void write_rows(const table *t, pl_grid *grid, bool has_mark, size_t marked_row) {
    for (size_t row = 0; row * t->num_columns < t->num_values; row++) {
        if (has_mark)
            pl_grid_text(grid, row == marked_row ? ">" : "");
        for (size_t i = 0; i < t->num_columns && row * t->num_columns + i < t->num_values; i++)
            if (!t->columns[i].is_left_out)
                pl_grid_text(grid, t->values[row * t->num_columns + i]);
        if (row == marked_row)
            pl_grid_mark_row(grid);
    }
}

static void write_table(table *t, size_t marked_row, const char *more, pl_layout *layout) {
    const bool has_mark = marked_row != SIZE_MAX;
    size_t count = 0;
    pl_grid_column *columns = pl_arrays_new(&t->arrays, t->num_columns + 1, sizeof *columns);
    if (columns == NULL)
        return;
    if (has_mark)
        columns[count++] = (pl_grid_column){.kind = PL_GRID_WORDS};
    for (size_t i = 0; i < t->num_columns; i++)
        if (!t->columns[i].is_left_out)
            columns[count++] =
                (pl_grid_column){.kind = t->columns[i].is_text ? PL_GRID_NAME : PL_GRID_RIGHT,
                                 .gap = i == 0 && !has_mark ? 0
                                        : i == 0            ? 1
                                                            : 2};
    pl_grid grid = {.columns = columns, .num_columns = count};
    write_head(t, &grid, has_mark);
    write_rows(t, &grid, has_mark, marked_row);
    pl_grid_write(&grid, t->num_lines + MOST_ROWS, more, layout);
}

popliner_status popliner_screen_table(const char *headline, const char *rows, size_t marked_row,
                                      const char *more, const popliner_plot_options *screen,
                                      char **text, popliner_error *error) {
    pl_layout layout;
    pl_text largest = {0};
    table t = {0};
    *text = NULL;
    pl_layout_begin(&layout, screen);
    read_table(rows, &t);
    make_values(&t);
    if (!t.arrays.failed && headline == NULL && rank(&t, &largest)) {
        headline = largest.failed ? "" : largest.data;
        marked_row = 0;
    }
    if (headline != NULL) {
        pl_layout_sentence(&layout, PL_TINT_BOLD, headline, "");
        pl_layout_empty_line(&layout);
    }
    const size_t mark = marked_row != SIZE_MAX ? 2 : 0;
    size_t num_left_out = 0;
    if (!t.arrays.failed) {
        num_left_out = fit(&t, mark, layout.screen.width);
        write_table(&t, marked_row, more, &layout);
    }
    if (num_left_out > 0) {
        pl_text note = {0};
        pl_text_format(&note, "%zu more column%s%s%s", num_left_out, num_left_out == 1 ? "" : "s",
                       *more == '\0' ? "" : ": ", more);
        pl_layout_sentence(&layout, PL_TINT_NONE, "", note.failed ? "" : note.data);
        layout.text.failed = layout.text.failed || note.failed;
        free(note.data);
    }
    layout.text.failed = layout.text.failed || t.arrays.failed || largest.failed;
    free(largest.data);
    pl_arrays_free(&t.arrays);
    return pl_layout_finish(&layout, POPLINER_OK, text, error);
}
