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

static void put_stage(const popliner_certificate *c, size_t number, pl_json *json) {
    const popliner_plan_stage *stage = &c->plan.stages[number];
    const popliner_stage_detail *d = &c->details[number];
    const popliner_chain_unit *first = pl_chain_unit_at(c->input.chain, stage->first_unit);
    const popliner_chain_unit *last = pl_chain_unit_at(c->input.chain, stage->last_unit);
    const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "unit_from", first->label);
    pl_put_text(json, "unit_to", last->label);
    pl_put_text(json, "layer_from", first->name);
    pl_put_text(json, "layer_to", last->name);
    pl_put_number(json, "total_bytes", d->total_bytes);
    pl_put_number(json, "tile", d->tile);
    pl_put_number(json, "tile_bytes", d->tile_bytes);
    pl_put_number(json, "step", d->step);
    pl_put_signed(json, "headroom_bytes", (int64_t)(limit_bytes - d->need_bytes[c->input.need]));
    pl_certificate_put_fit(pl_certificate_fit_of(c, number), json);
    pl_report_variables_json(d, json);
    if (c->input.chain->model->follows_account) {
        pl_report_needs_json(d, limit_bytes, json);
        pl_report_memory_json(d, true, &c->input.pipeline, json);
    }
    if (c->options.options.num_mapped_stages > 0)
        pl_put_number(json, "ipu", stage->ipu);
    if (c->stage_choices != NULL)
        pl_put_text(json, "recompute", c->stage_choices[number]);
    pl_put_close(json);
}

void pl_certificate_evaluation_json(const popliner_certificate *certificate, const char *key,
                                    pl_json *json) {
    pl_put_open(json, key, '[');
    for (size_t i = 0; i < certificate->plan.num_stages; i++)
        put_stage(certificate, i, json);
    pl_put_close(json);
}

popliner_status popliner_report_evaluation(const popliner_certificate *certificate,
                                           popliner_format format, char **result,
                                           popliner_error *error) {
    *result = NULL;
    if (!certificate->is_measured)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stages whose costs are of no profile have no details");
    pl_text text = {0};
    if (format == POPLINER_FORMAT_JSON) {
        pl_certificate_evaluation_json(certificate, NULL, &(pl_json){.text = &text});
    } else {
        for (size_t i = 0; i < certificate->plan.num_stages; i++)
            write_text(certificate, i, &text);
        pl_text_format(&text, "Memory model: %s\n", certificate->input.chain->model->name);
    }
    return pl_report_finish_printable(&text, POPLINER_OK, result, error);
}
