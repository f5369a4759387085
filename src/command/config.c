/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "command/values.h"

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

static growing_text begin(const char *piece) {
    growing_text w = {0};
    text_add(&w, piece);
    return w;
}

/* Takes the word over. */
static popliner_status add(const reader *r, growing_text w) {
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

static popliner_status fail_value(const reader *r, const char *name) {
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
            joined = begin(prefix);
        else
            text_add(&joined, separator);
        if (!append_item(&joined, key, item)) {
            free(joined.text);
            return fail_value(r, name);
        }
        if (rule->is_repeated || i + 1 == count)
            status = add(r, joined);
        member = member == NULL ? NULL : json_object_iter_next(value, member);
    }
    return status;
}

static popliner_status add_option(const reader *r, const char *name, const config_rule *rule,
                                  json_t *value) {
    const bool is_file = strcmp(name, "profile") == 0 || strcmp(name, "debug") == 0;
    if (json_is_false(value) || json_is_null(value))
        return POPLINER_OK;
    growing_text w = begin(is_file ? "" : "--");
    if (!is_file)
        text_add(&w, name);
    if (json_is_true(value) && !is_file)
        return add(r, w);
    if (!is_file)
        text_add(&w, "=");
    if (append_scalar(&w, value))
        return add(r, w);
    popliner_status status = w.failed ? fail_file_memory(r) : POPLINER_OK;
    if (status == POPLINER_OK && (is_file || (!json_is_array(value) && !json_is_object(value))))
        status = is_file ? fail_file(r, POPLINER_ERROR_INPUT, "\"%s\": expected the name of a file",
                                     name)
                         : fail_value(r, name);
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

popliner_status config_read(const char *path, config_rule (*rule_of)(const char *name),
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

void config_free(config *c) {
    for (size_t i = 0; i < c->num_words; i++)
        free(c->words[i]);
    free(c->words);
    *c = (config){0};
}
