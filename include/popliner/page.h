/* popliner: a profile, and a plan of it, as one page that a browser shows.
 *
 * The page is one HTML file that needs nothing else and asks nobody for anything. It holds what
 * every stage of the chain would need, so that the cuts can be moved in it, and solves again by
 * itself. docs/page.md says what it shows.
 *
 * Threads: like the functions of popliner/analysis.h: while one thread works with an analysis,
 * others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PAGE_H
#define POPLINER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the page tells its reader to ask a program for what is on screen. Words of a command line,
 * with their leading dashes. Begin with POPLINER_PAGE_WORDS_INIT. */
typedef struct popliner_page_words {
    size_t struct_size;
    const char *command;     /* the program with what it reads */
    const char *pipeline;    /* for the pipeline of the request */
    const char *constraints; /* for cuts, sizes of stages and placements of the request */
    /* Each is followed by a blank and its value, but for the first; by '=' if the value begins with
     * a dash. What a terminal would obey in a value is escaped as in bash's $'...'. */
    const char *solve;
    const char *evaluate;        /* a split, the names of the last layers with '|' between them */
    const char *max_stages;      /* a number */
    const char *max_stage_bytes; /* a number */
    const char *objectives;      /* names with ',' between them */
    const char *schedule;        /* its name in popliner/pipeline.h: popart, tf-grouped, ... */
    const char *recompute;       /* none, standard or full */
    const char *needs[POPLINER_NUM_NEEDS]; /* with the value; "" for what is usual */
    const char *slack;                     /* percent, like 0.5 */
    const char *device_map;                /* the IPU of each stage: 2,0,1 */
    const char *ipu_limits;                /* bytes of IPUs: 0=500000,3=600000 */
    const char *ipu_speeds;                /* 0=0.5,3=2 */
    const char *links;                     /* bytes in a unit of time: 64,1-2=0.5 */
} popliner_page_words;

#define POPLINER_PAGE_WORDS_INIT                                                                   \
    {                                                                                              \
        sizeof(popliner_page_words), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,   \
            {NULL, NULL, NULL}, NULL, NULL, NULL, NULL, NULL                                       \
    }

/* What the page begins with. Begin with POPLINER_PAGE_OPTIONS_INIT. */
typedef struct popliner_page_options {
    size_t struct_size;
    const popliner_request *request; /* NULL: POPLINER_REQUEST_INIT */
    /* The split that is shown first, one of the analysis; NULL: the best one for the request. */
    const popliner_certificate *certificate;
    const char *title;                /* what the profile is called; NULL: nothing */
    const popliner_page_words *words; /* NULL: the page tells of no command */
    const popliner_changes *changes;  /* of the analysis, now, and another; NULL: none are shown */
    /* The files that were read are told with the paths that they were read by, as home directories
     * are in them; otherwise by their names alone. */
    bool has_paths;
} popliner_page_options;

#define POPLINER_PAGE_OPTIONS_INIT                                                                 \
    { sizeof(popliner_page_options), NULL, NULL, NULL, NULL, NULL, false }

/* Makes the page, which the caller frees with free(). The same analysis and options give the same
 * bytes. Errors: USAGE (a struct_size; a request for the greedy algorithm, which no page can
 * follow); INPUT when a file that was loaded is damaged; MEMORY. Cost: all stages
 * are measured, as for popliner_analysis_store, and all sections made. */
popliner_status popliner_page_text(popliner_analysis *analysis,
                                   const popliner_page_options *options, char **text,
                                   popliner_error *error);

/* Measures the stages of the pipeline that the page of a request begins with, and keeps them,
 * unless they are known or too many. What is solved for the request afterwards, and the page, then
 * take them from there: call it before solving when a page will be made of the plan. It changes no
 * answer. Errors: those of popliner_page_text. */
popliner_status popliner_page_prepare(popliner_analysis *analysis, const popliner_request *request,
                                      popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
