/* The memory categories that the library knows by name; the profile may have others.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CATEGORY_H
#define PL_PROFILE_CATEGORY_H

#include <stdbool.h>

/* What the bytes of a variable are for. */
typedef enum pl_category {
    PL_CATEGORY_OTHER, /* nothing depends on which: the compiler's own, or not known */
    PL_CATEGORY_NAMELESS,
    PL_CATEGORY_VARIABLE,
    PL_CATEGORY_MULTIPLE,
    PL_CATEGORY_MESSAGE,
    PL_CATEGORY_GLOBAL_MESSAGE,
    PL_CATEGORY_OUTPUT_EDGE,
    PL_CATEGORY_REARRANGEMENT,
    PL_CATEGORY_CONSTANT,
    PL_CATEGORY_VERTEX_CODE,
    PL_CATEGORY_VERTEX_INSTANCE_STATE,
    PL_CATEGORY_VERTEX_FIELD_DATA,
    PL_CATEGORY_COPY_DESCRIPTOR,
    PL_CATEGORY_INTERNAL_EXCHANGE_CODE,
    PL_CATEGORY_CONTROL_CODE,
    PL_NUM_CATEGORIES,
} pl_category;

/* The category of a name in the profile ("vertexCode"). O(known categories). */
pl_category pl_category_from_name(const char *name);

/* Whether the category holds data of the model, which some program ought to touch. */
bool pl_category_is_model_data(pl_category category);

/* Whether a category of this name holds code, vertex state, stacks or packet headers, which neither
 * a compute set nor an exchange names among its variables. O(known names). */
bool pl_category_is_never_named(const char *name);

#endif
