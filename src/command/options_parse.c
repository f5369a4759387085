/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "command/values.h"
#include "popliner/utilities.h"

/* ---- the file of --config: a JSON object whose keys are the names of options ---- */

/* The syntax of options. */
typedef struct config_rule {
    bool is_known;
    bool is_flag;
    bool is_repeated; /* a list becomes several words of this option */
    bool has_names;   /* members of a list are names, so their signs are escaped */
    char sign;        /* between key and value of an object */
} config_rule;

/* The state while the file is read. */
typedef struct reader {
    const char *path;
    config *result;
    popliner_error *error;
} reader;

static popliner_status fail_file(const reader *r, popliner_status status, const char *format, ...) {
    va_list arguments;
    popliner_error told;
    va_start(arguments, format);
    popliner_error_fill(&told, status, format, arguments);
    va_end(arguments);
    return fail(r->error, status, "%s: %s", r->path, told.message);
}

static popliner_status fail_file_memory(const reader *r) {
    return fail_file(r, POPLINER_ERROR_MEMORY, "not enough memory");
}

/* ---- words ---- */

static growing_text begin_word(const char *piece) {
    growing_text w = {0};
    text_add(&w, piece);
    return w;
}

/* Takes the word over. */
static popliner_status add_word(const reader *r, growing_text w) {
    config *c = r->result;
    char **words = w.failed ? NULL : realloc(c->words, (c->num_words + 1) * sizeof *words);
    if (words == NULL) {
        free(w.text);
        return fail_file_memory(r);
    }
    words[c->num_words++] = w.text;
    c->words = words;
    return POPLINER_OK;
}

/* ---- values ---- */

/* Appends a text or a number; false for anything else. */
static bool append_scalar(growing_text *w, const json_t *value, bool is_name) {
    char *number = NULL;
    if (json_is_string(value) && is_name) {
        for (const char *c = json_string_value(value); *c != '\0'; c++) {
            const char text[] = {'\\', *c, '\0'};
            text_add(w, strchr(VALUE_SIGNS, *c) == NULL ? text + 1 : text);
        }
        return true;
    }
    if (json_is_string(value)) {
        text_add(w, json_string_value(value));
        return true;
    }
    if (!json_is_number(value))
        return false;
    number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (number != NULL)
        text_add(w, number);
    w->failed = w->failed || number == NULL; /* a number has a text where there is memory */
    free(number);
    return true;
}

/* Appends "value", or "key=value" for what is in an object. Of rules, which have ':' instead, the
 * value may also be a list or an object. */
static bool append_item(growing_text *w, const char *key, json_t *value, const config_rule *rule) {
    const bool is_rule = rule->sign == ':' && key != NULL;
    const char *inner;
    json_t *member;
    size_t i;
    if (key != NULL) {
        text_add(w, key);
        text_add(w, is_rule ? ":" : "=");
    }
    if (is_rule && json_is_array(value)) {
        json_array_foreach(value, i, member) {
            text_add(w, i == 0 ? "" : ",");
            if (!append_scalar(w, member, true))
                return false;
        }
        return true;
    }
    if (is_rule && json_is_object(value)) {
        i = 0;
        json_object_foreach(value, inner, member) {
            json_t *name = json_string(inner);
            text_add(w, i++ == 0 ? "" : ",");
            w->failed = w->failed || name == NULL;
            const bool is_taken = append_scalar(w, name, true);
            json_decref(name);
            text_add(w, "=");
            if (!is_taken || !append_scalar(w, member, false))
                return false;
        }
        return true;
    }
    return append_scalar(w, value, rule->has_names && !is_rule);
}

static popliner_status fail_file_value(const reader *r, const char *name) {
    return fail_file(
        r, POPLINER_ERROR_INPUT,
        "\"%s\": expected true or false, a text, a number, or a list or object of texts "
        "and numbers",
        name);
}

/* A list or an object: one word, or one for each member. */
static popliner_status add_members(const reader *r, const char *name, const char *prefix,
                                   const config_rule *rule, json_t *value) {
    const size_t count = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    void *member = json_object_iter(value);
    popliner_status status = POPLINER_OK;
    growing_text joined = {0};
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        const char *key = member == NULL ? NULL : json_object_iter_key(member);
        json_t *item = member == NULL ? json_array_get(value, i) : json_object_iter_value(member);
        if (rule->is_repeated || i == 0)
            joined = begin_word(prefix);
        else
            text_add(&joined, ",");
        if (!append_item(&joined, key, item, rule)) {
            free(joined.text);
            return fail_file_value(r, name);
        }
        if (rule->is_repeated || i + 1 == count)
            status = add_word(r, joined);
        member = member == NULL ? NULL : json_object_iter_next(value, member);
    }
    return status;
}

static popliner_status add_option(const reader *r, const char *name, const config_rule *rule,
                                  json_t *value) {
    const bool is_file = strcmp(name, "input") == 0 || strcmp(name, "debug") == 0;
    const bool is_false = json_is_false(value);
    if (json_is_null(value) || (is_false && !rule->is_flag))
        return POPLINER_OK;
    growing_text w = begin_word(is_file ? "" : is_false ? "--no-" : "--");
    if (!is_file)
        text_add(&w, name);
    if (is_false || (json_is_true(value) && !is_file))
        return add_word(r, w);
    if (!is_file)
        text_add(&w, "=");
    if (append_scalar(&w, value, false))
        return add_word(r, w);
    popliner_status status = w.failed ? fail_file_memory(r) : POPLINER_OK;
    if (status == POPLINER_OK && (is_file || (!json_is_array(value) && !json_is_object(value))))
        status = is_file ? fail_file(r, POPLINER_ERROR_INPUT, "\"%s\": expected the name of a file",
                                     name)
                         : fail_file_value(r, name);
    if (status == POPLINER_OK)
        status = add_members(r, name, w.text, rule, value);
    free(w.text);
    return status;
}

/* ---- the file ---- */

static popliner_status read_object(const reader *r, json_t **root) {
    json_error_t found;
    FILE *file = fopen(r->path, "rb");
    if (file == NULL)
        return fail_file(r, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    *root = json_loadf(file, JSON_REJECT_DUPLICATES, &found);
    const int number = ferror(file) ? errno : 0;
    (void)fclose(file); /* it was only read */
    if (*root == NULL && number != 0)
        return fail_file(r, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(number));
    if (*root == NULL && json_error_code(&found) == json_error_out_of_memory)
        return fail_file_memory(r);
    if (*root == NULL)
        return fail_file(r, POPLINER_ERROR_INPUT, "no JSON: %s (line %d, column %d)", found.text,
                         found.line, found.column);
    if (!json_is_object(*root))
        return fail_file(r, POPLINER_ERROR_INPUT,
                         "expected an object with the names of options as keys, like "
                         "{\"num-ipus\": 4}");
    return POPLINER_OK;
}

/* Reads the file. `rule_of` describes an option by its name. true is an option without a value,
 * false takes it back; null is an option that is not given; a list is what the rule says; an object
 * stands for the list of its "key=value". The keys "input" and "debug" name the files, in this
 * order. Errors: INPUT, for a file that cannot be read or is no such object; USAGE for a key that
 * `rule_of` does not know: its message has only the place, the caller says which option is near. */
static popliner_status config_read(const char *path, config_rule (*rule_of)(const char *name),
                                   config *result, popliner_error *error) {
    static const char *const files[] = {"input", "debug"};
    const reader r = {path, result, error};
    json_t *root = NULL;
    const char *name;
    json_t *value;
    popliner_status status = read_object(&r, &root);
    /* the input is the first name of a file, in whatever order the keys are */
    for (size_t i = 0; status == POPLINER_OK && i < 2; i++)
        if (json_object_get(root, files[i]) != NULL)
            status = add_option(&r, files[i], &(config_rule){0}, json_object_get(root, files[i]));
    result->num_files = result->num_words;
    if (status == POPLINER_OK && result->num_files == 1 && json_object_get(root, files[0]) == NULL)
        status =
            fail_file(&r, POPLINER_ERROR_INPUT, "\"debug\" belongs to an \"input\": give both");
    if (status == POPLINER_OK)
        json_object_foreach(root, name, value) {
            const config_rule rule = rule_of(name);
            if (strcmp(name, files[0]) == 0 || strcmp(name, files[1]) == 0)
                continue;
            if (!rule.is_known) {
                status = fail_file(&r, POPLINER_ERROR_USAGE, "\"%.100s\": no option", name);
                break;
            }
            status = add_option(&r, name, &rule, value);
            if (status != POPLINER_OK)
                break;
        }
    json_decref(root);
    return status;
}

static void config_free(config *c) {
    for (size_t i = 0; i < c->num_words; i++)
        free(c->words[i]);
    free(c->words);
    *c = (config){0};
}

/* ---- arguments ---- */

/* The option of this name, `length` characters; of a flag with "no-" before it, or taken from it,
 * *is_taken_back is true. NULL: none. */
static const option *find_name(const char *name, size_t length, bool *is_taken_back) {
    static const char no[] = "no-";
    const size_t no_length = strlen(no);
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        const size_t own = o->kind == NULL ? 0 : strlen(o->name);
        *is_taken_back = false;
        if (own > 0 && own == length && memcmp(o->name, name, own) == 0)
            return o;
        *is_taken_back = true;
        if (o->kind == &kind_flag && own + no_length == length &&
            memcmp(name, no, no_length) == 0 && memcmp(o->name, name + no_length, own) == 0)
            return o;
        if (o->kind == &kind_flag && own == length + no_length &&
            memcmp(o->name, no, no_length) == 0 && memcmp(o->name + no_length, name, length) == 0)
            return o;
    }
    return NULL;
}

/* The option that an argument begins with, and the value after its '=', if any. */
static const option *find(const char *argument, const char **value, bool *is_taken_back) {
    *value = NULL;
    *is_taken_back = false;
    if (argument[1] != '-') {
        for (size_t i = 0; i < num_options; i++)
            if (option_table[i].letter != '\0' && argument[1] == option_table[i].letter &&
                argument[2] == '\0')
                return &option_table[i];
        return NULL;
    }
    const size_t length = strcspn(argument + 2, "=");
    if (argument[2 + length] == '=')
        *value = argument + 2 + length + 1;
    return find_name(argument + 2, length, is_taken_back);
}

/* Refuses an argument that is no option, and names the one that it may have been meant to be. */
static popliner_status fail_unknown(const char *argument, popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    const char *name = argument + strspn(argument, "-");
    const char *instead = option_instead_of(name, strcspn(name, "="));
    if (instead != NULL)
        return fail_usage(error, "%s: unknown option; use %s", argument, instead);
    nearest n = nearest_begin(name, strcspn(name, "="));
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL)
            nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    return fail_usage(error, "%s: unknown option%s", argument,
                      nearest_hint(&n, "--", "; see popliner --help", hint));
}

/* Whether an argument is an option of ours, and so not the value of the one before it: a value was
 * forgotten more likely than a file is to be called "--solve". Behind a '=' it may be. */
static bool is_option(const char *argument) {
    const char *value;
    bool is_taken_back;
    return argument[0] == '-' && find(argument, &value, &is_taken_back) != NULL;
}

/* Forgets that an option was given. */
static void take_back(const option *o, options *result) {
    const size_t place = (size_t)(o - option_table);
    given *g = &result->given;
    g->is[place] = false;
    g->is_own[place] = false;
    g->texts[place].count = 0;
    g->num_of_file[place] = 0;
}

/* Notes that an option was given. Lists add up, and of two other values the last one counts, as
 * with PopLiner 1.0.0, so that a script can add its own after others'; a message reports it, unless
 * the first is that of a file. */
static popliner_status note(const option *o, const char *value, bool is_own, options *result,
                            popliner_error *error) {
    given *g = &result->given;
    const size_t place = (size_t)(o - option_table);
    repeated *list = &g->texts[place];
    const char *before = list->count == 0 ? NULL : list->texts[list->count - 1];
    if (!o->kind->is_list && before != NULL && value != NULL && is_own == g->is_own[place] &&
        strcmp(before, value) != 0)
        result->overridden = (overridden){o->name, before, value};
    if (!o->kind->is_list)
        take_back(o, result);
    for (size_t i = 0; o->cancels != NULL && i < num_options; i++)
        if (strcmp(option_table[i].name, o->cancels) == 0)
            take_back(&option_table[i], result);
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (texts == NULL)
        return fail_memory(error, "the options");
    g->is[place] = true;
    g->is_own[place] = is_own;
    g->num_of_file[place] += !is_own;
    texts[list->count++] = value;
    list->texts = texts;
    return POPLINER_OK;
}

static void *place_of(const option *o, options *result) {
    return (char *)result + o->offset;
}

/* Explains a size with an unknown unit, such as 600Q; false for any other text. */
static bool explain_unit(const char *value, char text[200]) {
    enum { MOST_DIGITS = 3 };
    const size_t length = strspn(value, "0123456789");
    const char *unit = value + length;
    const unsigned long number = length > MOST_DIGITS ? 0 : strtoul(value, NULL, 10);
    const size_t letters = strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (number == 0 || letters == 0 || unit[letters] != '\0')
        return false;
    const unsigned long kibibytes = number * 1024;
    char thousands[48] = "";
    if (kibibytes >= 1000000)
        snprintf(thousands, sizeof thousands, "%lu,%03lu", kibibytes / 1000000,
                 kibibytes / 1000 % 1000);
    else
        snprintf(thousands, sizeof thousands, "%lu", kibibytes / 1000);
    snprintf(text, 200, "no unit %.20s; write %luK (%lu,000 bytes) or %luKiB (%s,%03lu)", unit,
             number, number, number, thousands, kibibytes % 1000);
    return true;
}

/* Sets the member of the option. `value` is NULL for flags. */
static popliner_status take_value(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    problem why = {.text = ""};
    const bool is_taken = o->kind->parse(value, o, place_of(o, result), &why);
    if (why.before != NULL)
        result->overridden = (overridden){o->name, why.before, value};
    if (is_taken)
        return POPLINER_OK;
    if (why.lacks_memory)
        return fail_memory(error, "the options");
    const bool is_size =
        o->kind == &kind_bytes || o->kind == &kind_memory_by_ipu || o->kind == &kind_reserve;
    char unit[200];
    if (*why.text == '\0' && is_size && explain_unit(value, unit))
        return fail_usage(error, "--%s %s: %s", o->name, value, unit);
    return *why.text == '\0'
               ? fail_usage(error, "--%s %s: expected %s", o->name, value, o->kind->expected)
               : fail_usage(error, "--%s %s: %s", o->name, value, why.text);
}

/* The state after the arguments so far. */
typedef struct parsing {
    options *result;
    bool is_file;    /* the arguments are those of a file */
    bool only_names; /* after "--" */
} parsing;

static popliner_status take_file(parsing *p, const char *argument, popliner_error *error) {
    options *result = p->result;
    if (argument[0] == '\0')
        return fail_usage(error, "an empty file name was given; expected INPUT [DEBUG]");
    if (result->profile == NULL)
        result->profile = argument;
    else if (result->debug == NULL)
        result->debug = argument;
    else
        return fail_usage(error, "'%s': a third file was given; expected INPUT [DEBUG]", argument);
    return POPLINER_OK;
}

/* The argument without its value. */
static const char *argument_name(const char *argument, char text[80]) {
    snprintf(text, 80, "%.*s", (int)strcspn(argument, "="), argument);
    return text;
}

/* True for the whole name of an option, with its dashes. */
static bool is_named(const char *argument) {
    return strncmp(argument, "--", 2) == 0 && is_option(argument) && strchr(argument, '=') == NULL;
}

/* Takes the argument; *num_taken becomes 2 if its value is the next one, which is NULL after the
 * last. */
static popliner_status take_argument(parsing *p, const char *argument, const char *next,
                                     int *num_taken, popliner_error *error) {
    *num_taken = 1;
    if (p->only_names || argument[0] != '-' || argument[1] == '\0')
        return take_file(p, argument, error);
    if (strcmp(argument, "--") == 0) {
        p->only_names = true;
        return POPLINER_OK;
    }
    const char *value;
    bool is_taken_back;
    const option *o = find(argument, &value, &is_taken_back);
    if (o == NULL)
        return fail_unknown(argument, error);
    if (o->kind == &kind_flag && value != NULL)
        return fail_usage(error, "%s takes no value", argument_name(argument, (char[80]){""}));
    if (o->kind->is_optional && value == NULL) {
        value = next != NULL && (*next != '-' || is_named(next)) ? next : NULL;
        *num_taken = value == NULL ? 1 : 2;
    } else if (o->kind != &kind_flag) {
        if (value == NULL && next != NULL && !is_option(next)) {
            value = next;
            *num_taken = 2;
        }
        is_taken_back = o->kind->is_list && value != NULL && *value == '\0';
        if (!is_taken_back && (value == NULL || *value == '\0'))
            return fail_usage(error, "--%s needs a value: %s", o->name, o->value);
    }
    if (!is_taken_back)
        return note(o, value, !p->is_file, p->result, error);
    take_back(o, p->result);
    return POPLINER_OK;
}

static popliner_status take_arguments(parsing *p, int argc, char **argv, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    int num_taken = 1;
    for (int i = 1; status == POPLINER_OK && i < argc; i += num_taken)
        status = take_argument(p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &num_taken, error);
    return status;
}

/* How the file of --config may say an option. */
static config_rule rule_of(const char *name) {
    bool is_taken_back;
    const option *o = find_name(name, strlen(name), &is_taken_back);
    if (o == NULL)
        return (config_rule){0};
    return (config_rule){.is_known = o->offset != offsetof(options, config_path),
                         .is_flag = o->kind == &kind_flag,
                         .is_repeated = o->kind->is_list,
                         .has_names = o->kind->has_names,
                         .sign = o->kind == &kind_rules ? ':' : '='};
}

/* Puts the name of the file before a message. */
static popliner_status in_config(const char *path, popliner_error *error) {
    const popliner_error told = *error;
    return fail(error, told.status, "%s: %s", path, told.message);
}

/* Offers each of the names that a separator stands between. */
static void nearest_offer_list(nearest *n, const char *names, char separator) {
    while (names != NULL) {
        const char *end = strchr(names, separator);
        nearest_offer(n, names, end == NULL ? strlen(names) : (size_t)(end - names));
        names = end == NULL ? NULL : end + 1;
    }
}

/* Says which option a key of the file may have been meant to be. */
static popliner_status fail_key(popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    const char *key = strchr(error->message, '"');
    nearest n = nearest_begin(key == NULL ? "" : key + 1, key == NULL ? 0 : strcspn(key + 1, "\""));
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && strcmp(option_table[i].name, "config") != 0)
            nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    nearest_offer_list(&n, "input|debug", '|');
    const char *text = nearest_hint(&n, "", "; popliner --help lists them", hint);
    const popliner_error told = *error;
    return fail(error, told.status, "%s%s", told.message, text);
}

/* Takes what the file of --config says; its INPUT unless the arguments have one. */
static popliner_status take_config(parsing *p, const char *path, bool has_input,
                                   popliner_error *error) {
    config *c = &p->result->config;
    popliner_status status = config_read(path, rule_of, c, error);
    if (status == POPLINER_ERROR_USAGE)
        return fail_key(error);
    for (size_t i = 0; status == POPLINER_OK && i < c->num_words; i++) {
        const bool is_file = i < c->num_files;
        int num_taken;
        if (is_file && has_input)
            continue;
        status = is_file ? take_file(p, c->words[i], error)
                         : take_argument(p, c->words[i], NULL, &num_taken, error);
        if (status != POPLINER_OK)
            return in_config(path, error);
    }
    return status;
}

/* The option with this member. */
static const option *row_of(size_t offset) {
    const option *o = option_table;
    while (o->kind == NULL || o->offset != offset)
        o++;
    return o;
}

/* Values of an option in the arguments override its value in the file. */
static void set_aside(options *result) {
    static const struct {
        size_t winner;
        const char *begin; /* of its value */
        size_t loser;
    } pairs[] = {
        {offsetof(options, pareto), "", offsetof(options, objective)},
    };
    const given *g = &result->given;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t winner = (size_t)(row_of(pairs[i].winner) - option_table);
        const option *loser = row_of(pairs[i].loser);
        if (g->is_own[winner] && !g->is_own[loser - option_table] &&
            strncmp(g->texts[winner].texts[0], pairs[i].begin, strlen(pairs[i].begin)) == 0)
            take_back(loser, result);
    }
}

/* Sets the members of all options that were given. */
static popliner_status take_values(options *result, popliner_error *error) {
    const given *g = &result->given;
    const char *path = result->config_path;
    for (size_t i = 0; i < num_options; i++)
        for (size_t k = 0; k < g->texts[i].count; k++) {
            const overridden told = result->overridden;
            const char *text = g->texts[i].texts[k];
            if (take_value(&option_table[i], text, result, error) != POPLINER_OK)
                return k < g->num_of_file[i] ? in_config(path, error) : error->status;
            for (size_t own = 0; own < g->num_of_file[i]; own++)
                if (result->overridden.before == g->texts[i].texts[own])
                    result->overridden = told; /* what a file says yields in silence */
        }
    return POPLINER_OK;
}

static void begin_options(options *result) {
    *result = options_usual;
    for (size_t i = 0; i < POPLINER_NUM_GROWTHS; i++)
        result->fail_on.growth.percent[i] = -1;
}

/* Whether it says only what the command is. */
static bool is_about_itself(const options *o) {
    return o->given.is[row_of(offsetof(options, help)) - option_table] ||
           o->given.is[row_of(offsetof(options, version)) - option_table];
}

popliner_status options_parse(int argc, char **argv, options *result, popliner_error *error) {
    parsing p = {.result = result};
    begin_options(result);
    popliner_status status = take_arguments(&p, argc, argv, error);
    const repeated *paths =
        &result->given.texts[row_of(offsetof(options, config_path)) - option_table];
    if (status == POPLINER_OK && paths->count > 0 && !is_about_itself(result)) {
        /* again, after what the file says */
        const char *path = paths->texts[paths->count - 1];
        const bool has_input = result->profile != NULL;
        options_free(result);
        begin_options(result);
        result->config_path = path;
        p = (parsing){.result = result, .is_file = true};
        status = take_config(&p, path, has_input, error);
        p.is_file = false;
        p.only_names = false;
        if (status == POPLINER_OK)
            status = take_arguments(&p, argc, argv, error);
        if (status == POPLINER_OK)
            set_aside(result);
    }
    if (status == POPLINER_OK)
        status = take_values(result, error);
    return status == POPLINER_OK ? options_check(result, error) : status;
}

/* The value of an option as JSON, NULL without memory: numbers as such, of lists a list. Outputs
 * that are options themselves are left out. */
static json_t *json_of(const option *o, const repeated *texts) {
    static const char own[] = "config";
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->texts[i];
        const bool is_number = text != NULL && *text != '\0' && strlen(text) < 16 &&
                               strspn(text, "0123456789") == strlen(text) &&
                               (*text != '0' || text[1] == '\0');
        const bool is_own = o->kind == &kind_output && strncmp(text, own, strlen(own)) == 0;
        if (!is_own &&
            json_array_append_new(list, text == NULL ? json_true()
                                        : is_number  ? json_integer(strtoll(text, NULL, 10))
                                                     : json_string(text)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    if (list == NULL || o->kind->is_list || json_array_size(list) != 1)
        return list;
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

popliner_status options_config_text(const options *o, char **text, popliner_error *error) {
    const given *g = &o->given;
    const char *input = o->costs != NULL ? o->costs : o->profile;
    json_t *root = json_object();
    bool has_memory = root != NULL;
    if (input != NULL)
        has_memory = json_object_set_new(root, "input", json_string(input)) == 0 && has_memory;
    if (o->debug != NULL)
        has_memory = json_object_set_new(root, "debug", json_string(o->debug)) == 0 && has_memory;
    for (size_t i = 0; has_memory && i < num_options; i++) {
        json_t *value = !g->is[i] || option_table[i].offset == offsetof(options, config_path)
                            ? json_null()
                            : json_of(&option_table[i], &g->texts[i]);
        const bool is_empty =
            json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0);
        has_memory = value != NULL;
        if (has_memory && !is_empty)
            has_memory = json_object_set(root, option_table[i].name, value) == 0;
        json_decref(value);
    }
    char *made = has_memory ? json_dumps(root, JSON_INDENT(4)) : NULL;
    json_decref(root);
    growing_text whole = {0};
    if (made != NULL) {
        text_add(&whole, made);
        text_add(&whole, "\n");
    }
    free(made);
    *text = whole.text;
    return made == NULL || whole.failed ? fail_memory(error, "the options") : POPLINER_OK;
}

static void free_names(repeated *names) {
    for (size_t i = 0; i < names->count; i++)
        free((char *)names->texts[i]);
    free(names->texts);
}

void options_free(options *o) {
    for (size_t i = 0; i < num_options; i++) {
        if (option_table[i].kind == &kind_names)
            free_names(place_of(&option_table[i], o));
        if (option_table[i].kind != NULL && option_table[i].kind->take != NULL)
            free(((by_ipu *)place_of(&option_table[i], o))->items);
        free(o->given.texts[i].texts);
    }
    free(o->require.items);
    free(o->outputs.items);
    config_free(&o->config);
}
