/* A comparison as the data of a page: what is known of both sides, and packed tables in which each
 * quantity of an item has two columns, before and now.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "sections/changes_data.h"

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

static void add_value(pl_sheet *sheet, bool is_there, int64_t value) {
    if (!is_there)
        pl_sheet_none(sheet);
    else if (value < 0)
        pl_sheet_signed(sheet, value);
    else
        pl_sheet_number(sheet, (uint64_t)value);
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

/* Quantities that are each of another thing: a row for each. */
static popliner_status add_list(const popliner_changes *c, const range *r, pl_text *data,
                                popliner_error *error) {
    static const char *const columns[] = {"name", "quantity", "before", "now"};
    pl_sheet sheet;
    pl_sheet_begin(&sheet, PL_FORMAT_PACKED, "changes", columns, sizeof columns / sizeof *columns);
    for (size_t i = r->first; i < r->end; i++) {
        const popliner_change *d = &c->items[i];
        pl_sheet_text(&sheet, d->name);
        pl_sheet_text(&sheet, d->quantity);
        add_value(&sheet, d->has_before, d->before);
        add_value(&sheet, d->has_now, d->now);
    }
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

enum { NUM_FIXED = 3 };

static void free_names(char **names, size_t count) {
    for (size_t i = NUM_FIXED; names != NULL && i < count; i++)
        free(names[i]);
    free(names);
}

/* The columns of items with so many quantities; NULL without memory. */
static char **make_names(const popliner_changes *c, const range *r, size_t count) {
    static char fixed[NUM_FIXED][8] = {"what", "name", "only"};
    char **names = pl_new_array(NUM_FIXED + 2 * count, sizeof *names);
    bool done = names != NULL;
    for (size_t i = 0; done && i < NUM_FIXED; i++)
        names[i] = fixed[i];
    for (size_t i = 0; done && i < 2 * count; i++) {
        pl_text name = {0};
        pl_text_add(&name, i % 2 == 0 ? "before." : "now.");
        pl_text_add(&name, c->items[r->first + i / 2].quantity);
        names[NUM_FIXED + i] = name.data;
        done = !name.failed;
    }
    if (!done)
        free_names(names, NUM_FIXED + 2 * count);
    return done ? names : NULL;
}

/* Items that have the same quantities: a row for each item. */
static popliner_status add_items(const popliner_changes *c, const range *r, pl_text *data,
                                 popliner_error *error) {
    const size_t count = num_quantities(c, r);
    const char *name = table_of(&c->items[r->first]);
    char **names = make_names(c, r, count);
    pl_sheet sheet;
    if (names == NULL)
        return pl_fail_memory(error, "the comparison");
    /* tiles are drawn, so all of them are told */
    pl_sheet_begin(&sheet, PL_FORMAT_PACKED, strcmp(name, "tile") == 0 ? "tiles" : "changes",
                   (const char *const *)names, NUM_FIXED + 2 * count);
    for (size_t i = r->first; i < r->end; i++) {
        const popliner_change *d = &c->items[i];
        if ((i - r->first) % count == 0) {
            pl_sheet_text(&sheet, d->what);
            pl_sheet_text(&sheet, d->name);
            pl_sheet_text(&sheet, d->presence == POPLINER_ONLY_BEFORE ? "before"
                                  : d->presence == POPLINER_ONLY_NOW  ? "now"
                                                                      : NULL);
        }
        add_value(&sheet, d->has_before, d->before);
        add_value(&sheet, d->has_now, d->now);
    }
    popliner_status status = add_sheet(data, name, &sheet, error);
    free_names(names, NUM_FIXED + 2 * count);
    return status;
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
