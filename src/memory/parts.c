/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/parts.h"

#include <string.h>

#include "profile/profile_data.h"

_Static_assert(POPLINER_PARTS_WITHIN ==
                   (1 << POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE | 1 << POPLINER_PART_PARAMETERS),
               "as in the header");

#define TILE(name) offsetof(popliner_stage_detail, tile_##name)
const pl_part_row pl_parts[POPLINER_NUM_PARTS] = {
    [POPLINER_PART_VARIABLES] = {"variables", "variables_bytes", "variables", PL_CATEGORY_OTHER,
                                 PL_PART_ALWAYS},
    [POPLINER_PART_VERTEX_CODE] = {"vertex_code", "vertex_code_bytes", "vertex code",
                                   PL_CATEGORY_VERTEX_CODE, PL_PART_ALWAYS},
    [POPLINER_PART_VERTEX_STATE] = {"vertex_state", "vertex_state_bytes", "vertex state",
                                    PL_CATEGORY_VERTEX_INSTANCE_STATE, PL_PART_ALWAYS},
    [POPLINER_PART_EXCHANGE_CODE] = {"exchange_code", "exchange_code_bytes", "exchange code",
                                     PL_CATEGORY_INTERNAL_EXCHANGE_CODE, PL_PART_ALWAYS},
    [POPLINER_PART_CONTROL_CODE] = {"control_code", "control_code_bytes", "control code",
                                    PL_CATEGORY_CONTROL_CODE, PL_PART_ALWAYS},
    [POPLINER_PART_UNEXPLAINED] = {"unexplained", "unexplained_bytes", "of no known operation",
                                   PL_CATEGORY_OTHER, PL_PART_FULL},
    [POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] = {"unexplained_always_live",
                                               "unexplained_always_live_bytes",
                                               "of no known operation, always live",
                                               PL_CATEGORY_OTHER, PL_PART_FULL},
    [POPLINER_PART_STASH] = {"stash", "stash_bytes", "kept for the backward pass",
                             PL_CATEGORY_OTHER, PL_PART_KEPT},
    [POPLINER_PART_PARAMETERS] = {"parameters", "parameter_bytes", "parameters",
                                  PL_CATEGORY_VARIABLE, PL_PART_NOWHERE},
    [POPLINER_PART_BUFFERS] = {"buffers", "buffer_bytes", "sent and received", PL_CATEGORY_OTHER,
                               PL_PART_TRAINING},
    [POPLINER_PART_ACCUMULATORS] = {"accumulators", "accumulator_bytes", "accumulators",
                                    PL_CATEGORY_OTHER, PL_PART_TRAINING},
    [POPLINER_PART_LAYOUT] = {"layout", "layout_bytes", "unused by the layout", PL_CATEGORY_OTHER,
                              PL_PART_FULL},
};

#define TILE_PART(name, text)                                                                      \
    { #name, text, TILE(name) }
const pl_tile_part pl_tile_parts[PL_NUM_TILE_PARTS] = {
    TILE_PART(always_live_bytes, "always-live variables"),
    TILE_PART(live_bytes, "other variables"),
    TILE_PART(code_bytes, "code and vertex state"),
    TILE_PART(unexplained_bytes, "of no known operation"),
    TILE_PART(stash_bytes, "kept for the backward pass"),
    TILE_PART(buffer_bytes, "sent and received"),
    TILE_PART(accumulator_bytes, "gradient accumulators"),
    TILE_PART(layout_bytes, "unused by the layout"),
};

uint64_t pl_tile_part_bytes(const popliner_stage_detail *detail, size_t part) {
    return *(const uint64_t *)(const void *)((const char *)detail + pl_tile_parts[part].place);
}

int pl_code_group(const popliner_profile *profile, size_t category) {
    const pl_category own = (pl_category)profile->category[category];
    if (own == PL_CATEGORY_VERTEX_FIELD_DATA || own == PL_CATEGORY_COPY_DESCRIPTOR)
        return profile->num_compute_set_states > 0 ? PL_VERTEX_STATE : PL_NUM_CODE_GROUPS;
    int group = 0;
    while (group < PL_NUM_CODE_GROUPS && pl_parts[PL_FIRST_CODE + group].category != own)
        group++;
    return group;
}
