/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/lowering.h"

#include "base/growth.h"
#include "mkprofile/pairs.h"
#include "mkprofile/pipeline_lowering.h"
#include "mkprofile/programs.h"
#include "mkprofile/random.h"
#include "mkprofile/records.h"
#include "mkprofile/vertex_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of the poplibs functions, by mk_work. */
static const char *const apis[] = {
    "map",  "add",  "matMulGrouped", "groupNormalise", "softmax", "multiSlice", "scaledAddTo",
    "copy", "call", "dynamicUpdate", "dynamicSlice",   "fifo",    "copy",       "ipuCopy"};

/* ---- Variables of tensors ------------------------------------------------------------------ */

static uint64_t tensor_bytes(const mk_network_plan *plan, size_t tensor) {
    const mk_tensor *source = mk_tensor_at(plan, tensor);
    return source->rows * source->columns * source->element_bytes;
}

/* The variables of a tensor outside functions; an activation gets them when it is first needed. */
static mk_span tensor_span(mk_builder *builder, size_t tensor) {
    mk_network_plan *plan = builder->plan;
    if (mk_tensor_at(plan, tensor)->first_variable == MK_NONE) {
        mk_span original = {.first = MK_NONE};
        bool is_clone = mk_tensor_at(plan, tensor)->original != MK_NONE;
        if (is_clone)
            original = tensor_span(builder, mk_tensor_at(plan, tensor)->original);
        const mk_tensor source = *mk_tensor_at(plan, tensor);
        uint64_t bytes = tensor_bytes(plan, tensor);
        bool is_activation = source.kind == MK_ACTIVATION;
        uint32_t context = source.context;
        if (context == 0)
            context = mk_add_context(plan, MK_CONTEXT_VARIABLE, builder->record, source.name,
                                     tensor, NULL);
        mk_tiles tiles;
        if (is_clone && !plan->is_out_of_memory) {
            tiles = mk_variable_at(plan, original.first)->tiles;
            tiles.ipu = source.ipu;
            bytes *= source.num_copies;
        } else {
            tiles = mk_map_tensor(plan, source.ipu, bytes / plan->options.num_pieces,
                                  is_activation ? 7 : 1, is_activation ? 8 : 1, tensor);
        }
        mk_data data = {.name = mk_text(plan, source.name),
                        .identity = mk_identity(MK_OF_A_TENSOR, tensor, 0),
                        .kind = source.kind,
                        .bytes = bytes,
                        .tiles = tiles,
                        .num_copies = source.num_copies,
                        .original = original.first,
                        .context = context,
                        .occasion = MK_NONE};
        mk_span span = mk_add_data(plan, &data);
        for (size_t i = 0; i < span.count; i++) {
            mk_variable *variable = mk_variable_at(plan, span.first + i);
            variable->may_be_carried = source.is_carried;
            variable->spans_loop = source.spans_loop;
        }
        mk_tensor *target = mk_tensor_at(plan, tensor);
        target->context = context;
        target->first_variable = span.first;
        target->num_variables = span.count;
    }
    const mk_tensor *ready = mk_tensor_at(plan, tensor);
    return (mk_span){.first = ready->first_variable, .count = ready->num_variables};
}

/* The variables that stand for a tensor where the builder is: in a function, its parameters and
 * results do. */
static mk_span span_here(mk_builder *builder, size_t tensor) {
    mk_network_plan *plan = builder->plan;
    if (builder->occasion == MK_NONE)
        return tensor_span(builder, tensor);
    const mk_occasion *function = mk_occasion_at(plan, builder->occasion);
    const mk_operation *call = mk_operation_at(plan, function->first_call);
    size_t pieces = plan->options.num_pieces;
    for (size_t i = 0; i < call->num_replaced && i < MK_MAX_REPLACED; i++) {
        if (mk_operation_at(plan, function->first_call + 1 + i)->output == tensor)
            return (mk_span){.first = function->outputs[i], .count = pieces};
    }
    for (size_t i = 0; i < call->num_inputs; i++) {
        if (call->inputs[i] == tensor)
            return (mk_span){.first = function->inputs[i], .count = pieces};
    }
    return (mk_span){.first = 0, .count = 0};
}

/* ---- Operations ----------------------------------------------------------------------------- */

static mk_tiles tiles_of(const mk_builder *builder, mk_span span) {
    return mk_variable_at(builder->plan, span.first)->tiles;
}

/* Tiles for a temporary of `bytes`: at most a share of all. */
static mk_tiles tiles_for(mk_builder *builder, uint64_t bytes, uint64_t numerator,
                          uint64_t denominator) {
    return mk_choose_tiles(builder->plan, builder->ipu, bytes, numerator, denominator,
                           mk_next_identity(builder));
}

static void execute(mk_builder *builder, const char *label, size_t vertex_type, mk_tiles tiles,
                    mk_span read, mk_span also_read, mk_span written) {
    mk_begin_execute(builder, label);
    /* one vertex per tile as a rule, in some compute sets a second one here and there */
    mk_execute_vertices(builder, vertex_type, tiles, 1, mk_next_identity(builder) % 4 == 0 ? 1 : 0);
    mk_execute_use(builder, read);
    mk_execute_use(builder, also_read);
    mk_execute_use(builder, written);
    mk_end_execute(builder);
}

static const mk_span no_span = {.first = 0, .count = 0};

static void lower_map(mk_builder *builder, const mk_operation *operation, mk_span input,
                      mk_span output) {
    mk_tiles tiles = tiles_of(builder, output);
    bool is_of_the_model = operation->forward == MK_NONE && operation->transform == NULL;
    size_t type = operation->type[0] == 'C'   ? MK_TYPE_CAST
                  : operation->type[0] == 'G' ? MK_TYPE_GELU
                  : is_of_the_model           ? mk_add_generated_type(builder->plan, operation)
                                              : MK_TYPE_ADD;
    execute(builder, "Op", type, tiles, input, no_span, output);
}

static void lower_binary(mk_builder *builder, uint64_t bytes, mk_span a, mk_span b,
                         mk_span output) {
    mk_tiles tiles = tiles_of(builder, output);
    mk_span from = b.count > 0 ? b : a;
    uint64_t moved = bytes / 4 > 0 ? bytes / 4 : 1;
    mk_span message = mk_add_exchange(builder, from, moved, tiles_for(builder, moved, 3, 4));
    mk_span copy = mk_add_temporary(builder, "rearranged", MK_REARRANGEMENT, moved, tiles);
    execute(builder, "OnTileCopy", MK_TYPE_SHORT_COPY, tiles, message, no_span, copy);
    execute(builder, "Op/add", MK_TYPE_ADD, tiles, a, copy, output);
}

static void lower_matmul(mk_builder *builder, const mk_operation *operation, uint64_t bytes,
                         mk_span a, mk_span b, mk_span output) {
    const mk_network_plan *plan = builder->plan;
    mk_tiles all = mk_all_tiles(plan, builder->ipu);
    bool is_wide = plan->options.framework == MK_TENSORFLOW;
    uint64_t partial_bytes = operation->partial_bytes > 0 ? operation->partial_bytes : 1;
    uint64_t summed = bytes * 2;
    mk_span message = mk_add_exchange(builder, a, bytes, tiles_for(builder, bytes, 1, 1));
    mk_span arranged = mk_add_temporary(builder, "preArrange", MK_REARRANGEMENT, bytes,
                                        tiles_for(builder, bytes, 1, 1));
    execute(builder, "PreArrange", MK_TYPE_STRIDED_COPY, tiles_of(builder, arranged), message,
            no_span, arranged);
    mk_span received = mk_add_exchange(builder, arranged, bytes, tiles_for(builder, bytes, 1, 1));
    mk_span partials =
        mk_add_temporary(builder, "Conv_1/partials", MK_VARIABLE, partial_bytes, all);
    mk_add_write_undef(builder, partials);
    execute(builder, "Conv_1/Transpose", MK_TYPE_SHORT_COPY, tiles_for(builder, bytes, 1, 2),
            received, no_span, received);
    mk_begin_execute(builder, "Conv_1/Convolve");
    mk_execute_vertices(builder, is_wide ? MK_TYPE_CONVOLVE_WIDE : MK_TYPE_CONVOLVE, all, 1, 0);
    mk_execute_vertices(builder, MK_TYPE_ZERO, all, 1, 0);
    mk_execute_use(builder, received);
    mk_execute_use(builder, b);
    mk_execute_use(builder, partials);
    mk_end_execute(builder);
    mk_span first = mk_add_exchange(builder, partials, summed, tiles_for(builder, summed, 3, 4));
    mk_tiles reducing = tiles_for(builder, summed, 3, 8);
    mk_span sum = mk_add_temporary(builder, "Conv_1/Reduce/sum", MK_VARIABLE, summed, reducing);
    execute(builder, "Conv_1/Reduce", MK_TYPE_REDUCE_PARTIALS, reducing, first, partials, sum);
    mk_span second = mk_add_exchange(builder, sum, bytes, reducing);
    mk_span total = mk_add_temporary(builder, "Conv_1/Reduce/total", MK_VARIABLE, bytes, reducing);
    execute(builder, "Conv_1/ReduceFinalStage", MK_TYPE_REDUCE_PARTIALS, reducing, second, sum,
            total);
    execute(builder, "Conv_1/Cast", MK_TYPE_CAST, reducing, total, no_span, total);
    mk_span third = mk_add_exchange(builder, total, bytes / 2 > 0 ? bytes / 2 : 1,
                                    tiles_for(builder, bytes, 3, 8));
    execute(builder, "PostArrange", MK_TYPE_STRIDED_COPY, tiles_of(builder, output), third, total,
            output);
    mk_span fourth = mk_add_exchange(builder, output, bytes / 2 > 0 ? bytes / 2 : 1,
                                     tiles_for(builder, bytes, 1, 4));
    execute(builder, "OnTileCopyPost", MK_TYPE_SHORT_COPY, tiles_for(builder, bytes, 1, 4), output,
            fourth, no_span);
}

static void lower_norm(mk_builder *builder, uint64_t bytes, mk_span input, mk_span gamma,
                       mk_span beta, mk_span output) {
    mk_tiles tiles = tiles_of(builder, output);
    uint64_t small = bytes / 16 > 0 ? bytes / 16 : 1;
    mk_span mean = mk_add_temporary(builder, "mean", MK_VARIABLE, small, tiles);
    mk_span power = mk_add_temporary(builder, "power", MK_VARIABLE, small, tiles);
    execute(builder, "mean/Reduce", MK_TYPE_REDUCE_ADD, tiles, input, no_span, mean);
    mk_span message = mk_add_exchange(builder, mean, small, tiles);
    execute(builder, "mean/ReduceFinal", MK_TYPE_REDUCE_ADD, tiles, message, no_span, mean);
    execute(builder, "power/Reduce", MK_TYPE_REDUCE_SQUARE, tiles, input, mean, power);
    message = mk_add_exchange(builder, power, small, tiles);
    execute(builder, "power/ReduceFinal", MK_TYPE_REDUCE_SQUARE, tiles, message, no_span, power);
    mk_begin_execute(builder, "Whiten");
    mk_execute_vertices(builder, MK_TYPE_WHITEN, tiles, 1, 1);
    mk_execute_vertices(builder, MK_TYPE_CAST, tiles, 1, 0);
    mk_execute_use(builder, input);
    mk_execute_use(builder, mean);
    mk_execute_use(builder, power);
    mk_execute_use(builder, gamma);
    mk_execute_use(builder, beta);
    mk_execute_use(builder, output);
    mk_end_execute(builder);
}

static void lower_softmax(mk_builder *builder, uint64_t bytes, mk_span input, mk_span output) {
    mk_tiles tiles = tiles_of(builder, output);
    uint64_t small = bytes / 16 > 0 ? bytes / 16 : 1;
    mk_span maximum = mk_add_temporary(builder, "max", MK_VARIABLE, small, tiles);
    mk_span sum = mk_add_temporary(builder, "sum", MK_VARIABLE, small, tiles);
    execute(builder, "max/Reduce", MK_TYPE_REDUCE_MAX, tiles, input, no_span, maximum);
    mk_span message = mk_add_exchange(builder, maximum, small, tiles);
    execute(builder, "max/ReduceFinal", MK_TYPE_REDUCE_MAX, tiles, message, no_span, maximum);
    execute(builder, "subtract", MK_TYPE_ADD, tiles, input, maximum, output);
    execute(builder, "exp", MK_TYPE_EXPONENT, tiles, output, no_span, output);
    execute(builder, "sum/Reduce", MK_TYPE_REDUCE_ADD, tiles, output, no_span, sum);
    message = mk_add_exchange(builder, sum, small, tiles);
    execute(builder, "sum/ReduceFinal", MK_TYPE_REDUCE_ADD, tiles, message, no_span, sum);
    execute(builder, "divide", MK_TYPE_DIVIDE, tiles, output, sum, output);
}

static void lower_gather(mk_builder *builder, uint64_t bytes, mk_span indices, mk_span dictionary,
                         mk_span output) {
    mk_network_plan *plan = builder->plan;
    mk_tiles all = mk_all_tiles(plan, builder->ipu);
    mk_tiles tiles = tiles_of(builder, output);
    mk_span message = mk_add_exchange(builder, indices, 4 * plan->options.sequence,
                                      tiles_for(builder, 4 * plan->options.sequence, 1, 1));
    size_t repeat = mk_add_program(builder, MK_REPEAT, 4, builder->record, 24);
    size_t repeat_step = builder->step - 1;
    mk_place before = mk_open(builder, repeat);
    size_t body = mk_add_program(builder, MK_SEQUENCE, MK_NONE, builder->record, 0);
    mk_place inside = mk_open(builder, body);
    mk_span slices = mk_add_temporary(builder, "multiSlice/slices", MK_VARIABLE, bytes, all);
    execute(builder, "multiSlice", MK_TYPE_SLICE, all, message, dictionary, slices);
    mk_span moved = mk_add_exchange(builder, slices, bytes, tiles);
    execute(builder, "write", MK_TYPE_SHORT_COPY, tiles, moved, no_span, output);
    mk_close(builder, inside);
    mk_close(builder, before);
    /* What a loop reads and writes is live in all of it. */
    for (size_t i = 0; i < message.count; i++)
        mk_live_at(plan, message.first + i, builder->step - 1);
    for (size_t i = 0; i < output.count; i++) {
        mk_variable *variable = mk_variable_at(plan, output.first + i);
        if (variable->first_step > repeat_step)
            variable->first_step = repeat_step;
    }
}

static void lower_update(mk_builder *builder, mk_span target, mk_span other, mk_span gradient) {
    mk_tiles tiles = tiles_of(builder, target);
    execute(builder, "scaledAdd", MK_TYPE_UPDATE, tiles, target, other, gradient);
}

static void lower_send(mk_builder *builder, const mk_operation *operation) {
    mk_network_plan *plan = builder->plan;
    size_t count = operation->num_sent;
    mk_span *spans = pl_new_array(2 * count, sizeof *spans);
    if (spans == NULL) {
        plan->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const mk_sent sent = ((const mk_sent *)plan->sent.items)[operation->first_sent + i];
        spans[i] = tensor_span(builder, sent.source);
        spans[count + i] = tensor_span(builder, sent.destination);
    }
    mk_lower_send(builder, spans, spans + count, count);
    free(spans);
}

/* The programs of one operation where the builder is. */
static void lower_work(mk_builder *builder, size_t number) {
    mk_network_plan *plan = builder->plan;
    const mk_operation operation = *mk_operation_at(plan, number);
    mk_span inputs[MK_MAX_INPUTS] = {{0, 0}};
    for (size_t i = 0; i < operation.num_inputs; i++)
        inputs[i] = span_here(builder, operation.inputs[i]);
    mk_span output = no_span;
    uint64_t bytes = tensor_bytes(plan, operation.inputs[0]);
    if (operation.output != MK_NONE) {
        output = span_here(builder, operation.output);
        bytes = tensor_bytes(plan, operation.output);
    }
    switch (operation.work) {
    case MK_WORK_MAP:
        lower_map(builder, &operation, inputs[0], output);
        break;
    case MK_WORK_BINARY:
        lower_binary(builder, bytes, inputs[0], inputs[1], output);
        break;
    case MK_WORK_MATMUL:
        lower_matmul(builder, &operation, bytes, inputs[0], inputs[1], output);
        break;
    case MK_WORK_NORM:
        lower_norm(builder, bytes, inputs[0], inputs[1], inputs[2], output);
        break;
    case MK_WORK_SOFTMAX:
        lower_softmax(builder, bytes, inputs[0], output);
        break;
    case MK_WORK_GATHER:
        lower_gather(builder, bytes, inputs[0], inputs[1], output);
        break;
    case MK_WORK_UPDATE:
        lower_update(builder, inputs[0], inputs[1], inputs[2]);
        break;
    case MK_WORK_TRANSFER:
        execute(builder, "Transpose", MK_TYPE_STRIDED_COPY, tiles_of(builder, output), inputs[0],
                no_span, output);
        break;
    case MK_WORK_CALL:
        break;
    case MK_WORK_STASH:
        mk_lower_stash(builder, inputs[0], inputs[1]);
        break;
    case MK_WORK_RESTORE: {
        bool in_place = operation.output == MK_NONE;
        mk_lower_restore(builder, inputs[0], in_place ? inputs[1] : output, in_place);
        break;
    }
    case MK_WORK_FIFO: {
        bool has_buffer = operation.num_inputs > 1;
        uint64_t depth = has_buffer ? mk_tensor_at(plan, operation.inputs[1])->num_copies : 0;
        mk_lower_fifo(builder, inputs[0], inputs[1], depth, output);
        break;
    }
    case MK_WORK_COPY:
        mk_lower_fifo(builder, inputs[0], no_span, 0, output);
        break;
    case MK_WORK_SEND:
        lower_send(builder, &operation);
        break;
    }
}

/* Messages per operation are fewer than this. */
enum { MESSAGE_NUMBERS = 16 };

/* From here on things are made for what is known by `identity`; `number` is its own. */
static void know_by(mk_builder *builder, uint64_t identity, size_t number) {
    builder->identity = identity;
    builder->made = 0;
    builder->message = number * MESSAGE_NUMBERS;
}

/* Sets the builder to an operation whose programs descend from `record`. `scope` must outlive the
 * use of the builder. */
static void enter_operation(mk_builder *builder, size_t number, uint32_t record, char *scope,
                            size_t scope_size) {
    mk_network_plan *plan = builder->plan;
    const mk_operation operation = *mk_operation_at(plan, number);
    const char *name = mk_text(plan, operation.name);
    const char *api = apis[operation.work];
    snprintf(scope, scope_size, "%s/%llu/%s", name[0] != '\0' ? name : operation.type,
             (unsigned long long)operation.instance, api);
    builder->operation = number;
    builder->ipu = operation.ipu;
    if (builder->occasion == MK_NONE) {
        know_by(builder, mk_identity(MK_OF_AN_OPERATION, number, 0), number + 1);
    } else {
        /* The body is the same whatever operation is the first to call it. */
        size_t place = number - 1 - mk_occasion_at(plan, builder->occasion)->first_call;
        know_by(builder, mk_identity(MK_OF_A_FUNCTION, builder->occasion, place),
                plan->operations.count + builder->occasion * MK_MAX_REPLACED + place + 1);
    }
    builder->api = api;
    builder->scope = scope;
    builder->record = record;
    if (operation.work != MK_WORK_CALL)
        builder->record = mk_add_context(plan, MK_CONTEXT_POPLIBS, record,
                                         mk_intern(plan, &plan->strings, api), number, api);
}

/* ---- Functions ------------------------------------------------------------------------------ */

/* Steps of an occasion: the copy of the arguments is step 0, the call step 1, its body follows. */
enum { STEP_OF_BODY = 2 };

static mk_span copy_of_tensor(mk_network_plan *plan, size_t function, size_t ipu, size_t tensor,
                              const char *what, size_t number) {
    const mk_tensor source = *mk_tensor_at(plan, tensor);
    char name[64];
    snprintf(name, sizeof name, "call_subgraph(%zu)/%s%zu", function - 1, what, number);
    uint64_t bytes = source.rows * source.columns * source.element_bytes;
    uint64_t identity = mk_identity(MK_OF_A_PARAMETER, function, (uint64_t)what[0] << 32 | number);
    mk_data data = {
        .name = name,
        .identity = identity,
        .kind = MK_ACTIVATION,
        .bytes = bytes,
        .tiles = mk_choose_tiles(plan, ipu, bytes / plan->options.num_pieces, 1, 1, identity),
        .occasion = function};
    return mk_add_data(plan, &data);
}

/* The body of the function that `call` is the first to call. */
static void build_function(mk_network_plan *plan, size_t call_number) {
    const mk_operation call = *mk_operation_at(plan, call_number);
    size_t function = call.function;
    mk_append(plan, &plan->call_order, &function);
    mk_occasion_at(plan, function)->first_call = call_number;
    mk_builder body = {.plan = plan,
                       .parent = MK_NONE,
                       .parent_step = MK_NONE,
                       .step = STEP_OF_BODY,
                       .occasion = function,
                       .operation = MK_NONE,
                       .ipu = call.ipu,
                       .record = 1};
    for (size_t i = 0; i < call.num_inputs; i++) {
        mk_span span =
            copy_of_tensor(plan, function, call.ipu, call.inputs[i], i == 0 ? "in" : "w", i);
        mk_occasion_at(plan, function)->inputs[i] = span.first;
        for (size_t k = 0; k < span.count; k++)
            mk_live_at(plan, span.first + k, 0);
    }
    for (size_t i = 0; i < call.num_replaced && i < MK_MAX_REPLACED; i++) {
        size_t output = mk_operation_at(plan, call_number + 1 + i)->output;
        mk_span span = copy_of_tensor(plan, function, call.ipu, output, "out", i);
        mk_occasion_at(plan, function)->outputs[i] = span.first;
    }
    size_t root = mk_add_program(&body, MK_SEQUENCE, MK_NONE, 1, 8);
    mk_place outside = mk_open(&body, root);
    for (size_t i = 0; i < call.num_replaced; i++) {
        size_t number = call_number + 1 + i;
        char scope[400];
        enter_operation(&body, number, mk_operation_at(plan, number)->outlined_record, scope,
                        sizeof scope);
        lower_work(&body, number);
    }
    mk_close(&body, outside);
    mk_occasion *done = mk_occasion_at(plan, function);
    done->body = root;
    done->body_steps = body.step - STEP_OF_BODY;
    /* The results are read by the copy behind the call. */
    for (size_t i = 0; i < call.num_replaced && i < MK_MAX_REPLACED; i++) {
        for (size_t k = 0; k < plan->options.num_pieces; k++)
            mk_live_at(plan, done->outputs[i] + k, body.step);
    }
}

/* Repeats the steps of a function's body below the current program. */
static void repeat_body(mk_builder *builder, size_t program, size_t parent_step) {
    mk_network_plan *plan = builder->plan;
    if (plan->is_out_of_memory)
        return;
    size_t step = builder->step++;
    mk_append(plan, &plan->steps, &(mk_step){.program = program, .parent = parent_step});
    for (size_t child = mk_program_at(plan, program)->children; child != MK_NONE;
         child = mk_program_at(plan, child)->next)
        repeat_body(builder, child, step);
}

static void lower_call(mk_builder *builder, size_t number) {
    mk_network_plan *plan = builder->plan;
    const mk_operation call = *mk_operation_at(plan, number);
    size_t function = call.function;
    bool is_first = mk_occasion_at(plan, function)->starts.count == 0;
    for (size_t i = 0; i < call.num_replaced; i++)
        mk_add_operation_records(plan, number + 1 + i, is_first);
    if (is_first)
        build_function(plan, number);
    size_t pieces = plan->options.num_pieces;
    mk_append(plan, &mk_occasion_at(plan, function)->starts, &builder->step);
    const mk_occasion ready = *mk_occasion_at(plan, function);

    /* Lives of parameters and results count from the occasion, so only their use is told here. */
    mk_begin_execute(builder, "CopyIn");
    mk_execute_vertices(builder, MK_TYPE_SHORT_COPY, mk_all_tiles(plan, builder->ipu), 1, 1);
    for (size_t i = 0; i < call.num_inputs; i++) {
        mk_execute_use(builder, tensor_span(builder, call.inputs[i]));
        for (size_t k = 0; k < pieces; k++) {
            size_t parameter = ready.inputs[i] + k;
            mk_append(plan, &plan->uses, &parameter);
        }
    }
    mk_end_execute(builder);
    uint32_t context =
        mk_add_context(plan, MK_CONTEXT_PROGRAM, builder->record, 0, MK_NONE, "Call");
    mk_add_program(builder, MK_CALL, function, context, 24);
    repeat_body(builder, ready.body, builder->step - 1);
    mk_begin_execute(builder, "CopyOut");
    mk_execute_vertices(builder, MK_TYPE_SHORT_COPY, mk_all_tiles(plan, builder->ipu), 1, 0);
    for (size_t i = 0; i < call.num_replaced && i < MK_MAX_REPLACED; i++) {
        size_t output = mk_operation_at(plan, number + 1 + i)->output;
        mk_execute_use(builder, tensor_span(builder, output));
        for (size_t k = 0; k < pieces; k++) {
            size_t result = ready.outputs[i] + k;
            mk_append(plan, &plan->uses, &result);
        }
    }
    mk_end_execute(builder);
}

/* ---- The control program -------------------------------------------------------------------- */

/* One operation in so many has a stray copy behind it. */
enum { STRAY_EVERY = 20 };

/* What the compiler inserted behind an operation: a program without one. */
static void add_stray_copy(mk_builder *builder, size_t tensor, size_t operation) {
    char scope[64];
    snprintf(scope, sizeof scope, "copy%zu_Copy_to_<anon>", operation / STRAY_EVERY);
    know_by(builder, mk_identity(MK_OF_A_STRAY, operation, 0), builder->plan->operations.count + 1);
    builder->operation = MK_NONE;
    builder->record = 0;
    builder->scope = scope;
    builder->api = "copy";
    mk_span span = tensor_span(builder, tensor);
    execute(builder, "OnTileCopy-0", MK_TYPE_SHORT_COPY, tiles_of(builder, span), span, no_span,
            no_span);
}

/* Copies the tensors listed from `first` on, if any. */
static void copy_listed(mk_builder *builder, bool to_host, size_t first, uint32_t record) {
    mk_network_plan *plan = builder->plan;
    size_t count = plan->copied.count - first;
    if (count > 0 && !plan->is_out_of_memory)
        mk_add_host_copy(builder, to_host, first, count, record);
}

/* The tensors that other parts of the model make, as soon as they are there. */
static void receive(mk_builder *builder, mk_arrival arrival) {
    mk_network_plan *plan = builder->plan;
    size_t first = plan->copied.count;
    for (size_t tensor = 0; tensor < plan->tensors.count; tensor++) {
        if (mk_tensor_at(plan, tensor)->arrival == arrival)
            mk_append(plan, &plan->copied, &tensor);
    }
    uint32_t record = 0;
    if (plan->copied.count > first)
        record = mk_tensor_at(plan, mk_number_at(&plan->copied, first))->owner;
    copy_listed(builder, false, first, record);
}

/* The tensors that other parts use, at the end of this one. */
static void send(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    size_t first = plan->copied.count;
    for (size_t tensor = 0; tensor < plan->tensors.count; tensor++) {
        if (mk_tensor_at(plan, tensor)->leaves)
            mk_append(plan, &plan->copied, &tensor);
    }
    copy_listed(builder, true, first, 0);
}

/* What an operation makes is written anew, where it may hold what the last turn of a loop made. */
static void write_results_anew(mk_builder *builder, size_t number) {
    mk_network_plan *plan = builder->plan;
    size_t count = mk_operation_at(plan, number)->num_replaced + 1;
    for (size_t i = number; i < number + count; i++) {
        size_t output = mk_operation_at(plan, i)->output;
        if (output == MK_NONE || !mk_tensor_at(plan, output)->is_carried)
            continue;
        mk_span span = tensor_span(builder, output);
        for (size_t k = 0; k < span.count; k++)
            mk_write_anew(plan, span.first + k);
    }
}

static void lower_operation(mk_builder *builder, size_t number) {
    mk_network_plan *plan = builder->plan;
    plan->block++;
    char scope[400];
    mk_add_operation_records(plan, number, false);
    enter_operation(builder, number, mk_operation_at(plan, number)->record, scope, sizeof scope);
    mk_work work = mk_operation_at(plan, number)->work;
    if (work < MK_WORK_STASH)
        write_results_anew(builder, number);
    if (work == MK_WORK_CALL)
        lower_call(builder, number);
    else
        lower_work(builder, number);
    size_t output = mk_operation_at(plan, number)->output;
    if (number % STRAY_EVERY == STRAY_EVERY - 1 && output != MK_NONE && work < MK_WORK_STASH)
        add_stray_copy(builder, output, number);
}

/* Operations from `first` up to, not including, `end`, in their order. */
static void lower_operations(mk_builder *builder, size_t first, size_t end) {
    mk_network_plan *plan = builder->plan;
    bool has_gradients = first > 0; /* then only updates are left */
    for (size_t number = first; number < end; number++) {
        if (plan->is_out_of_memory)
            return;
        if (mk_operation_at(plan, number)->is_replaced ||
            mk_operation_at(plan, number)->is_left_out)
            continue;
        if (number >= plan->backward_begin && !has_gradients) {
            has_gradients = true;
            receive(builder, MK_ARRIVES_FOR_BACKWARD);
        }
        lower_operation(builder, number);
    }
    builder->operation = MK_NONE;
    builder->scope = "";
}

static bool is_here(const mk_network_plan *plan, size_t tensor, mk_tensor_kind kind, size_t ipu) {
    const mk_tensor *it = mk_tensor_at(plan, tensor);
    return it->kind == kind && !it->is_left_out && it->ipu == ipu;
}

/* Copies all tensors of a kind on the builder's IPU, in groups of so many. */
static void copy_tensors(mk_builder *builder, mk_tensor_kind kind, bool to_host, size_t group) {
    mk_network_plan *plan = builder->plan;
    size_t first = plan->copied.count;
    for (size_t tensor = 0; tensor <= plan->tensors.count; tensor++) {
        if (tensor < plan->tensors.count && is_here(plan, tensor, kind, builder->ipu))
            mk_append(plan, &plan->copied, &tensor);
        size_t count = plan->copied.count - first;
        if (count == group || (tensor == plan->tensors.count && count > 0)) {
            if (plan->is_out_of_memory)
                return;
            size_t owner = mk_number_at(&plan->copied, first);
            mk_add_host_copy(builder, to_host, first, count, mk_tensor_at(plan, owner)->owner);
            first = plan->copied.count;
        }
    }
}

static size_t count_tensors(const mk_network_plan *plan, mk_tensor_kind kind, size_t ipu) {
    size_t count = 0;
    for (size_t tensor = 0; tensor < plan->tensors.count; tensor++)
        count += is_here(plan, tensor, kind, ipu) ? 1 : 0;
    return count;
}

static size_t group_size(const mk_network_plan *plan, mk_tensor_kind kind, size_t ipu) {
    return count_tensors(plan, kind, ipu) / 3 + 1;
}

/* Weights and optimizer state to the device, or back. */
static void copy_model(mk_builder *builder, bool to_host) {
    mk_network_plan *plan = builder->plan;
    size_t sequence = mk_add_program(builder, MK_SEQUENCE, MK_NONE, 1, 4);
    mk_place before = mk_open(builder, sequence);
    mk_add_program(builder, MK_SANS, MK_NONE, 1, 4);
    for (size_t ipu = 0; ipu < plan->options.num_ipus; ipu++) {
        builder->ipu = ipu;
        copy_tensors(builder, MK_WEIGHT, to_host, group_size(plan, MK_WEIGHT, ipu));
        if (plan->options.training)
            copy_tensors(builder, MK_OPTIMIZER_STATE, to_host,
                         group_size(plan, MK_OPTIMIZER_STATE, ipu));
    }
    builder->ipu = MK_EVERY_IPU;
    mk_add_program(builder, MK_SYNC_ANS, MK_NONE, 1, 4);
    mk_close(builder, before);
}

/* The result of the forward pass to the host, if it is here. */
static void copy_result(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    size_t result = MK_NONE;
    for (size_t number = 0; number < plan->operations.count; number++) {
        const mk_operation *operation = mk_operation_at(plan, number);
        if (operation->forward == MK_NONE && operation->transform == NULL &&
            operation->output != MK_NONE)
            result = operation->is_left_out ? MK_NONE : operation->output;
    }
    if (result == MK_NONE)
        return;
    size_t first = mk_append(plan, &plan->copied, &result);
    builder->ipu = mk_tensor_at(plan, result)->ipu;
    mk_add_host_copy(builder, true, first, 1, 0);
}

/* One batch: the inputs, the operations, the result. Of a pipeline, one turn of its loop. */
static void run_batch(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    mk_add_program(builder, MK_SANS, MK_NONE, 1, 4);
    for (size_t ipu = 0; ipu < plan->options.num_ipus; ipu++) {
        builder->ipu = ipu;
        copy_tensors(builder, MK_STREAM, false, 1);
    }
    builder->ipu = 0;
    receive(builder, MK_ARRIVES_AT_START);
    builder->ipu = MK_EVERY_IPU;
    mk_add_program(builder, MK_SYNC_ANS, MK_NONE, 1, 4);
    builder->ipu = 0;
    if (plan->options.num_ipus == 1) {
        lower_operations(builder, 0,
                         plan->update_begin != MK_NONE ? plan->update_begin
                                                       : plan->operations.count);
        send(builder);
        copy_result(builder);
    }
    for (size_t i = 0; i < plan->schedule.count && !plan->is_out_of_memory; i++) {
        size_t number = mk_number_at(&plan->schedule, i);
        if (number != MK_NONE) {
            lower_operation(builder, number);
            continue;
        }
        builder->operation = MK_NONE;
        builder->scope = "";
        copy_result(builder);
    }
    builder->operation = MK_NONE;
    builder->scope = "";
    builder->ipu = MK_EVERY_IPU;
}

static void run_model(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    size_t sequence = mk_add_program(builder, MK_SEQUENCE, MK_NONE, 1, 4);
    mk_place before = mk_open(builder, sequence);
    if (plan->options.training || plan->options.num_ipus > 1) {
        mk_add_program(builder, MK_SYNC, MK_SYNC_INTERNAL, 1, 4);
        plan->loop_first_step = builder->step;
        size_t repeat = mk_add_program(builder, MK_REPEAT, 16, 1, 24);
        mk_place outside = mk_open(builder, repeat);
        size_t body = mk_add_program(builder, MK_SEQUENCE, MK_NONE, 1, 4);
        mk_open(builder, body);
        run_batch(builder);
        mk_close(builder, outside);
        plan->loop_end_step = builder->step;
        if (plan->update_begin != MK_NONE) {
            builder->ipu = 0;
            lower_operations(builder, plan->update_begin, plan->update_end);
            builder->ipu = MK_EVERY_IPU;
        }
    } else {
        run_batch(builder);
    }
    mk_close(builder, before);
}

/* The weights and streams, which exist before anything runs, and what comes from other parts. */
static void add_resident_tensors(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    for (size_t tensor = 0; tensor < plan->tensors.count; tensor++) {
        const mk_tensor *resident = mk_tensor_at(plan, tensor);
        if (resident->is_left_out ||
            (resident->kind == MK_ACTIVATION && resident->arrival == MK_MADE_HERE))
            continue;
        plan->block++;
        mk_add_tensor_records(plan, tensor);
        tensor_span(builder, tensor);
    }
}

void mk_lower(mk_network_plan *plan) {
    mk_add_shared_types(plan);
    mk_builder builder = {.plan = plan,
                          .parent = MK_NONE,
                          .parent_step = MK_NONE,
                          .occasion = MK_NONE,
                          .operation = MK_NONE,
                          .ipu = MK_EVERY_IPU,
                          .identity = mk_identity(MK_OF_THE_SYSTEM, 2, 0),
                          .api = "switchControlBroadcast",
                          .scope = "switchControlBroadcast"};
    uint32_t compilation = mk_add_context(plan, MK_CONTEXT_COMPILATION, 0, 0, MK_NONE, NULL);
    uint32_t root = compilation;
    if (plan->options.framework != MK_TENSORFLOW)
        root = mk_add_context(plan, MK_CONTEXT_ROOT, 0, 0, MK_NONE, NULL);
    add_resident_tensors(&builder);

    mk_compiler_data program_id = {.base_name = "programId0#0#",
                                   .identity = mk_identity(MK_OF_THE_SYSTEM, 0, 0),
                                   .category = MK_CONTROL_ID,
                                   .unlowered = MK_NONE,
                                   .bytes = 4,
                                   .tiles = {.first = 0, .count = 1},
                                   .occasion = MK_NONE};
    plan->program_id = mk_add_compiler_data(plan, &program_id);
    for (size_t ipu = 0; ipu < plan->options.num_ipus; ipu++) {
        mk_compiler_data buffer = {.base_name = "instrumentationStreamBuffer",
                                   .identity = mk_identity(MK_OF_THE_SYSTEM, 1, 0),
                                   .category = MK_VARIABLE,
                                   .unlowered = MK_NONE,
                                   .bytes = 256,
                                   .tiles = mk_all_tiles(plan, ipu),
                                   .occasion = mk_occasion_of_ipu(ipu, MK_WINDOWS)};
        size_t window = mk_add_compiler_data(plan, &buffer);
        mk_variable_at(plan, window)->first_step = 0;
        mk_variable_at(plan, window)->end_step = 2;
    }

    size_t control = mk_add_program(&builder, MK_SEQUENCE, MK_NONE, compilation, 36);
    mk_open(&builder, control);
    mk_add_program(&builder, MK_SANS, MK_NONE, root, 4);
    builder.ipu = 0;
    mk_add_host_copy(&builder, false, 0, 0, compilation);
    builder.ipu = MK_EVERY_IPU;
    mk_add_program(&builder, MK_SYNC_ANS, MK_NONE, root, 4);
    mk_live_at(plan, plan->program_id, builder.step - 3);
    builder.record = root;
    builder.ipu = 0;
    mk_span program_id_span = {.first = plan->program_id, .count = 1};
    mk_add_exchange(&builder, program_id_span, 4 * plan->options.tiles_per_ipu,
                    mk_all_tiles(plan, 0));
    if (plan->options.num_ipus > 1)
        mk_lower_broadcast(&builder, program_id_span);
    builder.ipu = MK_EVERY_IPU;
    size_t choice = mk_add_program(&builder, MK_ON_EVERY_TILE_SWITCH, MK_NONE, compilation, 40);
    mk_place outside = mk_open(&builder, choice);
    copy_model(&builder, false);
    run_model(&builder);
    copy_model(&builder, true);
    mk_close(&builder, outside);
    mk_add_program(&builder, MK_WRITE_UNDEF, MK_NONE, compilation, 0);
    if (plan->is_out_of_memory)
        return;
    mk_settle_lives(plan);
    mk_number_programs(plan);
    mk_add_system_variables(plan);
    mk_pair_variables(plan);
}
