/* The facts of a stage besides its units and its memory: a row here is a member of JSON, and so of
 * Python's documents, a column of tables and one of screens.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include "base/text.h"
#include "solve/ipus.h"

/* A number in a unit (see pl_certificate_known_json), or a text. */
typedef struct value {
    bool is_known;
    uint64_t number;
    uint64_t divisor;
    const char *text;
} value;

typedef enum look { LOOK_SIZE, LOOK_TIME, LOOK_CUT, LOOK_TEXT, LOOK_NONE } look;

typedef struct fact {
    const char *key;    /* in JSON; NULL: not there */
    const char *column; /* of tables; "": the unit of time; NULL: none */
    const char *title;  /* on screens; "" and NULL as above */
    bool (*exists)(const pl_certificate *c, size_t part);
    value (*of)(const pl_certificate *c, size_t stage, size_t part);
    look look;
    size_t least_screen;
    size_t part;
} fact;

static bool always(const pl_certificate *c, size_t part) {
    (void)c;
    (void)part;
    return true;
}

static bool has_part(const pl_certificate *c, size_t part) {
    return c->has_part[part];
}

static value part_of(const pl_certificate *c, size_t stage, size_t part) {
    return (value){true, c->parts[stage][part], 1, NULL};
}

static value cycles_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){c->input.has_cycles, c->plan.stages[stage].cycles, c->input.cycles_per_time_unit,
                   NULL};
}

/* The original's solver has no objectives, and looks at no cuts. */
static value cut_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){c->plan.num_values > 0, c->plan.stages[stage].cut_bytes, c->input.cuts_per_unit,
                   NULL};
}

static bool has_links(const pl_certificate *c, size_t part) {
    (void)part;
    return pl_links_exist(c->input.options);
}

static value link_cycles_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){true, c->plan.stages[stage].link_cycles, c->input.cycles_per_time_unit, NULL};
}

static value parameters_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){c->is_measured,
                   c->is_measured ? c->details[stage].part_bytes[POPLINER_PART_PARAMETERS] : 0, 1,
                   NULL};
}

static bool has_caches(const pl_certificate *c, size_t part) {
    (void)part;
    return c->input.kv_bytes != NULL;
}

static value cache_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){true, pl_certificate_kv(c, stage), 1, NULL};
}

static bool are_reduced(const pl_certificate *c, size_t part) {
    (void)part;
    return c->reduced_bytes != NULL;
}

static value reduced_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){true, c->reduced_bytes[stage], 1, NULL};
}

static bool has_replicas(const pl_certificate *c, size_t part) {
    (void)part;
    return pl_certificate_has_replicas(c);
}

static value replicas_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){true, c->plan.stages[stage].num_replicas, 1, NULL};
}

static bool has_choices(const pl_certificate *c, size_t part) {
    (void)part;
    return c->plan.choices != NULL;
}

static value choice_of(const pl_certificate *c, size_t stage, size_t part) {
    (void)part;
    return (value){true, 0, 1, c->plan.choices[stage]};
}

#define PART(name, which, screen)                                                                  \
    { NULL, name, name, has_part, part_of, LOOK_SIZE, screen, which }
static const fact facts[] = {
    PART("cache", PL_STAGE_CACHE, 90),
    PART("stash", PL_STAGE_STASH, 90),
    PART("workspace", PL_STAGE_WORKSPACE, 80),
    PART("reserve", PL_STAGE_RESERVE, 100),
    {"cycles", "", "", always, cycles_of, LOOK_TIME, 80, 0},
    {"cut_bytes", "cut", "to next", always, cut_of, LOOK_CUT, 0, 0},
    {"link_cycles", NULL, NULL, has_links, link_cycles_of, LOOK_NONE, 0, 0},
    {"parameter_bytes", NULL, NULL, always, parameters_of, LOOK_NONE, 0, 0},
    {"kv_bytes", NULL, NULL, has_caches, cache_of, LOOK_NONE, 0, 0},
    {"reduced_bytes", NULL, NULL, are_reduced, reduced_of, LOOK_NONE, 0, 0},
    {"replicas", "replicas", NULL, has_replicas, replicas_of, LOOK_NONE, 0, 0},
    {"recompute", "recompute", "recompute", has_choices, choice_of, LOOK_TEXT, 0, 0},
};
enum { NUM_FACTS = sizeof facts / sizeof *facts };
_Static_assert(sizeof facts / sizeof *facts <= (size_t)PL_MOST_STAGE_FACTS, "no room on screens");

static const char *name_of(const pl_certificate *c, const char *name) {
    return *name == '\0' ? c->input.time_unit : name;
}

void pl_stage_facts_json(const pl_certificate *c, size_t stage, pl_json *json) {
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        if (f->key == NULL || !f->exists(c, f->part))
            continue;
        const value own = f->of(c, stage, f->part);
        if (own.text != NULL)
            pl_put_text(json, f->key, own.text);
        else
            pl_certificate_known_json(json, f->key, own.is_known, own.number, own.divisor);
    }
}

/* PopLiner's model has no range of needs, so no verdict. */
static const char *verdict_of(const pl_certificate *c, size_t stage) {
    if (c->is_measured)
        return pl_certificate_has_verdicts(c) ? pl_verdict_text(c->verdicts[stage]) : NULL;
    return pl_verdict_text(pl_certificate_fit_of(c, stage) == PL_FITS ? POPLINER_FITS
                                                                      : POPLINER_FITS_NOT);
}

void pl_stage_facts_columns(const pl_certificate *c, size_t stage, pl_sheet *sheet) {
    const popliner_plan_stage *own = &c->plan.stages[stage];
    const uint64_t limit_bytes = sheet->is_naming ? 0 : pl_certificate_limit(c, own->ipu);
    const bool is_limited = limit_bytes < PL_NO_LIMIT;
    const uint64_t need_bytes = sheet->is_naming ? 0
                                : c->is_measured ? c->details[stage].need_bytes[c->input.need]
                                                 : own->peak_bytes;
    PL_COLUMN(sheet, number, "stage", stage);
    PL_COLUMN(sheet, number, "ipu", own->ipu);
    PL_COLUMN(sheet, text, "from", c->input.unit_names[own->first_unit]);
    PL_COLUMN(sheet, text, "to", c->input.unit_names[own->last_unit]);
    PL_COLUMN(sheet, number, "memory", need_bytes);
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        if (f->column == NULL || !f->exists(c, f->part))
            continue;
        value v = {0};
        if (!sheet->is_naming)
            v = f->of(c, stage, f->part);
        if (f->look == LOOK_TEXT)
            PL_COLUMN(sheet, text, name_of(c, f->column), v.text);
        else
            PL_COLUMN(sheet, known_ratio, name_of(c, f->column), v.is_known, v.number, v.divisor);
    }
    PL_COLUMN(sheet, known, "limit_bytes", is_limited, limit_bytes);
    PL_COLUMN(sheet, change, "headroom_bytes", is_limited, (int64_t)(limit_bytes - need_bytes));
    PL_COLUMN(sheet, text, "verdict", verdict_of(c, stage));
}

size_t pl_stage_facts_titles(const pl_certificate *c, pl_grid_column *columns) {
    size_t count = 0;
    for (const fact *f = facts; f < facts + NUM_FACTS; f++)
        if (f->title != NULL)
            columns[count++] =
                (pl_grid_column){.name = f->exists(c, f->part) ? name_of(c, f->title) : NULL,
                                 .kind = f->look == LOOK_TEXT ? PL_GRID_NAME : PL_GRID_RIGHT,
                                 .gap = 3,
                                 .most_width = f->look == LOOK_TEXT ? PL_MOST_STAGE_LAYERS : 0,
                                 .least_screen = f->least_screen};
    return count;
}

void pl_stage_facts_cells(const pl_certificate *c, size_t stage, bool with_work, pl_grid *grid) {
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        pl_text text = {0};
        if (f->title == NULL)
            continue;
        const bool is_work = f->look == LOOK_TIME || f->look == LOOK_CUT;
        const bool is_last = f->look == LOOK_CUT && stage + 1 == c->plan.num_stages;
        const value v = f->exists(c, f->part) && (with_work || !is_work) && !is_last
                            ? f->of(c, stage, f->part)
                            : (value){0};
        if (v.is_known && v.text != NULL)
            pl_text_add(&text, v.text);
        else if (v.is_known && (f->look == LOOK_TIME || v.divisor > 1))
            pl_text_add_short(&text, (double)v.number / (double)v.divisor, v.divisor == 1,
                              f->look == LOOK_TIME ? "" : c->input.time_unit);
        else if (v.is_known)
            pl_text_add_size(&text, (double)v.number);
        pl_grid_made(grid, text);
    }
}
