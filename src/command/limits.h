/* --time-limit and --max-memory: what a run may take. There is one clock for the process, whatever
 * number of reports it reads.
 *
 * The work is what is done besides solving, for which the solver has the limit itself: reading,
 * measuring, diagnosing, making tables and pages. The library asks now and then whether its time is
 * up; what does not ask is ended a little later.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LIMITS_H
#define PL_COMMAND_LIMITS_H

#include <stdbool.h>

#include "command/options.h"

/* From here on the limits of the options count. */
void limits_begin(const options *o);

/* The time from here on, up to limits_resume, is not that of the work: while something is solved,
 * or whoever reads the output is waited for. May be nested. */
void limits_pause(void);
void limits_resume(void);

/* popliner_analysis_options.should_stop: whether the time of the work is up. `user` may be NULL. */
bool limits_are_over(void *user);

/* Adds to a failure for want of time or memory which option has set the limit. */
void limits_name_option(const options *o, popliner_error *error);

#endif
