/* Predictions and a compiled pipeline for people: the stage that was missed most comes first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "answer/calibration_data.h"
#include "base/layout.h"
#include "memory/needs.h"
#include "popliner/screen.h"

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
    const pl_need_width width = pl_need_width_for(c->num_tiles);
    const double allowed_percent = (double)width.most_per_thousand / 10 - 100;
    const bool is_near = worst->percent <= allowed_percent;
    pl_text bold = {0};
    pl_text plain = {0};
    pl_text_format(&bold, "Predicted within %.1f %%.", worst->percent);
    pl_text_format(&plain, "The fullest tile of stage %zu was missed most.", worst->stage);
    if (!is_near)
        pl_text_format(&plain, " Estimates allow for %.1f %%.", allowed_percent);
    layout->text.failed = layout->text.failed || bold.failed || plain.failed;
    if (!layout->text.failed)
        pl_layout_sentence(layout, is_near ? PL_TINT_GREEN : PL_TINT_YELLOW, bold.data,
                           c->num_stages > 1 || !is_near ? plain.data : "");
    free(bold.data);
    free(plain.data);
}

static pl_text percent_text(double percent) {
    pl_text text = {0};
    if (!isnan(percent))
        pl_text_format(&text, "%+.1f %%", percent);
    return text;
}

static void add_row(const pl_comparison *c, size_t number, pl_grid *grid) {
    const popliner_compared_stage *s = &c->stages[number];
    pl_text layers = {0};
    pl_text stage = {0};
    pl_text_format(&stage, "%zu", number);
    pl_text_add(&layers, c->names[2 * number]);
    if (s->units.first_unit < s->units.last_unit)
        pl_text_format(&layers, " to %s", c->names[2 * number + 1]);
    pl_grid_made(grid, stage);
    pl_grid_made(grid, layers);
    pl_grid_number(grid, s->predicted.whole.max_bytes);
    pl_grid_number(grid,
                   c->counts_layout ? s->compiled.whole.max_bytes : s->compiled.live.max_bytes);
    pl_grid_made(grid, percent_text(s->error_percent));
    pl_grid_made(grid, percent_text(c->has_correction ? s->corrected_percent : (double)NAN));
    pl_grid_made(grid, percent_text(c->has_correction ? s->left_out_percent : (double)NAN));
}

static void write_scales(const char *label, const char *stages, const popliner_scales *scales,
                         pl_layout *layout) {
    pl_text text = {0};
    pl_text_format(&text, "%s: code times %.4f, data times %.4f, layout times %.4f", stages,
                   (double)scales->code_per_million / 1e6, (double)scales->data_per_million / 1e6,
                   (double)scales->layout_per_million / 1e6);
    layout->text.failed = layout->text.failed || text.failed;
    if (!text.failed)
        pl_layout_entry(layout, label, "", 0, text.data);
    free(text.data);
}

/* True if a correction made from the other stages lowers the errors, all in all. */
static bool is_worth_using(const pl_comparison *c) {
    double gain = 0;
    for (size_t i = 0; i < c->num_stages; i++)
        if (!isnan(c->stages[i].error_percent) && !isnan(c->stages[i].left_out_percent))
            gain += fabs(c->stages[i].error_percent) - fabs(c->stages[i].left_out_percent);
    return gain > 0;
}

static void write_correction(const pl_comparison *c, const char *more, pl_layout *layout) {
    pl_layout_empty_line(layout);
    if (!c->has_correction) {
        pl_layout_entry(layout, "Correction", "", 0,
                        "predictions have a calibration already, so no other is made");
        return;
    }
    write_scales("Correction", "earlier stages", &c->correction.earlier, layout);
    write_scales("", "last stage", &c->correction.last, layout);
    pl_layout_entry(layout, "", "", 0, "left out: corrected by the other stages alone");
    if (!is_worth_using(c))
        pl_layout_entry(layout, "", "", 0, "not worth using: errors left out are as large");
    else if (*more != '\0')
        pl_layout_entry(layout, "Try", "", 0, more);
}

popliner_status popliner_screen_comparison(const popliner_comparison *callers, const char *more,
                                           const popliner_plot_options *screen, char **text,
                                           popliner_error *error) {
    const pl_comparison *comparison = (const pl_comparison *)callers;
    static const pl_grid_column columns[] = {
        {"stage", PL_GRID_RIGHT, 0, 0, 0},     {"layers", PL_GRID_NAME, 2, 24, 0},
        {"predicted", PL_GRID_RIGHT, 3, 0, 0}, {"compiled", PL_GRID_RIGHT, 3, 0, 0},
        {"error", PL_GRID_RIGHT, 3, 0, 0},     {"corrected", PL_GRID_RIGHT, 3, 0, 60},
        {"left out", PL_GRID_RIGHT, 3, 0, 60},
    };
    enum { MOST_ROWS = 40 };
    pl_grid grid = {.columns = columns, .num_columns = sizeof columns / sizeof *columns};
    const pl_comparison *c = comparison;
    pl_layout layout;
    missed *stages = pl_new_array(c->num_stages, sizeof *stages);
    pl_layout_begin(&layout, screen);
    layout.text.failed = layout.text.failed || stages == NULL;
    for (size_t i = 0; stages != NULL && i < c->num_stages; i++)
        stages[i] =
            (missed){i, isnan(c->stages[i].error_percent) ? 0 : fabs(c->stages[i].error_percent)};
    if (stages != NULL) {
        qsort(stages, c->num_stages, sizeof *stages, compare_missed);
        write_verdict(c, &stages[0], &layout);
        pl_layout_empty_line(&layout);
    }
    for (size_t i = 0; stages != NULL && i < c->num_stages; i++)
        add_row(c, stages[i].stage, &grid);
    pl_grid_write(&grid, MOST_ROWS, "", &layout);
    write_correction(c, more, &layout);
    free(stages);
    return pl_layout_finish(&layout, POPLINER_OK, text, error);
}
