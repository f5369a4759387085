/* Recomputation of stages, chosen together with the cuts: docs/internals/solver.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "costs/variants.h"
#include "pipeline/pipeline.h"
#include "solve/infeasibility.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/search.h"
#include "solve/shared/shared.h"
#include "solve/stop.h"

/* A stage at a place of a table: the copies, the speed and the links of its IPU. */
typedef struct kind {
    size_t to_end;
    size_t ipu; /* one of those with this memory */
    uint64_t speed;
    const uint64_t *before;
    const uint64_t *after;
} kind;

typedef struct choices_search {
    const popliner_costs *costs; /* of the variants, or of the first way */
    const pl_choices *choices;
    const pl_variants *variants; /* those of the choices; NULL: ways */
    size_t most_places;          /* of a table that has reasons */
    pl_ipu_choices *ipus;        /* NULL if no stages share an IPU */
    popliner_solver_options options;
    pl_problem problem; /* with the IPUs, their links and limits; of no choice */
    bool with_reasons;  /* also find why nothing fits */
    const popliner_objective *objectives;
    size_t num_objectives;
    size_t cycles_at;  /* index of the cycles among them; num_objectives if absent */
    size_t balance_at; /* that of the balance */
    pl_filter filter;  /* of what is solved for next: the limits of the objectives so far */
    bool is_settled;   /* stages choose within `settled` only, whatever the objectives after it */
    pl_limits settled;
    uint64_t most_cycles; /* that any stage may have */
    /* If IPUs differ in their cycles: the places of tables, and the one of each stage */
    pl_arrays arrays; /* own these */
    kind *kinds;
    size_t *to_end; /* [num_kinds] */
    size_t num_kinds;
    size_t *kind_of;     /* as pl_costs_place has them; NULL: the places of a device map */
    uint64_t max_cycles; /* of the table that is made */
    bool is_to_go_on;    /* what is solved for next is not the end */
    bool wants_any;      /* ... and any split is enough */
    pl_stop stop;
    bool is_begun; /* the first attempt was made */
    bool is_stopped;
} choices_search;

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the variants of the stages");
}

static void end_search(choices_search *s) {
    pl_problem_free(&s->problem);
    pl_arrays_free(&s->arrays);
    if (s->ipus != NULL)
        pl_ipu_choices_free(s->ipus);
}

/* ---- one table ---- */

static bool is_stop_wanted(void *user) {
    return pl_stop_is_wanted(user);
}

/* Returns the length of the longest requested pipeline. */
static size_t longest_of(const choices_search *s) {
    const popliner_solver_options *o = &s->options;
    size_t max_stages = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
    return max_stages > 0 ? max_stages : SIZE_MAX;
}

/* Returns the stages_to_end of a stage: the number of stages if any way follows the split. */
static size_t place_of(const choices_search *s, size_t num_stages, size_t stage) {
    size_t place = pl_costs_place(s->costs, num_stages, stage);
    for (size_t i = 0; i < s->choices->ways.count; ++i)
        if (s->choices->ways.costs[i]->follows_split)
            place = num_stages;
    return place;
}

/* Returns the memory of an IPU, where it matters for what is chosen there. */
static uint64_t limit_of_ipu(const choices_search *s, size_t ipu) {
    return s->balance_at < s->num_objectives
               ? pl_limit_of(&s->options, ipu, s->options.mem_per_tile)
               : 0;
}

static kind make_kind(const choices_search *s, size_t num_stages, size_t stage) {
    const bool is_last = stage + 1 == num_stages; /* no cut follows */
    const size_t ipu = pl_problem_ipu(&s->problem, stage);
    return (kind){.to_end = place_of(s, num_stages, stage),
                  .ipu = ipu,
                  .speed = pl_speed_of(&s->options, ipu),
                  .before = pl_links_before(&s->problem.links, stage),
                  .after = pl_links_before(&s->problem.links, is_last ? SIZE_MAX : stage + 1)};
}

/* Returns the place of a stage in tables, from 1 on; adds it to the list, which has room. */
static size_t find_kind(choices_search *s, size_t num_stages, size_t stage) {
    const kind own = make_kind(s, num_stages, stage);
    size_t i = 0;
    while (i < s->num_kinds &&
           (s->kinds[i].speed != own.speed || s->kinds[i].before != own.before ||
            s->kinds[i].after != own.after ||
            limit_of_ipu(s, s->kinds[i].ipu) != limit_of_ipu(s, own.ipu) ||
            !pl_choices_store_the_same(s->choices, s->kinds[i].to_end, own.to_end)))
        ++i;
    if (i == s->num_kinds) {
        s->to_end[i] = own.to_end;
        s->kinds[s->num_kinds++] = own;
    }
    return i + 1;
}

/* Where stages share IPUs, each stage has its own place, from the end. */
static void find_places(choices_search *s) {
    const size_t count = s->options.num_mapped_stages;
    s->num_kinds = count;
    for (size_t place = 1; place <= count; ++place) {
        s->kinds[place - 1] = make_kind(s, count, count - place);
        s->to_end[place - 1] = s->kinds[place - 1].to_end;
    }
}

/* Finds the places of tables, where IPUs differ in their cycles, or in what is chosen there. */
static popliner_status find_kinds(choices_search *s, popliner_error *error) {
    const size_t most = s->problem.max_stages;
    const size_t count =
        s->problem.is_shared
            ? s->options.num_mapped_stages /* may be more than `most` */
            : (most + 1) * (most + 2) / 2; /* the searches look at one stage more */
    if (!s->problem.is_shared && s->options.num_ipu_speeds == 0 &&
        s->problem.links.cycles == NULL &&
        (s->options.num_ipu_limits == 0 || s->balance_at == s->num_objectives))
        return POPLINER_OK;
    s->kinds = pl_arrays_new(&s->arrays, count, sizeof *s->kinds);
    s->to_end = pl_arrays_new(&s->arrays, count, sizeof *s->to_end);
    if (!s->problem.is_shared)
        s->kind_of = pl_arrays_new(&s->arrays, count, sizeof *s->kind_of);
    if (s->arrays.failed)
        return fail_memory(error);
    if (s->problem.is_shared) {
        find_places(s);
        return POPLINER_OK;
    }
    for (size_t num_stages = most + 1; num_stages > 0; --num_stages)
        for (size_t stage = 0; stage < num_stages; ++stage)
            s->kind_of[num_stages * (num_stages - 1) / 2 + stage] =
                num_stages > most || (s->problem.is_mapped && num_stages < most)
                    ? 1
                    : find_kind(s, num_stages, stage);
    return POPLINER_OK;
}

static bool most_cycles_at(const void *user, size_t place, size_t first_unit, size_t end_unit,
                           uint64_t *cycles) {
    const choices_search *s = user;
    const kind *own = &s->kinds[place - 1];
    const uint64_t cuts = own->before == NULL ? 0 : own->before[first_unit] + own->after[end_unit];
    *cycles = s->max_cycles == UINT64_MAX
                  ? UINT64_MAX
                  : pl_speed_most(own->speed, cuts <= s->max_cycles ? s->max_cycles - cuts : 0);
    return cuts <= s->max_cycles;
}

/* Makes a table of the smallest peaks within the limits. Finding reasons needs longer pipelines;
 * otherwise the table ends with the longest requested one. */
static popliner_status make_table(const choices_search *s, const pl_variant_limits *limits,
                                  bool with_reasons, popliner_costs **costs,
                                  popliner_error *error) {
    popliner_status status = pl_choices_costs(
        s->choices, s->costs, with_reasons ? s->most_places : longest_of(s), limits, costs, error);
    if (status != POPLINER_OK || *costs == NULL)
        return status;
    if (limits->kinds != NULL && s->num_kinds > 1 && s->kind_of != NULL) {
        const size_t count = (s->problem.max_stages + 1) * (s->problem.max_stages + 2) / 2;
        (*costs)->kinds = pl_new_array(count, sizeof *(*costs)->kinds);
        if ((*costs)->kinds == NULL)
            return fail_memory(error);
        memcpy((*costs)->kinds, s->kind_of, count * sizeof *(*costs)->kinds);
    }
    return pl_costs_add_cycles(*costs, error); /* all 0 */
}

/* ---- stages on one IPU ---- */

/* Returns the most bytes that a stage on an IPU may choose. */
static uint64_t most_bytes_of(const choices_search *s, size_t ipu) {
    return pl_limits_peak(&s->problem, s->is_settled ? &s->settled : &s->filter.limits, ipu);
}

/* A table where stages share IPUs, and the limits of its stages. */
typedef struct shared_table {
    const choices_search *search;
    const popliner_costs *costs;
    const pl_variant_limits *limits;
    popliner_interval *stages; /* [units]: scratch */
    size_t *numbers;           /* [units]: scratch */
    pl_arrays arrays;
} shared_table;

/* Returns the stage of a table's place as it is in the pipeline. */
static popliner_interval in_pipeline(const shared_table *t, const popliner_interval *stage) {
    popliner_interval own = *stage;
    if (t->limits->kinds != NULL)
        own.stages_to_end = t->search->to_end[stage->stages_to_end - 1];
    return own;
}

/* A popliner_shared_peak_function: the smallest peak within the limit of cycles, or, once stages
 * have settled, that of the fewest cycles. */
static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const shared_table *t = user;
    const choices_search *s = t->search;
    const bool has_places = t->limits->kinds != NULL;
    pl_ipu_question q = {t->stages,
                         has_places ? t->numbers : NULL,
                         num_stages,
                         has_places ? s->max_cycles : UINT64_MAX,
                         t->limits->max_bytes,
                         s->is_settled};
    pl_variant_choice best;
    for (size_t i = 0; i < num_stages; ++i) {
        t->stages[i] = in_pipeline(t, &stages[i]);
        t->numbers[i] = s->options.num_mapped_stages - stages[i].stages_to_end;
    }
    if (s->is_settled) {
        q.max_cycles = UINT64_MAX;
        q.max_bytes = most_bytes_of(s, pl_problem_ipu(&s->problem, t->numbers[0]));
    }
    popliner_status status = pl_ipu_choose(s->ipus, &q, &best, error);
    if (status == POPLINER_OK && best.exists && (!s->is_settled || best.cycles <= s->max_cycles))
        *peak_bytes = best.peak_bytes;
    return status;
}

/* A pl_peak_parts_function, for variants. */
static pl_peak_parts peak_parts(const void *user, const popliner_interval *stage) {
    const shared_table *t = user;
    const pl_variants *v = t->search->variants;
    const uint64_t bytes =
        popliner_costs_peak(t->costs, stage->first_unit, stage->last_unit, stage->stages_to_end);
    const uint64_t shared = v->shared_bytes == NULL || bytes == POPLINER_PEAK_FORBIDDEN
                                ? 0
                                : v->shared_bytes(v->user, stage, 1);
    return (pl_peak_parts){bytes - shared, shared};
}

/* True if the peak of an IPU never falls when one of its stages grows: no choice gets possible, or
 * smaller. */
static bool never_shrinks(const choices_search *s) {
    const bool limits_cycles = s->max_cycles < UINT64_MAX;
    const pl_variants *v = s->variants;
    /* a stage that recomputes all its units may begin with smaller inputs */
    bool is_so = !s->is_settled && !(limits_cycles && s->problem.links.cycles != NULL) &&
                 (v == NULL || (!v->is_listed && !v->has_full));
    for (size_t unit = 1; is_so && limits_cycles && v != NULL && unit < v->num_units; ++unit)
        is_so = v->cut_cycles[unit] == 0;
    const pl_ways *ways = &s->choices->ways;
    for (size_t i = 0; is_so && i < ways->count; ++i)
        is_so = pl_costs_shared_peak_never_shrinks(ways->costs[i]) &&
                (!limits_cycles || pl_costs_cycles_never_shrink(ways->costs[i]));
    return is_so;
}

/* Makes the stages of a table share IPUs. */
static popliner_status share_ipus(shared_table *t, popliner_costs *costs, popliner_error *error) {
    const size_t num_units = popliner_costs_num_units(costs);
    t->costs = costs;
    t->stages = pl_arrays_new(&t->arrays, num_units, sizeof *t->stages);
    t->numbers = pl_arrays_new(&t->arrays, num_units, sizeof *t->numbers);
    if (t->arrays.failed)
        return fail_memory(error);
    popliner_costs_set_shared_peak(costs, shared_peak, t, never_shrinks(t->search));
    costs->shared_peak_is_quick = t->search->variants != NULL;
    if (t->search->variants != NULL)
        costs->peak_parts = peak_parts;
    return POPLINER_OK;
}

/* ---- the choices of stages ---- */

/* Returns the limit of a stage, as its IPU and the objectives have it. If nothing fits, that is its
 * own smallest peak. */
static uint64_t limit_of_stage(const choices_search *s, const popliner_plan *plan, size_t stage) {
    return plan->status == POPLINER_PLAN_INFEASIBLE ? plan->stages[stage].peak_bytes
                                                    : most_bytes_of(s, plan->stages[stage].ipu);
}

/* Chooses the fewest cycles on an IPU within max_bytes, then the smallest peak. */
static popliner_status choose_within(const choices_search *s, const popliner_interval *stage,
                                     uint64_t speed, uint64_t max_bytes, pl_variant_choice *choice,
                                     pl_text *text, popliner_error *error) {
    pl_variant_limits limits = {.max_cycles = UINT64_MAX, .max_bytes = max_bytes};
    if (speed == POPLINER_SPEED_ONE)
        return pl_choices_choose(s->choices, stage, &limits, true, choice, text, error);
    /* more cycles may take as long, for the speed rounds them */
    popliner_status status =
        pl_choices_choose(s->choices, stage, &limits, true, choice, NULL, error);
    if (status != POPLINER_OK || !choice->exists)
        return status;
    limits.max_cycles = pl_speed_most(speed, pl_speed_cycles(speed, choice->cycles));
    return pl_choices_choose(s->choices, stage, &limits, false, choice, text, error);
}

static popliner_status choose_for_stage(const choices_search *s, const popliner_plan *plan,
                                        size_t stage, pl_variant_choice *choice, pl_text *text,
                                        popliner_error *error) {
    const popliner_plan_stage *own = &plan->stages[stage];
    const popliner_interval interval = {own->first_unit, own->last_unit,
                                        place_of(s, plan->num_stages, stage)};
    popliner_status status = choose_within(s, &interval, pl_speed_of(&s->options, own->ipu),
                                           limit_of_stage(s, plan, stage), choice, text, error);
    if (status == POPLINER_OK && !choice->exists)
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "stage %zu has no variant within the limits of the plan", stage);
    if (status == POPLINER_OK)
        choice->cycles = pl_problem_busy_cycles(&s->problem, stage, own->first_unit, own->last_unit,
                                                choice->cycles);
    return status;
}

/* True if the stage at a place of a table shares its IPU: less than its smallest peak is then not
 * known of what it settles on. */
static bool is_with_others(const choices_search *s, size_t place) {
    return s->ipus != NULL && pl_num_on_ipu(&s->problem, s->num_kinds - place) > 1;
}

/* Replaces the smallest peaks of a table by those of what stages choose: the fewest cycles within
 * s->settled. Forbids stages that then have more cycles than the limits. */
static popliner_status settle_table(choices_search *s, const pl_variant_limits *limits,
                                    popliner_costs *costs, popliner_error *error) {
    const size_t num_units = popliner_costs_num_units(costs);
    popliner_status status = POPLINER_OK;
    for (size_t first = 0; status == POPLINER_OK && first < num_units && !s->is_stopped; ++first) {
        s->is_stopped = pl_stop_is_wanted(&s->stop);
        for (size_t last = first; status == POPLINER_OK && last < num_units; ++last)
            for (size_t place = 1; status == POPLINER_OK && place <= costs->max_stages_to_end;
                 ++place) {
                const kind *own = limits->kinds == NULL ? NULL : &s->kinds[place - 1];
                const popliner_interval stage = {first, last, own == NULL ? place : own->to_end};
                uint64_t most_cycles = limits->max_cycles;
                pl_variant_choice choice;
                if (popliner_costs_peak(costs, first, last, place) == POPLINER_PEAK_FORBIDDEN ||
                    is_with_others(s, place))
                    continue;
                status = choose_within(s, &stage, own == NULL ? POPLINER_SPEED_ONE : own->speed,
                                       most_bytes_of(s, own == NULL ? 0 : own->ipu), &choice, NULL,
                                       error);
                const bool is_allowed =
                    choice.exists &&
                    (own == NULL || most_cycles_at(s, place, first, last + 1, &most_cycles)) &&
                    choice.cycles <= most_cycles;
                pl_costs_set_peak(costs, first, last, place,
                                  is_allowed ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN);
            }
    }
    return status;
}

/* ---- attempts ---- */

/* Replaces the bounds of a plan's stages in its table by their smallest peaks. Sets *is_changed to
 * true if one was lower. */
static popliner_status refine_bounds(const choices_search *s, const pl_variant_limits *limits,
                                     const popliner_plan *plan, popliner_costs *costs,
                                     bool *is_changed, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *is_changed = false;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        popliner_interval stage = {plan->stages[i].first_unit, plan->stages[i].last_unit,
                                   place_of(s, plan->num_stages, i)};
        if (s->ipus != NULL)
            stage.stages_to_end = plan->num_stages - i;
        else if (limits->kinds != NULL)
            stage.stages_to_end = s->kind_of[plan->num_stages * (plan->num_stages - 1) / 2 + i];
        if (is_with_others(s, stage.stages_to_end))
            continue; /* the IPU's peak is the smallest */
        status = pl_variants_refine(s->variants, &stage, limits, costs, is_changed, error);
    }
    return status;
}

/* Solves like pl_solve_within, with any of equally good splits: where stages share IPUs, finding
 * the earliest cuts may take longer than the rest. */
static popliner_status solve_for_now(choices_search *s, const popliner_costs *costs,
                                     const popliner_solver_options *o, popliner_plan *plan,
                                     popliner_error *error) {
    pl_solving solving = {0};
    pl_search *own = &solving.search;
    popliner_status status = pl_solving_begin(&solving, costs, o, error);
    own->filter = s->filter;
    if (status == POPLINER_OK && s->wants_any)
        status = pl_search_find(own, &own->filter, PL_GOAL_ANY, &own->split, error);
    else if (status == POPLINER_OK)
        status = pl_solving_find(&solving, plan, error);
    s->filter = own->filter;
    if (status == POPLINER_OK && own->split.num_stages == 0) {
        plan->status = POPLINER_PLAN_INFEASIBLE;
        plan->is_stopped = own->is_stopped;
        plan->proof = own->is_stopped ? POPLINER_PROOF_NONE : own->proof;
    } else if (status == POPLINER_OK && s->wants_any) {
        plan->status = POPLINER_PLAN_FEASIBLE;
        plan->values[plan->num_values++] = (popliner_plan_value){.objective = o->objectives[0]};
        status = pl_plan_fill(&solving.problem, &own->split, false, plan, error);
    }
    pl_plan_turn_headrooms(&solving.problem, plan);
    pl_solving_end(&solving);
    return status;
}

/* Solves with a table of bounds, and again with better ones, until those of the plan are its peaks:
 * no other split is better. *plan is NULL if no time was left for that. */
static popliner_status solve_table(choices_search *s, const pl_variant_limits *limits,
                                   popliner_solver_options *o, popliner_costs *costs,
                                   popliner_plan **plan, popliner_error *error) {
    const bool has_bounds =
        s->variants != NULL && limits->max_cycles < UINT64_MAX && !s->is_settled;
    const pl_filter within = s->filter;
    bool is_changed = true;
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && is_changed && !s->is_stopped) {
        if (*plan != NULL)
            pl_plan_clear(*plan);
        else
            status = pl_plan_create_empty(false, plan, error);
        if (status != POPLINER_OK)
            break;
        **plan = (popliner_plan){0};
        pl_stop_limit(&s->stop, o);
        s->filter = within;
        status = s->ipus != NULL && s->is_to_go_on && o->without_reasons
                     ? solve_for_now(s, costs, o, *plan, error)
                     : pl_solve_within(costs, o, &s->filter, *plan, error);
        (*plan)->num_units = popliner_costs_num_units(costs);
        is_changed = false;
        if (status == POPLINER_OK && has_bounds && (*plan)->status != POPLINER_PLAN_INFEASIBLE)
            status = refine_bounds(s, limits, *plan, costs, &is_changed, error);
        if (status == POPLINER_OK)
            s->is_stopped = s->is_stopped || (*plan)->is_stopped;
    }
    s->filter.limits.max_cycles = UINT64_MAX; /* tables have them */
    if (status != POPLINER_OK || is_changed) {
        popliner_plan_free(*plan);
        *plan = NULL;
    }
    return status;
}

/* Loosens the limit that an objective became by the slack. */
static void loosen(choices_search *s, const popliner_plan_value *last) {
    const uint64_t largest = s->problem.largest_limit_bytes;
    const bool is_headroom = last->objective == POPLINER_OBJECTIVE_HEADROOM;
    const uint64_t value = is_headroom ? largest - last->value : last->value;
    s->filter = pl_filter_limited(&s->filter, last->objective,
                                  pl_slack_limit(value, last->value, s->options.slack_percent));
}

/* Solves a table of bounds for one objective after another: only those of the last plan are its
 * peaks, and with slack it need not have the least value of an earlier objective. */
static popliner_status solve_each(choices_search *s, const pl_variant_limits *limits,
                                  popliner_solver_options *o, popliner_costs *costs,
                                  popliner_plan **plan, popliner_error *error) {
    const size_t count = o->num_objectives;
    popliner_plan_value values[POPLINER_NUM_OBJECTIVES];
    popliner_status status = POPLINER_OK;
    o->num_objectives = 1;
    for (size_t i = 0; status == POPLINER_OK && i < count && !s->is_stopped; ++i, ++o->objectives) {
        status = solve_table(s, limits, o, costs, plan, error);
        if (status != POPLINER_OK || *plan == NULL || (*plan)->num_values == 0)
            break;
        values[i] = (*plan)->values[0];
        if (i + 1 < count && values[i].objective != POPLINER_OBJECTIVE_CYCLES)
            loosen(s, &values[i]);
        memcpy((*plan)->values, values, (i + 1) * sizeof *values);
        (*plan)->num_values = i + 1;
    }
    return status;
}

/* Solves for the objectives first ... end - 1, of which those before the first have their values,
 * with stages of at most max_cycles, within s->filter, which becomes that of these objectives. The
 * first attempt finds reasons if they are wanted. The table enforces the limit of cycles. */
static popliner_status solve_objectives(choices_search *s, uint64_t max_cycles, size_t first,
                                        size_t end, popliner_plan **plan, popliner_error *error) {
    popliner_solver_options o = s->options;
    popliner_costs *costs = NULL;
    const bool is_first = !s->is_begun;
    max_cycles = pl_smaller(max_cycles, s->most_cycles);
    const pl_variant_kinds kinds = {s->num_kinds, s->to_end, most_cycles_at, s};
    const bool finds_reasons = is_first && s->with_reasons; /* also above the limits */
    pl_variant_limits limits = {.max_cycles = max_cycles,
                                .max_bytes = finds_reasons ? POPLINER_PEAK_FORBIDDEN - 1
                                                           : pl_limits_largest(&s->options),
                                .should_stop = is_stop_wanted,
                                .user = &s->stop};
    if (s->kinds != NULL &&
        (max_cycles < UINT64_MAX || s->is_settled || (s->ipus != NULL && !finds_reasons)))
        limits.kinds = &kinds;
    s->max_cycles = max_cycles;
    *plan = NULL;
    o.without_reasons = !finds_reasons;
    o.without_second_proof = true; /* it would be of a table, not of the choice */
    /* a table has no cycles */
    o.num_ipu_speeds = o.num_ipu_links = 0;
    o.link_bandwidth = (popliner_ipu_link){0};
    o.objectives = s->objectives + first;
    o.num_objectives = end - first;
    shared_table table = {.search = s, .limits = &limits};
    popliner_status status = make_table(s, &limits, finds_reasons, &costs, error);
    if (status == POPLINER_OK && costs != NULL && s->ipus != NULL)
        status = share_ipus(&table, costs, error);
    s->is_stopped = s->is_stopped || (status == POPLINER_OK && costs == NULL);
    if (status == POPLINER_OK && !s->is_stopped && s->is_settled)
        status = settle_table(s, &limits, costs, error);
    if (status == POPLINER_OK && !s->is_stopped)
        status = o.slack_percent > 0.0 && s->variants != NULL && max_cycles < UINT64_MAX &&
                         !s->is_settled
                     ? solve_each(s, &limits, &o, costs, plan, error)
                     : solve_table(s, &limits, &o, costs, plan, error);
    else if (status == POPLINER_OK && is_first)
        status = pl_plan_create_empty(true, plan, error);
    popliner_costs_free(costs);
    pl_arrays_free(&table.arrays);
    return status;
}

/* Chooses for all stages of the IPU of a stage of the plan, which is its first: `ipu` becomes the
 * choice of the IPU. `texts` is NULL, or has room for all stages of the plan, whose cycles and
 * peaks are then set. */
static popliner_status choose_on_ipu(const choices_search *s, popliner_plan *plan, size_t first,
                                     pl_variant_choice *ipu, pl_text *texts,
                                     popliner_error *error) {
    const size_t count = plan->num_stages;
    pl_arrays arrays = {0};
    popliner_interval *stages = pl_arrays_new(&arrays, count, sizeof *stages);
    size_t *numbers = pl_arrays_new(&arrays, count, sizeof *numbers);
    pl_ipu_point *chosen = pl_arrays_new(&arrays, count, sizeof *chosen);
    pl_text *own_texts = pl_arrays_new(&arrays, count, sizeof *own_texts);
    pl_ipu_question q = {stages, numbers, 0, UINT64_MAX, limit_of_stage(s, plan, first), true};
    popliner_status status = arrays.failed ? fail_memory(error) : POPLINER_OK;
    for (size_t i = first; status == POPLINER_OK && i < count; ++i) {
        const popliner_plan_stage *own = &plan->stages[i];
        if (own->ipu != plan->stages[first].ipu)
            continue;
        stages[q.count] =
            (popliner_interval){own->first_unit, own->last_unit, place_of(s, count, i)};
        numbers[q.count++] = i;
    }
    if (status == POPLINER_OK)
        status = texts == NULL ? pl_ipu_choose(s->ipus, &q, ipu, error)
                               : pl_ipu_name_choices(s->ipus, &q, ipu, chosen, own_texts, error);
    if (status == POPLINER_OK && !ipu->exists)
        status =
            pl_fail(error, POPLINER_ERROR_INTERNAL,
                    "the IPU of stage %zu has no variant within the limits of the plan", first);
    for (size_t i = 0; texts != NULL && own_texts != NULL && i < q.count; ++i) {
        texts[numbers[i]] = own_texts[i];
        plan->stages[numbers[i]].peak_bytes = ipu->peak_bytes;
        plan->stages[numbers[i]].cycles = chosen[i].on_ipu.cycles;
    }
    pl_arrays_free(&arrays);
    return status;
}

/* Lets the stages of the plan's IPUs choose; `values` become those of the IPUs. */
static popliner_status choose_all(const choices_search *s, popliner_plan *plan,
                                  pl_objective_values *values, pl_text *texts,
                                  popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        pl_variant_choice choice;
        size_t first = s->ipus != NULL ? 0 : i;
        while (plan->stages[first].ipu != plan->stages[i].ipu)
            ++first;
        if (first < i)
            continue;
        if (s->ipus != NULL)
            status = choose_on_ipu(s, plan, i, &choice, texts, error);
        else
            status = choose_for_stage(s, plan, i, &choice, texts == NULL ? NULL : &texts[i], error);
        if (status == POPLINER_OK && texts != NULL && s->ipus == NULL) {
            plan->stages[i].peak_bytes = choice.peak_bytes;
            plan->stages[i].cycles = choice.cycles;
        }
        if (status == POPLINER_OK)
            pl_objective_values_add(
                values, pl_problem_load(&s->problem, i, choice.peak_bytes, choice.cycles));
    }
    return status;
}

/* Sets the values of a plan to those of its stages. */
static void set_values(const choices_search *s, const pl_objective_values *of, uint64_t bound,
                       popliner_plan *plan) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE &&
        plan->num_values > 0) /* not all were solved for */
        plan->num_values = s->num_objectives;
    for (size_t i = 0; i < plan->num_values; ++i) {
        popliner_plan_value *v = &plan->values[i];
        if (plan->status == POPLINER_PLAN_INFEASIBLE)
            *v = (popliner_plan_value){.objective = s->objectives[i]};
        const bool is_headroom = v->objective == POPLINER_OBJECTIVE_HEADROOM;
        const uint64_t own = pl_objective_value(of, v->objective, false);
        v->value = is_headroom ? pl_headroom(s->problem.largest_limit_bytes, own) : own;
        if (v->objective != POPLINER_OBJECTIVE_CYCLES)
            continue;
        v->value = plan->cycles;
        v->bound = pl_smaller(bound, plan->cycles);
    }
}

/* Sets the stages of the plan to their choices. */
static popliner_status set_choices(const choices_search *s, popliner_plan *plan, uint64_t bound,
                                   popliner_error *error) {
    pl_objective_values values;
    pl_text *texts = pl_new_array(plan->num_stages, sizeof *texts);
    plan->choices = pl_new_array(plan->num_stages, sizeof *plan->choices);
    if (plan->choices == NULL || texts == NULL) {
        free(texts);
        return fail_memory(error);
    }
    popliner_status status = choose_all(s, plan, &values, texts, error);
    for (size_t i = 0; i < plan->num_stages; ++i) {
        popliner_plan_stage *stage = &plan->stages[i];
        const uint64_t *link = pl_links_before(&s->problem.links, i + 1);
        plan->choices[i] = texts[i].data;
        stage->link_cycles = link == NULL ? 0 : link[stage->last_unit + 1];
    }
    free(texts);
    plan->peak_bytes = values.peak_bytes;
    plan->cycles = values.cycles;
    plan->spread = plan->num_stages == 0 ? 0 : values.peak_bytes - values.min_peak_bytes;
    values.cut_bytes = plan->cut_bytes;
    set_values(s, &values, bound, plan);
    return status;
}

/* ---- the cycles ---- */

/* Solves for the objectives first ... end - 1 and replaces *plan, whose earlier values stay, if
 * there is a split within the limits. *is_found tells. */
static popliner_status replace_plan(choices_search *s, uint64_t max_cycles, size_t first,
                                    size_t end, popliner_plan **plan, bool *is_found,
                                    popliner_error *error) {
    const pl_filter filter = s->filter;
    popliner_plan *found = NULL;
    popliner_status status = solve_objectives(s, max_cycles, first, end, &found, error);
    *is_found = status == POPLINER_OK && found != NULL && found->status != POPLINER_PLAN_INFEASIBLE;
    if (*is_found) {
        const popliner_plan *old = *plan;
        memmove(found->values + first, found->values, found->num_values * sizeof *found->values);
        memcpy(found->values, old->values, first * sizeof *found->values);
        found->num_values += first;
        popliner_plan_free(*plan);
        *plan = found;
        found = NULL;
    } else {
        s->filter = filter;
    }
    popliner_plan_free(found);
    return status;
}

/* Marks a plan as one whose further objectives were not solved for. */
static void leave_open(popliner_plan *plan) {
    plan->is_stopped = true;
    plan->status = POPLINER_PLAN_FEASIBLE;
}

/* Bisects the range of cycles for which a split as good as *plan exists; *plan becomes the best
 * one. */
static popliner_status minimise_cycles(choices_search *s, popliner_plan **plan, uint64_t *bound,
                                       uint64_t *best_cycles, popliner_error *error) {
    const pl_filter filter = s->filter;
    uint64_t speed = POPLINER_SPEED_ONE; /* the largest */
    pl_objective_values values; /* cycles: the fewest that the slowest IPU of the plan can have */
    popliner_status status = choose_all(s, *plan, &values, NULL, error);
    *best_cycles = values.cycles;
    *bound = s->variants == NULL
                 ? 0
                 : pl_variants_least_cycles(s->variants,
                                            s->ipus != NULL ? s->problem.num_ipus : longest_of(s));
    for (size_t i = 0; i < s->options.num_ipu_speeds; ++i)
        speed = pl_larger(speed, s->options.ipu_speeds[i].value);
    *bound = pl_speed_cycles(speed, *bound);
    while (status == POPLINER_OK && *bound < *best_cycles) {
        const uint64_t middle = *bound + (*best_cycles - *bound) / 2;
        bool is_found;
        s->wants_any = true;
        status = replace_plan(s, middle, s->cycles_at, s->cycles_at + 1, plan, &is_found, error);
        s->wants_any = false;
        s->filter = filter;
        if (is_found)
            status = choose_all(s, *plan, &values, NULL, error);
        if (status == POPLINER_OK && is_found)
            *best_cycles = pl_smaller(values.cycles, middle);
        else if (status == POPLINER_OK && !s->is_stopped)
            *bound = middle + 1;
        if (s->is_stopped)
            break;
    }
    return status;
}

/* Improves *plan, which is optimal up to the cycles, by the further objectives. */
static popliner_status solve_cycles(choices_search *s, popliner_plan **plan, uint64_t *bound,
                                    popliner_error *error) {
    uint64_t cycles = 0;
    bool is_found = false;
    popliner_status status = minimise_cycles(s, plan, bound, &cycles, error);
    if (s->cycles_at + 1 < s->num_objectives)
        cycles = pl_slack_limit(cycles, cycles, s->options.slack_percent);
    s->is_to_go_on = false;
    if (status == POPLINER_OK && !s->is_stopped)
        status = replace_plan(s, cycles, s->cycles_at, s->num_objectives, plan, &is_found, error);
    if (s->is_stopped && (s->ipus == NULL || !is_found)) /* else it says itself what is proven */
        leave_open(*plan);
    return status;
}

/* ---- the search ---- */

popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error) {
    const popliner_solver_options *o = options;
    if (o->method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not with the greedy method; use another one");
    if (pl_spread_is_of_cycles(o))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not for the balance of cycles; put balance before cycles");
    return POPLINER_OK;
}

/* Returns the index of an objective among those of the search; their number if it is absent. */
static size_t place_among(const choices_search *s, popliner_objective objective) {
    size_t i = 0;
    while (i < s->num_objectives && s->objectives[i] != objective)
        ++i;
    return i;
}

static popliner_status begin_search(choices_search *s, popliner_error *error) {
    const popliner_solver_options *o = &s->options;
    popliner_status status =
        pl_options_check(o, popliner_costs_num_units(s->costs), s->costs, error);
    if (status == POPLINER_OK)
        status = pl_variants_check_options(o, error);
    if (status != POPLINER_OK)
        return status;
    s->objectives = pl_objectives_of(o, &s->num_objectives);
    s->cycles_at = place_among(s, POPLINER_OBJECTIVE_CYCLES);
    s->balance_at = place_among(s, POPLINER_OBJECTIVE_BALANCE);
    s->stop = pl_stop_of(o);
    s->variants = s->choices->variants;
    status = pl_problem_create(&s->problem, s->costs, o, NULL, error);
    if (status == POPLINER_OK)
        status = pl_problem_check_limits(&s->problem, error);
    if (status == POPLINER_OK) {
        if (!s->problem.is_shared)
            s->ipus = NULL;
        s->filter = pl_filter_of_limits(&s->problem);
        status = find_kinds(s, error);
    }
    /* a file's table has no longer pipelines, and rarely needs them */
    s->with_reasons = s->variants == NULL && !o->without_reasons;
    return status;
}

/* Limits the length of pipelines for which reasons are sought, so that a table of all their places
 * stays below half a GiB. */
static void bound_reasons(choices_search *s, const popliner_listener *listener) {
    enum { MAX_NUMBERS = 1 << 26 };
    const size_t affordable = MAX_NUMBERS / pl_triangle_size(s->problem.num_units);
    s->most_places = pl_larger(affordable, longest_of(s));
    if (s->variants->max_stages > s->most_places)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "Pipelines of more than %zu stages are not tried.", s->most_places);
}

/* Finds why nothing fits. Keeps what is proven if there is no time for more. */
static popliner_status explain(choices_search *s, const popliner_listener *listener,
                               size_t num_objectives, popliner_plan **plan, popliner_error *error) {
    popliner_plan *told = NULL;
    s->with_reasons = true;
    s->is_begun = false;
    bound_reasons(s, listener);
    popliner_status status = solve_objectives(s, UINT64_MAX, 0, num_objectives, &told, error);
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

/* Solves for the objectives from the balance on, up to `end`. Stages do not choose for the sake of
 * the balance: they take the fewest cycles within the limits of the objectives before it. */
static popliner_status solve_balance(choices_search *s, size_t end, popliner_plan **plan,
                                     popliner_error *error) {
    bool is_found;
    if (s->balance_at > 0 && s->options.slack_percent > 0.0)
        loosen(s, &(*plan)->values[s->balance_at - 1]);
    s->settled = s->filter.limits;
    s->is_settled = true;
    popliner_status status =
        replace_plan(s, UINT64_MAX, s->balance_at, end, plan, &is_found, error);
    if (status == POPLINER_OK && !is_found && !s->is_stopped)
        status = pl_fail(error, POPLINER_ERROR_INTERNAL, "no split is left to be balanced");
    if (!is_found)
        leave_open(*plan);
    return status;
}

/* True if callers may ask without the device map: balance does not lead their objectives then. */
static bool may_lack_map(const choices_search *s) {
    popliner_objective list[POPLINER_NUM_OBJECTIVES + 1];
    popliner_solver_options o = s->options;
    for (size_t i = 0; i < o.num_objectives; ++i)
        list[i] = o.objectives[i];
    o.objectives = list;
    o.num_objectives = popliner_objectives_complete(list, o.num_objectives, s->costs);
    return pl_variants_check_options(&o, NULL) == POPLINER_OK;
}

/* Solves with the prepared search. The plan has no stages if nothing is within other limits than
 * those of the options. */
static popliner_status solve_choices(choices_search *s, popliner_plan **plan,
                                     popliner_error *error) {
    static const popliner_objective any[] = {POPLINER_OBJECTIVE_IPUS};
    const popliner_objective *objectives = s->objectives;
    const bool has_cycles = s->cycles_at < s->num_objectives;
    const size_t end = has_cycles ? s->cycles_at + 1 : s->num_objectives;
    const size_t num_first = pl_smaller(end, s->balance_at);
    const pl_filter filter = s->filter;
    uint64_t bound = UINT64_MAX;
    s->objectives = num_first > 0 ? objectives : any;
    s->is_to_go_on = has_cycles || s->balance_at < s->num_objectives;
    popliner_status status =
        solve_objectives(s, UINT64_MAX, 0, num_first > 0 ? num_first : 1, plan, error);
    s->is_begun = true;
    if (status == POPLINER_OK && (*plan)->status == POPLINER_PLAN_INFEASIBLE && !s->is_stopped &&
        !s->with_reasons && !s->options.without_reasons)
        status = explain(s, s->options.listener, num_first > 0 ? num_first : 1, plan, error);
    s->objectives = objectives;
    const bool fits = status == POPLINER_OK && (*plan)->status != POPLINER_PLAN_INFEASIBLE;
    if (status == POPLINER_OK && !fits)
        pl_remedies_have_ipus(&(*plan)->infeasibility, &s->options, may_lack_map(s));
    if (num_first == 0)
        s->filter = filter;
    s->is_to_go_on = has_cycles;
    if (fits && s->balance_at < s->num_objectives && !s->is_stopped)
        status = solve_balance(s, end, plan, error);
    if (status == POPLINER_OK && has_cycles && fits)
        status = solve_cycles(s, plan, &bound, error);
    if (status == POPLINER_OK)
        status = set_choices(s, *plan, bound, error);
    return status;
}

popliner_status pl_choices_solve(const popliner_costs *costs, const pl_choices *choices,
                                 const popliner_solver_options *options, const pl_filter *filter,
                                 popliner_plan *plan, popliner_error *error) {
    popliner_plan *found = NULL;
    choices_search s = {.costs = costs,
                        .choices = choices,
                        .options = *options,
                        .most_cycles = UINT64_MAX,
                        .most_places = SIZE_MAX};
    pl_ipu_choices ipus = {.problem = &s.problem, .of = choices};
    s.ipus = &ipus;
    popliner_status status = begin_search(&s, error);
    if (filter != NULL) {
        s.filter = *filter;
        s.most_cycles = s.filter.limits.max_cycles;
        s.filter.limits.max_cycles = UINT64_MAX; /* tables have them */
    }
    if (status == POPLINER_OK)
        status = solve_choices(&s, &found, error);
    end_search(&s);
    if (status == POPLINER_OK && found != NULL) {
        *plan = *found;
        *found = (popliner_plan){0};
    }
    popliner_plan_free(found);
    return status;
}

/* ---- ways ---- */

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
                                              popliner_plan **plan, popliner_error *error) {
    const pl_choices choices = {.ways = {costs, names, num_ways}};
    popliner_solver_options own;
    popliner_listener listener;
    *plan = NULL;
    popliner_status status = check_ways(&choices.ways, error);
    if (status == POPLINER_OK)
        status = pl_solver_options_take(options, costs[0], &own, &listener, error);
    if (status != POPLINER_OK)
        return status;
    popliner_plan *made = calloc(1, sizeof *made);
    status = made == NULL ? fail_memory(error)
                          : pl_choices_solve(costs[0], &choices, &own, NULL, made, error);
    if (status == POPLINER_OK)
        *plan = made;
    else
        popliner_plan_free(made);
    return status;
}
