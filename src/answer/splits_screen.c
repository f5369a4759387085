/* Several splits for people: a row for each, with its memory against the limit and its verdict.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/structs.h"
#include "base/text.h"
#include "popliner/screen.h"
#include "solve/objective.h"

enum { MOST_ROWS = 40, MOST_CUTS = 24, NARROW = 80 };

enum { NUM_CELLS = 4 };

/* A split, or candidates without one that share their row. */
typedef struct split_row {
    const popliner_plan *plan; /* NULL: none is known */
    const popliner_replicas_candidate *candidate;
    size_t place;         /* of the value, point or candidate */
    size_t last_num_ipus; /* of candidates that share it; 0: there is one */
    uint64_t limit_bytes; /* of each IPU without its own; POPLINER_TARGET_BYTES: the options' */
    const char *verdict;
} split_row;

/* The caller's table, and which columns it has. */
typedef struct table {
    popliner_split_table own;
    const pl_certificate_input *input;
    pl_shared_ends name_ends; /* of units, left out; 0: whole names */
    split_row *rows;
    size_t num_rows;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES]; /* that have a column */
    size_t num_objectives;
} table;

/* ---- rows ---- */

/* The replicas that an item is of; NULL: a plan alone. */
static const popliner_replicas *replicas_at(const popliner_split_table *t, size_t i) {
    return t->sweep == NULL || t->sweep->replicas == NULL ? t->replicas : t->sweep->replicas[i];
}

/* A value, a point, or a candidate and those after it that have nothing to show. */
static split_row row_at(const table *t, size_t i) {
    static const popliner_plan nothing = {.num_stages = 0};
    const pl_listed_split own = pl_listed_split_at(&t->own, i, t->input);
    split_row r = {
        .place = i, .limit_bytes = own.limit_bytes, .candidate = own.candidate, .plan = own.plan};
    if (own.candidate != NULL && own.candidate->best_effort != NULL)
        r.plan = own.candidate->best_effort;
    if (r.plan == NULL && !own.summary->is_stopped)
        r.plan = &nothing;
    return r;
}

static bool has_nothing(const popliner_replicas_candidate *c) {
    return c->num_replicas == 0 && c->best_effort == NULL;
}

static popliner_status judge(const table *t, split_row *r, popliner_error *error) {
    const popliner_solver_options *o = t->input->options;
    const popliner_plan *plan = r->plan;
    popliner_verdict verdict = POPLINER_FITS;
    popliner_status status = POPLINER_OK;
    if (plan == NULL ||
        (r->candidate == NULL && plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN)) {
        r->verdict = "no answer"; /* it was stopped */
    } else if (plan->num_stages == 0) {
        r->verdict = r->limit_bytes != POPLINER_TARGET_BYTES || o->num_ipu_limits > 0 ||
                             o->mem_per_tile < INT64_MAX
                         ? "none fits"
                         : "impossible";
    } else {
        if (plan->status == POPLINER_PLAN_INFEASIBLE)
            verdict = POPLINER_FITS_NOT;
        if (t->own.judge != NULL && t->num_rows < MOST_ROWS)
            status = t->own.judge(t->own.judge_user, plan, r->limit_bytes,
                                  r->candidate == NULL ? 0 : r->candidate->micro_batches, &verdict,
                                  error);
        r->verdict = pl_verdict_text(verdict);
    }
    return status;
}

static popliner_status take_rows(table *t, popliner_error *error) {
    const size_t count = pl_listed_splits_count(&t->own);
    const popliner_replicas *summary = t->own.replicas;
    t->rows = pl_new_array(count, sizeof *t->rows);
    if (t->rows == NULL)
        return pl_fail_memory(error, "the table");
    for (size_t i = 0; i < count; i++) {
        split_row *r = &t->rows[t->num_rows];
        *r = row_at(t, i);
        while (summary != NULL && has_nothing(&summary->candidates[r->place]) && i + 1 < count &&
               has_nothing(&summary->candidates[i + 1]))
            r->last_num_ipus = summary->candidates[++i].num_ipus;
        if (r->plan != NULL)
            PL_TRY(pl_certificate_check_plan(t->input, r->plan, error));
        PL_TRY(judge(t, r, error));
        t->num_rows++;
    }
    return POPLINER_OK;
}

/* ---- the headline ---- */

static void add_time(const table *t, uint64_t cycles, pl_text *text) {
    const uint64_t divisor = t->input->cycles_per_time_unit;
    const double time = (double)cycles / (double)divisor;
    if (time >= 1000000)
        pl_text_add_short(text, time, true, "");
    else if (divisor == 1)
        pl_text_add(text, PL_GROUPED(cycles));
    else
        pl_text_add_significant(text, time);
}

static const char *devices(const table *t, size_t count) {
    return t->own.is_of_ipus ? count == 1 ? "IPU" : "IPUs" : count == 1 ? "device" : "devices";
}

/* The item that is marked, and the headline's. */
static size_t chosen_item(const table *t) {
    size_t i = 0;
    if (t->own.sweep == NULL)
        return t->own.replicas != NULL ? t->own.replicas->best : i;
    while (i < t->num_rows &&
           (t->own.sweep->replicas != NULL ? t->own.sweep->replicas[i]->best == SIZE_MAX
                                           : t->rows[i].plan->status == POPLINER_PLAN_INFEASIBLE))
        i++;
    return i < t->num_rows ? i : SIZE_MAX;
}

static void add_front(size_t count, const char *first, const char *second, bool is_complete,
                      pl_text *text) {
    pl_text_format(text, "%zu Pareto-optimal split%s of %s and %s. %s", count,
                   count == 1 ? "" : "s", first, second,
                   !is_complete ? "There may be more."
                   : count == 1 ? "Proven: there is no other."
                                : "Proven: these are all.");
}

/* Adds the throughput of the best number of stages and replicas. */
static void add_best(const table *t, pl_text *text) {
    const popliner_replicas *summary = t->own.replicas;
    const popliner_replicas_candidate *best = &summary->candidates[summary->best];
    const double gap = popliner_replicas_gap(summary);
    const uint64_t num_batches = best->num_replicas * best->micro_batches;
    pl_text_format(text, "%zu %s on %zu %s each: %" PRIu64 " %s in ", best->num_replicas,
                   best->num_replicas == 1 ? "pipeline" : "pipelines", best->num_ipus,
                   devices(t, best->num_ipus), num_batches,
                   num_batches == 1 ? "micro-batch" : "micro-batches");
    add_time(t, best->step_cycles, text);
    pl_text_format(text, " %s", t->input->time_unit);
    if (gap == 0)
        pl_text_add(text, ", which is the best");
    else if (gap > 0)
        pl_text_format(text, "; another has at most %.2g %% more throughput", 100 * gap);
    pl_text_add(text, ".");
}

static void add_headline(const table *t, pl_text *text) {
    const popliner_sweep *sweep = t->own.sweep;
    const popliner_pareto *pareto = t->own.pareto;
    const size_t chosen = chosen_item(t);
    if (sweep != NULL && chosen == SIZE_MAX)
        pl_text_add(text, "None of these fits.");
    else if (sweep != NULL)
        pl_text_format(text, "The first that fits: %s %" PRIu64 ".",
                       sweep->is_of_memory                    ? t->input->option_names.mem_per_tile
                       : strcmp(sweep->what, "num-ipus") == 0 ? t->input->option_names.num_ipus
                                                              : sweep->what,
                       sweep->values[chosen]);
    else if (pareto != NULL)
        add_front(pareto->num_points, pl_objective_name(pareto->objectives[0]),
                  pl_objective_name(pareto->objectives[1]), pareto->is_complete, text);
    else if (chosen == SIZE_MAX)
        pl_text_add(text, "No pipeline was found.");
    else if (t->own.replicas->is_front)
        add_front(t->own.replicas->num_candidates, "throughput", "memory",
                  t->own.replicas->is_proven, text);
    else
        add_best(t, text);
}

/* ---- memory ---- */

/* The stage of a row's plan that has least room, as a share of its limit. */
static const popliner_plan_stage *tightest_of(const table *t, const split_row *row,
                                              uint64_t *limit_bytes) {
    pl_certificate c = {.plan = *row->plan, .options.options = *t->input->options};
    if (row->limit_bytes != POPLINER_TARGET_BYTES)
        c.options.options.mem_per_tile = row->limit_bytes;
    const popliner_plan_stage *stage = &row->plan->stages[pl_certificate_tightest(&c)];
    *limit_bytes = pl_certificate_limit(&c, stage->ipu);
    return stage;
}

/* The limit of all rows; PL_NO_LIMIT if there is none, or rows differ. */
static uint64_t common_limit(const table *t, bool *differs) {
    uint64_t limit = PL_NO_LIMIT;
    bool is_first = true;
    *differs = false;
    for (size_t i = 0; i < t->num_rows; i++) {
        if (t->rows[i].plan == NULL || t->rows[i].plan->num_stages == 0)
            continue;
        uint64_t own;
        tightest_of(t, &t->rows[i], &own);
        *differs = *differs || (!is_first && own != limit);
        limit = own;
        is_first = false;
    }
    return *differs || limit > PL_NO_LIMIT ? PL_NO_LIMIT : limit;
}

/* ---- cells ---- */

static void add_memory(const table *t, const split_row *row, pl_grid *grid) {
    uint64_t limit_bytes;
    if (row->plan == NULL || row->plan->num_stages == 0) {
        pl_grid_text(grid, NULL);
        pl_grid_text(grid, NULL);
        pl_grid_text(grid, "");
        return;
    }
    const uint64_t bytes = tightest_of(t, row, &limit_bytes)->peak_bytes;
    pl_grid_number(grid, bytes);
    pl_grid_percent(grid, bytes, limit_bytes);
    pl_grid_bars(grid, (pl_grid_bar){bytes, 0, limit_bytes});
}

static void add_objective(const table *t, const popliner_plan *plan, popliner_objective objective,
                          pl_grid *grid) {
    const pl_certificate c = {.input = *t->input};
    pl_text text = {0};
    for (size_t i = 0; plan != NULL && i < plan->num_values; i++) {
        const popliner_plan_value *v = &plan->values[i];
        const uint64_t divisor = pl_certificate_divisor(&c, objective);
        if (v->objective != objective)
            continue;
        if (objective == POPLINER_OBJECTIVE_TRAFFIC && divisor == 1)
            pl_text_add_size(&text, (double)v->value);
        else if (objective == POPLINER_OBJECTIVE_CYCLES || divisor > 1)
            pl_text_add_short(&text, (double)v->value / (double)divisor, divisor == 1, "");
        else
            pl_text_add(&text, PL_GROUPED(v->value));
    }
    pl_grid_made(grid, text);
}

/* Adds "0,2" for cuts after units 0 and 2: with whole names the value of --evaluate. */
static void add_cuts(const table *t, const popliner_plan *plan, pl_grid *grid) {
    pl_text text = {0};
    for (size_t i = 0; plan != NULL && i + 1 < plan->num_stages; i++) {
        const size_t unit = plan->stages[i].last_unit;
        pl_text_add(&text, i > 0 ? "," : "");
        pl_text_add_own_name(&text, &t->name_ends, t->input->unit_names, unit);
    }
    if (plan != NULL && plan->num_stages == 1)
        pl_text_add(&text, "whole");
    pl_grid_made(grid, text);
}

/* Adds how the stages recompute: one word if all do so alike. */
static void add_choices(const popliner_plan *plan, pl_grid *grid) {
    bool is_alike = plan != NULL && plan->choices != NULL && plan->num_stages > 0;
    for (size_t i = 1; is_alike && i < plan->num_stages; i++)
        is_alike = strcmp(plan->choices[i], plan->choices[0]) == 0;
    if (is_alike)
        pl_grid_text(grid, plan->choices[0]);
    else
        pl_grid_made(grid, plan != NULL ? pl_certificate_choices(plan) : (pl_text){0});
}

/* Whether plans have a column of the devices that they use. */
static bool has_used(const table *t) {
    return replicas_at(&t->own, 0) == NULL &&
           !pl_objectives_include(t->input->options, POPLINER_OBJECTIVE_IPUS);
}

/* Adds how long a step takes; of a front the throughput, with the digits of its table. */
static void add_step(const table *t, const split_row *row, pl_text *text) {
    const popliner_replicas_candidate *c = row->candidate;
    const uint64_t divisor = t->input->cycles_per_time_unit;
    const double step = (double)c->step_cycles / (double)divisor;
    if (replicas_at(&t->own, row->place)->is_front && step > 0)
        pl_text_format(text, "%.9g", (double)c->num_replicas * (double)c->micro_batches / step);
    else
        add_time(t, c->step_cycles, text);
}

/* Adds the cells before the memory. */
static void add_cells(const table *t, const split_row *row, pl_grid *grid) {
    const popliner_replicas_candidate *c = row->candidate;
    const bool is_had = c != NULL && c->num_replicas > 0;
    pl_text cells[NUM_CELLS] = {{0}};
    pl_text *cell = cells;
    if (t->own.sweep != NULL)
        pl_text_add(cell++, PL_GROUPED(t->own.sweep->values[row->place]));
    if (has_used(t) && row->plan->num_stages > 0)
        pl_text_add(cell, PL_GROUPED(row->plan->num_ipus));
    if (c != NULL)
        pl_text_add(cell, PL_GROUPED(c->num_ipus));
    if (row->last_num_ipus > 0)
        pl_text_format(cell, " to %zu", row->last_num_ipus);
    if (is_had) {
        pl_text_add(++cell, PL_GROUPED(c->num_replicas));
        if (t->own.sweep == NULL)
            pl_text_add(++cell, PL_GROUPED(c->micro_batches));
        add_step(t, row, ++cell);
    }
    for (size_t i = 0; i < NUM_CELLS; i++)
        pl_grid_made(grid, cells[i]);
}

static void add_row(const table *t, const split_row *row, bool is_marked, pl_grid *grid) {
    pl_grid_text(grid, is_marked ? ">" : " ");
    add_cells(t, row, grid);
    add_memory(t, row, grid);
    for (size_t i = 0; i < t->num_objectives; i++)
        add_objective(t, row->plan, t->objectives[i], grid);
    add_cuts(t, row->plan, grid);
    pl_grid_text(grid, row->verdict);
    add_choices(row->plan, grid);
    if (is_marked)
        pl_grid_mark_row(grid);
}

/* ---- the table ---- */

/* Every requested objective has a column, except for the memory, which has its own. */
static void take_objectives(table *t) {
    const popliner_solver_options *o = t->input->options;
    if (o->num_objectives == 0)
        t->objectives[t->num_objectives++] = POPLINER_OBJECTIVE_TRAFFIC;
    for (size_t i = 0; i < o->num_objectives; i++)
        if (o->objectives[i] != POPLINER_OBJECTIVE_MEMORY)
            t->objectives[t->num_objectives++] = o->objectives[i];
}

/* Names the cells before the memory. */
static void name_cells(const table *t, const char *names[NUM_CELLS]) {
    const popliner_sweep *sweep = t->own.sweep;
    const popliner_replicas *summary = t->num_rows > 0 ? replicas_at(&t->own, 0) : NULL;
    const char **name = names;
    const bool is_of_ipus = sweep != NULL && strcmp(sweep->what, "num-ipus") == 0;
    if (sweep != NULL)
        *name++ = sweep->is_of_memory ? "limit" : is_of_ipus ? devices(t, 2) : sweep->what;
    if (summary != NULL || has_used(t))
        *name = is_of_ipus ? "used" : devices(t, 2);
    if (summary == NULL)
        return;
    *++name = "pipelines";
    if (sweep == NULL)
        *++name = "batches";
    *++name = summary->is_front ? "throughput" : "step";
}

static void write_table(const table *t, pl_layout *layout) {
    pl_grid_column columns[NUM_CELLS + POPLINER_NUM_OBJECTIVES + 7] = {
        {NULL, PL_GRID_WORDS, 0, 0, 0}};
    const char *names[NUM_CELLS] = {NULL};
    const size_t marked = t->own.marked_row == SIZE_MAX ? chosen_item(t) : t->own.marked_row;
    size_t count = 1;
    bool differs;
    const uint64_t limit = common_limit(t, &differs);
    pl_text head = {0};
    pl_add_need_words(&head, t->own.need, ", ");
    if (limit < PL_NO_LIMIT)
        pl_text_format(&head, "of %s%s", PL_GROUPED(limit),
                       layout->screen.width >= NARROW && t->own.need == POPLINER_NEED_EXPECTED
                           ? " bytes"
                           : "");
    else
        pl_text_add(&head, differs ? "of the limit" : "memory");
    layout->text.failed = layout->text.failed || head.failed;
    name_cells(t, names);
    for (size_t i = 0; i < NUM_CELLS; i++)
        columns[count++] = (pl_grid_column){names[i], PL_GRID_RIGHT, i > 0 ? 2 : 1, 0, 0};
    columns[count++] = (pl_grid_column){pl_text_string(&head), PL_GRID_RIGHT, 2, 0, 0};
    columns[count++] = (pl_grid_column){NULL, PL_GRID_RIGHT, 2, 0, 0};
    columns[count++] = (pl_grid_column){NULL, PL_GRID_BAR, 2, 0, 60};
    const size_t least_screen = t->input->options->num_objectives > 0 ? NARROW : PL_MOST_WIDTH;
    for (size_t i = 0; i < t->num_objectives; i++)
        columns[count++] = (pl_grid_column){t->objectives[i] == POPLINER_OBJECTIVE_CYCLES
                                                ? t->input->time_unit
                                                : pl_objective_name(t->objectives[i]),
                                            PL_GRID_RIGHT, 2, 0, least_screen};
    columns[count++] = (pl_grid_column){"cuts after", PL_GRID_NAME, 2, MOST_CUTS, 0};
    columns[count++] = (pl_grid_column){"verdict", PL_GRID_WORDS, 2, 0, 0};
    columns[count++] = (pl_grid_column){"recompute", PL_GRID_NAME, 2, MOST_CUTS, 0};
    pl_grid grid = {.columns = columns, .num_columns = count};
    for (size_t i = 0; i < t->num_rows; i++)
        add_row(t, &t->rows[i], t->rows[i].place == marked, &grid);
    pl_grid_write(&grid, MOST_ROWS, t->own.more == NULL ? "" : t->own.more, layout);
    free(head.data);
}

popliner_status popliner_screen_splits(const popliner_split_table *callers,
                                       const popliner_certificate_input *input,
                                       const popliner_plot_options *screen, char **text,
                                       popliner_error *error) {
    table t = {.own = POPLINER_SPLIT_TABLE_INIT};
    pl_certificate_input own;
    pl_layout layout;
    pl_text headline = {0};
    *text = NULL;
    PL_TRY(pl_struct_take(&t.own, sizeof t.own, callers, "popliner_split_table", error));
    PL_TRY(pl_certificate_take_input(input, &own, error));
    t.input = &own;
    const popliner_status status = take_rows(&t, error);
    if (status != POPLINER_OK) {
        free(t.rows);
        return status;
    }
    take_objectives(&t);
    pl_layout_begin(&layout, screen);
    if (!layout.screen.has_whole_names)
        t.name_ends =
            pl_names_shared_ends(own.unit_names, own.options->counted_units, own.num_units);
    add_headline(&t, &headline);
    pl_layout_sentence(&layout, PL_TINT_BOLD, pl_text_string(&headline), "");
    layout.text.failed = layout.text.failed || headline.failed;
    free(headline.data);
    if (t.num_rows > 0) {
        pl_layout_empty_line(&layout);
        write_table(&t, &layout);
    }
    free(t.rows);
    return pl_layout_finish(&layout, POPLINER_OK, text, error);
}
