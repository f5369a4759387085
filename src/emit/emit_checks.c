/* The rules and warnings of each format, and entries and modules of a plan for their templates; the
 * plan as JSON, and the order of its passes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "emit/emit_data.h"
#include "pipeline/order.h"
#include "solve/step.h"

/* ---- strings ---- */

void pl_emit_quote(pl_text *text, const char *string) {
    const size_t length = strlen(string);
    pl_text_add(text, "\"");
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        size_t size = pl_utf8_decode(string + i, &character);
        if (character == '"' || character == '\\')
            pl_text_format(text, "\\%c", (char)character);
        else if (character >= 0x20 && character < 0x7f)
            pl_text_append(text, string + i, 1);
        else
            pl_text_format(text, character > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, character);
        i += size > 0 ? size : 1;
    }
    pl_text_add(text, "\"");
}

/* ---- modules ---- */

/* Keras has no stage without a layer of its own. */
popliner_status pl_emit_check_tensorflow(pl_emission *e, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    const bool lacks_head = e->stages[0].num_layers == 0 && o->num_head_modules == 0;
    const bool lacks_tail =
        e->stages[e->num_stages - 1].num_layers == 0 && o->num_tail_modules == 0;
    if (o->layer_path == NULL || (!lacks_head && !lacks_tail))
        return POPLINER_OK;
    return pl_emit_refuse(e, error, "stage %zu has no named Keras layer; give its layers: %s",
                          lacks_head ? 0 : e->num_stages - 1, e->names.modules);
}

/* ---- numbers of layers ---- */

/* Optimum Graphcore divides the list between encoder and decoder, so these share no IPU. */
popliner_status pl_emit_check_optimum(pl_emission *e, popliner_error *error) {
    for (size_t i = 0; i < e->num_stages && e->second_stack != SIZE_MAX; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        if (e->second_stack > stage->first_layer &&
            e->second_stack < stage->first_layer + stage->num_layers)
            return pl_emit_refuse(e, error,
                                  "encoder and decoder share stage %zu; cut between them (%s%.60s)",
                                  i, e->names.constraints[POPLINER_CONSTRAINT_REQUIRED_CUT],
                                  e->layers[e->second_stack - 1]);
    }
    return POPLINER_OK;
}

size_t pl_emit_num_mtp(const pl_emission *e) {
    size_t count = 0;
    for (size_t i = 0; i < e->num_stages; i++)
        count += e->stages[i].num_mtp;
    return count;
}

/* Megatron-Core has all MTP layers in one stage, the last one of its rank. */
popliner_status pl_emit_check_megatron(pl_emission *e, popliner_error *error) {
    size_t num_mtp = 0;
    for (size_t i = 0; i < e->num_stages; i++) {
        const size_t own = e->stages[i].num_mtp;
        if (own > 0 && (num_mtp > 0 || i + e->num_ipus < e->num_stages))
            return pl_emit_refuse(e, error,
                                  "MTP layers need one stage, the last of its rank; stage %zu has "
                                  "%zu",
                                  i, own);
        num_mtp += own;
    }
    return POPLINER_OK;
}

/* Returns the next layer of a choice like "2=experts-on-host,mtp.0=experts-on-host" by the number
 * that its name ends with, of MTP after num_layers, and moves *choice past it; SIZE_MAX after the
 * last, or for other choices. */
static size_t next_host_layer(const char **choice, size_t num_layers) {
    static const char variant[] = "=experts-on-host";
    const char *end = strstr(*choice, variant);
    const char *begin = end;
    size_t layer = 0;
    while (begin != NULL && begin > *choice && begin[-1] >= '0' && begin[-1] <= '9' &&
           end - begin < 9)
        --begin;
    if (begin == end || memchr(*choice, ',', (size_t)(end - *choice)) != NULL)
        return SIZE_MAX;
    if (begin - *choice >= 4 && memcmp(begin - 4, "mtp.", 4) == 0)
        layer = num_layers;
    size_t number = 0;
    for (; begin < end; ++begin)
        number = 10 * number + (size_t)(*begin - '0');
    layer += number;
    *choice = end + sizeof variant - 1;
    *choice += **choice == ',';
    return layer;
}

bool pl_emit_is_of_host(const char *choice) {
    while (next_host_layer(&choice, 0) != SIZE_MAX)
        ;
    return *choice == '\0';
}

void pl_emit_add_host_layers(const pl_emission *e, pl_text *text) {
    size_t count = 0;
    size_t highest = 0;
    pl_text list = {0};
    for (size_t i = 0; e->stage_choices != NULL && i < e->num_stages; i++) {
        const char *choice = e->stage_choices[i];
        if (!pl_emit_is_of_host(choice))
            continue;
        for (size_t layer; (layer = next_host_layer(&choice, e->num_layers)) != SIZE_MAX; count++) {
            pl_text_format(&list, "%s%zu", count > 0 ? "|" : "", layer);
            highest = layer > highest ? layer : highest;
        }
    }
    text->failed = text->failed || list.failed;
    if (count > 0 && count == highest + 1)
        pl_text_format(text, " --n-cpu-moe %zu", count);
    else if (count > 0 && !list.failed)
        pl_text_format(text, " -ot 'blk\\.(%s)\\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU'",
                       list.data);
    free(list.data);
}

/* ---- numbers of modules ---- */

/* How many modules are before, among and after the layers. A profile has all operations before or
 * after the layers as one unit; rows of a table are modules. */
typedef struct module_counts {
    size_t before;
    size_t inner;
    size_t after;
} module_counts;

static module_counts count_modules(const pl_emission *e) {
    const popliner_emit_options *o = &e->options;
    return (module_counts){
        .before = o->num_head_modules > 0 ? o->num_head_modules : e->num_head_units,
        .inner =
            e->is_of_profile ? e->num_layers : e->num_units - e->num_head_units - e->num_tail_units,
        .after = o->num_tail_modules > 0 ? o->num_tail_modules : e->num_tail_units,
    };
}

/* The row of the table that a stage begins with. */
static size_t first_row(const pl_emission *e, size_t stage) {
    const pl_emit_stage *own = &e->stages[stage];
    return e->is_of_profile ? e->num_head_units + own->first_layer : own->first_unit;
}

size_t pl_emit_first_entry(const pl_emission *e, size_t stage) {
    const module_counts counts = count_modules(e);
    if (stage == 0)
        return 0;
    if (stage == e->num_stages)
        return counts.before + counts.inner + counts.after;
    const size_t row = first_row(e, stage);
    return row < e->num_head_units ? row : row - e->num_head_units + counts.before;
}

popliner_status pl_emit_check_entries(pl_emission *e, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    const module_counts counts = count_modules(e);
    for (size_t i = 1; i < e->num_stages; i++) {
        const size_t row = first_row(e, i);
        const bool is_before = row < e->num_head_units && counts.before != e->num_head_units;
        const bool is_after =
            row > e->num_head_units + counts.inner && counts.after != e->num_tail_units;
        if (is_before || is_after)
            return pl_emit_refuse(
                e, error,
                "stage %zu begins with '%.60s', one of %zu rows %s the layers, for %zu modules; "
                "name a module for each row (%s)",
                i, e->unit_names[e->stages[i].first_unit],
                is_before ? e->num_head_units : e->num_tail_units, is_before ? "before" : "after",
                is_before ? counts.before : counts.after, e->names.modules);
    }
    if ((o->num_head_modules == 0 || o->num_tail_modules == 0) &&
        (e->is_of_profile || counts.inner < e->num_units))
        pl_emit_note(e,
                     "The list of layers is taken to have %zu before the first layer and %zu after "
                     "the last one: name them otherwise (%s).",
                     counts.before, counts.after, e->names.modules);
    return POPLINER_OK;
}

/* ---- JSON ---- */

/* Adds the modules of a stage; null without a path. */
static void put_modules(const pl_emission *e, size_t stage, pl_json *json) {
    if (!pl_put_open_if(json, e->options.layer_path != NULL, "modules", '['))
        return;
    for (size_t i = 0; i < e->num_modules; i++)
        if (e->modules[i].stage == stage)
            pl_put_text(json, NULL, e->modules[i].name);
    pl_put_close(json);
}

/* Returns the recomputation of a stage; NULL if unknown. */
static const char *recompute_of(const pl_emission *e, size_t i) {
    if (e->stage_choices != NULL)
        return e->stage_choices[i];
    return !e->keeps                                     ? NULL
           : e->recompute == POPLINER_RECOMPUTE_FULL     ? "full"
           : e->recompute == POPLINER_RECOMPUTE_STANDARD ? "standard"
                                                         : NULL;
}

/* Finds the order of passes of all micro-batches. */
static popliner_status find_order(pl_emission *e, pl_order *order, popliner_error *error) {
    popliner_pipeline *pipeline = &e->pipeline;
    if (e->micro_batches > 0)
        pipeline->copies.num_micro_batches = (size_t)e->micro_batches;
    if (pipeline->copies.num_micro_batches == 0)
        return pl_emit_refuse(e, error,
                              "has the passes of all micro-batches of a step; give their number");
    *order = pl_order_of_map(pipeline, &e->stages->ipu, sizeof *e->stages, e->num_stages);
    const char *obstacle = pl_step_obstacle(order);
    return obstacle == NULL
               ? POPLINER_OK
               : pl_emit_refuse(e, error, "the order of passes is unknown: %s", obstacle);
}

static void add_pass(const pl_pass *pass, pl_text *text) {
    pl_text_format(text, "%zu%c%zu", pass->stage,
                   pass->kind == PL_PASS_FORWARD   ? 'F'
                   : pass->kind == PL_PASS_WEIGHTS ? 'W'
                   : pass->is_last                 ? 'B'
                                                   : 'I',
                   pass->micro_batch);
}

popliner_status pl_emit_order(pl_emission *e, pl_text *text, popliner_error *error) {
    pl_order order;
    popliner_status status = find_order(e, &order, error);
    for (size_t device = 0; status == POPLINER_OK && device < order.num_devices; device++) {
        pl_order_walk walk = pl_order_begin(&order, device);
        const char *separator = "";
        for (pl_pass pass; pl_order_next(&walk, &pass); separator = ",") {
            pl_text_add(text, separator);
            add_pass(&pass, text);
        }
        pl_text_add(text, "\n");
    }
    return status;
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
