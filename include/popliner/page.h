/* popliner: a profile, and a plan of it, as one page that a browser shows.
 *
 * The page is one HTML file that needs nothing else and asks nobody for anything. It holds what
 * every stage of the chain would need, so that the cuts can be moved in it, and solves again by
 * itself. docs/page.md says what it shows.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PAGE_H
#define POPLINER_PAGE_H

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the page begins with. Begin with POPLINER_PAGE_OPTIONS_INIT; texts may be NULL. */
typedef struct popliner_page_options {
    size_t struct_size;
    const popliner_request *request; /* NULL: POPLINER_REQUEST_INIT */
    /* The split that is shown first, one of the analysis; NULL: the best one for the request. */
    const popliner_certificate *certificate;
    const char *title; /* what the profile is called */
    /* The page tells its reader how to get an answer from the command: with this, the words for the
     * pipeline of the request, and those for its constraints. NULL: "popliner", "" and "". */
    const char *command;
    const char *pipeline_words;
    const char *constraint_words;
} popliner_page_options;

#define POPLINER_PAGE_OPTIONS_INIT                                                                 \
    { sizeof(popliner_page_options), NULL, NULL, NULL, NULL, NULL, NULL }

/* Makes the page, which the caller frees with free(). The same analysis and options give the same
 * bytes. Errors: USAGE (struct_size; a request with a calibration, or for the greedy algorithm,
 * which no page can follow); INPUT when a file that was loaded is damaged; MEMORY. Cost: all stages
 * are measured, as for popliner_analysis_store, and all sections made. */
popliner_status popliner_page_text(popliner_analysis *analysis,
                                   const popliner_page_options *options, char **text,
                                   popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
