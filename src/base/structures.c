/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/popliner.h"

/* What each _INIT macro makes. */
static const popliner_analysis_options initial_analysis_options = POPLINER_ANALYSIS_OPTIONS_INIT;
static const popliner_category initial_category = POPLINER_CATEGORY_INIT;
static const popliner_certificate_input initial_certificate_input = POPLINER_CERTIFICATE_INPUT_INIT;
static const popliner_changes_input initial_changes_input = POPLINER_CHANGES_INPUT_INIT;
static const popliner_compute_set initial_compute_set = POPLINER_COMPUTE_SET_INIT;
static const popliner_diagnosis_options initial_diagnosis_options = POPLINER_DIAGNOSIS_OPTIONS_INIT;
static const popliner_emit_options initial_emit_options = POPLINER_EMIT_OPTIONS_INIT;
static const popliner_engine_option initial_engine_option = POPLINER_ENGINE_OPTION_INIT;
static const popliner_execution_step initial_execution_step = POPLINER_EXECUTION_STEP_INIT;
static const popliner_ipu_step initial_ipu_step = POPLINER_IPU_STEP_INIT;
static const popliner_listener initial_listener = POPLINER_LISTENER_INIT;
static const popliner_option_names initial_option_names = POPLINER_OPTION_NAMES_INIT;
static const popliner_page_options initial_page_options = POPLINER_PAGE_OPTIONS_INIT;
static const popliner_page_words initial_page_words = POPLINER_PAGE_WORDS_INIT;
static const popliner_plot_options initial_plot_options = POPLINER_PLOT_OPTIONS_INIT;
static const popliner_profile_info initial_profile_info = POPLINER_PROFILE_INFO_INIT;
static const popliner_program initial_program = POPLINER_PROGRAM_INIT;
static const popliner_replicas_options initial_replicas_options = POPLINER_REPLICAS_OPTIONS_INIT;
static const popliner_request initial_request = POPLINER_REQUEST_INIT;
static const popliner_run initial_run = POPLINER_RUN_INIT;
static const popliner_solver_options initial_solver_options = POPLINER_SOLVER_OPTIONS_INIT;
static const popliner_step initial_step = POPLINER_STEP_INIT;
static const popliner_sweep initial_sweep = POPLINER_SWEEP_INIT;
static const popliner_tile_memory initial_tile_memory = POPLINER_TILE_MEMORY_INIT;
static const popliner_together initial_together = POPLINER_TOGETHER_INIT;
static const popliner_unlowered_variable initial_unlowered_variable =
    POPLINER_UNLOWERED_VARIABLE_INIT;
static const popliner_variable initial_variable = POPLINER_VARIABLE_INIT;
static const popliner_vertex_type initial_vertex_type = POPLINER_VERTEX_TYPE_INIT;
static const popliner_vertices initial_vertices = POPLINER_VERTICES_INIT;

#define PLAIN(type)                                                                                \
    { "popliner_" #type, sizeof(popliner_##type), NULL }
#define BEGUN(type)                                                                                \
    { "popliner_" #type, sizeof(popliner_##type), &initial_##type }

static const popliner_structure structures[] = {
    BEGUN(analysis_options),
    PLAIN(bandwidth),
    PLAIN(calibration),
    BEGUN(category),
    PLAIN(certificate_info),
    BEGUN(certificate_input),
    PLAIN(chain_unit),
    PLAIN(change),
    PLAIN(changes_info),
    BEGUN(changes_input),
    PLAIN(check),
    PLAIN(compared_stage),
    PLAIN(comparison_info),
    BEGUN(compute_set),
    PLAIN(constraint),
    PLAIN(copies),
    PLAIN(costs_file_info),
    PLAIN(coverage),
    PLAIN(diagnosis_category),
    BEGUN(diagnosis_options),
    PLAIN(diagnosis_programs),
    PLAIN(diagnosis_summary),
    BEGUN(emit_options),
    BEGUN(engine_option),
    PLAIN(error),
    BEGUN(execution_step),
    PLAIN(growth_bound),
    PLAIN(growth_result),
    PLAIN(infeasibility),
    PLAIN(interval),
    PLAIN(ipu_limit),
    PLAIN(ipu_link),
    PLAIN(ipu_memory),
    PLAIN(ipu_speed),
    BEGUN(ipu_step),
    PLAIN(layer_finding),
    PLAIN(layer_pairs),
    BEGUN(listener),
    PLAIN(measurement),
    PLAIN(message),
    PLAIN(missing_part),
    PLAIN(missing_reasons),
    PLAIN(missing_variable),
    PLAIN(operation),
    BEGUN(option_names),
    BEGUN(page_options),
    BEGUN(page_words),
    PLAIN(pair),
    PLAIN(pareto_summary),
    PLAIN(part_info),
    PLAIN(peak),
    PLAIN(pipeline),
    PLAIN(placement),
    PLAIN(plan_stage),
    PLAIN(plan_summary),
    PLAIN(plan_value),
    BEGUN(plot_options),
    BEGUN(profile_info),
    BEGUN(program),
    PLAIN(remedy),
    PLAIN(replicas_candidate),
    BEGUN(replicas_options),
    PLAIN(replicas_summary),
    PLAIN(reports),
    BEGUN(request),
    PLAIN(reserve),
    BEGUN(run),
    PLAIN(scales),
    PLAIN(setting_change),
    BEGUN(solver_options),
    PLAIN(stage_detail),
    PLAIN(stage_memory),
    PLAIN(stage_variable),
    BEGUN(step),
    PLAIN(structure),
    BEGUN(sweep),
    BEGUN(tile_memory),
    PLAIN(tile_spread),
    BEGUN(together),
    BEGUN(unlowered_variable),
    BEGUN(variable),
    BEGUN(vertex_type),
    BEGUN(vertices),
};

const popliner_structure *popliner_structure_at(size_t i) {
    return i < sizeof structures / sizeof *structures ? &structures[i] : NULL;
}
