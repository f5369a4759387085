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

/* Facts, after the parts of the memory. */
enum { CYCLES = PL_NUM_STAGE_PARTS, CUT, LINK, PARAMETERS, KV, REDUCED, REPLICAS, CHOICE };

typedef struct fact {
    size_t which;
    const char *key;    /* in JSON; NULL: not there */
    const char *column; /* of tables; "": the unit of time; NULL: none */
    const char *title;  /* on screens; "" and NULL as above */
    look look;
    size_t least_screen;
} fact;

static const fact facts[] = {
    {PL_STAGE_CACHE, NULL, "cache", "cache", LOOK_SIZE, 90},
    {PL_STAGE_STASH, NULL, "stash", "stash", LOOK_SIZE, 90},
    {PL_STAGE_WORKSPACE, NULL, "workspace", "workspace", LOOK_SIZE, 80},
    {PL_STAGE_RESERVE, NULL, "reserve", "reserve", LOOK_SIZE, 100},
    {CYCLES, "cycles", "", "", LOOK_TIME, 80},
    {CUT, "cut_bytes", "cut", "to next", LOOK_CUT, 0},
    {LINK, "link_cycles", NULL, NULL, LOOK_NONE, 0},
    {PARAMETERS, "parameter_bytes", NULL, NULL, LOOK_NONE, 0},
    {KV, "kv_bytes", NULL, NULL, LOOK_NONE, 0},
    {REDUCED, "reduced_bytes", NULL, NULL, LOOK_NONE, 0},
    {REPLICAS, "replicas", "replicas", NULL, LOOK_NONE, 0},
    {CHOICE, "recompute", "recompute", "recompute", LOOK_TEXT, 0},
};
enum { NUM_FACTS = sizeof facts / sizeof *facts };

/* Whether stages have a fact at all. */
static bool exists(const pl_certificate *c, size_t which) {
    switch (which) {
    case CYCLES:
    case CUT:
    case PARAMETERS:
        return true;
    case LINK:
        return pl_links_exist(c->input.options);
    case KV:
        return c->input.kv_bytes != NULL;
    case REDUCED:
        return c->reduced_bytes != NULL;
    case REPLICAS:
        return pl_certificate_has_replicas(c);
    case CHOICE:
        return c->plan.choices != NULL;
    default:
        return c->has_part[which];
    }
}

/* The bytes that a token more takes in a stage. */
static uint64_t kv_of(const pl_certificate *c, const popliner_plan_stage *stage) {
    uint64_t bytes = 0;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++)
        bytes += c->input.kv_bytes[unit];
    return bytes;
}

static value value_of(const pl_certificate *c, size_t stage, size_t which) {
    const popliner_plan_stage *own = &c->plan.stages[stage];
    const uint64_t per_time_unit = c->input.cycles_per_time_unit;
    switch (which) {
    case CYCLES:
        return (value){c->input.has_cycles, own->cycles, per_time_unit, NULL};
    case CUT: /* the original's solver has no objectives, and looks at no cuts */
        return (value){c->plan.num_values > 0, own->cut_bytes, c->input.cuts_per_unit, NULL};
    case LINK:
        return (value){true, own->link_cycles, per_time_unit, NULL};
    case PARAMETERS:
        return c->is_measured
                   ? (value){true, c->details[stage].part_bytes[POPLINER_PART_PARAMETERS], 1, NULL}
                   : (value){false, 0, 1, NULL};
    case KV:
        return (value){true, kv_of(c, own), 1, NULL};
    case REDUCED:
        return (value){true, c->reduced_bytes[stage], 1, NULL};
    case REPLICAS:
        return (value){true, own->num_replicas, 1, NULL};
    case CHOICE:
        return (value){true, 0, 1, c->plan.choices[stage]};
    default:
        return (value){true, c->parts[stage][which], 1, NULL};
    }
}

static const char *name_of(const pl_certificate *c, const char *name) {
    return *name == '\0' ? c->input.time_unit : name;
}

void pl_stage_facts_json(const pl_certificate *c, size_t stage, pl_json *json) {
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        if (f->key == NULL || !exists(c, f->which))
            continue;
        const value own = value_of(c, stage, f->which);
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
    /* the quantities of a comparison have their unit in their names */
    const bool is_compared = sheet->format == PL_FORMAT_KEPT;
    const uint64_t limit_bytes = sheet->is_naming ? 0 : pl_certificate_limit(c, own->ipu);
    const bool is_limited = limit_bytes < PL_NO_LIMIT;
    PL_COLUMN(sheet, number, "stage", stage);
    PL_COLUMN(sheet, number, "ipu", own->ipu);
    PL_COLUMN(sheet, text, "from", c->input.unit_names[own->first_unit]);
    PL_COLUMN(sheet, text, "to", c->input.unit_names[own->last_unit]);
    PL_COLUMN(sheet, number, is_compared ? "need_bytes" : "memory", own->peak_bytes);
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        if (f->column == NULL || !exists(c, f->which))
            continue;
        const char *name = name_of(c, is_compared && f->key != NULL ? f->key : f->column);
        value v = {0};
        if (!sheet->is_naming)
            v = value_of(c, stage, f->which);
        if (f->look == LOOK_TEXT)
            PL_COLUMN(sheet, text, name, v.text);
        else
            PL_COLUMN(sheet, known_ratio, name, v.is_known, v.number, v.divisor);
    }
    PL_COLUMN(sheet, known, "limit_bytes", is_limited, limit_bytes);
    PL_COLUMN(sheet, change, "headroom_bytes", is_limited,
              (int64_t)(limit_bytes - own->peak_bytes));
    PL_COLUMN(sheet, text, "verdict", verdict_of(c, stage));
}

void pl_stage_facts_cells(const pl_certificate *c, size_t stage, bool with_work, pl_grid *grid) {
    for (const fact *f = facts; f < facts + NUM_FACTS; f++) {
        pl_text text = {0};
        if (f->title == NULL || !exists(c, f->which))
            continue;
        const bool is_text = f->look == LOOK_TEXT;
        const bool is_work = f->look == LOOK_TIME || f->look == LOOK_CUT;
        const bool is_last = f->look == LOOK_CUT && stage + 1 == c->plan.num_stages;
        const value v =
            (with_work || !is_work) && !is_last ? value_of(c, stage, f->which) : (value){0};
        if (v.is_known && is_text)
            pl_text_add(&text, v.text);
        else if (v.is_known && (f->look == LOOK_TIME || v.divisor > 1))
            pl_text_add_short(&text, (double)v.number / (double)v.divisor, v.divisor == 1,
                              f->look == LOOK_TIME ? "" : c->input.time_unit);
        else if (v.is_known)
            pl_text_add_size(&text, (double)v.number);
        pl_grid_name(grid,
                     (pl_grid_column){name_of(c, f->title), is_text ? PL_GRID_NAME : PL_GRID_RIGHT,
                                      3, is_text ? PL_MOST_STAGE_LAYERS : 0, f->least_screen});
        pl_grid_made(grid, text);
    }
}
