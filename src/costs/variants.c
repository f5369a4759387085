/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/variants.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"
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

static uint64_t bytes_of(const pl_variant *variant, size_t copies) {
    return variant->memory_bytes + copies * variant->stash_bytes;
}

/* The memory of a stage that all its choices share, and its costs if it recomputes all units. */
typedef struct frame {
    const pl_variants *variants;
    size_t copies;
    size_t first_unit;
    size_t end;     /* one past the last unit */
    size_t arrival; /* the next one */
    uint64_t shared_bytes;
    uint64_t full_bytes;
    uint64_t full_cycles;
} frame;

static frame begin_frame(const pl_variants *v, size_t copies, size_t first_unit) {
    frame f = {.variants = v, .copies = copies, .first_unit = first_unit, .end = first_unit};
    while (f.arrival < v->num_arrivals && v->arrivals[f.arrival].unit < first_unit)
        ++f.arrival;
    if (v->has_full)
        f.full_bytes = copies * v->inputs_bytes[first_unit];
    return f;
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
    const pl_variant *own = &v->items[v->first[unit]];
    f->full_bytes += own->memory_bytes;
    f->full_cycles += own->cycles + v->recompute_cycles[unit];
}

static uint64_t cut_cycles(const frame *f) {
    return f->variants->cut_cycles[f->first_unit] + f->variants->cut_cycles[f->end];
}

/* Sets *cycles to the limit of a stage at a place of a table; false if it may not be there. */
static bool limit_cycles(const pl_variant_limits *limits, size_t place, size_t first_unit,
                         size_t end_unit, uint64_t *cycles) {
    *cycles = limits->max_cycles;
    return limits->kinds == NULL ||
           limits->kinds->most_cycles(limits->kinds->user, place, first_unit, end_unit, cycles);
}

/* Returns the choice of recomputing all units, if there is one within the limits. */
static pl_variant_choice full_choice(const frame *f, uint64_t max_cycles, uint64_t max_bytes) {
    const uint64_t bytes = f->full_bytes + f->shared_bytes;
    const uint64_t cycles = f->full_cycles + cut_cycles(f);
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
    step *steps;
    size_t num_steps;
    size_t first_unit;
    /* [units + 1]: where the steps of a unit begin in `places`, their places in `steps` */
    size_t *first_place;
    size_t *places;
    const pl_variant **fastest; /* [units] */
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
static void add_steps(relaxation *x, const pl_variants *v, size_t copies, size_t unit) {
    const size_t end = v->first[unit + 1];
    const pl_variant *now = &v->items[v->first[unit]];
    for (size_t i = v->first[unit]; i < end; ++i)
        if (v->items[i].cycles < now->cycles ||
            (v->items[i].cycles == now->cycles &&
             bytes_of(&v->items[i], copies) < bytes_of(now, copies)))
            now = &v->items[i];
    x->fastest[unit - x->first_unit] = now;
    for (size_t number = 0; now != NULL; ++number) {
        const pl_variant *next = NULL;
        step best = {0};
        for (size_t i = v->first[unit]; i < end; ++i) {
            const pl_variant *other = &v->items[i];
            if (bytes_of(other, copies) >= bytes_of(now, copies))
                continue;
            const step own = {unit, number, other->cycles - now->cycles,
                              bytes_of(now, copies) - bytes_of(other, copies)};
            const int order = next == NULL ? -1 : compare_ratios(&own, &best);
            if (order < 0 || (order == 0 && own.cycles > best.cycles)) {
                next = other;
                best = own;
            }
        }
        if (next != NULL)
            x->steps[x->num_steps++] = best;
        now = next;
    }
}

/* Finds the steps of the units first ... end - 1. */
static popliner_status relax(relaxation *x, const pl_variants *v, size_t copies, size_t first,
                             size_t end, popliner_error *error) {
    const size_t count = end - first;
    const size_t most = v->first[end] - v->first[first];
    *x = (relaxation){.first_unit = first};
    x->steps = pl_arrays_new(&x->arrays, most, sizeof *x->steps);
    x->first_place = pl_arrays_new(&x->arrays, count + 2, sizeof *x->first_place);
    x->places = pl_arrays_new(&x->arrays, most, sizeof *x->places);
    x->fastest = pl_arrays_new(&x->arrays, count, sizeof *x->fastest);
    x->cycles = pl_arrays_new(&x->arrays, most + 1, sizeof *x->cycles);
    x->bytes = pl_arrays_new(&x->arrays, most + 1, sizeof *x->bytes);
    if (x->arrays.failed)
        return fail_memory(error);
    for (size_t unit = first; unit < end; ++unit)
        add_steps(x, v, copies, unit);
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

/* A Pareto-optimal choice for the units of a stage so far: more cycles than the point before it,
 * fewer bytes. */
typedef struct point {
    uint64_t cycles;
    uint64_t bytes;
    uint32_t parent; /* the point of the units before the last one */
    uint32_t variant;
} point;

/* Costs of units, or lower bounds; the score is a weighted sum of both. */
typedef struct amount {
    uint64_t cycles;
    uint64_t bytes;
    uint64_t score;
} amount;

/* A stage that grows unit by unit. Points are dropped that exceed `most` with the least that the
 * remaining units take. */
typedef struct row {
    const pl_variants *variants;
    size_t copies;
    size_t first_unit;
    size_t end;    /* one past the last unit so far */
    point *points; /* of all units so far, those of the last unit at the end */
    size_t count;
    size_t capacity;
    size_t current; /* where the points of the last unit begin */
    amount most;
    amount *rest; /* [units + 1]: what the units from here on take at least */
    uint64_t cycle_weight;
    uint64_t byte_weight;
    pl_arrays arrays;
} row;

static int compare_points(const void *left, const void *right) {
    const point *a = left;
    const point *b = right;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    /* a total order, so that the result does not depend on qsort */
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return (a->variant > b->variant) - (a->variant < b->variant);
}

/* Drops the points from `from` on that another point beats. */
static void keep_compromises(row *r, size_t from) {
    size_t kept = from;
    qsort(r->points + from, r->count - from, sizeof *r->points, compare_points);
    for (size_t i = from; i < r->count; ++i)
        if (kept == from || r->points[i].bytes < r->points[kept - 1].bytes)
            r->points[kept++] = r->points[i];
    r->count = kept;
}

/* Adds the next unit to the stage. */
static popliner_status extend_row(row *r, popliner_error *error) {
    const pl_variants *v = r->variants;
    const size_t unit = r->end++;
    const amount *rest = &r->rest[r->end - r->first_unit];
    const bool is_first = unit == r->first_unit;
    const size_t begin = r->current;
    const size_t num_before = is_first ? 1 : r->count - begin;
    const size_t num_own = v->first[unit + 1] - v->first[unit];
    const size_t wanted = r->count + num_before * num_own;
    const pl_variant *own = &v->items[v->first[unit]];
    if (wanted > MAX_POINTS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       r->first_unit, unit);
    if (!pl_grow(&r->points, &r->capacity, wanted, sizeof *r->points))
        return fail_memory(error);
    r->current = r->count;
    for (size_t i = 0; i < num_before; ++i)
        for (size_t k = 0; k < num_own; ++k) {
            const point none = {0, 0, 0, 0};
            const point *before = is_first ? &none : &r->points[begin + i];
            const point next = {before->cycles + own[k].cycles,
                                before->bytes + bytes_of(&own[k], r->copies), (uint32_t)(begin + i),
                                (uint32_t)k};
            const uint64_t score = next.cycles * r->cycle_weight + next.bytes * r->byte_weight;
            if (next.cycles + rest->cycles <= r->most.cycles &&
                next.bytes + rest->bytes <= r->most.bytes && score + rest->score <= r->most.score)
                r->points[r->count++] = next;
        }
    keep_compromises(r, r->current);
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
        now.bytes += bytes_of(x->fastest[unit - r->first_unit], r->copies);
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
            own.bytes = pl_larger(own.bytes, bytes_of(&v->items[i], r->copies));
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
            const uint64_t bytes = bytes_of(&v->items[i], r->copies);
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

/* Finds the points of a stage: those that may be the best within the limits of *r, by cycles or
 * else by bytes; or all. */
static popliner_status fill_row(row *r, bool are_all, bool by_cycles, popliner_error *error) {
    relaxation x = {0};
    const size_t end = r->end;
    const size_t count = end - r->first_unit;
    size_t *num_taken = pl_arrays_new(&r->arrays, count, sizeof *num_taken);
    r->rest = pl_arrays_new(&r->arrays, count + 1, sizeof *r->rest); /* all 0 */
    popliner_status status = r->arrays.failed ? fail_memory(error)
                             : are_all
                                 ? POPLINER_OK
                                 : relax(&x, r->variants, r->copies, r->first_unit, end, error);
    if (are_all)
        r->most = (amount){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    else if (status == POPLINER_OK)
        weigh(r, limit_by_steps(r, &x, by_cycles, num_taken), by_cycles);
    r->end = r->first_unit;
    while (status == POPLINER_OK && r->end < end)
        status = extend_row(r, error);
    pl_arrays_free(&x.arrays);
    return status;
}

static void free_row(row *r) {
    free(r->points);
    pl_arrays_free(&r->arrays);
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

/* Chooses of the variants of a listed interval; *place tells which. */
static pl_variant_choice choose_listed(const pl_variants *v, const popliner_interval *stage,
                                       const pl_variant_limits *limits, bool by_cycles,
                                       size_t *place) {
    const size_t interval = pl_triangle_place(v->num_units, stage->first_unit, stage->last_unit);
    const size_t copies = pl_pipeline_copies(&v->pipeline, stage->stages_to_end);
    pl_variant_choice best = {0};
    for (size_t i = v->first[interval]; i < v->first[interval + 1]; ++i) {
        const pl_variant_choice own = {true, bytes_of(&v->items[i], copies), v->items[i].cycles};
        if (own.peak_bytes <= v->capacity_bytes && take(&best, &own, limits, by_cycles))
            *place = i;
    }
    return best;
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

/* ---- tables ---- */

/* True if units have the same numbers. */
static bool are_alike(const pl_variants *v, size_t unit, size_t other) {
    const size_t count = v->first[unit + 1] - v->first[unit];
    bool is_so = v->first[other + 1] - v->first[other] == count &&
                 (!v->has_full || (v->inputs_bytes[unit] == v->inputs_bytes[other] &&
                                   v->recompute_cycles[unit] == v->recompute_cycles[other]));
    for (size_t i = 0; is_so && i < count; ++i) {
        const pl_variant *a = &v->items[v->first[unit] + i];
        const pl_variant *b = &v->items[v->first[other] + i];
        is_so = a->memory_bytes == b->memory_bytes && a->stash_bytes == b->stash_bytes &&
                a->cycles == b->cycles;
    }
    return is_so;
}

/* Returns a lower bound of the smallest peak of the units of a frame, which take at least the
 * cycles and bytes of `fast`; POPLINER_PEAK_FORBIDDEN if they are not within the limits. */
static uint64_t bound_of(const relaxation *x, const frame *f, const amount *fast,
                         uint64_t most_cycles, uint64_t max_bytes) {
    const uint64_t most = pl_smaller(max_bytes, f->variants->capacity_bytes);
    const pl_variant_choice full = full_choice(f, most_cycles, max_bytes);
    const uint64_t cycles = fast->cycles + cut_cycles(f);
    const uint64_t bytes =
        cycles > most_cycles ? UINT64_MAX
                             : f->shared_bytes + fast->bytes - most_saved(x, most_cycles - cycles);
    const uint64_t least = full.exists ? full.peak_bytes : POPLINER_PEAK_FORBIDDEN;
    return bytes <= most ? pl_smaller(bytes, least) : least;
}

/* Lets a unit count. */
static void take_unit(relaxation *x, size_t copies, size_t unit, amount *fast) {
    const pl_variant *own = x->fastest[unit - x->first_unit];
    fast->cycles += own->cycles;
    fast->bytes += bytes_of(own, copies);
    count_unit(x, unit);
}

/* Lets no unit count. */
static void take_none(relaxation *x) {
    memset(x->cycles, 0, (x->num_steps + 1) * sizeof *x->cycles);
    memset(x->bytes, 0, (x->num_steps + 1) * sizeof *x->bytes);
}

/* Fills the peaks of the intervals that begin with a unit, in one place of the pipeline, with
 * bounds. From the first interval on whose longer ones also need too much, they are forbidden. */
static void fill_bounds(const pl_variants *v, relaxation *x, frame f, size_t place,
                        const pl_variant_limits *limits, popliner_costs *costs) {
    const size_t first = f.first_unit;
    const uint64_t most = pl_smaller(limits->max_bytes, v->capacity_bytes);
    amount fast = {0};
    uint64_t most_cycles; /* whatever the end */
    uint64_t own_cycles;
    bool is_over = !limit_cycles(limits, place, first, v->num_units, &most_cycles);
    most_cycles -= pl_smaller(most_cycles, v->cut_cycles[first]);
    take_none(x);
    size_t last = first;
    for (; last < v->num_units && !is_over; ++last) {
        extend_frame(&f);
        take_unit(x, f.copies, last, &fast);
        const uint64_t least_bytes = limit_cycles(limits, place, first, f.end, &own_cycles)
                                         ? bound_of(x, &f, &fast, own_cycles, limits->max_bytes)
                                         : POPLINER_PEAK_FORBIDDEN;
        is_over =
            least_bytes == POPLINER_PEAK_FORBIDDEN &&
            (fast.cycles > most_cycles ||
             f.shared_bytes + fast.bytes - most_saved(x, most_cycles - fast.cycles) > most) &&
            (!v->has_full || f.full_bytes + f.shared_bytes > most || f.full_cycles > most_cycles);
        pl_costs_set_peak(costs, first, last, place, least_bytes);
    }
    if (last < v->num_units)
        pl_costs_forbid_from(costs, first, last, place);
}

/* Returns the first of the units at the end of the chain that are alike, with their cuts. */
static size_t find_tail(const pl_variants *v, const pl_variant_limits *limits) {
    size_t first = v->num_units - 1;
    if (v->num_arrivals > 0 || limits->kinds != NULL)
        return first;
    while (first > 0 && v->cut_cycles[first - 1] == v->cut_cycles[first] &&
           are_alike(v, first - 1, first))
        --first;
    return first;
}

/* Fills the peaks of the intervals that begin after the first unit of the tail: like those of the
 * first one, except for the last interval, which no cut ends. */
static void fill_tail(const pl_variants *v, relaxation *x, size_t tail, size_t copies, size_t place,
                      const pl_variant_limits *limits, popliner_costs *costs) {
    amount fast = {0};
    uint64_t full_bytes = 0;
    uint64_t full_cycles = 0;
    take_none(x);
    for (size_t first = v->num_units - 1; first > tail; --first) {
        const pl_variant *own = &v->items[v->first[first]];
        frame f = begin_frame(v, copies, first);
        take_unit(x, copies, first, &fast);
        full_bytes += own->memory_bytes;
        full_cycles += own->cycles + v->recompute_cycles[first];
        f.full_bytes += full_bytes;
        f.full_cycles = full_cycles;
        f.end = v->num_units;
        pl_costs_repeat_peaks(costs, tail, first, place);
        pl_costs_set_peak(costs, first, v->num_units - 1, place,
                          bound_of(x, &f, &fast, limits->max_cycles, limits->max_bytes));
    }
}

static bool must_stop(const pl_variant_limits *limits) {
    return limits->should_stop != NULL && limits->should_stop(limits->user);
}

/* Returns the place in the pipeline of a place of a table. */
static size_t to_end_of(const pl_variant_limits *limits, size_t place) {
    return limits->kinds != NULL ? limits->kinds->to_end[place - 1] : place;
}

/* Fills the peaks of a place with the choices of its stages; not all of them if *is_stopped. */
static void fill_choices(const pl_choices *choices, size_t place, const pl_variant_limits *limits,
                         popliner_costs *costs, bool *is_stopped) {
    const pl_variants *v = choices->variants;
    pl_variant_limits own = *limits;
    /* so that ways forbid an interval in all places or in none */
    own.max_bytes = v == NULL ? POPLINER_PEAK_FORBIDDEN - 1 : limits->max_bytes;
    for (size_t first = 0; !*is_stopped && first < costs->num_units; ++first) {
        *is_stopped = must_stop(limits);
        for (size_t last = first; last < costs->num_units; ++last) {
            const popliner_interval stage = {first, last, to_end_of(limits, place)};
            pl_variant_choice best = {0};
            size_t which;
            if (limit_cycles(limits, place, first, last + 1, &own.max_cycles))
                best = v == NULL ? choose_way(&choices->ways, &stage, &own, false, &which)
                                 : choose_listed(v, &stage, &own, false, &which);
            pl_costs_set_peak(costs, first, last, place,
                              best.exists ? best.peak_bytes : POPLINER_PEAK_FORBIDDEN);
        }
    }
}

/* Fills the peaks of a place with bounds; not all of them if *is_stopped. */
static popliner_status fill_place(const pl_variants *v, size_t place,
                                  const pl_variant_limits *limits, popliner_costs *costs,
                                  bool *is_stopped, popliner_error *error) {
    const size_t copies = pl_pipeline_copies(&v->pipeline, to_end_of(limits, place));
    relaxation x = {0};
    popliner_status status = relax(&x, v, copies, 0, v->num_units, error);
    const size_t tail = find_tail(v, limits);
    for (size_t first = 0; status == POPLINER_OK && !*is_stopped && first <= tail; ++first) {
        *is_stopped = must_stop(limits);
        fill_bounds(v, &x, begin_frame(v, copies, first), place, limits, costs);
    }
    if (status == POPLINER_OK && !*is_stopped && tail + 1 < v->num_units)
        fill_tail(v, &x, tail, copies, place, limits, costs);
    pl_arrays_free(&x.arrays);
    return status;
}

popliner_status pl_choices_costs(const pl_choices *choices, const popliner_costs *like,
                                 size_t max_stages, const pl_variant_limits *limits,
                                 popliner_costs **costs, popliner_error *error) {
    const pl_variants *v = choices->variants;
    const size_t num_units = popliner_costs_num_units(like);
    size_t num_places = v != NULL ? v->max_stages : 1;
    bool follows_split = v != NULL && pl_pipeline_follows_split(&v->pipeline);
    popliner_costs *made = NULL;
    bool is_stopped = false;
    *costs = NULL;
    for (size_t i = 0; i < choices->ways.count; ++i) {
        const size_t own = choices->ways.costs[i]->max_stages_to_end;
        num_places = own > num_places ? own : num_places;
        follows_split = follows_split || choices->ways.costs[i]->follows_split;
    }
    num_places = limits->kinds != NULL     ? limits->kinds->count
                 : num_places < max_stages ? num_places
                                           : max_stages;
    popliner_status status = popliner_costs_create(num_units, num_places, &made, error);
    if (status != POPLINER_OK)
        return status;
    made->cycles_per_time_unit = like->cycles_per_time_unit;
    made->follows_split = follows_split && limits->kinds == NULL;
    made->has_pipeline = like->has_pipeline;
    made->pipeline = like->pipeline;
    for (size_t place = 1; status == POPLINER_OK && !is_stopped && place <= num_places; ++place)
        if (v == NULL || v->is_listed)
            fill_choices(choices, place, limits, made, &is_stopped);
        else
            status = fill_place(v, place, limits, made, &is_stopped, error);
    for (size_t unit = 1; unit < num_units; ++unit)
        pl_costs_set_cut(made, unit, popliner_costs_cut(like, unit));
    if (status == POPLINER_OK && !is_stopped)
        *costs = made;
    else
        popliner_costs_free(made);
    return status;
}

/* ---- choices ---- */

/* Appends the units that use a variant, following the points from the last unit to the first. */
static popliner_status tell_units(const row *r, size_t place, const char *const *unit_names,
                                  pl_text *text, popliner_error *error) {
    size_t count = r->end - r->first_unit;
    uint32_t *variants = pl_new_array(count, sizeof *variants);
    bool has_any = false;
    if (variants == NULL)
        return fail_memory(error);
    for (size_t i = count; i-- > 0; place = r->points[place].parent)
        variants[i] = r->points[place].variant;
    for (size_t i = 0; i < count; ++i) {
        size_t unit = r->first_unit + i;
        if (variants[i] == 0)
            continue;
        pl_text_format(text, "%s%s=%s", has_any ? "," : "", unit_names[unit],
                       r->variants->items[r->variants->first[unit] + variants[i]].name);
        has_any = true;
    }
    if (!has_any)
        pl_text_add(text, "none");
    free(variants);
    return POPLINER_OK;
}

/* Chooses the variants of the units of a stage, one of which may be that it recomputes all. */
static popliner_status choose_units(const pl_choices *choices, const popliner_interval *stage,
                                    const pl_variant_limits *limits, bool by_cycles,
                                    pl_variant_choice *choice, pl_text *text,
                                    popliner_error *error) {
    const pl_variants *v = choices->variants;
    const size_t copies = pl_pipeline_copies(&v->pipeline, stage->stages_to_end);
    frame f = begin_frame(v, copies, stage->first_unit);
    while (f.end <= stage->last_unit)
        extend_frame(&f);
    const pl_variant_choice full = full_choice(&f, limits->max_cycles, limits->max_bytes);
    const uint64_t most_bytes = pl_smaller(limits->max_bytes, v->capacity_bytes);
    row r = {.variants = v, .copies = copies, .first_unit = f.first_unit, .end = f.end};
    popliner_status status = POPLINER_OK;
    if (limits->max_cycles >= cut_cycles(&f) && most_bytes >= f.shared_bytes) {
        r.most = (amount){limits->max_cycles - cut_cycles(&f), most_bytes - f.shared_bytes, 0};
        status = fill_row(&r, false, by_cycles, error);
    }
    const size_t place = by_cycles ? r.current : r.count - 1;
    if (status == POPLINER_OK && r.count > r.current)
        *choice = (pl_variant_choice){true, r.points[place].bytes + f.shared_bytes,
                                      r.points[place].cycles + cut_cycles(&f)};
    const bool is_full = full.exists && take(choice, &full, limits, by_cycles);
    if (status == POPLINER_OK && choice->exists && text != NULL && is_full)
        pl_text_add(text, "full");
    else if (status == POPLINER_OK && choice->exists && text != NULL)
        status = tell_units(&r, place, choices->unit_names, text, error);
    free_row(&r);
    return status;
}

popliner_status pl_choices_choose(const pl_choices *choices, const popliner_interval *stage,
                                  const pl_variant_limits *limits, bool by_cycles,
                                  pl_variant_choice *choice, pl_text *text, popliner_error *error) {
    const pl_variants *v = choices->variants;
    popliner_status status = POPLINER_OK;
    size_t which = 0;
    *choice = (pl_variant_choice){0};
    if (v != NULL && !v->is_listed)
        status = choose_units(choices, stage, limits, by_cycles, choice, text, error);
    else
        *choice = v == NULL ? choose_way(&choices->ways, stage, limits, by_cycles, &which)
                            : choose_listed(v, stage, limits, by_cycles, &which);
    if ((v == NULL || v->is_listed) && choice->exists && text != NULL)
        pl_text_add(text, v == NULL ? choices->ways.names[which] : v->items[which].name);
    return status == POPLINER_OK && text != NULL && text->failed ? fail_memory(error) : status;
}

static int compare_choices(const void *left, const void *right) {
    const pl_variant_point *a = left;
    const pl_variant_point *b = right;
    return a->cycles != b->cycles ? (a->cycles > b->cycles) - (a->cycles < b->cycles)
                                  : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

size_t pl_variant_points_keep(pl_variant_point *points, size_t count) {
    size_t kept = 0;
    qsort(points, count, sizeof *points, compare_choices);
    for (size_t i = 0; i < count; ++i)
        if (kept == 0 || points[i].bytes < points[kept - 1].bytes)
            points[kept++] = points[i];
    return kept;
}

popliner_status pl_variants_points(const pl_variants *variants, const popliner_interval *stage,
                                   pl_variant_point **points, size_t *count, size_t *capacity,
                                   popliner_error *error) {
    const pl_variants *v = variants;
    const size_t interval = pl_triangle_place(v->num_units, stage->first_unit, stage->last_unit);
    const size_t num_listed = v->is_listed ? v->first[interval + 1] - v->first[interval] : 0;
    row r = {.variants = v,
             .copies = pl_pipeline_copies(&v->pipeline, stage->stages_to_end),
             .first_unit = stage->first_unit,
             .end = stage->last_unit + 1};
    frame f = begin_frame(v, r.copies, stage->first_unit);
    popliner_status status = v->is_listed ? POPLINER_OK : fill_row(&r, true, false, error);
    if (status == POPLINER_OK &&
        !pl_grow(points, capacity, *count + r.count + num_listed + 1, sizeof **points))
        status = fail_memory(error);
    size_t end = *count;
    for (size_t i = 0; status == POPLINER_OK && i < num_listed; ++i) {
        const pl_variant *own = &v->items[v->first[interval] + i];
        (*points)[end++] = (pl_variant_point){own->cycles, bytes_of(own, r.copies)};
    }
    while (status == POPLINER_OK && !v->is_listed && f.end <= stage->last_unit)
        extend_frame(&f);
    for (size_t i = r.current; status == POPLINER_OK && i < r.count; ++i)
        (*points)[end++] =
            (pl_variant_point){r.points[i].cycles + cut_cycles(&f), r.points[i].bytes};
    if (status == POPLINER_OK && !v->is_listed && v->has_full)
        (*points)[end++] = (pl_variant_point){f.full_cycles + cut_cycles(&f), f.full_bytes};
    if (status == POPLINER_OK)
        *count += pl_variant_points_keep(*points + *count, end - *count);
    free_row(&r);
    return status;
}

uint64_t pl_variants_fewest_cycles(const pl_variants *v, size_t unit) {
    uint64_t fewest = UINT64_MAX;
    for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i)
        fewest = pl_smaller(fewest, v->items[i].cycles);
    return fewest;
}

uint64_t pl_variants_least_cycles(const pl_variants *v, size_t num_ipus) {
    uint64_t all = 0;
    uint64_t largest = 0;
    for (size_t unit = 0; !v->is_listed && unit < v->num_units; ++unit) {
        const uint64_t least = pl_variants_fewest_cycles(v, unit);
        largest = pl_larger(largest, least);
        all = pl_add_or_never(all, least);
    }
    return pl_larger(largest, all / num_ipus + (all % num_ipus > 0));
}

/* True if stages of `count` units, with their cuts, have the same numbers. */
static bool are_stages_alike(const pl_variants *v, size_t first, size_t other, size_t count) {
    bool is_so = v->num_arrivals == 0 && v->cut_cycles[first] == v->cut_cycles[other] &&
                 v->cut_cycles[first + count] == v->cut_cycles[other + count];
    for (size_t d = 0; is_so && d < count; ++d)
        is_so = are_alike(v, first + d, other + d);
    return is_so || first == other;
}

popliner_status pl_variants_refine(const pl_variants *variants, const popliner_interval *stage,
                                   const pl_variant_limits *limits, popliner_costs *costs,
                                   bool *is_changed, popliner_error *error) {
    const pl_variants *v = variants;
    const size_t first = stage->first_unit;
    const size_t count = stage->last_unit + 1 - first;
    const popliner_interval own_stage = {first, stage->last_unit,
                                         to_end_of(limits, stage->stages_to_end)};
    const size_t copies = pl_pipeline_copies(&v->pipeline, own_stage.stages_to_end);
    const pl_choices of = {.variants = v};
    pl_variant_limits asked = *limits;
    pl_variant_choice choice;
    limit_cycles(limits, stage->stages_to_end, first, first + count, &asked.max_cycles);
    popliner_status status =
        pl_choices_choose(&of, &own_stage, &asked, false, &choice, NULL, error);
    const uint64_t bytes = choice.exists ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN;
    if (status != POPLINER_OK ||
        bytes == popliner_costs_peak(costs, first, stage->last_unit, stage->stages_to_end))
        return status;
    *is_changed = true;
    for (size_t other = 0; other + count <= v->num_units; ++other) {
        if (!are_stages_alike(v, first, other, count))
            continue;
        for (size_t place = 1; place <= costs->max_stages_to_end; ++place) {
            const size_t own = pl_pipeline_copies(&v->pipeline, to_end_of(limits, place));
            uint64_t max_cycles;
            /* more copies never need less */
            if (limit_cycles(limits, place, other, other + count, &max_cycles) &&
                max_cycles == asked.max_cycles &&
                (own == copies || (!choice.exists && own > copies)))
                pl_costs_set_peak(costs, other, other + count - 1, place, bytes);
        }
    }
    /* else the caller would refine it for ever */
    assert(popliner_costs_peak(costs, first, stage->last_unit, stage->stages_to_end) == bytes);
    return POPLINER_OK;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

bool pl_choices_store_the_same(const pl_choices *choices, size_t place, size_t other) {
    const pl_variants *v = choices->variants;
    bool is_so = v == NULL ||
                 pl_pipeline_copies(&v->pipeline, place) == pl_pipeline_copies(&v->pipeline, other);
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
