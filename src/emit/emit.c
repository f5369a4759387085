/* The formats of plans: a row for each, with the splits that it can express, and their checks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/id_map.h"
#include "base/structs.h"
#include "base/text.h"
#include "emit/emit_data.h"

/* The IPUs that a format allows for stages. */
typedef enum ipu_rule {
    IPUS_ANY,
    IPUS_FROM_0,       /* stage 0 on IPU 0, and no unused IPU below the last one */
    IPUS_IN_ORDER,     /* stage k on IPU k */
    IPUS_IN_TURN,      /* stage k on IPU k modulo their number, each equally often */
    IPUS_IN_TURN_OR_V, /* like IPUS_IN_TURN, or a V-shaped placement */
    IPUS_ASCENDING,    /* from IPU 0 on; a last stage without layers may be on IPU 0 again */
} ipu_rule;

typedef struct format_row {
    const char *name;
    pl_emit_check *check; /* NULL: there is nothing more */
    pl_emitter *emit;     /* NULL: the template */
    ipu_rule ipus;
    unsigned traits;
    const char *template;
    /* also a template: warnings of the format, a line each, or with REFUSED before it why it cannot
     * have the plan; NULL: none */
    const char *notes;
} format_row;

/* The devices of the ranks: stage k has rank k. */
#define VISIBLE "{{#ranks|,}}{{ipu}}{{/}}"
#define DEVICES "{{?own order}}CUDA_VISIBLE_DEVICES=" VISIBLE " {{/}}"
/* of other programs: no text of this library looks like an option of the command */
#define DASHES "{{dashes}}"
#define GROUP "{{?group}}" DASHES "microbatch-group-size-per-virtual-pipeline-stage {{group}} {{/}}"

#define MAY_LACK(list)                                                                             \
    "{{?unnamed ends}}" list " may lack modules: give those before and after the layers "          \
    "({{option}}).\n{{/}}"
#define REFUSED "\1"
/* Torch and others name the module that a stage begins with. */
#define NO_FIRST                                                                                   \
    "{{?several}}{{?lacks tail}}" REFUSED                                                          \
    "stage {{last stage}} begins after the last layer; give its modules: {{option}}\n{{/}}{{/}}"
/* Megatron-Core has all MTP layers in one stage, the last one of its rank. */
#define ONE_MTP                                                                                    \
    "{{#stages}}{{?misplaced mtp}}" REFUSED "MTP layers need one stage, the last of its rank; "    \
    "stage {{stage}} has {{misplaced mtp}}\n{{/}}{{/}}"
#define EMPTY_STAGE                                                                                \
    "{{?empty stage}}A stage has no layer: Megatron-Core reads that, but users report runs that "  \
    "hang (NVIDIA/Megatron-LM#1852).\n{{/}}"
#define SCHEDULE                                                                                   \
    "{{?chunks}}Each rank has {{chunks}} stages: take a schedule that has them "                   \
    "{{?in turn}}in turn, like Interleaved1F1B{{/}}"                                               \
    "{{!in turn}}there and back, like ZBVZeroBubble or DualPipeV{{/}}.\n{{/}}"
#define NO_LAYER " has no named Keras layer; give its layers: {{option}}\n"
/* The calls that make a stage, a line each. */
#define CALLS_AFTER(indent)                                                                        \
    "{{?head here}}" indent "x = head(x)\n{{/}}"                                                   \
    "{{#layers}}" indent "x = layer({{name}}, x)\n{{/}}"                                           \
    "{{?tail here}}" indent "x = tail(x)\n{{/}}"
#define CALLS CALLS_AFTER("        ")
#define INNER_CALLS CALLS_AFTER("            ")
/* A list with an item for each stage; with several on each IPU a list of such lists. */
#define ROWS_OF(item)                                                                              \
    "{{?chunks}}[{{/}}[{{#stages}}{{?row}}], [{{/}}{{?comma}}, {{/}}" item "{{/}}]"                \
    "{{?chunks}}]{{/}}"
#define IF_FULL "{{?full}}true{{/}}{{!full}}false{{/}}"
#define RECOMPUTED "{{?chosen}}" ROWS_OF(IF_FULL) "{{/}}{{!chosen}}" IF_FULL "{{/}}"
/* The first entry of each stage in a list of all modules, and the number of all. */
#define BOUNDS "{{#stages}}{{entry}}, {{/}}{{entries}}"
#define OFFSETS ROWS_OF("{{?below even}}-{{/}}{{off even}}")

/* In the order of popliner_emit_format. */
static const format_row formats[POPLINER_NUM_EMIT_FORMATS] = {
    {"pipeline", NULL, pl_emit_json, IPUS_ANY, HAS_EMPTY_STAGES | HAS_REPLICAS | HAS_RECOMPUTE,
     NULL, NULL},
    {"optimum", pl_emit_check_optimum, NULL, IPUS_ASCENDING,
     COUNTS_LAYERS | HAS_EMPTY_STAGES | HAS_REPLICAS | HAS_STACKS,
     "{\n"
     "    \"ipus_per_replica\": {{ipus}},\n"
     "    \"layers_per_ipu\": [{{counts by ipu|, }}]"
     "{{?replicas}},\n    \"replication_factor\": {{replicas}}{{/}}"
     "{{?batches}},\n    \"gradient_accumulation_steps\": {{batches}}{{/}}\n"
     "}\n",
     "{{?returns}}Only for models whose class runs the head on the first IPU, like BERT for "
     "pretraining.\n{{/}}"
     "{{?ends elsewhere}}Not for models whose class runs the head on the first IPU, like BERT for "
     "pretraining: plan these with the last stage on IPU 0.\n{{/}}"
     "{{?all reserved}}PopTorch, which runs this, reserves {{all reserved}} IPUs for "
     "{{ipus of all}}.\n{{/}}"},
    {"poptorch", NULL, NULL, IPUS_FROM_0,
     NEEDS_PATH | HAS_EMPTY_STAGES | NEEDS_TWO_IPUS | HAS_COMMENTS | HAS_REPLICAS,
     "import poptorch\n\n"
     "{{#later}}"
     "poptorch.BeginBlock(model.get_submodule({{first}}), \"stage{{stage}}\", ipu_id={{ipu}})\n"
     "{{/}}\n"
     "opts = poptorch.Options()\n"
     "opts.setExecutionStrategy(\n"
     "    poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))\n"
     "{{?replicas}}opts.replicationFactor({{replicas}})\n{{/}}"
     "{{?batches}}opts.Training.gradientAccumulation({{batches}})\n{{/}}"
     "{{?reserved}}opts.autoRoundNumIPUs(True)\n{{/}}",
     NO_FIRST
     "{{?reserved}}PopTorch rounds {{used ipus}} IPUs up to {{reserved}}: a power of two, or a "
     "multiple of 64.\n{{/}}"
     "{{?least batches}}PopTorch trains with {{least batches}} micro-batches or more, not with "
     "{{batches}}.\n{{/}}"},
    /* the layout needs the embedding and the loss, even if the chain has neither head nor tail */
    {"megatron", NULL, NULL, IPUS_IN_TURN, HAS_MTP | COUNTS_LAYERS | HAS_EMPTY_STAGES | IS_VISIBLE,
     "{{?mtp}}" DASHES "mtp-num-layers {{mtp}} {{/}}" DASHES
     "pipeline-model-parallel-size {{num ipus}} " GROUP DASHES "pipeline-model-parallel-layout "
     "\"E{{#stages||}}{{#layers}}t{{/}}{{#predicting}}m{{/}}{{/}}L\"\n",
     ONE_MTP EMPTY_STAGE},
    {"vllm", NULL, NULL, IPUS_IN_ORDER, COUNTS_LAYERS | NAMES_DEVICES,
     DEVICES "VLLM_PP_LAYER_PARTITION={{#stages|,}}{{count}}{{/}}\n", NULL},
    {"torch", NULL, NULL, IPUS_IN_ORDER, NEEDS_PATH | HAS_EMPTY_STAGES | HAS_COMMENTS | IS_VISIBLE,
     "from torch.distributed.pipelining import SplitPoint\n\n"
     "split_spec = {"
     "{{#later}}\n    {{first}}: SplitPoint.BEGINNING,{{/}}"
     "{{?several}}\n{{/}}}\n",
     NO_FIRST},
    {"titan", NULL, NULL, IPUS_IN_TURN_OR_V,
     NEEDS_PATH | NEEDS_ENDS | HAS_EMPTY_STAGES | HAS_COMMENTS | HAS_REPLICAS | IS_VISIBLE,
     "from torchtitan.config import ParallelismConfig\n\n"
     "parallelism = ParallelismConfig(\n"
     "    pipeline_parallel_degree={{num ipus}},\n"
     "{{?replicas}}    data_parallel_replicate_degree={{replicas}},\n{{/}}"
     "    module_fqns_per_model_part=[\n"
     "{{#stages}}        [{{#modules|, }}{{name}}{{/}}],\n{{/}}"
     "    ],\n"
     ")\n",
     "{{?deep}}torchtitan keeps only the model's own modules, and layers of its own lists, like "
     "layers.0: deeper modules are dropped.\n{{/}}"
     "{{?old head}}The head of torchtitan's models is lm_head since April 2026: an unknown "
     "\"output\" would drop the head silently.\n{{/}}" SCHEDULE},
    {"accelerate", NULL, NULL, IPUS_ANY, NEEDS_PATH | HAS_EMPTY_STAGES | HAS_COMMENTS,
     "{{?own ipus}}split_points = [{{#later|, }}{{first}}{{/}}]\n{{/}}"
     "device_map = {\n"
     "{{?rotary}}    {{rotary}}: {{ipu}},\n{{/}}"
     "{{#all}}    {{name}}: {{ipu}},\n{{/}}}\n",
     "{{?own ipus}}" NO_FIRST "{{/}}" MAY_LACK(
         "device_map") "{{?own ipus}}{{?own order}}Set CUDA_VISIBLE_DEVICES=" VISIBLE " for "
                       "split_points, but not for device_map.\n{{/}}{{/}}"},
    {"tensorflow", NULL, NULL, IPUS_ANY,
     HAS_EMPTY_STAGES | NEEDS_TWO_IPUS | HAS_COMMENTS | HAS_REPLICAS,
     "device_mapping = [{{#stages|, }}{{ipu}}{{/}}]\n"
     "{{?replicas}}num_ipus = {{ipus of all}}\n{{/}}"
     "{{?batches}}gradient_accumulation_count = {{batches}}\n{{/}}"
     "{{!path}}"
     "layers_of_stage = [\n"
     "{{#stages}}    [{{#layers|, }}{{name}}{{/}}],\n{{/}}"
     "]\n"
     "{{/}}{{?path}}"
     "stage_of_layer = {\n"
     "{{#all}}    {{name}}: {{stage}},\n{{/}}}\n\n\n"
     /* the assignment of a nested model has no layer: if the model is named, it is in one stage;
      * else its own layers must be named */
     "def assign(assignments, stage=None):\n"
     "    for assignment in assignments:\n"
     "        if hasattr(assignment, \"nested_model\"):\n"
     "            assign(assignment.pipeline_stage_assignments,\n"
     "                   stage_of_layer.get(assignment.nested_model.name, stage))\n"
     "        else:\n"
     "            assignment.pipeline_stage = (\n"
     "                stage_of_layer[assignment.layer.name] if stage is None else stage)\n\n\n"
     "assignments = model.get_pipeline_stage_assignment()\n"
     "assign(assignments)\n"
     "model.set_pipeline_stage_assignment(assignments)\n"
     "model.set_pipelining_options("
     "{{?batches}}gradient_accumulation_steps_per_replica=gradient_accumulation_count,\n"
     "                             {{/}}"
     "device_mapping=device_mapping)\n"
     "{{/}}",
     /* Keras has no stage without a layer of its own */
     "{{?path}}{{?lacks head}}" REFUSED "stage 0" NO_LAYER "{{/}}{{?lacks tail}}" REFUSED
     "stage {{last stage}}" NO_LAYER
     "{{/}}" MAY_LACK("stage_of_layer") "{{/}}"
                                        "{{?replicas}}There are {{replicas}} replicas: select "
                                        "num_ipus IPUs.\n{{/}}"
                                        "{{!own ipus}}TensorFlow's schedule Interleaved does "
                                        "not train with several stages on one "
                                        "IPU.\n{{/}}"},
    {"popart", NULL, NULL, IPUS_ANY,
     HAS_EMPTY_STAGES | NEEDS_TWO_IPUS | HAS_COMMENTS | HAS_REPLICAS | HAS_RECOMPUTE,
     "import popart\n\n\n"
     "def build_stages(builder, x, {{?head}}head, {{/}}layer{{?tail}}, tail{{/}}):\n"
     "    \"\"\"Calls what adds the operations of each part to the builder and returns their "
     "output.\"\"\"\n"
     "{{#stages}}"
     "    with builder.virtualGraph({{ipu}}), builder.pipelineStage({{stage}}):\n" CALLS "{{/}}"
     "    return x\n\n\n"
     "opts = popart.SessionOptions()\n"
     "opts.virtualGraphMode = popart.VirtualGraphMode.Manual\n"
     "opts.enablePipelining = True\n"
     "{{?recomputes}}"
     "opts.autoRecomputation = popart.RecomputationType."
     "{{?full}}Pipeline{{/}}{{!full}}Standard{{/}}\n"
     "{{/}}{{?replicas}}"
     "opts.enableReplicatedGraphs = True\n"
     "opts.replicatedGraphCount = {{replicas}}\n"
     "{{/}}{{?batches}}"
     "opts.enableGradientAccumulation = True\n"
     "opts.accumulationFactor = {{batches}}\n"
     "{{/}}",
     NULL},
    {"popxl", NULL, NULL, IPUS_ANY, HAS_EMPTY_STAGES | NEEDS_TWO_IPUS | HAS_COMMENTS | HAS_REPLICAS,
     "import popxl\n"
     "import popxl_addons as addons\n\n\n"
     "{{?replicas}}replication_factor = {{replicas}}\n{{/}}"
     "{{?batches}}steps = {{batches}}\n{{/}}"
     "{{?job}}\n\n{{/}}"
     "def build_stages(steps, x, {{?head}}head, {{/}}layer{{?tail}}, tail{{/}}):\n"
     "    \"\"\"Calls what adds the operations of each part to the graph and returns their "
     "output.\"\"\"\n"
     "    with addons.pipelined_execution(steps):\n"
     "{{#stages}}"
     "        with popxl.pipeline_stage({{stage}}), popxl.ipu({{ipu}}):\n" INNER_CALLS
     "{{?next ipu}}            x = x.copy_to_ipu({{next ipu}})\n{{/}}"
     "{{/}}"
     "    return x\n",
     "{{?replicas}}There are {{replicas}} replicas: set the replication factor of the popxl.Ir."
     "\n{{/}}"},
    {"automodel", NULL, NULL, IPUS_IN_TURN_OR_V,
     NEEDS_PATH | NEEDS_ENDS | HAS_EMPTY_STAGES | HAS_COMMENTS | IS_VISIBLE,
     "pp_size = {{num ipus}}\n"
     "module_fqns_per_model_part = [\n"
     "{{#stages}}    [{{#others}}{{name}}, {{/}}{{quoted everywhere}}],\n{{/}}"
     "]\n",
     "{{everywhere}} is in every part, as all stages of Hugging Face models need it.\n" SCHEDULE},
    {"bridge", NULL, NULL, IPUS_IN_TURN,
     HAS_MTP | COUNTS_LAYERS | HAS_EMPTY_STAGES | HAS_COMMENTS | IS_VISIBLE,
     "{{?mtp}}cfg.model.mtp_num_layers = {{mtp}}\n{{/}}"
     "cfg.model.pipeline_model_parallel_size = {{num ipus}}\n"
     "{{?chunks}}cfg.model.virtual_pipeline_model_parallel_size = {{chunks}}\n{{/}}"
     "{{?group}}cfg.model.microbatch_group_size_per_vp_stage = {{group}}\n{{/}}"
     "cfg.model.pipeline_model_parallel_layout = "
     "\"E{{#stages||}}{{#layers}}t{{/}}{{#predicting}}m{{/}}{{/}}L\"\n",
     ONE_MTP EMPTY_STAGE},
    /* with "=": a pattern that begins with "-" would be taken for an option */
    {"hybrid", pl_emit_check_hybrid, NULL, IPUS_IN_TURN, IS_VISIBLE,
     DASHES "pipeline-model-parallel-size {{num ipus}} " GROUP DASHES
            "hybrid-layer-pattern=\"{{#stages||}}{{#layers}}{{symbol}}{{/}}{{/}}\"\n",
     NULL},
    {"sglang", NULL, NULL, IPUS_IN_ORDER, COUNTS_LAYERS | NAMES_DEVICES,
     DEVICES "SGLANG_PP_LAYER_PARTITION={{#stages|,}}{{count}}{{/}}\n", NULL},
    {"tensorrt", NULL, NULL, IPUS_IN_ORDER, COUNTS_LAYERS | HAS_COMMENTS | NAMES_DEVICES,
     "{{?own order}}"
     "import os\n\n"
     "# before tensorrt_llm is imported\n"
     "os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"" VISIBLE "\"\n"
     "{{/}}"
     "pipeline = dict(pipeline_parallel_size={{num stages}}, pp_partition=[{{#stages|, "
     "}}{{count}}{{/}}])\n",
     NULL},
    {"llama", NULL, NULL, IPUS_IN_ORDER,
     COUNTS_LAYERS | HAS_EMPTY_STAGES | NAMES_DEVICES | HAS_HOST,
     "-dev {{#ranks|,}}CUDA{{ipu}}{{/}} -ngl all -sm layer -ts "
     "{{#stages|,}}{{share}}{{/}}{{host}}\n",
     "{{?head bytes}}llama.cpp keeps the embedding on the CPU, not on the first device: the costs "
     "should have no bytes of it there, as tables of GGUF files have none.\n{{/}}"},
    {"deepspeed", pl_emit_check_entries, NULL, IPUS_IN_ORDER,
     HAS_EMPTY_STAGES | HAS_COMMENTS | COUNTS_ROWS | IS_VISIBLE,
     "from deepspeed.pipe import PipelineModule\n\n\n"
     "class StagedModule(PipelineModule):\n"
     "    def _partition_layers(self, method=None):\n"
     "        self.parts = [" BOUNDS "]\n"
     "        self._set_bounds(start=self.parts[self.stage_id],\n"
     "                         stop=self.parts[self.stage_id + 1])\n\n\n"
     "num_stages = {{num stages}}\n",
     NULL},
    {"paddle", pl_emit_check_entries, NULL, IPUS_IN_ORDER,
     HAS_EMPTY_STAGES | HAS_COMMENTS | COUNTS_ROWS | IS_VISIBLE,
     "pipeline = dict(num_stages={{num stages}}, seg_method=[" BOUNDS "])\n", NULL},
    {"mindspore", NULL, NULL, IPUS_IN_ORDER, NEEDS_PATH | HAS_EMPTY_STAGES | HAS_COMMENTS,
     "{{?batches}}micro_size = {{batches}}\n{{/}}"
     "stage_config = {\n"
     "{{#all}}    {{name}}: {{stage}},\n{{/}}}\n",
     MAY_LACK("stage_config")},
    {"mindformers", NULL, NULL, IPUS_IN_TURN, COUNTS_LAYERS | HAS_COMMENTS | HAS_CHOICES,
     "parallel_config:\n"
     "  pipeline_stage: {{num ipus}}\n"
     "{{?batches}}  micro_batch_num: {{batches}}\n{{/}}"
     "{{?chunks}}"
     "parallel:\n"
     "  pipeline_config:\n"
     "    pipeline_interleave: true\n"
     "    pipeline_scheduler: 1f1b\n"
     "{{/}}"
     "{{?keeps}}"
     "recompute_config:\n"
     "  recompute: " RECOMPUTED "\n"
     "{{/}}"
     "model:\n"
     "  model_config:\n"
     "{{?chunks}}    pp_interleave_num: {{chunks}}\n{{/}}"
     "    offset: " OFFSETS "\n",
     NULL},
    {"order", NULL, pl_emit_order, IPUS_ANY, HAS_EMPTY_STAGES | HAS_REPLICAS | HAS_RECOMPUTE, NULL,
     NULL},
    {"passes", NULL, pl_emit_passes, IPUS_ANY, HAS_EMPTY_STAGES | HAS_RECOMPUTE, NULL, NULL},
};

const char *pl_emit_format_name(size_t format) {
    return format < POPLINER_NUM_EMIT_FORMATS ? formats[format].name : NULL;
}

/* ---- helpers of all formats ---- */

popliner_status pl_emit_refuse(const pl_emission *e, popliner_error *error, const char *words,
                               ...) {
    char text[sizeof error->message];
    va_list arguments;
    va_start(arguments, words);
    vsnprintf(text, sizeof text, words, arguments);
    va_end(arguments);
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s", e->format_name, text);
}

void pl_emit_note(pl_emission *e, const char *words, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, words);
    vsnprintf(text, sizeof text, words, arguments);
    va_end(arguments);
    pl_text_format(&e->notes, "%s\n", text);
}

/* ---- options ---- */

static bool is_utf8(const char *text) {
    for (uint32_t character; *text != '\0';) {
        size_t size = pl_utf8_decode(text, &character);
        if (size == 0)
            return false;
        text += size;
    }
    return true;
}

static popliner_status check_modules(const pl_emission *e, const char *option,
                                     const char *const *modules, size_t num_modules,
                                     popliner_error *error) {
    for (size_t i = 0; i < num_modules; i++)
        if (modules[i] == NULL || *modules[i] == '\0' || !is_utf8(modules[i]))
            return pl_emit_refuse(e, error, "%s: module %zu has no name, or the name is not UTF-8",
                                  option, i);
    return POPLINER_OK;
}

static popliner_status check_path(const pl_emission *e, popliner_error *error) {
    const char *path = e->options.layer_path;
    const char *place = path == NULL ? NULL : strstr(path, PL_EMIT_HOLE);
    if (path == NULL)
        return POPLINER_OK;
    if (!is_utf8(path))
        return pl_emit_refuse(e, error, "%s is not UTF-8", e->names.modules);
    if (place == NULL)
        return pl_emit_refuse(e, error,
                              "%s %s: has no %s for the layer's name; expected a path like "
                              "model.layers.%s",
                              e->names.modules, path, PL_EMIT_HOLE, PL_EMIT_HOLE);
    if (strstr(place + strlen(PL_EMIT_HOLE), PL_EMIT_HOLE) != NULL)
        return pl_emit_refuse(e, error, "%s %s: has %s twice; expected one", e->names.modules, path,
                              PL_EMIT_HOLE);
    return POPLINER_OK;
}

/* Completes and checks the caller's options. */
static popliner_status take_options(pl_emission *e, const popliner_emit_options *options,
                                    popliner_emit_format format, popliner_error *error) {
    if ((unsigned)format >= POPLINER_NUM_EMIT_FORMATS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "format %d: not a format of plans",
                       (int)format);
    e->format_name = formats[format].name;
    e->traits = formats[format].traits;
    e->options = (popliner_emit_options)POPLINER_EMIT_OPTIONS_INIT;
    const popliner_emit_options *o = &e->options;
    PL_TRY(pl_struct_take(&e->options, sizeof e->options, options, "popliner_emit_options", error));
    PL_TRY(pl_option_names_take(o->option_names, &e->names, error));
    PL_TRY(check_path(e, error));
    PL_TRY(check_modules(e, e->names.modules, o->head_modules, o->num_head_modules, error));
    PL_TRY(check_modules(e, e->names.modules, o->tail_modules, o->num_tail_modules, error));
    if ((e->traits & NEEDS_PATH) != 0 && o->layer_path == NULL)
        return pl_emit_refuse(e, error,
                              "needs names of modules; the plan has only those of layers; give %s, "
                              "like model.layers.%s",
                              e->names.modules, PL_EMIT_HOLE);
    if ((e->traits & NEEDS_ENDS) != 0 && (o->num_head_modules == 0 || o->num_tail_modules == 0))
        return pl_emit_refuse(e, error,
                              "drops modules that are not named; give those before and after the "
                              "layers (%s)",
                              e->names.modules);
    return POPLINER_OK;
}

/* ---- checks ---- */

static bool is_in_turn(const pl_emission *e) {
    bool is = e->num_stages % e->num_ipus == 0 && (e->num_ipus > 1 || e->num_stages == 1);
    for (size_t i = 0; i < e->num_stages; i++)
        is = is && e->stages[i].rank == i % e->num_ipus;
    return is;
}

static bool is_v(const pl_emission *e) {
    bool is = e->num_stages == 2 * e->num_ipus && e->num_ipus > 1;
    for (size_t i = 0; i < e->num_stages; i++)
        is = is && e->stages[i].rank == (i < e->num_ipus ? i : 2 * e->num_ipus - 1 - i);
    return is;
}

static bool is_ascending(const pl_emission *e) {
    const pl_emit_stage *last = &e->stages[e->num_stages - 1];
    const bool returns = e->num_stages > 2 && last->ipu == 0 && last->num_layers == 0;
    bool is = e->stages[0].ipu == 0;
    for (size_t i = 1; i < e->num_stages - returns; i++)
        is = is && e->stages[i].ipu > e->stages[i - 1].ipu;
    return is;
}

/* Formats a list of IPUs for an error; long lists are shortened. */
static const char *word_ipus(const pl_emission *e, char *text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < e->num_stages && i < 8 && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%zu", i > 0 ? "," : "",
                                   e->stages[i].ipu);
    if (e->num_stages > 8 && length < size)
        snprintf(text + length, size - length, ",...");
    return text;
}

static popliner_status check_ipus(const pl_emission *e, const format_row *row,
                                  popliner_error *error) {
    const char *rule = NULL;
    char list[200];
    const bool is_counted = row->ipus >= IPUS_IN_ORDER && row->ipus <= IPUS_IN_TURN_OR_V;
    if (row->ipus == IPUS_IN_ORDER && !pl_emit_has_own_ipus(e))
        rule = "needs an IPU for each stage";
    else if (row->ipus == IPUS_ASCENDING && !is_ascending(e))
        rule = "needs ascending IPUs from 0 on (a last stage without layers may be on IPU 0)";
    else if (row->ipus == IPUS_IN_TURN && !is_in_turn(e))
        rule = "needs two or more IPUs in turn";
    else if (row->ipus == IPUS_IN_TURN_OR_V && !is_in_turn(e) && !is_v(e))
        rule = "needs two or more IPUs in turn, or as a V";
    else if (row->ipus == IPUS_FROM_0 && (e->stages[0].ipu != 0 || e->num_ipus != e->max_ipu + 1))
        rule = "needs stage 0 on IPU 0 and no IPU left out";
    else if (is_counted && e->has_own_order && (e->traits & (NAMES_DEVICES | IS_VISIBLE)) == 0)
        rule = "needs stage k on IPU k";
    if (rule != NULL)
        return pl_emit_refuse(e, error, "%s, not %s; change %s, or use pipeline", rule,
                              word_ipus(e, list, sizeof list),
                              e->names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP]);
    if ((e->traits & NEEDS_TWO_IPUS) != 0 && e->num_ipus < 2)
        return pl_emit_refuse(e, error,
                              "needs two IPUs or more; this plan is on one, which needs no "
                              "annotation");
    return POPLINER_OK;
}

/* Checks whether the format supports the device map. */
static popliner_status check_map(pl_emission *e, const format_row *row, popliner_error *error) {
    e->num_stages = e->options.num_mapped_stages;
    e->stages = pl_arrays_new(&e->arrays, e->num_stages, sizeof *e->stages);
    if (e->stages == NULL)
        return pl_fail_memory(error, "a device map");
    for (size_t i = 0; i < e->num_stages; i++)
        e->stages[i].ipu = e->options.device_map[i];
    pl_emit_count_ipus(e);
    return check_ipus(e, row, error);
}

/* Checks whether the format supports a split on the device map, without a split. */
static popliner_status check_alone(pl_emission *e, popliner_emit_format format,
                                   popliner_error *error) {
    const popliner_status status =
        e->options.num_mapped_stages > 0 ? check_map(e, &formats[format], error) : POPLINER_OK;
    pl_arrays_free(&e->arrays);
    return status;
}

/* Formats have everything before the layers in the first stage, and everything after them in the
 * last. */
static popliner_status check_ends(const pl_emission *e, popliner_error *error) {
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        const bool has_tail = (e->traits & HAS_MTP) != 0 ? stage->has_end : stage->has_tail;
        const bool is_misplaced = (stage->has_head && i > 0) || (has_tail && i + 1 < e->num_stages);
        if (is_misplaced)
            return pl_emit_refuse(
                e, error,
                "the part %s is cut ('%.60s' is in stage %zu); keep it together, or use "
                "pipeline",
                stage->has_head && i > 0 ? "before the layers" : "after the layers",
                e->in->unit_names[stage->has_head && i > 0 ? stage->first_unit : stage->last_unit],
                i);
    }
    return POPLINER_OK;
}

/* Only between the layers of two stacks a unit may be that is no layer. */
static popliner_status check_strays(const pl_emission *e, popliner_error *error) {
    if (e->stray_unit == SIZE_MAX || e->stray_layer == e->second_stack)
        return POPLINER_OK;
    return pl_emit_refuse(e, error,
                          "'%.60s' is between two layers, but no layer; make it a layer, or use "
                          "pipeline",
                          e->in->unit_names[e->stray_unit]);
}

static popliner_status check_stages(pl_emission *e, popliner_error *error) {
    const bool counts_rows = (e->traits & COUNTS_ROWS) != 0;
    e->second_stack = SIZE_MAX;
    if (e->num_layers == 0)
        return pl_emit_refuse(e, error, "the plan has no layer");
    for (size_t i = 0; i < e->num_layers; i++)
        if (!is_utf8(e->layers[i]))
            return pl_emit_refuse(e, error, "the name of layer %zu is not UTF-8: '%.60s'", i,
                                  e->layers[i]);
    if ((e->traits & COUNTS_LAYERS) != 0)
        PL_TRY(pl_emit_check_numbers(e, error));
    if (!counts_rows)
        PL_TRY(check_strays(e, error));
    if (!counts_rows)
        PL_TRY(check_ends(e, error));
    for (size_t i = 0; i < e->num_stages && (e->traits & HAS_EMPTY_STAGES) == 0; i++)
        if (e->stages[i].num_layers == 0)
            return pl_emit_refuse(
                e, error,
                "stage %zu has only '%.60s', no layer; require layers (%s1..), or "
                "use a format like pipeline",
                i, e->in->unit_names[e->stages[i].first_unit],
                e->names.constraints[POPLINER_CONSTRAINT_MIN_UNITS]);
    return POPLINER_OK;
}

/* Checks that all modules have different names. */
static popliner_status check_paths(const pl_emission *e, popliner_error *error) {
    pl_names paths = {0};
    pl_text quoted = {0};
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < e->num_modules; i++) {
        const size_t number = pl_names_number(&paths, e->modules[i].name);
        if (number == SIZE_MAX)
            status = pl_fail_memory(error, "a plan");
        else if (paths.count == i) {
            pl_emit_quote(&quoted, e->modules[i].name);
            status = pl_emit_refuse(e, error, "two modules have the name %.100s; change %s",
                                    pl_text_string(&quoted), e->names.modules);
        }
    }
    pl_names_free(&paths);
    free(quoted.data);
    return status;
}

/* A stage that recomputes all stores its inputs alone; most frameworks store those of each
 * layer. */
#define OF_LAYERS(setting)                                                                         \
    "This plan stores only the inputs of stages; " setting                                         \
    " stores those of each layer: popliner.costs makes costs of that, with recompute layers."

static const char full_recomputation[] = OF_LAYERS("the format's recomputation");
static const char of_megatron[] =
    OF_LAYERS("Megatron-Core's recompute granularity full, uniform by 1 layer,");
static const char of_checkpointing[] = OF_LAYERS("full activation checkpointing");

/* The frameworks' defaults, and settings outside the pipeline. PopTorch's Compiler.cpp turns on
 * PopART's recomputation Pipeline for two IPUs or more. */
static const struct {
    popliner_emit_format format;
    popliner_recompute recompute;
    const char *words;
} recompute_notes[] = {
    {POPLINER_EMIT_POPTORCH, POPLINER_RECOMPUTE_NONE,
     "PopTorch recomputes by default; for this plan set "
     "opts._Popart.set(\"autoRecomputation\", 0)."},
    {POPLINER_EMIT_POPTORCH, POPLINER_RECOMPUTE_STANDARD,
     "This plan uses PopART's Standard recomputation: "
     "opts._Popart.set(\"autoRecomputation\", 1)."},
    {POPLINER_EMIT_POPTORCH, POPLINER_RECOMPUTE_FULL, NULL},
    {POPLINER_EMIT_OPTIMUM, POPLINER_RECOMPUTE_NONE,
     "PopTorch, which runs this, recomputes by default; this plan does not."},
    {POPLINER_EMIT_OPTIMUM, POPLINER_RECOMPUTE_FULL, OF_LAYERS("recompute_checkpoint_every_layer")},
    {POPLINER_EMIT_TENSORFLOW, POPLINER_RECOMPUTE_FULL,
     "This plan recomputes: set allow_recompute of the IPUConfig."},
    {POPLINER_EMIT_MEGATRON, POPLINER_RECOMPUTE_FULL, of_megatron},
    {POPLINER_EMIT_BRIDGE, POPLINER_RECOMPUTE_FULL, of_megatron},
    {POPLINER_EMIT_HYBRID, POPLINER_RECOMPUTE_FULL, of_megatron},
    {POPLINER_EMIT_TITAN, POPLINER_RECOMPUTE_FULL, of_checkpointing},
    {POPLINER_EMIT_AUTOMODEL, POPLINER_RECOMPUTE_FULL, of_checkpointing},
    {POPLINER_EMIT_DEEPSPEED, POPLINER_RECOMPUTE_FULL,
     "This plan stores only the inputs of stages: activation_checkpoint_interval has to be the "
     "entries of the longest stage, or more; 1 stores the inputs of each."},
    {POPLINER_EMIT_MINDFORMERS, POPLINER_RECOMPUTE_FULL, full_recomputation},
};

/* Returns the warning of what a plan recomputes, or its stages chose, and the format lacks; a
 * template; NULL: none. */
static const char *recompute_words(const pl_emission *e, popliner_emit_format format) {
    bool has_all = true;
    bool has_full = false;
    for (size_t i = 0; e->plan->choices != NULL && i < e->num_stages; i++) {
        const char *choice = e->plan->choices[i];
        const bool is_full = strcmp(choice, "full") == 0;
        has_full = has_full || is_full;
        has_all = has_all &&
                  (strcmp(choice, "none") == 0 || (is_full && (e->traits & HAS_CHOICES) != 0) ||
                   ((e->traits & HAS_HOST) != 0 && pl_emit_is_of_host(choice)));
    }
    if (!has_all)
        return "The format does not include the choices of stages: {{choices}}.";
    if (e->plan->choices != NULL)
        return has_full ? full_recomputation : NULL;
    if (!e->keeps || (e->traits & HAS_RECOMPUTE) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof recompute_notes / sizeof *recompute_notes; i++)
        if (recompute_notes[i].format == format &&
            recompute_notes[i].recompute == e->in->pipeline.recompute)
            return recompute_notes[i].words;
    return e->in->pipeline.recompute == POPLINER_RECOMPUTE_NONE
               ? NULL
               : "This plan recomputes, and the format does not include that.";
}

/* Adds the warnings that all formats have. */
static void note_plan(pl_emission *e, popliner_emit_format format) {
    const char *words = recompute_words(e, format);
    pl_emit_fill(e,
                 "{{!fits}}This split does not fit: it is the best effort, or the given split."
                 "\n{{/}}",
                 &e->notes);
    if (words != NULL)
        pl_emit_fill(e, words, &e->notes);
    pl_emit_fill(e, words == NULL ? "" : "\n", &e->notes);
    pl_emit_fill(
        e,
        "{{?ranked}}Set CUDA_VISIBLE_DEVICES=" VISIBLE ", so that rank k has the device of "
        "stage k.\n{{/}}"
        "{{?no replicas}}The format has no replicas, and this plan has {{replicas}}: start "
        "it on {{used ipus}} devices.\n{{/}}",
        &e->notes);
}

/* ---- the whole text ---- */

/* Appends the warnings as comments, and a blank line. */
static void add_comments(const pl_emission *e, pl_text *text) {
    const char *end;
    for (const char *line = pl_text_string(&e->notes); *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        pl_text_format(text, "# %.*s\n", (int)(end - line), line);
    }
    pl_text_add(text, e->notes.length > 0 ? "\n" : "");
}

/* Reports the warnings to the caller's listener. */
static void tell_notes(const pl_emission *e, const popliner_listener *listener) {
    const char *end;
    for (const char *line = pl_text_string(&e->notes); *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        pl_tell(listener, POPLINER_LEVEL_WARNING, "%s: %.*s", e->format_name, (int)(end - line),
                line);
    }
}

static popliner_status check_and_emit(pl_emission *e, popliner_emit_format format, pl_text *body,
                                      popliner_error *error) {
    const format_row *row = &formats[format];
    if (row->emit != NULL)
        return row->emit(e, body, error);
    PL_TRY(check_stages(e, error));
    PL_TRY(check_ipus(e, row, error));
    note_plan(e, format);
    if (e->options.layer_path != NULL)
        PL_TRY(check_paths(e, error));
    if (row->check != NULL)
        PL_TRY(row->check(e, error));
    const size_t begin = e->notes.length;
    pl_emit_fill(e, row->notes == NULL ? "" : row->notes, &e->notes);
    const char *refused = strstr(pl_text_string(&e->notes) + begin, REFUSED);
    if (!e->notes.failed && refused != NULL)
        return pl_emit_refuse(e, error, "%.*s", (int)strcspn(refused, "\n") - 1, refused + 1);
    pl_emit_fill(e, row->template, body);
    return POPLINER_OK;
}

/* Emits a plan; *e is otherwise complete. */
static popliner_status emit(pl_emission *e, const pl_certificate_input *in,
                            const popliner_plan *plan, popliner_emit_format format, char **result,
                            popliner_error *error) {
    pl_text body = {0};
    pl_text text = {0};
    popliner_listener listener = POPLINER_LISTENER_INIT;
    popliner_status status =
        pl_struct_take(&listener, sizeof listener, e->options.listener, "popliner_listener", error);
    if (status == POPLINER_OK)
        status = pl_emit_take_plan(e, in, plan, error);
    if (status == POPLINER_OK)
        status = check_and_emit(e, format, &body, error);
    if (status == POPLINER_OK && (body.failed || e->notes.failed))
        status = pl_fail_memory(error, "a plan");
    if (status == POPLINER_OK && (e->traits & HAS_COMMENTS) != 0)
        add_comments(e, &text);
    if (status == POPLINER_OK)
        pl_text_append(&text, body.data, body.length);
    status = pl_text_finish(&text, status, result, error);
    if (status == POPLINER_OK)
        tell_notes(e, &listener);
    free(body.data);
    free(e->notes.data);
    pl_arrays_free(&e->arrays);
    return status;
}

static popliner_status emit_best(pl_emission *e, popliner_emit_format format, char **text,
                                 popliner_error *error) {
    const popliner_replicas *summary = e->options.replicas;
    const popliner_replicas_candidate *best =
        summary->best == SIZE_MAX ? NULL : &summary->candidates[summary->best];
    pl_certificate_input input;
    PL_TRY(pl_certificate_take_input(e->options.names, &input, error));
    if (best == NULL)
        return pl_emit_refuse(e, error, "nothing fits, so there is no plan");
    PL_TRY(pl_certificate_check_plan(&input, best->plan, error));
    e->num_replicas = best->num_replicas;
    e->micro_batches = best->micro_batches;
    return emit(e, &input, best->plan, format, text, error);
}

popliner_status popliner_emit(const popliner_emit_options *options, popliner_emit_format format,
                              char **text, popliner_error *error) {
    pl_emission e = {.num_replicas = 1};
    if (text != NULL)
        *text = NULL;
    PL_TRY(take_options(&e, options, format, error));
    const pl_certificate *c = pl_certificate_of(e.options.certificate);
    if (c == NULL)
        return e.options.replicas != NULL ? emit_best(&e, format, text, error)
                                          : check_alone(&e, format, error);
    e.micro_batches = c->input.pipeline.copies.num_micro_batches;
    e.pass_cycles = c->pass_cycles;
    return emit(&e, &c->input, &c->plan, format, text, error);
}
