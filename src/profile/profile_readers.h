/* The steps of reading a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_READERS_H
#define PL_PROFILE_PROFILE_READERS_H

#include "profile/profile_data.h"
#include "profile/read.h"
#include "profile/tables.h"

/* ---- The part of the file that is read ---- */

/* IPUs and tiles have the numbers of the file. If the target does not determine which tiles an IPU
 * has, the part is the whole file. */
typedef struct pl_part {
    bool is_all;          /* nothing is left out */
    bool is_one_ipu;      /* the options request it */
    bool is_of_replica;   /* there are several replicas, and the part is the first one or in it */
    size_t num_ipus;      /* of the file */
    size_t replica_ipus;  /* in one replica */
    size_t replica_tiles; /* in one replica */
    size_t first_ipu;
    size_t end_ipu;
    size_t first_tile;
    size_t end_tile;
} pl_part;

/* ---- Shared by the steps ---- */

/* A row of the table of a program type: exchange code, up to two lists of variables, and cycles. */
typedef struct pl_exchange {
    pl_series code;
    uint32_t lists[2]; /* PL_NONE: none */
    uint64_t cycles;   /* UINT64_MAX: unknown */
} pl_exchange;

enum { PL_NUM_EXCHANGE_TABLES = PL_TABLE_HOST_COPIES - PL_TABLE_EXCHANGES + 1 };

/* The lists of the host exchanges of one direction, sorted by their StreamCopyMid. */
typedef struct pl_host_lists {
    pl_id_entry *entries; /* id: StreamCopyMid, index: list */
    size_t count;
} pl_host_lists;

/* A profile that is being read. What fails, fails in the outcome of the database. */
typedef struct pl_reading {
    const char *path;
    const pl_read_options *options;
    /* The calling thread reads the debug information while helpers read lowered variables. */
    const char *debug_path; /* NULL: there is none */
    pl_debug_info *debug_info;
    popliner_status debug_status;
    popliner_error debug_error;
    pl_database database;
    popliner_profile *profile;
    pl_id_map ids[PL_NUM_TABLES]; /* from the ids of a table to our indices */
    pl_part part;

    /* for readers and checks, in addition to the profile */
    uint64_t graph[4];                     /* of PL_TABLE_GRAPH; UINT64_MAX: not recorded */
    bool tile_is_recorded[PL_MAX_COLUMNS]; /* of PL_TABLE_TILES: some row has a number */
    pl_exchange *exchanges[PL_NUM_EXCHANGE_TABLES]; /* of each table, by row */
    pl_host_lists host[2];                          /* to the host, from the host */
    uint64_t *row_cycles; /* of each row of PL_TABLE_CYCLES, on the slowest tile of the part */
    uint64_t *set_cycles; /* of each compute set; UINT64_MAX: unknown */
    uint8_t *is_function; /* by program: the body of a function */
    pl_arrays arrays;     /* own these, and what readers and checks need for a while */
} pl_reading;

/* Return memory that the reading owns, all 0, or grow it like pl_grow. NULL or false, with an
 * error, if memory is short. */
void *pl_reading_new(pl_reading *reading, size_t count, size_t item_size);
bool pl_reading_grow(pl_reading *reading, void *array, size_t num_needed, size_t item_size);

/* Reports how much of the file is read to the listener; for the calling thread only. */
void pl_reading_tell(const pl_reading *reading, uint64_t percent);

/* Fails for the profile unless there was memory, also for its arrays. True if nothing has failed,
 * now or before. */
bool pl_reading_has(pl_reading *reading, bool memory);

/* Reads the cycles of the current row in a list of ids of PL_TABLE_CYCLES, one for each IPU: the
 * slowest IPU of the part counts. UINT64_MAX if they are unknown. */
uint64_t pl_reading_cycles(pl_reading *reading, pl_rows *rows, int column);

/* Computes the sizes of unlowered variables from their pieces. O(variables). */
void pl_profile_sum_up_pieces(popliner_profile *profile);

/* ---- The steps, in the order of their dependencies: each a pl_reader ---- */

typedef void pl_reader(pl_reading *reading);

/* Reads the version, which messages about the database then contain, the target, other facts, and
 * the engine options; all but the first two are optional. */
pl_reader pl_profile_read_target;

/* Finds the part that the options request, after the target was read; if the file has only the
 * tiles of one replica, adjusts the target. Warns if the profile should not be split. Errors: USAGE
 * for an IPU that the profile does not have; INPUT for one whose tiles are unknown. O(tiles). */
pl_reader pl_part_find;

/* Reads categories, unlowered variables and equivalence classes. */
pl_reader pl_profile_read_variables;

/* Reads lowered variables, and the debug information at the same time. */
pl_reader pl_profile_read_lowered;

/* Reads vertex types and their code; compute sets: names, variables, vertices and their state; the
 * lists of variables of exchanges. */
pl_reader pl_profile_read_compute_sets;

/* Reads exchanges, programs, with estimates of their cycles, and liveness steps. */
pl_reader pl_profile_read_programs;

/* Reads the estimates of cycles that other tables refer to. */
pl_reader pl_profile_read_cycles;

/* Reads runs, and what they executed on the IPUs of the part: all optional. Invalid rows in the
 * tables of the execution, which no known file fills, are skipped, with a warning. */
pl_reader pl_profile_read_execution;

/* Reads the live ranges of the classes, and checks them against the number of steps. */
pl_reader pl_profile_read_live_ranges;

/* Reads the compiler's own account: by tile, and by category and tile. Warns of unknown
 * categories. */
pl_reader pl_profile_read_tiles;

/* Fills profile->absence: one sentence for each missing optional table or column that answers
 * depend on. A table without rows lacks no column; the table of a program type is missing only if
 * the profile has such programs. */
pl_reader pl_tables_find_absences;

/* Runs the consistency checks. Skips a relation if the file lacks a table or column of it. A breach
 * is not an error. Cost: a few passes over the lowered variables, on as many threads as the
 * database has connections, and one over the compiler's account of vertices. */
pl_reader pl_profile_find_checks;

/* ---- After the steps ---- */

/* Reduces a profile that was read as a whole to the tiles of the part: variables, numbers by tile,
 * the compiler's account. Numbers tiles and variables from 0 again. Keeps programs, steps, classes,
 * names and checks. Before that compares the other replicas with the first, and stores the
 * differences in the facts. O(variables + touched variables + series * tiles). */
void pl_part_keep(popliner_profile *profile, const pl_part *part);

/* Runs the check that relates the programs to the debug information. Errors: MEMORY.
 * O(programs). */
popliner_status pl_profile_check_contexts(popliner_profile *profile, const pl_debug_info *info,
                                          popliner_error *error);

#endif
