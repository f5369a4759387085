/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* ---- cells ---- */

static void begin_ink(pl_canvas *canvas, pl_ink ink) {
    static const char *const colours[] = {
        [PL_INK_BASE] = "\x1b[34m",
        [PL_INK_REST] = "\x1b[33m",
        [PL_INK_LIMIT] = "\x1b[31m",
        [PL_INK_OVER] = "\x1b[31m",
    };
    if (canvas->options.has_colour)
        pl_text_add(&canvas->text, colours[ink]);
}

static void end_ink(pl_canvas *canvas) {
    if (canvas->options.has_colour)
        pl_text_add(&canvas->text, "\x1b[0m");
}

/* A whole cell. */
static const char *full(const pl_canvas *canvas, pl_ink ink) {
    const bool is_ascii = canvas->options.is_ascii;
    switch (ink) {
    case PL_INK_BASE:
        return is_ascii ? "#" : "\u2588";
    case PL_INK_REST:
        return is_ascii ? ":" : canvas->options.has_colour ? "\u2588" : "\u2592";
    case PL_INK_OVER:
        return is_ascii ? "!" : canvas->options.has_colour ? "\u2588" : "\u2593";
    case PL_INK_LIMIT:
        break;
    }
    return is_ascii ? "-" : "\u2500";
}

/* A cell of which so many eighths are filled, from the bottom or from the left; 8 is a whole
 * one. */
static const char *part(const pl_canvas *canvas, pl_ink ink, unsigned eighths, bool is_upright) {
    static const char *const upright[] = {" ",      "\u2581", "\u2582", "\u2583",
                                          "\u2584", "\u2585", "\u2586", "\u2587"};
    static const char *const flat[] = {" ",      "\u258f", "\u258e", "\u258d",
                                       "\u258c", "\u258b", "\u258a", "\u2589"};
    if (eighths >= 8)
        return full(canvas, ink);
    if (canvas->options.is_ascii)
        return eighths == 0 ? " " : eighths < 4 ? "." : full(canvas, ink);
    if (ink != PL_INK_BASE && !canvas->options.has_colour) /* there are no parts of its shade */
        return eighths == 0 ? " " : eighths < 4 ? "\u2591" : full(canvas, ink);
    return is_upright ? upright[eighths] : flat[eighths];
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

/* Columns of two parts each, from the bottom up: height lines, of AXIS_WIDTH characters for the axis
 * and count columns each. */
typedef struct bars {
    size_t count;
    const uint64_t *base_bytes;  /* [count] */
    const uint64_t *total_bytes; /* [count]: base and what is above it */
    uint64_t top_bytes;          /* of the highest line; at least 1 */
    uint64_t limit_bytes;        /* a line where it is below the top; 0: none */
} bars;

enum { AXIS_WIDTH = 10 };

/* "312.0 KiB", as wide as the axis. */
static void add_axis(pl_canvas *canvas, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char label[32];
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    /* tenths in integers: the decimal point does not depend on the locale */
    uint64_t tenths = (uint64_t)(bytes * 10 + 0.5);
    if (unit == 0)
        snprintf(label, sizeof label, "%" PRIu64 " B", tenths / 10);
    else
        snprintf(label, sizeof label, "%" PRIu64 ".%u %s", tenths / 10, (unsigned)(tenths % 10),
                 units[unit]);
    pl_text_format(&canvas->text, "%*s ", AXIS_WIDTH - 1, label);
}

static void add_cell(pl_canvas *canvas, const bars *columns, size_t column, size_t line,
                     bool is_limit) {
    const size_t height = canvas->options.height;
    uint64_t total = eighths_of(columns->total_bytes[column], columns->top_bytes, height);
    uint64_t base = eighths_of(columns->base_bytes[column], columns->top_bytes, height);
    unsigned filled = in_cell(total, line);
    pl_ink ink = in_cell(base, line) >= 4 || base >= total ? PL_INK_BASE : PL_INK_REST;
    if (filled == 0 && is_limit) {
        begin_ink(canvas, PL_INK_LIMIT);
        pl_text_add(&canvas->text, full(canvas, PL_INK_LIMIT));
        end_ink(canvas);
    } else if (filled == 0) {
        pl_text_add(&canvas->text, " ");
    } else {
        begin_ink(canvas, ink);
        pl_text_add(&canvas->text, part(canvas, ink, filled, true));
        end_ink(canvas);
    }
}

static void draw_columns(pl_canvas *canvas, const bars *columns) {
    const size_t height = canvas->options.height;
    bool has_limit = columns->limit_bytes > 0 && columns->limit_bytes <= columns->top_bytes;
    uint64_t limit = has_limit ? eighths_of(columns->limit_bytes, columns->top_bytes, height) : 0;
    for (size_t line = height; line-- > 0;) {
        bool is_limit = has_limit && in_cell(limit, line) > 0 && limit <= (uint64_t)(line + 1) * 8;
        if ((height - 1 - line) % 4 == 0)
            add_axis(canvas, (double)columns->top_bytes * (double)(line + 1) / (double)height);
        else
            pl_text_format(&canvas->text, "%*s", AXIS_WIDTH, "");
        for (size_t column = 0; column < columns->count; column++)
            add_cell(canvas, columns, column, line, is_limit);
        pl_text_add(&canvas->text, "\n");
    }
}

/* ---- the rest ---- */

void pl_canvas_bar(pl_canvas *canvas, size_t width, uint64_t bytes, uint64_t limit_bytes,
                   uint64_t top_bytes) {
    uint64_t own = eighths_of(bytes, top_bytes, width);
    /* beyond the top it is in no cell; an unknown limit is beyond the top */
    size_t limit_cell = limit_bytes > top_bytes
                            ? SIZE_MAX
                            : (size_t)((eighths_of(limit_bytes, top_bytes, width) + 7) / 8);
    for (size_t cell = 0; cell < width; cell++) {
        unsigned filled = in_cell(own, cell);
        pl_ink ink = bytes > limit_bytes && cell >= limit_cell ? PL_INK_OVER : PL_INK_BASE;
        if (filled == 0 && cell + 1 == limit_cell) {
            begin_ink(canvas, PL_INK_LIMIT);
            pl_text_add(&canvas->text, canvas->options.is_ascii ? "|" : "\u2502");
            end_ink(canvas);
        } else if (filled == 0) {
            pl_text_add(&canvas->text, " ");
        } else {
            begin_ink(canvas, ink);
            pl_text_add(&canvas->text, part(canvas, ink, filled, false));
            end_ink(canvas);
        }
    }
}

/* A name in exactly `width` characters: cut or filled. What a terminal would obey, and in ASCII
 * what it cannot show, is replaced. */
static void add_name(pl_canvas *canvas, const char *name, size_t width) {
    const bool is_ascii = canvas->options.is_ascii;
    size_t written = 0;
    while (*name != '\0' && written < width) {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(name, &c);
        if (length == 0 || pl_utf8_is_control(c) || (is_ascii && c > 0x7e))
            pl_text_add(&canvas->text, is_ascii ? "?" : PL_REPLACEMENT);
        else
            pl_text_append(&canvas->text, name, length);
        name += length == 0 ? 1 : length;
        written++;
    }
    pl_text_format(&canvas->text, "%*s", (int)(width - written), "");
}

/* How a part of a bar looks, for captions. */
static void add_sample(pl_canvas *canvas, pl_ink ink) {
    begin_ink(canvas, ink);
    pl_text_add(&canvas->text, full(canvas, ink));
    end_ink(canvas);
}

/* "34,127" */
static void add_number(pl_canvas *canvas, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            pl_text_add(&canvas->text, ",");
        pl_text_append(&canvas->text, &digits[i], 1);
    }
}

/* ---- the plots ---- */

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

/* ---- columns ---- */

/* Tiles or steps, and the columns that stand for them: where there are more of them than columns a
 * column is the one with the largest total of several, else each is some columns wide. */
typedef struct series {
    size_t count;
    uint64_t *base_bytes;  /* [count] */
    uint64_t *total_bytes; /* [count] */
    size_t num_columns;
    size_t *shown; /* [num_columns]: the item of each column */
} series;

static void free_series(series *s) {
    free(s->base_bytes);
    free(s->total_bytes);
    free(s->shown);
}

static popliner_status begin_series(series *s, size_t count, popliner_error *error) {
    s->count = count;
    s->base_bytes = pl_new_array(count, sizeof *s->base_bytes);
    s->total_bytes = pl_new_array(count, sizeof *s->total_bytes);
    return s->base_bytes == NULL || s->total_bytes == NULL ? pl_fail_memory(error, "a plot")
                                                           : POPLINER_OK;
}

/* The items of a column are first ... end - 1. */
static size_t first_item(const series *s, size_t column) {
    return (size_t)((double)column * (double)s->count / (double)s->num_columns);
}

static popliner_status find_columns(series *s, size_t width, popliner_error *error) {
    enum { MOST_WIDE = 8 };
    size_t wide = s->count == 0 ? 0 : width / s->count;
    s->num_columns = s->count > width ? width : s->count * (wide > MOST_WIDE ? MOST_WIDE : wide);
    s->shown = pl_new_array(s->num_columns, sizeof *s->shown);
    if (s->shown == NULL)
        return pl_fail_memory(error, "a plot");
    for (size_t column = 0; column < s->num_columns; column++) {
        size_t largest = first_item(s, column);
        size_t end = column + 1 < s->num_columns ? first_item(s, column + 1) : s->count;
        for (size_t i = largest + 1; i < end; i++)
            largest = s->total_bytes[i] > s->total_bytes[largest] ? i : largest;
        s->shown[column] = largest;
    }
    return POPLINER_OK;
}

/* The item with most bytes, the first of equals. */
static size_t largest_item(const series *s) {
    size_t largest = 0;
    for (size_t i = 1; i < s->count; i++)
        largest = s->total_bytes[i] > s->total_bytes[largest] ? i : largest;
    return largest;
}

/* Draws the columns; the limit only where it does not press them flat. */
static popliner_status draw(const series *s, uint64_t limit_bytes, pl_canvas *canvas,
                            popliner_error *error) {
    enum { MOST_TIMES = 4 };
    uint64_t *base_bytes = pl_new_array(s->num_columns, sizeof *base_bytes);
    uint64_t *total_bytes = pl_new_array(s->num_columns, sizeof *total_bytes);
    uint64_t most_bytes = s->count == 0 ? 0 : s->total_bytes[largest_item(s)];
    bool has_limit = limit_bytes > 0 && limit_bytes / MOST_TIMES <= most_bytes;
    popliner_status status = POPLINER_OK;
    if (base_bytes == NULL || total_bytes == NULL) {
        status = pl_fail_memory(error, "a plot");
    } else {
        for (size_t column = 0; column < s->num_columns; column++) {
            base_bytes[column] = s->base_bytes[s->shown[column]];
            total_bytes[column] = s->total_bytes[s->shown[column]];
        }
        uint64_t top_bytes = has_limit && limit_bytes > most_bytes ? limit_bytes : most_bytes;
        const bars columns = {s->num_columns, base_bytes, total_bytes,
                              top_bytes == 0 ? 1 : top_bytes, has_limit ? limit_bytes : 0};
        draw_columns(canvas, &columns);
    }
    free(total_bytes);
    free(base_bytes);
    return status;
}

/* The numbers of the first and the last item under the columns. */
static void add_ends(const series *s, pl_canvas *canvas) {
    size_t last = s->count == 0 ? 0 : s->count - 1;
    pl_text_format(&canvas->text, "%*s0%*zu\n", AXIS_WIDTH, "",
                   (int)(s->num_columns > 1 ? s->num_columns - 1 : 1), last);
}

/* Names the parts of the columns, and the largest item. */
static void add_caption(const series *s, const char *what, const char *whats, pl_canvas *canvas) {
    pl_text *text = &canvas->text;
    add_sample(canvas, PL_INK_BASE);
    pl_text_add(text, " always live  ");
    add_sample(canvas, PL_INK_REST);
    pl_text_add(text, " not always");
    if (s->count > s->num_columns)
        pl_text_format(text, "; a column is the largest of %zu %s",
                       (s->count + s->num_columns - 1) / s->num_columns, whats);
    if (s->count > 0) {
        pl_text_format(text, "\nLargest: %s %zu with ", what, largest_item(s));
        add_number(canvas, s->total_bytes[largest_item(s)]);
        pl_text_add(text, " bytes");
    }
}

/* ---- the plots ---- */

popliner_status pl_plot_tiles(const popliner_profile *p, const popliner_plot_options *options,
                              char **text, popliner_error *error) {
    pl_canvas canvas = {.options = *options};
    series s = {0};
    popliner_status status = begin_series(&s, p->target.num_tiles, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < s.count; tile++) {
        s.base_bytes[tile] = p->tile_always_live_bytes[tile];
        s.total_bytes[tile] =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    }
    if (status == POPLINER_OK)
        status = find_columns(&s, options->width - AXIS_WIDTH, error);
    if (status == POPLINER_OK)
        status = draw(&s, p->target.bytes_per_tile, &canvas, error);
    if (status == POPLINER_OK) {
        add_ends(&s, &canvas);
        add_caption(&s, "tile", "tiles", &canvas);
        pl_text_add(&canvas.text, " of ");
        add_number(&canvas, p->target.bytes_per_tile);
        pl_text_add(&canvas.text, "\n");
    }
    free_series(&s);
    return pl_text_finish(&canvas.text, status, text, error);
}

/* The unit of a column; SIZE_MAX for none. */
static size_t unit_of_column(const series *s, const popliner_chain *chain, size_t column) {
    size_t operation = popliner_chain_operation_at(chain, s->shown[column]);
    return operation == SIZE_MAX ? SIZE_MAX : pl_chain_unit_of(chain, operation);
}

/* A line that says of which unit the columns are. */
static void add_units(const series *s, const popliner_chain *chain, pl_canvas *canvas) {
    pl_text_format(&canvas->text, "%*s", AXIS_WIDTH, "layers ");
    for (size_t column = 0; column < s->num_columns;) {
        size_t unit = unit_of_column(s, chain, column);
        size_t end = column + 1;
        while (end < s->num_columns && unit_of_column(s, chain, end) == unit)
            end++;
        pl_text_add(&canvas->text, canvas->options.is_ascii ? "|" : "\u2502");
        add_name(canvas, unit == SIZE_MAX ? "" : pl_chain_unit_at(chain, unit)->label,
                 end - column - 1);
        column = end;
    }
    pl_text_add(&canvas->text, "\n");
}

popliner_status pl_plot_liveness(const popliner_profile *p, const popliner_chain *chain,
                                 const popliner_plot_options *options, char **text,
                                 popliner_error *error) {
    pl_canvas canvas = {.options = *options};
    series s = {0};
    uint64_t always_bytes = 0;
    popliner_status status = begin_series(&s, p->num_steps, error);
    if (status == POPLINER_OK)
        status = popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, p->num_steps,
                                           s.total_bytes, error);
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        always_bytes += p->tile_always_live_bytes[tile];
    for (size_t step = 0; status == POPLINER_OK && step < s.count; step++) {
        s.base_bytes[step] = always_bytes;
        s.total_bytes[step] += always_bytes;
    }
    if (status == POPLINER_OK)
        status = find_columns(&s, options->width - AXIS_WIDTH, error);
    if (status == POPLINER_OK)
        status = draw(&s, 0, &canvas, error);
    if (status == POPLINER_OK) {
        add_units(&s, chain, &canvas);
        add_ends(&s, &canvas);
        add_caption(&s, "step", "steps", &canvas);
        pl_text_add(&canvas.text, " on all tiles\n");
    }
    free_series(&s);
    return pl_text_finish(&canvas.text, status, text, error);
}

/* Returns the text before the bar of a stage. */
static char *stage_name(const popliner_certificate *c, size_t number) {
    const popliner_plan_stage *stage = &c->plan.stages[number];
    pl_text name = {0};
    pl_text_format(&name, "%zu IPU %zu  %s", number, stage->ipu,
                   c->input.unit_names[stage->first_unit]);
    if (stage->last_unit > stage->first_unit)
        pl_text_format(&name, " to %s", c->input.unit_names[stage->last_unit]);
    if (name.failed) {
        free(name.data);
        return NULL;
    }
    return name.data;
}

static popliner_status draw_plan(const popliner_certificate *c, pl_canvas *canvas,
                                 popliner_error *error) {
    enum { NAME_WIDTH = 22, NUMBERS_WIDTH = 14 };
    size_t width = canvas->options.width - NAME_WIDTH - NUMBERS_WIDTH;
    uint64_t top_bytes = 1;
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const uint64_t bytes = c->details[i].need_bytes[c->input.need];
        const uint64_t limit_bytes = pl_certificate_limit(c, c->plan.stages[i].ipu);
        top_bytes = bytes > top_bytes ? bytes : top_bytes;
        /* no limit at all is no end of a scale */
        if (limit_bytes < UINT64_MAX && limit_bytes > top_bytes)
            top_bytes = limit_bytes;
    }
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const uint64_t bytes = c->details[i].need_bytes[c->input.need];
        char *name = stage_name(c, i);
        if (name == NULL)
            return pl_fail_memory(error, "a plot");
        add_name(canvas, name, NAME_WIDTH);
        free(name);
        pl_canvas_bar(canvas, width, bytes, pl_certificate_limit(c, c->plan.stages[i].ipu),
                      top_bytes);
        pl_text_add(&canvas->text, " ");
        add_number(canvas, bytes);
        pl_text_add(&canvas->text, "\n");
    }
    add_sample(canvas, PL_INK_BASE);
    pl_text_add(&canvas->text, " bytes on the largest tile  ");
    pl_text_add(&canvas->text, canvas->options.is_ascii ? "|" : "\u2502");
    pl_text_add(&canvas->text, " limit  ");
    add_sample(canvas, PL_INK_OVER);
    pl_text_add(&canvas->text, " above it\n");
    return POPLINER_OK;
}

popliner_status pl_plot_plan(const popliner_certificate *certificate,
                             const popliner_plot_options *options, char **text,
                             popliner_error *error) {
    pl_canvas canvas = {.options = *options};
    popliner_status status = draw_plan(certificate, &canvas, error);
    return pl_text_finish(&canvas.text, status, text, error);
}
