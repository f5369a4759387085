/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/plan.h"

#include "base/failure.h"

#include <stdlib.h>

mk_tensor *mk_tensor_at(const mk_plan *plan, size_t number) {
    return (mk_tensor *)plan->tensors.items + number;
}

mk_operation *mk_operation_at(const mk_plan *plan, size_t number) {
    return (mk_operation *)plan->operations.items + number;
}

mk_program *mk_program_at(const mk_plan *plan, size_t number) {
    return (mk_program *)plan->programs.items + number;
}

mk_vertex_type *mk_vertex_type_at(const mk_plan *plan, size_t number) {
    return (mk_vertex_type *)plan->vertex_types.items + number;
}

mk_vertices *mk_vertices_at(const mk_plan *plan, size_t number) {
    return (mk_vertices *)plan->vertices.items + number;
}

mk_compute_set *mk_compute_set_at(const mk_plan *plan, size_t number) {
    return (mk_compute_set *)plan->compute_sets.items + number;
}

mk_exchange *mk_exchange_at(const mk_plan *plan, size_t number) {
    return (mk_exchange *)plan->exchanges.items + number;
}

mk_host_copy *mk_host_copy_at(const mk_plan *plan, size_t number) {
    return (mk_host_copy *)plan->host_copies.items + number;
}

mk_occasion *mk_occasion_at(const mk_plan *plan, size_t number) {
    return (mk_occasion *)plan->occasions.items + number;
}

mk_variable *mk_variable_at(const mk_plan *plan, size_t number) {
    return (mk_variable *)plan->variables.items + number;
}

mk_unlowered *mk_unlowered_at(const mk_plan *plan, size_t number) {
    return (mk_unlowered *)plan->unlowered.items + number;
}

mk_class *mk_class_at(const mk_plan *plan, size_t number) {
    return (mk_class *)plan->classes.items + number;
}

mk_range *mk_range_at(const mk_plan *plan, size_t number) {
    return (mk_range *)plan->ranges.items + number;
}

mk_context *mk_context_at(const mk_plan *plan, size_t number) {
    return (mk_context *)plan->contexts.items + number;
}

mk_step *mk_step_at(const mk_plan *plan, size_t number) {
    return (mk_step *)plan->steps.items + number;
}

mk_fault *mk_fault_at(const mk_plan *plan, size_t number) {
    return (mk_fault *)plan->faults.items + number;
}

size_t mk_number_at(const mk_list *list, size_t place) {
    return ((const size_t *)list->items)[place];
}

const char *mk_text(const mk_plan *plan, size_t number) {
    return mk_string_text(&plan->strings, number);
}

const char *mk_vertex_type_name(const mk_plan *plan, size_t number) {
    const mk_vertex_type *type = mk_vertex_type_at(plan, number);
    return type->name != NULL ? type->name : mk_text(plan, type->generated_name);
}

uint32_t mk_add_context(mk_plan *plan, mk_context_kind kind, uint32_t parent, size_t name,
                        size_t subject, const char *word) {
    mk_context context = {.kind = kind,
                          .parent = parent,
                          .name = name,
                          .subject = subject,
                          .word = word,
                          .block = plan->block};
    return (uint32_t)mk_list_add(&plan->contexts, &context) + 1;
}

/* All lists of a plan, for what is done to each of them. */
enum { LIST_COUNT = 19 };

static void collect_lists(mk_plan *plan, mk_list *lists[LIST_COUNT], size_t sizes[LIST_COUNT]) {
    const struct {
        mk_list *list;
        size_t item_size;
    } all[LIST_COUNT] = {
        {&plan->tensors, sizeof(mk_tensor)},      {&plan->operations, sizeof(mk_operation)},
        {&plan->programs, sizeof(mk_program)},    {&plan->vertex_types, sizeof(mk_vertex_type)},
        {&plan->vertices, sizeof(mk_vertices)},   {&plan->compute_sets, sizeof(mk_compute_set)},
        {&plan->exchanges, sizeof(mk_exchange)},  {&plan->host_copies, sizeof(mk_host_copy)},
        {&plan->copied, sizeof(size_t)},          {&plan->uses, sizeof(size_t)},
        {&plan->steps, sizeof(mk_step)},          {&plan->occasions, sizeof(mk_occasion)},
        {&plan->call_order, sizeof(size_t)},      {&plan->variables, sizeof(mk_variable)},
        {&plan->unlowered, sizeof(mk_unlowered)}, {&plan->classes, sizeof(mk_class)},
        {&plan->ranges, sizeof(mk_range)},        {&plan->contexts, sizeof(mk_context)},
        {&plan->faults, sizeof(mk_fault)},
    };
    for (size_t i = 0; i < LIST_COUNT; i++) {
        lists[i] = all[i].list;
        sizes[i] = all[i].item_size;
    }
}

bool mk_plan_lacks_memory(const mk_plan *plan) {
    const mk_list *const lists[] = {
        &plan->tensors,    &plan->operations,   &plan->programs,  &plan->vertex_types,
        &plan->vertices,   &plan->compute_sets, &plan->exchanges, &plan->host_copies,
        &plan->copied,     &plan->uses,         &plan->steps,     &plan->occasions,
        &plan->call_order, &plan->variables,    &plan->unlowered, &plan->classes,
        &plan->ranges,     &plan->contexts,     &plan->faults,
    };
    bool lacks = plan->strings.failed || plan->base_names.failed;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        lacks = lacks || lists[i]->failed;
    for (size_t i = 0; i < plan->occasions.count; i++)
        lacks = lacks || mk_occasion_at(plan, i)->starts.failed;
    return lacks;
}

popliner_status mk_plan_begin(mk_plan *plan, const mk_options *options, popliner_error *error) {
    *plan = (mk_plan){.options = *options, .next_instance = 101, .backward_begin = MK_NONE};
    mk_list *lists[LIST_COUNT];
    size_t sizes[LIST_COUNT];
    collect_lists(plan, lists, sizes);
    bool ready = true;
    for (size_t i = 0; i < LIST_COUNT; i++)
        ready = mk_list_begin(lists[i], sizes[i]) && ready;
    ready = mk_strings_begin(&plan->strings) && ready;
    ready = mk_strings_begin(&plan->base_names) && ready;
    if (!ready)
        return pl_fail_memory(error, "the plan of the profile");
    mk_string(&plan->strings, "");
    return POPLINER_OK;
}

void mk_plan_end(mk_plan *plan) {
    for (size_t i = 0; i < plan->occasions.count; i++)
        mk_list_end(&mk_occasion_at(plan, i)->starts);
    mk_list *lists[LIST_COUNT];
    size_t sizes[LIST_COUNT];
    collect_lists(plan, lists, sizes);
    for (size_t i = 0; i < LIST_COUNT; i++)
        mk_list_end(lists[i]);
    mk_strings_end(&plan->strings);
    mk_strings_end(&plan->base_names);
}
