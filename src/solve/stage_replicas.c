/* On how many IPUs each stage runs: states are the numbers of IPUs that are taken.
 *
 * Of the numbers of IPUs that the limits allow a stage, the smallest is the best: with it a stage
 * takes no more of the IPUs, and no earlier stage has more of them after it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "pipeline/pipeline.h"
#include "popliner/replicas.h"
#include "solve/device_states.h"
#include "solve/ipus.h"
#include "solve/options.h"

/* More places than this take too much memory: units times IPUs. */
#define MAX_PLACES (UINT64_C(1) << 26)

typedef struct stage_replicas {
    pl_device_states states;
    popliner_replicas_options options;
    popliner_solver_options solver;
    popliner_ipu_link bandwidth; /* between replicas */
    popliner_costs costs; /* the caller's, for as many places from the end as there are IPUs */
    size_t *copies;       /* [num_ipus]; NULL: the caller's */
    size_t num_units;
    size_t num_ipus;
    uint64_t *parameters_before; /* [units + 1] sums over earlier units */
    const uint64_t *link_cycles; /* [units + 1] by the unit after the cut; NULL: none */
} stage_replicas;

/* ---- one stage ---- */

/* Returns the time of a cut before a unit. */
static uint64_t link_of(const stage_replicas *s, size_t unit) {
    return s->link_cycles == NULL ? 0 : s->link_cycles[unit];
}

/* Rounds up. */
static uint64_t divide(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t parameters_of(const stage_replicas *s, size_t first, size_t end) {
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

/* ---- one filter ---- */

/* Adds an interval as a stage before those on each number of IPUs; false if no longer interval can
 * be a stage either. The more IPUs come later, the more a stage needs for its memory. */
static bool add_stage(stage_replicas *s, const pl_limits *limits, size_t first, size_t end) {
    const pl_cost_order *order = &s->states.problem.order;
    const uint64_t most = pl_limits_peak(&s->states.problem, limits, 0);
    const uint64_t cycles = popliner_costs_cycles(&s->costs, first, end - 1);
    const uint64_t parameters = parameters_of(s, first, end);
    if (divide(cycles, s->num_ipus) > limits->max_cycles)
        return !order->cycles_never_shrink;
    if (popliner_costs_peak(&s->costs, first, end - 1, 1) > most)
        return !order->peaks_never_shrink;
    size_t own =
        limits->max_cycles > 0 ? pl_more(1, (size_t)divide(cycles, limits->max_cycles)) : 1;
    size_t reduced = 0; /* on so many the reduction is short enough; on more it takes longer */
    size_t fits = 1;    /* the largest place that is known to fit */
    for (size_t later = 0; own + later <= s->num_ipus; ++later) {
        if (!pl_device_states_have(&s->states, end, later))
            continue;
        while (own + later <= s->num_ipus && place_of(own, later) > fits)
            if (popliner_costs_peak(&s->costs, first, end - 1, place_of(own, later)) <= most)
                fits = place_of(own, later);
            else
                ++own;
        if (own + later > s->num_ipus)
            break;
        if (own > reduced &&
            pl_reduce_cycles(&s->costs, s->bandwidth, own, parameters) > limits->max_cycles)
            break;
        reduced = own;
        pl_device_states_add(&s->states, first, end, later, later + own);
    }
    return true;
}

/* Adds the stages that begin with a unit. */
static void add_stages(void *user, const pl_limits *limits, size_t first) {
    stage_replicas *s = user;
    const pl_problem *p = &s->states.problem;
    bool is_longer = true;
    for (size_t end = p->min_end[first]; is_longer && p->may_cut[first] && end <= p->max_end[first];
         ++end)
        is_longer = !p->may_cut[end] || link_of(s, end) > limits->max_cycles ||
                    add_stage(s, limits, first, end);
}

/* Computes the needs of a stage on its IPUs. */
static pl_load complete(void *user, size_t state, size_t later, popliner_plan_stage *stage) {
    const stage_replicas *s = user;
    const size_t first = stage->first_unit;
    const size_t end = stage->last_unit + 1;
    const size_t num_ipus = state - later;
    const uint64_t cycles = popliner_costs_cycles(&s->costs, first, end - 1);
    const uint64_t reduce =
        pl_reduce_cycles(&s->costs, s->bandwidth, num_ipus, parameters_of(s, first, end));
    stage->ipu = first == 0 ? 0 : (stage - 1)->ipu + (stage - 1)->num_replicas;
    stage->peak_bytes = popliner_costs_peak(&s->costs, first, end - 1, place_of(num_ipus, later));
    stage->cycles = pl_larger(divide(cycles, num_ipus), reduce);
    stage->cut_bytes = end < s->num_units ? popliner_costs_cut(&s->costs, end) : 0;
    stage->link_cycles = link_of(s, end);
    stage->num_replicas = num_ipus;
    return pl_problem_load(&s->states.problem, stage->ipu, stage->peak_bytes,
                           pl_larger(stage->cycles, stage->link_cycles));
}

/* ---- beginning ---- */

static popliner_status check(const stage_replicas *s, popliner_error *error) {
    const popliner_solver_options *o = &s->solver;
    popliner_status status = pl_options_check(o, s->num_units, &s->costs, error);
    if (status != POPLINER_OK)
        return status;
    if (!popliner_costs_has_cycles(&s->costs))
        return pl_fail(error, POPLINER_ERROR_USAGE, "replicas of stages: the costs have no cycles");
    if (o->num_mapped_stages > 0 || o->num_placements > 0 || o->num_ipu_limits > 0 ||
        o->num_ipu_speeds > 0 || o->num_ipu_links > 0 || o->ipu_weight != NULL ||
        o->method > POPLINER_METHOD_DYNAMIC_PROGRAMMING ||
        pl_objectives_include(o, POPLINER_OBJECTIVE_BALANCE) ||
        pl_objectives_include(o, POPLINER_OBJECTIVE_TOKENS) || s->costs.follows_split ||
        s->costs.choices != NULL || (s->bandwidth.bytes > 0 && s->bandwidth.cycles == 0))
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "replicas of stages: not with a device map, placements, limits, speeds or "
            "links of single IPUs, weights, the objectives balance and tokens, copies that depend "
            "on the number of stages, stages that choose what they recompute, a bandwidth in 0 "
            "cycles, or other methods than the dynamic program");
    if (s->num_ipus >= MAX_PLACES / (s->num_units + 1))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "replicas of stages: %zu IPUs are too many for %zu units; lower %s",
                       s->num_ipus, s->num_units, PL_OPTION(o, num_ipus));
    return POPLINER_OK;
}

/* Makes the costs known for as many places as there are IPUs. */
static popliner_status know_places(stage_replicas *s, popliner_error *error) {
    popliner_costs *c = &s->costs;
    const popliner_pipeline *pipeline = &c->pipeline;
    const size_t known = c->max_stages_to_end;
    if (known == 1 || known >= s->num_ipus)
        return POPLINER_OK;
    if (c->peaks.by_place != NULL || !c->has_pipeline ||
        (pl_pipeline_has_own_copies(pipeline) &&
         s->num_ipus > popliner_copies_max_stages(&pipeline->copies)))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "replicas of stages: %zu IPUs: the costs are for pipelines of at most %zu "
                       "stages; make them for longer ones",
                       s->num_ipus, known);
    s->copies = pl_arrays_new(&s->states.arrays, s->num_ipus, sizeof *s->copies);
    if (s->copies == NULL)
        return pl_fail_memory(error, "the copies of stages");
    /* where stages recompute, sets that copies have in addition are part of their memory */
    const size_t in_memory = pl_pipeline_copies(pipeline, 1) - c->peaks.copies[0];
    for (size_t i = 0; i < s->num_ipus; ++i)
        s->copies[i] = pl_pipeline_copies(pipeline, i + 1) - in_memory;
    c->peaks.copies = s->copies;
    c->max_stages_to_end = s->num_ipus;
    return POPLINER_OK;
}

static popliner_status make_states(stage_replicas *s, popliner_error *error) {
    pl_device_states *states = &s->states;
    const size_t n = s->num_units;
    *states = (pl_device_states){.problem = states->problem,
                                 .num_states = s->num_ipus + 1,
                                 .max_ipus = s->num_ipus,
                                 .add_stages = add_stages,
                                 .complete = complete,
                                 .user = s,
                                 .arrays = states->arrays};
    s->parameters_before = pl_arrays_new(&states->arrays, n + 1, sizeof *s->parameters_before);
    s->link_cycles = pl_links_before(&states->problem.links, 1);
    states->num_ipus = pl_arrays_new(&states->arrays, s->num_ipus + 1, sizeof *states->num_ipus);
    if (states->arrays.failed)
        return pl_fail_memory(error, "the replicas of stages");
    for (size_t i = 0; i <= s->num_ipus; ++i)
        states->num_ipus[i] = i;
    for (size_t unit = 0; s->options.parameter_bytes != NULL && unit < n; ++unit)
        s->parameters_before[unit + 1] =
            pl_add_or_never(s->parameters_before[unit], s->options.parameter_bytes[unit]);
    return pl_device_states_begin(states, error);
}

popliner_status popliner_replicas_solve_stages(const popliner_costs *costs,
                                               const popliner_replicas_options *options,
                                               popliner_plan **plan, popliner_error *error) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    stage_replicas s = {.options = POPLINER_REPLICAS_OPTIONS_INIT,
                        .costs = *costs,
                        .num_units = popliner_costs_num_units(costs)};
    popliner_listener listener;
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
    const pl_stop stop = pl_stop_of(&s.solver);
    s.num_ipus = s.solver.num_ipus;
    s.bandwidth = (popliner_ipu_link){.bytes = s.options.bandwidth_bytes,
                                      .cycles = s.options.bandwidth_cycles};
    status = check(&s, error);
    if (status == POPLINER_OK)
        status = know_places(&s, error);
    if (status == POPLINER_OK)
        status = pl_problem_create(&s.states.problem, &s.costs, &s.solver, error);
    if (status == POPLINER_OK)
        status = pl_problem_check_limits(&s.states.problem, error);
    if (status == POPLINER_OK)
        status = make_states(&s, error);
    if (status == POPLINER_OK)
        status = pl_plan_create_empty(false, plan, error);
    if (status == POPLINER_OK)
        status = pl_device_states_optimise(&s.states, &stop, s.solver.objectives,
                                           s.solver.num_objectives, *plan, error);
    if (status == POPLINER_OK)
        pl_plan_turn_headrooms(&s.states.problem, *plan);
    pl_device_states_free(&s.states);
    if (status == POPLINER_OK && ((*plan)->num_stages > 0 || (*plan)->is_stopped))
        return POPLINER_OK;
    popliner_plan_free(*plan);
    *plan = NULL;
    /* one IPU for each stage needs the fewest of them, and no split of that fits: it has reasons */
    return status == POPLINER_OK ? popliner_solve(costs, &s.solver, plan, error) : status;
}
