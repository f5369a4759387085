/* Sizes in bytes as people write them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SIZES_H
#define PL_COMMAND_SIZES_H

#include <stdint.h>

/* Reads the size that a text begins with: a decimal number, and behind it, if wanted, one of the
 * units K (1000), M, G, KiB (1024), MiB, GiB, written so. With a point it has to come to whole
 * bytes. Returns what follows; NULL if that is no size, or one above INT64_MAX. */
const char *size_take(const char *text, uint64_t *bytes);

/* Reads the bandwidth that a text begins with: a size, or a number of bytes with up to nine digits
 * behind the point: *bytes in *times units of time. Returns what follows; NULL if that is none, or
 * 0. */
const char *bandwidth_take(const char *text, uint64_t *bytes, uint64_t *times);

#endif
