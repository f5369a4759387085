/* Formats that name the modules of a PyTorch model.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "show/emit_data.h"

/* The module that a stage but the first begins with. */
static void add_first_module(const pl_emission *e, size_t i, pl_text *text) {
    if (e->stages[i].num_layers > 0)
        pl_emit_layer(e, text, e->stages[i].first_layer);
    else
        pl_emit_quote(text, e->options.tail_modules[0]);
}

/* Whether each stage begins with a module that has a name: one without a layer, but the first, has
 * what runs behind the layers. */
static popliner_status check_beginnings(const pl_emission *e, popliner_error *error) {
    if (e->num_stages > 1 && e->stages[e->num_stages - 1].num_layers == 0 &&
        e->options.num_tail_modules == 0)
        return pl_emit_refuse(e, error,
                              "stage %zu begins behind the last layer; give the modules that run "
                              "there: %s",
                              e->num_stages - 1, e->names.tail_modules);
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
        pl_emit_note(e, "PopTorch reserves %zu IPUs for %zu: a power of two, or a multiple of 64.",
                     pl_emit_reserved_ipus(num_ipus), num_ipus);
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

popliner_status pl_emit_accelerate(pl_emission *e, pl_text *text, popliner_error *error) {
    const popliner_emit_options *o = &e->options;
    popliner_status status = check_beginnings(e, error);
    if (status != POPLINER_OK)
        return status;
    pl_text_add(text, "split_points = [");
    for (size_t i = 1; i < e->num_stages; i++) {
        pl_text_add(text, i > 1 ? ", " : "");
        add_first_module(e, i, text);
    }
    pl_text_add(text, "]\ndevice_map = {\n");
    for (size_t i = 0; i < o->num_head_modules; i++) {
        pl_text_add(text, "    ");
        pl_emit_quote(text, o->head_modules[i]);
        pl_text_format(text, ": %zu,\n", e->stages[0].ipu);
    }
    for (size_t i = 0; i < e->num_stages; i++) {
        const pl_emit_stage *stage = &e->stages[i];
        for (size_t k = 0; k < stage->num_layers; k++) {
            pl_text_add(text, "    ");
            pl_emit_layer(e, text, stage->first_layer + k);
            pl_text_format(text, ": %zu,\n", stage->ipu);
        }
    }
    for (size_t i = 0; i < o->num_tail_modules; i++) {
        pl_text_add(text, "    ");
        pl_emit_quote(text, o->tail_modules[i]);
        pl_text_format(text, ": %zu,\n", e->stages[e->num_stages - 1].ipu);
    }
    pl_text_add(text, "}\n");
    pl_emit_note_lacking(e, "device_map");
    return POPLINER_OK;
}

/* Opens the next element of a list. */
static void add_comma(pl_text *text, bool *is_first) {
    pl_text_add(text, *is_first ? "" : ", ");
    *is_first = false;
}

/* The modules of a stage as a list. */
static void add_modules(const pl_emission *e, size_t i, pl_text *text) {
    const popliner_emit_options *o = &e->options;
    const pl_emit_stage *stage = &e->stages[i];
    bool is_first = true;
    pl_text_add(text, "[");
    for (size_t k = 0; i == 0 && k < o->num_head_modules; k++) {
        add_comma(text, &is_first);
        pl_emit_quote(text, o->head_modules[k]);
    }
    for (size_t k = 0; k < stage->num_layers; k++) {
        add_comma(text, &is_first);
        pl_emit_layer(e, text, stage->first_layer + k);
    }
    for (size_t k = 0; i + 1 == e->num_stages && k < o->num_tail_modules; k++) {
        add_comma(text, &is_first);
        pl_emit_quote(text, o->tail_modules[k]);
    }
    pl_text_add(text, "]");
}

/* Whether a module is deeper down than the modules and lists that a model itself has. */
static bool has_deep_module(const popliner_emit_options *o) {
    const char *dot = strchr(o->layer_path, '.');
    bool has = dot != NULL && strchr(dot + 1, '.') != NULL;
    for (size_t i = 0; i < o->num_head_modules; i++)
        has = has || strchr(o->head_modules[i], '.') != NULL;
    for (size_t i = 0; i < o->num_tail_modules; i++)
        has = has || strchr(o->tail_modules[i], '.') != NULL;
    return has;
}

/* torchtitan drops the modules that no list names, and names that the model does not have,
 * silently: its head has been called lm_head, not output, since 786e26f8e of 2026-04-27. */
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
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_text_add(text, "        ");
        add_modules(e, i, text);
        pl_text_add(text, ",\n");
    }
    pl_text_add(text, "    ],\n)\n");
    if (has_deep_module(&e->options))
        pl_emit_note(e, "torchtitan keeps layers of the lists that the model itself has, as in "
                        "layers.0, and modules of the model itself: all deeper down is left out.");
    if (has_old_head(&e->options))
        pl_emit_note(e, "torchtitan's models call their head lm_head since April 2026: an unknown "
                        "\"output\" would drop the head silently.");
    if (e->num_stages > e->num_ipus)
        pl_emit_note(e, "Each rank has %zu stages: take a schedule that has them %s.",
                     e->num_stages / e->num_ipus,
                     e->stages[e->num_ipus].ipu == 0 ? "in turn, like Interleaved1F1B"
                                                     : "there and back, like ZBVZeroBubble");
    return POPLINER_OK;
}
