/* Sizes in bytes as people write them.
 *
 * Threads: the functions use their arguments alone, so any number of threads may call them at
 * once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SIZES_H
#define POPLINER_SIZES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the size that a text begins with, "638976", "624KiB", "1.5M" or "1.5 GB": a decimal number
 * and, directly or after one blank, if wanted one of the units B, K, KB or kB (1000), M or MB, G or
 * GB, KiB (1024), MiB, GiB, written so. With a point it has to come to whole bytes. Returns what
 * follows in the text, with *bytes set; NULL if that is no size, or one above INT64_MAX.
 * O(characters of the number). */
const char *popliner_size_take(const char *text, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
