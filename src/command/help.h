/* The help: an overview, topics, single options, all of them. It is made of the rows of the tables
 * of options and outputs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_HELP_H
#define PL_COMMAND_HELP_H

#include <stdio.h>

#include "command/option_table.h"

/* True if there is help on a topic, or on the option or output of this name. */
bool help_has(const char *topic);

/* Sets *word to the topic at this place, with its title as help, "all" being the last; false after
 * it. */
bool help_topic_at(int i, kind_word *word);

/* Prints the help on one of these; "" is the overview of 33 lines. */
void help_print(FILE *stream, const char *topic);

/* The end of the manual page. */
extern const char help_on_profiles[];
extern const char help_on_exit[];

#endif
