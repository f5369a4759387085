/* --report: several reports of one model that are split together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"

/* Reports with one split. Zero-initialise; free with close_reports, also after an error. */
typedef struct reports {
    char **names;
    size_t count;
    session *sessions; /* [count], as of the next two */
    popliner_analysis **analyses;
    popliner_certificate **evaluations; /* of the split */
    popliner_group *group;
    popliner_costs *costs; /* of all; NULL: nothing is solved */
    session *tightest;     /* whose limit is taken: with --reserve gaps the least */
    /* A split: [num_stages] the names of the first and the last unit of each stage. */
    const char **first_units;
    const char **last_units;
    size_t num_stages; /* 0: none */
} reports;

static void close_reports(reports *g) {
    for (size_t i = 0; g->evaluations != NULL && i < g->count; i++)
        popliner_certificate_free(g->evaluations[i]);
    popliner_costs_free(g->costs);
    popliner_group_free(g->group);
    for (size_t i = 0; g->sessions != NULL && i < g->count; i++)
        session_free(&g->sessions[i]);
    free(g->sessions);
    free(g->analyses);
    free(g->evaluations);
    free(g->first_units);
    free(g->last_units);
    free(g->names);
}

/* ---- reading ---- */

/* Reads one report, with the same options. The session stays where it is: its listener knows it. */
static popliner_status open_report(const session *s, reports *g, size_t i, popliner_error *error) {
    session *own = &g->sessions[i];
    *own = (session){.options = s->options};
    own->options.reports = (repeated){NULL, 0};
    session_begin(own);
    own->log.about = g->names[i];
    TRY(session_use_report(own, s->options.profile, g->names[i], error));
    TRY(session_open(own, error));
    g->analyses[i] = own->analysis;
    return POPLINER_OK;
}

/* Whether there is something to split in each; "whole" always can be evaluated. */
static popliner_status can_split_all(session *s, reports *g, popliner_error *error) {
    const bool is_whole = s->options.evaluate != NULL && strcmp(s->options.evaluate, "whole") == 0;
    s->can_split = true;
    for (size_t i = 0; !is_whole && i < g->count; i++) {
        TRY(can_split(&g->sessions[i], error));
        s->can_split = s->can_split && g->sessions[i].can_split;
    }
    s->failed_softly = s->failed_softly || !s->can_split;
    return POPLINER_OK;
}

static popliner_status find_group(reports *g, popliner_error *error) {
    TRY(popliner_group_create(g->analyses, (const char *const *)g->names, g->count,
                              session_memory_model(&g->sessions[0], POPLINER_MEMORY_MODEL_FULL),
                              &g->group, error));
    g->tightest = &g->sessions[0];
    for (size_t i = 1; i < g->count; i++)
        if (session_profile(&g->sessions[i]).layout_gap_bytes >
            session_profile(g->tightest).layout_gap_bytes)
            g->tightest = &g->sessions[i];
    const uint64_t first_bytes = session_profile(&g->sessions[0]).bytes_per_tile;
    for (size_t i = 1; i < g->count; i++) {
        const uint64_t other_bytes = session_profile(&g->sessions[i]).bytes_per_tile;
        if (first_bytes != other_bytes && g->tightest->options.lists[LIST_LIMITS].all.bytes == 0)
            return fail_usage(error,
                              "tiles have %llu bytes in %.200s and %llu in %.200s; give "
                              "--mem-per-tile",
                              (unsigned long long)first_bytes, g->names[0],
                              (unsigned long long)other_bytes, g->names[i]);
    }
    return POPLINER_OK;
}

static popliner_status open_reports(reports *g, session *s, popliner_error *error) {
    TRY(report_names_find(&s->options, &g->names, error));
    while (g->names[g->count] != NULL)
        g->count++;
    g->sessions = calloc(g->count, sizeof *g->sessions);
    g->analyses = calloc(g->count, sizeof(popliner_analysis *));
    g->evaluations = calloc(g->count, sizeof(popliner_certificate *));
    if (g->sessions == NULL || g->analyses == NULL || g->evaluations == NULL)
        return fail_memory(error, "the reports");
    for (size_t i = 0; i < g->count; i++)
        TRY(open_report(s, g, i, error));
    TRY(can_split_all(s, g, error));
    return s->can_split ? find_group(g, error) : POPLINER_OK;
}

/* Warns if a schedule is for none of the reports, or not for all. */
static void tell_schedule(session *s, const reports *g) {
    const options *o = &s->options;
    bool are_any = false;
    if (!options_keep_activations(o))
        return;
    for (size_t i = 0; i < g->count; i++)
        are_any = are_any || g->group->are_training[i];
    if (!are_any)
        session_warn(s, "--schedule %s: no report trains, so nothing is kept for a backward pass.",
                     o->schedule.text);
    for (size_t i = 0; are_any && i < g->count; i++)
        if (!g->group->are_training[i])
            log_message(&s->log, POPLINER_LEVEL_INFO,
                        "--schedule %s: %s does not train, so nothing is kept there.",
                        o->schedule.text, g->names[i]);
}

/* ---- the split in each ---- */

static popliner_status evaluate_all(reports *g, const popliner_request *asked,
                                    const size_t *first_units, size_t num_cuts,
                                    popliner_error *error) {
    g->num_stages = num_cuts + 1;
    g->first_units = calloc(g->num_stages, sizeof *g->first_units);
    g->last_units = calloc(g->num_stages, sizeof *g->last_units);
    if (g->first_units == NULL || g->last_units == NULL)
        return fail_memory(error, "the split");
    for (size_t stage = 0; stage < g->num_stages; stage++) {
        const size_t end = stage < num_cuts ? first_units[stage] : g->group->num_units;
        g->first_units[stage] = g->group->unit_names[stage == 0 ? 0 : first_units[stage - 1]];
        g->last_units[stage] = g->group->unit_names[end - 1];
    }
    return popliner_group_evaluate(g->group, asked, first_units, num_cuts, g->evaluations, error);
}

/* ---- telling ---- */

static popliner_status print(session *s, const reports *g, popliner_error *error) {
    popliner_together together = POPLINER_TOGETHER_INIT;
    together.names = (const char *const *)g->names;
    together.are_training = g->group->are_training;
    together.evaluations = (const popliner_certificate *const *)g->evaluations;
    together.num_reports = g->count;
    together.first_units = g->first_units;
    together.last_units = g->last_units;
    together.num_stages = g->num_stages;
    together.answer = s->answer;
    for (size_t i = 0; g->num_stages > 0 && i < g->count; i++)
        s->failed_softly =
            s->failed_softly || answer_worst_verdict(g->evaluations[i]) == POPLINER_FITS_UNKNOWN ||
            (s->answer == NULL && g->evaluations[i]->plan->status == POPLINER_PLAN_INFEASIBLE);
    return outputs_of_answer(
        s, &(material){.action = s->options.solve ? SOLVE : EVALUATE, .together = &together},
        error);
}

/* ---- both actions ---- */

/* Finds the best split for all, and makes it that of the request. */
static popliner_status solve_together(session *s, reports *g, popliner_error *error) {
    request *r = &s->request;
    TRY(popliner_group_costs(g->group, &r->asked, &g->costs, error));
    s->input = request_certificate_input(r, s, g->costs, NULL);
    TRY(answer_solve(s, error));
    TRY(answer_tell(s, g->costs, error));
    const popliner_plan *plan = s->answer->plan;
    if (plan->num_stages == 0)
        return POPLINER_OK;
    r->num_cuts = plan->num_stages - 1;
    r->first_units = calloc(r->num_cuts + 1, sizeof *r->first_units);
    if (r->first_units == NULL)
        return fail_memory(error, "the split");
    for (size_t i = 0; i < r->num_cuts; i++)
        r->first_units[i] = plan->stages[i + 1].first_unit;
    return POPLINER_OK;
}

static popliner_status split_together(session *s, reports *g, popliner_error *error) {
    request *r = &s->request;
    TRY(open_reports(g, s, error));
    if (!s->can_split)
        return POPLINER_OK;
    TRY(request_make(r, g->tightest, POPLINER_MEMORY_MODEL_FULL, NULL, g->group, error));
    r->solver.listener = &s->listener;
    tell_schedule(s, g);
    if (s->options.solve)
        TRY(solve_together(s, g, error));
    if (r->first_units != NULL)
        TRY(evaluate_all(g, &r->asked, r->first_units, r->num_cuts, error));
    return print(s, g, error);
}

popliner_status reports_split_and_print(session *s, popliner_error *error) {
    reports g = {0};
    const popliner_status status = split_together(s, &g, error);
    close_reports(&g);
    return status;
}
