/* Why the answers are exact although GLPK computes in floating point:
 *
 * What may be a stage at all is decided in integers, by leaving intervals out of the program: those
 * with a peak above the limit, and those that no split within the limits can contain. So whatever
 * GLPK answers, once it is read back as a path through the chain, is a split within the limits; its
 * value is computed anew from the table in integers. Only GLPK's word that nothing is better
 * depends on a tolerance, and it is not taken.
 *
 * Peak: unless the bound is reached, the program is solved again with only those intervals whose
 * peak is below that of the split found, until there is no split any more. So peaks that GLPK takes
 * for equal are told apart by what is in the program, not by its coefficients.
 *
 * Cut bytes: unless the bound is reached, each split found is excluded by a row and the program is
 * solved again, until what GLPK claims to be the best is worse than the best found by more than its
 * tolerance can account for.
 *
 * Numbers are kept small: peaks are counted from a lower bound, cut bytes from the shortest path
 * (as reduced costs), and both are divided by a power of two.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/interval_program.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/costs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Coefficients of the objectives are scaled to at most this. */
#define LARGEST_COEFFICIENT 1024.0

/* Near-ties beyond GLPK's tolerance that are looked at one by one before the search is given up. */
#define MOST_EXCLUDED_SPLITS 40

/* Larger programs are refused rather than tried: GLPK takes several times the memory, and hours. */
#define MOST_ENTRIES 20000000u

/* Never reached by any number of stages. */
#define UNREACHED SIZE_MAX

/* An interval that may be a stage. */
typedef struct arc {
    size_t first_unit;
    size_t last_unit;
    uint64_t cost_bytes; /* what its variable contributes to the objective */
} arc;

/* The intervals in question, sorted by first unit, then by last unit, and their program. */
typedef struct interval_program {
    const popliner_costs *costs;
    size_t num_units;
    size_t max_stages;
    arc *arcs;
    size_t num_arcs;
    size_t arc_capacity;
    size_t *first_arc;    /* of the arcs that begin with a unit; element num_units is num_arcs */
    double bytes_per_one; /* a coefficient of 1 stands for so many bytes */
    pl_program program;
    double *values;
} interval_program;

static void clear_program(interval_program *intervals) {
    free(intervals->arcs);
    free(intervals->first_arc);
    free(intervals->values);
    pl_program_clear(&intervals->program);
    *intervals = (interval_program){0};
}

/* The fewest stages before[i] of units 0 ... i - 1, and after[i] of units i ... n - 1, whose peaks
 * are within the limit; UNREACHED if there is no way. */
static void count_stages(const popliner_costs *costs, uint64_t peak_limit_bytes, size_t *before,
                         size_t *after) {
    size_t num_units = popliner_costs_num_units(costs);
    for (size_t i = 0; i <= num_units; ++i)
        before[i] = after[i] = UNREACHED;
    before[0] = 0;
    for (size_t i = 0; i < num_units; ++i) {
        const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
        for (size_t d = 0; d < num_units - i && before[i] != UNREACHED; ++d)
            if (peaks[d] <= peak_limit_bytes && before[i] + 1 < before[i + d + 1])
                before[i + d + 1] = before[i] + 1;
    }
    after[num_units] = 0;
    for (size_t i = num_units; i-- > 0;) {
        const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
        for (size_t d = 0; d < num_units - i; ++d)
            if (peaks[d] <= peak_limit_bytes && after[i + d + 1] != UNREACHED &&
                after[i + d + 1] + 1 < after[i])
                after[i] = after[i + d + 1] + 1;
    }
}

/* Collects the intervals within the peak limit that a split into at most max_stages stages within
 * that limit can contain. Their costs are their peaks. */
static popliner_status collect_arcs(interval_program *intervals, const popliner_costs *costs,
                                    size_t max_stages, uint64_t peak_limit_bytes,
                                    popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t num_units = popliner_costs_num_units(costs);
    intervals->costs = costs;
    intervals->num_units = num_units;
    intervals->max_stages = max_stages < num_units ? max_stages : num_units;
    size_t *before = pl_new_array(num_units + 1, sizeof *before);
    size_t *after = pl_new_array(num_units + 1, sizeof *after);
    intervals->first_arc = pl_new_array(num_units + 1, sizeof *intervals->first_arc);
    if (before == NULL || after == NULL || intervals->first_arc == NULL) {
        status = pl_fail_memory(error, "the intervals of the integer program");
        goto done;
    }
    count_stages(costs, peak_limit_bytes, before, after);
    for (size_t i = 0; i < num_units; ++i) {
        intervals->first_arc[i] = intervals->num_arcs;
        if (before[i] >= intervals->max_stages)
            continue;
        const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
        for (size_t d = 0; d < num_units - i; ++d) {
            if (peaks[d] > peak_limit_bytes || after[i + d + 1] == UNREACHED ||
                before[i] + 1 + after[i + d + 1] > intervals->max_stages)
                continue;
            void *items = intervals->arcs;
            if (!pl_reserve(&items, &intervals->arc_capacity, intervals->num_arcs + 1,
                            sizeof *intervals->arcs)) {
                status = pl_fail_memory(error, "the intervals of the integer program");
                goto done;
            }
            intervals->arcs = items;
            intervals->arcs[intervals->num_arcs++] = (arc){i, i + d, peaks[d]};
        }
    }
    intervals->first_arc[num_units] = intervals->num_arcs;
done:
    free(before);
    free(after);
    return status;
}

static uint64_t cut_before(const interval_program *intervals, size_t unit) {
    return unit == intervals->num_units ? 0 : popliner_costs_cut(intervals->costs, unit);
}

/* Makes the cost of an arc the bytes by which a split through it exceeds, at this arc, the shortest
 * path over all arcs to the end of the chain: the cut after the arc, plus the rest from there,
 * minus the rest from its first unit. Along a split these add up to its cut bytes minus
 * *shortest_bytes. Arcs through which no path is within cut_limit_bytes, and with them all sums
 * that do not fit into 64 bits, are dropped. */
static popliner_status reduce_cuts(interval_program *intervals, uint64_t cut_limit_bytes,
                                   uint64_t *shortest_bytes, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t num_units = intervals->num_units;
    uint64_t *before = pl_new_array(num_units + 1, sizeof *before);
    uint64_t *rest = pl_new_array(num_units + 1, sizeof *rest);
    if (before == NULL || rest == NULL) {
        status = pl_fail_memory(error, "the shortest paths of the integer program");
        goto done;
    }
    for (size_t i = 0; i <= num_units; ++i)
        before[i] = rest[i] = PL_MOST_CUT_BYTES;
    before[0] = 0;
    rest[num_units] = 0;
    for (size_t a = 0; a < intervals->num_arcs; ++a) {
        const arc *it = &intervals->arcs[a];
        size_t end = it->last_unit + 1;
        uint64_t bytes = pl_add_cut_bytes(before[it->first_unit], cut_before(intervals, end));
        before[end] = bytes < before[end] ? bytes : before[end];
    }
    for (size_t a = intervals->num_arcs; a-- > 0;) {
        const arc *it = &intervals->arcs[a];
        size_t end = it->last_unit + 1;
        uint64_t bytes = pl_add_cut_bytes(cut_before(intervals, end), rest[end]);
        rest[it->first_unit] = bytes < rest[it->first_unit] ? bytes : rest[it->first_unit];
    }
    *shortest_bytes = rest[0];

    size_t kept = 0;
    size_t a = 0;
    for (size_t i = 0; i < num_units; ++i) {
        size_t end_of_unit = intervals->first_arc[i + 1];
        intervals->first_arc[i] = kept;
        for (; a < end_of_unit; ++a) {
            arc it = intervals->arcs[a];
            size_t end = it.last_unit + 1;
            uint64_t from_here = pl_add_cut_bytes(cut_before(intervals, end), rest[end]);
            if (pl_add_cut_bytes(before[i], from_here) > cut_limit_bytes)
                continue;
            it.cost_bytes = from_here - rest[i];
            intervals->arcs[kept++] = it;
        }
    }
    intervals->first_arc[num_units] = intervals->num_arcs = kept;
done:
    free(before);
    free(rest);
    return status;
}

/* Chooses the scale from the largest cost above base_bytes, which will be a coefficient. */
static void choose_scale(interval_program *intervals, uint64_t base_bytes) {
    uint64_t largest_bytes = 0;
    for (size_t a = 0; a < intervals->num_arcs; ++a) {
        uint64_t cost_bytes = intervals->arcs[a].cost_bytes;
        if (cost_bytes > base_bytes && cost_bytes - base_bytes > largest_bytes)
            largest_bytes = cost_bytes - base_bytes;
    }
    intervals->bytes_per_one = 1.0;
    while ((double)largest_bytes > LARGEST_COEFFICIENT * intervals->bytes_per_one)
        intervals->bytes_per_one *= 2.0;
}

static bool add_entry(interval_program *intervals, size_t row, size_t column, double value) {
    return intervals->program.num_entries < MOST_ENTRIES &&
           pl_program_add_entry(&intervals->program, row, column, value);
}

static popliner_status too_large(const interval_program *intervals, popliner_error *error) {
    if (intervals->program.num_entries < MOST_ENTRIES)
        return pl_fail_memory(error, "the integer program");
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the integer program is too large, with more than %u entries for %zu intervals; "
                   "the dynamic program does without it",
                   MOST_ENTRIES, intervals->num_arcs);
}

/* One variable per arc (column a is arc a), with the arcs' costs as objective if these are to be
 * minimised as a sum. Rows: one unit of flow leaves unit 0; what comes in before a unit leaves with
 * it; at most max_stages arcs. */
static popliner_status add_paths(interval_program *intervals, bool costs_are_objective,
                                 popliner_error *error) {
    pl_program *program = &intervals->program;
    size_t stages_row = intervals->num_units;
    for (size_t i = 0; i < intervals->num_units; ++i) {
        double through = i == 0 ? 1.0 : 0.0;
        if (!pl_program_add_row(program, through, through))
            return too_large(intervals, error);
    }
    if (!pl_program_add_row(program, -INFINITY, (double)intervals->max_stages))
        return too_large(intervals, error);
    for (size_t a = 0; a < intervals->num_arcs; ++a) {
        const arc *it = &intervals->arcs[a];
        double cost = costs_are_objective ? (double)it->cost_bytes / intervals->bytes_per_one : 0.0;
        if (!pl_program_add_column(program, true, cost) ||
            !add_entry(intervals, it->first_unit, a, 1.0) ||
            (it->last_unit + 1 < intervals->num_units &&
             !add_entry(intervals, it->last_unit + 1, a, -1.0)) ||
            !add_entry(intervals, stages_row, a, 1.0))
            return too_large(intervals, error);
    }
    return POPLINER_OK;
}

/* The largest number, over the units, of what the cheapest arc over the unit costs: no split has a
 * smaller peak. */
static popliner_status lower_bound(const interval_program *intervals, uint64_t *bound_bytes,
                                   popliner_error *error) {
    uint64_t *cheapest = pl_new_array(intervals->num_units, sizeof *cheapest);
    if (cheapest == NULL)
        return pl_fail_memory(error, "the cheapest intervals");
    for (size_t i = 0; i < intervals->num_units; ++i)
        cheapest[i] = UINT64_MAX;
    for (size_t i = 0; i < intervals->num_units; ++i) {
        size_t a = intervals->first_arc[i + 1];
        if (a == intervals->first_arc[i])
            continue;
        /* backwards over the units: the cheapest of the arcs from i that reach this far */
        uint64_t least = UINT64_MAX;
        for (size_t unit = intervals->arcs[a - 1].last_unit + 1; unit-- > i;) {
            for (; a > intervals->first_arc[i] && intervals->arcs[a - 1].last_unit == unit; --a)
                if (intervals->arcs[a - 1].cost_bytes < least)
                    least = intervals->arcs[a - 1].cost_bytes;
            if (least < cheapest[unit])
                cheapest[unit] = least;
        }
    }
    *bound_bytes = 0;
    for (size_t i = 0; i < intervals->num_units; ++i)
        if (cheapest[i] > *bound_bytes)
            *bound_bytes = cheapest[i];
    free(cheapest);
    return POPLINER_OK;
}

/* Adds the column of the peak above base_bytes, and for each unit the row "at least what the arc
 * over the unit costs": exactly one arc covers a unit, so this says more to the relaxation than a
 * row per arc does. Only arcs above the base matter, and only the units where no further such arc
 * begins before one of them ends: the rows of the others are weaker copies. */
static popliner_status add_cover_rows(interval_program *intervals, uint64_t base_bytes,
                                      popliner_error *error) {
    popliner_status status = POPLINER_OK;
    pl_program *program = &intervals->program;
    size_t peak_column = intervals->num_arcs;
    bool *ends = pl_new_array(intervals->num_units, sizeof *ends);
    if (ends == NULL || !pl_program_add_column(program, false, 1.0)) {
        status = pl_fail_memory(error, "the integer program");
        goto done;
    }
    for (size_t a = 0; a < intervals->num_arcs; ++a)
        if (intervals->arcs[a].cost_bytes > base_bytes)
            ends[intervals->arcs[a].last_unit] = true;
    bool begun = false;
    for (size_t unit = 0; unit < intervals->num_units; ++unit) {
        for (size_t a = intervals->first_arc[unit]; a < intervals->first_arc[unit + 1]; ++a)
            begun = begun || intervals->arcs[a].cost_bytes > base_bytes;
        if (!begun || !ends[unit])
            continue;
        begun = false;
        size_t row = program->num_rows;
        if (!pl_program_add_row(program, 0.0, INFINITY) ||
            !add_entry(intervals, row, peak_column, 1.0)) {
            status = too_large(intervals, error);
            goto done;
        }
        for (size_t a = 0; a < intervals->first_arc[unit + 1]; ++a) {
            const arc *it = &intervals->arcs[a];
            if (it->last_unit < unit || it->cost_bytes <= base_bytes)
                continue;
            double above = (double)(it->cost_bytes - base_bytes) / intervals->bytes_per_one;
            if (!add_entry(intervals, row, a, -above)) {
                status = too_large(intervals, error);
                goto done;
            }
        }
    }
done:
    free(ends);
    return status;
}

/* Solves the program; the split, empty before, is what GLPK chose. */
static popliner_status solve(interval_program *intervals, const pl_glpk_limits *limits,
                             double *objective, pl_program_outcome *outcome, pl_split *split,
                             popliner_error *error) {
    const pl_program *program = &intervals->program;
    pl_tell(limits->listener, POPLINER_LEVEL_DEBUG,
            "integer program: %zu intervals, %zu rows, %zu entries", intervals->num_arcs,
            program->num_rows, program->num_entries);
    free(intervals->values);
    intervals->values = pl_new_array(program->num_columns, sizeof *intervals->values);
    if (intervals->values == NULL)
        return pl_fail_memory(error, "the answer of the integer program");
    popliner_status status =
        pl_glpk_solve(program, limits, intervals->values, objective, outcome, error);
    if (status != POPLINER_OK ||
        (*outcome != PL_PROGRAM_OPTIMAL && *outcome != PL_PROGRAM_FEASIBLE))
        return status;

    size_t unit = 0;
    size_t num_chosen = 0;
    for (size_t a = 0; a < intervals->num_arcs; ++a) {
        if (intervals->values[a] <= 0.5)
            continue;
        ++num_chosen;
        if (intervals->arcs[a].first_unit != unit)
            break;
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the answer of the integer program");
        unit = intervals->arcs[a].last_unit + 1;
    }
    if (unit != intervals->num_units || num_chosen != split->num_stages ||
        num_chosen > intervals->max_stages)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "GLPK's answer is not a split: after %zu stages it is at unit %zu of %zu",
                       split->num_stages, unit, intervals->num_units);
    return POPLINER_OK;
}

/* Makes `split` the answer's, and empties it, if it is better than what the answer has. */
static void keep_better(pl_program_answer *answer, pl_split *split, uint64_t value_bytes) {
    if (answer->split.num_stages == 0 || value_bytes < answer->value_bytes) {
        pl_split_clear(&answer->split);
        answer->split = *split;
        answer->value_bytes = value_bytes;
        *split = (pl_split){0};
    }
    pl_split_clear(split);
}

/* How far GLPK's objective may be from the true one, both in scaled units: GLPK takes a variable
 * for 0 or 1 that is within 1e-5 of it, and ends a search for less than 1e-7 of the objective. */
static double tolerance(double objective) {
    return 0.05 + 1e-6 * fabs(objective);
}

/* GLPK's objective against that of its split, computed in integers. */
static popliner_status check_objective(const interval_program *intervals, double objective,
                                       uint64_t value_bytes, uint64_t base_bytes,
                                       popliner_error *error) {
    double expected = value_bytes > base_bytes
                          ? (double)(value_bytes - base_bytes) / intervals->bytes_per_one
                          : 0.0;
    if (fabs(objective - expected) <= tolerance(expected))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "GLPK says that its split is worth %.6f, but it is worth %.6f (times %.0f bytes "
                   "above %" PRIu64 ")",
                   objective, expected, intervals->bytes_per_one, base_bytes);
}

popliner_status pl_program_smallest_peak(const popliner_costs *costs, size_t max_stages,
                                         uint64_t peak_limit_bytes, uint64_t bound_bytes,
                                         const pl_glpk_limits *limits, pl_program_answer *answer,
                                         popliner_error *error) {
    popliner_status status = POPLINER_OK;
    interval_program intervals = {0};
    pl_split split = {0};
    for (;;) {
        clear_program(&intervals);
        status = collect_arcs(&intervals, costs, max_stages, peak_limit_bytes, error);
        if (status != POPLINER_OK)
            goto done;
        answer->proven = intervals.num_arcs == 0;
        if (answer->proven)
            break;

        uint64_t base_bytes = 0;
        status = lower_bound(&intervals, &base_bytes, error);
        if (status != POPLINER_OK)
            goto done;
        choose_scale(&intervals, base_bytes);
        double objective = 0.0;
        pl_program_outcome outcome = PL_PROGRAM_UNSOLVED;
        status = add_paths(&intervals, false, error);
        if (status == POPLINER_OK)
            status = add_cover_rows(&intervals, base_bytes, error);
        if (status == POPLINER_OK)
            status = solve(&intervals, limits, &objective, &outcome, &split, error);
        if (status != POPLINER_OK)
            goto done;

        answer->proven = outcome == PL_PROGRAM_IMPOSSIBLE;
        answer->out_of_time = outcome == PL_PROGRAM_FEASIBLE || outcome == PL_PROGRAM_UNSOLVED;
        if (outcome == PL_PROGRAM_IMPOSSIBLE || outcome == PL_PROGRAM_UNSOLVED)
            break;
        uint64_t peak_bytes = pl_split_peak(costs, &split);
        if (outcome == PL_PROGRAM_OPTIMAL)
            status = check_objective(&intervals, objective, peak_bytes, base_bytes, error);
        if (status != POPLINER_OK)
            goto done;
        keep_better(answer, &split, peak_bytes);
        if (peak_bytes <= bound_bytes || peak_bytes <= base_bytes) {
            answer->proven = true;
            break;
        }
        if (outcome == PL_PROGRAM_FEASIBLE)
            break;
        peak_limit_bytes = peak_bytes - 1;
    }
done:
    clear_program(&intervals);
    pl_split_clear(&split);
    return status;
}

/* Adds the row "not all arcs of this split". */
static popliner_status exclude(interval_program *intervals, const pl_split *split,
                               popliner_error *error) {
    size_t row = intervals->program.num_rows;
    if (!pl_program_add_row(&intervals->program, -INFINITY, (double)split->num_stages - 1.0))
        return too_large(intervals, error);
    for (size_t a = 0, stage = 0; a < intervals->num_arcs && stage < split->num_stages; ++a) {
        size_t next =
            stage + 1 < split->num_stages ? split->first_units[stage + 1] : intervals->num_units;
        if (intervals->arcs[a].first_unit != split->first_units[stage] ||
            intervals->arcs[a].last_unit + 1 != next)
            continue;
        if (!add_entry(intervals, row, a, 1.0))
            return too_large(intervals, error);
        ++stage;
    }
    return POPLINER_OK;
}

popliner_status pl_program_fewest_cut_bytes(const popliner_costs *costs, size_t max_stages,
                                            uint64_t peak_limit_bytes, uint64_t cut_limit_bytes,
                                            uint64_t bound_bytes, const pl_glpk_limits *limits,
                                            pl_program_answer *answer, popliner_error *error) {
    interval_program intervals = {0};
    pl_split split = {0};
    uint64_t shortest_bytes = 0;
    popliner_status status = collect_arcs(&intervals, costs, max_stages, peak_limit_bytes, error);
    if (status == POPLINER_OK)
        status = reduce_cuts(&intervals, cut_limit_bytes, &shortest_bytes, error);
    if (status != POPLINER_OK)
        goto done;
    if (intervals.num_arcs == 0) {
        answer->proven = true;
        goto done;
    }
    choose_scale(&intervals, 0);
    status = add_paths(&intervals, true, error);
    if (status != POPLINER_OK)
        goto done;

    for (size_t excluded = 0; excluded <= MOST_EXCLUDED_SPLITS; ++excluded) {
        double objective = 0.0;
        pl_program_outcome outcome = PL_PROGRAM_UNSOLVED;
        status = solve(&intervals, limits, &objective, &outcome, &split, error);
        if (status != POPLINER_OK)
            goto done;
        answer->proven = outcome == PL_PROGRAM_IMPOSSIBLE;
        answer->out_of_time = outcome == PL_PROGRAM_FEASIBLE || outcome == PL_PROGRAM_UNSOLVED;
        if (outcome == PL_PROGRAM_IMPOSSIBLE || outcome == PL_PROGRAM_UNSOLVED)
            break;
        uint64_t cut_bytes = pl_split_cut_bytes(costs, &split);
        if (outcome == PL_PROGRAM_OPTIMAL)
            status = check_objective(&intervals, objective, cut_bytes, shortest_bytes, error);
        if (status == POPLINER_OK)
            status = exclude(&intervals, &split, error);
        if (status != POPLINER_OK)
            goto done;
        keep_better(answer, &split, cut_bytes);
        double best = (double)(answer->value_bytes - shortest_bytes) / intervals.bytes_per_one;
        answer->proven = answer->value_bytes <= bound_bytes ||
                         (outcome == PL_PROGRAM_OPTIMAL && objective > best + 2 * tolerance(best));
        if (answer->proven || outcome == PL_PROGRAM_FEASIBLE)
            break;
    }
done:
    clear_program(&intervals);
    pl_split_clear(&split);
    return status;
}
