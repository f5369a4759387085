/* On how many IPUs each stage runs: a dynamic program over the remaining units and the IPUs of
 * their stages.
 *
 * Of the numbers of IPUs that the limits allow a stage, the smallest is the best: with it a stage
 * takes no more of the IPUs, and no earlier stage has more of them after it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "pipeline/pipeline.h"
#include "popliner/replicas.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"

/* More places than this take too much memory: units times IPUs. */
#define MAX_PLACES (UINT64_C(1) << 26)

/* The stages from a unit on with the fewest cut bytes. */
typedef struct split {
    uint64_t cut_bytes; /* UINT64_MAX: there are none */
    uint32_t end;       /* the unit after the first of these stages */
    uint32_t num_ipus;  /* of that stage */
} split;

typedef struct search {
    popliner_replicas_options options;
    popliner_solver_options solver;
    popliner_ipu_link bandwidth; /* between replicas */
    popliner_costs costs; /* the caller's, for as many places from the end as there are IPUs */
    size_t *copies;       /* [num_ipus]; NULL: the caller's */
    pl_problem problem;
    pl_minimiser best;
    pl_stop stop;
    size_t num_units;
    size_t num_ipus;
    pl_arrays arrays;
    uint64_t *parameters_before; /* [units + 1] sums over earlier units */
    const uint64_t *link_cycles; /* [units + 1] by the unit after the cut; NULL: none */
    /* [num_ipus + 1]: the most parameters of a stage on so many IPUs, by the limit of cycles */
    uint64_t *most_parameters;
    split *splits; /* [units + 1][num_ipus + 1] from a unit on, on exactly so many IPUs */
    popliner_plan_stage *stages; /* [units] of the last answer; owned apart */
    size_t num_stages;
} search;

/* Needs of an interval as a stage within the limits. */
typedef struct need {
    size_t num_ipus;   /* the fewest, by its cycles; 0: there are not enough */
    size_t most_place; /* the most stages to the end, itself included; 0: it fits nowhere */
    uint64_t parameters;
} need;

/* ---- one stage ---- */

static size_t place_in(const search *s, size_t unit, size_t num_ipus) {
    return unit * (s->num_ipus + 1) + num_ipus;
}

/* Returns the time of a cut before a unit. */
static uint64_t link_of(const search *s, size_t unit) {
    return s->link_cycles == NULL ? 0 : s->link_cycles[unit];
}

/* Rounds up. */
static uint64_t divide(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t parameters_of(const search *s, size_t first, size_t end) {
    const popliner_interval stage = {first, end - 1, 1};
    if (s->options.parameters != NULL)
        return s->options.parameters(s->options.parameters_user, &stage, 1);
    return s->parameters_before[end] - s->parameters_before[first];
}

/* Returns the place of a stage on so many IPUs before `later` others: each of the replicas has as
 * many micro-batches under way as a stage with so many stages after it. */
static size_t place_of(size_t num_ipus, size_t later) {
    return 1 + (size_t)divide(later, num_ipus);
}

/* Returns the largest place from the end where the interval is within the limit. */
static size_t most_place(const search *s, size_t first, size_t end, uint64_t limit_bytes) {
    size_t least = 0;
    size_t most = s->num_ipus;
    if (!s->problem.depends_on_end)
        return popliner_costs_peak(&s->costs, first, end - 1, 1) <= limit_bytes ? most : 0;
    while (least < most) {
        const size_t middle = most - (most - least) / 2;
        if (popliner_costs_peak(&s->costs, first, end - 1, middle) <= limit_bytes)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

static need need_of(const search *s, const pl_limits *limits, size_t first, size_t end) {
    const uint64_t cycles = popliner_costs_cycles(&s->costs, first, end - 1);
    const uint64_t most = limits->max_cycles;
    const uint64_t least = cycles <= most ? 1 : most > 0 ? divide(cycles, most) : UINT64_MAX;
    need n = {.num_ipus = least <= s->num_ipus ? (size_t)least : 0};
    if (n.num_ipus > 0)
        n.most_place = most_place(s, first, end, pl_limits_peak(&s->problem, limits, 0));
    if (n.most_place > 0)
        n.parameters = parameters_of(s, first, end);
    return n;
}

/* Returns the fewest IPUs for a stage before `later` IPUs; 0 if none of its numbers will do. */
static size_t ipus_before(const search *s, const need *n, size_t later) {
    size_t count = n->num_ipus;
    if (later > 0 && n->most_place == 1)
        return 0;
    if (n->most_place < s->num_ipus && place_of(count, later) > n->most_place)
        count = (size_t)divide(later, n->most_place - 1);
    return count <= s->num_ipus - later && n->parameters <= s->most_parameters[count] ? count : 0;
}

/* ---- one filter ---- */

/* Finds the most parameters that can be reduced within the limit of cycles. */
static void find_most_parameters(search *s, uint64_t max_cycles) {
    for (size_t n = 1; n <= s->num_ipus; ++n)
        s->most_parameters[n] = pl_most_reduced(&s->costs, s->bandwidth, n, max_cycles);
}

/* Returns whether no longer interval can be a stage either. */
static bool is_last(const search *s, const need *n, size_t first, size_t end) {
    const pl_cost_order *order = &s->problem.order;
    if (n->num_ipus == 0)
        return order->cycles_never_shrink;
    return n->most_place == 0 && order->peaks_never_shrink && end >= order->first_ends[first];
}

/* Finds the stages that begin with a unit, before those of later units. */
static void add_stages(search *s, const pl_limits *limits, size_t first) {
    const pl_problem *p = &s->problem;
    for (size_t end = p->min_end[first]; p->may_cut[first] && end <= p->max_end[first]; ++end) {
        if (!p->may_cut[end] || link_of(s, end) > limits->max_cycles)
            continue;
        const need n = need_of(s, limits, first, end);
        const uint64_t cut = end < s->num_units ? popliner_costs_cut(&s->costs, end) : 0;
        if (is_last(s, &n, first, end))
            break;
        if (n.most_place == 0)
            continue;
        for (size_t later = 0; later + n.num_ipus <= s->num_ipus; ++later) {
            const uint64_t rest = s->splits[place_in(s, end, later)].cut_bytes;
            const size_t own = rest == UINT64_MAX ? 0 : ipus_before(s, &n, later);
            const uint64_t sum = pl_add_cut_bytes(rest, cut);
            split *best = &s->splits[place_in(s, first, later + own)];
            /* no further cut is before any later one */
            if (own > 0 &&
                (sum < best->cut_bytes || (sum == best->cut_bytes && end == s->num_units)))
                *best = (split){sum, (uint32_t)end, (uint32_t)own};
        }
    }
}

/* Reads the split on exactly num_ipus IPUs, and its values. */
static void read_split(search *s, size_t num_ipus) {
    size_t left = num_ipus;
    s->num_stages = 0;
    s->best.values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    s->best.values.cut_bytes = s->splits[place_in(s, 0, num_ipus)].cut_bytes;
    for (size_t first = 0; first < s->num_units;) {
        const split *own = &s->splits[place_in(s, first, left)];
        const size_t end = own->end;
        const size_t place = place_of(own->num_ipus, left - own->num_ipus);
        const uint64_t cycles = popliner_costs_cycles(&s->costs, first, end - 1);
        const uint64_t reduce =
            pl_reduce_cycles(&s->costs, s->bandwidth, own->num_ipus, parameters_of(s, first, end));
        const popliner_plan_stage stage = {
            .first_unit = first,
            .last_unit = end - 1,
            .ipu = num_ipus - left,
            .peak_bytes = popliner_costs_peak(&s->costs, first, end - 1, place),
            .cycles = pl_larger(divide(cycles, own->num_ipus), reduce),
            .cut_bytes = end < s->num_units ? popliner_costs_cut(&s->costs, end) : 0,
            .link_cycles = link_of(s, end),
            .num_replicas = own->num_ipus,
        };
        s->stages[s->num_stages++] = stage;
        pl_objective_values_add(&s->best.values,
                                pl_problem_load(&s->problem, stage.ipu, stage.peak_bytes,
                                                pl_larger(stage.cycles, stage.link_cycles)));
        left -= own->num_ipus;
        first = end;
    }
    s->best.values.num_ipus = num_ipus;
}

/* Finds the best split within the filter, for the goal: on the fewest IPUs, or with the fewest cut
 * bytes; *exists tells whether there is one. */
static popliner_status find(void *user, const pl_filter *filter, pl_goal goal, bool *exists,
                            popliner_error *error) {
    search *s = user;
    const pl_limits *limits = &filter->limits;
    const split *whole = &s->splits[place_in(s, 0, 0)];
    size_t best = 0;
    *exists = false;
    find_most_parameters(s, limits->max_cycles);
    for (size_t i = 0; i < place_in(s, s->num_units + 1, 0); ++i)
        s->splits[i].cut_bytes = UINT64_MAX;
    s->splits[place_in(s, s->num_units, 0)].cut_bytes = 0;
    for (size_t unit = s->num_units; unit-- > 0;) {
        s->best.is_stopped = s->best.is_stopped || pl_stop_is_wanted(&s->stop);
        if (s->best.is_stopped)
            return POPLINER_OK;
        add_stages(s, limits, unit);
    }
    for (size_t n = 1; n <= s->num_ipus && n <= limits->max_ipus; ++n)
        if (whole[n].cut_bytes < UINT64_MAX && whole[n].cut_bytes <= limits->max_cut_bytes &&
            (best == 0 ||
             (goal == PL_GOAL_FEWEST_CUT_BYTES && whole[n].cut_bytes < whole[best].cut_bytes)))
            best = n;
    if (best == 0)
        return POPLINER_OK;
    read_split(s, best);
    *exists = true;
    return pl_filter_admits(filter, &s->best.values)
               ? POPLINER_OK
               : pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "a split with replicas of stages is above its limits; please report this");
}

/* ---- beginning ---- */

/* Names the objectives that are not everywhere: "balance and headroom". */
static void name_others(char *names, size_t size) {
    size_t left = 0;
    for (int i = 0; i < POPLINER_NUM_OBJECTIVES; ++i)
        left += !pl_objective_of((popliner_objective)i)->is_everywhere;
    for (int i = 0; i < POPLINER_NUM_OBJECTIVES; ++i) {
        const pl_objective *own = pl_objective_of((popliner_objective)i);
        const size_t length = strlen(names);
        if (!own->is_everywhere)
            snprintf(names + length, size - length, "%s%s", own->name,
                     left > 2    ? ", "
                     : left == 2 ? " and "
                                 : "");
        left -= !own->is_everywhere;
    }
}

static popliner_status check(const search *s, popliner_error *error) {
    const popliner_solver_options *o = &s->solver;
    char others[128] = "";
    popliner_status status = pl_options_check(o, s->num_units, &s->costs, error);
    if (status != POPLINER_OK)
        return status;
    if (!popliner_costs_has_cycles(&s->costs))
        return pl_fail(error, POPLINER_ERROR_USAGE, "replicas of stages: the costs have no cycles");
    if (o->num_mapped_stages > 0 || o->num_placements > 0 || o->num_ipu_limits > 0 ||
        o->num_ipu_speeds > 0 || o->num_ipu_links > 0 || o->slack_percent != 0.0 ||
        o->ipu_weight != NULL || o->method > POPLINER_METHOD_DYNAMIC_PROGRAMMING ||
        pl_objectives_beyond(o) != NULL || s->costs.follows_split ||
        (s->bandwidth.bytes > 0 && s->bandwidth.cycles == 0)) {
        name_others(others, sizeof others);
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "replicas of stages: not with a device map, placements, limits, speeds or "
            "links of single IPUs, slack, weights, the objectives %s, copies that depend on "
            "the number of stages, a bandwidth in 0 cycles, or other methods than the "
            "dynamic program",
            others);
    }
    if (s->num_ipus >= MAX_PLACES / (s->num_units + 1))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "replicas of stages: %zu IPUs are too many for %zu units; lower %s",
                       s->num_ipus, s->num_units, PL_OPTION(o, num_ipus));
    return POPLINER_OK;
}

/* Makes the costs known for as many places as there are IPUs. */
static popliner_status know_places(search *s, popliner_error *error) {
    popliner_costs *c = &s->costs;
    const popliner_pipeline *pipeline = &c->pipeline;
    const size_t known = c->max_stages_to_end;
    if (known == 1 || known >= s->num_ipus)
        return POPLINER_OK;
    if (c->copies == NULL || !c->has_pipeline ||
        pl_pipeline_copies(pipeline, s->num_ipus) > c->most_copies ||
        (pl_pipeline_has_own_copies(pipeline) &&
         s->num_ipus > popliner_copies_max_stages(&pipeline->copies)))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "replicas of stages: %zu IPUs: the costs are for pipelines of at most %zu "
                       "stages; make them for longer ones",
                       s->num_ipus, known);
    s->copies = pl_arrays_new(&s->arrays, s->num_ipus, sizeof *s->copies);
    if (s->copies == NULL)
        return pl_fail_memory(error, "the copies of stages");
    for (size_t i = 0; i < s->num_ipus; ++i)
        s->copies[i] = pl_pipeline_copies(pipeline, i + 1);
    c->copies = s->copies;
    c->max_stages_to_end = s->num_ipus;
    return POPLINER_OK;
}

static popliner_status begin_search(search *s, popliner_error *error) {
    const size_t n = s->num_units;
    s->parameters_before = pl_arrays_new(&s->arrays, n + 1, sizeof *s->parameters_before);
    s->link_cycles = pl_links_before(&s->problem.links, 1);
    s->most_parameters = pl_arrays_new(&s->arrays, s->num_ipus + 1, sizeof *s->most_parameters);
    s->splits = pl_arrays_new(&s->arrays, place_in(s, n + 1, 0), sizeof *s->splits);
    s->stages = pl_new_array(n, sizeof *s->stages);
    if (s->arrays.failed || s->stages == NULL)
        return pl_fail_memory(error, "the replicas of stages");
    for (size_t unit = 0; s->options.parameter_bytes != NULL && unit < n; ++unit)
        s->parameters_before[unit + 1] =
            pl_add_or_never(s->parameters_before[unit], s->options.parameter_bytes[unit]);
    s->best.find = find;
    s->best.user = s;
    s->best.filter = pl_filter_of_limits(&s->problem);
    s->stop = pl_stop_of(&s->solver);
    return POPLINER_OK;
}

static void end_search(search *s) {
    pl_arrays_free(&s->arrays);
    free(s->stages);
    pl_problem_free(&s->problem);
}

/* ---- the answer ---- */

/* Minimises all objectives, and takes a split on the fewest IPUs; then fills the plan. */
static popliner_status optimise(search *s, popliner_plan *plan, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    popliner_proof proof = POPLINER_PROOF_DYNAMIC_PROGRAM;
    bool exists;
    for (size_t i = 0; status == POPLINER_OK && i < s->solver.num_objectives; ++i) {
        popliner_plan_value *told = &plan->values[plan->num_values++];
        status = pl_minimise(&s->best, s->solver.objectives[i], told, error);
        proof = told->proof == POPLINER_PROOF_NONE ? told->proof : proof;
    }
    if (status == POPLINER_OK)
        status = find(s, &s->best.filter, PL_GOAL_ANY, &exists, error);
    plan->proof = proof;
    plan->status = proof == POPLINER_PROOF_NONE ? POPLINER_PLAN_FEASIBLE : POPLINER_PLAN_OPTIMAL;
    plan->is_stopped = s->best.is_stopped;
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_NONE;
    plan->stages = s->stages;
    plan->num_stages = s->num_stages;
    s->stages = NULL;
    plan->num_units = s->num_units;
    plan->num_ipus = (size_t)s->best.values.num_ipus;
    plan->peak_bytes = s->best.values.peak_bytes;
    plan->cycles = s->best.values.cycles;
    plan->cut_bytes = s->best.values.cut_bytes;
    plan->spread = pl_objective_values_spread(&s->best.values, false);
    return status;
}

popliner_status popliner_replicas_solve_stages(const popliner_costs *costs,
                                               const popliner_replicas_options *options,
                                               popliner_plan **plan, popliner_error *error) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    search s = {.options = POPLINER_REPLICAS_OPTIONS_INIT,
                .costs = *pl_costs_of_any_split(costs),
                .num_units = popliner_costs_num_units(costs)};
    popliner_listener listener;
    bool exists = false;
    *plan = NULL;
    popliner_status status =
        pl_struct_take(&s.options, sizeof s.options, options, "popliner_replicas_options", error);
    if (status == POPLINER_OK)
        status = pl_solver_options_take(s.options.solver, NULL, &s.solver, &listener, error);
    if (status != POPLINER_OK)
        return status;
    if (s.solver.num_objectives == 0) {
        s.solver.objectives = usual;
        s.solver.num_objectives = sizeof usual / sizeof *usual;
    }
    pl_solver_options_complete(&s.solver, costs);
    s.num_ipus = s.solver.num_ipus;
    s.bandwidth = (popliner_ipu_link){.bytes = s.options.bandwidth_bytes,
                                      .cycles = s.options.bandwidth_cycles};
    status = check(&s, error);
    if (status == POPLINER_OK)
        status = know_places(&s, error);
    if (status == POPLINER_OK)
        status = pl_problem_create(&s.problem, &s.costs, &s.solver, NULL, error);
    if (status == POPLINER_OK)
        status = begin_search(&s, error);
    if (status == POPLINER_OK)
        status = find(&s, &s.best.filter, PL_GOAL_ANY, &exists, error);
    if (status == POPLINER_OK)
        status = pl_plan_create_empty(s.best.is_stopped, plan, error);
    if (status == POPLINER_OK && exists)
        status = optimise(&s, *plan, error);
    end_search(&s);
    if (status == POPLINER_OK && (exists || s.best.is_stopped))
        return POPLINER_OK;
    popliner_plan_free(*plan);
    *plan = NULL;
    /* one IPU for each stage needs the fewest of them, and no split of that fits: it has reasons */
    return status == POPLINER_OK ? popliner_solve(costs, &s.solver, plan, error) : status;
}
