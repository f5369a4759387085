/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/windows.h"

/* a + b, at most what there is. */
static uint64_t add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void pl_windows_enter(const pl_windows *windows, uint64_t width, pl_filter *filter) {
    pl_filter_enter_window(filter, windows->at, add(width, windows->step));
}

void pl_windows_skip(pl_windows *windows, uint64_t width) {
    uint64_t next = add(windows->at, add(windows->step, 1));
    windows->is_over = add(next, width) == UINT64_MAX;
    windows->at = next;
    windows->step = add(windows->step, add(windows->step, 1));
}

void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value) {
    uint64_t without = max_value - windows->at - width - 1;
    windows->step /= 2;
    if (without < windows->step)
        windows->step = without;
}
