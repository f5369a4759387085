/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/triangle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

bool pl_interval_sums_init(pl_interval_sums *sums, size_t num_units, size_t width) {
    sums->num_units = num_units;
    sums->width = width;
    if (width > SIZE_MAX / sizeof(uint64_t) / (num_units + 1))
        return false;
    sums->first_change = pl_new_array(num_units, sizeof *sums->first_change);
    sums->arriving = pl_new_array(num_units * width, sizeof *sums->arriving);
    sums->totals = pl_new_array(width, sizeof *sums->totals);
    if (sums->first_change == NULL || sums->arriving == NULL || sums->totals == NULL)
        return false;
    for (size_t i = 0; i < num_units; ++i)
        sums->first_change[i] = SIZE_MAX;
    return true;
}

void pl_interval_sums_free(pl_interval_sums *sums) {
    free(sums->amounts);
    free(sums->changes);
    free(sums->first_change);
    free(sums->arriving);
    free(sums->totals);
    *sums = (pl_interval_sums){0};
}

/* Stores the amounts; returns their index, or SIZE_MAX when memory is short. */
static size_t keep_amounts(pl_interval_sums *sums, const uint64_t *amounts) {
    size_t place = sums->num_amounts;
    if (!pl_grow(&sums->amounts, &sums->amounts_capacity, place + sums->width, sizeof *amounts))
        return SIZE_MAX;
    memcpy(sums->amounts + place, amounts, sums->width * sizeof *amounts);
    sums->num_amounts += sums->width;
    return place;
}

/* From this beginning on, intervals gain (or, with is_loss, lose) the amounts at `end`. */
static bool change(pl_interval_sums *sums, size_t beginning, size_t end, size_t amounts,
                   bool is_loss) {
    if (beginning >= sums->num_units)
        return true;
    if (!pl_grow(&sums->changes, &sums->changes_capacity, sums->num_changes + 1,
                 sizeof *sums->changes))
        return false;
    sums->changes[sums->num_changes] =
        (pl_arrival_change){end, amounts, sums->first_change[beginning], is_loss};
    sums->first_change[beginning] = sums->num_changes++;
    return true;
}

static bool add_arrivals(pl_interval_sums *sums, const size_t *units, size_t num_units,
                         size_t amounts) {
    for (size_t i = 0; i < num_units; ++i) {
        assert(units[i] < sums->num_units && (i == 0 || units[i - 1] < units[i]));
        size_t beginning = i == 0 ? 0 : units[i - 1] + 1;
        if (!change(sums, beginning, units[i], amounts, false) ||
            !change(sums, units[i] + 1, units[i], amounts, true))
            return false;
    }
    return true;
}

bool pl_interval_sums_add(pl_interval_sums *sums, const size_t *units, size_t num_units,
                          const uint64_t *amounts) {
    size_t place = keep_amounts(sums, amounts);
    return place != SIZE_MAX && add_arrivals(sums, units, num_units, place);
}

bool pl_interval_sums_add_parted(pl_interval_sums *sums, const size_t *units, size_t num_units,
                                 const uint64_t *amounts) {
    if (num_units < 2) /* cannot be parted */
        return true;
    size_t place = keep_amounts(sums, amounts);
    return place != SIZE_MAX && add_arrivals(sums, units, num_units, place) &&
           change(sums, 0, units[num_units - 1], place, true) &&
           change(sums, units[0] + 1, units[num_units - 1], place, false);
}

/* A unit brings what it has above each earlier one that no unit between exceeds: these are open,
 * and as long as its own bytes are more, it closes them. */
size_t pl_arrivals_of_largest(const uint64_t *bytes, size_t num_units, pl_arrival *arrivals,
                              size_t *open) {
    size_t count = 0;
    size_t num_open = 0;
    for (size_t unit = 0; unit < num_units; ++unit) {
        uint64_t below = 0;
        while (num_open > 0 && bytes[open[num_open - 1]] <= bytes[unit]) {
            const size_t before = open[--num_open];
            if (bytes[before] > below)
                arrivals[count++] = (pl_arrival){unit, before, bytes[before] - below};
            below = bytes[before];
        }
        if (bytes[unit] > below)
            arrivals[count++] = (pl_arrival){unit, num_open > 0 ? open[num_open - 1] : SIZE_MAX,
                                             bytes[unit] - below};
        open[num_open++] = unit;
    }
    return count;
}

bool pl_interval_sums_add_arrival(pl_interval_sums *sums, const pl_arrival *arrival) {
    const size_t unit = arrival->unit;
    assert(arrival->begins_after == SIZE_MAX || arrival->begins_after < unit);
    memset(sums->totals, 0, sums->width * sizeof *sums->totals);
    sums->totals[0] = arrival->bytes;
    const size_t place = keep_amounts(sums, sums->totals);
    return place != SIZE_MAX && change(sums, arrival->begins_after + 1, unit, place, false) &&
           change(sums, unit + 1, unit, place, true);
}

void pl_interval_sums_begin(pl_interval_sums *sums) {
    size_t beginning = sums->next_beginning++;
    assert(beginning < sums->num_units);
    for (size_t i = sums->first_change[beginning]; i != SIZE_MAX; i = sums->changes[i].next) {
        uint64_t *arriving = sums->arriving + sums->changes[i].end * sums->width;
        const uint64_t *amounts = sums->amounts + sums->changes[i].amounts;
        /* a loss may come before its gain: modulo 2^64 the order does not matter */
        for (size_t k = 0; k < sums->width; ++k)
            arriving[k] += sums->changes[i].is_loss ? 0 - amounts[k] : amounts[k];
    }
    sums->next_end = beginning;
    memset(sums->totals, 0, sums->width * sizeof *sums->totals);
}

const uint64_t *pl_interval_sums_extend(pl_interval_sums *sums) {
    assert(sums->next_end < sums->num_units);
    const uint64_t *arriving = sums->arriving + sums->next_end++ * sums->width;
    for (size_t k = 0; k < sums->width; ++k)
        sums->totals[k] += arriving[k];
    return sums->totals;
}
