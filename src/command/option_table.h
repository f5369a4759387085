/* The table of options: a row has all that is to be said of an option. Parsing, help, the
 * manual page, completions, checks, lists of files and copied commands loop over it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OPTION_TABLE_H
#define PL_COMMAND_OPTION_TABLE_H

#include <stdio.h>

#include "command/options.h"

typedef struct option option;

/* Why a value is wrong, if that says more than what its kind expects. */
typedef struct problem {
    const option *row; /* of the value */
    char text[240];    /* "": `expected` of the kind */
    bool lacks_memory;
} problem;

/* Fills *why and returns false. */
bool problem_is(problem *why, const char *format, ...);

/* Says what is wrong with a range that was not taken, or has too many values. Returns false. */
bool range_complain(const value_range *range, problem *why);

/* A word of a value, and the number that stands for it. */
typedef struct kind_word {
    const char *name; /* NULL after the last */
    int number;
    const char *help; /* one line */
    const char *form; /* with what may follow, "cut:L,..."; NULL: the name */
} kind_word;

/* A kind of value: how it is read, how messages and completions describe it. */
typedef struct value_kind {
    const char *expected; /* the end of its messages: "bytes, like 600K"; NULL: one of the words */
    const kind_word *words;
    bool (*word_at)(int i, kind_word *word); /* of another table instead; false after the last */
    const char *(*forms)[2];                 /* other forms, each with its help; NULL: none */
    /* Sets the member at `field`, which is zeroed or as before. `text` is NULL for flags, and lives
     * as long as the options. */
    bool (*parse)(const char *text, void *field, problem *why);
    bool is_list;     /* values add up; else the last one counts */
    bool is_optional; /* the value may be left out */
} value_kind;

/* The rows use these; `number`: may be 0, `count`: at least 1. */
extern const value_kind kind_flag, kind_text, kind_split, kind_count, kind_number, kind_bytes,
    kind_percent, kind_failures, kind_layers, kind_modules, kind_reserve, kind_effects, kind_time,
    kind_names, kind_rules, kind_output, kind_color, kind_objectives, kind_ipus, kind_memory_by_ipu,
    kind_speeds, kind_bandwidths, kind_map, kind_batch, kind_solver, kind_memory_model,
    kind_schedule, kind_recompute, kind_need, kind_layer_order, kind_format, kind_help,
    kind_original;

struct option {
    const value_kind *kind; /* NULL: no option, but the heading of a group of the help */
    char letter;            /* '\0': none */
    const char *name;
    const char *value;     /* how the help calls it; NULL: it is a flag, and has none */
    size_t offset;         /* of its member of the options */
    const char *topics;    /* of the help, with blanks between them */
    const char *otherwise; /* what holds without it; NULL: nothing */
    const char *help;      /* one line of at most 72 characters */

    unsigned action;     /* it asks for this one */
    unsigned implied;    /* an action that is done for it, if nothing else is */
    const char *cancels; /* the option that it stands against: of both the last one counts */
    const char *output; /* of kind_original: it asks for this one; its value, if any, is the file */
    unsigned uses;      /* actions that use it, perhaps OR_WARNED; 0: all */
    copied copied;      /* the words of the page that contain it */
};

/* Options that only cause a warning with actions of PopLiner 1.0.0, which took them with
 * anything, so there are scripts that do. */
#define OR_WARNED (1u << 31)
/* Set if the overview in words also uses it, with one value. */
#define OR_OVERVIEW (1u << 30)

/* The defaults, except for the percentages of growth. */
extern const options options_usual;

extern const option option_table[];
extern const size_t num_options;

/* The option of this name, `length` characters; NULL: none. */
const option *option_find(const char *name, size_t length);

/* Notes that an option was given. Lists add up, and of two other values the last one counts, as
 * with PopLiner 1.0.0, so that a script can add its own after others'. Errors: MEMORY. */
popliner_status option_note(const option *o, const char *value, options *result,
                            popliner_error *error);

/* A relation between options. Its sides are options, with blanks between them; "slack
 * recompute=auto": of some options values with this word count alone. options_check.c has what is
 * no word of a value: "num-ipus=range", "costs" for a file of costs, and so on. */
typedef struct option_relation {
    const char *subject;
    enum { NOT, NEEDS } how;
    const char *others; /* of NEEDS one is enough */
    const char *reason;
} option_relation;

extern const option_relation option_relations[];
extern const size_t num_option_relations;

/* Options that request a table with a row for each value. */
#define RANGES "num-ipus=range mem-per-tile=range"
#define SEVERAL RANGES " pareto total-ipus"

/* The last value of an option; NULL if it was not given. */
const char *option_value_given(const options *o, const char *name);

/* Whether something was given of a list such as "slack recompute=auto". */
bool options_have(const options *o, const char *list);

/* Returns the number of a word of the option; -1 if it has no such word, which *why then says. */
int option_word(const char *name, size_t length, problem *why);

/* The word of a kind that is nearest to a text. */
nearest kind_nearest(const value_kind *kind, const char *text, size_t length);

/* Fills *word with that at a place; false after the last. */
bool kind_word_at(const value_kind *kind, int i, kind_word *word);

/* Writes "--solve, --evaluate and --output page": actions that use an option. */
void options_list_uses(unsigned actions, char *text, size_t size);

/* True if the option of this number was given and nothing that is done uses it; then writes
 * "--layers: does nothing here; it is for --diagnose". */
enum { UNUSED_BYTES = 300 };
bool options_say_unused(const options *o, size_t number, char text[UNUSED_BYTES]);

/* Adds an output that is wanted; false without memory. */
bool options_add_output(wanted_list *list, const wanted_output *w);

/* Settles what depends on several options, and rejects those that have no effect together.
 * Errors: USAGE. */
popliner_status options_check(options *o, popliner_error *error);

/* ---- what --output takes ---- */

/* How an output is made: outputs.c has a case for each, and page.c makes the page. */
typedef enum output_kind {
    OUTPUT_SECTION,   /* `number` is a popliner_section */
    OUTPUT_PLAN,      /* the section of a split */
    OUTPUT_ORIGINAL,  /* a table of PopLiner 1.0.0: a popliner_table */
    OUTPUT_FRAMEWORK, /* a popliner_emit_format */
    OUTPUT_REPORT,    /* what the actions `number` (bits of options.h) print */
    OUTPUT_POPLINER,  /* the stages as PopLiner 1.0.0 prints them */
    OUTPUT_PAGE,
    OUTPUT_TRACE,
    OUTPUT_PROGRAM, /* a popliner_program_format */
    OUTPUT_ANALYSIS,
} output_kind;

/* Formats, as bits. */
enum {
    AS_TSV = 1 << 0,
    AS_CSV = 1 << 1,
    AS_JSON = 1 << 2,
    AS_TEXT = 1 << 3,
    AS_PLOT = 1 << 4,
    AS_TABLE = AS_TSV | AS_CSV | AS_JSON | AS_TEXT,
    AS_ORIGINAL = AS_TSV | AS_CSV,
    AS_ITSELF = 0, /* in one format, whatever --format says */
};

typedef struct output {
    const char *name;
    output_kind kind;
    int number;
    unsigned formats;
    unsigned action;  /* what it does, as bits of options.h */
    unsigned implied; /* an action that is done for it, unless one of `instead` is */
    unsigned instead;
    bool is_file;       /* it is never printed */
    bool takes_costs;   /* it is also of files of costs */
    bool takes_reports; /* it is also of several together */
    const char *what;   /* of a file: as messages call it */
    const char *help;
    const char *form; /* with details that may follow its name; NULL: none */
} output;

extern const output output_table[];
extern const size_t num_outputs;

/* The row of this name; NULL if there is none. */
const output *output_find(const char *name, size_t length);

/* ---- help, made of these rows and those of outputs: an overview, topics, single options ---- */

/* Prints the help on one of these; "" is the overview of 33 lines. */
void help_print(FILE *stream, const char *topic);

#endif
