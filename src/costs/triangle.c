/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/triangle.h"

#include <assert.h>
#include <string.h>

void pl_interval_sums_init(pl_interval_sums *sums, size_t num_units, size_t width) {
    pl_arrays *arrays = &sums->arrays;
    sums->num_units = num_units;
    sums->width = width;
    arrays->failed = width > SIZE_MAX / sizeof(uint64_t) / (num_units + 1);
    sums->first_arrival = pl_arrays_new(arrays, num_units, sizeof *sums->first_arrival);
    sums->arriving = pl_arrays_new(arrays, num_units * width, sizeof *sums->arriving);
    sums->totals = pl_arrays_new(arrays, width, sizeof *sums->totals);
    for (size_t i = 0; !arrays->failed && i < num_units; ++i)
        sums->first_arrival[i] = SIZE_MAX;
}

/* Stores the amounts; returns their index. */
static size_t keep_amounts(pl_interval_sums *sums, const uint64_t *amounts) {
    const size_t place = sums->num_amounts;
    if (!pl_arrays_grow(&sums->arrays, &sums->amounts, place + sums->width, sizeof *amounts))
        return place;
    memcpy(sums->amounts + place, amounts, sums->width * sizeof *amounts);
    sums->num_amounts += sums->width;
    return place;
}

/* After a unit, or from the first one on, intervals begin that gain the amounts at `end`. */
static void arrive(pl_interval_sums *sums, size_t begins_after, size_t end, size_t amounts) {
    const size_t beginning = begins_after == SIZE_MAX ? 0 : begins_after + 1;
    assert(beginning <= end && end < sums->num_units);
    if (!pl_arrays_grow(&sums->arrays, &sums->arrivals, sums->num_arrivals + 1,
                        sizeof *sums->arrivals))
        return;
    sums->arrivals[sums->num_arrivals] =
        (pl_sum_arrival){end, amounts, sums->first_arrival[beginning]};
    sums->first_arrival[beginning] = sums->num_arrivals++;
}

void pl_interval_sums_add(pl_interval_sums *sums, const size_t *units, size_t num_units,
                          const uint64_t *amounts) {
    const size_t place = keep_amounts(sums, amounts);
    for (size_t i = 0; i < num_units; ++i)
        arrive(sums, i == 0 ? SIZE_MAX : units[i - 1], units[i], place);
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

void pl_interval_sums_add_arrival(pl_interval_sums *sums, const pl_arrival *arrival) {
    if (sums->arrays.failed)
        return;
    memset(sums->totals, 0, sums->width * sizeof *sums->totals);
    sums->totals[0] = arrival->bytes;
    arrive(sums, arrival->begins_after, arrival->unit, keep_amounts(sums, sums->totals));
}

void pl_interval_sums_begin(pl_interval_sums *sums) {
    size_t beginning = sums->next_beginning++;
    assert(beginning < sums->num_units && !sums->arrays.failed);
    for (size_t i = sums->first_arrival[beginning]; i != SIZE_MAX; i = sums->arrivals[i].next) {
        uint64_t *arriving = sums->arriving + sums->arrivals[i].end * sums->width;
        const uint64_t *amounts = sums->amounts + sums->arrivals[i].amounts;
        for (size_t k = 0; k < sums->width; ++k)
            arriving[k] += amounts[k];
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
