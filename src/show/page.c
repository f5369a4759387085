/* A page around its data, and what it says of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/page_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "profile/profile_data.h"
#include "show/packed.h"
#include "show/page_parts.h"

/* A text of JSON has a '<' within quotes alone, where it can be escaped: then nothing in it can end
 * the element that it stands in. */
static void add_without_tags(pl_text *page, const pl_text *data) {
    const char *rest = data->data;
    for (const char *tag; (tag = strchr(rest, '<')) != NULL; rest = tag + 1) {
        pl_text_append(page, rest, (size_t)(tag - rest));
        pl_text_add(page, "\\u003c");
    }
    pl_text_add(page, rest);
}

void pl_page_add(pl_text *page, const pl_text *data) {
    page->failed = page->failed || data->failed || data->data == NULL;
    for (const char *const *line = pl_page_before_data; *line != NULL; line++)
        pl_text_add(page, *line);
    if (!page->failed)
        add_without_tags(page, data);
    for (const char *const *line = pl_page_behind_data; *line != NULL; line++)
        pl_text_add(page, *line);
}

/* ---- the largest variables of each tile ---- */

enum { VARIABLES_OF_TILE = 8 };

/* Puts a variable in its place among the largest; of equals the first stays before. */
static void take_variable(const popliner_profile *p, uint32_t variable, uint32_t *largest,
                          size_t *count) {
    const uint32_t *sizes = p->variable_size_bytes;
    if (*count == VARIABLES_OF_TILE && sizes[variable] <= sizes[largest[*count - 1]])
        return;
    *count += *count < VARIABLES_OF_TILE;
    size_t i = *count - 1;
    for (; i > 0 && sizes[largest[i - 1]] < sizes[variable]; i--)
        largest[i] = largest[i - 1];
    largest[i] = variable;
}

/* Columns of the variables that were taken. */
typedef struct taken {
    pl_packed counts;
    pl_packed names; /* unlowered variables plus one, 0 for none */
    pl_packed sizes;
    pl_packed categories;
} taken;

static void add_taken(const popliner_profile *p, const uint32_t *largest, size_t count, taken *t) {
    pl_packed_number(&t->counts, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t unlowered = p->variable_unlowered[largest[i]];
        pl_packed_number(&t->names, unlowered == PL_NONE ? 0 : (uint64_t)unlowered + 1);
        pl_packed_number(&t->sizes, p->variable_size_bytes[largest[i]]);
        pl_packed_number(&t->categories, p->variable_category[largest[i]]);
    }
}

popliner_status pl_page_add_tile_variables(pl_text *text, const popliner_profile *profile,
                                           popliner_error *error) {
    const popliner_profile *p = profile;
    taken t = {0};
    popliner_status status = pl_profile_require_variables(p, error);
    if (status != POPLINER_OK)
        return status;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint32_t largest[VARIABLES_OF_TILE];
        size_t count = 0;
        for (size_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
            take_variable(p, (uint32_t)i, largest, &count);
        add_taken(p, largest, count, &t);
    }
    pl_text_add(text, "{\"count\":");
    pl_packed_end(&t.counts, text);
    pl_text_add(text, ",\"variable\":");
    pl_packed_end(&t.names, text);
    pl_text_add(text, ",\"size_bytes\":");
    pl_packed_end(&t.sizes, text);
    pl_text_add(text, ",\"category\":");
    pl_packed_end(&t.categories, text);
    pl_text_add(text, "}");
    return POPLINER_OK;
}
