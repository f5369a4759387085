/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

popliner_status pl_stage_memory_begin(pl_stage_memory *memory, size_t num_tiles,
                                      popliner_error *error) {
    uint64_t **const arrays[] = {
        &memory->variables_bytes,
        &memory->vertex_code_bytes,
        &memory->vertex_state_bytes,
        &memory->exchange_code_bytes,
        &memory->control_code_bytes,
        &memory->unexplained_bytes,
        &memory->total_bytes,
        &memory->peak_step,
        &memory->unexplained_always_live_bytes,
        &memory->buffer_bytes,
        &memory->accumulator_bytes,
        &memory->least_bytes,
        &memory->most_bytes,
    };
    if (memory->num_tiles != num_tiles)
        pl_stage_memory_clear(memory);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (*arrays[i] == NULL)
            *arrays[i] = pl_new_array(num_tiles, sizeof **arrays[i]);
        if (*arrays[i] == NULL) {
            pl_stage_memory_clear(memory);
            return pl_fail_memory(error, "the memory of a stage");
        }
        memset(*arrays[i], 0, num_tiles * sizeof **arrays[i]);
    }
    memory->num_tiles = num_tiles;
    return POPLINER_OK;
}

void pl_stage_memory_clear(pl_stage_memory *memory) {
    free(memory->variables_bytes);
    free(memory->vertex_code_bytes);
    free(memory->vertex_state_bytes);
    free(memory->exchange_code_bytes);
    free(memory->control_code_bytes);
    free(memory->unexplained_bytes);
    free(memory->unexplained_always_live_bytes);
    free(memory->total_bytes);
    free(memory->peak_step);
    free(memory->buffer_bytes);
    free(memory->accumulator_bytes);
    free(memory->least_bytes);
    free(memory->most_bytes);
    *memory = (pl_stage_memory){0};
}

uint64_t pl_tiles_sum(const uint64_t *bytes, size_t num_tiles) {
    uint64_t sum = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sum += bytes[tile];
    return sum;
}

uint64_t pl_tiles_max(const uint64_t *bytes, size_t num_tiles) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        largest = bytes[tile] > largest ? bytes[tile] : largest;
    return largest;
}
