/* --evaluate: the memory of a split that is given by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/no_layers.h"
#include "command/request.h"
#include "popliner/report.h"

/* Stages run on IPUs of their own, unless a device map says otherwise. */
static popliner_status check_num_stages(const options *o, size_t num_stages,
                                        popliner_error *error) {
    if (o->num_ipus == 0 || num_stages <= o->num_ipus)
        return POPLINER_OK;
    return session_fail(error, POPLINER_ERROR_USAGE,
                        "--evaluate %s: has %zu stages, more than --num-ipus %zu", o->evaluate,
                        num_stages, o->num_ipus);
}

/* The units behind the cuts of a split that is given by the last layers of all stages but the
 * last. */
static popliner_status parse_split(const request *r, const char *split, size_t **first_units,
                                   size_t *num_cuts, popliner_error *error) {
    *num_cuts = 0;
    *first_units = calloc(r->num_units, sizeof **first_units);
    if (*first_units == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the split");
    size_t next_unit = 0;
    bool is_whole = strcmp(split, "whole") == 0 && request_find_unit(r, "whole", 5) == SIZE_MAX;
    for (const char *name = is_whole ? NULL : split; name != NULL;) {
        const char *end = strchr(name, '|');
        size_t length = end == NULL ? strlen(name) : (size_t)(end - name);
        size_t unit = request_find_unit(r, name, length);
        char hint[NEAREST_HINT_BYTES];
        if (unit == SIZE_MAX)
            return session_fail(error, POPLINER_ERROR_USAGE, "--evaluate %s: no layer '%.*s'%s",
                                split, (int)length, name,
                                request_suggest(r, name, length, "", hint));
        if (unit < next_unit || unit + 1 == r->num_units)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--evaluate %s: nothing is left for a stage %s layer '%.*s'", split,
                                unit < next_unit ? "that ends with" : "behind", (int)length, name);
        next_unit = unit + 1;
        (*first_units)[(*num_cuts)++] = next_unit;
        name = end == NULL ? NULL : end + 1;
    }
    return POPLINER_OK;
}

popliner_status evaluate_and_print(session *s, popliner_error *error) {
    request r = {0};
    const popliner_chain *chain = NULL;
    popliner_certificate *certificate = NULL;
    size_t *first_units = NULL;
    size_t num_cuts = 0;
    char *text = NULL;
    /* of the solver's options the limit alone is meant for a given split */
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_request asked = POPLINER_REQUEST_INIT;
    asked.memory_model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    asked.schedule = s->options.schedule;
    asked.recompute = s->options.recompute;
    asked.solver = &solver;
    bool can = true;
    popliner_status status = POPLINER_OK;
    if (strcmp(s->options.evaluate, "whole") != 0)
        status = can_split(s, &can, error);
    if (status != POPLINER_OK || !can)
        return status;
    status = session_limit(s, &solver.max_stage_bytes, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_chain(s->analysis, asked.memory_model, &chain, error);
    if (status == POPLINER_OK)
        status = request_name_chain(&r, chain, error);
    if (status == POPLINER_OK)
        status = parse_split(&r, s->options.evaluate, &first_units, &num_cuts, error);
    if (status == POPLINER_OK)
        status = check_num_stages(&s->options, num_cuts + 1, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_evaluate(s->analysis, &asked, first_units, num_cuts,
                                            &certificate, error);
    if (status == POPLINER_OK)
        status = popliner_report_evaluation(certificate, s->options.format, &text, error);
    if (status == POPLINER_OK) {
        const popliner_plan_summary *plan =
            popliner_plan_get_summary(popliner_certificate_plan(certificate));
        s->failed_softly = s->failed_softly || plan->status == POPLINER_PLAN_INFEASIBLE;
        status = session_print(text, error);
    }
    popliner_certificate_free(certificate);
    request_free(&r);
    free(first_units);
    return status;
}
