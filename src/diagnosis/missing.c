/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/missing.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/named_code.h"
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
    case POPLINER_MISSING_PARENT:
        return "of a program with children, beside theirs";
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

void pl_missing_reasons_add(popliner_missing_reasons *reasons, popliner_missing_reason reason) {
    for (size_t i = 0; i < reasons->count; i++) {
        if (reasons->at[i] == reason)
            return;
    }
    reasons->at[reasons->count] = reason;
    reasons->text[reasons->count++] = pl_missing_reason_text(reason);
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
        if (explained->program_seen[program] == PL_SEEN_DATA)
            continue; /* nothing is missing that it touches */
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
            pl_missing_reasons_add(&item->reasons,
                                   explained->program_seen[program]
                                       ? POPLINER_MISSING_NO_LAYER
                                       : pl_program_reason(explained->operations, program));
        }
    }
}

/* The parts of an item of code, and what of it is nobody's. */
static popliner_status name_item(const pl_explained *explained, bool has_name, size_t tile,
                                 size_t category, popliner_missing_variable *item,
                                 popliner_error *error) {
    int code = explained->code_of_category[category];
    pl_named_code named = {0};
    popliner_status status = POPLINER_OK;
    if (code < PL_NUM_DIAGNOSED_CODE && !has_name) {
        status = pl_name_code(explained, code, tile, &named, error);
        item->parts = named.parts;
        item->num_parts = named.num_parts;
        /* the rest, and variables of the category that are not always live */
        item->compiler_bytes =
            item->num_programs == 0 ? item->size_bytes - named.named_bytes : named.rest_bytes;
    } else if (item->num_programs == 0 &&
               !pl_category_is_model_data((pl_category)explained->profile->category[category])) {
        item->compiler_bytes = item->size_bytes;
    }
    return status;
}

/* Completes the reasons, which are those of the programs that touch the item. */
static void complete_reasons(popliner_missing_variable *item) {
    for (size_t part = 0; part < item->num_parts; part++) {
        for (size_t i = 0; i < item->parts[part].reasons.count; i++)
            pl_missing_reasons_add(&item->reasons, item->parts[part].reasons.at[i]);
    }
    if (item->compiler_bytes > 0)
        pl_missing_reasons_add(&item->reasons, POPLINER_MISSING_COMPILER);
    if (item->reasons.count == 0)
        pl_missing_reasons_add(&item->reasons, POPLINER_MISSING_UNTOUCHED);
    item->reason = item->reasons.at[0];
    item->reason_text = item->reasons.text[0];
}

popliner_status pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained,
                                size_t tile, popliner_missing_variables *list,
                                popliner_error *error) {
    const popliner_profile *p = explained->profile;
    popliner_status status = POPLINER_OK;
    size_t count = 0;
    for (size_t key = 0; key < missing->count; key++)
        count += missing->bytes[key] > 0;
    list->items = pl_new_array(count, sizeof *list->items);
    uint32_t *place_of_key = pl_new_array(missing->count, sizeof *place_of_key);
    uint32_t *last_program = pl_new_array(count, sizeof *last_program);
    if (list->items == NULL || place_of_key == NULL || last_program == NULL) {
        status = pl_fail_memory(error, "the diagnosis");
        goto done;
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
    for (size_t key = 0; status == POPLINER_OK && key < missing->count; key++) {
        if (place_of_key[key] == 0)
            continue;
        popliner_missing_variable *item = &list->items[place_of_key[key] - 1];
        bool has_name = key / p->num_categories < p->num_unlowered;
        status = name_item(explained, has_name, tile, key % p->num_categories, item, error);
        complete_reasons(item);
    }
    if (status == POPLINER_OK)
        qsort(list->items, list->count, sizeof *list->items, compare_missing);
done:
    free(place_of_key);
    free(last_program);
    return status;
}

void pl_missing_list_clear(popliner_missing_variables *list) {
    for (size_t i = 0; i < list->count; i++)
        free((popliner_missing_part *)list->items[i].parts);
    free(list->items);
    *list = (popliner_missing_variables){0};
}
