/* Whether a stage fits, in words and numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/stage.h"

popliner_verdict popliner_verdict_of(const popliner_stage_detail *detail, uint64_t limit_bytes) {
    if (detail->num_ipus > 1 && detail->need_bytes[POPLINER_NEED_LEAST] <= limit_bytes)
        return POPLINER_FITS_UNKNOWN;
    if (detail->need_bytes[POPLINER_NEED_MOST] <= limit_bytes)
        return POPLINER_FITS_FOR_CERTAIN;
    if (detail->need_bytes[POPLINER_NEED_EXPECTED] <= limit_bytes)
        return POPLINER_FITS_PROBABLY;
    return detail->need_bytes[POPLINER_NEED_LEAST] <= limit_bytes ? POPLINER_FITS_PERHAPS
                                                                  : POPLINER_FITS_NOT;
}

const char *popliner_verdict_text(popliner_verdict verdict) {
    static const char *const texts[] = {
        [POPLINER_FITS_FOR_CERTAIN] = "fits for certain",
        [POPLINER_FITS_PROBABLY] = "probably fits",
        [POPLINER_FITS_PERHAPS] = "may not fit",
        [POPLINER_FITS_NOT] = "does not fit",
        [POPLINER_FITS_UNKNOWN] = "is not known to fit",
    };
    return (unsigned)verdict < sizeof texts / sizeof *texts ? texts[verdict] : "";
}

double popliner_margin_spreads(const popliner_stage_detail *detail, uint64_t limit_bytes) {
    double expected_bytes = (double)detail->need_bytes[POPLINER_NEED_EXPECTED];
    return expected_bytes > 0
               ? ((double)limit_bytes - expected_bytes) / (POPLINER_SPREAD * expected_bytes)
               : 0;
}
