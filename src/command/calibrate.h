/* Calibrating with a pipeline that was compiled.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_CALIBRATE_H
#define PL_COMMAND_CALIBRATE_H

#include "command/session.h"

/* Prints the comparison of a split with --calibrate. Errors: USAGE for another number of IPUs than
 * stages; those of reading and of popliner_analysis_compare. */
popliner_status calibrate_and_print(session *s, const popliner_request *asked,
                                    const size_t *first_units, size_t num_cuts,
                                    popliner_error *error);

/* Finds the reports of --calibrate without reading them. Errors: as calibrate_and_print. */
popliner_status calibrate_check(const session *s, size_t num_stages, popliner_error *error);

/* Reads --calibration, if it was given, and warns if it was made for something else. */
popliner_status read_calibration(session *s, popliner_error *error);

#endif
