/* A comparison inside the library, and the functions that compare tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TABLES_CHANGES_DATA_H
#define PL_TABLES_CHANGES_DATA_H

#include "base/id_map.h"
#include "base/sheet.h"
#include "popliner/changes.h"

/* The facts of a side that are not quantities. Texts belong to the names of the comparison. */
typedef struct pl_compared_side {
    const char *name;
    const char *poplar_version; /* "" if the profile has none */
    const char *architecture;
    const char *cycles_source;
    uint64_t bytes_per_tile;
    size_t largest_tile;
} pl_compared_side;

/* A stage of one side. Texts are NULL if the side does not have the stage; the verdict also in a
 * memory model without verdicts. */
typedef struct pl_compared_stage {
    const char *first_unit;
    const char *last_unit;
    const char *verdict;
    uint64_t ipu;
} pl_compared_stage;

enum { PL_BEFORE, PL_NOW, PL_NUM_SIDES };

typedef struct pl_changes {
    popliner_changes info; /* first: it is what the caller has */
    popliner_memory_model model;
    size_t num_tiles;
    bool has_plan;
    pl_compared_side sides[PL_NUM_SIDES];
    pl_compared_stage (*stages)[PL_NUM_SIDES]; /* [num_stages] */
    size_t num_stages;
    popliner_change *items; /* [info.num_changes] */
    size_t deciding;        /* index of the quantity that decides */
    pl_names names;
    pl_arrays arrays; /* own all but the names */
} pl_changes;

/* How rows of two tables are matched. */
typedef struct pl_pairing {
    const char *what; /* the kind of the rows; NULL: as in the column `kind` */
    const char *kind; /* a column by which rows are matched, before `name`; NULL: by `name` alone */
    const char *name; /* equal names are matched in their order */
} pl_pairing;

/* Returns a copy of a name that the comparison owns; "" when memory is short. */
const char *pl_changes_name(pl_changes *changes, const char *name);

/* Adds a quantity, and counts it as changed if the sides differ. */
void pl_changes_add(pl_changes *changes, const popliner_change *difference);

/* Adds all quantities of two stored tables: columns of bytes, of cycles and num_operations. A
 * column that one table lacks counts as 0. Rows that only `before` has come last.
 * O(rows * columns). */
void pl_changes_add_tables(pl_changes *changes, const pl_pairing *pairing, const pl_sheet *before,
                           const pl_sheet *now);

/* Compares all quantities, which must be complete, with the limits, into changes->info.
 * O(limits * quantities). */
void pl_changes_hold(pl_changes *changes, const double max_percents[POPLINER_NUM_GROWTHS]);

/* True if a quantity grew by more than max_percent, exact to a millionth of a percent. */
bool pl_change_grew(const popliner_change *difference, double max_percent);

/* Access to a stored table: its number of rows without the names; the index of a column (SIZE_MAX:
 * there is none); the text of a cell ("" if it has none); and its number (false if it has none). */
size_t pl_kept_num_rows(const pl_sheet *sheet);
size_t pl_kept_column(const pl_sheet *sheet, const char *name);
const char *pl_kept_text(const pl_sheet *sheet, size_t row, size_t column);
bool pl_kept_number(const pl_sheet *sheet, size_t row, size_t column, int64_t *number);

/* Returns the difference of a quantity that both sides have. pl_change_percent relates it to the
 * value before; false if that is not above 0. */
int64_t pl_change_of(const popliner_change *difference);
bool pl_change_percent(const popliner_change *difference, double *percent);

/* True if the sides differ, or one lacks the quantity. */
bool pl_change_is_one(const popliner_change *difference);

/* Returns "largest-tile", "tiles", ...; NULL for an invalid kind. */
const char *pl_growth_name(popliner_growth of);

#endif
