/* Several splits in one table: a range of --num-ipus, and --pareto.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"
#include "popliner/utilities.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/progress.h"
#include "command/screen.h"
#include "command/values.h"
#include "popliner/solver.h"

/* ---- ranges ---- */

/* Solves a row whose copies depend on its number of IPUs, by costs of its own. */
static popliner_status solve_with_copies(session *s, const request *r,
                                         const popliner_solver_options *o, popliner_plan **plan,
                                         popliner_error *error) {
    popliner_request asked = r->asked;
    popliner_costs *measured = NULL;
    popliner_costs_file *file = NULL;
    asked.solver = o;
    popliner_copies_set_map(&asked.copies, o->device_map, o->num_mapped_stages);
    const popliner_pipeline pipeline = {.schedule = asked.schedule,
                                        .recompute = asked.recompute,
                                        .max_stages = o->num_mapped_stages,
                                        .copies = asked.copies};
    popliner_status status = s->analysis != NULL
                                 ? popliner_analysis_costs(s->analysis, &asked, &measured, error)
                                 : costs_read_again(s, &pipeline, &file, error);
    if (status == POPLINER_OK)
        status = popliner_solve(file != NULL ? file->costs : measured, o, plan, error);
    popliner_costs_free(measured);
    popliner_costs_file_free(file);
    return status;
}

/* Solves for one value of the range, by the costs of all. */
static popliner_status solve_row(session *s, const request *r, const popliner_costs *costs,
                                 uint64_t value, popliner_plan **plan, popliner_error *error) {
    const bool of_ipus = s->options.sweep->of_ipus;
    popliner_status status = POPLINER_OK;
    popliner_solver_options o = r->solver;
    size_t *map = NULL;
    o.without_second_proof = true;
    if (of_ipus)
        o.num_ipus = (size_t)value;
    else
        status = session_less_reserve(s, value, &o.mem_per_tile, error);
    if (of_ipus && o.num_mapped_stages > 0)
        status = request_make_map(&s->options, o.num_ipus, &map, &o.num_mapped_stages, error);
    o.device_map = map != NULL ? map : o.device_map;
    if (status == POPLINER_OK)
        status = of_ipus && o.num_mapped_stages > 0 &&
                         r->asked.copies.rule != POPLINER_COPIES_LIST &&
                         popliner_copies_max_stages(&r->asked.copies) < SIZE_MAX
                     ? solve_with_copies(s, r, &o, plan, error)
                     : popliner_solve(costs, &o, plan, error);
    free(map);
    return status;
}

/* Warns of what is open, before the table is printed. Returns whether any value is known to fit. */
static bool tell_range(session *s, const request *r, const popliner_sweep *sweep) {
    const size_t count = range_count(s->options.sweep);
    size_t num_open = 0;
    bool fits = false;
    if (sweep->num_values < count)
        session_warn(s, "Stopped: %zu of %zu values were not solved for.",
                     count - sweep->num_values, count);
    for (size_t i = 0; i < sweep->num_values; i++) {
        if (sweep->replicas == NULL)
            fits = fits || answer_fits(s, r, sweep->plans[i]);
        else
            fits = replicas_fit(s, r, sweep->replicas[i], &num_open) || fits;
    }
    if (num_open > 0)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Not all is proven: for %zu of %zu values another pipeline may be better.",
                    num_open, sweep->num_values);
    return fits && sweep->num_values == count;
}

popliner_status sweep_print(session *s, const request *r, const popliner_certificate_input *names,
                            replicas_solve solve, const void *user, popliner_error *error) {
    const value_range range = *s->options.sweep;
    const size_t count = range_count(&range);
    uint64_t *values = calloc(count, sizeof *values);
    popliner_plan **plans = calloc(count, sizeof *plans);
    popliner_replicas **replicas = calloc(count, sizeof *replicas);
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_status status = values == NULL || plans == NULL || replicas == NULL
                                 ? fail_memory(error, "the table")
                                 : POPLINER_OK;
    bool is_stopped = false;
    s->interrupts.max_seconds = 0; /* the limit is that of each solve */
    interrupts_catch(&s->interrupts);
    while (status == POPLINER_OK && sweep.num_values < count && !is_stopped) {
        const size_t i = sweep.num_values;
        values[i] = range_value(&range, i);
        status = solve != NULL ? solve(user, values[i], &replicas[i], error)
                               : solve_row(s, r, names->costs, values[i], &plans[i], error);
        is_stopped =
            r->solver.should_stop != NULL && r->solver.should_stop(r->solver.should_stop_user);
        sweep.num_values += status == POPLINER_OK;
    }
    interrupts_release(&s->interrupts);
    sweep.what = range.of_ipus ? "num-ipus" : "mem-per-tile";
    sweep.is_of_memory = !range.of_ipus;
    sweep.values = values;
    sweep.plans = (const popliner_plan *const *)plans;
    if (solve != NULL)
        sweep.replicas = (const popliner_replicas *const *)replicas;
    if (status == POPLINER_OK && !tell_range(s, r, &sweep))
        s->failed_softly = true;
    if (status == POPLINER_OK)
        status = splits_print(s, r, names, &sweep, NULL, NULL, error);
    for (size_t i = 0; i < sweep.num_values; i++) {
        popliner_plan_free(plans[i]);
        popliner_replicas_free(replicas[i]);
    }
    free(values);
    free(plans);
    free(replicas);
    return status;
}

/* ---- --pareto ---- */

/* Why there is no point: what --solve says of the same question. */
static popliner_status tell_why(session *s, const request *r,
                                const popliner_certificate_input *names, popliner_error *error) {
    popliner_certificate_input input = *names;
    popliner_certificate *certificate = NULL;
    popliner_status status = answer_solve(s, r, &input, &certificate, error);
    if (status == POPLINER_OK)
        status = answer_tell(s, r, certificate, names->costs, error);
    popliner_certificate_free(certificate);
    return status;
}

void front_tell(session *s, size_t num_points, const char *first, const char *second,
                bool is_complete, bool is_stopped) {
    if (!is_complete)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "%s: there may be more than these %zu Pareto-optimal splits of %s and %s; one "
                    "that is only feasible may not be Pareto-optimal.",
                    is_stopped ? "Stopped" : "Not all is proven", num_points, first, second);
}

popliner_status pareto_print(session *s, const request *r, const popliner_certificate_input *names,
                             popliner_error *error) {
    popliner_pareto *pareto = NULL;
    double start = progress_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_pareto_solve(names->costs, &r->solver, &pareto, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    const popliner_pareto *summary = pareto;
    bool fits = false;
    for (size_t i = 0; !fits && i < summary->num_points; i++)
        fits = answer_fits(s, r, summary->plans[i]);
    s->failed_softly = s->failed_softly || !fits;
    if (summary->num_points > 0)
        front_tell(s, summary->num_points,
                   popliner_name_of(POPLINER_NAMED_OBJECTIVE, summary->objectives[0]),
                   popliner_name_of(POPLINER_NAMED_OBJECTIVE, summary->objectives[1]),
                   summary->is_complete, summary->is_stopped);
    else if (summary->is_stopped)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Stopped: no split was found yet, and none is ruled out.");
    else
        status = tell_why(s, r, names, error);
    if (status == POPLINER_OK)
        status = splits_print(s, r, names, NULL, pareto, NULL, error);
    popliner_pareto_free(pareto);
    return status;
}
