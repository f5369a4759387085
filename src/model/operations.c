/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/id_map.h"
#include "base/numbers.h"
#include "profile/profile_data.h"

/* An operation that is being found. */
typedef struct draft {
    uint64_t debug_context;
    uint32_t context;     /* index in the debug information, or PL_NONE */
    const char *raw_name; /* borrowed from the debug information or the profile */
} draft;

/* The operations that are found, and the programs that each owns. */
typedef struct finding {
    const popliner_profile *profile;
    const pl_debug_info *info; /* or NULL */
    pl_operations *operations;
    pl_arrays arrays; /* own the drafts; failed if anything lacks memory */
    pl_names keys;    /* "context name" of each draft */
    pl_text text;     /* of a key or a name */
    draft *drafts;
    uint64_t *owned; /* draft << 32 | program; once sorted, each once */
    size_t num_owned;
} finding;

/* Adds a program to the operation of this context and name, and adds the operation if it is new.
 * Returns the number of the operation; PL_NONE if memory is short. */
static uint32_t add_operation(finding *f, uint64_t debug_context, uint32_t context,
                              const char *name) {
    const size_t count = f->keys.count;
    f->text.length = 0;
    pl_text_add_number(&f->text, debug_context);
    pl_text_add(&f->text, " ");
    pl_text_add(&f->text, name);
    const size_t place = f->text.failed ? SIZE_MAX : pl_names_number(&f->keys, f->text.data);
    f->arrays.failed = f->arrays.failed || place == SIZE_MAX;
    if (place == count && pl_arrays_grow(&f->arrays, &f->drafts, count + 1, sizeof *f->drafts))
        f->drafts[place] = (draft){debug_context, context, name};
    return f->arrays.failed ? PL_NONE : (uint32_t)place;
}

static void add_program(finding *f, uint32_t place, uint32_t program) {
    if (place != PL_NONE &&
        pl_arrays_grow(&f->arrays, &f->owned, f->num_owned + 1, sizeof *f->owned))
        f->owned[f->num_owned++] = (uint64_t)place << 32 | program;
}

/* Returns the innermost Call step above each step, or PL_NONE. */
static uint32_t *find_calls(finding *f) {
    const popliner_profile *profile = f->profile;
    uint32_t *call_above = pl_arrays_new(&f->arrays, profile->num_steps, sizeof *call_above);
    for (size_t step = 0; call_above != NULL && step < profile->num_steps; step++) {
        uint32_t parent = profile->step_parent[step];
        if (parent == PL_NONE)
            call_above[step] = PL_NONE;
        else if (profile->program_type[profile->step_program[parent]] == POPLINER_PROGRAM_CALL)
            call_above[step] = parent;
        else
            call_above[step] = call_above[parent];
    }
    return call_above;
}

/* Returns the operation context of each program, or PL_NONE; sets its reason, and whether there is
 * a framework. */
static uint32_t *find_contexts(finding *f) {
    const popliner_profile *profile = f->profile;
    const pl_debug_info *info = f->info;
    uint8_t *reason = f->operations->program_reason;
    uint32_t *context = pl_arrays_new(&f->arrays, profile->num_programs, sizeof *context);
    for (size_t program = 0; !f->arrays.failed && program < profile->num_programs; program++) {
        uint64_t id = profile->program_debug_context[program];
        uint32_t own = info == NULL ? PL_NONE : pl_debug_find(info, id);
        context[program] = own == PL_NONE ? PL_NONE : pl_debug_operation_of(info, own);
        f->operations->of_framework |= context[program] != PL_NONE;
        reason[program] = id == 0                       ? PL_MISSING_NO_DEBUG_ID
                          : own == PL_NONE              ? PL_MISSING_UNKNOWN_CONTEXT
                          : context[program] == PL_NONE ? PL_MISSING_NO_OPERATION
                                                        : PL_MISSING_NO_LAYER;
    }
    return context;
}

/* Returns the context that an operation of an outlined body replaces at one call: itself, unless
 * the outliner made the call and recorded another one. */
static uint32_t replaced_context(const pl_debug_info *info, uint32_t call, uint32_t context) {
    const pl_debug_details *details = pl_debug_get_details(info, call);
    for (size_t i = 0; details != NULL && i < details->num_outlined; i++) {
        size_t place = details->first_outlined + i;
        if (info->outlined_ids[place] == info->contexts[context].id) {
            uint32_t replaced = pl_debug_find(info, info->replaced_ids[place]);
            return replaced == PL_NONE ? context : replaced;
        }
    }
    return context;
}

/* Returns the operation that a step runs for, or PL_NONE. */
static uint32_t find_owner(finding *f, uint32_t step, const uint32_t *context_of_program,
                           const uint32_t *call_above) {
    const pl_debug_info *info = f->info;
    const uint32_t *step_program = f->profile->step_program;
    const uint32_t context = context_of_program[step_program[step]];
    uint32_t named = context;
    if (context == PL_NONE)
        return PL_NONE;
    for (uint32_t call = call_above[step]; call != PL_NONE; call = call_above[call]) {
        const uint32_t call_context = context_of_program[step_program[call]];
        if (call_context != PL_NONE)
            named = replaced_context(info, call_context, named);
    }
    const char *name = pl_debug_operation_name(info, named);
    const pl_debug_details *details = pl_debug_get_details(info, context);
    if (*name == '\0' && details != NULL && details->is_call)
        name = "Call";
    return add_operation(f, info->contexts[context].id, context, name);
}

/* Adds every program to the operations that own it: that of its step, and those of the calls that
 * it runs in. */
static void find_framework_operations(finding *f, const uint32_t *context_of_program) {
    const uint32_t *call_above = find_calls(f);
    uint32_t *owner = f->operations->step_operation;
    for (uint32_t step = 0; !f->arrays.failed && step < f->profile->num_steps; step++) {
        const uint32_t program = f->profile->step_program[step];
        owner[step] = find_owner(f, step, context_of_program, call_above);
        add_program(f, owner[step], program);
        for (uint32_t call = call_above[step]; call != PL_NONE; call = call_above[call])
            if (owner[call] != owner[step])
                add_program(f, owner[call], program);
    }
}

/* Makes one operation for each distinct debug id, if there is no framework. */
static void find_own_operations(finding *f) {
    const popliner_profile *profile = f->profile;
    for (size_t step = 0; !f->arrays.failed && step < profile->num_steps; step++) {
        const uint32_t program = profile->step_program[step];
        const uint64_t debug_context = profile->program_debug_context[program];
        /* the name is not part of the identity: it is that of the first program that has one */
        const uint32_t owner =
            debug_context == 0 ? PL_NONE : add_operation(f, debug_context, PL_NONE, "");
        add_program(f, owner, program);
        if (owner != PL_NONE && *f->drafts[owner].raw_name == '\0')
            f->drafts[owner].raw_name = pl_profile_program_name(profile, program);
        f->operations->step_operation[step] = owner;
    }
    for (size_t program = 0; !f->arrays.failed && program < profile->num_programs; program++)
        if (profile->program_debug_context[program] != 0)
            f->operations->program_reason[program] = PL_MISSING_NO_LAYER;
}

static uint32_t add_string(finding *f, const char *text) {
    pl_operations *o = f->operations;
    const size_t length = strlen(text) + 1;
    const uint32_t string = (uint32_t)o->strings_length;
    o->arrays.failed =
        o->arrays.failed || length > 1 << 30 || o->strings_length + length >= PL_NONE;
    if (!pl_arrays_grow(&o->arrays, &o->strings, o->strings_length + length, 1))
        return 0;
    memcpy(o->strings + string, text, length);
    o->strings_length += length;
    return string;
}

/* Writes the name as PopLiner shows it. */
static void write_name(const pl_debug_info *info, const draft *item, pl_text *name) {
    const pl_debug_details *details =
        info == NULL ? NULL : pl_debug_get_details(info, item->context);
    const char *tensor = details == NULL ? "" : pl_debug_text(info, details->tensor_id);
    const char *instance = details == NULL ? "" : pl_debug_text(info, details->instance_id);
    bool is_call = strcmp(item->raw_name, "Call") == 0;
    name->length = 0;
    if (*item->raw_name != '\0' && !is_call) {
        pl_text_add(name, item->raw_name);
        return;
    }
    pl_text_add(name, is_call ? "Call" : *tensor != '\0' ? "Tensor" : "Anonymous");
    if (*instance != '\0')
        pl_text_format(name, "(%s)", instance);
    if (*tensor != '\0')
        pl_text_format(name, "/%s", tensor);
}

/* Sorts the programs of the operations, and keeps each once. */
static void sort_owned(finding *f) {
    size_t count = 0;
    if (f->num_owned > 0)
        qsort(f->owned, f->num_owned, sizeof *f->owned, pl_compare_numbers);
    for (size_t i = 0; i < f->num_owned; i++)
        if (count == 0 || f->owned[i] != f->owned[count - 1])
            f->owned[count++] = f->owned[i];
    f->num_owned = count;
}

static bool allocate(finding *f) {
    pl_field fields[PL_MAX_FIELDS];
    pl_operations *o = f->operations;
    o->count = f->keys.count;
    o->num_programs = f->num_owned;
    pl_fields_allocate(&o->arrays, fields, pl_operations_fields(o, fields));
    f->arrays.failed = f->arrays.failed || o->arrays.failed || f->num_owned >= PL_NONE;
    return !f->arrays.failed;
}

/* Converts the drafts into the list: names, sorted programs, ranges of steps. */
static void finish(finding *f) {
    const popliner_profile *profile = f->profile;
    pl_operations *o = f->operations;
    uint32_t *first_step = pl_arrays_new(&f->arrays, profile->num_programs, sizeof *first_step);
    uint32_t *last_step = pl_arrays_new(&f->arrays, profile->num_programs, sizeof *last_step);
    sort_owned(f);
    if (!allocate(f))
        return;
    for (uint32_t step = 0; step < profile->num_steps; step++) {
        last_step[profile->step_program[step]] = step;
        first_step[profile->step_program[profile->num_steps - 1 - step]] =
            (uint32_t)profile->num_steps - 1 - step;
    }
    for (size_t i = 0; i < o->count; i++) {
        const draft *item = &f->drafts[i];
        const pl_debug_details *details =
            f->info == NULL ? NULL : pl_debug_get_details(f->info, item->context);
        write_name(f->info, item, &f->text);
        o->arrays.failed = o->arrays.failed || f->text.failed;
        o->rows[i] = (pl_operation_row){
            .debug_context = item->debug_context,
            .is_tensor = details != NULL && details->tensor_id != 0 &&
                         (*item->raw_name == '\0' || strcmp(item->raw_name, "Call") == 0),
            .name = add_string(f, pl_text_string(&f->text)),
            .inputs = add_string(f, details == NULL ? "" : pl_debug_text(f->info, details->inputs)),
            .first_step = PL_NONE,
        };
    }
    for (size_t k = 0; k < f->num_owned; k++) {
        const uint32_t program = o->program[k] = (uint32_t)f->owned[k];
        pl_operation_row *row = &o->rows[f->owned[k] >> 32];
        row[1].programs_start = (uint32_t)k + 1;
        row->first_step = (uint32_t)pl_smaller(row->first_step, first_step[program]);
        row->last_step = (uint32_t)pl_larger(row->last_step, last_step[program]);
    }
}

void pl_operations_list_unlowered(pl_operations *o, const popliner_profile *p) {
    pl_arrays own = {0};
    uint32_t *touched_by = pl_arrays_new(&own, p->num_unlowered, sizeof(uint32_t)); /* last + 1 */
    for (size_t i = 0; !own.failed && p->num_variables > 0 && i < o->count; i++) {
        for (size_t k = o->rows[i].programs_start; k < o->rows[i + 1].programs_start; k++) {
            pl_touches touches = pl_touches_of(p, o->program[k]);
            uint32_t variable;
            while (pl_touches_next(&touches, &variable)) {
                const uint32_t unlowered = p->variable_unlowered[variable];
                if (unlowered == PL_NONE || touched_by[unlowered] == i + 1)
                    continue;
                touched_by[unlowered] = (uint32_t)i + 1;
                o->arrays.failed = o->arrays.failed || o->num_unlowered >= PL_NONE;
                if (pl_arrays_grow(&o->arrays, &o->unlowered, o->num_unlowered + 1,
                                   sizeof *o->unlowered))
                    o->unlowered[o->num_unlowered++] = unlowered;
            }
        }
        o->rows[i + 1].unlowered_start = (uint32_t)o->num_unlowered;
    }
    pl_arrays_end(&own, &o->arrays);
}

popliner_status pl_operations_find(const popliner_profile *profile, const pl_debug_info *info,
                                   pl_operations **result, popliner_error *error) {
    pl_operations *o = calloc(1, sizeof *o);
    finding f = {.profile = profile, .info = info, .operations = o};
    *result = NULL;
    if (o == NULL)
        return pl_fail_memory(error, "the operations");
    o->num_steps = profile->num_steps;
    o->step_operation = pl_arrays_new(&o->arrays, profile->num_steps, sizeof *o->step_operation);
    o->num_reasons = profile->num_programs;
    o->program_reason = pl_arrays_new(&o->arrays, profile->num_programs, 1);
    f.arrays.failed = o->arrays.failed;
    const uint32_t *context_of_program = find_contexts(&f);
    if (o->of_framework != 0)
        find_framework_operations(&f, context_of_program);
    else
        find_own_operations(&f);
    finish(&f);
    pl_names_free(&f.keys);
    free(f.text.data);
    pl_arrays_end(&f.arrays, &o->arrays);
    if (!o->arrays.failed && o->of_framework == 0)
        pl_operations_list_unlowered(o, profile);
    if (!o->arrays.failed)
        pl_operations_complete(o);
    if (!o->arrays.failed) {
        *result = o;
        return POPLINER_OK;
    }
    pl_operations_free(o);
    return pl_fail_memory(error, "the operations");
}

size_t pl_operations_fields(pl_operations *o, pl_field *fields) {
    const pl_field all[] = {
        {"operations", &o->rows, sizeof *o->rows, &o->count, 1},
        {"operation_strings", &o->strings, 1, &o->strings_length, 0},
        {"operation_program", &o->program, sizeof *o->program, &o->num_programs, 0},
        {"operation_unlowered", &o->unlowered, sizeof *o->unlowered, &o->num_unlowered, 0},
        {"program_reason", &o->program_reason, 1, &o->num_reasons, 0},
        {"step_operation", &o->step_operation, sizeof *o->step_operation, &o->num_steps, 0},
    };
    memcpy(fields, all, sizeof all);
    return sizeof all / sizeof *all;
}

bool pl_operations_check(const pl_operations *o, const popliner_profile *p) {
    enum { SIZE = sizeof(uint32_t) }; /* of most arrays */
    const pl_operation_row *last = &o->rows[o->count];
    bool fits =
        (o->count == 0 || (o->strings_length > 0 && o->strings[o->strings_length - 1] == '\0')) &&
        o->rows->programs_start == 0 && last->programs_start == o->num_programs &&
        o->rows->unlowered_start == 0 && last->unlowered_start == o->num_unlowered &&
        o->num_steps == p->num_steps && o->num_reasons == p->num_programs &&
        pl_items_are_below(o->program, SIZE, o->num_programs, p->num_programs, false) &&
        pl_items_are_below(o->unlowered, SIZE, o->num_unlowered, p->num_unlowered, false) &&
        pl_items_are_below(o->program_reason, 1, o->num_reasons, PL_NUM_MISSING_REASONS, false) &&
        pl_items_are_below(o->step_operation, SIZE, o->num_steps, o->count, true);
    for (const pl_operation_row *row = o->rows; fits && row < last; row++)
        fits = row->name < o->strings_length && row->inputs < o->strings_length &&
               row->first_step <= row->last_step && row->last_step < p->num_steps &&
               row->programs_start < row[1].programs_start &&
               row->unlowered_start <= row[1].unlowered_start;
    return fits;
}

void pl_operations_complete(pl_operations *o) {
    if (o->items == NULL)
        o->items = pl_arrays_new(&o->arrays, o->count, sizeof *o->items);
    for (size_t i = 0; o->items != NULL && i < o->count; i++) {
        const pl_operation_row *row = &o->rows[i];
        o->items[i] = (popliner_operation){
            .name = o->strings + row->name,
            .debug_context = row->debug_context,
            .inputs = o->strings + row->inputs,
            .is_tensor = row->is_tensor != 0,
            .programs = o->program + row->programs_start,
            .num_programs = row[1].programs_start - row->programs_start,
            .first_step = row->first_step,
            .last_step = row->last_step,
            .is_of_framework = o->of_framework != 0,
        };
    }
}

void pl_operations_free(pl_operations *operations) {
    if (operations != NULL)
        pl_arrays_free(&operations->arrays);
    free(operations);
}
