/* popliner: an answer with all that is needed to check it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_CERTIFICATE_H
#define POPLINER_CERTIFICATE_H

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/plan.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "popliner/stage.h"
#include "popliner/stage_detail.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a report looks. */
typedef enum popliner_format {
    POPLINER_FORMAT_TSV,
    POPLINER_FORMAT_CSV,
    POPLINER_FORMAT_JSON,
} popliner_format;

/* What the answer is about. */
typedef struct popliner_certificate_input {
    popliner_plan *plan; /* becomes the certificate's: it is empty then */
    const popliner_solver_options *options;
    const popliner_pipeline *pipeline; /* NULL: none */
    size_t num_units;
    const char *const *unit_names; /* [num_units] */
    const char *time_unit;         /* of the cycles */
    uint64_t cycles_per_time_unit; /* 1 if they are cycles */
    uint64_t cuts_per_unit;        /* 1 if the cuts are bytes; else they are in the time unit */
    bool has_cycles;

    /* Where the costs come from: the first three or none; they have to outlive the certificate. With a meter each stage is measured, and
     * checked; without it details tell what it would measure, where every stage has an IPU to
     * itself. */
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    popliner_stage_meter *meter; /* measures other stages meanwhile */
    const popliner_stage_details *stage_details;
} popliner_certificate_input;

/* Owned by the caller; free with popliner_certificate_free. */
typedef struct popliner_certificate popliner_certificate;

/* Measures every IPU of the plan once more by itself (and the unit that is too large, if there is
 * one), or looks it up; if its largest tile differs from the plan's, the error is INTERNAL. Errors:
 * also MEMORY; USAGE for stages on one IPU without a meter. Cost: that of measuring a stage for each
 * IPU, if there is a meter. */
popliner_status popliner_certificate_create(const popliner_certificate_input *input,
                                            popliner_certificate **certificate,
                                            popliner_error *error);
void popliner_certificate_free(popliner_certificate *certificate);

/* The split, and what it was chosen by, as long as the certificate lives: NULL where the costs are
 * the caller's, or where there was no table, as for the greedy algorithm. In a table made for a limit
 * what is beyond it may be forbidden. */
const popliner_plan *popliner_certificate_plan(const popliner_certificate *certificate);
const popliner_costs *popliner_certificate_costs(const popliner_certificate *certificate);

/* What was measured of the IPU of every stage of the plan, [stages of the plan], as long as the
 * certificate lives; NULL without a profile. */
const popliner_stage_detail *popliner_certificate_details(const popliner_certificate *certificate);

/* The greatest share of the plan's largest tile that no operation explains, from 0 to 1; 0 without a
 * profile. */
double popliner_certificate_unexplained_share(const popliner_certificate *certificate);

/* Texts, each complete with its last line end, which the caller frees with free(). Errors: MEMORY. */

/* One JSON object, as docs/certificate.schema.json describes it. */
popliner_status popliner_certificate_json(const popliner_certificate *certificate, char **text,
                                          popliner_error *error);

/* The stages as an array of objects with layer_from, layer_to (null for what is in no layer) and
 * mem, as PopLiner 1.0.0 prints it; in the full memory model also mem.unexplained, and head and
 * tail, which tell whether these units are in the stage; with a device map also ipu, and mem is that
 * of the whole IPU. Needs a profile. */
popliner_status popliner_certificate_stages_json(const popliner_certificate *certificate,
                                                 char **text, popliner_error *error);

/* The stages as a table, a row each. Cycles that a profile does not tell, and cuts that the greedy
 * algorithm does not count, are left empty. */
popliner_status popliner_certificate_table(const popliner_certificate *certificate, char delimiter,
                                           char **text, popliner_error *error);

/* For reading, a fact a line: the split, the proof, the bottleneck, why nothing fits. */
popliner_status popliner_certificate_text(const popliner_certificate *certificate, char **text,
                                          popliner_error *error);

/* The best splits for several values of an option (`what`, in words as on the command line): a row
 * or an object each, with value, status, objectives and their bounds, IPUs used, and split.
 * `names` tells how units and numbers are called; its plan is not looked at. */
popliner_status popliner_report_sweep(const char *what, const uint64_t *values,
                                      const popliner_plan *plans, size_t count,
                                      const popliner_certificate_input *names,
                                      popliner_format format, char **text, popliner_error *error);

/* The stages on one line, without a line end: "[ Head 0 1 | 2 3 Tail ]". */
popliner_status popliner_certificate_line(const popliner_certificate *certificate, char **text,
                                          popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
