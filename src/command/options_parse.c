/* Reads the command line by the table of options; suggests names for unknown options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"
#include "command/session.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- arguments ---- */

const option *option_find(const char *name, size_t length) {
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && name_is(option_table[i].name, name, length))
            return &option_table[i];
    return NULL;
}

/* The option with this letter, and what is attached to it as its value: -n4. A whole name after one
 * dash is none. */
static const option *find_letter(const char *argument, const char **value) {
    const char *attached = argument[1] == '\0' || argument[2] == '\0' ? NULL : argument + 2;
    if (attached != NULL && option_find(argument + 1, strcspn(argument + 1, "=")) != NULL)
        return NULL;
    for (size_t i = 0; i < num_options; i++) {
        const option *o = &option_table[i];
        if (o->letter == '\0' || argument[1] != o->letter || (attached != NULL && o->value == NULL))
            continue;
        *value = attached == NULL ? NULL : attached + (*attached == '=');
        return o;
    }
    return NULL;
}

/* The option that an argument begins with, and the value after its '=', if any. */
static const option *find(const char *argument, const char **value) {
    *value = NULL;
    if (argument[1] != '-')
        return find_letter(argument, value);
    const size_t length = strcspn(argument + 2, "=");
    if (argument[2 + length] == '=')
        *value = argument + 2 + length + 1;
    return option_find(argument + 2, length);
}

/* Refuses an argument that is no option, and names the one that it may have been meant to be, or
 * the INPUT before it that is not there. */
static popliner_status fail_unknown(const char *argument, const char *input,
                                    popliner_error *error) {
    const char *name = argument + strspn(argument, "-");
    nearest n = nearest_begin(name, strcspn(name, "="));
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL)
            nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    /* it may be one of a model, if that were there */
    if (n.best == NULL && input != NULL && strcmp(input, "-") != 0 && access(input, F_OK) != 0)
        return fail_usage(error, "%.300s: %s; %s is an unknown option without it", input,
                          strerror(errno), argument);
    return fail_usage(error, "%s: unknown option%s", argument,
                      nearest_hint(&n, "--",
                                   "; popliner --help has those of profiles and costs, popliner "
                                   "MODEL --help those of models")
                          .text);
}

/* Whether an argument is an option of ours, and so not the value of the one before it: a value was
 * forgotten more likely than a file is to be called "--solve". Behind a '=' it may be. */
static bool is_option(const char *argument) {
    const char *value;
    return argument[0] == '-' && find(argument, &value) != NULL;
}

static void take_back(const option *o, options *result) {
    result->given[o - option_table].count = 0;
}

popliner_status option_note(const option *o, const char *value, options *result,
                            popliner_error *error) {
    repeated *list = &result->given[o - option_table];
    if (!o->kind->is_list)
        take_back(o, result);
    for (size_t i = 0; o->cancels != NULL && i < num_options; i++)
        if (strcmp(option_table[i].name, o->cancels) == 0)
            take_back(&option_table[i], result);
    return list_add(&list->texts, &list->count, &value, sizeof value)
               ? POPLINER_OK
               : fail_memory(error, "the options");
}

/* Explains a size with an unknown unit, such as 600Q or 24g; false for any other text. */
static bool explain_unit(const char *value, char text[200]) {
    static const char units[] = "KMGT";
    enum { MOST_DIGITS = 3 };
    const size_t length = strspn(value, "0123456789");
    const char *unit = value + length;
    const unsigned long number = length > MOST_DIGITS ? 0 : strtoul(value, NULL, 10);
    const size_t letters = strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    uint64_t decimal = number;
    uint64_t binary = number;
    if (number == 0 || letters == 0 || unit[letters] != '\0')
        return false;
    const char *meant = strchr(units, toupper((unsigned char)*unit));
    for (const char *u = units; u <= (meant == NULL ? units : meant); u++) {
        decimal *= 1000;
        binary *= 1024;
    }
    const char letter = meant == NULL ? *units : *meant;
    snprintf(text, 200, "no unit %.20s; write %lu%c (%s bytes) or %lu%ciB (%s)", unit, number,
             letter, grouped(decimal).text, number, letter, grouped(binary).text);
    return true;
}

/* Sets the member of the option. `value` is NULL for flags. */
static popliner_status take_value(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    problem why = {.row = o};
    const bool is_taken = o->kind->parse(value, (char *)result + o->offset, &why);
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

/* True for what --help may be about: an option without its value, but a flag by its name alone, as
 * --help -q is quiet. */
static bool is_named(const char *argument) {
    const char *value = NULL;
    const option *o = *argument == '-' ? find(argument, &value) : NULL;
    return o != NULL && value == NULL && (argument[1] == '-' || o->value != NULL);
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
    bool is_taken_back = false;
    const option *o = find(argument, &value);
    if (o == NULL)
        return fail_unknown(argument, p->result->profile, error);
    if (o->value == NULL && value != NULL)
        return fail_usage(error, "--%s takes no value", o->name);
    if (o->kind->is_optional && value == NULL) {
        value = next != NULL && (*next != '-' || is_named(next)) ? next : NULL;
        *num_taken = value == NULL ? 1 : 2;
    } else if (o->value != NULL) {
        if (value == NULL && next != NULL && !is_option(next)) {
            value = next;
            *num_taken = 2;
        }
        /* "--NAME=" clears; an empty argument of its own is a variable of a shell without value */
        is_taken_back = o->kind->is_list && *num_taken == 1 && value != NULL && *value == '\0';
        if (!is_taken_back && (value == NULL || *value == '\0'))
            return fail_usage(error, "--%s needs a value: %s", o->name, o->value);
    }
    if (!is_taken_back)
        return option_note(o, value, p->result, error);
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

/* ---- files of arguments ---- */

/* Takes the word over; false without memory. */
static bool add_word(argument_files *f, char *word) {
    const bool is_added = word != NULL && list_add(&f->words, &f->num_words, &word, sizeof word);
    if (!is_added)
        free(word);
    return is_added;
}

/* Adds the words of a file: between blanks, or in quotes, which go. */
static popliner_status read_words(argument_files *f, const char *path, popliner_error *error) {
    enum { MOST_MIB = 16 };
    growing_text word = {0};
    popliner_status status = POPLINER_OK;
    int quote = 0;
    int c = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    for (size_t i = 0; status == POPLINER_OK && c != EOF && i <= (size_t)MOST_MIB << 20; i++) {
        c = getc(file);
        const bool is_end = c == EOF || (quote == 0 && strchr(" \t\r\n", c) != NULL);
        const bool is_quote = quote == 0 ? c == '\'' || c == '"' : c == quote;
        if (!is_end)
            text_add(&word, is_quote ? "" : (char[]){(char)c, '\0'});
        else if (word.text != NULL || word.failed) {
            if (word.failed || !add_word(f, word.text))
                status = fail_memory(error, "the options");
            word = (growing_text){0};
        }
        quote = is_quote ? quote == 0 ? c : 0 : quote;
    }
    if (status == POPLINER_OK && ferror(file))
        status = fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    else if (status == POPLINER_OK && c != EOF)
        status = fail(error, POPLINER_ERROR_INPUT, "%s: is longer than %d MiB", path, MOST_MIB);
    else if (status == POPLINER_OK && quote != 0)
        status = fail_usage(error, "@%s: a quote does not end", path);
    free(word.text);
    (void)fclose(file); /* it was only read */
    return status;
}

static popliner_status take_words_of(argument_files *f, const char *path, popliner_error *error) {
    return list_add(&f->paths, &f->count, &path, sizeof path) ? read_words(f, path, error)
                                                              : fail_memory(error, "the options");
}

/* Puts the words of files in their places. */
static popliner_status expand(argument_files *f, int argc, char **argv, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    bool only_names = false;
    for (int i = 0; status == POPLINER_OK && i < argc; i++) {
        only_names = only_names || strcmp(argv[i], "--") == 0;
        if (i > 0 && !only_names && argv[i][0] == '@' && argv[i][1] != '\0')
            status = take_words_of(f, argv[i] + 1, error);
        else if (!add_word(f, strdup(argv[i])))
            status = fail_memory(error, "the options");
    }
    return status;
}

static popliner_status take_values(options *result, popliner_error *error) {
    for (size_t i = 0; i < num_options; i++)
        for (size_t k = 0; k < result->given[i].count; k++)
            TRY(take_value(&option_table[i], result->given[i].texts[k], result, error));
    return POPLINER_OK;
}

popliner_status options_parse(int argc, char **argv, options *result, popliner_error *error) {
    parsing p = {.result = result};
    argument_files *files = &result->files;
    *result = options_usual;
    result->reading.option_names = &option_names;
    for (size_t i = 0; i < POPLINER_NUM_GROWTHS; i++)
        result->fail_on.growth_percent[i] = -1;
    TRY(expand(files, argc, argv, error));
    TRY(take_arguments(&p, (int)files->num_words, files->words, error));
    TRY(take_values(result, error));
    return options_check(result, error);
}

void options_free(options *o) {
    for (size_t i = 0; i < num_options; i++)
        free(o->given[i].texts);
    for (size_t i = 0; i < o->reports.count; i++)
        free((char *)o->reports.texts[i]);
    free(o->reports.texts);
    for (size_t list = 0; list < NUM_LISTS; list++)
        free(o->lists[list].items);
    free(o->modules.copy);
    free(o->modules.names);
    free(o->require.items);
    free(o->outputs.items);
    popliner_order_free(o->schedule.given);
    free(o->schedule.path);
    free(o->device_map.ipus);
    free(o->recompute.each);
    for (size_t i = 0; i < o->files.num_words; i++)
        free(o->files.words[i]);
    free(o->files.paths);
    free(o->files.words);
}
