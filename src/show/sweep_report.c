/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/structs.h"
#include "show/plan_rows.h"
#include "show/report_parts.h"

static void put_sweep(const popliner_sweep *sweep, const pl_certificate_input *names,
                      pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "sweep", sweep->what);
    pl_put_text(json, "order", names->unit_order);
    pl_put_open(json, "results", '[');
    for (size_t i = 0; i < sweep->num_values; i++) {
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "value", sweep->values[i]);
        pl_plan_rows_put(names, sweep->plans[i], json);
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
        return pl_report_finish_printable(&text, status, result, error);
    }
    pl_text_format(&text, "%s%c", own.what, delimiter);
    pl_plan_rows_add_header(&input, delimiter, &text);
    for (size_t i = 0; i < own.num_values; i++) {
        pl_text_format(&text, "%" PRIu64 "%c", own.values[i], delimiter);
        pl_plan_rows_add(&input, own.plans[i], delimiter, &text);
    }
    return pl_report_finish_printable(&text, POPLINER_OK, result, error);
}
