/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

enum { LEAST_BAR = 5, MOST_BAR = 25, LEAST_NAME = 8, LEAST_NAMES = 14, LEAST_WORDS = 24 };

static const char TO[] = " to "; /* between the first and the last layer of a stage */

void pl_layout_begin(pl_layout *layout, const popliner_plot_options *screen) {
    *layout = (pl_layout){.screen = *screen};
    if (layout->screen.width < PL_LEAST_WIDTH)
        layout->screen.width = PL_LEAST_WIDTH;
    pl_text_add(&layout->text, "");
}

/* ---- Signs ----------------------------------------------------------------------------------- */

static const char *sign_of(const pl_layout *layout, const char *sign, const char *in_ascii) {
    return layout->screen.is_ascii ? in_ascii : sign;
}

static const char *dots_of(const pl_layout *layout) {
    return sign_of(layout, "\u2026", "...");
}

static const char *tint_of(const pl_layout *layout, pl_tint tint) {
    static const char *const tints[] = {"", "\x1b[1m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[1;31m"};
    return layout->screen.has_colour ? tints[tint] : "";
}

static const char *tint_end(const pl_layout *layout, pl_tint tint) {
    return layout->screen.has_colour && tint != PL_TINT_NONE ? "\x1b[0m" : "";
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* How many columns the first `length` bytes of a text take. */
static size_t width_of(const char *text, size_t length) {
    size_t all = 0;
    size_t width;
    for (const char *end = text + length; text < end; all += width)
        text += pl_utf8_width(text, &width);
    return all;
}

size_t pl_layout_width_of(const char *text) {
    return width_of(text, strlen(text));
}

static void add_blanks(pl_text *text, size_t count) {
    pl_text_format(text, "%*s", (int)count, "");
}

/* Ends a line without blanks, then with the end of its tint. */
static void end_line(pl_text *text, const char *end) {
    while (!text->failed && text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
    pl_text_add(text, end);
    pl_text_add(text, "\n");
}

/* Skips as many characters as the first `columns` columns have room for, or with `is_whole` all
 * that reach into them. */
static const char *skip_columns(const char *text, size_t columns, bool is_whole) {
    size_t at = 0;
    for (size_t width; *text != '\0'; at += width) {
        const size_t length = pl_utf8_width(text, &width);
        if (width > 0 && (is_whole ? at : at + width - 1) >= columns)
            break;
        text += length;
    }
    return text;
}

/* Adds "first to last", both shortened. `to` is between them, where there is room for both. */
static void add_names(const pl_layout *layout, pl_text *text, const char *name, const char *to,
                      size_t width) {
    const size_t room = width - strlen(TO);
    const size_t second = pl_layout_width_of(to + strlen(TO));
    const size_t own = room > second && room - second > room / 2 ? room - second : (room + 1) / 2;
    pl_text first = {0};
    pl_text_append(&first, name, (size_t)(to - name));
    const size_t length = pl_layout_width_of(pl_text_string(&first));
    pl_layout_add_name(layout, text, pl_text_string(&first), own);
    pl_text_add(text, TO);
    pl_layout_add_name(layout, text, to + strlen(TO), room - (length < own ? length : own));
    text->failed = text->failed || first.failed;
    free(first.data);
}

void pl_layout_add_name(const pl_layout *layout, pl_text *text, const char *name, size_t width) {
    enum { PART = 10 }; /* that much of a part between slashes may be left out for its sake */
    pl_text own = pl_text_of("%s", name);
    pl_text_make_printable(&own, "");
    const char *all = pl_text_string(&own);
    const char *dots = dots_of(layout);
    const size_t length = pl_layout_width_of(all);
    const size_t num_dots = pl_layout_width_of(dots);
    const char *to = strstr(all, TO);
    text->failed = text->failed || own.failed;
    if (length > width && to != NULL && width >= LEAST_NAMES) {
        add_names(layout, text, all, to, width);
    } else if (length <= width || width <= num_dots) {
        pl_text_append(text, all, (size_t)(skip_columns(all, width, false) - all));
    } else {
        const size_t head = (width - num_dots + 1) / 2;
        const char *end = skip_columns(all, head, false);
        const char *slash = end;
        while (slash > all && slash[-1] != '/' && slash + PART > end)
            slash--;
        end = slash > all && slash[-1] == '/' ? slash : end;
        pl_text_append(text, all, (size_t)(end - all));
        pl_text_add(text, dots);
        const size_t used = length - pl_layout_width_of(end) + num_dots;
        const char *rest = skip_columns(all, length - (width - used), true);
        slash = rest + strcspn(rest, "/");
        pl_text_add(text, *slash == '/' && slash < rest + PART ? slash : rest);
    }
    free(own.data);
}

/* Adds words, each on the next line where it would be too long, and frees them. `at` is where the
 * line is, and `indent` where the next one begins. */
static size_t add_wrapped(pl_layout *layout, pl_text text, size_t at, size_t indent) {
    const size_t most = layout->screen.width < PL_MOST_WIDTH ? layout->screen.width : PL_MOST_WIDTH;
    pl_text_make_printable(&text, "");
    layout->text.failed = layout->text.failed || text.failed;
    for (const char *words = pl_text_string(&text); *words != '\0';) {
        size_t length = strcspn(words, " ");
        if (strncmp(words + length, " %", 2) == 0) /* of the number before it */
            length += strlen(" %") + strcspn(words + length + strlen(" %"), " ");
        const size_t width = width_of(words, length);
        if (at > indent && at + 1 + width > most) {
            pl_text_add(&layout->text, "\n");
            add_blanks(&layout->text, indent);
            at = indent;
        } else if (at > indent) {
            pl_text_add(&layout->text, " ");
            at++;
        }
        pl_text_append(&layout->text, words, length);
        at += width;
        words += length + strspn(words + length, " ");
    }
    free(text.data);
    return at;
}

void pl_layout_sentence(pl_layout *layout, pl_tint tint, pl_text bold, pl_text plain) {
    pl_text_add(&layout->text, tint_of(layout, tint));
    const size_t at = add_wrapped(layout, bold, 0, 0);
    pl_text_add(&layout->text, tint_end(layout, tint));
    add_wrapped(layout, plain, at, 0);
    pl_text_add(&layout->text, "\n");
}

void pl_layout_entry(pl_layout *layout, const char *label, const char *subject,
                     size_t subject_width, pl_text words) {
    enum { GAP = 4 };
    size_t indent = PL_LABEL_WIDTH;
    pl_text_format(&layout->text, "%-*s", PL_LABEL_WIDTH, label);
    if (subject_width > 0) {
        pl_text_add(&layout->text, subject);
        indent += subject_width + GAP;
        if (indent + LEAST_WORDS > layout->screen.width && words.length > 0) {
            indent = PL_LABEL_WIDTH + 2;
            pl_text_add(&layout->text, "\n");
            add_blanks(&layout->text, indent);
        } else {
            add_blanks(&layout->text, subject_width + GAP - pl_layout_width_of(subject));
        }
    }
    add_wrapped(layout, words, indent, indent);
    end_line(&layout->text, "");
}

/* ---- Bars ------------------------------------------------------------------------------------ */

/* Where everything of a bar is, in cells; that of the limit has none. */
typedef struct scale {
    size_t cells;
    size_t limit_cell; /* before which the mark is; SIZE_MAX: there is none */
    double bytes_of_cell;
} scale;

static scale scale_of(size_t width, uint64_t top_bytes, uint64_t limit_bytes) {
    scale s = {.cells = width, .limit_cell = SIZE_MAX};
    if (top_bytes == 0)
        top_bytes = 1;
    if (limit_bytes <= top_bytes) {
        s.cells = width - 1;
        s.limit_cell = (size_t)((double)s.cells * (double)limit_bytes / (double)top_bytes);
    }
    /* so that the limit is at the end of a cell */
    s.bytes_of_cell = s.limit_cell == SIZE_MAX || s.limit_cell == 0
                          ? (double)top_bytes / (double)s.cells
                          : (double)limit_bytes / (double)s.limit_cell;
    return s;
}

/* Whole eighths of cells up to `bytes`. What is above the limit takes whole cells, at least one. */
static size_t eighths_of(const scale *s, uint64_t bytes, bool is_above) {
    const double eighths = 8 * (double)bytes / s->bytes_of_cell;
    const size_t all = 8 * s->cells;
    size_t whole = eighths >= (double)all ? all : (size_t)eighths;
    if (is_above && s->limit_cell < s->cells) {
        whole = (whole + (eighths > (double)whole) + 7) / 8 * 8;
        whole = whole <= 8 * s->limit_cell ? 8 * (s->limit_cell + 1) : whole > all ? all : whole;
    } else if (!is_above && s->limit_cell != SIZE_MAX && whole > 8 * s->limit_cell) {
        whole = 8 * s->limit_cell;
    }
    return whole == 0 && bytes > 0 ? 1 : whole;
}

/* One cell of a bar; those above the limit are one run of colour. */
static void add_bar_cell(const pl_layout *layout, const scale *s, size_t cell, size_t own,
                         size_t most, pl_text *text) {
    static const char *const eighths[] = {" ",      "\u258f", "\u258e", "\u258d", "\u258c",
                                          "\u258b", "\u258a", "\u2589", "\u2588"};
    const size_t begin = 8 * cell;
    const bool is_over = s->limit_cell <= cell && own > begin;
    const bool has_colour = is_over && layout->screen.has_colour;
    if (has_colour && cell == s->limit_cell)
        pl_text_add(text, "\x1b[31m");
    if (is_over)
        pl_text_add(text, sign_of(layout, "\u2593", "!"));
    else if (own > begin)
        pl_text_add(text, layout->screen.is_ascii ? "#" : eighths[pl_fewer(own - begin, 8)]);
    else
        pl_text_add(text, most >= begin + 8 ? sign_of(layout, "\u2500", "-") : " ");
    if (has_colour && (cell + 1 == s->cells || own <= begin + 8))
        pl_text_add(text, "\x1b[39m");
}

static void add_bar(const pl_layout *layout, const pl_grid_bar *bar, size_t width,
                    uint64_t top_bytes, pl_text *text) {
    const scale s = scale_of(width, top_bytes, bar->limit_bytes);
    size_t own = eighths_of(&s, bar->bytes, bar->bytes > bar->limit_bytes);
    size_t most = eighths_of(&s, bar->most_bytes, bar->most_bytes > bar->limit_bytes);
    if (layout->screen.is_ascii) { /* whole cells only */
        own = own < 8 ? 8 : own / 8 * 8;
        most = most / 8 * 8;
    }
    for (size_t cell = 0; cell <= s.cells; cell++) {
        if (cell == s.limit_cell)
            pl_text_add(text, sign_of(layout, "\u2502", "|"));
        if (cell < s.cells)
            add_bar_cell(layout, &s, cell, bar->bytes == 0 ? 0 : own, most, text);
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void add_cell(pl_grid *grid, pl_grid_cell cell) {
    if (pl_arrays_grow(&grid->arrays, &grid->cells, grid->num_cells + 1, sizeof cell))
        grid->cells[grid->num_cells++] = cell;
}

void pl_grid_name(pl_grid *grid, pl_grid_column column) {
    const size_t count = grid->num_columns + 1;
    if (grid->has_names || !pl_arrays_grow(&grid->arrays, &grid->named, count, sizeof column))
        return;
    column.name = pl_arrays_text(&grid->arrays, column.name);
    grid->named[grid->num_columns++] = column;
    grid->columns = grid->named;
}

void pl_grid_text(pl_grid *grid, const char *text) {
    add_cell(grid, (pl_grid_cell){.text = pl_arrays_text(&grid->arrays, text)});
}

void pl_grid_made(pl_grid *grid, pl_text text) {
    grid->arrays.failed = grid->arrays.failed || text.failed;
    pl_grid_text(grid, text.data);
    free(text.data);
}

void pl_grid_percent(pl_grid *grid, uint64_t bytes, uint64_t limit) {
    pl_text text = {0};
    if (limit < PL_NO_LIMIT)
        pl_text_add_percent(&text, bytes, limit);
    pl_grid_made(grid, text);
}

void pl_grid_bars(pl_grid *grid, pl_grid_bar bar) {
    const uint64_t limit_bytes = bar.limit_bytes < PL_NO_LIMIT ? bar.limit_bytes : 0;
    grid->top_bytes =
        pl_larger(pl_larger(grid->top_bytes, limit_bytes), pl_larger(bar.bytes, bar.most_bytes));
    add_cell(grid, (pl_grid_cell){.bar = bar});
}

void pl_grid_end_row(pl_grid *grid, bool is_marked) {
    grid->has_names = true;
    if (is_marked && !grid->arrays.failed)
        grid->cells[(grid->num_cells - 1) / grid->num_columns * grid->num_columns].is_bold = true;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* A table that is being written. */
typedef struct writing {
    const pl_grid *grid;
    pl_layout *layout;
    size_t num_rows;
    size_t *widths; /* [columns]: 0 for those that are left out */
    size_t *shown;  /* [num_shown]: the columns of the lines that are written */
    size_t num_shown;
    const char **rests; /* [columns]: what the row has on its next line */
} writing;

static const pl_grid_cell *cell_at(const writing *w, size_t row, size_t column) {
    return &w->grid->cells[row * w->grid->num_columns + column];
}

static const char *name_of(const writing *w, size_t column) {
    const char *name = w->grid->columns[column].name;
    return name == NULL ? "" : name;
}

/* How much a column takes, with the blanks before it. */
static size_t taken_by(const writing *w, size_t column) {
    return w->widths[column] > 0 ? w->grid->columns[column].gap + w->widths[column] : 0;
}

/* How much room the name of a column has: also that of the columns to its right without names.
 * *last is the last one of them. */
static size_t room_of(const writing *w, size_t column, size_t *last) {
    size_t room = w->widths[column];
    *last = column;
    for (size_t i = column + 1; i < w->grid->num_columns && *name_of(w, i) == '\0'; i++)
        if (w->widths[i] > 0) {
            *last = i;
            room += taken_by(w, i);
        }
    return room;
}

static size_t width_of_cells(const writing *w, size_t column) {
    const pl_grid_column *c = &w->grid->columns[column];
    size_t width = 0;
    if (c->least_screen > w->layout->screen.width)
        return 0;
    if (w->num_rows == 0)
        return pl_layout_width_of(name_of(w, column));
    if (c->kind == PL_GRID_BAR)
        return c->most_width > 0 ? c->most_width : MOST_BAR;
    for (size_t row = 0; row < w->num_rows; row++) {
        const char *text = cell_at(w, row, column)->text;
        const size_t own = text == NULL ? 0 : pl_layout_width_of(text);
        width = own > width ? own : width;
    }
    return c->most_width > 0 && width > c->most_width ? c->most_width : width;
}

/* How wide the whole table is. */
static size_t width_of_all(const writing *w) {
    size_t width = 0;
    for (size_t i = 0; i < w->grid->num_columns; i++)
        width += taken_by(w, i);
    return width;
}

/* Takes from the widest column of a kind what is too much, so that `least` remain. */
static void shrink(const writing *w, pl_grid_kind kind, size_t least) {
    for (size_t all = width_of_all(w); all > w->layout->screen.width; all--) {
        size_t widest = SIZE_MAX;
        for (size_t i = 0; i < w->grid->num_columns; i++)
            if (w->grid->columns[i].kind == kind && w->widths[i] > least &&
                w->widths[i] > pl_layout_width_of(name_of(w, i)) &&
                (widest == SIZE_MAX || w->widths[i] > w->widths[widest]))
                widest = i;
        if (widest == SIZE_MAX)
            return;
        w->widths[widest]--;
    }
}

/* The name of a column needs room, its own or also that of the columns that it reaches over. */
static void widen_for_names(const writing *w) {
    for (size_t i = 0; i < w->grid->num_columns; i++) {
        const size_t name = pl_layout_width_of(name_of(w, i));
        size_t last;
        if (w->widths[i] > 0 && name > room_of(w, i, &last))
            w->widths[last] += name - room_of(w, i, &last);
    }
}

/* Bars become short, then lists, then names. If that is not enough, there are no bars, and lists
 * and names have their room. */
static void find_widths(const writing *w) {
    for (int has_bars = 1; has_bars >= 0; has_bars--) {
        for (size_t i = 0; i < w->grid->num_columns; i++)
            w->widths[i] =
                has_bars == 0 && w->grid->columns[i].kind == PL_GRID_BAR ? 0 : width_of_cells(w, i);
        widen_for_names(w);
        shrink(w, PL_GRID_BAR, LEAST_BAR);
        if (has_bars)
            shrink(w, PL_GRID_LIST, LEAST_NAMES);
        shrink(w, PL_GRID_NAME, LEAST_NAME);
        if (width_of_all(w) <= w->layout->screen.width)
            return;
    }
}

/* Finds the columns of the lines that go on with `first`: after what names a row, and its mark, at
 * least one. Returns the first that does not fit any more. */
static size_t find_shown(writing *w, size_t first) {
    const size_t keys = pl_fewer(first, *name_of(w, 0) == '\0' ? 2 : 1);
    size_t width = 0;
    size_t i = 0;
    w->num_shown = 0;
    for (; i < w->grid->num_columns; i = i + 1 == keys ? first : i + 1) {
        width += taken_by(w, i);
        if (width > w->layout->screen.width && i > first)
            break;
        w->shown[w->num_shown++] = i;
    }
    return i;
}

static void write_names(const writing *w) {
    pl_text *text = &w->layout->text;
    size_t at = 0;     /* what is written */
    size_t column = 0; /* where a column begins */
    for (size_t k = 0; k < w->num_shown; k++) {
        const size_t i = w->shown[k];
        const size_t width = w->widths[i];
        const size_t name = pl_layout_width_of(name_of(w, i));
        if (width == 0)
            continue;
        column += w->grid->columns[i].gap;
        const bool is_left = w->grid->columns[i].kind != PL_GRID_RIGHT || name > width;
        const size_t begin = column + (is_left || name == 0 ? 0 : width - name);
        if (name > 0) {
            add_blanks(text, begin > at ? begin - at : 0);
            size_t last;
            const size_t room = room_of(w, i, &last);
            pl_layout_add_name(w->layout, text, name_of(w, i), room);
            at = begin + (name < room ? name : room);
        }
        column += width;
    }
    end_line(text, "");
}

/* Returns the end of the members of a list that one line has room for, at least one. */
static const char *end_of_line(const char *list, size_t width) {
    const char *end = list;
    while (*end != '\0') {
        const char *next = end + strcspn(end, ",");
        next += *next == ',';
        if (end > list && width_of(list, (size_t)(next - list)) > width)
            break;
        end = next;
    }
    return end;
}

/* Writes a line of a cell, and moves *rest, its text, past it; NULL: it is a bar. */
static void write_cell(const writing *w, const pl_grid_cell *cell, size_t column,
                       const char **rest) {
    pl_text *text = &w->layout->text;
    const size_t width = w->widths[column];
    const pl_grid_kind kind = w->grid->columns[column].kind;
    const char *begin = *rest;
    if (begin == NULL) {
        add_bar(w->layout, &cell->bar, width, w->grid->top_bytes, text);
        *rest = "";
        return;
    }
    *rest = kind == PL_GRID_LIST ? end_of_line(begin, width) : begin + strlen(begin);
    pl_text part = pl_text_of("%.*s", (int)(*rest - begin), begin);
    pl_text own = {0};
    pl_layout_add_name(w->layout, &own, pl_text_string(&part), width);
    const size_t blanks = width - pl_layout_width_of(pl_text_string(&own));
    add_blanks(text, kind == PL_GRID_RIGHT ? blanks : 0);
    pl_text_add(text, pl_text_string(&own));
    add_blanks(text, kind == PL_GRID_RIGHT ? 0 : blanks);
    text->failed = text->failed || part.failed || own.failed;
    free(part.data);
    free(own.data);
}

static void write_row(const writing *w, size_t row) {
    pl_text *text = &w->layout->text;
    const pl_tint tint = cell_at(w, row, 0)->is_bold ? PL_TINT_BOLD : PL_TINT_NONE;
    for (size_t i = 0; i < w->grid->num_columns; i++) {
        const char *own = cell_at(w, row, i)->text;
        w->rests[i] = own != NULL || w->grid->columns[i].kind == PL_GRID_BAR ? own : "";
    }
    for (bool has_more = true; has_more;) {
        has_more = false;
        pl_text_add(text, tint_of(w->layout, tint));
        for (size_t k = 0; k < w->num_shown; k++) {
            const size_t i = w->shown[k];
            if (w->widths[i] > 0) {
                add_blanks(text, w->grid->columns[i].gap);
                write_cell(w, cell_at(w, row, i), i, &w->rests[i]);
                has_more = has_more || *w->rests[i] != '\0';
            }
        }
        end_line(text, tint_end(w->layout, tint));
    }
}

static void write_table(writing *w, size_t max_rows, const char *more) {
    bool has_names = false;
    for (size_t i = 0; i < w->grid->num_columns; i++)
        has_names = has_names || *name_of(w, i) != '\0';
    for (size_t first = 0; first < w->grid->num_columns;) {
        if (first > 0)
            pl_text_add(&w->layout->text, "\n");
        first = find_shown(w, first);
        if (has_names)
            write_names(w);
        for (size_t row = 0; row < w->num_rows && row < max_rows; row++)
            write_row(w, row);
    }
    if (w->num_rows > max_rows)
        pl_text_format(&w->layout->text, "%s %s more%s%s\n", dots_of(w->layout),
                       PL_GROUPED(w->num_rows - max_rows), *more == '\0' ? "" : ": ", more);
}

void pl_grid_write(pl_grid *grid, size_t max_rows, const char *more, pl_layout *layout) {
    writing w = {
        .grid = grid,
        .layout = layout,
        .num_rows = grid->num_columns == 0 ? 0 : grid->num_cells / grid->num_columns,
        .widths = pl_arrays_new(&grid->arrays, grid->num_columns, sizeof *w.widths),
        .shown = pl_arrays_new(&grid->arrays, grid->num_columns, sizeof *w.shown),
        .rests = pl_arrays_new(&grid->arrays, grid->num_columns, sizeof *w.rests),
    };
    layout->text.failed = layout->text.failed || grid->arrays.failed;
    if (!layout->text.failed) {
        find_widths(&w);
        write_table(&w, max_rows, more);
    }
    pl_arrays_free(&grid->arrays);
    *grid = (pl_grid){0};
}
