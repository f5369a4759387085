/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/part.h"

#include "base/growth.h"

#include <stdlib.h>

/* Where a tensor is touched: numbers of operations. */
typedef struct touches {
    size_t first_made_outside; /* MK_NONE when it is not */
    size_t first_made_inside;
    size_t last_outside;
    size_t last_inside;
    bool is_touched_outside;
    bool is_touched_inside;
} touches;

static bool is_in_part(const mk_network_plan *plan, size_t place) {
    const mk_part *part = &plan->options.part;
    size_t first_place = part->has_head ? MK_HEAD : MK_LAYER(part->first_layer);
    size_t last_place =
        part->has_tail ? MK_LAYER(plan->options.num_layers) : MK_LAYER(part->last_layer);
    return place >= first_place && place <= last_place;
}

static void touch(touches *tensor, size_t operation, bool is_inside, bool is_made) {
    bool *is_touched = is_inside ? &tensor->is_touched_inside : &tensor->is_touched_outside;
    size_t *last = is_inside ? &tensor->last_inside : &tensor->last_outside;
    size_t *first_made = is_inside ? &tensor->first_made_inside : &tensor->first_made_outside;
    *is_touched = true;
    *last = operation; /* they are visited in order */
    if (is_made && *first_made == MK_NONE)
        *first_made = operation;
}

void mk_take_part(mk_network_plan *plan) {
    size_t count = plan->tensors.count;
    touches *all = pl_new_array(count, sizeof *all);
    if (all == NULL) {
        plan->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = (touches){.first_made_outside = MK_NONE, .first_made_inside = MK_NONE};
    for (size_t number = 0; number < plan->operations.count; number++) {
        mk_operation *operation = mk_operation_at(plan, number);
        operation->is_left_out = !is_in_part(plan, operation->place);
        for (size_t i = 0; i < operation->num_inputs; i++)
            touch(&all[operation->inputs[i]], number, !operation->is_left_out, false);
        if (operation->output != MK_NONE)
            touch(&all[operation->output], number, !operation->is_left_out, true);
    }
    for (size_t i = 0; i < count; i++) {
        const touches *here = &all[i];
        mk_tensor *tensor = mk_tensor_at(plan, i);
        /* What nothing touches belongs to the whole model only. */
        tensor->is_left_out = !here->is_touched_inside && here->is_touched_outside;
        if (tensor->kind != MK_ACTIVATION || !here->is_touched_inside)
            continue;
        if (here->first_made_outside != MK_NONE && here->first_made_outside < here->last_inside)
            tensor->arrival =
                plan->backward_begin != MK_NONE && here->first_made_outside >= plan->backward_begin
                    ? MK_ARRIVES_FOR_BACKWARD
                    : MK_ARRIVES_AT_START;
        tensor->leaves = here->first_made_inside != MK_NONE && here->is_touched_outside &&
                         here->first_made_inside < here->last_outside;
    }
    free(all);
}
