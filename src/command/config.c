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

/* Appends a text or a number; false for anything else. */
static bool append_scalar(growing_text *w, const json_t *value) {
    if (json_is_string(value))
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

/* Adds a word: `begin`, then the value, or those of a list from `first` to before `end` with commas
 * between them. */
static popliner_status add_values(config *c, const char *key, const char *begin,
                                  const json_t *value, size_t first, size_t end,
                                  popliner_error *error) {
    growing_text w = {0};
    bool is_taken = true;
    text_add(&w, begin);
    for (size_t i = first; is_taken && i < end; i++) {
        text_add(&w, i > first ? "," : "");
        is_taken = append_scalar(&w, json_is_array(value) ? json_array_get(value, i) : value);
    }
    if (is_taken)
        return add_word(c, w, error);
    free(w.text);
    return fail(error, POPLINER_ERROR_INPUT, "\"%s\": expected %s", key,
                *begin == '\0' ? "the name of a file"
                               : "true or false, a text, a number, or a list of texts and numbers");
}

/* Adds a key: a file's, or that of an option, which may have "no-" before it or lack it. A list is
 * one word with commas, or one for each member where values add up. */
static popliner_status add_key(config *c, const char *key, const option *o, const json_t *value,
                               popliner_error *error) {
    const bool is_false = json_is_false(value);
    const size_t count = o != NULL && json_is_array(value) ? json_array_size(value) : 1;
    popliner_status status = POPLINER_OK;
    char begin[100] = "";
    if (json_is_null(value) || (is_false && (o == NULL || o->kind != &kind_flag)))
        return POPLINER_OK;
    if (o != NULL)
        snprintf(begin, sizeof begin, "--%s%s%s", is_false ? "no-" : "", key,
                 json_is_boolean(value) ? "" : "=");
    if (o != NULL && json_is_boolean(value))
        return add_values(c, key, begin, value, 0, 0, error);
    if (count == 1 || !o->kind->is_list || o->list != NULL)
        return count == 0 ? POPLINER_OK : add_values(c, key, begin, value, 0, count, error);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++)
        status = add_values(c, key, begin, value, i, i + 1, error);
    return status;
}

/* ---- the file ---- */

static popliner_status read_object(const char *path, json_t **root, popliner_error *error) {
    json_error_t found;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(error, POPLINER_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    const int first = getc(file);
    if (first == 0xef) /* a byte order mark of three bytes, as editors write it */
        (void)(getc(file) + getc(file));
    else
        (void)ungetc(first, file);
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
