/* Several splits for people: a row for each, with its memory against the limit and its verdict.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/text.h"
#include "popliner/screen.h"
#include "solve/objective.h"
#include "solve/plan.h"

enum { MOST_ROWS = 40, MOST_CUTS = 24, NARROW = 80 };

/* The caller's table, and which columns it has. */
typedef struct table {
    popliner_split_table own;
    const pl_certificate_input *input;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES]; /* that have a column */
    size_t num_objectives;
} table;

/* The need and the limit of the stage that has least room, as a share of its limit. */
typedef struct tightest {
    uint64_t bytes;
    uint64_t limit_bytes;
} tightest;

static uint64_t limit_of(const table *t, const popliner_split_row *row, size_t ipu) {
    const popliner_solver_options *o = t->input->options;
    return pl_limit_of(o, ipu, row->limit_bytes > 0 ? row->limit_bytes : o->mem_per_tile);
}

static tightest tightest_of(const table *t, const popliner_split_row *row) {
    tightest result = {0, PL_NO_LIMIT};
    double most = -1;
    for (size_t i = 0; row->plan != NULL && i < row->plan->num_stages; i++) {
        const popliner_plan_stage *stage = &row->plan->stages[i];
        const uint64_t limit = limit_of(t, row, stage->ipu);
        const double share = (double)stage->peak_bytes / (double)(limit == 0 ? 1 : limit);
        if (share > most) {
            most = share;
            result = (tightest){stage->peak_bytes, limit};
        }
    }
    return result;
}

/* The limit of all rows; PL_NO_LIMIT if there is none, or rows differ. */
static uint64_t common_limit(const table *t, bool *differs) {
    uint64_t limit = PL_NO_LIMIT;
    bool is_first = true;
    *differs = false;
    for (size_t i = 0; i < t->own.num_rows; i++) {
        if (t->own.rows[i].plan == NULL || t->own.rows[i].plan->num_stages == 0)
            continue;
        const uint64_t own = tightest_of(t, &t->own.rows[i]).limit_bytes;
        *differs = *differs || (!is_first && own != limit);
        limit = own;
        is_first = false;
    }
    return *differs || limit > PL_NO_LIMIT ? PL_NO_LIMIT : limit;
}

/* ---- cells ---- */

static void add_memory(const table *t, const popliner_split_row *row, pl_grid *grid) {
    const tightest own = tightest_of(t, row);
    pl_text percent = {0};
    if (row->plan == NULL || row->plan->num_stages == 0) {
        pl_grid_text(grid, NULL);
        pl_grid_text(grid, NULL);
        pl_grid_text(grid, "");
        return;
    }
    if (own.limit_bytes < PL_NO_LIMIT)
        pl_text_add_percent(&percent, own.bytes, own.limit_bytes);
    pl_grid_number(grid, own.bytes);
    pl_grid_made(grid, percent);
    pl_grid_bars(grid, (pl_grid_bar){own.bytes, 0, own.limit_bytes});
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
            pl_text_add_grouped(&text, v->value);
    }
    pl_grid_made(grid, text);
}

/* Adds the value of --evaluate that gives the split: "0,2" has cuts after units 0 and 2. */
static void add_cuts(const table *t, const popliner_plan *plan, pl_grid *grid) {
    pl_text text = {0};
    for (size_t i = 0; plan != NULL && i + 1 < plan->num_stages; i++)
        pl_text_format(&text, "%s%s", i > 0 ? "," : "",
                       t->input->unit_names[plan->stages[i].last_unit]);
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

static void add_row(const table *t, const popliner_split_row *row, bool is_marked, pl_grid *grid) {
    pl_grid_text(grid, is_marked ? ">" : " ");
    for (size_t i = 0; i < POPLINER_SCREEN_CELLS; i++)
        pl_grid_text(grid, row->cells[i]);
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

static void write_table(const table *t, pl_layout *layout) {
    pl_grid_column columns[POPLINER_SCREEN_CELLS + POPLINER_NUM_OBJECTIVES + 7] = {
        {NULL, PL_GRID_WORDS, 0, 0, 0}};
    size_t count = 1;
    bool differs;
    const uint64_t limit = common_limit(t, &differs);
    pl_text head = {0};
    pl_add_need_words(&head, t->own.need, ", ");
    pl_text_add(&head, differs ? "of the limit" : limit == PL_NO_LIMIT ? "memory" : "of ");
    if (limit < PL_NO_LIMIT)
        pl_text_add_grouped(&head, limit);
    if (limit < PL_NO_LIMIT && layout->screen.width >= NARROW &&
        t->own.need == POPLINER_NEED_EXPECTED)
        pl_text_add(&head, " bytes");
    layout->text.failed = layout->text.failed || head.failed;
    for (size_t i = 0; i < POPLINER_SCREEN_CELLS; i++)
        columns[count++] = (pl_grid_column){t->own.names[i], PL_GRID_RIGHT, i > 0 ? 2 : 1, 0, 0};
    columns[count++] = (pl_grid_column){head.failed ? "" : head.data, PL_GRID_RIGHT, 2, 0, 0};
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
    for (size_t i = 0; i < t->own.num_rows; i++)
        add_row(t, &t->own.rows[i], i == t->own.marked_row, &grid);
    pl_grid_write(&grid, MOST_ROWS, t->own.more == NULL ? "" : t->own.more, layout);
    free(head.data);
}

popliner_status popliner_screen_splits(const popliner_split_table *callers,
                                       const popliner_certificate_input *input,
                                       const popliner_plot_options *screen, char **text,
                                       popliner_error *error) {
    table t = {.own = POPLINER_SPLIT_TABLE_INIT};
    pl_certificate_input own;
    popliner_solver_options options;
    popliner_listener listener;
    pl_layout layout;
    *text = NULL;
    popliner_status status =
        pl_struct_take(&t.own, sizeof t.own, callers, "popliner_split_table", error);
    if (status == POPLINER_OK)
        status = pl_certificate_take_input(input, &own, &options, &listener, error);
    for (size_t i = 0; status == POPLINER_OK && i < t.own.num_rows; i++)
        if (t.own.rows[i].plan != NULL)
            status = pl_certificate_check_plan(&own, t.own.rows[i].plan, error);
    if (status != POPLINER_OK)
        return status;
    t.input = &own;
    take_objectives(&t);
    pl_layout_begin(&layout, screen);
    if (t.own.headline != NULL)
        pl_layout_sentence(&layout, PL_TINT_BOLD, t.own.headline, "");
    if (t.own.headline != NULL && t.own.num_rows > 0)
        pl_layout_empty_line(&layout);
    if (t.own.num_rows > 0)
        write_table(&t, &layout);
    return pl_layout_finish(&layout, POPLINER_OK, text, error);
}
