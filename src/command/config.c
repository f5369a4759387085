/* The file of --config: a JSON object whose keys are the names of options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "command/values.h"

static popliner_status fail_file_memory(popliner_error *error) {
    return fail(error, POPLINER_ERROR_MEMORY, "not enough memory");
}

/* ---- words ---- */

static growing_text begin_word(const char *piece) {
    growing_text w = {0};
    text_add(&w, piece);
    return w;
}

/* Takes the word over. */
static popliner_status add_word(config *c, growing_text w, popliner_error *error) {
    char **words = w.failed ? NULL : realloc(c->words, (c->num_words + 1) * sizeof *words);
    if (words == NULL) {
        free(w.text);
        return fail_file_memory(error);
    }
    words[c->num_words++] = w.text;
    c->words = words;
    return POPLINER_OK;
}

/* ---- values ---- */

/* Appends the name of a layer, whose signs are escaped. */
static void append_name(growing_text *w, const char *name) {
    for (; *name != '\0'; name++) {
        const char text[] = {'\\', *name, '\0'};
        text_add(w, strchr(VALUE_SIGNS, *name) == NULL ? text + 1 : text);
    }
}

/* Appends a text or a number; false for anything else. */
static bool append_scalar(growing_text *w, const json_t *value, bool is_name) {
    if (json_is_string(value) && is_name)
        append_name(w, json_string_value(value));
    else if (json_is_string(value))
        text_add(w, json_string_value(value));
    if (!json_is_number(value))
        return json_is_string(value);
    char *number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (number != NULL)
        text_add(w, number);
    w->failed = w->failed || number == NULL; /* a number has a text where there is memory */
    free(number);
    return true;
}

/* Appends "value", or "key=value" for what is in an object. Of rules, which have ':' instead, the
 * value may also be a list or an object. */
static bool append_item(growing_text *w, const char *key, json_t *value, const option *o) {
    const bool is_rule = o->kind == &kind_rules && key != NULL;
    const char *inner;
    json_t *member;
    size_t i = 0;
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
        json_object_foreach(value, inner, member) {
            text_add(w, i++ == 0 ? "" : ",");
            append_name(w, inner);
            text_add(w, "=");
            if (!append_scalar(w, member, false))
                return false;
        }
        return true;
    }
    return append_scalar(w, value, o->kind->has_names && !is_rule);
}

static popliner_status fail_value(const char *name, popliner_error *error) {
    return fail(error, POPLINER_ERROR_INPUT,
                "\"%s\": expected true or false, a text, a number, or a list or object of texts "
                "and numbers",
                name);
}

/* A list or an object: one word, or one for each member of a list that has no commas. */
static popliner_status add_members(config *c, const char *key_of_all, const option *o,
                                   const char *prefix, json_t *value, popliner_error *error) {
    const size_t count = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    void *member = json_object_iter(value);
    popliner_status status = POPLINER_OK;
    growing_text joined = {0};
    const bool is_apart = o->kind->is_list && o->list == NULL;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        const char *key = member == NULL ? NULL : json_object_iter_key(member);
        json_t *item = member == NULL ? json_array_get(value, i) : json_object_iter_value(member);
        if (is_apart || i == 0)
            joined = begin_word(prefix);
        else
            text_add(&joined, ",");
        if (!append_item(&joined, key, item, o)) {
            free(joined.text);
            return fail_value(key_of_all, error);
        }
        if (is_apart || i + 1 == count)
            status = add_word(c, joined, error);
        member = member == NULL ? NULL : json_object_iter_next(value, member);
    }
    return status;
}

/* Adds a key: a file's, or that of an option, which may have "no-" before it or lack it. */
static popliner_status add_key(config *c, const char *key, const option *o, json_t *value,
                               popliner_error *error) {
    const bool is_file = o == NULL;
    const bool is_false = json_is_false(value);
    if (json_is_null(value) || (is_false && (is_file || o->kind != &kind_flag)))
        return POPLINER_OK;
    growing_text w = begin_word(is_file ? "" : is_false ? "--no-" : "--");
    if (!is_file)
        text_add(&w, key);
    if (is_false || (json_is_true(value) && !is_file))
        return add_word(c, w, error);
    if (!is_file)
        text_add(&w, "=");
    if (append_scalar(&w, value, false))
        return add_word(c, w, error);
    popliner_status status = w.failed ? fail_file_memory(error) : POPLINER_OK;
    if (status == POPLINER_OK && is_file)
        status = fail(error, POPLINER_ERROR_INPUT, "\"%s\": expected the name of a file", key);
    else if (status == POPLINER_OK && !json_is_array(value) && !json_is_object(value))
        status = fail_value(key, error);
    else if (status == POPLINER_OK)
        status = add_members(c, key, o, w.text, value, error);
    free(w.text);
    return status;
}

/* ---- the file ---- */

static popliner_status read_object(const char *path, json_t **root, popliner_error *error) {
    json_error_t found;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(error, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    *root = json_loadf(file, JSON_REJECT_DUPLICATES, &found);
    const int number = ferror(file) ? errno : 0;
    (void)fclose(file); /* it was only read */
    if (*root == NULL && number != 0)
        return fail(error, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(number));
    if (*root == NULL && json_error_code(&found) == json_error_out_of_memory)
        return fail_file_memory(error);
    if (*root == NULL)
        return fail(error, POPLINER_ERROR_INPUT, "no JSON: %s (line %d, column %d)", found.text,
                    found.line, found.column);
    if (!json_is_object(*root))
        return fail(error, POPLINER_ERROR_INPUT,
                    "expected an object with the names of options as keys, like "
                    "{\"num-ipus\": 4}");
    return POPLINER_OK;
}

/* Says which option a key may have been meant to be. */
static popliner_status fail_key(const char *key, popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    nearest n = nearest_begin(key, strcspn(key, "\""));
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && strcmp(option_table[i].name, "config") != 0)
            nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    nearest_offer(&n, "input", strlen("input"));
    nearest_offer(&n, "debug", strlen("debug"));
    return fail(error, POPLINER_ERROR_USAGE, "\"%.100s\": no option%s", key,
                nearest_hint(&n, "", "; popliner --help lists them", hint));
}

popliner_status config_read(const char *path, config *result, popliner_error *error) {
    static const char *const files[] = {"input", "debug"};
    json_t *root = NULL;
    const char *key;
    json_t *value;
    popliner_status status = read_object(path, &root, error);
    /* the input is the first name of a file, in whatever order the keys are */
    for (size_t i = 0; status == POPLINER_OK && i < 2; i++)
        if (json_object_get(root, files[i]) != NULL)
            status = add_key(result, files[i], NULL, json_object_get(root, files[i]), error);
    result->num_files = result->num_words;
    if (status == POPLINER_OK && result->num_files == 1 && json_object_get(root, files[0]) == NULL)
        status = fail(error, POPLINER_ERROR_INPUT, "\"debug\" belongs to an \"input\": give both");
    if (status == POPLINER_OK)
        json_object_foreach(root, key, value) {
            bool is_taken_back;
            const option *o = option_find(key, strlen(key), &is_taken_back);
            if (strcmp(key, files[0]) == 0 || strcmp(key, files[1]) == 0)
                continue;
            status = o == NULL || o->offset == offsetof(options, config_path)
                         ? fail_key(key, error)
                         : add_key(result, key, o, value, error);
            if (status != POPLINER_OK)
                break;
        }
    json_decref(root);
    return status;
}

void config_free(config *c) {
    for (size_t i = 0; i < c->num_words; i++)
        free(c->words[i]);
    free(c->words);
    *c = (config){0};
}

/* ---- as a file ---- */

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
