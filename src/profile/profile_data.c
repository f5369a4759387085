/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

size_t pl_profile_variable_fields(popliner_profile *p, pl_field *fields) {
    const pl_field all[] = {
        {"list_start", &p->list_start, sizeof *p->list_start, &p->num_lists, 1},
        {"list_variable", &p->list_variable, sizeof *p->list_variable, &p->num_list_variables, 0},
        {"program_lists_start", &p->program_lists_start, sizeof *p->program_lists_start,
         &p->num_programs, 1},
        {"program_list", &p->program_list, sizeof *p->program_list, &p->num_program_lists, 0},
        {"fed_list", &p->fed_list, sizeof *p->fed_list, &p->num_fed_lists, 0},
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
        {"facts", &p->facts, sizeof *p->facts, &p->num_facts, 0},
        {"option_name", &p->option_name, sizeof *p->option_name, &p->num_options, 0},
        {"option_value", &p->option_value, sizeof *p->option_value, &p->num_options, 0},
        {"option_is_default", &p->option_is_default, 1, &p->num_options, 0},
        {"note_group", &p->note_group, 1, &p->num_notes, 0},
        {"note_kind", &p->note_kind, 1, &p->num_notes, 0},
        {"note_name", &p->note_name, sizeof *p->note_name, &p->num_notes, 0},
        {"note_value", &p->note_value, sizeof *p->note_value, &p->num_notes, 0},
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
        {"compute_set_num_edges", &p->compute_set_num_edges, sizeof *p->compute_set_num_edges,
         &p->num_compute_sets, 0},
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
        {"program_children_start", &p->program_children_start, sizeof *p->program_children_start,
         &p->num_programs, 1},
        {"program_child", &p->program_child, sizeof *p->program_child, &p->num_program_children, 0},
        {"program_called", &p->program_called, sizeof *p->program_called, &p->num_programs, 0},
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
        {"unlowered_size_bytes", &p->unlowered_size_bytes, sizeof *p->unlowered_size_bytes,
         &p->num_unlowered, 0},
        {"unlowered_num_pieces", &p->unlowered_num_pieces, sizeof *p->unlowered_num_pieces,
         &p->num_unlowered, 0},
        {"category_name", &p->category_name, sizeof *p->category_name, &p->num_categories, 0},
        {"category", &p->category, sizeof *p->category, &p->num_categories, 0},
        {"category_memory", &p->category_memory, sizeof *p->category_memory, &p->num_category_parts,
         0},
        {"tile_total_bytes", &p->tile_total_bytes, sizeof *p->tile_total_bytes,
         &p->target.num_tiles, 0},
        {"tile_total_including_gaps_bytes", &p->tile_total_including_gaps_bytes,
         sizeof *p->tile_total_including_gaps_bytes, &p->target.num_tiles, 0},
        {"tile_always_live_bytes", &p->tile_always_live_bytes, sizeof *p->tile_always_live_bytes,
         &p->target.num_tiles, 0},
        {"tile_not_always_live_peak_bytes", &p->tile_not_always_live_peak_bytes,
         sizeof *p->tile_not_always_live_peak_bytes, &p->target.num_tiles, 0},
        {"tile_interleaved_bytes", &p->tile_interleaved_bytes, sizeof *p->tile_interleaved_bytes,
         &p->target.num_tiles, 0},
        {"tile_non_interleaved_bytes", &p->tile_non_interleaved_bytes,
         sizeof *p->tile_non_interleaved_bytes, &p->target.num_tiles, 0},
        {"tile_overflowed_bytes", &p->tile_overflowed_bytes, sizeof *p->tile_overflowed_bytes,
         &p->target.num_tiles, 0},
        {"absence", &p->absence, sizeof *p->absence, &p->num_absences, 0},
        {"checks", &p->checks, sizeof *p->checks, &p->num_checks, 0},
        {"run_name", &p->run_name, sizeof *p->run_name, &p->num_runs, 0},
        {"run_start_microseconds", &p->run_start_microseconds, sizeof *p->run_start_microseconds,
         &p->num_runs, 0},
        {"run_elapsed_microseconds", &p->run_elapsed_microseconds,
         sizeof *p->run_elapsed_microseconds, &p->num_runs, 0},
        {"run_num_programs", &p->run_num_programs, sizeof *p->run_num_programs, &p->num_runs, 0},
        {"run_first_step", &p->run_first_step, sizeof *p->run_first_step, &p->num_runs, 1},
        {"execution_program", &p->execution_program, sizeof *p->execution_program,
         &p->num_execution_steps, 0},
        {"execution_type_name", &p->execution_type_name, sizeof *p->execution_type_name,
         &p->num_execution_steps, 0},
        {"execution_ipus_start", &p->execution_ipus_start, sizeof *p->execution_ipus_start,
         &p->num_execution_steps, 1},
        {"execution_ipu", &p->execution_ipu, sizeof *p->execution_ipu, &p->num_execution_ipus, 0},
        {"execution_cycles", &p->execution_cycles, sizeof *p->execution_cycles,
         &p->num_execution_ipus, 0},
        {"execution_first_cycle", &p->execution_first_cycle, sizeof *p->execution_first_cycle,
         &p->num_execution_ipus, 0},
        {"execution_active_from", &p->execution_active_from, sizeof *p->execution_active_from,
         &p->num_execution_ipus, 0},
        {"execution_active_to", &p->execution_active_to, sizeof *p->execution_active_to,
         &p->num_execution_ipus, 0},
        {"execution_active_tiles", &p->execution_active_tiles, sizeof *p->execution_active_tiles,
         &p->num_execution_ipus, 0},
        {"execution_tile_balance", &p->execution_tile_balance, sizeof *p->execution_tile_balance,
         &p->num_execution_ipus, 0},
    };
    _Static_assert(sizeof all / sizeof *all + 10 <= PL_MAX_FIELDS, "PL_MAX_FIELDS is too small");
    memcpy(fields, all, sizeof all);
    size_t count = sizeof all / sizeof *all;
    return count + pl_profile_variable_fields(p, fields + count);
}

bool pl_profile_leave_variables_out(popliner_profile *p) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_variable_fields(p, fields);
    pl_fields_free(fields, num_fields);
    p->lacks_variables = true;
    p->num_lists = p->num_list_variables = 0;
    p->num_program_lists = p->num_fed_lists = p->num_variables = 0;
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
    pl_field fields[PL_MAX_FIELDS];
    pl_fields_free(fields, pl_profile_fields(profile, fields));
    free(profile->tile_peak);
    free(profile);
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

const char *pl_profile_program_name(const popliner_profile *profile, size_t program) {
    const char *name = pl_profile_string(profile, profile->program_name[program]);
    uint32_t set = profile->program_compute_set[program];
    if (*name == '\0' && set != PL_NONE)
        name = pl_profile_string(profile, profile->compute_set_name[set]);
    return name;
}

popliner_cycles_source pl_profile_cycles_source(const popliner_profile *p) {
    popliner_cycles_source source = POPLINER_CYCLES_NONE;
    for (size_t i = 0; i < p->num_timed_programs; i++) {
        popliner_cycles_source of_program = (popliner_cycles_source)p->program_cycles_source[i];
        if (of_program == POPLINER_CYCLES_ESTIMATED &&
            p->program_type[i] != POPLINER_PROGRAM_ON_TILE_EXECUTE)
            of_program = POPLINER_CYCLES_EXCHANGES;
        source = of_program > source ? of_program : source;
    }
    return source;
}

uint64_t pl_profile_layout_gap_bytes(const popliner_profile *profile) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < profile->target.num_tiles; tile++) {
        uint64_t live =
            profile->tile_always_live_bytes[tile] + profile->tile_not_always_live_peak_bytes[tile];
        uint64_t end = profile->tile_total_including_gaps_bytes[tile];
        uint64_t gap = end > live ? end - live : 0;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

pl_string pl_profile_add_string(popliner_profile *profile, const char *text) {
    if (profile->strings_length > 0 && *text == '\0')
        return 0; /* the first string is "" */
    size_t length = strlen(text) + 1;
    if (length > UINT32_MAX || profile->strings_length >= PL_NONE - length ||
        !pl_grow(&profile->strings, &profile->strings_capacity, profile->strings_length + length,
                 1))
        return PL_NONE;
    memcpy(profile->strings + profile->strings_length, text, length);
    pl_string string = (pl_string)profile->strings_length;
    profile->strings_length += length;
    return string;
}

bool pl_profile_add_series(popliner_profile *profile, const uint8_t *rle, size_t size_bytes,
                           pl_series *series) {
    if (!pl_grow(&profile->series_bytes, &profile->series_capacity,
                 profile->series_length + size_bytes, 1))
        return false;
    if (size_bytes > 0)
        memcpy(profile->series_bytes + profile->series_length, rle, size_bytes);
    *series = (pl_series){profile->series_length, size_bytes};
    profile->series_length += size_bytes;
    return true;
}

void pl_series_add(const popliner_profile *profile, pl_series series, uint64_t factor,
                   uint64_t *by_tile) {
    pl_runs runs = pl_series_runs(profile, series);
    size_t tile = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0) {
        uint64_t amount = value * factor;
        for (size_t end = tile + length; tile < end; tile++)
            by_tile[tile] += amount;
    }
}

uint64_t pl_series_sum(const popliner_profile *profile, pl_series series) {
    pl_runs runs = pl_series_runs(profile, series);
    uint64_t sum = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0)
        sum += value * length;
    return sum;
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

bool pl_profile_vertices_fit(const popliner_profile *profile, pl_series instances,
                             uint64_t size_bytes) {
    pl_runs runs = pl_series_runs(profile, instances);
    uint64_t count;
    uint64_t length;
    while (pl_runs_next(&runs, &count, &length) > 0) {
        if (count > 0 && size_bytes > PL_MAX_TILE_BYTES / count)
            return false;
    }
    return true;
}

/* Every series lies in the bytes and holds one number per tile, up to `max`. */
static bool series_hold_tiles(const popliner_profile *profile, const pl_series *series,
                              size_t count, uint64_t max) {
    for (size_t i = 0; i < count; i++) {
        if (series[i].size_bytes == 0 && series[i].offset == 0)
            continue;
        if (series[i].offset > profile->series_length ||
            series[i].size_bytes > profile->series_length - series[i].offset)
            return false;
        pl_runs runs = pl_series_runs(profile, series[i]);
        uint64_t tiles = 0;
        uint64_t value;
        uint64_t length;
        int more;
        while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
            if (length > profile->target.num_tiles - tiles || value > max)
                return false;
            tiles += length;
        }
        if (more < 0 || tiles != profile->target.num_tiles)
            return false;
    }
    return true;
}

static bool facts_in_range(const popliner_profile *p) {
    return p->num_facts == 0 ||
           (p->num_facts == PL_NUM_FACTS && p->facts[PL_FACT_POPLAR_TEXT] < p->strings_length &&
            p->facts[PL_FACT_POPLAR_HASH] < p->strings_length &&
            p->facts[PL_FACT_TARGET_TYPE] < p->strings_length);
}

static bool notes_in_range(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_notes; i++) {
        if (p->note_group[i] >= PL_NUM_NOTE_GROUPS || p->note_kind[i] >= PL_NUM_NOTE_KINDS)
            return false;
    }
    return strings_in_range(p->note_name, p->num_notes, p->strings_length) &&
           strings_in_range(p->note_value, p->num_notes, p->strings_length);
}

static bool checks_in_range(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_checks; i++) {
        if (p->checks[i].where >= p->strings_length || p->checks[i].breached > p->checks[i].checked)
            return false;
    }
    return p->num_checks == 0 || p->num_checks == PL_NUM_RELATIONS;
}

/* A compute set is executed by programs of the one type that does. Copies from and to the host do
 * not count where another program touches the same: the state of a compute set has no such rule. */
static bool program_types_fit(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_programs; i++) {
        if (p->program_type[i] >= PL_NUM_PROGRAM_TYPES ||
            (p->program_compute_set[i] != PL_NONE &&
             p->program_type[i] != POPLINER_PROGRAM_ON_TILE_EXECUTE))
            return false;
    }
    return true;
}

static bool program_tree_in_range(const popliner_profile *p) {
    return starts_ascend_32(p->program_children_start, p->num_programs, p->num_program_children) &&
           indices_in_range(p->program_child, p->num_program_children, p->num_programs, false) &&
           indices_in_range(p->program_called, p->num_programs, p->num_programs, true);
}

static bool cycles_have_sources(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_timed_programs; i++) {
        if (p->program_cycles_source[i] > POPLINER_CYCLES_MEASURED)
            return false;
    }
    return true;
}

static bool execution_in_range(const popliner_profile *p) {
    uint64_t num_run_steps = p->run_first_step[p->num_runs]; /* the last steps may be of no run */
    for (size_t i = 0; i < p->num_execution_ipus; i++) {
        if (!pl_is_balance(p->execution_tile_balance[i]))
            return false;
    }
    return num_run_steps <= p->num_execution_steps &&
           starts_ascend_64(p->run_first_step, p->num_runs, (size_t)num_run_steps) &&
           indices_in_range(p->execution_program, p->num_execution_steps, p->num_programs, true) &&
           starts_ascend_64(p->execution_ipus_start, p->num_execution_steps, p->num_execution_ipus);
}

/* The vertices of each compute set fit on their tiles. */
static bool all_vertices_fit(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_compute_set_vertices; i++) {
        if (!pl_profile_vertices_fit(p, p->compute_set_vertex_instances[i],
                                     p->vertex_type_size_bytes[p->compute_set_vertex_type[i]]))
            return false;
    }
    return true;
}

/* The live ranges of each class lie in the steps, hold some and follow each other with a gap: where
 * two overlapped, variables would count twice, and where two touched, nothing would cross the step
 * between them. */
static bool ranges_follow(const popliner_profile *p) {
    for (size_t c = 0; c < p->num_classes; c++) {
        uint64_t least_step = 0;
        for (uint32_t i = p->class_ranges_start[c]; i < p->class_ranges_start[c + 1]; i++) {
            if (p->range_first_step[i] < least_step ||
                p->range_first_step[i] >= p->range_end_step[i] ||
                p->range_end_step[i] > p->num_steps)
                return false;
            least_step = (uint64_t)p->range_end_step[i] + 1;
        }
    }
    return true;
}

/* The account by tile holds what tiles can have. */
static bool tiles_hold_bytes(const popliner_profile *p) {
    const uint64_t *const accounts[] = {
        p->tile_total_bytes,       p->tile_total_including_gaps_bytes,
        p->tile_always_live_bytes, p->tile_not_always_live_peak_bytes,
        p->tile_interleaved_bytes, p->tile_non_interleaved_bytes,
        p->tile_overflowed_bytes,
    };
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++) {
        for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
            if (accounts[i][tile] > PL_MAX_TILE_BYTES)
                return false;
        }
    }
    return true;
}

popliner_status pl_profile_check(const popliner_profile *p, const char *path,
                                 popliner_error *error) {
    const uint64_t most = PL_MAX_TILE_BYTES;
    const char *wrong = NULL;
    size_t strings = p->strings_length;
    if (strings == 0 || p->strings[0] != '\0' || p->strings[strings - 1] != '\0' ||
        !strings_in_range(p->vertex_type_name, p->num_vertex_types, strings) ||
        !strings_in_range(p->compute_set_name, p->num_compute_sets, strings) ||
        !strings_in_range(p->program_name, p->num_programs, strings) ||
        !strings_in_range(p->program_type_name, p->num_programs, strings) ||
        !strings_in_range(p->unlowered_name, p->num_unlowered, strings) ||
        !strings_in_range(p->category_name, p->num_categories, strings) ||
        !strings_in_range(p->option_name, p->num_options, strings) ||
        !strings_in_range(p->option_value, p->num_options, strings) ||
        !strings_in_range(p->absence, p->num_absences, strings) ||
        !strings_in_range(p->run_name, p->num_runs, strings) ||
        !strings_in_range(p->execution_type_name, p->num_execution_steps, strings))
        wrong = "names";
    else if (p->num_categories > PL_MAX_CATEGORIES)
        wrong = "categories";
    else if (!facts_in_range(p))
        wrong = "versions and numbers";
    else if (!notes_in_range(p))
        wrong = "notes";
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
             !indices_in_range(p->fed_list, p->num_fed_lists, p->num_lists, false) ||
             !indices_in_range(p->program_compute_set, p->num_programs, p->num_compute_sets,
                               true) ||
             !program_types_fit(p) || !program_tree_in_range(p))
        wrong = "programs";
    else if ((p->num_timed_programs != 0 && p->num_timed_programs != p->num_programs) ||
             !cycles_have_sources(p))
        wrong = "cycles of the programs";
    else if (!execution_in_range(p))
        wrong = "runs and executed steps";
    else if (!indices_in_range(p->step_program, p->num_steps, p->num_programs, false))
        wrong = "liveness steps";
    else if (!starts_ascend_32(p->class_ranges_start, p->num_classes, p->num_ranges))
        wrong = "equivalence classes";
    else if (!indices_in_range(p->variable_class, p->num_variables, p->num_classes, false) ||
             !indices_in_range(p->variable_unlowered, p->num_variables, p->num_unlowered, true) ||
             !starts_ascend_64(p->tile_variables_start, p->target.num_tiles, p->num_variables))
        wrong = "lowered variables";
    else if (p->num_category_parts != 0 &&
             p->num_category_parts != p->num_categories * PL_NUM_CATEGORY_PARTS)
        wrong = "memory by category";
    else if (!series_hold_tiles(p, p->category_memory, p->num_category_parts, most) ||
             !series_hold_tiles(p, p->vertex_type_code, p->num_vertex_types, most) ||
             !series_hold_tiles(p, p->compute_set_vertex_instances, p->num_compute_set_vertices,
                                most) ||
             !series_hold_tiles(p, p->compute_set_state, p->num_compute_set_states,
                                PL_MAX_STATE_BYTES) ||
             !series_hold_tiles(p, p->compute_set_descriptors, p->num_compute_set_states, most) ||
             !series_hold_tiles(p, p->program_control_code, p->num_programs, most) ||
             !series_hold_tiles(p, p->program_exchange_code, p->num_programs, most) ||
             !tiles_hold_bytes(p) || !all_vertices_fit(p))
        wrong = "numbers by tile";
    else if (!checks_in_range(p))
        wrong = "checks";
    for (size_t i = 0; wrong == NULL && i < p->num_steps; i++) {
        if (p->step_parent[i] != PL_NONE && p->step_parent[i] >= i)
            wrong = "parents of the liveness steps";
    }
    if (wrong == NULL && !ranges_follow(p))
        wrong = "live ranges";
    for (size_t i = 0; wrong == NULL && i < p->num_categories; i++) {
        if (p->category[i] >= PL_NUM_CATEGORIES)
            wrong = "categories";
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
