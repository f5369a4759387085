/* The rules and warnings of each format, and entries and modules of a plan for their templates; the
 * plan as JSON, and the order and a trace of its passes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/growth.h"
#include "base/json_writer.h"
#include "base/numbers.h"
#include "base/trace_events.h"
#include "emit/emit_data.h"
#include "pipeline/order.h"
#include "solve/step.h"

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

/* The last character of a layer's name is its symbol. */
popliner_status pl_emit_check_hybrid(pl_emission *e, popliner_error *error) {
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        for (size_t k = 0; k < stage->num_layers; k++) {
            const char *name = e->layers[stage->first_layer + k];
            const size_t length = strlen(name);
            if (length == 0 || strchr("MG*D+-ECHW", name[length - 1]) == NULL)
                return pl_emit_refuse(e, error,
                                      "layer '%.60s' does not end with its symbol; expected names "
                                      "like 0M, 1*, 2-, with one of M G * D + - E C H W",
                                      name);
        }
        if (stage->num_mtp > 0)
            return pl_emit_refuse(e, error,
                                  "the pattern of MTP layers is unknown; stage %zu has one", i);
    }
    return POPLINER_OK;
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
        .inner = e->in->chain != NULL ? e->num_layers
                                      : e->in->num_units - e->num_head_units - e->num_tail_units,
        .after = o->num_tail_modules > 0 ? o->num_tail_modules : e->num_tail_units,
    };
}

/* The row of the table that a stage begins with. */
static size_t first_row(const pl_emission *e, size_t stage) {
    const pl_emit_stage *own = &e->stages[stage];
    return e->in->chain != NULL ? e->num_head_units + own->first_layer : own->first_unit;
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
                i, e->in->unit_names[e->stages[i].first_unit],
                is_before ? e->num_head_units : e->num_tail_units, is_before ? "before" : "after",
                is_before ? counts.before : counts.after, e->names.modules);
    }
    if ((o->num_head_modules == 0 || o->num_tail_modules == 0) &&
        (e->in->chain != NULL || counts.inner < e->in->num_units))
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
    if (e->plan->choices != NULL)
        return e->plan->choices[i];
    return !e->keeps                                                  ? NULL
           : e->in->pipeline.recompute == POPLINER_RECOMPUTE_FULL     ? "full"
           : e->in->pipeline.recompute == POPLINER_RECOMPUTE_STANDARD ? "standard"
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

/* A device in a trace: how far it is, and how many micro-batches its stages hold. */
typedef struct traced_device {
    pl_order_walk walk;
    size_t num_held;
} traced_device;

/* The process of all tracks. */
enum { STEP_PROCESS = 1 };

/* Sets the text to "IPU 0", or "device 0", and what follows. */
static const char *name_device(pl_text *text, const pl_emission *e, size_t number,
                               const char *end) {
    text->length = 0;
    pl_text_format(text, "%s %zu%s", e->in->chain != NULL ? "IPU" : "device", e->stages[number].ipu,
                   end);
    return pl_text_string(text);
}

/* Adds a pass to a track of its device, and what is held during it to another one. */
static void trace_pass(const pl_emission *e, size_t number, const pl_pass *pass, size_t num_held,
                       uint64_t start, uint64_t end, pl_json *json) {
    pl_text name = {0};
    pl_trace_counter(json, STEP_PROCESS, name_device(&name, e, number, " holds"), start,
                     "micro-batches", num_held);
    name.length = 0;
    add_pass(pass, &name);
    pl_trace_begin_slice(json, STEP_PROCESS, e->stages[number].ipu + 1, start, end,
                         pl_text_string(&name));
    pl_trace_end_slice(json);
    json->text->failed = json->text->failed || name.failed;
    free(name.data);
}

/* Adds all passes of a step that ran. */
static void trace_passes(const pl_emission *e, const pl_order *order, const pl_step_graph *graph,
                         traced_device *devices, pl_json *json) {
    /* viewers count nanoseconds: a unit that has fractions is 1000 of their microseconds */
    const uint64_t divisor = pl_larger(1, e->in->cycles_per_time_unit / 1000);
    const bool has_weights = pl_copies_have_weights(&order->pipeline->copies);
    for (size_t i = 0; i < graph->num_passes; i++) {
        const pl_step_node *node = &graph->nodes[i];
        const size_t number = pl_order_device(order, node->part / PL_NUM_PASS_KINDS);
        const uint64_t start = pl_larger(graph->ends[node->before], graph->ends[node->needs]);
        pl_pass pass;
        pl_order_next(&devices[number].walk, &pass);
        i += pass.kind == PL_PASS_BACKWARD && pass.is_last && has_weights; /* one of two nodes */
        devices[number].num_held += pass.kind == PL_PASS_FORWARD;
        trace_pass(e, number, &pass, devices[number].num_held, start / divisor,
                   graph->ends[i + 1] / divisor, json);
        devices[number].num_held -= pass.is_last;
    }
}

popliner_status pl_emit_passes(pl_emission *e, pl_text *text, popliner_error *error) {
    pl_order order;
    pl_step_graph graph;
    pl_arrays arrays = {0};
    popliner_status status = find_order(e, &order, error);
    if (status == POPLINER_OK && e->pass_cycles == NULL)
        status = pl_emit_refuse(e, error,
                                "needs the times of the passes: costs with times, and one pipeline "
                                "without replicas");
    if (status != POPLINER_OK)
        return status;
    traced_device *devices = pl_arrays_new(&arrays, order.num_devices, sizeof *devices);
    status = pl_step_graph_create(&graph, &order, &arrays, error);
    pl_json json = {.text = text, .style = PL_JSON_SPACED};
    pl_text name = {0};
    pl_put_open(&json, NULL, '{');
    pl_put_open(&json, "traceEvents", '[');
    pl_trace_name(&json, STEP_PROCESS, 0, "Step");
    for (size_t i = 0; status == POPLINER_OK && i < order.num_devices; i++) {
        devices[i].walk = pl_order_begin(&order, i);
        pl_trace_name(&json, STEP_PROCESS, e->stages[i].ipu + 1, name_device(&name, e, i, ""));
    }
    if (status == POPLINER_OK) {
        pl_step_run(&graph, e->pass_cycles);
        trace_passes(e, &order, &graph, devices, &json);
    }
    pl_text_add(text, "\n");
    pl_put_close(&json);
    pl_put_close(&json);
    pl_text_add(text, "\n");
    text->failed = text->failed || name.failed;
    free(name.data);
    pl_arrays_free(&arrays);
    return status;
}

popliner_status pl_emit_json(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_json json = {.text = text};
    pl_put_open(&json, NULL, '{');
    pl_put_text(&json, "format", "popliner-plan");
    pl_put_number(&json, "version", 1);
    pl_put_text(&json, "status", pl_certificate_status(e->plan));
    pl_put_number(&json, "ipus", e->num_ipus);
    pl_put_number(&json, "replicas", e->num_replicas);
    pl_put_known(&json, "micro_batches", e->micro_batches > 0, e->micro_batches);
    pl_put_open(&json, "stages", '[');
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        pl_put_open(&json, NULL, '{');
        pl_put_number(&json, "ipu", stage->ipu);
        pl_put_texts(&json, "units", e->in->unit_names + stage->first_unit,
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
