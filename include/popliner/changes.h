/* popliner: two analyses side by side, the one before and the one now: what they have of each
 * quantity, and the difference.
 *
 * The quantities are those of popliner/sections.h, and of the whole device. Tiles are matched by
 * number, categories by name, units of the chain by kind and name, stages by number.
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

/* Owned by the caller; free with popliner_changes_free. Needs neither analysis any more. */
typedef struct popliner_changes popliner_changes;

/* What is compared. Begin with POPLINER_CHANGES_INPUT_INIT. */
typedef struct popliner_changes_input {
    size_t struct_size;
    popliner_analysis *before;
    popliner_analysis *now;
    const char *before_name; /* how texts call them, perhaps by file; copied. NULL: "before", ... */
    const char *now_name;    /* ... "now" */
    popliner_memory_model memory_model; /* of the units of the chain */
    /* Answers to the same request, of each analysis one; NULL: no stages are compared. */
    const popliner_certificate *before_certificate;
    const popliner_certificate *now_certificate;
} popliner_changes_input;

#define POPLINER_CHANGES_INPUT_INIT                                                                \
    {                                                                                              \
        sizeof(popliner_changes_input), NULL, NULL, NULL, NULL, POPLINER_MEMORY_MODEL_FULL, NULL,  \
            NULL                                                                                   \
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

/* Compares. What loaded analyses lack is loaded; the listener of `now` is warned of what makes the
 * numbers mean less: other bytes per tile, another architecture, cycles from elsewhere. Errors:
 * USAGE (struct_size; no analysis; one certificate alone, or not both in one memory model); INPUT
 * where the tiles cannot be matched: another number of them, on all IPUs or on each, or tiles of
 * another IPU alone; MEMORY; those of popliner_section_text. Cost: that of the sections TILES,
 * CATEGORIES and LAYERS of each. */
popliner_status popliner_changes_create(const popliner_changes_input *input,
                                        popliner_changes **changes, popliner_error *error);

/* NULL is fine. */
void popliner_changes_free(popliner_changes *changes);

/* Quantity i, the first being 0, of both sides or of one; NULL behind the last. Those of the device
 * come first, then categories, units, the plan, stages, tiles. O(1). */
const popliner_change *popliner_changes_at(const popliner_changes *changes, size_t i);

/* Of how many quantities the sides differ, or one has none. O(1). */
size_t popliner_changes_num_changed(const popliner_changes *changes);

/* The quantity that says whether the model got larger: without certificates the live memory of the
 * largest tile (device, largest_tile_live_bytes); else what the largest tile of all stages needs
 * (plan, largest_need_bytes), which has no value on a side whose plan has no stages. O(1). */
const popliner_change *popliner_changes_deciding(const popliner_changes *changes);

/* Whether that grew by more than so many percent of what it was, compared exactly in millionths of
 * a percent. From 0 it grows by more than any percentage. False where a side has no value. */
bool popliner_changes_grew(const popliner_changes *changes, double max_growth_percent);

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
