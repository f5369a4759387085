/* Lanes: intervals of time that overlap, side by side.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_LANES_H
#define PL_SHOW_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Puts each of `count` intervals [start, end), in ascending order of their starts, into the first
 * lane in which nothing runs at its start: lane[i], counted from 0. Intervals of a lane do not
 * overlap, and there are no more lanes than intervals that run at one time. Sets *num_lanes. False
 * when memory is short. O(count * log(lanes)). */
bool pl_lanes_find(const uint64_t *start, const uint64_t *end, size_t count, uint32_t *lane,
                   size_t *num_lanes);

#endif
