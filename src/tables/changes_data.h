/* What a comparison is inside the library, and how tables become one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TABLES_CHANGES_DATA_H
#define PL_TABLES_CHANGES_DATA_H

#include "base/names.h"
#include "base/sheet.h"
#include "popliner/changes.h"

/* What is known of a side beside its quantities. Texts are among the names of the comparison. */
typedef struct pl_compared_side {
    const char *name;
    const char *poplar_version; /* "" where the profile does not tell */
    const char *architecture;
    const char *cycles_source;
    uint64_t bytes_per_tile;
    size_t largest_tile;
} pl_compared_side;

/* A stage as one side has it; the texts are NULL where it does not have it, and the verdict also in
 * a memory model that has none. */
typedef struct pl_compared_stage {
    const char *first_unit;
    const char *last_unit;
    const char *verdict;
    uint64_t ipu;
} pl_compared_stage;

enum { PL_BEFORE, PL_NOW, PL_NUM_SIDES };

struct popliner_changes {
    popliner_memory_model model;
    size_t num_tiles;
    bool has_plan;
    pl_compared_side sides[PL_NUM_SIDES];
    pl_compared_stage (*stages)[PL_NUM_SIDES]; /* [num_stages] */
    size_t num_stages;
    popliner_change *items;
    size_t count;
    size_t capacity;
    size_t num_changed;
    size_t deciding; /* its place */
    popliner_setting_change *settings;
    size_t num_settings;
    size_t num_settings_changed;
    popliner_growth_result *bounds; /* each with its own list */
    size_t num_bounds;
    pl_names names;             /* of items and quantities */
    popliner_changes_info info; /* of the above, once it is complete */
    bool failed;                /* memory ran short */
};

/* How the rows of two tables with the same meaning are matched. */
typedef struct pl_pairing {
    const char *what; /* the rows are; NULL: as the column `kind` says */
    const char
        *kind; /* a column by which rows are matched, and the next one; NULL: by that alone */
    const char *name; /* equal ones are matched in their order */
} pl_pairing;

/* A name of the comparison's own; "" without memory. */
const char *pl_changes_name(popliner_changes *changes, const char *name);

/* Adds a quantity, and counts whether the sides differ. */
void pl_changes_add(popliner_changes *changes, const popliner_change *difference);

/* Adds all quantities of two kept tables: the columns of bytes, of cycles and num_operations. A
 * column that one table alone has counts 0 in the other one. Rows that are only before come last.
 * O(rows * (columns + log rows)). */
void pl_changes_add_tables(popliner_changes *changes, const pl_pairing *pairing,
                           const pl_sheet *before, const pl_sheet *now);

/* Adds what is no quantity of two kept summaries. O(rows log rows). */
void pl_changes_add_settings(popliner_changes *changes, const pl_sheet *before,
                             const pl_sheet *now);
bool pl_setting_is_change(const popliner_setting_change *setting);

/* Holds all quantities, which have to be there, against a bound each. O(bounds * quantities). */
void pl_changes_hold(popliner_changes *changes, const popliner_growth_bound *bounds,
                     size_t num_bounds);

/* Fills what popliner_changes_get_info tells, from all else. */
void pl_changes_finish(popliner_changes *changes);

/* Whether a quantity grew by more than so many percent, exactly in millionths of one. */
bool pl_change_grew(const popliner_change *difference, double max_percent);

/* Whether it is of a unit of the chain. */
bool pl_change_is_of_unit(const popliner_change *difference);

/* Of a kept table: how many rows it has below the names, the place of a column (SIZE_MAX: there is
 * none), a cell, its text ("" if it has none), and its number (false if it has none). */
size_t pl_kept_num_rows(const pl_sheet *sheet);
size_t pl_kept_column(const pl_sheet *sheet, const char *name);
const pl_cell *pl_kept_cell(const pl_sheet *sheet, size_t row, size_t column);
const char *pl_kept_text(const pl_sheet *sheet, size_t row, size_t column);
bool pl_kept_number(const pl_sheet *sheet, size_t row, size_t column, int64_t *number);

/* The difference of two quantities that are there, and its percentage of the one before; false if
 * that is not above 0. */
int64_t pl_change_of(const popliner_change *difference);
bool pl_change_percent(const popliner_change *difference, double *percent);

/* Whether the sides differ, or one has none. */
bool pl_change_is_one(const popliner_change *difference);

/* Adds the object that a page reads: the members before the rows in JSON, and "tables". Errors:
 * MEMORY. */
popliner_status pl_changes_write_page(const popliner_changes *changes, pl_text *data,
                                      popliner_error *error);

popliner_status pl_changes_write_text(const popliner_changes *changes, char **text,
                                      popliner_error *error);
popliner_status pl_changes_write_rows(const popliner_changes *changes, popliner_format format,
                                      char **text, popliner_error *error);

/* "largest-tile", "tiles", ...; NULL for no such kind. */
const char *pl_growth_name(popliner_growth of);

#endif
