/* The tables of PopLiner 1.0.0, byte by byte, and the bytes of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

/* The parts of operations, in the order of PopLiner's tables. */
enum { NUM_REPORTED = PL_NUM_CODE_GROUPS + 1 };
static const popliner_part reported_parts[NUM_REPORTED] = {
    POPLINER_PART_VERTEX_STATE, POPLINER_PART_VERTEX_CODE, POPLINER_PART_EXCHANGE_CODE,
    POPLINER_PART_CONTROL_CODE, POPLINER_PART_VARIABLES,
};

/* Appends the names of the parts of operations, each followed by the delimiter. */
static void add_part_names(pl_text *text, char delimiter) {
    for (int i = 0; i < NUM_REPORTED; i++) {
        const char *words = pl_parts[reported_parts[i]].text;
        pl_text_format(text, "%c%s%c", words[0] - 'a' + 'A', words + 1, delimiter);
    }
}

/* Appends these parts, separated by delimiters. */
static void add_parts(pl_text *text, const uint64_t *part_bytes, char delimiter) {
    for (int i = 0; i < NUM_REPORTED; i++) {
        if (i > 0)
            pl_text_format(text, "%c", delimiter);
        pl_text_format(text, "%" PRIu64, part_bytes[reported_parts[i]]);
    }
}

/* Returns a layer's name; "None" for unlayered operations, as in PopLiner 1.0.0. */
static const char *shown_layer(const pl_layers *layers, size_t unit) {
    const char *name = pl_layers_name(layers, unit);
    return name == NULL ? "None" : name;
}

popliner_status pl_report_memory_totals(const pl_section_source *source, char delimiter,
                                        pl_text *text, popliner_error *error) {
    enum { SHOWN_TILES = 10 };
    const popliner_profile *p = source->profile;
    const size_t num_tiles = p->target.num_tiles;
    const size_t shown = num_tiles < SHOWN_TILES ? num_tiles : SHOWN_TILES;
    const popliner_interval all = {0, pl_chain_num_units(source->chain) - 1, 1};
    popliner_stage_detail whole;
    PL_TRY(pl_stage_measure(source->meter, NULL, &all, 1, NULL, &whole, error));
    /* PopLiner 1.0.0 has this sum as a floating-point number, and prints it so */
    pl_text_format(text, "Total memory: %" PRIu64 ".0\n", whole.total_bytes);
    pl_text_format(text, "Category%c", delimiter);
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(text, "Tile %zu%c", tile, delimiter);
    pl_text_format(text, "\nAlways live");
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(text, "%c%" PRIu64, delimiter, p->tile_always_live_bytes[tile]);
    pl_text_format(text, "\nNot-always live");
    for (size_t tile = 0; tile < shown; tile++)
        pl_text_format(text, "%c%" PRIu64, delimiter, p->tile_not_always_live_peak_bytes[tile]);
    pl_text_add(text, "\n");
    return POPLINER_OK;
}

popliner_status pl_report_operations(const pl_section_source *source, char delimiter, pl_text *text,
                                     popliner_error *error) {
    const pl_layers *layers = source->chain->layers;
    const pl_chain *chain = source->chain;
    const bool has_unit = pl_chain_is_full(chain); /* else the layer is the unit */
    popliner_stage_detail *sums = NULL;
    PL_TRY(pl_operation_sums_measure(source->meter, source->listener, &sums, error));
    pl_text_format(text, "Layer%cNote%cFull name%c", delimiter, delimiter, delimiter);
    add_part_names(text, delimiter);
    if (has_unit)
        pl_text_format(text, "Unit%c", delimiter);
    pl_text_add(text, "\n");
    size_t previous_unit = 0;
    for (size_t i = 0; i < pl_operations_count(source->chain->operations); i++) {
        const popliner_operation *operation = pl_operation_at(source->chain->operations, i);
        size_t unit = pl_layers_unit_of(layers, i);
        if (unit != previous_unit)
            pl_text_add(text, "\n");
        previous_unit = unit;
        pl_text_format(text, "%s%c%s%c%s%c", shown_layer(layers, unit), delimiter,
                       pl_layer_at(layers, i)->note, delimiter, operation->name, delimiter);
        add_parts(text, sums[i].part_bytes, delimiter);
        if (has_unit)
            pl_text_format(text, "%c%s", delimiter, chain->labels[pl_chain_unit_of(chain, i)]);
        pl_text_add(text, "\n");
    }
    free(sums);
    return POPLINER_OK;
}

/* Rounds to MiB, half to even, like Python's round. */
static uint64_t round_to_mib(uint64_t bytes) {
    uint64_t mib = bytes >> 20;
    uint64_t rest = bytes & 0xfffff;
    uint64_t half = 0x80000;
    return mib + (rest > half || (rest == half && (mib & 1) != 0));
}

popliner_status pl_report_layers(const pl_section_source *source, char delimiter, pl_text *text,
                                 popliner_error *error) {
    const pl_chain *chain = source->chain;
    const bool has_unexplained = pl_chain_is_full(chain);
    pl_text_format(text, "Name%c", delimiter);
    add_part_names(text, delimiter);
    pl_text_format(text, "Total (MB)%c", delimiter);
    if (has_unexplained)
        pl_text_format(text, "Unexplained%c", delimiter);
    pl_text_add(text, "\n");
    for (size_t unit = 0; unit < pl_chain_num_units(chain); unit++) {
        const popliner_interval stage = {unit, unit, 1};
        popliner_stage_detail sums;
        PL_TRY(pl_stage_measure(source->meter, NULL, &stage, 1, NULL, &sums, error));
        pl_text_format(text, "%s%c", chain->labels[unit], delimiter);
        add_parts(text, sums.part_bytes, delimiter);
        pl_text_format(text, "%c%" PRIu64, delimiter, round_to_mib(sums.total_bytes));
        if (has_unexplained)
            pl_text_format(text, "%c%" PRIu64, delimiter,
                           sums.part_bytes[POPLINER_PART_UNEXPLAINED]);
        pl_text_add(text, "\n");
    }
    pl_text_add(text, "\n");
    return POPLINER_OK;
}

/* Writes a square table over the layers: row i, column j is bytes[i * num_layers + j]. */
static popliner_status report_pairs(const pl_layers *layers, const uint64_t *bytes, char delimiter,
                                    pl_text *text) {
    const size_t n = pl_layers_num_units(layers) - 1;
    pl_text_add(text, "layer");
    for (size_t j = 0; j < n; j++)
        pl_text_format(text, "%c%s", delimiter, pl_layers_name(layers, j + 1));
    pl_text_add(text, "\n");
    for (size_t i = 0; i < n; i++) {
        pl_text_add(text, pl_layers_name(layers, i + 1));
        for (size_t j = 0; j < n; j++)
            pl_text_format(text, "%c%" PRIu64, delimiter, bytes[i * n + j]);
        pl_text_add(text, "\n");
    }
    return POPLINER_OK;
}

popliner_status pl_report_affinity(const pl_section_source *source, char delimiter, pl_text *text,
                                   popliner_error *error) {
    (void)error;
    return report_pairs(source->chain->layers, source->pairs->affinity_bytes, delimiter, text);
}

popliner_status pl_report_communication(const pl_section_source *source, char delimiter,
                                        pl_text *text, popliner_error *error) {
    (void)error;
    return report_pairs(source->chain->layers, source->pairs->communication_bytes, delimiter, text);
}

/* ---- bytes by tile ---- */

size_t pl_tiles_largest(const popliner_profile *p) {
    size_t largest = 0;
    for (size_t tile = 1; tile < p->target.num_tiles; tile++) {
        if (p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile] >
            p->tile_always_live_bytes[largest] + p->tile_not_always_live_peak_bytes[largest])
            largest = tile;
    }
    return largest;
}

uint64_t pl_tiles_always_live(const popliner_profile *p, size_t tile, const uint8_t *selection) {
    bool is_of_all = tile == POPLINER_ALL_TILES;
    size_t first = is_of_all ? 0 : (size_t)p->tile_variables_start[tile];
    size_t end = is_of_all ? p->num_variables : (size_t)p->tile_variables_start[tile + 1];
    uint64_t bytes = 0;
    for (size_t v = first; v < end; v++) {
        if ((selection == NULL || selection[v] != 0) &&
            p->class_always_live[p->variable_class[v]] != 0)
            bytes += p->variable_size_bytes[v];
    }
    return bytes;
}
