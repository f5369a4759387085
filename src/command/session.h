/* The state of one run of the command, and what its options request of the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SESSION_H
#define PL_COMMAND_SESSION_H

#include "command/log.h"
#include "command/options.h"
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

/* The request to the library: the options in terms of units.
 * Zero-initialise; free with request_free. */
typedef struct request {
    size_t num_units;
    const char *const *unit_names; /* [num_units] of what is split: layers, or Head, Tail, None */
    uint8_t *counted_units;        /* [num_units]: 1 for layers */
    size_t *first_units;           /* of --evaluate, [num_cuts]: the units after the cuts */
    size_t num_cuts;

    popliner_request asked;
    popliner_solver_options solver; /* refers to what follows */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_cut_rule *cut_rules; /* [num_units] */
    popliner_constraint *pairs;
    popliner_constraint *placements;
    void *ipu_lists[NUM_LISTS];
    size_t *device_map;
    popliner_pipeline pipeline; /* of which a step is simulated */
} request;

/* ---- the session ---- */

/* The state of one run: its options, what it read, what is asked of that, the answer. All of it is
 * freed with session_free, so whoever makes a part of it need not. Zero-initialise, then
 * session_begin. */
typedef struct session {
    options options;
    log_state log;
    popliner_listener listener;  /* writes into the log, and knows when something is solved */
    double solving_seconds;      /* when that began */
    char *report;                /* what --report chose; options.profile then */
    popliner_analysis *analysis; /* NULL of a file of costs */
    struct session *other;       /* what --compare compares with; NULL: nothing */
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
    popliner_certificate_input page_input; /* of a file of costs; zeros: of a profile */
} session;

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

/* Warns in the log, and in all that is made of the certificate, once answer_tell is called. */
void session_warn(session *s, const char *format, ...);

/* "IPU" or "IPUs"; for a file of costs "device" or "devices". */
const char *session_devices(const session *s, size_t count);

/* Prints a text that the library made, and frees it. One that is not of our own form holds names
 * byte by byte: what a terminal would obey is shown there as popliner_printable_take shows it,
 * while files and pipes get the bytes. */
popliner_status session_print(char *text, bool is_ours, popliner_error *error);

/* Whether all that was printed has arrived. */
popliner_status session_finish_printing(popliner_error *error);

/* Makes a report of a directory the profile of the session. Errors: MEMORY. */
popliner_status session_use_report(session *s, const char *directory, const char *name,
                                   popliner_error *error);

/* ---- requests ---- */

void request_free(request *r);

/* Refuses values that no profile would make right, before anything is read. Names of layers have to
 * wait. The request has a device map then. Errors: USAGE, which names the option; MEMORY. */
popliner_status request_check(session *s, popliner_error *error);

/* Makes the device map interleaved:V or v for so many IPUs. The caller frees *map. Errors:
 * MEMORY. */
popliner_status request_make_map(const options *o, size_t num_ipus, size_t **map, size_t *count,
                                 popliner_error *error);

/* Sets the members that need no units: the memory model (`otherwise`, unless the user chose one),
 * the schedule, the device map. Errors: USAGE, MEMORY. */
popliner_status request_begin(request *r, const session *s, popliner_memory_model otherwise,
                              popliner_error *error);

/* Puts the options in terms of the units of a file of costs, of a group of profiles, or, if both
 * are NULL, of the profile that was read: the split of --evaluate of profiles with its limits, else
 * all that the solver takes. What was in the request is freed. Free with request_free, also after
 * an error. Errors: USAGE, which names the option; those of popliner_analysis_prepare. */
popliner_status request_make(request *r, session *s, popliner_memory_model otherwise,
                             const popliner_costs_file *file, const popliner_group *group,
                             popliner_error *error);

/* Names the units of a chain. Errors: MEMORY. */
popliner_status request_name_chain(request *r, const popliner_chain *chain, popliner_error *error);

/* The unit of this name (a part of a value), layers first; SIZE_MAX if there is none. */
size_t request_find_unit(const request *r, const char *name, size_t length);

/* Refuses a value for the sake of a name in it that no unit has. */
popliner_status request_no_unit(const request *r, const char *option, const char *value,
                                const char *name, size_t length, popliner_error *error);

/* Sets *limit_bytes to what the reserve of the options leaves of the memory of an IPU (SIZE_MAX:
 * one without a reserve of its own). Errors: USAGE. */
popliner_status request_less_reserve(const popliner_solver_options *o, size_t ipu,
                                     uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error);

/* Takes --reserve, except that of single IPUs, and sets *limit_bytes to what it leaves of the
 * memory of a tile, which is logged; UINT64_MAX - 1: no limit. Errors: USAGE. */
popliner_status request_take_reserve(request *r, session *s, const popliner_costs_file *file,
                                     uint64_t *limit_bytes, popliner_error *error);

/* Sets the limit of each IPU, and the limits, less --reserve, and speeds of single IPUs and the
 * bandwidths of links: those of the command line, and of `file` (may be NULL) for other IPUs. Warns
 * of limits where no stage can run. num_ipus and the device map have to be there. Errors: USAGE,
 * which names the option, also for other values where no stage can run; MEMORY. */
popliner_status request_set_lists(request *r, session *s, uint64_t limit_bytes,
                                  const popliner_costs_file *file, popliner_error *error);

/* Puts the rules of --require in terms of units. Errors: USAGE, MEMORY. */
popliner_status request_take_rules(request *r, const options *o, popliner_error *error);

/* Whether a stage can run there. */
bool request_has_ipu(const request *r, const options *asked, size_t ipu);

/* The requested pipeline, of at most so many stages. */
popliner_pipeline request_pipeline(const request *r, size_t max_stages);

/* Makes the input of a certificate for these costs, of a file (else NULL), except for the plan. */
popliner_certificate_input request_certificate_input(const request *r, const session *s,
                                                     const popliner_costs *costs,
                                                     const popliner_costs_file *file);

/* Whether an objective is among those that are requested. */
bool request_wants(const popliner_solver_options *solver, popliner_objective objective);

/* Takes the split of --evaluate in terms of units. `file`: as above. Errors: USAGE, which names the
 * option; MEMORY. */
popliner_status split_take(request *r, const options *o, const popliner_costs_file *file,
                           popliner_error *error);

/* ---- what is asked of a profile or of a file of costs ---- */

/* Takes what the options ask of the profile that was read; without a layer to split sets
 * `can_split` to false, which the log tells. Refuses what the profile does not have, before
 * anything is printed or written. Errors: USAGE, which names the option; those of
 * popliner_analysis_prepare. */
popliner_status question_begin(session *s, popliner_error *error);

/* Solves for a split or measures that of --evaluate, and tells the log of it. Errors: those of
 * solving and of popliner_analysis_evaluate. */
popliner_status question_answer(session *s, popliner_error *error);

/* Answers, and prints and writes all that is made of the answer. Errors: as above. */
popliner_status question_print(session *s, popliner_error *error);

#endif
