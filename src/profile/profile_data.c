/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"

size_t pl_profile_variable_fields(popliner_profile *p, pl_field *fields) {
    const pl_field all[] = {
        {"list_start", &p->list_start, sizeof *p->list_start, &p->num_lists, 1},
        {"list_variable", &p->list_variable, sizeof *p->list_variable, &p->num_list_variables, 0},
        {"program_lists_start", &p->program_lists_start, sizeof *p->program_lists_start,
         &p->num_programs, 1},
        {"program_list", &p->program_list, sizeof *p->program_list, &p->num_program_lists, 0},
        {"variable_size_bytes", &p->variable_size_bytes, sizeof *p->variable_size_bytes,
         &p->num_variables, 0},
        {"variable_offset", &p->variable_offset, sizeof *p->variable_offset, &p->num_variables, 0},
        {"variable_class", &p->variable_class, sizeof *p->variable_class, &p->num_variables, 0},
        {"variable_unlowered", &p->variable_unlowered, sizeof *p->variable_unlowered,
         &p->num_variables, 0},
        {"variable_category", &p->variable_category, sizeof *p->variable_category,
         &p->num_variables, 0},
        {"tile_variables_start", &p->tile_variables_start, sizeof *p->tile_variables_start,
         &p->target.num_tiles, 1},
    };
    memcpy(fields, all, sizeof all);
    return sizeof all / sizeof *all;
}

size_t pl_profile_fields(popliner_profile *p, pl_field *fields) {
    const pl_field all[] = {
        {"strings", &p->strings, 1, &p->strings_length, 0},
        {"series_bytes", &p->series_bytes, 1, &p->series_length, 0},
        {"vertex_type_name", &p->vertex_type_name, sizeof *p->vertex_type_name,
         &p->num_vertex_types, 0},
        {"vertex_type_size_bytes", &p->vertex_type_size_bytes, sizeof *p->vertex_type_size_bytes,
         &p->num_vertex_types, 0},
        {"vertex_type_code", &p->vertex_type_code, sizeof *p->vertex_type_code,
         &p->num_vertex_types, 0},
        {"compute_set_name", &p->compute_set_name, sizeof *p->compute_set_name,
         &p->num_compute_sets, 0},
        {"compute_set_debug_context", &p->compute_set_debug_context,
         sizeof *p->compute_set_debug_context, &p->num_compute_sets, 0},
        {"compute_set_vertices_start", &p->compute_set_vertices_start,
         sizeof *p->compute_set_vertices_start, &p->num_compute_sets, 1},
        {"compute_set_vertex_type", &p->compute_set_vertex_type, sizeof *p->compute_set_vertex_type,
         &p->num_compute_set_vertices, 0},
        {"compute_set_vertex_instances", &p->compute_set_vertex_instances,
         sizeof *p->compute_set_vertex_instances, &p->num_compute_set_vertices, 0},
        {"compute_set_state", &p->compute_set_state, sizeof *p->compute_set_state,
         &p->num_compute_set_states, 0},
        {"compute_set_descriptors", &p->compute_set_descriptors, sizeof *p->compute_set_descriptors,
         &p->num_compute_set_states, 0},
        {"program_type", &p->program_type, sizeof *p->program_type, &p->num_programs, 0},
        {"program_type_name", &p->program_type_name, sizeof *p->program_type_name, &p->num_programs,
         0},
        {"program_has_children", &p->program_has_children, sizeof *p->program_has_children,
         &p->num_programs, 0},
        {"program_debug_context", &p->program_debug_context, sizeof *p->program_debug_context,
         &p->num_programs, 0},
        {"program_name", &p->program_name, sizeof *p->program_name, &p->num_programs, 0},
        {"program_compute_set", &p->program_compute_set, sizeof *p->program_compute_set,
         &p->num_programs, 0},
        {"program_control_code", &p->program_control_code, sizeof *p->program_control_code,
         &p->num_programs, 0},
        {"program_exchange_code", &p->program_exchange_code, sizeof *p->program_exchange_code,
         &p->num_programs, 0},
        {"program_cycles", &p->program_cycles, sizeof *p->program_cycles, &p->num_timed_programs,
         0},
        {"program_cycles_source", &p->program_cycles_source, sizeof *p->program_cycles_source,
         &p->num_timed_programs, 0},
        {"program_repeats", &p->program_repeats, sizeof *p->program_repeats, &p->num_timed_programs,
         0},
        {"step_program", &p->step_program, sizeof *p->step_program, &p->num_steps, 0},
        {"step_parent", &p->step_parent, sizeof *p->step_parent, &p->num_steps, 0},
        {"class_always_live", &p->class_always_live, sizeof *p->class_always_live, &p->num_classes,
         0},
        {"class_ranges_start", &p->class_ranges_start, sizeof *p->class_ranges_start,
         &p->num_classes, 1},
        {"range_first_step", &p->range_first_step, sizeof *p->range_first_step, &p->num_ranges, 0},
        {"range_end_step", &p->range_end_step, sizeof *p->range_end_step, &p->num_ranges, 0},
        {"unlowered_name", &p->unlowered_name, sizeof *p->unlowered_name, &p->num_unlowered, 0},
        {"unlowered_debug_context", &p->unlowered_debug_context, sizeof *p->unlowered_debug_context,
         &p->num_unlowered, 0},
        {"category_name", &p->category_name, sizeof *p->category_name, &p->num_categories, 0},
        {"tile_total_bytes", &p->tile_total_bytes, sizeof *p->tile_total_bytes,
         &p->target.num_tiles, 0},
        {"tile_total_including_gaps_bytes", &p->tile_total_including_gaps_bytes,
         sizeof *p->tile_total_including_gaps_bytes, &p->target.num_tiles, 0},
        {"tile_always_live_bytes", &p->tile_always_live_bytes, sizeof *p->tile_always_live_bytes,
         &p->target.num_tiles, 0},
        {"tile_not_always_live_peak_bytes", &p->tile_not_always_live_peak_bytes,
         sizeof *p->tile_not_always_live_peak_bytes, &p->target.num_tiles, 0},
    };
    _Static_assert(sizeof all / sizeof *all + 10 <= PL_MOST_FIELDS, "PL_MOST_FIELDS is too small");
    memcpy(fields, all, sizeof all);
    size_t count = sizeof all / sizeof *all;
    return count + pl_profile_variable_fields(p, fields + count);
}

bool pl_profile_leave_variables_out(popliner_profile *p) {
    pl_field fields[PL_MOST_FIELDS];
    size_t num_fields = pl_profile_variable_fields(p, fields);
    pl_fields_free(fields, num_fields);
    p->lacks_variables = true;
    p->num_lists = p->num_list_variables = p->num_program_lists = p->num_variables = 0;
    bool memory = true;
    for (size_t i = 0; i < num_fields; i++) {
        void *items = pl_new_array(*fields[i].count + fields[i].extra_items, fields[i].item_size);
        pl_field_set_items(&fields[i], items);
        memory = memory && items != NULL;
    }
    return memory;
}

popliner_status pl_profile_require_variables(const popliner_profile *profile,
                                             popliner_error *error) {
    if (!profile->lacks_variables)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "the lowered variables of the stored analysis are not loaded; call "
                   "popliner_analysis_load_rest first");
}

void pl_profile_free(popliner_profile *profile) {
    if (profile == NULL)
        return;
    pl_field fields[PL_MOST_FIELDS];
    pl_fields_free(fields, pl_profile_fields(profile, fields));
    free(profile);
}

const popliner_target *popliner_profile_target(const popliner_profile *profile) {
    return &profile->target;
}

popliner_profile_counts popliner_profile_get_counts(const popliner_profile *profile) {
    return (popliner_profile_counts){
        .num_programs = profile->num_programs,
        .num_steps = profile->num_steps,
        .num_compute_sets = profile->num_compute_sets,
        .num_vertex_types = profile->num_vertex_types,
        .num_variables = profile->num_variables,
        .num_equivalence_classes = profile->num_classes,
    };
}

popliner_cycles_source popliner_profile_cycles_source(const popliner_profile *profile) {
    popliner_cycles_source source = POPLINER_CYCLES_NONE;
    for (size_t i = 0; i < profile->num_timed_programs; i++) {
        popliner_cycles_source of_program =
            (popliner_cycles_source)profile->program_cycles_source[i];
        if (of_program == POPLINER_CYCLES_ESTIMATED &&
            profile->program_type[i] != PL_PROGRAM_ON_TILE_EXECUTE)
            of_program = POPLINER_CYCLES_EXCHANGES;
        source = of_program > source ? of_program : source;
    }
    return source;
}

size_t pl_profile_tile_of(const popliner_profile *profile, size_t variable) {
    size_t low = 0; /* the first tile that ends behind the variable is not before it */
    size_t high = profile->target.num_tiles - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->tile_variables_start[middle + 1] <= variable)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t popliner_profile_program_at(const popliner_profile *profile, size_t step) {
    return profile->step_program[step];
}

const char *popliner_program_name(const popliner_profile *profile, size_t program) {
    const char *name = pl_profile_string(profile, profile->program_name[program]);
    uint32_t set = profile->program_compute_set[program];
    if (*name == '\0' && set != PL_NONE)
        name = pl_profile_string(profile, profile->compute_set_name[set]);
    return name;
}

popliner_tile_memory popliner_profile_tile_memory(const popliner_profile *profile, size_t tile) {
    return (popliner_tile_memory){
        .total_bytes = profile->tile_total_bytes[tile],
        .total_including_gaps_bytes = profile->tile_total_including_gaps_bytes[tile],
        .always_live_bytes = profile->tile_always_live_bytes[tile],
        .not_always_live_peak_bytes = profile->tile_not_always_live_peak_bytes[tile],
    };
}

uint64_t popliner_profile_layout_gap_bytes(const popliner_profile *profile) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < profile->target.num_tiles; tile++) {
        popliner_tile_memory m = popliner_profile_tile_memory(profile, tile);
        uint64_t live = m.always_live_bytes + m.not_always_live_peak_bytes;
        uint64_t gap =
            m.total_including_gaps_bytes > live ? m.total_including_gaps_bytes - live : 0;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

pl_string pl_profile_add_string(popliner_profile *profile, const char *text) {
    if (profile->strings_length > 0 && *text == '\0')
        return 0; /* the first string is "" */
    size_t length = strlen(text) + 1;
    void *strings = profile->strings;
    if (length > UINT32_MAX || profile->strings_length >= PL_NONE - length ||
        !pl_reserve(&strings, &profile->strings_capacity, profile->strings_length + length, 1))
        return PL_NONE;
    profile->strings = strings;
    memcpy(profile->strings + profile->strings_length, text, length);
    pl_string string = (pl_string)profile->strings_length;
    profile->strings_length += length;
    return string;
}

bool pl_profile_add_series(popliner_profile *profile, const uint8_t *rle, size_t size_bytes,
                           pl_series *series) {
    void *bytes = profile->series_bytes;
    if (!pl_reserve(&bytes, &profile->series_capacity, profile->series_length + size_bytes, 1))
        return false;
    profile->series_bytes = bytes;
    if (size_bytes > 0)
        memcpy(profile->series_bytes + profile->series_length, rle, size_bytes);
    *series = (pl_series){profile->series_length, size_bytes};
    profile->series_length += size_bytes;
    return true;
}

popliner_status pl_profile_read_series(popliner_profile *profile, pl_rows *rows, int column,
                                       pl_series *series, popliner_error *error) {
    *series = (pl_series){0};
    if (pl_rows_is_null(rows, column))
        return POPLINER_OK;
    size_t size_bytes;
    const uint8_t *rle = pl_rows_blob(rows, column, &size_bytes);
    pl_runs runs = pl_runs_begin(rle, size_bytes);
    uint64_t tiles = 0;
    uint64_t value;
    uint64_t length;
    int more;
    bool all_zero = true;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
        if (length > profile->target.num_tiles - tiles)
            return pl_rows_fail(rows, column, error,
                                "holds more numbers than the target has tiles (%zu)",
                                profile->target.num_tiles);
        if (value > UINT32_MAX)
            return pl_rows_fail(rows, column, error, "holds %llu, more than a tile can have",
                                (unsigned long long)value);
        tiles += length;
        all_zero = all_zero && value == 0;
    }
    if (more < 0)
        return pl_rows_fail(rows, column, error, "is damaged: it ends inside a number or a run");
    if (tiles != profile->target.num_tiles)
        return pl_rows_fail(rows, column, error, "holds %llu numbers, the target has %zu tiles",
                            (unsigned long long)tiles, profile->target.num_tiles);
    if (all_zero)
        return POPLINER_OK;
    if (!pl_profile_add_series(profile, rle, size_bytes, series))
        return pl_fail_memory(error, "the numbers by tile");
    return POPLINER_OK;
}

void pl_series_add(const popliner_profile *profile, pl_series series, uint64_t factor,
                   uint64_t *by_tile) {
    pl_runs runs = pl_runs_begin(profile->series_bytes + series.offset, series.size_bytes);
    size_t tile = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0) {
        uint64_t amount = value * factor;
        for (size_t end = tile + length; tile < end; tile++)
            by_tile[tile] += amount;
    }
}

static bool strings_in_range(const pl_string *strings, size_t count, size_t length) {
    for (size_t i = 0; i < count; i++) {
        if (strings[i] >= length)
            return false;
    }
    return true;
}

static bool indices_in_range(const uint32_t *indices, size_t count, size_t limit,
                             bool may_be_none) {
    for (size_t i = 0; i < count; i++) {
        if (indices[i] >= limit && !(may_be_none && indices[i] == PL_NONE))
            return false;
    }
    return true;
}

static bool starts_ascend_32(const uint32_t *starts, size_t count, size_t total) {
    for (size_t i = 0; i < count; i++) {
        if (starts[i] > starts[i + 1])
            return false;
    }
    return starts[0] == 0 && starts[count] == total;
}

static bool starts_ascend_64(const uint64_t *starts, size_t count, size_t total) {
    for (size_t i = 0; i < count; i++) {
        if (starts[i] > starts[i + 1])
            return false;
    }
    return starts[0] == 0 && starts[count] == total;
}

/* Every series lies in the bytes and holds one number per tile. */
static bool series_hold_tiles(const popliner_profile *profile, const pl_series *series,
                              size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (series[i].size_bytes == 0 && series[i].offset == 0)
            continue;
        if (series[i].offset > profile->series_length ||
            series[i].size_bytes > profile->series_length - series[i].offset)
            return false;
        pl_runs runs =
            pl_runs_begin(profile->series_bytes + series[i].offset, series[i].size_bytes);
        uint64_t tiles = 0;
        uint64_t value;
        uint64_t length;
        int more;
        while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
            if (length > profile->target.num_tiles - tiles)
                return false;
            tiles += length;
        }
        if (more < 0 || tiles != profile->target.num_tiles)
            return false;
    }
    return true;
}

popliner_status pl_profile_check(const popliner_profile *p, const char *path,
                                 popliner_error *error) {
    const char *wrong = NULL;
    size_t strings = p->strings_length;
    if (strings == 0 || p->strings[0] != '\0' || p->strings[strings - 1] != '\0' ||
        !strings_in_range(p->vertex_type_name, p->num_vertex_types, strings) ||
        !strings_in_range(p->compute_set_name, p->num_compute_sets, strings) ||
        !strings_in_range(p->program_name, p->num_programs, strings) ||
        !strings_in_range(p->program_type_name, p->num_programs, strings) ||
        !strings_in_range(p->unlowered_name, p->num_unlowered, strings) ||
        !strings_in_range(p->category_name, p->num_categories, strings))
        wrong = "names";
    else if (!starts_ascend_32(p->compute_set_vertices_start, p->num_compute_sets,
                               p->num_compute_set_vertices) ||
             !indices_in_range(p->compute_set_vertex_type, p->num_compute_set_vertices,
                               p->num_vertex_types, false))
        wrong = "vertices of the compute sets";
    else if (p->num_compute_set_states != 0 && p->num_compute_set_states != p->num_compute_sets)
        wrong = "states of the compute sets";
    else if (!starts_ascend_64(p->list_start, p->num_lists, p->num_list_variables) ||
             !indices_in_range(p->list_variable, p->num_list_variables, p->num_variables, false))
        wrong = "variables of the programs";
    else if (!starts_ascend_32(p->program_lists_start, p->num_programs, p->num_program_lists) ||
             !indices_in_range(p->program_list, p->num_program_lists, p->num_lists, false) ||
             !indices_in_range(p->program_compute_set, p->num_programs, p->num_compute_sets, true))
        wrong = "programs";
    else if (p->num_timed_programs != 0 && p->num_timed_programs != p->num_programs)
        wrong = "cycles of the programs";
    else if (!indices_in_range(p->step_program, p->num_steps, p->num_programs, false))
        wrong = "liveness steps";
    else if (!starts_ascend_32(p->class_ranges_start, p->num_classes, p->num_ranges))
        wrong = "equivalence classes";
    else if (!indices_in_range(p->variable_class, p->num_variables, p->num_classes, false) ||
             !indices_in_range(p->variable_unlowered, p->num_variables, p->num_unlowered, true) ||
             !starts_ascend_64(p->tile_variables_start, p->target.num_tiles, p->num_variables))
        wrong = "lowered variables";
    else if (!series_hold_tiles(p, p->vertex_type_code, p->num_vertex_types) ||
             !series_hold_tiles(p, p->compute_set_vertex_instances, p->num_compute_set_vertices) ||
             !series_hold_tiles(p, p->compute_set_state, p->num_compute_set_states) ||
             !series_hold_tiles(p, p->compute_set_descriptors, p->num_compute_set_states) ||
             !series_hold_tiles(p, p->program_control_code, p->num_programs) ||
             !series_hold_tiles(p, p->program_exchange_code, p->num_programs))
        wrong = "numbers by tile";
    for (size_t i = 0; wrong == NULL && i < p->num_steps; i++) {
        if (p->step_parent[i] != PL_NONE && p->step_parent[i] >= i)
            wrong = "parents of the liveness steps";
    }
    for (size_t i = 0; wrong == NULL && i < p->num_ranges; i++) {
        if (p->range_first_step[i] > p->range_end_step[i] || p->range_end_step[i] > p->num_steps)
            wrong = "live ranges";
    }
    for (size_t i = 0; wrong == NULL && i < p->num_variables; i++) {
        if (p->variable_category[i] >= p->num_categories)
            wrong = "lowered variables";
    }
    if (wrong == NULL)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is damaged: its %s contradict each other",
                   path, wrong);
}
