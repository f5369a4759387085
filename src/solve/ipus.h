/* The speeds of IPUs, and what cuts take on the links between them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_IPUS_H
#define PL_SOLVE_IPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/solver.h"

/* The speed of an IPU in millionths. O(speeds). */
uint64_t pl_speed_of(const popliner_solver_options *options, size_t ipu);

/* How many cycles of an IPU of speed 1 an IPU takes for so many (at most POPLINER_MAX_CYCLES): the
 * quotient, rounded up. */
uint64_t pl_speed_cycles(uint64_t millionths, uint64_t cycles);

/* The most cycles that an IPU does in at most `limit`: pl_speed_cycles of them is within the limit,
 * of one more it is not. UINT64_MAX, which is no limit, stays; so does what would be more. */
uint64_t pl_speed_most(uint64_t millionths, uint64_t limit);

/* The fewest cycles that take an IPU at least `limit`, or UINT64_MAX if that is less. */
uint64_t pl_speed_fewest(uint64_t millionths, uint64_t limit);

/* ---- links ---- */

/* Zero-initialise; free with pl_links_free. */
typedef struct pl_links {
    size_t width; /* units + 1 */
    size_t num_places;
    /* [different bandwidths][width] by the unit behind the cut, 0 at both ends of the chain; the
     * first is that of the links that have none of their own. NULL without any links. */
    uint64_t *cycles;
    size_t *row;        /* [num_places + 1] which of them is before the place */
    size_t num_special; /* the places from there on have usual links on both sides */
} pl_links;

/* Whether the options say that cuts take any time. */
bool pl_links_exist(const popliner_solver_options *options);

/* How long a link takes for so many bytes, rounded up: POPLINER_MAX_CYCLES at most. */
uint64_t pl_link_cycles(popliner_bandwidth bandwidth, uint64_t bytes);

/* Finds them for the first so many places of a pipeline, by the device map of the options. Errors:
 * MEMORY. O(places * links + units * different bandwidths). */
popliner_status pl_links_find(pl_links *links, const popliner_costs *costs,
                              const popliner_solver_options *options, size_t num_places,
                              popliner_error *error);
void pl_links_free(pl_links *links);

/* What cuts take, [units + 1] by the unit behind the cut, on the link that leads to a place from
 * the one before it. NULL without any links. O(1). */
const uint64_t *pl_links_before(const pl_links *links, size_t place);

#endif
