/* The rows of the table of options, and their relations: each is in the help, survives a file
 * of arguments, and gives short messages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_data.h"

enum { COLUMNS = 100, HELP_COLUMNS = 72, MOST_ARGUMENTS = 12, TEXT = 300 };

/* Values of options whose kinds have no words; "" for flags. */
static const char *sample_value(const option *o) {
    static const struct {
        const char *name;
        const char *value;
    } samples[] = {
        {"evaluate", "0"},
        {"compare", "old"},
        {"compiled", "dir"},
        {"report", "a"},
        {"ipu", "0"},
        {"layer-name-regex", "x(\\d)"},
        {"inputs-regex-layer-0", "x"},
        {"num-ipus", "4"},
        {"mem-per-tile", "600K"},
        {"slack", "2"},
        {"pareto", "memory,cycles"},
        {"require", "cut:0"},
        {"device-map", "interleaved:2"},
        {"ipu-speed", "2"},
        {"bandwidth", "64"},
        {"micro-batches", "8"},
        {"total-ipus", "4"},
        {"batch", "64/4"},
        {"reserve", "5%"},
        {"output", "tiles"},
        {"modules", "a,b.{},c"},
        {"layers", "0..1"},
        {"fail-on", "growth=2%"},
        {"time-limit", "90s"},
        {"max-memory", "4GB"},
        {"threads", "2"},
        {"save-to-file", "file"},
        {"help", "all"},
        {"solver", "dp"},
        {"recompute", "full"},
        {"schedule", "popart"},
    };
    kind_word word;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(samples[i].name, o->name) == 0)
            return samples[i].value;
    if (o->value == NULL)
        return "";
    assert_true(kind_word_at(o->kind, 0, &word));
    return word.name;
}

static const option *row_of(const char *name, size_t length) {
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && strlen(option_table[i].name) == length &&
            memcmp(option_table[i].name, name, length) == 0)
            return &option_table[i];
    fail_msg("no option %.*s", (int)length, name);
    return NULL;
}

/* A command line. */
typedef struct line {
    int count;
    char *arguments[MOST_ARGUMENTS + 1];
} line;

static void add(line *l, const char *format, const char *first, const char *second) {
    char text[TEXT];
    assert_true(l->count < MOST_ARGUMENTS);
    snprintf(text, sizeof text, format, first, second);
    l->arguments[l->count++] = strdup(text);
}

static void add_option(line *l, const char *name, const char *value) {
    add(l, *value == '\0' ? "--%s" : "--%s=%s", name, value);
}

static void clear(line *l) {
    for (int i = 0; i < l->count; i++)
        free(l->arguments[i]);
    *l = (line){0};
}

/* ---- help ---- */

static void every_row_has_help_that_fits(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        if (o->kind == NULL)
            continue;
        kind_word topic;
        count++;
        assert_true(strlen(o->help) <= HELP_COLUMNS);
        assert_true(kind_help.parse(o->name, &(const char *){NULL}, &(problem){.row = o}));
        for (const char *name = o->topics; *name != '\0'; name += strspn(name, " ")) {
            const size_t length = strcspn(name, " ");
            bool is_found = false;
            for (int k = 0; kind_word_at(&kind_help, k, &topic); k++)
                is_found = is_found ||
                           (strlen(topic.name) == length && memcmp(topic.name, name, length) == 0);
            if (!is_found)
                fail_msg("--%s: no topic %.*s", o->name, (int)length, name);
            name += length;
        }
        kind_word word;
        for (int k = 0; kind_word_at(o->kind, k, &word); k++) {
            assert_non_null(word.help);
            assert_true(strlen(word.help) <= HELP_COLUMNS);
            if (word.form != NULL)
                assert_memory_equal(word.form, word.name, strlen(word.name));
        }
        /* no two of the words say the same */
        kind_word other;
        for (int k = 0; kind_word_at(o->kind, k, &word); k++)
            for (int m = 0; m < k && kind_word_at(o->kind, m, &other); m++)
                assert_string_not_equal(word.help, other.help);
    }
    assert_int_equal(count, 50);
}

static void help_on_every_topic_fits(void **state) {
    (void)state;
    kind_word topic;
    for (int i = 0; kind_word_at(&kind_help, i, &topic); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        help_print(file, topic.name);
        fclose(file);
        for (const char *row = text; *row != '\0'; row += strcspn(row, "\n") + 1)
            if (strcspn(row, "\n") > 80)
                fail_msg("--help %s: %.*s", topic.name, (int)strcspn(row, "\n"), row);
        free(text);
    }
}

/* ---- values ---- */

/* The member of an option after one value. */
static bool parse_one(const option *o, const char *value, options *result) {
    problem why = {.row = o};
    *result = options_usual;
    return o->kind->parse(value, (char *)result + o->offset, &why);
}

static bool has_word(const option *o, const char *text) {
    kind_word word;
    for (int i = 0; o->kind != NULL && text != NULL && kind_word_at(o->kind, i, &word); i++)
        if (strcmp(word.name, text) == 0)
            return true;
    return false;
}

static void defaults_are_as_the_help_says(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        options parsed;
        if (!has_word(o, o->otherwise))
            continue;
        assert_true(parse_one(o, o->otherwise, &parsed));
        if (o->kind == &kind_memory_model)
            fail_msg("--memory-model has a default of its own by action");
        parsed.schedule.text = parsed.recompute.text = NULL; /* which were not given */
        assert_memory_equal(&parsed, &options_usual, sizeof parsed);
        count++;
    }
    assert_true(count >= 6);
}

/* The arguments after the command's name, in a file. */
static char *file_of(const line *l) {
    char *text = calloc((size_t)l->count, TEXT);
    assert_non_null(text);
    for (int i = 1; i < l->count; i++) {
        strcat(text, "'");
        strcat(text, l->arguments[i]);
        strcat(text, "'\n");
    }
    return text;
}

/* Both were given the same options, with the same values. */
static void assert_same_options(const options *own, const options *other) {
    assert_string_equal(own->costs != NULL ? own->costs : own->profile,
                        other->costs != NULL ? other->costs : other->profile);
    assert_int_equal(own->outputs.count, other->outputs.count);
    for (size_t i = 0; i < num_options; i++) {
        const repeated *texts = &own->given[i];
        if (option_table[i].kind == NULL)
            continue;
        assert_int_equal(texts->count, other->given[i].count);
        for (size_t k = 0; k < texts->count; k++)
            if (texts->texts[k] != NULL)
                assert_string_equal(texts->texts[k], other->given[i].texts[k]);
    }
}

/* Options that a value needs, tried in turn. */
static const char *const contexts[][3] = {
    {NULL},
    {"solve", NULL},
    {"evaluate=0", NULL},
    {"diagnose", NULL},
    {"compare=old", NULL},
    {"compare=old", "solve", NULL},
    {"solve", "schedule=popart", NULL},
    {"evaluate=0", "schedule=popart", NULL},
    {"solve", "total-ipus=4", "batch=64"},
    {"solve", "total-ipus=4", "micro-batches=4"},
    {"solve", "num-ipus=4", NULL},
    {"solve", "output=optimum", NULL},
    {"output=page=page", NULL},
    {"output=tiles", NULL},
};
enum { NUM_CONTEXTS = sizeof contexts / sizeof *contexts };

/* Begins a line with an input, a context, and no option twice. */
static void begin(line *l, size_t context, const char *input, const char *without) {
    add(l, "popliner", "", "");
    add(l, "%s", input, "");
    for (size_t i = 0; i < 3 && contexts[context][i] != NULL; i++) {
        const char *own = contexts[context][i];
        const size_t length = strcspn(own, "=");
        if (strlen(without) != length || memcmp(without, own, length) != 0)
            add(l, "--%s", own, "");
    }
}

static void every_word_survives_a_file(void **state) {
    char path[TEXT];
    snprintf(path, sizeof path, "%s/options", (const char *)*state);
    size_t count = 0;
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        if (o->kind == NULL || o->kind == &kind_help || strcmp(o->name, "version") == 0)
            continue;
        kind_word word;
        bool has_word = kind_word_at(o->kind, 0, &word);
        for (int k = -1; k < 0 || (has_word && kind_word_at(o->kind, k, &word)); k++) {
            const char *value = k < 0 ? sample_value(o) : word.name;
            bool is_taken = false;
            options own;
            line l = {0};
            for (size_t c = 0; !is_taken && c < NUM_CONTEXTS; c++) {
                popliner_error error = {0};
                clear(&l);
                begin(&l, c, "missing", o->name);
                add_option(&l, o->name, value);
                is_taken =
                    options_parse(l.count, (char **)l.arguments, &own, &error) == POPLINER_OK;
                if (!is_taken)
                    options_free(&own);
            }
            if (!is_taken && k < 0)
                fail_msg("--%s %s is never taken", o->name, value);
            if (is_taken) { /* else a word that more must follow */
                char *text = file_of(&l);
                options other;
                popliner_error error = {0};
                line again = {0};
                test_write_bytes(path, text, strlen(text));
                add(&again, "popliner", "", "");
                add(&again, "@%s/options", (const char *)*state, "");
                if (options_parse(again.count, (char **)again.arguments, &other, &error) !=
                    POPLINER_OK)
                    fail_msg("%s: %s", text, error.message);
                assert_same_options(&own, &other);
                options_free(&other);
                options_free(&own);
                clear(&again);
                free(text);
                count++;
            }
            clear(&l);
        }
    }
    assert_true(count > 100);
}

/* ---- relations ---- */

/* Adds an option of a relation such as "recompute=auto", or returns the input that it is. */
static const char *add_side(line *l, const char *side, size_t size, const char *input) {
    const size_t length = strcspn(side, "= ");
    if (size == strlen("costs") && memcmp(side, "costs", size) == 0)
        return "-";
    if (size == strlen("fixed-cuts") && memcmp(side, "fixed-cuts", size) == 0) {
        add_option(l, "evaluate", "0");
        return "-";
    }
    if (size == strlen("stored") && memcmp(side, "stored", size) == 0) {
        add(l, "--load-from-file", "", "");
        return input;
    }
    if (size > 7 && memcmp(side, "output:", 7) == 0) {
        add_option(l, "output",
                   side[7] == 's'   ? "plan=file"
                   : side[7] == 'f' ? "pipeline=file"
                   : side[7] == 'o' ? "memory-totals"
                                    : "tiles=file");
        return input;
    }
    const option *o = row_of(side, length);
    char word[100] = "";
    char value[TEXT] = "";
    if (length < size)
        snprintf(word, sizeof word, "%.*s", (int)(size - length - 1), side + length + 1);
    if (*word == '\0')
        snprintf(value, sizeof value, "%s", sample_value(o));
    else if (strcmp(word, "range") == 0)
        snprintf(value, sizeof value, strcmp(o->name, "num-ipus") == 0 ? "1..4" : "400K..600K:50K");
    else if (strcmp(word, "list") == 0)
        snprintf(value, sizeof value, strcmp(o->name, "recompute") == 0 ? "full,none" : "0,1");
    else if (strcmp(word, "shared") == 0)
        snprintf(value, sizeof value, "0,1,2,1");
    else if (strcmp(word, "balance") == 0 && strcmp(o->name, "pareto") == 0)
        snprintf(value, sizeof value, "memory,balance");
    else if (strcmp(word, "single") == 0)
        snprintf(value, sizeof value, strcmp(o->name, "bandwidth") == 0 ? "0-1=6" : "0=600K");
    else if (strcmp(word, "copies") == 0 || strcmp(word, "mapped") == 0)
        snprintf(value, sizeof value, "zero-bubble");
    else if (strcmp(word, "several") == 0)
        snprintf(value, sizeof value, "all");
    else if (strcmp(word, "auto:") == 0)
        snprintf(value, sizeof value, "auto:full");
    else if (strcmp(word, "replicas") == 0 && strcmp(o->name, "bandwidth") == 0)
        snprintf(value, sizeof value, "replicas=64");
    else if (strcmp(word, "place") == 0)
        snprintf(value, sizeof value, "place:1=0");
    else if (strncmp(word, "growth", 6) == 0 || strcmp(word, "unexplained") == 0)
        snprintf(value, sizeof value, "%s=3%%", word);
    else if (o->kind == &kind_output)
        snprintf(value, sizeof value, "%s=file", word);
    else
        snprintf(value, sizeof value, "%s", word);
    add_option(l, o->name, value);
    return input;
}

/* Whether the options are refused with this end of the message, which then fits. */
static bool is_refused(const line *l, const char *end, char message[TEXT]) {
    options o;
    popliner_error error = {0};
    const popliner_status status = options_parse(l->count, (char **)l->arguments, &o, &error);
    options_free(&o);
    snprintf(message, TEXT, "%.250s", error.message);
    const size_t length = strlen(error.message);
    if (status != POPLINER_ERROR_USAGE || length < strlen(end) ||
        strcmp(error.message + length - strlen(end), end) != 0)
        return false;
    if (length > COLUMNS)
        fail_msg("%zu columns: %s", length, error.message);
    return true;
}

/* The end of the message that a relation gives. */
static void end_of(const option_relation *r, char end[TEXT]) {
    if (r->how < NEEDS)
        snprintf(end, TEXT, ", %s", r->reason);
    else
        snprintf(end, TEXT, ": needs --%.*s%s%s%s%s", (int)strcspn(r->others, " "), r->others,
                 strchr(r->others, ' ') == NULL ? "" : " or --",
                 strchr(r->others, ' ') == NULL ? "" : strchr(r->others, ' ') + 1,
                 r->reason == NULL ? "" : ", ", r->reason == NULL ? "" : r->reason);
}

static void every_relation_is_provoked(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < num_option_relations; i++) {
        const option_relation *r = &option_relations[i];
        const bool needs = r->how == NEEDS;
        char end[TEXT];
        char message[TEXT] = "";
        end_of(r, end);
        for (const char *subject = r->subject; *subject != '\0';
             subject += strcspn(subject, " "), subject += strspn(subject, " "))
            for (const char *other = r->others; *other != '\0';
                 other += strcspn(other, " "), other += strspn(other, " ")) {
                bool is_provoked = false;
                for (size_t c = 0; !is_provoked && c < NUM_CONTEXTS; c++) {
                    line l = {0};
                    line rest = {0};
                    const char *input = add_side(&rest, subject, strcspn(subject, " "), "missing");
                    if (!needs)
                        input = add_side(&rest, other, strcspn(other, " "), input);
                    begin(&l, c, input, needs ? other : "");
                    for (int k = 0; k < rest.count; k++)
                        add(&l, "%s", rest.arguments[k], "");
                    is_provoked = is_refused(&l, end, message);
                    clear(&l);
                    clear(&rest);
                }
                if (!is_provoked)
                    fail_msg("%.*s and %.*s do not give \"%s\" but \"%s\"",
                             (int)strcspn(subject, " "), subject, (int)strcspn(other, " "), other,
                             end, message);
                count++;
            }
    }
    assert_true(count > 100);
}

/* ---- messages ---- */

/* Those of the design that need no profile, and the nearest name of each kind. */
static void messages_say_what_would_be_right(void **state) {
    (void)state;
    static const struct {
        const char *arguments[5];
        const char *message;
    } cases[] = {
        {{"--output=tile"}, "--output tile: no such output; did you mean tiles? (--help output)"},
        {{"--output=tiles.csv"}, "--output tiles.csv: of what? Did you mean tiles=tiles.csv?"},
        {{"--solve", "--mem-per-tile=600KQ"},
         "--mem-per-tile 600KQ: no unit KQ; write 600K (600,000 bytes) or 600KiB (614,400)"},
        {{"--max-memory=999Q"},
         "--max-memory 999Q: no unit Q; write 999K (999,000 bytes) or 999KiB (1,022,976)"},
        {{"--reserve=1x", "--solve"},
         "--reserve 1x: no unit x; write 1K (1,000 bytes) or 1KiB (1,024)"},
        {{"--reserve=24g", "--solve"},
         "--reserve 24g: no unit g; write 24G (24,000,000,000 bytes) or 24GiB (25,769,803,776)"},
        {{"--solve", "--num-ipus=four"},
         "--num-ipus four: expected a number, like 4, or a range, like 1..8"},
        {{"--solve", "--require=place:3:1"},
         "--require place:3:1: expected LAYER=IPU; did you mean place:3=1?"},
        {{"--solve", "--recompute=full"},
         "--recompute full: needs a --schedule that keeps activations, like popart"},
        {{"--solve", "--solver=popliner", "--need=at-most"},
         "--need: not with --solver popliner, whose memory model has no bounds"},
        {{"--output=optimum", "--output=torch"},
         "--output torch: optimum is printed already; give --output torch=FILE"},
        {{"--sovle"}, "--sovle: unknown option; did you mean --solve?"},
        {{"--schedule=popar"}, "--schedule popar: popar is unknown; did you mean popart?"},
        {{"--schedule=quick"},
         "--schedule quick: quick is unknown; --help schedule lists what there is"},
        {{"--solve", "--require=cot:3"}, "--require cot:3: cot is unknown; did you mean cut?"},
        {{"--fail-on=growth.layer=2"},
         "--fail-on growth.layer=2: growth.layer is unknown; did you mean growth.layers?"},
        {{"--help=sovling"}, "--help sovling: no such topic; did you mean solving?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[TEXT];
        line l = {0};
        add(&l, "popliner", "", "");
        add(&l, "missing", "", "");
        for (size_t k = 0; k < 5 && cases[i].arguments[k] != NULL; k++)
            add(&l, "%s", cases[i].arguments[k], "");
        (void)is_refused(&l, "", message);
        assert_string_equal(message, cases[i].message);
        clear(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_help_that_fits),
        cmocka_unit_test(help_on_every_topic_fits),
        cmocka_unit_test(defaults_are_as_the_help_says),
        cmocka_unit_test_setup_teardown(every_word_survives_a_file, test_begin_directory,
                                        test_end_directory),
        cmocka_unit_test(every_relation_is_provoked),
        cmocka_unit_test(messages_say_what_would_be_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
