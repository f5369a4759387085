/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/variants.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/compromises.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "pipeline/moments.h"
#include "pipeline/pipeline.h"

/* ---- Variants -------------------------------------------------------------------------------- */

enum { MAX_POINTS = 1 << 22 };

void pl_variants_free(pl_variants *variants) {
    for (size_t i = 0; i < variants->count; ++i)
        free(variants->items[i].name);
    free(variants->items);
    free(variants->arrivals);
    *variants = (pl_variants){0};
}

bool pl_variants_add(pl_variants *variants, pl_variant variant, const char *name, size_t length) {
    if (!pl_grow(&variants->items, &variants->capacity, variants->count + 1,
                 sizeof *variants->items))
        return false;
    variant.name = pl_copy_string(name, length);
    variants->items[variants->count] = variant;
    variants->count += variant.name != NULL;
    return variant.name != NULL;
}

bool pl_variant_choice_is_better(const pl_variant_choice *own, const pl_variant_choice *other,
                                 bool by_cycles) {
    if (by_cycles && own->cycles != other->cycles)
        return own->cycles < other->cycles;
    return own->peak_bytes < other->peak_bytes;
}

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the variants of the stages");
}

/* ---- a stage of units ---- */

/* The micro-batches of a stage besides those in its memory. */
typedef struct counts {
    pl_held held;
    bool lacks_set; /* there is not even that in the memory, of which nothing runs */
} counts;

/* Returns the most micro-batches at a place of the pipeline. */
static counts counts_at(const pl_variants *v, size_t place) {
    return (counts){pl_pipeline_held(&v->pipeline, place), false};
}

size_t pl_variants_num_moments(const pl_variants *v, size_t place) {
    size_t count = 1;
    if (v->moments != NULL)
        pl_moments_of(v->moments, place, &count);
    return count;
}

/* Returns the same at a moment of the IPU; at one that is known, what its stages need adds up to no
 * more than what they need together. */
static counts counts_then(const pl_variants *v, size_t place, size_t number) {
    size_t num_moments;
    if (v->moments == NULL)
        return counts_at(v, place);
    const pl_held *moments = pl_moments_of(v->moments, place, &num_moments);
    counts own = {moments[number * v->moments->num_chunks + pl_moments_chunk(v->moments, place)],
                  false};
    if (own.held.sets > 0)
        --own.held.sets;
    else if (v->has_working_set)
        own.lacks_set = true;
    else
        own.held.kept -= own.held.kept > 0;
    return own;
}

static bool are_equal(counts a, counts b) {
    return a.held.kept == b.held.kept && a.held.sets == b.held.sets && a.lacks_set == b.lacks_set;
}

static uint64_t bytes_of(const pl_variant *variant, counts own) {
    return variant->memory_bytes + own.held.kept * variant->stash_bytes +
           own.held.sets * variant->set_bytes - (own.lacks_set ? variant->running_bytes : 0);
}

uint64_t pl_variants_bytes(const pl_variants *v, const pl_variant *choice, size_t place,
                           size_t moment) {
    return bytes_of(choice, counts_then(v, place, moment));
}

static pl_variant sum_of(const pl_variant *a, const pl_variant *b) {
    return (pl_variant){a->memory_bytes + b->memory_bytes,     a->stash_bytes + b->stash_bytes,
                        a->set_bytes + b->set_bytes,           a->running_bytes + b->running_bytes,
                        pl_add_or_never(a->cycles, b->cycles), NULL};
}

/* The memory of a stage that all its choices share, and its costs if it recomputes all units. */
typedef struct frame {
    const pl_variants *variants;
    counts counts;
    size_t first_unit;
    size_t end;     /* one past the last unit */
    size_t arrival; /* the next one */
    uint64_t shared_bytes;
    pl_variant units; /* unchanged, but with the cycles of recomputing */
} frame;

static frame begin_frame(const pl_variants *v, counts own, size_t first_unit) {
    frame f = {.variants = v, .counts = own, .first_unit = first_unit, .end = first_unit};
    while (f.arrival < v->num_arrivals && v->arrivals[f.arrival].unit < first_unit)
        ++f.arrival;
    return f;
}

/* Returns the stage that recomputes all, without its cuts. */
static pl_variant full_of(const frame *f) {
    const uint64_t inputs = f->variants->inputs_bytes[f->first_unit];
    pl_variant full = f->units;
    full.stash_bytes = inputs;
    full.set_bytes = pl_larger(full.set_bytes, inputs);
    return full;
}

/* Adds the next unit. */
static void extend_frame(frame *f) {
    const pl_variants *v = f->variants;
    const size_t unit = f->end++;
    for (; f->arrival < v->num_arrivals && v->arrivals[f->arrival].unit == unit; ++f->arrival) {
        const pl_arrival *arrival = &v->arrivals[f->arrival];
        bool is_new = arrival->begins_after == SIZE_MAX || f->first_unit > arrival->begins_after;
        f->shared_bytes += is_new ? arrival->bytes : 0;
    }
    f->units = sum_of(&f->units, &v->items[v->first[unit]]);
    f->units.cycles += v->recompute_cycles[unit];
}

static uint64_t cut_cycles(const frame *f) {
    return f->variants->cut_cycles[f->first_unit] + f->variants->cut_cycles[f->end];
}

/* Returns the choice of recomputing all units, if there is one within the limits. */
static pl_variant_choice full_choice(const frame *f, uint64_t max_cycles, uint64_t max_bytes) {
    const pl_variant full = full_of(f);
    const uint64_t bytes = bytes_of(&full, f->counts) + f->shared_bytes;
    const uint64_t cycles = full.cycles + cut_cycles(f);
    const bool exists = f->variants->has_full && bytes <= max_bytes &&
                        bytes <= f->variants->capacity_bytes && cycles <= max_cycles;
    return (pl_variant_choice){exists, bytes, cycles};
}

/* ---- parts of variants ---- */

/* From a variant of a unit to one that takes more cycles and fewer bytes. */
typedef struct step {
    size_t unit;
    size_t number; /* of the steps of the unit */
    uint64_t cycles;
    uint64_t bytes;
} step;

/* Bounds of stages of a range of units: steps count in part, those with the most bytes for a cycle
 * first (Dantzig, Operations Research 5, 1957). The steps of a unit are its lower convex hull. */
typedef struct relaxation {
    counts counts;
    step *steps;
    size_t num_steps;
    size_t first_unit;
    /* [units + 1]: where the steps of a unit begin in `places`, their places in `steps` */
    size_t *first_place;
    size_t *places;
    const pl_variant **fastest; /* [units] */
    /* [units + 1]: the fewest bytes of all units before one, and those of which nothing is
     * stored */
    uint64_t *bytes_before;
    uint64_t *full_before;
    /* [num_steps + 1]: sums of the units of a stage, a binary indexed tree */
    uint64_t *cycles;
    uint64_t *bytes;
    pl_arrays arrays; /* which own all of these */
} relaxation;

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

static int compare_steps(const void *left, const void *right) {
    const step *a = left;
    const step *b = right;
    const int order = compare_ratios(a, b);
    return order != 0 ? order : (a->unit > b->unit) - (a->unit < b->unit);
}

/* Adds the steps of a unit. */
static void add_steps(relaxation *x, const pl_variants *v, size_t unit) {
    const counts own_counts = x->counts;
    const size_t end = v->first[unit + 1];
    const pl_variant *now = &v->items[v->first[unit]];
    for (size_t i = v->first[unit]; i < end; ++i)
        if (v->items[i].cycles < now->cycles ||
            (v->items[i].cycles == now->cycles &&
             bytes_of(&v->items[i], own_counts) < bytes_of(now, own_counts)))
            now = &v->items[i];
    const size_t at = unit - x->first_unit;
    x->fastest[at] = now;
    const pl_variant *plain = &v->items[v->first[unit]];
    x->full_before[at + 1] =
        x->full_before[at] + plain->memory_bytes - (own_counts.lacks_set ? plain->stash_bytes : 0);
    for (size_t number = 0; now != NULL; ++number) {
        const pl_variant *next = NULL;
        step best = {0};
        for (size_t i = v->first[unit]; i < end; ++i) {
            const pl_variant *other = &v->items[i];
            if (bytes_of(other, own_counts) >= bytes_of(now, own_counts))
                continue;
            const step own = {unit, number, other->cycles - now->cycles,
                              bytes_of(now, own_counts) - bytes_of(other, own_counts)};
            const int order = next == NULL ? -1 : compare_ratios(&own, &best);
            if (order < 0 || (order == 0 && own.cycles > best.cycles)) {
                next = other;
                best = own;
            }
        }
        if (next != NULL)
            x->steps[x->num_steps++] = best;
        else
            x->bytes_before[at + 1] = x->bytes_before[at] + bytes_of(now, own_counts);
        now = next;
    }
}

/* Finds the steps of the units first ... end - 1. */
static popliner_status relax(relaxation *x, const pl_variants *v, counts own, size_t first,
                             size_t end, popliner_error *error) {
    const size_t count = end - first;
    const size_t most = v->first[end] - v->first[first];
    *x = (relaxation){.counts = own, .first_unit = first};
    x->steps = pl_arrays_new(&x->arrays, most, sizeof *x->steps);
    x->first_place = pl_arrays_new(&x->arrays, count + 2, sizeof *x->first_place);
    x->places = pl_arrays_new(&x->arrays, most, sizeof *x->places);
    x->fastest = pl_arrays_new(&x->arrays, count, sizeof *x->fastest);
    x->bytes_before = pl_arrays_new(&x->arrays, count + 1, sizeof *x->bytes_before);
    x->full_before = pl_arrays_new(&x->arrays, count + 1, sizeof *x->full_before);
    x->cycles = pl_arrays_new(&x->arrays, most + 1, sizeof *x->cycles);
    x->bytes = pl_arrays_new(&x->arrays, most + 1, sizeof *x->bytes);
    if (x->arrays.failed)
        return fail_memory(error);
    for (size_t unit = first; unit < end; ++unit)
        add_steps(x, v, unit);
    qsort(x->steps, x->num_steps, sizeof *x->steps, compare_steps);
    for (size_t i = 0; i < x->num_steps; ++i)
        ++x->first_place[x->steps[i].unit - first + 2];
    for (size_t i = 2; i < count + 2; ++i)
        x->first_place[i] += x->first_place[i - 1];
    for (size_t i = 0; i < x->num_steps; ++i)
        x->places[x->first_place[x->steps[i].unit - first + 1]++] = i;
    return POPLINER_OK;
}

/* Lets the steps of a unit count. */
static void count_unit(relaxation *x, size_t unit) {
    const size_t *first = &x->first_place[unit - x->first_unit];
    for (size_t i = first[0]; i < first[1]; ++i) {
        const step *own = &x->steps[x->places[i]];
        for (size_t at = x->places[i] + 1; at <= x->num_steps; at += at & (~at + 1)) {
            x->cycles[at] += own->cycles;
            x->bytes[at] += own->bytes;
        }
    }
}

/* Returns how many bytes the steps that count save at most, rounded up, for so many cycles. */
static uint64_t most_saved(const relaxation *x, uint64_t cycles) {
    size_t at = 0;
    uint64_t saved = 0;
    size_t size = 1;
    while (size <= x->num_steps / 2)
        size *= 2;
    for (; size > 0; size /= 2) {
        const size_t next = at + size;
        if (next > x->num_steps || x->cycles[next] > cycles)
            continue;
        at = next;
        cycles -= x->cycles[at];
        saved += x->bytes[at];
    }
    if (at == x->num_steps || cycles == 0)
        return saved;
    const step *own = &x->steps[at];
    if ((own->bytes | cycles) >> 32 == 0)
        return saved + (own->bytes * cycles + own->cycles - 1) / own->cycles;
    return saved + pl_ratio_up((uint64_t[]){own->bytes, cycles}, 2, &own->cycles, 1);
}

/* ---- all points ---- */

/* Costs of units, or lower bounds; the score is a weighted sum of both. */
typedef struct amount {
    uint64_t cycles;
    uint64_t bytes;
    uint64_t score;
} amount;

/* A stage that grows unit by unit, and the choices of its units that no other beats. With limits,
 * those are dropped that exceed `most` with the least that the remaining units take. */
typedef struct row {
    const pl_variants *variants;
    const counts *counts; /* [num_moments] of the points */
    size_t first_unit;
    size_t end;            /* one past the last unit so far */
    pl_compromises points; /* of all units so far, those of the last unit at the end */
    size_t current;        /* where the points of the last unit begin */
    amount most;
    amount *rest; /* [units + 1]: what the units from here on take at least; NULL: no limits */
    uint64_t cycle_weight;
    uint64_t byte_weight;
    pl_arrays arrays;
} row;

/* True if a point of such numbers may be the best, with the least that later units take. */
static bool is_within(const row *r, const amount *rest, uint64_t cycles, uint64_t bytes) {
    const uint64_t score = cycles * r->cycle_weight + bytes * r->byte_weight;
    return cycles + rest->cycles <= r->most.cycles && bytes + rest->bytes <= r->most.bytes &&
           score + rest->score <= r->most.score;
}

/* Adds the next unit to the stage. */
static popliner_status extend_row(row *r, popliner_error *error) {
    const pl_variants *v = r->variants;
    pl_compromises *points = &r->points;
    const size_t unit = r->end++;
    const amount *rest = r->rest == NULL ? NULL : &r->rest[r->end - r->first_unit];
    const bool is_first = unit == r->first_unit;
    const size_t begin = r->current;
    const size_t num_before = is_first ? 1 : points->count - begin;
    const size_t num_own = v->first[unit + 1] - v->first[unit];
    const size_t wanted = points->count + num_before * num_own;
    if (wanted > MAX_POINTS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       r->first_unit, unit);
    if (!pl_compromises_reserve(points, wanted + num_own + 1))
        return fail_memory(error);
    const size_t width = PL_BYTES + points->num_moments;
    uint64_t *none = pl_compromise(points, wanted + num_own);
    uint64_t *next = pl_compromise(points, points->count);
    memset(none, 0, width * sizeof *none);
    for (size_t k = 0; k < num_own; ++k) {
        const pl_variant *variant = &v->items[v->first[unit] + k];
        uint64_t *own = pl_compromise(points, wanted + k);
        own[PL_CYCLES] = variant->cycles;
        own[PL_ORIGIN] = 0;
        for (size_t m = 0; m < points->num_moments; ++m)
            own[PL_BYTES + m] = bytes_of(variant, r->counts[m]);
    }
    r->current = points->count;
    for (size_t i = 0; i < num_before; ++i) {
        const uint64_t *before = is_first ? none : pl_compromise(points, begin + i);
        const uint64_t *own = pl_compromise(points, wanted);
        for (size_t k = 0; k < num_own; ++k, own += width) {
            if (rest != NULL && !is_within(r, rest, before[PL_CYCLES] + own[PL_CYCLES],
                                           before[PL_BYTES] + own[PL_BYTES]))
                continue;
            for (size_t at = 0; at < width; ++at)
                next[at] = before[at] + own[at];
            next[PL_ORIGIN] = pl_origin(begin + i, k);
            next += width;
            ++points->count;
        }
    }
    pl_compromises_keep(points, r->current);
    return POPLINER_OK;
}

/* Lowers the limits of a row to those of a good choice: whole steps, the best first, as long as
 * they are within the cycles, or until they are within the bytes. Returns the step at which parts
 * would count; NULL if none would. */
static const step *limit_by_steps(row *r, const relaxation *x, bool by_cycles, size_t *num_taken) {
    const step *critical = NULL;
    amount now = {0};
    uint64_t best = r->most.cycles;
    for (size_t unit = r->first_unit; unit < r->end; ++unit) {
        now.cycles += x->fastest[unit - r->first_unit]->cycles;
        now.bytes += bytes_of(x->fastest[unit - r->first_unit], r->counts[0]);
    }
    if (by_cycles && now.bytes <= r->most.bytes)
        best = pl_smaller(best, now.cycles);
    for (size_t i = 0; i < x->num_steps && (!by_cycles || now.bytes > r->most.bytes); ++i) {
        const step *own = &x->steps[i];
        const uint64_t cycles = pl_add_or_never(now.cycles, own->cycles);
        const bool is_next = num_taken[own->unit - r->first_unit] == own->number;
        if (!is_next)
            continue;
        const bool ends =
            by_cycles ? now.bytes - own->bytes <= r->most.bytes : cycles > r->most.cycles;
        if (ends && by_cycles)
            best = pl_smaller(best, cycles);
        if (ends) {
            critical = critical == NULL ? own : critical;
            continue;
        }
        now.cycles = cycles;
        now.bytes -= own->bytes;
        ++num_taken[own->unit - r->first_unit];
    }
    if (by_cycles)
        r->most.cycles = best;
    else if (now.cycles <= r->most.cycles)
        r->most.bytes = pl_smaller(r->most.bytes, now.bytes);
    return critical;
}

/* Weighs bytes and cycles so that the best points have almost the smallest score: like the critical
 * step. */
static void weigh(row *r, const step *critical, bool by_cycles) {
    const pl_variants *v = r->variants;
    amount all = {0};
    for (size_t unit = r->first_unit; unit < r->end; ++unit) {
        amount own = {0};
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i) {
            own.cycles = pl_larger(own.cycles, v->items[i].cycles);
            own.bytes = pl_larger(own.bytes, bytes_of(&v->items[i], r->counts[0]));
        }
        all.cycles = pl_add_or_never(all.cycles, own.cycles);
        all.bytes = pl_add_or_never(all.bytes, own.bytes);
    }
    r->most.cycles = pl_smaller(r->most.cycles, all.cycles);
    r->most.bytes = pl_smaller(r->most.bytes, all.bytes);
    r->cycle_weight = critical != NULL ? critical->bytes : by_cycles;
    r->byte_weight = critical != NULL ? critical->cycles : !by_cycles;
    while (pl_multiply_or_never(all.cycles, r->cycle_weight) > UINT64_MAX / 4 ||
           pl_multiply_or_never(all.bytes, r->byte_weight) > UINT64_MAX / 4) {
        r->cycle_weight /= 2;
        r->byte_weight /= 2;
    }
    r->most.score = r->most.cycles * r->cycle_weight + r->most.bytes * r->byte_weight;
    for (size_t unit = r->end; unit-- > r->first_unit;) {
        const amount *after = &r->rest[unit + 1 - r->first_unit];
        amount least = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i) {
            const uint64_t bytes = bytes_of(&v->items[i], r->counts[0]);
            const uint64_t cycles = v->items[i].cycles;
            least.cycles = pl_smaller(least.cycles, cycles);
            least.bytes = pl_smaller(least.bytes, bytes);
            least.score =
                pl_smaller(least.score, cycles * r->cycle_weight + bytes * r->byte_weight);
        }
        r->rest[unit - r->first_unit] = (amount){
            after->cycles + least.cycles, after->bytes + least.bytes, after->score + least.score};
    }
}

/* Finds the points of a stage that may be the best within the limits of *r, by cycles or else by
 * bytes. */
static popliner_status fill_row(row *r, bool by_cycles, popliner_error *error) {
    relaxation x = {0};
    const size_t end = r->end;
    const size_t count = end - r->first_unit;
    size_t *num_taken = pl_arrays_new(&r->arrays, count, sizeof *num_taken);
    r->rest = pl_arrays_new(&r->arrays, count + 1, sizeof *r->rest); /* all 0 */
    popliner_status status = r->arrays.failed
                                 ? fail_memory(error)
                                 : relax(&x, r->variants, r->counts[0], r->first_unit, end, error);
    if (status == POPLINER_OK)
        weigh(r, limit_by_steps(r, &x, by_cycles, num_taken), by_cycles);
    r->end = r->first_unit;
    while (status == POPLINER_OK && r->end < end)
        status = extend_row(r, error);
    pl_arrays_free(&x.arrays);
    return status;
}

/* ---- the better choice ---- */

/* Takes a choice that is within the limits, unless another one is as good. True if it does. */
static bool take(pl_variant_choice *best, const pl_variant_choice *own,
                 const pl_variant_limits *limits, bool by_cycles) {
    if (own->cycles > limits->max_cycles || own->peak_bytes > limits->max_bytes ||
        own->peak_bytes == POPLINER_PEAK_FORBIDDEN ||
        (best->exists && !pl_variant_choice_is_better(own, best, by_cycles)))
        return false;
    *best = *own;
    return true;
}

static uint64_t cycles_of(const popliner_costs *costs, const popliner_interval *stage) {
    return popliner_costs_has_cycles(costs)
               ? popliner_costs_cycles(costs, stage->first_unit, stage->last_unit)
               : 0;
}

/* Chooses of the ways of a stage. */
static pl_variant_choice choose_way(const pl_ways *ways, const popliner_interval *stage,
                                    const pl_variant_limits *limits, bool by_cycles, size_t *way) {
    pl_variant_choice best = {0};
    for (size_t i = 0; i < ways->count; ++i) {
        const pl_variant_choice own = {true,
                                       popliner_costs_peak(ways->costs[i], stage->first_unit,
                                                           stage->last_unit, stage->stages_to_end),
                                       cycles_of(ways->costs[i], stage)};
        if (take(&best, &own, limits, by_cycles))
            *way = i;
    }
    return best;
}

/* ---- bounds ---- */

/* The smallest peak of a stage within so many cycles. */
typedef struct refined {
    counts counts;
    uint64_t max_cycles;
    uint64_t peak_bytes;
    size_t before; /* number of the last one of the interval before it, from 1 on; 0: none */
} refined;

/* The stage of the last call, which may be one unit longer in the next. */
typedef struct grown_stage {
    frame frame;
    amount fast;       /* of its fastest variants */
    bool counts_parts; /* the steps of its units count in the tree */
} grown_stage;

struct pl_choice_bounds {
    const pl_choices *choices;
    size_t num_units;
    bool at_one_moment;
    relaxation **relaxations; /* variants of units, by counts */
    size_t num_relaxations;
    size_t relaxations_capacity;
    relaxation *last_relaxation;
    grown_stage last;
    pl_cost_order *orders;   /* [ways] */
    uint64_t *cycles_before; /* [units + 1]: the fewest cycles of variants of units */
    size_t *last_refined;    /* a triangle: as in `before`; NULL until needed */
    refined *refined;
    size_t num_refined;
    size_t refined_capacity;
    bool has_failed;
};

popliner_status pl_choice_bounds_create(const pl_choices *choices, size_t num_units,
                                        size_t max_stages, bool at_one_moment,
                                        pl_choice_bounds **bounds, popliner_error *error) {
    const pl_variants *v = choices->variants;
    pl_choice_bounds *b = *bounds = calloc(1, sizeof *b);
    popliner_status status = b == NULL ? fail_memory(error) : POPLINER_OK;
    if (status != POPLINER_OK)
        return status;
    b->choices = choices;
    b->num_units = num_units;
    b->at_one_moment = at_one_moment;
    b->orders = pl_new_array(choices->ways.count, sizeof *b->orders);
    b->cycles_before = pl_new_array(num_units + 1, sizeof *b->cycles_before);
    if (b->orders == NULL || b->cycles_before == NULL)
        return fail_memory(error);
    for (size_t i = 0; status == POPLINER_OK && i < choices->ways.count; ++i)
        status = pl_costs_find_order(choices->ways.costs[i], max_stages, &b->orders[i], error);
    for (size_t unit = 0; v != NULL && unit < num_units; ++unit) {
        uint64_t fewest = UINT64_MAX;
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i)
            fewest = pl_smaller(fewest, v->items[i].cycles);
        b->cycles_before[unit + 1] = b->cycles_before[unit] + fewest;
    }
    return status;
}

void pl_choice_bounds_free(pl_choice_bounds *bounds) {
    if (bounds == NULL)
        return;
    for (size_t i = 0; i < bounds->num_relaxations; ++i) {
        pl_arrays_free(&bounds->relaxations[i]->arrays);
        free(bounds->relaxations[i]);
    }
    for (size_t i = 0; bounds->orders != NULL && i < bounds->choices->ways.count; ++i)
        pl_cost_order_clear(&bounds->orders[i]);
    free(bounds->relaxations);
    free(bounds->orders);
    free(bounds->cycles_before);
    free(bounds->last_refined);
    free(bounds->refined);
    free(bounds);
}

bool pl_choice_bounds_have_failed(const pl_choice_bounds *bounds) {
    return bounds->has_failed;
}

/* Returns the micro-batches of a stage that bounds are of. */
static counts counts_of(const pl_choice_bounds *b, const popliner_interval *stage) {
    const pl_variants *v = b->choices->variants;
    return b->at_one_moment ? counts_then(v, stage->stages_to_end, 0)
                            : counts_at(v, stage->stages_to_end);
}

/* Returns the relaxation of stages with so many micro-batches; NULL when memory is short. */
static relaxation *relaxation_of(pl_choice_bounds *b, counts own) {
    if (b->last_relaxation != NULL && are_equal(b->last_relaxation->counts, own))
        return b->last_relaxation;
    for (size_t i = 0; i < b->num_relaxations; ++i)
        if (are_equal(b->relaxations[i]->counts, own))
            return b->last_relaxation = b->relaxations[i];
    if (!pl_grow(&b->relaxations, &b->relaxations_capacity, b->num_relaxations + 1,
                 sizeof(relaxation *)))
        return NULL;
    relaxation *x = calloc(1, sizeof *x);
    if (x != NULL && relax(x, b->choices->variants, own, 0, b->num_units, NULL) != POPLINER_OK) {
        pl_arrays_free(&x->arrays);
        free(x);
        x = NULL;
    }
    if (x != NULL)
        b->last_relaxation = b->relaxations[b->num_relaxations++] = x;
    return x;
}

/* Makes b->last the stage: grows it if it is a beginning of that. */
static void grow_to(pl_choice_bounds *b, relaxation *x, const popliner_interval *stage,
                    bool counts_parts) {
    const counts own = x->counts;
    grown_stage *g = &b->last;
    if (g->frame.variants == NULL || !are_equal(g->frame.counts, own) ||
        g->frame.first_unit != stage->first_unit || g->frame.end > stage->last_unit + 1 ||
        (counts_parts && !g->counts_parts)) {
        *g = (grown_stage){
            begin_frame(b->choices->variants, own, stage->first_unit), {0}, counts_parts};
        if (counts_parts) {
            memset(x->cycles, 0, (x->num_steps + 1) * sizeof *x->cycles);
            memset(x->bytes, 0, (x->num_steps + 1) * sizeof *x->bytes);
        }
    }
    while (g->frame.end <= stage->last_unit) {
        const size_t unit = g->frame.end;
        g->fast.cycles += x->fastest[unit]->cycles;
        g->fast.bytes += bytes_of(x->fastest[unit], own);
        if (g->counts_parts)
            count_unit(x, unit);
        extend_frame(&g->frame);
    }
}

/* Returns the largest of the bounds of a stage that were refined for at least these cycles. */
static uint64_t refined_bytes(const pl_choice_bounds *b, const popliner_interval *stage, counts own,
                              uint64_t max_cycles) {
    uint64_t bytes = 0;
    if (b->last_refined == NULL)
        return 0;
    for (size_t i =
             b->last_refined[pl_triangle_place(b->num_units, stage->first_unit, stage->last_unit)];
         i > 0; i = b->refined[i - 1].before)
        if (are_equal(b->refined[i - 1].counts, own) && b->refined[i - 1].max_cycles >= max_cycles)
            bytes = pl_larger(bytes, b->refined[i - 1].peak_bytes);
    return bytes;
}

uint64_t pl_choice_bounds_least(pl_choice_bounds *bounds, const popliner_interval *stage,
                                const pl_variant_limits *limits) {
    const pl_choices *c = bounds->choices;
    const pl_variants *v = c->variants;
    size_t which;
    if (v == NULL) {
        const pl_variant_choice best = choose_way(&c->ways, stage, limits, false, &which);
        return best.exists ? best.peak_bytes : POPLINER_PEAK_FORBIDDEN;
    }
    const counts own = counts_of(bounds, stage);
    const bool counts_parts = limits->max_cycles < UINT64_MAX;
    relaxation *x = relaxation_of(bounds, own);
    bounds->has_failed = bounds->has_failed || x == NULL;
    if (x == NULL)
        return POPLINER_PEAK_FORBIDDEN;
    grow_to(bounds, x, stage, counts_parts);
    const frame *f = &bounds->last.frame;
    const uint64_t most = pl_smaller(limits->max_bytes, v->capacity_bytes);
    const pl_variant_choice full = full_choice(f, limits->max_cycles, limits->max_bytes);
    const uint64_t cycles = bounds->last.fast.cycles + cut_cycles(f);
    uint64_t bytes = UINT64_MAX;
    if (!counts_parts)
        bytes = f->shared_bytes + x->bytes_before[stage->last_unit + 1] -
                x->bytes_before[stage->first_unit];
    else if (cycles <= limits->max_cycles)
        bytes =
            f->shared_bytes + bounds->last.fast.bytes - most_saved(x, limits->max_cycles - cycles);
    bytes = bytes <= most ? bytes : POPLINER_PEAK_FORBIDDEN;
    bytes = full.exists ? pl_smaller(bytes, full.peak_bytes) : bytes;
    bytes = pl_larger(bytes, refined_bytes(bounds, stage, own, limits->max_cycles));
    return bytes <= limits->max_bytes ? bytes : POPLINER_PEAK_FORBIDDEN;
}

/* True if a way of a stage is not within the limits, and none of a longer one is. */
static bool is_way_over(const popliner_costs *costs, const pl_cost_order *order,
                        const popliner_interval *stage, const pl_variant_limits *limits) {
    const pl_differences *least = &order->least_cycles;
    const size_t first = stage->first_unit;
    const size_t end = stage->last_unit + 1;
    uint64_t cycles = 0;
    if (order->cycles_never_shrink && popliner_costs_has_cycles(costs))
        cycles = popliner_costs_cycles(costs, first, stage->last_unit);
    else if (least->ends != NULL && least->ends[end] > least->begins[first])
        cycles = least->ends[end] - least->begins[first];
    return cycles > limits->max_cycles ||
           (order->peaks_never_shrink && end >= order->first_ends[first] &&
            popliner_costs_peak(costs, first, stage->last_unit, stage->stages_to_end) >
                limits->max_bytes);
}

bool pl_choice_bounds_is_over(pl_choice_bounds *bounds, const popliner_interval *stage,
                              const pl_variant_limits *limits) {
    const pl_choices *c = bounds->choices;
    const pl_variants *v = c->variants;
    const size_t first = stage->first_unit;
    const size_t end = stage->last_unit + 1;
    bool is_over = v == NULL;
    for (size_t i = 0; is_over && i < c->ways.count; ++i)
        is_over = is_way_over(c->ways.costs[i], &bounds->orders[i], stage, limits);
    if (v == NULL)
        return is_over;
    const relaxation *x = relaxation_of(bounds, counts_of(bounds, stage));
    const uint64_t most = pl_smaller(limits->max_bytes, v->capacity_bytes);
    bounds->has_failed = bounds->has_failed || x == NULL;
    return x == NULL ||
           bounds->cycles_before[end] - bounds->cycles_before[first] > limits->max_cycles ||
           (x->bytes_before[end] - x->bytes_before[first] > most &&
            (!v->has_full || x->full_before[end] - x->full_before[first] > most));
}

uint64_t pl_choice_bounds_cycles(pl_choice_bounds *bounds, const popliner_interval *stage) {
    const pl_choices *c = bounds->choices;
    const pl_variants *v = c->variants;
    static const pl_variant_limits any = {UINT64_MAX, POPLINER_PEAK_FORBIDDEN - 1};
    size_t which;
    if (v != NULL)
        return bounds->cycles_before[stage->last_unit + 1] -
               bounds->cycles_before[stage->first_unit] + v->cut_cycles[stage->first_unit] +
               v->cut_cycles[stage->last_unit + 1];
    const pl_variant_choice best = choose_way(&c->ways, stage, &any, true, &which);
    return best.exists ? best.cycles : UINT64_MAX;
}

popliner_status pl_choice_bounds_refine(pl_choice_bounds *bounds, const popliner_interval *stage,
                                        uint64_t max_cycles, uint64_t *peak_bytes,
                                        popliner_error *error) {
    pl_choice_bounds *b = bounds;
    const pl_variants *v = b->choices->variants;
    const pl_variant_limits limits = {max_cycles, POPLINER_PEAK_FORBIDDEN - 1};
    pl_variant_choice choice;
    popliner_status status =
        pl_choices_choose(b->choices, stage, &limits, false, &choice, NULL, error);
    *peak_bytes = choice.exists ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN;
    if (status != POPLINER_OK || v == NULL)
        return status;
    if (b->last_refined == NULL)
        b->last_refined = pl_new_array(pl_triangle_size(b->num_units), sizeof *b->last_refined);
    if (b->last_refined == NULL)
        return fail_memory(error);
    if (!pl_grow(&b->refined, &b->refined_capacity, b->num_refined + 1, sizeof *b->refined))
        return fail_memory(error);
    size_t *last =
        &b->last_refined[pl_triangle_place(b->num_units, stage->first_unit, stage->last_unit)];
    b->refined[b->num_refined++] =
        (refined){counts_at(v, stage->stages_to_end), max_cycles, *peak_bytes, *last};
    *last = b->num_refined;
    return POPLINER_OK;
}

/* ---- choices ---- */

/* Appends the units that use a variant, by the variant of each unit. */
static void tell_units(const pl_choices *choices, const popliner_interval *stage,
                       const uint32_t *variants, pl_text *text) {
    const pl_variants *v = choices->variants;
    bool has_any = false;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; ++unit) {
        const uint32_t own = variants[unit - stage->first_unit];
        if (own == 0)
            continue;
        pl_text_format(text, "%s%s=%s", has_any ? "," : "", choices->unit_names[unit],
                       v->items[v->first[unit] + own].name);
        has_any = true;
    }
    if (!has_any)
        pl_text_add(text, "none");
}

/* The point that recomputes all units: of no variant. */
static const uint32_t all_units = UINT32_MAX;

/* Appends those of a point, following the points from the last unit to the first. */
static popliner_status tell_point(const row *r, size_t place, const pl_choices *choices,
                                  const popliner_interval *stage, pl_text *text,
                                  popliner_error *error) {
    const size_t count = r->end - r->first_unit;
    if (pl_origin_own(pl_compromise(&r->points, place)) == all_units) {
        pl_text_add(text, "full");
        return POPLINER_OK;
    }
    uint32_t *variants = pl_new_array(count, sizeof *variants);
    if (variants == NULL)
        return fail_memory(error);
    for (size_t i = count; i-- > 0;) {
        const uint64_t *point = pl_compromise(&r->points, place);
        variants[i] = (uint32_t)pl_origin_own(point);
        place = pl_origin_before(point);
    }
    tell_units(choices, stage, variants, text);
    free(variants);
    return POPLINER_OK;
}

/* Chooses the variants of the units of a stage, one of which may be that it recomputes all. */
static popliner_status choose_units(const pl_choices *choices, const popliner_interval *stage,
                                    const pl_variant_limits *limits, bool by_cycles,
                                    pl_variant_choice *choice, pl_text *text,
                                    popliner_error *error) {
    const pl_variants *v = choices->variants;
    const counts most = counts_at(v, stage->stages_to_end);
    frame f = begin_frame(v, most, stage->first_unit);
    while (f.end <= stage->last_unit)
        extend_frame(&f);
    const pl_variant_choice full = full_choice(&f, limits->max_cycles, limits->max_bytes);
    const uint64_t most_bytes = pl_smaller(limits->max_bytes, v->capacity_bytes);
    row r = {.variants = v,
             .counts = &most,
             .first_unit = f.first_unit,
             .end = f.end,
             .points = {.arrays = &r.arrays, .num_moments = 1}};
    popliner_status status = POPLINER_OK;
    if (limits->max_cycles >= cut_cycles(&f) && most_bytes >= f.shared_bytes) {
        r.most = (amount){limits->max_cycles - cut_cycles(&f), most_bytes - f.shared_bytes, 0};
        status = fill_row(&r, by_cycles, error);
    }
    const size_t place = by_cycles ? r.current : r.points.count - 1;
    if (status == POPLINER_OK && r.points.count > r.current) {
        const uint64_t *point = pl_compromise(&r.points, place);
        *choice = (pl_variant_choice){true, point[PL_BYTES] + f.shared_bytes,
                                      point[PL_CYCLES] + cut_cycles(&f)};
    }
    const bool is_full = full.exists && take(choice, &full, limits, by_cycles);
    if (status == POPLINER_OK && choice->exists && text != NULL && is_full)
        pl_text_add(text, "full");
    else if (status == POPLINER_OK && choice->exists && text != NULL)
        status = tell_point(&r, place, choices, stage, text, error);
    pl_arrays_free(&r.arrays);
    return status;
}

popliner_status pl_choices_choose(const pl_choices *choices, const popliner_interval *stage,
                                  const pl_variant_limits *limits, bool by_cycles,
                                  pl_variant_choice *choice, pl_text *text, popliner_error *error) {
    const pl_variants *v = choices->variants;
    popliner_status status = POPLINER_OK;
    size_t which = 0;
    *choice = (pl_variant_choice){0};
    if (v != NULL)
        status = choose_units(choices, stage, limits, by_cycles, choice, text, error);
    else
        *choice = choose_way(&choices->ways, stage, limits, by_cycles, &which);
    if (v == NULL && choice->exists && text != NULL)
        pl_text_add(text, choices->ways.names[which]);
    return status == POPLINER_OK && text != NULL && text->failed ? fail_memory(error) : status;
}

/* ---- all choices of a stage ---- */

/* Finds the moments of a stage whose counts differ; *counts, which the row owns. */
static popliner_status find_counts(row *r, size_t place, popliner_error *error) {
    const size_t num_moments = pl_variants_num_moments(r->variants, place);
    counts *all = pl_arrays_new(&r->arrays, num_moments, sizeof *all);
    if (all == NULL)
        return fail_memory(error);
    for (size_t i = 0; i < num_moments; ++i) {
        const counts own = counts_then(r->variants, place, i);
        size_t k = 0;
        while (k < r->points.num_moments && !are_equal(all[k], own))
            ++k;
        all[k] = own;
        r->points.num_moments = pl_more(r->points.num_moments, k + 1);
    }
    r->counts = all;
    return POPLINER_OK;
}

/* Finds all points of a stage, with the cycles of its cuts; *full becomes the stage that recomputes
 * all units. */
static popliner_status find_points(row *r, const popliner_interval *stage, pl_variant *full,
                                   popliner_error *error) {
    frame f = begin_frame(r->variants, (counts){{0, 0}, false}, stage->first_unit);
    popliner_status status = find_counts(r, stage->stages_to_end, error);
    r->first_unit = r->end = stage->first_unit;
    for (; status == POPLINER_OK && f.end <= stage->last_unit; extend_frame(&f))
        status = extend_row(r, error);
    for (size_t i = r->current; status == POPLINER_OK && i < r->points.count; ++i)
        pl_compromise(&r->points, i)[PL_CYCLES] += cut_cycles(&f);
    *full = full_of(&f);
    full->cycles += cut_cycles(&f);
    if (status != POPLINER_OK || !r->variants->has_full)
        return status;
    uint64_t *last = pl_compromise(&r->points, r->points.count++);
    last[PL_CYCLES] = full->cycles;
    last[PL_ORIGIN] = pl_origin(0, all_units);
    for (size_t m = 0; m < r->points.num_moments; ++m)
        last[PL_BYTES + m] = bytes_of(full, r->counts[m]);
    pl_compromises_keep(&r->points, r->current);
    return status;
}

/* Returns the numbers of a point that is not `full`. */
static pl_variant numbers_of(const row *r, size_t place) {
    pl_variant sum = {0};
    const uint64_t cycles = pl_compromise(&r->points, place)[PL_CYCLES];
    for (size_t unit = r->end; unit-- > r->first_unit;) {
        const uint64_t *point = pl_compromise(&r->points, place);
        sum = sum_of(&sum, &r->variants->items[r->variants->first[unit] + pl_origin_own(point)]);
        place = pl_origin_before(point);
    }
    sum.cycles = cycles;
    return sum;
}

popliner_status pl_variants_choices(const pl_variants *variants, const popliner_interval *stage,
                                    pl_variant **choices, size_t *count, size_t *capacity,
                                    popliner_error *error) {
    row r = {.variants = variants, .points.arrays = &r.arrays};
    pl_variant full;
    popliner_status status = find_points(&r, stage, &full, error);
    if (status == POPLINER_OK &&
        !pl_grow(choices, capacity, *count + r.points.count - r.current, sizeof **choices))
        status = fail_memory(error);
    for (size_t i = r.current; status == POPLINER_OK && i < r.points.count; ++i)
        (*choices)[(*count)++] =
            pl_origin_own(pl_compromise(&r.points, i)) == all_units ? full : numbers_of(&r, i);
    pl_arrays_free(&r.arrays);
    return status;
}

popliner_status pl_variants_name(const pl_choices *choices, const popliner_interval *stage,
                                 const pl_variant *choice, pl_text *text, popliner_error *error) {
    row r = {.variants = choices->variants, .points.arrays = &r.arrays};
    pl_variant full;
    popliner_status status = find_points(&r, stage, &full, error);
    uint64_t *bytes = pl_arrays_new(&r.arrays, r.points.num_moments, sizeof *bytes);
    if (status == POPLINER_OK && bytes == NULL)
        status = fail_memory(error);
    for (size_t m = 0; status == POPLINER_OK && m < r.points.num_moments; ++m)
        bytes[m] = bytes_of(choice, r.counts[m]);
    size_t at = r.current; /* no other takes as many cycles, and needs no more */
    while (status == POPLINER_OK &&
           (pl_compromise(&r.points, at)[PL_CYCLES] != choice->cycles ||
            !pl_compromise_is_within(&r.points, pl_compromise(&r.points, at), bytes)))
        ++at;
    if (status == POPLINER_OK)
        status = tell_point(&r, at, choices, stage, text, error);
    pl_arrays_free(&r.arrays);
    return status;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

size_t pl_choices_place(const pl_choices *choices, bool follows_split, size_t num_stages,
                        size_t stage) {
    const pl_variants *v = choices->variants;
    if (v != NULL && follows_split && pl_pipeline_holds_recomputed(&v->pipeline))
        return pl_place_of(num_stages, stage);
    return follows_split ? num_stages : num_stages - stage;
}

bool pl_choices_store_the_same(const pl_choices *choices, size_t place, size_t other) {
    const pl_variants *v = choices->variants;
    bool is_so = v == NULL || are_equal(counts_at(v, place), counts_at(v, other));
    for (size_t i = 0; is_so && i < choices->ways.count; ++i)
        is_so = choices->ways.costs[i]->max_stages_to_end == 1;
    return is_so || place == other;
}

popliner_status pl_ways_join(popliner_costs *const *costs, const char *const *names, size_t count,
                             popliner_error *error) {
    pl_choices *made = calloc(1, sizeof *made);
    popliner_costs **own_costs = pl_new_array(count, sizeof *own_costs);
    const char **own_names = pl_new_array(count, sizeof *own_names);
    if (made == NULL || own_costs == NULL || own_names == NULL) {
        for (size_t i = 1; i < count; ++i)
            popliner_costs_free(costs[i]);
        free(made);
        free(own_costs);
        free(own_names);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    memcpy(own_costs, costs, count * sizeof *own_costs);
    memcpy(own_names, names, count * sizeof *own_names);
    made->ways = (pl_ways){(const popliner_costs *const *)own_costs, own_names, count};
    costs[0]->choices = made;
    return POPLINER_OK;
}

void pl_ways_part(popliner_costs *costs) {
    pl_choices *own = (pl_choices *)costs->choices;
    if (own == NULL || own->variants != NULL)
        return;
    for (size_t i = 1; i < own->ways.count; ++i)
        popliner_costs_free((popliner_costs *)own->ways.costs[i]);
    free((popliner_costs **)own->ways.costs);
    free((const char **)own->ways.names);
    free(own);
}
