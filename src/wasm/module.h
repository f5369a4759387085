/* The solver as a WebAssembly module: a table of costs, a request that is set by names, and answers
 * as JSON in the words of the library. solver.js calls these functions, which the module exports.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_WASM_MODULE_H
#define PL_WASM_MODULE_H

#include "popliner/costs.h"
#include "popliner/error.h"

#ifdef __wasm__
#define PL_EXPORTED(name) __attribute__((export_name(#name)))
#else
#define PL_EXPORTED(name)
#endif

/* A table and a request. Functions that return a status leave a sentence for
 * popliner_module_error. */
typedef struct popliner_module popliner_module;

/* Makes a table, with an empty request; NULL if memory is short, or for 0 units or stages: see
 * popliner_costs_create. */
PL_EXPORTED(popliner_module_new)
popliner_module *popliner_module_new(size_t num_units, size_t max_stages);

PL_EXPORTED(popliner_module_free)
void popliner_module_free(popliner_module *module);

/* Names a unit. Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_name_unit)
popliner_status popliner_module_name_unit(popliner_module *module, size_t unit, const char *name);

/* Sets the number of every stage (unit 0 to unit 0, 1, ..., then those that begin with unit 1), or
 * the bytes over every cut, by the unit after it. Errors: USAGE. */
PL_EXPORTED(popliner_module_fill)
popliner_status popliner_module_fill(popliner_module *module, popliner_costs_of kind,
                                     size_t stages_to_end, const uint64_t *values);

/* Says that peaks are by the number of all stages, not of those to the end. Errors: MEMORY. */
PL_EXPORTED(popliner_module_follow_split)
popliner_status popliner_module_follow_split(popliner_module *module);

/* Forgets the request, but not the table. */
PL_EXPORTED(popliner_module_reset)
void popliner_module_reset(popliner_module *module);

/* Sets a number, or a list of numbers, of the options of the solver: their names are those of the
 * members; or "num_micro_batches" of a step, whose time an answer then has. Errors: USAGE,
 * MEMORY. */
PL_EXPORTED(popliner_module_set)
popliner_status popliner_module_set(popliner_module *module, const char *name,
                                    const uint64_t *values, size_t count);

/* Sets an option that may be no whole number. Errors: USAGE. */
PL_EXPORTED(popliner_module_set_real)
popliner_status popliner_module_set_real(popliner_module *module, const char *name, double value);

/* Adds an objective ("objective") or sets a text: "schedule", "recompute" and "copies_rule",
 * which decide how long a step takes; "time_unit" of the cycles; the name of an option in messages
 * ("num_ipus", "mem_per_tile", "constraint_num_ipus", "constraint_device_map"). Errors: USAGE,
 * MEMORY. */
PL_EXPORTED(popliner_module_set_text)
popliner_status popliner_module_set_text(popliner_module *module, const char *name,
                                         const char *text);

/* Answers the request as JSON, which lives until the next answer: "plan", the certificate of the
 * best plan; "front", the best compromises of the first two objectives; "sweep", the best plan for
 * each number of IPUs up to that of the request, without reasons where nothing fits. NULL on
 * failure. */
PL_EXPORTED(popliner_module_answer)
const char *popliner_module_answer(popliner_module *module, const char *what);

/* Returns the first unit of a stage of a plan of the last answer, which is not "sweep"; -1 if there
 * is none. A certificate has one plan. */
PL_EXPORTED(popliner_module_first_unit)
int32_t popliner_module_first_unit(const popliner_module *module, size_t plan, size_t stage);

/* Returns the sentence on the last failure. */
PL_EXPORTED(popliner_module_error)
const char *popliner_module_error(const popliner_module *module);

#endif
