/* --sweep: the best split for each of several limits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SWEEP_H
#define PL_COMMAND_SWEEP_H

#include <stdbool.h>

#include "command/session.h"
#include "popliner/certificate.h"

typedef struct sweep_range {
    bool of_ipus; /* the number of IPUs; else the memory per tile */
    uint64_t first;
    uint64_t last; /* included */
    uint64_t step;
} sweep_range;

/* "num-ipus=A..B" or "mem-per-tile=A..B", and ":STEP" if wanted. Without a step memory goes in 15
 * steps. Errors: USAGE. */
popliner_status sweep_parse(const char *text, sweep_range *range, popliner_error *error);

/* The most IPUs that --sweep asks for, or num_ipus if these are more. Errors: USAGE. */
popliner_status sweep_max_ipus(const session *s, size_t num_ipus, size_t *max_ipus,
                               popliner_error *error);

/* Solves for each value of the session's --sweep and prints a row for it: status, objectives, IPUs
 * used, split; as soon as the user wants it to stop, what there is. A soft failure if no value
 * fits. Memory is that before --reserve. `names` tells how units and numbers are called. */
popliner_status sweep_print(session *s, const popliner_costs *costs,
                            const popliner_solver_options *solver_options,
                            const popliner_certificate_input *names, popliner_error *error);

#endif
