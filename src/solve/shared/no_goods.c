/* The best split by integer programs, if stages share IPUs.
 *
 * Why the answers are exact although GLPK uses floating point:
 *
 * Integers decide which intervals may be stages: intervals that the filter does not admit, and
 * those that no split can contain, have no column. So any answer of GLPK, read back as a path
 * through the chain, is a split. Its values are recomputed in integers. If they are outside the
 * filter, a row forbids the split and all splits that must be as bad, and the program is solved
 * again. Only GLPK's claim that no split is better depends on a tolerance; near ties are excluded
 * one by one until it is certain.
 *
 * Stages on one IPU: if the peak of a stage never falls when it grows, stages that need too much
 * together need too much in every split in which each of them is contained in a stage of the same
 * IPU. One row forbids all of these splits. Otherwise a row can forbid only these very stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/integer_program.h"

#include <stdlib.h>
#include <string.h>

/* The number of near ties, beyond GLPK's tolerance, that are tried one by one. */
enum { MAX_EXCLUDED_SPLITS = 100 };

/* The number of answers that need too much, if another search can take over. Each makes the next
 * program larger, and with several shared IPUs there may be hundreds. */
enum { MAX_NO_GOODS = 16 };

/* The earliest cuts take a program for each cut. Larger ones would hardly end. */
enum { MOST_ENTRIES_OF_EARLIEST = 1000000 };

/* The peaks by stage and the values of a split. */
typedef struct measured {
    uint64_t *peaks_bytes;     /* [stages] */
    popliner_interval *stages; /* [stages]: scratch for a no-good */
    pl_objective_values values;
} measured;

/* Adds the peak of an IPU. stages[width] are all stages of the device map; first_stage_on_ipu tells
 * which of them count. Errors: MEMORY. */
static popliner_status shared_add(pl_shared *shared, size_t width, const popliner_interval *stages,
                                  size_t first_stage_on_ipu, uint64_t peak_bytes,
                                  popliner_error *error) {
    const pl_column_room columns[] = {{&shared->intervals, width * sizeof *shared->intervals},
                                      PL_COLUMN_ROOM(shared->first_stage),
                                      PL_COLUMN_ROOM(shared->peak_bytes)};
    if (!pl_grow_columns(columns, 3, &shared->capacity, shared->count + 1))
        return pl_fail_memory(error, "the stages that share an IPU");
    memcpy(shared->intervals + shared->count * width, stages, width * sizeof *stages);
    shared->first_stage[shared->count] = first_stage_on_ipu;
    shared->peak_bytes[shared->count++] = peak_bytes;
    return POPLINER_OK;
}

/* Stores stages that need more together than is allowed. */
static popliner_status add_no_good(const pl_integer_program *s, const pl_split *split, size_t stage,
                                   const measured *m, pl_shared *shared, popliner_error *error) {
    for (size_t other = 0; other < split->num_stages; ++other)
        m->stages[other] = pl_split_interval(s->problem, split, other);
    return shared_add(shared, s->problem->options->num_mapped_stages, m->stages, stage,
                      m->peaks_bytes[stage], error);
}

/* Appends the stages of an IPU to `count` conditions; returns the new count. */
static size_t list_ipu(const pl_integer_program *s, const pl_split *split, size_t first_stage,
                       pl_relation how, pl_condition *conditions, size_t count) {
    for (size_t stage = 0; stage < split->num_stages; ++stage)
        if (s->problem->first_on_ipu[stage] == first_stage)
            conditions[count++] =
                (pl_condition){stage, pl_split_interval(s->problem, split, stage), how};
    return count;
}

static uint64_t cycles_of_ipu(const pl_integer_program *s, const pl_split *split,
                              size_t first_stage) {
    uint64_t cycles = 0;
    for (size_t stage = 0; stage < split->num_stages; ++stage) {
        popliner_interval it = pl_split_interval(s->problem, split, stage);
        if (s->problem->first_on_ipu[stage] == first_stage)
            cycles = pl_add_or_never(
                cycles, pl_problem_cycles(s->problem, stage, it.first_unit, it.last_unit));
    }
    return cycles;
}

/* State of a search by one program after another. */
typedef struct search {
    const pl_shared_search *asked;
    pl_integer_program *s;
    pl_condition *conditions;
    measured *m;
    pl_split *best;
    pl_search_result *result;
    bool *gave_up;
    popliner_error *error;

    uint64_t best_bytes;
    size_t num_no_goods;
    pl_split split;   /* the last program's answer */
    double objective; /* its value in scaled units */
    bool is_done;
} search;

/* Forbids the IPU whose first stage is i if it alone needs too much. *is_fine: it does not. */
static popliner_status forbid_ipu(search *r, size_t i, bool *is_fine) {
    pl_integer_program *s = r->s;
    const pl_filter *f = &s->filter;
    bool is_too_large = r->m->peaks_bytes[i] >
                        pl_limits_peak(s->problem, &f->limits, pl_problem_ipu(s->problem, i));
    *is_fine = !is_too_large && cycles_of_ipu(s, &r->split, i) <= f->limits.max_cycles;
    if (*is_fine)
        return POPLINER_OK;
    bool grows = is_too_large ? s->peaks_never_shrink : s->cycles_never_shrink;
    size_t count = list_ipu(s, &r->split, i, grows ? PL_CONTAINS : PL_SAME, r->conditions, 0);
    pl_integer_program_forbid(s, r->conditions, count);
    return is_too_large ? add_no_good(s, &r->split, i, r->m, r->asked->shared, r->error)
                        : POPLINER_OK;
}

/* Forbids the IPU whose first stage is i together with each IPU that needs too much less for the
 * allowed spread. True if there is none. */
static bool forbid_spread(search *r, size_t i) {
    pl_integer_program *s = r->s;
    const pl_filter *f = &s->filter;
    bool of_cycles = f->spread_is_of_cycles;
    bool grows = of_cycles ? s->cycles_never_shrink : s->peaks_never_shrink;
    uint64_t value = of_cycles ? cycles_of_ipu(s, &r->split, i) : r->m->peaks_bytes[i];
    bool is_fine = true;
    for (size_t j = 0; j < r->split.num_stages; ++j) {
        uint64_t other = of_cycles ? cycles_of_ipu(s, &r->split, j) : r->m->peaks_bytes[j];
        if (s->problem->first_on_ipu[j] != j || other >= value || value - other <= f->max_spread)
            continue;
        is_fine = false;
        size_t count = list_ipu(s, &r->split, i, grows ? PL_CONTAINS : PL_SAME, r->conditions, 0);
        count = list_ipu(s, &r->split, j, grows ? PL_IS_PART_OF : PL_SAME, r->conditions, count);
        pl_integer_program_forbid(s, r->conditions, count);
    }
    return is_fine;
}

/* Forbids IPUs that need too much, alone or compared with another one, and all that must be as bad
 * for the same reason. *is_fine: nothing was forbidden. */
static popliner_status forbid_ipus(search *r, bool *is_fine) {
    *is_fine = true;
    for (size_t i = 0; i < r->split.num_stages; ++i) {
        bool is_small = true;
        if (r->s->problem->first_on_ipu[i] != i)
            continue;
        popliner_status status = forbid_ipu(r, i, &is_small);
        if (status != POPLINER_OK)
            return status;
        *is_fine = forbid_spread(r, i) && is_small && *is_fine;
    }
    return POPLINER_OK;
}

/* Forbids exactly this split. */
static void exclude(pl_integer_program *s, const pl_split *split, pl_condition *conditions) {
    for (size_t i = 0; i < split->num_stages; ++i)
        conditions[i] = (pl_condition){i, pl_split_interval(s->problem, split, i), PL_SAME};
    pl_integer_program_forbid(s, conditions, split->num_stages);
}

/* Solves the current program. The search is done if it has no answer, or none as good as the best
 * one. */
static popliner_status ask(search *r) {
    pl_integer_program *s = r->s;
    pl_mip_outcome outcome = PL_MIP_UNSOLVED;
    r->objective = 0.0;
    pl_split_clear(&r->split);
    popliner_error failure;
    popliner_status status = pl_integer_program_solve(s, r->asked->stop, r->asked->listener,
                                                      &outcome, &r->objective, &r->split, &failure);
    r->is_done = true;
    if (status == POPLINER_ERROR_INTERNAL && outcome == PL_MIP_TOO_LARGE) {
        pl_tell(r->asked->listener, POPLINER_LEVEL_WARNING, "%s.", failure.message);
        outcome = PL_MIP_UNSOLVED; /* other methods may know a split */
    } else if (status != POPLINER_OK) {
        return pl_fail(r->error, status, "%s", failure.message);
    }
    if (outcome == PL_MIP_UNSOLVED || outcome == PL_MIP_FEASIBLE) {
        r->result->is_stopped = true;
        return POPLINER_OK;
    }
    double known = (double)r->best_bytes / s->unit_of_one;
    if (outcome == PL_MIP_IMPOSSIBLE ||
        (r->best->num_stages > 0 &&
         r->objective > known + 2 * pl_integer_program_tolerance(known))) {
        r->result->bound_bytes = r->best_bytes;
        return POPLINER_OK;
    }
    r->is_done = false;
    return pl_split_evaluate(s->problem, &r->split, &r->m->values, r->m->peaks_bytes, r->error);
}

/* Keeps the answer if it is better than the best one, and forbids it. */
static void take(search *r) {
    bool is_within = pl_filter_admits(&r->s->filter, &r->m->values);
    bool is_better = is_within && r->m->values.cut_bytes < r->best_bytes;
    exclude(r->s, &r->split, r->conditions);
    if (is_better || (is_within && r->best->num_stages == 0)) {
        r->best_bytes = r->m->values.cut_bytes;
        pl_split_move(r->best, &r->split);
        if (r->asked->goal != PL_GOAL_FEWEST_CUT_BYTES) {
            r->is_done = true;
            return;
        }
    }
    /* capped sums are all equal */
    if (r->best_bytes == 0 || r->best_bytes >= PL_MAX_CUT_BYTES) {
        r->result->bound_bytes = r->best->num_stages > 0 ? r->best_bytes : 0;
        r->is_done = r->best->num_stages > 0;
    }
}

/* Solves one program after another, until the answer is within the filter and, for the goal
 * FEWEST_CUT_BYTES, proven. Gives up after too many no-goods, if the caller allows it. */
static popliner_status run(search *r) {
    pl_integer_program *s = r->s;
    for (size_t ties = 0; ties <= MAX_EXCLUDED_SPLITS;) {
        bool is_fine = true;
        popliner_status status = ask(r);
        if (status != POPLINER_OK || r->is_done)
            return status;
        status = forbid_ipus(r, &is_fine);
        if (status != POPLINER_OK)
            return status;
        if (!is_fine) {
            if (++r->num_no_goods <= MAX_NO_GOODS || r->gave_up == NULL)
                continue;
            *r->gave_up = true;
            pl_split_clear(r->best);
            return POPLINER_OK;
        }
        take(r);
        if (r->is_done)
            return POPLINER_OK;
        ++ties;
        double bound = (r->objective - pl_integer_program_tolerance(r->objective)) * s->unit_of_one;
        r->result->bound_bytes = bound >= (double)r->best_bytes ? r->best_bytes
                                 : bound > 0.0                  ? (uint64_t)bound
                                                                : 0;
    }
    pl_tell(r->asked->listener, POPLINER_LEVEL_WARNING,
            "More than %d splits differ by a few bytes, too few for GLPK; the best split may be "
            "another one.",
            MAX_EXCLUDED_SPLITS);
    if (r->best->num_stages == 0)
        r->result->is_stopped = true;
    return POPLINER_OK;
}

/* Like pl_no_goods_search, except for the goal EARLIEST_CUTS; the first stages may be fixed. */
static popliner_status find(const pl_shared_search *asked, const pl_filter *filter,
                            const pl_split *fixed, pl_split *split, pl_search_result *result,
                            bool *gave_up, popliner_error *error) {
    const pl_problem *problem = asked->problem;
    size_t num_stages = problem->options->num_mapped_stages;
    pl_integer_program s = {
        .problem = problem,
        .filter = *filter,
        .fixed = fixed,
        .most_entries = asked->goal == PL_GOAL_EARLIEST_CUTS ? MOST_ENTRIES_OF_EARLIEST : 0,
        .peaks_never_shrink = pl_costs_shared_peak_never_shrinks(problem->costs),
        .cycles_never_shrink =
            pl_costs_cycles_never_shrink(problem->costs) && !pl_links_exist(problem->options)};
    pl_arrays arrays = {0};
    pl_condition *conditions = pl_arrays_new(&arrays, 2 * num_stages, sizeof *conditions);
    measured m = {.peaks_bytes = pl_arrays_new(&arrays, num_stages, sizeof *m.peaks_bytes),
                  .stages = pl_arrays_new(&arrays, num_stages, sizeof *m.stages)};
    search r = {.asked = asked,
                .s = &s,
                .conditions = conditions,
                .m = &m,
                .best = split,
                .result = result,
                .gave_up = gave_up,
                .error = error,
                .best_bytes = UINT64_MAX};
    popliner_status status = arrays.failed ? pl_fail_memory(error, "the integer program")
                                           : pl_integer_program_build(&s, asked->goal, error);
    if (status == POPLINER_OK && s.num_columns > 0)
        pl_integer_program_forbid_known(&s, asked->shared, conditions);
    if (s.is_too_large)
        *(gave_up != NULL ? gave_up : &result->is_stopped) = true;
    if (status == POPLINER_OK && s.num_columns > 0)
        status = run(&r);
    pl_split_clear(&r.split);
    pl_integer_program_clear(&s);
    pl_arrays_free(&arrays);
    return status;
}

/* Returns the smallest peak above `above_bytes` of a stage alone, or of measured stages on one
 * IPU. */
static uint64_t next_peak(const pl_problem *problem, const pl_shared *shared,
                          uint64_t above_bytes) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < shared->count; ++i)
        if (shared->peak_bytes[i] > above_bytes && shared->peak_bytes[i] < next)
            next = shared->peak_bytes[i];
    for (size_t to_end = 1; to_end <= (problem->depends_on_end ? problem->max_stages : 1); ++to_end)
        for (size_t first = 0; first < problem->num_units; ++first)
            for (size_t last = first; last < problem->num_units; ++last) {
                uint64_t bytes = popliner_costs_peak(problem->costs, first, last, to_end);
                if (bytes > above_bytes && bytes < next)
                    next = bytes;
            }
    return next;
}

/* Finds the split with the earliest cuts, one cut after another. */
static popliner_status find_earliest(const pl_shared_search *asked, const pl_filter *filter,
                                     pl_split *split, pl_search_result *result, bool *gave_up,
                                     popliner_error *error) {
    pl_split fixed = {0};
    pl_split found = {0};
    popliner_status status = POPLINER_OK;
    for (size_t stage = 0; stage < asked->problem->max_stages; ++stage) {
        pl_split_clear(&found);
        if (stage > 0)
            status = find(asked, filter, &fixed, &found, result, gave_up, error);
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

popliner_status pl_no_goods_search(const pl_shared_search *asked, const pl_filter *filter,
                                   pl_split *split, pl_search_result *result, bool *gave_up,
                                   popliner_error *error) {
    const pl_problem *problem = asked->problem;
    *result = (pl_search_result){.proof = POPLINER_PROOF_INTEGER_PROGRAM};
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    if (asked->goal == PL_GOAL_EARLIEST_CUTS && problem->max_stages > 1)
        return find_earliest(asked, filter, split, result, gave_up, error);
    popliner_status status = find(asked, filter, NULL, split, result, gave_up, error);
    if (split->num_stages == 0)
        result->next_peak_bytes = next_peak(problem, asked->shared, filter->limits.max_peak_bytes);
    return status;
}
