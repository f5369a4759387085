/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/chain_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "memory/unit_usage.h"
#include "model/operations_data.h"
#include "profile/profile_data.h"
#include "profile/touches.h"

void popliner_chain_free(popliner_chain *chain) {
    if (chain == NULL)
        return;
    free(chain->kind);
    free(chain->layer);
    free(chain->unit_of_operation);
    free(chain->unit_operations_start);
    free(chain->unit_operation);
    free(chain->operation_of_step);
    free(chain);
}

popliner_memory_model popliner_chain_memory_model(const popliner_chain *chain) {
    return chain->model;
}

size_t popliner_chain_num_units(const popliner_chain *chain) {
    return chain->num_units;
}

popliner_unit_kind popliner_chain_kind(const popliner_chain *chain, size_t unit) {
    return chain->kind[unit];
}

const char *popliner_chain_name(const popliner_chain *chain, size_t unit) {
    return popliner_layers_name(chain->layers, chain->layer[unit]);
}

size_t popliner_chain_unit_of(const popliner_chain *chain, size_t operation) {
    return chain->unit_of_operation[operation];
}

const char *popliner_chain_label(const popliner_chain *chain, size_t unit) {
    const char *name = popliner_chain_name(chain, unit);
    if (name != NULL)
        return name;
    switch (popliner_chain_kind(chain, unit)) {
    case POPLINER_UNIT_HEAD:
        return "Head";
    case POPLINER_UNIT_TAIL:
        return "Tail";
    case POPLINER_UNIT_UNLAYERED:
    case POPLINER_UNIT_LAYER:
        break;
    }
    return "None";
}

size_t popliner_chain_operation_at(const popliner_chain *chain, size_t step) {
    if (step >= chain->num_steps || chain->operation_of_step[step] == PL_NONE)
        return SIZE_MAX;
    return chain->operation_of_step[step];
}

bool popliner_chain_has_operations(const popliner_chain *chain, size_t unit) {
    return chain->unit_operations_start[unit] < chain->unit_operations_start[unit + 1];
}

/* Every step gets the operation that it runs for, or that of the last step that has one, or, before
 * all of them, the first one; PL_NONE throughout if there is none. */
static bool place_steps(popliner_chain *chain, const popliner_operations *operations) {
    chain->num_steps = operations->num_steps;
    chain->operation_of_step = pl_new_array(chain->num_steps, sizeof(uint32_t));
    if (chain->operation_of_step == NULL)
        return false;
    uint32_t current = PL_NONE;
    for (size_t step = 0; step < chain->num_steps && current == PL_NONE; step++)
        current = operations->step_operation[step];
    for (size_t step = 0; step < chain->num_steps; step++) {
        if (operations->step_operation[step] != PL_NONE)
            current = operations->step_operation[step];
        chain->operation_of_step[step] = current;
    }
    return true;
}

/* Places of operations in no layer while the full chain is being made. */
static const uint32_t PLACE_HEAD = 0;
static const uint32_t PLACE_TAIL = UINT32_MAX - 1;
static const uint32_t PLACE_UNKNOWN = UINT32_MAX;

/* Whether the layer of an operation is but a guess from what follows it. */
static bool is_guess(const popliner_layers *layers, size_t operation) {
    return popliner_layers_rule(layers, operation) == POPLINER_LAYER_RULE_FOLLOWING;
}

uint32_t pl_layer_key(const popliner_layers *layers, size_t operation) {
    return (uint32_t)popliner_layers_unit_of(layers, operation) << 1 |
           (is_guess(layers, operation) ? 1 : 0);
}

/* The layer of an operation, 0 for one that is in none, or not surely. */
static uint32_t sure_layer(const popliner_layers *layers, size_t operation) {
    return is_guess(layers, operation) ? 0 : (uint32_t)popliner_layers_unit_of(layers, operation);
}

/* A place that a variable belongs to because of an operation in no layer. */
typedef struct claim {
    uint32_t place;
    uint32_t next; /* of the same variable: number + 1, 0 for none */
} claim;

/* Everything that placing operations needs, together. */
typedef struct placing {
    const popliner_profile *profile;
    pl_unit_usage usage;   /* of the layers */
    uint32_t *touched;     /* [num_variables]: the last operation + 1 that did */
    uint32_t *first_claim; /* [num_variables]: number + 1 */
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
    for (uint32_t set = w->usage.variable_set[variable]; set != 0; set = w->usage.sets.rest[set]) {
        uint32_t unit = w->usage.sets.last_unit[set];
        if (unit > 0) {
            w->shares[unit] += share;
            count++;
        }
    }
    for (uint32_t c = w->first_claim[variable]; c != 0; c = w->claims[c - 1].next) {
        w->shares[w->claims[c - 1].place] += share;
        count++;
    }
    return count;
}

/* The place to which most bytes of the variables belong that the operation in place `index` touches,
 * a variable of several places counting for each by its part; PLACE_UNKNOWN if none has any. */
static uint32_t most_touched(placing *w, popliner_operation operation, uint32_t index) {
    const popliner_profile *p = w->profile;
    memset(w->shares, 0, w->num_places * sizeof *w->shares);
    for (size_t k = 0; k < operation.num_programs; k++) {
        pl_touches touches = pl_touches_of(p, operation.programs[k]);
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
    for (uint32_t set = w->usage.variable_set[variable]; set != 0; set = w->usage.sets.rest[set]) {
        if (place > 0 && w->usage.sets.last_unit[set] == place)
            return true;
    }
    for (uint32_t c = w->first_claim[variable]; c != 0; c = w->claims[c - 1].next) {
        if (w->claims[c - 1].place == place)
            return true;
    }
    return false;
}

/* What an operation in no layer touches belongs where the operation is, but for host copies. */
static bool claim_variables(placing *w, popliner_operation operation, uint32_t place) {
    const popliner_profile *p = w->profile;
    for (size_t k = 0; k < operation.num_programs; k++) {
        uint32_t program = operation.programs[k];
        if (p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID)
            continue;
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            void *claims = w->claims;
            if (is_claimed(w, variable, place))
                continue;
            if (w->num_claims >= PL_NONE - 1 ||
                !pl_reserve(&claims, &w->capacity, w->num_claims + 1, sizeof *w->claims))
                return false;
            w->claims = claims;
            w->claims[w->num_claims] = (claim){place, w->first_claim[variable]};
            w->first_claim[variable] = (uint32_t)++w->num_claims;
        }
    }
    return true;
}

/* The place of an operation in no layer; `before` is that of the operation before it. */
static uint32_t place_operation(placing *w, popliner_operation operation, uint32_t index,
                                uint32_t before) {
    uint32_t tail = (uint32_t)w->num_places - 1;
    if (w->first_layer_step == SIZE_MAX || operation.last_step < w->first_layer_step)
        return 0;
    uint32_t most = most_touched(w, operation, index);
    if (operation.first_step > w->last_layer_step && (most == PLACE_UNKNOWN || most + 1 == tail))
        return tail;
    return most == PLACE_UNKNOWN ? before : most;
}

/* Gives every operation its layer, PLACE_HEAD or PLACE_TAIL, by the rule of the full model. */
static popliner_status place_operations(popliner_chain *chain, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        popliner_error *error) {
    placing w = {.profile = profile, .first_layer_step = SIZE_MAX};
    w.num_places = popliner_layers_num_units(chain->layers) + 1;
    w.touched = pl_new_array(profile->num_variables, sizeof *w.touched);
    w.first_claim = pl_new_array(profile->num_variables, sizeof *w.first_claim);
    w.shares = pl_new_array(w.num_places, sizeof *w.shares);
    /* first the layers that are sure; from them the places of all */
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = sure_layer(chain->layers, i);
    popliner_status status =
        w.touched == NULL || w.first_claim == NULL || w.shares == NULL
            ? pl_fail_memory(error, "the chain of layers")
            : pl_unit_usage_find(&w.usage, profile, operations, chain->unit_of_operation,
                                 popliner_layers_num_units(chain->layers), NULL, error);
    for (size_t i = 0; status == POPLINER_OK && i < chain->num_operations; i++) {
        uint32_t layer = chain->unit_of_operation[i];
        popliner_operation operation = popliner_operations_get(operations, i);
        if (layer > 0 && operation.first_step < w.first_layer_step)
            w.first_layer_step = operation.first_step;
        if (layer > 0 && operation.last_step > w.last_layer_step)
            w.last_layer_step = operation.last_step;
    }
    uint32_t before = 0;
    for (size_t i = 0; status == POPLINER_OK && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            popliner_operation operation = popliner_operations_get(operations, i);
            place = place_operation(&w, operation, (uint32_t)i, before);
            if (!claim_variables(&w, operation, place))
                status = pl_fail_memory(error, "the chain of layers");
        }
        chain->unit_of_operation[i] = place + 1 == w.num_places ? PLACE_TAIL : place;
        before = place;
    }
    free_placing(&w);
    return status;
}

/* Lists the units that exist, and turns places into their numbers. */
static void number_units(popliner_chain *chain) {
    size_t num_layers = popliner_layers_num_units(chain->layers) - 1;
    bool is_full = chain->model == POPLINER_MEMORY_MODEL_FULL;
    bool has_head = !is_full || num_layers == 0;
    bool has_tail = false;
    for (size_t i = 0; i < chain->num_operations; i++) {
        has_head = has_head || chain->unit_of_operation[i] == PLACE_HEAD;
        has_tail = has_tail || chain->unit_of_operation[i] == PLACE_TAIL;
    }
    if (has_head)
        chain->kind[chain->num_units++] = is_full ? POPLINER_UNIT_HEAD : POPLINER_UNIT_UNLAYERED;
    for (size_t layer = 1; layer <= num_layers; layer++) {
        chain->layer[chain->num_units] = layer;
        chain->kind[chain->num_units++] = POPLINER_UNIT_LAYER;
    }
    if (has_tail)
        chain->kind[chain->num_units++] = POPLINER_UNIT_TAIL;
    for (size_t i = 0; i < chain->num_operations; i++) {
        uint32_t *unit = &chain->unit_of_operation[i];
        if (*unit == PLACE_TAIL)
            *unit = (uint32_t)chain->num_units - 1;
        else if (!has_head)
            (*unit)--; /* the first layer is unit 0 */
    }
}

/* Lists the operations of each unit. */
static bool group_operations(popliner_chain *chain) {
    chain->unit_operations_start =
        pl_new_array(chain->num_units + 1, sizeof *chain->unit_operations_start);
    chain->unit_operation = pl_new_array(chain->num_operations, sizeof *chain->unit_operation);
    size_t *next = pl_new_array(chain->num_units, sizeof *next);
    bool memory =
        chain->unit_operations_start != NULL && chain->unit_operation != NULL && next != NULL;
    if (memory) {
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_operations_start[chain->unit_of_operation[i] + 1]++;
        for (size_t unit = 0; unit < chain->num_units; unit++) {
            next[unit] = chain->unit_operations_start[unit];
            chain->unit_operations_start[unit + 1] += chain->unit_operations_start[unit];
        }
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_operation[next[chain->unit_of_operation[i]]++] = i;
    }
    free(next);
    return memory;
}

popliner_status popliner_chain_create(const popliner_profile *profile,
                                      const popliner_operations *operations,
                                      const popliner_layers *layers, popliner_memory_model model,
                                      popliner_chain **result, popliner_error *error) {
    size_t most_units = popliner_layers_num_units(layers) + 1;
    *result = NULL;
    popliner_status status = model == POPLINER_MEMORY_MODEL_FULL
                                 ? pl_profile_require_variables(profile, error)
                                 : POPLINER_OK;
    if (status != POPLINER_OK)
        return status;
    popliner_chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL)
        return pl_fail_memory(error, "the chain of layers");
    chain->layers = layers;
    chain->model = model;
    chain->num_operations = popliner_operations_count(operations);
    chain->kind = pl_new_array(most_units, sizeof *chain->kind);
    chain->layer = pl_new_array(most_units, sizeof *chain->layer);
    chain->unit_of_operation = pl_new_array(chain->num_operations, sizeof(uint32_t));
    if (chain->kind == NULL || chain->layer == NULL || chain->unit_of_operation == NULL ||
        !place_steps(chain, operations)) {
        status = pl_fail_memory(error, "the chain of layers");
    } else if (model == POPLINER_MEMORY_MODEL_FULL) {
        status = place_operations(chain, profile, operations, error);
    } else {
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_of_operation[i] = (uint32_t)popliner_layers_unit_of(layers, i);
    }
    if (status == POPLINER_OK) {
        number_units(chain);
        if (!group_operations(chain))
            status = pl_fail_memory(error, "the chain of layers");
    }
    if (status == POPLINER_OK)
        *result = chain;
    else
        popliner_chain_free(chain);
    return status;
}

size_t pl_chain_fields(popliner_chain *c, pl_field *fields) {
    fields[0] = (pl_field){"unit_kind", &c->kind, sizeof *c->kind, &c->num_units, 0};
    fields[1] = (pl_field){"unit_layer", &c->layer, sizeof *c->layer, &c->num_units, 0};
    fields[2] = (pl_field){"unit_of_operation", &c->unit_of_operation, sizeof *c->unit_of_operation,
                           &c->num_operations, 0};
    return 3;
}

popliner_status pl_chain_complete(popliner_chain *chain, const popliner_operations *operations,
                                  const popliner_layers *layers, bool *is_right,
                                  popliner_error *error) {
    bool right =
        chain->num_units > 0 && chain->num_operations == popliner_operations_count(operations);
    for (size_t i = 0; right && i < chain->num_units; i++)
        right = chain->layer[i] < popliner_layers_num_units(layers) &&
                (unsigned)chain->kind[i] <= POPLINER_UNIT_TAIL;
    for (size_t i = 0; right && i < chain->num_operations; i++)
        right = chain->unit_of_operation[i] < chain->num_units;
    *is_right = right;
    chain->layers = layers;
    if (right && (!place_steps(chain, operations) || !group_operations(chain)))
        return pl_fail_memory(error, "the chain of layers");
    return POPLINER_OK;
}
