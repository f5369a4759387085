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
    size_t place;
    micro_batches counts; /* at the first moment of its IPU */
    size_t first_unit;
    size_t end;     /* one past the last unit */
    size_t arrival; /* the next one */
    uint64_t shared_bytes;
    pl_variant units;     /* unchanged, but with the cycles of recomputing */
    uint64_t fast_bytes;  /* of the fastest variants */
    uint64_t least_bytes; /* of the smallest ones */
} growing_stage;

/* From a variant of a unit to one that takes more cycles and fewer bytes. */
typedef struct step {
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
} choosing_unit;

struct pl_variant_search {
    const pl_choices *of;
    const struct pl_moments *moments_of_ipus; /* NULL: each stage has its most */
    pl_arrays arrays;                         /* own the others */
    uint64_t *cycles; /* [units + 1]: the fewest cycles of the units before one */

    /* The stage of the last bound, which may be longer in the next. */
    growing_stage stage;
    ladder ladder; /* of its first units, up to this one */
    size_t end_of_ladder;

    /* The question, and rows of numbers. */
    const pl_variant_question *question;
    size_t num_all;        /* moments of the IPU */
    micro_batches *counts; /* [stages * num_all] */
    choosing_unit *units;  /* [num_units + 1]: the last one ends the options */
    size_t num_units;
    pl_variant *options; /* the first unit of a stage has the cycles of the cuts */
    ladder of_options;
    uint64_t shared_bytes;
    size_t num_moments; /* that count so far */
    size_t *moments;    /* [num_moments] */
    size_t width;       /* of a row */
    uint64_t *rows;     /* [count]: choices of all units so far, those of the last at the end */
    size_t count;
    size_t current; /* where the rows of the last unit begin */
    uint64_t *item; /* a row: what an option adds */
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

static growing_stage begin_stage(const pl_variant_search *f, const popliner_interval *stage) {
    const pl_variants *v = f->of->variants;
    growing_stage s = {
        .place = stage->stages_to_end, .first_unit = stage->first_unit, .end = stage->first_unit};
    count_then(f, s.place, 1, &s.counts);
    while (s.arrival < v->num_arrivals && v->arrivals[s.arrival].unit < s.first_unit)
        ++s.arrival;
    return s;
}

static void extend_stage(growing_stage *s, const pl_variants *v, size_t end) {
    for (; s->end < end; ++s->end) {
        const pl_variant *own = &v->items[v->first[s->end]];
        const size_t count = v->first[s->end + 1] - v->first[s->end];
        uint64_t least = UINT64_MAX;
        for (; s->arrival < v->num_arrivals && v->arrivals[s->arrival].unit == s->end;
             ++s->arrival) {
            const pl_arrival *arrival = &v->arrivals[s->arrival];
            if (arrival->begins_after == SIZE_MAX || s->first_unit > arrival->begins_after)
                s->shared_bytes += arrival->bytes;
        }
        add_variant(&s->units, own);
        s->units.cycles += v->recompute_cycles[s->end];
        s->fast_bytes += bytes_of(fastest_of(own, count, s->counts), s->counts);
        for (size_t i = 0; i < count; ++i)
            least = pl_smaller(least, bytes_of(&own[i], s->counts));
        s->least_bytes += least;
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

/* Adds the steps of a unit, its lower convex hull, to those of others. */
static void add_steps(ladder *l, const pl_variant *variants, size_t count, micro_batches counts) {
    const pl_variant *now = fastest_of(variants, count, counts);
    for (size_t at = 0;;) {
        const uint64_t bytes = bytes_of(now, counts);
        const pl_variant *next = NULL;
        step best = {0};
        for (const pl_variant *other = variants; other < variants + count; ++other) {
            if (bytes_of(other, counts) >= bytes)
                continue;
            const step own = {other->cycles - now->cycles, bytes - bytes_of(other, counts)};
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

/* Takes whole steps, the best first, until the bytes are enough or one more would exceed the
 * cycles. Returns the number of steps that were taken. */
static size_t take_steps(const ladder *l, uint64_t max_cycles, uint64_t enough_bytes,
                         uint64_t *cycles, uint64_t *bytes) {
    size_t i = 0;
    for (; *bytes > enough_bytes && i < l->count; ++i) {
        if (l->steps[i].cycles > max_cycles - *cycles)
            break;
        *cycles += l->steps[i].cycles;
        *bytes -= l->steps[i].bytes;
    }
    return i;
}

/* ---- rows ---- */

/* A row has where its choice comes from, and sums: of cycles, which are rounded up by the speed at
 * the end of each stage, before it with a part of one; of both by the weights; and of the bytes at
 * each moment. */
enum { ORIGIN, PART, CYCLES, SCORE, BYTES };

/* A stage that recomputes all its units comes from the row before the stage. It is the last of
 * equal rows. */
#define ALL_UNITS ((uint64_t)1 << 63)

static uint64_t *row_at(const pl_variant_search *f, size_t row) {
    return f->rows + row * f->width;
}

/* Returns the option that the stage of a unit is recomputed. */
static size_t full_of(const pl_variant_search *f, const choosing_unit *unit) {
    return f->units[unit->end].first_option - 1;
}

static micro_batches *counts_of(const pl_variant_search *f, size_t stage, size_t moment) {
    return &f->counts[stage * f->num_all + moment];
}

/* Sets f->item. */
static void find_item(pl_variant_search *f, size_t stage, size_t option) {
    const pl_variant *own = &f->options[option];
    const uint64_t speed = f->question->speed;
    const uint64_t part = own->cycles % speed * POPLINER_SPEED_ONE; /* as pl_speed_cycles */
    f->item[ORIGIN] = option;
    f->item[PART] = part % speed;
    f->item[CYCLES] = own->cycles / speed * POPLINER_SPEED_ONE + part / speed;
    for (size_t m = 0; m < f->num_moments; ++m)
        f->item[BYTES + m] = bytes_of(own, *counts_of(f, stage, f->moments[m]));
    f->item[SCORE] = f->item[CYCLES] * f->cycle_weight + f->item[BYTES] * f->byte_weight;
}

static int compare_rows(const void *left, const void *right) {
    static const size_t cells[] = {CYCLES, PART, BYTES, ORIGIN}; /* a total order for qsort */
    const uint64_t *a = left;
    const uint64_t *b = right;
    size_t i = 0;
    while (i < 3 && a[cells[i]] == b[cells[i]])
        ++i;
    return (a[cells[i]] > b[cells[i]]) - (a[cells[i]] < b[cells[i]]);
}

/* True if a row has at no moment more bytes than another one. */
static bool is_no_larger(const pl_variant_search *f, const uint64_t *row, const uint64_t *other) {
    size_t k = BYTES;
    while (k < f->width && row[k] <= other[k])
        ++k;
    return k == f->width;
}

/* Sorts the current rows by cycles, and drops those that another one beats. */
static void keep_rows(pl_variant_search *f) {
    const size_t size = f->width * sizeof *f->rows;
    const size_t first = f->current;
    size_t kept = first;
    if (f->count > first)
        qsort(row_at(f, first), f->count - first, size, compare_rows);
    for (size_t i = first; i < f->count; ++i) {
        const uint64_t *own = row_at(f, i);
        size_t k = kept;
        while (k > first && !is_no_larger(f, row_at(f, k - 1), own)) /* the last has fewest bytes */
            k = f->num_moments == 1 ? first : k - 1;
        if (k == first)
            memmove(row_at(f, kept++), own, size);
    }
    f->count = kept;
}

/* Adds an option of the units up to `unit` to the rows begin ... end - 1, where it may be part of
 * the best choice with the least that later units take. */
static popliner_status add_rows(pl_variant_search *f, size_t unit, size_t begin, size_t end,
                                size_t option, uint64_t mark, popliner_error *error) {
    const popliner_interval *stages = f->question->stages;
    const uint64_t speed = f->question->speed;
    const uint64_t *rest = f->rest + (unit + 1) * f->width;
    const bool ends_stage = unit + 1 == f->units[unit].end;
    const size_t wanted = f->count + (end - begin) + 1;
    f->work += end - begin;
    if (wanted > MAX_ROWS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       stages[0].first_unit, stages[f->question->count - 1].last_unit);
    if (!pl_arrays_grow(&f->arrays, &f->rows, wanted * f->width, sizeof *f->rows))
        return fail_memory(error);
    find_item(f, f->units[unit].stage, option);
    for (size_t i = begin; i < end; ++i) {
        uint64_t *next = row_at(f, f->count);
        bool is_within = true;
        for (size_t k = PART; k < f->width; ++k)
            next[k] = row_at(f, i)[k] + f->item[k];
        next[ORIGIN] = mark | (uint64_t)i << 32 | option;
        if (next[PART] >= speed) {
            next[PART] -= speed;
            ++next[CYCLES];
        }
        if (ends_stage && next[PART] > 0) {
            next[PART] = 0;
            ++next[CYCLES];
        }
        for (size_t k = CYCLES; is_within && k < f->width; ++k)
            is_within = next[k] + rest[k] <= f->most[k];
        f->count += is_within;
    }
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
        for (size_t k = 0; k < unit->num_options; ++k)
            PL_TRY(add_rows(f, i, first, f->current, unit->first_option + k, 0, error));
        if (f->of->variants->has_full && i + 1 == unit->end)
            PL_TRY(add_rows(f, i, begin, end, full_of(f, unit), ALL_UNITS, error));
        keep_rows(f);
    }
    return POPLINER_OK;
}

/* ---- limits of rows ---- */

/* Sets a row of f->rest to the sum of a later one and an option, where that is less. */
static void lower(pl_variant_search *f, size_t stage, size_t option, size_t later, uint64_t *row) {
    find_item(f, stage, option);
    for (size_t k = CYCLES; k < f->width; ++k)
        row[k] = pl_smaller(row[k], f->rest[later * f->width + k] + f->item[k]);
}

static void find_rest(pl_variant_search *f) {
    memset(f->rest + f->num_units * f->width, 0, f->width * sizeof *f->rest);
    for (size_t i = f->num_units; i-- > 0;) {
        const choosing_unit *unit = &f->units[i];
        uint64_t *row = f->rest + i * f->width;
        memset(row, UINT8_MAX, f->width * sizeof *row);
        for (size_t k = 0; k < unit->num_options; ++k)
            lower(f, unit->stage, unit->first_option + k, i + 1, row);
        if (f->of->variants->has_full && i == unit->begin)
            lower(f, unit->stage, full_of(f, unit), unit->end, row);
    }
}

/* Limits the rows: to what all units take at most; to a good choice, which whole steps make; and by
 * the weights with which the best rows have almost the smallest score, those of the step at which
 * parts would count. */
static void limit_rows(pl_variant_search *f, const pl_choice_wish *wish) {
    const pl_variant_question *q = f->question;
    const uint64_t rounded = q->count - 1; /* each of several stages may be */
    const uint64_t most_cycles =
        pl_speed_most(q->speed, wish->max_cycles - pl_smaller(rounded, wish->max_cycles));
    uint64_t all_cycles = 0;
    uint64_t all_bytes = 0;
    uint64_t cycles = 0;
    uint64_t bytes = 0;
    f->of_options.count = 0;
    for (size_t i = 0; i < f->num_units; ++i) {
        const choosing_unit *unit = &f->units[i];
        const pl_variant *options = &f->options[unit->first_option];
        const micro_batches counts = *counts_of(f, unit->stage, f->moments[0]);
        const pl_variant *fastest = fastest_of(options, unit->num_options, counts);
        cycles += fastest->cycles;
        bytes += bytes_of(fastest, counts);
        add_steps(&f->of_options, options, unit->num_options, counts);
        for (const pl_variant *own = options; own < f->options + unit[1].first_option; ++own) {
            all_cycles = pl_add_or_never(all_cycles, own->cycles);
            all_bytes = pl_add_or_never(all_bytes, bytes_of(own, counts));
        }
    }
    all_cycles = pl_add_or_never(pl_speed_cycles(q->speed, all_cycles), rounded);
    for (size_t k = CYCLES; k < f->width; ++k)
        f->most[k] = wish->max_bytes;
    f->most[CYCLES] = pl_smaller(wish->max_cycles, all_cycles);
    f->most[BYTES] = pl_smaller(wish->max_bytes, all_bytes);
    f->cycle_weight = wish->by_cycles;
    f->byte_weight = !wish->by_cycles;
    if (cycles <= most_cycles) {
        const uint64_t enough_bytes = wish->by_cycles ? wish->max_bytes : 0;
        const size_t taken = take_steps(&f->of_options, most_cycles, enough_bytes, &cycles, &bytes);
        const size_t critical = wish->by_cycles ? taken - 1 : taken;
        if (critical < f->of_options.count) {
            f->cycle_weight = f->of_options.steps[critical].bytes;
            f->byte_weight = f->of_options.steps[critical].cycles;
        }
        if (f->num_moments == 1 && !wish->by_cycles)
            f->most[BYTES] = pl_smaller(f->most[BYTES], bytes);
        else if (f->num_moments == 1 && bytes <= enough_bytes)
            f->most[CYCLES] =
                pl_smaller(f->most[CYCLES], pl_speed_cycles(q->speed, cycles) + rounded);
    }
    while (pl_multiply_or_never(all_cycles, f->cycle_weight) > UINT64_MAX / 4 ||
           pl_multiply_or_never(all_bytes, f->byte_weight) > UINT64_MAX / 4) {
        f->cycle_weight /= 2;
        f->byte_weight /= 2;
    }
    f->most[SCORE] = f->most[CYCLES] * f->cycle_weight + f->most[BYTES] * f->byte_weight;
    find_rest(f);
}

/* ---- the best row ---- */

/* Finds the units and the options of the question. */
static popliner_status prepare(pl_variant_search *f, popliner_error *error) {
    const pl_variant_question *q = f->question;
    const pl_variants *v = f->of->variants;
    size_t unit = 0;
    size_t option = 0;
    f->num_all = 1;
    if (f->moments_of_ipus != NULL)
        pl_moments_of(f->moments_of_ipus, q->stages[0].stages_to_end, &f->num_all);
    if (!pl_arrays_grow(&f->arrays, &f->counts, q->count * f->num_all, sizeof *f->counts))
        return fail_memory(error);
    for (size_t i = 0; i < q->count; ++i) {
        growing_stage s = begin_stage(f, &q->stages[i]);
        extend_stage(&s, v, q->stages[i].last_unit + 1);
        const size_t begin = unit;
        const size_t end = unit + s.end - s.first_unit;
        f->shared_bytes = s.shared_bytes;
        for (const size_t *first = &v->first[s.first_unit]; unit < end; ++unit, ++first) {
            f->units[unit] = (choosing_unit){i, begin, end, option, first[1] - first[0]};
            for (size_t k = first[0]; k < first[1]; ++k) {
                f->options[option] = v->items[k];
                f->options[option++].cycles +=
                    unit == begin ? v->cut_cycles[s.first_unit] + v->cut_cycles[s.end] : 0;
            }
        }
        if (v->has_full)
            f->options[option++] = recomputed(&s, v);
        count_then(f, s.place, f->num_all, counts_of(f, i, 0));
    }
    if (q->count > 1)
        f->shared_bytes =
            v->shared_bytes != NULL ? v->shared_bytes(v->user, q->stages, q->count) : 0;
    f->units[unit].first_option = option;
    f->num_units = unit;
    return POPLINER_OK;
}

/* Sets f->picked to what the units of a row choose, and f->totals to the numbers of its stages. */
static void trace(pl_variant_search *f, size_t row) {
    memset(f->totals, 0, f->question->count * sizeof *f->totals);
    for (size_t i = f->num_units; i > 0;) {
        const uint64_t origin = row_at(f, row)[ORIGIN];
        const choosing_unit *unit = &f->units[i - 1];
        i = (origin & ALL_UNITS) != 0 ? unit->begin : i - 1;
        f->picked[i] = (size_t)(origin & UINT32_MAX);
        add_variant(&f->totals[unit->stage], &f->options[f->picked[i]]);
        row = (size_t)((origin & ~ALL_UNITS) >> 32);
    }
}

/* Finds the best row within the limits, with one more moment. */
static popliner_status find_best(pl_variant_search *f, const pl_choice_wish *wish, size_t moment,
                                 pl_variant_choice *best, popliner_error *error) {
    *best = (pl_variant_choice){0};
    size_t best_row = 0;
    f->width = BYTES + ++f->num_moments;
    pl_arrays_grow(&f->arrays, &f->moments, f->num_moments, sizeof *f->moments);
    pl_arrays_grow(&f->arrays, &f->item, f->width, sizeof *f->item);
    pl_arrays_grow(&f->arrays, &f->rest, (f->num_units + 1) * f->width, sizeof *f->rest);
    if (!pl_arrays_grow(&f->arrays, &f->most, f->width, sizeof *f->most))
        return fail_memory(error);
    f->moments[f->num_moments - 1] = moment;
    limit_rows(f, wish);
    PL_TRY(find_rows(f, error));
    for (size_t row = f->current; row < f->count; ++row) {
        pl_variant_choice own = {true, 0, row_at(f, row)[CYCLES]};
        for (size_t k = BYTES; k < f->width; ++k)
            own.peak_bytes = pl_larger(own.peak_bytes, row_at(f, row)[k]);
        if (best->exists && !pl_variant_choice_is_better(&own, best, wish->by_cycles))
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

/* Chooses as if the IPU had its first moment alone, and adds the worst one of what that picks,
 * until there is none: few of many moments decide. */
static popliner_status find_at_moments(pl_variant_search *f, pl_choice_wish wish,
                                       pl_variant_choice *best, popliner_error *error) {
    size_t moment = 0;
    uint64_t bytes;
    f->num_moments = 0;
    do {
        PL_TRY(find_best(f, &wish, moment, best, error));
        if (!best->exists)
            break;
        moment = find_worst(f, &bytes);
        if (!wish.by_cycles) /* what was picked is a choice */
            wish.max_bytes = pl_smaller(wish.max_bytes, bytes);
    } while (bytes > best->peak_bytes);
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
    pl_choice_wish wish = question->wish;
    f->question = question;
    *best = (pl_variant_choice){0};
    PL_TRY(prepare(f, error));
    wish.max_bytes = pl_smaller(wish.max_bytes, f->of->variants->capacity_bytes);
    if (f->shared_bytes > wish.max_bytes)
        return POPLINER_OK;
    wish.max_bytes -= f->shared_bytes;
    PL_TRY(find_at_moments(f, wish, best, error));
    if (!best->exists)
        return POPLINER_OK;
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
    if (f->arrays.failed)
        return fail_memory(error);
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

/* Returns the fewest cycles of a stage without its cuts. */
static uint64_t cycles_between(const pl_variant_search *f, const popliner_interval *stage) {
    return f->cycles[stage->last_unit + 1] - f->cycles[stage->first_unit];
}

uint64_t pl_variant_search_cycles(const pl_variant_search *f, const popliner_interval *stage) {
    const uint64_t *cut_cycles = f->of->variants->cut_cycles;
    return cycles_between(f, stage) + cut_cycles[stage->first_unit] +
           cut_cycles[stage->last_unit + 1];
}

/* Makes f->stage the stage: extends it if it is a beginning of that. */
static void grow_stage(pl_variant_search *f, const popliner_interval *stage) {
    if (f->stage.place != stage->stages_to_end || f->stage.first_unit != stage->first_unit ||
        f->stage.end > stage->last_unit + 1) {
        f->stage = begin_stage(f, stage);
        f->end_of_ladder = stage->first_unit;
        f->ladder.count = 0;
    }
    extend_stage(&f->stage, f->of->variants, stage->last_unit + 1);
}

/* Returns what is left of the bytes of the fastest variants of f->stage after steps that take so
 * many cycles. Ends as soon as this is within enough_bytes. Whole steps do it, or the last one
 * counts in part. */
static uint64_t after_steps(pl_variant_search *f, uint64_t bytes, uint64_t max_cycles,
                            uint64_t enough_bytes, bool *are_whole) {
    const pl_variants *v = f->of->variants;
    uint64_t cycles = 0;
    for (; f->end_of_ladder < f->stage.end; ++f->end_of_ladder) {
        const size_t *first = &v->first[f->end_of_ladder];
        add_steps(&f->ladder, &v->items[first[0]], first[1] - first[0], f->stage.counts);
    }
    const size_t taken = take_steps(&f->ladder, max_cycles, enough_bytes, &cycles, &bytes);
    *are_whole = bytes <= enough_bytes || taken == f->ladder.count || cycles == max_cycles;
    if (*are_whole)
        return bytes;
    const step *last = &f->ladder.steps[taken];
    return bytes - pl_ratio_up((uint64_t[]){last->bytes, max_cycles - cycles}, 2, &last->cycles, 1);
}

/* Returns a lower bound of what a stage needs, not below enough_bytes; or POPLINER_PEAK_FORBIDDEN.
 * *is_exact: a choice needs no more, or there is none. */
static uint64_t bound_of(pl_variant_search *f, const popliner_interval *stage,
                         const pl_choice_wish *wish, uint64_t enough_bytes, bool *is_exact) {
    const pl_variants *v = f->of->variants;
    const growing_stage *s = &f->stage;
    grow_stage(f, stage);
    const uint64_t most = pl_smaller(wish->max_bytes, v->capacity_bytes);
    const uint64_t cycles = pl_variant_search_cycles(f, stage);
    const uint64_t least_bytes = s->least_bytes + s->shared_bytes;
    const pl_variant full = recomputed(s, v);
    uint64_t full_bytes = bytes_of(&full, s->counts) + s->shared_bytes;
    uint64_t bytes = s->fast_bytes + s->shared_bytes;
    bool are_whole = true;
    *is_exact = true;
    if (!v->has_full || full_bytes > most || full.cycles > wish->max_cycles)
        full_bytes = POPLINER_PEAK_FORBIDDEN;
    if (full_bytes <= enough_bytes || least_bytes > most || cycles > wish->max_cycles)
        return full_bytes;
    if (bytes > enough_bytes)
        bytes = wish->max_cycles == UINT64_MAX
                    ? least_bytes
                    : after_steps(f, bytes, wish->max_cycles - cycles, enough_bytes, &are_whole);
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
    const growing_stage *s = &f->stage;
    const uint64_t most = pl_smaller(wish->max_bytes, f->of->variants->capacity_bytes);
    if (cycles_between(f, stage) > wish->max_cycles)
        return true;
    grow_stage(f, stage);
    /* a longer stage may begin with no inputs */
    return s->least_bytes > most &&
           (!f->of->variants->has_full ||
            s->units.memory_bytes - (s->counts.lacks_set ? s->units.stash_bytes : 0) > most);
}
