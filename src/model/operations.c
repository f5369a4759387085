/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "profile/profile_data.h"

/* An operation that is being found. */
typedef struct draft {
    uint64_t debug_context;
    uint32_t context;      /* index in the debug information, or PL_NONE */
    const char *raw_name;  /* borrowed from the debug information or the profile */
    uint32_t next_of_hash; /* the next draft with the same hash, or PL_NONE */
    uint32_t *programs;    /* in order of appearance; finish sorts them and removes repeats */
    size_t num_programs;
    size_t programs_capacity;
} draft;

/* The drafts, indexed by debug context and name. */
typedef struct drafts {
    draft *items;
    size_t count;
    size_t capacity;
    uint32_t *first_of_hash; /* [num_hashes] */
    size_t num_hashes;       /* a power of two */
} drafts;

static size_t hash_of(uint64_t debug_context, const char *name) {
    uint64_t hash = debug_context * 0x9e3779b97f4a7c15u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32);
}

static bool grow_hashes(drafts *all) {
    size_t num_hashes = all->num_hashes == 0 ? 1024 : all->num_hashes * 4;
    uint32_t *first = malloc(num_hashes * sizeof *first);
    if (first == NULL)
        return false;
    memset(first, 0xff, num_hashes * sizeof *first); /* all PL_NONE */
    for (size_t i = 0; i < all->count; i++) {
        draft *item = &all->items[i];
        size_t hash = hash_of(item->debug_context, item->raw_name) & (num_hashes - 1);
        item->next_of_hash = first[hash];
        first[hash] = (uint32_t)i;
    }
    free(all->first_of_hash);
    all->first_of_hash = first;
    all->num_hashes = num_hashes;
    return true;
}

/* Returns the index of the draft of this context and name, and adds it if it is new; PL_NONE if
 * memory is short. */
static uint32_t find_draft(drafts *all, uint64_t debug_context, uint32_t context,
                           const char *name) {
    if (all->count >= all->num_hashes && !grow_hashes(all))
        return PL_NONE;
    size_t hash = hash_of(debug_context, name) & (all->num_hashes - 1);
    for (uint32_t i = all->first_of_hash[hash]; i != PL_NONE; i = all->items[i].next_of_hash) {
        if (all->items[i].debug_context == debug_context &&
            strcmp(all->items[i].raw_name, name) == 0)
            return i;
    }
    if (all->count >= PL_NONE - 1 ||
        !pl_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return PL_NONE;
    all->items[all->count] = (draft){.debug_context = debug_context,
                                     .context = context,
                                     .raw_name = name,
                                     .next_of_hash = all->first_of_hash[hash]};
    all->first_of_hash[hash] = (uint32_t)all->count;
    return (uint32_t)all->count++;
}

static bool add_program(drafts *all, uint32_t place, uint32_t program) {
    draft *item = &all->items[place];
    if (item->num_programs > 0 && item->programs[item->num_programs - 1] == program)
        return true;
    if (!pl_grow(&item->programs, &item->programs_capacity, item->num_programs + 1,
                 sizeof *item->programs))
        return false;
    item->programs[item->num_programs++] = program;
    return true;
}

static void free_drafts(drafts *all) {
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].programs);
    free(all->items);
    free(all->first_of_hash);
}

/* Returns the innermost Call step above each step, or PL_NONE. */
static uint32_t *find_calls(const popliner_profile *profile) {
    uint32_t *call_above = pl_new_array(profile->num_steps, sizeof *call_above);
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

/* Returns the operation context of each program, or PL_NONE, and sets standing[]. */
static uint32_t *find_contexts(const popliner_profile *profile, const pl_debug_info *info,
                               uint8_t *standing, bool *any) {
    uint32_t *context = pl_new_array(profile->num_programs, sizeof *context);
    *any = false;
    for (size_t program = 0; context != NULL && program < profile->num_programs; program++) {
        uint64_t id = profile->program_debug_context[program];
        uint32_t own = info == NULL ? PL_NONE : pl_debug_find(info, id);
        context[program] = own == PL_NONE ? PL_NONE : pl_debug_operation_of(info, own);
        *any = *any || context[program] != PL_NONE;
        if (id == 0)
            standing[program] = PL_STANDING_NO_DEBUG_ID;
        else if (own == PL_NONE)
            standing[program] = PL_STANDING_UNKNOWN_CONTEXT;
        else if (context[program] == PL_NONE)
            standing[program] = PL_STANDING_NO_OPERATION;
    }
    return context;
}

/* Returns the context that an operation of an outlined body replaces at one call: itself, unless
 * the outliner made the call and recorded another one. */
static uint32_t replaced_context(const pl_debug_info *info, uint32_t call, uint32_t context) {
    const pl_debug_details *details = pl_debug_get_details(info, call);
    for (size_t i = 0; details != NULL && i < details->num_outlined; i++) {
        size_t place = details->first_outlined + i;
        if (info->outlined_ids[place] == info->context_id[context]) {
            uint32_t replaced = pl_debug_find(info, info->replaced_ids[place]);
            return replaced == PL_NONE ? context : replaced;
        }
    }
    return context;
}

/* Adds the program of a step to the operations of the calls that it runs in. */
static bool add_to_calls(drafts *all, uint32_t program, uint32_t step, const uint32_t *call_above,
                         const uint32_t *owner) {
    for (uint32_t call = call_above[step]; call != PL_NONE; call = call_above[call]) {
        if (owner[call] != PL_NONE && owner[call] != owner[step] &&
            !add_program(all, owner[call], program))
            return false;
    }
    return true;
}

/* Adds every program to the operations that own it; sets owner[num_steps] to the draft that each
 * step runs for. Like the functions below, returns false if memory is short. */
static bool find_framework_operations(const popliner_profile *profile, const pl_debug_info *info,
                                      const uint32_t *context_of_program, drafts *all,
                                      uint32_t *owner) {
    uint32_t *call_above = find_calls(profile);
    bool memory = call_above != NULL;
    for (size_t step = 0; memory && step < profile->num_steps; step++) {
        uint32_t program = profile->step_program[step];
        uint32_t context = context_of_program[program];
        owner[step] = PL_NONE;
        if (context != PL_NONE) {
            uint32_t named = context;
            for (uint32_t call = call_above[step]; call != PL_NONE; call = call_above[call]) {
                uint32_t call_context = context_of_program[profile->step_program[call]];
                if (call_context != PL_NONE)
                    named = replaced_context(info, call_context, named);
            }
            const char *name = pl_debug_operation_name(info, named);
            const pl_debug_details *details = pl_debug_get_details(info, context);
            if (*name == '\0' && details != NULL && details->is_call)
                name = "Call";
            owner[step] = find_draft(all, info->context_id[context], context, name);
            memory = owner[step] != PL_NONE && add_program(all, owner[step], program);
        }
        memory = memory && add_to_calls(all, program, (uint32_t)step, call_above, owner);
    }
    free(call_above);
    return memory;
}

/* Makes one operation for each distinct debug id, if there is no framework. */
static bool find_own_operations(const popliner_profile *profile, drafts *all, uint32_t *owner,
                                uint8_t *standing) {
    for (size_t step = 0; step < profile->num_steps; step++) {
        uint32_t program = profile->step_program[step];
        uint64_t debug_context = profile->program_debug_context[program];
        owner[step] = PL_NONE;
        if (debug_context == 0)
            continue;
        /* the name is not part of the identity, so it is set later */
        owner[step] = find_draft(all, debug_context, PL_NONE, "");
        if (owner[step] == PL_NONE || !add_program(all, owner[step], program))
            return false;
    }
    for (size_t program = 0; program < profile->num_programs; program++) {
        if (profile->program_debug_context[program] != 0)
            standing[program] = PL_STANDING_IN_OPERATION;
    }
    for (size_t i = 0; i < all->count; i++) {
        draft *item = &all->items[i];
        for (size_t k = 0; k < item->num_programs && *item->raw_name == '\0'; k++)
            item->raw_name = pl_profile_program_name(profile, item->programs[k]);
    }
    return true;
}

static int compare_programs(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint32_t add_string(pl_operations *operations, const char *text) {
    size_t length = strlen(text) + 1;
    if (length > 1 << 30 || operations->strings_length + length >= PL_NONE ||
        !pl_grow(&operations->strings, &operations->strings_capacity,
                 operations->strings_length + length, 1))
        return PL_NONE;
    memcpy(operations->strings + operations->strings_length, text, length);
    uint32_t string = (uint32_t)operations->strings_length;
    operations->strings_length += length;
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

/* Allocates the arrays for the drafts, and for at most all of their programs. */
static bool allocate(pl_operations *operations, const drafts *all) {
    pl_field fields[PL_MAX_FIELDS];
    operations->count = all->count;
    operations->num_named = operations->of_framework != 0 ? 0 : all->count;
    for (size_t i = 0; i < all->count; i++)
        operations->num_programs += all->items[i].num_programs;
    bool has_room = operations->num_programs < PL_NONE &&
                    pl_fields_allocate(fields, pl_operations_fields(operations, fields));
    operations->num_programs = 0;
    return has_room;
}

/* Converts the drafts into the list: names, sorted programs, ranges of steps. */
static bool finish(const popliner_profile *profile, const pl_debug_info *info, drafts *all,
                   pl_operations *operations) {
    bool memory = false;
    pl_text name = {0};
    uint32_t *first_step = malloc((profile->num_programs + 1) * sizeof *first_step);
    uint32_t *last_step = pl_new_array(profile->num_programs, sizeof *last_step);
    if (first_step == NULL || last_step == NULL || !allocate(operations, all))
        goto done;
    memset(first_step, 0xff, profile->num_programs * sizeof *first_step);
    for (size_t step = 0; step < profile->num_steps; step++) {
        uint32_t program = profile->step_program[step];
        if (first_step[program] == PL_NONE)
            first_step[program] = (uint32_t)step;
        last_step[program] = (uint32_t)step;
    }
    for (size_t i = 0; i < all->count; i++) {
        draft *item = &all->items[i];
        const pl_debug_details *details =
            info == NULL ? NULL : pl_debug_get_details(info, item->context);
        write_name(info, item, &name);
        operations->name[i] = name.failed ? PL_NONE : add_string(operations, name.data);
        operations->inputs[i] =
            add_string(operations, details == NULL ? "" : pl_debug_text(info, details->inputs));
        if (operations->name[i] == PL_NONE || operations->inputs[i] == PL_NONE)
            goto done;
        operations->debug_context[i] = item->debug_context;
        operations->is_tensor[i] = details != NULL && details->tensor_id != 0 &&
                                   (*item->raw_name == '\0' || strcmp(item->raw_name, "Call") == 0);
        qsort(item->programs, item->num_programs, sizeof *item->programs, compare_programs);
        uint32_t first = PL_NONE;
        uint32_t last = 0;
        uint32_t *programs = operations->program + operations->num_programs;
        size_t kept = 0;
        for (size_t k = 0; k < item->num_programs; k++) {
            uint32_t program = item->programs[k];
            if (kept > 0 && programs[kept - 1] == program)
                continue;
            programs[kept++] = program;
            first = first_step[program] < first ? first_step[program] : first;
            last = last_step[program] > last ? last_step[program] : last;
        }
        operations->first_step[i] = first;
        operations->last_step[i] = last;
        operations->num_programs += kept;
        operations->programs_start[i + 1] = (uint32_t)operations->num_programs;
    }
    memory = true;
done:
    free(name.data);
    free(first_step);
    free(last_step);
    return memory;
}

bool pl_operations_list_unlowered(pl_operations *o, const popliner_profile *p) {
    uint32_t *touched_by = pl_new_array(p->num_unlowered, sizeof *touched_by); /* last, plus one */
    size_t capacity = 0;
    bool memory = touched_by != NULL;
    for (size_t i = 0; memory && p->num_variables > 0 && i < o->num_named; i++) {
        for (size_t k = o->programs_start[i]; memory && k < o->programs_start[i + 1]; k++) {
            pl_touches touches = pl_touches_of(p, o->program[k]);
            uint32_t variable;
            while (memory && pl_touches_next(&touches, &variable)) {
                const uint32_t unlowered = p->variable_unlowered[variable];
                if (unlowered == PL_NONE || touched_by[unlowered] == i + 1)
                    continue;
                touched_by[unlowered] = (uint32_t)i + 1;
                memory =
                    o->num_unlowered < PL_NONE &&
                    pl_grow(&o->unlowered, &capacity, o->num_unlowered + 1, sizeof *o->unlowered);
                if (memory)
                    o->unlowered[o->num_unlowered++] = unlowered;
            }
        }
        o->unlowered_start[i + 1] = (uint32_t)o->num_unlowered;
    }
    free(touched_by);
    return memory;
}

popliner_status pl_operations_find(const popliner_profile *profile, const pl_debug_info *info,
                                   pl_operations **result, popliner_error *error) {
    drafts all = {0};
    bool of_framework = false;
    uint32_t *context_of_program = NULL;
    pl_operations *operations = calloc(1, sizeof *operations);
    if (operations != NULL) {
        operations->num_steps = profile->num_steps;
        operations->step_operation = pl_new_array(profile->num_steps, sizeof(uint32_t));
        operations->num_standings = profile->num_programs;
        operations->program_standing = pl_new_array(profile->num_programs, 1);
        if (operations->program_standing != NULL)
            context_of_program =
                find_contexts(profile, info, operations->program_standing, &of_framework);
    }
    bool memory = context_of_program != NULL && operations->step_operation != NULL;
    if (memory) {
        operations->of_framework = of_framework;
        memory = of_framework ? find_framework_operations(profile, info, context_of_program, &all,
                                                          operations->step_operation)
                              : find_own_operations(profile, &all, operations->step_operation,
                                                    operations->program_standing);
    }
    memory = memory && finish(profile, info, &all, operations) &&
             pl_operations_list_unlowered(operations, profile) &&
             pl_operations_complete(operations);
    free(context_of_program);
    free_drafts(&all);
    *result = memory ? operations : NULL;
    if (memory)
        return POPLINER_OK;
    pl_operations_free(operations);
    return pl_fail_memory(error, "the operations");
}

size_t pl_operations_fields(pl_operations *o, pl_field *fields) {
    const pl_field all[] = {
        {"operation_strings", &o->strings, 1, &o->strings_length, 0},
        {"operation_name", &o->name, sizeof *o->name, &o->count, 0},
        {"operation_inputs", &o->inputs, sizeof *o->inputs, &o->count, 0},
        {"operation_debug_context", &o->debug_context, sizeof *o->debug_context, &o->count, 0},
        {"operation_is_tensor", &o->is_tensor, sizeof *o->is_tensor, &o->count, 0},
        {"operation_first_step", &o->first_step, sizeof *o->first_step, &o->count, 0},
        {"operation_last_step", &o->last_step, sizeof *o->last_step, &o->count, 0},
        {"operation_programs_start", &o->programs_start, sizeof *o->programs_start, &o->count, 1},
        {"operation_program", &o->program, sizeof *o->program, &o->num_programs, 0},
        {"operation_unlowered_start", &o->unlowered_start, sizeof *o->unlowered_start,
         &o->num_named, 1},
        {"operation_unlowered", &o->unlowered, sizeof *o->unlowered, &o->num_unlowered, 0},
        {"program_standing", &o->program_standing, sizeof *o->program_standing, &o->num_standings,
         0},
        {"step_operation", &o->step_operation, sizeof *o->step_operation, &o->num_steps, 0},
    };
    memcpy(fields, all, sizeof all);
    return sizeof all / sizeof *all;
}

bool pl_operations_check(const pl_operations *o, const popliner_profile *p) {
    if (o->count > 0 && (o->strings_length == 0 || o->strings[o->strings_length - 1] != '\0'))
        return false;
    if (o->programs_start[0] != 0 || o->programs_start[o->count] != o->num_programs)
        return false;
    for (size_t i = 0; i < o->count; i++) {
        if (o->name[i] >= o->strings_length || o->inputs[i] >= o->strings_length ||
            o->first_step[i] > o->last_step[i] || o->last_step[i] >= p->num_steps ||
            o->programs_start[i] >= o->programs_start[i + 1])
            return false;
    }
    for (size_t i = 0; i < o->num_programs; i++) {
        if (o->program[i] >= p->num_programs)
            return false;
    }
    if (o->num_named != (o->of_framework != 0 ? 0 : o->count) || o->unlowered_start[0] != 0 ||
        o->unlowered_start[o->num_named] != o->num_unlowered)
        return false;
    for (size_t i = 0; i < o->num_named; i++) {
        if (o->unlowered_start[i] > o->unlowered_start[i + 1])
            return false;
    }
    for (size_t i = 0; i < o->num_unlowered; i++) {
        if (o->unlowered[i] >= p->num_unlowered)
            return false;
    }
    for (size_t i = 0; i < o->num_steps; i++) {
        if (o->step_operation[i] >= o->count && o->step_operation[i] != PL_NONE)
            return false;
    }
    return o->num_steps == p->num_steps && o->num_standings == p->num_programs;
}

bool pl_operations_complete(pl_operations *o) {
    if (o->items == NULL)
        o->items = pl_new_array(o->count, sizeof *o->items);
    for (size_t i = 0; o->items != NULL && i < o->count; i++) {
        uint32_t first = o->programs_start[i];
        o->items[i] = (popliner_operation){
            .name = o->strings + o->name[i],
            .debug_context = o->debug_context[i],
            .inputs = o->strings + o->inputs[i],
            .is_tensor = o->is_tensor[i] != 0,
            .programs = o->program + first,
            .num_programs = o->programs_start[i + 1] - first,
            .first_step = o->first_step[i],
            .last_step = o->last_step[i],
            .is_of_framework = o->of_framework != 0,
        };
    }
    return o->items != NULL;
}

void pl_operations_free(pl_operations *operations) {
    if (operations == NULL)
        return;
    pl_field fields[PL_MAX_FIELDS];
    pl_fields_free(fields, pl_operations_fields(operations, fields));
    free(operations->items);
    free(operations);
}
