/* A comparison as a table, and as JSON: the same rows behind what is known of both sides.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/text.h"
#include "tables/changes_data.h"

static const char *only_name(popliner_presence presence) {
    return presence == POPLINER_ONLY_BEFORE ? "before"
           : presence == POPLINER_ONLY_NOW  ? "now"
                                            : NULL;
}

/* A quantity, or else a setting. Settings are texts, so their values have columns of their own: all
 * that is in the others is a number. In JSON they stand before the rows. */
static void add_row(const popliner_change *d, const popliner_setting_change *s, bool is_table,
                    pl_sheet *sheet) {
    static const popliner_change none = {0};
    double percent = 0;
    d = d == NULL ? &none : d;
    const bool has_percent = pl_change_percent(d, &percent);
    PL_COLUMN(sheet, text, "what", s != NULL ? "setting" : d->what);
    PL_COLUMN(sheet, text, "name", s != NULL ? s->group : d->name);
    PL_COLUMN(sheet, text, "quantity", s != NULL ? s->name : d->quantity);
    PL_COLUMN(sheet, change, "before", d->has_before, d->before);
    PL_COLUMN(sheet, change, "now", d->has_now, d->now);
    PL_COLUMN(sheet, change, "difference", d->has_before && d->has_now, pl_change_of(d));
    PL_COLUMN(sheet, share, "percent", has_percent, percent);
    PL_COLUMN(sheet, text, "only", only_name(s != NULL ? s->presence : d->presence));
    if (is_table) {
        PL_COLUMN(sheet, text, "before_text", s != NULL ? s->before : NULL);
        PL_COLUMN(sheet, text, "now_text", s != NULL ? s->now : NULL);
    }
}

static void add_rows(const popliner_changes *c, bool is_table, pl_sheet *sheet) {
    add_row(NULL, NULL, is_table, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < c->count; i++)
        add_row(&c->items[i], NULL, is_table, sheet);
    for (size_t i = 0; is_table && i < c->num_settings; i++)
        add_row(NULL, &c->settings[i], is_table, sheet);
}

/* ---- what stands before the rows in JSON ---- */

/* `key`: a text, or null. */
static void add_text(pl_text *text, const char *key, const char *value) {
    pl_text_format(text, "\"%s\": ", key);
    if (value == NULL)
        pl_text_add(text, "null");
    else
        pl_quote_json(text, value);
}

static void add_next_text(pl_text *text, const char *key, const char *value) {
    pl_text_add(text, ", ");
    add_text(text, key, value);
}

static void add_side(pl_text *text, const char *key, const pl_compared_side *side) {
    pl_text_format(text, "\"%s\": {", key);
    add_text(text, "name", side->name);
    add_next_text(text, "poplar_version",
                  *side->poplar_version == '\0' ? NULL : side->poplar_version);
    add_next_text(text, "architecture", *side->architecture == '\0' ? NULL : side->architecture);
    pl_text_format(text, ", \"bytes_per_tile\": %llu, \"largest_tile\": %zu, ",
                   (unsigned long long)side->bytes_per_tile, side->largest_tile);
    add_text(text, "cycles_source", side->cycles_source);
    pl_text_add(text, "},\n");
}

static void add_number(pl_text *text, const char *key, bool is_there, int64_t value) {
    pl_text_format(text, ", \"%s\": ", key);
    if (is_there)
        pl_text_format(text, "%lld", (long long)value);
    else
        pl_text_add(text, "null");
}

/* The values of a quantity. */
static void add_values(pl_text *text, const popliner_change *d) {
    double percent = 0;
    add_number(text, "before", d->has_before, d->before);
    add_number(text, "now", d->has_now, d->now);
    add_number(text, "difference", d->has_before && d->has_now, pl_change_of(d));
    if (pl_change_percent(d, &percent))
        pl_text_format(text, ", \"percent\": %.6g", percent);
    else
        pl_text_add(text, ", \"percent\": null");
}

static void add_growth(pl_text *text, const popliner_change *d) {
    pl_text_add(text, "\"growth\": {");
    add_text(text, "what", d->what);
    add_next_text(text, "quantity", d->quantity);
    add_values(text, d);
    pl_text_add(text, "},\n");
}

static void add_stage(pl_text *text, const char *key, const pl_compared_stage *stage) {
    pl_text_format(text, ", \"%s\": ", key);
    if (stage->first_unit == NULL) {
        pl_text_add(text, "null");
        return;
    }
    pl_text_format(text, "{\"ipu\": %llu, ", (unsigned long long)stage->ipu);
    add_text(text, "first_unit", stage->first_unit);
    add_next_text(text, "last_unit", stage->last_unit);
    add_next_text(text, "verdict", stage->verdict);
    pl_text_add(text, "}");
}

static void add_stages(pl_text *text, const popliner_changes *c) {
    if (!c->has_plan) {
        pl_text_add(text, "\"stages\": null,\n");
        return;
    }
    pl_text_add(text, "\"stages\": [");
    for (size_t i = 0; i < c->num_stages; i++) {
        pl_text_format(text, "%s{\"stage\": %zu", i == 0 ? "\n" : ",\n", i);
        add_stage(text, "before", &c->stages[i][PL_BEFORE]);
        add_stage(text, "now", &c->stages[i][PL_NOW]);
        pl_text_add(text, "}");
    }
    pl_text_add(text, "],\n");
}

static void add_all_settings(pl_text *text, const popliner_changes *c) {
    pl_text_format(text, "\"num_settings_changed\": %zu,\n\"settings\": [",
                   c->num_settings_changed);
    for (size_t i = 0; i < c->num_settings; i++) {
        const popliner_setting_change *s = &c->settings[i];
        pl_text_add(text, i == 0 ? "\n{" : ",\n{");
        add_text(text, "group", s->group);
        add_next_text(text, "name", s->name);
        add_next_text(text, "before", s->before);
        add_next_text(text, "now", s->now);
        add_next_text(text, "only", only_name(s->presence));
        pl_text_add(text, "}");
    }
    pl_text_add(text, "],\n");
}

static void add_bound(pl_text *text, const popliner_growth_result *r) {
    pl_text_add(text, "{");
    add_text(text, "of", popliner_growth_name(r->bound.of));
    pl_text_format(text, ", \"max_percent\": %.15g, \"num_compared\": %zu, \"exceeded\": [",
                   r->bound.max_percent, r->num_compared);
    for (size_t i = 0; i < r->num_exceeded; i++) {
        const popliner_change *d = r->exceeded[i];
        pl_text_add(text, i == 0 ? "{" : ", {");
        add_text(text, "what", d->what);
        add_next_text(text, "name", d->name);
        add_next_text(text, "quantity", d->quantity);
        add_values(text, d);
        pl_text_add(text, "}");
    }
    pl_text_add(text, "]}");
}

static void add_bounds(pl_text *text, const popliner_changes *c) {
    pl_text_add(text, "\"bounds\": [");
    for (size_t i = 0; i < c->num_bounds; i++) {
        pl_text_add(text, i == 0 ? "\n" : ",\n");
        add_bound(text, &c->bounds[i]);
    }
    pl_text_add(text, "],\n");
}

void pl_changes_add_facts(pl_text *text, const popliner_changes *changes) {
    const popliner_changes *c = changes;
    add_side(text, "before", &c->sides[PL_BEFORE]);
    add_side(text, "now", &c->sides[PL_NOW]);
    add_text(text, "memory_model", c->model == POPLINER_MEMORY_MODEL_FULL ? "full" : "popliner");
    pl_text_format(text, ", \"num_tiles\": %zu, \"num_quantities\": %zu, \"num_changed\": %zu,\n",
                   c->num_tiles, c->count, c->num_changed);
    add_growth(text, &c->items[c->deciding]);
    add_bounds(text, c);
    add_all_settings(text, c);
    add_stages(text, c);
}

popliner_status pl_changes_write_rows(const popliner_changes *changes, popliner_format format,
                                      char **text, popliner_error *error) {
    pl_sheet sheet;
    pl_text document = {0};
    char *rows = NULL;
    pl_sheet_begin(&sheet, format, "changes");
    add_rows(changes, format != POPLINER_FORMAT_JSON, &sheet);
    popliner_status status = pl_sheet_finish(&sheet, POPLINER_OK, &rows, error);
    if (status != POPLINER_OK || format != POPLINER_FORMAT_JSON) {
        *text = rows;
        return status;
    }
    /* the object of the rows gets more members before its own */
    pl_text_add(&document, "{");
    pl_changes_add_facts(&document, changes);
    pl_text_add(&document, rows + 1);
    free(rows);
    return pl_text_finish(&document, POPLINER_OK, text, error);
}

/* ---- the data of a page ---- */

/* Items in a row that are shown as one table: items[first .. end - 1]. */
typedef struct range {
    size_t first;
    size_t end;
} range;

static const char *table_of(const popliner_change *d) {
    return pl_change_is_of_unit(d) ? "unit" : d->what;
}

static range range_at(const popliner_changes *c, size_t first) {
    range r = {first, first};
    while (r.end < c->count && strcmp(table_of(&c->items[r.end]), table_of(&c->items[first])) == 0)
        r.end++;
    return r;
}

/* Adds `"name":` and the table. */
static popliner_status add_sheet(pl_text *data, const char *name, pl_sheet *sheet,
                                 popliner_error *error) {
    char *text = NULL;
    popliner_status status = pl_sheet_finish(sheet, POPLINER_OK, &text, error);
    if (status == POPLINER_OK)
        pl_text_format(data, "%s\n\"%s\":", data->data[data->length - 1] == '{' ? "" : ",", name);
    if (status == POPLINER_OK)
        pl_text_add(data, text);
    free(text);
    return status;
}

static void add_quantity(const popliner_change *d, pl_sheet *sheet) {
    PL_COLUMN(sheet, text, "name", d->name);
    PL_COLUMN(sheet, text, "quantity", d->quantity);
    PL_COLUMN(sheet, packed_change, "before", d->has_before, d->before);
    PL_COLUMN(sheet, packed_change, "now", d->has_now, d->now);
}

/* Quantities that are each of another thing: a row for each. */
static popliner_status add_list(const popliner_changes *c, const range *r, pl_text *data,
                                popliner_error *error) {
    pl_sheet sheet;
    pl_sheet_begin(&sheet, PL_FORMAT_PACKED, "changes");
    add_quantity(NULL, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t i = r->first; i < r->end; i++)
        add_quantity(&c->items[i], &sheet);
    return add_sheet(data, table_of(&c->items[r->first]), &sheet, error);
}

/* How many quantities each item has. */
static size_t num_quantities(const popliner_changes *c, const range *r) {
    const popliner_change *first = &c->items[r->first];
    size_t count = 1;
    while (r->first + count < r->end && c->items[r->first + count].quantity != first->quantity)
        count++;
    return count;
}

/* A column of a quantity on one side; its name is "SIDE.QUANTITY". */
static void add_side_value(pl_sheet *sheet, const char *side, const popliner_change *d) {
    const bool is_before = *side == 'b';
    pl_text name = {0};
    if (sheet->is_naming)
        pl_text_format(&name, "%s.%s", side, d->quantity);
    sheet->text.failed = sheet->text.failed || name.failed;
    PL_COLUMN(sheet, packed_change, name.failed ? "" : name.data,
              is_before ? d->has_before : d->has_now, is_before ? d->before : d->now);
    free(name.data);
}

/* An item with its quantities. */
static void add_item(const popliner_change *d, size_t count, pl_sheet *sheet) {
    PL_COLUMN(sheet, text, "what", d->what);
    PL_COLUMN(sheet, text, "name", d->name);
    PL_COLUMN(sheet, text, "only", only_name(d->presence));
    for (size_t i = 0; i < count; i++) {
        add_side_value(sheet, "before", &d[i]);
        add_side_value(sheet, "now", &d[i]);
    }
}

/* Items that have the same quantities: a row for each item. */
static popliner_status add_items(const popliner_changes *c, const range *r, pl_text *data,
                                 popliner_error *error) {
    const size_t count = num_quantities(c, r);
    const char *name = table_of(&c->items[r->first]);
    pl_sheet sheet;
    pl_sheet_begin(&sheet, PL_FORMAT_PACKED, "changes");
    sheet.is_whole = strcmp(name, "tile") == 0; /* tiles are drawn, so all of them are told */
    add_item(&c->items[r->first], count, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t i = r->first; i < r->end; i += count)
        add_item(&c->items[i], count, &sheet);
    return add_sheet(data, name, &sheet, error);
}

popliner_status pl_changes_write_page(const popliner_changes *changes, pl_text *data,
                                      popliner_error *error) {
    const popliner_changes *c = changes;
    popliner_status status = POPLINER_OK;
    pl_text_add(data, "{");
    pl_changes_add_facts(data, c);
    pl_text_add(data, "\"tables\":{");
    for (size_t i = 0; status == POPLINER_OK && !data->failed && i < c->count;) {
        const range r = range_at(c, i);
        const char *what = c->items[i].what;
        status = strcmp(what, "device") == 0 || strcmp(what, "plan") == 0
                     ? add_list(c, &r, data, error)
                     : add_items(c, &r, data, error);
        i = r.end;
    }
    pl_text_add(data, "}}");
    return status;
}
