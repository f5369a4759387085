/* popliner: two analyses compared, `before` and `now`: the value of each quantity and the
 * difference; and predictions compared with compiled pipelines.
 *
 * The quantities are those of the sections (popliner/report.h) and of the whole device. Tiles are
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

/* The quantities that a bound can limit. */
typedef enum popliner_growth {
    POPLINER_GROWTH_LARGEST_TILE, /* popliner_changes.deciding */
    POPLINER_GROWTH_TILES,        /* of each tile: tile, live_bytes */
    POPLINER_GROWTH_CATEGORIES,   /* of each category: category, variables_bytes */
    POPLINER_GROWTH_LAYERS,       /* of each unit of any kind: total_bytes */
    POPLINER_GROWTH_STAGES,       /* of each stage: stage, need_bytes; none without certificates */
    POPLINER_GROWTH_CYCLES,       /* device, cycles */
    POPLINER_NUM_GROWTHS
} popliner_growth;

/* The sides that have an item. */
typedef enum popliner_presence {
    POPLINER_ON_BOTH_SIDES,
    POPLINER_ONLY_BEFORE,
    POPLINER_ONLY_NOW,
} popliner_presence;

/* One quantity of one item. Texts live as long as the comparison. */
typedef struct popliner_change {
    /* the kind of item: "device", "category", "head", "layer", "tail", "unlayered", "plan", "stage"
     * or "tile" */
    const char *what;
    const char *name;     /* of the item: a number, or as the profile has it */
    const char *quantity; /* "live_bytes", "cycles", ... */
    popliner_presence presence;
    bool has_before; /* false: unknown, or this side lacks the item */
    bool has_now;
    int64_t before;
    int64_t now;
} popliner_change;

/* A quantity may grow by any percentage. */
#define POPLINER_ANY_GROWTH (-1)

/* The two sides of a comparison. Begin with POPLINER_CHANGES_INPUT_INIT. */
typedef struct popliner_changes_input {
    size_t struct_size;
    popliner_analysis *before;
    popliner_analysis *now;
    /* Names in messages. Texts show only the last part of a name unless has_paths is true, as paths
     * may hold private data. Copied. NULL: "before", "now". */
    const char *before_name;
    const char *now_name;
    popliner_memory_model memory_model; /* of the units of the chain */
    /* Answers to one request, one of each analysis; NULL: stages are not compared. */
    const popliner_certificate *before_certificate;
    const popliner_certificate *now_certificate;
    /* The percentages of its value before by which each quantity may grow at most, at least 0, or
     * POPLINER_ANY_GROWTH; by popliner_growth. */
    double max_percents[POPLINER_NUM_GROWTHS];
    bool has_paths;
} popliner_changes_input;

#define POPLINER_CHANGES_INPUT_INIT                                                                \
    {                                                                                              \
        sizeof(popliner_changes_input), NULL, NULL, NULL, NULL, POPLINER_MEMORY_MODEL_FULL, NULL,  \
            NULL, {POPLINER_ANY_GROWTH, POPLINER_ANY_GROWTH, POPLINER_ANY_GROWTH,                  \
                   POPLINER_ANY_GROWTH, POPLINER_ANY_GROWTH, POPLINER_ANY_GROWTH},                 \
            false                                                                                  \
    }

/* The results of comparing two analyses, independent of both. Owned by the caller, who reads them
 * and changes nothing; free with popliner_changes_free. Later versions may append members. */
typedef struct popliner_changes {
    /* Quantities of both sides or of one: those of the device first, then categories, units, the
     * plan, stages, tiles. */
    const popliner_change *changes; /* [num_changes] */
    size_t num_changes;
    size_t num_changed; /* where the sides differ, or one has no value */
    /* The quantity that says whether the model became larger. Without certificates: the live memory
     * of the fullest tile (device, largest_tile_live_bytes). With certificates: the peak over all
     * stages (plan, largest_need_bytes), which has no value on a side whose plan has no stages. */
    const popliner_change *deciding;
    /* The percentages of the input, compared exactly in millionths of a percent, and their results;
     * without a limit 0 and NULL. A quantity that grows from 0 exceeds any percentage; one that
     * only one side has does not grow. */
    double max_percents[POPLINER_NUM_GROWTHS];
    size_t num_compared[POPLINER_NUM_GROWTHS]; /* the quantities with a value on both sides */
    /* exceeded[of][num_exceeded[of]]: what grew by more, first from 0, then by decreasing
     * percentage */
    size_t num_exceeded[POPLINER_NUM_GROWTHS];
    const popliner_change *const *exceeded[POPLINER_NUM_GROWTHS];
} popliner_changes;

/* Compares two analyses. Loads what loaded analyses lack. Warns the listener of `now` about
 * differences that make the numbers less comparable: other bytes per tile, another architecture,
 * another source of cycles. Errors: USAGE (struct_size; no analysis; one certificate alone, or
 * certificates of something else or of different memory models; a percentage below 0, or of stages
 * without certificates); INPUT if the tiles cannot be matched: another number of tiles, on all IPUs
 * or on each, or tiles of another single IPU; MEMORY; those of popliner_section_text. Cost: that of
 * the sections TILES, CATEGORIES and LAYERS of each analysis. */
popliner_status popliner_changes_create(const popliner_changes_input *input,
                                        popliner_changes **changes, popliner_error *error);

/* Frees a comparison of analyses. NULL is fine. */
void popliner_changes_free(popliner_changes *changes);

/* Writes a comparison as a table with a row for each quantity, as docs/compare.md describes, or as
 * a JSON object by docs/compare.schema.json; popliner_screen_changes is for reading. The caller
 * frees *text with free(). Errors: USAGE for the format TEXT; MEMORY. */
popliner_status popliner_changes_text(const popliner_changes *changes, popliner_format format,
                                      char **text, popliner_error *error);

/* ---- Predictions and compiled pipelines ----
 *
 * Compares the predicted memory of the stages of a pipeline with the compiled pipeline.
 *
 *       popliner_comparison *comparison;
 *       popliner_analysis_compare(model, &request, first_units, 1, compiled, &comparison, &error);
 *
 * Threads: a comparison does not change, and any number of threads may read it at once.
 * popliner_analysis_compare uses its analyses as popliner/analysis.h says. */

/* Predictions compared with compiled stages; popliner_report_comparison writes all results. Owned
 * by the caller, who reads them and changes nothing; free with popliner_comparison_free. Later
 * versions may append members. */
typedef struct popliner_comparison {
    size_t num_stages;
    double data_ratio; /* the compiled data by the predicted data, on the fullest tiles; 1: none */
} popliner_comparison;

/* Compares the stages of a split, given as for popliner_analysis_evaluate, with compiled ones:
 * compiled[k] is a profile of the IPU of stage k alone. The request must be for the full memory
 * model; its solver options are ignored. The comparison does not need the analysis afterwards.
 * Errors: USAGE for another memory model, units that do not split the chain, an analysis of more or
 * fewer IPUs than one, or IPUs with another number of tiles; those of popliner_analysis_chain.
 * Cost: that of measuring each stage. */
popliner_status popliner_analysis_compare(popliner_analysis *analysis,
                                          const popliner_request *request,
                                          const size_t *first_units, size_t num_cuts,
                                          popliner_analysis *const *compiled,
                                          popliner_comparison **comparison, popliner_error *error);

/* Frees a comparison with compiled stages. NULL is fine. */
void popliner_comparison_free(popliner_comparison *comparison);

/* Writes the comparison as a JSON object (docs/compiled.schema.json);
 * popliner_screen_comparison is for reading. The caller frees *text with free(). Errors: MEMORY. */
popliner_status popliner_report_comparison(const popliner_comparison *comparison, char **text,
                                           popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
