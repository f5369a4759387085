/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/glpk_session.h"
#include "solve/integer_program.h"
#include "solve/stage_rule.h"

/* The largest scaled coefficient of an objective. */
#define LARGEST_COEFFICIENT 1024.0

/* Larger programs are rejected: GLPK needs several times this memory, and hours. */
enum { MAX_ENTRIES = 20000000 };

void pl_integer_program_clear(pl_integer_program *s) {
    pl_places_free(&s->places);
    pl_arrays_free(&s->program.arrays);
}

/* ---- columns ---- */

popliner_status pl_integer_program_lay(const pl_problem *problem, const pl_limits *limits,
                                       pl_places *places, popliner_error *error) {
    popliner_status status = pl_places_lay(places, problem, limits, problem->max_stages, error);
    if (status == POPLINER_OK && !places->is_exact && places->num_special < places->count) {
        places->count = places->num_special + 1;
        places->items[places->num_special].next = places->num_special;
    }
    return status;
}

/* True if a stage may be first ... end - 1: its cut alone is within the budget, as sums
 * count it; up to the last of the fixed stages, it is one of these. A pl_ways_function. */
static bool may_be(const void *user, size_t first, size_t end) {
    const pl_integer_program *s = user;
    const pl_split *fixed = s->fixed;
    size_t k = 0;
    if (end < s->problem->num_units &&
        pl_add_cut_bytes(0, popliner_costs_cut(s->problem->costs, end)) > s->limits.max_cut_bytes)
        return false;
    if (fixed == NULL || first >= fixed->first_units[fixed->num_stages - 1])
        return true;
    while (fixed->first_units[k + 1] <= first)
        ++k;
    return first == fixed->first_units[k] && end == fixed->first_units[k + 1];
}

/* Makes the stages of a place columns, unless there are more than `most`. */
static popliner_status add_columns(pl_integer_program *s, const pl_stage_ends *ends, size_t place,
                                   uint64_t most, popliner_error *error) {
    for (size_t i = 0; s->num_columns <= most && i < s->problem->num_units; ++i) {
        const uint8_t *ok = pl_stage_ends_marks(ends, i);
        for (size_t end = ends->from[i]; end < ends->to[i]; ++end) {
            if (*ok++ == 0)
                continue;
            if (!pl_arrays_grow(&s->program.arrays, &s->columns, s->num_columns + 1,
                                sizeof *s->columns))
                return pl_fail_memory(error, "the intervals of the integer program");
            s->columns[s->num_columns++] = (pl_column){place, i, end - 1};
        }
    }
    return POPLINER_OK;
}

/* Makes all intervals that a place may have columns, whether stages reach them or not. */
static popliner_status add_all(pl_integer_program *s, pl_stage_ends *ends, size_t place,
                               uint64_t most, popliner_error *error) {
    const size_t n = s->problem->num_units;
    const pl_place *at = &s->places.items[place];
    const pl_stage_rule rule = pl_stage_rule_of(s->problem, &s->limits, at->stage, at->to_end);
    popliner_status status = pl_stage_ends_find(ends, &rule, NULL, error);
    for (size_t i = 0; status == POPLINER_OK && i < n; ++i) {
        uint8_t *ok = pl_stage_ends_marks(ends, i);
        for (size_t end = ends->from[i]; end < ends->to[i]; ++end, ++ok)
            *ok = *ok != 0 && (i > 0 || at->begins) &&
                  (end == n ? at->ends : at->next < s->places.count) && may_be(s, i, end);
    }
    return status == POPLINER_OK ? add_columns(s, ends, place, most, error) : status;
}

/* Collects the columns. */
static popliner_status collect(pl_integer_program *s, popliner_error *error) {
    enum { ENTRIES_OF_COLUMN = 3, PART_WITHOUT_WAY = 4 };
    const uint64_t most = s->most_entries > 0 ? s->most_entries / ENTRIES_OF_COLUMN : UINT64_MAX;
    const bool is_restricted = s->fixed != NULL || s->limits.max_cut_bytes < PL_MAX_CUT_BYTES;
    pl_ways_through ways = {.problem = s->problem,
                            .limits = &s->limits,
                            .may_be = is_restricted ? may_be : NULL,
                            .user = s};
    pl_places_free(&s->places);
    popliner_status status = pl_integer_program_lay(s->problem, &s->limits, &s->places, error);
    ways.places = s->places;
    s->num_columns = 0;
    if (status == POPLINER_OK)
        status = pl_ways_find(&ways, error);
    for (size_t place = 0; status == POPLINER_OK && place < s->places.count; ++place)
        status = add_columns(s, &ways.ends[place], place, most, error);
    s->is_too_large = s->num_columns > most;
    /* GLPK is given what has no way through the chain, to say so, where that takes no time */
    const uint64_t few = most / PART_WITHOUT_WAY;
    const bool takes_all = s->num_columns == 0 && s->keeps_all;
    for (size_t place = 0; takes_all && status == POPLINER_OK && place < s->places.count; ++place)
        if (s->num_columns <= few)
            status = add_all(s, &ways.ends[place], place, few, error);
    if (s->is_too_large || (takes_all && s->num_columns > few))
        s->num_columns = 0;
    ways.places.items = NULL; /* the program keeps them */
    pl_ways_free(&ways);
    return status;
}

/* ---- rows ---- */

popliner_status pl_integer_program_check(const pl_integer_program *s, popliner_error *error) {
    if (!s->program.arrays.failed)
        return POPLINER_OK;
    if (s->program.num_entries < MAX_ENTRIES)
        return pl_fail_memory(error, "the integer program");
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "integer program: more than %d entries for %zu intervals; add limits or "
                   "constraints, or use another solver",
                   MAX_ENTRIES, s->num_columns);
}

/* Returns what a column adds to a goal, unscaled. */
static uint64_t cost_of(const pl_integer_program *s, pl_goal goal, const pl_column *c) {
    const popliner_costs *costs = s->problem->costs;
    switch (goal) {
    case PL_GOAL_FEWEST_CUT_BYTES:
        return c->first_unit == 0 ? 0 : popliner_costs_cut(costs, c->first_unit);
    case PL_GOAL_FEWEST_STAGES:
        return 1;
    case PL_GOAL_EARLIEST_CUTS:
        /* minimises one cut after another: the cut after the last fixed stage; best is none */
        return s->fixed == NULL ||
                       c->first_unit != s->fixed->first_units[s->fixed->num_stages - 1] ||
                       c->last_unit + 1 == s->problem->num_units
                   ? 0
                   : c->last_unit + 1;
    case PL_GOAL_SMALLEST_SPREAD:
    case PL_GOAL_ANY:
        break;
    }
    return 0;
}

/* ---- units of coefficients ---- */

/* The largest of some numbers, and their greatest common divisor. */
typedef struct coefficients {
    uint64_t largest;
    uint64_t divisor; /* 0 if all are 0 */
} coefficients;

/* Returns the greatest common divisor; 0 for two zeros. */
static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_coefficient(coefficients *all, uint64_t number) {
    all->largest = pl_larger(all->largest, number);
    all->divisor = common_divisor(number, all->divisor);
}

/* Returns a unit in which these numbers become small: their divisor, so that they are whole, or a
 * multiple of it. */
static double unit_for(coefficients all) {
    double unit = all.divisor > 0 ? (double)all.divisor : 1.0;
    while ((double)all.largest > LARGEST_COEFFICIENT * unit)
        unit *= 2.0;
    return unit;
}

/* Returns a number in this unit; 0 for numbers far below GLPK's tolerances, which would confuse
 * it. */
static double in_units(uint64_t number, double unit) {
    double coefficient = (double)number / unit;
    return coefficient < 1e-6 ? 0.0 : coefficient;
}

static coefficients costs_of(const pl_integer_program *s, pl_goal goal) {
    coefficients all = {0};
    for (size_t a = 0; a < s->num_columns; ++a)
        add_coefficient(&all, cost_of(s, goal, &s->columns[a]));
    return all;
}

/* ---- ways through the chain ---- */

/* Returns the row of columns that begin with a unit at a place; unit 0 has one row for all
 * places. */
static size_t *row_of(const pl_integer_program *s, size_t place, size_t unit) {
    return &s->row[(unit == 0 ? 0 : place) * s->problem->num_units + unit];
}

/* Adds the row of a unit and place, unless it is there. */
static void add_flow_row(pl_integer_program *s, size_t place, size_t unit) {
    size_t *row = row_of(s, place, unit);
    const double through = unit == 0 ? 1.0 : 0.0;
    if (*row == SIZE_MAX)
        *row = pl_mip_add_row(&s->program, through, through);
}

/* Adds rows by which one unit of flow leaves unit 0, and flow into a unit leaves it. */
static void add_flow_rows(pl_integer_program *s) {
    for (size_t i = 0; i < s->places.count * s->problem->num_units; ++i)
        s->row[i] = SIZE_MAX;
    add_flow_row(s, 0, 0);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        add_flow_row(s, c->stage, c->first_unit);
        if (c->last_unit + 1 < s->problem->num_units)
            add_flow_row(s, s->places.items[c->stage].next, c->last_unit + 1);
    }
}

/* Limits the number of stages where it is free. */
static void add_stages_row(pl_integer_program *s) {
    const pl_problem *p = s->problem;
    size_t most = p->max_stages;
    const size_t last = s->places.count - 1;
    if (!p->is_mapped && s->limits.max_ipus < most)
        most = (size_t)s->limits.max_ipus;
    if (s->places.items[last].next != last && (most == p->max_stages || p->is_mapped))
        return;
    double fewest = p->min_stages > 1 ? (double)p->min_stages : -INFINITY;
    size_t row = pl_mip_add_row(&s->program, fewest, (double)most);
    for (size_t a = 0; a < s->num_columns; ++a)
        pl_mip_add_entry(&s->program, row, a, 1.0);
}

/* Adds the columns with their costs, and the rows that make them a way through the chain. */
static void add_paths(pl_integer_program *s, pl_goal goal) {
    const coefficients costs = costs_of(s, goal);
    s->unit_of_one = unit_for(costs);
    s->is_goal_whole = costs.divisor == 0 || s->unit_of_one <= (double)costs.divisor;
    add_flow_rows(s);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        size_t end = c->last_unit + 1;
        double cost = in_units(cost_of(s, goal, c), s->unit_of_one);
        pl_mip_add_column(&s->program, true, cost);
        pl_mip_add_entry(&s->program, *row_of(s, c->stage, c->first_unit), a, 1.0);
        if (end < s->problem->num_units)
            pl_mip_add_entry(&s->program, *row_of(s, s->places.items[c->stage].next, end), a, -1.0);
    }
    add_stages_row(s);
}

/* Limits the sum of cut bytes, plus GLPK's tolerance: a smaller excess is found when the answer is
 * measured. */
static void add_cut_budget(pl_integer_program *s) {
    uint64_t budget_bytes = s->limits.max_cut_bytes;
    if (budget_bytes >= PL_MAX_CUT_BYTES)
        return;
    coefficients costs = costs_of(s, PL_GOAL_FEWEST_CUT_BYTES);
    costs.largest = budget_bytes;
    double scale = unit_for(costs);
    size_t row = pl_mip_add_row(&s->program, -INFINITY, (double)budget_bytes / scale + 1e-3);
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t bytes = cost_of(s, PL_GOAL_FEWEST_CUT_BYTES, &s->columns[a]);
        double value = in_units(bytes, scale);
        if (value > 0.0)
            pl_mip_add_entry(&s->program, row, a, value);
    }
}

popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error) {
    popliner_status status = collect(s, error);
    if (status != POPLINER_OK || s->num_columns == 0)
        return status;
    s->row =
        pl_arrays_new(&s->program.arrays, s->places.count * s->problem->num_units, sizeof *s->row);
    if (s->row == NULL)
        return pl_fail_memory(error, "the integer program");
    add_paths(s, goal);
    add_cut_budget(s);
    return POPLINER_OK;
}

/* ---- largest and smallest values ---- */

/* Returns the cycles or the peak of a column, by which IPUs are compared. */
static uint64_t value_of(const pl_integer_program *s, pl_measure measure, const pl_column *c) {
    const pl_place *at = &s->places.items[c->stage];
    if (s->problem->chooser != NULL) {
        const pl_wish wish = {s->limits, measure == PL_MEASURE_CYCLES};
        pl_load own;
        const popliner_interval stage = {c->first_unit, c->last_unit, at->to_end};
        pl_chooser_weigh(s->problem, &wish, &stage, at->stage + at->to_end, &own);
        return pl_load_value(&own, measure);
    }
    if (measure == PL_MEASURE_CYCLES)
        return pl_problem_cycles(s->problem, at->stage, c->first_unit, c->last_unit);
    const size_t place = pl_problem_place(s->problem, at->stage + at->to_end, at->stage);
    const uint64_t peak_bytes = pl_problem_peak(s->problem, c->first_unit, c->last_unit, place);
    const pl_load load = pl_problem_load(s->problem, at->stage, peak_bytes, 0);
    return pl_load_value(&load, measure);
}

/* Finds the values of the columns, and their unit. The largest is at least the largest, over units,
 * of the smallest value of a column with the unit. */
static uint64_t bound_values(const pl_integer_program *s, pl_measure measure, uint64_t *values,
                             uint64_t *least, double *unit) {
    coefficients all = {0};
    uint64_t bound = 0;
    memset(least, 0xff, s->problem->num_units * sizeof *least);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        values[a] = value_of(s, measure, c);
        add_coefficient(&all, values[a]);
        for (size_t i = c->first_unit; i <= c->last_unit; ++i)
            least[i] = pl_smaller(values[a], least[i]);
    }
    for (size_t i = 0; i < s->problem->num_units; ++i)
        bound = pl_larger(least[i], bound);
    *unit = unit_for(all);
    return bound;
}

/* Adds a column that is, by rows, at least (or at most) the value of the stage with each unit. */
static size_t add_cover(pl_integer_program *s, const uint64_t *values, double unit, double cost) {
    const size_t of = s->program.num_columns;
    const size_t first_row = s->program.num_rows;
    const bool is_largest = cost > 0.0;
    pl_mip_add_column(&s->program, false, cost);
    for (size_t r = 0; r < s->problem->num_units; ++r)
        pl_mip_add_entry(
            &s->program,
            pl_mip_add_row(&s->program, is_largest ? 0.0 : -INFINITY, is_largest ? INFINITY : 0.0),
            of, 1.0);
    for (size_t a = 0; a < s->num_columns; ++a) {
        const pl_column *c = &s->columns[a];
        const double value = in_units(values[a], unit);
        for (size_t r = c->first_unit; value > 0.0 && r <= c->last_unit; ++r)
            pl_mip_add_entry(&s->program, first_row + r, a, -value);
    }
    return of;
}

popliner_status pl_integer_program_add_values(pl_integer_program *s, pl_measure measure,
                                              bool is_spread, uint64_t max_spread, double *unit,
                                              popliner_error *error) {
    uint64_t *values = pl_arrays_new(&s->program.arrays, s->num_columns, sizeof *values);
    uint64_t *least = pl_arrays_new(&s->program.arrays, s->problem->num_units, sizeof *least);
    if (values == NULL || least == NULL)
        return pl_fail_memory(error, "the values of the integer program");
    const uint64_t bound = bound_values(s, measure, values, least, unit);
    for (size_t a = 0; !is_spread && a < s->num_columns; ++a)
        values[a] = pl_larger(values[a], bound);
    const size_t largest = add_cover(s, values, *unit, 1.0);
    if (!is_spread)
        return POPLINER_OK;
    const size_t smallest = add_cover(s, values, *unit, -1.0);
    if (max_spread == UINT64_MAX)
        return POPLINER_OK;
    const size_t row = pl_mip_add_row(&s->program, -INFINITY, (double)max_spread / *unit + 1e-3);
    pl_mip_add_entry(&s->program, row, largest, 1.0);
    pl_mip_add_entry(&s->program, row, smallest, -1.0);
    return POPLINER_OK;
}

/* ---- answers ---- */

/* GLPK's memory limit; beyond it, GLPK fails cleanly. */
enum { GLPK_MEMORY_MIB = 1024 };

/* Turns the chosen columns into stages. */
static popliner_status read_answer(const pl_integer_program *s, pl_split *split,
                                   popliner_error *error) {
    size_t unit = 0;
    size_t num_chosen = 0;
    /* columns are sorted by place, then first unit, and so are the stages of a split */
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

popliner_status pl_integer_program_solve(pl_integer_program *s, const pl_stop *stop,
                                         pl_mip_outcome *outcome, pl_split *split,
                                         popliner_error *error) {
    const pl_mip *program = &s->program;
    pl_glpk_limits limits = {GLPK_MEMORY_MIB, stop};
    popliner_status status = pl_integer_program_check(s, error);
    if (status != POPLINER_OK)
        return status;
    pl_tell(s->problem->options->listener, POPLINER_LEVEL_DEBUG,
            "integer program: %zu intervals, %zu rows, %zu entries", s->num_columns,
            program->num_rows, program->num_entries);
    if (!pl_arrays_grow(&s->program.arrays, &s->values, program->num_columns, sizeof *s->values))
        return pl_fail_memory(error, "the answer of the integer program");
    status = pl_glpk_solve(program, &limits, s->values, outcome, error);
    if (status != POPLINER_OK || (*outcome != PL_MIP_OPTIMAL && *outcome != PL_MIP_FEASIBLE))
        return status;
    return read_answer(s, split, error);
}

void pl_integer_program_exclude(pl_integer_program *s) {
    size_t num_chosen = 0;
    for (size_t a = 0; a < s->num_columns; ++a)
        num_chosen += s->values[a] > 0.5;
    const size_t row = pl_mip_add_row(&s->program, -INFINITY, (double)num_chosen - 1.0);
    for (size_t a = 0; a < s->num_columns; ++a)
        if (s->values[a] > 0.5)
            pl_mip_add_entry(&s->program, row, a, 1.0);
}

/* ---- a mixed-integer program in plain arrays ---- */

/* Makes room for one item more; false if there is none, or was none before. */
static bool grow(pl_mip *program, void *array, size_t count, size_t item_size) {
    program->arrays.failed = program->arrays.failed || count >= MAX_ENTRIES;
    return pl_arrays_grow(&program->arrays, array, count + 1, item_size);
}

size_t pl_mip_add_row(pl_mip *program, double lower, double upper) {
    if (grow(program, &program->rows, program->num_rows, sizeof *program->rows))
        program->rows[program->num_rows++] = (pl_mip_row){lower, upper};
    return program->num_rows - 1;
}

void pl_mip_add_column(pl_mip *program, bool binary, double cost) {
    if (grow(program, &program->columns, program->num_columns, sizeof *program->columns))
        program->columns[program->num_columns++] = (pl_mip_column){binary, cost};
}

void pl_mip_add_entry(pl_mip *program, size_t row, size_t column, double value) {
    const size_t last = program->num_entries + 1;
    pl_arrays *arrays = &program->arrays;
    arrays->failed = arrays->failed || program->num_entries >= MAX_ENTRIES;
    if (!pl_arrays_grow(arrays, &program->entry_rows, last + 1, sizeof *program->entry_rows) ||
        !pl_arrays_grow(arrays, &program->entry_columns, last + 1, sizeof(int)) ||
        !pl_arrays_grow(arrays, &program->entry_values, last + 1, sizeof(double)))
        return;
    program->num_entries = last;
    program->entry_rows[last] = (int)row + 1;
    program->entry_columns[last] = (int)column + 1;
    program->entry_values[last] = value;
}
