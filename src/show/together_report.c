/* One split of several profiles: what each stage needs in each of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/failure.h"
#include "base/structs.h"
#include "popliner/report.h"
#include "show/certificate_data.h"
#include "show/report_parts.h"

/* What the IPU of a stage needs in a report. */
static uint64_t need_of(const popliner_together *t, size_t report, size_t stage) {
    const popliner_certificate *c = t->evaluations[report];
    return c->details[stage].need_bytes[c->input.need];
}

/* The first report that needs most. */
static size_t largest_of(const popliner_together *t, size_t stage) {
    size_t largest = 0;
    for (size_t i = 1; i < t->num_reports; i++)
        if (need_of(t, i, stage) > need_of(t, largest, stage))
            largest = i;
    return largest;
}

static pl_fit fit_of(const popliner_together *t, size_t stage) {
    const popliner_certificate *c = t->evaluations[0];
    if (need_of(t, largest_of(t, stage), stage) >
        pl_certificate_limit(c, c->plan.stages[stage].ipu))
        return PL_FITS_NOT;
    for (size_t i = 0; i < t->num_reports; i++)
        if (pl_certificate_fit_of(t->evaluations[i], stage) == PL_FIT_UNKNOWN)
            return PL_FIT_UNKNOWN;
    return PL_FITS;
}

static popliner_status check(const popliner_together *t, popliner_error *error) {
    for (size_t i = 0; t->num_stages > 0 && i < t->num_reports; i++) {
        if (!t->evaluations[i]->is_measured)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "stages whose costs are of no profile have no details");
        if (t->evaluations[i]->plan.num_stages != t->num_stages)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "evaluation %zu of several reports has %zu stages instead of %zu", i,
                           t->evaluations[i]->plan.num_stages, t->num_stages);
    }
    return POPLINER_OK;
}

/* ---- a table ---- */

static void add_field(pl_text *text, const char *field, char delimiter) {
    pl_text_format(text, "%c", delimiter);
    pl_certificate_add_field(text, field, delimiter);
}

static void add_row(const popliner_together *t, size_t stage, char delimiter, pl_text *text) {
    const pl_fit fit = fit_of(t, stage);
    const popliner_certificate *c = t->evaluations[0];
    const popliner_plan_stage *own = &c->plan.stages[stage];
    pl_text_format(text, "%zu%c%zu", stage, delimiter, own->ipu);
    add_field(text, t->first_units[stage], delimiter);
    add_field(text, t->last_units[stage], delimiter);
    pl_text_format(text, "%c%" PRIu64, delimiter, pl_certificate_limit(c, own->ipu));
    for (size_t i = 0; i < t->num_reports; i++)
        pl_text_format(text, "%c%" PRIu64, delimiter, need_of(t, i, stage));
    pl_text_format(text, "%c%s\n", delimiter,
                   fit == PL_FITS       ? "yes"
                   : fit == PL_FITS_NOT ? "no"
                                        : "unknown");
}

static void add_table(const popliner_together *t, char delimiter, pl_text *text) {
    pl_text_format(text, "stage%cipu%cfrom%cto%climit", delimiter, delimiter, delimiter, delimiter);
    for (size_t i = 0; i < t->num_reports; i++)
        add_field(text, t->names[i], delimiter);
    pl_text_format(text, "%cfits\n", delimiter);
    for (size_t stage = 0; stage < t->num_stages; stage++)
        add_row(t, stage, delimiter, text);
}

/* ---- JSON ---- */

static void put_stage(const popliner_together *t, size_t stage, pl_json *json) {
    const popliner_certificate *c = t->evaluations[0];
    const popliner_plan_stage *own = &c->plan.stages[stage];
    const size_t largest = largest_of(t, stage);
    pl_put_open(json, NULL, '{');
    pl_put_number(json, "ipu", own->ipu);
    pl_put_text(json, "unit_from", t->first_units[stage]);
    pl_put_text(json, "unit_to", t->last_units[stage]);
    pl_put_number(json, "limit_bytes", pl_certificate_limit(c, own->ipu));
    pl_put_number(json, "need_bytes", need_of(t, largest, stage));
    pl_put_text(json, "report", t->names[largest]);
    pl_certificate_put_fit(fit_of(t, stage), json);
    pl_put_close(json);
}

static void put_report(const popliner_together *t, size_t report, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "name", t->names[report]);
    pl_put_flag(json, "training", t->are_training[report]);
    if (t->num_stages == 0)
        pl_put_texts(json, "stages", NULL, 0);
    else
        pl_certificate_evaluation_json(t->evaluations[report], "stages", json);
    pl_put_close(json);
}

static void put_together(const popliner_together *t, pl_json *json) {
    pl_fit all = t->num_stages > 0 ? PL_FITS : PL_FITS_NOT;
    for (size_t i = 0; i < t->num_stages; i++) {
        const pl_fit fit = fit_of(t, i);
        if (all == PL_FITS || fit == PL_FITS_NOT)
            all = fit;
    }
    pl_put_open(json, NULL, '{');
    pl_certificate_put_fit(all, json);
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < t->num_stages; i++)
        put_stage(t, i, json);
    pl_put_close(json);
    pl_put_open(json, "reports", '[');
    for (size_t i = 0; i < t->num_reports; i++)
        put_report(t, i, json);
    pl_put_close(json);
    if (t->answer == NULL)
        pl_put_null(json, "answer");
    else
        pl_certificate_json(t->answer, "answer", json);
    pl_put_close(json);
}

popliner_status popliner_report_together(const popliner_together *together, popliner_format format,
                                         char **result, popliner_error *error) {
    popliner_together own = POPLINER_TOGETHER_INIT;
    pl_text text = {0};
    *result = NULL;
    popliner_status status = pl_struct_take(&own, sizeof own, together, "popliner_together", error);
    if (status == POPLINER_OK)
        status = check(&own, error);
    if (status != POPLINER_OK)
        return status;
    if (format == POPLINER_FORMAT_JSON)
        put_together(&own, &(pl_json){.text = &text});
    else
        add_table(&own, format == POPLINER_FORMAT_CSV ? ',' : '\t', &text);
    return pl_report_finish_printable(&text, status, result, error);
}
