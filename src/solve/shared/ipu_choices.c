/* Choices of several stages on one IPU: their cycles add up, and so do their bytes, except those
 * that units share. The choices of a stage that no other beats in both are a list; those of several
 * stages are merged, stage by stage (Nemhauser and Ullmann, Management Science 15, 1969).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "solve/shared/shared.h"

/* More points are forgotten, and found again when they are needed. */
enum { MOST_LISTED = 1 << 23, MOST_MERGED = 1 << 22 };

struct pl_ipu_list {
    size_t begin; /* of its points */
    size_t count; /* 0: not found yet */
};

void pl_ipu_choices_free(pl_ipu_choices *c) {
    for (size_t i = 0; i < c->num_places; ++i)
        free(c->lists[i]);
    free(c->lists);
    free(c->points);
    free(c->busy);
    free(c->first_busy);
    for (size_t i = 0; i < 2; ++i)
        free(c->merged[i]);
    for (size_t i = 0; c->of_ways != NULL && i < c->of->ways.count; ++i)
        pl_shared_free(&c->of_ways[i]);
    free(c->of_ways);
    *c = (pl_ipu_choices){0};
}

/* ---- the points of each stage ---- */

/* Finds the list of a stage, unless it is known. */
static popliner_status find_list(pl_ipu_choices *c, const popliner_interval *stage,
                                 struct pl_ipu_list **list, popliner_error *error) {
    const size_t n = c->problem->num_units;
    const size_t place = stage->stages_to_end - 1;
    if (place >= c->num_places) {
        const size_t num_places = place + 1;
        size_t capacity = c->num_places;
        if (!pl_grow(&c->lists, &capacity, num_places, sizeof *c->lists))
            return pl_fail_memory(error, "the variants of the stages");
        while (c->num_places < num_places)
            c->lists[c->num_places++] = NULL;
    }
    if (c->lists[place] == NULL)
        c->lists[place] = pl_new_array(pl_triangle_size(n), sizeof **c->lists);
    if (c->lists[place] == NULL)
        return pl_fail_memory(error, "the variants of the stages");
    *list = &c->lists[place][pl_triangle_place(n, stage->first_unit, stage->last_unit)];
    if ((*list)->count > 0)
        return POPLINER_OK;
    (*list)->begin = c->num_points;
    popliner_status status =
        pl_variants_points(c->of->variants, stage, &c->points, &c->num_points, &c->capacity, error);
    (*list)->count = c->num_points - (*list)->begin;
    return status;
}

/* Finds the points of all stages of the question, with the cycles that they take on the IPU. */
static popliner_status find_points(pl_ipu_choices *c, const pl_ipu_question *q,
                                   popliner_error *error) {
    size_t count = 0;
    popliner_status status = POPLINER_OK;
    if (c->num_points > MOST_LISTED) {
        for (size_t i = 0; i < c->num_places; ++i) {
            free(c->lists[i]);
            c->lists[i] = NULL;
        }
        c->num_points = 0;
    }
    if (!pl_grow(&c->first_busy, &c->first_capacity, q->count + 1, sizeof *c->first_busy))
        return pl_fail_memory(error, "the variants of the stages");
    for (size_t i = 0; status == POPLINER_OK && i < q->count; ++i) {
        const popliner_interval *stage = &q->stages[i];
        struct pl_ipu_list *list = NULL;
        c->first_busy[i] = count;
        status = find_list(c, stage, &list, error);
        if (status == POPLINER_OK &&
            !pl_grow(&c->busy, &c->busy_capacity, count + list->count, sizeof *c->busy))
            status = pl_fail_memory(error, "the variants of the stages");
        for (size_t k = 0; status == POPLINER_OK && k < list->count; ++k) {
            const pl_variant_point *own = &c->points[list->begin + k];
            const uint64_t cycles = pl_problem_busy_cycles(
                c->problem, q->numbers[i], stage->first_unit, stage->last_unit, own->cycles);
            /* a speed may make cycles equal */
            if (count > c->first_busy[i] && c->busy[count - 1].on_ipu.cycles == cycles)
                --count;
            c->busy[count++] = (pl_ipu_point){{cycles, own->bytes}, own->cycles};
        }
    }
    c->first_busy[q->count] = count;
    return status;
}

/* ---- several stages ---- */

/* Stages from one of the question on, and limits without what units share. */
typedef struct rest {
    const pl_ipu_question *question;
    size_t first;
    uint64_t max_cycles;
    uint64_t max_bytes;
    bool by_cycles;
} rest;

/* Merges the points of stage i with those before it, of which none is above the limits with the
 * least that later stages take. */
static popliner_status merge_stage(pl_ipu_choices *c, const rest *r, size_t i, size_t *num_merged,
                                   popliner_error *error) {
    const pl_ipu_point *own = c->busy + c->first_busy[i];
    const size_t num_own = c->first_busy[i + 1] - c->first_busy[i];
    pl_variant_point least = {0};
    size_t count = 0;
    for (size_t later = i + 1; later < r->question->count; ++later) {
        least.cycles += c->busy[c->first_busy[later]].on_ipu.cycles;
        least.bytes += c->busy[c->first_busy[later + 1] - 1].on_ipu.bytes;
    }
    if (*num_merged > MOST_MERGED / num_own)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "stages on one IPU offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers");
    if (!pl_grow(&c->merged[1], &c->merged_capacity[1], *num_merged * num_own,
                 sizeof *c->merged[1]))
        return pl_fail_memory(error, "the variants of the stages");
    for (size_t a = 0; a < *num_merged; ++a)
        for (size_t b = 0; b < num_own; ++b) {
            const pl_variant_point sum = {c->merged[0][a].cycles + own[b].on_ipu.cycles,
                                          c->merged[0][a].bytes + own[b].on_ipu.bytes};
            if (sum.cycles + least.cycles <= r->max_cycles &&
                sum.bytes + least.bytes <= r->max_bytes)
                c->merged[1][count++] = sum;
        }
    *num_merged = pl_variant_points_keep(c->merged[1], count);
    pl_variant_point *merged = c->merged[0];
    const size_t capacity = c->merged_capacity[0];
    c->merged[0] = c->merged[1];
    c->merged_capacity[0] = c->merged_capacity[1];
    c->merged[1] = merged;
    c->merged_capacity[1] = capacity;
    return POPLINER_OK;
}

/* Finds the best point of all stages of the rest: each point of the first ones with the best of the
 * last one that is within the limits, which moves towards more bytes. */
static popliner_status find_best(pl_ipu_choices *c, const rest *r, pl_variant_choice *best,
                                 popliner_error *error) {
    const size_t last = r->question->count - 1;
    const pl_ipu_point *own = c->busy + c->first_busy[last];
    size_t end = c->first_busy[last + 1] - c->first_busy[last];
    size_t num_merged = 1;
    popliner_status status = POPLINER_OK;
    *best = (pl_variant_choice){0};
    if (!pl_grow(&c->merged[0], &c->merged_capacity[0], 1, sizeof *c->merged[0]))
        return pl_fail_memory(error, "the variants of the stages");
    c->merged[0][0] = (pl_variant_point){0};
    for (size_t i = r->first; status == POPLINER_OK && i < last && num_merged > 0; ++i)
        status = merge_stage(c, r, i, &num_merged, error);
    for (size_t a = 0; status == POPLINER_OK && a < num_merged; ++a) {
        const pl_variant_point *first = &c->merged[0][a];
        if (first->cycles > r->max_cycles || first->bytes > r->max_bytes)
            continue;
        const uint64_t cycles = r->max_cycles - first->cycles;
        const uint64_t bytes = r->max_bytes - first->bytes;
        if (r->by_cycles)
            while (end > 1 && own[end - 2].on_ipu.bytes <= bytes)
                --end;
        else
            while (end > 0 && own[end - 1].on_ipu.cycles > cycles)
                --end;
        if (end == 0 || own[end - 1].on_ipu.bytes > bytes || own[end - 1].on_ipu.cycles > cycles)
            continue;
        const pl_variant_choice sum = {true, first->bytes + own[end - 1].on_ipu.bytes,
                                       first->cycles + own[end - 1].on_ipu.cycles};
        if (!best->exists || pl_variant_choice_is_better(&sum, best, r->by_cycles))
            *best = sum;
    }
    return status;
}

/* Finds the choice of each stage, of which all together make the best point: the first stage takes
 * the fewest cycles that leave the others enough, then the second, and so on. */
static popliner_status divide(pl_ipu_choices *c, const pl_ipu_question *q, uint64_t max_cycles,
                              uint64_t max_bytes, pl_ipu_point *chosen, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < q->count; ++i) {
        pl_variant_choice found = {0};
        for (size_t k = c->first_busy[i]; status == POPLINER_OK && !found.exists; ++k) {
            const pl_variant_point *own = &c->busy[k].on_ipu;
            if (own->bytes > max_bytes)
                continue;
            const rest later = {q, i + 1, max_cycles - own->cycles, max_bytes - own->bytes, false};
            chosen[i] = c->busy[k];
            found.exists = true;
            if (i + 1 < q->count)
                status = find_best(c, &later, &found, error);
        }
        max_cycles -= chosen[i].on_ipu.cycles;
        max_bytes -= chosen[i].on_ipu.bytes;
    }
    return status;
}

/* Returns the cycles of a stage that runs unchanged, or recomputes everything. */
static pl_ipu_point point_of(const pl_ipu_choices *c, const pl_ipu_question *q, size_t i,
                             bool is_full) {
    const popliner_interval *stage = &q->stages[i];
    const uint64_t cycles = pl_variants_cycles(c->of->variants, stage, is_full);
    return (pl_ipu_point){{pl_problem_busy_cycles(c->problem, q->numbers[i], stage->first_unit,
                                                  stage->last_unit, cycles),
                           0},
                          cycles};
}

/* Replaces the best choice, which counts the most of each stage, by one for all stages whose moments
 * are known, if that is better; *all_names becomes its name. */
static popliner_status choose_together(const pl_ipu_choices *c, const pl_ipu_question *q,
                                       pl_variant_choice *best, pl_ipu_point *chosen,
                                       const char **all_names, popliner_error *error) {
    static const char *const names[] = {"none", "full"};
    const pl_variants *v = c->of->variants;
    const uint64_t most = pl_smaller(q->max_bytes, v->capacity_bytes);
    popliner_status status = POPLINER_OK;
    for (size_t way = 0; status == POPLINER_OK && way < 2; ++way) {
        pl_variant_choice own = {.exists = c->counts_together && v->together[way] != NULL};
        for (size_t i = 0; own.exists && i < q->count; ++i)
            own.cycles = pl_add_or_never(own.cycles, point_of(c, q, i, way == 1).on_ipu.cycles);
        if (!own.exists || own.cycles > q->max_cycles)
            continue;
        status = v->together[way](v->together_user, q->stages, q->count, &own.peak_bytes, error);
        if (status != POPLINER_OK || own.peak_bytes > most ||
            (best->exists && !pl_variant_choice_is_better(&own, best, q->by_cycles)))
            continue;
        *best = own;
        *all_names = names[way];
        for (size_t i = 0; chosen != NULL && i < q->count; ++i)
            chosen[i] = point_of(c, q, i, way == 1);
    }
    return status;
}

/* `chosen` is NULL, or becomes the choice of each stage; *all_names that of all, if it is one. */
static popliner_status choose_variants(pl_ipu_choices *c, const pl_ipu_question *q,
                                       pl_variant_choice *best, pl_ipu_point *chosen,
                                       const char **all_names, popliner_error *error) {
    const pl_variants *v = c->of->variants;
    const uint64_t shared =
        v->shared_bytes == NULL ? 0 : v->shared_bytes(v->user, q->stages, q->count);
    const uint64_t most = pl_smaller(q->max_bytes, v->capacity_bytes);
    *best = (pl_variant_choice){0};
    if (shared > most)
        return POPLINER_OK;
    popliner_status status = find_points(c, q, error);
    for (size_t i = 0; status == POPLINER_OK && i < q->count; ++i)
        if (c->first_busy[i] == c->first_busy[i + 1])
            return POPLINER_OK; /* an interval that is not listed */
    const rest all = {q, 0, q->max_cycles, most - shared, q->by_cycles};
    if (status == POPLINER_OK)
        status = find_best(c, &all, best, error);
    if (status == POPLINER_OK && best->exists && chosen != NULL)
        status = divide(c, q, best->cycles, best->peak_bytes, chosen, error);
    best->peak_bytes += best->exists ? shared : 0;
    return status == POPLINER_OK ? choose_together(c, q, best, chosen, all_names, error) : status;
}

/* ---- ways ---- */

/* Measures the stages in a way. */
static popliner_status measure_way(pl_ipu_choices *c, const pl_ipu_question *q, size_t way,
                                   uint64_t *peak_bytes, popliner_error *error) {
    pl_problem problem = *c->problem;
    pl_load load = {0};
    problem.costs = c->of->ways.costs[way];
    problem.chooser = NULL;
    problem.depends_on_end = problem.costs->max_stages_to_end > 1;
    popliner_status status =
        pl_shared_measure(&c->of_ways[way], &problem, NULL, q->stages, q->count, &load, error);
    *peak_bytes = load.peak_bytes;
    return status;
}

static uint64_t cycles_of(const pl_ipu_choices *c, const pl_ipu_question *q, size_t way, size_t i) {
    const popliner_interval *stage = &q->stages[i];
    const popliner_costs *costs = c->of->ways.costs[way];
    const uint64_t cycles = popliner_costs_has_cycles(costs)
                                ? popliner_costs_cycles(costs, stage->first_unit, stage->last_unit)
                                : 0;
    return pl_problem_busy_cycles(c->problem, q->numbers[i], stage->first_unit, stage->last_unit,
                                  cycles);
}

/* All stages of an IPU go one way. */
static popliner_status choose_way(pl_ipu_choices *c, const pl_ipu_question *q,
                                  pl_variant_choice *best, size_t *way, popliner_error *error) {
    const pl_ways *ways = &c->of->ways;
    popliner_status status = POPLINER_OK;
    *best = (pl_variant_choice){0};
    if (c->of_ways == NULL)
        c->of_ways = pl_new_array(ways->count, sizeof *c->of_ways);
    if (c->of_ways == NULL)
        return pl_fail_memory(error, "the variants of the stages");
    for (size_t i = 0; status == POPLINER_OK && i < ways->count; ++i) {
        pl_variant_choice own = {.exists = true};
        for (size_t k = 0; k < q->count; ++k)
            own.cycles = pl_add_or_never(own.cycles, cycles_of(c, q, i, k));
        if (own.cycles > q->max_cycles ||
            (q->by_cycles && best->exists && own.cycles > best->cycles))
            continue; /* whatever it needs */
        status = measure_way(c, q, i, &own.peak_bytes, error);
        if (status != POPLINER_OK || own.peak_bytes == POPLINER_PEAK_FORBIDDEN ||
            own.peak_bytes > q->max_bytes ||
            (best->exists && !pl_variant_choice_is_better(&own, best, q->by_cycles)))
            continue;
        *best = own;
        *way = i;
    }
    return status;
}

/* ---- the interface ---- */

popliner_status pl_ipu_choose(pl_ipu_choices *c, const pl_ipu_question *q, pl_variant_choice *best,
                              popliner_error *error) {
    size_t way;
    const char *name;
    return c->of->variants != NULL ? choose_variants(c, q, best, NULL, &name, error)
                                   : choose_way(c, q, best, &way, error);
}

popliner_status pl_ipu_name_choices(pl_ipu_choices *c, const pl_ipu_question *q,
                                    pl_variant_choice *best, pl_ipu_point *chosen, pl_text *texts,
                                    popliner_error *error) {
    size_t way = 0;
    const char *name = NULL;
    popliner_status status = c->of->variants != NULL
                                 ? choose_variants(c, q, best, chosen, &name, error)
                                 : choose_way(c, q, best, &way, error);
    for (size_t i = 0; status == POPLINER_OK && best->exists && i < q->count; ++i) {
        const pl_variant_limits limits = {chosen[i].cycles, UINT64_MAX};
        pl_variant_choice own;
        if (name != NULL) {
            pl_text_add(&texts[i], name);
        } else if (c->of->variants != NULL) {
            status =
                pl_choices_choose(c->of, &q->stages[i], &limits, false, &own, &texts[i], error);
        } else {
            chosen[i].on_ipu.cycles = cycles_of(c, q, way, i);
            pl_text_add(&texts[i], c->of->ways.names[way]);
        }
        if (texts[i].failed)
            status = pl_fail_memory(error, "the variants of the stages");
    }
    return status;
}
