/* The state of one run of the command: its options, its log, its limits, and the analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SESSION_H
#define PL_COMMAND_SESSION_H

#include "command/log.h"
#include "command/options.h"
#include "command/request.h"
#include "command/values.h"
#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"

/* How the library calls the options in messages. */
extern const popliner_option_names option_names;

/* ---- limits ---- */

/* From here on the limits of the options count. */
void limits_begin(const options *o);

/* popliner_analysis_options.should_stop: whether the time of the work is up. `user` may be NULL. */
bool limits_are_over(void *user);

/* Adds to a failure for want of time or memory which option has set the limit. */
void limits_name_option(const options *o, popliner_error *error);

/* ---- the session ---- */

/* The state of one run: its options, what it read, what is asked of that, the answer. All of it is
 * freed with session_free, so whoever makes a part of it need not. Zero-initialise, then
 * session_begin. */
struct session {
    options options;
    log_state log;
    popliner_listener listener;  /* writes into the log, and knows when something is solved */
    double max_seconds;          /* for which something may be solved; 0: without a limit */
    double solving_seconds;      /* when that began */
    char *report;                /* what --report chose; options.profile then */
    popliner_analysis *analysis; /* NULL of a file of costs */
    session *other;              /* what --compare compares with; NULL: nothing */
    bool is_other;               /* this one is that */
    growing_text warnings;       /* of session_warn, each with a line end; NULL: none */
    bool has_request;            /* what is to be said of requests was said */
    bool failed_softly;          /* the answer was printed, but it is no success: exit status 1 */
    /* what is asked */
    bool can_split;   /* whether there is anything to split */
    bool is_overview; /* of costs: nothing was requested */
    request request;
    popliner_costs_file *read;        /* the file of costs */
    popliner_costs_file *arranged;    /* the same in another order; NULL: there is none */
    const popliner_costs_file *file;  /* the one of these that is split; NULL: a profile is */
    popliner_certificate_input input; /* the costs of the file, and what answers call things */
    char **compiled; /* the reports of each IPU, then NULL; NULL: one report is of all */
    size_t ends[2];  /* of --diagnose: the first and the last unit */
    popliner_certificate *answer; /* the split of --solve or --evaluate */
    /* the page */
    request page_request;
    popliner_certificate_input page_input; /* of a file of costs */
    bool is_page_of_costs;                 /* such a page is wanted */
    bool has_page;                         /* it was written */
};

/* Begins the log as the options want it. */
void session_begin(session *s);
void session_free(session *s);

/* Reads the profile and the debug information, or the stored analysis, and finds operations and
 * layers. Errors: with --fail-on contradiction INPUT for an inconsistent profile. */
popliner_status session_open(session *s, popliner_error *error);

/* Returns the facts of the profile that was read. */
popliner_profile_info session_profile(const session *s);

/* From here on signals are caught, and the time to solve begins anew. */
void solving_begin(session *s);

/* From here on they do what they did before. Returns the status of what was solved, and if that is
 * OK logs how long `task` (NULL: nothing to log) took. */
popliner_status solving_end(session *s, const char *task, popliner_status status);

/* popliner_solver_options.should_stop: whether there was a signal. Asked all the time while
 * something is solved. `user` may be NULL. */
bool solving_should_stop(void *user);

/* The number of relations that do not hold in the profile; each was logged. */
size_t session_num_breaches(const session *s);

/* The memory model that the user chose, or `otherwise`. */
popliner_memory_model session_memory_model(const session *s, popliner_memory_model otherwise);

/* The memory of a tile, without --reserve: that of --mem-per-tile, of the file, or without one of
 * the profile; 0: not said. */
uint64_t session_memory(const session *s, const popliner_costs_file *file);

/* The part of it that a stage may use, without --reserve, which is logged; UINT64_MAX - 1: no
 * limit. */
popliner_status session_limit(session *s, const popliner_costs_file *file, uint64_t *limit_bytes,
                              popliner_error *error);

/* Sets the reserve of the options to that of --reserve, except that of single IPUs. */
void session_reserve(const session *s, popliner_solver_options *solver);

/* Sets the memory of a tile that remains. */
popliner_status session_less_reserve(const session *s, uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error);

/* Warns of the request, before there is an answer: in the log, and later in
 * all that is made of the certificate. */
void session_warn(session *s, const char *format, ...);

/* Says something of an answer: in the log, and in all that is made of the certificate, or if that
 * is NULL in pages of the profile. Errors: MEMORY. */
popliner_status session_say(session *s, popliner_certificate *certificate, popliner_error *error,
                            popliner_level level, const char *format, ...);

/* "IPU" or "IPUs"; for a file of costs "device" or "devices". */
const char *session_devices(const session *s, size_t count);

/* Prints a text that the library made, and frees it. */
popliner_status session_print(char *text, popliner_error *error);

/* Like session_print, for a text that holds names byte by byte: what a terminal would obey is shown
 * there as popliner_printable_take shows it, while files and pipes get the bytes. */
popliner_status session_print_bytes(char *text, popliner_error *error);

/* Whether all that was printed has arrived. */
popliner_status session_finish_printing(popliner_error *error);

/* Makes a report of a directory the profile of the session. Errors: MEMORY. */
popliner_status session_use_report(session *s, const char *directory, const char *name,
                                   popliner_error *error);

#endif
