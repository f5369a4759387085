/* The table of docs/profile-format.md, section 20, is that of the declared tables. With POPLINER_WRITE
 * in the environment, it is written anew.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"

/* Adds a name to a cell of a table, which has a line for each SEPARATOR. */
#define SEPARATOR ",\n"
static void add_name(pl_text *cell, const char *quote, const char *name) {
    const char *line = cell->length == 0 ? "" : strrchr(cell->data, '\n');
    line = line == NULL ? cell->data : line;
    const bool is_long = strlen(line) + strlen(name) > 26;
    pl_text_format(cell, "%s%s%s%s",
                   cell->length == 0 ? ""
                   : is_long         ? SEPARATOR
                                     : ", ",
                   quote, name, quote);
}

/* Adds what is required, or expected, of one table. */
static void list(const pl_table *table, bool is_required, pl_text *cell) {
    const char *untrusted = table->untrusted;
    if (untrusted != NULL && (untrusted == pl_required) == is_required)
        add_name(cell, "", "the table");
    for (size_t i = 0; i < pl_table_width(table); i++) {
        untrusted = table->columns[i].untrusted;
        if (untrusted != NULL && (untrusted == pl_required) == is_required)
            add_name(cell, "`", table->columns[i].name);
    }
}

/* Takes the first line of a cell. */
static char *take_line(char **cell) {
    char *line = *cell;
    char *end = strstr(line, SEPARATOR);
    *cell = end == NULL ? strchr(line, '\0') : end + strlen(SEPARATOR);
    if (end != NULL)
        end[1] = '\0';
    return line;
}

static void describe(pl_text *text) {
    pl_text_add(text, "| table | required | expected |\n|---|---|---|\n");
    for (size_t i = 0; i < PL_NUM_TABLES; i++) {
        const pl_table *table = &pl_tables[i];
        pl_text cells[2] = {{0}, {0}};
        if (i == PL_TABLE_PROGRAM_IDS) /* a part of the table before */
            continue;
        for (size_t k = 0; k < 2; k++) {
            pl_text_add(&cells[k], "");
            list(table, k == 0, &cells[k]);
        }
        char *rest[2] = {cells[0].data, cells[1].data};
        char name[80];
        snprintf(name, sizeof name, "`%s`", table->name);
        for (bool is_first = true; *rest[0] != '\0' || *rest[1] != '\0'; is_first = false) {
            const char *required = take_line(&rest[0]);
            const char *expected = take_line(&rest[1]);
            pl_text_format(text, "| %s%s| %s%s|%s%s |\n", is_first ? name : "", is_first ? " " : "",
                           required, *required == '\0' ? "" : " ", *expected == '\0' ? "" : " ",
                           expected);
        }
        free(cells[0].data);
        free(cells[1].data);
    }
    pl_text_add(text, "\n");
}

static void the_document_has_the_declared_tables(void **state) {
    char *path = test_project_file("docs/profile-format.md");
    size_t size = 0;
    pl_text document = {0};
    pl_text table = {0};
    uint8_t *bytes = test_read_bytes(path, &size);
    (void)state;
    pl_text_append(&document, (const char *)bytes, size);
    describe(&table);
    char *begin = strstr(document.data, "| table | required | expected |\n");
    assert_non_null(begin);
    char *end = strstr(begin, "\n\n") + 2;
    if (getenv("POPLINER_WRITE") != NULL) {
        pl_text whole = {0};
        pl_text_append(&whole, document.data, (size_t)(begin - document.data));
        pl_text_add(&whole, table.data);
        pl_text_add(&whole, end);
        test_write_bytes(path, whole.data, whole.length);
        free(whole.data);
    } else if (strncmp(begin, table.data, table.length) != 0 || begin + table.length != end) {
        fail_msg("docs/profile-format.md differs; run this test with POPLINER_WRITE=1");
    }
    free(path);
    free(bytes);
    free(document.data);
    free(table.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_document_has_the_declared_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
