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
    const popliner_listener *listener;
} work;

/* Makes a unit of each operation. */
static void begin_chain(work *w, const pl_chain *original) {
    const size_t count = original->num_operations;
    pl_chain *chain = &w->chain;
    *chain = *original;
    chain->num_units = count;
    chain->kind = pl_arrays_new(&w->arrays, count, sizeof *chain->kind);
    chain->unit_of_operation = pl_arrays_new(&w->arrays, count, sizeof(uint32_t));
    for (size_t i = 0; !w->arrays.failed && i < count; i++) {
        chain->kind[i] = original->kind[original->unit_of_operation[i]];
        chain->unit_of_operation[i] = (uint32_t)i;
    }
}

static void begin_work(work *w, const pl_stage_meter *meter) {
    pl_pass_usage *usage = &w->pass_usage;
    begin_chain(w, meter->chain);
    usage->passes.turn_step = SIZE_MAX;
    if (!w->arrays.failed)
        pl_unit_usage_find(&usage->usage, &w->arrays, w->chain.usage, w->chain.unit_of_operation,
                           w->chain.num_units, pl_chain_is_full(meter->chain));
    if (!w->arrays.failed)
        pl_pass_uses_find(usage, &w->arrays, &w->chain);
    w->measured = pl_arrays_new(&w->arrays, w->chain.num_units, sizeof *w->measured);
    pl_digest_begin(&w->digest, &w->arrays, &w->chain, &meter->account, usage, NULL);
    w->estimation.digest = &w->digest;
    if (!w->arrays.failed && !pl_chain_is_full(meter->chain))
        w->estimation.popliner = pl_popliner_meter_new(&w->arrays, &w->digest);
    w->row = pl_row_new(&w->arrays, &w->estimation);
}

/* Adds what each operation has on a tile. */
static void add_tile(void *user, size_t tile) {
    work *w = user;
    const bool is_measured = pl_row_measure_each(w->row, tile, w->measured);
    pl_progress(w->listener, "Measuring the operations", tile, w->chain.profile->target.num_tiles);
    for (size_t i = 0; is_measured && i < w->chain.num_units; i++)
        pl_stage_tile_parts(&w->measured[i], &w->measured[i].plain, w->sums[i].part_bytes);
}

popliner_status pl_operation_sums_measure(pl_stage_meter *meter, const popliner_listener *listener,
                                          popliner_stage_detail **sums, popliner_error *error) {
    const size_t count = meter->chain->num_operations;
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    work w = {.sums = pl_new_array(count, sizeof **sums), .listener = listener};
    pl_keys contexts = {.arrays = &w.arrays, .key_size = sizeof(uint64_t)};
    size_t *first = pl_arrays_new(&w.arrays, count, sizeof *first); /* operation of each context */
    w.arrays.failed = w.arrays.failed || w.sums == NULL;
    if (!w.arrays.failed && count > 0) {
        const pl_digest_making how = {.num_threads = 1, .visit = add_tile, .user = &w};
        begin_work(&w, meter);
        pl_digest_make(&w.digest, &how, &w.arrays);
        pl_digest_free(&w.digest);
    }
    for (size_t i = 0; !w.arrays.failed && i < count; i++) {
        const size_t num_contexts = contexts.count;
        const size_t context =
            pl_keys_number(&contexts, &pl_operation_at(meter->chain->operations, i)->debug_context);
        if (context == num_contexts)
            first[context] = i;
        w.sums[i].total_bytes = pl_parts_sum(w.sums[i].part_bytes);
        w.sums[i] = w.sums[first[context]];
    }
    const bool has_failed = w.arrays.failed;
    pl_arrays_free(&w.arrays);
    *sums = has_failed ? NULL : w.sums;
    if (!has_failed) {
        pl_progress(listener, "Measuring the operations", num_tiles, num_tiles);
        return POPLINER_OK;
    }
    free(w.sums);
    return pl_fail_memory(error, "a report");
}
