/* popliner: two analyses side by side, the one before and the one now: what they have of each
 * quantity, and the difference.
 *
 * The quantities are those of popliner/sections.h, and of the whole device. Tiles are matched by
 * number, categories by name, units of the chain by kind and name, stages by number.
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
#include "popliner/chain.h"
#include "popliner/error.h"

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

/* "largest-tile", "tiles", "categories", "layers", "stages", "cycles"; NULL for no such kind. */
const char *popliner_growth_name(popliner_growth of);

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

#ifdef __cplusplus
}
#endif

#endif
