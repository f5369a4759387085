/* A split as an object of docs/plan.schema.json.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "show/emit_data.h"
#include "show/report_parts.h"

static json_t *text_or_null(const char *text) {
    return text == NULL ? json_null() : pl_report_json_text(text);
}

/* Of what runs beside the layers. */
static bool append_all(json_t *list, const char *const *names, size_t count) {
    bool done = true;
    for (size_t i = 0; i < count; i++)
        done = pl_report_append(list, pl_report_json_text(names[i])) && done;
    return done;
}

static json_t *layer_json(const pl_emission *e, size_t layer) {
    static const char hole[] = "{}";
    const char *path = e->options.layer_path;
    const char *place = strstr(path, hole);
    pl_text text = {0};
    pl_text_append(&text, path, (size_t)(place - path));
    pl_text_add(&text, e->layers[layer]);
    pl_text_add(&text, place + strlen(hole));
    json_t *json = text.failed ? NULL : pl_report_json_text(text.data);
    free(text.data);
    return json;
}

/* The modules of a stage; null without a path. */
static json_t *modules_json(const pl_emission *e, size_t i) {
    const popliner_emit_options *o = &e->options;
    const pl_emit_stage *stage = &e->stages[i];
    if (o->layer_path == NULL)
        return json_null();
    json_t *list = json_array();
    bool done = i > 0 || append_all(list, o->head_modules, o->num_head_modules);
    for (size_t k = 0; k < stage->num_layers; k++)
        done = pl_report_append(list, layer_json(e, stage->first_layer + k)) && done;
    if (i + 1 == e->num_stages)
        done = append_all(list, o->tail_modules, o->num_tail_modules) && done;
    return pl_report_whole(list, done);
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

static json_t *stage_json(const pl_emission *e, size_t i) {
    const pl_emit_stage *stage = &e->stages[i];
    json_t *json = json_object();
    json_t *units = json_array();
    json_t *layers = json_array();
    bool done = append_all(units, e->unit_names + stage->first_unit,
                           stage->last_unit - stage->first_unit + 1);
    done = append_all(layers, e->layers + stage->first_layer, stage->num_layers) && done;
    done = pl_report_put(json, "ipu", json_integer((json_int_t)stage->ipu)) && done;
    done = pl_report_put(json, "units", units) && done;
    done = pl_report_put(json, "layers", layers) && done;
    done = pl_report_put(json, "head", json_boolean(stage->has_head)) && done;
    done = pl_report_put(json, "tail", json_boolean(stage->has_tail)) && done;
    done = pl_report_put(json, "modules", modules_json(e, i)) && done;
    done = pl_report_put(json, "recompute", text_or_null(recompute_of(e, i))) && done;
    return pl_report_whole(json, done);
}

popliner_status pl_emit_json(pl_emission *e, pl_text *text, popliner_error *error) {
    json_t *json = json_object();
    json_t *stages = json_array();
    bool done = pl_report_put(json, "format", json_string("popliner-plan"));
    done = pl_report_put(json, "version", json_integer(1)) && done;
    done = pl_report_put(json, "status", json_string(e->status)) && done;
    done = pl_report_put(json, "ipus", json_integer((json_int_t)e->num_ipus)) && done;
    done = pl_report_put(json, "replicas", json_integer((json_int_t)e->num_replicas)) && done;
    done = pl_report_put(json, "micro_batches",
                         e->micro_batches == 0 ? json_null()
                                               : json_integer((json_int_t)e->micro_batches)) &&
           done;
    for (size_t i = 0; i < e->num_stages; i++)
        done = pl_report_append(stages, stage_json(e, i)) && done;
    done = pl_report_put(json, "stages", stages) && done;
    return pl_report_json(pl_report_whole(json, done), text, error);
}
