/* Options from a file: a JSON object whose keys are the names of options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_CONFIG_H
#define PL_COMMAND_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/error.h"

/* What a file says, word by word, as on a command line: the names of files, then "--name" and
 * "--name=value". Zero-initialise; free with config_free. */
typedef struct config {
    char **words;
    size_t num_words;
    size_t num_files; /* that many at the beginning are names of files */
} config;

/* What the words of an option look like. */
typedef struct config_rule {
    bool is_known;
    bool is_repeated; /* a list becomes several words of this option */
    char separator;   /* else between the members of a list */
} config_rule;

/* Reads the file. `rule_of` tells of an option by its name. true is an option without a value;
 * false and null are options that are not given; a list is what the rule says; an object stands for
 * the list of its "key=value". The keys "profile" and "debug" name the files, in this order.
 * Errors: INPUT, for a file that cannot be read or is no such object; USAGE for a key that
 * `rule_of` does not know: its message has only the place, the caller says which option is near. */
popliner_status config_read(const char *path, config_rule (*rule_of)(const char *name),
                            config *result, popliner_error *error);

void config_free(config *c);

#endif
