/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/speeds.h"

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
