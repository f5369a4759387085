/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/curve.h"

#include <string.h>

#include "base/growth.h"
#include "profile/profile_data.h"

bool pl_curve_begin(pl_curve *curve, size_t first_step, size_t end_step) {
    size_t count = end_step > first_step ? end_step - first_step + 1 : 1;
    if (!pl_grow(&curve->change_bytes, &curve->capacity, count, sizeof *curve->change_bytes))
        return false;
    memset(curve->change_bytes, 0, count * sizeof *curve->change_bytes);
    curve->first_step = first_step;
    curve->end_step = end_step > first_step ? end_step : first_step;
    return true;
}

void pl_curve_add_steps(pl_curve *curve, size_t first_step, size_t end_step, uint64_t size_bytes) {
    curve->change_bytes[first_step - curve->first_step] += (int64_t)size_bytes;
    curve->change_bytes[end_step - curve->first_step] -= (int64_t)size_bytes;
}

void pl_curve_add(pl_curve *curve, const popliner_profile *p, uint32_t class_index,
                  uint64_t size_bytes) {
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        size_t from = p->range_first_step[i];
        size_t to = p->range_end_step[i];
        from = from < curve->first_step ? curve->first_step : from;
        to = to > curve->end_step ? curve->end_step : to;
        if (from < to)
            pl_curve_add_steps(curve, from, to, size_bytes);
    }
}

uint64_t pl_curve_peak(const pl_curve *curve, size_t first_step, size_t end_step,
                       size_t *peak_step) {
    int64_t live = 0;
    int64_t peak = 0;
    *peak_step = first_step;
    for (size_t step = curve->first_step; step < end_step; step++) {
        live += curve->change_bytes[step - curve->first_step];
        if (step >= first_step && live > peak) {
            peak = live;
            *peak_step = step;
        }
    }
    return (uint64_t)peak;
}

bool pl_curve_peak_of_marked(const pl_curve *curve, const uint8_t *is_marked, size_t first_step,
                             size_t end_step, uint64_t *peak_bytes, size_t *peak_step) {
    int64_t live = 0;
    int64_t peak = -1; /* of no step yet */
    *peak_step = first_step;
    for (size_t step = curve->first_step; step < end_step; step++) {
        live += curve->change_bytes[step - curve->first_step];
        if (step >= first_step && live > peak && is_marked[step] != 0) {
            peak = live;
            *peak_step = step;
        }
    }
    *peak_bytes = peak < 0 ? 0 : (uint64_t)peak;
    return peak >= 0;
}

void pl_curve_read(const pl_curve *curve, uint64_t *bytes) {
    int64_t live = 0;
    for (size_t i = 0; i < curve->end_step - curve->first_step; i++) {
        live += curve->change_bytes[i];
        bytes[i] = (uint64_t)live;
    }
}
