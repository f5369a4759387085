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
#include "memory/unit_usage.h"
#include "profile/profile_data.h"

typedef struct row {
    size_t variable; /* unlowered; num_unlowered: of none */
    size_t category;
    bool has_ranges; /* some piece is not always live */
    uint32_t first_step;
    uint32_t end_step;
    uint64_t size_bytes;
    uint64_t num_pieces;
    size_t num_tiles;
    size_t last_tile;    /* with a piece; SIZE_MAX: there is none yet */
    uint64_t tile_bytes; /* on the last tile, so far */
    size_t largest_tile;
    uint64_t largest_tile_bytes;
    uint64_t *units; /* bits: those that touch one of the pieces */
} row;

/* Adds the live ranges of a piece. */
static void add_ranges(row *r, const popliner_profile *p, uint32_t class_index) {
    if (p->class_always_live[class_index] != 0)
        return;
    r->has_ranges = true;
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        if (p->range_first_step[i] < r->first_step)
            r->first_step = p->range_first_step[i];
        if (p->range_end_step[i] > r->end_step)
            r->end_step = p->range_end_step[i];
    }
}

static void add_piece(row *r, const popliner_profile *p, const pl_unit_usage *usage, size_t piece,
                      size_t tile) {
    const uint64_t *units = pl_bits_at(&usage->sets, pl_unit_usage_of(usage, piece));
    r->size_bytes += p->variable_size_bytes[piece];
    r->num_pieces++;
    if (r->last_tile != tile) {
        r->num_tiles++;
        r->last_tile = tile;
        r->tile_bytes = 0;
    }
    r->tile_bytes += p->variable_size_bytes[piece];
    if (r->tile_bytes > r->largest_tile_bytes) {
        r->largest_tile = tile;
        r->largest_tile_bytes = r->tile_bytes;
    }
    add_ranges(r, p, p->variable_class[piece]);
    for (size_t i = 0; i < usage->sets.key_size / sizeof *units; i++)
        r->units[i] |= units[i];
}

/* Returns the units that touch a row; "" if there are none, which is also a value. */
static pl_text units_text(const row *r, const pl_chain *chain) {
    pl_text units = {0};
    pl_text_add(&units, "");
    for (size_t unit = 0; unit < chain->num_units; unit++)
        if (pl_bits_has(r->units, unit))
            pl_text_format(&units, "%s%s", units.length == 0 ? "" : " ", chain->labels[unit]);
    return units;
}

static void add_row(const row *r, const pl_section_source *source, pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    const bool has_name = !sheet->is_naming && r->variable < p->num_unlowered;
    pl_text units = {0};
    if (!sheet->is_naming)
        units = units_text(r, source->chain);
    PL_COLUMN(sheet, known, "variable", has_name, r->variable);
    PL_COLUMN(sheet, text, "name",
              has_name ? pl_profile_string(p, p->unlowered_name[r->variable]) : NULL);
    PL_COLUMN(sheet, text, "category", pl_profile_string(p, p->category_name[r->category]));
    PL_COLUMN(sheet, number, "size_bytes", r->size_bytes);
    PL_COLUMN(sheet, number, "num_pieces", r->num_pieces);
    PL_COLUMN(sheet, number, "num_tiles", r->num_tiles);
    PL_COLUMN(sheet, number, "largest_tile", r->largest_tile);
    PL_COLUMN(sheet, number, "largest_tile_bytes", r->largest_tile_bytes);
    PL_COLUMN(sheet, flag, "always_live", !r->has_ranges);
    PL_COLUMN(sheet, place, "first_step", r->first_step);
    PL_COLUMN(sheet, known, "last_step", r->first_step != PL_NONE, r->end_step - 1);
    PL_COLUMN(sheet, text, "units", units.failed ? NULL : units.data);
    PL_COLUMN(sheet, id, "debug_context", has_name ? p->unlowered_debug_context[r->variable] : 0);
    sheet->text.failed = sheet->text.failed || units.failed;
    free(units.data);
}

popliner_status pl_section_variables(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    const pl_chain *chain = source->chain;
    pl_pieces pieces;
    pl_unit_usage usage;
    row *rows = pl_arrays_new(source->arrays, p->num_categories, sizeof *rows);
    add_row(NULL, source, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(pl_profile_require_variables(p, error));
    pl_pieces_find(&pieces, source->arrays, p);
    pl_unit_usage_find(&usage, source->arrays, chain->usage, chain->unit_of_operation,
                       chain->num_units, false);
    for (size_t i = 0; rows != NULL && i < p->num_categories; i++)
        rows[i].units = pl_arrays_new(source->arrays, 1, usage.sets.key_size);
    for (size_t variable = 0; !source->arrays->failed && variable <= p->num_unlowered; variable++) {
        size_t tile = 0;
        for (size_t i = 0; i < p->num_categories; i++) {
            memset(rows[i].units, 0, usage.sets.key_size);
            rows[i] = (row){.variable = variable,
                            .category = i,
                            .first_step = PL_NONE,
                            .last_tile = SIZE_MAX,
                            .units = rows[i].units};
        }
        for (size_t i = pieces.start[variable]; i < pieces.start[variable + 1]; i++) {
            const size_t piece = pieces.piece[i];
            if (piece >= p->tile_variables_start[tile + 1])
                tile = pl_profile_tile_of(p, piece);
            add_piece(&rows[p->variable_category[piece]], p, &usage, piece, tile);
        }
        for (size_t i = 0; i < p->num_categories; i++)
            if (rows[i].num_pieces > 0)
                add_row(&rows[i], source, sheet);
    }
    return source->arrays->failed ? pl_fail_memory(error, "the variables") : POPLINER_OK;
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
