/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/parameters.h"

#include <string.h>
#include <strings.h>

#include "base/numbers.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"

static bool is_accumulator_name(const char *name) {
    static const char word[] = "accum";
    for (; *name != '\0'; name++)
        if ((*name == 'a' || *name == 'A') && strncasecmp(name, word, sizeof word - 1) == 0)
            return true;
    return false;
}

bool pl_has_accumulators(const popliner_profile *p) {
    size_t named = 0; /* the first tensor that may be one */
    while (named < p->num_unlowered &&
           !is_accumulator_name(pl_profile_string(p, p->unlowered_name[named])))
        named++;
    for (size_t i = 0; named < p->num_unlowered && i < p->num_variables; i++) {
        uint32_t unlowered = p->variable_unlowered[i];
        if (unlowered != PL_NONE && unlowered >= named && pl_is_parameter(p, i) &&
            is_accumulator_name(pl_profile_string(p, p->unlowered_name[unlowered])))
            return true;
    }
    return false;
}

bool pl_wants_accumulators(const popliner_pipeline *pipeline, bool is_training) {
    return is_training && pipeline->accumulators != POPLINER_ACCUMULATORS_NONE &&
           pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN;
}

/* A variable that no operation of the backward pass touches is not trained. */
uint32_t pl_training_units(const pl_pass_usage *own, const popliner_profile *profile,
                           const pl_account *account, uint64_t variable) {
    const pl_pass_use *use = pl_pass_use_of(own, variable);
    return use->first_backward != PL_NO_UNIT && pl_is_parameter(profile, variable) &&
                   !pl_account_is_code(account, variable)
               ? use->beginning
               : 0;
}

/* AUTO adds one where the profile has none. */
uint64_t pl_accumulator_factor(const popliner_pipeline *pipeline, bool has_accumulators) {
    if (!pl_wants_accumulators(pipeline, true))
        return 0;
    return pipeline->accumulators == POPLINER_ACCUMULATORS_FP32   ? 2
           : pipeline->accumulators == POPLINER_ACCUMULATORS_FP16 ? 1
                                                                  : !has_accumulators;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

void pl_trained_parameters_find(pl_trained_parameters *t, pl_arrays *arrays,
                                const pl_pass_usage *usage, const uint64_t *set_bytes) {
    const size_t n = usage->num_units;
    pl_arrays own = {0};
    uint64_t *arriving_bytes = pl_arrays_new(&own, n + 1, sizeof *arriving_bytes);
    *t = (pl_trained_parameters){
        usage, set_bytes, pl_arrays_new(arrays, pl_triangle_size(n), sizeof *t->interval_bytes)};
    for (size_t first = 0; !own.failed && !arrays->failed && first < n; first++) {
        uint64_t sum = 0;
        memset(arriving_bytes, 0, n * sizeof *arriving_bytes);
        for (size_t set = 1; set < usage->sets.count; set++)
            if (set_bytes[set] > 0)
                arriving_bytes[pl_bits_next(pl_bits_at(&usage->sets, set), first, n)] +=
                    set_bytes[set];
        for (size_t last = first; last < n; last++)
            t->interval_bytes[pl_triangle_place(n, first, last)] = sum += arriving_bytes[last];
    }
    pl_arrays_end(&own, arrays);
}

uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages) {
    const pl_trained_parameters *t = user;
    uint64_t bytes = 0;
    if (num_stages == 1)
        return t->interval_bytes[pl_triangle_place(t->usage->num_units, stages->first_unit,
                                                   stages->last_unit)];
    for (size_t set = 1; set < t->usage->sets.count; set++) {
        bool is_there = false;
        for (size_t i = 0; t->set_bytes[set] > 0 && !is_there && i < num_stages; i++) {
            const size_t end = stages[i].last_unit + 1;
            is_there =
                pl_bits_next(pl_bits_at(&t->usage->sets, set), stages[i].first_unit, end) < end;
        }
        bytes += is_there ? t->set_bytes[set] : 0;
    }
    return bytes;
}

/* ---- Gradients ------------------------------------------------------------------------------- */

/* The state of the search. */
typedef struct search {
    const popliner_profile *profile;
    const pl_operation_usage *usage;
    const pl_passes *passes;
    uint32_t *last_step; /* [operations]: the last one that runs for it */
    uint8_t *updates;    /* [operations] */
    uint8_t *has_state;  /* [sets]: a variable of it is a parameter, or state of the optimizer */
    uint8_t *has_data;   /* [sets]: some variable of it is not always live */
} search;

static bool is_backward(const search *s, uint32_t operation) {
    return s->passes->first_step[operation] >= s->passes->turn_step;
}

static void begin(search *s, pl_arrays *own, const pl_chain *chain, const pl_pass_usage *usage) {
    const pl_operations *operations = chain->operations;
    *s = (search){.profile = chain->profile, .usage = chain->usage, .passes = &usage->passes};
    s->last_step = pl_arrays_new(own, chain->num_operations, sizeof *s->last_step);
    s->updates = pl_arrays_new(own, chain->num_operations, 1);
    s->has_state = pl_arrays_new(own, s->usage->sets.count, 1);
    s->has_data = pl_arrays_new(own, s->usage->sets.count, 1);
    for (size_t i = 0; !own->failed && i < chain->num_operations; i++)
        s->last_step[i] = (uint32_t)pl_operation_at(operations, i)->last_step;
    for (size_t step = 0; !own->failed && step < s->profile->num_steps; step++)
        if (operations->step_operation[step] != PL_NONE && s->passes->step_runs[step] != 0)
            s->last_step[operations->step_operation[step]] = (uint32_t)step;
}

/* Marks the operations that may update, and the sets that touch data. */
static void find_candidates(search *s, const pl_account *account) {
    const popliner_profile *p = s->profile;
    const pl_linked_sets *sets = &s->usage->sets;
    for (size_t i = 0; i < p->num_variables; i++) {
        uint32_t set = s->usage->variable_set[i];
        if (!p->class_always_live[p->variable_class[i]])
            s->has_data[set] = 1;
        else if (pl_is_parameter(p, i) && !pl_account_is_code(account, i))
            s->has_state[set] = 1;
    }
    for (uint32_t set = 1; set < sets->count; set++)
        for (uint32_t rest = s->has_state[set] != 0 ? pl_without_copies(s->usage, set) : 0;
             rest != 0; rest = sets->rest[rest])
            s->updates[sets->last[rest]] = is_backward(s, sets->last[rest]);
}

/* The operations of a set, without copies from and to the host: those that update, and others. */
typedef struct members {
    bool has_updates;
    bool has_others;
    bool others_are_backward;
    uint32_t last_step; /* of the others */
} members;

static members find_members(const search *s, uint32_t set) {
    const pl_linked_sets *sets = &s->usage->sets;
    members found = {false, false, true, 0};
    for (set = pl_without_copies(s->usage, set); set != 0; set = sets->rest[set]) {
        const uint32_t operation = sets->last[set];
        found.has_updates = found.has_updates || s->updates[operation] != 0;
        if (s->updates[operation] != 0)
            continue;
        found.has_others = true;
        found.others_are_backward = found.others_are_backward && is_backward(s, operation);
        found.last_step = (uint32_t)pl_more(found.last_step, s->last_step[operation]);
    }
    return found;
}

/* Unmarks the operations of a set that do not come after those that do not update. */
static bool unmark(search *s, uint32_t set) {
    const pl_linked_sets *sets = &s->usage->sets;
    const members found = find_members(s, set);
    bool has_changed = false;
    for (set = pl_without_copies(s->usage, set); found.has_others && set != 0;
         set = sets->rest[set]) {
        uint8_t *updates = &s->updates[sets->last[set]];
        if (*updates == 0 || s->last_step[sets->last[set]] >= found.last_step)
            continue;
        *updates = 0;
        has_changed = true;
    }
    return has_changed;
}

void pl_gradients_find(pl_gradients *gradients, pl_arrays *arrays, const pl_chain *chain,
                       const pl_pass_usage *usage, const pl_account *account) {
    const size_t num_sets = chain->usage->sets.count;
    search s;
    pl_arrays own = {0};
    begin(&s, &own, chain, usage);
    gradients->complete_step = pl_arrays_new(arrays, num_sets, sizeof *gradients->complete_step);
    const bool is_ready = !own.failed && !arrays->failed;
    if (is_ready)
        find_candidates(&s, account);
    for (bool has_changed = is_ready; has_changed;) {
        has_changed = false;
        for (uint32_t set = 1; set < num_sets; set++)
            has_changed = (s.has_data[set] != 0 && unmark(&s, set)) || has_changed;
    }
    for (uint32_t set = 0; is_ready && set < num_sets; set++) {
        const members found = find_members(&s, s.has_data[set] != 0 ? set : 0);
        const bool is_gradient = found.has_updates && found.has_others && found.others_are_backward;
        gradients->complete_step[set] = is_gradient ? found.last_step + 1 : PL_NONE;
    }
    pl_arrays_end(&own, arrays);
}
