/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/network_plan.h"

#include "base/failure.h"
#include "base/growth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mk_tensor *mk_tensor_at(const mk_network_plan *plan, size_t number) {
    return (mk_tensor *)plan->tensors.items + number;
}

mk_operation *mk_operation_at(const mk_network_plan *plan, size_t number) {
    return (mk_operation *)plan->operations.items + number;
}

mk_program *mk_program_at(const mk_network_plan *plan, size_t number) {
    return (mk_program *)plan->programs.items + number;
}

mk_vertex_type *mk_vertex_type_at(const mk_network_plan *plan, size_t number) {
    return (mk_vertex_type *)plan->vertex_types.items + number;
}

mk_vertices *mk_vertices_at(const mk_network_plan *plan, size_t number) {
    return (mk_vertices *)plan->vertices.items + number;
}

mk_compute_set *mk_compute_set_at(const mk_network_plan *plan, size_t number) {
    return (mk_compute_set *)plan->compute_sets.items + number;
}

mk_exchange *mk_exchange_at(const mk_network_plan *plan, size_t number) {
    return (mk_exchange *)plan->exchanges.items + number;
}

mk_global_exchange *mk_global_exchange_at(const mk_network_plan *plan, size_t number) {
    return (mk_global_exchange *)plan->global_exchanges.items + number;
}

mk_host_copy *mk_host_copy_at(const mk_network_plan *plan, size_t number) {
    return (mk_host_copy *)plan->host_copies.items + number;
}

mk_occasion *mk_occasion_at(const mk_network_plan *plan, size_t number) {
    return (mk_occasion *)plan->occasions.items + number;
}

mk_variable *mk_variable_at(const mk_network_plan *plan, size_t number) {
    return (mk_variable *)plan->variables.items + number;
}

mk_unlowered *mk_unlowered_at(const mk_network_plan *plan, size_t number) {
    return (mk_unlowered *)plan->unlowered.items + number;
}

mk_class *mk_class_at(const mk_network_plan *plan, size_t number) {
    return (mk_class *)plan->classes.items + number;
}

mk_range *mk_range_at(const mk_network_plan *plan, size_t number) {
    return (mk_range *)plan->ranges.items + number;
}

mk_context *mk_context_at(const mk_network_plan *plan, size_t number) {
    return (mk_context *)plan->contexts.items + number;
}

mk_life_part *mk_life_part_at(const mk_network_plan *plan, size_t number) {
    return (mk_life_part *)plan->life_parts.items + number - 1;
}

mk_step *mk_step_at(const mk_network_plan *plan, size_t number) {
    return (mk_step *)plan->steps.items + number;
}

mk_fault *mk_fault_at(const mk_network_plan *plan, size_t number) {
    return (mk_fault *)plan->faults.items + number;
}

size_t mk_number_at(const mk_array *array, size_t place) {
    return ((const size_t *)array->items)[place];
}

size_t mk_ipu_of_place(const mk_network_plan *plan, size_t place) {
    size_t ipu = 0;
    while (ipu + 1 < plan->options.num_ipus && place > MK_LAYER(plan->options.cuts[ipu]))
        ipu++;
    return ipu;
}

size_t mk_occasion_of_ipu(size_t ipu, size_t occasion) {
    return ipu * MK_OCCASIONS_OF_AN_IPU + occasion;
}

bool mk_is_resident(mk_tensor_kind kind) {
    return kind == MK_WEIGHT || kind == MK_OPTIMIZER_STATE || kind == MK_ACCUMULATOR;
}

const char *mk_text(const mk_network_plan *plan, size_t number) {
    return plan->strings.items[number];
}

const char *mk_base_name(const mk_network_plan *plan, size_t number) {
    return plan->base_names.items[number];
}

const char *mk_vertex_type_name(const mk_network_plan *plan, size_t number) {
    const mk_vertex_type *type = mk_vertex_type_at(plan, number);
    return type->name != NULL ? type->name : mk_text(plan, type->generated_name);
}

uint32_t mk_add_context(mk_network_plan *plan, mk_context_kind kind, uint32_t parent, size_t name,
                        size_t subject, const char *word) {
    mk_context context = {.kind = kind,
                          .parent = parent,
                          .name = name,
                          .subject = subject,
                          .word = word,
                          .block = plan->block};
    return (uint32_t)mk_append(plan, &plan->contexts, &context) + 1;
}

size_t mk_append(mk_network_plan *plan, mk_array *array, const void *item) {
    if (plan->is_out_of_memory ||
        !pl_grow(&array->items, &array->capacity, array->count + 1, array->item_size)) {
        plan->is_out_of_memory = true;
        return 0;
    }
    memcpy((char *)array->items + array->count * array->item_size, item, array->item_size);
    return array->count++;
}

size_t mk_intern(mk_network_plan *plan, pl_names *names, const char *text) {
    size_t number = plan->is_out_of_memory ? SIZE_MAX : pl_names_number(names, text);
    if (number == SIZE_MAX)
        plan->is_out_of_memory = true;
    return number == SIZE_MAX ? 0 : number;
}

size_t mk_intern_format(mk_network_plan *plan, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return mk_intern(plan, &plan->strings, text);
}

void mk_array_begin(mk_network_plan *plan, mk_array *array, size_t item_size) {
    *array = (mk_array){.item_size = item_size, .items = pl_new_array(1, item_size)};
    array->capacity = array->items != NULL ? 1 : 0;
    plan->is_out_of_memory = plan->is_out_of_memory || array->items == NULL;
}

popliner_status mk_network_plan_begin(mk_network_plan *plan, const mk_options *options,
                                      popliner_error *error) {
    *plan = (mk_network_plan){.options = *options,
                              .next_instance = 101,
                              .backward_begin = MK_NONE,
                              .update_begin = MK_NONE,
                              .update_end = MK_NONE};
    mk_array_begin(plan, &plan->tensors, sizeof(mk_tensor));
    mk_array_begin(plan, &plan->operations, sizeof(mk_operation));
    mk_array_begin(plan, &plan->programs, sizeof(mk_program));
    mk_array_begin(plan, &plan->vertex_types, sizeof(mk_vertex_type));
    mk_array_begin(plan, &plan->vertices, sizeof(mk_vertices));
    mk_array_begin(plan, &plan->compute_sets, sizeof(mk_compute_set));
    mk_array_begin(plan, &plan->exchanges, sizeof(mk_exchange));
    mk_array_begin(plan, &plan->global_exchanges, sizeof(mk_global_exchange));
    mk_array_begin(plan, &plan->schedule, sizeof(size_t));
    mk_array_begin(plan, &plan->sent, sizeof(mk_sent));
    mk_array_begin(plan, &plan->life_parts, sizeof(mk_life_part));
    mk_array_begin(plan, &plan->host_copies, sizeof(mk_host_copy));
    mk_array_begin(plan, &plan->copied, sizeof(size_t));
    mk_array_begin(plan, &plan->uses, sizeof(size_t));
    mk_array_begin(plan, &plan->steps, sizeof(mk_step));
    mk_array_begin(plan, &plan->occasions, sizeof(mk_occasion));
    mk_array_begin(plan, &plan->call_order, sizeof(size_t));
    mk_array_begin(plan, &plan->variables, sizeof(mk_variable));
    mk_array_begin(plan, &plan->pairs, sizeof(mk_pair));
    mk_array_begin(plan, &plan->unlowered, sizeof(mk_unlowered));
    mk_array_begin(plan, &plan->classes, sizeof(mk_class));
    mk_array_begin(plan, &plan->ranges, sizeof(mk_range));
    mk_array_begin(plan, &plan->contexts, sizeof(mk_context));
    mk_array_begin(plan, &plan->faults, sizeof(mk_fault));
    mk_intern(plan, &plan->strings, "");
    return plan->is_out_of_memory ? pl_fail_memory(error, "the plan of the profile") : POPLINER_OK;
}

void mk_network_plan_end(mk_network_plan *plan) {
    for (size_t i = 0; i < plan->occasions.count; i++)
        free(mk_occasion_at(plan, i)->starts.items);
    free(plan->tensors.items);
    free(plan->operations.items);
    free(plan->programs.items);
    free(plan->vertex_types.items);
    free(plan->vertices.items);
    free(plan->compute_sets.items);
    free(plan->exchanges.items);
    free(plan->global_exchanges.items);
    free(plan->schedule.items);
    free(plan->sent.items);
    free(plan->life_parts.items);
    free(plan->host_copies.items);
    free(plan->copied.items);
    free(plan->uses.items);
    free(plan->steps.items);
    free(plan->occasions.items);
    free(plan->call_order.items);
    free(plan->variables.items);
    free(plan->pairs.items);
    free(plan->unlowered.items);
    free(plan->classes.items);
    free(plan->ranges.items);
    free(plan->contexts.items);
    free(plan->faults.items);
    pl_names_free(&plan->strings);
    pl_names_free(&plan->base_names);
}
