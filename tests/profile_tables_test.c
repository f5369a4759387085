/* The list of docs/profile-format.md, section 20, is that of the declared tables. With
 * POPLINER_WRITE in the environment, it is written anew.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"

/* Adds a word to the list, in lines of at most 100 columns. */
static void add_word(pl_text *text, const char *word) {
    const char *line = strrchr(text->data, '\n');
    line = line == NULL ? text->data : line + 1;
    pl_text_format(text, "%s%s", strlen(line) + strlen(word) > 98 ? "\n  " : " ", word);
}

/* Adds what is required, and then expected, of one table. */
static void list(const pl_table *table, pl_text *text) {
    const char *mark = "";
    for (size_t k = 0; k < 2; k++) {
        const char *first = k == 0 ? "" : "expected ";
        for (size_t i = 0; i <= pl_table_width(table); i++) {
            char word[100] = "the table";
            const char *untrusted = i == 0 ? table->untrusted : table->columns[i - 1].untrusted;
            if (untrusted == NULL || (untrusted == pl_required) != (k == 0))
                continue;
            if (*mark == '\0')
                pl_text_format(text, "- `%s`:", table->name);
            pl_text_add(text, *first != '\0' && *mark != '\0' ? ";" : mark);
            if (*first != '\0')
                add_word(text, "expected");
            if (i > 0)
                snprintf(word, sizeof word, "`%s`", table->columns[i - 1].name);
            add_word(text, word);
            first = "";
            mark = ",";
        }
    }
    pl_text_add(text, *mark == '\0' ? "" : "\n");
}

static void describe(pl_text *text) {
    pl_text_add(text, "");
    for (size_t i = 0; i < PL_NUM_TABLES; i++)
        if (i != PL_TABLE_PROGRAM_IDS) /* a part of the table before */
            list(&pl_tables[i], text);
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
    char *begin = strstr(document.data, "- `version_info`: ");
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
