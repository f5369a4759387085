/* A comparison of two profiles for people: what changed most comes first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/text.h"
#include "popliner/screen.h"
#include "tables/changes_data.h"

static uint64_t size_of(int64_t number) {
    return number < 0 ? (uint64_t)0 - (uint64_t)number : (uint64_t)number;
}

/* "-12,345", or with the plus "+12,345". */
static pl_grouped group_signed(int64_t number, const char *plus) {
    const pl_grouped size = pl_group_digits(size_of(number));
    pl_grouped grouped;
    snprintf(grouped.text, sizeof grouped.text, "%s%.26s",
             number < 0   ? "-"
             : number > 0 ? plus
                          : "",
             size.text);
    return grouped;
}
#define SIGNED(number, plus) (group_signed(number, plus).text)

/* Adds by how much a quantity grew, "+13.4 %"; nothing if that is no percentage. */
static void add_percent(pl_text *text, const popliner_change *d) {
    double percent = 0;
    if (!pl_change_percent(d, &percent))
        return;
    pl_text_add(text, percent > 0 ? "+" : "");
    pl_text_add_significant(text, percent);
    pl_text_add(text, " %");
}

/* ---- the verdict ---- */

/* Adds that another number of IPUs is in use. With a device map both sides have as many stages, so
 * where they differ each stage is on its own IPU. */
static void add_ipus(const pl_changes *c, pl_text *text) {
    size_t count[PL_NUM_SIDES] = {0};
    for (size_t i = 0; i < c->num_stages; i++)
        for (int side = 0; side < PL_NUM_SIDES; side++)
            count[side] += c->stages[i][side].first_unit != NULL;
    if (count[PL_NOW] != count[PL_BEFORE])
        pl_text_format(text, ", on %zu IPU%s instead of %zu", count[PL_NOW],
                       count[PL_NOW] == 1 ? "" : "s", count[PL_BEFORE]);
}

static pl_tint add_verdict(const pl_changes *c, pl_text *bold, pl_text *plain) {
    const popliner_change *d = &c->items[c->deciding];
    double percent = 0;
    pl_text_add(plain, "");
    if (!d->has_before || !d->has_now) {
        pl_text_format(bold, "No split %s, so nothing can be said of growth.",
                       d->has_now ? "before" : "now");
        return PL_TINT_YELLOW;
    }
    if (d->now == d->before) {
        pl_text_add(bold, c->info.num_changed == 0 ? "No difference" : "Not larger");
    } else {
        pl_change_percent(d, &percent);
        pl_text_add(bold, d->now > d->before ? "Larger" : "Smaller");
        if (d->before > 0) {
            pl_text_add(bold, " by ");
            pl_text_add_significant(bold, percent < 0 ? -percent : percent);
            pl_text_add(bold, " %");
        }
    }
    add_ipus(c, bold);
    pl_text_add(bold, ":");
    pl_text_format(plain, "the fullest tile %s %s %s", c->has_plan ? "of all stages needs" : "has",
                   SIGNED(d->now, ""), c->has_plan ? "bytes" : "live bytes");
    if (d->now == d->before) {
        pl_text_format(plain, " on both sides; %zu of %zu quantities differ.", c->info.num_changed,
                       c->info.num_changes);
        return PL_TINT_GREEN;
    }
    pl_text_format(plain, ", before %s.", SIGNED(d->before, ""));
    return d->now > d->before ? PL_TINT_YELLOW : PL_TINT_GREEN;
}

static void write_verdict(const pl_changes *c, pl_layout *layout) {
    pl_text bold = {0};
    pl_text plain = {0};
    const pl_tint tint = add_verdict(c, &bold, &plain);
    pl_layout_sentence(layout, tint, bold, plain);
}

/* ---- the table ---- */

/* The quantity by which items of a kind are listed, and the words before the item's name, if it is
 * not the only one. */
typedef struct listing {
    const char *what;
    const char *quantity;
    const char *words;
    bool is_only;
} listing;

/* NULL: the quantity is not listed, or did not change. */
static const listing *listing_of(const popliner_change *d) {
    static const listing all[] = {
        {"device", "largest_tile_live_bytes", "fullest tile, live", true},
        {"plan", "largest_need_bytes", "fullest tile of all stages", true},
        {"stage", "need_bytes", "stage ", false},
        {"category", "variables_bytes", "category ", false},
        {"layer", "total_bytes", "layer ", false},
        {"head", "total_bytes", "", false},
        {"tail", "total_bytes", "", false},
        {"unlayered", "total_bytes", "", false},
    };
    for (size_t i = 0; pl_change_is_one(d) && i < sizeof all / sizeof *all; i++)
        if (strcmp(d->what, all[i].what) == 0 && strcmp(d->quantity, all[i].quantity) == 0)
            return &all[i];
    return NULL;
}

static int compare_changes(const void *left, const void *right) {
    const popliner_change *a = *(const popliner_change *const *)left;
    const popliner_change *b = *(const popliner_change *const *)right;
    const uint64_t own = size_of(pl_change_of(a));
    const uint64_t other = size_of(pl_change_of(b));
    return own != other ? (own < other) - (own > other) : (a > b) - (a < b);
}

static pl_text name_text(const pl_changes *c, const popliner_change *d) {
    const listing *own = listing_of(d);
    pl_text text = {0};
    pl_text_add(&text, own->words);
    if (strcmp(d->what, "category") == 0)
        pl_text_add_words(&text, d->name);
    else if (!own->is_only)
        pl_text_add(&text, d->name);
    if (strcmp(d->what, "stage") == 0) {
        const size_t stage = strtoul(d->name, NULL, 10);
        const pl_compared_stage *now = stage < c->num_stages ? &c->stages[stage][PL_NOW] : NULL;
        if (now != NULL && now->first_unit != NULL)
            pl_text_format(&text, ": %s to %s%s%s", now->first_unit, now->last_unit,
                           now->verdict == NULL ? "" : ", ",
                           now->verdict == NULL ? "" : now->verdict);
    }
    pl_text_add(&text, d->presence == POPLINER_ONLY_NOW      ? ", only now"
                       : d->presence == POPLINER_ONLY_BEFORE ? ", only before"
                                                             : "");
    return text;
}

static void add_row(const pl_changes *c, const popliner_change *d, pl_grid *grid) {
    pl_text percent = {0};
    add_percent(&percent, d);
    pl_grid_text(grid, d->has_before ? SIGNED(d->before, "") : NULL);
    pl_grid_text(grid, d->has_now ? SIGNED(d->now, "") : NULL);
    pl_grid_text(grid, SIGNED(pl_change_of(d), "+"));
    pl_grid_made(grid, percent);
    pl_grid_made(grid, name_text(c, d));
    pl_grid_end_row(grid, d == &c->items[c->deciding]);
}

static void write_table(const pl_changes *c, const char *more, pl_layout *layout) {
    enum { SHOWN = 20 };
    const pl_grid_column columns[] = {{"before", PL_GRID_RIGHT, 0, 0, 80},
                                      {"now", PL_GRID_RIGHT, 2, 0, 0},
                                      {"difference", PL_GRID_RIGHT, 2, 0, 0},
                                      {"", PL_GRID_RIGHT, 2, 0, 60},
                                      {"bytes of", PL_GRID_NAME, 2, 0, 0}};
    pl_grid grid = {.columns = columns, .num_columns = sizeof columns / sizeof *columns};
    size_t count = 0;
    const popliner_change **listed = pl_new_array(c->info.num_changes, sizeof *listed);
    layout->text.failed = layout->text.failed || listed == NULL;
    const popliner_change *const deciding = &c->items[c->deciding];
    const size_t first = listed != NULL && listing_of(deciding) != NULL;
    if (first > 0) /* the change that the verdict is about comes first */
        listed[count++] = deciding;
    for (size_t i = 0; listed != NULL && i < c->info.num_changes; i++)
        if (i != c->deciding && listing_of(&c->items[i]) != NULL)
            listed[count++] = &c->items[i];
    if (count > first)
        qsort(listed + first, count - first, sizeof *listed, compare_changes);
    if (count > 0)
        pl_text_add(&layout->text, "\n");
    for (size_t i = 0; i < count; i++)
        add_row(c, listed[i], &grid);
    if (count > 0) {
        pl_grid_write(&grid, SHOWN, more, layout);
        pl_layout_sentence(layout, PL_TINT_NONE, (pl_text){0},
                           pl_text_of("Categories and layers: of all tiles, whenever they live."));
    }
    free(listed);
}

/* ---- what else is different ---- */

static void write_sides(const pl_changes *c, pl_layout *layout) {
    static const char *const labels[PL_NUM_SIDES] = {[PL_BEFORE] = "Before", [PL_NOW] = "Now"};
    for (int side = 0; side < PL_NUM_SIDES; side++) {
        const pl_compared_side *s = &c->sides[side];
        if (side == 0)
            pl_text_add(&layout->text, "\n");
        pl_layout_entry(layout, labels[side], "", 0,
                        pl_text_of("%s%s%s; the fullest tile is tile %zu", s->name,
                                   *s->poplar_version == '\0' ? "" : ", Poplar ", s->poplar_version,
                                   s->largest_tile));
    }
}

/* Quantities of the device that are no bytes of a tile. */
static void write_device(const pl_changes *c, pl_layout *layout) {
    static const char *const rows[][2] = {
        {"cycles", "cycles of all layers"},
        {"total_bytes", "bytes in use on all tiles"},
        {"layout_gap_bytes", "bytes that the layout leaves unused at most"},
    };
    const char *label = "Device";
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (size_t i = 0; i < c->info.num_changes && strcmp(c->items[i].what, "device") == 0;
             i++) {
            const popliner_change *d = &c->items[i];
            pl_text text = {0};
            if (strcmp(d->quantity, rows[row][0]) != 0 || !pl_change_is_one(d) || !d->has_before ||
                !d->has_now)
                continue;
            pl_text_format(&text, "%s %s, before %s", SIGNED(d->now, ""), rows[row][1],
                           SIGNED(d->before, ""));
            if (d->before > 0) {
                pl_text_add(&text, " (");
                add_percent(&text, d);
                pl_text_add(&text, ")");
            }
            pl_layout_entry(layout, label, "", 0, text);
            label = "";
        }
}

popliner_status popliner_screen_changes(const popliner_changes *callers, const char *more,
                                        const popliner_plot_options *screen, char **text,
                                        popliner_error *error) {
    const pl_changes *changes = (const pl_changes *)callers;
    pl_layout layout;
    pl_layout_begin(&layout, screen);
    write_verdict(changes, &layout);
    write_table(changes, more, &layout);
    if (changes->info.num_changed > 0)
        write_sides(changes, &layout);
    write_device(changes, &layout);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
