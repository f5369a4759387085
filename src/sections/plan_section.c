/* The section of a plan: a row for each stage, with what its IPU needs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/sections.h"

#include "memory/chain_data.h"
#include "show/certificate_data.h"

/* What the IPU of a stage needs over all tiles. */
static void add_sums(const popliner_stage_detail *d, pl_sheet *sheet) {
    const uint64_t bytes[] = {
        d->total_bytes,         d->variables_bytes,    d->vertex_code_bytes, d->vertex_state_bytes,
        d->exchange_code_bytes, d->control_code_bytes, d->unexplained_bytes, d->stash_bytes,
        d->buffer_bytes,        d->accumulator_bytes,  d->layout_bytes,      d->parameter_bytes,
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        pl_sheet_number(sheet, bytes[i]);
    pl_sheet_signed(sheet, d->correction_bytes);
}

/* PopLiner's model does not know what compiling adds: nothing is certain there. */
static void add_bound(pl_sheet *sheet, bool has_needs, uint64_t bytes) {
    if (has_needs)
        pl_sheet_number(sheet, bytes);
    else
        pl_sheet_none(sheet);
}

popliner_status pl_section_plan(const pl_section_source *source, pl_sheet *sheet,
                                popliner_error *error) {
    static const char *const columns[] = {
        "stage",
        "ipu",
        "first_unit",
        "last_unit",
        "limit_bytes",
        "need_bytes",
        "headroom_bytes",
        "verdict",
        "largest_tile",
        "largest_tile_bytes",
        "peak_step",
        "at_least_bytes",
        "at_most_bytes",
        "total_bytes",
        "variables_bytes",
        "vertex_code_bytes",
        "vertex_state_bytes",
        "exchange_code_bytes",
        "control_code_bytes",
        "unexplained_bytes",
        "stash_bytes",
        "buffer_bytes",
        "accumulator_bytes",
        "layout_bytes",
        "parameter_bytes",
        "correction_bytes",
        "cycles",
        "cut_bytes",
    };
    const popliner_certificate *c = source->certificate;
    const bool has_needs = c->input.chain->model->follows_account;
    (void)error;
    pl_sheet_begin(sheet, sheet->format, "plan", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan.stages[i];
        const popliner_stage_detail *d = &c->details[i];
        const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
        const uint64_t need_bytes = d->need_bytes[c->input.need];
        pl_sheet_number(sheet, i);
        pl_sheet_number(sheet, stage->ipu);
        pl_sheet_text(sheet, c->input.unit_names[stage->first_unit]);
        pl_sheet_text(sheet, c->input.unit_names[stage->last_unit]);
        pl_sheet_number(sheet, limit_bytes);
        pl_sheet_number(sheet, need_bytes);
        pl_sheet_signed(sheet, need_bytes > limit_bytes ? -(int64_t)(need_bytes - limit_bytes)
                                                        : (int64_t)(limit_bytes - need_bytes));
        pl_sheet_text(sheet, has_needs ? popliner_verdict_text(popliner_verdict_of(d, limit_bytes))
                                       : NULL);
        pl_sheet_number(sheet, d->tile);
        pl_sheet_number(sheet, d->tile_bytes);
        pl_sheet_number(sheet, d->step);
        add_bound(sheet, has_needs, d->need_bytes[POPLINER_NEED_LEAST]);
        add_bound(sheet, has_needs, d->need_bytes[POPLINER_NEED_MOST]);
        add_sums(d, sheet);
        if (c->input.has_cycles)
            pl_sheet_number(sheet, stage->cycles);
        else
            pl_sheet_none(sheet);
        /* the greedy algorithm, and who evaluates a split, count no cuts */
        if (c->plan.num_values > 0)
            pl_sheet_number(sheet, stage->cut_bytes);
        else
            pl_sheet_none(sheet);
    }
    return POPLINER_OK;
}
