/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/plan_rows.h"

#include <stdlib.h>

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

void pl_plan_rows_add_header(const pl_certificate_input *names, char delimiter, pl_text *text) {
    const popliner_solver_options *o = names->options;
    pl_text_add(text, "status");
    for (size_t i = 0; i < o->num_objectives; i++)
        pl_text_format(text, "%c%s", delimiter, popliner_objective_name(o->objectives[i]));
    if (o->num_objectives == 0)
        pl_text_format(text, "%cmemory%ctraffic", delimiter, delimiter);
    pl_text_format(text, "%cused%csplit\n", delimiter, delimiter);
}

void pl_plan_rows_add(const pl_certificate_input *names, const popliner_plan *plan, char delimiter,
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
    pl_plan_rows_add_split(names, plan, delimiter, text);
    pl_text_add(text, "\n");
}

void pl_plan_rows_add_split(const pl_certificate_input *names, const popliner_plan *plan,
                            char delimiter, pl_text *text) {
    pl_text line = {0};
    pl_certificate_add_line(&line, plan, names->unit_names);
    text->failed = text->failed || line.failed;
    if (!text->failed)
        pl_certificate_add_field(text, line.data, delimiter);
    free(line.data);
}

void pl_plan_rows_put_stage(const pl_certificate_input *names, const popliner_plan_stage *stage,
                            pl_json *json) {
    pl_put_number(json, "ipu", stage->ipu);
    pl_put_text(json, "from", names->unit_names[stage->first_unit]);
    pl_put_text(json, "to", names->unit_names[stage->last_unit]);
}

void pl_plan_rows_put(const pl_certificate_input *names, const popliner_plan *plan, pl_json *json) {
    const popliner_certificate c = of_plan(names, plan);
    pl_put_text(json, "status", status_of(plan));
    pl_certificate_objectives_json(&c, json);
    pl_put_number(json, "used", plan->num_ipus);
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < plan->num_stages; i++) {
        pl_put_open(json, NULL, '{');
        pl_plan_rows_put_stage(names, &plan->stages[i], json);
        pl_put_close(json);
    }
    pl_put_close(json);
}
