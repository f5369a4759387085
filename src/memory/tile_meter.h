/* Measures the memory of all intervals, tile by tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_TILE_METER_H
#define PL_MEMORY_TILE_METER_H

#include "base/growth.h"
#include "memory/curve.h"
#include "memory/interval_inputs.h"
#include "memory/peak_tree.h"
#include "memory/stage_details.h"

/* Separate sums over arrivals: the groups of code, always-live data, the stash of a pipeline, which
 * is no part of the peak of a plain stage, and each added part. */
enum {
    PL_SUM_DATA = PL_NUM_CODE_GROUPS,
    PL_SUM_STASH,
    PL_SUM_ADDED,
    PL_NUM_SUMS = PL_SUM_ADDED + PL_NUM_ADDED,
};

/* The bytes of stages on a tile that do not depend on steps. */
typedef struct pl_steady_bytes {
    uint64_t code_bytes[PL_NUM_CODE_GROUPS];
    uint64_t all_code_bytes;
    uint64_t data_bytes;  /* always live */
    uint64_t fixed_bytes; /* unattributed */
    uint64_t added_bytes[PL_NUM_ADDED];
    pl_placed_bytes placed; /* including unattributed code and data */
} pl_steady_bytes;

/* Returns the bytes by their sums, where apart_bytes are of the largest variable that lies
 * apart. */
pl_steady_bytes pl_steady_bytes_of(const pl_account *account, size_t tile,
                                   const uint64_t sum_bytes[PL_NUM_SUMS], uint64_t apart_bytes);

/* Returns what of them an estimate includes. */
uint64_t pl_steady_sum(const pl_steady_bytes *steady, popliner_need need);

/* ---- Variables that one set of units touches, with one live range ---- */

/* Bytes that the units of a set touch, live from first_step to end_step - 1. */
typedef struct pl_live_part {
    uint64_t bytes;
    uint32_t set;
    uint32_t first_step;
    uint32_t end_step;
} pl_live_part;

/* Zero-initialise; free with pl_live_parts_free. */
typedef struct pl_live_parts {
    /* [count], distinct by set and steps, in the order of insertion; owned */
    pl_live_part *parts;
    size_t count;
    size_t capacity;
    uint32_t *slots; /* [num_slots] hash table: 1 + index of the part, or 0; owned */
    size_t num_slots;
} pl_live_parts;

/* Removes all parts. O(slots): a few times the largest number of parts so far. */
void pl_live_parts_empty(pl_live_parts *parts);

/* Adds bytes to a part; false if memory is short. O(1), amortised. */
bool pl_live_parts_add(pl_live_parts *parts, uint32_t set, uint32_t first_step, uint32_t end_step,
                       uint64_t bytes);

void pl_live_parts_free(pl_live_parts *parts);

/* ---- One tile ---- */

/* Bytes that arrive, and where they are live. */
typedef struct pl_tile_arrival {
    uint32_t first_segment;
    uint32_t end_segment;
    uint64_t bytes;
} pl_tile_arrival;

/* The state of one thread. Zero-initialise; free with pl_tile_meter_free. */
typedef struct pl_tile_meter {
    const pl_interval_inputs *inputs;
    pl_arrays arrays; /* own all arrays of fixed size */
    /* Results for the measured tiles, by stage; owned. */
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* of the wanted needs */
    pl_detail_sums *sums;                         /* only with details */
    pl_need_spread *spreads;                      /* only if NEED_MOST is wanted */
    /* [num_tiles][num_intervals], of all threads; NULL: not wanted */
    pl_tile_need *tile_needs;
    /* By first unit: stages that reach this unit exceed max_bytes. Owned. Only without details,
     * which are of all stages. */
    size_t *allowed_end;

    /* For one tile: bytes that arrive at unit u in stages beginning at s, as differences over s.
     * Differences may be negative: as unsigned numbers they wrap around, and the sums are right. */
    uint64_t *arriving_bytes[PL_NUM_SUMS]; /* [num_units + 1][num_units] */
    pl_stash_work stash_work;
    /* Bytes sent over each cut, forward and backward, by the unit after the cut; [num_units + 1].
     * NULL if they are not stored. */
    uint64_t *sent_forward;
    uint64_t *sent_backward;
    pl_overhead layout;
    uint64_t *unit_stash_bytes; /* [num_units] see pl_waits_measure; may be NULL */
    uint64_t *unit_apart_bytes; /* [num_units] its largest variable that lies apart */
    /* The bytes of each sum but the stash, by set of units (pl_tile_set): parts whose first step is
     * the number of the sum. Only if is_by_set. */
    bool is_by_set;
    pl_live_parts set_sums;
    pl_live_parts parts;       /* what must arrive */
    pl_tile_arrival *arrivals; /* the parts, sorted by set */
    size_t arrivals_capacity;
    size_t *set_start;       /* [sets + 2] into arrivals */
    uint32_t *arriving_sets; /* by unit, then by the first start of their stages */
    size_t arriving_capacity;
    size_t *arriving_start; /* for each unit and each start up to it, and one more */

    /* The tile's steps in segments, within which the arrivals are constant. The base is what may
     * count at a step in every stage to which the step belongs. */
    pl_curve base_curve;
    uint8_t *is_break;         /* [num_steps + 1]: a segment begins here */
    uint32_t *segment_of_step; /* [num_steps + 1] */
    uint64_t *step_bytes;      /* [num_steps]: the base */
    /* [num_steps]: data that no operation touches, part of the base; only with details, or for
     * NEED_LEAST */
    uint64_t *unexplained_bytes;
    bool has_unexplained;    /* it is not 0 at some step */
    uint64_t *segment_bytes; /* [segments]: maximum of the base */
    uint32_t *segment_step;  /* [segments]: the first step that has it */
    pl_peak_tree base_tree;  /* the base over the segments */
    pl_peak_tree tree;       /* the base, and what has arrived in one stage */
} pl_tile_meter;

/* Returns the position of the sets that arrive at `unit` in stages that may begin at `first_start`:
 * by unit, then by first_start, so that those of one stage are adjacent. */
static inline size_t pl_tile_arrivals_place(size_t unit, size_t first_start) {
    return unit * (unit + 1) / 2 + first_start;
}

/* Returns the number of a set among those of `passing`, the vertex kinds and the pass usage, in
 * this order. */
static inline uint32_t pl_tile_set(const pl_interval_inputs *inputs, const pl_unit_sets *sets,
                                   uint32_t set) {
    size_t before = sets == &inputs->passing.sets ? 0 : inputs->passing.sets.count;
    if (sets == &inputs->pass_usage->usage.sets)
        before += inputs->kind_sets.count;
    return (uint32_t)before + set;
}

/* Computes all arrivals of a tile, and the base of its steps; false if memory is short. */
bool pl_tile_arrivals_find(pl_tile_meter *meter, size_t tile);

/* Allocates the meter. Like the functions below, returns false if memory is short. */
bool pl_tile_meter_begin(pl_tile_meter *meter, const pl_interval_inputs *inputs, bool with_details);
void pl_tile_meter_free(pl_tile_meter *meter);

/* Adds a tile to all stages. */
bool pl_tile_meter_measure(pl_tile_meter *meter, size_t tile);

/* Adds the tiles of another meter with the same inputs. */
bool pl_tile_meter_merge(pl_tile_meter *meter, const pl_tile_meter *other);

/* Completes what all tiles together tell, once they were added. */
bool pl_tile_meter_finish(pl_tile_meter *meter);

#endif
