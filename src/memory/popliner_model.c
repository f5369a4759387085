/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/popliner_model.h"

#include <string.h>

#include "base/growth.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/curve.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- A stage --------------------------------------------------------------------------------- */

/* The first and the last operation of a unit, and the last step of any. */
typedef struct unit_steps {
    size_t first_operation; /* SIZE_MAX: it has none */
    size_t last_operation;
    size_t last_step;
} unit_steps;

struct pl_popliner_meter {
    const pl_digest *digest;
    pl_arrays *arrays;   /* own the meter and the arrays below, except the remembered peaks */
    uint8_t *has_data;   /* [sets of operations]: some variable is touched by these */
    uint8_t *counts;     /* [sets of operations]: and the stage has one of them, in a layer */
    uint8_t *is_member;  /* [units]: its data counts, and it is in the stage */
    unit_steps *of_unit; /* [units] */
    uint32_t *listed;    /* [most variables of a tile] */
    pl_curve curve;      /* of the variables of a tile */
    pl_live_peak *peaks; /* [tiles] of the stage */
    /* For each unit alone. */
    uint32_t *start; /* [units + 2] into touched */
    uint32_t *touched;
    bool remembers_peaks;
    pl_arrays peak_arrays; /* own the remembered peaks */
    pl_keys variables;     /* the sets of variables, as `counts` */
    pl_live_peak *known;   /* [variables.count][tiles]: the peaks of each */
};

pl_popliner_meter *pl_popliner_meter_new(pl_arrays *arrays, const pl_digest *digest) {
    const pl_chain *chain = digest->chain;
    const popliner_profile *p = chain->profile;
    const size_t num_sets = chain->usage->sets.count;
    uint64_t most = 0;
    pl_popliner_meter *m = pl_arrays_new(arrays, 1, sizeof *m);
    if (m == NULL)
        return NULL;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        most = pl_larger(most, p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
    m->digest = digest;
    m->arrays = arrays;
    m->has_data = pl_arrays_new(arrays, num_sets, 1);
    m->counts = pl_arrays_new(arrays, num_sets, 1);
    m->is_member = pl_arrays_new(arrays, chain->num_units, 1);
    m->of_unit = pl_arrays_new(arrays, chain->num_units, sizeof *m->of_unit);
    m->listed = pl_arrays_new(arrays, (size_t)most, sizeof *m->listed);
    m->peaks = pl_arrays_new(arrays, p->target.num_tiles, sizeof *m->peaks);
    m->start = pl_arrays_new(arrays, chain->num_units + 2, sizeof *m->start);
    /* with room for all steps, so that it can begin with any */
    pl_curve_begin(&m->curve, arrays, 0, p->num_steps);
    for (size_t i = 0; !arrays->failed && i < p->num_variables; i++)
        m->has_data[chain->usage->variable_set[i]] = 1;
    for (size_t unit = 0; !arrays->failed && unit < chain->num_units; unit++)
        m->of_unit[unit].first_operation = SIZE_MAX;
    for (size_t i = 0; !arrays->failed && i < chain->num_operations; i++) {
        unit_steps *own = &m->of_unit[chain->unit_of_operation[i]];
        own->first_operation = pl_fewer(own->first_operation, i);
        own->last_operation = i;
        own->last_step = pl_more(own->last_step, pl_operation_at(chain->operations, i)->last_step);
    }
    pl_popliner_meter_remember_peaks(m, false);
    return m;
}

void pl_popliner_meter_remember_peaks(pl_popliner_meter *m, bool remembers) {
    m->remembers_peaks = remembers;
    if (remembers)
        return;
    pl_arrays_free(&m->peak_arrays);
    m->variables =
        (pl_keys){.arrays = &m->peak_arrays, .key_size = m->digest->chain->usage->sets.count};
    m->known = NULL;
}

/* The steps of stages: from the first one of their first operation in a layer, or of their first
 * operation, to the last one of their last operation, or of any if there are several stages. */
typedef struct steps {
    size_t first;
    size_t end; /* 0: no operation */
} steps;

/* Returns the steps, and marks the units in is_member. */
static steps find_steps(pl_popliner_meter *m, const popliner_interval *stages, size_t num_stages) {
    const pl_chain *chain = m->digest->chain;
    size_t first[2] = {SIZE_MAX, SIZE_MAX}; /* operation, in no layer and in one */
    size_t last = 0;
    size_t last_step = 0;
    for (size_t i = 0; i < num_stages; i++)
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; unit++) {
            const unit_steps *own = &m->of_unit[unit];
            const bool in_layer = pl_chain_has_data(chain, unit);
            m->is_member[unit] = in_layer;
            first[in_layer] = pl_fewer(first[in_layer], own->first_operation);
            last = pl_more(last, own->last_operation);
            last_step = pl_more(last_step, own->last_step);
        }
    const size_t from = first[1] != SIZE_MAX ? first[1] : first[0];
    if (from == SIZE_MAX)
        return (steps){0, 0};
    if (num_stages == 1)
        last_step = pl_operation_at(chain->operations, last)->last_step;
    return (steps){pl_operation_at(chain->operations, from)->first_step, last_step + 1};
}

/* Returns the peak of variables of a tile. */
static pl_live_peak peak_of(pl_popliner_meter *m, const uint32_t *variables, size_t count,
                            steps own) {
    const popliner_profile *p = m->digest->chain->profile;
    pl_live_peak peak = {.step = own.first};
    if (count == 0)
        return peak;
    pl_curve_begin(&m->curve, m->arrays, own.first, own.end);
    for (size_t i = 0; i < count; i++)
        pl_curve_add(&m->curve, p, p->variable_class[variables[i]],
                     p->variable_size_bytes[variables[i]]);
    peak.bytes = pl_curve_peak(&m->curve, own.first, own.end, &peak.step);
    return peak;
}

/* Finds the sets of operations whose variables count, by is_member. */
static void find_counting(pl_popliner_meter *m) {
    const pl_chain *chain = m->digest->chain;
    const pl_linked_sets *sets = &chain->usage->sets;
    for (uint32_t set = 1; set < sets->count; set++)
        m->counts[set] =
            m->counts[sets->rest[set]] |
            m->is_member[chain->unit_of_operation[sets->last[set] % chain->num_operations]];
    for (uint32_t set = 1; set < sets->count; set++)
        m->counts[set] &= m->has_data[set];
}

/* Sets the peaks to those that were measured before for equal variables, whatever the steps; false
 * if there are none. */
static bool recall_peaks(pl_popliner_meter *m) {
    const size_t num_tiles = m->digest->chain->profile->target.num_tiles;
    const size_t count = m->variables.count;
    const size_t number = m->remembers_peaks ? pl_keys_number(&m->variables, m->counts) : count;
    m->arrays->failed = m->arrays->failed || m->peak_arrays.failed;
    if (number < count && !m->arrays->failed)
        memcpy(m->peaks, m->known + number * num_tiles, num_tiles * sizeof *m->peaks);
    return number < count;
}

static void remember_peaks(pl_popliner_meter *m) {
    const size_t num_tiles = m->digest->chain->profile->target.num_tiles;
    const size_t count = m->variables.count;
    if (pl_arrays_grow(&m->peak_arrays, &m->known, count * num_tiles, sizeof *m->known))
        memcpy(m->known + (count - 1) * num_tiles, m->peaks, num_tiles * sizeof *m->peaks);
    m->arrays->failed = m->arrays->failed || m->peak_arrays.failed;
}

void pl_popliner_meter_measure(pl_popliner_meter *m, const popliner_interval *stages,
                               size_t num_stages) {
    const pl_chain *chain = m->digest->chain;
    const popliner_profile *p = chain->profile;
    memset(m->is_member, 0, chain->num_units);
    const steps own = find_steps(m, stages, num_stages);
    memset(m->peaks, 0, p->target.num_tiles * sizeof *m->peaks);
    find_counting(m);
    if (own.end == 0 || recall_peaks(m))
        return;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        size_t count = 0;
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
            if (m->counts[chain->usage->variable_set[i]] != 0)
                m->listed[count++] = (uint32_t)i;
        m->peaks[tile] = peak_of(m, m->listed, count, own);
    }
    if (m->remembers_peaks)
        remember_peaks(m);
}

pl_live_peak pl_popliner_meter_peak(const pl_popliner_meter *m, size_t tile) {
    return m->peaks[tile];
}

/* Counts the variables of a tile that each unit touches, two places up, or lists them. */
static void list_touched(pl_popliner_meter *m, size_t tile, bool only_counts) {
    const pl_digest *digest = m->digest;
    const popliner_profile *p = digest->chain->profile;
    const size_t end = digest->chain->num_units;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const uint64_t *units =
            pl_digest_bits(digest, pl_pass_use_of(digest->pass_usage, i)->counting.touching);
        for (size_t unit = pl_bits_next(units, 0, end); unit < end;
             unit = pl_bits_next(units, unit + 1, end))
            if (only_counts)
                m->start[unit + 2]++;
            else
                m->touched[m->start[unit + 1]++] = (uint32_t)i;
    }
}

bool pl_popliner_meter_measure_each(pl_popliner_meter *m, size_t tile, pl_stage_tile *results) {
    const pl_chain *chain = m->digest->chain;
    memset(m->start, 0, (chain->num_units + 2) * sizeof *m->start);
    list_touched(m, tile, true);
    for (size_t unit = 0; unit < chain->num_units; unit++)
        m->start[unit + 2] += m->start[unit + 1];
    if (!pl_arrays_grow(m->arrays, &m->touched, m->start[chain->num_units + 1] + (size_t)1,
                        sizeof *m->touched))
        return false;
    list_touched(m, tile, false);
    for (size_t unit = 0; unit < chain->num_units; unit++) {
        const popliner_interval stage = {unit, unit, 1};
        results[unit].plain = results[unit].buffered =
            peak_of(m, m->touched + m->start[unit], m->start[unit + 1] - m->start[unit],
                    find_steps(m, &stage, 1));
    }
    return true;
}
