/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/variant_choices.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/ipus.h"

enum { MAX_ROWS = 1 << 22 };

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the variants of the stages");
}

/* ---- steps ---- */

/* From a variant of a unit to one that takes more cycles and fewer bytes. */
typedef struct pl_variant_step {
    size_t unit;
    size_t number; /* of the steps of the unit */
    uint64_t cycles;
    uint64_t bytes;
} step;

/* Returns -1, 0 or 1: whether a saves more bytes for a cycle than b, as many, or fewer. */
static int compare_ratios(const step *a, const step *b) {
    if ((a->bytes | a->cycles | b->bytes | b->cycles) >> 32 == 0) {
        const uint64_t own = a->bytes * b->cycles;
        const uint64_t other = b->bytes * a->cycles;
        return (own < other) - (own > other);
    }
    const pl_product own = pl_product_of((uint64_t[]){a->bytes, b->cycles}, 2);
    const pl_product other = pl_product_of((uint64_t[]){b->bytes, a->cycles}, 2);
    return pl_product_compare(&other, &own);
}

/* Returns the variant of a unit with the fewest cycles, of these with the fewest bytes. */
static const pl_variant *fastest_of(const pl_variants *v, size_t unit, pl_variant_counts counts) {
    const pl_variant *fastest = &v->items[v->first[unit]];
    for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i) {
        const pl_variant *own = &v->items[i];
        if (own->cycles < fastest->cycles ||
            (own->cycles == fastest->cycles &&
             pl_variant_bytes(own, counts) < pl_variant_bytes(fastest, counts)))
            fastest = own;
    }
    return fastest;
}

/* Adds the steps of a unit, its lower convex hull, to those of others, of which the best are first.
 * There is room for them. Returns their number. */
static size_t add_steps(step *steps, size_t count, const pl_variants *v, size_t unit,
                        pl_variant_counts counts) {
    const pl_variant *now = fastest_of(v, unit, counts);
    size_t at = 0;
    for (size_t number = 0;; ++number) {
        const uint64_t bytes = pl_variant_bytes(now, counts);
        const pl_variant *next = NULL;
        step best = {0};
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i) {
            const pl_variant *other = &v->items[i];
            if (pl_variant_bytes(other, counts) >= bytes)
                continue;
            const step own = {unit, number, other->cycles - now->cycles,
                              bytes - pl_variant_bytes(other, counts)};
            const int order = next == NULL ? -1 : compare_ratios(&own, &best);
            if (order < 0 || (order == 0 && own.cycles > best.cycles)) {
                next = other;
                best = own;
            }
        }
        if (next == NULL)
            return count;
        /* after those that are as good: units are added in order */
        for (size_t end = count; at < end;) {
            const size_t middle = at + (end - at) / 2;
            if (compare_ratios(&best, &steps[middle]) < 0)
                end = middle;
            else
                at = middle + 1;
        }
        memmove(&steps[at + 1], &steps[at], (count - at) * sizeof *steps);
        steps[at++] = best;
        ++count;
        now = next;
    }
}

/* ---- rows ---- */

/* The numbers of a choice: cycles, where it comes from, amounts. */
enum { CYCLES, ORIGIN, AMOUNTS };

/* A stage that recomputes all its units comes from the row before the stage. It is the last of
 * equal rows. */
#define ALL_UNITS ((uint64_t)1 << 63)
static const size_t recomputed = SIZE_MAX;

static uint64_t *row_at(const pl_frontier *f, size_t row) {
    return f->rows + row * f->width;
}

void pl_frontier_free(pl_frontier *frontier) {
    pl_arrays_free(&frontier->arrays);
    *frontier = (pl_frontier){0};
}

static int compare_rows(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    if (a[CYCLES] != b[CYCLES])
        return a[CYCLES] < b[CYCLES] ? -1 : 1;
    if (a[AMOUNTS] != b[AMOUNTS])
        return a[AMOUNTS] < b[AMOUNTS] ? -1 : 1;
    /* a total order, so that the result does not depend on qsort */
    return (a[ORIGIN] > b[ORIGIN]) - (a[ORIGIN] < b[ORIGIN]);
}

/* True if no amount of a row is larger than that of another one. */
static bool is_no_larger(const pl_frontier *f, const uint64_t *row, const uint64_t *other) {
    size_t k = AMOUNTS;
    while (k < f->width && row[k] <= other[k])
        ++k;
    return k == f->width;
}

/* Sorts the current rows by cycles, and drops those that another one beats. */
static void keep_rows(pl_frontier *f) {
    const bool has_one = f->num_amounts == 1; /* then the last one has the fewest bytes */
    const size_t size = f->width * sizeof *f->rows;
    const size_t first = f->current;
    size_t kept = first;
    if (f->count > first)
        qsort(row_at(f, first), f->count - first, size, compare_rows);
    for (size_t i = first; i < f->count; ++i) {
        const uint64_t *own = row_at(f, i);
        size_t k = kept;
        while (k > first && !is_no_larger(f, row_at(f, k - 1), own))
            k = has_one ? first : k - 1;
        if (k == first)
            memmove(row_at(f, kept++), own, size);
    }
    f->count = kept;
}

/* True if a row may be part of the best choice, with the least that later units take. */
static bool is_within(const pl_frontier *f, const uint64_t *row, const uint64_t *rest) {
    const uint64_t score = row[CYCLES] * f->cycle_weight + row[AMOUNTS] * f->byte_weight;
    bool is_so =
        row[CYCLES] + rest[CYCLES] <= f->most[CYCLES] && score + rest[ORIGIN] <= f->most[ORIGIN];
    for (size_t k = AMOUNTS; is_so && k < AMOUNTS + f->num_moments; ++k)
        is_so = row[k] + rest[k] <= f->most[k];
    return is_so;
}

/* True if rows have the cycles of each stage, before the speed rounds them. */
static bool has_stages(const pl_frontier *f) {
    return f->num_amounts > f->num_moments;
}

static pl_variant_counts *counts_of(const pl_frontier *f, size_t stage, size_t moment) {
    return &f->counts[stage * f->num_all + moment];
}

static uint64_t *stage_cycles(const pl_frontier *f, uint64_t *row, size_t stage) {
    return &row[AMOUNTS + f->num_moments + stage];
}

/* Sets a row to the numbers of a variant, or of a stage. */
static void set_row(const pl_frontier *f, size_t stage, const pl_variant *variant, uint64_t *row) {
    const uint64_t speed = f->question->speed;
    memset(row, 0, f->width * sizeof *row);
    row[CYCLES] = pl_speed_cycles(speed, variant->cycles);
    for (size_t m = 0; m < f->num_moments; ++m)
        row[AMOUNTS + m] = pl_variant_bytes(variant, *counts_of(f, stage, f->moments[m]));
    if (has_stages(f))
        *stage_cycles(f, row, stage) = variant->cycles;
}

/* Appends the sum of a row and own numbers, if it may be part of the best choice. */
static void add_row(pl_frontier *f, size_t before, size_t stage, const uint64_t *own,
                    uint64_t origin, const uint64_t *rest) {
    uint64_t *row = row_at(f, before);
    uint64_t *next = row_at(f, f->count);
    for (size_t k = 0; k < f->width; ++k)
        next[k] = row[k] + own[k];
    if (f->question->speed != POPLINER_SPEED_ONE) /* which rounds the cycles of a stage */
        next[CYCLES] = row[CYCLES] -
                       pl_speed_cycles(f->question->speed, *stage_cycles(f, row, stage)) +
                       pl_speed_cycles(f->question->speed, *stage_cycles(f, next, stage));
    next[ORIGIN] = origin;
    f->count += is_within(f, next, rest);
}

/* Returns the number of variants of a unit; its last one may be that all units of the stage are
 * recomputed. */
static size_t num_variants(const pl_variant_stage *s, size_t unit) {
    return s->variants->first[unit + 1] - s->variants->first[unit];
}

static size_t count_units(const pl_variant_question *q) {
    size_t count = 0;
    for (size_t i = 0; i < q->count; ++i)
        count += q->stages[i].last_unit + 1 - q->stages[i].first_unit;
    return count;
}

/* Adds what a unit, or a whole stage, may be to the rows begin ... end - 1. */
static popliner_status add_rows(pl_frontier *f, size_t stage, size_t begin, size_t end,
                                const uint64_t *own, size_t num_own, const uint64_t *rest,
                                uint64_t mark, popliner_error *error) {
    const popliner_interval *stages = f->question->stages;
    const size_t wanted = f->count + (end - begin) * num_own + 1;
    if (wanted > MAX_ROWS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       stages[0].first_unit, stages[f->question->count - 1].last_unit);
    if (!pl_arrays_grow(&f->arrays, &f->rows, wanted * f->width, sizeof *f->rows))
        return fail_memory(error);
    for (size_t i = begin; i < end; ++i)
        for (size_t k = 0; k < num_own; ++k)
            add_row(f, i, stage, own + k * f->width, mark | (uint64_t)i << 32 | k, rest);
    return POPLINER_OK;
}

/* Finds the rows of all stages. */
static popliner_status find_rows(pl_frontier *f, popliner_error *error) {
    const uint64_t *rest = f->rest;
    const uint64_t *own = f->items;
    popliner_status status = POPLINER_OK;
    if (!pl_arrays_grow(&f->arrays, &f->rows, f->width, sizeof *f->rows))
        return fail_memory(error);
    memset(f->rows, 0, f->width * sizeof *f->rows);
    f->count = 1;
    f->current = 0;
    for (size_t i = 0; i < f->question->count; ++i) {
        const pl_variant_stage *s = &f->stages[i];
        const size_t begin = f->current;
        const size_t end = f->count;
        for (size_t unit = s->first_unit; status == POPLINER_OK && unit < s->end; ++unit) {
            const size_t first = f->current;
            f->current = f->count;
            rest += f->width;
            status = add_rows(f, i, first, f->current, own, num_variants(s, unit), rest, 0, error);
            own += num_variants(s, unit) * f->width;
            if (status == POPLINER_OK && s->variants->has_full && unit + 1 == s->end) {
                status = add_rows(f, i, begin, end, own, 1, rest, ALL_UNITS, error);
                own += f->width;
            }
            if (status == POPLINER_OK)
                keep_rows(f);
        }
    }
    return status;
}

/* ---- limits of rows ---- */

/* Sets the cells of a row to those of a sum, if these are less. */
static void lower(const pl_frontier *f, uint64_t *row, const uint64_t *before,
                  const uint64_t *own) {
    const uint64_t rounded = f->question->speed != POPLINER_SPEED_ONE; /* up, in each stage */
    const uint64_t cycles = own[CYCLES] - pl_smaller(own[CYCLES], rounded);
    const uint64_t score = cycles * f->cycle_weight + own[AMOUNTS] * f->byte_weight;
    row[CYCLES] = pl_smaller(row[CYCLES], before[CYCLES] + cycles);
    row[ORIGIN] = pl_smaller(row[ORIGIN], before[ORIGIN] + score);
    for (size_t k = AMOUNTS; k < f->width; ++k)
        row[k] = pl_smaller(row[k], before[k] + own[k]);
}

/* Sets f->rest: of scores instead of what rows come from. */
static void find_rest(pl_frontier *f) {
    const pl_variant_question *q = f->question;
    uint64_t *at = f->rest + count_units(q) * f->width;
    const uint64_t *own = f->items + f->num_items * f->width;
    memset(at, 0, f->width * sizeof *at);
    for (size_t i = q->count; i-- > 0;) {
        const pl_variant_stage *s = &f->stages[i];
        const uint64_t *after = at;
        const uint64_t *full = s->variants->has_full ? own - f->width : NULL;
        own = full != NULL ? full : own;
        for (size_t unit = s->end; unit-- > s->first_unit;) {
            const uint64_t *next = at;
            at -= f->width;
            memset(at, UINT8_MAX, f->width * sizeof *at);
            for (size_t k = num_variants(s, unit); k-- > 0;)
                lower(f, at, next, own -= f->width);
        }
        if (full != NULL)
            lower(f, at, after, full);
    }
}

/* Takes whole steps, the best first, as long as they are within the cycles, or until they are
 * within the bytes; lowers the limits, at one moment, to those of this choice. Returns the step at
 * which parts would count; NULL if none would. */
static const step *limit_by_steps(pl_frontier *f) {
    const pl_variant_question *q = f->question;
    const pl_variants *v = q->of->variants;
    const uint64_t most_bytes = f->most[AMOUNTS];
    /* each of several stages may be rounded */
    const uint64_t rounded = q->speed != POPLINER_SPEED_ONE ? q->count - 1 : 0;
    uint64_t best = pl_speed_most(q->speed, f->most[CYCLES] - pl_smaller(rounded, f->most[CYCLES]));
    const uint64_t most_cycles = best;
    const step *critical = NULL;
    uint64_t cycles = 0;
    uint64_t bytes = 0;
    size_t num_steps = 0;
    const size_t first_unit = q->stages[0].first_unit;
    for (size_t i = 0; i < q->count; ++i) {
        const pl_variant_stage *s = &f->stages[i];
        cycles += pl_variant_stage_cut_cycles(s);
        for (size_t unit = s->first_unit; unit < s->end; ++unit) {
            const pl_variant_counts counts = *counts_of(f, i, f->moments[0]);
            const pl_variant *fastest = fastest_of(v, unit, counts);
            cycles += fastest->cycles;
            bytes += pl_variant_bytes(fastest, counts);
            num_steps = add_steps(f->steps, num_steps, v, unit, counts);
            f->taken[unit - first_unit] = 0;
        }
    }
    if (q->by_cycles && bytes <= most_bytes)
        best = pl_smaller(best, cycles);
    for (size_t i = 0; i < num_steps && (!q->by_cycles || bytes > most_bytes); ++i) {
        const step *own = &f->steps[i];
        if (f->taken[own->unit - first_unit] != own->number)
            continue;
        const uint64_t next = pl_add_or_never(cycles, own->cycles);
        const bool ends = q->by_cycles ? bytes - own->bytes <= most_bytes : next > most_cycles;
        if (ends && q->by_cycles)
            best = pl_smaller(best, next);
        if (ends) {
            critical = critical == NULL ? own : critical;
            continue;
        }
        cycles = next;
        bytes -= own->bytes;
        ++f->taken[own->unit - first_unit];
    }
    if (f->num_moments == 1 && q->by_cycles && best < most_cycles)
        f->most[CYCLES] = pl_smaller(f->most[CYCLES], pl_speed_cycles(q->speed, best) + rounded);
    else if (f->num_moments == 1 && !q->by_cycles && cycles <= most_cycles)
        f->most[AMOUNTS] = pl_smaller(most_bytes, bytes);
    return critical;
}

/* Limits the rows: to what all units take at most, to a good choice, and by the weights with which
 * the best rows have almost the smallest score: those of the critical step. */
static void limit_rows(pl_frontier *f, const pl_variant_limits *limits) {
    const bool by_cycles = f->question->by_cycles;
    uint64_t all_cycles = 0;
    uint64_t all_bytes = 0;
    for (size_t i = 0; i < f->num_items; ++i) {
        all_cycles = pl_add_or_never(all_cycles, f->items[i * f->width + CYCLES]);
        all_bytes = pl_add_or_never(all_bytes, f->items[i * f->width + AMOUNTS]);
    }
    f->most[CYCLES] = limits->max_cycles;
    for (size_t k = AMOUNTS; k < f->width; ++k)
        f->most[k] = limits->max_bytes;
    const step *critical = limit_by_steps(f);
    f->most[CYCLES] = pl_smaller(f->most[CYCLES], all_cycles);
    f->most[AMOUNTS] = pl_smaller(f->most[AMOUNTS], all_bytes);
    f->cycle_weight = critical != NULL ? critical->bytes : by_cycles;
    f->byte_weight = critical != NULL ? critical->cycles : !by_cycles;
    while (pl_multiply_or_never(all_cycles, f->cycle_weight) > UINT64_MAX / 4 ||
           pl_multiply_or_never(all_bytes, f->byte_weight) > UINT64_MAX / 4) {
        f->cycle_weight /= 2;
        f->byte_weight /= 2;
    }
    f->most[ORIGIN] = f->most[CYCLES] * f->cycle_weight + f->most[AMOUNTS] * f->byte_weight;
    find_rest(f);
}

/* ---- the best row ---- */

/* Makes the arrays of the question. */
static popliner_status prepare(pl_frontier *f, popliner_error *error) {
    const pl_variant_question *q = f->question;
    const pl_variants *v = q->of->variants;
    const size_t first = q->stages[0].first_unit;
    const size_t end = q->stages[q->count - 1].last_unit + 1;
    f->num_items = v->has_full ? q->count : 0;
    f->num_all = q->has_moments ? pl_variants_num_moments(v, q->stages[0].stages_to_end) : 1;
    pl_arrays_grow(&f->arrays, &f->counts, q->count * f->num_all, sizeof *f->counts);
    pl_arrays_grow(&f->arrays, &f->stages, q->count, sizeof *f->stages);
    pl_arrays_grow(&f->arrays, &f->sums, q->count, sizeof *f->sums);
    pl_arrays_grow(&f->arrays, &f->steps, v->first[end] - v->first[first], sizeof *f->steps);
    pl_arrays_grow(&f->arrays, &f->taken, end - first, sizeof *f->taken);
    if (!pl_arrays_grow(&f->arrays, &f->picked, end - first, sizeof *f->picked))
        return fail_memory(error);
    for (size_t i = 0; i < q->count; ++i) {
        pl_variant_stage *s = &f->stages[i];
        *s = pl_variant_stage_begin(v, q->stages[i].first_unit);
        pl_variant_stage_extend(s, q->stages[i].last_unit + 1);
        f->num_items += v->first[s->end] - v->first[s->first_unit];
        pl_variants_counts_then(v, q->stages[i].stages_to_end, q->has_moments ? f->num_all : 0,
                                counts_of(f, i, 0));
    }
    return POPLINER_OK;
}

/* Returns a variant of a unit; the first unit of a stage has the cycles of the cuts. */
static pl_variant variant_of(const pl_variant_stage *s, size_t unit, size_t number) {
    pl_variant own = s->variants->items[s->variants->first[unit] + number];
    own.cycles += unit == s->first_unit ? pl_variant_stage_cut_cycles(s) : 0;
    return own;
}

/* Finds the items: what each unit, or each stage as a whole, may be at the moments that count. */
static popliner_status find_items(pl_frontier *f, bool has_stages, popliner_error *error) {
    const pl_variant_question *q = f->question;
    f->num_amounts = f->num_moments + (has_stages ? q->count : 0);
    f->width = AMOUNTS + f->num_amounts;
    pl_arrays_grow(&f->arrays, &f->items, f->num_items * f->width, sizeof *f->items);
    pl_arrays_grow(&f->arrays, &f->rest, (count_units(q) + 1) * f->width, sizeof *f->rest);
    if (!pl_arrays_grow(&f->arrays, &f->most, f->width, sizeof *f->most))
        return fail_memory(error);
    uint64_t *item = f->items;
    for (size_t i = 0; i < q->count; ++i) {
        const pl_variant_stage *s = &f->stages[i];
        for (size_t unit = s->first_unit; unit < s->end; ++unit)
            for (size_t k = 0; k < num_variants(s, unit); ++k, item += f->width) {
                const pl_variant own = variant_of(s, unit, k);
                set_row(f, i, &own, item);
            }
        if (s->variants->has_full) {
            const pl_variant full = pl_variant_stage_full(s);
            set_row(f, i, &full, item);
            item += f->width;
        }
    }
    return POPLINER_OK;
}

/* Returns -1, 0 or 1: whether the cycles of the first stage are fewer than those of another row,
 * then those of the second, ... */
static int compare_stages(const pl_frontier *f, size_t row, size_t other) {
    for (size_t i = 0; has_stages(f) && i < f->question->count; ++i) {
        const uint64_t a = pl_speed_cycles(f->question->speed, *stage_cycles(f, row_at(f, row), i));
        const uint64_t b =
            pl_speed_cycles(f->question->speed, *stage_cycles(f, row_at(f, other), i));
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* Sets f->picked to what the units of a row choose, and f->sums to the numbers of its stages. */
static void trace(pl_frontier *f, size_t row) {
    const pl_variant_question *q = f->question;
    size_t at = count_units(q);
    for (size_t i = q->count; i-- > 0;) {
        const pl_variant_stage *s = &f->stages[i];
        f->sums[i] = (pl_variant){0};
        for (size_t unit = s->end; unit > s->first_unit;) {
            const uint64_t origin = row_at(f, row)[ORIGIN];
            const bool is_full = (origin & ALL_UNITS) != 0;
            at -= is_full ? s->end - s->first_unit : 1;
            unit = is_full ? s->first_unit : unit - 1;
            f->picked[at] = is_full ? recomputed : (size_t)(origin & UINT32_MAX);
            const pl_variant own =
                is_full ? pl_variant_stage_full(s) : variant_of(s, unit, f->picked[at]);
            pl_variant_add(&f->sums[i], &own);
            row = (size_t)((origin & ~ALL_UNITS) >> 32);
        }
    }
}

/* Finds the best row within the limits, at the moments that count. */
static popliner_status find_best(pl_frontier *f, const pl_variant_limits *limits, bool has_stages,
                                 pl_variant_choice *best, popliner_error *error) {
    *best = (pl_variant_choice){0};
    popliner_status status = find_items(f, has_stages, error);
    if (status != POPLINER_OK)
        return status;
    limit_rows(f, limits);
    status = find_rows(f, error);
    size_t best_row = f->current;
    for (size_t row = f->current; status == POPLINER_OK && row < f->count; ++row) {
        pl_variant_choice own = {true, 0, row_at(f, row)[CYCLES]};
        for (size_t m = 0; m < f->num_moments; ++m)
            own.peak_bytes = pl_larger(own.peak_bytes, row_at(f, row)[AMOUNTS + m]);
        if (best->exists && (pl_variant_choice_is_better(best, &own, f->question->by_cycles) ||
                             (!pl_variant_choice_is_better(&own, best, f->question->by_cycles) &&
                              compare_stages(f, best_row, row) <= 0)))
            continue;
        *best = own;
        best_row = row;
    }
    if (best->exists)
        trace(f, best_row);
    return status;
}

/* Returns the moment at which what was picked needs most, and how much. */
static size_t find_worst(const pl_frontier *f, uint64_t *most_bytes) {
    size_t worst = 0;
    *most_bytes = 0;
    for (size_t moment = 0; moment < f->num_all; ++moment) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < f->question->count; ++i)
            bytes += pl_variant_bytes(&f->sums[i], *counts_of(f, i, moment));
        worst = bytes > *most_bytes ? moment : worst;
        *most_bytes = pl_larger(bytes, *most_bytes);
    }
    return worst;
}

static popliner_status add_moment(pl_frontier *f, size_t moment, popliner_error *error) {
    if (!pl_arrays_grow(&f->arrays, &f->moments, f->num_moments + 1, sizeof *f->moments))
        return fail_memory(error);
    f->moments[f->num_moments++] = moment;
    return POPLINER_OK;
}

/* Chooses as if the IPU had some of its moments alone, and adds the worst one of what that picks,
 * until there is none: few of many moments decide. */
static popliner_status find_at_moments(pl_frontier *f, pl_variant_limits limits, bool has_stages,
                                       pl_variant_choice *best, popliner_error *error) {
    popliner_status status = find_best(f, &limits, has_stages, best, error);
    while (status == POPLINER_OK && best->exists && f->num_all > 1) {
        uint64_t bytes;
        const size_t worst = find_worst(f, &bytes);
        if (bytes <= best->peak_bytes)
            break;
        if (!f->question->by_cycles) /* what was picked is a choice */
            limits.max_bytes = pl_smaller(limits.max_bytes, bytes);
        status = add_moment(f, worst, error);
        if (status == POPLINER_OK)
            status = find_best(f, &limits, has_stages, best, error);
    }
    return status;
}

/* Appends the units that use a variant. */
static void name_stage(const pl_frontier *f, size_t stage, const size_t *picked, pl_text *text) {
    const pl_choices *of = f->question->of;
    const popliner_interval *own = &f->question->stages[stage];
    bool has_any = false;
    if (picked[0] == recomputed) {
        pl_text_add(text, "full");
        return;
    }
    for (size_t unit = own->first_unit; unit <= own->last_unit; ++unit) {
        const size_t number = picked[unit - own->first_unit];
        if (number == 0)
            continue;
        pl_text_format(text, "%s%s=%s", has_any ? "," : "", of->unit_names[unit],
                       of->variants->items[of->variants->first[unit] + number].name);
        has_any = true;
    }
    if (!has_any)
        pl_text_add(text, "none");
}

popliner_status pl_frontier_choose(pl_frontier *f, const pl_variant_question *question,
                                   pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                   popliner_error *error) {
    const pl_variants *v = question->of->variants;
    const size_t count = question->count;
    const bool rounds = question->speed != POPLINER_SPEED_ONE;
    uint64_t shared = 0;
    f->question = question;
    *best = (pl_variant_choice){0};
    popliner_status status = prepare(f, error);
    if (status != POPLINER_OK)
        return status;
    if (count == 1)
        shared = f->stages[0].shared_bytes;
    else if (v->shared_bytes != NULL)
        shared = v->shared_bytes(v->user, question->stages, count);
    const uint64_t most_bytes = pl_smaller(question->limits.max_bytes, v->capacity_bytes);
    if (shared > most_bytes)
        return POPLINER_OK;
    pl_variant_limits limits = {question->limits.max_cycles, most_bytes - shared};
    f->num_moments = 0;
    status = add_moment(f, 0, error);
    if (status == POPLINER_OK)
        status = find_at_moments(f, limits, rounds, best, error);
    if (status != POPLINER_OK || !best->exists)
        return status;
    limits = (pl_variant_limits){best->cycles, best->peak_bytes};
    if (texts != NULL && count > 1 && !rounds)
        status = find_at_moments(f, limits, true, best, error);
    best->peak_bytes += shared;
    const size_t *picked = f->picked;
    for (size_t i = 0; status == POPLINER_OK && texts != NULL && i < count; ++i) {
        cycles[i] = pl_speed_cycles(question->speed, f->sums[i].cycles);
        name_stage(f, i, picked, &texts[i]);
        if (texts[i].failed)
            status = fail_memory(error);
        picked += question->stages[i].last_unit + 1 - question->stages[i].first_unit;
    }
    return status;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Sums of the units before one, for stages with so many micro-batches. */
typedef struct sums {
    pl_variant_counts counts;
    uint64_t *fast_bytes;  /* [units + 1]: of the fastest variants */
    uint64_t *least_bytes; /* [units + 1] */
    uint64_t *full_bytes;  /* [units + 1]: nothing is stored */
} sums;

struct pl_choice_bounds {
    const pl_choices *choices;
    size_t num_units;
    bool has_moments;
    pl_arrays arrays; /* own the others */
    sums *sums;       /* variants of units, by counts */
    size_t num_sums;
    size_t last_sums; /* of the last call, for a stage at last_place */
    size_t last_place;
    /* The stage of the last call, which may be longer in the next, and its steps. */
    pl_variant_stage stage;
    size_t stage_sums;
    step *steps;
    size_t num_steps;
    size_t end_of_steps;   /* one past the last unit that has some */
    pl_cost_order *orders; /* [ways] */
    uint64_t *cycles;      /* [units + 1]: the fewest cycles of the units before one */
    pl_frontier frontier;
    popliner_status failed;
    popliner_error error;
};

popliner_status pl_choice_bounds_create(const pl_choices *choices, size_t num_units,
                                        size_t max_stages, bool has_moments,
                                        pl_choice_bounds **bounds, popliner_error *error) {
    const pl_variants *v = choices->variants;
    pl_choice_bounds *b = *bounds = calloc(1, sizeof *b);
    if (b == NULL)
        return fail_memory(error);
    b->choices = choices;
    b->num_units = num_units;
    b->has_moments = has_moments;
    b->orders = pl_arrays_new(&b->arrays, choices->ways.count, sizeof *b->orders);
    b->cycles = pl_arrays_new(&b->arrays, num_units + 1, sizeof *b->cycles);
    b->steps = pl_arrays_new(&b->arrays, v != NULL ? v->count : 0, sizeof *b->steps);
    popliner_status status = b->arrays.failed ? fail_memory(error) : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < choices->ways.count; ++i)
        status = pl_costs_find_order(choices->ways.costs[i], max_stages, &b->orders[i], error);
    for (size_t unit = 0; status == POPLINER_OK && v != NULL && unit < num_units; ++unit)
        b->cycles[unit + 1] =
            b->cycles[unit] + fastest_of(v, unit, (pl_variant_counts){{0, 0}, false})->cycles;
    return status;
}

void pl_choice_bounds_free(pl_choice_bounds *bounds) {
    if (bounds == NULL)
        return;
    for (size_t i = 0; bounds->orders != NULL && i < bounds->choices->ways.count; ++i)
        pl_cost_order_clear(&bounds->orders[i]);
    pl_frontier_free(&bounds->frontier);
    pl_arrays_free(&bounds->arrays);
    free(bounds);
}

popliner_status pl_choice_bounds_failure(const pl_choice_bounds *b, popliner_error *error) {
    if (b->arrays.failed)
        return fail_memory(error);
    return b->failed == POPLINER_OK ? POPLINER_OK
                                    : pl_fail(error, b->failed, "%s", b->error.message);
}

/* Finds the sums of stages with so many micro-batches; NULL when memory is short. */
static const sums *find_sums(pl_choice_bounds *b, const popliner_interval *stage) {
    const pl_variants *v = b->choices->variants;
    const size_t n = b->num_units;
    if (b->last_place == stage->stages_to_end && b->last_sums < b->num_sums)
        return &b->sums[b->last_sums];
    b->last_place = stage->stages_to_end;
    pl_variant_counts own;
    pl_variants_counts_then(v, stage->stages_to_end, b->has_moments ? 1 : 0, &own);
    for (b->last_sums = 0; b->last_sums < b->num_sums; ++b->last_sums)
        if (pl_variant_counts_equal(b->sums[b->last_sums].counts, own))
            return &b->sums[b->last_sums];
    if (!pl_arrays_grow(&b->arrays, &b->sums, b->num_sums + 1, sizeof *b->sums))
        return NULL;
    sums x = {own, pl_arrays_new(&b->arrays, n + 1, sizeof *x.fast_bytes),
              pl_arrays_new(&b->arrays, n + 1, sizeof *x.least_bytes),
              pl_arrays_new(&b->arrays, n + 1, sizeof *x.full_bytes)};
    if (b->arrays.failed)
        return NULL;
    for (size_t unit = 0; unit < n; ++unit) {
        const pl_variant *plain = &v->items[v->first[unit]];
        uint64_t least = UINT64_MAX;
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i)
            least = pl_smaller(least, pl_variant_bytes(&v->items[i], own));
        x.least_bytes[unit + 1] = x.least_bytes[unit] + least;
        x.fast_bytes[unit + 1] =
            x.fast_bytes[unit] + pl_variant_bytes(fastest_of(v, unit, own), own);
        x.full_bytes[unit + 1] =
            x.full_bytes[unit] + plain->memory_bytes - (own.lacks_set ? plain->stash_bytes : 0);
    }
    b->sums[b->num_sums++] = x;
    return &b->sums[b->last_sums];
}

static uint64_t between(const uint64_t *before, const popliner_interval *stage) {
    return before[stage->last_unit + 1] - before[stage->first_unit];
}

/* Makes b->stage the stage: extends it if it is a beginning of that. */
static void grow_stage(pl_choice_bounds *b, const popliner_interval *stage) {
    if (b->stage.variants == NULL || b->stage_sums != b->last_sums ||
        b->stage.first_unit != stage->first_unit || b->stage.end > stage->last_unit + 1) {
        b->stage = pl_variant_stage_begin(b->choices->variants, stage->first_unit);
        b->stage_sums = b->last_sums;
        b->end_of_steps = stage->first_unit;
        b->num_steps = 0;
    }
    pl_variant_stage_extend(&b->stage, stage->last_unit + 1);
}

/* Returns what is left of the bytes of the fastest variants of b->stage after steps that take so
 * many cycles. Ends as soon as this is within enough_bytes. Whole steps do it, or the last one
 * counts in part. */
static uint64_t after_steps(pl_choice_bounds *b, const sums *x, uint64_t bytes, uint64_t cycles,
                            uint64_t enough_bytes, bool *are_whole) {
    *are_whole = true;
    for (; b->end_of_steps < b->stage.end; ++b->end_of_steps)
        b->num_steps =
            add_steps(b->steps, b->num_steps, b->choices->variants, b->end_of_steps, x->counts);
    for (size_t i = 0; i < b->num_steps && bytes > enough_bytes; ++i) {
        const step *own = &b->steps[i];
        if (own->cycles > cycles) {
            *are_whole = cycles == 0;
            return bytes - pl_ratio_up((uint64_t[]){own->bytes, cycles}, 2, &own->cycles, 1);
        }
        bytes -= own->bytes;
        cycles -= own->cycles;
    }
    return bytes;
}

/* Returns a lower bound of what a stage needs, not below enough_bytes; or POPLINER_PEAK_FORBIDDEN.
 * *is_exact: a choice needs no more, or there is none. */
static uint64_t bound_of(pl_choice_bounds *b, const popliner_interval *stage,
                         const pl_variant_limits *limits, uint64_t enough_bytes, bool *is_exact) {
    const sums *x = find_sums(b, stage);
    *is_exact = true;
    if (x == NULL)
        return POPLINER_PEAK_FORBIDDEN;
    grow_stage(b, stage);
    const pl_variant_stage *s = &b->stage;
    const uint64_t shared = s->shared_bytes;
    const uint64_t most = pl_smaller(limits->max_bytes, s->variants->capacity_bytes);
    const uint64_t cycles = between(b->cycles, stage) + pl_variant_stage_cut_cycles(s);
    const uint64_t fast_bytes = between(x->fast_bytes, stage) + shared;
    const uint64_t least_bytes = between(x->least_bytes, stage) + shared;
    const pl_variant full = pl_variant_stage_full(s);
    uint64_t full_bytes = pl_variant_bytes(&full, x->counts) + shared;
    uint64_t bytes = POPLINER_PEAK_FORBIDDEN;
    bool are_whole = true;
    if (!s->variants->has_full || full_bytes > most || full.cycles > limits->max_cycles)
        full_bytes = POPLINER_PEAK_FORBIDDEN;
    if (full_bytes <= enough_bytes)
        return full_bytes;
    if (least_bytes > most || cycles > limits->max_cycles)
        return full_bytes;
    if (fast_bytes <= enough_bytes)
        bytes = fast_bytes;
    else if (limits->max_cycles == UINT64_MAX)
        bytes = least_bytes;
    else
        bytes =
            after_steps(b, x, fast_bytes, limits->max_cycles - cycles, enough_bytes, &are_whole);
    bytes = bytes <= most ? bytes : POPLINER_PEAK_FORBIDDEN;
    *is_exact = are_whole || bytes >= full_bytes;
    return pl_smaller(bytes, full_bytes);
}

uint64_t pl_choice_bounds_least(pl_choice_bounds *bounds, const popliner_interval *stage,
                                const pl_variant_limits *limits) {
    bool is_exact;
    size_t which;
    if (bounds->choices->variants != NULL)
        return bound_of(bounds, stage, limits, 0, &is_exact);
    const pl_variant_choice best =
        pl_ways_choose(&bounds->choices->ways, stage, limits, false, &which);
    return best.exists ? best.peak_bytes : POPLINER_PEAK_FORBIDDEN;
}

bool pl_choice_bounds_allow(pl_choice_bounds *b, const popliner_interval *stage,
                            const pl_variant_limits *limits) {
    const pl_choices *of = b->choices;
    pl_variant_choice best = {0};
    bool is_exact;
    size_t which;
    if (of->variants == NULL)
        return pl_ways_choose(&of->ways, stage, limits, false, &which).exists;
    const uint64_t most = pl_smaller(pl_smaller(limits->max_bytes, of->variants->capacity_bytes),
                                     POPLINER_PEAK_FORBIDDEN - 1);
    const bool may_be = bound_of(b, stage, limits, most, &is_exact) <= most;
    if (is_exact || !may_be || b->failed != POPLINER_OK)
        return may_be;
    const pl_variant_question question = {of,      stage, 1, b->has_moments, POPLINER_SPEED_ONE,
                                          *limits, false};
    b->failed = pl_frontier_choose(&b->frontier, &question, &best, NULL, NULL, &b->error);
    return best.exists;
}

bool pl_choice_bounds_is_over(pl_choice_bounds *bounds, const popliner_interval *stage,
                              const pl_variant_limits *limits) {
    const pl_choices *c = bounds->choices;
    const pl_variants *v = c->variants;
    bool is_over = true;
    for (size_t i = 0; v == NULL && is_over && i < c->ways.count; ++i)
        is_over = pl_cost_order_is_over(&bounds->orders[i], c->ways.costs[i], stage,
                                        limits->max_cycles, limits->max_bytes);
    if (v == NULL)
        return is_over;
    const sums *x = find_sums(bounds, stage);
    const uint64_t most = pl_smaller(limits->max_bytes, v->capacity_bytes);
    return x == NULL || between(bounds->cycles, stage) > limits->max_cycles ||
           (between(x->least_bytes, stage) > most &&
            (!v->has_full || between(x->full_bytes, stage) > most));
}

uint64_t pl_choice_bounds_cycles(const pl_choice_bounds *bounds, const popliner_interval *stage) {
    const pl_choices *c = bounds->choices;
    const pl_variants *v = c->variants;
    static const pl_variant_limits any = {UINT64_MAX, POPLINER_PEAK_FORBIDDEN - 1};
    size_t which;
    if (v != NULL)
        return between(bounds->cycles, stage) + v->cut_cycles[stage->first_unit] +
               v->cut_cycles[stage->last_unit + 1];
    const pl_variant_choice best = pl_ways_choose(&c->ways, stage, &any, true, &which);
    return best.exists ? best.cycles : UINT64_MAX;
}

/* ---- ways ---- */

pl_variant_choice pl_ways_choose(const pl_ways *ways, const popliner_interval *stage,
                                 const pl_variant_limits *limits, bool by_cycles, size_t *way) {
    pl_variant_choice best = {0};
    for (size_t i = 0; i < ways->count; ++i) {
        const popliner_costs *costs = ways->costs[i];
        const pl_variant_choice own = {
            true,
            popliner_costs_peak(costs, stage->first_unit, stage->last_unit, stage->stages_to_end),
            popliner_costs_cycles(costs, stage->first_unit, stage->last_unit)};
        if (own.cycles > limits->max_cycles || own.peak_bytes > limits->max_bytes ||
            own.peak_bytes == POPLINER_PEAK_FORBIDDEN ||
            (best.exists && !pl_variant_choice_is_better(&own, &best, by_cycles)))
            continue;
        best = own;
        *way = i;
    }
    return best;
}
