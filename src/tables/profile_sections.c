/* Sections about the whole profile: summary, tiles, categories, checks, and its diagnosis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

/* ---- summary ---- */

static void begin_row(pl_sheet *sheet, const char *group, const char *name) {
    pl_sheet_text(sheet, group);
    pl_sheet_text(sheet, name);
}

/* Fills up the row, of these columns and others. */
static void end_row(pl_sheet *sheet) {
    while (sheet->column > 0 && !sheet->text.failed)
        pl_sheet_none(sheet);
}

static void add_text(pl_sheet *sheet, const char *group, const char *name, const char *value) {
    begin_row(sheet, group, name);
    pl_sheet_words(sheet, value);
    end_row(sheet);
}

/* SIZE_MAX: none. */
static void add_number(pl_sheet *sheet, const char *group, const char *name, uint64_t value) {
    begin_row(sheet, group, name);
    pl_sheet_index(sheet, value);
    end_row(sheet);
}

const char *pl_cycles_source_name(popliner_cycles_source source) {
    static const char *const names[] = {
        [POPLINER_CYCLES_NONE] = "none",
        [POPLINER_CYCLES_EXCHANGES] = "exchanges",
        [POPLINER_CYCLES_ESTIMATED] = "estimated",
        [POPLINER_CYCLES_MEASURED] = "measured",
    };
    return names[source];
}

static void add_device(const popliner_profile_info *info, pl_sheet *sheet) {
    add_text(sheet, "device", "architecture", info->architecture);
    add_text(sheet, "device", "target_type", info->target_type);
    add_number(sheet, "device", "num_tiles", info->num_tiles);
    add_number(sheet, "device", "tiles_per_ipu", info->tiles_per_ipu);
    add_number(sheet, "device", "num_ipus", info->num_ipus);
    add_number(sheet, "device", "ipus_per_replica", info->ipus_per_replica);
    add_number(sheet, "device", "num_replicas", info->num_replicas);
    add_number(sheet, "device", "bytes_per_tile", info->bytes_per_tile);
    add_number(sheet, "device", "clock_hz", info->clock_hz);
    if (info->ipu != SIZE_MAX)
        add_number(sheet, "device", "only_ipu", info->ipu);
}

static void add_counts(const popliner_profile *p, const popliner_profile_info *info,
                       pl_sheet *sheet) {
    add_number(sheet, "count", "programs", info->num_programs);
    add_number(sheet, "count", "liveness_steps", info->num_steps);
    add_number(sheet, "count", "compute_sets", info->num_compute_sets);
    add_number(sheet, "count", "vertices", info->num_vertices);
    add_number(sheet, "count", "edges", info->num_edges);
    add_number(sheet, "count", "vertex_types", info->num_vertex_types);
    add_number(sheet, "count", "lowered_variables",
               p->lacks_variables ? p->num_left_out : p->num_variables);
    add_number(sheet, "count", "unlowered_variables", info->num_unlowered_variables);
    add_number(sheet, "count", "equivalence_classes", info->num_equivalence_classes);
    add_number(sheet, "count", "categories", info->num_categories);
    add_number(sheet, "count", "runs", info->num_runs);
    add_number(sheet, "count", "execution_steps", info->num_execution_steps);
}

/* Adds sums and peaks of the compiler's totals by tile. */
static void add_memory(const popliner_profile *profile, const popliner_profile_info *info,
                       pl_sheet *sheet) {
    uint64_t always_live_bytes = 0;
    uint64_t total_bytes = 0;
    const size_t largest = pl_tiles_largest(profile);
    for (size_t tile = 0; tile < info->num_tiles; tile++) {
        always_live_bytes += profile->tile_always_live_bytes[tile];
        total_bytes += profile->tile_total_bytes[tile];
    }
    add_number(sheet, "memory", "total_bytes", total_bytes);
    add_number(sheet, "memory", "always_live_bytes", always_live_bytes);
    add_number(sheet, "memory", "largest_tile", largest);
    add_number(sheet, "memory", "largest_tile_live_bytes",
               profile->tile_always_live_bytes[largest] +
                   profile->tile_not_always_live_peak_bytes[largest]);
    add_number(sheet, "memory", "layout_gap_bytes", info->layout_gap_bytes);
    add_text(sheet, "cycles", "source", pl_cycles_source_name(info->cycles_source));
}

popliner_status pl_section_summary(const pl_section_source *source, pl_sheet *sheet,
                                   popliner_error *error) {
    static const char *const columns[] = {"group", "name", "value", "is_default"};
    const popliner_profile *p = source->profile;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    char version[40];
    PL_TRY(popliner_profile_get_info(p, &info, error));
    pl_sheet_set_columns(sheet, columns, sizeof columns / sizeof *columns);
    snprintf(version, sizeof version, "%u.%u.%u", info.format_major_number,
             info.format_minor_number, info.format_point_number);
    add_text(sheet, "version", "poplar", info.poplar_version);
    add_text(sheet, "version", "poplar_package_hash", info.poplar_package_hash);
    add_text(sheet, "version", "profile_format", version);
    add_device(&info, sheet);
    add_counts(p, &info, sheet);
    add_memory(p, &info, sheet);
    for (size_t i = 0; i < p->num_options; i++) {
        begin_row(sheet, "engine_option", pl_profile_string(p, p->option_name[i]));
        pl_sheet_text(sheet, pl_profile_string(p, p->option_value[i]));
        pl_sheet_flag(sheet, p->option_is_default[i] != 0);
    }
    return POPLINER_OK;
}

/* ---- tiles and categories ---- */

/* The variables of each tile, by category. Categories of equal names are one. */
typedef struct tile_categories {
    const char *names[PL_MAX_CATEGORIES]; /* [count], in the order of the file */
    size_t count;
    uint64_t *bytes; /* [category * tiles + tile] */
} tile_categories;

static size_t category_of(tile_categories *c, const char *name) {
    size_t i = 0;
    while (i < c->count && strcmp(c->names[i], name) != 0)
        i++;
    if (i == c->count)
        c->names[c->count++] = name;
    return i;
}

static bool sum_categories(const pl_section_source *source, tile_categories *c) {
    const popliner_profile *p = source->profile;
    const size_t num_tiles = p->target.num_tiles;
    c->bytes = pl_arrays_new(source->arrays, num_tiles * p->num_categories, sizeof *c->bytes);
    for (size_t i = 0; c->bytes != NULL && i < p->num_categories; i++)
        if (p->category_variables[i].size_bytes > 0)
            pl_series_add(p, p->category_variables[i], 1,
                          c->bytes + num_tiles *
                                         category_of(c, pl_profile_string(p, p->category_name[i])));
    return c->bytes != NULL;
}

static void add_tile(const popliner_profile *p, const popliner_profile_info *info,
                     const tile_categories *c, size_t tile, pl_sheet *sheet) {
    const size_t first_ipu = info->ipu == SIZE_MAX ? 0 : info->ipu;
    const size_t ipu = first_ipu + (info->tiles_per_ipu == 0 ? 0 : tile / info->tiles_per_ipu);
    const uint64_t always_bytes = p->tile_always_live_bytes[tile];
    const uint64_t peak_bytes = p->tile_not_always_live_peak_bytes[tile];
    PL_COLUMN(sheet, number, "tile", tile);
    PL_COLUMN(sheet, number, "ipu", ipu);
    PL_COLUMN(sheet, number, "live_bytes", always_bytes + peak_bytes);
    PL_COLUMN(sheet, number, "always_live_bytes", always_bytes);
    PL_COLUMN(sheet, number, "not_always_live_peak_bytes", peak_bytes);
    PL_COLUMN(sheet, number, "total_bytes", p->tile_total_bytes[tile]);
    PL_COLUMN(sheet, number, "total_including_gaps_bytes",
              p->tile_total_including_gaps_bytes[tile]);
    /* their prefix makes these names distinct from other columns */
    for (size_t i = 0; i < c->count; i++) {
        pl_text name = {0};
        if (sheet->is_naming)
            pl_text_format(&name, "category_%s_bytes", c->names[i]);
        sheet->text.failed = sheet->text.failed || name.failed;
        PL_COLUMN(sheet, number, pl_text_string(&name), c->bytes[i * p->target.num_tiles + tile]);
        free(name.data);
    }
}

popliner_status pl_section_tiles(const pl_section_source *source, pl_sheet *sheet,
                                 popliner_error *error) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    tile_categories categories = {.count = 0};
    PL_TRY(popliner_profile_get_info(source->profile, &info, error));
    if (!sum_categories(source, &categories))
        return pl_fail_memory(error, "a report");
    add_tile(source->profile, &info, &categories, 0, sheet);
    pl_sheet_end_names(sheet);
    for (size_t tile = 0; tile < source->profile->target.num_tiles; tile++)
        add_tile(source->profile, &info, &categories, tile, sheet);
    return POPLINER_OK;
}

/* Adds a category, whose variables have these bytes on each tile. */
static void add_category(const popliner_profile *p, size_t i, const uint64_t *by_tile,
                         pl_sheet *sheet) {
    const bool is_counted = !sheet->is_naming && p->num_category_parts > 0;
    uint64_t total_bytes = 0;
    uint64_t overlapped_bytes = 0;
    uint64_t all_bytes = 0;
    size_t largest = 0;
    uint64_t of_memory_bytes[PL_NUM_CATEGORY_PARTS / 2] = {
        0}; /* ordinary, interleaved, overflowed */
    for (size_t part = 0; is_counted && part < PL_NUM_CATEGORY_PARTS; part++) {
        const uint64_t bytes =
            pl_series_sum(p, p->category_memory[i * PL_NUM_CATEGORY_PARTS + part]);
        total_bytes += bytes;
        overlapped_bytes += part % 2 != 0 ? bytes : 0;
        of_memory_bytes[part / 2] += bytes;
    }
    for (size_t tile = 0; !sheet->is_naming && tile < p->target.num_tiles; tile++) {
        all_bytes += by_tile[tile];
        largest = by_tile[tile] > by_tile[largest] ? tile : largest;
    }
    const uint64_t largest_bytes = sheet->is_naming ? 0 : by_tile[largest];
    PL_COLUMN(sheet, text, "category",
              sheet->is_naming ? NULL : pl_profile_string(p, p->category_name[i]));
    PL_COLUMN(sheet, number, "variables_bytes", all_bytes);
    PL_COLUMN(sheet, number, "always_live_bytes",
              sheet->is_naming ? 0 : pl_series_sum(p, p->category_always_live[i]));
    PL_COLUMN(sheet, index, "largest_tile", largest_bytes > 0 ? largest : SIZE_MAX);
    PL_COLUMN(sheet, number, "largest_tile_bytes", largest_bytes);
    PL_COLUMN(sheet, number, "counted_bytes", total_bytes);
    PL_COLUMN(sheet, number, "overlapped_bytes", overlapped_bytes);
    PL_COLUMN(sheet, number, "interleaved_bytes", of_memory_bytes[1]);
    PL_COLUMN(sheet, number, "overflowed_bytes", of_memory_bytes[2]);
}

popliner_status pl_section_categories(const pl_section_source *source, pl_sheet *sheet,
                                      popliner_error *error) {
    const popliner_profile *p = source->profile;
    uint64_t *by_tile = pl_arrays_new(source->arrays, p->target.num_tiles, sizeof *by_tile);
    if (by_tile == NULL)
        return pl_fail_memory(error, "the categories");
    add_category(p, 0, NULL, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < p->num_categories; i++) {
        memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
        pl_series_add(p, p->category_variables[i], 1, by_tile);
        add_category(p, i, by_tile, sheet);
    }
    return POPLINER_OK;
}

/* ---- checks ---- */

static void add_check(const popliner_profile *p, size_t relation, pl_sheet *sheet) {
    const pl_check check = pl_profile_check_of(p, relation);
    PL_COLUMN(sheet, text, "relation", pl_relations[relation].name);
    PL_COLUMN(sheet, number, "checked", check.checked);
    PL_COLUMN(sheet, number, "breached", check.breached);
    PL_COLUMN(sheet, number, "largest_difference", check.largest_bytes);
    PL_COLUMN(sheet, words, "where", pl_profile_string(p, (pl_string)check.where));
    PL_COLUMN(sheet, text, "untrusted", pl_relations[relation].untrusted);
}

popliner_status pl_section_checks(const pl_section_source *source, pl_sheet *sheet,
                                  popliner_error *error) {
    (void)error;
    add_check(source->profile, 0, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++)
        add_check(source->profile, i, sheet);
    return POPLINER_OK;
}

/* ---- diagnosis ---- */

static void add_explained(pl_sheet *sheet, const char *group, const char *name, uint64_t value,
                          uint64_t explained) {
    begin_row(sheet, group, name);
    pl_sheet_number(sheet, value);
    pl_sheet_number(sheet, explained);
}

popliner_status pl_section_diagnosis(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    static const char *const columns[] = {"group", "name", "value", "explained", "tiles_exceeded"};
    const pl_diagnosis *d = source->diagnosis;
    const bool has_steps = d->told.last_step >= d->told.first_step;
    (void)error;
    pl_sheet_set_columns(sheet, columns, sizeof columns / sizeof *columns);
    add_text(sheet, "model", "memory_model", pl_memory_model_name(d->told.model));
    add_number(sheet, "model", "tile", d->told.model_tile);
    add_number(sheet, "model", "step", d->told.model_step);
    add_number(sheet, "model", "bytes", d->told.model_bytes);
    add_number(sheet, "model", "first_step", has_steps ? d->told.first_step : SIZE_MAX);
    add_number(sheet, "model", "last_step", has_steps ? d->told.last_step : SIZE_MAX);
    add_number(sheet, "model", "tiles_off", d->told.tiles_off);
    add_number(sheet, "bottleneck", "tile", d->told.tile);
    add_number(sheet, "bottleneck", "step", d->told.step);
    add_text(sheet, "bottleneck", "program", d->told.program_name);
    add_explained(sheet, "bottleneck", "bytes", d->told.truth_bytes, d->told.explained_bytes);
    end_row(sheet);
    for (size_t i = 0; i < d->num_categories; i++) {
        const pl_diagnosis_category *category = &d->categories[i];
        add_explained(sheet, "category", category->name, category->truth_bytes,
                      category->explained_bytes);
        pl_sheet_number(sheet, category->tiles_exceeded);
    }
    for (size_t i = 0; i < d->num_program_types; i++) {
        add_explained(sheet, "programs", d->programs[i].type, d->programs[i].num_all,
                      d->programs[i].num_seen);
        end_row(sheet);
    }
    for (size_t i = 0; i < d->num_coverage; i++)
        add_number(sheet, "layers", *d->coverage[i].note == '\0' ? "name" : d->coverage[i].note,
                   d->coverage[i].num_operations);
    if (*d->told.suggested_regex != '\0') {
        add_text(sheet, "suggestion", "regex", d->told.suggested_regex);
        add_text(sheet, "suggestion", "example", d->told.suggestion_example);
        add_number(sheet, "suggestion", "layers", d->told.suggested_layers);
    }
    return POPLINER_OK;
}

/* ---- missing memory ---- */

static pl_text reasons_text(const pl_missing_variable *v) {
    pl_text text = {0};
    for (size_t i = 0; i < v->num_reasons; i++)
        pl_text_format(&text, "%s%s", i == 0 ? "" : "; ", pl_missing_reason_text(v->reasons[i]));
    return text;
}

/* Lists the first few programs. */
static pl_text programs_text(const pl_missing_variable *v) {
    pl_text text = {0};
    for (size_t i = 0; i < v->num_programs && i < 3; i++)
        pl_text_format(&text, "%s%" PRIu32, i == 0 ? "" : " ", v->programs[i]);
    return text;
}

static void add_item(const char *place, size_t item, const pl_missing_variable *v,
                     pl_sheet *sheet) {
    PL_COLUMN(sheet, text, "place", place);
    PL_COLUMN(sheet, number, "item", item);
    PL_COLUMN(sheet, text, "category", v->category);
    PL_COLUMN(sheet, words, "name", v->name);
    PL_COLUMN(sheet, number, "size_bytes", v->size_bytes);
    PL_COLUMN(sheet, number, "compiler_bytes", v->compiler_bytes);
    PL_COLUMN(sheet, made, "reasons", reasons_text(v));
    PL_COLUMN(sheet, number, "num_programs", v->num_programs);
    PL_COLUMN(sheet, made, "programs", programs_text(v));
    PL_COLUMN(sheet, id, "debug_context", v->debug_context);
}

static void add_missing(const char *place, const pl_missing_variables *list, pl_sheet *sheet) {
    for (size_t i = 0; i < list->count; i++)
        add_item(place, i, &list->items[i], sheet);
}

popliner_status pl_section_missing(const pl_section_source *source, pl_sheet *sheet,
                                   popliner_error *error) {
    (void)error;
    add_item(NULL, 0, NULL, sheet);
    pl_sheet_end_names(sheet);
    add_missing("bottleneck", &source->diagnosis->missing_here, sheet);
    add_missing("all", &source->diagnosis->missing_everywhere, sheet);
    return POPLINER_OK;
}
