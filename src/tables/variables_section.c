/* The sections of variables, a row for the pieces of an unlowered variable in one category, and of
 * addresses, a row for each lowered variable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/passes.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* A row. Most unlowered variables have one category; the few rows of the others are a list. */
typedef struct row {
    uint32_t unlowered; /* or PL_NONE */
    uint8_t category;
    bool is_always_live; /* all pieces are */
    uint32_t next;       /* row of the same unlowered variable, or PL_NONE */
    uint32_t set;        /* the last set of operations whose units were marked */
    uint64_t size_bytes;
    uint64_t num_pieces;
    uint32_t num_tiles;
    uint32_t last_tile; /* the last tile with a piece */
    uint32_t largest_tile;
    uint64_t tile_bytes; /* on the last tile, so far */
    uint64_t largest_tile_bytes;
    uint32_t first_step; /* of the pieces that are not always live; PL_NONE: none */
    uint32_t end_step;
} row;

typedef struct rows {
    size_t num_units;
    /* [num_unlowered + num_categories]: first row of each variable, then of the pieces without one
     * that are in each category */
    uint32_t *first;
    row *items;
    size_t count;
    size_t capacity;
    uint8_t *units; /* [count][num_units]: the units that touch one of the row's pieces */
    size_t units_capacity;
} rows;

/* Makes a row, in front of row `next`; NULL when memory is short. */
static row *make_row(rows *own, uint32_t unlowered, uint8_t category, uint32_t next) {
    const size_t units_end = (own->count + 1) * own->num_units;
    if (!pl_grow(&own->items, &own->capacity, own->count + 1, sizeof *own->items) ||
        !pl_grow(&own->units, &own->units_capacity, units_end, sizeof *own->units))
        return NULL;
    memset(own->units + units_end - own->num_units, 0, own->num_units);
    own->items[own->count] = (row){
        .unlowered = unlowered,
        .category = category,
        .is_always_live = true,
        .next = next,
        .last_tile = PL_NONE,
        .first_step = PL_NONE,
    };
    return &own->items[own->count++];
}

/* Returns the row of a piece, made when first needed; NULL when memory is short. */
static row *row_of(rows *own, const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    uint8_t category = p->variable_category[variable];
    uint32_t *first = &own->first[unlowered == PL_NONE ? p->num_unlowered + category : unlowered];
    uint32_t before = PL_NONE; /* by category, in the order of the file */
    uint32_t next = *first;
    while (next != PL_NONE && own->items[next].category < category) {
        before = next;
        next = own->items[next].next;
    }
    if (next != PL_NONE && own->items[next].category == category)
        return &own->items[next];
    uint32_t made = (uint32_t)own->count;
    row *r = make_row(own, unlowered, category, next);
    if (r == NULL)
        return NULL;
    *(before == PL_NONE ? first : &own->items[before].next) = made;
    return r;
}

/* Adds the live ranges of a piece. */
static void add_ranges(row *r, const popliner_profile *p, size_t variable) {
    uint32_t class_index = p->variable_class[variable];
    if (p->class_always_live[class_index] != 0)
        return;
    r->is_always_live = false;
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        if (r->first_step == PL_NONE || p->range_first_step[i] < r->first_step)
            r->first_step = p->range_first_step[i];
        if (p->range_end_step[i] > r->end_step)
            r->end_step = p->range_end_step[i];
    }
}

static void add_piece(row *r, const popliner_profile *p, size_t variable, size_t tile) {
    r->size_bytes += p->variable_size_bytes[variable];
    r->num_pieces++;
    if (r->last_tile != tile) {
        r->num_tiles++;
        r->last_tile = (uint32_t)tile;
        r->tile_bytes = 0;
    }
    r->tile_bytes += p->variable_size_bytes[variable];
    if (r->num_tiles == 1 || r->tile_bytes > r->largest_tile_bytes) {
        r->largest_tile = r->last_tile;
        r->largest_tile_bytes = r->tile_bytes;
    }
    add_ranges(r, p, variable);
}

/* Marks the units that touch a piece. Most pieces of a tensor have one set, which is marked
 * once. */
static void mark_units(rows *own, row *r, const pl_pass_usage *usage, size_t variable) {
    uint8_t *marks = own->units + (size_t)(r - own->items) * own->num_units;
    const uint32_t set = pl_pass_use_of(usage, variable)->counting.touching;
    if (set == r->set)
        return;
    r->set = set;
    const uint64_t *units = pl_bits_at(&usage->sets, set);
    for (size_t unit = 0; unit < own->num_units; unit++)
        marks[unit] |= pl_bits_has(units, unit);
}

static popliner_status gather(rows *own, const pl_section_source *source,
                              const pl_pass_usage *usage, popliner_error *error) {
    const popliner_profile *p = source->profile;
    const size_t num_lists = p->num_unlowered + p->num_categories;
    own->first = pl_arrays_new(source->arrays, num_lists, sizeof *own->first);
    if (own->first == NULL)
        return pl_fail_memory(error, "the variables");
    for (size_t i = 0; i < num_lists; i++)
        own->first[i] = PL_NONE;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        for (size_t v = (size_t)p->tile_variables_start[tile];
             v < p->tile_variables_start[tile + 1]; v++) {
            if (p->variable_size_bytes[v] == 0) /* not allocated */
                continue;
            row *r = row_of(own, p, v);
            if (r == NULL)
                return pl_fail_memory(error, "the variables");
            add_piece(r, p, v, tile);
            mark_units(own, r, usage, v);
        }
    return POPLINER_OK;
}

/* Marks the units that copy a piece from or to the host. The usage omits them if other units
 * compute on the piece. */
static void mark_host_copies(rows *own, const pl_section_source *source) {
    const popliner_profile *p = source->profile;
    for (size_t i = 0; i < pl_operations_count(source->operations); i++) {
        const popliner_operation *operation = pl_operation_at(source->operations, i);
        size_t unit = source->chain->unit_of_operation[i];
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            pl_touches touches = pl_touches_of(p, program);
            uint32_t variable;
            while (p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID &&
                   pl_touches_next(&touches, &variable)) {
                if (p->variable_size_bytes[variable] == 0)
                    continue;
                const row *r = row_of(own, p, variable); /* it exists */
                own->units[(size_t)(r - own->items) * own->num_units + unit] = 1;
            }
        }
    }
}

/* Returns the units that touch a row; "" if there are none, which is also a value. */
static pl_text units_text(const rows *own, const row *r, const pl_chain *chain) {
    const uint8_t *marks = own->units + (size_t)(r - own->items) * chain->num_units;
    pl_text units = {0};
    pl_text_add(&units, "");
    for (size_t unit = 0; unit < chain->num_units; unit++)
        if (marks[unit] != 0)
            pl_text_format(&units, "%s%s", units.length == 0 ? "" : " ", chain->labels[unit]);
    return units;
}

static void add_row(const rows *own, const row *r, const pl_section_source *source,
                    pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    const bool has_name = !sheet->is_naming && r->unlowered != PL_NONE;
    const bool has_steps = !sheet->is_naming && r->first_step != PL_NONE;
    pl_text units = {0};
    if (!sheet->is_naming)
        units = units_text(own, r, source->chain);
    PL_COLUMN(sheet, place, "variable", r->unlowered);
    PL_COLUMN(sheet, text, "name",
              has_name ? pl_profile_string(p, p->unlowered_name[r->unlowered]) : NULL);
    PL_COLUMN(sheet, text, "category", pl_profile_string(p, p->category_name[r->category]));
    PL_COLUMN(sheet, number, "size_bytes", r->size_bytes);
    PL_COLUMN(sheet, number, "num_pieces", r->num_pieces);
    PL_COLUMN(sheet, number, "num_tiles", r->num_tiles);
    PL_COLUMN(sheet, number, "largest_tile", r->largest_tile);
    PL_COLUMN(sheet, number, "largest_tile_bytes", r->largest_tile_bytes);
    PL_COLUMN(sheet, flag, "always_live", r->is_always_live);
    PL_COLUMN(sheet, place, "first_step", r->first_step);
    PL_COLUMN(sheet, index, "last_step", has_steps ? r->end_step - 1 : SIZE_MAX);
    PL_COLUMN(sheet, text, "units", units.failed ? NULL : units.data);
    PL_COLUMN(sheet, id, "debug_context", has_name ? p->unlowered_debug_context[r->unlowered] : 0);
    sheet->text.failed = sheet->text.failed || units.failed;
    free(units.data);
}

popliner_status pl_section_variables(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    rows own = {.num_units = source->chain->num_units};
    add_row(&own, NULL, source, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(pl_profile_require_variables(p, error));
    const popliner_status status = gather(&own, source, &source->meter->pass_usage, error);
    if (status == POPLINER_OK)
        mark_host_copies(&own, source);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_unlowered + p->num_categories; i++)
        for (uint32_t k = own.first[i]; k != PL_NONE; k = own.items[k].next)
            add_row(&own, &own.items[k], source, sheet);
    free(own.units);
    free(own.items);
    return status;
}

/* ---- The section of addresses ---- */

static void add_address(const popliner_profile *p, size_t tile, size_t v, pl_sheet *sheet) {
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
}

popliner_status pl_section_addresses(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    add_address(p, 0, 0, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(pl_profile_require_variables(p, error));
    size_t tile = 0;
    for (size_t v = 0; v < p->num_variables; v++) {
        tile = pl_profile_tile_from(p, v, tile);
        if (p->variable_size_bytes[v] > 0)
            add_address(p, tile, v, sheet);
    }
    return POPLINER_OK;
}
