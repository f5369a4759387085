/* Plans as rows of a table, or as objects: of sweeps, of the best compromises, of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/structs.h"
#include "base/text.h"
#include "popliner/replicas.h"

/* The plan as a certificate of which nothing is measured. */
static popliner_certificate of_plan(const pl_certificate_input *names, const popliner_plan *plan) {
    popliner_certificate c = {.input = *names, .plan = *plan};
    return c;
}

/* What is known of a value: of one that was stopped too early, nothing. */
static const char *status_of(const popliner_plan *plan) {
    return plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN ? "unknown"
                                                                     : pl_certificate_status(plan);
}

/* The last field of a row: the split. */
static void add_split(const pl_certificate_input *names, const popliner_plan *plan, char delimiter,
                      pl_text *text) {
    pl_text line = {0};
    pl_certificate_add_line(&line, plan, names->unit_names);
    text->failed = text->failed || line.failed;
    if (!text->failed)
        pl_certificate_add_field(text, line.data, delimiter);
    free(line.data);
}

/* "status", the objectives, "used" and "split", up to the end of the line. */
static void add_header(const pl_certificate_input *names, char delimiter, pl_text *text) {
    const popliner_solver_options *o = names->options;
    pl_text_add(text, "status");
    for (size_t i = 0; i < o->num_objectives; i++)
        pl_text_format(text, "%c%s", delimiter, popliner_objective_name(o->objectives[i]));
    if (o->num_objectives == 0)
        pl_text_format(text, "%cmemory%ctraffic", delimiter, delimiter);
    pl_text_format(text, "%cused%csplit\n", delimiter, delimiter);
}

/* The row of a plan, behind what may stand there already. */
static void add_plan(const pl_certificate_input *names, const popliner_plan *plan, char delimiter,
                     pl_text *text) {
    const popliner_certificate c = of_plan(names, plan);
    const size_t num_objectives = names->options->num_objectives;
    pl_text_add(text, status_of(plan));
    for (size_t i = 0; i < plan->num_values; i++) {
        pl_text_format(text, "%c", delimiter);
        pl_certificate_add_number(text, plan->values[i].value,
                                  pl_certificate_divisor(&c, plan->values[i].objective));
    }
    /* nothing is known of a contradiction */
    for (size_t i = plan->num_values; i < num_objectives; i++)
        pl_text_format(text, "%c", delimiter);
    if (plan->num_values == 0 && num_objectives == 0)
        pl_text_format(text, "%c%c", delimiter, delimiter);
    pl_text_format(text, "%c%zu%c", delimiter, plan->num_ipus, delimiter);
    add_split(names, plan, delimiter, text);
    pl_text_add(text, "\n");
}

/* The members of an object that tell where a stage runs. */
static void put_stage(const pl_certificate_input *names, const popliner_plan_stage *stage,
                      pl_json *json) {
    pl_put_number(json, "ipu", stage->ipu);
    pl_put_text(json, "from", names->unit_names[stage->first_unit]);
    pl_put_text(json, "to", names->unit_names[stage->last_unit]);
}

/* Those of a row's object: the same, with stages and bounds. */
static void put_plan(const pl_certificate_input *names, const popliner_plan *plan, pl_json *json) {
    const popliner_certificate c = of_plan(names, plan);
    pl_put_text(json, "status", status_of(plan));
    pl_certificate_objectives_json(&c, json);
    pl_put_number(json, "used", plan->num_ipus);
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < plan->num_stages; i++) {
        pl_put_open(json, NULL, '{');
        put_stage(names, &plan->stages[i], json);
        pl_put_close(json);
    }
    pl_put_close(json);
}

/* ---- sweeps ---- */

static void put_sweep(const popliner_sweep *sweep, const pl_certificate_input *names,
                      pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "sweep", sweep->what);
    pl_put_text(json, "order", names->unit_order);
    pl_put_open(json, "results", '[');
    for (size_t i = 0; i < sweep->num_values; i++) {
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "value", sweep->values[i]);
        put_plan(names, sweep->plans[i], json);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

popliner_status popliner_report_sweep(const popliner_sweep *sweep,
                                      const popliner_certificate_input *names,
                                      popliner_format format, char **result,
                                      popliner_error *error) {
    popliner_sweep own = POPLINER_SWEEP_INIT;
    pl_certificate_input input;
    popliner_solver_options options;
    popliner_listener listener;
    pl_text text = {0};
    char delimiter = format == POPLINER_FORMAT_CSV ? ',' : '\t';
    *result = NULL;
    popliner_status status = pl_struct_take(&own, sizeof own, sweep, "popliner_sweep", error);
    if (status == POPLINER_OK)
        status = pl_certificate_take_input(names, &input, &options, &listener, error);
    for (size_t i = 0; status == POPLINER_OK && i < own.num_values; i++)
        status = pl_certificate_check_plan(&input, own.plans[i], error);
    if (status != POPLINER_OK)
        return status;
    if (format == POPLINER_FORMAT_JSON) {
        put_sweep(&own, &input, &(pl_json){.text = &text});
        return pl_text_finish_printable(&text, status, result, error);
    }
    pl_text_format(&text, "%s%c", own.what, delimiter);
    add_header(&input, delimiter, &text);
    for (size_t i = 0; i < own.num_values; i++) {
        pl_text_format(&text, "%" PRIu64 "%c", own.values[i], delimiter);
        add_plan(&input, own.plans[i], delimiter, &text);
    }
    return pl_text_finish_printable(&text, POPLINER_OK, result, error);
}

/* ---- the best compromises ---- */

static void put_pareto(const popliner_pareto *pareto, const pl_certificate_input *names,
                       pl_json *json) {
    const popliner_pareto_summary *summary = popliner_pareto_get_summary(pareto);
    const char *const objectives[] = {popliner_objective_name(summary->objectives[0]),
                                      popliner_objective_name(summary->objectives[1])};
    pl_put_open(json, NULL, '{');
    pl_put_texts(json, "pareto", objectives, 2);
    pl_put_flag(json, "complete", summary->is_complete);
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    pl_put_open(json, "results", '[');
    for (size_t i = 0; i < summary->num_points; i++) {
        pl_put_open(json, NULL, '{');
        put_plan(names, popliner_pareto_plan_at(pareto, i), json);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

popliner_status popliner_report_pareto(const popliner_pareto *pareto,
                                       const popliner_certificate_input *names,
                                       popliner_format format, char **result,
                                       popliner_error *error) {
    pl_certificate_input input;
    popliner_solver_options options;
    popliner_listener listener;
    pl_text text = {0};
    char delimiter = format == POPLINER_FORMAT_CSV ? ',' : '\t';
    *result = NULL;
    popliner_status status = pl_certificate_take_input(names, &input, &options, &listener, error);
    for (size_t i = 0; status == POPLINER_OK && popliner_pareto_plan_at(pareto, i) != NULL; i++)
        status = pl_certificate_check_plan(&input, popliner_pareto_plan_at(pareto, i), error);
    if (status != POPLINER_OK)
        return status;
    if (format == POPLINER_FORMAT_JSON) {
        put_pareto(pareto, &input, &(pl_json){.text = &text});
        return pl_text_finish_printable(&text, status, result, error);
    }
    add_header(&input, delimiter, &text);
    for (size_t i = 0; i < popliner_pareto_get_summary(pareto)->num_points; i++)
        add_plan(&input, popliner_pareto_plan_at(pareto, i), delimiter, &text);
    return pl_text_finish_printable(&text, POPLINER_OK, result, error);
}

/* ---- replicas ---- */

/* Micro-batches in a unit of time; 0 if the time cannot be told. */
static double throughput(const popliner_replicas_candidate *c, uint64_t divisor) {
    double step = (double)c->step_cycles / (double)divisor;
    return c->step_cycles == 0 || c->step_cycles == UINT64_MAX
               ? 0.0
               : (double)c->num_replicas * (double)c->micro_batches / step;
}

/* What is known of a number of stages that was perhaps not tried. */
static const char *tried_status(const popliner_replicas_candidate *c) {
    return c->plan == NULL        ? "unknown"
           : c->num_replicas == 0 ? "infeasible"
           : c->is_proven         ? "optimal"
                                  : "feasible";
}

static void add_row(const popliner_replicas_candidate *c, const pl_certificate_input *names,
                    bool is_best, char delimiter, pl_text *text) {
    const uint64_t times[] = {c->cycles, c->pipeline_cycles, c->reduce_cycles, c->step_cycles};
    pl_text_format(text, "%zu%c%zu%c%zu%c%s%c%s", c->num_ipus, delimiter, c->num_replicas,
                   delimiter, c->num_ipus * c->num_replicas, delimiter, tried_status(c), delimiter,
                   is_best ? "yes" : "no");
    if (c->num_replicas == 0) {
        for (size_t i = 0; i < 8; i++)
            pl_text_format(text, "%c", delimiter);
        pl_text_add(text, "\n");
        return;
    }
    pl_text_format(text, "%c%" PRIu64 "%c%" PRIu64, delimiter, c->micro_batches, delimiter,
                   c->parameter_bytes);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        pl_text_format(text, "%c", delimiter);
        pl_certificate_add_number(text, times[i], names->cycles_per_time_unit);
    }
    pl_text_format(text, "%c%.9g%c", delimiter, throughput(c, names->cycles_per_time_unit),
                   delimiter);
    add_split(names, c->plan, delimiter, text);
    pl_text_add(text, "\n");
}

static void put_candidate(const popliner_replicas_candidate *c, const pl_certificate_input *names,
                          pl_json *json) {
    const uint64_t divisor = names->cycles_per_time_unit;
    const size_t num_stages = c->plan == NULL ? 0 : c->plan->num_stages;
    pl_put_open(json, NULL, '{');
    pl_put_number(json, "stages", c->num_ipus);
    pl_put_number(json, "replicas", c->num_replicas);
    pl_put_text(json, "status", tried_status(c));
    pl_put_number(json, "micro_batches", c->micro_batches);
    pl_put_number(json, "parameter_bytes", c->parameter_bytes);
    pl_certificate_number_json(json, "cycles", c->cycles, divisor);
    pl_certificate_number_json(json, "pipeline_cycles", c->pipeline_cycles, divisor);
    pl_certificate_number_json(json, "all_reduce_cycles", c->reduce_cycles, divisor);
    pl_certificate_number_json(json, "step_cycles", c->step_cycles, divisor);
    pl_put_real(json, "throughput", throughput(c, divisor));
    pl_put_open(json, "split", '[');
    for (size_t i = 0; i < num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan->stages[i];
        pl_put_open(json, NULL, '{');
        put_stage(names, stage, json);
        pl_put_number(json, "max_tile_mem", stage->peak_bytes);
        pl_certificate_number_json(json, "cycles", stage->cycles, divisor);
        pl_put_number(json, "parameter_bytes",
                      c->stage_parameter_bytes != NULL ? c->stage_parameter_bytes[i] : 0);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

static void put_replicas(const popliner_replicas *replicas, const pl_certificate_input *names,
                         pl_json *json) {
    const popliner_replicas_summary *summary = popliner_replicas_get_summary(replicas);
    /* why nothing fits, as a certificate of it would have it */
    popliner_certificate reason = {.input = *names};
    if (summary->reason != NULL)
        reason.plan = *summary->reason;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    pl_put_flag(json, "stopped", summary->is_stopped);
    pl_put_index(json, "best", summary->best);
    pl_put_open(json, "candidates", '[');
    for (size_t i = 0; i < summary->num_candidates; i++)
        put_candidate(popliner_replicas_candidate_at(replicas, i), names, json);
    pl_put_close(json);
    pl_put_index(json, "closest", summary->closest);
    pl_certificate_infeasibility_json(&reason, json);
    pl_put_close(json);
}

popliner_status popliner_report_replicas(const popliner_replicas *replicas,
                                         const popliner_certificate_input *names,
                                         popliner_format format, char **result,
                                         popliner_error *error) {
    static const char *const heads[] = {
        "stages",        "replicas",   "ipus",   "status",          "best",
        "micro_batches", "parameters", "cycles", "pipeline_cycles", "all_reduce",
        "step_cycles",   "throughput", "split"};
    pl_certificate_input input;
    popliner_solver_options options;
    popliner_listener listener;
    pl_text text = {0};
    char delimiter = format == POPLINER_FORMAT_CSV ? ',' : '\t';
    *result = NULL;
    popliner_status status = pl_certificate_take_input(names, &input, &options, &listener, error);
    const popliner_replicas_candidate *c;
    for (size_t i = 0;
         status == POPLINER_OK && (c = popliner_replicas_candidate_at(replicas, i)) != NULL; i++)
        status = pl_certificate_check_plan(&input, c->plan, error);
    if (status != POPLINER_OK)
        return status;
    if (format == POPLINER_FORMAT_JSON) {
        put_replicas(replicas, &input, &(pl_json){.text = &text});
        return pl_text_finish_printable(&text, status, result, error);
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        pl_text_format(&text, "%s%c", heads[i],
                       i + 1 < sizeof heads / sizeof *heads ? delimiter : '\n');
    for (size_t i = 0; (c = popliner_replicas_candidate_at(replicas, i)) != NULL; i++)
        add_row(c, &input, i == popliner_replicas_get_summary(replicas)->best, delimiter, &text);
    return pl_text_finish_printable(&text, status, result, error);
}
