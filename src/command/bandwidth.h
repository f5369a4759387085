/* Bandwidths as people write them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_BANDWIDTH_H
#define PL_COMMAND_BANDWIDTH_H

#include <stdint.h>

/* Reads the bandwidth that a text begins with: a size, or a number of bytes with up to nine digits
 * behind the point: *bytes in *times units of time. Returns what follows; NULL if that is none, or
 * 0. */
const char *bandwidth_take(const char *text, uint64_t *bytes, uint64_t *times);

#endif
