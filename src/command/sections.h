/* --section, --plot, --output and --trace: what is known on standard output, and in files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SECTIONS_H
#define PL_COMMAND_SECTIONS_H

#include "command/session.h"
#include "popliner/certificate.h"

/* Prints the section or the plot that was asked for. `certificate` is that of the plan, and NULL
 * for all others. */
popliner_status print_shown(session *s, const popliner_certificate *certificate,
                            popliner_error *error);

/* Writes the files of --output: those of the plan if there is a certificate, else all others; and
 * that of --trace, with the certificate where one is to come. */
popliner_status write_outputs(session *s, const popliner_certificate *certificate,
                              popliner_error *error);

#endif
