/* Whether quantities grew by more than they may.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "sections/changes_data.h"

/* What of a comparison is held against each kind of bound. */
static const struct {
    const char *name;
    const char *what; /* NULL: units of any kind */
    const char *quantity;
} kinds[POPLINER_NUM_GROWTHS] = {
    [POPLINER_GROWTH_LARGEST_TILE] = {"largest-tile", "", ""}, /* the one that decides */
    [POPLINER_GROWTH_TILES] = {"tiles", "tile", "live_bytes"},
    [POPLINER_GROWTH_CATEGORIES] = {"categories", "category", "variables_bytes"},
    [POPLINER_GROWTH_LAYERS] = {"layers", NULL, "total_bytes"},
    [POPLINER_GROWTH_STAGES] = {"stages", "stage", "need_bytes"},
    [POPLINER_GROWTH_CYCLES] = {"cycles", "device", "cycles"},
};

const char *popliner_growth_name(popliner_growth of) {
    return (unsigned)of < POPLINER_NUM_GROWTHS ? kinds[of].name : NULL;
}

bool pl_change_is_of_unit(const popliner_change *difference) {
    const char *what = difference->what;
    return strcmp(what, "head") == 0 || strcmp(what, "layer") == 0 || strcmp(what, "tail") == 0 ||
           strcmp(what, "unlayered") == 0;
}

bool pl_change_grew(const popliner_change *difference, double max_percent) {
    static const uint64_t parts_of_one = 100000000; /* millionths of a percent */
    const popliner_change *d = difference;
    if (!d->has_before || !d->has_now || d->now <= d->before)
        return false;
    const double parts = max_percent * 1e6 + 0.5;
    if (!(parts < 1e19)) /* also what is no number */
        return false;
    const uint64_t grown[] = {(uint64_t)pl_change_of(d), parts_of_one};
    const uint64_t allowed[] = {d->before < 0 ? 0 : (uint64_t)d->before,
                                parts < 0 ? 0 : (uint64_t)parts};
    const pl_product left = pl_product_of(grown, 2);
    const pl_product right = pl_product_of(allowed, 2);
    return pl_product_compare(&left, &right) > 0;
}

static bool is_of(const popliner_changes *c, size_t place, popliner_growth of) {
    const popliner_change *d = &c->items[place];
    if (of == POPLINER_GROWTH_LARGEST_TILE)
        return place == c->deciding;
    return strcmp(d->quantity, kinds[of].quantity) == 0 &&
           (kinds[of].what == NULL ? pl_change_is_of_unit(d)
                                   : strcmp(d->what, kinds[of].what) == 0);
}

/* The largest share first: grown / before, by products. All of a list stand in one array. */
static int compare_shares(const void *left, const void *right) {
    const popliner_change *a = *(const popliner_change *const *)left;
    const popliner_change *b = *(const popliner_change *const *)right;
    const uint64_t own[] = {(uint64_t)pl_change_of(a), b->before < 0 ? 0 : (uint64_t)b->before};
    const uint64_t other[] = {(uint64_t)pl_change_of(b), a->before < 0 ? 0 : (uint64_t)a->before};
    const pl_product own_share = pl_product_of(own, 2);
    const pl_product other_share = pl_product_of(other, 2);
    int order = pl_product_compare(&other_share, &own_share);
    if ((a->before <= 0) != (b->before <= 0))
        order = a->before <= 0 ? -1 : 1;
    return order != 0 ? order : (a > b) - (a < b);
}

static bool hold(const popliner_changes *c, const popliner_growth_bound *bound,
                 pl_growth_found *found) {
    size_t capacity = 0;
    popliner_growth_result *r = &found->result;
    r->bound = *bound;
    for (size_t i = 0; i < c->count; i++) {
        if (!is_of(c, i, bound->of))
            continue;
        r->num_compared += c->items[i].has_before && c->items[i].has_now;
        if (!pl_change_grew(&c->items[i], bound->max_percent))
            continue;
        if (!pl_grow(&found->exceeded, &capacity, r->num_exceeded + 1, sizeof *found->exceeded))
            return false;
        found->exceeded[r->num_exceeded++] = &c->items[i];
    }
    if (r->num_exceeded > 0)
        qsort(found->exceeded, r->num_exceeded, sizeof *found->exceeded, compare_shares);
    r->exceeded = found->exceeded;
    return true;
}

void pl_changes_hold(popliner_changes *changes, const popliner_growth_bound *bounds,
                     size_t num_bounds) {
    popliner_changes *c = changes;
    c->bounds = pl_new_array(num_bounds, sizeof *c->bounds);
    c->failed = c->failed || c->bounds == NULL;
    for (size_t i = 0; !c->failed && i < num_bounds; i++) {
        c->num_bounds = i + 1;
        c->failed = !hold(c, &bounds[i], &c->bounds[i]);
    }
}

const popliner_growth_result *popliner_changes_bound_at(const popliner_changes *changes, size_t i) {
    return i < changes->num_bounds ? &changes->bounds[i].result : NULL;
}
