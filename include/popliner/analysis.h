/* popliner: the analysis of one profile, from the files to the split.
 *
 *     popliner_analysis *analysis;
 *     popliner_certificate *answer;
 *     popliner_analysis_read("report", NULL, NULL, &analysis, &error);
 *     popliner_analysis_solve(analysis, NULL, &answer, &error);
 *
 * An analysis owns the profile and everything that is made of it: operations, layers, the chain of
 * each memory model, measured stages. Each is made when it is first asked for and then kept, so
 * what comes out does not depend on the order of the questions. After a failure the analysis is as
 * it was: what failed is tried again when it is asked for again. So is what should_stop has ended.
 *
 * Threads: any number of threads may use one analysis, and tables of costs that it made; while one
 * works, others wait. What an analysis hands out does not change, and any number of threads may
 * read it at once; popliner/profile.h says when the variables are there. Call
 * popliner_analysis_free when no thread uses the analysis or anything of it. The library calls
 * listeners and other callbacks from the thread that called it, and from no other.
 *
 * In a process that was forked while a thread used the analysis, it may be half changed. There its
 * functions end with USAGE, so do its tables when they ask what stages on one IPU need, and
 * popliner_analysis_free does nothing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_ANALYSIS_H
#define POPLINER_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"
#include "popliner/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the caller; free with popliner_analysis_free, after everything that was made with it. */
typedef struct popliner_analysis popliner_analysis;

/* How to read and to measure. Begin with POPLINER_ANALYSIS_OPTIONS_INIT; 0 and NULL are defaults,
 * but for the IPU. */
typedef struct popliner_analysis_options {
    size_t struct_size;
    const char *layer_name_regex;  /* NULL: POPLINER_LAYER_NAME_REGEX; copied, like the next */
    const char *first_layer_regex; /* NULL: POPLINER_FIRST_LAYER_REGEX */
    popliner_layer_order layer_order;
    size_t num_threads; /* 0: as many as there are processors; the results are the same */
    /* For what is read, and for tables whose size the profile only claims; each is counted before
     * it is made. 0: the memory of the machine, where it is known. */
    uint64_t max_memory_bytes;
    const popliner_listener
        *listener; /* may be NULL; copied, its `user` must outlive the analysis */
    /* how texts call what can be changed; copied, but for the strings. NULL: by the fields'
     * names */
    const popliner_option_names *option_names;
    /* Read only what is on the tiles of this IPU of a pipeline, from 0; SIZE_MAX: all IPUs. */
    size_t ipu;
    /* Asked now and then whether to stop, by the thread that called, while the analysis is made or
     * works: true ends the call with POPLINER_ERROR_STOPPED. May be NULL; must return. It is not
     * asked while a solver works, which asks that of its own options. */
    bool (*should_stop)(void *user);
    void *should_stop_user;
    /* Leave out what framework.json and app.json beside the profile say, or what a stored analysis
     * holds of them. These may hold tokens: without this they are in the section `summary`, in
     * pages, and in analyses that are stored. */
    bool leaves_out_notes;
} popliner_analysis_options;

#define POPLINER_ANALYSIS_OPTIONS_INIT                                                             \
    {                                                                                              \
        sizeof(popliner_analysis_options), NULL, NULL, POPLINER_LAYER_ORDER_STEPS, 0, 0, NULL,     \
            NULL, SIZE_MAX, NULL, NULL, false                                                      \
    }

/* What is asked of a memory model. Begin with POPLINER_REQUEST_INIT; wherever a request is asked
 * for, NULL stands for that. */
typedef struct popliner_request {
    size_t struct_size;
    popliner_memory_model memory_model;
    popliner_schedule schedule;
    popliner_recompute recompute;
    /* popliner_effect: what compiling stages by themselves adds. Only the full model knows effects
     * and accumulators, and not for the greedy algorithm. */
    unsigned effects;
    popliner_accumulators accumulators;
    popliner_need need; /* what is taken for the memory of a stage where limits are kept */
    /* NULL: POPLINER_SOLVER_OPTIONS_INIT. Without counted_units the layers count. */
    const popliner_solver_options *solver;
    popliner_calibration calibration; /* what compiled pipelines taught; not for the greedy one */
    popliner_copies copies;           /* instead of the schedule's, see popliner/pipeline.h */
    /* What each stage recomputes, for popliner_analysis_evaluate alone, and none AUTO; NULL: all of
     * them as `recompute` says. */
    const popliner_recompute *stage_recomputes; /* [num_stage_recomputes] */
    size_t num_stage_recomputes;
    /* What AUTO chooses from: 1u << POPLINER_RECOMPUTE_FULL and so on; 0: all. */
    unsigned recompute_ways;
} popliner_request;

#define POPLINER_REQUEST_INIT                                                                      \
    {                                                                                              \
        sizeof(popliner_request), POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_NONE,              \
            POPLINER_RECOMPUTE_NONE, POPLINER_EFFECTS_ALL, POPLINER_ACCUMULATORS_AUTO,             \
            POPLINER_NEED_EXPECTED, NULL, {{0, 0, 0}, {0, 0, 0}}, POPLINER_COPIES_UNSET, NULL, 0,  \
            0                                                                                      \
    }

/* ---- making ---- */

/* Whether the options make sense, for a caller who wants to know before anything is read. Errors:
 * USAGE (struct_size; a regex that is invalid, with the offset); MEMORY. */
popliner_status popliner_analysis_options_check(const popliner_analysis_options *options,
                                                popliner_error *error);

/* Finds the files of a report as Poplar lays them out. `path` names the profile, or a directory
 * that holds it as profile.pop; `debug_path` names the debug information, or is NULL: then it is
 * debug.cbor beside the profile, or else in the directory above (where PopTorch and TensorFlow put
 * it). *found_debug is NULL when there is none. The caller frees both with free(). Errors: INPUT
 * (nothing there), MEMORY. */
popliner_status popliner_analysis_locate(const char *path, const char *debug_path,
                                         char **found_profile, char **found_debug,
                                         popliner_error *error);

/* The reports that a directory holds: its sub-directories with a profile.pop, as training and
 * inference. Owned by the caller; free with popliner_reports_free. */
typedef struct popliner_reports {
    const char *const
        *names; /* [count] as they are in the directory, in the order of their bytes */
    size_t count;
} popliner_reports;

/* Finds them; there may be none. Also those that cannot be examined, as a directory that may not be
 * opened, a link that leads nowhere or a directory called profile.pop: reading them says why, where
 * leaving them out would say that there are fewer reports. Errors: INPUT (no directory, or it
 * cannot be read), MEMORY. */
popliner_status popliner_reports_find(const char *directory, popliner_reports **reports,
                                      popliner_error *error);

/* NULL is fine. */
void popliner_reports_free(popliner_reports *reports);

/* Reads a profile and, beside it, the debug information, from where popliner_analysis_locate finds
 * them; both are opened read-only. Without debug information programs are grouped by their own
 * names. `options` may be NULL. The result, or the error, does not depend on the number of threads.
 * Of several replicas the first is read; the listener is warned if the compiler's account of
 * another one differs. Of a pipeline, options->ipu chooses one IPU: then all memory is that of its
 * tiles, while operations, layers and steps are those of the pipeline, and so what is solved is the
 * part of its layers that is on this IPU.
 * Errors: USAGE (struct_size, no such IPU); INPUT when a file cannot be read or is none of these,
 * has another major schema version than 3, lacks a table or column that is needed, has no lowered
 * variables, or holds values that contradict each other; MEMORY, at once when the profile needs
 * more than there may be. Cost: one pass over the needed columns and over the debug information;
 * memory about 30 bytes per lowered variable. */
popliner_status popliner_analysis_read(const char *path, const char *debug_path,
                                       const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error);

/* Loads an analysis that was stored. Most of the file are the lowered variables, which are left out
 * until something needs them: solving does not, if the stages of these layers and of this memory
 * model were stored. The file stays open. `options` as above; max_memory_bytes is not looked at,
 * and an IPU is to be chosen when the profile is read.
 * Errors: USAGE (struct_size, an IPU was chosen); INPUT when it is no such file, of another version
 * or machine, or damaged; MEMORY. */
popliner_status popliner_analysis_load(const char *path, const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error);

/* Frees the analysis and all that it owns. NULL is fine. */
void popliner_analysis_free(popliner_analysis *analysis);

/* Stores the analysis in one file of popliner's own format, with all stages of this memory model
 * measured, so that later runs with these layers need not measure them again. Whatever options a
 * later run uses, it gets the same results from the file as from the profile. The file is written
 * beside `path` and moved there when it is complete, so `path` never holds half of one. Errors:
 * OUTPUT, MEMORY; INPUT when the analysis was loaded from a file that is damaged; USAGE for a regex
 * of the options. Cost: as popliner_analysis_costs, for each way of recomputing. */
popliner_status popliner_analysis_store(popliner_analysis *analysis, popliner_memory_model model,
                                        const char *path, popliner_error *error);

/* ---- parts, all owned by the analysis ---- */

/* The profile. Of a loaded analysis the lowered variables may be missing: what needs them fails
 * with USAGE, or, where it returns no status, tells of none. */
const popliner_profile *popliner_analysis_profile(const popliner_analysis *analysis);

/* Loads what is missing of a loaded analysis: the lowered variables, and the stages that were
 * stored for a request, if there are any; NULL is no request here. For a caller who looks at the
 * variables of the profile, or wants to know beforehand that the file is whole. Does nothing for
 * one that was read. Errors: INPUT when the file is damaged, MEMORY; of a request, USAGE for a
 * regex of the options. */
popliner_status popliner_analysis_load_rest(popliner_analysis *analysis,
                                            const popliner_request *request, popliner_error *error);

/* Whether the profile agrees with itself: relation i, the first being 0; NULL behind the last. They
 * were checked when it was read, and are stored with it; of each that is breached the listener was
 * warned. Lives as long as the analysis. O(1). */
const popliner_check *popliner_analysis_check_at(const popliner_analysis *analysis, size_t i);

/* Adds what the caller has told its users of the profile, so that certificates and pages that are
 * made later have it, as they have the library's own warnings. Not while another thread uses the
 * analysis. Errors: USAGE (no such level, no text), MEMORY. O(messages). */
popliner_status popliner_analysis_add_message(popliner_analysis *analysis, popliner_level level,
                                              const char *text, popliner_error *error);

/* The operations of the model. Errors: MEMORY. */
popliner_status popliner_analysis_operations(popliner_analysis *analysis,
                                             const popliner_operations **operations,
                                             popliner_error *error);

/* The layer of each operation. Errors: USAGE for a regex of the options; MEMORY. */
popliner_status popliner_analysis_layers(popliner_analysis *analysis,
                                         const popliner_layers **layers, popliner_error *error);

/* The chain of units in a memory model, which names and numbers them. Errors: as above; INPUT when
 * a file that was loaded is damaged. */
popliner_status popliner_analysis_chain(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_chain **chain, popliner_error *error);

/* Does beforehand what solving for a request needs beside the units: finds stages that were stored,
 * or else makes the memory model ready. For a caller who wants to number units before asking, and
 * have the time that this takes counted there. Errors: as popliner_analysis_chain. */
popliner_status popliner_analysis_prepare(popliner_analysis *analysis,
                                          const popliner_request *request, popliner_error *error);

/* Whether the layers train: one that is not the last of those that compute computes again after the
 * last one has begun. Without it a pipeline keeps nothing, whatever the schedule. Errors: as
 * popliner_analysis_chain. O(steps). */
popliner_status popliner_analysis_is_training(popliner_analysis *analysis,
                                              popliner_memory_model model, bool *is_training,
                                              popliner_error *error);

/* The path of a debug context: the own names from its root to itself, joined by '/', empty ones
 * left out. Writes at most `size` bytes into `path` with a NUL behind them, cut if longer; "" for
 * an unknown id. Returns whether the id is known: contexts that nothing in the profile leads to are
 * not, and none is without debug information or in a loaded analysis. */
bool popliner_analysis_debug_path(const popliner_analysis *analysis, uint64_t id, char *path,
                                  size_t size);

/* ---- questions ---- */

/* Measures stages that are together on one IPU, of which one is usual: each with what it keeps for
 * a pipeline, as far from its end as stages_to_end tells. The solver's options of the request are
 * not looked at. The caller frees *measurement, before the analysis. Errors: USAGE for units that
 * the chain has not, or that overlap; those of popliner_analysis_chain. Cost: O(touched variables +
 * tiles * (steps + programs)). */
popliner_status popliner_analysis_measure_stages(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_interval *stages, size_t num_stages,
                                                 popliner_measurement **measurement,
                                                 popliner_error *error);

/* What every stage of the chain would cost, as popliner_solve takes it: peaks in a pipeline of as
 * many stages as may be needed, cuts, cycles if the profile tells those of computing, and the peaks
 * of stages that share an IPU, which are measured when they are asked for. With full recomputation
 * the cycles are with what is computed once more. They have what cuts take on links of
 * POPLINER_LINK_BYTES_PER_SECOND, unless the solver's options have bandwidths of links: then
 * popliner_solve adds it. Else only their max_stages and device map are looked at. The caller frees
 * *costs, before the analysis. Errors: USAGE for POPLINER_RECOMPUTE_AUTO; those of
 * popliner_analysis_chain. Cost: two passes over the variables that programs
 * touch, then for each tile O(variables + steps + units^2) and more where much is live; O(units^2 *
 * stages) where the stages were stored. */
popliner_status popliner_analysis_costs(popliner_analysis *analysis,
                                        const popliner_request *request, popliner_costs **costs,
                                        popliner_error *error);

/* Chooses the best split. Stages above the limits are measured only if nothing fits, to tell how
 * far they are above them. With POPLINER_RECOMPUTE_AUTO every stage chooses what it recomputes, as
 * popliner_variants_solve_costs has it: no split with any choices of the request's recompute_ways
 * is better in the objectives. FULL takes the cycles of a stage's forward pass once more
 * (docs/internals/memory-models.md). Of a profile that was compiled with recomputation NONE is
 * wrong, and is to be left out of recompute_ways; of any other STANDARD never needs less than NONE.
 * The certificate tells what each chose, and has no costs.
 * The caller frees *certificate, before the analysis. Errors: those of popliner_analysis_chain and
 * of popliner_solve; with AUTO USAGE for what popliner_variants_solve refuses, and where the
 * profile tells no cycles of computing, or none of a forward pass. Cost: those of both; with AUTO
 * two measurements. */
popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error);

/* Measures a given split: first_units[num_cuts], ascending, are the units behind its cuts. Stage k
 * runs on IPU k, or where the device map says, which has to have as many stages. It recomputes what
 * the request's stage_recomputes[k] says, if there are any. The plan of the
 * certificate is INFEASIBLE if some IPU needs more than its limit, else FEASIBLE: nothing is looked
 * for or proven, cuts and cycles are not told, and constraints of the solver's options that are no
 * limits do nothing. The caller frees *certificate, before the analysis. Errors: USAGE for units
 * that are no split of the chain, for another number of stage_recomputes, and where stages on one
 * IPU differ in theirs; those of popliner_analysis_chain. Cost: that of measuring each
 * IPU. */
popliner_status popliner_analysis_evaluate(popliner_analysis *analysis,
                                           const popliner_request *request,
                                           const size_t *first_units, size_t num_cuts,
                                           popliner_certificate **certificate,
                                           popliner_error *error);

/* Takes the operations as one stage and compares it with the compiler's own account. `options` may
 * be NULL. The caller frees *diagnosis, before the analysis. Errors: USAGE (no such unit); those of
 * popliner_analysis_chain. Cost: a few passes over variables and programs. */
popliner_status popliner_analysis_diagnose(popliner_analysis *analysis,
                                           const popliner_diagnosis_options *options,
                                           popliner_diagnosis **diagnosis, popliner_error *error);

/* Which layers use the same memory, and what one hands to another. *pairs is the analysis's own.
 * Errors: those of popliner_analysis_layers; INPUT when a file that was loaded is damaged. Cost:
 * one pass over the variables that programs touch, the first time. */
popliner_status popliner_analysis_pair_layers(popliner_analysis *analysis,
                                              const popliner_layer_pairs **pairs,
                                              popliner_error *error);

/* Chooses how many stages and replicas pipelines of the profile have, as popliner_replicas_solve
 * does. Of the options, `solver` is that of the request, and parameters are those that the profile
 * trains: parameters in the sense of popliner/pipeline.h that are not for INFERENCE. Costs are
 * those of the request, with copies for as many stages and micro-batches as each pipeline has;
 * whatever these members are does not matter. The profile must have cycles of computing. The
 * listener is told of the time, and warned as when a split is solved for. The caller frees
 * *replicas. Errors: those of popliner_analysis_chain and of popliner_replicas_solve; USAGE for the
 * greedy method. Cost: those of popliner_replicas_solve and of popliner_analysis_costs. Where
 * copies follow stages or micro-batches, more is measured, once: all details of all stages, unless
 * there are more than some hundred units, or a calibration; then each pipeline's costs are. */
popliner_status popliner_analysis_solve_replicas(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_replicas_options *options,
                                                 popliner_replicas **replicas,
                                                 popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
