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

/* The words of a command line that the page offers to copy, with their leading dashes. */
typedef enum popliner_page_word {
    POPLINER_PAGE_WORD_COMMAND,     /* the program and its input */
    POPLINER_PAGE_WORD_CONSTRAINTS, /* for cuts, sizes of stages and placements of the request */
    /* All from here on, except the last four, are followed by a blank and a value, or by '=' and
     * the value if it begins with a dash. Characters that a terminal would obey are escaped in
     * values as in bash's $'...'. */
    POPLINER_PAGE_WORD_SOLVE,        /* without a value */
    POPLINER_PAGE_WORD_EVALUATE,     /* a split, the last layers with '|' between them */
    POPLINER_PAGE_WORD_NUM_IPUS,     /* a number */
    POPLINER_PAGE_WORD_MEM_PER_TILE, /* a number, or the bytes of IPUs: 0=500000,3=600000 */
    POPLINER_PAGE_WORD_OBJECTIVE,    /* names with ',' between them */
    POPLINER_PAGE_WORD_SCHEDULE,     /* its name in popliner/pipeline.h: popart, tf-grouped, ... */
    POPLINER_PAGE_WORD_RECOMPUTE,    /* none, standard or full */
    POPLINER_PAGE_WORD_SLACK,        /* percent, like 0.5 */
    POPLINER_PAGE_WORD_DEVICE_MAP,   /* the IPU of each stage: 2,0,1 */
    POPLINER_PAGE_WORD_IPU_SPEED,    /* 0=0.5,3=2 */
    POPLINER_PAGE_WORD_BANDWIDTH,    /* bytes in a unit of time: 64,1-2=0.5 */
    /* for popliner_need, with the value; "" for the default */
    POPLINER_PAGE_WORD_LEAST,
    POPLINER_PAGE_WORD_EXPECTED,
    POPLINER_PAGE_WORD_MOST,
    POPLINER_PAGE_WORD_PIPELINE, /* for the pipeline of the request */
    POPLINER_NUM_PAGE_WORDS,
} popliner_page_word;

/* The initial state of the page. Begin with POPLINER_PAGE_OPTIONS_INIT. */
typedef struct popliner_page_options {
    size_t struct_size;
    const popliner_request *request; /* NULL: POPLINER_REQUEST_INIT */
    /* The split that is shown first, of this analysis and of the memory model of the request; NULL:
     * the best one for the request. */
    const popliner_certificate *certificate;
    const char *title; /* the name of the profile; NULL: none */
    /* Without the word COMMAND the page shows no commands; others may also be NULL. */
    const char *words[POPLINER_NUM_PAGE_WORDS];
    /* Shows input files with their paths, which may contain home directories; false: only their
     * names. */
    bool has_paths;
} popliner_page_options;

#define POPLINER_PAGE_OPTIONS_INIT                                                                 \
    { sizeof(popliner_page_options), NULL, NULL, NULL, {NULL}, false }

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
 * only checks that there can be a page. Errors: USAGE (struct_size; costs of more than 400 units, of
 * a graph with several orders or without bytes, or that forbid a stage; the recomputation auto),
 * MEMORY. O(units^2 * places). */
popliner_status popliner_page_of_costs(const popliner_certificate_input *costs,
                                       const popliner_page_options *options, char **text,
                                       popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
