/* Predictions against a compiled pipeline, and the correction.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "pipeline/pipeline.h"
#include "show/calibration_data.h"
#include "show/report_parts.h"

static const char *const group_names[POPLINER_NUM_GROUPS] = {
    [POPLINER_GROUP_VERTEX_CODE] = "vertex_code",
    [POPLINER_GROUP_VERTEX_STATE] = "vertex_state",
    [POPLINER_GROUP_EXCHANGE_CODE] = "exchange_code",
    [POPLINER_GROUP_CONTROL_CODE] = "control_code",
    [POPLINER_GROUP_DATA] = "data",
    [POPLINER_GROUP_LAYOUT] = "layout",
};

/* What of the expectation may be left out: see POPLINER_NUM_COUNTED_PARTS. */
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
        for (size_t i = 0; group_names[group][i] != '\0'; i++)
            name[i + 2] = (char)(group_names[group][i] == '_' ? ' ' : group_names[group][i]);
        write_row(text, name, (double)predicted[group], (double)compiled[group]);
    }
}

static void write_stage(pl_text *text, const popliner_comparison *c, size_t number) {
    const popliner_compared_stage *s = &c->stages[number];
    pl_text_format(text, "Stage %zu: %s", number, c->names[2 * number]);
    if (s->units.first_unit < s->units.last_unit)
        pl_text_format(text, " to %s", c->names[2 * number + 1]);
    pl_text_format(text, "\n  %-24s %12s %12s %9s\n", "bytes", "predicted", "compiled", "error");
    write_row(
        text, "largest tile", (double)s->predicted.whole.max_bytes,
        (double)(c->counts_layout ? s->compiled.whole.max_bytes : s->compiled.live.max_bytes));
    pl_text_format(text, "  %-24s %12zu %12zu\n", "  which is tile", s->predicted.whole.tile,
                   s->compiled.whole.tile);
    write_spread(text, "live", &s->predicted.live, &s->compiled.live);
    write_spread(text, "with layout", &s->predicted.whole, &s->compiled.whole);
    write_groups(text, "on the largest tile", s->predicted.tile_bytes, s->compiled.tile_bytes);
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

static void write_correction(pl_text *text, const popliner_comparison *c) {
    pl_text_add(text, "Errors of the largest tile\n");
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

static json_t *spread_json(const popliner_tile_spread *s) {
    return json_pack("{s:I, s:I, s:f, s:I, s:I}", "min", (json_int_t)s->min_bytes, "median",
                     (json_int_t)s->median_bytes, "mean", s->mean_bytes, "max",
                     (json_int_t)s->max_bytes, "tile", (json_int_t)s->tile);
}

static json_t *groups_json(const uint64_t *bytes) {
    json_t *json = json_object();
    bool done = json != NULL;
    for (int group = 0; done && group < POPLINER_NUM_GROUPS; group++)
        done = pl_report_put(json, group_names[group], json_integer((json_int_t)bytes[group]));
    return pl_report_whole(json, done);
}

static json_t *memory_json(const popliner_ipu_memory *memory) {
    return json_pack("{s:o, s:o, s:o, s:o}", "live", spread_json(&memory->live), "with_layout",
                     spread_json(&memory->whole), "all_tiles", groups_json(memory->group_bytes),
                     "largest_tile", groups_json(memory->tile_bytes));
}

static json_t *percent_json(double percent) {
    return isnan(percent) ? json_null() : json_real(percent);
}

static json_t *stage_json(const popliner_comparison *c, size_t number) {
    const popliner_compared_stage *s = &c->stages[number];
    json_t *without = json_object();
    bool done = without != NULL;
    for (size_t part = 0; done && part < POPLINER_NUM_COUNTED_PARTS; part++)
        if (!isnan(s->without_percent[part]))
            done = pl_report_put(without, part_name(part), json_real(s->without_percent[part]));
    without = pl_report_whole(without, done);
    json_t *json = json_object();
    done = pl_report_put(json, "unit_from", pl_report_json_text(c->names[2 * number]));
    done = pl_report_put(json, "unit_to", pl_report_json_text(c->names[2 * number + 1])) && done;
    done = pl_report_put(json, "predicted", memory_json(&s->predicted)) && done;
    done = pl_report_put(json, "compiled", memory_json(&s->compiled)) && done;
    done = pl_report_put(json, "error_percent", json_real(s->error_percent)) && done;
    done = pl_report_put(json, "live_error_percent", json_real(s->live_error_percent)) && done;
    done = pl_report_put(json, "error_percent_without", without) && done;
    done = pl_report_put(json, "corrected_percent", percent_json(s->corrected_percent)) && done;
    done = pl_report_put(json, "left_out_percent", percent_json(s->left_out_percent)) && done;
    return pl_report_whole(json, done);
}

static json_t *settings_json(const popliner_comparison *c) {
    const popliner_request *r = &c->request;
    json_t *effects = json_array();
    bool done = effects != NULL;
    for (size_t i = 0; done && pl_effect_name(i) != NULL; i++)
        if ((r->effects >> i & 1) != 0)
            done = pl_report_append(effects, json_string(pl_effect_name(i)));
    effects = pl_report_whole(effects, done);
    json_t *json = json_object();
    done = pl_report_put(json, "schedule", json_string(pl_schedule_name(r->schedule)));
    done = pl_report_put(json, "recompute", json_string(pl_recompute_name(r->recompute))) && done;
    done = pl_report_put(json, "effects", effects) && done;
    done =
        pl_report_put(json, "accumulators", json_string(pl_accumulators_name(r->accumulators))) &&
        done;
    done = pl_report_put(json, "poplar_version", pl_report_json_text(c->poplar_version)) && done;
    done = pl_report_put(json, "num_ipus", json_integer((json_int_t)c->num_stages)) && done;
    done = pl_report_put(json, "tiles_per_ipu", json_integer((json_int_t)c->num_tiles)) && done;
    return pl_report_whole(json, done);
}

static json_t *comparison_json(const popliner_comparison *c) {
    json_t *json = json_object();
    json_t *stages = json_array();
    json_t *correction = NULL;
    bool done = stages != NULL;
    for (size_t i = 0; done && i < c->num_stages; i++)
        done = pl_report_append(stages, stage_json(c, i));
    stages = pl_report_whole(stages, done);
    if (c->has_correction)
        correction =
            json_pack("{s:o, s:o, s:o}", "earlier_stages",
                      pl_report_scales_json(&c->correction.earlier), "last_stage",
                      pl_report_scales_json(&c->correction.last), "made_with", settings_json(c));
    else
        correction = json_null();
    done = pl_report_put(json, "format", json_string("popliner-calibration"));
    done = pl_report_put(json, "stages", stages) && done;
    done = pl_report_put(json, "correction", correction) && done;
    return pl_report_whole(json, done);
}

popliner_status popliner_report_comparison(const popliner_comparison *comparison,
                                           popliner_format format, char **result,
                                           popliner_error *error) {
    pl_text text = {0};
    popliner_status status = POPLINER_OK;
    if (format == POPLINER_FORMAT_JSON) {
        status = pl_report_json(comparison_json(comparison), &text, error);
    } else {
        for (size_t i = 0; i < comparison->num_stages; i++)
            write_stage(&text, comparison, i);
        write_correction(&text, comparison);
    }
    return pl_report_finish_printable(&text, status, result, error);
}
