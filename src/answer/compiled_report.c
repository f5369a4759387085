/* Predictions against a compiled pipeline.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/layout.h"
#include "base/text.h"
#include "memory/needs.h"
#include "memory/parts.h"
#include "popliner/screen.h"

static const char *group_name(int group) {
    return group == PL_GROUP_DATA     ? "data"
           : group == PL_GROUP_LAYOUT ? pl_parts[POPLINER_PART_LAYOUT].name
                                      : pl_parts[PL_FIRST_CODE + group].name;
}

/* ---- JSON ---- */

static void put_tile(const char *key, const pl_fullest_tile *t, pl_json *json) {
    pl_put_open(json, key, '{');
    pl_put_number(json, "bytes", t->bytes);
    pl_put_number(json, "tile", t->tile);
    for (int group = 0; group < PL_NUM_GROUPS; group++)
        pl_put_number(json, group_name(group), t->group_bytes[group]);
    pl_put_close(json);
}

static void put_stage(const pl_comparison *c, size_t number, pl_json *json) {
    const pl_stage_comparison *s = &c->stages[number];
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "unit_from", c->names[2 * number]);
    pl_put_text(json, "unit_to", c->names[2 * number + 1]);
    put_tile("predicted", &s->predicted, json);
    put_tile("compiled", &s->compiled, json);
    pl_put_real(json, "error_percent", s->error_percent);
    pl_put_close(json);
}

static void put_comparison(const pl_comparison *c, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "format", "popliner-compiled");
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < c->info.num_stages; i++)
        put_stage(c, i, json);
    pl_put_close(json);
    pl_put_close(json);
}

popliner_status popliner_report_comparison(const popliner_comparison *callers, char **result,
                                           popliner_error *error) {
    pl_text text = {0};
    put_comparison((const pl_comparison *)callers, &(pl_json){.text = &text});
    return pl_text_finish(&text, POPLINER_OK, result, error);
}

/* ---- For people ---- */

/* A stage, and how far its prediction is from what was compiled. */
typedef struct missed {
    size_t stage;
    double percent;
} missed;

static int compare_missed(const void *left, const void *right) {
    const missed *a = left;
    const missed *b = right;
    return a->percent != b->percent ? (a->percent < b->percent) - (a->percent > b->percent)
                                    : (a->stage > b->stage) - (a->stage < b->stage);
}

static void write_verdict(const pl_comparison *c, const missed *worst, pl_layout *layout) {
    const double allowed_percent = 100 - (double)pl_need_least_per_thousand(c->num_tiles) / 10;
    const bool is_near = worst->percent <= allowed_percent;
    pl_text plain = {0};
    if (c->info.num_stages > 1 || !is_near)
        pl_text_format(&plain, "The fullest tile of stage %zu was missed most.", worst->stage);
    if (!is_near)
        pl_text_format(&plain, " Estimates allow for %.1f %%.", allowed_percent);
    pl_layout_sentence(layout, is_near ? PL_TINT_GREEN : PL_TINT_YELLOW,
                       pl_text_of("Predicted within %.1f %%.", worst->percent), plain);
}

static void add_row(const pl_comparison *c, size_t number, pl_grid *grid) {
    const pl_stage_comparison *s = &c->stages[number];
    pl_text layers = {0};
    pl_text_add(&layers, c->names[2 * number]);
    if (s->units.first_unit < s->units.last_unit)
        pl_text_format(&layers, " to %s", c->names[2 * number + 1]);
    pl_grid_made(grid, pl_text_of("%zu", number));
    pl_grid_made(grid, layers);
    pl_grid_text(grid, PL_GROUPED(s->predicted.bytes));
    pl_grid_text(grid, PL_GROUPED(s->compiled.bytes));
    pl_grid_made(grid, pl_text_of("%+.1f %%", s->error_percent));
}

popliner_status popliner_screen_comparison(const popliner_comparison *callers,
                                           const popliner_plot_options *screen, char **text,
                                           popliner_error *error) {
    static const pl_grid_column columns[] = {
        {"stage", PL_GRID_RIGHT, 0, 0, 0},     {"layers", PL_GRID_NAME, 2, 24, 0},
        {"predicted", PL_GRID_RIGHT, 3, 0, 0}, {"compiled", PL_GRID_RIGHT, 3, 0, 0},
        {"error", PL_GRID_RIGHT, 3, 0, 0},
    };
    enum { MOST_ROWS = 40 };
    pl_grid grid = {.columns = columns, .num_columns = sizeof columns / sizeof *columns};
    const pl_comparison *c = (const pl_comparison *)callers;
    pl_layout layout;
    missed *stages = pl_new_array(c->info.num_stages, sizeof *stages);
    pl_layout_begin(&layout, screen);
    layout.text.failed = layout.text.failed || stages == NULL;
    for (size_t i = 0; stages != NULL && i < c->info.num_stages; i++)
        stages[i] = (missed){i, fabs(c->stages[i].error_percent)};
    if (stages != NULL) {
        qsort(stages, c->info.num_stages, sizeof *stages, compare_missed);
        write_verdict(c, &stages[0], &layout);
        pl_text_add(&layout.text, "\n");
    }
    for (size_t i = 0; stages != NULL && i < c->info.num_stages; i++)
        add_row(c, stages[i].stage, &grid);
    pl_grid_write(&grid, MOST_ROWS, "", &layout);
    free(stages);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
