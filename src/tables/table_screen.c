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
enum { LEAST_NAME = 16, MOST_NAME = 32, MOST_ROWS = 40, GAP = 2 };

static const char DIGITS[] = "0123456789";

typedef struct column {
    char *name;   /* words with '_' between them */
    size_t width; /* of the values, then what its name has */
    bool is_text;
    bool is_id;     /* without commas */
    bool is_fact;   /* names a fact of the summary */
    bool is_mixed;  /* has numbers and texts */
    bool is_detail; /* is left out first */
    bool is_left_out;
} column;

typedef struct row {
    uint64_t rank; /* the largest comes first */
    char **cells;  /* [columns] */
} row;

typedef struct table {
    column *columns;
    size_t num_columns;
    row *rows;
    size_t num_rows;
    pl_arrays arrays; /* own these and their texts */
} table;

/* ---- reading ---- */

static bool is_detail(const char *name) {
    static const char *const details[] = {
        "index",     "kind",        "parent", "parent_step",   "debug_context", "debug_path",
        "inputs",    "rule",        "called", "cycles_source", "first_step",    "last_step",
        "num_steps", "num_repeats", "used",   "headroom_bytes"};
    bool found = strncmp(name, "category_", strlen("category_")) == 0;
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        found = found || strcmp(name, details[i]) == 0;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        found = found || (!pl_part_is_within(part) && strcmp(name, pl_parts[part].column) == 0);
    return found;
}

/* Puts `between` between words; people read of the fullest tile. */
static void show_words(char *name, char between) {
    static const char largest[] = "largest_tile";
    if (strncmp(name, largest, strlen(largest)) == 0)
        memcpy(name, "fullest", strlen("fullest"));
    for (; *name != '\0'; name++)
        *name = *name == '_' ? between : *name;
}

static bool is_number(const char *field) {
    const char *end = field + (*field == '-');
    const size_t num_digits = strspn(end, DIGITS);
    end += num_digits;
    if (*end == '.')
        end += 1 + strspn(end + 1, DIGITS);
    return num_digits > 0 && *end == '\0';
}

/* Ends a field, and returns the next one. */
static char *end_field(char *field) {
    char *end = field + strcspn(field, "\t\n");
    if (*end != '\0')
        *end++ = '\0';
    return end;
}

/* Reads a line of names, then rows, and which columns are texts. */
static void read_table(const char *text, table *t) {
    size_t num_cells = 0;
    char *field = pl_arrays_text(&t->arrays, text);
    t->num_columns = 1;
    for (const char *c = text; *c != '\0' && *c != '\n'; c++)
        t->num_columns += *c == '\t';
    for (const char *c = text; *c != '\0'; c++)
        num_cells += *c == '\t' || *c == '\n';
    t->num_rows = num_cells <= t->num_columns ? 0 : num_cells / t->num_columns - 1;
    t->columns = pl_arrays_new(&t->arrays, t->num_columns, sizeof *t->columns);
    t->rows = pl_arrays_new(&t->arrays, t->num_rows, sizeof *t->rows);
    char **cells = pl_arrays_new(&t->arrays, t->num_rows * t->num_columns, sizeof *cells);
    for (size_t i = 0; !t->arrays.failed && i < t->num_columns; i++) {
        column *c = &t->columns[i];
        c->name = field;
        field = end_field(field);
        c->is_detail = is_detail(c->name);
        c->is_id = strcmp(c->name, "debug_context") == 0;
        c->is_mixed = strcmp(c->name, "value") == 0;
        c->is_fact = i <= 1 && strcmp(t->columns[0].name, "group") == 0;
        show_words(c->name, '_');
    }
    for (size_t i = 0; !t->arrays.failed && i < t->num_rows * t->num_columns; i++) {
        column *c = &t->columns[i % t->num_columns];
        t->rows[i / t->num_columns].cells = cells + i - i % t->num_columns;
        cells[i] = field;
        field = end_field(field);
        c->is_text = c->is_text || (*cells[i] != '\0' && !is_number(cells[i]));
    }
}

/* ---- values ---- */

/* Reads "10.89" in any locale. */
static double decimal_of(const char *digits) {
    pl_plain_locale locale = pl_plain_locale_enter();
    const double decimal = strtod(digits, NULL);
    pl_plain_locale_leave(&locale);
    return decimal;
}

/* A number with commas between thousands, and decimals as far as three digits show them; or a text
 * as it is. */
static pl_text value_of(const column *c, char *field) {
    pl_text text = {0};
    const size_t sign = *field == '-';
    const char *number = field + sign;
    const size_t digits = strspn(number, DIGITS);
    const bool is_one = c->is_mixed && is_number(field) && (*field != '0' || field[1] == '\0');
    if (c->is_fact)
        show_words(field, ' ');
    pl_text_add(&text, "");
    if ((c->is_text && !is_one) || c->is_id || digits == 0 || digits > 18) {
        pl_text_add(&text, field);
    } else if (number[digits] != '\0' && strlen(number) > 4) { /* three digits and a point */
        pl_text_add_significant(&text, sign != 0 ? -decimal_of(number) : decimal_of(number));
    } else {
        pl_text_append(&text, field, sign);
        pl_text_add(&text, PL_GROUPED(strtoull(number, NULL, 10)));
        pl_text_add(&text, number + digits);
    }
    return text;
}

/* Makes the values, and measures them. */
static void make_values(table *t) {
    for (size_t i = 0; !t->arrays.failed && i < t->num_rows * t->num_columns; i++) {
        column *c = &t->columns[i % t->num_columns];
        char **cell = &t->rows[i / t->num_columns].cells[i % t->num_columns];
        pl_text value = value_of(c, *cell);
        *cell = pl_arrays_text(&t->arrays, pl_text_string(&value));
        t->arrays.failed = t->arrays.failed || value.failed;
        c->width = pl_more(c->width, pl_layout_width_of(pl_text_string(&value)));
        free(value.data);
    }
}

/* ---- the largest row first ---- */

/* Which tables have it, by which column, and the sentence about it. */
static const struct {
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
enum { NUM_RANKINGS = sizeof rankings / sizeof *rankings };

static int compare_rows(const void *left, const void *right) {
    const row *a = left;
    const row *b = right;
    return a->rank != b->rank ? (a->rank < b->rank) - (a->rank > b->rank)
                              : (a->cells > b->cells) - (a->cells < b->cells);
}

/* The place of a column; num_columns: there is none. */
static size_t place_of(const table *t, const char *name) {
    size_t place = 0;
    while (place < t->num_columns && strcmp(t->columns[place].name, name) != 0)
        place++;
    return place;
}

/* Returns the ranking that the table has; NUM_RANKINGS: none. Puts its largest row first. */
static size_t rank(table *t) {
    size_t i = 0;
    while (i < NUM_RANKINGS && (place_of(t, rankings[i].name) == t->num_columns ||
                                place_of(t, rankings[i].by) == t->num_columns))
        i++;
    if (i == NUM_RANKINGS || t->num_rows == 0)
        return NUM_RANKINGS;
    for (size_t k = 0; k < t->num_rows; k++)
        t->rows[k].rank = strtoull(t->rows[k].cells[place_of(t, rankings[i].by)], NULL, 10);
    qsort(t->rows, t->num_rows, sizeof *t->rows, compare_rows);
    return i;
}

static void write_headline(const table *t, const char *headline, size_t ranking,
                           pl_layout *layout) {
    pl_text text = {0};
    if (ranking < NUM_RANKINGS) {
        char **const cells = t->rows[0].cells;
        const size_t kind = place_of(t, "kind");
        const bool has_what = kind == t->num_columns || strcmp(cells[kind], "layer") == 0;
        pl_text_format(&text, "%s%s%s%s%s", has_what ? rankings[ranking].what : "",
                       cells[place_of(t, rankings[ranking].name)], rankings[ranking].verb,
                       cells[place_of(t, rankings[ranking].by)], rankings[ranking].end);
    } else if (headline == NULL) {
        return;
    } else {
        pl_text_add(&text, headline);
    }
    pl_layout_sentence(layout, PL_TINT_BOLD, text, (pl_text){0});
    pl_text_add(&layout->text, "\n");
}

/* ---- fitting ---- */

/* How wide a name is that is broken into two lines at most. */
static size_t width_of_name(const column *c) {
    const size_t length = strlen(c->name);
    size_t least = length;
    for (size_t i = 0; i < length; i++)
        if (c->name[i] == '_')
            least = pl_fewer(least, pl_more(i, length - i - 1));
    return least;
}

/* The width of a column whose texts are shortened to `least` characters. */
static size_t least_width(const column *c, size_t least) {
    return pl_more(width_of_name(c), c->is_text ? pl_fewer(c->width, least) : c->width);
}

static size_t width_of_all(const table *t, size_t mark, size_t least) {
    size_t width = mark;
    for (size_t i = 0; i < t->num_columns; i++)
        width += t->columns[i].is_left_out ? 0 : least_width(&t->columns[i], least) + GAP;
    return width - GAP;
}

/* Leaves out columns from the right, as far as that is necessary. */
static size_t leave_out(table *t, size_t mark, size_t screen, size_t least, bool only_details) {
    size_t count = 0;
    for (size_t i = t->num_columns; i-- > 1 && width_of_all(t, mark, least) > screen;) {
        column *c = &t->columns[i];
        if (c->is_left_out || (only_details && !c->is_detail))
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
        const size_t name = strlen(c->name);
        const size_t whole = c->is_left_out ? name : least_width(c, SIZE_MAX);
        const size_t more = name > whole ? name - whole : 0;
        c->width = all <= screen ? whole : least_width(c, LEAST_NAME);
        if (more > 0 && more <= room) {
            c->width = name;
            room -= more;
        }
    }
    return count;
}

/* ---- writing ---- */

/* Where the second line of a column's name begins; 0: it has one line. */
static size_t second_line(const column *c) {
    size_t end = pl_fewer(strlen(c->name), c->width);
    while (end > 0 && c->name[end] != '_' && c->name[end] != '\0')
        end--;
    return c->name[end] == '_' ? end + 1 : 0;
}

/* Adds the names of the columns, some of which may have two lines. Returns the number of lines. */
static size_t write_head(const table *t, pl_grid *grid) {
    size_t num_lines = 1;
    for (size_t i = 0; i < t->num_columns; i++)
        if (!t->columns[i].is_left_out && second_line(&t->columns[i]) > 0)
            num_lines = 2;
    for (size_t line = 0; line < num_lines; line++) {
        pl_grid_text(grid, "");
        for (size_t i = 0; i < t->num_columns; i++) {
            const column *c = &t->columns[i];
            const size_t second = second_line(c);
            if (c->is_left_out)
                continue;
            if (line + 1 == num_lines)
                pl_grid_text(grid, c->name + second);
            else
                pl_grid_made(grid, pl_text_of("%.*s", second > 0 ? (int)second - 1 : 0, c->name));
        }
    }
    return num_lines;
}

static void write_table(table *t, size_t marked_row, const char *more, pl_layout *layout) {
    size_t count = 1; /* the first column is that of the mark */
    pl_grid_column *columns = pl_arrays_new(&t->arrays, t->num_columns + 1, sizeof *columns);
    for (size_t i = 0; columns != NULL && i < t->num_columns; i++)
        if (!t->columns[i].is_left_out)
            columns[count++] =
                (pl_grid_column){.kind = t->columns[i].is_text ? PL_GRID_NAME : PL_GRID_RIGHT,
                                 .gap = i > 0 ? GAP : marked_row != SIZE_MAX};
    pl_grid grid = {.columns = columns, .num_columns = count};
    if (columns == NULL)
        return;
    const size_t num_lines = write_head(t, &grid);
    for (size_t k = 0; k < t->num_rows; k++) {
        pl_grid_text(&grid, k == marked_row ? ">" : "");
        for (size_t i = 0; i < t->num_columns; i++)
            if (!t->columns[i].is_left_out)
                pl_grid_text(&grid, t->rows[k].cells[i]);
        pl_grid_end_row(&grid, k == marked_row);
    }
    pl_grid_write(&grid, num_lines + MOST_ROWS, more, layout);
}

popliner_status popliner_screen_table(const char *headline, const char *rows, size_t marked_row,
                                      const char *more, const popliner_plot_options *screen,
                                      char **text, popliner_error *error) {
    pl_layout layout;
    table t = {0};
    *text = NULL;
    pl_layout_begin(&layout, screen);
    read_table(rows, &t);
    const size_t ranking = t.arrays.failed || headline != NULL ? NUM_RANKINGS : rank(&t);
    make_values(&t);
    if (!t.arrays.failed) {
        marked_row = ranking < NUM_RANKINGS ? 0 : marked_row;
        write_headline(&t, headline, ranking, &layout);
        const size_t num_left_out = fit(&t, marked_row != SIZE_MAX ? 2 : 0, layout.screen.width);
        write_table(&t, marked_row, more, &layout);
        if (num_left_out > 0)
            pl_layout_sentence(&layout, PL_TINT_NONE, (pl_text){0},
                               pl_text_of("%zu more column%s%s%s", num_left_out,
                                          num_left_out == 1 ? "" : "s", *more == '\0' ? "" : ": ",
                                          more));
    }
    layout.text.failed = layout.text.failed || t.arrays.failed;
    pl_arrays_free(&t.arrays);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
