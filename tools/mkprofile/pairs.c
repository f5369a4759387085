/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/pairs.h"

static void add_pair(mk_network_plan *plan, size_t one, size_t other) {
    mk_append(plan, &plan->pairs, &(mk_pair){.one = one, .other = other});
}

/* Pairs with each of `count` variables that plan->uses lists. */
static void pair_with_uses(mk_network_plan *plan, size_t code, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++)
        add_pair(plan, code, mk_number_at(&plan->uses, first + i));
}

/* Code of an exchange, with what it sends and receives. */
static void pair_moved(mk_network_plan *plan, size_t code, mk_moved moved) {
    pair_with_uses(plan, code, moved.first_source, moved.num_sources);
    pair_with_uses(plan, code, moved.first_destination, moved.num_destinations);
}

/* Variables that every tile has of the same categories, with those of `code`. */
static void pair_with_categories(mk_network_plan *plan, size_t code, unsigned categories) {
    for (size_t i = 0; i < plan->variables.count; i++) {
        if ((categories >> mk_variable_at(plan, i)->category & 1) != 0)
            add_pair(plan, code, i);
    }
}

/* What an exchange with the host has on every tile. */
static const unsigned of_host_exchanges =
    1U << MK_HOST_PACKET_HEADER | 1U << MK_HOST_MESSAGE | 1U << MK_INSTRUMENTATION;

static void pair_with_variable(mk_network_plan *plan, const mk_host_copy *copy, size_t code,
                               size_t variable) {
    add_pair(plan, code, variable);
    /* What the host writes is apart from what else the exchange uses; what it writes once lies
     * elsewhere in a real profile, and comes from there on the tile. */
    if (!copy->to_host && mk_variable_at(plan, variable)->life != MK_LIFE_ALWAYS)
        pair_with_categories(plan, variable, of_host_exchanges);
}

static void pair_host_copy(mk_network_plan *plan, size_t code, size_t number) {
    const mk_host_copy *copy = mk_host_copy_at(plan, number);
    pair_with_categories(plan, code, of_host_exchanges);
    if (number == 0) /* the first copy of all brings the number of the program */
        pair_with_variable(plan, copy, code, plan->program_id);
    for (size_t i = 0; i < copy->num_tensors; i++) {
        const mk_tensor *tensor =
            mk_tensor_at(plan, mk_number_at(&plan->copied, copy->first_tensor + i));
        for (size_t k = 0; k < tensor->num_variables; k++)
            pair_with_variable(plan, copy, code, tensor->first_variable + k);
    }
}

/* The global exchange's headers have its number. */
static void pair_headers(mk_network_plan *plan, size_t code) {
    const mk_variable *of_code = mk_variable_at(plan, code);
    for (size_t i = 0; i < plan->variables.count; i++) {
        const mk_variable *variable = mk_variable_at(plan, i);
        if (variable->category == MK_GLOBAL_PACKET_HEADER &&
            variable->suffix_number == of_code->suffix_number)
            add_pair(plan, code, i);
    }
}

void mk_pair_variables(mk_network_plan *plan) {
    for (size_t i = 0; i < plan->variables.count && !plan->is_out_of_memory; i++) {
        const mk_variable *variable = mk_variable_at(plan, i);
        size_t number = variable->suffix_number;
        switch (variable->category) {
        case MK_CONTROL_CODE:
            if (variable->group == MK_GROUP_START)
                pair_with_categories(
                    plan, i, 1U << MK_STACK | 1U << MK_CONTROL_ID | 1U << MK_INSTRUMENTATION);
            break;
        case MK_INTERNAL_EXCHANGE_CODE:
            pair_moved(plan, i, mk_exchange_at(plan, number)->moved);
            break;
        case MK_HOST_EXCHANGE_CODE:
            pair_host_copy(plan, i, number);
            break;
        case MK_GLOBAL_EXCHANGE_CODE:
            pair_headers(plan, i);
            pair_moved(plan, i, mk_global_exchange_at(plan, number)->moved);
            break;
        default:
            break;
        }
    }
}
