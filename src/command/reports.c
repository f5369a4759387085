/* --report: several reports of one model that are split together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/outputs.h"
#include "command/progress.h"
#include "command/run_files.h"
#include "command/screen.h"
#include "popliner/report.h"
#include "popliner/utilities.h"

/* ---- the group ---- */

/* One of the reports. */
typedef struct member {
    const char *name;
    session session;
    const popliner_chain *chain;
    size_t layers_begin; /* the number of units if there are no layers */
    size_t layers_end;
    size_t *units; /* [units of the group]: its own for each, SIZE_MAX where it has none */
    popliner_profile_info info;
    popliner_costs *costs; /* of it alone, for whoever measures them */
} member;

/* Zero-initialise; free with group_free, also after an error. */
typedef struct group {
    report_names names;
    member *members; /* [names.count], as of the next two */
    bool *are_training;
    popliner_certificate **evaluations; /* of the split */
    size_t tightest; /* the member whose limit is taken: with --reserve gaps the least */
    /* The units of any chain: the layers, which all have, and the units before and after them. */
    unit_list units;
    /* A split: [num_stages + 1] the first unit of each stage, and the number of units. */
    size_t *bounds;
    size_t num_stages; /* 0: none */
} group;

static void group_free(group *g) {
    for (size_t i = 0; g->members != NULL && i < g->names.count; i++) {
        free(g->members[i].units);
        popliner_costs_free(g->members[i].costs);
        popliner_certificate_free(g->evaluations[i]);
        session_free(&g->members[i].session);
    }
    free(g->members);
    free(g->are_training);
    free(g->evaluations);
    free(g->bounds);
    free(g->units.names);
    free(g->units.counted);
    report_names_free(&g->names);
    *g = (group){0};
}

/* ---- reading ---- */

static bool is_layer(const popliner_chain *chain, size_t unit) {
    return chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
}

/* Finds the layers of a chain, which other units are before and after. */
static void find_layers(member *m) {
    size_t *end = &m->layers_end;
    while (m->layers_begin < m->chain->num_units && !is_layer(m->chain, m->layers_begin))
        m->layers_begin++;
    for (*end = m->chain->num_units; *end > m->layers_begin && !is_layer(m->chain, *end - 1);)
        (*end)--;
}

/* Reads one report, with the same options. The session stays where it is: its listener knows it. */
static popliner_status open_member(const session *s, group *g, size_t i, popliner_error *error) {
    member *m = &g->members[i];
    m->name = g->names.names[i];
    m->info = (popliner_profile_info)POPLINER_PROFILE_INFO_INIT;
    m->session = (session){.options = s->options};
    m->session.options.profile = g->names.paths[i];
    m->session.options.reports = (repeated){NULL, 0};
    session_begin(&m->session);
    m->session.log.about = m->name;
    const popliner_memory_model model =
        session_memory_model(&m->session, POPLINER_MEMORY_MODEL_FULL);
    popliner_status status = session_open(&m->session, error);
    if (status == POPLINER_OK)
        status = popliner_profile_get_info(popliner_analysis_profile(m->session.analysis), &m->info,
                                           error);
    if (status == POPLINER_OK)
        status = popliner_analysis_chain(m->session.analysis, model, &m->chain, error);
    if (status == POPLINER_OK)
        status =
            popliner_analysis_is_training(m->session.analysis, model, &g->are_training[i], error);
    if (status == POPLINER_OK)
        find_layers(m);
    return status;
}

/* Whether there is something to split in each; "whole" always can be evaluated. */
static popliner_status can_split_all(session *s, group *g, bool *can, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    const bool is_whole = s->options.evaluate != NULL && strcmp(s->options.evaluate, "whole") == 0;
    *can = true;
    for (size_t i = 0; status == POPLINER_OK && !is_whole && i < g->names.count; i++) {
        bool own = true;
        status = can_split(&g->members[i].session, &own, error);
        *can = *can && own;
    }
    s->failed_softly = s->failed_softly || !*can;
    return status;
}

/* ---- the same layers ---- */

static const char *label_of(const member *m, size_t unit) {
    return m->chain->unit_labels[unit];
}

static bool has_layer(const member *m, const char *label) {
    for (size_t i = m->layers_begin; i < m->layers_end; i++)
        if (strcmp(label_of(m, i), label) == 0)
            return true;
    return false;
}

/* A layer of one chain that the other lacks, or has elsewhere. */
static popliner_status fail_layer(const char *label, const member *has, const member *other,
                                  popliner_error *error) {
    if (!has_layer(other, label))
        return fail_usage(error,
                          "--report: %.200s has no layer %.200s, which %.200s has; reports have "
                          "one split where they have the same layers: see --layer-name-regex, "
                          "or give one of them",
                          other->name, label, has->name);
    return fail_usage(error,
                      "--report: layer %.200s comes at another place in %.200s than in %.200s; "
                      "reports have one split where layers are in the same order: see "
                      "--layer-order, or give one of them",
                      label, other->name, has->name);
}

/* Whether two chains have the same layers. */
static popliner_status compare_layers(const member *a, const member *b, popliner_error *error) {
    size_t i = a->layers_begin;
    size_t k = b->layers_begin;
    for (; i < a->layers_end || k < b->layers_end; i++, k++) {
        const char *of_a = i < a->layers_end ? label_of(a, i) : NULL;
        const char *of_b = k < b->layers_end ? label_of(b, k) : NULL;
        if (of_a != NULL && of_b != NULL && strcmp(of_a, of_b) == 0)
            continue;
        /* of two that are in each other's place, one may be missing altogether */
        if (of_b != NULL && (of_a == NULL || !has_layer(a, of_b)))
            return fail_layer(of_b, b, a, error);
        return fail_layer(of_a, a, b, error);
    }
    return POPLINER_OK;
}

/* ---- the units of all ---- */

/* The place of a label among the units of the group from `place` on, or their number. */
static size_t find_unit(const group *g, size_t place, const char *label) {
    while (place < g->units.count && strcmp(g->units.names[place], label) != 0)
        place++;
    return place;
}

/* The chains have three parts: layers, and what is before and after them. */
enum { NUM_PARTS = 3 };
static size_t part_begin(const member *m, int part) {
    return part == 0   ? 0
           : part == 1 ? m->layers_begin
           : part == 2 ? m->layers_end
                       : m->chain->num_units;
}

/* Takes the same part of each chain: what is in any of them, and whose it is. */
static void join_part(group *g, int part) {
    const size_t place = g->units.count;
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        for (size_t own = part_begin(m, part); own < part_begin(m, part + 1); own++) {
            if (find_unit(g, place, label_of(m, own)) < g->units.count)
                continue;
            g->units.names[g->units.count] = label_of(m, own);
            g->units.counted[g->units.count++] = is_layer(m->chain, own);
        }
    }
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        for (size_t unit = place; unit < g->units.count; unit++)
            m->units[unit] = SIZE_MAX;
        for (size_t own = part_begin(m, part); own < part_begin(m, part + 1); own++)
            m->units[find_unit(g, place, label_of(m, own))] = own;
    }
}

/* The chains have the same layers. */
static popliner_status join_units(group *g, popliner_error *error) {
    size_t most = 1;
    for (size_t i = 0; i < g->names.count; i++)
        most += g->members[i].chain->num_units;
    g->units.names = calloc(most, sizeof *g->units.names);
    g->units.counted = calloc(most, sizeof *g->units.counted);
    bool has_memory = g->units.names != NULL && g->units.counted != NULL;
    for (size_t i = 0; i < g->names.count; i++) {
        g->members[i].units = calloc(most, sizeof *g->members[i].units);
        has_memory = has_memory && g->members[i].units != NULL;
    }
    if (!has_memory)
        return fail_memory(error, "the reports");
    for (int part = 0; part < NUM_PARTS; part++)
        join_part(g, part);
    return POPLINER_OK;
}

static bool group_own_interval(const member *m, size_t first, size_t last, size_t *own_first,
                               size_t *own_last) {
    while (first < last && m->units[first] == SIZE_MAX)
        first++;
    while (last > first && m->units[last] == SIZE_MAX)
        last--;
    *own_first = m->units[first];
    *own_last = m->units[last];
    return m->units[first] != SIZE_MAX;
}

/* ---- both ---- */

static popliner_status check_members(const session *s, group *g, popliner_error *error) {
    const member *first = &g->members[0];
    popliner_status status = POPLINER_OK;
    for (size_t i = 1; status == POPLINER_OK && i < g->names.count; i++) {
        const member *m = &g->members[i];
        if (s->options.mem_per_tile.all.bytes == 0 &&
            m->info.bytes_per_tile != first->info.bytes_per_tile)
            status = fail_usage(error,
                                "--report: a tile has %llu bytes in %.200s and %llu in %.200s; "
                                "give --mem-per-tile",
                                (unsigned long long)first->info.bytes_per_tile, first->name,
                                (unsigned long long)m->info.bytes_per_tile, m->name);
        else
            status = compare_layers(first, m, error);
        if (m->info.layout_gap_bytes > g->members[g->tightest].info.layout_gap_bytes)
            g->tightest = i;
    }
    return status;
}

static popliner_status group_open(group *g, session *s, bool *can, popliner_error *error) {
    *can = false;
    popliner_status status = report_names_find(&s->options, &g->names, error);
    if (status != POPLINER_OK)
        return status;
    progress_expects_files(g->names.count);
    g->members = calloc(g->names.count, sizeof *g->members);
    g->are_training = calloc(g->names.count, sizeof *g->are_training);
    g->evaluations = calloc(g->names.count, sizeof(popliner_certificate *));
    if (g->members == NULL || g->are_training == NULL || g->evaluations == NULL)
        return fail_memory(error, "the reports");
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = open_member(s, g, i, error);
    if (status == POPLINER_OK)
        status = can_split_all(s, g, can, error);
    if (status == POPLINER_OK && *can)
        status = check_members(s, g, error);
    return status == POPLINER_OK && *can ? join_units(g, error) : status;
}

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
    size_t own_first = 0;
    size_t own_last = 0;
    return group_own_interval(m, first, last, &own_first, &own_last)
               ? popliner_costs_peak(m->costs, own_first, own_last, stages_to_end)
               : POPLINER_PEAK_FORBIDDEN;
}

static uint64_t own_cycles(const member *m, size_t first, size_t last) {
    size_t own_first = 0;
    size_t own_last = 0;
    return group_own_interval(m, first, last, &own_first, &own_last)
               ? popliner_costs_cycles(m->costs, own_first, own_last)
               : 0;
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
        size_t first = 0;
        size_t last = 0;
        if (!group_own_interval(m, begin, g->bounds[stage + 1] - 1, &first, &last))
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
