/* popliner: writes a split as configuration for the framework that will run it.
 *
 * docs/emit.md shows a sample of each format, with its source, its limitations, and warnings.
 *
 * Threads: any number of threads may write one certificate at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_EMIT_H
#define POPLINER_EMIT_H

#include <stddef.h>

#include "popliner/certificate.h"
#include "popliner/error.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_emit_format {
    POPLINER_EMIT_PIPELINE,    /* an object, as docs/plan.schema.json describes it */
    POPLINER_EMIT_OPTIMUM,     /* keys of an ipu_config.json of Hugging Face Optimum Graphcore */
    POPLINER_EMIT_POPTORCH,    /* Python: the blocks of a PyTorch model, and PopTorch's options */
    POPLINER_EMIT_MEGATRON,    /* arguments of Megatron-Core's command line */
    POPLINER_EMIT_VLLM,        /* an environment variable of vLLM */
    POPLINER_EMIT_TORCH,       /* Python: split_spec of torch.distributed.pipelining */
    POPLINER_EMIT_TITAN,       /* Python: the ParallelismConfig of torchtitan */
    POPLINER_EMIT_ACCELERATE,  /* Python: split_points and device_map of Hugging Face Accelerate */
    POPLINER_EMIT_TENSORFLOW,  /* Python: device_mapping of Graphcore's TensorFlow and Keras */
    POPLINER_EMIT_POPART,      /* Python: pipeline stages of a popart.Builder */
    POPLINER_EMIT_POPXL,       /* Python: pipeline stages of popxl, with popxl_addons */
    POPLINER_EMIT_AUTOMODEL,   /* Python: the parts of NVIDIA NeMo AutoModel */
    POPLINER_EMIT_BRIDGE,      /* Python: a layout of Megatron-Bridge */
    POPLINER_EMIT_HYBRID,      /* arguments of Megatron-Core's command line for hybrid models */
    POPLINER_EMIT_SGLANG,      /* an environment variable of SGLang */
    POPLINER_EMIT_TENSORRT,    /* Python: pp_partition of TensorRT-LLM */
    POPLINER_EMIT_LLAMA,       /* arguments of llama.cpp */
    POPLINER_EMIT_DEEPSPEED,   /* Python: a PipelineModule of DeepSpeed */
    POPLINER_EMIT_PADDLE,      /* Python: seg_method of PaddlePaddle */
    POPLINER_EMIT_MINDSPORE,   /* Python: stage_config of MindSpore */
    POPLINER_EMIT_MINDFORMERS, /* YAML: the offset of MindFormers */
    /* The order of passes, a row for each device, as PyTorch's pipelining reads it: "0F0,0F1,0B0"
     * are stage, pass and micro-batch; F forward, B backward; or I for gradients of inputs and W of
     * weights */
    POPLINER_EMIT_ORDER,
    /* When each of them runs in a step, and what its IPU holds, in the Trace Event Format */
    POPLINER_EMIT_PASSES,
    POPLINER_NUM_EMIT_FORMATS,
} popliner_emit_format;

/* The split to write, and what a plan does not know about the model. Begin with
 * POPLINER_EMIT_OPTIONS_INIT. Strings and arrays are the caller's. */
typedef struct popliner_emit_options {
    size_t struct_size;
    /* The source of the split: a certificate, or several numbers of stages and replicas, of which
     * the best is written. With `replicas`, `names` is as for popliner_report_splits, and its
     * solver options say which units are layers (counted_units). If both are NULL, popliner_emit
     * only checks the options. */
    const popliner_certificate *certificate;
    const popliner_replicas *replicas;
    const popliner_certificate_input *names;
    /* The path of a layer's module within the model, for example "model.layers.{}", where {} is
     * replaced by the layer's name. Required by formats that name modules (POPTORCH, TORCH, TITAN,
     * AUTOMODEL, ACCELERATE, MINDSPORE); TENSORFLOW uses it as the name of a Keras layer. NULL:
     * unknown. */
    const char *layer_path;
    /* The paths of the modules that run before the first layer and after the last one, in order.
     * TITAN and AUTOMODEL need both; DEEPSPEED and PADDLE count them; POPTORCH, TORCH and
     * ACCELERATE need tail_modules if a stage holds only units after the last layer. */
    const char *const *head_modules;
    size_t num_head_modules;
    const char *const *tail_modules;
    size_t num_tail_modules;
    const popliner_option_names *option_names; /* in errors; NULL: the names of the fields */
    const popliner_listener *listener;         /* gets warnings; may be NULL */
    /* The device map of a planned request, at least 1 stage, when only the options are checked:
     * rejects what a format cannot express before anything is solved. NULL and 0: none. */
    const size_t *device_map;
    size_t num_mapped_stages;
} popliner_emit_options;

#define POPLINER_EMIT_OPTIONS_INIT                                                                 \
    { sizeof(popliner_emit_options), NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0 }

/* Writes the layers of each stage, and where the stage runs, in a format of another program, with
 * the last line end. The caller frees *text with free(). In the memory model of PopLiner, where
 * operations outside layers have no position, they are assumed to run before and after the layers.
 * A best effort that exceeds its limits is written, with a warning.
 *
 * Without a split (`options` may be NULL then): checks that the options are valid and sufficient
 * for the format with some split, on the IPUs of the device map if there is one. *text becomes NULL
 * then, and `text` may be NULL.
 *
 * Errors: USAGE, naming the format and the option; and, naming the format and the remedy, for what
 * the format cannot express: several stages on one IPU, a stage without a layer, layer names that
 * are not ascending numbers if the format counts layers, a certificate whose split does not cover
 * the chain, replicas of which none fit, missing options. *text is then NULL, and no warning was
 * reported. MEMORY. O(length of the text and the options + layers log layers), and s log s for a
 * device map of s stages. */
popliner_status popliner_emit(const popliner_emit_options *options, popliner_emit_format format,
                              char **text, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
