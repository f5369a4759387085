/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/operation_sums.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/part_sums.h"
#include "memory/stage_data.h"
#include "model/operations.h"

pl_memory_sums pl_memory_sums_of(const pl_stage_memory *memory) {
    size_t n = memory->num_tiles;
    return (pl_memory_sums){
        .vertex_state_bytes = pl_tiles_sum(memory->vertex_state_bytes, n),
        .vertex_code_bytes = pl_tiles_sum(memory->vertex_code_bytes, n),
        .exchange_code_bytes = pl_tiles_sum(memory->exchange_code_bytes, n),
        .control_code_bytes = pl_tiles_sum(memory->control_code_bytes, n),
        .variables_bytes = pl_tiles_sum(memory->variables_bytes, n),
        .unexplained_bytes = pl_tiles_sum(memory->unexplained_bytes, n),
        .total_bytes = pl_tiles_sum(memory->total_bytes, n),
    };
}

/* An operation in the order of contexts, those of one context as they are listed. */
typedef struct context_of {
    uint64_t debug_context;
    size_t operation;
} context_of;

static int compare_contexts(const void *left, const void *right) {
    const context_of *a = left;
    const context_of *b = right;
    if (a->debug_context != b->debug_context)
        return a->debug_context < b->debug_context ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

/* Measures all operations at once. */
static popliner_status measure_parts(const pl_stage_meter *meter, pl_memory_sums *sums,
                                     popliner_error *error) {
    const size_t count = popliner_operations_count(meter->operations);
    uint32_t *numbers = pl_new_array(count, sizeof *numbers);
    pl_part_sums *found = pl_new_array(count, sizeof *found);
    pl_unit_usage usage = {0};
    popliner_status status =
        numbers == NULL || found == NULL ? pl_fail_memory(error, "a report") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++)
        numbers[i] = (uint32_t)i;
    if (status == POPLINER_OK)
        status = pl_unit_usage_find(&usage, meter->profile, meter->operations, meter->chain->usage,
                                    numbers, count, &meter->account, error);
    const pl_parts parts = {.count = count, .part_of_operation = numbers, .usage = &usage};
    if (status == POPLINER_OK)
        status = pl_part_sums_measure(meter, &parts, found, error);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++)
        sums[i] = found[i].sums;
    pl_unit_usage_free(&usage);
    free(found);
    free(numbers);
    return status;
}

popliner_status pl_operation_sums_measure(const popliner_operations *operations,
                                          pl_stage_meter *meter, const popliner_listener *listener,
                                          pl_memory_sums **sums, popliner_error *error) {
    size_t count = popliner_operations_count(operations);
    const bool is_at_once = pl_part_sums_are_possible(meter);
    context_of *contexts = pl_new_array(count, sizeof *contexts);
    pl_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    *sums = pl_new_array(count, sizeof **sums);
    if (contexts == NULL || *sums == NULL) {
        status = pl_fail_memory(error, "a report");
        goto done;
    }
    if (is_at_once)
        status = measure_parts(meter, *sums, error);
    for (size_t i = 0; i < count; i++)
        contexts[i] = (context_of){pl_operation_at(operations, i)->debug_context, i};
    qsort(contexts, count, sizeof *contexts, compare_contexts);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        size_t operation = contexts[i].operation;
        pl_progress(listener, "Measuring the operations", i, count);
        if (i > 0 && contexts[i].debug_context == contexts[i - 1].debug_context) {
            (*sums)[operation] = (*sums)[contexts[i - 1].operation];
        } else if (!is_at_once) {
            status = pl_stage_measure(meter, &operation, 1, &memory, error);
            if (status == POPLINER_OK)
                (*sums)[operation] = pl_memory_sums_of(&memory);
        }
    }
    pl_progress(listener, "Measuring the operations", count, count);
done:
    pl_stage_memory_clear(&memory);
    free(contexts);
    if (status != POPLINER_OK) {
        free(*sums);
        *sums = NULL;
    }
    return status;
}
