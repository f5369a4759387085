/* Formats that say how many layers a stage has.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "show/emit_data.h"

/* Options of others begin with it. It stands by itself, so that no text of this library looks like
 * an option of the command. */
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
        pl_emit_note(e, "The class of the model decides where embedding and head run: most have "
                        "them on the first and the last IPU, some, as BERT for pretraining, both "
                        "on the first.");
    if (pl_emit_reserved_ipus(num_ipus) != num_ipus)
        pl_emit_note(e, "PopTorch, which runs this, reserves %zu IPUs for %zu.",
                     pl_emit_reserved_ipus(num_ipus), num_ipus);
    return POPLINER_OK;
}

popliner_status pl_emit_megatron(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_format(text, "%spipeline-model-parallel-size %zu %spipeline-model-parallel-layout \"",
                   dashes, e->num_ipus, dashes);
    /* the embedding and the loss have to be there, whatever the chain has before and behind the
     * layers */
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_text_add(text, i == 0 ? "E" : "|");
        for (size_t k = 0; k < e->stages[i].num_layers; k++)
            pl_text_add(text, "t");
    }
    pl_text_add(text, "L\"\n");
    return POPLINER_OK;
}

popliner_status pl_emit_vllm(pl_emission *e, pl_text *text, popliner_error *error) {
    (void)error;
    pl_text_add(text, "VLLM_PP_LAYER_PARTITION=");
    add_counts(e, ",", text);
    pl_text_add(text, "\n");
    return POPLINER_OK;
}
