/* The columns in which pages have the details of all stages: a table for who writes them, and for
 * who reads them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_COLUMNS_H
#define PL_MEMORY_STAGE_COLUMNS_H

#include "memory/stage_details.h"

/* A number that each of some items has. */
typedef struct pl_stage_column {
    const char *name;
    size_t offset; /* in an item */
    bool is_short; /* uint32_t, else uint64_t */
} pl_stage_column;

enum { PL_MOST_STAGE_COLUMNS = PL_NUM_DETAIL_SUMS + 12 };
typedef struct pl_stage_columns {
    pl_stage_column items[PL_MOST_STAGE_COLUMNS];
    size_t count;
} pl_stage_columns;

/* Those of pl_detail_sums. */
pl_stage_columns pl_stage_columns_of_sums(void);

/* Those of pl_peak_piece: of needs that are not the expected one nobody asks where. */
pl_stage_columns pl_stage_columns_of_piece(popliner_need need);

/* Reads and writes the number of an item. */
uint64_t pl_stage_column_get(const pl_stage_column *column, const char *item);
void pl_stage_column_set(const pl_stage_column *column, char *item, uint64_t number);

#endif
