/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/stage_detail.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "popliner/liveness.h"
#include "show/report_parts.h"

popliner_status pl_stage_detail_measure(popliner_stage_meter *meter,
                                        const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        pl_stage_detail *detail, popliner_error *error) {
    popliner_stage_memory memory = {0};
    uint64_t *kept_bytes = NULL;
    pl_stage_detail *d = detail;
    popliner_status status =
        popliner_stage_measure_shared(meter, stages, num_stages, &memory, error);
    size_t n = memory.num_tiles;
    if (status == POPLINER_OK && (kept_bytes = pl_new_array(n, sizeof *kept_bytes)) == NULL)
        status = pl_fail_memory(error, "a report");
    if (status == POPLINER_OK)
        status =
            popliner_stage_measure_kept(meter, pipeline, stages, num_stages, kept_bytes, error);
    if (status != POPLINER_OK)
        goto done;
    *d = (pl_stage_detail){
        .variables_bytes = popliner_sum_of_tiles(memory.variables_bytes, n),
        .vertex_code_bytes = popliner_sum_of_tiles(memory.vertex_code_bytes, n),
        .vertex_state_bytes = popliner_sum_of_tiles(memory.vertex_state_bytes, n),
        .exchange_code_bytes = popliner_sum_of_tiles(memory.exchange_code_bytes, n),
        .control_code_bytes = popliner_sum_of_tiles(memory.control_code_bytes, n),
        .unexplained_bytes = popliner_sum_of_tiles(memory.unexplained_bytes, n),
        .stash_bytes = popliner_sum_of_tiles(kept_bytes, n),
        .total_bytes =
            popliner_sum_of_tiles(memory.total_bytes, n) + popliner_sum_of_tiles(kept_bytes, n),
        .parameter_bytes = popliner_stage_parameter_bytes(meter),
    };
    for (size_t tile = 0; tile < n; tile++) {
        uint64_t bytes = memory.total_bytes[tile] + kept_bytes[tile];
        if (bytes > d->tile_bytes) {
            d->tile_bytes = bytes;
            d->tile = tile;
        }
    }
    d->tile_unexplained_bytes = n > 0 ? memory.unexplained_bytes[d->tile] : 0;
    d->tile_stash_bytes = n > 0 ? kept_bytes[d->tile] : 0;
    d->step = n > 0 ? (size_t)memory.peak_step[d->tile] : 0;
    d->num_variables =
        popliner_stage_largest_variables(meter, d->tile, d->step, d->variables, PL_SHOWN_VARIABLES);
done:
    free(kept_bytes);
    popliner_stage_memory_clear(&memory);
    return status;
}

json_t *pl_stage_detail_memory_json(const pl_stage_detail *detail, bool is_full, bool has_stash) {
    json_t *mem = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total_mem", (json_int_t)detail->total_bytes,
        "max_tile_mem", (json_int_t)detail->tile_bytes, "variables",
        (json_int_t)detail->variables_bytes, "vertex_code", (json_int_t)detail->vertex_code_bytes,
        "vertex_state", (json_int_t)detail->vertex_state_bytes, "exchange_code",
        (json_int_t)detail->exchange_code_bytes, "control_code",
        (json_int_t)detail->control_code_bytes);
    if ((is_full &&
         json_object_set_new(mem, "unexplained",
                             json_integer((json_int_t)detail->unexplained_bytes)) != 0) ||
        (has_stash &&
         json_object_set_new(mem, "stash", json_integer((json_int_t)detail->stash_bytes)) != 0)) {
        json_decref(mem);
        return NULL;
    }
    return mem;
}

json_t *pl_stage_detail_variables_json(const pl_stage_detail *detail,
                                       const popliner_profile *profile) {
    json_t *variables = json_array();
    for (size_t i = 0; variables != NULL && i < detail->num_variables; i++) {
        popliner_variable v = popliner_liveness_variable(profile, detail->variables[i].variable);
        json_t *item =
            json_pack("{s:o, s:o, s:I}", "name", pl_report_json_text(v.name), "category",
                      pl_report_json_text(v.category), "size_bytes", (json_int_t)v.size_bytes);
        if (json_array_append_new(variables, item) != 0) {
            json_decref(variables);
            variables = NULL;
        }
    }
    return variables;
}
