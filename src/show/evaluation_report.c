/* The stages of a plan against a limit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/failure.h"
#include "memory/chain_data.h"
#include "popliner/report.h"
#include "show/certificate_data.h"
#include "show/report_parts.h"

static void write_text(const popliner_plan_stage *stage, const popliner_stage_detail *d,
                       size_t number, const popliner_chain *chain, uint64_t limit_bytes,
                       pl_text *text) {
    pl_text_format(text, "Stage %zu: %s", number,
                   pl_chain_unit_at(chain, stage->first_unit)->label);
    if (stage->last_unit > stage->first_unit)
        pl_text_format(text, " to %s", pl_chain_unit_at(chain, stage->last_unit)->label);
    pl_text_format(text,
                   "\n  total %" PRIu64 " bytes; worst tile %zu: %" PRIu64 " bytes at step %zu, ",
                   d->total_bytes, d->tile, d->tile_bytes, d->step);
    if (d->tile_bytes <= limit_bytes)
        pl_text_format(text, "%" PRIu64 " below the limit of %" PRIu64 "\n",
                       limit_bytes - d->tile_bytes, limit_bytes);
    else
        pl_text_format(text, "%" PRIu64 " ABOVE the limit of %" PRIu64 "\n",
                       d->tile_bytes - limit_bytes, limit_bytes);
    for (size_t i = 0; i < d->num_variables; i++) {
        const popliner_stage_variable *v = &d->variables[i];
        pl_text_format(text, "  %10" PRIu64 "  %-16s %s\n", v->size_bytes, v->category, v->name);
    }
}

static json_t *name_or_null(const popliner_chain *chain, size_t unit) {
    const char *name = pl_chain_unit_at(chain, unit)->name;
    return name == NULL ? json_null() : pl_report_json_text(name);
}

static json_t *as_json(const popliner_plan_stage *stage, const popliner_stage_detail *d,
                       const popliner_chain *chain, uint64_t limit_bytes) {
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "unit_from",
        pl_report_json_text(pl_chain_unit_at(chain, stage->first_unit)->label), "unit_to",
        pl_report_json_text(pl_chain_unit_at(chain, stage->last_unit)->label), "layer_from",
        name_or_null(chain, stage->first_unit), "layer_to", name_or_null(chain, stage->last_unit),
        "total_bytes", (json_int_t)d->total_bytes, "tile", (json_int_t)d->tile, "tile_bytes",
        (json_int_t)d->tile_bytes, "step", (json_int_t)d->step, "headroom_bytes",
        (json_int_t)limit_bytes - (json_int_t)d->tile_bytes, "fits", d->tile_bytes <= limit_bytes,
        "largest_variables", pl_report_variables_json(d));
}

popliner_status popliner_report_evaluation(const popliner_certificate *certificate,
                                           popliner_format format, char **result,
                                           popliner_error *error) {
    const popliner_plan *plan = &certificate->plan;
    const popliner_stage_detail *details = certificate->details;
    const popliner_chain *chain = certificate->input.chain;
    uint64_t limit_bytes = certificate->options.options.max_stage_bytes;
    *result = NULL;
    if (!certificate->is_measured)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stages whose costs are of no profile have no details");
    pl_text text = {0};
    json_t *stages = json_array();
    popliner_status status = stages == NULL ? pl_fail_memory(error, "a report") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        if (format != POPLINER_FORMAT_JSON)
            write_text(stage, &details[i], i, chain, limit_bytes, &text);
        else if (json_array_append_new(stages, as_json(stage, &details[i], chain, limit_bytes)) !=
                 0)
            status = pl_fail_memory(error, "a report");
    }
    if (status == POPLINER_OK && format == POPLINER_FORMAT_JSON)
        status = pl_report_json(stages, &text, error);
    else if (status == POPLINER_OK)
        pl_text_format(&text, "Memory model: %s\n", chain->model->name);
    json_decref(stages);
    return pl_report_finish(&text, status, result, error);
}
