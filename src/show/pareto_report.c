/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/plan_rows.h"
#include "show/report_parts.h"

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
        pl_plan_rows_put(names, popliner_pareto_plan_at(pareto, i), json);
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
        return pl_report_finish_printable(&text, status, result, error);
    }
    pl_plan_rows_add_header(&input, delimiter, &text);
    for (size_t i = 0; i < popliner_pareto_get_summary(pareto)->num_points; i++)
        pl_plan_rows_add(&input, popliner_pareto_plan_at(pareto, i), delimiter, &text);
    return pl_report_finish_printable(&text, POPLINER_OK, result, error);
}
