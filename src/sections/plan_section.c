/* The section of a plan: a row for each stage, with what its IPU needs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/sections.h"

#include "memory/chain_data.h"
#include "memory/parts.h"
#include "show/certificate_data.h"

/* The columns of what the IPU of a stage needs over all tiles: parts, then parameters. */
static size_t list_parts(popliner_part *parts) {
    size_t count = 0;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (!pl_parts[part].info.is_within)
            parts[count++] = (popliner_part)part;
    parts[count++] = POPLINER_PART_PARAMETERS;
    return count;
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
    static const char *const first[] = {
        "stage",          "ipu",
        "first_unit",     "last_unit",
        "limit_bytes",    "need_bytes",
        "headroom_bytes", "verdict",
        "largest_tile",   "largest_tile_bytes",
        "peak_step",      "at_least_bytes",
        "at_most_bytes",  "total_bytes",
    };
    static const char *const last[] = {
        "correction_bytes",
        "cycles",
        "cut_bytes",
    };
    const popliner_certificate *c = source->certificate;
    const bool has_needs = c->input.chain->model->follows_account;
    (void)error;
    popliner_part parts[POPLINER_NUM_PARTS];
    const size_t num_parts = list_parts(parts);
    pl_column_names columns = {0};
    pl_column_names_add(&columns, first, sizeof first / sizeof *first);
    pl_column_names_add_parts(&columns, parts, num_parts);
    pl_column_names_add(&columns, last, sizeof last / sizeof *last);
    pl_sheet_begin(sheet, sheet->format, "plan", columns.names, columns.count);
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
        pl_sheet_number(sheet, d->total_bytes);
        for (size_t k = 0; k < num_parts; k++)
            pl_sheet_number(sheet, d->part_bytes[parts[k]]);
        pl_sheet_signed(sheet, d->correction_bytes);
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
