/* What a profile is inside the library: structures of arrays, indices instead of ids.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_DATA_H
#define PL_PROFILE_PROFILE_DATA_H

#include <stdbool.h>

#include "base/fields.h"
#include "base/id_map.h"
#include "popliner/liveness.h"
#include "popliner/profile.h"
#include "profile/blob_codec.h"
#include "profile/category.h"
#include "profile/database.h"
#include "profile/read.h"

/* How many types of programs are known; they are numbered from 0. */
enum { PL_NUM_PROGRAM_TYPES = POPLINER_PROGRAM_SYNC_ANS + 1 };

/* One number per tile, kept RLE-encoded in popliner_profile.series_bytes: most are all zero or
 * change seldom, and each is wanted once. Size 0 stands for all zero. */
typedef struct pl_series {
    uint64_t offset;
    uint64_t size_bytes;
} pl_series;

/* More than a tile can have of anything, so that sums over variables, programs and tiles are right.
 * The state of a compute set is a sum of three such numbers. */
#define PL_MAX_TILE_BYTES UINT32_MAX
#define PL_MAX_STATE_BYTES (3 * (uint64_t)PL_MAX_TILE_BYTES)

/* The category of a lowered variable is one byte. */
#define PL_MAX_CATEGORIES (UINT8_MAX + 1)

/* Single numbers that the profile tells, in popliner_profile.facts; of texts their pl_string. */
typedef enum pl_fact {
    PL_FACT_FORMAT_MAJOR,
    PL_FACT_FORMAT_MINOR,
    PL_FACT_FORMAT_POINT,
    PL_FACT_FORMAT_UNSTABLE,
    PL_FACT_POPLAR_MAJOR,
    PL_FACT_POPLAR_MINOR,
    PL_FACT_POPLAR_POINT,
    PL_FACT_POPLAR_TEXT,
    PL_FACT_POPLAR_HASH,
    PL_FACT_NUM_VERTICES,
    PL_FACT_NUM_EDGES,
    PL_FACT_TARGET_TYPE,
    PL_FACT_TILES_PER_IPU,
    PL_FACT_IPUS_PER_REPLICA,
    PL_FACT_IPU, /* the one that the profile was restricted to, plus 1; 0: to none */
    /* where the replicas are not alike: tiles of the others, and the largest difference */
    PL_FACT_REPLICA_TILES_OFF,
    PL_FACT_REPLICA_BYTES_OFF,
    PL_NUM_FACTS,
} pl_fact;

/* The parts that the compiler's account of a category has: its columns, in this order. */
enum { PL_NUM_CATEGORY_PARTS = 6 };

/* What came of one relation that is checked; counts, but for the last. */
typedef struct pl_check {
    uint64_t checked;
    uint64_t breached;
    uint64_t largest_bytes;
    uint64_t where; /* pl_string */
} pl_check;

/* A string is the offset of its first byte in popliner_profile.strings; offset 0 is "". */
typedef uint32_t pl_string;

/* The device that the program was compiled for, and how much of it the profile is of: see
 * popliner_profile_info. */
typedef struct pl_target {
    size_t num_tiles;
    size_t num_ipus;
    size_t num_replicas;
    uint64_t bytes_per_tile;
    uint64_t clock_hz;
    char architecture[16];
    char type[16];
    size_t tiles_per_ipu;
    size_t ipus_per_replica;
} pl_target;

struct popliner_profile {
    pl_target target; /* its last three members are taken from the facts */

    size_t num_facts; /* PL_NUM_FACTS, or 0: all of them 0 */
    uint64_t *facts;

    size_t num_options;
    pl_string *option_name;
    pl_string *option_value;
    uint8_t *option_is_default;

    /* Of framework.json and app.json beside the profile, see report_notes.h. */
    size_t num_notes;
    uint8_t *note_group;
    uint8_t *note_kind;
    pl_string *note_name;
    pl_string *note_value;

    char *strings; /* NUL-terminated, one after another */
    size_t strings_length;
    size_t strings_capacity;
    uint8_t *series_bytes;
    size_t series_length;
    size_t series_capacity;

    size_t num_vertex_types;
    pl_string *vertex_type_name;
    uint64_t *vertex_type_size_bytes; /* state of one instance */
    pl_series *vertex_type_code;      /* bytes of its code, by tile */

    size_t num_compute_sets;
    pl_string *compute_set_name;
    uint64_t *compute_set_debug_context;
    uint64_t *compute_set_num_edges;
    uint32_t *compute_set_vertices_start; /* [num_compute_sets + 1] into the two below */
    size_t num_compute_set_vertices;
    uint32_t *compute_set_vertex_type;
    pl_series *compute_set_vertex_instances; /* number by tile */

    /* What the compiler tells of the state of a compute set's vertices: their fields, and the
     * pointers to copies and edges. */
    size_t num_compute_set_states; /* num_compute_sets, or 0 where the profile does not tell */
    pl_series *compute_set_state;
    pl_series *compute_set_descriptors; /* copy descriptors; with the former */

    /* Lists of lowered variables that programs touch: of a compute set, or of one side of an
     * exchange. */
    size_t num_lists;
    uint64_t *list_start; /* [num_lists + 1] into list_variable */
    size_t num_list_variables;
    uint32_t *list_variable;

    size_t num_programs;
    uint8_t *program_type; /* popliner_program_type */
    pl_string *program_type_name;
    uint32_t *program_children_start; /* [num_programs + 1] into program_child */
    size_t num_program_children;
    uint32_t *program_child;
    uint32_t *program_called;        /* body of the function that it calls, or PL_NONE */
    uint64_t *program_debug_context; /* 0: none */
    pl_string *program_name;
    uint32_t *program_compute_set; /* of OnTileExecute, else PL_NONE */
    pl_series *program_control_code;
    pl_series *program_exchange_code; /* of DoExchange */
    uint32_t *program_lists_start;    /* [num_programs + 1] into program_list */
    size_t num_program_lists;
    uint32_t *program_list;
    size_t num_fed_lists;
    uint32_t *fed_list; /* those that some copy from the host fills */

    /* What the programs take, if anything is known of it. */
    size_t num_timed_programs; /* num_programs, or 0 */
    uint64_t *program_cycles;  /* of one execution on the slowest tile; 0: none, or not known */
    uint8_t *program_cycles_source; /* popliner_cycles_source, EXCHANGES never */
    uint32_t *program_repeats;      /* of Repeat, if the file tells, else 1 */

    size_t num_steps;
    uint32_t *step_program;
    uint32_t *step_parent; /* a smaller step, or PL_NONE */

    size_t num_classes;
    uint8_t *class_always_live;
    uint32_t *class_ranges_start; /* [num_classes + 1] into the two below */
    size_t num_ranges;
    /* half-open: live on [range_first_step, range_end_step); of a class ascending, none of them
     * empty, and with a gap of some steps between each and the next */
    uint32_t *range_first_step;
    uint32_t *range_end_step;

    /* Unlowered variables, for their names. */
    size_t num_unlowered;
    pl_string *unlowered_name;
    uint64_t *unlowered_debug_context; /* the first one; 0: none */
    uint64_t *unlowered_size_bytes;    /* of its pieces, the lowered variables */
    uint32_t *unlowered_num_pieces;

    size_t num_categories; /* at most PL_MAX_CATEGORIES */
    pl_string *category_name;
    uint8_t *category; /* pl_category */

    /* The compiler's own account by category and tile. */
    size_t num_category_parts;  /* PL_NUM_CATEGORY_PARTS for each category, or 0 */
    pl_series *category_memory; /* by category and part */

    /* Whether what grows with the lowered variables was left out, see
     * pl_profile_variable_fields. */
    bool lacks_variables;

    /* Lowered variables, sorted by tile. One that was not allocated has size 0. */
    size_t num_variables;
    uint32_t *variable_size_bytes;
    uint32_t *variable_offset;    /* address on the tile */
    uint32_t *variable_class;     /* equivalence class */
    uint32_t *variable_unlowered; /* or PL_NONE */
    uint8_t *variable_category;
    uint64_t *tile_variables_start; /* [num_tiles + 1] */

    /* The compiler's own account, by tile. */
    uint64_t *tile_total_bytes;
    uint64_t *tile_total_including_gaps_bytes;
    uint64_t *tile_always_live_bytes;
    uint64_t *tile_not_always_live_peak_bytes;
    uint64_t *tile_interleaved_bytes;
    uint64_t *tile_non_interleaved_bytes;
    uint64_t *tile_overflowed_bytes;

    /* Whether this account agrees with all else, by popliner_relation. */
    /* What the file lacks, a sentence each, see schema.h. */
    size_t num_absences;
    pl_string *absence;

    size_t num_checks; /* those that there are, or 0: nothing was checked */
    pl_check *checks;

    /* The execution, if the program ran. */
    size_t num_runs;
    pl_string *run_name;
    uint64_t *run_start_microseconds;
    uint64_t *run_elapsed_microseconds;
    uint64_t *run_num_programs;
    uint64_t *run_first_step; /* [num_runs + 1] */

    size_t num_execution_steps;
    uint32_t *execution_program;    /* or PL_NONE */
    pl_string *execution_type_name; /* of the program, or of the sync */
    uint64_t *execution_ipus_start; /* [num_execution_steps + 1] into those below */
    size_t num_execution_ipus;
    uint32_t *execution_ipu;
    uint64_t *execution_cycles; /* of the slowest tile */
    uint64_t *execution_first_cycle;
    uint64_t *execution_active_from;
    uint64_t *execution_active_to;
    uint32_t *execution_active_tiles;
    double *execution_tile_balance;

    /* What the checks found of the tiles over all steps, [num_tiles]. It is not stored: NULL in a
     * profile that was. */
    popliner_peak *tile_peak;
};

/* A single number; 0 where the profile does not tell. */
static inline uint64_t pl_profile_fact(const popliner_profile *profile, pl_fact fact) {
    return profile->num_facts == 0 ? 0 : profile->facts[fact];
}

static inline size_t pl_profile_num_children(const popliner_profile *profile, size_t program) {
    return profile->program_children_start[program + 1] - profile->program_children_start[program];
}

/* Whether it can be that of a step: the mean of the tiles over their most, which may be rounded up.
 * Not so is NaN. */
static inline bool pl_is_balance(double balance) {
    return balance >= 0 && balance <= 1 + 1e-6;
}

/* The name of a program, or of the compute set that it executes; "" if neither has one. */
const char *pl_profile_program_name(const popliner_profile *profile, size_t program);

/* The best source of cycles that any program has. O(programs). */
popliner_cycles_source pl_profile_cycles_source(const popliner_profile *profile);

/* layout_gap_bytes of popliner_profile_info. O(tiles). */
uint64_t pl_profile_layout_gap_bytes(const popliner_profile *profile);

/* The tile of a lowered variable. O(log tiles). */
size_t pl_profile_tile_of(const popliner_profile *profile, size_t variable);

/* The same in a walk over ascending variables, from the tile of the one before (0 at first). O(1)
 * for each, over the whole walk. */
static inline size_t pl_profile_tile_from(const popliner_profile *profile, size_t variable,
                                          size_t tile) {
    while (variable >= profile->tile_variables_start[tile + 1])
        tile++;
    return tile;
}

/* The text of a string; valid as long as the profile. */
static inline const char *pl_profile_string(const popliner_profile *profile, pl_string string) {
    return profile->strings + string;
}

/* Adds `factor` times the series to by_tile[num_tiles]. O(tiles) or O(1) for an all-zero one. */
void pl_series_add(const popliner_profile *profile, pl_series series, uint64_t factor,
                   uint64_t *by_tile);

/* The walk over the runs of a series: none for an all-zero one, with which there may be no
 * bytes. */
static inline pl_runs pl_series_runs(const popliner_profile *profile, pl_series series) {
    return pl_runs_begin(series.size_bytes > 0 ? profile->series_bytes + series.offset : NULL,
                         series.size_bytes);
}

/* Whether so many instances by tile, of that size each, are no more than a tile can have. */
bool pl_profile_vertices_fit(const popliner_profile *profile, pl_series instances,
                             uint64_t size_bytes);

/* The sum of a series over the tiles. O(its runs). */
uint64_t pl_series_sum(const popliner_profile *profile, pl_series series);

/* Fills fields[PL_MAX_FIELDS] with every array of the profile and returns how many they are. */
size_t pl_profile_fields(popliner_profile *profile, pl_field *fields);

/* The last of these: what grows with the lowered variables and what refers to them, so that nothing
 * is left that could lead to them where they are left out. */
size_t pl_profile_variable_fields(popliner_profile *profile, pl_field *fields);

/* Frees these arrays, if there are any, and makes the profile one without variables; false when
 * memory is short. */
bool pl_profile_leave_variables_out(popliner_profile *profile);

/* USAGE where they have been left out: for every public function that would give wrong answers
 * without them. */
popliner_status pl_profile_require_variables(const popliner_profile *profile,
                                             popliner_error *error);

/* Checks that every index is in range and every start ascends, so that no later code needs to.
 * `path` is the file it came from. */
popliner_status pl_profile_check(const popliner_profile *profile, const char *path,
                                 popliner_error *error);

/* Makes the target's members of the facts. After reading and loading. */
void pl_profile_take_facts(popliner_profile *profile);

/* While reading: adds a string or a series; PL_NONE / false when memory is short. */
pl_string pl_profile_add_string(popliner_profile *profile, const char *text);
bool pl_profile_add_series(popliner_profile *profile, const uint8_t *rle, size_t size_bytes,
                           pl_series *series);

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

/* pl_read_profile with other work beside it, or NULL; it is done once if nothing fails. */
popliner_status pl_profile_read(const char *path, const pl_read_options *options,
                                const pl_side_task *side_task, popliner_profile **profile,
                                popliner_error *error);

/* While reading: a series from a list of varints, one number per tile; without a byte it is all
 * zero. */
popliner_status pl_profile_read_list_series(popliner_profile *profile, pl_rows *rows, int column,
                                            pl_series *series, popliner_error *error);

/* How large the unlowered variables are, from their pieces. O(variables). */
void pl_profile_sum_up_pieces(popliner_profile *profile);

/* The part of the file that is analysed, see profile_part.h. */
typedef struct pl_part pl_part;

/* The parts of pl_read_profile, in the order in which they need each other. */

/* Version, which messages about the database name from then on, and target; makes room for the
 * facts. */
popliner_status pl_profile_read_target(pl_database *database, const popliner_listener *listener,
                                       popliner_profile *profile, popliner_error *error);

/* Other facts, and the options of the engine: all optional. */
popliner_status pl_profile_read_facts(const pl_database *database, popliner_profile *profile,
                                      popliner_error *error);

/* Categories, unlowered variables, equivalence classes. */
popliner_status pl_profile_read_variables(const pl_database *database, popliner_profile *profile,
                                          pl_profile_ids *ids, popliner_error *error);

/* Lowered variables; with `side_task`, which may be NULL. */
popliner_status pl_profile_read_lowered(const pl_database *database, const pl_read_options *options,
                                        const pl_side_task *side_task, popliner_profile *profile,
                                        pl_profile_ids *ids, popliner_error *error);

/* Vertex types, compute sets, exchanges, programs, liveness steps. */
popliner_status pl_profile_read_programs(const pl_database *database, popliner_profile *profile,
                                         pl_profile_ids *ids, popliner_error *error);

/* Runs, and what they executed on the IPUs of the part: all optional. Surprises in these tables,
 * which no real file has shown filled, are told to `listener` and left out. */
popliner_status pl_profile_read_execution(const pl_database *database,
                                          const popliner_listener *listener, const pl_part *part,
                                          popliner_profile *profile, const pl_profile_ids *ids,
                                          popliner_error *error);

/* The cycles of an executed step on the slowest IPU; 0 if none was measured. */
uint64_t pl_profile_execution_cycles(const popliner_profile *profile, size_t step);

/* Cycles of the programs on the IPUs of the part, and counts of Repeats, after the execution: all
 * optional. */
popliner_status pl_profile_read_cycles(const pl_database *database, const pl_part *part,
                                       popliner_profile *profile, const pl_profile_ids *ids,
                                       popliner_error *error);

/* The ranges of the classes, which are checked against the number of steps. */
popliner_status pl_profile_read_live_ranges(const pl_database *database, popliner_profile *profile,
                                            pl_profile_ids *ids, popliner_error *error);

/* The compiler's own account: by tile, and by category and tile. Categories that are not known are
 * told to `listener`. */
popliner_status pl_profile_read_tiles(const pl_database *database,
                                      const popliner_listener *listener, popliner_profile *profile,
                                      popliner_error *error);

#endif
