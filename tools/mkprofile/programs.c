/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/programs.h"

#include "mkprofile/random.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t mk_next_identity(mk_builder *builder) {
    return mk_random(builder->identity, builder->made++, 0);
}

size_t mk_add_program(mk_builder *builder, mk_program_type type, size_t target, uint32_t context,
                      uint64_t control_bytes) {
    mk_network_plan *plan = builder->plan;
    mk_program program = {.type = type,
                          .variant = MK_NONE,
                          .target = target,
                          .parent = builder->parent,
                          .children = MK_NONE,
                          .next = MK_NONE,
                          .last_child = MK_NONE,
                          .operation = builder->operation,
                          .name = MK_NONE,
                          .context = context,
                          .control_bytes = control_bytes,
                          .ipu = builder->ipu,
                          .is_in_function = builder->occasion != MK_NONE};
    size_t number = mk_append(plan, &plan->programs, &program);
    if (builder->parent != MK_NONE && !plan->is_out_of_memory) {
        mk_program *parent = mk_program_at(plan, builder->parent);
        if (parent->children == MK_NONE)
            parent->children = number;
        else
            mk_program_at(plan, parent->last_child)->next = number;
        parent->last_child = number;
    }
    if (builder->occasion == MK_NONE)
        mk_append(plan, &plan->steps,
                  &(mk_step){.program = number, .parent = builder->parent_step});
    builder->step++;
    return number;
}

mk_place mk_open(mk_builder *builder, size_t program) {
    mk_place place = {.parent = builder->parent, .parent_step = builder->parent_step};
    builder->parent = program;
    builder->parent_step = builder->step - 1;
    return place;
}

void mk_close(mk_builder *builder, mk_place place) {
    builder->parent = place.parent;
    builder->parent_step = place.parent_step;
}

/* A variable that was used at the current step. */
static void use(mk_builder *builder, size_t variable) {
    mk_live_at(builder->plan, variable, builder->step - 1);
    mk_append(builder->plan, &builder->plan->uses, &variable);
}

/* The record of one poplibs call, with the calls that it makes in turn; what the program and its
 * compute set descend from. */
static uint32_t add_poplibs_records(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    uint64_t nesting = plan->options.debug_nesting;
    if (builder->operation == MK_NONE || nesting == 0)
        return builder->record;
    size_t name = mk_intern(plan, &plan->strings, builder->api);
    uint32_t record = mk_add_context(plan, MK_CONTEXT_POPLIBS, builder->record, name,
                                     builder->operation, builder->api);
    uint32_t parent = record;
    for (uint64_t i = 1; i < nesting; i++) {
        uint32_t inner = mk_add_context(plan, MK_CONTEXT_POPLIBS, parent, name, builder->operation,
                                        builder->api);
        if (i % 3 == 1)
            parent = inner;
    }
    return record;
}

void mk_begin_execute(mk_builder *builder, const char *label) {
    mk_network_plan *plan = builder->plan;
    uint32_t parent = add_poplibs_records(builder);
    size_t name = mk_intern_format(plan, "%s/%s", builder->scope, label);
    uint32_t program_context =
        mk_add_context(plan, MK_CONTEXT_PROGRAM, parent, 0, MK_NONE, "Execute");
    mk_compute_set set = {
        .name = name,
        .context = mk_add_context(plan, MK_CONTEXT_COMPUTE_SET, parent, name, MK_NONE, NULL),
        .first_vertices = plan->vertices.count,
        .first_use = plan->uses.count};
    size_t number = mk_append(plan, &plan->compute_sets, &set);
    mk_add_program(builder, MK_ON_TILE_EXECUTE, number, program_context, 8);
}

void mk_execute_vertices(mk_builder *builder, size_t vertex_type, mk_tiles tiles,
                         uint64_t min_instances, uint64_t extra_instances) {
    mk_network_plan *plan = builder->plan;
    mk_vertices vertices = {.compute_set = plan->compute_sets.count - 1,
                            .vertex_type = vertex_type,
                            .tiles = tiles,
                            .min_instances = min_instances,
                            .extra_instances = extra_instances,
                            .identity = mk_next_identity(builder)};
    mk_append(plan, &plan->vertices, &vertices);
}

void mk_execute_use(mk_builder *builder, mk_span variables) {
    for (size_t i = 0; i < variables.count; i++)
        use(builder, variables.first + i);
}

static int by_number(const void *left, const void *right) {
    const size_t *a = left;
    const size_t *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sorts the uses from `first` on and drops repetitions; returns how many remain. */
static size_t settle_uses(mk_network_plan *plan, size_t first) {
    if (plan->is_out_of_memory)
        return 0;
    size_t *uses = (size_t *)plan->uses.items + first;
    size_t count = plan->uses.count - first;
    qsort(uses, count, sizeof *uses, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || uses[kept - 1] != uses[i])
            uses[kept++] = uses[i];
    }
    plan->uses.count = first + kept;
    return kept;
}

void mk_end_execute(mk_builder *builder) {
    mk_network_plan *plan = builder->plan;
    if (plan->is_out_of_memory)
        return;
    mk_compute_set *set = mk_compute_set_at(plan, plan->compute_sets.count - 1);
    set->num_uses = settle_uses(plan, set->first_use);
    set->num_vertices = plan->vertices.count - set->first_vertices;
}

static void use_all(mk_builder *builder, mk_spans spans) {
    for (size_t i = 0; i < spans.count; i++)
        mk_execute_use(builder, spans.items[i]);
}

/* Makes the exchange that was added last move these variables, which so live at its step. */
static mk_moved move_at_step(mk_builder *builder, mk_spans sources, mk_spans destinations) {
    mk_network_plan *plan = builder->plan;
    mk_moved moved = {.first_source = plan->uses.count};
    use_all(builder, sources);
    moved.num_sources = settle_uses(plan, moved.first_source);
    moved.first_destination = plan->uses.count;
    use_all(builder, destinations);
    moved.num_destinations = settle_uses(plan, moved.first_destination);
    return moved;
}

mk_span mk_add_exchange(mk_builder *builder, mk_span source, uint64_t bytes, mk_tiles tiles) {
    mk_network_plan *plan = builder->plan;
    char name[300];
    size_t number = builder->message++;
    snprintf(name, sizeof name, "message-cs%zu_%s-", number, builder->api);
    mk_compiler_data data = {.base_name = name,
                             .identity = mk_next_identity(builder),
                             .category = MK_MESSAGE,
                             .message = number,
                             .unlowered = mk_variable_at(plan, source.first)->unlowered,
                             .bytes = mk_share(bytes, tiles),
                             .tiles = tiles,
                             .occasion = builder->occasion};
    size_t message = mk_add_compiler_data(plan, &data);
    /* Images are cut into more pieces than sequences. */
    bool is_convolution = plan->options.framework == MK_TENSORFLOW;
    mk_exchange exchange = {
        .senders = mk_variable_at(plan, source.first)->tiles,
        .receivers = tiles,
        .code_bytes =
            (is_convolution ? 80 : 16) + mk_random(plan->options.plan_seed, number, 1) % 3 * 4,
        .identity = mk_next_identity(builder),
    };
    uint32_t parent = add_poplibs_records(builder);
    uint32_t context = mk_add_context(plan, MK_CONTEXT_PROGRAM, parent, 0, MK_NONE, "Copy");
    size_t program = mk_add_program(builder, MK_DO_EXCHANGE, plan->exchanges.count, context, 8);
    mk_program_at(plan, program)->name =
        mk_intern_format(plan, "cs%zu_%s/ExchangePre", number, builder->api);
    mk_span received = {.first = message, .count = 1};
    exchange.moved = move_at_step(builder, (mk_spans){&source, 1}, (mk_spans){&received, 1});
    mk_append(plan, &plan->exchanges, &exchange);
    return received;
}

void mk_add_move(mk_builder *builder, const char *label, mk_spans sources, mk_spans destinations,
                 mk_tiles senders, mk_tiles receivers) {
    mk_network_plan *plan = builder->plan;
    size_t parts = sources.count > destinations.count ? sources.count : destinations.count;
    mk_exchange exchange = {.senders = senders,
                            .receivers = receivers,
                            .code_bytes = 16 * parts,
                            .identity = mk_next_identity(builder)};
    uint32_t context =
        mk_add_context(plan, MK_CONTEXT_PROGRAM, builder->record, 0, MK_NONE, "Copy");
    size_t program = mk_add_program(builder, MK_DO_EXCHANGE, plan->exchanges.count, context, 8);
    mk_program_at(plan, program)->name =
        mk_intern_format(plan, "cs%zu_%s/%s", builder->message++, builder->scope, label);
    exchange.moved = move_at_step(builder, sources, destinations);
    mk_append(plan, &plan->exchanges, &exchange);
}

void mk_add_global_exchange(mk_builder *builder, const char *label, mk_spans sources,
                            mk_spans destinations, uint64_t ipus) {
    mk_network_plan *plan = builder->plan;
    mk_global_exchange exchange = {.ipus = ipus};
    uint32_t context =
        mk_add_context(plan, MK_CONTEXT_PROGRAM, builder->record, 0, MK_NONE, "Copy");
    size_t program =
        mk_add_program(builder, MK_GLOBAL_EXCHANGE, plan->global_exchanges.count, context, 8);
    mk_program_at(plan, program)->name = mk_intern_format(plan, "%s/%s", builder->scope, label);
    exchange.moved = move_at_step(builder, sources, destinations);
    mk_append(plan, &plan->global_exchanges, &exchange);
}

void mk_add_write_undef(mk_builder *builder, mk_span variables) {
    mk_add_program(builder, MK_WRITE_UNDEF, MK_NONE, builder->record, 0);
    for (size_t i = 0; i < variables.count; i++)
        mk_live_at(builder->plan, variables.first + i, builder->step - 1);
}

void mk_add_host_copy(mk_builder *builder, bool to_host, size_t first_tensor, size_t num_tensors,
                      uint32_t record) {
    mk_network_plan *plan = builder->plan;
    mk_occasion *windows = mk_occasion_at(plan, mk_occasion_of_ipu(builder->ipu, MK_WINDOWS));
    mk_append(plan, &windows->starts, &builder->step);
    uint32_t context = mk_add_context(plan, MK_CONTEXT_PROGRAM, record, 0, MK_NONE, "StreamCopy");
    mk_add_program(builder, MK_STREAM_COPY_BEGIN, MK_NONE, context, 4);
    mk_host_copy copy = {.to_host = to_host,
                         .ipu = builder->ipu,
                         .first_tensor = first_tensor,
                         .num_tensors = num_tensors};
    mk_add_program(builder, MK_STREAM_COPY_MID, mk_append(plan, &plan->host_copies, &copy), context,
                   4);
    for (size_t i = 0; i < num_tensors && !plan->is_out_of_memory; i++) {
        const mk_tensor *tensor = mk_tensor_at(plan, mk_number_at(&plan->copied, first_tensor + i));
        for (size_t k = 0; k < tensor->num_variables; k++)
            mk_live_at(plan, tensor->first_variable + k, builder->step - 1);
    }
    mk_add_program(builder, MK_STREAM_COPY_END, MK_NONE, context, 4);
}

mk_span mk_add_temporary(mk_builder *builder, const char *label, mk_category category,
                         uint64_t bytes, mk_tiles tiles) {
    mk_network_plan *plan = builder->plan;
    char name[560];
    snprintf(name, sizeof name, "%s/%s", builder->scope, label);
    if (category == MK_VARIABLE) {
        uint32_t context = mk_add_context(plan, MK_CONTEXT_VARIABLE, builder->record,
                                          mk_intern(plan, &plan->strings, name), MK_NONE, NULL);
        mk_data data = {.name = name,
                        .identity = mk_next_identity(builder),
                        .kind = MK_ACTIVATION,
                        .bytes = bytes,
                        .tiles = tiles,
                        .context = context,
                        .occasion = builder->occasion};
        return mk_add_data(plan, &data);
    }
    mk_compiler_data data = {.base_name = name,
                             .identity = mk_next_identity(builder),
                             .category = category,
                             .unlowered = MK_NONE,
                             .bytes = mk_share(bytes, tiles),
                             .tiles = tiles,
                             .occasion = builder->occasion};
    size_t variable = mk_add_compiler_data(plan, &data);
    return (mk_span){.first = variable, .count = 1};
}

void mk_number_programs(mk_network_plan *plan) {
    size_t id = 0;
    size_t variants[MK_PROGRAM_TYPE_END] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < plan->programs.count; i++) {
            mk_program *program = mk_program_at(plan, i);
            if (program->is_in_function != (pass == 1))
                continue;
            program->id = id++;
            program->variant = variants[program->type]++;
        }
    }
}
