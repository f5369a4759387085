/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/unit_orders.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

const char *pl_unit_order_name(pl_unit_order order) {
    static const char *const names[PL_NUM_UNIT_ORDERS] = {
        "by number",        "by number from the end",
        "depth first",      "depth first from the end",
        "breadth first",    "breadth first from the end",
        "by heaviest path", "by heaviest path from the end",
        "by least traffic", "by least traffic from the end",
    };
    return names[order];
}

/* Lists of numbers: those of i are items[from[i]] up to items[from[i + 1]]. */
typedef struct lists {
    uint32_t *from;
    uint32_t *items;
} lists;

/* The other way round: for each of `num_items` numbers the lists that hold it. */
static bool invert(const lists *source, size_t num_lists, size_t num_items, lists *result) {
    result->from = pl_new_array(num_items + 1, sizeof *result->from);
    result->items = pl_new_array(source->from[num_lists], sizeof *result->items);
    if (result->from == NULL || result->items == NULL)
        return false;
    for (size_t i = 0; i < source->from[num_lists]; ++i)
        ++result->from[source->items[i]];
    for (size_t i = 0; i < num_items; ++i)
        result->from[i + 1] += result->from[i];
    for (size_t i = num_lists; i-- > 0;)
        for (size_t k = source->from[i]; k < source->from[i + 1]; ++k)
            result->items[--result->from[source->items[k]]] = (uint32_t)i;
    return true;
}

typedef struct walk {
    const pl_unit_graph *units;
    pl_unit_order kind; /* without its direction */
    bool from_end;
    lists before; /* of each unit */
    lists nets;   /* of each unit */
    /* what comes behind and before a unit in the direction of the walk */
    const lists *next;
    const lists *previous;
    uint32_t *waits_for; /* of a unit: how many of `previous` are not placed */
    uint32_t *ready;
    size_t num_ready;
    size_t num_placed;
    uint64_t *key;          /* of a unit: the smallest comes next */
    uint64_t *path;         /* cycles of the heaviest path up to a unit, with it */
    uint32_t *placed_units; /* of a net */
} walk;

/* What a cut behind the placed units costs more with this one, in the middle of the numbers so that
 * less than nothing can be told. */
static uint64_t key_of_traffic(const walk *w, uint32_t unit) {
    uint64_t key = UINT64_MAX / 2;
    for (size_t i = w->nets.from[unit]; i < w->nets.from[unit + 1]; ++i) {
        uint32_t net = w->nets.items[i];
        uint32_t count = w->units->nets_from[net + 1] - w->units->nets_from[net];
        if (w->placed_units[net] == 0)
            key += w->units->net_traffic[net];
        if (w->placed_units[net] + 1 == count)
            key -= w->units->net_traffic[net];
    }
    return key;
}

static void become_ready(walk *w, uint32_t unit) {
    uint64_t heaviest = 0;
    for (size_t i = w->previous->from[unit]; i < w->previous->from[unit + 1]; ++i) {
        uint64_t path = w->path[w->previous->items[i]];
        heaviest = path > heaviest ? path : heaviest;
    }
    w->path[unit] = heaviest + w->units->cycles[unit];
    w->key[unit] = w->kind == PL_ORDER_DEPTH     ? w->units->num_units - w->num_placed
                   : w->kind == PL_ORDER_BREADTH ? w->num_placed
                   : w->kind == PL_ORDER_PATH    ? heaviest
                                                 : 0;
    w->ready[w->num_ready++] = unit;
}

/* Takes the unit that comes next from those that are ready. */
static uint32_t take_next(walk *w) {
    size_t best = 0;
    for (size_t i = 0; i < w->num_ready; ++i) {
        uint32_t unit = w->ready[i];
        if (w->kind == PL_ORDER_TRAFFIC)
            w->key[unit] = key_of_traffic(w, unit);
        uint32_t rival = w->ready[best];
        if (w->key[unit] < w->key[rival] ||
            (w->key[unit] == w->key[rival] && (w->from_end ? unit > rival : unit < rival)))
            best = i;
    }
    uint32_t unit = w->ready[best];
    w->ready[best] = w->ready[--w->num_ready];
    return unit;
}

static void walk_units(walk *w, uint32_t *place) {
    size_t num_units = w->units->num_units;
    for (size_t unit = 0; unit < num_units; ++unit) {
        w->waits_for[unit] = w->previous->from[unit + 1] - w->previous->from[unit];
        if (w->waits_for[unit] == 0)
            become_ready(w, (uint32_t)unit);
    }
    while (w->num_ready > 0) {
        uint32_t unit = take_next(w);
        place[unit] = (uint32_t)(w->from_end ? num_units - 1 - w->num_placed : w->num_placed);
        ++w->num_placed;
        for (size_t i = w->nets.from[unit]; i < w->nets.from[unit + 1]; ++i)
            ++w->placed_units[w->nets.items[i]];
        for (size_t i = w->next->from[unit]; i < w->next->from[unit + 1]; ++i)
            if (--w->waits_for[w->next->items[i]] == 0)
                become_ready(w, w->next->items[i]);
    }
}

bool pl_unit_order_make(const pl_unit_graph *units, pl_unit_order order, uint32_t *place) {
    size_t count = units->num_units;
    for (size_t unit = 0; order == PL_ORDER_NUMBER && unit < count; ++unit)
        place[unit] = (uint32_t)unit;
    if (order == PL_ORDER_NUMBER)
        return true;
    const lists followers = {units->followers_from, units->followers};
    const lists units_of_nets = {units->nets_from, units->net_units};
    walk w = {.units = units, .kind = order - order % 2, .from_end = order % 2 != 0};
    w.next = w.from_end ? &w.before : &followers;
    w.previous = w.from_end ? &followers : &w.before;
    w.waits_for = pl_new_array(count, sizeof *w.waits_for);
    w.ready = pl_new_array(count, sizeof *w.ready);
    w.key = pl_new_array(count, sizeof *w.key);
    w.path = pl_new_array(count, sizeof *w.path);
    w.placed_units = pl_new_array(units->num_nets, sizeof *w.placed_units);
    bool done = w.waits_for != NULL && w.ready != NULL && w.key != NULL && w.path != NULL &&
                w.placed_units != NULL && invert(&followers, count, count, &w.before) &&
                invert(&units_of_nets, units->num_nets, count, &w.nets);
    if (done)
        walk_units(&w, place);
    free(w.before.from);
    free(w.before.items);
    free(w.nets.from);
    free(w.nets.items);
    free(w.waits_for);
    free(w.ready);
    free(w.key);
    free(w.path);
    free(w.placed_units);
    return done;
}
