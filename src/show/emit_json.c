/* A split as an object of docs/plan.schema.json.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "show/emit_data.h"
#include "show/report_parts.h"

/* Of what runs beside the layers. */
static void put_all(pl_json *json, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_put_text(json, NULL, names[i]);
}

static void put_layer(const pl_emission *e, size_t layer, pl_json *json) {
    static const char hole[] = "{}";
    const char *path = e->options.layer_path;
    const char *place = strstr(path, hole);
    pl_text text = {0};
    pl_text_append(&text, path, (size_t)(place - path));
    pl_text_add(&text, e->layers[layer]);
    pl_text_add(&text, place + strlen(hole));
    json->text->failed = json->text->failed || text.failed;
    pl_put_text(json, NULL, text.failed ? NULL : text.data);
    free(text.data);
}

/* The modules of a stage; null without a path. */
static void put_modules(const pl_emission *e, size_t i, pl_json *json) {
    const popliner_emit_options *o = &e->options;
    const pl_emit_stage *stage = &e->stages[i];
    if (o->layer_path == NULL) {
        pl_put_null(json, "modules");
        return;
    }
    pl_put_open(json, "modules", '[');
    if (i == 0)
        put_all(json, o->head_modules, o->num_head_modules);
    for (size_t k = 0; k < stage->num_layers; k++)
        put_layer(e, stage->first_layer + k, json);
    if (i + 1 == e->num_stages)
        put_all(json, o->tail_modules, o->num_tail_modules);
    pl_put_close(json);
}

/* What a stage recomputes; NULL where nothing was said of it. */
static const char *recompute_of(const pl_emission *e, size_t i) {
    if (e->stage_choices != NULL)
        return e->stage_choices[i];
    return !e->keeps                                     ? NULL
           : e->recompute == POPLINER_RECOMPUTE_FULL     ? "full"
           : e->recompute == POPLINER_RECOMPUTE_STANDARD ? "standard"
                                                         : NULL;
}

popliner_status pl_emit_json(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_json json = {.text = text};
    pl_put_open(&json, NULL, '{');
    pl_put_text(&json, "format", "popliner-plan");
    pl_put_number(&json, "version", 1);
    pl_put_text(&json, "status", e->status);
    pl_put_number(&json, "ipus", e->num_ipus);
    pl_put_number(&json, "replicas", e->num_replicas);
    pl_put_count(&json, "micro_batches", e->micro_batches);
    pl_put_open(&json, "stages", '[');
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        pl_put_open(&json, NULL, '{');
        pl_put_number(&json, "ipu", stage->ipu);
        pl_put_texts(&json, "units", e->unit_names + stage->first_unit,
                     stage->last_unit - stage->first_unit + 1);
        pl_put_texts(&json, "layers", e->layers + stage->first_layer, stage->num_layers);
        pl_put_flag(&json, "head", stage->has_head);
        pl_put_flag(&json, "tail", stage->has_tail);
        put_modules(e, i, &json);
        pl_put_text(&json, "recompute", recompute_of(e, i));
        pl_put_close(&json);
    }
    pl_put_close(&json);
    pl_put_close(&json);
    return POPLINER_OK;
}
