/* Choices of several stages on one IPU: their cycles add up, and so do their bytes, except those
 * that units share. The choices of a stage that no other beats in both are a list; those of several
 * stages are merged, stage by stage.
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
    size_t count;
};

void pl_ipu_choices_free(pl_ipu_choices *c) {
    for (size_t i = 0; c->of_ways != NULL && i < c->of->ways.count; ++i)
        pl_shared_free(&c->of_ways[i]);
    free(c->points);
    pl_arrays_free(&c->arrays);
    *c = (pl_ipu_choices){0};
}

/* ---- the choices of each stage ---- */

/* Finds the list of a stage, once. */
static popliner_status find_list(pl_ipu_choices *c, const popliner_interval *stage,
                                 struct pl_ipu_list *list, popliner_error *error) {
    const size_t key[] = {stage->stages_to_end, stage->first_unit, stage->last_unit};
    const size_t num_before = c->stages.count;
    c->stages.arrays = &c->arrays;
    c->stages.key_size = sizeof key;
    const size_t number = pl_keys_number(&c->stages, key);
    if (!pl_arrays_grow(&c->arrays, &c->lists, c->stages.count, sizeof *c->lists))
        return POPLINER_OK;
    popliner_status status = POPLINER_OK;
    if (number == num_before) {
        c->lists[number].begin = c->num_points;
        status = pl_variants_choices(c->of->variants, stage, &c->points, &c->num_points,
                                     &c->capacity, error);
        c->lists[number].count = c->num_points - c->lists[number].begin;
    }
    *list = c->lists[number];
    return status;
}

/* Finds the lists of all stages of the question. */
static popliner_status find_lists(pl_ipu_choices *c, const pl_ipu_question *q,
                                  popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (c->num_points > MOST_LISTED) {
        pl_keys_empty(&c->stages);
        c->num_points = 0;
    }
    pl_arrays_grow(&c->arrays, &c->own_lists, q->count, sizeof(struct pl_ipu_list));
    pl_arrays_grow(&c->arrays, &c->first_row, q->count + 1, sizeof *c->first_row);
    pl_arrays_grow(&c->arrays, &c->picked, q->count, sizeof *c->picked);
    for (size_t i = 0; status == POPLINER_OK && !c->arrays.failed && i < q->count; ++i)
        status = find_list(c, &q->stages[i], &c->own_lists[i], error);
    return status;
}

/* ---- rows: choices of a stage, or of several, at the moments that count ---- */

static uint64_t *row_at(const pl_ipu_choices *c, size_t row) {
    return pl_compromise(&c->rows, row);
}

/* Finds the rows of each stage, for the moments that count, with the cycles that they take on the
 * IPU. */
static void find_rows(pl_ipu_choices *c, const pl_ipu_question *q) {
    c->rows.num_moments = c->num_moments;
    c->rows.count = 0;
    for (size_t i = 0; i < q->count; ++i) {
        const popliner_interval *stage = &q->stages[i];
        const struct pl_ipu_list *list = &c->own_lists[i];
        c->first_row[i] = c->rows.count;
        if (!pl_compromises_reserve(&c->rows, c->rows.count + list->count))
            return;
        for (size_t k = 0; k < list->count; ++k) {
            const pl_variant *own = &c->points[list->begin + k];
            uint64_t *row = row_at(c, c->rows.count++);
            row[PL_CYCLES] = pl_problem_busy_cycles(c->problem, q->numbers[i], stage->first_unit,
                                                    stage->last_unit, own->cycles);
            for (size_t m = 0; m < c->num_moments; ++m)
                row[PL_BYTES + m] =
                    pl_variants_bytes(c->of->variants, own, stage->stages_to_end, c->moments[m]);
            row[PL_ORIGIN] = pl_origin(0, list->begin + k);
        }
        pl_compromises_keep(&c->rows, c->first_row[i]); /* a speed may make cycles equal */
    }
    c->first_row[q->count] = c->rows.count;
}

/* ---- several stages ---- */

/* Stages from one of the question on, and limits without what units share. */
typedef struct rest {
    const pl_ipu_question *question;
    size_t first;
    uint64_t max_cycles;
    const uint64_t *max_bytes; /* [num_moments] */
    bool by_cycles;
} rest;

/* True if the sum of rows, and of the least of stages (NULL: of none), is within the limits. */
static bool is_within(const pl_ipu_choices *c, const rest *r, const uint64_t *a, const uint64_t *b,
                      const uint64_t *least) {
    bool is_so =
        a[PL_CYCLES] + b[PL_CYCLES] + (least != NULL ? least[PL_CYCLES] : 0) <= r->max_cycles;
    for (size_t m = 0; is_so && m < c->num_moments; ++m)
        is_so = a[PL_BYTES + m] + b[PL_BYTES + m] + (least != NULL ? least[PL_BYTES + m] : 0) <=
                r->max_bytes[m];
    return is_so;
}

/* Merges the rows of stage i with those from `first` on, of the stages before it; none is above the
 * limits with the least that later stages take. */
static popliner_status merge_stage(pl_ipu_choices *c, const rest *r, size_t i, size_t first,
                                   popliner_error *error) {
    const size_t end = c->rows.count;
    const size_t num_own = c->first_row[i + 1] - c->first_row[i];
    if (end - first > MOST_MERGED / num_own)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "stages on one IPU offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers");
    if (!pl_compromises_reserve(&c->rows, end + 1 + (end - first) * num_own))
        return POPLINER_OK;
    uint64_t *least = row_at(c, end + (end - first) * num_own);
    memset(least, 0, (PL_BYTES + c->num_moments) * sizeof *least);
    for (size_t later = i + 1; later < r->question->count; ++later)
        for (size_t k = 0; k < PL_BYTES + c->num_moments; ++k) {
            uint64_t own = UINT64_MAX;
            for (size_t row = c->first_row[later]; row < c->first_row[later + 1]; ++row)
                own = pl_smaller(own, row_at(c, row)[k]);
            least[k] += own;
        }
    for (size_t a = first; a < end; ++a)
        for (size_t b = c->first_row[i]; b < c->first_row[i + 1]; ++b) {
            if (!is_within(c, r, row_at(c, a), row_at(c, b), least))
                continue;
            uint64_t *both = row_at(c, c->rows.count++);
            for (size_t k = 0; k < PL_BYTES + c->num_moments; ++k)
                both[k] = row_at(c, a)[k] + row_at(c, b)[k];
            both[PL_ORIGIN] = pl_origin(a, b);
        }
    pl_compromises_keep(&c->rows, end);
    return POPLINER_OK;
}

/* Returns the choice of two rows together, without what units share. */
static pl_variant_choice sum_of(const pl_ipu_choices *c, const uint64_t *a, const uint64_t *b) {
    pl_variant_choice sum = {true, 0, a[PL_CYCLES] + b[PL_CYCLES]};
    for (size_t m = 0; m < c->num_moments; ++m)
        sum.peak_bytes = pl_larger(sum.peak_bytes, a[PL_BYTES + m] + b[PL_BYTES + m]);
    return sum;
}

/* Finds the best of all stages of the rest, and picks their rows. */
static popliner_status find_best(pl_ipu_choices *c, const rest *r, pl_variant_choice *best,
                                 popliner_error *error) {
    const size_t last = r->question->count - 1;
    size_t first = c->rows.count;
    size_t best_row = 0;
    popliner_status status = POPLINER_OK;
    *best = (pl_variant_choice){0};
    if (!pl_compromises_reserve(&c->rows, first + 1))
        return POPLINER_OK;
    memset(row_at(c, c->rows.count++), 0, (PL_BYTES + c->num_moments) * sizeof(uint64_t));
    for (size_t i = r->first; status == POPLINER_OK && i < last && c->rows.count > first; ++i) {
        const size_t merged = c->rows.count;
        status = merge_stage(c, r, i, first, error);
        first = merged;
    }
    for (size_t a = first; status == POPLINER_OK && a < c->rows.count; ++a) {
        for (size_t b = c->first_row[last]; b < c->first_row[last + 1]; ++b) {
            const pl_variant_choice sum = sum_of(c, row_at(c, a), row_at(c, b));
            if (!is_within(c, r, row_at(c, a), row_at(c, b), NULL) ||
                (best->exists && !pl_variant_choice_is_better(&sum, best, r->by_cycles)))
                continue;
            *best = sum;
            c->picked[last] = b;
            best_row = a;
        }
    }
    for (size_t i = last; best->exists && i-- > r->first;) {
        const uint64_t *row = row_at(c, best_row);
        c->picked[i] = pl_origin_own(row);
        best_row = pl_origin_before(row);
    }
    c->rows.count = c->first_row[r->question->count];
    return status;
}

/* Picks the row of each stage, of which all together make the best: the first stage takes the
 * fewest cycles that leave the others enough, then the second, and so on. */
static popliner_status divide(pl_ipu_choices *c, const pl_ipu_question *q,
                              const pl_variant_choice *best, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    uint64_t cycles = best->cycles;
    for (size_t m = 0; m < c->num_moments; ++m)
        c->room[m] = best->peak_bytes;
    for (size_t i = 0; status == POPLINER_OK && !c->arrays.failed && i < q->count; ++i) {
        pl_variant_choice found = {0};
        size_t row = c->first_row[i];
        for (; status == POPLINER_OK && !c->arrays.failed && !found.exists; ++row) {
            if (row_at(c, row)[PL_CYCLES] > cycles ||
                !pl_compromise_is_within(&c->rows, row_at(c, row), c->room))
                continue;
            for (size_t m = 0; m < c->num_moments; ++m)
                c->room[m] -= row_at(c, row)[PL_BYTES + m];
            const rest later = {q, i + 1, cycles - row_at(c, row)[PL_CYCLES], c->room, false};
            found.exists = true;
            if (i + 1 < q->count)
                status = find_best(c, &later, &found, error);
            for (size_t m = 0; m < c->num_moments && !found.exists; ++m)
                c->room[m] += row_at(c, row)[PL_BYTES + m];
        }
        c->picked[i] = row - 1;
        cycles -= row_at(c, row - 1)[PL_CYCLES];
    }
    return status;
}

static const pl_variant *picked_of(const pl_ipu_choices *c, size_t i) {
    return &c->points[pl_origin_own(row_at(c, c->picked[i]))];
}

/* Returns the moment at which what was picked needs most, and how much. */
static size_t find_worst(const pl_ipu_choices *c, const pl_ipu_question *q, uint64_t *most_bytes) {
    const pl_variants *v = c->of->variants;
    const size_t num_moments = pl_variants_num_moments(v, q->stages[0].stages_to_end);
    size_t worst = 0;
    *most_bytes = 0;
    for (size_t moment = 0; moment < num_moments; ++moment) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < q->count; ++i)
            bytes += pl_variants_bytes(v, picked_of(c, i), q->stages[i].stages_to_end, moment);
        worst = bytes > *most_bytes ? moment : worst;
        *most_bytes = pl_larger(bytes, *most_bytes);
    }
    return worst;
}

/* Chooses as if the IPU had some of its moments alone, and adds the worst one of what that picks,
 * until there is none: few of many moments decide. `cycles` and `texts` are NULL, or become those
 * of each stage. */
static popliner_status choose_variants(pl_ipu_choices *c, const pl_ipu_question *q,
                                       pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                       popliner_error *error) {
    const pl_variants *v = c->of->variants;
    const uint64_t shared =
        v->shared_bytes == NULL ? 0 : v->shared_bytes(v->user, q->stages, q->count);
    const uint64_t most = pl_smaller(q->max_bytes, v->capacity_bytes);
    *best = (pl_variant_choice){0};
    if (shared > most)
        return POPLINER_OK;
    popliner_status status = find_lists(c, q, error);
    for (size_t i = 0; status == POPLINER_OK && i < q->count; ++i)
        if (c->arrays.failed || c->own_lists[i].count == 0)
            return POPLINER_OK;
    uint64_t bytes = 0;
    c->rows.arrays = &c->arrays;
    c->num_moments = 0;
    for (size_t worst = 0; status == POPLINER_OK;) {
        if (!pl_arrays_grow(&c->arrays, &c->moments, c->num_moments + 1, sizeof *c->moments) ||
            !pl_arrays_grow(&c->arrays, &c->room, c->num_moments + 1, sizeof *c->room))
            return POPLINER_OK;
        c->moments[c->num_moments++] = worst;
        for (size_t m = 0; m < c->num_moments; ++m)
            c->room[m] = most - shared;
        const rest all = {q, 0, q->max_cycles, c->room, q->by_cycles};
        find_rows(c, q);
        status = find_best(c, &all, best, error);
        if (status == POPLINER_OK && best->exists && cycles != NULL)
            status = divide(c, q, best, error);
        if (status != POPLINER_OK || !best->exists || c->arrays.failed)
            return status;
        worst = find_worst(c, q, &bytes);
        if (bytes <= best->peak_bytes)
            break;
    }
    best->peak_bytes += shared;
    for (size_t i = 0; status == POPLINER_OK && cycles != NULL && i < q->count; ++i) {
        cycles[i] = row_at(c, c->picked[i])[PL_CYCLES];
        status = pl_variants_name(c->of, &q->stages[i], picked_of(c, i), &texts[i], error);
    }
    return status;
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
        c->of_ways = pl_arrays_new(&c->arrays, ways->count, sizeof *c->of_ways);
    for (size_t i = 0; status == POPLINER_OK && c->of_ways != NULL && i < ways->count; ++i) {
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
                              uint64_t *cycles, pl_text *texts, popliner_error *error) {
    size_t way = 0;
    popliner_status status = c->of->variants != NULL
                                 ? choose_variants(c, q, best, cycles, texts, error)
                                 : choose_way(c, q, best, &way, error);
    bool has_failed = c->arrays.failed;
    for (size_t i = 0; status == POPLINER_OK && best->exists && texts != NULL && i < q->count;
         ++i) {
        if (c->of->variants == NULL) {
            cycles[i] = cycles_of(c, q, way, i);
            pl_text_add(&texts[i], c->of->ways.names[way]);
        }
        has_failed = has_failed || texts[i].failed;
    }
    return status == POPLINER_OK && has_failed ? pl_fail_memory(error, "the variants of the stages")
                                               : status;
}
