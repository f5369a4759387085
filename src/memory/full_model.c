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

/* How an operation touches the variables of a set. */
enum { TOUCHES = 1, TOUCHES_ITSELF = 2 /* not only by copies from or to the host */ };

/* The state of placing operations. The arrays are by set of operations: chain->usage. */
typedef struct placing {
    const pl_chain *chain;
    pl_arrays arrays;    /* own the arrays below */
    uint64_t *set_bytes; /* of their variables */
    uint64_t *places;    /* [sets][words]: places of their variables, as bits */
    size_t words;
    uint8_t *touches;  /* by the current operation */
    size_t num_places; /* head, layers, tail: tail is the last */
    uint64_t *shares;  /* [num_places]: of the current operation's variables */
    size_t first_layer_step;
    size_t last_layer_step;
} placing;

/* Finds the sets of variables that an operation touches. */
static void find_touched(placing *w, size_t operation) {
    const pl_linked_sets *sets = &w->chain->usage->sets;
    for (uint32_t set = 1; set < sets->count; set++) {
        const size_t last = sets->last[set];
        w->touches[set] = w->touches[sets->rest[set]];
        if (last % w->chain->num_operations == operation)
            w->touches[set] |= last == operation ? TOUCHES | TOUCHES_ITSELF : TOUCHES;
    }
}

/* Adds the variables of a set to the shares of its places, which get equal parts, in 256ths of a
 * byte. */
static void add_shares(placing *w, uint32_t set) {
    const uint64_t *places = w->places + set * w->words;
    const size_t end = w->num_places;
    uint64_t count = 0;
    for (size_t place = pl_bits_next(places, 0, end); place < end;
         place = pl_bits_next(places, place + 1, end))
        count++;
    for (size_t place = pl_bits_next(places, 0, end); place < end;
         place = pl_bits_next(places, place + 1, end))
        w->shares[place] += (w->set_bytes[set] << 8) / count;
}

/* Returns the place that has most bytes of the variables that the operation touches, where a
 * variable of several places counts for each with its part; PLACE_UNKNOWN if none has any. */
static uint32_t most_touched(placing *w) {
    memset(w->shares, 0, w->num_places * sizeof *w->shares);
    for (uint32_t set = 1; set < w->chain->usage->sets.count; set++)
        if (w->touches[set] != 0)
            add_shares(w, set);
    size_t best = 0;
    for (size_t place = 1; place < w->num_places; place++)
        best = w->shares[place] > w->shares[best] ? place : best;
    return w->shares[best] == 0 ? PLACE_UNKNOWN : (uint32_t)best;
}

/* Assigns the variables that an operation in no layer touches also to its place, except for host
 * copies. */
static void claim_variables(placing *w, uint32_t place) {
    for (uint32_t set = 1; set < w->chain->usage->sets.count; set++)
        if ((w->touches[set] & TOUCHES_ITSELF) != 0)
            pl_bits_add(w->places + set * w->words, place);
}

/* Returns the place of an operation in no layer; `before` is that of the operation before it. */
static uint32_t place_operation(placing *w, const popliner_operation *operation, uint32_t before) {
    uint32_t tail = (uint32_t)w->num_places - 1;
    if (w->first_layer_step == SIZE_MAX || operation->last_step < w->first_layer_step)
        return 0;
    uint32_t most = most_touched(w);
    if (operation->first_step > w->last_layer_step && (most == PLACE_UNKNOWN || most + 1 == tail))
        return tail;
    return most == PLACE_UNKNOWN ? before : most;
}

/* Finds the layers of the variables by the operations whose layers are sure, which
 * chain->unit_of_operation has, and the steps of these. */
static void begin_placing(placing *w) {
    const pl_chain *chain = w->chain;
    const popliner_profile *p = chain->profile;
    const pl_linked_sets *sets = &chain->usage->sets;
    w->num_places = pl_layers_num_units(chain->layers) + 1;
    w->words = w->num_places / 64 + 1;
    w->touches = pl_arrays_new(&w->arrays, sets->count, sizeof *w->touches);
    w->set_bytes = pl_arrays_new(&w->arrays, sets->count, sizeof *w->set_bytes);
    w->shares = pl_arrays_new(&w->arrays, w->num_places, sizeof *w->shares);
    w->places = pl_arrays_new(&w->arrays, sets->count * w->words, sizeof *w->places);
    for (size_t i = 0; !w->arrays.failed && i < p->num_variables; i++)
        w->set_bytes[chain->usage->variable_set[i]] += p->variable_size_bytes[i];
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
    placing w = {.chain = chain, .first_layer_step = SIZE_MAX};
    /* first the layers that are sure, which determine the places of all operations */
    for (size_t i = 0; i < chain->num_operations; i++)
        if (pl_layer_is_guess(chain->layers, i))
            chain->unit_of_operation[i] = 0;
    begin_placing(&w);
    uint32_t before = 0;
    for (size_t i = 0; !w.arrays.failed && i < chain->num_operations; i++) {
        uint32_t place = chain->unit_of_operation[i];
        if (place == 0) {
            find_touched(&w, i);
            place = place_operation(&w, pl_operation_at(chain->operations, i), before);
            claim_variables(&w, place);
        }
        chain->unit_of_operation[i] = place;
        before = place;
    }
    pl_arrays_end(&w.arrays, &chain->arrays);
}
