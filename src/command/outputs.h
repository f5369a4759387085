/* Prints and writes what --output names: tables, plots, plans for frameworks, documents, pages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_OUTPUTS_H
#define PL_COMMAND_OUTPUTS_H

#include "command/request.h"
#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/emit.h"
#include "popliner/replicas.h"

/* The material of the outputs of an action. */
typedef struct material {
    unsigned action; /* SOLVE, EVALUATE, DIAGNOSE or COMPARE */
    /* Makes the answer as text, of `of`. */
    popliner_status (*make)(session *s, const void *of, popliner_format format, char **text,
                            popliner_error *error);
    const void *of;
    const popliner_certificate *certificate; /* NULL: there is no one split */
    const popliner_replicas *replicas;       /* of --total-ipus, else NULL */
} material;

/* Refuses what plans for frameworks are known to lack before anything is solved. Errors: USAGE. */
popliner_status outputs_check(const options *o, popliner_error *error);

/* Stores the analysis, and prints and writes all outputs of the profile alone. */
popliner_status outputs_of_profile(session *s, popliner_error *error);

/* Prints the answer of an action, or the output that takes its place; then writes the files that
 * are made of it. A plan for a framework that is refused leaves all unwritten. */
popliner_status outputs_of_answer(session *s, const material *m, popliner_error *error);

/* Makes the table of the stages of a split. `format` is none for people. */
popliner_status outputs_stages(session *s, const popliner_certificate *certificate,
                               popliner_format format, char **text, popliner_error *error);

/* Makes the request of a page, on which cuts can be moved, also those of --evaluate: of a file of
 * costs, or if that is NULL of the profile. Errors: those of request_make. */
popliner_status page_request(session *s, const popliner_costs_file *file, popliner_error *error);

/* Writes the page of the profile, or of the file of costs, if one was requested and none was
 * written. It begins with the split of the certificate, or with the best one if that is NULL. */
popliner_status write_page(session *s, const popliner_certificate *certificate,
                           popliner_error *error);

#endif
