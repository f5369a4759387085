/* What one run of the command works on: its options, and what was read and made for them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SESSION_H
#define PL_COMMAND_SESSION_H

#include <stdbool.h>

#include "command/log.h"
#include "command/options.h"
#include "popliner/chain.h"
#include "popliner/debug_info.h"
#include "popliner/error.h"
#include "popliner/layers.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/stage.h"
#include "store/stored_analysis.h"

enum { NUM_MEMORY_MODELS = POPLINER_MEMORY_MODEL_FULL + 1 };

/* Two to store, for both ways of recomputing, and one that was stored. */
enum { MOST_MEASURED = 3 };

/* Zero-initialise but for options and log; free with session_free. */
typedef struct session {
    options options;
    log_state log;
    popliner_listener listener;
    const popliner_profile *profile;
    const popliner_operations *operations;
    popliner_debug_info *info; /* NULL if there is none */
    popliner_layers *layers;
    /* by memory model, made when first asked for */
    popliner_chain *chain[NUM_MEMORY_MODELS];
    popliner_stage_meter *meter[NUM_MEMORY_MODELS];
    /* Stages that were measured to be stored, or when they were: their chains are those above. */
    pl_measured_stages measured[MOST_MEASURED];
    size_t num_measured;

    /* Whose profile and operations are: those that were read, or the analysis that was loaded, as far
     * as it was needed. */
    popliner_profile *read_profile;
    popliner_operations *found_operations;
    pl_stored_analysis *analysis;
    bool has_variables;
    bool failed_softly; /* the answer was printed, but it is no success: exit status 1 */
} session;

void session_free(session *s);

/* Reads the profile and the debug information, or the stored analysis, and finds operations and
 * layers. */
popliner_status session_load(session *s, popliner_error *error);

/* Refuses --write-lp and --write-mps over the files that are read (NULL: none). */
popliner_status session_check_programs(const session *s, const char *read, const char *also_read,
                                       popliner_error *error);

/* Makes sure that the lowered variables are there. */
popliner_status session_need_variables(session *s, popliner_error *error);

/* Makes sure that chain and meter of a memory model are there, and the lowered variables. */
popliner_status session_prepare(session *s, popliner_memory_model model, popliner_error *error);

/* Stores the analysis, with all stages measured. */
popliner_status session_save(session *s, popliner_error *error);

/* Stages that were measured already, and makes sure that their chain is there; *stages is the
 * session's, or NULL if they have to be measured. */
popliner_status session_find_stages(session *s, popliner_memory_model model,
                                    const popliner_pipeline *pipeline,
                                    const pl_measured_stages **stages, popliner_error *error);

/* The memory model that the user chose, or `otherwise`. */
popliner_memory_model session_memory_model(const session *s, popliner_memory_model otherwise);

/* The most memory that a stage may use on a tile: --mem-per-tile or the profile's own, less
 * --reserve, which is told. */
popliner_status session_limit(session *s, uint64_t *limit_bytes, popliner_error *error);

/* What --reserve leaves of the memory of a tile. */
popliner_status session_less_reserve(const session *s, uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error);

/* Fills *error and returns its status. */
popliner_status session_fail(popliner_error *error, popliner_status status, const char *format,
                             ...);

/* Prints a text that the library made, and frees it. */
popliner_status session_print(char *text, popliner_error *error);

/* Whether all that was printed has arrived. */
popliner_status session_finish_printing(popliner_error *error);

#endif
