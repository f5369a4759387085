/* --report: several reports of one model that are split together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/group.h"
#include "command/outputs.h"
#include "command/progress.h"
#include "command/screen.h"
#include "popliner/report.h"
#include "popliner/utilities.h"

/* ---- what is asked ---- */

static popliner_status check_cycles(const request *r, const options *o, const group *g,
                                    popliner_error *error) {
    const member *first = &g->members[0];
    if (!request_wants(&r->solver, POPLINER_OBJECTIVE_CYCLES))
        return POPLINER_OK;
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        if (m->info.cycles_source < POPLINER_CYCLES_ESTIMATED)
            return fail_usage(error,
                              "--objective %s: %.200s has no cycles of computing; compile with "
                              "the engine option profiler.includeCycleEstimates set to true",
                              o->objective, m->name);
        if (m->info.clock_hz != first->info.clock_hz)
            return fail_usage(error,
                              "--objective %s: %.200s and %.200s have different clocks, so "
                              "their cycles cannot be compared",
                              o->objective, first->name, m->name);
    }
    return POPLINER_OK;
}

/* Whether stages may need more the further they are from the end, in any report. */
static bool are_kept(const group *g, const options *o) {
    for (size_t i = 0; options_keep_activations(o) && i < g->names.count; i++)
        if (g->are_training[i])
            return true;
    return false;
}

/* Applies a schedule to the reports that it is for. */
static void tell_schedule(session *s, const group *g) {
    const options *o = &s->options;
    if (!options_keep_activations(o))
        return;
    if (!are_kept(g, o)) {
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--schedule %s: no report trains, so nothing is kept for a backward pass.",
                    o->schedule.text);
        return;
    }
    for (size_t i = 0; i < g->names.count; i++)
        if (!g->are_training[i])
            log_message(&s->log, POPLINER_LEVEL_INFO,
                        "--schedule %s: %s does not train, so nothing is kept there.",
                        o->schedule.text, g->members[i].name);
}

/* Makes the request for a member, whose units may be others: it only has the solver's limits. */
static popliner_request own_request(const popliner_request *asked, size_t max_stages,
                                    popliner_solver_options *limits) {
    popliner_request own = *asked;
    *limits = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    limits->num_ipus = max_stages;
    limits->mem_per_tile = asked->solver->mem_per_tile;
    limits->ipu_limits = asked->solver->ipu_limits;
    limits->num_ipu_limits = asked->solver->num_ipu_limits;
    limits->reserve_bytes = asked->solver->reserve_bytes;
    limits->reserve_percent_hundredths = asked->solver->reserve_percent_hundredths;
    limits->ipu_reserves = asked->solver->ipu_reserves;
    limits->num_ipu_reserves = asked->solver->num_ipu_reserves;
    own.solver = limits;
    return own;
}

/* ---- the costs of all ---- */

static popliner_status measure_all(group *g, const request *r, popliner_error *error) {
    popliner_solver_options limits;
    const popliner_request own = own_request(&r->asked, r->solver.num_ipus, &limits);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = popliner_analysis_costs(g->members[i].session.analysis, &own, &g->members[i].costs,
                                         error);
    return status;
}

/* Returns the need of a stage in a member, at this distance from the end; none is empty. */
static uint64_t own_peak(const member *m, size_t first, size_t last, size_t stages_to_end) {
    const own_units own = group_own_units(m, first, last);
    return own.first == SIZE_MAX
               ? POPLINER_PEAK_FORBIDDEN
               : popliner_costs_peak(m->costs, own.first, own.last, stages_to_end);
}

static uint64_t own_cycles(const member *m, size_t first, size_t last) {
    const own_units own = group_own_units(m, first, last);
    return own.first == SIZE_MAX ? 0 : popliner_costs_cycles(m->costs, own.first, own.last);
}

/* Whether each member tells of a stage that is so far from the end. */
static bool is_place(const group *g, size_t stages_to_end) {
    for (size_t i = 0; i < g->names.count; i++) {
        size_t unit = 0;
        while (unit < g->units.count &&
               own_peak(&g->members[i], unit, unit, stages_to_end) == POPLINER_PEAK_FORBIDDEN)
            unit++;
        if (unit == g->units.count)
            return false;
    }
    return true;
}

/* Sets what the units first to last cost: the most in any member. */
static popliner_status combine_interval(const group *g, size_t first, size_t last,
                                        size_t num_places, bool have_cycles, popliner_costs *costs,
                                        popliner_error *error) {
    popliner_status status = POPLINER_OK;
    uint64_t cycles = 0;
    for (size_t place = 1; status == POPLINER_OK && place <= num_places; place++) {
        uint64_t peak = 0;
        for (size_t i = 0; i < g->names.count; i++) {
            const uint64_t own = own_peak(&g->members[i], first, last, place);
            peak = own > peak ? own : peak;
        }
        status = popliner_costs_set_peak(costs, first, last, place, peak, error);
    }
    for (size_t i = 0; have_cycles && i < g->names.count; i++) {
        const uint64_t own = own_cycles(&g->members[i], first, last);
        cycles = own > cycles ? own : cycles;
    }
    if (status == POPLINER_OK && have_cycles)
        status = popliner_costs_set_cycles(costs, first, last, cycles, error);
    return status;
}

/* Returns the bytes that all members send over a cut. A member that lacks the unit after it has an
 * empty stage there, and no such split is tried. */
static uint64_t combined_cut(const group *g, size_t unit) {
    uint64_t cut = 0;
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        const uint64_t own =
            m->units[unit] == SIZE_MAX ? 0 : popliner_costs_cut(m->costs, m->units[unit]);
        cut = own > UINT64_MAX - cut ? UINT64_MAX : cut + own;
    }
    return cut;
}

/* Up to how far from the end the solver wants to know of stages. A member that has fewer units than
 * all together has no stages so far from the end: then it forbids them. */
static size_t count_places(const group *g, const options *o, size_t max_stages) {
    const size_t least = max_stages < g->units.count ? max_stages : g->units.count;
    size_t num_places = 1;
    if (!are_kept(g, o))
        return 1;
    while (num_places < g->units.count && is_place(g, num_places + 1))
        num_places++;
    return num_places > least ? num_places : least;
}

static popliner_status combine(const group *g, const options *o, const request *r,
                               popliner_costs **costs, popliner_error *error) {
    const size_t num_units = g->units.count;
    const size_t num_places = count_places(g, o, r->solver.num_ipus);
    const popliner_pipeline pipeline = {.schedule = r->asked.schedule,
                                        .recompute = r->asked.recompute,
                                        .max_stages = 1,
                                        .copies = r->asked.copies};
    bool have_cycles = true;
    for (size_t i = 0; i < g->names.count; i++)
        have_cycles = have_cycles && popliner_costs_has_cycles(g->members[i].costs);
    popliner_status status = popliner_costs_create(num_units, num_places, costs, error);
    if (status == POPLINER_OK)
        status = popliner_costs_set_pipeline(*costs, &pipeline, error);
    for (size_t first = 0; status == POPLINER_OK && first < num_units; first++)
        for (size_t last = first; status == POPLINER_OK && last < num_units; last++)
            status = combine_interval(g, first, last, num_places, have_cycles, *costs, error);
    for (size_t unit = 1; status == POPLINER_OK && unit < num_units; unit++)
        status = popliner_costs_set_cut(*costs, unit, combined_cut(g, unit), error);
    return status;
}

/* The best split of the costs, with a certificate. */
static popliner_status solve(session *s, const request *r, const popliner_costs *costs,
                             popliner_certificate **certificate, popliner_error *error) {
    popliner_certificate_input input = request_certificate_input(r, s, costs);
    const double start = progress_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_solve(costs, &r->solver, &input.plan, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    return answer_certify(&input, certificate, error);
}

/* ---- the split in each ---- */

/* Makes room for a split; without units it has one stage. */
static popliner_status begin_split(group *g, size_t num_stages, popliner_error *error) {
    g->bounds = calloc(num_stages + 1, sizeof *g->bounds);
    if (g->bounds == NULL)
        return fail_memory(error, "the split");
    g->num_stages = num_stages;
    g->bounds[num_stages] = g->units.count;
    return POPLINER_OK;
}

static popliner_status evaluate_member(group *g, size_t i, const popliner_request *own,
                                       popliner_error *error) {
    const member *m = &g->members[i];
    popliner_status status = POPLINER_OK;
    size_t *first_units = calloc(g->num_stages, sizeof *first_units);
    if (first_units == NULL)
        return fail_memory(error, "the split");
    for (size_t stage = 0; status == POPLINER_OK && stage < g->num_stages; stage++) {
        const size_t begin = g->bounds[stage];
        const size_t first = group_own_units(m, begin, g->bounds[stage + 1] - 1).first;
        if (first == SIZE_MAX)
            status = fail_usage(error,
                                "--report: stage %zu is %.200s alone, which %.200s has not; "
                                "each report has something in each stage of a split",
                                stage, g->units.names[begin], m->name);
        else if (stage > 0)
            first_units[stage - 1] = first;
    }
    if (status == POPLINER_OK)
        status = popliner_analysis_evaluate(m->session.analysis, own, first_units,
                                            g->num_stages - 1, &g->evaluations[i], error);
    free(first_units);
    return status;
}

static popliner_status evaluate_all(group *g, const popliner_request *asked,
                                    popliner_error *error) {
    popliner_solver_options limits;
    const popliner_request own = own_request(asked, g->num_stages, &limits);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = evaluate_member(g, i, &own, error);
    return status;
}

/* Checks that the stages of the split that was found need what the split was chosen for. */
static popliner_status check_peaks(const group *g, const popliner_plan *plan,
                                   popliner_error *error) {
    for (size_t stage = 0; stage < plan->num_stages; stage++) {
        const uint64_t wanted = plan->stages[stage].peak_bytes;
        uint64_t largest = 0;
        for (size_t i = 0; i < g->names.count; i++) {
            const uint64_t own = g->evaluations[i]->plan->stages[stage].peak_bytes;
            largest = own > largest ? own : largest;
        }
        if (largest != wanted)
            return fail(error, POPLINER_ERROR_INTERNAL,
                        "stage %zu was chosen for a peak of %llu bytes, but measures %llu", stage,
                        (unsigned long long)wanted, (unsigned long long)largest);
    }
    return POPLINER_OK;
}

/* ---- telling ---- */

/* Prints the split. */
static popliner_status print(session *s, const group *g, const popliner_certificate *answer,
                             popliner_error *error) {
    const char **first_units = calloc(g->num_stages + 1, sizeof *first_units);
    const char **last_units = calloc(g->num_stages + 1, sizeof *last_units);
    popliner_together together = POPLINER_TOGETHER_INIT;
    popliner_status status =
        first_units == NULL || last_units == NULL ? fail_memory(error, "the reports") : POPLINER_OK;
    for (size_t stage = 0; status == POPLINER_OK && stage < g->num_stages; stage++) {
        first_units[stage] = g->units.names[g->bounds[stage]];
        last_units[stage] = g->units.names[g->bounds[stage + 1] - 1];
    }
    together.names = (const char *const *)g->names.names;
    together.are_training = g->are_training;
    together.evaluations = (const popliner_certificate *const *)g->evaluations;
    together.num_reports = g->names.count;
    together.first_units = first_units;
    together.last_units = last_units;
    together.num_stages = g->num_stages;
    together.answer = answer;
    for (size_t i = 0; g->num_stages > 0 && i < g->names.count; i++)
        s->failed_softly =
            s->failed_softly || answer_worst_verdict(g->evaluations[i]) == POPLINER_FITS_UNKNOWN;
    if (status == POPLINER_OK)
        status = outputs_of_answer(s,
                                   &(material){.action = s->options.solve ? SOLVE : EVALUATE,
                                               .report = {screen_together, &together}},
                                   error);
    free(first_units);
    free(last_units);
    return status;
}

/* Measures the split that was found in each report. */
static popliner_status evaluate_plan(group *g, const request *r, const popliner_plan *plan,
                                     popliner_error *error) {
    if (plan->num_stages == 0)
        return POPLINER_OK;
    popliner_status status = begin_split(g, plan->num_stages, error);
    for (size_t i = 1; status == POPLINER_OK && i < plan->num_stages; i++)
        g->bounds[i] = plan->stages[i].first_unit;
    if (status == POPLINER_OK)
        status = evaluate_all(g, &r->asked, error);
    return status == POPLINER_OK ? check_peaks(g, plan, error) : status;
}

/* ---- both actions ---- */

static popliner_status solve_together(session *s, group *g, popliner_error *error) {
    request r = {0};
    popliner_costs *costs = NULL;
    popliner_certificate *answer = NULL;
    session *tightest = &g->members[g->tightest].session;
    uint64_t limit_bytes = 0;
    popliner_status status = session_limit(tightest, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = request_begin(&r, tightest, POPLINER_MEMORY_MODEL_FULL, error);
    if (status == POPLINER_OK)
        status = request_name_list(&r, &g->units, error);
    if (status == POPLINER_OK)
        status = request_complete(&r, tightest, limit_bytes, NULL, error);
    r.solver.listener = &s->listener;
    r.solver.should_stop_user = &s->interrupts;
    if (status == POPLINER_OK)
        status = check_cycles(&r, &s->options, g, error);
    if (status == POPLINER_OK) {
        tell_schedule(s, g);
        status = measure_all(g, &r, error);
    }
    if (status == POPLINER_OK)
        status = combine(g, &s->options, &r, &costs, error);
    if (status == POPLINER_OK)
        status = solve(s, &r, costs, &answer, error);
    if (status == POPLINER_OK)
        status = answer_tell(s, &r, answer, costs, error);
    if (status == POPLINER_OK)
        status = evaluate_plan(g, &r, answer->plan, error);
    if (status == POPLINER_OK)
        status = print(s, g, answer, error);
    popliner_certificate_free(answer);
    popliner_costs_free(costs);
    request_free(&r);
    return status;
}

static popliner_status evaluate_together(session *s, group *g, popliner_error *error) {
    given_split split = {0};
    popliner_status status = split_take(&g->members[g->tightest].session, &g->units, &split, error);
    if (status == POPLINER_OK)
        status = begin_split(g, split.num_cuts + 1, error);
    for (size_t i = 0; status == POPLINER_OK && i < split.num_cuts; i++)
        g->bounds[i + 1] = split.first_units[i];
    if (status == POPLINER_OK) {
        tell_schedule(s, g);
        status = evaluate_all(g, &split.request.asked, error);
    }
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        s->failed_softly =
            s->failed_softly || g->evaluations[i]->plan->status == POPLINER_PLAN_INFEASIBLE;
    if (status == POPLINER_OK)
        status = print(s, g, NULL, error);
    split_free(&split);
    return status;
}

popliner_status reports_split_and_print(session *s, popliner_error *error) {
    group g = {0};
    bool can = false;
    popliner_status status = group_open(&g, s, &can, error);
    if (status == POPLINER_OK && can)
        status = s->options.solve ? solve_together(s, &g, error) : evaluate_together(s, &g, error);
    group_free(&g);
    return status;
}
