/* The digest of a profile: everything that any stages may need of a tile, by the set of units that
 * needs it. A tile has thousands of variables, but some hundred sets and live ranges. Made once;
 * the memory of any stages follows from it (memory/evaluate.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_DIGEST_H
#define PL_MEMORY_DIGEST_H

#include "base/growth.h"
#include "base/keys.h"
#include "memory/account.h"
#include "memory/curve.h"
#include "memory/parameters.h"
#include "memory/passes.h"
#include "popliner/pipeline.h"

/* Sums of a tile that do not depend on steps: the groups of code, always-live data, and for each
 * added part what it is a multiple of. */
enum {
    PL_SUM_DATA = PL_NUM_CODE_GROUPS,
    PL_SUM_ADDED,
    PL_NUM_SUMS = PL_SUM_ADDED + PL_NUM_ADDED,
};

/* Items of the next three kinds begin alike: with their bytes, then who needs them. */

/* Bytes of a sum, in stages that have a unit of the set. */
typedef struct pl_digest_sum {
    uint64_t bytes;
    uint32_t set;
    uint32_t sum;
} pl_digest_sum;

/* Live bytes in such stages, from one segment up to another: those that are not in the segments. */
typedef struct pl_digest_part {
    uint64_t bytes;
    uint32_t set;
    uint32_t first_segment;
    uint32_t end_segment;
    uint32_t unused;
} pl_digest_part;

/* Consecutive steps of one unit, between which no part begins or ends. `bytes` are live in every
 * stage that has the unit: what the unit touches, and what no operation touches. */
typedef struct pl_digest_segment {
    uint64_t bytes; /* the most at one of its steps */
    uint32_t unit;
    uint32_t step;              /* the first step with `bytes` */
    uint64_t unexplained_bytes; /* part of them: what no operation touches */
} pl_digest_segment;

/* Bytes that are stored, of stages that begin at `start` or later and have the unit: differences
 * over the starts. Negative ones wrap around, and the sums are right. */
typedef struct pl_digest_stash {
    uint64_t bytes;
    uint32_t start;
    uint32_t unit;
} pl_digest_stash;

/* Bytes of a tile for each unit. */
typedef struct pl_digest_unit {
    uint64_t own_stash_bytes;     /* what it stores and is live at one of its steps */
    uint64_t apart_bytes;         /* its largest variable that lies apart */
    uint64_t sent_forward_bytes;  /* over the cut after it */
    uint64_t sent_backward_bytes; /* back over this cut */
} pl_digest_unit;

enum { PL_NUM_STASHES = POPLINER_RECOMPUTE_FULL + 1 };

/* A chain has at most so many digests: pl_digest_key. */
enum { PL_NUM_DIGESTS = 4 };

typedef struct pl_digest_tile {
    uint64_t *block; /* the lists, one after another; NULL: not made yet. Owned */
    size_t num_sums;
    size_t num_parts;
    size_t num_segments;
    size_t num_stash[PL_NUM_STASHES]; /* by the recomputation */
    size_t turn_segment;              /* the first one of the backward pass, or num_segments */
    pl_digest_sum *sums;
    pl_digest_part *parts;
    pl_digest_segment *segments;
    pl_digest_stash *stash[PL_NUM_STASHES];
    pl_digest_unit *units; /* [num_units] */
} pl_digest_tile;

/* All that a digest depends on in addition to the chain. */
typedef struct pl_digest_key {
    bool passes_through; /* tensors that only pass through a stage count in it */
    bool accumulates;    /* gradients live until they are complete */
    bool is_pipelined;   /* what is stored and sent is also known */
} pl_digest_key;

/* Returns the number of the digest among those of a chain. */
static inline size_t pl_digest_number(pl_digest_key key) {
    return 2 * (size_t)key.passes_through + (size_t)key.accumulates;
}

/* For each set of a pl_pass_usage, the units that count a variable of that set: a number in `sets`,
 * which are bits of the chain's units. */
typedef struct pl_passing {
    pl_keys sets; /* set 0 is empty */
    size_t num_units;
    uint32_t *touching; /* [usage sets]: at any step, if nothing passes */
    uint32_t *forward;  /* [usage sets]: before the turn */
    uint32_t *backward; /* [usage sets]: from the turn on, unless it was stored until then */
} pl_passing;

/* Finds the units; nothing passes unless `passes_through`. Arrays are in `arrays`.
 * O(sets * units). */
void pl_passing_find(pl_passing *passing, pl_arrays *arrays, const pl_pass_usage *usage,
                     bool passes_through);

/* Replaces set[count], which are of other sets, by their numbers; set 0 is the first there.
 * O(count + units of all these sets). */
void pl_passing_add(pl_passing *passing, pl_arrays *arrays, const pl_unit_sets *sets, uint32_t *set,
                    size_t count);

struct pl_digest_inputs;

typedef struct pl_digest {
    const pl_chain *chain;
    const pl_account *account;
    const pl_pass_usage *pass_usage;
    const pl_gradients *gradients; /* NULL: they live as in the profile */
    pl_digest_key key;
    pl_arrays arrays; /* own all arrays, but not the blocks of tiles */
    pl_passing passing;
    uint8_t *was_kept; /* [classes], only if it trains: it is live across the turn */
    pl_digest_tile *tiles;
    struct pl_digest_inputs *inputs; /* for making tiles; NULL once all are made */
} pl_digest;

/* The work space of one thread. */
typedef struct pl_digest_work pl_digest_work;

/* Begins a digest without tiles. `gradients` are used if key.accumulates. It refers to the others.
 * NULL if memory is short. Free with pl_digest_free. Cost: O((vertex types + sets) * tiles), and if
 * it is pipelined one pass over the variables that programs touch. */
pl_digest *pl_digest_begin(const pl_chain *chain, const pl_account *account,
                           const pl_pass_usage *pass_usage, const pl_gradients *gradients,
                           pl_digest_key key);
void pl_digest_free(pl_digest *digest);

/* Makes work space, which `arrays` own; NULL after a failure. */
pl_digest_work *pl_digest_work_new(pl_arrays *arrays, const pl_digest *digest);

/* Makes a tile, unless it is made. Several threads may make different tiles. False if memory is
 * short. O(variables of the tile + steps). */
bool pl_digest_make_tile(pl_digest *digest, pl_digest_work *work, size_t tile);

/* Frees a tile, which can be made again. */
void pl_digest_drop_tile(pl_digest *digest, size_t tile);

/* Allocates the lists of a tile, whose numbers are set. False if memory is short. */
bool pl_digest_allocate_tile(pl_digest_tile *tile, size_t num_units);

/* Frees what only making tiles needs, once all are made. */
void pl_digest_finish(pl_digest *digest);

/* Returns the units of a set as bits, [pl_digest_words]. */
static inline size_t pl_digest_words(const pl_digest *digest) {
    return digest->passing.sets.key_size / sizeof(uint64_t);
}
static inline const uint64_t *pl_digest_bits(const pl_digest *digest, uint32_t set) {
    return (const uint64_t *)(const void *)digest->passing.sets.keys +
           set * pl_digest_words(digest);
}

static inline bool pl_digest_set_has(const pl_digest *digest, uint32_t set, uint32_t unit) {
    return (pl_digest_bits(digest, set)[unit / 64] >> unit % 64 & 1) != 0;
}

/* True if a set has one of the units, which are such bits. */
static inline bool pl_digest_meets(const pl_digest *digest, uint32_t set, const uint64_t *units) {
    const uint64_t *bits = pl_digest_bits(digest, set);
    for (size_t word = 0; word < pl_digest_words(digest); word++)
        if ((bits[word] & units[word]) != 0)
            return true;
    return false;
}

/* Returns the units that touch a variable: a set. O(1). */
static inline uint32_t pl_digest_touching(const pl_digest *digest, uint64_t variable) {
    return digest->passing.touching[pl_unit_usage_of(&digest->pass_usage->usage, variable)];
}

/* Returns the units that count a variable, if it is not always live, at steps before the turn or
 * from it on: a set. O(1). */
uint32_t pl_digest_counting(const pl_digest *digest, uint64_t variable, bool is_before_turn);

#endif
