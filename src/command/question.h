/* What the solver is asked: the options of the command line in terms of units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_QUESTION_H
#define PL_COMMAND_QUESTION_H

#include "command/options.h"
#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/solver.h"

/* Zero-initialise; free with question_free. */
typedef struct question {
    size_t num_units;
    const char **unit_names; /* [num_units]: of the layer, or Head, Tail, None */
    uint8_t *counted_units;  /* [num_units]: 1 for layers */

    popliner_solver_options solver; /* refers to what follows */
    popliner_pipeline pipeline;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_cut_rule *cut_rules; /* [num_units] */
    popliner_pair *pairs;
    popliner_placement *placements;
    popliner_ipu_limit *ipu_limits;
    size_t *device_map;
} question;

void question_free(question *q);

/* Names the units of a chain, or of a file of costs. Errors: MEMORY. */
popliner_status question_name_chain(question *q, const popliner_chain *chain,
                                    popliner_error *error);
popliner_status question_name_file(question *q, const popliner_costs_file *file,
                                   popliner_error *error);

/* The unit of this name, layers first; SIZE_MAX if there is none. */
size_t question_find_unit(const question *q, const char *name, size_t length);

/* The pipeline that the options ask for, of at most `most_ipus` stages unless they have a device
 * map. Before question_ask, and before the units are known. Errors: USAGE. */
popliner_status question_find_pipeline(const options *o, size_t most_ipus,
                                       popliner_pipeline *pipeline, popliner_error *error);

/* Fills the solver's options. Limits of IPUs are those of the command line, and of `file` (may be
 * NULL) for the other IPUs. Objectives that the user did not choose: `usual`, or those of the
 * solver if that is POPLINER_NUM_OBJECTIVES. Errors: USAGE, which names the option; MEMORY. */
popliner_status question_ask(question *q, const options *o, uint64_t limit_bytes, size_t most_ipus,
                             popliner_objective usual, const popliner_costs_file *file,
                             popliner_error *error);

#endif
