/* popliner: two analyses side by side, the one before and the one now: what they have of each
 * quantity, and the difference; and what is predicted against what was compiled.
 *
 * The quantities are those of the sections (popliner/report.h), and of the whole device. Tiles are
 * matched by number, categories by name, units of the chain by kind and name, stages by number.
 *
 * Threads: changes do not change once they are made, and any number of threads may read them at
 * once. popliner_changes_create waits until no other thread works with either analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_CHANGES_H
#define POPLINER_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What can be held against a bound. */
typedef enum popliner_growth {
    POPLINER_GROWTH_LARGEST_TILE, /* popliner_changes_info.deciding */
    POPLINER_GROWTH_TILES,        /* of each tile: tile, live_bytes */
    POPLINER_GROWTH_CATEGORIES,   /* of each category: category, variables_bytes */
    POPLINER_GROWTH_LAYERS,       /* of each unit of any kind: total_bytes */
    POPLINER_GROWTH_STAGES,       /* of each stage: stage, need_bytes; none without certificates */
    POPLINER_GROWTH_CYCLES,       /* device, cycles */
    POPLINER_NUM_GROWTHS
} popliner_growth;

/* That no such quantity may grow by more than so many percent of what it was. */
typedef struct popliner_growth_bound {
    popliner_growth of;
    double max_percent;
} popliner_growth_bound;

/* Owned by the caller; free with popliner_changes_free. Needs neither analysis any more. */
typedef struct popliner_changes popliner_changes;

/* What is compared. Begin with POPLINER_CHANGES_INPUT_INIT. */
typedef struct popliner_changes_input {
    size_t struct_size;
    popliner_analysis *before;
    popliner_analysis *now;
    /* How errors call them, and texts by the last part unless has_paths is true, as paths may hold
     * what is private; copied. NULL: "before", ... */
    const char *before_name;
    const char *now_name;               /* ... "now" */
    popliner_memory_model memory_model; /* of the units of the chain */
    /* Answers to the same request, of each analysis one; NULL: no stages are compared. */
    const popliner_certificate *before_certificate;
    const popliner_certificate *now_certificate;
    /* [num_bounds] How much may grow, perhaps of one kind several; copied. */
    const popliner_growth_bound *bounds;
    size_t num_bounds;
    bool has_paths;
} popliner_changes_input;

#define POPLINER_CHANGES_INPUT_INIT                                                                \
    {                                                                                              \
        sizeof(popliner_changes_input), NULL, NULL, NULL, NULL, POPLINER_MEMORY_MODEL_FULL, NULL,  \
            NULL, NULL, 0, false                                                                   \
    }

/* Where the item of a quantity is. */
typedef enum popliner_presence {
    POPLINER_ON_BOTH_SIDES,
    POPLINER_ONLY_BEFORE,
    POPLINER_ONLY_NOW,
} popliner_presence;

/* One quantity of one item. Texts live as long as the comparison. */
typedef struct popliner_change {
    /* "device", "category", "head", "layer", "tail", "unlayered", "plan", "stage" or "tile" */
    const char *what;
    const char *name;     /* of the item: a number, or as the profile has it */
    const char *quantity; /* "live_bytes", "cycles", ... */
    popliner_presence presence;
    bool has_before; /* else it is not known, or the item is not there */
    bool has_now;
    int64_t before;
    int64_t now;
} popliner_change;

/* A fact that is no quantity: a version, something of the device, where cycles are from, an option
 * of the engine. Texts, numbers among them, live as long as the comparison. */
typedef struct popliner_setting_change {
    const char *group; /* of the summary: "version", "device", "cycles" or "engine_option" */
    const char *name;
    popliner_presence presence;
    const char *before; /* NULL: not known, or the setting is not there */
    const char *now;
} popliner_setting_change;

/* What a bound found. */
typedef struct popliner_growth_result {
    popliner_growth_bound bound;
    size_t num_compared; /* quantities of the kind that have a value on both sides */
    size_t num_exceeded;
    /* [num_exceeded] What grew by more: the largest share first, that from 0 before all others. */
    const popliner_change *const *exceeded;
} popliner_growth_result;

/* Compares. What loaded analyses lack is loaded; the listener of `now` is warned of what makes the
 * numbers mean less: other bytes per tile, another architecture, cycles from elsewhere. Errors:
 * USAGE (struct_size; no analysis; one certificate alone, or not both in one memory model; a bound
 * of a kind that there is not, or of stages without certificates); INPUT
 * where the tiles cannot be matched: another number of them, on all IPUs or on each, or tiles of
 * another IPU alone; MEMORY; those of popliner_section_text. Cost: that of the sections TILES,
 * CATEGORIES and LAYERS of each. */
popliner_status popliner_changes_create(const popliner_changes_input *input,
                                        popliner_changes **changes, popliner_error *error);

/* NULL is fine. */
void popliner_changes_free(popliner_changes *changes);

/* What a comparison found. */
typedef struct popliner_changes_info {
    /* Quantities, of both sides or of one. Those of the device come first, then categories, units,
     * the plan, stages, tiles. */
    const popliner_change *changes; /* [num_changes] */
    size_t num_changes;
    size_t num_changed; /* of how many the sides differ, or one has none */
    /* The quantity that says whether the model got larger: without certificates the live memory of
     * the largest tile (device, largest_tile_live_bytes); else what the largest tile of all stages
     * needs (plan, largest_need_bytes), which has no value on a side whose plan has no stages. */
    const popliner_change *deciding;
    /* Those of now in their order, then those of before alone. They are matched by group and
     * name. */
    const popliner_setting_change *settings; /* [num_settings] */
    size_t num_settings;
    size_t num_settings_changed; /* of how many the sides differ, or one has none */
    /* What each bound of the input found, compared exactly in millionths of a percent. From 0 a
     * quantity grows by more than any percentage; that of one side alone did not grow. */
    const popliner_growth_result *bounds; /* [num_bounds] */
    size_t num_bounds;
} popliner_changes_info;

/* As long as the comparison. O(1). */
const popliner_changes_info *popliner_changes_get_info(const popliner_changes *changes);

/* The quantity of this kind that grew by most, among items of both sides; the first of equals, NULL
 * if none grew. `what` may be NULL for units of any kind. O(quantities). */
const popliner_change *popliner_changes_most_grown(const popliner_changes *changes,
                                                   const char *what, const char *quantity);

/* What text is made of a comparison. */
typedef enum popliner_changes_form {
    POPLINER_CHANGES_TEXT, /* for reading: what changed most; one line if nothing did */
    POPLINER_CHANGES_TSV,  /* a row for each quantity, as docs/compare.md describes them */
    POPLINER_CHANGES_CSV,
    POPLINER_CHANGES_JSON, /* an object by docs/compare.schema.json */
} popliner_changes_form;

/* Makes a text, complete with its last line end, which the caller frees with free(). Errors: USAGE
 * for a form that there is not; MEMORY. */
popliner_status popliner_changes_text(const popliner_changes *changes, popliner_changes_form form,
                                      char **text, popliner_error *error);

/* ---- Predicted and compiled ---- *
 *
 * What is predicted for the stages of a pipeline against the pipeline as it was compiled,
 * and the small correction that follows for later predictions.
 *
 *     popliner_comparison *comparison;
 *     popliner_analysis_compare(model, &request, first_units, 1, compiled, &comparison, &error);
 *     request.calibration = *popliner_comparison_get_info(comparison)->correction;
 *     popliner_analysis_solve(model, &request, &answer, &error);
 *
 * Threads: a comparison does not change, and any number of threads may read it at once.
 * popliner_analysis_compare uses its analyses as popliner/analysis.h says. */

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
