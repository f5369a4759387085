/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/placing.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/memory_model.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "profile/touches.h"

/* The place of variables that belong nowhere. */
static const uint32_t PLACE_UNKNOWN = UINT32_MAX;

/* The layer of an operation, 0 for one that is in none, or not surely. */
static uint32_t sure_layer(const popliner_layers *layers, size_t operation) {
    return pl_layer_is_guess(layers, operation) ? 0
                                                : (uint32_t)pl_layers_unit_of(layers, operation);
}

/* A place that a variable belongs to because of an operation in no layer. */
typedef struct claim {
    uint32_t place;
    uint32_t next; /* of the same variables: number + 1, 0 for none */
} claim;

/* Everything that placing operations needs, together. */
typedef struct placing {
    const popliner_profile *profile;
    pl_unit_usage usage;   /* of the layers */
    uint32_t *touched;     /* [num_variables]: the last operation + 1 that did */
    uint32_t *first_claim; /* [sets of operations]: number + 1; what the same touch is alike */
    claim *claims;
    size_t num_claims;
    size_t capacity;
    size_t num_places; /* head, layers, tail: the last of these */
    uint64_t *shares;  /* [num_places]: of one operation's variables that belong to each */
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

/* The places that a variable belongs to: adds `share` to each and returns how many they are. */
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

/* The place to which most bytes of the variables belong that the operation in place `index`
 * touches, a variable of several places counting for each by its part; PLACE_UNKNOWN if none has
 * any. */
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

/* Whether the variable belongs to the place already. */
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

/* What an operation in no layer touches belongs where the operation is, but for host copies. */
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

/* The place of an operation in no layer; `before` is that of the operation before it. */
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

popliner_status pl_place_by_touches(popliner_chain *chain, const popliner_profile *profile,
                                    const popliner_operations *operations, popliner_error *error) {
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    placing w = {.profile = profile, .first_layer_step = SIZE_MAX};
    w.num_places = pl_layers_num_units(chain->layers) + 1;
    w.touched = pl_new_array(profile->num_variables, sizeof *w.touched);
    w.shares = pl_new_array(w.num_places, sizeof *w.shares);
    /* first the layers that are sure; from them the places of all */
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = sure_layer(chain->layers, i);
    chain->usage = calloc(1, sizeof *chain->usage);
    status = chain->usage == NULL || w.touched == NULL || w.shares == NULL
                 ? pl_fail_memory(error, "the chain of layers")
                 : pl_operation_usage_find(chain->usage, profile, operations, error);
    if (status == POPLINER_OK)
        status = pl_unit_usage_find(&w.usage, profile, operations, chain->usage,
                                    chain->unit_of_operation, pl_layers_num_units(chain->layers),
                                    NULL, error);
    if (status == POPLINER_OK) {
        w.first_claim = pl_new_array(chain->usage->sets.count, sizeof *w.first_claim);
        if (w.first_claim == NULL)
            status = pl_fail_memory(error, "the chain of layers");
    }
    for (size_t i = 0; status == POPLINER_OK && i < chain->num_operations; i++) {
        uint32_t layer = chain->unit_of_operation[i];
        const popliner_operation *operation = pl_operation_at(operations, i);
        if (layer > 0 && operation->first_step < w.first_layer_step)
            w.first_layer_step = operation->first_step;
        if (layer > 0 && operation->last_step > w.last_layer_step)
            w.last_layer_step = operation->last_step;
    }
    uint32_t before = 0;
    for (size_t i = 0; status == POPLINER_OK && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            const popliner_operation *operation = pl_operation_at(operations, i);
            place = place_operation(&w, operation, (uint32_t)i, before);
            if (!claim_variables(&w, operation, place))
                status = pl_fail_memory(error, "the chain of layers");
        }
        chain->unit_of_operation[i] = place + 1 == w.num_places ? PL_PLACE_TAIL : place;
        before = place;
    }
    free_placing(&w);
    return status;
}
