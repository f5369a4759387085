/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/integer_program.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

#include <math.h>
#include <stdlib.h>

/* Coefficients of the objectives are scaled to at most this. */
#define LARGEST_COEFFICIENT 1024.0

/* Larger programs are refused rather than tried: GLPK takes several times the memory, and hours. */
enum { MAX_ENTRIES = 20000000 };

void pl_integer_program_clear(pl_integer_program *s) {
    free(s->columns);
    free(s->row);
    free(s->values);
    pl_mip_clear(&s->program);
}

/* ---- what may be in a split ---- */

static popliner_status add_column(pl_integer_program *s, pl_column c, popliner_error *error) {
    if (!pl_grow(&s->columns, &s->column_capacity, s->num_columns + 1, sizeof *s->columns))
        return pl_fail_memory(error, "the intervals of the integer program");
    s->columns[s->num_columns++] = c;
    return POPLINER_OK;
}

/* Collects the intervals, stage by stage, that lie on a way from the first unit to the last. */
static popliner_status collect_by_place(pl_integer_program *s, popliner_error *error) {
    size_t n = s->problem->num_units;
    pl_reachability reachability = {
        .problem = s->problem, .filter = &s->filter, .num_stages = s->num_places};
    if (s->fixed != NULL) {
        reachability.fixed_units = s->fixed->first_units;
        reachability.num_fixed = s->fixed->num_stages;
    }
    uint8_t *ok = pl_new_array(n, sizeof *ok);
    popliner_status status = ok == NULL
                                 ? pl_fail_memory(error, "the intervals of the integer program")
                                 : pl_reachability_find(&reachability, error);
    if (status != POPLINER_OK)
        goto done;
    for (size_t place = 0; place < s->num_places; ++place)
        for (size_t i = 0; i < n; ++i) {
            if (!pl_reachability_mark(&reachability, place, i, ok))
                continue;
            for (size_t d = 0; d < n - i; ++d) {
                if (ok[d] == 0)
                    continue;
                status = add_column(s, (pl_column){place, i, i + d}, error);
                if (status != POPLINER_OK)
                    goto done;
            }
        }
done:
    free(ok);
    pl_reachability_free(&reachability);
    return status;
}

/* The same where stages may stand anywhere: by the fewest stages before and behind an interval. */
popliner_status pl_integer_program_collect(pl_integer_program *s, popliner_error *error) {
    size_t n = s->problem->num_units;
    popliner_status status = POPLINER_OK;
    uint8_t *ok = pl_new_array(n * n, sizeof *ok);
    size_t *before = pl_new_array(n + 1, sizeof *before);
    size_t *behind = pl_new_array(n + 1, sizeof *behind);
    if (ok == NULL || before == NULL || behind == NULL) {
        status = pl_fail_memory(error, "the intervals of the integer program");
        goto done;
    }
    for (size_t i = 0; i <= n; ++i)
        before[i] = behind[i] = n + 1;
    before[0] = behind[n] = 0;
    for (size_t i = 0; i < n; ++i) {
        pl_problem_mark(s->problem, &s->filter, 0, 1, i, ok + i * n);
        for (size_t d = 0; d < n - i; ++d)
            if (ok[i * n + d] != 0 && before[i] + 1 < before[i + d + 1])
                before[i + d + 1] = before[i] + 1;
    }
    for (size_t i = n; i-- > 0;)
        for (size_t d = 0; d < n - i; ++d)
            if (ok[i * n + d] != 0 && behind[i + d + 1] + 1 < behind[i])
                behind[i] = behind[i + d + 1] + 1;
    for (size_t i = 0; i < n; ++i)
        for (size_t d = 0; d < n - i; ++d) {
            if (ok[i * n + d] == 0 || before[i] + 1 + behind[i + d + 1] > s->problem->max_stages)
                continue;
            status = add_column(s, (pl_column){0, i, i + d}, error);
            if (status != POPLINER_OK)
                goto done;
        }
done:
    free(ok);
    free(before);
    free(behind);
    return status;
}

/* ---- rows ---- */

bool pl_integer_program_add_entry(pl_integer_program *s, size_t row, size_t at, double value) {
    return s->program.num_entries < MAX_ENTRIES && pl_mip_add_entry(&s->program, row, at, value);
}

popliner_status pl_integer_program_too_large(const pl_integer_program *s, popliner_error *error) {
    if (s->program.num_entries < MAX_ENTRIES)
        return pl_fail_memory(error, "the integer program");
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the integer program is too large, with more than %d entries for %zu intervals",
                   MAX_ENTRIES, s->num_columns);
}

uint64_t pl_integer_program_cost(const pl_integer_program *s, pl_goal goal, const pl_column *c) {
    const popliner_costs *costs = s->problem->costs;
    switch (goal) {
    case PL_GOAL_FEWEST_CUT_BYTES:
        return c->first_unit == 0 ? 0 : popliner_costs_cut(costs, c->first_unit);
    case PL_GOAL_FEWEST_STAGES:
        /* an IPU with several stages counts once */
        return !s->problem->is_mapped || s->problem->first_on_ipu[c->stage] == c->stage;
    case PL_GOAL_EARLIEST_CUTS:
        /* one stage after another: the first one that is not fixed yet */
        return s->fixed != NULL && c->stage == s->fixed->num_stages ? c->first_unit : 0;
    case PL_GOAL_ANY:
        break;
    }
    /* small stages are the most likely ones to get on with each other */
    if (!s->problem->is_shared)
        return 0;
    return popliner_costs_peak(costs, c->first_unit, c->last_unit, s->num_places - c->stage);
}

/* Columns with their costs, and rows: one unit of flow leaves unit 0; what comes in before a unit
 * leaves with it; where the number of stages is free, at most so many. */
static popliner_status add_paths(pl_integer_program *s, pl_goal goal, popliner_error *error) {
    pl_mip *program = &s->program;
    size_t n = s->problem->num_units;
    uint64_t largest = 0;
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t cost = pl_integer_program_cost(s, goal, &s->columns[a]);
        largest = cost > largest ? cost : largest;
    }
    s->unit_of_one = 1.0;
    while ((double)largest > LARGEST_COEFFICIENT * s->unit_of_one)
        s->unit_of_one *= 2.0;
    s->row = pl_new_array(s->num_places * n, sizeof *s->row);
    if (s->row == NULL)
        return pl_fail_memory(error, "the integer program");
    for (size_t i = 0; i < s->num_places * n; ++i)
        s->row[i] = SIZE_MAX;
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        size_t *row = &s->row[c->stage * n + c->first_unit];
        double through = c->stage == 0 && c->first_unit == 0 ? 1.0 : 0.0;
        if (*row == SIZE_MAX) {
            *row = program->num_rows;
            if (!pl_mip_add_row(program, through, through))
                return pl_integer_program_too_large(s, error);
        }
    }
    size_t stages_row = program->num_rows;
    if (s->num_places == 1 &&
        !pl_mip_add_row(program, (double)s->problem->min_stages, (double)s->problem->max_stages))
        return pl_integer_program_too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        size_t next_place = s->num_places == 1 ? 0 : c->stage + 1;
        double cost = (double)pl_integer_program_cost(s, goal, c) / s->unit_of_one;
        if (!pl_mip_add_column(program, true, cost) ||
            !pl_integer_program_add_entry(s, s->row[c->stage * n + c->first_unit], a, 1.0) ||
            (c->last_unit + 1 < n && !pl_integer_program_add_entry(
                                         s, s->row[next_place * n + c->last_unit + 1], a, -1.0)) ||
            (s->num_places == 1 && !pl_integer_program_add_entry(s, stages_row, a, 1.0)))
            return pl_integer_program_too_large(s, error);
    }
    return POPLINER_OK;
}

/* The sum of the cut bytes is at most the filter's, with room for GLPK's tolerance: what exceeds it
 * by less is found out afterwards. */
static popliner_status add_cut_budget(pl_integer_program *s, popliner_error *error) {
    uint64_t budget_bytes = s->filter.max_cut_bytes;
    double scale = 1.0;
    if (budget_bytes >= PL_MAX_CUT_BYTES)
        return POPLINER_OK;
    while ((double)budget_bytes > LARGEST_COEFFICIENT * scale)
        scale *= 2.0;
    size_t row = s->program.num_rows;
    if (!pl_mip_add_row(&s->program, -INFINITY, (double)budget_bytes / scale + 1e-3))
        return pl_integer_program_too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t bytes = pl_integer_program_cost(s, PL_GOAL_FEWEST_CUT_BYTES, &s->columns[a]);
        /* one that is over the budget alone stays that far over it, whatever its size */
        double value =
            bytes > budget_bytes ? (double)budget_bytes / scale + 1.0 : (double)bytes / scale;
        if (bytes > 0 && !pl_integer_program_add_entry(s, row, a, value))
            return pl_integer_program_too_large(s, error);
    }
    return POPLINER_OK;
}

/* The cycles of all stages of an IPU are at most the filter's, with room for the tolerance. */
static popliner_status add_cycle_budgets(pl_integer_program *s, popliner_error *error) {
    const pl_problem *p = s->problem;
    double scale = 1.0;
    if (!p->is_shared || s->filter.max_cycles == UINT64_MAX || !popliner_costs_has_cycles(p->costs))
        return POPLINER_OK;
    while ((double)s->filter.max_cycles > LARGEST_COEFFICIENT * scale)
        scale *= 2.0;
    for (size_t stage = 0; stage < s->num_places; ++stage) {
        if (p->first_on_ipu[stage] != stage)
            continue;
        size_t row = s->program.num_rows;
        if (!pl_mip_add_row(&s->program, -INFINITY, (double)s->filter.max_cycles / scale + 1e-3))
            return pl_integer_program_too_large(s, error);
        for (size_t a = 0; a < s->num_columns; ++a) {
            const pl_column *c = &s->columns[a];
            uint64_t cycles = popliner_costs_cycles(p->costs, c->first_unit, c->last_unit);
            if (p->first_on_ipu[c->stage] == stage && cycles > 0 &&
                !pl_integer_program_add_entry(s, row, a, (double)cycles / scale))
                return pl_integer_program_too_large(s, error);
        }
    }
    return POPLINER_OK;
}

bool pl_column_fulfils(const pl_column *c, const pl_condition *it) {
    if (c->stage != it->stage)
        return false;
    switch (it->relation) {
    case PL_SAME:
        break;
    case PL_CONTAINS:
        return c->first_unit <= it->interval.first_unit && c->last_unit >= it->interval.last_unit;
    case PL_IS_PART_OF:
        return c->first_unit >= it->interval.first_unit && c->last_unit <= it->interval.last_unit;
    }
    return c->first_unit == it->interval.first_unit && c->last_unit == it->interval.last_unit;
}

popliner_status pl_integer_program_forbid(pl_integer_program *s, const pl_condition *conditions,
                                          size_t count, popliner_error *error) {
    size_t row = s->program.num_rows;
    if (!pl_mip_add_row(&s->program, -INFINITY, (double)count - 1.0))
        return pl_integer_program_too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        bool is_in = false;
        for (size_t i = 0; i < count && !is_in; ++i)
            is_in = pl_column_fulfils(&s->columns[a], &conditions[i]);
        if (is_in && !pl_integer_program_add_entry(s, row, a, 1.0))
            return pl_integer_program_too_large(s, error);
    }
    return POPLINER_OK;
}

static size_t max_stages_of_ipu(const pl_problem *p) {
    return p->options->num_mapped_stages;
}

size_t pl_integer_program_list_known(const pl_integer_program *s, const pl_shared *shared, size_t i,
                                     pl_condition *conditions) {
    const pl_problem *p = s->problem;
    pl_relation how = s->peaks_never_shrink ? PL_CONTAINS : PL_SAME;
    size_t count = 0;
    const popliner_interval *intervals = shared->intervals + i * max_stages_of_ipu(p);
    for (size_t stage = 0; stage < p->options->num_mapped_stages; ++stage)
        if (p->first_on_ipu[stage] == shared->first_stage[i])
            conditions[count++] = (pl_condition){stage, intervals[stage], how};
    return count;
}

popliner_status pl_integer_program_forbid_known(pl_integer_program *s, const pl_shared *shared,
                                                pl_condition *conditions, popliner_error *error) {
    const pl_problem *p = s->problem;
    for (size_t i = 0; i < shared->count; ++i) {
        size_t ipu = pl_problem_ipu(p, shared->first_stage[i]);
        if (shared->peak_bytes[i] <= pl_filter_limit(p, &s->filter, ipu))
            continue;
        size_t count = pl_integer_program_list_known(s, shared, i, conditions);
        popliner_status status = pl_integer_program_forbid(s, conditions, count, error);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

/* Pairs of units on one IPU, which may be several stages of it: a column with the one unit needs a
 * column with the other one on the same IPU. */
static popliner_status add_pairs(pl_integer_program *s, popliner_error *error) {
    const pl_problem *p = s->problem;
    for (size_t i = 0; p->is_shared && i < p->options->num_pairs; ++i) {
        popliner_pair pair = p->options->pairs[i];
        for (size_t stage = 0; p->is_pair_active[i] != 0 && stage < s->num_places; ++stage) {
            if (p->first_on_ipu[stage] != stage)
                continue;
            size_t row = s->program.num_rows;
            if (!pl_mip_add_row(&s->program, 0.0, 0.0))
                return pl_integer_program_too_large(s, error);
            for (size_t a = 0; a < s->num_columns; ++a) {
                const pl_column *c = &s->columns[a];
                bool has_first =
                    c->first_unit <= pair.first_unit && pair.first_unit <= c->last_unit;
                bool has_second =
                    c->first_unit <= pair.second_unit && pair.second_unit <= c->last_unit;
                if (p->first_on_ipu[c->stage] == stage && has_first != has_second &&
                    !pl_integer_program_add_entry(s, row, a, has_first ? 1.0 : -1.0))
                    return pl_integer_program_too_large(s, error);
            }
        }
    }
    return POPLINER_OK;
}

popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error) {
    popliner_status status =
        s->num_places > 1 ? collect_by_place(s, error) : pl_integer_program_collect(s, error);
    if (status == POPLINER_OK && s->num_columns > 0)
        status = add_paths(s, goal, error);
    if (status == POPLINER_OK && s->num_columns > 0)
        status = add_cut_budget(s, error);
    if (status == POPLINER_OK && s->num_columns > 0)
        status = add_cycle_budgets(s, error);
    if (status == POPLINER_OK && s->num_columns > 0)
        status = add_pairs(s, error);
    return status;
}

/* ---- answers ---- */

/* What GLPK may take; it fails, cleanly, when it wants more. */
enum { GLPK_MEMORY_MIB = 1024 };

popliner_status pl_integer_program_solve(pl_integer_program *s, const pl_stop *stop,
                                         const popliner_listener *listener, pl_mip_outcome *outcome,
                                         double *objective, pl_split *split,
                                         popliner_error *error) {
    const pl_mip *program = &s->program;
    pl_glpk_limits limits = {GLPK_MEMORY_MIB, stop};
    pl_tell(listener, POPLINER_LEVEL_DEBUG, "integer program: %zu intervals, %zu rows, %zu entries",
            s->num_columns, program->num_rows, program->num_entries);
    free(s->values);
    s->values = pl_new_array(program->num_columns, sizeof *s->values);
    if (s->values == NULL)
        return pl_fail_memory(error, "the answer of the integer program");
    popliner_status status = pl_glpk_solve(program, &limits, s->values, objective, outcome, error);
    if (status != POPLINER_OK || (*outcome != PL_MIP_OPTIMAL && *outcome != PL_MIP_FEASIBLE))
        return status;

    size_t unit = 0;
    size_t num_chosen = 0;
    /* columns are sorted by stage and first unit, and so is a path */
    for (size_t a = 0; a < s->num_columns; ++a) {
        if (s->values[a] <= 0.5)
            continue;
        ++num_chosen;
        if (s->columns[a].first_unit != unit)
            break;
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the answer of the integer program");
        unit = s->columns[a].last_unit + 1;
    }
    if (unit != s->problem->num_units || num_chosen != split->num_stages ||
        num_chosen > s->problem->max_stages || num_chosen < s->problem->min_stages)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "GLPK's answer is not a split: after %zu stages it is at unit %zu of %zu",
                       split->num_stages, unit, s->problem->num_units);
    return POPLINER_OK;
}

double pl_integer_program_tolerance(double objective) {
    return 0.05 + 1e-6 * fabs(objective);
}
