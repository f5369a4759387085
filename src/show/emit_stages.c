/* Formats of Graphcore that number stages and IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "show/emit_data.h"

/* ---- TensorFlow ---- */

static void add_layers_of_stages(const pl_emission *e, pl_text *text) {
    pl_text_add(text, "layers_of_stage = [\n");
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        pl_text_add(text, "    [");
        for (size_t k = 0; k < stage->num_layers; k++) {
            pl_text_add(text, k > 0 ? ", " : "");
            pl_emit_layer(e, text, stage->first_layer + k);
        }
        pl_text_add(text, "],\n");
    }
    pl_text_add(text, "]\n");
}

static void add_stage_of(const char *module, size_t stage, pl_text *text) {
    pl_text_add(text, "    ");
    pl_emit_quote(text, module);
    pl_text_format(text, ": %zu,\n", stage);
}

/* Adds the stage of each Keras layer, and what gives it to the model. The assignment of a nested
 * model has no layer: the model is in one stage if it is named, else its own layers have to be. */
static void add_assignment(const pl_emission *e, pl_text *text) {
    const popliner_emit_options *o = &e->options;
    pl_text_add(text, "stage_of_layer = {\n");
    for (size_t i = 0; i < o->num_head_modules; i++)
        add_stage_of(o->head_modules[i], 0, text);
    for (size_t i = 0; i < e->num_stages; i++)
        for (size_t k = 0; k < e->stages[i].num_layers; k++) {
            pl_text_add(text, "    ");
            pl_emit_layer(e, text, e->stages[i].first_layer + k);
            pl_text_format(text, ": %zu,\n", i);
        }
    for (size_t i = 0; i < o->num_tail_modules; i++)
        add_stage_of(o->tail_modules[i], e->num_stages - 1, text);
    pl_text_add(text,
                "}\n\n"
                "\ndef assign(assignments, stage=None):\n"
                "    for assignment in assignments:\n"
                "        if hasattr(assignment, \"nested_model\"):\n"
                "            assign(assignment.pipeline_stage_assignments,\n"
                "                   stage_of_layer.get(assignment.nested_model.name, stage))\n"
                "        else:\n"
                "            assignment.pipeline_stage = (\n"
                "                stage_of_layer[assignment.layer.name] if stage is None "
                "else stage)\n\n\n"
                "assignments = model.get_pipeline_stage_assignment()\n"
                "assign(assignments)\n"
                "model.set_pipeline_stage_assignment(assignments)\n"
                "model.set_pipelining_options(");
    if (e->micro_batches > 0)
        pl_text_add(text, "gradient_accumulation_steps_per_replica=gradient_accumulation_count,\n"
                          "                             ");
    pl_text_add(text, "device_mapping=device_mapping)\n");
}

/* Keras knows no stage without a layer of its own. */
static popliner_status check_named(const pl_emission *e, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    const bool lacks_head = e->stages[0].num_layers == 0 && o->num_head_modules == 0;
    const bool lacks_tail =
        e->stages[e->num_stages - 1].num_layers == 0 && o->num_tail_modules == 0;
    if (o->layer_path == NULL || (!lacks_head && !lacks_tail))
        return POPLINER_OK;
    return pl_emit_refuse(e, error,
                          "stage %zu has no Keras layer with a name; give those of it: %s",
                          lacks_head ? 0 : e->num_stages - 1,
                          lacks_head ? e->names.head_modules : e->names.tail_modules);
}

popliner_status pl_emit_tensorflow(pl_emission *e, pl_text *text, popliner_error *error) {
    popliner_status status = check_named(e, error);
    if (status != POPLINER_OK)
        return status;
    pl_text_add(text, "device_mapping = ");
    pl_emit_ipus(e, text);
    pl_text_add(text, "\n");
    if (e->num_replicas > 1)
        pl_text_format(text, "num_ipus = %zu\n", (e->max_ipu + 1) * e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, "gradient_accumulation_count = %" PRIu64 "\n", e->micro_batches);
    if (e->options.layer_path == NULL)
        add_layers_of_stages(e, text);
    else {
        add_assignment(e, text);
        pl_emit_note_lacking(e, "stage_of_layer");
    }
    if (e->num_replicas > 1)
        pl_emit_note(e, "There are %zu pipelines beside each other: have num_ipus IPUs selected.",
                     e->num_replicas);
    if (e->num_ipus < e->num_stages)
        pl_emit_note(e, "With stages that share an IPU TensorFlow does not train by the schedule "
                        "Interleaved.");
    return POPLINER_OK;
}

/* ---- functions that build the stages ---- */

/* A chain may have no unit for what is known to run there: in a profile that trains, what runs
 * behind the layers counts in the last one. */
static bool has_head(const pl_emission *e) {
    return e->stages[0].has_head || e->options.num_head_modules > 0;
}

static bool has_tail(const pl_emission *e) {
    return e->stages[e->num_stages - 1].has_tail || e->options.num_tail_modules > 0;
}

/* The calls that make what is in a stage. */
static void add_calls(const pl_emission *e, size_t i, const char *indent, pl_text *text) {
    const pl_emit_stage *stage = &e->stages[i];
    if (i == 0 && has_head(e))
        pl_text_format(text, "%sx = head(x)\n", indent);
    for (size_t k = 0; k < stage->num_layers; k++) {
        pl_text_format(text, "%sx = layer(", indent);
        pl_emit_layer(e, text, stage->first_layer + k);
        pl_text_add(text, ", x)\n");
    }
    if (i + 1 == e->num_stages && has_tail(e))
        pl_text_format(text, "%sx = tail(x)\n", indent);
}

/* ", head, layer, tail": what the function is to call. */
static void add_parameters(const pl_emission *e, pl_text *text) {
    pl_text_format(text, "%slayer%s", has_head(e) ? "head, " : "", has_tail(e) ? ", tail" : "");
}

popliner_status pl_emit_popart(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "import popart\n\n\ndef build_stages(builder, x, ");
    add_parameters(e, text);
    pl_text_add(text, "):\n"
                      "    \"\"\"Calls what adds the operations of each part to the builder and "
                      "returns their output.\"\"\"\n");
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_text_format(text, "    with builder.virtualGraph(%zu), builder.pipelineStage(%zu):\n",
                       e->stages[i].ipu, i);
        add_calls(e, i, "        ", text);
    }
    pl_text_add(text, "    return x\n\n\n"
                      "opts = popart.SessionOptions()\n"
                      "opts.virtualGraphMode = popart.VirtualGraphMode.Manual\n"
                      "opts.enablePipelining = True\n");
    if (e->keeps && e->stage_choices == NULL && e->recompute != POPLINER_RECOMPUTE_NONE)
        pl_text_format(text, "opts.autoRecomputation = popart.RecomputationType.%s\n",
                       e->recompute == POPLINER_RECOMPUTE_FULL ? "Pipeline" : "Standard");
    if (e->num_replicas > 1)
        pl_text_format(text,
                       "opts.enableReplicatedGraphs = True\n"
                       "opts.replicatedGraphCount = %zu\n",
                       e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text,
                       "opts.enableGradientAccumulation = True\n"
                       "opts.accumulationFactor = %" PRIu64 "\n",
                       e->micro_batches);
    return POPLINER_OK;
}

popliner_status pl_emit_popxl(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "import popxl\nimport popxl_addons as addons\n\n\n");
    if (e->num_replicas > 1)
        pl_text_format(text, "replication_factor = %zu\n", e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, "steps = %" PRIu64 "\n", e->micro_batches);
    pl_text_add(text, e->num_replicas > 1 || e->micro_batches > 0 ? "\n\n" : "");
    pl_text_add(text, "def build_stages(steps, x, ");
    add_parameters(e, text);
    pl_text_add(text, "):\n"
                      "    \"\"\"Calls what adds the operations of each part to the graph and "
                      "returns their output.\"\"\"\n"
                      "    with addons.pipelined_execution(steps):\n");
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_text_format(text, "        with popxl.pipeline_stage(%zu), popxl.ipu(%zu):\n", i,
                       e->stages[i].ipu);
        add_calls(e, i, "            ", text);
        if (i + 1 < e->num_stages && e->stages[i + 1].ipu != e->stages[i].ipu)
            pl_text_format(text, "            x = x.copy_to_ipu(%zu)\n", e->stages[i + 1].ipu);
    }
    pl_text_add(text, "    return x\n");
    if (e->num_replicas > 1)
        pl_emit_note(e,
                     "There are %zu pipelines beside each other: set the replication factor of "
                     "the popxl.Ir.",
                     e->num_replicas);
    return POPLINER_OK;
}
