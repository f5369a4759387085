/* The section of addresses: a row for each lowered variable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/sections.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/placement.h"
#include "profile/profile_data.h"

static void add_row(const popliner_profile *p, size_t tile, size_t v, const uint64_t *replayed,
                    pl_sheet *sheet) {
    const size_t first = sheet->is_naming ? 0 : (size_t)p->tile_variables_start[tile];
    PL_COLUMN(sheet, number, "tile", tile);
    PL_COLUMN(sheet, number, "place", v - first);
    PL_COLUMN(sheet, place, "variable", p->variable_unlowered[v]);
    PL_COLUMN(sheet, text, "category",
              pl_profile_string(p, p->category_name[p->variable_category[v]]));
    PL_COLUMN(sheet, number, "size_bytes", p->variable_size_bytes[v]);
    PL_COLUMN(sheet, number, "alignment",
              UINT64_C(1) << (p->variable_placing[v] & PL_PLACING_ALIGNMENT));
    PL_COLUMN(sheet, flag, "always_live", p->class_always_live[p->variable_class[v]] != 0);
    PL_COLUMN(sheet, number, "address", p->variable_offset[v]);
    PL_COLUMN(sheet, number, "replayed_address", replayed[v - first]);
}

/* The addresses of the variables of a tile. */
typedef struct addresses {
    uint64_t *replayed;
    size_t capacity;
} addresses;

static bool add_tile(const popliner_profile *p, size_t tile, pl_placer *placer, addresses *own,
                     pl_sheet *sheet) {
    const size_t first = (size_t)p->tile_variables_start[tile];
    const pl_item *items = NULL;
    size_t count = 0;
    uint64_t end = 0;
    if (!pl_placer_replay(placer, tile, &items, &count, &end) ||
        !pl_grow(&own->replayed, &own->capacity, (size_t)p->tile_variables_start[tile + 1] - first,
                 sizeof *own->replayed))
        return false;
    for (size_t i = 0; i < count; i++)
        own->replayed[items[i].variable - first] = items[i].address;
    for (size_t v = first; v < p->tile_variables_start[tile + 1]; v++) {
        if (p->variable_size_bytes[v] > 0)
            add_row(p, tile, v, own->replayed, sheet);
    }
    return true;
}

popliner_status pl_section_addresses(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    addresses own = {0};
    add_row(p, 0, 0, NULL, sheet);
    pl_sheet_end_names(sheet);
    popliner_status status = pl_profile_require_variables(p, error);
    if (status != POPLINER_OK)
        return status;
    pl_placer *placer = pl_placer_create(p);
    bool memory = placer != NULL;
    for (size_t tile = 0; memory && tile < p->target.num_tiles; tile++)
        memory = add_tile(p, tile, placer, &own, sheet);
    free(own.replayed);
    pl_placer_free(placer);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the addresses");
}
