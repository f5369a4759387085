/* Lower bounds of the objectives of all splits whose stages share IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"
#include "solve/stage_rule.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No stage, or no split. */
#define NONE UINT64_MAX

enum {
    /* larger tables are not made */
    MOST_NUMBERS = 1 << 25,
    MOST_STEPS = 400,
};

void pl_shared_bound_clear(pl_shared_bound *bound) {
    pl_split_clear(&bound->hint);
    *bound = (pl_shared_bound){0};
}

size_t pl_num_on_ipu(const pl_problem *problem, size_t stage) {
    size_t count = 0;
    for (size_t other = 0; other < problem->options->num_mapped_stages; ++other)
        count += problem->first_on_ipu[other] == problem->first_on_ipu[stage];
    return count;
}

uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const popliner_interval *stage, size_t num_stages_on_ipu) {
    if (pl_objective_is_of_cycles(objective, false))
        return pl_problem_cycles(problem,
                                 problem->options->num_mapped_stages - stage->stages_to_end,
                                 stage->first_unit, stage->last_unit);
    if (num_stages_on_ipu == 1)
        return popliner_costs_peak(problem->costs, stage->first_unit, stage->last_unit,
                                   stage->stages_to_end);
    pl_peak_parts parts = pl_costs_peak_parts(problem->costs, stage);
    /* the largest of several numbers is at least their mean */
    return parts.own_bytes + parts.other_bytes / num_stages_on_ipu;
}

typedef struct relaxation {
    const pl_shared_search *asked;
    const pl_limits *limits;
    const pl_problem *problem;
    popliner_objective objective;
    size_t num_units;
    size_t num_stages;
    uint64_t known;
    pl_filter better; /* than what is known */
    pl_reachability reach;
    uint8_t *ok;     /* [units] */
    uint64_t *loads; /* [stages]: triangles of pl_least_load, or NONE */
    pl_shared_bound *bound;
    pl_arrays arrays; /* own all arrays that are made for the bounds */
    popliner_error *error;
} relaxation;

static bool must_end(const relaxation *r) {
    return r->asked->shared->work >= r->asked->most_work || pl_stop_is_wanted(r->asked->stop);
}

/* Fills the loads of the stages that begin with a unit and may be in a split better than
 * `known`. */
static void fill_row(const relaxation *r, size_t stage, size_t first, uint64_t *loads) {
    size_t count = pl_num_on_ipu(r->problem, stage);
    bool is_any = pl_reachability_mark(&r->reach, stage, first, r->ok);
    for (size_t d = 0; d < r->num_units - first; ++d) {
        popliner_interval it = {first, first + d, r->num_stages - stage};
        loads[d] =
            is_any && r->ok[d] != 0 ? pl_least_load(r->problem, r->objective, &it, count) : NONE;
    }
}

/* Returns the loads by the length of the stage. */
static const uint64_t *row(const relaxation *r, size_t stage, size_t first) {
    return r->loads + stage * pl_triangle_size(r->num_units) + pl_triangle_row(r->num_units, first);
}

static void raise(relaxation *r, uint64_t bound) {
    bound = bound < r->known ? bound : r->known;
    r->bound->bound = bound > r->bound->bound ? bound : r->bound->bound;
}

/* Prepares the table of the loads of stages. *is_possible: there may be a split better than
 * `known`. */
static popliner_status begin_relaxation(relaxation *r, bool *is_possible) {
    const size_t n = r->num_units;
    r->better = (pl_filter){.limits = *r->limits};
    if (r->known != NONE)
        r->better = pl_filter_limited(&r->better, r->objective, r->known - 1);
    r->reach = (pl_reachability){
        .problem = r->problem, .limits = &r->better.limits, .num_stages = r->num_stages};
    r->ok = pl_arrays_new(&r->arrays, n, sizeof *r->ok);
    uint64_t *loads = pl_arrays_new(&r->arrays, r->num_stages * pl_triangle_size(n), sizeof *loads);
    popliner_status status = r->arrays.failed ? pl_fail_memory(r->error, "the bounds of the search")
                                              : pl_reachability_find(&r->reach, r->error);
    *is_possible = status == POPLINER_OK && r->reach.to_end[0] != 0;
    r->loads = loads;
    for (size_t stage = 0; status == POPLINER_OK && stage < r->num_stages; ++stage)
        for (size_t first = 0; first < n; loads += n - first, ++first)
            fill_row(r, stage, first, loads);
    return status;
}

static void end(relaxation *r) {
    pl_reachability_free(&r->reach);
    pl_arrays_free(&r->arrays);
}

/* ---- the largest stage ---- */

/* Raises the bound to the smallest limit with which stages, each alone, can cover the chain. */
static popliner_status bound_by_stages(relaxation *r) {
    size_t n = r->num_units;
    uint64_t *next = pl_arrays_new(&r->arrays, n + 1, sizeof *next);
    uint64_t *now = pl_arrays_new(&r->arrays, n + 1, sizeof *now);
    if (r->arrays.failed)
        return pl_fail_memory(r->error, "the bounds of the search");
    for (size_t unit = 0; unit < n; ++unit)
        next[unit] = NONE;
    for (size_t stage = r->num_stages; stage-- > 0;) {
        now[n] = NONE;
        for (size_t first = 0; first < n; ++first) {
            const uint64_t *loads = row(r, stage, first);
            now[first] = NONE;
            for (size_t d = 0; d < n - first; ++d) {
                uint64_t largest = loads[d] > next[first + d + 1] ? loads[d] : next[first + d + 1];
                now[first] = largest < now[first] ? largest : now[first];
            }
        }
        uint64_t *other = next;
        next = now;
        now = other;
    }
    raise(r, next[0]);
    return POPLINER_OK;
}

/* ---- the number of units that fit ---- */

/* Lower bounds of what stages and IPUs need, by number of units. */
typedef struct sizes {
    uint64_t *of_stage; /* [stages][units + 1] */
    uint64_t *of_ipu;   /* [stages][units + 1]: of the IPU, with its stages from this one on */
    size_t *next;       /* [stages]: the next stage of the same IPU, or SIZE_MAX */
} sizes;

/* Adds a stage to the bounds of its IPU. */
static void add_stage(const relaxation *r, sizes *s, size_t stage) {
    size_t width = r->num_units + 1;
    const uint64_t *own = s->of_stage + stage * width;
    uint64_t *sum = s->of_ipu + stage * width;
    if (s->next[stage] == SIZE_MAX) {
        memcpy(sum, own, width * sizeof *sum);
        return;
    }
    const uint64_t *later = s->of_ipu + s->next[stage] * width;
    for (size_t k = 0; k < width; ++k)
        sum[k] = NONE;
    for (size_t k = 1; k < width; ++k) {
        if (own[k] == NONE)
            continue;
        for (size_t j = 1; j + k < width; ++j) {
            uint64_t both = pl_add_or_never(later[j], own[k]);
            sum[j + k] = both < sum[j + k] ? both : sum[j + k];
        }
    }
}

static void fill_sizes(const relaxation *r, sizes *s) {
    size_t n = r->num_units;
    size_t width = n + 1;
    for (size_t stage = r->num_stages; stage-- > 0;) {
        uint64_t *own = s->of_stage + stage * width;
        for (size_t k = 0; k < width; ++k)
            own[k] = NONE;
        for (size_t first = 0; first < n; ++first) {
            const uint64_t *loads = row(r, stage, first);
            for (size_t d = 0; d < n - first; ++d)
                own[d + 1] = loads[d] < own[d + 1] ? loads[d] : own[d + 1];
        }
        s->next[stage] = SIZE_MAX;
        for (size_t other = r->num_stages; --other > stage;)
            if (r->problem->first_on_ipu[other] == r->problem->first_on_ipu[stage])
                s->next[stage] = other;
        add_stage(r, s, stage);
    }
}

static bool is_first_on_ipu(const relaxation *r, size_t stage) {
    return r->problem->first_on_ipu[stage] == stage;
}

/* Returns the largest number of units that an IPU's stages from this one on can hold; 0 if none. */
static size_t most_units(const relaxation *r, const sizes *s, size_t stage, uint64_t limit) {
    const uint64_t *sum = s->of_ipu + stage * (r->num_units + 1);
    for (size_t k = r->num_units; k > 0; --k)
        if (sum[k] != NONE && sum[k] <= limit)
            return k;
    return 0;
}

/* True if all IPUs together may hold the chain. */
static bool can_hold(const relaxation *r, const sizes *s, uint64_t limit) {
    size_t num_held = 0;
    for (size_t stage = 0; stage < r->num_stages; ++stage) {
        if (!is_first_on_ipu(r, stage))
            continue;
        size_t most = most_units(r, s, stage, limit);
        if (most == 0)
            return false;
        num_held += most;
    }
    return num_held >= r->num_units;
}

static popliner_status make_sizes(relaxation *r, sizes *s) {
    const size_t width = r->num_units + 1;
    *s = (sizes){pl_arrays_new(&r->arrays, r->num_stages * width, sizeof *s->of_stage),
                 pl_arrays_new(&r->arrays, r->num_stages * width, sizeof *s->of_ipu),
                 pl_arrays_new(&r->arrays, r->num_stages, sizeof *s->next)};
    if (r->arrays.failed)
        return pl_fail_memory(r->error, "the bounds of the search");
    fill_sizes(r, s);
    return POPLINER_OK;
}

static popliner_status bound_by_sizes(relaxation *r) {
    sizes s = {0};
    popliner_status status = make_sizes(r, &s);
    uint64_t low = r->bound->bound;
    uint64_t high = r->known == NONE ? NONE - 1 : r->known;
    while (status == POPLINER_OK && low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (can_hold(r, &s, middle))
            high = middle;
        else
            low = middle + 1;
    }
    if (status == POPLINER_OK)
        raise(r, low);
    return status;
}

/* ---- Lagrange ---- */

typedef struct weights {
    double *of_ipu; /* [stages], by first stage */
    double *rest;   /* [stages + 1][units + 1]: the smallest sum from there on */
    uint32_t *ends; /* [stages][units]: the end of the best stage */
    uint64_t *sums; /* [stages], by first stage: what the IPU's best stages need */
} weights;

/* Returns the smallest weighted sum; INFINITY if there is no split. */
static double find_least(const relaxation *r, weights *w) {
    size_t n = r->num_units;
    size_t width = n + 1;
    for (size_t unit = 0; unit < n; ++unit)
        w->rest[r->num_stages * width + unit] = INFINITY;
    w->rest[r->num_stages * width + n] = 0.0;
    for (size_t stage = r->num_stages; stage-- > 0;) {
        double weight = w->of_ipu[r->problem->first_on_ipu[stage]];
        const double *next = w->rest + (stage + 1) * width;
        double *now = w->rest + stage * width;
        now[n] = INFINITY;
        for (size_t first = 0; first < n; ++first) {
            const uint64_t *loads = row(r, stage, first);
            double least = INFINITY;
            for (size_t d = 0; d < n - first; ++d) {
                if (loads[d] == NONE)
                    continue;
                double sum = weight * (double)loads[d] + next[first + d + 1];
                if (sum < least) {
                    least = sum;
                    w->ends[stage * n + first] = (uint32_t)(first + d + 1);
                }
            }
            now[first] = least;
        }
    }
    return w->rest[0];
}

/* Sums the loads of the IPUs in the split that the tables have. */
static void find_sums(const relaxation *r, weights *w) {
    size_t unit = 0;
    memset(w->sums, 0, r->num_stages * sizeof *w->sums);
    for (size_t stage = 0; stage < r->num_stages; ++stage) {
        size_t end = w->ends[stage * r->num_units + unit];
        uint64_t *sum = &w->sums[r->problem->first_on_ipu[stage]];
        *sum = pl_add_or_never(*sum, row(r, stage, unit)[end - 1 - unit]);
        unit = end;
    }
}

/* Bounds that keep weights finite and above 0. */
#define LEAST_WEIGHT 1e-9
#define MOST_ABOVE 4.0

/* Raises the weights of IPUs with more than `target`, and lowers the others. */
static void adjust(const relaxation *r, weights *w, double target, double step) {
    double sum = 0.0;
    for (size_t stage = 0; stage < r->num_stages; ++stage) {
        if (r->problem->first_on_ipu[stage] != stage)
            continue;
        double above = (double)w->sums[stage] / target - 1.0;
        w->of_ipu[stage] *= exp(step * (above < MOST_ABOVE ? above : MOST_ABOVE));
        w->of_ipu[stage] = w->of_ipu[stage] > LEAST_WEIGHT ? w->of_ipu[stage] : LEAST_WEIGHT;
        sum += w->of_ipu[stage];
    }
    for (size_t stage = 0; stage < r->num_stages; ++stage)
        w->of_ipu[stage] /= sum;
}

static void run_lagrange(relaxation *r, weights *w) {
    for (size_t stage = 0; stage < r->num_stages; ++stage)
        if (r->problem->first_on_ipu[stage] == stage)
            w->of_ipu[stage] = 1.0 / (double)r->problem->num_ipus;
    for (size_t i = 0; i < MOST_STEPS && r->bound->bound < r->known; ++i) {
        double least = find_least(r, w);
        r->asked->shared->work += r->num_stages * pl_triangle_size(r->num_units) / 8;
        if (i > 0 && must_end(r))
            break;
        if (least == INFINITY) {
            raise(r, r->known);
            break;
        }
        /* the margin covers rounding */
        double safe = ceil(least * (1.0 - 1e-9) - 1e-6);
        if (safe > 0.0 && safe < 1.8e19)
            raise(r, (uint64_t)safe);
        if (least <= 0.0)
            break;
        find_sums(r, w);
        adjust(r, w, least, 1.0 / (1.0 + 0.1 * (double)i));
    }
}

static popliner_status bound_by_weights(relaxation *r) {
    size_t n = r->num_units;
    weights w = {
        .of_ipu = pl_arrays_new(&r->arrays, r->num_stages, sizeof *w.of_ipu),
        .rest = pl_arrays_new(&r->arrays, (r->num_stages + 1) * (n + 1), sizeof *w.rest),
        .ends = pl_arrays_new(&r->arrays, r->num_stages * n, sizeof *w.ends),
        .sums = pl_arrays_new(&r->arrays, r->num_stages, sizeof *w.sums),
    };
    if (r->arrays.failed)
        return pl_fail_memory(r->error, "the bounds of the search");
    run_lagrange(r, &w);
    return POPLINER_OK;
}

/* ---- all relaxations ---- */

static popliner_status bound_traffic(relaxation *r) {
    bool is_stopped = false;
    pl_split split = {0};
    const pl_filter filter = {.limits = *r->limits, .max_spread = UINT64_MAX};
    popliner_status status = pl_dynamic_program(r->problem, &filter, PL_GOAL_FEWEST_CUT_BYTES,
                                                r->asked->stop, &split, &is_stopped, r->error);
    if (status == POPLINER_OK && (split.num_stages > 0 || !is_stopped))
        raise(r, split.num_stages > 0 ? pl_split_cut_bytes(r->problem, &split) : r->known);
    pl_split_move(&r->bound->hint, &split);
    return status;
}

popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known,
                                     pl_shared_bound *bound, popliner_error *error) {
    relaxation r = {.asked = asked,
                    .limits = &filter->limits,
                    .problem = asked->problem,
                    .objective = objective,
                    .num_units = asked->problem->num_units,
                    .num_stages = asked->problem->options->num_mapped_stages,
                    .known = known,
                    .bound = bound,
                    .error = error};
    bool is_possible = false;
    if (pl_objective_of(objective)->goal == PL_GOAL_FEWEST_CUT_BYTES)
        return bound_traffic(&r);
    if (pl_objective_of(objective)->kind != PL_OBJECTIVE_LARGEST || known == 0 ||
        r.problem->max_stages < r.problem->min_stages ||
        pl_triangle_size(r.num_units) > MOST_NUMBERS / r.num_stages)
        return POPLINER_OK;
    popliner_status status = begin_relaxation(&r, &is_possible);
    if (status == POPLINER_OK && !is_possible)
        raise(&r, known);
    if (status == POPLINER_OK && is_possible)
        status = bound_by_stages(&r);
    /* filling the loads took longer */
    if (status == POPLINER_OK && is_possible && !pl_stop_is_wanted(asked->stop))
        status = bound_by_sizes(&r);
    if (status == POPLINER_OK && is_possible && !must_end(&r))
        status = bound_by_weights(&r);
    end(&r);
    return status;
}
