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
#include "memory/part_sums.h"
#include "memory/parts.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "show/report_parts.h"

static void add_names(pl_text *text, const char *const *names, size_t count, char delimiter) {
    for (size_t i = 0; i < count; i++)
        pl_text_format(text, "%s%c", names[i], delimiter);
}

/* Column names, those of the parts of operations in the middle, each followed by the delimiter. */
static void add_header(pl_text *text, const char *const *names, size_t count,
                       const char *const *more_names, size_t more_count, char delimiter) {
    add_names(text, names, count, delimiter);
    for (int i = 0; i < PL_NUM_OPERATION_PARTS; i++) {
        const char *words = pl_parts[pl_reported_parts[i]].info.text;
        pl_text_format(text, "%c%s%c", words[0] - 'a' + 'A', words + 1, delimiter);
    }
    add_names(text, more_names, more_count, delimiter);
    pl_text_add(text, "\n");
}

/* What those parts come to, with delimiters between them. */
static void add_parts(pl_text *text, const uint64_t *part_bytes, char delimiter) {
    for (int i = 0; i < PL_NUM_OPERATION_PARTS; i++) {
        if (i > 0)
            pl_text_format(text, "%c", delimiter);
        pl_text_format(text, "%" PRIu64, part_bytes[pl_reported_parts[i]]);
    }
}

/* "None" for what is in no layer, in every format of the original. */
static const char *shown_layer(const popliner_layers *layers, size_t unit) {
    const char *name = pl_layers_name(layers, unit);
    return name == NULL ? "None" : name;
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
    popliner_stage_memory memory = {0};
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
    pl_text_format(&text, "Total memory: %" PRIu64 ".0\n",
                   pl_tiles_sum(memory.need_bytes[POPLINER_NEED_EXPECTED], num_tiles));
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

popliner_status pl_report_operations(const popliner_operations *operations,
                                     const popliner_layers *layers, const popliner_chain *chain,
                                     pl_stage_meter *meter, const popliner_listener *listener,
                                     char delimiter, char **result, popliner_error *error) {
    static const char *const header[] = {"Layer", "Note", "Full name"};
    static const char *const unit_header[] = {"Unit"};
    bool has_unit = !chain->model->has_unlayered_unit; /* which is the layer otherwise */
    pl_text text = {0};
    pl_part_sums *sums = NULL;
    *result = NULL;
    popliner_status status = pl_operation_sums_measure(operations, meter, listener, &sums, error);
    if (status != POPLINER_OK)
        goto done;
    add_header(&text, header, 3, unit_header, has_unit ? 1 : 0, delimiter);
    size_t previous_unit = 0;
    for (size_t i = 0; i < popliner_operations_count(operations); i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        size_t unit = pl_layers_unit_of(layers, i);
        if (unit != previous_unit)
            pl_text_add(&text, "\n");
        previous_unit = unit;
        pl_text_format(&text, "%s%c%s%c", shown_layer(layers, unit), delimiter,
                       pl_layer_at(layers, i)->note, delimiter);
        pl_text_format(&text, "%s%c", operation->name, delimiter);
        add_parts(&text, sums[i].part_bytes, delimiter);
        if (has_unit)
            pl_text_format(&text, "%c%s", delimiter,
                           pl_chain_unit_at(chain, pl_chain_unit_of(chain, i))->label);
        pl_text_add(&text, "\n");
    }
done:
    free(sums);
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
    static const char *const header[] = {"Name"};
    static const char *const more_header[] = {"Total (MB)", "Unexplained"};
    bool has_unexplained = chain->model->follows_account;
    pl_text text = {0};
    popliner_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    add_header(&text, header, 1, more_header, has_unexplained ? 2 : 1, delimiter);
    for (size_t unit = 0; status == POPLINER_OK && unit < popliner_chain_num_units(chain); unit++) {
        status = pl_stage_measure_units(meter, unit, unit, &memory, error);
        if (status != POPLINER_OK)
            break;
        const pl_part_sums sums = pl_part_sums_of(meter, &memory);
        pl_text_format(&text, "%s%c", pl_chain_unit_at(chain, unit)->label, delimiter);
        add_parts(&text, sums.part_bytes, delimiter);
        pl_text_format(&text, "%c%" PRIu64, delimiter, round_to_mib(sums.total_bytes));
        if (has_unexplained)
            pl_text_format(&text, "%c%" PRIu64, delimiter,
                           sums.part_bytes[POPLINER_PART_UNEXPLAINED]);
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
