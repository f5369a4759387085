/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 2, WORD = 4 }; /* bytes of an element */

static size_t add_tensor(mk_network_plan *plan, mk_tensor_kind kind, uint64_t rows,
                         uint64_t columns, uint64_t element_bytes, const char *format, ...) {
    char name[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    mk_tensor tensor = {.name = mk_intern(plan, &plan->strings, name),
                        .kind = kind,
                        .rows = rows,
                        .columns = columns,
                        .element_bytes = element_bytes,
                        .first_variable = MK_NONE,
                        .original = MK_NONE,
                        .place = plan->place};
    return mk_append(plan, &plan->tensors, &tensor);
}

static size_t add_weight(mk_network_plan *plan, uint64_t rows, uint64_t columns, const char *name) {
    return add_tensor(plan, MK_WEIGHT, rows, columns, HALF, "%s", name);
}

/* The tensors that an operation reads. */
typedef struct operands {
    size_t tensors[MK_MAX_INPUTS];
    size_t count;
} operands;

static operands one(size_t a) {
    return (operands){.tensors = {a}, .count = 1};
}

static operands two(size_t a, size_t b) {
    return (operands){.tensors = {a, b}, .count = 2};
}

static operands three(size_t a, size_t b, size_t c) {
    return (operands){.tensors = {a, b, c}, .count = 3};
}

/* Returns the number of the operation. */
static size_t add_operation(mk_network_plan *plan, mk_work work, const char *type, size_t output,
                            operands inputs, const char *name) {
    mk_operation operation = {.name = mk_intern(plan, &plan->strings, name),
                              .type = type,
                              .work = work,
                              .output = output,
                              .forward = MK_NONE,
                              .num_inputs = inputs.count,
                              .instance = plan->next_instance++,
                              .place = plan->place};
    memcpy(operation.inputs, inputs.tensors, sizeof operation.inputs);
    return mk_append(plan, &plan->operations, &operation);
}

/* An operation with its output tensor, which is called after it; returns the tensor. */
static size_t compute(mk_network_plan *plan, mk_work work, const char *type, uint64_t columns,
                      operands inputs, const char *format, ...) {
    char name[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    uint64_t rows = plan->options.sequence;
    size_t output = add_tensor(plan, MK_ACTIVATION, rows, columns, HALF, "%s:0", name);
    size_t number = add_operation(plan, work, type, output, inputs, name);
    mk_operation_at(plan, number)->partial_bytes = rows * columns * WORD * 2;
    return output;
}

/* What a transformation of the framework inserted: it has no name. */
static size_t transform(mk_network_plan *plan, const char *transformation, const char *type,
                        size_t input) {
    const mk_tensor *source = mk_tensor_at(plan, input);
    size_t output = add_tensor(plan, MK_ACTIVATION, source->rows, source->columns, HALF, "t%llu",
                               (unsigned long long)plan->next_instance);
    size_t number = add_operation(plan, MK_WORK_MAP, type, output, one(input), "");
    mk_operation_at(plan, number)->transform = transformation;
    return output;
}

/* ---- Outlining ----------------------------------------------------------------------------- */

/* The operations from here to end_call() are the body of `function`. Returns the call. */
static size_t begin_call(mk_network_plan *plan, size_t function, const char *name) {
    if (!plan->options.outline)
        return MK_NONE;
    bool is_tensorflow = plan->options.framework == MK_TENSORFLOW;
    size_t call = add_operation(plan, MK_WORK_CALL, is_tensorflow ? "PartitionedCall" : "Call",
                                MK_NONE, (operands){.count = 0}, is_tensorflow ? name : "");
    mk_operation *operation = mk_operation_at(plan, call);
    operation->function = mk_occasion_of_ipu(mk_ipu_of_place(plan, plan->place), function);
    operation->transform = is_tensorflow ? NULL : "replaceWithCall";
    return call;
}

static bool is_input(const mk_operation *operation, size_t tensor) {
    for (size_t i = 0; i < operation->num_inputs; i++) {
        if (operation->inputs[i] == tensor)
            return true;
    }
    return false;
}

static bool made_in_call(const mk_network_plan *plan, size_t call, size_t tensor) {
    for (size_t i = call + 1; i < plan->operations.count; i++) {
        if (mk_operation_at(plan, i)->output == tensor)
            return true;
    }
    return false;
}

/* Inputs of a call are those of its operations that come from outside; its output is that of the
 * last one. */
static void end_call(mk_network_plan *plan, size_t call) {
    if (call == MK_NONE || plan->is_out_of_memory)
        return;
    mk_operation *operation = mk_operation_at(plan, call);
    operation->num_replaced = plan->operations.count - call - 1;
    for (size_t i = call + 1; i < plan->operations.count; i++) {
        mk_operation *replaced = mk_operation_at(plan, i);
        replaced->is_replaced = true;
        operation->output = replaced->output;
        for (size_t k = 0; k < replaced->num_inputs; k++) {
            size_t tensor = replaced->inputs[k];
            if (operation->num_inputs < MK_MAX_INPUTS && !is_input(operation, tensor) &&
                !made_in_call(plan, call, tensor))
                operation->inputs[operation->num_inputs++] = tensor;
        }
    }
}

static size_t norm(mk_network_plan *plan, const char *type, size_t input, size_t gamma, size_t beta,
                   const char *format, uint64_t layer) {
    char name[256];
    snprintf(name, sizeof name, format, (unsigned long long)layer);
    char call_name[280];
    snprintf(call_name, sizeof call_name, "%s/PartitionedCall", name);
    size_t call = begin_call(plan, MK_FUNCTION_NORM, call_name);
    size_t output = compute(plan, MK_WORK_NORM, type, plan->options.hidden,
                            three(input, gamma, beta), "%s", name);
    end_call(plan, call);
    return output;
}

/* A multiplication whose partial sums fill much of the memory: the peak of its layer. */
static size_t wide_multiplication(mk_network_plan *plan, size_t output) {
    uint64_t hidden = plan->options.hidden;
    uint64_t splits = hidden * 3 / 32 > 0 ? hidden * 3 / 32 : 1;
    if (plan->is_out_of_memory)
        return output;
    size_t last = plan->operations.count - 1;
    mk_operation_at(plan, last)->partial_bytes = plan->options.sequence * hidden * WORD * splits;
    return output;
}

/* ---- Skips --------------------------------------------------------------------------------- */

/* Names of what a layer does for connections over many layers, by mk_framework. */
static const char *const skip_scopes[] = {
    "Layer%llu/Skip/%s",
    "bert/encoder/%llu/skip/%s",
    "optimized/efficientnet-edgetpu-L/model/blocks_%llu/skip/%s",
};

/* What the layers at the start of such connections gave, by layer. */
typedef struct skips {
    size_t kept[500];
} skips;

static size_t skip_operation(mk_network_plan *plan, mk_work work, const char *type,
                             unsigned long long layer, operands inputs) {
    char name[128];
    const char *scope = skip_scopes[plan->options.framework];
    snprintf(name, sizeof name, scope, layer, type);
    return compute(plan, work, type, plan->options.hidden, inputs, "%s", name);
}

/* The input of a layer, with what skipped the layers before it. */
static size_t join_skip(mk_network_plan *plan, const skips *from, uint64_t layer, size_t input) {
    uint64_t first = plan->options.num_layers - 1 - layer;
    if (first >= plan->options.num_skips || first >= layer)
        return input;
    size_t joined =
        skip_operation(plan, MK_WORK_BINARY, "Add", layer, two(input, from->kept[first]));
    if (!plan->is_out_of_memory)
        mk_operation_at(plan, plan->operations.count - 1)->joins_skip = true;
    return joined;
}

/* Keeps the output of a layer if it skips some. */
static void leave_skip(mk_network_plan *plan, skips *to, uint64_t layer, size_t output) {
    if (layer < plan->options.num_skips && layer < plan->options.num_layers - 1 - layer)
        to->kept[layer] = skip_operation(plan, MK_WORK_TRANSFER, "Identity", layer, one(output));
}

/* ---- PopART -------------------------------------------------------------------------------- */

static size_t layer_weight(mk_network_plan *plan, uint64_t layer, uint64_t rows, uint64_t columns,
                           const char *format) {
    char name[256];
    snprintf(name, sizeof name, format, (unsigned long long)layer);
    return add_weight(plan, rows, columns, name);
}

static size_t popart_layer(mk_network_plan *plan, unsigned long long layer, size_t input,
                           size_t mask) {
    uint64_t hidden = plan->options.hidden;
    uint64_t sequence = plan->options.sequence;
    size_t qkv = layer_weight(plan, layer, hidden, hidden * 3, "Layer%llu/Attention/QKV");
    size_t out = layer_weight(plan, layer, hidden, hidden, "Layer%llu/Attention/Out");
    size_t gamma = layer_weight(plan, layer, 1, hidden, "Layer%llu/Attention/Gamma");
    size_t beta = layer_weight(plan, layer, 1, hidden, "Layer%llu/Attention/Beta");
    size_t w1 = layer_weight(plan, layer, hidden, hidden * 4, "Layer%llu/FF/1/W");
    size_t b1 = layer_weight(plan, layer, 1, hidden * 4, "Layer%llu/FF/1/B");
    size_t w2 = layer_weight(plan, layer, hidden * 4, hidden, "Layer%llu/FF/2/W");
    size_t b2 = layer_weight(plan, layer, 1, hidden, "Layer%llu/FF/2/B");
    size_t ff_gamma = layer_weight(plan, layer, 1, hidden, "Layer%llu/FF/Gamma");
    size_t ff_beta = layer_weight(plan, layer, 1, hidden, "Layer%llu/FF/Beta");

    size_t x = compute(plan, MK_WORK_MATMUL, "MatMul", hidden * 3, two(input, qkv),
                       "Layer%llu/Attention/MatMul", layer);
    size_t z = compute(plan, MK_WORK_MATMUL, "MatMul", sequence, one(x),
                       "Layer%llu/Attention/Z/MatMul", layer);
    z = compute(plan, MK_WORK_MAP, "Mul", sequence, one(z), "Layer%llu/Attention/Z/Mul", layer);
    z = compute(plan, MK_WORK_BINARY, "Add", sequence, two(z, mask),
                "Layer%llu/Attention/Z/ApplyMask", layer);
    z = compute(plan, MK_WORK_SOFTMAX, "Softmax", sequence, one(z), "Layer%llu/Attention/Z/Softmax",
                layer);
    z = compute(plan, MK_WORK_MATMUL, "MatMul", hidden, two(z, x), "Layer%llu/Attention/Z/MatMul",
                layer);
    x = compute(plan, MK_WORK_MATMUL, "MatMul", hidden, two(z, out), "Layer%llu/Attention/MatMul",
                layer);
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, input), "Layer%llu/Attention/Add",
                layer);
    size_t attention = norm(plan, "GroupNormalization", x, gamma, beta,
                            "Layer%llu/Attention/GroupNormalization", layer);
    x = compute(plan, MK_WORK_MATMUL, "MatMul", hidden * 4, two(attention, w1),
                "Layer%llu/FF/1/MatMul", layer);
    x = compute(plan, MK_WORK_BINARY, "Add", hidden * 4, two(x, b1), "Layer%llu/FF/1/Add", layer);
    x = compute(plan, MK_WORK_MAP, "Gelu", hidden * 4, one(x), "Layer%llu/FF/1/Gelu", layer);
    x = wide_multiplication(plan, compute(plan, MK_WORK_MATMUL, "MatMul", hidden, two(x, w2),
                                          "Layer%llu/FF/2/MatMul", layer));
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, b2), "Layer%llu/FF/2/Add", layer);
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, attention), "Layer%llu/FF/Add", layer);
    return norm(plan, "GroupNormalization", x, ff_gamma, ff_beta, "Layer%llu/FF/GroupNormalization",
                layer);
}

static size_t build_popart(mk_network_plan *plan) {
    const mk_options *options = &plan->options;
    skips skipped;
    uint64_t hidden = options->hidden;
    size_t dictionary = add_weight(plan, options->vocabulary, hidden, "Embedding/Embedding_Dict");
    size_t positional = add_weight(plan, options->sequence, hidden, "Embedding/Positional_Dict");
    size_t segment = add_weight(plan, 2, hidden, "Embedding/Segment_Dict");
    size_t gamma = add_weight(plan, 1, hidden, "Embedding/Gamma");
    size_t beta = add_weight(plan, 1, hidden, "Embedding/Beta");
    size_t indices = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "indices");
    size_t positions = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "positions");
    size_t segments = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "segments");
    size_t padding = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "seq_pad_idx");

    size_t mask =
        compute(plan, MK_WORK_MAP, "Less", 1, one(padding), "Layer0/Attention/Z/Mask/Less");
    mask = compute(plan, MK_WORK_MAP, "Cast", 1, one(mask), "Layer0/Attention/Z/Mask/Cast");
    mask = compute(plan, MK_WORK_MAP, "Sub", 1, one(mask), "Layer0/Attention/Z/Mask/Sub");
    mask = compute(plan, MK_WORK_MAP, "Mul", 1, one(mask), "Layer0/Attention/Z/Mask/Mul");
    size_t s = compute(plan, MK_WORK_MAP, "OneHot", 2, one(segments), "Embedding/OneHot");
    s = compute(plan, MK_WORK_MATMUL, "MatMul", hidden, two(s, segment), "Embedding/MatMul");
    size_t p = compute(plan, MK_WORK_GATHER, "Gather", hidden, two(positions, positional),
                       "Embedding/Gather");
    size_t x = compute(plan, MK_WORK_GATHER, "Gather", hidden, two(indices, dictionary),
                       "Embedding/Gather");
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, p), "Embedding/Add");
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, s), "Embedding/Add");
    x = transform(plan, "adam", "Cast", x);
    x = norm(plan, "GroupNormalization", x, gamma, beta, "Embedding/GroupNormalization", 0);
    for (uint64_t layer = 0; layer < options->num_layers; layer++) {
        plan->place = MK_LAYER(layer);
        x = join_skip(plan, &skipped, layer, x);
        x = popart_layer(plan, layer, x, mask);
        leave_skip(plan, &skipped, layer, x);
    }
    plan->place = MK_LAYER(options->num_layers);
    size_t head = add_weight(plan, hidden, 2, "Squad/SquadW");
    x = compute(plan, MK_WORK_MATMUL, "MatMul", 2, two(x, head), "Squad/MatMul");
    return compute(plan, MK_WORK_SOFTMAX, "Softmax", 2, one(x), "Squad/Softmax");
}

/* ---- PopTorch ------------------------------------------------------------------------------ */

/* A linear module: product and bias. */
static size_t poptorch_linear(mk_network_plan *plan, unsigned long long layer, const char *tensor,
                              const char *scope, uint64_t rows, uint64_t columns, size_t input) {
    char name[256];
    snprintf(name, sizeof name, "bert.encoder.layer.%llu.%s.weight", layer, tensor);
    size_t weight = add_weight(plan, rows, columns, name);
    snprintf(name, sizeof name, "bert.encoder.layer.%llu.%s.bias", layer, tensor);
    size_t bias = add_weight(plan, 1, columns, name);
    size_t x = compute(plan, MK_WORK_MATMUL, "MatMul", columns, two(input, weight),
                       "bert/encoder/%llu/%s/MatMul", layer, scope);
    return compute(plan, MK_WORK_BINARY, "Add", columns, two(x, bias), "bert/encoder/%llu/%s/Add",
                   layer, scope);
}

static size_t poptorch_norm(mk_network_plan *plan, unsigned long long layer, const char *tensor,
                            const char *scope, size_t input) {
    char name[256];
    snprintf(name, sizeof name, "bert.encoder.layer.%llu.%s.weight", layer, tensor);
    size_t gamma = add_weight(plan, 1, plan->options.hidden, name);
    snprintf(name, sizeof name, "bert.encoder.layer.%llu.%s.bias", layer, tensor);
    size_t beta = add_weight(plan, 1, plan->options.hidden, name);
    snprintf(name, sizeof name, "bert/encoder/%%llu/%s/LayerNorm/Groupnormalization", scope);
    return norm(plan, "Groupnormalization", input, gamma, beta, name, layer);
}

static size_t poptorch_layer(mk_network_plan *plan, unsigned long long layer, size_t input,
                             size_t mask) {
    uint64_t hidden = plan->options.hidden;
    uint64_t sequence = plan->options.sequence;
    const char *self = "bert/encoder/%llu/attention/self/%s";
    size_t query = poptorch_linear(plan, layer, "attention.self.query", "attention/self/query",
                                   hidden, hidden, input);
    query =
        compute(plan, MK_WORK_TRANSFER, "Transpose", hidden, one(query), self, layer, "Transpose");
    size_t key = poptorch_linear(plan, layer, "attention.self.key", "attention/self/key", hidden,
                                 hidden, input);
    key = compute(plan, MK_WORK_TRANSFER, "Transpose", hidden, one(key), self, layer, "Transpose");
    size_t value = poptorch_linear(plan, layer, "attention.self.value", "attention/self/value",
                                   hidden, hidden, input);
    value =
        compute(plan, MK_WORK_TRANSFER, "Transpose", hidden, one(value), self, layer, "Transpose");
    size_t z =
        compute(plan, MK_WORK_MATMUL, "MatMul", sequence, two(query, key), self, layer, "MatMul");
    z = compute(plan, MK_WORK_MAP, "Div", sequence, one(z), self, layer, "Div");
    z = compute(plan, MK_WORK_BINARY, "Add", sequence, two(z, mask), self, layer, "Add");
    z = compute(plan, MK_WORK_SOFTMAX, "Softmax", sequence, one(z), self, layer, "Softmax");
    z = compute(plan, MK_WORK_MATMUL, "MatMul", hidden, two(z, value), self, layer, "MatMul");
    size_t x = poptorch_linear(plan, layer, "attention.output.dense", "attention/output/dense",
                               hidden, hidden, z);
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, input),
                "bert/encoder/%llu/attention/output/Add", layer);
    size_t attention =
        poptorch_norm(plan, layer, "attention.output.LayerNorm", "attention/output", x);
    x = poptorch_linear(plan, layer, "intermediate.dense", "intermediate/dense", hidden, hidden * 4,
                        attention);
    x = compute(plan, MK_WORK_MAP, "Gelu", hidden * 4, one(x),
                "bert/encoder/%llu/intermediate/Gelu", layer);
    x = poptorch_linear(plan, layer, "output.dense", "output/dense", hidden * 4, hidden, x);
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, attention),
                "bert/encoder/%llu/output/Add", layer);
    return poptorch_norm(plan, layer, "output.LayerNorm", "output", x);
}

static size_t build_poptorch(mk_network_plan *plan) {
    const mk_options *options = &plan->options;
    skips skipped;
    uint64_t hidden = options->hidden;
    size_t words =
        add_weight(plan, options->vocabulary, hidden, "bert.embeddings.word_embeddings.weight");
    size_t positional =
        add_weight(plan, options->sequence, hidden, "bert.embeddings.position_embeddings.weight");
    size_t types = add_weight(plan, 2, hidden, "bert.embeddings.token_type_embeddings.weight");
    size_t gamma = add_weight(plan, 1, hidden, "bert.embeddings.LayerNorm.weight");
    size_t beta = add_weight(plan, 1, hidden, "bert.embeddings.LayerNorm.bias");
    size_t indices = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "input/1");
    size_t positions = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "input/2");
    size_t segments = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "input/3");
    size_t padding = add_tensor(plan, MK_STREAM, options->sequence, 1, WORD, "input/4");

    size_t mask = compute(plan, MK_WORK_MAP, "Cast", 1, one(padding), "bert/Cast");
    mask = compute(plan, MK_WORK_MAP, "Sub", 1, one(mask), "bert/Sub");
    mask = compute(plan, MK_WORK_MAP, "Mul", 1, one(mask), "bert/Mul");
    size_t s = compute(plan, MK_WORK_GATHER, "Gather", hidden, two(segments, types),
                       "bert/embeddings/token_type_embeddings/Gather");
    size_t x = compute(plan, MK_WORK_GATHER, "Gather", hidden, two(indices, words),
                       "bert/embeddings/word_embeddings/Gather");
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, s), "bert/embeddings/Add");
    size_t p = compute(plan, MK_WORK_GATHER, "Gather", hidden, two(positions, positional),
                       "bert/embeddings/position_embeddings/Gather");
    x = compute(plan, MK_WORK_BINARY, "Add", hidden, two(x, p), "bert/embeddings/Add");
    x = transform(plan, "adam", "Cast", x);
    x = norm(plan, "Groupnormalization", x, gamma, beta,
             "bert/embeddings/LayerNorm/Groupnormalization", 0);
    for (uint64_t layer = 0; layer < options->num_layers; layer++) {
        plan->place = MK_LAYER(layer);
        x = join_skip(plan, &skipped, layer, x);
        x = poptorch_layer(plan, layer, x, mask);
        leave_skip(plan, &skipped, layer, x);
    }
    plan->place = MK_LAYER(options->num_layers);
    size_t decoder = add_weight(plan, hidden, 2, "cls.predictions.decoder.weight");
    x = compute(plan, MK_WORK_MATMUL, "MatMul", 2, two(x, decoder), "cls/predictions/MatMul");
    return compute(plan, MK_WORK_SOFTMAX, "Softmax", 2, one(x), "cls/Softmax");
}

/* ---- TensorFlow ---------------------------------------------------------------------------- */

/* A convolution with its batch normalisation, which XLA names after the latter. */
static size_t convolution(mk_network_plan *plan, const char *scope, unsigned which, size_t input,
                          bool is_wide) {
    uint64_t channels = plan->options.hidden;
    char name[256];
    char suffix[16] = "";
    if (which > 0)
        snprintf(suffix, sizeof suffix, "_%u", which);
    snprintf(name, sizeof name, "%s/conv2d%s/kernel", scope, suffix);
    size_t kernel = add_weight(plan, channels, channels * (is_wide ? 4 : 2), name);
    snprintf(name, sizeof name, "%s/tpu_batch_normalization%s/beta", scope, suffix);
    size_t beta = add_weight(plan, 1, channels, name);
    size_t x = compute(plan, MK_WORK_MATMUL, "Mul", channels, two(input, kernel),
                       "%s/tpu_batch_normalization%s/batchnorm/mul_1", scope, suffix);
    return compute(plan, MK_WORK_BINARY, "AddV2", channels, two(x, beta),
                   "%s/tpu_batch_normalization%s/batchnorm/add_1", scope, suffix);
}

static size_t tensorflow_block(mk_network_plan *plan, unsigned long long layer, size_t input) {
    uint64_t channels = plan->options.hidden;
    char scope[128];
    snprintf(scope, sizeof scope, "optimized/efficientnet-edgetpu-L/model/blocks_%llu", layer);
    size_t x = convolution(plan, scope, 0, input, false);
    x = compute(plan, MK_WORK_MAP, "Relu", channels, one(x), "%s/Relu", scope);
    if (layer >= 6) {
        x = convolution(plan, scope, 1, x, false);
        x = compute(plan, MK_WORK_MAP, "Relu", channels, one(x), "%s/Relu_1", scope);
    }
    x = convolution(plan, scope, layer >= 6 ? 2 : 1, x, true);
    if (layer < 3)
        return x;
    if (layer % 6 == 3)
        x = compute(plan, MK_WORK_BINARY, "Add", channels, two(x, input),
                    "%s/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_Add", scope);
    /* The residual is one operation in every block: it is what outlining finds. */
    char call_name[256];
    snprintf(call_name, sizeof call_name, "%s/PartitionedCall", scope);
    size_t call = begin_call(plan, MK_FUNCTION_NORM, call_name);
    x = compute(plan, MK_WORK_BINARY, "Add", channels, two(x, input),
                "%s/ArithmeticOptimizer/AddOpsRewrite_Add", scope);
    end_call(plan, call);
    return x;
}

static size_t build_tensorflow(mk_network_plan *plan) {
    const mk_options *options = &plan->options;
    skips skipped;
    const char *model = "optimized/efficientnet-edgetpu-L/model";
    char scope[128];
    size_t image = add_tensor(plan, MK_STREAM, options->sequence, options->hidden, HALF, "arg0.1");
    size_t x = compute(plan, MK_WORK_MAP, "LoopCond", 1, one(image), "LoopCond");
    (void)compute(plan, MK_WORK_TRANSFER, "LoopCond", 1, one(x), "LoopCond");
    snprintf(scope, sizeof scope, "%s/stem", model);
    x = convolution(plan, scope, 0, image, false);
    x = compute(plan, MK_WORK_MAP, "Relu", options->hidden, one(x), "%s/Relu", scope);
    for (uint64_t layer = 0; layer < options->num_layers; layer++) {
        plan->place = MK_LAYER(layer);
        x = join_skip(plan, &skipped, layer, x);
        x = tensorflow_block(plan, layer, x);
        leave_skip(plan, &skipped, layer, x);
    }
    plan->place = MK_LAYER(options->num_layers);
    snprintf(scope, sizeof scope, "%s/head", model);
    x = convolution(plan, scope, 0, x, false);
    x = compute(plan, MK_WORK_MAP, "Relu", options->hidden, one(x), "%s/Relu", scope);
    size_t dense = add_weight(plan, options->hidden, options->vocabulary, "head/dense/kernel");
    x = compute(plan, MK_WORK_NORM, "Mean", options->hidden, one(x), "%s/Mean", scope);
    x = compute(plan, MK_WORK_MATMUL, "MatMul", 4, two(x, dense), "%s/dense/MatMul", scope);
    return compute(plan, MK_WORK_SOFTMAX, "Softmax", 4, one(x), "Softmax");
}

/* ---- Training ------------------------------------------------------------------------------ */

/* The tensor that the gradient of `tensor` flows into, made when it is met first. */
static size_t gradient_tensor(mk_network_plan *plan, size_t *gradients, size_t tensor) {
    if (gradients[tensor] == MK_NONE) {
        const mk_tensor forward = *mk_tensor_at(plan, tensor);
        char name[300];
        snprintf(name, sizeof name, "Gradient___%s", mk_text(plan, forward.name));
        gradients[tensor] = add_tensor(plan, MK_ACTIVATION, forward.rows, forward.columns,
                                       forward.element_bytes, "%s", name);
    }
    return gradients[tensor];
}

/* One gradient operation of `forward`, with respect to its input number `which`. */
static void add_gradient(mk_network_plan *plan, size_t *gradients, size_t forward, size_t which) {
    const mk_operation source = *mk_operation_at(plan, forward);
    const char *name = mk_text(plan, source.name);
    char gradient_name[300];
    if (plan->options.framework == MK_TENSORFLOW)
        snprintf(gradient_name, sizeof gradient_name,
                 which > 0 ? "gradients/%s_grad/%s_%zu" : "gradients/%s_grad/%s", name, source.type,
                 which);
    else
        snprintf(gradient_name, sizeof gradient_name, "%s", name);
    size_t output = gradient_tensor(plan, gradients, source.inputs[which]);
    size_t incoming = gradient_tensor(plan, gradients, source.output);
    size_t other = source.inputs[which == 0 && source.num_inputs > 1 ? 1 : 0];
    mk_work work = source.work == MK_WORK_GATHER ? MK_WORK_BINARY : source.work;
    size_t number =
        add_operation(plan, work, source.type, output, two(incoming, other), gradient_name);
    mk_operation *gradient = mk_operation_at(plan, number);
    gradient->forward = forward;
    gradient->partial_bytes =
        mk_tensor_at(plan, output)->rows * mk_tensor_at(plan, output)->columns * WORD;
}

static bool has_gradient(const mk_network_plan *plan, size_t tensor) {
    mk_tensor_kind kind = mk_tensor_at(plan, tensor)->kind;
    return kind == MK_WEIGHT || kind == MK_ACTIVATION;
}

/* The gradient that comes from the next layer and the one that skipped it, added. */
static void add_sum_of_gradients(mk_network_plan *plan, size_t *gradients, size_t forward) {
    const mk_operation source = *mk_operation_at(plan, forward);
    size_t near = gradient_tensor(plan, gradients, source.inputs[0]);
    size_t far = gradient_tensor(plan, gradients, source.output);
    const mk_tensor tensor = *mk_tensor_at(plan, near);
    size_t sum = add_tensor(plan, MK_ACTIVATION, tensor.rows, tensor.columns, tensor.element_bytes,
                            "%s_Sum", mk_text(plan, tensor.name));
    char name[300];
    bool is_tensorflow = plan->options.framework == MK_TENSORFLOW;
    snprintf(name, sizeof name, is_tensorflow ? "gradients/%s_grad/AddN" : "%s",
             mk_text(plan, source.name));
    size_t number = add_operation(plan, MK_WORK_BINARY, "Sum", sum, two(near, far), name);
    mk_operation_at(plan, number)->forward = forward;
    gradients[source.inputs[0]] = sum;
}

static void add_gradients_of(mk_network_plan *plan, size_t *gradients, size_t forward) {
    const mk_operation source = *mk_operation_at(plan, forward);
    if (source.work == MK_WORK_TRANSFER && source.type[0] == 'I') {
        add_sum_of_gradients(plan, gradients, forward);
        return;
    }
    size_t inputs = source.work == MK_WORK_MATMUL || source.joins_skip ? source.num_inputs : 1;
    if (source.work == MK_WORK_GATHER)
        return;
    for (size_t which = 0; which < inputs && which < 2; which++) {
        if (has_gradient(plan, source.inputs[which]))
            add_gradient(plan, gradients, forward, which);
    }
    /* A bias gets the sum of what flows through its addition; a norm has a scale and a shift. */
    bool has_parameters = source.work == MK_WORK_BINARY || source.work == MK_WORK_NORM;
    for (size_t which = 1; has_parameters && which < source.num_inputs; which++) {
        if (mk_tensor_at(plan, source.inputs[which])->kind == MK_WEIGHT)
            add_gradient(plan, gradients, forward, which);
    }
}

/* The accumulators of the weights that a forward operation reads, and what adds to them; in
 * `accumulators`, by tensor. */
static void add_accumulators(mk_network_plan *plan, const size_t *gradients, size_t *accumulators,
                             size_t forward) {
    const mk_operation source = *mk_operation_at(plan, forward);
    for (size_t i = 0; i < source.num_inputs; i++) {
        size_t weight = source.inputs[i];
        const mk_tensor tensor = *mk_tensor_at(plan, weight);
        if (tensor.kind != MK_WEIGHT || gradients[weight] == MK_NONE ||
            accumulators[weight] != MK_NONE)
            continue;
        const char *name = mk_text(plan, tensor.name);
        size_t accumulator =
            add_tensor(plan, MK_ACCUMULATOR, tensor.rows, tensor.columns, HALF, "Accum___%s", name);
        mk_tensor_at(plan, accumulator)->original = weight;
        mk_tensor_at(plan, accumulator)->num_copies = 1;
        accumulators[weight] = accumulator;
        bool is_tensorflow = plan->options.framework == MK_TENSORFLOW;
        char operation_name[320];
        snprintf(operation_name, sizeof operation_name, "gradients/accumulate/%s", name);
        size_t number = add_operation(plan, MK_WORK_UPDATE, "Accumulate", MK_NONE,
                                      three(accumulator, gradients[weight], gradients[weight]),
                                      is_tensorflow ? operation_name : "");
        mk_operation_at(plan, number)->transform = is_tensorflow ? NULL : "accumulate";
    }
}

static void add_backward_pass(mk_network_plan *plan, size_t *gradients, size_t *accumulators,
                              size_t num_forward) {
    for (size_t k = num_forward; k-- > 0;) {
        const mk_operation source = *mk_operation_at(plan, k);
        if (source.work == MK_WORK_CALL)
            continue;
        plan->place = source.place;
        char call_name[300];
        snprintf(call_name, sizeof call_name, "gradients/%s/PartitionedCall",
                 mk_text(plan, source.name));
        size_t call = MK_NONE;
        bool is_gelu = source.work == MK_WORK_MAP && source.type[0] == 'G';
        if (source.work == MK_WORK_NORM && source.type[0] == 'G')
            call = begin_call(plan, MK_FUNCTION_NORM_GRADIENT, call_name);
        else if (is_gelu)
            call = begin_call(plan, MK_FUNCTION_FEED_FORWARD_GRADIENT, call_name);
        add_gradients_of(plan, gradients, k);
        if (is_gelu && k > 0) /* and of the bias addition before it */
            add_gradients_of(plan, gradients, --k);
        end_call(plan, call);
        if (!plan->options.accumulate)
            continue;
        add_accumulators(plan, gradients, accumulators, k);
        if (is_gelu)
            add_accumulators(plan, gradients, accumulators, k + 1);
    }
}

/* The optimizer's operations for one weight; Adam, as PopTorch splits it up, takes more of them. */
static void add_update(mk_network_plan *plan, size_t weight, size_t gradient) {
    const mk_tensor tensor = *mk_tensor_at(plan, weight);
    const size_t accumulated = gradient;
    plan->place = tensor.place;
    char name[300];
    snprintf(name, sizeof name, "%s", mk_text(plan, tensor.name));
    size_t first =
        add_tensor(plan, MK_OPTIMIZER_STATE, tensor.rows, tensor.columns, HALF, "Accl1___%s", name);
    bool is_tensorflow = plan->options.framework == MK_TENSORFLOW;
    size_t moment = first;
    if (plan->options.framework == MK_POPTORCH) {
        moment = add_tensor(plan, MK_OPTIMIZER_STATE, tensor.rows, tensor.columns, HALF,
                            "Accl2___%s", name);
        static const char *const steps[] = {"ReduceSum", "Cast", "Mul",    "Accumulate", "Add",
                                            "Mul",       "Sub",  "Square", "Scale",      "Add",
                                            "Div",       "Cast", "Mul",    "AdamUpdater"};
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            size_t output = MK_NONE;
            if (i != 3)
                output = add_tensor(plan, MK_ACTIVATION, tensor.rows, tensor.columns, HALF,
                                    "%s___%s/%zu", steps[i], name, i);
            size_t number = add_operation(plan, i == 3 ? MK_WORK_UPDATE : MK_WORK_MAP, steps[i],
                                          output, two(i == 3 ? first : gradient, weight), "");
            mk_operation_at(plan, number)->transform = "adam";
            if (output != MK_NONE)
                gradient = output;
        }
    }
    char update_name[320];
    snprintf(update_name, sizeof update_name, "training/update/%s", name);
    static const char *const updates[] = {"Accumulate", "VarUpdate"};
    for (size_t i = 0; i < 2; i++) {
        size_t number =
            add_operation(plan, MK_WORK_UPDATE, updates[i], MK_NONE,
                          three(i == 0 ? moment : weight, i == 0 ? gradient : moment, gradient),
                          is_tensorflow ? update_name : "");
        mk_operation_at(plan, number)->transform = is_tensorflow ? NULL : "adam";
    }
    if (!plan->options.accumulate)
        return;
    size_t number = add_operation(plan, MK_WORK_UPDATE, "AccumulatorUpdate", MK_NONE,
                                  three(accumulated, accumulated, accumulated),
                                  is_tensorflow ? update_name : "");
    mk_operation_at(plan, number)->transform = is_tensorflow ? NULL : "adam";
}

static void add_training(mk_network_plan *plan, size_t result) {
    compute(plan, MK_WORK_NORM, "Nll", 1, one(result), "loss");
    size_t num_forward = plan->operations.count;
    plan->backward_begin = num_forward;
    size_t forward_tensors = plan->tensors.count;
    if (plan->is_out_of_memory)
        return;
    /* gradients, then accumulators */
    size_t *gradients = malloc(2 * forward_tensors * sizeof *gradients);
    if (gradients == NULL) {
        plan->is_out_of_memory = true;
        return;
    }
    size_t *accumulators = gradients + forward_tensors;
    for (size_t i = 0; i < 2 * forward_tensors; i++)
        gradients[i] = MK_NONE;
    add_backward_pass(plan, gradients, accumulators, num_forward);
    bool accumulates = plan->options.accumulate;
    if (accumulates)
        plan->update_begin = plan->operations.count;
    for (size_t tensor = forward_tensors; tensor-- > 0;) {
        if (mk_tensor_at(plan, tensor)->kind == MK_WEIGHT && gradients[tensor] != MK_NONE)
            add_update(plan, tensor, accumulates ? accumulators[tensor] : gradients[tensor]);
    }
    if (accumulates)
        plan->update_end = plan->operations.count;
    free(gradients);
}

void mk_network_build(mk_network_plan *plan) {
    for (size_t i = 0; i < plan->options.num_ipus * MK_OCCASIONS_OF_AN_IPU; i++) {
        mk_occasion occasion = {.is_function = i % MK_OCCASIONS_OF_AN_IPU != MK_WINDOWS,
                                .body = MK_NONE};
        mk_array_begin(plan, &occasion.starts, sizeof(size_t));
        mk_append(plan, &plan->occasions, &occasion);
        if (plan->is_out_of_memory)
            free(occasion.starts.items);
    }
    size_t result = MK_NONE;
    switch (plan->options.framework) {
    case MK_POPART:
        result = build_popart(plan);
        break;
    case MK_POPTORCH:
        result = build_poptorch(plan);
        break;
    case MK_TENSORFLOW:
        result = build_tensorflow(plan);
        break;
    }
    if (plan->options.training)
        add_training(plan, result);
}
