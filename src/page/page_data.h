/* The data of a page, as JSON: what stages need, and what is known of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PAGE_PAGE_DATA_H
#define PL_PAGE_PAGE_DATA_H

#include "base/failure.h"
#include "base/json_writer.h"
#include "base/packed.h"
#include "memory/passes.h"
#include "memory/stage_details.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/page.h"
#include "popliner/profile.h"
#include "popliner/solver.h"

enum { PL_PAGE_MAX_UNITS = 400 }; /* of a chain whose stages a page can hold */

/* The largest number that a column can hold: base/packed.h. */
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

/* A column of an object. */
typedef struct pl_page_column {
    const char *name;
    pl_packed *packed;
} pl_page_column;

/* Adds the columns of an object, and closes it. */
void pl_page_put_columns(pl_json *json, const pl_page_column *columns, size_t count);

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

/* Adds an object: what the details hold, packed, and how many copies stages keep in each of the
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

/* Adds a page around its data, which is JSON. Until its script has drawn it, or without one, it
 * shows the answer of the certificate (NULL: none) as terminals do. O(size of the data). */
void pl_page_add(pl_text *page, const popliner_certificate *certificate, const pl_text *data);

/* ---- Where the variables of a profile are and when they live, for a page ---- */

/* Adds three objects:
 *
 *   "places"   "named"    bytes on every tile of each unlowered variable, by category of its pieces
 *              "layers"   the same of what the operations of each unit touch, by category
 *              "lives"    of the pieces that are not always live: the bytes of each unlowered
 *                         variable (plus 1; 0: of none), category and class
 *   "boxes"    the variables of some tiles by address, those of the fullest tile, of the tiles of
 *              stages, of the median tile, and of the next fullest ones, as far as there is room:
 *              "tile" says which these are, and "start", from 0 on, where the variables of each
 *              begin and the last ones end; then come for each variable "offset", "size_bytes",
 *              "variable", "category" and "class"; "live_bytes" is what "live_tile" has at each
 *              step and not always
 *   "classes"  when those classes live, which count from 1 (0: always live): "ranges" is to "first"
 *              and "end", the first step of each range and the one after its last, what "start" is
 *              to the variables
 *
 * Of "named" and "lives" the largest are there, as many as there is room for; "is_whole" says
 * whether these are all. The bytes on tiles are row after row, in blocks of "block" tiles: the
 * width of a number in bits, the least number (LEB128), and, unless the width is 0, by how much
 * each number is above it, in so many bits, from the lowest bit of the first byte on. All numbers
 * stand for so many times 2^"shift" bytes, which each has.
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
