/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/report_parts.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/text.h"
#include "memory/parts.h"
#include "pipeline/pipeline.h"

popliner_status pl_report_finish(pl_text *text, popliner_status status, char **result,
                                 popliner_error *error) {
    if (status == POPLINER_OK && text->failed)
        status = pl_fail_memory(error, "a report");
    *result = NULL;
    if (status == POPLINER_OK)
        *result = text->data;
    else
        free(text->data);
    return status;
}

popliner_status pl_report_finish_printable(pl_text *text, popliner_status status, char **result,
                                           popliner_error *error) {
    pl_text_make_printable(text);
    return pl_report_finish(text, status, result, error);
}

double pl_report_percent(uint64_t bytes, uint64_t truth_bytes) {
    if (truth_bytes == 0)
        return bytes == 0 ? 0 : 100;
    return 100 * ((double)bytes - (double)truth_bytes) / (double)truth_bytes;
}

void pl_report_memory_json(const popliner_stage_detail *detail, bool is_full,
                           const popliner_pipeline *pipeline, pl_json *json) {
    const bool is_shown[PL_PART_NOWHERE] = {
        [PL_PART_ALWAYS] = true,
        [PL_PART_FULL] = is_full,
        [PL_PART_TRAINING] = is_full && pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN,
        [PL_PART_KEPT] = pl_pipeline_keeps(pipeline),
    };
    pl_put_open(json, "mem", '{');
    pl_put_number(json, "total_mem", detail->total_bytes);
    pl_put_number(json, "max_tile_mem", detail->tile_bytes);
    for (int place = 0; place < PL_PART_NOWHERE; place++) {
        if (place == PL_PART_KEPT && pl_is_calibrated(&pipeline->calibration))
            pl_put_signed(json, "correction", detail->correction_bytes);
        for (int part = 0; is_shown[place] && part < POPLINER_NUM_PARTS; part++)
            if ((int)pl_parts[part].place == place)
                pl_put_number(json, pl_parts[part].info.name, detail->part_bytes[part]);
    }
    pl_put_close(json);
}

static void put_scales(const char *key, const popliner_scales *scales, pl_json *json) {
    pl_put_open(json, key, '{');
    pl_put_real(json, "code_scale", (double)scales->code_per_million / 1e6);
    pl_put_real(json, "data_scale", (double)scales->data_per_million / 1e6);
    pl_put_real(json, "layout_scale", (double)scales->layout_per_million / 1e6);
    pl_put_close(json);
}

void pl_report_calibration_json(const popliner_calibration *calibration, pl_json *json) {
    put_scales("earlier_stages", &calibration->earlier, json);
    put_scales("last_stage", &calibration->last, json);
}

void pl_report_effects_json(unsigned effects, pl_json *json) {
    pl_put_open(json, "effects", '[');
    for (size_t i = 0; pl_effect_name(i) != NULL; i++)
        if ((effects >> i & 1) != 0)
            pl_put_text(json, NULL, pl_effect_name(i));
    pl_put_close(json);
}

void pl_report_needs_json(const popliner_stage_detail *detail, uint64_t limit_bytes,
                          pl_json *json) {
    const uint64_t *need_bytes = detail->need_bytes;
    pl_put_open(json, "needs", '{');
    pl_put_number(json, "at_least_bytes", need_bytes[POPLINER_NEED_LEAST]);
    pl_put_number(json, "expected_bytes", need_bytes[POPLINER_NEED_EXPECTED]);
    pl_put_number(json, "at_most_bytes", need_bytes[POPLINER_NEED_MOST]);
    pl_put_text(json, "verdict", popliner_verdict_text(popliner_verdict_of(detail, limit_bytes)));
    pl_put_signed(json, "margin_bytes",
                  (int64_t)(limit_bytes - need_bytes[POPLINER_NEED_EXPECTED]));
    pl_put_real(json, "margin_spreads", popliner_margin_spreads(detail, limit_bytes));
    pl_put_close(json);
}

void pl_report_variables_json(const popliner_stage_detail *detail, pl_json *json) {
    pl_put_open(json, "largest_variables", '[');
    for (size_t i = 0; i < detail->num_variables; i++) {
        const popliner_stage_variable *v = &detail->variables[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", v->name);
        pl_put_text(json, "category", v->category);
        pl_put_number(json, "size_bytes", v->size_bytes);
        pl_put_close(json);
    }
    pl_put_close(json);
}
