/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Triangles are in the order of costs/triangle.h. */
struct popliner_costs {
    size_t num_units;
    uint64_t
        *peaks_bytes; /* a triangle for each of the stages 1 ... max_stages_to_end from the end */
    uint64_t *cuts_bytes; /* by the unit after the cut; element 0 is 0 */
    uint64_t *cycles;     /* a triangle, or NULL */
    size_t max_stages_to_end;
    popliner_shared_peak_function shared_peak;
    void *shared_peak_user;
    bool shared_peak_never_shrinks;
    bool shared_peak_is_quick;
    void *owned_user; /* shared_peak_user where it is the table's */
};

/* The numbers in a triangle. */
static size_t triangle_size(const popliner_costs *costs) {
    return pl_triangle_size(costs->num_units);
}

popliner_status popliner_costs_create(size_t num_units, size_t max_stages, popliner_costs **costs,
                                      popliner_error *error) {
    *costs = NULL;
    if (num_units == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a chain needs at least one unit, but there is none to split");
    if (max_stages == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a pipeline has at least one stage; where it does not matter where a stage "
                       "stands, max_stages is 1");
    /* so that the number of intervals, and their bytes, stay within size_t */
    if (num_units >= (size_t)1 << (sizeof(size_t) * 4 - 3))
        return pl_fail_memory(error, "the costs of the intervals");

    popliner_costs *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    made->num_units = num_units;
    made->max_stages_to_end = 1;
    made->peaks_bytes = pl_new_array(triangle_size(made), sizeof *made->peaks_bytes);
    made->cuts_bytes = pl_new_array(num_units, sizeof *made->cuts_bytes);
    if (made->peaks_bytes == NULL || made->cuts_bytes == NULL) {
        popliner_costs_free(made);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    popliner_status status = pl_costs_add_pipeline(made, max_stages, error);
    if (status != POPLINER_OK) {
        popliner_costs_free(made);
        return status;
    }
    *costs = made;
    return POPLINER_OK;
}

void popliner_costs_free(popliner_costs *costs) {
    if (costs == NULL)
        return;
    free(costs->peaks_bytes);
    free(costs->cuts_bytes);
    free(costs->cycles);
    free(costs->owned_user);
    free(costs);
}

size_t popliner_costs_num_units(const popliner_costs *costs) {
    return costs->num_units;
}

/* The place of an interval in a triangle. */
static size_t place(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    assert(first_unit <= last_unit && last_unit < costs->num_units);
    return pl_triangle_place(costs->num_units, first_unit, last_unit);
}

/* The triangle of peaks of the stages so far from the end. */
static uint64_t *peaks_at(const popliner_costs *costs, size_t stages_to_end) {
    assert(stages_to_end >= 1);
    if (stages_to_end == 1 || costs->max_stages_to_end == 1)
        return costs->peaks_bytes;
    assert(stages_to_end <= costs->max_stages_to_end);
    return costs->peaks_bytes + (stages_to_end - 1) * triangle_size(costs);
}

const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t stages_to_end,
                                    size_t first_unit) {
    return peaks_at(costs, stages_to_end) + place(costs, first_unit, first_unit);
}

const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit) {
    return costs->cycles == NULL ? NULL : costs->cycles + place(costs, first_unit, first_unit);
}

static bool is_interval(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    return first_unit <= last_unit && last_unit < costs->num_units;
}

static popliner_status check_interval(const popliner_costs *costs, size_t first_unit,
                                      size_t last_unit, popliner_error *error) {
    if (is_interval(costs, first_unit, last_unit))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "units %zu to %zu are no stage of a chain of %zu units", first_unit, last_unit,
                   costs->num_units);
}

popliner_status pl_ask_peak(popliner_peak_function peak, void *user, size_t first_unit,
                            size_t last_unit, uint64_t *peak_bytes, popliner_error *error) {
    popliner_error told;
    told.message[0] = '\0';
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    popliner_status status = peak(user, first_unit, last_unit, peak_bytes, &told);
    return pl_fail_callback(error, "peak", status, &told);
}

popliner_status popliner_costs_fill_peaks(popliner_costs *costs, popliner_peak_function peak,
                                          void *user, uint64_t max_bytes, popliner_error *error) {
    for (size_t first = 0; first < costs->num_units; ++first) {
        uint64_t peak_bytes = 0;
        for (size_t last = first; last < costs->num_units; ++last) {
            if (peak_bytes <= max_bytes) {
                popliner_status status = pl_ask_peak(peak, user, first, last, &peak_bytes, error);
                if (status != POPLINER_OK)
                    return status;
            }
            /* one that is forbidden by itself, without operations, says nothing of longer ones */
            bool is_forbidden = peak_bytes == POPLINER_PEAK_FORBIDDEN;
            pl_costs_set_peak(costs, first, last, 1,
                              peak_bytes > max_bytes ? POPLINER_PEAK_FORBIDDEN : peak_bytes);
            if (is_forbidden)
                peak_bytes = 0;
        }
    }
    return POPLINER_OK;
}

popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error) {
    if (costs->cycles == NULL)
        costs->cycles = pl_new_array(triangle_size(costs), sizeof *costs->cycles);
    return costs->cycles != NULL ? POPLINER_OK
                                 : pl_fail_memory(error, "the cycles of the intervals");
}

bool popliner_costs_has_cycles(const popliner_costs *costs) {
    return costs->cycles != NULL;
}

void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles) {
    assert(costs->cycles != NULL && cycles <= POPLINER_MAX_CYCLES);
    costs->cycles[place(costs, first_unit, last_unit)] = cycles;
}

popliner_status popliner_costs_set_cycles(popliner_costs *costs, size_t first_unit,
                                          size_t last_unit, uint64_t cycles,
                                          popliner_error *error) {
    popliner_status status = check_interval(costs, first_unit, last_unit, error);
    if (status != POPLINER_OK)
        return status;
    if (cycles > POPLINER_MAX_CYCLES)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%" PRIu64 " cycles are more than %" PRIu64 "; use a larger unit of time",
                       cycles, POPLINER_MAX_CYCLES);
    if (costs->cycles == NULL) {
        status = pl_costs_add_cycles(costs, error);
        if (status != POPLINER_OK)
            return status;
    }
    pl_costs_set_cycles(costs, first_unit, last_unit, cycles);
    return POPLINER_OK;
}

uint64_t popliner_costs_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    return costs->cycles == NULL || !is_interval(costs, first_unit, last_unit)
               ? 0
               : costs->cycles[place(costs, first_unit, last_unit)];
}

popliner_status pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages,
                                      popliner_error *error) {
    if (max_stages <= costs->max_stages_to_end)
        return POPLINER_OK;
    size_t size = triangle_size(costs);
    size_t known = costs->max_stages_to_end;
    uint64_t *grown = max_stages > SIZE_MAX / sizeof *grown / size
                          ? NULL
                          : realloc(costs->peaks_bytes, max_stages * size * sizeof *grown);
    if (grown == NULL)
        return pl_fail_memory(error, "the costs of a pipeline");
    memset(grown + known * size, 0, (max_stages - known) * size * sizeof *grown);
    costs->peaks_bytes = grown;
    costs->max_stages_to_end = max_stages;
    return POPLINER_OK;
}

size_t pl_costs_max_stages_to_end(const popliner_costs *costs) {
    return costs->max_stages_to_end;
}

void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes) {
    assert(stages_to_end <= costs->max_stages_to_end);
    peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)] = peak_bytes;
}

popliner_status popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                                        size_t stages_to_end, uint64_t peak_bytes,
                                        popliner_error *error) {
    popliner_status status = check_interval(costs, first_unit, last_unit, error);
    if (status != POPLINER_OK)
        return status;
    if (stages_to_end == 0 || stages_to_end > costs->max_stages_to_end)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the costs have peaks for 1 to %zu stages to the end, not for %zu",
                       costs->max_stages_to_end, stages_to_end);
    pl_costs_set_peak(costs, first_unit, last_unit, stages_to_end, peak_bytes);
    return POPLINER_OK;
}

void pl_costs_forbid(popliner_costs *costs, size_t first_unit, size_t last_unit) {
    for (size_t stages = 1; stages <= costs->max_stages_to_end; ++stages)
        pl_costs_set_peak(costs, first_unit, last_unit, stages, POPLINER_PEAK_FORBIDDEN);
}

uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                             size_t stages_to_end) {
    size_t max_stages = costs->max_stages_to_end;
    if (!is_interval(costs, first_unit, last_unit) || stages_to_end == 0 ||
        (max_stages > 1 && stages_to_end > max_stages))
        return POPLINER_PEAK_FORBIDDEN;
    return peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)];
}

void popliner_costs_set_shared_peak(popliner_costs *costs, popliner_shared_peak_function peak,
                                    void *user, bool never_shrinks) {
    costs->shared_peak_never_shrinks = never_shrinks;
    costs->shared_peak = peak;
    costs->shared_peak_user = user;
    costs->shared_peak_is_quick = false;
}

void pl_costs_promise_quick_shared_peak(popliner_costs *costs) {
    costs->shared_peak_is_quick = true;
}

bool pl_costs_shared_peak_is_quick(const popliner_costs *costs) {
    return costs->shared_peak == NULL || costs->shared_peak_is_quick;
}

void pl_costs_own_user(popliner_costs *costs, void *user) {
    free(costs->owned_user);
    costs->owned_user = user;
}

/* Whether no number of the triangle is smaller than that of an interval within. */
static bool never_shrinks(const popliner_costs *costs, const uint64_t *triangle) {
    bool is_so = true;
    for (size_t first = 0; first < costs->num_units; ++first)
        for (size_t last = first + 1; last < costs->num_units; ++last) {
            uint64_t own = triangle[place(costs, first, last)];
            is_so = is_so && own >= triangle[place(costs, first, last - 1)] &&
                    own >= triangle[place(costs, first + 1, last)];
        }
    return is_so;
}

bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs) {
    if (costs->shared_peak != NULL)
        return costs->shared_peak_never_shrinks;
    bool is_so = true;
    for (size_t to_end = 1; is_so && to_end <= costs->max_stages_to_end; ++to_end)
        is_so = never_shrinks(costs, peaks_at(costs, to_end));
    return is_so;
}

bool pl_costs_cycles_never_shrink(const popliner_costs *costs) {
    return costs->cycles == NULL || never_shrinks(costs, costs->cycles);
}

popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < num_stages; ++i) {
        status = check_interval(costs, stages[i].first_unit, stages[i].last_unit, error);
        if (status != POPLINER_OK)
            return status;
    }
    if (num_stages > 1 && costs->shared_peak != NULL) {
        popliner_error told;
        told.message[0] = '\0';
        *peak_bytes = POPLINER_PEAK_FORBIDDEN;
        status = costs->shared_peak(costs->shared_peak_user, stages, num_stages, peak_bytes, &told);
        return pl_fail_callback(error, "shared_peak", status, &told);
    }
    *peak_bytes = 0;
    for (size_t i = 0; i < num_stages; ++i) {
        uint64_t own_bytes = popliner_costs_peak(costs, stages[i].first_unit, stages[i].last_unit,
                                                 stages[i].stages_to_end);
        *peak_bytes = own_bytes > UINT64_MAX - *peak_bytes ? UINT64_MAX : *peak_bytes + own_bytes;
    }
    return POPLINER_OK;
}

void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes) {
    assert(unit >= 1 && unit < costs->num_units);
    costs->cuts_bytes[unit] = cut_bytes;
}

popliner_status popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes,
                                       popliner_error *error) {
    if (unit == 0 || unit >= costs->num_units)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a chain of %zu units has no cut before unit %zu", costs->num_units, unit);
    pl_costs_set_cut(costs, unit, cut_bytes);
    return POPLINER_OK;
}

uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit) {
    return unit < costs->num_units ? costs->cuts_bytes[unit] : 0;
}

uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b) {
    if (b >= PL_MAX_CUT_BYTES || a >= PL_MAX_CUT_BYTES - b)
        return PL_MAX_CUT_BYTES;
    return a + b;
}
