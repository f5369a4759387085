/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/calibration.h"

#include <math.h>

enum { MILLION = 1000000 };

/* compiled / predicted in millionths. */
static double scale_of(double compiled_bytes, double predicted_bytes) {
    return predicted_bytes > 0 ? round(MILLION * compiled_bytes / predicted_bytes) : MILLION;
}

bool pl_calibration_fit(const pl_fit_stage *stages, size_t num_stages, size_t left_out,
                        popliner_calibration *calibration) {
    double count = 0;
    double offset_bytes = 0;
    double predicted_data = 0;
    double compiled_data = 0;
    double predicted_layout = 0;
    double compiled_layout = 0;
    *calibration = (popliner_calibration){0, 0, 0};
    for (size_t i = 0; i < num_stages; i++) {
        const pl_fit_stage *s = &stages[i];
        if (i == left_out)
            continue;
        count++;
        offset_bytes += (double)s->compiled.code_bytes - (double)s->predicted.code_bytes;
        predicted_data += (double)s->predicted.data_bytes;
        compiled_data += (double)s->compiled.data_bytes;
        predicted_layout += (double)s->predicted.layout_bytes;
        compiled_layout += (double)s->compiled.layout_bytes;
    }
    if (count < 1)
        return false;
    offset_bytes = round(offset_bytes / count);
    double data = scale_of(compiled_data, predicted_data);
    double layout = scale_of(compiled_layout, predicted_layout);
    if (fabs(offset_bytes) > POPLINER_MAX_OFFSET_BYTES || data < 1 ||
        data > POPLINER_MAX_PER_MILLION || layout > POPLINER_MAX_PER_MILLION)
        return false;
    *calibration = (popliner_calibration){(int64_t)offset_bytes, (uint64_t)data, (uint64_t)layout};
    return true;
}
