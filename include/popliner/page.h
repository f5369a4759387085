/* popliner: a profile or costs, and a plan for them, as one HTML page.
 *
 * The page is one file without external references. It holds the memory of every stage of the
 * chain, so that users can move cuts in it and solve again without popliner. docs/page.md describes
 * it.
 *
 * Threads: as in popliner/analysis.h: while one thread works with an analysis, others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PAGE_H
#define POPLINER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The initial state of the page. Begin with POPLINER_PAGE_OPTIONS_INIT. */
typedef struct popliner_page_options {
    size_t struct_size;
    const popliner_request *request; /* NULL: POPLINER_REQUEST_INIT */
    /* The split that is shown first, of this analysis and of the memory model of the request; NULL:
     * the best one for the request. */
    const popliner_certificate *certificate;
    const char *title; /* the name of the profile; NULL: none */
    /* Words of a command line of popliner, of which the page makes those that it offers to copy.
     * Characters that a terminal would obey are escaped as in bash's $'...'. */
    const char *command;  /* the program and its input; NULL: the page offers none */
    const char *pipeline; /* options for the pipeline of the request; NULL: none */
    const char
        *constraints; /* for cuts, sizes of stages and placements of the request; NULL: none */
    /* Shows input files with their paths, which may contain home directories; false: only their
     * names. */
    bool has_paths;
    const char *warnings; /* lines that the page shows if there is no certificate, which has its
                           * own; NULL: none */
} popliner_page_options;

#define POPLINER_PAGE_OPTIONS_INIT                                                                 \
    { sizeof(popliner_page_options), NULL, NULL, NULL, NULL, NULL, NULL, false, NULL }

/* Writes the page; the caller frees *text with free(). Equal analyses and options give equal bytes.
 * Errors: USAGE (struct_size; a certificate of something else; a request for the greedy algorithm,
 * which pages do not have); INPUT if a loaded file is damaged; MEMORY. Cost: measures all stages,
 * as popliner_analysis_store does, and makes all sections. */
popliner_status popliner_page_text(popliner_analysis *analysis,
                                   const popliner_page_options *options, char **text,
                                   popliner_error *error);

/* Like popliner_page_text, for costs that come from no profile: the page has their plan, and no
 * views of a profile. `costs` names their units and numbers as for a certificate, and has the
 * request; its plan is ignored, and so are request and has_paths of the options. If `text` is NULL,
 * only checks that there can be a page. Errors: USAGE (struct_size; costs of more than 400 units,
 * of a graph with several orders or without bytes, or that forbid a stage; the recomputation auto),
 * MEMORY. O(units^2 * places). */
popliner_status popliner_page_of_costs(const popliner_certificate_input *costs,
                                       const popliner_page_options *options, char **text,
                                       popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
