/* Which limit one IPU needs. A stage may be any interval between stages before it that reach its
 * beginning and stages after it that continue at its end. Which ones do does not depend on the
 * stage's own limit. So the smallest such interval is what its IPU needs, and no limits have to be
 * tried.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/stage_rule.h"

#include <stdlib.h>
#include <string.h>

/* Which units stages can begin with, in pipelines of num_stages: [num_stages + 1][units + 1]. */
typedef struct passes {
    const pl_problem *problem;
    const pl_limits *limits;
    size_t num_stages; /* exactly, or at most */
    bool is_exact;
    uint8_t *front; /* the stages before can end here */
    uint8_t *rest;  /* the stages from here on reach the end */
    pl_stage_ends ends;
} passes;

static popliner_status find_ends(passes *p, size_t stage, bool is_asked, popliner_error *error) {
    pl_stage_rule rule = pl_stage_rule_of(p->problem, p->limits, stage, p->num_stages - stage);
    if (is_asked)
        rule.max_peak_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    return pl_stage_ends_find(&p->ends, &rule, NULL, error);
}

/* Adds the needs of the first num_places stages, in pipelines of so many stages. */
static popliner_status add_needs(passes *p, size_t num_places, uint64_t *bytes,
                                 popliner_error *error) {
    const size_t n = p->problem->num_units;
    const size_t width = n + 1;
    popliner_status status = POPLINER_OK;
    memset(p->front, 0, (p->num_stages + 1) * width);
    memset(p->rest, 0, (p->num_stages + 1) * width);
    p->front[0] = 1;
    for (size_t k = p->is_exact ? p->num_stages : 1; k <= p->num_stages; ++k)
        p->rest[k * width + n] = 1;
    for (size_t k = p->num_stages; status == POPLINER_OK && k-- > 0;) {
        status = find_ends(p, k, false, error);
        for (size_t i = 0; status == POPLINER_OK && i < n; ++i)
            for (size_t end = p->ends.from[i]; end < p->ends.to[i]; ++end)
                p->rest[k * width + i] |=
                    p->rest[(k + 1) * width + end] & pl_stage_ends_have(&p->ends, i, end);
    }
    for (size_t k = 0; status == POPLINER_OK && k < num_places && k < p->num_stages; ++k) {
        const size_t place = pl_costs_place(p->problem->costs, p->num_stages, k);
        status = find_ends(p, k, true, error);
        for (size_t i = 0; status == POPLINER_OK && i < n; ++i)
            for (size_t end = p->ends.from[i]; p->front[k * width + i] && end < p->ends.to[i];
                 ++end)
                if (p->rest[(k + 1) * width + end] && pl_stage_ends_have(&p->ends, i, end)) {
                    uint64_t own = popliner_costs_peak(p->problem->costs, i, end - 1, place);
                    bytes[k] = own < bytes[k] ? own : bytes[k];
                }
        if (status == POPLINER_OK)
            status = find_ends(p, k, false, error);
        for (size_t i = 0; status == POPLINER_OK && i < n; ++i)
            for (size_t end = p->ends.from[i]; p->front[k * width + i] && end < p->ends.to[i];
                 ++end)
                p->front[(k + 1) * width + end] |= pl_stage_ends_have(&p->ends, i, end);
    }
    return status;
}

popliner_status pl_ipu_needs_find(const pl_problem *problem, const pl_limits *limits,
                                  size_t num_places, const pl_stop *stop, uint64_t *bytes,
                                  popliner_error *error) {
    passes p = {.problem = problem,
                .limits = limits,
                .is_exact = problem->depends_on_end || problem->is_mapped};
    const size_t size = (problem->max_stages + 1) * (problem->num_units + 1);
    bool is_stopped = false;
    for (size_t place = 0; place < num_places; ++place)
        bytes[place] = POPLINER_PEAK_FORBIDDEN;
    if (num_places == 0 || problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    p.front = pl_new_array(size, 1);
    p.rest = pl_new_array(size, 1);
    popliner_status status = p.front == NULL || p.rest == NULL
                                 ? pl_fail_memory(error, "the needs of IPUs")
                                 : POPLINER_OK;
    for (size_t m = p.is_exact ? problem->min_stages : problem->max_stages;
         status == POPLINER_OK && !is_stopped && m <= problem->max_stages; ++m) {
        p.num_stages = m;
        is_stopped = pl_stop_is_wanted(stop);
        if (!is_stopped)
            status = add_needs(&p, num_places, bytes, error);
    }
    for (size_t place = 0; is_stopped && place < num_places; ++place)
        bytes[place] = POPLINER_PEAK_FORBIDDEN;
    pl_stage_ends_free(&p.ends);
    free(p.front);
    free(p.rest);
    return status;
}
