/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "popliner/replicas.h"
#include "show/plan_rows.h"
#include "show/report_parts.h"

/* Micro-batches in a unit of time; 0 if the time cannot be told. */
static double throughput(const popliner_replicas_candidate *c, uint64_t divisor) {
    double step = (double)c->step_cycles / (double)divisor;
    return c->step_cycles == 0 || c->step_cycles == UINT64_MAX
               ? 0.0
               : (double)c->num_replicas * (double)c->micro_batches / step;
}

/* What is known of a number of stages that was perhaps not tried. */
static const char *status_of(const popliner_replicas_candidate *c) {
    return c->plan == NULL        ? "unknown"
           : c->num_replicas == 0 ? "infeasible"
           : c->is_proven         ? "optimal"
                                  : "feasible";
}

static void add_row(const popliner_replicas_candidate *c, const pl_certificate_input *names,
                    bool is_best, char delimiter, pl_text *text) {
    const uint64_t times[] = {c->cycles, c->pipeline_cycles, c->reduce_cycles, c->step_cycles};
    pl_text_format(text, "%zu%c%zu%c%zu%c%s%c%s", c->num_ipus, delimiter, c->num_replicas,
                   delimiter, c->num_ipus * c->num_replicas, delimiter, status_of(c), delimiter,
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
    pl_plan_rows_add_split(names, c->plan, delimiter, text);
    pl_text_add(text, "\n");
}

static json_t *stages_json(const popliner_replicas_candidate *c,
                           const pl_certificate_input *names) {
    json_t *stages = json_array();
    bool done = stages != NULL;
    for (size_t i = 0; done && c->plan != NULL && i < c->plan->num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan->stages[i];
        uint64_t bytes = c->stage_parameter_bytes != NULL ? c->stage_parameter_bytes[i] : 0;
        json_t *own = pl_plan_rows_stage_json(names, stage);
        done = pl_report_put(own, "max_tile_mem", json_integer((json_int_t)stage->peak_bytes));
        done =
            pl_report_put(own, "cycles",
                          pl_certificate_number_json(stage->cycles, names->cycles_per_time_unit)) &&
            done;
        done = pl_report_put(own, "parameter_bytes", json_integer((json_int_t)bytes)) && done;
        done = json_array_append_new(stages, own) == 0 && done;
    }
    return pl_report_whole(stages, done);
}

static json_t *candidate_json(const popliner_replicas_candidate *c,
                              const pl_certificate_input *names) {
    const uint64_t divisor = names->cycles_per_time_unit;
    return json_pack("{s:I, s:I, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:f, s:o}", "stages",
                     (json_int_t)c->num_ipus, "replicas", (json_int_t)c->num_replicas, "status",
                     status_of(c), "micro_batches", (json_int_t)c->micro_batches, "parameter_bytes",
                     (json_int_t)c->parameter_bytes, "cycles",
                     pl_certificate_number_json(c->cycles, divisor), "pipeline_cycles",
                     pl_certificate_number_json(c->pipeline_cycles, divisor), "all_reduce_cycles",
                     pl_certificate_number_json(c->reduce_cycles, divisor), "step_cycles",
                     pl_certificate_number_json(c->step_cycles, divisor), "throughput",
                     throughput(c, divisor), "split", stages_json(c, names));
}

/* Why nothing fits, as a certificate of it would have it. */
static json_t *reason_json(const popliner_plan *reason, const pl_certificate_input *names) {
    if (reason == NULL)
        return json_null();
    const popliner_certificate c = {.input = *names, .plan = *reason};
    return pl_certificate_infeasibility_json(&c);
}

/* NULL without memory. */
static json_t *replicas_json(const popliner_replicas *replicas, const pl_certificate_input *names) {
    const popliner_replicas_summary *summary = popliner_replicas_get_summary(replicas);
    json_t *json = json_object();
    json_t *rows = json_array();
    bool done = rows != NULL;
    for (size_t i = 0; done && i < summary->num_candidates; i++) {
        json_t *own = candidate_json(popliner_replicas_candidate_at(replicas, i), names);
        done = own != NULL && json_array_append_new(rows, own) == 0;
    }
    done = pl_report_put(json, "order", pl_certificate_order_json(names)) && done;
    done = pl_report_put(json, "time_unit", pl_report_json_text(names->time_unit)) && done;
    done = pl_report_put(json, "stopped", json_boolean(summary->is_stopped)) && done;
    done = pl_report_put(json, "best",
                         summary->best == SIZE_MAX ? json_null()
                                                   : json_integer((json_int_t)summary->best)) &&
           done;
    done = pl_report_put(json, "candidates", rows) && done;
    done =
        pl_report_put(json, "closest",
                      summary->closest == SIZE_MAX ? json_null()
                                                   : json_integer((json_int_t)summary->closest)) &&
        done;
    done = pl_report_put(json, "infeasibility", reason_json(summary->reason, names)) && done;
    return pl_report_whole(json, done);
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
        status = pl_report_json(replicas_json(replicas, &input), &text, error);
        return pl_report_finish_printable(&text, status, result, error);
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        pl_text_format(&text, "%s%c", heads[i],
                       i + 1 < sizeof heads / sizeof *heads ? delimiter : '\n');
    for (size_t i = 0; (c = popliner_replicas_candidate_at(replicas, i)) != NULL; i++)
        add_row(c, &input, i == popliner_replicas_get_summary(replicas)->best, delimiter, &text);
    return pl_report_finish_printable(&text, status, result, error);
}
