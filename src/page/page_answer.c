/* The options, the words of a command line and the plan: shared by pages of profiles and of costs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include "answer/certificate_data.h"
#include "base/structs.h"

popliner_status pl_page_take_options(const popliner_page_options *callers,
                                     popliner_page_options *options, popliner_error *error) {
    *options = (popliner_page_options)POPLINER_PAGE_OPTIONS_INIT;
    return pl_struct_take(options, sizeof *options, callers, "popliner_page_options", error);
}

static void put_words(pl_json *json, const popliner_page_options *options) {
    static const char *const names[] = {
        [POPLINER_PAGE_WORD_COMMAND] = "command",
        [POPLINER_PAGE_WORD_CONSTRAINTS] = "constraints",
        [POPLINER_PAGE_WORD_SOLVE] = "solve",
        [POPLINER_PAGE_WORD_EVALUATE] = "evaluate",
        [POPLINER_PAGE_WORD_NUM_IPUS] = "num_ipus",
        [POPLINER_PAGE_WORD_MEM_PER_TILE] = "mem_per_tile",
        [POPLINER_PAGE_WORD_OBJECTIVE] = "objective",
        [POPLINER_PAGE_WORD_SCHEDULE] = "schedule",
        [POPLINER_PAGE_WORD_RECOMPUTE] = "recompute",
        [POPLINER_PAGE_WORD_SLACK] = "slack",
        [POPLINER_PAGE_WORD_DEVICE_MAP] = "device_map",
        [POPLINER_PAGE_WORD_IPU_SPEED] = "ipu_speed",
        [POPLINER_PAGE_WORD_BANDWIDTH] = "bandwidth",
        [POPLINER_PAGE_WORD_LEAST] = "least",
        [POPLINER_PAGE_WORD_EXPECTED] = "expected",
        [POPLINER_PAGE_WORD_MOST] = "most",
    };
    pl_put_line(json);
    if (options->words[POPLINER_PAGE_WORD_COMMAND] == NULL) {
        pl_put_null(json, "words");
        return;
    }
    pl_put_open(json, "words", '{');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pl_put_text(json, names[i], options->words[i] != NULL ? options->words[i] : "");
    pl_put_close(json);
}

void pl_page_put_head(pl_json *json, const popliner_page_options *options) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "version", PL_VERSION);
    pl_put_line(json);
    pl_put_text(json, "title", options->title != NULL ? options->title : "");
    put_words(json, options);
}

/* Writes what was measured of a stage's IPU. */
static void put_detail(pl_json *json, const pl_certificate *c, size_t i) {
    const popliner_stage_detail *d = &c->details[i];
    pl_put_number(json, "need_bytes", d->need_bytes[c->input.need]);
    pl_put_number(json, "least", d->need_bytes[POPLINER_NEED_LEAST]);
    pl_put_number(json, "expected", d->need_bytes[POPLINER_NEED_EXPECTED]);
    pl_put_number(json, "most", d->need_bytes[POPLINER_NEED_MOST]);
    pl_put_number(json, "total_bytes", d->total_bytes);
    pl_put_number(json, "tile", d->tile);
    pl_put_number(json, "step", d->step);
    pl_put_text(json, "verdict", pl_verdict_text(c->verdicts[i]));
    pl_put_open(json, "tile_parts", '{');
    pl_report_tile_parts_json(d, json);
    pl_put_close(json);
    pl_put_open(json, "variables", '[');
    for (size_t k = 0; k < d->num_variables; k++) {
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "size_bytes", d->variables[k].size_bytes);
        pl_put_text(json, "name", d->variables[k].name);
        pl_put_text(json, "category", d->variables[k].category);
        pl_put_close(json);
    }
    pl_put_close(json);
}

/* Writes what the IPU of a stage needs, by costs, of which there is one estimate. */
static void put_peak(pl_json *json, const pl_certificate *c, size_t i) {
    static const char *const names[] = {"need_bytes", "least", "expected", "most"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        pl_put_number(json, names[k], c->plan.stages[i].peak_bytes);
    pl_put_text(json, "verdict",
                pl_verdict_text(pl_certificate_fit_of(c, i) == PL_FITS ? POPLINER_FITS
                                                                       : POPLINER_FITS_NOT));
}

void pl_page_put_plan(pl_json *json, const popliner_certificate *certificate) {
    const pl_certificate *c = pl_certificate_of(certificate);
    const size_t num_stages = c == NULL ? 0 : c->plan.num_stages;
    pl_put_line(json);
    if (num_stages == 0)
        pl_put_null(json, "plan");
    else
        pl_put_open(json, "plan", '[');
    for (size_t i = 1; i < num_stages; i++)
        pl_put_number(json, NULL, c->plan.stages[i].first_unit);
    if (num_stages > 0)
        pl_put_close(json);
    pl_put_line(json);
    pl_put_open(json, "plan_stages", '[');
    for (size_t i = 0; i < num_stages; i++) {
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "ipu", c->plan.stages[i].ipu);
        pl_certificate_put_fit(pl_certificate_fit_of(c, i), json);
        if (c->is_measured)
            put_detail(json, c, i);
        else
            put_peak(json, c, i);
        pl_put_close(json);
    }
    pl_put_close(json);
}
