/* An answer for people: the verdict, the stages with their bars, the bottleneck, what would help.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "model/operations.h"
#include "popliner/screen.h"
#include "solve/constraint.h"

enum { MOST_ROWS = 40, VARIABLES_IF_TOO_LARGE = 3 };

/* ---- what is said of all stages ---- */

static uint64_t need_of(const pl_certificate *c, size_t stage) {
    return c->plan.stages[stage].peak_bytes;
}

static uint64_t limit_of(const pl_certificate *c, size_t stage) {
    return pl_certificate_limit(c, c->plan.stages[stage].ipu);
}

/* Whether a stage is the first of its IPU, which has the bytes of all of them. */
static bool is_first_of_ipu(const pl_certificate *c, size_t stage) {
    for (size_t i = 0; i < stage; i++)
        if (c->plan.stages[i].ipu == c->plan.stages[stage].ipu)
            return false;
    return true;
}

/* Returns the stage that the screen marks: of a given split the one that its headline names. */
static size_t marked_stage(const pl_certificate *c) {
    return c->is_evaluation ? pl_certificate_tightest(c) : c->bottleneck;
}

static bool has_one_limit(const pl_certificate *c) {
    for (size_t i = 1; i < c->plan.num_stages; i++)
        if (limit_of(c, i) != limit_of(c, 0))
            return false;
    return true;
}

/* ---- the stages ---- */

/* The name of a unit, without what all share unless names are whole. */
static void add_name(const pl_certificate *c, const pl_layout *layout, size_t unit, pl_text *text) {
    static const pl_shared_ends none = {0};
    pl_text_add_own_name(text, layout->screen.has_whole_names ? &none : &c->name_ends,
                         c->input.unit_names, unit);
}

static pl_text layers_text(const pl_certificate *c, const pl_layout *layout, size_t stage) {
    const popliner_plan_stage *s = &c->plan.stages[stage];
    pl_text text = {0};
    add_name(c, layout, s->first_unit, &text);
    if (s->last_unit > s->first_unit) {
        pl_text_add(&text, " to ");
        add_name(c, layout, s->last_unit, &text);
    }
    return text;
}

/* The IPU of a stage, or those of its replicas: "0-2". */
static pl_text ipus_text(const popliner_plan_stage *stage) {
    pl_text text = {0};
    pl_text_add(&text, PL_GROUPED(stage->ipu));
    if (stage->num_replicas > 1)
        pl_text_format(&text, "-%zu", stage->ipu + stage->num_replicas - 1);
    return text;
}

/* "fullest tile, limit 638,976 bytes", or "of 638,976 bytes" where there is less room. */
static pl_text head_text(const pl_certificate *c, const pl_layout *layout, bool is_of_need) {
    enum { NARROW = 80 };
    const size_t width = layout->screen.width;
    const char *what = c->input.chain != NULL ? "fullest tile" : "memory";
    const bool is_short = width < PL_MOST_WIDTH || is_of_need;
    pl_text text = {0};
    if (!is_of_need)
        pl_add_need_words(&text, c->input.need, ", ");
    if (!has_one_limit(c) || limit_of(c, 0) >= PL_NO_LIMIT) {
        pl_text_add(&text, is_of_need ? "of the limit" : what);
        return text;
    }
    pl_text_format(&text, "%s%s%s%s", is_short ? "of " : what, is_short ? "" : ", limit ",
                   PL_GROUPED(limit_of(c, 0)),
                   width < (is_of_need ? PL_MOST_WIDTH : NARROW) ? "" : " bytes");
    return text;
}

/* Which columns a table of stages has. */
typedef enum stage_table {
    OF_SPLIT, /* one number and its bar, cycles and cut of each stage */
    OF_NEEDS, /* the three needs of each stage and its verdict */
    OF_PLOT,  /* one number, its bar and what it may be at most, of all stages */
} stage_table;

/* Adds a need with the share of the limit, or all three. */
static void add_needs(const pl_certificate *c, stage_table table, const char *head, size_t i,
                      pl_grid *grid) {
    static const struct {
        popliner_need need;
        const char *name;
        size_t least_screen;
    } needs[] = {{POPLINER_NEED_LEAST, "at least", 80},
                 {POPLINER_NEED_EXPECTED, "expected", 0},
                 {POPLINER_NEED_MOST, "at most", 80}};
    const bool is_first = is_first_of_ipu(c, i);
    const bool is_plot = table == OF_PLOT;
    pl_grid_bar bar = {need_of(c, i), 0, limit_of(c, i)};
    if (!has_one_limit(c)) {
        pl_grid_name(grid, (pl_grid_column){"limit", PL_GRID_RIGHT, 3, 0, 0});
        pl_grid_text(grid, bar.limit_bytes < PL_NO_LIMIT ? PL_GROUPED(bar.limit_bytes) : NULL);
    }
    if (table != OF_SPLIT)
        bar.most_bytes = c->details[i].need_bytes[POPLINER_NEED_MOST];
    if (table == OF_NEEDS) {
        bar.bytes = c->details[i].need_bytes[POPLINER_NEED_EXPECTED];
        for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
            pl_grid_name(
                grid, (pl_grid_column){needs[k].name, PL_GRID_RIGHT, 3, 0, needs[k].least_screen});
            pl_grid_text(grid,
                         is_first ? PL_GROUPED(c->details[i].need_bytes[needs[k].need]) : "\"");
        }
    } else {
        pl_grid_name(grid, (pl_grid_column){head, PL_GRID_RIGHT, 3, 0, 0});
        pl_grid_text(grid, is_first ? PL_GROUPED(bar.bytes) : "\"");
        pl_grid_name(grid, (pl_grid_column){NULL, PL_GRID_RIGHT, 2, 0, 0});
        pl_grid_percent(grid, bar.bytes, is_first ? bar.limit_bytes : PL_NO_LIMIT);
    }
    pl_grid_name(grid, (pl_grid_column){table == OF_NEEDS ? head : NULL, PL_GRID_BAR, 2,
                                        is_plot ? 60 : 0, is_plot ? 0 : 60});
    if (is_first)
        pl_grid_bars(grid, bar);
    else
        pl_grid_text(grid, "");
}

static void add_stage(const pl_certificate *c, const pl_layout *layout, stage_table table,
                      const char *head, size_t i, pl_grid *grid) {
    const bool is_marked = i == (table == OF_PLOT ? c->bottleneck : marked_stage(c));
    pl_grid_name(grid, (pl_grid_column){NULL, PL_GRID_WORDS, 0, 0, 0});
    pl_grid_text(grid, is_marked ? ">" : " ");
    pl_grid_name(grid, (pl_grid_column){"stage", PL_GRID_RIGHT, 0, 0, 0});
    pl_grid_made(grid, pl_text_of("%zu", i));
    pl_grid_name(grid, (pl_grid_column){pl_certificate_devices(c, 1), PL_GRID_RIGHT, 2, 0, 0});
    pl_grid_made(grid, ipus_text(&c->plan.stages[i]));
    pl_grid_name(grid, (pl_grid_column){"layers", PL_GRID_NAME, 2, PL_MOST_STAGE_LAYERS, 0});
    pl_grid_made(grid, layers_text(c, layout, i));
    add_needs(c, table, head, i, grid);
    if (table == OF_NEEDS) {
        pl_grid_name(grid, (pl_grid_column){"verdict", PL_GRID_WORDS, 2, 0, 0});
        pl_grid_text(grid, pl_verdict_text(c->verdicts[i]));
    }
    if (table != OF_PLOT)
        pl_stage_facts_cells(c, i, table == OF_SPLIT, grid);
    pl_grid_end_row(grid, is_marked);
}

/* Writes a table of stages, the first max_rows of them. */
static void write_stages(const pl_certificate *c, stage_table table, size_t max_rows,
                         pl_layout *layout) {
    pl_text head = head_text(c, layout, table == OF_NEEDS);
    pl_text more = pl_text_of("%s plan", c->input.option_names.section);
    pl_grid grid = {0};
    for (size_t i = 0; i < c->plan.num_stages; i++)
        add_stage(c, layout, table, pl_text_string(&head), i, &grid);
    grid.arrays.failed = grid.arrays.failed || head.failed || more.failed;
    pl_grid_write(&grid, max_rows, more.data, layout);
    free(head.data);
    free(more.data);
}

popliner_status pl_plot_plan(const pl_certificate *c, const popliner_plot_options *options,
                             char **text, popliner_error *error) {
    pl_layout layout;
    pl_layout_begin(&layout, options);
    if (c->plan.num_stages > 0)
        write_stages(c, OF_PLOT, SIZE_MAX, &layout);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}

static void write_table(const pl_certificate *c, pl_layout *layout) {
    bool shares = false;
    if (c->plan.num_stages == 0)
        return;
    pl_text_add(&layout->text, "\n");
    write_stages(c, c->is_evaluation && pl_certificate_has_verdicts(c) ? OF_NEEDS : OF_SPLIT,
                 MOST_ROWS, layout);
    for (size_t i = 0; i < c->plan.num_stages; i++)
        shares = shares || !is_first_of_ipu(c, i);
    if (shares)
        pl_layout_sentence(layout, PL_TINT_NONE, (pl_text){0},
                           pl_text_of("\" The first stage on %s has the bytes of all its stages.",
                                      c->input.chain != NULL ? "an IPU" : "a device"));
}

/* ---- the bottleneck ---- */

/* Adds "stage 1", or its IPU with several stages. */
static void add_place(const pl_certificate *c, size_t stage, pl_text *text) {
    const size_t ipu = c->plan.stages[stage].ipu;
    size_t num_sharing = 0;
    for (size_t i = 0; i < c->plan.num_stages; i++)
        num_sharing += c->plan.stages[i].ipu == ipu;
    if (num_sharing > 1)
        pl_text_format(text, "%s %zu with %zu stages", pl_certificate_devices(c, 1), ipu,
                       num_sharing);
    else
        pl_text_format(text, "stage %zu", stage);
}

/* Where it is, and for what operation. */
static pl_text place_text(const pl_certificate *c, const popliner_stage_detail *d,
                          const pl_layout *layout) {
    enum { LEAST_NAME = 24 };
    const size_t operation = pl_chain_operation_at(c->input.chain, d->step);
    pl_text text = {0};
    if (c->plan.num_stages > 0)
        add_place(c, marked_stage(c), &text);
    else
        pl_text_format(
            &text, "%s%s",
            pl_certificate_kind(c, c->plan.infeasibility.unit, c->plan.infeasibility.unit),
            c->input.unit_names[c->plan.infeasibility.unit]);
    pl_text_format(&text, ", tile %zu, step %zu", d->tile, d->step);
    if (operation == SIZE_MAX || text.failed)
        return text;
    pl_text_add(&text, ": ");
    const size_t used = PL_LABEL_WIDTH + text.length;
    const size_t room = layout->screen.width > used + LEAST_NAME
                            ? layout->screen.width - used
                            : layout->screen.width - PL_LABEL_WIDTH;
    pl_layout_add_name(layout, &text, pl_operation_at(c->input.chain->operations, operation)->name,
                       room);
    return text;
}

/* Returns what is shown as the bottleneck: a stage, or the unit that is too large; else NULL. The
 * table of a split of --evaluate that fits shows it. */
static const popliner_stage_detail *bottleneck_of(const pl_certificate *c) {
    if (!c->is_measured || (c->is_evaluation && c->plan.status != POPLINER_PLAN_INFEASIBLE))
        return NULL;
    return c->plan.num_stages > 0   ? &c->details[marked_stage(c)]
           : c->unit.tile_bytes > 0 ? &c->unit
                                    : NULL;
}

static void write_variables(const popliner_stage_detail *d, size_t count, pl_layout *layout) {
    for (size_t i = 0; i < d->num_variables && i < count; i++) {
        const popliner_stage_variable *v = &d->variables[i];
        const size_t before = layout->text.length;
        pl_text_format(&layout->text, "%*s%8s  ", PL_LABEL_WIDTH, "", PL_GROUPED(v->size_bytes));
        pl_text_add_words(&layout->text, v->category);
        pl_text_add(&layout->text, "  ");
        const size_t used = layout->text.length - before;
        pl_layout_add_name(layout, &layout->text, *v->name != '\0' ? v->name : "<unnamed>",
                           layout->screen.width > used ? layout->screen.width - used : 1);
        pl_text_add(&layout->text, "\n");
    }
}

/* "34,127 bytes, 3,127 above the limit: 13,876 code and vertex state, …", the
 * largest part first. */
static pl_text parts_text(const popliner_stage_detail *d, uint64_t limit_bytes) {
    bool is_told[PL_NUM_TILE_PARTS] = {false};
    pl_text text = {0};
    pl_text_format(&text, "%s bytes", PL_GROUPED(d->tile_bytes));
    if (d->tile_bytes > limit_bytes)
        pl_text_format(&text, ", %s above the limit", PL_GROUPED(d->tile_bytes - limit_bytes));
    for (size_t i = 0; i < PL_NUM_TILE_PARTS; i++) {
        size_t most = PL_NUM_TILE_PARTS;
        for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
            if (!is_told[part] && (most == PL_NUM_TILE_PARTS ||
                                   pl_tile_part_bytes(d, part) > pl_tile_part_bytes(d, most)))
                most = part;
        is_told[most] = true;
        if (pl_tile_part_bytes(d, most) == 0)
            break;
        pl_text_format(&text, "%s%s %s", i == 0 ? ": " : ", ",
                       PL_GROUPED(pl_tile_part_bytes(d, most)), pl_tile_parts[most].text);
    }
    return text;
}

/* Writes the largest units of a stage that does not fit, where the costs are of no profile. */
static void write_large_units(const pl_certificate *c, pl_layout *layout) {
    if (c->num_large_units == 0)
        return;
    const size_t stage = marked_stage(c);
    pl_text text = {0};
    add_place(c, stage, &text);
    pl_text_format(&text, ": %s bytes, %s above the limit", PL_GROUPED(need_of(c, stage)),
                   PL_GROUPED(need_of(c, stage) - limit_of(c, stage)));
    if (c->large_stash_bytes > 0)
        pl_text_format(&text, "; %s are kept for the backward pass",
                       PL_GROUPED(c->large_stash_bytes));
    for (size_t i = 0; i < c->num_large_units; i++) {
        pl_text_add(&text, i == 0 ? "; largest alone: " : ", ");
        pl_text name = {0};
        add_name(c, layout, c->large_units[i].unit, &name);
        pl_layout_add_name(layout, &text, pl_text_string(&name), PL_MOST_STAGE_LAYERS);
        text.failed = text.failed || name.failed;
        free(name.data);
        pl_text_format(&text, " (%s)", PL_GROUPED(c->large_units[i].bytes));
    }
    pl_text_add(&layout->text, "\n");
    pl_layout_entry(layout, "Bottleneck", "", 0, text);
}

static void write_bottleneck(const pl_certificate *c, pl_layout *layout) {
    const popliner_stage_detail *d = bottleneck_of(c);
    if (d == NULL) {
        write_large_units(c, layout);
        return;
    }
    const bool is_too_large = c->plan.status == POPLINER_PLAN_INFEASIBLE;
    const uint64_t limit_bytes =
        c->plan.num_stages > 0 ? limit_of(c, marked_stage(c)) : c->plan.infeasibility.limit_bytes;
    pl_text_add(&layout->text, "\n");
    pl_layout_entry(layout, "Bottleneck", "", 0, place_text(c, d, layout));
    if (pl_certificate_has_verdicts(c) && !c->is_evaluation)
        pl_layout_entry(layout, "", "", 0,
                        pl_text_of("at least %s, expected %s, at most %s bytes",
                                   PL_GROUPED(d->need_bytes[POPLINER_NEED_LEAST]),
                                   PL_GROUPED(d->need_bytes[POPLINER_NEED_EXPECTED]),
                                   PL_GROUPED(d->need_bytes[POPLINER_NEED_MOST])));
    if (is_too_large)
        pl_layout_entry(layout, "", "", 0, parts_text(d, limit_bytes));
    write_variables(d, is_too_large ? VARIABLES_IF_TOO_LARGE : 1, layout);
}

/* ---- what would help ---- */

/* Adds a constraint as an option, with the dashes that options have. */
static void add_option(const pl_certificate *c, const popliner_constraint *it, pl_text *text) {
    const char *example = c->input.option_names.num_ipus;
    pl_text_append(text, example, strspn(example, "-"));
    pl_certificate_word_constraint(c, it, text);
}

/* Adds the meaning of a constraint: "layers 0 to 3 on one IPU". */
static void add_meaning(const pl_certificate *c, const popliner_constraint *it, pl_text *text) {
    for (const char *word = pl_constraint_of(it->kind)->meaning; *word != '\0'; word++) {
        if (*word != '%') {
            pl_text_append(text, word, 1);
            continue;
        }
        size_t last;
        switch (*++word) {
        case 'N':
            pl_text_format(text, "%zu", it->number);
            break;
        case 's':
            pl_text_add(text, it->number == 1 ? "" : "s");
            break;
        case 'I':
            pl_text_format(text, "%s %zu", pl_certificate_devices(c, 1), it->ipu);
            break;
        case 'D':
            pl_text_add(text, pl_certificate_devices(c, 1));
            break;
        default: /* units */
            last = *word == 'V' ? it->second_unit : *word == 'W' ? it->unit + 1 : it->unit;
            pl_text_format(text, "%s%s", pl_certificate_kind(c, it->unit, last),
                           c->input.unit_names[it->unit]);
            if (last != it->unit)
                pl_text_format(text, *word == 'V' ? " to %s" : " and %s",
                               c->input.unit_names[last]);
            break;
        }
    }
}

/* Adds "  cut-after 1    a cut between 1 and 2" for each constraint of a contradiction. */
static void write_constraints(const pl_certificate *c, pl_layout *layout) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    const pl_grid_column columns[] = {{NULL, PL_GRID_NAME, 2, 0, 0}, {NULL, PL_GRID_NAME, 4, 0, 0}};
    pl_grid grid = {.columns = columns, .num_columns = 2};
    if (why->obstacle != POPLINER_OBSTACLE_CONSTRAINTS || c->is_evaluation)
        return;
    for (size_t i = 0; i < pl_certificate_num_constraints(c); i++) {
        pl_text words = {0};
        pl_text meaning = {0};
        if (i < why->num_constraints) {
            add_option(c, &why->constraints[i], &words);
            add_meaning(c, &why->constraints[i], &meaning);
        } else {
            pl_certificate_add_constraint(c, i, &words);
        }
        pl_grid_made(&grid, words);
        pl_grid_made(&grid, meaning);
    }
    pl_grid_write(&grid, MOST_ROWS, "", layout);
}

void pl_hints_write(const popliner_hint *hints, size_t num_hints, pl_layout *layout) {
    static const char *const labels[] = {"Try", "Enough", "Not with", "Not enough"};
    size_t width = 0;
    for (size_t i = 0; i < num_hints; i++)
        width = pl_larger(width, pl_layout_width_of(hints[i].option));
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
        const char *label = labels[k];
        for (size_t i = 0; i < num_hints; i++)
            if (strcmp(hints[i].label, labels[k]) == 0) {
                pl_layout_entry(layout, label, hints[i].option, width,
                                pl_text_of("%s", hints[i].words));
                label = strcmp(labels[k], "Enough") == 0 ? "or" : ""; /* each is enough alone */
            }
    }
}

/* Adds messages of the certificate that no other part of the screen shows. */
static void write_notes(const pl_certificate *c, pl_layout *layout) {
    for (size_t i = c->first_note; i < c->messages.count; i++)
        pl_layout_entry(layout, i == c->first_note ? "Note" : "", "", 0,
                        pl_text_of("%s", c->messages.items[i].text));
}

popliner_status popliner_screen_answer(const popliner_certificate *callers,
                                       const popliner_plot_options *screen, char **text,
                                       popliner_error *error) {
    const pl_certificate *certificate = (const pl_certificate *)callers;
    pl_layout layout;
    pl_layout_begin(&layout, screen);
    pl_layout_sentence(&layout, certificate->tint, pl_text_of("%s", certificate->headline),
                       pl_text_of("%s", certificate->proof));
    write_constraints(certificate, &layout);
    write_table(certificate, &layout);
    write_bottleneck(certificate, &layout);
    if (certificate->info.num_hints > 0 && bottleneck_of(certificate) == NULL &&
        certificate->num_large_units == 0)
        pl_text_add(&layout.text, "\n");
    pl_hints_write(certificate->info.hints, certificate->info.num_hints, &layout);
    if (certificate->record != NULL)
        pl_layout_entry(&layout, "Verdict", "", 0, pl_text_of("%s", certificate->record));
    write_notes(certificate, &layout);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
