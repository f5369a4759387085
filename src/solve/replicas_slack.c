/* The pipelines whose throughput is within the slack of the best, and the best of them in the
 * objectives that follow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/replicas_search.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/plan.h"
#include "solve/search.h"

/* Pipelines of one length and one number of replicas. */
typedef struct entry {
    size_t num_ipus;
    size_t num_replicas;
    uint64_t micro_batches;
    uint64_t max_cycles;               /* of a step, within the slack of the throughput */
    const popliner_plan *start;        /* a split of as many stages */
    popliner_replicas_candidate found; /* the best in the last objective that it was solved for */
    size_t num_solved;                 /* these objectives */
    bool is_out;                       /* others are better in one of them */
} entry;

/* Entries that are compared with each other. */
typedef struct contest {
    pl_replicas_search *s;
    const popliner_objective *objectives;
    size_t num_objectives;
    double slack_percent; /* of each but the last */
    pl_filter filter;     /* of the objectives so far */
    entry *entries;       /* [count] */
    size_t count;
    uint64_t work; /* for all that is left */
    bool is_proven;
    uint64_t least[POPLINER_NUM_OBJECTIVES]; /* the best value of each objective so far */
} contest;

/* One question: the best plan of an entry in one objective. */
typedef struct question {
    contest *c;
    entry *e;
    pl_replicas_walk walk;
    popliner_objective objective;
    const char *obstacle;
} question;

static uint64_t value_of(popliner_objective objective, const popliner_plan *plan) {
    return objective == POPLINER_OBJECTIVE_MEMORY    ? plan->peak_bytes
           : objective == POPLINER_OBJECTIVE_CYCLES  ? plan->cycles
           : objective == POPLINER_OBJECTIVE_TRAFFIC ? plan->cut_bytes
                                                     : plan->num_ipus;
}

/* ---- by the formula ---- */

static popliner_replicas_candidate candidate_of(const question *q, pl_replicas_point p) {
    return pl_replicas_candidate_of(q->c->s, &q->walk, q->e->num_replicas, q->e->micro_batches, p);
}

/* Returns the most cycles of the slowest IPU, less than `end`, for steps within the slack with this
 * many parameters; UINT64_MAX if even 0 are too many. */
static uint64_t most_cycles(const question *q, uint64_t end, uint64_t parameter_bytes) {
    uint64_t most = end;
    for (uint64_t least = 0; least < most;) {
        const uint64_t middle = least + (most - least) / 2;
        const pl_replicas_point p = {middle, parameter_bytes};
        if (candidate_of(q, p).step_cycles <= q->e->max_cycles)
            least = middle + 1;
        else
            most = middle;
    }
    return most - 1;
}

/* Solves within limits of the cycles and the parameters of an IPU. *plan is NULL if there is
 * none. */
static popliner_status solve(const question *q, uint64_t max_cycles, uint64_t most_bytes,
                             popliner_plan **plan, popliner_error *error) {
    pl_replicas_search *s = q->c->s;
    popliner_solver_options o = pl_replicas_options_of(s, &q->walk);
    pl_filter filter = q->c->filter;
    filter.limits.max_cycles = pl_smaller(filter.limits.max_cycles, max_cycles);
    /* few cycles make a short step likely; and only objectives limit cycles */
    const popliner_objective objectives[] = {q->objective, POPLINER_OBJECTIVE_CYCLES};
    o.objectives = objectives;
    o.num_objectives = q->objective == POPLINER_OBJECTIVE_CYCLES ? 1 : 2;
    o.ipu_weight = s->parameters;
    o.ipu_weight_user = s->parameters_user;
    o.max_ipu_weight = most_bytes;
    popliner_status status = pl_replicas_solve_within(s, &o, &filter, plan, error);
    if (status != POPLINER_OK || *plan == NULL)
        return status;
    s->is_stopped = s->is_stopped || (*plan)->is_stopped;
    q->c->is_proven = q->c->is_proven && ((*plan)->status == POPLINER_PLAN_OPTIMAL ||
                                          ((*plan)->num_stages == 0 && !(*plan)->is_stopped));
    if ((*plan)->status == POPLINER_PLAN_INFEASIBLE) {
        popliner_plan_free(*plan);
        *plan = NULL;
    }
    return POPLINER_OK;
}

/* Finds the best plan within the limits whose step is within the slack, if it is better than *best,
 * which may be NULL. What is best without regard to the sum of both parts of a step is it, or all
 * others have fewer parameters, or fewer cycles. */
static popliner_status search_box(const question *q, uint64_t max_cycles, uint64_t most_bytes,
                                  popliner_plan **best, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (bool goes_on = true; status == POPLINER_OK && goes_on && !q->c->s->is_stopped;) {
        popliner_plan *plan = NULL;
        status = solve(q, max_cycles, most_bytes, &plan, error);
        if (status != POPLINER_OK || plan == NULL ||
            (*best != NULL && value_of(q->objective, plan) >= value_of(q->objective, *best))) {
            popliner_plan_free(plan);
            return status;
        }
        const pl_replicas_point p = {plan->cycles,
                                     pl_replicas_most_parameters(q->c->s, &q->walk, plan)};
        goes_on = candidate_of(q, p).step_cycles > q->e->max_cycles;
        if (!goes_on) {
            popliner_plan_free(*best);
            *best = plan;
            return POPLINER_OK;
        }
        popliner_plan_free(plan);
        const uint64_t fewer = most_cycles(q, p.cycles, p.parameter_bytes);
        if (fewer != UINT64_MAX)
            status = search_box(q, fewer, most_bytes, best, error);
        goes_on = p.parameter_bytes > 0;
        most_bytes = p.parameter_bytes - 1;
    }
    return status;
}

/* ---- one question ---- */

/* Finds the best plan among simulated steps. `relaxed` has the least value, and maybe too long a
 * step. */
static popliner_status simulate(const question *q, const popliner_plan *relaxed,
                                popliner_replicas_candidate *found, popliner_error *error) {
    contest *c = q->c;
    pl_replicas_search *s = c->s;
    const pl_replicas_reduction reduced = {s, q->e->num_replicas};
    popliner_solver_options o = pl_replicas_options_of(s, &q->walk);
    const popliner_plan *starts[] = {q->e->found.plan, q->e->start, relaxed};
    pl_step_answer answer;
    o.objectives = &q->objective;
    o.num_objectives = 1;
    pl_step_question asked = pl_replicas_question(&reduced, &q->walk, &o);
    asked.max_cycles = q->e->max_cycles;
    asked.starts = starts;
    asked.num_starts = sizeof starts / sizeof *starts;
    asked.within = &c->filter;
    asked.least_value =
        relaxed->status == POPLINER_PLAN_OPTIMAL ? value_of(q->objective, relaxed) : 0;
    popliner_status status = pl_step_search(&asked, &s->work, &answer, error);
    s->is_stopped = s->is_stopped || pl_stop_is_wanted(&s->stop);
    c->is_proven = c->is_proven && answer.is_proven;
    if (status == POPLINER_OK && answer.plan != NULL)
        *found = pl_replicas_take(&reduced, &q->walk, &answer);
    return status;
}

/* Answers a question: found->plan is NULL if there is none. */
static popliner_status answer(question *q, popliner_replicas_candidate *found,
                              popliner_error *error) {
    const entry *e = q->e;
    pl_replicas_search *s = q->c->s;
    popliner_plan *plan = NULL;
    pl_replicas_begin_walk(s, &q->walk);
    popliner_status status =
        pl_replicas_find_costs(s, &q->walk, e->micro_batches, &q->obstacle, error);
    const uint64_t after = pl_replicas_reduce_cycles(s, e->num_replicas, q->walk.least_bytes);
    if (status != POPLINER_OK || after > e->max_cycles)
        return status;
    const uint64_t most_bytes = pl_replicas_most_reduced(s, e->num_replicas, e->max_cycles);
    const uint64_t slowest = (e->max_cycles - after) / e->micro_batches;
    if (s->options.pipeline != NULL && q->obstacle == NULL) {
        status = solve(q, slowest, most_bytes, &plan, error);
        if (status == POPLINER_OK && plan != NULL)
            status = simulate(q, plan, found, error);
        popliner_plan_free(plan);
        return status;
    }
    status = search_box(q, slowest, most_bytes, &plan, error);
    if (status != POPLINER_OK || plan == NULL)
        return status;
    const pl_replicas_point p = {plan->cycles, pl_replicas_most_parameters(s, &q->walk, plan)};
    *found = candidate_of(q, p);
    found->step.obstacle = q->obstacle;
    found->step.num_micro_batches = q->obstacle != NULL ? (size_t)e->micro_batches : 0;
    found->plan = plan;
    return POPLINER_OK;
}

/* ---- one objective after another ---- */

/* Solves an entry for the i-th objective. */
static popliner_status solve_entry(contest *c, entry *e, size_t i, size_t num_left,
                                   popliner_error *error) {
    question q = {.c = c, .e = e, .walk = {.num_ipus = e->num_ipus}, .objective = c->objectives[i]};
    popliner_replicas_candidate found = {.num_ipus = e->num_ipus};
    c->s->work = c->work / num_left;
    const uint64_t share = c->s->work;
    popliner_status status = answer(&q, &found, error);
    c->work -= share - c->s->work;
    e->is_out = found.plan == NULL;
    if (found.plan == NULL)
        return status;
    popliner_plan_free((popliner_plan *)e->found.plan);
    e->found = found;
    e->num_solved = i + 1;
    return status;
}

/* Solves for the i-th objective, and drops entries that are not within its slack. */
static popliner_status solve_objective(contest *c, size_t i, popliner_error *error) {
    const popliner_objective objective = c->objectives[i];
    popliner_status status = POPLINER_OK;
    uint64_t limit = UINT64_MAX;
    size_t num_left = 0;
    for (size_t k = 0; k < c->count; ++k)
        num_left += !c->entries[k].is_out;
    for (size_t k = 0; status == POPLINER_OK && k < c->count && !c->s->is_stopped; ++k) {
        entry *e = &c->entries[k];
        if (e->is_out)
            continue;
        status = solve_entry(c, e, i, num_left--, error);
        if (!e->is_out)
            limit = pl_smaller(limit, value_of(objective, e->found.plan));
    }
    c->least[i] = limit;
    if (i + 1 < c->num_objectives)
        limit = pl_slack_limit(limit, limit, c->slack_percent);
    for (size_t k = 0; k < c->count; ++k) {
        entry *e = &c->entries[k];
        e->is_out = e->is_out || e->num_solved <= i || value_of(objective, e->found.plan) > limit;
    }
    c->filter = pl_filter_limited(&c->filter, objective, limit);
    return status;
}

/* Gives the plan of the best entry the values of all objectives. */
static void set_values(const contest *c, popliner_plan *plan) {
    plan->num_values = c->num_objectives;
    plan->status = c->is_proven ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_FEASIBLE;
    for (size_t i = 0; i < c->num_objectives; ++i)
        plan->values[i] = (popliner_plan_value){
            .objective = c->objectives[i],
            .value = value_of(c->objectives[i], plan),
            .bound = c->is_proven ? c->least[i] : 0,
            .proof = c->is_proven ? POPLINER_PROOF_SEARCH : POPLINER_PROOF_NONE,
        };
}

/* Finds the best entry: NULL if none is within the slack of the throughput. Of equal ones it has
 * the fewest IPUs, then the fewest stages. */
static popliner_status find_best(contest *c, entry **best, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *best = NULL;
    for (size_t i = 0; status == POPLINER_OK && i < c->num_objectives; ++i)
        status = solve_objective(c, i, error);
    for (size_t k = 0; k < c->count; ++k) {
        entry *e = &c->entries[k];
        const size_t own = e->num_ipus * e->num_replicas;
        if (!e->is_out && (*best == NULL || own < (*best)->num_ipus * (*best)->num_replicas))
            *best = e;
    }
    c->is_proven = c->is_proven && !c->s->is_stopped;
    if (*best != NULL)
        set_values(c, (popliner_plan *)(*best)->found.plan);
    return status;
}

/* ---- all pipelines ---- */

/* Returns the longest step of `num_replicas` pipelines that has at most the slack of `best`. */
static uint64_t longest_step(const pl_replicas_search *s, const popliner_replicas_candidate *best,
                             size_t num_replicas, uint64_t micro_batches) {
    const uint64_t step =
        pl_slack_limit(best->step_cycles, best->step_cycles, s->solver.slack_percent);
    const uint64_t above[] = {step, num_replicas, micro_batches};
    uint64_t below[] = {best->num_replicas, best->micro_batches, 1};
    below[2] = pl_ratio_up(above, 3, below, 2);
    const pl_product whole = pl_product_of(above, 3);
    const pl_product reached = pl_product_of(below, 3);
    return below[2] < UINT64_MAX && pl_product_compare(&reached, &whole) > 0 ? below[2] - 1
                                                                             : below[2];
}

/* Lists the entries of pipelines of first ... last IPUs. */
static popliner_status list_entries(contest *c, const popliner_replicas *all,
                                    const popliner_replicas_candidate *best, size_t first,
                                    size_t last, popliner_error *error) {
    const pl_replicas_search *s = c->s;
    size_t most = 0;
    for (size_t n = first; n <= last; ++n)
        most += s->options.total_ipus / n;
    c->entries = pl_new_array(most, sizeof *c->entries);
    if (c->entries == NULL)
        return pl_fail_memory(error, "the numbers of replicas");
    for (size_t n = first; n <= last; ++n)
        for (size_t r = 1; r <= s->options.total_ipus / n; ++r) {
            const uint64_t m = pl_replicas_share(s, r);
            if (m > 0)
                c->entries[c->count++] = (entry){.num_ipus = n,
                                                 .num_replicas = r,
                                                 .micro_batches = m,
                                                 .max_cycles = longest_step(s, best, r, m),
                                                 .start = all->candidates[n - 1].plan};
        }
    return POPLINER_OK;
}

double pl_replicas_gap(const popliner_replicas_candidate *before,
                       const popliner_replicas_candidate *now) {
    if (now->step_cycles == 0 || before->step_cycles == 0)
        return 0.0;
    const double gap =
        (1.0 + before->gap) * (double)before->num_replicas * (double)before->micro_batches *
            (double)now->step_cycles /
            ((double)now->num_replicas * (double)now->micro_batches * (double)before->step_cycles) -
        1.0;
    return gap > 0.0 ? gap : 0.0;
}

static contest begin_contest(pl_replicas_search *s, bool is_proven) {
    contest c = {.s = s,
                 .filter = pl_filter_of_limits(&(pl_problem){.options = &s->solver}),
                 .work = PL_REPLICAS_MAX_WORK / s->num_lengths,
                 .is_proven = is_proven};
    c.objectives = pl_objectives_of(&s->solver, &c.num_objectives);
    return c;
}

popliner_status pl_replicas_refine(pl_replicas_search *s, popliner_replicas_candidate *c,
                                   popliner_error *error) {
    contest own = begin_contest(s, c->is_proven);
    entry e = {.num_ipus = c->num_ipus,
               .num_replicas = c->num_replicas,
               .micro_batches = c->micro_batches,
               .max_cycles = c->step_cycles,
               .start = c->plan};
    entry *found = NULL;
    own.entries = &e;
    own.count = 1;
    popliner_status status = find_best(&own, &found, error);
    if (status == POPLINER_OK && found != NULL) {
        const double gap = c->gap;
        popliner_plan_free((popliner_plan *)c->plan);
        *c = e.found;
        c->gap = gap;
        e.found.plan = NULL;
    }
    c->is_proven = own.is_proven;
    popliner_plan_free((popliner_plan *)e.found.plan);
    return status;
}

/* Gives a candidate the best that is within the slack for pipelines of first ... last IPUs, if
 * there is some, in a new contest; `all` are the candidates. Sets *at to its index. */
static popliner_status settle(contest c, popliner_replicas *all,
                              const popliner_replicas_candidate *best, size_t first, size_t last,
                              size_t *at, popliner_error *error) {
    c.slack_percent = c.s->solver.slack_percent;
    if (first < last)
        c.work = PL_REPLICAS_MAX_WORK;
    entry *found = NULL;
    *at = SIZE_MAX;
    popliner_status status = list_entries(&c, all, best, first, last, error);
    if (status == POPLINER_OK)
        status = find_best(&c, &found, error);
    if (status == POPLINER_OK && found != NULL) {
        popliner_replicas_candidate *own = &all->candidates[found->num_ipus - 1];
        *at = found->num_ipus - 1;
        found->found.gap = pl_replicas_gap(own, &found->found);
        found->found.is_proven = c.is_proven;
        popliner_plan_free((popliner_plan *)own->plan);
        free((uint64_t *)own->stage_parameter_bytes);
        *own = found->found;
        found->found.plan = NULL;
        status = pl_replicas_set_parameters(c.s, own, error);
    }
    for (size_t k = 0; k < c.count; ++k)
        popliner_plan_free((popliner_plan *)c.entries[k].found.plan);
    free(c.entries);
    return status;
}

popliner_status pl_replicas_settle(pl_replicas_search *s, popliner_replicas *answer,
                                   popliner_error *error) {
    const popliner_replicas_candidate best = answer->candidates[answer->best];
    bool is_proven = true; /* no throughput is larger */
    size_t winner = SIZE_MAX;
    size_t at;
    for (size_t i = 0; i < answer->num_candidates; ++i) {
        const popliner_replicas_candidate *own = &answer->candidates[i];
        is_proven = is_proven && (own->is_proven ||
                                  (own->num_replicas > 0 && pl_replicas_gap(own, &best) < 1e-9));
    }
    const contest c = begin_contest(s, is_proven);
    popliner_status status = settle(c, answer, &best, 1, answer->num_candidates, &winner, error);
    if (status == POPLINER_OK && winner < SIZE_MAX)
        answer->best = winner;
    for (size_t i = 0; status == POPLINER_OK && i < answer->num_candidates; ++i)
        if (i != winner && answer->candidates[i].num_replicas > 0 && !s->is_stopped)
            status = settle(c, answer, &best, i + 1, i + 1, &at, error);
    answer->is_stopped = answer->is_stopped || s->is_stopped;
    answer->is_proven = !answer->is_stopped;
    for (size_t i = 0; i < answer->num_candidates; ++i)
        answer->is_proven = answer->is_proven && answer->candidates[i].is_proven;
    return status;
}
