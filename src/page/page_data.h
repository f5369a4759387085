/* The data of a page, as JSON: what stages need, and what is known of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PAGE_PAGE_DATA_H
#define PL_PAGE_PAGE_DATA_H

#include "base/failure.h"
#include "base/json_writer.h"
#include "memory/passes.h"
#include "memory/stage_details.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/page.h"
#include "popliner/profile.h"
#include "popliner/solver.h"

enum { PL_PAGE_MAX_UNITS = 400 }; /* of a chain whose stages a page can hold */

/* The largest number in a page: JavaScript also has twice as much exactly. */
#define PL_PAGE_MOST_NUMBER ((uint64_t)1 << 52)

/* ---- What pages of profiles and of costs share ---- */

/* Takes the caller's options. Errors: USAGE. */
popliner_status pl_page_take_options(const popliner_page_options *callers,
                                     popliner_page_options *options, popliner_error *error);

/* A request for a split. */
typedef struct pl_page_wishes {
    const popliner_solver_options *options; /* complete */
    bool has_usual_links;                   /* no bandwidth was given, except for single links */
    popliner_need need;                     /* as in the request */
} pl_page_wishes;

/* Adds an object: these, and what of them a page does not know. */
void pl_page_put_wishes(pl_json *json, const char *key, const pl_page_wishes *wishes,
                        size_t num_units);

/* Opens the object of a page, with the version, the title and the words that the options have, the
 * solver, what is asked of splits, the plan and its answer, and the messages: those of the answer,
 * or else these. */
void pl_page_put_head(pl_json *json, const popliner_page_options *options,
                      const pl_page_wishes *wishes, size_t num_units, const pl_messages *messages);

/* Adds a list; NULL: null. */
void pl_page_put_numbers(pl_json *json, const char *key, const uint64_t *numbers, size_t count);

/* Likewise, but of each number only by how much it is above the one before it: so cycles of stages,
 * which mostly are sums over units, take a twentieth. */
void pl_page_put_differences(pl_json *json, const char *key, const uint64_t *numbers, size_t count);

/* ---- Stages ---- */

/* One way to run the stages that some details tell of. */
typedef struct pl_page_pipeline {
    popliner_pipeline pipeline;
    const char *words; /* the options of the command for it; NULL: schedule and recomputation */
    /* [num_intervals] of stages that compute something once more; NULL: those of the details */
    uint64_t *cycles;
    /* Instead of a profile. Each place in the pipeline then stands for a number of copies: 0 for
     * the last one, and so on. */
    const popliner_costs *costs;
} pl_page_pipeline;

/* Adds an object: what a pipeline is called, and the copies of its stages. */
void pl_page_put_pipeline(pl_json *json, const pl_page_pipeline *pipeline, size_t num_units);

/* Adds an object: what the details hold, and how many copies stages keep in each of the
 * pipelines, at least one, all of which the details serve. O(stages). */
void pl_page_put_stages(pl_json *json, const pl_stage_details *details, const pl_chain *chain,
                        const pl_page_pipeline *pipelines, size_t num_pipelines);

/* Adds lists: the names of units ("labels"), and without what they share ("short_labels").
 * `counted` (NULL: all) says which are layers. */
void pl_page_put_names(pl_json *json, const char *const *names, const uint8_t *counted,
                       size_t num_units);

/* Adds an object: the units of a chain, of which these are `counted` (NULL: all), and, unless NULL,
 * the cuts between them, and the cycles of all stages. */
void pl_page_put_chain(pl_json *json, const char *key, const pl_chain *chain,
                       const uint8_t *counted, const uint64_t *cuts_bytes, const uint64_t *cycles);

/* Adds a page around its data, which is JSON and compressed by zlib. Until its script has drawn it,
 * or without one, it shows the answer of the certificate (NULL: none) as terminals do. O(size of
 * the data). */
void pl_page_add(pl_text *page, const popliner_certificate *certificate, const pl_text *data);

/* ---- Where the variables of a profile are and when they live, for a page ---- */

/* Adds, where V numbers an unlowered variable, and W is V + 1, or 0 for none:
 *
 *   "places"   "named"    [V, category, [bytes on every tile]]
 *              "layers"   [unit, category, [bytes on every tile that its operations touch]]
 *              "lives"    [W, category, class, bytes] of the pieces that are not always live
 *   "boxes"    the fullest tile, the tiles of stages, the median tile, and the next fullest ones,
 *              as far as there is room, each with its "variables" by address, [offset, bytes, W,
 *              category, class], null if they are too many, and "live_bytes": what it has at each
 *              step and not always
 *   "classes"  when those classes live: [[first step, step after the last], ...]; null: always
 *
 * The places are "rows", lists as texts of JSON, of "named" and "lives" the largest, as many as
 * there is room for; "is_whole" says whether these are all.
 *
 * Errors: MEMORY; USAGE where the variables are not loaded. O(variables + rows * tiles +
 * tiles * log(tiles)). */
popliner_status pl_page_put_places(pl_json *json, const popliner_profile *profile,
                                   const pl_pass_usage *usage, const uint64_t *stage_tiles,
                                   size_t num_stages, popliner_error *error);

/* ---- The page without its data: src/page/assemble.cmake makes it of the files here ---- */

/* Line by line, with the line ends: what is before the answer, before the data, before the scripts,
 * and after them, with NULL after each. */
extern const char *const pl_page_lines[];

/* The scripts, by gzip. */
extern const unsigned char pl_page_scripts[];
extern const size_t pl_page_scripts_size;

/* The WebAssembly module of the solver, by gzip; the size is 0 if it was built without. */
extern const unsigned char pl_page_solver[];
extern const size_t pl_page_solver_size;

#endif
