/* The request to the library: the options of the command line in terms of units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REQUEST_H
#define PL_COMMAND_REQUEST_H

#include "command/options.h"
#include "popliner/analysis.h"
#include "popliner/costs.h"

typedef struct session session;

/* Zero-initialise; free with request_free. */
typedef struct request {
    size_t num_units;
    const char *const *unit_names; /* [num_units] of what is split: layers, or Head, Tail, None */
    uint8_t *counted_units;        /* [num_units]: 1 for layers */
    size_t *first_units;           /* of --evaluate, [num_cuts]: the units after the cuts */
    size_t num_cuts;

    popliner_request asked;
    popliner_solver_options solver; /* refers to what follows */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_cut_rule *cut_rules; /* [num_units] */
    popliner_constraint *pairs;
    popliner_constraint *placements;
    void *ipu_lists[NUM_LISTS];
    size_t *device_map;
    popliner_pipeline pipeline; /* of which a step is simulated */
} request;

void request_free(request *r);

/* Refuses values that no profile would make right, before anything is read. Names of layers have to
 * wait. Errors: USAGE, which names the option; MEMORY. */
popliner_status request_check(const options *o, popliner_error *error);

/* Makes the device map interleaved:V or v for so many IPUs. The caller frees *map. Errors:
 * MEMORY. */
popliner_status request_make_map(const options *o, size_t num_ipus, size_t **map, size_t *count,
                                 popliner_error *error);

/* Takes the device map, if the options give one in any way. Errors: USAGE, which names the option
 * that does not go with stages that share an IPU; MEMORY. */
popliner_status request_take_map(request *r, const options *o, popliner_error *error);

/* Sets the members that need no units: the memory model (`otherwise`, unless the user chose one),
 * the schedule, the device map. Errors: USAGE, MEMORY. */
popliner_status request_begin(request *r, const session *s, popliner_memory_model otherwise,
                              popliner_error *error);

/* Puts the options in terms of the units of a file of costs, of a group of profiles, or, if both
 * are NULL, of the profile that was read: the split of --evaluate of profiles with its limits, else
 * all that the solver takes. What was in the request is freed. Free with request_free, also after
 * an error. Errors: USAGE, which names the option; those of popliner_analysis_prepare. */
popliner_status request_make(request *r, session *s, popliner_memory_model otherwise,
                             const popliner_costs_file *file, const popliner_group *group,
                             popliner_error *error);

/* Names the units of a chain. Errors: MEMORY. */
popliner_status request_name_chain(request *r, const popliner_chain *chain, popliner_error *error);

/* The unit of this name (a part of a value), layers first; SIZE_MAX if there is none. */
size_t request_find_unit(const request *r, const char *name, size_t length);

/* Refuses a value for the sake of a name in it that no unit has. */
popliner_status request_no_unit(const request *r, const char *option, const char *value,
                                const char *name, size_t length, popliner_error *error);

/* Sets the limit of each IPU, and those of single IPUs: those of the command line, and of `file`
 * (may be NULL) for other IPUs, all less --reserve. Warns of those where no stage can run.
 * num_ipus and the device map have to be there. Errors: USAGE, which names the option; MEMORY. */
popliner_status request_set_limits(request *r, session *s, uint64_t limit_bytes,
                                   const popliner_costs_file *file, popliner_error *error);

/* Sets those of the command line, and those of `file` (may be NULL) for other IPUs. Errors: USAGE,
 * also for IPUs where no stage can run; MEMORY. */
popliner_status request_set_list(request *r, ipu_list list, const session *s,
                                 const popliner_costs_file *file, popliner_error *error);

/* Puts the rules of --require in terms of units. Errors: USAGE, MEMORY. */
popliner_status request_take_rules(request *r, const options *o, popliner_error *error);

/* Whether a stage can run there. */
bool request_has_ipu(const request *r, const options *asked, size_t ipu);

/* The requested pipeline, of at most so many stages. */
popliner_pipeline request_pipeline(const request *r, size_t max_stages);

/* Makes the input of a certificate for these costs, except for the plan. */
popliner_certificate_input request_certificate_input(const request *r, const session *s,
                                                     const popliner_costs *costs);

/* Whether an objective is among those that are requested. */
bool request_wants(const popliner_solver_options *solver, popliner_objective objective);

/* Takes the split of --evaluate in terms of units. `file`: as above. Errors: USAGE, which names the
 * option; MEMORY. */
popliner_status split_take(request *r, const options *o, const popliner_costs_file *file,
                           popliner_error *error);

/* ---- what is asked of a profile or of a file of costs ---- */

/* Takes what the options ask of the profile that was read; without a layer to split sets
 * `can_split` to false, which the log tells. Refuses what the profile does not have, before
 * anything is printed or written. Errors: USAGE, which names the option; those of
 * popliner_analysis_prepare. */
popliner_status question_begin(session *s, popliner_error *error);

/* Solves for a split or measures that of --evaluate, and tells the log of it. Errors: those of
 * solving and of popliner_analysis_evaluate. */
popliner_status question_answer(session *s, popliner_error *error);

/* Answers, and prints and writes all that is made of the answer. Errors: as above. */
popliner_status question_print(session *s, popliner_error *error);

#endif
