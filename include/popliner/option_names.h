/* popliner: how the users of a program know what the library calls by the names of its fields.
 *
 * Some texts lead to an option that may be changed: a program gives these names, so that its users
 * find the option where they can change it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_OPTION_NAMES_H
#define POPLINER_OPTION_NAMES_H

#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The strings are the caller's. A member that is NULL stands for the default beside it. */
typedef struct popliner_option_names {
    /* of pl_layer_options */
    const char *name_regex;        /* "name_regex" */
    const char *first_layer_regex; /* "first_layer_regex" */
    const char *name_regex_hint;   /* sentences behind the advice to change it: "" */

    /* of popliner_solver_options, as what to change when nothing fits */
    const char *max_stages;           /* "max_stages" */
    const char *max_stage_bytes;      /* "max_stage_bytes" */
    const char *max_stage_bytes_note; /* behind the number: "" */

    /* Constraints by kind: "max_stages", "device_map", "min_units", "max_units", "required cut
     * after", "forbidden cut after", "pair", "placement". They become texts such as "max_stages 3",
     * "device_map of 3 stages", "pair A and B", "placement A=0". */
    const char *constraints[POPLINER_NUM_CONSTRAINT_KINDS];
} popliner_option_names;

#ifdef __cplusplus
}
#endif

#endif
