/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/variables.h"

#include "mkprofile/random.h"

#include <stdio.h>

/* The bits of vars_info.bitset. */
enum {
    BIT_ALLOCATED = 1,
    BIT_CONSTANT = 2,
    BIT_ALWAYS_LIVE = 4,
    BIT_EXECUTABLE = 8,
    BIT_VERTEX_CODE = 16,
    BIT_START_SECTION = 64,
    BIT_DATA = 256, /* its meaning is not documented; data has it, code has not */
};

/* Classes of what is always live: real files have several. */
enum { GROUP_WEIGHTS = 0, GROUP_STATE = 1, GROUP_SYSTEM = 2 };

enum { MIN_BYTES_PER_TILE = 16 };

mk_tiles mk_all_tiles(const mk_network_plan *plan, size_t ipu) {
    return (mk_tiles){.first = 0, .count = plan->options.tiles_per_ipu, .ipu = ipu};
}

uint64_t mk_share(uint64_t bytes, mk_tiles tiles) {
    return tiles.count > 0 ? bytes / tiles.count : 0; /* no tiles: memory ran short */
}

mk_tiles mk_choose_tiles(const mk_network_plan *plan, size_t ipu, uint64_t bytes,
                         uint64_t numerator, uint64_t denominator, uint64_t salt) {
    uint64_t tiles = plan->options.tiles_per_ipu;
    uint64_t count = tiles * numerator / denominator;
    if (count > bytes / MIN_BYTES_PER_TILE)
        count = bytes / MIN_BYTES_PER_TILE;
    if (count == 0)
        count = 1;
    return (mk_tiles){
        .first = mk_random(plan->options.plan_seed, salt, 77) % tiles, .count = count, .ipu = ipu};
}

mk_tiles mk_map_tensor(mk_network_plan *plan, size_t ipu, uint64_t bytes, uint64_t numerator,
                       uint64_t denominator, uint64_t salt) {
    uint64_t all = plan->options.tiles_per_ipu;
    mk_tiles tiles = mk_choose_tiles(plan, ipu, bytes, numerator, denominator, salt);
    if (!plan->options.maps_in_turn)
        return tiles;
    if (plan->options.framework == MK_TENSORFLOW && tiles.count == all) {
        tiles.first = 0;
        return tiles;
    }
    tiles.first = plan->next_tile[ipu];
    plan->next_tile[ipu] = (tiles.first + tiles.count) % all;
    return tiles;
}

static size_t base_name(mk_network_plan *plan, const char *text) {
    return mk_intern(plan, &plan->base_names, text);
}

mk_span mk_add_data(mk_network_plan *plan, const mk_data *data) {
    mk_unlowered unlowered = {.name = mk_intern(plan, &plan->strings, data->name),
                              .context = data->context};
    size_t origin = mk_append(plan, &plan->unlowered, &unlowered);
    bool is_resident = mk_is_resident(data->kind);
    bool is_clone = data->num_copies > 0;
    mk_span span = {.first = plan->variables.count, .count = plan->options.num_pieces};
    uint64_t per_tile = mk_share(data->bytes, data->tiles) / span.count;
    for (size_t piece = 0; piece < span.count; piece++) {
        char text[600];
        if (piece == 0)
            snprintf(text, sizeof text, "%s#", data->name);
        else
            snprintf(text, sizeof text, "%s#%zu#", data->name, piece);
        mk_variable variable = {
            .name = base_name(plan, text),
            .unlowered = origin,
            .category = MK_VARIABLE,
            .rule = is_clone ? MK_RULE_CLONE : MK_RULE_SHARE,
            .subject = is_clone ? data->original + piece : 0,
            .bytes = per_tile > 0 ? per_tile : 1,
            .num_copies = data->num_copies,
            .identity = mk_random(data->identity, piece, 0),
            .tiles = data->tiles,
            .alignment = is_resident ? 8 : 4,
            .suffix = MK_SUFFIX_TILE,
            .prefix = MK_NONE,
            .bitset = BIT_DATA | BIT_ALLOCATED | (is_resident ? BIT_ALWAYS_LIVE : 0),
            .group = is_resident ? MK_GROUP_DATA : MK_GROUP_TEMPORARY,
            .life = is_resident ? MK_LIFE_ALWAYS : MK_LIFE_STEPS,
            .always_group = data->kind == MK_WEIGHT ? GROUP_WEIGHTS : GROUP_STATE,
            .occasion = data->occasion,
            .first_step = MK_NONE,
        };
        mk_append(plan, &plan->variables, &variable);
    }
    return plan->is_out_of_memory ? (mk_span){.first = 0} : span;
}

size_t mk_add_compiler_data(mk_network_plan *plan, const mk_compiler_data *data) {
    bool is_message = data->category == MK_MESSAGE;
    mk_variable variable = {
        .name = base_name(plan, data->base_name),
        .unlowered = data->unlowered,
        .category = data->category,
        .rule = MK_RULE_SHARE,
        .bytes = data->bytes > 0 ? data->bytes : 1,
        .identity = data->identity,
        .tiles = data->tiles,
        .alignment = is_message && data->bytes >= 64 ? 8 : 4,
        .suffix = is_message ? MK_SUFFIX_MESSAGE : MK_SUFFIX_TILE,
        .suffix_number = data->message,
        .prefix = MK_NONE,
        .bitset = BIT_DATA | BIT_ALLOCATED,
        .group = MK_GROUP_TEMPORARY,
        .life = MK_LIFE_STEPS,
        .occasion = data->occasion,
        .first_step = MK_NONE,
    };
    return mk_append(plan, &plan->variables, &variable);
}

void mk_live_at(mk_network_plan *plan, size_t variable, size_t step) {
    if (plan->is_out_of_memory) /* there may be no such variable */
        return;
    mk_variable *live = mk_variable_at(plan, variable);
    if (live->first_step == MK_NONE) {
        live->is_carried = live->may_be_carried && !live->is_written;
        live->first_step = live->is_carried ? plan->loop_first_step : step;
    }
    if (live->end_step < step + 1)
        live->end_step = step + 1;
}

void mk_write_anew(mk_network_plan *plan, size_t variable) {
    if (plan->is_out_of_memory)
        return;
    mk_variable *live = mk_variable_at(plan, variable);
    live->is_written = true;
    if (live->first_step == MK_NONE)
        return;
    mk_life_part part = {.steps = {.from = live->first_step, .to = live->end_step},
                         .earlier = live->earlier};
    live->earlier = mk_append(plan, &plan->life_parts, &part) + 1;
    live->first_step = MK_NONE;
    live->end_step = 0;
}

void mk_settle_lives(mk_network_plan *plan) {
    for (size_t i = 0; i < plan->variables.count; i++) {
        mk_variable *variable = mk_variable_at(plan, i);
        if (variable->spans_loop)
            variable->first_step = plan->loop_first_step;
        if (variable->spans_loop || variable->is_carried)
            variable->end_step = plan->loop_end_step;
    }
}

/* What is always live and belongs to no tensor. */
static mk_variable system_variable(mk_network_plan *plan, mk_category category, const char *name,
                                   mk_rule rule, uint64_t amount, uint64_t alignment) {
    return (mk_variable){
        .name = base_name(plan, name),
        .unlowered = MK_NONE,
        .category = category,
        .rule = rule,
        .subject = (size_t)amount,
        .bytes = amount,
        .tiles = mk_all_tiles(plan, MK_EVERY_IPU),
        .alignment = alignment,
        .prefix = MK_NONE,
        .bitset = BIT_ALLOCATED | BIT_ALWAYS_LIVE,
        .group = MK_GROUP_DATA,
        .life = MK_LIFE_ALWAYS,
        .always_group = GROUP_SYSTEM,
        .occasion = MK_NONE,
    };
}

static void add_fixed(mk_network_plan *plan, mk_category category, const char *name, uint64_t bytes,
                      uint64_t alignment, mk_suffix suffix) {
    mk_variable variable = system_variable(plan, category, name, MK_RULE_FIXED, bytes, alignment);
    variable.suffix = suffix;
    if (category == MK_STACK || category == MK_CONSTANT)
        variable.bitset |= BIT_DATA;
    if (category == MK_CONSTANT) {
        /* Real files too have constants whose class is always live and whose bit is not set. */
        variable.bitset |= BIT_CONSTANT;
        variable.bitset &= ~(unsigned)BIT_ALWAYS_LIVE;
    }
    mk_append(plan, &plan->variables, &variable);
}

static void add_code(mk_network_plan *plan, mk_category category, const char *name, mk_rule rule,
                     uint64_t subject, size_t number, size_t ipu) {
    mk_variable variable = system_variable(plan, category, name, rule, subject, 4);
    variable.bitset |= BIT_EXECUTABLE;
    variable.group = MK_GROUP_EXECUTABLE;
    if (category == MK_VERTEX_CODE) {
        variable.bitset |= BIT_VERTEX_CODE;
        variable.group = MK_GROUP_VERTEX_CODE;
    }
    variable.tiles.ipu = ipu;
    if (number != MK_NONE) {
        variable.suffix = MK_SUFFIX_NUMBER;
        variable.suffix_number = number;
    }
    mk_append(plan, &plan->variables, &variable);
}

static void add_vertex_variables(mk_network_plan *plan, size_t number) {
    const mk_vertices *vertices = mk_vertices_at(plan, number);
    const mk_vertex_type *type = mk_vertex_type_at(plan, vertices->vertex_type);
    char field_name[300];
    snprintf(field_name, sizeof field_name, "_%s.field_#",
             mk_vertex_type_name(plan, vertices->vertex_type));
    mk_variable state =
        system_variable(plan, MK_VERTEX_STATE, "__vertexState", MK_RULE_STATE, number, 4);
    state.bitset |= BIT_DATA;
    state.suffix = MK_SUFFIX_TILE_NUMBER;
    state.suffix_number = number;
    state.tiles = vertices->tiles;
    state.group = MK_GROUP_STATE;
    mk_append(plan, &plan->variables, &state);
    if (type->field_bytes > 0) {
        mk_variable fields = state;
        fields.name = base_name(plan, field_name);
        fields.category = MK_VERTEX_FIELD_DATA;
        fields.rule = MK_RULE_FIELDS;
        fields.suffix = MK_SUFFIX_TILE;
        fields.prefix = number;
        mk_append(plan, &plan->variables, &fields);
    }
    if (type->descriptor_bytes > 0) {
        mk_variable descriptors = state;
        descriptors.name = base_name(plan, "copyDesc_");
        descriptors.category = MK_COPY_DESCRIPTOR;
        descriptors.rule = MK_RULE_DESCRIPTORS;
        descriptors.alignment = 1;
        mk_append(plan, &plan->variables, &descriptors);
    }
}

/* Code and packet headers on the IPUs that take part. */
static void add_global_exchange(mk_network_plan *plan, size_t number) {
    for (size_t ipu = 0; ipu < plan->options.num_ipus; ipu++) {
        if ((mk_global_exchange_at(plan, number)->ipus >> ipu & 1) == 0)
            continue;
        add_code(plan, MK_GLOBAL_EXCHANGE_CODE, ".text.supervisor.global_exchange_", MK_RULE_FIXED,
                 96 + 4 * (number % 5), number, ipu);
        mk_variable headers = system_variable(plan, MK_GLOBAL_PACKET_HEADER,
                                              "global_exchange_headers_", MK_RULE_FIXED, 16, 4);
        headers.suffix = MK_SUFFIX_TILE_NUMBER;
        headers.suffix_number = number;
        headers.tiles.ipu = ipu;
        mk_append(plan, &plan->variables, &headers);
    }
}

static void add_every_code(mk_network_plan *plan) {
    mk_variable start =
        system_variable(plan, MK_CONTROL_CODE, ".text.poplar_start", MK_RULE_FIXED, 460, 4);
    start.bitset |= BIT_EXECUTABLE | BIT_START_SECTION;
    start.group = MK_GROUP_START;
    mk_append(plan, &plan->variables, &start);
    add_code(plan, MK_CONTROL_CODE, ".text.supervisor.control_initPrngSeed", MK_RULE_FIXED, 32,
             MK_NONE, MK_EVERY_IPU);
    plan->num_chunks = (plan->programs.count + MK_CHUNK_PROGRAMS - 1) / MK_CHUNK_PROGRAMS;
    for (size_t i = 0; i < plan->num_chunks; i++)
        add_code(plan, MK_CONTROL_CODE, ".text.supervisor.control_program_", MK_RULE_CONTROL_CODE,
                 i, i, MK_EVERY_IPU);
    for (size_t i = 0; i < plan->exchanges.count; i++)
        add_code(plan, MK_INTERNAL_EXCHANGE_CODE, ".text.supervisor.internal_exchange_",
                 MK_RULE_EXCHANGE, i, i, MK_EVERY_IPU);
    for (size_t i = 0; i < plan->host_copies.count; i++)
        add_code(plan, MK_HOST_EXCHANGE_CODE, ".text.supervisor.host_exchange_", MK_RULE_FIXED,
                 96 + 4 * (i % 5), i, mk_host_copy_at(plan, i)->ipu);
    for (size_t i = 0; i < plan->global_exchanges.count; i++)
        add_global_exchange(plan, i);
    for (size_t i = 0; i < plan->vertex_types.count; i++) {
        char name[300];
        snprintf(name, sizeof name, ".text.__runCodelet_%s", mk_vertex_type_name(plan, i));
        add_code(plan, MK_VERTEX_CODE, name, MK_RULE_VERTEX_CODE, i, MK_NONE, MK_EVERY_IPU);
    }
    add_code(plan, MK_VERTEX_CODE, ".text.memcpy", MK_RULE_FIXED, 116, MK_NONE, MK_EVERY_IPU);
    add_code(plan, MK_VERTEX_CODE, ".text._exit", MK_RULE_FIXED, 16, MK_NONE, MK_EVERY_IPU);
}

void mk_add_system_variables(mk_network_plan *plan) {
    add_every_code(plan);
    for (size_t i = 0; i < plan->vertices.count; i++)
        add_vertex_variables(plan, i);
    add_fixed(plan, MK_STACK, "__stack", 888, 8, MK_SUFFIX_NONE);
    add_fixed(plan, MK_HOST_MESSAGE, "_commandPacketPayload", 64, 4, MK_SUFFIX_NONE);
    add_fixed(plan, MK_HOST_PACKET_HEADER, "multiple_headers_", 16, 4, MK_SUFFIX_TILE);
    add_fixed(plan, MK_INSTRUMENTATION, "profileInfo", 32, 8, MK_SUFFIX_TILE);
    add_fixed(plan, MK_INSTRUMENTATION, "_instrumentCounterL", 4, 4, MK_SUFFIX_NONE);
    add_fixed(plan, MK_CONSTANT, "", 8, 8, MK_SUFFIX_NONE);
    mk_variable unallocated = system_variable(plan, MK_CONSTANT, "", MK_RULE_UNALLOCATED, 0, 4);
    unallocated.bitset = BIT_CONSTANT;
    unallocated.tiles.count = (plan->options.tiles_per_ipu + 3) / 4;
    mk_append(plan, &plan->variables, &unallocated);
}
