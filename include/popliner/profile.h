/* popliner: the profile that the Poplar compiler wrote (profile.pop, SQLite, schema 3.x), and
 * functions that read its contents.
 *
 * Tiles, programs, compute sets and all other items are numbered from 0, in the order of the file;
 * SIZE_MAX is no item. A function that fills a structure takes one that was begun with its _INIT
 * macro; texts in it live as long as the profile. It fails with USAGE for an index that is not
 * below the count of popliner_profile_info, or if struct_size was never set, and then fills
 * nothing. `error` may be NULL. Calls cost O(1) unless they say otherwise.
 *
 * Threads: any number of threads may read a profile at once. That of a loaded analysis has no
 * variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PROFILE_H
#define POPLINER_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One compiled program with its memory. Owned by the analysis that read it. */
typedef struct popliner_profile popliner_profile;

/* ---- The profile as a whole ------------------------------------------------------------------ */

/* The source of the cycles of a profile's programs. Cycles are those of one execution of a program,
 * on its slowest tile: measured if the profile has execution steps (the mean over all executions,
 * in all runs), else estimated by the compiler. */
typedef enum popliner_cycles_source {
    POPLINER_CYCLES_NONE, /* the profile has no cycles */
    /* only estimates of exchanges and host copies: a profile without the engine option
     * profiler.includeCycleEstimates has no others */
    POPLINER_CYCLES_EXCHANGES,
    POPLINER_CYCLES_ESTIMATED, /* also estimates of computing */
    POPLINER_CYCLES_MEASURED,  /* programs that ran; others count as 0 */
} popliner_cycles_source;

/* Facts about a profile, and the numbers of its items: the indices of all functions here are below
 * these counts. */
typedef struct popliner_profile_info {
    size_t struct_size;

    /* the version of Poplar that compiled the program, and of the profile's format */
    const char *poplar_version;      /* "3.3.0 (de1f8de2a7)"; "" when not recorded */
    const char *poplar_package_hash; /* "" when not recorded */
    unsigned poplar_major_number;
    unsigned poplar_minor_number;
    unsigned poplar_point_number;
    unsigned format_major_number;
    unsigned format_minor_number;
    unsigned format_point_number;
    bool is_unstable_format; /* may differ from the final format of this version */

    /* The device that the program was compiled for. num_tiles and num_ipus are those of one
     * replica, or of one of its IPUs (see `ipu`). */
    size_t num_tiles;
    size_t num_ipus;
    size_t num_replicas;
    size_t tiles_per_ipu;
    size_t ipus_per_replica;
    uint64_t bytes_per_tile;
    uint64_t clock_hz;        /* 0 when not recorded */
    const char *architecture; /* "ipu1", "ipu2", "ipu21", ... or "" when not recorded */
    const char *target_type;  /* "IPU", "IPU_MODEL", "CPU" or "" */

    size_t num_compute_sets;
    uint64_t num_vertices;   /* as the compiler reports them */
    uint64_t num_edges;      /* after lowering, as the compiler reports them; 0 when not recorded */
    size_t num_vertex_types; /* the section VERTICES has them */
    size_t
        /* lowered: one for each piece on a tile; 0 until those of a stored analysis are loaded */
        num_variables;
    size_t num_unlowered_variables; /* tensors, and placeholders for the compiler's own memory */
    size_t num_equivalence_classes;
    size_t num_categories; /* of memory; the section CATEGORIES has them */
    size_t num_programs;
    size_t num_steps;          /* liveness steps: the program tree in pre-order */
    size_t num_engine_options; /* the section SUMMARY has them */
    /* calls of Engine::run; 0 if the program did not run, or no run was recorded */
    size_t num_runs;
    size_t num_execution_steps; /* 0 if the program did not run, or no step was recorded */

    popliner_cycles_source cycles_source; /* the best source of any program */
    /* The largest layout overhead of any tile: address space that the layout leaves unused, above
     * the peak of live memory. Keep it free on every tile, as a new layout may be no better. 0
     * without the compiler's account. */
    uint64_t layout_gap_bytes;

    /* The only IPU whose tiles are included, from 0; SIZE_MAX if all are. Vertices and edges are
     * always counted over all IPUs. */
    size_t ipu;

    /* Bits 1u << popliner_relation of the relations between its parts that do not hold, as they
     * were checked when the profile was read; the listener was warned of each. */
    uint32_t breached_relations;
} popliner_profile_info;

#define POPLINER_PROFILE_INFO_INIT                                                                 \
    {                                                                                              \
        sizeof(popliner_profile_info), NULL, NULL, 0, 0, 0, 0, 0, 0, false, 0, 0, 0, 0, 0, 0, 0,   \
            NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, POPLINER_CYCLES_NONE, 0, SIZE_MAX,  \
            0                                                                                      \
    }

/* Fills *info with facts about the profile. Errors: USAGE. O(programs + tiles). */
popliner_status popliner_profile_get_info(const popliner_profile *profile,
                                          popliner_profile_info *info, popliner_error *error);

/* ---- Memory as the compiler counts it ------------------------------------------------------- */

/* The compiler's own account of one tile's memory, all zero if the profile has none; and the
 * lowered variables on the tile. */
typedef struct popliner_tile_memory {
    size_t struct_size;
    uint64_t total_bytes;                /* addresses in use at some time, without gaps */
    uint64_t total_including_gaps_bytes; /* the highest address in use */
    uint64_t always_live_bytes;
    uint64_t not_always_live_peak_bytes; /* largest sum over the liveness steps */
    uint64_t interleaved_bytes;          /* of the total: in interleaved memory, */
    uint64_t non_interleaved_bytes;
    uint64_t overflowed_bytes; /* and past the end of the memory */
    size_t first_variable;     /* the tile's are first_variable ... end_variable - 1; none */
    size_t end_variable;       /* until they are loaded */
} popliner_tile_memory;

#define POPLINER_TILE_MEMORY_INIT                                                                  \
    { sizeof(popliner_tile_memory), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Numbers that the profile has for each tile. */
typedef enum popliner_by_tile {
    /* of a category: bytes in ordinary memory, in interleaved memory, and past the end */
    POPLINER_BY_TILE_CATEGORY, /* all of the six below */
    POPLINER_BY_TILE_NON_INTERLEAVED_NON_OVERLAPPED,
    POPLINER_BY_TILE_NON_INTERLEAVED_OVERLAPPED,
    POPLINER_BY_TILE_INTERLEAVED_NON_OVERLAPPED,
    POPLINER_BY_TILE_INTERLEAVED_OVERLAPPED,
    POPLINER_BY_TILE_OVERFLOWED_NON_OVERLAPPED,
    POPLINER_BY_TILE_OVERFLOWED_OVERLAPPED,
    /* of a vertex type */
    POPLINER_BY_TILE_VERTEX_CODE, /* bytes */
    /* of the vertices of one type in a compute set: popliner_vertices.index */
    POPLINER_BY_TILE_VERTICES, /* number */
    /* of a program */
    POPLINER_BY_TILE_CONTROL_CODE,  /* bytes, its children's included */
    POPLINER_BY_TILE_EXCHANGE_CODE, /* bytes, of DoExchange */
} popliner_by_tile;

/* Fills by_tile[num_tiles] with the numbers of category, vertex type, ... `index`; all zero if the
 * profile has none. Errors: USAGE. O(tiles). */
popliner_status popliner_profile_by_tile(const popliner_profile *profile, popliner_by_tile what,
                                         size_t index, uint64_t *by_tile, popliner_error *error);

/* One lowered variable: a piece of the program's memory on one tile. The texts live as long as the
 * profile. */
typedef struct popliner_variable {
    size_t struct_size;
    size_t tile;
    uint64_t size_bytes;
    uint64_t offset_bytes; /* its address on the tile */
    size_t equivalence_class;
    bool is_always_live;
    const char *name;     /* of the unlowered variable that it is a piece of; "" if it has none */
    const char *category; /* "variable", "message", "vertexCode", ... */
    size_t category_index;
    size_t unlowered_variable; /* that it is a piece of, or SIZE_MAX */
} popliner_variable;

#define POPLINER_VARIABLE_INIT                                                                     \
    { sizeof(popliner_variable), 0, 0, 0, 0, false, NULL, NULL, 0, 0 }

/* One unlowered variable: a tensor of the program, or the compiler's placeholder for memory that
 * belongs to no tensor, which has no pieces then. */
typedef struct popliner_unlowered_variable {
    size_t struct_size;
    const char *name;
    uint64_t debug_context; /* the first of several, an id in debug.cbor; 0: none */
    uint64_t size_bytes;    /* of all its pieces */
    size_t num_pieces;      /* lowered variables */
} popliner_unlowered_variable;

#define POPLINER_UNLOWERED_VARIABLE_INIT                                                           \
    { sizeof(popliner_unlowered_variable), NULL, 0, 0, 0 }

/* ---- Programs ------------------------------------------------------------------------------- */

/* The types of programs. Later versions may append some; a file may have others. */
typedef enum popliner_program_type {
    POPLINER_PROGRAM_OTHER, /* popliner_program.type_name is its type */
    POPLINER_PROGRAM_SEQUENCE,
    POPLINER_PROGRAM_ON_TILE_EXECUTE, /* a compute set */
    POPLINER_PROGRAM_REPEAT,
    POPLINER_PROGRAM_REPEAT_WHILE,
    POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH, /* one of its children runs */
    POPLINER_PROGRAM_CALL,                 /* of a function */
    POPLINER_PROGRAM_DO_EXCHANGE,          /* between the tiles of an IPU */
    POPLINER_PROGRAM_GLOBAL_EXCHANGE,      /* between IPUs */
    POPLINER_PROGRAM_STREAM_COPY_BEGIN,    /* between host and device */
    POPLINER_PROGRAM_STREAM_COPY_MID,
    POPLINER_PROGRAM_STREAM_COPY_END,
    POPLINER_PROGRAM_CODE_COPY,
    POPLINER_PROGRAM_WRITE_UNDEF,
    POPLINER_PROGRAM_SET_LOCAL_CONSENSUS_FROM_VAR,
    POPLINER_PROGRAM_SYNC,
    POPLINER_PROGRAM_SANS,
    POPLINER_PROGRAM_SYNC_ANS,
    POPLINER_PROGRAM_ANY = -1 /* for popliner_profile_visit alone */
} popliner_program_type;

/* One program of the tree. The body of a function is not a child of the programs that call it. */
typedef struct popliner_program {
    size_t struct_size;
    popliner_program_type type;
    const char *type_name;    /* as in the file: "OnTileExecute" */
    const char *name;         /* or that of its compute set; "" if neither has one */
    const uint32_t *children; /* [num_children]: their numbers */
    size_t num_children;
    size_t compute_set;                   /* that it executes, or SIZE_MAX */
    size_t called_program;                /* the body of the function that it calls, or SIZE_MAX */
    uint64_t debug_context;               /* id in debug.cbor; 0: none */
    uint64_t num_repeats;                 /* of a Repeat that records it, else 1 */
    uint64_t cycles;                      /* see popliner_cycles_source */
    popliner_cycles_source cycles_source; /* NONE: `cycles` is 0 and means nothing */
} popliner_program;

#define POPLINER_PROGRAM_INIT                                                                      \
    {                                                                                              \
        sizeof(popliner_program), POPLINER_PROGRAM_OTHER, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0,      \
            POPLINER_CYCLES_NONE                                                                   \
    }

/* Receives the number of a program and its type. Any result except POPLINER_OK ends the visit. */
typedef popliner_status (*popliner_program_visitor)(void *user, size_t program,
                                                    popliner_program_type type);

/* Calls `visitor` once for each program of `type`, or for all with POPLINER_PROGRAM_ANY: in the
 * order of their first liveness step, which is the pre-order of the tree; then those that no step
 * runs. Calls come from this thread alone. Returns the first status that is not POPLINER_OK; a
 * number that is no popliner_status becomes USAGE. Errors: USAGE, MEMORY. O(programs + steps). */
popliner_status popliner_profile_visit(const popliner_profile *profile, popliner_program_type type,
                                       popliner_program_visitor visitor, void *user,
                                       popliner_error *error);

/* A liveness step. The programs of a function have steps for each call. */
typedef struct popliner_step {
    size_t struct_size;
    size_t program;
    size_t parent_step; /* that of the enclosing program, or SIZE_MAX */
} popliner_step;

#define POPLINER_STEP_INIT                                                                         \
    { sizeof(popliner_step), 0, 0 }

/* ---- Compute sets and vertices -------------------------------------------------------------- */

typedef struct popliner_compute_set {
    size_t struct_size;
    const char *name;       /* may be "" */
    uint64_t debug_context; /* id in debug.cbor; 0: none */
    /* A popliner_vertices for each type: numbers first_vertices ... first_vertices +
     * num_vertex_types - 1. */
    size_t first_vertices;
    size_t num_vertex_types;
    uint64_t num_vertices; /* on all tiles */
    uint64_t num_edges;    /* of these; 0 when not recorded */
} popliner_compute_set;

#define POPLINER_COMPUTE_SET_INIT                                                                  \
    { sizeof(popliner_compute_set), NULL, 0, 0, 0, 0, 0 }

/* The vertices of one type in a compute set. */
typedef struct popliner_vertices {
    size_t struct_size;
    size_t vertex_type;
    const char *name;      /* of the type */
    uint64_t num_vertices; /* on all tiles */
    size_t num_tiles;      /* that have any */
    uint64_t state_bytes;  /* of all vertices */
    uint64_t code_bytes;   /* of the type on these tiles, shared with other compute sets */
    size_t index;          /* for popliner_profile_by_tile */
} popliner_vertices;

#define POPLINER_VERTICES_INIT                                                                     \
    { sizeof(popliner_vertices), 0, NULL, 0, 0, 0, 0, 0 }

/* ---- Execution ------------------------------------------------------------------------------ */

/* A call of Engine::run. That the steps of a run follow those of the previous run is inferred: no
 * real file with runs is known. */
typedef struct popliner_run {
    size_t struct_size;
    const char *name;
    uint64_t start_microseconds; /* since 1970 */
    uint64_t elapsed_microseconds;
    uint64_t num_programs; /* executed ones, without implied syncs */
    size_t first_step;     /* of the execution */
    size_t num_steps;
} popliner_run;

#define POPLINER_RUN_INIT                                                                          \
    { sizeof(popliner_run), NULL, 0, 0, 0, 0, 0 }

/* One execution of a program, or a sync that no program requests. */
typedef struct popliner_execution_step {
    size_t struct_size;
    size_t program;        /* or SIZE_MAX */
    const char *type_name; /* of the program, or of the sync; "" when not recorded */
    size_t run;            /* or SIZE_MAX */
    size_t first_ipu_step; /* the steps of the measured IPUs are */
    size_t num_ipus;       /* first_ipu_step ... first_ipu_step + num_ipus - 1 */
    uint64_t cycles;       /* on the slowest IPU; 0 if none was measured */
} popliner_execution_step;

#define POPLINER_EXECUTION_STEP_INIT                                                               \
    { sizeof(popliner_execution_step), 0, NULL, 0, 0, 0, 0 }

/* One step on one IPU. */
typedef struct popliner_ipu_step {
    size_t struct_size;
    size_t ipu;
    uint64_t cycles;      /* of the slowest tile */
    uint64_t first_cycle; /* of the IPU's clock; the next two count from it */
    uint64_t active_from_cycles;
    uint64_t active_to_cycles;
    size_t num_active_tiles;
    /* the tiles' cycles, mean divided by maximum: from 0 to 1, which is even */
    double tile_balance;
} popliner_ipu_step;

#define POPLINER_IPU_STEP_INIT                                                                     \
    { sizeof(popliner_ipu_step), 0, 0, 0, 0, 0, 0, 0 }

/* ---- Reading items -------------------------------------------------------------------------- */

/* The kinds of items: the structure that popliner_profile_get fills, and the count of items. */
typedef enum popliner_item {
    POPLINER_ITEM_TILE,               /* popliner_tile_memory: num_tiles */
    POPLINER_ITEM_VARIABLE,           /* popliner_variable: num_variables; O(log tiles) */
    POPLINER_ITEM_UNLOWERED_VARIABLE, /* popliner_unlowered_variable: num_unlowered_variables */
    POPLINER_ITEM_PROGRAM,            /* popliner_program: num_programs */
    POPLINER_ITEM_STEP,               /* popliner_step: num_steps */
    POPLINER_ITEM_COMPUTE_SET,        /* popliner_compute_set: num_compute_sets; O(tiles * its
                                         vertex types) */
    POPLINER_ITEM_VERTICES,           /* popliner_vertices: see popliner_compute_set; O(tiles) */
    POPLINER_ITEM_RUN,                /* popliner_run: num_runs */
    POPLINER_ITEM_EXECUTION_STEP, /* popliner_execution_step: num_execution_steps; O(log runs) */
    POPLINER_ITEM_IPU_STEP,       /* popliner_ipu_step: see popliner_execution_step */
    POPLINER_NUM_ITEMS
} popliner_item;

/* Fills *result, the structure of this kind, begun with its _INIT macro:
 *
 *       popliner_program program = POPLINER_PROGRAM_INIT;
 *       popliner_profile_get(profile, POPLINER_ITEM_PROGRAM, 0, &program, &error);
 *
 * Errors: USAGE for an unknown kind, or an index that is not below its count. */
popliner_status popliner_profile_get(const popliner_profile *profile, popliner_item kind,
                                     size_t index, void *result, popliner_error *error);

/* Fills `items` with all items of a kind: an array of structures, as many as
 * popliner_profile_get_info counts, of which the first was begun with its _INIT macro. Their
 * strings live as long as the profile. Errors: USAGE for an invalid kind or structure. O(items). */
popliner_status popliner_profile_get_all(const popliner_profile *profile, popliner_item kind,
                                         void *items, popliner_error *error);

/* ---- Liveness -------------------------------------------------------------------------------
 *
 * An always-live variable counts at every step; any other while its equivalence class is live, in
 * the half-open ranges of the profile. Bytes are sums of sizes, as in the compiler's own
 * accounting, also if variables share addresses.
 *
 * A `selection` has one mark per lowered variable, 0 for variables to leave out; NULL selects all
 * of them. Variables are sorted by tile. */

/* True if the variable is live at `step`; false if either is out of range. O(ranges of its
 * class). */
bool popliner_liveness_is_live(const popliner_profile *profile, size_t variable, size_t step);

/* The peak memory of a tile over a range of steps. */
typedef struct popliner_peak {
    uint64_t always_live_bytes;
    uint64_t not_always_live_bytes; /* at peak_step */
    size_t peak_step;               /* the first step where most not-always-live bytes are live */
} popliner_peak;

/* Sets peaks[num_tiles] to the peak of every tile over the steps in [first_step, end_step). Errors
 * of this and the following functions: USAGE for a tile out of range, for steps that are not 0 <=
 * first_step <= end_step <= num_steps, or if the variables are not loaded; MEMORY. Cost:
 * O(variables * ranges + tiles * steps). */
popliner_status popliner_liveness_peaks(const popliner_profile *profile, const uint8_t *selection,
                                        size_t first_step, size_t end_step, popliner_peak *peaks,
                                        popliner_error *error);

/* The sum over all tiles. */
#define POPLINER_ALL_TILES SIZE_MAX

/* Sets bytes[end_step - first_step] to the not-always-live bytes of one tile, or of
 * POPLINER_ALL_TILES together, at each of the steps in [first_step, end_step). Errors: USAGE,
 * MEMORY. Cost: for a tile O(its variables * ranges + steps), for all O(variables + classes *
 * ranges + steps). */
popliner_status popliner_liveness_by_step(const popliner_profile *profile, size_t tile,
                                          const uint8_t *selection, size_t first_step,
                                          size_t end_step, uint64_t *bytes, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
