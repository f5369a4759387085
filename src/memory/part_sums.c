/* Sums of operations: each is a unit of its own in a chain whose digest is made for this, tile by
 * tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/operations.h"

/* ---- All operations at once ------------------------------------------------------------------ */

/* The chain of operations, and what its digest refers to. */
typedef struct work {
    pl_arrays arrays; /* own all arrays */
    pl_chain chain;
    pl_pass_usage pass_usage; /* forward, as without training */
    pl_estimation estimation;
    pl_digest digest;
    pl_row *row;
    pl_stage_tile *measured;     /* [operations]: on the current tile */
    popliner_stage_detail *sums; /* [operations]: the result */
} work;

/* Makes an operation of each unit. */
static void begin_chain(work *w, const pl_stage_meter *meter) {
    const size_t count = pl_operations_count(meter->chain->operations);
    pl_chain *chain = &w->chain;
    *chain = *meter->chain;
    chain->num_units = count;
    chain->kind = pl_arrays_new(&w->arrays, count, sizeof *chain->kind);
    chain->unit_of_operation = pl_arrays_new(&w->arrays, count, sizeof(uint32_t));
    chain->unit_operations_start = pl_arrays_new(&w->arrays, count + 1, sizeof(size_t));
    chain->unit_operation = pl_arrays_new(&w->arrays, count, sizeof(size_t));
    for (size_t i = 0; !w->arrays.failed && i < count; i++) {
        chain->kind[i] = POPLINER_UNIT_LAYER;
        chain->unit_of_operation[i] = (uint32_t)i;
        chain->unit_operation[i] = i;
        chain->unit_operations_start[i + 1] = i + 1;
    }
}

static void begin_work(work *w, const pl_stage_meter *meter) {
    begin_chain(w, meter);
    const size_t count = w->chain.num_units;
    pl_pass_usage *usage = &w->pass_usage;
    usage->passes.turn_step = SIZE_MAX;
    if (w->arrays.failed)
        return;
    pl_unit_usage_find(&usage->usage, &w->arrays, w->chain.usage, w->chain.unit_of_operation, count,
                       pl_chain_is_full(meter->chain));
    if (w->arrays.failed)
        return;
    usage->num_units = count;
    pl_pass_uses_find(usage, &w->arrays);
    w->measured = pl_arrays_new(&w->arrays, count, sizeof *w->measured);
    if (w->arrays.failed)
        return;
    pl_digest_begin(&w->digest, &w->arrays, &w->chain, &meter->account, usage, NULL);
    w->estimation.digest = &w->digest;
    w->row = pl_row_new(&w->arrays, &w->estimation);
}

/* Adds what each operation has on a tile. */
static void add_tile(void *user, size_t tile) {
    work *w = user;
    const bool is_measured = pl_row_measure_each(w->row, tile, w->measured);
    for (size_t i = 0; is_measured && i < w->chain.num_units; i++) {
        uint64_t part_bytes[POPLINER_NUM_PARTS] = {0};
        pl_stage_tile_parts(&w->measured[i], &w->measured[i].plain, part_bytes);
        for (int part = 0; part < POPLINER_NUM_PARTS; part++)
            w->sums[i].part_bytes[part] += part_bytes[part];
    }
}

/* Measures all operations at once, each like pl_stage_measure_ipu, for its own steps. Cost: that
 * of making a digest, one tile after another, and for each operation O(its items in it). */
static void measure_at_once(pl_stage_meter *meter, popliner_stage_detail *sums) {
    work w = {.sums = sums};
    begin_work(&w, meter);
    if (!w.arrays.failed)
        pl_digest_make(&w.digest,
                       &(pl_digest_making){.num_threads = 1, .visit = add_tile, .user = &w},
                       &w.arrays);
    for (size_t i = 0; !w.arrays.failed && i < w.chain.num_units; i++)
        sums[i].total_bytes = pl_parts_sum(sums[i].part_bytes);
    pl_digest_free(&w.digest);
    pl_arrays_end(&w.arrays, &meter->arrays);
}

/* ---- All operations, in either model --------------------------------------------------------- */

popliner_status pl_operation_sums_measure(pl_stage_meter *meter, const popliner_listener *listener,
                                          popliner_stage_detail **sums, popliner_error *error) {
    const pl_operations *operations = meter->chain->operations;
    const size_t count = pl_operations_count(operations);
    const bool is_at_once = meter->popliner == NULL;
    pl_arrays own = {0};
    pl_keys contexts = {.arrays = &own, .key_size = sizeof(uint64_t)};
    size_t *first = pl_arrays_new(&own, count, sizeof *first); /* operation of each context */
    popliner_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    *sums = pl_new_array(count, sizeof **sums);
    meter->arrays.failed = own.failed || *sums == NULL;
    if (!meter->arrays.failed && is_at_once && count > 0)
        measure_at_once(meter, *sums);
    for (size_t i = 0; status == POPLINER_OK && !meter->arrays.failed && i < count; i++) {
        const size_t num_contexts = contexts.count;
        const size_t context =
            pl_keys_number(&contexts, &pl_operation_at(operations, i)->debug_context);
        pl_progress(listener, "Measuring the operations", i, count);
        meter->arrays.failed = own.failed;
        if (own.failed)
            break;
        if (context < num_contexts) {
            (*sums)[i] = (*sums)[first[context]];
            continue;
        }
        first[context] = i;
        if (is_at_once)
            continue;
        status = pl_stage_measure_operations(meter, &i, 1, &memory, error);
        if (status == POPLINER_OK)
            pl_stage_sum(&memory, &(*sums)[i]);
    }
    if (status == POPLINER_OK && meter->arrays.failed)
        status = pl_fail_memory(error, "a report");
    if (status == POPLINER_OK)
        pl_progress(listener, "Measuring the operations", count, count);
    pl_stage_memory_clear(&memory);
    pl_arrays_free(&own);
    if (status != POPLINER_OK) {
        free(*sums);
        *sums = NULL;
    }
    return status;
}
