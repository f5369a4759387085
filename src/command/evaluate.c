/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "command/calibrate.h"
#include "command/commands.h"
#include "command/emit.h"
#include "command/no_layers.h"
#include "command/page.h"
#include "command/sections.h"
#include "popliner/report.h"

/* Refuses a split that has another number of stages than there are IPUs for. */
static popliner_status check_num_stages(const options *o, const request *r, size_t num_stages,
                                        popliner_error *error) {
    if (r->solver.num_mapped_stages > 0 && r->solver.num_mapped_stages != num_stages)
        return session_fail(
            error, POPLINER_ERROR_USAGE, "--evaluate %s: has %zu stages, but %s%s%s has %zu",
            o->evaluate, num_stages, options_map_name(o), o->device_map == NULL ? "" : " ",
            o->device_map == NULL ? "" : o->device_map, r->solver.num_mapped_stages);
    if (options_map_name(o) == NULL && o->num_ipus > 0 && num_stages > o->num_ipus)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--evaluate %s: has %zu stages, more than --num-ipus %zu", o->evaluate,
                            num_stages, o->num_ipus);
    size_t known = o->copies == NULL ? SIZE_MAX : popliner_copies_max_stages(&r->asked.copies);
    if (num_stages > known && r->asked.copies.rule == POPLINER_COPIES_LIST)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--copies %s: is for %zu stages, but --evaluate %s has %zu", o->copies,
                            known, o->evaluate, num_stages);
    return POPLINER_OK;
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
            return session_fail(
                error, POPLINER_ERROR_USAGE, "--evaluate %s: no layer '%.*s'%s", split, (int)length,
                name, request_suggest(r, name, length, "; --layer-breakdown lists them", hint));
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

/* What each stage recomputes, if that was said: an array to be freed, else NULL. The option was
 * checked. */
static popliner_status parse_recomputes(const options *o, request *r, size_t num_stages,
                                        popliner_recompute **recomputes, popliner_error *error) {
    size_t count = 1;
    *recomputes = NULL;
    if (o->recomputes == NULL)
        return POPLINER_OK;
    for (const char *c = o->recomputes; *c != '\0'; c++)
        count += *c == ',';
    if (count != num_stages)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--recompute %s: is for %zu stages, but --evaluate %s has %zu",
                            o->recomputes, count, o->evaluate, num_stages);
    *recomputes = calloc(count, sizeof **recomputes);
    if (*recomputes == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the split");
    const char *name = o->recomputes;
    for (size_t i = 0; i < count; i++) {
        (*recomputes)[i] = *name == 'n'   ? POPLINER_RECOMPUTE_NONE
                           : *name == 's' ? POPLINER_RECOMPUTE_STANDARD
                                          : POPLINER_RECOMPUTE_FULL;
        name += strcspn(name, ",") + 1;
    }
    r->asked.stage_recomputes = *recomputes;
    r->asked.num_stage_recomputes = count;
    return POPLINER_OK;
}

void split_free(given_split *split) {
    request_free(&split->request);
    free(split->first_units);
    free(split->recomputes);
}

popliner_status split_take(session *s, const unit_list *units, given_split *split,
                           popliner_error *error) {
    request *r = &split->request;
    const popliner_chain *chain = NULL;
    uint64_t limit_bytes = 0;
    popliner_status status = session_limit(s, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error);
    r->solver.method = POPLINER_METHOD_AUTO; /* whatever --solve beside it uses */
    if (status == POPLINER_OK && units != NULL)
        status = request_name_list(r, units, error);
    if (status == POPLINER_OK && units == NULL)
        status = popliner_analysis_chain(s->analysis, r->asked.memory_model, &chain, error);
    if (status == POPLINER_OK && units == NULL)
        status = request_name_chain(r, chain, error);
    if (status == POPLINER_OK)
        status = parse_split(r, s->options.evaluate, &split->first_units, &split->num_cuts, error);
    if (status == POPLINER_OK)
        status = check_num_stages(&s->options, r, split->num_cuts + 1, error);
    if (status == POPLINER_OK)
        status = parse_recomputes(&s->options, r, split->num_cuts + 1, &split->recomputes, error);
    /* of the solver's options the limits alone are meant for a given split */
    r->solver.max_stages = split->num_cuts + 1;
    r->asked.copies.num_stages = split->num_cuts + 1;
    return status == POPLINER_OK ? request_set_limits(r, s, limit_bytes, NULL, error) : status;
}

static popliner_status measure_split(session *s, const given_split *split,
                                     popliner_certificate **certificate, popliner_error *error) {
    popliner_status status =
        popliner_analysis_evaluate(s->analysis, &split->request.asked, split->first_units,
                                   split->num_cuts, certificate, error);
    if (status != POPLINER_OK)
        return status;
    const popliner_plan_summary *plan =
        popliner_plan_get_summary(popliner_certificate_get_info(*certificate)->plan);
    s->failed_softly = s->failed_softly || plan->status == POPLINER_PLAN_INFEASIBLE;
    return POPLINER_OK;
}

/* Whether the split can be made; "whole" always can. */
static popliner_status can_evaluate(session *s, bool *can, popliner_error *error) {
    *can = true;
    return strcmp(s->options.evaluate, "whole") != 0 ? can_split(s, can, error) : POPLINER_OK;
}

popliner_status evaluate_check(session *s, popliner_error *error) {
    given_split split = {0};
    bool can = true;
    popliner_status status = can_evaluate(s, &can, error);
    if (status == POPLINER_OK && can)
        status = split_take(s, NULL, &split, error);
    if (status == POPLINER_OK && can && s->options.calibrate != NULL && !s->is_other)
        status = calibrate_check(s, split.num_cuts + 1, error);
    split_free(&split);
    return status;
}

popliner_status evaluate_certificate(session *s, popliner_certificate **certificate,
                                     popliner_error *error) {
    given_split split = {0};
    bool can = true;
    *certificate = NULL;
    popliner_status status = can_evaluate(s, &can, error);
    if (status != POPLINER_OK || !can)
        return status;
    status = split_take(s, NULL, &split, error);
    if (status == POPLINER_OK)
        status = measure_split(s, &split, certificate, error);
    split_free(&split);
    return status;
}

static popliner_status print_evaluation(session *s, const popliner_certificate *certificate,
                                        popliner_error *error) {
    char *text = NULL;
    if (options_show_plan(&s->options))
        return print_shown(s, certificate, error);
    popliner_status status =
        popliner_report_evaluation(certificate, s->options.format, &text, error);
    return status == POPLINER_OK ? session_print(text, error) : status;
}

popliner_status evaluate_and_print(session *s, popliner_error *error) {
    given_split split = {0};
    popliner_certificate *certificate = NULL;
    emitted made = {0};
    bool can = true;
    popliner_status status = can_evaluate(s, &can, error);
    if (status != POPLINER_OK || !can)
        return status;
    status = split_take(s, NULL, &split, error);
    if (status == POPLINER_OK && s->options.calibrate != NULL) {
        status =
            calibrate_and_print(s, &split.request.asked, split.first_units, split.num_cuts, error);
        goto done;
    }
    if (status == POPLINER_OK)
        status = measure_split(s, &split, &certificate, error);
    if (status == POPLINER_OK)
        status = emit_make(s, certificate, split.request.num_units, &made, error);
    if (status == POPLINER_OK)
        status = emit_prints(&s->options) ? emit_print(s, &made, error)
                                          : print_evaluation(s, certificate, error);
    if (status == POPLINER_OK)
        status = emit_write(s, &made, error);
    if (status == POPLINER_OK)
        status = write_outputs(s, certificate, error);
    if (status == POPLINER_OK && !s->options.solve)
        status = write_page(s, certificate, NULL, error);
done:
    emitted_free(&made);
    popliner_certificate_free(certificate);
    split_free(&split);
    return status;
}
