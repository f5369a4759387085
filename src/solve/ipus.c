/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/ipus.h"

uint64_t pl_limit_of(const popliner_solver_options *options, size_t ipu, uint64_t otherwise) {
    for (size_t i = 0; i < options->num_ipu_limits; ++i)
        if (options->ipu_limits[i].ipu == ipu)
            return options->ipu_limits[i].value;
    return otherwise;
}

uint64_t pl_limits_largest(const popliner_solver_options *options) {
    uint64_t largest = options->mem_per_tile;
    for (size_t i = 0; i < options->num_ipu_limits; ++i)
        if (options->ipu_limits[i].value > largest)
            largest = options->ipu_limits[i].value;
    return largest;
}

uint64_t pl_speed_of(const popliner_solver_options *options, size_t ipu) {
    for (size_t i = 0; i < options->num_ipu_speeds; ++i)
        if (options->ipu_speeds[i].ipu == ipu)
            return options->ipu_speeds[i].value;
    return POPLINER_SPEED_ONE;
}

uint64_t pl_speed_cycles(uint64_t millionths, uint64_t cycles) {
    /* in two parts, so that no product overflows: see the limits of speeds and cycles */
    uint64_t rest = cycles % millionths * POPLINER_SPEED_ONE;
    return cycles / millionths * POPLINER_SPEED_ONE + rest / millionths + (rest % millionths > 0);
}

/* Returns limit * speed, rounded down. */
static uint64_t times(uint64_t millionths, uint64_t limit) {
    uint64_t whole = limit / POPLINER_SPEED_ONE;
    uint64_t part = limit % POPLINER_SPEED_ONE * millionths / POPLINER_SPEED_ONE;
    return whole > (UINT64_MAX - part) / millionths ? UINT64_MAX : whole * millionths + part;
}

uint64_t pl_speed_most(uint64_t millionths, uint64_t limit) {
    return limit == UINT64_MAX ? UINT64_MAX : times(millionths, limit);
}

uint64_t pl_speed_fewest(uint64_t millionths, uint64_t limit) {
    /* one more than fits into a smaller limit */
    uint64_t less = limit == 0 ? 0 : times(millionths, limit - 1);
    return limit == 0 || less == UINT64_MAX ? less : less + 1;
}

/* ---- links ---- */

bool pl_links_exist(const popliner_solver_options *options) {
    return options->link_bandwidth.bytes > 0 || options->num_ipu_links > 0;
}

/* Returns the bandwidth of the link between two IPUs; none if they are one. O(links). */
static popliner_ipu_link link_between(const popliner_solver_options *options, size_t ipu,
                                      size_t other) {
    if (ipu == other)
        return (popliner_ipu_link){0};
    for (size_t i = 0; i < options->num_ipu_links; ++i) {
        const popliner_ipu_link *link = &options->ipu_links[i];
        if ((link->first_ipu == ipu && link->second_ipu == other) ||
            (link->first_ipu == other && link->second_ipu == ipu))
            return *link;
    }
    return options->link_bandwidth;
}

uint64_t pl_link_cycles(const popliner_costs *costs, popliner_ipu_link bandwidth, uint64_t bytes) {
    const uint64_t above[] = {bytes, bandwidth.cycles, costs->cycles_per_time_unit};
    if (bandwidth.bytes == 0)
        return 0;
    uint64_t cycles = pl_ratio_up(above, 3, &bandwidth.bytes, 1);
    return cycles < POPLINER_MAX_CYCLES ? cycles : POPLINER_MAX_CYCLES;
}

uint64_t pl_reduce_cycles(const popliner_costs *costs, popliner_ipu_link bandwidth,
                          size_t num_replicas, uint64_t bytes) {
    const uint64_t above[] = {2, num_replicas - 1, bytes, bandwidth.cycles,
                              costs->cycles_per_time_unit};
    const uint64_t below[] = {num_replicas, bandwidth.bytes};
    return bandwidth.bytes == 0 ? 0 : pl_ratio_up(above, 5, below, 2);
}

static bool is_same(popliner_ipu_link a, popliner_ipu_link b) {
    return a.bytes == b.bytes && a.cycles == b.cycles;
}

static size_t ipu_of(const popliner_solver_options *options, size_t place) {
    return options->num_mapped_stages > 0 ? options->device_map[place] : place;
}

/* Returns the bandwidth before a place; that of links without their own before the first one. */
static popliner_ipu_link link_before(const popliner_solver_options *options, size_t place) {
    return place == 0 ? options->link_bandwidth
                      : link_between(options, ipu_of(options, place - 1), ipu_of(options, place));
}

popliner_status pl_links_find(pl_links *links, const popliner_costs *costs,
                              const popliner_solver_options *options, size_t num_places,
                              popliner_error *error) {
    const size_t num_units = popliner_costs_num_units(costs);
    const size_t known = options->num_mapped_stages > 0
                             ? pl_fewer(options->num_mapped_stages, num_places + 1)
                             : num_places + 1;
    if (!pl_links_exist(options))
        return POPLINER_OK;
    links->width = num_units + 1;
    for (size_t place = 1; place < known; ++place)
        if (!is_same(link_before(options, place), options->link_bandwidth))
            links->num_special = place + 1; /* the places on both sides are special */
    const size_t num_rows = pl_more(1, links->num_special);
    links->cycles = pl_new_array(num_rows * links->width, sizeof *links->cycles);
    for (size_t place = 0; links->cycles != NULL && place < num_rows; ++place) {
        const popliner_ipu_link own = link_before(options, place);
        for (size_t unit = 1; unit < num_units; ++unit)
            links->cycles[place * links->width + unit] =
                pl_link_cycles(costs, own, popliner_costs_cut(costs, unit));
    }
    return links->cycles != NULL ? POPLINER_OK : pl_fail_memory(error, "the links between IPUs");
}

void pl_links_free(pl_links *links) {
    free(links->cycles);
    *links = (pl_links){0};
}

const uint64_t *pl_links_before(const pl_links *links, size_t place) {
    if (links->cycles == NULL)
        return NULL;
    return links->cycles + (place < links->num_special ? place : 0) * links->width;
}
