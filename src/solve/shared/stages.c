/* Measures several stages on one IPU, and stores the results.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"

/* The limit of the table's memory. */
enum { MOST_MEASURED = 1 << 21 };

void pl_shared_free(pl_shared *shared) {
    free(shared->least_bytes);
    pl_arrays_free(&shared->measured.arrays);
    *shared = (pl_shared){0};
}

/* ---- measured stages ---- */

/* Forgets what was measured if stages choose by another wish. */
static void take_wish(pl_shared *shared, const pl_wish *wish) {
    const pl_limits *own = &shared->wish.limits;
    const pl_limits *limits = &wish->limits;
    if (shared->wish.by_cycles == wish->by_cycles && own->max_cycles == limits->max_cycles &&
        (!wish->by_cycles || (own->max_peak_bytes == limits->max_peak_bytes &&
                              own->max_shortfall_bytes == limits->max_shortfall_bytes &&
                              own->ignores_ipu_limits == limits->ignores_ipu_limits)))
        return;
    pl_keys_empty(&shared->measured.keys);
    shared->wish = *wish;
}

/* Measures the stages of an IPU. The cycles are those of stages that choose, else 0. */
static popliner_status measure(pl_shared *shared, const pl_problem *problem, const pl_wish *wish,
                               const popliner_interval *together, size_t count,
                               pl_measured_need *need, popliner_error *error) {
    pl_load load = {0};
    *need = (pl_measured_need){0};
    if (problem->chooser == NULL)
        return pl_problem_shared_peak(problem, together, count, problem->options->num_mapped_stages,
                                      &need->peak_bytes, error);
    shared->work -= pl_chooser_work(problem);
    popliner_status status = pl_chooser_measure(problem, wish, together, count,
                                                problem->options->num_mapped_stages, &load, error);
    shared->work += pl_chooser_work(problem);
    *need = (pl_measured_need){load.peak_bytes, load.cycles};
    return status;
}

/* As `measure`, if the stages were not measured. */
static popliner_status measure_once(pl_shared *shared, const pl_problem *problem,
                                    const pl_wish *wish, const popliner_interval *together,
                                    size_t count, pl_measured_need *need, popliner_error *error) {
    enum { MOST_NUMBERS = 33 };
    pl_measured *m = &shared->measured;
    uint32_t key[MOST_NUMBERS] = {0};
    size_t width = 2 * problem->most_stages_of_ipu + 1;
    shared->work += PL_WORK_OF_SUM;
    /* a stage alone is in the table of costs, and sums are as quick */
    if (width > MOST_NUMBERS ||
        (problem->chooser == NULL && (count == 1 || problem->costs->shared_peak == NULL)))
        return measure(shared, problem, wish, together, count, need, error);
    if (problem->chooser != NULL)
        take_wish(shared, wish);
    key[0] = problem->depends_on_end || problem->chooser != NULL
                 ? (uint32_t)together[0].stages_to_end
                 : 0;
    for (size_t i = 0; i < count; ++i) {
        key[1 + 2 * i] = (uint32_t)together[i].first_unit;
        key[2 + 2 * i] = (uint32_t)together[i].last_unit + 1;
    }
    m->keys.arrays = &m->arrays;
    m->keys.key_size = width * sizeof *key;
    if (m->keys.count >= MOST_MEASURED)
        pl_keys_empty(&m->keys);
    const size_t num_before = m->keys.count;
    const size_t number = pl_keys_number(&m->keys, key);
    if (number < num_before && !m->arrays.failed) {
        *need = m->needs[number];
        return POPLINER_OK;
    }
    if (!pl_arrays_grow(&m->arrays, &m->needs, m->keys.count, sizeof *m->needs))
        return pl_fail_memory(error, "the stages that share an IPU");
    if (!pl_costs_shared_peak_is_quick(problem->costs))
        shared->work += PL_WORK_OF_CALL;
    popliner_status status = measure(shared, problem, wish, together, count, need, error);
    m->needs[number] = *need;
    return status;
}

popliner_status pl_shared_measure(pl_shared *shared, const pl_problem *problem, const pl_wish *wish,
                                  const popliner_interval *together, size_t count, pl_load *load,
                                  popliner_error *error) {
    const size_t num_stages = problem->options->num_mapped_stages;
    pl_measured_need need;
    popliner_status status = measure_once(shared, problem, wish, together, count, &need, error);
    for (size_t i = 0; problem->chooser == NULL && i < count; ++i)
        need.cycles = pl_add_or_never(
            need.cycles, pl_problem_cycles(problem, num_stages - together[i].stages_to_end,
                                           together[i].first_unit, together[i].last_unit));
    *load = pl_problem_load(problem, num_stages - together[0].stages_to_end, need.peak_bytes,
                            need.cycles);
    return status;
}

const uint64_t *pl_shared_least_bytes(pl_shared *shared, const pl_problem *problem,
                                      const pl_limits *limits) {
    size_t num_stages = problem->options->num_mapped_stages;
    size_t n = problem->num_units;
    if (shared->least_bytes != NULL &&
        (problem->chooser == NULL || shared->least_max_cycles == limits->max_cycles))
        return shared->least_bytes;
    free(shared->least_bytes);
    shared->least_max_cycles = limits->max_cycles;
    uint64_t *least = pl_new_array(num_stages * pl_triangle_size(n), sizeof *least);
    shared->least_bytes = least;
    for (size_t stage = 0; least != NULL && stage < num_stages; ++stage) {
        size_t count = pl_num_on_ipu(problem, stage);
        for (size_t first = 0; first < n; ++first)
            for (size_t last = first; last < n; ++last) {
                popliner_interval it = {first, last, num_stages - stage};
                *least++ = pl_least_load(problem, POPLINER_OBJECTIVE_MEMORY, limits, &it, count);
            }
    }
    return shared->least_bytes;
}
