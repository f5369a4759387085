/* popliner: an answer to "where do I cut", with its proof.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PLAN_H
#define POPLINER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_plan_status {
    POPLINER_PLAN_OPTIMAL,  /* no split is better: both bounds equal their values */
    POPLINER_PLAN_FEASIBLE, /* within the limits; the bounds say how far from the best it may be */
    POPLINER_PLAN_INFEASIBLE, /* no split is within the limits; the stages are the best effort */
} popliner_plan_status;

/* One stage: the units first_unit ... last_unit, both included. */
typedef struct popliner_plan_stage {
    size_t first_unit;
    size_t last_unit;
    uint64_t peak_bytes; /* of its worst tile, from the cost table */
} popliner_plan_stage;

/* An answer. The stages follow each other without a gap; unless the plan is INFEASIBLE they cover
 * the whole chain (the best effort of the greedy solver may leave a rest). Zero-initialise before
 * the first use; free with popliner_plan_clear. */
typedef struct popliner_plan {
    popliner_plan_status status;
    popliner_plan_stage *stages; /* owned */
    size_t num_stages;

    uint64_t peak_bytes; /* the largest peak_bytes of a stage: the first objective */
    uint64_t cut_bytes;  /* sum over the cuts, or UINT64_MAX - 1 if larger: the second objective */

    /* No split within the limits has a smaller peak than peak_bound; none with the peak of this
     * plan has fewer cut bytes than cut_bound. Meaningless unless bounds_known: an INFEASIBLE plan
     * and the greedy solver know none. */
    bool bounds_known;
    uint64_t peak_bound;
    uint64_t cut_bound;
} popliner_plan;

/* Frees what the plan owns and makes it empty. NULL is fine. */
void popliner_plan_clear(popliner_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
