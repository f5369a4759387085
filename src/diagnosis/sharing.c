/* The bytes that pairs of layers share, or that go live in one and die in the other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/keys.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* All variables of one class that the same layers touch: what layers share depends only on these,
 * and most classes have one such group. */
typedef struct class_group {
    uint32_t class_index;
    uint32_t set;
} class_group;

/* Adds up the bytes of each group. */
static void find_groups(pl_key_sums *groups, const popliner_profile *p,
                        const pl_unit_usage *usage) {
    for (size_t i = 0; i < p->num_variables; i++) {
        const class_group group = {p->variable_class[i], pl_unit_usage_of(usage, i)};
        if (group.set != 0)
            pl_key_sums_add(groups, &group, p->variable_size_bytes[i]);
    }
}

static void add_affinity(pl_sharing *sharing, const uint64_t *units, uint64_t bytes) {
    const size_t n = sharing->num_layers;
    for (size_t a = pl_bits_next(units, 1, n + 1); a <= n; a = pl_bits_next(units, a + 1, n + 1))
        for (size_t b = pl_bits_next(units, 1, n + 1); b <= n;
             b = pl_bits_next(units, b + 1, n + 1))
            sharing->affinity_bytes[(a - 1) * n + b - 1] += bytes;
}

/* Sets `bits` to the units of the layers of a step that are also in `units`: that of its own
 * operation, and those of the Calls around it. */
static void find_step_units(const pl_chain *chain, uint32_t step, const uint64_t *units,
                            uint64_t *bits) {
    const popliner_profile *p = chain->profile;
    memset(bits, 0, (chain->layers->num_layers / 64 + 1) * sizeof *bits);
    for (uint32_t at = step; at != PL_NONE; at = p->step_parent[at]) {
        const bool owns =
            at == step || p->program_type[p->step_program[at]] == POPLINER_PROGRAM_CALL;
        const uint32_t operation = chain->operations->step_operation[at];
        const size_t unit =
            owns && operation != PL_NONE ? pl_layers_unit_of(chain->layers, operation) : 0;
        if (unit > 0 && pl_bits_has(units, unit))
            pl_bits_add(bits, unit);
    }
}

/* The units where a live range begins and ends, as bits, and the pairs that had the bytes of the
 * group `number`. */
typedef struct ends {
    uint64_t *first;
    uint64_t *last;
    uint32_t *counted; /* [layers * layers]: the number of the last group */
} ends;

/* For each live range of the group's class: adds the bytes to the pairs of a layer where the range
 * begins and one where it ends, if both touch the group; each pair once. */
static void add_communication(pl_sharing *sharing, const pl_chain *chain, const uint64_t *units,
                              const class_group *g, uint64_t bytes, ends *e, uint32_t number) {
    const popliner_profile *p = chain->profile;
    const size_t n = sharing->num_layers;
    for (uint32_t r = p->class_ranges_start[g->class_index];
         r < p->class_ranges_start[g->class_index + 1]; r++) {
        find_step_units(chain, p->range_first_step[r], units, e->first);
        find_step_units(chain, p->range_end_step[r] - 1, units, e->last);
        for (size_t a = pl_bits_next(e->first, 1, n + 1); a <= n;
             a = pl_bits_next(e->first, a + 1, n + 1))
            for (size_t b = pl_bits_next(e->last, 1, n + 1); b <= n;
                 b = pl_bits_next(e->last, b + 1, n + 1)) {
                const size_t pair = (a - 1) * n + b - 1;
                sharing->communication_bytes[pair] += e->counted[pair] == number ? 0 : bytes;
                e->counted[pair] = number;
            }
    }
}

popliner_status pl_sharing_measure(const pl_chain *chain, pl_sharing *sharing,
                                   popliner_error *error) {
    pl_sharing_clear(sharing);
    popliner_status status = pl_profile_require_variables(chain->profile, error);
    if (status != POPLINER_OK)
        return status;
    const size_t n = pl_layers_num_units(chain->layers) - 1;
    const size_t num_operations = chain->num_operations;
    pl_arrays own = {0};
    pl_unit_usage usage = {0};
    pl_key_sums groups = {.keys = {.arrays = &own, .key_size = sizeof(class_group)}};
    ends e = {pl_arrays_new(&own, n / 64 + 1, sizeof(uint64_t)),
              pl_arrays_new(&own, n / 64 + 1, sizeof(uint64_t)),
              pl_arrays_new(&own, n * n, sizeof(uint32_t))};
    uint32_t *unit_of_operation = pl_arrays_new(&own, num_operations, sizeof *unit_of_operation);
    sharing->num_layers = n;
    sharing->affinity_bytes = pl_arrays_new(&sharing->arrays, n * n, sizeof(uint64_t));
    sharing->communication_bytes = pl_arrays_new(&sharing->arrays, n * n, sizeof(uint64_t));
    own.failed = own.failed || sharing->arrays.failed;
    for (size_t i = 0; !own.failed && i < num_operations; i++)
        unit_of_operation[i] = (uint32_t)pl_layers_unit_of(chain->layers, i);
    if (!own.failed)
        pl_unit_usage_find(&usage, &own, chain->usage, unit_of_operation, n + 1, false);
    if (!own.failed)
        find_groups(&groups, chain->profile, &usage);
    if (own.failed) {
        pl_sharing_clear(sharing);
        status = pl_fail_memory(error, "the tables of layers");
    }
    for (uint32_t i = 0; status == POPLINER_OK && i < groups.keys.count; i++) {
        const class_group *group = pl_key_at(&groups.keys, i);
        const uint64_t *units = pl_bits_at(&usage.sets, group->set);
        add_affinity(sharing, units, groups.bytes[i]);
        add_communication(sharing, chain, units, group, groups.bytes[i], &e, i + 1);
    }
    pl_arrays_free(&own);
    return status;
}

void pl_sharing_clear(pl_sharing *sharing) {
    pl_arrays_free(&sharing->arrays);
    *sharing = (pl_sharing){0};
}
