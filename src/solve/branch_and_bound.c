/* Depth first: one stage after another, by where it ends.
 *
 * An IPU is measured when all of its stages are known, and only if nothing that is known of it says
 * whether it fits: it does not if its stages contain some that do not, it does if they are
 * contained in some that do.
 *
 * Behind each stage a bound is taken: every stage that is to come as long as it may be, wherever up
 * to there it begins; where it is the last one of its IPU, as long as it fits together with the
 * others, which are known. That is no shorter than what it can reach, for a stage that begins
 * earlier and ends at the same unit needs no less. If the last one does not reach the end of the
 * chain, nothing does.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/branch_and_bound.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"

#include <stdlib.h>
#include <string.h>

#define NO_SPLIT UINT64_MAX /* more than any sum of cut bytes */

/* How many stages are tried between two looks at the clock. */
enum { STAGES_PER_LOOK = 64 };

/* Entries of pl_shared, the one that helped last in front. */
typedef struct entries {
    size_t *items; /* owned */
    size_t count;
    size_t capacity;
} entries;

/* An IPU, by its first stage. */
typedef struct ipu {
    size_t last_stage;
    uint64_t limit_bytes;
    entries too_large;
    entries fitting;
} ipu;

typedef struct search {
    const pl_problem *problem;
    const pl_limits *limits;
    pl_goal goal;
    const pl_stop *stop;
    pl_shared *shared;
    size_t num_units;
    size_t num_stages;
    uint8_t *ok;                 /* [stages]: a triangle of what may be that stage, row by row */
    size_t *farthest;            /* [stages][units]: the last unit of a stage that begins so far or
                                    earlier, NO_UNIT if there is none */
    uint64_t *rest_bytes;        /* [stages + 1][units + 1]: the cuts behind, at least */
    ipu *ipus;                   /* [stages] */
    popliner_interval *stages;   /* [stages]: chosen so far */
    popliner_interval *together; /* [stages]: those of one IPU */
    size_t num_tried;
    uint64_t used_bytes; /* of the cuts so far */
    uint64_t max_bytes;  /* that all cuts may cost */
    uint64_t best_bytes; /* those of the split, for the goal FEWEST_CUT_BYTES */
    pl_split *split;
    bool is_done;
    bool is_stopped;
    popliner_error *error;
} search;

#define NO_UNIT SIZE_MAX

static bool is_of(const search *s, size_t stage, size_t first_stage) {
    return s->problem->first_on_ipu[stage] == first_stage;
}

static const uint8_t *marks(const search *s, size_t stage, size_t first_unit) {
    size_t n = s->num_units;
    return s->ok + stage * pl_triangle_size(n) + pl_triangle_row(n, first_unit);
}

static bool contains(const popliner_interval *outer, const popliner_interval *inner) {
    return outer->first_unit <= inner->first_unit && outer->last_unit >= inner->last_unit;
}

/* ---- whether an IPU fits ---- */

static popliner_status remember(search *s, size_t first_stage, size_t entry) {
    ipu *u = &s->ipus[first_stage];
    entries *list = s->shared->peak_bytes[entry] > u->limit_bytes ? &u->too_large : &u->fitting;
    if (!pl_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return pl_fail_memory(s->error, "the stages that share an IPU");
    list->items[list->count++] = entry;
    return POPLINER_OK;
}

/* Looks for an entry that contains the chosen stages of the IPU, or is contained in them. */
static bool is_known(search *s, size_t first_stage, entries *list, bool contains_them) {
    for (size_t i = 0; i < list->count; ++i) {
        size_t entry = list->items[i];
        const popliner_interval *known = s->shared->intervals + entry * s->num_stages;
        bool is_so = true;
        for (size_t stage = first_stage; is_so && stage <= s->ipus[first_stage].last_stage; ++stage)
            is_so = !is_of(s, stage, first_stage) ||
                    (contains_them ? contains(&known[stage], &s->stages[stage])
                                   : contains(&s->stages[stage], &known[stage]));
        if (!is_so)
            continue;
        memmove(list->items + 1, list->items, i * sizeof *list->items);
        list->items[0] = entry;
        return true;
    }
    return false;
}

/* Whether the chosen stages of an IPU, all of them, fit together. */
static popliner_status measure(search *s, size_t first_stage, bool *fits) {
    ipu *u = &s->ipus[first_stage];
    *fits = is_known(s, first_stage, &u->fitting, true);
    if (*fits || is_known(s, first_stage, &u->too_large, false))
        return POPLINER_OK;
    size_t count = 0;
    uint64_t peak_bytes = 0;
    for (size_t stage = first_stage; stage <= u->last_stage; ++stage)
        if (is_of(s, stage, first_stage))
            s->together[count++] = s->stages[stage];
    popliner_status status =
        pl_problem_shared_peak(s->problem, s->together, count, &peak_bytes, s->error);
    if (status == POPLINER_OK)
        status =
            pl_shared_add(s->shared, s->num_stages, s->stages, first_stage, peak_bytes, s->error);
    if (status == POPLINER_OK)
        status = remember(s, first_stage, s->shared->count - 1);
    *fits = peak_bytes <= u->limit_bytes;
    return status;
}

/* The unit behind the longest stage that begins at first_unit, ends at max_unit at the latest and
 * fits on its IPU with the others there, which are chosen; first_unit if there is none. */
static popliner_status find_end(search *s, size_t stage, size_t first_unit, size_t max_unit,
                                size_t *end) {
    size_t first_stage = s->problem->first_on_ipu[stage];
    size_t min_end = first_unit; /* an end that is possible */
    size_t max_end = max_unit + 1;
    size_t middle = max_end; /* the longest one first: mostly it fits */
    while (min_end < max_end) {
        bool fits = false;
        s->stages[stage] = (popliner_interval){first_unit, middle - 1, s->num_stages - stage};
        popliner_status status = measure(s, first_stage, &fits);
        if (status != POPLINER_OK)
            return status;
        if (fits)
            min_end = middle;
        else
            max_end = middle - 1;
        middle = max_end - (max_end - min_end) / 2;
    }
    *end = min_end;
    return POPLINER_OK;
}

/* Whether the stage is the last one on an IPU that it shares. */
static bool is_last_of_several(const search *s, size_t stage) {
    size_t first_stage = s->problem->first_on_ipu[stage];
    return first_stage < stage && s->ipus[first_stage].last_stage == stage;
}

/* Whether the stages from `stage` on may reach the end of the chain if they begin at `unit`. */
static popliner_status look_ahead(search *s, size_t stage, size_t unit, bool *reaches) {
    size_t num_chosen = stage;
    *reaches = false;
    for (; stage < s->num_stages; ++stage) {
        if (unit >= s->num_units)
            unit = s->num_units - 1;
        size_t last = s->farthest[stage * s->num_units + unit];
        if (last == NO_UNIT)
            return POPLINER_OK;
        bool are_others_chosen = is_last_of_several(s, stage);
        for (size_t other = num_chosen; other < stage; ++other)
            are_others_chosen =
                are_others_chosen && !is_of(s, other, s->problem->first_on_ipu[stage]);
        size_t end = last + 1;
        if (are_others_chosen) {
            popliner_status status = find_end(s, stage, unit, last, &end);
            if (status != POPLINER_OK)
                return status;
        }
        unit = end;
    }
    *reaches = unit >= s->num_units;
    return POPLINER_OK;
}

/* ---- the search ---- */

/* Whether the stage, which is chosen, leaves its IPU within the cycles, and the pairs together. */
static bool is_allowed(const search *s, size_t stage) {
    const pl_problem *p = s->problem;
    const popliner_interval *it = &s->stages[stage];
    uint64_t cycles = 0;
    for (size_t other = 0; other <= stage; ++other)
        if (is_of(s, other, p->first_on_ipu[stage]))
            cycles =
                pl_add_or_never(cycles, pl_problem_cycles(p, other, s->stages[other].first_unit,
                                                          s->stages[other].last_unit));
    if (cycles > s->limits->max_cycles)
        return false;
    for (size_t i = 0; i < p->options->num_pairs; ++i) {
        popliner_pair pair = p->options->pairs[i];
        size_t early = pair.first_unit < pair.second_unit ? pair.first_unit : pair.second_unit;
        size_t late = pair.first_unit < pair.second_unit ? pair.second_unit : pair.first_unit;
        if (p->is_pair_active[i] == 0 || late < it->first_unit || late > it->last_unit)
            continue;
        for (size_t other = 0; other < stage; ++other)
            if (s->stages[other].first_unit <= early && early <= s->stages[other].last_unit &&
                !is_of(s, other, p->first_on_ipu[stage]))
                return false;
    }
    return true;
}

/* All stages are chosen: keeps the split. */
static popliner_status take(search *s) {
    pl_split split = {0};
    pl_objective_values values = {0};
    popliner_status status = POPLINER_OK;
    for (size_t stage = 0; stage < s->num_stages; ++stage)
        if (!pl_split_append(&split, s->stages[stage].first_unit)) {
            status = pl_fail_memory(s->error, "the stages");
            goto done;
        }
    status = pl_split_evaluate(s->problem, &split, &values, NULL, s->error);
    if (status == POPLINER_OK && pl_limits_admit(s->limits, &values)) {
        pl_split_move(s->split, &split);
        s->is_done = s->goal != PL_GOAL_FEWEST_CUT_BYTES || values.cut_bytes == 0;
        s->best_bytes = values.cut_bytes;
        s->max_bytes = values.cut_bytes - (values.cut_bytes > 0);
    }
done:
    pl_split_clear(&split);
    return status;
}

static popliner_status choose(search *s, size_t stage, size_t first_unit);

/* Tries the stage with the end `end`, and what is behind it. */
static popliner_status try_end(search *s, size_t stage, size_t first_unit, size_t end) {
    size_t n = s->num_units;
    uint64_t used_bytes = s->used_bytes;
    uint64_t cut_bytes = end < n ? popliner_costs_cut(s->problem->costs, end) : 0;
    uint64_t rest_bytes = s->rest_bytes[(stage + 1) * (n + 1) + end];
    bool reaches = true;
    popliner_status status = POPLINER_OK;
    s->stages[stage] = (popliner_interval){first_unit, end - 1, s->num_stages - stage};
    cut_bytes = pl_add_cut_bytes(used_bytes, cut_bytes);
    if (rest_bytes == NO_SPLIT || pl_add_cut_bytes(cut_bytes, rest_bytes) > s->max_bytes ||
        !is_allowed(s, stage))
        return POPLINER_OK;
    if (end < n)
        status = look_ahead(s, stage + 1, end, &reaches);
    if (status != POPLINER_OK || !reaches)
        return status;
    s->used_bytes = cut_bytes;
    status = stage + 1 < s->num_stages ? choose(s, stage + 1, end) : take(s);
    s->used_bytes = used_bytes;
    return status;
}

/* Tries all ends of a stage: for the earliest cuts from the shortest on. Otherwise the longest
 * comes first, which leaves least to those behind it. */
static popliner_status choose(search *s, size_t stage, size_t first_unit) {
    const uint8_t *ok = marks(s, stage, first_unit);
    size_t count = s->num_units - first_unit;
    while (count > 0 && ok[count - 1] == 0)
        --count;
    if (count > 0 && is_last_of_several(s, stage)) {
        size_t end = 0;
        popliner_status status = find_end(s, stage, first_unit, first_unit + count - 1, &end);
        if (status != POPLINER_OK)
            return status;
        count = end - first_unit;
    }
    for (size_t i = 0; !s->is_done && i < count; ++i) {
        size_t d = s->goal == PL_GOAL_EARLIEST_CUTS ? i : count - 1 - i;
        if (ok[d] == 0)
            continue;
        if (++s->num_tried % STAGES_PER_LOOK == 0 && pl_stop_is_wanted(s->stop)) {
            s->is_stopped = s->is_done = true;
            break;
        }
        popliner_status status = try_end(s, stage, first_unit, first_unit + d + 1);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

/* ---- getting ready ---- */

/* What may be which stage, by itself. */
static popliner_status mark(search *s, const pl_split *fixed) {
    size_t n = s->num_units;
    pl_reachability reachability = {
        .problem = s->problem, .limits = s->limits, .num_stages = s->num_stages};
    if (fixed != NULL) {
        reachability.fixed_units = fixed->first_units;
        reachability.num_fixed = fixed->num_stages;
    }
    popliner_status status = pl_reachability_find(&reachability, s->error);
    uint8_t *ok = s->ok;
    if (status != POPLINER_OK)
        goto done;
    for (size_t stage = 0; stage < s->num_stages; ++stage) {
        size_t farthest = NO_UNIT;
        for (size_t i = 0; i < n; ok += n - i, ++i) {
            if (!pl_reachability_mark(&reachability, stage, i, ok))
                memset(ok, 0, n - i);
            size_t count = n - i;
            while (count > 0 && ok[count - 1] == 0)
                --count;
            if (count > 0 && (farthest == NO_UNIT || i + count - 1 > farthest))
                farthest = i + count - 1;
            s->farthest[stage * n + i] = farthest;
        }
    }
done:
    pl_reachability_free(&reachability);
    return status;
}

/* The fewest bytes of the cuts behind a unit, sharing left aside. */
static void fill_rest(search *s) {
    size_t n = s->num_units;
    for (size_t i = 0; i <= n; ++i)
        s->rest_bytes[s->num_stages * (n + 1) + i] = i < n ? NO_SPLIT : 0;
    for (size_t stage = s->num_stages; stage-- > 0;) {
        const uint64_t *next = s->rest_bytes + (stage + 1) * (n + 1);
        uint64_t *row = s->rest_bytes + stage * (n + 1);
        row[n] = NO_SPLIT;
        for (size_t i = 0; i < n; ++i) {
            const uint8_t *ok = marks(s, stage, i);
            row[i] = NO_SPLIT;
            for (size_t end = i + 1; end <= n; ++end) {
                if (ok[end - 1 - i] == 0 || next[end] == NO_SPLIT)
                    continue;
                uint64_t cut_bytes = end < n ? popliner_costs_cut(s->problem->costs, end) : 0;
                uint64_t bytes = pl_add_cut_bytes(cut_bytes, next[end]);
                row[i] = bytes < row[i] ? bytes : row[i];
            }
        }
    }
}

static popliner_status prepare(search *s, const pl_split *fixed) {
    size_t n = s->num_units;
    s->ok = pl_new_array(s->num_stages * pl_triangle_size(n), sizeof *s->ok);
    s->farthest = pl_new_array(s->num_stages * n, sizeof *s->farthest);
    s->rest_bytes = pl_new_array((s->num_stages + 1) * (n + 1), sizeof *s->rest_bytes);
    s->ipus = pl_new_array(s->num_stages, sizeof *s->ipus);
    s->stages = pl_new_array(s->num_stages, sizeof *s->stages);
    s->together = pl_new_array(s->num_stages, sizeof *s->together);
    if (s->ok == NULL || s->farthest == NULL || s->rest_bytes == NULL || s->ipus == NULL ||
        s->stages == NULL || s->together == NULL)
        return pl_fail_memory(s->error, "the search over the stages");
    for (size_t stage = 0; stage < s->num_stages; ++stage) {
        ipu *u = &s->ipus[s->problem->first_on_ipu[stage]];
        u->last_stage = stage;
        u->limit_bytes = pl_limits_peak(s->problem, s->limits, pl_problem_ipu(s->problem, stage));
    }
    for (size_t i = 0; i < s->shared->count; ++i) {
        popliner_status status = remember(s, s->shared->first_stage[i], i);
        if (status != POPLINER_OK)
            return status;
    }
    popliner_status status = mark(s, fixed);
    if (status == POPLINER_OK)
        fill_rest(s);
    return status;
}

static void clear(search *s) {
    for (size_t stage = 0; s->ipus != NULL && stage < s->num_stages; ++stage) {
        free(s->ipus[stage].too_large.items);
        free(s->ipus[stage].fitting.items);
    }
    free(s->ok);
    free(s->farthest);
    free(s->rest_bytes);
    free(s->ipus);
    free(s->stages);
    free(s->together);
}

bool pl_branch_and_bound_can(const pl_problem *problem) {
    return problem->is_shared && pl_costs_shared_peak_never_shrinks(problem->costs);
}

popliner_status pl_branch_and_bound(const pl_shared_search *asked, const pl_limits *limits,
                                    pl_split *split, pl_search_result *result,
                                    popliner_error *error) {
    search s = {.problem = asked->problem,
                .limits = limits,
                .goal = asked->goal,
                .stop = asked->stop,
                .shared = asked->shared,
                .num_units = asked->problem->num_units,
                .num_stages = asked->problem->options->num_mapped_stages,
                .max_bytes = limits->max_cut_bytes,
                .split = split,
                .error = error};
    if (s.problem->max_stages < s.problem->min_stages)
        return POPLINER_OK;
    popliner_status status = prepare(&s, asked->fixed);
    if (status == POPLINER_OK)
        status = choose(&s, 0, 0);
    result->bound_bytes = s.is_stopped ? 0 : s.best_bytes;
    result->is_stopped = s.is_stopped;
    result->proof = POPLINER_PROOF_SEARCH;
    clear(&s);
    return status;
}
