/* The state of one run of the command: its options, its log, its limits, and the analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SESSION_H
#define PL_COMMAND_SESSION_H

#include <signal.h>

#include "command/log.h"
#include "command/options.h"
#include "command/values.h"
#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/error.h"
#include "popliner/solver.h"

/* Zero-initialise except for the log and the limit. */
typedef struct interrupts {
    double max_seconds; /* for which it may be; 0: without a limit */
    bool are_caught;
    struct sigaction before[2]; /* what the signals did */
} interrupts;

/* From here on the signals are caught; the time begins anew. */
void interrupts_catch(interrupts *i);

/* From here on they do what they did before. */
void interrupts_release(interrupts *i);

/* popliner_solver_options.should_stop for the `user` interrupts: whether there was a signal. Asked
 * all the time while something is solved. */
bool interrupts_should_stop(void *user);

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

/* Zero-initialise, then session_begin; free with session_free. */
typedef struct session {
    options options;
    log_state log;
    popliner_listener listener; /* writes into the log, and knows when something is solved */
    interrupts interrupts;
    popliner_analysis *analysis; /* NULL of a file of costs */
    /* what the page of a file of costs is made of; NULL: no such page is wanted */
    const popliner_certificate_input *page_costs;
    popliner_option_names names;
    char *report;          /* what --report chose; options.profile then */
    bool has_page;         /* it was written */
    bool is_other;         /* this one is what --compare compares with */
    growing_text warnings; /* of session_warn, each with a line end; NULL: none */
    bool is_overview;      /* of costs: nothing was requested */
    bool has_request;      /* what is to be said of requests was said */
    bool failed_softly;    /* the answer was printed, but it is no success: exit status 1 */
} session;

/* Begins the log as the options want it. */
void session_begin(session *s);
void session_free(session *s);

/* Reads the profile and the debug information, or the stored analysis, and finds operations and
 * layers. Errors: with --fail-on contradiction INPUT for an inconsistent profile. */
popliner_status session_open(session *s, popliner_error *error);

/* Returns the facts of the profile that was read. */
popliner_profile_info session_profile(const session *s);

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
