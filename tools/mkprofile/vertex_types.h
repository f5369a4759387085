/* The types of vertices: what their state and their code take up.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_VERTEX_TYPES_H
#define MK_VERTEX_TYPES_H

#include "mkprofile/network_plan.h"

/* Those that all layers share: their numbers in plan->vertex_types. */
enum {
    MK_TYPE_CONVOLVE,
    MK_TYPE_CONVOLVE_WIDE,
    MK_TYPE_REDUCE_PARTIALS,
    MK_TYPE_STRIDED_COPY,
    MK_TYPE_SHORT_COPY,
    MK_TYPE_ZERO,
    MK_TYPE_CAST,
    MK_TYPE_ADD,
    MK_TYPE_SLICE,
    MK_TYPE_REDUCE_ADD,
    MK_TYPE_REDUCE_SQUARE,
    MK_TYPE_WHITEN,
    MK_TYPE_REDUCE_MAX,
    MK_TYPE_EXPONENT,
    MK_TYPE_DIVIDE,
    MK_TYPE_GELU,
    MK_TYPE_UPDATE,
    MK_TYPE_COUNT,
    /* Those that pipelines alone have. */
    MK_TYPE_DYNAMIC_UPDATE = MK_TYPE_COUNT,
    MK_TYPE_DYNAMIC_SLICE,
    MK_TYPE_COUNT_OF_PIPELINES,
};

void mk_add_shared_types(mk_network_plan *plan);

/* The type that the compiler generates for one operation, not shared with other layers; returns
 * its number. */
size_t mk_add_generated_type(mk_network_plan *plan, const mk_operation *operation);

#endif
