/* A second method for one answer: GLPK chooses the split once more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/search.h"

#include "base/failure.h"
#include "solve/glpk_session.h"
#include "solve/integer_program.h"

#include <inttypes.h>

/* Beyond this many places times intervals nothing is collected. */
#define MOST_INTERVALS ((uint64_t)1 << 20)

/* Iterations times entries, of all programs of an answer: about half a second of a core. */
#define MOST_WORK ((uint64_t)6000000)

/* True if the dynamic program proved the plan, and a second proof is wanted and can be had. */
static bool is_wanted(const pl_solving *solving, const popliner_plan *plan) {
    const pl_problem *p = &solving->problem;
    return p->options->method == POPLINER_METHOD_AUTO && !p->options->without_second_proof &&
           plan->proof == POPLINER_PROOF_DYNAMIC_PROGRAM && !plan->is_stopped && pl_glpk_exists() &&
           pl_integer_program_num_places(p) > 0 && /* else there are fewer units than stages */
           (uint64_t)p->num_units * p->num_units / 2 <=
               MOST_INTERVALS / pl_integer_program_num_places(p);
}

static popliner_status fail_different(const char *what, uint64_t by_glpk, uint64_t by_dp,
                                      popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the integer programs disagree with the dynamic program: %s is %" PRIu64
                   " and not %" PRIu64 "; the dynamic program alone answers without them",
                   what, by_glpk, by_dp);
}

/* Compares what both found. */
static popliner_status compare(const pl_split *by_glpk, const popliner_plan *values_by_glpk,
                               const pl_split *by_dp, const popliner_plan *plan,
                               popliner_error *error) {
    for (size_t i = 0; i < plan->num_values; ++i) {
        const popliner_plan_value *a = &values_by_glpk->values[i];
        const popliner_plan_value *b = &plan->values[i];
        if (a->value != b->value)
            return fail_different(pl_objective_name(b->objective), a->value, b->value, error);
        if (a->bound != b->bound)
            return fail_different("the bound", a->bound, b->bound, error);
    }
    if (by_glpk->num_stages != by_dp->num_stages)
        return fail_different("the number of stages", by_glpk->num_stages, by_dp->num_stages,
                              error);
    for (size_t i = 0; i < by_dp->num_stages; ++i)
        if (by_glpk->first_units[i] != by_dp->first_units[i])
            return fail_different("the begin of a stage", by_glpk->first_units[i],
                                  by_dp->first_units[i], error);
    return POPLINER_OK;
}

/* Solves by programs alone, with the split of the dynamic program as the one to beat. */
static popliner_status choose(const pl_solving *solving, pl_search *search, popliner_plan *own,
                              popliner_error *error) {
    const pl_split *known = &solving->search.split;
    popliner_status status = pl_split_copy(&search->split, known, error);
    if (status == POPLINER_OK && known->num_stages > 0)
        return pl_search_optimise(search, solving->objectives, solving->num_objectives, own, error);
    if (status == POPLINER_OK)
        status = pl_search_begin(search, solving->objectives[0], error);
    if (status == POPLINER_OK && search->split.num_stages > 0)
        status = fail_different("the number of stages", search->split.num_stages, 0, error);
    return status;
}

popliner_status pl_prove_again(const pl_solving *solving, popliner_plan *plan,
                               popliner_error *error) {
    const popliner_listener *listener = solving->problem.options->listener;
    uint64_t work = MOST_WORK;
    pl_stop stop = solving->stop;
    pl_search search = {.problem = &solving->problem,
                        .stop = &stop,
                        .filter = pl_filter_of_limits(&solving->problem),
                        .uses_programs = true};
    popliner_plan own = {0};
    if (!is_wanted(solving, plan))
        return POPLINER_OK;
    stop.glpk_work = &work;
    search.filter.spread_is_of_cycles = solving->search.filter.spread_is_of_cycles;
    popliner_status status = choose(solving, &search, &own, error);
    bool is_known = !search.is_stopped && !search.is_unproven;
    if (status == POPLINER_OK && is_known)
        status = compare(&search.split, &own, &solving->search.split, plan, error);
    if (status == POPLINER_OK && is_known) {
        plan->proof = POPLINER_PROOF_BOTH_PROGRAMS;
        for (size_t i = 0; i < plan->num_values; ++i)
            plan->values[i].proof = POPLINER_PROOF_BOTH_PROGRAMS;
    } else if (status == POPLINER_OK) {
        pl_tell(listener, POPLINER_LEVEL_DEBUG,
                "The dynamic program proves alone: the integer programs take longer");
    }
    pl_search_free(&search);
    return status;
}
