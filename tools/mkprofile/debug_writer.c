/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/debug_writer.h"

#include "base/failure.h"
#include "mkprofile/cbor_file.h"
#include "mkprofile/random.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind {
    FIELD_NUMBER,
    FIELD_TEXT,
    FIELD_INPUTS,    /* names of the inputs of the operation */
    FIELD_OUTPUTS,   /* name of its output */
    FIELD_TEXTS,     /* a map of up to three texts */
    FIELD_NUMBERS,   /* a map of up to one number */
    FIELD_SHAPE,     /* of the tensor */
    FIELD_ARGUMENTS, /* of a poplibs call */
    FIELD_LOCATION,
} field_kind;

enum { MAX_FIELDS = 20, MAX_PAIRS = 3, MAX_TEXTS = 6, TEXT_BYTES = 400 };

typedef struct field {
    const char *key;
    field_kind kind;
    uint64_t number;
    const char *text;
    const char *keys[MAX_PAIRS];
    const char *values[MAX_PAIRS];
    size_t num_pairs;
} field;

/* The fields of one context, before they are sorted by key. */
typedef struct record {
    field fields[MAX_FIELDS];
    size_t num_fields;
    char texts[MAX_TEXTS][TEXT_BYTES];
    size_t num_texts;
} record;

typedef struct debug_writer {
    const mk_network_plan *plan;
    mk_cbor_file file;
    pl_names table; /* names, files and functions */
    bool is_out_of_memory;
} debug_writer;

/* Layer and place in the source of each kind of context. */
static const struct {
    const char *layer;
    const char *category; /* NULL when the kind has none */
    const char *file_name;
    const char *function_name;
    unsigned line;
} kinds[MK_CONTEXT_KIND_COUNT] = {
    [MK_CONTEXT_COMPILATION] = {"poplar", "compilation", "engine.cpp", "compile", 282},
    [MK_CONTEXT_ROOT] = {"popart", NULL, "irlowering.cpp", "compile", 3529},
    [MK_CONTEXT_BUILDER_OP] = {"popartbuilder", "api", "model.py", "build", 836},
    [MK_CONTEXT_BUILDER_VARIABLE] = {"popartbuilder", "variable", "model.py", "add_weight", 90},
    [MK_CONTEXT_BUILDER_BARE] = {"popartbuilder", NULL, "transform.cpp", "apply", 77},
    [MK_CONTEXT_POPTORCH] = {"poptorch", NULL, "model.py", "", 12},
    [MK_CONTEXT_ONNX_OP] = {"onnx", "op", "opmanager.cpp", "createOpInGraph", 417},
    [MK_CONTEXT_ONNX_VARIABLE] = {"onnx", "variable", "ir.cpp", "registerInputTensors", 2326},
    [MK_CONTEXT_OP] = {"popart", "op", "op.cpp", "Op", 671},
    [MK_CONTEXT_DISCARDED_OP] = {"popart", "op", "op.cpp", "Op", 671},
    [MK_CONTEXT_CALL] = {"popart", "op", "op.cpp", "Op", 671},
    [MK_CONTEXT_TENSOR] = {"popart", "tensor", "tensordebuginfo.cpp", "Tensor", 51},
    [MK_CONTEXT_XLA_OP] = {"xla_op", "op", "", "", 33},
    [MK_CONTEXT_HLO] = {"hloinstruction", "op", "", "", 101},
    [MK_CONTEXT_DRIVER] = {"poplar_driver", "op", "ops.cc", "CreateHloOp", 310},
    [MK_CONTEXT_POPLIBS] = {"poplibs", NULL, "opx.cpp", "grow", 511},
    [MK_CONTEXT_VARIABLE] = {"poplar", "var", "lowering.cpp", "addVariable", 288},
    [MK_CONTEXT_COMPUTE_SET] = {"poplar", "computeSet", "lowering.cpp", "grow", 150},
    [MK_CONTEXT_PROGRAM] = {"poplar", "program", "lowering.cpp", "grow", 206},
};

/* ---- Collecting the fields of a record ------------------------------------------------------ */

static field *add_field(record *fields, const char *key, field_kind kind) {
    if (fields->num_fields == MAX_FIELDS)
        fields->num_fields--; /* cannot happen: no kind has so many */
    field *added = &fields->fields[fields->num_fields++];
    *added = (field){.key = key, .kind = kind};
    return added;
}

static void add_number(record *fields, const char *key, uint64_t value) {
    add_field(fields, key, FIELD_NUMBER)->number = value;
}

static void add_text(record *fields, const char *key, const char *text) {
    add_field(fields, key, FIELD_TEXT)->text = text;
}

static const char *format_text(record *fields, const char *format, ...) {
    if (fields->num_texts == MAX_TEXTS)
        fields->num_texts--; /* cannot happen: no kind has so many */
    char *text = fields->texts[fields->num_texts++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, TEXT_BYTES, format, arguments);
    va_end(arguments);
    return text;
}

static void add_pair(field *map, const char *key, const char *value) {
    if (map->num_pairs == MAX_PAIRS)
        return;
    map->keys[map->num_pairs] = key;
    map->values[map->num_pairs++] = value;
}

/* "[12,15]": the debug ids of the operations that a call replaced, or of their clones. */
static const char *id_list(const mk_network_plan *plan, record *fields, size_t call,
                           bool is_outlined) {
    const mk_operation *operation = mk_operation_at(plan, call);
    size_t first = is_outlined ? mk_occasion_at(plan, operation->function)->first_call : call;
    char list[TEXT_BYTES] = "[";
    size_t length = 1;
    for (size_t i = 0; i < operation->num_replaced && length < sizeof list - 16; i++) {
        const mk_operation *listed = mk_operation_at(plan, first + 1 + i);
        length += (size_t)snprintf(
            list + length, sizeof list - length, "%s%lu", i > 0 ? "," : "",
            (unsigned long)(is_outlined ? listed->outlined_record : listed->record));
    }
    return format_text(fields, "%s]", list);
}

static const char *element_type(const mk_tensor *tensor) {
    return tensor->element_bytes == 2 ? "FLOAT16" : "INT32";
}

static const char *shape_text(record *fields, const mk_tensor *tensor) {
    return format_text(fields, "[%llu %llu]", (unsigned long long)tensor->rows,
                       (unsigned long long)tensor->columns);
}

static void add_popart_operation(const mk_network_plan *plan, record *fields,
                                 const mk_context *context) {
    const mk_operation *operation = mk_operation_at(plan, context->subject);
    bool is_call = context->kind == MK_CONTEXT_CALL;
    bool is_discarded = context->kind == MK_CONTEXT_DISCARDED_OP;
    add_text(fields, "instanceId",
             format_text(fields, "%llu", (unsigned long long)operation->instance));
    add_text(fields, "opid",
             is_call ? "ai.graphcore.Call:1"
                     : format_text(fields, "ai.onnx.%s:9", operation->type));
    add_number(fields, "discard", is_discarded);
    if (is_discarded)
        return;
    add_field(fields, "inputs", FIELD_INPUTS);
    add_field(fields, "outputs", FIELD_OUTPUTS);
    field *attributes = add_field(fields, "attributes", FIELD_TEXTS);
    if (is_call) {
        add_pair(attributes, "callee",
                 format_text(fields, "call_subgraph(%zu)", operation->function - 1));
        add_text(fields, "replacedDebugContextIds", id_list(plan, fields, context->subject, false));
        add_text(fields, "outlinedDebugContextIds", id_list(plan, fields, context->subject, true));
    } else {
        add_pair(attributes, "recompute", "NO");
        add_pair(attributes, "recomputetype", "Checkpoint");
        add_pair(attributes, "scope", "");
    }
    add_text(fields, "graphId", "");
}

static void add_hlo(const mk_network_plan *plan, record *fields, const mk_context *context) {
    const mk_operation *operation = mk_operation_at(plan, context->subject);
    const char *name = mk_text(plan, context->name);
    add_text(fields, "hlo_name", name);
    add_number(fields, "hlo_id", operation->instance);
    add_text(fields, "opcode", operation->type);
    add_text(fields, "signature", "(f16[]) -> f16[]");
    add_text(fields, "debug_string",
             format_text(fields, "%%%s = f16[] %s()", name, operation->type));
    add_number(fields, "operand_count", operation->num_inputs);
    add_text(fields, "computation", "cluster");
    add_number(fields, "computation_id", 1);
    add_field(fields, "operands", FIELD_TEXTS);
    add_field(fields, "users", FIELD_TEXTS);
}

static void add_framework_operation(const mk_network_plan *plan, record *fields,
                                    const mk_context *context) {
    const mk_operation *operation = mk_operation_at(plan, context->subject);
    const char *name = mk_text(plan, operation->name);
    if (context->kind == MK_CONTEXT_ONNX_OP) {
        add_text(fields, "opName", name);
        add_text(fields, "opType", operation->type);
        add_text(fields, "domain", "");
        add_field(fields, "input", FIELD_INPUTS);
        add_field(fields, "output", FIELD_OUTPUTS);
        field *attribute = add_field(fields, "attribute", FIELD_NUMBERS);
        add_pair(attribute, "__debug_info_id", NULL);
        attribute->number = context->parent;
        return;
    }
    if (context->kind == MK_CONTEXT_BUILDER_OP) {
        char lower[64];
        size_t i = 0;
        for (; operation->type[i] != '\0' && i < sizeof lower - 1; i++)
            lower[i] = (char)tolower((unsigned char)operation->type[i]);
        lower[i] = '\0';
        add_text(fields, "api", format_text(fields, "popart::AiOnnxOpset9::%s", lower));
        add_field(fields, "inputs", FIELD_INPUTS);
        add_field(fields, "outputs", FIELD_OUTPUTS);
        add_field(fields, "attributes", FIELD_TEXTS);
        return;
    }
    add_text(fields, "op_name", name);
    add_text(fields, "op_type", operation->type);
    if (context->kind == MK_CONTEXT_POPTORCH)
        add_text(fields, "torch_schema",
                 format_text(fields, "%%%llu : Tensor = popart::%s(%%1)",
                             (unsigned long long)operation->instance, operation->type));
}

static void add_tensor(const mk_network_plan *plan, record *fields, const mk_context *context) {
    const mk_tensor *tensor = mk_tensor_at(plan, context->subject);
    static const char *const types[] = {"Variable", "Variable", "Stream", "ActGrad", "Variable"};
    const char *name = mk_text(plan, tensor->name);
    const char *shape = shape_text(fields, tensor);
    if (context->kind == MK_CONTEXT_ONNX_VARIABLE) {
        field *proto = add_field(fields, "tensorProto", FIELD_TEXTS);
        add_pair(proto, "dataType", element_type(tensor));
        add_pair(proto, "dims", shape);
        add_pair(proto, "name", name);
    } else if (context->kind == MK_CONTEXT_BUILDER_VARIABLE) {
        add_text(fields, "api", "addInitializedInputTensor");
        add_text(fields, "tensorId", name);
    } else {
        add_text(fields, "tensorId", name);
        add_text(fields, "type", types[tensor->kind]);
        add_text(fields, "shape", shape);
        add_text(fields, "elementType", tensor->element_bytes == 2 ? "float16" : "int32");
    }
}

/* What the kind has beside id, name, layer and location. */
static void add_own_fields(const mk_network_plan *plan, record *fields, const mk_context *context) {
    switch (context->kind) {
    case MK_CONTEXT_OP:
    case MK_CONTEXT_DISCARDED_OP:
    case MK_CONTEXT_CALL:
        add_popart_operation(plan, fields, context);
        break;
    case MK_CONTEXT_BUILDER_OP:
    case MK_CONTEXT_POPTORCH:
    case MK_CONTEXT_ONNX_OP:
    case MK_CONTEXT_XLA_OP:
        add_framework_operation(plan, fields, context);
        break;
    case MK_CONTEXT_TENSOR:
    case MK_CONTEXT_ONNX_VARIABLE:
    case MK_CONTEXT_BUILDER_VARIABLE:
        add_tensor(plan, fields, context);
        break;
    case MK_CONTEXT_HLO:
        add_hlo(plan, fields, context);
        break;
    case MK_CONTEXT_DRIVER:
        add_text(fields, "class", "CreateOp");
        break;
    case MK_CONTEXT_POPLIBS:
        add_text(fields, "api", context->word);
        add_field(fields, "args", FIELD_ARGUMENTS);
        break;
    case MK_CONTEXT_VARIABLE:
        add_text(fields, "type", "half");
        add_number(fields, "mappingMethod", 0);
        add_field(fields, "shape", FIELD_SHAPE);
        break;
    case MK_CONTEXT_PROGRAM:
        add_text(fields, "type", context->word);
        break;
    case MK_CONTEXT_COMPILATION:
    case MK_CONTEXT_ROOT:
    case MK_CONTEXT_BUILDER_BARE:
    case MK_CONTEXT_COMPUTE_SET:
    case MK_CONTEXT_KIND_COUNT:
        break;
    }
}

/* ---- Writing ------------------------------------------------------------------------------- */

static size_t table_number(debug_writer *writer, const char *text) {
    size_t number = pl_names_number(&writer->table, text);
    writer->is_out_of_memory = writer->is_out_of_memory || number == SIZE_MAX;
    return number;
}

static void write_tensors(debug_writer *writer, size_t operation, bool inputs) {
    const mk_network_plan *plan = writer->plan;
    const mk_operation *source = mk_operation_at(plan, operation);
    if (!inputs) {
        mk_cbor_array(&writer->file, source->output != MK_NONE ? 1 : 0);
        if (source->output != MK_NONE)
            mk_cbor_text(&writer->file, mk_text(plan, mk_tensor_at(plan, source->output)->name));
        return;
    }
    mk_cbor_array(&writer->file, source->num_inputs);
    for (size_t i = 0; i < source->num_inputs; i++)
        mk_cbor_text(&writer->file, mk_text(plan, mk_tensor_at(plan, source->inputs[i])->name));
}

static void write_shape(debug_writer *writer, size_t tensor) {
    mk_cbor_array(&writer->file, 2);
    mk_cbor_number(&writer->file, tensor != MK_NONE ? mk_tensor_at(writer->plan, tensor)->rows : 1);
    mk_cbor_number(&writer->file,
                   tensor != MK_NONE ? mk_tensor_at(writer->plan, tensor)->columns : 64);
}

/* About so many bytes has one entry of the plan in the arguments of a call. */
enum { PLAN_ENTRY_BYTES = 94 };

/* One operand, and as many entries of a plan as the options want. */
static void write_arguments(debug_writer *writer, uint32_t id, size_t operation) {
    const mk_network_plan *plan = writer->plan;
    mk_cbor_file *file = &writer->file;
    uint64_t entries = plan->options.debug_argument_bytes / PLAN_ENTRY_BYTES;
    mk_cbor_map(file, entries > 0 ? 2 : 1);
    mk_cbor_text(file, "A");
    const mk_operation *source = mk_operation_at(plan, operation);
    char shape[64] = "[1]";
    if (source->num_inputs > 0) {
        const mk_tensor *tensor = mk_tensor_at(plan, source->inputs[0]);
        snprintf(shape, sizeof shape, "[%llu, %llu]", (unsigned long long)tensor->rows,
                 (unsigned long long)tensor->columns);
    }
    mk_cbor_map(file, 2);
    mk_cbor_text(file, "shape");
    mk_cbor_text(file, shape);
    mk_cbor_text(file, "type");
    mk_cbor_text(file, "half");
    if (entries == 0)
        return;
    mk_cbor_text(file, "options_");
    mk_cbor_map(file, entries);
    for (uint64_t i = 0; i < entries; i++) {
        char key[48];
        uint64_t random = mk_random(plan->options.seed, 6000000 + id, i);
        snprintf(key, sizeof key, "level_%04llu_partition", (unsigned long long)i);
        mk_cbor_text(file, key);
        mk_cbor_map(file, 4);
        mk_cbor_text(file, "cost");
        mk_cbor_number(file, random >> 40);
        mk_cbor_text(file, "isJointPlan");
        mk_cbor_bool(file, random % 2 == 0);
        mk_cbor_text(file, "split");
        snprintf(key, sizeof key, "[%03llu, %03llu, %03llu]",
                 (unsigned long long)(random >> 8 & 255), (unsigned long long)(random >> 16 & 255),
                 (unsigned long long)(random >> 24 & 255));
        mk_cbor_text(file, key);
        mk_cbor_text(file, "type");
        mk_cbor_text(file, random >> 32 & 1 ? "float" : "half");
    }
}

static void write_field(debug_writer *writer, uint32_t id, const mk_context *context,
                        const field *written) {
    mk_cbor_file *file = &writer->file;
    mk_cbor_text(file, written->key);
    switch (written->kind) {
    case FIELD_NUMBER:
        mk_cbor_number(file, written->number);
        break;
    case FIELD_TEXT:
        mk_cbor_text(file, written->text);
        break;
    case FIELD_INPUTS:
    case FIELD_OUTPUTS:
        write_tensors(writer, context->subject, written->kind == FIELD_INPUTS);
        break;
    case FIELD_TEXTS:
        mk_cbor_map(file, written->num_pairs);
        for (size_t i = 0; i < written->num_pairs; i++) {
            mk_cbor_text(file, written->keys[i]);
            mk_cbor_text(file, written->values[i]);
        }
        break;
    case FIELD_NUMBERS:
        mk_cbor_map(file, 1);
        mk_cbor_text(file, written->keys[0]);
        mk_cbor_number(file, written->number);
        break;
    case FIELD_SHAPE:
        write_shape(writer, context->subject);
        break;
    case FIELD_ARGUMENTS:
        write_arguments(writer, id, context->subject);
        break;
    case FIELD_LOCATION:
        mk_cbor_map(file, 3);
        mk_cbor_text(file, "fileName");
        mk_cbor_number(file, table_number(writer, kinds[context->kind].file_name));
        mk_cbor_text(file, "functionName");
        mk_cbor_number(file, table_number(writer, kinds[context->kind].function_name));
        mk_cbor_text(file, "lineNumber");
        mk_cbor_number(file, kinds[context->kind].line);
        break;
    }
}

static int by_key(const void *left, const void *right) {
    const field *a = left;
    const field *b = right;
    return strcmp(a->key, b->key);
}

static void write_context(debug_writer *writer, size_t number) {
    const mk_network_plan *plan = writer->plan;
    const mk_context *context = mk_context_at(plan, number);
    uint32_t id = (uint32_t)number + 1;
    record fields = {.num_fields = 0};
    add_number(&fields, "id", id);
    if (context->parent != 0)
        add_number(&fields, "parentId", context->parent);
    add_number(&fields, "name", table_number(writer, mk_text(plan, context->name)));
    add_text(&fields, "layer", kinds[context->kind].layer);
    if (kinds[context->kind].category != NULL)
        add_text(&fields, "category", kinds[context->kind].category);
    add_field(&fields, "location", FIELD_LOCATION);
    add_own_fields(plan, &fields, context);
    qsort(fields.fields, fields.num_fields, sizeof fields.fields[0], by_key);
    mk_cbor_map(&writer->file, fields.num_fields);
    for (size_t i = 0; i < fields.num_fields; i++)
        write_field(writer, id, context, &fields.fields[i]);
}

popliner_status mk_write_debug(const mk_network_plan *plan, const char *path,
                               popliner_error *error) {
    debug_writer writer = {.plan = plan};
    mk_cbor_open(&writer.file, path);
    mk_cbor_map(&writer.file, 2);
    mk_cbor_text(&writer.file, "contexts");
    mk_cbor_endless_array(&writer.file);
    /* Records are written when what they describe is destroyed: children before parents. */
    for (size_t first = 0; first < plan->contexts.count;) {
        size_t end = first + 1;
        while (end < plan->contexts.count &&
               mk_context_at(plan, end)->block == mk_context_at(plan, first)->block)
            end++;
        for (size_t i = end; i-- > first;)
            write_context(&writer, i);
        first = end;
    }
    mk_cbor_break(&writer.file);
    mk_cbor_text(&writer.file, "stringTable");
    mk_cbor_array(&writer.file, writer.table.count);
    for (size_t i = 0; i < writer.table.count; i++)
        mk_cbor_text(&writer.file, writer.table.items[i]);
    popliner_status status = mk_cbor_close(&writer.file, error);
    if (status == POPLINER_OK && writer.is_out_of_memory)
        status = pl_fail_memory(error, "the debug information");
    pl_names_free(&writer.table);
    return status;
}
