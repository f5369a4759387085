/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "costs/triangle.h"
#include "costs/variants.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/search.h"
#include "solve/stop.h"

struct popliner_variants_answer {
    popliner_plan *plan;
    char **texts; /* [num_texts] */
    size_t num_texts;
};

typedef struct search {
    const pl_costs_file *file;   /* with the variants; NULL if there are ways */
    pl_variants variants;        /* the file's, for pipelines of any length */
    pl_ways ways;                /* if there is no file */
    const popliner_costs *costs; /* of the file, or of the first way */
    popliner_solver_options options;
    bool with_reasons; /* also find why nothing fits */
    const popliner_objective *objectives;
    size_t num_objectives;
    size_t cycles_at; /* index of the cycles among them; num_objectives if absent */
    pl_stop stop;
    bool is_stopped;
} search;

/* ---- one table ---- */

static bool is_stop_wanted(void *user) {
    return pl_stop_is_wanted(user);
}

/* Returns the length of the longest requested pipeline. */
static size_t longest_of(const search *s) {
    const popliner_solver_options *o = &s->options;
    size_t max_stages = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
    return max_stages > 0 ? max_stages : SIZE_MAX;
}

/* Makes a table of the smallest peaks within the limits. Finding reasons needs longer pipelines;
 * otherwise the table ends with the longest requested one. */
static popliner_status make_table(const search *s, const pl_variant_limits *limits,
                                  bool with_reasons, popliner_costs **costs,
                                  popliner_error *error) {
    size_t max_stages = with_reasons ? SIZE_MAX : longest_of(s);
    if (s->file == NULL)
        return pl_ways_costs(&s->ways, max_stages, limits, costs, error);
    pl_variants variants = s->variants;
    if (max_stages < variants.max_stages)
        variants.max_stages = max_stages;
    return pl_variants_costs(&variants, s->costs, limits, costs, error);
}

/* ---- the choices of stages ---- */

/* Returns the limit of a stage, at most the value of the objective memory. If nothing fits, that is
 * its own smallest peak. */
static uint64_t limit_of_stage(const search *s, const popliner_plan *plan, size_t stage) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE)
        return plan->stages[stage].peak_bytes;
    uint64_t limit = pl_limit_of(&s->options, plan->stages[stage].ipu, s->options.mem_per_tile);
    for (size_t i = 0; i < plan->num_values; ++i)
        if (plan->values[i].objective == POPLINER_OBJECTIVE_MEMORY && plan->values[i].value < limit)
            limit = plan->values[i].value;
    return limit < POPLINER_PEAK_FORBIDDEN ? limit : POPLINER_PEAK_FORBIDDEN - 1;
}

/* Returns the stages_to_end of a stage: the number of stages if any way follows the split. */
static size_t place_of(const search *s, size_t num_stages, size_t stage) {
    size_t place = pl_costs_place(s->costs, num_stages, stage);
    for (size_t i = 0; i < s->ways.count; ++i)
        if (s->ways.costs[i]->follows_split)
            place = num_stages;
    return place;
}

static popliner_status choose(const search *s, const popliner_plan *plan, size_t stage,
                              pl_variant_choice *choice, pl_text *text, popliner_error *error) {
    const popliner_plan_stage *own = &plan->stages[stage];
    const popliner_interval interval = {own->first_unit, own->last_unit,
                                        place_of(s, plan->num_stages, stage)};
    uint64_t max_bytes = limit_of_stage(s, plan, stage);
    popliner_status status = POPLINER_OK;
    if (s->file != NULL) {
        const pl_variant_limits limits = {.max_cycles = UINT64_MAX, .max_bytes = max_bytes};
        status = pl_variants_choose(&s->variants, &interval, &limits, true,
                                    (const char *const *)s->file->names, choice, text, error);
    } else {
        size_t way = pl_ways_choose(&s->ways, &interval, max_bytes, choice);
        if (choice->exists && text != NULL)
            pl_text_add(text, s->ways.names[way]);
        if (text != NULL && text->failed)
            status = pl_fail_memory(error, "the variants of the stages");
    }
    if (status == POPLINER_OK && !choice->exists)
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "stage %zu has no variant within the limits of the plan", stage);
    return status;
}

/* ---- attempts ---- */

/* Replaces the bounds of a plan's stages in its table by their smallest peaks. Sets *is_changed to
 * true if one was lower. */
static popliner_status refine(const search *s, const pl_variant_limits *limits,
                              const popliner_plan *plan, popliner_costs *costs, bool *is_changed,
                              popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *is_changed = false;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        const popliner_interval stage = {plan->stages[i].first_unit, plan->stages[i].last_unit,
                                         place_of(s, plan->num_stages, i)};
        status = pl_variants_refine(&s->variants, &stage, limits, costs, is_changed, error);
    }
    return status;
}

/* Solves with a table of bounds, and again with better ones, until those of the plan are its peaks:
 * no other split is better. *plan is NULL if no time was left for that. */
static popliner_status solve_table(search *s, const pl_variant_limits *limits,
                                   popliner_solver_options *o, popliner_costs *costs,
                                   popliner_plan **plan, popliner_error *error) {
    const bool has_bounds = s->file != NULL && limits->max_cycles < UINT64_MAX;
    bool is_changed = true;
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && is_changed && !s->is_stopped) {
        const double left = s->stop.deadline_seconds - pl_clock_seconds();
        popliner_plan_free(*plan);
        *plan = NULL;
        if (isfinite(left))
            o->time_limit_seconds = left > 0.001 ? left : 0.001;
        status = popliner_solve(costs, o, plan, error);
        is_changed = false;
        if (status == POPLINER_OK && has_bounds && (*plan)->status != POPLINER_PLAN_INFEASIBLE)
            status = refine(s, limits, *plan, costs, &is_changed, error);
        if (status == POPLINER_OK)
            s->is_stopped = s->is_stopped || (*plan)->is_stopped;
    }
    if (is_changed) {
        popliner_plan_free(*plan);
        *plan = NULL;
    }
    return status;
}

/* Solves for the first objectives with stages of at most max_cycles. The first attempt has no
 * limit, and finds reasons if they are wanted. The table enforces the limit of cycles. */
static popliner_status attempt(search *s, uint64_t max_cycles, size_t num_objectives,
                               popliner_plan **plan, popliner_error *error) {
    popliner_solver_options o = s->options;
    popliner_costs *costs = NULL;
    bool is_first = max_cycles == UINT64_MAX;
    const pl_variant_limits limits = {
        max_cycles, is_first ? POPLINER_PEAK_FORBIDDEN - 1 : pl_limits_largest(&s->options),
        is_stop_wanted, &s->stop};
    *plan = NULL;
    o.without_reasons = !is_first || !s->with_reasons;
    o.without_second_proof = true; /* it would be of a table, not of the choice */
    popliner_status status = make_table(s, &limits, !o.without_reasons, &costs, error);
    s->is_stopped = s->is_stopped || (status == POPLINER_OK && costs == NULL);
    if (status == POPLINER_OK && s->is_stopped) {
        popliner_costs_free(costs);
        return is_first ? pl_plan_create_empty(true, plan, error) : POPLINER_OK;
    }
    if (status == POPLINER_OK)
        status = pl_costs_add_cycles(costs, error); /* all 0 */
    o.objectives = s->objectives;
    o.num_objectives = num_objectives;
    if (status == POPLINER_OK)
        status = solve_table(s, &limits, &o, costs, plan, error);
    popliner_costs_free(costs);
    return status;
}

/* Returns the fewest cycles that the slowest stage of a plan can have. */
static popliner_status find_cycles(const search *s, const popliner_plan *plan, uint64_t *cycles,
                                   popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *cycles = 0;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        pl_variant_choice choice;
        status = choose(s, plan, i, &choice, NULL, error);
        if (status == POPLINER_OK && choice.cycles > *cycles)
            *cycles = choice.cycles;
    }
    return status;
}

/* Sets the stages of the plan to their choices. */
static popliner_status complete(const search *s, popliner_plan *plan, uint64_t bound,
                                popliner_variants_answer *answer, popliner_error *error) {
    uint64_t least_bytes = UINT64_MAX;
    popliner_status status = POPLINER_OK;
    answer->texts = pl_new_array(plan->num_stages, sizeof *answer->texts);
    if (answer->texts == NULL)
        return pl_fail_memory(error, "the variants of the stages");
    plan->peak_bytes = plan->cycles = 0;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        popliner_plan_stage *stage = &plan->stages[i];
        pl_variant_choice choice;
        pl_text text = {0};
        status = choose(s, plan, i, &choice, &text, error);
        if (status != POPLINER_OK) {
            free(text.data);
            break;
        }
        answer->texts[answer->num_texts++] = text.data;
        stage->peak_bytes = choice.peak_bytes;
        stage->cycles = choice.cycles;
        plan->peak_bytes =
            stage->peak_bytes > plan->peak_bytes ? stage->peak_bytes : plan->peak_bytes;
        plan->cycles = stage->cycles > plan->cycles ? stage->cycles : plan->cycles;
        least_bytes = stage->peak_bytes < least_bytes ? stage->peak_bytes : least_bytes;
    }
    plan->spread = plan->num_stages == 0 ? 0 : plan->peak_bytes - least_bytes;
    for (size_t i = 0; i < plan->num_values; ++i)
        if (plan->values[i].objective == POPLINER_OBJECTIVE_CYCLES) {
            plan->values[i].value = plan->cycles;
            plan->values[i].bound = bound < plan->cycles ? bound : plan->cycles;
        }
    return status;
}

/* ---- the cycles ---- */

/* True if a plan equals another one in the objectives before the cycles. */
static bool is_as_good(const popliner_plan *plan, const popliner_plan *other, size_t count) {
    if (plan == NULL || plan->status == POPLINER_PLAN_INFEASIBLE)
        return false;
    for (size_t i = 0; i < count; ++i)
        if (plan->values[i].value != other->values[i].value)
            return false;
    return true;
}

/* Bisects the range of cycles for which a split as good as *plan exists; *plan becomes the best
 * one. */
static popliner_status minimise_cycles(search *s, popliner_plan **plan, uint64_t *bound,
                                       uint64_t *best_cycles, popliner_error *error) {
    popliner_status status = find_cycles(s, *plan, best_cycles, error);
    *bound = s->file != NULL ? pl_variants_least_cycles(&s->variants, longest_of(s)) : 0;
    while (status == POPLINER_OK && *bound < *best_cycles) {
        uint64_t middle = *bound + (*best_cycles - *bound) / 2;
        popliner_plan *found = NULL;
        uint64_t cycles = 0;
        status = attempt(s, middle, s->cycles_at + 1, &found, error);
        bool is_good = status == POPLINER_OK && is_as_good(found, *plan, s->cycles_at);
        if (is_good)
            status = find_cycles(s, found, &cycles, error);
        if (status == POPLINER_OK && is_good) {
            popliner_plan_free(*plan);
            *plan = found;
            *best_cycles = cycles < middle ? cycles : middle;
            found = NULL;
        } else if (status == POPLINER_OK && !s->is_stopped) {
            *bound = middle + 1;
        }
        popliner_plan_free(found);
        if (s->is_stopped)
            break;
    }
    return status;
}

/* Improves *plan, which is optimal up to the cycles, by the further objectives. */
static popliner_status finish(search *s, popliner_plan **plan, uint64_t *bound,
                              popliner_error *error) {
    popliner_plan *last = NULL;
    uint64_t cycles = 0;
    popliner_status status = minimise_cycles(s, plan, bound, &cycles, error);
    if (status == POPLINER_OK && !s->is_stopped)
        status = attempt(s, cycles, s->num_objectives, &last, error);
    if (status == POPLINER_OK && is_as_good(last, *plan, s->cycles_at)) {
        popliner_plan_free(*plan);
        *plan = last;
        last = NULL;
    }
    popliner_plan_free(last);
    if (s->is_stopped) {
        (*plan)->is_stopped = true;
        (*plan)->status = POPLINER_PLAN_FEASIBLE;
    }
    return status;
}

/* ---- the search ---- */

popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error) {
    const popliner_solver_options *o = options;
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(o, &num_objectives);
    if (o->slack_percent != 0.0 || o->method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not with a slack or the greedy method; leave them out");
    if (o->num_ipu_speeds > 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not with speeds of IPUs; leave the speeds out");
    if (pl_links_exist(o))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not with bandwidths of links; leave them out");
    for (size_t i = 0; i < num_objectives; ++i)
        if (!pl_objective_of(objectives[i])->is_everywhere)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "recompute auto: not for the objective %s; leave it out",
                           pl_objective_name(objectives[i]));
    for (size_t i = 0; i < o->num_mapped_stages; ++i)
        for (size_t k = 0; k < i; ++k)
            if (o->device_map[i] == o->device_map[k])
                return pl_fail(
                    error, POPLINER_ERROR_USAGE,
                    "recompute auto: stages %zu and %zu of the device map share an IPU; leave "
                    "the map out",
                    k, i);
    return POPLINER_OK;
}

static popliner_status check(const search *s, popliner_error *error) {
    if (s->file != NULL && s->file->variants.pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        return pl_fail(error, POPLINER_ERROR_USAGE, "recompute: the file was not read with auto");
    return pl_variants_check_options(&s->options, error);
}

static popliner_status begin_search(search *s, popliner_error *error) {
    const popliner_solver_options *o = &s->options;
    popliner_status status =
        pl_options_check(o, popliner_costs_num_units(s->costs), s->costs, error);
    if (status == POPLINER_OK)
        status = check(s, error);
    if (status != POPLINER_OK)
        return status;
    s->objectives = pl_objectives_of(o, &s->num_objectives);
    while (s->cycles_at < s->num_objectives &&
           s->objectives[s->cycles_at] != POPLINER_OBJECTIVE_CYCLES)
        ++s->cycles_at;
    s->stop = (pl_stop){.deadline_seconds = o->time_limit_seconds > 0.0
                                                ? pl_clock_seconds() + o->time_limit_seconds
                                                : INFINITY,
                        .should_stop = o->should_stop,
                        .user = o->should_stop_user};
    if (s->file != NULL)
        s->variants = s->file->variants;
    /* a file's table has no longer pipelines, and rarely needs them */
    s->with_reasons = s->file == NULL && !o->without_reasons;
    return status;
}

/* Limits the length of pipelines for which reasons are sought, so that a table of all their places
 * stays below half a GiB. */
static void bound_reasons(search *s, const popliner_listener *listener) {
    enum { MAX_NUMBERS = 1 << 26 };
    size_t num_intervals = pl_triangle_size(s->variants.num_units);
    size_t affordable = MAX_NUMBERS / num_intervals;
    size_t asked = longest_of(s);
    affordable = affordable < asked ? asked : affordable;
    if (s->variants.max_stages <= affordable)
        return;
    s->variants.max_stages = affordable;
    pl_tell(listener, POPLINER_LEVEL_WARNING, "Pipelines of more than %zu stages are not tried.",
            affordable);
}

/* Finds why nothing fits. Keeps what is proven if there is no time for more. */
static popliner_status explain(search *s, const popliner_listener *listener, size_t num_objectives,
                               popliner_plan **plan, popliner_error *error) {
    popliner_plan *told = NULL;
    s->with_reasons = true;
    bound_reasons(s, listener);
    popliner_status status = attempt(s, UINT64_MAX, num_objectives, &told, error);
    if (status == POPLINER_OK && told->is_stopped && told->proof == POPLINER_PROOF_NONE) {
        (*plan)->is_stopped = true;
    } else if (status == POPLINER_OK) {
        popliner_plan_free(*plan);
        *plan = told;
        told = NULL;
    }
    popliner_plan_free(told);
    return status;
}

/* Solves with the members of *s that are set: a file or ways, and the costs. */
static popliner_status solve(search *s, const popliner_solver_options *options,
                             popliner_variants_answer **answer, popliner_error *error) {
    popliner_listener listener;
    popliner_plan *plan = NULL;
    uint64_t bound = UINT64_MAX;
    popliner_variants_answer *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the variants of the stages");
    popliner_status status =
        pl_solver_options_take(options, s->costs, &s->options, &listener, error);
    if (status == POPLINER_OK)
        status = begin_search(s, error);
    bool has_cycles = s->cycles_at < s->num_objectives;
    size_t num_objectives = has_cycles ? s->cycles_at + 1 : s->num_objectives;
    if (status == POPLINER_OK)
        status = attempt(s, UINT64_MAX, num_objectives, &plan, error);
    if (status == POPLINER_OK && plan->status == POPLINER_PLAN_INFEASIBLE && !s->is_stopped &&
        !s->with_reasons && !s->options.without_reasons)
        status = explain(s, &listener, num_objectives, &plan, error);
    if (status == POPLINER_OK && has_cycles && plan->status != POPLINER_PLAN_INFEASIBLE)
        status = finish(s, &plan, &bound, error);
    if (status == POPLINER_OK)
        status = complete(s, plan, bound, made, error);
    if (status != POPLINER_OK) {
        popliner_plan_free(plan);
        popliner_variants_answer_free(made);
        return status;
    }
    made->plan = plan;
    *answer = made;
    return POPLINER_OK;
}

popliner_status popliner_variants_solve(const popliner_costs_file *callers,
                                        const popliner_solver_options *options,
                                        popliner_variants_answer **answer, popliner_error *error) {
    const pl_costs_file *file = (const pl_costs_file *)callers;
    search s = {.file = file, .costs = file->costs};
    *answer = NULL;
    return solve(&s, options, answer, error);
}

/* Errors: USAGE if the tables do not match, or if there are none. */
static popliner_status check_ways(const pl_ways *ways, popliner_error *error) {
    if (ways->count == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "ways: none are given; give at least one");
    const popliner_costs *first = ways->costs[0];
    for (size_t i = 1; i < ways->count; ++i)
        if (popliner_costs_num_units(ways->costs[i]) != popliner_costs_num_units(first) ||
            popliner_costs_has_cycles(ways->costs[i]) != popliner_costs_has_cycles(first))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "ways %s and %s: their costs have different numbers of units, or only "
                           "one has cycles",
                           ways->names[0], ways->names[i]);
    for (size_t i = 0; i < ways->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (ways->costs[i]->follows_split != ways->costs[k]->follows_split &&
                ways->costs[i]->max_stages_to_end > 1 && ways->costs[k]->max_stages_to_end > 1)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "ways %s and %s: the costs are of pipelines with different copies",
                               ways->names[k], ways->names[i]);
    return POPLINER_OK;
}

popliner_status popliner_variants_solve_costs(const popliner_costs *const *costs,
                                              const char *const *names, size_t num_ways,
                                              const popliner_solver_options *options,
                                              popliner_variants_answer **answer,
                                              popliner_error *error) {
    search s = {.ways = {costs, names, num_ways}};
    *answer = NULL;
    popliner_status status = check_ways(&s.ways, error);
    if (status != POPLINER_OK)
        return status;
    s.costs = costs[0];
    return solve(&s, options, answer, error);
}

popliner_plan *popliner_variants_take_plan(popliner_variants_answer *answer) {
    popliner_plan *plan = answer->plan;
    answer->plan = NULL;
    return plan;
}

const char *const *popliner_variants_texts(const popliner_variants_answer *answer) {
    return (const char *const *)answer->texts;
}

void popliner_variants_answer_free(popliner_variants_answer *answer) {
    if (answer == NULL)
        return;
    popliner_plan_free(answer->plan);
    for (size_t i = 0; i < answer->num_texts; ++i)
        free(answer->texts[i]);
    free(answer->texts);
    free(answer);
}
