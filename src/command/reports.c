/* --report: several reports of one model that are split together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/hints.h"
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
    size_t *units; /* [units of the group]: its own for each, SIZE_MAX where it has none */
    popliner_profile_info info;
    bool is_training;
    popliner_costs *costs;            /* of it alone, for whoever measures them */
    popliner_certificate *evaluation; /* the same */
} member;

/* Zero-initialise; free with group_free, also after an error. */
typedef struct group {
    report_names names;
    member *members; /* [names.count] */
    size_t tightest; /* the member whose limit is taken: with --reserve gaps the least */
    /* The units of any chain: the layers, which all have, and the units before and after them. */
    unit_list units;
} group;

static void group_free(group *g) {
    for (size_t i = 0; g->members != NULL && i < g->names.count; i++) {
        free(g->members[i].units);
        popliner_costs_free(g->members[i].costs);
        popliner_certificate_free(g->members[i].evaluation);
        session_free(&g->members[i].session);
    }
    free(g->members);
    free(g->units.names);
    free(g->units.counted);
    report_names_free(&g->names);
    *g = (group){0};
}

/* ---- reading ---- */

/* Reads one report, with the same options. The session stays where it is: its listener knows it. */
static popliner_status open_member(const session *s, const report_names *names, size_t i, member *m,
                                   popliner_error *error) {
    m->name = names->names[i];
    m->info = (popliner_profile_info)POPLINER_PROFILE_INFO_INIT;
    m->session = (session){.options = s->options};
    m->session.options.profile = names->paths[i];
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
        status = popliner_analysis_is_training(m->session.analysis, model, &m->is_training, error);
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

static bool is_layer(const popliner_chain *chain, size_t unit) {
    return chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
}

static const char *label_of(const popliner_chain *chain, size_t unit) {
    return chain->unit_labels[unit];
}

static size_t chain_begin(const popliner_chain *chain) {
    (void)chain;
    return 0;
}

static size_t chain_end(const popliner_chain *chain) {
    return chain->num_units;
}

/* Where the layers of a chain begin; its number of units if it has none. */
static size_t layers_begin(const popliner_chain *chain) {
    size_t unit = 0;
    while (unit < chain->num_units && !is_layer(chain, unit))
        unit++;
    return unit;
}

static size_t layers_end(const popliner_chain *chain) {
    size_t unit = chain->num_units;
    while (unit > layers_begin(chain) && !is_layer(chain, unit - 1))
        unit--;
    return unit;
}

static bool has_layer(const popliner_chain *chain, const char *label) {
    for (size_t i = layers_begin(chain); i < layers_end(chain); i++)
        if (strcmp(label_of(chain, i), label) == 0)
            return true;
    return false;
}

/* A layer of one chain that the other lacks, or has elsewhere. */
static popliner_status fail_layer(const char *label, const member *has, const member *other,
                                  popliner_error *error) {
    if (!has_layer(other->chain, label))
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
    const size_t end_a = layers_end(a->chain);
    const size_t end_b = layers_end(b->chain);
    size_t i = layers_begin(a->chain);
    size_t k = layers_begin(b->chain);
    for (; i < end_a || k < end_b; i++, k++) {
        const char *of_a = i < end_a ? label_of(a->chain, i) : NULL;
        const char *of_b = k < end_b ? label_of(b->chain, k) : NULL;
        if (of_a != NULL && of_b != NULL && strcmp(of_a, of_b) == 0)
            continue;
        /* of two that are in each other's place, one may be missing altogether */
        if (of_b != NULL && (of_a == NULL || !has_layer(a->chain, of_b)))
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

/* Takes the same part of each chain: what is in any of them, and whose it is. */
static void join_part(group *g, size_t (*begin)(const popliner_chain *),
                      size_t (*end)(const popliner_chain *)) {
    const size_t place = g->units.count;
    for (size_t i = 0; i < g->names.count; i++) {
        const popliner_chain *chain = g->members[i].chain;
        for (size_t own = begin(chain); own < end(chain); own++) {
            if (find_unit(g, place, label_of(chain, own)) < g->units.count)
                continue;
            g->units.names[g->units.count] = label_of(chain, own);
            g->units.counted[g->units.count++] = is_layer(chain, own);
        }
    }
    for (size_t i = 0; i < g->names.count; i++) {
        const popliner_chain *chain = g->members[i].chain;
        for (size_t unit = place; unit < g->units.count; unit++)
            g->members[i].units[unit] = SIZE_MAX;
        for (size_t own = begin(chain); own < end(chain); own++)
            g->members[i].units[find_unit(g, place, label_of(chain, own))] = own;
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
    join_part(g, chain_begin, layers_begin);
    join_part(g, layers_begin, layers_end);
    join_part(g, layers_end, chain_end);
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
    if (g->members == NULL)
        return fail_memory(error, "the reports");
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = open_member(s, &g->names, i, &g->members[i], error);
    if (status == POPLINER_OK)
        status = can_split_all(s, g, can, error);
    if (status == POPLINER_OK && *can)
        status = check_members(s, g, error);
    return status == POPLINER_OK && *can ? join_units(g, error) : status;
}

/* ---- what is asked ---- */

popliner_status reports_choose(session *s, popliner_error *error) {
    report_names found = {0};
    if (s->options.reports.count == 0)
        return POPLINER_OK;
    popliner_status status = report_names_find(&s->options, &found, error);
    if (status == POPLINER_OK) {
        s->report = found.paths[0];
        found.paths[0] = NULL;
        s->options.profile = s->report;
    }
    report_names_free(&found);
    return status;
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
        if (g->members[i].is_training)
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
        if (!g->members[i].is_training)
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

/* A split: [num_cuts] are the units of the group after its cuts. */
typedef struct cuts {
    const size_t *first_units;
    size_t num_cuts;
} cuts;

static size_t stage_begin(const cuts *c, size_t stage) {
    return stage == 0 ? 0 : c->first_units[stage - 1];
}

static size_t stage_last(const group *g, const cuts *c, size_t stage) {
    return (stage < c->num_cuts ? c->first_units[stage] : g->units.count) - 1;
}

static popliner_status evaluate_member(const group *g, member *m, const popliner_request *own,
                                       const cuts *c, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t *first_units = calloc(c->num_cuts + 1, sizeof *first_units);
    if (first_units == NULL)
        return fail_memory(error, "the split");
    for (size_t stage = 0; status == POPLINER_OK && stage <= c->num_cuts; stage++) {
        size_t first = 0;
        size_t last = 0;
        if (!group_own_interval(m, stage_begin(c, stage), stage_last(g, c, stage), &first, &last))
            status = fail_usage(error,
                                "--report: stage %zu is %.200s alone, which %.200s has not; "
                                "each report has something in each stage of a split",
                                stage, g->units.names[stage_begin(c, stage)], m->name);
        else if (stage > 0)
            first_units[stage - 1] = first;
    }
    if (status == POPLINER_OK)
        status = popliner_analysis_evaluate(m->session.analysis, own, first_units, c->num_cuts,
                                            &m->evaluation, error);
    free(first_units);
    return status;
}

static popliner_status evaluate_all(group *g, const popliner_request *asked, const cuts *c,
                                    popliner_error *error) {
    popliner_solver_options limits;
    const popliner_request own = own_request(asked, c->num_cuts + 1, &limits);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = evaluate_member(g, &g->members[i], &own, c, error);
    return status;
}

static const popliner_plan *own_summary(const member *m) {
    return m->evaluation->plan;
}

/* Checks that the stages of the split that was found need what the split was chosen for. */
static popliner_status check_peaks(const group *g, const popliner_plan *plan,
                                   popliner_error *error) {
    for (size_t stage = 0; stage < plan->num_stages; stage++) {
        const uint64_t wanted = plan->stages[stage].peak_bytes;
        uint64_t largest = 0;
        for (size_t i = 0; i < g->names.count; i++) {
            const uint64_t own = own_summary(&g->members[i])->stages[stage].peak_bytes;
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

static popliner_status make_together(session *s, const void *of, popliner_format format,
                                     char **text, popliner_error *error) {
    const bool is_screen = format == POPLINER_FORMAT_TEXT;
    const popliner_together *together = of;
    popliner_status status =
        popliner_report_together(together, is_screen ? POPLINER_FORMAT_TSV : format, text, error);
    if (status != POPLINER_OK || !is_screen)
        return status;
    char headline[160] = "No split of all reports was found.";
    popliner_verdict worst = POPLINER_FITS;
    bool lacks_schedule = false;
    for (size_t i = 0; i < together->num_reports; i++) {
        if (together->num_stages > 0 && hints_worst_verdict(together->evaluations[i]) > worst)
            worst = hints_worst_verdict(together->evaluations[i]);
        lacks_schedule = lacks_schedule || (together->are_training[i] && screen_lacks_schedule(s));
    }
    if (together->num_stages > 0) {
        snprintf(headline, sizeof headline, "%s in %s of %zu reports: %zu stage%s%s.",
                 popliner_name_of(POPLINER_NAMED_VERDICT, worst),
                 worst <= POPLINER_FITS_LIKELY ? "each" : "one or more", together->num_reports,
                 together->num_stages, together->num_stages == 1 ? "" : "s",
                 lacks_schedule ? ", if nothing is kept for the backward passes" : "");
        headline[0] = (char)(headline[0] - 'a' + 'A');
    }
    return screen_table(s, headline, SIZE_MAX, text, error);
}

/* Prints the split; `c` is NULL if there is none. */
static popliner_status print(session *s, const group *g, const cuts *c,
                             const popliner_certificate *answer, popliner_error *error) {
    const size_t num_stages = c == NULL ? 0 : c->num_cuts + 1;
    const size_t count = g->names.count;
    const popliner_certificate **evaluations = calloc(count, sizeof *evaluations);
    bool *are_training = calloc(count, sizeof *are_training);
    const char **first_units = calloc(num_stages + 1, sizeof *first_units);
    const char **last_units = calloc(num_stages + 1, sizeof *last_units);
    popliner_together together = POPLINER_TOGETHER_INIT;
    popliner_status status =
        evaluations == NULL || are_training == NULL || first_units == NULL || last_units == NULL
            ? fail_memory(error, "the reports")
            : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        evaluations[i] = g->members[i].evaluation;
        are_training[i] = g->members[i].is_training;
    }
    for (size_t stage = 0; status == POPLINER_OK && stage < num_stages; stage++) {
        first_units[stage] = g->units.names[stage_begin(c, stage)];
        last_units[stage] = g->units.names[stage_last(g, c, stage)];
    }
    together.names = (const char *const *)g->names.names;
    together.are_training = are_training;
    together.evaluations = evaluations;
    together.num_reports = count;
    together.first_units = first_units;
    together.last_units = last_units;
    together.num_stages = num_stages;
    together.answer = answer;
    for (size_t i = 0; status == POPLINER_OK && num_stages > 0 && i < count; i++)
        s->failed_softly =
            s->failed_softly || hints_worst_verdict(evaluations[i]) == POPLINER_FITS_UNKNOWN;
    if (status == POPLINER_OK)
        status = outputs_of_answer(s,
                                   &(material){.action = s->options.solve ? SOLVE : EVALUATE,
                                               .report = {make_together, &together}},
                                   error);
    free(evaluations);
    free(are_training);
    free(first_units);
    free(last_units);
    return status;
}

/* Measures the split that was found in each report, and prints it. */
static popliner_status print_plan(session *s, group *g, const request *r,
                                  const popliner_certificate *answer, popliner_error *error) {
    const popliner_plan *plan = answer->plan;
    const size_t num_stages = plan->num_stages;
    if (num_stages == 0)
        return print(s, g, NULL, answer, error);
    size_t *first_units = calloc(num_stages, sizeof *first_units);
    if (first_units == NULL)
        return fail_memory(error, "the split");
    for (size_t i = 1; i < num_stages; i++)
        first_units[i - 1] = plan->stages[i].first_unit;
    const cuts c = {first_units, num_stages - 1};
    popliner_status status = evaluate_all(g, &r->asked, &c, error);
    if (status == POPLINER_OK)
        status = check_peaks(g, plan, error);
    if (status == POPLINER_OK)
        status = print(s, g, &c, answer, error);
    free(first_units);
    return status;
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
        status = print_plan(s, g, &r, answer, error);
    popliner_certificate_free(answer);
    popliner_costs_free(costs);
    request_free(&r);
    return status;
}

static popliner_status evaluate_together(session *s, group *g, popliner_error *error) {
    given_split split = {0};
    popliner_status status = split_take(&g->members[g->tightest].session, &g->units, &split, error);
    const cuts c = {split.first_units, split.num_cuts};
    if (status == POPLINER_OK) {
        tell_schedule(s, g);
        status = evaluate_all(g, &split.request.asked, &c, error);
    }
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        s->failed_softly =
            s->failed_softly || own_summary(&g->members[i])->status == POPLINER_PLAN_INFEASIBLE;
    if (status == POPLINER_OK)
        status = print(s, g, &c, NULL, error);
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
