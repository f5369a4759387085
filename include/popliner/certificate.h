/* popliner: an answer with all that is needed to check it.
 *
 * Threads: a certificate does not change. Any number of threads may read it and make texts of it at
 * once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_CERTIFICATE_H
#define POPLINER_CERTIFICATE_H

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/solver.h"
#include "popliner/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A change that would help. */
typedef struct popliner_hint {
    const char *label;  /* "Try", "Enough", "Not with" or "Not enough" */
    const char *option; /* what to change, in the caller's words: "--num-ipus 3", "num_ipus 3" */
    const char *words;  /* its measured result; may be "" */
    bool is_measured;   /* the change was solved for, and this is what it gives: */
    bool fits;          /* within all limits */
    bool is_fit_known;  /* false: the profile has a stage of it on several IPUs */
    uint64_t bytes;     /* of the fullest IPU */
    size_t num_ipus;
} popliner_hint;

/* An answer. Owned by the caller, who reads it and changes nothing; free with
 * popliner_certificate_free. popliner_analysis_solve makes one. What it points to lives as long as
 * the certificate; later versions may append members. */
typedef struct popliner_certificate {
    const popliner_plan *plan;
    /* The table that popliner_analysis_solve used; if it was made for a limit, stages above the
     * limit may be forbidden in it. NULL if the costs are the caller's, or there was no table, as
     * for the greedy algorithm. */
    const popliner_costs *costs;
    /* The largest unattributed share of the peak memory of a stage's IPU, from 0 to 1; 0 without a
     * profile. */
    double unexplained_share;
    /* [stages of the plan]: the measured memory of the stage's IPU, and whether it fits within the
     * limit. NULL without a profile. */
    const popliner_stage_detail *details;
    const popliner_verdict *verdicts;
    /* The most tokens more that the caches of every IPU have room for within the limits, where the
     * costs are of a file that says what a token takes ("kv"), and the IPU that has least room;
     * UINT64_MAX if the costs do not say, or nothing limits any of these IPUs. */
    uint64_t headroom_tokens;
    size_t headroom_ipu;
    popliner_pipeline_step step; /* of the micro-batches of `copies` */
    /* The profile trains, but no schedule says what its stages keep for the backward passes. */
    bool lacks_schedule;
    /* Found by popliner_certificate_find_hints, in the order of screens; NULL: not looked for. */
    const popliner_hint *hints; /* [num_hints] */
    size_t num_hints;
} popliner_certificate;

/* The subject of an answer whose costs come from no profile: names and units for texts. Begin with
 * POPLINER_CERTIFICATE_INPUT_INIT. Everything except the plan is copied. */
typedef struct popliner_certificate_input {
    size_t struct_size;
    popliner_plan *plan; /* the certificate takes ownership */
    const popliner_costs *costs;
    const popliner_solver_options *options; /* NULL: POPLINER_SOLVER_OPTIONS_INIT */
    popliner_schedule schedule;
    popliner_recompute recompute;
    const char *const *unit_names; /* [units of the costs] */
    const char *time_unit;         /* of the cycles; NULL: "cycles" */
    uint64_t cycles_per_time_unit; /* 0 means 1: they are cycles */
    /* 0 means 1: they are bytes; else they are in the time unit */
    uint64_t cuts_per_unit;
    /* copied, except for the strings; NULL: field names */
    const popliner_option_names *option_names;
    popliner_copies copies; /* instead of the schedule's */
    /* The split was given, and the plan is that of options that allow no other one: texts judge it
     * instead of calling it the best, and name no constraints as remedies. */
    bool is_evaluation;
} popliner_certificate_input;

#define POPLINER_CERTIFICATE_INPUT_INIT                                                            \
    {                                                                                              \
        sizeof(popliner_certificate_input), NULL, NULL, NULL, POPLINER_SCHEDULE_NONE,              \
            POPLINER_RECOMPUTE_NONE, NULL, NULL, 0, 0, NULL, POPLINER_COPIES_UNSET, false          \
    }

/* Creates the certificate of a plan, which stays the caller's if the call fails. Errors: USAGE
 * (struct_size, or a required member is NULL), MEMORY. O(units). */
popliner_status popliner_certificate_create(const popliner_certificate_input *input,
                                            popliner_certificate **certificate,
                                            popliner_error *error);

/* Frees a certificate. NULL is fine. */
void popliner_certificate_free(popliner_certificate *certificate);

/* Adds each line of a text as a message about the answer, unless it is there already. Not while
 * another thread uses the certificate. Errors: USAGE (no such level, no text), MEMORY.
 * O(messages). */
popliner_status popliner_certificate_add_message(popliner_certificate *certificate,
                                                 popliner_level level, const char *text,
                                                 popliner_error *error);

/* Passes the messages about the answer to a listener, one or more sentences each: warnings about
 * the profile and the request; the headline of a screen, which says whether it fits and what is
 * proven; what would be enough; notes; then those that were added. The command's log, JSON and
 * pages all have them. Unless `all`, leaves those out that a listener got when they were created.
 * Errors: USAGE (struct_size). O(messages). */
popliner_status popliner_certificate_tell(const popliner_certificate *certificate, bool all,
                                          const popliner_listener *listener, popliner_error *error);

/* The forms in which a certificate can be written. */
typedef enum popliner_certificate_form {
    /* for reading, one fact per line: whether it fits, what is proven, what would be enough */
    POPLINER_CERTIFICATE_TEXT,
    /* the stages on one line, without a line end: "[ Head 0 1 | 2 3 Tail ]" */
    POPLINER_CERTIFICATE_LINE,
    /* one JSON object, as docs/certificate.schema.json describes it */
    POPLINER_CERTIFICATE_JSON,
    /* the stages as an array of objects with layer_from, layer_to (null for units outside layers)
     * and mem, as PopLiner 1.0.0 prints it; in the full memory model also mem.unexplained, and head
     * and tail (true if the stage has that unit); with a device map also ipu, and mem is that of
     * the whole IPU */
    POPLINER_CERTIFICATE_STAGES_JSON,
    /* the stages as a table, one row each. Cycles that the profile lacks, and cuts that the greedy
     * algorithm does not count, are left empty */
    POPLINER_CERTIFICATE_TSV,
    POPLINER_CERTIFICATE_CSV,
    POPLINER_CERTIFICATE_ROWS_JSON, /* the same table with an object for each row */
} popliner_certificate_form;

/* Writes a certificate as text, with its last line end; the caller frees *text with free(). Errors:
 * USAGE for an unknown form; MEMORY. */
popliner_status popliner_certificate_text(const popliner_certificate *certificate,
                                          popliner_certificate_form form, char **text,
                                          popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
