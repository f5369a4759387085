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
#include "solve/stage_search.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/shared_search.h"
#include "solve/stage_program.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Near ties beyond GLPK's tolerance that are looked at one by one before the search is given up. */
enum { MOST_EXCLUDED_SPLITS = 100 };

/* The dynamic program's word is taken for more intervals than this. */
enum { MOST_CHECKED_COLUMNS = 12000 };

/* Programs whose answer needs too much before the search over all stages takes over: each makes the next
 * one larger, and where several IPUs are shared there may be hundreds. */
enum { MOST_LESSONS = 16 };

/* What GLPK may take; it fails, cleanly, when it wants more. */
enum { GLPK_MEMORY_MIB = 1024 };

/* Solves the program; the split, empty before, is what GLPK chose. */
static popliner_status solve(pl_stage_program *s, const pl_stop *stop,
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
static popliner_status learn(const pl_stage_program *s, const pl_split *split, size_t stage,
                             const measured *m, pl_shared *shared, popliner_error *error) {
    for (size_t other = 0; other < split->num_stages; ++other)
        m->stages[other] = pl_split_interval(s->problem, split, other);
    return pl_shared_add(shared, s->problem->options->num_mapped_stages, m->stages, stage,
                         m->peaks_bytes[stage], error);
}

/* Lists, behind `count` conditions, the stages of an IPU. */
static size_t list_ipu(const pl_stage_program *s, const pl_split *split, size_t first_stage,
                       pl_relation how, pl_condition *conditions, size_t count) {
    for (size_t stage = 0; stage < split->num_stages; ++stage)
        if (s->problem->first_on_ipu[stage] == first_stage)
            conditions[count++] =
                (pl_condition){stage, pl_split_interval(s->problem, split, stage), how};
    return count;
}

static uint64_t cycles_of_ipu(const pl_stage_program *s, const pl_split *split,
                              size_t first_stage) {
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
static popliner_status forbid_ipus(pl_stage_program *s, const pl_split *split, const measured *m,
                                   pl_shared *shared, pl_condition *conditions, bool *is_fine,
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
            size_t count = list_ipu(s, split, i, grows ? PL_CONTAINS : PL_SAME, conditions, 0);
            status = pl_stage_program_forbid(s, conditions, count, error);
        }
        *is_fine = *is_fine && !is_too_large && !is_too_slow;
        uint64_t value = f->spread_is_of_cycles ? cycles : peak;
        for (size_t j = 0; status == POPLINER_OK && j < split->num_stages; ++j) {
            uint64_t other =
                f->spread_is_of_cycles ? cycles_of_ipu(s, split, j) : m->peaks_bytes[j];
            if (p->first_on_ipu[j] != j || other >= value || value - other <= f->most_spread)
                continue;
            *is_fine = false;
            size_t count =
                list_ipu(s, split, i, spread_grows ? PL_CONTAINS : PL_SAME, conditions, 0);
            count =
                list_ipu(s, split, j, spread_grows ? PL_IS_PART_OF : PL_SAME, conditions, count);
            status = pl_stage_program_forbid(s, conditions, count, error);
        }
    }
    return status;
}

/* Forbids just this split. */
static popliner_status exclude(pl_stage_program *s, const pl_split *split, pl_condition *conditions,
                               popliner_error *error) {
    for (size_t i = 0; i < split->num_stages; ++i)
        conditions[i] = (pl_condition){s->num_places > 1 ? i : 0,
                                       pl_split_interval(s->problem, split, i), PL_SAME};
    return pl_stage_program_forbid(s, conditions, split->num_stages, error);
}

/* One program after another, until its answer is within the filter and, if the goal is the fewest
 * cut bytes, as good as any. When there is too much to learn, pl_shared_search has to answer. */
static popliner_status search(pl_stage_program *s, pl_goal goal, const pl_stop *stop,
                              const popliner_listener *listener, pl_shared *shared,
                              pl_condition *conditions, measured *m, pl_split *best,
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

/* pl_stage_search with the first stages fixed. */
static popliner_status find(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                            const pl_split *fixed, const pl_stop *stop,
                            const popliner_listener *listener, pl_shared *shared, pl_split *split,
                            pl_program_result *result, popliner_error *error) {
    pl_stage_program s = {.problem = problem,
                          .filter = *filter,
                          .num_places = problem->options->num_mapped_stages,
                          .fixed = fixed,
                          .peaks_never_shrink = pl_costs_shared_peak_never_shrinks(problem->costs),
                          .cycles_never_shrink = pl_costs_cycles_never_shrink(problem->costs)};
    measured m = {0};
    pl_condition *conditions = pl_new_array(2 * s.num_places, sizeof *conditions);
    m.peaks_bytes = pl_new_array(s.num_places, sizeof *m.peaks_bytes);
    m.stages = pl_new_array(s.num_places, sizeof *m.stages);
    popliner_status status = conditions == NULL || m.peaks_bytes == NULL || m.stages == NULL
                                 ? pl_fail_memory(error, "the integer program")
                                 : POPLINER_OK;
    if (status == POPLINER_OK)
        status = pl_stage_program_build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns > 0)
        status = pl_stage_program_forbid_known(&s, shared, conditions, error);
    if (status == POPLINER_OK && s.num_columns > 0)
        status = search(&s, goal, stop, listener, shared, conditions, &m, split, result, error);
    pl_stage_program_clear(&s);
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

popliner_status pl_stage_search(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                const pl_stop *stop, const popliner_listener *listener,
                                pl_shared *shared, pl_split *split, pl_program_result *result,
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

popliner_status pl_stage_search_check(const pl_problem *problem, const pl_filter *filter,
                                      pl_goal goal, const uint64_t *best, const pl_stop *stop,
                                      const popliner_listener *listener, popliner_error *error) {
    if (problem->depends_on_ipu || problem->depends_on_end || problem->is_mapped ||
        filter->most_spread != UINT64_MAX)
        return POPLINER_OK;
    pl_stage_program s = {.problem = problem, .filter = *filter, .num_places = 1};
    pl_split split = {0};
    pl_worth worth = {0};
    double objective = 0.0;
    pl_program_outcome outcome = PL_PROGRAM_UNSOLVED;
    popliner_status status = pl_stage_program_collect(&s, error);
    if (status != POPLINER_OK || (best == NULL && s.num_columns == 0))
        goto done;
    if (s.num_columns > MOST_CHECKED_COLUMNS) {
        pl_tell(listener, POPLINER_LEVEL_DEBUG,
                "%zu intervals are too many for GLPK to be asked for a second opinion",
                s.num_columns);
        goto done;
    }
    s.num_columns = 0;
    status = pl_stage_program_build(&s, goal, error);
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
    pl_stage_program_clear(&s);
    pl_split_clear(&split);
    return status;
}
