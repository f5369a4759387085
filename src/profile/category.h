/* The memory categories that the library treats specially; a profile may have others.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CATEGORY_H
#define PL_PROFILE_CATEGORY_H

#include <stdbool.h>

/* The use of a variable's bytes. */
typedef enum pl_category {
    PL_CATEGORY_OTHER,    /* all others: the compiler's own, or unknown */
    PL_CATEGORY_NAMELESS, /* from here on data of the model, which some program should touch */
    PL_CATEGORY_VARIABLE,
    PL_CATEGORY_MULTIPLE,
    PL_CATEGORY_MESSAGE,
    PL_CATEGORY_GLOBAL_MESSAGE,
    PL_CATEGORY_OUTPUT_EDGE,
    PL_CATEGORY_REARRANGEMENT,
    PL_CATEGORY_CONSTANT,
    PL_CATEGORY_VERTEX_CODE, /* the compiler's own */
    PL_CATEGORY_VERTEX_INSTANCE_STATE,
    PL_CATEGORY_VERTEX_FIELD_DATA,
    PL_CATEGORY_COPY_DESCRIPTOR,
    PL_CATEGORY_INTERNAL_EXCHANGE_CODE,
    PL_CATEGORY_CONTROL_CODE,
    PL_NUM_CATEGORIES,
} pl_category;

/* Returns the category of a name in the profile ("vertexCode"). O(known categories). */
pl_category pl_category_from_name(const char *name);

/* True if the category holds data of the model. */
static inline bool pl_category_is_model_data(pl_category category) {
    return category >= PL_CATEGORY_NAMELESS && category <= PL_CATEGORY_CONSTANT;
}

/* True if a category of this name holds code, vertex state, stacks or packet headers, which compute
 * sets and exchanges do not list among their variables. O(known names). */
bool pl_category_is_never_named(const char *name);

#endif
