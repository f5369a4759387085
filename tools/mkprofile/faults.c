/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/faults.h"

#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/random.h"
#include "mkprofile/variables.h"

#include <stdlib.h>

/* Bytes of an untouched variable on each tile: the first has the fewest, then so many more. */
enum { UNTOUCHED_BYTES = 8192, UNTOUCHED_MORE = 1024, UNTOUCHED_SIZES = 16 };

/* Programs whose code and data a diagnosis can miss. */
static bool is_candidate(const mk_program *program) {
    return program->operation != MK_NONE &&
           (program->type == MK_ON_TILE_EXECUTE || program->type == MK_DO_EXCHANGE);
}

/* Programs without a debug id have NULL or 0 there, in turns; so have their compute sets. */
static void take_debug_id(mk_network_plan *plan, mk_program *program, size_t turn) {
    uint32_t nothing = turn % 2 == 0 ? MK_NO_DEBUG_ID : 0;
    program->context = nothing;
    if (program->type == MK_ON_TILE_EXECUTE)
        mk_compute_set_at(plan, program->target)->context = nothing;
}

/* Gives a program a chain of debug contexts that ends before it comes to an operation: at the
 * user's builder, in poplibs or in poplar itself, in turns. */
static void take_operation(mk_network_plan *plan, size_t number, size_t turn) {
    mk_program *program = mk_program_at(plan, number);
    bool has_builder = plan->options.framework != MK_TENSORFLOW;
    size_t name = mk_intern(plan, &plan->strings, "fault/no-operation");
    uint32_t parent = 0;
    plan->block++;
    if (turn % 3 == 0 && has_builder)
        parent = mk_add_context(plan, MK_CONTEXT_BUILDER_BARE, 0, name, MK_NONE, NULL);
    if (turn % 3 != 2)
        parent =
            mk_add_context(plan, MK_CONTEXT_POPLIBS, parent, name, program->operation, "fault");
    bool is_execute = program->type == MK_ON_TILE_EXECUTE;
    program->context = mk_add_context(plan, MK_CONTEXT_PROGRAM, parent, 0, MK_NONE,
                                      is_execute ? "Execute" : "Copy");
    if (is_execute) {
        mk_compute_set *set = mk_compute_set_at(plan, program->target);
        set->context =
            mk_add_context(plan, MK_CONTEXT_COMPUTE_SET, parent, set->name, MK_NONE, NULL);
    }
}

static void add_untouched(mk_network_plan *plan, size_t number) {
    char name[64];
    snprintf(name, sizeof name, "fault/untouched/%zu", number);
    uint64_t bytes = UNTOUCHED_BYTES + number % UNTOUCHED_SIZES * UNTOUCHED_MORE;
    uint32_t context = mk_add_context(plan, MK_CONTEXT_VARIABLE, 0,
                                      mk_intern(plan, &plan->strings, name), MK_NONE, NULL);
    mk_data data = {.name = name,
                    .identity = mk_identity(MK_OF_A_FAULT, number, 0),
                    .kind = MK_ACTIVATION,
                    .bytes = bytes * plan->options.tiles_per_ipu,
                    .tiles = mk_all_tiles(plan, 0),
                    .context = context,
                    .occasion = MK_NONE};
    mk_span span = mk_add_data(plan, &data);
    if (plan->is_out_of_memory)
        return;
    /* live in the middle half of the program */
    size_t steps = plan->steps.count;
    for (size_t i = 0; i < span.count; i++) {
        mk_live_at(plan, span.first + i, steps / 4);
        mk_live_at(plan, span.first + i, steps - steps / 4 - 1);
    }
    mk_append(plan, &plan->faults,
              &(mk_fault){.kind = MK_FAULT_UNTOUCHED,
                          .subject = mk_variable_at(plan, span.first)->unlowered});
}

/* The number of place `place` of `count` among `available` in a row, spread evenly. */
static size_t spread(size_t place, size_t count, size_t available) {
    return (2 * place + 1) * available / (2 * count);
}

/* Programs that have no fault yet, in the order of their ids. */
typedef struct candidates {
    size_t *numbers;
    size_t count;
} candidates;

/* Plants one kind of fault into so many of the candidates that have none yet. */
static void spoil_programs(mk_network_plan *plan, mk_fault_kind kind, size_t wanted,
                           candidates *left) {
    size_t *numbers = left->numbers;
    for (size_t i = 0; i < wanted; i++) {
        size_t place = spread(i, wanted, left->count);
        size_t number = numbers[place];
        numbers[place] = MK_NONE;
        if (kind == MK_FAULT_NO_DEBUG_ID)
            take_debug_id(plan, mk_program_at(plan, number), i);
        else
            take_operation(plan, number, i);
        mk_append(plan, &plan->faults, &(mk_fault){.kind = kind, .subject = number});
    }
    size_t kept = 0;
    for (size_t i = 0; i < left->count; i++) {
        if (numbers[i] != MK_NONE)
            numbers[kept++] = numbers[i];
    }
    left->count = kept;
}

popliner_status mk_plant_faults(mk_network_plan *plan, popliner_error *error) {
    const uint64_t *wanted = plan->options.faults;
    uint64_t programs = wanted[MK_FAULT_NO_DEBUG_ID] + wanted[MK_FAULT_NO_OPERATION];
    popliner_status status = POPLINER_OK;
    candidates left = {.numbers = pl_new_array(plan->programs.count, sizeof *left.numbers)};
    if (left.numbers == NULL)
        return pl_fail_memory(error, "the planted faults");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < plan->programs.count; i++) {
            const mk_program *program = mk_program_at(plan, i);
            if (is_candidate(program) && program->is_in_function == (pass == 1))
                left.numbers[left.count++] = i;
        }
    }
    if (programs > left.count) {
        status =
            pl_fail(error, POPLINER_ERROR_USAGE,
                    "--fault wants %llu programs of operations, but this profile has only %zu.",
                    (unsigned long long)programs, left.count);
    } else {
        spoil_programs(plan, MK_FAULT_NO_DEBUG_ID, (size_t)wanted[MK_FAULT_NO_DEBUG_ID], &left);
        spoil_programs(plan, MK_FAULT_NO_OPERATION, (size_t)wanted[MK_FAULT_NO_OPERATION], &left);
        for (size_t i = 0; i < wanted[MK_FAULT_UNTOUCHED] && !plan->is_out_of_memory; i++)
            add_untouched(plan, i);
    }
    free(left.numbers);
    return status;
}

void mk_print_faults(const mk_network_plan *plan, FILE *stream) {
    for (size_t i = 0; i < plan->faults.count; i++) {
        const mk_fault *fault = mk_fault_at(plan, i);
        const char *kind = mk_fault_name(fault->kind);
        if (fault->kind == MK_FAULT_UNTOUCHED)
            fprintf(stream, "%s %s\n", kind,
                    mk_text(plan, mk_unlowered_at(plan, fault->subject)->name));
        else
            fprintf(stream, "%s %zu\n", kind, mk_program_at(plan, fault->subject)->id);
    }
}
