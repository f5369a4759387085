/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/solving.h"

#include <stdlib.h>
#include <string.h>

#include "popliner/diagnosis.h"
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
                                 uint64_t limit_bytes, popliner_error *error) {
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
        status = popliner_intervals_measure(s->profile, s->operations, s->chain[model], NULL,
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

static void tell_plan(session *s, const popliner_plan *plan, const char *line,
                      uint64_t limit_bytes) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "FAILURE: Unable to fit model on IPUs. Best effort printed.");
        if (s->options.solver == SOLVER_ILP)
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "No split over at most %zu IPUs needs less than %llu bytes on its largest "
                        "tile; the limit is %llu.",
                        s->options.num_ipus, (unsigned long long)plan->peak_bytes,
                        (unsigned long long)limit_bytes);
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

/* Warns if the answer rests on memory that no operation explains. */
static popliner_status warn_unexplained(session *s, popliner_memory_model model,
                                        const popliner_plan *plan, popliner_error *error) {
    enum { MOST_PERCENT = 20 };
    popliner_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    double share = 0;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; i++) {
        status = popliner_stage_measure_units(s->meter[model], plan->stages[i].first_unit,
                                              plan->stages[i].last_unit, &memory, error);
        for (size_t tile = 0; status == POPLINER_OK && tile < memory.num_tiles; tile++) {
            double of_tile = (double)memory.unexplained_bytes[tile] / (double)plan->peak_bytes;
            if (memory.total_bytes[tile] == plan->peak_bytes && of_tile > share)
                share = of_tile;
        }
    }
    popliner_stage_memory_clear(&memory);
    if (status == POPLINER_OK && share * 100 > MOST_PERCENT)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "%.0f%% of the largest tile is explained by no operation and counted in every "
                    "stage; see --diagnose for what is missing.",
                    share * 100);
    return status;
}

/* Logs the evaluation of a plan, line by line, for -v. */
static popliner_status log_evaluation(session *s, popliner_memory_model model,
                                      const popliner_plan *plan, uint64_t limit_bytes,
                                      popliner_error *error) {
    char *text = NULL;
    popliner_status status =
        popliner_report_evaluation(plan, s->profile, s->chain[model], s->meter[model], limit_bytes,
                                   POPLINER_FORMAT_TSV, NULL, &text, error);
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        log_message(&s->log, POPLINER_LEVEL_DEBUG, "%s", line);
        line = end == NULL ? NULL : end + 1;
    }
    free(text);
    return status;
}

popliner_status solve_and_print(session *s, popliner_error *error) {
    /* the original's algorithm goes with the original's memory */
    popliner_memory_model model =
        session_memory_model(s, s->options.solver == SOLVER_GREEDY ? POPLINER_MEMORY_MODEL_POPLINER
                                                                   : POPLINER_MEMORY_MODEL_FULL);
    popliner_plan plan = {0};
    uint64_t limit_bytes = 0;
    char *text = NULL;
    char *line = NULL;
    popliner_status status = session_limit(s, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = session_prepare(s, model, error);
    if (status == POPLINER_OK)
        status = find_plan(s, model, &plan, limit_bytes, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_json(&plan, s->chain[model], s->meter[model], &text, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_line(&plan, s->chain[model], &line, error);
    if (status == POPLINER_OK)
        status = warn_unexplained(s, model, &plan, error);
    if (status == POPLINER_OK && s->options.verbose)
        status = log_evaluation(s, model, &plan, limit_bytes, error);
    if (status == POPLINER_OK) {
        tell_plan(s, &plan, line, limit_bytes);
        status = session_print(text, error);
        text = NULL;
    }
    popliner_plan_clear(&plan);
    free(text);
    free(line);
    return status;
}

/* The unit of the layer of this name, else of the head if that is meant, SIZE_MAX if there is none. */
static size_t find_layer(const popliner_chain *chain, const char *name, size_t length) {
    size_t head = SIZE_MAX;
    for (size_t unit = 0; unit < popliner_chain_num_units(chain); unit++) {
        const char *own = popliner_chain_name(chain, unit);
        if (own != NULL && strlen(own) == length && memcmp(own, name, length) == 0)
            return unit;
        if (popliner_chain_kind(chain, unit) == POPLINER_UNIT_HEAD)
            head = unit;
    }
    return length == 4 && memcmp(name, "Head", 4) == 0 ? head : SIZE_MAX;
}

/* The stages of a split that is given by the last layers of all stages but the last. */
static popliner_status parse_split(const popliner_chain *chain, const char *split,
                                   popliner_plan *plan, popliner_error *error) {
    size_t num_units = popliner_chain_num_units(chain);
    plan->stages = calloc(num_units, sizeof *plan->stages);
    if (plan->stages == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the split");
    size_t next_unit = 0;
    bool is_whole = strcmp(split, "whole") == 0 && find_layer(chain, "whole", 5) == SIZE_MAX;
    for (const char *name = is_whole ? NULL : split; name != NULL;) {
        const char *end = strchr(name, '|');
        size_t length = end == NULL ? strlen(name) : (size_t)(end - name);
        size_t unit = find_layer(chain, name, length);
        if (unit == SIZE_MAX)
            return session_fail(error, POPLINER_ERROR_USAGE, "--evaluate %s: no layer '%.*s'",
                                split, (int)length, name);
        if (unit < next_unit || unit + 1 == num_units)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--evaluate %s: nothing is left for a stage %s layer '%.*s'", split,
                                unit < next_unit ? "that ends with" : "behind", (int)length, name);
        plan->stages[plan->num_stages++] =
            (popliner_plan_stage){.first_unit = next_unit, .last_unit = unit};
        next_unit = unit + 1;
        name = end == NULL ? NULL : end + 1;
    }
    plan->stages[plan->num_stages++] =
        (popliner_plan_stage){.first_unit = next_unit, .last_unit = num_units - 1};
    return POPLINER_OK;
}

popliner_status evaluate_and_print(session *s, popliner_error *error) {
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    popliner_plan plan = {0};
    uint64_t limit_bytes = 0;
    uint64_t peak_bytes = 0;
    char *text = NULL;
    popliner_status status = session_limit(s, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = session_prepare(s, model, error);
    if (status == POPLINER_OK)
        status = parse_split(s->chain[model], s->options.evaluate, &plan, error);
    if (status == POPLINER_OK)
        status =
            popliner_report_evaluation(&plan, s->profile, s->chain[model], s->meter[model],
                                       limit_bytes, s->options.format, &peak_bytes, &text, error);
    if (status == POPLINER_OK) {
        s->failed_softly = s->failed_softly || peak_bytes > limit_bytes;
        status = session_print(text, error);
        text = NULL;
    }
    popliner_plan_clear(&plan);
    free(text);
    return status;
}

/* The units of "A-B" or "A"; names may hold dashes, too, so every dash is tried. */
static popliner_status parse_layers(const popliner_chain *chain, const char *layers, size_t *first,
                                    size_t *last, popliner_error *error) {
    *first = find_layer(chain, layers, strlen(layers));
    *last = *first;
    for (const char *dash = strchr(layers, '-'); *first == SIZE_MAX && dash != NULL;
         dash = strchr(dash + 1, '-')) {
        *last = find_layer(chain, dash + 1, strlen(dash + 1));
        *first = *last == SIZE_MAX ? SIZE_MAX : find_layer(chain, layers, (size_t)(dash - layers));
    }
    if (*first == SIZE_MAX || *last < *first)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--layers %s: expected the names of two layers in their order, like "
                            "2-5, or of one",
                            layers);
    return POPLINER_OK;
}

popliner_status diagnose_and_print(session *s, popliner_error *error) {
    enum { SHOWN = 20 };
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    popliner_diagnosis diagnosis = {0};
    popliner_diagnosis_options diagnosis_options = {
        .layer_operations_only = s->options.layer_operations_only, .last_unit = SIZE_MAX};
    bool shows_all = s->options.verbose || s->options.format == POPLINER_FORMAT_JSON;
    char *text = NULL;
    double start = log_seconds();
    popliner_status status = session_prepare(s, model, error);
    if (status == POPLINER_OK && s->options.layers != NULL)
        status = parse_layers(s->chain[model], s->options.layers, &diagnosis_options.first_unit,
                              &diagnosis_options.last_unit, error);
    if (status == POPLINER_OK)
        status = popliner_diagnose(s->profile, s->operations, s->layers, s->chain[model],
                                   s->meter[model], &diagnosis_options, &diagnosis, error);
    if (status == POPLINER_OK) {
        log_step(&s->log, "Diagnosing", start);
        status = popliner_report_diagnosis(&diagnosis, s->profile, s->operations, s->info,
                                           s->options.format, shows_all ? SIZE_MAX : SHOWN, &text,
                                           error);
    }
    if (status == POPLINER_OK) {
        double difference = (double)diagnosis.truth_bytes - (double)diagnosis.explained_bytes;
        double allowed = (double)diagnosis.truth_bytes * s->options.tolerance_percent / 100;
        if (difference > allowed || -difference > allowed) {
            s->failed_softly = true;
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "%llu of %llu bytes are explained at the bottleneck: that is not within "
                        "--tolerance %g (percent), so the exit status is 1.",
                        (unsigned long long)diagnosis.explained_bytes,
                        (unsigned long long)diagnosis.truth_bytes, s->options.tolerance_percent);
        }
        status = session_print(text, error);
    }
    popliner_diagnosis_clear(&diagnosis);
    return status;
}
