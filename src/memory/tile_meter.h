/* The memory of all intervals on one tile after another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_TILE_METER_H
#define PL_MEMORY_TILE_METER_H

#include "base/growth.h"
#include "memory/curve.h"
#include "memory/interval_inputs.h"
#include "memory/peak_tree.h"
#include "memory/stage_details.h"

/* What the sums over arrivals are kept apart by: the groups of code, always-live data, what a
 * pipeline keeps, which is no part of the peak of a plain stage, and accumulators. */
enum { PL_SUM_DATA = PL_NUM_CODE_GROUPS, PL_SUM_STASH, PL_SUM_ACCUMULATORS, PL_NUM_SUMS };

/* ---- variables that the same units touch and that are live at the same time ---- */

/* So many bytes that the units of a set touch, live from first_step to end_step - 1. */
typedef struct pl_live_part {
    uint64_t bytes;
    uint32_t set;
    uint32_t first_step;
    uint32_t end_step;
} pl_live_part;

/* Zero-initialise; free with pl_live_parts_free. */
typedef struct pl_live_parts {
    /* [count], no two of the same set and steps, in the order they came; owned */
    pl_live_part *parts;
    size_t count;
    size_t capacity;
    uint32_t *slots; /* [num_slots] a table to find them: 1 + the part, or 0; owned */
    size_t num_slots;
} pl_live_parts;

/* Leaves none. O(slots), of which there are a few times as many as there were ever parts. */
void pl_live_parts_empty(pl_live_parts *parts);

/* Adds bytes to a part; false when memory is short. O(1), amortised. */
bool pl_live_parts_add(pl_live_parts *parts, uint32_t set, uint32_t first_step, uint32_t end_step,
                       uint64_t bytes);

void pl_live_parts_free(pl_live_parts *parts);

/* ---- one tile ---- */

/* Bytes that arrive, and where they are live. */
typedef struct pl_tile_arrival {
    uint32_t first_segment;
    uint32_t end_segment;
    uint64_t bytes;
} pl_tile_arrival;

/* The work of one thread. Zero-initialise; free with pl_tile_meter_free. */
typedef struct pl_tile_meter {
    const pl_interval_inputs *inputs;
    pl_arrays arrays; /* owns all arrays whose size is known from the first */
    /* Of the tiles that were measured, by stage; owned. */
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* of the needs that are wanted */
    pl_detail_sums *sums;                         /* only if details are wanted */
    /* [num_tiles][num_intervals], of all threads; NULL: not wanted */
    pl_tile_need *tile_needs;
    /* By the first unit: the stages that reach this unit need more than max_bytes. Owned. Without
     * details only, for these are of all stages. */
    size_t *allowed_end;

    /* For one tile: bytes that arrive at unit u in stages beginning at s, as differences over s. A
     * difference may be below zero: unsigned, it wraps around and comes out right in the sums. */
    uint64_t *arriving_bytes[PL_NUM_SUMS]; /* [num_units + 1][num_units] */
    pl_stash_work stash_work;
    /* What crosses each cut, by the unit behind it, forward and backward; [num_units + 1], NULL
     * where it does not stay. */
    uint64_t *handed_on;
    uint64_t *handed_in;
    pl_layout layout;
    uint64_t *unit_stash_bytes; /* [num_units] that a stage of the unit alone keeps; may be NULL */
    pl_live_parts parts;        /* what has to arrive */
    pl_tile_arrival *arrivals;  /* the same, by set */
    size_t arrivals_capacity;
    size_t *set_start;       /* [sets + 1] into arrivals, and one more */
    uint32_t *arriving_sets; /* by unit, then by the first start of their stages */
    size_t arriving_capacity;
    size_t *arriving_start; /* for each unit and each start up to it, and one more */

    /* The tile's steps in segments, within which all that arrives is the same. The base is what may
     * be counted at a step in every stage to which the step belongs. */
    pl_curve base_curve;
    uint8_t *is_break;         /* [num_steps + 1]: whether a segment begins here */
    uint32_t *segment_of_step; /* [num_steps + 1] */
    uint64_t *step_bytes;      /* [num_steps]: of the base */
    /* [num_steps]: of what no operation touches, which is part of the base; only if details, or
     * what a stage needs at least, are wanted */
    uint64_t *unexplained_bytes;
    bool has_unexplained;    /* not 0 at some step */
    uint64_t *segment_bytes; /* [segments]: the most of the base */
    uint32_t *segment_step;  /* [segments]: the first step that has it */
    pl_peak_tree base_tree;  /* the base over the segments */
    pl_peak_tree tree;       /* the same, and what has arrived in one stage */
} pl_tile_meter;

/* Sums that there are. */
static inline size_t pl_tile_count_sums(const pl_interval_inputs *inputs) {
    return inputs->accumulator_factor > 0 ? PL_NUM_SUMS
           : inputs->keeps                ? PL_SUM_ACCUMULATORS
                                          : PL_SUM_STASH;
}

/* Where the sets that arrive at `unit` in stages that may begin at `first_start` are listed: by
 * unit, then by first_start, so that those of one stage are one after another. */
static inline size_t pl_tile_arrivals_place(size_t unit, size_t first_start) {
    return unit * (unit + 1) / 2 + first_start;
}

/* Finds all that arrives of a tile, and the base of its steps; false when memory is short. */
bool pl_tile_arrivals_find(pl_tile_meter *meter, size_t tile);

/* Makes room. Errors: MEMORY. */
popliner_status pl_tile_meter_begin(pl_tile_meter *meter, const pl_interval_inputs *inputs,
                                    bool with_details, popliner_error *error);
void pl_tile_meter_free(pl_tile_meter *meter);

/* Adds a tile to all stages. Errors: MEMORY. */
popliner_status pl_tile_meter_measure(pl_tile_meter *meter, size_t tile, popliner_error *error);

/* Adds the tiles of another one, of the same inputs. Errors: MEMORY. */
popliner_status pl_tile_meter_merge(pl_tile_meter *meter, const pl_tile_meter *other,
                                    popliner_error *error);

#endif
