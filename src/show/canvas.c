/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/canvas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

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
    pl_text_format(&canvas->text, "%*s ", PL_AXIS_WIDTH - 1, label);
}

static void add_cell(pl_canvas *canvas, const pl_columns *columns, size_t column, size_t line,
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

void pl_canvas_columns(pl_canvas *canvas, const pl_columns *columns) {
    const size_t height = canvas->options.height;
    bool has_limit = columns->limit_bytes > 0 && columns->limit_bytes <= columns->top_bytes;
    uint64_t limit = has_limit ? eighths_of(columns->limit_bytes, columns->top_bytes, height) : 0;
    for (size_t line = height; line-- > 0;) {
        bool is_limit = has_limit && in_cell(limit, line) > 0 && limit <= (uint64_t)(line + 1) * 8;
        if ((height - 1 - line) % 4 == 0)
            add_axis(canvas, (double)columns->top_bytes * (double)(line + 1) / (double)height);
        else
            pl_text_format(&canvas->text, "%*s", PL_AXIS_WIDTH, "");
        for (size_t column = 0; column < columns->count; column++)
            add_cell(canvas, columns, column, line, is_limit);
        pl_text_add(&canvas->text, "\n");
    }
}

/* ---- the rest ---- */

void pl_canvas_bar(pl_canvas *canvas, size_t width, uint64_t bytes, uint64_t limit_bytes,
                   uint64_t top_bytes) {
    uint64_t own = eighths_of(bytes, top_bytes, width);
    /* beyond the top, where no limit is told too, it is in no cell */
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

void pl_canvas_name(pl_canvas *canvas, const char *name, size_t width) {
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

void pl_canvas_sample(pl_canvas *canvas, pl_ink ink) {
    begin_ink(canvas, ink);
    pl_text_add(&canvas->text, full(canvas, ink));
    end_ink(canvas);
}

void pl_canvas_number(pl_canvas *canvas, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            pl_text_add(&canvas->text, ",");
        pl_text_append(&canvas->text, &digits[i], 1);
    }
}
