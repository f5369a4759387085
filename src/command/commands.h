/* The actions of the command, one function each, which print the answer and log it; what is made of
 * answers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COMMANDS_H
#define PL_COMMAND_COMMANDS_H

#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/costs.h"
#include "popliner/emit.h"
#include "popliner/replicas.h"
#include "popliner/report.h"
#include "popliner/screen.h"

/* --diagnose; its part of question_begin */
popliner_status diagnose_begin(session *s, popliner_error *error);
popliner_status diagnose_and_print(session *s, popliner_error *error);

/* --compiled; its part of question_begin. Errors: USAGE for another number of IPUs than stages;
 * those of reading and of popliner_analysis_compare. */
popliner_status compiled_begin(session *s, popliner_error *error);
popliner_status compiled_and_print(session *s, popliner_error *error);

/* --compare: reads the other side; then what changed. */
popliner_status compare_open(session *s, popliner_error *error);
/* Says in the error, if there is one, that it is of the other side. Returns the status. */
popliner_status compare_name_other(const session *s, popliner_status status, popliner_error *error);
popliner_status compare_and_print(session *s, popliner_error *error);

/* Solves for several reports together, or evaluates a split in each of them, and prints it. Errors:
 * as above; USAGE also for reports that cannot have one split; those of reading and solving. */
popliner_status reports_split_and_print(session *s, popliner_error *error);

/* Finds whether there is anything to split: a layer, or --num-ipus 1, for which there need be none.
 * If there is not, that is a soft failure, and the log tells what may be layers. Cost: that of a
 * diagnosis, if there is no layer. */
popliner_status can_split(session *s, popliner_error *error);

/* All that is asked of a file of costs. */
popliner_status solve_costs_and_print(session *s, popliner_error *error);

/* Reads the file of costs of a session once more, for another pipeline: a popliner_costs_reader. */
popliner_status costs_read_again(void *s, const popliner_pipeline *pipeline,
                                 popliner_costs_file **file, popliner_error *error);

/* ---- The answer of --solve ---- */

/* Makes the answer, of the plan of the input, which it takes over whatever comes of it. */
popliner_status answer_certify(session *s, const popliner_certificate_input *input,
                               popliner_error *error);

/* Solves for the costs of the input, and certifies the answer. */
popliner_status answer_solve(session *s, popliner_error *error);

/* The costs by which the answer is explained, and better ones are looked for; NULL: none. */
const popliner_costs *answer_costs(const session *s);

/* Tells the log of the answer, with remarks on what would be better or enough, by `costs`. */
popliner_status answer_tell(session *s, const popliner_costs *costs, popliner_error *error);

/* Tells the log what the answer says of its plan. */
void answer_log(const session *s);

/* Finds what would help. */
popliner_status answer_find_hints(session *s, popliner_error *error);

/* ---- several splits in one table ---- */

/* Solves for each value of a range, for the front of --pareto, or for the pipelines of
 * --total-ipus, and prints a row for each: status, objectives, IPUs used, split; as soon as the
 * user wants it to stop, what there is. A soft failure if none is known to fit, of which the log
 * tells why, or some were not solved for. Memory is that before --reserve. */
popliner_status several_print(session *s, popliner_error *error);

/* Solves for the number of devices of each stage, for --device-map replicas. The caller frees
 * *plan. Errors: USAGE for what does not go with that. */
popliner_status replicas_of_stages(session *s, popliner_plan **plan, popliner_error *error);

/* Returns the worst verdict of any stage; POPLINER_FITS if there is none. O(stages). */
popliner_verdict answer_worst_verdict(const popliner_certificate *certificate);

/* True if a plan fits, and no stage is on several IPUs of the profile, of which that is not known.
 * Measures each stage of a profile of several IPUs. */
bool answer_fits(const session *s, const popliner_plan *plan);

/* ---- What is printed and written ---- */

/* The answer of an action, of which its outputs are made: one of these. With the changes of
 * --compare there may also be the certificate of the split now. */
typedef struct material {
    unsigned action; /* SOLVE, EVALUATE, DIAGNOSE or COMPARE; 0: none, of the input alone */
    const popliner_certificate *certificate; /* of the one split; NULL: there is none */
    const popliner_split_table *splits;
    const popliner_together *together;
    const popliner_diagnosis *diagnosis;
    const popliner_changes *changes;
    const popliner_comparison *comparison; /* of --compiled */
} material;

/* Refuses what plans for frameworks are known to lack before anything is solved; the request was
 * checked. Errors: USAGE, MEMORY. */
popliner_status outputs_check(const session *s, popliner_error *error);

/* Stores the analysis, and prints and writes all outputs of the input alone. */
popliner_status outputs_of_profile(session *s, popliner_error *error);

/* Prints the answer of an action, or the output that takes its place; then writes the files that
 * are made of it. A plan for a framework that is refused leaves all unwritten. */
popliner_status outputs_of_answer(session *s, const material *m, popliner_error *error);

/* Makes the request of a page, on which cuts can be moved, also those of --evaluate: of a file of
 * costs, or if that is NULL of the profile. Errors: those of request_make. */
popliner_status page_request(session *s, const popliner_costs_file *file, popliner_error *error);

/* Makes the page of the profile, or of the file of costs. It begins with the split of the
 * certificate, or with the best one if that is NULL. */
popliner_status page_make(session *s, const popliner_certificate *certificate, char **text,
                          popliner_error *error);

/* ---- Reports for people: with --format text ---- */

/* True if the report is for people, so that the log need not repeat it. */
bool screen_is_used(const session *s);

/* Prints the splits of a table whose sweep, front or replicas are there, and writes what is made of
 * them; those of a profile with measured verdicts. Errors: those of popliner_screen_splits, and of
 * the reports. */
popliner_status splits_print(session *s, popliner_split_table *table, popliner_error *error);

/* Prints the overview of the profile: as text what it is, and whether it fits one IPU; else the
 * table summary. Errors: those of evaluating. */
popliner_status screen_overview(session *s, popliner_error *error);

#endif
