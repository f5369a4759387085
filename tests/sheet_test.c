/* Tables that are written and read back: CSV by a parser of RFC 4180 that is made here, TSV line by
 * line, JSON by jansson.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sheet.h"
#include "scarce_memory.h"

enum { NUM_COLUMNS = 3, LONG_NAME = 1 << 20, MOST_FIELDS = 200 };

static const char *const columns[NUM_COLUMNS] = {"first", "the \"second\", of all", "third\tone"};

#define U "\xef\xbf\xbd" /* U+FFFD */

/* A text, what CSV and TSV show of it, and what JSON does. */
static const struct {
    const char *text, *shown, *json;
} texts[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {" blanks ", " blanks ", " blanks "},
    {"\"", "\"", "\""},
    {"\"\"quoted\"\"", "\"\"quoted\"\"", "\"\"quoted\"\""},
    {",", ",", ","},
    {"a,b,\"c\"", "a,b,\"c\"", "a,b,\"c\""},
    {"\r\n", "\r\n", "\r\n"},
    {"a\nb\rc\r\n\"d\"", "a\nb\rc\r\n\"d\"", "a\nb\rc\r\n\"d\""},
    {"\t", "\t", "\t"},
    {"\\", "\\", "\\"},
    {"\\t\\n\\\\t", "\\t\\n\\\\t", "\\t\\n\\\\t"},
    {"\\\t\\\n", "\\\t\\\n", "\\\t\\\n"},
    {"\x1b[31mred\x07\x7f", U "[31mred" U U, "\x1b[31mred\x07\x7f"},
    {"\xc2\x9b"
     "1m",
     U "1m",
     "\xc2\x9b"
     "1m"},
    {"a\xe2\x80\xae"
     "b\xe2\x81\xa6\xe2\x80\xa8",
     "a" U "b" U U,
     "a\xe2\x80\xae"
     "b\xe2\x81\xa6\xe2\x80\xa8"},
    {"\xff\xc3(\xe2\x82", U U "(" U U, U U "(" U U},
    {"\xed\xa0\x80\xc0\xaf", U U U U U, U U U U U},
    {"\xf0\x9f\x98\x80 \xc3\x84\xef\xbf\xbd", "\xf0\x9f\x98\x80 \xc3\x84" U,
     "\xf0\x9f\x98\x80 \xc3\x84" U},
    {"<script>&'=1+1", "<script>&'=1+1", "<script>&'=1+1"},
};
enum { NUM_TEXTS = sizeof texts / sizeof *texts };

/* ---- readers ---- */

/* The fields of a text, each NUL-terminated in a buffer; rows of one width. */
typedef struct table {
    char *buffer;
    const char *fields[MOST_FIELDS];
    size_t num_fields;
    size_t num_rows;
} table;

static void begin_field(table *t, char *at) {
    assert_true(t->num_fields < MOST_FIELDS);
    t->fields[t->num_fields++] = at;
}

static void end_row(table *t) {
    t->num_rows++;
    assert_int_equal(t->num_fields, t->num_rows * NUM_COLUMNS);
}

/* RFC 4180, section 2, by its letter: every line ends in CR LF, a quote stands only where a field
 * begins and ends, or twice. */
static table read_csv(const char *text) {
    table t = {.buffer = malloc(strlen(text) + 1)};
    assert_non_null(t.buffer);
    char *to = t.buffer;
    while (*text != '\0') {
        begin_field(&t, to);
        if (*text == '"') {
            for (text++; text[0] != '"' || text[1] == '"'; text++) {
                assert_int_not_equal(*text, '\0');
                text += *text == '"';
                *to++ = *text;
            }
            text++;
        } else {
            while (strchr(",\"\r\n", *text) == NULL)
                *to++ = *text++;
        }
        *to++ = '\0';
        if (*text == ',') {
            text++;
            assert_true(t.num_fields % NUM_COLUMNS != 0);
            continue;
        }
        assert_memory_equal(text, "\r\n", 2);
        text += 2;
        end_row(&t);
    }
    return t;
}

static table read_tsv(const char *text) {
    table t = {.buffer = malloc(strlen(text) + 1)};
    assert_non_null(t.buffer);
    char *to = t.buffer;
    while (*text != '\0') {
        begin_field(&t, to);
        for (; strchr("\t\n", *text) == NULL; text++) {
            if (*text == '\\') {
                text++;
                assert_non_null(strchr("tnr\\", *text));
                *to++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : *text == 'r' ? '\r' : '\\';
            } else {
                *to++ = *text;
            }
        }
        *to++ = '\0';
        assert_int_not_equal(*text, '\0');
        if (*text++ == '\n')
            end_row(&t);
    }
    return t;
}

static char *finish(pl_sheet *sheet) {
    char *text = NULL;
    assert_int_equal(pl_sheet_finish(sheet, POPLINER_OK, &text, NULL), POPLINER_OK);
    assert_non_null(text);
    return text;
}

/* ---- texts ---- */

/* Each text in each column, next to itself and another one. */
static char *write_texts(popliner_format format) {
    pl_sheet sheet;
    pl_sheet_begin(&sheet, format, "texts");
    pl_sheet_set_columns(&sheet, columns, NUM_COLUMNS);
    for (size_t i = 0; i < NUM_TEXTS; i++)
        for (size_t k = 0; k < NUM_COLUMNS; k++)
            pl_sheet_text(&sheet, texts[(i + k) % NUM_TEXTS].text);
    return finish(&sheet);
}

static void assert_fields(table (*read)(const char *text), popliner_format format) {
    char *text = write_texts(format);
    table t = read(text);
    assert_int_equal(t.num_rows, NUM_TEXTS + 1);
    for (size_t k = 0; k < NUM_COLUMNS; k++)
        assert_string_equal(t.fields[k], columns[k]);
    for (size_t i = 0; i < NUM_TEXTS; i++)
        for (size_t k = 0; k < NUM_COLUMNS; k++)
            assert_string_equal(t.fields[(i + 1) * NUM_COLUMNS + k],
                                texts[(i + k) % NUM_TEXTS].shown);
    free(t.buffer);
    free(text);
}

static void csv_is_read_back(void **state) {
    (void)state;
    assert_fields(read_csv, POPLINER_FORMAT_CSV);
}

static void tsv_is_read_back(void **state) {
    (void)state;
    assert_fields(read_tsv, POPLINER_FORMAT_TSV);
}

static json_t *read_json(const char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL)
        fail_msg("%s", error.text);
    assert_int_equal(json_object_size(document), 2);
    return document;
}

static void json_is_read_back(void **state) {
    (void)state;
    char *text = write_texts(POPLINER_FORMAT_JSON);
    json_t *document = read_json(text);
    json_t *rows = json_object_get(document, "rows");
    assert_string_equal(json_string_value(json_object_get(document, "section")), "texts");
    assert_int_equal(json_array_size(rows), NUM_TEXTS);
    for (size_t i = 0; i < NUM_TEXTS; i++) {
        json_t *row = json_array_get(rows, i);
        assert_int_equal(json_object_size(row), NUM_COLUMNS);
        for (size_t k = 0; k < NUM_COLUMNS; k++)
            assert_string_equal(json_string_value(json_object_get(row, columns[k])),
                                texts[(i + k) % NUM_TEXTS].json);
    }
    /* a line for each row, and nothing that a terminal would take for more than text */
    size_t num_lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        num_lines += *c == '\n';
        assert_true(*c == '\n' || (unsigned char)*c >= ' ');
        assert_int_not_equal(*c, 0x7f);
    }
    assert_int_equal(num_lines, NUM_TEXTS + 2);
    json_decref(document);
    free(text);
}

static void long_texts_are_whole(void **state) {
    (void)state;
    char *name = malloc(LONG_NAME + 1);
    assert_non_null(name);
    for (size_t i = 0; i < LONG_NAME; i++)
        name[i] = "a\",b\\c \n"[i % 8];
    name[LONG_NAME] = '\0';
    for (int format = 0; format < 3; format++) {
        pl_sheet sheet;
        pl_sheet_begin(&sheet, (popliner_format)format, "long");
        pl_sheet_set_columns(&sheet, columns, NUM_COLUMNS);
        for (size_t k = 0; k < NUM_COLUMNS; k++)
            pl_sheet_text(&sheet, name);
        char *text = finish(&sheet);
        if (format == POPLINER_FORMAT_JSON) {
            json_t *document = read_json(text);
            json_t *row = json_array_get(json_object_get(document, "rows"), 0);
            for (size_t k = 0; k < NUM_COLUMNS; k++)
                assert_string_equal(json_string_value(json_object_get(row, columns[k])), name);
            json_decref(document);
        } else {
            table t = format == POPLINER_FORMAT_CSV ? read_csv(text) : read_tsv(text);
            assert_int_equal(t.num_fields, 2 * NUM_COLUMNS);
            for (size_t k = 0; k < NUM_COLUMNS; k++)
                assert_string_equal(t.fields[NUM_COLUMNS + k], name);
            free(t.buffer);
        }
        free(text);
    }
    free(name);
}

/* ---- other values ---- */

static void add_values(pl_sheet *sheet) {
    pl_sheet_number(sheet, UINT64_MAX);
    pl_sheet_change(sheet, true, INT64_MIN);
    pl_sheet_share(sheet, true, 0.123456789);
    pl_sheet_index(sheet, 0);
    pl_sheet_index(sheet, SIZE_MAX);
    pl_sheet_none(sheet);
    pl_sheet_flag(sheet, true);
    pl_sheet_flag(sheet, false);
    pl_sheet_text(sheet, NULL);
    pl_sheet_id(sheet, UINT64_MAX);
    pl_sheet_id(sheet, 0);
    pl_sheet_share(sheet, true, 1);
}

static void values_are_written_as_they_are(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const char *const wanted[] = {
        [POPLINER_FORMAT_TSV] = "a\tb\tc\n18446744073709551615\t-9223372036854775808\t0.123457\n"
                                "0\t\t\ntrue\tfalse\t\n18446744073709551615\t\t1\n",
        [POPLINER_FORMAT_CSV] = "a,b,c\r\n18446744073709551615,-9223372036854775808,0.123457\r\n"
                                "0,,\r\ntrue,false,\r\n18446744073709551615,,1\r\n",
        [POPLINER_FORMAT_JSON] =
            "{\"section\": \"values\", \"rows\": [\n"
            "{\"a\": 18446744073709551615, \"b\": -9223372036854775808, \"c\": 0.123457},\n"
            "{\"a\": 0, \"b\": null, \"c\": null},\n"
            "{\"a\": true, \"b\": false, \"c\": null},\n"
            "{\"a\": \"18446744073709551615\", \"b\": null, \"c\": 1}\n]}\n",
    };
    for (int format = 0; format < 3; format++) {
        pl_sheet sheet;
        pl_sheet_begin(&sheet, (popliner_format)format, "values");
        pl_sheet_set_columns(&sheet, names, NUM_COLUMNS);
        add_values(&sheet);
        char *text = finish(&sheet);
        assert_string_equal(text, wanted[format]);
        free(text);
    }
}

static void empty_tables_have_names_alone(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const char *const wanted[] = {
        [POPLINER_FORMAT_TSV] = "a\tb\tc\n",
        [POPLINER_FORMAT_CSV] = "a,b,c\r\n",
        [POPLINER_FORMAT_JSON] = "{\"section\": \"none\", \"rows\": []}\n",
    };
    for (int format = 0; format < 3; format++) {
        pl_sheet sheet;
        pl_sheet_begin(&sheet, (popliner_format)format, "none");
        pl_sheet_set_columns(&sheet, names, NUM_COLUMNS);
        char *text = finish(&sheet);
        assert_string_equal(text, wanted[format]);
        free(text);
    }
}

/* Two columns and as many more as there are. */
static void add_columns(pl_sheet *sheet, const uint64_t *values, size_t count) {
    PL_COLUMN(sheet, text, "name", values[0] == 1 ? "one" : NULL);
    for (size_t i = 0; i < count; i++)
        PL_COLUMN(sheet, number, i == 0 ? "first" : "second", values[i]);
    PL_COLUMN(sheet, known, "known", values[1] != 3, values[1]);
}

static void columns_are_named_before_there_are_rows(void **state) {
    (void)state;
    static const uint64_t rows[][2] = {{1, 2}, {2, 3}};
    const uint64_t *volatile no_values = NULL; /* gcc would warn that none are there to be read */
    pl_sheet sheet;
    pl_sheet_begin(&sheet, POPLINER_FORMAT_TSV, "columns");
    add_columns(&sheet, no_values, 2);
    pl_sheet_end_names(&sheet);
    for (size_t i = 0; i < 2; i++)
        add_columns(&sheet, rows[i], 2);
    char *text = finish(&sheet);
    assert_string_equal(text, "name\tfirst\tsecond\tknown\none\t1\t2\t2\n\t2\t3\t\n");
    free(text);
}

static void failures_leave_no_text(void **state) {
    (void)state;
    pl_sheet sheet;
    char *text = NULL;
    pl_sheet_begin(&sheet, POPLINER_FORMAT_CSV, "failed");
    pl_sheet_set_columns(&sheet, columns, NUM_COLUMNS);
    pl_sheet_number(&sheet, 1); /* in the middle of a row */
    assert_int_equal(pl_sheet_finish(&sheet, POPLINER_ERROR_INPUT, &text, NULL),
                     POPLINER_ERROR_INPUT);
    assert_null(text);
}

/* ---- memory ---- */

static popliner_status write_all(void *user, char **text, popliner_error *error) {
    const popliner_format *format = user;
    pl_sheet sheet;
    pl_sheet_begin(&sheet, *format, "all");
    pl_sheet_set_columns(&sheet, columns, NUM_COLUMNS);
    for (size_t k = 0; k < 40; k++)
        add_values(&sheet);
    for (size_t i = 0; i < NUM_TEXTS * NUM_COLUMNS; i++)
        pl_sheet_text(&sheet, texts[i % NUM_TEXTS].text);
    return pl_sheet_finish(&sheet, POPLINER_OK, text, error);
}

static void short_memory_is_told(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        popliner_format format = (popliner_format)i;
        assert_true(scarce_memory_check("a table", write_all, &format) > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_is_read_back),
        cmocka_unit_test(tsv_is_read_back),
        cmocka_unit_test(json_is_read_back),
        cmocka_unit_test(long_texts_are_whole),
        cmocka_unit_test(values_are_written_as_they_are),
        cmocka_unit_test(empty_tables_have_names_alone),
        cmocka_unit_test(columns_are_named_before_there_are_rows),
        cmocka_unit_test(failures_leave_no_text),
        cmocka_unit_test(short_memory_is_told),
    };
    scarce_memory_prepare();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
