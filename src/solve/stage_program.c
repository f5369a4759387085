/* Why the answers are exact although GLPK computes in floating point:
 *
 * What may be a stage at all is decided in integers, by leaving intervals out of the program: those
 * that the filter does not admit, and those that no split can contain. So whatever GLPK answers,
 * once it is read back as a path through the chain, is a split; what it is worth is computed anew in
 * integers, and if that is not within the filter the split, and whatever must be as bad, is
 * forbidden by a row, and the program is solved again. Only GLPK's word that nothing is better
 * depends on a tolerance; near ties are excluded one by one until it is sure.
 *
 * Stages on one IPU: where a stage never needs less when it grows, stages that need too much together
 * do so in every split in which each of them is contained in one of the same IPU. One row says that
 * for all of these at once. Where that is not so, only the very same stages can be forbidden.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stage_program.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/costs.h"
#include "solve/glpk_support.h"
#include "solve/shared_search.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Coefficients of the objectives are scaled to at most this. */
#define LARGEST_COEFFICIENT 1024.0

/* Near ties beyond GLPK's tolerance that are looked at one by one before the search is given up. */
enum { MOST_EXCLUDED_SPLITS = 100 };

/* Larger programs are refused rather than tried: GLPK takes several times the memory, and hours. */
enum { MOST_ENTRIES = 20000000 };

/* The dynamic program's word is taken for more intervals than this. */
enum { MOST_CHECKED_COLUMNS = 12000 };

/* Programs whose answer needs too much before the search over all stages takes over: each makes the next
 * one larger, and where several IPUs are shared there may be hundreds. */
enum { MOST_LESSONS = 16 };

/* What GLPK may take; it fails, cleanly, when it wants more. */
enum { GLPK_MEMORY_MIB = 1024 };

/* An interval as a stage. */
typedef struct column {
    size_t stage; /* 0 where it does not matter which */
    size_t first_unit;
    size_t last_unit;
} column;

typedef struct stage_program {
    const pl_problem *problem;
    pl_filter filter;
    size_t num_places;     /* the stages that are told apart: 1, or as many as there are */
    const pl_split *fixed; /* the first stages, if not NULL: each begins where it does there */
    column *columns;
    size_t num_columns;
    size_t column_capacity;
    bool peaks_never_shrink; /* when a stage grows */
    bool cycles_never_shrink;
    size_t *row; /* [num_places][num_units]: the row of the flow through a unit, or SIZE_MAX */
    double unit_of_one; /* a coefficient of 1 in the objective stands for so many bytes or units */
    pl_program program;
    double *values;
} stage_program;

static void clear_program(stage_program *s) {
    free(s->columns);
    free(s->row);
    free(s->values);
    pl_program_clear(&s->program);
}

/* ---- what may be in a split ---- */

static popliner_status add_column(stage_program *s, column c, popliner_error *error) {
    void *items = s->columns;
    if (!pl_reserve(&items, &s->column_capacity, s->num_columns + 1, sizeof *s->columns))
        return pl_fail_memory(error, "the intervals of the integer program");
    s->columns = items;
    s->columns[s->num_columns++] = c;
    return POPLINER_OK;
}

/* Collects the intervals, stage by stage, that lie on a way from the first unit to the last. */
static popliner_status collect_by_place(stage_program *s, popliner_error *error) {
    size_t n = s->problem->num_units;
    pl_ways ways = {.problem = s->problem, .filter = &s->filter, .num_stages = s->num_places};
    if (s->fixed != NULL) {
        ways.fixed_units = s->fixed->first_units;
        ways.num_fixed = s->fixed->num_stages;
    }
    uint8_t *ok = pl_new_array(n, sizeof *ok);
    popliner_status status = ok == NULL
                                 ? pl_fail_memory(error, "the intervals of the integer program")
                                 : pl_ways_find(&ways, error);
    for (size_t place = 0; place < s->num_places; ++place)
        for (size_t i = 0; status == POPLINER_OK && i < n; ++i) {
            if (!pl_ways_mark(&ways, place, i, ok))
                continue;
            for (size_t d = 0; d < n - i && status == POPLINER_OK; ++d)
                if (ok[d] != 0)
                    status = add_column(s, (column){place, i, i + d}, error);
        }
    free(ok);
    pl_ways_free(&ways);
    return status;
}

/* The same where stages may stand anywhere: by the fewest stages before and behind an interval. */
static popliner_status collect_anywhere(stage_program *s, popliner_error *error) {
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
        for (size_t d = 0; d < n - i && status == POPLINER_OK; ++d)
            if (ok[i * n + d] != 0 && before[i] + 1 + behind[i + d + 1] <= s->problem->most_stages)
                status = add_column(s, (column){0, i, i + d}, error);
done:
    free(ok);
    free(before);
    free(behind);
    return status;
}

/* ---- rows ---- */

static bool add_entry(stage_program *s, size_t row, size_t at, double value) {
    return s->program.num_entries < MOST_ENTRIES &&
           pl_program_add_entry(&s->program, row, at, value);
}

static popliner_status too_large(const stage_program *s, popliner_error *error) {
    if (s->program.num_entries < MOST_ENTRIES)
        return pl_fail_memory(error, "the integer program");
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the integer program is too large, with more than %d entries for %zu intervals",
                   MOST_ENTRIES, s->num_columns);
}

/* What a column contributes to a goal, unscaled. */
static uint64_t cost_of(const stage_program *s, pl_goal goal, const column *c) {
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
    return popliner_costs_peak_at(costs, s->num_places - c->stage, c->first_unit, c->last_unit);
}

/* Columns with their costs, and rows: one unit of flow leaves unit 0; what comes in before a unit
 * leaves with it; where the number of stages is free, at most so many. */
static popliner_status add_paths(stage_program *s, pl_goal goal, popliner_error *error) {
    pl_program *program = &s->program;
    size_t n = s->problem->num_units;
    uint64_t largest = 0;
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t cost = cost_of(s, goal, &s->columns[a]);
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
        const column *c = &s->columns[a];
        size_t *row = &s->row[c->stage * n + c->first_unit];
        double through = c->stage == 0 && c->first_unit == 0 ? 1.0 : 0.0;
        if (*row == SIZE_MAX) {
            *row = program->num_rows;
            if (!pl_program_add_row(program, through, through))
                return too_large(s, error);
        }
    }
    size_t stages_row = program->num_rows;
    if (s->num_places == 1 && !pl_program_add_row(program, (double)s->problem->least_stages,
                                                  (double)s->problem->most_stages))
        return too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const column *c = &s->columns[a];
        size_t next_place = s->num_places == 1 ? 0 : c->stage + 1;
        double cost = (double)cost_of(s, goal, c) / s->unit_of_one;
        if (!pl_program_add_column(program, true, cost) ||
            !add_entry(s, s->row[c->stage * n + c->first_unit], a, 1.0) ||
            (c->last_unit + 1 < n &&
             !add_entry(s, s->row[next_place * n + c->last_unit + 1], a, -1.0)) ||
            (s->num_places == 1 && !add_entry(s, stages_row, a, 1.0)))
            return too_large(s, error);
    }
    return POPLINER_OK;
}

/* The sum of the cut bytes is at most the filter's, with room for GLPK's tolerance: what exceeds it
 * by less is found out afterwards. */
static popliner_status add_cut_budget(stage_program *s, popliner_error *error) {
    uint64_t budget_bytes = s->filter.most_cut_bytes;
    double scale = 1.0;
    if (budget_bytes >= PL_MOST_CUT_BYTES)
        return POPLINER_OK;
    while ((double)budget_bytes > LARGEST_COEFFICIENT * scale)
        scale *= 2.0;
    size_t row = s->program.num_rows;
    if (!pl_program_add_row(&s->program, -INFINITY, (double)budget_bytes / scale + 1e-3))
        return too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t bytes = cost_of(s, PL_GOAL_FEWEST_CUT_BYTES, &s->columns[a]);
        /* one that is over the budget alone stays that far over it, whatever its size */
        double value =
            bytes > budget_bytes ? (double)budget_bytes / scale + 1.0 : (double)bytes / scale;
        if (bytes > 0 && !add_entry(s, row, a, value))
            return too_large(s, error);
    }
    return POPLINER_OK;
}

/* The cycles of all stages of an IPU are at most the filter's, with room for the tolerance. */
static popliner_status add_cycle_budgets(stage_program *s, popliner_error *error) {
    const pl_problem *p = s->problem;
    double scale = 1.0;
    if (!p->is_shared || s->filter.most_cycles == UINT64_MAX ||
        !popliner_costs_has_cycles(p->costs))
        return POPLINER_OK;
    while ((double)s->filter.most_cycles > LARGEST_COEFFICIENT * scale)
        scale *= 2.0;
    for (size_t stage = 0; stage < s->num_places; ++stage) {
        if (p->first_on_ipu[stage] != stage)
            continue;
        size_t row = s->program.num_rows;
        if (!pl_program_add_row(&s->program, -INFINITY,
                                (double)s->filter.most_cycles / scale + 1e-3))
            return too_large(s, error);
        for (size_t a = 0; a < s->num_columns; ++a) {
            const column *c = &s->columns[a];
            uint64_t cycles = popliner_costs_cycles(p->costs, c->first_unit, c->last_unit);
            if (p->first_on_ipu[c->stage] == stage && cycles > 0 &&
                !add_entry(s, row, a, (double)cycles / scale))
                return too_large(s, error);
        }
    }
    return POPLINER_OK;
}

/* How a column is compared with the stage that a row speaks of. */
typedef enum relation { SAME, CONTAINS, IS_PART_OF } relation;

typedef struct condition {
    size_t stage;
    popliner_interval interval;
    relation relation;
} condition;

static bool fulfils(const column *c, const condition *it) {
    if (c->stage != it->stage)
        return false;
    switch (it->relation) {
    case SAME:
        break;
    case CONTAINS:
        return c->first_unit <= it->interval.first_unit && c->last_unit >= it->interval.last_unit;
    case IS_PART_OF:
        return c->first_unit >= it->interval.first_unit && c->last_unit <= it->interval.last_unit;
    }
    return c->first_unit == it->interval.first_unit && c->last_unit == it->interval.last_unit;
}

/* Adds the row "not all of these conditions". */
static popliner_status forbid(stage_program *s, const condition *conditions, size_t count,
                              popliner_error *error) {
    size_t row = s->program.num_rows;
    if (!pl_program_add_row(&s->program, -INFINITY, (double)count - 1.0))
        return too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        bool is_in = false;
        for (size_t i = 0; i < count && !is_in; ++i)
            is_in = fulfils(&s->columns[a], &conditions[i]);
        if (is_in && !add_entry(s, row, a, 1.0))
            return too_large(s, error);
    }
    return POPLINER_OK;
}

static size_t most_stages_of_ipu(const pl_problem *p) {
    return p->options->num_mapped_stages;
}

/* Lists the conditions of entry `i` of the known stages on one IPU. */
static size_t list_known(const stage_program *s, const pl_shared *shared, size_t i,
                         condition *conditions) {
    const pl_problem *p = s->problem;
    relation how = s->peaks_never_shrink ? CONTAINS : SAME;
    size_t count = 0;
    const popliner_interval *intervals = shared->intervals + i * most_stages_of_ipu(p);
    for (size_t stage = 0; stage < p->options->num_mapped_stages; ++stage)
        if (p->first_on_ipu[stage] == shared->first_stage[i])
            conditions[count++] = (condition){stage, intervals[stage], how};
    return count;
}

/* Forbids what is known to need too much. The smallest such peak above the limit is noted: without
 * a split, one needs at least this. */
static popliner_status forbid_known(stage_program *s, const pl_shared *shared,
                                    condition *conditions, popliner_error *error) {
    const pl_problem *p = s->problem;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < shared->count; ++i) {
        size_t ipu = pl_problem_ipu(p, shared->first_stage[i]);
        if (shared->peak_bytes[i] > pl_filter_limit(p, &s->filter, ipu))
            status = forbid(s, conditions, list_known(s, shared, i, conditions), error);
    }
    return status;
}

/* Pairs of units on one IPU, which may be several stages of it: a column with the one unit needs a
 * column with the other one on the same IPU. */
static popliner_status add_pairs(stage_program *s, popliner_error *error) {
    const pl_problem *p = s->problem;
    for (size_t i = 0; p->is_shared && i < p->options->num_pairs; ++i) {
        popliner_pair pair = p->options->pairs[i];
        for (size_t stage = 0; p->is_pair_active[i] != 0 && stage < s->num_places; ++stage) {
            if (p->first_on_ipu[stage] != stage)
                continue;
            size_t row = s->program.num_rows;
            if (!pl_program_add_row(&s->program, 0.0, 0.0))
                return too_large(s, error);
            for (size_t a = 0; a < s->num_columns; ++a) {
                const column *c = &s->columns[a];
                bool has_first =
                    c->first_unit <= pair.first_unit && pair.first_unit <= c->last_unit;
                bool has_second =
                    c->first_unit <= pair.second_unit && pair.second_unit <= c->last_unit;
                if (p->first_on_ipu[c->stage] == stage && has_first != has_second &&
                    !add_entry(s, row, a, has_first ? 1.0 : -1.0))
                    return too_large(s, error);
            }
        }
    }
    return POPLINER_OK;
}

/* Builds everything but what is learnt on the way. */
static popliner_status build(stage_program *s, pl_goal goal, popliner_error *error) {
    popliner_status status =
        s->num_places > 1 ? collect_by_place(s, error) : collect_anywhere(s, error);
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

/* ---- solving ---- */

/* Solves the program; the split, empty before, is what GLPK chose. */
static popliner_status solve(stage_program *s, const pl_stop *stop,
                             const popliner_listener *listener, double *objective,
                             pl_program_outcome *outcome, pl_split *split, popliner_error *error) {
    const pl_program *program = &s->program;
    pl_glpk_limits limits = {GLPK_MEMORY_MIB, stop};
    pl_tell(listener, POPLINER_LEVEL_DEBUG, "integer program: %zu intervals, %zu rows, %zu entries",
            s->num_columns, program->num_rows, program->num_entries);
    free(s->values);
    s->values = pl_new_array(program->num_columns, sizeof *s->values);
    if (s->values == NULL)
        return pl_fail_memory(error, "the answer of the integer program");
    popliner_status status = pl_glpk_solve(program, &limits, s->values, objective, outcome, error);
    if (status != POPLINER_OK ||
        (*outcome != PL_PROGRAM_OPTIMAL && *outcome != PL_PROGRAM_FEASIBLE))
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
        num_chosen > s->problem->most_stages || num_chosen < s->problem->least_stages)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "GLPK's answer is not a split: after %zu stages it is at unit %zu of %zu",
                       split->num_stages, unit, s->problem->num_units);
    return POPLINER_OK;
}

/* How far GLPK's objective may be from the true one, both in scaled units: GLPK takes a variable
 * for 0 or 1 that is within 1e-5 of it, and ends a search for less than 1e-7 of the objective. */
static double tolerance(double objective) {
    return 0.05 + 1e-6 * fabs(objective);
}

/* The peaks by stage and the worth of a split. */
typedef struct measured {
    uint64_t *peaks_bytes;     /* [stages] */
    popliner_interval *stages; /* [stages]: room for what is learnt */
    pl_worth worth;
} measured;

/* Remembers what stages need together that need more than is allowed. */
static popliner_status learn(const stage_program *s, const pl_split *split, size_t stage,
                             const measured *m, pl_shared *shared, popliner_error *error) {
    for (size_t other = 0; other < split->num_stages; ++other)
        m->stages[other] = pl_split_interval(s->problem, split, other);
    return pl_shared_add(shared, most_stages_of_ipu(s->problem), m->stages, stage,
                         m->peaks_bytes[stage], error);
}

/* Lists, behind `count` conditions, the stages of an IPU. */
static size_t list_ipu(const stage_program *s, const pl_split *split, size_t first_stage,
                       relation how, condition *conditions, size_t count) {
    for (size_t stage = 0; stage < split->num_stages; ++stage)
        if (s->problem->first_on_ipu[stage] == first_stage)
            conditions[count++] =
                (condition){stage, pl_split_interval(s->problem, split, stage), how};
    return count;
}

static uint64_t cycles_of_ipu(const stage_program *s, const pl_split *split, size_t first_stage) {
    uint64_t cycles = 0;
    for (size_t stage = 0; stage < split->num_stages; ++stage) {
        popliner_interval it = pl_split_interval(s->problem, split, stage);
        if (s->problem->first_on_ipu[stage] == first_stage)
            cycles += popliner_costs_cycles(s->problem->costs, it.first_unit, it.last_unit);
    }
    return cycles;
}

/* Forbids IPUs that need too much, alone or compared with another one that needs so much less, and
 * all that must be as bad for the same reason. *is_fine: nothing was to be forbidden. */
static popliner_status forbid_ipus(stage_program *s, const pl_split *split, const measured *m,
                                   pl_shared *shared, condition *conditions, bool *is_fine,
                                   popliner_error *error) {
    const pl_problem *p = s->problem;
    const pl_filter *f = &s->filter;
    popliner_status status = POPLINER_OK;
    bool spread_grows = f->spread_is_of_cycles ? s->cycles_never_shrink : s->peaks_never_shrink;
    *is_fine = true;
    for (size_t i = 0; status == POPLINER_OK && i < split->num_stages; ++i) {
        if (p->first_on_ipu[i] != i)
            continue;
        uint64_t peak = m->peaks_bytes[i];
        uint64_t cycles = cycles_of_ipu(s, split, i);
        bool is_too_large = peak > pl_filter_limit(p, f, pl_problem_ipu(p, i));
        bool is_too_slow = cycles > f->most_cycles;
        if (is_too_large)
            status = learn(s, split, i, m, shared, error);
        if (status == POPLINER_OK && (is_too_large || is_too_slow)) {
            bool grows = is_too_large ? s->peaks_never_shrink : s->cycles_never_shrink;
            size_t count = list_ipu(s, split, i, grows ? CONTAINS : SAME, conditions, 0);
            status = forbid(s, conditions, count, error);
        }
        *is_fine = *is_fine && !is_too_large && !is_too_slow;
        uint64_t value = f->spread_is_of_cycles ? cycles : peak;
        for (size_t j = 0; status == POPLINER_OK && j < split->num_stages; ++j) {
            uint64_t other =
                f->spread_is_of_cycles ? cycles_of_ipu(s, split, j) : m->peaks_bytes[j];
            if (p->first_on_ipu[j] != j || other >= value || value - other <= f->most_spread)
                continue;
            *is_fine = false;
            size_t count = list_ipu(s, split, i, spread_grows ? CONTAINS : SAME, conditions, 0);
            count = list_ipu(s, split, j, spread_grows ? IS_PART_OF : SAME, conditions, count);
            status = forbid(s, conditions, count, error);
        }
    }
    return status;
}

/* Forbids just this split. */
static popliner_status exclude(stage_program *s, const pl_split *split, condition *conditions,
                               popliner_error *error) {
    for (size_t i = 0; i < split->num_stages; ++i)
        conditions[i] =
            (condition){s->num_places > 1 ? i : 0, pl_split_interval(s->problem, split, i), SAME};
    return forbid(s, conditions, split->num_stages, error);
}

/* One program after another, until its answer is within the filter and, if the goal is the fewest
 * cut bytes, as good as any. When there is too much to learn, pl_shared_search has to answer. */
static popliner_status search(stage_program *s, pl_goal goal, const pl_stop *stop,
                              const popliner_listener *listener, pl_shared *shared,
                              condition *conditions, measured *m, pl_split *best,
                              pl_program_result *result, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    pl_split split = {0};
    uint64_t best_bytes = UINT64_MAX;
    size_t num_lessons = 0;
    for (size_t ties = 0; ties <= MOST_EXCLUDED_SPLITS;) {
        double objective = 0.0;
        pl_program_outcome outcome = PL_PROGRAM_UNSOLVED;
        pl_split_clear(&split);
        status = solve(s, stop, listener, &objective, &outcome, &split, error);
        if (status != POPLINER_OK)
            goto done;
        if (outcome == PL_PROGRAM_UNSOLVED || outcome == PL_PROGRAM_FEASIBLE) {
            result->is_stopped = true;
            goto done;
        }
        if (outcome == PL_PROGRAM_IMPOSSIBLE) {
            result->bound_bytes = best_bytes;
            goto done;
        }
        double known = (double)best_bytes / s->unit_of_one;
        if (best->num_stages > 0 && objective > known + 2 * tolerance(known)) {
            result->bound_bytes = best_bytes;
            goto done;
        }
        status = pl_split_worth(s->problem, &split, &m->worth, m->peaks_bytes, error);
        bool is_fine = true;
        if (status == POPLINER_OK)
            status = forbid_ipus(s, &split, m, shared, conditions, &is_fine, error);
        if (status != POPLINER_OK)
            goto done;
        if (!is_fine && ++num_lessons > MOST_LESSONS &&
            pl_shared_search_can(s->problem, &s->filter)) {
            shared->is_hard = true;
            pl_split_clear(best);
            status = pl_shared_search(s->problem, &s->filter, goal, s->fixed, stop, shared, best,
                                      result, error);
            goto done;
        }
        if (!is_fine)
            continue;
        bool is_within = pl_filter_admits(&s->filter, &m->worth);
        bool is_better = is_within && m->worth.cut_bytes < best_bytes;
        if (is_better || (is_within && best->num_stages == 0)) {
            best_bytes = m->worth.cut_bytes;
            status = exclude(s, &split, conditions, error);
            pl_split_move(best, &split);
            if (goal != PL_GOAL_FEWEST_CUT_BYTES)
                goto done;
        } else {
            status = exclude(s, &split, conditions, error);
        }
        if (status != POPLINER_OK)
            goto done;
        /* sums that were cut off are all the same */
        if (best_bytes == 0 || best_bytes >= PL_MOST_CUT_BYTES) {
            result->bound_bytes = best->num_stages > 0 ? best_bytes : 0;
            if (best->num_stages > 0)
                goto done;
        }
        ++ties;
        double least = (objective - tolerance(objective)) * s->unit_of_one;
        result->bound_bytes = least >= (double)best_bytes ? best_bytes
                              : least > 0.0               ? (uint64_t)least
                                                          : 0;
    }
    pl_tell(
        listener, POPLINER_LEVEL_WARNING,
        "GLPK cannot tell more than %d splits apart that differ by a few bytes; the last of them "
        "may not be the best",
        MOST_EXCLUDED_SPLITS);
    if (best->num_stages == 0)
        result->is_stopped = true;
done:
    pl_split_clear(&split);
    return status;
}

/* pl_stage_program_find with the first stages fixed. */
static popliner_status find(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                            const pl_split *fixed, const pl_stop *stop,
                            const popliner_listener *listener, pl_shared *shared, pl_split *split,
                            pl_program_result *result, popliner_error *error) {
    stage_program s = {.problem = problem,
                       .filter = *filter,
                       .num_places = problem->options->num_mapped_stages,
                       .fixed = fixed,
                       .peaks_never_shrink =
                           popliner_costs_shared_peak_never_shrinks(problem->costs),
                       .cycles_never_shrink = pl_costs_cycles_never_shrink(problem->costs)};
    measured m = {0};
    condition *conditions = pl_new_array(2 * s.num_places, sizeof *conditions);
    m.peaks_bytes = pl_new_array(s.num_places, sizeof *m.peaks_bytes);
    m.stages = pl_new_array(s.num_places, sizeof *m.stages);
    popliner_status status = conditions == NULL || m.peaks_bytes == NULL || m.stages == NULL
                                 ? pl_fail_memory(error, "the integer program")
                                 : POPLINER_OK;
    if (status == POPLINER_OK)
        status = build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns > 0)
        status = forbid_known(&s, shared, conditions, error);
    if (status == POPLINER_OK && s.num_columns > 0)
        status = search(&s, goal, stop, listener, shared, conditions, &m, split, result, error);
    clear_program(&s);
    free(conditions);
    free(m.peaks_bytes);
    free(m.stages);
    return status;
}

/* The smallest peak above `above_bytes` that a stage alone, or stages known to share an IPU, have. */
static uint64_t next_peak(const pl_problem *problem, const pl_shared *shared,
                          uint64_t above_bytes) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < shared->count; ++i)
        if (shared->peak_bytes[i] > above_bytes && shared->peak_bytes[i] < next)
            next = shared->peak_bytes[i];
    for (size_t to_end = 1; to_end <= (problem->depends_on_end ? problem->most_stages : 1);
         ++to_end)
        for (size_t first = 0; first < problem->num_units; ++first) {
            const uint64_t *peaks = pl_costs_peaks_from(problem->costs, to_end, first);
            for (size_t d = 0; d < problem->num_units - first; ++d)
                if (peaks[d] > above_bytes && peaks[d] < next)
                    next = peaks[d];
        }
    return next;
}

popliner_status pl_stage_program_find(const pl_problem *problem, const pl_filter *filter,
                                      pl_goal goal, const pl_stop *stop,
                                      const popliner_listener *listener, pl_shared *shared,
                                      pl_split *split, pl_program_result *result,
                                      popliner_error *error) {
    *result = (pl_program_result){0};
    if (problem->most_stages < problem->least_stages)
        return POPLINER_OK;
    bool searches = shared->is_hard && pl_shared_search_can(problem, filter);
    if (goal != PL_GOAL_EARLIEST_CUTS || problem->most_stages == 1 || searches) {
        popliner_status status =
            searches
                ? pl_shared_search(problem, filter, goal, NULL, stop, shared, split, result, error)
                : find(problem, filter, goal, NULL, stop, listener, shared, split, result, error);
        if (split->num_stages == 0)
            result->next_peak_bytes = next_peak(problem, shared, filter->most_peak_bytes);
        return status;
    }
    pl_split fixed = {0};
    pl_split found = {0};
    popliner_status status = POPLINER_OK;
    for (size_t stage = 0; stage < problem->most_stages; ++stage) {
        pl_split_clear(&found);
        if (stage > 0)
            status =
                find(problem, filter, goal, &fixed, stop, listener, shared, &found, result, error);
        if (status != POPLINER_OK || (stage > 0 && found.num_stages == 0))
            break;
        if (!pl_split_append(&fixed, stage == 0 ? 0 : found.first_units[stage])) {
            status = pl_fail_memory(error, "the answer of the integer program");
            break;
        }
    }
    if (status == POPLINER_OK && found.num_stages > 0)
        pl_split_move(split, &found);
    pl_split_clear(&fixed);
    pl_split_clear(&found);
    return status;
}

popliner_status pl_stage_program_check(const pl_problem *problem, const pl_filter *filter,
                                       pl_goal goal, const uint64_t *best, const pl_stop *stop,
                                       const popliner_listener *listener, popliner_error *error) {
    if (problem->depends_on_ipu || problem->depends_on_end || problem->is_mapped ||
        filter->most_spread != UINT64_MAX)
        return POPLINER_OK;
    stage_program s = {.problem = problem, .filter = *filter, .num_places = 1};
    pl_split split = {0};
    pl_worth worth = {0};
    double objective = 0.0;
    pl_program_outcome outcome = PL_PROGRAM_UNSOLVED;
    popliner_status status = collect_anywhere(&s, error);
    if (status != POPLINER_OK || (best == NULL && s.num_columns == 0))
        goto done;
    if (s.num_columns > MOST_CHECKED_COLUMNS) {
        pl_tell(listener, POPLINER_LEVEL_DEBUG,
                "%zu intervals are too many for GLPK to be asked for a second opinion",
                s.num_columns);
        goto done;
    }
    s.num_columns = 0;
    status = build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns > 0) {
        popliner_error failure = {.message = ""};
        status = solve(&s, stop, listener, &objective, &outcome, &split, &failure);
        if (status == POPLINER_ERROR_INTERNAL) {
            /* no opinion is no contradiction: the proof stands without it */
            pl_tell(listener, POPLINER_LEVEL_WARNING, "No second opinion on the optimum: %s",
                    failure.message);
            status = POPLINER_OK;
            goto done;
        }
        if (status != POPLINER_OK)
            status = pl_fail(error, status, "%s", failure.message);
    }
    if (status != POPLINER_OK || (outcome == PL_PROGRAM_UNSOLVED && s.num_columns > 0) ||
        outcome == PL_PROGRAM_FEASIBLE)
        goto done;
    if (best != NULL && split.num_stages == 0) {
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "GLPK finds no split where the dynamic program has one");
        goto done;
    }
    if (split.num_stages == 0)
        goto done;
    status = pl_split_worth(problem, &split, &worth, NULL, error);
    /* what is over the budget of cut bytes by less than the tolerance was not forbidden */
    if (status != POPLINER_OK || !pl_filter_admits(filter, &worth))
        goto done;
    uint64_t value = goal == PL_GOAL_FEWEST_STAGES ? worth.num_ipus : worth.cut_bytes;
    double expected = best == NULL ? 0.0 : (double)*best / s.unit_of_one;
    if (best == NULL || value < *best ||
        (*best < PL_MOST_CUT_BYTES && objective > expected + tolerance(expected)))
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "GLPK knows a split worth %" PRIu64
                         " that the dynamic program says there cannot be",
                         value);
done:
    clear_program(&s);
    pl_split_clear(&split);
    return status;
}

/* ---- writing ---- */

/* Adds the largest value T, and the rows "T is at least what the stage that holds unit u costs": as
 * exactly one column holds a unit, this says more to the relaxation than a row per column would.
 * Stages on one IPU have a row for what their cycles come to together. */
static popliner_status add_largest(stage_program *s, bool of_cycles, popliner_error *error) {
    const pl_problem *p = s->problem;
    pl_program *program = &s->program;
    size_t largest = program->num_columns;
    if (!pl_program_add_column(program, false, 1.0))
        return too_large(s, error);
    size_t num_rows = of_cycles && p->is_shared ? s->num_places : p->num_units;
    for (size_t r = 0; r < num_rows; ++r) {
        size_t row = program->num_rows;
        if (!pl_program_add_row(program, 0.0, INFINITY) || !add_entry(s, row, largest, 1.0))
            return too_large(s, error);
        for (size_t a = 0; a < s->num_columns; ++a) {
            const column *c = &s->columns[a];
            uint64_t value =
                of_cycles ? popliner_costs_cycles(p->costs, c->first_unit, c->last_unit)
                          : popliner_costs_peak_at(p->costs,
                                                   s->num_places > 1 ? s->num_places - c->stage : 1,
                                                   c->first_unit, c->last_unit);
            bool is_in = num_rows == p->num_units && !(of_cycles && p->is_shared)
                             ? c->first_unit <= r && r <= c->last_unit
                             : p->first_on_ipu[c->stage] == r;
            if (is_in && !add_entry(s, row, a, -(double)value))
                return too_large(s, error);
        }
    }
    return POPLINER_OK;
}

/* T is at least what stages on one IPU are known to need together: their peak, unless one of them
 * is not there. */
static popliner_status add_known(stage_program *s, const pl_shared *shared, popliner_error *error) {
    condition *conditions = pl_new_array(2 * s->num_places, sizeof *conditions);
    if (conditions == NULL)
        return pl_fail_memory(error, "the integer program");
    size_t largest = s->num_columns;
    bool memory = true;
    for (size_t i = 0; memory && i < shared->count; ++i) {
        size_t count = list_known(s, shared, i, conditions);
        double peak = (double)shared->peak_bytes[i];
        size_t row = s->program.num_rows;
        memory = pl_program_add_row(&s->program, -peak * ((double)count - 1.0), INFINITY) &&
                 add_entry(s, row, largest, 1.0);
        for (size_t a = 0; memory && a < s->num_columns; ++a)
            for (size_t k = 0; k < count; ++k)
                if (fulfils(&s->columns[a], &conditions[k]))
                    memory = memory && add_entry(s, row, a, -peak);
    }
    free(conditions);
    return memory ? POPLINER_OK : too_large(s, error);
}

/* Forbids what stages on one IPU are known to need together, if it is too much. */
static popliner_status forbid_learnt(stage_program *s, const pl_shared *shared,
                                     popliner_error *error) {
    condition *conditions = pl_new_array(2 * s->num_places, sizeof *conditions);
    popliner_status status = conditions == NULL ? pl_fail_memory(error, "the integer program")
                                                : forbid_known(s, shared, conditions, error);
    free(conditions);
    return status;
}

static void name_column(const void *user, size_t index, char *name, size_t size) {
    const stage_program *s = user;
    if (index == s->num_columns)
        snprintf(name, size, "T");
    else
        snprintf(name, size, "z_%zu_%zu_%zu", s->columns[index].stage, s->columns[index].first_unit,
                 s->columns[index].last_unit);
}

popliner_status pl_stage_program_write(const pl_problem *problem, const pl_filter *filter,
                                       pl_goal goal, bool of_cycles, const pl_shared *shared,
                                       popliner_program_format format, const char *path,
                                       popliner_error *error) {
    bool by_place = problem->is_mapped || problem->depends_on_end || problem->depends_on_ipu;
    if (problem->least_stages > problem->most_stages)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "a chain of %zu units has no %zu stages: there is no integer program to write",
            problem->num_units, problem->least_stages);
    if (by_place && problem->least_stages < problem->most_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "what a stage costs depends on its place here: there is an integer program "
                       "for each number of stages; give a device map for the one that is meant");
    stage_program s = {.problem = problem,
                       .filter = *filter,
                       .num_places = by_place ? problem->most_stages : 1,
                       .peaks_never_shrink =
                           problem->is_shared &&
                           popliner_costs_shared_peak_never_shrinks(problem->costs)};
    popliner_status status = build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "no interval is within the limits: there is no integer program to write");
    for (size_t a = 0; status == POPLINER_OK && a < s.num_columns; ++a)
        s.program.columns[a].cost =
            goal == PL_GOAL_ANY ? 0.0 : (double)cost_of(&s, goal, &s.columns[a]);
    if (status == POPLINER_OK && problem->is_shared)
        status = forbid_learnt(&s, shared, error);
    if (status == POPLINER_OK && goal == PL_GOAL_ANY)
        status = add_largest(&s, of_cycles, error);
    if (status == POPLINER_OK && goal == PL_GOAL_ANY && !of_cycles)
        status = add_known(&s, shared, error);
    if (status == POPLINER_OK)
        status =
            pl_glpk_write(&s.program, name_column, &s, format == POPLINER_PROGRAM_MPS, path, error);
    clear_program(&s);
    return status;
}
