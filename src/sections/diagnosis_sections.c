/* Sections of a diagnosis: what is explained, and what is missing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/sections.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/growth.h"
#include "diagnosis/diagnosis.h"
#include "memory/memory_model.h"

/* ---- what is explained ---- */

static void begin_row(pl_sheet *sheet, const char *group, const char *name) {
    pl_sheet_text(sheet, group);
    pl_sheet_text(sheet, name);
}

/* A row whose value is a number, or none. */
static void add_index(pl_sheet *sheet, const char *group, const char *name, size_t value) {
    begin_row(sheet, group, name);
    pl_sheet_index(sheet, value);
    pl_sheet_none(sheet);
    pl_sheet_none(sheet);
}

static void add_text(pl_sheet *sheet, const char *group, const char *name, const char *value) {
    begin_row(sheet, group, name);
    pl_sheet_text(sheet, *value == '\0' ? NULL : value);
    pl_sheet_none(sheet);
    pl_sheet_none(sheet);
}

static void add_explained(pl_sheet *sheet, const char *group, const char *name, uint64_t value,
                          uint64_t explained) {
    begin_row(sheet, group, name);
    pl_sheet_number(sheet, value);
    pl_sheet_number(sheet, explained);
}

popliner_status pl_section_diagnosis(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    static const char *const columns[] = {"group", "name", "value", "explained", "tiles_exceeded"};
    const popliner_diagnosis *d = source->diagnosis;
    const bool has_steps = d->last_step >= d->first_step;
    (void)error;
    pl_sheet_begin(sheet, sheet->format, "diagnosis", columns, sizeof columns / sizeof *columns);
    add_text(sheet, "model", "memory_model", pl_memory_model_find(d->model)->name);
    add_index(sheet, "model", "tile", d->model_tile);
    add_index(sheet, "model", "step", d->model_step);
    add_index(sheet, "model", "bytes", d->model_bytes);
    add_index(sheet, "model", "first_step", has_steps ? d->first_step : SIZE_MAX);
    add_index(sheet, "model", "last_step", has_steps ? d->last_step : SIZE_MAX);
    add_index(sheet, "model", "tiles_off", d->tiles_off);
    add_index(sheet, "bottleneck", "tile", d->tile);
    add_index(sheet, "bottleneck", "step", d->step);
    add_text(sheet, "bottleneck", "program", d->program_name);
    add_explained(sheet, "bottleneck", "bytes", d->truth_bytes, d->explained_bytes);
    pl_sheet_none(sheet);
    for (size_t i = 0; i < d->num_categories; i++) {
        const popliner_diagnosis_category *category = &d->categories[i];
        add_explained(sheet, "category", category->name, category->truth_bytes,
                      category->explained_bytes);
        pl_sheet_number(sheet, category->tiles_exceeded);
    }
    for (size_t i = 0; i < d->num_program_types; i++) {
        add_explained(sheet, "programs", d->programs[i].type, d->programs[i].num_all,
                      d->programs[i].num_seen);
        pl_sheet_none(sheet);
    }
    for (size_t i = 0; i < d->num_coverage; i++)
        add_index(sheet, "layers", *d->coverage[i].note == '\0' ? "name" : d->coverage[i].note,
                  d->coverage[i].num_operations);
    if (*d->suggestion.regex != '\0') {
        add_text(sheet, "suggestion", "regex", d->suggestion.regex);
        add_text(sheet, "suggestion", "example", d->suggestion.example);
        add_index(sheet, "suggestion", "layers", d->suggestion.num_layers);
    }
    return POPLINER_OK;
}

/* ---- what is missing ---- */

static void add_reasons(const popliner_missing_reasons *reasons, pl_sheet *sheet) {
    pl_text text = {0};
    pl_text_add(&text, "");
    for (size_t i = 0; i < reasons->count; i++)
        pl_text_format(&text, "%s%s", i == 0 ? "" : "; ", reasons->text[i]);
    pl_sheet_text(sheet, text.failed || text.length == 0 ? NULL : text.data);
    sheet->text.failed = sheet->text.failed || text.failed;
    free(text.data);
}

static void add_programs(size_t num_programs, const uint32_t *programs, pl_sheet *sheet) {
    pl_text text = {0};
    pl_text_add(&text, "");
    for (size_t i = 0; i < num_programs && i < 3; i++)
        pl_text_format(&text, "%s%" PRIu32, i == 0 ? "" : " ", programs[i]);
    pl_sheet_number(sheet, num_programs);
    pl_sheet_text(sheet, text.failed || text.length == 0 ? NULL : text.data);
    sheet->text.failed = sheet->text.failed || text.failed;
    free(text.data);
}

static void add_place(const char *place, size_t item, size_t part, const char *category,
                      pl_sheet *sheet) {
    pl_sheet_text(sheet, place);
    pl_sheet_number(sheet, item);
    pl_sheet_index(sheet, part);
    pl_sheet_text(sheet, category);
}

static void add_missing(const char *place, const popliner_missing_variables *list,
                        pl_sheet *sheet) {
    for (size_t i = 0; i < list->count; i++) {
        const popliner_missing_variable *v = &list->items[i];
        add_place(place, i, SIZE_MAX, v->category, sheet);
        pl_sheet_text(sheet, *v->name == '\0' ? NULL : v->name);
        pl_sheet_number(sheet, v->size_bytes);
        pl_sheet_number(sheet, v->compiler_bytes);
        add_reasons(&v->reasons, sheet);
        add_programs(v->num_programs, v->programs, sheet);
        pl_sheet_id(sheet, v->debug_context);
        for (size_t k = 0; k < v->num_parts; k++) {
            const popliner_missing_part *part = &v->parts[k];
            add_place(place, i, k, v->category, sheet);
            pl_sheet_text(sheet, part->vertex_type);
            pl_sheet_number(sheet, part->size_bytes);
            pl_sheet_none(sheet);
            add_reasons(&part->reasons, sheet);
            add_programs(part->num_programs, part->programs, sheet);
            pl_sheet_none(sheet);
        }
    }
}

popliner_status pl_section_missing(const pl_section_source *source, pl_sheet *sheet,
                                   popliner_error *error) {
    static const char *const columns[] = {
        "place",          "item",    "part",         "category", "name",          "size_bytes",
        "compiler_bytes", "reasons", "num_programs", "programs", "debug_context",
    };
    (void)error;
    pl_sheet_begin(sheet, sheet->format, "missing", columns, sizeof columns / sizeof *columns);
    add_missing("bottleneck", &source->diagnosis->missing_here, sheet);
    add_missing("all", &source->diagnosis->missing_everywhere, sheet);
    return POPLINER_OK;
}
