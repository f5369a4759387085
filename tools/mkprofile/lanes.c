/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/lanes.h"

#include "base/failure.h"
#include "base/growth.h"

#include <stdlib.h>
#include <string.h>

typedef struct temporary {
    size_t ipu;
    uint64_t bytes;
    size_t variable;
} temporary;

/* Of each IPU, which has lanes of its own. */
static int largest_first(const void *left, const void *right) {
    const temporary *a = left;
    const temporary *b = right;
    if (a->ipu != b->ipu)
        return a->ipu < b->ipu ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

/* The bits of word `word` that lie in [from, to). */
static uint64_t bits_in(size_t word, size_t from, size_t to) {
    uint64_t mask = UINT64_MAX;
    if (word == from / 64)
        mask &= UINT64_MAX << from % 64;
    if (word == (to - 1) / 64)
        mask &= UINT64_MAX >> (63 - (to - 1) % 64);
    return mask;
}

static bool is_free(const mk_network_plan *plan, const mk_class *life, const uint64_t *busy) {
    for (size_t i = 0; i < life->num_ranges; i++) {
        const mk_range *range = mk_range_at(plan, life->first_range + i);
        for (size_t word = range->from / 64; word <= (range->to - 1) / 64; word++) {
            if ((busy[word] & bits_in(word, range->from, range->to)) != 0)
                return false;
        }
    }
    return true;
}

static void occupy(const mk_network_plan *plan, const mk_class *life, uint64_t *busy) {
    for (size_t i = 0; i < life->num_ranges; i++) {
        const mk_range *range = mk_range_at(plan, life->first_range + i);
        for (size_t word = range->from / 64; word <= (range->to - 1) / 64; word++)
            busy[word] |= bits_in(word, range->from, range->to);
    }
}

popliner_status mk_assign_lanes(mk_network_plan *plan, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t words = plan->steps.count / 64 + 1;
    void *busy = NULL; /* of each lane: a bit per step */
    size_t lane_bytes = words * sizeof(uint64_t);
    size_t capacity = 0;
    temporary *temporaries = pl_new_array(plan->variables.count, sizeof *temporaries);
    size_t count = 0;
    size_t num_lanes = 0;
    if (temporaries == NULL) {
        status = pl_fail_memory(error, "the layout of temporaries");
        goto done;
    }
    for (size_t i = 0; i < plan->variables.count; i++) {
        if (mk_variable_at(plan, i)->section == MK_SECTION_TEMPORARY)
            temporaries[count++] = (temporary){.ipu = mk_variable_at(plan, i)->tiles.ipu,
                                               .bytes = mk_variable_at(plan, i)->bytes,
                                               .variable = i};
    }
    qsort(temporaries, count, sizeof *temporaries, largest_first);
    for (size_t i = 0; i < count; i++) {
        mk_variable *variable = mk_variable_at(plan, temporaries[i].variable);
        if (i > 0 && temporaries[i].ipu != temporaries[i - 1].ipu)
            num_lanes = 0;
        const mk_class *life = mk_class_at(plan, variable->class_id - 1);
        size_t lane = 0;
        while (lane < num_lanes && !is_free(plan, life, (uint64_t *)busy + lane * words))
            lane++;
        if (lane == num_lanes) {
            if (!pl_grow(&busy, &capacity, lane + 1, lane_bytes)) {
                status = pl_fail_memory(error, "the layout of temporaries");
                goto done;
            }
            memset((uint64_t *)busy + lane * words, 0, lane_bytes);
            num_lanes++;
        }
        occupy(plan, life, (uint64_t *)busy + lane * words);
        variable->lane = lane;
    }
done:
    free(busy);
    free(temporaries);
    return status;
}
