/* What the parts of the profile writer share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PROFILE_H
#define MK_PROFILE_H

#include "mkprofile/database.h"
#include "mkprofile/layout.h"
#include "mkprofile/profile_writer.h"

/* The clock of a Mk2 IPU. */
#define MK_CYCLES_PER_MICROSECOND 1850

typedef struct mk_profile {
    const mk_network_plan *plan;
    mk_sizes sizes;
    mk_layout layout;
    mk_database database;
    uint64_t *first_var_id; /* by tile, and one more */
    uint32_t *var_places;   /* of a logical variable on a tile, by variable, then tile;
                               UINT32_MAX where it is not */
    pl_blob blob;           /* scratch */
    uint64_t *by_tile;      /* scratch: one number per tile */
    uint64_t *by_tile_too;
    uint64_t *by_tile_third;
    size_t num_cycles_rows;  /* of compilation_cycles_by_tile so far */
    size_t host_copy_cycles; /* its row for the first host copy, those of others follow */
    size_t exchange_cycles;  /* likewise; compute sets have the first rows of all */
    mk_profile_figures figures;
} mk_profile;

/* Numbers the lowered variables: tile by tile, on a tile in the order of the logical ones. */
popliner_status mk_number_variables(mk_profile *profile, popliner_error *error);

/* The id of a lowered variable; the logical one must be held by the tile. */
uint64_t mk_var_id(const mk_profile *profile, size_t variable, size_t tile);
bool mk_has_var(const mk_profile *profile, size_t variable, size_t tile);

/* The name of a type of programs, as in program_types. */
const char *mk_program_type_name(mk_program_type type);

/* Writes an array by tile as RLE. */
void mk_write_by_tile(mk_profile *profile, mk_rows *rows, const uint64_t *values);

/* The name of a category, as in var_categories. */
const char *mk_category_name(size_t category);

/* Adds an array by tile to compilation_cycles_by_tile; returns its id. */
size_t mk_write_cycles(mk_profile *profile, mk_rows *rows, const uint64_t *cycles);

void mk_write_target(mk_profile *profile);   /* target, versions, parameters */
void mk_write_names(mk_profile *profile);    /* categories, names, classes */
void mk_write_programs(mk_profile *profile); /* programs, steps, compute sets, exchanges */
void mk_write_vertices(mk_profile *profile); /* vertex types and their memory */
void mk_write_tiles(mk_profile *profile);    /* lowered variables and memory of the tiles */

/* The runs of an execution and their steps, after all else. */
void mk_write_execution(mk_profile *profile);

#endif
