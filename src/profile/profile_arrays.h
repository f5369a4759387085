/* The arrays of a profile: profile_data.h declares them, and profile_fields.c lists them, each with
 * its own COUNT and ARRAY. A stored analysis has them in this order.
 *
 *   COUNT(name)                       the length of some arrays
 *   ARRAY(type, name, length, valid)  an array, and which of its items are valid: ANY; below a
 *                                     LIMIT; a number below a count, which may be missing (INDEX,
 *                                     INDEX_OR_NONE, STRING); STARTS of consecutive items; bytes of
 *                                     a tile (BYTES); series with a number for each tile (BY_TILE)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

COUNT(strings_length)
ARRAY(char, strings, strings_length, ANY) /* NUL-terminated, one after another */

/* Data for the layout rule: docs/internals/layout.md. */
COUNT(num_elements)
ARRAY(uint64_t, element_offset, num_elements, ANY) /* of a tile's memory, ascending */

COUNT(series_length)
ARRAY(uint8_t, series_bytes, series_length, ANY)

COUNT(num_options)
ARRAY(pl_string, option_name, num_options, STRING)
ARRAY(pl_string, option_value, num_options, STRING)
ARRAY(uint8_t, option_is_default, num_options, ANY)

COUNT(num_vertex_types)
ARRAY(pl_string, vertex_type_name, num_vertex_types, STRING)
/* state of one instance, and bytes of its code by tile */
ARRAY(uint64_t, vertex_type_size_bytes, num_vertex_types, LIMIT(1ULL << 32, "sizes of vertices"))
ARRAY(pl_series, vertex_type_code, num_vertex_types, BY_TILE(PL_MAX_TILE_BYTES))

COUNT(num_compute_sets)
COUNT(num_compute_set_vertices)
ARRAY(pl_string, compute_set_name, num_compute_sets, STRING)
ARRAY(uint64_t, compute_set_debug_context, num_compute_sets, ANY)
ARRAY(uint64_t, compute_set_num_edges, num_compute_sets, ANY)
ARRAY(uint32_t, compute_set_vertices_start, num_compute_sets,
      STARTS(num_compute_set_vertices, "vertices of the compute sets"))
ARRAY(uint32_t, compute_set_vertex_type, num_compute_set_vertices,
      INDEX(num_vertex_types, "vertices of the compute sets"))
ARRAY(pl_series, compute_set_vertex_instances, num_compute_set_vertices, BY_TILE(PL_MAX_TILE_BYTES))

/* The compiler's figures for the state of a compute set's vertices: their fields, and the pointers
 * to copies and edges; and copy descriptors. */
COUNT(num_compute_set_states) /* num_compute_sets, or 0 if the profile has none */
ARRAY(pl_series, compute_set_state, num_compute_set_states, BY_TILE(PL_MAX_STATE_BYTES))
ARRAY(pl_series, compute_set_descriptors, num_compute_set_states, BY_TILE(PL_MAX_TILE_BYTES))

COUNT(num_programs)
COUNT(num_program_children)
ARRAY(uint8_t, program_type, num_programs, LIMIT(PL_NUM_PROGRAM_TYPES, "programs"))
ARRAY(pl_string, program_type_name, num_programs, STRING)
ARRAY(uint32_t, program_children_start, num_programs, STARTS(num_program_children, "programs"))
ARRAY(uint32_t, program_child, num_program_children, INDEX(num_programs, "programs"))
/* body of the called function, or PL_NONE */
ARRAY(uint32_t, program_called, num_programs, INDEX_OR_NONE(num_programs, "programs"))
ARRAY(uint64_t, program_debug_context, num_programs, ANY) /* 0: none */
ARRAY(pl_string, program_name, num_programs, STRING)
/* of OnTileExecute, else PL_NONE */
ARRAY(uint32_t, program_compute_set, num_programs, INDEX_OR_NONE(num_compute_sets, "programs"))
ARRAY(pl_series, program_control_code, num_programs, BY_TILE(PL_MAX_TILE_BYTES))
ARRAY(pl_series, program_exchange_code, num_programs, BY_TILE(PL_MAX_TILE_BYTES)) /* DoExchange */

/* Times of the programs, if any is known: of one execution on the slowest tile, 0 for none, or
 * unknown; the popliner_cycles_source, but never EXCHANGES; and of Repeat, if the file has it, else
 * 1. */
COUNT(num_timed_programs) /* num_programs, or 0 */
ARRAY(uint64_t, program_cycles, num_timed_programs, ANY)
ARRAY(uint8_t, program_cycles_source, num_timed_programs,
      LIMIT(POPLINER_CYCLES_MEASURED + 1, "cycles of the programs"))
ARRAY(uint32_t, program_repeats, num_timed_programs, ANY)

COUNT(num_steps)
ARRAY(uint32_t, step_program, num_steps, INDEX(num_programs, "liveness steps"))
ARRAY(uint32_t, step_parent, num_steps, ANY) /* a smaller step, or PL_NONE */

/* Half-open: live on [range_first_step, range_end_step). The ranges of a class ascend, are not
 * empty, and have gaps between them. */
COUNT(num_classes)
COUNT(num_ranges)
ARRAY(uint8_t, class_always_live, num_classes, LIMIT(2, "equivalence classes"))
ARRAY(uint32_t, class_ranges_start, num_classes, STARTS(num_ranges, "equivalence classes"))
ARRAY(uint32_t, range_first_step, num_ranges, ANY)
ARRAY(uint32_t, range_end_step, num_ranges, ANY)

/* Unlowered variables, for their names; and their pieces, the lowered variables. */
COUNT(num_unlowered)
ARRAY(pl_string, unlowered_name, num_unlowered, STRING)
ARRAY(uint64_t, unlowered_debug_context, num_unlowered, ANY) /* the first one; 0: none */
ARRAY(uint64_t, unlowered_size_bytes, num_unlowered, ANY)    /* of the pieces */
ARRAY(uint32_t, unlowered_num_pieces, num_unlowered, ANY)

COUNT(num_categories) /* at most PL_MAX_CATEGORIES */
ARRAY(pl_string, category_name, num_categories, STRING)
ARRAY(uint8_t, category, num_categories, LIMIT(PL_NUM_CATEGORIES, "categories")) /* pl_category */
/* of the lowered variables, and of those that are always live */
ARRAY(pl_series, category_variables, num_categories, BY_TILE(PL_MAX_TILE_BYTES))
ARRAY(pl_series, category_always_live, num_categories, BY_TILE(PL_MAX_TILE_BYTES))

/* The compiler's own account, by category and part, and by tile. */
COUNT(num_category_parts) /* PL_NUM_CATEGORY_PARTS for each category, or 0 */
ARRAY(pl_series, category_memory, num_category_parts, BY_TILE(PL_MAX_TILE_BYTES))
ARRAY(uint64_t, tile_total_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_total_including_gaps_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_always_live_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_not_always_live_peak_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_interleaved_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_non_interleaved_bytes, target.num_tiles, BYTES)
ARRAY(uint64_t, tile_overflowed_bytes, target.num_tiles, BYTES)

COUNT(num_absences) /* missing tables and columns, one sentence each */
ARRAY(pl_string, absence, num_absences, STRING)

COUNT(num_checks) /* PL_NUM_RELATIONS, by popliner_relation; or 0: nothing was checked */
ARRAY(pl_check, checks, num_checks, ANY)

/* The execution, if the program ran. */
COUNT(num_runs)
ARRAY(pl_string, run_name, num_runs, STRING)
ARRAY(uint64_t, run_start_microseconds, num_runs, ANY)
ARRAY(uint64_t, run_elapsed_microseconds, num_runs, ANY)
ARRAY(uint64_t, run_num_programs, num_runs, ANY)
/* of the executed steps, of which the last may be of no run */
ARRAY(uint64_t, run_first_step, num_runs, STARTS_OF_SOME("runs and executed steps"))

COUNT(num_execution_steps)
COUNT(num_execution_ipus)
ARRAY(uint32_t, execution_program, num_execution_steps,
      INDEX_OR_NONE(num_programs, "runs and executed steps"))
ARRAY(pl_string, execution_type_name, num_execution_steps, STRING) /* of the program or sync */
ARRAY(uint64_t, execution_ipus_start, num_execution_steps,
      STARTS(num_execution_ipus, "runs and executed steps"))
ARRAY(uint32_t, execution_ipu, num_execution_ipus, ANY)
ARRAY(uint64_t, execution_cycles, num_execution_ipus, ANY) /* of the slowest tile */
ARRAY(uint64_t, execution_first_cycle, num_execution_ipus, ANY)
ARRAY(uint64_t, execution_active_from, num_execution_ipus, ANY)
ARRAY(uint64_t, execution_active_to, num_execution_ipus, ANY)
ARRAY(uint32_t, execution_active_tiles, num_execution_ipus, ANY)
ARRAY(double, execution_tile_balance, num_execution_ipus, ANY)

/* From here on, arrays that grow with the lowered variables, or refer to them: see
 * PL_FIELDS_OF_VARIABLES. First, the lists of variables that programs touch: of a compute set,
 * or of one side of an exchange; and those that some copy from the host fills. */
COUNT(num_lists)
COUNT(num_list_variables)
COUNT(num_program_lists)
COUNT(num_fed_lists)
COUNT(num_variables)
ARRAY(uint64_t, list_start, num_lists, STARTS(num_list_variables, "variables of the programs"))
ARRAY(uint32_t, list_variable, num_list_variables,
      INDEX(num_variables, "variables of the programs"))
ARRAY(uint32_t, program_lists_start, num_programs, STARTS(num_program_lists, "programs"))
ARRAY(uint32_t, program_list, num_program_lists, INDEX(num_lists, "programs"))
ARRAY(uint32_t, fed_list, num_fed_lists, INDEX(num_lists, "programs"))

/* Lowered variables, sorted by tile, and by id on each. One that was not allocated has size 0. */
ARRAY(uint32_t, variable_size_bytes, num_variables, ANY)
ARRAY(uint32_t, variable_offset, num_variables, ANY) /* address on the tile */
ARRAY(uint32_t, variable_class, num_variables, INDEX(num_classes, "lowered variables"))
ARRAY(uint32_t, variable_unlowered, num_variables,
      INDEX_OR_NONE(num_unlowered, "lowered variables"))
ARRAY(uint8_t, variable_category, num_variables, INDEX(num_categories, "lowered variables"))
ARRAY(uint8_t, variable_placing, num_variables, ANY) /* see PL_PLACING_ALIGNMENT */
ARRAY(uint64_t, tile_variables_start, target.num_tiles, STARTS(num_variables, "lowered variables"))

/* The variables that lie apart: data that is not always live, and must share no element with data
 * that is; ascending. */
COUNT(num_apart)
ARRAY(uint32_t, apart_variable, num_apart, INDEX(num_variables, "lowered variables"))
