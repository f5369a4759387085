/* Ctrl-C and SIGTERM: while something is solved they ask for the best answer that is known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_INTERRUPTS_H
#define PL_COMMAND_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

#include "command/log.h"

/* Zero-initialise but for the log and the limit. */
typedef struct interrupts {
    log_state *log;     /* shows for how long something has been solved */
    double max_seconds; /* for which it may be; 0: without a limit */
    double start_seconds;
    bool are_caught;
    struct sigaction before[2]; /* what the signals did */
} interrupts;

/* From here on the signals are caught; the time begins anew. */
void interrupts_catch(interrupts *i);

/* From here on they do what they did before. */
void interrupts_release(interrupts *i);

/* popliner_solver_options.should_stop for the `user` interrupts: whether there was a signal. Asked
 * all the time while something is solved. */
bool interrupts_should_stop(void *user);

#endif
