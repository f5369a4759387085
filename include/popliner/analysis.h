/* popliner: the analysis of one profile, from its files to the split.
 *
 *       popliner_analysis *analysis;
 *       popliner_certificate *answer;
 *       popliner_analysis_read("report", NULL, NULL, &analysis, &error);
 *       popliner_analysis_solve(analysis, NULL, &answer, &error);
 *
 * An analysis owns the profile and everything derived from it: operations, layers, the chain of
 * each memory model, measured stages. It computes each of them on first use and keeps it, so
 * results do not depend on the order of calls. A failure leaves the analysis unchanged: the next
 * call that needs the failed part tries it again. This also holds for work that should_stop has
 * ended.
 *
 * Threads: any number of threads may use one analysis and the tables of costs that it made; while
 * one works, others wait. Results of an analysis do not change, and any number of threads may read
 * them at once; popliner/profile.h says when the variables are available. Call
 * popliner_analysis_free when no thread uses the analysis or anything that belongs to it. The
 * library calls listeners and other callbacks only from the thread that called it. If a process
 * forks while a thread uses an analysis, the child must not use it.
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

/* Options for reading and measuring. Begin with POPLINER_ANALYSIS_OPTIONS_INIT. 0 and NULL are the
 * defaults of every member except `ipu`. */
typedef struct popliner_analysis_options {
    size_t struct_size;
    const char *layer_name_regex;  /* NULL: POPLINER_LAYER_NAME_REGEX; copied */
    const char *first_layer_regex; /* NULL: POPLINER_FIRST_LAYER_REGEX; copied */
    popliner_layer_order layer_order;
    size_t num_threads; /* 0: one per processor; results do not depend on it */
    /* Limits the bytes for what is read, including tables whose size only the profile claims; each
     * allocation is counted before it is made. 0: the memory of the machine, if known. */
    uint64_t max_memory_bytes;
    /* may be NULL; copied, but its `user` must outlive the analysis */
    const popliner_listener *listener;
    /* names of options for messages; copied, except for the strings. NULL: the names of the
     * fields */
    const popliner_option_names *option_names;
    /* Reads only what is on the tiles of this IPU of a pipeline, from 0; SIZE_MAX: all IPUs. */
    size_t ipu;
    /* Returns true to end the call with POPLINER_ERROR_STOPPED. The calling thread polls it while
     * the analysis is made or works, except while a solver works: solvers poll the should_stop of
     * their own options. May be NULL; must return. */
    bool (*should_stop)(void *user);
    void *should_stop_user;
} popliner_analysis_options;

#define POPLINER_ANALYSIS_OPTIONS_INIT                                                             \
    {                                                                                              \
        sizeof(popliner_analysis_options), NULL, NULL, POPLINER_LAYER_ORDER_STEPS, 0, 0, NULL,     \
            NULL, SIZE_MAX, NULL, NULL                                                             \
    }

/* A request to a memory model. Begin with POPLINER_REQUEST_INIT; functions that take a request take
 * NULL for that. */
typedef struct popliner_request {
    size_t struct_size;
    popliner_memory_model memory_model;
    popliner_schedule schedule;
    popliner_recompute recompute;
    /* popliner_effect: memory that compiling stages separately adds. Effects and accumulators need
     * the full model. */
    unsigned effects;
    popliner_accumulators accumulators;
    popliner_need need; /* the estimate that must be within the limits */
    /* NULL: POPLINER_SOLVER_OPTIONS_INIT. Without counted_units, layers count. */
    const popliner_solver_options *solver;
    popliner_copies copies; /* instead of the schedule's, see popliner/pipeline.h */
    /* Recomputation of each stage, none of them AUTO; only for popliner_analysis_evaluate, where
     * `recompute` is not AUTO. NULL: `recompute` for all stages. */
    const popliner_recompute *stage_recomputes; /* [num_stage_recomputes] */
    size_t num_stage_recomputes;
    /* Bits that AUTO chooses from: 1u << POPLINER_RECOMPUTE_FULL and so on; 0: all. */
    unsigned recompute_ways;
} popliner_request;

#define POPLINER_REQUEST_INIT                                                                      \
    {                                                                                              \
        sizeof(popliner_request), POPLINER_MEMORY_MODEL_FULL, POPLINER_SCHEDULE_NONE,              \
            POPLINER_RECOMPUTE_NONE, POPLINER_EFFECTS_ALL, POPLINER_ACCUMULATORS_AUTO,             \
            POPLINER_NEED_EXPECTED, NULL, POPLINER_COPIES_UNSET, NULL, 0, 0                        \
    }

/* ---- Reading and storing ---- */

/* Checks the options before anything is read. Errors: USAGE (struct_size; an invalid regex, with
 * the offset); MEMORY. */
popliner_status popliner_analysis_options_check(const popliner_analysis_options *options,
                                                popliner_error *error);

/* Finds the files of a report where Poplar puts them. `path` names the profile, or a directory that
 * holds it as profile.pop. `debug_path` names the debug information; NULL: debug.cbor in the
 * directory of the profile, or else in the directory above (where PopTorch and TensorFlow put it).
 * *found_debug is NULL if there is none. The caller frees both with free(). Errors: INPUT (no such
 * files), MEMORY. */
popliner_status popliner_analysis_locate(const char *path, const char *debug_path,
                                         char **found_profile, char **found_debug,
                                         popliner_error *error);

/* Finds the reports in `directory`: its sub-directories that hold a profile.pop, such as training
 * and inference; there may be none. Sets *names to their file names in order (ipu2 before
 * ipu10), then NULL: one block, which the caller frees with free(). Lists also those that cannot be
 * examined (a directory without permission, a dangling link, a directory called profile.pop):
 * reading them then reports the reason, where leaving them out would hide them. Errors: INPUT (no
 * directory, or it cannot be read), MEMORY. */
popliner_status popliner_reports_find(const char *directory, char ***names, popliner_error *error);

/* Reads a profile and its debug information, from where popliner_analysis_locate finds them; opens
 * both read-only. Without debug information, programs are grouped by their own names. `options` may
 * be NULL. The result, or the error, does not depend on the number of threads. Reads the first of
 * several replicas, and warns if the compiler's account of another replica differs. With
 * options->ipu, all memory is that of the tiles of this IPU, while operations, layers and steps are
 * those of the whole pipeline; solving then splits the layers that are on this IPU.
 *
 * Errors: USAGE (struct_size, no such IPU); INPUT for a file that cannot be read or is not a
 * profile, has another major schema version than 3, lacks a table or column that is needed, has no
 * lowered variables, or holds inconsistent values; MEMORY, immediately if the profile needs more
 * than is allowed. Cost: one pass over the needed columns and over the debug information; memory
 * about 22 bytes per lowered variable. */
popliner_status popliner_analysis_read(const char *path, const char *debug_path,
                                       const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error);

/* Loads a stored analysis, which answers for the layers and the memory model that it was stored
 * with. It has no lowered variables: what needs them (other layers, pages, the diagnosis, most
 * tables) fails with USAGE, and names the file. In the full model it measures and solves for any
 * pipeline; in PopLiner's, for the usual ones. `options` as for popliner_analysis_read, but
 * max_memory_bytes is ignored, and an IPU must be chosen when the profile is read. Errors: USAGE
 * (struct_size, an IPU was chosen); INPUT for a file that is not a stored analysis, is of another
 * version or machine, or is damaged; MEMORY. */
popliner_status popliner_analysis_load(const char *path, const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error);

/* Frees the analysis and all that it owns. NULL is fine. */
void popliner_analysis_free(popliner_analysis *analysis);

/* Stores the analysis in one file of popliner's own format: what stages need in this memory
 * model, for these layers, without the profile's lowered variables (popliner_analysis_load).
 * Writes a temporary file in the directory of `path` and renames it when it is complete, so
 * `path` is never incomplete. Errors: OUTPUT, MEMORY; INPUT if the analysis was loaded from a
 * damaged file; USAGE for a regex of the options, or if `path` is the profile or its debug
 * information. Cost: that of popliner_analysis_costs, for each kind of recomputation. */
popliner_status popliner_analysis_store(popliner_analysis *analysis, popliner_memory_model model,
                                        const char *path, popliner_error *error);

/* ---- Parts, all owned by the analysis ---- */

/* Returns the profile. That of a loaded analysis lacks the lowered variables: functions that need
 * them fail with USAGE, or report no variables if they return no status. */
const popliner_profile *popliner_analysis_profile(const popliner_analysis *analysis);

/* Adds a message that the caller has shown about the profile, so that later certificates and pages
 * contain it like the library's own warnings. Not while another thread uses the analysis. Errors:
 * USAGE (no such level, no text), MEMORY. O(messages). */
popliner_status popliner_analysis_add_message(popliner_analysis *analysis, popliner_level level,
                                              const char *text, popliner_error *error);

/* Sets operations[*count] to the operations of the model, in the order in which they first run.
 * Errors: MEMORY. */
popliner_status popliner_analysis_operations(popliner_analysis *analysis,
                                             const popliner_operation **operations, size_t *count,
                                             popliner_error *error);

/* Sets layers[*count] to the layer of each operation. Errors: USAGE for a regex of the options;
 * MEMORY. */
popliner_status popliner_analysis_layers(popliner_analysis *analysis,
                                         const popliner_layer_finding **layers, size_t *count,
                                         popliner_error *error);

/* Sets *chain to the chain of units in a memory model, which names and numbers them. Errors: those
 * of popliner_analysis_layers; INPUT if a loaded file is damaged. */
popliner_status popliner_analysis_chain(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_chain **chain, popliner_error *error);

/* Prepares what solving for a request needs besides the units: finds stored stages, or makes the
 * memory model ready. Call it to number units before solving, so that this time counts here.
 * `for_page`: instead measures and keeps the stages of the pipeline that the page of the request
 * begins with, unless they are known or too many, so that solving and popliner_page_text both use
 * them. Does not change any answer. Errors: those of popliner_analysis_chain; for a page those of
 * popliner_page_text. */
popliner_status popliner_analysis_prepare(popliner_analysis *analysis,
                                          const popliner_request *request, bool for_page,
                                          popliner_error *error);

/* Sets *is_training to whether the profile has a backward pass: a layer other than the last one
 * that computes does so again after the last one has started. Without a backward pass no schedule
 * stores activations. Errors: those of popliner_analysis_chain. O(steps). */
popliner_status popliner_analysis_is_training(popliner_analysis *analysis,
                                              popliner_memory_model model, bool *is_training,
                                              popliner_error *error);

/* Writes the path of a debug context into `path`: the names from its root to itself, joined by '/',
 * without empty names. Writes at most `size` bytes with the terminating NUL and cuts longer paths;
 * writes "" for an unknown id. True if the id is known: none is without debug information or in a
 * loaded analysis. */
bool popliner_analysis_debug_path(const popliner_analysis *analysis, uint64_t id, char *path,
                                  size_t size);

/* ---- Measuring and solving ---- */

/* Measures the memory of one IPU that runs `stages` (usually one), each with what it stores for its
 * distance stages_to_end from the end of the pipeline. Sets *detail, whose names live as long as
 * the analysis, and *memory, which the caller frees with popliner_stage_memory_free (NULL: not
 * set). Ignores request->solver. Errors: USAGE for units that are not in the chain or overlap;
 * those of popliner_analysis_chain. Cost: O(touched variables + tiles * (steps + programs)). */
popliner_status popliner_analysis_measure_stages(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_interval *stages, size_t num_stages,
                                                 popliner_stage_detail *detail,
                                                 popliner_stage_memory **memory,
                                                 popliner_error *error);

/* Computes the costs of every stage of the chain, as popliner_solve takes them: peaks for pipelines
 * of up to num_ipus stages, cuts, cycles if the profile has those of computing, and the peaks of
 * stages on one IPU, which are measured on demand. With full recomputation the cycles include the
 * recomputed ones. Cycles include the transfer time of cuts over links of
 * POPLINER_LINK_BYTES_PER_SECOND; if the solver's options have bandwidths of links, popliner_solve
 * adds that time instead. Of the solver's other options only num_ipus and the device map count.
 * With POPLINER_RECOMPUTE_AUTO stages choose how they recompute where the costs are solved for, as
 * popliner_analysis_solve says. The caller frees *costs before the analysis. Errors: those of
 * popliner_analysis_chain; with AUTO also USAGE for a profile without cycles. Cost: two passes over
 * the variables that programs touch, then for each tile O(variables + steps + units^2), more where
 * much is live; O(units^2 * stages) if the stages were stored. */
popliner_status popliner_analysis_costs(popliner_analysis *analysis,
                                        const popliner_request *request, popliner_costs **costs,
                                        popliner_error *error);

/* Finds the best split. Measures stages above the limits only if nothing fits, to report by how
 * much they exceed the limits. With POPLINER_RECOMPUTE_AUTO every stage chooses its recomputation,
 * as popliner_solve with choices does: no split with any choices of request->recompute_ways is
 * better in the objectives. FULL repeats the cycles of a stage's forward pass
 * (docs/internals/memory-models.md). Leave NONE out of recompute_ways for a profile that was
 * compiled with recomputation, where NONE is wrong; for any other profile STANDARD never needs less
 * than NONE. The certificate has the choice of each stage, and no costs then. The caller frees
 * *certificate before the analysis. Errors: those of popliner_analysis_chain and of popliner_solve;
 * with AUTO also USAGE for what popliner_solve rejects with choices, and for a profile without
 * cycles of computing or of a forward pass. Cost: that of popliner_analysis_costs and
 * popliner_solve; with AUTO two measurements. The second request for a schedule and a recomputation
 * measures all stages in detail, up to some hundred units, so that further ones cost little more
 * than popliner_solve, whatever their limits, objectives and constraints. */
popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error);

/* Measures a given split: first_units[num_cuts], ascending, are the first units after its cuts.
 * Stage k runs on IPU k, or on the IPU of the device map, which must have one entry per stage. It
 * recomputes as request->stage_recomputes[k] says, if set. With POPLINER_RECOMPUTE_AUTO an IPU, of
 * which all stages recompute alike, has the fewest cycles within its limit, or, if it does not fit
 * in any way, the smallest peak. The plan of the certificate is INFEASIBLE if some IPU exceeds its
 * limit, else FEASIBLE; it has all that popliner_analysis_solve finds of this split, but nothing is
 * searched for or proven, and constraints of the solver's options other than limits are ignored.
 * The certificate has no costs. The caller frees *certificate before the analysis. Errors: USAGE
 * for units that do not split the chain, for another number of stage_recomputes, and if stages on
 * one IPU differ in theirs; those of popliner_analysis_chain. Cost: that of measuring each IPU, and
 * O(units^2), with AUTO that of popliner_analysis_costs. */
popliner_status popliner_analysis_evaluate(popliner_analysis *analysis,
                                           const popliner_request *request,
                                           const size_t *first_units, size_t num_cuts,
                                           popliner_certificate **certificate,
                                           popliner_error *error);

/* Likewise for a plan: its stages on its IPUs, which recompute as it says. */
popliner_status popliner_analysis_evaluate_plan(popliner_analysis *analysis,
                                                const popliner_request *request,
                                                const popliner_plan *plan,
                                                popliner_certificate **certificate,
                                                popliner_error *error);

/* Reads a file of costs again for another pipeline; the callee frees *file. */
typedef popliner_status (*popliner_costs_reader)(void *user, const popliner_pipeline *pipeline,
                                                 popliner_costs_file **file, popliner_error *error);

/* Finds what would help, for the certificate's `hints`: the same for the same question, however
 * fast the machine is. Solves by the analysis, whose listener hears nothing of it, or if it is NULL
 * by `costs`, of no profile, which the answer was found with (NULL: there are none). Of a profile
 * they only say whether there was a table: without one, some hints are left out.
 * What would need more than the dynamic program is named without numbers. `request` is that of the
 * answer. `read` (NULL: cannot) reads the costs where stages may choose what they recompute. Not
 * while another thread uses the certificate. Errors: USAGE (struct_size, a certificate of something
 * else); MEMORY, INTERNAL. Costs as much as some answers. */
popliner_status
popliner_certificate_find_hints(popliner_certificate *certificate, popliner_analysis *analysis,
                                const popliner_request *request, const popliner_costs *costs,
                                popliner_costs_reader read, void *user, popliner_error *error);

/* Measures all operations, or those in layers only, as one stage and compares it with the
 * compiler's own account. The bottleneck is that of the steps of the units first_unit ...
 * last_unit of the model's chain; SIZE_MAX is the last unit. The caller frees *diagnosis before the
 * analysis. Errors: USAGE (no such unit or model); those of popliner_analysis_chain. Cost: a few
 * passes over variables and programs. */
popliner_status popliner_analysis_diagnose(popliner_analysis *analysis, popliner_memory_model model,
                                           bool layer_operations_only, size_t first_unit,
                                           size_t last_unit, popliner_diagnosis **diagnosis,
                                           popliner_error *error);

/* Chooses the numbers of stages and replicas for pipelines of the profile, like
 * popliner_replicas_solve. Ignores these members of `options`: `solver` (the request has one),
 * parameters (those that the profile trains are used: parameters in the sense of
 * popliner/pipeline.h that are not for INFERENCE) and costs (those of the request are used, with
 * copies for the stages and micro-batches of each pipeline). The profile must have cycles of
 * computing. The listener gets timings, and the warnings of solving for a split. The caller frees
 * *replicas. Errors: those of popliner_analysis_chain and of popliner_replicas_solve; USAGE for the
 * greedy method. Cost: that of popliner_replicas_solve and of popliner_analysis_costs. If copies
 * depend on stages or micro-batches, all details of all stages are also measured, once; with more
 * than some hundred units the costs of each pipeline are measured instead. */
popliner_status popliner_analysis_solve_replicas(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_replicas_options *options,
                                                 popliner_replicas **replicas,
                                                 popliner_error *error);

/* ---- Several analyses of one model ---- */

/* Analyses of one model, as of its training and its inference, which have the same layers in the
 * same order. Read only. */
typedef struct popliner_group {
    /* [num_units]: what any of them has. Before and after the layers some may lack units. */
    const char *const *unit_names;
    const uint8_t *counted_units; /* [num_units]: 1 for layers */
    size_t num_units;
    const bool *are_training; /* [num_analyses]: as popliner_analysis_is_training sets it */
    size_t num_analyses;
    uint64_t bytes_per_tile; /* 0: they have tiles of different sizes */
} popliner_group;

/* Puts the units of analyses together, which have to live as long as *group. `names` (copied) are
 * for messages. The caller frees *group. Errors: USAGE for other layers, or another order of them;
 * those of popliner_analysis_chain. */
popliner_status popliner_group_create(popliner_analysis *const *analyses, const char *const *names,
                                      size_t num_analyses, popliner_memory_model model,
                                      popliner_group **group, popliner_error *error);

/* Computes the costs of every stage, for popliner_solve: of memory and cycles the most of any
 * analysis, of the bytes over a cut the sum. An analysis that has nothing of a stage forbids it. Of
 * the solver's options limits, objectives and num_ipus count. The caller frees *costs. Errors:
 * USAGE for what needs one profile: device maps, links, AUTO; cycles as an objective where an
 * analysis has none of computing or another clock; no limit where tiles differ. Those of
 * popliner_analysis_costs, whose cost it is for each. */
popliner_status popliner_group_costs(const popliner_group *group, const popliner_request *request,
                                     popliner_costs **costs, popliner_error *error);

/* Measures a split, which begins stages but the first with first_units, in every analysis. Sets
 * evaluations[num_analyses], which the caller frees before the analyses; all are NULL after an
 * error. Errors: USAGE also for a stage of which an analysis has nothing; as above, and those of
 * popliner_analysis_evaluate. */
popliner_status popliner_group_evaluate(const popliner_group *group,
                                        const popliner_request *request, const size_t *first_units,
                                        size_t num_cuts, popliner_certificate **evaluations,
                                        popliner_error *error);

/* Frees the group, not its analyses. NULL is fine. */
void popliner_group_free(popliner_group *group);

#ifdef __cplusplus
}
#endif

#endif
