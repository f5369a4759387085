/* popliner: which variables are live when, and how many bytes they take.
 *
 * A variable that is always live counts at every step; any other where its equivalence class is
 * live, on the half-open ranges of the profile. Bytes are sums of sizes, as in the compiler's own
 * accounting; where variables share addresses, popliner_liveness_extent tells what they take up.
 *
 * Wherever a `selection` is asked for it is a mark per lowered variable, 0 for those to leave out,
 * or NULL for all of them. Variables are numbered from 0 to num_variables - 1, sorted by tile:
 * popliner_profile_tile tells which are those of a tile.
 *
 * Threads: the functions read the profile alone. Any number of threads may call them at once, as
 * popliner/profile.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_LIVENESS_H
#define POPLINER_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One lowered variable: a piece of the program's memory on one tile. The texts live as long as the
 * profile. */
typedef struct popliner_variable {
    size_t struct_size;
    size_t tile;
    uint64_t size_bytes;
    uint64_t offset_bytes; /* its address on the tile */
    size_t equivalence_class;
    bool is_always_live;
    const char *name;     /* of the unlowered variable that it is a piece of; "" if it has none */
    const char *category; /* "variable", "message", "vertexCode", ... */
    size_t category_index;
    size_t unlowered_variable; /* that it is a piece of, or SIZE_MAX */
} popliner_variable;

#define POPLINER_VARIABLE_INIT                                                                     \
    { sizeof(popliner_variable), 0, 0, 0, 0, false, NULL, NULL, 0, 0 }

/* Errors: USAGE for a number beyond the last; the variables of an analysis may not be loaded.
 * O(log tiles). */
popliner_status popliner_liveness_variable(const popliner_profile *profile, size_t variable,
                                           popliner_variable *result, popliner_error *error);

/* One unlowered variable: a tensor of the program, or what the compiler made up for memory that
 * belongs to none, which has no pieces then. */
typedef struct popliner_unlowered_variable {
    size_t struct_size;
    const char *name;
    uint64_t debug_context; /* the first of them, an id in debug.cbor; 0: none */
    uint64_t size_bytes;    /* of all its pieces */
    size_t num_pieces;      /* lowered variables */
} popliner_unlowered_variable;

#define POPLINER_UNLOWERED_VARIABLE_INIT                                                           \
    { sizeof(popliner_unlowered_variable), NULL, 0, 0, 0 }

/* Errors: USAGE for a number that is not below popliner_profile_info.num_unlowered_variables.
 * O(1). */
popliner_status popliner_liveness_unlowered_variable(const popliner_profile *profile,
                                                     size_t variable,
                                                     popliner_unlowered_variable *result,
                                                     popliner_error *error);

/* Whether the variable is live at `step`; false if either is beyond the last. O(ranges of its
 * class). */
bool popliner_liveness_is_live(const popliner_profile *profile, size_t variable, size_t step);

/* The most memory that a tile needs at any of some steps. */
typedef struct popliner_peak {
    uint64_t always_live_bytes;
    uint64_t not_always_live_bytes; /* at peak_step */
    size_t peak_step;               /* the first step where most bytes are live */
} popliner_peak;

/* The peak of every tile over the steps in [first_step, end_step), into peaks[num_tiles].
 * Errors, here and below: USAGE for a tile beyond the last, for steps that are not 0 <= first_step
 * <= end_step <= num_steps, or if the variables are not loaded; MEMORY.
 * Cost: O(variables * ranges + tiles * steps). */
popliner_status popliner_liveness_peaks(const popliner_profile *profile, const uint8_t *selection,
                                        size_t first_step, size_t end_step, popliner_peak *peaks,
                                        popliner_error *error);

/* For the sum over all tiles. */
#define POPLINER_ALL_TILES SIZE_MAX

/* The not-always-live bytes of one tile, or of POPLINER_ALL_TILES together, at each of the steps in
 * [first_step, end_step), into bytes[end_step - first_step]. Errors: USAGE, MEMORY. Cost: for a
 * tile O(its variables * ranges + steps), for all O(variables + classes * ranges + steps). */
popliner_status popliner_liveness_by_step(const popliner_profile *profile, size_t tile,
                                          const uint8_t *selection, size_t first_step,
                                          size_t end_step, uint64_t *bytes, popliner_error *error);

/* The addresses of a tile that some variable uses at some time: how many bytes, and the highest
 * end. The difference is what the layout leaves unused between them. Errors: USAGE, MEMORY.
 * O(n log n). */
popliner_status popliner_liveness_extent(const popliner_profile *profile, size_t tile,
                                         const uint8_t *selection, uint64_t *used_bytes,
                                         uint64_t *including_gaps_bytes, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
