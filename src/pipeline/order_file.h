/* An order of passes that was given, and not made by a schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PIPELINE_ORDER_FILE_H
#define PL_PIPELINE_ORDER_FILE_H

#include "pipeline/order.h"

/* A pass, and where it is in the file, from 1 on. */
typedef struct pl_given_pass {
    pl_pass pass;
    uint32_t row;
    uint32_t column;
} pl_given_pass;

typedef struct pl_given_order {
    popliner_order info; /* first: it is what the caller has */
    pl_given_pass *passes;
    size_t num_passes;
    size_t *first; /* [num_ipus + 1] of each device */
} pl_given_order;

static inline const pl_given_order *pl_given_order_of(const popliner_copies *copies) {
    return (const pl_given_order *)copies->order;
}

#endif
