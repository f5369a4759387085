/* Several splits for people: a row for each, with its memory against the limit and its verdict.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "base/text.h"
#include "popliner/screen.h"
#include "solve/objective.h"

enum { MOST_ROWS = 40, MOST_CUTS_PERCENT = 30, NARROW = 80 };

/* A split, or candidates without one that share their row. */
typedef struct split_row {
    pl_listed_split of;   /* its plan may be what comes nearest */
    size_t place;         /* of the value, point or candidate */
    size_t last_num_ipus; /* of candidates that share it; 0: there is one */
    const char *verdict;
    const popliner_plan_stage *tightest; /* has least room, as a share of this limit; NULL: none */
    uint64_t limit_bytes;
} split_row;

/* The caller's table, and which columns it has. */
typedef struct table {
    popliner_split_table own;
    const pl_certificate_input *input;
    pl_shared_ends name_ends; /* of units, left out; 0: whole names */
    split_row *rows;
    size_t num_rows;
} table;

/* ---- rows ---- */

/* Finds the stage that has least room. */
static void find_tightest(const table *t, split_row *r) {
    pl_certificate c = {.plan = *r->of.plan, .options.options = *t->input->options};
    if (r->of.limit_bytes != POPLINER_TARGET_BYTES)
        c.options.options.mem_per_tile = r->of.limit_bytes;
    r->tightest = &r->of.plan->stages[pl_certificate_tightest(&c)];
    r->limit_bytes = pl_certificate_limit(&c, r->tightest->ipu);
}

/* A value, a point, or a candidate and those after it that have nothing to show. */
static split_row row_at(const table *t, size_t i) {
    static const popliner_plan nothing = {.num_stages = 0};
    split_row r = {.of = pl_listed_split_at(&t->own, i, t->input), .place = i};
    if (r.of.candidate != NULL && r.of.candidate->best_effort != NULL)
        r.of.plan = r.of.candidate->best_effort;
    if (r.of.plan == NULL && !r.of.summary->is_stopped)
        r.of.plan = &nothing;
    return r;
}

static bool has_nothing(const popliner_replicas_candidate *c) {
    return c->num_replicas == 0 && c->best_effort == NULL;
}

static popliner_status judge(const table *t, split_row *r, popliner_error *error) {
    const popliner_solver_options *o = t->input->options;
    const popliner_plan *plan = r->of.plan;
    popliner_verdict verdict = POPLINER_FITS;
    popliner_status status = POPLINER_OK;
    if (plan == NULL ||
        (r->of.candidate == NULL && plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN)) {
        r->verdict = "no answer"; /* it was stopped */
    } else if (plan->num_stages == 0) {
        r->verdict = r->of.limit_bytes != POPLINER_TARGET_BYTES || o->num_ipu_limits > 0 ||
                             o->mem_per_tile < INT64_MAX
                         ? "none fits"
                         : "impossible";
    } else {
        find_tightest(t, r);
        if (plan->status == POPLINER_PLAN_INFEASIBLE)
            verdict = POPLINER_FITS_NOT;
        if (t->own.judge != NULL && t->num_rows < MOST_ROWS)
            status = t->own.judge(t->own.judge_user, plan, r->of.limit_bytes,
                                  r->of.candidate == NULL ? 0 : r->of.candidate->micro_batches,
                                  &verdict, error);
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
        PL_TRY(pl_certificate_check_plan(t->input, r->of.plan, error));
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
    return pl_certificate_devices(&(pl_certificate){.is_of_ipus = t->own.is_of_ipus}, count);
}

/* The item that is marked, and the headline's. */
static size_t chosen_item(const table *t) {
    size_t i = 0;
    if (t->own.sweep == NULL)
        return t->own.replicas != NULL ? t->own.replicas->best : i;
    while (i < t->num_rows && (t->own.sweep->replicas != NULL
                                   ? t->own.sweep->replicas[i]->best == SIZE_MAX
                                   : t->rows[i].of.plan->status == POPLINER_PLAN_INFEASIBLE))
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

/* ---- cells ---- */

/* The limit of all rows; PL_NO_LIMIT if there is none, or rows differ. */
static uint64_t common_limit(const table *t, bool *differs) {
    const split_row *first = NULL;
    *differs = false;
    for (size_t i = 0; i < t->num_rows; i++) {
        const split_row *own = &t->rows[i];
        if (own->tightest == NULL)
            continue;
        first = first == NULL ? own : first;
        *differs = *differs || own->limit_bytes != first->limit_bytes;
    }
    return first == NULL || *differs ? PL_NO_LIMIT : pl_smaller(first->limit_bytes, PL_NO_LIMIT);
}

static void add_memory(const split_row *row, const char *head, pl_grid *grid) {
    const uint64_t bytes = row->tightest == NULL ? 0 : row->tightest->peak_bytes;
    pl_grid_name(grid, (pl_grid_column){head, PL_GRID_RIGHT, 2, 0, 0});
    pl_grid_text(grid, row->tightest != NULL ? PL_GROUPED(bytes) : NULL);
    pl_grid_name(grid, (pl_grid_column){NULL, PL_GRID_RIGHT, 2, 0, 0});
    pl_grid_percent(grid, bytes, row->tightest != NULL ? row->limit_bytes : PL_NO_LIMIT);
    pl_grid_name(grid, (pl_grid_column){NULL, PL_GRID_BAR, 2, 0, 60});
    if (row->tightest != NULL)
        pl_grid_bars(grid, (pl_grid_bar){bytes, 0, row->limit_bytes});
    else
        pl_grid_text(grid, "");
}

static void add_objective(const table *t, const popliner_plan *plan, popliner_objective objective,
                          pl_grid *grid) {
    const pl_certificate c = {.input = *t->input};
    const bool is_time = objective == POPLINER_OBJECTIVE_CYCLES;
    const size_t least_screen = t->input->options->num_objectives > 0 ? NARROW : PL_MOST_WIDTH;
    const uint64_t divisor = pl_certificate_divisor(&c, objective);
    pl_text text = {0};
    for (size_t i = 0; plan != NULL && i < plan->num_values; i++) {
        const popliner_plan_value *v = &plan->values[i];
        if (v->objective != objective)
            continue;
        if (objective == POPLINER_OBJECTIVE_TRAFFIC && divisor == 1)
            pl_text_add_size(&text, (double)v->value);
        else if (is_time || divisor > 1)
            pl_text_add_short(&text, (double)v->value / (double)divisor, divisor == 1, "");
        else
            pl_text_add(&text, PL_GROUPED(v->value));
    }
    pl_grid_name(grid,
                 (pl_grid_column){is_time ? t->input->time_unit : pl_objective_name(objective),
                                  PL_GRID_RIGHT, 2, 0, least_screen});
    pl_grid_made(grid, text);
}

/* Every requested objective has a column, except for the memory, which has its own. */
static void add_objectives(const table *t, const popliner_plan *plan, pl_grid *grid) {
    const popliner_solver_options *o = t->input->options;
    if (o->num_objectives == 0)
        add_objective(t, plan, POPLINER_OBJECTIVE_TRAFFIC, grid);
    for (size_t i = 0; i < o->num_objectives; i++)
        if (o->objectives[i] != POPLINER_OBJECTIVE_MEMORY)
            add_objective(t, plan, o->objectives[i], grid);
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

static pl_text number_text(bool is_known, uint64_t number) {
    return is_known ? pl_text_of("%s", PL_GROUPED(number)) : (pl_text){0};
}

static void add_cell(const char *name, pl_text text, pl_grid *grid) {
    const size_t gap = grid->num_columns > 1 ? 2 : 1; /* after the mark */
    pl_grid_name(grid, (pl_grid_column){name, PL_GRID_RIGHT, gap, 0, 0});
    pl_grid_made(grid, text);
}

/* Adds how long a step takes, and the throughput, of a front with the digits of its table. */
static void add_speed(const table *t, const split_row *row, pl_grid *grid) {
    const popliner_replicas_candidate *c = row->of.candidate;
    const char *unit = t->input->time_unit;
    pl_text names[2] = {{0}, {0}};
    pl_text cells[2] = {{0}, {0}};
    pl_text_format(&names[0], "%s/step", unit);
    pl_text_format(&names[1], "batches/%s", strcmp(unit, "cycles") == 0 ? "cycle" : unit);
    if (c != NULL && c->num_replicas > 0) {
        add_time(t, c->step_cycles, &cells[0]);
        pl_text_format(&cells[1], "%.*g", row->of.summary->is_front ? 9 : 4,
                       pl_listed_throughput(c, t->input->cycles_per_time_unit));
    }
    for (size_t i = 0; i < 2; i++) {
        add_cell(pl_text_string(&names[i]), cells[i], grid);
        free(names[i].data);
    }
}

/* Adds the cells before the memory. */
static void add_cells(const table *t, const split_row *row, pl_grid *grid) {
    static const popliner_replicas_candidate none = {0};
    const popliner_sweep *sweep = t->own.sweep;
    const bool is_of_ipus = sweep != NULL && strcmp(sweep->what, "num-ipus") == 0;
    const char *devices_name = is_of_ipus ? "used" : devices(t, 2);
    const popliner_replicas_candidate *c = row->of.candidate == NULL ? &none : row->of.candidate;
    const bool is_had = c->num_replicas > 0;
    if (sweep != NULL)
        add_cell(sweep->is_of_memory ? "limit"
                 : is_of_ipus        ? devices(t, 2)
                                     : sweep->what,
                 number_text(true, sweep->values[row->place]), grid);
    if (row->of.summary == NULL) {
        if (!pl_objectives_include(t->input->options, POPLINER_OBJECTIVE_IPUS))
            add_cell(devices_name,
                     number_text(row->of.plan->num_stages > 0, row->of.plan->num_ipus), grid);
        return;
    }
    pl_text num_ipus = number_text(c != &none, c->num_ipus);
    if (row->last_num_ipus > 0)
        pl_text_format(&num_ipus, " to %zu", row->last_num_ipus);
    add_cell(devices_name, num_ipus, grid);
    add_cell("pipelines", number_text(is_had, c->num_replicas), grid);
    if (sweep == NULL)
        add_cell("batches", number_text(is_had, c->micro_batches), grid);
    add_speed(t, row, grid);
}

static void add_row(const table *t, const split_row *row, const char *head, bool is_marked,
                    size_t most_cuts, pl_grid *grid) {
    pl_grid_name(grid, (pl_grid_column){NULL, PL_GRID_WORDS, 0, 0, 0});
    pl_grid_text(grid, is_marked ? ">" : " ");
    add_cells(t, row, grid);
    add_memory(row, head, grid);
    add_objectives(t, row->of.plan, grid);
    pl_grid_name(grid, (pl_grid_column){"cuts after", PL_GRID_LIST, 2, most_cuts, 0});
    add_cuts(t, row->of.plan, grid);
    pl_grid_name(grid, (pl_grid_column){"verdict", PL_GRID_WORDS, 2, 0, 0});
    pl_grid_text(grid, row->verdict);
    pl_grid_name(grid, (pl_grid_column){"recompute", PL_GRID_LIST, 2, most_cuts, 0});
    add_choices(row->of.plan, grid);
    pl_grid_end_row(grid, is_marked);
}

static void write_table(const table *t, pl_layout *layout) {
    const size_t marked = t->own.marked_row == SIZE_MAX ? chosen_item(t) : t->own.marked_row;
    bool differs;
    const uint64_t limit = common_limit(t, &differs);
    pl_text head = {0};
    pl_grid grid = {0};
    pl_add_need_words(&head, t->own.need, ", ");
    if (limit < PL_NO_LIMIT)
        pl_text_format(&head, "of %s%s", PL_GROUPED(limit),
                       layout->screen.width >= NARROW && t->own.need == POPLINER_NEED_EXPECTED
                           ? " bytes"
                           : "");
    else
        pl_text_add(&head, differs ? "of the limit" : "memory");
    layout->text.failed = layout->text.failed || head.failed;
    for (size_t i = 0; i < t->num_rows; i++)
        add_row(t, &t->rows[i], pl_text_string(&head), t->rows[i].place == marked,
                layout->screen.width * MOST_CUTS_PERCENT / 100, &grid);
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
    pl_layout_begin(&layout, screen);
    if (!layout.screen.has_whole_names)
        t.name_ends =
            pl_names_shared_ends(own.unit_names, own.options->counted_units, own.num_units);
    add_headline(&t, &headline);
    pl_layout_sentence(&layout, PL_TINT_BOLD, headline, (pl_text){0});
    if (t.num_rows > 0) {
        pl_text_add(&layout.text, "\n");
        write_table(&t, &layout);
    }
    free(t.rows);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
