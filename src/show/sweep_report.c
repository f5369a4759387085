/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/structs.h"
#include "show/plan_rows.h"
#include "show/report_parts.h"

/* A row with its value. NULL without memory. */
static json_t *row_json(const pl_certificate_input *names, uint64_t value,
                        const popliner_plan *plan) {
    json_t *row = pl_plan_rows_json(names, plan);
    json_t *result = row == NULL ? NULL : json_pack("{s:I}", "value", (json_int_t)value);
    if (result != NULL && json_object_update(result, row) != 0) {
        json_decref(result);
        result = NULL;
    }
    json_decref(row);
    return result;
}

/* NULL without memory. */
static json_t *sweep_json(const popliner_sweep *sweep, const pl_certificate_input *names) {
    json_t *rows = json_array();
    bool done = rows != NULL;
    for (size_t i = 0; done && i < sweep->num_values; i++)
        done = json_array_append_new(rows, row_json(names, sweep->values[i], sweep->plans[i])) == 0;
    return json_pack("{s:s, s:o, s:o}", "sweep", sweep->what, "order",
                     pl_certificate_order_json(names), "results", pl_report_whole(rows, done));
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
        status = pl_report_json(sweep_json(&own, &input), &text, error);
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
