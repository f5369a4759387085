/* Writes a comparison for people: the largest changes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"
#include "tables/changes_data.h"

enum { MOST_LISTED = 10, MOST_OF_A_NAME = 80, NUMBER_SIZE = 32 };

/* ---- words and numbers ---- */

/* Appends a name from a file; long names are shortened. */
static void add_name(pl_text *text, const char *name) {
    for (size_t i = 0; *name != '\0'; i++) {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(name, &c);
        if (i == MOST_OF_A_NAME) {
            pl_text_add(text, "...");
            return;
        }
        if (length == 0 || pl_utf8_is_control(c))
            pl_text_add(text, PL_REPLACEMENT);
        else
            pl_text_append(text, name, length);
        name += length == 0 ? 1 : length;
    }
}

/* "1,234,567", with its sign if the number is negative or `tells_plus`. */
static const char *grouped(int64_t number, bool tells_plus, char result[NUMBER_SIZE]) {
    char digits[NUMBER_SIZE];
    char *end = result;
    uint64_t size = number < 0 ? (uint64_t)0 - (uint64_t)number : (uint64_t)number;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, size);
    if (number < 0 || (tells_plus && number > 0))
        *end++ = number < 0 ? '-' : '+';
    for (int i = 0; i < length; i++) {
        *end++ = digits[i];
        if (i + 1 < length && (length - i) % 3 == 1)
            *end++ = ',';
    }
    *end = '\0';
    return result;
}

static void add_count(pl_text *text, size_t count, const char *one, const char *several) {
    char number[NUMBER_SIZE];
    pl_text_format(text, "%s %s", grouped((int64_t)count, false, number),
                   count == 1 ? one : several);
}

static void add_header(pl_text *text, const char *what) {
    pl_text_format(text, "%16s  %16s  %16s  %9s  %s\n", "before", "now", "difference", "%", what);
}

/* Appends the numbers of a row. What they are of follows, because it may be long. */
static void add_numbers(pl_text *text, const popliner_change *d) {
    char before[NUMBER_SIZE] = "-";
    char now[NUMBER_SIZE] = "-";
    char difference[NUMBER_SIZE] = "";
    char share[NUMBER_SIZE] = "";
    double percent = 0;
    if (d->has_before)
        grouped(d->before, false, before);
    if (d->has_now)
        grouped(d->now, false, now);
    if (d->has_before && d->has_now)
        grouped(pl_change_of(d), true, difference);
    if (pl_change_percent(d, &percent))
        snprintf(share, sizeof share, d->before == d->now ? "0" : "%+.2f", percent);
    pl_text_format(text, "%16s  %16s  %16s  %9s  ", before, now, difference, share);
}

/* Appends "layer 3"; the names of head, tail and unlayered operations need no kind. */
static void add_item(pl_text *text, const popliner_change *d) {
    if (strcmp(d->what, "layer") == 0)
        pl_text_add(text, "layer ");
    add_name(text, d->name);
    pl_text_add(text, d->presence == POPLINER_ONLY_NOW      ? ", only now"
                      : d->presence == POPLINER_ONLY_BEFORE ? ", only before"
                                                            : "");
}

/* ---- items ---- */

/* The quantities of one item: items[first ... end - 1] of the comparison. */
typedef struct item {
    size_t first;
    size_t end;
    const popliner_change *shown; /* the quantity that is shown */
    bool is_changed;
} item;

/* Returns the item that begins at `first`. Consecutive items may have equal names. */
static item item_at(const pl_changes *c, size_t first, const char *quantity) {
    const popliner_change *d = &c->items[first];
    item found = {.first = first, .end = first, .shown = d};
    do {
        const popliner_change *own = &c->items[found.end];
        found.is_changed = found.is_changed || pl_change_is_one(own);
        if (strcmp(own->quantity, quantity) == 0)
            found.shown = own;
        found.end++;
    } while (found.end < c->count && c->items[found.end].what == d->what &&
             c->items[found.end].name == d->name && c->items[found.end].quantity != d->quantity);
    return found;
}

static uint64_t size_of_change(const popliner_change *d) {
    popliner_change whole = *d; /* missing values are 0 here */
    int64_t difference = pl_change_of(&whole);
    return difference < 0 ? (uint64_t)0 - (uint64_t)difference : (uint64_t)difference;
}

/* Sorts by the size of the change, the largest first; stable. */
static int compare_items(const void *left, const void *right) {
    const item *a = left;
    const item *b = right;
    uint64_t own = size_of_change(a->shown);
    uint64_t other = size_of_change(b->shown);
    return own != other ? (own < other) - (own > other)
                        : (a->first > b->first) - (a->first < b->first);
}

/* A list of items. */
typedef struct listing {
    bool (*takes)(const popliner_change *d);
    const char *quantity;
    const char *title;
    const char *one;
    const char *several;
} listing;

static bool is_of_category(const popliner_change *d) {
    return strcmp(d->what, "category") == 0;
}

/* Returns all items of a listing, [*count]; NULL when memory is short. */
static item *find_items(const pl_changes *c, const listing *l, size_t *count) {
    item *items = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < c->count;) {
        item next = item_at(c, i, l->quantity);
        i = next.end;
        if (!l->takes(next.shown))
            continue;
        if (!pl_grow(&items, &capacity, *count + 1, sizeof *items)) {
            free(items);
            return NULL;
        }
        items[(*count)++] = next;
    }
    return items == NULL ? pl_new_array(0, sizeof *items) : items;
}

static void write_items(const pl_changes *c, const listing *l, pl_text *text) {
    size_t count = 0;
    size_t num_changed = 0;
    size_t num_lonely[] = {0, 0, 0};
    item *items = find_items(c, l, &count);
    text->failed = text->failed || items == NULL;
    for (size_t i = 0; items != NULL && i < count; i++) {
        num_lonely[items[i].shown->presence]++;
        if (items[i].is_changed)
            items[num_changed++] = items[i];
    }
    if (items == NULL || num_changed == 0) {
        free(items);
        return;
    }
    qsort(items, num_changed, sizeof *items, compare_items);
    pl_text_format(text, "\n%s (%zu of ", l->title, num_changed);
    add_count(text, count, l->one, l->several);
    pl_text_add(text, " changed");
    if (num_lonely[POPLINER_ONLY_BEFORE] + num_lonely[POPLINER_ONLY_NOW] > 0)
        pl_text_format(text, "; %zu only before, %zu only now", num_lonely[POPLINER_ONLY_BEFORE],
                       num_lonely[POPLINER_ONLY_NOW]);
    pl_text_add(text, ")\n");
    for (size_t i = 0; i < num_changed && i < MOST_LISTED; i++) {
        add_numbers(text, items[i].shown);
        add_item(text, items[i].shown);
        pl_text_add(text, "\n");
    }
    if (num_changed > MOST_LISTED)
        pl_text_format(text, "  and %zu more, which the table has\n", num_changed - MOST_LISTED);
    free(items);
}

/* ---- the device, the plan, the tiles ---- */

static void write_device(const pl_changes *c, pl_text *text) {
    static const char *const words[][2] = {
        {"largest_tile_live_bytes", "live on the fullest tile"},
        {"total_bytes", "bytes in use on all tiles"},
        {"always_live_bytes", "bytes always live on all tiles"},
        {"layout_gap_bytes", "bytes that the layout leaves unused at most"},
        {"cycles", "cycles of all layers"},
    };
    add_header(text, "device");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t k = 0; k < c->count && strcmp(c->items[k].what, "device") == 0; k++) {
            const popliner_change *d = &c->items[k];
            if (strcmp(d->quantity, words[i][0]) != 0 || (!d->has_before && !d->has_now))
                continue;
            add_numbers(text, d);
            pl_text_add(text, words[i][1]);
            if (i == 0)
                pl_text_format(text, ": tile %zu", c->sides[PL_NOW].largest_tile);
            if (i == 0 && c->sides[PL_BEFORE].largest_tile != c->sides[PL_NOW].largest_tile)
                pl_text_format(text, ", before tile %zu", c->sides[PL_BEFORE].largest_tile);
            pl_text_add(text, "\n");
        }
    for (size_t k = 0; k < c->count && strcmp(c->items[k].what, "device") == 0; k++) {
        const popliner_change *d = &c->items[k];
        if (strcmp(d->name, "count") != 0 || !pl_change_is_one(d))
            continue;
        add_numbers(text, d);
        for (const char *letter = d->quantity; *letter != '\0'; letter++)
            pl_text_append(text, *letter == '_' ? " " : letter, 1);
        pl_text_add(text, "\n");
    }
}

static void add_ends(const pl_compared_stage *stage, pl_text *text) {
    add_name(text, stage->first_unit);
    if (strcmp(stage->first_unit, stage->last_unit) != 0) {
        pl_text_add(text, " to ");
        add_name(text, stage->last_unit);
    }
}

static bool has_same_ends(const pl_compared_stage *sides) {
    const pl_compared_stage *before = &sides[PL_BEFORE];
    const pl_compared_stage *now = &sides[PL_NOW];
    return before->first_unit == now->first_unit && before->last_unit == now->last_unit;
}

static void add_stage(const pl_compared_stage *sides, pl_text *text) {
    const pl_compared_stage *before = &sides[PL_BEFORE];
    const pl_compared_stage *now = &sides[PL_NOW];
    if (now->first_unit != NULL)
        add_ends(now, text);
    if (now->first_unit != NULL && before->first_unit != NULL && !has_same_ends(sides)) {
        pl_text_add(text, "; before ");
        add_ends(before, text);
    } else if (now->first_unit == NULL) {
        add_ends(before, text);
    }
    pl_text_add(text, before->first_unit == NULL ? ", only now"
                      : now->first_unit == NULL  ? ", only before"
                                                 : "");
    if (now->verdict != NULL)
        pl_text_format(text, " (%s)", now->verdict);
}

static void write_plan(const pl_changes *c, pl_text *text) {
    size_t stage = 0;
    if (!c->has_plan)
        return;
    pl_text_add(text, "\nThe plan: what the fullest tile of each stage needs\n");
    add_numbers(text, &c->items[c->deciding]);
    pl_text_add(text, "the largest of all\n");
    for (size_t i = c->deciding + 2; i < c->count && stage < c->num_stages;) {
        const item next = item_at(c, i, "need_bytes");
        add_numbers(text, next.shown);
        pl_text_format(text, "stage %zu: ", stage);
        add_stage(c->stages[stage++], text);
        pl_text_add(text, "\n");
        i = next.end;
    }
}

static void write_tiles(const pl_changes *c, pl_text *text) {
    size_t num_more = 0;
    size_t num_less = 0;
    size_t num_same = 0;
    for (size_t i = 0; i < c->count; i++) {
        const popliner_change *d = &c->items[i];
        if (strcmp(d->what, "tile") != 0 || strcmp(d->quantity, "live_bytes") != 0)
            continue;
        num_more += d->now > d->before;
        num_less += d->now < d->before;
        num_same += d->now == d->before;
    }
    const popliner_change *most = c->info.most_grown_tile;
    pl_text_format(text, "\nTiles: live memory is larger on %zu, smaller on %zu, the same on %zu\n",
                   num_more, num_less, num_same);
    if (most != NULL) {
        add_numbers(text, most);
        pl_text_format(text, "tile %s, which grew most\n", most->name);
    }
}

/* ---- settings ---- */

/* Appends "engine option opt.x: false, before true". */
static void add_setting(const pl_setting_change *s, pl_text *text) {
    const char *own = s->presence == POPLINER_ONLY_BEFORE ? s->before : s->now;
    pl_text_add(text, strcmp(s->group, "engine_option") == 0 ? "  engine option " : "  ");
    if (strcmp(s->group, "engine_option") != 0) {
        add_name(text, s->group);
        pl_text_add(text, " ");
    }
    add_name(text, s->name);
    pl_text_add(text, ": ");
    add_name(text, own == NULL ? "-" : own);
    if (s->presence == POPLINER_ON_BOTH_SIDES) {
        pl_text_add(text, ", before ");
        add_name(text, s->before == NULL ? "-" : s->before);
    } else {
        pl_text_add(text, s->presence == POPLINER_ONLY_NOW ? ", only now" : ", only before");
    }
    pl_text_add(text, "\n");
}

static void write_settings(const pl_changes *c, pl_text *text) {
    size_t num_listed = 0;
    if (c->num_settings_changed == 0)
        return;
    pl_text_format(text, "\nSettings (%zu of %zu changed)\n", c->num_settings_changed,
                   c->num_settings);
    for (size_t i = 0; i < c->num_settings && num_listed < MOST_LISTED; i++)
        if (pl_setting_is_change(&c->settings[i])) {
            add_setting(&c->settings[i], text);
            num_listed++;
        }
    if (c->num_settings_changed > num_listed)
        pl_text_format(text, "  and %zu more, which the table has\n",
                       c->num_settings_changed - num_listed);
}

/* ---- the whole text ---- */

static bool is_same(const pl_changes *c) {
    bool same = c->num_changed == 0;
    for (size_t i = 0; same && i < c->num_stages; i++)
        same = has_same_ends(c->stages[i]);
    return same;
}

static void write_same(const pl_changes *c, pl_text *text) {
    pl_text_add(text, "No difference: ");
    add_count(text, c->count, "quantity", "quantities");
    pl_text_add(text, " of ");
    add_count(text, c->num_tiles, "tile", "tiles");
    pl_text_add(text, c->has_plan ? ", categories, layers and stages are the same.\n"
                                  : ", categories and layers are the same.\n");
}

static void write_side(const char *what, const pl_compared_side *side, pl_text *text) {
    pl_text_format(text, "%-8s", what);
    add_name(text, side->name);
    if (*side->poplar_version != '\0') {
        pl_text_add(text, " (Poplar ");
        add_name(text, side->poplar_version);
        pl_text_add(text, ")");
    }
    pl_text_add(text, "\n");
}

popliner_status pl_changes_write_text(const pl_changes *changes, char **result,
                                      popliner_error *error) {
    static const listing categories = {is_of_category, "variables_bytes",
                                       "Categories by the sizes of their variables", "category",
                                       "categories"};
    static const listing units = {pl_change_is_of_unit, "total_bytes",
                                  "Layers by what they need as stages of their own", "unit",
                                  "units"};
    const pl_changes *c = changes;
    pl_text text = {0};
    if (is_same(c)) {
        write_same(c, &text);
        write_settings(c, &text);
        return pl_text_finish(&text, POPLINER_OK, result, error);
    }
    write_side("Before:", &c->sides[PL_BEFORE], &text);
    write_side("Now:", &c->sides[PL_NOW], &text);
    write_settings(c, &text);
    pl_text_add(&text, "\n");
    write_device(c, &text);
    write_plan(c, &text);
    write_items(c, &categories, &text);
    write_items(c, &units, &text);
    write_tiles(c, &text);
    return pl_text_finish(&text, POPLINER_OK, result, error);
}
