/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/tokens.h"

#include "base/failure.h"
#include "costs/grown.h"
#include "solve/ipus.h"
#include "solve/objective.h"
#include "solve/options.h"
#include "solve/plan.h"

#include <inttypes.h>

bool pl_tokens_lead(const popliner_solver_options *options) {
    return options->num_objectives > 0 && options->objectives != NULL &&
           options->objectives[0] == POPLINER_OBJECTIVE_TOKENS &&
           options->method != POPLINER_METHOD_GREEDY;
}

bool pl_tokens_are_asked_of(const popliner_solver_options *options, const popliner_costs *costs) {
    uint64_t ignored;
    return pl_costs_grow(costs, &ignored) && costs->graph == NULL &&
           (costs->choices == NULL || costs->choices->variants != NULL) &&
           options->slack_percent == 0.0;
}

bool pl_tokens_lack_limit(const popliner_solver_options *o) {
    const uint64_t none = POPLINER_PEAK_FORBIDDEN - 1;
    const bool is_mapped = o->num_mapped_stages > 0 && o->device_map != NULL;
    const size_t count = is_mapped ? o->num_mapped_stages : o->num_ipus;
    const bool has_usual = o->mem_per_tile < none;
    /* num_ipus may be any number */
    bool is_lacking = !has_usual && !is_mapped && o->num_ipu_limits < count;
    for (size_t i = 0; !is_lacking && i < o->num_ipu_limits; ++i)
        is_lacking = o->ipu_limits[i].value >= none;
    for (size_t i = 0; !has_usual && !is_lacking && i < count; ++i)
        is_lacking = pl_limit_of(o, is_mapped ? o->device_map[i] : i, none) >= none;
    return is_lacking;
}

/* Checks options that tokens lead. Errors: USAGE. */
static popliner_status check(const popliner_costs *costs, const popliner_solver_options *options,
                             popliner_error *error) {
    const char *name = PL_OPTION(options, objectives);
    popliner_status status =
        pl_options_check(options, popliner_costs_num_units(costs), NULL, error);
    uint64_t ignored;
    const popliner_objective *other = NULL;
    for (size_t i = 1; status == POPLINER_OK && i < options->num_objectives; ++i)
        if (pl_objective_of(options->objectives[i])->is_grown)
            other = &options->objectives[i];
    if (status != POPLINER_OK)
        return status;
    if (!pl_costs_grow(costs, &ignored))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: tokens is for units whose caches grow; give these kv", name);
    if (costs->graph != NULL || (costs->choices != NULL && costs->choices->variants == NULL))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: tokens is not for graphs or ways to recompute", name);
    if (other != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: %s after tokens, which caches change; leave it out", name,
                       pl_objective_name(*other));
    if (options->slack_percent > 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %g; expected 0 for the objective tokens",
                       PL_OPTION(options, slack_percent), options->slack_percent);
    if (pl_tokens_lack_limit(options))
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: tokens needs a limit of each IPU; pass %s",
                       name, PL_OPTION(options, mem_per_tile));
    return POPLINER_OK;
}

typedef struct search {
    popliner_solver_options options;
    pl_solve_function *solve;
    pl_stop stop;
    uint64_t tokens; /* that fit */
    uint64_t bound;
    popliner_proof proof; /* that more do not fit */
} search;

/* Returns a number of tokens above which none fit, by a unit alone. */
static uint64_t most_tokens(const popliner_costs *costs, const popliner_solver_options *options) {
    uint64_t bound;
    uint64_t most = 0;
    pl_costs_grow(costs, &bound);
    for (size_t unit = 0; bound == UINT64_MAX && unit < costs->num_units; ++unit)
        if (costs->kv_bytes[unit] > most &&
            (costs->kv_tokens == NULL || costs->kv_tokens[unit] == UINT64_MAX))
            most = costs->kv_bytes[unit];
    return most > 0 ? pl_limits_largest(options) / most : bound;
}

/* Tells whether some split fits with so many tokens. Sets *is_stopped if it could not end. */
static popliner_status fits(search *s, const popliner_costs *costs, uint64_t tokens, bool *does_fit,
                            bool *is_stopped, popliner_error *error) {
    static const popliner_objective any[] = {POPLINER_OBJECTIVE_MEMORY};
    popliner_plan plan = {0};
    pl_grown_costs grown = {0};
    popliner_solver_options own = s->options;
    pl_stop_limit(&s->stop, &own);
    own.objectives = any;
    own.num_objectives = 1;
    own.without_reasons = true;
    own.listener = NULL;
    popliner_status status = pl_grown_costs_create(&grown, costs, tokens, error);
    if (status == POPLINER_OK)
        status = s->solve(&grown.costs, &own, &plan, error);
    *does_fit = status == POPLINER_OK && plan.status != POPLINER_PLAN_INFEASIBLE;
    *is_stopped = !*does_fit && plan.is_stopped;
    s->proof = !*does_fit ? plan.proof : s->proof;
    pl_plan_clear(&plan);
    pl_grown_costs_free(&grown);
    return status;
}

/* Finds the most tokens that fit, and lowers the bound, to the same unless a search was stopped.
 * The costs fit, and their units grow. */
static popliner_status find_most(search *s, const popliner_costs *costs, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    bool is_stopped = false;
    uint64_t step = 1; /* it doubles until a number does not fit */
    while (status == POPLINER_OK && s->tokens < s->bound && !is_stopped) {
        const uint64_t left = s->bound - s->tokens;
        const uint64_t tried = s->tokens + (step < left / 2 ? step : left - left / 2);
        bool does_fit = false;
        status = fits(s, costs, tried, &does_fit, &is_stopped, error);
        if (does_fit)
            s->tokens = tried;
        else if (!is_stopped)
            s->bound = tried - 1;
        step = does_fit && step <= UINT64_MAX / 4 ? 4 * step : step;
    }
    return status;
}

/* Takes the caches of more tokens off the plan. */
static void shrink(popliner_plan *plan, const pl_grown_costs *grown) {
    uint64_t least = UINT64_MAX;
    plan->peak_bytes = 0;
    for (size_t i = 0; i < plan->num_stages; ++i) {
        popliner_plan_stage *own = &plan->stages[i];
        for (size_t k = 0; k < plan->num_stages; ++k)
            if (plan->stages[k].ipu == own->ipu)
                own->peak_bytes -= pl_grown_costs_bytes(grown, plan->stages[k].first_unit,
                                                        plan->stages[k].last_unit);
        plan->peak_bytes = own->peak_bytes > plan->peak_bytes ? own->peak_bytes : plan->peak_bytes;
        least = own->peak_bytes < least ? own->peak_bytes : least;
    }
    plan->spread = plan->num_stages > 0 ? plan->peak_bytes - least : 0;
}

/* Makes tokens the first value of the plan. */
static void add_tokens(popliner_plan *plan, const search *s, size_t num_others) {
    const bool fits = plan->status != POPLINER_PLAN_INFEASIBLE;
    const bool is_proven = fits && s->tokens == s->bound;
    plan->num_values = 1 + num_others;
    for (size_t i = num_others; i > 0; --i)
        plan->values[i] = plan->values[i - 1];
    plan->values[0] = (popliner_plan_value){POPLINER_OBJECTIVE_TOKENS, s->tokens, s->bound,
                                            is_proven ? s->proof : POPLINER_PROOF_NONE};
    if (fits && !is_proven) {
        plan->status = POPLINER_PLAN_FEASIBLE;
        plan->is_stopped = true;
    }
    if (fits && num_others == 0)
        plan->proof = plan->values[0].proof;
}

popliner_status pl_tokens_solve(const popliner_costs *costs, const popliner_solver_options *options,
                                pl_solve_function *solve, popliner_plan *plan,
                                popliner_error *error) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    search s = {.options = *options, .solve = solve, .stop = pl_stop_of(options)};
    const size_t num_others = options->num_objectives - 1;
    pl_grown_costs grown = {0};
    popliner_status status = check(costs, options, error);
    if (status != POPLINER_OK)
        return status;
    s.options.objectives = num_others > 0 ? options->objectives + 1 : usual;
    s.options.num_objectives = num_others > 0 ? num_others : sizeof usual / sizeof *usual;
    s.options.without_second_proof = true; /* it would be of one number of tokens */
    bool does_fit = false;
    bool is_stopped = false;
    status = fits(&s, costs, 0, &does_fit, &is_stopped, error);
    if (does_fit || is_stopped)
        s.bound = most_tokens(costs, &s.options);
    if (status == POPLINER_OK && does_fit)
        status = find_most(&s, costs, error);
    if (status == POPLINER_OK)
        status = pl_grown_costs_create(&grown, costs, s.tokens, error);
    pl_stop_limit(&s.stop, &s.options);
    if (status == POPLINER_OK)
        status = solve(&grown.costs, &s.options, plan, error);
    if (status == POPLINER_OK) {
        shrink(plan, &grown);
        add_tokens(plan, &s, num_others);
    }
    pl_grown_costs_free(&grown);
    return status;
}
