/* The full memory model: everything that the compiler counts. popliner/stage.h has its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <assert.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
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
    pl_arrays arrays;      /* own the arrays below, and those of the usage */
    pl_unit_usage usage;   /* of the layers */
    uint8_t *touched;      /* bits by variable: one operation touches it; all 0 in between */
    uint32_t *first_claim; /* [sets of operations]: number + 1; equal for all variables of a set */
    claim *claims;
    size_t num_claims;
    size_t capacity;
    size_t num_places; /* head, layers, tail: tail is the last */
    uint64_t *shares;  /* [num_places]: shares of one operation's variables */
    size_t first_layer_step;
    size_t last_layer_step;
} placing;

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
static uint32_t most_touched(placing *w, const popliner_operation *operation) {
    const popliner_profile *p = w->profile;
    uint32_t variable;
    memset(w->shares, 0, w->num_places * sizeof *w->shares);
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_touches touches = pl_touches_of(p, operation->programs[k]);
        while (pl_touches_next(&touches, &variable)) {
            const uint8_t bit = (uint8_t)(1u << variable % 8);
            if ((w->touched[variable / 8] & bit) != 0)
                continue;
            w->touched[variable / 8] |= bit;
            uint64_t places = add_share(w, variable, 0);
            if (places > 0) /* in 256ths of a byte */
                add_share(w, variable, ((uint64_t)p->variable_size_bytes[variable] << 8) / places);
        }
    }
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_touches touches = pl_touches_of(p, operation->programs[k]);
        while (pl_touches_next(&touches, &variable))
            w->touched[variable / 8] = 0;
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
static void claim_variables(placing *w, const popliner_operation *operation, uint32_t place) {
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
            assert(w->num_claims < PL_NONE - 1);
            if (!pl_arrays_grow(&w->arrays, &w->claims, &w->capacity, w->num_claims + 1,
                                sizeof *w->claims))
                return;
            w->claims[w->num_claims] =
                (claim){place, w->first_claim[w->usage.variable_set[variable]]};
            w->first_claim[w->usage.variable_set[variable]] = (uint32_t)++w->num_claims;
        }
    }
}

/* Returns the place of an operation in no layer; `before` is that of the operation before it. */
static uint32_t place_operation(placing *w, const popliner_operation *operation, uint32_t before) {
    uint32_t tail = (uint32_t)w->num_places - 1;
    if (w->first_layer_step == SIZE_MAX || operation->last_step < w->first_layer_step)
        return 0;
    uint32_t most = most_touched(w, operation);
    if (operation->first_step > w->last_layer_step && (most == PLACE_UNKNOWN || most + 1 == tail))
        return tail;
    return most == PLACE_UNKNOWN ? before : most;
}

/* Finds the units of the variables by the layers that are sure, which chain->unit_of_operation has,
 * and the steps of these. */
static void begin_placing(placing *w, const pl_chain *chain) {
    const pl_unit_map map = {chain->unit_of_operation, pl_layers_num_units(chain->layers), false};
    w->num_places = map.num_units + 1;
    w->touched = pl_arrays_new(&w->arrays, w->profile->num_variables / 8 + 1, sizeof *w->touched);
    w->shares = pl_arrays_new(&w->arrays, w->num_places, sizeof *w->shares);
    w->first_claim = pl_arrays_new(&w->arrays, chain->usage->sets.count, sizeof *w->first_claim);
    if (!w->arrays.failed)
        pl_unit_usage_find(&w->usage, &w->arrays, chain->usage, &map);
    for (size_t i = 0; i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        if (chain->unit_of_operation[i] == 0)
            continue;
        w->first_layer_step = pl_fewer(w->first_layer_step, operation->first_step);
        w->last_layer_step = pl_more(w->last_layer_step, operation->last_step);
    }
}

static void place_by_touches(pl_chain *chain) {
    placing w = {.profile = chain->profile, .first_layer_step = SIZE_MAX};
    /* first the layers that are sure, which determine the places of all operations */
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = sure_layer(chain->layers, i);
    begin_placing(&w, chain);
    uint32_t before = 0;
    for (size_t i = 0; !w.arrays.failed && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            const popliner_operation *operation = pl_operation_at(chain->operations, i);
            place = place_operation(&w, operation, before);
            claim_variables(&w, operation, place);
        }
        chain->unit_of_operation[i] = place + 1 == w.num_places ? PL_PLACE_TAIL : place;
        before = place;
    }
    pl_arrays_end(&w.arrays, &chain->arrays);
}

const pl_memory_model pl_full_model = {
    .id = POPLINER_MEMORY_MODEL_FULL,
    .name = "full",
    .place_operations = place_by_touches,
    .takes_told_state = true,
    .follows_account = true,
};
