/* popliner: a split in the words of the framework that is to run it.
 *
 * docs/emit.md shows a sample of each format, with its source, what it cannot say, and warnings.
 *
 * Threads: any number of threads may make texts of one certificate at once.
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
    POPLINER_EMIT_JSON,       /* an object, as docs/plan.schema.json describes it */
    POPLINER_EMIT_OPTIMUM,    /* keys of an ipu_config.json of Hugging Face Optimum Graphcore */
    POPLINER_EMIT_POPTORCH,   /* Python: the blocks of a PyTorch model, and PopTorch's options */
    POPLINER_EMIT_MEGATRON,   /* arguments of Megatron-Core's command line */
    POPLINER_EMIT_VLLM,       /* an environment variable of vLLM */
    POPLINER_EMIT_TORCH,      /* Python: split_spec of torch.distributed.pipelining */
    POPLINER_EMIT_TITAN,      /* Python: the ParallelismConfig of torchtitan */
    POPLINER_EMIT_ACCELERATE, /* Python: split_points and device_map of Hugging Face Accelerate */
    POPLINER_EMIT_TENSORFLOW, /* Python: device_mapping of Graphcore's TensorFlow and Keras */
    POPLINER_EMIT_POPART,     /* Python: pipeline stages of a popart.Builder */
    POPLINER_EMIT_POPXL,      /* Python: pipeline stages of popxl, with popxl_addons */
    POPLINER_NUM_EMIT_FORMATS,
} popliner_emit_format;

/* What is written, and what a plan does not know of the model. Begin with POPLINER_EMIT_OPTIONS_INIT. Strings and arrays
 * are the caller's. */
typedef struct popliner_emit_options {
    size_t struct_size;
    /* What has the split: a certificate, or several numbers of stages and replicas, of which the
     * best is written. `names` is then what popliner_report_replicas takes; its solver options say
     * which units are layers (counted_units). Neither: the options are checked alone. */
    const popliner_certificate *certificate;
    const popliner_replicas *replicas;
    const popliner_certificate_input *names;
    /* The path of a layer's module within the model: "model.layers.{}", where {} stands for the
     * layer's name. Needed by formats that name modules (POPTORCH, TORCH, TITAN, ACCELERATE);
     * TENSORFLOW takes it as the name of a Keras layer. NULL: unknown. */
    const char *layer_path;
    /* The paths of the modules that run before the first layer and behind the last one, in their
     * order. TITAN needs both; POPTORCH, TORCH and ACCELERATE the latter where a stage holds
     * nothing but what is behind the last layer. */
    const char *const *head_modules;
    size_t num_head_modules;
    const char *const *tail_modules;
    size_t num_tail_modules;
    const popliner_option_names *option_names; /* in errors; NULL: the names of the fields */
    const popliner_listener *listener;         /* is told warnings; NULL for none */
    /* The device map that a split will be asked for with, at least 1 stage, for checking the options
     * alone: so what a format cannot say is known before anything is solved. NULL and 0: none. */
    const size_t *device_map;
    size_t num_mapped_stages;
} popliner_emit_options;

#define POPLINER_EMIT_OPTIONS_INIT                                                                 \
    { sizeof(popliner_emit_options), NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0 }

/* Makes a text, complete with its last line end, which the caller frees with free(). It says what
 * the split says: which layers are in which stage, and where it runs. In the memory model of
 * PopLiner, where what is in no layer has no place, that is taken to run before and behind the
 * layers. A best effort that exceeds its limits is written, with a warning.
 *
 * Without a split, and then `options` may be NULL: checks whether the options make sense, and are
 * enough for the format with some split, on the IPUs of the device map if there is one. *text is
 * NULL then, and `text` may be NULL.
 *
 * Errors: USAGE, by the name of the format and of the option; and for what the format cannot say,
 * by its name and with the remedy: stages that share an IPU, a stage without a layer, layers whose
 * names are no numbers in their order where the format counts layers, a certificate that has no
 * split of the whole chain, replicas of which none fit, options that are missing; then *text is
 * NULL and no warning was told. MEMORY. O(length of the text and the options + layers log layers),
 * and s log s for a device map of s stages. */
popliner_status popliner_emit(const popliner_emit_options *options, popliner_emit_format format,
                              char **text, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
