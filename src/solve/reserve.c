/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include <stddef.h>

bool popliner_reserve_limit(const popliner_reserve *reserve, uint64_t memory_bytes,
                            uint64_t *limit_bytes) {
    const uint64_t hundredths = reserve->percent_hundredths;
    const uint64_t whole = 10000;
    /* in two parts, so that nothing is too large */
    uint64_t share = hundredths < whole ? memory_bytes / whole * hundredths +
                                              memory_bytes % whole * hundredths / whole
                                        : memory_bytes;
    uint64_t kept = reserve->bytes < UINT64_MAX - share ? reserve->bytes + share : UINT64_MAX;
    *limit_bytes = kept > memory_bytes ? kept : memory_bytes - kept;
    return kept <= memory_bytes;
}

bool popliner_reserve_memory(const popliner_reserve *reserve, uint64_t limit_bytes,
                             uint64_t *memory_bytes) {
    const uint64_t most_bytes = INT64_MAX;
    uint64_t too_little = 0;
    uint64_t enough = limit_bytes > 0 ? limit_bytes : 1;
    uint64_t left = 0;
    if (enough > most_bytes)
        return false;
    while (!popliner_reserve_limit(reserve, enough, &left) || left < limit_bytes) {
        if (enough > most_bytes / 2)
            return false;
        too_little = enough;
        enough *= 2;
    }
    while (enough - too_little > 1) {
        uint64_t middle = too_little + (enough - too_little) / 2;
        if (popliner_reserve_limit(reserve, middle, &left) && left >= limit_bytes)
            enough = middle;
        else
            too_little = middle;
    }
    *memory_bytes = enough;
    return true;
}
