/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/structs.h"
#include "show/certificate_data.h"
#include "show/report_parts.h"

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

static void add_row(const popliner_certificate *c, uint64_t value, const char *line, char delimiter,
                    pl_text *text) {
    const popliner_plan *plan = &c->plan;
    pl_text_format(text, "%" PRIu64 "%c%s", value, delimiter, status_of(plan));
    for (size_t i = 0; i < plan->num_values; i++) {
        pl_text_format(text, "%c", delimiter);
        pl_certificate_add_number(text, plan->values[i].value,
                                  pl_certificate_divisor(c, plan->values[i].objective));
    }
    /* nothing is known of a contradiction */
    for (size_t i = plan->num_values; i < c->input.options->num_objectives; i++)
        pl_text_format(text, "%c", delimiter);
    if (plan->num_values == 0 && c->input.options->num_objectives == 0)
        pl_text_format(text, "%c%c", delimiter, delimiter);
    pl_text_format(text, "%c%zu%c", delimiter, plan->num_ipus, delimiter);
    pl_certificate_add_field(text, line, delimiter);
    pl_text_add(text, "\n");
}

static void add_header(const char *what, const pl_certificate_input *names, char delimiter,
                       pl_text *text) {
    const popliner_solver_options *o = names->options;
    pl_text_format(text, "%s%cstatus", what, delimiter);
    for (size_t i = 0; i < o->num_objectives; i++)
        pl_text_format(text, "%c%s", delimiter, popliner_objective_name(o->objectives[i]));
    if (o->num_objectives == 0)
        pl_text_format(text, "%cmemory%ctraffic", delimiter, delimiter);
    pl_text_format(text, "%cused%csplit\n", delimiter, delimiter);
}

static json_t *row_json(const popliner_certificate *c, uint64_t value) {
    const popliner_plan *plan = &c->plan;
    json_t *stages = json_array();
    bool done = stages != NULL;
    for (size_t i = 0; done && i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        const char *const *names = c->input.unit_names;
        done = json_array_append_new(
                   stages, json_pack("{s:I, s:o, s:o}", "ipu", (json_int_t)stage->ipu, "from",
                                     pl_report_json_text(names[stage->first_unit]), "to",
                                     pl_report_json_text(names[stage->last_unit]))) == 0;
    }
    if (!done) {
        json_decref(stages);
        return NULL;
    }
    return json_pack("{s:I, s:s, s:o, s:I, s:o}", "value", (json_int_t)value, "status",
                     status_of(plan), "objectives", pl_certificate_objectives_json(c), "used",
                     (json_int_t)plan->num_ipus, "stages", stages);
}

static popliner_status sweep_json(const popliner_sweep *sweep, const pl_certificate_input *names,
                                  pl_text *text, popliner_error *error) {
    json_t *rows = json_array();
    bool done = rows != NULL;
    for (size_t i = 0; done && i < sweep->num_values; i++) {
        popliner_certificate c = of_plan(names, sweep->plans[i]);
        done = json_array_append_new(rows, row_json(&c, sweep->values[i])) == 0;
    }
    if (!done) {
        json_decref(rows);
        return pl_fail_memory(error, "a report");
    }
    json_t *json = json_pack("{s:s, s:o}", "sweep", sweep->what, "results", rows);
    popliner_status status =
        json == NULL ? pl_fail_memory(error, "a report") : pl_report_json(json, text, error);
    json_decref(json);
    return status;
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
    if (status != POPLINER_OK)
        return status;
    if (format == POPLINER_FORMAT_JSON) {
        status = sweep_json(&own, &input, &text, error);
        return pl_report_finish(&text, status, result, error);
    }
    add_header(own.what, &input, delimiter, &text);
    for (size_t i = 0; status == POPLINER_OK && i < own.num_values; i++) {
        popliner_certificate c = of_plan(&input, own.plans[i]);
        pl_text line = {0};
        pl_certificate_add_line(&line, own.plans[i], input.unit_names);
        if (line.failed)
            status = pl_fail_memory(error, "a report");
        else
            add_row(&c, own.values[i], line.data, delimiter, &text);
        free(line.data);
    }
    return pl_report_finish(&text, status, result, error);
}
