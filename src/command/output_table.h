/* The table of outputs: a row has all that is to be said of what --output takes. Parsing, checks,
 * help, lists of files and writing loop over it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OUTPUT_TABLE_H
#define PL_COMMAND_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* How an output is made: outputs.c has a function for each. */
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

#endif
