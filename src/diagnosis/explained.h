/* What the operations that count explain of the memory of a profile, and what they do not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_EXPLAINED_H
#define PL_DIAGNOSIS_EXPLAINED_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "profile/profile_data.h"

/* The categories that programs tell of, rather than variables that they touch. */
enum {
    PL_DIAGNOSED_VERTEX,
    PL_DIAGNOSED_INSTANCES,
    PL_DIAGNOSED_FIELDS,
    PL_DIAGNOSED_DESCRIPTORS,
    PL_DIAGNOSED_EXCHANGE,
    PL_DIAGNOSED_CONTROL,
    PL_NUM_DIAGNOSED_CODE,
};

/* The category of each of them. */
extern const pl_category pl_diagnosed_code[PL_NUM_DIAGNOSED_CODE];

/* What counts of a program: its code, or that and the variables that it touches. */
enum { PL_SEEN_CODE = 1, PL_SEEN_DATA = 2 };

/* Of one diagnosis. */
typedef struct pl_explained {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_layers *layers;
    const popliner_chain *chain;

    size_t *counted; /* [num_counted]: the operations that count, ascending */
    size_t num_counted;
    uint8_t *program_seen;  /* [num_programs]: in an operation that counts; see the next */
    uint8_t *variable_seen; /* [num_variables]: touched by a program whose data counts, too */
    int *code_of_category;  /* [num_categories]: PL_NUM_DIAGNOSED_CODE for data */
    uint64_t *code_bytes[PL_NUM_DIAGNOSED_CODE];  /* [num_tiles]: explained */
    uint64_t *truth_bytes[PL_NUM_DIAGNOSED_CODE]; /* [num_tiles]: of always-live variables */
    /* of the operations that count; empty unless the model compares at its own steps */
    popliner_stage_memory stage;
} pl_explained;

/* Finds it out for all operations, or those in layers only, of the profile, operations, layers and
 * chain in *explained, all else of which is 0; free with pl_explained_free, also after an error.
 * Errors: MEMORY. Cost: a few passes over variables and programs. */
popliner_status pl_explained_find(pl_explained *explained, pl_stage_meter *meter,
                                  bool layer_operations_only, popliner_error *error);
void pl_explained_free(pl_explained *explained);

/* Whether the variable is always live and of a category of code, so that it is explained by
 * programs rather than by being touched. */
static inline bool pl_explained_is_code(const pl_explained *explained, size_t variable) {
    const popliner_profile *p = explained->profile;
    return explained->code_of_category[p->variable_category[variable]] < PL_NUM_DIAGNOSED_CODE &&
           p->class_always_live[p->variable_class[variable]];
}

/* ---- What is missing ---- */

/* Why a program belongs to no operation; only for one that does not. */
popliner_missing_reason pl_program_reason(const popliner_operations *operations, size_t program);

/* A few words for a reason, without a full stop; static text. */
const char *pl_missing_reason_text(popliner_missing_reason reason);

typedef struct popliner_missing_variables {
    popliner_missing_variable *items; /* largest first */
    size_t count;
} popliner_missing_variables;

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
 * naming whose code is. */
popliner_status pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained,
                                size_t tile, popliner_missing_variables *list,
                                popliner_error *error);
void pl_missing_list_clear(popliner_missing_variables *list);

#endif
