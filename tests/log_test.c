/* Lines of the log: at most 100 columns, names without their middle, the rest in further lines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/log.h"

/* What is written of a message at an indent. */
static char *written(const char *text, size_t indent, bool keeps_names) {
    char *result = NULL;
    size_t size = 0;
    log_line line = {.columns = 100, .indent = indent, .keeps_names = keeps_names};
    FILE *file = open_memstream(&result, &size);
    assert_non_null(file);
    log_line_add(&line, text);
    log_line_write(&line, file);
    fclose(file);
    return result;
}

static void expect(const char *text, size_t indent, bool keeps_names, const char *lines) {
    char *result = written(text, indent, keeps_names);
    assert_string_equal(result, lines);
    free(result);
}

#define TEN "0123456789"
#define FORTY TEN TEN TEN TEN

static void short_messages_are_one_line(void **state) {
    (void)state;
    expect("Layers found for 89% of operations", 17, false, "Layers found for 89% of operations\n");
    expect("", 17, false, "\n");
    expect(FORTY FORTY TEN TEN, 0, false, FORTY FORTY TEN TEN "\n");
    expect("tile 5, bert/encoder/7/output/dense/MatMul.", 0, false,
           "tile 5, bert/encoder/7/output/dense/MatMul.\n");
}

static void names_lose_their_middle(void **state) {
    (void)state;
    expect("Bottleneck: stage 3 on IPU 3, tile 5 at step 1628, "
           "gradients/bert/encoder/layer_0/output/dense/MatMul.",
           17, false,
           "Bottleneck: stage 3 on IPU 3, tile 5 at step 1628, gradients/bert...t/dense/MatMul.\n");
    expect("12 a/" FORTY "\u00e9\u00e9 is below b/" FORTY " and", 4, false,
           "12 a/012345678901234...567890123456789\u00e9\u00e9 is below "
           "b/" FORTY " and\n");
}

static void what_is_no_name_goes_on_in_further_lines(void **state) {
    (void)state;
    expect("--layer-name-regex '(?:^|[/.])encoder/(\\d+)' would find 8 layers, as in "
           "'bert/encoder/0/attention/self/query/MatMul' and in others, too.",
           17, false,
           "--layer-name-regex '(?:^|[/.])encoder/(\\d+)' would find 8 layers, as in\n"
           "                 'bert/encoder/0/attention/self/query/MatMul' and in others, too.\n");
    /* a file stays whole, and a word that is longer than a line does not */
    expect("/" FORTY "/" FORTY "/profile.pop: cannot be read", 0, false,
           "/" FORTY "/" FORTY "/profile.pop:\ncannot be read\n");
    expect("a/" FORTY FORTY TEN TEN ":" TEN, 0, true, "a/" FORTY FORTY TEN TEN ":" TEN "\n");
}

static void no_line_is_longer(void **state) {
    (void)state;
    static const char *const words[] = {"a",   "of",          FORTY "/" FORTY,      "\u00fc/\u00fc",
                                        FORTY, "--option=x/", FORTY FORTY FORTY TEN};
    uint64_t random = 1;
    for (size_t i = 0; i < 2000; i++) {
        char text[2000] = "";
        const size_t indent = test_below(&random, 20);
        for (size_t k = test_below(&random, 12); k > 0; k--) {
            strcat(text, words[test_below(&random, sizeof words / sizeof *words)]);
            strcat(text, k > 1 ? " " : "");
        }
        char *result = written(text, indent, false);
        const char *line = result;
        for (size_t number = 0; *line != '\0'; number++) {
            char copy[2000];
            const size_t length = strcspn(line, "\n");
            assert_int_equal(line[length], '\n');
            memcpy(copy, line, length);
            copy[length] = '\0';
            assert_true(log_columns(copy) + (number == 0 ? indent : 0) <= 100);
            assert_true(number == 0 || strspn(copy, " ") >= indent);
            line += length + 1;
        }
        free(result);
    }
}

static void messages_that_are_too_long_end_with_dots(void **state) {
    (void)state;
    log_line line = {0};
    for (size_t i = 0; i < 2000; i++)
        log_line_add(&line, TEN);
    assert_true(line.length < sizeof line.text);
    assert_string_equal(line.text + line.length - 4, "9...");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_messages_are_one_line),
        cmocka_unit_test(names_lose_their_middle),
        cmocka_unit_test(what_is_no_name_goes_on_in_further_lines),
        cmocka_unit_test(no_line_is_longer),
        cmocka_unit_test(messages_that_are_too_long_end_with_dots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
