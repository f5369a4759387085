/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/calibration.h"

#include <math.h>

enum { MILLION = 1000000 };

/* compiled / predicted in millionths; false if that is no scale. */
static bool find_scale(double compiled_bytes, double predicted_bytes, double least,
                       uint64_t *per_million) {
    double scale =
        predicted_bytes > 0 ? round(MILLION * compiled_bytes / predicted_bytes) : MILLION;
    if (scale < least || scale > POPLINER_MAX_PER_MILLION)
        return false;
    *per_million = (uint64_t)scale;
    return true;
}

/* That of stages[first ... end - 1]. */
static bool fit_scales(const pl_fit_stage *stages, size_t first, size_t end, size_t left_out,
                       popliner_scales *scales) {
    double predicted[3] = {0};
    double compiled[3] = {0};
    for (size_t i = first; i < end; i++) {
        const pl_fit_stage *s = &stages[i];
        if (i == left_out)
            continue;
        predicted[0] += (double)s->predicted.code_bytes;
        predicted[1] += (double)s->predicted.data_bytes;
        predicted[2] += (double)s->predicted.layout_bytes;
        compiled[0] += (double)s->compiled.code_bytes;
        compiled[1] += (double)s->compiled.data_bytes;
        compiled[2] += (double)s->compiled.layout_bytes;
    }
    return find_scale(compiled[0], predicted[0], 1, &scales->code_per_million) &&
           find_scale(compiled[1], predicted[1], 1, &scales->data_per_million) &&
           find_scale(compiled[2], predicted[2], 0, &scales->layout_per_million);
}

bool pl_calibration_fit(const pl_fit_stage *stages, size_t num_stages, size_t left_out,
                        popliner_calibration *calibration) {
    size_t num_earlier = num_stages > 0 ? num_stages - 1 : 0;
    if (fit_scales(stages, 0, num_earlier, left_out, &calibration->earlier) &&
        fit_scales(stages, num_earlier, num_stages, left_out, &calibration->last))
        return true;
    *calibration = (popliner_calibration){{0, 0, 0}, {0, 0, 0}};
    return false;
}
