/* Runs the cases of a text file, tests/cli/NAME.cli; its form is in docs/internals/tests.md.
 *
 *     cli_tests FILE [LINE]       all cases, or the one that has the line
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"

enum { MOST_WORDS = 80, MOST_CASES = 200, MOST_FORMS = 4, LINE_BYTES = 4096, TEXT_BYTES = 1 << 17 };

static struct {
    const char *name; /* of the file */
    char **lines;     /* from line 1 on; each without its end */
    size_t num_lines;
    size_t line; /* that is carried out */
} file;

static command_run runs[2]; /* the last, and the one before it */
static bool has_run;        /* since the case began */
static char words_text[LINE_BYTES * 2];
static const char *input; /* of the next run, or NULL */

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "%s:%zu: %s\nthis case alone: cli_tests %s %zu\n", file.name, file.line,   \
                file.lines[file.line], file.name, file.line);                                      \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* ---- Words ---------------------------------------------------------------------------------- */

/* Appends the value of a variable; in words a blank of a path is no end of its word. */
static void append_value(const char *value, bool is_in_words, char *out) {
    for (out += strlen(out); *value != '\0'; *out++ = *value++)
        if (*value == ' ' && is_in_words)
            *out++ = '\\';
    *out = '\0';
}

/* Appends what $NAME stands for, and returns the end of the name. Words have `all` for $@. */
static const char *append_variable(const char *name, char *out, const char *all) {
    static const struct {
        const char *name;
        const char *value;
    } variables[] = {{"CASE", CASE_PROFILE},
                     {"DEBUG", CASE_DEBUG},
                     {"GOLDEN", GOLDEN_DIRECTORY},
                     {"DATA", PROJECT_DIRECTORY "/data"},
                     {"PROJECT", PROJECT_DIRECTORY}};
    const size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ@");
    if (length == 1 && *name == '@' && all != NULL) {
        strcat(out, all);
        return name + 1;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strlen(variables[i].name) == length && memcmp(variables[i].name, name, length) == 0) {
            append_value(variables[i].value, all != NULL, out);
            return name + length;
        }
    if (length == 3 && memcmp(name, "DIR", 3) == 0) {
        strcat(out, in_scratch(""));
        out[strlen(out) - 1] = '\0'; /* the slash */
        return name + length;
    }
    FAIL("$%.*s: there is no such name", (int)length, name);
    return name;
}

/* Writes a text with its variables; `all` stands for $@ in words, and is NULL elsewhere. */
static void expand(const char *text, char *out, const char *all) {
    *out = '\0';
    while (*text != '\0') {
        const size_t length = strcspn(text, "$");
        strncat(out, text, length);
        text += length;
        if (*text == '$')
            text = append_variable(text + 1, out, all);
    }
}

/* Divides a text into words as a shell does: blanks, '...', "...", \. They end with NULL. */
static void split_words(char *text, const char **words) {
    size_t count = 0;
    char *out = text;
    for (const char *c = text; *c != '\0';) {
        while (*c == ' ')
            c++;
        if (*c == '\0')
            break;
        if (count + 1 == MOST_WORDS)
            FAIL("more than %d words", MOST_WORDS - 1);
        words[count++] = out;
        for (char quote = '\0'; *c != '\0' && (quote != '\0' || *c != ' '); c++) {
            if (*c == quote)
                quote = '\0';
            else if (quote == '\0' && (*c == '\'' || *c == '"'))
                quote = *c;
            else
                *out++ = *c == '\\' && quote != '\'' && c[1] != '\0' ? *++c : *c;
        }
        c += *c != '\0';
        *out++ = '\0';
    }
    words[count] = NULL;
}

/* Replaces \n and \t. */
static const char *unescape(const char *text) {
    static char plain[TEXT_BYTES];
    char *out = plain;
    for (; *text != '\0'; text++)
        *out++ = *text != '\\' || text[1] == '\0' ? *text
                 : *++text == 'n'                 ? '\n'
                 : *text == 't'                   ? '\t'
                                                  : *text;
    *out = '\0';
    return plain;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* Compares the last run with a status, and a sentence if it must be all that the run says. */
static void check_status(const char *expected) {
    char sentence[LINE_BYTES];
    char *rest;
    const int status = (int)strtol(expected, &rest, 10);
    if (runs[0].status != status)
        FAIL("exit status %d instead of %d: %s%s", runs[0].status, status, runs[0].err,
             runs[0].out);
    if (*rest == ' ') {
        expand(rest + 1, sentence, NULL);
        assert_refused(&runs[0], status, unescape(sentence));
    }
}

/* Runs the command with what follows the '>'. A run that no status follows must succeed. */
static void run(const char *text, const char *all) {
    const char *words[MOST_WORDS];
    char given[LINE_BYTES];
    expand(text, given, all);
    expand(given, words_text, ""); /* those of a row */
    split_words(words_text, words);
    const command_run before = runs[1];
    runs[1] = runs[0];
    runs[0] = before;
    if (input != NULL)
        run_command_from(&runs[0], input, words);
    else
        run_command(&runs[0], words);
    input = NULL;
    has_run = true;
}

/* Removes the times from a log. */
static char *without_times(const char *log) {
    char *text = calloc(1, strlen(log) + 1);
    assert_non_null(text);
    for (; *log != '\0'; log += strcspn(log, "\n"), log += *log == '\n')
        if (strlen(log) > 9)
            strncat(text, log + 9, strcspn(log + 9, "\n") + 1);
    return text;
}

/* The last two runs end, print and report alike. */
static void check_same(void) {
    char *logs[2] = {without_times(runs[0].err), without_times(runs[1].err)};
    const bool is_same = runs[0].status == runs[1].status &&
                         strcmp(runs[0].out, runs[1].out) == 0 && strcmp(logs[0], logs[1]) == 0;
    if (!is_same)
        FAIL("not the same: %d %s%s\n---- and %d %s%s", runs[1].status, logs[1], runs[1].out,
             runs[0].status, logs[0], runs[0].out);
    free(logs[0]);
    free(logs[1]);
}

/* "out TEXT": contains it; "out = TEXT": is it; "no out TEXT": does not contain it. */
static void check_text(const char *what, const char *expected, bool is_wanted) {
    static char expanded[LINE_BYTES];
    const char *text = strcmp(what, "out") == 0 ? runs[0].out : runs[0].err;
    const bool is_whole = strncmp(expected, "= ", 2) == 0 || strcmp(expected, "=") == 0;
    expand(expected + (is_whole ? strcspn(expected, " ") : 0), expanded, NULL);
    const char *wanted = unescape(expanded + (is_whole && *expanded == ' '));
    const bool found = is_whole ? strcmp(text, wanted) == 0 : strstr(text, wanted) != NULL;
    if (found != is_wanted)
        FAIL("%s is: %s", what, text);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

static const char *line_at(size_t line) {
    return line <= file.num_lines ? file.lines[line] : "== ";
}

static const char *after(const char *line, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || (line[length] != ' ' && line[length] != '\0'))
        return NULL;
    return line + length + (line[length] == ' ');
}

/* Writes the lines until one that is "." into a file, which may be executable text of any kind. */
static void write_file(const char *name) {
    char text[TEXT_BYTES] = "";
    for (file.line++; strcmp(line_at(file.line), ".") != 0; file.line++) {
        if (file.line > file.num_lines)
            fail_msg("%s: no '.' ends the file %s", file.name, name);
        strcat(strcat(text, line_at(file.line)), "\n");
    }
    test_write_bytes(in_scratch(name), text, strlen(text));
}

/* Checks the last run by "STATUS SENTENCE", "out TEXT" or "err TEXT". */
static void check(const char *expected) {
    if (isdigit((unsigned char)*expected))
        check_status(expected);
    else
        check_text(strncmp(expected, "out ", 4) == 0 ? "out" : "err", expected + 4, true);
}

/* "each CHECK FORM", where CHECK is a status, "out" or "err", and further lines "and FORM". Rows
 * follow until an empty line, "ARGUMENTS | EXPECTED": each form is run with each row's arguments. */
static void run_each(const char *line) {
    const char *forms[MOST_FORMS] = {strchr(line, ' ')};
    size_t num_forms = 1;
    char words[LINE_BYTES];
    char expected[2 * LINE_BYTES];
    for (const char *form; (form = after(line_at(file.line + 1), "and")) != NULL; file.line++) {
        if (num_forms == MOST_FORMS)
            FAIL("more than %d forms", MOST_FORMS);
        forms[num_forms++] = form;
    }
    for (size_t i = 0; *line_at(file.line + 1) != '\0'; i++) {
        const char *row = line_at(++file.line);
        const char *bar = strstr(row, " | ");
        if (!test_takes_case(i, 3))
            continue;
        if (bar == NULL || forms[0] == NULL)
            FAIL("no ' | ', or nothing to run");
        snprintf(words, sizeof words, "%.*s", (int)(bar - row), row);
        snprintf(expected, sizeof expected, "%.*s%s", (int)strcspn(line, " ") + 1, line, bar + 3);
        for (size_t f = 0; f < num_forms; f++) {
            run(forms[f], words);
            check(expected);
        }
    }
}

static void carry_out(const char *line) {
    static char names[10][LINE_BYTES];
    const char *words[MOST_WORDS];
    const char *rest;
    if (*line == '\0' || *line == '#')
        return;
    if ((rest = after(line, ">")) != NULL) {
        run(rest, "");
        const bool has_status = isdigit((unsigned char)*line_at(file.line + 1));
        if (has_status)
            file.line++;
        if (has_status || strcmp(line_at(file.line + 1), "same") != 0)
            check_status(has_status ? line_at(file.line) : "0");
    } else if ((rest = after(line, "file")) != NULL) {
        write_file(rest);
    } else if ((rest = after(line, "line")) != NULL) { /* NAME TEXT: a file of one line */
        const size_t length = strcspn(rest, " ");
        snprintf(names[1], LINE_BYTES, "%.*s", (int)length, rest);
        expand(rest + length + (rest[length] == ' '), words_text, "");
        test_write_bytes(in_scratch(names[1]), words_text, strlen(words_text));
    } else if ((rest = after(line, "each")) != NULL) {
        run_each(rest);
    } else if ((rest = after(line, "left")) != NULL) {
        assert_holds(in_scratch(""), rest);
    } else if ((rest = after(line, "input")) != NULL) {
        expand(rest, names[0], NULL);
        input = *names[0] == '/' ? names[0] : strcpy(names[0], in_scratch(rest));
    } else if ((rest = after(line, "copy")) != NULL) {
        expand(rest, words_text, "");
        split_words(words_text, words);
        copy_file(words[0], in_scratch(words[1]), SIZE_MAX);
    } else if ((rest = after(line, "sql")) != NULL) {
        snprintf(names[1], LINE_BYTES, "%.*s", (int)strcspn(rest, " "), rest);
        change_database(in_scratch(names[1]), rest + strlen(names[1]));
    } else if (strcmp(line, "same") == 0) {
        check_same();
    } else if (has_run && (rest = after(line, "out")) != NULL) {
        check_text("out", rest, true);
    } else if (has_run && (rest = after(line, "err")) != NULL) {
        check_text("err", rest, true);
    } else if (has_run && (rest = after(line, "no out")) != NULL) {
        check_text("out", rest, false);
    } else if (has_run && (rest = after(line, "no err")) != NULL) {
        check_text("err", rest, false);
    } else {
        FAIL("no such line");
    }
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static size_t first_line; /* of the case that begins */

static int begin(void **state) {
    first_line = *(const size_t *)*state;
    has_run = false;
    input = NULL;
    return make_scratch(state) != 0 || chdir(*state) != 0;
}

static int end(void **state) {
    return chdir("/") != 0 || test_end_directory(state) != 0;
}

static void run_case(void **state) {
    (void)state;
    for (file.line = first_line + 1;
         file.line <= file.num_lines && after(line_at(file.line), "==") == NULL; file.line++)
        carry_out(line_at(file.line));
}

static void read_lines(const char *path) {
    size_t size;
    char *text = (char *)test_read_bytes(path, &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    file.lines = calloc(size + 3, sizeof *file.lines);
    assert_non_null(file.lines);
    file.name = path;
    file.lines[0] = text;
    for (char *line = text; *line != '\0';) {
        char *end = line + strcspn(line, "\n");
        const bool is_last = *end == '\0';
        file.lines[++file.num_lines] = line;
        *end = '\0';
        line = end + !is_last;
    }
}

int main(int num_arguments, char **arguments) {
    static struct CMUnitTest tests[MOST_CASES];
    static size_t lines[MOST_CASES];
    size_t count = 0;
    if (num_arguments < 2) {
        fprintf(stderr, "Usage: %s FILE [LINE] [--cases=quick|full|nightly]\n", arguments[0]);
        return 2;
    }
    const size_t chosen = num_arguments > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    if (!test_choose_cases(num_arguments - 2 - (chosen > 0), arguments + 2 + (chosen > 0)))
        return 2;
    read_lines(arguments[1]);
    for (size_t line = 1; line <= file.num_lines; line++) {
        if (after(file.lines[line], "==") == NULL)
            continue;
        if (count == MOST_CASES)
            return 2;
        if (chosen > 0 && count > 0 && line <= chosen)
            count = 0; /* the last case that begins before the chosen line */
        else if (chosen > 0 && line > chosen)
            break;
        lines[count] = line;
        tests[count] = (struct CMUnitTest){.name = file.lines[line] + 3,
                                           .test_func = run_case,
                                           .setup_func = begin,
                                           .teardown_func = end,
                                           .initial_state = &lines[count]};
        count++;
    }
    return count == 0 ? 2 : _cmocka_run_group_tests(arguments[1], tests, count, NULL, NULL);
}
