/* popliner: the profile that the Poplar compiler wrote (profile.pop, SQLite, schema 3.x).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PROFILE_H
#define POPLINER_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One compiled program with its memory. Immutable once read, but for
 * popliner_analysis_load_rest; may be read from several threads.
 * Owned by the analysis that read it. */
typedef struct popliner_profile popliner_profile;

/* The device that the program was compiled for. */
typedef struct popliner_target {
    size_t num_tiles; /* of the whole target */
    size_t num_ipus;
    size_t num_replicas;
    uint64_t bytes_per_tile;
    uint64_t clock_hz;     /* 0 when not recorded */
    char architecture[16]; /* "ipu1", "ipu2", "ipu21", ... or "" when not recorded */
} popliner_target;

/* How large the profile is. */
typedef struct popliner_profile_counts {
    size_t num_programs;
    size_t num_steps; /* liveness steps: the program tree in pre-order */
    size_t num_compute_sets;
    size_t num_vertex_types;
    size_t num_variables; /* lowered variables: one row per variable and tile */
    size_t num_equivalence_classes;
} popliner_profile_counts;

/* The compiler's own account of one tile's memory. */
typedef struct popliner_tile_memory {
    uint64_t total_bytes;                /* addresses in use at some time, without gaps */
    uint64_t total_including_gaps_bytes; /* the highest address in use */
    uint64_t always_live_bytes;
    uint64_t not_always_live_peak_bytes; /* largest sum over the liveness steps */
} popliner_tile_memory;

/* Where the cycles of a profile's programs come from. */
typedef enum popliner_cycles_source {
    POPLINER_CYCLES_NONE,      /* nothing is known */
    POPLINER_CYCLES_EXCHANGES, /* estimates of exchanges and host copies alone, as the compiler writes
                                  them without the engine option profiler.includeCycleEstimates */
    POPLINER_CYCLES_ESTIMATED, /* estimates of computing, too */
    POPLINER_CYCLES_MEASURED,  /* of programs that ran; those that did not count for nothing */
} popliner_cycles_source;

const popliner_target *popliner_profile_target(const popliner_profile *profile);
popliner_profile_counts popliner_profile_get_counts(const popliner_profile *profile);

/* Cycles of one execution of each program, on its slowest tile: measured ones if the profile has
 * execution steps (the mean over all executions, in whatever runs), else what the compiler
 * estimated. O(programs). */
popliner_cycles_source popliner_profile_cycles_source(const popliner_profile *profile);

/* The program that runs at a liveness step < num_steps. */
size_t popliner_profile_program_at(const popliner_profile *profile, size_t step);

/* The name of a program, or of the compute set that it executes; "" if neither has one. */
const char *popliner_program_name(const popliner_profile *profile, size_t program);

/* The compiler's account of `tile` < num_tiles; all zero where the profile has none. */
popliner_tile_memory popliner_profile_tile_memory(const popliner_profile *profile, size_t tile);

/* The most that the layout leaves unused on any tile, beyond what is live there at most: what to
 * keep free on every tile where a new layout is no better. 0 without the compiler's account.
 * O(tiles). */
uint64_t popliner_profile_layout_gap_bytes(const popliner_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
