/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_columns.h"

#include <assert.h>
#include <string.h>

#include "memory/parts.h"

static void add(pl_stage_columns *columns, const char *name, size_t offset, bool is_short) {
    assert(columns->count < PL_MOST_STAGE_COLUMNS);
    columns->items[columns->count++] = (pl_stage_column){name, offset, is_short};
}

pl_stage_columns pl_stage_columns_of_sums(void) {
    pl_stage_columns columns = {.count = 0};
    for (size_t part = 0; part < POPLINER_NUM_PARTS; part++)
        add(&columns, pl_parts[part].column, part * sizeof(uint64_t), false);
    add(&columns, "copy_layout_bytes", PL_SUM_COPY_LAYOUT * sizeof(uint64_t), false);
    add(&columns, "freed_bytes", PL_SUM_FREED * sizeof(uint64_t), false);
    add(&columns, "freed_layout_bytes", PL_SUM_FREED_LAYOUT * sizeof(uint64_t), false);
    return columns;
}

#define PIECE(member, is_short)                                                                    \
    { #member, offsetof(pl_peak_piece, member), is_short }

pl_stage_columns pl_stage_columns_of_piece(popliner_need need) {
    static const pl_stage_column all[] = {
        PIECE(from_copies, true),   PIECE(bytes, false),
        PIECE(stash_bytes, false),  PIECE(unexplained_bytes, false),
        PIECE(layout_bytes, false), PIECE(copy_layout_bytes, false),
        PIECE(freed_bytes, false),  PIECE(always_live_bytes, false),
        PIECE(code_bytes, false),   PIECE(buffer_bytes, false),
        PIECE(tile, true),          PIECE(step, true),
    };
    enum { OF_ANY_NEED = 3 };
    pl_stage_columns columns = {.count = OF_ANY_NEED};
    memcpy(columns.items, all, OF_ANY_NEED * sizeof *all);
    if (need != POPLINER_NEED_EXPECTED)
        return columns;
    columns.count = sizeof all / sizeof *all;
    memcpy(columns.items, all, sizeof all);
    for (size_t i = 0; i < PL_NUM_ADDED; i++)
        add(&columns, pl_parts[PL_FIRST_ADDED + i].column,
            offsetof(pl_peak_piece, added_bytes) + i * sizeof(uint64_t), false);
    return columns;
}

uint64_t pl_stage_column_get(const pl_stage_column *column, const char *item) {
    uint32_t number;
    uint64_t large;
    memcpy(&number, item + column->offset, sizeof number);
    if (column->is_short)
        return number;
    memcpy(&large, item + column->offset, sizeof large);
    return large;
}

void pl_stage_column_set(const pl_stage_column *column, char *item, uint64_t number) {
    const uint32_t low = (uint32_t)number;
    if (column->is_short)
        memcpy(item + column->offset, &low, sizeof low);
    else
        memcpy(item + column->offset, &number, sizeof number);
}
