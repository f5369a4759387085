/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/solving.h"

#include <stdlib.h>

#include "popliner/intervals.h"
#include "popliner/report.h"
#include "popliner/solver.h"

/* The peak of a stage as PopLiner's greedy solver sees it. */
static popliner_status measure_peak(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    popliner_stage_meter *meter = user;
    popliner_stage_memory memory = {0};
    popliner_status status =
        popliner_stage_measure_units(meter, first_unit, last_unit, &memory, error);
    if (status == POPLINER_OK)
        *peak_bytes = popliner_largest_of_tiles(memory.total_bytes, memory.num_tiles);
    popliner_stage_memory_clear(&memory);
    return status;
}

static popliner_status find_plan(session *s, popliner_memory_model model, popliner_plan *plan,
                                 popliner_error *error) {
    uint64_t limit_bytes = s->options.mem_per_tile_bytes;
    if (limit_bytes == 0)
        limit_bytes = popliner_profile_target(s->profile)->bytes_per_tile;
    popliner_solver_options solver_options = {
        .method = POPLINER_METHOD_ILP,
        .max_stages = s->options.num_ipus,
        .max_stage_bytes = limit_bytes,
        .listener = &s->listener,
    };
    double start = log_seconds();
    popliner_status status = POPLINER_OK;
    if (s->options.solver == SOLVER_GREEDY) {
        popliner_stage_meter_remember_peaks(s->meter[model]);
        status = popliner_solve_greedily(popliner_chain_num_units(s->chain[model]), measure_peak,
                                         s->meter[model], &solver_options, plan, error);
    } else {
        popliner_costs *costs = NULL;
        status = popliner_intervals_measure(s->profile, s->operations, s->chain[model],
                                            &s->listener, &costs, error);
        if (status == POPLINER_OK) {
            log_step(&s->log, "Measuring all stages", start);
            start = log_seconds();
            status = popliner_solve(costs, &solver_options, plan, error);
        }
        popliner_costs_free(costs);
    }
    if (status == POPLINER_OK)
        log_step(&s->log, "Solving", start);
    return status;
}

static void tell_plan(session *s, const popliner_plan *plan, const char *line) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "FAILURE: Unable to fit model on IPUs. Best effort printed.");
        s->failed_softly = true;
        return;
    }
    log_message(&s->log, POPLINER_LEVEL_INFO, "SUCCESS: %s", line);
    if (plan->num_stages < s->options.num_ipus)
        log_message(&s->log, POPLINER_LEVEL_WARNING, "Used %zu IPUs instead of the %zu requested.",
                    plan->num_stages, s->options.num_ipus);
    if (plan->bounds_known)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "%s: largest tile %llu bytes (no split has less than %llu), cuts %llu bytes "
                    "(no such split has less than %llu).",
                    plan->status == POPLINER_PLAN_OPTIMAL ? "Proven optimal" : "Not proven optimal",
                    (unsigned long long)plan->peak_bytes, (unsigned long long)plan->peak_bound,
                    (unsigned long long)plan->cut_bytes, (unsigned long long)plan->cut_bound);
}

popliner_status solve_and_print(session *s, popliner_error *error) {
    /* the original's algorithm goes with the original's memory */
    popliner_memory_model model =
        session_memory_model(s, s->options.solver == SOLVER_GREEDY ? POPLINER_MEMORY_MODEL_POPLINER
                                                                   : POPLINER_MEMORY_MODEL_FULL);
    popliner_plan plan = {0};
    char *text = NULL;
    char *line = NULL;
    popliner_status status = session_prepare(s, model, error);
    if (status == POPLINER_OK)
        status = find_plan(s, model, &plan, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_json(&plan, s->chain[model], s->meter[model], &text, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_line(&plan, s->chain[model], &line, error);
    if (status == POPLINER_OK) {
        tell_plan(s, &plan, line);
        status = session_print(text, error);
        text = NULL;
    }
    popliner_plan_clear(&plan);
    free(text);
    free(line);
    return status;
}
