/* The full memory model: everything that the compiler counts. popliner/stage.h has its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <assert.h>
#include <string.h>

#include "base/growth.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* The place of variables that belong nowhere. */
static const uint32_t PLACE_UNKNOWN = UINT32_MAX;

/* The state of placing operations. */
typedef struct placing {
    const popliner_profile *profile;
    pl_arrays arrays;             /* own the arrays below */
    const uint32_t *variable_set; /* [variables]: sets of operations; not owned */
    uint64_t *places; /* [sets of operations][words]: places of their variables, as bits */
    size_t words;
    uint8_t *touched;  /* bits by variable: one operation touches it; all 0 in between */
    size_t num_places; /* head, layers, tail: tail is the last */
    uint64_t *shares;  /* [num_places]: shares of one operation's variables */
    size_t first_layer_step;
    size_t last_layer_step;
} placing;

static uint64_t *places_of(const placing *w, uint32_t variable) {
    return w->places + w->variable_set[variable] * w->words;
}

/* Adds a variable to the shares of its places, which get equal parts, in 256ths of a byte. */
static void add_shares(placing *w, uint32_t variable) {
    const uint64_t *places = places_of(w, variable);
    const size_t end = w->num_places;
    uint64_t count = 0;
    for (size_t place = pl_bits_next(places, 0, end); place < end;
         place = pl_bits_next(places, place + 1, end))
        count++;
    for (size_t place = pl_bits_next(places, 0, end); place < end;
         place = pl_bits_next(places, place + 1, end))
        w->shares[place] += ((uint64_t)w->profile->variable_size_bytes[variable] << 8) / count;
}

/* Returns the place that has most bytes of the variables that the operation touches, where a
 * variable of several places counts for each with its part; PLACE_UNKNOWN if none has any. */
static uint32_t most_touched(placing *w, const popliner_operation *operation) {
    uint32_t variable;
    memset(w->shares, 0, w->num_places * sizeof *w->shares);
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_touches touches = pl_touches_of(w->profile, operation->programs[k]);
        while (pl_touches_next(&touches, &variable)) {
            const uint8_t bit = (uint8_t)(1u << variable % 8);
            if ((w->touched[variable / 8] & bit) == 0)
                add_shares(w, variable);
            w->touched[variable / 8] |= bit;
        }
    }
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_touches touches = pl_touches_of(w->profile, operation->programs[k]);
        while (pl_touches_next(&touches, &variable))
            w->touched[variable / 8] = 0;
    }
    size_t best = 0;
    for (size_t place = 1; place < w->num_places; place++)
        best = w->shares[place] > w->shares[best] ? place : best;
    return w->shares[best] == 0 ? PLACE_UNKNOWN : (uint32_t)best;
}

/* Assigns the variables that an operation in no layer touches also to its place, except for host
 * copies. */
static void claim_variables(placing *w, const popliner_operation *operation, uint32_t place) {
    for (size_t k = 0; k < operation->num_programs; k++) {
        const uint32_t program = operation->programs[k];
        if (w->profile->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID)
            continue;
        pl_touches touches = pl_touches_of(w->profile, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable))
            pl_bits_add(places_of(w, variable), place);
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

/* Finds the layers of the variables by the operations whose layers are sure, which
 * chain->unit_of_operation has, and the steps of these. */
static void begin_placing(placing *w, const pl_chain *chain) {
    const pl_linked_sets *sets = &chain->usage->sets;
    w->num_places = pl_layers_num_units(chain->layers) + 1;
    w->words = w->num_places / 64 + 1;
    w->variable_set = chain->usage->variable_set;
    w->touched = pl_arrays_new(&w->arrays, w->profile->num_variables / 8 + 1, sizeof *w->touched);
    w->shares = pl_arrays_new(&w->arrays, w->num_places, sizeof *w->shares);
    w->places = pl_arrays_new(&w->arrays, sets->count * w->words, sizeof *w->places);
    for (uint32_t set = 1; !w->arrays.failed && set < sets->count; set++) {
        const uint32_t layer = chain->unit_of_operation[sets->last[set] % chain->num_operations];
        memcpy(w->places + set * w->words, w->places + sets->rest[set] * w->words,
               w->words * sizeof *w->places);
        if (layer > 0)
            pl_bits_add(w->places + set * w->words, layer);
    }
    for (size_t i = 0; i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        if (chain->unit_of_operation[i] == 0)
            continue;
        w->first_layer_step = pl_fewer(w->first_layer_step, operation->first_step);
        w->last_layer_step = pl_more(w->last_layer_step, operation->last_step);
    }
}

void pl_full_place_operations(pl_chain *chain) {
    placing w = {.profile = chain->profile, .first_layer_step = SIZE_MAX};
    /* first the layers that are sure, which determine the places of all operations */
    for (size_t i = 0; i < chain->num_operations; i++)
        if (pl_layer_is_guess(chain->layers, i))
            chain->unit_of_operation[i] = 0;
    begin_placing(&w, chain);
    uint32_t before = 0;
    for (size_t i = 0; !w.arrays.failed && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            const popliner_operation *operation = pl_operation_at(chain->operations, i);
            place = place_operation(&w, operation, before);
            claim_variables(&w, operation, place);
        }
        chain->unit_of_operation[i] = place;
        before = place;
    }
    pl_arrays_end(&w.arrays, &chain->arrays);
}
