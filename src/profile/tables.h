/* The tables of a profile: what each column holds, where it goes, and what its absence costs; and
 * the engine that reads their rows. docs/profile-format.md, section 20, is written from it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_TABLES_H
#define PL_PROFILE_TABLES_H

#include "profile/database.h"
#include "profile/profile_data.h"

/* The order of the warnings about what is missing. */
typedef enum pl_table_number {
    PL_TABLE_VERSION,
    PL_TABLE_TARGET,
    PL_TABLE_POPLAR,
    PL_TABLE_GRAPH,
    PL_TABLE_OPTIONS,
    PL_TABLE_VERTEX_TYPES,
    PL_TABLE_VERTEX_CODE,
    PL_TABLE_COMPUTE_SETS,
    PL_TABLE_VERTICES,
    PL_TABLE_STATE,
    PL_TABLE_PROGRAMS,
    PL_TABLE_PROGRAM_IDS, /* and nothing else of the same table */
    PL_TABLE_PROGRAM_TYPES,
    PL_TABLE_EXECUTES,
    PL_TABLE_FUNCTIONS,
    PL_TABLE_CALLS,
    PL_TABLE_REPEATS,
    PL_TABLE_EXCHANGES,
    PL_TABLE_GLOBAL_EXCHANGES,
    PL_TABLE_CODE_COPIES,
    PL_TABLE_HOST_COPIES,
    PL_TABLE_FROM_HOST,
    PL_TABLE_TO_HOST,
    PL_TABLE_REGIONS,
    PL_TABLE_CYCLES,
    PL_TABLE_STEPS,
    PL_TABLE_VARIABLES,
    PL_TABLE_CATEGORIES,
    PL_TABLE_UNLOWERED,
    PL_TABLE_DEBUG_IDS,
    PL_TABLE_CLASSES,
    PL_TABLE_RANGES,
    PL_TABLE_TILES,
    PL_TABLE_CATEGORY_MEMORY,
    PL_TABLE_STEP_MEMORY,
    PL_TABLE_ROOTS,
    PL_TABLE_RUNS,
    PL_TABLE_EXECUTED,
    PL_TABLE_EXECUTED_IPUS,
    /* more columns of tables above, which checks alone read */
    PL_TABLE_CHECKED_COUNTS,
    PL_TABLE_CHECKED_VERTEX_TYPES,
    PL_TABLE_CHECKED_STATE,
    PL_TABLE_CHECKED_EXCHANGES,
    PL_TABLE_CHECKED_HOST_COPIES,
    PL_NUM_TABLES
} pl_table_number;

/* The kind of a column. A value that does not fit is an error, unless the kind says otherwise; NULL
 * is one for ids and numbers. Columns that name the row or its item come first. */
typedef enum pl_column_kind {
    PL_OTHER,             /* the caller reads it */
    PL_ID,                /* a number by which other tables refer to the row */
    PL_ID_OR_SKIP,        /* a row without an id is skipped */
    PL_ITEM,              /* a reference to the item that the row is of */
    PL_ITEM_OR_SKIP,      /* a row of an unknown item, or of none, is skipped */
    PL_TILE,              /* the tile that the row is of */
    PL_REFERENCE,         /* to a row of another table */
    PL_REFERENCE_OR_NONE, /* PL_NONE for an unknown row and for NULL */
    PL_LEADS_TO,          /* a reference that the id of the row stands for */
    PL_LEADS_TO_OR_SKIP,  /* a row with an unknown reference is skipped */
    PL_LEADS_TO_NUMBER,   /* a number that the id stands for; a row without one is skipped */
    PL_LEADS_TO_TEXT,     /* a text that the id stands for, "" for NULL */
    PL_NUMBER,
    PL_NUMBER_OR_0,
    PL_NUMBER_OR_NONE, /* UINT64_MAX for NULL */
    PL_ANY_OR_0,       /* 0 for NULL and whatever is no number */
    PL_ANY_OR_NONE,    /* UINT64_MAX for these */
    PL_STEP,           /* a number up to that of liveness steps */
    PL_FLAG,           /* 0 for NULL and whatever is no number; else 1 */
    PL_TEXT,           /* "" for NULL */
    PL_FIRST,          /* the first number of a list of varints; 0 for an empty one */
    PL_RUNS,           /* a number for each tile, as runs; NULL is all zero */
    PL_ADDED_RUNS,     /* runs that are added to those of the column before */
    PL_LIST,           /* a number for each tile, as a list of varints; an empty one is all zero */
} pl_column_kind;

extern const pl_table pl_tables[PL_NUM_TABLES];

struct pl_reading;

/* An iteration over a table. Columns with an array go there: into the item that the row is of or,
 * in a table with a count, a new one. `values` has the numbers of all columns. */
typedef struct pl_table_rows {
    struct pl_reading *reading;
    pl_table_number number;
    pl_rows rows;
    size_t place; /* the item; else the number of the row among those not skipped, from 0 */
    uint64_t values[PL_MAX_COLUMNS];
    size_t num_columns; /* this and the rest are for the engine */
    pl_field fields[PL_MAX_COLUMNS];
    uint64_t most[PL_MAX_COLUMNS];
    size_t *count;
    pl_field grown[PL_MAX_FIELDS]; /* arrays with *count items */
    size_t num_grown;
    size_t num_rows; /* that were not skipped */
    uint64_t target;
    bool is_skipped;
} pl_table_rows;

/* Allocates what the table fills, and begins to read. */
pl_table_rows pl_table_open(struct pl_reading *reading, pl_table_number number);

/* Reads the next row. False after the last one, whose ids can be found then, or once something has
 * failed. Before that, pl_rows_close ends the iteration. */
bool pl_table_next(pl_table_rows *rows);

/* Reads all rows; returns how many were not skipped. */
size_t pl_table_read(struct pl_reading *reading, pl_table_number number);

/* Reads a series of the current row: runs, or a list of varints. */
pl_series pl_read_runs(popliner_profile *profile, pl_rows *rows, int column);
pl_series pl_read_list(popliner_profile *profile, pl_rows *rows, int column);

#endif
