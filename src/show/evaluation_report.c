/* The stages of a plan against their limits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/failure.h"
#include "memory/chain_data.h"
#include "popliner/report.h"
#include "show/certificate_data.h"
#include "show/report_parts.h"

/* The first stage on the IPU of one of them. */
static size_t first_on_ipu(const popliner_plan *plan, size_t stage) {
    size_t first = 0;
    while (plan->stages[first].ipu != plan->stages[stage].ipu)
        first++;
    return first;
}

/* The other stages that what is told of the first on an IPU is of: " with stages 2 and 5:". */
static void write_others(const popliner_plan *plan, size_t stage, pl_text *text) {
    size_t left = 0;
    for (size_t i = stage + 1; i < plan->num_stages; i++)
        left += plan->stages[i].ipu == plan->stages[stage].ipu;
    if (left == 0)
        return;
    pl_text_add(text, left > 1 ? " with stages" : " with stage");
    for (size_t i = stage + 1; i < plan->num_stages; i++)
        if (plan->stages[i].ipu == plan->stages[stage].ipu) {
            left--;
            pl_text_format(text, " %zu%s", i, left > 1 ? "," : left == 1 ? " and" : ":");
        }
}

static void write_text(const popliner_certificate *c, size_t number, pl_text *text) {
    const popliner_plan_stage *stage = &c->plan.stages[number];
    const popliner_stage_detail *d = &c->details[number];
    const popliner_chain *chain = c->input.chain;
    const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
    const size_t first = first_on_ipu(&c->plan, number);
    pl_text_format(text, "Stage %zu", number);
    if (c->options.options.num_mapped_stages > 0)
        pl_text_format(text, " on IPU %zu", stage->ipu);
    pl_text_format(text, ": %s", pl_chain_unit_at(chain, stage->first_unit)->label);
    if (stage->last_unit > stage->first_unit)
        pl_text_format(text, " to %s", pl_chain_unit_at(chain, stage->last_unit)->label);
    if (c->stage_choices != NULL)
        pl_text_format(text, ", recompute %s", c->stage_choices[number]);
    if (first < number) {
        pl_text_format(text, "\n  counted with stage %zu\n", first);
        return;
    }
    pl_text_add(text, "\n ");
    write_others(&c->plan, number, text);
    pl_text_format(text,
                   " total %" PRIu64 " bytes; worst tile %zu: %" PRIu64 " bytes at step %zu, ",
                   d->total_bytes, d->tile, d->tile_bytes, d->step);
    static const char *const whose[] = {
        [POPLINER_NEED_EXPECTED] = "",
        [POPLINER_NEED_LEAST] = " with what it needs at least",
        [POPLINER_NEED_MOST] = " with what it needs at most",
    };
    uint64_t need_bytes = d->need_bytes[c->input.need];
    bool fits = need_bytes <= limit_bytes;
    pl_text_format(text, "%" PRIu64 " %s the limit of %" PRIu64 "%s\n",
                   fits ? limit_bytes - need_bytes : need_bytes - limit_bytes,
                   fits ? "below" : "ABOVE", limit_bytes, whose[c->input.need]);
    if (chain->model->follows_account)
        pl_text_format(text,
                       "  %s%s: at least %" PRIu64 ", expected %" PRIu64 ", at most %" PRIu64
                       " bytes; margin %+.1f spreads\n",
                       popliner_verdict_text(popliner_certificate_verdict_at(c, number)),
                       popliner_certificate_verdict_at(c, number) == POPLINER_FITS_UNKNOWN
                           ? " (the profile has its layers on several IPUs)"
                           : "",
                       d->need_bytes[POPLINER_NEED_LEAST], d->need_bytes[POPLINER_NEED_EXPECTED],
                       d->need_bytes[POPLINER_NEED_MOST], popliner_margin_spreads(d, limit_bytes));
    for (size_t i = 0; i < d->num_variables; i++) {
        const popliner_stage_variable *v = &d->variables[i];
        pl_text_format(text, "  %10" PRIu64 "  %-16s %s\n", v->size_bytes, v->category, v->name);
    }
}

static json_t *name_or_null(const popliner_chain *chain, size_t unit) {
    const char *name = pl_chain_unit_at(chain, unit)->name;
    return name == NULL ? json_null() : pl_report_json_text(name);
}

static json_t *as_json(const popliner_certificate *c, size_t number) {
    const popliner_plan_stage *stage = &c->plan.stages[number];
    const popliner_stage_detail *d = &c->details[number];
    const popliner_chain *chain = c->input.chain;
    const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
    const pl_fit fit = pl_certificate_fit_of(c, number);
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "unit_from",
        pl_report_json_text(pl_chain_unit_at(chain, stage->first_unit)->label), "unit_to",
        pl_report_json_text(pl_chain_unit_at(chain, stage->last_unit)->label), "layer_from",
        name_or_null(chain, stage->first_unit), "layer_to", name_or_null(chain, stage->last_unit),
        "total_bytes", (json_int_t)d->total_bytes, "tile", (json_int_t)d->tile, "tile_bytes",
        (json_int_t)d->tile_bytes, "step", (json_int_t)d->step, "headroom_bytes",
        (json_int_t)limit_bytes - (json_int_t)d->need_bytes[c->input.need], "fits",
        fit == PL_FIT_UNKNOWN ? json_null() : json_boolean(fit == PL_FITS), "largest_variables",
        pl_report_variables_json(d));
    if (json != NULL && chain->model->follows_account &&
        (json_object_set_new(json, "needs", pl_report_needs_json(d, limit_bytes)) != 0 ||
         json_object_set_new(json, "mem", pl_report_memory_json(d, true, &c->input.pipeline)) !=
             0)) {
        json_decref(json);
        return NULL;
    }
    if (json != NULL && c->options.options.num_mapped_stages > 0 &&
        json_object_set_new(json, "ipu", json_integer((json_int_t)stage->ipu)) != 0) {
        json_decref(json);
        return NULL;
    }
    if (json != NULL && c->stage_choices != NULL &&
        json_object_set_new(json, "recompute", pl_report_json_text(c->stage_choices[number])) !=
            0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *pl_certificate_evaluation_json(const popliner_certificate *certificate) {
    json_t *stages = json_array();
    bool done = stages != NULL;
    for (size_t i = 0; done && i < certificate->plan.num_stages; i++)
        done = json_array_append_new(stages, as_json(certificate, i)) == 0;
    return pl_report_whole(stages, done);
}

popliner_status popliner_report_evaluation(const popliner_certificate *certificate,
                                           popliner_format format, char **result,
                                           popliner_error *error) {
    *result = NULL;
    if (!certificate->is_measured)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stages whose costs are of no profile have no details");
    pl_text text = {0};
    popliner_status status = POPLINER_OK;
    if (format == POPLINER_FORMAT_JSON) {
        status = pl_report_json(pl_certificate_evaluation_json(certificate), &text, error);
    } else {
        for (size_t i = 0; i < certificate->plan.num_stages; i++)
            write_text(certificate, i, &text);
        pl_text_format(&text, "Memory model: %s\n", certificate->input.chain->model->name);
    }
    return pl_report_finish_printable(&text, status, result, error);
}
