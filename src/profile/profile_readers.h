/* The steps of reading a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_READERS_H
#define PL_PROFILE_PROFILE_READERS_H

#include "profile/database.h"
#include "profile/profile_data.h"
#include "profile/read.h"

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

/* True if the part contains this IPU. */
static inline bool pl_part_has_ipu(const pl_part *part, uint64_t ipu) {
    return part->is_all || (ipu >= part->first_ipu && ipu < part->end_ipu);
}

/* Like pl_part_has_ipu, for a position in a list of `count` entries, if these are one for each
 * IPU. */
static inline bool pl_part_has_place(const pl_part *part, size_t place, size_t count) {
    bool is_by_ipu = count == part->num_ipus || count == part->replica_ipus;
    return !is_by_ipu || pl_part_has_ipu(part, place);
}

/* ---- Shared by the steps ---- */

/* Reads a series from an RLE blob that must hold one number per tile; NULL is all zero. */
pl_series pl_profile_read_series(popliner_profile *profile, pl_rows *rows, int column);

/* Maps the ids of the file to our indices. */
typedef struct pl_profile_ids {
    pl_id_map vertex_types;
    pl_id_map compute_sets;
    pl_id_map programs;
    pl_id_map exchange_targets; /* to lists */
    pl_id_map classes;
    pl_id_map unlowered;
    pl_id_map categories;
    pl_id_map variables;
} pl_profile_ids;

/* Other work, which the calling thread does while helpers read. */
typedef struct pl_side_task {
    void (*run)(void *user);
    void *user;
} pl_side_task;

/* The capacities of the two arrays of lists, while lists are read. */
typedef struct pl_list_room {
    size_t variables;
    size_t starts;
} pl_list_room;

/* A profile that is being read. What fails, fails in the outcome of the database. */
typedef struct pl_reading {
    const char *path;
    const pl_read_options *options;
    const pl_side_task *side_task; /* or NULL */
    pl_reading_progress *progress;
    pl_database database;
    popliner_profile *profile;
    pl_profile_ids ids;
    pl_part part;
    pl_list_room list_room;
    size_t capacity; /* of the arrays that the current table fills: see pl_profile_reserve */
    /* columns of the current table; rows of the table of fields that read some of them, and the
     * number of the first of these */
    pl_column columns[PL_MAX_COLUMNS];
    uint8_t fields[PL_MAX_COLUMNS];
    size_t num_fields;
    int first_column;
} pl_reading;

/* Like pl_rows_open, with additional columns that are copied into the arrays of length *count: one
 * for each row of profile_fields.c that has a column. */
pl_rows pl_reading_open(pl_reading *reading, const pl_table *table, const size_t *count);

/* Lists these columns and returns their number. */
size_t pl_reading_columns(pl_reading *reading, const size_t *count, pl_column *columns);

/* Reads these columns of the current row into position `place` of their arrays. */
void pl_reading_take(pl_reading *reading, pl_rows *rows, size_t place);

/* Appends an item to these arrays for the current row; `ids`, which may be NULL, map `id` to it. */
void pl_reading_add(pl_reading *reading, pl_rows *rows, size_t *count, pl_id_map *ids, uint64_t id);

/* Appends an item to these arrays for each row of a table, whose first column has the ids. */
void pl_reading_ids(pl_reading *reading, const pl_table *table, size_t *count, pl_id_map *ids);

/* Reads an id of the current row, as our index. PL_NONE, with INPUT, if `ids`, those of the table
 * `table`, do not have it. */
uint32_t pl_rows_index(pl_rows *rows, int column, const pl_id_map *ids, const char *table);

/* Reads a series from a list of varints, one number per tile; an empty list is all zero. */
pl_series pl_profile_read_list_series(popliner_profile *profile, pl_rows *rows, int column);

/* Computes the sizes of unlowered variables from their pieces. O(variables). */
void pl_profile_sum_up_pieces(popliner_profile *profile);

/* A row of the table of a program type: exchange code and up to two lists of variables. */
typedef struct pl_exchange {
    pl_series code;
    uint32_t lists[2]; /* PL_NONE: none */
} pl_exchange;

/* The exchanges of one such table. */
typedef struct pl_exchange_table {
    pl_id_map ids; /* to indices of `entries` */
    pl_exchange *entries;
    size_t count;
    size_t capacity;
} pl_exchange_table;

/* The lists of the host exchanges of one direction, sorted by their StreamCopyMid. */
typedef struct pl_host_lists {
    pl_id_entry *entries; /* id: StreamCopyMid, index: list */
    size_t count;
    size_t capacity;
} pl_host_lists;

/* Zero-initialise; free with pl_exchanges_free. */
typedef struct pl_exchanges {
    pl_exchange_table do_exchanges;
    pl_exchange_table global_exchanges;
    pl_exchange_table code_copies;
    pl_host_lists from_host;
    pl_host_lists to_host;
} pl_exchanges;

/* Reads the tables of exchanges, all optional, after the lists of variables. The first of several
 * rows of one id counts. */
void pl_exchanges_read(pl_database *database, popliner_profile *profile, const pl_profile_ids *ids,
                       pl_exchanges *exchanges);

void pl_exchanges_free(pl_exchanges *exchanges);

/* Returns the exchange with this id, or NULL. O(log exchanges). */
const pl_exchange *pl_exchange_find(const pl_exchange_table *table, uint64_t id);

/* Reads the lists of one direction, from host_exchange_from_host or host_exchange_to_host; the
 * caller frees entries. */
void pl_host_lists_read(pl_database *database, const char *table, const pl_profile_ids *ids,
                        pl_host_lists *lists);

/* ---- The steps, in the order of their dependencies: each a pl_reader ---- */

typedef void pl_reader(pl_reading *reading);

/* Reads the version, which messages about the database then contain, the target, other facts, and
 * the engine options; all but the first two are optional. */
pl_reader pl_profile_read_target;

/* Finds the part that the options request, after the target was read; if the file has only the
 * tiles of one replica, adjusts the target. Warns if the profile should not be split. Errors: USAGE
 * for an IPU that the profile does not have; INPUT for one whose tiles are unknown. O(tiles). */
pl_reader pl_part_find;

/* Reads the files of notes in the directory of the profile, unless they are to be left out: one row
 * for each value, named by the keys and list positions that lead to it, with points between. A
 * missing file has no rows. A file that cannot be read, is larger than a MiB or is not JSON has
 * none either, and the listener is warned, as it is of more values than are stored. */
pl_reader pl_report_notes_read;

/* Reads categories, unlowered variables and equivalence classes. */
pl_reader pl_profile_read_variables;

/* Reads lowered variables, and runs the side task, if there is one. */
pl_reader pl_profile_read_lowered;

/* Reads vertex types and their code; compute sets: names, variables, vertices and their state; the
 * lists of variables of exchanges. */
pl_reader pl_profile_read_compute_sets;

/* Reads exchanges, programs and liveness steps. */
pl_reader pl_profile_read_programs;

/* Reads runs, and what they executed on the IPUs of the part; cycles of the programs there, and
 * counts of Repeats: all optional. Invalid rows in the tables of the execution, which no known file
 * fills, are skipped, with a warning. */
pl_reader pl_profile_read_execution;

/* Reads the live ranges of the classes, and checks them against the number of steps. */
pl_reader pl_profile_read_live_ranges;

/* Reads the compiler's own account: by tile, and by category and tile. Warns of unknown
 * categories. */
pl_reader pl_profile_read_tiles;

/* Fills profile->absence: one sentence for each missing optional table or column that answers
 * depend on. A table without rows lacks no column; the table of a program type is missing only if
 * the profile has such programs. */
pl_reader pl_schema_find_absences;

/* Runs the consistency checks. Skips a relation if the file lacks a table or column of it. A breach
 * is not an error. Cost: a few passes over the lowered variables, on as many threads as the
 * database has connections, and one over the compiler's account of vertices. */
pl_reader pl_profile_find_checks;

/* ---- After the steps ---- */

/* Reduces a profile that was read as a whole to the tiles of the part: variables, numbers by tile,
 * the compiler's account. Numbers tiles and variables from 0 again. Keeps programs, steps, classes,
 * names and checks. Before that compares the other replicas with the first, and stores the
 * differences in the facts. Errors: MEMORY. O(variables + touched variables + series * tiles). */
popliner_status pl_part_keep(popliner_profile *profile, const pl_part *part, popliner_error *error);

/* Returns what this column contains, or this table (`column` NULL), as the end of a sentence; NULL
 * if unknown. */
const char *pl_schema_tells(const char *table, const char *column);

/* Runs the check that relates the programs to the debug information. Errors: MEMORY.
 * O(programs). */
popliner_status pl_profile_check_contexts(popliner_profile *profile, const pl_debug_info *info,
                                          popliner_error *error);

#endif
