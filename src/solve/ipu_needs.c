/* Which limit one IPU needs. A stage may be any interval between stages before it that reach its
 * beginning and stages after it that continue at its end. Which ones do does not depend on the
 * stage's own limit. So the smallest such interval is what its IPU needs, and no limits have to be
 * tried.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/stage_rule.h"

#include <stdlib.h>
#include <string.h>

/* Rows of marks by unit; the last mark is the end of the chain. */
typedef struct needs_pass {
    const pl_problem *problem;
    const pl_limits *limits;
    size_t width;  /* units + 1 */
    bool is_exact; /* a row is for exactly its number of stages, not at most */
    size_t num_places;
    size_t num_apart; /* places with rows of their own */
    uint8_t *front;   /* [num_places + 1][width]: the stages before the place can end here */
    uint8_t *rest;    /* [num_apart + 1][width]: the stages from the place on can begin here */
    /* [num_plain][width]: like `rest`, for the places after these, by number of stages */
    uint8_t *plain;
    size_t num_plain;
    size_t *next;  /* [width + 1]: the first mark of a row from a unit on; width if there is none */
    size_t *count; /* [width + 1] */
    pl_stage_ends ends;
    pl_arrays arrays; /* own those above */
} needs_pass;

static popliner_status begin_pass(needs_pass *pass, popliner_error *error) {
    const pl_problem *p = pass->problem;
    size_t num_special = pl_problem_num_special(p, pass->limits);
    pass->width = p->num_units + 1;
    pass->is_exact = p->depends_on_end || p->is_mapped;
    pass->num_apart = num_special > pass->num_places ? num_special : pass->num_places;
    if (pass->num_apart > p->max_stages)
        pass->num_apart = p->max_stages;
    pass->num_plain = p->max_stages - pass->num_apart + 1;
    pl_arrays *a = &pass->arrays;
    pass->front = pl_arrays_new(a, (pass->num_places + 1) * pass->width, sizeof *pass->front);
    pass->rest = pl_arrays_new(a, (pass->num_apart + 1) * pass->width, sizeof *pass->rest);
    pass->plain = pl_arrays_new(a, pass->num_plain * pass->width, sizeof *pass->plain);
    pass->next = pl_arrays_new(a, pass->width + 1, sizeof *pass->next);
    pass->count = pl_arrays_new(a, pass->width + 1, sizeof *pass->count);
    return a->failed ? pl_fail_memory(error, "the needs of IPUs") : POPLINER_OK;
}

/* Finds the ends of a stage; with any memory if its need is requested. */
static popliner_status find_ends(needs_pass *pass, size_t stage, size_t to_end, bool is_asked,
                                 popliner_error *error) {
    pl_stage_rule rule = pl_stage_rule_of(pass->problem, pass->limits, stage, to_end);
    if (is_asked)
        rule.max_peak_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    return pl_stage_ends_find(&pass->ends, &rule, (pl_begin_range){0, pass->width - 2}, NULL,
                              error);
}

/* Finds the next mark in a row at which a stage may end. */
static void find_next(needs_pass *pass, const uint8_t *row) {
    pass->next[pass->width] = pass->width;
    for (size_t unit = pass->width; unit-- > 0;)
        pass->next[unit] =
            row[unit] != 0 && pass->problem->may_cut[unit] != 0 ? unit : pass->next[unit + 1];
}

/* Returns the first end, from `end` on, at which a stage that begins with the unit continues; width
 * if there is none. */
static size_t next_end(const needs_pass *pass, size_t unit, size_t end) {
    const pl_stage_ends *e = &pass->ends;
    for (end = pass->next[end]; end < e->to[unit]; end = pass->next[end + 1])
        if (e->is_ordered || e->ok[e->row[unit] + end - e->from[unit]] != 0)
            return end;
    return pass->width;
}

static bool may_begin(const needs_pass *pass, size_t unit) {
    return pass->problem->may_cut[unit] != 0 && pass->ends.from[unit] < pass->ends.to[unit];
}

/* Marks the units with which a stage can begin that continues in the row `after`. */
static popliner_status fill_rest(needs_pass *pass, size_t stage, size_t to_end,
                                 const uint8_t *after, uint8_t *row, popliner_error *error) {
    size_t n = pass->width - 1;
    popliner_status status = find_ends(pass, stage, to_end, false, error);
    if (status != POPLINER_OK)
        return status;
    find_next(pass, after);
    for (size_t unit = 0; unit < n; ++unit)
        row[unit] =
            may_begin(pass, unit) && next_end(pass, unit, pass->ends.from[unit]) < pass->width;
    row[n] = !pass->is_exact;
    return POPLINER_OK;
}

/* Marks the units that the next stage can begin with, from those of this stage. */
static popliner_status fill_front(needs_pass *pass, size_t stage, size_t to_end,
                                  popliner_error *error) {
    const uint8_t *from = pass->front + stage * pass->width;
    uint8_t *after = pass->front + (stage + 1) * pass->width;
    const pl_stage_ends *e = &pass->ends;
    size_t n = pass->width - 1;
    popliner_status status = find_ends(pass, stage, to_end, false, error);
    if (status != POPLINER_OK)
        return status;
    memset(after, 0, pass->width);
    memset(pass->count, 0, (pass->width + 1) * sizeof *pass->count);
    for (size_t unit = 0; unit < n; ++unit) {
        if (from[unit] == 0 || !may_begin(pass, unit))
            continue;
        if (e->is_ordered) {
            ++pass->count[e->from[unit]];
            --pass->count[e->to[unit]]; /* modulo 2^64 the order does not matter */
        }
        for (size_t end = e->from[unit]; !e->is_ordered && end < e->to[unit]; ++end)
            after[end] |= e->ok[e->row[unit] + end - e->from[unit]] & pass->problem->may_cut[end];
    }
    size_t num_open = 0;
    for (size_t end = 1; e->is_ordered && end <= n; ++end) {
        num_open += pass->count[end];
        after[end] = num_open > 0 && pass->problem->may_cut[end] != 0;
    }
    return POPLINER_OK;
}

/* Finds the smallest interval of a stage between the stages before and after it. */
static popliner_status find_smallest(needs_pass *pass, size_t stage, size_t to_end,
                                     const uint8_t *after, uint64_t *bytes, popliner_error *error) {
    const pl_problem *p = pass->problem;
    const uint8_t *from = pass->front + stage * pass->width;
    const size_t place = pl_costs_place(p->costs, stage + to_end, stage);
    popliner_status status = find_ends(pass, stage, to_end, true, error);
    if (status != POPLINER_OK)
        return status;
    find_next(pass, after);
    for (size_t unit = 0; unit + 1 < pass->width; ++unit) {
        size_t end = from[unit] != 0 && may_begin(pass, unit)
                         ? next_end(pass, unit, pass->ends.from[unit])
                         : pass->width;
        while (end < pass->width) {
            uint64_t peak_bytes = popliner_costs_peak(p->costs, unit, end - 1, place);
            *bytes = peak_bytes < *bytes ? peak_bytes : *bytes;
            /* in a window, the first end needs least */
            end = pass->ends.is_ordered ? pass->width : next_end(pass, unit, end + 1);
        }
    }
    return POPLINER_OK;
}

/* Returns the row of the places after `stage`, in pipelines of num_stages stages. */
static const uint8_t *row_after(const needs_pass *pass, size_t stage, size_t num_stages) {
    size_t num_apart = pass->num_apart < num_stages ? pass->num_apart : num_stages;
    return stage + 1 < num_apart ? pass->rest + (stage + 1) * pass->width
                                 : pass->plain + (num_stages - num_apart) * pass->width;
}

/* Adds the needs in pipelines of num_stages stages, or, if their number does not matter, of at most
 * num_stages. */
static popliner_status add_needs(needs_pass *pass, size_t num_stages, uint64_t *bytes,
                                 popliner_error *error) {
    size_t known = pass->problem->costs->max_stages_to_end;
    popliner_status status = POPLINER_OK;
    for (size_t stage = pass->num_apart < num_stages ? pass->num_apart : num_stages;
         status == POPLINER_OK && stage-- > 1;)
        status = fill_rest(pass, stage, num_stages - stage, row_after(pass, stage, num_stages),
                           pass->rest + stage * pass->width, error);
    for (size_t stage = 0; stage < pass->num_places && stage < num_stages; ++stage) {
        size_t to_end = num_stages - stage;
        if (status == POPLINER_OK)
            status = find_smallest(pass, stage, to_end < known ? to_end : known,
                                   row_after(pass, stage, num_stages), &bytes[stage], error);
        if (status == POPLINER_OK && stage + 1 < pass->num_places)
            status = fill_front(pass, stage, to_end, error);
    }
    return status;
}

static bool is_stopped(const pl_stop *stop, uint64_t *bytes, size_t num_places) {
    if (!pl_stop_is_wanted(stop))
        return false;
    for (size_t place = 0; place < num_places; ++place)
        bytes[place] = POPLINER_PEAK_FORBIDDEN;
    return true;
}

popliner_status pl_ipu_needs_find(const pl_problem *problem, const pl_limits *limits,
                                  size_t num_places, const pl_stop *stop, uint64_t *bytes,
                                  popliner_error *error) {
    needs_pass pass = {.problem = problem, .limits = limits, .num_places = num_places};
    for (size_t place = 0; place < num_places; ++place)
        bytes[place] = POPLINER_PEAK_FORBIDDEN;
    if (num_places == 0 || problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    popliner_status status = begin_pass(&pass, error);
    if (status != POPLINER_OK)
        goto done;
    pass.front[0] = 1;
    pass.plain[problem->num_units] = 1;
    for (size_t t = 1; status == POPLINER_OK && t < pass.num_plain; ++t) {
        uint8_t *row = pass.plain + t * pass.width;
        if (is_stopped(stop, bytes, num_places))
            goto done;
        status = fill_rest(&pass, pass.num_apart, t, row - pass.width, row, error);
    }
    size_t first = pass.is_exact ? problem->min_stages : problem->max_stages;
    for (size_t m = first; status == POPLINER_OK && m <= problem->max_stages; ++m) {
        if (is_stopped(stop, bytes, num_places))
            goto done;
        status = add_needs(&pass, m, bytes, error);
    }
done:
    pl_stage_ends_free(&pass.ends);
    pl_arrays_free(&pass.arrays);
    return status;
}
