/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/packed.h"
#include "base/text.h"
#include "tables/sheet.h"

/* A field is within quotes if it has to be. */
static void add_csv(pl_text *text, const char *value) {
    bool is_quoted = strpbrk(value, ",\"\r\n") != NULL;
    pl_text_add(text, is_quoted ? "\"" : "");
    while (*value != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(value, &c);
        bool is_space = c == '\t' || c == '\r' || c == '\n';
        if (length == 0 || (pl_utf8_is_control(c) && !is_space))
            pl_text_add(text, PL_REPLACEMENT);
        else
            pl_text_append(text, value, length);
        if (c == '"')
            pl_text_add(text, "\"");
        value += length == 0 ? 1 : length;
    }
    pl_text_add(text, is_quoted ? "\"" : "");
}

static void add_tsv(pl_text *text, const char *value) {
    while (*value != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(value, &c);
        const char *escaped = c == '\t'   ? "\\t"
                              : c == '\n' ? "\\n"
                              : c == '\r' ? "\\r"
                              : c == '\\' ? "\\\\"
                                          : NULL;
        if (length == 0 || (pl_utf8_is_control(c) && escaped == NULL))
            pl_text_add(text, PL_REPLACEMENT);
        else if (escaped != NULL)
            pl_text_add(text, escaped);
        else
            pl_text_append(text, value, length);
        value += length == 0 ? 1 : length;
    }
}

static void add_field(pl_sheet *sheet, const char *value) {
    if (sheet->format == POPLINER_FORMAT_JSON)
        pl_quote_json(&sheet->text, value);
    else if (sheet->format == POPLINER_FORMAT_CSV)
        add_csv(&sheet->text, value);
    else
        add_tsv(&sheet->text, value);
}

static const char *line_end(const pl_sheet *sheet) {
    return sheet->format == POPLINER_FORMAT_CSV ? "\r\n" : "\n";
}

/* What stands before a value. */
static void begin_value(pl_sheet *sheet) {
    pl_text *text = &sheet->text;
    if (sheet->format == POPLINER_FORMAT_JSON) {
        pl_text_add(text, sheet->column > 0 ? ", " : sheet->num_rows > 0 ? ",\n{" : "\n{");
        pl_quote_json(text, sheet->columns[sheet->column]);
        pl_text_add(text, ": ");
    } else if (sheet->column > 0) {
        pl_text_add(text, sheet->format == POPLINER_FORMAT_CSV ? "," : "\t");
    }
}

/* What stands behind it. */
static void end_value(pl_sheet *sheet) {
    sheet->column++;
    if (sheet->column < sheet->num_columns)
        return;
    pl_text_add(&sheet->text, sheet->format == POPLINER_FORMAT_JSON ? "}" : line_end(sheet));
    sheet->column = 0;
    sheet->num_rows++;
}

static void begin_packed(pl_sheet *sheet) {
    pl_text_add(&sheet->text, "{\"columns\":[");
    for (size_t i = 0; i < sheet->num_columns; i++) {
        pl_text_add(&sheet->text, i > 0 ? "," : "");
        pl_quote_json(&sheet->text, sheet->columns[i]);
    }
    pl_text_add(&sheet->text, "]");
}

/* Whether values are kept, and not written. */
static bool keeps(const pl_sheet *sheet) {
    return sheet->format == PL_FORMAT_PACKED || sheet->format == PL_FORMAT_KEPT;
}

/* Keeps a value if the sheet does. */
static bool keep(pl_sheet *sheet, pl_cell cell) {
    if (!keeps(sheet))
        return false;
    pl_cells_add(&sheet->cells, cell);
    sheet->column = (sheet->column + 1) % sheet->num_columns;
    return true;
}

void pl_sheet_begin(pl_sheet *sheet, popliner_format format, const char *section,
                    const char *const *columns, size_t num_columns) {
    assert(num_columns > 0);
    *sheet =
        (pl_sheet){.format = format,
                   .columns = columns,
                   .num_columns = num_columns,
                   .is_whole = strcmp(section, "tiles") == 0 || strcmp(section, "liveness") == 0};
    if (format == PL_FORMAT_PACKED) {
        begin_packed(sheet);
        return;
    }
    for (size_t i = 0; format == PL_FORMAT_KEPT && i < num_columns; i++)
        pl_cells_add_text(&sheet->cells, columns[i]);
    if (format == PL_FORMAT_KEPT)
        return;
    if (format == POPLINER_FORMAT_JSON) {
        pl_text_format(&sheet->text, "{\"section\": \"%s\", \"rows\": [", section);
        return;
    }
    for (size_t i = 0; i < num_columns; i++) {
        pl_text_add(&sheet->text, i == 0 ? "" : format == POPLINER_FORMAT_CSV ? "," : "\t");
        add_field(sheet, columns[i]);
    }
    pl_text_add(&sheet->text, line_end(sheet));
}

void pl_sheet_none(pl_sheet *sheet) {
    if (keep(sheet, (pl_cell){PL_CELL_NONE, {0}}))
        return;
    begin_value(sheet);
    pl_text_add(&sheet->text, sheet->format == POPLINER_FORMAT_JSON ? "null" : "");
    end_value(sheet);
}

void pl_sheet_text(pl_sheet *sheet, const char *value) {
    if (value == NULL) {
        pl_sheet_none(sheet);
        return;
    }
    if (keeps(sheet)) {
        pl_cells_add_text(&sheet->cells, value);
        sheet->column = (sheet->column + 1) % sheet->num_columns;
        return;
    }
    begin_value(sheet);
    add_field(sheet, value);
    end_value(sheet);
}

void pl_sheet_number(pl_sheet *sheet, uint64_t value) {
    if (keep(sheet, (pl_cell){PL_CELL_NUMBER, {value}}))
        return;
    begin_value(sheet);
    pl_text_format(&sheet->text, "%" PRIu64, value);
    end_value(sheet);
}

void pl_sheet_signed(pl_sheet *sheet, int64_t value) {
    if (keep(sheet, (pl_cell){PL_CELL_SIGNED, {.signed_number = value}}))
        return;
    begin_value(sheet);
    pl_text_format(&sheet->text, "%" PRId64, value);
    end_value(sheet);
}

void pl_sheet_real(pl_sheet *sheet, double value) {
    if (keep(sheet, (pl_cell){PL_CELL_REAL, {.real = value}}))
        return;
    begin_value(sheet);
    pl_text_format(&sheet->text, "%.6g", value);
    end_value(sheet);
}

void pl_sheet_flag(pl_sheet *sheet, bool value) {
    if (keep(sheet, (pl_cell){PL_CELL_FLAG, {value}}))
        return;
    begin_value(sheet);
    pl_text_add(&sheet->text, value ? "true" : "false");
    end_value(sheet);
}

void pl_sheet_index(pl_sheet *sheet, size_t value) {
    if (value == SIZE_MAX)
        pl_sheet_none(sheet);
    else
        pl_sheet_number(sheet, value);
}

void pl_sheet_id(pl_sheet *sheet, uint64_t id) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, id);
    pl_sheet_text(sheet, id == 0 ? NULL : digits);
}

popliner_status pl_sheet_finish_kept(const pl_sheet *sheet, popliner_status status,
                                     popliner_error *error) {
    assert(status != POPLINER_OK || sheet->column == 0);
    /* the text is that of cells in the making, which are none where memory was short */
    const bool failed = sheet->cells.failed || sheet->text.failed;
    return status == POPLINER_OK && failed ? pl_fail_memory(error, "a table") : status;
}

popliner_status pl_sheet_finish(pl_sheet *sheet, popliner_status status, char **result,
                                popliner_error *error) {
    assert(status != POPLINER_OK || sheet->column == 0);
    if (sheet->format == POPLINER_FORMAT_JSON)
        pl_text_add(&sheet->text, sheet->num_rows > 0 ? "\n]}\n" : "]}\n");
    if (sheet->format == PL_FORMAT_PACKED && sheet->num_columns > 0)
        pl_cells_write(&sheet->cells, sheet->num_columns, sheet->is_whole, &sheet->text);
    pl_cells_clear(&sheet->cells);
    return pl_text_finish(&sheet->text, status, result, error);
}

/* ---- values that are kept ---- */

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
