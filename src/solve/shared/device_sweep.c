/* Processes the IPUs in the order of their first stages. Further IPUs depend on finished ones only
 * by the cuts between them: the border. For stages on the IPUs 0,1,2,0,1,2, the border after IPU 0
 * has the cuts before stage 1, stage 3 and stage 4. Every border that can be reached is kept once,
 * with the fewest cut bytes so far. No other border is dropped for being worse: some constraint may
 * leave only the worse one a way to the end.
 *
 * The stages between two cuts of the border, a gap, all belong to further IPUs. These need at least
 * the sum of the stages' loads. A border whose gaps need more than these IPUs may have is dropped.
 *
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/places.h"
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT64_MAX /* no way, or more than any sum */

enum {
    MOST_BORDER = 16,
    MOST_STATES = 3000000,  /* about 200 MB */
    MOST_NUMBERS = 1 << 25, /* in the tables of loads and of gaps */
    TRIES_PER_LOOK = 64,
    WORK_OF_STEP = 2, /* of one that grows the stages of an IPU */
    WORK_OF_GAP = 32, /* additions that count as one: they are a few vectors */
    NUM_SUMS = 3,     /* the kinds of sums below */
};
enum { PEAKS, CYCLES, CUTS };

/* The places of the cuts of a border. */
typedef struct border {
    uint16_t units[MOST_BORDER];
} border;

/* Stages of further IPUs between two cuts. */
typedef struct gap {
    size_t first_stage;
    size_t end_stage;
} gap;

/* The smallest sums of a gap by the places of these cuts: [units + 1][units + 1]. */
typedef struct gap_sums {
    bool is_wanted;
    uint64_t *of[NUM_SUMS]; /* NULL if it does not matter */
} gap_sums;

/* The state after an IPU, or before the first one. */
typedef struct level {
    size_t first_stage; /* of the IPU */
    size_t stages[MOST_BORDER];
    size_t num_stages;
    size_t cuts[MOST_BORDER]; /* of the border after the IPU, as stage numbers */
    size_t num_cuts;
    /* with the cuts between two adjacent stages of the IPU, which follow in `cuts` */
    size_t num_kept;
    gap gaps[MOST_BORDER];
    size_t num_gaps;
    uint64_t limits[NUM_SUMS]; /* of the sums of all further stages */

    /* The borders that can be reached, by the units of `cuts`. */
    pl_keys keys;
    border *borders;     /* [keys.count] */
    uint32_t *parents;   /* [keys.count]: index in the level before */
    uint64_t *cut_bytes; /* [keys.count] */
} level;

typedef struct sweep {
    const pl_shared_search *asked;
    const pl_limits *limits;
    const pl_problem *problem;
    size_t num_units;
    size_t num_stages;
    bool never_shrinks;    /* shared peaks, and cycles */
    pl_ways_through ways;  /* the intervals that may be each stage */
    const uint64_t *least; /* pl_shared_least_bytes */
    gap_sums *gaps;        /* [stages][stages + 1]: by the first stage and the end */
    level *levels;         /* before all IPUs, and after each */
    size_t num_levels;
    size_t num_states;
    size_t num_tried;
    size_t *place; /* [stages + 1]: of the cuts that are known now, or SIZE_MAX */
    popliner_interval *together;
    pl_wish wish;
    bool is_stopped;
    bool gave_up;
    bool is_done;     /* one split suffices, and was found */
    pl_arrays arrays; /* own all of these */
    popliner_error *error;
} sweep;

/* Returns a + b, at most NONE - 1: a sum is never NONE. */
static uint64_t add(uint64_t a, uint64_t b) {
    return pl_add_cut_bytes(a, b);
}

static uint64_t cycles_of(const sweep *s, size_t stage, size_t first, size_t end) {
    return pl_problem_cycles(s->problem, stage, first, end - 1);
}

static bool is_ok(const sweep *s, size_t stage, size_t first, size_t end) {
    return pl_stage_ends_have(&s->ways.ends[stage], first, end);
}

static gap_sums *sums_of(const sweep *s, size_t first_stage, size_t end_stage) {
    return &s->gaps[first_stage * (s->num_stages + 1) + end_stage];
}

/* ---- the borders of a level ---- */

/* Stores the border that s->place has. */
static popliner_status keep(sweep *s, level *l, size_t parent, uint64_t cut_bytes) {
    border b = {{0}};
    for (size_t i = 0; i < l->num_kept; ++i)
        b.units[i] = (uint16_t)s->place[l->cuts[i]];
    const size_t count = l->keys.count;
    const size_t number = pl_keys_number(&l->keys, b.units);
    const bool is_new = number == count;
    if (is_new) {
        pl_arrays_grow(&s->arrays, &l->borders, count + 1, sizeof *l->borders);
        pl_arrays_grow(&s->arrays, &l->parents, count + 1, sizeof *l->parents);
        pl_arrays_grow(&s->arrays, &l->cut_bytes, count + 1, sizeof *l->cut_bytes);
    }
    if (s->arrays.failed)
        return pl_fail_memory(s->error, "the places for cuts");
    s->num_states += is_new;
    s->gave_up = s->gave_up || s->num_states > MOST_STATES;
    if (is_new || cut_bytes < l->cut_bytes[number]) {
        l->borders[number] = b;
        l->parents[number] = (uint32_t)parent;
        l->cut_bytes[number] = cut_bytes;
    }
    return POPLINER_OK;
}

/* ---- one IPU ---- */

/* True if further IPUs may hold the stages after the level, with these cuts and bytes. */
static bool has_rest(const sweep *s, const level *l, uint64_t cut_bytes) {
    uint64_t sums[NUM_SUMS] = {[CUTS] = cut_bytes};
    for (size_t g = 0; g < l->num_gaps; ++g) {
        const gap *it = &l->gaps[g];
        size_t first = s->place[it->first_stage];
        size_t end = s->place[it->end_stage];
        if (first >= end)
            return false;
        const gap_sums *of_gap = sums_of(s, it->first_stage, it->end_stage);
        for (size_t k = 0; k < NUM_SUMS; ++k)
            if (of_gap->of[k] != NULL) {
                uint64_t sum = of_gap->of[k][first * (s->num_units + 1) + end];
                if (sum == NONE)
                    return false;
                sums[k] = add(sums[k], sum);
            }
    }
    for (size_t k = 0; k < NUM_SUMS; ++k)
        if (sums[k] > l->limits[k])
            return false;
    return true;
}

/* True if the IPU has both units of each pair, or neither. */
static bool keeps_pairs(const sweep *s, const level *l) {
    for (size_t i = 0; i < s->problem->options->num_pairs; ++i) {
        popliner_constraint pair = s->problem->options->pairs[i];
        bool has_first = false;
        bool has_second = false;
        for (size_t k = 0; k < l->num_stages; ++k) {
            size_t first = s->place[l->stages[k]];
            size_t end = s->place[l->stages[k] + 1];
            has_first = has_first || (first <= pair.unit && pair.unit < end);
            has_second = has_second || (first <= pair.second_unit && pair.second_unit < end);
        }
        if (has_first != has_second)
            return false;
    }
    return true;
}

/* Checks an IPU whose cuts are all known: *is_fine if it is within the maximum limits, *is_enough
 * if within the minimum ones. */
static popliner_status fits(sweep *s, const level *l, bool *is_fine, bool *is_enough) {
    pl_load load;
    uint64_t cycles = 0;
    uint64_t limit_bytes =
        pl_limits_peak(s->problem, s->limits, pl_problem_ipu(s->problem, l->first_stage));
    *is_fine = false;
    for (size_t k = 0; k < l->num_stages; ++k) {
        size_t stage = l->stages[k];
        s->together[k] =
            (popliner_interval){s->place[stage], s->place[stage + 1] - 1, s->num_stages - stage};
        cycles = add(cycles, cycles_of(s, stage, s->place[stage], s->place[stage + 1]));
    }
    if (cycles > s->limits->max_cycles)
        return POPLINER_OK;
    popliner_status status = pl_shared_measure(s->asked->shared, s->problem, &s->wish, s->together,
                                               l->num_stages, &load, s->error);
    *is_fine = load.peak_bytes <= limit_bytes && load.cycles <= s->limits->max_cycles;
    *is_enough = load.peak_bytes >= s->limits->min_peak_bytes && cycles >= s->limits->min_cycles;
    return status;
}

/* The stages of an IPU that were chosen so far. */
typedef struct chosen {
    uint64_t cut_bytes;  /* of all known cuts */
    uint64_t peak_bytes; /* a lower bound of the IPU's peak */
    uint64_t cycles;
} chosen;

typedef struct step {
    sweep *s;
    level *l;
    size_t parent;
    uint64_t limit_bytes;
} step;

/* Checks and keeps an IPU whose cuts are all known. *is_fine is false if it is too large. */
static popliner_status finish(const step *t, const chosen *so_far, bool *is_fine) {
    sweep *s = t->s;
    if (++s->num_tried % TRIES_PER_LOOK == 0 && pl_stop_is_wanted(s->asked->stop))
        s->is_stopped = true;
    bool is_enough = true;
    *is_fine = true;
    if (!has_rest(s, t->l, so_far->cut_bytes) || !keeps_pairs(s, t->l))
        return POPLINER_OK;
    popliner_status status = fits(s, t->l, is_fine, &is_enough);
    if (status != POPLINER_OK || !*is_fine || !is_enough)
        return status;
    s->is_done = t->l->num_cuts == 0;
    return keep(s, t->l, t->parent, so_far->cut_bytes);
}

static bool must_end(const sweep *s) {
    return s->is_stopped || s->gave_up || s->is_done;
}

/* Adds the cost of the cut at this unit. */
static uint64_t with_cut(const sweep *s, uint64_t cut_bytes, size_t unit) {
    return unit == 0 || unit == s->num_units
               ? cut_bytes
               : pl_add_cut_bytes(cut_bytes, popliner_costs_cut(s->problem->costs, unit));
}

static popliner_status choose_begin(const step *t, size_t k, chosen so_far, bool *is_fine);

/* Continues after stage k of the IPU, if the stage is allowed. */
static popliner_status go_on(const step *t, size_t k, chosen so_far, bool *is_fine) {
    sweep *s = t->s;
    size_t stage = t->l->stages[k];
    size_t first = s->place[stage];
    size_t end = s->place[stage + 1];
    *is_fine = true;
    s->asked->shared->work += WORK_OF_STEP;
    s->gave_up = s->gave_up || s->asked->shared->work >= s->asked->most_work;
    if (first >= end || !is_ok(s, stage, first, end))
        return POPLINER_OK;
    so_far.cycles = add(so_far.cycles, cycles_of(s, stage, first, end));
    so_far.peak_bytes =
        add(so_far.peak_bytes, s->least[stage * pl_triangle_size(s->num_units) +
                                        pl_triangle_place(s->num_units, first, end - 1)]);
    if (so_far.cycles > s->limits->max_cycles || so_far.peak_bytes > t->limit_bytes)
        return POPLINER_OK;
    return k + 1 < t->l->num_stages ? choose_begin(t, k + 1, so_far, is_fine)
                                    : finish(t, &so_far, is_fine);
}

/* Tries all ends of stage k, unless its end is known. *is_fine is false if the smallest end was too
 * large: then all ends are, also with larger stages before it, unless these allow it an end whose
 * cut takes less time. */
static popliner_status choose_end(const step *t, size_t k, chosen so_far, bool *is_fine) {
    sweep *s = t->s;
    size_t stage = t->l->stages[k];
    size_t first = s->place[stage];
    bool is_smallest = true;
    if (s->place[stage + 1] != SIZE_MAX)
        return go_on(t, k, so_far, is_fine);
    const pl_stage_ends *ends = &s->ways.ends[stage];
    popliner_status status = POPLINER_OK;
    *is_fine = true;
    for (size_t end = ends->from[first]; end < ends->to[first] && !must_end(s); ++end) {
        bool is_end_fine = true;
        if (!is_ok(s, stage, first, end))
            continue;
        chosen with_end = so_far;
        with_end.cut_bytes = with_cut(s, so_far.cut_bytes, end);
        s->place[stage + 1] = end;
        status = go_on(t, k, with_end, &is_end_fine);
        if (status != POPLINER_OK)
            break;
        if (!is_end_fine && s->never_shrinks) {
            *is_fine = !is_smallest || pl_links_exist(s->problem->options);
            break;
        }
        is_smallest = false;
    }
    s->place[stage + 1] = SIZE_MAX;
    return status;
}

/* Tries all beginnings of stage k, unless its beginning is known. */
static popliner_status choose_begin(const step *t, size_t k, chosen so_far, bool *is_fine) {
    sweep *s = t->s;
    size_t stage = t->l->stages[k];
    if (s->place[stage] != SIZE_MAX)
        return choose_end(t, k, so_far, is_fine);
    size_t before = k == 0 ? 0 : t->l->stages[k - 1] + 1;
    size_t unit = s->place[before] + (stage - before);
    popliner_status status = POPLINER_OK;
    bool is_any = true;
    *is_fine = true;
    for (; status == POPLINER_OK && unit < s->num_units && !must_end(s); ++unit) {
        chosen with_begin = so_far;
        with_begin.cut_bytes = with_cut(s, so_far.cut_bytes, unit);
        s->place[stage] = unit;
        status = choose_end(t, k, with_begin, &is_any);
    }
    s->place[stage] = SIZE_MAX;
    return status;
}

/* ---- all IPUs ---- */

static void forget_places(sweep *s) {
    for (size_t cut = 0; cut <= s->num_stages; ++cut)
        s->place[cut] = SIZE_MAX;
    s->place[0] = 0;
    s->place[s->num_stages] = s->num_units;
}

static void recall(sweep *s, const level *l, size_t state) {
    for (size_t i = 0; i < l->num_kept; ++i)
        s->place[l->cuts[i]] = l->borders[state].units[i];
}

static popliner_status run_level(sweep *s, size_t number) {
    level *l = &s->levels[number];
    const level *before = l - 1;
    popliner_status status = POPLINER_OK;
    step t = {s, l, 0,
              pl_limits_peak(s->problem, s->limits, pl_problem_ipu(s->problem, l->first_stage))};
    for (; status == POPLINER_OK && t.parent < before->keys.count && !must_end(s); ++t.parent) {
        bool is_fine = true;
        chosen so_far = {.cut_bytes = before->cut_bytes[t.parent]};
        forget_places(s);
        recall(s, before, t.parent);
        status = choose_begin(&t, 0, so_far, &is_fine);
    }
    return status;
}

/* Reads the split from the last level. */
static popliner_status read_split(sweep *s, pl_split *split) {
    size_t state = 0;
    forget_places(s);
    for (size_t number = s->num_levels; --number > 0;) {
        recall(s, &s->levels[number], state);
        state = s->levels[number].parents[state];
    }
    for (size_t stage = 0; stage < s->num_stages; ++stage)
        if (!pl_split_append(split, s->place[stage]))
            return pl_fail_memory(s->error, "the stages");
    return POPLINER_OK;
}

/* ---- preparation ---- */

/* Finds the border after each IPU, and its gaps. False if there are too many. */
static bool find_borders(sweep *s) {
    s->levels[0].gaps[s->levels[0].num_gaps++] = (gap){.end_stage = s->num_stages};
    for (size_t done = 1; done < s->num_levels; ++done) {
        level *l = &s->levels[done];
        bool is_gap = false;
        for (size_t stage = 0; stage < s->num_stages; ++stage) {
            bool is_done = s->problem->first_on_ipu[stage] <= l->first_stage;
            if (s->problem->first_on_ipu[stage] == l->first_stage) {
                if (l->num_stages == MOST_BORDER)
                    return false;
                l->stages[l->num_stages++] = stage;
            }
            if (stage > 0 && is_gap == is_done) { /* one side is finished, the other is not */
                if (l->num_cuts == MOST_BORDER)
                    return false;
                l->cuts[l->num_cuts++] = stage;
            }
            if (!is_done && !is_gap)
                l->gaps[l->num_gaps++] = (gap){.first_stage = stage};
            if (!is_done)
                l->gaps[l->num_gaps - 1].end_stage = stage + 1;
            is_gap = !is_done;
        }
        l->num_kept = l->num_cuts;
        for (size_t k = 1; k < l->num_stages; ++k)
            if (l->stages[k - 1] + 1 == l->stages[k]) {
                if (l->num_kept == MOST_BORDER)
                    return false;
                l->cuts[l->num_kept++] = l->stages[k];
            }
    }
    return true;
}

/* Computes the limits of all IPUs after each level together. */
static void find_limits(sweep *s) {
    uint64_t peaks = 0;
    uint64_t cycles = 0;
    for (size_t number = s->num_levels; number-- > 0;) {
        level *l = &s->levels[number];
        l->limits[PEAKS] = peaks;
        l->limits[CYCLES] = cycles;
        peaks = add(peaks, pl_limits_peak(s->problem, s->limits,
                                          pl_problem_ipu(s->problem, l->first_stage)));
        cycles = add(cycles, s->limits->max_cycles);
        l->limits[CUTS] = s->limits->max_cut_bytes;
    }
}

/* Returns what a stage adds to a sum. */
static uint64_t term(const sweep *s, size_t kind, size_t stage, size_t first, size_t end) {
    if (kind == PEAKS)
        return s->least[stage * pl_triangle_size(s->num_units) +
                        pl_triangle_place(s->num_units, first, end - 1)];
    if (kind == CUTS)
        return popliner_costs_cut(s->problem->costs, end);
    return cycles_of(s, stage, first, end);
}

/* Adds the stage at the front of the gap: computes sums[first][end] of `now` from those of
 * `next`. Counts the additions as work. */
static void extend_gap(const sweep *s, size_t kind, size_t stage, bool is_last,
                       const uint64_t *next, uint64_t *now) {
    const pl_stage_ends *ends = &s->ways.ends[stage];
    size_t n = s->num_units;
    size_t width = n + 1;
    for (size_t i = 0; i < width * width; ++i)
        now[i] = NONE;
    uint64_t num_added = width * width;
    for (size_t first = 0; first < n; ++first)
        for (size_t middle = ends->from[first]; middle < ends->to[first]; ++middle) {
            if (!is_ok(s, stage, first, middle))
                continue;
            num_added += width - middle;
            /* the cut at the end of a gap belongs to the border */
            uint64_t own = kind == CUTS && is_last ? 0 : term(s, kind, stage, first, middle);
            uint64_t *sums = now + first * width;
            const uint64_t *rest = next + middle * width;
            for (size_t end = middle; end <= n; ++end) {
                uint64_t sum = rest[end] == NONE ? NONE : add(own, rest[end]);
                sums[end] = sum < sums[end] ? sum : sums[end];
            }
        }
    s->asked->shared->work += num_added / WORK_OF_GAP;
}

/* Fills one kind of sums for all gaps that end with end_stage, from the shortest on. */
static popliner_status fill_gaps_to(sweep *s, size_t kind, size_t first_stage, size_t end_stage) {
    const size_t width = s->num_units + 1;
    uint64_t *next = pl_new_array(width * width, sizeof *next);
    uint64_t *now = pl_new_array(width * width, sizeof *now);
    popliner_status status =
        next == NULL || now == NULL ? pl_fail_memory(s->error, "the places for cuts") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < width * width; ++i)
        next[i] = i % (width + 1) == 0 ? 0 : NONE;
    for (size_t stage = end_stage; status == POPLINER_OK && stage-- > first_stage;) {
        gap_sums *own = sums_of(s, stage, end_stage);
        s->gave_up = s->gave_up || s->asked->shared->work >= s->asked->most_work;
        s->is_stopped = pl_stop_is_wanted(s->asked->stop);
        if (s->gave_up || s->is_stopped)
            break;
        extend_gap(s, kind, stage, stage + 1 == end_stage, next, now);
        if (own->is_wanted) {
            own->of[kind] = pl_arrays_new(&s->arrays, width * width, sizeof *now);
            if (own->of[kind] == NULL)
                status = pl_fail_memory(s->error, "the places for cuts");
            else
                memcpy(own->of[kind], now, width * width * sizeof *now);
        }
        uint64_t *other = next;
        next = now;
        now = other;
    }
    free(next);
    free(now);
    return status;
}

static popliner_status fill_gaps(sweep *s) {
    const bool is_wanted[NUM_SUMS] = {true, s->limits->max_cycles < UINT64_MAX,
                                      s->limits->max_cut_bytes < PL_MAX_CUT_BYTES};
    popliner_status status = POPLINER_OK;
    for (size_t end = 1; end <= s->num_stages; ++end) {
        size_t first = 0;
        while (first < end && !sums_of(s, first, end)->is_wanted)
            ++first;
        for (size_t kind = 0; status == POPLINER_OK && first < end && kind < NUM_SUMS; ++kind)
            status = is_wanted[kind] ? fill_gaps_to(s, kind, first, end) : POPLINER_OK;
    }
    return status;
}

/* Finds one split. */
static popliner_status sweep_devices(sweep *s, pl_split *split) {
    bool is_possible = false;
    /* many sweeps, as for a spread, end with the marks */
    s->asked->shared->work += s->num_stages * pl_triangle_size(s->num_units) / 2;
    s->gave_up = s->asked->shared->work >= s->asked->most_work;
    popliner_status status = s->gave_up ? POPLINER_OK : pl_ways_find(&s->ways, s->error);
    s->is_stopped = s->ways.is_stopped;
    is_possible = status == POPLINER_OK && s->ways.exists;
    if (status == POPLINER_OK && is_possible)
        status = fill_gaps(s);
    if (status == POPLINER_OK && is_possible)
        status = keep(s, &s->levels[0], 0, 0);
    forget_places(s);
    is_possible = is_possible && has_rest(s, &s->levels[0], 0);
    for (size_t number = 1;
         status == POPLINER_OK && is_possible && !s->gave_up && number < s->num_levels; ++number) {
        status = run_level(s, number);
        is_possible = s->levels[number].keys.count > 0 && !s->is_stopped;
    }
    if (status == POPLINER_OK && is_possible && !s->gave_up)
        status = read_split(s, split);
    return status;
}

static popliner_status prepare_sweep(sweep *s) {
    s->ways = (pl_ways_through){.problem = s->problem, .limits = s->limits, .stop = s->asked->stop};
    s->wish.limits = *s->limits;
    s->least = pl_shared_least_bytes(s->asked->shared, s->problem, s->limits);
    s->place = pl_arrays_new(&s->arrays, s->num_stages + 1, sizeof *s->place);
    s->levels = pl_arrays_new(&s->arrays, s->num_levels, sizeof *s->levels);
    s->together = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->together);
    s->gaps = pl_arrays_new(&s->arrays, s->num_stages * (s->num_stages + 1), sizeof *s->gaps);
    if (s->arrays.failed || s->least == NULL)
        return pl_fail_memory(s->error, "the places for cuts");
    for (size_t stage = 0, number = 1; stage < s->num_stages; ++stage)
        if (s->problem->first_on_ipu[stage] == stage)
            s->levels[number++].first_stage = stage;
    s->gave_up = !find_borders(s);
    for (size_t number = 0; number < s->num_levels; ++number) {
        for (size_t g = 0; g < s->levels[number].num_gaps; ++g)
            sums_of(s, s->levels[number].gaps[g].first_stage, s->levels[number].gaps[g].end_stage)
                ->is_wanted = true;
        const size_t width = pl_more(1, s->levels[number].num_cuts);
        s->levels[number].keys = (pl_keys){&s->arrays, width * sizeof(uint16_t), 0, NULL, NULL, 0};
    }
    find_limits(s);
    return POPLINER_OK;
}

static void clear(sweep *s) {
    pl_ways_free(&s->ways);
    pl_arrays_free(&s->arrays);
}

/* True if the size of the problem is one that sweeps have tables for. */
static bool can_sweep(const pl_problem *problem) {
    const size_t width = problem->num_units + 1;
    return problem->num_units < UINT16_MAX &&
           width * width <= MOST_NUMBERS / (2 * problem->options->num_mapped_stages);
}

static popliner_status sweep_within(const pl_shared_search *asked, const pl_limits *limits,
                                    pl_split *split, pl_sweep_end *how, popliner_error *error) {
    const pl_problem *p = asked->problem;
    sweep s = {.asked = asked,
               .limits = limits,
               .problem = p,
               .num_units = p->num_units,
               .num_stages = p->options->num_mapped_stages,
               .never_shrinks = p->chooser != NULL ? pl_chooser_never_shrinks(p, limits->max_cycles)
                                                   : pl_costs_shared_peak_never_shrinks(p->costs) &&
                                                         pl_costs_cycles_never_shrink(p->costs),
               .num_levels = 1 + p->num_ipus,
               .error = error};
    *how = PL_SWEEP_DONE;
    if (p->max_stages < p->min_stages || p->num_ipus > limits->max_ipus)
        return POPLINER_OK;
    popliner_status status = prepare_sweep(&s);
    if (status == POPLINER_OK && !s.gave_up)
        status = sweep_devices(&s, split);
    *how = s.is_stopped ? PL_SWEEP_STOPPED : s.gave_up ? PL_SWEEP_GAVE_UP : PL_SWEEP_DONE;
    clear(&s);
    return status;
}

/* ---- within a spread ---- */

typedef struct spread_sweep {
    const pl_shared_search *asked;
    pl_sweep_end *how;
} spread_sweep;

/* A pl_windows_function. */
static popliner_status sweep_window(void *user, const pl_limits *limits, pl_goal goal,
                                    pl_split *split, bool *is_over, popliner_error *error) {
    (void)goal;
    const spread_sweep *s = user;
    popliner_status status = sweep_within(s->asked, limits, split, s->how, error);
    *is_over = *s->how != PL_SWEEP_DONE;
    return status;
}

popliner_status pl_device_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_sweep_end *how, popliner_error *error) {
    spread_sweep s = {asked, how};
    bool is_over = false;
    *how = PL_SWEEP_GAVE_UP;
    if (!can_sweep(asked->problem))
        return POPLINER_OK;
    *how = PL_SWEEP_DONE;
    return pl_windows_find(
        &(pl_windows_question){asked->problem, filter, PL_GOAL_ANY, sweep_window, &s}, split,
        &is_over, error);
}
