/* The parts of reading a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_READERS_H
#define PL_PROFILE_PROFILE_READERS_H

#include "profile/database.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* ---- which part of the file ---- */

/* IPUs and tiles are numbered as in the file. Where the numbers of the target do not tell which
 * tiles an IPU has, the part is all of the file. */
typedef struct pl_part {
    bool is_all;          /* nothing is left out */
    bool is_one_ipu;      /* it was asked for */
    bool is_of_replica;   /* there are several replicas, and this is the first or of it */
    size_t num_ipus;      /* of the file */
    size_t replica_ipus;  /* of one replica */
    size_t replica_tiles; /* likewise */
    size_t first_ipu;
    size_t end_ipu;
    size_t first_tile;
    size_t end_tile;
} pl_part;

/* Whether the part has something of this IPU. */
static inline bool pl_part_has_ipu(const pl_part *part, uint64_t ipu) {
    return part->is_all || (ipu >= part->first_ipu && ipu < part->end_ipu);
}

/* The same for a place in a list of `count` entries: if these are one for each IPU. */
static inline bool pl_part_has_place(const pl_part *part, size_t place, size_t count) {
    bool is_by_ipu = count == part->num_ipus || count == part->replica_ipus;
    return !is_by_ipu || pl_part_has_ipu(part, place);
}

/* ---- what readers share ---- */

/* While reading: a series from an RLE blob that must hold one number per tile; NULL is all zero. */
popliner_status pl_profile_read_series(popliner_profile *profile, pl_rows *rows, int column,
                                       pl_series *series, popliner_error *error);

/* While reading: from the ids of the file to our indices. */
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

/* Other work, for the calling thread to do while helpers read. */
typedef struct pl_side_task {
    void (*run)(void *user);
    void *user;
} pl_side_task;

/* While lists are read: the room behind the two arrays of lists. */
typedef struct pl_list_room {
    size_t variables;
    size_t starts;
} pl_list_room;

/* A profile while it is read. */
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
    /* rows of the table of fields, by which columns of the current table are read, and the
     * number of the first of these columns */
    uint8_t fields[PL_MAX_COLUMNS];
    size_t num_fields;
    int first_column;
} pl_reading;

/* pl_table_read with the columns behind those of the table that are read as they are into arrays of
 * which *count is the length: a row of profile_fields.c for each. */
popliner_status pl_reading_fields(pl_reading *reading, const pl_table *table, const size_t *count,
                                  pl_take_row take, void *user, popliner_error *error);

/* The first part of that: lists the columns, and returns how many there are. */
size_t pl_reading_columns(pl_reading *reading, const size_t *count, pl_column *columns);

/* Reads these columns of the current row into place `place` of their arrays. Errors: INPUT,
 * MEMORY. */
popliner_status pl_reading_take(pl_reading *reading, pl_rows *rows, size_t place,
                                popliner_error *error);

/* Adds a place to these arrays for the current row of such a walk, and fills it; `ids`, which
 * may be NULL, lead from `id` to it. Errors: INPUT, MEMORY. */
popliner_status pl_reading_add(pl_reading *reading, pl_rows *rows, size_t *count, pl_id_map *ids,
                               uint64_t id, popliner_error *error);

/* Calls `take` with the reading for every row of a table. */
popliner_status pl_reading_table(pl_reading *reading, const pl_table *table, pl_take_row take,
                                 popliner_error *error);

/* A number of the current row that is the id of something, as our index. Errors: INPUT if `ids`,
 * those of the table `table`, do not have it. */
popliner_status pl_rows_index(pl_rows *rows, int column, const pl_id_map *ids, const char *table,
                              uint32_t *index, popliner_error *error);

/* While reading: a series from a list of varints, one number per tile; without a byte it is all
 * zero. */
popliner_status pl_profile_read_list_series(popliner_profile *profile, pl_rows *rows, int column,
                                            pl_series *series, popliner_error *error);

/* How large the unlowered variables are, from their pieces. O(variables). */
void pl_profile_sum_up_pieces(popliner_profile *profile);

/* A row of a program type's own table: exchange code and up to two lists of variables. */
typedef struct pl_exchange {
    pl_series code;
    uint32_t lists[2]; /* PL_NONE: none */
} pl_exchange;

/* The exchanges of one such table. */
typedef struct pl_exchange_table {
    pl_id_map ids; /* to places in `entries` */
    pl_exchange *entries;
    size_t count;
    size_t capacity;
} pl_exchange_table;

/* The lists of the host exchanges of one direction, sorted by the StreamCopyMid that they belong
 * to. */
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

/* Reads the tables of exchanges, all of them optional, behind the lists of variables. Of several
 * rows of one id the first counts. Errors: INPUT, MEMORY. */
popliner_status pl_exchanges_read(const pl_database *database, popliner_profile *profile,
                                  const pl_profile_ids *ids, pl_exchanges *exchanges,
                                  popliner_error *error);

void pl_exchanges_free(pl_exchanges *exchanges);

/* The exchange with this id, or NULL. O(log exchanges). */
const pl_exchange *pl_exchange_find(const pl_exchange_table *table, uint64_t id);

/* Reads the lists of one direction, from host_exchange_from_host or host_exchange_to_host; the
 * caller frees entries. Errors: INPUT, MEMORY. */
popliner_status pl_host_lists_read(const pl_database *database, const char *table,
                                   const pl_profile_ids *ids, pl_host_lists *lists,
                                   popliner_error *error);

/* The place of the first list of a StreamCopyMid, or of what comes behind where they would be.
 * O(log lists). */
size_t pl_host_lists_find(const pl_host_lists *lists, uint64_t id);

/* ---- the parts, in the order in which they need each other: each a pl_reader ---- */

typedef popliner_status pl_reader(pl_reading *reading, popliner_error *error);

/* Version, which messages about the database name from then on, target, other facts, and the
 * options of the engine; all but the first two are optional. */
pl_reader pl_profile_read_target;

/* The part that the options ask for, of a profile whose target is read; where the file has the
 * tiles of one replica only, the target gets so many. Warns of what makes the profile a poor one to
 * split. Errors: USAGE for an IPU that the profile does not have; INPUT for one whose tiles are not
 * to be told, and of reading; MEMORY. O(tiles). */
pl_reader pl_part_find;

/* Reads the files of notes beside the profile, unless they are to be left out: a row for each
 * value, its name the keys and the places in lists that lead to it, with points between. A file
 * that is not there has no rows. Neither has one that cannot be read, is larger than a MiB or is
 * no JSON: the listener is warned, once, by its name, as it is of more values than are kept.
 * Errors: MEMORY. */
pl_reader pl_report_notes_read;

/* Categories, unlowered variables, equivalence classes. */
pl_reader pl_profile_read_variables;

/* Lowered variables; with the side task, if there is one. */
pl_reader pl_profile_read_lowered;

/* Vertex types and their code; compute sets: names, variables, vertices and the state of these; the
 * lists of variables of exchanges. */
pl_reader pl_profile_read_compute_sets;

/* Exchanges, programs, liveness steps. */
pl_reader pl_profile_read_programs;

/* Runs, and what they executed on the IPUs of the part; cycles of the programs there, and counts of
 * Repeats: all optional. Surprises in the tables of the execution, which no real file has shown
 * filled, are told to the listener and left out. */
pl_reader pl_profile_read_execution;

/* The ranges of the classes, which are checked against the number of steps. */
pl_reader pl_profile_read_live_ranges;

/* The compiler's own account: by tile, and by category and tile. Categories that are not known are
 * told to the listener. */
pl_reader pl_profile_read_tiles;

/* Fills profile->absence: one sentence for each table or column that is missing, that reading can
 * do without, and that answers depend on. A table without rows lacks no column; one that is about
 * programs of a type is missing only where the profile has such programs. Errors: INPUT, MEMORY. */
pl_reader pl_schema_find_absences;

/* Fills in the profile's checks. A relation is not checked where the file lacks a table or
 * column of it. Errors: INPUT, MEMORY; a breach is none. Cost: a few passes over the lowered
 * variables, on as many threads as the database has connections, and one over the compiler's
 * account of vertices. */
pl_reader pl_profile_find_checks;

/* ---- what belongs to reading ---- */

/* Leaves in a profile that was read as a whole what is on the tiles of the part: variables, numbers
 * by tile, the compiler's account. Tiles and variables are numbered from 0 again. What it tells of
 * programs, steps, classes, names and checks stays. Before that the other replicas are compared
 * with the first, and the facts get what comes of it. Errors: MEMORY. O(variables + touched
 * variables + series * tiles). */
popliner_status pl_part_keep(popliner_profile *profile, const pl_part *part, popliner_error *error);

/* What nothing but this column tells, or nothing but this table (`column` NULL), as the end of a
 * sentence; NULL for what is not known of profiles. */
const char *pl_schema_tells(const char *table, const char *column);

/* Fills in the one that ties the programs to the debug information. Errors: MEMORY. O(programs). */
popliner_status pl_profile_check_contexts(popliner_profile *profile, const pl_debug_info *info,
                                          popliner_error *error);

#endif
