/* The section of variables: one row for the pieces of an unlowered variable that are of one
 * category.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "memory/chain_data.h"
#include "memory/passes.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* Rows while they are gathered. Pieces of one unlowered variable are mostly of one category, so
 * those of several are found by going through its few rows. */
typedef struct row {
    uint32_t unlowered; /* or PL_NONE */
    uint8_t category;
    bool is_always_live; /* all pieces are */
    uint32_t next;       /* row of the same unlowered variable, or PL_NONE */
    uint32_t set;        /* of operations that touch a piece */
    uint64_t size_bytes;
    uint64_t num_pieces;
    uint32_t num_tiles;
    uint32_t last_tile; /* that a piece was met on */
    uint32_t largest_tile;
    uint64_t tile_bytes; /* on the last tile, so far */
    uint64_t largest_tile_bytes;
    uint32_t first_step; /* of the pieces that are not always live; PL_NONE: none */
    uint32_t end_step;
} row;

/* Pieces of no unlowered variable are many, of many categories: their rows are found by these. */
typedef struct rows {
    size_t num_units;
    uint32_t *first; /* [num_unlowered + 1]: row of each, then of pieces that are of none */
    uint32_t of_none[UINT8_MAX + 1];
    row *items;
    size_t count;
    size_t capacity;
    uint8_t *units; /* [count][num_units]: which touch one of its pieces */
    size_t units_capacity;
} rows;

/* Makes the row of an unlowered variable, or none, and a category, in front of row `next`; NULL
 * without memory. */
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

/* The row of a piece, which is made when it is met first; NULL without memory. */
static row *row_of(rows *own, const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    uint8_t category = p->variable_category[variable];
    if (unlowered == PL_NONE && own->of_none[category] != PL_NONE)
        return &own->items[own->of_none[category]];
    uint32_t *first = &own->first[unlowered == PL_NONE ? p->num_unlowered : unlowered];
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
    if (unlowered == PL_NONE)
        own->of_none[category] = made;
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

/* Marks the units that touch a piece. Those of a tensor mostly have one set, which is then marked
 * once. */
static void mark_units(rows *own, row *r, const pl_unit_usage *usage, size_t variable) {
    uint8_t *marks = own->units + (size_t)(r - own->items) * own->num_units;
    if (usage->variable_set[variable] == r->set)
        return;
    r->set = usage->variable_set[variable];
    for (uint32_t s = usage->units_of_set[r->set]; s != 0; s = usage->sets.rest[s])
        marks[usage->sets.last_unit[s] % own->num_units] = 1;
}

static popliner_status gather(rows *own, const popliner_profile *p, const pl_unit_usage *usage,
                              popliner_error *error) {
    own->first = pl_new_array(p->num_unlowered + 1, sizeof *own->first);
    if (own->first == NULL)
        return pl_fail_memory(error, "the variables");
    for (size_t i = 0; i <= p->num_unlowered; i++)
        own->first[i] = PL_NONE;
    for (size_t i = 0; i <= UINT8_MAX; i++)
        own->of_none[i] = PL_NONE;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        for (size_t v = (size_t)p->tile_variables_start[tile];
             v < p->tile_variables_start[tile + 1]; v++) {
            if (p->variable_size_bytes[v] == 0) /* not allocated: it is nowhere */
                continue;
            row *r = row_of(own, p, v);
            if (r == NULL)
                return pl_fail_memory(error, "the variables");
            add_piece(r, p, v, tile);
            mark_units(own, r, usage, v);
        }
    return POPLINER_OK;
}

/* Marks the units that copy a piece from or to the host: a usage leaves these out where others
 * compute on the piece. */
static void mark_host_copies(rows *own, const pl_section_source *source) {
    const popliner_profile *p = source->profile;
    for (size_t i = 0; i < popliner_operations_count(source->operations); i++) {
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
                const row *r = row_of(own, p, variable); /* it was made */
                own->units[(size_t)(r - own->items) * own->num_units + unit] = 1;
            }
        }
    }
}

static void add_row(const rows *own, const row *r, const pl_section_source *source,
                    pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    const size_t num_units = source->chain->num_units;
    const uint8_t *marks = own->units + (size_t)(r - own->items) * num_units;
    pl_text units = {0};
    pl_text_add(&units, "");
    for (size_t unit = 0; unit < num_units; unit++) {
        if (marks[unit] != 0)
            pl_text_format(&units, "%s%s", units.length == 0 ? "" : " ",
                           pl_chain_unit_at(source->chain, unit)->label);
    }
    bool has_steps = r->first_step != PL_NONE;
    pl_sheet_index(sheet, r->unlowered == PL_NONE ? SIZE_MAX : r->unlowered);
    pl_sheet_text(sheet, r->unlowered == PL_NONE
                             ? NULL
                             : pl_profile_string(p, p->unlowered_name[r->unlowered]));
    pl_sheet_text(sheet, pl_profile_string(p, p->category_name[r->category]));
    pl_sheet_number(sheet, r->size_bytes);
    pl_sheet_number(sheet, r->num_pieces);
    pl_sheet_number(sheet, r->num_tiles);
    pl_sheet_number(sheet, r->largest_tile);
    pl_sheet_number(sheet, r->largest_tile_bytes);
    pl_sheet_flag(sheet, r->is_always_live);
    pl_sheet_index(sheet, has_steps ? r->first_step : SIZE_MAX);
    pl_sheet_index(sheet, has_steps ? r->end_step - 1 : SIZE_MAX);
    pl_sheet_text(sheet, units.failed ? NULL : units.data);
    sheet->text.failed = sheet->text.failed || units.failed;
    pl_sheet_id(sheet, r->unlowered == PL_NONE ? 0 : p->unlowered_debug_context[r->unlowered]);
    free(units.data);
}

popliner_status pl_section_variables(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    static const char *const columns[] = {
        "variable",  "name",         "category",           "size_bytes",  "num_pieces",
        "num_tiles", "largest_tile", "largest_tile_bytes", "always_live", "first_step",
        "last_step", "units",        "debug_context",
    };
    const popliner_profile *p = source->profile;
    const pl_pass_usage *usage = NULL;
    rows own = {.num_units = source->chain->num_units};
    pl_sheet_begin(sheet, sheet->format, "variables", columns, sizeof columns / sizeof *columns);
    popliner_status status = pl_profile_require_variables(p, error);
    if (status == POPLINER_OK)
        status = pl_stage_meter_pass_usage(source->meter, &usage, error);
    if (status == POPLINER_OK)
        status = gather(&own, p, &usage->usage, error);
    if (status == POPLINER_OK)
        mark_host_copies(&own, source);
    for (size_t i = 0; status == POPLINER_OK && i <= p->num_unlowered; i++) {
        for (uint32_t k = own.first[i]; k != PL_NONE; k = own.items[k].next)
            add_row(&own, &own.items[k], source, sheet);
    }
    free(own.units);
    free(own.items);
    free(own.first);
    return status;
}
