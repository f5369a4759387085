/* The memory of all intervals on one tile after another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_INTERVALS_TILE_METER_H
#define PL_INTERVALS_TILE_METER_H

#include "intervals/intervals.h"
#include "intervals/live_parts.h"
#include "intervals/peak_envelope.h"
#include "intervals/peak_tree.h"
#include "intervals/stage_details.h"
#include "intervals/stash.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/full_model.h"
#include "memory/passes.h"
#include "memory/unit_usage.h"

/* Liveness steps one after another that belong to the same unit. */
typedef struct pl_step_run {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t unit;
} pl_step_run;

/* What is the same for all tiles, and for all threads that meter them. */
typedef struct pl_interval_inputs {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    const pl_interval_options *options;
    bool is_full;
    pl_full_model full; /* of that memory model only */
    pl_unit_usage usage;
    pl_passes passes;
    pl_unit_usage pass_usage; /* of the passes, see pl_passes_unit_usage */
    pl_stash stash;           /* only for a pipeline that trains */
    size_t max_stages;        /* of the pipeline: 1 for one that keeps nothing */

    /* State and code of all programs with the same set of units: [sets][tiles]. */
    uint64_t *set_bytes[PL_NUM_CODE_GROUPS];
    /* The units that need each vertex kind on each tile: [types][tiles], sets of kind_sets. */
    pl_vertex_kinds kinds;
    uint32_t *kind_set;
    pl_unit_sets kind_sets;
    /* Code of each vertex kind: [types][tiles]. */
    uint64_t *kind_code_bytes;
    /* The steps of each unit: those of unit u begin at unit_runs_start[u]. */
    size_t *unit_runs_start; /* [num_units + 1] */
    pl_step_run *unit_run;
    uint32_t *run_of_step; /* [num_steps] */
    /* Whether the steps that count in some stage can begin or end before a step: [num_steps + 1]. */
    uint8_t *is_break;
    /* The sets of units that use something, as bits: [sets][set_words]. */
    size_t set_words;
    uint64_t *set_bits;
} pl_interval_inputs;

/* Whether what this unit touches counts as variables where no other unit does: in PopLiner's model
 * those of operations in no layer are assumed to be distributed. */
static inline bool pl_interval_unit_counts(const pl_interval_inputs *inputs, uint32_t unit) {
    return inputs->is_full || unit > 0;
}

/* What the sums over arrivals are kept apart by: the groups of code, always-live data, and what a
 * pipeline keeps, which is no part of the peak of a plain stage. */
enum { PL_SUM_DATA = PL_NUM_CODE_GROUPS, PL_SUM_STASH, PL_NUM_SUMS };

struct pl_tile_arrival;

/* The work of one thread. Zero-initialise; free with pl_tile_meter_free. */
typedef struct pl_tile_meter {
    const pl_interval_inputs *inputs;
    /* Of the tiles that were measured, by stage; owned. */
    pl_peak_envelope largest;
    pl_detail_sums *sums; /* only if details are wanted */
    /* By the first unit: the stages that reach this unit need more than most_bytes. Owned. Without
     * details only, for these are of all stages. */
    size_t *allowed_end;

    /* For one tile: bytes that arrive at unit u in stages beginning at s, as differences over s. A
     * difference may be below zero: unsigned, it wraps around and comes out right in the sums. */
    uint64_t *arriving_bytes[PL_NUM_SUMS]; /* [num_units + 1][num_units] */
    pl_live_parts parts;                   /* what has to arrive */
    struct pl_tile_arrival *arrivals;      /* the same, by set */
    size_t arrivals_capacity;
    size_t *set_start;       /* [sets + 1] into arrivals, and one more */
    uint32_t *arriving_sets; /* by unit, then by the first start of their stages */
    size_t arriving_capacity;
    size_t *arriving_start; /* for each unit and each start up to it, and one more */

    /* The tile's steps in segments, within which all that arrives is the same. */
    pl_curve base_curve;       /* what is there at the steps of a unit in every stage with it */
    uint8_t *is_break;         /* [num_steps + 1]: whether a segment begins here */
    uint32_t *segment_of_step; /* [num_steps + 1] */
    uint32_t *segment_step;    /* [segments]: the first step with the most of the inputs */
    uint64_t *step_bytes;      /* [num_steps]: the inputs */
    uint64_t *segment_bytes;   /* [segments]: its most */
    pl_peak_tree base_tree;    /* the same */
    pl_peak_tree tree;         /* over the segments, of one stage */
} pl_tile_meter;

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
