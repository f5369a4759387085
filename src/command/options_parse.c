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

/* What the words of an option look like. */
typedef struct config_rule {
    bool is_known;
    bool is_repeated; /* a list becomes several words of this option */
    bool has_names;   /* members of a list are names, so their signs are escaped */
    char sign;        /* between key and value of an object */
} config_rule;

/* What is made ready while the file is gone through. */
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
 * value may be a list or an object, too. */
static bool append_item(growing_text *w, const char *key, const json_t *value,
                        const config_rule *rule) {
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
        json_object_foreach((json_t *)(uintptr_t)value, inner, member) {
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
        const json_t *item =
            member == NULL ? json_array_get(value, i) : json_object_iter_value(member);
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
    if (json_is_false(value) || json_is_null(value))
        return POPLINER_OK;
    growing_text w = begin_word(is_file ? "" : "--");
    if (!is_file)
        text_add(&w, name);
    if (json_is_true(value) && !is_file)
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

/* Reads the file. `rule_of` tells of an option by its name. true is an option without a value;
 * false and null are options that are not given; a list is what the rule says; an object stands for
 * the list of its "key=value". The keys "input" and "debug" name the files, in this order.
 * Errors: INPUT, for a file that cannot be read or is no such object; USAGE for a key that
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

/* The option that an argument begins with, and the value behind its '=', if any. */
static const option *find(const char *argument, const char **value) {
    *value = NULL;
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        if (o->kind == NULL)
            continue;
        if (argument[1] != '-') {
            if (o->letter != '\0' && argument[1] == o->letter && argument[2] == '\0')
                return o;
            continue;
        }
        size_t length = strlen(o->name);
        if (strncmp(argument + 2, o->name, length) != 0)
            continue;
        if (argument[2 + length] == '=')
            *value = argument + 2 + length + 1;
        if (argument[2 + length] == '=' || argument[2 + length] == '\0')
            return o;
    }
    return NULL;
}

/* Refuses an argument that is no option, and names the one that it may have been meant to be. */
static popliner_status fail_unknown(const char *argument, popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    const char *name = argument + strspn(argument, "-");
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
    return argument[0] == '-' && find(argument, &value) != NULL;
}

/* Notes that an option was given. Of two values the last one counts, as with PopLiner 1.0.0, so
 * that a script can add its own behind others'; the user is told of it. */
static popliner_status note(const option *o, const char *value, bool is_own, options *result,
                            popliner_error *error) {
    given *g = &result->given;
    const size_t place = (size_t)(o - option_table);
    repeated *list = &g->texts[place];
    const char *before = list->count == 0 ? NULL : list->texts[list->count - 1];
    if (!o->kind->is_list && before != NULL && value != NULL && strcmp(before, value) != 0)
        result->overridden = (overridden){o->name, before, value};
    g->is[place] = true;
    g->is_own[place] = is_own;
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (texts == NULL)
        return fail_memory(error, "the options");
    texts[list->count++] = value;
    list->texts = texts;
    return POPLINER_OK;
}

static void *place_of(const option *o, options *result) {
    return (char *)result + o->offset;
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
    return *why.text == '\0'
               ? fail_usage(error, "--%s %s: expected %s", o->name, value, o->kind->expected)
               : fail_usage(error, "--%s %s: %s", o->name, value, why.text);
}

/* What is known of the arguments before them. */
typedef struct parsing {
    options *result;
    const given *skipped; /* options that are not to be taken; NULL: none */
    bool is_file;         /* the arguments are those of a file */
    bool only_names;      /* behind "--" */
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

/* Takes the argument; *num_taken becomes 2 if its value is the next one, which is NULL behind the
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
    const option *o = find(argument, &value);
    if (o == NULL)
        return fail_unknown(argument, error);
    if (o->kind == &kind_flag && value != NULL)
        return fail_usage(error, "--%s takes no value", o->name);
    if (o->kind != &kind_flag) {
        if (value == NULL && next != NULL && !is_option(next)) {
            value = next;
            *num_taken = 2;
        }
        if (value == NULL || *value == '\0')
            return fail_usage(error, "--%s needs a value: %s", o->name, o->value);
    }
    if (p->skipped != NULL && p->skipped->is[o - option_table])
        return POPLINER_OK;
    popliner_status status = take_value(o, value, p->result, error);
    return status == POPLINER_OK ? note(o, value, !p->is_file, p->result, error) : status;
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
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && strcmp(option_table[i].name, name) == 0)
            return (config_rule){.is_known = strcmp(name, "config") != 0,
                                 .is_repeated = option_table[i].kind->is_list,
                                 .has_names = option_table[i].kind->has_names,
                                 .sign = option_table[i].kind == &kind_rules ? ':' : '='};
    return (config_rule){0};
}

/* Puts the name of the file before a message. */
static popliner_status in_config(const char *path, popliner_error *error) {
    const popliner_error told = *error;
    return fail(error, told.status, "%s: %s", path, told.message);
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

/* Takes what the file of --config says and the arguments, `own`, do not. */
static popliner_status take_config(parsing *p, const options *own, popliner_error *error) {
    const char *path = own->config_path;
    config *c = &p->result->config;
    popliner_status status = config_read(path, rule_of, c, error);
    if (status == POPLINER_ERROR_USAGE)
        return fail_key(error);
    for (size_t i = 0; status == POPLINER_OK && i < c->num_words; i++) {
        const bool is_file = i < c->num_files;
        int num_taken;
        if (is_file && (own->profile != NULL))
            continue;
        status = is_file ? take_file(p, c->words[i], error)
                         : take_argument(p, c->words[i], NULL, &num_taken, error);
        if (status != POPLINER_OK)
            return in_config(path, error);
    }
    return status;
}

/* What goes through an option's values in the arguments stands against its value in the file, as
 * either of two options does that exclude each other. */
static void set_aside(given *g, const options *own) {
    const char *sweep = own->sweep == NULL ? "" : own->sweep;
    const struct {
        const char *name;
        bool is_against;
    } against[] = {
        {"num-ipus", strncmp(sweep, "num-ipus", 8) == 0},
        {"mem-per-tile", strncmp(sweep, "mem-per-tile", 12) == 0},
        {"objective", own->pareto != NULL},
        {"quiet", own->verbose},
        {"verbose", own->quiet},
    };
    for (size_t k = 0; k < sizeof against / sizeof *against; k++)
        for (size_t i = 0; i < num_options; i++)
            if (against[k].is_against && strcmp(option_table[i].name, against[k].name) == 0)
                g->is[i] = true;
}

static void begin_options(options *result) {
    *result = options_usual;
    for (size_t i = 0; i < POPLINER_NUM_GROWTHS; i++)
        result->fail_on.growth.percent[i] = -1;
}

popliner_status options_parse(int argc, char **argv, options *result, popliner_error *error) {
    parsing p = {.result = result};
    begin_options(result);
    popliner_status status = take_arguments(&p, argc, argv, error);
    if (status == POPLINER_OK && result->config_path != NULL && !result->help && !result->version) {
        /* again, behind what the file says and the arguments do not */
        options own = *result;
        given told = own.given;
        set_aside(&told, &own);
        p = (parsing){.result = result, .skipped = &told, .is_file = true};
        begin_options(result);
        status = take_config(&p, &own, error);
        p.skipped = NULL;
        p.is_file = false;
        p.only_names = false;
        if (status == POPLINER_OK)
            status = take_arguments(&p, argc, argv, error);
        options_free(&own);
    }
    return status == POPLINER_OK ? options_check(result, error) : status;
}

void options_free(options *o) {
    for (size_t i = 0; i < num_options; i++) {
        if (option_table[i].kind == &kind_texts)
            free(((repeated *)place_of(&option_table[i], o))->texts);
        free(o->given.texts[i].texts);
    }
    free(o->require.items);
    free(o->outputs.items);
    config_free(&o->config);
}
