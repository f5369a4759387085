/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"

/* ---- One value ------------------------------------------------------------------------------- */

/* Returns what stands for a character that a terminal would obey; NULL for all others. */
static const char *in_table(uint32_t c) {
    return pl_utf8_is_control(c) ? PL_REPLACEMENT : NULL;
}

static const char *in_csv(uint32_t c, char room[PL_STAND_IN_SIZE]) {
    (void)room;
    return c == '"' ? "\"\"" : c == '\t' || c == '\r' || c == '\n' ? NULL : in_table(c);
}

static const char *in_tsv(uint32_t c, char room[PL_STAND_IN_SIZE]) {
    (void)room;
    return c == '\t'   ? "\\t"
           : c == '\n' ? "\\n"
           : c == '\r' ? "\\r"
           : c == '\\' ? "\\\\"
                       : in_table(c);
}

static void add_field(pl_text *text, popliner_format format, const char *value) {
    const bool is_csv = format == POPLINER_FORMAT_CSV;
    const char *quote = is_csv && strpbrk(value, ",\"\r\n") != NULL ? "\"" : "";
    if (!is_csv && format != POPLINER_FORMAT_TSV) {
        pl_quote_json(text, value);
        return;
    }
    pl_text_add(text, quote);
    pl_text_add_instead(text, value, is_csv ? in_csv : in_tsv);
    pl_text_add(text, quote);
}

static void add_value(const pl_sheet *sheet, pl_text *text, const pl_cell *cell) {
    const popliner_format format = sheet->format;
    switch (cell->kind) {
    case PL_CELL_NONE:
        pl_text_add(text,
                    format == POPLINER_FORMAT_CSV || format == POPLINER_FORMAT_TSV ? "" : "null");
        break;
    case PL_CELL_NUMBER:
        pl_text_add_number(text, cell->value.number);
        break;
    case PL_CELL_FLAG:
        pl_text_add(text, cell->value.number != 0 ? "true" : "false");
        break;
    case PL_CELL_TEXT:
        add_field(text, format, cell->value.text);
        break;
    case PL_CELL_SIGNED:
        pl_text_format(text, "%" PRId64, cell->value.signed_number);
        break;
    case PL_CELL_REAL:
        pl_text_format(text, "%.6g", cell->value.real);
        break;
    case PL_CELL_RATIO:
        pl_text_format(text, "%.6f", cell->value.real);
        break;
    }
}

/* ---- Names ----------------------------------------------------------------------------------- */

void pl_sheet_begin(pl_sheet *sheet, popliner_format format, const char *section) {
    const bool is_page = format == PL_FORMAT_PAGE;
    *sheet = (pl_sheet){.format = format, .is_naming = true};
    if (format != POPLINER_FORMAT_JSON && !is_page)
        return;
    sheet->json = (pl_json){.text = &sheet->text, is_page ? PL_JSON_COMPACT : PL_JSON_SPACED};
    pl_put_open(&sheet->json, NULL, '{');
    pl_put_text(&sheet->json, "section", section);
    if (!is_page)
        pl_put_open(&sheet->json, "rows", '[');
}

void pl_sheet_set_columns(pl_sheet *sheet, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_sheet_name(sheet, names[i]);
    pl_sheet_end_names(sheet);
}

void pl_sheet_name(pl_sheet *sheet, const char *name) {
    pl_arrays *arrays = &sheet->arrays;
    const char *own = pl_arrays_text(arrays, name);
    if (pl_arrays_grow(arrays, &sheet->columns, sheet->num_columns + 1, sizeof own))
        sheet->columns[sheet->num_columns++] = own;
    sheet->text.failed = sheet->text.failed || arrays->failed;
}

static const char *delimiter(popliner_format format) {
    return format == POPLINER_FORMAT_TSV ? "\t" : ",";
}

static const char *line_end(const pl_sheet *sheet) {
    return sheet->format == POPLINER_FORMAT_CSV ? "\r\n" : "\n";
}

void pl_sheet_end_names(pl_sheet *sheet) {
    pl_text *text = &sheet->text;
    sheet->is_naming = false;
    if (sheet->format == POPLINER_FORMAT_JSON || sheet->format == PL_FORMAT_KEPT)
        return;
    if (sheet->format == PL_FORMAT_PAGE) {
        pl_put_texts(&sheet->json, "columns", sheet->columns, sheet->num_columns);
        pl_put_open(&sheet->json, "rows", '[');
        return;
    }
    for (size_t i = 0; i < sheet->num_columns; i++) {
        pl_text_add(text, i > 0 ? delimiter(sheet->format) : "");
        add_value(sheet, text, &(pl_cell){PL_CELL_TEXT, {.text = sheet->columns[i]}});
    }
    pl_text_add(text, line_end(sheet));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void keep(pl_sheet *sheet, pl_cell cell) {
    if (cell.kind == PL_CELL_TEXT)
        cell = (pl_cell){PL_CELL_TEXT, {pl_names_number(&sheet->names, cell.value.text)}};
    if (pl_arrays_grow(&sheet->arrays, &sheet->cells, sheet->num_cells + 1, sizeof cell))
        sheet->cells[sheet->num_cells++] = cell;
    sheet->text.failed = sheet->arrays.failed || sheet->names.arrays.failed;
}

static void write_value(pl_sheet *sheet, const pl_cell *cell) {
    pl_text *text = &sheet->text;
    const bool is_last = sheet->column + 1 == sheet->num_columns;
    const bool is_page = sheet->format == PL_FORMAT_PAGE;
    if (sheet->format != POPLINER_FORMAT_JSON && !is_page) {
        pl_text_add(text, sheet->column > 0 ? delimiter(sheet->format) : "");
        add_value(sheet, text, cell);
        pl_text_add(text, is_last ? line_end(sheet) : "");
        return;
    }
    if (is_page && !sheet->is_whole && sheet->num_rows >= PL_MAX_PAGE_ROWS)
        return;
    if (sheet->column == 0) {
        pl_put_line(&sheet->json);
        pl_put_open(&sheet->json, NULL, is_page ? '[' : '{');
    }
    pl_put_value(&sheet->json, is_page ? NULL : sheet->columns[sheet->column]);
    add_value(sheet, text, cell);
    if (is_last)
        pl_put_close(&sheet->json);
}

/* Writes a cell, whose text is no number of a name; see pl_sheet. */
static void write_cell(pl_sheet *sheet, pl_cell cell) {
    if (sheet->text.failed) /* the names may be incomplete */
        return;
    if (sheet->format == PL_FORMAT_KEPT)
        keep(sheet, cell);
    else
        write_value(sheet, &cell);
    sheet->column = (sheet->column + 1) % sheet->num_columns;
    sheet->num_rows += sheet->column == 0;
}

void pl_sheet_none(pl_sheet *sheet) {
    write_cell(sheet, (pl_cell){PL_CELL_NONE, {0}});
}

void pl_sheet_text(pl_sheet *sheet, const char *value) {
    write_cell(sheet, (pl_cell){value == NULL ? PL_CELL_NONE : PL_CELL_TEXT, {.text = value}});
}

void pl_sheet_number(pl_sheet *sheet, uint64_t value) {
    write_cell(sheet, (pl_cell){PL_CELL_NUMBER, {value}});
}

void pl_sheet_change(pl_sheet *sheet, bool is_known, int64_t value) {
    write_cell(sheet,
               (pl_cell){is_known ? PL_CELL_SIGNED : PL_CELL_NONE, {.signed_number = value}});
}

void pl_sheet_share(pl_sheet *sheet, bool is_known, double value) {
    write_cell(sheet, (pl_cell){is_known && isfinite(value) ? PL_CELL_REAL : PL_CELL_NONE,
                                {.real = value}});
}

void pl_sheet_flag(pl_sheet *sheet, bool value) {
    write_cell(sheet, (pl_cell){PL_CELL_FLAG, {value}});
}

void pl_sheet_known(pl_sheet *sheet, bool is_known, uint64_t value) {
    write_cell(sheet, (pl_cell){is_known ? PL_CELL_NUMBER : PL_CELL_NONE, {value}});
}

void pl_sheet_index(pl_sheet *sheet, size_t value) {
    pl_sheet_known(sheet, value != SIZE_MAX, value);
}

void pl_sheet_place(pl_sheet *sheet, uint32_t value) {
    pl_sheet_known(sheet, value != UINT32_MAX, value);
}

void pl_sheet_known_ratio(pl_sheet *sheet, bool is_known, uint64_t value, uint64_t divisor) {
    if (divisor == 1 || !is_known)
        pl_sheet_known(sheet, is_known, value);
    else
        write_cell(sheet, (pl_cell){PL_CELL_RATIO, {.real = (double)value / (double)divisor}});
}

void pl_sheet_words(pl_sheet *sheet, const char *value) {
    pl_sheet_text(sheet, *value == '\0' ? NULL : value);
}

void pl_sheet_made(pl_sheet *sheet, pl_text value) {
    pl_sheet_text(sheet, value.failed || value.length == 0 ? NULL : value.data);
    sheet->text.failed = sheet->text.failed || value.failed;
    free(value.data);
}

void pl_sheet_id(pl_sheet *sheet, uint64_t id) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, id);
    pl_sheet_text(sheet, id == 0 ? NULL : digits);
}

/* ---- The end --------------------------------------------------------------------------------- */

void pl_sheet_clear(pl_sheet *sheet) {
    pl_names_free(&sheet->names);
    pl_arrays_free(&sheet->arrays);
    free(sheet->text.data);
    *sheet = (pl_sheet){0};
}

popliner_status pl_sheet_finish(pl_sheet *sheet, popliner_status status, char **result,
                                popliner_error *error) {
    assert(status != POPLINER_OK || sheet->text.failed || sheet->column == 0);
    if (sheet->format == POPLINER_FORMAT_JSON)
        pl_text_add(&sheet->text, sheet->json.has_items ? "\n]}\n" : "]}\n");
    if (sheet->format == PL_FORMAT_PAGE && status == POPLINER_OK) {
        pl_put_close(&sheet->json);
        pl_put_number(&sheet->json, "all_rows", sheet->num_rows);
        pl_put_close(&sheet->json);
    }
    pl_text text = sheet->text;
    sheet->text = (pl_text){0};
    pl_sheet_clear(sheet);
    return pl_text_finish(&text, status, result, error);
}
