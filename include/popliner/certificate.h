/* popliner: an answer with all that is needed to check it.
 *
 * Threads: a certificate does not change. Any number of threads may read it at once and make
 * texts of it.
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

/* Owned by the caller; free with popliner_certificate_free. popliner_analysis_solve makes one. */
typedef struct popliner_certificate popliner_certificate;

/* What an answer is about whose costs come from no profile: in names and numbers for reading. Begin
 * with POPLINER_CERTIFICATE_INPUT_INIT. All but the plan is copied. */
typedef struct popliner_certificate_input {
    size_t struct_size;
    popliner_plan *plan; /* becomes the certificate's */
    const popliner_costs *costs;
    const popliner_solver_options *options; /* NULL: POPLINER_SOLVER_OPTIONS_INIT */
    popliner_schedule schedule;
    popliner_recompute recompute;
    const char *const *unit_names; /* [units of the costs] */
    const char *time_unit;         /* of the cycles; NULL: "cycles" */
    uint64_t cycles_per_time_unit; /* 0: 1, they are cycles */
    uint64_t cuts_per_unit;        /* 0: 1, they are bytes; else they are in the time unit */
    const popliner_option_names *option_names; /* copied, but for the strings; NULL: field names */
    popliner_copies copies;                    /* instead of the schedule's */
    /* [stages of the plan]: how each recomputes, see popliner/solver.h; NULL: as told above */
    const char *const *stage_choices;
} popliner_certificate_input;

#define POPLINER_CERTIFICATE_INPUT_INIT                                                            \
    {                                                                                              \
        sizeof(popliner_certificate_input), NULL, NULL, NULL, POPLINER_SCHEDULE_NONE,              \
            POPLINER_RECOMPUTE_NONE, NULL, NULL, 0, 0, NULL, POPLINER_COPIES_UNSET, NULL           \
    }

/* Makes the certificate of a plan; the plan stays the caller's if that fails. Errors: USAGE
 * (struct_size, or what is needed is NULL), MEMORY. O(units). */
popliner_status popliner_certificate_create(const popliner_certificate_input *input,
                                            popliner_certificate **certificate,
                                            popliner_error *error);

/* NULL is fine. */
void popliner_certificate_free(popliner_certificate *certificate);

/* What a certificate holds. */
typedef struct popliner_certificate_info {
    const popliner_plan *plan; /* the split */
    /* What popliner_analysis_solve chose by: in a table made for a limit what is beyond it may be
     * forbidden. NULL where the costs are the caller's, or where there was no table, as for the
     * greedy algorithm. */
    const popliner_costs *costs;
    /* The greatest share of the plan's largest tile that no operation explains, from 0 to 1; 0
     * without a profile. */
    double unexplained_share;
    /* [stages of the plan]: what was measured of the IPU of each, and whether that fits within its
     * limit, by all that is known of it. NULL without a profile. */
    const popliner_stage_detail *details;
    const popliner_verdict *verdicts;
    /* All that is to be said of the answer, a sentence or more each: the warnings of the profile,
     * of the request and of the search; what is proven, where the bottleneck is, why nothing fits
     * and what would be enough; then what was added. The log of the command, the JSON and pages are
     * made of these. */
    const popliner_message *messages; /* [num_messages], until something is added */
    size_t num_messages;
} popliner_certificate_info;

/* As long as the certificate lives. O(1). */
const popliner_certificate_info *
popliner_certificate_get_info(const popliner_certificate *certificate);

/* Adds what the caller has to say of the answer, unless it is there already. Not while another
 * thread uses the certificate. Errors: USAGE (no such level, no text), MEMORY. O(messages). */
popliner_status popliner_certificate_add_message(popliner_certificate *certificate,
                                                 popliner_level level, const char *text,
                                                 popliner_error *error);

/* What text is made of a certificate. */
typedef enum popliner_certificate_form {
    /* for reading, a fact a line: the proof, the bottleneck, why nothing fits */
    POPLINER_CERTIFICATE_TEXT,
    /* the stages on one line, without a line end: "[ Head 0 1 | 2 3 Tail ]" */
    POPLINER_CERTIFICATE_LINE,
    /* one JSON object, as docs/certificate.schema.json describes it */
    POPLINER_CERTIFICATE_JSON,
    /* the stages as an array of objects with layer_from, layer_to (null for what is in no layer)
     * and mem, as PopLiner 1.0.0 prints it; in the full memory model also mem.unexplained, and head
     * and tail, which tell whether these units are in the stage; with a device map also ipu, and
     * mem is that of the whole IPU */
    POPLINER_CERTIFICATE_STAGES_JSON,
    /* the stages as a table, a row each. Cycles that a profile does not tell, and cuts that the
     * greedy algorithm does not count, are left empty */
    POPLINER_CERTIFICATE_TSV,
    POPLINER_CERTIFICATE_CSV,
} popliner_certificate_form;

/* Makes a text, complete with its last line end, which the caller frees with free(). Errors: USAGE
 * for a form that there is not; MEMORY. */
popliner_status popliner_certificate_text(const popliner_certificate *certificate,
                                          popliner_certificate_form form, char **text,
                                          popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
