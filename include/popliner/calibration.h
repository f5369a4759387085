/* popliner: what is predicted for the stages of a pipeline against the pipeline as it was compiled,
 * and the small correction that follows for later predictions.
 *
 *     popliner_comparison *comparison;
 *     popliner_analysis_compare(model, &request, first_units, 1, compiled, &comparison, &error);
 *     popliner_comparison_get_correction(comparison, &request.calibration);
 *     popliner_analysis_solve(model, &request, &answer, &error);
 *
 * Threads: a comparison does not change, and any number of threads may read it at once.
 * popliner_analysis_compare uses its analyses as popliner/analysis.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_CALIBRATION_H
#define POPLINER_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What bytes are for: code by the compiler's own categories, everything else that is live, and what
 * the layout leaves unused. */
typedef enum popliner_group {
    POPLINER_GROUP_VERTEX_CODE,
    POPLINER_GROUP_VERTEX_STATE,
    POPLINER_GROUP_EXCHANGE_CODE,
    POPLINER_GROUP_CONTROL_CODE,
    POPLINER_GROUP_DATA,
    POPLINER_GROUP_LAYOUT,
    POPLINER_NUM_GROUPS,
} popliner_group;

/* Bytes over the tiles. */
typedef struct popliner_tile_spread {
    uint64_t min_bytes;
    uint64_t median_bytes; /* of an even number of tiles the upper one */
    double mean_bytes;
    uint64_t max_bytes;
    size_t tile; /* the first with max_bytes */
} popliner_tile_spread;

/* The memory of one IPU. */
typedef struct popliner_ipu_memory {
    popliner_tile_spread live;                 /* always live, and the peak of the rest */
    popliner_tile_spread whole;                /* with what the layout leaves unused */
    uint64_t group_bytes[POPLINER_NUM_GROUPS]; /* over all tiles */
    uint64_t tile_bytes[POPLINER_NUM_GROUPS];  /* on whole.tile */
} popliner_ipu_memory;

/* What a prediction counts and may leave out: the effects in the order of their bits, then
 * accumulators. */
enum { POPLINER_NUM_COUNTED_PARTS = 4 };

/* A stage. Errors are of its largest tile, in percent of what was compiled; above 0 the prediction
 * is too high. They are of the whole, or, where the request leaves the layout out, of what is live.
 * NAN: there is none. */
typedef struct popliner_compared_stage {
    popliner_interval units;
    popliner_ipu_memory predicted; /* what is expected */
    popliner_ipu_memory compiled;
    double error_percent;
    double live_error_percent;                          /* of the largest live bytes */
    double without_percent[POPLINER_NUM_COUNTED_PARTS]; /* the error without each part; NAN if it
                                                            was not asked for */
    double corrected_percent;                           /* the error with the correction */
    double left_out_percent; /* the same with one that was made of all other stages */
} popliner_compared_stage;

/* Owned by the caller; free with popliner_comparison_free. */
typedef struct popliner_comparison popliner_comparison;

/* Compares the stages of a split, as popliner_analysis_evaluate takes it, with what was compiled:
 * compiled[k] is a profile of the IPU of stage k alone. The request must be for the full memory
 * model; of the solver's options none are looked at. If it has a calibration already, predictions
 * are with that, and there is no further correction. The comparison needs the analysis no more.
 * Errors: USAGE for another memory model, units that are no split, an analysis of another number of
 * IPUs than one, or of IPUs with another number of tiles; INPUT if there is no correction within
 * the limits of popliner_calibration; those of popliner_analysis_chain. Cost: that of measuring
 * each stage seven times. */
popliner_status popliner_analysis_compare(popliner_analysis *analysis,
                                          const popliner_request *request,
                                          const size_t *first_units, size_t num_cuts,
                                          popliner_analysis *const *compiled,
                                          popliner_comparison **comparison, popliner_error *error);

/* NULL is fine. */
void popliner_comparison_free(popliner_comparison *comparison);

/* What a comparison found. */
typedef struct popliner_comparison_info {
    const popliner_compared_stage *stages; /* [num_stages] */
    size_t num_stages;
    const popliner_calibration *correction; /* NULL if there is none */
} popliner_comparison_info;

/* As long as the comparison. O(1). */
const popliner_comparison_info *popliner_comparison_get_info(const popliner_comparison *comparison);

/* The comparison as text for reading, or as a JSON object (docs/calibration.schema.json), which
 * popliner_calibration_read takes. The caller frees *text with free(). Errors: MEMORY. */
popliner_status popliner_report_comparison(const popliner_comparison *comparison,
                                           popliner_format format, char **text,
                                           popliner_error *error);

/* Reads the correction of such a JSON object into request->calibration, and what it was made for
 * into the schedule, the way of recomputing, the effects and the accumulators of the request, which
 * is complete otherwise. Errors: INPUT for a file that cannot be read, is another one, or holds no
 * correction; MEMORY. */
popliner_status popliner_calibration_read(const char *path, popliner_request *request,
                                          popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
