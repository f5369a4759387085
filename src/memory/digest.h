/* The digest of a profile: everything that any stages may need of a tile, by the set of units that
 * needs it. A tile has thousands of variables, but some hundred sets and live ranges. Made once;
 * the memory of any stages follows from it (memory/evaluate.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_DIGEST_H
#define PL_MEMORY_DIGEST_H

#include "base/bounds.h"
#include "base/growth.h"
#include "base/keys.h"
#include "memory/account.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/parameters.h"
#include "memory/passes.h"
#include "popliner/pipeline.h"

/* Sums of a tile that do not depend on steps: the groups of code, always-live data, the part of it
 * that is parameters, and of these the ones that are trained, for stages that accumulate. */
enum {
    PL_SUM_DATA = PL_NUM_CODE_GROUPS,
    PL_SUM_PARAMETERS,
    PL_SUM_TRAINED,
    PL_NUM_SUMS,
};

/* Bytes of a sum, in stages that have a unit of the set. */
typedef struct pl_digest_sum {
    uint64_t bytes;
    uint32_t set;
    uint32_t sum;
} pl_digest_sum;

/* Live ranges count in four ways: whether gradients live only until they are complete (1), and
 * whether tensors that only pass through a stage count in it (2). */
enum { PL_LIVE_ACCUMULATES = 1, PL_LIVE_PASSES_THROUGH = 2, PL_NUM_LIVES = 4 };

/* Live bytes in stages that have a unit of a set, from one segment up to another: those that are
 * not in the segments. */
typedef struct pl_digest_part {
    uint64_t bytes;
    uint32_t sets[PL_NUM_LIVES]; /* by how live ranges count; 0: then they are not live */
    uint32_t first_segment;
    uint32_t end_segment;
} pl_digest_part;

/* Bytes that are live in every stage that has the unit of a segment: what the unit touches, and
 * what no operation touches. */
typedef struct pl_digest_peak {
    uint64_t bytes;             /* the most at one of its steps */
    uint64_t unexplained_bytes; /* part of them: what no operation touches */
    uint64_t step;              /* the first step with `bytes` */
} pl_digest_peak;

/* Consecutive steps of one unit, between which no part begins or ends. */
typedef struct pl_digest_segment {
    pl_digest_peak peaks[PL_LIVE_ACCUMULATES + 1]; /* by whether gradients end early */
    uint32_t unit;
} pl_digest_segment;

enum { PL_NUM_STASHES = POPLINER_RECOMPUTE_FULL + 1 };

/* Bytes that are stored, of stages that begin at `start` or later and have the unit: differences
 * over the starts. Negative ones wrap around, and the sums are right. */
typedef struct pl_digest_stash {
    uint64_t bytes;
    uint32_t start;
    uint32_t unit;
    uint32_t way; /* the recomputation */
} pl_digest_stash;

/* Bytes of a tile for each unit. */
typedef struct pl_digest_unit {
    uint64_t own_stash_bytes;     /* what it stores and is live at one of its steps */
    uint64_t apart_bytes;         /* its largest variable that lies apart */
    uint64_t sent_forward_bytes;  /* over the cut after it */
    uint64_t sent_backward_bytes; /* back over this cut */
} pl_digest_unit;

typedef struct pl_digest_tile {
    pl_digest_unit *units; /* [num_units]; owned, in one block with the lists; NULL: not made */
    pl_digest_sum *sums;
    pl_digest_stash *stash;
    pl_digest_part *parts;
    pl_digest_segment *segments;
    size_t num_sums;
    size_t num_stash;
    size_t num_parts;
    size_t num_segments;
    size_t turn_segment; /* the first one of the backward pass, or num_segments */
    uint64_t fixed_code_bytes[PL_NUM_CODE_GROUPS]; /* of no operation: memory/account.h */
} pl_digest_tile;

typedef struct pl_digest {
    const pl_chain *chain;
    const pl_account *account;
    pl_pass_usage *pass_usage; /* also gets the sets of vertex types */
    const pl_gradients *gradients;
    pl_digest_tile *tiles;           /* own their blocks */
    bool is_made;                    /* all tiles are */
    struct pl_digest_inputs *inputs; /* that all tiles share; NULL while none are made */
} pl_digest;

/* Begins a digest without tiles, which refers to the others, with arrays in `arrays`. Free with
 * pl_digest_free what these do not own. */
void pl_digest_begin(pl_digest *digest, pl_arrays *arrays, const pl_chain *chain,
                     const pl_account *account, pl_pass_usage *pass_usage,
                     const pl_gradients *gradients);
void pl_digest_free(pl_digest *digest);

/* How to make tiles. */
typedef struct pl_digest_making {
    size_t num_threads;
    const popliner_listener *listener; /* or NULL; only the calling thread calls it */
    pl_bounds *bounds;                 /* or NULL */
    /* or NULL; gets each tile, which is dropped then; of one thread */
    void (*visit)(void *user, size_t tile);
    void *user;
} pl_digest_making;

/* Makes all tiles that are not made. False if the bounds stopped it, or after a failure, which is
 * also that of `arrays`. Cost: O((vertex types + sets) * tiles), one pass over the variables that
 * programs touch, and for each tile O(variables + steps). */
bool pl_digest_make(pl_digest *digest, const pl_digest_making *how, pl_arrays *arrays);

/* Allocates the lists of a tile, whose numbers are set. False if memory is short. */
bool pl_digest_allocate_tile(pl_digest_tile *tile, size_t num_units);

/* Returns the units of a set as bits. */
static inline const uint64_t *pl_digest_bits(const pl_digest *digest, uint32_t set) {
    return pl_bits_at(&digest->pass_usage->sets, set);
}

/* True if a set has one of the units, which are such bits. */
static inline bool pl_digest_meets(const pl_digest *digest, uint32_t set, const uint64_t *units) {
    const uint64_t *bits = pl_digest_bits(digest, set);
    for (size_t word = 0; word < digest->pass_usage->sets.key_size / sizeof *bits; word++)
        if ((bits[word] & units[word]) != 0)
            return true;
    return false;
}

#endif
