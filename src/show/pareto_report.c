/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/plan_rows.h"
#include "show/report_parts.h"

static json_t *points_json(const popliner_pareto *pareto, const pl_certificate_input *names) {
    json_t *points = json_array();
    bool done = points != NULL;
    for (size_t i = 0; done && i < popliner_pareto_get_summary(pareto)->num_points; i++)
        done = json_array_append_new(
                   points, pl_plan_rows_json(names, popliner_pareto_plan_at(pareto, i))) == 0;
    return pl_report_whole(points, done);
}

/* NULL without memory. */
static json_t *pareto_json(const popliner_pareto *pareto, const pl_certificate_input *names) {
    const popliner_pareto_summary *summary = popliner_pareto_get_summary(pareto);
    return json_pack("{s:[s, s], s:b, s:o, s:s, s:o}", "pareto",
                     popliner_objective_name(summary->objectives[0]),
                     popliner_objective_name(summary->objectives[1]), "complete",
                     summary->is_complete, "order", pl_certificate_order_json(names), "time_unit",
                     names->time_unit, "results", points_json(pareto, names));
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
        status = pl_report_json(pareto_json(pareto, &input), &text, error);
        return pl_report_finish_printable(&text, status, result, error);
    }
    pl_plan_rows_add_header(&input, delimiter, &text);
    for (size_t i = 0; i < popliner_pareto_get_summary(pareto)->num_points; i++)
        pl_plan_rows_add(&input, popliner_pareto_plan_at(pareto, i), delimiter, &text);
    return pl_report_finish_printable(&text, POPLINER_OK, result, error);
}
