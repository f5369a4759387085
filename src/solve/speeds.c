/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/speeds.h"

#include "base/failure.h"

#include <inttypes.h>

uint64_t pl_speed_of(const popliner_solver_options *options, size_t ipu) {
    for (size_t i = 0; i < options->num_ipu_speeds; ++i)
        if (options->ipu_speeds[i].ipu == ipu)
            return options->ipu_speeds[i].millionths;
    return POPLINER_SPEED_ONE;
}

uint64_t pl_speed_cycles(uint64_t millionths, uint64_t cycles) {
    /* in two parts, so that no product is too large: see the limits of speeds and cycles */
    uint64_t rest = cycles % millionths * POPLINER_SPEED_ONE;
    return cycles / millionths * POPLINER_SPEED_ONE + rest / millionths + (rest % millionths > 0);
}

/* limit * speed, rounded down. */
static uint64_t times(uint64_t millionths, uint64_t limit) {
    uint64_t whole = limit / POPLINER_SPEED_ONE;
    uint64_t part = limit % POPLINER_SPEED_ONE * millionths / POPLINER_SPEED_ONE;
    return whole > (UINT64_MAX - part) / millionths ? UINT64_MAX : whole * millionths + part;
}

uint64_t pl_speed_most(uint64_t millionths, uint64_t limit) {
    return limit == UINT64_MAX ? UINT64_MAX : times(millionths, limit);
}

uint64_t pl_speed_fewest(uint64_t millionths, uint64_t limit) {
    /* one more than is done in less */
    uint64_t less = limit == 0 ? 0 : times(millionths, limit - 1);
    return limit == 0 || less == UINT64_MAX ? less : less + 1;
}

popliner_status pl_speeds_check(const popliner_costs *costs, const popliner_solver_options *options,
                                popliner_error *error) {
    if (options->num_ipu_speeds > 0 && !popliner_costs_has_cycles(costs))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "speeds of IPUs need costs that have cycles; leave them out");
    for (size_t i = 0; i < options->num_ipu_speeds; ++i) {
        popliner_ipu_speed speed = options->ipu_speeds[i];
        if (speed.millionths < POPLINER_LEAST_SPEED || speed.millionths > POPLINER_MOST_SPEED)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "ipu_speeds: %" PRIu64 " millionths of IPU %zu are not from %d to %d",
                           speed.millionths, speed.ipu, POPLINER_LEAST_SPEED, POPLINER_MOST_SPEED);
        for (size_t j = 0; j < i; ++j)
            if (options->ipu_speeds[j].ipu == speed.ipu)
                return pl_fail(error, POPLINER_ERROR_USAGE, "ipu_speeds: IPU %zu is given twice",
                               speed.ipu);
    }
    return POPLINER_OK;
}
