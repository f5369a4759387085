/* The table of options: a row has all that is to be said of an option. Parsing, --config, help, the
 * manual page, completions, checks, lists of files and copied commands loop over it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OPTION_TABLE_H
#define PL_COMMAND_OPTION_TABLE_H

#include "command/options.h"

/* What an option does with its value; how it is taken: options_parse.c. */
typedef enum kind {
    KIND_HEADING,   /* no option: begins a group of the help */
    KIND_FLAG,      /* bool at `offset` */
    KIND_TEXT,      /* const char * at `offset` */
    KIND_WRITTEN,   /* the same, the path of a file that is written */
    KIND_READ,      /* of a file that is read */
    KIND_REPORTS,   /* of a report, or of a directory with some */
    KIND_COUNT,     /* size_t at `offset`, at least 1 */
    KIND_NUMBER,    /* the same, but may be 0 */
    KIND_BYTES,     /* uint64_t at `offset`, at least 1 */
    KIND_PERCENT,   /* double at `offset`, 0 to 100 */
    KIND_GROWTH,    /* percentages by what may grow, for --max-growth */
    KIND_RESERVE,   /* bytes, "N%" or "gaps" */
    KIND_EFFECTS,   /* names separated by ',', or "none" */
    KIND_SECONDS,   /* double at `offset`, above 0 */
    KIND_REPEATED,  /* repeated at `offset` */
    KIND_CHOICE,    /* an enum at `offset`: one of the choices */
    KIND_RECOMPUTE, /* one of the choices, several of them, or "auto:" and some */
    KIND_OUTPUT,    /* "SECTION=FILE" */
    KIND_EMIT,      /* "FORMAT" or "FORMAT=FILE" */
} kind;

/* What an option says nothing beside, and is refused with. */
enum {
    BESIDE_GREEDY = 1 << 0,    /* --solver greedy */
    BESIDE_COSTS = 1 << 1,     /* --costs: it is for profiles */
    BESIDE_MODEL = 1 << 2,     /* --memory-model popliner */
    BESIDE_STAGES = 1 << 3,    /* what shows the stages of one split */
    BESIDE_EMIT = 1 << 4,      /* --emit */
    BESIDE_COMPARE = 1 << 5,   /* --compare */
    BESIDE_PARETO = 1 << 6,    /* --pareto */
    BESIDE_REPLICAS = 1 << 7,  /* --total-ipus */
    WITHOUT_REPLICAS = 1 << 8, /* no --total-ipus */
    BESIDE_AUTO = 1 << 9,      /* --recompute auto */
    BESIDE_REPORTS = 1 << 10,  /* --report of several */
};

typedef struct option {
    kind kind;
    char letter;       /* '\0': none */
    const char *name;  /* of the config file's key, too */
    const char *value; /* how the help calls it */
    size_t offset;     /* of its member of the options */
    const char *help;  /* lines of at most 54 characters */

    const char *(*word)(int i); /* the names of the concept, NULL after the last */
    const char *choices; /* more of them, separated by '|'; of a text for completions alone */
    const int *values;   /* of the choices; NULL: their places */
    unsigned action;     /* it asks for this one */
    unsigned uses;       /* actions that use it, perhaps OR_WARNED; 0: all */
    unsigned excluded;   /* BESIDE_... */
    copied copied;       /* in which words of the page it is told */
    const char *what;    /* of a file that is written: as messages call it */
} option;

/* Options that are only warned of beside actions that PopLiner 1.0.0 had: it took them with
 * anything, so there are scripts that do. */
#define OR_WARNED (1u << 31)

/* As they are if nothing is given, but for the percentages of growth. */
extern const options options_usual;

extern const option option_table[];
extern const size_t num_options;

/* The place of a name among the choices, or -1; all choices, separated by '|'. */
enum { CHOICES_BYTES = 240 };
int option_choice(const option *o, const char *name, size_t length);
const char *option_choices(const option *o, char text[CHOICES_BYTES]);

/* Whether all values of an option count, and not the last one alone. */
bool option_is_repeated(const option *o);

/* Settles what depends on several options, and refuses those that say nothing beside each other.
 * Errors: USAGE. */
popliner_status options_check(options *o, popliner_error *error);

#endif
