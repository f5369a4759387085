/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/suggestion.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "model/operations_data.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"
#include "profile/touches.h"

const char *popliner_missing_reason_text(popliner_missing_reason reason) {
    switch (reason) {
    case POPLINER_MISSING_NO_DEBUG_ID:
        return "no debug id";
    case POPLINER_MISSING_UNKNOWN_CONTEXT:
        return "debug id not in the debug information";
    case POPLINER_MISSING_NO_OPERATION:
        return "context chain without operation layer";
    case POPLINER_MISSING_NO_LAYER:
        return "operation in no layer";
    case POPLINER_MISSING_UNTOUCHED:
        return "touched by no program";
    case POPLINER_MISSING_PROGRAMS:
        return "of missing programs, or the compiler's own";
    case POPLINER_MISSING_COMPILER:
        break;
    }
    return "the compiler's own";
}

popliner_missing_reason popliner_program_reason(const popliner_operations *operations,
                                                size_t program) {
    switch ((pl_standing)operations->program_standing[program]) {
    case PL_STANDING_NO_DEBUG_ID:
        return POPLINER_MISSING_NO_DEBUG_ID;
    case PL_STANDING_UNKNOWN_CONTEXT:
        return POPLINER_MISSING_UNKNOWN_CONTEXT;
    case PL_STANDING_NO_OPERATION:
        return POPLINER_MISSING_NO_OPERATION;
    case PL_STANDING_IN_OPERATION:
        break;
    }
    return POPLINER_MISSING_NO_LAYER;
}

/* The categories that programs tell of, rather than variables that they touch. */
enum {
    CODE_VERTEX,
    CODE_INSTANCES,
    CODE_FIELDS,
    CODE_DESCRIPTORS,
    CODE_EXCHANGE,
    CODE_CONTROL,
    NUM_CODE,
};

static const pl_category code_categories[NUM_CODE] = {
    [CODE_VERTEX] = PL_CATEGORY_VERTEX_CODE,
    [CODE_INSTANCES] = PL_CATEGORY_VERTEX_INSTANCE_STATE,
    [CODE_FIELDS] = PL_CATEGORY_VERTEX_FIELD_DATA,
    [CODE_DESCRIPTORS] = PL_CATEGORY_COPY_DESCRIPTOR,
    [CODE_EXCHANGE] = PL_CATEGORY_INTERNAL_EXCHANGE_CODE,
    [CODE_CONTROL] = PL_CATEGORY_CONTROL_CODE,
};

/* Everything the parts of a diagnosis need, together. */
typedef struct work {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_layers *layers;
    const popliner_chain *chain;
    popliner_stage_meter *meter;
    const popliner_diagnosis_options *options;
    popliner_diagnosis *result;

    size_t *counted; /* the operations that count, ascending */
    size_t num_counted;
    uint8_t *program_seen;               /* [num_programs]: in an operation that counts */
    uint8_t *variable_seen;              /* [num_variables]: touched by such a program */
    uint8_t *variable_touched;           /* [num_variables]: touched by any program */
    int code_of_category[UINT8_MAX + 1]; /* NUM_CODE for data */
    uint64_t *explained_code[NUM_CODE];  /* [num_tiles] */
    uint64_t *truth_code[NUM_CODE];      /* [num_tiles]: of always-live variables */
    popliner_stage_memory stage;         /* of the operations that count */
} work;

static void free_work(work *w) {
    free(w->counted);
    free(w->program_seen);
    free(w->variable_seen);
    for (int code = 0; code < NUM_CODE; code++) {
        free(w->explained_code[code]);
        free(w->truth_code[code]);
    }
    popliner_stage_memory_clear(&w->stage);
}

static bool allocate(work *w) {
    const popliner_profile *p = w->profile;
    size_t num_tiles = p->target.num_tiles;
    bool memory = true;
    w->counted = pl_new_array(popliner_operations_count(w->operations), sizeof *w->counted);
    w->program_seen = pl_new_array(p->num_programs, 1);
    w->variable_seen = pl_new_array(p->num_variables, 1);
    for (int code = 0; code < NUM_CODE; code++) {
        w->explained_code[code] = pl_new_array(num_tiles, sizeof(uint64_t));
        w->truth_code[code] = pl_new_array(num_tiles, sizeof(uint64_t));
        memory = memory && w->explained_code[code] != NULL && w->truth_code[code] != NULL;
    }
    return memory && w->counted != NULL && w->program_seen != NULL && w->variable_seen != NULL;
}

static void mark_variables(const popliner_profile *p, uint32_t program, uint8_t *marks) {
    pl_touches touches = pl_touches_of(p, program);
    uint32_t variable;
    while (pl_touches_next(&touches, &variable))
        marks[variable] = 1;
}

/* Which part of the compiler's account belongs to which code. */
static void sort_categories(work *w) {
    const popliner_profile *p = w->profile;
    /* in a profile that does not tell descriptors by compute set they are data like any other */
    bool has_descriptors =
        w->chain->model == POPLINER_MEMORY_MODEL_FULL && p->num_compute_set_states > 0;
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = 0;
        while (code < NUM_CODE && (p->category[category] != code_categories[code] ||
                                   (code == CODE_DESCRIPTORS && !has_descriptors)))
            code++;
        w->code_of_category[category] = code;
    }
}

/* Whether the variable is always live and of a category of code, so that it is explained by programs
 * rather than by being touched. */
static bool is_code(const work *w, size_t variable) {
    const popliner_profile *p = w->profile;
    return w->code_of_category[p->variable_category[variable]] < NUM_CODE &&
           p->class_always_live[p->variable_class[variable]];
}

/* State that is told by compute set covers instances, fields and descriptors: what the first and the
 * last do not explain of it is of the fields. */
static void part_state(work *w, const uint64_t *state) {
    for (size_t tile = 0; tile < w->profile->target.num_tiles; tile++) {
        uint64_t own = state[tile] - w->explained_code[CODE_DESCRIPTORS][tile];
        uint64_t *instances = &w->explained_code[CODE_INSTANCES][tile];
        if (*instances > own)
            *instances = own;
        w->explained_code[CODE_FIELDS][tile] = own - *instances;
    }
}

/* Which operations, programs and variables count, and what their code comes to. */
static popliner_status explain(work *w, popliner_error *error) {
    const popliner_profile *p = w->profile;
    bool is_full = w->chain->model == POPLINER_MEMORY_MODEL_FULL;
    pl_code_counter counter = {0};
    uint64_t *state = pl_new_array(p->target.num_tiles, sizeof *state);
    popliner_status status = state == NULL
                                 ? pl_fail_memory(error, "the diagnosis")
                                 : pl_code_counter_begin(&counter, p, w->chain->model, error);
    if (status != POPLINER_OK)
        goto done;
    uint64_t *const groups[PL_NUM_CODE_GROUPS] = {
        [PL_VERTEX_CODE] = w->explained_code[CODE_VERTEX],
        [PL_VERTEX_STATE] = state,
        [PL_EXCHANGE_CODE] = w->explained_code[CODE_EXCHANGE],
        [PL_CONTROL_CODE] = w->explained_code[CODE_CONTROL],
    };
    pl_code_counter_reset(&counter);
    for (size_t i = 0; i < popliner_operations_count(w->operations); i++) {
        bool in_layer = popliner_layers_unit_of(w->layers, i) > 0;
        if (w->options->layer_operations_only && !in_layer)
            continue;
        w->counted[w->num_counted++] = i;
        popliner_operation operation = popliner_operations_get(w->operations, i);
        for (size_t k = 0; k < operation.num_programs; k++) {
            uint32_t program = operation.programs[k];
            pl_code_counter_add(&counter, program, groups);
            w->program_seen[program] = 1;
            /* PopLiner's model does not count the variables of what is in no layer */
            if (in_layer || is_full)
                mark_variables(p, program, w->variable_seen);
        }
    }
    pl_code_counter_finish(&counter, groups);
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        bool counts = w->program_seen[program] && set != PL_NONE;
        if (counts && (!is_full || counter.compute_set_seen[set] == counter.number)) {
            pl_add_vertex_state(p, POPLINER_MEMORY_MODEL_POPLINER, set,
                                w->explained_code[CODE_INSTANCES]);
            if (is_full && p->num_compute_set_states > 0)
                pl_series_add(p, p->compute_set_descriptors[set], 1,
                              w->explained_code[CODE_DESCRIPTORS]);
            counter.compute_set_seen[set] = 0; /* once in the full model */
        }
    }
    if (is_full && p->num_compute_set_states > 0)
        part_state(w, state);
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        if (is_code(w, i))
            w->truth_code[w->code_of_category[p->variable_category[i]]][tile] +=
                p->variable_size_bytes[i];
    }
    status = popliner_stage_measure(w->meter, w->counted, w->num_counted, &w->stage, error);
done:
    free(state);
    pl_code_counter_free(&counter);
    return status;
}

/* ---- programs ---- */

static popliner_status compare_programs(work *w, popliner_error *error) {
    const popliner_profile *p = w->profile;
    popliner_diagnosis *d = w->result;
    size_t capacity = 0;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        const char *type = pl_profile_string(p, p->program_type_name[program]);
        size_t place = 0;
        while (place < d->num_program_types && strcmp(d->programs[place].type, type) != 0)
            place++;
        if (place == d->num_program_types) {
            void *programs = d->programs;
            if (!pl_reserve(&programs, &capacity, place + 1, sizeof *d->programs))
                return pl_fail_memory(error, "the diagnosis");
            d->programs = programs;
            d->programs[d->num_program_types++] = (popliner_diagnosis_programs){.type = type};
        }
        popliner_diagnosis_programs *group = &d->programs[place];
        group->num_all++;
        if (w->program_seen[program]) {
            group->num_seen++;
            continue;
        }
        size_t num_missing = group->num_all - group->num_seen;
        uint32_t *missing = realloc(group->missing, num_missing * sizeof *missing);
        if (missing == NULL)
            return pl_fail_memory(error, "the diagnosis");
        group->missing = missing;
        missing[num_missing - 1] = program;
    }
    return POPLINER_OK;
}

/* ---- categories ---- */

/* Bytes by category and tile: item category * num_tiles + tile. */
static void sum_categories(const work *w, uint64_t *explained, uint64_t *truth) {
    const popliner_profile *p = w->profile;
    size_t num_tiles = p->target.num_tiles;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        size_t item = p->variable_category[i] * num_tiles + tile;
        truth[item] += p->variable_size_bytes[i];
        if (w->variable_seen[i] && !is_code(w, i))
            explained[item] += p->variable_size_bytes[i];
    }
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = w->code_of_category[category];
        for (size_t tile = 0; code < NUM_CODE && tile < num_tiles; tile++)
            explained[category * num_tiles + tile] += w->explained_code[code][tile];
    }
}

static popliner_status compare_categories(work *w, popliner_error *error) {
    const popliner_profile *p = w->profile;
    popliner_diagnosis *d = w->result;
    size_t num_tiles = p->target.num_tiles;
    uint64_t *explained = pl_new_array(p->num_categories * num_tiles, sizeof *explained);
    uint64_t *truth = pl_new_array(p->num_categories * num_tiles, sizeof *truth);
    popliner_status status = POPLINER_OK;
    d->categories = pl_new_array(p->num_categories, sizeof *d->categories);
    if (explained == NULL || truth == NULL || d->categories == NULL) {
        status = pl_fail_memory(error, "the diagnosis");
        goto done;
    }
    sum_categories(w, explained, truth);
    for (size_t category = 0; category < p->num_categories; category++) {
        popliner_diagnosis_category row = {.name =
                                               pl_profile_string(p, p->category_name[category])};
        for (size_t tile = 0; tile < num_tiles; tile++) {
            uint64_t explained_bytes = explained[category * num_tiles + tile];
            uint64_t truth_bytes = truth[category * num_tiles + tile];
            row.truth_bytes += truth_bytes;
            row.explained_bytes += explained_bytes;
            row.tiles_exceeded += explained_bytes > truth_bytes;
        }
        if (row.truth_bytes > 0 || row.explained_bytes > 0)
            d->categories[d->num_categories++] = row;
    }
done:
    free(explained);
    free(truth);
    return status;
}

/* ---- missing variables ---- */

/* Bytes missing by name and category: item unlowered * categories + category, the last "unlowered"
 * standing for none. */
typedef struct missing_bytes {
    uint64_t *bytes;
    size_t num_categories;
    size_t count;
} missing_bytes;

static size_t key_of(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    size_t row = unlowered == PL_NONE ? p->num_unlowered : unlowered;
    return row * p->num_categories + p->variable_category[variable];
}

/* What is missing of code on a tile goes to its category, under no name. */
static void add_missing_code(const work *w, size_t tile, missing_bytes *missing) {
    const popliner_profile *p = w->profile;
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = w->code_of_category[category];
        if (code == NUM_CODE)
            continue;
        uint64_t truth = w->truth_code[code][tile];
        uint64_t explained = w->explained_code[code][tile];
        if (truth > explained)
            missing->bytes[p->num_unlowered * p->num_categories + category] += truth - explained;
    }
}

/* Whether programs are missing that may have code of this kind. */
static bool misses_code(const work *w, int code) {
    const popliner_profile *p = w->profile;
    for (size_t program = 0; program < p->num_programs; program++) {
        bool has_code = p->program_compute_set[program] != PL_NONE;
        if (code == CODE_EXCHANGE)
            has_code = p->program_exchange_code[program].size_bytes > 0;
        else if (code == CODE_CONTROL)
            has_code = p->program_control_code[program].size_bytes > 0;
        if (!w->program_seen[program] && has_code)
            return true;
    }
    return false;
}

/* Why something is missing that no program touches. */
static popliner_missing_reason reason_untouched(const work *w, pl_category category) {
    for (int code = 0; code < NUM_CODE; code++) {
        if (category == code_categories[code] && misses_code(w, code))
            return POPLINER_MISSING_PROGRAMS;
    }
    return pl_category_is_model_data(category) ? POPLINER_MISSING_UNTOUCHED
                                               : POPLINER_MISSING_COMPILER;
}

static int compare_missing(const void *left, const void *right) {
    const popliner_missing_variable *a = left;
    const popliner_missing_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    int order = strcmp(a->category, b->category);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Finds the programs that touch missing variables: place_of_key is the item + 1 of each key, and
 * last_program[items] room for the program + 1 that was counted last for each. */
static void find_touching_programs(const work *w, const uint32_t *place_of_key,
                                   uint32_t *last_program, popliner_missing_variables *list) {
    enum { SHOWN = sizeof list->items->programs / sizeof *list->items->programs };
    const popliner_profile *p = w->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            uint32_t place = w->variable_seen[variable] ? 0 : place_of_key[key_of(p, variable)];
            if (place == 0 || last_program[place - 1] == program + 1)
                continue; /* nothing is missing of it, or counted for another of its variables */
            popliner_missing_variable *item = &list->items[place - 1];
            last_program[place - 1] = program + 1;
            if (item->num_programs < SHOWN)
                item->programs[item->num_programs] = program;
            item->num_programs++;
        }
    }
}

/* Turns bytes by key into a list with names and reasons, largest first. */
static popliner_status list_missing(const work *w, const missing_bytes *missing,
                                    popliner_missing_variables *list, popliner_error *error) {
    const popliner_profile *p = w->profile;
    size_t count = 0;
    for (size_t key = 0; key < missing->count; key++)
        count += missing->bytes[key] > 0;
    list->items = pl_new_array(count, sizeof *list->items);
    uint32_t *place_of_key = pl_new_array(missing->count, sizeof *place_of_key);
    uint32_t *last_program = pl_new_array(count, sizeof *last_program);
    if (list->items == NULL || place_of_key == NULL || last_program == NULL) {
        free(place_of_key);
        free(last_program);
        return pl_fail_memory(error, "the diagnosis");
    }
    for (size_t key = 0; key < missing->count; key++) {
        if (missing->bytes[key] == 0)
            continue;
        size_t unlowered = key / p->num_categories;
        bool has_name = unlowered < p->num_unlowered;
        place_of_key[key] = (uint32_t)list->count + 1;
        list->items[list->count++] = (popliner_missing_variable){
            .name = has_name ? pl_profile_string(p, p->unlowered_name[unlowered]) : "",
            .category = pl_profile_string(p, p->category_name[key % p->num_categories]),
            .size_bytes = missing->bytes[key],
            .debug_context = has_name ? p->unlowered_debug_context[unlowered] : 0,
        };
    }
    find_touching_programs(w, place_of_key, last_program, list);
    free(place_of_key);
    free(last_program);
    for (size_t i = 0; i < list->count; i++) {
        popliner_missing_variable *item = &list->items[i];
        if (item->num_programs == 0)
            item->reason = reason_untouched(w, pl_category_from_name(item->category));
        else if (w->program_seen[item->programs[0]])
            item->reason = POPLINER_MISSING_NO_LAYER;
        else
            item->reason = popliner_program_reason(w->operations, item->programs[0]);
    }
    qsort(list->items, list->count, sizeof *list->items, compare_missing);
    return POPLINER_OK;
}

/* ---- the bottleneck ---- */

/* Bytes that the model explains on a tile at a step, and what it misses, variable by variable. */
static uint64_t add_up(const work *w, size_t tile, size_t step, missing_bytes *missing,
                       uint64_t *missing_sum) {
    const popliner_profile *p = w->profile;
    uint64_t explained = 0;
    *missing_sum = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (is_code(w, i) || !popliner_liveness_is_live(p, i, step))
            continue;
        if (w->variable_seen[i]) {
            explained += p->variable_size_bytes[i];
        } else {
            *missing_sum += p->variable_size_bytes[i];
            if (missing != NULL)
                missing->bytes[key_of(p, i)] += p->variable_size_bytes[i];
        }
    }
    for (int code = 0; code < NUM_CODE; code++) {
        uint64_t truth = w->truth_code[code][tile];
        uint64_t code_bytes = w->explained_code[code][tile];
        explained += code_bytes < truth ? code_bytes : truth;
        *missing_sum += truth > code_bytes ? truth - code_bytes : 0;
    }
    if (missing != NULL)
        add_missing_code(w, tile, missing);
    return explained;
}

/* The peaks of the compiler's account over the steps of the units in question. */
static popliner_status find_bottleneck(work *w, popliner_peak *peaks, popliner_error *error) {
    const popliner_profile *p = w->profile;
    popliner_diagnosis *d = w->result;
    size_t last_unit = w->options->last_unit;
    uint64_t *bytes = pl_new_array(p->num_steps, sizeof *bytes);
    bool all_steps = w->options->first_unit == 0 && last_unit >= w->chain->num_units - 1;
    popliner_status status = bytes == NULL ? pl_fail_memory(error, "the diagnosis") : POPLINER_OK;
    if (status == POPLINER_OK)
        status = popliner_liveness_peaks(p, NULL, 0, p->num_steps, peaks, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < p->target.num_tiles; tile++) {
        uint64_t always_live = peaks[tile].always_live_bytes;
        uint64_t most = peaks[tile].not_always_live_bytes;
        size_t most_step = peaks[tile].peak_step;
        /* a tile whose peak over all steps is no larger cannot win over fewer steps */
        if (!all_steps && always_live + most > d->truth_bytes) {
            status = popliner_liveness_of_tile(p, tile, NULL, 0, p->num_steps, bytes, error);
            most = 0;
            most_step = SIZE_MAX; /* until the first step of the units is met */
            for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++) {
                uint32_t operation = w->chain->operation_of_step[step];
                size_t unit = operation == PL_NONE ? 0 : w->chain->unit_of_operation[operation];
                if (unit >= w->options->first_unit && unit <= last_unit &&
                    (most_step == SIZE_MAX || bytes[step] > most)) {
                    most = bytes[step];
                    most_step = step;
                }
            }
        }
        if (always_live + most > d->truth_bytes && most_step < p->num_steps) {
            d->truth_bytes = always_live + most;
            d->tile = tile;
            d->step = most_step;
        }
    }
    free(bytes);
    return status;
}

static popliner_status compare_bottleneck(work *w, popliner_error *error) {
    const popliner_profile *p = w->profile;
    popliner_diagnosis *d = w->result;
    size_t num_tiles = p->target.num_tiles;
    bool is_full = w->chain->model == POPLINER_MEMORY_MODEL_FULL;
    missing_bytes missing = {.num_categories = p->num_categories,
                             .count = (p->num_unlowered + 1) * p->num_categories};
    popliner_peak *peaks = pl_new_array(num_tiles, sizeof *peaks);
    missing.bytes = pl_new_array(missing.count, sizeof *missing.bytes);
    popliner_status status = peaks == NULL || missing.bytes == NULL
                                 ? pl_fail_memory(error, "the diagnosis")
                                 : find_bottleneck(w, peaks, error);
    if (status != POPLINER_OK)
        goto done;

    uint64_t missing_sum;
    d->explained_bytes = add_up(w, d->tile, d->step, &missing, &missing_sum);
    if (!is_full)
        d->explained_bytes = w->stage.total_bytes[d->tile];
    if (p->num_steps > 0)
        d->program_name = pl_profile_program_name(p, p->step_program[d->step]);
    status = list_missing(w, &missing, &d->missing_here, error);
    if (status != POPLINER_OK)
        goto done;

    bool has_account = false;
    memset(missing.bytes, 0, missing.count * sizeof *missing.bytes);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t explained = add_up(w, tile, peaks[tile].peak_step, NULL, &missing_sum);
        uint64_t account =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
        has_account = has_account || account > 0;
        d->tiles_off += explained + missing_sum != account;
        if (is_full ? explained > d->model_bytes : w->stage.total_bytes[tile] > d->model_bytes) {
            d->model_bytes = is_full ? explained : w->stage.total_bytes[tile];
            d->model_tile = tile;
            d->model_step = is_full ? peaks[tile].peak_step : w->stage.peak_step[tile];
        }
        add_missing_code(w, tile, &missing);
    }
    if (!has_account)
        d->tiles_off = SIZE_MAX;
    for (size_t i = 0; i < p->num_variables; i++) {
        if (!w->variable_seen[i] && !is_code(w, i))
            missing.bytes[key_of(p, i)] += p->variable_size_bytes[i];
    }
    status = list_missing(w, &missing, &d->missing_everywhere, error);
done:
    free(peaks);
    free(missing.bytes);
    return status;
}

/* ---- coverage ---- */

static popliner_status count_coverage(work *w, popliner_error *error) {
    popliner_diagnosis *d = w->result;
    size_t capacity = 0;
    d->num_operations = popliner_operations_count(w->operations);
    for (size_t i = 0; i < d->num_operations; i++) {
        popliner_coverage found = {.rule = popliner_layers_rule(w->layers, i),
                                   .num_named = popliner_layers_num_named(w->layers, i),
                                   .note = popliner_layers_note(w->layers, i)};
        size_t place = 0;
        while (place < d->num_coverage && (d->coverage[place].rule != found.rule ||
                                           d->coverage[place].num_named != found.num_named))
            place++;
        if (place == d->num_coverage) {
            void *coverage = d->coverage;
            if (!pl_reserve(&coverage, &capacity, place + 1, sizeof *d->coverage))
                return pl_fail_memory(error, "the diagnosis");
            d->coverage = coverage;
            d->coverage[d->num_coverage++] = found;
        }
        d->coverage[place].num_operations++;
    }
    size_t num_found = 0;
    for (size_t i = 0; i < d->num_operations; i++)
        num_found += popliner_layers_unit_of(w->layers, i) > 0;
    if (!popliner_operations_are_of_framework(w->operations) || num_found * 2 >= d->num_operations)
        return POPLINER_OK; /* nothing to suggest */
    return pl_suggest_regex(w->operations, w->layers, d->suggested_regex, sizeof d->suggested_regex,
                            d->suggestion_example, sizeof d->suggestion_example,
                            &d->suggested_layers, error);
}

/* The range of steps that the original shows. */
static void find_steps(const work *w) {
    popliner_diagnosis *d = w->result;
    bool has_layer = false;
    d->first_step = 1; /* no step, unless an operation counts */
    d->last_step = 0;
    for (size_t i = 0; i < w->num_counted; i++) {
        popliner_operation operation = popliner_operations_get(w->operations, w->counted[i]);
        bool in_layer = popliner_layers_unit_of(w->layers, w->counted[i]) > 0;
        if (i == 0 || (in_layer && !has_layer))
            d->first_step = operation.first_step;
        has_layer = has_layer || in_layer;
        d->last_step = operation.last_step;
    }
}

popliner_status popliner_diagnose(const popliner_profile *profile,
                                  const popliner_operations *operations,
                                  const popliner_layers *layers, const popliner_chain *chain,
                                  popliner_stage_meter *meter,
                                  const popliner_diagnosis_options *options,
                                  popliner_diagnosis *diagnosis, popliner_error *error) {
    popliner_diagnosis_clear(diagnosis);
    if (options->first_unit >= chain->num_units || options->first_unit > options->last_unit)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the diagnosis of units %zu to %zu: the chain has units 0 to %zu",
                       options->first_unit, options->last_unit, chain->num_units - 1);
    diagnosis->model = chain->model;
    diagnosis->layer_operations_only = options->layer_operations_only;
    diagnosis->program_name = "";
    work w = {.profile = profile,
              .operations = operations,
              .layers = layers,
              .chain = chain,
              .meter = meter,
              .options = options,
              .result = diagnosis};
    sort_categories(&w);
    popliner_status status =
        allocate(&w) ? explain(&w, error) : pl_fail_memory(error, "the diagnosis");
    if (status == POPLINER_OK)
        status = compare_programs(&w, error);
    if (status == POPLINER_OK)
        status = compare_categories(&w, error);
    if (status == POPLINER_OK)
        status = compare_bottleneck(&w, error);
    if (status == POPLINER_OK)
        status = count_coverage(&w, error);
    if (status == POPLINER_OK)
        find_steps(&w);
    free_work(&w);
    if (status != POPLINER_OK)
        popliner_diagnosis_clear(diagnosis);
    return status;
}

void popliner_diagnosis_clear(popliner_diagnosis *diagnosis) {
    for (size_t i = 0; i < diagnosis->num_program_types; i++)
        free(diagnosis->programs[i].missing);
    free(diagnosis->programs);
    free(diagnosis->categories);
    free(diagnosis->missing_here.items);
    free(diagnosis->missing_everywhere.items);
    free(diagnosis->coverage);
    *diagnosis = (popliner_diagnosis){0};
}
