/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/dynamic_program.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/costs.h"

#include <stdlib.h>
#include <string.h>

/* No split of the rest of the chain; larger than any sum of cut bytes. */
#define NO_SPLIT UINT64_MAX

popliner_status pl_smallest_peak(const popliner_costs *costs, size_t max_stages,
                                 uint64_t *peak_bytes, popliner_error *error) {
    size_t num_units = popliner_costs_num_units(costs);
    /* rest[i]: the smallest peak of units i ... n - 1 in as many stages as rounds were done */
    uint64_t *rest = pl_new_array(num_units + 1, sizeof *rest);
    if (rest == NULL)
        return pl_fail_memory(error, "the smallest peaks");
    for (size_t i = 0; i < num_units; ++i)
        rest[i] = POPLINER_PEAK_FORBIDDEN;

    bool improved = true;
    for (size_t stages = 1; stages <= max_stages && improved; ++stages) {
        improved = false;
        /* in place: what follows unit i is still that of one stage fewer */
        for (size_t i = 0; i < num_units; ++i) {
            const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
            uint64_t best = rest[i];
            for (size_t d = 0; d < num_units - i; ++d) {
                uint64_t after = rest[i + d + 1];
                uint64_t larger = peaks[d] > after ? peaks[d] : after;
                best = larger < best ? larger : best;
            }
            improved = improved || best < rest[i];
            rest[i] = best;
        }
    }
    *peak_bytes = rest[0];
    free(rest);
    return POPLINER_OK;
}

/* Tables of the fewest cut bytes: row k, element i is for units i ... n - 1 in at most k stages.
 * Row 0 and every further row that differs from the one before; a row beyond the last equals it. */
typedef struct cut_tables {
    uint64_t *bytes;
    size_t capacity;
    size_t width; /* units + 1 */
    size_t num_rows;
} cut_tables;

static uint64_t *table_row(const cut_tables *tables, size_t stages) {
    size_t row = stages < tables->num_rows ? stages : tables->num_rows - 1;
    return tables->bytes + row * tables->width;
}

static bool add_row(cut_tables *tables) {
    void *items = tables->bytes;
    bool grown = pl_reserve(&items, &tables->capacity, (tables->num_rows + 1) * tables->width,
                            sizeof *tables->bytes);
    tables->bytes = items;
    if (grown)
        ++tables->num_rows;
    return grown;
}

/* Fills `row` for one stage more than `previous`. after[c] is the cost of going on at c: the cut
 * and the rest. */
static void fill_row(const popliner_costs *costs, uint64_t peak_limit_bytes,
                     const uint64_t *previous, uint64_t *after, uint64_t *row) {
    size_t num_units = popliner_costs_num_units(costs);
    for (size_t c = 1; c < num_units; ++c)
        after[c] = previous[c] == NO_SPLIT
                       ? NO_SPLIT
                       : pl_add_cut_bytes(popliner_costs_cut(costs, c), previous[c]);
    after[num_units] = 0;
    row[num_units] = 0;
    for (size_t i = 0; i < num_units; ++i) {
        const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
        const uint64_t *next = after + i + 1;
        uint64_t best = NO_SPLIT;
        for (size_t d = 0; d < num_units - i; ++d) {
            uint64_t candidate = peaks[d] <= peak_limit_bytes ? next[d] : NO_SPLIT;
            best = candidate < best ? candidate : best;
        }
        row[i] = best;
    }
}

static popliner_status fill_tables(const popliner_costs *costs, size_t max_stages,
                                   uint64_t peak_limit_bytes, cut_tables *tables,
                                   popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t num_units = popliner_costs_num_units(costs);
    tables->width = num_units + 1;
    uint64_t *after = pl_new_array(tables->width, sizeof *after);
    if (after == NULL || !add_row(tables)) {
        status = pl_fail_memory(error, "the fewest cut bytes");
        goto done;
    }
    for (size_t i = 0; i < num_units; ++i)
        tables->bytes[i] = NO_SPLIT;
    tables->bytes[num_units] = 0;
    for (size_t stages = 1; stages <= max_stages; ++stages) {
        if (!add_row(tables)) {
            status = pl_fail_memory(error, "the fewest cut bytes");
            goto done;
        }
        const uint64_t *previous = table_row(tables, stages - 1);
        uint64_t *row = table_row(tables, stages);
        fill_row(costs, peak_limit_bytes, previous, after, row);
        if (memcmp(previous, row, tables->width * sizeof *row) == 0) {
            --tables->num_rows;
            break;
        }
    }
done:
    free(after);
    return status;
}

/* Follows the tables from unit 0, each time to the first place from which the optimum is still
 * reached. The chain ends as soon as that is possible: the list of cuts so far begins all others
 * that are possible, and so is before them. The cut bytes used up to here belong into the
 * comparison, for sums that are cut off at PL_MOST_CUT_BYTES are equal although their ends differ.
 */
static popliner_status walk(const popliner_costs *costs, const cut_tables *tables,
                            size_t max_stages, uint64_t peak_limit_bytes, pl_split *split,
                            popliner_error *error) {
    size_t num_units = popliner_costs_num_units(costs);
    uint64_t optimum = table_row(tables, max_stages)[0];
    uint64_t used_bytes = 0;
    size_t unit = 0;
    size_t stages_left = max_stages;
    for (;;) {
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the stages");
        const uint64_t *peaks = pl_costs_peaks_from(costs, 1, unit);
        if (peaks[num_units - 1 - unit] <= peak_limit_bytes && used_bytes == optimum)
            return POPLINER_OK;
        --stages_left;
        const uint64_t *rest = table_row(tables, stages_left);
        size_t cut = unit + 1;
        uint64_t with_cut = 0;
        for (; cut < num_units; ++cut) {
            if (peaks[cut - 1 - unit] > peak_limit_bytes || rest[cut] == NO_SPLIT)
                continue;
            with_cut = pl_add_cut_bytes(used_bytes, popliner_costs_cut(costs, cut));
            if (pl_add_cut_bytes(with_cut, rest[cut]) == optimum)
                break;
        }
        if (cut == num_units || stages_left == 0)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "the tables of the dynamic program contradict themselves at unit %zu",
                           unit);
        used_bytes = with_cut;
        unit = cut;
    }
}

popliner_status pl_earliest_best_split(const popliner_costs *costs, size_t max_stages,
                                       uint64_t peak_limit_bytes, pl_split *split,
                                       uint64_t *cut_bytes, popliner_error *error) {
    cut_tables tables = {0};
    popliner_status status = fill_tables(costs, max_stages, peak_limit_bytes, &tables, error);
    if (status != POPLINER_OK)
        goto done;
    *cut_bytes = table_row(&tables, max_stages)[0];
    if (*cut_bytes != NO_SPLIT)
        status = walk(costs, &tables, max_stages, peak_limit_bytes, split, error);
done:
    free(tables.bytes);
    return status;
}
