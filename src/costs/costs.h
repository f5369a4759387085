/* Inner view of the cost table: its members, fast getters and setters, and lines of peaks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "base/growth.h"
#include "costs/triangle.h"
#include "pipeline/pipeline.h"
#include "popliner/costs.h"

/* A lower bound for stages on one IPU: the sum of their own bytes, plus the largest of their other
 * bytes. */
typedef struct pl_peak_parts {
    uint64_t own_bytes;
    uint64_t other_bytes; /* for example code, which several stages may share */
} pl_peak_parts;

/* Returns the parts of a stage. `user` is that of the shared peaks. */
typedef pl_peak_parts (*pl_peak_parts_function)(const void *user, const popliner_interval *stage);

/* The kind of a unit, for frameworks that place layers by kind; only layers count there. */
typedef enum pl_unit_kind {
    PL_UNIT_KIND_OTHER,
    PL_UNIT_KIND_LAYER,
    PL_UNIT_KIND_EMBEDDING,
    PL_UNIT_KIND_MTP, /* predicts further tokens */
    PL_UNIT_KIND_LOSS,
    PL_NUM_UNIT_KINDS
} pl_unit_kind;

/* The cycles of units, and of their forward passes, by sample: a stage takes as long as in its
 * slowest sample. Free with free(). */
typedef struct pl_unit_passes {
    size_t num_samples;
    /* True if the units' cycles and `cuts` are all that a stage takes, except what it recomputes.
     * Else the rest is transfers. */
    bool has_cuts;
    bool are_thirds; /* assumed: a third of the units of a stage is forward */
    /* [(units + 1) * num_samples] cycles of all earlier units, as many of their forward passes, and
     * [units + 1] that a cut before the unit adds on both sides */
    uint64_t cycles[];
} pl_unit_passes;

/* A number of every interval that is a difference: ends[last_unit + 1] - begins[first_unit], modulo
 * 2^64. What units add up takes so little, however long the chain is. */
typedef struct pl_differences {
    uint64_t *begins; /* [units] */
    uint64_t *ends;   /* [units + 1]; NULL if there are no such numbers */
} pl_differences;

typedef enum pl_numbers_kind {
    PL_NUMBERS_UNKNOWN,
    PL_NUMBERS_LISTED,   /* a triangle: see costs/triangle.h */
    PL_NUMBERS_ADDED_UP, /* differences */
} pl_numbers_kind;

/* A number of every interval. */
typedef struct pl_interval_numbers {
    pl_numbers_kind kind;
    uint64_t *listed;
    pl_differences added;
} pl_interval_numbers;

/* Returns the numbers of the intervals that begin with a unit, by length: row[d] - *before; NULL if
 * they are unknown. O(1). */
static inline const uint64_t *pl_numbers_row(const pl_interval_numbers *own, size_t num_units,
                                             size_t first_unit, uint64_t *before) {
    const bool are_added = own->kind == PL_NUMBERS_ADDED_UP;
    *before = are_added ? own->added.begins[first_unit] : 0;
    if (are_added)
        return own->added.ends + first_unit + 1;
    return own->kind == PL_NUMBERS_LISTED ? own->listed + pl_triangle_row(num_units, first_unit)
                                          : NULL;
}

/* Returns the number of an interval, which must be known. O(1). */
static inline uint64_t pl_numbers_at(const pl_interval_numbers *own, size_t num_units,
                                     size_t first_unit, size_t last_unit) {
    return own->kind == PL_NUMBERS_ADDED_UP
               ? own->added.ends[last_unit + 1] - own->added.begins[first_unit]
               : own->listed[pl_triangle_place(num_units, first_unit, last_unit)];
}

/* Returns numbers of a kind, all 0, that `arrays` own; without memory arrays->failed is set. */
pl_interval_numbers pl_numbers_new(pl_arrays *arrays, pl_numbers_kind kind, size_t num_units);

/* The needs of stages in a part of a device's memory (a region), as a function of the copies of its
 * activations that a stage stores. Its peak is that of the region where it needs most. */
typedef struct pl_region_lines {
    pl_interval_numbers bytes;
    pl_interval_numbers copy_bytes; /* added for each copy */
} pl_region_lines;

typedef struct pl_peaks {
    pl_arrays arrays; /* own the others */
    /* A triangle for each of the stages 1 ... max_stages_to_end from the end; NULL: lines. */
    uint64_t *by_place;
    pl_region_lines *lines; /* [num_regions], else NULL as all of these */
    size_t num_regions;
    uint64_t *capacity_bytes; /* [num_regions] what a stage must not exceed; NULL: any */
    size_t *copies;           /* [max_stages_to_end] */
    /* Unknown, or with one region, in a pipeline that follows the split and has such places: what
     * is kept of a micro-batch until its backward pass. After it copy_bytes are. */
    pl_interval_numbers kept_bytes;
    size_t sets_late; /* then: pl_copies_late */
} pl_peaks;

struct popliner_costs {
    size_t num_units;
    pl_peaks peaks;
    pl_interval_numbers cycles;
    uint64_t *cuts_bytes; /* by the unit after the cut; element 0 is 0 */
    /* Added to the peaks: [units + 1] sums over all units before one; NULL: nothing. Borrowed. */
    const uint64_t *grown_before;
    uint8_t *counted_units;     /* [num_units], or NULL if all count */
    uint64_t *kv_bytes;         /* [num_units], that a token more takes; NULL: none */
    uint64_t *kv_tokens;        /* [num_units], by how many tokens that grows; NULL: any number */
    uint64_t *cache_bytes;      /* [num_units], in the peaks: that of caches; NULL: unknown */
    uint64_t *workspace;        /* [num_units], in the peaks: the largest of a stage; NULL: none */
    const popliner_costs *most; /* the same with what sizes may be at most; NULL: unknown */
    popliner_need need;         /* the estimate that these are */
    const char *not_counted;  /* what a device needs besides, which is in no peak; NULL: unknown */
    uint8_t *unit_kinds;      /* [num_units], pl_unit_kind; NULL: unknown */
    pl_unit_passes *passes;   /* NULL: unknown */
    size_t max_stages_to_end; /* 1 if a stage costs the same in any place */
    const char *unit_order;   /* static: the order that was chosen for a graph; NULL if it has only
                             * one. Proofs about the table do not hold for the other orders. */
    /* The choices of its stages, or NULL. Owned if these are ways. Peaks and cycles are those of
     * the first choice. */
    const struct pl_choices *choices;
    const struct pl_graph_chain *graph; /* of which this is one chain; NULL if it is the only one */
    uint64_t cycles_per_time_unit;      /* more than 1 if its times are fractions; for bandwidths */
    bool is_of_time;                    /* a graph, for which users want the fastest split first */
    bool is_of_ipus;                    /* of several profiles together */
    bool has_pipeline;                  /* the costs hold for `pipeline` alone */
    popliner_pipeline pipeline;
    /* True if `stages_to_end` everywhere is the number of all stages of the split instead, with
     * kept_bytes as in pl_place_of. More stages never need less. */
    bool follows_split;
    pl_arrays arrays; /* own cycles, passes, the arrays by unit, and texts */
    popliner_shared_peak_function shared_peak; /* NULL: the peaks of stages on one IPU are added */
    void *shared_peak_user;
    bool shared_peak_never_shrinks;
    /* Set after popliner_costs_set_shared_peak, which clears them. */
    bool shared_peak_is_quick; /* it takes microseconds, so that a million calls are affordable */
    pl_peak_parts_function peak_parts; /* NULL: unknown */
    void *owned_user;                  /* shared_peak_user, if the table frees it with free() */
};

/* Returns the part of the peak of a stage that its copies take; 0 if the table has only peaks. */
uint64_t pl_costs_copies_bytes(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                               size_t stages_to_end);

/* Sets which units count for the min_units and max_units of a stage: counted_units[num_units], 0
 * for those that do not; NULL: all. Copied. Errors: MEMORY. O(num_units). */
bool pl_costs_set_counted_units(popliner_costs *costs, const uint8_t *counted_units);

/* Returns what is forward of cycles that are not divided into passes: a backward pass takes about
 * twice as long. */
static inline uint64_t pl_forward_third(uint64_t cycles) {
    return cycles / 3;
}

/* The passes of units, to be copied. */
typedef struct pl_passes_source {
    size_t num_samples;
    const uint64_t *cycles;     /* [units * num_samples] */
    const uint64_t *forward;    /* as many, of the forward passes */
    const uint64_t *cut_cycles; /* [units + 1]; NULL: unknown */
    bool are_thirds;            /* then `forward` is NULL */
} pl_passes_source;

/* Gives the table passes. Errors: MEMORY. */
bool pl_costs_add_passes(popliner_costs *costs, const pl_passes_source *source);

/* Returns how many numbers `cycles` of the passes of so many units has. */
static inline size_t pl_passes_count(size_t num_units, size_t num_samples) {
    return (num_units + 1) * (2 * num_samples + 1);
}

/* Returns the cycles of all units before one, in a sample, modulo 2^64: differences are exact. */
static inline uint64_t pl_passes_before(const pl_unit_passes *passes, size_t unit, size_t sample) {
    return passes->cycles[unit * passes->num_samples + sample];
}

/* Returns the cycles of the forward passes of units, in a sample. */
static inline uint64_t pl_passes_forward_of(const pl_unit_passes *passes, size_t num_units,
                                            size_t first_unit, size_t end_unit, size_t sample) {
    const size_t at = passes->are_thirds ? 0 : num_units + 1;
    const uint64_t cycles = pl_passes_before(passes, at + end_unit, sample) -
                            pl_passes_before(passes, at + first_unit, sample);
    return passes->are_thirds ? pl_forward_third(cycles) : cycles;
}

/* Returns what each cut adds to the stages on both sides: [units + 1]. */
static inline const uint64_t *pl_passes_cuts(const pl_unit_passes *passes, size_t num_units) {
    return passes->cycles + 2 * (num_units + 1) * passes->num_samples;
}

/* Returns the cycles of the forward pass of a stage, with half of its transfers; the table must
 * have passes. The rest of its cycles are of the backward pass. Sets *plain_cycles to those of both
 * without what is recomputed. O(samples). */
uint64_t pl_costs_forward(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                          uint64_t *plain_cycles);

/* Adds a triangle of cycles, all 0, unless there are cycles; these become one. Errors: MEMORY. */
popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error);

/* Sets the cycles of all intervals to a triangle; NULL changes nothing. Errors: those of
 * popliner_costs_set_cycles. */
popliner_status pl_costs_list_cycles(popliner_costs *costs, const uint64_t *cycles,
                                     popliner_error *error);

/* Adds peaks, all 0, for the places up to max_stages that have none, once the number of stages is
 * known. Errors: MEMORY. */
bool pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages);

/* True if places have kept_bytes. */
static inline bool pl_costs_keep_sets(const popliner_costs *costs) {
    return costs->peaks.kept_bytes.kind != PL_NUMBERS_UNKNOWN;
}

/* Returns the number of stages, or of those to the end, that a place of peaks has. */
static inline size_t pl_costs_stages_of(const popliner_costs *costs, size_t place) {
    return pl_costs_keep_sets(costs) ? place % PL_PLACES : place;
}

/* Returns the stages_to_end that peaks and intervals have for stage `stage` of num_stages. */
static inline size_t pl_costs_place(const popliner_costs *costs, size_t num_stages, size_t stage) {
    if (pl_costs_keep_sets(costs) && costs->follows_split)
        return pl_place_of(num_stages, stage);
    return costs->follows_split ? num_stages : num_stages - stage;
}

/* Setters that check their arguments only in debug builds. */
void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes);
void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles);
void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes);

/* Intervals that begin with one unit, and the range that their peaks must be in. */
typedef struct pl_peak_range {
    size_t first_unit;
    size_t last_unit; /* of the first interval; each of the following is a unit longer */
    size_t count;
    uint64_t min_bytes;
    uint64_t max_bytes;
} pl_peak_range;

/* Clears the marks[range->count] of the intervals whose peaks, at stages_to_end, are outside the
 * range. O(count). */
void pl_costs_mark_peaks(const popliner_costs *costs, size_t stages_to_end,
                         const pl_peak_range *range, uint8_t *marks);

/* Returns the triangle of peaks for stages_to_end, of a table that has peaks. */
uint64_t *pl_costs_peaks_at(const popliner_costs *costs, size_t stages_to_end);

/* Replaces peaks by lines of numbers of a kind, 0 for each interval, which the caller may set: the
 * size of the table then does not depend on the length of the pipeline. Sums must stay within 64
 * bits. copies[t - 1] is how many copies a stage stores
 * with t stages to the end, for t from 1 to max_stages. Copied, as the capacities, which may be
 * NULL. Errors: MEMORY. */
bool pl_costs_begin_lines(popliner_costs *costs, pl_numbers_kind kind, const size_t *copies,
                          size_t max_stages, size_t num_regions, const uint64_t *capacity_bytes);

/* Returns pl_numbers_row of the cycles. */
static inline const uint64_t *pl_costs_cycles_row(const popliner_costs *costs, size_t first_unit,
                                                  uint64_t *before) {
    return pl_numbers_row(&costs->cycles, costs->num_units, first_unit, before);
}

/* Monotonicity of the costs, by interval and by place. */
typedef struct pl_cost_order {
    pl_arrays arrays;        /* own the others */
    bool peaks_never_shrink; /* a longer interval never has a smaller peak, in any place */
    bool cycles_never_shrink;
    /* If not: an interval takes at least ends[its end] - begins[its first unit], or none if that is
     * negative. A longer interval has at least as much of it. `ends` is NULL if none is known. */
    pl_differences least_cycles;
} pl_cost_order;

/* Finds the order for pipelines of up to max_stages. peaks_never_shrink may be false of peaks of
 * several regions although they do not shrink. Free with pl_cost_order_clear. Errors: MEMORY.
 * O(n^2) with lines, O(n^2 * max_stages) with peaks. */
popliner_status pl_costs_find_order(const popliner_costs *costs, size_t max_stages,
                                    pl_cost_order *order, popliner_error *error);
void pl_cost_order_clear(pl_cost_order *order);

/* True if an interval is above one of the limits, and stays so if more units come after it. */
bool pl_cost_order_is_over(const pl_cost_order *order, const popliner_costs *costs,
                           const popliner_interval *interval, uint64_t max_cycles,
                           uint64_t max_bytes);

/* Calls `peak` and checks its status. *peak_bytes stays POPLINER_PEAK_FORBIDDEN if it sets none.
 * Errors: those of `peak`. */
popliner_status pl_ask_peak(popliner_peak_function peak, void *user, size_t first_unit,
                            size_t last_unit, uint64_t *peak_bytes, popliner_error *error);

/* True if a longer interval never has fewer cycles. It may have: it saves those of a cut. O(n^2).
 */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* True if shared peaks never fall when a stage grows: as promised to
 * popliner_costs_set_shared_peak, or, where peaks are added, as computed in O(n^2). */
bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs);

/* Sets *peak_bytes to the peak of stages[num_stages] on one IPU. Errors: USAGE for ranges that are
 * not in the chain, those of the shared-peak function, MEMORY. */
popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error);

/* Returns the parts of a stage. Without a function for them, the whole peak is its other bytes, or,
 * where peaks are added, its own bytes. */
pl_peak_parts pl_costs_peak_parts(const popliner_costs *costs, const popliner_interval *stage);

/* True if a shared peak takes microseconds, not a measurement. */
static inline bool pl_costs_shared_peak_is_quick(const popliner_costs *costs) {
    return costs->shared_peak == NULL || costs->shared_peak_is_quick;
}

/* Returns a + b, or UINT64_MAX ("impossible") if the sum is larger. */
static inline uint64_t pl_add_or_never(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Larger sums of cut bytes count as this one. UINT64_MAX stays free for "no split at all". */
#define PL_MAX_CUT_BYTES (UINT64_MAX - 1)

/* Returns a + b, at most PL_MAX_CUT_BYTES. */
static inline uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b) {
    return b >= PL_MAX_CUT_BYTES || a >= PL_MAX_CUT_BYTES - b ? PL_MAX_CUT_BYTES : a + b;
}

#endif
