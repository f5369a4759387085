/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/missing.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "model/operations_data.h"
#include "profile/touches.h"

const char *pl_missing_reason_text(popliner_missing_reason reason) {
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

popliner_missing_reason pl_program_reason(const popliner_operations *operations, size_t program) {
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

static size_t key_of(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    size_t row = unlowered == PL_NONE ? p->num_unlowered : unlowered;
    return row * p->num_categories + p->variable_category[variable];
}

popliner_status pl_missing_begin(pl_missing_bytes *missing, const popliner_profile *profile,
                                 popliner_error *error) {
    missing->count = (profile->num_unlowered + 1) * profile->num_categories;
    missing->bytes = pl_new_array(missing->count, sizeof *missing->bytes);
    return missing->bytes == NULL ? pl_fail_memory(error, "the diagnosis") : POPLINER_OK;
}

void pl_missing_add(pl_missing_bytes *missing, const popliner_profile *p, size_t variable) {
    missing->bytes[key_of(p, variable)] += p->variable_size_bytes[variable];
}

void pl_missing_add_code(pl_missing_bytes *missing, const pl_explained *explained, size_t tile) {
    const popliner_profile *p = explained->profile;
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = explained->code_of_category[category];
        if (code == PL_NUM_DIAGNOSED_CODE)
            continue;
        uint64_t truth_bytes = explained->truth_bytes[code][tile];
        uint64_t code_bytes = explained->code_bytes[code][tile];
        if (truth_bytes > code_bytes)
            missing->bytes[p->num_unlowered * p->num_categories + category] +=
                truth_bytes - code_bytes;
    }
}

/* Whether programs are missing that may have code of this kind. */
static bool misses_code(const pl_explained *explained, int code) {
    const popliner_profile *p = explained->profile;
    for (size_t program = 0; program < p->num_programs; program++) {
        bool has_code = p->program_compute_set[program] != PL_NONE;
        if (code == PL_DIAGNOSED_EXCHANGE)
            has_code = p->program_exchange_code[program].size_bytes > 0;
        else if (code == PL_DIAGNOSED_CONTROL)
            has_code = p->program_control_code[program].size_bytes > 0;
        if (!explained->program_seen[program] && has_code)
            return true;
    }
    return false;
}

/* Why something is missing that no program touches. */
static popliner_missing_reason reason_untouched(const pl_explained *explained,
                                                pl_category category) {
    for (int code = 0; code < PL_NUM_DIAGNOSED_CODE; code++) {
        if (category == pl_diagnosed_code[code] && misses_code(explained, code))
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
static void find_touching_programs(const pl_explained *explained, const uint32_t *place_of_key,
                                   uint32_t *last_program, popliner_missing_variables *list) {
    enum { SHOWN = sizeof list->items->programs / sizeof *list->items->programs };
    const popliner_profile *p = explained->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            uint32_t place =
                explained->variable_seen[variable] ? 0 : place_of_key[key_of(p, variable)];
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

popliner_status pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained,
                                popliner_missing_variables *list, popliner_error *error) {
    const popliner_profile *p = explained->profile;
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
    find_touching_programs(explained, place_of_key, last_program, list);
    free(place_of_key);
    free(last_program);
    for (size_t i = 0; i < list->count; i++) {
        popliner_missing_variable *item = &list->items[i];
        if (item->num_programs == 0)
            item->reason = reason_untouched(explained, pl_category_from_name(item->category));
        else if (explained->program_seen[item->programs[0]])
            item->reason = POPLINER_MISSING_NO_LAYER;
        else
            item->reason = pl_program_reason(explained->operations, item->programs[0]);
        item->reason_text = pl_missing_reason_text(item->reason);
    }
    qsort(list->items, list->count, sizeof *list->items, compare_missing);
    return POPLINER_OK;
}
