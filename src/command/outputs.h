/* What is printed instead of an answer, or written beside it: sections, plots, plans for
 * frameworks, pages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OUTPUTS_H
#define PL_COMMAND_OUTPUTS_H

#include <stdbool.h>

#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/emit.h"
#include "popliner/replicas.h"

/* Prints the section or the plot that was asked for. `certificate` is that of the plan, and NULL
 * for all others. */
popliner_status print_shown(session *s, const popliner_certificate *certificate,
                            popliner_error *error);

/* Writes the files of --output: those of the plan if there is a certificate, else all others; and
 * that of --trace, with the certificate where one is to come. */
popliner_status write_outputs(session *s, const popliner_certificate *certificate,
                              popliner_error *error);

/* ---- --emit: a split in the words of frameworks ---- */

/* What is to be written, made before any of it is: one that is refused leaves all unwritten.
 * Zero-initialise; free with emitted_free. */
typedef struct emitted {
    char **texts;     /* of each --emit */
    size_t num_texts; /* 0: there is no split to write */
} emitted;

/* Refuses what is known to be missing before anything is solved. Errors: USAGE. */
popliner_status emit_check(const options *o, popliner_error *error);

/* Makes the texts of a certificate. One without a split of the whole chain has none, which the log
 * is told. Errors: USAGE for what a format cannot say. */
popliner_status emit_make(session *s, const popliner_certificate *certificate, size_t num_units,
                          emitted *made, popliner_error *error);

/* The same for the best number of replicas. */
popliner_status emit_make_replicas(session *s, const popliner_replicas *replicas,
                                   const popliner_certificate_input *names, emitted *made,
                                   popliner_error *error);

/* Whether one of them takes the place of what is printed otherwise, even if there is none. */
bool emit_prints(const options *o);

/* Prints that one, and writes the files. */
popliner_status emit_print(session *s, emitted *made, popliner_error *error);
popliner_status emit_write(const session *s, const emitted *made, popliner_error *error);

void emitted_free(emitted *made);

/* ---- --html ---- */

/* Writes the page, if one was asked for and none was written. It begins with the split of the
 * certificate, or with the best one if that is NULL, and shows the comparison if there is one. */
popliner_status write_page(session *s, const popliner_certificate *certificate,
                           const popliner_changes *changes, popliner_error *error);

#endif
