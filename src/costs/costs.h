/* Inner view of the cost table: for loops over many intervals, and for those who fill it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "popliner/costs.h"

/* Adds a table of cycles, all 0, unless there is one. Errors: MEMORY. */
popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error);

/* Adds peaks, all 0, for pipelines of up to max_stages, as far as there are none: for those who
 * learn how many there are when they have made the table. Errors: MEMORY. */
popliner_status pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages,
                                      popliner_error *error);

/* Says that the place of a stage is not how many stages are still to come, but how many there are:
 * wherever stages_to_end is asked for, the number of stages of the split is meant. More stages
 * never need less. */
void pl_costs_follow_split(popliner_costs *costs);
bool pl_costs_follows_split(const popliner_costs *costs);

/* Makes the table of splits of just so many stages, in which a stage costs the same wherever it is,
 * of one that follows the split. It refers to that one, which must stay unchanged for as long; free
 * with popliner_costs_free. Errors: USAGE for more stages than are known; MEMORY. */
popliner_status pl_costs_of_number(const popliner_costs *costs, size_t num_stages,
                                   popliner_costs **result, popliner_error *error);

/* The table that it was made of; else the table itself. */
const popliner_costs *pl_costs_of_any_split(const popliner_costs *costs);

/* How a stage of so many is asked for: as stages_to_end of peaks and intervals. */
size_t pl_costs_place(const popliner_costs *costs, size_t num_stages, size_t stage);

/* The setters without a check, for those who run over the intervals of the table itself. */
void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes);
void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles);
void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes);

/* Forbids an interval as a stage, wherever it stands in the pipeline. O(max_stages_to_end). */
void pl_costs_forbid(popliner_costs *costs, size_t first_unit, size_t last_unit);

/* Ends of intervals that begin with one unit, and what their peaks have to be. */
typedef struct pl_peak_range {
    size_t first_unit;
    size_t last_unit; /* of the first interval; each next one has a unit more */
    size_t count;
    uint64_t min_bytes;
    uint64_t max_bytes;
} pl_peak_range;

/* Clears the marks of the intervals whose peaks, so far from the end, are not in the range.
 * O(count). */
void pl_costs_mark_peaks(const popliner_costs *costs, size_t stages_to_end,
                         const pl_peak_range *range, uint8_t *marks);

/* What the peak of a stage is made of: bytes, and as many for each copy that it keeps. Of several
 * (parts of a device's memory) the largest counts. */
typedef struct pl_peak_line {
    uint64_t bytes;
    uint64_t copy_bytes;
} pl_peak_line;

/* Makes the table one of lines instead of peaks by place, each interval with the single line 0, 0:
 * its size does not depend on how long pipelines are. copies[t - 1] is how many a stage keeps
 * when t are still to come, for 1 ... max_stages. Errors: MEMORY. */
popliner_status pl_costs_begin_lines(popliner_costs *costs, const size_t *copies, size_t max_stages,
                                     popliner_error *error);

/* Sets the lines of an interval; with `forbidden_from` copies or more it is forbidden (SIZE_MAX:
 * never). Lines that are the largest nowhere are left out. Sums must stay within 64 bits. Errors:
 * MEMORY. O(num_lines^2). */
popliner_status pl_costs_set_lines(popliner_costs *costs, const popliner_interval *interval,
                                   const pl_peak_line *lines, size_t num_lines,
                                   size_t forbidden_from, popliner_error *error);

/* What orders there are among the costs of intervals and places. */
typedef struct pl_cost_order {
    /* A longer interval never has a smaller peak, wherever it stands, but for the shortest ones
     * that begin with a unit, if they are forbidden everywhere. */
    bool peaks_never_shrink;
    size_t *first_ends; /* [units] if so: the unit behind the first that is not; never falls */
    bool cycles_never_shrink;
    bool peaks_grow_to_front; /* no stage needs less where it is further from the end */
} pl_cost_order;

/* Finds them for pipelines of up to max_stages. It may miss that peaks of several lines never
 * shrink. Free with pl_cost_order_clear. Errors: MEMORY. O(n^2), for peaks by place times these. */
popliner_status pl_costs_find_order(const popliner_costs *costs, size_t max_stages,
                                    pl_cost_order *order, popliner_error *error);
void pl_cost_order_clear(pl_cost_order *order);

/* Asks a caller's function for a peak, and checks how it answers. *peak_bytes stays
 * POPLINER_PEAK_FORBIDDEN if it sets none. */
popliner_status pl_ask_peak(popliner_peak_function peak, void *user, size_t first_unit,
                            size_t last_unit, uint64_t *peak_bytes, popliner_error *error);

/* Whether a longer interval never has fewer cycles: it may, where it saves those of a cut.
 * O(n^2). */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* The same for cycles; NULL without such a table. */
const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit);

/* 1 if a stage costs the same wherever it stands. */
size_t pl_costs_max_stages_to_end(const popliner_costs *costs);

/* Gives the table the `user` of its shared peaks, which it frees with free(). */
void pl_costs_own_user(popliner_costs *costs, void *user);

/* Whether that was promised; without such a function, whether it is so: O(n^2). */
bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs);
popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error);

/* What is known of what stages on one IPU need together: at least the sum of their own bytes, and
 * the most of the other bytes that one of them has. */
typedef struct pl_peak_parts {
    uint64_t own_bytes;
    uint64_t other_bytes; /* code, say, which several stages may share */
} pl_peak_parts;

/* Who knows them; `user` is that of the shared peaks. To be set after these. */
typedef pl_peak_parts (*pl_peak_parts_function)(const void *user, const popliner_interval *stage);
void pl_costs_set_peak_parts(popliner_costs *costs, pl_peak_parts_function parts);

/* Those of a stage. Where nothing is known but its peak, it has other bytes only; where peaks are
 * added up, own ones only. */
pl_peak_parts pl_costs_peak_parts(const popliner_costs *costs, const popliner_interval *stage);

/* What several units may use, and an IPU with any of them needs once. */
enum { PL_MOST_SHARED_ITEMS = 64 };
typedef struct pl_shared_items {
    const uint64_t *uses;  /* [units]: a bit for each item that the unit uses */
    const uint64_t *bytes; /* [num_items] */
    size_t num_items;
} pl_shared_items;

/* Promises that stages on one IPU never need less than the sum of their own bytes (peak parts) and,
 * once, the bytes of each item that one of their units uses. To be set after the peak parts.
 * Copies. Errors: MEMORY. */
popliner_status pl_costs_set_shared_items(popliner_costs *costs, const pl_shared_items *items,
                                          popliner_error *error);

/* Those that are set; num_items is 0 if none are. Borrowed. */
pl_shared_items pl_costs_shared_items(const popliner_costs *costs);

/* Says that the units are those of a graph in one of several orders, whose name is never freed:
 * what is proven of the table is not proven of the graph. NULL (as at first): there is no other
 * order. */
void pl_costs_set_unit_order(popliner_costs *costs, const char *unit_order);
const char *pl_costs_unit_order(const popliner_costs *costs);

/* Says that the time is what people look at first, as of graphs; and whether it is, as also of
 * costs without memory. */
void pl_costs_set_of_time(popliner_costs *costs);
bool pl_costs_are_of_time(const popliner_costs *costs);

/* Whether the peaks of stages on one IPU are added up, without asking anybody. */
bool pl_costs_adds_shared_peaks(const popliner_costs *costs);

/* Shared peaks may be asked for a million times: each takes microseconds, not a measurement. To be
 * said after they are set; where they are added up it is so. */
void pl_costs_promise_quick_shared_peak(popliner_costs *costs);
bool pl_costs_shared_peak_is_quick(const popliner_costs *costs);

/* a + b, at most UINT64_MAX, which stands for what cannot be. */
static inline uint64_t pl_add_or_never(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MAX_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MAX_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
