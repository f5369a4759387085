/* Predictions against a compiled pipeline, and the correction.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "answer/calibration_data.h"
#include "answer/certificate_data.h"
#include "base/text.h"
#include "memory/parts.h"
#include "pipeline/pipeline.h"

static const char *group_name(int group) {
    return group == POPLINER_GROUP_DATA     ? "data"
           : group == POPLINER_GROUP_LAYOUT ? pl_parts[POPLINER_PART_LAYOUT].name
                                            : pl_parts[PL_FIRST_CODE + group].name;
}

/* Names a part of the expectation that may be left out: see POPLINER_NUM_COUNTED_PARTS. */
static const char *part_name(size_t part) {
    const char *name = pl_effect_name(part);
    return name == NULL ? "accumulators" : name;
}

/* ---- text ---- */

static void write_row(pl_text *text, const char *name, double predicted, double compiled) {
    pl_text_format(text, "  %-24s %12.0f %12.0f", name, predicted, compiled);
    if (compiled > 0)
        pl_text_format(text, " %+7.1f %%", 100 * (predicted / compiled - 1));
    pl_text_add(text, "\n");
}

static void write_spread(pl_text *text, const char *name, const popliner_tile_spread *predicted,
                         const popliner_tile_spread *compiled) {
    pl_text_format(text, "  %s by tile\n", name);
    write_row(text, "  least", (double)predicted->min_bytes, (double)compiled->min_bytes);
    write_row(text, "  median", (double)predicted->median_bytes, (double)compiled->median_bytes);
    write_row(text, "  mean", predicted->mean_bytes, compiled->mean_bytes);
    write_row(text, "  most", (double)predicted->max_bytes, (double)compiled->max_bytes);
}

static void write_groups(pl_text *text, const char *title, const uint64_t *predicted,
                         const uint64_t *compiled) {
    pl_text_format(text, "  %s\n", title);
    for (int group = 0; group < POPLINER_NUM_GROUPS; group++) {
        char name[32] = "  ";
        const char *own = group_name(group);
        for (size_t i = 0; own[i] != '\0'; i++)
            name[i + 2] = (char)(own[i] == '_' ? ' ' : own[i]);
        write_row(text, name, (double)predicted[group], (double)compiled[group]);
    }
}

static void write_stage(pl_text *text, const pl_comparison *c, size_t number) {
    const popliner_compared_stage *s = &c->stages[number];
    pl_text_format(text, "Stage %zu: %s", number, c->names[2 * number]);
    if (s->units.first_unit < s->units.last_unit)
        pl_text_format(text, " to %s", c->names[2 * number + 1]);
    pl_text_format(text, "\n  %-24s %12s %12s %9s\n", "bytes", "predicted", "compiled", "error");
    write_row(
        text, "fullest tile", (double)s->predicted.whole.max_bytes,
        (double)(c->counts_layout ? s->compiled.whole.max_bytes : s->compiled.live.max_bytes));
    pl_text_format(text, "  %-24s %12zu %12zu\n", "  which is tile", s->predicted.whole.tile,
                   s->compiled.whole.tile);
    write_spread(text, "live", &s->predicted.live, &s->compiled.live);
    write_spread(text, "with layout", &s->predicted.whole, &s->compiled.whole);
    write_groups(text, "on the fullest tile", s->predicted.tile_bytes, s->compiled.tile_bytes);
    write_groups(text, "over all tiles", s->predicted.group_bytes, s->compiled.group_bytes);
    for (size_t part = 0; part < POPLINER_NUM_COUNTED_PARTS; part++)
        if (!isnan(s->without_percent[part]))
            pl_text_format(text, "  error without %-12s %+.1f %%, and %+.1f %% with it\n",
                           part_name(part), s->without_percent[part], s->error_percent);
}

static void write_percent(pl_text *text, double percent) {
    if (isnan(percent))
        pl_text_format(text, " %11s", "-");
    else
        pl_text_format(text, " %+9.1f %%", percent);
}

static void write_scales(pl_text *text, const char *stages, const popliner_scales *scales) {
    pl_text_format(text, "Correction, %s: code times %.6f, data times %.6f, layout times %.6f\n",
                   stages, (double)scales->code_per_million / 1e6,
                   (double)scales->data_per_million / 1e6,
                   (double)scales->layout_per_million / 1e6);
}

static void write_correction(pl_text *text, const pl_comparison *c) {
    pl_text_add(text, "Errors of the fullest tile\n");
    pl_text_format(text, "  stage %11s %11s %11s\n", c->has_correction ? "before" : "error",
                   c->has_correction ? "after" : "", c->has_correction ? "left out" : "");
    for (size_t i = 0; i < c->num_stages; i++) {
        pl_text_format(text, "  %5zu", i);
        write_percent(text, c->stages[i].error_percent);
        if (c->has_correction) {
            write_percent(text, c->stages[i].corrected_percent);
            write_percent(text, c->stages[i].left_out_percent);
        }
        pl_text_add(text, "\n");
    }
    if (!c->has_correction) {
        pl_text_add(text, "The predictions are with a calibration already: no other is made.\n");
        return;
    }
    pl_text_add(text, "Left out: with a correction made of the others alone; without another last "
                      "stage the last\nis not corrected.\n");
    write_scales(text, "earlier stages", &c->correction.earlier);
    write_scales(text, "last stage", &c->correction.last);
}

/* ---- JSON ---- */

static void put_spread(const char *key, const popliner_tile_spread *s, pl_json *json) {
    pl_put_open(json, key, '{');
    pl_put_number(json, "min", s->min_bytes);
    pl_put_number(json, "median", s->median_bytes);
    pl_put_real(json, "mean", s->mean_bytes);
    pl_put_number(json, "max", s->max_bytes);
    pl_put_number(json, "tile", s->tile);
    pl_put_close(json);
}

static void put_groups(const char *key, const uint64_t *bytes, pl_json *json) {
    pl_put_open(json, key, '{');
    for (int group = 0; group < POPLINER_NUM_GROUPS; group++)
        pl_put_number(json, group_name(group), bytes[group]);
    pl_put_close(json);
}

static void put_memory(const char *key, const popliner_ipu_memory *memory, pl_json *json) {
    pl_put_open(json, key, '{');
    put_spread("live", &memory->live, json);
    put_spread("with_layout", &memory->whole, json);
    put_groups("all_tiles", memory->group_bytes, json);
    put_groups("largest_tile", memory->tile_bytes, json);
    pl_put_close(json);
}

static void put_percent(const char *key, double percent, pl_json *json) {
    if (isnan(percent))
        pl_put_null(json, key);
    else
        pl_put_real(json, key, percent);
}

static void put_stage(const pl_comparison *c, size_t number, pl_json *json) {
    const popliner_compared_stage *s = &c->stages[number];
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "unit_from", c->names[2 * number]);
    pl_put_text(json, "unit_to", c->names[2 * number + 1]);
    put_memory("predicted", &s->predicted, json);
    put_memory("compiled", &s->compiled, json);
    pl_put_real(json, "error_percent", s->error_percent);
    pl_put_real(json, "live_error_percent", s->live_error_percent);
    pl_put_open(json, "error_percent_without", '{');
    for (size_t part = 0; part < POPLINER_NUM_COUNTED_PARTS; part++)
        if (!isnan(s->without_percent[part]))
            pl_put_real(json, part_name(part), s->without_percent[part]);
    pl_put_close(json);
    put_percent("corrected_percent", s->corrected_percent, json);
    put_percent("left_out_percent", s->left_out_percent, json);
    pl_put_close(json);
}

static void put_correction(const pl_comparison *c, pl_json *json) {
    const popliner_request *r = &c->request;
    pl_put_open(json, "correction", '{');
    pl_report_calibration_json(&c->correction, json);
    pl_put_open(json, "made_with", '{');
    pl_put_text(json, "schedule", pl_schedule_name(r->schedule));
    pl_put_text(json, "recompute", pl_recompute_name(r->recompute));
    pl_report_effects_json(r->effects, json);
    pl_put_text(json, "accumulators", pl_accumulators_name(r->accumulators));
    pl_put_text(json, "poplar_version", c->poplar_version);
    pl_put_number(json, "num_ipus", c->num_stages);
    pl_put_number(json, "tiles_per_ipu", c->num_tiles);
    pl_put_close(json);
    pl_put_close(json);
}

static void put_comparison(const pl_comparison *c, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "format", "popliner-calibration");
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < c->num_stages; i++)
        put_stage(c, i, json);
    pl_put_close(json);
    if (c->has_correction)
        put_correction(c, json);
    else
        pl_put_null(json, "correction");
    pl_put_close(json);
}

popliner_status popliner_report_comparison(const popliner_comparison *callers,
                                           popliner_format format, char **result,
                                           popliner_error *error) {
    const pl_comparison *comparison = (const pl_comparison *)callers;
    pl_text text = {0};
    if (format == POPLINER_FORMAT_JSON) {
        put_comparison(comparison, &(pl_json){.text = &text});
    } else {
        for (size_t i = 0; i < comparison->num_stages; i++)
            write_stage(&text, comparison, i);
        write_correction(&text, comparison);
    }
    return pl_text_finish_printable(&text, POPLINER_OK, result, error);
}
