/* The texts of the formats that count layers or modules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
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

/* Optimum Graphcore divides the list between encoder and decoder, so these share no IPU. */
static popliner_status check_stacks(const pl_emission *e, popliner_error *error) {
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

popliner_status pl_emit_optimum(pl_emission *e, pl_text *text, popliner_error *error) {
    const pl_emit_stage *last = &e->stages[e->num_stages - 1];
    const size_t num_ipus = (e->max_ipu + 1) * e->num_replicas;
    pl_text_format(text, "{\n    \"ipus_per_replica\": %zu,\n    \"layers_per_ipu\": [",
                   e->max_ipu + 1);
    for (size_t ipu = 0, i = 0; ipu <= e->max_ipu; ipu++) {
        const bool is_used = e->stages[i].ipu == ipu;
        pl_text_format(text, "%s%zu", ipu > 0 ? ", " : "", is_used ? e->stages[i].num_layers : 0);
        i += is_used && i + 1 < e->num_stages;
    }
    pl_text_add(text, "]");
    if (e->num_replicas > 1)
        pl_text_format(text, ",\n    \"replication_factor\": %zu", e->num_replicas);
    if (e->micro_batches > 0)
        pl_text_format(text, ",\n    \"gradient_accumulation_steps\": %" PRIu64, e->micro_batches);
    pl_text_add(text, "\n}\n");
    if (e->num_stages > 1 && last->ipu == 0)
        pl_emit_note(e, "Only for models whose class runs the head on the first IPU, like BERT for "
                        "pretraining.");
    else if (e->num_stages > 1 && last->has_end)
        pl_emit_note(e, "Not for models whose class runs the head on the first IPU, like BERT for "
                        "pretraining: plan these with the last stage on IPU 0.");
    if (pl_emit_reserved_ipus(num_ipus) != num_ipus)
        pl_emit_note(e, "PopTorch, which runs this, reserves %zu IPUs for %zu.",
                     pl_emit_reserved_ipus(num_ipus), num_ipus);
    return check_stacks(e, error);
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
            if (length == 0 || strchr("MG*D+-ECHW", name[length - 1]) == NULL)
                return pl_emit_refuse(e, error,
                                      "layer '%.60s' does not end with its symbol; expected names "
                                      "like 0M, 1*, 2-, with one of M G * D + - E C H W",
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

/* Appends variables of the environment: the devices of the ranks, unless rank k has device k, and
 * the number of layers of each stage. */
static popliner_status add_partition(pl_emission *e, const char *variable, pl_text *text) {
    if (e->has_own_order) {
        pl_text_add(text, "CUDA_VISIBLE_DEVICES=");
        pl_emit_add_ipus(e, "", text);
        pl_text_add(text, " ");
    }
    pl_text_format(text, "%s=", variable);
    add_counts(e, ",", text);
    pl_text_add(text, "\n");
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
    if (e->has_own_order) {
        pl_text_add(text, "import os\n\n"
                          "# before tensorrt_llm is imported\n"
                          "os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"");
        pl_emit_add_ipus(e, "", text);
        pl_text_add(text, "\"\n");
    }
    pl_text_format(text, "pipeline = dict(pipeline_parallel_size=%zu, pp_partition=[",
                   e->num_stages);
    add_counts(e, ", ", text);
    pl_text_add(text, "])\n");
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

/* Appends which layers have their experts on the host: the first ones, or a pattern of tensors. */
static void add_host_layers(const pl_emission *e, pl_text *text) {
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

/* The output is one unit more, on the last device; MTP layers count like others. */
popliner_status pl_emit_llama(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "-dev ");
    pl_emit_add_ipus(e, "CUDA", text);
    pl_text_add(text, " -ngl all -sm layer -ts ");
    for (size_t i = 0; i < e->num_stages; i++)
        pl_text_format(text, "%s%zu", i > 0 ? "," : "",
                       e->stages[i].num_layers + e->stages[i].num_mtp +
                           (i + 1 == e->num_stages ? 1 : 0));
    add_host_layers(e, text);
    pl_text_add(text, "\n");
    if (e->has_head_bytes)
        pl_emit_note(e,
                     "llama.cpp keeps the embedding on the CPU, not on the first device: the costs "
                     "should have no bytes of it there.");
    return POPLINER_OK;
}

/* Appends the offset of a stage to the even split, or whether it recomputes. */
static void add_setting(const pl_emission *e, size_t i, bool of_recomputing, pl_text *text) {
    const size_t even = e->num_layers / e->num_stages;
    const size_t own = e->stages[i].num_layers;
    if (of_recomputing)
        pl_text_add(text, strcmp(e->stage_choices[i], "full") == 0 ? "true" : "false");
    else
        pl_text_format(text, "%s%zu", own < even ? "-" : "", own < even ? even - own : own - even);
}

/* Appends a list of settings, with several stages on each IPU a row of them for each. */
static void add_settings(const pl_emission *e, bool of_recomputing, pl_text *text) {
    const bool has_rows = e->num_stages > e->num_ipus;
    for (size_t i = 0; i < e->num_stages; i++) {
        const bool begins = has_rows && i % e->num_ipus == 0;
        pl_text_add(text, i == 0 ? begins ? "[[" : "[" : begins ? "], [" : ", ");
        add_setting(e, i, of_recomputing, text);
    }
    pl_text_add(text, has_rows ? "]]\n" : "]\n");
}

popliner_status pl_emit_mindformers(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_format(text, "parallel_config:\n  pipeline_stage: %zu\n", e->num_ipus);
    if (e->micro_batches > 0)
        pl_text_format(text, "  micro_batch_num: %" PRIu64 "\n", e->micro_batches);
    if (e->num_stages > e->num_ipus)
        pl_text_add(text, "parallel:\n  pipeline_config:\n    pipeline_interleave: true\n"
                          "    pipeline_scheduler: 1f1b\n");
    if (e->keeps) {
        pl_text_add(text, "recompute_config:\n  recompute: ");
        if (e->stage_choices != NULL)
            add_settings(e, true, text);
        else
            pl_text_add(text, e->recompute == POPLINER_RECOMPUTE_FULL ? "true\n" : "false\n");
    }
    pl_text_add(text, "model:\n  model_config:\n");
    if (e->num_stages > e->num_ipus)
        pl_text_format(text, "    pp_interleave_num: %zu\n", e->num_stages / e->num_ipus);
    pl_text_add(text, "    offset: ");
    add_settings(e, false, text);
    return POPLINER_OK;
}

/* ---- numbers of modules ---- */

/* Appends the first module of each stage, and the number of all. A profile has all operations
 * before or after the layers as one unit; rows of a table are modules. */
static popliner_status add_bounds(pl_emission *e, pl_text *text, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    const size_t before = o->num_head_modules > 0 ? o->num_head_modules : e->num_head_units;
    const size_t after = o->num_tail_modules > 0 ? o->num_tail_modules : e->num_tail_units;
    const size_t inner =
        e->is_of_profile ? e->num_layers : e->num_units - e->num_head_units - e->num_tail_units;
    pl_text_add(text, "[0");
    for (size_t i = 1; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        const size_t row =
            e->is_of_profile ? e->num_head_units + stage->first_layer : stage->first_unit;
        const bool is_before = row < e->num_head_units && before != e->num_head_units;
        const bool is_after = row > e->num_head_units + inner && after != e->num_tail_units;
        if (is_before || is_after)
            return pl_emit_refuse(
                e, error,
                "stage %zu begins with '%.60s', one of %zu rows %s the layers, for %zu modules; "
                "name a module for each row (%s)",
                i, e->unit_names[stage->first_unit],
                is_before ? e->num_head_units : e->num_tail_units, is_before ? "before" : "after",
                is_before ? before : after, e->names.modules);
        pl_text_format(text, ", %zu",
                       row < e->num_head_units ? row : row - e->num_head_units + before);
    }
    pl_text_format(text, ", %zu]", before + inner + after);
    if ((o->num_head_modules == 0 || o->num_tail_modules == 0) &&
        (e->is_of_profile || inner < e->num_units))
        pl_emit_note(e,
                     "The list of layers is taken to have %zu before the first layer and %zu after "
                     "the last one: name them otherwise (%s).",
                     before, after, e->names.modules);
    return POPLINER_OK;
}

popliner_status pl_emit_deepspeed(pl_emission *e, pl_text *text, popliner_error *error) {
    pl_text_add(text, "from deepspeed.pipe import PipelineModule\n\n\n"
                      "class StagedModule(PipelineModule):\n"
                      "    def _partition_layers(self, method=None):\n"
                      "        self.parts = ");
    popliner_status status = add_bounds(e, text, error);
    pl_text_format(text,
                   "\n        self._set_bounds(start=self.parts[self.stage_id],\n"
                   "                         stop=self.parts[self.stage_id + 1])\n\n\n"
                   "num_stages = %zu\n",
                   e->num_stages);
    return status;
}

popliner_status pl_emit_paddle(pl_emission *e, pl_text *text, popliner_error *error) {
    pl_text_format(text, "pipeline = dict(num_stages=%zu, seg_method=", e->num_stages);
    popliner_status status = add_bounds(e, text, error);
    pl_text_add(text, ")\n");
    return status;
}
