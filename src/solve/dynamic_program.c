/* Rest tables: row m, element i is the fewest cut bytes of the units i ... n - 1. Where a stage may
 * stand anywhere, row m is for at most m stages, and rows that equal the one before are left out.
 * Where it matters how many stages are still to come, row m is for exactly m; where it matters on
 * which IPU a stage runs, there is a set of tables for each number of stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/dynamic_program.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"

#include <stdlib.h>
#include <string.h>

/* No split of the rest of the chain; larger than any sum of cut bytes. */
#define NO_SPLIT UINT64_MAX

typedef struct tables {
    const pl_problem *problem;
    pl_filter filter;
    const pl_stop *stop;
    size_t width;    /* units + 1 */
    bool is_exact;   /* rows are for exactly so many stages */
    uint64_t *bytes; /* [num_rows][width] */
    size_t capacity;
    size_t num_rows;
    uint64_t *after; /* [width]: the cost of going on at a unit: the cut and the rest */
    /* Which intervals may be a stage: a triangle if that is the same everywhere, else one row. */
    uint8_t *ok;
    bool is_stopped;
} tables;

static void free_tables(tables *t) {
    free(t->bytes);
    free(t->after);
    free(t->ok);
}

static popliner_status allocate(tables *t, popliner_error *error) {
    size_t n = t->problem->num_units;
    t->width = n + 1;
    t->is_exact = t->problem->depends_on_ipu || t->problem->depends_on_end || t->problem->is_mapped;
    t->after = pl_new_array(t->width, sizeof *t->after);
    t->ok = pl_new_array(t->is_exact ? n : pl_triangle_size(n), sizeof *t->ok);
    if (t->after == NULL || t->ok == NULL)
        return pl_fail_memory(error, "the tables of the dynamic program");
    for (size_t i = 0; !t->is_exact && i < n; ++i)
        pl_problem_mark(t->problem, &t->filter, 0, 1, i, t->ok + pl_triangle_row(n, i));
    return POPLINER_OK;
}

/* The marks of the intervals from unit `first` on, as the stage `stage` with `to_end` to come. */
static const uint8_t *marks(tables *t, size_t stage, size_t to_end, size_t first) {
    if (!t->is_exact)
        return t->ok + pl_triangle_row(t->problem->num_units, first);
    pl_problem_mark(t->problem, &t->filter, stage, to_end, first, t->ok);
    return t->ok;
}

static bool add_row(tables *t) {
    bool grown = pl_grow(&t->bytes, &t->capacity, (t->num_rows + 1) * t->width, sizeof *t->bytes);
    t->num_rows += grown;
    return grown;
}

static const uint64_t *row_of(const tables *t, size_t num_stages) {
    size_t row = num_stages < t->num_rows ? num_stages : t->num_rows - 1;
    return t->bytes + row * t->width;
}

/* Fills the last row, for one stage more than the one before it. */
static void fill_row(tables *t, size_t stage, size_t to_end) {
    size_t n = t->problem->num_units;
    const uint64_t *previous = t->bytes + (t->num_rows - 2) * t->width;
    uint64_t *row = t->bytes + (t->num_rows - 1) * t->width;
    for (size_t c = 1; c < n; ++c)
        t->after[c] = previous[c] == NO_SPLIT
                          ? NO_SPLIT
                          : pl_add_cut_bytes(popliner_costs_cut(t->problem->costs, c), previous[c]);
    t->after[n] = previous[n];
    row[n] = t->is_exact ? NO_SPLIT : 0;
    for (size_t i = 0; i < n; ++i) {
        const uint8_t *ok = marks(t, stage, to_end, i);
        const uint64_t *next = t->after + i + 1;
        uint64_t best = NO_SPLIT;
        for (size_t d = 0; d < n - i; ++d) {
            uint64_t candidate = next[d] | -(uint64_t)(ok[d] == 0);
            best = candidate < best ? candidate : best;
        }
        row[i] = best;
    }
}

/* Fills rows up to max_stages, or until more stages do not help; with `is_enough`, also until
 * there is any split within the budget. num_stages is the whole pipeline, where IPUs matter. */
static popliner_status fill(tables *t, size_t max_stages, size_t num_stages, bool is_enough,
                            popliner_error *error) {
    t->num_rows = 0;
    if (!add_row(t))
        return pl_fail_memory(error, "the tables of the dynamic program");
    for (size_t i = 0; i < t->width; ++i)
        t->bytes[i] = i + 1 < t->width ? NO_SPLIT : 0;
    for (size_t m = 1; m <= max_stages; ++m) {
        t->is_stopped = t->is_stopped || pl_stop_is_wanted(t->stop);
        if (t->is_stopped)
            return POPLINER_OK;
        if (!add_row(t))
            return pl_fail_memory(error, "the tables of the dynamic program");
        fill_row(t, num_stages < m ? 0 : num_stages - m, m);
        const uint64_t *row = t->bytes + (t->num_rows - 1) * t->width;
        if (!t->is_exact && memcmp(row - t->width, row, t->width * sizeof *row) == 0) {
            --t->num_rows;
            break;
        }
        if (is_enough && row[0] <= t->filter.max_cut_bytes && row[0] != NO_SPLIT)
            break;
    }
    return POPLINER_OK;
}

/* Follows the tables from unit 0 through num_stages stages (at most, unless rows are exact), each
 * time to the first place from which the budget is still kept. A chain that may end ends: the list
 * of cuts so far begins all others that are possible, and so is before them. The cut bytes used up
 * to here belong into the comparison, for sums that are cut off at PL_MAX_CUT_BYTES are equal
 * although their ends differ. */
static popliner_status walk(tables *t, size_t num_stages, uint64_t budget_bytes, pl_split *split,
                            popliner_error *error) {
    size_t n = t->problem->num_units;
    uint64_t used_bytes = 0;
    size_t unit = 0;
    for (size_t left = num_stages; left > 0; --left) {
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the stages");
        const uint8_t *ok = marks(t, num_stages - left, left, unit);
        if ((left == 1 || !t->is_exact) && ok[n - 1 - unit] != 0 && used_bytes <= budget_bytes)
            return POPLINER_OK;
        const uint64_t *rest = row_of(t, left - 1);
        size_t cut = unit + 1;
        uint64_t with_cut = 0;
        for (; cut < n; ++cut) {
            if (ok[cut - 1 - unit] == 0 || rest[cut] == NO_SPLIT)
                continue;
            with_cut = pl_add_cut_bytes(used_bytes, popliner_costs_cut(t->problem->costs, cut));
            if (pl_add_cut_bytes(with_cut, rest[cut]) <= budget_bytes)
                break;
        }
        if (cut == n)
            break;
        used_bytes = with_cut;
        unit = cut;
    }
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the tables of the dynamic program contradict themselves at unit %zu", unit);
}

/* The best split found so far, by cut bytes or by cuts. */
typedef struct best {
    pl_split *split;
    uint64_t cut_bytes;
} best;

/* Walks through num_stages stages if their row says that they are within the budget, and keeps the
 * split if it is better. */
static popliner_status take(tables *t, pl_goal goal, size_t num_stages, best *b,
                            popliner_error *error) {
    uint64_t cut_bytes = row_of(t, num_stages)[0];
    uint64_t budget_bytes = t->filter.max_cut_bytes;
    bool has_one = b->split->num_stages > 0;
    if (cut_bytes == NO_SPLIT || cut_bytes > budget_bytes ||
        (goal == PL_GOAL_FEWEST_CUT_BYTES && has_one && cut_bytes > b->cut_bytes))
        return POPLINER_OK;
    if (goal == PL_GOAL_FEWEST_CUT_BYTES)
        budget_bytes = cut_bytes;
    pl_split split = {0};
    popliner_status status = walk(t, num_stages, budget_bytes, &split, error);
    if (status == POPLINER_OK &&
        (!has_one || (goal == PL_GOAL_FEWEST_CUT_BYTES && cut_bytes < b->cut_bytes) ||
         (goal != PL_GOAL_FEWEST_STAGES && pl_split_compare(&split, b->split) < 0) ||
         (goal == PL_GOAL_FEWEST_STAGES && split.num_stages < b->split->num_stages))) {
        b->cut_bytes = cut_bytes;
        pl_split_move(b->split, &split);
    }
    pl_split_clear(&split);
    return status;
}

/* All of pl_dynamic_program but the spread. */
static popliner_status solve(tables *t, pl_goal goal, best *b, popliner_error *error) {
    const pl_problem *p = t->problem;
    popliner_status status = POPLINER_OK;
    size_t max_stages =
        p->max_stages < t->filter.max_ipus || p->is_mapped ? p->max_stages : t->filter.max_ipus;
    bool is_any = goal == PL_GOAL_ANY || goal == PL_GOAL_FEWEST_STAGES;
    if (!p->depends_on_ipu) {
        status = fill(t, max_stages, p->is_mapped ? max_stages : 0, is_any && !p->is_mapped, error);
        if (status != POPLINER_OK || t->is_stopped)
            return status;
        if (!t->is_exact) {
            /* row by row only where the number of stages is the goal: fill has stopped there */
            return take(t, goal, is_any ? t->num_rows - 1 : max_stages, b, error);
        }
    }
    for (size_t m = p->min_stages; m <= max_stages; ++m) {
        if (p->depends_on_ipu)
            status = fill(t, m, m, false, error);
        if (status != POPLINER_OK || t->is_stopped)
            return status;
        if (m >= t->num_rows)
            continue;
        status = take(t, goal, m, b, error);
        if (status != POPLINER_OK)
            return status;
        /* more stages are of no use; but a split from another window says nothing of this one */
        uint64_t cut_bytes = row_of(t, m)[0];
        if (is_any && cut_bytes != NO_SPLIT && cut_bytes <= t->filter.max_cut_bytes)
            break;
    }
    return status;
}

/* Tables for one filter, made and used. */
static popliner_status solve_within(const pl_problem *problem, const pl_filter *filter,
                                    pl_goal goal, const pl_stop *stop, best *b, bool *is_stopped,
                                    popliner_error *error) {
    tables t = {.problem = problem, .filter = *filter, .stop = stop};
    popliner_status status = allocate(&t, error);
    if (status == POPLINER_OK)
        status = solve(&t, goal, b, error);
    *is_stopped = t.is_stopped;
    free_tables(&t);
    return status;
}

popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error) {
    best b = {split, 0};
    pl_windows windows = {0};
    popliner_status status = POPLINER_OK;
    uint64_t min_value;
    *is_stopped = false;
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    if (filter->max_spread == UINT64_MAX) {
        status = solve_within(problem, filter, goal, stop, &b, is_stopped, error);
        goto done;
    }
    /* the spread is kept by trying every smallest value, and a largest one to go with it */
    status = pl_windows_find(&windows, problem, filter, filter->spread_is_of_cycles, error);
    while (status == POPLINER_OK && !*is_stopped &&
           pl_windows_seek(&windows, filter->max_spread, &min_value)) {
        pl_filter window = *filter;
        pl_filter_enter_window(&window, min_value, filter->max_spread);
        status = solve_within(problem, &window, goal, stop, &b, is_stopped, error);
        pl_windows_pass(&windows);
        if (goal == PL_GOAL_ANY && split->num_stages > 0)
            break;
        *is_stopped = *is_stopped || pl_stop_is_wanted(stop);
    }
done:
    pl_windows_free(&windows);
    if (status != POPLINER_OK || *is_stopped)
        pl_split_clear(split);
    return status;
}

/* ---- windows ---- */

struct pl_window_interval {
    uint64_t value;
    size_t first_unit;
    size_t last_unit;
};

static int compare_values(const void *a, const void *b) {
    uint64_t x = ((const struct pl_window_interval *)a)->value;
    uint64_t y = ((const struct pl_window_interval *)b)->value;
    return (x > y) - (x < y);
}

/* Adds the intervals from `first` on, as stages so far from the end. */
static popliner_status add_intervals(pl_windows *w, const pl_problem *problem, bool of_cycles,
                                     size_t to_end, size_t first, const uint8_t *ok,
                                     popliner_error *error) {
    size_t n = w->num_units;
    bool memory = pl_grow(&w->intervals, &w->capacity, w->count + n - first, sizeof *w->intervals);
    if (!memory)
        return pl_fail_memory(error, "the values of the intervals");
    for (size_t last = first; last < n; ++last)
        if (ok[last - first] != 0)
            w->intervals[w->count++] = (struct pl_window_interval){
                of_cycles ? popliner_costs_cycles(problem->costs, first, last)
                          : popliner_costs_peak(problem->costs, first, last, to_end),
                first, last};
    return POPLINER_OK;
}

popliner_status pl_windows_find(pl_windows *windows, const pl_problem *problem,
                                const pl_filter *filter, bool of_cycles, popliner_error *error) {
    pl_windows *w = windows;
    size_t n = problem->num_units;
    w->num_units = n;
    w->max_stages = problem->max_stages;
    /* by how many stages are still to come, for that changes peaks; on which IPU it is does not */
    size_t max_to_end = problem->depends_on_end && !of_cycles ? problem->max_stages : 1;
    pl_problem anywhere = *problem;
    anywhere.depends_on_ipu = false;
    pl_filter unlimited = *filter;
    unlimited.ignores_ipu_limits = true;
    unlimited.plain_limit_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    uint8_t *ok = pl_new_array(n, sizeof *ok);
    popliner_status status = POPLINER_OK;
    if (ok == NULL)
        return pl_fail_memory(error, "the values of the intervals");
    for (size_t to_end = 1; to_end <= max_to_end; ++to_end)
        for (size_t first = 0; first < n; ++first) {
            /* with cycles the peak, and so the place, does not decide what counts */
            pl_problem_mark(&anywhere, &unlimited, 0, to_end, first, ok);
            status = add_intervals(w, problem, of_cycles, to_end, first, ok, error);
            if (status != POPLINER_OK)
                goto done;
        }
    qsort(w->intervals, w->count, sizeof *w->intervals, compare_values);
    w->first_of_unit = pl_new_array(n, sizeof *w->first_of_unit);
    w->next_of_unit = pl_new_array(w->count, sizeof *w->next_of_unit);
    w->num_stages = pl_new_array(n + 1, sizeof *w->num_stages);
    if (w->first_of_unit == NULL || w->next_of_unit == NULL || w->num_stages == NULL)
        status = pl_fail_memory(error, "the values of the intervals");
done:
    free(ok);
    return status;
}

void pl_windows_free(pl_windows *windows) {
    free(windows->intervals);
    free(windows->first_of_unit);
    free(windows->next_of_unit);
    free(windows->num_stages);
    *windows = (pl_windows){0};
}

/* Whether the intervals of the window can cover the chain: the fewest stages up to each unit. */
static bool can_cover(pl_windows *w, uint64_t max_value) {
    size_t n = w->num_units;
    for (size_t unit = 0; unit < n; ++unit) {
        w->first_of_unit[unit] = SIZE_MAX;
        w->num_stages[unit + 1] = SIZE_MAX;
    }
    for (size_t i = w->at; i < w->count && w->intervals[i].value <= max_value; ++i) {
        size_t *head = &w->first_of_unit[w->intervals[i].first_unit];
        w->next_of_unit[i] = *head;
        *head = i;
    }
    w->num_stages[0] = 0;
    for (size_t unit = 0; unit < n; ++unit) {
        if (w->num_stages[unit] >= w->max_stages)
            continue;
        for (size_t i = w->first_of_unit[unit]; i != SIZE_MAX; i = w->next_of_unit[i]) {
            size_t *behind = &w->num_stages[w->intervals[i].last_unit + 1];
            if (w->num_stages[unit] + 1 < *behind)
                *behind = w->num_stages[unit] + 1;
        }
    }
    return w->num_stages[n] <= w->max_stages;
}

bool pl_windows_seek(pl_windows *windows, uint64_t width, uint64_t *min_value) {
    for (; windows->at < windows->count; pl_windows_pass(windows)) {
        *min_value = windows->intervals[windows->at].value;
        if (can_cover(windows, *min_value > UINT64_MAX - width ? UINT64_MAX : *min_value + width))
            return true;
    }
    return false;
}

void pl_windows_pass(pl_windows *windows) {
    uint64_t value = windows->intervals[windows->at].value;
    while (windows->at < windows->count && windows->intervals[windows->at].value == value)
        ++windows->at;
}
