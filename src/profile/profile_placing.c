/* Reads what the compiler places variables by, and knows the order in which it does:
 * docs/internals/layout.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "profile/profile_readers.h"

/* ---- The order ---- */

uint64_t pl_placing_key(const popliner_profile *p, size_t variable) {
    enum { START, VERTEX_CODE, OTHER_CODE, ALWAYS_LIVE, NOT_ALWAYS_LIVE, VERTEX_STATE };
    const unsigned placing = p->variable_placing[variable];
    const pl_category category = (pl_category)p->category[p->variable_category[variable]];
    uint64_t group = NOT_ALWAYS_LIVE;
    if ((placing & PL_PLACING_START) != 0 && (placing & PL_PLACING_EXECUTABLE) != 0)
        group = START;
    else if ((placing & PL_PLACING_EXECUTABLE) != 0)
        group = (placing & PL_PLACING_VERTEX_CODE) != 0 ? VERTEX_CODE : OTHER_CODE;
    else if (category == PL_CATEGORY_VERTEX_INSTANCE_STATE ||
             category == PL_CATEGORY_VERTEX_FIELD_DATA || category == PL_CATEGORY_COPY_DESCRIPTOR)
        group = VERTEX_STATE;
    else if (p->class_always_live[p->variable_class[variable]] != 0)
        group = ALWAYS_LIVE;
    return group << 32 | (UINT32_MAX - p->variable_size_bytes[variable]);
}

/* ---- Elements ---- */

/* Reads them up to where they do not ascend, or are more than any tile has. */
static void read_elements(pl_database *database, popliner_profile *p) {
    enum { MAX_ELEMENTS = 1 << 12 };
    static const pl_column columns[] = {{"memoryElementOffsets", false}};
    static const pl_table table = {"target_info", PL_TABLE_OPTIONAL, columns, 1, ""};
    size_t capacity = 0;
    uint64_t offset = 0;
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        size_t size_bytes = 0;
        const uint8_t *blob = pl_rows_blob(&rows, 0, &size_bytes);
        const uint8_t *end = pl_blob_end(blob, size_bytes);
        if (p->num_elements > 0 || pl_rows_is_null(&rows, 0))
            continue;
        while (p->num_elements < MAX_ELEMENTS && pl_varint_read(&blob, end, &offset)) {
            if (p->num_elements > 0 && offset <= p->element_offset[p->num_elements - 1])
                break;
            if (!pl_outcome_has(&database->outcome,
                                pl_profile_reserve(p, &p->num_elements, &capacity), "the profile"))
                break;
            p->element_offset[p->num_elements++] = offset;
        }
    }
}

/* ---- The recorded order ---- */

typedef struct order_reader {
    popliner_profile *profile;
    const pl_id_map *ids;
    size_t capacity; /* of the profile's array */
    uint8_t *is_met; /* [num_variables], NULL at first */
} order_reader;

/* Counts the variables of a tile that have bytes. */
static size_t count_placed(const popliner_profile *p, size_t tile) {
    size_t count = 0;
    for (size_t i = (size_t)p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
         i++)
        count += p->variable_size_bytes[i] > 0;
    return count;
}

/* Appends the order of a tile, as indices; drops it again if it is the usual one, or does not hold
 * each variable with bytes once. */
static bool keep_order(order_reader *r, size_t tile, const uint8_t *blob, const uint8_t *end) {
    popliner_profile *p = r->profile;
    const size_t first = p->num_ordered;
    bool is_usual = true;
    bool is_whole = true;
    pl_id_entry last = {0};
    uint64_t id = 0;
    while (is_whole && blob < end && (is_whole = pl_varint_read(&blob, end, &id))) {
        const uint32_t variable = pl_id_map_find(r->ids, id);
        if (variable == PL_NONE || variable < p->tile_variables_start[tile] ||
            variable >= p->tile_variables_start[tile + 1] || r->is_met[variable] != 0) {
            is_whole = false;
            break;
        }
        r->is_met[variable] = 1;
        if (p->variable_size_bytes[variable] == 0)
            continue;
        if (!pl_profile_reserve(p, &p->num_ordered, &r->capacity))
            return false;
        const pl_id_entry next = {pl_placing_key(p, variable), variable};
        is_usual = is_usual && pl_id_entry_compare(&last, &next) < 0;
        last = next;
        p->ordered_variable[p->num_ordered++] = variable;
    }
    if (is_usual || !is_whole || p->num_ordered - first != count_placed(p, tile))
        p->num_ordered = first;
    return true;
}

void pl_profile_read_placing(pl_reading *reading) {
    static const pl_column columns[] = {{"tile", true}, {"order", true}};
    static const pl_table table = {"allocation_order_by_tile", PL_TABLE_WHOLE, columns, 2,
                                   "ORDER BY tile"};
    popliner_profile *p = reading->profile;
    order_reader r = {.profile = p, .ids = &reading->ids.variables};
    size_t next_tile = 0; /* rows ascend by tile */
    read_elements(&reading->database, p);
    pl_rows rows = pl_rows_open(&reading->database, &table);
    while (pl_rows_next(&rows)) {
        size_t size_bytes = 0;
        uint64_t tile = SIZE_MAX;
        if (!pl_rows_told(&rows, 0, &tile) || tile < next_tile || tile >= p->target.num_tiles ||
            pl_rows_is_null(&rows, 1))
            continue;
        next_tile = (size_t)tile + 1;
        const uint8_t *blob = pl_rows_blob(&rows, 1, &size_bytes);
        if (r.is_met == NULL)
            r.is_met = pl_new_array(p->num_variables, sizeof *r.is_met);
        pl_outcome_has(&reading->database.outcome,
                       r.is_met != NULL &&
                           keep_order(&r, (size_t)tile, blob, pl_blob_end(blob, size_bytes)),
                       "the order of the variables");
    }
    free(r.is_met);
}
