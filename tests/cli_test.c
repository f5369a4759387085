/* Runs the cases of a text file, tests/cli/NAME.cli; its form is in docs/internals/tests.md.
 *
 *     cli_tests FILE [LINE]       all cases, or the one that has the line
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"
#include "test_sql.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "json_schema.h"

enum { MOST_WORDS = 80, MOST_CASES = 200, MOST_FORMS = 8, LINE_BYTES = 4096, TEXT_BYTES = 1 << 17 };

static struct {
    const char *name; /* of the file */
    char **lines;     /* from line 1 on; each without its end */
    size_t num_lines;
    size_t line; /* that is carried out */
} file;

static command_run runs[2]; /* the last, and the one before it */
static bool has_run;        /* since the case began */
static bool has_ended;      /* the case, without a failure */
static char words_text[LINE_BYTES * 2];

/* Of the next run, or of all of the next "each": standard input; standard output, or "closed";
 * standard error is a terminal. */
static struct next_run {
    char input[LINE_BYTES * 2];
    char into[LINE_BYTES];
    bool is_terminal;
} next;

/* ---- Words ---------------------------------------------------------------------------------- */

/* Appends the value of a variable; in words a blank of a path is no end of its word. */
static void append_value(const char *value, bool is_in_words, char *out) {
    for (out += strlen(out); *value != '\0'; *out++ = *value++)
        if (*value == ' ' && is_in_words)
            *out++ = '\\';
    *out = '\0';
}

/* Appends bytes in hexadecimal digits, as in "1b 5b]", and returns what follows them. */
static const char *append_bytes(const char *digits, char *out) {
    char *end;
    for (out += strlen(out); *digits != ']'; digits = end) {
        *out++ = (char)strtoul(digits, &end, 16);
        if (end == digits)
            fail_msg("no bytes: %s", digits);
    }
    *out = '\0';
    return digits + 1;
}

/* Appends what $NAME or $[BYTES] stands for, or another $ itself, and returns its end. Words have
 * `all` for $@. */
static const char *append_variable(const char *name, char *out, const char *all) {
    static const struct {
        const char *name;
        const char *value;
    } variables[] = {{"CASE", CASE_PROFILE},
                     {"DEBUG", CASE_DEBUG},
                     {"GOLDEN", PROJECT_DIRECTORY "/tests/golden"},
                     {"DATA", PROJECT_DIRECTORY "/data"},
                     {"PROJECT", PROJECT_DIRECTORY}};
    const size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ@");
    if (*name == '[')
        return append_bytes(name + 1, out);
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
    if (length > 0)
        fail_msg("$%.*s: there is no such name", (int)length, name);
    strcat(out, "$");
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
        assert_true(count + 1 < MOST_WORDS);
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

/* The words of a line, whose variables have their values. */
static const char **words_of(const char *line) {
    static const char *words[MOST_WORDS];
    expand(line, words_text, "");
    split_words(words_text, words);
    return words;
}

/* Takes the first word of a line, a name, and returns what follows it. */
static const char *take_name(const char *line, char name[LINE_BYTES]) {
    const size_t length = strcspn(line, " ");
    snprintf(name, LINE_BYTES, "%.*s", (int)length, line);
    return line + length + (line[length] == ' ');
}

/* Replaces \n, \r and \t; a last \ only keeps the blank before it. */
static const char *unescape(const char *text) {
    static char plain[TEXT_BYTES];
    char *out = plain;
    for (; *text != '\0' && strcmp(text, "\\") != 0; text++)
        *out++ = *text != '\\'    ? *text
                 : *++text == 'n' ? '\n'
                 : *text == 't'   ? '\t'
                 : *text == 'r'   ? '\r'
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
        fail_msg("exit status %d instead of %d: %s%s", runs[0].status, status, runs[0].err,
                 runs[0].out);
    if (*rest == ' ') {
        expand(rest + 1, sentence, NULL);
        assert_refused(&runs[0], status, unescape(sentence));
    }
}

/* Makes room for another run. */
static void keep_run(void) {
    const command_run before = runs[1];
    runs[1] = runs[0];
    runs[0] = before;
    has_run = true;
}

/* Runs the command with what follows the '>'. A run that no status follows must succeed. */
static void run(const char *text, const char *all) {
    char given[LINE_BYTES];
    expand(text, given, all);
    const char *const *words = words_of(given); /* with the variables of a row */
    keep_run();
    if (next.is_terminal)
        run_command_on_terminal(&runs[0], words);
    else if (*next.into != '\0')
        run_command_into(&runs[0], strcmp(next.into, "closed") == 0 ? NULL : next.into, words);
    else
        run_command_from(&runs[0], *next.input != '\0' ? next.input : NULL, words);
    if (!next.is_terminal)
        assert_is_log(&runs[0]);
    memset(&next, 0, sizeof next);
}

/* Whether two logs are alike but for the time, the first nine bytes of each line. */
static bool is_same_log(const char *a, const char *b) {
    while (strlen(a) > 9 && strlen(b) > 9) {
        const size_t length = strcspn(a + 9, "\n") + 1;
        if (strncmp(a + 9, b + 9, length) != 0)
            return false;
        a += 9 + length;
        b += 9 + length;
    }
    return strcmp(a, b) == 0;
}

/* The last two runs end, print and report alike, or only print alike. */
static void check_same(bool is_of_out) {
    const command_run *a = &runs[1];
    const command_run *b = &runs[0];
    if (a->out_size != b->out_size || memcmp(a->out, b->out, a->out_size) != 0 ||
        (!is_of_out && (a->status != b->status || !is_same_log(a->err, b->err))))
        fail_msg("not the same: %d %s%s\n---- and %d %s%s", a->status, a->err, a->out, b->status,
                 b->err, b->out);
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
        fail_msg("%s is: %s", what, text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *printed_json(void) {
    json_error_t error;
    json_t *json = json_loads(runs[0].out, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fail_msg("no JSON: %s: %s", error.text, runs[0].out);
    return json;
}

/* The item of a document at "KEY.INDEX.KEY"; NULL if there is none. A last "#" is the number of
 * items. The result is a new reference. */
static json_t *item_at(json_t *json, const char *path, size_t length) {
    const json_t *at = json;
    char key[LINE_BYTES];
    for (const char *c = path; at != NULL && c < path + length;) {
        const size_t size = strcspn(c, ". ");
        snprintf(key, sizeof key, "%.*s", (int)size, c);
        if (strcmp(key, "#") == 0)
            return json_integer(
                (json_int_t)(json_is_array(at) ? json_array_size(at) : json_object_size(at)));
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        c += size + 1;
    }
    return json_incref((json_t *)at);
}

/* "PATH VALUE": the item is so; "PATH" alone: there is one, or there is none. */
static void check_json(const char *expected, bool is_wanted) {
    char text[LINE_BYTES];
    json_t *json = printed_json();
    const size_t length = strcspn(expected, " ");
    json_t *item = item_at(json, expected, length);
    expand(expected + length, text, NULL);
    json_t *value = *text == '\0' ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
    if (*text != '\0' && value == NULL)
        fail_msg("no JSON: %s", text);
    const bool is_so =
        value == NULL ? item != NULL
        : json_is_number(value)
            ? json_is_number(item) && json_number_value(item) == json_number_value(value)
            : json_equal(item, value) != 0;
    if (is_so != is_wanted)
        fail_msg("%.*s is %s", (int)length, expected,
                 item == NULL ? "nothing" : json_dumps(item, JSON_ENCODE_ANY));
    json_decref(value);
    json_decref(item);
    json_decref(json);
}

/* "NAME [DEFINITION]": what was printed is as docs/NAME.schema.json says. */
static void check_schema(const char *name) {
    char path[LINE_BYTES];
    char complaint[SCHEMA_COMPLAINT_SIZE];
    const size_t length = strcspn(name, " ");
    snprintf(path, sizeof path, PROJECT_DIRECTORY "/docs/%.*s.schema.json", (int)length, name);
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (schema == NULL)
        fail_msg("no schema %s", path);
    json_t *json = printed_json();
    if (!schema_accepts(schema, NULL, json, complaint) ||
        (name[length] == ' ' && !schema_accepts(schema, name + length + 1, json, complaint)))
        fail_msg("not as the schema says: %s", complaint);
    json_decref(json);
    json_decref(schema);
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
        assert_true(file.line <= file.num_lines); /* a '.' ends it */
        strcat(strcat(text, line_at(file.line)), "\n");
    }
    test_write_bytes(name, text, strlen(text));
}

/* Checks the last run by "STATUS SENTENCE", "out TEXT" or "err TEXT". */
static void check(const char *expected) {
    if (isdigit((unsigned char)*expected))
        check_status(expected);
    else
        check_text(strncmp(expected, "out ", 4) == 0 ? "out" : "err", expected + 4, true);
}

/* "each CHECK FORM", where CHECK is a status, "out", "err" or "same", and further lines "and FORM".
 * Rows follow until an empty line, "ARGUMENTS | EXPECTED" or "ARGUMENTS": each form is run with
 * each row's arguments. */
static void run_each(const char *line) {
    const char *forms[MOST_FORMS] = {strchr(line, ' ')};
    size_t num_forms = 1;
    char words[LINE_BYTES];
    char expected[2 * LINE_BYTES];
    const bool is_same = strncmp(line, "same ", 5) == 0;
    const struct next_run kept = next;
    for (const char *form; (form = after(line_at(file.line + 1), "and")) != NULL; file.line++) {
        assert_true(num_forms < MOST_FORMS);
        forms[num_forms++] = form;
    }
    for (size_t i = 0; file.line < file.num_lines && *line_at(file.line + 1) != '\0'; i++) {
        const char *row = line_at(++file.line);
        const char *bar = strstr(row, " | ");
        if (!test_takes_case(i, 3))
            continue;
        take_name(line, expected);
        if (bar != NULL)
            strcat(strcat(expected, " "), bar + 3);
        snprintf(words, sizeof words, "%.*s",
                 (int)(bar != NULL ? bar - row : (ptrdiff_t)strlen(row)), row);
        for (size_t f = 0; f < num_forms; f++) {
            next = kept;
            run(forms[f], words);
            if (!is_same)
                check(expected);
            else if (runs[0].status > 1)
                fail_msg("status %d: %s", runs[0].status, runs[0].err);
            else if (f > 0)
                check_same(false);
        }
    }
}

static void run_once(const char *rest) {
    run(rest, "");
    const bool has_status = isdigit((unsigned char)*line_at(file.line + 1));
    if (has_status)
        file.line++;
    if (has_status || strcmp(line_at(file.line + 1), "same") != 0)
        check_status(has_status ? line_at(file.line) : "0");
}

/* "NAME TEXT": a file of one line, without an end. */
static void write_line(const char *rest) {
    char name[LINE_BYTES];
    expand(take_name(rest, name), words_text, NULL);
    test_write_bytes(name, words_text, strlen(words_text));
}

/* What files hold, one after another, takes the place of what a run printed. */
static void print_files(const char *rest) {
    keep_run();
    runs[0].status = 0;
    *runs[0].err = '\0';
    runs[0].out_size = 0;
    for (const char *const *words = words_of(rest); *words != NULL; words++) {
        size_t size;
        uint8_t *bytes = test_read_bytes(*words, &size);
        runs[0].out_room = runs[0].out_size + size + 1;
        runs[0].out = realloc(runs[0].out, runs[0].out_room);
        assert_non_null(runs[0].out);
        memcpy(runs[0].out + runs[0].out_size, bytes, size);
        runs[0].out_size += size;
        runs[0].out[runs[0].out_size] = '\0';
        free(bytes);
    }
}

/* The files in the case's folder, or in one in it: "FOLDER/ NAMES". */
static void check_left(const char *rest) {
    char folder[LINE_BYTES];
    const char *names = take_name(rest, folder);
    const bool has_folder = *folder != '\0' && folder[strlen(folder) - 1] == '/';
    assert_holds(has_folder ? folder : ".", has_folder ? names : rest);
}

static void take_input(const char *rest) {
    expand(rest, next.input, NULL);
}

static void take_output(const char *rest) {
    strcpy(next.into, rest);
    if (*rest != '/' && strcmp(rest, "closed") != 0)
        test_write_bytes(rest, "", 0);
}

static void take_terminal(const char *rest) {
    (void)rest;
    next.is_terminal = true;
}

/* "FROM TO [BYTES]": a copy of a file, or of its first bytes. */
static void copy(const char *rest) {
    const char *const *words = words_of(rest);
    copy_file(words[0], words[1], words[2] != NULL ? strtoul(words[2], NULL, 10) : SIZE_MAX);
}

static void make_link(const char *rest) {
    const char *const *words = words_of(rest);
    assert_int_equal(symlink(words[0], words[1]), 0);
}

static void remove_file(const char *rest) {
    assert_int_equal(remove(rest), 0);
}

static void change(const char *rest) {
    char name[LINE_BYTES];
    const char *sql = take_name(rest, name);
    sqlite3 *database = test_open_sql(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    test_run_sql(database, sql);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* What a line begins with, if it does not look at the last run. */
static const struct {
    const char *name;
    void (*carry_out)(const char *rest);
} line_words[] = {{">", run_once},
                  {"each", run_each},
                  {"input", take_input},
                  {"into", take_output},
                  {"terminal", take_terminal},
                  {"file", write_file},
                  {"line", write_line},
                  {"copy", copy},
                  {"link", make_link},
                  {"dir", make_directory},
                  {"rm", remove_file},
                  {"sql", change},
                  {"left", check_left},
                  {"cat", print_files}};

/* What looks at the last run; "no ..." expects the contrary. */
static bool look(const char *line) {
    const char *contrary = after(line, "no");
    const char *rest;
    line = contrary != NULL ? contrary : line;
    if ((rest = after(line, "out")) != NULL)
        check_text("out", rest, contrary == NULL);
    else if ((rest = after(line, "err")) != NULL)
        check_text("err", rest, contrary == NULL);
    else if ((rest = after(line, "json")) != NULL)
        check_json(rest, contrary == NULL);
    else if ((rest = after(line, "same")) != NULL)
        check_same(strcmp(rest, "out") == 0);
    else if ((rest = after(line, "schema")) != NULL)
        check_schema(rest);
    return rest != NULL;
}

static void carry_out(const char *line) {
    if (*line == '\0' || *line == '#' || (has_run && look(line)))
        return;
    for (size_t i = 0; i < sizeof line_words / sizeof *line_words; i++) {
        const char *rest = after(line, line_words[i].name);
        if (rest != NULL) {
            line_words[i].carry_out(rest);
            return;
        }
    }
    fail_msg("no such line");
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static size_t first_line; /* of the case that begins */
static const char *program;

static int begin(void **state) {
    first_line = *(const size_t *)*state;
    has_run = false;
    has_ended = false;
    memset(&next, 0, sizeof next);
    return make_scratch(state) != 0 || chdir(*state) != 0;
}

static int end(void **state) {
    if (!has_ended)
        fprintf(stderr, "%s:%zu: %s\nthis case alone: %s %s %zu\n", file.name, file.line,
                line_at(file.line), program, file.name, file.line);
    return chdir("/") != 0 || test_end_directory(state) != 0;
}

/* A line "glpk" ends the case if GLPK is not there. */
static void run_case(void **state) {
    (void)state;
    for (file.line = first_line + 1;
         file.line <= file.num_lines && after(line_at(file.line), "==") == NULL; file.line++) {
        if (strcmp(line_at(file.line), "glpk") == 0 && !test_has_glpk())
            break;
        if (strcmp(line_at(file.line), "glpk") != 0)
            carry_out(line_at(file.line));
    }
    has_ended = true;
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
    program = arguments[0];
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
    if (count == 0)
        return 2;
    const int failed = _cmocka_run_group_tests(arguments[1], tests, count, NULL, NULL);
    test_report_cases();
    return failed;
}
