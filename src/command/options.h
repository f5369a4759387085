/* The command line as parsed: what each option was set to, and what follows from them together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OPTIONS_H
#define PL_COMMAND_OPTIONS_H

#include <stdio.h>

#include "command/values.h"
#include "popliner/analysis.h"
#include "popliner/changes.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/report.h"
#include "popliner/solver.h"

typedef enum reserve_kind {
    RESERVE_NOTHING,
    RESERVE_BYTES,
    RESERVE_PERCENT,
    RESERVE_GAPS
} reserve_kind;

typedef struct asked_ipus {
    size_t number;     /* 0: not said */
    value_range range; /* instead */
} asked_ipus;

/* The value of IPUs, or of the link between two. */
typedef struct ipu_value {
    popliner_ipu_link link; /* or the first and the last of some IPUs, and a value in `bytes` */
    const char *text;       /* of the option */
} ipu_value;

/* Lists of values of single IPUs, or of the links between two; each is of one option. */
typedef enum ipu_list {
    LIST_RESERVES, /* their `cycles` are reserve_kind, `bytes` also hundredths of a percent */
    LIST_LIMITS,
    LIST_SPEEDS,
    LIST_LINKS,
    NUM_LISTS
} ipu_list;

/* Objectives by their numbers in the library, the most important first. */
enum { THROUGHPUT = POPLINER_NUM_OBJECTIVES };
typedef struct asked_objectives {
    const char *option; /* that names them, and its value; NULL: none does */
    const char *text;
    int names[POPLINER_NUM_OBJECTIVES + 1];
    size_t count;
} asked_objectives;

/* Values by IPU, or by link. */
typedef struct by_ipu {
    ipu_value *items;
    size_t count;
    size_t end_ipu;             /* after the largest one; not of links */
    popliner_ipu_link all;      /* of the others; 0: not said */
    popliner_ipu_link replicas; /* between replicas; 0: not said */
    size_t num_listed;          /* IPUs 0, 1, ... that a plain list has values of */
    const char *all_text;       /* of the option */
    value_range range;          /* instead of `all` */
} by_ipu;

/* The IPU of each stage. */
typedef struct asked_map {
    const char *text; /* NULL: not said */
    size_t *ipus;     /* [num_stages], owned; NULL: it is one of the next */
    size_t num_stages;
    size_t interleaved; /* so many stages on each IPU, in turn; 0: not so */
    bool is_v;          /* V-shaped: two stages on each IPU */
    bool is_shared;     /* stages share an IPU */
    bool is_any;        /* popliner chooses */
    bool is_replicated; /* popliner chooses how many IPUs each stage has */
} asked_map;

typedef struct asked_schedule {
    const char *copies; /* a rule, or numbers separated by ','; NULL: those of the schedule */
    popliner_schedule order;
    const char *text;
    popliner_order *given; /* of a file, with `more` copies; else NULL */
    char *path;            /* owned: that file; else NULL */
    popliner_copies rule;  /* of both; without `copies` that of the schedule */
} asked_schedule;

typedef struct asked_batch {
    size_t samples;        /* of a step in all pipelines; 0: not said */
    size_t of_micro_batch; /* 0: not said */
} asked_batch;

typedef struct asked_effects {
    unsigned mask; /* popliner_effect */
    popliner_accumulators accumulators;
} asked_effects;

typedef struct asked_recompute {
    popliner_recompute way;
    unsigned ways;            /* of auto: bits; 0: all */
    const char *text;         /* as it was given; NULL: it was not */
    popliner_recompute *each; /* [num_stages], owned; NULL: all stages alike */
    size_t num_stages;
} asked_recompute;

typedef struct asked_failures {
    double growth_percent[POPLINER_NUM_GROWTHS]; /* below 0: not said */
    double unexplained_percent;
    bool contradiction; /* an inconsistent profile is rejected */
} asked_failures;

typedef struct asked_layers {
    const char *value;    /* the option's */
    const char *names[2]; /* its ends, see value_is; NULL: all layers */
    size_t lengths[2];    /* 0: left out */
    bool only_layers;     /* operations in no layer are left out */
} asked_layers;

/* Names of modules: before the layers, then after them. */
typedef struct asked_modules {
    char *copy;         /* owned: the texts */
    const char **names; /* [count], owned; NULL: not said */
    size_t num_head;
    size_t count;
    const char *layer_path; /* with {} for the layer's name; NULL: that is all of it */
} asked_modules;

/* Whether what is shown has colours. */
typedef enum colour_choice { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour_choice;

/* The files "@FILE" whose words stand in their place, and all arguments with them. */
typedef struct argument_files {
    const char **paths; /* [count], of argv */
    size_t count;
    char **words; /* [num_words], owned */
    size_t num_words;
} argument_files;

/* Actions, as bits. */
enum {
    SOLVE = 1 << 0,
    EVALUATE = 1 << 1,
    DIAGNOSE = 1 << 2,
    COMPARE = 1 << 3,
    TOTALS = 1 << 4,
    BREAKDOWNS = 1 << 5,
    LAYER_PAIRS = 1 << 6,
    TABLES = 1 << 7, /* also plots and traces */
    PAGE = 1 << 8,
    PLANS = 1 << 9, /* for frameworks */
    STORE = 1 << 10,
    ALL_ACTIONS = (1 << 11) - 1,
    /* that PopLiner 1.0.0 had */
    OLD_ACTIONS = SOLVE | TOTALS | BREAKDOWNS | LAYER_PAIRS | STORE,
    SOLVING = SOLVE | PAGE,
    SPLITS = SOLVE | EVALUATE | PAGE,
};

/* The values of an option that may be repeated. */
typedef struct repeated {
    const char **texts;
    size_t count;
} repeated;

enum { MAX_OPTIONS = 100 };

/* An output that is wanted. */
typedef struct wanted_output {
    const struct output *what;
    const char *path;   /* NULL: standard output */
    const char *option; /* that asks for it, and its value */
    const char *value;
    size_t tile; /* of a plot of liveness, or POPLINER_ALL_TILES */
    bool has_always_live;
} wanted_output;
typedef struct wanted_list {
    wanted_output *items;
    size_t count;
} wanted_list;

/* Values of --format that are no formats of the library. */
#define FORMAT_TEXT ((popliner_format)(POPLINER_FORMAT_JSON + 1))
enum { FORMAT_PLOT = POPLINER_FORMAT_JSON + 2 };

/* A rule of --require for one layer, or for two. */
typedef struct asked_rule {
    int kind;             /* a row of rules.c */
    const char *value;    /* the option's */
    const char *names[2]; /* parts of it, see value_is */
    size_t lengths[2];
    size_t ipu;
} asked_rule;
typedef struct asked_rules {
    asked_rule *items;
    size_t count;
    size_t min_layers; /* of a stage; MIN_LAYERS_USUAL: not said */
    size_t max_layers; /* 0: any */
} asked_rules;

/* 1, where there are layers and the solver knows of them. */
#define MIN_LAYERS_USUAL POPLINER_USUAL_UNITS

/* The request of the user. Texts belong to `files`. */
typedef struct options {
    popliner_analysis_options reading; /* how it is read */
    const char *profile;               /* or a directory, or a saved analysis */
    const char *debug;                 /* NULL: look for it */
    const char *costs;                 /* a file of costs instead of a profile, by its content */
    argument_files files;

    bool solve;
    bool diagnose;
    const char *evaluate; /* names of layers to cut after, separated by ',' or '|' */
    const char *compiled; /* the reports of the compiled pipeline */
    bool load_from_file;
    repeated reports; /* names of sub-directories of the profile, or "all" */
    wanted_list outputs;
    asked_modules modules;
    const char *compare; /* the profile or stored analysis before; NULL: none */

    popliner_format format; /* TEXT, unless it was given */
    bool has_format;        /* it was */
    bool is_original;       /* the output is that of PopLiner 1.0.0, with its log */
    colour_choice color;
    popliner_method method;
    int memory_model; /* popliner_memory_model; below 0: not said */
    asked_layers layers;
    asked_failures fail_on;
    asked_ipus num_ipus;
    asked_objectives objective;
    double slack_percent;
    by_ipu lists[NUM_LISTS];
    asked_rules require;
    asked_map device_map;
    asked_schedule schedule;
    asked_recompute recompute;
    size_t micro_batches; /* of a step in each pipeline; 0: not said */
    size_t total_ipus;    /* 0: one pipeline */
    asked_batch batch;
    asked_effects effects;
    popliner_need need;
    double time_limit_seconds; /* 0: none */
    const value_range *sweep;  /* the values of a table; NULL: none */
    asked_objectives pareto;   /* two, and those that decide between equals */

    bool paths; /* pages and comparisons have them */

    bool quiet;
    bool verbose;
    const char *help; /* a topic, "" for none; NULL: no help */
    bool version;

    repeated given[MAX_OPTIONS]; /* by place in the table: the values, NULL for flags */
    unsigned actions;            /* that were requested */
} options;

/* Fills *result from the arguments. To be freed with options_free, whatever is returned; copies of
 * it are not. Errors: USAGE, with a sentence that names the option; INPUT for a file of arguments;
 * MEMORY. */
popliner_status options_parse(int argc, char **argv, options *result, popliner_error *error);

void options_free(options *o);

/* Whether --report asks for several reports together. */
bool options_are_together(const options *o);

/* The path as answers show it: as it is with --paths, else its last part. */
const char *options_shown_path(const options *o, const char *path);

/* The words of a page that contain an option: what is read and counts as memory, the pipeline, the
 * constraints. */
typedef enum copied { COPIED_NOT, COPIED_INPUT, COPIED_PIPELINE, COPIED_CONSTRAINT } copied;

/* The option that says which IPU each stage is on, or NULL if none does. */
const char *options_map_name(const options *o);

/* The first output of this output_kind that is wanted; NULL if none is. */
const wanted_output *options_wanted(const options *o, int own_kind);

/* The output that takes the place of the report on standard output; NULL if none does. Tables of
 * PopLiner 1.0.0 come before the report. */
const wanted_output *options_printed(const options *o);

/* The format of a wanted output: that of its file's name, or else that of --format, or else text on
 * standard output, unless it is a table of PopLiner 1.0.0. */
popliner_format options_format_of(const options *o, const wanted_output *w);

/* True if --evaluate gives the split of a file of costs. Its action is SOLVE: that solves with all
 * cuts fixed. */
bool options_fix_cuts(const options *o);

/* The most IPUs of --num-ipus, a number or a range; 0: not said. */
size_t options_num_ipus(const options *o);

/* The objectives of --pareto, or else of --objective. */
const asked_objectives *options_objectives(const options *o);

/* How many stages each IPU of a pipeline has, with --total-ipus. */
size_t options_chunks(const options *o);

/* Whether more than one answer is requested: --total-ipus, --pareto, a range. */
bool options_have_several(const options *o);

/* Whether --reserve keeps something free. */
bool options_has_reserve(const options *o);

/* Whether what it keeps free takes the place of what the layout wastes among all effects. */
bool options_replace_layout(const options *o);

/* Whether the schedule is one whose early stages keep activations. */
bool options_keep_activations(const options *o);

/* ---- the files that a run reads and writes: run_files.c ---- */

/* Finds the reports of a directory, its sub-directories with a profile.pop, that --report asks for:
 * their names, in its order, of all in theirs, then NULL. One block for the caller to free, also
 * after an error. Errors: INPUT for a directory that has no reports, USAGE for a name that none of
 * them has, MEMORY. */
popliner_status report_names_find(const options *o, char ***names, popliner_error *error);

/* Refuses what cannot be written, is to be written by two options, is read, or is a profile or
 * debug information, by its content. Files are the same if device and inode are; where there
 * is none yet, if folder and name are. Changes nothing. Errors: USAGE, OUTPUT, MEMORY; those of
 * --report. O(files * files). */
popliner_status check_run_files(const options *o, popliner_error *error);

/* The kinds of INPUT, by its content. */
typedef enum input_kind {
    INPUT_PROFILE, /* a profile or a directory; also what cannot be read, which reading reports */
    INPUT_STORED,  /* an analysis that was stored */
    INPUT_COSTS,   /* a file of costs; "-": standard input */
    INPUT_DEBUG,   /* debug information, which is no INPUT */
} input_kind;

/* Reads the first bytes of a regular file; a name that ends with .pop is that of a profile. */
input_kind input_kind_of(const char *path);

#endif
