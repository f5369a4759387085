/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_detail.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "read/profile_data.h"

popliner_status popliner_stage_detail_measure(popliner_stage_meter *meter,
                                              const popliner_pipeline *pipeline,
                                              const popliner_interval *stages, size_t num_stages,
                                              popliner_stage_detail *detail,
                                              popliner_error *error) {
    popliner_stage_memory memory = {0};
    uint64_t *kept_bytes = NULL;
    popliner_stage_detail *d = detail;
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
    *d = (popliner_stage_detail){
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
    d->num_variables = popliner_stage_largest_variables(meter, d->tile, d->step, d->variables,
                                                        POPLINER_DETAIL_VARIABLES);
done:
    free(kept_bytes);
    popliner_stage_memory_clear(&memory);
    return status;
}

/* ---- of all stages ---- */

popliner_status pl_details_create(size_t num_units, size_t most_stages,
                                  popliner_stage_details **result, popliner_error *error) {
    *result = NULL;
    popliner_stage_details *details = calloc(1, sizeof *details);
    if (details == NULL)
        return pl_fail_memory(error, "the details of the stages");
    details->num_units = num_units;
    details->most_stages = most_stages;
    details->num_sums = num_units * (num_units + 1) / 2;
    details->num_tops =
        most_stages > SIZE_MAX / details->num_sums ? SIZE_MAX : most_stages * details->num_sums;
    details->sums = pl_new_array(details->num_sums, sizeof *details->sums);
    details->tops = pl_new_array(details->num_tops, sizeof *details->tops);
    if (details->sums == NULL || details->tops == NULL) {
        popliner_stage_details_free(details);
        return pl_fail_memory(error, "the details of the stages");
    }
    for (size_t i = 0; i < details->num_tops; i++)
        details->tops[i].tile = PL_NONE;
    *result = details;
    return POPLINER_OK;
}

void popliner_stage_details_free(popliner_stage_details *details) {
    if (details == NULL)
        return;
    free(details->sums);
    free(details->tops);
    free(details);
}

size_t pl_details_fields(popliner_stage_details *d, pl_field *fields) {
    fields[0] = (pl_field){"detail_sums", &d->sums, sizeof *d->sums, &d->num_sums, 0};
    fields[1] = (pl_field){"detail_tops", &d->tops, sizeof *d->tops, &d->num_tops, 0};
    return 2;
}

bool pl_details_check(const popliner_stage_details *details, const popliner_profile *profile) {
    bool is_right = details->num_sums == details->num_units * (details->num_units + 1) / 2 &&
                    details->num_tops == details->most_stages * details->num_sums;
    for (size_t i = 0; is_right && i < details->num_tops; i++) {
        const pl_detail_top *top = &details->tops[i];
        is_right = top->tile < profile->target.num_tiles && top->step <= profile->num_steps &&
                   top->num_variables <= POPLINER_DETAIL_VARIABLES;
        for (size_t k = 0; is_right && k < top->num_variables; k++)
            is_right = top->category[k] < profile->num_categories &&
                       (top->unlowered[k] == PL_NONE || top->unlowered[k] < profile->num_unlowered);
    }
    return is_right;
}

size_t pl_details_place(const popliner_stage_details *details, size_t first_unit,
                        size_t last_unit) {
    return first_unit * (2 * details->num_units - first_unit + 1) / 2 + (last_unit - first_unit);
}

/* Replaces the largest tile if the other one is larger, or as large and before it. */
static void raise_top(pl_detail_top *top, const pl_detail_top *other) {
    if (top->tile == PL_NONE || other->bytes > top->bytes ||
        (other->bytes == top->bytes && other->tile < top->tile))
        *top = *other;
}

void pl_details_add(popliner_stage_details *details, const popliner_pipeline *pipeline,
                    size_t first_unit, size_t last_unit, const pl_detail_tile *tile) {
    size_t place = pl_details_place(details, first_unit, last_unit);
    pl_detail_sums *sums = &details->sums[place];
    uint64_t bytes = tile->variables_bytes + tile->unexplained_bytes;
    sums->variables_bytes += tile->variables_bytes;
    sums->unexplained_bytes += tile->unexplained_bytes;
    sums->stash_bytes += tile->stash_bytes;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        sums->code_bytes[group] += tile->code_bytes[group];
        bytes += tile->code_bytes[group];
    }
    for (size_t stages = 1; stages <= details->most_stages; stages++) {
        uint64_t stash_bytes =
            stages == 1 ? 0 : popliner_pipeline_copies(pipeline, stages) * tile->stash_bytes;
        pl_detail_top top = {
            .bytes = bytes + stash_bytes,
            .unexplained_bytes = tile->unexplained_bytes,
            .stash_bytes = stash_bytes,
            .tile = (uint32_t)tile->tile,
            .step = (uint32_t)tile->step,
        };
        raise_top(&details->tops[(stages - 1) * details->num_sums + place], &top);
    }
}

void pl_details_merge(const popliner_stage_details *from, popliner_stage_details *to) {
    for (size_t i = 0; i < to->num_sums; i++) {
        to->sums[i].variables_bytes += from->sums[i].variables_bytes;
        to->sums[i].unexplained_bytes += from->sums[i].unexplained_bytes;
        to->sums[i].stash_bytes += from->sums[i].stash_bytes;
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            to->sums[i].code_bytes[group] += from->sums[i].code_bytes[group];
    }
    for (size_t i = 0; i < to->num_tops; i++) {
        if (from->tops[i].tile != PL_NONE)
            raise_top(&to->tops[i], &from->tops[i]);
    }
}

popliner_stage_detail popliner_stage_details_get(const popliner_stage_details *details,
                                                 const popliner_profile *profile,
                                                 const popliner_pipeline *pipeline,
                                                 const popliner_interval *stage) {
    size_t copies = pipeline == NULL ? 0 : popliner_pipeline_copies(pipeline, stage->stages_to_end);
    size_t place = pl_details_place(details, stage->first_unit, stage->last_unit);
    size_t from_end = copies == 0 ? 1 : stage->stages_to_end;
    from_end = from_end < details->most_stages ? from_end : details->most_stages;
    const pl_detail_sums *sums = &details->sums[place];
    const pl_detail_top *top = &details->tops[(from_end - 1) * details->num_sums + place];
    popliner_stage_detail d = {
        .variables_bytes = sums->variables_bytes,
        .vertex_code_bytes = sums->code_bytes[PL_VERTEX_CODE],
        .vertex_state_bytes = sums->code_bytes[PL_VERTEX_STATE],
        .exchange_code_bytes = sums->code_bytes[PL_EXCHANGE_CODE],
        .control_code_bytes = sums->code_bytes[PL_CONTROL_CODE],
        .unexplained_bytes = sums->unexplained_bytes,
        .stash_bytes = copies * sums->stash_bytes,
        .parameter_bytes = sums->parameter_bytes,
        .tile = top->tile,
        .tile_bytes = top->bytes,
        .tile_unexplained_bytes = top->unexplained_bytes,
        .tile_stash_bytes = top->stash_bytes,
        .step = top->step,
        .num_variables = top->num_variables,
    };
    d.total_bytes = d.variables_bytes + d.vertex_code_bytes + d.vertex_state_bytes +
                    d.exchange_code_bytes + d.control_code_bytes + d.unexplained_bytes +
                    d.stash_bytes;
    for (size_t i = 0; i < d.num_variables; i++) {
        uint32_t unlowered = top->unlowered[i];
        d.variables[i] = (popliner_stage_variable){
            .variable = top->variable[i],
            .size_bytes = top->size_bytes[i],
            .name = unlowered == PL_NONE
                        ? ""
                        : pl_profile_string(profile, profile->unlowered_name[unlowered]),
            .category = pl_profile_string(profile, profile->category_name[top->category[i]]),
        };
    }
    return d;
}
