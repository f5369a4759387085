/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "command/values.h"
#include "popliner/utilities.h"

/* ---- values ---- */

_Static_assert(sizeof(popliner_section) == sizeof(int) && sizeof(solver_choice) == sizeof(int),
               "choices are written as int");

/* Takes the value of an option. `value` is NULL for flags. Errors: USAGE, MEMORY. */
typedef popliner_status (*taker)(const option *o, const char *value, options *result,
                                 popliner_error *error);

static void *place_of(const option *o, options *result) {
    return (char *)result + o->offset;
}

/* Refuses a value for the sake of a name in it that is none of the choices. */
static popliner_status fail_choice(const option *o, const char *value, const char *name,
                                   size_t length, const char *expected, popliner_error *error) {
    char choices[CHOICES_BYTES];
    char hint[NEAREST_HINT_BYTES];
    nearest n = nearest_begin(name, length);
    nearest_offer_list(&n, option_choices(o, choices), '|');
    return fail_usage(error, "--%s %s: expected %s%s", o->name, value, expected,
                      nearest_hint(&n, "", "", hint));
}

/* The same where any of the choices is expected. */
static popliner_status fail_choices(const option *o, const char *value, size_t length,
                                    const char *expected, popliner_error *error) {
    char text[CHOICES_BYTES + 60];
    char choices[CHOICES_BYTES];
    snprintf(text, sizeof text, "%s %s", expected, option_choices(o, choices));
    return fail_choice(o, value, value, length, text, error);
}

static popliner_status take_flag(const option *o, const char *value, options *result,
                                 popliner_error *error) {
    (void)value;
    (void)error;
    *(bool *)place_of(o, result) = true;
    return POPLINER_OK;
}

static popliner_status take_text(const option *o, const char *value, options *result,
                                 popliner_error *error) {
    (void)error;
    *(const char **)place_of(o, result) = value;
    return POPLINER_OK;
}

static popliner_status take_choice(const option *o, const char *value, options *result,
                                   popliner_error *error) {
    int choice = option_choice(o, value, strlen(value));
    if (choice < 0)
        return fail_choices(o, value, strlen(value), "one of", error);
    choice = o->values == NULL ? choice : o->values[choice];
    memcpy(place_of(o, result), &choice, sizeof choice);
    return POPLINER_OK;
}

/* One way of recomputing, or several, separated by ',': of each stage, or behind "auto:" those that
 * it chooses from. */
static popliner_status take_recompute(const option *o, const char *value, options *result,
                                      popliner_error *error) {
    static const char prefix[] = "auto:";
    const bool is_auto = strncmp(value, prefix, strlen(prefix)) == 0;
    unsigned ways = 0;
    result->recomputes = NULL;
    result->recompute_ways = 0;
    if (!is_auto && strchr(value, ',') == NULL)
        return take_choice(o, value, result, error);
    for (const char *name = is_auto ? value + strlen(prefix) : value; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int choice = option_choice(o, name, length);
        if (choice < 0 || choice == POPLINER_RECOMPUTE_AUTO)
            return fail_choices(o, value, strlen(value), "one of", error);
        ways |= 1u << choice;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    result->recompute = is_auto ? POPLINER_RECOMPUTE_AUTO : POPLINER_RECOMPUTE_NONE;
    result->recompute_ways = is_auto ? ways : 0;
    result->recomputes = value;
    return POPLINER_OK;
}

static popliner_status take_number(const option *o, const char *value, options *result,
                                   popliner_error *error) {
    enum { MOST = 1000000 };
    const size_t min = o->kind == KIND_COUNT;
    uint64_t number = 0;
    const char *end = NULL;
    if (*value == '\0' || strspn(value, "0123456789") != strlen(value))
        return fail_usage(error, "--%s %s: expected a whole number", o->name, value);
    if (!number_take(value, MOST, &number, &end) || number < min)
        return fail_usage(error, "--%s %s: expected a number from %zu to %d", o->name, value, min,
                          MOST);
    *(size_t *)place_of(o, result) = (size_t)number;
    return POPLINER_OK;
}

static popliner_status take_bytes(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    uint64_t *bytes = place_of(o, result);
    const char *end = popliner_size_take(value, bytes);
    if (end == NULL || *end != '\0' || *bytes == 0)
        return fail_usage(
            error,
            "--%s %s: expected a whole number of bytes from 1 to %llu, like 638976, 624KiB "
            "or 1.5M",
            o->name, value, (unsigned long long)INT64_MAX);
    return POPLINER_OK;
}

/* False for what is no percentage from 0 to 100. */
static bool parse_percent(const char *value, double *percent) {
    char *end = NULL;
    const size_t length = strspn(value, "0123456789.");
    *percent = strtod(value, &end);
    return length > 0 && end == value + length && (*end == '\0' || strcmp(end, "%") == 0) &&
           *percent <= 100;
}

static popliner_status fail_percent(const option *o, const char *value, popliner_error *error) {
    return fail_usage(error, "--%s %s: expected a percentage from 0 to 100, like 2.5 or 2.5%%",
                      o->name, value);
}

static popliner_status take_percent(const option *o, const char *value, options *result,
                                    popliner_error *error) {
    return parse_percent(value, place_of(o, result)) ? POPLINER_OK : fail_percent(o, value, error);
}

static popliner_status take_seconds(const option *o, const char *value, options *result,
                                    popliner_error *error) {
    double *seconds = place_of(o, result);
    char *end = NULL;
    *seconds = strtod(value, &end);
    if (strspn(value, "0123456789.") != strlen(value) || *end != '\0' || !(*seconds > 0))
        return fail_usage(error, "--%s %s: expected a number of seconds above 0", o->name, value);
    return POPLINER_OK;
}

static popliner_status take_repeated(const option *o, const char *value, options *result,
                                     popliner_error *error) {
    repeated *list = place_of(o, result);
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (texts == NULL)
        return fail_memory(error, "the options");
    texts[list->count++] = value;
    list->texts = texts;
    return POPLINER_OK;
}

static popliner_status take_reserve(const option *o, const char *value, options *result,
                                    popliner_error *error) {
    const size_t length = strlen(value);
    double percent = 0;
    if (strcmp(value, "gaps") == 0) {
        result->reserve = RESERVE_GAPS;
        return POPLINER_OK;
    }
    if (length > 1 && value[length - 1] == '%') {
        result->reserve = RESERVE_PERCENT;
        if (!parse_percent(value, &percent))
            return fail_percent(o, value, error);
        result->reserve_amount = (uint64_t)(percent * 100 + 0.5);
        return POPLINER_OK;
    }
    const char *end = popliner_size_take(value, &result->reserve_amount);
    result->reserve = RESERVE_BYTES;
    if (end == NULL || *end != '\0')
        return fail_usage(
            error,
            "--%s %s: expected a whole number of bytes up to %llu, like 60000 or 60K, a "
            "percentage, like 5%%, or gaps",
            o->name, value, (unsigned long long)INT64_MAX);
    return POPLINER_OK;
}

static popliner_status take_effects(const option *o, const char *value, options *result,
                                    popliner_error *error) {
    const bool is_all = strcmp(value, "all") == 0;
    result->effects = is_all ? POPLINER_EFFECTS_ALL : 0;
    if (is_all || strcmp(value, "none") == 0)
        return POPLINER_OK;
    for (const char *name = value; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int choice = option_choice(o, name, length);
        if (choice < 0 || 1u << choice > POPLINER_EFFECTS_ALL)
            return fail_choice(o, value, name, length,
                               "none, all, or some of layout,passing,buffers", error);
        result->effects |= 1u << choice;
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return POPLINER_OK;
}

/* What may grow, by its name; POPLINER_NUM_GROWTHS if it is none, which is refused. */
static popliner_growth find_growth(const option *o, const char *value, const char *name,
                                   size_t length, popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    char names[CHOICES_BYTES] = "";
    nearest n = nearest_begin(name, length);
    for (int i = 0; i < POPLINER_NUM_GROWTHS; i++) {
        const char *own = popliner_name_of(POPLINER_NAMED_GROWTH, (size_t)i);
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return (popliner_growth)i;
        nearest_offer(&n, own, strlen(own));
        strcat(strcat(names, i == 0 ? "" : ", "), own);
    }
    fail_usage(error, "--%s %s: expected PERCENT, or WHAT=PERCENT with one of %s%s", o->name, value,
               names, nearest_hint(&n, "", "", hint));
    return POPLINER_NUM_GROWTHS;
}

/* "5", "layers=5", or several of them with commas between them. */
static popliner_status take_growth(const option *o, const char *value, options *result,
                                   popliner_error *error) {
    for (const char *part = value; part != NULL;) {
        char number[24] = "";
        const size_t length = strcspn(part, ",");
        const size_t name = strcspn(part, "=,");
        const size_t start = name < length ? name + 1 : 0;
        const popliner_growth of =
            start == 0 ? POPLINER_GROWTH_LARGEST_TILE : find_growth(o, value, part, name, error);
        if (of == POPLINER_NUM_GROWTHS)
            return POPLINER_ERROR_USAGE;
        if (length - start < sizeof number)
            memcpy(number, part + start, length - start);
        if (!parse_percent(number, &result->max_growth_percent[of]))
            return fail_usage(
                error, "--%s %s: expected percentages from 0 to 100, like 2.5 or layers=2.5%%",
                o->name, value);
        if (result->max_growth[of] != NULL && strcmp(result->max_growth[of], value) != 0)
            result->overridden = (overridden){o->name, result->max_growth[of], value};
        result->max_growth[of] = value;
        part = part[length] == '\0' ? NULL : part + length + 1;
    }
    return POPLINER_OK;
}

/* "CHOICE=FILE", or, of what may be printed, "CHOICE". */
static popliner_status take_file_of(const option *o, const char *value, options *result,
                                    popliner_error *error) {
    const bool is_output = o->kind == KIND_OUTPUT;
    const size_t length = strcspn(value, "=");
    const char *path = value[length] == '=' ? value + length + 1 : NULL;
    const int choice = option_choice(o, value, length);
    written_files *files = place_of(o, result);
    if (choice < 0)
        return fail_choices(o, value, length,
                            is_output ? "SECTION=FILE with one of the sections"
                                      : "FORMAT or FORMAT=FILE with one of the formats",
                            error);
    if (path == NULL ? is_output : *path == '\0')
        return fail_usage(error, "--%s %s: into which file? Give --%s %.*s=FILE", o->name, value,
                          o->name, (int)length, value);
    written_file *items = realloc(files->items, (files->count + 1) * sizeof *items);
    if (items == NULL)
        return fail_memory(error, "the options");
    items[files->count++] = (written_file){choice, path};
    files->items = items;
    return POPLINER_OK;
}

static const taker takers[] = {
    [KIND_FLAG] = take_flag,       [KIND_TEXT] = take_text,
    [KIND_WRITTEN] = take_text,    [KIND_READ] = take_text,
    [KIND_REPORTS] = take_text,    [KIND_COUNT] = take_number,
    [KIND_NUMBER] = take_number,   [KIND_BYTES] = take_bytes,
    [KIND_PERCENT] = take_percent, [KIND_GROWTH] = take_growth,
    [KIND_RESERVE] = take_reserve, [KIND_EFFECTS] = take_effects,
    [KIND_SECONDS] = take_seconds, [KIND_REPEATED] = take_repeated,
    [KIND_CHOICE] = take_choice,   [KIND_RECOMPUTE] = take_recompute,
    [KIND_OUTPUT] = take_file_of,  [KIND_EMIT] = take_file_of,
};

/* ---- the file of --config: a JSON object whose keys are the names of options ---- */

/* What the words of an option look like. */
typedef struct config_rule {
    bool is_known;
    bool is_repeated; /* a list becomes several words of this option */
    char separator;   /* else between the members of a list */
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
static bool append_scalar(growing_text *w, const json_t *value) {
    char *number = NULL;
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

/* Appends "value", or "key=value" for what is in an object. */
static bool append_item(growing_text *w, const char *key, const json_t *value) {
    if (key != NULL) {
        text_add(w, key);
        text_add(w, "=");
    }
    return append_scalar(w, value);
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
    const char separator[] = {rule->separator, '\0'};
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
            text_add(&joined, separator);
        if (!append_item(&joined, key, item)) {
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
    const bool is_file = strcmp(name, "profile") == 0 || strcmp(name, "debug") == 0;
    if (json_is_false(value) || json_is_null(value))
        return POPLINER_OK;
    growing_text w = begin_word(is_file ? "" : "--");
    if (!is_file)
        text_add(&w, name);
    if (json_is_true(value) && !is_file)
        return add_word(r, w);
    if (!is_file)
        text_add(&w, "=");
    if (append_scalar(&w, value))
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
    json_error_t problem;
    FILE *file = fopen(r->path, "rb");
    if (file == NULL)
        return fail_file(r, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    *root = json_loadf(file, JSON_REJECT_DUPLICATES, &problem);
    const int number = ferror(file) ? errno : 0;
    (void)fclose(file); /* it was only read */
    if (*root == NULL && number != 0)
        return fail_file(r, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(number));
    if (*root == NULL && json_error_code(&problem) == json_error_out_of_memory)
        return fail_file_memory(r);
    if (*root == NULL)
        return fail_file(r, POPLINER_ERROR_INPUT, "no JSON: %s (line %d, column %d)", problem.text,
                         problem.line, problem.column);
    if (!json_is_object(*root))
        return fail_file(r, POPLINER_ERROR_INPUT,
                         "expected an object with the names of options as keys, like "
                         "{\"num-ipus\": 4}");
    return POPLINER_OK;
}

/* Reads the file. `rule_of` tells of an option by its name. true is an option without a value;
 * false and null are options that are not given; a list is what the rule says; an object stands for
 * the list of its "key=value". The keys "profile" and "debug" name the files, in this order.
 * Errors: INPUT, for a file that cannot be read or is no such object; USAGE for a key that
 * `rule_of` does not know: its message has only the place, the caller says which option is near. */
static popliner_status config_read(const char *path, config_rule (*rule_of)(const char *name),
                                   config *result, popliner_error *error) {
    static const char *const files[] = {"profile", "debug"};
    const reader r = {path, result, error};
    json_t *root = NULL;
    const char *name;
    json_t *value;
    popliner_status status = read_object(&r, &root);
    /* the profile is the first name of a file, in whatever order the keys are */
    for (size_t i = 0; status == POPLINER_OK && i < 2; i++)
        if (json_object_get(root, files[i]) != NULL)
            status = add_option(&r, files[i], &(config_rule){0}, json_object_get(root, files[i]));
    result->num_files = result->num_words;
    if (status == POPLINER_OK && result->num_files == 1 && json_object_get(root, files[0]) == NULL)
        status =
            fail_file(&r, POPLINER_ERROR_INPUT, "\"debug\" belongs to a \"profile\": give both");
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
        if (o->kind == KIND_HEADING)
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
        if (option_table[i].kind != KIND_HEADING)
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
static void note(const option *o, const char *value, bool is_own, options *result) {
    given *g = &result->given;
    const size_t place = (size_t)(o - option_table);
    const char *before = g->values[place];
    if (!option_is_repeated(o) && before != NULL && value != NULL && strcmp(before, value) != 0)
        result->overridden = (overridden){o->name, before, value};
    g->is[place] = true;
    g->is_own[place] = is_own;
    g->values[place] = value;
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
        return fail_usage(error, "an empty file name was given; expected PROFILE [DEBUG]");
    if (result->profile == NULL)
        result->profile = argument;
    else if (result->debug == NULL)
        result->debug = argument;
    else
        return fail_usage(error, "'%s': a third file was given; expected PROFILE [DEBUG]",
                          argument);
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
    if (o->kind == KIND_FLAG && value != NULL)
        return fail_usage(error, "--%s takes no value", o->name);
    if (o->kind != KIND_FLAG) {
        if (value == NULL && next != NULL && !is_option(next)) {
            value = next;
            *num_taken = 2;
        }
        if (value == NULL || *value == '\0')
            return fail_usage(error, "--%s needs a value: %s", o->name, o->value);
    }
    if (p->skipped != NULL && p->skipped->is[o - option_table])
        return POPLINER_OK;
    popliner_status status = takers[o->kind](o, value, p->result, error);
    if (status == POPLINER_OK)
        note(o, value, !p->is_file, p->result);
    return status;
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
        if (option_table[i].kind != KIND_HEADING && strcmp(option_table[i].name, name) == 0)
            return (config_rule){
                .is_known = strcmp(name, "config") != 0,
                .is_repeated = option_is_repeated(&option_table[i]),
                .separator = strcmp(name, "evaluate") == 0 ? '|' : ',',
            };
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
        if (option_table[i].kind != KIND_HEADING && strcmp(option_table[i].name, "config") != 0)
            nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    nearest_offer_list(&n, "profile|debug", '|');
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
        if (is_file && (own->profile != NULL || own->costs != NULL))
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
        result->max_growth_percent[i] = -1;
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
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind == KIND_REPEATED)
            free(((repeated *)place_of(&option_table[i], o))->texts);
    free(o->outputs.items);
    free(o->emits.items);
    config_free(&o->config);
}
