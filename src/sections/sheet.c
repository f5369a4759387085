/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"
#include "show/report_parts.h"

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
    return pl_report_finish(&sheet->text, status, result, error);
}
