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

/* So many tiles that `bytes` give each of them enough to be worth it, at most a share
 * (numerator / denominator) of all; where they start depends on `salt`. */
mk_tiles mk_choose_tiles(const mk_network_plan *plan, uint64_t bytes, uint64_t numerator,
                         uint64_t denominator, uint64_t salt);

/* What each of the tiles gets of `bytes`. */
uint64_t mk_share(uint64_t bytes, mk_tiles tiles);

mk_tiles mk_all_tiles(const mk_network_plan *plan);

/* A variable with an origin in the model: `bytes` over `tiles`, in as many pieces as the options
 * want. `debug_id` is its context; the life is that of the kind; its sizes depend on `identity`. */
mk_span mk_add_data(mk_network_plan *plan, uint64_t identity, const char *name, mk_tensor_kind kind,
                    uint64_t bytes, mk_tiles tiles, uint32_t debug_id, size_t occasion);

/* A variable that the compiler made; returns its number. */
size_t mk_add_compiler_data(mk_network_plan *plan, uint64_t identity, mk_category category,
                            const char *base_name, size_t message_number, size_t unlowered,
                            uint64_t bytes, mk_tiles tiles, size_t occasion);

/* The code and the state of the finished programs, and what every tile has. */
void mk_add_system_variables(mk_network_plan *plan);

/* Extends the life of a variable to the step. */
void mk_live_at(mk_network_plan *plan, size_t variable, size_t step);

#endif
