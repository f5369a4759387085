/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/lanes.h"

#include <stdlib.h>

#include "base/growth.h"

/* A lane in a heap with the smallest key on top. */
typedef struct entry {
    uint64_t key;
    uint32_t lane;
} entry;

typedef struct heap {
    entry *entries;
    size_t count;
} heap;

static void push(heap *h, uint64_t key, uint32_t lane) {
    size_t at = h->count++;
    for (; at > 0 && h->entries[(at - 1) / 2].key > key; at = (at - 1) / 2)
        h->entries[at] = h->entries[(at - 1) / 2];
    h->entries[at] = (entry){key, lane};
}

static uint32_t pop(heap *h) {
    uint32_t top = h->entries[0].lane;
    entry last = h->entries[--h->count];
    size_t at = 0;
    for (size_t child = 1; child < h->count; child = 2 * at + 1) {
        if (child + 1 < h->count && h->entries[child + 1].key < h->entries[child].key)
            child++;
        if (h->entries[child].key >= last.key)
            break;
        h->entries[at] = h->entries[child];
        at = child;
    }
    h->entries[at] = last;
    return top;
}

bool pl_lanes_find(const uint64_t *start, const uint64_t *end, size_t count, uint32_t *lane,
                   size_t *num_lanes) {
    heap busy = {pl_new_array(count, sizeof *busy.entries), 0}; /* by when they end */
    heap idle = {pl_new_array(count, sizeof *idle.entries), 0}; /* by their number */
    const bool memory = busy.entries != NULL && idle.entries != NULL;
    *num_lanes = 0;
    for (size_t i = 0; memory && i < count; i++) {
        while (busy.count > 0 && busy.entries[0].key <= start[i]) {
            uint32_t free_lane = pop(&busy);
            push(&idle, free_lane, free_lane);
        }
        lane[i] = idle.count > 0 ? pop(&idle) : (uint32_t)(*num_lanes)++;
        push(&busy, end[i], lane[i]);
    }
    free(busy.entries);
    free(idle.entries);
    return memory;
}
