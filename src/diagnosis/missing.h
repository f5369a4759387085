/* What no operation that counts explains, variable by variable, and why.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_MISSING_H
#define PL_DIAGNOSIS_MISSING_H

#include "diagnosis/diagnosis.h"
#include "diagnosis/explained.h"
#include "popliner/error.h"

/* Bytes missing by name and category: item unlowered * categories + category, the last "unlowered"
 * standing for none. */
typedef struct pl_missing_bytes {
    uint64_t *bytes; /* [count], owned */
    size_t count;
} pl_missing_bytes;

/* Makes room, all 0; free with free(missing->bytes). Errors: MEMORY. */
popliner_status pl_missing_begin(pl_missing_bytes *missing, const popliner_profile *profile,
                                 popliner_error *error);

/* Adds a variable, all of which is missing. */
void pl_missing_add(pl_missing_bytes *missing, const popliner_profile *profile, size_t variable);

/* Adds what is missing of code on a tile, to its category, under no name. */
void pl_missing_add_code(pl_missing_bytes *missing, const pl_explained *explained, size_t tile);

/* Lists them with names, reasons and the parts of code, largest first. They are missing on a tile,
 * or on all (SIZE_MAX). list->items is the caller's, also after an error: see
 * pl_missing_list_clear. Errors: MEMORY. Cost: one pass over what programs touch, and those of
 * pl_name_code. */
popliner_status pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained,
                                size_t tile, popliner_missing_variables *list,
                                popliner_error *error);
void pl_missing_list_clear(popliner_missing_variables *list);

/* Adds a reason, unless it is there. */
void pl_missing_reasons_add(popliner_missing_reasons *reasons, popliner_missing_reason reason);

#endif
