/* The data of a tile that arrives in stages, and at which unit; see tile_meter.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/tile_meter.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "profile/profile_data.h"

/* ---- Variables that one set of units touches, with one live range ---- */

void pl_live_parts_empty(pl_live_parts *parts) {
    parts->count = 0;
    if (parts->num_slots > 0)
        memset(parts->slots, 0, parts->num_slots * sizeof *parts->slots);
}

void pl_live_parts_free(pl_live_parts *parts) {
    free(parts->parts);
    free(parts->slots);
    *parts = (pl_live_parts){0};
}

/* Hashes set and steps: multiplication by odd numbers without pattern carries each bit to those
 * above it, and the upper half is taken (Knuth, The Art of Computer Programming, vol. 3, 6.4). */
static size_t hash(uint32_t set, uint32_t first_step, uint32_t end_step) {
    uint64_t mixed = (((uint64_t)first_step << 32 | end_step) ^ (uint64_t)set << 16) *
                     UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32 ^ set) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(mixed >> 32);
}

/* Returns the slot of a part, or the empty one for it. There is always an empty slot. */
static uint32_t *find_slot(const pl_live_parts *parts, uint32_t set, uint32_t first_step,
                           uint32_t end_step) {
    size_t mask = parts->num_slots - 1;
    for (size_t i = hash(set, first_step, end_step) & mask;; i = (i + 1) & mask) {
        const pl_live_part *part = &parts->parts[parts->slots[i] - (parts->slots[i] > 0)];
        if (parts->slots[i] == 0 ||
            (part->set == set && part->first_step == first_step && part->end_step == end_step))
            return &parts->slots[i];
    }
}

/* Doubles the slots, so that at most half of them are used. */
static bool grow_slots(pl_live_parts *parts) {
    size_t num_slots = parts->num_slots == 0 ? 64 : 2 * parts->num_slots;
    uint32_t *slots = pl_new_array(num_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    free(parts->slots);
    parts->slots = slots;
    parts->num_slots = num_slots;
    for (size_t i = 0; i < parts->count; i++) {
        const pl_live_part *part = &parts->parts[i];
        *find_slot(parts, part->set, part->first_step, part->end_step) = (uint32_t)i + 1;
    }
    return true;
}

bool pl_live_parts_add(pl_live_parts *parts, uint32_t set, uint32_t first_step, uint32_t end_step,
                       uint64_t bytes) {
    if (parts->count >= UINT32_MAX ||
        !pl_grow(&parts->parts, &parts->capacity, parts->count + 1, sizeof *parts->parts))
        return false;
    if (2 * (parts->count + 1) > parts->num_slots && !grow_slots(parts))
        return false;
    uint32_t *slot = find_slot(parts, set, first_step, end_step);
    if (*slot == 0) {
        parts->parts[parts->count] = (pl_live_part){0, set, first_step, end_step};
        *slot = (uint32_t)++parts->count;
    }
    parts->parts[*slot - 1].bytes += bytes;
    return true;
}

/* ---- The variables of a tile ---- */

/* Adds bytes of the units of `set` to the table of arrivals of one sum; false if memory is
 * short. */
static bool add_arrivals(pl_tile_meter *meter, int sum, const pl_unit_sets *sets, uint32_t set,
                         uint64_t bytes) {
    size_t num_units = meter->inputs->chain->num_units;
    if (meter->is_by_set && set != 0 && bytes > 0 &&
        !pl_live_parts_add(&meter->set_sums, pl_tile_set(meter->inputs, sets, set), (uint32_t)sum,
                           0, bytes))
        return false;
    for (; set != 0 && bytes > 0; set = sets->rest[set]) {
        uint32_t unit = sets->last_unit[set];
        uint32_t rest = sets->rest[set];
        uint32_t first_start = rest == 0 ? 0 : sets->last_unit[rest] + 1;
        meter->arriving_bytes[sum][first_start * num_units + unit] += bytes;
        meter->arriving_bytes[sum][(unit + 1) * num_units + unit] -= bytes;
    }
    return true;
}

/* Adds what no operation touches to the base, wherever it is live. */
static void add_unexplained(pl_tile_meter *meter, size_t tile) {
    const popliner_profile *p = meter->inputs->profile;
    const uint32_t *unexplained;
    size_t count = pl_account_unexplained(meter->inputs->account, tile, &unexplained);
    for (size_t i = 0; i < count; i++) {
        uint32_t variable = unexplained[i];
        pl_curve_add(&meter->base_curve, p, p->variable_class[variable],
                     p->variable_size_bytes[variable]);
    }
    meter->has_unexplained = count > 0 && meter->unexplained_bytes != NULL;
    if (meter->has_unexplained)
        pl_curve_read(&meter->base_curve, meter->unexplained_bytes);
}

static bool has_unit(const pl_interval_inputs *inputs, uint32_t set, uint32_t unit) {
    return (inputs->set_bits[set * inputs->set_words + unit / 64] >> unit % 64 & 1) != 0;
}

/* Divides a live range of data that the units of `set` touch: its beginning and end, while one of
 * them runs, go into the base; the rest must arrive. All of it must arrive if the steps of other
 * units also count. */
static bool divide_range(pl_tile_meter *meter, uint32_t set, size_t first_step, size_t end_step,
                         uint64_t bytes) {
    /* any number is correct, since what is not in the base arrives; without a limit, alternating
     * units would make this quadratic */
    enum { MAX_RUNS = 8 };
    const pl_interval_inputs *inputs = meter->inputs;
    bool has_own_steps = inputs->model->has_own_steps;
    size_t first = first_step; /* of what arrives */
    size_t end = end_step;
    for (int i = 0; has_own_steps && i < MAX_RUNS && first < end; i++) {
        const pl_step_run *run = &inputs->unit_run[inputs->run_of_step[first]];
        if (!has_unit(inputs, set, run->unit))
            break;
        first = run->end_step < end ? run->end_step : end;
    }
    for (int i = 0; has_own_steps && i < MAX_RUNS && first < end; i++) {
        const pl_step_run *run = &inputs->unit_run[inputs->run_of_step[end - 1]];
        if (!has_unit(inputs, set, run->unit))
            break;
        end = run->first_step > first ? run->first_step : first;
    }
    if (first_step < first)
        pl_curve_add_steps(&meter->base_curve, first_step, first, bytes);
    if (end < end_step)
        pl_curve_add_steps(&meter->base_curve, end, end_step, bytes);
    return first == end ||
           pl_live_parts_add(&meter->parts, set, (uint32_t)first, (uint32_t)end, bytes);
}

/* Divides all live ranges of a variable, also at the turn if other units count it then. */
static bool divide_class(pl_tile_meter *meter, uint64_t variable) {
    const pl_interval_inputs *inputs = meter->inputs;
    const popliner_profile *p = inputs->profile;
    uint32_t class_index = p->variable_class[variable];
    uint64_t bytes = p->variable_size_bytes[variable];
    uint32_t before = pl_units_counting(inputs, variable, true);
    uint32_t after = pl_units_counting(inputs, variable, false);
    bool memory = true;
    for (uint32_t k = p->class_ranges_start[class_index];
         memory && k < p->class_ranges_start[class_index + 1]; k++) {
        size_t first = p->range_first_step[k];
        size_t end = pl_gradients_end(inputs->accumulated, variable, first, p->range_end_step[k]);
        size_t turn = inputs->pass_usage->passes.turn_step;
        if (before == after || end <= turn) {
            memory = divide_range(meter, before, first, end, bytes);
        } else {
            if (first < turn)
                memory = divide_range(meter, before, first, turn, bytes);
            memory = memory && divide_range(meter, after, first < turn ? turn : first, end, bytes);
        }
    }
    return memory;
}

/* Classifies the tile's variables: sums up the always-live ones, adds to the base what may be there
 * in all stages, and makes parts of everything else. */
static bool sort_variables(pl_tile_meter *meter, size_t tile) {
    const popliner_profile *p = meter->inputs->profile;
    const pl_pass_usage *usage = meter->inputs->pass_usage;
    bool adds_always_live = meter->inputs->model->adds_always_live;
    pl_live_parts_empty(&meter->parts);
    if (!pl_curve_begin(&meter->base_curve, 0, p->num_steps))
        return false;
    add_unexplained(meter, tile);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t set = pl_units_touching(meter->inputs, i);
        uint32_t class_index = p->variable_class[i];
        uint64_t bytes = p->variable_size_bytes[i];
        if (set == 0)
            continue;
        bool memory = true;
        if (!adds_always_live || !p->class_always_live[class_index]) {
            memory = divide_class(meter, i);
        } else {
            if (!pl_account_is_code(meter->inputs->account, i))
                memory = add_arrivals(meter, PL_SUM_DATA, &meter->inputs->passing.sets, set, bytes);
            if (memory && meter->inputs->accumulator_factor > 0)
                memory = add_arrivals(
                    meter, PL_SUM_ADDED + POPLINER_PART_ACCUMULATORS - PL_FIRST_ADDED,
                    &usage->usage.sets, pl_parameter_units(usage, p, meter->inputs->account, i),
                    bytes * meter->inputs->accumulator_factor);
        }
        if (!memory)
            return false;
    }
    return true;
}

/* Divides the steps into segments, wherever a part begins or ends or other units begin to count. */
static bool find_segments(pl_tile_meter *meter) {
    size_t num_steps = meter->inputs->profile->num_steps;
    size_t num_segments = 0;
    memcpy(meter->is_break, meter->inputs->is_break, num_steps + 1);
    for (size_t i = 0; i < meter->parts.count; i++) {
        meter->is_break[meter->parts.parts[i].first_step] = 1;
        meter->is_break[meter->parts.parts[i].end_step] = 1;
    }
    pl_curve_read(&meter->base_curve, meter->step_bytes);
    for (size_t step = 0; step < num_steps; step++) {
        uint64_t bytes = meter->step_bytes[step];
        bool is_first = step == 0 || meter->is_break[step] != 0;
        num_segments += is_first;
        if (is_first || bytes > meter->segment_bytes[num_segments - 1]) {
            meter->segment_bytes[num_segments - 1] = bytes;
            meter->segment_step[num_segments - 1] = (uint32_t)step;
        }
        meter->segment_of_step[step] = (uint32_t)num_segments - 1;
    }
    meter->segment_of_step[num_steps] = (uint32_t)num_segments;
    return pl_peak_tree_begin(&meter->base_tree, meter->segment_bytes, num_segments);
}

/* Makes arrivals of the parts, sorted by set. */
static bool sort_arrivals(pl_tile_meter *meter) {
    size_t num_sets = meter->inputs->passing.sets.count;
    const pl_live_part *parts = meter->parts.parts;
    if (!pl_grow(&meter->arrivals, &meter->arrivals_capacity, meter->parts.count,
                 sizeof *meter->arrivals))
        return false;
    /* counted two positions up and filled one position up, so that the starts are right at the
     * end */
    memset(meter->set_start, 0, (num_sets + 2) * sizeof *meter->set_start);
    for (size_t i = 0; i < meter->parts.count; i++)
        meter->set_start[parts[i].set + 2]++;
    for (size_t set = 0; set < num_sets; set++)
        meter->set_start[set + 2] += meter->set_start[set + 1];
    for (size_t i = 0; i < meter->parts.count; i++)
        meter->arrivals[meter->set_start[parts[i].set + 1]++] =
            (struct pl_tile_arrival){meter->segment_of_step[parts[i].first_step],
                                     meter->segment_of_step[parts[i].end_step], parts[i].bytes};
    return true;
}

/* Counts a set at each place where it arrives (two positions up), or lists it (one position up). */
static void enter_set(pl_tile_meter *meter, uint32_t arriving, bool is_listing) {
    const pl_unit_sets *sets = &meter->inputs->passing.sets;
    uint32_t first_data_unit = meter->inputs->first_data_unit;
    uint32_t set = arriving;
    for (; set != 0 && sets->last_unit[set] >= first_data_unit; set = sets->rest[set]) {
        uint32_t rest = sets->rest[set];
        bool is_first = rest == 0 || sets->last_unit[rest] < first_data_unit;
        size_t place =
            pl_tile_arrivals_place(sets->last_unit[set], is_first ? 0 : sets->last_unit[rest] + 1);
        if (is_listing)
            meter->arriving_sets[meter->arriving_start[place + 1]++] = arriving;
        else
            meter->arriving_start[place + 2]++;
    }
}

/* Lists the sets of arrivals. */
static bool list_arriving(pl_tile_meter *meter) {
    size_t num_sets = meter->inputs->passing.sets.count;
    size_t num_places = pl_tile_arrivals_place(meter->inputs->chain->num_units, 0);
    memset(meter->arriving_start, 0, (num_places + 2) * sizeof *meter->arriving_start);
    for (uint32_t set = 0; set < num_sets; set++)
        if (meter->set_start[set] < meter->set_start[set + 1])
            enter_set(meter, set, false);
    for (size_t place = 0; place < num_places; place++)
        meter->arriving_start[place + 2] += meter->arriving_start[place + 1];
    if (!pl_grow(&meter->arriving_sets, &meter->arriving_capacity,
                 meter->arriving_start[num_places + 1], sizeof *meter->arriving_sets))
        return false;
    for (uint32_t set = 0; set < num_sets; set++)
        if (meter->set_start[set] < meter->set_start[set + 1])
            enter_set(meter, set, true);
    return true;
}

/* Finds the largest variable of each unit that lies apart. */
static void find_apart(pl_tile_meter *meter, size_t tile) {
    const pl_interval_inputs *inputs = meter->inputs;
    const pl_unit_sets *sets = &inputs->passing.sets;
    const uint32_t *apart;
    const size_t num_apart = pl_account_apart(inputs->account, tile, &apart);
    memset(meter->unit_apart_bytes, 0, inputs->chain->num_units * sizeof(uint64_t));
    for (size_t i = 0; i < num_apart; i++)
        for (uint32_t set = pl_units_touching(inputs, apart[i]); set != 0; set = sets->rest[set]) {
            uint64_t *bytes = &meter->unit_apart_bytes[sets->last_unit[set]];
            *bytes = pl_larger(*bytes, inputs->profile->variable_size_bytes[apart[i]]);
        }
}

bool pl_tile_arrivals_find(pl_tile_meter *meter, size_t tile) {
    const popliner_profile *p = meter->inputs->profile;
    const pl_passing *passing = &meter->inputs->passing;
    size_t num_sets = meter->inputs->pass_usage->usage.sets.count;
    size_t num_tiles = p->target.num_tiles;
    size_t num_units = meter->inputs->chain->num_units;
    for (size_t sum = 0; sum < PL_NUM_SUMS; sum++)
        memset(meter->arriving_bytes[sum], 0, (num_units + 1) * num_units * sizeof(uint64_t));
    bool memory = true;
    pl_live_parts_empty(&meter->set_sums);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        for (uint32_t set = 1; memory && set < num_sets; set++)
            memory = add_arrivals(meter, group, &passing->sets, passing->touching[set],
                                  meter->inputs->set_bytes[group][set * num_tiles + tile]);
    }
    for (size_t type = 0; memory && type < p->num_vertex_types; type++)
        memory = add_arrivals(meter, PL_VERTEX_CODE, &meter->inputs->kind_sets,
                              meter->inputs->kind_set[type * num_tiles + tile],
                              meter->inputs->kind_code_bytes[type * num_tiles + tile]);
    if (meter->sent_forward != NULL) {
        memset(meter->sent_forward, 0, (num_units + 1) * sizeof *meter->sent_forward);
        memset(meter->sent_backward, 0, (num_units + 1) * sizeof *meter->sent_backward);
        pl_passes_add_tile_cuts(meter->inputs->pass_usage, p, tile, meter->sent_forward,
                                meter->sent_backward);
    }
    meter->layout = pl_account_overhead(meter->inputs->account, tile);
    if (meter->inputs->keeps)
        pl_stash_add_tile(&meter->inputs->stash, p, &meter->inputs->pass_usage->usage, tile,
                          &meter->stash_work, meter->arriving_bytes[PL_SUM_STASH]);
    if (memory && meter->unit_stash_bytes != NULL)
        memory =
            pl_waits_measure(&meter->inputs->waits, meter->inputs->pass_usage, meter->inputs->chain,
                             tile, &meter->base_curve, meter->unit_stash_bytes);
    find_apart(meter, tile);
    return memory && sort_variables(meter, tile) && find_segments(meter) && sort_arrivals(meter) &&
           list_arriving(meter);
}
