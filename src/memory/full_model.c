/* The full memory model: everything that the compiler counts. popliner/stage.h has its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* The place of variables that belong nowhere. */
static const uint32_t PLACE_UNKNOWN = UINT32_MAX;

/* Returns the layer of an operation, 0 if it is in none, or only by a guess. */
static uint32_t sure_layer(const pl_layers *layers, size_t operation) {
    return pl_layer_is_guess(layers, operation) ? 0
                                                : (uint32_t)pl_layers_unit_of(layers, operation);
}

/* A place that a variable belongs to because of an operation in no layer. */
typedef struct claim {
    uint32_t place;
    uint32_t next; /* claim of the same variables: number + 1, 0 for none */
} claim;

/* The state of placing operations. */
typedef struct placing {
    const popliner_profile *profile;
    pl_unit_usage usage;   /* of the layers */
    uint32_t *touched;     /* [num_variables]: last operation + 1 that touched it */
    uint32_t *first_claim; /* [sets of operations]: number + 1; equal for all variables of a set */
    claim *claims;
    size_t num_claims;
    size_t capacity;
    size_t num_places; /* head, layers, tail: tail is the last */
    uint64_t *shares;  /* [num_places]: shares of one operation's variables */
    size_t first_layer_step;
    size_t last_layer_step;
} placing;

static void free_placing(placing *w) {
    pl_unit_usage_free(&w->usage);
    free(w->touched);
    free(w->first_claim);
    free(w->claims);
    free(w->shares);
}

/* Adds `share` to each place that a variable belongs to, and returns their number. */
static uint64_t add_share(placing *w, uint32_t variable, uint64_t share) {
    uint64_t count = 0;
    for (uint32_t set = pl_unit_usage_of(&w->usage, variable); set != 0;
         set = w->usage.sets.rest[set]) {
        uint32_t unit = w->usage.sets.last_unit[set];
        if (unit > 0) {
            w->shares[unit] += share;
            count++;
        }
    }
    for (uint32_t c = w->first_claim[w->usage.variable_set[variable]]; c != 0;
         c = w->claims[c - 1].next) {
        w->shares[w->claims[c - 1].place] += share;
        count++;
    }
    return count;
}

/* Returns the place that has most bytes of the variables that the operation touches, where a
 * variable of several places counts for each with its part; PLACE_UNKNOWN if none has any. */
static uint32_t most_touched(placing *w, const popliner_operation *operation, uint32_t index) {
    const popliner_profile *p = w->profile;
    memset(w->shares, 0, w->num_places * sizeof *w->shares);
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_touches touches = pl_touches_of(p, operation->programs[k]);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            if (w->touched[variable] == index + 1)
                continue;
            w->touched[variable] = index + 1;
            uint64_t places = add_share(w, variable, 0);
            if (places > 0) /* in 256ths of a byte */
                add_share(w, variable, ((uint64_t)p->variable_size_bytes[variable] << 8) / places);
        }
    }
    size_t best = 0;
    for (size_t place = 1; place < w->num_places; place++)
        best = w->shares[place] > w->shares[best] ? place : best;
    return w->shares[best] == 0 ? PLACE_UNKNOWN : (uint32_t)best;
}

/* True if the variable belongs to the place already. */
static bool is_claimed(const placing *w, uint32_t variable, uint32_t place) {
    for (uint32_t set = pl_unit_usage_of(&w->usage, variable); set != 0;
         set = w->usage.sets.rest[set]) {
        if (place > 0 && w->usage.sets.last_unit[set] == place)
            return true;
    }
    for (uint32_t c = w->first_claim[w->usage.variable_set[variable]]; c != 0;
         c = w->claims[c - 1].next) {
        if (w->claims[c - 1].place == place)
            return true;
    }
    return false;
}

/* Assigns the variables that an operation in no layer touches to its place, except for host
 * copies. */
static bool claim_variables(placing *w, const popliner_operation *operation, uint32_t place) {
    const popliner_profile *p = w->profile;
    for (size_t k = 0; k < operation->num_programs; k++) {
        uint32_t program = operation->programs[k];
        if (p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID)
            continue;
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            if (is_claimed(w, variable, place))
                continue;
            if (w->num_claims >= PL_NONE - 1 ||
                !pl_grow(&w->claims, &w->capacity, w->num_claims + 1, sizeof *w->claims))
                return false;
            w->claims[w->num_claims] =
                (claim){place, w->first_claim[w->usage.variable_set[variable]]};
            w->first_claim[w->usage.variable_set[variable]] = (uint32_t)++w->num_claims;
        }
    }
    return true;
}

/* Returns the place of an operation in no layer; `before` is that of the operation before it. */
static uint32_t place_operation(placing *w, const popliner_operation *operation, uint32_t index,
                                uint32_t before) {
    uint32_t tail = (uint32_t)w->num_places - 1;
    if (w->first_layer_step == SIZE_MAX || operation->last_step < w->first_layer_step)
        return 0;
    uint32_t most = most_touched(w, operation, index);
    if (operation->first_step > w->last_layer_step && (most == PLACE_UNKNOWN || most + 1 == tail))
        return tail;
    return most == PLACE_UNKNOWN ? before : most;
}

/* Finds the units of the variables by the layers that are sure, which chain->unit_of_operation has,
 * and the steps of these. False if memory is short. */
static bool begin_placing(placing *w, pl_chain *chain) {
    const popliner_profile *profile = w->profile;
    const pl_unit_map map = {chain->unit_of_operation, pl_layers_num_units(chain->layers), false};
    w->num_places = map.num_units + 1;
    w->touched = pl_new_array(profile->num_variables, sizeof *w->touched);
    w->shares = pl_new_array(w->num_places, sizeof *w->shares);
    chain->usage = calloc(1, sizeof *chain->usage);
    if (chain->usage == NULL || w->touched == NULL || w->shares == NULL ||
        !pl_operation_usage_find(chain->usage, profile, chain->operations) ||
        !pl_unit_usage_find(&w->usage, profile, chain->operations, chain->usage, &map))
        return false;
    for (size_t i = 0; i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        if (chain->unit_of_operation[i] == 0)
            continue;
        if (operation->first_step < w->first_layer_step)
            w->first_layer_step = operation->first_step;
        if (operation->last_step > w->last_layer_step)
            w->last_layer_step = operation->last_step;
    }
    w->first_claim = pl_new_array(chain->usage->sets.count, sizeof *w->first_claim);
    return w->first_claim != NULL;
}

static popliner_status place_by_touches(pl_chain *chain, popliner_error *error) {
    popliner_status status = pl_profile_require_variables(chain->profile, error);
    if (status != POPLINER_OK)
        return status;
    placing w = {.profile = chain->profile, .first_layer_step = SIZE_MAX};
    /* first the layers that are sure, which determine the places of all operations */
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = sure_layer(chain->layers, i);
    bool memory = begin_placing(&w, chain);
    uint32_t before = 0;
    for (size_t i = 0; memory && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            const popliner_operation *operation = pl_operation_at(chain->operations, i);
            place = place_operation(&w, operation, (uint32_t)i, before);
            memory = claim_variables(&w, operation, place);
        }
        chain->unit_of_operation[i] = place + 1 == w.num_places ? PL_PLACE_TAIL : place;
        before = place;
    }
    free_placing(&w);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the chain of layers");
}

/* The model's own state in a meter: the steps of the stage. */
typedef struct own_steps {
    uint32_t *operation_seen; /* [operations]: number of the last stage that had it */
    uint8_t *is_own;          /* [num_steps] */
    size_t first;             /* of the own steps; both 0 if there are none */
    size_t end;
} own_steps;

static bool begin_work(pl_stage_meter *meter) {
    own_steps *steps = calloc(1, sizeof *steps);
    meter->work = steps;
    if (steps == NULL)
        return false;
    steps->operation_seen =
        pl_new_array(pl_operations_count(meter->operations), sizeof *steps->operation_seen);
    steps->is_own = pl_new_array(meter->profile->num_steps, 1);
    return steps->operation_seen != NULL && steps->is_own != NULL;
}

static void free_work(pl_stage_meter *meter) {
    own_steps *steps = meter->work;
    if (steps == NULL)
        return;
    free(steps->operation_seen);
    free(steps->is_own);
    free(steps);
}

static void find_own_steps(pl_stage_meter *meter, const size_t *operations, size_t num_operations) {
    own_steps *steps = meter->work;
    for (size_t i = 0; i < num_operations; i++)
        steps->operation_seen[operations[i]] = meter->stage_number;
    steps->first = steps->end = 0;
    for (size_t step = 0; step < meter->profile->num_steps; step++) {
        uint32_t operation = meter->chain->operation_of_step[step];
        /* without any operation the only stage has all steps */
        steps->is_own[step] =
            operation == PL_NONE || steps->operation_seen[operation] == meter->stage_number;
        if (steps->is_own[step] != 0) {
            steps->first = steps->end == 0 ? step : steps->first;
            steps->end = step + 1;
        }
    }
}

/* The maximum of the live bytes over the steps of one pass, and the first step with it. */
typedef struct pass_peak {
    bool has_steps;
    uint64_t bytes;
    size_t step;
    uint64_t buffer_bytes; /* in addition, at all of its steps */
} pass_peak;

/* Returns the larger one, with the buffers or without them; the first of equals. */
static const pass_peak *larger_of(const pass_peak *first, const pass_peak *second,
                                  bool with_buffers) {
    uint64_t first_bytes = first->bytes + (with_buffers ? first->buffer_bytes : 0);
    uint64_t second_bytes = second->bytes + (with_buffers ? second->buffer_bytes : 0);
    return second->has_steps && (!first->has_steps || second_bytes > first_bytes) ? second : first;
}

/* Adds a variable of the stage wherever it is live. */
static void add_own(pl_stage_meter *meter, uint32_t variable) {
    const popliner_profile *p = meter->profile;
    const uint32_t class_index = p->variable_class[variable];
    for (uint32_t k = p->class_ranges_start[class_index];
         k < p->class_ranges_start[class_index + 1]; k++) {
        size_t first = p->range_first_step[k];
        size_t end = pl_gradients_end(meter->accumulated, variable, first, p->range_end_step[k]);
        pl_curve_add_within(&meter->curve, first, end, p->variable_size_bytes[variable]);
    }
}

/* Adds what passes through the stage on a tile, at the steps of its passes. */
static void add_passing(pl_stage_meter *meter, size_t tile) {
    const popliner_profile *p = meter->profile;
    size_t turn_step = meter->pass_usage.passes.turn_step < p->num_steps
                           ? meter->pass_usage.passes.turn_step
                           : p->num_steps;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (meter->passed[pl_unit_usage_of(&meter->pass_usage.usage, i)] == 0 ||
            meter->variable_seen[i] == meter->variable_mark)
            continue;
        for (int is_before = 0; is_before < 2; is_before++) {
            if (!pl_stage_is_passed(meter, (size_t)i, is_before != 0))
                continue;
            uint32_t class_index = p->variable_class[i];
            for (uint32_t k = p->class_ranges_start[class_index];
                 k < p->class_ranges_start[class_index + 1]; k++) {
                size_t first = p->range_first_step[k];
                size_t end = pl_gradients_end(meter->accumulated, i, first, p->range_end_step[k]);
                if (is_before != 0)
                    end = end < turn_step ? end : turn_step;
                else
                    first = first > turn_step ? first : turn_step;
                pl_curve_add_within(&meter->curve, first, end, p->variable_size_bytes[i]);
            }
        }
    }
}

/* Returns the bytes that no operation touches at the step of a peak. */
static uint64_t unexplained_at(const pl_stage_meter *meter, size_t tile, const pass_peak *peak) {
    const popliner_profile *p = meter->profile;
    const uint32_t *unexplained;
    size_t count = pl_account_unexplained(&meter->account, tile, &unexplained);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && peak->bytes > 0; i++)
        if (popliner_liveness_is_live(p, unexplained[i], peak->step))
            bytes += p->variable_size_bytes[unexplained[i]];
    return bytes;
}

/* Computes the peak on one tile of the stage's variables meter->variables[first ... end - 1] and
 * those that no operation touches, over the stage's own steps. */
static bool measure_tile(pl_stage_meter *meter, size_t tile, size_t first, size_t end,
                         popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    const own_steps *steps = meter->work;
    const uint32_t *unexplained;
    size_t num_unexplained = pl_account_unexplained(&meter->account, tile, &unexplained);
    uint64_t always_live_bytes = 0;
    if (!pl_curve_begin(&meter->curve, steps->first, steps->end))
        return false;
    for (size_t i = first; i < end; i++) {
        uint32_t variable = meter->variables[i];
        if (!p->class_always_live[p->variable_class[variable]])
            add_own(meter, variable);
        else if (!pl_account_is_code(&meter->account, variable))
            always_live_bytes += p->variable_size_bytes[variable];
    }
    for (size_t i = 0; i < num_unexplained; i++) {
        uint32_t variable = unexplained[i];
        pl_curve_add(&meter->curve, p, p->variable_class[variable],
                     p->variable_size_bytes[variable]);
    }
    if ((meter->effects & POPLINER_EFFECT_PASSING) != 0)
        add_passing(meter, tile);
    bool counts_sent = meter->sent_forward != NULL;
    size_t turn_step = counts_sent ? meter->pass_usage.passes.turn_step : p->num_steps;
    pass_peak forward = {.buffer_bytes = counts_sent ? meter->sent_backward[tile] : 0};
    pass_peak backward = {.buffer_bytes = counts_sent ? meter->sent_forward[tile] : 0};
    forward.has_steps = pl_curve_peak_of_marked(&meter->curve, steps->is_own, 0,
                                                turn_step < steps->end ? turn_step : steps->end,
                                                &forward.bytes, &forward.step);
    if (turn_step < steps->end)
        backward.has_steps = pl_curve_peak_of_marked(&meter->curve, steps->is_own, turn_step,
                                                     steps->end, &backward.bytes, &backward.step);
    bool has_buffers = (meter->effects & POPLINER_EFFECT_BUFFERS) != 0;
    const pass_peak *plain = larger_of(&forward, &backward, false);
    const pass_peak *buffered = larger_of(&forward, &backward, true);
    const pass_peak *expected = has_buffers ? buffered : plain;
    uint64_t unexplained_bytes = unexplained_at(meter, tile, expected);
    memory->always_live_bytes[tile] = always_live_bytes;
    memory->part_bytes[POPLINER_PART_VARIABLES][tile] =
        always_live_bytes + expected->bytes - unexplained_bytes;
    memory->part_bytes[POPLINER_PART_UNEXPLAINED][tile] = unexplained_bytes;
    memory->part_bytes[POPLINER_PART_BUFFERS][tile] =
        has_buffers && expected->has_steps ? expected->buffer_bytes : 0;
    memory->peak_step[tile] = expected->has_steps ? expected->step : 0;
    memory->need_bytes[POPLINER_NEED_LEAST][tile] =
        always_live_bytes + plain->bytes - unexplained_at(meter, tile, plain);
    memory->need_bytes[POPLINER_NEED_MOST][tile] =
        always_live_bytes + buffered->bytes + (buffered->has_steps ? buffered->buffer_bytes : 0);
    return true;
}

static bool measure_data(pl_stage_meter *meter, const size_t *operations, size_t num_operations,
                         popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    find_own_steps(meter, operations, num_operations);
    for (size_t i = 0; i < num_operations; i++)
        pl_stage_add_variables(meter, pl_operation_at(meter->operations, operations[i]));
    pl_stage_sort_variables(meter);
    size_t end = 0;
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        size_t first = end;
        while (end < meter->num_variables &&
               meter->variables[end] < p->tile_variables_start[tile + 1])
            end++;
        if (!measure_tile(meter, tile, first, end, memory))
            return false;
    }
    return true;
}

const pl_memory_model pl_full_model = {
    .id = POPLINER_MEMORY_MODEL_FULL,
    .name = "full",
    .place_operations = place_by_touches,
    .takes_told_state = true,
    .follows_account = true,
    .adds_always_live = true,
    .has_own_steps = true,
    .begin_work = begin_work,
    .free_work = free_work,
    .measure_data = measure_data,
};
