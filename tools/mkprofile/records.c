/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/records.h"

static uint32_t tensorflow_chain(mk_network_plan *plan, size_t number) {
    const mk_operation operation = *mk_operation_at(plan, number);
    size_t hlo =
        mk_intern_format(plan, "%s.%llu", operation.type, (unsigned long long)operation.instance);
    uint32_t xla = mk_add_context(plan, MK_CONTEXT_XLA_OP, 0, operation.name, number, NULL);
    uint32_t instruction = mk_add_context(plan, MK_CONTEXT_HLO, xla, hlo, number, NULL);
    return mk_add_context(plan, MK_CONTEXT_DRIVER, instruction, hlo, number, NULL);
}

/* What the framework's own record of a PopART operation descends from. */
static uint32_t popart_parent(mk_network_plan *plan, size_t number) {
    const mk_operation operation = *mk_operation_at(plan, number);
    if (operation.forward != MK_NONE)
        return mk_operation_at(plan, operation.forward)->framework_record;
    if (operation.transform != NULL)
        return mk_add_context(plan, MK_CONTEXT_BUILDER_BARE, 0,
                              mk_intern(plan, &plan->strings, operation.transform), MK_NONE, NULL);
    size_t type = mk_intern(plan, &plan->strings, operation.type);
    uint32_t torch = 0;
    if (plan->options.framework == MK_POPTORCH)
        torch = mk_add_context(plan, MK_CONTEXT_POPTORCH, 0, type, number, NULL);
    uint32_t builder = mk_add_context(plan, MK_CONTEXT_BUILDER_OP, torch, type, number, NULL);
    return mk_add_context(plan, MK_CONTEXT_ONNX_OP, builder, operation.name, number, NULL);
}

void mk_add_operation_records(mk_network_plan *plan, size_t number, bool is_first_of_function) {
    uint32_t framework_record;
    uint32_t record;
    uint32_t outlined = 0;
    if (plan->options.framework == MK_TENSORFLOW) {
        framework_record = tensorflow_chain(plan, number);
        record = framework_record;
        outlined = record;
    } else {
        const mk_operation operation = *mk_operation_at(plan, number);
        size_t name = mk_intern_format(plan, "%llu", (unsigned long long)operation.instance);
        mk_context_kind kind = operation.is_replaced            ? MK_CONTEXT_DISCARDED_OP
                               : operation.work == MK_WORK_CALL ? MK_CONTEXT_CALL
                                                                : MK_CONTEXT_OP;
        framework_record = popart_parent(plan, number);
        record = mk_add_context(plan, kind, framework_record, name, number, NULL);
        if (is_first_of_function)
            outlined = mk_add_context(plan, MK_CONTEXT_OP, framework_record, name, number, NULL);
    }
    mk_operation *operation = mk_operation_at(plan, number);
    operation->framework_record = framework_record;
    operation->record = record;
    operation->outlined_record = outlined;
}

void mk_add_tensor_records(mk_network_plan *plan, size_t number) {
    const mk_tensor tensor = *mk_tensor_at(plan, number);
    uint32_t owner = 0;
    if (plan->options.framework != MK_TENSORFLOW) {
        uint32_t parent = 0;
        if (tensor.kind == MK_WEIGHT) {
            parent =
                mk_add_context(plan, MK_CONTEXT_BUILDER_VARIABLE, 0, tensor.name, number, NULL);
            parent =
                mk_add_context(plan, MK_CONTEXT_ONNX_VARIABLE, parent, tensor.name, number, NULL);
        }
        owner = mk_add_context(plan, MK_CONTEXT_TENSOR, parent, tensor.name, number, NULL);
    }
    uint32_t context = mk_add_context(plan, MK_CONTEXT_VARIABLE, owner, tensor.name, number, NULL);
    mk_tensor_at(plan, number)->owner = owner;
    mk_tensor_at(plan, number)->context = context;
}
