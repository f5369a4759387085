/* The texts of the formats that count layers or modules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "emit/emit_data.h"

/* ---- numbers of layers ---- */

/* The prefix of other programs' options, separate so that no text of this library looks like an
 * option of the command. */
static const char dashes[] = "--";

static void add_counts(const pl_emission *e, const char *between, pl_text *text) {
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%s%zu", i > 0 ? between : "", e->stages[i].num_layers);
}

popliner_status pl_emit_optimum(pl_emission *e, pl_text *text, popliner_error *error) {
    size_t num_ipus = e->num_ipus * e->num_replicas;
    (void)error;
    pl_text_format(text, "{\n    \"ipus_per_replica\": %zu,\n    \"layers_per_ipu\": [",
                   e->num_ipus);
    add_counts(e, ", ", text);
    pl_text_add(text, "]");
    if (e->num_replicas > 1)
        pl_text_format(text, ",\n    \"replication_factor\": %zu", e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, ",\n    \"gradient_accumulation_steps\": %" PRIu64, e->micro_batches);
    pl_text_add(text, "\n}\n");
    if (e->num_stages > 1)
        pl_emit_note(e, "The model's class decides where embedding and head run: usually on the "
                        "first and the last IPU, for some, like BERT for pretraining, both on the "
                        "first.");
    if (pl_emit_reserved_ipus(num_ipus) != num_ipus)
        pl_emit_note(e, "PopTorch, which runs this, reserves %zu IPUs for %zu.",
                     pl_emit_reserved_ipus(num_ipus), num_ipus);
    return POPLINER_OK;
}

static void repeat(pl_text *text, const char *letter, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_text_add(text, letter);
}

/* Appends a layout. It needs the embedding and the loss, even if the chain has neither head nor
 * tail. */
static void add_layout(pl_emission *e, pl_text *text) {
    bool has_empty = false;
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        pl_text_add(text, i == 0 ? "\"E" : "|");
        repeat(text, "t", stage->num_layers);
        repeat(text, "m", stage->num_mtp);
        has_empty = has_empty || stage->num_layers + stage->num_mtp == 0;
    }
    pl_text_add(text, "L\"\n");
    if (has_empty && e->num_stages > 1)
        pl_emit_note(e,
                     "A stage has no layer: Megatron-Core reads that, but users report runs that "
                     "hang (NVIDIA/Megatron-LM#1852).");
}

/* Megatron-Core has all MTP layers in one stage, the last one of its rank. */
static popliner_status check_mtp(const pl_emission *e, size_t *num_mtp, popliner_error *error) {
    *num_mtp = 0;
    for (size_t i = 0; i < e->num_stages; i++) {
        const size_t own = e->stages[i].num_mtp;
        if (own > 0 && (*num_mtp > 0 || i + e->num_ipus < e->num_stages))
            return pl_emit_refuse(e, error,
                                  "MTP layers need one stage, the last of its rank; stage %zu has "
                                  "%zu",
                                  i, own);
        *num_mtp += own;
    }
    return POPLINER_OK;
}

popliner_status pl_emit_megatron(pl_emission *e, pl_text *text, popliner_error *error) {
    size_t num_mtp;
    popliner_status status = check_mtp(e, &num_mtp, error);
    if (num_mtp > 0)
        pl_text_format(text, "%smtp-num-layers %zu ", dashes, num_mtp);
    pl_text_format(text, "%spipeline-model-parallel-size %zu %spipeline-model-parallel-layout ",
                   dashes, e->num_ipus, dashes);
    add_layout(e, text);
    return status;
}

popliner_status pl_emit_bridge(pl_emission *e, pl_text *text, popliner_error *error) {
    size_t num_mtp;
    popliner_status status = check_mtp(e, &num_mtp, error);
    if (num_mtp > 0)
        pl_text_format(text, "cfg.model.mtp_num_layers = %zu\n", num_mtp);
    pl_text_format(text, "cfg.model.pipeline_model_parallel_size = %zu\n", e->num_ipus);
    if (e->num_stages > e->num_ipus)
        pl_text_format(text, "cfg.model.virtual_pipeline_model_parallel_size = %zu\n",
                       e->num_stages / e->num_ipus);
    pl_text_add(text, "cfg.model.pipeline_model_parallel_layout = ");
    add_layout(e, text);
    return status;
}

/* The last character of a layer's name is its symbol. */
popliner_status pl_emit_hybrid(pl_emission *e, pl_text *text, popliner_error *error) {
    /* with "=": a pattern that begins with "-" would be taken for an option */
    pl_text_format(text, "%spipeline-model-parallel-size %zu %shybrid-layer-pattern=\"", dashes,
                   e->num_ipus, dashes);
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        pl_text_add(text, i == 0 ? "" : "|");
        for (size_t k = 0; k < stage->num_layers; k++) {
            const char *name = e->layers[stage->first_layer + k];
            const size_t length = strlen(name);
            if (length == 0 || strchr("MG*D+-E", name[length - 1]) == NULL)
                return pl_emit_refuse(e, error,
                                      "layer '%.60s' does not end with its symbol; expected names "
                                      "like 0M, 1*, 2-, with one of M G * D + - E",
                                      name);
            pl_text_append(text, name + length - 1, 1);
        }
        if (stage->num_mtp > 0)
            return pl_emit_refuse(e, error,
                                  "the pattern of MTP layers is unknown; stage %zu has "
                                  "one",
                                  i);
    }
    pl_text_add(text, "\"\n");
    return POPLINER_OK;
}

/* Appends a variable of the environment with the number of layers of each stage. */
static popliner_status add_partition(pl_emission *e, const char *variable, pl_text *text) {
    pl_text_format(text, "%s=", variable);
    add_counts(e, ",", text);
    pl_text_add(text, "\n");
    if (e->num_stages > 1)
        pl_emit_note(e, "Only for models whose layers share state in groups: each stage must "
                        "begin with a group; forbid other cuts.");
    return POPLINER_OK;
}

popliner_status pl_emit_vllm(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    return add_partition(e, "VLLM_PP_LAYER_PARTITION", text);
}

popliner_status pl_emit_sglang(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    return add_partition(e, "SGLANG_PP_LAYER_PARTITION", text);
}

popliner_status pl_emit_tensorrt(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_format(text, "pipeline = dict(pipeline_parallel_size=%zu, pp_partition=[",
                   e->num_stages);
    add_counts(e, ", ", text);
    pl_text_add(text, "])\n");
    return POPLINER_OK;
}

/* The output is one unit more, on the last device; MTP layers count like others. */
popliner_status pl_emit_llama(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "-dev ");
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%sCUDA%zu", i > 0 ? "," : "", i);
    pl_text_add(text, " -ngl all -sm layer -ts ");
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%s%zu", i > 0 ? "," : "",
                       e->stages[i].num_layers + e->stages[i].num_mtp +
                           (i + 1 == e->num_stages ? 1 : 0));
    pl_text_add(text, "\n");
    if (e->stages[0].has_head)
        pl_emit_note(e,
                     "llama.cpp keeps the embedding on the CPU, not on the first device: the costs "
                     "should have no bytes of it there.");
    return POPLINER_OK;
}

/* Appends the offset to the even split of each stage. */
popliner_status pl_emit_mindformers(pl_emission *e, pl_text *text, popliner_error *error) {
    const size_t even = e->num_layers / e->num_stages;
    (void)error;
    pl_text_format(text, "parallel_config:\n  pipeline_stage: %zu\n", e->num_stages);
    if (e->micro_batches > 0)
        pl_text_format(text, "  micro_batch_num: %" PRIu64 "\n", e->micro_batches);
    pl_text_add(text, "model:\n  model_config:\n    offset: [");
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%s%s%zu", i > 0 ? ", " : "",
                       e->stages[i].num_layers < even ? "-" : "",
                       e->stages[i].num_layers < even ? even - e->stages[i].num_layers
                                                      : e->stages[i].num_layers - even);
    pl_text_add(text, "]\n");
    return POPLINER_OK;
}

/* ---- numbers of modules ---- */

/* How many modules the list of a model has before or after the layers: those that were named, else
 * one for a part that the chain has. */
static size_t num_ends(size_t num_modules, bool has_part) {
    return num_modules > 0 ? num_modules : has_part ? 1 : 0;
}

/* Appends the first module of each stage, and the number of all. */
static void add_bounds(pl_emission *e, pl_text *text) {
    const popliner_emit_options *o = &e->options;
    const size_t last = e->num_stages - 1;
    const size_t before = num_ends(o->num_head_modules, e->stages[0].has_head);
    const size_t after = num_ends(o->num_tail_modules, e->stages[last].has_tail);
    pl_text_add(text, "[0");
    for (size_t i = 1; i < e->num_stages; i++)
        pl_text_format(text, ", %zu", before + e->stages[i].first_layer);
    pl_text_format(text, ", %zu]", before + e->num_layers + after);
    if (o->num_head_modules == 0 || o->num_tail_modules == 0)
        pl_emit_note(e,
                     "The list of layers is taken to have %zu before the first layer and %zu after "
                     "the last one: name them otherwise (%s).",
                     before, after, e->names.modules);
}

popliner_status pl_emit_deepspeed(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "from deepspeed.pipe import PipelineModule\n\n\n"
                      "class StagedModule(PipelineModule):\n"
                      "    def _partition_layers(self, method=None):\n"
                      "        self.parts = ");
    add_bounds(e, text);
    pl_text_format(text,
                   "\n        self._set_bounds(start=self.parts[self.stage_id],\n"
                   "                         stop=self.parts[self.stage_id + 1])\n\n\n"
                   "num_stages = %zu\n",
                   e->num_stages);
    return POPLINER_OK;
}

popliner_status pl_emit_paddle(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_format(text, "pipeline = dict(num_stages=%zu, seg_method=", e->num_stages);
    add_bounds(e, text);
    pl_text_add(text, ")\n");
    return POPLINER_OK;
}
