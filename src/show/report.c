/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/reports.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "model/layers_data.h"
#include "model/operations_data.h"
#include "profile/profile_data.h"
#include "show/report_parts.h"

/* Column names, each followed by the delimiter. */
static void add_header(pl_text *text, const char *const *names, size_t count, char delimiter) {
    for (size_t i = 0; i < count; i++)
        pl_text_format(text, "%s%c", names[i], delimiter);
    pl_text_add(text, "\n");
}

/* "None" for what is in no layer, in every format of the original. */
static const char *shown_layer(const popliner_layers *layers, size_t unit) {
    const char *name = pl_layers_name(layers, unit);
    return name == NULL ? "None" : name;
}

/* The sums over the tiles that the tables show. */
typedef struct sums {
    uint64_t vertex_state;
    uint64_t vertex_code;
    uint64_t exchange_code;
    uint64_t control_code;
    uint64_t variables;
    uint64_t unexplained;
    uint64_t total;
} sums;

static sums sum_memory(const pl_stage_memory *memory) {
    size_t n = memory->num_tiles;
    return (sums){
        .vertex_state = pl_tiles_sum(memory->vertex_state_bytes, n),
        .vertex_code = pl_tiles_sum(memory->vertex_code_bytes, n),
        .exchange_code = pl_tiles_sum(memory->exchange_code_bytes, n),
        .control_code = pl_tiles_sum(memory->control_code_bytes, n),
        .variables = pl_tiles_sum(memory->variables_bytes, n),
        .unexplained = pl_tiles_sum(memory->unexplained_bytes, n),
        .total = pl_tiles_sum(memory->total_bytes, n),
    };
}

/* The compiler's account of a tile that there is. */
static popliner_tile_memory account_of(const popliner_profile *profile, size_t tile) {
    popliner_tile_memory account = POPLINER_TILE_MEMORY_INIT;
    popliner_profile_tile(profile, tile, &account, NULL);
    return account;
}

popliner_status pl_report_memory_totals(const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        pl_stage_meter *meter, char delimiter, char **result,
                                        popliner_error *error) {
    enum { SHOWN_TILES = 10 };
    pl_text text = {0};
    pl_stage_memory memory = {0};
    size_t count = popliner_operations_count(operations);
    size_t *all = pl_new_array(count, sizeof *all);
    popliner_status status = POPLINER_OK;
    *result = NULL;
    if (all == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < count; i++)
        all[i] = i;
    status = pl_stage_measure(meter, all, count, &memory, error);
    if (status != POPLINER_OK)
        goto done;

    size_t num_tiles = profile->target.num_tiles;
    size_t shown = num_tiles < SHOWN_TILES ? num_tiles : SHOWN_TILES;
    /* the original holds this sum as a floating-point number, and shows it */
    pl_text_format(&text, "Total memory: %" PRIu64 ".0\n", sum_memory(&memory).total);
    pl_text_format(&text, "Category%c", delimiter);
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(&text, "Tile %zu%c", tile, delimiter);
    pl_text_format(&text, "\nAlways live");
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(&text, "%c%" PRIu64, delimiter, account_of(profile, tile).always_live_bytes);
    pl_text_format(&text, "\nNot-always live");
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(&text, "%c%" PRIu64, delimiter,
                       account_of(profile, tile).not_always_live_peak_bytes);
    pl_text_add(&text, "\n");
done:
    pl_stage_memory_clear(&memory);
    free(all);
    return pl_report_finish(&text, status, result, error);
}

/* The measured sums of one debug context. */
typedef struct context_sums {
    uint64_t debug_context;
    size_t operation; /* its first listing */
    sums sums;
} context_sums;

static int compare_contexts(const void *left, const void *right) {
    const context_sums *a = left;
    const context_sums *b = right;
    if (a->debug_context != b->debug_context)
        return a->debug_context < b->debug_context ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

/* Measures every debug context once; *contexts is sorted by id. */
static popliner_status measure_contexts(const popliner_operations *operations,
                                        pl_stage_meter *meter, const popliner_listener *listener,
                                        context_sums **contexts, size_t *num_contexts,
                                        popliner_error *error) {
    size_t count = popliner_operations_count(operations);
    context_sums *all = pl_new_array(count, sizeof *all);
    pl_stage_memory memory = {0};
    popliner_status status = all == NULL ? pl_fail_memory(error, "a report") : POPLINER_OK;
    *contexts = all;
    *num_contexts = 0;
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        all[i] = (context_sums){pl_operation_at(operations, i)->debug_context, i, {0}};
    qsort(all, count, sizeof *all, compare_contexts);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        pl_progress(listener, "Measuring the operations", i, count);
        if (i > 0 && all[i].debug_context == all[*num_contexts - 1].debug_context)
            continue;
        status = pl_stage_measure(meter, &all[i].operation, 1, &memory, error);
        all[*num_contexts] = all[i];
        if (status == POPLINER_OK)
            all[(*num_contexts)++].sums = sum_memory(&memory);
    }
    pl_progress(listener, "Measuring the operations", count, count);
    pl_stage_memory_clear(&memory);
    return status;
}

popliner_status pl_report_operations(const popliner_operations *operations,
                                     const popliner_layers *layers, const popliner_chain *chain,
                                     pl_stage_meter *meter, const popliner_listener *listener,
                                     char delimiter, char **result, popliner_error *error) {
    static const char *const header[] = {"Layer",        "Note",        "Full name",
                                         "Vertex state", "Vertex code", "Exchange code",
                                         "Control code", "Variables",   "Unit"};
    enum { NUM_COLUMNS = sizeof header / sizeof *header };
    bool has_unit = !chain->model->has_unlayered_unit; /* which is the layer otherwise */
    pl_text text = {0};
    context_sums *contexts = NULL;
    size_t num_contexts = 0;
    *result = NULL;
    popliner_status status =
        measure_contexts(operations, meter, listener, &contexts, &num_contexts, error);
    if (status != POPLINER_OK)
        goto done;
    add_header(&text, header, has_unit ? NUM_COLUMNS : NUM_COLUMNS - 1, delimiter);
    size_t previous_unit = 0;
    for (size_t i = 0; i < popliner_operations_count(operations); i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        size_t unit = pl_layers_unit_of(layers, i);
        if (unit != previous_unit)
            pl_text_add(&text, "\n");
        previous_unit = unit;
        context_sums key = {operation->debug_context, 0, {0}};
        size_t low = 0; /* the first context that is not before the key */
        size_t high = num_contexts;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (contexts[middle].debug_context < key.debug_context)
                low = middle + 1;
            else
                high = middle;
        }
        sums s = contexts[low].sums;
        pl_text_format(&text, "%s%c%s%c", shown_layer(layers, unit), delimiter,
                       pl_layer_at(layers, i)->note, delimiter);
        pl_text_format(&text, "%s%c", operation->name, delimiter);
        pl_text_format(&text, "%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64,
                       s.vertex_state, delimiter, s.vertex_code, delimiter, s.exchange_code,
                       delimiter, s.control_code, delimiter, s.variables);
        if (has_unit)
            pl_text_format(&text, "%c%s", delimiter,
                           pl_chain_unit_at(chain, pl_chain_unit_of(chain, i))->label);
        pl_text_add(&text, "\n");
    }
done:
    free(contexts);
    return pl_report_finish(&text, status, result, error);
}

/* Whole MiB, a half rounded to the even one, as Python's round does. */
static uint64_t round_to_mib(uint64_t bytes) {
    uint64_t mib = bytes >> 20;
    uint64_t rest = bytes & 0xfffff;
    uint64_t half = 0x80000;
    return mib + (rest > half || (rest == half && (mib & 1) != 0));
}

popliner_status pl_report_layers(const popliner_chain *chain, pl_stage_meter *meter, char delimiter,
                                 char **result, popliner_error *error) {
    static const char *const header[] = {"Name",          "Vertex state", "Vertex code",
                                         "Exchange code", "Control code", "Variables",
                                         "Total (MB)",    "Unexplained"};
    enum { NUM_COLUMNS = sizeof header / sizeof *header };
    bool has_unexplained = chain->model->follows_account;
    pl_text text = {0};
    pl_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    add_header(&text, header, has_unexplained ? NUM_COLUMNS : NUM_COLUMNS - 1, delimiter);
    for (size_t unit = 0; status == POPLINER_OK && unit < popliner_chain_num_units(chain); unit++) {
        status = pl_stage_measure_units(meter, unit, unit, &memory, error);
        if (status != POPLINER_OK)
            break;
        sums s = sum_memory(&memory);
        pl_text_format(&text, "%s%c", pl_chain_unit_at(chain, unit)->label, delimiter);
        pl_text_format(
            &text, "%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64,
            s.vertex_state, delimiter, s.vertex_code, delimiter, s.exchange_code, delimiter,
            s.control_code, delimiter, s.variables, delimiter, round_to_mib(s.total));
        if (has_unexplained)
            pl_text_format(&text, "%c%" PRIu64, delimiter, s.unexplained);
        pl_text_add(&text, "\n");
    }
    pl_text_add(&text, "\n");
    pl_stage_memory_clear(&memory);
    return pl_report_finish(&text, status, result, error);
}

popliner_status pl_report_layer_pairs(const popliner_layers *layers, const uint64_t *bytes,
                                      char delimiter, char **result, popliner_error *error) {
    pl_text text = {0};
    size_t n = pl_layers_num_units(layers) - 1;
    pl_text_add(&text, "layer");
    for (size_t j = 0; j < n; j++)
        pl_text_format(&text, "%c%s", delimiter, pl_layers_name(layers, j + 1));
    pl_text_add(&text, "\n");
    for (size_t i = 0; i < n; i++) {
        pl_text_add(&text, pl_layers_name(layers, i + 1));
        for (size_t j = 0; j < n; j++)
            pl_text_format(&text, "%c%" PRIu64, delimiter, bytes[i * n + j]);
        pl_text_add(&text, "\n");
    }
    return pl_report_finish(&text, POPLINER_OK, result, error);
}
