/* Chains of the units of a graph, in several topological orders: which of them cuts best shows only
 * when all are tried.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_UNIT_ORDERS_H
#define PL_COSTS_UNIT_ORDERS_H

#include "costs/unit_graph.h"

/* Which of the units that are ready comes next; of equal ones, the first by number. Each order also
 * from the end: from the last unit to the first, among the units of which all followers are placed,
 * of equal ones the last by number. */
typedef enum pl_unit_order {
    PL_ORDER_NUMBER,          /* the first by number: as the units are numbered */
    PL_ORDER_NUMBER_FROM_END, /* each order is followed by itself from the end */
    PL_ORDER_DEPTH,           /* the one that is ready since last */
    PL_ORDER_DEPTH_FROM_END,
    PL_ORDER_BREADTH, /* the one that is ready since first */
    PL_ORDER_BREADTH_FROM_END,
    PL_ORDER_PATH, /* the one with the least cycles on the heaviest path up to it */
    PL_ORDER_PATH_FROM_END,
    PL_ORDER_TRAFFIC, /* the one behind which a cut is cheapest */
    PL_ORDER_TRAFFIC_FROM_END,
    PL_NUM_UNIT_ORDERS,
} pl_unit_order;

/* In words. */
const char *pl_unit_order_name(pl_unit_order order);

/* Sets place[num_units] of each unit in the chain. False when memory is short. O(units times those
 * that are ready; for traffic, times their nets). */
bool pl_unit_order_make(const pl_unit_graph *units, pl_unit_order order, uint32_t *place);

#endif
