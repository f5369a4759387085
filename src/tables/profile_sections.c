/* Sections of what a profile tells as a whole: summary, tiles, categories, checks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/diagnosis.h"
#include "memory/memory_model.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"
#include "tables/reports.h"
#include "tables/sections.h"

/* ---- summary ---- */

static void add_text(pl_sheet *sheet, const char *group, const char *name, const char *value) {
    pl_sheet_text(sheet, group);
    pl_sheet_text(sheet, name);
    pl_sheet_text(sheet, *value == '\0' ? NULL : value);
    pl_sheet_none(sheet);
}

static void add_number(pl_sheet *sheet, const char *group, const char *name, uint64_t value) {
    pl_sheet_text(sheet, group);
    pl_sheet_text(sheet, name);
    pl_sheet_number(sheet, value);
    pl_sheet_none(sheet);
}

static void add_version(pl_sheet *sheet, const char *name, unsigned major, unsigned minor,
                        unsigned point) {
    pl_text version = {0};
    pl_text_format(&version, "%u.%u.%u", major, minor, point);
    add_text(sheet, "version", name, version.failed ? "" : version.data);
    sheet->text.failed = sheet->text.failed || version.failed;
    free(version.data);
}

static const char *source_name(popliner_cycles_source source) {
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

static void add_counts(const popliner_profile_info *info, pl_sheet *sheet) {
    add_number(sheet, "count", "programs", info->num_programs);
    add_number(sheet, "count", "liveness_steps", info->num_steps);
    add_number(sheet, "count", "compute_sets", info->num_compute_sets);
    add_number(sheet, "count", "vertices", info->num_vertices);
    add_number(sheet, "count", "edges", info->num_edges);
    add_number(sheet, "count", "vertex_types", info->num_vertex_types);
    add_number(sheet, "count", "lowered_variables", info->num_variables);
    add_number(sheet, "count", "unlowered_variables", info->num_unlowered_variables);
    add_number(sheet, "count", "equivalence_classes", info->num_equivalence_classes);
    add_number(sheet, "count", "categories", info->num_categories);
    add_number(sheet, "count", "runs", info->num_runs);
    add_number(sheet, "count", "execution_steps", info->num_execution_steps);
}

/* Sums and peaks of the compiler's account of the tiles. */
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
    add_text(sheet, "cycles", "source", source_name(info->cycles_source));
}

static void add_notes(const popliner_profile *profile, pl_sheet *sheet) {
    for (size_t i = 0; i < profile->num_notes; i++) {
        const char *value = pl_profile_string(profile, profile->note_value[i]);
        pl_sheet_text(sheet, pl_note_groups[profile->note_group[i]]);
        pl_sheet_text(sheet, pl_profile_string(profile, profile->note_name[i]));
        if (profile->note_kind[i] == PL_NOTE_NUMBER)
            pl_sheet_signed(sheet, strtoll(value, NULL, 10));
        else
            pl_sheet_text(sheet, profile->note_kind[i] == PL_NOTE_NONE ? NULL : value);
        pl_sheet_none(sheet);
    }
}

popliner_status pl_section_summary(const pl_section_source *source, pl_sheet *sheet,
                                   popliner_error *error) {
    static const char *const columns[] = {"group", "name", "value", "is_default"};
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_status status = popliner_profile_get_info(source->profile, &info, error);
    pl_sheet_begin(sheet, sheet->format, "summary", columns, sizeof columns / sizeof *columns);
    if (status != POPLINER_OK)
        return status;
    add_text(sheet, "version", "poplar", info.poplar_version);
    add_text(sheet, "version", "poplar_package_hash", info.poplar_package_hash);
    add_version(sheet, "profile_format", info.format_major_number, info.format_minor_number,
                info.format_point_number);
    add_device(&info, sheet);
    add_counts(&info, sheet);
    add_memory(source->profile, &info, sheet);
    for (size_t i = 0; i < info.num_engine_options; i++) {
        popliner_engine_option option = POPLINER_ENGINE_OPTION_INIT;
        popliner_profile_engine_option(source->profile, i, &option, NULL);
        pl_sheet_text(sheet, "engine_option");
        pl_sheet_text(sheet, option.name);
        pl_sheet_text(sheet, option.value);
        pl_sheet_flag(sheet, option.is_default);
    }
    add_notes(source->profile, sheet);
    return POPLINER_OK;
}

/* ---- tiles and categories ---- */

/* The columns of the tiles, those of the categories by names of their own that no other column can
 * have. NULL without memory; free with free_columns. */
static void free_columns(char **columns, size_t count) {
    for (size_t i = 0; columns != NULL && i < count; i++)
        free(columns[i]);
    free(columns);
}

static char **make_columns(const pl_tiles_table *table, size_t *count) {
    static const char *const fixed[] = {
        "tile",
        "ipu",
        "live_bytes",
        "always_live_bytes",
        "not_always_live_peak_bytes",
        "total_bytes",
        "total_including_gaps_bytes",
    };
    enum { NUM_FIXED = sizeof fixed / sizeof *fixed };
    *count = NUM_FIXED + table->num_columns - PL_NUM_TILES_MEASURES;
    char **columns = pl_new_array(*count, sizeof *columns);
    bool done = columns != NULL;
    for (size_t i = 0; done && i < *count; i++) {
        pl_text name = {0};
        if (i < NUM_FIXED)
            pl_text_add(&name, fixed[i]);
        else
            pl_text_format(&name, "category_%s_bytes",
                           table->names[PL_NUM_TILES_MEASURES + i - NUM_FIXED]);
        columns[i] = name.data;
        done = !name.failed;
    }
    if (done)
        return columns;
    free_columns(columns, *count);
    return NULL;
}

popliner_status pl_section_tiles(const pl_section_source *source, pl_sheet *sheet,
                                 popliner_error *error) {
    static const size_t measures[] = {PL_TILES_LIVE, PL_TILES_ALWAYS_LIVE, PL_TILES_NOT_ALWAYS_LIVE,
                                      PL_TILES_TOTAL, PL_TILES_WITH_GAPS};
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    pl_tiles_table table = {0};
    char **columns = NULL;
    size_t num_columns = 0;
    popliner_status status = popliner_profile_get_info(source->profile, &info, error);
    if (status == POPLINER_OK)
        status = pl_tiles_table_fill(&table, source->profile, error);
    if (status == POPLINER_OK) {
        columns = make_columns(&table, &num_columns);
        status = columns == NULL ? pl_fail_memory(error, "the tiles") : POPLINER_OK;
    }
    if (status != POPLINER_OK)
        goto done;
    size_t first_ipu = info.ipu == SIZE_MAX ? 0 : info.ipu;
    pl_sheet_begin(sheet, sheet->format, "tiles", (const char *const *)columns, num_columns);
    for (size_t tile = 0; tile < table.num_tiles; tile++) {
        const uint64_t *row = table.bytes + tile * table.num_columns;
        pl_sheet_number(sheet, tile);
        pl_sheet_number(sheet,
                        first_ipu + (info.tiles_per_ipu == 0 ? 0 : tile / info.tiles_per_ipu));
        for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
            pl_sheet_number(sheet, row[measures[i]]);
        for (size_t i = PL_NUM_TILES_MEASURES; i < table.num_columns; i++)
            pl_sheet_number(sheet, row[i]);
    }
done:
    free_columns(columns, num_columns);
    pl_tiles_table_clear(&table);
    return status;
}

/* The bytes of variables by tile and category, and the tile with most of each. */
typedef struct largest_tile {
    size_t tile;
    uint64_t bytes;
    uint64_t all_bytes;
    uint64_t always_live_bytes;
} largest_tile;

static popliner_status find_largest(const popliner_profile *p, largest_tile *largest,
                                    popliner_error *error) {
    uint64_t *bytes = pl_new_array(p->num_categories, sizeof *bytes);
    if (bytes == NULL)
        return pl_fail_memory(error, "the categories");
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        for (size_t i = 0; i < p->num_categories; i++)
            bytes[i] = 0;
        for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1];
             v++) {
            const uint8_t category = p->variable_category[v];
            bytes[category] += p->variable_size_bytes[v];
            if (p->class_always_live[p->variable_class[v]] != 0)
                largest[category].always_live_bytes += p->variable_size_bytes[v];
        }
        for (size_t i = 0; i < p->num_categories; i++) {
            largest[i].all_bytes += bytes[i];
            if (bytes[i] > largest[i].bytes) {
                largest[i].tile = tile;
                largest[i].bytes = bytes[i];
            }
        }
    }
    free(bytes);
    return POPLINER_OK;
}

popliner_status pl_section_categories(const pl_section_source *source, pl_sheet *sheet,
                                      popliner_error *error) {
    static const char *const columns[] = {
        "category",         "variables_bytes",    "always_live_bytes",
        "largest_tile",     "largest_tile_bytes", "counted_bytes",
        "overlapped_bytes", "interleaved_bytes",  "overflowed_bytes",
    };
    const popliner_profile *p = source->profile;
    largest_tile *largest = NULL;
    pl_sheet_begin(sheet, sheet->format, "categories", columns, sizeof columns / sizeof *columns);
    popliner_status status = pl_profile_require_variables(p, error);
    if (status != POPLINER_OK)
        return status;
    largest = pl_new_array(p->num_categories, sizeof *largest);
    status =
        largest == NULL ? pl_fail_memory(error, "the categories") : find_largest(p, largest, error);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_categories; i++) {
        popliner_category category = POPLINER_CATEGORY_INIT;
        popliner_profile_category(p, i, &category, NULL);
        pl_sheet_text(sheet, category.name);
        pl_sheet_number(sheet, largest[i].all_bytes);
        pl_sheet_number(sheet, largest[i].always_live_bytes);
        pl_sheet_index(sheet, largest[i].bytes > 0 ? largest[i].tile : SIZE_MAX);
        pl_sheet_number(sheet, largest[i].bytes);
        pl_sheet_number(sheet, category.total_bytes);
        pl_sheet_number(sheet, category.overlapped_bytes);
        pl_sheet_number(sheet, category.interleaved_bytes);
        pl_sheet_number(sheet, category.overflowed_bytes);
    }
    free(largest);
    return status;
}

/* ---- checks ---- */

popliner_status pl_section_checks(const pl_section_source *source, pl_sheet *sheet,
                                  popliner_error *error) {
    static const char *const columns[] = {"relation",           "checked", "breached",
                                          "largest_difference", "where",   "untrusted"};
    (void)error;
    pl_sheet_begin(sheet, sheet->format, "checks", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < source->num_checks; i++) {
        const popliner_check *check = &source->checks[i];
        pl_sheet_text(sheet, check->name);
        pl_sheet_number(sheet, check->checked);
        pl_sheet_number(sheet, check->breached);
        pl_sheet_number(sheet, check->largest_bytes);
        pl_sheet_text(sheet, *check->where == '\0' ? NULL : check->where);
        pl_sheet_text(sheet, check->untrusted);
    }
    return POPLINER_OK;
}

/* ---- a diagnosis ---- */

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

static void add_word(pl_sheet *sheet, const char *group, const char *name, const char *value) {
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
    add_word(sheet, "model", "memory_model", pl_memory_model_find(d->model)->name);
    add_index(sheet, "model", "tile", d->model_tile);
    add_index(sheet, "model", "step", d->model_step);
    add_index(sheet, "model", "bytes", d->model_bytes);
    add_index(sheet, "model", "first_step", has_steps ? d->first_step : SIZE_MAX);
    add_index(sheet, "model", "last_step", has_steps ? d->last_step : SIZE_MAX);
    add_index(sheet, "model", "tiles_off", d->tiles_off);
    add_index(sheet, "bottleneck", "tile", d->tile);
    add_index(sheet, "bottleneck", "step", d->step);
    add_word(sheet, "bottleneck", "program", d->program_name);
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
        add_word(sheet, "suggestion", "regex", d->suggestion.regex);
        add_word(sheet, "suggestion", "example", d->suggestion.example);
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
