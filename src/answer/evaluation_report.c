/* The stages of one plan for several profiles, against their limits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/sheet.h"
#include "base/structs.h"
#include "base/text.h"
#include "popliner/report.h"

static const pl_certificate *evaluation_of(const popliner_together *t, size_t report) {
    return pl_certificate_of(t->evaluations[report]);
}

/* Returns the need of the IPU of a stage in a report. */
static uint64_t need_of(const popliner_together *t, size_t report, size_t stage) {
    return evaluation_of(t, report)->plan.stages[stage].peak_bytes;
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
    const pl_certificate *c = evaluation_of(t, 0);
    if (need_of(t, largest_of(t, stage), stage) >
        pl_certificate_limit(c, c->plan.stages[stage].ipu))
        return PL_FITS_NOT;
    for (size_t i = 0; i < t->num_reports; i++)
        if (pl_certificate_fit_of(evaluation_of(t, i), stage) == PL_FIT_UNKNOWN)
            return PL_FIT_UNKNOWN;
    return PL_FITS;
}

static popliner_status check(const popliner_together *t, popliner_error *error) {
    for (size_t i = 0; t->num_stages > 0 && i < t->num_reports; i++) {
        if (!evaluation_of(t, i)->is_measured)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "stages whose costs are of no profile have no details");
        if (evaluation_of(t, i)->plan.num_stages != t->num_stages)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "evaluation %zu of several reports has %zu stages instead of %zu", i,
                           evaluation_of(t, i)->plan.num_stages, t->num_stages);
    }
    return POPLINER_OK;
}

/* ---- a table ---- */

static void add_row(const popliner_together *t, size_t stage, pl_sheet *sheet) {
    static const char *const fits[] = {
        [PL_FITS] = "yes", [PL_FITS_NOT] = "no", [PL_FIT_UNKNOWN] = "unknown"};
    const pl_certificate *c = sheet->is_naming ? NULL : evaluation_of(t, 0);
    PL_COLUMN(sheet, number, "stage", stage);
    PL_COLUMN(sheet, number, "ipu", c->plan.stages[stage].ipu);
    PL_COLUMN(sheet, text, "from", t->first_units[stage]);
    PL_COLUMN(sheet, text, "to", t->last_units[stage]);
    PL_COLUMN(sheet, number, "limit", pl_certificate_limit(c, c->plan.stages[stage].ipu));
    for (size_t i = 0; i < t->num_reports; i++)
        PL_COLUMN(sheet, number, t->names[i], need_of(t, i, stage));
    PL_COLUMN(sheet, text, "fits", fits[fit_of(t, stage)]);
}

static popliner_status write_together(const popliner_together *t, popliner_format format,
                                      char **result, popliner_error *error) {
    pl_sheet sheet;
    pl_sheet_begin(&sheet, format, "");
    add_row(t, 0, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t stage = 0; stage < t->num_stages; stage++)
        add_row(t, stage, &sheet);
    return pl_sheet_finish(&sheet, POPLINER_OK, result, error);
}

/* ---- JSON ---- */

static void put_shared_stage(const popliner_together *t, size_t stage, pl_json *json) {
    const pl_certificate *c = evaluation_of(t, 0);
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
    pl_certificate none = {.plan.status = POPLINER_PLAN_INFEASIBLE};
    if (t->answer != NULL)
        none.input = pl_certificate_of(t->answer)->input;
    const pl_certificate *c = t->num_stages == 0 ? &none : evaluation_of(t, report);
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "name", t->names[report]);
    pl_put_flag(json, "training", t->are_training[report]);
    pl_certificate_plan_json(c, pl_certificate_status(&c->plan), json);
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
        put_shared_stage(t, i, json);
    pl_put_close(json);
    pl_put_open(json, "reports", '[');
    for (size_t i = 0; i < t->num_reports; i++)
        put_report(t, i, json);
    pl_put_close(json);
    if (t->answer == NULL)
        pl_put_null(json, "answer");
    else
        pl_certificate_json(pl_certificate_of(t->answer), "answer", json);
    pl_put_close(json);
}

popliner_status popliner_report_together(const popliner_together *together, popliner_format format,
                                         char **result, popliner_error *error) {
    popliner_together own = POPLINER_TOGETHER_INIT;
    pl_text text = {0};
    *result = NULL;
    PL_TRY(pl_struct_take(&own, sizeof own, together, "popliner_together", error));
    PL_TRY(check(&own, error));
    if (format != POPLINER_FORMAT_JSON)
        return write_together(&own, format, result, error);
    put_together(&own, &(pl_json){.text = &text});
    return pl_text_finish(&text, POPLINER_OK, result, error);
}
