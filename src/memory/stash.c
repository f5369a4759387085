/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stash.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "profile/profile_data.h"

void pl_stash_free(pl_stash *stash) {
    free(stash->class_matters);
    free(stash->is_fed);
    free(stash->start);
    free(stash->arrivals);
    *stash = (pl_stash){0};
}

/* Which passes of each unit touch a variable of one set, and which units are among them. */
enum { FORWARD = 1, BACKWARD = 2 };

typedef struct touching {
    uint8_t *passes; /* [num_units]: all 0 between sets */
    uint32_t first;
    uint32_t end;
} touching;

static void spread_set(touching *t, const pl_passes *passes, const pl_unit_sets *sets, uint32_t set,
                       uint32_t num_units) {
    t->first = num_units;
    t->end = 0;
    for (; set != 0; set = sets->rest[set]) {
        pl_pass_member m = pl_pass_member_of(passes, num_units, sets->last_unit[set]);
        t->passes[m.unit] |= (m.is_forward ? FORWARD : 0) | (m.is_backward ? BACKWARD : 0);
        t->first = m.unit < t->first ? m.unit : t->first;
        t->end = m.unit >= t->end ? m.unit + 1 : t->end;
    }
}

/* Where a variable arrives that is kept if both passes of the stage touch it: the stage i ... j has
 * it if i <= min(last unit <= j of the forward pass, last unit <= j of the backward pass). */
static size_t list_of_both(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t forward_end = 0; /* the last unit + 1 so far */
    uint32_t backward_end = 0;
    uint32_t starts_end = 0; /* the stages that begin before it have the variable */
    for (uint32_t unit = skips_unit_0 && t->first == 0 ? 1 : t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) != 0)
            forward_end = unit + 1;
        if ((t->passes[unit] & BACKWARD) != 0)
            backward_end = unit + 1;
        uint32_t both_end = forward_end < backward_end ? forward_end : backward_end;
        if (both_end > starts_end)
            arrivals[count++] = (pl_stash_arrival){unit, starts_end, both_end - 1};
        starts_end = both_end > starts_end ? both_end : starts_end;
    }
    return count;
}

/* Where an input arrives: units before the stage and units of the stage touch it forward. */
static size_t list_of_inputs(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t starts_begin = PL_NO_UNIT; /* in stages that begin there or behind it is missing */
    for (uint32_t unit = t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) == 0)
            continue;
        bool counts = unit > 0 || !skips_unit_0;
        if (counts && starts_begin != PL_NO_UNIT)
            arrivals[count++] = (pl_stash_arrival){unit, starts_begin, unit};
        if (counts || starts_begin == PL_NO_UNIT)
            starts_begin = unit + 1;
    }
    return count;
}

/* Where an input that comes from the host arrives, whenever the host brings it: at each unit
 * that touches it forward, in the stages that have no such unit before. */
static size_t list_of_fed(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t starts_begin = 0;
    for (uint32_t unit = skips_unit_0 && t->first == 0 ? 1 : t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) == 0)
            continue;
        arrivals[count++] = (pl_stash_arrival){unit, starts_begin, unit};
        starts_begin = unit + 1;
    }
    return count;
}

/* Lists where the variables of the set arrive, of which the host brings some or none. */
static size_t list_arrivals(const touching *t, popliner_recompute recompute, bool is_fed,
                            bool skips_unit_0, pl_stash_arrival *arrivals) {
    if (recompute == POPLINER_RECOMPUTE_STANDARD)
        return 0;
    if (recompute == POPLINER_RECOMPUTE_NONE)
        return is_fed ? 0 : list_of_both(t, skips_unit_0, arrivals);
    return is_fed ? list_of_fed(t, skips_unit_0, arrivals)
                  : list_of_inputs(t, skips_unit_0, arrivals);
}

static bool mark_classes(pl_stash *stash, const popliner_profile *p) {
    const pl_passes *passes = stash->passes;
    stash->class_matters = pl_new_array(p->num_classes, 1);
    for (uint32_t i = 0; stash->class_matters != NULL && i < p->num_classes; i++) {
        bool matters = pl_class_crosses(p, i, passes->turn_step);
        for (size_t unit = 0; !matters && unit < stash->num_units; unit++)
            matters = pl_class_crosses(p, i, passes->forward_step[unit]);
        stash->class_matters[i] = matters ? 1 : 0;
    }
    return stash->class_matters != NULL;
}

popliner_status pl_stash_create(pl_stash *stash, const popliner_profile *profile,
                                const popliner_chain *chain, const pl_passes *passes,
                                const pl_unit_usage *usage, popliner_recompute recompute,
                                popliner_error *error) {
    const pl_unit_sets *sets = &usage->sets;
    bool skips_unit_0 = pl_chain_first_data_unit(chain) > 0;
    touching t = {.passes = pl_new_array(chain->num_units, 1)};
    size_t capacity = 0;
    stash->recompute = recompute;
    stash->num_units = chain->num_units;
    stash->first_data_unit = (uint32_t)pl_chain_first_data_unit(chain);
    stash->passes = passes;
    stash->start = pl_new_array(2 * sets->count + 1, sizeof *stash->start);
    bool memory = t.passes != NULL && stash->start != NULL;
    if (recompute != POPLINER_RECOMPUTE_NONE) {
        stash->is_fed = pl_mark_fed(profile);
        memory = memory && stash->is_fed != NULL;
    }
    if (memory && recompute == POPLINER_RECOMPUTE_STANDARD)
        memory = mark_classes(stash, profile);
    for (uint32_t set = 0; memory && set < sets->count; set++) {
        spread_set(&t, passes, sets, set, (uint32_t)chain->num_units);
        size_t most = t.end > t.first ? t.end - t.first : 0;
        const size_t lists = 2 * (size_t)set;
        for (size_t list = lists; memory && list < lists + 2; list++) {
            size_t first = stash->start[list];
            memory = pl_grow(&stash->arrivals, &capacity, first + most, sizeof *stash->arrivals);
            stash->start[list + 1] = first;
            if (memory && most > 0)
                stash->start[list + 1] += list_arrivals(&t, recompute, list % 2 == 1, skips_unit_0,
                                                        stash->arrivals + first);
        }
        for (uint32_t unit = t.first; unit < t.end; unit++)
            t.passes[unit] = 0;
    }
    free(t.passes);
    return memory ? POPLINER_OK : pl_fail_memory(error, "what a pipeline keeps");
}

/* Adds to the stages that begin at first_start ... last_start and grow to `unit`. */
static void add_to_starts(const pl_stash *stash, uint32_t unit, uint32_t first_start,
                          uint32_t last_start, uint64_t bytes, uint64_t *arriving_bytes) {
    arriving_bytes[first_start * stash->num_units + unit] += bytes;
    arriving_bytes[(last_start + 1) * stash->num_units + unit] -= bytes;
}

/* Behind the last unit before `end` that touches in the pass; 0 for none from `first` on. */
static uint32_t end_of_pass(const touching *t, uint8_t pass, uint32_t first, uint32_t end) {
    while (end > first && (t->passes[end - 1] & pass) == 0)
        end--;
    return end > first ? end : 0;
}

/* Which stages that end with one unit keep a variable, by where they begin. */
typedef struct keeping_starts {
    bool is_output;       /* they hand it on */
    uint32_t forward_end; /* those that begin before it touch it forward */
    uint32_t both_end;    /* those that begin before it need it backward */
} keeping_starts;

static bool keeps(const keeping_starts *k, uint32_t start, bool is_input) {
    return start < k->forward_end && (k->is_output || is_input || start < k->both_end);
}

/* Adds a variable as POPLINER_RECOMPUTE_STANDARD counts it, which a stage that grows may keep no
 * longer. */
static void add_standard(const pl_stash *stash, const popliner_profile *p, const touching *t,
                         uint64_t variable, uint8_t *crosses, uint64_t *arriving_bytes) {
    const pl_passes *passes = stash->passes;
    uint32_t class_index = p->variable_class[variable];
    uint64_t bytes = p->variable_size_bytes[variable];
    bool is_fed = stash->is_fed[variable] != 0;
    uint32_t first_unit = stash->first_data_unit;
    bool crosses_turn = pl_class_crosses(p, class_index, passes->turn_step);
    uint32_t all_end = end_of_pass(t, FORWARD, t->first, t->end);
    uint32_t first_forward = t->first;
    while (first_forward < t->end && (t->passes[first_forward] & FORWARD) == 0)
        first_forward++;
    for (uint32_t unit = 0; unit < t->end; unit++)
        crosses[unit] = pl_class_crosses(p, class_index, passes->forward_step[unit]) ? 1 : 0;
    keeping_starts before = {false, 0, 0};
    for (uint32_t last = t->first > first_unit ? t->first : first_unit; last < t->end; last++) {
        uint32_t forward_end = end_of_pass(t, FORWARD, first_unit, last + 1);
        uint32_t backward_end = end_of_pass(t, BACKWARD, first_unit, last + 1);
        uint32_t both_end = forward_end < backward_end ? forward_end : backward_end;
        keeping_starts now = {.is_output = last + 1 < all_end && crosses[last + 1] != 0,
                              .forward_end = forward_end,
                              .both_end = crosses_turn ? both_end : 0};
        for (uint32_t start = 0; start <= last; start++) {
            bool is_input = is_fed || (start > first_forward && crosses[start] != 0);
            uint64_t more = keeps(&now, start, is_input) ? bytes : 0;
            uint64_t less = keeps(&before, start, is_input) ? bytes : 0;
            if (more != less)
                add_to_starts(stash, last, start, start, more - less, arriving_bytes);
        }
        before = now;
    }
}

void pl_stash_add_tile(const pl_stash *stash, const popliner_profile *p, const pl_unit_usage *usage,
                       size_t tile, pl_stash_work *work, uint64_t *arriving_bytes) {
    const pl_passes *passes = stash->passes;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t class_index = p->variable_class[i];
        uint64_t bytes = p->variable_size_bytes[i];
        uint32_t set = pl_unit_usage_of(usage, i);
        bool is_input = stash->recompute == POPLINER_RECOMPUTE_FULL;
        bool is_fed = stash->is_fed != NULL && stash->is_fed[i] != 0;
        if (set == 0 || p->class_always_live[class_index])
            continue;
        if (stash->recompute == POPLINER_RECOMPUTE_STANDARD) {
            touching t = {.passes = work->passes};
            if (stash->class_matters[class_index] == 0 && !is_fed)
                continue;
            spread_set(&t, passes, &usage->sets, set, (uint32_t)stash->num_units);
            add_standard(stash, p, &t, i, work->crosses, arriving_bytes);
            memset(t.passes + t.first, 0, t.end - t.first);
            continue;
        }
        size_t list = 2 * (size_t)set + (is_fed ? 1 : 0);
        if (stash->start[list] == stash->start[list + 1] ||
            (!is_input && !pl_class_crosses(p, class_index, passes->turn_step)))
            continue;
        for (size_t k = stash->start[list]; k < stash->start[list + 1]; k++) {
            const pl_stash_arrival *a = &stash->arrivals[k];
            if (!is_input || is_fed) {
                add_to_starts(stash, a->unit, a->first_start, a->last_start, bytes, arriving_bytes);
                continue;
            }
            for (uint32_t start = a->first_start; start <= a->last_start; start++) {
                if (pl_class_crosses(p, class_index, passes->forward_step[start]))
                    add_to_starts(stash, a->unit, start, start, bytes, arriving_bytes);
            }
        }
    }
}
