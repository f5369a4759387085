/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "array_changes.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "records.h"

enum { MAX_ITEMS = 1 << 12 };

static uint64_t get(const changing_array *a, size_t width, size_t number) {
    uint64_t value = 0;
    memcpy(&value, a->bytes + number * width, width); /* of a little-endian machine */
    return value;
}

static void set(changing_array *a, size_t width, size_t number, uint64_t value) {
    memcpy(a->bytes + number * width, &value, width);
}

static void resize(changing_array *a, size_t num_items) {
    a->is_changed = true;
    a->bytes = realloc(a->bytes, num_items * a->item_size + 1);
    FUZZ_CHECK(a->bytes != NULL);
    if (num_items > a->num_items)
        memset(a->bytes + a->num_items * a->item_size, 0,
               (num_items - a->num_items) * a->item_size);
    a->num_items = num_items;
}

static void repeat_item(changing_array *a, size_t item, size_t from) {
    const size_t width = a->item_size;
    const size_t behind = a->num_items - item;
    resize(a, a->num_items + 1);
    memmove(a->bytes + (item + 1) * width, a->bytes + item * width, behind * width);
    memcpy(a->bytes + item * width, a->bytes + (from >= item ? from + 1 : from) * width, width);
}

static void remove_item(changing_array *a, size_t item) {
    const size_t width = a->item_size;
    memmove(a->bytes + item * width, a->bytes + (item + 1) * width,
            (a->num_items - item - 1) * width);
    a->num_items--;
    a->is_changed = true;
}

/* Repeats or removes what the items of a group are for, or of `a` alone. */
static void change_group(changing_array *arrays, size_t num_arrays, const changing_array *a,
                         const uint8_t *record, bool repeats, bool breaks_groups) {
    const bool is_alone = breaks_groups && (record[4] & 1) != 0;
    size_t num_things = SIZE_MAX;
    for (size_t i = 0; i < num_arrays; i++) {
        const size_t things = arrays[i].num_items - arrays[i].extra_items;
        if (arrays[i].group == a->group && things < num_things)
            num_things = things;
    }
    if (num_things == 0 || (repeats && num_things >= MAX_ITEMS))
        return;
    const size_t item = (record[2] | (size_t)(record[0] >> 6) << 8) % num_things;
    for (size_t i = 0; i < num_arrays; i++) {
        if (arrays[i].group != a->group || (is_alone && &arrays[i] != a))
            continue;
        if (repeats)
            repeat_item(&arrays[i], item, record[3] % num_things);
        else
            remove_item(&arrays[i], item);
    }
}

void array_change(changing_array *arrays, size_t num_arrays, const uint8_t *record,
                  bool breaks_groups) {
    enum { SET, SET_TOO, ADD, COPY, SWAP, STEP, REPEAT, REMOVE, CUT, NUM_CHANGES };
    changing_array *a = &arrays[record[1] % num_arrays];
    /* of a pair of numbers each is one */
    const size_t width = a->item_size > 8 ? 8 : a->item_size;
    const size_t count = a->num_items * a->item_size / width;
    const size_t place = record[2] | (size_t)(record[0] >> 6) << 8;
    const unsigned change = (record[0] & 63u) % NUM_CHANGES;
    if (change == CUT && breaks_groups) {
        resize(a, (record[3] & 1) != 0 ? (record[4] | (size_t)record[5] << 8) % MAX_ITEMS
                                       : a->num_items - a->num_items % (1 + record[4] % 4u));
        return;
    }
    if (count == 0)
        return;
    const size_t number = place % count;
    const size_t other = record[3] % count;
    const uint64_t value = get(a, width, number);
    if (change == REPEAT || change == REMOVE || change == CUT) {
        change_group(arrays, num_arrays, a, record, change == REPEAT, breaks_groups);
        return;
    }
    a->is_changed = true;
    switch (change) {
    case ADD:
        set(a, width, number, value + (uint64_t)(int64_t)(int8_t)record[3]);
        break;
    case COPY:
        set(a, width, number, get(a, width, other));
        break;
    case SWAP:
        set(a, width, number, get(a, width, other));
        set(a, width, other, value);
        break;
    case STEP:
        set(a, width, number, value ^ UINT64_C(1) << record[3] % (8 * width));
        break;
    default:
        set(a, width, number, (uint64_t)records_number(record));
        break;
    }
}
