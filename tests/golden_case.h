/* The golden cases: a profile with debug information, and what PopLiner 1.0.0 makes of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_GOLDEN_CASE_H
#define PL_TESTS_GOLDEN_CASE_H

#include "test.h"

#include <stdbool.h>

#include <jansson.h>

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

/* A profile with its operations. */
typedef struct golden_case {
    const char *name;
    popliner_profile *profile;
    pl_debug_info *info;
    pl_operations *operations;
} golden_case;

/* Reads one golden case; fails the test if it cannot. */
void golden_load(golden_case *c, const char *name);
void golden_free(golden_case *c);

/* Reads the files of a directory, which must be there, as a case of its name. */
void golden_load_directory(golden_case *c, const char *directory);

/* Calls `check` for every golden case; skips the test if there is none. */
void golden_for_each(void (*check)(const golden_case *c));

/* Whether functions are called in this case: else every program runs for one operation. */
bool golden_has_calls(const golden_case *c);

/* Reads the profile that a real compiler made, as a case; skips the test if it is not there. */
void real_load(golden_case *c);

/* A model of one tile and five operations, made so that every rule of the memory of stages matters,
 * which is more than the golden cases do. Not to be freed. See the tests of stages for what it
 * needs. */
golden_case made_case(void);

/* The same with all other arrays of a profile and its operations, filled with zeros. */
golden_case made_whole_case(void);

/* A JSON file of a case; the caller calls json_decref. Fails the test if it cannot be read. */
json_t *golden_json(const golden_case *c, const char *file);

/* A text file of a case; the caller frees it. Fails the test if it cannot be read. */
char *golden_text(const golden_case *c, const char *file);

/* The regexes that the golden files were made with. */
extern const char golden_regex[];      /* "regex": where the two orders of layers differ */
extern const char golden_two_groups[]; /* "two-groups" */
extern const char golden_every_op[];   /* "every-op" */
extern const char golden_no_layers[];  /* "no-layers" */

/* Finds the layers of a case; NULL is the default regex. */
pl_layers *assign_layers(const golden_case *c, const char *regex, popliner_layer_order order);

/* The unit whose layer has this name (NULL: none); fails the test if there is none. */
size_t unit_of_name(const pl_layers *layers, const char *name);

/* Assigns every operation of the case to one of `num_layers` layers, or to none, at random: the
 * rules would never spread layers so. */
pl_layers *assign_at_random(const golden_case *c, size_t num_layers, uint64_t *random);

/* Alters the profile of a case at random so that programs and the compiler's account of their code
 * disagree: the always-live variables of code are larger or smaller than before, some programs
 * share a compute set, and some touch any variable, code as well. */
void spoil_code(golden_case *c, uint64_t *random);

/* The chain of a memory model over layers of the case; fails the test if it cannot be made. */
pl_chain *make_chain(const golden_case *c, const pl_layers *layers, popliner_memory_model model);

/* A chain whose units have these kinds, all in no layer. */
pl_chain *make_chain_of_units(const golden_case *c, const pl_layers *layers,
                              popliner_memory_model model, const popliner_unit_kind *kinds,
                              size_t num_units, const uint32_t *unit_of_operation);

/* The chain of the full model whose units are the operations, each a layer: so that any operations
 * are a stage. Without operations the usual chain. */
pl_chain *make_chain_of_operations(const golden_case *c, const pl_layers *layers);

/* Measures all stages of a chain in a pipeline (NULL: none), with a meter of its own that uses
 * num_threads (0: one per processor): the costs for a need, and the details with their largest
 * variables. Either may be NULL if it is not wanted; without details only this need is measured. */
popliner_status measure_all_stages(const pl_chain *chain, size_t num_threads,
                                   const popliner_pipeline *pipeline, popliner_need need,
                                   popliner_costs **costs, pl_stage_details **details,
                                   popliner_error *error);

/* Measures the stage of some units of a chain, ascending, without a pipeline. */
void measure_operations(pl_stage_meter *meter, const size_t *units, size_t count,
                        popliner_stage_memory *memory);

/* Measures one copy of what a stage stores: stash[tiles]. */
void measure_stash(pl_stage_meter *meter, popliner_recompute recompute, size_t first_unit,
                   size_t last_unit, uint64_t *stash);

/* Whether two arrays of numbers agree; if not, prints `what` and the first difference. */
bool same_numbers(const char *what, const uint64_t *actual, const uint64_t *expected, size_t count);

/* Return the sum of an array over the tiles, and its largest item. */
uint64_t test_tiles_sum(const uint64_t *bytes, size_t num_tiles);
uint64_t test_tiles_max(const uint64_t *bytes, size_t num_tiles);

#endif
