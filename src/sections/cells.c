/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/cells.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/packed.h"

void pl_cells_add(pl_cells *cells, pl_cell cell) {
    if (cells->failed ||
        !pl_grow(&cells->items, &cells->capacity, cells->count + 1, sizeof *cells->items)) {
        cells->failed = true;
        return;
    }
    cells->items[cells->count++] = cell;
}

void pl_cells_add_text(pl_cells *cells, const char *value) {
    size_t number = value == NULL ? 0 : pl_names_number(&cells->names, value);
    if (number == SIZE_MAX)
        cells->failed = true;
    else
        pl_cells_add(cells, (pl_cell){value == NULL ? PL_CELL_NONE : PL_CELL_TEXT, {number}});
}

void pl_cells_clear(pl_cells *cells) {
    free(cells->items);
    pl_names_free(&cells->names);
    *cells = (pl_cells){0};
}

/* The kind of all values of a column that are there; SIGNED where they differ, or are too large to
 * be packed. */
static pl_cell_kind kind_of(const pl_cells *cells, size_t column, size_t num_columns) {
    static const uint64_t most = (UINT64_C(1) << 52) - 1;
    pl_cell_kind kind = PL_CELL_NONE;
    for (size_t i = column; i < cells->count; i += num_columns) {
        pl_cell_kind own = cells->items[i].kind;
        if (own == PL_CELL_NUMBER && cells->items[i].value.number > most)
            return PL_CELL_SIGNED;
        if (own != PL_CELL_NONE && kind != PL_CELL_NONE && own != kind)
            return PL_CELL_SIGNED;
        kind = own == PL_CELL_NONE ? kind : own;
    }
    return kind == PL_CELL_REAL ? PL_CELL_SIGNED : kind == PL_CELL_NONE ? PL_CELL_NUMBER : kind;
}

static const char *kind_name(pl_cell_kind kind) {
    return kind == PL_CELL_NUMBER ? "number"
           : kind == PL_CELL_FLAG ? "flag"
           : kind == PL_CELL_TEXT ? "text"
                                  : "mixed";
}

static void write_numbers(const pl_cells *cells, size_t column, size_t num_columns, pl_text *text) {
    pl_packed packed = {0};
    for (size_t i = column; i < cells->count; i += num_columns)
        if (cells->items[i].kind == PL_CELL_NONE)
            pl_packed_missing(&packed);
        else
            pl_packed_number(&packed, cells->items[i].value.number + 1);
    pl_packed_end(&packed, text);
}

/* Names in the order in which the column has them. */
static void write_texts(const pl_cells *cells, size_t column, size_t num_columns, pl_text *text) {
    pl_packed packed = {0};
    size_t num_names = 0;
    size_t *place = pl_new_array(cells->names.count, sizeof *place); /* plus one */
    text->failed = text->failed || place == NULL;
    pl_text_add(text, "{\"names\":[");
    for (size_t i = column; place != NULL && i < cells->count; i += num_columns) {
        const pl_cell *cell = &cells->items[i];
        if (cell->kind == PL_CELL_NONE) {
            pl_packed_missing(&packed);
            continue;
        }
        size_t *own = &place[cell->value.number];
        if (*own == 0) {
            pl_text_add(text, num_names > 0 ? "," : "");
            pl_quote_json(text, cells->names.items[cell->value.number]);
            *own = ++num_names;
        }
        pl_packed_number(&packed, *own);
    }
    pl_text_add(text, "],\"place\":");
    pl_packed_end(&packed, text);
    pl_text_add(text, "}");
    free(place);
}

static void write_value(const pl_cells *cells, const pl_cell *cell, pl_text *text) {
    switch (cell->kind) {
    case PL_CELL_NONE:
        pl_text_add(text, "null");
        break;
    case PL_CELL_NUMBER:
        pl_text_format(text, "%" PRIu64, cell->value.number);
        break;
    case PL_CELL_FLAG:
        pl_text_add(text, cell->value.number != 0 ? "true" : "false");
        break;
    case PL_CELL_TEXT:
        pl_quote_json(text, cells->names.items[cell->value.number]);
        break;
    case PL_CELL_SIGNED:
        pl_text_format(text, "%" PRId64, cell->value.signed_number);
        break;
    case PL_CELL_REAL:
        pl_text_format(text, "%.6g", cell->value.real);
        break;
    }
}

static void write_list(const pl_cells *cells, size_t column, size_t num_columns, pl_text *text) {
    pl_text_add(text, "[");
    for (size_t i = column; i < cells->count; i += num_columns) {
        pl_text_add(text, i > column ? "," : "");
        write_value(cells, &cells->items[i], text);
    }
    pl_text_add(text, "]");
}

void pl_cells_write(pl_cells *cells, size_t num_columns, bool is_whole, pl_text *text) {
    const size_t all_rows = cells->count / num_columns;
    const size_t num_rows =
        is_whole || all_rows < PL_MAX_PACKED_ROWS ? all_rows : PL_MAX_PACKED_ROWS;
    text->failed = text->failed || cells->failed;
    if (text->failed)
        return;
    cells->count = num_rows * num_columns;
    pl_text_format(text, ",\"all_rows\":%zu,\"num_rows\":%zu,\"kinds\":[", all_rows, num_rows);
    for (size_t i = 0; i < num_columns; i++)
        pl_text_format(text, "%s\"%s\"", i > 0 ? "," : "",
                       kind_name(kind_of(cells, i, num_columns)));
    pl_text_add(text, "],\"data\":[");
    for (size_t i = 0; i < num_columns; i++) {
        pl_cell_kind kind = kind_of(cells, i, num_columns);
        pl_text_add(text, i > 0 ? "," : "");
        if (kind == PL_CELL_TEXT)
            write_texts(cells, i, num_columns, text);
        else if (kind == PL_CELL_SIGNED)
            write_list(cells, i, num_columns, text);
        else
            write_numbers(cells, i, num_columns, text);
    }
    pl_text_add(text, "]}");
}
