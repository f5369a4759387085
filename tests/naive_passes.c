/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "naive_passes.h"

#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "model/operations.h"
#include "profile/profile_data.h"

static uint8_t type_of_step(const popliner_profile *p, size_t step) {
    return p->program_type[p->step_program[step]];
}

/* The branch of the outermost switch around the step: where it begins, SIZE_MAX for none. */
static size_t branch_of(const popliner_profile *p, size_t step) {
    size_t branch = SIZE_MAX;
    for (size_t at = step; p->step_parent[at] != PL_NONE; at = p->step_parent[at]) {
        if (type_of_step(p, p->step_parent[at]) == POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH)
            branch = at;
    }
    return branch;
}

static size_t *count_computing(const popliner_profile *p, const size_t *branch) {
    size_t *count = calloc(p->num_steps + 1, sizeof *count);
    assert_non_null(count);
    for (size_t step = 0; step < p->num_steps; step++) {
        if (branch[step] != SIZE_MAX && type_of_step(p, step) == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            count[branch[step]]++;
    }
    return count;
}

static void find_running(naive_passes *n) {
    const popliner_profile *p = n->c->profile;
    size_t *branch = calloc(p->num_steps + 1, sizeof *branch);
    assert_non_null(branch);
    for (size_t step = 0; step < p->num_steps; step++)
        branch[step] = branch_of(p, step);
    size_t *count = count_computing(p, branch);
    for (size_t step = 0; step < p->num_steps; step++) {
        n->runs[step] = 1;
        for (size_t rival = 0; branch[step] != SIZE_MAX && rival < p->num_steps; rival++) {
            if (branch[rival] != rival || p->step_parent[rival] != p->step_parent[branch[step]])
                continue;
            if (count[rival] > count[branch[step]] ||
                (count[rival] == count[branch[step]] && rival < branch[step]))
                n->runs[step] = 0;
        }
    }
    free(branch);
    free(count);
}

/* The unit that computes or exchanges at the step, SIZE_MAX for none. */
static size_t works(const naive_passes *n, size_t step) {
    uint8_t type = type_of_step(n->c->profile, step);
    uint32_t operation = n->c->operations->step_operation[step];
    if (!n->runs[step] || operation == PL_NONE ||
        (type != POPLINER_PROGRAM_ON_TILE_EXECUTE && type != POPLINER_PROGRAM_DO_EXCHANGE &&
         type != POPLINER_PROGRAM_GLOBAL_EXCHANGE))
        return SIZE_MAX;
    return pl_chain_unit_of(n->chain, operation);
}

static bool is_layer(const naive_passes *n, size_t unit) {
    return n->chain->kind[unit] == POPLINER_UNIT_LAYER;
}

static void find_turn(naive_passes *n) {
    size_t num_steps = n->c->profile->num_steps;
    bool any = false;
    for (size_t step = 0; step < num_steps; step++) {
        size_t unit = works(n, step);
        if (unit != SIZE_MAX && is_layer(n, unit) && (!any || unit > n->last_layer)) {
            n->last_layer = unit;
            any = true;
        }
    }
    n->turn = SIZE_MAX;
    for (size_t step = 0; any && step < num_steps && n->turn == SIZE_MAX; step++) {
        if (works(n, step) == n->last_layer)
            n->turn = step;
    }
    for (size_t step = 0; any && step < num_steps; step++) {
        size_t unit = works(n, step);
        if (step > n->turn && unit != SIZE_MAX && is_layer(n, unit) && unit < n->last_layer)
            n->trains = true;
    }
    if (!n->trains)
        n->turn = SIZE_MAX;
}

static void find_passes(naive_passes *n) {
    const pl_operations *operations = n->c->operations;
    for (size_t i = 0; i < operations->count; i++) {
        size_t first = SIZE_MAX;
        for (size_t step = n->c->profile->num_steps; step-- > 0;) {
            if (operations->step_operation[step] == i && n->runs[step])
                first = step;
        }
        if (first == SIZE_MAX)
            first = pl_operation_at(operations, i)->first_step;
        n->first[i] = first;
        if (!n->trains)
            n->passes[i] = NAIVE_FORWARD;
        else if (pl_chain_unit_of(n->chain, i) >= n->last_layer)
            n->passes[i] = NAIVE_FORWARD | NAIVE_BACKWARD;
        else
            n->passes[i] = first < n->turn ? NAIVE_FORWARD : NAIVE_BACKWARD;
    }
}

/* Marks the variables that programs of the operation touch, but for host copies. */
static void mark_computed_on(const golden_case *c, size_t index, uint8_t *marks) {
    const popliner_profile *p = c->profile;
    const popliner_operation *operation = pl_operation_at(c->operations, index);
    for (size_t k = 0; k < operation->num_programs; k++) {
        uint32_t program = operation->programs[k];
        if (p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID)
            continue;
        for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
             l++) {
            uint32_t list = p->program_list[l];
            for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                marks[p->list_variable[v]] = 1;
        }
    }
}

/* Finds the variables that programs other than host copies touch. */
static uint8_t *find_computed_on(const golden_case *c) {
    uint8_t *computed_on = calloc(c->profile->num_variables + 1, 1);
    assert_non_null(computed_on);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++)
        mark_computed_on(c, i, computed_on);
    return computed_on;
}

static void find_touches(naive_passes *n) {
    const golden_case *c = n->c;
    const popliner_profile *p = c->profile;
    bool is_full = n->chain->model->id == POPLINER_MEMORY_MODEL_FULL;
    uint8_t *computed_on = find_computed_on(c);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, i);
        size_t unit = pl_chain_unit_of(n->chain, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            for (uint32_t l = p->program_lists_start[program];
                 l < p->program_lists_start[program + 1]; l++) {
                uint32_t list = p->program_list[l];
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++) {
                    uint32_t variable = p->list_variable[v];
                    if (!is_full || !computed_on[variable] ||
                        p->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID)
                        n->touches[variable * n->num_units + unit] |= n->passes[i];
                }
            }
        }
    }
    free(computed_on);
}

static bool is_always_live(const popliner_profile *p, size_t variable) {
    return p->class_always_live[p->variable_class[variable]] != 0;
}

/* The last running step of an operation, or without one the last step of its programs. */
static size_t ends(const naive_passes *n, size_t operation) {
    for (size_t step = n->c->profile->num_steps; step-- > 0;)
        if (n->c->operations->step_operation[step] == operation && n->runs[step])
            return step;
    return pl_operation_at(n->c->operations, operation)->last_step;
}

static bool begins_backward(const naive_passes *n, size_t operation) {
    return n->trains && n->first[operation] >= n->turn;
}

/* Whether an operation that touches these variables updates, if none spoils it that comes later. */
static bool may_update(const naive_passes *n, size_t operation, const uint8_t *touched) {
    const popliner_profile *p = n->c->profile;
    for (size_t v = 0; v < p->num_variables; v++)
        if (touched[v] && is_always_live(p, v) &&
            strcmp(pl_profile_string(p, p->category_name[p->variable_category[v]]), "variable") ==
                0)
            return begins_backward(n, operation);
    return false;
}

/* Clears updates[i] of operations with something that one which does not update touches later.
 * True if there was any. */
static bool spoil(const naive_passes *n, const uint8_t *touched, const size_t *end,
                  uint8_t *updates) {
    size_t num_variables = n->c->profile->num_variables;
    size_t num_operations = pl_operations_count(n->c->operations);
    bool any = false;
    for (size_t v = 0; v < num_variables; v++)
        for (size_t i = 0; i < num_operations && !is_always_live(n->c->profile, v); i++)
            for (size_t k = 0; k < num_operations && updates[i] && touched[i * num_variables + v];
                 k++)
                if (touched[k * num_variables + v] && !updates[k] && end[k] > end[i]) {
                    updates[i] = 0;
                    any = true;
                }
    return any;
}

/* The step after which the variable is a complete gradient; SIZE_MAX if it is none. */
static size_t completes(const naive_passes *n, size_t variable, const uint8_t *touched,
                        const size_t *end, const uint8_t *updates) {
    size_t step = 0;
    bool is_updated_with = false;
    bool has_others = false;
    if (is_always_live(n->c->profile, variable))
        return SIZE_MAX;
    for (size_t i = 0; i < pl_operations_count(n->c->operations); i++) {
        if (!touched[i * n->c->profile->num_variables + variable])
            continue;
        if (updates[i]) {
            is_updated_with = true;
            continue;
        }
        if (!begins_backward(n, i))
            return SIZE_MAX;
        has_others = true;
        step = end[i] > step ? end[i] : step;
    }
    return is_updated_with && has_others ? step : SIZE_MAX;
}

static void find_complete(naive_passes *n) {
    size_t num_variables = n->c->profile->num_variables;
    size_t num_operations = pl_operations_count(n->c->operations);
    uint8_t *touched = calloc(num_operations * num_variables + 1, 1);
    uint8_t *updates = calloc(num_operations + 1, 1);
    size_t *end = calloc(num_operations + 1, sizeof *end);
    assert_true(touched != NULL && updates != NULL && end != NULL);
    for (size_t i = 0; i < num_operations; i++) {
        mark_computed_on(n->c, i, &touched[i * num_variables]);
        updates[i] = may_update(n, i, &touched[i * num_variables]);
        end[i] = ends(n, i);
    }
    while (spoil(n, touched, end, updates))
        continue;
    for (size_t v = 0; v < num_variables; v++)
        n->complete[v] = completes(n, v, touched, end, updates);
    free(touched);
    free(updates);
    free(end);
}

static size_t begins(const naive_passes *n, size_t unit, uint8_t pass);

static bool class_is_live(const popliner_profile *p, size_t class_index, size_t step) {
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++)
        if (p->range_first_step[i] <= step && step < p->range_end_step[i])
            return true;
    return false;
}

/* The step of the last layer across which the most classes live that began after the turn. */
static void find_loss(naive_passes *n) {
    const popliner_profile *p = n->c->profile;
    size_t most = 0;
    n->loss = n->turn;
    size_t end = SIZE_MAX; /* where the nearest unit before the last layer begins backward */
    for (size_t unit = n->last_layer; n->trains && unit-- > 0 && end == SIZE_MAX;)
        end = begins(n, unit, NAIVE_BACKWARD);
    for (size_t step = n->turn; n->trains && step < end && step < p->num_steps; step++) {
        size_t count = 0;
        for (size_t i = 0; i < p->num_classes; i++)
            count += !p->class_always_live[i] && class_is_live(p, i, step - 1) &&
                     class_is_live(p, i, step) &&
                     !(class_is_live(p, i, n->turn - 1) && class_is_live(p, i, n->turn));
        if (count > most) {
            most = count;
            n->loss = step;
        }
    }
}

void naive_begin(naive_passes *n, const golden_case *c, const pl_chain *chain) {
    *n = (naive_passes){.c = c, .chain = chain, .num_units = pl_chain_num_units(chain)};
    n->runs = calloc(c->profile->num_steps + 1, 1);
    n->passes = calloc(pl_operations_count(c->operations) + 1, 1);
    n->first = calloc(pl_operations_count(c->operations) + 1, sizeof *n->first);
    n->touches = calloc(c->profile->num_variables + 1, n->num_units);
    n->complete = calloc(c->profile->num_variables + 1, sizeof *n->complete);
    assert_true(n->runs != NULL && n->passes != NULL && n->first != NULL && n->touches != NULL &&
                n->complete != NULL);
    find_running(n);
    find_turn(n);
    find_passes(n);
    find_touches(n);
    find_complete(n);
    find_loss(n);
}

void naive_end(naive_passes *n) {
    free(n->runs);
    free(n->passes);
    free(n->first);
    free(n->touches);
    free(n->complete);
}

/* The first step at which a unit works in the pass; SIZE_MAX for none. */
static size_t begins(const naive_passes *n, size_t unit, uint8_t pass) {
    for (size_t step = 0; step < n->c->profile->num_steps; step++) {
        uint8_t of_step = step < n->turn ? NAIVE_FORWARD : NAIVE_BACKWARD;
        if (n->trains && unit >= n->last_layer)
            of_step = NAIVE_FORWARD | NAIVE_BACKWARD;
        if (works(n, step) == unit && (of_step & pass) != 0)
            return step;
    }
    return SIZE_MAX;
}

/* Whether one live range holds both steps, and the steps before them. */
static bool stays(const popliner_profile *p, size_t variable, size_t from, size_t to) {
    uint32_t class_index = p->variable_class[variable];
    size_t low = from < to ? from : to;
    size_t high = from < to ? to : from;
    if (low == 0 || high == SIZE_MAX)
        return false;
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        if (p->range_first_step[i] <= low - 1 && high < p->range_end_step[i])
            return true;
    }
    return false;
}

static bool touches(const naive_passes *n, size_t variable, size_t first, size_t end,
                    uint8_t pass) {
    for (size_t unit = first; unit < end; unit++) {
        if ((n->touches[variable * n->num_units + unit] & pass) != 0)
            return true;
    }
    return false;
}

uint64_t naive_cut(const naive_passes *n, size_t unit) {
    size_t num_tiles = n->c->profile->target.num_tiles;
    uint64_t *forward = calloc(num_tiles + 1, sizeof *forward);
    uint64_t *backward = calloc(num_tiles + 1, sizeof *backward);
    uint64_t bytes = 0;
    assert_true(forward != NULL && backward != NULL);
    naive_cut_by_tile(n, unit, forward, backward);
    for (size_t tile = 0; tile < num_tiles; tile++)
        bytes += forward[tile] + backward[tile];
    free(forward);
    free(backward);
    return bytes;
}

void naive_cut_by_tile(const naive_passes *n, size_t unit, uint64_t *forward_bytes,
                       uint64_t *backward_bytes) {
    const popliner_profile *p = n->c->profile;
    size_t forward = SIZE_MAX;
    size_t backward = SIZE_MAX;
    for (size_t behind = unit; behind < n->num_units && forward == SIZE_MAX; behind++)
        forward = begins(n, behind, NAIVE_FORWARD);
    for (size_t before = unit; before-- > 0 && backward == SIZE_MAX && unit <= n->last_layer;)
        backward = begins(n, before, NAIVE_BACKWARD);
    memset(forward_bytes, 0, p->target.num_tiles * sizeof *forward_bytes);
    memset(backward_bytes, 0, p->target.num_tiles * sizeof *backward_bytes);
    for (size_t v = 0; v < p->num_variables; v++) {
        if (p->class_always_live[p->variable_class[v]])
            continue;
        bool goes_forward = touches(n, v, 0, unit, NAIVE_FORWARD) &&
                            touches(n, v, unit, n->num_units, NAIVE_FORWARD);
        bool goes_backward = touches(n, v, 0, unit, NAIVE_BACKWARD) &&
                             touches(n, v, unit, n->num_units, NAIVE_BACKWARD);
        size_t tile = pl_profile_tile_of(p, v);
        if (goes_forward && stays(p, v, forward, forward))
            forward_bytes[tile] += p->variable_size_bytes[v];
        if (goes_backward && stays(p, v, backward, backward) &&
            !(goes_forward && stays(p, v, forward, backward)))
            backward_bytes[tile] += p->variable_size_bytes[v];
    }
}

/* Whether an operation of the unit is one of the forward pass for certain. */
static bool is_forward_for_certain(const naive_passes *n, size_t operation, size_t unit) {
    if (!n->trains || unit < n->last_layer)
        return (n->passes[operation] & NAIVE_FORWARD) != 0;
    size_t behind = SIZE_MAX; /* an earlier unit works backward */
    for (size_t before = n->last_layer; before-- > 0 && behind == SIZE_MAX;)
        behind = begins(n, before, NAIVE_BACKWARD);
    return n->first[operation] < behind;
}

void naive_parameters(const naive_passes *n, const popliner_interval *stages, size_t num_stages,
                      uint64_t *by_tile) {
    const popliner_profile *p = n->c->profile;
    uint8_t *has = calloc(p->num_variables + 1, 1);
    uint8_t *computed_on = find_computed_on(n->c);
    assert_non_null(has);
    for (size_t i = 0; i < pl_operations_count(n->c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(n->c->operations, i);
        size_t unit = pl_chain_unit_of(n->chain, i);
        bool is_own = false;
        for (size_t k = 0; k < num_stages; k++)
            is_own = is_own || (unit >= stages[k].first_unit && unit <= stages[k].last_unit);
        if (!is_own || !is_forward_for_certain(n, i, unit))
            continue;
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            bool is_host_copy = p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID;
            for (uint32_t l = p->program_lists_start[program];
                 l < p->program_lists_start[program + 1]; l++) {
                uint32_t list = p->program_list[l];
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                    if (!is_host_copy || !computed_on[p->list_variable[v]])
                        has[p->list_variable[v]] = 1;
            }
        }
    }
    memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
    for (size_t v = 0; v < p->num_variables; v++) {
        const char *category = pl_profile_string(p, p->category_name[p->variable_category[v]]);
        /* what nothing updates has no gradient */
        if (has[v] && p->class_always_live[p->variable_class[v]] &&
            touches(n, v, 0, n->num_units, NAIVE_BACKWARD) && strcmp(category, "variable") == 0)
            by_tile[pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
    }
    free(has);
    free(computed_on);
}

/* Whether some copy from the host fills the variable. */
static bool is_fed(const popliner_profile *p, size_t variable) {
    for (size_t l = 0; l < p->num_fed_lists; l++) {
        uint32_t list = p->fed_list[l];
        for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
            if (p->list_variable[v] == variable)
                return true;
    }
    return false;
}

void naive_stash(const naive_passes *n, popliner_recompute recompute, size_t first_unit,
                 size_t last_unit, uint64_t *by_tile) {
    const popliner_profile *p = n->c->profile;
    size_t own = first_unit;
    if (n->chain->kind[first_unit] == POPLINER_UNIT_UNLAYERED)
        own++;
    size_t begin = SIZE_MAX;  /* of its forward pass */
    size_t behind = SIZE_MAX; /* of that of the next stage */
    for (size_t unit = first_unit; unit < n->num_units && begin == SIZE_MAX; unit++)
        begin = begins(n, unit, NAIVE_FORWARD);
    for (size_t unit = last_unit + 1; unit < n->num_units && behind == SIZE_MAX; unit++)
        behind = begins(n, unit, NAIVE_FORWARD);
    memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
    for (size_t v = 0; n->trains && v < p->num_variables; v++) {
        if (p->class_always_live[p->variable_class[v]] ||
            !touches(n, v, own, last_unit + 1, NAIVE_FORWARD))
            continue;
        bool is_activation =
            stays(p, v, n->loss, n->loss) && touches(n, v, own, last_unit + 1, NAIVE_BACKWARD);
        bool is_input = is_fed(p, v) ||
                        (stays(p, v, begin, begin) && touches(n, v, 0, first_unit, NAIVE_FORWARD));
        bool is_output = stays(p, v, behind, behind) &&
                         touches(n, v, last_unit + 1, n->num_units, NAIVE_FORWARD);
        if ((recompute != POPLINER_RECOMPUTE_FULL && is_activation) ||
            (recompute != POPLINER_RECOMPUTE_NONE && is_input) ||
            (recompute == POPLINER_RECOMPUTE_STANDARD && is_output))
            by_tile[pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
    }
}

uint64_t naive_cycles(const naive_passes *n, size_t first_unit, size_t last_unit) {
    const popliner_profile *p = n->c->profile;
    uint64_t cycles = 0;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t operation = n->c->operations->step_operation[step];
        if (operation == PL_NONE || !n->runs[step])
            continue;
        size_t unit = pl_chain_unit_of(n->chain, operation);
        uint64_t times = unit >= first_unit && unit <= last_unit;
        for (size_t at = step; p->step_parent[at] != PL_NONE; at = p->step_parent[at])
            times *= p->program_repeats[p->step_program[p->step_parent[at]]];
        cycles += times * p->program_cycles[p->step_program[step]];
    }
    return cycles;
}

/* When the nearest unit before the last layer that works backward begins to. */
static size_t begin_of_backward(const naive_passes *n) {
    for (size_t unit = n->last_layer; unit-- > 0;)
        for (size_t step = n->turn; step < n->c->profile->num_steps; step++)
            if (works(n, step) == unit)
                return step;
    return 0;
}

uint64_t naive_forward_cycles(const naive_passes *n, size_t unit) {
    const popliner_profile *p = n->c->profile;
    uint64_t cycles = 0;
    if (!n->trains)
        return 0;
    size_t end = unit < n->last_layer ? n->turn : begin_of_backward(n);
    for (size_t step = 0; step < end; step++) {
        uint32_t operation = n->c->operations->step_operation[step];
        if (operation == PL_NONE || !n->runs[step] || pl_chain_unit_of(n->chain, operation) != unit)
            continue;
        uint64_t times = 1;
        for (size_t at = step; p->step_parent[at] != PL_NONE; at = p->step_parent[at])
            times *= p->program_repeats[p->step_program[p->step_parent[at]]];
        cycles += times * p->program_cycles[p->step_program[step]];
    }
    return cycles;
}
