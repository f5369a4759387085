/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/categories.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"

/* Bytes by category and tile: item category * num_tiles + tile. */
typedef struct category_bytes {
    uint64_t *explained;
    uint64_t *truth;
} category_bytes;

static void sum_categories(const pl_explained *explained, category_bytes *bytes) {
    const popliner_profile *p = explained->profile;
    size_t num_tiles = p->target.num_tiles;
    for (size_t tile = 0; tile < num_tiles; tile++)
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            size_t item = p->variable_category[i] * num_tiles + tile;
            if (p->num_category_parts == 0) /* the compiler tells no other sum */
                bytes->truth[item] += p->variable_size_bytes[i];
            if (explained->variable_seen[i] && !pl_explained_is_code(explained, i))
                bytes->explained[item] += p->variable_size_bytes[i];
        }
    for (size_t part = 0; part < p->num_category_parts; part++)
        pl_series_add(p, p->category_memory[part], 1,
                      bytes->truth + part / PL_NUM_CATEGORY_PARTS * num_tiles);
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = explained->code_of_category[category];
        for (size_t tile = 0; code < PL_NUM_DIAGNOSED_CODE && tile < num_tiles; tile++)
            bytes->explained[category * num_tiles + tile] += explained->code_bytes[code][tile];
    }
}

popliner_status pl_diagnose_categories(const pl_explained *explained, popliner_diagnosis *d,
                                       popliner_error *error) {
    const popliner_profile *p = explained->profile;
    size_t num_tiles = p->target.num_tiles;
    category_bytes bytes = {
        .explained = pl_new_array(p->num_categories * num_tiles, sizeof *bytes.explained),
        .truth = pl_new_array(p->num_categories * num_tiles, sizeof *bytes.truth),
    };
    popliner_status status = POPLINER_OK;
    d->categories = pl_new_array(p->num_categories, sizeof *d->categories);
    if (bytes.explained == NULL || bytes.truth == NULL || d->categories == NULL) {
        status = pl_fail_memory(error, "the diagnosis");
        goto done;
    }
    sum_categories(explained, &bytes);
    for (size_t category = 0; category < p->num_categories; category++) {
        popliner_diagnosis_category row = {.name =
                                               pl_profile_string(p, p->category_name[category])};
        for (size_t tile = 0; tile < num_tiles; tile++) {
            size_t item = category * num_tiles + tile;
            row.truth_bytes += bytes.truth[item];
            row.explained_bytes += bytes.explained[item];
            row.tiles_exceeded += bytes.explained[item] > bytes.truth[item];
        }
        if (row.truth_bytes > 0 || row.explained_bytes > 0)
            d->categories[d->num_categories++] = row;
    }
done:
    free(bytes.explained);
    free(bytes.truth);
    return status;
}
