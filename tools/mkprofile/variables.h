/* Logical variables: those of tensors and temporaries, and those that every profile has.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_VARIABLES_H
#define MK_VARIABLES_H

#include "mkprofile/network_plan.h"

/* Some logical variables in a row. */
typedef struct mk_span {
    size_t first;
    size_t count;
} mk_span;

/* A list of such rows. */
typedef struct mk_spans {
    const mk_span *items;
    size_t count;
} mk_spans;

/* So many tiles of an IPU that `bytes` give each of them enough to be worth it, at most a share
 * (numerator / denominator) of all; where they start depends on `salt`. */
mk_tiles mk_choose_tiles(const mk_network_plan *plan, size_t ipu, uint64_t bytes,
                         uint64_t numerator, uint64_t denominator, uint64_t salt);

/* The same for a tensor. If the options say so, it starts where the one mapped before it ended. */
mk_tiles mk_map_tensor(mk_network_plan *plan, size_t ipu, uint64_t bytes, uint64_t numerator,
                       uint64_t denominator, uint64_t salt);

/* What each of the tiles gets of `bytes`. */
uint64_t mk_share(uint64_t bytes, mk_tiles tiles);

/* All tiles of an IPU, or of all of them. */
mk_tiles mk_all_tiles(const mk_network_plan *plan, size_t ipu);

/* A variable with an origin in the model. */
typedef struct mk_data {
    const char *name;
    uint64_t identity;   /* what its sizes depend on */
    mk_tensor_kind kind; /* tells whether it is always live */
    uint64_t bytes;      /* on all of its tiles */
    mk_tiles tiles;
    uint64_t num_copies; /* of the variables from `original` on, whose clone it is; 0 if of none */
    size_t original;
    uint32_t context; /* debug id, 0 for none */
    size_t occasion;  /* whose starts its steps count from, else MK_NONE */
} mk_data;

/* Adds it in as many pieces as the options want; none when memory is short. */
mk_span mk_add_data(mk_network_plan *plan, const mk_data *data);

/* A variable that the compiler made. */
typedef struct mk_compiler_data {
    const char *base_name;
    uint64_t identity; /* what its sizes depend on */
    mk_category category;
    size_t message;   /* of a message: its number */
    size_t unlowered; /* MK_NONE for none */
    uint64_t bytes;   /* on each of its tiles */
    mk_tiles tiles;
    size_t occasion; /* whose starts its steps count from, else MK_NONE */
} mk_compiler_data;

/* Adds it and returns its number. */
size_t mk_add_compiler_data(mk_network_plan *plan, const mk_compiler_data *data);

/* The code and the state of the finished programs, and what every tile has. */
void mk_add_system_variables(mk_network_plan *plan);

/* Extends the life of a variable to the step. */
void mk_live_at(mk_network_plan *plan, size_t variable, size_t step);

/* The next step at which the variable is live writes all of it: what it holds dies. */
void mk_write_anew(mk_network_plan *plan, size_t variable);

/* When all is lowered: extends lives over the ends of the loop of a pipeline. */
void mk_settle_lives(mk_network_plan *plan);

#endif
