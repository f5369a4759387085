/* Speeds of IPUs, and the time of cuts on the links between them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_IPUS_H
#define PL_SOLVE_IPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/solver.h"

/* Returns the limit of an IPU, `otherwise` unless it has its own; and the largest of all limits.
 * O(limits). */
uint64_t pl_limit_of(const popliner_solver_options *options, size_t ipu, uint64_t otherwise);
uint64_t pl_limits_largest(const popliner_solver_options *options);

/* Returns the speed of an IPU in millionths. O(speeds). */
uint64_t pl_speed_of(const popliner_solver_options *options, size_t ipu);

/* Returns how many cycles of an IPU of speed 1 an IPU of this speed takes for `cycles` (at most
 * POPLINER_MAX_CYCLES): the quotient, rounded up. */
uint64_t pl_speed_cycles(uint64_t millionths, uint64_t cycles);

/* Returns the largest number of cycles for which pl_speed_cycles is at most `limit`. UINT64_MAX (no
 * limit, or an overflow) stays UINT64_MAX. */
uint64_t pl_speed_most(uint64_t millionths, uint64_t limit);

/* Returns the smallest number of cycles for which pl_speed_cycles is at least `limit`; at most
 * UINT64_MAX. */
uint64_t pl_speed_fewest(uint64_t millionths, uint64_t limit);

/* ---- links ---- */

/* Zero-initialise; free with pl_links_free. */
typedef struct pl_links {
    size_t width; /* units + 1 */
    /* [places][width] by the unit after the cut, 0 at both ends of the chain: of the links before
     * the special places, and, before the first one, of links without their own bandwidth. NULL
     * without links. */
    uint64_t *cycles;
    size_t num_special; /* from this place on, both links are usual */
} pl_links;

/* True if the options give any bandwidth. */
bool pl_links_exist(const popliner_solver_options *options);

/* Returns the cycles of a table that a link takes for `bytes`, rounded up; at most
 * POPLINER_MAX_CYCLES. Only this and the next know that bandwidths are in units of time. */
uint64_t pl_link_cycles(const popliner_costs *costs, popliner_ipu_link bandwidth, uint64_t bytes);

/* Returns the time of a ring all-reduce of `bytes` over so many replicas, rounded up: see
 * popliner/replicas.h. 0 without a bandwidth. */
uint64_t pl_reduce_cycles(const popliner_costs *costs, popliner_ipu_link bandwidth,
                          size_t num_replicas, uint64_t bytes);

/* Finds the links of the first num_places places of a pipeline, by the device map of the options.
 * Errors: MEMORY. O(places * links + units * special places). */
popliner_status pl_links_find(pl_links *links, const popliner_costs *costs,
                              const popliner_solver_options *options, size_t num_places,
                              popliner_error *error);
void pl_links_free(pl_links *links);

/* Returns the transfer time of each cut over the link into `place`: [units + 1] by the unit after
 * the cut. NULL without links. O(1). */
const uint64_t *pl_links_before(const pl_links *links, size_t place);

#endif
