/* The actions of the command, one function each. They print the answer and log it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COMMANDS_H
#define PL_COMMAND_COMMANDS_H

#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/replicas.h"
#include "popliner/report.h"

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
void answer_log(session *s);

/* Finds what would help. */
popliner_status answer_find_hints(session *s, popliner_error *error);

/* Finds what would help where it is shown, and prints and writes all that is made of the split. */
popliner_status answer_output(session *s, popliner_error *error);

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

#endif
