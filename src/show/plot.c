/* Plots of tiles and of liveness, made of characters.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/show.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/layout.h"
#include "base/numbers.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

/* ---- cells ---- */

/* The parts of a column. */
typedef enum ink {
    INK_BASE,  /* its lower part */
    INK_REST,  /* what is above that */
    INK_LIMIT, /* a line that it should not reach */
} ink;

/* Colours of terminals: none, that of each part, and the base before the rest. */
static const char NO_COLOUR[] = "";
static const char *const colours[] = {
    [INK_BASE] = "\x1b[34m", [INK_REST] = "\x1b[33m", [INK_LIMIT] = "\x1b[31m"};
static const char BASE_BEFORE_REST[] = "\x1b[34;43m";

/* Adds a sign; *last is the colour before it, which remains until another comes. */
static void add_sign(pl_layout *canvas, const char **last, const char *colour, const char *sign) {
    if (canvas->screen.has_colour && *last != colour)
        pl_text_format(&canvas->text, "%s%s", *last == NO_COLOUR ? "" : "\x1b[0m", colour);
    pl_text_add(&canvas->text, sign);
    *last = colour;
}

/* A whole cell. */
static const char *full(const pl_layout *canvas, ink own) {
    static const char *const ascii[] = {[INK_BASE] = "#", [INK_REST] = ":", [INK_LIMIT] = "-"};
    static const char *const blocks[] = {
        [INK_BASE] = "\u2588", [INK_REST] = "\u2592", [INK_LIMIT] = "\u2500"};
    if (canvas->screen.is_ascii)
        return ascii[own];
    /* colours tell it from the base */
    return blocks[own == INK_REST && canvas->screen.has_colour ? INK_BASE : own];
}

/* A cell of which so many eighths are filled from the bottom; 8 is a whole one. */
static const char *part(const pl_layout *canvas, ink own, unsigned eighths) {
    static const char *const parts[] = {" ",      "\u2581", "\u2582", "\u2583",
                                        "\u2584", "\u2585", "\u2586", "\u2587"};
    if (eighths >= 8)
        return full(canvas, own);
    if (canvas->screen.is_ascii)
        return eighths == 0 ? " " : eighths < 4 ? "." : full(canvas, own);
    if (own != INK_BASE && !canvas->screen.has_colour) /* there are no parts of its shade */
        return eighths == 0 ? " " : eighths < 4 ? "\u2591" : full(canvas, own);
    return parts[eighths];
}

/* How many eighths of cells stand for so many bytes, at most the top, rounded up: what is there is
 * seen. */
static uint64_t eighths_of(uint64_t bytes, uint64_t top_bytes, size_t cells) {
    double share = (double)bytes / (double)top_bytes * (double)cells * 8;
    uint64_t whole = (uint64_t)share;
    return whole + ((double)whole < share);
}

static unsigned in_cell(uint64_t eighths, size_t cell) {
    uint64_t below = (uint64_t)cell * 8;
    return eighths <= below ? 0 : eighths - below > 8 ? 8 : (unsigned)(eighths - below);
}

/* ---- columns ---- */

/* Tiles or steps, each of two parts, and the columns that stand for them: where there are more of
 * them than columns a column is the one with the largest total of several, else each is some
 * columns wide. Drawn from the bottom up, after an axis of AXIS_WIDTH characters. */
typedef struct series {
    pl_arrays arrays; /* own the arrays */
    size_t count;
    uint64_t *base_bytes;  /* [count] */
    uint64_t *total_bytes; /* [count]: base and what is above it */
    size_t num_columns;
    uint64_t top_bytes;   /* of the highest line; at least 1 */
    uint64_t limit_bytes; /* a line where it is below the top; 0: none */
} series;

enum { AXIS_WIDTH = 10 };

/* Returns the item with most bytes of first ... end - 1, the first of equals. */
static size_t largest_item(const series *s, size_t first, size_t end) {
    size_t largest = first;
    for (size_t i = first + 1; i < end; i++)
        largest = s->total_bytes[i] > s->total_bytes[largest] ? i : largest;
    return largest;
}

/* The items of a column are first ... end - 1. */
static size_t first_item(const series *s, size_t column) {
    return (size_t)((double)column * (double)s->count / (double)s->num_columns);
}

/* Returns the item that a column shows. */
static size_t item_of(const series *s, size_t column) {
    const bool is_last = column + 1 == s->num_columns;
    return largest_item(s, first_item(s, column), is_last ? s->count : first_item(s, column + 1));
}

/* "312 KiB", as wide as the axis. */
static void add_axis(pl_layout *canvas, double bytes) {
    pl_text label = {0};
    pl_text_add_size(&label, bytes);
    pl_text_format(&canvas->text, "%*s ", AXIS_WIDTH - 1, pl_text_string(&label));
    canvas->text.failed = canvas->text.failed || label.failed;
    free(label.data);
}

static void add_cell(pl_layout *canvas, const series *s, size_t item, size_t line, bool is_limit,
                     const char **last) {
    const size_t height = canvas->screen.height;
    const bool is_exact = canvas->screen.has_colour && !canvas->screen.is_ascii;
    uint64_t total = eighths_of(s->total_bytes[item], s->top_bytes, height);
    uint64_t base = eighths_of(s->base_bytes[item], s->top_bytes, height);
    const unsigned filled = in_cell(total, line);
    const unsigned below = in_cell(base, line);
    const ink own = below >= 4 || base >= total ? INK_BASE : INK_REST;
    if (filled == 0 && is_limit)
        add_sign(canvas, last, colours[INK_LIMIT], full(canvas, INK_LIMIT));
    else if (filled == 0)
        add_sign(canvas, last, NO_COLOUR, " ");
    else if (is_exact && filled == 8 && below > 0 && below < 8)
        add_sign(canvas, last, BASE_BEFORE_REST, part(canvas, INK_BASE, below));
    else
        add_sign(canvas, last, colours[own], part(canvas, own, filled));
}

static void draw_columns(pl_layout *canvas, const series *s) {
    const size_t height = canvas->screen.height;
    bool has_limit = s->limit_bytes > 0 && s->limit_bytes <= s->top_bytes;
    uint64_t limit = has_limit ? eighths_of(s->limit_bytes, s->top_bytes, height) : 0;
    for (size_t line = height; line-- > 0;) {
        bool is_limit = has_limit && in_cell(limit, line) > 0 && limit <= (uint64_t)(line + 1) * 8;
        const char *last = NO_COLOUR;
        if ((height - 1 - line) % 4 == 0)
            add_axis(canvas, (double)s->top_bytes * (double)(line + 1) / (double)height);
        else
            pl_text_format(&canvas->text, "%*s", AXIS_WIDTH, "");
        for (size_t column = 0; column < s->num_columns; column++)
            add_cell(canvas, s, item_of(s, column), line, is_limit, &last);
        add_sign(canvas, &last, NO_COLOUR, "\n");
    }
}

/* Adds a name in exactly `width` characters: shortened, or filled. Returns whether it is whole. */
static bool add_name(pl_layout *canvas, const char *name, size_t width) {
    const size_t dots = canvas->screen.is_ascii ? 3 : 1;
    const bool is_whole = pl_layout_width_of(name) <= width;
    pl_text own = {0};
    pl_text_add(&own, "");
    if (is_whole || width > dots)
        pl_layout_add_name(canvas, &own, name, width);
    canvas->text.failed = canvas->text.failed || own.failed;
    if (!own.failed)
        pl_text_format(&canvas->text, "%s%*s", own.data,
                       (int)(width - pl_layout_width_of(own.data)), "");
    free(own.data);
    return is_whole;
}

popliner_status pl_plot_check(const popliner_plot_options *options, popliner_error *error) {
    enum { MIN_WIDTH = 40, MAX_WIDTH = 1000, MIN_HEIGHT = 4, MAX_HEIGHT = 200 };
    if (options->width < MIN_WIDTH || options->width > MAX_WIDTH)
        return pl_fail(error, POPLINER_ERROR_USAGE, "a plot is %d to %d characters wide, not %zu",
                       MIN_WIDTH, MAX_WIDTH, options->width);
    if (options->height < MIN_HEIGHT || options->height > MAX_HEIGHT)
        return pl_fail(error, POPLINER_ERROR_USAGE, "a plot is %d to %d lines high, not %zu",
                       MIN_HEIGHT, MAX_HEIGHT, options->height);
    return POPLINER_OK;
}

/* ---- items ---- */

static popliner_status begin_series(series *s, size_t count, popliner_error *error) {
    s->count = count;
    s->base_bytes = pl_arrays_new(&s->arrays, count, sizeof *s->base_bytes);
    s->total_bytes = pl_arrays_new(&s->arrays, count, sizeof *s->total_bytes);
    return s->arrays.failed ? pl_fail_memory(error, "a plot") : POPLINER_OK;
}

/* Finds the columns, and draws them; the limit only where it does not press them flat. */
static void draw(series *s, uint64_t limit_bytes, pl_layout *canvas) {
    enum { MOST_WIDE = 8, MOST_TIMES = 4 };
    const size_t width = canvas->screen.width - AXIS_WIDTH;
    const size_t wide = s->count == 0 ? 0 : width / s->count;
    const uint64_t most_bytes = s->count == 0 ? 0 : s->total_bytes[largest_item(s, 0, s->count)];
    s->num_columns = s->count > width ? width : s->count * pl_fewer(wide, MOST_WIDE);
    s->limit_bytes = limit_bytes / MOST_TIMES <= most_bytes ? limit_bytes : 0;
    s->top_bytes = pl_larger(1, pl_larger(s->limit_bytes, most_bytes));
    draw_columns(canvas, s);
}

/* The numbers of the first and the last item under the columns. */
static void add_ends(const series *s, pl_layout *canvas) {
    size_t last = s->count == 0 ? 0 : s->count - 1;
    pl_text_format(&canvas->text, "%*s0%*zu\n", AXIS_WIDTH, "",
                   (int)(s->num_columns > 1 ? s->num_columns - 1 : 1), last);
}

/* Adds what the drawing cannot say: how many items a column stands for, and the largest item. */
static void add_caption(const series *s, const char *what, pl_layout *canvas) {
    pl_text *text = &canvas->text;
    if (s->count > s->num_columns)
        pl_text_format(text, "A column is the largest of %zu %ss.\n",
                       (s->count + s->num_columns - 1) / s->num_columns, what);
    const size_t largest = largest_item(s, 0, s->count);
    if (s->count > 0)
        pl_text_format(text, "Largest: %s %zu with %s bytes", what, largest,
                       PL_GROUPED(s->total_bytes[largest]));
}

/* Adds how the two parts of the columns look. */
static void add_key(pl_layout *canvas) {
    const char *last = NO_COLOUR;
    add_sign(canvas, &last, colours[INK_BASE], full(canvas, INK_BASE));
    add_sign(canvas, &last, NO_COLOUR, " always live  ");
    add_sign(canvas, &last, colours[INK_REST], full(canvas, INK_REST));
    add_sign(canvas, &last, NO_COLOUR, " not always live\n");
}

/* ---- the plots ---- */

popliner_status pl_plot_tiles(const popliner_profile *p, const popliner_plot_options *options,
                              char **text, popliner_error *error) {
    pl_layout canvas = {.screen = *options};
    series s = {0};
    popliner_status status = begin_series(&s, p->target.num_tiles, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < s.count; tile++) {
        s.base_bytes[tile] = p->tile_always_live_bytes[tile];
        s.total_bytes[tile] =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    }
    if (status == POPLINER_OK) {
        draw(&s, p->target.bytes_per_tile, &canvas);
        add_ends(&s, &canvas);
        add_key(&canvas);
        add_caption(&s, "tile", &canvas);
        pl_text_format(&canvas.text, " of %s (", PL_GROUPED(p->target.bytes_per_tile));
        pl_text_add_percent(&canvas.text,
                            s.count == 0 ? 0 : s.total_bytes[largest_item(&s, 0, s.count)],
                            p->target.bytes_per_tile);
        pl_text_add(&canvas.text, ").\n");
    }
    pl_arrays_free(&s.arrays);
    return pl_text_finish(&canvas.text, status, text, error);
}

/* The unit of a column; SIZE_MAX for none. */
static size_t unit_of_column(const series *s, const pl_chain *chain, size_t column) {
    size_t operation = pl_chain_operation_at(chain, item_of(s, column));
    return operation == SIZE_MAX ? SIZE_MAX : pl_chain_unit_of(chain, operation);
}

/* Adds a line that names the units of the columns, and returns how many names have no room. */
static size_t add_units(const series *s, const pl_chain *chain, pl_layout *canvas) {
    size_t num_short = 0;
    pl_text_format(&canvas->text, "%*s", AXIS_WIDTH, "layers ");
    for (size_t column = 0; column < s->num_columns;) {
        size_t unit = unit_of_column(s, chain, column);
        size_t end = column + 1;
        while (end < s->num_columns && unit_of_column(s, chain, end) == unit)
            end++;
        pl_text_add(&canvas->text, canvas->screen.is_ascii ? "|" : "\u2502");
        num_short +=
            !add_name(canvas, unit == SIZE_MAX ? "" : chain->labels[unit], end - column - 1);
        column = end;
    }
    pl_text_add(&canvas->text, "\n");
    return num_short;
}

/* Adds what the steps are of, and the always-live bytes that are not drawn. */
static void add_whole(const popliner_plot_options *options, uint64_t always_bytes, size_t num_short,
                      pl_layout *canvas) {
    pl_text *text = &canvas->text;
    if (options->tile == POPLINER_ALL_TILES)
        pl_text_add(text, " on all tiles.\n");
    else
        pl_text_format(text, " on tile %zu.\n", options->tile);
    if (!options->has_always_live)
        pl_text_format(text, "Not drawn: %s bytes that are always live.\n",
                       PL_GROUPED(always_bytes));
    if (num_short > 0)
        pl_text_format(text, "%zu %s of layers %s no room.\n", num_short,
                       num_short == 1 ? "name" : "names", num_short == 1 ? "has" : "have");
}

popliner_status pl_plot_liveness(const popliner_profile *p, const pl_chain *chain,
                                 const popliner_plot_options *options, char **text,
                                 popliner_error *error) {
    pl_layout canvas = {.screen = *options};
    series s = {0};
    popliner_status status = begin_series(&s, p->num_steps, error);
    if (status == POPLINER_OK)
        status = popliner_liveness_by_step(p, options->tile, NULL, 0, p->num_steps, s.total_bytes,
                                           error);
    const uint64_t always_bytes =
        status == POPLINER_OK ? pl_tiles_always_live(p, options->tile, NULL) : 0;
    for (size_t step = 0; status == POPLINER_OK && step < s.count; step++) {
        s.total_bytes[step] += options->has_always_live ? always_bytes : 0;
        s.base_bytes[step] = options->has_always_live ? always_bytes : s.total_bytes[step];
    }
    if (status == POPLINER_OK) {
        draw(&s, 0, &canvas);
        const size_t num_short = add_units(&s, chain, &canvas);
        add_ends(&s, &canvas);
        if (options->has_always_live)
            add_key(&canvas);
        add_caption(&s, "step", &canvas);
        add_whole(options, always_bytes, num_short, &canvas);
    }
    pl_arrays_free(&s.arrays);
    return pl_text_finish(&canvas.text, status, text, error);
}
