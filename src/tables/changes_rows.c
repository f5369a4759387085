/* Writes a comparison as a table; as JSON, the same rows after the facts about both sides.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/text.h"
#include "tables/changes_data.h"

static const char *only_name(popliner_presence presence) {
    return presence == POPLINER_ONLY_BEFORE ? "before"
           : presence == POPLINER_ONLY_NOW  ? "now"
                                            : NULL;
}

static void add_row(const popliner_change *d, pl_sheet *sheet) {
    double percent = 0;
    const bool has_percent = pl_change_percent(d, &percent);
    PL_COLUMN(sheet, text, "what", d->what);
    PL_COLUMN(sheet, text, "name", d->name);
    PL_COLUMN(sheet, text, "quantity", d->quantity);
    PL_COLUMN(sheet, change, "before", d->has_before, d->before);
    PL_COLUMN(sheet, change, "now", d->has_now, d->now);
    PL_COLUMN(sheet, change, "difference", d->has_before && d->has_now, pl_change_of(d));
    PL_COLUMN(sheet, share, "percent", has_percent, percent);
    PL_COLUMN(sheet, text, "only", only_name(d->presence));
}

static void add_names(pl_sheet *sheet) {
    static const popliner_change none = {0};
    add_row(&none, sheet);
    pl_sheet_end_names(sheet);
}

/* ---- members before the rows in JSON ---- */

static void put_side(pl_json *json, const char *key, const pl_compared_side *side) {
    pl_put_open(json, key, '{');
    pl_put_text(json, "name", side->name);
    pl_put_text(json, "poplar_version",
                *side->poplar_version == '\0' ? NULL : side->poplar_version);
    pl_put_text(json, "architecture", *side->architecture == '\0' ? NULL : side->architecture);
    pl_put_number(json, "bytes_per_tile", side->bytes_per_tile);
    pl_put_number(json, "largest_tile", side->largest_tile);
    pl_put_text(json, "cycles_source", side->cycles_source);
    pl_put_close(json);
}

static void put_known(pl_json *json, const char *key, bool is_there, int64_t value) {
    if (is_there)
        pl_put_signed(json, key, value);
    else
        pl_put_null(json, key);
}

static void put_values(pl_json *json, const popliner_change *d) {
    double percent = 0;
    put_known(json, "before", d->has_before, d->before);
    put_known(json, "now", d->has_now, d->now);
    put_known(json, "difference", d->has_before && d->has_now, pl_change_of(d));
    pl_put_value(json, "percent");
    if (pl_change_percent(d, &percent))
        pl_text_format(json->text, "%.6g", percent);
    else
        pl_text_add(json->text, "null");
}

static void put_stage(pl_json *json, const char *key, const pl_compared_stage *stage) {
    if (!pl_put_open_if(json, stage->first_unit != NULL, key, '{'))
        return;
    pl_put_number(json, "ipu", stage->ipu);
    pl_put_text(json, "first_unit", stage->first_unit);
    pl_put_text(json, "last_unit", stage->last_unit);
    pl_put_text(json, "verdict", stage->verdict);
    pl_put_close(json);
}

static void put_stages(pl_json *json, const pl_changes *c) {
    pl_put_line(json);
    if (!pl_put_open_if(json, c->has_plan, "stages", '['))
        return;
    for (size_t i = 0; i < c->num_stages; i++) {
        pl_put_line(json);
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "stage", i);
        put_stage(json, "before", &c->stages[i][PL_BEFORE]);
        put_stage(json, "now", &c->stages[i][PL_NOW]);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_bound(pl_json *json, const popliner_changes *r, popliner_growth of) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "of", pl_growth_name(of));
    pl_put_value(json, "max_percent");
    pl_text_format(json->text, "%.15g", r->max_percents[of]);
    pl_put_number(json, "num_compared", r->num_compared[of]);
    pl_put_open(json, "exceeded", '[');
    for (size_t i = 0; i < r->num_exceeded[of]; i++) {
        const popliner_change *d = r->exceeded[of][i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "what", d->what);
        pl_put_text(json, "name", d->name);
        pl_put_text(json, "quantity", d->quantity);
        put_values(json, d);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

/* Writes an object without its end: the caller adds the last members. */
static void put_facts(pl_text *text, const pl_changes *c) {
    const popliner_change *growth = &c->items[c->deciding];
    pl_json json = {.text = text, .style = PL_JSON_SPACED};
    pl_put_open(&json, NULL, '{');
    put_side(&json, "before", &c->sides[PL_BEFORE]);
    pl_put_line(&json);
    put_side(&json, "now", &c->sides[PL_NOW]);
    pl_put_line(&json);
    pl_put_text(&json, "memory_model",
                c->model == POPLINER_MEMORY_MODEL_FULL ? "full" : "popliner");
    pl_put_number(&json, "num_tiles", c->num_tiles);
    pl_put_number(&json, "num_quantities", c->info.num_changes);
    pl_put_number(&json, "num_changed", c->info.num_changed);
    pl_put_line(&json);
    pl_put_open(&json, "growth", '{');
    pl_put_text(&json, "what", growth->what);
    pl_put_text(&json, "quantity", growth->quantity);
    put_values(&json, growth);
    pl_put_close(&json);
    pl_put_line(&json);
    pl_put_open(&json, "bounds", '[');
    for (int of = 0; of < POPLINER_NUM_GROWTHS; of++) {
        if (!(c->info.max_percents[of] >= 0))
            continue;
        pl_put_line(&json);
        put_bound(&json, &c->info, (popliner_growth)of);
    }
    pl_put_close(&json);
    put_stages(&json, c);
    pl_text_add(text, ",\n");
}

popliner_status popliner_changes_text(const popliner_changes *callers, popliner_format format,
                                      char **text, popliner_error *error) {
    const pl_changes *changes = (const pl_changes *)callers;
    pl_sheet sheet;
    pl_text document = {0};
    char *rows = NULL;
    *text = NULL;
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "format %d: not one of comparisons",
                       (int)format);
    pl_sheet_begin(&sheet, format, "changes");
    add_names(&sheet);
    for (size_t i = 0; i < changes->info.num_changes; i++)
        add_row(&changes->items[i], &sheet);
    popliner_status status = pl_sheet_finish(&sheet, POPLINER_OK, &rows, error);
    if (status != POPLINER_OK || format != POPLINER_FORMAT_JSON) {
        *text = rows;
        return status;
    }
    /* the rows' object gets more members before its own */
    put_facts(&document, changes);
    pl_text_add(&document, rows + 1);
    free(rows);
    return pl_text_finish(&document, POPLINER_OK, text, error);
}
