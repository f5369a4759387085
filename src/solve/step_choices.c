/* The choices of recomputation of stages where the steps of splits are simulated.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_search.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"

/* More choices would take too much memory. */
enum { MAX_CHOICES = 1 << 23 };

/* The units of work of a choice: of ways, and of variants for each unit. */
enum { WORK_OF_WAYS = 4, WORK_OF_VARIANTS = 256 };

/* Returns the first stage with the copies of stage k. */
static size_t first_like(const pl_step_choices *c, size_t k) {
    const size_t place = pl_problem_place(c->problem, c->num_stages, k);
    size_t first = 0;
    while (first < k && !pl_choices_store_the_same(
                            c->of, pl_problem_place(c->problem, c->num_stages, first), place))
        ++first;
    return first;
}

popliner_status pl_step_choices_create(pl_step_choices *choices, const pl_problem *problem,
                                       size_t num_stages, uint64_t *work, popliner_error *error) {
    const size_t num_intervals = pl_triangle_size(problem->num_units);
    *choices = (pl_step_choices){.of = problem->chooser == NULL ? NULL : problem->costs->choices,
                                 .problem = problem,
                                 .work = work,
                                 .num_stages = num_stages};
    choices->are_too_many = choices->of != NULL && num_stages > MAX_CHOICES / num_intervals;
    if (choices->of == NULL || choices->are_too_many)
        return POPLINER_OK;
    choices->made =
        pl_arrays_new(&choices->arrays, num_stages * num_intervals, sizeof *choices->made);
    choices->like = pl_arrays_new(&choices->arrays, num_stages, sizeof *choices->like);
    if (choices->arrays.failed)
        return pl_fail_memory(error, "the choices of stages");
    for (size_t k = 0; k < num_stages; ++k)
        choices->like[k] = problem->options->num_ipu_limits > 0 ? k : first_like(choices, k);
    return POPLINER_OK;
}

void pl_step_choices_free(pl_step_choices *choices) {
    pl_arrays_free(&choices->arrays);
}

popliner_status pl_step_choose(const pl_step_choices *choices, size_t k,
                               const popliner_interval *units, uint64_t max_bytes,
                               pl_variant_choice *choice, pl_text *text, popliner_error *error) {
    popliner_interval stage = *units;
    stage.stages_to_end = pl_problem_place(choices->problem, choices->num_stages, k);
    const pl_variant_limits limits = {UINT64_MAX, max_bytes};
    return pl_choices_choose(choices->of, &stage, &limits, true, choice, text, error);
}

popliner_status pl_step_usual(const pl_step_choices *choices, size_t k,
                              const popliner_interval *units, uint64_t max_bytes,
                              pl_variant_choice *choice, popliner_error *error) {
    uint64_t *work = choices->work;
    const size_t n = choices->problem->num_units;
    pl_step_choice *made =
        &choices
             ->made[choices->like[k] * pl_triangle_size(n) + pl_triangle_row(n, units->first_unit) +
                    (units->last_unit - units->first_unit)];
    if (made->cycles_and_1 == 0) {
        const size_t length = units->last_unit - units->first_unit + 1;
        *work -= pl_smaller(*work, choices->of->variants == NULL ? WORK_OF_WAYS
                                                                 : WORK_OF_VARIANTS * length);
        popliner_status status = pl_step_choose(choices, k, units, max_bytes, choice, NULL, error);
        if (status != POPLINER_OK)
            return status;
        made->cycles_and_1 = choice->exists ? choice->cycles + 1 : UINT64_MAX;
        made->peak_bytes = choice->peak_bytes;
    }
    *choice = (pl_variant_choice){made->cycles_and_1 < UINT64_MAX, made->peak_bytes,
                                  made->cycles_and_1 - 1};
    return POPLINER_OK;
}

popliner_status pl_step_choose_all(const pl_step_choices *choices, const pl_limits *limits,
                                   uint64_t most_bytes, popliner_plan *plan,
                                   pl_objective_values *values, bool *fits, popliner_error *error) {
    const pl_problem *p = choices->problem;
    popliner_status status = POPLINER_OK;
    *values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    for (size_t k = 0; status == POPLINER_OK && *fits && k < plan->num_stages; ++k) {
        popliner_plan_stage *stage = &plan->stages[k];
        const popliner_interval units = {stage->first_unit, stage->last_unit, 1};
        const uint64_t most = pl_limits_peak(p, limits, stage->ipu);
        pl_variant_choice choice;
        status = most_bytes >= most
                     ? pl_step_usual(choices, k, &units, most, &choice, error)
                     : pl_step_choose(choices, k, &units, most_bytes, &choice, NULL, error);
        if (status != POPLINER_OK)
            break;
        *fits = choice.exists;
        stage->peak_bytes = choice.peak_bytes;
        stage->cycles =
            pl_problem_busy_cycles(p, k, stage->first_unit, stage->last_unit, choice.cycles);
        pl_objective_values_add(values, pl_problem_load(p, k, stage->peak_bytes, stage->cycles));
    }
    values->cut_bytes = plan->cut_bytes;
    plan->peak_bytes = values->peak_bytes;
    plan->cycles = values->cycles;
    plan->spread = values->peak_bytes - pl_smaller(values->min_peak_bytes, values->peak_bytes);
    return status;
}

popliner_status pl_step_name_choices(const pl_step_choices *choices, popliner_plan *plan,
                                     popliner_error *error) {
    popliner_status status = POPLINER_OK;
    plan->choices = pl_new_array(plan->num_stages, sizeof *plan->choices);
    if (plan->choices == NULL)
        return pl_fail_memory(error, "the choices of stages");
    for (size_t k = 0; status == POPLINER_OK && k < plan->num_stages; ++k) {
        const popliner_plan_stage *stage = &plan->stages[k];
        const popliner_interval units = {stage->first_unit, stage->last_unit, 1};
        pl_variant_choice choice;
        pl_text text = {0};
        status = pl_step_choose(choices, k, &units, stage->peak_bytes, &choice, &text, error);
        plan->choices[k] = text.data;
    }
    return status;
}
