/* The texts of the formats that name the modules of a model, or number stages and IPUs; and JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Appends the path of a layer's module; its name if the options have no path. */
static void add_path(const pl_emission *e, size_t layer, pl_text *text) {
    const char *path = e->options.layer_path == NULL ? PL_EMIT_HOLE : e->options.layer_path;
    const char *place = strstr(path, PL_EMIT_HOLE);
    pl_text_append(text, path, (size_t)(place - path));
    pl_text_add(text, e->layers[layer]);
    pl_text_add(text, place + strlen(PL_EMIT_HOLE));
}

void pl_emit_layer(const pl_emission *e, pl_text *text, size_t layer) {
    pl_text path = {0};
    add_path(e, layer, &path);
    text->failed = text->failed || path.failed;
    if (!path.failed)
        pl_emit_quote(text, path.data);
    free(path.data);
}

/* Appends the module that a stage after the first begins with. */
static void add_first_module(const pl_emission *e, size_t i, pl_text *text) {
    if (e->stages[i].num_layers > 0)
        pl_emit_layer(e, text, e->stages[i].first_layer);
    else
        pl_emit_quote(text, e->options.tail_modules[0]);
}

/* Checks that each stage after the first begins with a named module. One without a layer has the
 * part after the layers. */
static popliner_status check_beginnings(const pl_emission *e, popliner_error *error) {
    if (e->num_stages > 1 && e->stages[e->num_stages - 1].num_layers == 0 &&
        e->options.num_tail_modules == 0)
        return pl_emit_refuse(e, error,
                              "stage %zu begins after the last layer; give its modules: %s",
                              e->num_stages - 1, e->names.modules);
    return POPLINER_OK;
}

popliner_status pl_emit_poptorch(pl_emission *e, pl_text *text, popliner_error *error) {
    size_t num_ipus = e->num_ipus * e->num_replicas;
    uint64_t least = 2 * (uint64_t)e->num_stages - 1;
    popliner_status status = check_beginnings(e, error);
    if (status != POPLINER_OK)
        return status;
    pl_text_add(text, "import poptorch\n\n");
    for (size_t i = 1; i < e->num_stages; i++) {
        pl_text_add(text, "poptorch.BeginBlock(model.get_submodule(");
        add_first_module(e, i, text);
        pl_text_format(text, "), \"stage%zu\", ipu_id=%zu)\n", i, e->stages[i].ipu);
    }
    pl_text_add(text, "\nopts = poptorch.Options()\n"
                      "opts.setExecutionStrategy(\n"
                      "    poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))\n");
    if (e->num_replicas > 1)
        pl_text_format(text, "opts.replicationFactor(%zu)\n", e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, "opts.Training.gradientAccumulation(%" PRIu64 ")\n", e->micro_batches);
    if (pl_emit_reserved_ipus(num_ipus) != num_ipus) {
        pl_text_add(text, "opts.autoRoundNumIPUs(True)\n");
        pl_emit_note(e, "PopTorch rounds %zu IPUs up to %zu: a power of two, or a multiple of 64.",
                     num_ipus, pl_emit_reserved_ipus(num_ipus));
    }
    if (e->micro_batches > 0 && e->micro_batches < least)
        pl_emit_note(
            e, "PopTorch trains with %" PRIu64 " micro-batches or more, not with %" PRIu64 ".",
            least, e->micro_batches);
    return POPLINER_OK;
}

popliner_status pl_emit_torch(pl_emission *e, pl_text *text, popliner_error *error) {
    popliner_status status = check_beginnings(e, error);
    if (status != POPLINER_OK)
        return status;
    pl_text_add(text, "from torch.distributed.pipelining import SplitPoint\n\nsplit_spec = {");
    for (size_t i = 1; i < e->num_stages; i++) {
        pl_text_add(text, "\n    ");
        add_first_module(e, i, text);
        pl_text_add(text, ": SplitPoint.BEGINNING,");
    }
    pl_text_add(text, e->num_stages > 1 ? "\n}\n" : "}\n");
    return POPLINER_OK;
}

/* Warns that a list of all modules may lack some, if head or tail modules were not given. */
static void note_lacking(pl_emission *e, const char *list) {
    if (e->options.num_head_modules == 0 || e->options.num_tail_modules == 0)
        pl_emit_note(e, "%s may lack modules: give those before and after the layers (%s).", list,
                     e->names.modules);
}

static void add_place_of(const char *module, size_t place, pl_text *text) {
    pl_text_add(text, "    ");
    pl_emit_quote(text, module);
    pl_text_format(text, ": %zu,\n", place);
}

/* Appends the stage of each module, or its IPU, a line each. */
static void add_places_of_modules(const pl_emission *e, bool of_ipus, pl_text *text) {
    const popliner_emit_options *o = &e->options;
    const size_t last = e->num_stages - 1;
    for (size_t i = 0; i < o->num_head_modules; i++)
        add_place_of(o->head_modules[i], of_ipus ? e->stages[0].ipu : 0, text);
    for (size_t i = 0; i < e->num_stages; i++)
        for (size_t k = 0; k < e->stages[i].num_layers; k++) {
            pl_text_add(text, "    ");
            pl_emit_layer(e, text, e->stages[i].first_layer + k);
            pl_text_format(text, ": %zu,\n", of_ipus ? e->stages[i].ipu : i);
        }
    for (size_t i = 0; i < o->num_tail_modules; i++)
        add_place_of(o->tail_modules[i], of_ipus ? e->stages[last].ipu : last, text);
}

/* Begins the next element of a list. */
static void add_comma(pl_text *text, bool *is_first) {
    pl_text_add(text, *is_first ? "" : ", ");
    *is_first = false;
}

/* True if every stage of a Hugging Face model needs the module. */
static bool is_everywhere(const char *module) {
    static const char end[] = "rotary_emb";
    const size_t length = strlen(module);
    return length >= sizeof end - 1 && strcmp(module + length - (sizeof end - 1), end) == 0;
}

/* Appends the modules of a stage, without the brackets; those of `all` in every stage. */
static void add_modules(const pl_emission *e, size_t i, const char *all, pl_text *text) {
    const popliner_emit_options *o = &e->options;
    const pl_emit_stage *stage = &e->stages[i];
    bool is_first = true;
    for (size_t k = 0; i == 0 && k < o->num_head_modules; k++)
        if (all == NULL || !is_everywhere(o->head_modules[k])) {
            add_comma(text, &is_first);
            pl_emit_quote(text, o->head_modules[k]);
        }
    for (size_t k = 0; k < stage->num_layers; k++) {
        add_comma(text, &is_first);
        pl_emit_layer(e, text, stage->first_layer + k);
    }
    for (size_t k = 0; i + 1 == e->num_stages && k < o->num_tail_modules; k++)
        if (all == NULL || !is_everywhere(o->tail_modules[k])) {
            add_comma(text, &is_first);
            pl_emit_quote(text, o->tail_modules[k]);
        }
    if (all != NULL) {
        add_comma(text, &is_first);
        pl_emit_quote(text, all);
    }
}

/* Appends a list of the modules of each stage, with an indent. */
static void add_parts(const pl_emission *e, const char *indent, const char *all, pl_text *text) {
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_text_format(text, "%s[", indent);
        add_modules(e, i, all, text);
        pl_text_add(text, "],\n");
    }
}

/* Warns that a rank with several stages needs a schedule that has them. */
static void note_schedule(pl_emission *e) {
    if (e->num_stages > e->num_ipus)
        pl_emit_note(e, "Each rank has %zu stages: take a schedule that has them %s.",
                     e->num_stages / e->num_ipus,
                     e->stages[e->num_ipus].ipu == 0
                         ? "in turn, like Interleaved1F1B"
                         : "there and back, like ZBVZeroBubble or DualPipeV");
}

/* True if a module is nested more deeply than the modules and lists of the model itself. */
static bool has_deep_module(const popliner_emit_options *o) {
    const char *dot = strchr(o->layer_path, '.');
    bool has = dot != NULL && strchr(dot + 1, '.') != NULL;
    for (size_t i = 0; i < o->num_head_modules; i++)
        has = has || strchr(o->head_modules[i], '.') != NULL;
    for (size_t i = 0; i < o->num_tail_modules; i++)
        has = has || strchr(o->tail_modules[i], '.') != NULL;
    return has;
}

/* torchtitan silently drops modules that no list names, and names that the model does not have. Its
 * head has the name lm_head, not output, since 786e26f8e of 2026-04-27. */
static bool has_old_head(const popliner_emit_options *o) {
    bool has = false;
    for (size_t i = 0; i < o->num_tail_modules; i++)
        has = has || strcmp(o->tail_modules[i], "output") == 0;
    return has;
}

popliner_status pl_emit_titan(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_format(text,
                   "from torchtitan.config import ParallelismConfig\n\n"
                   "parallelism = ParallelismConfig(\n    pipeline_parallel_degree=%zu,\n",
                   e->num_ipus);
    if (e->num_replicas > 1)
        pl_text_format(text, "    data_parallel_replicate_degree=%zu,\n", e->num_replicas);
    pl_text_add(text, "    module_fqns_per_model_part=[\n");
    add_parts(e, "        ", NULL, text);
    pl_text_add(text, "    ],\n)\n");
    if (has_deep_module(&e->options))
        pl_emit_note(e,
                     "torchtitan keeps only the model's own modules, and layers of its own lists, "
                     "like layers.0: deeper modules are dropped.");
    if (has_old_head(&e->options))
        pl_emit_note(e, "The head of torchtitan's models is lm_head since April 2026: an unknown "
                        "\"output\" would drop the head silently.");
    note_schedule(e);
    return POPLINER_OK;
}

/* The module next to the list of layers that all stages of a Hugging Face model need. */
static const char *everywhere_of(const popliner_emit_options *o, pl_text *name) {
    const char *all = NULL;
    for (size_t i = 0; i < o->num_head_modules; i++)
        all = is_everywhere(o->head_modules[i]) ? o->head_modules[i] : all;
    for (size_t i = 0; i < o->num_tail_modules; i++)
        all = is_everywhere(o->tail_modules[i]) ? o->tail_modules[i] : all;
    if (all != NULL)
        return all;
    const char *place = strstr(o->layer_path, "{}");
    size_t dots = 0;
    while (place > o->layer_path && dots < 2)
        dots += *--place == '.';
    if (dots == 2)
        pl_text_append(name, o->layer_path, (size_t)(place - o->layer_path) + 1);
    pl_text_add(name, "rotary_emb");
    return name->failed ? "" : name->data;
}

/* Where the device map lacks rotary_emb, Accelerate leaves it on the CPU. For a module that the
 * model does not have it only warns. */
popliner_status pl_emit_accelerate(pl_emission *e, pl_text *text, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    pl_text name = {0};
    const char *rotary = everywhere_of(o, &name);
    const bool has_points = pl_emit_has_own_ipus(e);
    popliner_status status = has_points ? check_beginnings(e, error) : POPLINER_OK;
    pl_text_add(text, has_points ? "split_points = [" : "");
    for (size_t i = 1; status == POPLINER_OK && has_points && i < e->num_stages; i++) {
        pl_text_add(text, i > 1 ? ", " : "");
        add_first_module(e, i, text);
    }
    pl_text_add(text, has_points ? "]\ndevice_map = {\n" : "device_map = {\n");
    if (rotary == name.data) /* no module was named so */
        add_place_of(rotary, e->stages[0].ipu, text);
    add_places_of_modules(e, true, text);
    pl_text_add(text, "}\n");
    note_lacking(e, "device_map");
    if (has_points && e->has_own_order) {
        pl_text list = {0};
        pl_emit_add_ipus(e, "", &list);
        pl_emit_note(e, "Set CUDA_VISIBLE_DEVICES=%s for split_points, but not for device_map.",
                     list.failed ? "" : list.data);
        free(list.data);
    }
    text->failed = text->failed || name.failed;
    free(name.data);
    return status;
}

popliner_status pl_emit_automodel(pl_emission *e, pl_text *text, popliner_error *error) {
    pl_text name = {0};
    const char *all = everywhere_of(&e->options, &name);
    (void)error;
    pl_text_format(text, "pp_size = %zu\nmodule_fqns_per_model_part = [\n", e->num_ipus);
    add_parts(e, "    ", all, text);
    pl_text_add(text, "]\n");
    pl_emit_note(e, "%s is in every part, as all stages of Hugging Face models need it.", all);
    note_schedule(e);
    text->failed = text->failed || name.failed;
    free(name.data);
    return POPLINER_OK;
}

popliner_status pl_emit_mindspore(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    if (e->micro_batches > 0)
        pl_text_format(text, "micro_size = %" PRIu64 "\n", e->micro_batches);
    pl_text_add(text, "stage_config = {\n");
    add_places_of_modules(e, false, text);
    pl_text_add(text, "}\n");
    note_lacking(e, "stage_config");
    return POPLINER_OK;
}

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

/* Appends the stage of each Keras layer, and the code that assigns it. The assignment of a
 * nested model has no layer: if the model is named, it is in one stage; else its own layers must
 * be named. */
static void add_assignment(const pl_emission *e, pl_text *text) {
    pl_text_add(text, "stage_of_layer = {\n");
    add_places_of_modules(e, false, text);
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

/* Keras has no stage without a layer of its own. */
static popliner_status check_named(const pl_emission *e, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    const bool lacks_head = e->stages[0].num_layers == 0 && o->num_head_modules == 0;
    const bool lacks_tail =
        e->stages[e->num_stages - 1].num_layers == 0 && o->num_tail_modules == 0;
    if (o->layer_path == NULL || (!lacks_head && !lacks_tail))
        return POPLINER_OK;
    return pl_emit_refuse(e, error, "stage %zu has no named Keras layer; give its layers: %s",
                          lacks_head ? 0 : e->num_stages - 1, e->names.modules);
}

/* Appends "[0, 1, 2]": the IPU of each stage. */
static void ipus_of(const pl_emission *e, pl_text *text) {
    pl_text_add(text, "[");
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%s%zu", i > 0 ? ", " : "", e->stages[i].ipu);
    pl_text_add(text, "]");
}

popliner_status pl_emit_tensorflow(pl_emission *e, pl_text *text, popliner_error *error) {
    popliner_status status = check_named(e, error);
    if (status != POPLINER_OK)
        return status;
    pl_text_add(text, "device_mapping = ");
    ipus_of(e, text);
    pl_text_add(text, "\n");
    if (e->num_replicas > 1)
        pl_text_format(text, "num_ipus = %zu\n", (e->max_ipu + 1) * e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, "gradient_accumulation_count = %" PRIu64 "\n", e->micro_batches);
    if (e->options.layer_path == NULL)
        add_layers_of_stages(e, text);
    else {
        add_assignment(e, text);
        note_lacking(e, "stage_of_layer");
    }
    if (e->num_replicas > 1)
        pl_emit_note(e, "There are %zu replicas: select num_ipus IPUs.", e->num_replicas);
    if (e->num_ipus < e->num_stages)
        pl_emit_note(e,
                     "TensorFlow's schedule Interleaved does not train with several stages on one "
                     "IPU.");
    return POPLINER_OK;
}

/* ---- functions that build the stages ---- */

/* A part may exist without a unit: in a training profile, what runs after the layers counts in the
 * last layer. */
static bool has_head(const pl_emission *e) {
    return e->stages[0].has_head || e->options.num_head_modules > 0;
}

static bool has_tail(const pl_emission *e) {
    return e->stages[e->num_stages - 1].has_tail || e->options.num_tail_modules > 0;
}

/* Appends the calls that make the content of a stage. */
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

/* Appends "head, layer, tail": the functions to call. */
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
        pl_emit_note(e, "There are %zu replicas: set the replication factor of the popxl.Ir.",
                     e->num_replicas);
    return POPLINER_OK;
}

/* ---- JSON ---- */

/* Adds the names of the head's or the tail's modules. */
static void put_all(pl_json *json, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_put_text(json, NULL, names[i]);
}

static void put_layer(const pl_emission *e, size_t layer, pl_json *json) {
    pl_text path = {0};
    add_path(e, layer, &path);
    json->text->failed = json->text->failed || path.failed;
    pl_put_text(json, NULL, path.failed ? NULL : path.data);
    free(path.data);
}

/* Adds the modules of a stage; null without a path. */
static void put_modules(const pl_emission *e, size_t i, pl_json *json) {
    const popliner_emit_options *o = &e->options;
    const pl_emit_stage *stage = &e->stages[i];
    if (!pl_put_open_if(json, o->layer_path != NULL, "modules", '['))
        return;
    if (i == 0)
        put_all(json, o->head_modules, o->num_head_modules);
    for (size_t k = 0; k < stage->num_layers; k++)
        put_layer(e, stage->first_layer + k, json);
    if (i + 1 == e->num_stages)
        put_all(json, o->tail_modules, o->num_tail_modules);
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

popliner_status pl_emit_order(pl_emission *e, pl_text *text, popliner_error *error) {
    popliner_pipeline *pipeline = &e->pipeline;
    if (e->micro_batches > 0)
        pipeline->copies.num_micro_batches = (size_t)e->micro_batches;
    if (pipeline->copies.num_micro_batches == 0)
        return pl_emit_refuse(e, error,
                              "has the passes of all micro-batches of a step; give their number");
    const pl_order order =
        pl_order_of_map(pipeline, &e->stages->ipu, sizeof *e->stages, e->num_stages);
    const char *obstacle = pl_step_obstacle(&order);
    if (obstacle != NULL)
        return pl_emit_refuse(e, error, "the order of passes is unknown: %s", obstacle);
    for (size_t device = 0; device < order.num_devices; device++) {
        pl_order_walk walk = pl_order_begin(&order, device);
        const char *separator = "";
        for (pl_pass pass; pl_order_next(&walk, &pass); separator = ",")
            pl_text_format(text, "%s%zu%c%zu", separator, pass.stage,
                           pass.kind == PL_PASS_FORWARD   ? 'F'
                           : pass.kind == PL_PASS_WEIGHTS ? 'W'
                           : pass.is_last                 ? 'B'
                                                          : 'I',
                           pass.micro_batch);
        pl_text_add(text, "\n");
    }
    return POPLINER_OK;
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
