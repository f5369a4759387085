/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/variant_choices.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "pipeline/moments.h"
#include "solve/ipus.h"

enum { MAX_ROWS = 1 << 22 };

/* The micro-batches of a stage besides those in its memory. */
typedef struct micro_batches {
    pl_held held;
    bool lacks_set; /* there is not even that in the memory, of which nothing runs */
} micro_batches;

/* A stage that grows unit by unit: what all its choices share. */
typedef struct growing_stage {
    size_t first_unit;
    size_t end;     /* one past the last unit */
    size_t arrival; /* the next one */
    uint64_t shared_bytes;
    pl_variant units; /* unchanged, but with the cycles of recomputing */
} growing_stage;

/* From a variant of a unit to one that takes more cycles and fewer bytes. */
typedef struct step {
    size_t unit;
    uint64_t cycles;
    uint64_t bytes;
} step;

/* Steps of units, the best first. */
typedef struct ladder {
    step *steps; /* [variants] */
    size_t count;
} ladder;

/* A unit of the question. */
typedef struct choosing_unit {
    size_t stage;
    size_t begin; /* the units of its stage */
    size_t end;
    size_t first_option; /* recomputing the whole stage follows those of its last unit */
    size_t num_options;
    bool is_left; /* a step of it is not taken, and so no later one */
} choosing_unit;

/* Sums of what the units before one need in a place. */
typedef struct sums {
    size_t place; /* 0: none yet */
    micro_batches counts;
    uint64_t *fast_bytes;  /* [units + 1]: of the fastest variants */
    uint64_t *least_bytes; /* [units + 1] */
} sums;

/* A search asks for few of many places in turn; they share these sums. Prime, so that neighbours do
 * not meet. */
static const size_t num_sums = 61;

struct pl_variant_search {
    const pl_choices *of;
    const struct pl_moments *moments_of_ipus; /* NULL: each stage has its most */
    pl_arrays arrays;                         /* own the others */
    uint64_t *cycles; /* [units + 1]: the fewest cycles of the units before one */

    sums *sums; /* [num_sums] */

    /* The stage of the last bound, which may be longer in the next. */
    size_t place;
    growing_stage stage; /* without units at first */
    ladder ladder;       /* of its first units, up to this one */
    size_t end_of_ladder;

    /* The question, and rows of numbers: cycles, where a choice comes from, amounts. */
    const pl_variant_question *question;
    size_t num_all;        /* moments of the IPU */
    micro_batches *counts; /* [stages * num_all] */
    choosing_unit *units;  /* [num_units + 1]: the last one ends the options */
    size_t num_units;
    pl_variant *options; /* the first unit of a stage has the cycles of the cuts */
    size_t num_options;
    ladder of_options;
    uint64_t shared_bytes;
    size_t num_moments; /* that count so far */
    size_t *moments;    /* [num_moments] */
    size_t num_amounts; /* bytes at each moment, then maybe the cycles of each stage */
    size_t width;       /* of a row */
    uint64_t *items;    /* [num_options]: rows of each */
    uint64_t *rows;     /* [count]: choices of all units so far, those of the last at the end */
    size_t count;
    size_t current; /* where the rows of the last unit begin */
    uint64_t *rest; /* [num_units + 1]: rows of what the units from here on take at least */
    uint64_t *most; /* a row: the limits */
    uint64_t cycle_weight;
    uint64_t byte_weight;
    size_t *picked;     /* [num_units]: options; all units of a stage may be recomputed */
    pl_variant *totals; /* [stages]: of what was picked */
    uint64_t work;      /* rows that were made, in all questions */
};

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the variants of the stages");
}

/* ---- variants ---- */

/* Returns the bytes of a variant, or of a sum of them, without what units share. */
static uint64_t bytes_of(const pl_variant *variant, micro_batches counts) {
    return variant->memory_bytes + counts.held.kept * variant->stash_bytes +
           counts.held.sets * variant->set_bytes - (counts.lacks_set ? variant->running_bytes : 0);
}

static void add_variant(pl_variant *sum, const pl_variant *other) {
    sum->memory_bytes += other->memory_bytes;
    sum->stash_bytes += other->stash_bytes;
    sum->set_bytes += other->set_bytes;
    sum->running_bytes += other->running_bytes;
    sum->cycles = pl_add_or_never(sum->cycles, other->cycles);
}

/* Returns the number of moments of the IPU of a stage at this place; 1: each stage has its most. */
static size_t count_moments(const pl_variant_search *f, size_t place) {
    size_t count = 1;
    if (f->moments_of_ipus != NULL)
        pl_moments_of(f->moments_of_ipus, place, &count);
    return count;
}

/* Sets found[num_moments] to the micro-batches of a stage at the first moments of its IPU; at one,
 * to the most if no moments count. The needs of the stages of an IPU at a moment add up to no more
 * than what they need together. */
static void count_then(const pl_variant_search *f, size_t place, size_t num_moments,
                       micro_batches *found) {
    const pl_variants *v = f->of->variants;
    size_t count;
    found[0] = (micro_batches){pl_pipeline_held(&v->pipeline, place), false};
    if (f->moments_of_ipus == NULL)
        return;
    const pl_held *held = pl_moments_of(f->moments_of_ipus, place, &count);
    held += pl_moments_chunk(f->moments_of_ipus, place);
    for (size_t i = 0; i < num_moments; ++i, held += f->moments_of_ipus->num_chunks) {
        found[i] = (micro_batches){*held, held->sets == 0 && v->has_working_set};
        if (held->sets > 0)
            --found[i].held.sets;
        else if (!v->has_working_set)
            found[i].held.kept -= held->kept > 0;
    }
}

static growing_stage begin_stage(const pl_variants *v, size_t first_unit) {
    growing_stage s = {.first_unit = first_unit, .end = first_unit};
    while (s.arrival < v->num_arrivals && v->arrivals[s.arrival].unit < first_unit)
        ++s.arrival;
    return s;
}

static void extend_stage(growing_stage *s, const pl_variants *v, size_t end) {
    for (; s->end < end; ++s->end) {
        for (; s->arrival < v->num_arrivals && v->arrivals[s->arrival].unit == s->end;
             ++s->arrival) {
            const pl_arrival *arrival = &v->arrivals[s->arrival];
            if (arrival->begins_after == SIZE_MAX || s->first_unit > arrival->begins_after)
                s->shared_bytes += arrival->bytes;
        }
        add_variant(&s->units, &v->items[v->first[s->end]]);
        s->units.cycles += v->recompute_cycles[s->end];
    }
}

/* Returns the stage if it recomputes all units. */
static pl_variant recomputed(const growing_stage *s, const pl_variants *v) {
    const uint64_t inputs = v->inputs_bytes[s->first_unit];
    pl_variant full = s->units;
    full.stash_bytes = inputs;
    full.set_bytes = pl_larger(full.set_bytes, inputs);
    full.cycles += v->cut_cycles[s->first_unit] + v->cut_cycles[s->end];
    return full;
}

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

/* Returns the variant with the fewest cycles, of these with the fewest bytes. */
static const pl_variant *fastest_of(const pl_variant *variants, size_t count,
                                    micro_batches counts) {
    const pl_variant *fastest = variants;
    for (const pl_variant *own = variants; own < variants + count; ++own)
        if (own->cycles < fastest->cycles ||
            (own->cycles == fastest->cycles && bytes_of(own, counts) < bytes_of(fastest, counts)))
            fastest = own;
    return fastest;
}

/* Adds the steps of a unit, its lower convex hull, to those of others. */
static void add_steps(ladder *l, size_t unit, const pl_variant *variants, size_t count,
                      micro_batches counts) {
    const pl_variant *now = fastest_of(variants, count, counts);
    for (size_t at = 0;;) {
        const uint64_t bytes = bytes_of(now, counts);
        const pl_variant *next = NULL;
        step best = {0};
        for (const pl_variant *other = variants; other < variants + count; ++other) {
            if (bytes_of(other, counts) >= bytes)
                continue;
            const step own = {unit, other->cycles - now->cycles, bytes - bytes_of(other, counts)};
            const int order = next == NULL ? -1 : compare_ratios(&own, &best);
            if (order < 0 || (order == 0 && own.cycles > best.cycles)) {
                next = other;
                best = own;
            }
        }
        if (next == NULL)
            return;
        /* after those that are as good */
        for (size_t end = l->count; at < end;) {
            const size_t middle = at + (end - at) / 2;
            if (compare_ratios(&best, &l->steps[middle]) < 0)
                end = middle;
            else
                at = middle + 1;
        }
        memmove(&l->steps[at + 1], &l->steps[at], (l->count - at) * sizeof *l->steps);
        l->steps[at++] = best;
        ++l->count;
        now = next;
    }
}

/* ---- rows ---- */

enum { CYCLES, ORIGIN, AMOUNTS };

/* A stage that recomputes all its units comes from the row before the stage. It is the last of
 * equal rows. */
#define ALL_UNITS ((uint64_t)1 << 63)

static uint64_t *row_at(const pl_variant_search *f, size_t row) {
    return f->rows + row * f->width;
}

static const uint64_t *item_at(const pl_variant_search *f, size_t option) {
    return f->items + option * f->width;
}

/* Returns the option that the stage of a unit is recomputed. */
static size_t full_of(const pl_variant_search *f, const choosing_unit *unit) {
    return f->units[unit->end].first_option - 1;
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
static bool is_no_larger(const pl_variant_search *f, const uint64_t *row, const uint64_t *other) {
    size_t k = AMOUNTS;
    while (k < f->width && row[k] <= other[k])
        ++k;
    return k == f->width;
}

/* Sorts the current rows by cycles, and drops those that another one beats. */
static void keep_rows(pl_variant_search *f) {
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
static bool is_within(const pl_variant_search *f, const uint64_t *row, const uint64_t *rest) {
    const uint64_t score = row[CYCLES] * f->cycle_weight + row[AMOUNTS] * f->byte_weight;
    bool is_so =
        row[CYCLES] + rest[CYCLES] <= f->most[CYCLES] && score + rest[ORIGIN] <= f->most[ORIGIN];
    for (size_t k = AMOUNTS; is_so && k < AMOUNTS + f->num_moments; ++k)
        is_so = row[k] + rest[k] <= f->most[k];
    return is_so;
}

/* True if rows have the cycles of each stage, before the speed rounds them. */
static bool has_stages(const pl_variant_search *f) {
    return f->num_amounts > f->num_moments;
}

static micro_batches *counts_of(const pl_variant_search *f, size_t stage, size_t moment) {
    return &f->counts[stage * f->num_all + moment];
}

static uint64_t *stage_cycles(const pl_variant_search *f, uint64_t *row, size_t stage) {
    return &row[AMOUNTS + f->num_moments + stage];
}

/* Appends the sum of a row and own numbers, if it may be part of the best choice. */
static void add_row(pl_variant_search *f, size_t before, size_t stage, const uint64_t *own,
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

/* Adds each of some options of the units up to `unit` to the rows begin ... end - 1. */
static popliner_status add_rows(pl_variant_search *f, size_t unit, size_t begin, size_t end,
                                size_t first_option, size_t num_options, uint64_t mark,
                                popliner_error *error) {
    const popliner_interval *stages = f->question->stages;
    const uint64_t *rest = f->rest + (unit + 1) * f->width;
    const size_t wanted = f->count + (end - begin) * num_options + 1;
    f->work += (end - begin) * num_options;
    if (wanted > MAX_ROWS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       stages[0].first_unit, stages[f->question->count - 1].last_unit);
    if (!pl_arrays_grow(&f->arrays, &f->rows, wanted * f->width, sizeof *f->rows))
        return fail_memory(error);
    for (size_t i = begin; i < end; ++i)
        for (size_t k = 0; k < num_options; ++k)
            add_row(f, i, f->units[unit].stage, item_at(f, first_option + k),
                    mark | (uint64_t)i << 32 | k, rest);
    return POPLINER_OK;
}

/* Finds the rows of all units. */
static popliner_status find_rows(pl_variant_search *f, popliner_error *error) {
    size_t begin = 0; /* the rows before the stage */
    size_t end = 0;
    if (!pl_arrays_grow(&f->arrays, &f->rows, f->width, sizeof *f->rows))
        return fail_memory(error);
    memset(f->rows, 0, f->width * sizeof *f->rows);
    f->count = 1;
    f->current = 0;
    for (size_t i = 0; i < f->num_units; ++i) {
        const choosing_unit *unit = &f->units[i];
        const size_t first = f->current;
        f->current = f->count;
        if (i == unit->begin) {
            begin = first;
            end = f->current;
        }
        PL_TRY(add_rows(f, i, first, f->current, unit->first_option, unit->num_options, 0, error));
        if (f->of->variants->has_full && i + 1 == unit->end)
            PL_TRY(add_rows(f, i, begin, end, full_of(f, unit), 1, ALL_UNITS, error));
        keep_rows(f);
    }
    return POPLINER_OK;
}

/* ---- limits of rows ---- */

/* Sets the cells of a row to those of a sum, if these are less. */
static void lower(const pl_variant_search *f, uint64_t *row, const uint64_t *before,
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
static void find_rest(pl_variant_search *f) {
    memset(f->rest + f->num_units * f->width, 0, f->width * sizeof *f->rest);
    for (size_t i = f->num_units; i-- > 0;) {
        const choosing_unit *unit = &f->units[i];
        uint64_t *at = f->rest + i * f->width;
        memset(at, UINT8_MAX, f->width * sizeof *at);
        for (size_t k = 0; k < unit->num_options; ++k)
            lower(f, at, at + f->width, item_at(f, unit->first_option + k));
        if (f->of->variants->has_full && i == unit->begin)
            lower(f, at, f->rest + unit->end * f->width, item_at(f, full_of(f, unit)));
    }
}

/* Takes whole steps, the best first, that leave the cycles within the limit, or the bytes above it,
 * until one more makes a choice; lowers the limits, at one moment, to those of the best choice.
 * Returns the step at which parts would count; NULL if none would. */
static const step *limit_by_steps(pl_variant_search *f) {
    const pl_variant_question *q = f->question;
    const bool by_cycles = q->wish.by_cycles;
    const uint64_t most_bytes = f->most[AMOUNTS];
    /* each of several stages may be rounded */
    const uint64_t rounded = q->speed != POPLINER_SPEED_ONE ? q->count - 1 : 0;
    const uint64_t most_cycles =
        pl_speed_most(q->speed, f->most[CYCLES] - pl_smaller(rounded, f->most[CYCLES]));
    const step *critical = NULL;
    uint64_t cycles = 0;
    uint64_t bytes = 0;
    f->of_options.count = 0;
    for (size_t i = 0; i < f->num_units; ++i) {
        choosing_unit *unit = &f->units[i];
        const pl_variant *options = &f->options[unit->first_option];
        const micro_batches counts = *counts_of(f, unit->stage, f->moments[0]);
        const pl_variant *fastest = fastest_of(options, unit->num_options, counts);
        cycles += fastest->cycles;
        bytes += bytes_of(fastest, counts);
        add_steps(&f->of_options, i, options, unit->num_options, counts);
        unit->is_left = false;
    }
    uint64_t best_cycles = bytes <= most_bytes ? cycles : UINT64_MAX;
    for (size_t i = 0; i < f->of_options.count && (!by_cycles || bytes > most_bytes); ++i) {
        const step *own = &f->of_options.steps[i];
        const uint64_t next = pl_add_or_never(cycles, own->cycles);
        bool *is_left = &f->units[own->unit].is_left;
        if (*is_left)
            continue;
        *is_left = by_cycles ? bytes - own->bytes <= most_bytes : next > most_cycles;
        if (!*is_left) {
            cycles = next;
            bytes -= own->bytes;
            continue;
        }
        if (by_cycles)
            best_cycles = pl_smaller(best_cycles, next);
        if (critical == NULL)
            critical = own;
    }
    if (f->num_moments > 1)
        return critical;
    if (!by_cycles && cycles <= most_cycles)
        f->most[AMOUNTS] = pl_smaller(most_bytes, bytes);
    else if (by_cycles && best_cycles < most_cycles)
        f->most[CYCLES] =
            pl_smaller(f->most[CYCLES], pl_speed_cycles(q->speed, best_cycles) + rounded);
    return critical;
}

/* Limits the rows: to what all units take at most, to a good choice, and by the weights with which
 * the best rows have almost the smallest score: those of the critical step. */
static void limit_rows(pl_variant_search *f, const pl_choice_wish *wish) {
    uint64_t all_cycles = 0;
    uint64_t all_bytes = 0;
    for (size_t i = 0; i < f->num_options; ++i) {
        all_cycles = pl_add_or_never(all_cycles, item_at(f, i)[CYCLES]);
        all_bytes = pl_add_or_never(all_bytes, item_at(f, i)[AMOUNTS]);
    }
    f->most[CYCLES] = wish->max_cycles;
    for (size_t k = AMOUNTS; k < f->width; ++k)
        f->most[k] = wish->max_bytes;
    const step *critical = limit_by_steps(f);
    f->most[CYCLES] = pl_smaller(f->most[CYCLES], all_cycles);
    f->most[AMOUNTS] = pl_smaller(f->most[AMOUNTS], all_bytes);
    f->cycle_weight = critical != NULL ? critical->bytes : wish->by_cycles;
    f->byte_weight = critical != NULL ? critical->cycles : !wish->by_cycles;
    while (pl_multiply_or_never(all_cycles, f->cycle_weight) > UINT64_MAX / 4 ||
           pl_multiply_or_never(all_bytes, f->byte_weight) > UINT64_MAX / 4) {
        f->cycle_weight /= 2;
        f->byte_weight /= 2;
    }
    f->most[ORIGIN] = f->most[CYCLES] * f->cycle_weight + f->most[AMOUNTS] * f->byte_weight;
    find_rest(f);
}

/* ---- the best row ---- */

/* Finds the units and the options of the question. */
static popliner_status prepare(pl_variant_search *f, popliner_error *error) {
    const pl_variant_question *q = f->question;
    const pl_variants *v = f->of->variants;
    size_t unit = 0;
    size_t option = 0;
    f->num_all = count_moments(f, q->stages[0].stages_to_end);
    if (!pl_arrays_grow(&f->arrays, &f->counts, q->count * f->num_all, sizeof *f->counts))
        return fail_memory(error);
    for (size_t i = 0; i < q->count; ++i) {
        growing_stage s = begin_stage(v, q->stages[i].first_unit);
        extend_stage(&s, v, q->stages[i].last_unit + 1);
        const size_t begin = unit;
        const size_t end = unit + s.end - s.first_unit;
        f->shared_bytes = s.shared_bytes;
        for (const size_t *first = &v->first[s.first_unit]; unit < end; ++unit, ++first) {
            const uint64_t cut_cycles =
                unit == begin ? v->cut_cycles[s.first_unit] + v->cut_cycles[s.end] : 0;
            f->units[unit] = (choosing_unit){i, begin, end, option, first[1] - first[0], false};
            for (size_t k = first[0]; k < first[1]; ++k) {
                f->options[option] = v->items[k];
                f->options[option++].cycles += cut_cycles;
            }
        }
        if (v->has_full)
            f->options[option++] = recomputed(&s, v);
        count_then(f, q->stages[i].stages_to_end, f->num_all, counts_of(f, i, 0));
    }
    if (q->count > 1)
        f->shared_bytes =
            v->shared_bytes != NULL ? v->shared_bytes(v->user, q->stages, q->count) : 0;
    f->units[unit].first_option = f->num_options = option;
    f->num_units = unit;
    return POPLINER_OK;
}

/* Sets the items to the numbers of the options at the moments that count. */
static popliner_status find_items(pl_variant_search *f, bool has_cycles_of_stages,
                                  popliner_error *error) {
    f->num_amounts = f->num_moments + (has_cycles_of_stages ? f->question->count : 0);
    f->width = AMOUNTS + f->num_amounts;
    pl_arrays_grow(&f->arrays, &f->items, f->num_options * f->width, sizeof *f->items);
    pl_arrays_grow(&f->arrays, &f->rest, (f->num_units + 1) * f->width, sizeof *f->rest);
    if (!pl_arrays_grow(&f->arrays, &f->most, f->width, sizeof *f->most))
        return fail_memory(error);
    uint64_t *row = f->items;
    memset(row, 0, f->num_options * f->width * sizeof *row);
    for (const choosing_unit *unit = f->units; unit < f->units + f->num_units; ++unit)
        for (size_t i = unit->first_option; i < unit[1].first_option; ++i, row += f->width) {
            const pl_variant *own = &f->options[i];
            row[CYCLES] = pl_speed_cycles(f->question->speed, own->cycles);
            for (size_t m = 0; m < f->num_moments; ++m)
                row[AMOUNTS + m] = bytes_of(own, *counts_of(f, unit->stage, f->moments[m]));
            if (has_stages(f))
                *stage_cycles(f, row, unit->stage) = own->cycles;
        }
    return POPLINER_OK;
}

/* Returns -1, 0 or 1: whether the cycles of the first stage are fewer than those of another row,
 * then those of the second, ... */
static int compare_stages(const pl_variant_search *f, size_t row, size_t other) {
    for (size_t i = 0; has_stages(f) && i < f->question->count; ++i) {
        const uint64_t a = pl_speed_cycles(f->question->speed, *stage_cycles(f, row_at(f, row), i));
        const uint64_t b =
            pl_speed_cycles(f->question->speed, *stage_cycles(f, row_at(f, other), i));
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* Sets f->picked to what the units of a row choose, and f->totals to the numbers of its stages. */
static void trace(pl_variant_search *f, size_t row) {
    memset(f->totals, 0, f->question->count * sizeof *f->totals);
    for (size_t i = f->num_units; i > 0;) {
        const uint64_t origin = row_at(f, row)[ORIGIN];
        const choosing_unit *unit = &f->units[i - 1];
        const bool is_full = (origin & ALL_UNITS) != 0;
        i = is_full ? unit->begin : i - 1;
        f->picked[i] =
            is_full ? full_of(f, unit) : unit->first_option + (size_t)(origin & UINT32_MAX);
        add_variant(&f->totals[unit->stage], &f->options[f->picked[i]]);
        row = (size_t)((origin & ~ALL_UNITS) >> 32);
    }
}

/* Finds the best row within the limits, at the moments that count. */
static popliner_status find_best(pl_variant_search *f, const pl_choice_wish *wish,
                                 bool has_cycles_of_stages, pl_variant_choice *best,
                                 popliner_error *error) {
    *best = (pl_variant_choice){0};
    PL_TRY(find_items(f, has_cycles_of_stages, error));
    limit_rows(f, wish);
    PL_TRY(find_rows(f, error));
    size_t best_row = f->current;
    for (size_t row = f->current; row < f->count; ++row) {
        pl_variant_choice own = {true, 0, row_at(f, row)[CYCLES]};
        for (size_t m = 0; m < f->num_moments; ++m)
            own.peak_bytes = pl_larger(own.peak_bytes, row_at(f, row)[AMOUNTS + m]);
        if (best->exists && (pl_variant_choice_is_better(best, &own, wish->by_cycles) ||
                             (!pl_variant_choice_is_better(&own, best, wish->by_cycles) &&
                              compare_stages(f, best_row, row) <= 0)))
            continue;
        *best = own;
        best_row = row;
    }
    if (best->exists)
        trace(f, best_row);
    return POPLINER_OK;
}

/* Returns the moment at which what was picked needs most, and how much. */
static size_t find_worst(const pl_variant_search *f, uint64_t *most_bytes) {
    size_t worst = 0;
    *most_bytes = 0;
    for (size_t moment = 0; moment < f->num_all; ++moment) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < f->question->count; ++i)
            bytes += bytes_of(&f->totals[i], *counts_of(f, i, moment));
        worst = bytes > *most_bytes ? moment : worst;
        *most_bytes = pl_larger(bytes, *most_bytes);
    }
    return worst;
}

/* Chooses as if the IPU had some of its moments alone, and adds the worst one of what that picks,
 * until there is none: few of many moments decide. */
static popliner_status find_at_moments(pl_variant_search *f, pl_choice_wish wish,
                                       bool has_cycles_of_stages, pl_variant_choice *best,
                                       popliner_error *error) {
    PL_TRY(find_best(f, &wish, has_cycles_of_stages, best, error));
    while (best->exists && f->num_all > 1) {
        uint64_t bytes;
        const size_t worst = find_worst(f, &bytes);
        if (bytes <= best->peak_bytes)
            break;
        if (!wish.by_cycles) /* what was picked is a choice */
            wish.max_bytes = pl_smaller(wish.max_bytes, bytes);
        if (!pl_arrays_grow(&f->arrays, &f->moments, f->num_moments + 1, sizeof *f->moments))
            return fail_memory(error);
        f->moments[f->num_moments++] = worst;
        PL_TRY(find_best(f, &wish, has_cycles_of_stages, best, error));
    }
    return POPLINER_OK;
}

/* Appends the units of a stage, which begins with `unit`, that use a variant. */
static void name_stage(const pl_variant_search *f, const choosing_unit *unit, pl_text *text) {
    const size_t first_unit = f->question->stages[unit->stage].first_unit;
    bool has_any = false;
    if (f->of->variants->has_full && f->picked[unit->begin] == full_of(f, unit)) {
        pl_text_add(text, "full");
        return;
    }
    for (size_t i = unit->begin; i < unit->end; ++i) {
        if (f->picked[i] == f->units[i].first_option)
            continue;
        pl_text_format(text, "%s%s=%s", has_any ? "," : "",
                       f->of->unit_names[first_unit + i - unit->begin],
                       f->options[f->picked[i]].name);
        has_any = true;
    }
    if (!has_any)
        pl_text_add(text, "none");
}

popliner_status pl_variant_search_choose(pl_variant_search *f, const pl_variant_question *question,
                                         pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                         popliner_error *error) {
    const bool rounds = question->speed != POPLINER_SPEED_ONE;
    pl_choice_wish wish = question->wish;
    f->question = question;
    *best = (pl_variant_choice){0};
    PL_TRY(prepare(f, error));
    wish.max_bytes = pl_smaller(wish.max_bytes, f->of->variants->capacity_bytes);
    if (f->shared_bytes > wish.max_bytes)
        return POPLINER_OK;
    wish.max_bytes -= f->shared_bytes;
    f->num_moments = 1; /* the first one */
    f->moments[0] = 0;
    PL_TRY(find_at_moments(f, wish, rounds, best, error));
    if (!best->exists)
        return POPLINER_OK;
    wish = (pl_choice_wish){best->cycles, best->peak_bytes, wish.by_cycles};
    if (texts != NULL && question->count > 1 && !rounds)
        PL_TRY(find_at_moments(f, wish, true, best, error));
    best->peak_bytes += f->shared_bytes;
    const choosing_unit *unit = f->units;
    for (size_t i = 0; texts != NULL && i < question->count; ++i) {
        cycles[i] = pl_speed_cycles(question->speed, f->totals[i].cycles);
        name_stage(f, unit, &texts[i]);
        if (texts[i].failed)
            return fail_memory(error);
        unit = &f->units[unit->end];
    }
    return POPLINER_OK;
}

/* ---- bounds ---- */

popliner_status pl_variant_search_create(const pl_choices *choices, size_t num_units,
                                         bool has_moments, pl_variant_search **search,
                                         popliner_error *error) {
    const pl_variants *v = choices->variants;
    pl_variant_search *f = *search = calloc(1, sizeof *f);
    if (f == NULL)
        return fail_memory(error);
    f->of = choices;
    f->moments_of_ipus = has_moments ? v->moments : NULL;
    f->cycles = pl_arrays_new(&f->arrays, num_units + 1, sizeof *f->cycles);
    f->ladder.steps = pl_arrays_new(&f->arrays, v->count, sizeof *f->ladder.steps);
    f->of_options.steps = pl_arrays_new(&f->arrays, v->count, sizeof *f->of_options.steps);
    f->units = pl_arrays_new(&f->arrays, num_units + 1, sizeof *f->units);
    f->options = pl_arrays_new(&f->arrays, v->count + num_units, sizeof *f->options);
    f->picked = pl_arrays_new(&f->arrays, num_units, sizeof *f->picked);
    f->totals = pl_arrays_new(&f->arrays, num_units, sizeof *f->totals);
    f->sums = pl_arrays_new(&f->arrays, num_sums, sizeof *f->sums);
    uint64_t *bytes = pl_arrays_new(&f->arrays, (num_units + 1) * num_sums * 2, sizeof *bytes);
    if (!pl_arrays_grow(&f->arrays, &f->moments, 1, sizeof *f->moments))
        return fail_memory(error);
    for (size_t i = 0; i < num_sums; ++i, bytes += 2 * (num_units + 1))
        f->sums[i] = (sums){.fast_bytes = bytes, .least_bytes = bytes + num_units + 1};
    for (size_t unit = 0; unit < num_units; ++unit) {
        uint64_t fewest = UINT64_MAX;
        for (size_t i = v->first[unit]; i < v->first[unit + 1]; ++i)
            fewest = pl_smaller(fewest, v->items[i].cycles);
        f->cycles[unit + 1] = f->cycles[unit] + fewest;
    }
    return POPLINER_OK;
}

uint64_t pl_variant_search_work(const pl_variant_search *search) {
    return search->work;
}

void pl_variant_search_free(pl_variant_search *search) {
    if (search != NULL)
        pl_arrays_free(&search->arrays);
    free(search);
}

static uint64_t between(const uint64_t *before, const popliner_interval *stage) {
    return before[stage->last_unit + 1] - before[stage->first_unit];
}

uint64_t pl_variant_search_cycles(const pl_variant_search *f, const popliner_interval *stage) {
    const uint64_t *cut_cycles = f->of->variants->cut_cycles;
    return between(f->cycles, stage) + cut_cycles[stage->first_unit] +
           cut_cycles[stage->last_unit + 1];
}

/* Returns the sums of a place. */
static const sums *find_sums(pl_variant_search *f, size_t place) {
    const pl_variants *v = f->of->variants;
    sums *x = &f->sums[place % num_sums];
    if (x->place == place)
        return x;
    x->place = place;
    count_then(f, place, 1, &x->counts);
    for (size_t unit = 0; unit < v->num_units; ++unit) {
        const pl_variant *own = &v->items[v->first[unit]];
        const size_t count = v->first[unit + 1] - v->first[unit];
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < count; ++i)
            least = pl_smaller(least, bytes_of(&own[i], x->counts));
        x->least_bytes[unit + 1] = x->least_bytes[unit] + least;
        x->fast_bytes[unit + 1] =
            x->fast_bytes[unit] + bytes_of(fastest_of(own, count, x->counts), x->counts);
    }
    return x;
}

/* Makes f->stage the stage: extends it if it is a beginning of that. */
static void grow_stage(pl_variant_search *f, const popliner_interval *stage) {
    const pl_variants *v = f->of->variants;
    if (f->place != stage->stages_to_end || f->stage.first_unit != stage->first_unit ||
        f->stage.end > stage->last_unit + 1) {
        f->stage = begin_stage(v, stage->first_unit);
        f->place = stage->stages_to_end;
        f->end_of_ladder = stage->first_unit;
        f->ladder.count = 0;
    }
    extend_stage(&f->stage, v, stage->last_unit + 1);
}

/* Returns what is left of the bytes of the fastest variants of f->stage after steps that take so
 * many cycles. Ends as soon as this is within enough_bytes. Whole steps do it, or the last one
 * counts in part. */
static uint64_t after_steps(pl_variant_search *f, const sums *x, uint64_t bytes, uint64_t cycles,
                            uint64_t enough_bytes, bool *are_whole) {
    const pl_variants *v = f->of->variants;
    *are_whole = true;
    for (; f->end_of_ladder < f->stage.end; ++f->end_of_ladder) {
        const size_t *first = &v->first[f->end_of_ladder];
        add_steps(&f->ladder, f->end_of_ladder, &v->items[first[0]], first[1] - first[0],
                  x->counts);
    }
    for (size_t i = 0; i < f->ladder.count && bytes > enough_bytes; ++i) {
        const step *own = &f->ladder.steps[i];
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
static uint64_t bound_of(pl_variant_search *f, const popliner_interval *stage,
                         const pl_choice_wish *wish, uint64_t enough_bytes, bool *is_exact) {
    const pl_variants *v = f->of->variants;
    const growing_stage *s = &f->stage;
    const sums *x = find_sums(f, stage->stages_to_end);
    grow_stage(f, stage);
    const uint64_t most = pl_smaller(wish->max_bytes, v->capacity_bytes);
    const uint64_t cycles = pl_variant_search_cycles(f, stage);
    const uint64_t fast_bytes = between(x->fast_bytes, stage) + s->shared_bytes;
    const uint64_t least_bytes = between(x->least_bytes, stage) + s->shared_bytes;
    const pl_variant full = recomputed(s, v);
    uint64_t full_bytes = bytes_of(&full, x->counts) + s->shared_bytes;
    uint64_t bytes = POPLINER_PEAK_FORBIDDEN;
    bool are_whole = true;
    *is_exact = true;
    if (!v->has_full || full_bytes > most || full.cycles > wish->max_cycles)
        full_bytes = POPLINER_PEAK_FORBIDDEN;
    if (full_bytes <= enough_bytes || least_bytes > most || cycles > wish->max_cycles)
        return full_bytes;
    if (fast_bytes <= enough_bytes)
        bytes = fast_bytes;
    else if (wish->max_cycles == UINT64_MAX)
        bytes = least_bytes;
    else
        bytes = after_steps(f, x, fast_bytes, wish->max_cycles - cycles, enough_bytes, &are_whole);
    bytes = bytes <= most ? bytes : POPLINER_PEAK_FORBIDDEN;
    *is_exact = are_whole || bytes >= full_bytes;
    return pl_smaller(bytes, full_bytes);
}

uint64_t pl_variant_search_least(pl_variant_search *search, const popliner_interval *stage,
                                 const pl_choice_wish *wish) {
    bool is_exact;
    return bound_of(search, stage, wish, 0, &is_exact);
}

popliner_status pl_variant_search_allow(pl_variant_search *f, const popliner_interval *stage,
                                        const pl_choice_wish *wish, bool *is_allowed,
                                        popliner_error *error) {
    const uint64_t most = pl_smaller(pl_smaller(wish->max_bytes, f->of->variants->capacity_bytes),
                                     POPLINER_PEAK_FORBIDDEN - 1);
    const pl_variant_question question = {stage, 1, POPLINER_SPEED_ONE, *wish};
    pl_variant_choice best;
    bool is_exact;
    *is_allowed = bound_of(f, stage, wish, most, &is_exact) <= most;
    if (is_exact || !*is_allowed)
        return POPLINER_OK;
    PL_TRY(pl_variant_search_choose(f, &question, &best, NULL, NULL, error));
    *is_allowed = best.exists;
    return POPLINER_OK;
}

bool pl_variant_search_is_over(pl_variant_search *f, const popliner_interval *stage,
                               const pl_choice_wish *wish) {
    const pl_variants *v = f->of->variants;
    const sums *x = find_sums(f, stage->stages_to_end);
    const uint64_t most = pl_smaller(wish->max_bytes, v->capacity_bytes);
    if (between(f->cycles, stage) > wish->max_cycles)
        return true;
    if (between(x->least_bytes, stage) <= most)
        return false;
    grow_stage(f, stage);
    /* a longer stage may begin with no inputs */
    return !v->has_full ||
           f->stage.units.memory_bytes - (x->counts.lacks_set ? f->stage.units.stash_bytes : 0) >
               most;
}
