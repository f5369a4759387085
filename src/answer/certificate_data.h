/* The members of a certificate inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANSWER_CERTIFICATE_DATA_H
#define PL_ANSWER_CERTIFICATE_DATA_H

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_writer.h"
#include "base/layout.h"
#include "base/sheet.h"
#include "memory/parts.h"
#include "memory/stage.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/profile.h"
#include "popliner/replicas.h"
#include "popliner/report.h"
#include "popliner/screen.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/step.h"

/* The subject of a certificate. */
typedef struct pl_certificate_input {
    const popliner_solver_options *options;
    popliner_pipeline pipeline; /* its max_stages mean nothing */
    popliner_need need;         /* that the plan's peaks are */
    size_t num_units;
    const char *const *unit_names; /* [num_units] */
    const char *time_unit;         /* of the cycles */
    uint64_t cycles_per_time_unit;
    uint64_t cuts_per_unit;
    bool has_cycles;
    const popliner_costs *costs;        /* for making it; NULL: unknown */
    const uint64_t *kv_bytes;           /* [num_units], or NULL; see popliner_certificate */
    const uint64_t *kv_tokens;          /* [num_units] that each grows by; NULL: any number */
    const char *not_counted;            /* what the costs leave out; NULL: unknown */
    const uint8_t *unit_kinds;          /* [num_units], pl_unit_kind, or NULL */
    size_t num_empty_units;             /* at the beginning, that need no memory */
    const char *unit_order;             /* see popliner_costs_file */
    const struct pl_graph_chain *graph; /* of which the units are one chain; NULL: none */
    popliner_option_names option_names; /* complete */
    bool lacks_schedule;                /* see popliner_certificate */
    /* Warnings of the profile and of the request; NULL: none. They need not outlive it. */
    const pl_messages *warnings[2];

    /* The chain of the profile that the costs come from, which has to outlive the certificate, or
     * NULL. Details tell what a stage needs that has an IPU to itself; other stages are measured,
     * and checked, which needs a meter. The last ones are for making it. */
    const pl_chain *chain;
    pl_stage_meter *meter; /* measures other stages meanwhile */
    /* by what the stages recompute, or NULL */
    const pl_stage_details *stages_of_ways[POPLINER_RECOMPUTE_AUTO];
    /* [stages of the plan]: what each recomputes, where the pipeline says AUTO; else NULL */
    const popliner_recompute *stage_recomputes;

    /* The options that pl_certificate_take_input completed: `options` is then the first. */
    popliner_solver_options own_options;
    popliner_listener own_listener;
} pl_certificate_input;

/* A unit of a stage that is too large, by itself in its place of the pipeline. */
typedef struct pl_large_unit {
    size_t unit;
    uint64_t bytes;
} pl_large_unit;
enum { PL_LARGE_UNITS = 3 };

/* The parts of the memory of a device. */
typedef enum pl_stage_part {
    PL_STAGE_STATES, /* weights and what trains them, and whatever has no part of its own */
    PL_STAGE_CACHE,
    PL_STAGE_STASH,
    PL_STAGE_WORKSPACE,
    PL_STAGE_RESERVE, /* kept free, above the limit */
    PL_NUM_STAGE_PARTS
} pl_stage_part;
extern const char *const pl_stage_part_names[PL_NUM_STAGE_PARTS];

typedef struct pl_certificate {
    popliner_certificate info;  /* first: it is what the caller has */
    pl_certificate_input input; /* its options and texts are the next ones */
    popliner_plan plan;
    pl_owned_options options;
    pl_arrays arrays;              /* what the certificate points to, unless it is said */
    pl_shared_ends name_ends;      /* of the units */
    char **node_names;             /* of a graph, by unit; NULL: none */
    size_t *nodes_from;            /* [units + 1] of each unit */
    const uint64_t *reduced_bytes; /* [num_stages] that replicas add up; NULL: there are none */
    bool has_no_bounds;            /* of its objectives */
    uint64_t (*parts)[PL_NUM_STAGE_PARTS]; /* [stages of the plan], of costs from a file whose
                                            * stages choose nothing and share no IPU; or NULL */
    bool has_part[PL_NUM_STAGE_PARTS];     /* in some stage */
    uint64_t *most_bytes; /* [stages], that each may need at most, of such costs that say it; or
                           * NULL */
    bool lacks_most;      /* it is NULL, as stages that have a limit choose recomputation */
    bool lacks_choice;    /* stages choose how they recompute, but no unit has another way */
    popliner_need counted_need;     /* the estimate that costs are */
    uint64_t most_tokens;           /* for which there is room then; UINT64_MAX for any number */
    popliner_costs *costs;          /* NULL: none, or not its own */
    bool is_evaluation;             /* the split was given */
    bool is_measured;               /* there are details */
    bool is_of_ipus;                /* costs are of several profiles */
    popliner_stage_detail *details; /* [stages of the plan], of the IPU of each */
    popliner_verdict *verdicts;     /* [stages]; NULL if it is not measured */
    popliner_stage_detail unit;     /* of the unit that is too large, if there is one */
    size_t bottleneck; /* the stage with the fullest tile, or with most cycles if they are
                                 the first objective */
    /* If nothing fits and the costs are of no profile: the largest units of the stage with the
     * least room, and what this stage stores for later micro-batches. */
    pl_large_unit large_units[PL_LARGE_UNITS];
    size_t num_large_units;
    uint64_t large_stash_bytes;
    uint64_t *pass_cycles;     /* [stages][PL_NUM_PASS_KINDS]; NULL if no step is known */
    uint64_t even_step_cycles; /* of even stages; 0 if not shorter than the step, or unknown */
    pl_tint tint;              /* of the verdict */
    const char *headline;      /* the verdict, */
    const char *proof;         /* what is proven, "" if nothing is, */
    const char *record; /* and how often the verdict of the tightest stage was right, or NULL */
    pl_messages messages;
    size_t first_own_message; /* those that the certificate made itself */
    size_t num_own_messages;
    size_t first_note; /* of these: what neither the verdict nor what would help is */
} pl_certificate;

/* True unless costs say what stages may need at most, and that is more than a limit. */
bool pl_certificate_fits_at_most(const pl_certificate *c);

/* Returns the whole certificate of a caller; NULL for NULL. */
static inline const pl_certificate *pl_certificate_of(const popliner_certificate *callers) {
    return (const pl_certificate *)callers;
}

/* Makes the certificate of a plan, which it takes over with the costs (NULL: none): *plan is empty
 * then. With is_evaluation the plan says what is on which IPU, and gets peaks and status from the
 * certificate. Measures every IPU of the plan once more by itself (and the unit that is too large,
 * if there is one), or looks it up; if its fullest tile differs from the plan's, the error is
 * INTERNAL. Errors: also MEMORY; USAGE for stages on one IPU without a meter. Cost: that of
 * measuring a stage for each IPU, if there is a meter. */
popliner_status pl_certificate_create(const pl_certificate_input *input, bool is_evaluation,
                                      popliner_plan *plan, popliner_costs *costs,
                                      popliner_certificate **certificate, popliner_error *error);

/* Reads the caller's words for costs without a profile; names remain the caller's.
 * Errors: USAGE. */
popliner_status pl_certificate_take_input(const popliner_certificate_input *callers,
                                          pl_certificate_input *input, popliner_error *error);

/* A value of a range, a point of a front, or a candidate. */
typedef struct pl_listed_split {
    const popliner_replicas *summary;             /* that it is of; NULL: a plan alone */
    const popliner_replicas_candidate *candidate; /* NULL: there is none */
    const popliner_plan *plan;                    /* NULL: there is none */
    const char *status;
    uint64_t
        limit_bytes; /* of each IPU, less the reserve; POPLINER_TARGET_BYTES: that of the options */
} pl_listed_split;
size_t pl_listed_splits_count(const popliner_split_table *of);
pl_listed_split pl_listed_split_at(const popliner_split_table *of, size_t i,
                                   const pl_certificate_input *names);

/* Micro-batches in a unit of time; 0 if the time is unknown. */
double pl_listed_throughput(const popliner_replicas_candidate *c, uint64_t divisor);

/* Whether the plan (may be NULL) is one of these costs, so that its units have names. Errors:
 * USAGE. O(1). */
popliner_status pl_certificate_check_plan(const pl_certificate_input *input,
                                          const popliner_plan *plan, popliner_error *error);

/* Whether the IPU of a stage has room for the need of the request. */
typedef enum pl_fit { PL_FITS, PL_FITS_NOT, PL_FIT_UNKNOWN } pl_fit;
pl_fit pl_certificate_fit_of(const pl_certificate *certificate, size_t stage);

/* The member `fits`; null where it is not known. */
void pl_certificate_put_fit(pl_fit fit, pl_json *json);

/* Writes the members of a plan, which answers, rows of ranges and fronts, candidates and reports
 * have in common, with this status. */
void pl_certificate_plan_json(const pl_certificate *certificate, const char *status, pl_json *json);

/* The most that an IPU may need. */
uint64_t pl_certificate_limit(const pl_certificate *certificate, size_t ipu);

/* True if stages may have replicas of their own. */
static inline bool pl_certificate_has_replicas(const pl_certificate *certificate) {
    return certificate->plan.num_stages > 0 && certificate->plan.stages[0].num_replicas > 0;
}

/* Returns the stage with the least room, as a share of its limit; of verdicts that differ, the
 * worst. */
size_t pl_certificate_tightest(const pl_certificate *certificate);

/* Makes the list of all that is to be said. Errors: MEMORY. */
popliner_status pl_certificate_make_messages(pl_certificate *certificate, popliner_error *error);

/* A number of an objective in the unit in which it is shown: cycles and the spread of cycles in the
 * time unit. *divisor becomes 1 if it is a whole number of these. */
uint64_t pl_certificate_divisor(const pl_certificate *certificate, popliner_objective objective);

/* A number in the unit that a divisor stands for; null where it is not known. */
void pl_certificate_known_json(pl_json *json, const char *key, bool is_known, uint64_t value,
                               uint64_t divisor);

/* Facts of a stage besides its units and its memory (answer/stage_facts.c): members of the open
 * object; columns of a table, which its place and memory precede; cells on screens, with its time
 * and cut or without. */
enum { PL_MOST_STAGE_LAYERS = 24 };
void pl_stage_facts_json(const pl_certificate *certificate, size_t stage, pl_json *json);
void pl_stage_facts_columns(const pl_certificate *certificate, size_t stage, pl_sheet *sheet);
void pl_stage_facts_cells(const pl_certificate *certificate, size_t stage, bool with_work,
                          pl_grid *grid);

/* Writes the member "step", unless the request has no micro-batches. */
void pl_certificate_step_json(const popliner_pipeline_step *step, uint64_t divisor, pl_json *json);

/* Adds the hints label by label. */
void pl_hints_write(const popliner_hint *hints, size_t num_hints, pl_layout *layout);

/* Whether a remedy is another number of units for a constraint. */
bool pl_remedy_has_number(const popliner_remedy *remedy);

/* Adds what a split, for which no limit of all IPUs is known to be enough, needs of each that it
 * exceeds: "0=20,1=30". Returns the largest; 0 if these are not several, or too many to tell. */
uint64_t pl_certificate_add_needs(const pl_certificate *certificate, pl_text *text);

/* A constraint in the caller's words: "require cut:3". */
void pl_certificate_word_constraint(const pl_certificate *certificate,
                                    const popliner_constraint *constraint, pl_text *text);

/* How many texts there are on the constraints that contradict each other, and the costs if they are
 * a part of that; and one of them. */
size_t pl_certificate_num_constraints(const pl_certificate *certificate);
void pl_certificate_add_constraint(const pl_certificate *certificate, size_t i, pl_text *text);

/* The object `infeasibility`: why nothing fits; null where that is not so. */
void pl_certificate_infeasibility_json(const pl_certificate *certificate, pl_json *json);

/* The stages on one line. */
void pl_certificate_add_line(pl_text *text, const popliner_plan *plan,
                             const char *const *unit_names);

/* Returns what the stages chose, on one line; empty if they did not choose. */
pl_text pl_certificate_choices(const popliner_plan *plan);

/* Adds "at most" or "at least", and `end`; nothing for what is expected. */
void pl_add_need_words(pl_text *text, popliner_need need, const char *end);

/* The answer, as a value of a document. */
void pl_certificate_json(const pl_certificate *certificate, const char *key, pl_json *json);

/* The stages as the original has them: a document. */
void pl_certificate_add_stages_json(const pl_certificate *certificate, pl_text *text);

/* "IPU" or "IPUs"; for a file of costs "device" or "devices". */
const char *pl_certificate_devices(const pl_certificate *certificate, size_t count);

/* Words about tiles, which devices of a file of costs lack: then "". */
const char *pl_certificate_per_tile(const pl_certificate *certificate, const char *words);

/* Returns the subject of a proof: "split", "split of this order", or "contiguous partition of the
 * graph". */
const char *pl_certificate_splits(const pl_certificate *certificate);

/* "optimal", "feasible" or "infeasible"; "unknown" where a stop left no split. */
const char *pl_certificate_status(const popliner_plan *plan);

/* The list `messages`: what the log has. */
void pl_report_messages_json(const pl_messages *messages, pl_json *json);

/* How far `bytes` is from `truth_bytes`, in percent of the latter; 0 if both are 0. */
double pl_report_percent(uint64_t bytes, uint64_t truth_bytes);

/* A verdict, and of the random cases with it those that did fit: stages and limits near them. */
typedef struct pl_verdict_row {
    const char *words;  /* "likely fits" */
    const char *record; /* "1,372 of 1,373"; NULL: none was seen */
    uint64_t num_fitted;
    uint64_t num_given;
} pl_verdict_row;

/* Returns the row of a verdict; NULL: there is none. */
const pl_verdict_row *pl_verdict_of_number(size_t verdict);

/* The words of a verdict: "likely fits". */
const char *pl_verdict_text(popliner_verdict verdict);

/* Adds them with a capital letter, as a sentence begins with them; returns their colour. */
pl_tint pl_verdict_begin(popliner_verdict verdict, pl_text *text);

/* Returns a margin in spreads, as popliner_verdict_of does. */
double pl_margin_spreads(const popliner_stage_detail *detail, uint64_t limit_bytes);

/* Whether stages have verdicts of the account of what they may need. */
bool pl_certificate_has_verdicts(const pl_certificate *certificate);

/* "layer ", "layers " of two units, or "": head, tail and units of graphs have names that say what
 * they are. */
const char *pl_certificate_kind(const pl_certificate *certificate, size_t unit, size_t other);

/* Finds the headline: the verdict, what is proven, and the record of such verdicts. */
void pl_certificate_find_headline(pl_certificate *certificate);

/* Plots the stages of a certificate that is measured: bars of what each needs, with a line up to
 * what it needs at most, and its limit. Errors: MEMORY. */
popliner_status pl_plot_plan(const pl_certificate *certificate,
                             const popliner_plot_options *options, char **text,
                             popliner_error *error);

/* ---- comparisons with compiled pipelines ---- */

/* Uses of bytes: the groups of code, all other live data, and layout overhead. */
enum { PL_GROUP_DATA = PL_NUM_CODE_GROUPS, PL_GROUP_LAYOUT, PL_NUM_GROUPS };

/* The tile of an IPU with most bytes, the first of equals, with gaps if the request counts them. */
typedef struct pl_fullest_tile {
    size_t tile;
    uint64_t bytes;
    uint64_t group_bytes[PL_NUM_GROUPS];
} pl_fullest_tile;

/* One stage. The error is that of the prediction, in percent of what was compiled; above 0 the
 * prediction is too high. */
typedef struct pl_stage_comparison {
    popliner_interval units;
    pl_fullest_tile predicted; /* the expected memory */
    pl_fullest_tile compiled;
    double error_percent;
} pl_stage_comparison;

typedef struct pl_comparison {
    popliner_comparison info; /* first: it is what the caller has */
    pl_arrays arrays;         /* own the next two */
    pl_stage_comparison *stages;
    char **names; /* [2 * num_stages]: of the first and the last unit */
    size_t num_tiles;
} pl_comparison;

#endif
