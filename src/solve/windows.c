/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/windows.h"

#include "costs/costs.h"

pl_limits pl_windows_limits(const pl_windows *windows, uint64_t width, const pl_filter *filter) {
    return pl_filter_window(filter, windows->at, pl_add_or_never(width, windows->step));
}

void pl_windows_skip(pl_windows *windows, uint64_t width) {
    uint64_t next = pl_add_or_never(windows->at, pl_add_or_never(windows->step, 1));
    windows->is_over = pl_add_or_never(next, width) == UINT64_MAX;
    windows->at = next;
    windows->step = pl_add_or_never(windows->step, pl_add_or_never(windows->step, 1));
}

void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value) {
    uint64_t without = max_value - windows->at - width - 1;
    windows->step /= 2;
    if (without < windows->step)
        windows->step = without;
}
