/* The split of a pipeline whose step takes least: moves of cuts, and the bound of a game.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/choosing.h"
#include "solve/ipus.h"
#include "solve/places.h"
#include "solve/plan.h"
#include "solve/step_game.h"

/* Larger tables would take too much memory. WORK_OF... are units of work: of an interval, of a
 * choice of ways, and of variants for each unit. More than 4 cuts moved together find nothing more
 * with one stage on a device; with several, moving any range of them, and several ranges at once,
 * does. */
enum {
    MAX_PLACES = 1 << 21,
    MOST_SPLITS = 1 << 16, /* all of which are tried */
    WORK_OF_STAGE = 8,
    WORK_OF_WAYS = 4,
    WORK_OF_VARIANTS = 256,
    MOST_MOVED = 4,
    STEPS_OF_STAGES = 2000,
    PARTS_OF_WORK = 4,
    MAX_ARCS = 1 << 20
};

/* The units of a stage. */
typedef struct span {
    size_t first;
    size_t end;
} span;

typedef struct step_search {
    const pl_step_question *q;
    pl_order order;
    pl_step_graph graph;
    uint64_t *cycles; /* [num_parts] of the passes of some split, for the graph */
    span *divided;    /* [num_stages] its stages; of no units at first */
    pl_problem problem;
    pl_limits limits;  /* of splits that count */
    pl_limits shorter; /* and of those that may be better */
    size_t num_units;
    size_t num_stages;
    size_t num_ipus;
    size_t num_chunks;
    uint64_t num_micro;
    pl_ways_through ways; /* the stages with which others make a split */
    pl_step_arc *arcs;    /* those of splits that are shorter than the best one */
    size_t num_arcs;

    size_t *place;  /* [num_stages] first units, where the search wanders */
    pl_split split; /* the current one */
    bool is_kept;   /* it is better than the best one before */
    pl_split best_split;
    pl_step_answer *answer;
    pl_objective_values best;
    uint64_t *peaks_bytes; /* [num_stages] scratch */
    uint64_t *work;
    popliner_interval *together; /* [num_stages] scratch */
    pl_arrays arrays;            /* own the arrays above */
} step_search;

/* ---- stages ---- */

/* Returns what stage k, which chooses, does with the units first ... end - 1. Each stage is as fast
 * as its memory allows, because a longer pass never makes a step shorter. */
static pl_load choose(step_search *s, size_t k, size_t first, size_t end) {
    const pl_wish wish = {s->limits, true};
    const popliner_interval stage = {first, end - 1, s->num_stages - k};
    const bool has_ways = s->problem.costs->choices->variants == NULL;
    pl_load load;
    *s->work -= pl_smaller(*s->work, has_ways ? WORK_OF_WAYS : WORK_OF_VARIANTS * (end - first));
    pl_chooser_weigh(&s->problem, &wish, &stage, s->num_stages, &load);
    return load;
}

/* Returns the passes of stage k with the units first ... end - 1. */
static pl_step_parts passes_of(step_search *s, size_t k, size_t first, size_t end) {
    const uint64_t *before = pl_links_before(&s->problem.links, k);
    const uint64_t *after = pl_links_before(&s->problem.links, k + 1);
    const popliner_plan_stage stage = {
        .first_unit = first,
        .last_unit = end - 1,
        .ipu = pl_problem_ipu(&s->problem, k),
        .cycles = s->problem.chooser != NULL ? choose(s, k, first, end).cycles
                                             : pl_problem_cycles(&s->problem, k, first, end - 1),
    };
    const uint64_t link_cycles = before == NULL ? 0 : before[first] + after[end];
    return pl_step_passes(&stage, link_cycles, s->q->options, s->q->pipeline, s->q->costs);
}

/* Returns how long splits are that are not better than the best one, or do not count. */
static uint64_t useless_cycles(const step_search *s) {
    return pl_smaller(s->answer->cycles, pl_add_or_never(s->q->max_cycles, 1));
}

/* Lists all stages that a split which is shorter than the best one may have; SIZE_MAX if there are
 * too many. */
static popliner_status find_arcs(step_search *s, popliner_error *error) {
    const size_t row = s->num_units + 1;
    for (size_t k = 0; k < s->num_stages; ++k)
        for (size_t first = 0; first < s->num_units; ++first)
            for (size_t end = s->ways.ends[k].from[first]; end < s->ways.ends[k].to[first]; ++end) {
                if (!pl_stage_ends_have(&s->ways.ends[k], first, end))
                    continue;
                const pl_step_parts p = passes_of(s, k, first, end);
                const uint64_t own = p.forward + p.backward + p.weights;
                *s->work -= pl_smaller(*s->work, WORK_OF_STAGE);
                if (pl_multiply_or_never(s->num_micro, own) >= useless_cycles(s))
                    continue;
                if (s->num_arcs >= MAX_ARCS || *s->work == 0 ||
                    !pl_arrays_grow(&s->arrays, &s->arcs, s->num_arcs + 1, sizeof *s->arcs)) {
                    s->num_arcs = SIZE_MAX;
                    return s->arrays.failed ? pl_fail_memory(error, "the bounds of a step")
                                            : POPLINER_OK;
                }
                s->arcs[s->num_arcs++] =
                    (pl_step_arc){(uint32_t)(k * row + first),
                                  (uint32_t)((k + 1) * row + end),
                                  {(double)p.forward, (double)p.backward, (double)p.weights}};
            }
    return pl_chooser_failure(&s->problem, error);
}

/* ---- splits ---- */

/* Compares the objectives of a split with the best one's. */
static int compare_with_best(const step_search *s, const pl_objective_values *values) {
    const popliner_solver_options *o = s->q->options;
    const bool is_of_cycles = pl_spread_is_of_cycles(o);
    for (size_t i = 0; i < o->num_objectives; ++i) {
        const uint64_t own = pl_objective_value(values, o->objectives[i], is_of_cycles);
        const uint64_t other = pl_objective_value(&s->best, o->objectives[i], is_of_cycles);
        if (own != other)
            return own < other ? -1 : 1;
    }
    return 0;
}

/* Returns what follows the step of the current split. */
static uint64_t find_after(const step_search *s) {
    uint64_t after = s->q->least_after;
    for (size_t ipu = 0; s->q->after != NULL && ipu < s->num_ipus; ++ipu) {
        size_t count = 0;
        for (size_t k = 0; k < s->num_stages; ++k)
            if (pl_order_device(&s->order, k) == ipu)
                s->together[count++] = pl_split_interval(&s->problem, &s->split, k);
        after = pl_larger(after, s->q->after(s->q->user, s->together, count));
    }
    return after;
}

/* Finds the values of the current split. *fits tells whether it is within the limits. */
static popliner_status evaluate(step_search *s, pl_objective_values *values, bool *fits,
                                popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *fits = true;
    *values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    if (s->problem.chooser == NULL)
        status = pl_split_evaluate(&s->problem, &s->split, values, s->peaks_bytes, error);
    for (size_t k = 0; status == POPLINER_OK && k < s->num_stages; ++k) {
        const size_t ipu = pl_problem_ipu(&s->problem, k);
        if (s->problem.chooser == NULL) {
            *fits = *fits && s->peaks_bytes[k] <= pl_limits_peak(&s->problem, &s->limits, ipu);
            continue;
        }
        const popliner_interval own = pl_split_interval(&s->problem, &s->split, k);
        const pl_load load = choose(s, k, own.first_unit, own.last_unit + 1);
        *fits = *fits && load.peak_bytes != POPLINER_PEAK_FORBIDDEN;
        pl_objective_values_add(values, load);
    }
    if (s->problem.chooser != NULL)
        values->cut_bytes = pl_split_cut_bytes(&s->problem, &s->split);
    *fits = *fits && (s->q->filter == NULL || pl_filter_admits(s->q->filter, values));
    return status == POPLINER_OK ? pl_chooser_failure(&s->problem, error) : status;
}

/* Finds the passes of the current split's stages, of those that the last split did not have. */
static void divide_split(step_search *s) {
    for (size_t k = 0; k < s->num_stages; ++k) {
        const size_t first = s->split.first_units[k];
        const size_t end = k + 1 < s->num_stages ? s->split.first_units[k + 1] : s->num_units;
        if (s->divided[k].first == first && s->divided[k].end == end)
            continue;
        s->divided[k] = (span){first, end};
        pl_step_set_cycles(s->cycles, k, passes_of(s, k, first, end));
        *s->work -= pl_smaller(*s->work, 4);
    }
    *s->work -= pl_smaller(*s->work, s->num_stages / 4);
}

/* Returns the cycles of the current split, and of what follows, whose stages choose the fewest;
 * UINT64_MAX if the step alone takes more than `most`. */
static uint64_t run_split(step_search *s, uint64_t most) {
    divide_split(s);
    const uint64_t cycles = pl_step_run(&s->graph, s->cycles);
    *s->work -= pl_smaller(*s->work, s->graph.num_passes / 4);
    return cycles <= most ? pl_add_or_never(cycles, find_after(s)) : UINT64_MAX;
}

/* Keeps the current split if it counts and is better than the best one, or as fast and better in
 * the objectives; s->is_kept tells whether it did. */
static popliner_status try_split(step_search *s, popliner_error *error) {
    pl_step_answer *a = s->answer;
    pl_objective_values values;
    bool fits;
    s->is_kept = false;
    if (pl_problem_broken_pairs(&s->problem, s->split.first_units, s->num_stages) > 0)
        return POPLINER_OK;
    const bool has_best = s->best_split.num_stages > 0;
    const uint64_t most = has_best ? pl_smaller(s->q->max_cycles, a->cycles) : s->q->max_cycles;
    const uint64_t cycles = run_split(s, most);
    if (cycles > most)
        return pl_chooser_failure(&s->problem, error);
    popliner_status status = evaluate(s, &values, &fits, error);
    if (status != POPLINER_OK || !fits ||
        (has_best && cycles == a->cycles && compare_with_best(s, &values) >= 0))
        return status;
    s->is_kept = true;
    a->cycles = cycles;
    s->best = values;
    return pl_split_copy(&s->best_split, &s->split, error);
}

/* ---- moves ---- */

/* True if every stage of the current split may have its units. */
static bool is_allowed(const step_search *s) {
    const size_t *units = s->split.first_units;
    bool may = true;
    for (size_t k = 0; may && k < s->num_stages; ++k) {
        const size_t end = k + 1 < s->num_stages ? units[k + 1] : s->num_units;
        may = units[k] < end && end <= s->num_units &&
              pl_stage_ends_have(&s->ways.ends[k], units[k], end);
    }
    return may;
}

/* Moves cuts first ... end - 1 of the best split by one unit, `by`, and tries that split. */
static popliner_status try_move(step_search *s, size_t first, size_t end, size_t by,
                                popliner_error *error) {
    popliner_status status = pl_split_copy(&s->split, &s->best_split, error);
    s->is_kept = false;
    if (status != POPLINER_OK)
        return status;
    for (size_t k = first; k < end; ++k)
        s->split.first_units[k] += by;
    return is_allowed(s) ? try_split(s, error) : POPLINER_OK;
}

/* Moves one or several neighbouring cuts of the best split by one unit while that makes it
 * better. */
static popliner_status climb(step_search *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    const size_t most = s->num_chunks > 1 ? s->num_stages : MOST_MOVED;
    bool goes_on = s->best_split.num_stages > 0;
    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < 2 * most; ++i)
            for (size_t first = 1; first + i / 2 < s->num_stages; ++first) {
                status = try_move(s, first, first + i / 2 + 1, i % 2 == 0 ? 1 : SIZE_MAX, error);
                if (status != POPLINER_OK || *s->work == 0 || pl_stop_is_wanted(s->q->stop))
                    return status;
                goes_on = goes_on || s->is_kept;
            }
    }
    return status;
}

static size_t draw(uint64_t *random, size_t limit) {
    return (size_t)pl_random_below(random, limit);
}

/* Moves the cuts between two stages: the one gets a unit more, the other one a unit less. */
static void shift(step_search *s, size_t gains, size_t loses) {
    const size_t by = gains < loses ? 1 : SIZE_MAX;
    for (size_t k = pl_fewer(gains, loses) + 1; k <= pl_more(gains, loses); ++k)
        s->split.first_units[k] += by;
}

/* Draws a stage of the device of stage k. */
static size_t draw_beside(const step_search *s, size_t k, uint64_t *random) {
    const size_t device = pl_order_device(&s->order, k);
    size_t beside = draw(random, s->num_chunks) * s->num_ipus;
    while (pl_order_device(&s->order, beside) != device)
        ++beside;
    return beside;
}

/* Moves some ranges of cuts of the current split by one unit, at random. Where the devices of two
 * stages are as full as before, because others of them move back, its step is seldom much
 * longer. */
static void move_some(step_search *s, uint64_t *random) {
    for (size_t num_moves = 1 + draw(random, 3); num_moves > 0; --num_moves) {
        const size_t a = draw(random, s->num_stages);
        const size_t b = draw(random, 2) > 0 ? draw(random, s->num_stages)
                                             : pl_fewer(a + 1 + draw(random, 3), s->num_stages - 1);
        const size_t gains = draw(random, 2) > 0 ? a : b;
        const size_t loses = a + b - gains;
        shift(s, gains, loses);
        if (draw(random, 2) > 0)
            shift(s, draw_beside(s, loses, random), draw_beside(s, gains, random));
    }
}

/* Wanders from the best split to others, each slower than the one before by less and less at most,
 * at first by a part of the best one (threshold accepting: Dueck and Scheuer 1990); always the same
 * ones. Then climbs. */
static popliner_status wander(step_search *s, uint64_t part, popliner_error *error) {
    const uint64_t num_steps = STEPS_OF_STAGES * s->num_stages * s->num_stages;
    const uint64_t begun = *s->work;
    const size_t size = s->num_stages * sizeof *s->place;
    uint64_t random = 1;
    uint64_t cycles = s->answer->cycles;
    popliner_status status = POPLINER_OK;
    if (s->best_split.num_stages == 0 || s->answer->cycles <= s->answer->bound_cycles)
        return POPLINER_OK;
    memcpy(s->place, s->best_split.first_units, size);
    for (uint64_t i = 0; status == POPLINER_OK && i < num_steps; i++) {
        if (*s->work <= begun - begun / PARTS_OF_WORK ||
            s->answer->cycles <= s->answer->bound_cycles || pl_stop_is_wanted(s->q->stop))
            break;
        const double left =
            fmin((double)(num_steps - i) / (double)num_steps,
                 (double)PARTS_OF_WORK * ((double)*s->work / (double)begun - 1) + 1);
        const uint64_t slower_cycles = s->answer->cycles / part;
        const uint64_t most = cycles + (uint64_t)((double)slower_cycles * left);
        memcpy(s->split.first_units, s->place, size);
        move_some(s, &random);
        *s->work -= pl_smaller(*s->work, s->num_stages);
        if (!is_allowed(s))
            continue;
        const uint64_t own = run_split(s, most);
        if (own > most)
            continue;
        const uint64_t best = s->answer->cycles;
        if (own <= best)
            status = try_split(s, error);
        if (own < best && !s->is_kept) /* it does not fit */
            continue;
        memcpy(s->place, s->split.first_units, size);
        cycles = own;
    }
    return status == POPLINER_OK ? climb(s, error) : status;
}

static popliner_status begin_with(step_search *s, const popliner_plan *plan,
                                  popliner_error *error) {
    if (plan == NULL || plan->num_stages != s->num_stages)
        return POPLINER_OK;
    for (size_t k = 0; k < s->num_stages; ++k)
        s->split.first_units[k] = plan->stages[k].first_unit;
    return try_split(s, error);
}

/* Tries even stages: as many layers each, with the units before and after all layers. */
static popliner_status try_even(step_search *s, popliner_error *error) {
    const uint8_t *counts = s->q->options->counted_units;
    size_t num_layers = 0;
    size_t num_before = 0;
    size_t k = 1;
    for (size_t unit = 0; unit < s->num_units; ++unit)
        num_layers += counts == NULL || counts[unit] != 0;
    s->split.first_units[0] = 0;
    for (size_t unit = 0; unit < s->num_units && k < s->num_stages; ++unit) {
        if (counts != NULL && counts[unit] == 0)
            continue;
        if (num_before == k * num_layers / s->num_stages)
            s->split.first_units[k++] = unit;
        ++num_before;
    }
    return k == s->num_stages && is_allowed(s) ? try_split(s, error) : POPLINER_OK;
}

/* ---- the answer ---- */

/* Makes the plan of the best split, and its step. */
static popliner_status make_plan(step_search *s, popliner_error *error) {
    pl_step_answer *a = s->answer;
    const popliner_solver_options *o = s->q->options;
    const bool is_of_cycles = pl_spread_is_of_cycles(o);
    if (s->best_split.num_stages == 0)
        return POPLINER_OK;
    pl_chooser_limit(&s->problem, &s->limits, true);
    popliner_status status = pl_plan_create_empty(true, &a->plan, error);
    popliner_plan *plan = a->plan;
    if (status == POPLINER_OK)
        status = pl_plan_fill(&s->problem, &s->best_split, is_of_cycles, plan, error);
    if (status == POPLINER_OK && s->problem.chooser != NULL)
        status = pl_chooser_name(&s->problem, plan, error);
    if (status == POPLINER_OK)
        status = pl_step_find(plan, o, s->q->pipeline, s->q->costs, &a->step, error);
    if (status != POPLINER_OK)
        return status;
    plan->status = POPLINER_PLAN_FEASIBLE;
    plan->num_units = s->num_units;
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_NONE;
    plan->num_values = o->num_objectives;
    for (size_t i = 0; i < o->num_objectives; ++i)
        plan->values[i] = (popliner_plan_value){
            o->objectives[i], pl_objective_value(&s->best, o->objectives[i], is_of_cycles),
            .proof = POPLINER_PROOF_NONE};
    return POPLINER_OK;
}

/* ---- the search ---- */

/* Tries all splits that begin with the first k stages of the current one, until no more than
 * least_work is left. */
static popliner_status try_from(step_search *s, size_t k, uint64_t least_work,
                                popliner_error *error) {
    const size_t first = s->split.first_units[k];
    const pl_stage_ends *ends = &s->ways.ends[k];
    popliner_status status = POPLINER_OK;
    if (k + 1 == s->num_stages)
        return pl_stage_ends_have(ends, first, s->num_units) ? try_split(s, error) : status;
    for (size_t end = ends->from[first]; end < ends->to[first] && status == POPLINER_OK; ++end) {
        if (*s->work <= least_work || pl_stop_is_wanted(s->q->stop))
            break;
        s->split.first_units[k + 1] = end;
        if (pl_stage_ends_have(ends, first, end))
            status = try_from(s, k + 1, least_work, error);
    }
    return status;
}

/* Tries all splits if they are few, so that the best one is proven. */
static popliner_status try_all(step_search *s, popliner_error *error) {
    uint64_t num_splits = 1;
    for (size_t k = 1; k < s->num_stages && num_splits <= MOST_SPLITS; ++k)
        num_splits = num_splits * (s->num_units - k) / k; /* a binomial coefficient each time */
    if (num_splits > MOST_SPLITS)
        return POPLINER_OK;
    const uint64_t least_work = *s->work - *s->work / PARTS_OF_WORK;
    const popliner_status status = try_from(s, 0, least_work, error);
    if (status == POPLINER_OK && *s->work > least_work && !pl_stop_is_wanted(s->q->stop))
        s->answer->bound_cycles = pl_larger(s->answer->bound_cycles, useless_cycles(s));
    return status;
}

/* Raises the bound by that of a game. */
static popliner_status play(step_search *s, popliner_error *error) {
    const uint64_t useless = useless_cycles(s);
    uint64_t bound;
    if (s->answer->bound_cycles >= useless)
        return POPLINER_OK;
    popliner_status status = find_arcs(s, error);
    if (status != POPLINER_OK || s->num_arcs == SIZE_MAX)
        return status;
    pl_step_game game = {.graph = &s->graph,
                         .order = &s->order,
                         .num_units = s->num_units,
                         .most = useless < UINT64_MAX ? useless - 1 - s->q->least_after : useless,
                         .arcs = s->arcs,
                         .num_arcs = s->num_arcs,
                         .work = s->work,
                         .stop = s->q->stop};
    status = pl_step_game_play(&game, &bound, error);
    s->answer->bound_cycles =
        pl_larger(s->answer->bound_cycles, pl_add_or_never(bound, s->q->least_after));
    return status;
}

static popliner_status run_step_search(step_search *s, popliner_error *error) {
    /* few units need larger steps, many smaller ones; each finds what the other one misses */
    static const uint64_t parts[] = {20, 100};
    pl_step_answer *a = s->answer;
    for (size_t k = 0; k < s->num_stages; ++k)
        if (!pl_split_append(&s->split, 0))
            return pl_fail_memory(error, "the stages of the plan");
    popliner_status status = begin_with(s, s->q->start, error);
    if (status != POPLINER_OK || (s->num_stages + 1) * (s->num_units + 1) > MAX_PLACES)
        return status;
    s->shorter = s->limits;
    const uint64_t most_cycles = pl_smaller(a->cycles, s->q->max_cycles);
    if (most_cycles < UINT64_MAX)
        s->shorter.max_cycles = pl_smaller(s->shorter.max_cycles, most_cycles / s->num_micro);
    s->ways = (pl_ways_through){.problem = &s->problem, .limits = &s->shorter};
    status = pl_ways_find(&s->ways, error);
    if (status == POPLINER_OK)
        status = try_even(s, error);
    if (status == POPLINER_OK && *s->work > 0)
        status = try_all(s, error);
    for (size_t i = 0; i<sizeof parts / sizeof *parts && * s->work> 0; ++i)
        if (status == POPLINER_OK)
            status = wander(s, parts[i], error);
    if (status == POPLINER_OK && *s->work > 0 && s->q->filter == NULL) /* ties need no bound */
        status = play(s, error);
    a->bound_cycles = pl_smaller(a->bound_cycles, a->cycles);
    return status;
}

/* Takes what the search needs of its question and of the problem. */
static popliner_status begin_step_search(step_search *s, popliner_error *error) {
    s->limits = s->q->filter != NULL ? s->q->filter->limits : pl_filter_of_limits().limits;
    s->num_units = s->problem.num_units;
    s->num_stages = s->q->options->num_mapped_stages;
    s->num_ipus = s->problem.num_ipus;
    s->num_micro = s->q->pipeline->copies.num_micro_batches;
    /* whatever the objectives, steps limit cycles */
    s->problem.depends_on_ipu = s->problem.depends_on_ipu || s->q->options->num_ipu_speeds > 0 ||
                                s->problem.links.num_special > 0;
    popliner_plan_stage *placed = pl_arrays_new(&s->arrays, s->num_stages, sizeof *placed);
    s->together = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->together);
    s->peaks_bytes = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->peaks_bytes);
    if (s->arrays.failed)
        return pl_fail_memory(error, "the stages");
    for (size_t k = 0; k < s->num_stages; ++k)
        placed[k].ipu = pl_problem_ipu(&s->problem, k);
    s->order = pl_order_of_map(s->q->pipeline, &placed->ipu, sizeof *placed, s->num_stages);
    const char *obstacle = pl_step_obstacle(&s->order);
    if (obstacle != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: the time of a step is unknown: %s",
                       PL_OPTION(s->q->options, objectives), obstacle);
    s->num_chunks = s->order.num_chunks;
    s->place = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->place);
    s->cycles = pl_arrays_new(&s->arrays, s->num_stages * PL_NUM_PASS_KINDS, sizeof *s->cycles);
    s->divided = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->divided);
    return pl_step_graph_create(&s->graph, &s->order, &s->arrays, error);
}

popliner_status pl_step_search(const pl_step_question *question, uint64_t *work,
                               pl_step_answer *answer, popliner_error *error) {
    step_search s = {.q = question, .answer = answer, .work = work};
    const popliner_solver_options *o = question->options;
    *answer = (pl_step_answer){.cycles = UINT64_MAX, .bound_cycles = question->least_cycles};
    popliner_status status = pl_problem_create(&s.problem, question->costs, o, error);
    if (status == POPLINER_OK)
        status = begin_step_search(&s, error);
    if (status == POPLINER_OK && s.problem.max_stages < s.problem.min_stages)
        answer->bound_cycles = UINT64_MAX;
    else if (status == POPLINER_OK)
        status = run_step_search(&s, error);
    if (status == POPLINER_OK)
        status = make_plan(&s, error);
    answer->is_proven =
        answer->bound_cycles >= answer->cycles || answer->bound_cycles > question->max_cycles;
    pl_ways_free(&s.ways);
    pl_arrays_free(&s.arrays);
    pl_split_clear(&s.split);
    pl_split_clear(&s.best_split);
    pl_problem_free(&s.problem);
    return status;
}
