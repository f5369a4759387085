/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/pipeline.h"

#include "base/growth.h"

#include <stdlib.h>

/* The programs of the stages are numbered in the order in which a batch meets them: forward from
 * the first stage, backward from the last. In PopART the last stage has one for both. */

/* What is known of a tensor beside what the plan has. */
typedef struct tensor_facts {
    size_t program;  /* that makes it; MK_NONE before it is known */
    bool is_forward; /* made in the forward pass */
    bool is_sent;    /* to another IPU */
    size_t kept;     /* what backward operations read instead of it, MK_NONE before it is known */
    size_t keeper;   /* operation that keeps it, MK_NONE for none, or once it is in the schedule */
    size_t restorer; /* operation that makes it again, likewise */
} tensor_facts;

/* A tensor that a program of a stage sends. */
typedef struct sent {
    mk_sent tensors;
    size_t program;
} sent;

typedef struct pipeline {
    mk_network_plan *plan;
    size_t num_stages;
    size_t num_programs;
    size_t num_slices;
    bool is_popart;
    void *facts; /* tensor_facts, by tensor */
    size_t facts_capacity;
    size_t num_base; /* tensors of the model */
    size_t *clones;  /* of them, by tensor, then program; MK_NONE for none */
    mk_array sent;   /* sent */
    size_t loop_end; /* the first operation behind the loop */
} pipeline;

/* ---- Programs of stages --------------------------------------------------------------------- */

static size_t last_program(const pipeline *p) {
    return p->is_popart ? 2 * (p->num_stages - 1) : 2 * p->num_stages - 1;
}

static bool is_backward(const pipeline *p, size_t operation) {
    return p->plan->options.training && operation >= p->plan->backward_begin;
}

static size_t program_of(const pipeline *p, size_t operation) {
    size_t ipu = mk_operation_at(p->plan, operation)->ipu;
    return is_backward(p, operation) ? last_program(p) - ipu : ipu;
}

static size_t ipu_of(const pipeline *p, size_t program) {
    return program < p->num_stages ? program : last_program(p) - program;
}

/* The slice of a turn of the loop in which a program runs. */
static size_t slice_of(const pipeline *p, size_t program) {
    return program % p->num_slices;
}

/* ---- Facts ---------------------------------------------------------------------------------- */

static tensor_facts *facts_of(const pipeline *p, size_t tensor) {
    return (tensor_facts *)p->facts + tensor;
}

static bool add_facts(pipeline *p, size_t tensor) {
    if (!pl_grow(&p->facts, &p->facts_capacity, tensor + 1, sizeof(tensor_facts))) {
        p->plan->is_out_of_memory = true;
        return false;
    }
    *facts_of(p, tensor) =
        (tensor_facts){.program = MK_NONE, .kept = MK_NONE, .keeper = MK_NONE, .restorer = MK_NONE};
    return true;
}

static bool is_moved(const pipeline *p, size_t tensor) {
    return !mk_is_resident(mk_tensor_at(p->plan, tensor)->kind);
}

/* A tensor that holds so many copies of another one; returns MK_NONE when memory is short. */
static size_t add_clone(pipeline *p, const char *format, size_t original, uint64_t num_copies,
                        size_t ipu) {
    mk_network_plan *plan = p->plan;
    mk_tensor tensor = *mk_tensor_at(plan, original);
    tensor.name = mk_intern_format(plan, format, mk_text(plan, tensor.name), ipu);
    tensor.kind = MK_ACTIVATION;
    tensor.context = 0;
    tensor.owner = 0;
    tensor.first_variable = MK_NONE;
    tensor.ipu = ipu;
    tensor.original = original;
    tensor.num_copies = num_copies;
    tensor.is_carried = false;
    tensor.spans_loop = false;
    size_t number = mk_append(plan, &plan->tensors, &tensor);
    return !plan->is_out_of_memory && add_facts(p, number) ? number : MK_NONE;
}

static size_t add_operation(pipeline *p, mk_work work, const char *type, size_t ipu, size_t first,
                            size_t second, size_t output) {
    mk_network_plan *plan = p->plan;
    mk_operation operation = {.name = 0, /* the empty text */
                              .type = type,
                              .work = work,
                              .inputs = {first != MK_NONE ? first : 0, second},
                              .num_inputs = second != MK_NONE  ? 2
                                            : first != MK_NONE ? 1
                                                               : 0,
                              .output = output,
                              .forward = MK_NONE,
                              .transform = "pipeline",
                              .ipu = ipu,
                              .instance = plan->next_instance++};
    return mk_append(plan, &plan->operations, &operation);
}

/* ---- Where things are ----------------------------------------------------------------------- */

static void place_tensor(pipeline *p, size_t tensor, size_t operation) {
    tensor_facts *facts = facts_of(p, tensor);
    if (facts->program != MK_NONE)
        return;
    facts->program = program_of(p, operation);
    facts->is_forward = !is_backward(p, operation);
    mk_tensor_at(p->plan, tensor)->ipu = mk_operation_at(p->plan, operation)->ipu;
}

/* Each tensor is where it is made, and what no operation makes is where it is read first. */
static void place_all(pipeline *p) {
    mk_network_plan *plan = p->plan;
    for (size_t i = 0; i < plan->operations.count; i++) {
        mk_operation *operation = mk_operation_at(plan, i);
        operation->ipu = mk_ipu_of_place(plan, operation->place);
        if (operation->output != MK_NONE)
            place_tensor(p, operation->output, i);
    }
    for (size_t i = 0; i < plan->operations.count; i++) {
        const mk_operation *operation = mk_operation_at(plan, i);
        for (size_t k = 0; k < operation->num_inputs; k++)
            place_tensor(p, operation->inputs[k], i);
    }
}

/* ---- Copies between IPUs -------------------------------------------------------------------- */

/* What holds a tensor of the model where program `program` can read it: it goes there by way of
 * all programs between. */
static size_t clone_for(pipeline *p, size_t tensor, size_t program) {
    size_t *clone = &p->clones[tensor * p->num_programs + program];
    if (program == facts_of(p, tensor)->program)
        return tensor;
    if (*clone != MK_NONE)
        return *clone;
    size_t before = clone_for(p, tensor, program - 1);
    size_t added =
        before != MK_NONE ? add_clone(p, "%s_copy%zu", tensor, 1, ipu_of(p, program)) : MK_NONE;
    if (added == MK_NONE)
        return MK_NONE;
    mk_tensor_at(p->plan, added)->is_carried = true;
    facts_of(p, added)->program = program;
    facts_of(p, added)->is_forward = facts_of(p, tensor)->is_forward;
    facts_of(p, before)->is_sent = true;
    sent copy = {.tensors = {.source = before, .destination = added}, .program = program - 1};
    mk_append(p->plan, &p->sent, &copy);
    *clone = added;
    return added;
}

/* Every operation reads what is on its own IPU. What a backward operation reads of the forward
 * pass came there in the forward pass. */
static void add_copies(pipeline *p) {
    mk_network_plan *plan = p->plan;
    for (size_t i = 0; i < p->loop_end && !plan->is_out_of_memory; i++) {
        for (size_t k = 0; k < mk_operation_at(plan, i)->num_inputs; k++) {
            const mk_operation *operation = mk_operation_at(plan, i);
            size_t tensor = operation->inputs[k];
            const tensor_facts *facts = facts_of(p, tensor);
            if (!is_moved(p, tensor) || ipu_of(p, facts->program) == operation->ipu)
                continue;
            size_t program = facts->is_forward ? operation->ipu : program_of(p, i);
            size_t clone = program > facts->program ? clone_for(p, tensor, program) : tensor;
            mk_operation_at(plan, i)->inputs[k] = clone != MK_NONE ? clone : tensor;
        }
    }
}

/* ---- What is kept for the backward pass ------------------------------------------------------ */

/* Whether the programs of an operation read its input number `which`. A call copies all of them in;
 * others read no more than lowering.c makes them read, so that what one IPU frees is not kept. */
static bool reads(const pipeline *p, size_t number, size_t which) {
    const mk_operation *operation = mk_operation_at(p->plan, number);
    if (which == 0 || operation->is_replaced)
        return true;
    switch (operation->work) {
    case MK_WORK_MAP:
    case MK_WORK_SOFTMAX:
    case MK_WORK_TRANSFER:
        return false;
    default:
        return true;
    }
}

static void keep_in_stash(pipeline *p, size_t tensor, size_t ipu) {
    mk_network_plan *plan = p->plan;
    size_t copies = 2 * (p->num_stages - 1 - ipu) + 1;
    if (copies == 1) {
        facts_of(p, tensor)->kept = tensor;
        return;
    }
    size_t stash = add_clone(p, "Stash__%s", tensor, copies, ipu);
    if (stash == MK_NONE)
        return;
    mk_tensor_at(plan, stash)->spans_loop = true;
    bool is_in_place = !facts_of(p, tensor)->is_sent;
    size_t restored = tensor;
    if (!is_in_place)
        restored = add_clone(p, "%s_restored", tensor, 1, ipu);
    if (restored == MK_NONE)
        return;
    facts_of(p, tensor)->keeper =
        add_operation(p, MK_WORK_STASH, "Stash", ipu, tensor, stash, MK_NONE);
    facts_of(p, restored)->restorer =
        is_in_place
            ? add_operation(p, MK_WORK_RESTORE, "RestoreInplace", ipu, stash, tensor, MK_NONE)
            : add_operation(p, MK_WORK_RESTORE, "Restore", ipu, stash, MK_NONE, restored);
    facts_of(p, tensor)->kept = restored;
}

static void keep_in_fifo(pipeline *p, size_t tensor, size_t ipu) {
    mk_network_plan *plan = p->plan;
    static const size_t multipliers[] = {
        [MK_GROUPED] = 2, [MK_INTERLEAVED] = 1, [MK_SEQUENTIAL] = 0};
    bool is_last = ipu + 1 == p->num_stages;
    size_t depth = multipliers[plan->options.schedule] * (p->num_stages - 1 - ipu);
    if (is_last && plan->options.schedule != MK_GROUPED) {
        mk_tensor_at(plan, tensor)->is_carried = true;
        facts_of(p, tensor)->kept = tensor;
        return;
    }
    size_t buffer = MK_NONE;
    if (!is_last && depth > 0) {
        buffer = add_clone(p, "%s/fifo/buffer", tensor, depth, ipu);
        if (buffer == MK_NONE)
            return;
        mk_tensor_at(plan, buffer)->spans_loop = true;
    }
    size_t out = add_clone(p, is_last ? "%s/copy" : "%s/fifo/out", tensor, 1, ipu);
    if (out == MK_NONE)
        return;
    mk_tensor_at(plan, out)->is_carried = true;
    facts_of(p, tensor)->keeper =
        is_last ? add_operation(p, MK_WORK_COPY, "Copy", ipu, tensor, MK_NONE, out)
                : add_operation(p, MK_WORK_FIFO, "Fifo", ipu, tensor, buffer, out);
    facts_of(p, tensor)->kept = out;
}

static void keep_all(pipeline *p) {
    mk_network_plan *plan = p->plan;
    for (size_t i = 0; i < p->loop_end && !plan->is_out_of_memory; i++) {
        if (!is_backward(p, i))
            continue;
        const size_t ipu = mk_operation_at(plan, i)->ipu;
        for (size_t k = 0; k < mk_operation_at(plan, i)->num_inputs; k++) {
            size_t tensor = mk_operation_at(plan, i)->inputs[k];
            if (!is_moved(p, tensor) || !facts_of(p, tensor)->is_forward || !reads(p, i, k))
                continue;
            if (facts_of(p, tensor)->kept == MK_NONE && p->is_popart)
                keep_in_stash(p, tensor, ipu);
            else if (facts_of(p, tensor)->kept == MK_NONE)
                keep_in_fifo(p, tensor, ipu);
            if (plan->is_out_of_memory)
                return;
            mk_operation_at(plan, i)->inputs[k] = facts_of(p, tensor)->kept;
        }
    }
}

/* ---- The order of the loop ------------------------------------------------------------------ */

static void schedule(pipeline *p, size_t operation) {
    mk_append(p->plan, &p->plan->schedule, &operation);
}

/* Schedules what was to be done about a tensor, once. */
static void schedule_once(pipeline *p, size_t *operation) {
    size_t number = *operation;
    *operation = MK_NONE;
    if (number != MK_NONE)
        schedule(p, number);
}

static bool is_made_here(const pipeline *p, size_t tensor) {
    const mk_tensor *it = mk_tensor_at(p->plan, tensor);
    return tensor < p->num_base && it->kind == MK_ACTIVATION;
}

/* Stashes what came from elsewhere before the program reads it. */
static void stash_what_came(pipeline *p, size_t program) {
    for (size_t tensor = 0; p->is_popart && tensor < p->plan->tensors.count; tensor++) {
        tensor_facts *facts = facts_of(p, tensor);
        if (facts->program == program && facts->is_forward && !is_made_here(p, tensor))
            schedule_once(p, &facts->keeper);
    }
}

/* Restores what an operation reads, runs it, and stashes what it makes; a call stands for all that
 * it replaces. */
static void schedule_operation(pipeline *p, size_t number) {
    const mk_network_plan *plan = p->plan;
    size_t count = mk_operation_at(plan, number)->num_replaced + 1;
    for (size_t i = number; i < number + count; i++) {
        const mk_operation *operation = mk_operation_at(plan, i);
        for (size_t k = 0; k < operation->num_inputs && is_backward(p, i); k++) {
            if (reads(p, i, k))
                schedule_once(p, &facts_of(p, operation->inputs[k])->restorer);
        }
    }
    schedule(p, number);
    for (size_t i = number; i < number + count && p->is_popart; i++) {
        const mk_operation *operation = mk_operation_at(plan, i);
        if (operation->output != MK_NONE && !is_backward(p, i))
            schedule_once(p, &facts_of(p, operation->output)->keeper);
    }
}

/* The FIFOs, or the copies, at the end of a slice. */
static void schedule_keepers(pipeline *p, size_t slice, mk_work work) {
    for (size_t tensor = 0; tensor < p->plan->tensors.count; tensor++) {
        tensor_facts *facts = facts_of(p, tensor);
        if (facts->keeper != MK_NONE && slice_of(p, facts->program) == slice &&
            mk_operation_at(p->plan, facts->keeper)->work == work)
            schedule_once(p, &facts->keeper);
    }
}

/* One operation for all copies to other IPUs at the end of a slice. */
static void schedule_send(pipeline *p, size_t slice) {
    mk_network_plan *plan = p->plan;
    size_t first = plan->sent.count;
    for (size_t i = 0; i < p->sent.count; i++) {
        const sent *copy = (const sent *)p->sent.items + i;
        if (slice_of(p, copy->program) == slice)
            mk_append(plan, &plan->sent, &copy->tensors);
    }
    if (plan->sent.count == first || plan->is_out_of_memory)
        return;
    size_t number = add_operation(p, MK_WORK_SEND, "IpuCopy", 0, MK_NONE, MK_NONE, MK_NONE);
    mk_operation_at(plan, number)->first_sent = first;
    mk_operation_at(plan, number)->num_sent = plan->sent.count - first;
    schedule(p, number);
}

static void schedule_loop(pipeline *p) {
    for (size_t slice = 0; slice < p->num_slices; slice++) {
        for (size_t program = slice; program < p->num_programs; program += p->num_slices) {
            stash_what_came(p, program);
            for (size_t i = 0; i < p->loop_end && !p->plan->is_out_of_memory; i++) {
                if (!mk_operation_at(p->plan, i)->is_replaced && program_of(p, i) == program)
                    schedule_operation(p, i);
            }
        }
        schedule_keepers(p, slice, MK_WORK_FIFO);
        schedule_keepers(p, slice, MK_WORK_COPY);
        if (p->is_popart)
            schedule(p, MK_NONE);
        schedule_send(p, slice);
    }
    if (!p->is_popart)
        schedule(p, MK_NONE);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void count_programs(pipeline *p) {
    const mk_options *options = &p->plan->options;
    p->num_stages = (size_t)options->num_ipus;
    p->is_popart = options->framework != MK_TENSORFLOW;
    p->num_programs = options->training ? last_program(p) + 1 : p->num_stages;
    p->num_slices = options->schedule == MK_GROUPED       ? 1
                    : options->schedule == MK_INTERLEAVED ? 2
                                                          : p->num_programs;
}

void mk_make_pipeline(mk_network_plan *plan) {
    if (plan->options.num_ipus == 1)
        return;
    pipeline p = {.plan = plan, .num_base = plan->tensors.count};
    count_programs(&p);
    p.loop_end = plan->update_begin != MK_NONE ? plan->update_begin : plan->operations.count;
    mk_array_begin(plan, &p.sent, sizeof(sent));
    size_t num_clones = p.num_base * p.num_programs;
    p.clones = pl_new_array(num_clones, sizeof *p.clones);
    if (p.clones == NULL)
        plan->is_out_of_memory = true;
    for (size_t i = 0; i < num_clones && p.clones != NULL; i++)
        p.clones[i] = MK_NONE;
    for (size_t i = 0; i < p.num_base && !plan->is_out_of_memory; i++)
        add_facts(&p, i);
    if (!plan->is_out_of_memory)
        place_all(&p);
    if (!plan->is_out_of_memory)
        add_copies(&p);
    if (!plan->is_out_of_memory)
        keep_all(&p);
    if (!plan->is_out_of_memory)
        schedule_loop(&p);
    free(p.facts);
    free(p.clones);
    free(p.sent.items);
}
